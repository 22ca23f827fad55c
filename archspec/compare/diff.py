"""`archspec.diff`: the differences between two models, as numbers and closed forms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from archspec.arguments import check_arguments_of
from archspec.compare.alignment import KINDS, Alignment, align
from archspec.configs.origin import merge_overrides
from archspec.costs.excess import notes_of
from archspec.errors import ArchspecError, option, overrides_of
from archspec.models.calls import EXCESS
from archspec.models.counts import Tied
from archspec.models.model import Model, Source, load
from archspec.models.report import OfModel, Record, Report, data_of, fact, note_lines
from archspec.reports import Block, Table, markdown
from archspec.specs.library import Library
from archspec.specs.search_path import Specs, library_of
from archspec.tables.items import ITEMS, lengths_in
from archspec.tables.quantities import QUANTITIES
from archspec.terminal import number, with_sign
from archspec.tree.outline import checked_depth
from archspec.tree.tensors import tie_notes, tied_json

if TYPE_CHECKING:
    from archspec.compare.formulas import Forms

_COSTS = {"flops": "FLOPs", "cache_elements": "cache elements"}


class CostChange(NamedTuple):
    """One cost of the same forward pass of both models."""

    quantity: str
    before: int
    after: int


class CostFacts(Record):
    """a cost"""

    quantity: str = fact("the cost", choices=tuple(_COSTS))
    before: int = fact("of A")
    after: int = fact("of B")


class Side(OfModel):
    """one of the two models"""

    params: int = fact(QUANTITIES["params"].help)
    buffers: int = fact(QUANTITIES["buffers"].help)
    prefix: str = fact("the module that is aligned with the other model; empty for the whole model")
    tied: list[Tied] = fact("tied tensors, the largest first")
    params_with_ties_counted_separately: int = fact("parameters with every tied tensor counted separately")


class ModuleChange(Record):
    """a change"""

    kind: str = fact("the kind of difference", choices=KINDS)
    module: str = fact("the path; `*` stands for layer indices")
    before: str = fact("its tensors in A, or empty")
    after: str = fact("its tensors in B")
    params: int = fact("unique parameters that it adds", least=None)
    buffers: int = fact("elements of persistent buffers that it adds", least=None)
    formula: str | None = fact("params in closed form, in Python's syntax, or null")


class BothValues(Record):
    """a field"""

    a: Any = fact("the value in A, any JSON", lambda both: both[0])
    b: Any = fact("the value in B", lambda both: both[1])


class Diff(Report):
    """The differences between two models; made by :func:`archspec.diff`.

    ``alignment`` pairs the tensors of both models, and ``prefixes`` are the aligned modules. ``totals`` are
    the parameters of both, ``buffers`` the elements of their buffers.
    """

    a: Model = fact("the first model", kind="Side", json=lambda self: self._side(0))
    b: Model = fact("the second model", kind="Side", json=lambda self: self._side(1))
    changes: Any = fact(
        "modules that differ; they add up to the difference",
        kind="list[ModuleChange]",
        json=lambda self: self.rows(),
    )
    difference: int = fact(
        "unique parameters of B minus those of A", lambda self: self.totals[1] - self.totals[0], least=None
    )
    formula: Any = fact(
        "the difference in closed form, in Python's syntax; `A.field` and `B.field` are values that differ",
        lambda self: self.forms.total,
        kind="str | None",
        json=lambda self: _python(self.formula),
    )
    values: dict[str, float] = fact(
        "the value of each symbol of the formulas", lambda self: self.forms.values
    )
    fields: dict[str, tuple[Any, Any]] = fact(
        "fields of both configs whose values differ", kind="dict[str, BothValues]"
    )
    costs: tuple[CostChange, ...] = fact("FLOPs and KV cache, if tokens are given", kind="list[CostFacts]")
    notes: list[str] = fact(EXCESS)

    def __init__(
        self, alignment: Alignment, costs: Sequence[CostChange] = (), notes: Sequence[str] = ()
    ) -> None:
        self.alignment, self.costs, self.notes = alignment, tuple(costs), [*notes]
        self.a, self.b, self.prefixes, self.changes, self.totals, self.buffers, self.fields = alignment

    @cached_property
    def forms(self) -> Forms:
        """The closed forms: ``changes`` has one per change, ``total`` their sum, ``values`` the symbols."""
        from archspec.compare.formulas import forms  # numbers do not need SymPy

        return forms(self.alignment)

    def rows(self) -> list[dict[str, Any]]:
        """Return the changes, each with its closed form in Python's syntax."""
        both = zip(self.changes, self.forms.changes, strict=True)
        return [data_of(ModuleChange, change._asdict() | {"formula": _python(form)}) for change, form in both]

    @property
    def exit_code(self) -> int:
        """The exit code of `archspec diff`: 1 for models that differ."""
        return 1 if self.changes else 0

    def _side(self, index: int) -> dict[str, Any]:
        model, prefix = (self.a, self.b)[index], self.prefixes[index]
        names = ("architecture", "model_type", "params", "buffers")
        tied = tied_json(model.tensors())
        separate = model.params + sum(group["params"] for group in tied)
        more = {"prefix": prefix, "tied": tied, "params_with_ties_counted_separately": separate}
        return {name: getattr(model, name) for name in names} | more

    def blocks(self) -> Iterator[Block]:
        """Yield the tables and notes of the report."""
        sides = list(zip("AB", (self.a, self.b), self.totals, strict=True))
        heads = [(label, one.architecture, one.model_type, number(total)) for label, one, total in sides]
        yield from (Table(" |architecture|model type|>params", heads, header=False), "")
        if self.changes:
            yield Table("change|module|>params|A|B|formula", [*self._changes()])
        else:
            yield "no difference: the same tensors with the same shapes and ties"
        if (total_form := _python(self.formula)) is not None:
            yield f"\nB - A = {total_form}"
        if notes := [*self._notes()]:
            yield from ("", *notes)
        if self.costs:
            rows = [
                (_COSTS[quantity], number(before), number(after), with_sign(after - before))
                for quantity, before, after in self.costs
            ]
            yield from ("", Table("cost of the forward pass|>A|>B|>B - A", rows))
            yield from note_lines(self.notes)

    def _changes(self) -> Iterator[tuple[str, ...]]:
        for change, form in zip(self.changes, self.forms.changes, strict=True):
            only_buffers = change.buffers and not change.params
            params = f"{with_sign(change.buffers)} in buffers" if only_buffers else with_sign(change.params)
            text = _python(form) if change.params else None
            yield change.kind, change.module, params, change.before, change.after, text or ""
        yield "total", "", with_sign(self.difference), *map(number, self.totals), ""

    def _notes(self) -> Iterator[str]:
        if any(self.prefixes):
            one, other = (prefix and f"the submodule {prefix} of " for prefix in self.prefixes)
            yield f"note: {one}A is compared with {other}B"
        for label, model, total in zip("AB", (self.a, self.b), self.totals, strict=True):
            for note in [*model.idle, *tie_notes(model.tensors(), total)]:
                yield f"note: {label}: {note}"
        for name, (one, other) in self.fields.items() if self.changes else ():
            yield f"note: {name} is {_value(one)} in A, {_value(other)} in B"
        if self.forms.missing:
            yield f"note: no closed form: {self.forms.missing}"

    def markdown(self) -> str:
        """Return the report as GitHub's Markdown."""
        return markdown(self.blocks())

    def __repr__(self) -> str:
        return f"<{self.a.architecture} to {self.b.architecture}: {with_sign(self.difference)} parameters>"


