"""Both interpreters agree: a closed form at a config is the exact count, and at another one under the same
assumptions.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import archspec
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, Source
from archspec.models.formula import Formula
from archspec.quantities import QUANTITIES
from archspec.render.assumptions import assume as assuming
from archspec.specs.library import shipped
from archspec.specs.parser import parse_spec
from archspec.specs.records import Spec
from archspec.symbolic.builder import SymbolicBuilder
from archspec.symbolic.repetitions import symbolic_tensors
from archspec.tree.builder import Builder
from archspec.tree.counts import quantities_of
from archspec.tree.tensors import tensors
from archspec.verify.campaign import everything
from archspec.verify.generate.sampling import Sampler
from archspec.verify.undeclared import source_texts

REFUSED = {"gemma3n"}  # whatever the config: its image tower is timm's
TYPES = sorted(everything())
PAIRS = [(model_type, name) for model_type in TYPES for name in shipped().load(model_type).architectures]
LENIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


def exact(spec: Spec, architecture: str, raw: dict[str, Any]) -> dict[str, int]:
    scope = Scope(spec, raw)
    scope.validate()
    return quantities_of(tensors(Builder(scope).build(architecture)))


def formulas(
    spec: Spec, architecture: str, raw: dict[str, Any], opaque: bool = False
) -> tuple[dict[str, Formula], SymbolicBuilder]:
    builder = SymbolicBuilder(Scope(spec, raw), opaque_floats=opaque)
    rows = symbolic_tensors(builder.build(architecture), builder)
    return {quantity: Formula(architecture, quantity, rows, builder) for quantity in QUANTITIES}, builder


def accepted(spec: Spec, architecture: str, raw: dict[str, Any]) -> bool:
    try:
        exact(spec, architecture, raw)
    except ArchspecError:
        return False
    return True


def valid(spec: Spec, architecture: str, sampler: Sampler) -> dict[str, Any] | None:
    """A random config that the spec itself takes."""
    for _ in range(200):
        raw: dict[str, Any] | None = sampler.sample()
        assert raw is not None
        if not accepted(spec, architecture, raw):
            raw = sampler.mend(lambda near: accepted(spec, architecture, near))
        if raw is not None:
            sampler.accept()
            return raw
    return None


def resized(spec: Spec, raw: dict[str, Any], sampler: Sampler) -> dict[str, Any]:
    """The same config with other numbers."""
    other = dict(raw)
    for field in spec.fields.values():
        value = raw.get(field.name, None if field.computed else sampler.default(field, {}))
        if isinstance(value, int | float) and not isinstance(value, bool) and sampler.random.random() < 0.4:
            drawn = (
                sampler.number(field.name, value, raw)
                if isinstance(value, int)
                else sampler.random.choice((0.5, 1.0, 2.0))
            )
            other[field.name] = drawn
    return other


def agree(spec: Spec, architecture: str, raw: dict[str, Any], others: list[dict[str, Any]]) -> int:
    """Holds the closed forms against the exact counts at a config and at others; the number of others that
    they hold for.
    """
    wanted = exact(spec, architecture, raw)
    found, _ = formulas(spec, architecture, raw)
    own = {quantity: formula.substituted(formula.symbols) for quantity, formula in found.items()}
    if own != wanted:
        found, _ = formulas(spec, architecture, raw, opaque=True)  # int() of a float has no closed form here
        own = {quantity: formula.substituted(formula.symbols) for quantity, formula in found.items()}
    assert own == wanted
    assert all(formula.latex() and formula.text() for formula in found.values())
    held = 0
    for other in others:
        try:
            expected = exact(spec, architecture, other)
        except ArchspecError:
            continue
        elsewhere, builder = formulas(spec, architecture, other)
        for quantity, formula in found.items():
            there = elsewhere[quantity]
            meant = {name: text for name, (text, _) in builder.domain.definitions.items()}
            same = (there.flags, there.conditions) == (formula.flags, formula.conditions)
            if same and all(meant.get(name) == text for name, text in formula.definitions.items()):
                values = {name: there.config_values[name] for name in formula.symbols}
                assert formula.substituted(values) == expected[quantity], (
                    quantity,
                    raw,
                    other,
                    formula.assumptions,
                )
                held += 1
    return held


@pytest.mark.oracle
@pytest.mark.parametrize("model_type", TYPES)
def test_every_architecture(model_type: str) -> None:
    spec = shipped().load(model_type)
    for architecture in spec.architectures:
        sampler = Sampler(spec, 3, source_texts(spec))
        default = {"model_type": model_type}
        raw = valid(spec, architecture, sampler)
        if model_type in REFUSED:
            assert raw is None
            continue
        assert raw is not None
        try:
            exact(spec, architecture, default)
        except ArchspecError:
            default = raw
        agree(spec, architecture, raw, [resized(spec, raw, sampler)])
        agree(spec, architecture, default, [resized(spec, default, sampler)])


@settings(max_examples=60, **LENIENT)
@given(st.sampled_from(PAIRS), st.integers(0, 10**6))
def test_random_configs(pair: tuple[str, str], seed: int) -> None:
    model_type, architecture = pair
    spec = shipped().load(model_type)
    sampler = Sampler(spec, seed)
    for _ in range(2):
        raw = valid(spec, architecture, sampler)
        if raw is not None:
            agree(spec, architecture, raw, [resized(spec, raw, sampler) for _ in range(3)])


def test_a_closed_form_is_held_for_other_numbers() -> None:
    """The test above is of use: most other numbers fulfil the same assumptions."""
    spec = shipped().load("llama")
    sampler = Sampler(spec, 0)
    raw = valid(spec, "LlamaForCausalLM", sampler)
    assert raw is not None
    assert agree(spec, "LlamaForCausalLM", raw, [resized(spec, raw, sampler) for _ in range(40)]) > 60


# Random specs: sizes, conditions, loops and guards of every form that the language has.

SIZES = [
    "a",
    "b",
    "c",
    "k",
    "1",
    "2",
    "5",
    "items[0]",
    "items[-1]",
    "len(items)",
    "sum(items)",
    "max(items)",
    "derived",
    "dims[1]",
]
INDEXED = [*SIZES, "i", "i + 1", "items[i % 3]", "2 ** i", "dims[i % 2]"]
TESTS = [
    "flag",
    "not flag",
    'kind == "one"',
    "maybe is None",
    "a in [4, 6]",
    "any(v > c for v in items)",
    "all(v < b for v in items)",
]
TURNS = [
    "i % p == k % p",
    "i < k",
    "i >= n - k",
    "i in [0, 2]",
    "(i + 1) % p == 0",
    "i == 1",
    "i != n - 1",
    "i > c",
    "items[i % 3] > 2",
]


def sizes(atoms: list[str], tests: list[str]) -> st.SearchStrategy[str]:
    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        two = st.tuples(inner, inner)
        return st.one_of(
            two.map(lambda p: f"({p[0]} + {p[1]})"),
            two.map(lambda p: f"({p[0]}) * ({p[1]})"),
            two.map(lambda p: f"({p[0]}) // ({p[1]} + 1)"),
            two.map(lambda p: f"({p[0]}) % ({p[1]} + 1)"),
            two.map(lambda p: f"max({p[0]}, {p[1]})"),
            two.map(lambda p: f"min({p[0]}, {p[1]})"),
            two.map(lambda p: f"abs({p[0]} - ({p[1]}))"),
            two.map(lambda p: f"ceil(({p[0]}) / ({p[1]} + 1))"),
            two.map(lambda p: f"round(({p[0]}) / ({p[1]} + 1))"),
            inner.map(lambda p: f"int(({p}) * x)"),
            st.tuples(inner, conditions(tests, atoms), inner).map(
                lambda p: f"({p[0]} if {p[1]} else {p[2]})"
            ),
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
    loop = draw(
        st.sampled_from(
            ["range(n)", "range(n + k)", "range(k, n)", "items", "range(n) if i % 2", "enumerate(items)"]
        )
    )
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
    """Modules that are built twice with other sizes, loops within loops, layers with as many tensors as a
    field says.
    """
    plain, tuples = sizes(SIZES, TESTS), sizes([*SIZES, "u", "v", "m"], TESTS)
    asked = conditions([*TESTS, "m == c", "m in [2, 3]", "m < b < 5"], ["m", "a", "c", "items[1]"])
    sized, turns = draw(sizes([*SIZES, "m"], TESTS)), draw(st.sampled_from(["k", "m", "2"]))
    each = draw(st.sampled_from(["i", "2 ** i", "i * a", "items[i]", "b"]))
    layers = draw(st.sampled_from(["k", "1", "a // 2"]))
    return f"""{CONFIG}fixed:
  derived: = b + 1
  dims: "= [a * 2, b]"
