"""A formula at other fields gives the numbers of `archspec count --set`, for any field."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sympy

import archspec
from archspec.errors import ArchspecError, ConfigError, FormulaError
from archspec.specs.exported import config_fields

FAMILIES = (
    *("GPT2LMHeadModel", "DeepseekV3ForCausalLM", "Qwen3MoeForCausalLM", "JambaForCausalLM", "CLIPModel"),
    *("T5ForConditionalGeneration", "LlavaForConditionalGeneration", "SwinModel", "Gemma3ForCausalLM"),
)
VALUES: tuple[Any, ...] = (True, False, None, 1, 2, 8, 0.5, "gelu", [2, 2])


def counted(architecture: str, fields: dict[str, Any]) -> int | str:
    try:
        return archspec.load(architecture, set=fields).params
    except ArchspecError:
        return "refused"


def check_branch(formula: archspec.Formula, fields: dict[str, Any], expected: int | str) -> bool:
    """Compare the expression at other fields with their count if they take the branch of the formula."""
    try:
        there = formula.with_fields(fields)
    except FormulaError:
        return False  # no closed form in that branch
    assert there.evaluate() == expected, fields
    if there.assumptions != formula.assumptions or there.definitions or formula.definitions:
        return False
    values = {name: there.config_values[name] for name in formula.symbols}
    assert formula.value_at(values) == expected, fields
    return True


@pytest.mark.parametrize("architecture", FAMILIES)
def test_any_field_gives_the_number_of_count(architecture: str) -> None:
    formula, model, chance = archspec.formula(architecture), archspec.load(architecture), random.Random(7)
    names = [*config_fields(model.model_type), *model.spec.fields, *model.spec.attribute_map]
    taken, in_branch = 0, 0
    for _ in range(25):
        name = chance.choice(names)
        own = model.scope.get(name) if model.scope.has(name) else None
        near = [own * 2, own + 1] if isinstance(own, int) and not isinstance(own, bool) else []
        fields = {name: chance.choice([*VALUES, *near * 4])}
        expected = counted(architecture, fields)
        if expected == "refused":
            with pytest.raises(ConfigError, match=name):
                formula.evaluate(fields)
        else:
            assert formula.evaluate(fields) == expected, fields
            in_branch += check_branch(formula, fields, expected)
            taken += 1
    assert taken > 5 and (in_branch > 0 or formula.definitions)


def test_fields_that_do_not_enter_change_nothing_and_are_noted() -> None:
    formula = archspec.formula("LlamaForCausalLM")
    assert formula.evaluate(max_position_embeddings=8192, rms_norm_eps=1e-5) == formula.evaluate()
    there = archspec.formula("GPT2Model").with_fields(n_ctx=2048, hidden_size=1024, num_attention_heads=16)
    assert there.notes == ("n_ctx does not affect any count; n_positions does",)
    assert there.symbols["n_embd"] == 1024 and there.with_fields(n_layer=2).symbols["n_embd"] == 1024


def test_a_flag_or_null_takes_the_formula_of_its_branch() -> None:
    formula = archspec.formula("DeepseekV3ForCausalLM")
    fields = {"q_lora_rank": None, "tie_word_embeddings": True}
    there = formula.with_fields(fields)
    assert "q_lora_rank" not in there.symbols
    assert there.notes == ("another branch: q_lora_rank = None; tie_word_embeddings = True",)
    count = archspec.load("DeepseekV3ForCausalLM", set=fields).params
    assert there.evaluate() == formula.evaluate(fields) == count
    assert formula.in_bytes("bfloat16").evaluate(fields) == 2 * there.evaluate()


def test_a_class_of_a_part_takes_the_paths_of_the_whole() -> None:
    config = {"model_type": "clip", "text_config": {"hidden_size": 256, "num_attention_heads": 4}}
    formula = archspec.formula(config, architecture="CLIPTextModel")
    fields = {"text_config.num_hidden_layers": 2}
    expected = archspec.load(config, "CLIPTextModel", set=fields).params
    assert formula.evaluate(fields) == formula.with_fields(fields).evaluate() == expected
    other = {"vision_config.hidden_size": 64, "vision_config.num_attention_heads": 4}
    assert formula.evaluate(other) == formula.evaluate()


def test_items_of_lists_are_set_alone() -> None:
    formula = archspec.formula("SwinModel")
    expected = archspec.load("SwinModel", set={"depths": [2, 2, 4, 2]}).params
    assert formula.evaluate({"depths[2]": 4}) == formula.evaluate(depths=[2, 2, 4, 2]) == expected
    assert formula.substitute({"depths[2]": 4}).expr == formula.expr.subs(sympy.Symbol("depths[2]"), 4)
    assert not any(name.startswith("depths") for name in formula.substitute(depths=[2, 2, 4, 2]).symbols)
    for path in ("depths[9]", "embed_dim[0]", "depths[x]"):
        with pytest.raises(ArchspecError, match="embed_dim" if "embed" in path else "depths"):
            formula.evaluate({path: 4})


def test_numbers_stand_in_place_of_symbols() -> None:
    formula = archspec.formula("GPT2LMHeadModel").substitute(hidden_size=1024, n_head=16)
    assert formula.symbols == {"n_inner": 4096, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}
    assert formula.assumptions[-1] == "n_embd = 1024"
    expected = archspec.load("GPT2LMHeadModel", set={"n_embd": 1024, "n_head": 16, "n_layer": 3}).params
    assert formula.evaluate(n_layer=3) == formula.substitute(n_layer=3).evaluate() == expected
    with pytest.raises(FormulaError, match="n_embd cannot be set: this formula assumes n_embd = 1024"):
        formula.evaluate(n_embd=2048)
    flops = archspec.formula("LlamaForCausalLM", "flops").substitute(batch=1, past=0)
    expected = archspec.load("LlamaForCausalLM").forward(tokens=5).flops
    assert "batch" not in flops.symbols and flops.evaluate(tokens=5) == expected


def test_assumptions_are_simultaneous() -> None:
    formula = archspec.formula("DeepseekV3ForCausalLM")
    swapped = formula.assume(q_lora_rank="kv_lora_rank", kv_lora_rank="q_lora_rank")
    expected = archspec.load("DeepseekV3ForCausalLM", set={"q_lora_rank": 512, "kv_lora_rank": 1536}).params
    assert swapped.evaluate() == expected != formula.evaluate()
    assert swapped.assume("q_lora_rank=kv_lora_rank", "kv_lora_rank=q_lora_rank").expr == formula.expr
    assert swapped.assumptions[-1] == "kv_lora_rank = q_lora_rank, with the config's own q_lora_rank"
    doubled = formula.assume(q_lora_rank="2*q_lora_rank")
    assert doubled.evaluate(q_lora_rank=100) == formula.evaluate(q_lora_rank=200)
    assert doubled.symbols["q_lora_rank"] == 1536


def test_successive_assumptions_apply_to_the_result_of_the_first() -> None:
    formula = archspec.formula("GPT2Model").assume(n_inner="4*n_embd")
    at_once = archspec.formula("GPT2Model").assume(n_inner="256*n_head", n_embd="64*n_head")
    later = formula.assume(n_embd="64*n_head")
    assert later.expr == at_once.expr and "n_head" not in later.unused_fields
    with pytest.raises(FormulaError, match="n_inner is already replaced"):
        formula.assume(n_inner="3*n_embd")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no_such=4*n_embd", "has no field no_such"),
        ("n_embd=7", "requires `n_embd % n_head == 0"),
        ("n_inner=n_embd/7", "n_inner = 109.7142857 is not an integer"),
        ("n_inner=4*no_such", "no_such is not a numeric field of this config"),
        ("n_inner = 4*no_such", r"n_inner = 4\*no_such\n {16}\^{7}\n"),
        ("n_inner=4*n_embd if n_embd > 7 else 2", "cannot be replaced by"),
        ("add_cross_attention=1", "add_cross_attention must be true or false"),
        ("activation_function=n_embd", "activation_function must be a string"),
        ("n_inner", "invalid assumption"),
        ("vocab_size=-n_embd", "-768"),
    ],
)
def test_assumptions_that_are_refused(text: str, says: str) -> None:
    with pytest.raises(ArchspecError, match=says):
        archspec.formula("GPT2Model").assume(text)


def test_assumptions_take_parts_lists_and_other_branches() -> None:
    formula = archspec.formula("LlavaForConditionalGeneration")
    found = formula.assume({"vision_config.intermediate_size": "4*vision_config.hidden_size"})
    assert found.evaluate() == formula.evaluate() and "vision_config.intermediate_size" not in found.symbols
    swin = archspec.formula("SwinModel").assume({"embed_dim": "max(32, 16*num_heads[1])"})
    assert swin.evaluate() == archspec.formula("SwinModel").evaluate(embed_dim=96)
    layers = archspec.formula("EncodecModel").assume(num_lstm_layers="num_residual_layers")
    assert layers.evaluate() == archspec.load("EncodecModel", set={"num_lstm_layers": 1}).params


def test_flags_that_transformers_refuses_make_one_case() -> None:
    cases = archspec.formula("BertModel").cases()
    assert [flags for flags, _ in cases] == [{}] and cases[0][1].expr == archspec.formula("BertModel").expr


@pytest.mark.parametrize(
    ("name", "field"),
    [("ZambaModel", "num_hidden_layers"), ("Qwen3NextForCausalLM", "full_attention_interval")],
)
def test_a_field_that_makes_a_list_enters_without_a_symbol(name: str, field: str) -> None:
    formula = archspec.formula(name)
    assert field in formula.absent and field not in formula.unused_fields
    assert field in formula.relevant_fields


def test_fields_of_all_kinds_and_of_sub_configs_enter() -> None:
    assert archspec.formula("LlamaModel", set={"head_dim": 128}).unused_fields == ()
    assert "num_experts_per_tok" in archspec.formula("Qwen3NextForCausalLM").unused_fields
    assert "num_attention_heads" not in archspec.formula("BertForMaskedLM").relevant_fields
    given = archspec.formula(
        {"model_type": "llava", "vision_config": {"num_hidden_layers": 2}}
    ).relevant_fields
    assert {"vision_config.num_hidden_layers", "text_config.attention_bias"} <= {*given}
    assert "summary_type" not in archspec.formula("GPT2Model").relevant_fields
    of_text = archspec.formula("GPT2ForSequenceClassification", "activation_bytes", tokens=8).relevant_fields
    assert {"activation_function", "resid_pdrop", "n_head"} <= {*of_text}
    listed = archspec.formula("Wav2Vec2Model").relevant_fields
    assert {"conv_dim", "feat_extract_norm", "do_stable_layer_norm"} <= {*listed}


@pytest.mark.parametrize("name", ["ResNetModel", "ConvNextModel", "ConvNextV2Model", "SwinModel"])
def test_numbers_of_layers_stay_in_the_forms_of_stages(name: str) -> None:
    symbols = {str(one) for one in archspec.formula(name).symbols}
    depths = archspec.load(name).scope.get("depths")
    assert {f"depths[{i}]" for i in range(len(depths))} <= symbols
