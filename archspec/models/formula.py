"""The closed form that users hold: it shows itself as text, LaTeX, MathML and Python."""

from __future__ import annotations

from archspec.render.formats import written
from archspec.symbolic.closed_form import ClosedForm


class Formula(ClosedForm):
    """A closed form (its fields are those of :class:`ClosedForm`) that can be printed.

    >>> import archspec
    >>> f = archspec.formula("GPT2LMHeadModel")
    >>> f.evaluate(n_layer=48, n_embd=1600, n_head=25)
    1557611200
    """

    def latex(self) -> str:
        """LaTeX in the usual symbols, without delimiters."""
        return written(self, "latex")

    def text(self) -> str:
        """Plain text with `·` and powers, in the usual symbols.

        >>> import archspec
        >>> archspec.formula("GPT2Model").text()
        'L·(4·d² + 2·d·d_ff + 9·d + d_ff) + d·(V + s) + 2·d'
        """
        return written(self, "unicode")

    def mathml(self) -> str:
        """Presentation MathML in the usual symbols."""
        return written(self, "mathml")

    def python(self) -> str:
        """A Python expression over the field names.

        >>> import archspec
        >>> f = archspec.formula("GPT2Model")
        >>> eval(f.python(), {}, dict(f.symbols)) == f.evaluate()
        True
        """
        return written(self, "python")

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"
