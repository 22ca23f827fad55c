"""Folders, index files, git LFS pointers, and the differences between an index and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from written import write_safetensors

from archspec.checkpoints.files import Checkpoint, read_checkpoint
from archspec.errors import ArchspecError

SHARDS = {
    "model-00001-of-00002.safetensors": {"a": ("F32", (4, 4)), "b": ("BF16", (6,))},
    "model-00002-of-00002.safetensors": {"c": ("F32", (3,))},
}
INDEX = {name: file for file, tensors in SHARDS.items() for name in tensors}
SIZE = 64 + 12 + 12
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"


def write_shards(folder: Path, metadata: Any = None, **changes: str | None) -> Path:
    for name, tensors in SHARDS.items():
        write_safetensors(folder / name, tensors)
    listed = {name: file for name, file in {**INDEX, **changes}.items() if file}
    index = {"metadata": {"total_size": SIZE} if metadata is None else metadata, "weight_map": listed}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def findings(checkpoint: Checkpoint) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.severity, one.kind, one.tensors) for one in checkpoint.findings]


def read(*paths: Path) -> Checkpoint:
    return read_checkpoint([*map(str, paths)])


def test_shards_of_an_index(tmp_path: Path) -> None:
    found = read(write_shards(tmp_path))
    assert [one.name for one in found.tensors] == ["a", "b", "c"] and found.total_bytes == SIZE
    assert found.findings == [] and [Path(one.file).name for one in found.headers] == [*SHARDS]
    assert read(tmp_path / "model.safetensors.index.json").tensors == found.tensors


@pytest.mark.parametrize(
    ("change", "tensors"),
    [
        ({"b": "model-00002-of-00002.safetensors"}, ("b",)),
        ({"b": None}, ("b",)),
        ({"d": "model-00001-of-00002.safetensors"}, ("d",)),
    ],
)
def test_an_index_that_does_not_fit(
    change: dict[str, str | None], tensors: tuple[str], tmp_path: Path
) -> None:
    assert ("error", "shards", tensors) in findings(read(write_shards(tmp_path, **change)))


def test_a_missing_shard(tmp_path: Path) -> None:
    (write_shards(tmp_path) / "model-00002-of-00002.safetensors").unlink()
    found = read(tmp_path)
    assert findings(found) == [("error", "shards", ("c",))]
    assert "model-00002-of-00002.safetensors is not here" in found.findings[0].message
    assert [(one.name, one.shape) for one in found.tensors][-1] == ("c", None)


def test_a_shard_that_the_index_does_not_list(tmp_path: Path) -> None:
    write_shards(tmp_path, c=None)
    found = read(tmp_path)
    assert ("error", "shards", ()) in findings(found)
    assert "not in the index: model-00002-of-00002.safetensors" in found.findings[0].message


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    write_shards(tmp_path)
    write_safetensors(tmp_path / "model-00002-of-00002.safetensors", {"c": ("F32", (3,)), "a": ("F32", (1,))})
    assert ("error", "duplicate", ("a",)) in findings(read(tmp_path))


@pytest.mark.parametrize("total", [SIZE, float(SIZE), 0, None, "88", -1, float("inf")])
def test_total_sizes_that_say_nothing_wrong(total: Any, tmp_path: Path) -> None:
    found = findings(read(write_shards(tmp_path, {"total_size": total})))
    assert found == ([] if total == SIZE and type(total) is int else [("note", "total_size", ())])


def test_a_total_size_with_headers(tmp_path: Path) -> None:
    whole = sum((write_shards(tmp_path) / name).stat().st_size for name in SHARDS)
    assert findings(read(write_shards(tmp_path, {"total_size": whole}))) == []


def test_a_wrong_total_size(tmp_path: Path) -> None:
    assert findings(read(write_shards(tmp_path, {"total_size": SIZE + 4}))) == [("error", "total_size", ())]
    assert findings(read(write_shards(tmp_path, metadata=[]))) == [("note", "total_size", ())]


def write_pointers(folder: Path, **sizes: int) -> Path:
    for name, size in sizes.items():
        (folder / f"model-0000{name[-1]}-of-00002.safetensors").write_text(POINTER.format("0" * 64, size))
    return folder


def test_pointers_have_sizes(tmp_path: Path) -> None:
    large = 10_000_000_000
    write_shards(tmp_path, {"total_size": 2 * large})
    found = read(write_pointers(tmp_path, shard1=large + 8_000, shard2=large + 9_000))
    assert [one.size for one in found.headers] == [large + 8_000, large + 9_000]
    assert findings(found) == [("note", "pointer", ())]
    assert "2 files of 20,000,017,000 bytes" in found.findings[0].message
    assert [one.shape for one in found.tensors] == [None] * 3
    found = read(write_pointers(tmp_path, shard1=large + 8_000, shard2=large - 1))
    assert ("error", "total_size", ()) not in findings(found)  # the header of one may be so much larger
    found = read(write_pointers(tmp_path, shard1=large, shard2=large // 2))
    assert ("error", "total_size", ()) in findings(found)


def test_an_index_alone(tmp_path: Path) -> None:
    write_shards(tmp_path)
    for name in SHARDS:
        (tmp_path / name).unlink()
    found = read(tmp_path)
    assert findings(found) == [("note", "shards", ())]
    assert [one.name for one in found.tensors] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"weight_map": 1}',
        '{"weight_map": {"a": 1}}',
        '{"weight_map": {"a": "../x.safetensors"}}',
        '{"weight_map": ' + "[" * 5_000,
        '{"a":' * 200_000,
        "\xff",
    ],
    ids=lambda text: text[:30],
)
def test_an_invalid_index_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ArchspecError, match=r"index\.json: (invalid index|the index is)"):
        read(path)


def test_a_name_that_an_index_repeats(tmp_path: Path) -> None:
    file = next(iter(SHARDS))
    text = f'{{"weight_map": {{"a": "{file}", "b": "{file}", "a": "{file}"}}, "metadata": {{}}}}'
    (write_shards(tmp_path) / "model.safetensors.index.json").write_text(text)
    assert ("error", "duplicate", ("a",)) in findings(read(tmp_path))


def test_files_that_transformers_prefers(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "consolidated.safetensors", {"x": ("F32", (1,))})
    assert [one.name for one in read(tmp_path).tensors] == ["x"]
    write_safetensors(tmp_path / "model.safetensors", {"y": ("F32", (1,))})
    assert [one.name for one in read(tmp_path).tensors] == ["y"]
    both = read(tmp_path / "model.safetensors", tmp_path / "consolidated.safetensors")
    assert [one.name for one in both.tensors] == ["y", "x"]
    write_shards(tmp_path)
    assert [one.name for one in read(tmp_path).tensors] == ["a", "b", "c"]


def test_a_pointer_without_an_index(tmp_path: Path) -> None:
    write_pointers(tmp_path, shard1=100)
    write_safetensors(tmp_path / "model-00003-of-00003.safetensors", {"c": ("F32", (3,))})
    found = read(tmp_path)
    assert not found.is_listed and findings(found) == [("error", "shards", ()), ("note", "pointer", ())]
    names = "model-00002-of-00002.safetensors, model-00001-of-00003.safetensors and"
    assert names in found.findings[0].message


def test_a_float_counts_bools_as_bits(tmp_path: Path) -> None:
    write_shards(tmp_path, {"total_size": 1000.0})
    assert [one[:2] for one in findings(read(write_pointers(tmp_path, shard1=90_000, shard2=9_000)))] == [
        ("note", "total_size"),
        ("note", "pointer"),
    ]
    found = read(write_pointers(write_shards(tmp_path, {"total_size": 1000}), shard1=90_000, shard2=9_000))
    assert ("error", "total_size", ()) in findings(found)


def test_files_of_a_training_loop_are_skipped(tmp_path: Path) -> None:
    others = ("training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state_0.pth", "scaler.pt")
    for name in others:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ArchspecError, match="the folder has no checkpoint"):
        read(tmp_path)


def test_an_index_with_a_merge_conflict(tmp_path: Path) -> None:
    index = write_shards(tmp_path) / "model.safetensors.index.json"
    text = index.read_text()
    index.write_text(f"{{\n<<<<<<< HEAD\n{text[1:]}\n=======\n{text}\n>>>>>>> other\n")
    with pytest.raises(ArchspecError, match=r"index\.json: invalid index: line 2: "):
        read(index)


def test_paths_without_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ArchspecError, match="the folder has no checkpoint"):
        read(tmp_path)
    with pytest.raises(ArchspecError, match="is not a checkpoint"):
        read(tmp_path / "notes.txt")
    with pytest.raises(ArchspecError, match="No such file"):
        read(tmp_path / "missing.safetensors")
