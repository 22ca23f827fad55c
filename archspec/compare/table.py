"""`archspec.table`: several models side by side, as text, LaTeX, Markdown, HTML and plain data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archspec.arguments import check_arguments_of
from archspec.compare.columns import DEFAULT, IN_BYTES, OF_CALL, Calls, Column, Found, columns_of
from archspec.configs.origin import RawConfig
from archspec.costs.excess import notes_of
from archspec.costs.lengths import USUAL_TOKENS
from archspec.costs.records import check_length
from archspec.errors import ArchspecError, Problem, list_names, option, to_printable
from archspec.formats.dtypes import dtype_bytes
from archspec.models.model import Model, Source, load
from archspec.models.report import Record, Report, fact, note_lines
from archspec.render.notation import escape
from archspec.reports import Block, Table, markdown
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.specs.search_path import Specs
from archspec.tables.axes import AXES
from archspec.tables.items import lengths_in

MISSING = "–"
_STDIN = "<stdin>"
_MAX_ITEMS = 6  # of a list that a cell shows


class ColumnFacts(Record):
    """a column"""

    name: str = fact("the key in rows, as given in columns")
    title: str = fact("the heading")
    meaning: str = fact("the meaning of the heading, empty if it is obvious")


class ModelTable(Report):
    """Several models side by side; made by :func:`archspec.table`.

    ``columns`` are the names of its columns.
    """

    columns: list[str] = fact(
        "the columns in order", kind="list[ColumnFacts]", json=lambda self: self._columns, least=1
    )
    rows: list[dict[str, Any]] = fact(
        "one row per model: the value of each column, or null", kind="list[dict]", least=1
    )
    notes: list[str] = fact("sources of the values")
    transformers_version: str = fact(
        "the version of transformers that the specs match", lambda self: TRANSFORMERS_VERSION
    )

    def __init__(self, columns: list[Column], rows: list[dict[str, Any]], notes: list[str]) -> None:
        self._columns, self.rows, self.notes = columns, rows, notes
        self.columns = [column.name for column in columns]

    @property
    def legend(self) -> str:
        """The meaning of headings that need one."""
        return "; ".join(f"{one.title}: {one.meaning}" for one in self._columns if one.meaning)

    def blocks(self) -> Iterator[Block]:
        """Yield the table, then its legend and notes."""
        yield self._table([one.title for one in self._columns])
        if lines := self._lines():
            yield "\n" + "\n".join(lines)

    def latex(self) -> str:
        """Return a `tabular` with the rules of booktabs; its legend and notes are comments.

        >>> import archspec
        >>> gpt2 = {"model_type": "gpt2", "architectures": ["GPT2Model"]}
        >>> print(archspec.table([gpt2], columns="model,params,d").latex())
        % \\usepackage{booktabs}; d: model width
        \\begin{tabular}{lrr}
        \\toprule
        model & params & $d$ \\\\
        \\midrule
        GPT2Model & 124,439,808 & 768 \\\\
        \\bottomrule
        \\end{tabular}
        """
        names, cells, *_ = self._table([one.latex or _in_latex(one.title) for one in self._columns])
        sides = "".join("r" if name.startswith(">") else "l" for name in names.split("|"))
        body = ([_in_latex(cell) for cell in row] for row in cells)
        head, *rows = (" & ".join(row) + r" \\" for row in (names.replace(">", "").split("|"), *body))
        comments = ["; ".join(filter(None, ["\\usepackage{booktabs}", self.legend])), *self.notes]
        begin, end = rf"\begin{{tabular}}{{{sides}}}", r"\end{tabular}"
        lines = (begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", end)
        return "\n".join([*(f"% {to_printable(comment)}" for comment in comments), *lines])

    def markdown(self) -> str:
        """Return the table, its legend and notes in Markdown; headings that are symbols are mathematics.

        >>> import archspec
        >>> gpt2 = {"model_type": "gpt2", "architectures": ["GPT2Model"]}
        >>> print(archspec.table([gpt2], columns="model,params,d").markdown())
        | model | params | $d$ |
        | --- | ---: | ---: |
        | GPT2Model | 124,439,808 | 768 |
        <BLANKLINE>
        d: model width
        """
        heads = [one.latex if one.is_symbol else one.title for one in self._columns]
        return markdown([self._table(heads), *self._lines()])

    def __len__(self) -> int:
        return len(self.rows)

    def _lines(self) -> list[str]:
        """Return the legend and the notes."""
        return [*filter(None, [self.legend]), *note_lines(self.notes)]

    def _table(self, heads: Sequence[str]) -> Table:
        texts = {name for row in self.rows for name, value in row.items() if isinstance(value, str)}
        names = zip(self.columns, heads, strict=True)
        titles = (head if name in texts else f">{head}" for name, head in names)
        cells = [[_cell(row[name]) for name in self.columns] for row in self.rows]
        return Table("|".join(titles), cells)


@check_arguments_of("table")
def table(  # noqa: PLR0913 - the options of the verb
    models: Sequence[Source] = (),
    columns: str | Sequence[str] | None = None,
    *,
    batch: int | None = None,
    tokens: int | None = None,
    past: int | None = None,
    encoder_tokens: int | None = None,
    dtype: str | None = None,
    specs: Specs = (),
    text_tokens: int | None = None,
    images: Sequence[Any] = (),
    videos: Sequence[Any] = (),
    audios: Sequence[Any] = (),
    processed: bool = False,
) -> ModelTable:
    """Compare several models side by side; each is an argument of :func:`archspec.load` or a loaded model.

    A column is the `model`'s name, its `architecture`, `model_type` or `dtype`; a quantity (`params`,
    `active_params`); `bytes`; a cost (`flops`, `flops_per_token`, `cache_bytes`,
    `cache_bytes_per_token`); a config field; a standard symbol of equivalent fields (`d`, `L`, `h`), or its
    name (`width`, `layers`). Costs take the arguments of :meth:`archspec.Model.forward`. ``dtype`` is the
    dtype of bytes.

    Errors: one :class:`ArchspecError` for all models that cannot be counted, or for a column that no model
    has.

    >>> import archspec
    >>> gpt2 = {"model_type": "gpt2", "architectures": ["GPT2Model"]}
    >>> print(archspec.table([gpt2, archspec.load({"model_type": "llama"}, "LlamaModel")]))
    model              params   L      d   h    d_ff       V
    GPT2Model     124,439,808  12    768  12   3,072  50,257
    LlamaModel  6,607,343,616  32  4,096  32  11,008  32,000
    <BLANKLINE>
    L: number of layers; d: model width; h: number of attention heads; d_ff: feed-forward width; \
