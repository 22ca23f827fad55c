"""The bytes of one quantized matrix with its scales, zero points and tables.

Every layout takes the outputs (rows) and inputs (columns) of a matrix.
"""

from __future__ import annotations

from archspec.errors import ArchspecError

_BLOCK, _OUTER = 64, 256  # bitsandbytes: elements per scale, scales per second-level scale
_LEVELS = 16 * 4  # the float32 levels that bitsandbytes keeps for each weight
_GGUF_BLOCK = 32


def int8_bytes(rows: int, columns: int) -> int:
    """bitsandbytes LLM.int8: a byte per element, a float32 scale per output.

    >>> int8_bytes(300, 100)
    31200
    """
    return rows * columns + 4 * rows


def four_bit_bytes(rows: int, columns: int, double: bool = False) -> int:
    """bitsandbytes nf4 and fp4: half a byte per element, a scale per 64 elements, a table of 16 levels.

    A scale is a float32. With double quantization it is a byte, with a float32 per 256 scales, a table of 256
    levels and their mean.

    >>> four_bit_bytes(300, 100), four_bit_bytes(300, 100, double=True)
    (16940, 16569)
    """
    numel = rows * columns
    scales = -(-numel // _BLOCK)
    if not double:
        return -(-numel // 2) + 4 * scales + _LEVELS
    return -(-numel // 2) + scales + 4 * -(-scales // _OUTER) + _LEVELS + 256 * 4 + 4


def grouped_bytes(rows: int, columns: int, bits: int, group: int, indexed: bool) -> int:
    """GPTQ and AWQ: packed elements; for each group of inputs a float16 scale and a packed zero point.

    GPTQ also stores an int32 group index per input. A group of -1 spans all inputs.

    >>> grouped_bytes(4096, 4096, 4, 128, True)
    8732672
    """
    group = columns if group == -1 else group
    if columns % group or columns * bits % 32 or rows * bits % 32:
        raise ArchspecError(f"a weight of {rows} x {columns} cannot be packed in groups of {group}")
    groups = columns // group
    index = 4 * columns if indexed else 0
    return columns * rows * bits // 8 + groups * (2 * rows + rows * bits // 8) + index


def block_bytes(
    rows: int, columns: int, blocks: tuple[int, int] | None, scale: int, static: bool, least: int = 1
) -> int:
    """transformers' fp8: a byte per element and a scale per block, or one scale per tensor without blocks.

    ``static`` adds a float32 scale of the activations, ``least`` is the smallest number of rows of scales.

    >>> block_bytes(300, 100, (128, 128), 4, False), block_bytes(300, 100, None, 4, False)
    (30012, 30004)
    """
    height, width = blocks or (rows, columns)
    scales = max(least, -(-rows // height)) * -(-columns // width)
    return rows * columns + (scale if blocks else 4) * scales + (4 if static else 0)


def packed_fp4_bytes(rows: int, columns: int, scale: int = 1, group: int = 32) -> int:
    """Two 4-bit floats per byte and a scale per group of inputs: mxfp4, and DeepSeek-V4's experts.

    >>> packed_fp4_bytes(5760, 2880) * 32
    282009600
    """
    return rows * (-(-columns // 2) + scale * -(-columns // group))


def nvfp4_bytes(rows: int, columns: int, scalars: int = 2) -> int:
    """NVFP4: two 4-bit floats per byte, an fp8 scale per 16 inputs, float32 scalars per tensor.

    >>> nvfp4_bytes(384, 256)
    55304
    """
    if columns % 16:
        raise ArchspecError(f"a weight of {rows} x {columns} cannot be packed in groups of 16")
    return packed_fp4_bytes(rows, columns, 1, 16) + 4 * scalars


def affine_bytes(rows: int, columns: int, bits: int, group: int, element: int) -> int:
    """MLX: elements packed into uint32, a scale and a bias of ``element`` bytes per group of inputs.

    >>> affine_bytes(4096, 4096, 4, 64, 2)
    9437184
    """
    return rows * columns * bits // 8 + 2 * element * rows * (columns // group)


def q8_0_bytes(rows: int, columns: int) -> int:
    """llama.cpp's Q8_0: blocks of 32 inputs, each of 32 bytes and a float16 scale.

    >>> q8_0_bytes(4096, 4096)
    17825792
    """
    if columns % _GGUF_BLOCK:
        raise ArchspecError(f"a weight of {rows} x {columns} cannot be packed in blocks of {_GGUF_BLOCK}")
    return rows * (columns // _GGUF_BLOCK) * (_GGUF_BLOCK + 2)
