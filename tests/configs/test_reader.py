"""Configs from dicts, files, folders, the hub and objects, as transformers reads them."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from refused import LLAMA, message

import archspec
from archspec.configs.reader import QUANTIZATION_FILES, read_config


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
def test_invalid_sources(source: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(archspec.ArchspecError) as caught:
        read_config(source)
    assert str(caught.value).splitlines() == [
        expected,
        "help: pass a config.json, a directory that contains one, a Hub id org/name, "
        "a class or model type such as gpt2, a dict or a transformers config",
    ]


def test_the_help_for_folders_and_misspelled_files(tmp_path: Path) -> None:
    assert message(tmp_path).startswith(f"{tmp_path}: the directory has no config.json")
    (tmp_path / "configs").mkdir()
    assert "did you mean" not in message(tmp_path / "config.json")
    (tmp_path / "config.json").write_text("{}")
    assert "help: did you mean config.json" in message(tmp_path / "confg.json")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"model_type":\n "ll\xffama"}', ":2:5: not UTF-8: invalid start byte"),
        (b" " * 10_000_001, ": the file is larger than 10,000,000 bytes"),
        (
            b'{"model_type": "llama",\n "vocab_size": ' + b"9" * 5000 + b"}",
            ":2:16: a number has more than 4,3",
        ),
        (b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}", ":1:70: nested deeper than 64 levels"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", ":1:70: nested deeper than 64 levels"),
    ],
    ids=["bytes", "size", "digits", "levels", "many levels"],
)
def test_invalid_files(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    assert message(path).startswith(f"{path}{expected}")


def test_dicts_without_json() -> None:
    endless: dict[str, Any] = {}
    endless["text_config"] = endless
    assert "nested deeper than 64 levels" in message(endless)
    assert "more than 4,300 digits" in message({**LLAMA, "vocab_size": 10**5000})


def test_the_hub_is_asked_for_an_id_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hub = types.ModuleType("huggingface_hub")
    asked: list[str] = []
    local: list[bool] = []
    monkeypatch.setenv("HF_ENDPOINT", "https://no-such-host.invalid")

    def download(name: str, file: str, *, local_files_only: bool, **_: Any) -> str:
        asked.append(f"{name}/{file}")
        local.append(local_files_only)
        if name != "org/tiny":
            raise OSError("we are offline\nmore of it")
        path = tmp_path / "blob"
        path.write_text(json.dumps({**LLAMA, "hidden_size": "8"}))
        return str(path)

    hub.hf_hub_download = download  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    expected = "org/tiny/config.json:1:43: hidden_size must be an integer, not the string '8'"
    assert message("org/tiny").splitlines()[0] == expected
    expected = "there is no such file, and org/large cannot be downloaded: "
    expected += "it is not in the local cache, and the hub cannot be reached"
    assert message("org/large").splitlines()[0] == expected
    for path in ("./org/tiny", "org/tiny/config.json", "org/config.json", "/org/tiny"):
        message(path)
    others = [f"org/tiny/{name}" for name in QUANTIZATION_FILES]
    assert asked == ["org/tiny/config.json", *others, "org/large/config.json"]
    assert all(local), "a host without an address is not asked again and again"
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "huggingface-hub is not installed" in message("org/tiny")


def test_the_processor_of_a_hub_id_is_downloaded_when_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = {"config.json": {"model_type": "vit"}, "preprocessor_config.json": {"size": 384}}

    def download(_: str, file: str, **__: Any) -> str:
        path = tmp_path / file
        path.write_text(json.dumps(files[file]))
        return str(path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(hf_hub_download=download))
    model = archspec.load("org/tiny", architecture="ViTModel")
    assert not (tmp_path / "preprocessor_config.json").exists()
    assert model.forward(images=["640x480"]).call.images == ((384, 384),)


@pytest.mark.reference
def test_transformers_objects_count_as_their_files(tmp_path: Path) -> None:
    import transformers

    gpt2 = transformers.GPT2Config(n_embd=48, num_labels=7, dtype="bfloat16")
    for config in (gpt2, transformers.CLIPConfig()):
        config.save_pretrained(tmp_path)
        model = archspec.load(config)
        assert model.params == archspec.load(tmp_path).params == archspec.load(config.to_dict()).params
