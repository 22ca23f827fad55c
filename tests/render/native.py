"""C code of a formula, compiled and run, and the inputs of its SQL."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from archspec.render.conditions import identifier, literal

CODES = {"ok": 0, "condition": 1, "overflow": 2}
_KINDS = {"long long": ctypes.c_longlong, "double": ctypes.c_double, "bool": ctypes.c_bool}


class Library:
    """A compiled C function."""

    def __init__(self, source: str, folder: Path, name: str) -> None:
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
                allowed = {"bool": (bool,), "long long": (int,)}.get(kind, (int, float))
                if type(value) not in allowed:
                    return CODES["condition"], None  # a caller cannot pass it
                values.append(_KINDS[kind](value))
            elif kind == "const char":
                text = value if isinstance(value, str | None) else json.dumps(value, separators=(",", ":"))
                values.append(ctypes.c_char_p(None if text is None else text.encode()))
            else:
                values.append(ctypes.c_void_p(None if value is None else 1))
        halves = (ctypes.c_ulonglong * 2)(7, 7)
        code = self.function(*values, ctypes.byref(halves))
        return code, (halves[1] << 64 | halves[0] if code == 0 else None)


def sql_row(row: dict[str, Any]) -> str:
    """Return a table of one row."""
    cells = [f"{_sql(value)} AS {identifier(name, 'sql')}" for name, value in row.items()]
    return ", ".join(cells) or "1 AS one"


def _sql(value: Any) -> str:
    if value is None:
        return "NULL"
    if type(value) is int:
        return f"CAST({value} AS {'BIGINT' if abs(value) < 2**63 else 'HUGEINT'})"
    return literal("sql", list(value) if isinstance(value, tuple) else value)
