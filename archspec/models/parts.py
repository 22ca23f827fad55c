"""Parts of a formula, its leading terms, and the JSON of `archspec formula`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from archspec.arguments import check_arguments
from archspec.models.report import OfModel, Record, Report, data_of, fact
from archspec.render.arrangements import Part, arrange
from archspec.render.formats import PLAIN, Own, format_formula, glyphs, to_latex
from archspec.render.growth import leading_terms
from archspec.render.tex.document import Layout
from archspec.reports import Block, Table
from archspec.symbolic.closed_form import ClosedForm
from archspec.typing_light import Any


class FormulaPart(Record):
    """a part"""

    part: str = fact("its label, empty for the total", lambda one: one.label)
    expression: str = fact("in Python's syntax, over the fields", lambda one: str(one.expr))
    value: int = fact("its value at the config", least=None)


class LeadingTerms(Record):
    """the dominant terms"""

    expression: str = fact("the dominant terms, in Python's syntax", lambda one: str(one.expr))
    value: float = fact("the value of the dominant terms at the config", least=None)
    growing: list[str] = fact("the fields that grow")
    dropped: str = fact("the dropped terms, in Python's syntax", lambda one: str(one.dropped.expr))
    dropped_value: float = fact(
        "the value of the dropped terms at the config", lambda one: one.dropped.value, least=None
    )
    dropped_share: float = fact("the share of the dropped terms", lambda one: one.dropped.share, least=None)


class Excerpt:
    """Some terms of a ``formula``: ``expr`` is their sum, ``label`` their name, ``part`` has them in order.

    ``sign`` is printed before the terms: = or ≈. ``layout`` is the layout of their LaTeX.
    """

    layout = PLAIN
    sign = "="

    def __init__(self, formula: ClosedForm, part: Part) -> None:
        self.formula, self.part = formula, part
        self.label, self.expr = part.label, part.expr

    @property
    def value(self) -> int:
        """The value of the terms for the config."""
        return int(self.formula.number(self.expr))

    @property
    def share(self) -> float:
        """The share of the total for the config."""
        return self.value / max(1, self.formula.evaluate())

    def text(self) -> str:
        """Return plain text with `·` and powers, in the standard symbols."""
        return format_formula(self.formula, "unicode", terms=self.part.terms)

    @check_arguments
    def latex(self, env: str | None = None, width: float | None = None, standalone: bool = False) -> str:
        """Return LaTeX in the standard symbols, with the arguments of :meth:`archspec.Formula.latex`."""
        layout = self.layout._replace(env=env, width=width, standalone=standalone)
        part = self.part._replace(label="") if layout.is_plain else self.part
        return to_latex(self.formula, [part], None, layout)

    def mathml(self) -> str:
        """Return presentation MathML in the standard symbols."""
        return format_formula(self.formula, "mathml", terms=self.part.terms)

    def python(self) -> str:
        """Return a Python expression over the field names."""
        return format_formula(self.formula, "python", terms=self.part.terms)

    def as_json(self) -> dict[str, Any]:
        """Return plain data, as `archspec formula --json` prints a part."""
        return data_of(FormulaPart, self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{self.label or self.formula.quantity} {self.sign} {self.text()}>"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


class Parts(Report):
    """The parts of a formula, indexed by number or label; made by :meth:`archspec.Formula.split`.

    ``formula`` is the total, ``parts`` a list of :class:`Excerpt`, ``layout`` their LaTeX layout.

    >>> import archspec
    >>> parts = archspec.formula("BertModel").split("component")
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

    @check_arguments
    def latex(self, env: str | None = "align*", width: float | None = None, standalone: bool = False) -> str:
        """Return LaTeX of the sum and of each part, with the arguments of :meth:`archspec.Formula.latex`."""
        layout = self.layout._replace(env=env, width=width, standalone=standalone)
        return to_latex(self.formula, [one.part for one in self.parts], None, layout)

    def blocks(self) -> Iterator[Block]:
        """Yield a table of all parts."""
        rows = [(part.label, part.text(), f"{part.value:,}", f"{part.share:.2%}") for part in self.parts]
        yield Table("part|formula|>value|>share", rows)

    def as_json(self) -> list[dict[str, Any]]:
        """Return plain data, as `archspec formula --json` lists parts."""
        return [part.as_json() for part in self.parts]


