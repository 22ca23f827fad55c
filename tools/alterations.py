"""Alterations of a spec file: every expression of its YAML text changed once, as a slip of the hand would.

A size is one off, a bias, an attribute, a tie or a condition is missing, a layer is one more, a default is
another one. The line numbers of the file stay as they are.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from archspec.errors import Place, Source
from archspec.language.expression import callee
from archspec.language.values import parse_kinds
from archspec.language.yaml_reader import compact_tree, text_of
from archspec.specs.files import folder, shown_path
from archspec.specs.library import Library
from archspec.specs.parser import parse_spec
from archspec.specs.records import CONFIGS, Spec
from archspec.specs.torch_layers import LEAVES

_FLAGS = {"bias", "requires_grad", "affine", "elementwise_affine"}
_BIASED = {"Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "LayerNorm"}
# Arguments of torch's constructors that no shape and no check depends on.
_IDLE = {"eps", "momentum", "dropout", "batch_first", "stride", "padding", "dilation", "num_heads", "groups"}
_IDLE |= {"padding_idx", "num_groups"}
_DEFAULT = re.compile(r"(?:[^=]*(?<![=!<>])= |or )")  # before the expression of a field
_COSTS = (
    "runs",
    "ops",
    "cache",
    "saves",
    "inputs",
    "sizes",
    "branches",
    "after",
    "placeholders",
    "needs",
)  # keys of a module that no tensor depends on
Edit = tuple[int, int, str]  # a slice of a text, and the text that replaces it


class Alteration(NamedTuple):
    """The altered text of a file, the lines of which one has to be named, and a description."""

    path: str
    text: str
    lines: frozenset[int]
    what: str

    @property
    def file(self) -> str:
        """Return the file's name in places."""
        return shown_path(self.path)

    def load(self, model_type: str) -> Spec:
        """Return the spec of a model type in a library that has the altered file. Errors: SpecError."""
        library = Library(folder())

        def named(name: str, place: Place) -> Spec:
            return library._read(library._find(name, self.path), (), library._parsed)

        source = Source(shown_path(self.path), self.text)
        library._parsed[self.path] = parse_spec(source, named, library)
        return library.load(model_type)


def alterations(name: str) -> list[Alteration]:
    """Return every alteration of a model type's file, or of a shared part, `shared/NAME`.

    >>> [one.what for one in alterations("shared/gated_mlp")][:1]
    ['modules.GatedMLP.gate_proj: (hidden_size + 1) in place of hidden_size']
    """
    return [*_File(Path(folder(), f"{name}.yaml").as_posix()).alterations()]


