"""The hub is asked for what is an id, once it can be reached."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from refused import LLAMA, message

from archspec.configs.reader import QUANTIZATION_FILES


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
    assert (
        message("org/tiny").splitlines()[0]
        == "org/tiny/config.json:1:43: hidden_size: the text '8' is not int"
    )
    expected = "org/large: there is no such file or folder, and the hub does not give org/large: "
    expected += "the cache has no such config, and the hub cannot be reached"
    assert message("org/large").splitlines()[0] == expected
    for path in ("./org/tiny", "org/tiny/config.json", "org/config.json", "/org/tiny"):
        message(path)
    beside = [f"org/tiny/{name}" for name in QUANTIZATION_FILES]
    assert asked == ["org/tiny/config.json", *beside, "org/large/config.json"]
    assert all(local), "a host without an address is not asked again and again"
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "huggingface-hub is not installed" in message("org/tiny")
