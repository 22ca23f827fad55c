"""Reading, 1 of 19: both ways of a condition, and what they leave behind joined.

Everything that code can change is changed through :meth:`State.write`, which can be taken back: a
branch is read, its changes are set aside, the other one is read, and the two are merged into values
that depend on the condition. A way that raises becomes a requirement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.certain import always, for_all
from archspec.deriving.reading.entries import aligned
from archspec.deriving.reading.lists import joined
from archspec.deriving.reading.terms import Facts
from archspec.deriving.reading.values import (
    CLOCK,
    MISSING,
    UNKNOWN,
    Choice,
    Config,
    Container,
    Failed,
    Instance,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Raised,
    Sym,
    Tensor,
    TensorOf,
    Unsupported,
    is_entry,
    present,
    symbolic,
    witness,
)
from archspec.errors import Place, Problem

Write = tuple[dict[Any, Any], Any, Any]
MAX_FORKS = 4_000


class Frame:
    """A module that is being read: what it demands, the loops and conditions that one is inside of."""

    def __init__(self, facts: Facts | None = None) -> None:
        self.path: list[ast.expr] = []
        self.loops: list[tuple[ast.expr, ast.expr]] = []
        self.require: dict[str, ast.expr] = {}
        self.soft: dict[str, ast.expr] = {}
        self.notes: dict[str, None] = {}
        self.made: dict[int, Any] = {}  # the modules with demands of their own, where they were made


class State:
    """The machine's memory."""

    def __init__(self) -> None:
        self.log: list[Write] = []
        self.facts = Facts()
        self.frames: list[Frame] = [Frame()]
        self.forks = 0
        self.unread = 0
        self.skipped: dict[str, Problem] = {}  # the statements that were not read
        self.turns: list[
            tuple[ast.expr, ast.expr] | None
        ] = []  # the loops of the code; None for one that is read turn by turn

    def write(self, container: dict[Any, Any], key: Any, value: Any) -> None:
        self.log.append((container, key, container.get(key, MISSING)))
        container[key] = value

    def erase(self, container: dict[Any, Any], key: Any) -> None:
        self.log.append((container, key, container.get(key, MISSING)))
        container.pop(key, None)

    def rollback(self, mark: int) -> dict[tuple[int, Any], Write]:
        """Takes back all writes since a mark; gives what they had left behind."""
        left: dict[tuple[int, Any], Write] = {}
        for container, key, _ in self.log[mark:]:
            left[id(container), key] = (container, key, container.get(key, MISSING))
        for container, key, old in reversed(self.log[mark:]):
            if old is MISSING:
                container.pop(key, None)
            else:
                container[key] = old
        del self.log[mark:]
        return left

    def replay(self, writes: dict[tuple[int, Any], Write]) -> None:
        for container, key, value in writes.values():
            if value is MISSING:
                self.erase(container, key)
            else:
                self.write(container, key, value)

    def note(self, text: str) -> None:
        self.frames[-1].notes.setdefault(text)

    def skip(self, text: str, reason: str, place: Place | None = None) -> None:
        """A statement that was not read is a comment."""
        self.unread += 1
        self.skipped[text] = Problem(f"not supported: {reason}", place)
        self.note(f"not read: {text} ({reason})")

    def fresh(self, name: str) -> str:
        return f"${name.lstrip('_') or 'i'}.{next(CLOCK)}"

    def demand(self, condition: ast.expr) -> None:
        """A requirement that need not be said where the draft's own expressions fail without it."""
        frame = self.frames[-1]
        before, frame.require = frame.require, frame.soft
        self.require(condition)
        frame.soft, frame.require = frame.require, before

    def require(self, condition: ast.expr) -> None:
        """The condition holds for every config that gets here."""
        frame = self.frames[-1]
        guards = [terms.negation(part) for part in frame.path]
        needed = condition
        if terms.text(condition) in frame.require:  # whatever this one stands under
            return
        for target, iterable in reversed(frame.loops):
            inner = [guard for guard in guards if terms.names(guard) & terms.names(target)]
            guards = [guard for guard in guards if not terms.names(guard) & terms.names(target)]
            needed = terms.either([*inner, needed])
            needed = for_all(needed, target, iterable)
        needed = terms.either([*guards, needed])
        parts = (
            needed.values if isinstance(needed, ast.BoolOp) and isinstance(needed.op, ast.And) else [needed]
        )
        for part in parts:
            if not isinstance(part, ast.Constant) and not always(part):
                frame.require.setdefault(terms.text(part), part)

    def fork(self, test: ast.expr, holds: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """Both ways of a condition, merged; ``holds`` is what it is at the default config."""
        test = self.facts.decide(test)
        if isinstance(test, ast.Constant):
            return then() if test.value else other()
        self.forks += 1
        if self.forks > MAX_FORKS:
            raise Unsupported("too many conditions")
        mark = len(self.log)
        one = self.attempt(then, test, True)
        writes = self.rollback(mark)
        two = self.attempt(other, test, False)
        if isinstance(one, Raised) and isinstance(two, Raised):
            raise one
        for failed in (one, two):
            if isinstance(failed, Failed):
                self.note(f"refused where Python fails: {failed}"[:160])
        if isinstance(one, Raised):
            self.require(terms.negation(test))
            self.facts.learn(test, False)
            return two
        others = self.rollback(mark)
        if isinstance(two, Raised):
            self.require(test)
            self.facts.learn(test, True)
            self.replay(writes)
            return one
        aligned(writes, others, self.facts_where(test, True).equal)
        aligned(others, writes, self.facts_where(test, False).equal)
        for key in sorted(
            writes | others, key=lambda key: key[1] != "parts"
        ):  # lists first: others may hold them
            container, name, _ = (writes | others)[key]
            old = container.get(name, MISSING)
            left = writes[key][2] if key in writes else old
            right = others[key][2] if key in others else old
            if isinstance(name, str) and name.startswith("$grad."):
                left, right = (True if side is MISSING else side for side in (left, right))
            if is_entry(container, left, right):
                merged: Any = Choice(test, present(left), present(right), holds)
            elif name == "parts" and isinstance(left, tuple) and isinstance(right, tuple):
                merged = self.merge_lists(test, ListValue.of(left), ListValue.of(right), holds).parts
            else:
                merged = self.merge(test, left, right, holds)
            if merged is MISSING:
                self.erase(container, name)
            else:
                self.write(container, name, merged)
        return self.merge(test, one, two, holds)

    def attempt(self, run: Callable[[], Any], test: ast.expr, way: bool) -> Any:
        before, self.facts = self.facts, self.facts_where(test, way)
        frame = self.frames[-1]
        frame.path.append(test if way else terms.negation(test))
        try:
            return run()
        except Raised as error:
            return error
        finally:
            frame.path.pop()
            self.facts = before

    def merge(self, test: ast.expr, one: Any, two: Any, holds: Any) -> Any:
        """A value that is ``one`` where the condition holds, ``two`` elsewhere."""
        if one is two:
            return one
        if one is MISSING or two is MISSING:
            kept = two if one is MISSING else one
            if isinstance(kept, Mod):
                return self.mixed(
                    test, None if one is MISSING else one, None if two is MISSING else two, holds
                )
            if isinstance(kept, type):  # the code fails where it calls it on the other way
                return Choice(test, one, two, holds)
            if isinstance(kept, TensorOf):  # a tie on one of the ways
                return Choice(test, None if one is MISSING else one, None if two is MISSING else two, holds)
            return kept
        if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
            if one and isinstance(one[0], str) and one[0] == "$status" and one[1] != two[1]:
                return self.gone_on(test, one, two)
            return tuple(self.merge(test, a, b, holds) for a, b in zip(one, two, strict=True))
        modules = [side for side in (one, two) if isinstance(side, Mod)]
        if modules and all(isinstance(side, Mod) or side is None for side in (one, two)):
            return self.mixed(test, one, two, holds)
        if isinstance(one, ListValue) and isinstance(two, ListValue):
            return self.merge_lists(test, one, two, holds)
        if isinstance(one, Config) and isinstance(two, Config) and one.path == two.path:
            merged = one.copy(False)
            for key in one.store | two.store:
                field = one.store.get(key, MISSING), two.store.get(key, MISSING)
                sides = [
                    Sym(one.node(key), getattr(one.real, key, UNKNOWN)) if side is MISSING else side
                    for side in field
                ]
                merged.store[key] = self.merge(test, sides[0], sides[1], holds)
            return merged
        if (
            isinstance(one, Tensor)
            and isinstance(two, Tensor)
            and one.shape
            and two.shape
            and len(one.shape) == len(two.shape)
        ):
            sizes = [self.merge(test, a, b, holds) for a, b in zip(one.shape, two.shape, strict=True)]
            return Tensor(sizes, (one if holds is True else two).real, one.trainable)
        seen = (one if holds is True else two) if holds is not UNKNOWN else UNKNOWN
        try:
            if isinstance(one, dict) or isinstance(two, dict):
                raise Unsupported("a dict")
            first, second = self.node_where(one, test, True), self.node_where(two, test, False)
        except Unsupported:
            if not symbolic(one) and not symbolic(two) and type(one) is type(two):
                try:
                    if bool(one == two):
                        return one
                except Exception:
                    pass
            if isinstance(one, Sym) and isinstance(two, Sym):
                return Sym(None, getattr(seen, "value", UNKNOWN))
            return Choice(test, one, two, holds)
        types = (
            tuple(dict.fromkeys((*self.types(one), *self.types(two))))
            if self.types(one) and self.types(two)
            else ()
        )
        joined = terms.conditional(test, first, second)
        if terms.is_constant(joined):
            return terms.value_of(joined)
        return Sym(joined, witness(seen), types)

    def gone_on(self, test: ast.expr, one: Any, two: Any) -> Any:
        """How the code goes on after two ways that go on differently, where that comes to the same."""
        raise Unsupported("two ways of a condition that go on differently")

    def node_where(self, value: Any, test: ast.expr, holds: bool) -> ast.expr:
        """A value's expression, given that a condition holds or does not."""
        before, self.facts = self.facts, self.facts_where(test, holds)
        try:
            return self.node(value)
        finally:
            self.facts = before

    def facts_where(self, test: ast.expr, holds: bool) -> Facts:
        """What is known where a condition holds, or does not."""
        found = Facts(self.facts)
        found.learn(test, holds)
        return found

    def types(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, Sym):
            return value.types
        if isinstance(value, ListValue | tuple):
            return ("list",)
        kind = type(value).__name__
        return (
            ("None",)
            if value is None
            else (kind,)
            if kind in ("int", "float", "bool", "str", "list", "dict")
            else ()
        )

    def mixed(self, test: ast.expr, one: Any, two: Any, holds: Any) -> Any:
        if one is None and two is None:
            return None
        if isinstance(one, Mix) and terms.text(one.test) == terms.text(test):
            one = one.then
        if isinstance(two, Mix) and terms.text(two.test) == terms.text(test):
            two = two.other
        if type(one) is type(two) and isinstance(one, Instance | Leaf) and self.alike(one, two):
            return one
        if (
            isinstance(one, Container)
            and isinstance(two, Container)
            and one.kind == two.kind
            and one.kind != "ModuleDict"
        ):
            return Container(one.cls, one.kind, self.merge_lists(test, one.items, two.items, holds))
        return Mix(test, one, two, holds)

    def alike(self, one: Any, two: Any) -> bool:
        """Whether two modules made on two ways are built alike."""
        raise NotImplementedError

    def merge_lists(self, test: ast.expr, one: ListValue, two: ListValue, holds: Any) -> ListValue:
        common = 0
        for a, b in zip(one.parts, two.parts, strict=False):
            if a is not b and not (a[0] == b[0] and all(x is y for x, y in zip(a, b, strict=False))):
                break
            common += 1
        first, second = ListValue.of(one.parts[common:]), ListValue.of(two.parts[common:])
        if not first.parts and not second.parts:
            return one
        if first.plain and second.plain and len(first.parts) == len(second.parts):
            pairs = zip(first.items(), second.items(), strict=True)
            return ListValue.of(
                [*one.parts[:common], *(("item", self.merge(test, a, b, holds)) for a, b in pairs)]
            )
        return ListValue.of([*one.parts[:common], ("if", test, first, second, holds)])

    def node(self, value: Any) -> ast.expr:
        """The expression of a scalar or list.

        Errors: :class:`Unsupported` for what the spec language has no word for.
        """
        if isinstance(value, Sym):
            if value.node is not None:
                return self.facts.simplify(value.node)
            if value.value is UNKNOWN:
                raise Unsupported("a value that is not known")
            found = self.node(value.value)
            found.seen = True  # type: ignore[attr-defined]  # said in the draft where it is used
            return found
        if isinstance(value, ListValue):
            return self.joined_lists(value, self.node)
        if isinstance(value, list | tuple):
            return terms.listed([self.node(item) for item in value])
        if isinstance(value, range) and value.step == 1:
            return terms.call(
                "range", *map(terms.constant, (value.start, value.stop) if value.start else (value.stop,))
            )
        if isinstance(value, dict):
            return ast.Dict([self.node(key) for key in value], [self.node(item) for item in value.values()])
        if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
            return self.node(value.item())
        if isinstance(value, bool | int | float | str | None):
            if isinstance(value, float) and value in (float("inf"), float("-inf")):
                raise Unsupported("an infinite number")
            return terms.constant(getattr(value, "value", value) if not isinstance(value, int) else value)
        if isinstance(value, Config) and (part := value.expression()) is not None:
            return part
        if (
            isinstance(value, Tensor)
            and value.real is not None
            and not (value.real.dim() or value.real.is_meta)
        ):
            return self.node(Sym(None, value.real.item()))  # one number, as it came out at the default config
        raise Unsupported(f"{type(value).__name__} has no expression")

    def joined_lists(self, value: ListValue, item_node: Callable[[Any], ast.expr]) -> ast.expr:
        """A list's parts as one expression: `[a, b] + [f(i) for i in range(n)]`."""
        return joined(value, item_node, self.node, self.facts.decide)
