"""FLOPs of a forward pass that no mask of transformers leaves out.

A model with transformers' attention interface runs on meta, with masks on the CPU, because their values
matter. The attention function counts the pairs of queries and keys that they leave out. A model with custom
attention code runs on the CPU, with values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from archspec.costs.records import Call
from archspec.reference.contents import by_module
from archspec.reference.costs import inputs, measure, output_of, past_of
from archspec.reference.media.running import has_media, media_output
from archspec.reference.meta import functions
from archspec.reference.verdicts import Unavailable, measuring_errors

_ENCODED = ("key_value_states", "encoder_hidden_states")
_LARGEST = 30_000_000  # parameters of a model that runs with values
_MOST = 2_000  # positions with gradients: each takes a backward pass of its module


def let_through(model: Any, call: Call) -> tuple[dict[str, int], dict[str, int]]:
    """Return the FLOPs of a forward pass by module: the computed ones, and those that no mask leaves out.

    Errors: :class:`archspec.reference.Unavailable`.
    """
    try:
        return _by_interface(model, call)
    except Unavailable:
        if has_media(call):
            raise
        return _by_gradients(model, call)


def _by_interface(model: Any, call: Call) -> tuple[dict[str, int], dict[str, int]]:
    from torch.utils.flop_counter import FlopCounterMode

    left_out: Counter[int] = Counter()  # FLOPs, by the identity of the module
    counter = FlopCounterMode(display=False)
    with _count_attention(left_out):
        if has_media(call):
            media_output(model, call, lambda: _count_last_call(left_out, counter))
        else:
            output_of(model, call, _count_last_call(left_out, counter))
    computed = by_module(counter, model)
    through = dict(computed)
    for name, module in model.named_modules():
        if id(module) in left_out:
            through[name] = computed[name] - left_out[id(module)]
        elif name in computed and _is_attention(module):
            raise Unavailable(f"{name} has custom attention code")
    return computed, through


def _by_gradients(model: Any, call: Call) -> tuple[dict[str, int], dict[str, int]]:
    """Return the same with values: a query sees the keys for which its output has a gradient."""
    computed = measure(model, call).flops
    names = [name for name, module in model.named_modules() if name in computed and _is_attention(module)]
    most = _MOST // max(len(names), 1)
    whole, sights = _with_values(model), {name: _Sight(most) for name in names}
    for name, sight in sights.items():
        module = whole.get_submodule(name)
        module.register_forward_pre_hook(sight.make_leaf, with_kwargs=True)
        module.register_forward_hook(sight.count_positions)
    with measuring_errors():
        given = past_of(whole, call, _ids)
        whole(**_ids(whole, call, given), **given)
    through = dict(computed)
    for name, sight in sights.items():
        keys = call.encoder_tokens if sight.crosses else call.context
        if not sight.queries:
            raise Unavailable(f"{name} is not called as a module")
        through[name] = computed[name] * sight.seen // (sight.queries * keys)
    return computed, through


def _is_attention(module: Any) -> bool:
    return "attention" in type(module).__name__.lower()


class _Sight:
    """Hooks of one attention module: the positions of its calls on which the last output depends."""

    def __init__(self, most: int) -> None:
        self.most = most  # positions of the output
        self.given: list[Any] = []  # the source of the keys, of each call
        self.crosses = False
        self.seen = self.queries = 0

    def make_leaf(self, _: Any, args: Any, kwargs: Any) -> Any:
        """Make the source of the keys a leaf."""
        import torch

        others = [kwargs[name] for name in _ENCODED if isinstance(kwargs.get(name), torch.Tensor)]
        hidden = [one for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor) and one.ndim == 3]
        source = (others or hidden)[0]
        if source.shape[0] != 1:
            raise ValueError("its first size is not the batch")
        self.crosses = bool(others)
        leaf = source.detach().requires_grad_()
        self.given.append(leaf)
        kwargs = {name: leaf if one is source else one for name, one in kwargs.items()}
        return tuple(leaf if one is source else one for one in args), kwargs

    def count_positions(self, _: Any, __: Any, output: Any) -> None:
        """Count the positions for which each position of the output has a gradient."""
        import torch

        found = output[0] if isinstance(output, tuple) else output
        if found.shape[1] > self.most:
            raise ValueError(f"custom attention code, with {found.shape[1]} positions")
        weights = torch.randn(found.shape[-1], dtype=found.dtype)
        self.queries, self.seen = found.shape[1], 0
        for row in found[0] @ weights:
            gradients = torch.autograd.grad(row, self.given, retain_graph=True, allow_unused=True)
            self.seen += sum(int(one[0].any(-1).sum()) for one in gradients if one is not None)


def _with_values(model: Any) -> Any:
    """Return the model on the CPU in float64, with weights drawn as for training. Errors: Unavailable."""
    import torch

    if sum(parameter.numel() for parameter in model.parameters()) > _LARGEST:
        raise Unavailable("custom attention code in a large model")
    torch.manual_seed(0)
    return type(model)(model.config).double().eval()


def _ids(model: Any, call: Call, given: dict[str, Any] | None = None) -> dict[str, Any]:
    import torch

    taken = inputs(model, call._replace(batch=1), given).items()
    return {name: None if one is None else torch.ones(one.shape, dtype=torch.long) for name, one in taken}


@contextmanager
def _count_last_call(left_out: Counter[int], counter: Any) -> Iterator[None]:
    """Count the forward pass itself, without the first one that filled its cache."""
    left_out.clear()
    with counter:
        yield


@contextmanager
def _count_attention(left_out: Counter[int]) -> Iterator[None]:
    """Replace eager attention by a function that counts, with masks that have values."""
    import torch
    from torch.utils.weak import WeakTensorKeyDictionary
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    known = WeakTensorKeyDictionary()  # often all layers take one mask

    def attention(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *_: Any, **__: Any
    ) -> tuple[Any, Any]:
        groups = query.shape[1] // key.shape[1]
        heads = (x.repeat_interleave(groups, 1) if groups > 1 else x for x in (key, value))
        queries, keys, values = (one.to("meta") for one in (query, *heads))  # only shapes are of interest
        scores = queries @ keys.transpose(-1, -2)
        allowed = scores.numel()
        if attention_mask is not None:
            allowed = _count_allowed(attention_mask, scores.shape, known.setdefault(attention_mask, {}))
        left_out[id(module)] += 2 * (scores.numel() - allowed) * (query.shape[-1] + value.shape[-1])
        output = (scores @ values).transpose(1, 2)
        return torch.zeros(output.shape, dtype=query.dtype, device=query.device), scores

    ALL_ATTENTION_FUNCTIONS["eager"] = attention
    ALL_MASK_ATTENTION_FUNCTIONS["eager"] = _mask
    try:
        with functions(_without_bias):
            yield
    finally:
        del ALL_ATTENTION_FUNCTIONS["eager"], ALL_MASK_ATTENTION_FUNCTIONS["eager"]


def _count_allowed(mask: Any, shape: Any, known: dict[int, int]) -> int:
    """Return how many scores of a shape a mask allows; ``known``: those of the mask, by number of keys."""
    import torch

    if mask.is_meta:
        raise ValueError("the model makes a custom mask")
    mask = mask[..., : shape[-1]]
    if shape[-1] not in known:
        allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
        known[shape[-1]] = int(allowed.sum())
    repeats: int = mask.expand(shape).numel() // mask.numel()  # an error if the shapes do not fit
    return known[shape[-1]] * repeats


def _mask(*sizes: Any, attention_mask: Any = None, device: Any = None, dtype: Any = None, **how: Any) -> Any:
    """Return transformers' mask for eager attention, on the CPU; numbers of padded positions are 0."""
    import torch
    from transformers.masking_utils import eager_mask

    def without_padding(value: Any) -> Any:
        is_padding = isinstance(value, torch.Tensor) and value.is_meta and value.ndim == 1
        if not is_padding or value.is_floating_point():
            return value
        return torch.zeros(value.shape, dtype=value.dtype, device="cpu")

    with functions(lambda function, args, kwargs: function(*map(without_padding, args), **kwargs)):
        return eager_mask(*sizes, device="cpu", dtype=torch.float32, **how)


def _without_bias(function: Any, args: Any, kwargs: Any) -> Any:
    """Leave a mask unchanged when a bias per head is added to it, as in T5."""
    from torch import Tensor

    added = getattr(function, "__name__", "") in ("add", "__add__", "__radd__", "add_", "__iadd__")
    if added and all(isinstance(one, Tensor) and one.ndim == 4 for one in args):
        for mask, bias in (args, args[::-1]):
            if not mask.is_meta and bias.is_meta and mask.shape[1] == 1 < bias.shape[1]:
                return mask
    return function(*args, **kwargs)
