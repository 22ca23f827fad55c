"""The weight formats that users can ask for by name: one table with names, aliases, contents and sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from archspec.errors import ArchspecError, did_you_mean
from archspec.formats.checkpoints import mlx, modelopt, q8_0
from archspec.formats.methods import awq, bitsandbytes, fp8, gptq, mxfp4
from archspec.formats.scheme import Scheme
from archspec.tree.counts import DTYPE_BYTES, dtype_name
from archspec.typing_light import NamedTuple


class Format(NamedTuple):
    """One weight format.

    Attributes:
        name: The name that `--weights` takes.
        aliases: Other spellings, without regard to case, `-` and `_`.
        quantizes: The weights that the tool quantizes, their group size and scales.
        leaves: The weights that it leaves in the model's dtype, and why.
        source: The tool and the code that sets the layout up.
        scheme: Makes the scheme.
    """

    name: str
    aliases: tuple[str, ...]
    quantizes: str
    leaves: str
    source: str
    scheme: Callable[[], Scheme]


_BNB = (
    "tied weights, the last module and the output embeddings; experts in one tensor, which are not nn.Linear"
)
_BNB_SOURCE = "transformers/integrations/bitsandbytes.py"
_OWN = "embeddings, output embeddings, norms, biases, routers"

FORMATS: tuple[Format, ...] = (
    Format(
        "int8",
        ("i8", "w8", "8bit", "bnb-8bit", "bnb-int8", "bitsandbytes-8bit", "llm.int8", "load_in_8bit"),
        "nn.Linear and Conv1D: a byte per element, a float32 scale per output",
        _BNB,
        f"bitsandbytes LLM.int8; {_BNB_SOURCE}",
        lambda: bitsandbytes({"load_in_8bit": True}),
    ),
    Format(
        "nf4",
        ("4bit", "bnb-4bit", "bnb-nf4", "bitsandbytes-4bit", "load_in_4bit"),
        "nn.Linear and Conv1D: half a byte per element, a float32 scale per 64 elements",
        _BNB,
        f"bitsandbytes; {_BNB_SOURCE}",
        lambda: bitsandbytes(_four_bit("nf4")),
    ),
    Format(
        "nf4-double",
        ("nf4-dq", "qlora", "bnb-nf4-double", "nf4-double-quant"),
        "as nf4, with scales of a byte and a float32 per 256 scales",
        _BNB,
        f"bitsandbytes with bnb_4bit_use_double_quant; {_BNB_SOURCE}",
        lambda: bitsandbytes({**_four_bit("nf4"), "bnb_4bit_use_double_quant": True}),
    ),
    Format(
        "fp4",
        ("bnb-fp4",),
        "nn.Linear and Conv1D: half a byte per element, a float32 scale per 64 elements",
        _BNB,
        f"bitsandbytes; {_BNB_SOURCE}",
        lambda: bitsandbytes(_four_bit("fp4")),
    ),
    Format(
        "awq",
        ("int4", "i4", "w4", "w4a16", "awq-4bit", "awq-int4"),
        "nn.Linear, and each expert: 4 bits, a float16 scale and a 4-bit zero point per 128 inputs",
        "embeddings, tied weights, the last module and the output embeddings",
        "AutoAWQ's GEMM layout; transformers/integrations/awq.py",
        lambda: awq({"quant_method": "awq", "bits": 4, "group_size": 128}),
    ),
    Format(
        "gptq",
        ("gptq-4bit", "gptq-int4"),
        "the Linears of the layers, and each expert: as awq, and an int32 group index per input",
        "everything outside the layers of the decoder",
        "AutoGPTQ and GPTQModel; optimum/gptq/quantizer.py",
        lambda: gptq({"quant_method": "gptq", "bits": 4, "group_size": 128}),
    ),
    Format(
        "fp8",
        (
            "fp8-e4m3",
            "fp8-e4m3fn",
            "e4m3",
            "e4m3fn",
            "float8",
            "float8-e4m3",
            "float8-e4m3fn",
            "f8",
            "f8-e4m3",
        ),
        "nn.Linear and fused experts: a byte per element, a float32 scale per block of 128 x 128",
        "embeddings, tied weights, the last module and the output embeddings",
        "transformers/integrations/finegrained_fp8.py",
        lambda: fp8({"quant_method": "fp8"}),
    ),
    Format(
        "nvfp4",
        ("nvidia-fp4", "modelopt-fp4"),
        "Linears, and each expert: 4 bits, an fp8 scale per 16 inputs, two float32 scalars per weight",
        _OWN,
        "NVIDIA modelopt's unified checkpoints",
        lambda: modelopt(
            {"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["*lm_head"]}
        ),
    ),
    Format(
        "mxfp4",
        ("mx-fp4",),
        "gpt-oss's experts: 4 bits, a byte per 32 inputs",
        "everything else",
        "transformers/integrations/mxfp4.py",
        lambda: mxfp4({"quant_method": "mxfp4"}),
    ),
    Format(
        "mlx-4bit",
        ("mlx", "mlx-int4"),
        "Linears and embeddings: 4 bits, a scale and a bias per 64 inputs",
        "norms and biases",
        "mlx.nn.quantize",
        lambda: mlx({"bits": 4, "group_size": 64}),
    ),
    Format(
        "mlx-8bit",
        ("mlx-int8",),
        "Linears and embeddings: 8 bits, a scale and a bias per 64 inputs",
        "norms and biases",
        "mlx.nn.quantize",
        lambda: mlx({"bits": 8, "group_size": 64}),
    ),
    Format(
        "q8_0",
        ("q8", "gguf-q8_0"),
        "every matrix, embeddings included: a byte per element, a float16 scale per 32 inputs",
        "norms, biases, routers and position embeddings, in float32",
        "llama.cpp's Q8_0 files",
        q8_0,
    ),
)
SCHEMES = tuple(one.name for one in FORMATS)


def _four_bit(kind: str) -> dict[str, object]:
    return {"load_in_4bit": True, "bnb_4bit_quant_type": kind}


def format_named(name: object) -> Format | str:
    """The format of a name, or a dtype as torch spells it.

    Errors: :class:`ArchspecError` for an unknown name, with all names.

    >>> format_named("bnb-4bit").name, format_named("FP8_E4M3").name, format_named("f16")
    ('nf4', 'fp8', 'float16')
    """
    if isinstance(name, str):
        key = _plain(name)
        for one in FORMATS:
            if key in map(_plain, (one.name, *one.aliases)):
                return one
        if (dtype := dtype_name(name)) in DTYPE_BYTES and DTYPE_BYTES[dtype] > 1:
            return dtype
    names = [*SCHEMES, *WEIGHT_DTYPES]
    near = did_you_mean(str(name).lower(), names)
    near = f"{near} " if near.startswith("did you mean") else ""
    raise ArchspecError(f"unknown weight format {name!r}", help=f"{near}choose one of: {', '.join(names)}")


WEIGHT_DTYPES = tuple(name for name, size in DTYPE_BYTES.items() if size > 1 and "int" not in name)


def _plain(name: str) -> str:
    return "".join(character for character in name.strip().lower() if character not in "-_. ")


def names() -> Iterable[str]:
    """All names that `--weights` takes, aliases excluded."""
    return (*SCHEMES, *WEIGHT_DTYPES)
