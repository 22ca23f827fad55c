"""A config that tests of several verbs read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A config of BertForMaskedLM in bfloat16."""
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps({"architectures": ["BertForMaskedLM"], "model_type": "bert", "dtype": "bfloat16"})
    )
    return str(path)
