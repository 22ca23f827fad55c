"""The weight formats of formulas/weight_formats.json, which is the only declaration of a format.

Help texts, errors, completion, the fuzzer and the page read that file.
"""

from __future__ import annotations

from archspec.errors import ArchspecError, did_you_mean
from archspec.formats.dtypes import TABLE, WEIGHT_DTYPES, dtype_name
from archspec.formats.scheme import Layout, Scheme
from archspec.typing_light import Any, NamedTuple


class Format(NamedTuple):
    """One weight format.

    Attributes:
        name: The name that `--weights` takes.
        aliases: Other spellings; case, `-`, `_`, `.` and spaces are ignored.
        quantizes: The weights that are quantized.
        storage: How they are stored, in words; ``scheme`` has the numbers.
        leaves: The weights that stay in the model's dtype.
        source: The tool, and the code or the files that define the layout.
        scheme: The layout, and how modules are selected.
    """

    name: str
    aliases: tuple[str, ...]
    quantizes: str
    storage: str
    leaves: str
    source: str
    scheme: Scheme


def _format(name: str, row: dict[str, Any]) -> Format:
    """Read one entry. A scheme with `experts` stores fused experts in the same layout."""
    given = {"name": name, **row.get("scheme", {})}
    layout = Layout(**{**row["layout"], "block": tuple(row["layout"]["block"])})
    given["experts"] = layout if given.get("experts") else None
    words = {key: row[key] for key in ("quantizes", "storage", "leaves", "source")}
    return Format(name, tuple(row["aliases"]), scheme=Scheme(**given, layout=layout), **words)


FORMATS = tuple(_format(name, row) for name, row in TABLE["formats"].items())
SCHEMES = {one.name: one.scheme for one in FORMATS}
LAYOUTS: dict[str, Layout] = {name: scheme.layout for name, scheme in SCHEMES.items()}
NAMES = (*SCHEMES, *WEIGHT_DTYPES)  # the values of --weights, without aliases


def find_format(name: object) -> Format | str:
    """Return the format of a name, or a dtype as torch spells it.

    Errors: :class:`ArchspecError` for an unknown name, with all names.

    >>> find_format("bnb-4bit").name, find_format("FP8_E4M3").name, find_format("f16")
    ('nf4', 'fp8', 'float16')
    """
    if isinstance(name, str):
        if (found := _BY_SPELLING.get(_normalize(name))) is not None:
            return found
        if (dtype := dtype_name(name)) in WEIGHT_DTYPES:
            return dtype
    near = did_you_mean(str(name).lower(), NAMES)
    near = f"{near} " if near.startswith("did you mean") else ""
    raise ArchspecError(f"unknown weight format {name!r}", help=f"{near}choose one of: {', '.join(NAMES)}")


def _normalize(name: str) -> str:
    return "".join(character for character in name.strip().lower() if character not in "-_. ")


_BY_SPELLING = {_normalize(spelling): one for one in FORMATS for spelling in (one.name, *one.aliases)}
