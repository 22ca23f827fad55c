"""Random specs with sizes, conditions, loops and guards of every form that the language has, and configs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import HealthCheck
from hypothesis import strategies as st

from archspec.configs.origin import RawConfig
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.errors import Source
from archspec.specs.library import shipped_library
from archspec.specs.parser import parse_spec
from archspec.specs.records import Spec
from archspec.sweeping.axes import Axis
from archspec.sweeping.evaluator import Evaluator, Grid, boxes
from archspec.symbolic.path_conditions import Number, Path
from archspec.tree.builder import Builder
from archspec.tree.tensors import quantities_of, tensors

LENIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


class ToySource:
    """A config of a toy spec as the source of a formula."""

    set_notes: tuple[str, ...] = ()

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def with_fields(self, set: Any = None, /, **fields: Any) -> ToySource:
        """Return the config with other fields."""
        config = read_config(RawConfig(dict(self.scope.raw), self.scope.origin), {**(set or {}), **fields})
        scope = Scope(self.scope.spec, config.raw, config.origin)
        scope.validate()
        return ToySource(scope)


def exact(spec: Spec, architecture: str, raw: dict[str, Any]) -> dict[str, int]:
    scope = Scope(spec, raw)
    scope.validate()
    return quantities_of(tensors(Builder(scope).build(architecture)))


def over_grid(path: Path, axes: list[Axis], found: Any) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """Return a mask of the conditions of a path, and the quantities, over the whole grid."""
    (box,) = boxes(Grid(axes))
    evaluator, shape = Evaluator(path.space), tuple(len(axis.values) for axis in axes)

    def spread(value: Any) -> Any:
        return np.broadcast_to(np.asarray(value), box.shape).reshape(shape)

    with np.errstate(all="ignore"):
        mask = np.ones(shape, dtype=bool)
        for condition in path.conditions:
            mask = mask & spread(evaluator.test(condition, box))
        values = {
            name: spread(evaluator.value(value.expr if isinstance(value, Number) else value, box))
            for name, value in (found or {}).items()
        }
    return mask, values


SIZES = [*"abck125", "items[0]", "items[-1]", "len(items)", "sum(items)", "max(items)", "derived", "dims[1]"]
INDEXED = [*SIZES, "i", "i + 1", "items[i % 3]", "2 ** i", "dims[i % 2]"]
TESTS = ["flag", "not flag", 'kind == "one"', "maybe is None", "a in [4, 6]"]
TESTS += ["any(v > c for v in items)", "all(v < b for v in items)"]
TURNS = ["i % p == k % p", "i < k", "i >= n - k", "i in [0, 2]", "(i + 1) % p == 0", "i == 1", "i != n - 1"]
TURNS += ["i > c", "items[i % 3] > 2"]
LOOPS = ["range(n)", "range(n + k)", "range(k, n)", "items", "range(n) if i % 2", "enumerate(items)"]
PAIRS = ["({} + {})", "({}) * ({})", "({}) // ({} + 1)", "({}) % ({} + 1)", "max({}, {})", "min({}, {})"]
PAIRS += ["abs({} - ({}))", "ceil(({}) / ({} + 1))", "round(({}) / ({} + 1))"]


def sizes(atoms: list[str], tests: list[str]) -> st.SearchStrategy[str]:
    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = [st.tuples(inner, inner).map(lambda p, form=form: form.format(*p)) for form in PAIRS]
        choices = st.tuples(inner, conditions(tests, atoms), inner)
        return st.one_of(
            *pairs,
            inner.map(lambda p: f"int(({p}) * x)"),
            choices.map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        )

    return st.recursive(st.sampled_from(atoms), larger, max_leaves=4)


def conditions(tests: list[str], atoms: list[str]) -> st.SearchStrategy[str]:
    atom = st.sampled_from(atoms)
    compared = st.tuples(atom, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), atom).map(" ".join)

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        two = st.tuples(inner, st.sampled_from(["and", "or"]), inner)
        return st.one_of(two.map(lambda p: f"({' '.join(p)})"), inner.map(lambda p: f"not ({p})"))

    return st.recursive(st.one_of(st.sampled_from(tests), compared), larger, max_leaves=3)


CONFIG = """
model_type: toy
config:
  a: 4
  b: 6
  c: 3
  n: 5
  k: 2
  p: 3
  x: 1.5
  flag: true
  kind: one
  maybe: int | None = 3
  items: [2, 3, 5]
