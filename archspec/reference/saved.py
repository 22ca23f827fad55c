"""Tensors that autograd saves for the backward pass, as torch's saved_tensors_hooks see them on meta.

Every storage counts once, without parameters, buffers and inputs. It belongs to the first module that saves
it; of several, to the first with parameters. A storage without a gradient (the angles of rotary positions)
belongs to the module that returns it. A mask for layers that run again belongs to the parent of the layers.
"""

from __future__ import annotations

import gc
import inspect
import re
from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

from archspec.costs.records import Call, Step
from archspec.reference.classes import model_class
from archspec.reference.construction import build
from archspec.reference.contents import configs_in, default_dtype, parameters_of
from archspec.reference.costs import inputs, prepared_config
from archspec.reference.media.hybrid import hybrid
from archspec.reference.media.running import has_media, media_inputs
from archspec.reference.meta import follow_modules, local_part, on_meta, replace_function
from archspec.reference.verdicts import Unavailable, measuring_errors

_LAYER = re.compile(r"\.?\b\w+\.\d+\b")
FLASH = "linear_memory"  # a name with `flash` makes transformers check installed packages
_PACKED_FLASH = f"flash_{FLASH}"  # which classes ask for that pass lengths to the kernel
_LENGTHS = "cu_seq_lens_q"  # of the items in a packed sequence
_UNTRAINED = {"output_router_logits": False, "layerdrop": 0.0}  # only for a loss; leaves out layers by chance
_FLASH_CALLS: list[None] = []


class Storage(NamedTuple):
    """A saved storage: its module, its bytes, and a tensor that is a view of it."""

    module: str
    nbytes: int
    tensor: Any


def training_model(architecture: str, raw: dict[str, Any], model_type: str, step: Step) -> Any:
    """Return a model on meta as it is trained: with gradients, and dropout as its config says.

    Errors: :class:`archspec.reference.Refused`, :class:`archspec.reference.Unavailable`.
    """
    flash = step.attention == "flash"
    if flash:
        _register_flash()
    config = prepared_config(model_type, raw, FLASH if flash else "eager", use_cache=False)
    for one, (name, value) in product(configs_in(config), _UNTRAINED.items()):
        if getattr(one, name, value):
            setattr(one, name, value)
    with default_dtype(step.dtype):
        model = build(model_class(architecture, model_type), config).to("meta").train()
    for name, parameter in model.named_parameters():
        if not {*step.freeze}.isdisjoint(name.split(".")):
            parameter.requires_grad_(False)
    for module in model.modules():
        if hasattr(module, "layerdrop"):
            module.layerdrop = 0.0  # it would leave out layers by chance
    if flash:
        _pack(model)
    if flash and not model._supports_flash_attn:
        raise Unavailable("the class does not support flash attention")
    if step.checkpointing:
        if not model.supports_gradient_checkpointing:
            raise Unavailable("the class does not support gradient checkpointing")
        model.activation_checkpointing_enable()
    return model


def saved_bytes(model: Any, step: Step, given: dict[str, Any] | None = None) -> dict[str, int]:
    """Return the bytes that each module saves in a forward pass; ``given`` are other inputs than ids.

    Errors: :class:`archspec.reference.Unavailable` if the model does not run on meta, or not this way.
    """
    found = Counter[str]()
    for storage in saved_storages(model, step, given):
        found[storage.module] += storage.nbytes
    return dict(found)


