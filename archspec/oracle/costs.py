"""What one call of a transformers class costs, as torch counts it on its meta device: FLOPs by module, and the cache.

FLOPs are those of transformers' eager code by torch's FlopCounterMode, 2 per multiply-add. On meta no number is known: a
test of a tensor's values is answered as for inputs without padding or global attention.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from archspec.oracle.classes import config_of, model_class
from archspec.oracle.construction import built
from archspec.oracle.verdicts import Unavailable, told, verdict

_CACHES = ("past_key_values", "cache_params", "mems", "past_buckets_states")
_NOT_TENSORS = (int, float, str, bool, type)
_DEPTH = 7  # of a cache within objects


class Call(NamedTuple):
    """The lengths of one call: sequences, positions computed now, positions in the cache, encoder positions.

    ``encoded`` encoder positions are computed in this call: all of `memory`, or 0 where its output is given.
    """

    batch: int
    tokens: int
    past: int = 0
    memory: int = 0
    encoded: int = 0


class Measured(NamedTuple):
    """FLOPs of each module without its children's, by its name in `named_modules()`; the shapes in the cache."""

    flops: dict[str, int]
    cache: dict[str, tuple[int, ...]]


def instance(architecture: str, raw: dict[str, Any], model_type: str) -> Any:
    """A model on meta with eager attention, and experts whose products FlopCounterMode counts.

    Errors: :class:`archspec.oracle.Refused`, :class:`archspec.oracle.Unavailable`.
    """
    config = config_of(model_type, raw)
    for one in _configs(config):
        one._attn_implementation = "eager"
        if hasattr(one, "_experts_implementation"):
            one._experts_implementation = "batched_mm"
    if getattr(config, "pad_token_id", 0) is None:
        config.pad_token_id = 0  # sequence classification looks for the last token that is none
    return built(model_class(architecture, model_type), config).to("meta").eval()


def _configs(config: Any) -> Iterator[Any]:
    from transformers import PreTrainedConfig

    yield config
    for value in vars(config).values():
        if isinstance(value, PreTrainedConfig):
            yield from _configs(value)


def encodes(model: Any) -> bool:
    """Whether a model has an encoder beside its decoder."""
    return "decoder_input_ids" in _parameters(model)


def _parameters(model: Any) -> set[str]:
    import inspect

    return set(inspect.signature(model.forward).parameters)


def measured(model: Any, call: Call) -> Measured:
    """The costs of a call, after a first call of `past` tokens where there are such.

    Errors: :class:`archspec.oracle.Unavailable` where the model does not run on meta, or has no cache.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    given: dict[str, Any] = {}
    try:
        with _meta(), torch.no_grad():
            if call.past:
                first = model(**_inputs(model, call._replace(tokens=call.past, encoded=call.memory)))
                given = _kept(first)
            with FlopCounterMode(display=False) as counter:
                output = model(**_inputs(model, call, given), **given)
    except Exception as error:  # whatever a forward raises on meta, it says nothing of the model's costs
        raise Unavailable(told(error)) from None
    found = {path: tuple(tensor.shape) for path, tensor in tensors(_cache(output)[1]).items() if tensor.ndim}
    return Measured(_own(counter, model), found)


def _inputs(model: Any, call: Call, given: dict[str, Any] | None = None) -> dict[str, Any]:
    import torch

    def ids(length: int) -> Any:
        return torch.zeros(call.batch, length, dtype=torch.long, device="meta")

    if not call.memory:
        return {"input_ids": ids(call.tokens)}
    decoder = {"decoder_input_ids": ids(call.tokens)}
    return decoder if given and "encoder_outputs" in given else {"input_ids": ids(call.memory), **decoder}


def _cache(output: Any) -> tuple[str, Any]:
    named = ((name, getattr(output, name, None)) for name in _CACHES)
    return next(((name, cache) for name, cache in named if cache is not None), ("", None))


def _kept(output: Any) -> dict[str, Any]:
    """What a first call hands on to the next one."""
    name, cache = _cache(output)
    if cache is None:
        raise ValueError("the class returns no cache")
    encoded = getattr(output, "encoder_last_hidden_state", None)
    return {name: cache} if encoded is None else {name: cache, "encoder_outputs": (encoded,)}


def tensors(holder: Any, path: str = "", seen: set[int] | None = None) -> dict[str, Any]:
    """Every tensor within a cache object once, by its path there."""
    import torch
    from transformers import PreTrainedConfig

    seen = set() if seen is None else seen
    skipped = (*_NOT_TENSORS, torch.dtype, torch.device, torch.nn.Module, PreTrainedConfig)
    if holder is None or isinstance(holder, skipped) or id(holder) in seen or path.count(".") > _DEPTH:
        return {}
    seen.add(id(holder))
    if isinstance(holder, torch.Tensor):
        return {path: holder}
    if isinstance(holder, list | tuple):
        items: Any = enumerate(holder)
    else:
        items = (holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})).items()
    found: dict[str, Any] = {}
    for name, value in items:
        found |= tensors(value, f"{path}.{name}" if path else str(name), seen)
    return found


def _own(counter: Any, model: Any) -> dict[str, int]:
    """FLOPs by module without those of the modules within it."""
    name = type(model).__name__
    whole = {
        path.removeprefix(name).removeprefix("."): sum(counts.values())
        for path, counts in counter.get_flop_counts().items()
        if path != "Global"
    }
    own = dict(whole)
    for path in whole:
        parent = path.rpartition(".")[0]
        while parent and parent not in whole:
            parent = parent.rpartition(".")[0]
        if path and parent in own:
            own[parent] -= whole[path]
    return {path: flops for path, flops in own.items() if flops}


@contextmanager
def _meta() -> Iterator[None]:
    """New tensors on meta; what asks for their values is told there is no padding and nothing global."""
    import torch
    import transformers

    tensor, model = torch.Tensor, transformers.PreTrainedModel
    kept = tensor.__bool__, tensor.item, model.warn_if_padding_and_no_attention_mask
    with ExitStack() as stack:
        stack.callback(setattr, tensor, "__bool__", kept[0])
        stack.callback(setattr, tensor, "item", kept[1])
        stack.callback(setattr, model, "warn_if_padding_and_no_attention_mask", kept[2])
        tensor.__bool__ = lambda self: True if self.device.type == "meta" else kept[0](self)
        tensor.item = lambda self: _plain(self) if self.device.type == "meta" else kept[1](self)
        model.warn_if_padding_and_no_attention_mask = lambda *_, **__: None
        stack.enter_context(torch.device("meta"))
        yield


def _plain(tensor: Any) -> Any:
    return False if tensor.dtype.is_floating_point is False and str(tensor.dtype) == "torch.bool" else 0
