"""Scaling laws: the parameters and tokens that are optimal for a compute budget.

The laws and their constants are in formulas/laws.json, with sources. All of them assume that training takes
6 FLOPs per parameter and token, C = 6·N·D.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any, NamedTuple

from archspec.errors import ArchspecError, did_you_mean
from archspec.specs.files import folder

LAWS = "laws.json"
MAX_COMPUTE = 1e40


class Optimum(NamedTuple):
    """The optimum for a compute budget: N parameters of the quantity ``counts``, and D tokens."""

    law: str
    source: str
    counts: str
    compute: float
    params: int
    tokens: int


def optimum(compute: float, law: str) -> Optimum:
    """The parameters and tokens that a law recommends for ``compute`` FLOPs.

    Errors: :class:`ArchspecError` for an unknown law, and for compute out of range.

    >>> found = optimum(5.76e23, "chinchilla")
    >>> found.params, round(found.tokens, -9)
    (67000000000, 1433000000000)
    """
    if not 0 < compute < MAX_COMPUTE:
        raise ArchspecError(f"{compute:g} FLOPs are not a compute budget", help="write 1e21")
    known = laws()
    if law not in known:
        help_ = did_you_mean(law, known) or f"choose {', '.join(known)}"
        raise ArchspecError(f"unknown scaling law {law!r}", help=help_)
    about = known[law]
    if about["kind"] == "power":  # a power of the compute, through one point
        at = about["at"]
        params = float(at["params"] * (compute / at["compute"]) ** about["exponent"])
    else:  # where A/N^alpha + B/D^beta is least for N·D = C/6 (arXiv:2203.15556, equation 4)
        alpha, beta = about["alpha"], about["beta"]
        ratio = (alpha * about["A"] / (beta * about["B"])) ** (1 / (alpha + beta))
        params = float(ratio * (compute / 6) ** (beta / (alpha + beta)))
    return Optimum(law, about["source"], about["counts"], compute, round(params), round(compute / 6 / params))


@cache
def laws() -> dict[str, dict[str, Any]]:
    """The constants of every law, by name."""
    with open(os.path.join(folder(), LAWS), encoding="utf-8") as file:
        found: dict[str, dict[str, Any]] = json.load(file)
    return found
