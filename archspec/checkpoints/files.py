"""The files of a checkpoint: those of a folder or a Hub id, and what its index says about them."""

from __future__ import annotations

import gc
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from archspec.checkpoints.gguf import read_gguf
from archspec.checkpoints.pickles import read_pickle
from archspec.checkpoints.records import DTYPES, NOTE, Finding, Header, StoredTensor, about, name_some, refuse
from archspec.checkpoints.safetensors import read_safetensors
from archspec.configs.reader import HUB_ID, is_offline
from archspec.errors import ArchspecError

INDEX, POINTER = ".index.json", "git LFS pointer"
_READERS: dict[str, Callable[[str], Header]] = {
    ".safetensors": read_safetensors,
    **dict.fromkeys((".bin", ".pt", ".pth"), read_pickle),
    ".gguf": read_gguf,
}
_FIRST = (  # of a folder with files of several kinds, as transformers and peft choose
    *("model.safetensors.index.json", "model.safetensors", "adapter_model.safetensors", "adapter_model.bin"),
    *("pytorch_model.bin.index.json", "pytorch_model.bin"),
)
_OTHERS = re.compile(  # files of a training loop, which are not weights
    r"(training_args|optimizer\w*|scheduler|scaler|rng_state\w*|random_states\w*)\.(bin|pt|pth)$"
)
_SHARD = re.compile(r"(.+)(\d{5})(-of-(\d{5})\.\w+)$")
_MAX_INDEX_BYTES, _MAX_BRACKETS = 64_000_000, 100_000
_IS_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?size (\d{1,18})\n?$")
_MAX_POINTER_BYTES = 1024
_POINTER_BYTES, _ENTRY_BYTES = 10_000, 500  # headers may take that much of a pointer's size, and per tensor
_HELP = f"pass a folder, a Hub id, or files that end in {', '.join((*_READERS, INDEX))}"


class Checkpoint(NamedTuple):
    """The headers of a checkpoint's files; ``tensors`` without a shape are known from the index only."""

    folder: str
    headers: list[Header]
    tensors: list[StoredTensor]
    total_bytes: int | None  # as the index states
    findings: list[Finding]
    is_listed: bool = True  # False if there may be tensors whose names are unknown

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of a GGUF model, whose first file has most of them."""
        return next((one.metadata for one in self.headers if one.format == "gguf"), {})


class _Index(NamedTuple):
    """The content of an index: the file of each tensor, and the bytes of all."""

    file: str
    listed: dict[str, str]
    total: int | float | None
    findings: list[Finding]


def read_checkpoint(paths: Sequence[str]) -> Checkpoint:
    """Return the headers of files, of a folder's files or of a Hub id. Errors: :class:`ArchspecError`."""
    is_folder = os.path.isdir(paths[0])
    if len(paths) == 1 and not os.path.lexists(paths[0]) and re.match(HUB_ID, paths[0]):
        return _read_hub(paths[0])
    try:
        files = [file for path in paths for file in (_files(path) if os.path.isdir(path) else [path])]
        indexes = [_read_index(file) for file in files if file.endswith(INDEX)]
        if len(indexes) > 1:
            raise ArchspecError(f"{indexes[1].file}: a second index", help="pass one index")
        index = indexes[0] if indexes else _Index("", {}, None, [])
        names = sorted({*index.listed.values()} - {*map(os.path.basename, files)})
        shards = (os.path.join(os.path.dirname(index.file), name) for name in names)
        files = [*(one for one in files if one != index.file), *filter(os.path.lexists, shards)]
        headers = [_read(file) for file in files]
        findings = [*index.findings, *(_compare_index(index, headers) if indexes else ())]
    except OSError as error:
        raise ArchspecError(f"{error.filename}: {error.strerror}", help=_HELP) from None
    findings += [one for header in headers for one in header.findings]
    if not indexes and is_folder:
        findings += _find_absent(headers)
    findings += _describe_pointers([one for one in headers if one.format == POINTER])
    counts = Counter(name for header in headers for name in {one.name for one in header.tensors})
    twice = (name for name, count in counts.items() if count > 1)
    findings += about("duplicate", twice, "stored in several files")
    tensors = [one for header in headers for one in header.tensors]
    tensors += [
        StoredTensor(name, "", None, 0, at) for name, at in index.listed.items() if name not in counts
    ]
    folder = paths[0] if is_folder else os.path.dirname(paths[0])
    total = None if index.total is None else int(index.total)
    is_listed = bool(indexes) or all(one.tensors for one in headers)
    return Checkpoint(folder, headers, tensors, total, findings, is_listed)


