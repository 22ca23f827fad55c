"""FLOPs of a training step on meta, as torch counts them by module: of a forward and of its gradients.

Gradients are those of the first output, or of the loss of a class that returns one, for every parameter that
requires one. The step is without a cache, recomputation and dropout.
"""

from __future__ import annotations

from typing import Any

from archspec.costs.records import Call
from archspec.reference.contents import by_module
from archspec.reference.costs import inputs, restore_attention
from archspec.reference.media.hybrid import hybrid
from archspec.reference.media.running import has_media, media_inputs
from archspec.reference.meta import on_meta, operations
from archspec.reference.verdicts import Unavailable, measuring_errors


def measured_training(model: Any, call: Call) -> dict[str, int]:
    """Return the FLOPs of each module, without its children's, by its dotted name, gradients included.

    Errors: :class:`archspec.reference.Unavailable` if the step does not run on meta.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    corrected = {torch.ops.aten.convolution_backward: _convolution_backward_flops}
    counter = FlopCounterMode(display=False, custom_mapping=corrected)
    has_items = has_media(call)
    taken = media_inputs(model, call) if has_items else None
    model.train()
    for module in model.modules():
        if hasattr(module, "layerdrop") or hasattr(module, "correction_coefs"):
            module.training = False  # it would leave out layers by chance; use a layer's weight outside it
    try:
        with measuring_errors(), hybrid() if has_items else on_meta(), torch.enable_grad():
            if taken is None:
                restore_attention(model, call)
                taken = inputs(model, call)
            with counter, _by_origin(counter.mod_tracker):
                output = model(**taken)
                first = next(name for name in output if name != "aux_loss")  # a router's loss does not count
                output[first].float().sum().backward()
    finally:
        model.zero_grad()
    found = by_module(counter, model)
    if sum(found.values()) != counter.get_total_flops():
        raise Unavailable("some gradients are of no module's products")
    return found


def _convolution_backward_flops(
    gradient: Any, given: Any, weight: Any, *settings: Any, out_val: Any = None
) -> int:
    """Return a forward's FLOPs for each of the gradients of input and weight that are asked for.

    torch 2.13 counts a grouped convolution's gradient of its weight `groups` times.
    """
    from torch.utils.flop_counter import conv_flop_count

    transposed, asked = settings[4], settings[-1]
    once = int(conv_flop_count([*given.shape], [*weight.shape], [*gradient.shape], transposed))
    return once * sum(map(int, asked[:2]))


_convolution_backward_flops._get_raw = True  # type: ignore[attr-defined]


def _by_origin(tracker: Any) -> Any:
    """Return a mode in which the FLOPs of a gradient belong to the module of the product.

    torch's own tracker goes by the inputs and outputs of modules in the backward, and mixes up those that
    share one.
    """
    import torch

    origins: dict[int, set[str]] = {}  # by an operation's number in autograd's order

    def run(function: Any, args: Any, kwargs: Any) -> Any:
        node = torch._C._current_autograd_node()
        if node is None:
            origins.setdefault(torch._C._autograd._get_sequence_nr() - 1, {*tracker.parents})
        else:
            tracker.parents = {*origins.get(node._sequence_nr(), ())}
        return function(*args, **kwargs)

    return operations(run)
