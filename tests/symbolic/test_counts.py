"""Counts over swept numbers: wherever the path conditions of a run hold, its quantities are exact."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_specs import LENIENT, drawn, exact, nested, over_grid, specs, toy

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.specs.records import Spec
from archspec.sweeping.axes import Axis
from archspec.symbolic.expressions import TooLarge
from archspec.symbolic.path_conditions import Path
from archspec.symbolic.polynomials import Space
from archspec.symbolic.swept import SweptDomain, counts

LENGTH = 4  # of an axis


def run(spec: Spec, raw: dict[str, Any], axes: list[Axis], point: tuple[int, ...]) -> tuple[Path, Any]:
    """The path of a run at a point, and the quantities, or that it is refused."""
    path = Path(Space([axis.bounds for axis in axes]))
    swept = {
        axis.name: path.number(path.space.axis(number), axis.values[place])
        for number, (axis, place) in enumerate(zip(axes, point, strict=True))
    }
    try:
        scope = Scope(spec, raw | swept, domain=SweptDomain())
        scope.validate()
        return path, counts(scope, "ToyModel")
    except ArchspecError:
        return path, None


def plain(spec: Spec, raw: dict[str, Any], axes: list[Axis], point: tuple[int, ...]) -> Any:
    here = {axis.name: axis.values[place] for axis, place in zip(axes, point, strict=True)}
    try:
        return exact(spec, "ToyModel", raw | here)
    except ArchspecError:
        return None


@settings(max_examples=int(os.environ.get("ARCHSPEC_EXAMPLES", "40")), **LENIENT)
@given(st.one_of(specs(), nested()), st.integers(0, 10**6))
def test_a_closed_form_holds_wherever_its_path_conditions_do(text: str, seed: int) -> None:
    spec, chance = toy(text), random.Random(seed)
    raw = drawn(chance)
    starts = {name: chance.randint(0, 3) for name in chance.sample("abcnkp", chance.choice((1, 2, 3)))}
    axes = [Axis(name, range(start, start + LENGTH), True) for name, start in starts.items()]
    points = list(itertools.product(range(LENGTH), repeat=len(axes)))
    point = chance.choice(points)
    try:
        path, found = run(spec, raw, axes, point)
    except TooLarge:
        return  # a sweep counts this point alone
    mask, values = over_grid(path, axes, found)
    assert mask[point]
    for other in [point, *chance.sample(points, min(len(points), 12))]:
        if mask[other]:
            expected = plain(spec, raw, axes, other)
            assert (found is None) == (expected is None), (raw, starts, point, other)
            assert {name: int(value[other]) for name, value in values.items()} == (expected or {})


LOOPS = """
model_type: toy
config:
  n: 6
  k: 2
  kinds: "list[str] | None = ['full' if i % 3 == 2 else 'slim' for i in range(n)]"
modules:
  Layer(i):
    w: Parameter(5, k) if kinds[i] == 'full' else Parameter(3)
architectures:
  ToyModel:
    layers: Layer(i) for i in range(n)
"""


@pytest.mark.parametrize("text", [LOOPS, LOOPS.replace("i % 3 == 2", "i < k")])
def test_a_loop_holds_for_fewer_turns_too(text: str) -> None:
    spec = toy(text)
    axes = [Axis("n", range(30), True), Axis("k", (2,), True)]
    path, found = run(spec, {}, axes, (29, 0))
    mask, values = over_grid(path, axes, found)
    assert mask.sum() > 20, "one path is taken for most numbers of turns"
    for place in np.flatnonzero(mask[:, 0]):
        assert int(values["params"][place, 0]) == plain(spec, {}, axes, (int(place), 0))["params"]
