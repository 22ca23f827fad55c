"""The closed form that users hold: it shows itself as text, LaTeX, MathML and Python."""

from __future__ import annotations

from archspec.render import code, printers
from archspec.symbolic.closed_form import ClosedForm


class Formula(ClosedForm):
    """The closed form of one quantity, specialised on one config's flags.

    ``expr`` is a SymPy expression whose symbols carry the names of the config's fields; ``symbols``
    gives each symbol's value in the config, ``assumptions`` the flags and conditions that hold,
    ``definitions`` what the symbols without a field stand for, ``unused`` the numeric fields that do
    not enter, ``tensors`` the rows that were added up.

    >>> import archspec
    >>> f = archspec.formula("GPT2LMHeadModel")
    >>> f.evaluate(n_layer=48, n_embd=1600, n_head=25)
    1557611200
    """

    def latex(self) -> str:
        """LaTeX in the usual symbols."""
        return printers.latex(self)

    def text(self) -> str:
        """Plain text with `·` and powers, in the usual symbols."""
        return printers.text(self)

    def mathml(self) -> str:
        """Presentation MathML in the usual symbols."""
        return printers.mathml(self)

    def python(self) -> str:
        """A Python expression over the field names."""
        return code.python(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"