@check_arguments_of("diff")
def diff(  # noqa: PLR0913 - the options of the verb
    a: Source,
    b: Source,
    *,
    config: Source | None = None,
    architecture: str | None = None,
    set: Mapping[str, Any] | None = None,
    set_a: Mapping[str, Any] | None = None,
    set_b: Mapping[str, Any] | None = None,
    depth: int | None = None,
    tokens: int | None = None,
    batch: int | None = None,
    past: int | None = None,
    encoder_tokens: int | None = None,
    specs: Specs = (),
    text_tokens: int | None = None,
    images: Sequence[Any] = (),
    videos: Sequence[Any] = (),
    audios: Sequence[Any] = (),
    processed: bool = False,
) -> Diff:
    """Compare two models, each an argument of :func:`archspec.load` or a loaded model.

    With ``config``, both are class names for that config. ``set`` overrides fields of both, ``set_a`` and
    ``set_b`` of one; ``depth`` groups modules below that level. ``tokens`` adds the costs of a forward pass,
    with the other arguments of :meth:`archspec.Model.forward`.

    Errors: :class:`ArchspecError` if a model cannot be loaded, or its costs are not supported.

    >>> import archspec
    >>> found = archspec.diff("BertModel", "BertForMaskedLM")
    >>> found, found.formula
    (<BertModel to BertForMaskedLM: +32,058 parameters>, 2*hidden_size + vocab_size)
    """
    lengths = lengths_in(locals())
    if lengths and tokens is None and not lengths.keys() & {*ITEMS}:
        name, needed = option(next(iter(lengths))), option("tokens")
        message = f"{name} has no effect without {needed}"
        raise ArchspecError(message, help=f"add {needed}, or leave out {name}")
    library = library_of(specs)
    with overrides_of("set_a", set_a or ()):
        before = _load_side(a, config, architecture, merge_overrides(set, set_a), library)
    with overrides_of("set_b", set_b or ()):
        after = _load_side(b, config, architecture, merge_overrides(set, set_b), library)
    found = align(before, after, checked_depth(depth))
    return Diff(found, *_cost_changes(before, after, lengths)) if lengths else Diff(found)


