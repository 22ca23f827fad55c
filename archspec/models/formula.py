"""The closed form that users hold: it evaluates at other fields and prints itself in every format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archspec.arguments import ARRANGEMENT, STATED, TEXT, checked
from archspec.configs.origin import merge_overrides
from archspec.errors import FormulaError
from archspec.models.elsewhere import Branch, Branches, Source
from archspec.models.fields import Sensitivities, entering
from archspec.models.parts import Excerpt, Leading, Parts, Written, WrittenFormula
from archspec.models.report import data_of
from archspec.render.arrangements import arrangement, collect_powers
from archspec.render.assumptions import parse_assumptions, piecewise
from archspec.render.code.conditions import prepare
from archspec.render.code.printer import identifier
from archspec.render.formats import condition_note, format_formula, parts_table, symbols_json, typeset
from archspec.render.notation import FORMATS, own_glyphs
from archspec.render.tex.document import Layout
from archspec.symbolic.closed_form import ClosedForm


class Formula(ClosedForm):
    """A closed form that evaluates at other fields of its config and prints itself.

    Its attributes are those of :class:`archspec.symbolic.closed_form.ClosedForm`. ``source`` is the model of
    its config. After :meth:`at`, ``notes`` name the branch and the given fields without effect.

    >>> import archspec
    >>> f = archspec.formula("GPT2LMHeadModel")
    >>> f.evaluate(n_layer=48, n_embd=1600, n_head=25)
    1557611200
    """

    source: Source | None = None
    notes: tuple[str, ...] = ()

    @property
    def branches(self) -> Branches[Formula]:
        """The formula at other fields."""
        return Branches(self, self.source)

    @checked()
    def evaluate(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> int:
        """The quantity at the config with some fields set, as `archspec count --set` counts it.

        Fields of a sub-config are given by path: ``{"text_config.hidden_size": 64}``. Fields with a computed
        default follow. Other values may select another branch, whose formula :meth:`at` gives. Costs also
        take the lengths of the call.

        Errors: :class:`ConfigError` for an unknown field, an invalid value or a config that transformers
        refuses; :class:`FormulaError` for a field that the formula replaces.

        >>> import archspec
        >>> f = archspec.formula("LlamaForCausalLM")
        >>> f.evaluate(tie_word_embeddings=True) - f.evaluate()
        -131072000
        """
        fields = merge_overrides(set, fields)
        return self.branches.evaluate(fields) if fields else super().evaluate()

    @checked()
    def at(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> Formula:
        """The formula at the config with some fields set, in the branch taken there.

        Errors: those of :meth:`evaluate`; :class:`FormulaError` for a branch without a closed form.

        >>> import archspec
        >>> f = archspec.formula("LlamaForCausalLM").at(tie_word_embeddings=True)
        >>> print(f, f.notes)
        L·(2·d·d_h·(h + h_kv) + 3·d·d_ff + 2·d) + V·d + d ('another branch: tie_word_embeddings = True',)
        """
        return _formula(self.branches.at(merge_overrides(set, fields)))

    @checked()
    def substitute(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> Formula:
        """The formula at some fields, with their values in place of their symbols.

        Errors: those of :meth:`at`.

        >>> import archspec
        >>> print(archspec.formula("GPT2LMHeadModel").substitute(n_layer=48, n_embd=1600, n_head=25))
        1600·V + 1600·s + 48·(3201·d_ff + 10254400) + 3200
        """
        return _formula(self.branches.substitute(merge_overrides(set, fields)))

    @checked(texts=STATED)
    def assume(self, *texts: str | Mapping[str, str | int], **fields: str | int) -> Formula:
        """The formula with fields replaced by expressions of others, all at once: ``a="b", b="a"`` swaps two.

        Errors: :class:`FormulaError` for an invalid expression; :class:`ConfigError` for an unknown field or
        a config that transformers refuses.

        >>> import archspec
        >>> print(archspec.formula("GPT2LMHeadModel").assume(n_inner="4*n_embd"))
        L·(12·d² + 13·d) + d·(V + s) + 2·d
        """
        stated: list[str] = []
        for one in (*texts, fields):
            stated += [one] if isinstance(one, str) else [f"{name}={value}" for name, value in one.items()]
        if not stated:
            return self
        branches = self.branches
        return _formula(branches.assume(parse_assumptions(stated, branches.numbers()), stated))

    @checked(fields=TEXT)
    def leading(self, *fields: str) -> Leading:
        """The terms that no other outgrows as ``fields``, or widths, depths, experts and vocabularies grow.

        Errors: :class:`FormulaError` for a field that is not in the formula.

        >>> import archspec
        >>> print(archspec.formula("MixtralForCausalLM").leading())
        ≈ L·(3·E·d·d_ff + 2·d·d_h·(h + h_kv)) + 2·V·d
        """
        return Leading(self, fields)

    @checked(by=ARRANGEMENT)
    def by(self, by: str = "repetition", depth: int = 1) -> Parts:
        """Its parts by `component`, `module` (down to a depth), `layer`, `repetition`, or as a `polynomial`.

        Errors: :class:`FormulaError` for another arrangement.
        """
        return Parts(self, arrangement(self, by, depth))

    @checked(field=TEXT)
    def collect(self, field: str) -> Excerpt:
        """The formula by powers of one field. Errors: :class:`FormulaError` for one that is not in it.

        >>> import archspec
        >>> print(archspec.formula("BertModel").collect("hidden_size"))
        d²·(4·L + 1) + d·(2·L·d_ff + 9·L + V + s + t + 3) + L·d_ff
        """
        (part,) = collect_powers(self, field)
        return Excerpt(self, part)

    @checked(by=ARRANGEMENT)
    def table(
        self, format: str = "markdown", by: str = "component", depth: int = 1, width: float | None = None
    ) -> str:
        """A table of its parts with formula, value and share, in `markdown` or `latex` (booktabs).

        In LaTeX it is at most ``width`` digits wide. Errors: :class:`FormulaError` for another format or
        arrangement.
        """
        if format not in ("markdown", "latex"):
            raise FormulaError(f"unknown table format {format!r}", help="choose markdown or latex")
        if width is not None and format != "latex":
            raise FormulaError(
                f"width is only for tables in LaTeX, not in {format}", help="leave out the width"
            )
        return parts_table(self, arrangement(self, by, depth), format, None, Layout(width=width))

    @property
    def entering(self) -> tuple[str, ...]:
        """The paths of the config's fields that change the quantity.

        Fields that the formula does not name are tested by counting at a few other values.
        """
        return tuple(entering(self.branches))

    def sensitivity(self) -> Sensitivities:
        """How much the quantity changes with each field, as `archspec sensitivity` shows it."""
        return Sensitivities(self.branches)

    @checked()
    def piecewise(self, limit: int = 5) -> list[tuple[dict[str, bool], Formula]]:
        """The formula for each combination of the yes/no flags that change it.

        Errors: :class:`FormulaError` if more than ``limit`` flags change it.
        """
        return piecewise(self, self.at, limit)

    @checked()
    def latex(self, env: str | None = None, width: float | None = None, standalone: bool = False) -> str:
        r"""LaTeX in the standard symbols: without delimiters, in an environment, or a whole document.

        ``env`` is `align`, `equation` or one of these with a `*`. Lines are at most ``width`` digits wide: 48
        is one of two columns, 69 (the default in an environment) the text of LaTeX's article.
        Errors: :class:`FormulaError` for another environment or a width below 16.

        >>> import archspec
        >>> print(archspec.formula("GPT2Model").latex(env="align*", width=40))
        \begin{align*}
          N_{\mathrm{params}} &= L (4 d^2 + 2 d\,d_{\mathrm{ff}} + 9 d + d_{\mathrm{ff}}) \\
            &+ d (V + s) + 2 d
        \end{align*}
        """
        return typeset(self, arrangement(self, "repetition"), None, Layout(env, width, standalone))

    def text(self) -> str:
        """Plain text with `·` and powers, in the standard symbols."""
        return format_formula(self, "unicode")

    def mathml(self) -> str:
        """Presentation MathML in the standard symbols."""
        return format_formula(self, "mathml")

    def python(self) -> str:
        """A Python expression over :attr:`inputs` that raises ValueError if a condition does not hold."""
        return format_formula(self, "python")

    @property
    def inputs(self) -> dict[str, Any]:
        """The fields that its code reads, as identifiers with their values at the config."""
        return {identifier(name): value for name, value in prepare(self).inputs.items()}

    @property
    def checks(self) -> list[str]:
        """Its conditions as Python expressions over :attr:`inputs`."""
        return prepare(self).tests("python")

    @checked()
    def written(
        self, format: str = "unicode", *, notation: str | None = None, symbol: Mapping[str, str] | None = None
    ) -> str:
        """The formula in any format of `archspec formula --format`: markdown, c, sql, spark, ….

        Code checks its conditions: otherwise Python raises ValueError, SQL gives NULL, C an error code.
        ``notation`` is a file of custom symbols, ``symbol`` gives the LaTeX of some fields.
        Errors: :class:`FormulaError` for another format.
        """
        if format not in FORMATS:
            raise FormulaError(f"unknown formula format {format!r}", help=f"choose {', '.join(FORMATS)}")
        return format_formula(self, format, own_glyphs(notation, symbol)) + condition_note(self, format)

    @checked()
    def as_json(self, notation: str | None = None, symbol: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Plain data, as `archspec formula --json` prints it: every format and all conditions."""
        own = own_glyphs(notation, symbol)
        written = {form: format_formula(self, form, own) for form in FORMATS}
        return data_of(WrittenFormula, Written(self, written, symbols_json(self, own)))

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def _formula(branch: Branch[Formula]) -> Formula:
    branch.form.source, branch.form.notes = branch.source, branch.notes
    return branch.form
