"""Parts of a formula, and what is left of it where it is large: each prints as the formula does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from archspec.arguments import ARRANGEMENT, PARTS, checked
from archspec.models.report import Report
from archspec.render.arrangements import Part, arrangement
from archspec.render.formats import PLAIN, Layout, typeset, written_part
from archspec.render.growth import leading
from archspec.reports import Block, Table
from archspec.symbolic.closed_form import ClosedForm
from archspec.typing_light import Any


class Excerpt:
    """Some terms of a ``formula``: ``expr`` is their sum, ``label`` their name where they have one.

    ``part`` are the terms in their order.
    """

    layout = PLAIN  # of its LaTeX: how it stands to its left side
    sign = "="

    def __init__(self, formula: ClosedForm, part: Part) -> None:
        self.formula, self.part = formula, part
        self.label, self.expr = part.label, part.expr

    @property
    def value(self) -> int:
        """What the terms are worth at the config."""
        return int(self.formula.number(self.expr))

    @property
    def share(self) -> float:
        """Their part of the whole at the config."""
        return self.value / max(1, self.formula.evaluate())

    def text(self) -> str:
        """Plain text with `·` and powers, in the usual symbols."""
        return written_part(self.formula, self.part, "unicode")

    @checked()
    def latex(self, env: str | None = None, width: float | None = None, standalone: bool = False) -> str:
        """LaTeX in the usual symbols, laid out as :meth:`archspec.Formula.latex` is."""
        layout = self.layout._replace(env=env, width=width, standalone=standalone)
        bare = layout[:3] == PLAIN[:3]
        return typeset(self.formula, [self.part._replace(label="") if bare else self.part], None, layout)

    def mathml(self) -> str:
        """Presentation MathML in the usual symbols."""
        return written_part(self.formula, self.part, "mathml")

    def python(self) -> str:
        """A Python expression over the field names."""
        return written_part(self.formula, self.part, "python")

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec formula --json` prints a part."""
        return {"part": self.label, "expression": str(self.expr), "value": self.value}

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{self.label or self.formula.quantity} {self.sign} {self.text()}>"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


class Parts(Report):
    """The parts of a formula, made by :meth:`archspec.Formula.by`; by their number or by their label.

    ``formula`` is the whole, ``parts`` is a list of :class:`Excerpt`, ``layout`` is how their LaTeX is set.

    >>> import archspec
    >>> parts = archspec.formula("BertModel").by("component")
    >>> print(parts)
    part          formula                       value   share
    embeddings    d·(V + s + t)            23,835,648  21.77%
    attention     L·(4·d² + 4·d)           28,348,416  25.89%
    feed-forward  L·(2·d·d_ff + d + d_ff)  56,669,184  51.76%
    norms         4·L·d + 2·d                  38,400   0.04%
    head          d² + d                      590,592   0.54%
    >>> len(parts), parts["head"].value
    (5, 590592)
    """

    def __init__(self, formula: ClosedForm, parts: Iterable[Part], layout: Layout = PLAIN) -> None:
        self.formula, self.layout = formula, layout
        self.parts = [Excerpt(formula, part) for part in parts]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Excerpt]:
        return iter(self.parts)

    def __getitem__(self, key: int | str) -> Excerpt:
        return self.parts[key] if isinstance(key, int) else {part.label: part for part in self.parts}[key]

    @checked()
    def latex(self, env: str | None = "align*", width: float | None = None, standalone: bool = False) -> str:
        r"""LaTeX, a line or more for each part, laid out as :meth:`archspec.Formula.latex` is.

        >>> import archspec
        >>> print(archspec.formula("GPT2Model").leading("n_embd", "n_inner").by("component").latex())
        \begin{align*}
          N_{\mathrm{params}} &\approx N_{\text{attention}} + N_{\text{feed-forward}} \\
          N_{\text{attention}} &\approx 4 L\,d^2 \\
          N_{\text{feed-forward}} &\approx 2 L\,d\,d_{\mathrm{ff}}
        \end{align*}
        """
        layout = self.layout._replace(env=env, width=width, standalone=standalone)
        return typeset(self.formula, [one.part for one in self.parts], None, layout)

    def blocks(self) -> Iterator[Block]:
        """A table of all parts."""
        shown = [(part.label, part.text(), f"{part.value:,}", f"{part.share:.2%}") for part in self.parts]
        yield Table("part|formula|>value|>share", shown)

    def as_json(self) -> list[dict[str, Any]]:
        """Plain data, as `archspec formula --json` lists parts."""
        return [part.as_json() for part in self.parts]


class Leading(Excerpt):
    """The terms of a formula that no other outgrows, made by :meth:`archspec.Formula.leading`.

    ``growing`` are the fields that grow, ``dropped`` is what is left out, ``found`` how that was chosen.
    :attr:`value` is the approximation's own.

    >>> import archspec
    >>> form = archspec.formula("GPT2LMHeadModel").assume(n_inner="4*n_embd").leading()
    >>> print(form)
    ≈ 12·L·d² + V·d
    >>> form.growing, form.dropped.text(), f"{form.dropped.share:.2%}"
    (('n_embd', 'n_layer', 'vocab_size'), '13·L·d + s·d + 2·d', '0.73%')
    """

    sign = "≈"

    def __init__(self, formula: ClosedForm, fields: Iterable[str]) -> None:
        self.found = leading(formula, fields)
        (whole,) = arrangement(formula, "repetition")
        super().__init__(formula, self.found.part(whole))
        self.layout = Layout(relation=r"\approx", value=self.found.value)
        self.growing = self.found.growing
        self.dropped = Excerpt(formula, Part("", self.found.dropped))

    @checked(parts=PARTS)
    def cut(self, parts: Iterable[Part]) -> list[Part]:
        """What is left of each of some parts; those of which nothing is are left out."""
        return [left for part in parts if (left := self.found.part(part)).expr != 0]

    @checked(by=ARRANGEMENT)
    def by(self, by: str, depth: int = 1) -> Parts:
        """What is left of each part of the formula; those of which nothing is are left out.

        >>> import archspec
        >>> archspec.formula("LlamaModel").leading().by("component")["attention"]
        <attention = 2·L·d·d_h·(h + h_kv)>
        """
        return Parts(self.formula, self.cut(arrangement(self.formula, by, depth)), self.layout)

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec formula --leading --json` prints it."""
        found = {"expression": str(self.expr), "value": self.value, "growing": list(self.growing)}
        dropped = {"dropped": str(self.dropped.expr), "dropped_value": self.dropped.value}
        return {**found, **dropped, "dropped_share": self.dropped.share}

    def __str__(self) -> str:
        return f"{self.sign} {self.text()}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle \\approx {self.latex()}$"
