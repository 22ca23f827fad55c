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
_REST = -1  # of a split: what the other parts leave


@contextmanager
def on_meta() -> Iterator[None]:
    """New tensors on meta, and answers to what asks for their values."""
    import torch
    from transformers import PreTrainedModel

    tensor, split = torch.Tensor, torch.Tensor.split
    with ExitStack() as stack:

        def replace(cls: type, name: str, method: Any) -> None:
            stack.callback(setattr, cls, name, getattr(cls, name))
            setattr(cls, name, method)

        def answer(name: str, on_meta: Any) -> None:
            plain = getattr(tensor, name)
            replace(tensor, name, lambda self, *given: (on_meta if self.is_meta else plain)(self, *given))

        answer("__bool__", lambda _: True)
        answer("item", lambda self: False if self.dtype == torch.bool else 0)
        answer("__format__", lambda _, spec: format(0, spec))
        answer("tolist", lambda self: [_REST] + [0] * (len(self) - 1))
        replace(tensor, "split", lambda self, size, dim=0: split(self, _sizes(self, size, dim), dim))
        replace(PreTrainedModel, "warn_if_padding_and_no_attention_mask", lambda *_, **__: None)
        stack.callback(os.environ.__setitem__, _CHECKS, os.environ.get(_CHECKS, "0"))
        os.environ[_CHECKS] = "1"
        kernels = torch.library.Library("aten", "IMPL", "Meta")
        stack.callback(kernels._destroy)
        kernels.impl("unique_consecutive", lambda self, *_, **__: (self.new_empty(1), self, self))
        kernels.impl("nonzero", _nonzero, allow_override=True)
        stack.enter_context(torch.device("meta"))
        yield


def _sizes(tensor: Any, size: Any, dim: int) -> Any:
    """The sizes of a split, where one may be the rest."""
    if not isinstance(size, list) or _REST not in size:
        return size
    return [tensor.shape[dim] if one == _REST else one for one in size]


def _nonzero(mask: Any) -> Any:
    """Of a row of numbers the first one, of a matrix all: a row says which experts are hit."""
    import torch

    return mask.new_empty((1 if mask.dim() == 1 else mask.numel(), mask.dim()), dtype=torch.long)
