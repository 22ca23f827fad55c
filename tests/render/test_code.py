"""Generated code gives the count of any config or refuses; it never gives another number."""

from __future__ import annotations

import random
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from native import CONDITION, OVERFLOW, Library, Query, over_a_row

import archspec
from archspec.errors import ArchspecError
from archspec.render.arrangements import arrange
from archspec.render.conditions import identifier
from archspec.render.programs import program
from archspec.specs.library import shipped_library
from archspec.tables.quantities import COSTS
from archspec.verifying.campaign import all_architectures
from tools.fuzz.code_at import cases, inputs_at, run_python

CACHED = ("LlamaForCausalLM", "T5Model", "MistralForCausalLM")
OPT_350M = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096}
OPT_350M |= {"word_embed_proj_dim": 512}
NAMED = (
    *("OPTForCausalLM", "LlamaForCausalLM", "Qwen3NextForCausalLM", "DeepseekV3ForCausalLM", "SwinModel"),
    *("JambaForCausalLM", "T5ForConditionalGeneration", "LlavaForConditionalGeneration", "Wav2Vec2Model"),
    *("FlaubertModel", "MobileViTV2Model", "Gemma3ForCausalLM", "MistralLarge4TextModel"),
    *("EfficientNetModel", "BloomModel"),
)
PRINTED = (  # the last two have logarithms and sums, which code lacks
    *("BertForMaskedLM", "GPT2LMHeadModel", "MixtralForCausalLM", "Qwen3MoeForCausalLM", "AlbertModel"),
    *("ViTModel", "Gemma3ForConditionalGeneration", "ParakeetForCTC", "Sam3TrackerVideoModel"),
)
SAMPLED = random.Random(14).sample(archspec.architectures(), 16)


def sql_of(formula: archspec.Formula, row: dict[str, Any]) -> str:
    return over_a_row(formula.render("sql"), row)


def formula_of(architecture: str, quantity: str = "flops") -> archspec.Formula:
    return archspec.load(architecture).quantity(quantity, **({"tokens": 4} if quantity in COSTS else {}))


def runs(formula: archspec.Formula, **changed: Any) -> int | None:
    """Return the count of the formula's Python code with some inputs changed; None if it refuses."""
    assert changed.keys() <= {**formula.inputs, **formula.symbols}.keys()
    return run_python(formula.python(), {**formula.inputs, **changed})


def assert_refused(formula: archspec.Formula, row: dict[str, Any], folder: Path, query: Query) -> None:
    """The code of every language refuses a row of inputs."""
    assert formula.inputs.keys() == row.keys()
    assert run_python(formula.python(), row) is query(sql_of(formula, row)) is None
    assert Library(formula, folder).run(row) == CONDITION


def check(
    architecture: str, tries: int, folder: Path | None = None, query: Any = None, quantity: str = "params"
) -> int:
    """Compare code with counts at configs near the default; return how many numbers it gave."""
    try:
        model, formula = archspec.load(architecture), formula_of(architecture, quantity)
    except ArchspecError:
        return 0
    code = compile(formula.python(), "formula", "eval")
    library = Library(formula, folder) if folder else None
    given = 0
    for changed, row, count in cases(formula, model, random.Random(f"{architecture} {quantity}"), tries):
        found = run_python(code, row)
        assert found == count or (changed and found is None), (architecture, changed, found, count)
        if library:
            assert library.run(row) == ((0, count) if found is not None else CONDITION), changed
        if query:
            assert query(sql_of(formula, row)) == found, changed
        given += found is not None
    return given


@pytest.mark.parametrize("architecture", NAMED)
def test_code_of_every_language_is_exact_or_refuses(architecture: str, tmp_path: Path, query: Query) -> None:
    assert check(architecture, 8, tmp_path, query) > 1


