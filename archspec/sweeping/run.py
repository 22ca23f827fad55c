"""The exact count, run on numbers of a trace: the same scope, builder and tensors as a plain count uses.

A run gives what the count is as a function of the swept fields, and the conditions under which that holds. What the
code does with a swept field that is no arithmetic (a loop over layers that differ by their index, a list's length)
holds the trace to the field's value, so that the result is exact there and another run gives it elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from archspec.counts import counted
from archspec.errors import ConfigError
from archspec.expression import MAX_ITEMS, Evaluator, Locals, names
from archspec.scope import Scope, SubConfig
from archspec.spec import Field, Spec
from archspec.sweeping.number import plain, traced
from archspec.tensors import MAX_MODULES, MAX_TENSORS, tensors
from archspec.tree import Builder, Node


class Loops(Exception):
    """A loop's turns have to be told apart: the run starts again with every loop unrolled."""


class TracedRange:
    """`range(start, stop)` whose ends vary."""

    def __init__(self, start: Any, stop: Any) -> None:
        self.start, self.stop = start, stop

    def plain(self) -> range:
        return range(plain(self.start), plain(self.stop))

    @property
    def length(self) -> Any:
        return self.stop - self.start if self.stop > self.start else 0


class _Traced(Evaluator):
    """What differs in evaluating expressions: conversions keep the trace."""

    def function(self, name: str, arguments: list[Any], node: ast.Call) -> Any:
        first: Any = arguments[0] if len(arguments) == 1 else None
        if traced(first) and name in ("int", "float"):
            return first.whole("trunc") if name == "int" else first.real()
        if name in ("sum", "prod"):  # their rounding of floats is Python's own
            arguments = [_without_floats(argument) for argument in arguments]
        return super().function(name, arguments, node)


def _without_floats(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_floats(item) for item in value]
    return plain(value) if traced(value) and isinstance(value, float) else value


class TracedPart(SubConfig):
    """A sub-config whose scope is traced too."""

    def opened(self, spec: Spec) -> Scope:
        return TracedScope(spec, self.raw, self.origin)


class TracedScope(_Traced, Scope):
    """A config some of whose fields are numbers of a trace."""

    def _sub_config(self, field: Field, value: Any) -> Any:
        found = super()._sub_config(field, value)
        if not isinstance(found, SubConfig):
            return found
        part = TracedPart.__new__(TracedPart)
        part.__dict__.update(found.__dict__)
        return part


