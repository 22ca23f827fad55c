"""`archspec flops`: the FLOPs of one call, by module."""

from __future__ import annotations

from archspec.cli.arguments import add_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.costs.lengths import add_lengths, call_json, forward, layers_together
from archspec.terminal import number, share, table
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.forward import Forward
    from archspec.models.model import Model


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    add_lengths(takes)


def run(args: Values) -> int:
    model, call = forward(args)
    found = report(model, call)
    print_json(found) if args.json else _print(found)
    return 0


def report(model: Model, call: Forward) -> dict[str, Any]:
    """The FLOPs as plain data, as `--json` prints them; those of a module are without its children's."""
    positions = call.call.batch * call.call.tokens
    return {
        **call_json(call),
        "flops": call.flops,
        "masked_flops": call.masked_flops if "masked" in call.held else None,
        "flops_per_token": call.flops / positions,
        "params": model.params,
        "modules": [{"name": name, "flops": flops} for name, flops in call.flops_by_module.items()],
    }


def _print(found: dict[str, Any]) -> None:
    names = ("architecture", "model_type")
    facts = [(name.replace("_", " "), found[name]) for name in names]
    facts += [(name, number(found[name])) for name in ("batch", "tokens", "past", "memory") if found[name]]
    facts += [("FLOPs", number(found["flops"]))]
    facts += [
        ("masked FLOPs", "not given" if found["masked_flops"] is None else number(found["masked_flops"]))
    ]
    facts += [("FLOPs a token", f"{found['flops_per_token']:,.0f}"), ("params", number(found["params"]))]
    table("flops|", facts, header=False)
    print()
    own = {module["name"]: module["flops"] for module in found["modules"]}
    rows = [
        (name, number(count), number(flops), share(flops, found["flops"]))
        for name, (flops, count) in layers_together(own).items()
    ]
    table("module|>of them|>FLOPs|>share", rows)
