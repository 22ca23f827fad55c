"""`archspec tensors`: every parameter, as named_parameters() lists them, and every persistent buffer."""

from __future__ import annotations

from archspec.cli.command_line import Values
from archspec.cli.run import load_model, print_idle_fields, print_json
from archspec.models.report import data_of
from archspec.models.tree import Tensors
from archspec.terminal import number, table
from archspec.typing_light import TYPE_CHECKING

if TYPE_CHECKING:
    from archspec.tree.tensors import Tensor


def run(args: Values) -> int:
    model = load_model(args)
    print_idle_fields(model)
    found = model.tensors()
    if args.json:
        print_json(data_of(Tensors, model))
        return 0
    rows = [(t.name, str(t.shape), number(t.numel), ", ".join(marks(t))) for t in found]
    parameters = sum(t.kind == "parameter" for t in found)
    caption = f"{parameters} parameters of {number(model.params)} elements, {len(found) - parameters} buffers"
    table("tensor|shape|>elements|", rows, title=model.architecture, caption=caption, header=False)
    return 0


def marks(tensor: Tensor) -> list[str]:
    """Return the marks of a tensor: buffer or frozen, and what it is tied to."""
    found = ["buffer"] if tensor.kind == "buffer" else [] if tensor.trainable else ["frozen"]
    return [*found, f"tied to {tensor.tied_to}"] if tensor.tied_to else found
