"""Compute-optimal sizes are those in the papers' tables."""

from __future__ import annotations

import pytest

from archspec.errors import ArchspecError
from archspec.solving.laws import optimum

ROWS = {  # parameters, FLOPs: arXiv:2203.15556, table 3 (approach 1) and table A3 (2 and 3)
    "chinchilla": "400e6 1.92e19, 1e9 1.21e20, 10e9 1.23e22, 175e9 3.85e24, 1e12 1.27e26, 10e12 1.30e28",
    "chinchilla-isoflop": "400e6 1.84e19, 1e9 1.20e20, 10e9 1.32e22, 67e9 6.88e23",
    "chinchilla-parametric": "400e6 2.21e19, 1e9 1.62e20, 10e9 2.46e22, 67e9 1.71e24",
}


@pytest.mark.parametrize(("law", "row"), [(law, row) for law in ROWS for row in ROWS[law].split(", ")])
def test_the_tables_of_hoffmann_et_al(law: str, row: str) -> None:
    """The tolerance is that of their rounding: sizes and exponents have two digits."""
    params, compute = map(float, row.split())
    found = optimum(compute, law)
    assert found.params == pytest.approx(params, rel=0.06)
    assert 6 * found.params * found.tokens == pytest.approx(compute)


def test_the_parametric_loss_is_least_at_its_optimum() -> None:
    def loss(params: float) -> float:
        return float(482.01 / params**0.3478 + 2085.43 / (1e21 / 6 / params) ** 0.3658)

    best = optimum(1e21, "besiroglu").params
    assert loss(best) < min(loss(best * 1.01), loss(best * 0.99))


def test_other_papers() -> None:
    found = optimum(5.76e23, "besiroglu")  # arXiv:2404.10102, section 3: about 20 tokens per parameter
    assert 15 < found.tokens / found.params < 25
    petaflop_day = optimum(1e15 * 86400, "kaplan")  # arXiv:2001.08361, table 6
    assert petaflop_day[2:5] == ("non_embedding_params", 8.64e19, 1_300_000_000)


@pytest.mark.parametrize(("compute", "law"), [(1e21, "chinchila"), (0, "kaplan"), (float("nan"), "kaplan")])
def test_unknown_laws_and_invalid_compute_are_refused(compute: float, law: str) -> None:
    with pytest.raises(ArchspecError, match=r"did you mean chinchilla|are not a compute budget"):
        optimum(compute, law)
