"""Options of adapters: files, mappings and arguments, and values that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.adapters.options import read_options
from archspec.errors import ArchspecError

SAVED = {"peft_type": "LORA", "r": 4, "target_modules": ["query"], "lora_alpha": 32, "inference_mode": True}


def test_a_file_or_its_directory_or_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "adapter_config.json"
    path.write_text(json.dumps(SAVED))
    found = read_options(SAVED, {})
    assert found.r == 4 and found.target_modules == frozenset({"query"})
    assert read_options(path, {}) == read_options(tmp_path, {}) == found
    assert read_options(path, {"r": 2}) == found._replace(r=2)
    model = archspec.load("BertModel")
    assert model.lora(tmp_path).params == model.lora(r=4, target_modules=["query"]).params
    assert model.lora({**SAVED, "use_dora": True}, use_dora=False).params == model.lora(tmp_path).params


@pytest.mark.parametrize(
    ("adapter", "given", "message"),
    [
        (None, {"ranks": 2}, "no option 'ranks'"),
        (None, {"use_qalora": True}, "use_qalora"),
        (None, {"init_lora_weights": "pissa"}, "init_lora_weights"),
        (None, {"target_modules": 3}, "target_modules"),
        (None, {"r": True}, "r: True"),
        (None, {"rank_pattern": {"a": "x"}}, "not an integer"),
        (None, {"lora_dropout": 1.5}, "lora_dropout"),
        (None, {"lora_alpha": "8"}, "lora_alpha"),
        (None, {"target_modules": "q", "layers_pattern": []}, "layers_pattern"),
        (None, {"inference_mode": True}, "inference_mode"),
        (None, {"layer_replication": [[1]]}, "layer_replication"),
        (None, {"bias": "some"}, "lora_only"),
        ({"peft_type": "OFT"}, {}, "OFT"),
        ("missing.json", {}, "cannot be read"),
    ],
)
def test_refused(adapter: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError) as error:
        read_options(adapter, given)
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["[]", "{", '"r"'])
def test_a_file_that_is_not_an_object(text: str, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(text)
    with pytest.raises(ArchspecError, match="adapter_config"):
        read_options(tmp_path, {})
