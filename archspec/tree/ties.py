"""What ties save: each tensor that is another one's copy, and the count with it counted again."""

from __future__ import annotations

from archspec.tree.tensors import Tensor
from archspec.typing_light import Any, NamedTuple


class TiedGroup(NamedTuple):
    """Tensors that differ in layer numbers only, each a copy of another one; ``numel`` is of all of them."""

    names: tuple[str, ...]
    source: str
    numel: int


def tied_groups(tensors: list[Tensor]) -> list[TiedGroup]:
    """The tied parameters, the largest first.

    >>> import archspec
    >>> tied_groups(archspec.load("GPT2LMHeadModel").tensors())
    [TiedGroup(names=('lm_head.weight',), source='transformer.wte.weight', numel=38597376)]
    """
    groups: dict[tuple[str, str], list[Tensor]] = {}
    for tensor in tensors:
        if tensor.tied_to and tensor.kind == "parameter":
            groups.setdefault((folded(tensor.name), folded(tensor.tied_to)), []).append(tensor)
    found = []
    for group in groups.values():
        names, numel = tuple(tensor.name for tensor in group), sum(tensor.numel for tensor in group)
        found.append(TiedGroup(names, group[0].tied_to or "", numel))
    return sorted(found, key=lambda group: -group.numel)


def tie_notes(tensors: list[Tensor], params: int) -> list[str]:
    """A sentence for each tied tensor: what it is tied to, and the count with it counted again.

    >>> import archspec
    >>> m = archspec.load("GPT2LMHeadModel")
    >>> tie_notes(m.tensors(), m.params)
    ['lm_head.weight is tied to transformer.wte.weight; counting it again gives 163,037,184']
    """
    groups = tied_groups(tensors)
    said = []
    for group in groups:
        again = f"{params + group.numel:,}"
        if len(group.names) == 1:
            said.append(f"{group.names[0]} is tied to {group.source}; counting it again gives {again}")
        else:
            many = f"{len(group.names)} tensors, {folded(group.names[0])}, are tied to {folded(group.source)}"
            said.append(f"{many}; counting them again gives {again}")
    if len(groups) > 1:
        whole = params + sum(group.numel for group in groups)
        said.append(f"counting every tied tensor again gives {whole:,}")
    return said


def folded(name: str) -> str:
    """A tensor's name without its layer numbers.

    >>> folded("encoder.layer.11.output.dense.weight")
    'encoder.layer.*.output.dense.weight'
    """
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))


def tied_json(tensors: list[Tensor]) -> list[dict[str, Any]]:
    """The groups of tied parameters as plain data."""
    groups = tied_groups(tensors)
    return [{"tensors": list(g.names), "tied_to": g.source, "params": g.numel} for g in groups]
