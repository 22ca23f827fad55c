"""Reading, 9 of 19: functions, found by their source, their parameters bound, their bodies run."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from typing import Any

from archspec.deriving.reading.assignments import Assignments
from archspec.deriving.reading.values import (
    Env,
    Function,
    ListValue,
    Raised,
    Unsupported,
)

MAX_DEPTH = 60


class Functions(Assignments):
    """Calls functions whose source is to be had."""

    depth = 0

    def run_function(
        self, function: Any, arguments: list[Any], keywords: dict[str, Any], cls: Any = None
    ) -> Any:
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
        defaults = dict(
            zip([p.arg for p in reversed(parameters)], reversed(function.__defaults__ or ()), strict=False)
        )
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
        for parameter, default in zip(
            function.node.args.kwonlyargs, function.node.args.kw_defaults, strict=True
        ):
            if default is not None:
                defaults[parameter.arg] = self.evaluate(default, outer)
        return self.run_body(function.node, env, defaults, arguments, keywords)


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