def _find_absent(headers: list[Header]) -> Iterator[Finding]:
    """Yield the files that are absent by their numbers, such as 00002-of-00003."""
    names = {os.path.basename(one.file) for one in headers}
    shards = [found for one in sorted(names) if (found := _SHARD.match(one))]
    wanted = (f"{one[1]}{n:05}{one[3]}" for one in shards for n in range(1, int(one[4]) + 1))
    absent = dict.fromkeys(name for name in wanted if name not in names)
    if absent:
        yield Finding("shards", f"not in the folder: {name_some(absent)}")


def _describe_pointers(headers: list[Header]) -> Iterator[Finding]:
    """Yield the note on files that git LFS pointers stand for."""
    if headers:
        size = sum(one.size for one in headers)
        files = "1 file" if len(headers) == 1 else f"{len(headers):,} files"
        message = f"git LFS pointers stand for {files} of {size:,} bytes: shapes and dtypes are unknown"
        yield Finding("pointer", message, headers[0].file if len(headers) == 1 else "", (), NOTE)


def _files(folder: str) -> list[str]:
    """Return the files of a folder that transformers would load. Errors: :class:`ArchspecError`."""
    names = [name for name in sorted(os.listdir(folder)) if not _OTHERS.match(name)]
    by_end = ([name for name in names if name.endswith(end)] for end in _READERS)
    found = next(([name] for name in _FIRST if name in names), None) or next(filter(None, by_end), [])
    if not found:
        raise ArchspecError(f"{folder}: the folder has no checkpoint", help=_HELP)
    models = {_SHARD.sub(r"\1", name) for name in found if name.endswith(".gguf")}
    if len(models) > 1:
        help_ = f"pass one of them: {name_some(found)}"
        raise ArchspecError(f"{folder}: the folder has {len(models):,} GGUF models", help=help_)
    return [os.path.join(folder, name) for name in found]


def _read(path: str) -> Header:
    """Return the header of one file, or that a git LFS pointer stands for it."""
    with open(path, "rb") as file:
        start = file.read(_MAX_POINTER_BYTES)
    if pointer := _IS_POINTER.match(start):
        return Header(path, POINTER, int(pointer[1]), [], {}, [])
    reader = _READERS.get(os.path.splitext(path)[1])
    if reader is None:
        raise ArchspecError(f"{path} is not a checkpoint", help=_HELP)
    is_collecting = gc.isenabled()
    gc.disable()  # headers make many records without cycles
    try:
        return reader(path)
    finally:
        (gc.enable if is_collecting else gc.disable)()


