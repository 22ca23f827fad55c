"""Code of a formula, run at the fields of another config; what `tests/render/test_code.py` compares."""

from __future__ import annotations

import ctypes
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import archspec
from archspec.configs.origin import RawConfig
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope, SubConfig
from archspec.costs.activations import called_activations
from archspec.costs.records import Call, Step
from archspec.errors import ArchspecError
from archspec.models.branches import value_at
from archspec.render.code.conditions import prepare
from archspec.render.code.printer import identifier
from archspec.specs.exported import ALLOWED
from archspec.symbolic.closed_form import others

CODES = {"ok": 0, "condition": 1, "overflow": 2}


def field_at(scope: Scope, path: str) -> Any:
    """The value of an input of code at a config."""
    if found := re.fullmatch(r"(len|given)\((.*)\)", path):
        if found[1] == "given":
            *parts, name = found[2].removeprefix(scope.origin.path).split(".")
            for part in parts:
                scope = scope.get(part).scope
            name = scope.canonical(name)
            return scope.raw.get(name) if scope.given.get(name, name) == found[2].split(".")[-1] else None
        value = field_at(scope, found[2])
        return len(value) if isinstance(value, list | tuple) else None
    if path.endswith(".model_type"):
        part = value_at(scope, path.removesuffix(".model_type"))
        return part.model_type if isinstance(part, SubConfig) else None
    flat = [
        one
        for one in scope.values.values()
        if isinstance(one, SubConfig) and one.scope.origin.path == scope.origin.path
    ]
    name = path.removeprefix(scope.origin.path).partition(".")[0].partition("[")[0]
    if flat and not scope.has(name):
        return field_at(flat[0].scope, path)
    if scope.has(name) and isinstance(part := scope.get(name), SubConfig) and part.scope is not scope:
        return field_at(part.scope, path)
    return value_at(scope, path)


def inputs_at(
    formula: archspec.Formula, scope: Scope, lengths: dict[str, int] | None = None
) -> dict[str, Any]:
    """All inputs of a formula's code at a config, by their identifiers."""
    names = prepare(formula).inputs
    return {
        identifier(n): (lengths or {}).get(n, field_at(scope, n) if n not in (lengths or {}) else 0)
        for n in names
    }


def run_python(code: Any, row: dict[str, Any]) -> int | None:
    """The number that Python code gives, None if it refuses."""
    try:
        value = eval(code, {}, dict(row))
    except (ValueError, TypeError, NameError, ZeroDivisionError):
        return None
    assert type(value) is int
    return value


