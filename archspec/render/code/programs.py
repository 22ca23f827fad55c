"""Python, C and SQL of a formula or of its parts; each checks what the formula relies on.

Outside of its conditions Python raises ValueError, SQL gives NULL, and C returns an error code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from archspec.render.code.conditions import Ready, python_conditions, ready
from archspec.render.code.printer import INTEGERS, CPrinter, identifier, literal, printer
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.validity.floats import BITS

Parts = Sequence[tuple[str, Sequence[Any]]]
_HELPERS = {
    "text_is_": """\
static bool text_is_(const char *a, const char *b) { return a && strcmp(a, b) == 0; }""",
    "add_": """\
static wide_ add_(int *e_, wide_ a, wide_ b) {
  if (__builtin_add_overflow(a, b, &a)) *e_ = 2;
  return a;
}""",
    "sub_": """\
static wide_ sub_(int *e_, wide_ a, wide_ b) {
  if (__builtin_sub_overflow(a, b, &a)) *e_ = 2;
  return a;
}""",
    "mul_": """\
static wide_ mul_(int *e_, wide_ a, wide_ b) {
  if (__builtin_mul_overflow(a, b, &a)) *e_ = 2;
  return a;
}""",
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


def program(formula: ClosedForm, language: str, parts: Parts, labeled: bool) -> str:
    """The parts in one of :data:`archspec.render.code.printer.LANGUAGES`, each under its label if asked."""
    found = ready(formula, parts)
    if language == "c":
        return _c(formula, found)
    if language == "python":
        return _python(formula, found, labeled)
    return _sql(formula, found, language, labeled)


def _listed(formula: ClosedForm, found: Ready) -> list[str]:
    """A comment: what the code gives, and its conditions."""
    name = f"{formula.quantity_name} of {formula.architecture}"
    return [f"{name}; it holds for:", *(f"  {text}" for text in python_conditions(found))]


def _python(formula: ClosedForm, found: Ready, labeled: bool) -> str:
    names, tests = found.identifiers(), python_conditions(found)
    shown = {**names, **{name: f"int({names[name]}*{2**BITS})" for name in found.floats}}
    prints = printer("python", shown)
    message = f"the formula of {formula.architecture} does not hold for these fields; see its conditions"
    comment = [f"# {formula.quantity_name} of {formula.architecture}; ValueError where a condition fails"]
    if not labeled:
        condition = "\n    and ".join(tests) or "True"
        value = prints.whole(found.parts[0][1])
        raised = f"(_ for _ in ()).throw(ValueError({message!r}))"
        takes = [names[name] for name in found.inputs if name not in found.optional]
        takes += [f"{names[name]}={found.inputs[name]!r}" for name in sorted(found.optional)]
        takes = ["*", *takes, "**_"] if takes else ["**_"]  # a star alone needs a name after it
        return "\n".join(
            [
                *comment,
                f"(lambda {', '.join(takes)}: {value}",
                f"    if {condition}",
                f"    else {raised})(**{{**globals(), **locals()}})",
            ]
        )
    short = f"the formula of {formula.architecture} holds only for"
    lines = [f"if not ({test}):\n    raise ValueError({f'{short} {test}'!r})" for test in tests]
    lines += [f"{identifier(label)} = {prints.whole(terms)}" for label, terms in found.parts]
    return "\n".join([*comment, *lines])


def _sql(formula: ClosedForm, found: Ready, language: str, labeled: bool) -> str:
    names, wide = found.identifiers(language), INTEGERS[language]
    shown = {name: f"CAST({names[name]} AS {wide})" for name in found.whole}
    shown |= {name: f"CAST({names[name]}*{2**BITS} AS {wide})" for name in found.floats}
    prints = printer(language, shown)
    tests = [f"{names[name]} >= 0 AND {names[name]} = {shown[name]}" for name in found.whole]
    tests += [f"{names[name]} >= 0 AND {names[name]}*{2**BITS} = {shown[name]}" for name in found.floats]
    tests += [prints.compared(*check) for check in found.checks]
    for name, value in found.flags.items():
        tests.append(f"{names[name]} {'IS' if value is None else '='} {literal(language, value)}")
    texts = "\n".join(_listed(formula, found)).replace("*/", "* /")
    comment = f"/* {texts} */\n"
    when = "\n  AND ".join(tests) or "TRUE"
    cases = [f"CASE WHEN {when}\n  THEN {prints.whole(terms)} END" for _, terms in found.parts]
    if labeled:
        cases = [
            f"{case} AS {identifier(label)}" for case, (label, _) in zip(cases, found.parts, strict=True)
        ]
    return comment + ",\n".join(cases)


def _c(formula: ClosedForm, found: Ready) -> str:
    functions = "\n".join(_c_function(formula, found, label, terms) for label, terms in found.parts)
    texts = "\n".join(_listed(formula, found)).replace("*/", "* /")
    helpers = [text for name, text in _HELPERS.items() if f"{name}(" in functions]
    return "\n".join(
        [
            f"/* {texts}",
            "   Each function returns 0 and sets *result_, or returns 1 where a condition does not hold,",
            "   and 2 where a number needs more than 128 bits. Lists and mappings are taken as JSON text. */",
            "#include <stdbool.h>",
            "#include <string.h>",
            "typedef __int128 wide_;",
            *helpers,
            functions,
        ]
    )


def _c_function(formula: ClosedForm, found: Ready, label: str, terms: Sequence[Any]) -> str:
    names = found.identifiers("c")
    shown = {**names, **{name: f"{names[name]}_scaled_" for name in found.floats}}
    prints = CPrinter(shown)
    kinds = {**dict.fromkeys(found.whole, "long long "), **dict.fromkeys(found.floats, "double ")}
    kinds |= {name: _c_kind(value) for name, value in found.flags.items() if name not in kinds}
    takes = [f"{kinds[name]}{names[name]}" for name in found.inputs]
    lines = ["int e_[1] = {0};"]
    for name in found.floats:
        limit = f"{names[name]} >= 0 && {names[name]} < 4503599627370496.0"
        lines.append(f"if (!({limit})) return 1;")
        lines.append(f"const wide_ {shown[name]} = (wide_)({names[name]}*{2**BITS});")
        lines.append(f"if ((double){shown[name]} != {names[name]}*{2**BITS}) return 1;")
    tests = [f"{names[name]} >= 0" for name in found.whole]
    tests += [_c_flag(names[name], value) for name, value in found.flags.items()]
    tests += [prints.compared(*check) for check in found.checks]
    lines.append(f"const bool holds_ = {' && '.join(f'({test})' for test in tests) or 'true'};")
    lines.append("if (*e_ || !holds_) return *e_ ? *e_ : 1;")
    lines.append(f"const wide_ total_ = {prints.whole(terms)};")
    lines += ["if (*e_) return *e_;", "*result_ = total_;", "return 0;"]
    body = "".join(f"  {line}\n" for line in lines)
    return f"int {identifier(label)}({', '.join([*takes, 'wide_ *result_'])}) {{\n{body}}}"


def _c_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool "
    if isinstance(value, int):
        return "long long "
    if isinstance(value, float):
        return "double "
    return "const void *" if value is None else "const char *"


def _c_flag(name: str, value: Any) -> str:
    if value is None:
        return f"!{name}"
    if isinstance(value, bool):
        return name if value else f"!{name}"
    if isinstance(value, int | float):
        return f"{name} == {value!r}"
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return f"text_is_({name}, {_c_text(text)})"


def _c_text(text: str) -> str:
    """A string literal of C: other characters than plain ones as octal escapes of UTF-8."""
    plain = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return '"' + "".join(plain) + '"'
