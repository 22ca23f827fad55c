"""PyTorch zip files: the tensors of their pickle, which is never executed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from archspec.checkpoints.pickles import read_pickle
from archspec.errors import ArchspecError

STORAGE = b"(X\x07\x00\x00\x00storagectorch\n%sStorage\nX\x01\x00\x00\x00%dX\x03\x00\x00\x00cpuK\x06tQ"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n(%sK%c(%st(%st\x89ccollections\nOrderedDict\n)RtR"


def text(value: str) -> bytes:
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


def tensor(shape: tuple[int, ...], stride: tuple[int, ...], key: int = 0, kind: bytes = b"Float") -> bytes:
    numbers = (b"".join(b"K" + bytes([one]) for one in some) for some in (shape, stride))
    return TENSOR % (STORAGE % (kind, key), 0, *numbers)


def state(**tensors: bytes) -> bytes:
    items = b"".join(text(name.replace("__", ".")) + one for name, one in tensors.items())
    return b"\x80\x02ccollections\nOrderedDict\n)R(" + items + b"u}" + text("_metadata") + b"Nsb."


def write(path: Path, pickle: bytes, *sizes: int) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle)
        for key, size in enumerate(sizes):
            archive.writestr(f"archive/data/{key}", b"\0" * size)
    return str(path)


def test_tensors_share_storages(tmp_path: Path) -> None:
    pickle = state(
        a__weight=tensor((2, 3), (3, 1)), b=tensor((3,), (1,), 1, b"BFloat16"), tied=tensor((3, 2), (1, 3))
    )
    header = read_pickle(write(tmp_path / "x.bin", pickle, 24, 6))
    found = {one.name: (one.dtype, one.shape, one.bytes, one.offset) for one in header.tensors}
    assert found == {
        "a.weight": ("float32", (2, 3), 24, 0),
        "b": ("bfloat16", (3,), 6, 1 << 64),
        "tied": ("float32", (3, 2), 24, 0),
    }
    assert header.findings == []


def test_a_checkpoint_of_a_training_loop(tmp_path: Path) -> None:
    inner = state(a=tensor((2,), (1,)))[2:-1]
    pickle = (
        b"\x80\x02}("
        + text("epoch")
        + b"K\x03"
        + text("state_dict")
        + inner
        + text("lr")
        + b"G"
        + bytes(8)
        + b"u."
    )
    assert [one.name for one in read_pickle(write(tmp_path / "x.pt", pickle, 8)).tensors] == ["a"]


def test_a_short_storage_is_truncated(tmp_path: Path) -> None:
    pickle = state(a=tensor((2, 3), (3, 1)), b=tensor((2,), (5,), 1))  # strides count, too
    header = read_pickle(write(tmp_path / "x.bin", pickle, 20, 24))
    assert [(one.kind, one.tensors) for one in header.findings] == [("truncated", ("a",))]


def test_a_truncated_zip(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "x.bin", state(a=tensor((2,), (1,))), 8))
    path.write_bytes(path.read_bytes()[:-30])
    assert [one.kind for one in read_pickle(str(path)).findings] == ["truncated"]


def test_nothing_is_executed(tmp_path: Path) -> None:
    witness = tmp_path / "executed"
    call = b"cos\nsystem\n" + text(f"touch {witness}") + b"\x85R"
    opcodes = (
        b"}(" + text("a") + tensor((2,), (1,)) + text("b") + call + b"u.",
        b"}(" + text("a") + tensor((2,), (1,)) + b"u" + call + b"b.",
        b"(" + text(f"touch {witness}") + b"ios\nsystem\n.",
    )
    for pickle in opcodes:
        path = write(tmp_path / "x.bin", b"\x80\x02" + pickle, 8)
        try:
            assert [one.name for one in read_pickle(path).tensors] == ["a"]
        except ArchspecError as error:
            assert "invalid pickle" in str(error)
    assert not witness.exists()


@pytest.mark.parametrize(
    "pickle",
    [
        b"\x80\x02}",
        b"\x80\x02.",
        b"\x80\x02K\x01.",
        b"\x80\x02u.",
        b"\xff",
        b"\x80\x02h\x05.",
        b"\x80\x02cos\nsystem\n.",
        state(a=tensor((2,), (1, 1))),
        state(a=b"ctorch._utils\n_rebuild_tensor_v2\n)R"),
        state(a=tensor((2,), (1,), 0, b"Strange")),
        state(),
        b"\x80\x02}" + text("a") + b"X\xff\xff\xff\x7fs.",
        b"\x80\x05\x96" + (2**40).to_bytes(8, "little") + b".",
    ],
)
def test_an_invalid_pickle_is_refused(pickle: bytes, tmp_path: Path) -> None:
    with pytest.raises(ArchspecError, match="help: save the tensors with safetensors"):
        read_pickle(write(tmp_path / "x.bin", pickle, 8))


def test_keys_that_are_not_texts_are_left_out(tmp_path: Path) -> None:
    nested = b")q\x01" + b"h\x01\x86q\x01" * 60  # the hash of this tuple takes 2**60 steps
    pickle = b"\x80\x02}(" + text("a") + tensor((2,), (1,)) + nested + b"K\x01u" + nested + b"K\x02s."
    assert [one.name for one in read_pickle(write(tmp_path / "x.bin", pickle, 8)).tensors] == ["a"]


def test_the_memo_takes_memory_as_it_has_entries(tmp_path: Path) -> None:
    pickle = b"\x80\x02}r\xff\xff\xff\x7f" + text("a") + tensor((2,), (1,)) + b"s."
    assert [one.name for one in read_pickle(write(tmp_path / "x.bin", pickle, 8)).tensors] == ["a"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")  # torch before 1.6
    with pytest.raises(ArchspecError, match="not a zip file of torch"):
        read_pickle(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", b"")
    with pytest.raises(ArchspecError, match=r"no data\.pkl"):
        read_pickle(str(path))


@pytest.mark.reference
def test_files_of_torch(tmp_path: Path) -> None:
    import torch

    tensors = {
        "w": torch.zeros(2, 3),
        "h": torch.zeros(2).half(),
        "f8": torch.zeros(4).to(torch.float8_e4m3fn),
    }
    tensors |= {
        "tied": tensors["w"],
        "n": torch.tensor(3),
        "p": torch.nn.Parameter(torch.zeros(5).bfloat16()),
    }
    tensors |= {"view": torch.zeros(4, 6)[1:3, ::2]}
    for protocol in (2, 3, 4, 5):
        torch.save(tensors, tmp_path / "x.bin", pickle_protocol=protocol)
        header = read_pickle(str(tmp_path / "x.bin"))
        found = {one.name: (one.dtype, one.shape) for one in header.tensors}
        names = {name: str(one.dtype).removeprefix("torch.") for name, one in tensors.items()}
        assert found == {name: (names[name], tuple(one.shape)) for name, one in tensors.items()}
        assert header.findings == []
