"""Both interpreters agree: a closed form at a config is the exact count, and at another one under the same
assumptions.
"""

from __future__ import annotations

import os
import random
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_specs import CONFIG, LENIENT, ToySource, drawn, exact, nested, specs, toy

import archspec
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.models.formula import Formula
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.symbolic.builder import SymbolicBuilder
from archspec.symbolic.counts import Loops
from archspec.symbolic.repetitions import symbolic_tensors
from archspec.tables.quantities import QUANTITIES
from archspec.tree.tensors import quantities_of
from archspec.verifying.campaign import all_architectures
from archspec.verifying.generate.sampling import Sampler, valid_configs
from archspec.verifying.undeclared import code_texts

TYPES = sorted(all_architectures())
PAIRS = [(model_type, name) for model_type in TYPES for name in shipped().load(model_type).architectures]


def formulas(
    spec: Spec, architecture: str, raw: dict[str, Any]
) -> tuple[dict[str, Formula], SymbolicBuilder]:
    """The closed forms that give all exact counts, as `ClosedForm.of` looks for them."""
    wanted = exact(spec, architecture, raw)
    for unroll, opaque in product((False, True), repeat=2):
        builder = SymbolicBuilder(Scope(spec, raw), opaque_floats=opaque, unroll=unroll)
        try:
            rows = symbolic_tensors(builder.build(architecture), builder)
        except Loops:
            continue
        found = {quantity: Formula(architecture, quantity, rows, builder) for quantity in QUANTITIES}
        for formula in found.values():
            formula.source = ToySource(formula.scope)
        if {quantity: formula.substituted(formula.symbols) for quantity, formula in found.items()} == wanted:
            return found, builder
    raise AssertionError(f"{architecture}: no closed form gives {wanted}")


def accepted(spec: Spec, architecture: str, raw: dict[str, Any]) -> bool:
    try:
        exact(spec, architecture, raw)
    except ArchspecError:
        return False
    return True


def valid(spec: Spec, architecture: str, sampler: Sampler) -> dict[str, Any] | None:
    """A config that the spec itself takes: a random one, where none is known."""
    for known in valid_configs(spec):
        return dict(known)
    for _ in range(200):
        raw: dict[str, Any] | None = sampler.sample()
        assert raw is not None
        if not accepted(spec, architecture, raw):
            raw = sampler.mend(lambda near: accepted(spec, architecture, near))
        if raw is not None and accepted(spec, architecture, raw):  # under other names it may not be
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
    found, _ = formulas(spec, architecture, raw)
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
            meant = {name: text for name, (text, _) in builder.notes.definitions.items()}
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


@pytest.mark.reference
@pytest.mark.parametrize("model_type", TYPES)
def test_every_architecture(model_type: str) -> None:
    spec = shipped().load(model_type)
    for architecture in spec.architectures:
        sampler = Sampler(spec, 3, code_texts(spec))
        default = {"model_type": model_type}
        raw = valid(spec, architecture, sampler)
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
    there = formula.at(num_lstm_layers=4)
    assert "num_lstm_layers == 4" in there.notes[0] and there.expr != formula.expr
    assert formula.evaluate(num_lstm_layers=4) == there.evaluate()


def test_fields_that_are_computed_follow_those_that_are_given() -> None:
    raw = {"model_type": "gpt2", "n_embd": 1024, "n_head": 16}
    assert archspec.formula("GPT2Model").evaluate(n_embd=1024, n_head=16) == archspec.load(raw).params
    narrow = archspec.load({"model_type": "gpt2", "n_inner": 1000}, "GPT2Model").formula
    assert narrow.assume(n_inner="4*n_embd").evaluate(n_embd=1024, n_head=16) == archspec.load(raw).params
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


def test_where_what_a_closed_form_assumes_does_not_hold_it_is_another_one() -> None:
    raw: dict[str, Any] = {"model_type": "deepseek_v3", "num_hidden_layers": 5}
    mixed = archspec.formula("DeepseekV3ForCausalLM")
    assert mixed.evaluate(num_hidden_layers=5) == archspec.load(raw, "DeepseekV3ForCausalLM").params
    raw = {"model_type": "hiera", "decoder_hidden_size": 8, "decoder_depth": 1, "decoder_num_heads": 2}
    fused = archspec.load(raw, "HieraForPreTraining").formula
    pools = archspec.load({**raw, "num_query_pool": 2}, "HieraForPreTraining").params
    assert fused.evaluate(num_query_pool=2) == pools
    assert "num_query_pool == 2" in fused.at(num_query_pool=2).assumptions
    with pytest.raises(
        ArchspecError, match=r"at n_embd=1600: .* requires `n_embd % n_head == 0 and n_embd > 0`"
    ):
        archspec.formula("GPT2Model").evaluate(n_embd=1600)
    with pytest.raises(ArchspecError, match=r"at no_such=1: .* has no field no_such"):
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
    assert formula.evaluate(a=7, b=3) == 7 * 2 + 2
    assert formula.at(a=7, b=3).conditions == {"a > 5": True, "b > 5": False}


