"""Budgets and ratios as users write them."""

from __future__ import annotations

import pytest

from archspec.errors import SweepError
from archspec.solving.goals import Goal, goal, ratio_condition, size_of

SIZES = {
    "7e9": 7 * 10**9,
    "1.3B": 13 * 10**8,
    "350M": 35 * 10**7,
    "2_000": 2000,
    5: 5,
    1e3: 1000,
    "1.5T": 15 * 10**11,
    "7b": 7 * 10**9,
    "350m": 35 * 10**7,
    "7,000,000,000": 7 * 10**9,
}
BYTES = {"16GiB": 2**34, "16gb": 16 * 10**9, "1 KiB": 1024, "7B": 7, "2.5kB": 2500}
INVALID = ["", "x", "-3", "0", "7q", "1.5", "1e99", "nan", "2..1", "..", "1..2..3", "7 e9", "1Gb", "1,2"]


def test_sizes() -> None:
    assert {text: size_of(text) for text in SIZES} == SIZES
    assert {text: size_of(text, "bytes") for text in BYTES} == BYTES


def test_bytes_are_a_limit_unless_a_range_is_given() -> None:
    assert goal("bytes", "1GiB") == Goal("bytes", 2**30, None, 2**30)
    assert goal("bytes", "1GiB..2GiB") == Goal("bytes", None, 2**30, 2**31)


@pytest.mark.parametrize("text", INVALID)
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(SweepError, match=r"is not a size|is not a range"):
        goal("params", text)


def test_ratios_are_conditions_on_whole_numbers() -> None:
    assert ratio_condition("a/b", "1.1..4/3") == "b > 0 and 11 * (b) <= 10 * (a) and 3 * (a) <= 4 * (b)"
    assert ratio_condition("a/(b+c)", "2") == "b + c > 0 and 2 * (b + c) <= (a) and (a) <= 2 * (b + c)"
    assert ratio_condition("a/b", (2, 3)) == ratio_condition("a / b", "2..3")
    assert ratio_condition("a/b", "..3") == "b > 0 and (a) <= 3 * (b)"
