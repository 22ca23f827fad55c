"""Slow parts of constructors that are skipped: they change neither names, shapes nor refusals.

Without them verify takes a third longer: torch's layers fill their tensors although meta tensors are without
values, and some tables are computed number by number in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_Function = Callable[..., Any]


def _skip_unless(could_refuse: Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]) -> Any:
    """Skip the filling of a tensor, unless the call could refuse its arguments."""

    def shorten(whole: _Function) -> _Function:
        def fill(tensor: Any, *args: Any, **options: Any) -> Any:
            return whole(tensor, *args, **options) if could_refuse(tensor, args, options) else tensor

        return fill

    return shorten


def _compute_corner(whole: _Function) -> _Function:
    """Compute only a corner of a table: it refuses what the whole table would, which takes a second."""
    return lambda rows, columns: whole(min(rows, 2), min(columns, 2)).new_empty(1, rows, columns)


def _are_floats(args: tuple[Any, ...]) -> bool:
    return all(type(one) is float for one in args)


# The functions are skipped with the arguments that torch's own layers use, which they never refuse.
_plain = _skip_unless(lambda tensor, args, options: bool(args or options))
_SHORTCUTS: tuple[tuple[str, str, Callable[[_Function], _Function]], ...] = (  # module, function, short one
    ("torch.nn", "Linear.reset_parameters", lambda whole: lambda self: None),
    (
        "torch.nn.init",
        "kaiming_uniform_",
        _skip_unless(lambda tensor, args, options: tensor.ndim < 2 or bool(args) or {*options} != {"a"}),
    ),
    (
        "torch.nn.init",
        "uniform_",
        _skip_unless(lambda _, args, options: bool(options) or not _are_floats(args)),
    ),
    ("torch.nn.init", "normal_", _plain),
    ("torch.nn.init", "ones_", _plain),
    ("torch.nn.init", "zeros_", _plain),
    (
        "timm.layers.weight_init",  # mean, standard deviation, which it divides by, and bounds
        "_trunc_normal_",
        _skip_unless(lambda _, args, options: bool(options) or not _are_floats(args) or args[1] <= 0),
    ),
    ("transformers.models.videomae.modeling_videomae", "get_sinusoid_encoding_table", _compute_corner),
)


@contextmanager
def shorten_functions() -> Iterator[None]:
    """Replace the slow functions of the modules that are imported by short ones."""
    with ExitStack() as stack:
        for module, path, short in _SHORTCUTS:
            if (owner := sys.modules.get(module)) is None:
                continue
            *owners, name = path.split(".")
            target: Any = getattr(owner, owners[0]) if owners else owner
            whole = getattr(target, name)
            stack.callback(setattr, target, name, whole)
            setattr(target, name, short(whole))
        yield
