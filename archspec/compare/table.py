"""`archspec.table`: several models side by side, as text, LaTeX, Markdown, HTML and plain data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from archspec.arguments import MAYBE_COLUMNS, MAYBE_WHOLE, checked
from archspec.compare.columns import DEFAULT, IN_BYTES, OF_CALL, Call, Column, Found, columns_of
from archspec.configs.origin import RawConfig
from archspec.costs.lengths import USUAL_TOKENS
from archspec.costs.notes.excess import notes_of
from archspec.errors import ArchspecError, Problem, printable
from archspec.models.model import Model, Source, load
from archspec.models.report import Report
from archspec.render.notation import escaped
from archspec.reports import Block, Table
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.specs.search_path import Specs

MISSING = "–"
_STDIN = "<stdin>"
_MOST = 6  # elements of a list that are shown


class ModelTable(Report):
    """Several models side by side, made by :func:`table`; its text is the output of `archspec table`.

    ``columns`` are the names of its columns, ``rows`` a mapping from them to values for each model, None for
    one that it does not have; ``notes`` say where values are from.
    """

    def __init__(
        self, columns: Sequence[Column], rows: Sequence[dict[str, Any]], notes: Sequence[str]
    ) -> None:
        self._columns, self.rows, self.notes = list(columns), list(rows), list(notes)
        self.columns = [column.name for column in columns]

    @property
    def legend(self) -> str:
        """The meaning of headings that need one."""
        return "; ".join(f"{one.title}: {one.meaning}" for one in self._columns if one.meaning)

    def blocks(self) -> Iterator[Block]:
        """The table, what its symbols mean, its notes."""
        sides = ("" if self._is_text(name) else ">" for name in self.columns)
        heads = (side + one.title for side, one in zip(sides, self._columns, strict=True))
        yield Table("|".join(heads), self._cells())
        if said := [*([self.legend] if self.legend else []), *(f"note: {note}" for note in self.notes)]:
            yield "\n" + "\n".join(said)

    def latex(self) -> str:
        """A `tabular` with the rules of booktabs, its legend and notes as comments.

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
        sides = "".join("l" if self._is_text(name) else "r" for name in self.columns)
        heads = [one.latex or _in_latex(one.title) for one in self._columns]
        body = [[_in_latex(cell) for cell in row] for row in self._cells()]
        head, *rows = (" & ".join(cells) + r" \\" for cells in (heads, *body))
        said = ["% " + "; ".join(["\\usepackage{booktabs}", *([self.legend] if self.legend else [])])]
        said += [f"% {printable(note)}" for note in self.notes]
        begin, end = rf"\begin{{tabular}}{{{sides}}}", r"\end{tabular}"
        return "\n".join([*said, begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", end])

    def markdown(self) -> str:
        """A table of Markdown; symbols are set as mathematics.

        >>> import archspec
        >>> gpt2 = {"model_type": "gpt2", "architectures": ["GPT2Model"]}
        >>> print(archspec.table([gpt2], columns="model,params,d").markdown())
        | model | params | $d$ |
        | --- | ---: | ---: |
        | GPT2Model | 124,439,808 | 768 |
        """
        heads = [one.latex if one.is_symbol else _in_markdown(one.title) for one in self._columns]
        sides = ["---" if self._is_text(name) else "---:" for name in self.columns]
        body = [[_in_markdown(cell) for cell in row] for row in self._cells()]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, sides, *body))

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec table --json` prints it."""
        columns = [{"name": one.name, "title": one.title, "meaning": one.meaning} for one in self._columns]
        found = {"columns": columns, "rows": self.rows, "notes": self.notes}
        return {**found, "transformers_version": TRANSFORMERS_VERSION}

    def __len__(self) -> int:
        return len(self.rows)

    def _cells(self) -> list[list[str]]:
        return [[_shown(row[name]) for name in self.columns] for row in self.rows]

    def _is_text(self, name: str) -> bool:
        """Return True for a column of names, which is aligned to the left."""
        return any(isinstance(row[name], str) for row in self.rows)


@checked(tokens=MAYBE_WHOLE, columns=MAYBE_COLUMNS)
def table(
    models: Sequence[Source | Model],
    columns: str | Sequence[str] | None = None,
    *,
    tokens: int | None = None,
    dtype: str | None = None,
    specs: Specs = (),
) -> ModelTable:
    """Several models side by side: each what :func:`archspec.load` takes, or gives.

    A column is the `model`'s name, its `architecture`, `model_type` or `dtype`; a quantity (`params`,
    `active`, `non_embedding`); `bytes`; a cost of a call of ``tokens`` positions (`flops`, `flops_per_token`,
    `cache_bytes`, `cache_bytes_per_token`); a field of the configs; a usual symbol for fields of one meaning
    (`d`, `L`, `h`), or a word of that meaning (`width`, `layers`). ``dtype`` is that of bytes, ``specs`` are
    folders of specs as :func:`archspec.load` takes them.

    Errors: :class:`ArchspecError` for models that cannot be counted, all at once and by their names, and
    for a column that none of them has.

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
    if isinstance(models, str | os.PathLike | range) or not isinstance(models, Sequence) or not models:
        raise ArchspecError("there are no models to put side by side", help='give a list: ["gpt2", "llama"]')
    loaded = _loaded(models, specs)
    named = columns.split(",") if isinstance(columns, str) else columns
    chosen = columns_of(
        [name.strip() for name in named or DEFAULT],
        [one for _, one in loaded],
        Call(USUAL_TOKENS if tokens is None else tokens, dtype),
    )
    _check_used({column.name for column in chosen}, tokens, dtype)
    if named is None and all(model.active_params == model.params for _, model in loaded):
        chosen = [column for column in chosen if column.name != "active_params"]
    rows, notes = [], list[str]()
    for name, model in loaded:
        found = {column.name: column.read(model) for column in chosen}
        rows.append({key: name if key == "model" else one.value for key, one in found.items()})
        facts = [
            *model.chosen,
            *_part_notes(found),
            *_excess(model, found, USUAL_TOKENS if tokens is None else tokens),
        ]
        if dtype is None and any("bytes" in key and one.value is not None for key, one in found.items()):
            facts += filter(None, [model.dtype_note])
        notes += [text if name in text else f"{name}: {text}" for text in facts]
    return ModelTable(chosen, rows, notes)


def _check_used(columns: set[str], tokens: int | None, dtype: str | None) -> None:
    """Errors: :class:`ArchspecError` for tokens or a dtype that no column depends on."""
    for name, given, needed in (("tokens", tokens, OF_CALL), ("dtype", dtype, IN_BYTES)):
        if given is not None and not columns & {*needed}:
            message = f"{name} has no effect: no column depends on it"
            raise ArchspecError(message, help=f"add a column ({', '.join(needed)}), or leave out {name}")


def _excess(model: Model, found: dict[str, Found], tokens: int) -> list[str]:
    """Why eager code spends more FLOPs than a model's active parameters need, of a table that has FLOPs."""
    asked = any(found[name].value is not None for name in ("flops", "flops_per_token") if name in found)
    return notes_of(model.forward(tokens=tokens)) if asked else []


def _loaded(models: Sequence[Source | Model], specs: Specs) -> list[tuple[str, Model]]:
    """The models with their names. Errors: :class:`ArchspecError`, all at once, by the models' names."""
    found, problems = list[tuple[str, Model]](), list[Problem]()
    for number, source in enumerate(models, 1):
        name = named(source)
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
    said = str(problem.place or "") + problem.message
    return problem if name in said else problem._replace(message=f"{name}: {problem.message}")


def named(source: Any) -> str:
    """Return the name of a checkpoint without its owner, or of a class; an empty text for other sources.

    >>> named("configs/openai-community--gpt2.json"), named("meta-llama/Llama-2-7b-hf/config.json")
    ('gpt2', 'Llama-2-7b-hf')
    >>> named("LlamaForCausalLM"), named({"model_type": "bert"})
    ('LlamaForCausalLM', '')
    """
    if isinstance(source, Model):
        source = source.config
    if isinstance(source, RawConfig):
        source = source.origin.name if source.origin.text else ""
    if not isinstance(source, str | os.PathLike):
        return ""
    path = os.fspath(source).rstrip("/")
    path = path.removesuffix(".json").removesuffix("/config")
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
    yield from (f"of its {part}: {', '.join(keys)}" for part, keys in parts.items())
    yield from (f"no {', '.join(keys)}: {why}" for why, keys in missing.items())


def _shown(value: Any) -> str:
    if value is None:
        return MISSING
    if type(value) is int:
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(_shown, value[:_MOST])) + (", …" if len(value) > _MOST else "")
    return value if isinstance(value, str) else json.dumps(value)


def _in_latex(text: str) -> str:
    return escaped(text).replace(MISSING, "--").replace("…", r"\ldots{}")


def _in_markdown(text: str) -> str:
    return printable(text).replace("|", "\\|")
