"""Configs as people have them, of every era: counted as `from_pretrained` builds them, or refused.

tests/configs/wild.json has one on each line, with a description.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import archspec

WILD: list[dict[str, Any]] = json.loads((Path(__file__).parent / "wild.json").read_text(encoding="utf-8"))
COUNTED = [one for one in WILD if "params" in one]


def test_there_are_thirty_of_them() -> None:
    assert len(COUNTED) >= 25
    assert len(WILD) >= 30


@pytest.mark.parametrize("one", WILD, ids=[one["about"] for one in WILD])
def test_it_is_counted_or_refused(one: dict[str, Any]) -> None:
    if "params" in one:
        assert archspec.load(one["config"]).params == one["params"]
        return
    with pytest.raises(archspec.ArchspecError) as caught:
        archspec.load(one["config"])
    assert caught.value.problems[0].message == one["refused"]


@pytest.mark.reference
@pytest.mark.parametrize("one", COUNTED, ids=[one["about"] for one in COUNTED])
def test_from_pretrained_builds_as_much(one: dict[str, Any], tmp_path: Path) -> None:
    import transformers

    from archspec.reference import build

    name = archspec.load(one["config"]).architecture  # by the model type if the config's class is unknown
    cls = getattr(transformers, name)
    (tmp_path / "config.json").write_text(json.dumps(one["config"]))
    model = build(cls, cls.config_class.from_pretrained(tmp_path))
    assert sum(tensor.numel() for tensor in model.parameters()) == one["params"]
