"""The modules that hold most parameters of a model, with similar layers as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, join_path
from archspec.typing_light import NamedTuple

MAX_ROWS = 15
_WRAPPER = 0.9  # a module with this share of the model is replaced by its children
_OPENED = 0.2  # the share of the model from which a module is opened
_OPENED_IN_LAYER = 0.75  # the same within layers: experts are opened, attention and MLP are not
_TINY = 0.001  # several modules of this share get one row
_MAX_NAMES = 44  # characters of the names in such a row
_TOLERANCE = 0.05  # layers of one kind may differ by this: one has a bias more
_LISTS = ("ModuleList", "Sequential")


class Part(NamedTuple):
    """A module, or ``copies`` similar layers of a list, in each place of the part around it."""

    name: str  # the path from the part around it
    spots: list[tuple[str, Node]]  # its paths and modules in the whole model
    copies: int
    params: int  # of all; a tied tensor counts under its first name
    each: int | None  # the parameters of one module; None if they differ
    in_layer: bool
    children: list[Part]  # those that have rows, if the part is opened

    @property
    def cls(self) -> str:
        return self.spots[0][1].cls if self.spots else ""


def overview(root: Node, tensors: list[Tensor], depth: int | None = None) -> list[Part]:
    """Return the parts of a model: all modules down to a depth, or those that hold most parameters.

    Without a depth, the largest parts are opened first, down to attention and MLP of layers, while there are
    at most 15 rows.

    >>> import archspec
    >>> model = archspec.load("LlamaForCausalLM")
    >>> [(part.name, part.copies, part.each) for part in overview(model.root, model.tensors())][:2]
    [('model.embed_tokens', 1, 131072000), ('model.layers', 32, 202383360)]
    """
    sizes: dict[str, int] = {}  # the parameters of each module and tensor, by its path
    for tensor in (tensor for tensor in tensors if tensor.kind == "parameter"):
        path, numel = tensor.name.split("."), 0 if tensor.tied_to else tensor.numel
        for end in range(len(path) + 1):
            outer = ".".join(path[:end])
            sizes[outer] = sizes.get(outer, 0) + numel
    opener = _Opener(sizes)
    whole = opener.part("", [("", root)])
    if depth is not None:
        opener.open_levels(whole, depth)
        return whole.children
    whole.children[:] = map(opener.unwrap, opener.open_part(whole))
    opener.open_largest(whole)
    return list(_flat_parts(whole, whole.params, ""))


def every_row(parts: Iterable[Part], level: int = 0) -> Iterator[tuple[int, Part]]:
    """Yield parts as the rows of a table, each with its level."""
    for part in parts:
        yield level, part
        yield from every_row(part.children, level + 1)


def rows(parts: list[Part]) -> list[tuple[int, Part]]:
    """Return parts as few rows, each with its level: tiny parts, and the smallest of many, share one.

    >>> import archspec
    >>> model = archspec.load("LlamaForCausalLM")
    >>> [part.name for level, part in rows(overview(model.root, model.tensors())) if level == 1]
    ['self_attn', 'mlp', 'input_layernorm, post_attention_layernorm']
    """
    return list(_rows(_reduce_parts(parts, MAX_ROWS), sum(part.params for part in parts), 0))


def _rows(parts: list[Part], whole: int, level: int) -> Iterator[tuple[int, Part]]:
    for part in parts:
        yield level, part
        tiny = [child for child in part.children if child.params < _TINY * whole]
        large = [child for child in part.children if child.params >= _TINY * whole]
        inside = [*large, _combine(tiny)] if len(tiny) > 1 else part.children
        yield from _rows(_reduce_parts(inside, MAX_ROWS // 2), whole, level + 1)


def _reduce_parts(parts: list[Part], most: int) -> list[Part]:
    if len(parts) <= most:
        return parts
    least = sorted(part.params for part in parts)[len(parts) - most]
    kept = [part for part in parts if part.params > least]
    return [*kept, _combine([part for part in parts if part.params <= least])]


def _combine(parts: list[Part]) -> Part:
    names = ", ".join(part.name for part in parts)
    label = names if len(names) <= _MAX_NAMES else f"{len(parts)} more modules"
    return Part(label, [], 1, sum(part.params for part in parts), None, False, [])


class _Opener:
    """Opens the parts of a model; ``sizes`` are the parameters of each module and tensor by its path."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes

    def part(self, name: str, spots: list[tuple[str, Node]], copies: int = 1, in_layer: bool = False) -> Part:
        params = [self.sizes.get(path, 0) for path, _ in spots]
        each = params[0] if len(set(params)) == 1 else None
        return Part(name, spots, copies, sum(params), each, in_layer, [])

    def open_part(self, part: Part) -> list[Part]:
        """Return the modules in a part; a list whose layers are all similar becomes these layers."""
        in_layer = part.in_layer or part.copies > 1
        found = []
        for name, spots in ({"": part.spots} if part.cls in _LISTS else self.children(part.spots)).items():
            layers = self.children(spots)
            kinds = self.group_similar(layers) if spots[0][1].cls in _LISTS else []
            for keys in kinds if not name or len(kinds) == 1 else ():
                inner = [spot for key in keys for spot in layers[key]]
                found.append(self.part(name or _span(keys), inner, len(keys), in_layer))
            if name and len(kinds) != 1:
                found.append(self.part(name, spots, 1, in_layer))
        return found

    def children(self, spots: list[tuple[str, Node]]) -> dict[str, list[tuple[str, Node]]]:
        """Return the children with parameters, by attribute, in all places."""
        found: dict[str, list[tuple[str, Node]]] = {}
        for path, node in spots:
            for key, child in node.children.items():
                if (inner := join_path(path, key)) in self.sizes:
                    found.setdefault(key, []).append((inner, child))
        return found

    def group_similar(self, layers: dict[str, list[tuple[str, Node]]]) -> list[list[str]]:
        """Return the layers of a list in groups of one class, with the same parts and about the same size."""
        kinds: dict[object, list[str]] = {}
        sizes: dict[object, int] = {}
        for key, ((path, node), *_) in layers.items():
            parts = tuple((name, child.cls) for name, child in node.children.items())
            kind: object = (node.cls, parts, tuple(leaf.shape for leaf in node.tensors))
            first, size = sizes.setdefault(kind, self.sizes[path]), self.sizes[path]
            kind = kind if abs(size - first) <= _TOLERANCE * first else (kind, size)
            kinds.setdefault(kind, []).append(key)
        return list(kinds.values())

    def unwrap(self, part: Part) -> Part:
        """Return a part, or the only one in it, under both names."""
        inner = self.only_part(part) if part.copies == 1 else None
        if inner is None or inner.spots[0][1].leaf:
            return part
        return self.unwrap(inner._replace(name=join_path(part.name, inner.name)))

    def open_all(self, part: Part) -> list[Part]:
        if inner := self.only_part(part):
            found = self.open_all(inner)
            return [one._replace(name=join_path(inner.name, one.name)) for one in found] or [inner]
        return [self.unwrap(one) for one in self.open_part(part) if one.params]

    def only_part(self, part: Part) -> Part | None:
        """Return the only part with parameters in a part, if it has them all."""
        found = [one for one in self.open_part(part) if one.params]
        return found[0] if len(found) == 1 and found[0].params == part.params else None

    def open_levels(self, part: Part, depth: int) -> None:
        if depth > 0:
            part.children[:] = self.open_part(part)
            for child in part.children:
                self.open_levels(child, depth - 1)

    def open_largest(self, whole: Part) -> None:
        """Open parts, the largest first and layers last, while the rows are few."""
        closed: set[int] = set()
        while True:
            leaves = [part for _, part in every_row(whole.children) if not part.children]
            leaves.sort(key=lambda part: (part.copies > 1, -part.params))
            large = (one for one in leaves if id(one) not in closed and _is_large(one, whole.params))
            if (chosen := next(large, None)) is None:
                return
            chosen.children[:] = self.open_all(chosen)
            if not chosen.children or len(rows(list(_flat_parts(whole, whole.params, "")))) > MAX_ROWS:
                chosen.children.clear()
                closed.add(id(chosen))


