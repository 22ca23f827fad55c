"""Python, C and SQL of a formula or of its parts, which check everything that the formula relies on.

Outside of its conditions Python raises ValueError, SQL gives NULL, and C returns an error code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archspec.render.conditions import Code, Parts, identifier, prepare
from archspec.render.printers import SCALE, printer
from archspec.symbolic.closed_form import ClosedForm

_C_CHECKED = """\
static wide_ NAME_(int *e_, wide_ a, wide_ b) {
  if (__builtin_NAME_overflow(a, b, &a)) *e_ = 2;
  return a;
}"""
_C_FUNCTIONS = {
    "text_is_": "static bool text_is_(const char *a, const char *b) { return a && strcmp(a, b) == 0; }",
    **{f"{name}_": _C_CHECKED.replace("NAME", name) for name in ("add", "sub", "mul")},
    "mod_": """\
static wide_ mod_(int *e_, wide_ a, wide_ b) {
  if (b == 0) { if (!*e_) *e_ = 1; return 0; }
  a = b == -1 ? 0 : a % b;
  return a != 0 && (a < 0) != (b < 0) ? a + b : a;
}""",
    "div_": """\
static wide_ div_(int *e_, wide_ a, wide_ b) {
  if (b == 0) { if (!*e_) *e_ = 1; return 0; }
  if (b == -1) { if (__builtin_sub_overflow((wide_)0, a, &a)) *e_ = 2; return a; }
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}""",
    "min_": "static wide_ min_(wide_ a, wide_ b) { return a < b ? a : b; }",
    "max_": "static wide_ max_(wide_ a, wide_ b) { return a > b ? a : b; }",
}


def program(formula: ClosedForm, language: str, parts: Parts) -> str:
    """Return the labelled parts in one of :data:`archspec.render.printers.LANGUAGES`.

    The label of the whole formula is empty.
    """
    code, is_labeled = prepare(formula, parts), any(label for label, _ in parts)
    if language == "c":
        return _c(formula, code)
    if language == "python":
        return _python_statements(formula, code) if is_labeled else _python(formula, code)
    prints = printer(language, code.operands(language))
    when = "\n  AND ".join(code.tests(language)) or "TRUE"
    cases = [
        f"CASE WHEN {when}\n  THEN {prints.print_sum(terms)} END"
        + (f" AS {identifier(label or formula.quantity)}" if is_labeled else "")
        for label, terms in code.parts
    ]
    return f"/* {_header_comment(formula, code)} */\n" + ",\n".join(cases)


def _header_comment(formula: ClosedForm, code: Code) -> str:
    title = f"{formula.quantity_name} of {formula.architecture}, valid if:"
    return "\n  ".join([title, *code.tests("python")]).replace("*/", "* /")


def _python(formula: ClosedForm, code: Code) -> str:
    names = code.identifiers()
    value = printer("python", code.operands("python")).print_sum(code.parts[0][1])
    message = f"the formula of {formula.architecture} is not valid for these fields; see its conditions"
    takes = [names[name] for name in code.inputs if name not in code.optional]
    takes += [f"{names[name]}={code.inputs[name]!r}" for name in sorted(code.optional)]
    takes = ["*", *takes, "**_"] if takes else ["**_"]  # a star alone needs a name after it
    condition = "\n    and ".join(code.tests("python")) or "True"
    return (
        f"# {formula.quantity_name} of {formula.architecture}; ValueError if a condition fails\n"
        f"(lambda {', '.join(takes)}: {value}\n    if {condition}\n"
        f"    else (_ for _ in ()).throw(ValueError({message!r})))(**{{**globals(), **locals()}})"
    )


def _python_statements(formula: ClosedForm, code: Code) -> str:
    message = f"the formula of {formula.architecture} holds only for"
    prints = printer("python", code.operands("python"))
    lines = [f"# {formula.quantity_name} of {formula.architecture}; ValueError if a condition fails"]
    for test in code.tests("python"):
        lines += [f"if not ({test}):", f"    raise ValueError({f'{message} {test}'!r})"]
    for label, terms in code.parts:
        lines.append(f"{identifier(label or formula.quantity)} = {prints.print_sum(terms)}")
    return "\n".join(lines)


def _c(formula: ClosedForm, code: Code) -> str:
    functions = "\n".join(_c_function(code, label or formula.quantity, terms) for label, terms in code.parts)
    used = [code for name, code in _C_FUNCTIONS.items() if f"{name}(" in functions]
    lines = [
        f"/* {_header_comment(formula, code)}",
        "   Each function returns 0 and sets *result_, or returns 1 if a condition does not hold,",
        "   and 2 if a number needs more than 128 bits. Lists and mappings are passed as JSON strings. */",
        *("#include <stdbool.h>", "#include <string.h>", "typedef __int128 wide_;"),
    ]
    return "\n".join([*lines, *used, functions])


def _c_function(code: Code, label: str, terms: Sequence[Any]) -> str:
    names, operands = code.identifiers("c"), code.operands("c")
    kinds = {name: _c_kind(value) for name, value in code.inputs.items()}
    takes = [f"{kinds[name]}{names[name]}" for name in code.inputs]
    lines = ["int e_[1] = {0};"]
    for name in code.floats:
        field, scaled = names[name], f"{names[name]}*{SCALE}"
        lines.append(f"if (!({field} >= 0 && {field} < 4503599627370496.0)) return 1;")
        lines.append(f"const wide_ {operands[name]} = (wide_)({scaled});")
        lines.append(f"if ((double){operands[name]} != {scaled}) return 1;")
    tests = " && ".join(f"({test})" for test in code.tests("c"))
    lines.append(f"const bool holds_ = {tests or 'true'};")
    lines.append("if (*e_ || !holds_) return *e_ ? *e_ : 1;")
    lines.append(f"const wide_ total_ = {printer('c', operands).print_sum(terms)};")
    lines += ["if (*e_) return *e_;", "*result_ = total_;", "return 0;"]
    body = "".join(f"  {line}\n" for line in lines)
    return f"int {identifier(label)}({', '.join([*takes, 'wide_ *result_'])}) {{\n{body}}}"


def _c_kind(value: Any) -> str:
    kinds = {bool: "bool ", int: "long long ", float: "double ", type(None): "const void *"}
    return kinds.get(type(value), "const char *")