def _cost_changes(a: Model, b: Model, lengths: Mapping[str, Any]) -> tuple[list[CostChange], list[str]]:
    """Return FLOPs and KV cache of a forward pass of both models, with notes on excess FLOPs of eager code.

    Errors: :class:`ArchspecError`, with the model, if the costs of one are not supported.
    """
    sides, notes = [], list[str]()
    for label, model in zip("AB", (a, b), strict=True):
        try:
            call = model.forward(**lengths)
        except ArchspecError as error:
            first = error.problems[0]
            raise ArchspecError(f"{label}: {first.message}", help=first.help) from None
        sides.append((call.flops, call.cache_elements()))
        notes += [f"{label}: {note}" for note in notes_of(call)]
    return [CostChange(name, *pair) for name, *pair in zip(_COSTS, *sides, strict=True)], notes


def _load_side(
    side: Source | Model,
    config: Source | None,
    architecture: str | None,
    settings: Mapping[str, Any],
    library: Library,
) -> Model:
    """Return one side. Errors: :class:`ArchspecError`, also for options that need a model to be loaded."""
    if isinstance(side, Model):
        if config is not None or architecture is not None or settings:
            message = f"{side.architecture} is already loaded"
            raise ArchspecError(message, help="pass config, architecture and set to archspec.load instead")
        return side
    if config is None:
        return load(side, architecture, settings, library)
    if architecture is not None:
        message = f"{option('config')} cannot be combined with {option('architecture')}"
        raise ArchspecError(message, help=f"leave out {option('architecture')}: A and B are the classes")
    if not isinstance(side, str):
        message = f"with {option('config')}, A and B must be class names"
        raise ArchspecError(message, help=f"pass two classes as A and B, or leave out {option('config')}")
    return load(config, side, settings, library)


def _python(form: Any) -> str | None:
    from archspec.compare.formulas import as_python

    return None if form is None else as_python(form)


def _value(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) < 60 else text[:57] + "..."
