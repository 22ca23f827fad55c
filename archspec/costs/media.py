"""Modules that run on the images, videos and audios of a call, each group of items of one size by itself.

Inside such a module the axes are those of one group: `batch` is the number of its items, and layers pass on
the size of their output. A convolution runs on the positions of its output, which are then the `tokens`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import prod
from operator import le, ne

from archspec.configs.scope import Scope
from archspec.costs.grid import grid_after, positions_of
from archspec.costs.records import FLOWING, Axes
from archspec.errors import ArchspecError, option
from archspec.language.expression import Expression, Locals
from archspec.language.values import value_of
from archspec.specs.records import GRID, MAPS, MODALITIES, Module
from archspec.specs.torch_layers import decidable
from archspec.tree.builder import Builder
from archspec.tree.inside import Frame
from archspec.tree.node import Node
from archspec.typing_light import Any, NamedTuple

UNKNOWN = object()  # a size that the class decides, if it takes only one
OF_ALL = (
    "total",
    "most",
)  # functions of the language: the sum, the maximum of a number over all items of a call
Run = Callable[[], Node | None]


class UnknownSize(ArchspecError):
    """The class takes items of any size, and none is given."""

    modality = ""


class Maps(list[Any]):
    """The sizes of the feature maps that a backbone returns, each a list of height and width."""

    @property
    def cache_key(self) -> Any:
        """What the cache of modules knows it by."""
        return tuple((type(one).__name__, getattr(one, "cache_key", one)) for size in self for one in size)


class Group:
    """Items of one size: the axes at the start of their part of a module, and those of its next attribute."""

    def __init__(self, axes: Axes) -> None:
        self.start = self.now = axes


class Placed(NamedTuple):
    """How many tokens of the text each item of a size takes the place of."""

    size: tuple[Any, ...]
    tokens: Any


class OnItems(Builder):
    """A builder whose modules may run on the items of a call.

    ``modalities`` are those that the class takes. ``taken`` has the sizes of items that the class decides,
    ``placed`` the tokens of each modality.
    """

    axes: Axes | None = None
    textless = False  # the class takes items of one modality and nothing else

    def start(self) -> None:
        """Forget the items of an earlier build."""
        self.modalities: dict[str, bool] = {}  # True if the class does not run without
        self.taken: dict[str, tuple[Any, ...]] = {}
        self.only: set[str] = set()  # modalities of which the class takes no other size
        self.placed: dict[str, list[Placed]] = {}
        self.open_groups: list[Group] = []  # that run now

    def known(self, value: Any, axes: Axes) -> Any:
        """Return the value of an axis. Errors: :class:`UnknownSize` if the items' size is not known."""
        if value is UNKNOWN:
            raise unknown_size(axes["modality"])
        return value

    def has_moved(self, before: Axes | None) -> bool:
        """Return True if the size of what follows is not what it was before."""
        axes, known_by = self.axes, self.domain.known_by
        assert axes is not None and before is not None
        return any(known_by(axes[name]) != known_by(before[name]) for name in FLOWING)

    @property
    def on_items(self) -> bool:
        """True inside a module that runs on items."""
        return self.axes is not None and self.axes["modality"] is not None

    def whole_modality(self, module: Module) -> str | None:
        """Return the modality that all of an architecture runs on; None for one that takes text."""
        if len(self.frames) > 1 or self.axes is None or self.on_items:
            return None
        return only_modality(self.scope, module)

    def run_whole(self, modality: str, run: Run) -> Node:
        """Return an architecture that runs on items, as the sum of its runs on each size."""
        self.textless = True
        outer, built = self.axes, []
        self.open_groups = self.groups(modality, required=True)
        for group in self.open_groups:
            self.axes = group.start
            built.append(run())
        self.axes = outer
        merged = merge(built)
        assert merged is not None  # an architecture is a module
        return merged

    def section(self, frame: Frame, modality: str) -> list[Group]:
        """Return the groups of items that attributes of a module run on."""
        assert frame.module is not None
        if modality not in frame.sections:
            frame.sections[modality] = self.groups(modality, modality not in frame.module.placeholders)
        found: list[Group] = frame.sections[modality]
        return found

    def run_section(self, frame: Frame, modality: str, run: Run) -> Node | None:
        """Build one of the attributes that run on items; a group keeps what it passes on to the next one."""
        outer, local = self.axes, dict(frame.local)
        assert outer is not None
        built, axes = [], frame.axes
        self.open_groups = self.section(frame, modality)
        for group in self.open_groups:
            self.axes, frame.axes, frame.local = group.now, group.start, dict(local)
            built.append(run())
            group.now = self.axes
            if modality in self.taken:
                taken = zip(MODALITIES[modality], self.taken[modality], strict=True)
                group.start = {**group.start, **dict(taken)}
        if not built:
            self.axes = None
            built.append(run())
        self.axes, frame.axes, frame.local = outer, axes, local
        merged = merge(built)
        in_past = bool(self.open_groups) and decidable(outer["past"]) > 0
        return idle(merged) if in_past and merged is not None else merged

    def groups(self, modality: str, required: bool) -> list[Group]:
        """Return the items of a modality by their size; one per sequence if none is given."""
        assert self.axes is not None
        axes = self.axes
        self.modalities[modality] = required or self.modalities.get(modality, False)
        given = getattr(axes["media"], modality)
        names = MODALITIES[modality]
        if not given and required:
            given = ((axes["batch"], (UNKNOWN,) * len(names)),)
        if len(given) == 1 and required and value_of(given[0][0]) in (1, value_of(axes["batch"])):
            given = ((axes["batch"], given[0][1]),)  # one item for each sequence
        found = []
        for count, size in given:
            grid = {**dict.fromkeys(GRID), MAPS: Maps(), **dict(zip(names, size, strict=True))}
            tokens = UNKNOWN if UNKNOWN in size else prod(size)
            none = {"past": 0, "encoder_tokens": 0, "new_encoder_tokens": 0}
            more = {"batch": count, "tokens": tokens, "context": tokens, "modality": modality}
            found.append(Group({**axes, **none, **grid, **more}))
        return found

    def fit_size(self, module: Module, frame: Frame) -> None:
        """Check the only size that a module takes, or decide it if none is given."""
        assert module.sizes is not None and frame.axes is not None
        modality = frame.axes["modality"]
        names = MODALITIES[modality]
        size = _flat(self.evaluate(module.sizes, frame.local))
        size = [*size, *size[-1:] * (len(names) - len(size))]
        given = [frame.axes[name] for name in names]
        if module.other_sizes == "multiples":
            self._check_multiples(modality, given[-2:], size[-2:])
            return
        if UNKNOWN in given:
            self.taken[modality] = tuple(size)
            if not self.takes_others(module):
                self.only.add(modality)
            grid = dict(zip(names, size, strict=True))
            self.axes = frame.axes = {**frame.axes, **grid, "tokens": prod(size), "context": prod(size)}
            return
        is_less = module.other_sizes == "less" and all(map(le, map(value_of, given), map(value_of, size)))
        if not is_less and not self.takes_others(module) and any(map(ne, given, size)):
            what, takes = size_text(given), size_text(size)
            takes = f"at most {takes}" if module.other_sizes == "less" else takes
            help_ = f"pass {modality} of {takes}, or leave out {option(modality)}"
            raise ArchspecError(f"{module.name} takes {modality} of {takes}, not {what}", help=help_)

    def _check_multiples(self, modality: str, given: list[Any], units: list[Any]) -> None:
        if UNKNOWN in given:
            raise unknown_size(modality)
        if any(size % unit != 0 for size, unit in zip(given, units, strict=True)):
            message = f"height and width of {modality} must be multiples of {size_text(units)}"
            raise ArchspecError(f"{message}, not {size_text(given)}", help="pass other sizes, or whole files")

    def takes_others(self, module: Module) -> bool:
        """Return True if a module takes items of other sizes than its `sizes:`."""
        return module.other_sizes == "any" or (module.other_sizes == "interpolated" and self.textless)

    def media_tokens(self, name: str, frame: Frame) -> Any:
        """Return the tokens of all items of a modality, for each sequence."""
        modality = f"{name.partition('_')[0]}s"
        outer = self.axes or {}
        groups = frame.sections.get(modality, [])
        if len(groups) == 1 and value_of(groups[0].start["batch"]) == value_of(outer["batch"]):
            return groups[0].now["tokens"]
        total = sum(group.now["batch"] * group.now["tokens"] for group in groups)
        return total // outer["batch"] if groups else 0

    def number_of_items(self, modality: str, frame: Frame) -> Any:
        """Return the number of a call's items of a modality."""
        groups = frame.sections.get(modality, [])
        return sum(group.start["batch"] for group in groups[1:]) + groups[0].start["batch"] if groups else 0

    def of_all(self, name: str, node: ast.expr, local: Locals) -> Any:
        """Return the sum or the maximum of an expression's values over all items that run together with these."""
        frame, found = self.frames[-1], []
        outer = frame.now
        for group in self.open_groups:
            frame.now = group.start
            value = self.visit(node, dict(local))
            found.append(value if name == "most" else group.start["batch"] * value)
        frame.now = outer
        if name == "most" and len(found) > 1:
            return max(found)
        return sum(found[1:], start=found[0]) if found else 0

    def pass_on(self, axes: Axes) -> None:
        """Run what follows on the size of a module's output."""
        assert self.axes is not None
        self.axes = {**self.axes, **{name: axes[name] for name in FLOWING}}

    def leave(self, built: Node, module: Module, frame: Frame) -> None:
        """Set the axes after a module, and the tokens that its items take the place of."""
        if self.on_items:
            if module.after:
                self.flow({name: self.evaluate_now(value) for name, value in module.after.items()})
            return
        for modality, stated in module.placeholders.items():
            found, outer, axes, local = [], self.axes, frame.axes, dict(frame.local)
            for group in frame.sections.get(modality, []):
                self.axes, frame.axes, frame.local = group.now, group.start, dict(local)
                size = tuple(group.start[name] for name in MODALITIES[modality])
                found.append(Placed(size, self.evaluate_now(stated)))
                built.placed = [*built.placed, (modality, (group.start["batch"], found[-1].tokens))]
            self.axes, frame.axes, frame.local = outer, axes, local
            self.placed[modality] = found

    def evaluate_now(self, stated: Expression) -> Any:
        """Evaluate an expression at the axes of what runs next; `where:` keeps the module's own axes."""
        frame = self.frames[-1]
        outer, frame.now = frame.now, self.axes
        try:
            return self.evaluate(stated, frame.local)
        finally:
            frame.now = outer

    def grid_leaf(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Axes | None:
        """Return the axes at which a layer runs on a grid, and pass on its output's; None for others."""
        assert self.axes is not None
        axes = self.axes
        names = positions_of(name, axes)
        if names is None:
            return None
        before = [axes[one] for one in names]
        if UNKNOWN in before:
            raise unknown_size(axes["modality"])
        after = grid_after(name, before, arguments, keywords)
        if any(value_of(one) < 1 for one in after):
            modality = axes["modality"]
            raise ArchspecError(
                f"the {modality} are too small: {name} gives no output", help=f"pass larger {modality}"
            )
        self.flow(dict(zip(names, after, strict=True)))
        transposed = name.startswith("ConvTranspose")  # runs on the positions of its input
        return {**self.axes, "tokens": prod(before)} if transposed else self.axes

    def at(self, module: ast.expr, size: list[ast.expr], local: Locals) -> Any:
        if not self.on_items:
            return super().at(module, size, local)
        outer = self.axes
        values = [self.visit(one, dict(local)) for one in size]
        names = [name for name in GRID if outer is not None and outer[name] is not None]
        self.flow(dict(zip(names, values, strict=True)))
        built = self.visit(module, local)
        self.axes = outer
        return built

    def flow(self, given: Axes) -> None:
        """Run what follows at other axes; the grid's positions are the tokens."""
        assert self.axes is not None
        self.axes = {**self.axes, **given}
        if MAPS in given:
            self.axes[MAPS] = Maps(given[MAPS])
        grid = [self.axes[name] for name in GRID if self.axes[name] is not None]
        if "tokens" not in given and given.keys() & {*GRID}:
            self.axes["tokens"] = prod(grid)
        self.axes["context"] = self.axes["tokens"]


def only_modality(scope: Scope, module: Module) -> str | None:
    """Return the modality that all of an architecture runs on; None for one that takes text, too."""
    stated = module.inputs if isinstance(module.inputs, str) else ""
    found = stated or ("" if module.inputs else scope.spec.inputs)
    return found if found in MODALITIES else None


def unknown_size(modality: str) -> UnknownSize:
    """Return the error for a class that takes items of any size, if none is given."""
    example = {"images": "224x224", "videos": "16@224x224", "audios": "3000f"}[modality]
    name = option(modality[:-1], example)
    found = UnknownSize(f"the size of the {modality} is missing", help=f"pass {name}, for example")
    found.modality = modality
    return found


def size_text(size: Any) -> str:
    """Return a size as text: 224×224."""
    return "×".join(str(value_of(one)) for one in size)


def _flat(value: Any) -> list[Any]:
    return [one for item in value for one in _flat(item)] if isinstance(value, list) else [value]


def merge(nodes: list[Node | None]) -> Node | None:
    """Return one module with the costs of all its runs."""
    first = nodes[0]
    if len(nodes) == 1 or first is None:
        return first
    others = [node for node in nodes if node is not None]
    merged = first.copy()
    for name in ("costs", "saves"):
        setattr(merged, name, [one for node in others for one in getattr(node, name)])
    if merged.cache is not None:
        merged.cache = [one for node in others for one in node.cache or ()]
    merged.children = {}
    for name in first.children:
        child = merge([node.children[name] for node in others])
        assert child is not None  # every child is a module
        merged.children[name] = child
    return merged


def idle(node: Node) -> Node:
    """Return a module without costs."""
    other = node.copy()
    other.costs, other.saves = [], []
    other.children = {name: idle(child) for name, child in node.children.items()}
    return other
