"""Where the parameters of a model are: modules opened until they say so, layers that are alike as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, joined
from archspec.typing_light import NamedTuple

MAX_ROWS = 15
_WRAPPER = 0.9  # a module with this share of the model is not shown itself, but what is in it
_OPENED = 0.2  # a smaller module is not opened
_OPENED_IN_LAYER = 0.75  # the same of what layers are made of: experts are opened, attention and MLP are not
_TINY = 0.001  # of two such modules beside each other, none has a row of its own
_MAX_NAMES = 44  # characters of the names in such a row
_ALIKE = 0.05  # layers of one kind may differ by this: one has a bias more
_LISTS = ("ModuleList", "Sequential")


class Part(NamedTuple):
    """A module, or ``copies`` layers of a list that are alike, in each place of the part around it.

    ``name`` is the path from the part around it, ``places`` the number of modules that it is in the whole
    model, ``params`` are those of all; a tied tensor counts where it stands first. ``each`` are those of one,
    None where they differ. ``children`` are what is shown of it.
    """

    name: str
    cls: str
    copies: int
    places: int
    params: int
    each: int | None
    children: tuple[Part, ...]


def overview(root: Node, tensors: list[Tensor], depth: int | None = None) -> list[Part]:
    """The parts of a model; with a depth, all modules down to that level.

    Without one, the largest are opened first, down to attention and MLP of layers, as long as there are no
    more than 15 rows.

    >>> import archspec
    >>> model = archspec.load("LlamaForCausalLM")
    >>> [(part.name, part.copies, part.each) for part in overview(model.root, model.tensors())][:2]
    [('model.embed_tokens', 1, 131072000), ('model.layers', 32, 202383360)]
    """
    groups = _Groups(tensors)
    whole = _Shown(groups.group("", [("", root)], 1))
    if depth is not None:
        _open_levels(groups, whole, depth)
        return [_part(child) for child in whole.children]
    whole.children = [_Shown(groups.direct(part)) for part in groups.parts(whole.group)]
    _open_largest(groups, whole)
    return list(_flat(whole, whole.group.params, ""))


def every_row(parts: Iterable[Part], level: int = 0) -> Iterator[tuple[int, Part]]:
    """Parts as the rows of a table, each with its level."""
    for part in parts:
        yield level, part
        yield from every_row(part.children, level + 1)


def rows(parts: list[Part]) -> list[tuple[int, Part]]:
    """The same in few rows: what is tiny, or one too many, is taken together.

    >>> import archspec
    >>> model = archspec.load("LlamaForCausalLM")
    >>> [name for level, (name, *_) in rows(overview(model.root, model.tensors())) if level == 1]
    ['self_attn', 'mlp', 'input_layernorm, post_attention_layernorm']
    """
    whole = sum(part.params for part in parts)
    return list(_rows(_together(parts, MAX_ROWS), whole, 0))


def _rows(parts: list[Part], whole: int, level: int) -> Iterator[tuple[int, Part]]:
    for part in parts:
        yield level, part
        tiny = [child for child in part.children if child.params < _TINY * whole]
        large = [child for child in part.children if child.params >= _TINY * whole]
        inside = [*large, _joined(tiny)] if len(tiny) > 1 else list(part.children)
        yield from _rows(_together(inside, MAX_ROWS // 2), whole, level + 1)


def _together(parts: list[Part], most: int) -> list[Part]:
    """The parts, the smallest as one where there are more than some number."""
    if len(parts) <= most:
        return parts
    least = sorted(part.params for part in parts)[len(parts) - most]
    kept = [part for part in parts if part.params > least]
    return [*kept, _joined([part for part in parts if part.params <= least])]


def _joined(parts: list[Part]) -> Part:
    names = ", ".join(part.name for part in parts)
    label = names if len(names) <= _MAX_NAMES else f"{len(parts)} others"
    return Part(label, "", 1, 1, sum(part.params for part in parts), None, ())


class _Group(NamedTuple):
    """A module in all its places, each with its path; or layers that are alike, ``copies`` a place.

    ``in_layer`` says whether it is a part of layers.
    """

    name: str
    places: list[tuple[str, Node]]
    copies: int
    params: int
    each: int | None
    in_layer: bool

    @property
    def node(self) -> Node:
        return self.places[0][1]


class _Groups:
    """What groups are made of."""

    def __init__(self, tensors: list[Tensor]) -> None:
        self.params: dict[str, int] = {}  # of each module with a parameter, by its path
        for tensor in tensors:
            if tensor.kind == "parameter":
                self._count(tensor.name, 0 if tensor.tied_to else tensor.numel)

    def _count(self, path: str, numel: int) -> None:
        while path:
            self.params[path] = self.params.get(path, 0) + numel
            path = path.rpartition(".")[0]
        self.params[""] = self.params.get("", 0) + numel

    def group(self, name: str, places: list[tuple[str, Node]], copies: int, in_layer: bool = False) -> _Group:
        params = [self.params.get(path, 0) for path, _ in places]
        each = params[0] if len(set(params)) == 1 else None
        return _Group(name, places, copies, sum(params), each, in_layer)

    def parts(self, group: _Group) -> list[_Group]:
        """The modules in a group that have parameters; a list whose layers are all alike is these layers."""
        within = group.in_layer or group.copies > 1
        children = self._children(group.places)
        if group.node.cls in _LISTS:
            return [self._layers(_span(keys), keys, children, within) for keys in self._alike(children)]
        found = []
        for name, places in children.items():
            inner = self._children(places)
            alike = self._alike(inner) if places[0][1].cls in _LISTS else []
            if len(alike) == 1:
                found.append(self._layers(name, alike[0], inner, within))
            else:
                found.append(self.group(name, places, 1, within))
        return found

    def _layers(
        self, name: str, keys: list[str], children: dict[str, list[tuple[str, Node]]], within: bool
    ) -> _Group:
        return self.group(name, [place for key in keys for place in children[key]], len(keys), within)

    def _children(self, places: list[tuple[str, Node]]) -> dict[str, list[tuple[str, Node]]]:
        found: dict[str, list[tuple[str, Node]]] = {}
        for path, node in places:
            for key, child in node.children.items():
                if (inner := joined(path, key)) in self.params:
                    found.setdefault(key, []).append((inner, child))
        return found

    def _alike(self, children: dict[str, list[tuple[str, Node]]]) -> list[list[str]]:
        """The layers of a list, those together that are alike."""
        kinds: dict[object, list[str]] = {}
        sizes: dict[object, int] = {}
        for key, places in children.items():
            path, node = places[0]
            kind, size = _kind(node), self.params[path]
            first = sizes.setdefault(kind, size)
            same = abs(size - first) <= _ALIKE * first
            kinds.setdefault(kind if same else (kind, size), []).append(key)
        return list(kinds.values())

    def direct(self, group: _Group) -> _Group:
        """A group, or what alone is in it, under the names of both."""
        inner = self._only(group) if group.copies == 1 else None
        if inner is None or inner.node.leaf:
            return group
        return self.direct(inner._replace(name=joined(group.name, inner.name)))

    def opened(self, group: _Group) -> list[_Group]:
        """What is in a group and has parameters of its own."""
        if inner := self._only(group):
            found = self.opened(inner)
            return [part._replace(name=joined(inner.name, part.name)) for part in found] or [inner]
        return [self.direct(part) for part in self.parts(group) if part.params]

    def _only(self, group: _Group) -> _Group | None:
        inside = [part for part in self.parts(group) if part.params]
        return inside[0] if len(inside) == 1 and inside[0].params == group.params else None


def _kind(node: Node) -> object:
    """What layers that are alike have in common: the class and its parts; of torch's layers the shapes."""
    inside = tuple((name, child.cls) for name, child in node.children.items())
    return node.cls, inside, tuple(leaf.shape for leaf in node.tensors)


