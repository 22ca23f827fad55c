"""`archspec sensitivity`: how a count answers to each field at a config, and which fields do not enter."""

from __future__ import annotations

from archspec.cli.arguments import add_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.verbs.formula import add_quantity, chosen_formula
from archspec.terminal import say, table


def add_arguments(takes: Arguments) -> None:
    add_model(takes, "ARCH|CONFIG")
    add_quantity(takes)


def run(args: Values) -> int:
    from archspec.render.growth import sensitivity

    formula = chosen_formula(args)
    rows = sensitivity(formula)
    if args.json:
        fields = [row._asdict() for row in rows]
        print_json({"value": formula.evaluate(), "fields": fields, "unused": list(formula.unused)})
        return 0
    print(f"{formula.quantity} of {formula.architecture} = {formula.evaluate():,}")
    print()
    shown = []
    for row in rows:
        step = f"{row.step:+,}" if row.step is not None else "no count"
        shown.append((row.field, str(row.value), f"{row.derivative:,.6g}", step, f"{row.elasticity:.4f}"))
    table("field|>value|>derivative|>one more adds|>elasticity", shown)
    print()
    for name in formula.unused:
        say(f"note: {name} does not enter the count")
    return 0
