"""Forward passes with media: without weights, or with random ones if the value of a float is asked for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from archspec.costs.records import Call
from archspec.reference.contents import cache_of, default_dtype
from archspec.reference.media.hybrid import hybrid
from archspec.reference.media.prompts import inputs, prompt, tokens_of_media
from archspec.reference.media.receiver import Receiver
from archspec.reference.media.tensors import Inputs
from archspec.reference.media.values import ones
from archspec.reference.verdicts import Unavailable, measuring_errors, one_line

LARGEST = 200_000_000  # parameters of a model with weights
NO_CACHE = "the class returns no cache"
_HOOKS = "_output_capturing"  # transformers' note that they are there
_NOT_VALUES = (  # in errors that weights do not mend
    *("size of tensor", "shape", "expects", "match", "expected", "should be equal", "too small"),
)
_WITH_WEIGHTS = WeakKeyDictionary[Any, Any]()
Watch = Callable[[], AbstractContextManager[Any]]


def has_media(call: Call) -> bool:
    """Return True if a forward pass is given images, videos or audio, or its past was."""
    return bool(call.images or call.videos or call.audios)


def media_output(model: Any, call: Call, watch: Watch) -> tuple[Any, Any]:
    """Return the output of a forward pass, and what ``watch`` gave for it.

    Errors: :class:`archspec.reference.Unavailable` if it does not run in any way.
    """

    def run(model: Any) -> tuple[Any, Any]:
        taken, given = _inputs(model, call), Inputs()
        if call.past:
            taken, given = _next_inputs(model, call, taken)
        with watch() as watched:
            return model(**taken, **given), watched

    output, watched = _in_some_way(model, run)
    return output, watched


def least_tokens(model: Any, call: Call) -> int:
    """Return the least tokens of a sequence with the placeholders of its media, each after a word.

    Errors: as of :func:`media_output`.
    """
    return int(_in_some_way(model, lambda model: tokens_of_media(Receiver(model, call))))


def media_inputs(model: Any, call: Call) -> Inputs:
    """Return the inputs of a forward pass without a past. Errors: as of :func:`media_output`."""
    with measuring_errors(), hybrid(), _ready(model):
        return inputs(Receiver(model, call))


def _in_some_way(model: Any, run: Callable[[Any], Any]) -> Any:
    """Return what a function of the model gives without weights, or else with random weights."""
    try:
        with hybrid(), _ready(model):
            return run(model)
    except Exception as error:
        why = one_line(error)
    if any(mark in why for mark in _NOT_VALUES):
        raise Unavailable(why)
    size = sum(parameter.numel() for parameter in model.parameters())
    if size > LARGEST:
        raise Unavailable(f"{why} (without weights; there are {size:,} of them)")
    try:
        full = with_weights(model)
        with _ready(full):
            return run(full)
    except Exception as error:
        raise Unavailable(f"{one_line(error)} (without weights: {why})") from None


@contextmanager
def _ready(model: Any) -> Iterator[None]:
    import torch

    with torch.no_grad(), _counted_kernels(), _restore_attributes(model):
        yield


def _inputs(model: Any, call: Call) -> Inputs:
    """Return the inputs of a forward pass; of that of its past, if there is one."""
    first = call._replace(tokens=call.past, past=0) if call.past else call
    return inputs(Receiver(model, first))


def _next_inputs(model: Any, call: Call, taken: Inputs) -> tuple[Inputs, Inputs]:
    """Return the inputs of a forward pass of text, and what the one before with media gives it."""
    encoded: list[Any] = []
    encoder = model.get_encoder() if hasattr(model, "get_encoder") else model
    hook = encoder.register_forward_hook(lambda module, args, output: encoded.append(output))
    output = model(**taken)
    hook.remove()
    name, cache = cache_of(output)
    to = Receiver(model, call._replace(images=(), videos=(), audios=()))
    if cache is None or (name not in to.names and to.decodes):
        raise ValueError(NO_CACHE)
    given = {name: cache}
    if encoder is not model and "encoder_outputs" in to.names:
        given["encoder_outputs"] = encoded[-1]
    if "image_encoder_embeddings" in to.names:  # which Idefics needs at each step
        given["image_encoder_embeddings"] = output.image_outputs.last_hidden_state
        given["image_attention_mask"] = ones(call.batch, call.tokens, len(call.images) // call.batch)
    return (inputs(to) if to.decodes else prompt(to, {}, call.tokens)), given


def with_weights(model: Any) -> Any:
    """Return the same model on the CPU with random weights; it is built once."""
    import torch

    if model not in _WITH_WEIGHTS:
        torch.manual_seed(0)
        dtype = next(parameter.dtype for parameter in model.parameters())
        with default_dtype(str(dtype).removeprefix("torch.")), torch.device("cpu"):
            full = type(model)(copy.deepcopy(model.config)).eval().requires_grad_(False)
        _WITH_WEIGHTS[model] = full
    return _WITH_WEIGHTS[model]


@contextmanager
def _counted_kernels() -> Iterator[None]:
    """Turn off the fused kernels whose products FlopCounterMode does not see."""
    import torch

    with ExitStack() as stack:
        fast, fused = torch.backends.mha.get_fastpath_enabled(), torch.backends.cuda.flash_sdp_enabled()
        stack.callback(torch.backends.mha.set_fastpath_enabled, fast)
        stack.callback(torch.backends.cuda.enable_flash_sdp, fused)
        torch.backends.mha.set_fastpath_enabled(False)
        torch.backends.cuda.enable_flash_sdp(False)
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)  # its LSTM
        yield


@contextmanager
def _restore_attributes(model: Any) -> Iterator[None]:
    """Restore the attributes that modules change for later calls: Swin's windows, Qwen2-VL's positions."""
    import torch

    simple = (bool, int, float, str, tuple, type(None), torch.Tensor)
    before = [
        (holder, {name: value for name, value in holder.items() if isinstance(value, simple)})
        for module in model.modules()
        for holder in (vars(module), module._buffers)
    ]
    try:
        yield
    finally:
        for holder, values in before:
            holder.update((name, value) for name, value in values.items() if not name.startswith(_HOOKS))