"""


@st.composite
def specs(draw: st.DrawFn) -> str:
    plain, indexed = sizes(SIZES, TESTS), sizes(INDEXED, TURNS)
    turn, test = conditions([*TURNS, *TESTS], INDEXED), conditions(TESTS, SIZES)
    expert = f"Parameter(p, {draw(plain)})"
    loop = draw(st.sampled_from(LOOPS))
    target, argument = ("(i, v)", "i") if loop.startswith("enumerate") else ("i", "i")
    return f"""{CONFIG}fixed:
  derived: = {draw(plain)}
  dims: '= [{draw(sizes(SIZES[:-2], TESTS))}, a * 2, b]'
modules:
  Layer(i):
    where:
      local: {draw(indexed)}
    w: Parameter({draw(indexed)}, local)
    v: Linear({draw(plain)}, {draw(plain)}, bias={draw(turn)})
    u: Parameter({draw(plain)}) if {draw(turn)} else None
    z: Parameter({draw(plain)}, 2) if {draw(turn)} else Parameter({draw(plain)})
    experts: {expert}.routed(k, p) if {draw(turn)} else None
  Same:
    w: Linear({draw(plain)}, {draw(plain)})
architectures:
  ToyModel:
    first: Parameter({draw(plain)}) if {draw(test)} else Buffer({draw(plain)})
    table: Embedding({draw(plain)}, {draw(plain)})
    layers: Layer({argument}) for {target} in {loop}
    same: Same() for i in range({draw(plain)})
    named: "{{str(j): Same() for j in range(k)}}"
"""


@st.composite
def nested(draw: st.DrawFn) -> str:
    """Modules built twice with other sizes, loops within loops, as many tensors as a field says."""
    plain, tuples = sizes(SIZES, TESTS), sizes([*SIZES, "u", "v", "m"], TESTS)
    asked = conditions([*TESTS, "m == c", "m in [2, 3]", "m < b < 5"], ["m", "a", "c", "items[1]"])
    block = draw(st.sampled_from(["i", "2 ** i", "i * a", "items[i]", "b"]))
    depth = draw(st.sampled_from(["k", "1", "a // 2"]))
    turns = draw(st.sampled_from(["k", "m", "2"]))
    return f"""{CONFIG}fixed:
  derived: = b + 1
  dims: "= [a * 2, b]"
modules:
  Layer(m):
    w: Parameter({draw(sizes([*SIZES, "m"], TESTS))}) if {draw(asked)} else Parameter({draw(plain)}, 2)
    rows: Linear(i + 1, {draw(sizes([*SIZES, "m"], TESTS))}) for i in range({turns})
    pairs: Linear({draw(tuples)}, 2) for (u, v) in zip(items, dims)
architectures:
  ToyModel:
    once: Layer({draw(plain)})
    again: Layer({draw(plain)})
    blocks: "[Layer({block}) for i in range(k)] + [Layer(c)]"
    lstm: LSTM({draw(plain)}, a, num_layers={depth}, bias={draw(conditions(TESTS, SIZES))})
    attention: MultiheadAttention(a, 1, kdim={draw(st.sampled_from(["None", "b", "a", "c"]))})
"""


def toy(text: str) -> Spec:
    def none(name: str, place: Any) -> Spec:
        raise AssertionError(name)

    return parse_spec(Source("toy.yaml", text), none, shipped_library())


def drawn(chance: random.Random) -> dict[str, Any]:
    raw: dict[str, Any] = {name: chance.randint(0 if name in "ck" else 1, 7) for name in "abcnkp"}
    raw |= {
        "x": chance.choice((0.5, 1.0, 1.5, 2.7)),
        "flag": chance.random() < 0.5,
        "kind": chance.choice(("one", "two")),
    }
    raw |= {"maybe": chance.choice((None, 3)), "items": [chance.randint(1, 6) for _ in range(3)]}
    return {name: value for name, value in raw.items() if chance.random() < 0.8}
