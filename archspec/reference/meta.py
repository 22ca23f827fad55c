"""Torch's meta device: tensors have shapes only. Who asks for a value is answered as inputs could answer.

There is no padding and no global attention; a mask that chooses positions chooses all of them; of all experts
one is hit, and has all tokens. No product is replaced, only branches are chosen where numbers would choose.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_CHECKS = "TRANSFORMERS_DISABLE_TORCH_CHECK"  # transformers' own switch for its checks of values
_WARNING = "warn_if_padding_and_no_attention_mask"  # asks for values
_REST = -1  # of a split: what the other parts leave
_ANSWERS: dict[str, Any] = {
    "__bool__": lambda tensor: True,
    "item": lambda tensor: 0 if tensor.dtype.is_floating_point or tensor.dtype.is_signed else False,
    "__format__": lambda tensor, spec: format(0, spec),
    "nonzero": lambda mask, **_: mask.new_empty(1 if mask.dim() == 1 else mask.numel(), mask.dim()).long(),
    "unique_consecutive": lambda tensor, **_: tensor[:1],
    "tolist": lambda sizes: [_REST] + [0] * (len(sizes) - 1),
    "__getitem__": lambda tensor, index: tensor[_known(index)],
    "split": lambda tensor, size, dim=0: tensor.split(_sizes(tensor, size, dim), dim),
}


@contextmanager
def on_meta() -> Iterator[None]:
    """New tensors on meta, and answers to what asks for their values."""
    import torch
    from torch.fx.experimental import _config
    from torch.overrides import TorchFunctionMode
    from transformers import PreTrainedModel

    class Answers(TorchFunctionMode):  # type: ignore[misc]
        """Answers calls of torch's functions that a model makes itself."""

        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            answer = _ANSWERS.get(getattr(function, "__name__", ""))
            if answer is not None and args[0].is_meta:
                function = answer
            return function(*args, **(kwargs or {}))

    with ExitStack() as stack:
        stack.callback(os.environ.__setitem__, _CHECKS, os.environ.get(_CHECKS, "0"))
        os.environ[_CHECKS] = "1"
        stack.callback(setattr, PreTrainedModel, _WARNING, getattr(PreTrainedModel, _WARNING))
        setattr(PreTrainedModel, _WARNING, lambda *_, **__: None)
        stack.enter_context(_config.patch(meta_nonzero_assume_all_nonzero=True))
        stack.enter_context(torch.device("meta"))
        stack.enter_context(Answers())
        yield


def _known(index: Any) -> Any:
    """The first of what is indexed where one number that has no value chooses, as that of an expert."""
    import torch

    chooses = isinstance(index, torch.Tensor) and index.is_meta and not index.ndim
    return 0 if chooses and index.dtype != torch.bool else index


def _sizes(tensor: Any, size: Any, dim: int) -> Any:
    """The sizes of a split, where one may be the rest."""
    if not isinstance(size, list) or _REST not in size:
        return size
    return [tensor.shape[dim] if one == _REST else one for one in size]


def local(tensor: Any) -> Any:
    """This rank's part of a tensor that is shared out; another one as it is."""
    return getattr(tensor, "_local_tensor", tensor)
