"""GGUF files compared with a config: headers that llama.cpp's converter wrote, and damaged ones.

tools/gguf_headers.py recorded them in gguf.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from written import write_gguf

import archspec
from archspec.checking.check import Check
from archspec.errors import ArchspecError

RECORDS = json.loads(Path(__file__).with_name("gguf.json").read_text(encoding="utf-8"))
LLAMA = next(one for one in RECORDS if one["architecture"] == "LlamaForCausalLM")
Q = "blk.0.attn_q.weight"


def check(
    folder: Path, record: dict[str, Any] = LLAMA, metadata: Any = (), config: Any = (), **tensors: Any
) -> Check:
    changed = {name.replace("__", "."): one for name, one in tensors.items()}
    stored = {name: one for name, one in {**record["tensors"], **changed}.items() if one}
    write_gguf(folder / "model.gguf", stored, {**record["metadata"], **dict(metadata)})
    raw = {**record["config"], "architectures": [record["architecture"]], **dict(config)}
    (folder / "config.json").write_text(json.dumps(raw))
    return archspec.check(str(folder))


def errors(found: Check) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.kind, one.tensors) for one in found.findings if one.severity == "error"]


@pytest.mark.parametrize("record", RECORDS, ids=lambda one: one["architecture"])
def test_files_of_the_converter_have_no_differences(record: dict[str, Any], tmp_path: Path) -> None:
    found = check(tmp_path, record)
    assert found.findings == [] and found.architecture == record["architecture"]
    assert found.text().endswith("no differences")


def test_damaged_files(tmp_path: Path) -> None:
    kind, shape = LLAMA["tensors"][Q]
    assert errors(check(tmp_path, **{Q: None})) == [("missing", (Q,))]
    assert errors(check(tmp_path, **{f"{Q}2": [kind, shape]})) == [("unexpected", (f"{Q}2",))]
    found = check(tmp_path, **{Q: [kind, [shape[0] * 2, shape[1]]]})
    assert errors(found) == [("shape", (Q,))] and found.exit_code == 1
    path = tmp_path / "model.gguf"
    check(tmp_path)
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 1)
    assert [kind for kind, _ in errors(archspec.check(str(tmp_path)))] == ["truncated"]


def test_metadata_of_another_model(tmp_path: Path) -> None:
    assert errors(check(tmp_path, metadata={"general.architecture": "qwen2"})) == [("metadata", ())]
    heads = LLAMA["config"]["num_attention_heads"]
    found = check(tmp_path, metadata={"llama.attention.head_count": heads * 2})
    assert errors(found) == [("metadata", ())]
    assert (
        found.findings[0].message
        == f"llama.attention.head_count is {heads * 2}, but the config gives {heads}"
    )


def test_types_of_other_tools_are_a_note(tmp_path: Path) -> None:
    found = check(tmp_path, **{Q: ["f32", LLAMA["tensors"][Q][1]]})
    assert [(one.kind, one.severity, one.tensors) for one in found.findings] == [("dtype", "note", (Q,))]
    assert found.findings[0].message == f"{Q}: F32, but F16 of llama-quantize has F16"


def test_quantized_types(tmp_path: Path) -> None:
    raw = {**LLAMA["config"], "architectures": [LLAMA["architecture"]]}
    chosen = {one.name: one.type for one in archspec.load(raw).weights("Q4_K_M").tensors()}
    assert {*chosen.values()} == {"F32", "Q4_K", "Q6_K"}
    tensors = {name: [chosen[name], shape] for name, (_, shape) in LLAMA["tensors"].items()}
    assert check(tmp_path, metadata={"general.file_type": 15}, **tensors).findings == []
    found = check(tmp_path, metadata={"general.file_type": 14}, **tensors)
    assert {(one.kind, one.severity) for one in found.findings} == {("dtype", "note")}


def test_the_field_that_makes_the_file_fit(tmp_path: Path) -> None:
    found = check(tmp_path, config={"vocab_size": LLAMA["config"]["vocab_size"] + 1})
    assert f"vocab_size = {LLAMA['config']['vocab_size']}" in found.suggestions


def test_a_class_that_the_converter_does_not_support(tmp_path: Path) -> None:
    found = check(tmp_path, config={"model_type": "bart", "architectures": ["BartModel"]})
    assert [(one.kind, one.severity) for one in found.findings] == [("conversion", "note")]
    (tmp_path / "config.json").unlink()
    found = archspec.check(str(tmp_path))
    assert [one.kind for one in found.findings] == ["metadata"] and "LlamaForCausalLM" in found.findings[
        0
    ].message


def test_several_models_in_a_folder(tmp_path: Path) -> None:
    check(tmp_path)
    (tmp_path / "other.gguf").write_bytes((tmp_path / "model.gguf").read_bytes())
    with pytest.raises(
        ArchspecError, match=r"2 GGUF models\nhelp: pass one of them: model\.gguf and other\.gguf"
    ):
        archspec.check(str(tmp_path))
    assert archspec.check(str(tmp_path / "other.gguf")).findings == []
