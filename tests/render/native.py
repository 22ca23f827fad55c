"""Code of a formula at other inputs: C, compiled and run, and SQL over a table of one row."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archspec
from archspec.render.conditions import identifier, literal

Query = Callable[[str], Any]
CONDITION, OVERFLOW = (1, None), (2, None)  # error codes
_KINDS = {"long long": ctypes.c_longlong, "double": ctypes.c_double, "bool": ctypes.c_bool}
_TYPES = {"bool": (bool,), "long long": (int,)}


class Library:
    """The compiled C function of a formula."""

    def __init__(self, formula: archspec.Formula, folder: Path) -> None:
        source, name = formula.render("c"), formula.quantity
        (folder / "formula.c").write_text(source)
        command = ["cc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", "formula.so", "formula.c"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        self.function = getattr(ctypes.CDLL(str(folder / "formula.so")), name)
        head = re.search(rf"^int {name}\((.*)\) {{$", source, re.MULTILINE)
        assert head
        self.parameters = [part.rpartition(" ")[::2] for part in head[1].split(", ")][:-1]

    def run(self, row: dict[str, Any]) -> tuple[int, int | None]:
        """Return the error code, and the number on success."""
        values: list[Any] = []
        for kind, name in self.parameters:
            plain = name.lstrip("*")
            value = row[plain] if plain in row else row[plain.removesuffix("_field")]
            if not name.startswith("*"):
                if type(value) not in _TYPES.get(kind, (int, float)):
                    return CONDITION  # a caller cannot pass it
                values.append(_KINDS[kind](value))
            elif kind == "const char":
                text = value if isinstance(value, str | None) else json.dumps(value, separators=(",", ":"))
                values.append(ctypes.c_char_p(None if text is None else text.encode()))
            else:
                values.append(ctypes.c_void_p(None if value is None else 1))
        halves = (ctypes.c_ulonglong * 2)(7, 7)
        code = self.function(*values, ctypes.byref(halves))
        return code, (halves[1] << 64 | halves[0] if code == 0 else None)


def over_a_row(text: str, row: dict[str, Any], dialect: str = "sql", integer: str = "BIGINT") -> str:
    """Return a query of an expression over a table of one row, whose whole numbers are of a type."""
    columns = []
    for name, value in row.items():
        cell = literal(dialect, list(value) if isinstance(value, tuple) else value)
        if type(value) is int:
            cell = f"CAST({value} AS {integer if abs(value) < 2**63 else 'HUGEINT'})"
        columns.append(f"{cell} AS {identifier(name, dialect)}")
    return f"SELECT {text} FROM (SELECT {', '.join(columns) or '1 AS one'})"
