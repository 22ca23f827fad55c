"""Two models reconciled, in numbers and in closed form."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import sympy

import archspec
from archspec.compare.alignment import Alignment, align
from archspec.compare.formulas import as_python, forms

Fields = dict[str, Any]


def between(a: str, b: str, of_a: Fields | None = None, of_b: Fields | None = None) -> Alignment:
    return align(archspec.load(a, set=of_a), archspec.load(b, set=of_b))


def rows(found: Alignment) -> list[tuple[str, str, int, str]]:
    closed = forms(found)
    return [
        (change.kind, change.module, change.params, as_python(form))
        for change, form in zip(found.changes, closed.changes, strict=True)
    ]


def test_bert_for_masked_lm_is_explained() -> None:
    found = between("BertModel", "BertForMaskedLM")
    assert found.totals == (109_482_240, 109_514_298)
    assert found.prefixes == ("", "bert")
    assert rows(found) == [
        ("removed", "pooler.dense", -590_592, "-hidden_size**2 - hidden_size"),
        ("added", "cls.predictions.bias", 30_522, "vocab_size"),
        ("added", "cls.predictions.transform.dense", 590_592, "hidden_size**2 + hidden_size"),
        ("added", "cls.predictions.transform.LayerNorm", 1_536, "2*hidden_size"),
        ("tied", "cls.predictions.decoder", 0, "0"),
    ]
    assert as_python(forms(found).total) == "vocab_size + 2*hidden_size"


def test_the_other_way_round_is_its_opposite() -> None:
    there, back = between("BertModel", "BertForMaskedLM"), between("BertForMaskedLM", "BertModel")
    assert back.prefixes == ("bert", "")
    numbers = [sorted(change.params for change in found.changes) for found in (there, back)]
    assert numbers[0] == [-number for number in reversed(numbers[1])]


def test_untying_and_tying() -> None:
    found = between("GPT2LMHeadModel", "GPT2LMHeadModel", of_b={"tie_word_embeddings": False})
    assert rows(found) == [("untied", "lm_head", 38_597_376, "vocab_size*n_embd")]
    assert found.totals == (124_439_808, 163_037_184)
    assert found.fields == {"tie_word_embeddings": (True, False)}
    found = between("GPT2LMHeadModel", "GPT2LMHeadModel", of_a={"tie_word_embeddings": False})
    assert [(change.kind, change.params) for change in found.changes] == [("tied", -38_597_376)]


def test_more_layers_are_one_change() -> None:
    found = between("BertModel", "BertModel", of_b={"num_hidden_layers": 24})
    assert [row[:3] for row in rows(found)] == [("repeated", "encoder.layer.*", 85_054_464)]
    values = forms(found).values
    assert (values["A.num_hidden_layers"], values["B.num_hidden_layers"]) == (12, 24)
    found = between("BertModel", "BertModel", of_b={"num_hidden_layers": 24, "hidden_size": 1032})
    assert {change.kind for change in found.changes} == {"resized", "repeated"}
    assert sum(change.params for change in found.changes) == found.totals[1] - found.totals[0] == 178_328_568


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *(("BertForMaskedLM", "RobertaForMaskedLM"), ("GPT2LMHeadModel", "LlamaForCausalLM")),
        *(("MistralForCausalLM", "MixtralForCausalLM"), ("T5EncoderModel", "T5ForConditionalGeneration")),
        ("LlamaModel", "LlamaForSequenceClassification"),
        ("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
        *(("DeepseekV3ForCausalLM", "LlamaForCausalLM"), ("ViTModel", "ViTForImageClassification")),
        ("AlbertForMaskedLM", "BertForMaskedLM"),
    ],
)
def test_every_difference_adds_up_and_has_its_closed_form(a: str, b: str) -> None:
    found = between(a, b)
    assert sum(change.params for change in found.changes) == found.totals[1] - found.totals[0]
    assert sum(change.buffers for change in found.changes) == found.buffers[1] - found.buffers[0]
    closed = forms(found)
    values = {sympy.Symbol(name): value for name, value in closed.values.items()}
    assert [form.subs(values) for form in closed.changes] == [change.params for change in found.changes]
    assert sympy.expand(sum(closed.changes) - closed.total) == 0


def test_the_prefix_of_a_part_is_found() -> None:
    found = between("Gemma3TextModel", "Gemma3ForConditionalGeneration")
    assert found.prefixes == ("", "model.language_model")
    assert between("BertForMaskedLM", "RobertaForMaskedLM").prefixes == ("bert", "roberta")


def test_depth_takes_modules_together() -> None:
    found = align(archspec.load("BertModel"), archspec.load("BertForMaskedLM"), depth=1)
    assert [(change.kind, change.module, change.params) for change in found.changes] == [
        ("removed", "pooler", -590_592),
        ("added", "cls", 30_522 + 590_592 + 1_536),
        ("tied", "cls", 0),
    ]


def test_frozen_and_buffers() -> None:
    found = between("ResNetModel", "ViTModel")
    assert sum(change.buffers for change in found.changes) == -archspec.load("ResNetModel").buffers != 0


def test_numbers_need_no_sympy() -> None:
    code = "archspec.diff('BertModel', 'BertForMaskedLM', tokens=8).difference"
    script = f"import sys; sys.modules['sympy'] = None; import archspec; print({code})"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "32058\n"