def saved_storages(model: Any, step: Step, given: dict[str, Any] | None = None) -> list[Storage]:
    """Return every storage that a forward pass saves, in order."""
    from torch import Tensor
    from torch.autograd.graph import saved_tensors_hooks as hooks
    from torch.utils._pytree import tree_leaves

    has_items = has_media(step.call)
    given = given or (media_inputs if has_items else inputs)(model, step.call)
    leaves = [one for one in tree_leaves(given) if isinstance(one, Tensor) and not one.requires_grad]
    keeper, asked = _Keeper(model, leaves, step.checkpointing), len(_FLASH_CALLS)
    fused, saving = replace_function("dropout", _dropout), hooks(keeper.keep, lambda packed: packed.tensor)
    device, following = (
        hybrid() if has_items else on_meta(),
        follow_modules(model, keeper.running, keeper.leave),
    )
    gc.freeze()  # collecting is quick if it only looks at what the forward pass makes
    try:
        with measuring_errors(), device, fused, following, saving:
            without = {"use_cache": False} if "use_cache" in parameters_of(model) else {}
            output = model(**given, **without)
        gc.collect()
    finally:
        gc.unfreeze()
    if step.attention == "flash" and len(_FLASH_CALLS) == asked:
        raise Unavailable("the class does not support flash attention")
    found = keeper.storages()
    del output  # whose graph keeps what is saved
    return found


def labels(model: Any, call: Call) -> dict[str, Any]:
    """Return the arguments from which a class computes its loss; empty for a class without a loss."""
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
    is_single = kind in ("", "single_label_classification")
    return {"labels": ids(batch) if is_single else ids(batch, config.num_labels).float()}


def takes_labels(architecture: str, model_type: str) -> bool:
    """Return True if a class can be given labels."""
    return bool({"labels", "start_positions"} & parameters_of(model_class(architecture, model_type)))


def loss_bytes(model: Any, step: Step, given: dict[str, Any] | None = None) -> int:
    """Return the bytes that the loss saves after the forward pass; ``given`` are other inputs than ids.

    Errors: those of :func:`saved_bytes`, and :class:`Unavailable` for a class without labels.
    """
    given = given or inputs(model, step.call)
    if not (wanted := labels(model, step.call)):
        raise Unavailable("the class does not take labels")
    with_loss, without = saved_bytes(model, step, given | wanted), saved_bytes(model, step, given)
    return sum(with_loss.values()) - sum(without.values())


def recomputed_bytes(model: Any, step: Step) -> int:
    """Return the bytes of the largest checkpointed layer without checkpointing. Errors: of `saved_bytes`."""
    layers = _recomputed_layers(model)
    model.activation_checkpointing_disable()
    try:
        kept = saved_bytes(model, step._replace(checkpointing=False)).items()
    finally:
        model.activation_checkpointing_enable()
    inside = (sum(size for name, size in kept if f"{name}.".startswith(f"{layer}.")) for layer in layers)
    return max(inside, default=0)


def _recomputed_layers(model: Any) -> list[str]:
    from transformers.modeling_layers import GradientCheckpointingLayer

    return [name for name, one in model.named_modules() if isinstance(one, GradientCheckpointingLayer)]