class Leading(Excerpt):
    """The terms of a formula that no other term outgrows; made by :meth:`archspec.Formula.leading_terms`.

    ``growing`` are the growing fields, ``dropped`` the other terms, ``value`` is the approximate value.

    >>> import archspec
    >>> form = archspec.formula("GPT2LMHeadModel").assume(n_inner="4*n_embd").leading_terms()
    >>> print(form)
    ≈ 12·L·d² + V·d
    >>> form.growing, form.dropped.text(), f"{form.dropped.share:.2%}"
    (('n_embd', 'n_layer', 'vocab_size'), '13·L·d + s·d + 2·d', '0.73%')
    """

    sign = "≈"

    def __init__(self, formula: ClosedForm, fields: Iterable[str]) -> None:
        self._found = leading_terms(formula, fields)
        (whole,) = arrange(formula, "repetition")
        super().__init__(formula, self._found.leading_part(whole))
        self.layout, self.growing = Layout(relation=r"\approx", value=self.value), self._found.growing
        self.dropped = Excerpt(formula, Part.make("", self._found.dropped))

    @check_arguments
    def cut(self, parts: Iterable[Part]) -> list[Part]:
        """Return the leading terms of given parts, without parts that have none."""
        left = [self._found.leading_part(part) for part in parts]
        return [part for part in left if part.expr != 0] or [self.part]

    @check_arguments
    def split(self, by: str, depth: int = 1) -> Parts:
        """Return the leading terms of each part of the formula; parts without leading terms are left out."""
        return Parts(self.formula, self.cut(arrange(self.formula, by, depth)), self.layout)

    def as_json(self) -> dict[str, Any]:
        """Return plain data, as `archspec formula --leading --json` prints it."""
        return data_of(LeadingTerms, self)

    def __str__(self) -> str:
        return f"{self.sign} {self.text()}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle \\approx {self.latex()}$"


_FORMATS = {
    "text": "ASCII with the usual symbols",
    "unicode": "text with · and powers, with the usual symbols",
    "latex": "LaTeX without delimiters",
    "mathml": "presentation MathML",
    "markdown": "LaTeX between dollar signs",
    "python": "a Python expression over the inputs; it raises ValueError if a condition fails",
    "c": "a C function of the inputs; it sets *result_ to a 128-bit number and returns 0, or an error code: "
    "1 if a condition fails, 2 for an overflow",
    "sql": "a DuckDB expression over the inputs; it is NULL if a condition fails",
    "spark": "a Spark SQL expression over the inputs; it is NULL if a condition fails",
}


class Symbol(Record):
    """a symbol"""

    field: str = fact("the field, of a sub-config by its path, or the name of a number of layers")
    symbol: str = fact("its symbol in text")
    latex: str = fact("its symbol in LaTeX")
    meaning: str = fact("its meaning, or empty")
    value: int | float = fact("its value in the config", least=None)


class Input(Record):
    """a field"""

    name: str = fact("the field as an identifier", lambda item: item[0])
    value: Any = fact("its value in the config", lambda item: item[1])


class Written:
    """A formula with its text in every format."""

    def __init__(self, formula: Any, own: Own) -> None:
        self.formula, self.own, self.parts = formula, own, formula.split().parts
        found = glyphs(formula, own)
        self.symbols = [Symbol(name, *found[name], value) for name, value in formula.symbols.items()]

    def __getattr__(self, name: str) -> Any:
        if name in _FORMATS:
            return format_formula(self.formula, name, self.own)
        return getattr(self.formula, name)


class OfFormula(OfModel):
    """An object about one closed form"""

    quantity: str = fact("the name of the quantity, such as params")


class WrittenFormula(OfFormula):
    """one closed form"""

    value: int = fact(
        "the value for the config; in bytes if a dtype is given", lambda one: one.evaluate(), least=None
    )
    _formats = {name: fact(help, kind="str") for name, help in _FORMATS.items()}  # noqa: RUF012
    symbols: list[Symbol] = fact("every symbol of the expression")
    inputs: list[Input] = fact("the fields that the code reads", lambda one: one.formula.inputs.items())
    conditions: list[str] = fact(
        "conditions of the formula, as Python expressions over the inputs", lambda one: one.checks
    )
    definitions: dict[str, str] = fact("the meaning of symbols without a field")
    flags: dict[str, Any] = fact("conditions fixed by the config: booleans, strings, nulls, lengths of lists")
    assumptions: list[str] = fact("conditions of the formula, as the text prints them")
    unused: list[str] = fact(
        "numeric fields that do not affect the quantity", lambda form: form.unused_fields
    )
    leading: LeadingTerms = fact("the dominant terms, if requested", lambda one: None, optional=True)
    parts: list[FormulaPart] = fact("the requested parts", least=1)


def formula_json(formula: Any, own: Own) -> dict[str, Any]:
    """Return a formula in every format, with all its conditions, as plain data."""
    return data_of(WrittenFormula, Written(formula, own))


class Case(Record):
    """a case"""

    flags: dict[str, bool] = fact("the flags of the case", lambda case: case[0])
    expression: str = fact(
        "the closed form in Python's syntax, over the fields", lambda case: str(case[1].expr)
    )
    value: int = fact("its value at the config with these flags", lambda case: case[1].evaluate(), least=None)


class Piecewise(OfFormula):
    """a closed form in cases"""

    cases: list[Case] = fact(
        "one case per combination of the boolean fields that affect the quantity",
        lambda formula: formula.cases(),
        least=1,
    )
