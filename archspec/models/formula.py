"""The closed form that users hold: it shows itself as text, LaTeX, MathML and Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archspec.arguments import ARRANGEMENT, STATED, TEXT, checked
from archspec.configs.origin import merge_overrides
from archspec.errors import FormulaError
from archspec.models import elsewhere
from archspec.models.elsewhere import Placed
from archspec.models.fields import Sensitivities, entering
from archspec.models.parts import Excerpt, Leading, Parts
from archspec.render.arrangements import arrangement, by_repetition, collected
from archspec.render.assumptions import assumed, piecewise, texts_of
from archspec.render.code.conditions import conditions, inputs_of
from archspec.render.formats import Layout, condition_note, symbols_json, tabled, typeset, written
from archspec.render.notation import FORMATS, own_glyphs


class Formula(Placed):
    """A closed form that can be printed, and had at other fields of its config.

    Its fields are those of :class:`archspec.symbolic.closed_form.ClosedForm`.
    ``notes`` say of a formula that :meth:`at` gave which branch it is of, and which fields do not enter it.

    >>> import archspec
    >>> f = archspec.formula("GPT2LMHeadModel")
    >>> f.evaluate(n_layer=48, n_embd=1600, n_head=25)
    1557611200
    """

    @checked()
    def evaluate(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> int:
        """The quantity at the config with some fields set anew: the number of `archspec count --set`.

        Any field of the config may be given, one of a sub-config by its path: ``{"text_config.hidden_size":
        64}``. One that does not enter changes nothing; for a flag, a null or a size that takes another branch
        it is the number of that branch, whose formula :meth:`at` gives. Fields that the config leaves to be
        computed follow the given ones. Of costs, the lengths of the call may be given, too.

        Errors: :class:`ConfigError` for what transformers refuses, an unknown field or a value that it does
        not take; :class:`FormulaError` for a field that the formula replaces.

        >>> import archspec
        >>> f = archspec.formula("LlamaForCausalLM")
        >>> f.evaluate(max_position_embeddings=8192) == f.evaluate()
        True
        >>> f.evaluate(tie_word_embeddings=True) - f.evaluate()
        -131072000
        """
        fields = merge_overrides(set, fields)
        return elsewhere.evaluated(self, fields) if fields else super().evaluate()

    @checked()
    def at(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> Formula:
        """The formula at the config with some fields set anew, in the branch that is taken there.

        Errors: those of :meth:`evaluate`, and :class:`FormulaError` where there is no closed form.

        >>> import archspec
        >>> f = archspec.formula("LlamaForCausalLM").at(tie_word_embeddings=True)
        >>> print(f, f.notes)
        L·(2·d·d_h·(h + h_kv) + 3·d·d_ff + 2·d) + V·d + d ('another branch: tie_word_embeddings = True',)
        """
        return elsewhere.at(self, merge_overrides(set, fields))

    @checked()
    def substitute(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> Formula:
        """The formula at some fields, with their numbers in place of their symbols.

        Errors: those of :meth:`at`.

        >>> import archspec
        >>> f = archspec.formula("GPT2LMHeadModel").substitute(n_layer=48, n_embd=1600, n_head=25)
        >>> print(f)
        1600·V + 1600·s + 48·(3201·d_ff + 10254400) + 3200
        >>> f.evaluate()
        1557611200
        """
        return elsewhere.substituted(self, merge_overrides(set, fields))

    @checked(texts=STATED)
    def assume(self, *texts: str | Mapping[str, str | int], **fields: str | int) -> Formula:
        """The formula with fields replaced by expressions of others, all at once: ``a="b", b="a"`` swaps two.

        It is the formula of the config in which they have these values, and refused where that is.

        Errors: :class:`FormulaError` for what cannot be read, :class:`ConfigError` for fields that do not
        exist, and for what transformers refuses.

        >>> import archspec
        >>> f = archspec.formula("GPT2LMHeadModel").assume(n_inner="4*n_embd")
        >>> print(f)
        L·(12·d² + 13·d) + d·(V + s) + 2·d
        """
        given = [texts_of(one) if isinstance(one, Mapping) else [one] for one in texts]
        stated = [text for one in (*given, texts_of(fields)) for text in one]
        if not stated:
            return self
        return elsewhere.under(self, assumed(stated, elsewhere.numbers(self)), stated)

    @checked(fields=TEXT)
    def leading(self, *fields: str) -> Leading:
        """The terms that no other outgrows as widths, depths, experts and vocabularies grow, or these fields.

        See :func:`archspec.render.growth.leading` for what is dropped.

        Errors: :class:`FormulaError` for a field that does not enter.

        >>> import archspec
        >>> print(archspec.formula("MixtralForCausalLM").leading())
        ≈ L·(3·E·d·d_ff + 2·d·d_h·(h + h_kv)) + 2·V·d
        """
        return Leading(self, fields)

    @checked(by=ARRANGEMENT)
    def by(self, by: str = "repetition", depth: int = 1) -> Parts:
        """Its parts by `component`, `module` down to a depth, `layer`, `repetition` or as a `polynomial`.

        Errors: :class:`FormulaError` for another arrangement.

        >>> import archspec
        >>> [part.label for part in archspec.formula("LlamaForCausalLM").by("module", depth=2)]
        ['model.embed_tokens', 'model.layers', 'model.norm', 'lm_head']
        """
        return Parts(self, arrangement(self, by, depth))

    @checked(field=TEXT)
    def collect(self, field: str) -> Excerpt:
        """The formula by powers of one field. Errors: :class:`FormulaError` for one that does not enter.

        >>> import archspec
        >>> print(archspec.formula("BertModel").collect("hidden_size"))
        d²·(4·L + 1) + d·(2·L·d_ff + 9·L + V + s + t + 3) + L·d_ff
        """
        (part,) = collected(self, field)
        return Excerpt(self, part)

    @checked(by=ARRANGEMENT)
    def table(
        self,
        format: str = "markdown",
        by: str = "component",
        depth: int = 1,
        width: float | None = None,
    ) -> str:
        """Its parts with formula, value and share as a table in `markdown` or `latex` (booktabs).

        In LaTeX it is at most ``width`` digits wide, as :meth:`latex` is.

        Errors: :class:`FormulaError` for another format or arrangement.

        >>> import archspec
        >>> print(archspec.formula("GPT2Model").table().splitlines()[2])
        | embeddings | $d (V + s)$ | 39,383,808 | 31.65% |
        """
        if format not in ("markdown", "latex"):
            raise FormulaError(f"{format} is no format of tables", help="there are markdown and latex")
        if width is not None and format != "latex":
            raise FormulaError(f"width has no effect on a table in {format}", help="leave out the width")
        return tabled(self, arrangement(self, by, depth), format, None, Layout(width=width))

    @property
    def entering(self) -> tuple[str, ...]:
        """The fields of the config that enter, by their paths: another value of one changes the quantity.

        It counts at a few other values of each field that the formula does not name.

        >>> import archspec
        >>> archspec.formula("GPT2LMHeadModel").entering
        ('vocab_size', 'n_positions', 'n_embd', 'n_layer', 'n_inner', 'add_cross_attention', \
'tie_word_embeddings')
        """
        return tuple(entering(self))

    def sensitivity(self) -> Sensitivities:
        """How the quantity answers to each field, as `archspec sensitivity` shows it.

        >>> import archspec
        >>> archspec.formula("GPT2Model").sensitivity().fields[0].field
        'n_embd'
        """
        return Sensitivities(self)

    @checked()
    def piecewise(self, limit: int = 5) -> list[tuple[dict[str, bool], Formula]]:
        """The formula for each combination of the yes/no flags that change it.

        Errors: :class:`FormulaError` where more than ``limit`` flags do.

        >>> import archspec
        >>> [flags for flags, _ in archspec.formula("LlamaModel").piecewise()]
        [{'attention_bias': False, 'mlp_bias': False}, {'attention_bias': True, 'mlp_bias': False}, \
{'attention_bias': False, 'mlp_bias': True}, {'attention_bias': True, 'mlp_bias': True}]
        """
        return piecewise(self, self.at, limit)

    @checked()
    def latex(self, env: str | None = None, width: float | None = None, standalone: bool = False) -> str:
        r"""LaTeX in the usual symbols: alone without delimiters, in an environment, in a document of its own.

        ``env`` is `align`, `equation` or one of these with a `*`. Lines are at most ``width`` digits wide:
        48 is a column of two, 69 the text of LaTeX's article, which an environment has by default.
        Errors: :class:`FormulaError` for another environment, and for a width that is less than 16.

        >>> import archspec
        >>> print(archspec.formula("GPT2Model").latex(env="align*", width=40))
        \begin{align*}
          N_{\mathrm{params}} &= L (4 d^2 + 2 d\,d_{\mathrm{ff}} + 9 d + d_{\mathrm{ff}}) \\
            &+ d (V + s) + 2 d
        \end{align*}
        """
        return typeset(self, by_repetition(self), None, Layout(env, width, standalone))

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
        """A Python expression over :attr:`inputs`, which raises ValueError where a condition does not hold.

        >>> import archspec
        >>> f = archspec.formula("GPT2Model")
        >>> eval(f.python(), {}, dict(f.symbols)) == f.evaluate()
        True
        >>> eval(f.python(), {}, {**f.inputs, "add_cross_attention": True})
        Traceback (most recent call last):
        ValueError: the formula of GPT2Model does not hold for these fields; see its conditions
        """
        return written(self, "python")

    @property
    def inputs(self) -> dict[str, Any]:
        """The fields that its code reads, as identifiers; one that is left to be computed has its value."""
        return inputs_of(self)

    @property
    def checks(self) -> list[str]:
        """The conditions that it holds for, as Python expressions over :attr:`inputs`."""
        return conditions(self)

    @checked()
    def written(
        self, format: str = "unicode", *, notation: str | None = None, symbol: Mapping[str, str] | None = None
    ) -> str:
        """The formula in any format of `archspec formula --format`: markdown, c, sql, spark, ….

        Code checks its conditions: elsewhere Python raises ValueError, SQL gives NULL, C an error code.

        ``notation`` is a file of symbols of your own, ``symbol`` gives some fields theirs in LaTeX.
        Errors: :class:`FormulaError` for another format.

        >>> import archspec
        >>> print(archspec.formula("GPT2Model").written("markdown", symbol={"n_embd": "h"}))
        $L (4 h^2 + 2 h\\thinspace d_{\\mathrm{ff}} + 9 h + d_{\\mathrm{ff}}) + h (V + s) + 2 h$
        <BLANKLINE>
        It holds for `add_cross_attention = False`; `n_embd % n_head == 0`; `n_embd > 0`.
        """
        if format not in FORMATS:
            raise FormulaError(f"{format} is no format of formulas", help=f"there are {', '.join(FORMATS)}")
        return written(self, format, own_glyphs(notation, symbol)) + condition_note(self, format)

    @checked()
    def as_json(self, notation: str | None = None, symbol: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Plain data, as `archspec formula --json` prints it: every format, and all that it relies on."""
        own = own_glyphs(notation, symbol)
        return {
            "architecture": self.architecture,
            "model_type": self.model_type,
            "quantity": self.quantity,
            "value": self.evaluate(),
            **{form: written(self, form, own) for form in FORMATS},
            "symbols": symbols_json(self, own),
            "inputs": [{"name": name, "value": value} for name, value in self.inputs.items()],
            "conditions": self.checks,
            "definitions": self.definitions,
            "flags": self.flags,
            "assumptions": self.assumptions,
            "unused": list(self.unused),
            "parts": self.by().as_json(),
        }

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"
