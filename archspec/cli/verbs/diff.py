"""`archspec diff A B`: what tells two architectures or configs apart, in numbers and in closed form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import MODEL_HELP, add_choices, loaded, natural, print_json, tied_json
from archspec.cli.command_line import Arguments, Values
from archspec.compare.diff import Diff, diff
from archspec.errors import ArchspecError
from archspec.terminal import number, say, signed, table
from archspec.tree.ties import tie_notes

if TYPE_CHECKING:
    from archspec.compare.costs import CostChange
    from archspec.compare.formulas import Forms
    from archspec.models.model import Model


def add_arguments(takes: Arguments) -> None:
    takes.value("a", "A", MODEL_HELP)
    takes.value("b", "B", "the same; with --config, both are architectures of that config")
    takes.value("--config", None, "the config of which A and B are architectures")
    takes.value("--depth", "N", "take modules below level N together", type=natural)
    for side in "ab":
        takes.repeated(f"--set-{side}", "FIELD=VALUE", f"a field of {side.upper()} alone")
    about_call = "tell the FLOPs and the cache of a call, too; of"
    takes.value("--tokens", "N", f"{about_call} this many positions", type=int)
    takes.value("--batch", "B", "with --tokens: sequences (1)", type=int)
    takes.value("--past", "P", "with --tokens: positions in the cache before (0)", type=int)
    takes.value("--memory", "M", "with --tokens: positions of the encoder", type=int)
    add_choices(takes)


def run(args: Values) -> int:
    found = diff(_side(args, args.a, args.set_a), _side(args, args.b, args.set_b), args.depth)
    from archspec.compare.formulas import forms_or_reason

    forms = forms_or_reason(found)
    costs = _costs(args, found)
    if args.json:
        told = [change._asdict() for change in costs]
        print_json(_as_json(found, forms) | ({"costs": told} if told else {}))
    else:
        _print(found, forms)
        _print_costs(costs)
    return 1 if found.changes else 0


def _costs(args: Values, found: Diff) -> list[CostChange]:
    """The costs of the call that is asked for, if one is."""
    given = {name: getattr(args, name) for name in ("tokens", "batch", "past", "memory")}
    lengths = {name: value for name, value in given.items() if value is not None}
    if not lengths:
        return []
    if args.tokens is None:
        raise ArchspecError(
            f"--{next(iter(lengths))} is of a call", help="say of how many positions: --tokens 2048"
        )
    from archspec.compare.costs import cost_changes

    return cost_changes(found.a, found.b, lengths)


def _print_costs(costs: list[CostChange]) -> None:
    if costs:
        print()
        rows = [
            (one.name, number(one.before), number(one.after), signed(one.after - one.before)) for one in costs
        ]
        table("of a call|>A|>B|>B - A", rows)


def _side(args: Values, name: str, settings: list[str]) -> Model:
    source, architecture = (args.config, name) if args.config else (name, args.architecture)
    return loaded(source, architecture, [*args.set, *settings])


def _as_json(found: Diff, forms: Forms) -> dict[str, Any]:
    sides = {}
    facts = zip("ab", found[:2], found.totals, found.buffers, found.prefixes, strict=True)
    for label, model, total, buffers, prefix in facts:
        tied = tied_json(model.tensors())
        sides[label] = {
            "architecture": model.architecture,
            "model_type": model.model_type,
            "params": total,
            "buffers": buffers,
            "prefix": prefix,
            "tied": tied,
            "params_with_ties_counted_again": total + sum(group["params"] for group in tied),
        }
    changes = []
    for change, form in zip(found.changes, forms.changes, strict=True):
        told = {key: value for key, value in change._asdict().items() if key != "keys"}
        changes.append(told | {"formula": _python(form)})
    return {
        **sides,
        "changes": changes,
        "difference": found.totals[1] - found.totals[0],
        "formula": _python(forms.total),
        "values": forms.values,
        "fields": {name: {"a": one, "b": other} for name, (one, other) in found.fields.items()},
    }


def _python(form: Any) -> str | None:
    from archspec.compare.formulas import as_python

    return None if form is None else as_python(form)


def _print(found: Diff, forms: Forms) -> None:
    sides = list(zip("AB", found[:2], found.totals, strict=True))
    rows = [(label, model.architecture, model.model_type, number(total)) for label, model, total in sides]
    table(" |architecture|model type|>params", rows, header=False)
    print()
    if found.changes:
        table("change|module|>params|A|B|formula", _rows(found, forms))
    else:
        print("no difference: the same tensors, of the same sizes, tied alike")
    if (total_form := _python(forms.total)) is not None:
        say(f"\nB - A = {total_form}\n")
    if any(found.prefixes):
        one, other = (prefix or "the whole" for prefix in found.prefixes)
        say(f"note: {one} of A is aligned with {other} of B")
    for label, model, total in sides:
        for note in tie_notes(model.tensors(), total):
            say(f"note: in {label}, {note}")
    for name, (one, other) in found.fields.items() if found.changes else ():
        say(f"note: {name} is {_value(one)} in A, {_value(other)} in B")
    if forms.missing:
        say(f"note: there is no closed form: {forms.missing}")


def _rows(found: Diff, forms: Forms) -> Iterator[tuple[str, ...]]:
    for change, form in zip(found.changes, forms.changes, strict=True):
        only_buffers = change.buffers and not change.params
        params = f"{signed(change.buffers)} in buffers" if only_buffers else signed(change.params)
        text = _python(form) if change.params else None
        yield change.kind, change.module, params, change.before, change.after, text or ""
    before, after = found.totals
    yield "total", "", signed(after - before), number(before), number(after), ""


def _value(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) < 60 else text[:57] + "..."
