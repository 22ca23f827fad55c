"""Statements of a constructor, and the functions that they are in."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from typing import Any

from archspec.derive import terms
from archspec.derive.loops import Loops, Status
from archspec.derive.values import (
    UNKNOWN,
    Choice,
    Config,
    Env,
    Function,
    Instance,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Parameters,
    Raised,
    Sym,
    Tensor,
    TensorOf,
    Unsupported,
    symbolic,
)

NORMAL: Status = ("$status", "normal", None)
MAX_DEPTH = 60
_ENDS = (ast.Return, ast.Continue, ast.Break)


class Statements(Loops):
    """Runs the bodies of functions."""

    depth = 0

    def block(self, statements: list[ast.stmt], env: Env) -> Status:
        for index, statement in enumerate(statements):
            if isinstance(statement, ast.If):
                ends = any(isinstance(part, _ENDS) for part in ast.walk(statement))
                rest = statements[index + 1 :] if ends else []
                status = self.on_if(statement, rest, env)
                if ends:
                    return status
            else:
                status = self.statement(statement, env)
            if status[1] != "normal":
                return status
        return NORMAL

    def on_if(self, statement: ast.If, rest: list[ast.stmt], env: Env) -> Status:
        truth, seen = self.truth(self.evaluate(statement.test, env), statement.test)
        if isinstance(truth, bool):
            return self.block([*(statement.body if truth else statement.orelse), *rest], env)
        found: Status = self.fork(
            truth, seen, lambda: self.block([*statement.body, *rest], env), lambda: self.block([*statement.orelse, *rest], env)
        )
        return found

    def statement(self, statement: ast.stmt, env: Env) -> Status:
        try:
            return self.any_statement(statement, env)
        except (Unsupported, Raised) as error:
            if not error.__dict__.get("told"):
                error.__dict__["told"] = True
                error.args = (f"{error} in `{ast.unparse(statement)[:90].splitlines()[0]}`",)
            raise

    def any_statement(self, statement: ast.stmt, env: Env) -> Status:
        if isinstance(statement, ast.Return):
            return ("$status", "return", self.evaluate(statement.value, env) if statement.value else None)
        if isinstance(statement, ast.Continue):
            return ("$status", "continue", None)
        if isinstance(statement, ast.Break):
            return ("$status", "break", None)
        if isinstance(statement, ast.Raise):
            raise Raised(ast.unparse(statement.exc) if statement.exc else "an exception")
        if isinstance(statement, ast.For):
            return self.on_for(statement, env)
        if isinstance(statement, ast.With):
            return self.block(statement.body, env)
        if isinstance(statement, ast.Try):
            return self.on_try(statement, env)
        if isinstance(statement, ast.While):
            return self.on_while(statement, env)
        self.simple(statement, env)
        return NORMAL

    def simple(self, statement: ast.stmt, env: Env) -> None:
        if isinstance(statement, ast.Expr):
            if not isinstance(statement.value, ast.Constant):
                self.evaluate(statement.value, env)
        elif isinstance(statement, ast.Assign):
            value = self.evaluate(statement.value, env)
            for target in statement.targets:
                self.assign(target, value, env)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self.assign(statement.target, self.evaluate(statement.value, env), env)
        elif isinstance(statement, ast.AugAssign):
            loaded = ast.copy_location(_loaded(statement.target), statement.target)
            value = self.binary(type(statement.op), self.evaluate(loaded, env), self.evaluate(statement.value, env))
            self.assign(statement.target, value, env)
        elif isinstance(statement, ast.Assert):
            truth, _ = self.truth(self.evaluate(statement.test, env), statement.test)
            if truth is False:
                raise Raised("AssertionError")
            if not isinstance(truth, bool):
                self.require(truth)
                self.facts.learn(truth, True)
        elif isinstance(statement, ast.FunctionDef):
            self.write(env.local, statement.name, Function(statement, env))
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self.delete(target, env)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            self.imported(statement, env)
        elif not isinstance(statement, ast.Pass | ast.Global | ast.Nonlocal):
            raise Unsupported(f"the statement {type(statement).__name__}")

    def imported(self, statement: ast.Import | ast.ImportFrom, env: Env) -> None:
        package = env.outer.get("__package__") or env.outer.get("__name__", "").rpartition(".")[0]
        module = ast.unparse(statement)
        names: dict[str, Any] = {"__package__": package, "__name__": env.outer.get("__name__")}
        try:
            exec(module, names)  # noqa: S102 - the import statement of the code that is read, as it stands
        except Exception as error:
            raise Raised(f"{type(error).__name__}: {error}") from error
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.write(env.local, name, names[name])

    def on_try(self, statement: ast.Try, env: Env) -> Status:
        mark = len(self.log)
        try:
            status = self.block([*statement.body, *statement.orelse], env)
        except Raised:
            self.rollback(mark)
            if not statement.handlers:
                raise
            handler = statement.handlers[0]
            if handler.name:
                self.write(env.local, handler.name, "an exception")
            status = self.block(handler.body, env)
        if status[1] == "normal" and statement.finalbody:
            return self.block(statement.finalbody, env)
        return status

    def on_while(self, statement: ast.While, env: Env) -> Status:
        for _ in range(200):
            truth, seen = self.truth(self.evaluate(statement.test, env), statement.test)
            if not isinstance(truth, bool):
                if seen is UNKNOWN:
                    raise Unsupported("a while loop on a condition of the config")
                self.note(f"`while {ast.unparse(statement.test)[:90]}` was run as at the default config")
                truth = bool(seen)
            if not truth:
                return NORMAL
            status = self.block([*statement.body, ast.Continue()], env)
            if status[1] == "return":
                return status
            if status[1] == "break":
                return NORMAL
        raise Unsupported("a while loop without end")

    def assign(self, target: ast.expr, value: Any, env: Env) -> None:
        if isinstance(target, ast.Name):
            self.write(env.local, target.id, value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.evaluate(target.value, env), target.attr, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self.unpack(target.elts, value, env)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value, env)
            if isinstance(target.slice, ast.Slice):
                if isinstance(owner, ListValue):
                    raise Unsupported("a part of a list that is set")
                return
            if isinstance(owner, Tensor):
                return
            self.set_item(owner, self.evaluate(target.slice, env), value)
        else:
            raise Unsupported("an assignment to something else than a name")

    def unpack(self, targets: list[ast.expr], value: Any, env: Env) -> None:
        starred = [index for index, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if isinstance(value, Choice):
            value = self.lift(value, lambda side: side)
        items = self.spread(value)
        if items is None:
            seen = self.seen_list(value)
            if starred:
                raise Unsupported("a starred assignment")
            if seen is not None and len(seen) != len(targets):
                raise Raised("ValueError: a wrong number of values to unpack")
            items = [self.item(value, index) for index in range(len(targets))]
        if starred:
            first, rest = starred[0], len(targets) - starred[0] - 1
            middle = ListValue(items[first : len(items) - rest])
            items = [*items[:first], middle, *items[len(items) - rest :]]
            targets = [target.value if isinstance(target, ast.Starred) else target for target in targets]
        if len(items) != len(targets):
            raise Raised("ValueError: a wrong number of values to unpack")
        for target, item in zip(targets, items, strict=True):
            self.assign(target, item, env)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(owner, Choice | Mix):
            self.fork(
                owner.test,
                owner.holds,
                lambda: self.set_attribute(owner.then, name, value),
                lambda: self.set_attribute(owner.other, name, value),
            )
        elif isinstance(owner, Config):
            self.set_config(owner, name, value)
        elif isinstance(owner, TensorOf):
            if name == "requires_grad":
                self.set_attribute(owner.owner, f"$grad.{owner.name}", value)
        elif isinstance(owner, Parameters):
            if name == "requires_grad":
                self.freeze(owner.owner, value)
        elif isinstance(owner, Leaf) and owner.kind == "Parameter" and name == "requires_grad":
            self.write(owner.flags, "frozen", self.call(lambda v: not v, [value], {}))
        elif isinstance(owner, Mod):
            self.set_module_attribute(owner, name, value)
        elif (
            owner is not None
            and not isinstance(owner, Sym | ListValue)
            and hasattr(owner, "__dict__")
            and not isinstance(owner, type)
        ):
            self.write(owner.__dict__, name, value)

    def set_module_attribute(self, owner: Mod, name: str, value: Any) -> None:
        if isinstance(owner, Instance) and owner.template is not None:
            self.write(owner.patched, name, value)
            return
        static = inspect.getattr_static(owner.cls, name, None)
        if isinstance(static, property) and static.fset is not None:
            self.run_function(static.fset, [owner, value], {})
            return
        if isinstance(static, dict) and name not in owner.attrs:
            owner.attrs[name] = static  # what a branch that sets nothing leaves
        self.write(owner.attrs, name, value)

    def set_config(self, config: Config, name: str, value: Any) -> None:
        name = getattr(config.cls, "attribute_map", {}).get(name, name)
        static = inspect.getattr_static(config.cls, name, None)
        if isinstance(value, Config):
            self.write(config.children, name, value)
        elif isinstance(static, property) and name not in ("num_labels",) or name.startswith("__"):
            return
        else:
            if name not in config.store and self.config_types(config, name) is not None:
                config.store[name] = self.attribute(config, name)  # what a branch that sets nothing leaves
            self.write(config.store, name, value)

    def config_types(self, config: Config, field: str) -> tuple[str, ...] | None:
        raise NotImplementedError

    def freeze(self, owner: Any, value: Any) -> None:
        if value is False and isinstance(owner, Mod):
            self.write(owner.flags, "frozen", True)
        elif isinstance(owner, Mod) and isinstance(value, Sym):
            self.write(owner.flags, "frozen", Sym(terms.negation(self.node(value)), UNKNOWN))

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        from archspec.derive.values import Container

        if isinstance(owner, dict) and isinstance(index, Sym) and self.frames[-1].loops:
            self.write(owner, "$pair", (index, value))
        elif isinstance(owner, dict):
            self.write(owner, self.hashable(index), value)
        elif isinstance(owner, ListValue):
            if owner.plain and type(index) is int:
                items = list(owner.parts)
                items[index] = ("item", value)
                self.write(owner.cell, "parts", tuple(items))
            elif index == -1 and len(owner.parts) == 1 and not isinstance(value, Mod):
                before = ListValue.of(owner.parts)
                self.write(owner.cell, "parts", (("all", self.item(before, slice(None, -1))), ("item", value)))
            else:
                raise Unsupported("an item of a list that is set")
        elif isinstance(owner, Container) and isinstance(owner.items, dict) and isinstance(index, Sym) and self.frames[-1].loops:
            self.write(owner.items, "$pair", (index, value))
        elif isinstance(owner, Container) and isinstance(owner.items, dict):
            self.write(owner.items, self.hashable(index), value)
        elif isinstance(owner, Container):
            self.set_item(owner.items, index, value)

    def delete(self, target: ast.expr, env: Env) -> None:
        if isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value, env)
            if isinstance(owner, Instance) and owner.template is None:
                self.erase(owner.attrs, target.attr)
            elif isinstance(owner, Instance):
                self.write(owner.patched, target.attr, None)
        elif isinstance(target, ast.Name):
            self.erase(env.local, target.id)

    def run_function(self, function: Any, arguments: list[Any], keywords: dict[str, Any], cls: Any = None) -> Any:
        """Reads a Python function on values that carry expressions.

        Errors: :class:`Unsupported` where its source is not to be had.
        """
        function = inspect.unwrap(function)
        if isinstance(function, functools.partial):
            return self.call(function.func, [*function.args, *arguments], {**function.keywords, **keywords})
        code = getattr(function, "__code__", None)
        if code is None:
            raise Unsupported(f"{getattr(function, '__name__', function)} has no source")
        node = source_of(code)
        around = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                around[name] = cell.cell_contents
            except ValueError:
                continue
        env = Env({}, function.__globals__, around, cls or around.get("__class__"))
        parameters = node.args.posonlyargs + node.args.args
        defaults = dict(zip([p.arg for p in reversed(parameters)], reversed(function.__defaults__ or ()), strict=False))
        defaults |= function.__kwdefaults__ or {}
        return self.run_body(node, env, defaults, arguments, keywords)

    def run_body(
        self,
        node: ast.FunctionDef | ast.Lambda,
        env: Env,
        defaults: dict[str, Any],
        arguments: list[Any],
        keywords: dict[str, Any],
    ) -> Any:
        self.bind_parameters(node, env, defaults, arguments, keywords)
        if self.depth > MAX_DEPTH:
            raise Unsupported("a recursion without end")
        self.depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body, env)
            if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node)):
                raise Unsupported("a generator")
            return self.block([*node.body, ast.Return(None)], env)[2]
        finally:
            self.depth -= 1

    def bind_parameters(
        self,
        node: ast.FunctionDef | ast.Lambda,
        env: Env,
        defaults: dict[str, Any],
        arguments: list[Any],
        keywords: dict[str, Any],
    ) -> None:
        parameters = [p.arg for p in node.args.posonlyargs + node.args.args]
        local = env.local
        local |= dict(zip(parameters, arguments, strict=False))
        if node.args.vararg:
            local[node.args.vararg.arg] = tuple(arguments[len(parameters) :])
        elif len(arguments) > len(parameters):
            raise Raised("TypeError: too many arguments")
        named = {*parameters, *(p.arg for p in node.args.kwonlyargs)}
        rest = {}
        for key, value in keywords.items():
            if key in named:
                local[key] = value
            else:
                rest[key] = value
        if node.args.kwarg:
            local[node.args.kwarg.arg] = rest.get("$kwargs", rest)
        elif rest:
            raise Raised(f"TypeError: unexpected argument {next(iter(rest))}")
        for name in named:
            if name not in local:
                if name not in defaults:
                    raise Raised(f"TypeError: missing argument {name}")
                value = defaults[name]
                local[name] = ListValue(value) if type(value) is list else value

    def run_closure(self, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        outer = function.env
        env = Env({}, outer.outer, {**outer.around, **outer.local}, outer.cls)
        parameters = function.node.args.posonlyargs + function.node.args.args
        given = [self.evaluate(default, outer) for default in function.node.args.defaults]
        defaults = dict(zip([p.arg for p in reversed(parameters)], reversed(given), strict=False))
        for parameter, default in zip(function.node.args.kwonlyargs, function.node.args.kw_defaults, strict=True):
            if default is not None:
                defaults[parameter.arg] = self.evaluate(default, outer)
        return self.run_body(function.node, env, defaults, arguments, keywords)


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    raise Unsupported("an assignment to something else than a name")


@functools.cache
def _functions(filename: str) -> dict[tuple[str, int], ast.FunctionDef]:
    lines = linecache.getlines(filename)
    if not lines:
        return {}
    found: dict[tuple[str, int], ast.FunctionDef] = {}
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.FunctionDef):
            for line in {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}:
                found[node.name, line] = node
    return found


def source_of(code: Any) -> ast.FunctionDef:
    """The source of a function as a syntax tree. Errors: :class:`Unsupported` where there is none."""
    found = _functions(code.co_filename).get((code.co_name, code.co_firstlineno))
    if found is None:
        raise Unsupported(f"the source of {code.co_name} is not to be had")
    return found


__all__ = ["NORMAL", "Statements", "source_of", "symbolic"]
