"""`archspec tensors`: every parameter, as named_parameters() lists them, and every persistent buffer."""

from __future__ import annotations

from archspec.cli.arguments import add_model, load_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.terminal import number, table
from archspec.typing_light import TYPE_CHECKING

if TYPE_CHECKING:
    from archspec.tree.tensors import Tensor


def add_arguments(takes: Arguments) -> None:
    add_model(takes)


def run(args: Values) -> int:
    model = load_model(args)
    found = model.tensors()
    if args.json:
        keys = ("name", "shape", "numel", "kind", "trainable", "tied_to")
        listed = [{key: getattr(tensor, key) for key in keys} for tensor in found]
        named = {"architecture": model.architecture, "model_type": model.model_type}
        print_json({**named, "tensors": listed})
        return 0
    rows = [(t.name, str(t.shape), number(t.numel), ", ".join(marks(t))) for t in found]
    parameters = sum(t.kind == "parameter" for t in found)
    caption = f"{parameters} parameters of {number(model.params)} elements, {len(found) - parameters} buffers"
    table("tensor|shape|>elements|", rows, title=model.architecture, caption=caption, header=False)
    return 0


def marks(tensor: Tensor) -> list[str]:
    """What sets a tensor apart from a parameter of its own that is trained."""
    found = ["buffer"] if tensor.kind == "buffer" else [] if tensor.trainable else ["frozen"]
    return [*found, f"tied to {tensor.tied_to}"] if tensor.tied_to else found