def test_conditions_speak_of_fields_and_not_of_arguments() -> None:
    """A reader of a formula looks up its config; what a module calls its sizes is said nowhere."""
    text = f"""{CONFIG}modules:
  Layer(m, n):
    require: m % n == 0
    w: Linear(m, 2) if n > 1 else None
architectures:
  ToyModel:
    layer: Layer(a + b, b)
    other: Linear(a, 2) if a > 1 else None
"""
    [formula, *_] = formulas(toy(text), "ToyModel", {"a": 4, "b": 2})
    assert formula["params"].conditions == {"a % b == 0": True, "b > 1": True, "a > 1": True}


def test_a_number_for_a_field_that_is_not_given_is_no_symbol() -> None:
    text = f"""{CONFIG}architectures:
  ToyModel:
    first: Parameter(given("size", 3 * a))
    second: Parameter(given("size", 7))
"""
    absent = formulas(toy(text), "ToyModel", {"a": 4})[0]["params"]
    assert str(absent.expr) == "3*a + 7" and absent.flags == {"given(size)": None}
    said = formulas(toy(text), "ToyModel", {"size": 5})[0]["params"]
    assert str(said.expr) == "2*size" and said.symbols == {"size": 5}


def test_layers_that_are_tied_one_by_one_are_told_apart() -> None:
    text = f"""{CONFIG}  tie_word_embeddings: true
modules:
  Layer:
    w: Linear(a, b, bias=False)
architectures:
  ToyModel:
    first: Linear(a, b, bias=False)
    layers: Layer() for i in range(n)
    tied: {{layers.1.w.weight: first.weight}}
"""
    formula = Formula.of(Scope(toy(text), {}), "ToyModel")
    assert formula.evaluate() == 5 * 4 * 6 and formula.conditions == {"n == 5": True}
    assert [(row.name, row.tied_to) for row in formula.tensors] == [
        ("first.weight", None),
        ("layers.{i}.w.weight", None),
        ("layers.{i}.w.weight", "first.weight"),
    ]


def test_a_bool_of_the_index_is_known_wherever_it_is_passed() -> None:
    """A test counts in closed form also where a module is given its outcome, alone or with a flag."""
    text = f"""{CONFIG}modules:
  Layer(first, last):
    w: Parameter(a) if first else Parameter(b)
    v: Parameter(c) if not last else None
architectures:
  ToyModel:
    layers: Layer(flag and i < k, i == n - 1) for i in range(n)
"""
    found, builder = formulas(toy(text), "ToyModel", {})
    assert not builder.notes.definitions
    assert [found["params"].evaluate(n=n, k=k) for n, k in ((5, 2), (7, 3))] == [
        2 * 4 + 3 * 6 + 4 * 3,
        3 * 4 + 4 * 6 + 6 * 3,
    ]


@pytest.mark.parametrize(
    "body",
    [
        "first: Linear(a, sum(p % q for q in range(2, p)))",
        "first: Linear(a, [q for q in range(p, 3 * p) if all(q % r for r in range(2, q))][0])",
        "layers: Linear(a, b) if i >= k else Linear(a, c) for i in range(1, 4)",
        "layers: Linear(a, p * i) for i in range(1, 8, 3)",
        "layers: Linear(a, p % (i + 2)) for i in range(p)",
    ],
)
def test_loops_that_start_later_or_take_steps(body: str) -> None:
    spec, raw = toy(f"{CONFIG}architectures:\n  ToyModel:\n    {body}\n"), {"p": 7}
    formula = Formula.of(Scope(spec, raw), "ToyModel")
    formula.source = ToySource(formula.scope)
    assert formula.evaluate() == exact(spec, "ToyModel", raw)["params"] and formula.sensitivity().fields
    for other in ({"p": 5}, {"p": 6, "k": 3}):
        assert formula.evaluate(other) == exact(spec, "ToyModel", {**raw, **other})["params"]
    form = formula.leading()
    assert form.value + form.dropped.value == formula.evaluate()


@pytest.mark.parametrize("field", ["enc_channels[1]", "enc_channels[2]", "enc_kernel_sizes[2]"])
def test_the_items_of_a_loop_that_starts_later_are_its_own(field: str) -> None:
    formula = archspec.formula("Qwen2_5OmniToken2WavDiTModel")
    values = {**formula.symbols, field: 2 * int(formula.symbols[field])}
    assert formula.substituted(values) == formula.evaluate({field: values[field]})


def test_turns_are_counted_where_a_test_chooses_the_text_that_a_size_is_looked_up_by() -> None:
    text = f"""{CONFIG}modules:
  Layer(kind):
    w: "Parameter({{'x': a, 'y': b}}[kind])"
architectures:
  ToyModel:
    layers: "Layer('x' if i < k else 'y') for i in range(n)"
"""
    found, _ = formulas(toy(text), "ToyModel", {})
    assert found["params"].conditions == {"2 of i in range(n) with i < k": True, "n == 5": True}
    assert agree(toy(text), "ToyModel", {}, [{"k": 3}, {"k": 1}, {"a": 7}]) == len(QUANTITIES)