class TracedBuilder(_Traced, Builder):
    """A builder that builds a loop's body once where all turns are alike, and remembers how many there are.

    ``unroll`` builds every turn, which needs the number of layers to be a plain one.
    """

    def __init__(self, scope: Scope, unroll: bool) -> None:
        super().__init__(scope)
        self.unroll = unroll

    def memo_key(self, module: Any, scope: Scope, arguments: Locals) -> Any:
        if not any(isinstance(value, TracedRange) or traced(value) for value in arguments.values()):
            return super().memo_key(module, scope, arguments)
        loose = {name: value for name, value in arguments.items() if not traced(value)}
        bound = tuple((name, value.node.number) for name, value in arguments.items() if traced(value))
        return super().memo_key(module, scope, loose), bound

    def function(self, name: str, arguments: list[Any], node: ast.Call) -> Any:
        if name == "range" and not self.unroll and len(arguments) < 3 and any(map(traced, arguments)):
            return TracedRange(*([0, *arguments] if len(arguments) == 1 else arguments))
        if name == "len" and len(arguments) == 1 and isinstance(arguments[0], TracedRange):
            return arguments[0].length
        for argument in arguments:
            _alike(argument)
        return super().function(name, [_unrolled(argument) for argument in arguments], node)

    def iterate(self, value: Any, node: ast.expr) -> Iterable[Any]:
        _alike(value)
        return super().iterate(_unrolled(value), node)

    def item(self, value: Any, index: Any, node: ast.Subscript) -> Any:
        _alike(value)
        return super().item(_unrolled(value), plain(index), node)

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> Any:
        return super().compare(op, _unrolled(left), _unrolled(right), node)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> list[Any]:
        first = node.generators[0]
        if len(node.generators) == 1 and not first.ifs and not names(first.target) & names(node.elt):
            source = self.visit(first.iter, local)
            if isinstance(source, TracedRange):
                return self.alike(source, node, local)
        return super().visit_ListComp(node, local)

    def alike(self, source: TracedRange, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> list[Any]:
        """The turns of a loop that are all the same: one module that stands for all, or the value as often."""
        count = source.length
        if count > MAX_ITEMS:
            self.iterate(source, node.generators[0].iter)  # refuses
        if not count:
            return []
        value = self.visit(node.elt, local)
        if not isinstance(value, Node):
            return [value] * plain(count)
        value = value.copy()
        value.turn = count
        return [value]


def _unrolled(value: Any) -> Any:
    return value.plain() if isinstance(value, TracedRange) else value


def _alike(value: Any) -> None:
    """One module that stands for many is no list of them."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    if any(isinstance(item, Node) and item.turn is not None for item in items):
        raise Loops


def counts(scope: Scope, architecture: str) -> dict[str, Any]:
    """The quantities of :func:`archspec.counts.counted`, as numbers of the scope's trace."""
    try:
        root = TracedBuilder(scope, unroll=False).build(architecture)
        return counted(_repeated(root))
    except Loops:
        return counted(tensors(TracedBuilder(scope, unroll=True).build(architecture)))


def _repeated(root: Node) -> list[Any]:
    """The tensors, those of a repeated module with the elements of all its turns."""
    repeats = dict(_repetitions(root, ""))
    if not repeats:
        return list(tensors(root))
    if any(_meets(end, path) for end in _tied_paths(root, "") for path in repeats):
        raise Loops  # ties name the layers one by one
    found = []
    for tensor in tensors(root):
        times: Any = 1
        for path, count in repeats.items():
            if tensor.name == path or tensor.name.startswith(path + "."):
                times = times * count
        found.append(tensor._replace(numel=tensor.numel * times, active=tensor.active * times))
    modules, listed, last = _sizes(root, 1)
    if modules > MAX_MODULES or listed - last > MAX_TENSORS:  # as a plain list is refused
        raise ConfigError(f"more than {MAX_MODULES:,} modules or {MAX_TENSORS:,} tensors are not listed")
    return found


def _sizes(node: Node, times: Any) -> tuple[Any, Any, int]:
    """How many modules and tensors a tree has, and how many tensors its last module."""
    modules, listed, last = times, times * len(node.tensors), len(node.tensors)
    children = sorted(node.children.values(), key=lambda child: child.cls not in ("Parameter", "Buffer"))
    for child in children:
        more, others, last = _sizes(child, times if child.turn is None else times * child.turn)
        modules, listed = modules + more, listed + others
    return modules, listed, last


def _repetitions(node: Node, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, child in node.children.items():
        path = f"{prefix}.{name}" if prefix else name
        if child.turn is not None:
            yield path, child.turn
        yield from _repetitions(child, path)


def _tied_paths(node: Node, prefix: str) -> Iterator[str]:
    for target, source, _ in node.ties:
        yield from (f"{prefix}.{end}" if prefix else end for end in (target, source))
    if node.module is not None:
        for tie in node.module.ties:  # those of output matrices count as ties even where they do not hold
            yield from (f"{prefix}.{end}" if prefix else end for end in (tie.target, tie.source))
    for name, child in node.children.items():
        yield from _tied_paths(child, f"{prefix}.{name}" if prefix else name)


def _meets(end: str, path: str) -> bool:
    """Whether a tie's end lies within a list that holds a repeated module, or around it."""
    holder = path.rpartition(".")[0]
    return (end + ".").startswith(holder + ".") or (holder + ".").startswith(end + ".")
