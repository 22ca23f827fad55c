"""Align the tensors of two models: added, removed, resized, repeated, tied or frozen ones.

Tensors are aligned by name; if one model wraps the other (`encoder…` and `bert.encoder…`), the
prefix is found and removed. Layers of one list are grouped. The changes add up exactly to the difference
of the totals; :mod:`archspec.compare.formulas` writes them as closed forms.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.tree.tensors import Tensor, fold_layers, modules

if TYPE_CHECKING:
    from archspec.models.model import Model

_MAX_PREFIX_DEPTH = 3
KINDS = ("removed", "resized", "repeated", "untied", "unfrozen", "added", "tied", "frozen")  # in order


class Change(NamedTuple):
    """One module that differs; ``*`` in its path stands for the numbers of its layers.

    ``kind`` is added, removed, resized, repeated, tied, untied, frozen or unfrozen. ``before`` and ``after``
    show its tensors, ``params`` and ``buffers`` are added to the number of unique parameters and of
    buffer elements. ``keys`` are its folded tensor names in the aligned naming.
    """

    kind: str
    module: str
    before: str
    after: str
    params: int
    buffers: int
    keys: tuple[str, ...]


class Alignment(NamedTuple):
    """Two models with aligned tensors: all differences, with both totals."""

    a: Model
    b: Model
    prefixes: tuple[str, str]
    changes: tuple[Change, ...]
    totals: tuple[int, int]
    buffers: tuple[int, int]
    fields: dict[str, tuple[Any, Any]]


def align(a: Model, b: Model, depth: int | None = None) -> Alignment:
    """Return the differences between two models; ``depth`` groups modules below that level.

    >>> import archspec
    >>> found = align(archspec.load("BertModel"), archspec.load("BertForMaskedLM"))
    >>> [change[:2] + (change.params,) for change in found.changes]  # doctest: +NORMALIZE_WHITESPACE
    [('removed', 'pooler.dense', -590592),
     ('added', 'cls.predictions.bias', 30522),
     ('added', 'cls.predictions.transform.dense', 590592),
     ('added', 'cls.predictions.transform.LayerNorm', 1536),
     ('tied', 'cls.predictions.decoder', 0)]
    """
    prefixes = _prefixes(a, b)
    changes = tuple(_changes(_pairs(a.tensors(), b.tensors(), prefixes), depth))
    params, buffers = (a.params, b.params), (a.buffers, b.buffers)
    return Alignment(a, b, prefixes, changes, params, buffers, _fields(a.scope, b.scope))


def _prefixes(a: Model, b: Model) -> tuple[str, str]:
    """Return the modules of both models with the same tensors; ("", "") if the names agree already."""
    ours, theirs = ({fold_layers(t.name) for t in model.tensors()} for model in (a, b))
    best, chosen = len(ours & theirs), ("", "")
    candidates = ((p, q) for p in _paths(a) for q in _paths(b))
    for p, q in sorted(candidates, key=lambda pair: len(pair[0]) + len(pair[1])):
        score = len({key(name, p) for name in ours} & {key(name, q) for name in theirs})
        if score > best:
            best, chosen = score, (p, q)
    return chosen


def _paths(model: Model) -> list[str]:
    paths = [path for path, node in modules(model.root) if not node.leaf and fold_layers(path) == path]
    return [path for path in paths if path.count(".") < _MAX_PREFIX_DEPTH]


def key(name: str, prefix: str) -> str:
    """Return a tensor's name relative to the aligned module; names outside it are marked as such."""
    if not prefix:
        return name
    return name[len(prefix) + 1 :] if name.startswith(prefix + ".") else f"/{name}"


class _Pair(NamedTuple):
    """The tensors of one folded name on both sides."""

    key: str
    name: str
    module: str
    a: tuple[Tensor, ...]
    b: tuple[Tensor, ...]
    kind: str


def _pairs(ours: list[Tensor], theirs: list[Tensor], prefixes: tuple[str, str]) -> list[_Pair]:
    groups: dict[str, tuple[list[Tensor], list[Tensor]]] = {}
    for side, (tensors, prefix) in enumerate(zip((ours, theirs), prefixes, strict=True)):
        for tensor in tensors:
            groups.setdefault(fold_layers(key(tensor.name, prefix)), ([], []))[side].append(tensor)
    pairs = []
    for folded_key, (a, b) in groups.items():
        if kind := _kind(a, b, prefixes):
            name = fold_layers((b or a)[0].name)
            bare = (b or a)[0].layer in ("Parameter", "Buffer")
            module = name if bare else name.rpartition(".")[0]
            pairs.append(_Pair(folded_key, name, module, tuple(a), tuple(b), kind))
    return pairs


