"""`archspec memory`: what a model needs: weights and cache of a call, or all of a training step."""

from __future__ import annotations

from archspec.cli.arguments import add_dtype, add_model, load_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.costs.lengths import add_lengths, add_weights, call_json
from archspec.costs.outputs import room
from archspec.errors import ArchspecError
from archspec.terminal import number, say, size, table
from archspec.tree.counts import dtype_name
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.training import Training
    from archspec.models.model import Model

_RANKS = {
    "data_parallel": "ranks, each with a batch of its own",
    "tensor_parallel": "ranks that cut tensors as transformers' plan does",
    "pipeline_parallel": "ranks that share out layers",
    "expert_parallel": "ranks, of those of data and tensors, that share out experts",
}


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    add_lengths(takes)
    add_dtype(takes)
    add_weights(takes)
    takes.flag("--last", "logits of the last position only, as generate() asks for (default: of all)")
    takes.flag("--train", "a training step: weights, gradients, optimizer, activations (in bfloat16)")
    takes.value("--optimizer", "NAME", "with --train: adamw (default), sgd_momentum, ...", default="adamw")
    takes.value("--attention", "CODE", "with --train: flash (default) or eager", default="flash")
    takes.flag("--checkpointing", "with --train: layers are computed again for their gradients")
    for name, about in _RANKS.items():
        option = f"--{name.replace('_', '-')}"
        takes.value(option, "RANKS", f"with --train: {about} (1)", type=int, default=1)
    takes.value("--zero", "STAGE", "with --train: ZeRO's stage over ranks of data (0)", type=int, default=0)


def run(args: Values) -> int:
    model = load_model(args)
    if args.train:
        _refuse(args, "past", "weights", "last")
        step = model.training(
            args.batch,
            args.tokens,
            args.memory,
            dtype=args.dtype or "bfloat16",
            optimizer=args.optimizer,
            attention=args.attention,
            checkpointing=args.checkpointing,
            zero=args.zero,
            **{name: getattr(args, name) for name in _RANKS},
        )
        found = training_report(model, step)
        print_json(found) if args.json else _print_training(found)
        return 0
    found = report(model, args)
    print_json(found) if args.json else _print(found)
    return 0


def _refuse(args: Values, *names: str) -> None:
    """Errors: :class:`ArchspecError` for an option that training has no use for."""
    for name in names:
        if getattr(args, name):
            raise ArchspecError(f"--{name} is of a call, and not of training", help="leave it or --train out")


def report(model: Model, args: Values) -> dict[str, Any]:
    """The memory of a call as plain data, as `--json` prints it."""
    call = model.forward(args.batch, args.tokens, args.past, args.memory)
    dtype = dtype_name(args.dtype or model.dtype)
    weights = model.weights(args.weights, args.dtype)
    quantized = weights.scheme is not None
    cache = {one: call.cache_bytes(dtype, one) for one in call.allocations} if call.cache else {"none": 0}
    rooms = {one: room(call, dtype, one, args.last, quantized) for one in cache}
    return {
        **call_json(call),
        "dtype": dtype,
        "weights": [stored._asdict() for stored in weights.table],
        "weights_bytes": weights.bytes,
        "cache_bytes": cache,
        "working_set": {one: needed._asdict() for one, needed in rooms.items()},
        "total_bytes": {one: weights.bytes + count + rooms[one].bytes for one, count in cache.items()},
    }


def _print(found: dict[str, Any]) -> None:
    facts = [("architecture", found["architecture"]), ("model type", found["model_type"])]
    facts += [(name, number(found[name])) for name in ("batch", "tokens", "past", "memory") if found[name]]
    table("memory|", facts, header=False)
    print()
    allocations = list(found["cache_bytes"])

    def row(name: str, counts: dict[str, int] | int, shown: Any = number) -> tuple[str, ...]:
        each = counts if isinstance(counts, dict) else dict.fromkeys(allocations, counts)
        return name, *(shown(each[one]) for one in allocations)

    rows = [row(f"weights in {stored['format']}", stored["bytes"]) for stored in found["weights"]]
    if "none" not in found["cache_bytes"]:
        rows.append(row(f"cache in {found['dtype']}", found["cache_bytes"]))
    needed = found["working_set"]
    rooms = {one: needed[one]["bytes"] for one in allocations}
    least = [
        row("working set", rooms),
        row("total", found["total_bytes"]),
        row("", found["total_bytes"], size),
    ]
    signs = ["" if needed[one]["exact"] else ">= " for one in allocations]
    for name, *cells in least:
        rows.append((name, *(sign + cell for sign, cell in zip(signs, cells, strict=True))))
    names = ["bytes"] if "none" in found["cache_bytes"] else [f"cache {one}" for one in allocations]
    table("|".join(["part", *(f">{name}" for name in names)]), rows)
    for name, one in zip(names, needed.values(), strict=True):
        where = "most is needed in" if one["exact"] else "at least, not held to torch: the output of"
        say(f"{name}: {where} {one['needed_by']}")


def training_report(model: Model, step: Training) -> dict[str, Any]:
    """The memory of a training step as plain data; activations that are not described are null."""
    missing = None
    try:
        parts = step.table
    except ArchspecError as error:
        parts, missing = step.states, error.problems[0].message
    return {
        "architecture": model.architecture,
        "model_type": model.model_type,
        "batch": step.batch,
        "tokens": step.tokens,
        "optimizer": step.optimizer.name,
        "attention": step.attention,
        "checkpointing": step.checkpointing,
        **{name: getattr(step.ranks, name.removesuffix("_parallel")) for name in _RANKS},
        "zero": step.zero,
        "flops": _flops(step),
        "parts": [part._asdict() for part in parts],
        "not_described": missing,
        "total_bytes": sum(part.bytes for part in parts) if missing is None else None,
    }


def _flops(step: Training) -> int | None:
    """The FLOPs of a step; None for a class whose costs are not given."""
    try:
        return step.flops
    except ArchspecError:
        return None


def _print_training(found: dict[str, Any]) -> None:
    facts = [("architecture", found["architecture"]), ("model type", found["model_type"])]
    facts += [(name, number(found[name])) for name in ("batch", "tokens")]
    facts += [("optimizer", found["optimizer"]), ("attention", found["attention"])]
    if found["checkpointing"]:
        facts.append(("checkpointing", "every layer"))
    if found["data_parallel"] > 1:
        facts.append(("ranks", f"{found['data_parallel']}, ZeRO stage {found['zero']}"))
    others = [name for name in _RANKS if name != "data_parallel" and found[name] > 1]
    facts += [(name.replace("_", " "), number(found[name])) for name in others]
    if found["flops"] is not None:
        facts.append(("FLOPs", number(found["flops"])))
    table("memory of a rank|", facts, header=False)
    print()
    rows = [
        (part["name"], part["dtype"], f"1/{part['share']}" if part["share"] > 1 else "",
         number(part["bytes"]), size(part["bytes"]))
        for part in found["parts"]
    ]  # fmt: skip
    total = sum(part["bytes"] for part in found["parts"])
    label = "total" if found["not_described"] is None else "total without activations"
    rows.append((label, "", "", number(total), size(total)))
    table("part|dtype|of it|>bytes|>", rows)
    if found["not_described"] is not None:
        say(f"note: {found['not_described']}")
