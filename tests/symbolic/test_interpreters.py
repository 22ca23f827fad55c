"""Both interpreters agree: a closed form is the exact count at its config, and where its conditions hold."""

from __future__ import annotations

import os
import random
from contextlib import suppress
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
from archspec.specs.library import shipped_library
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
PAIRS = [
    (model_type, name) for model_type in TYPES for name in shipped_library().load(model_type).architectures
]


def formulas(
    spec: Spec, architecture: str, raw: dict[str, Any], wanted: dict[str, int] | None = None
) -> tuple[dict[str, Formula], SymbolicBuilder]:
    """The closed forms that give all exact counts, as `ClosedForm.derive` looks for them."""
    wanted = wanted or exact(spec, architecture, raw)
    for unroll, opaque in product((False, True), repeat=2):
        builder = SymbolicBuilder(Scope(spec, raw), opaque_floats=opaque, unroll=unroll)
        try:
            rows = symbolic_tensors(builder.build(architecture), builder)
        except Loops:
            continue
        found = {quantity: Formula(architecture, quantity, rows, builder) for quantity in QUANTITIES}
        for formula in found.values():
            formula.source = ToySource(formula.scope)
        if {quantity: formula.value_at(formula.symbols) for quantity, formula in found.items()} == wanted:
            return found, builder
    raise AssertionError(f"{architecture}: no closed form gives {wanted}")


def params(body: str, raw: dict[str, Any], modules: str = "") -> Formula:
    text = f"{CONFIG}{modules}architectures:\n  ToyModel:\n{body}"
    return formulas(toy(text), "ToyModel", raw)[0]["params"]


def counts(spec: Spec, architecture: str, raw: dict[str, Any]) -> dict[str, int] | None:
    """The exact counts; None for an invalid config."""
    with suppress(ArchspecError):
        return exact(spec, architecture, raw)
    return None


def valid(spec: Spec, architecture: str, sampler: Sampler) -> dict[str, Any] | None:
    """A known valid config, else a random one."""
    for known in valid_configs(spec):
        return dict(known)
    for _ in range(200):
        raw: dict[str, Any] | None = sampler.sample()
        assert raw is not None
        if not counts(spec, architecture, raw):
            raw = sampler.mend(lambda near: bool(counts(spec, architecture, near)))
        if raw is not None and counts(spec, architecture, raw):  # under other names it may not be
            sampler.add_valid()
            return raw
    return None


def resized(spec: Spec, raw: dict[str, Any], sampler: Sampler) -> dict[str, Any]:
    """The same config with other numbers."""
    other = dict(raw)
    for field in spec.fields.values():
        value = raw.get(field.name, None if field.computed else sampler.drawing.default(field, {}))
        if type(value) in (int, float) and sampler.random.random() < 0.4:
            number = sampler.drawing.draw(field, value, raw)
            other |= {field.name: number} if type(number) is type(value) else {}
    return other


def agree(spec: Spec, architecture: str, raw: dict[str, Any], others: list[dict[str, Any]]) -> int:
    """Compare closed forms with exact counts; return how many of them held at other configs."""
    found, _ = formulas(spec, architecture, raw)
    assert found["params"].latex() and found["params"].text()
    held = 0
    for other in others:
        if (expected := counts(spec, architecture, other)) is None:
            continue
        elsewhere, builder = formulas(spec, architecture, other, expected)
        meant = {name: text for name, (text, *_) in builder.notes.definitions.items()}
        for quantity, formula in found.items():
            there = elsewhere[quantity]
            same = (there.flags, there.conditions) == (formula.flags, formula.conditions)
            if same and formula.definitions.items() <= meant.items():
                values = {name: there.config_values[name] for name in formula.symbols}
                assert formula.value_at(values) == expected[quantity], (quantity, raw, other)
                held += 1
    return held


@pytest.mark.reference
@pytest.mark.parametrize("model_type", TYPES)
def test_every_model_type(model_type: str) -> None:
    """One class of each; `ClosedForm.derive` refuses a form that differs from the count at its config."""
    spec, chance = shipped_library().load(model_type), random.Random(model_type)
    architecture, sampler = chance.choice([*spec.architectures]), Sampler(spec, 3, code_texts(spec))
    start = valid(spec, architecture, sampler)
    assert start is not None
    if chance.random() < 0.5 and counts(spec, architecture, {"model_type": model_type}):
        start = {"model_type": model_type}
    agree(spec, architecture, start, [resized(spec, start, sampler)])


