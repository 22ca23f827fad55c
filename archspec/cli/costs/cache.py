"""`archspec cache`: the tensors that a call keeps for the next one, and what of them a budget holds."""

from __future__ import annotations

from archspec.cli.arguments import add_dtype, add_model, load_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.costs.lengths import add_weights, call_json, natural_size
from archspec.errors import ArchspecError
from archspec.terminal import number, size, table
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.forward import Forward
    from archspec.models.model import Model

MOST_TOKENS = 2**40


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    add_dtype(takes)
    add_weights(takes)
    takes.value("--batch", "B", "sequences (1)", type=int, default=1)
    takes.value("--tokens", "N", "positions in the cache (2048)", type=int, default=2048)
    about_memory = "positions of the encoder; or a budget with its unit, 80GiB, for weights and cache"
    takes.repeated("--memory", "M|BYTES", about_memory)


def run(args: Values) -> int:
    model = load_model(args)
    positions, budget = memory(args.memory)
    call = model.forward(args.batch, args.tokens, memory=positions)
    weights = model.weights(args.weights, args.dtype).bytes if budget is not None else 0
    found = report(model, call, args.dtype or model.dtype, budget, weights)
    print_json(found) if args.json else _print(found)
    return 0


def memory(given: list[str]) -> tuple[int | None, int | None]:
    """The encoder's positions and the budget in bytes, of what `--memory` was given.

    >>> memory(["512", "80GiB"])
    (512, 85899345920)
    """
    positions = budget = None
    for text in given:
        if text.isdecimal():
            positions = int(text)
        else:
            budget = natural_size(text)
    return positions, budget


def report(model: Model, call: Forward, dtype: str, budget: int | None, weights: int = 0) -> dict[str, Any]:
    """The cache as plain data, as `--json` prints it; of a budget what ``weights`` bytes leave."""
    if not call.cache:
        raise ArchspecError(f"{call.architecture} hands no cache on to a next call")
    found = {
        **call_json(call),
        "dtype": dtype,
        "elements": call.cache_elements(),
        "bytes": {one: call.cache_bytes(dtype, one) for one in call.allocations},
        "tensors": [{**tensor._asdict(), "dtype": tensor.dtype or dtype} for tensor in call.cache],
    }
    if budget is None:
        return found
    held = {one: _held(model, call, dtype, budget - weights, one) for one in call.allocations}
    return {**found, "budget_bytes": budget, "weights_bytes": weights, "holds": held}


def _held(model: Model, call: Forward, dtype: str, left: int, allocation: str) -> dict[str, int]:
    """The most tokens at this batch, and the largest batch at this length, that a number of bytes holds."""
    memory = call.call.memory or None

    def fits(batch: int, tokens: int) -> bool:
        return model.forward(batch, tokens, memory=memory).cache_bytes(dtype, allocation) <= left

    tokens = _largest(lambda value: fits(call.call.batch, value))
    return {"tokens": tokens, "batch": _largest(lambda value: fits(value, call.call.tokens))}


def _largest(fits: Any) -> int:
    """The largest number that fits, of those below :data:`MOST_TOKENS`; 0 where none does.

    >>> _largest(lambda value: value <= 1000)
    1000
    """
    low, high = 0, 1
    while high < MOST_TOKENS and fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _print(found: dict[str, Any]) -> None:
    facts = [("architecture", found["architecture"]), ("model type", found["model_type"])]
    facts += [(name, number(found[name])) for name in ("batch", "tokens", "memory") if found[name]]
    facts += [("elements", number(found["elements"]))]
    for allocation, count in found["bytes"].items():
        facts.append((f"bytes in {found['dtype']}, {allocation}", f"{number(count)}  ({size(count)})"))
    table("cache|", facts, header=False)
    print()
    table("tensor|kind|layers|shape|dtype", list(map(_row, _alike(found["tensors"]))))
    if "holds" in found:
        print()
        weights = size(found["weights_bytes"])
        if found["weights_bytes"] > found["budget_bytes"]:
            print(f"{size(found['budget_bytes'])} do not hold the weights ({weights})")
            return
        print(f"{size(found['budget_bytes'])} hold the weights ({weights}) and")
        for allocation, held in found["holds"].items():
            tokens = "any number of" if held["tokens"] * 2 > MOST_TOKENS else number(held["tokens"])
            print(
                f"  {allocation}: {tokens} tokens at batch {found['batch']}, "
                f"or a batch of {number(held['batch'])} at {number(found['tokens'])} tokens"
            )


def _alike(tensors: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Tensors of one name, kind, shape and dtype together."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for tensor in tensors:
        alike = (tensor["name"], tensor["kind"], tensor["shape"], tensor["dtype"])
        groups.setdefault(alike, []).append(tensor)
    return list(groups.values())


def _row(group: list[dict[str, Any]]) -> tuple[str, ...]:
    first = group[0]
    shape = " × ".join(map(str, first["shape"]))
    return first["name"], first["kind"], str(len(group)), shape, first["dtype"]
