"""The public closed form: it is evaluated for other field values and printed in every format."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import product
from typing import Any

import sympy

from archspec.arguments import check_arguments
from archspec.configs.origin import merge_overrides
from archspec.errors import ArchspecError, FormulaError, option
from archspec.models import branches
from archspec.models.branches import canonical_name, named_errors, spot_at
from archspec.models.fields import Sensitivities, entering_fields
from archspec.models.parts import Excerpt, Leading, Parts, formula_json
from archspec.render.arrangements import arrange, collect_powers
from archspec.render.assumptions import parse_assumptions
from archspec.render.conditions import identifier, prepare
from archspec.render.formats import condition_note, format_formula, parts_table, to_latex
from archspec.render.notation import Glyph, own_glyphs
from archspec.render.tex.document import Layout
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.fields import exact_number
from archspec.tables.options import FORMATS


class Formula(ClosedForm):
    """A closed form that can be evaluated for other field values and printed.

    ``expr`` is a SymPy expression whose symbols have the names of the config's fields, ``symbols`` has their
    values. It is exact under the ``flags`` and ``conditions``, together the ``assumptions``. ``definitions``
    are the meanings of symbols that are not fields. ``architecture``, ``model_type`` and ``quantity`` name
    the count, ``source`` is the model of the config. After :meth:`with_fields`, ``notes`` names the branch
    and the given fields that have no effect.
    """

    source: branches.Source
    notes: tuple[str, ...] = ()

    @check_arguments
    def evaluate(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> int:
        """Return the quantity for the config with some fields set, like `archspec count --set`.

        Fields of a sub-config are given by path: ``{"text_config.hidden_size": 64}``. Costs also take
        batch and lengths. Other values may select another branch, whose formula :meth:`with_fields` returns.

        Errors: :class:`ConfigError` for an unknown field, an invalid value or a config that transformers
        rejects; :class:`FormulaError` for a field replaced by :meth:`assume`.

        >>> import archspec
        >>> archspec.formula("GPT2LMHeadModel").evaluate(n_layer=48, n_embd=1600, n_head=25)
        1557611200
        """
        fields = merge_overrides(set, fields)
        if not fields:
            return super().evaluate()
        with named_errors(self, fields):
            return branches.count_at(self, spot_at(self, self.source, fields))

    @check_arguments
    def with_fields(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> Formula:
        """Return the formula of the branch that applies with some fields set.

        >>> import archspec
        >>> f = archspec.formula("LlamaForCausalLM").with_fields(tie_word_embeddings=True)
        >>> print(f, f.notes)
        L·(2·d·d_h·(h + h_kv) + 3·d·d_ff + 2·d) + V·d + d ('another branch: tie_word_embeddings = True',)
        """
        fields = merge_overrides(set, fields)
        with named_errors(self, fields):
            spot = spot_at(self, self.source, fields)
            there = branches.form_at(self, spot)
        new = [text for text in there.assumptions if text not in {*self.assumptions, *self.stated}]
        there.source = spot.given
        there.notes = (*spot.notes, *([f"another branch: {'; '.join(new)}"] if new else ()))
        return there

    @check_arguments
    def substitute(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> Formula:
        """Return the formula with the given values in place of their symbols.

        >>> import archspec
        >>> print(archspec.formula("GPT2LMHeadModel").substitute(n_layer=48, n_embd=1600, n_head=25))
        1600·V + 1600·s + 48·(3201·d_ff + 10254400) + 3200
        """
        fields = merge_overrides(set, fields)
        form, names = self.with_fields(fields), tuple(canonical_name(self.scope, path) for path in fields)
        lists = tuple(f"{name}[" for name in names)
        chosen = [name for name in form.symbols if name in names or name.startswith(lists)]
        numbers = {name: form.symbols[name] for name in chosen if name not in form.definitions}
        table = {sympy.Symbol(name): exact_number(value) for name, value in numbers.items()}
        return form.replace(table, [f"{name} = {value}" for name, value in numbers.items()])

    @check_arguments
    def assume(self, *texts: str | Mapping[str, str | int], **fields: str | int) -> Formula:
        """Return the formula with fields replaced by expressions, all at once: ``a="b", b="a"`` swaps two.

        >>> import archspec
        >>> print(archspec.formula("GPT2LMHeadModel").assume(n_inner="4*n_embd"))
        L·(12·d² + 13·d) + d·(V + s) + 2·d
        """
        lines: list[str] = []
        for one in (*texts, fields):
            lines += [one] if isinstance(one, str) else [f"{name}={value}" for name, value in one.items()]
        if not lines:
            return self
        names = {*self.config_values, *self.absent, *self.pinned} - {*self.definitions}
        parsed = parse_assumptions(lines, branches.numbers_of(self.source.scope, self.call, names))
        named = {sympy.Symbol(canonical_name(self.scope, name)): expr for name, expr in parsed.items()}
        if len(named) < len(parsed):
            message = f"two of {', '.join(parsed)} are names of one field"
            raise FormulaError(message, help="keep one of the two assumptions")
        for symbol in named:
            if symbol in self.replacements and symbol not in self.expr.free_symbols:
                raise FormulaError(f"{symbol} is already replaced", help="state all assumptions at once")
        other = copy.copy(self)
        other.replacements, other.stated = self.compose_replacements(named), [*self.stated]
        for line, expr in zip(lines, named.values(), strict=True):
            own = sorted(symbol.name for symbol in expr.free_symbols & named.keys())
            text = " = ".join(part.strip() for part in line.split("=", 1))
            other.stated.append(f"{text}, with the config's own {' and '.join(own)}" if own else text)
        return other.with_fields()

    @check_arguments
    def leading_terms(self, *fields: str) -> Leading:
        """Return the terms that dominate as ``fields`` grow; by default as `archspec formula --leading`.

        >>> import archspec
        >>> print(archspec.formula("MixtralForCausalLM").leading_terms())
        ≈ L·(3·E·d·d_ff + 2·d·d_h·(h + h_kv)) + 2·V·d
        """
        return Leading(self, fields)

    @check_arguments
    def split(self, by: str = "repetition", depth: int = 1) -> Parts:
        """Return the parts by `component`, `module` (to a depth), `layer`, `repetition`, or `polynomial`."""
        return Parts(self, arrange(self, by, depth))

    @check_arguments
    def collect(self, field: str) -> Excerpt:
        """Return the formula by powers of one field.

        >>> import archspec
        >>> print(archspec.formula("BertModel").collect("hidden_size"))
        d²·(4·L + 1) + d·(2·L·d_ff + 9·L + V + s + t + 3) + L·d_ff
        """
        return Excerpt(self, *collect_powers(self, field))

    @check_arguments
    def table(
        self, format: str = "markdown", by: str = "component", depth: int = 1, width: float | None = None
    ) -> str:
        """Return a table of the parts with formula, value and share, in `markdown` or `latex` (booktabs).

        In LaTeX the table is at most ``width`` digits wide.
        """
        if format not in ("markdown", "latex"):
            raise FormulaError(f"unknown table format {format!r}", help="choose markdown or latex")
        if width is not None and format != "latex":
            raise FormulaError(f"width has no effect on {format}", help="leave out the width")
        return parts_table(self, arrange(self, by, depth), format, None, Layout(width=width))

    @property
    def relevant_fields(self) -> tuple[str, ...]:
        """The paths of the config's fields that change the quantity.

        Fields that are not in the formula are tested by counting at a few other values.
        """
        return tuple(entering_fields(self, self.source))

    def sensitivity(self) -> Sensitivities:
        """Return how much the quantity changes with each field, like `archspec sensitivity`."""
        return Sensitivities(self, lambda fields: branches.count_at(self, spot_at(self, self.source, fields)))

    @check_arguments
    def cases(self, limit: int = 5) -> list[tuple[dict[str, bool], Formula]]:
        """Return the formula for each combination of the boolean flags that change it."""
        names = []
        for name, value in self.flags.items():
            try:
                if isinstance(value, bool) and self.with_fields({name: not value}).expr != self.expr:
                    names.append(name)
            except FormulaError:
                raise
            except ArchspecError:
                continue  # transformers refuses the other value
        if len(names) > limit:
            message = f"{len(names)} flags change this formula: {', '.join(names)}"
            raise FormulaError(message, help=f"fix some of them with {option('set')}")
        combinations = product((False, True), repeat=len(names))
        cases = [dict(zip(names, reversed(values), strict=True)) for values in combinations]  # first fastest
        return [(flags, self.with_fields(flags)) for flags in cases]

    @check_arguments
    def latex(self, env: str | None = None, width: float | None = None, standalone: bool = False) -> str:
        r"""Return LaTeX in the standard symbols: without delimiters, in an environment, or a whole document.

        ``env`` is `align`, `equation` or one of these with a `*`. Lines are at most ``width`` digits wide: 48
        fits a two-column layout, 69 (the default in an environment) LaTeX's article.

        >>> import archspec
        >>> print(archspec.formula("GPT2Model").latex(env="align*", width=40))
        \begin{align*}
          N_{\mathrm{params}} &= L (4 d^2 + 2 d\,d_{\mathrm{ff}} + 9 d + d_{\mathrm{ff}}) \\
            &+ d (V + s) + 2 d
        \end{align*}
        """
        return to_latex(self, arrange(self, "repetition"), None, Layout(env, width, standalone))

    def text(self) -> str:
        """Return plain text with `·` and powers, in the standard symbols."""
        return format_formula(self, "unicode")

    def mathml(self) -> str:
        """Return presentation MathML in the standard symbols."""
        return format_formula(self, "mathml")

    def python(self) -> str:
        """Return Python code over :attr:`inputs` that raises ValueError if a condition fails."""
        return format_formula(self, "python")

    @property
    def inputs(self) -> dict[str, Any]:
        """The fields that the generated code reads, by identifier, with their values."""
        return {identifier(name): value for name, value in prepare(self).inputs.items()}

    @property
    def checks(self) -> list[str]:
        """The conditions as Python expressions over :attr:`inputs`."""
        return prepare(self).tests("python")

    @check_arguments
    def render(
        self, format: str = "unicode", *, notation: str | None = None, symbol: Mapping[str, str] | None = None
    ) -> str:
        """Return the formula in any format of `archspec formula --format`: markdown, c, sql, spark, ….

        Code checks the conditions. If one fails, Python raises ValueError, SQL gives NULL, C an error code.
        ``notation`` is a file of custom symbols, ``symbol`` gives the LaTeX of some fields.
        """
        if format not in FORMATS:
            help_ = f"choose from: {', '.join(FORMATS)}"
            raise FormulaError(f"unknown formula format {format!r}", help=help_)
        return format_formula(self, format, self._own_glyphs(notation, symbol)) + condition_note(self, format)

    @check_arguments
    def as_json(self, notation: str | None = None, symbol: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return plain data, as `archspec formula --json` prints it: every format and all conditions."""
        return formula_json(self, self._own_glyphs(notation, symbol))

    def _own_glyphs(self, notation: str | None, symbol: Mapping[str, str] | None) -> dict[str, Glyph]:
        return own_glyphs({**self.symbols, **self.config_values}, notation, symbol)

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"