def _is_large(part: Part, whole: int) -> bool:
    if not part.in_layer:
        return part.params >= max(1, _OPENED * whole)
    made_of_modules = any(not child.leaf for child in part.spots[0][1].children.values())
    return made_of_modules and part.params >= _OPENED_IN_LAYER * whole


def _flat_parts(part: Part, whole: int, path: str) -> Iterator[Part]:
    """Yield the parts within one that has no row."""
    for child in part.children:
        name = join_path(path, child.name)
        if child.children and child.copies == 1 and child.params >= _WRAPPER * whole:
            yield from _flat_parts(child, whole, name)
        else:
            yield child._replace(name=name)


def _span(keys: list[str]) -> str:
    """Return the names of layers.

    >>> _span(["0", "1", "2", "5", "7"]), _span(["0", "2", "4", "6", "8"]), _span(["attention"])
    ('0-2,5,7', '0,2,4,…', 'attention')
    """
    ranges: list[tuple[str, str]] = []
    for key in keys:
        first, last = ranges[-1] if ranges else ("", "")
        if key.isdecimal() and last.isdecimal() and int(key) == int(last) + 1:
            ranges[-1] = (first, key)
        else:
            ranges.append((key, key))
    shown = [first if first == last else f"{first}-{last}" for first, last in ranges]
    return ",".join(shown if len(shown) <= 3 else [*shown[:3], "…"])
