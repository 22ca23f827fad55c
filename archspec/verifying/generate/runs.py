"""What a config came to: the tests that were met, the fields that were read, and what refused it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from archspec.language.expression import Expression
from archspec.specs.records import Field, Spec
from archspec.verifying.generate.traced import Condition, Path, Read, Trace

Config = dict[str, Any]


class Fork(NamedTuple):
    """What has two outcomes: a node of a spec, in each call of its module that brings what it reads."""

    node: Any
    call: ast.AST | None = None


class Met(NamedTuple):
    """A test as a run met it: its outcome, what was asked for it, and how much had been asked before.

    ``spec`` and ``module`` are where it stands.
    """

    test: Fork
    outcome: bool
    notes: tuple[Condition | Read, ...]
    before: int
    spec: Spec
    module: str = ""


class Known(NamedTuple):
    """A field that was read: its value, whether the config itself gives it, and its declaration, if any."""

    value: Any
    given: bool
    field: Field | None


class Run:
    """What a config came to: each test once for each outcome, the fields, and what refused the config."""

    def __init__(self, raw: Config, ignored: Expression | None) -> None:
        self.raw, self.ignored = raw, ignored
        self.trace = Trace()
        self.met: dict[tuple[Fork, bool], Met] = {}
        self.demanded: dict[ast.expr, Expression] = {}
        self.fields: dict[Path, Known] = {}
        self.refusal: Met | None = None
        self.work = 0

    def path(self, before: int | None = None) -> list[Condition]:
        """The comparisons on its way, each once, or those among what was asked ``before``."""
        return [one for one in dict.fromkeys(self.trace.notes[:before]) if isinstance(one, Condition)]
