"""Reading, 10 of 19: statements of a constructor, one after the other."""

from __future__ import annotations

import ast
import linecache
import os
from typing import Any

from archspec.deriving.reading.functions import Functions
from archspec.deriving.reading.loops import Status
from archspec.deriving.reading.values import (
    UNKNOWN,
    Env,
    Function,
    ListValue,
    Raised,
    Unsupported,
)
from archspec.errors import Place, Source

NORMAL: Status = ("$status", "normal", None)
LIBRARIES = ("torch", "transformers", "timm")  # whose code is not the user's own
_ENDS = (ast.Return, ast.Continue, ast.Break)


class Statements(Functions):
    """Runs the bodies of functions."""

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
        found: Status = self.branch(
            statement.test,
            env,
            lambda: self.block([*statement.body, *rest], env),
            lambda: self.block([*statement.orelse, *rest], env),
        )
        return found

    def statement(self, statement: ast.stmt, env: Env) -> Status:
        try:
            return self.any_statement(statement, env)
        except (Unsupported, Raised) as error:
            if not error.__dict__.get("told"):
                error.__dict__["told"] = True
                error.args = (f"{error} in `{ast.unparse(statement)[:90].splitlines()[0]}`",)
            if error.__dict__.get("place") is None:  # the innermost line of the user's own
                error.__dict__["place"] = place_of(statement, env)
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
            owner, value = self.evaluate(loaded, env), self.evaluate(statement.value, env)
            if isinstance(owner, ListValue) and isinstance(value, ListValue):  # in place, as `extend`
                self.write(owner.cell, "parts", (*owner.parts, *value.parts))
                return
            self.assign(statement.target, self.binary(type(statement.op), owner, value), env)
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
            exec(module, names)
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
                self.note(f"`while {ast.unparse(statement.test)[:90]}` was run for the default config only")
                truth = bool(seen)
            if not truth:
                return NORMAL
            status = self.once(statement, env, None)
            if status[1] == "return":
                return status
            if status[1] == "break":
                return NORMAL
        raise Unsupported("a while loop without end")


def place_of(statement: ast.stmt, env: Env) -> Place | None:
    """Where a statement stands in a file of the user's own; None in another one, or without a file."""
    path: str = env.outer.get("__file__") or ""
    library = env.outer.get("__name__", "").partition(".")[0] in LIBRARIES
    text = "" if library or not path else "".join(linecache.getlines(path))
    if not text:
        return None
    relative = os.path.relpath(path)
    name = path if relative.startswith("..") else relative
    width = (statement.end_col_offset or 0) - statement.col_offset
    one_line = statement.end_lineno == statement.lineno
    return Place(Source(name, text), statement.lineno, statement.col_offset + 1, width if one_line else 1)


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    raise Unsupported("an assignment to something else than a name")