class _File:
    """A YAML file with the offsets of its values."""

    def __init__(self, path: str) -> None:
        self.path, self.text = path, text_of(path)
        self.parameters: set[str] = set()  # of the module that is altered

    def alterations(self) -> Iterator[Alteration]:
        root = compact_tree(Source(self.path, self.text))[1]
        fixed = dict(_items(root, "fixed"))
        for name, (begin, _, value) in {**dict(_items(root, "config")), **fixed}.items():
            yield from self._value(f"{'fixed' if name in fixed else 'config'}.{name}", value, begin)
        yield from self._conditions("require", root, 0)
        for begin, _, value in [root["readonly"]] if "readonly" in root else []:
            for word in self._slice(value).split():
                edited = re.sub(rf"\b{word}\b", "", self._slice(value))
                yield self._altered(f"readonly: {word} left out", value, edited, 0, begin)
        for key in ("modules", "architectures"):
            for name, (begin, _, value) in _items(root, key):
                self.parameters = set(re.findall(r"[(,]\s*(\w+)", name))
                yield from self._module(f"{key}.{name.partition('(')[0]}", value, begin)

    def _module(self, path: str, tree: list[Any], begin: int) -> Iterator[Alteration]:
        if not isinstance(tree[1], dict):
            yield from self._body(path, tree, begin, begin, removable=False)
            return
        for key, (start, _, value) in tree[1].items():
            inner = f"{path}.{key}"
            if key == "where":
                for name, (at, _, one) in value[1].items():
                    yield from self._value(f"{inner}.{name}", one, at)
            elif key == "require":
                yield from self._conditions(inner, tree[1], begin)
            elif key in ("tied", "alias"):
                for target, (at, _, one) in value[1].items():
                    without = f"{self._slice(one)} if False"
                    yield self._altered(f"{inner}: {target} left out", one, without, begin, at)
            elif key == "output_embeddings":
                other = "lm_head" if self._slice(value) == "None" else "None"
                yield self._altered(f"{inner}: {other}", value, other, begin, start)
            elif key not in _COSTS:
                yield from self._body(inner, value, begin, start, removable=key != "extends")

    def _body(
        self, path: str, tree: list[Any], module: int, begin: int, removable: bool = True
    ) -> Iterator[Alteration]:
        """An attribute: a constructor, or a mapping or list of them."""
        if isinstance(tree[1], dict):
            for key, (start, _, value) in tree[1].items():
                yield from self._body(f"{path}.{key}", value, module, start)
        elif isinstance(tree[1], list):
            for index, item in enumerate(tree[1]):
                yield from self._body(f"{path}.{index}", item, module, item[0], removable=False)
        elif text := self._slice(tree):
            node = _parsed(text)
            for edit in _in_constructor(node, text, self.parameters):
                yield self._edited(path, tree, text, edit, begin)
            if removable and _has_tensors(node):
                yield self._altered(f"{path} left out", tree, "None", module, begin)

    def _conditions(self, path: str, mapping: dict[str, Any], module: int) -> Iterator[Alteration]:
        value: list[Any] = mapping["require"][2] if "require" in mapping else [0, []]
        for item in value[1] if isinstance(value[1], list) else [value]:
            text = self._slice(item)
            yield self._altered(f"{path}: {text} left out", item, "True", module, item[0])
            yield self._altered(f"{path}: not {text}", item, f"not ({text})", module, item[0])

    def _value(self, path: str, tree: list[Any], begin: int) -> Iterator[Alteration]:
        """A default, a fixed value or a local name."""
        text = self._slice(tree)
        head = _DEFAULT.match(text)
        start = head.end() if head else 0
        if head and head[0] == "or ":
            yield self._altered(f"{path}: = instead of or", tree, f"= {text[3:]}", begin, begin)
        computed = ".where." in path or text.startswith(("=", "or "))
        if isinstance(tree[1], int) and text and not text.startswith("any") and not parse_kinds(text):
            for one, other, new in _in_value(text[start:], computed):
                yield self._edited(path, tree, text, (one + start, other + start, new), begin)

    def _slice(self, tree: list[Any]) -> str:
        """Return the text of a scalar, without its quotes."""
        return str(self.text[tree[0] : tree[1]]).strip("\"'") if isinstance(tree[1], int) else ""

    def _edited(self, path: str, tree: list[Any], text: str, edit: Edit, begin: int) -> Alteration:
        start, end, new = edit
        what = f"{path}: {new} in place of {' '.join(text[start:end].split()) or 'nothing'}"
        return self._altered(what, tree, text[:start] + new + text[end:], begin, begin)

    def _altered(self, what: str, tree: list[Any], new: str, *shown: int) -> Alteration:
        """Return the alteration that puts another text in place of a scalar."""
        start, end = tree[:2]
        if self.text[start] in "\"'":
            start, end = start + 1, end - 1
        lines = frozenset(self.text.count("\n", 0, offset) + 1 for offset in (start, *shown))
        return Alteration(self.path, self.text[:start] + new + self.text[end:], lines, what)


def _items(root: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    value = root[key][2] if key in root else [0, {}]
    return [*value[1].items()] if isinstance(value[1], dict) else []


def _parsed(text: str) -> ast.expr:
    return ast.parse(f"({text}\n)", mode="eval").body


def _edit(node: ast.expr, text: str, change: str) -> Edit:
    """Return the edit that writes `change` with the node's text in place of `{}`."""
    lines = f"({text}\n)".splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) - 1 for number in range(len(lines))]
    start = starts[node.lineno - 1] + node.col_offset
    end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
    return start, end, change.format(text[start:end])


