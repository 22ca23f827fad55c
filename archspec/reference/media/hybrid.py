"""A model without weights on inputs with values: its floats are on meta, the inputs and integers on the CPU.

Grids, lengths, masks and token ids then decide as for real, at any size of model, and nothing is multiplied.
What needs the value of a float that depends on a weight raises an exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from archspec.reference.meta import functions, operations

_MASKS = ("aten::index", "aten::index_put", "aten::index_put_", "aten::_unsafe_index")


@contextmanager
def hybrid() -> Iterator[None]:
    """Run operations on the CPU if all their inputs are there, else on meta."""
    with ExitStack() as stack:
        stack.enter_context(functions(_keep_values))
        stack.enter_context(operations(_run))
        yield


def _keep_values(function: Any, args: Any, kwargs: Any) -> Any:
    """Make tensors of numbers on the CPU, and leave there those that move to meta: a mode does not see it."""
    import torch

    if function is torch.Tensor.to and not args[0].is_meta:
        args = tuple("cpu" if _is_device(one) and _is_meta(one) else one for one in args)
        kwargs = {**kwargs, "device": "cpu"} if _is_meta(kwargs.get("device")) else kwargs

    if function in (torch.tensor, torch.as_tensor) and _is_meta(kwargs.get("device")):
        kwargs = {**kwargs, "device": "cpu"}
    return function(*args, **kwargs)


def _is_device(argument: Any) -> bool:
    import torch

    return isinstance(argument, str | torch.device)


def _is_meta(device: Any) -> bool:
    import torch

    return device is not None and torch.device(device).type == "meta"


def _run(function: Any, args: Any, kwargs: Any) -> Any:
    import torch
    from torch.utils._pytree import tree_leaves, tree_map_only

    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    on_meta = [tensor.is_meta for tensor in tensors]
    if tensors and all(on_meta) and kwargs.get("device") is None:
        return function(*args, **kwargs)
    if not any(on_meta):
        if function is torch.ops.aten._to_copy.default and _stays(args[0], kwargs):
            return torch.ops.aten.alias(args[0])
        if _is_meta(kwargs.get("device")) and (tensors or _makes_integers(function, args, kwargs)):
            kwargs = {**kwargs, "device": torch.device("cpu")}
        return function(*args, **kwargs)
    _check_written(function, args, kwargs)
    if function._schema.name in _MASKS:
        args = (args[0], _positions(args[1]), *args[2:])
    if function is torch.ops.aten.masked_select.default:
        chosen = args[1].expand(torch.broadcast_shapes(args[0].shape, args[1].shape))
        return args[0].new_empty(int(chosen.sum()))
    if function in (torch.ops.aten.masked_scatter.default, torch.ops.aten.masked_scatter_.default):
        chosen = args[1].expand(torch.broadcast_shapes(args[0].shape, args[1].shape))
        if int(chosen.sum()) != args[2].numel():
            raise ValueError("there are more or fewer placeholders than features")
    args, kwargs = tree_map_only(torch.Tensor, lambda tensor: tensor.to("meta"), (args, kwargs))
    if kwargs.get("device") is not None:
        kwargs["device"] = torch.device("meta")
    return function(*args, **kwargs)


def _stays(tensor: Any, asked: Any) -> bool:
    """Return True for a copy to the model's device, on which a real input already is."""
    return _is_meta(asked.get("device")) and asked.get("dtype") in (None, tensor.dtype)


def _makes_integers(function: Any, args: Any, kwargs: Any) -> bool:
    """Return True if a new tensor, which is made of no other, has integers or bools."""
    dtype = kwargs.get("dtype")
    if dtype is not None:
        return not (dtype.is_floating_point or dtype.is_complex)
    return "arange" in function._schema.name and all(isinstance(one, int) for one in args)


def _check_written(function: Any, args: Any, kwargs: Any) -> None:
    """Raise ValueError if a tensor with values gets some that are not known."""
    import torch

    for place, argument in enumerate(function._schema.arguments):
        given = kwargs.get(argument.name, args[place] if place < len(args) else None)
        written = argument.alias_info is not None and argument.alias_info.is_write
        if written and isinstance(given, torch.Tensor) and not given.is_meta:
            raise ValueError(f"{function} writes unknown values")


def _positions(index: Any) -> list[Any]:
    """Return an index with positions instead of masks."""
    import torch

    found: list[Any] = []
    for one in index:
        if isinstance(one, torch.Tensor) and one.dtype in (torch.bool, torch.uint8):
            found += one.nonzero(as_tuple=True)
        else:
            found.append(one)
    return found