def _kind(a: list[Tensor], b: list[Tensor], prefixes: tuple[str, str]) -> str:
    """Return how the tensors of one name differ; an empty text if they are equal."""
    tied_a, tied_b = (sum(t.tied_to is not None for t in side) for side in (a, b))
    if not a:
        return "tied" if tied_b == len(b) else "added"
    if not b:
        return "removed"
    before = {key(t.name, prefixes[0]): t for t in a}
    after = {key(t.name, prefixes[1]): t for t in b}
    both = [(before[name], after[name]) for name in before if name in after]
    if any((one.shape, one.kind) != (other.shape, other.kind) for one, other in both):
        return "resized"
    if any((one.tied_to is None) != (other.tied_to is None) for one, other in both):
        return "tied" if tied_b > tied_a else "untied"
    if len(both) != len(a) or len(both) != len(b):
        return "repeated"
    if any(one.trainable != other.trainable for one, other in both):
        return "unfrozen" if sum(t.trainable for t in b) > sum(t.trainable for t in a) else "frozen"
    targets = [(one.tied_to, other.tied_to) for one, other in both if one.tied_to and other.tied_to]
    return "tied" if any(key(one, prefixes[0]) != key(other, prefixes[1]) for one, other in targets) else ""


def _changes(pairs: list[_Pair], depth: int | None) -> list[Change]:
    groups: dict[tuple[str, ...], list[_Pair]] = {}
    for pair in pairs:
        module = pair.module
        if pair.kind == "repeated":
            module = f"{module}.".rpartition(".*.")[0] + ".*" if ".*." in f"{module}." else module
        if depth is not None:
            module = ".".join(module.split(".")[: max(1, depth)])
        times = (str(len(pair.a)), str(len(pair.b))) if pair.kind == "repeated" else ()
        groups.setdefault((pair.kind, module, *times), []).append(pair)
    found = [_make_change(kind, module, members) for (kind, module, *_), members in groups.items()]
    return sorted(found, key=lambda change: KINDS.index(change.kind))


def _make_change(kind: str, module: str, pairs: list[_Pair]) -> Change:
    params = sum(_count_untied(pair.b, "parameter") - _count_untied(pair.a, "parameter") for pair in pairs)
    buffers = sum(_count_untied(pair.b, "buffer") - _count_untied(pair.a, "buffer") for pair in pairs)
    before, after = (_describe_tensors(module, pairs, side) for side in (0, 1))
    return Change(kind, module, before, after, params, buffers, tuple(pair.key for pair in pairs))


def _count_untied(tensors: Iterable[Tensor], kind: str) -> int:
    return sum(t.numel for t in tensors if t.kind == kind and t.tied_to is None)


def _describe_tensors(module: str, pairs: list[_Pair], side: int) -> str:
    """Return the tensors of one side: `12 x weight (768, 768), bias (768,)`, with their ties."""
    listed = [(pair, tensors) for pair in pairs if (tensors := (pair.a, pair.b)[side])]
    if not listed:
        return ""
    counts = {len(tensors) for _, tensors in listed}
    times = f"{counts.pop()} x " if len(counts) == 1 and counts != {1} else ""
    if len(listed) > 4:
        return f"{times}{len(listed)} tensors"
    parts = []
    for pair, tensors in listed:
        name = pair.name[len(module) + 1 :] if pair.name.startswith(module + ".") else ""
        shapes = dict.fromkeys(str(t.shape) for t in tensors)
        text = f"{name} {' and '.join(list(shapes)[:3])}{' …' if len(shapes) > 3 else ''}".strip()
        ties = dict.fromkeys(fold_layers(t.tied_to) for t in tensors if t.tied_to)
        parts.append(text + (f" tied to {' and '.join(ties)}" if ties else ""))
    return times + ", ".join(parts)


def _fields(a: Scope, b: Scope) -> dict[str, tuple[Any, Any]]:
    """Return the fields of both configs whose values differ."""
    ours, theirs = _flat_fields(a), _flat_fields(b)
    return {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs.get(name, ours[name])}


def _flat_fields(scope: Scope) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in [*scope.spec.fields, "num_labels"]:
        value = scope.get(name)
        inner = _flat_fields(value.scope) if isinstance(value, SubConfig) else None
        found |= {name: value} if inner is None else {f"{name}.{field}": one for field, one in inner.items()}
    return found
