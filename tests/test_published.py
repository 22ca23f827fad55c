"""Published sizes are met: the exact ones to the unit, the rounded ones to their last digit."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

import archspec

CONFIGS = Path(__file__).parent.parent / "configs"
PUBLISHED = yaml.safe_load((CONFIGS / "published.yaml").read_text(encoding="utf-8"))
ROUNDED = [(table, row) for table in PUBLISHED["rounded"] for row in table["rows"]]


@pytest.mark.parametrize("row", PUBLISHED["exact"], ids=lambda row: f"{row['file']}-{row['architecture']}")
def test_exact(row: dict[str, Any]) -> None:
    model = archspec.load(CONFIGS / row["file"], architecture=row["architecture"])
    assert model.params == row["params"], row["evidence"]
    assert model.params == model.embedding_params + model.non_embedding_params
    if "non_embedding" in row:
        assert model.non_embedding_params == row["non_embedding"], row["evidence"]
    if "embedding" in row:
        assert model.embedding_params == row["embedding"], row["evidence"]


@pytest.mark.parametrize(
    "row", [row for row in PUBLISHED["exact"] if "bytes" in row], ids=lambda row: str(row["file"])
)
def test_bytes_are_those_of_the_published_files(row: dict[str, Any]) -> None:
    model = archspec.load(CONFIGS / row["file"], architecture=row["architecture"])
    assert model.params_bytes() == model.weights().bytes == row["bytes"]
    assert model.counts().bytes == row["bytes"]


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.json")), ids=lambda path: path.name)
def test_a_config_without_a_dtype_is_noted(path: Path) -> None:
    raw = json.loads(path.read_text(encoding="utf-8"))
    noted = any("the config has no dtype" in note for note in archspec.load(path).counts().notes)
    assert noted == ("dtype" not in raw)


def test_every_config_is_published_and_names_its_architecture() -> None:
    files = {row["file"] for row in PUBLISHED["exact"]}
    assert files == {path.name for path in CONFIGS.glob("*.json")}
    for name in files:
        rows = [row["architecture"] for row in PUBLISHED["exact"] if row["file"] == name]
        assert archspec.load(CONFIGS / name).architecture in rows


@pytest.mark.parametrize(
    ("table", "row"), ROUNDED, ids=[f"{table['source'][-3:]}-{row['name']}" for table, row in ROUNDED]
)
def test_rounded(table: dict[str, Any], row: dict[str, Any]) -> None:
    printed = {"n_layer": row["n_layer"], "n_embd": row["n_embd"], "n_head": row["n_head"]}
    consistent = printed["n_head"] * row["d_head"] == printed["n_embd"]
    assert consistent or "instead" in row, "a row that contradicts itself names what it must be"
    if "misprint" in row:
        print(f"{table['source']}, {row['name']}: {row['misprint']}")
    config = {"model_type": table["model_type"], **table["config"], **printed, **row.get("instead", {})}
    assert config["n_head"] * row["d_head"] == config["n_embd"]
    params = archspec.load(config, architecture=table["architecture"]).params
    value, half = rounded(row["params"])
    if "known" in row:
        assert params == row["known"] and abs(params - value) > half
    else:
        assert abs(params - value) <= half, f"{params:,} is not {row['params']}"


def test_printed_sizes_that_contradict_themselves_are_refused() -> None:
    """2048 is not divisible by the 24 heads of the XL row, nor 5140 by the 40 of the 13B row."""
    for size, heads in ((2048, 24), (5140, 40)):
        with pytest.raises(archspec.ArchspecError):
            _ = archspec.load({"model_type": "gpt2", "n_embd": size, "n_head": heads}).params


def rounded(text: str) -> tuple[Decimal, Decimal]:
    """A printed size, and half a unit of its last digit that is not a trailing zero.

    >>> rounded("1320M"), rounded("175.0B")
    ((Decimal('1320000000'), Decimal('5E+6')), (Decimal('175000000000'), Decimal('5E+8')))
    """
    unit = {"M": 6, "B": 9}[text[-1]]
    number = Decimal(text[:-1]).normalize()
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    value = number.scaleb(unit)
    return value.quantize(Decimal(1)), Decimal(1).scaleb(exponent + unit) / 2
