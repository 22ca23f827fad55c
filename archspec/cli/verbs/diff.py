"""`archspec diff A B`: what tells two architectures or configs apart, in numbers and in closed form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import MODEL_HELP, add_choices, loaded, natural, print_json
from archspec.compare.diff import Diff, diff
from archspec.terminal import number, signed, table
from archspec.tree.ties import tie_notes, tied_groups

if TYPE_CHECKING:
    import argparse

    from archspec.compare.formulas import Forms
    from archspec.models.model import Model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help=MODEL_HELP)
    parser.add_argument(
        "b", metavar="B", help="the same; with --config, both are architectures of that config"
    )
    parser.add_argument("--config", help="the config of which A and B are architectures")
    parser.add_argument("--depth", type=natural, metavar="N", help="take modules below level N together")
    for side in "ab":
        about = f"a field of {side.upper()} alone"
        parser.add_argument(f"--set-{side}", metavar="FIELD=VALUE", action="append", default=[], help=about)
    add_choices(parser)


def run(args: argparse.Namespace) -> int:
    found = diff(_side(args, args.a, args.set_a), _side(args, args.b, args.set_b), args.depth)
    from archspec.compare.formulas import forms_or_reason

    closed, reason = forms_or_reason(found) if found.changes else (None, "")
    if args.json:
        print_json(plain(found, closed))
    else:
        _print(found, closed, reason)
    return 1 if found.changes else 0


def _side(args: argparse.Namespace, name: str, settings: list[str]) -> Model:
    source, architecture = (args.config, name) if args.config else (name, args.architecture)
    return loaded(source, architecture, [*args.set, *settings])


def plain(found: Diff, closed: Forms | None) -> dict[str, Any]:
    """The diff as plain data, as `--json` prints it."""
    from archspec.compare.formulas import written

    forms = (
        [None if form is None else written(form) for form in closed.changes]
        if closed
        else [None] * len(found.changes)
    )
    sides = {
        label: {
            "architecture": model.architecture,
            "model_type": model.model_type,
            "params": total,
            "buffers": buffers,
            "prefix": prefix,
            "tied": [
                {"tensors": list(g.names), "tied_to": g.source, "params": g.numel}
                for g in tied_groups(model.tensors())
            ],
            "params_with_ties_counted_again": total + sum(g.numel for g in tied_groups(model.tensors())),
        }
        for label, model, total, buffers, prefix in zip(
            "ab", found[:2], found.totals, found.buffers, found.prefixes, strict=True
        )
    }
    changes = [
        {**{k: v for k, v in change._asdict().items() if k != "keys"}, "formula": form}
        for change, form in zip(found.changes, forms, strict=True)
    ]
    return {
        **sides,
        "changes": changes,
        "difference": found.totals[1] - found.totals[0],
        "formula": written(closed.total) if closed else None,
        "values": closed.values if closed else {},
        "fields": {name: {"a": one, "b": other} for name, (one, other) in found.fields.items()},
    }


def _print(found: Diff, closed: Forms | None, reason: str) -> None:
    sides = list(zip("AB", found[:2], found.totals, strict=True))
    table(
        " |architecture|model type|>params",
        [(s, m.architecture, m.model_type, number(n)) for s, m, n in sides],
        header=False,
    )
    print()
    if not found.changes:
        print("no difference: the same tensors, of the same sizes, tied alike")
    else:
        table("change|module|>params|A|B|formula", _rows(found, closed))
        if closed:
            from archspec.compare.formulas import written

            print(f"\nB - A = {written(closed.total)}\n")
    if any(found.prefixes):
        one, other = (prefix or "the whole" for prefix in found.prefixes)
        print(f"note: {one} of A is aligned with {other} of B")
    for label, model, total in sides:
        for note in tie_notes(model.tensors(), total):
            print(f"note: in {label}, {note}")
    if found.changes:
        for name, (one, other) in found.fields.items():
            print(f"note: {name} is {_value(one)} in A, {_value(other)} in B")
    if reason:
        print(f"note: there is no closed form: {reason}")


def _rows(found: Diff, closed: Forms | None) -> list[tuple[str, ...]]:
    from archspec.compare.formulas import written

    forms = closed.changes if closed else (None,) * len(found.changes)
    rows = []
    for change, form in zip(found.changes, forms, strict=True):
        params = (
            signed(change.params)
            if change.params or not change.buffers
            else f"{signed(change.buffers)} in buffers"
        )
        text = "" if form is None or not change.params else written(form)
        rows.append((change.kind, change.module, params, change.before, change.after, text))
    before, after = found.totals
    return [*rows, ("total", "", signed(after - before), number(before), number(after), "")]


def _value(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) < 60 else text[:57] + "..."
