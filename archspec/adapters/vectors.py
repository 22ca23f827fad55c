"""The vectors of IA3 and VeRA adapters, and VeRA's matrices: peft/tuners/ia3/layer.py, peft/tuners/vera."""

from __future__ import annotations

import re

from archspec.adapters.modules import LINEAR, Module
from archspec.adapters.options import Options
from archspec.adapters.targets import is_target

Shapes = dict[str, tuple[int, ...]]


def _widths(module: Module) -> tuple[int, int]:
    """Return the input and the output width of a layer."""
    first, second, *_ = module.weight_shape
    return (first, second) if module.kind == "Conv1D" else (second * module.groups, first)


def vector_shapes(module: Module, options: Options, path: str) -> Shapes:
    """Return the shapes of what an IA3 or VeRA adapter trains in a layer."""
    into, out = _widths(module)
    if options.peft_type == "VERA":
        return {"vera_lambda_b": (out,), "vera_lambda_d": (options.r,)}
    inputs, kernel = options.feedforward_modules or (), module.weight_shape[2:]
    of_input = re.fullmatch(inputs, path) if isinstance(inputs, str) else path.endswith((*inputs,))
    first = (1, into) if of_input else (1, out) if kernel else (out, 1)
    return {"ia3_l": (*first, *(1 for _ in kernel))}


def projections(base: Module, options: Options) -> Shapes:
    """Return the shapes of VeRA's shared matrices, which fit the largest target, by names in files."""
    targets = (module for path, module in base.walk() if path and is_target(options, path))
    widths = [_widths(one) for one in targets if one.kind in LINEAR and not one.differs]
    into, out = (max(sizes) for sizes in zip(*(widths or [(0, 0)]), strict=True))
    return {"base_model.vera_A": (options.r, into), "base_model.vera_B": (out, options.r)}
