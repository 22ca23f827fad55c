"""Which lines of a spec say nothing for any of its configs: an alteration of those is no slip.

A line that is taken over from another spec may speak of what never is here. A slip there shows in the other
specs that have the line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from archspec.configs.checks import may_be_negative
from archspec.language.expression import Expression, names
from archspec.specs.records import Module, Spec, leaves
from tools.mutation.constants import handed_on, settled


def living(tree: ast.AST, module: Module, spec: Spec) -> Iterator[ast.AST]:
    """Yield the nodes of an expression that some config may evaluate."""
    yield tree
    inner = list(ast.iter_child_nodes(tree))
    if isinstance(tree, ast.IfExp) and (outcome := settled(tree.test, module, spec)) is not None:
        inner = [tree.test, tree.body if outcome else tree.orelse]
    elif isinstance(tree, ast.BoolOp):  # what comes after one that decides is not come to
        ends = isinstance(tree.op, ast.Or)
        decided = [settled(value, module, spec) is ends for value in tree.values]
        inner = list(tree.values[: decided.index(True) + 1 if True in decided else None])
    for child in inner:
        yield from living(child, module, spec)


def conjuncts(tree: ast.expr) -> list[ast.expr]:
    """Return the parts of a condition that are joined by `and`."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return [part for value in tree.values for part in conjuncts(value)]
    return [tree]


def masked(name: str, spec: Spec) -> bool:
    """Whether a spec reads a field, but only where no config comes to.

    >>> from archspec.specs.library import shipped
    >>> [masked("is_decoder", shipped().load(name)) for name in ("luke", "bert")]  # luke: for cross-attention
    [True, False]
    """
    reading = False
    for module in spec.modules.values():
        ties = [tie.turns for tie in module.ties if tie.turns is not None]
        defaults = [default for default in module.parameters.values() if default is not None]
        for expression in (*leaves(module.body), *module.where.values(), *module.require, *ties, *defaults):
            if name in names(expression.tree):
                reading = True
                if any(
                    isinstance(node, ast.Name) and node.id == name
                    for node in living(expression.tree, module, spec)
                ):
                    return False
    whole = (
        *spec.require,
        *spec.fixed.values(),
        *(field.default for field in spec.fields.values() if field.default),
    )
    return reading and not any(name in names(expression.tree) for expression in whole)


def nothing(tree: ast.expr, module: Module, spec: Spec) -> bool:
    """Return True if an attribute is None for every config."""
    outcome = settled(tree.test, module, spec) if isinstance(tree, ast.IfExp) else None
    if isinstance(tree, ast.IfExp) and outcome is not None:
        return nothing(tree.body if outcome else tree.orelse, module, spec)
    return isinstance(tree, ast.Constant) and tree.value is None


def implied(condition: Expression, others: Iterable[Expression], module: Module, spec: Spec) -> bool:
    """Whether some conditions leave one nothing to refuse: fields that it wants above zero are so by those.

    >>> from archspec.specs.library import shipped
    >>> spec = shipped().load("beam")  # 48 heads for 8 keys and values: the one is divided by the other
    >>> implied(spec.modules["BeamAttention"].require[0], spec.require, spec.modules["BeamAttention"], spec)
    True
    """
    wanted = [_above_zero(part) for part in conjuncts(condition.tree)]
    known: set[str] = set()
    parts = [part for other in others for part in conjuncts(other.tree)]
    falsy = {
        name: ast.unparse(field.default.tree)
        for name, field in spec.fields.items()
        if field.falsy and field.default
    }
    while True:
        more = {name for part in parts for name in _positive(part, known, spec)}
        more |= {name for name, default in falsy.items() if default in known}  # `or num_attention_heads`
        if more <= known:
            break
        known |= more
    return all(name in known and _whole_number(name, module, spec) for name in wanted)


def _above_zero(tree: ast.expr) -> str:
    """The name in `name > 0`, else none."""
    plain = (
        isinstance(tree, ast.Compare) and len(tree.ops) == 1 and ast.unparse(tree).endswith((" > 0", " >= 1"))
    )
    return tree.left.id if plain and isinstance(tree, ast.Compare) and isinstance(tree.left, ast.Name) else ""


def _positive(tree: ast.AST, known: set[str], spec: Spec) -> set[str]:
    """The names that a condition leaves above zero: what it always divides by, what equals one of those."""
    if isinstance(tree, ast.Name) and tree.id in spec.fixed:
        return _positive(spec.fixed[tree.id].tree, known, spec)
    found = {_above_zero(tree)} - {""} if isinstance(tree, ast.expr) else set()
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.Eq) and len(tree.ops) == 1:
        both = {side.id for side in (tree.left, tree.comparators[0]) if isinstance(side, ast.Name)}
        found |= both if both & known else set()
    if (
        isinstance(tree, ast.BinOp)
        and isinstance(tree.op, ast.Mod | ast.FloorDiv | ast.Div)
        and isinstance(tree.right, ast.Name)
    ):
        found.add(tree.right.id)
    inner: Iterable[ast.AST] = ast.iter_child_nodes(tree)
    if isinstance(tree, ast.BoolOp):  # only its start is come to in any case
        inner = tree.values[:1]
    elif isinstance(tree, ast.IfExp):
        inner = [tree.test]
    elif isinstance(tree, ast.GeneratorExp | ast.ListComp):
        inner = [tree.generators[0].iter]
    return found.union(*(_positive(child, known, spec) for child in inner))


def _whole_number(name: str, module: Module, spec: Spec) -> bool:
    """Return True if a name is that of a non-negative integer field."""
    field = spec.fields.get(spec.attribute_map.get(name, name))
    if field is None or name in (*module.where, *module.parameters, *spec.fixed) or handed_on(name, spec):
        return False
    default = field.default.tree if field.default is not None else None
    whole = (
        {*field.types} <= {"int", "None"}
        if field.types
        else isinstance(default, ast.Constant) and type(default.value) is int
    )
    return not may_be_negative(field) and (
        whole or (isinstance(default, ast.Name) and _whole_number(default.id, module, spec))
    )
