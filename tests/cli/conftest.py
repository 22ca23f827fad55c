"""What tests of several verbs are asked about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps({"architectures": ["BertForMaskedLM"], "model_type": "bert", "dtype": "bfloat16"})
    )
    return str(path)