def _span(keys: list[str]) -> str:
    """The names of layers.

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


class _Shown:
    """A group with its parts, where they are shown."""

    def __init__(self, group: _Group) -> None:
        self.group = group
        self.children: list[_Shown] = []

    def leaves(self) -> Iterator[_Shown]:
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


def _open_levels(groups: _Groups, shown: _Shown, depth: int) -> None:
    if depth > 0:
        shown.children = [_Shown(part) for part in groups.parts(shown.group)]
        for child in shown.children:
            _open_levels(groups, child, depth - 1)


def _open_largest(groups: _Groups, whole: _Shown) -> None:
    """Opens parts, the largest first and layers last, as long as the rows are few."""
    params = whole.group.params
    closed: set[int] = set()
    while True:
        largest = sorted(whole.leaves(), key=lambda shown: (shown.group.copies > 1, -shown.group.params))
        chosen = next((one for one in largest if id(one) not in closed and _says_more(one, params)), None)
        if chosen is None:
            return
        chosen.children = [_Shown(part) for part in groups.opened(chosen.group)]
        if not chosen.children or len(rows(list(_flat(whole, params, "")))) > MAX_ROWS:
            chosen.children = []
            closed.add(id(chosen))


def _says_more(shown: _Shown, whole: int) -> bool:
    """Whether a part is large enough to be opened."""
    group = shown.group
    if not group.in_layer:
        return group.params >= max(1, _OPENED * whole)
    made_of_modules = any(not child.leaf for child in group.node.children.values())
    return made_of_modules and group.params >= _OPENED_IN_LAYER * whole


def _flat(shown: _Shown, whole: int, path: str) -> Iterator[Part]:
    """The parts within a module that is not shown itself."""
    for child in shown.children:
        group = child.group
        name = joined(path, group.name)
        if child.children and group.copies == 1 and group.params >= _WRAPPER * whole:
            yield from _flat(child, whole, name)
        else:
            yield _part(child)._replace(name=name)


def _part(shown: _Shown) -> Part:
    group = shown.group
    children = tuple(_part(child) for child in shown.children)
    places = len(group.places)
    return Part(group.name, group.node.cls, group.copies, places, group.params, group.each, children)
