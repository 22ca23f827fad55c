"""Modules that run on the images, videos and audios of a call, each group of items of one size by itself.

Inside such a module the axes are those of one group: `batch` is the number of its items, `tokens` are the
positions of one item.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import prod
from operator import le, ne

from archspec.configs.scope import Scope
from archspec.costs.media.flowing import FRESH, Flowing
from archspec.costs.media.merging import idle, merge
from archspec.costs.media.sizes import UNKNOWN, Maps, missing_items, unknown_size, value_text
from archspec.costs.records import GRADIENT, Axes
from archspec.errors import ArchspecError, option
from archspec.language.expression import Locals
from archspec.language.values import value_of
from archspec.specs.records import GRID, MAPS, MODALITIES, Body, Module
from archspec.specs.torch_layers import decidable
from archspec.tables.items import written_size
from archspec.tree.inside import Frame
from archspec.tree.node import Node
from archspec.typing_light import Any, NamedTuple

OF_ALL = ("total", "most")  # functions of the language: a number's sum or maximum over all items of a call
Run = Callable[[], Node | None]


class Group:
    """Items of one size: the axes at the start of their part of a module, and those of its next attribute."""

    def __init__(self, axes: Axes) -> None:
        self.start = self.now = axes


class Placed(NamedTuple):
    """How many tokens of the text each item of a size takes the place of."""

    size: tuple[Any, ...]
    tokens: Any


class OnItems(Flowing):
    """A builder whose modules may run on the items of a call.

    ``modalities`` are those that the class takes. ``taken`` has the sizes of items that the class decides,
    ``placed`` the tokens of each modality.
    """

    textless = False  # the class takes items of one modality and nothing else

    def start(self) -> None:
        """Forget the items of an earlier build."""
        self.modalities: dict[str, bool] = {}  # True if the class does not run without
        self.taken: dict[str, tuple[Any, ...]] = {}
        self.only: set[str] = set()  # modalities of which the class takes no other size
        self.instructed = False  # its items are encoded together with a text of `encoder_tokens`
        self.placed: dict[str, list[Placed]] = {}
        self.open_groups: list[Group] = []  # that run now
        self.towers: set[str] = set()  # the first attributes that run on items

    def _build_once(self, module: Module, frame: Frame, node: ast.AST) -> Node:
        if module.sizes is not None and self.on_items:
            self.fit_size(module, frame)
        return super()._build_once(module, frame, node)

    def child(self, name: str, inner: Body) -> Node | None:
        """Build an attribute on the items or on the text, as its module's `inputs:` say."""
        frame = self.frames[-1]
        if frame.axes is None or frame.module is None:
            return self.child_here(name, inner)
        if self.on_items and name in frame.module.branches:
            axes, self.axes = self.axes, frame.axes
            built = self.child_here(name, inner)
            self.axes = axes
            return built
        inputs = {} if self.on_items or not isinstance(frame.module.inputs, dict) else frame.module.inputs
        modalities = [one for one in MODALITIES if name in inputs.get(one, ())]
        if not modalities:
            return self.child_here(name, inner)
        given = [one for one in modalities if self.section(frame, one)] or modalities[:1]
        self.towers |= {name for one in given if name == inputs[one][0]}
        return merge([self.run_section(frame, one, lambda: self.child_here(name, inner)) for one in given])

    def child_here(self, name: str, inner: Body) -> Node | None:
        """Build an attribute at the axes that are set; a hook for subclasses."""
        return super().child(name, inner)

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
            self.instructed |= "encoder_tokens" in frame.module.needs
            if modality in frame.module.needs:
                self.modalities[modality] = True
                if not frame.sections[modality]:
                    raise missing_items(modality, frame.module.name)
            for outer in self.frames:
                outer.inner.setdefault(modality, frame.sections[modality])
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
        found: list[Group] = []
        for count, size in given:
            grid = {**dict.fromkeys(GRID), MAPS: Maps(), **dict(zip(names, size, strict=True))}
            tokens = UNKNOWN if UNKNOWN in size else prod(size)
            none = {"past": 0, "encoder_tokens": 0, "new_encoder_tokens": 0}
            more = {"batch": count, "tokens": tokens, "context": tokens, "modality": modality}
            more |= {FRESH: True, GRADIENT: False, "first": not found}
            found.append(Group({**axes, **none, **grid, **more}))
        return found

    def fit_size(self, module: Module, frame: Frame) -> None:
        """Check the only size that a module takes, or decide it if none is given."""
        assert module.sizes is not None and frame.axes is not None
        modality = frame.axes["modality"]
        # frames that run as images have no axis
        names = [name for name in MODALITIES[modality] if frame.axes[name] is not None]
        size = _flatten(self.evaluate(module.sizes, frame.local))
        size = [*size, *size[-1:] * (len(names) - len(size))]
        given = [frame.axes[name] for name in names]
        if module.other_sizes == "multiples":
            self._check_multiples(modality, names[-2:], given[-2:], size[-2:])
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
            takes = ("at most " if module.other_sizes == "less" else "") + value_text(size)
            message = f"{module.name} takes {modality} of {takes}, not {value_text(given)}"
            is_whole = len(size) == len(MODALITIES[modality])  # not that of a frame
            written = f"{modality} of {takes}"
            if is_whole:
                written = option(modality, [written_size(map(value_of, size))])
            raise ArchspecError(message, help=f"pass {written}, or leave out {option(modality)}")

    def _check_multiples(self, modality: str, names: list[str], given: list[Any], units: list[Any]) -> None:
        if UNKNOWN in given:
            raise unknown_size(modality)
        if any(value_of(unit) < 1 for unit in units):
            message = f"the forward pass fails: {modality} have patches of {value_text(units)}"
            raise ArchspecError(message, help="change the sizes in the config that set them")
        if any(size % unit != 0 for size, unit in zip(given, units, strict=True)):
            message = f"{' and '.join(names)} of {modality} must be multiples of {value_text(units)}"
            help_ = f"pass other sizes, or leave out {option('processed')}"
            raise ArchspecError(f"{message}, not {value_text(given)}", help=help_)

    def takes_others(self, module: Module) -> bool:
        """Return True if a module takes items of other sizes than its `sizes:`."""
        return module.other_sizes == "any" or (module.other_sizes == "interpolated" and self.textless)

    def media_tokens(self, name: str, frame: Frame) -> Any:
        """Return the tokens of all items of a modality, for each sequence."""
        modality = f"{name.partition('_')[0]}s"
        outer = self.axes or {}
        groups = frame.sections.get(modality) or frame.inner.get(modality, [])
        if groups:
            self._check_shares(modality, groups, frame)
        if len(groups) == 1 and value_of(groups[0].start["batch"]) == value_of(outer["batch"]):
            return groups[0].now["tokens"]
        total = sum(group.now["batch"] * group.now["tokens"] for group in groups)
        return total // outer["batch"] if groups else 0

    def _check_shares(self, modality: str, groups: list[Group], frame: Frame) -> None:
        """Check that sequences that attend to items have equally many: one each if they need one."""
        assert frame.module is not None and self.axes is not None
        number = sum(value_of(group.start["batch"]) for group in groups)
        batch, name, one = value_of(self.axes["batch"]), frame.module.name, modality[:-1]
        if not self.modalities.get(modality):
            if number % batch:
                message = f"{number} {modality} for {batch} sequences: {name} takes as many for each of them"
                raise ArchspecError(message, help=f"pass a multiple of {batch}")
            return
        if number != batch:
            message = f"{name} takes one {one} for each sequence"
            message += f": {number} do not fit {option('batch', batch)}"
            raise ArchspecError(message, help=f"pass {option('batch', number)}, or {batch} of the {modality}")
        if len({value_of(group.now["tokens"]) for group in groups}) > 1:
            message = f"{name} takes {modality} of one size in a forward pass"
            raise ArchspecError(message, help=f"run it on each {one} by itself")

    def number_of_items(self, modality: str, frame: Frame) -> Any:
        """Return the number of a call's items of a modality."""
        groups = frame.sections.get(modality, [])
        return sum(group.start["batch"] for group in groups[1:]) + groups[0].start["batch"] if groups else 0

    def of_all(self, name: str, node: ast.expr, local: Locals) -> Any:
        """Return the sum or the maximum of an expression's values over all items that run together.

        The maximum is at least the patches that a processor pads each item to.
        """
        frame, found = self.frames[-1], []
        outer, groups = frame.now, self.open_groups
        if not self.on_items:  # of all modalities
            groups = [group for each in {**frame.inner, **frame.sections}.values() for group in each]
        for group in groups:
            frame.now = group.start
            value = self.visit(node, dict(local))
            found.append(value if name == "most" else group.start["batch"] * value)
        frame.now = outer
        if name == "most":
            found += {patches for group in groups for patches in _padding(group.start)}
        if len(found) < 2:
            return found[0] if found else 0
        return self.apply_function(max, found, node) if name == "most" else sum(found[1:], start=found[0])

    def leave(self, built: Node, module: Module, frame: Frame) -> None:
        """Set the axes after a module, and the tokens that its items take the place of."""
        if self.on_items:
            if module.after:
                after = {name: self.evaluate_now(value) for name, value in module.after.items()}
                self.flow(after, module.name)
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


def only_modality(scope: Scope, module: Module) -> str | None:
    """Return the modality that all of an architecture runs on; None for one that takes text, too."""
    stated = module.inputs if isinstance(module.inputs, str) else ""
    found = stated or ("" if module.inputs else scope.spec.inputs)
    return found if found in MODALITIES else None


def _flatten(value: Any) -> list[Any]:
    return [one for item in value for one in _flatten(item)] if isinstance(value, list) else [value]


def _padding(axes: Axes) -> list[int]:
    """Return the patches that a processor pads each item of a group to, if it does."""
    return [patches for modality, patches in axes["padding"] if modality == axes["modality"]]
