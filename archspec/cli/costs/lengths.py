"""The lengths of a call on a command line, and what its verbs share."""

from __future__ import annotations

import re

from archspec.cli.arguments import load_model
from archspec.cli.command_line import Arguments, Values
from archspec.errors import ArchspecError
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.forward import Forward
    from archspec.models.model import Model

_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")


def add_lengths(takes: Arguments) -> None:
    """`--batch`, `--tokens`, `--past` and `--memory`."""
    takes.value("--batch", "B", "sequences (1)", type=int, default=1)
    takes.value("--tokens", "N", "positions that the call computes (2048)", type=int, default=2048)
    takes.value("--past", "P", "positions in the cache before the call (0)", type=int, default=0)
    about_memory = "positions of the encoder that are attended to, of an architecture that has one"
    takes.value("--memory", "M", about_memory, type=int)


def add_weights(takes: Arguments) -> None:
    """`--weights`."""
    about = "how weights are stored: int8, int4, nf4, fp4, mxfp4, or a dtype (default: as the config says)"
    takes.value("--weights", "FORMAT", about)


def forward(args: Values) -> tuple[Model, Forward]:
    """The model and the call that the options choose."""
    model = load_model(args)
    return model, model.forward(args.batch, args.tokens, args.past, args.memory)


def call_json(call: Forward) -> dict[str, Any]:
    """What was called, as `--json` prints it."""
    lengths = call.call._asdict()
    return {"architecture": call.architecture, "model_type": call.scope.spec.model_type, **lengths}


def layers_together(found: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Numbers by module, those of all layers together: the sum, and of how many modules it is.

    >>> layers_together({"model.layers.0.mlp": 3, "model.layers.1.mlp": 3, "lm_head": 5})
    {'model.layers.*.mlp': (6, 2), 'lm_head': (5, 1)}
    """
    together: dict[str, tuple[int, int]] = {}
    for name, number in found.items():
        template = _INDEX.sub("*", name)
        total, count = together.get(template, (0, 0))
        together[template] = (total + number, count + 1)
    return together


def natural_size(text: str) -> int:
    """Bytes as people write them. Errors: :class:`ArchspecError`.

    >>> natural_size("80GiB")
    85899345920
    """
    from archspec.solving.goals import size_of

    try:
        return size_of(text, "bytes")
    except ArchspecError:
        raise ArchspecError(f"{text} is no number of bytes", help="write 80GiB or 24e9") from None
