"""Compute-optimal sizes are those of the papers' tables."""

from __future__ import annotations

import pytest

from archspec.errors import ArchspecError
from archspec.solving.laws import optimum

ROWS = {  # parameters -> FLOPs; arXiv:2203.15556, table 3 (approach 1) and table A3 (2 and 3)
    "chinchilla": {
        400e6: 1.92e19,
        1e9: 1.21e20,
        10e9: 1.23e22,
        175e9: 3.85e24,
        1e12: 1.27e26,
        10e12: 1.30e28,
    },
    "chinchilla-isoflop": {400e6: 1.84e19, 1e9: 1.20e20, 10e9: 1.32e22, 67e9: 6.88e23},
    "chinchilla-parametric": {400e6: 2.21e19, 1e9: 1.62e20, 10e9: 2.46e22, 67e9: 1.71e24},
}


@pytest.mark.parametrize(
    ("law", "params", "compute"), [(law, n, c) for law, rows in ROWS.items() for n, c in rows.items()]
)
def test_the_tables_of_hoffmann_et_al(law: str, params: float, compute: float) -> None:
    """Within what their rounding leaves: sizes have two digits, exponents of a power two."""
    found = optimum(compute, law)
    assert found.params == pytest.approx(params, rel=0.06)
    assert 6 * found.params * found.tokens == pytest.approx(compute)


def test_the_loss_is_least_at_its_optimum() -> None:
    def loss(params: float) -> float:
        return float(482.01 / params**0.3478 + 2085.43 / (1e21 / 6 / params) ** 0.3658)

    best = optimum(1e21, "besiroglu").params
    assert loss(best) < min(loss(best * 1.01), loss(best * 0.99))


def test_besiroglu_et_al_find_some_20_tokens_a_parameter() -> None:
    """arXiv:2404.10102, section 3: consistent with the ratio of 20 that Chinchilla was trained at."""
    found = optimum(5.76e23, "besiroglu")
    assert 15 < found.tokens / found.params < 25


def test_kaplan_s_petaflop_day() -> None:
    """arXiv:2001.08361, table 6."""
    assert optimum(1e15 * 86400, "kaplan")[2:5] == ("non_embedding_params", 8.64e19, 1_300_000_000)


@pytest.mark.parametrize(("compute", "law"), [(1e21, "chinchila"), (0, "kaplan"), (float("nan"), "kaplan")])
def test_what_is_not_described_is_refused(compute: float, law: str) -> None:
    with pytest.raises(ArchspecError, match=r"did you mean chinchilla|no compute"):
        optimum(compute, law)