V: vocabulary size
    """
    calls = Calls(lengths_in(locals()), dtype)
    if isinstance(models, str | os.PathLike | range) or not isinstance(models, Sequence) or not models:
        raise ArchspecError("there are no models to compare", help='give a list: ["gpt2", "llama"]')
    for name in calls.lengths.keys() & {*AXES}:
        check_length(name, calls.lengths[name])
    if dtype is not None:
        dtype_bytes(dtype)
    loaded = _load_models(models, specs)
    named = columns.split(",") if isinstance(columns, str) else columns
    chosen = columns_of([name.strip() for name in named or DEFAULT], [one for _, one in loaded], calls)
    _check_used({column.name for column in chosen}, calls)
    if named is None and all(model.active_params == model.params for _, model in loaded):
        chosen = [column for column in chosen if column.name != "active_params"]
    rows, notes = [], list[str]()
    for name, model in loaded:
        found = {column.name: column.read(model) for column in chosen}
        rows.append({key: name if key == "model" else one.value for key, one in found.items()})
        facts = [*model.chosen, *_part_notes(found), *_call_notes(model, found, calls)]
        if dtype is None and any("bytes" in key and one.value is not None for key, one in found.items()):
            facts += filter(None, [model.dtype_note])
        notes += [text if name in text else f"{name}: {text}" for text in facts]
    return ModelTable(chosen, rows, notes)


def _check_used(columns: set[str], calls: Calls) -> None:
    """Raise :class:`ArchspecError` for lengths or a dtype that no column depends on."""
    given = dict.fromkeys(calls.lengths, OF_CALL) | ({"dtype": IN_BYTES} if calls.dtype else {})
    for name, needed in given.items():
        if not columns & {*needed}:
            message = f"{option(name)} has no effect: no column depends on it"
            help_ = f"add a column ({', '.join(needed)}), or leave out {option(name)}"
            raise ArchspecError(message, help=help_)


def _call_notes(model: Model, found: Mapping[str, Found], calls: Calls) -> Iterator[str]:
    shown = [name for name in OF_CALL if name in found and found[name].value is not None]
    if not shown:
        return
    call = calls.forward(model)
    if "tokens" not in calls.lengths and call.call.tokens != USUAL_TOKENS:
        verb = "is" if len(shown) == 1 else "are"
        yield f"{' and '.join(shown)} {verb} for {call.call.tokens:,} tokens"
    if shown[0].startswith("flops"):
        yield from notes_of(call)


def _load_models(models: Sequence[Source | Model], specs: Specs) -> list[tuple[str, Model]]:
    """Return the models with their names. Errors: :class:`ArchspecError` for all that cannot be loaded."""
    found, problems = list[tuple[str, Model]](), list[Problem]()
    for number, source in enumerate(models, 1):
        name = short_name(source)
        try:
            model = source if isinstance(source, Model) else load(source, specs=specs)
            _ = model.params
        except ArchspecError as error:
            problems += [_of_model(name or f"model {number}", problem) for problem in error.problems]
        else:
            found.append((name or model.architecture, model))
    if problems:
        raise ArchspecError(problems)
    return found


def _of_model(name: str, problem: Problem) -> Problem:
    is_named = name in f"{problem.place or ''}{problem.message}"
    return problem if is_named else problem._replace(message=f"{name}: {problem.message}")


def short_name(source: Any) -> str:
    """Return the name of a checkpoint without its owner, or of a class; an empty text for other sources.

    >>> short_name("configs/openai-community--gpt2.json"), short_name("meta-llama/Llama-2-7b-hf/config.json")
    ('gpt2', 'Llama-2-7b-hf')
    >>> short_name("LlamaForCausalLM"), short_name({"model_type": "bert"})
    ('LlamaForCausalLM', '')
    """
    if isinstance(source, Model):
        source = source.config
    if isinstance(source, RawConfig):
        source = source.origin.name if source.origin.text else ""
    if not isinstance(source, str | os.PathLike):
        return ""
    path = os.fspath(source).rstrip("/").removesuffix(".json").removesuffix("/config")
    name = os.path.basename(path).rpartition("--")[2]
    return os.path.basename(os.getcwd()) if name in ("config", ".") else "" if name == _STDIN else name


def _part_notes(found: dict[str, Found]) -> Iterator[str]:
    """Yield notes on values of a part of the config, and on missing values."""
    parts, missing = dict[str, list[str]](), dict[str, list[str]]()
    for key, one in found.items():
        if one.part:
            parts.setdefault(one.part, []).append(key)
        if one.missing:
            missing.setdefault(one.missing, []).append(key)
    for part, keys in parts.items():
        verb = "is that" if len(keys) == 1 else "are those"
        yield f"{', '.join(keys)} {verb} of its {part}"
    yield from (f"{list_names(keys, 'and')} cannot be reported: {why}" for why, keys in missing.items())


def _cell(value: Any) -> str:
    if value is None:
        return MISSING
    if type(value) is int:
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(_cell, value[:_MAX_ITEMS])) + (", …" if len(value) > _MAX_ITEMS else "")
    return value if isinstance(value, str) else json.dumps(value)


def _in_latex(text: str) -> str:
    return escape(text).replace(MISSING, "--").replace("…", r"\ldots{}")
