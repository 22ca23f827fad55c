"""Models that transformers saves have no differences; each of twelve kinds of damage is reported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from written import write_header

import archspec

CONFIGS = json.loads(Path(__file__).with_name("small_configs.json").read_text(encoding="utf-8"))
SHARDS = 3
pytestmark = pytest.mark.reference


@pytest.fixture(scope="module", params=CONFIGS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint in several files, as transformers saves a model with random weights."""
    from archspec.reference import config_of, model_class

    raw, folder = CONFIGS[request.param], tmp_path_factory.mktemp("saved")
    model = model_class(request.param, raw["model_type"])(config_of(raw["model_type"], raw))
    model.save_pretrained(folder, max_shard_size=sum(one.nbytes for one in model.parameters()) // SHARDS)
    return folder


Header = dict[str, Any]
INDEX = "model.safetensors.index.json"


def headers(folder: Path) -> dict[Path, Header]:
    """Return the header of each file."""
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        content = path.read_bytes()
        found[path] = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return found


def largest(header: Header) -> str:
    """Return the name of the largest tensor with two dimensions or more."""
    sizes = {name: one["data_offsets"] for name, one in header.items() if len(one.get("shape", ())) > 1}
    return max(sizes, key=lambda name: sizes[name][1] - sizes[name][0])


def packed(header: Header) -> Header:
    """Return a header with new offsets, without gaps."""
    widths = {"F32": 4, "I64": 8, "BF16": 2, "BOOL": 1, "I32": 4}
    end = 0
    for one in header.values():
        if "dtype" in one:
            size = widths[one["dtype"]]
            for side in one["shape"]:
                size *= side
            one["data_offsets"] = [end, end + size]
            end += size
    return header


def change_index(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / INDEX
    if path.exists():
        index = json.loads(path.read_text())
        change(index)
        path.write_text(json.dumps(index))


def remove(folder: Path, path: Path, header: Header, name: str) -> None:
    write_header(path, packed({key: one for key, one in header.items() if key != name}))
    change_index(folder, lambda index: (index["weight_map"].pop(name), index["metadata"].pop("total_size")))


def add(folder: Path, path: Path, header: Header, name: str) -> None:
    write_header(path, packed({**header, "surplus.weight": {"dtype": "F32", "shape": [3]}}))
    change_index(folder, lambda index: index["weight_map"].update({"surplus.weight": path.name}))
    change_index(folder, lambda index: index["metadata"].pop("total_size"))


def reshape(folder: Path, path: Path, header: Header, name: str) -> None:
    header[name]["shape"][-1] += 1
    write_header(path, packed(header))
    change_index(folder, lambda index: index["metadata"].pop("total_size"))


def truncate(folder: Path, path: Path, header: Header, name: str) -> None:
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 1)


def overlap(folder: Path, path: Path, header: Header, name: str) -> None:
    last = max((one for one in header.values() if "dtype" in one), key=lambda one: one["data_offsets"][1])
    header["twin"] = {**last}
    write_header(path, header)


def leave_gap(folder: Path, path: Path, header: Header, name: str) -> None:
    size = max(one["data_offsets"][1] for one in header.values() if "dtype" in one)
    write_header(path, header, size + 64)


def misstate_bytes(folder: Path, path: Path, header: Header, name: str) -> None:
    header[name]["dtype"] = "F64"
    write_header(path, header)


def repeat(folder: Path, path: Path, header: Header, name: str) -> None:
    text = json.dumps(header)
    again = json.dumps({name: header[name]})[1:-1]
    end = max(one["data_offsets"][1] for one in header.values() if "dtype" in one)
    write_header(path, f"{text[:-1]}, {again}}}", end)


def lose_shard(folder: Path, path: Path, header: Header, name: str) -> None:
    path.unlink()


def misplace(folder: Path, path: Path, header: Header, name: str) -> None:
    other = next((one.name for one in headers(folder) if one != path), "")
    change_index(folder, lambda index: index["weight_map"].update({name: other}))


def misstate_total(folder: Path, path: Path, header: Header, name: str) -> None:
    change_index(folder, lambda index: index["metadata"].update(total_size=12_345))


def pretend_quantized(folder: Path, path: Path, header: Header, name: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    (folder / "config.json").write_text(json.dumps(config))


DAMAGE = {  # -> its kinds, one of which is reported; the tensor that it names
    remove: (("missing", "shape"), None),
    add: (("unexpected",), "surplus.weight"),
    reshape: (("shape",), None),
    truncate: (("truncated",), None),
    overlap: (("overlap",), None),
    leave_gap: (("gap",), None),
    misstate_bytes: (("bytes",), "largest"),
    repeat: (("duplicate",), "largest"),
    lose_shard: (("shards",), "largest"),
    misplace: (("shards",), "largest"),
    misstate_total: (("total_size",), None),
    pretend_quantized: (("quantization", "config"), None),
}
OF_INDEX = (lose_shard, misplace, misstate_total)
UNQUANTIZED = ("FalconForCausalLM",)  # its linear layers are of a class that bitsandbytes does not quantize


def test_saved_models_have_no_differences_and_damage_is_reported(saved: Path, tmp_path: Path) -> None:
    architecture = json.loads((saved / "config.json").read_text())["architectures"][0]
    report = archspec.check(str(saved))
    assert [one.line for one in report.findings if one.severity == "error"] == []
    assert report.architecture == architecture and report.exit_code == 0
    for damage, (kinds, named) in DAMAGE.items():
        is_whole = damage in OF_INDEX and not (saved / INDEX).exists()
        if is_whole or (damage == pretend_quantized and architecture in UNQUANTIZED):
            continue
        folder = tmp_path / damage.__name__
        shutil.copytree(saved, folder)
        path, header = max(headers(folder).items(), key=lambda item: item[0].stat().st_size)
        name = largest(header)
        damage(folder, path, header, name)
        report = archspec.check(str(folder))
        found = {one.kind: one.tensors for one in report.findings if one.severity == "error"}
        assert report.exit_code and found.keys() & {*kinds}, (damage.__name__, name, found)
        expected = name if named == "largest" else named
        assert expected is None or expected in found[kinds[0]], (damage.__name__, name, found)
        shutil.rmtree(folder)
