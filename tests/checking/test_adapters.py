"""A LoRA adapter compared with its base model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from written import write_safetensors

import archspec

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 50,
    "num_key_value_heads": 2,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
RECORDS = json.loads(Path(__file__).with_name("adapters.json").read_text(encoding="utf-8"))
BASE = "base_model.model.model.layers."
MODULES = {"q_proj": (32, 32), "v_proj": (16, 32)}
ADAPTER = {
    f"{BASE}{layer}.self_attn.{name}.lora_{part}.weight": (
        "F32",
        (4, shape[1]) if part == "A" else (shape[0], 4),
    )
    for layer in (0, 1)
    for name, shape in MODULES.items()
    for part in "AB"
}
HEAD = {"base_model.model.lm_head.weight": ("F32", (50, 32))}
EMBEDDING = {
    "base_model.model.model.embed_tokens.lora_embedding_A": ("F32", (4, 50)),
    "base_model.model.model.embed_tokens.lora_embedding_B": ("F32", (32, 4)),
}
MAGNITUDE = {f"{BASE}0.self_attn.v_proj.lora_magnitude_vector": ("F32", (16,))}
V = f"{BASE}1.self_attn.v_proj.lora_B.weight"


def check(folder: Path, tensors: Any, **options: Any) -> list[str]:
    given = {"peft_type": "LORA", "r": 4, "target_modules": ["q_proj", "v_proj"], **options}
    (folder / "adapter_config.json").write_text(json.dumps(given))
    write_safetensors(folder / "adapter_model.safetensors", tensors)
    found = archspec.check(str(folder), LLAMA)
    assert {(one.kind, one.severity) for one in found.findings} <= {("adapter", "error")}
    return [one.message for one in found.findings]


@pytest.mark.parametrize("more", [{}, HEAD, EMBEDDING, MAGNITUDE], ids=["", "head", "embedding", "magnitude"])
def test_an_adapter_that_fits(more: Any, tmp_path: Path) -> None:
    assert check(tmp_path, {**ADAPTER, **more}) == []


def test_ranks_by_pattern(tmp_path: Path) -> None:
    ranks = {
        name: one if "v_proj" not in name else (one[0], tuple(2 if x == 4 else x for x in one[1]))
        for name, one in ADAPTER.items()
    }
    assert check(tmp_path, ranks, rank_pattern={"v_proj": 2}) == []
    assert len(check(tmp_path, ranks)) == 4


@pytest.mark.parametrize("wrong", [{"rank_pattern": {"(": 2}}, {"rank_pattern": [1]}, {"r": "4"}], ids=str)
def test_ranks_that_peft_rejects(wrong: Any, tmp_path: Path) -> None:
    [message] = check(tmp_path, ADAPTER, **wrong)
    assert message.startswith("adapter_config.json: ") and ("regular" in message or "valid value" in message)


def test_shapes_that_do_not_fit(tmp_path: Path) -> None:
    message = f"{V}: (32, 4), but rank 4 of model.layers.1.self_attn.v_proj.weight gives (16, 4)"
    assert check(tmp_path, {**ADAPTER, V: ("F32", (32, 4))}) == [message]
    assert len(check(tmp_path, ADAPTER, r=8)) == 8
    head = {"base_model.model.lm_head.weight": ("F32", (51, 32))}
    assert check(tmp_path, {**ADAPTER, **head}) == [
        f"{next(iter(head))}: (51, 32), but the base has (50, 32)"
    ]


def test_modules_that_the_base_does_not_have(tmp_path: Path) -> None:
    more = {f"{BASE}2.self_attn.q_proj.lora_{part}.weight": ("F32", (4, 4)) for part in "AB"}
    assert check(tmp_path, {**ADAPTER, **more}) == [
        "the base has no module model.layers.2.self_attn.q_proj with a weight"
    ]
    other = {"base_model.model.scores.weight": ("F32", (2, 32))}
    assert check(tmp_path, {**ADAPTER, **other}) == [f"{next(iter(other))}: the base has no such tensor"]


def test_a_part_that_is_missing(tmp_path: Path) -> None:
    found = check(tmp_path, {name: one for name, one in ADAPTER.items() if name != V})
    assert found == [
        f"model.layers.1.self_attn.v_proj has only a part of its tensors: {V.replace('_B', '_A')}"
    ]
    found = check(tmp_path, ADAPTER, target_modules=["q_proj", "v_proj", "o_proj"])
    assert found == ["target_modules names o_proj, but no tensor is stored for it"]


def test_the_base_that_the_adapter_names(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text(json.dumps(LLAMA))
    check(tmp_path, {**ADAPTER, V: ("F32", (32, 4))}, base_model_name_or_path=str(base))
    found = archspec.check(str(tmp_path))
    assert [one.kind for one in found.findings] == ["adapter"] and found.architecture == "LlamaForCausalLM"


def test_a_base_that_cannot_be_read(tmp_path: Path) -> None:
    other = {"base_model_name_or_path": str(tmp_path / "nothing")}
    check(tmp_path, ADAPTER, **other)
    found = archspec.check(str(tmp_path))
    assert [(one.kind, one.severity) for one in found.findings] == [("config", "note")]
    assert found.findings[0].help == "pass the base model with config=CONFIG" and found.exit_code == 0
    write_safetensors(tmp_path / "adapter_model.safetensors", {**ADAPTER, V: ("F32", (16, 5))})
    found = archspec.check(str(tmp_path))
    assert [one.tensors for one in found.findings if one.severity == "error"] == [(V,)]
    assert found.findings[-1].message.endswith(
        "rank 4 of model.layers.1.self_attn.v_proj.weight gives (*, 4)"
    )


def test_the_head_of_a_task(tmp_path: Path) -> None:
    score = {"base_model.model.score.weight": ("F32", (7, 32))}
    assert check(tmp_path, {**ADAPTER, **score}, task_type="SEQ_CLS") == []
    assert check(tmp_path, {**ADAPTER, **score}, task_type="CAUSAL_LM") != []
    wrong = {"base_model.model.score.weight": ("F32", (7, 33))}
    message = f"{next(iter(wrong))}: (7, 33), but the base has (2, 32)"
    assert check(tmp_path, {**ADAPTER, **wrong}, task_type="SEQ_CLS") == [message]


@pytest.mark.parametrize("record", RECORDS, ids=lambda one: ",".join(one["tensors"])[-40:])
def test_adapters_that_peft_saved(record: Any, tmp_path: Path) -> None:
    """tools/adapter_headers.py recorded them: experts, biases, DoRA, embeddings, heads, copies of layers."""

    def check_stored(tensors: dict[str, Any]) -> list[tuple[str, str, tuple[str, ...]]]:
        (tmp_path / "adapter_config.json").write_text(json.dumps(record["options"]))
        stored = {name: ("F32", tuple(shape)) for name, shape in tensors.items()}
        write_safetensors(tmp_path / "adapter_model.safetensors", stored)
        findings = archspec.check(str(tmp_path), record["config"]).findings
        return [(one.severity, one.kind, one.tensors) for one in findings]

    tensors = record["tensors"]
    assert check_stored(tensors) == []
    lost = [name for name in tensors if ".1." in name or "classifier" in name][-1]
    found = check_stored({name: shape for name, shape in tensors.items() if name != lost})
    assert [one[:2] for one in found] == [("error", "adapter")]
    found = check_stored({**tensors, lost: [*tensors[lost][:-1], tensors[lost][-1] + 1]})
    assert found == [("error", "adapter", (lost,))]


def test_options_that_are_not_supported_are_a_note(tmp_path: Path) -> None:
    given = {
        "peft_type": "LORA",
        "r": 4,
        "target_modules": ["q_proj", "v_proj"],
        "trainable_token_indices": [1],
    }
    (tmp_path / "adapter_config.json").write_text(json.dumps(given))
    delta = {"base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta": ("F32", (1, 32))}
    write_safetensors(tmp_path / "adapter_model.safetensors", {**ADAPTER, **delta})
    found = archspec.check(str(tmp_path), LLAMA)
    assert [(one.kind, one.severity) for one in found.findings] == [("adapter", "note")]