@pytest.mark.parametrize("architecture", PRINTED)
def test_code_of_every_language_is_exact_at_the_config(
    architecture: str, tmp_path: Path, query: Query
) -> None:
    assert check(architecture, 0, tmp_path, query) == 1


@pytest.mark.parametrize("architecture", SAMPLED)
def test_code_of_a_sample_of_classes_is_exact_or_refuses(architecture: str) -> None:
    for quantity in ("params", *COSTS):
        check(architecture, 12, quantity=quantity)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", archspec.architectures())
def test_code_of_every_class_is_exact_or_refuses(architecture: str, tmp_path: Path, query: Query) -> None:
    for quantity in ("params", *COSTS):
        check(architecture, 40, tmp_path, query, quantity)


@pytest.mark.parametrize(
    ("quantity", "architecture"),
    [*product(("flops", "training_flops"), (*CACHED, "BertModel")), *product(("cache_elements",), CACHED)],
)
def test_code_of_costs_is_exact_or_refuses(
    architecture: str, quantity: str, tmp_path: Path, query: Query
) -> None:
    assert check(architecture, 24, tmp_path, query, quantity) > 1


def test_code_outside_of_its_branch_refuses(tmp_path: Path, query: Query) -> None:
    """opt-350m has projections of its embeddings, which opt-125m does not have."""
    formula = archspec.formula("OPTForCausalLM")
    small = {**formula.inputs, **OPT_350M}
    with pytest.raises(ValueError, match="is not valid for these fields"):
        eval(formula.python(), {}, dict(small))
    assert_refused(formula, small, tmp_path, query)
    there = archspec.formula("OPTForCausalLM", set=OPT_350M)
    assert eval(there.python(), {}, there.inputs) == query(sql_of(there, there.inputs)) == 331_198_464
    for language in ("python", "sql", "c"):
        assert "word_embed_proj_dim == hidden_size" in formula.render(language)
    assert all(eval(text, {}, formula.inputs) for text in formula.checks)
    failed = [text for text in formula.checks if not eval(text, {}, small)]
    assert failed == ["word_embed_proj_dim == hidden_size"]


REFUSED_COUNTS: list[tuple[str, str, dict[str, Any]]] = [
    ("RoCBertForQuestionAnswering", "params", {"vocab_size": 0}),  # a padding_idx beyond its table
    ("ElectraModel", "params", {"vocab_size": 0}),
    ("MgpstrForSceneTextRecognition", "params", {"hidden_size": 767, "num_attention_heads": 1}),  # 8 groups
    ("SqueezeBertModel", "params", {"q_groups": 5}),
    ("DeformableDetrModel", "params", {"d_model": 40}),  # 32 groups of a norm
    ("ASTModel", "params", {"max_length": 1, "patch_size": 64}),  # positions below zero
    ("LlamaForCausalLM", "flops", {"tokens": 0}),
    ("LlamaForCausalLM", "flops", {"batch": 0}),
    ("BertModel", "flops", {"past": 1}),  # a model without a cache
    ("T5Model", "flops", {"encoder_tokens": 4, "new_encoder_tokens": 5}),
    ("GPT2LMHeadModel", "flops", {"tokens": 1025}),  # more than there are positions
    ("GPT2LMHeadModel", "flops", {"tokens": 1024, "past": 1}),
    ("PhiModel", "flops", {"num_hidden_layers": 0, "past": 7}),  # no layer has a cache
    ("GPT2Model", "params", {"n_inner": 768.5}),
    ("GPT2Model", "params", {"n_inner": -768}),
]
REFUSED_BRANCHES: list[tuple[str, str, dict[str, Any]]] = [
    ("MBartForConditionalGeneration", "activation_bytes", {"tokens": 1}),
    ("MBartForConditionalGeneration", "activation_bytes", {"encoder_tokens": 1}),
    # the iterations of a loop over a list of lists are counted one by one
    ("EvollaForProteinText2Text", "params", {"resampler_depth": 8}),
    ("Qwen3NextForCausalLM", "params", {"num_hidden_layers": 24}),  # layers of a kind are counted at 48
    ("GPT2Model", "params", {"n_inner": None}),
]


