"""The fields of a config that cause a problem, and the problem at their place in the config."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from archspec.configs.checks import nearest_value
from archspec.errors import ArchspecError, Problem, list_names
from archspec.language.expression import Expression, names
from archspec.language.values import describe, names_of, short_repr, value_of
from archspec.specs.records import Field
from archspec.typing_light import Any

Scope = Any  # an archspec.configs.scope.Scope, whose module imports this one
Where = Mapping[str, Expression]  # the local names of a module
_NO_WHERE: Where = {}


def source_fields(scope: Scope, read: Iterable[str], where: Where) -> list[str]:
    """Return the fields that some names depend on: a computed one that is not given stands for others."""
    found, seen, pending = list[str](), set[str](), sorted(read)
    while pending:
        name = pending.pop(0)
        if name in seen:
            continue
        seen.add(name)
        field = scope.spec.fields.get(scope.canonical(name)) if name not in where else None
        default = where.get(name) or scope.spec.fixed.get(scope.canonical(name))
        if field is not None and field.computed and field.name not in scope.raw:
            default = field.default
        if default is not None:
            pending += sorted(names(default.tree))
        elif scope.has(name):
            found.append(scope.canonical(name))
    return found


def blame(scope: Scope, read: Iterable[str], problem: Problem, where: Where = _NO_WHERE) -> Problem:
    """Move a problem of a spec's line to the first of the fields ``read`` that the config gives."""
    fields = source_fields(scope, read, where)
    zeros = [name for name in fields if value_of(scope.values.get(name)) == 0 and name in scope.raw]
    given = next((scope.given.get(name, name) for name in [*zeros, *fields] if name in scope.raw), "")
    if not given:
        return problem
    problem = problem._replace(help=problem.help or _instruction(scope, zeros, fields))
    moved: Problem = scope.origin.blame(given, problem)
    return moved


def _instruction(scope: Scope, zeros: Collection[str], fields: Collection[str]) -> str:
    """Return how to change the fields behind a problem; '' if there is none."""
    change = [scope.origin.path + scope.given.get(name, name) for name in zeros or fields]
    if zeros:
        return f"set {list_names(change, 'and')} to a positive integer"
    return f"change {list_names(change)}" if change else ""


def unmet_condition(
    scope: Scope, condition: Expression, values: Mapping[str, Any], path: str, where: Where = _NO_WHERE
) -> Problem:
    """Return the problem of a condition that does not hold, with the values of its names."""
    shown = ", ".join(f"{name} = {format_value(value)}" for name, value in sorted(values.items()))
    message = f"transformers requires `{condition.text}`, but {shown or 'it does not hold'}"
    problem = Problem(scope.origin.label + message, condition.place, path)
    found = blame(scope, names(condition.tree), problem, where)
    fields = source_fields(scope, names(condition.tree), where)
    return found._replace(help=found.help or _instruction(scope, [], fields))


def type_help(scope: Scope, field: Field, kinds: Iterable[str], value: Any) -> str:
    """Return how to write a field that has a value of a wrong type."""
    wanted = f"write {names_of(kinds)}"
    if isinstance(value, str) and re.fullmatch(r"[0-9]+:[0-9:*]+", value):
        wanted = "use archspec sweep for a range, or write one value"
    return f"{wanted}, e.g. {example(scope, field, value)}"


def example(scope: Scope, field: Field, value: Any) -> str:
    """Return a field with a value that it can have, as the user writes it."""
    default: Any = None
    with suppress(ArchspecError):
        default = field.default and scope.read(field.default)
    meant = nearest_value(field, value_of(value), value_of(default))
    return str(scope.origin.setting(scope.given.get(field.name, field.name), meant))


def format_value(value: Any) -> str:
    """Return a field's value for a message, with the length of a list."""
    value, part = value_of(value), describe(value_of(value))
    items = f" ({len(value)} items)" if isinstance(value, list) else ""
    return part if part == "a sub-config" else short_repr(value) + items