def _read_index(path: str) -> _Index:
    """Return the content of an index, and its problems. Errors: :class:`ArchspecError`."""
    with open(path, "rb") as file:
        content = file.read(_MAX_INDEX_BYTES + 1)
    if len(content) > _MAX_INDEX_BYTES or content.count(b"[") + content.count(b"{") > _MAX_BRACKETS:
        raise refuse(path, f"the index is larger than {_MAX_INDEX_BYTES:,} bytes, or nested")
    try:
        found = dict(json.loads(content, object_pairs_hook=list))  # objects as pairs, for repeated names
        pairs, metadata = found["weight_map"], found.get("metadata")
        listed = dict(pairs)
        if not all(os.path.basename(name) == name for name in {*listed.values()}):
            raise ValueError("weight_map names a file in another folder")
        total = dict(metadata).get("total_size") if isinstance(metadata, list) else None
    except json.JSONDecodeError as error:
        raise refuse(path, f"invalid index: line {error.lineno}: {error.msg}") from None
    except ValueError as error:
        raise refuse(path, f"invalid index: {error}") from None
    except (TypeError, LookupError, RecursionError):
        raise refuse(path, "invalid index: it has no weight_map from tensors to files") from None
    repeated = (name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
    findings = [*about("duplicate", repeated, "listed twice", path)]
    is_size = isinstance(total, int | float) and 0 < total < float("inf")
    if type(total) is not int or not is_size:
        stated = "missing" if total is None else f"{repr(total)[:40]}, not a positive integer"
        findings.append(Finding("total_size", f"total_size is {stated}", path, (), NOTE))
    return _Index(path, listed, total if is_size else None, findings)


def _compare_index(index: _Index, headers: list[Header]) -> Iterator[Finding]:
    """Yield the differences between an index and the headers of its files."""
    file, listed, total, _ = index
    named = {*listed.values()}
    files = {os.path.basename(one.file): one for one in headers}
    stored = {one.name: name for name, header in files.items() for one in header.tensors}
    read = {name for name, one in files.items() if one.format != POINTER}
    missing = sorted(named - files.keys())
    if missing and headers:
        names = [name for name, at in listed.items() if at in missing]
        message = f"{name_some(missing)} {'is' if len(missing) == 1 else 'are'} not here"
        yield from about("shards", names, message, file)
    elif missing:
        message = f"not here: {name_some(missing)}; shapes and dtypes are unknown"
        yield Finding("shards", message, file, (), NOTE)
    kinds = {_SHARD.sub(r"\1\3", name) for name in named}
    others = {*os.listdir(os.path.dirname(file) or ".")} - named
    if extra := sorted(one for one in others if _SHARD.sub(r"\1\3", one) in kinds):
        yield Finding("shards", f"not in the index: {name_some(extra)}", file)
    elsewhere = (name for name, at in listed.items() if at in read and stored.get(name) != at)
    yield from about("shards", elsewhere, "not in the file that the index names", file)
    yield from about("shards", sorted(stored.keys() - listed), "stored, but not in the index", file)
    if total is None or missing or not headers:
        return
    data = sum(sum(t.bytes for t in one.tensors) or one.size for one in headers)
    whole = sum(one.size for one in headers)
    unique = sum({(t.file, t.offset): t.bytes for one in headers for t in one.tensors}.values())
    pointers = len(files) - len(read)
    slack = pointers * _POINTER_BYTES + len(listed) * _ENTRY_BYTES if pointers else 0
    is_more = data - total > slack and isinstance(total, int)  # a float counts a bool as a bit
    if total not in (whole, unique) and (data < total or is_more):
        yield Finding("total_size", f"total_size is {total:,} bytes, but the files have {data:,}", file)


def _read_hub(name: str) -> Checkpoint:
    """Return the headers of a Hub id's safetensors files, read through HTTP ranges."""
    if is_offline():
        message = f"there is no such folder, and {name} cannot be read: the hub cannot be reached"
        raise ArchspecError(message, help=_HELP)
    from huggingface_hub import get_safetensors_metadata

    try:
        found = get_safetensors_metadata(name).files_metadata
    except Exception as error:  # the hub's errors have no common base
        raise ArchspecError(f"{name}: {next(iter(str(error).splitlines()), '')}", help=_HELP) from None
    headers = []
    for file, one in found.items():
        tensors = [
            StoredTensor(key, DTYPES[t.dtype], tuple(t.shape), t.data_offsets[1] - t.data_offsets[0], file)
            for key, t in one.tensors.items()
        ]
        headers.append(Header(file, "safetensors", 0, tensors, one.metadata, []))
    return Checkpoint(name, headers, [t for one in headers for t in one.tensors], None, [])