@pytest.mark.parametrize(("architecture", "quantity", "changed"), [*REFUSED_COUNTS, *REFUSED_BRANCHES])
def test_code_refuses_other_sizes(
    architecture: str, quantity: str, changed: dict[str, Any], tmp_path: Path, query: Query
) -> None:
    formula = formula_of(architecture, quantity)
    if (architecture, quantity, changed) in REFUSED_COUNTS:
        with pytest.raises(ArchspecError):
            formula.evaluate(changed)
    assert runs(formula) == formula.evaluate()
    assert_refused(formula, {**formula.inputs, **changed}, tmp_path, query)


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
    architecture: str, changed: dict[str, Any], quantity: str, tmp_path: Path, query: Query
) -> None:
    formula, broken = formula_of(architecture, quantity), archspec.load(architecture).with_fields(changed)
    with pytest.raises(ArchspecError, match="cannot run it"):
        broken.forward(tokens=4)
    assert runs(formula) == formula.evaluate()
    row = inputs_at(formula, broken.scope, {"batch": 1, "tokens": 4, "past": 0})
    assert_refused(formula, row, tmp_path, query)


def test_conditions_of_experts_and_of_sub_configs() -> None:
    dense = {"mlp_only_layers": list(range(24)), "num_experts": 4, "num_experts_per_tok": 8}
    model = archspec.load("Qwen2MoeForCausalLM", set=dense)
    assert runs(model.quantity("flops", tokens=4)) == model.forward(tokens=4).flops
    named = "(text_config_num_attention_heads % text_config_num_key_value_heads) == 0"
    assert named in formula_of("Gemma3ForConditionalGeneration").checks


def test_code_without_inputs_is_valid(tmp_path: Path, query: Query) -> None:
    formula = archspec.load("SLANetSLAHead").quantity("buffers")
    assert not formula.inputs
    assert eval(formula.python(), {}, {}) == query(sql_of(formula, {})) == formula.evaluate()
    assert Library(formula, tmp_path).run({}) == (0, formula.evaluate())


def test_code_beyond_64_bits_is_exact_and_overflows_are_errors(tmp_path: Path, query: Query) -> None:
    formula = archspec.load("LlamaForCausalLM").quantity("training_flops", tokens=10**7, batch=1000)
    library, exact = Library(formula, tmp_path), 157_682_824_642_560_000_000_000
    assert library.run(formula.inputs) == (0, exact) and query(sql_of(formula, formula.inputs)) == exact
    huge = {**formula.inputs, "tokens": 2**62, "batch": 2**62}
    assert library.run(huge) == OVERFLOW
    assert library.run({**formula.inputs, "tokens": -1}) == CONDITION
    with pytest.raises(Exception, match=r"(?i)overflow|out of range"):
        query(sql_of(formula, huge))


def test_a_number_in_another_type_is_refused() -> None:
    for wrong in ("768", True):
        assert runs(archspec.formula("GPT2Model"), n_inner=wrong) is None


def test_activations_of_what_transformers_cannot_run_are_refused() -> None:
    model = archspec.load("LlamaForCausalLM", set={"num_key_value_heads": 9})
    with pytest.raises(ArchspecError, match="cannot run it"):
        model.quantity("activation_bytes")


def test_code_of_a_config_with_a_list_of_layers_checks_its_length() -> None:
    def qwen(layers: int) -> archspec.Model:
        config = {"num_hidden_layers": layers, "layer_types": ["full_attention"] * layers}
        return archspec.load({"model_type": "qwen3", **config}, "Qwen3ForCausalLM")

    formula = qwen(2).formula
    assert runs(formula, num_hidden_layers=3) is None
    assert runs(formula, num_hidden_layers=3, len_layer_types=3) == qwen(3).params


