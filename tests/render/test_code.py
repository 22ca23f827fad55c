"""Generated code gives the count of any config, or refuses: another number never."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.errors import ArchspecError
from archspec.render.code.printer import written_name
from archspec.specs.library import shipped
from archspec.tables.quantities import COSTS
from archspec.verifying.campaign import everything
from tools.fuzz.code_at import CODES, Library, cases, inputs_at, run_python, sql_row

OPT_350M = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "ffn_dim": 4096,
    "word_embed_proj_dim": 512,
}
NAMED = (
    *("OPTForCausalLM", "LlamaForCausalLM", "Qwen3NextForCausalLM", "DeepseekV3ForCausalLM", "SwinModel"),
    *("JambaForCausalLM", "T5ForConditionalGeneration", "LlavaForConditionalGeneration", "Wav2Vec2Model"),
    *(
        "FlaubertModel",
        "MobileViTV2Model",
        "Gemma3ForCausalLM",
        "MistralLarge4TextModel",
        "EfficientNetModel",
        "BloomModel",
    ),
)
SAMPLED = random.Random(14).sample(archspec.architectures(), 16)


@pytest.fixture
def query() -> Iterator[Callable[[str], Any]]:
    import duckdb

    with duckdb.connect() as connection:
        yield lambda text: connection.execute(text).fetchone()[0]


def sql_of(formula: archspec.Formula, row: dict[str, Any]) -> str:
    return f"SELECT {formula.written('sql')} FROM (SELECT {sql_row(row)})"


def check(
    architecture: str, tries: int, folder: Path | None = None, query: Any = None, quantity: str = "params"
) -> int:
    """Compares code with counts at configs near the default; returns how many numbers it gave."""
    try:
        model = archspec.load(architecture)
        formula = model.quantity(quantity, **({"tokens": 4} if quantity in COSTS else {}))
    except ArchspecError:
        return 0
    code = compile(formula.python(), "formula", "eval")
    library = Library(formula.written("c"), folder, quantity) if folder else None
    given = 0
    for changed, row, count in cases(formula, model, random.Random(f"{architecture} {quantity}"), tries):
        found = run_python(code, row)
        assert found == count or (changed and found is None), (architecture, changed, found, count)
        if library:
            expected = (0, count) if found is not None else (CODES["condition"], None)
            assert library.run(row) == expected, changed
        if query:
            assert query(sql_of(formula, row)) == found, changed
        given += found is not None
    return given


@pytest.mark.parametrize("architecture", NAMED)
def test_code_of_every_language_is_exact_or_refuses(
    architecture: str, tmp_path: Path, query: Callable[[str], Any]
) -> None:
    assert check(architecture, 8, tmp_path, query) > 1


@pytest.mark.parametrize("architecture", SAMPLED)
def test_code_of_a_sample_of_classes_is_exact_or_refuses(architecture: str) -> None:
    for quantity in ("params", *COSTS):
        check(architecture, 12, quantity=quantity)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", archspec.architectures())
def test_code_of_every_class_is_exact_or_refuses(
    architecture: str, tmp_path: Path, query: Callable[[str], Any]
) -> None:
    for quantity in ("params", *COSTS):
        check(architecture, 40, tmp_path, query, quantity)


def test_code_outside_of_its_branch_refuses(tmp_path: Path, query: Callable[[str], Any]) -> None:
    """opt-350m has projections of its embeddings, which opt-125m does not have."""
    formula = archspec.formula("OPTForCausalLM")
    small = {**formula.inputs, **OPT_350M}
    with pytest.raises(ValueError, match="does not hold for these fields"):
        eval(formula.python(), {}, dict(small))
    assert query(sql_of(formula, small)) is None
    assert Library(formula.written("c"), tmp_path, "params").run(small) == (CODES["condition"], None)
    there = archspec.formula("OPTForCausalLM", set=OPT_350M)
    assert eval(there.python(), {}, there.inputs) == query(sql_of(there, there.inputs)) == 331_198_464
    for language in ("python", "sql", "c"):
        assert "word_embed_proj_dim == hidden_size" in formula.written(language)


@pytest.mark.parametrize(
    ("architecture", "changed"),
    [
        ("RoCBertForQuestionAnswering", {"vocab_size": 0}),  # a padding_idx beyond its table
        ("ElectraModel", {"vocab_size": 0}),
        ("MgpstrForSceneTextRecognition", {"hidden_size": 767, "num_attention_heads": 1}),  # 8 groups
        ("SqueezeBertModel", {"q_groups": 5}),
        ("DeformableDetrModel", {"d_model": 40}),  # 32 groups of a norm
        ("ASTModel", {"max_length": 1, "patch_size": 64}),  # positions below zero
    ],
)
def test_code_refuses_what_a_layer_of_torch_refuses(
    architecture: str, changed: dict[str, Any], tmp_path: Path, query: Callable[[str], Any]
) -> None:
    formula = archspec.formula(architecture)
    with pytest.raises(ArchspecError):
        formula.evaluate(changed)
    row = {**formula.inputs, **changed}
    assert formula.inputs.keys() == row.keys()
    assert run_python(formula.python(), row) is query(sql_of(formula, row)) is None
    assert Library(formula.written("c"), tmp_path, "params").run(row) == (CODES["condition"], None)


@pytest.mark.parametrize(
    ("architecture", "changed"),
    [
        ("LlamaForCausalLM", {"num_key_value_heads": 9}),
        ("NanoChatModel", {"num_hidden_layers": 0, "num_attention_heads": 5}),  # of size 153
        ("MixtralForCausalLM", {"num_local_experts": 1}),
        ("CTRLLMHeadModel", {"n_embd": 1281}),
    ],
)
@pytest.mark.parametrize("quantity", ["flops", "training_flops", "cache_elements"])
def test_code_of_costs_refuses_what_transformers_cannot_run(
    architecture: str, changed: dict[str, Any], quantity: str, tmp_path: Path, query: Callable[[str], Any]
) -> None:
    model = archspec.load(architecture)
    formula, broken = model.quantity(quantity, tokens=4), model.at(changed)
    with pytest.raises(ArchspecError, match="cannot run it"):
        broken.forward(tokens=4)
    row = inputs_at(formula, broken.scope, {"batch": 1, "tokens": 4, "past": 0})
    assert run_python(formula.python(), formula.inputs) == formula.evaluate()
    assert run_python(formula.python(), row) is query(sql_of(formula, row)) is None
    assert Library(formula.written("c"), tmp_path, quantity).run(row) == (CODES["condition"], None)


def test_conditions_on_experts_are_not_those_of_a_dense_model() -> None:
    dense = {"mlp_only_layers": list(range(24)), "num_experts": 4, "num_experts_per_tok": 8}
    model = archspec.load("Qwen2MoeForCausalLM", set=dense)
    formula = model.quantity("flops", tokens=4)
    assert run_python(formula.python(), formula.inputs) == model.forward(tokens=4).flops


def test_conditions_of_running_hold_for_sub_configs() -> None:
    checks = archspec.load("Gemma3ForConditionalGeneration").quantity("flops", tokens=4).checks
    named = "(text_config_num_attention_heads % text_config_num_key_value_heads) == 0"
    assert named in checks


def test_code_without_inputs_is_valid(tmp_path: Path, query: Callable[[str], Any]) -> None:
    formula = archspec.load("SLANetSLAHead").quantity("buffers")
    assert not formula.inputs
    assert eval(formula.python(), {}, {}) == query(sql_of(formula, {})) == formula.evaluate()
    assert Library(formula.written("c"), tmp_path, "buffers").run({}) == (0, formula.evaluate())


def test_c_code_does_not_overflow(tmp_path: Path) -> None:
    formula = archspec.load("LlamaForCausalLM").quantity("training_flops", tokens=10**7, batch=1000)
    library = Library(formula.written("c"), tmp_path, "training_flops")
    assert library.run(formula.inputs) == (0, 157_682_824_642_560_000_000_000)
    huge = {**formula.inputs, "tokens": 2**62, "batch": 2**62}
    assert library.run(huge) == (CODES["overflow"], None)
    assert library.run({**formula.inputs, "tokens": -1}) == (CODES["condition"], None)


def test_sql_that_overflows_is_an_error(query: Callable[[str], Any]) -> None:
    formula = archspec.load("LlamaForCausalLM").quantity("training_flops", tokens=10**7, batch=1000)
    assert query(sql_of(formula, formula.inputs)) == 157_682_824_642_560_000_000_000
    with pytest.raises(Exception, match=r"(?i)overflow|out of range"):
        query(sql_of(formula, {**formula.inputs, "tokens": 2**62, "batch": 2**62}))


def test_code_of_costs_knows_the_positions() -> None:
    formula = archspec.load("GPT2LMHeadModel").quantity("flops", tokens=8)
    code = compile(formula.python(), "formula", "eval")
    for tokens in (8, 1024):
        expected = archspec.load("GPT2LMHeadModel").forward(tokens=tokens).flops
        assert run_python(code, {**formula.inputs, "tokens": tokens}) == expected
    assert run_python(code, {**formula.inputs, "tokens": 1025}) is None
    assert run_python(code, {**formula.inputs, "tokens": 1024, "past": 1}) is None


@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "T5Model", "MistralForCausalLM", "BertModel"])
@pytest.mark.parametrize("quantity", ["flops", "cache_elements", "training_flops"])
def test_code_of_costs_is_exact_or_refuses(
    architecture: str, quantity: str, tmp_path: Path, query: Callable[[str], Any]
) -> None:
    assert check(architecture, 24, tmp_path, query, quantity) > 1


@pytest.mark.parametrize(
    ("architecture", "lengths"),
    [
        ("LlamaForCausalLM", {"tokens": 0}),
        ("LlamaForCausalLM", {"batch": 0}),
        ("BertModel", {"past": 1}),  # it keeps no cache
        ("T5Model", {"encoder_tokens": 4, "new_encoder_tokens": 5}),
    ],
)
def test_code_refuses_lengths_that_flops_refuses(architecture: str, lengths: dict[str, int]) -> None:
    model = archspec.load(architecture)
    formula = model.quantity("flops", tokens=4)
    with pytest.raises(ArchspecError):
        model.forward(**{"tokens": 4, **lengths})
    assert formula.inputs.keys() >= lengths.keys()
    assert run_python(formula.python(), formula.inputs) == formula.evaluate()
    assert run_python(formula.python(), {**formula.inputs, **lengths}) is None


def test_code_of_activations_refuses_lengths_that_a_step_refuses() -> None:
    formula = archspec.load("MBartForConditionalGeneration").quantity("activation_bytes", tokens=4)
    assert run_python(formula.python(), formula.inputs) == formula.evaluate()
    assert run_python(formula.python(), {**formula.inputs, "tokens": 1}) is None
    assert run_python(formula.python(), {**formula.inputs, "encoder_tokens": 1}) is None


def test_activations_of_what_transformers_cannot_run_are_refused() -> None:
    model = archspec.load("LlamaForCausalLM", set={"num_key_value_heads": 9})
    with pytest.raises(ArchspecError, match="cannot run it"):
        model.quantity("activation_bytes")


def test_code_refuses_a_past_without_a_layer_that_keeps_one() -> None:
    formula = archspec.load("PhiModel").quantity("flops", tokens=4)
    assert run_python(formula.python(), {**formula.inputs, "num_hidden_layers": 0, "past": 7}) is None


def test_code_keeps_the_number_of_layers_in_a_list_of_lists() -> None:
    """The turns of such a loop are counted one by one."""
    formula = archspec.formula("EvollaForProteinText2Text")
    assert run_python(formula.python(), formula.inputs) == formula.evaluate()
    assert run_python(formula.python(), {**formula.inputs, "resampler_depth": 8}) is None


def test_code_of_a_config_with_a_list_of_layers_checks_its_length() -> None:
    config = {"model_type": "qwen3", "num_hidden_layers": 2, "layer_types": ["full_attention"] * 2}
    formula = archspec.load(config, "Qwen3ForCausalLM").formula
    assert run_python(formula.python(), {**formula.inputs, "num_hidden_layers": 3}) is None
    longer = {**formula.inputs, "num_hidden_layers": 3, "len_layer_types": 3}
    three = archspec.load(
        {**config, "num_hidden_layers": 3, "layer_types": ["full_attention"] * 3}, "Qwen3ForCausalLM"
    )
    assert run_python(formula.python(), longer) == three.params


def test_code_under_assumptions_checks_them_too() -> None:
    formula = archspec.formula("LlamaForCausalLM").assume("intermediate_size=7*hidden_size/2")
    code = compile(formula.python(), "formula", "eval")
    assert run_python(code, formula.inputs) == formula.evaluate()
    fields = {"hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 224}
    other = archspec.load("LlamaForCausalLM", set=fields)
    assert run_python(code, inputs_at(formula, other.scope)) == other.params
    odd = {**formula.inputs, "hidden_size": 63, "num_attention_heads": 1, "num_key_value_heads": 1}
    assert run_python(code, odd) is None


def test_fields_that_only_decide_keep_the_values_of_the_config() -> None:
    """Sizes alone are enough, as with `count --set`; a field that follows from others has to be given."""
    formula = archspec.formula("OPTForCausalLM")
    assert eval(formula.python(), {}, dict(formula.symbols)) == formula.evaluate()
    assert run_python(formula.python(), {**formula.symbols, **OPT_350M}) is None
    tied = {**formula.symbols, "tie_word_embeddings": False}
    assert run_python(formula.python(), tied) is None
    without = {name: value for name, value in formula.symbols.items() if name != "ffn_dim"}
    assert run_python(formula.python(), without) is None


def test_conditions_are_expressions_over_the_inputs() -> None:
    found = archspec.formula("OPTForCausalLM").as_json()
    inputs = {one["name"]: one["value"] for one in found["inputs"]}
    assert all(eval(text, {}, inputs) for text in found["conditions"])
    elsewhere = {**inputs, **OPT_350M}
    failed = [text for text in found["conditions"] if not eval(text, {}, elsewhere)]
    assert failed == ["word_embed_proj_dim == hidden_size"]


def test_fields_that_are_named_like_reserved_words(tmp_path: Path, query: Callable[[str], Any]) -> None:
    """No field of a spec is a keyword of C or SQL as it is written."""
    names = {name for kind in everything() for name in shipped().load(kind).fields}
    listed = ", ".join(f"1 AS {name}" for name in sorted({written_name("sql", name) for name in names}))
    query(f"SELECT {', '.join(written_name('sql', name) for name in sorted(names))} FROM (SELECT {listed})")
    takes = ", ".join(f"int {name}" for name in sorted({written_name("c", name) for name in names}))
    (tmp_path / "names.c").write_text(f"int f({takes}) {{ return 0; }}\n")
    subprocess.run(["cc", "-c", "names.c"], cwd=tmp_path, check=True)


def test_numbers_that_are_not_whole_are_refused(query: Callable[[str], Any]) -> None:
    formula = archspec.formula("GPT2Model")
    for wrong in (768.5, -768, None, "768", True):
        row = {**formula.inputs, "n_inner": wrong}
        assert run_python(formula.python(), row) is None
        if not isinstance(wrong, bool | str):
            assert query(sql_of(formula, row)) is None