@settings(max_examples=60, **LENIENT)
@given(st.sampled_from(PAIRS), st.integers(0, 10**6))
def test_random_configs(pair: tuple[str, str], seed: int) -> None:
    spec, architecture = shipped_library().load(pair[0]), pair[1]
    sampler = Sampler(spec, seed)
    for _ in range(2):
        raw = valid(spec, architecture, sampler)
        if raw is not None:
            agree(spec, architecture, raw, [resized(spec, raw, sampler) for _ in range(3)])


def test_most_closed_forms_hold_for_other_numbers() -> None:
    spec = shipped_library().load("llama")
    sampler = Sampler(spec, 0)
    raw = valid(spec, "LlamaForCausalLM", sampler)
    assert raw is not None
    assert agree(spec, "LlamaForCausalLM", raw, [resized(spec, raw, sampler) for _ in range(40)]) > 60


@settings(max_examples=int(os.environ.get("ARCHSPEC_EXAMPLES", "12")), **LENIENT)
@given(st.one_of(specs(), nested()), st.integers(0, 10**6))
def test_random_specs(text: str, seed: int) -> None:
    spec, chance = toy(text), random.Random(seed)
    raw = drawn(chance)
    assume(counts(spec, "ToyModel", raw))
    changes = [{k: v for k, v in drawn(chance).items() if chance.random() < 0.4} for _ in range(4)]
    agree(spec, "ToyModel", raw, [raw | change for change in changes])


def test_a_closed_form_that_is_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from archspec.symbolic import closed_form

    monkeypatch.setattr(closed_form, "quantities_of", lambda found: {**quantities_of(found), "params": 7})
    with pytest.raises(ArchspecError, match="does not give the exact params"):
        Formula.derive(Scope(shipped_library().load("bert"), {"model_type": "bert"}), "BertModel")


def test_a_closed_form_holds_only_for_its_number_of_recurrent_layers() -> None:
    formula = archspec.formula("EncodecModel")
    assert formula.evaluate(num_lstm_layers=2) == formula.evaluate() == archspec.load("EncodecModel").params
    there = formula.with_fields(num_lstm_layers=4)
    assert "num_lstm_layers == 4" in there.notes[0] and there.expr != formula.expr
    assert formula.evaluate(num_lstm_layers=4) == there.evaluate()


@pytest.mark.parametrize(
    ("architecture", "start", "fields"),
    [
        ("GPT2Model", {}, {"n_embd": 1024, "n_head": 16}),
        ("HieraModel", {}, {"patch_size[1]": 5}),
        ("LlavaModel", {}, {"text_config.num_hidden_layers": 3}),
        ("DeepseekV3ForCausalLM", {}, {"num_hidden_layers": 5}),  # another branch
        (
            "HieraForPreTraining",
            {"decoder_hidden_size": 8, "decoder_depth": 1, "decoder_num_heads": 2},
            {"num_query_pool": 2},
        ),
    ],
)
def test_a_formula_at_other_fields_is_the_count(
    architecture: str, start: dict[str, Any], fields: dict[str, Any]
) -> None:
    model = archspec.load(architecture, set=start)
    settings = {"patch_size": [7, 5]} if "patch_size[1]" in fields else fields
    assert model.formula.evaluate(fields) == archspec.load(architecture, set={**start, **settings}).params
    if "num_query_pool" in fields:
        assert "num_query_pool == 2" in model.formula.with_fields(fields).assumptions


def test_assumptions_follow_the_fields() -> None:
    narrow = archspec.load("GPT2Model", set={"n_inner": 1000}).formula.assume(n_inner="4*n_embd")
    wide = archspec.load("GPT2Model", set={"n_embd": 1024, "n_head": 16})
    assert narrow.evaluate(n_embd=1024, n_head=16) == wide.params