class _Packed:
    """A tensor as autograd keeps it; it dies with the part of the graph that needs it."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class _Saving(NamedTuple):
    """One tensor that autograd saved in a module."""

    packed: ReferenceType[_Packed]
    key: int
    storage: Storage


class _Keeper:
    """Records what autograd saves while modules run."""

    def __init__(self, model: Any, inputs: Iterable[Any], checkpointing: bool) -> None:
        self.checkpointing = checkpointing
        others = (*model.parameters(), *model.buffers(), *inputs)
        self.others = {storage_key(tensor) for tensor in others if tensor is not None}
        self.weighted = {name for name, module in model.named_modules() if module._parameters}
        self.layers = {*_recomputed_layers(model)} if checkpointing else set[str]()
        self.weighted |= self.layers
        self.saved: list[_Saving] = []
        self.returned: dict[int, tuple[str, Any]] = {}
        self.running: list[str] = []

    def keep(self, tensor: Any) -> _Packed:
        key, module = storage_key(tensor), self.running[-1] if self.running else ""
        packed = _Packed(tensor.detach())  # a tensor that its own graph keeps would never be freed
        if key not in self.others:
            if self.checkpointing and not tensor.requires_grad:
                module = self.parent(module)
            nbytes = local_part(tensor).untyped_storage().nbytes()
            self.saved.append(_Saving(ref(packed), key, Storage(module, nbytes, packed.tensor)))
        return packed

    def parent(self, module: str) -> str:
        """Return the module around the layer that runs again, if the module is in one."""
        names = module.split(".")
        parts = (".".join(names[:end]) for end in range(1, len(names) + 1))
        return next((_LAYER.split(one)[0] for one in parts if one in self.layers), module)

    def storages(self) -> list[Storage]:
        """Return what is still saved; a part of the graph without an output is freed."""
        kept: dict[int, Storage] = {}
        for packed, key, storage in self.saved:
            known = kept.get(key)
            if packed() is not None and (
                known is None or (known.module not in self.weighted and storage.module in self.weighted)
            ):
                kept[key] = storage if known is None else known._replace(module=storage.module)
        returned = {key: name for key, (name, _) in self.returned.items()}
        others = {key: one for key, one in kept.items() if one.module not in self.weighted}
        return [
            *(
                kept
                | {key: one._replace(module=returned.get(key, one.module)) for key, one in others.items()}
            ).values()
        ]

    def leave(self, name: str, output: Any) -> None:
        for tensor in output if isinstance(output, tuple | list) else [output]:
            if hasattr(tensor, "untyped_storage") and not tensor.requires_grad:
                self.returned.setdefault(storage_key(tensor), (name, tensor))


def storage_key(tensor: Any) -> int:
    """Return a number that identifies the storage of a tensor."""
    return int(local_part(tensor).untyped_storage()._cdata)


def _dropout(tensor: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Run dropout as on a GPU, with a mask of one byte per element; other devices save torch's dtype."""
    import torch

    fused = training and 0 < p < 1 and not inplace
    return torch.native_dropout(tensor, p, True)[0] if fused else torch.dropout(tensor, p, training)


def _register_flash() -> None:
    """Register torch's flash kernel as an attention function; heads of keys and values are not repeated."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    for name in (FLASH, _PACKED_FLASH):
        ALL_ATTENTION_FUNCTIONS.register(name, _flash_attention)
        ALL_MASK_ATTENTION_FUNCTIONS.register(name, lambda *_, **__: None)


def _pack(model: Any) -> None:
    """Make attention modules that pass the lengths of packed items to a flash kernel do so."""
    for module in model.modules():
        if hasattr(module, "config") and _names_lengths(type(module)):
            module.config._attn_implementation_internal = _PACKED_FLASH


def _names_lengths(cls: Any) -> bool:
    """Return True if the code of a class's forward names the lengths, also in decorated functions."""
    code = inspect.unwrap(cls.forward).__code__
    return any(_LENGTHS in (one if isinstance(one, tuple) else (one,)) for one in code.co_consts)


def _flash_attention(module: Any, query: Any, key: Any, value: Any, *_: Any, **given: Any) -> Any:
    import torch

    _FLASH_CALLS.append(None)
    width = value.shape[-1]
    if width < query.shape[-1]:  # as transformers does for latent attention
        value = torch.nn.functional.pad(value, [0, query.shape[-1] - width])
    heads = [tensor.transpose(1, 2) for tensor in (query, key, value)]
    dropout = float(given.get("dropout", 0.0))
    kernel = torch.ops.aten._flash_attention_forward
    ends, lengths = (None, None), (query.shape[2], key.shape[2])
    packed = given.get(_LENGTHS) is not None
    if packed:  # one sequence of several items
        heads = [tensor.squeeze(0) for tensor in heads]
        ends = given[_LENGTHS], given["cu_seq_lens_k"]
        lengths = int(given["max_length_q"]), int(given["max_length_k"])
    output = kernel(*heads, *ends, *lengths, dropout, False, False, scale=given.get("scaling"))
    found = output[0].unsqueeze(0) if packed else output[0]
    return found[..., :width], None
