"""Without NumPy the same configs are found, in the same order."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import archspec

CODE = """
import json, sys
sys.modules["numpy"] = None
import archspec
asked = json.loads(sys.argv[1])
found = archspec.solve(asked.pop("config"), **asked)
print(json.dumps([[one.values, one.params, str(one.miss)] for one in found]))
"""
ASKED: list[dict[str, Any]] = [
    {"config": "GPT2LMHeadModel", "params": "350m"},  # by shape
    {"config": "BertModel", "params": "110m", "free": "num_hidden_layers"},  # the nearest
    {
        "config": "BertModel",
        "bytes": "200MB",
        "free": "hidden_size,num_hidden_layers",
        "multiple": {"hidden_size": 192},
    },
    {"config": "Qwen3NextForCausalLM", "params": "3b"},  # layers that are counted one by one
]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: str(asked["config"]))
def test_the_same_is_found_one_by_one(asked: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(asked)], capture_output=True, text=True, check=True
    )
    arguments = dict(asked)
    found = archspec.solve(arguments.pop("config"), **arguments)
    told = [[one.values, one.params, str(one.miss)] for one in found]
    assert json.loads(done.stdout) == told and told