@pytest.mark.parametrize(
    ("architecture", "fields", "message"),
    [
        ("GPT2Model", {"n_embd": 1600}, r"at n_embd=1600: .* requires `n_embd % n_head == 0 and n_embd > 0`"),
        ("GPT2Model", {"no_such": 1}, r"at no_such=1: .* has no field no_such"),
    ],
)
def test_invalid_fields_are_refused(architecture: str, fields: dict[str, int], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        archspec.formula(architecture).evaluate(fields)


def test_conditions_with_the_same_text_are_distinguished() -> None:
    """A module built with two sizes: a condition on one is not a condition on the other."""
    layer = "modules:\n  Layer(m):\n    w: Linear(m, 2) if m > 5 else None\n"
    formula = params("    first: Layer(a)\n    second: Layer(b)\n", {"a": 4, "b": 6}, layer)
    assert formula.conditions == {"a > 5": False, "b > 5": True}
    assert formula.evaluate(a=7, b=3) == 7 * 2 + 2
    assert formula.with_fields(a=7, b=3).conditions == {"a > 5": True, "b > 5": False}


def test_conditions_name_fields_and_not_arguments() -> None:
    layer = "modules:\n  Layer(m, n):\n    require: m % n == 0\n    w: Linear(m, 2) if n > 1 else None\n"
    body = "    layer: Layer(a + b, b)\n    other: Linear(a, 2) if a > 1 else None\n"
    formula = params(body, {"a": 4, "b": 2}, layer)
    assert formula.conditions == {"a % b == 0": True, "b > 1": True, "a > 1": True}


def test_a_number_for_a_field_that_is_not_given_is_not_a_symbol() -> None:
    body = '    first: Parameter(given("size", 3 * a))\n    second: Parameter(given("size", 7))\n'
    absent = params(body, {"a": 4})
    assert str(absent.expr) == "3*a + 7" and absent.flags == {"given(size)": None}
    given = params(body, {"size": 5})
    assert str(given.expr) == "2*size" and given.symbols == {"size": 5}


def test_layers_with_single_ties_are_distinguished() -> None:
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
    formula = Formula.derive(Scope(toy(text), {}), "ToyModel")
    assert formula.evaluate() == 5 * 4 * 6 and formula.conditions == {"n == 5": True}
    assert [(row.name, row.tied_to) for row in formula.tensors] == [
        ("first.weight", None),
        ("layers.{i}.w.weight", None),
        ("layers.{i}.w.weight", "first.weight"),
    ]


def test_a_bool_of_the_index_keeps_its_test_as_an_argument() -> None:
    layer = "modules:\n  Layer(first, last):\n    w: Parameter(a) if first else Parameter(b)\n"
    layer += "    v: Parameter(c) if not last else None\n"
    found = params("    layers: Layer(flag and i < k, i == n - 1) for i in range(n)\n", {}, layer)
    assert not found.definitions
    counts = [found.evaluate(n=n, k=k) for n, k in ((5, 2), (7, 3))]
    assert counts == [2 * 4 + 3 * 6 + 4 * 3, 3 * 4 + 4 * 6 + 6 * 3]


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
    formula = Formula.derive(Scope(spec, raw), "ToyModel")
    formula.source = ToySource(formula.scope)
    assert formula.evaluate() == exact(spec, "ToyModel", raw)["params"] and formula.sensitivity().fields
    for other in ({"p": 5}, {"p": 6, "k": 3}):
        assert formula.evaluate(other) == exact(spec, "ToyModel", {**raw, **other})["params"]
    form = formula.leading_terms()
    assert form.value + form.dropped.value == formula.evaluate()


@pytest.mark.parametrize("field", ["enc_channels[1]", "enc_channels[2]", "enc_kernel_sizes[2]"])
def test_the_items_of_a_loop_that_starts_later_are_its_own(field: str) -> None:
    formula = archspec.formula("Qwen2_5OmniToken2WavDiTModel")
    values = {**formula.symbols, field: 2 * int(formula.symbols[field])}
    assert formula.value_at(values) == formula.evaluate({field: values[field]})


def test_iterations_are_counted_if_a_test_chooses_the_text_that_looks_up_a_size() -> None:
    layer = "modules:\n  Layer(kind):\n    w: \"Parameter({'x': a, 'y': b}[kind])\"\n"
    body = "    layers: \"Layer('x' if i < k else 'y') for i in range(n)\"\n"
    assert params(body, {}, layer).conditions == {
        "i < k for 2 values of i in range(n)": True,
        "n == 5": True,
    }
    spec = toy(f"{CONFIG}{layer}architectures:\n  ToyModel:\n{body}")
    assert agree(spec, "ToyModel", {}, [{"k": 3}, {"k": 1}, {"a": 7}]) == len(QUANTITIES)
