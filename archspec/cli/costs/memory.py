"""`archspec memory`: what a model needs: weights and cache of a call, or all of a training step."""

from __future__ import annotations

from archspec.cli.arguments import add_dtype, add_model, excludes, load_model, needs, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.costs.lengths import add_lengths, add_weights
from archspec.models.report import Report
from archspec.terminal import show

_RANKS = {
    "data_parallel": "ranks, each with a batch of its own",
    "tensor_parallel": "ranks that cut tensors as transformers' plan does",
    "pipeline_parallel": "ranks that share out layers",
    "expert_parallel": "ranks, of those of data and tensors, that share out experts",
}


_OF_A_CALL = ("--past", "--weights", "--last")
_OF_TRAINING = (
    *("--optimizer", "--attention", "--checkpointing", "--zero"),
    *(f"--{name.replace('_', '-')}" for name in _RANKS),
)


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
        takes.value(option, "RANKS", f"with --train: {about} (default: 1)", type=int, default=1)
    takes.value(
        "--zero", "STAGE", "with --train: ZeRO's stage over ranks of data (default: 0)", type=int, default=0
    )


def run(args: Values) -> int:
    needs(args, "--train", *_OF_TRAINING)
    excludes(args, "--train", *_OF_A_CALL)
    needs(args, "--data-parallel", "--zero")
    found = _training(args) if args.train else _of_a_call(args)
    print_json(found.as_json()) if args.json else show(found.blocks())
    return 0


def _of_a_call(args: Values) -> Report:
    lengths = (args.batch, args.tokens, args.past, args.encoder_tokens)
    return load_model(args).memory(*lengths, args.dtype, args.weights, args.last)


def _training(args: Values) -> Report:
    return load_model(args).training(
        args.batch,
        args.tokens,
        args.encoder_tokens,
        dtype=args.dtype or "bfloat16",
        optimizer=args.optimizer,
        attention=args.attention,
        checkpointing=args.checkpointing,
        zero=args.zero,
        **{name: getattr(args, name) for name in _RANKS},
    )
