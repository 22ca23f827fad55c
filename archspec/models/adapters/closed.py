"""The closed form of an adapter's trained parameters, in terms of config fields and its rank r."""

from __future__ import annotations

import re
from collections import Counter
from math import prod
from typing import Any

import sympy

from archspec.adapters.inject import adapter_shapes
from archspec.adapters.modules import Module, Weight
from archspec.errors import FormulaError
from archspec.symbolic.builder import SymbolicBuilder
from archspec.symbolic.fields import exact_number, without_assumptions
from archspec.symbolic.repetitions import SymbolicTensor, symbolic_tensors

RANK = sympy.Symbol("r", integer=True)
_INDEX = re.compile(r"\\\{[^}]*\\\}")  # of a layer, in an escaped name


def trained_form(model: Any, top: Module, rank: int) -> sympy.Expr:
    """Return the number of trained parameters as an expression.

    Errors: :class:`FormulaError` if the expression does not give the exact number for the config.
    """
    builder = SymbolicBuilder(model.scope)
    rows = [row for row in symbolic_tensors(builder.build(model.architecture), builder) if not row.tied_to]
    patterns = [(re.compile(_INDEX.sub(r"\\d+", re.escape(row.name))), row) for row in rows]
    values = {sympy.Symbol(name): exact_number(one) for name, one in builder.notes.values.items()}
    counts = Counter[tuple[SymbolicTensor, Any]]()
    for _, module in top.walk():
        counts.update(_terms(module, patterns, rank))
    terms = []
    for (row, size), count in counts.items():
        layers = without_assumptions(row.repetition)
        terms.append(size * (layers if layers.xreplace(values) == count else count))
    found = without_assumptions(sympy.factor_terms(sympy.Add(*terms)))
    wanted = sum(prod(one.shape) for _, one in top.named_weights() if one.trainable)
    if found.xreplace({**values, sympy.Symbol("r"): rank}) != wanted:
        raise FormulaError(f"the closed form does not give the exact trained parameters, {wanted:,}")
    return found


def _terms(module: Module, patterns: list[Any], rank: int) -> list[tuple[SymbolicTensor, Any]]:
    """Return what the trained parameters of a module add, with the row of the base model that they follow."""
    found = []
    if module.role == "parameter":
        weight = module.base.weights[module.parameter]
        row = _row(weight.origin, patterns)
        experts, (rows, columns) = prod(_shape(row)[:-2]), _shape(row)[-2:]
        own = _rank(module) // prod(weight.shape[:-2])
        found.append((row, (RANK if own == rank else own) * experts * (rows + columns)))
    if module.role == "lora":
        base = module.base
        like = Module(base.kind)
        like.groups = base.groups
        name = next(name for name in ("weight", "in_proj_weight") if name in base.weights)
        row = _row(base.weights[name].origin, patterns)
        like.weights = {name: Weight(_shape(row))}
        shapes = adapter_shapes(like, RANK if _rank(module) == rank else _rank(module))
        holders = ((shape, module.children[part]) for part, shape in shapes.items())
        added = [(shape, name) for shape, holder in holders for name, _ in holder.named_weights()]
        found.append((row, sum(prod(shape[:1] if name.endswith("bias") else shape) for shape, name in added)))
    trained = (one for one in module.weights.values() if one.trainable and one.origin)
    rows = (_row(one.origin, patterns) for one in trained)
    return found + [(row, prod(_shape(row))) for row in rows]


def _shape(row: SymbolicTensor) -> tuple[Any, ...]:
    return tuple(map(without_assumptions, row.shape))


def _rank(module: Module) -> int:
    """Return the rows of the first matrix of an adapter."""
    matrices = (module.children[name] for name in ("lora_A", "lora_embedding_A"))
    return next(weight.shape[0] for holder in matrices for _, weight in holder.named_weights())


def _row(name: str, patterns: list[Any]) -> SymbolicTensor:
    """Return the row of a parameter. Errors: :class:`FormulaError` if several rows have its name."""
    rows = [row for pattern, row in patterns if pattern.fullmatch(name)]
    if len(rows) != 1:
        raise FormulaError(f"there is no closed form: layers with {name} differ")
    found: SymbolicTensor = rows[0]
    return found