class Library:
    """A compiled C function."""

    def __init__(self, source: str, folder: Path, name: str) -> None:
        (folder / "formula.c").write_text(source)
        command = ["cc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", "formula.so", "formula.c"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        self.function = getattr(ctypes.CDLL(str(folder / "formula.so")), name)
        head = re.search(rf"^int {name}\((.*)\) {{$", source, re.MULTILINE)
        assert head
        self.takes = [part.rpartition(" ")[::2] for part in head[1].split(", ")][:-1]

    def run(self, row: dict[str, Any]) -> tuple[int, int | None]:
        """Return the error code, and the number on success."""
        import json

        kinds = {"long long": ctypes.c_longlong, "double": ctypes.c_double, "bool": ctypes.c_bool}
        values: list[Any] = []
        for kind, name in self.takes:
            plain, pointer = name.lstrip("*"), name.startswith("*")
            value = row[plain] if plain in row else row[plain.removesuffix("_field")]
            if not pointer:
                fits = type(value) is bool if kind == "bool" else type(value) in (int, float)
                if not fits or (kind == "long long" and type(value) is not int):
                    return 1, None  # a caller cannot pass it
                values.append(kinds[kind](value))
            elif kind == "const char":
                text = value if isinstance(value, str | None) else json.dumps(value, separators=(",", ":"))
                values.append(ctypes.c_char_p(None if text is None else text.encode()))
            else:
                values.append(ctypes.c_void_p(None if value is None else 1))
        halves = (ctypes.c_ulonglong * 2)(7, 7)
        code = self.function(*values, ctypes.byref(halves))
        return code, (halves[1] << 64 | halves[0] if code == 0 else None)


def sql_row(row: dict[str, Any]) -> str:
    """A table of one row."""
    return (
        ", ".join(f"{sql_literal(value)} AS {identifier(name, 'sql')}" for name, value in row.items())
        or "1 AS one"
    )


def sql_literal(value: Any) -> str:
    from archspec.render.code.printer import literal

    if value is None:
        return "NULL"
    if type(value) is int:
        return f"CAST({value} AS BIGINT)" if abs(value) < 2**63 else f"CAST({value} AS HUGEINT)"
    return literal("sql", list(value) if isinstance(value, tuple) else value)


def exact(model: archspec.Model, quantity: str, call: Call | Step | None) -> int:
    """Return a quantity as its verb reports it. Errors: :class:`ArchspecError` if the verb refuses."""
    if call is None:
        return model.count(quantity)
    encoder_tokens = call.encoder_tokens or None
    if isinstance(call, Step):
        return called_activations(
            model.scope, model.architecture, call.batch, call.tokens, encoder_tokens
        ).bytes
    found = model.forward(call.batch, call.tokens, call.past, encoder_tokens, call.new_encoder_tokens)
    return found.cache_elements() if quantity == "cache_elements" else int(getattr(found, quantity))


def cases(
    formula: archspec.Formula, model: archspec.Model, chance: random.Random, tries: int
) -> Iterator[tuple[dict[str, Any], dict[str, Any], int | None]]:
    """The config and some near it: what is changed, the inputs of its code, the count or None."""
    lengths = formula.call.lengths() if formula.call else {}
    yield {}, inputs_at(formula, model.scope, lengths), exact(model, formula.quantity, formula.call)
    inputs, about = (found := prepare(formula)).inputs, found.fields
    fields = [one for one in model.fields if "any" not in one.types]
    fields = [one for one in fields if one.field in about or one.field.split(".")[-1] not in ALLOWED]
    read = [one for one in fields if one.field in about]
    for _ in range(tries):
        drawn = read if read and chance.random() < 0.7 else fields
        changed: dict[str, Any] = {}
        for one in chance.sample(drawn, min(len(drawn), chance.choice((1, 1, 1, 2, 3)))):
            value = chance.choice([*others(one.value, one.choices), None, *_more(one.value, chance)])
            changed[one.field] = value
        call = formula.call and formula.call.at(_lengths(formula, lengths, chance))
        try:
            scope = _unchecked(model, changed)
            row = inputs_at(formula, scope, call.lengths() if call else None)
        except ArchspecError:
            continue  # a value of a wrong type
        try:
            count = exact(model.at(changed), formula.quantity, call)
        except ArchspecError:
            if not changed.keys() <= about:
                continue  # refused, it may be, for a field that the code is not given
            if any(value is None and f"given({name})" in inputs for name, value in changed.items()):
                continue  # code cannot distinguish null from an absent field
            count = None
        yield {**changed, **(call.lengths() if call else {})}, row, count


def _unchecked(model: archspec.Model, changed: dict[str, Any]) -> Scope:
    """A config with some fields changed whose types are right; conditions on their values are not checked."""
    config = read_config(RawConfig(dict(model.scope.raw), model.scope.origin), changed)
    scope = Scope(model.scope.spec, config.raw, config.origin, demanding=False)
    for name in changed:
        value_at(scope, name)
    return scope


def _lengths(formula: archspec.Formula, lengths: dict[str, int], chance: random.Random) -> dict[str, int]:
    """Lengths of another call; a training step has no past."""
    found = {name: chance.choice((value, value, value, *_LENGTHS[name])) for name, value in lengths.items()}
    found = {name: value if lengths[name] or name == "past" else 0 for name, value in found.items()}
    training = (
        {"past": 0, "new_encoder_tokens": found["encoder_tokens"]}
        if formula.quantity == "training_flops"
        else {}
    )
    return {**found, **training}


_LENGTHS = {
    "batch": (0, 1, 2, 3),
    "tokens": (0, 1, 2, 3, 5, 5000),
    "past": (0, 0, 1, 7),
    "encoder_tokens": (1, 2, 513),
    "new_encoder_tokens": (0, 2, 514),
}


def _more(value: Any, chance: random.Random) -> list[Any]:
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        return []
    if isinstance(value, list):
        return [[chance.choice((item, item * 2, item + 1)) if type(item) is int else item for item in value]]
    return [value * 2, value * 4, value // 2 or 1, value + 2, value * 1.1] if value else [2]
