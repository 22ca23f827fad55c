"""What autograd keeps for the backward of a training step, as torch's saved_tensors_hooks see it on meta.

Every storage counts once, without parameters, buffers and inputs. It belongs to the first module that keeps
it, of several to the first that has parameters; one that takes no gradient (the angles of rotary positions)
to the module that hands it out, a mask that layers are given to run again to what holds the layers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from archspec.costs.records import Call, Step
from archspec.reference.classes import config_of, model_class
from archspec.reference.construction import built
from archspec.reference.costs import configs_in, inputs, parameters_of
from archspec.reference.meta import local, on_meta
from archspec.reference.verdicts import Unavailable, told

_LAYER = re.compile(r"\.?\b\w+\.\d+\b")
FLASH = "linear_memory"  # transformers checks what is installed where a name has `flash` in it


class Storage(NamedTuple):
    """A storage that is kept: by which module, its bytes, and the tensor that is a view of it."""

    module: str
    nbytes: int
    tensor: Any


def trained(architecture: str, raw: dict[str, Any], model_type: str, step: Step) -> Any:
    """A model on meta as it is trained: with gradients, and dropout as its config says.

    Errors: :class:`archspec.reference.Refused`, :class:`archspec.reference.Unavailable`.
    """
    import torch

    flash = step.attention == "flash"
    if flash:
        _register_flash()
    config = config_of(model_type, raw)
    for one in configs_in(config):
        one._attn_implementation = FLASH if flash else "eager"
        one.return_dict = True
        one.use_cache = False
        if getattr(one, "output_router_logits", False):
            one.output_router_logits = False  # what they are asked for is a loss
        if getattr(one, "pad_token_id", 0) is None:
            one.pad_token_id = 0  # sequence classification looks for the last token that is none
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, step.dtype))
    try:
        model = built(model_class(architecture, model_type), config).to("meta").train()
    finally:
        torch.set_default_dtype(before)
    for module in model.modules():
        if hasattr(module, "layerdrop"):
            module.layerdrop = 0.0  # it would leave out layers by chance
    if flash and not model._supports_flash_attn:
        raise Unavailable("the class has no flash attention")
    if step.checkpointing:
        if not model.supports_gradient_checkpointing:
            raise Unavailable("the class has no gradient checkpointing")
        model.activation_checkpointing_enable()
    return model


def saved(model: Any, step: Step, given: dict[str, Any] | None = None) -> dict[str, int]:
    """Bytes that each module keeps after a forward, by its dotted name; ``given`` are other inputs than ids.

    Errors: :class:`archspec.reference.Unavailable` where the model does not run on meta, or not so.
    """
    found: dict[str, int] = {}
    for storage in storages(model, step, given):
        found[storage.module] = found.get(storage.module, 0) + storage.nbytes
    return found


def storages(model: Any, step: Step, given: dict[str, Any] | None = None) -> list[Storage]:
    """Every storage that is kept after a forward, in the order in which they were."""
    from torch.autograd.graph import saved_tensors_hooks as hooks

    given = given or inputs(model, step.call)
    leaves = [tensor for tensor in given.values() if not getattr(tensor, "requires_grad", False)]
    keeper = _Keeper(model, leaves, step.checkpointing)
    asked = len(_FLASH_CALLS)
    try:
        with on_meta(), _fused_dropout(), keeper.watching(model), hooks(keeper.keep, lambda tensor: tensor):
            output = model(**given, use_cache=False) if _caches(model) else model(**given)
    except Exception as error:  # whatever a forward raises on meta, it says nothing of what it keeps
        raise Unavailable(told(error)) from None
    del output
    if step.attention == "flash" and len(_FLASH_CALLS) == asked:
        raise Unavailable("the class has no flash attention")
    return keeper.found()


def labels(model: Any, call: Call) -> dict[str, Any]:
    """The arguments from which a class computes its loss; empty for a class without a loss."""
    import torch

    def ids(*shape: int) -> Any:
        return torch.zeros(*shape, dtype=torch.long, device="meta")

    taken, config, batch = parameters_of(model), model.config, call.batch
    if "start_positions" in taken:
        return {"start_positions": ids(batch), "end_positions": ids(batch)}
    if "labels" not in taken:
        return {}
    if not type(model).__name__.endswith("ForSequenceClassification"):
        return {"labels": ids(batch, call.tokens)}
    kind = getattr(config, "problem_type", None) or ("regression" if config.num_labels == 1 else "")
    if kind in ("", "single_label_classification"):
        return {"labels": ids(batch)}
    return {"labels": ids(batch, config.num_labels).float()}


def takes_labels(architecture: str, model_type: str) -> bool:
    """Return True if a class can be given labels."""
    import inspect

    taken = inspect.signature(model_class(architecture, model_type).forward).parameters
    return "labels" in taken or "start_positions" in taken


def loss_bytes(model: Any, step: Step, given: dict[str, Any] | None = None) -> int:
    """Bytes that are kept of the loss, beside those of the forward; ``given`` are other inputs than ids.

    Errors: those of :func:`saved`, and :class:`Unavailable` for a class that takes no labels.
    """
    given = given or inputs(model, step.call)
    if not (wanted := labels(model, step.call)):
        raise Unavailable("the class takes no labels")
    without = sum(storage.nbytes for storage in storages(model, step, given))
    return sum(storage.nbytes for storage in storages(model, step, {**given, **wanted})) - without


def recomputed(model: Any, step: Step) -> int:
    """Bytes that the largest of the layers that checkpointing runs again keeps where none is run again.

    Errors: as of :func:`saved`.
    """
    from transformers.modeling_layers import GradientCheckpointingLayer

    layers = [name for name, one in model.named_modules() if isinstance(one, GradientCheckpointingLayer)]
    model.activation_checkpointing_disable()
    try:
        kept = saved(model, step._replace(checkpointing=False))
    finally:
        model.activation_checkpointing_enable()
    return max((_within(kept, layer) for layer in layers), default=0)


def _within(kept: dict[str, int], layer: str) -> int:
    return sum(size for module, size in kept.items() if f"{module}.".startswith(f"{layer}."))


class _Keeper:
    """Takes note of what autograd keeps while modules run."""

    def __init__(self, model: Any, inputs: Iterable[Any], checkpointing: bool) -> None:
        self.checkpointing = checkpointing
        others = (*model.parameters(), *model.buffers(), *inputs)
        self.others = {_storage(tensor) for tensor in others if tensor is not None}
        self.weighted = {name for name, module in model.named_modules() if module._parameters}
        self.kept: dict[int, Storage] = {}
        self.handed: dict[int, tuple[str, Any]] = {}
        self.running: list[str] = []

    def keep(self, tensor: Any) -> Any:
        key, module = _storage(tensor), self.running[-1] if self.running else ""
        if key in self.others:
            return tensor
        known = self.kept.get(key)
        if known is None:
            if self.checkpointing and not tensor.requires_grad:
                module = _LAYER.split(module)[0]
            self.kept[key] = Storage(module, local(tensor).untyped_storage().nbytes(), tensor.detach())
        elif known.module not in self.weighted and module in self.weighted:
            self.kept[key] = known._replace(module=module)
        return tensor

    def found(self) -> list[Storage]:
        return [
            storage._replace(module=self.handed[key][0]) if key in self.handed else storage
            for key, storage in self.kept.items()
        ]

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        with ExitStack() as stack:
            for name, module in model.named_modules():
                for register, hook in (
                    (module.register_forward_pre_hook, self.enters(name)),
                    (module.register_forward_hook, self.leaves(name)),
                ):
                    stack.callback(register(hook).remove)
            yield

    def enters(self, name: str) -> Any:
        return lambda *_: self.running.append(name)

    def leaves(self, name: str) -> Any:
        def hook(_: Any, __: Any, output: Any) -> None:
            self.running.pop()
            for tensor in output if isinstance(output, tuple | list) else [output]:
                if hasattr(tensor, "untyped_storage") and not tensor.requires_grad:
                    self.handed.setdefault(_storage(tensor), (name, tensor))

        return hook


def _storage(tensor: Any) -> int:
    return int(local(tensor).untyped_storage()._cdata)


def _caches(model: Any) -> bool:
    import inspect

    return "use_cache" in inspect.signature(model.forward).parameters


@contextmanager
def _fused_dropout() -> Iterator[None]:
    """Dropout as a GPU has it, with a mask of a byte an element; elsewhere torch keeps one of its dtype."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Fused(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if function is torch.nn.functional.dropout:
                return _dropout(*args, **kwargs)
            return function(*args, **kwargs)

    with Fused():
        yield


def _dropout(tensor: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    import torch

    fused = training and 0 < p < 1 and not inplace
    return torch.native_dropout(tensor, p, True)[0] if fused else torch.dropout(tensor, p, training)


_FLASH_CALLS: list[None] = []


def _register_flash() -> None:
    """An attention function of torch's flash kernel, whose heads of keys and values are not repeated."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(FLASH, _flash)
    ALL_MASK_ATTENTION_FUNCTIONS.register(FLASH, lambda *_, **__: None)


def _flash(module: Any, query: Any, key: Any, value: Any, *_: Any, **given: Any) -> Any:
    import torch

    _FLASH_CALLS.append(None)
    width = value.shape[-1]
    if width < query.shape[-1]:  # as transformers does for latent attention
        value = torch.nn.functional.pad(value, [0, query.shape[-1] - width])
    heads = (tensor.transpose(1, 2) for tensor in (query, key, value))
    dropout = float(given.get("dropout", 0.0))
    kernel = torch.ops.aten._flash_attention_forward
    lengths = query.shape[2], key.shape[2]
    output = kernel(*heads, None, None, *lengths, dropout, False, False, scale=given.get("scaling"))
    return output[0][..., :width], None
