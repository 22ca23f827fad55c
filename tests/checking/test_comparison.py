"""Each damage of a checkpoint is reported by its kind, with the tensors it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from written import stored_tensors, write_checkpoint, write_safetensors

import archspec
from archspec.checking.check import KINDS, Check

SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SMALL, "vocab_size": 50}
TIED = {**LLAMA, "tie_word_embeddings": True}
Q = "model.layers.1.self_attn.q_proj.weight"


def findings(report: Check, severity: str = "error") -> list[tuple[str, tuple[str, ...]]]:
    return [(one.kind, one.tensors) for one in report.findings if one.severity == severity]


def check(folder: Path, config: dict[str, Any] = LLAMA, **changes: Any) -> Check:
    renamed = {name.replace("__", "."): one for name, one in changes.items()}
    return archspec.check(str(write_checkpoint(folder / "checkpoint", config, **renamed)))


def test_a_checkpoint_without_differences(tmp_path: Path) -> None:
    for config in (LLAMA, TIED):
        found = check(tmp_path, config)
        assert (found.findings, found.exit_code, found.suggestions, found.likely) == ([], 0, [], [])
        assert found.text().endswith("no differences") and found.architecture == "LlamaForCausalLM"
        model = archspec.load(config)
        assert (found.params, found.bytes, found.dtypes) == (
            model.params,
            model.params * 4,
            {"float32": model.params},
        )


def test_missing_unexpected_and_misshapen_tensors(tmp_path: Path) -> None:
    assert findings(check(tmp_path, **{Q: None})) == [("missing", (Q,))]
    assert findings(check(tmp_path, **{f"{Q}2": ("F32", (2,))})) == [("unexpected", (f"{Q}2",))]
    found = check(tmp_path, **{Q: ("F32", (32, 31))})
    assert findings(found) == [("shape", (Q,))] and found.exit_code == 1 and found.suggestions == []
    assert f"error [shape] {Q}: stored as (32, 31), not (32, 32)" in found.text()


def test_layers_are_one_finding(tmp_path: Path) -> None:
    names = [f"model.layers.{layer}.input_layernorm.weight" for layer in range(3)]
    found = check(tmp_path, **dict.fromkeys(names))
    assert findings(found) == [("missing", tuple(names))]
    assert "3 tensors model.layers.*.input_layernorm.weight" in found.findings[0].message


def test_a_dtype_that_differs_from_other_layers(tmp_path: Path) -> None:
    assert findings(check(tmp_path, **{Q: ("BF16", (32, 32))})) == [("dtype", (Q,))]
    found = check(tmp_path, **{"model.norm.weight": ("BF16", (32,))})
    assert findings(found) == [] and findings(found, "note") == [("dtype", ("model.norm.weight",))]


def test_tied_tensors_that_are_stored_twice(tmp_path: Path) -> None:
    found = check(tmp_path, TIED, **{"lm_head.weight": ("F32", (50, 32))})
    assert findings(found) == [] and findings(found, "note") == [("tied", ("lm_head.weight",))]
    only = check(tmp_path, TIED, **{"lm_head.weight": ("F32", (50, 32)), "model.embed_tokens.weight": None})
    assert only.findings == []  # either name is enough
    none = check(tmp_path, TIED, **{"model.embed_tokens.weight": None})
    assert {kind for kind, _ in findings(none)} == {"missing"}


SUGGESTED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"num_key_value_heads": 2}, "num_key_value_heads = 2"),
    ({"num_key_value_heads": 1}, {"num_key_value_heads": 4}, "num_key_value_heads = 4"),
    ({}, {"num_hidden_layers": 5}, "num_hidden_layers = 5"),
    ({"num_hidden_layers": 4}, {"num_hidden_layers": 1}, "num_hidden_layers = 1"),
    ({}, {"vocab_size": 61}, "vocab_size = 61"),
    ({}, {"intermediate_size": 80}, "intermediate_size = 80"),
    ({}, {"hidden_size": 64}, "hidden_size = 64"),
    ({}, {"attention_bias": True}, "attention_bias = true"),
    ({}, {"tie_word_embeddings": True}, "tie_word_embeddings = true"),
]


@pytest.mark.parametrize(("given", "true", "suggested"), SUGGESTED, ids=[one[2] for one in SUGGESTED])
def test_the_field_that_makes_the_tensors_fit(given: Any, true: Any, suggested: str, tmp_path: Path) -> None:
    tensors = stored_tensors(archspec.load({**LLAMA, **true}))
    config = {**LLAMA, **given}
    found = check(tmp_path, config, **{**dict.fromkeys(stored_tensors(archspec.load(config))), **tensors})
    assert found.exit_code == 1 and suggested in found.suggestions
    name, _, value = suggested.partition(" = ")
    assert f"the checkpoint fits with {suggested}" in found.text() and name in true and value


def test_bytes_of_an_index_alone(tmp_path: Path) -> None:
    model = archspec.load(LLAMA)
    index = {
        "metadata": {"total_size": model.params * 4},
        "weight_map": dict.fromkeys(stored_tensors(model), "x.bin"),
    }
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    assert findings(archspec.check(str(tmp_path))) == []
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "num_key_value_heads": 1}))
    found = archspec.check(str(tmp_path))
    assert findings(found) == [("bytes", ())] and "num_key_value_heads = 4" in found.suggestions
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "dtype": "float16"}))
    found = archspec.check(str(tmp_path))
    assert findings(found) == [] and ("bytes", ()) in findings(found, "note")
    assert "fit weights of 32 bits, but the config's dtype is float16" in found.findings[-1].message
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "num_hidden_layers": 2}))
    found = archspec.check(str(tmp_path))
    assert found.suggestions == ["num_hidden_layers = 3"]  # others have the bytes, but not the names


def test_a_config_that_cannot_be_compared(tmp_path: Path, cli: Any) -> None:
    write_checkpoint(tmp_path, LLAMA)
    (tmp_path / "config.json").write_text('{"model_type": "llama", "hidden_size": "x"}')
    found = archspec.check(str(tmp_path))
    assert findings(found) == [("config", ())] and found.exit_code == 2
    assert cli("check", str(tmp_path), code=2).out
    other = tmp_path / "other.json"
    other.write_text(json.dumps(LLAMA))
    assert archspec.check(str(tmp_path), str(other)).findings == []
    with pytest.raises(archspec.ArchspecError):
        archspec.check(str(tmp_path), {"model_type": "no_such_model"})


@pytest.mark.parametrize("more", [{}, {"auto_map": {"AutoModel": "custom.Custom"}}], ids=["type", "code"])
def test_headers_are_checked_if_the_class_is_not_supported(more: Any, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, LLAMA)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no_such_model", **more}))
    found = archspec.check(str(tmp_path))
    assert findings(found, "note") == [("config", ())] and found.exit_code == 0
    assert found.likely and found.architecture is None and "no differences" not in found.text()


def test_pointers_without_an_index_have_bytes_only(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, LLAMA)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize {}\n"
    size = archspec.load(LLAMA).params * 4
    for given, kinds in ((size + 3000, []), (size // 2 + 3000, []), (size * 2, ["bytes"])):
        (tmp_path / "model.safetensors").write_text(pointer.format(given))
        found = archspec.check(str(tmp_path))
        assert [kind for kind, _ in findings(found)] == kinds and (found.params, found.bytes) == (None, None)
        assert ("no differences in bytes" in found.text()) == (not kinds)


def test_annotations_of_github(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path / "x.safetensors", stored_tensors(archspec.load(LLAMA)))
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 1)
    lines = archspec.check(str(path), LLAMA).github().splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"::error file={path}::[truncated] ")


def test_classes_without_a_config(tmp_path: Path) -> None:
    path = write_safetensors(
        tmp_path / "x.safetensors", stored_tensors(archspec.load("GPTNeoXForCausalLM"), "BF16")
    )
    found = archspec.check(str(path))
    best = found.likely[0]
    assert (best.architecture, best.model_type, best.common, best.names) == (
        "GPTNeoXForCausalLM",
        "gpt_neox",
        16,
        16,
    )
    assert found.exit_code == 0 and found.architecture is None and "gpt_neox" in found.text()


def test_a_class_of_many_with_the_same_names(tmp_path: Path) -> None:
    path = write_safetensors(
        tmp_path / "x.safetensors", stored_tensors(archspec.load("LlamaForCausalLM"), "BF16")
    )
    assert archspec.check(str(path)).likely[0].architecture == "LlamaForCausalLM"  # by its shapes
    path = write_safetensors(path, {"something": ("F32", (1,)), "else": ("F32", (1,))})
    assert archspec.check(str(path)).likely == []


def test_kinds_have_meanings() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "check-a-checkpoint.md").read_text(
        encoding="utf-8"
    )
    assert [kind for kind in KINDS if f"`{kind}`" not in page] == []
