"""Expressions of the spec language: Python's own syntax, whitelisted, interpreted over its AST.

Nothing is ever passed to ``eval``: :class:`archspec.language.evaluator.Evaluator` walks the tree.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from archspec.errors import UNICODE_HELP, Place, Problem, SpecError, is_unicode
from archspec.language.operations import BINARY, COMPARE, METHODS
from archspec.language.yaml_reader import Scalar
from archspec.typing_light import Any, NamedTuple

MAX_EXPRESSION = 4_000
MAX_LEVELS = 300  # of brackets and operators in one another, before Python reads a text
_NESTS = r"(?:'[^'\\]*'|\"[^\"\\]*\")|[(\[{)\]},]|\*\*|//|[-+*/%~.]|\b(?:not|if|lambda)\b"
SEEN = 100_000  # trees whose names are cached, because every config asks for them

_HELP = (
    "write a Python expression of config fields: arithmetic, comparisons, `a if c else b`, "
    "`x for i in range(n)`"
)
_LITERAL = "write numbers without units, e.g. 7e9, and products with *, e.g. 4*hidden_size"
_LANGUAGE = (
    "Load Store Subscript Slice List Tuple Dict BoolOp And Or Not UAdd USub IfExp keyword "
    "Compare Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn ListComp GeneratorExp DictComp comprehension"
)
_ALWAYS = frozenset({*BINARY, *(getattr(ast, name) for name in _LANGUAGE.split())})
_SOME = (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.UnaryOp)
_CALL_HELP = (
    "call a module by its name; its methods are .requires_grad_(False), .routed(k, E) and .at(rows, columns)"
)
_NAMES = {ast.Lambda: "a lambda", ast.NamedExpr: "`:=`", ast.JoinedStr: "an f-string", ast.Starred: "`*`"}
_CONSTANTS = {"true": "True", "false": "False", "null": "None"}
_OPPOSITE_SIGNS = ("!=", "==", ">=", ">", "<=", "<", "is not", "is", "not in", "in")
_OPPOSITES = dict(zip(COMPARE, _OPPOSITE_SIGNS, strict=True))
_METHODS = {"requires_grad_", "routed", "at", "on_map"} | {one for names in METHODS.values() for one in names}


class Expression(NamedTuple):
    """A parsed expression with its place in the file."""

    tree: ast.expr
    text: str
    place: Place
    path: str = ""

    def place_of(self, node: ast.AST) -> Place:
        """Return the place in the file of one node of this expression."""
        line = getattr(node, "lineno", 1)
        lines = f"({self.text}\n)".split("\n")
        whole = lines[line - 1].encode() if line <= len(lines) else b""  # ast counts bytes
        start, end = getattr(node, "col_offset", 1), getattr(node, "end_col_offset", 1)
        column = len(whole[:start].decode(errors="ignore"))
        single = getattr(node, "end_lineno", line) == line
        width = max(1, len(whole[:end].decode(errors="ignore")) - column) if single else 1
        first = column - 1 + self.place.column if line == 1 else column + 1
        return Place(self.place.source, self.place.line + line - 1, max(1, first), width)


class EvaluationError(Exception):
    """A value that an expression cannot take here; callers turn it into an error with a place."""

    def __init__(self, message: str, expression: Expression, node: ast.AST, help_: str = "") -> None:
        super().__init__(message)
        self.message, self.expression, self.node, self.help = message, expression, node, help_

    def problem(self, label: str = "") -> Problem:
        """Return the problem at its place; ``label`` names the config that was read."""
        place = self.expression.place_of(self.node)
        return Problem(label + self.message, place, self.expression.path, self.help)


def parse(scalar: Scalar, path: str = "", skip: int = 0, checked: bool = False) -> Expression:
    """Return a scalar's text as an expression, without ``skip`` leading characters (an ``=``).

    A text that was ``checked`` when it was compiled is not checked again.

    Errors: :class:`SpecError` at line and column for text that is not a whitelisted expression.
    """
    text = scalar.raw[skip:]
    blanks = text[: len(text) - len(text.lstrip())]
    indent = len(blanks) if "\n" not in blanks else 0
    text = text[indent:]
    place = scalar.place._replace(column=scalar.place.column + skip + indent + int(scalar.quoted))
    if checked:
        return Expression(ast.parse(f"({text}\n)", mode="eval").body, text, place, path)
    if len(text) > MAX_EXPRESSION:
        message = f"an expression longer than {MAX_EXPRESSION:,} characters"
        raise SpecError(message, place, path, "name its parts in `where:`")
    if not is_unicode(text):
        raise SpecError("not an expression: the text is not Unicode", place, path, UNICODE_HELP)
    try:
        tree: ast.expr = python(f"({text}\n)").body  # type: ignore[attr-defined]
    except SyntaxError as error:
        message, line, column = _syntax_error(text, error)
        at = Place(place.source, place.line + line - 1, column - 1 + place.column if line == 1 else column)
        message, _, hint = message.partition(". Maybe you meant '=='")
        help_ = "write == to compare" if hint else _LITERAL if "decimal literal" in message else _HELP
        raise SpecError(f"not an expression: {message}", at, path, help_) from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise SpecError(f"not an expression: {error or type(error).__name__}", place, path, _HELP) from None
    expression = Expression(tree, text, place, path)
    _check(expression)
    return expression


def python(text: str, mode: str = "eval") -> ast.AST:
    """Return Python's tree of a text; Python's syntax warnings (`1if x else 2`) are errors, too.

    Errors: :class:`ValueError` for a text so deep that Python's recursive parser could overflow the stack.
    """
    if len(text) > MAX_LEVELS and _is_deep(text):
        raise ValueError(f"nested deeper than {MAX_LEVELS} levels")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        return ast.parse(text, mode=mode)


def _is_deep(text: str) -> bool:
    """Return True if brackets and operators could nest deeper than the limit; commas end a chain of them."""
    chains, total = [0], 0
    for token in re.findall(_NESTS, text):
        if token[0] in "'\"":
            continue
        if token in "([{":
            chains.append(1)
        elif token in ")]}":
            chains[-2:] = chains[-2:-1] or [0]
        elif token == ",":
            chains[-1] = min(chains[-1], 1)
        else:
            chains[-1] += 1
        total = max(total, sum(chains)) if len(chains) < MAX_LEVELS else MAX_LEVELS + 1
    return total > MAX_LEVELS


def _syntax_error(text: str, error: SyntaxError) -> tuple[str, int, int]:
    """Return Python's message and place for a text, without the parentheses that were added around it."""
    line, column = error.lineno or 1, (error.offset or 2) - (1 if error.lineno == 1 else 0)
    if line <= text.count("\n") + 1 and column > 0:
        return error.msg, line, column
    try:
        python(text.replace("\n", " "))
    except SyntaxError as bare:
        before = text[: max(0, (bare.offset or 1) - 1)]
        return bare.msg, before.count("\n") + 1, len(before) - before.rfind("\n")
    except (RecursionError, MemoryError, ValueError):
        pass
    return error.msg, 1, 1


