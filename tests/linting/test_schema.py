"""Shipped specs satisfy docs/spec.schema.json, and invalid ones do not."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from archspec.linting.schema import text
from archspec.specs.library import shipped_library
from archspec.specs.records import KEYS

ROOT = Path(__file__).parents[2]
SPECS = list(shipped_library().files().values())
SHIPPED = (ROOT / "docs" / "spec.schema.json").read_text(encoding="utf-8")
SCHEMA = jsonschema.Draft7Validator(json.loads(SHIPPED))


def test_schema_is_current() -> None:
    assert text() == SHIPPED, "run python -m archspec lint --schema > docs/spec.schema.json"


@pytest.mark.parametrize("path", SPECS, ids=lambda path: Path(path).stem)
def test_shipped_specs_satisfy_the_schema(path: str) -> None:
    found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    assert [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(found)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"model_type": "toy", "moduls": {}},
        {"model_type": "toy", "config": {"a b": 1}},
        {"model_type": "toy", "config": {"a": {"b": 1}}},
        {"model_type": "toy", "modules": {"Toy(": {}, "1": {}}},
        {"model_type": "toy", "modules": {"Toy": {"a": 1}}},
        {"model_type": "toy", "modules": {"Toy": {"tied": ["a"]}}},
        {"model_type": "toy", "require": {"a": 1}},
    ],
)
def test_schema_refuses(wrong: object) -> None:
    assert not SCHEMA.is_valid(wrong)


def test_schema_has_every_key() -> None:
    assert set(SCHEMA.schema["properties"]) == set(KEYS)
