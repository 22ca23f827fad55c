"""`archspec.check`: the tensors of a checkpoint, compared with the model of its config."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archspec.arguments import check_arguments_of
from archspec.checking.adapters import compare_adapter
from archspec.checking.comparison import Comparison, compare, compare_bytes
from archspec.checking.gguf import compare_gguf, name_classes
from archspec.checking.likely import Likely, likely_classes
from archspec.checking.suggestions import suggest
from archspec.checkpoints.files import Checkpoint, read_checkpoint
from archspec.checkpoints.records import ERROR, NOTE, Finding
from archspec.configs.reader import read_json_file
from archspec.configs.unknown import same_class
from archspec.errors import ArchspecError, UnknownArchitectureError, option
from archspec.formats.dtypes import dtype_bytes
from archspec.models.model import Model, Source, load
from archspec.models.report import Record, Report, bytes_text, fact, facts_table
from archspec.reports import Block, Table
from archspec.specs.search_path import Specs, library_of
from archspec.terminal import number

KINDS = (  # of findings; docs/how-to/check-a-checkpoint.md says what they mean
    *("missing", "unexpected", "shape", "bytes", "dtype", "tied", "quantization", "adapter", "duplicate"),
    *("overlap", "gap", "truncated", "shards", "total_size", "pointer", "unused", "metadata", "conversion"),
    "config",
)
_COMMANDS = {ERROR: "error", NOTE: "notice"}  # of GitHub Actions
_HEADS = {  # of peft's task types that add one
    "SEQ_CLS": "ForSequenceClassification",
    "TOKEN_CLS": "ForTokenClassification",
    "QUESTION_ANS": "ForQuestionAnswering",
}
_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})


class FileFacts(Record):
    """a file"""

    file: str = fact("the path")
    format: str = fact("safetensors, pytorch, gguf or git LFS pointer")
    size: int = fact("bytes of the file; 0 if unknown")
    tensors: int = fact("number of tensors", json=lambda one: len(one.tensors))


class FindingFacts(Record):
    """a finding"""

    kind: str = fact("its kind", choices=KINDS)
    severity: str = fact("error for a difference", choices=(ERROR, NOTE))
    message: str = fact("the finding as a sentence")
    file: str = fact("the file; may be empty")
    tensors: list[str] = fact("the names of the tensors")
    help: str = fact("an instruction; may be empty")


class LikelyFacts(Record):
    """a class whose tensors have similar names"""

    architecture: str = fact("the class")
    model_type: str = fact("its model type")
    common: int = fact("names in common, layer numbers aside")
    names: int = fact("names in both together")
    same_shapes: int = fact("tensors in common with the shapes of the default config")


class Check(Report):
    """The headers of a checkpoint, compared with a config; made by :func:`archspec.check`.

    ``findings`` are records with ``kind``, ``severity`` (error or note), ``message``, ``file`` and
    ``tensors``. The exit code of the command is 1 if one is an error, 2 if the config cannot be compared.
    """

    architecture: str | None = fact("the class of the config, or null", title="architecture")
    format: str = fact(
        "the formats of the files",
        lambda self: ", ".join(dict.fromkeys(one.format for one in self.files)),
        title="format",
    )
    tensors: int = fact("number of stored tensors", lambda self: len(self.stored), title="tensors")
    params: int | None = fact("elements of all tensors; null if a shape is unknown", title="elements")
    bytes: int | None = fact(
        "bytes of all tensors, or as the index states; null if unknown",
        title="bytes",
        text=lambda value, _: "" if value is None else bytes_text(value),
    )
    dtypes: dict[str, int] = fact("elements by dtype")
    files: list[Any] = fact("the files", kind="list[FileFacts]")
    findings: list[Finding] = fact("differences and notes", kind="list[FindingFacts]")
    suggestions: list[str] = fact("changes of one config field, each of which makes the checkpoint fit")
    likely: list[Likely] = fact(
        "without a config, the classes with the most names in common", kind="list[LikelyFacts]"
    )

    def __init__(self, checkpoint: Checkpoint, model: Model | None, findings: list[Finding]) -> None:
        self.files, self.stored, self.findings = checkpoint.headers, checkpoint.tensors, findings
        self.suggestions, self.likely = list[str](), list[Likely]()
        self.architecture = model.architecture if model else None
        is_whole = checkpoint.is_listed and all(one.shape is not None for one in self.stored)
        self.params = sum(one.numel for one in self.stored) if is_whole else None
        self.bytes = sum(one.bytes for one in self.stored) if is_whole else checkpoint.total_bytes
        counts: Counter[str] = Counter()
        for one in self.stored:
            counts[one.dtype] += one.numel
        self.dtypes = {dtype: count for dtype, count in counts.most_common() if dtype}

    @property
    def exit_code(self) -> int:
        """2 if the config cannot be compared, 1 if there is a difference, else 0."""
        errors = [one.kind for one in self.findings if one.severity == ERROR]
        return 2 if "config" in errors else int(bool(errors))

    def blocks(self) -> Iterator[Block]:
        """Yield the facts, the dtypes, the findings, and what may be meant."""
        yield facts_table(self, "checkpoint")
        if len(self.dtypes) > 1:
            yield Table("dtype|>elements", [(name, number(count)) for name, count in self.dtypes.items()])
        for one in self.findings:
            yield one.line
            yield from [f"help: {one.help}"] if one.help else []
        for text in self.suggestions:
            yield f"the checkpoint fits with {text}"
        if self.likely:
            rows = [
                (one.architecture, one.model_type, f"{one.common} of {one.names}", number(one.same_shapes))
                for one in self.likely
            ]
            yield Table("likely architecture|model type|>names in common|>default shapes", rows)
        if not self.exit_code and self.architecture:
            unknown = " in names and bytes" if self.tensors else " in bytes"
            yield f"no differences{unknown if self.params is None else ''}"

    def github(self) -> str:
        """Return the findings as annotations of GitHub Actions."""
        lines = []
        for one in self.findings:
            where = f" file={one.file}" if one.file and not {*one.file} & {*":,%\r\n"} else ""
            text = f"[{one.kind}] {one.message}".translate(_ESCAPES)
            lines.append(f"::{_COMMANDS[one.severity]}{where}::{text}")
        return "\n".join(lines)


@check_arguments_of("check")
def check(
    paths: str | Sequence[str],
    config: Source | None = None,
    *,
    architecture: str | None = None,
    specs: Specs = (),
) -> Check:
    """Compare the tensors of checkpoint files with their config, from headers only.

    ``paths`` are a folder, a Hub id or files: safetensors, an index, PyTorch zip files, GGUF. ``config`` is
    given as for :func:`load`; by default it is the config.json in the folder. Names are compared as
    transformers loads them. Nothing in a file is executed.

    Errors: :class:`ArchspecError` for a file whose header cannot be read.
    """
    checkpoint = read_checkpoint([paths] if isinstance(paths, str) else [*paths])
    options = _adapter_options(checkpoint)
    stated = os.path.join(checkpoint.folder, "config.json")
    source = options.get("base_model_name_or_path") or (stated if os.path.lexists(stated) else None)
    model, findings = None, [*checkpoint.findings]
    try:
        if config is not None or source is not None:
            model = _load(source if config is None else config, architecture, specs, options)
    except ArchspecError as error:
        if config is not None:
            raise
        message, severity = error.problems[0].message, ERROR
        if options or isinstance(error, UnknownArchitectureError):
            message, severity = f"only headers are checked: {message}", NOTE
        help_ = f"pass {'the base model' if options else 'another one'} with {option('config', 'CONFIG')}"
        findings.append(Finding("config", message, "", (), severity, help_))
    found = Check(checkpoint, model, findings)
    if options:
        found.findings += compare_adapter(model, options, checkpoint.tensors)
    elif model:
        _compare(found, model, checkpoint)
    elif checkpoint.metadata:
        found.findings += name_classes(checkpoint.metadata)
    else:
        found.likely = likely_classes(checkpoint.tensors, library_of(specs))
    return found


def _load(source: Source, architecture: str | None, specs: Specs, options: Mapping[str, Any]) -> Model:
    """Return the model of a config; that of an adapter has the head of its task."""
    model = load(source, architecture, specs=specs)
    head = _HEADS.get(options.get("task_type") or "")
    if head and architecture is None and not model.architecture.endswith(head):
        same = same_class(f"Model{head}", model.spec.architectures)
        model = load(source, same[0], specs=specs) if same else model
    model.tensors()  # the first use of the values
    return model


def _adapter_options(checkpoint: Checkpoint) -> Mapping[str, Any]:
    """Return the adapter_config.json next to an adapter's tensors; empty for any other checkpoint."""
    file = os.path.join(checkpoint.folder, "adapter_config.json")
    is_adapter = any(os.path.basename(one.file).startswith("adapter_model.") for one in checkpoint.headers)
    return read_json_file(file) if is_adapter and os.path.lexists(file) else {}


def _compare(found: Check, model: Model, checkpoint: Checkpoint) -> None:
    """Add the differences to a report, and the changes of a field that explain them."""
    tensors, metadata, is_listed = checkpoint.tensors, checkpoint.metadata, checkpoint.is_listed

    def compare_with(model: Model) -> Comparison:
        if not tensors:
            return Comparison([], 0)
        return compare_gguf(model, tensors, metadata) if metadata else compare(model, tensors, is_listed)

    compared = compare_with(model)
    found.findings += compared.findings
    elements, is_explained = compared.elements, compared.fits
    if found.params is None or not tensors:
        total = checkpoint.total_bytes or sum(one.size for one in checkpoint.headers)
        if not total or any(one.kind == "shards" and one.severity == ERROR for one in found.findings):
            return
        problem = [*compare_bytes(model, total, compared.findings)]
        found.findings += problem
        elements = total // dtype_bytes(model.dtype)
        is_explained = model.is_quantized or (compared.fits and not any(x.severity == ERROR for x in problem))
    if not is_explained:
        found.suggestions = [*suggest(model, elements, lambda one: compare_with(one).fits)]
