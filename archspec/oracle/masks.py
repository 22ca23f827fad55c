"""What the masks of transformers let through of a call, where its attention interface applies them.

A model runs on meta; its masks are made on the CPU, as their values are what is asked for, and the attention
function that is given them counts the pairs of queries and keys that they leave out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from archspec.costs.records import Call
from archspec.oracle.costs import by_module, output_of
from archspec.oracle.verdicts import Unavailable


def let_through(model: Any, call: Call) -> tuple[dict[str, int], dict[str, int]]:
    """FLOPs by module of a call: those that are computed, and what of them no mask leaves out.

    Errors: :class:`archspec.oracle.Unavailable`, also where a model masks in code of its own.
    """
    from torch.utils.flop_counter import FlopCounterMode

    left_out: Counter[int] = Counter()  # FLOPs, by the identity of the module
    with _interfaces(left_out):
        counter = FlopCounterMode(display=False)
        output_of(model, call, _only(left_out, counter))
    computed = by_module(counter, model)
    through = dict(computed)
    for name, module in model.named_modules():
        if id(module) in left_out:
            through[name] = computed[name] - left_out[id(module)]
        elif name in computed and "attention" in type(module).__name__.lower():
            raise Unavailable(f"{name} has attention in code of its own")
    return computed, through


@contextmanager
def _only(left_out: Counter[int], counter: Any) -> Iterator[None]:
    """The call that is asked for, without the first one that filled its cache."""
    left_out.clear()
    with counter:
        yield


@contextmanager
def _interfaces(left_out: Counter[int]) -> Iterator[None]:
    """Eager attention by an attention function that counts, with masks that have values."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def attention(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *_: Any, **__: Any
    ) -> tuple[Any, Any]:
        groups = query.shape[1] // key.shape[1]
        keys, values = (x.repeat_interleave(groups, 1) if groups > 1 else x for x in (key, value))
        scores = query @ keys.transpose(-1, -2)
        allowed = scores.numel() if attention_mask is None else _allowed(attention_mask, scores.shape)
        left_out[id(module)] += 2 * (scores.numel() - allowed) * (query.shape[-1] + value.shape[-1])
        return (scores @ values).transpose(1, 2).contiguous(), scores

    ALL_ATTENTION_FUNCTIONS["eager"] = attention
    ALL_MASK_ATTENTION_FUNCTIONS["eager"] = _mask
    try:
        with _unbiased():
            yield
    finally:
        del ALL_ATTENTION_FUNCTIONS["eager"], ALL_MASK_ATTENTION_FUNCTIONS["eager"]


def _allowed(mask: Any, shape: Any) -> int:
    """The pairs that a mask allows, of scores of a shape."""
    import torch

    if mask.is_meta:
        raise ValueError("the model makes a mask of its own")
    mask = mask[..., : shape[-1]]
    seen = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    return int(seen.expand(shape).sum())


def _mask(*sizes: Any, attention_mask: Any = None, device: Any = None, dtype: Any = None, **how: Any) -> Any:
    """The mask that transformers makes for eager attention, on the CPU; a given one pads nothing."""
    import torch
    from torch.overrides import TorchFunctionMode
    from transformers.masking_utils import eager_mask

    class WithoutPadding(TorchFunctionMode):  # type: ignore[misc]
        """How many positions are padded on the left of each sequence: none."""

        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            return function(*map(_padding, args), **(kwargs or {}))

    def _padding(value: Any) -> Any:
        if (
            isinstance(value, torch.Tensor)
            and value.is_meta
            and value.ndim == 1
            and not value.is_floating_point()
        ):
            return torch.zeros(value.shape, dtype=value.dtype, device="cpu")
        return value

    with WithoutPadding():
        return eager_mask(*sizes, device="cpu", dtype=torch.float32, **how)


def _unbiased() -> Any:
    """A mode in which a mask stays itself where a bias of each head is added to it, as in T5."""
    from torch import Tensor
    from torch.overrides import TorchFunctionMode

    class Unbiased(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            added = getattr(function, "__name__", "") in ("add", "__add__", "__radd__", "add_", "__iadd__")
            if added and all(isinstance(one, Tensor) and one.ndim == 4 for one in args):
                for mask, bias in (args, args[::-1]):
                    if not mask.is_meta and bias.is_meta and mask.shape[1] == 1 < bias.shape[1]:
                        return mask
            return function(*args, **(kwargs or {}))

    return Unbiased()
