"""The differences between stored tensors and the tensors of a model, as transformers would load them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import inf, prod
from typing import NamedTuple

from archspec.checking.conversions import Loaded, ignored_patterns, load
from archspec.checking.packing import PACKED, unpack
from archspec.checkpoints.records import ERROR, NOTE, Finding, Shape, StoredTensor, about
from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_bytes
from archspec.models.model import Model
from archspec.tree.tensors import fold_layers

_OBSOLETE = re.compile(r"(inv_freq|position_ids|masked_bias|causal_mask|num_batches_tracked)$")  # buffers
_PREDICTED = re.compile(r"(^|\.)mtp([._\d]|$)|nextn|layers\.(\d+)\.")  # multi-token prediction
_PREDICTED_LAYERS = ("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "num_mtp_layers")
_MASK = re.compile(r"(attn|attention)\.bias$|causal_mask$")
_POSITIONS = "max_position_embeddings", "n_positions"
_KEYS_AND_VALUES = re.compile(r"\.self_attn\.[kv]_(proj|norm)\.")
_SLACK, _ENTRY_BYTES = 1000, 200  # one byte of a thousand may differ; bytes of a tensor in a header


class Comparison(NamedTuple):
    """The differences, and the number of stored elements without copies and tensors that are ignored."""

    findings: list[Finding]
    elements: int

    @property
    def fits(self) -> bool:
        """True if the model has the stored tensors, whatever their dtype and format are."""
        return not any(one.kind in ("missing", "unexpected", "shape") for one in self.findings)


def compare(model: Model, tensors: list[StoredTensor], is_listed: bool = True) -> Comparison:
    """Return the differences between a model and the stored tensors; ``is_listed`` if these are all."""
    expected = {one.name: one.shape for one in model.tensors()}
    ties = {one.name: one.tied_to or one.name for one in model.tensors()}
    stored, incomplete = unpack(tensors)
    loaded = load(stored, expected, model.root)
    ignored, unused = ignored_patterns(model.root)
    there = {ties[name] for name in loaded.shapes}  # one of several tied tensors is enough
    absent = (name for name in expected if ties[name] == name and name not in there)
    missing = [name for name in absent if is_listed and not _matches(name, ignored)]
    reasons = {
        name: "ignored on load" if _matches(target, unused) else _unused_reason(model, name, stored[name])
        for name, target in loaded.unexpected.items()
    }
    shapes = {name: shape for name, shape in loaded.shapes.items() if shape is not None}
    differing = {name: str(shape) for name, shape in shapes.items() if shape != expected[name]}
    sizes, quantization = _quantization(model, loaded, stored)
    for name, (size, wanted) in sizes.items():
        if size != wanted:
            differing.setdefault(name, f"{size:,} bytes instead of {wanted:,}")
    stored_as = {
        name: text if loaded.sources[name] == [name] else f"{text} ({fold_layers(loaded.sources[name][0])})"
        for name, text in differing.items()
    }
    own = {ties[name]: prod(shapes.get(name, expected[name])) for name in loaded.shapes}
    for name, (size, wanted) in sizes.items():
        own[ties[name]] = prod(expected[name]) * size // wanted
    extra = (stored[name].shape or () for name, reason in reasons.items() if not reason)
    findings = [
        *differences(model, expected, missing, reasons, stored_as),
        *about("quantization", incomplete, "missing next to the quantized weight"),
        *about("conversion", sorted(loaded.unknown), "shapes are not compared", "", NOTE),
        *quantization,
        *_dtypes(loaded, stored),
        *_twice(loaded, ties),
    ]
    return Comparison(findings, sum(own.values()) + sum(map(prod, extra)))


def differences(
    model: Model,
    expected: Mapping[str, Shape],
    missing: Iterable[str],
    reasons: Mapping[str, str],
    stored_as: Mapping[str, object],
) -> Iterator[Finding]:
    """Yield missing tensors, those that the model does not have, if without a reason, and other shapes."""
    surplus = {name: reason or f"not a part of {model.architecture}" for name, reason in reasons.items()}
    shapes = {name: f"stored as {stored_as[name]}, not {expected[name]}" for name in stored_as}
    yield from by_layer("missing", {name: f"{expected[name]} is missing" for name in missing})
    yield from by_layer("unexpected", {name: text for name, text in surplus.items() if not reasons[name]})
    yield from by_layer("shape", shapes)
    yield from by_layer("unused", {name: text for name, text in reasons.items() if text}, NOTE)


def compare_bytes(model: Model, total: int, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the difference between the bytes of files whose headers are not there, and those of a model.

    Files may have another dtype than the config, tied weights twice, buffers, headers, and tensors
    that ``findings`` call unused.
    """
    width = dtype_bytes(model.dtype)
    try:
        stored = model.weights().bytes
    except ArchspecError:
        return
    twice = sum(one.numel for one in model.tensors() if one.tied_to)
    sizes = [(width, stored), (width, stored + width * twice)]
    for other in () if model.is_quantized else (2, 4):
        sizes += [(other, other * (model.params + more)) for more in (0, twice)]
    slack: float = 8 * model.buffers + _ENTRY_BYTES * len(model.tensors())
    positions = max((int(model.config.raw.get(key) or 0) for key in _POSITIONS), default=0)
    for name in (name for one in findings if one.kind == "unused" for name in one.tensors):
        slack += positions**2 if _MASK.search(name) else 0 if _OBSOLETE.search(name) else inf
    widths = [one for one, size in sizes if -size // _SLACK <= total - size <= size // _SLACK + slack]
    if not widths:
        message = f"the files have {total:,} bytes of tensors, but the config gives {stored:,}"
        yield Finding("bytes", message)
    elif widths[0] != width and model.dtype_note is None:
        message = f"the bytes fit weights of {8 * widths[0]} bits, but the config's dtype is {model.dtype}"
        yield Finding("bytes", message, severity=NOTE)


def _unused_reason(model: Model, name: str, one: StoredTensor) -> str:
    """Return why transformers does not miss a stored tensor; empty for one that is unexpected."""
    parts = [part for part in model.whole.raw.values() if isinstance(part, dict)]
    fields = {
        key: value for part in (*parts, model.whole.raw, model.config.raw) for key, value in part.items()
    }
    layers = fields.get("num_hidden_layers")
    predicted = sum(fields[one] for one in _PREDICTED_LAYERS if type(fields.get(one)) is int)
    if found := _PREDICTED.search(name):
        is_layer = type(layers) is int and found[3] and layers <= int(found[3]) < layers + predicted
        if not found[3] or is_layer:
            return "multi-token prediction, which transformers does not build"
    if fields.get("num_kv_shared_layers") and _KEYS_AND_VALUES.search(name):
        return "keys and values of a layer that uses those of another one"
    shape = one.shape or ()
    is_mask = len(shape) == 4 and shape[:2] == (1, 1) and shape[2] == shape[3]
    return "a buffer that transformers computes" if is_mask or _OBSOLETE.search(name) else ""


def _twice(loaded: Loaded, ties: Mapping[str, str]) -> Iterator[Finding]:
    """Yield tied tensors that are stored under both names, which transformers accepts."""
    both = (name for name in loaded.sources if ties[name] != name and ties[name] in loaded.sources)
    twice = [name for name in both if loaded.sources[name] != loaded.sources[ties[name]]]
    yield from about("tied", twice, "tied by the config, but stored separately", "", NOTE)


def _quantization(
    model: Model, loaded: Loaded, stored: Mapping[str, StoredTensor]
) -> tuple[dict[str, tuple[int, int]], list[Finding]]:
    """Return the stored and expected bytes of quantized weights, and those that only one side quantizes."""
    try:
        wanted = model.weights().element_bytes if model.is_quantized else {}
    except ArchspecError as error:
        message = f"the config's quantization is not compared: {error.problems[0].message}"
        return {}, [Finding("quantization", message, severity=NOTE)]
    if not any(one.shape or one.bytes for one in stored.values()):
        return {}, []  # an index alone does not say
    packed: dict[tuple[str, ...], list[str]] = {}  # names of a model's weights by those of stored ones
    for name, of in loaded.sources.items():
        if any(stored[one].dtype == PACKED for one in of):
            packed.setdefault(tuple(of), []).append(name)
    sizes = {
        name: (sum(stored[one].bytes for one in of), sum(wanted[one] for one in names))
        for of, names in packed.items()
        if {*names} <= wanted.keys() and all(stored[one].bytes for one in of)
        for name in names
    }
    given = {name for names in packed.values() for name in names}
    findings = list[Finding]()
    for side, only in (
        ("config", (wanted.keys() & loaded.shapes.keys()) - given),
        ("file", given - wanted.keys()),
    ):
        findings += by_layer("quantization", dict.fromkeys(sorted(only), f"quantized in the {side} only"))
    return sizes, findings


def _dtypes(loaded: Loaded, stored: Mapping[str, StoredTensor]) -> Iterator[Finding]:
    """Yield weights whose dtype differs from that of the same weight in most layers, and mixed dtypes."""
    used = sorted({source for of in loaded.sources.values() for source in of})
    plain = {name: stored[name].dtype for name in used if stored[name].dtype not in ("", PACKED)}
    folds = {name: fold_layers(name) for name in plain}
    counts: dict[str, Counter[str]] = {}
    for name, dtype in plain.items():
        counts.setdefault(folds[name], Counter())[dtype] += 1
    usual = {fold: found.most_common(1)[0][0] for fold, found in counts.items()}
    odd = {name: dtype for name, dtype in plain.items() if dtype != usual[folds[name]]}
    yield from by_layer("dtype", {name: f"{dtype}, unlike other layers" for name, dtype in odd.items()})
    floats = Counter(dtype for dtype in plain.values() if "float" in dtype)
    most = max(floats, key=lambda dtype: floats[dtype], default="")
    rare = (name for name in plain if plain[name] in floats and plain[name] != most and name not in odd)
    yield from by_layer("dtype", {name: f"{plain[name]}, but most weights are {most}" for name in rare}, NOTE)


def by_layer(kind: str, messages: Mapping[str, str], severity: str = ERROR) -> Iterator[Finding]:
    """Yield one finding for all names that differ in layer numbers only and have the same message."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, message in messages.items():
        groups.setdefault((fold_layers(name), message), []).append(name)
    for (fold, message), some in groups.items():
        label = some[0] if len(some) == 1 else f"{len(some):,} tensors {fold}"
        yield Finding(kind, f"{label}: {message}", "", tuple(some), severity)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(re.search(pattern, name) for pattern in patterns)
