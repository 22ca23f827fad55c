"""Scaling laws: the parameters and tokens that are optimal for a compute budget.

The laws and their constants are in formulas/laws.json, with sources. All of them assume that training takes
6 FLOPs per parameter and token, C = 6·N·D.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

from archspec.errors import ArchspecError, did_you_mean, option
from archspec.models.report import Record, fact
from archspec.specs.files import folder

MAX_COMPUTE = 1e40


class LawFacts(Record):
    """the prediction of a scaling law"""

    law: str = fact("the name of the scaling law")
    source: str = fact("the paper")
    counts: str = fact("the quantity of its parameters", choices=("params", "non_embedding_params"))
    compute: float = fact("training FLOPs")
    params: int = fact("compute-optimal parameters")
    tokens: int = fact("compute-optimal training tokens")


def find_optimum(compute: float, law: str) -> LawFacts:
    """Return the parameters and tokens that a law recommends for ``compute`` FLOPs.

    Errors: :class:`ArchspecError` for an unknown law, and for compute out of range.

    >>> found = find_optimum(5.76e23, "chinchilla")
    >>> found.params, round(found.tokens, -9)
    (67000000000, 1433000000000)
    """
    if not 0 < compute < MAX_COMPUTE:
        message = f"{compute:g} FLOPs is not a compute budget"
        raise ArchspecError(message, help=f"pass {option('compute', '1e21')}")
    if (found := laws().get(law)) is None:
        help_ = did_you_mean(law, laws()) or f"choose {', '.join(laws())}"
        raise ArchspecError(f"unknown scaling law {law!r}", help=help_)
    if found["kind"] == "power":  # a power of the compute, through one point
        point = found["at"]
        params = float(point["params"] * (compute / point["compute"]) ** found["exponent"])
    else:  # the minimum of A/N^alpha + B/D^beta for N·D = C/6 (arXiv:2203.15556, equation 4)
        alpha, beta = found["alpha"], found["beta"]
        ratio = (alpha * found["A"] / (beta * found["B"])) ** (1 / (alpha + beta))
        params = float(ratio * (compute / 6) ** (beta / (alpha + beta)))
    tokens = compute / 6 / params
    if min(params, tokens) < 1:
        message = f"{compute:g} FLOPs is too small: {law} predicts less than one parameter or token"
        raise ArchspecError(message, help=f"pass a larger compute budget, e.g. {option('compute', '1e21')}")
    return LawFacts(law, found["source"], found["counts"], compute, round(params), round(tokens))


@cache
def laws() -> dict[str, dict[str, Any]]:
    """Return the constants of every law, by name."""
    with open(os.path.join(folder(), "laws.json"), encoding="utf-8") as file:
        found: dict[str, dict[str, Any]] = json.load(file)
    return found
