"""What users have is read as transformers reads it: dicts, files, folders, objects, overrides."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Any

import pytest
from refused import LLAMA, message

import archspec
from archspec.configs.reader import read_config


def test_a_file_a_folder_and_a_path_object_are_the_same_config(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA).encode())  # some editors put a mark first
    found = [read_config(source).raw for source in (path, str(path), tmp_path, str(tmp_path), LLAMA)]
    assert found == [LLAMA] * 5
    assert found[-1] is not LLAMA


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nowhere.json", "nowhere.json: there is no such file"),
        ("./llama", "./llama: there is no such file"),
        ("\ud800", r"\ud800: there is no such file"),
        ("", "'' is not a path"),
        ("a\0b", r"'a\x00b' is not a path"),
        (3, "int is not a config"),
        (None, "NoneType is not a config"),
        (b"config.json", "bytes is not a config"),
        (dict, "dict is not a config"),
        (["llama"], "list is not a config"),
    ],
)
def test_what_is_no_config(
    source: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(archspec.ArchspecError) as caught:
        read_config(source)
    assert str(caught.value).splitlines() == [
        expected,
        "help: give a config.json, a folder that holds one, "
        "a hub id org/name, a dict, a dataclass with the fields, or a transformers config",
    ]


def test_folders_without_a_config_say_what_they_hold(tmp_path: Path) -> None:
    assert message(tmp_path).startswith(f"{tmp_path}: the folder has no config.json")
    (tmp_path / "adapter_config.json").write_text("{}")
    assert message(tmp_path).endswith("help: it describes an adapter: give the base model's config")


def test_a_name_that_is_nearly_there(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert message(tmp_path / "confg.json").endswith("help: did you mean config.json?")


def test_files_that_are_no_text_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b'{"model_type":\n "ll\xffama"}')
    assert message(path).splitlines()[0] == f"{path}:2:5: not UTF-8 text: invalid start byte"
    path.write_bytes(b" " * 10_000_001)
    assert message(path).splitlines()[0] == f"{path}: the file is larger than 10,000,000 bytes"
    path.write_text('{"model_type": "llama",\n "vocab_size": ' + "9" * 5000 + "}")
    assert message(path).splitlines()[0] == f"{path}:2:16: a number of more than 4,300 digits"
    for depth in (100, 100_000):
        path.write_text('{"a": ' + "[" * depth + "]" * depth + "}")
        assert message(path).splitlines()[0] == f"{path}:1:70: nested deeper than 64 levels"


def test_dicts_that_no_json_holds() -> None:
    endless: dict[str, Any] = {}
    endless["text_config"] = endless
    assert "nested deeper than 64 levels" in message(endless)
    assert "more than 4,300 digits" in message({**LLAMA, "vocab_size": 10**5000})


def test_numbers_texts_and_enumerations_of_other_libraries_become_plain() -> None:
    class Size(enum.IntEnum):
        SMALL = 8

    class Kind(str, enum.Enum):
        LLAMA = "llama"

    class Array:
        def tolist(self) -> list[int]:
            return [1, 2]

    class Dtype:
        def __str__(self) -> str:
            return "torch.bfloat16"

    given = {
        "model_type": Kind.LLAMA,
        "hidden_size": Size.SMALL,
        "sizes": Array(),
        "dtype": Dtype(),
        3: (1, {2}),
    }
    raw = read_config({**given, "limit": {"__float__": "Infinity"}}).raw
    expected = {
        "model_type": "llama",
        "hidden_size": 8,
        "sizes": [1, 2],
        "dtype": "torch.bfloat16",
        "3": [1, [2]],
    }
    assert raw == {**expected, "limit": float("inf")}
    assert type(raw["model_type"]) is str and type(raw["hidden_size"]) is int


def test_config_objects_need_nothing_but_to_dict() -> None:
    class Part:
        model_type = "llama"

        def to_dict(self) -> dict[str, Any]:
            return {"hidden_size": 8}

    class Whole:
        model_type = "llava"

        def to_dict(self) -> dict[str, Any]:
            return {"text_config": Part(), "model_type": ""}

    expected = {"text_config": {"hidden_size": 8, "model_type": "llama"}, "model_type": "llava"}
    assert read_config(Whole()).raw == expected
    assert read_config({"model_type": "llava", "text_config": Part()}).raw == expected


@pytest.mark.reference
def test_transformers_objects_count_as_their_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import transformers

    for config in (
        transformers.GPT2Config(n_embd=48, num_labels=7, dtype="bfloat16"),
        transformers.CLIPConfig(),
    ):
        config.save_pretrained(tmp_path)
        model = archspec.load(config)
        assert model.params == archspec.load(tmp_path).params == archspec.load(config.to_dict()).params
