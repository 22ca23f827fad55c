"""Tied tensors in groups, and the count with them counted separately."""

from __future__ import annotations

from archspec.tree.tensors import Tensor
from archspec.typing_light import Any, NamedTuple


class TiedGroup(NamedTuple):
    """Tensors that differ in layer numbers only, each a copy of another one; ``numel`` is of all of them."""

    names: tuple[str, ...]
    source: str
    numel: int


def tied_groups(tensors: list[Tensor]) -> list[TiedGroup]:
    """Return the tied parameters, the largest first.

    >>> import archspec
    >>> tied_groups(archspec.load("GPT2LMHeadModel").tensors())
    [TiedGroup(names=('lm_head.weight',), source='transformer.wte.weight', numel=38597376)]
    """
    groups: dict[tuple[str, str], TiedGroup] = {}
    for one in tensors:
        if one.tied_to and one.kind == "parameter":
            key = fold_layers(one.name), fold_layers(one.tied_to)
            names, source, numel = groups.get(key, TiedGroup((), one.tied_to, 0))
            groups[key] = TiedGroup((*names, one.name), source, numel + one.numel)
    return sorted(groups.values(), key=lambda group: -group.numel)


def tie_notes(tensors: list[Tensor], params: int) -> list[str]:
    """Return a sentence for each group of tied tensors, with the total if it is counted separately.

    >>> import archspec
    >>> m = archspec.load("GPT2LMHeadModel")
    >>> tie_notes(m.tensors(), m.params)
    ['lm_head.weight is tied to transformer.wte.weight; counted separately, the total is 163,037,184']
    """
    groups, notes = tied_groups(tensors), []
    for names, source, numel in groups:
        again = f"{params + numel:,}"
        if len(names) == 1:
            notes.append(f"{names[0]} is tied to {source}; counted separately, the total is {again}")
        else:
            many = f"{len(names)} tensors, {fold_layers(names[0])}, are tied to {fold_layers(source)}"
            notes.append(f"{many}; counted separately, the total is {again}")
    if len(groups) > 1:
        whole = params + sum(group.numel for group in groups)
        notes.append(f"with every tied tensor counted separately, the total is {whole:,}")
    return notes


def fold_layers(name: str) -> str:
    """Return a tensor's name without its layer numbers.

    >>> fold_layers("encoder.layer.11.output.dense.weight")
    'encoder.layer.*.output.dense.weight'
    """
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))


def tied_json(tensors: list[Tensor]) -> list[dict[str, Any]]:
    """Return the groups of tied parameters as plain data."""
    groups = tied_groups(tensors)
    return [{"tensors": list(g.names), "tied_to": g.source, "params": g.numel} for g in groups]
