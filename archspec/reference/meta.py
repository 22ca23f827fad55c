"""Torch's meta device: tensors have shapes only. Code that asks for a value gets one that inputs could give.

Inputs are without padding and global attention. A mask that selects positions selects all of them. One expert
gets all tokens. No product is replaced: only branches are chosen that depend on numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_CHECKS = "TRANSFORMERS_DISABLE_TORCH_CHECK"  # transformers' own switch for its checks of values
_WARNING = "warn_if_padding_and_no_attention_mask"  # asks for values
_REST = -1  # of a split: the rest
_ANSWERS: dict[str, Any] = {
    "__bool__": lambda tensor: True,
    "item": lambda tensor: 0 if tensor.dtype.is_floating_point or tensor.dtype.is_signed else False,
    "__format__": lambda tensor, spec: format(0, spec),
    "nonzero": lambda mask, **_: mask.new_empty(1 if mask.dim() == 1 else mask.numel(), mask.dim()).long(),
    "unique_consecutive": lambda tensor, **_: tensor[:1],
    "tolist": lambda sizes: [_REST] + [0] * (len(sizes) - 1),
    "__getitem__": lambda tensor, index: tensor[_known_index(index)],
    "split": lambda tensor, size, dim=0: tensor.split(_sizes(tensor, size, dim), dim),
}
Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]  # of a function and its arguments


@contextmanager
def on_meta() -> Iterator[None]:
    """Make new tensors on meta, and answer code that asks for their values."""
    import torch
    from torch.fx.experimental import _config
    from transformers import PreTrainedModel

    def answer(function: Any, args: Any, kwargs: Any) -> Any:
        found = _ANSWERS.get(getattr(function, "__name__", ""))
        return (function if found is None or not args[0].is_meta else found)(*args, **kwargs)

    with ExitStack() as stack:
        stack.callback(os.environ.__setitem__, _CHECKS, os.environ.get(_CHECKS, "0"))
        os.environ[_CHECKS] = "1"
        stack.callback(setattr, PreTrainedModel, _WARNING, getattr(PreTrainedModel, _WARNING))
        setattr(PreTrainedModel, _WARNING, lambda *_, **__: None)
        stack.enter_context(_config.patch(meta_nonzero_assume_all_nonzero=True))
        stack.enter_context(torch.device("meta"))
        stack.enter_context(functions(answer))
        yield


def functions(handler: Handler) -> Any:
    """Return a mode in which a handler makes the calls of torch's functions."""
    from torch.overrides import TorchFunctionMode

    class Functions(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            return handler(function, args, kwargs or {})

    return Functions()


def operations(handler: Handler) -> Any:
    """Return a mode in which a handler runs the operations below torch's functions, also of the backward."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operations(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            return handler(function, args, kwargs or {})

    return Operations()


def replace_function(name: str, replacement: Callable[..., Any]) -> Any:
    """Return a mode in which a function of `torch.nn.functional` is another one."""
    import torch

    original = getattr(torch.nn.functional, name)
    return functions(lambda f, args, kwargs: (replacement if f is original else f)(*args, **kwargs))


@contextmanager
def follow_modules(
    model: Any, running: list[str], leaves: Callable[[str, Any], None] = lambda *_: None
) -> Iterator[None]:
    """Keep the dotted names of the modules that run, the innermost last; ``leaves`` gets their outputs."""

    def leave(name: str, output: Any) -> None:
        running.pop()
        leaves(name, output)

    with ExitStack() as stack:
        for name, module in model.named_modules():
            entered = module.register_forward_pre_hook(lambda *_, name=name: running.append(name))
            stack.callback(entered.remove)
            done = module.register_forward_hook(lambda _, __, output, name=name: leave(name, output))
            stack.callback(done.remove)
        yield


def _known_index(index: Any) -> Any:
    import torch

    if isinstance(index, tuple):
        return tuple(map(_known_index, index))
    chooses = isinstance(index, torch.Tensor) and index.is_meta and not index.ndim
    return 0 if chooses and index.dtype != torch.bool else index


def _sizes(tensor: Any, size: Any, dim: int) -> Any:
    if not isinstance(size, list) or _REST not in size:
        return size
    return [tensor.shape[dim] if one == _REST else one for one in size]


def local_part(tensor: Any) -> Any:
    """Return this rank's part of a sharded tensor; any other tensor is unchanged."""
    return getattr(tensor, "_local_tensor", tensor)
