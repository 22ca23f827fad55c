"""The tensors of a module tree, named, shaped and tied as torch's `named_parameters()` has them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from archspec.errors import ConfigError, SpecError
from archspec.tables.quantities import QUANTITIES
from archspec.tree.node import Node, Routed
from archspec.typing_light import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fractions import Fraction

MAX_TENSORS = 2_000_000
MAX_MODULES = 2_000_000


class Tensor(NamedTuple):
    """One entry of `named_parameters(remove_duplicate=False)`, or a persistent buffer.

    ``name``, ``shape``, ``numel``, ``kind`` (parameter or buffer) and ``trainable`` are those of torch.
    ``tied_to`` names the tensor it is tied to, if any; ``layer`` is the torch module class. ``active`` is the
    number of elements used per token, on average if each expert has its own tensor. ``embedding`` is `output`
    for the output embeddings, tied or not, `table` for any other `Embedding`.
    """

    name: str
    shape: tuple[int, ...]
    numel: int
    kind: str
    trainable: bool
    tied_to: str | None
    layer: str
    active: int | Fraction
    embedding: str = ""


def tensors(root: Node) -> list[Tensor]:
    """Return every parameter in torch's order, then every persistent buffer.

    Errors: :class:`SpecError` for a tie whose ends do not exist, :class:`ConfigError` for too many tensors.
    """
    entries = _walk(root)
    by_name = {entry.name: entry for entry in entries}
    holders = _tied_names(root, by_name)
    first: dict[str, str] = {}
    for name in by_name:
        first.setdefault(holders.get(name, name), name)
    parts = _embedding_roles(root, by_name, holders)
    found = []
    for entry in entries:
        holder = by_name[holders.get(entry.name, entry.name)]
        tied_to = first[holder.name] if first[holder.name] != entry.name else None
        part = parts.get(holder.name, "")
        if tied_to or part or holder is not entry:
            entry = holder._replace(name=entry.name, layer=entry.layer, tied_to=tied_to, embedding=part)
        found.append(entry)
    return sorted(found, key=lambda tensor: tensor.kind == "buffer")


def quantities_of(found: list[Tensor]) -> dict[str, int]:
    """Return each of `archspec.tables.quantities.QUANTITIES` as an exact int."""
    own = [tensor for tensor in found if tensor.tied_to is None]
    counts = {name: sum(map(quantity.term, own)) for name, quantity in QUANTITIES.items()}
    # the active parts of all experts together are whole
    return {name: int(count) if hasattr(count, "denominator") else count for name, count in counts.items()}


def _active_elements(numel: int, routed: Routed | None) -> int | Fraction:
    if routed is None or not routed.experts:
        return numel
    whole = numel * min(routed.chosen, routed.experts)
    if isinstance(whole, int) and isinstance(routed.experts, int) and whole % routed.experts:
        from fractions import Fraction  # an expert with its own tensors works on a part of the tokens

        return Fraction(whole, routed.experts)
    active: int = whole // routed.experts
    return active


def _walk(root: Node) -> list[Tensor]:
    """Return the tensors of all modules, before ties."""
    entries: list[Tensor] = []
    seen = 0

    def visit(node: Node, prefix: str, frozen: bool, routed: Routed | None) -> None:
        nonlocal seen
        seen += 1
        if seen > MAX_MODULES or len(entries) > MAX_TENSORS:
            what = f"{MAX_TENSORS:,} tensors" if seen <= MAX_MODULES else f"{MAX_MODULES:,} modules"
            label = root.scope.origin.label if root.scope else ""
            raise ConfigError(f"{label}the model has more than {what}", help="use smaller values")
        frozen, routed = frozen or node.frozen, node.routed or routed
        for leaf in node.tensors:
            name, numel = join_path(prefix, leaf.name), math.prod(leaf.shape)
            trainable, active = leaf.trainable and not frozen, _active_elements(numel, routed)
            entries.append(Tensor(name, leaf.shape, numel, leaf.kind, trainable, None, node.layer, active))
        for own in (True, False):  # torch lists a module's own parameters before its children's
            for name, child in node.children.items():
                if (child.cls in ("Parameter", "Buffer")) == own:
                    visit(child, join_path(prefix, name), frozen, routed)

    visit(root, "", False, None)
    return entries


def _tied_names(root: Node, by_name: dict[str, Tensor]) -> dict[str, str]:
    """Return the name of the tensor with the values, for each tied name."""
    parents: dict[str, str] = {}

    def holder(name: str) -> str:
        while name in parents:
            name = parents[name]
        return name

    for prefix, node in modules(root):
        for target, source, tie in node.ties:
            target, source = join_path(prefix, target), join_path(prefix, source)
            if target in by_name and source in by_name:
                pairs = [(target, source)]
            else:
                ends = [name[len(target) :] for name in by_name if name.startswith(target + ".")]
                pairs = [(target + end, source + end) for end in ends if source + end in by_name]
                if not pairs:
                    there = target in by_name or ends
                    message = f"the tie has no effect: {source if there else target} does not exist"
                    raise SpecError(message, tie.place, "tied", "name a tensor, or a module on both sides")
            for one, other in pairs:
                if (end := holder(other)) != one and (start := holder(one)) != end:
                    parents[start] = end
    return {name: holder(name) for name in parents}


def _embedding_roles(root: Node, by_name: dict[str, Tensor], holders: dict[str, str]) -> dict[str, str]:
    """Return `table` or `output` for each tensor of the embeddings, by the name that has its values."""
    tables = (entry.name for entry in by_name.values() if entry.layer == "Embedding")
    found = {holders.get(name, name): "table" for name in tables}
    outputs = (f"{path}.weight" for path in output_embeddings(root))
    return found | {holders.get(name, name): "output" for name in outputs if name in by_name}


def output_embeddings(root: Node, prefix: str = "") -> list[str]:
    """Return the dotted paths of the layers that `get_output_embeddings()` returns.

    Without a declaration, it is transformers' rule: the attribute `lm_head`.

    Errors: :class:`SpecError` for a path that leads nowhere.
    """
    declared = root.output_embeddings
    path = declared.path if declared is not None else "lm_head" if "lm_head" in root.children else ""
    if not path:
        return []
    node = root
    for part in path.split("."):
        if part not in node.children:
            assert declared is not None
            help_ = "name a module by its path within this class"
            raise SpecError(f"{path} does not exist", declared.place, "output_embeddings", help_)
        node = node.children[part]
    full = join_path(prefix, path)
    if node.leaf or "weight" in {*node.children, *(tensor.name for tensor in node.tensors)}:
        return [full]
    if node.cls == "ModuleList":
        return [join_path(full, name) for name in node.children]
    return output_embeddings(node, full)


def modules(node: Node, prefix: str = "", layers: bool = False) -> Iterator[tuple[str, Node]]:
    """Yield every module with its dotted path, the outer before the inner; torch layers only on request."""
    yield prefix, node
    for name, child in node.children.items():
        if layers or not child.leaf:
            yield from modules(child, join_path(prefix, name), layers)


def join_path(prefix: str, name: str) -> str:
    """Return a dotted path; either part may be empty."""
    return f"{prefix}.{name}" if prefix and name else prefix or name


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
        found = f"{names[0]} is tied to {source}"
        if len(names) > 1:
            found = f"{len(names)} tensors, {fold_layers(names[0])}, are tied to {fold_layers(source)}"
        notes.append(f"{found}; counted separately, the total is {params + numel:,}")
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
    return [{"tensors": list(g.names), "tied_to": g.source, "params": g.numel} for g in tied_groups(tensors)]
