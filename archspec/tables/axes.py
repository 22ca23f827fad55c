"""The axes of a forward pass: the lengths that its costs depend on, next to the config."""

from __future__ import annotations

from archspec.typing_light import NamedTuple


class Axis(NamedTuple):
    """One length of a forward pass.

    ``default`` is None if it follows from the model, as ``usual`` explains. ``verbs`` are the functions that
    take the axis, empty for all of :data:`CALLS`.
    """

    help: str
    default: int | None = None
    minimum: int = 0
    usual: str = ""
    verbs: tuple[str, ...] = ()


CALLS = (
    *("formula", "flops", "cache", "memory", "training", "sensitivity"),
    *("diff", "table", "sweep", "forward"),
)
_WITH_PAST = tuple(verb for verb in CALLS if verb not in ("cache", "training"))

AXES: dict[str, Axis] = {
    "batch": Axis("batch size: number of sequences", 1, 1),
    "tokens": Axis("new tokens per sequence", None, 1, "2048, or the model's maximum if smaller"),
    "past": Axis("tokens in the KV cache before the forward pass", 0, verbs=_WITH_PAST),
    "encoder_tokens": Axis(
        "encoder sequence length; required for an encoder-decoder", usual="0 for other models"
    ),
    "new_encoder_tokens": Axis(
        "new encoder tokens in the forward pass",
        None,
        0,
        "all, or 0 with past tokens",
        verbs=("formula", "sensitivity", "sweep", "forward"),
    ),
}


def axes_of(verb: str) -> dict[str, Axis]:
    """Return the axes that a verb takes.

    >>> [*axes_of("cache")]
    ['batch', 'tokens', 'encoder_tokens']
    """
    return {name: axis for name, axis in AXES.items() if verb in (axis.verbs or CALLS)}
