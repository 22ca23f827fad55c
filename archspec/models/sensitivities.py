"""How a count answers to each field, as a report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from archspec.models.report import Report
from archspec.render.growth import Sensitivity, sensitivity
from archspec.reports import Block, Table
from archspec.symbolic.closed_form import ClosedForm
from archspec.typing_light import Any


class Sensitivities(Report):
    """How a quantity answers to each field at a config, made by :meth:`archspec.Model.sensitivity`.

    ``formula`` is the closed form that was looked at.

    >>> import archspec
    >>> print(archspec.load("GPT2Model").sensitivity())
    params of GPT2Model = 124,439,808
    <BLANKLINE>
    field        value   derivative  one more adds  elasticity
    n_embd         768      198,847       +198,895      1.2272
    n_layer         12  7.08787e+06     +7,087,872      0.6835
    n_inner       3072       18,444        +18,444      0.4553
    vocab_size   50257          768           +768      0.3102
    n_positions   1024          768           +768      0.0063
    <BLANKLINE>
    note: n_head does not enter the count
    """

    def __init__(self, formula: ClosedForm) -> None:
        self.formula = formula

    @cached_property
    def fields(self) -> list[Sensitivity]:
        """Every field that enters, the most elastic first; derivatives ignore rounding."""
        return sensitivity(self.formula)

    @property
    def unused(self) -> tuple[str, ...]:
        """The numeric fields that do not enter."""
        return self.formula.unused

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec sensitivity --json` prints it."""
        return {
            "architecture": self.formula.architecture,
            "model_type": self.formula.model_type,
            "quantity": self.formula.quantity,
            "value": self.formula.evaluate(),
            "fields": [row._asdict() for row in self.fields],
            "unused": list(self.unused),
        }

    def blocks(self) -> Iterator[Block]:
        """The count, each field, and those that do not enter."""
        formula = self.formula
        yield f"{formula.quantity_name} of {formula.architecture} = {formula.evaluate():,}"
        yield ""
        yield Table("field|>value|>derivative|>one more adds|>elasticity", [*map(_row, self.fields)])
        yield ""
        for name in self.unused:
            yield f"note: {name} does not enter the count"


def _row(one: Sensitivity) -> tuple[str, ...]:
    step = f"{one.step:+,}" if one.step is not None else "no count"
    return one.field, str(one.value), f"{one.derivative:,.6g}", step, f"{one.elasticity:.4f}"