def _in_constructor(tree: ast.expr, text: str, parameters: set[str]) -> Iterator[Edit]:
    """One argument, condition or loop altered."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not _is_empty(node):
            yield from _in_call(node, text, parameters)
        elif isinstance(node, ast.IfExp):
            yield _edit(node.test, text, "not ({})")
        elif isinstance(node, ast.comprehension):
            loop = node.iter
            if isinstance(loop, ast.Call) and callee(loop) == "range":
                yield _edit(loop.args[-1 if len(loop.args) == 1 else 1], text, "{} + 1")


def _in_call(node: ast.Call, text: str, forwarded: set[str]) -> Iterator[Edit]:
    name = callee(node)
    if name not in LEAVES:
        if name[:1].isupper():
            for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
                is_field = isinstance(value, ast.Name) and value.id not in forwarded
                if is_field or isinstance(value, ast.Constant | ast.BinOp | ast.Compare):
                    yield from _in_argument(value, text)
        return
    parameters = list(inspect.signature(LEAVES[name]).parameters.values())
    variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    for index, argument in enumerate(node.args):
        if variadic or parameters[index].name not in _IDLE:
            yield from _in_argument(argument, text)
    for keyword in node.keywords:
        if keyword.arg in _FLAGS:
            yield _edit(keyword.value, text, "not ({})")
        elif keyword.arg not in _IDLE:
            yield from _in_argument(keyword.value, text)
    if name in _BIASED and not variadic and not any(keyword.arg == "bias" for keyword in node.keywords):
        start, end, call = _edit(node, text, "{}")
        yield start, end, f"{call[:-1]}, bias=False)"


def _in_argument(node: ast.expr, text: str) -> Iterator[Edit]:
    constant = node.value if isinstance(node, ast.Constant) else ...
    if isinstance(node, ast.Starred | ast.ListComp | ast.GeneratorExp | ast.IfExp):
        return
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            yield from _in_argument(item, text)
    elif isinstance(node, ast.Compare | ast.BoolOp) or isinstance(constant, bool):
        yield _edit(node, text, "not ({})")
    elif constant is not None and not isinstance(constant, str):
        yield _edit(node, text, "({} + 1)")


def _in_value(text: str, computed: bool) -> Iterator[Edit]:
    """A value that is not a constructor: a number one off, a condition negated."""
    literal = {"true": "false", "false": "true"}.get(text)
    if literal or (not computed and re.fullmatch(r"-?\d+", text)):
        yield 0, len(text), literal or str(int(text) + 1)
        return
    try:
        tree = _parsed(text)
    except SyntaxError:
        return
    if any(isinstance(node, ast.Call) and callee(node) in CONFIGS for node in ast.walk(tree)):
        return
    if isinstance(tree, ast.List | ast.Tuple):
        for item in tree.elts[:1]:
            for start, end, new in _in_argument(item, text):
                yield start, end, new if computed or not new.endswith("+ 1)") else str(eval(new))
    elif isinstance(tree, ast.IfExp | ast.BoolOp) or (isinstance(tree, ast.Call) and not callee(tree)):
        yield _edit(tree.test if isinstance(tree, ast.IfExp) else tree, text, "not ({})")
    elif computed and not isinstance(tree, ast.ListComp | ast.GeneratorExp | ast.Dict | ast.Name):
        yield from _in_argument(tree, text)


def _is_empty(node: ast.Call) -> bool:
    """Return True if a call builds a layer without tensors."""
    flags = (one.value for one in node.keywords if one.arg in ("affine", "elementwise_affine"))
    return LEAVES.get(callee(node)) is LEAVES["Identity"] or "False" in map(ast.unparse, flags)


def _has_tensors(tree: ast.expr) -> bool:
    """Return True unless an attribute is null, which hides the parent's, or an empty layer."""
    called = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and callee(node)]
    return not isinstance(tree, ast.Constant) and not (called and all(map(_is_empty, called)))
