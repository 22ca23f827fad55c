"""Slow parts of constructors that are skipped: they change neither names, shapes nor refusals.

Without them verify takes a third longer: torch's layers fill their tensors although meta tensors have no
values, and some tables are computed number by number in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

Function = Callable[..., Any]


class Shortcut(NamedTuple):
    """A function by its module, its class if it has one, and its name; what makes the short one of it."""

    module: str
    owner: str
    name: str
    short: Callable[[Function], Function]


def _nothing(whole: Function) -> Function:
    """Skip a function that refuses nothing."""
    return lambda self: None


def _unless(
    could_refuse: Callable[[Any, tuple[Any, ...], dict[str, Any]], bool],
) -> Callable[[Function], Function]:
    """Skip the filling of a tensor, unless the call could refuse its arguments."""

    def short(whole: Function) -> Function:
        def fill(tensor: Any, *args: Any, **options: Any) -> Any:
            return whole(tensor, *args, **options) if could_refuse(tensor, args, options) else tensor

        return fill

    return short


def _corner(whole: Function) -> Function:
    """Compute only a corner of a table: it refuses what the whole table would, which takes a second."""
    return lambda rows, columns: whole(min(rows, 2), min(columns, 2)).new_empty(1, rows, columns)


# None of these refuses the arguments that torch's own layers call it with.
_matrix = _unless(lambda tensor, args, options: tensor.ndim < 2 or bool(args) or {*options} != {"a"})
_bounds = _unless(
    lambda tensor, args, options: bool(options) or any(type(bound) is not float for bound in args)
)
_plain = _unless(lambda tensor, args, options: bool(args or options))
_truncated = _unless(  # args: mean, standard deviation, which it divides by, and bounds
    lambda tensor, args, options: bool(options) or any(type(one) is not float for one in args) or args[1] <= 0
)

SHORTCUTS = (
    Shortcut("torch.nn", "Linear", "reset_parameters", _nothing),
    Shortcut("torch.nn.init", "", "kaiming_uniform_", _matrix),
    Shortcut("torch.nn.init", "", "uniform_", _bounds),
    Shortcut("torch.nn.init", "", "normal_", _plain),
    Shortcut("torch.nn.init", "", "ones_", _plain),
    Shortcut("torch.nn.init", "", "zeros_", _plain),
    Shortcut("timm.layers.weight_init", "", "_trunc_normal_", _truncated),
    Shortcut("transformers.models.videomae.modeling_videomae", "", "get_sinusoid_encoding_table", _corner),
)


@contextmanager
def shortcuts() -> Iterator[None]:
    """Within it the functions of :data:`SHORTCUTS` are the short ones, in the modules that are imported."""
    replaced: list[tuple[Any, str, Function]] = []
    try:
        for shortcut in SHORTCUTS:
            module: Any = sys.modules.get(shortcut.module)
            if module is not None:
                owner = getattr(module, shortcut.owner) if shortcut.owner else module
                whole = getattr(owner, shortcut.name)
                replaced.append((owner, shortcut.name, whole))
                setattr(owner, shortcut.name, shortcut.short(whole))
        yield
    finally:
        for owner, name, whole in replaced:
            setattr(owner, name, whole)
