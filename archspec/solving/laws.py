"""Compute-optimal sizes: how many parameters and tokens scaling laws give a number of FLOPs.

The laws and their constants are those of formulas/laws.json, each with its source. All of them take training
for 6 FLOPs a parameter and token, C = 6·N·D.
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
    """What a law gives some compute: N parameters of the quantity ``counts``, and D tokens."""

    law: str
    source: str
    counts: str
    compute: float
    params: int
    tokens: int


def optimum(compute: float, law: str) -> Optimum:
    """The parameters and tokens that a law gives ``compute`` FLOPs.

    Errors: :class:`ArchspecError` for a law that the file does not have, and for compute that is no number.

    >>> found = optimum(5.76e23, "chinchilla")
    >>> found.params, round(found.tokens, -9)
    (67000000000, 1433000000000)
    """
    if not 0 < compute < MAX_COMPUTE:
        raise ArchspecError(f"{compute:g} FLOPs are no compute", help="write 1e21")
    known = laws()
    if law not in known:
        raise ArchspecError(f"{law} is no law that is described", help=did_you_mean(law, known))
    about = known[law]
    params = _power(compute, about) if about["kind"] == "power" else _least_loss(compute, about)
    return Optimum(law, about["source"], about["counts"], compute, round(params), round(compute / 6 / params))


def _power(compute: float, law: dict[str, Any]) -> float:
    """A power of the compute through one point."""
    at = law["at"]
    return float(at["params"] * (compute / at["compute"]) ** law["exponent"])


def _least_loss(compute: float, law: dict[str, Any]) -> float:
    """Where A/N^alpha + B/D^beta is least along N·D = C/6 (arXiv:2203.15556, equation 4)."""
    alpha, beta = law["alpha"], law["beta"]
    ratio = (alpha * law["A"] / (beta * law["B"])) ** (1 / (alpha + beta))
    return float(ratio * (compute / 6) ** (beta / (alpha + beta)))


@cache
def laws() -> dict[str, dict[str, Any]]:
    """The numbers of every law, by its name."""
    with open(os.path.join(folder(), LAWS), encoding="utf-8") as file:
        found: dict[str, dict[str, Any]] = json.load(file)
    return found