def _check(expression: Expression) -> None:
    depth = 0
    level: list[ast.AST] = [expression.tree]
    while level:
        depth += 1
        if depth > 60:
            message = "an expression nested deeper than 60 levels"
            raise SpecError(message, expression.place, expression.path, "name its parts in `where:`")
        for node in level:
            if fault := _fault(node):
                at = node.func if isinstance(node, ast.Call) else node
                raise SpecError(fault[0], expression.place_of(at), expression.path, fault[1])
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _fault(node: ast.AST) -> tuple[str, str] | None:
    """Return the problem of a node with its help; None for a node of the language."""
    kind, outside = type(node), "is not part of the spec language"
    if kind in _ALWAYS:
        return None
    foreign = f"{_NAMES.get(kind, kind.__name__)} {outside}" if not isinstance(node, _SOME) else ""
    if isinstance(node, ast.UnaryOp | ast.BinOp) and type(node.op) not in _ALWAYS:
        foreign = f"the operator {type(node.op).__name__} {outside}"
    if foreign:
        return foreign, _HELP
    if isinstance(node, ast.Constant):
        is_constant = isinstance(node.value, int | float | str | bool | None)
        if is_constant and not (isinstance(node.value, str) and not is_unicode(node.value)):
            return None
        what = (f"{node.value!r} is not Unicode text", UNICODE_HELP)
        return what if is_constant else (f"{node.value!r} {outside}", _HELP)
    name = getattr(node, "id", getattr(node, "attr", ""))
    if name.startswith("__"):
        return f"{name} {outside}", _HELP
    if name in _CONSTANTS and isinstance(node, ast.Name):
        return f"{name} is not defined", f"write {_CONSTANTS[name]}"
    is_method = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _METHODS
    if isinstance(node, ast.Call) and not is_method and not isinstance(node.func, ast.Name):
        method = getattr(node.func, "attr", "")
        return f"there is no method .{method}()" if method else "only a name can be called", _CALL_HELP
    return None


@lru_cache(maxsize=SEEN)
def names(tree: ast.AST) -> frozenset[str]:
    """Return the names that an expression reads."""
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield every call in a tree, the outer before the inner."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def callee(tree: ast.AST | None) -> str:
    """Return the name that is called; '' for a tree that is not a call of a name.

    >>> callee(ast.parse("Linear(a, b)", mode="eval").body), callee(ast.parse("a.b(c)", mode="eval").body)
    ('Linear', '')
    """
    return tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""


def text_of(tree: ast.AST | None) -> str:
    """Return the text of a constant; '' for any other tree."""
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""


Locals = dict[str, Any]


def condition_text(text: str, is_met: bool) -> str:
    """Return a condition that is true, for a text and its outcome; a number alone is compared with 0.

    >>> condition_text("head_dim == 1", False), condition_text("past", True), condition_text("a or b", False)
    ('head_dim != 1', 'past != 0', 'not (a or b)')
    """
    if text.isidentifier():
        return f"{text} {'!=' if is_met else '=='} 0"
    if is_met:
        return text
    try:
        tree: ast.expr | None = ast.parse(text, mode="eval").body
    except SyntaxError:  # a condition in words
        tree = None
    if not isinstance(tree, ast.Compare) or len(tree.ops) > 1:
        return f"not ({text})"
    opposite = _OPPOSITES[type(tree.ops[0])]
    return f"{ast.unparse(tree.left)} {opposite} {ast.unparse(tree.comparators[0])}"
