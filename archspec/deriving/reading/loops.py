"""Reading, 7 of 19: loops, over a known length turn by turn, over the config's own lengths once, as a loop of
the draft."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Literal

from archspec.deriving.reading import terms
from archspec.deriving.reading.copies import base_of
from archspec.deriving.reading.recurrences import Recurrences, rebound
from archspec.deriving.reading.values import (
    MISSING,
    UNKNOWN,
    Choice,
    Container,
    Env,
    Instance,
    Iter,
    ListValue,
    Mod,
    PerLayer,
    Sym,
    Tensor,
    Unsupported,
    symbolic,
)

Status = tuple[str, str, Any]
MAX_TURNS = 400
MAX_TOGETHER = 4_000  # turns of loops within loops


class Loops(Recurrences):
    """Comprehensions and for statements."""

    together = 1  # how often the loops that one is inside of are read in all

    def block(self, statements: list[ast.stmt], env: Env) -> Status:
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any, env: Env) -> None:
        raise NotImplementedError

    def spread(self, value: Any) -> list[Any] | None:
        """The items of something whose length is known, None otherwise."""
        if isinstance(value, Choice):
            raise Unsupported("a loop over one of two things")
        if isinstance(value, Iter):
            parts = [self.spread(part) for part in value.parts]
            if any(part is None for part in parts):
                return None
            lists = [part for part in parts if part is not None]
            if value.kind == "zip":
                return list(zip(*lists, strict=False))
            if value.kind == "enumerate":
                return [
                    (self.binary(ast.Add, index, value.start), item) for index, item in enumerate(lists[0])
                ]
            return list(reversed(lists[0]))
        if isinstance(value, Container):
            if isinstance(value.items, dict):
                return list(value.items)
            return (
                [part[1] for part in value.items.parts]
                if all(part[0] in ("item", "each") for part in value.items.parts)
                else None
            )
        if isinstance(value, Instance) and isinstance(value.base, Container):
            return self.spread(base_of(value))
        if isinstance(value, ListValue):
            if value.plain:
                return value.items()
            modules = all(part[0] in ("item", "each") and isinstance(part[1], Mod) for part in value.parts)
            return [part[1] for part in value.parts] if modules else None
        if isinstance(value, Sym):
            if value.node is None and isinstance(value.value, list | tuple | range):
                return [Sym(None, item) for item in value.value]
            return None
        if isinstance(value, Tensor):
            if value.real is not None and value.real.dim() and value.real.shape[0] <= MAX_TURNS:
                return [Tensor(None, item) for item in value.real]
            raise Unsupported("a loop over a tensor")
        if isinstance(value, Mod):
            raise Unsupported(f"a loop over {value.cls.__name__}")
        if isinstance(value, PerLayer):
            raise Unsupported("a loop over the layers' configs")
        return list(value)

    def opened(self, target: ast.expr, value: Any) -> tuple[ast.expr, ast.expr, Any]:
        """A loop's target and iterable as the draft has them, and what the target stands for in it."""
        if isinstance(value, Iter) and value.kind == "enumerate" and value.start == 0:
            if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                index, inner = target.elts
            else:
                index, inner = ast.Name("i"), ast.Name("item")
            counter = self.fresh(index.id if isinstance(index, ast.Name) else "i")
            node, iterable, item = self.opened(inner, value.parts[0])
            both = ast.Tuple([terms.name(counter), node], ast.Store())
            return both, terms.call("enumerate", iterable), (Sym(terms.name(counter), 0, ("int",)), item)
        if isinstance(value, Iter) and value.kind == "zip":
            elements = (
                target.elts
                if isinstance(target, ast.Tuple) and len(target.elts) == len(value.parts)
                else [ast.Name("x")] * len(value.parts)
            )
            opened = [self.opened(one, part) for one, part in zip(elements, value.parts, strict=True)]
            return (
                ast.Tuple([part[0] for part in opened], ast.Store()),
                terms.call("zip", *(part[1] for part in opened)),
                tuple(part[2] for part in opened),
            )
        if (
            isinstance(value, ListValue)
            and isinstance(value.length, Sym)
            and value.length.node is not None
            and value.parts
        ):
            position = terms.name(self.fresh("i"))  # how long it is elsewhere is known, not what it holds
            return position, terms.call("range", value.length.node), value.items()[0]
        iterable = self.iterable(value)
        seen = self.seen_list(value)
        first = seen[0] if seen else UNKNOWN
        if (
            isinstance(target, ast.Tuple)
            and isinstance(first, list | tuple)
            and len(first) == len(target.elts)
        ):
            names = [self.fresh(part.id if isinstance(part, ast.Name) else "x") for part in target.elts]
            items = tuple(Sym(terms.name(n), v, _type(v)) for n, v in zip(names, first, strict=True))
            return ast.Tuple([terms.name(n) for n in names], ast.Store()), iterable, items
        variable = self.fresh(target.id if isinstance(target, ast.Name) and target.id != "_" else "i")
        uniform = {_type(item) for item in seen or ()}
        types = next(iter(uniform)) if len(uniform) == 1 else ()
        return terms.name(variable), iterable, Sym(terms.name(variable), first, types)

    def seen_list(self, value: Any) -> list[Any] | None:
        found = self.seen(list, value)
        return None if found is UNKNOWN else found

    def on_ListComp(self, node: ast.ListComp | ast.GeneratorExp, env: Env) -> Any:
        over = self.evaluate(node.generators[0].iter, env)
        made = ListValue.of(
            self.comprehended(node.generators, env, lambda inner: self.evaluate(node.elt, inner), over)
        )
        if len(node.generators) == 1 and not node.generators[0].ifs:
            made.length = (
                over.shape[0] if isinstance(over, Tensor) and over.shape else getattr(over, "length", None)
            )
        return made

    def on_GeneratorExp(self, node: ast.GeneratorExp, env: Env) -> Any:
        return self.on_ListComp(node, env)

    def on_SetComp(self, node: ast.SetComp, env: Env) -> Any:
        found = ListValue.of(
            self.comprehended(node.generators, env, lambda inner: self.evaluate(node.elt, inner))
        )
        return set(found.items()) if found.plain and not symbolic(found.items()) else found

    def on_DictComp(self, node: ast.DictComp, env: Env) -> Any:
        def pair(inner: Env) -> Any:
            return (self.evaluate(node.key, inner), self.evaluate(node.value, inner))

        parts = self.comprehended(node.generators, env, pair)
        if all(part[0] == "item" and not isinstance(part[1][0], Sym) for part in parts):
            return {part[1][0]: part[1][1] for part in parts}
        if len(parts) == 1 and parts[0][0] == "each":
            _, (key, value), turns = parts[0]
            if not isinstance(value, Mod):
                generators = [
                    ast.comprehension(t, i if isinstance(i, ast.expr) else self.iterable(i), list(ifs), 0)
                    for t, i, ifs in turns
                ]
                return Sym(ast.DictComp(self.node(key), self.node(value), generators), UNKNOWN, ("dict",))
            return {"$each": parts[0]}
        raise Unsupported("a dict whose keys depend on the config")

    def comprehended(
        self,
        generators: list[ast.comprehension],
        env: Env,
        element: Callable[[Env], Any],
        over: Any = MISSING,
    ) -> list[Any]:
        """The parts of the list that a comprehension gives; ``over`` is what its first loop goes over, where
        that is known."""
        first, rest = generators[0], generators[1:]
        value = self.evaluate(first.iter, env) if over is MISSING else over
        items = self.spread(value)
        if items is not None:
            parts: list[Any] = []
            for item in items:
                inner = env.inner()
                self.assign(first.target, item, inner)
                tests = self.tests(first.ifs, inner)
                if tests is False:
                    continue
                found = self.comprehended(rest, inner, element) if rest else [("item", element(inner))]
                for test in tests or []:
                    found = [("if", test, ListValue.of(found), ListValue(), UNKNOWN)]
                parts += found
            return parts
        target, iterable, item = self.opened(first.target, value)
        inner = env.inner()
        self.assign(first.target, item, inner)
        self.frames[-1].loops.append((target, iterable))
        try:
            tests = self.tests(first.ifs, inner)
            if tests is False:
                return []
            found = self.comprehended(rest, inner, element) if rest else [("item", element(inner))]
        finally:
            self.frames[-1].loops.pop()
        return self.looped(found, target, iterable, tests)

    def tests(self, conditions: list[ast.expr], env: Env) -> list[ast.expr] | Literal[False]:
        """The conditions of a comprehension, False where one never holds."""
        tests: list[ast.expr] = []
        for condition in conditions:
            truth, _ = self.truth(self.evaluate(condition, env), condition)
            if truth is False:
                return False
            if not isinstance(truth, bool):
                tests.append(truth)
        return tests

    def looped(self, parts: Any, target: ast.expr, iterable: ast.expr, tests: Any = ()) -> list[Any]:
        """The parts that one turn adds, over all turns."""
        turn = (target, iterable, tuple(tests))
        if len(parts) == 1 and parts[0][0] == "item":
            return [("each", parts[0][1], (turn,))]
        if len(parts) == 1 and parts[0][0] == "each":
            return [("each", parts[0][1], (turn, *parts[0][2]))]
        if len(parts) == 1 and parts[0][0] == "if" and not parts[0][3].parts:
            return self.looped(parts[0][2].parts, target, iterable, [*tests, parts[0][1]])
        item = self.fresh("item")
        return (
            [("each", Sym(terms.name(item), UNKNOWN), (turn, (terms.name(item), ListValue.of(parts), ())))]
            if parts
            else []
        )

    def on_for(self, statement: ast.For, env: Env) -> Status:
        value = self.evaluate(statement.iter, env)
        items = self.spread(value)
        if items is None:
            mark, frame = len(self.log), self.frames[-1]
            demands = dict(frame.require), dict(frame.soft)
            try:
                return self.symbolic_loop(statement, value, env)
            except Unsupported as error:
                self.rollback(mark)
                frame.require, frame.soft = demands
                items = self.unrolled(value, str(error))
        around, self.together = self.together, self.together * max(1, len(items))
        try:
            if len(items) > MAX_TURNS or self.together > MAX_TOGETHER:
                raise Unsupported(f"loops of {self.together} turns")
            for item in items:
                self.assign(statement.target, item, env)
                _, kind, result = self.once(statement, env, None)
                if kind == "return":
                    return ("$status", "return", result)
                if kind == "break":
                    return ("$status", "normal", None)
        finally:
            self.together = around
        return self.block(statement.orelse, env)

    def once(
        self, statement: ast.For | ast.While, env: Env, loop: tuple[ast.expr, ast.expr] | None
    ) -> Status:
        """The body of a loop: one turn, or any turn where the loop is one of the draft."""
        self.turns.append(loop)
        try:
            return self.block([*statement.body, ast.Continue()], env)
        finally:
            self.turns.pop()

    def gone_on(self, test: ast.expr, one: Status, two: Status) -> Status:
        """To break off in the last turn is to go on."""
        last = test if one[1] == "break" else terms.negation(test)
        if (
            {one[1], two[1]} == {"break", "continue"}
            and self.turns[-1] is not None
            and self.is_last(last, *self.turns[-1])
        ):
            return ("$status", "continue", None)
        found: Status = super().gone_on(test, one, two)
        return found

    def unrolled(self, value: Any, reason: str) -> list[Any]:
        """The turns at the default config."""
        seen = self.seen_list(value) if not isinstance(value, Iter) else None
        if isinstance(value, Iter):
            lists = [self.spread(part) or self.unrolled(part, reason) for part in value.parts]
            return list(zip(*lists, strict=False)) if value.kind == "zip" else list(enumerate(lists[0]))
        if seen is None:
            raise Unsupported(reason)
        self.note(f"a loop was unrolled for the default config only ({reason})")
        if isinstance(value, Sym) and isinstance(value.value, range):
            return seen
        return [self.item(value, index) for index in range(len(seen))]

    def symbolic_loop(self, statement: ast.For, value: Any, env: Env) -> Status:
        """One turn is read for all; what a turn leaves for the next is solved for its index."""
        target, iterable, item = self.opened(statement.target, value)
        frame = self.frames[-1]
        demands = dict(frame.require), dict(frame.soft)
        writes, first = self.turn(statement, (target, iterable, item), env, [])
        own = {part.id for part in ast.walk(statement.target) if isinstance(part, ast.Name)}
        if carried := rebound(writes, first, env.local, own):
            loop = self.counted_loop(target, iterable)
            given = [part.with_items(part.marked(self.fresh("carried"), self.types)) for part in carried]
            writes, _ = self.turn(statement, (target, iterable, item), env, given)
            chain = [step for part in carried for step in part.steps(writes)]
            target, iterable = loop
            solved = self.solve(chain, target, iterable)
            unread = self.unread
            frame.require, frame.soft = demands  # those of the other readings are in terms of the marks
            given = [part.with_items([solved[mark][0] for mark in part.marks]) for part in carried]
            writes, _ = self.turn(statement, (target, iterable, item), env, given)
            if self.unread > unread and any(here.node is None for here, _ in solved.values()):
                raise Unsupported("a value that every turn changes")
            for part in carried:
                writes.pop((id(part.container), part.key), None)
                self.write(*part.with_items([solved[mark][1] for mark in part.marks]))
        after = self.last(target, iterable)
        for container, name, left in writes.values():
            if isinstance(name, tuple):
                key, value = left
                dynamic = Container(
                    object, "Dynamic", ListValue.of(self.looped((("item", value),), target, iterable))
                )
                dynamic.attrs["$key"] = key
                self.write(container, f"$dynamic {terms.text(self.node(key))}", dynamic)
            elif name == "$pair":
                self.write(container, "$each", self.looped((("item", left),), target, iterable)[0])
            elif name == "parts" and isinstance(left, tuple):
                old = container.get("parts", ())
                if left[: len(old)] != old:
                    raise Unsupported("a list that is changed in a loop")
                added = left[len(old) :]
                self.write(
                    container, "parts", (*old, *self.looped(added, target, iterable)) if added else old
                )
            elif isinstance(left, ListValue) and isinstance(first.get((id(container), name)), ListValue):
                old = first[id(container), name].parts
                if left.parts[: len(old)] != old:
                    raise Unsupported("a list that is changed in a loop")
                added = left.parts[len(old) :]
                self.write(container, name, ListValue.of((*old, *self.looped(added, target, iterable))))
            elif left is not MISSING:
                self.write(container, name, self.outside(left, after) if container is env.local else left)
        return self.block(statement.orelse, env)

    def turn(
        self, statement: ast.For, loop: tuple[ast.expr, ast.expr, Any], env: Env, given: Any
    ) -> tuple[Any, Any]:
        """Reads the body once; what it wrote, and what stood there before."""
        target, iterable, item = loop
        mark = len(self.log)
        for container, key, value in given:
            self.write(container, key, value)
        start = len(self.log)
        self.assign(statement.target, item, env)
        self.frames[-1].loops.append((target, iterable))
        try:
            _, kind, _ = self.once(statement, env, (target, iterable))
        finally:
            self.frames[-1].loops.pop()
        if kind in ("return", "break"):
            raise Unsupported("a loop that ends early")
        first: dict[Any, Any] = {}
        for container, key, old in self.log[start:]:
            first.setdefault((id(container), key), old)
        writes = self.rollback(start)
        self.rollback(mark)
        return writes, first


def _type(value: Any) -> tuple[str, ...]:
    return () if value is UNKNOWN else ("None",) if value is None else (type(value).__name__,)
