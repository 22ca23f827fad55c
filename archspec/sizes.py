"""Numbers of parameters and bytes as people write them."""

from __future__ import annotations

import re
from fractions import Fraction

from archspec.errors import ArchspecError, option

_THOUSANDS = {letter: 1000**power for power, letter in enumerate("kmgtp", 1)}
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("kmgtp", 1)}
_UNITS = {"": 1, **_THOUSANDS, **_BINARY}
_MOST_BYTES = 2**62
_LONGEST = 64  # characters; longer texts are not sizes
_SIZE = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+|[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,2})?) ?"
    r"(?P<unit>[kKMGTP]i?B?|[kmgtp]i?b?|[bB]?)$"  # not Gb, which are bits
)


def bytes_of(given: str | int) -> int:
    """Return a number of bytes. Errors: :class:`ArchspecError` for an invalid one.

    >>> bytes_of("80GiB"), bytes_of(2**30)
    (85899345920, 1073741824)
    """
    found = number_of(str(given), of_bytes=True)
    if not found or found > _MOST_BYTES:
        wrong = "is too large for a memory budget" if found else "is not a number of bytes"
        raise ArchspecError(f"{option('budget')}: {given} {wrong}", help="write 80GiB or 24e9")
    return found


def number_of(text: str, of_bytes: bool = False) -> int | None:
    """Parse a whole number such as 7B, or return None; `b` is a billion, or a byte.

    >>> number_of("7b"), number_of("7,000,000,000"), number_of("80gb", of_bytes=True), number_of("7x")
    (7000000000, 7000000000, 80000000000, None)
    """
    match = _SIZE.match(text.strip())
    if match is None or len(text) > _LONGEST:
        return None
    unit = match["unit"].lower()
    if len(unit) > 1 and not of_bytes:
        return None  # 7GB and 7Gi are bytes
    factor = 10**9 if unit == "b" and not of_bytes else _UNITS[unit.removesuffix("b")]
    number = Fraction(re.sub("[_,]", "", match["number"])) * factor
    return int(number) if number.denominator == 1 else None
