"""The bytes of one quantized matrix, including its scales, zero points and lookup tables."""

from __future__ import annotations

from archspec.errors import ArchspecError
from archspec.typing_light import NamedTuple

_WORD = 32  # bits of the ints that elements are packed into
_SCALES_PER_SCALE = 256  # bitsandbytes' double quantization


class Layout(NamedTuple):
    """How one matrix of ``rows`` outputs and ``columns`` inputs is stored.

    Attributes:
        bits: Bits per element.
        block: The rows and columns that share a scale; 0 stands for all of them.
        scale_bytes: Bytes of a scale.
        scale_values: Values in the model's dtype that are stored with each scale (MLX: a scale and a bias).
        zero_bits: Bits of the zero point of each scale.
        extra_bytes: Bytes that are stored once per matrix.
        extra_values: Values in the model's dtype that are stored once per matrix.
        index_bytes: Bytes per input (GPTQ: its group).
        flat: Blocks span rows: the matrix is treated as one row.
        nested: Scales are quantized, too, with a float32 per 256 scales.
        packed: Elements and zero points are packed into int32, so that their bits must fill it.
        uneven: What happens if the columns do not fill the blocks: "pad", "refuse", or "keep" the dtype.
    """

    bits: int
    block: tuple[int, int]
    scale_bytes: int = 0
    scale_values: int = 0
    zero_bits: int = 0
    extra_bytes: int = 0
    extra_values: int = 0
    index_bytes: int = 0
    flat: bool = False
    nested: bool = False
    packed: bool = False
    uneven: str = "pad"

    def bytes(self, rows: int, columns: int, element: int = 2, parts: int = 1) -> int:
        """Return the bytes of a matrix.

        ``element`` is the size of the model's dtype. ``parts`` is the number of matrices that are fused into
        this one; none of them shares its scales.

        >>> Layout(8, (1, 0), scale_bytes=4).bytes(300, 100)  # int8
        31200
        >>> Layout(4, (1, 64), scale_bytes=4, extra_bytes=64, flat=True).bytes(300, 100)  # nf4
        16940
        >>> Layout(4, (1, 128), 2, zero_bits=4, index_bytes=4, packed=True).bytes(4096, 4096)  # GPTQ
        8732672
        """
        if self.flat:
            rows, columns = 1, rows * columns
        height, width = self.block[0] or rows or 1, self.block[1] or columns or 1
        if columns % width and self.uneven == "keep":
            return rows * columns * element
        if columns % width and self.uneven == "refuse":
            raise ArchspecError(f"a weight of {rows} x {columns} cannot be quantized in groups of {width}")
        if self.packed and (columns * self.bits % _WORD or (self.zero_bits and rows * self.bits % _WORD)):
            raise ArchspecError(f"a weight of {rows} x {columns} cannot be packed in {self.bits} bits")
        scales = max(parts, -(-rows // height)) * -(-columns // width)
        elements = rows * -(-columns * self.bits // 8)
        nested = 4 * -(-scales // _SCALES_PER_SCALE) if self.nested else 0
        per_scale = self.scale_bytes + self.scale_values * element
        extra = self.extra_bytes + self.extra_values * element + self.index_bytes * columns
        return elements + scales * per_scale + scales * self.zero_bits // 8 + nested + extra
