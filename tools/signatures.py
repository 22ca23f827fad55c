"""Writes declarations from the tables: those of functions below `@check_arguments_of("verb")`.

The fields below `# axes of "verb"` and the quantities of Model are written, too.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from archspec.tables.axes import axes_of
from archspec.tables.option import COMMAND, Option
from archspec.tables.options import options_of
from archspec.tables.quantities import QUANTITIES

ROOT = Path(__file__).parent.parent / "archspec"
_ATTRIBUTES = re.compile(r"(?: +\w+: int = _count_property\(\"\w+\"\)\n)+")  # of Model, one for each quantity
_AXES = re.compile(r'(    # axes of "(\w+)"\n)(?:    \w+: int(?: = 0)?\n)*')  # of a record of lengths
LOADING = ("model", "architecture", "set", "specs")  # parameters of `archspec.load`, not of Model's methods


def stale_declarations(root: Path = ROOT) -> dict[Path, str]:
    """Return the new text of each module whose declarations differ from the tables; it is not formatted."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    marked = [path for path, text in texts.items() if "@check_arguments_of(" in text or "# axes of" in text]
    new = {path: updated(texts[path]) for path in marked}
    return {path: text for path, text in new.items() if _code(text) != _code(texts[path])}


def _code(text: str) -> str:
    return ast.dump(ast.parse(text))


def updated(text: str) -> str:
    """Return a module's text with the parameters and fields that the tables declare."""
    lines = text.splitlines(keepends=True)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for function in sorted(functions, key=lambda node: -node.lineno):
        if verb := _verb(function):
            declaration = f"{' ' * function.col_offset}{_signature(function, verb)}\n"
            lines[function.lineno - 1 : function.body[0].lineno - 1] = [declaration]
    attributes = "".join(f'    {name}: int = _count_property("{name}")\n' for name in QUANTITIES)
    return _AXES.sub(_axis_fields, _ATTRIBUTES.sub(attributes, "".join(lines)))


def _axis_fields(found: re.Match[str]) -> str:
    """Return the fields of a record of lengths; an axis that may be 0 is optional."""
    axes = axes_of(found[2]).items()
    return found[1] + "".join(f"    {name}: int{'' if axis.minimum else ' = 0'}\n" for name, axis in axes)


def _verb(function: ast.FunctionDef) -> str | None:
    """Return the verb of a function's `@check_arguments_of`, None without one."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "check_arguments_of":
            return str(ast.literal_eval(decorator.args[0]))
    return None


def _signature(function: ast.FunctionDef, verb: str) -> str:
    """Return `def name(...) -> type:` with the table's types and defaults; parameters keep their order."""
    arguments, is_method = function.args, bool(function.args.args) and function.args.args[0].arg == "self"
    declared = {option.name: option for option in parameters(verb, is_method)}
    declared |= {"config": declared.pop("model")} if "model" in declared else {}
    groups: list[Any] = [(arguments.args, arguments.defaults), (arguments.kwonlyargs, arguments.kw_defaults)]
    for group, defaults in groups:
        offset = len(group) - len(defaults)
        for place, argument in enumerate(group):
            if (option := declared.pop(argument.arg, None)) is not None:
                argument.annotation = _parsed(option.type)
                if place >= offset:
                    defaults[place - offset] = _parsed(repr(option.default))
    group, defaults = groups[bool(arguments.kwonlyargs)]
    for option in declared.values():
        group.append(ast.arg(option.name, _parsed(option.type)))
        defaults.append(_parsed(repr(option.default)))
    returns = ast.unparse(function.returns or ast.Constant(None))
    return f"def {function.name}({ast.unparse(arguments)}) -> {returns}:"


def parameters(verb: str, is_method: bool = False) -> list[Option]:
    """Return the options that the Python function behind a verb takes."""
    left_out = LOADING if is_method else ()
    return [one for one in options_of(verb) if one.where != COMMAND and one.name not in left_out]


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
