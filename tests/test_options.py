"""What the command line takes, Python takes by the same name; what is otherwise is listed here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.cli.command_line import Arguments
from archspec.cli.main import VERBS, module_of
from archspec.costs.training import TrainingStep
from archspec.solving.budgets import Budgets

MODEL, FORMULA, SWEEP = archspec.Model, archspec.Formula, archspec.Sweep
FUNCTIONS: dict[str, list[Callable[..., Any]]] = {  # beside archspec.load
    "count": [MODEL.counts],
    "tree": [archspec.Tree.text],
    "tensors": [MODEL.tensors],
    "formula": [
        *(archspec.formula, FORMULA.written, FORMULA.latex, FORMULA.by, FORMULA.collect, FORMULA.leading),
        *(FORMULA.assume, FORMULA.in_bytes, FORMULA.table, FORMULA.piecewise),
    ],
    "flops": [MODEL.flops],
    "cache": [MODEL.cache],
    "memory": [MODEL.memory, TrainingStep],
    "sensitivity": [MODEL.sensitivity],
    "diff": [archspec.diff],
    "table": [archspec.table],
    "sweep": [archspec.sweep, MODEL.forward, SWEEP.plot, SWEEP.sql, SWEEP.write, SWEEP.head],
    "solve": [archspec.solve],
    "list": [archspec.catalogue],
    "lint": [archspec.lint],
    "verify": [archspec.verify],
    "derive": [archspec.derive],
}
OTHERWISE = {  # option -> what it is in Python
    "model": "config",
    "json": "as_json()",
    "json_schema": "archspec.schema(verb)",
    "train": "Model.training",
    "format": "latex(), markdown()",
    "out": "Sweep.write(path), Solution.save(folder)",
    "overwrite": "of the methods that write files",
    "no_verify": "verify=False",
    "schema": "archspec.spec_schema()",
    **dict.fromkeys(("output", "coverage", "check", "costs", "formulas"), "of the checkout"),  # of verify
}


@pytest.mark.parametrize("verb", VERBS)
def test_python_takes_what_the_command_takes(verb: str) -> None:
    takes = Arguments()
    module_of(verb).add_arguments(takes)
    options = {name.removeprefix("--").replace("-", "_") for name, _ in takes.told}
    functions = [archspec.load, *FUNCTIONS[verb]]
    known = {name for one in functions for name in (*inspect.signature(one).parameters, one.__name__)}
    known |= set(Budgets.__annotations__) if verb == "solve" else set()
    assert options - known - set(OTHERWISE) == set()