modules:
  Layer(m):
    w: Parameter({sized}) if {draw(asked)} else Parameter({draw(plain)}, 2)
    rows: Linear(i + 1, {draw(sizes([*SIZES, "m"], TESTS))}) for i in range({turns})
    pairs: Linear({draw(tuples)}, 2) for (u, v) in zip(items, dims)
architectures:
  ToyModel:
    once: Layer({draw(plain)})
    again: Layer({draw(plain)})
    blocks: "[Layer({each}) for i in range(k)] + [Layer(c)]"
    lstm: LSTM({draw(plain)}, a, num_layers={layers}, bias={draw(conditions(TESTS, SIZES))})
    attention: MultiheadAttention(a, 1, kdim={draw(st.sampled_from(["None", "b", "a", "c"]))})
"""


def toy(text: str) -> Spec:
    def none(name: str, place: Any) -> Spec:
        raise AssertionError(name)

    return parse_spec(Source("toy.yaml", text), none, shipped())


def drawn(chance: random.Random) -> dict[str, Any]:
    raw: dict[str, Any] = {name: chance.randint(0 if name in "ck" else 1, 7) for name in "abcnkp"}
    raw |= {
        "x": chance.choice((0.5, 1.0, 1.5, 2.7)),
        "flag": chance.random() < 0.5,
        "kind": chance.choice(("one", "two")),
    }
    raw |= {"maybe": chance.choice((None, 3)), "items": [chance.randint(1, 6) for _ in range(3)]}
    return {name: value for name, value in raw.items() if chance.random() < 0.8}


@settings(max_examples=int(os.environ.get("ARCHSPEC_EXAMPLES", "25")), **LENIENT)
@given(st.one_of(specs(), nested()), st.integers(0, 10**6))
def test_random_specs(text: str, seed: int) -> None:
    spec = toy(text)
    chance = random.Random(seed)
    raw = drawn(chance)
    try:
        exact(spec, "ToyModel", raw)
    except ArchspecError:
        assume(False)
    others = [
        {**raw, **{name: value for name, value in drawn(chance).items() if chance.random() < 0.4}}
        for _ in range(4)
    ]
    agree(spec, "ToyModel", raw, others)


def test_a_closed_form_that_is_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from archspec.symbolic import closed_form

    monkeypatch.setattr(closed_form, "quantities_of", lambda found: {**quantities_of(found), "params": 7})
    with pytest.raises(ArchspecError, match="does not give the exact params"):
        Formula.of(Scope(shipped().load("bert"), {"model_type": "bert"}), "BertModel")


def test_a_closed_form_holds_for_its_number_of_recurrent_layers_alone() -> None:
    formula = archspec.formula("EncodecModel")
    assert formula.evaluate(num_lstm_layers=2) == formula.evaluate() == archspec.load("EncodecModel").params
    with pytest.raises(ArchspecError, match="it assumes num_lstm_layers == 2"):
        formula.evaluate(num_lstm_layers=4)


def test_fields_that_are_computed_follow_those_that_are_given() -> None:
    raw = {"model_type": "gpt2", "n_embd": 1024, "n_head": 16}
    assert archspec.formula("GPT2Model").evaluate(n_embd=1024, n_head=16) == archspec.load(raw).params
    narrow = archspec.load({"model_type": "gpt2", "n_inner": 1000}, "GPT2Model").formula
    assert (
        assuming(narrow, ["n_inner=4*n_embd"]).evaluate(n_embd=1024, n_head=16) == archspec.load(raw).params
    )
    raw = {"model_type": "hiera", "patch_size": [7, 5]}
    assert (
        archspec.formula("HieraModel").evaluate(**{"patch_size[1]": 5})
        == archspec.load(raw, "HieraModel").params
    )
    part = archspec.formula("LlavaModel").evaluate(**{"text_config.num_hidden_layers": 3})
    assert (
        part
        == archspec.load(
            {"model_type": "llava", "text_config": {"num_hidden_layers": 3}}, "LlavaModel"
        ).params
    )


def test_a_closed_form_is_refused_where_what_it_assumes_does_not_hold() -> None:
    raw: dict[str, Any] = {"model_type": "deepseek_v3", "num_hidden_layers": 5}
    mixed = archspec.formula("DeepseekV3ForCausalLM")
    assert mixed.evaluate(num_hidden_layers=5) == archspec.load(raw, "DeepseekV3ForCausalLM").params
    raw = {"model_type": "hiera", "decoder_hidden_size": 8, "decoder_depth": 1, "decoder_num_heads": 2}
    fused = archspec.load(raw, "HieraForPreTraining").formula
    with pytest.raises(
        ArchspecError, match=r"at num_query_pool=2 this formula does not hold.* num_query_pool == 3"
    ):
        fused.evaluate(num_query_pool=2)
    with pytest.raises(
        ArchspecError, match=r"at n_embd=1600: .* demands `n_embd % n_head == 0 and n_embd > 0`"
    ):
        archspec.formula("GPT2Model").evaluate(n_embd=1600)
    with pytest.raises(ArchspecError, match="no_such does not enter"):
        archspec.formula("GPT2Model").evaluate(no_such=1)


def test_conditions_that_read_alike_are_told_apart() -> None:
    """A module that is built with two sizes: what holds of one says nothing of the other."""
    text = f"""{CONFIG}modules:
  Layer(m):
    w: Linear(m, 2) if m > 5 else None
architectures:
  ToyModel:
    first: Layer(a)
    second: Layer(b)
"""
    spec, raw = toy(text), {"a": 4, "b": 6}
    formula = formulas(spec, "ToyModel", raw)[0]["params"]
    assert formula.conditions == {"a > 5": False, "b > 5": True}
    with pytest.raises(ArchspecError, match="does not hold"):
        formula.evaluate(a=7, b=3)