def test_code_under_assumptions_checks_them_too() -> None:
    formula = archspec.formula("LlamaForCausalLM").assume("intermediate_size=7*hidden_size/2")
    assert runs(formula) == formula.evaluate()
    fields = {"hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 224}
    other = archspec.load("LlamaForCausalLM", set=fields)
    assert run_python(formula.python(), inputs_at(formula, other.scope)) == other.params
    assert runs(formula, hidden_size=63, num_attention_heads=1, num_key_value_heads=1) is None


def test_fields_that_only_decide_keep_the_values_of_the_config() -> None:
    """Sizes alone are enough, as with `count --set`; computed defaults must be given."""
    formula = archspec.formula("OPTForCausalLM")
    code, sizes = formula.python(), dict(formula.symbols)
    assert eval(code, {}, sizes) == formula.evaluate()
    without = {name: value for name, value in sizes.items() if name != "ffn_dim"}
    for row in ({**sizes, **OPT_350M}, {**sizes, "tie_word_embeddings": False}, without):
        assert run_python(code, row) is None


def test_fields_with_the_names_of_reserved_words(tmp_path: Path, query: Query) -> None:
    """No field of a spec is a keyword of C or SQL as it is written in code."""
    names = {name for kind in all_architectures() for name in shipped_library().load(kind).fields}
    assert identifier("freeze", "sql") == '"freeze"'
    columns = sorted({identifier(name, "sql") for name in names})
    query(f"SELECT {', '.join(columns)} FROM (SELECT {', '.join(f'1 AS {name}' for name in columns)})")
    takes = ", ".join(f"int {name}" for name in sorted({identifier(name, "c") for name in names}))
    (tmp_path / "names.c").write_text(f"int f({takes}) {{ return 0; }}\n")
    subprocess.run(["cc", "-c", "names.c"], cwd=tmp_path, check=True)


def test_parts_are_code_under_their_labels(query: Query) -> None:
    formula = archspec.formula("LlamaForCausalLM")
    parts, row = arrange(formula, "component"), formula.inputs
    labelled = [(part.label, part.terms) for part in parts]
    wanted = {part.label.replace("-", "_"): int(formula.number(part.expr)) for part in parts}
    namespace: dict[str, Any] = {**row}
    exec(program(formula, "python", labelled), {}, namespace)
    assert {name: namespace[name] for name in wanted} == wanted
    table = over_a_row(program(formula, "sql", labelled), row)
    assert query(f"SELECT {' + '.join(wanted)} FROM ({table})") == formula.evaluate()
    assert program(formula, "c", labelled).count("int feed_forward(") == 1


def beyond_64_bits(dialect: str, integer: str) -> tuple[str, int]:
    """A query over 32-bit columns, as JSON readers and Spark make them, of a divided sum, and its value."""
    formula = archspec.formula("LlamaForCausalLM").assume("intermediate_size=7*hidden_size/2")
    row = {**formula.inputs, "hidden_size": 2**31 - 64, "vocab_size": 2**31 - 1}
    row["num_hidden_layers"] = 2**20 + 1
    wanted = eval(formula.python(), {}, dict(row))
    assert "//" in formula.python() and wanted > 2**80
    return over_a_row(formula.render(dialect), row, dialect, integer), wanted


def test_sql_of_narrow_columns_does_not_wrap_around(query: Query) -> None:
    text, wanted = beyond_64_bits("sql", "INTEGER")
    assert query(text) == wanted


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"], ids=["ansi", "lenient"])
def test_spark(spark: Any, ansi: str) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    formulas = [archspec.formula(name) for name in (*NAMED, *PRINTED[:7])]
    queries = {over_a_row(one.render("spark"), one.inputs, "spark"): one.evaluate() for one in formulas}
    queries |= dict([beyond_64_bits("spark", "INT")])
    assert [spark.sql(text).first()[0] for text in queries] == [*queries.values()]
