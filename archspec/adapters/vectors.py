"""The vectors of IA3 and VeRA adapters, and VeRA's two random matrices, which all layers share.

Source: peft/tuners/ia3/layer.py, peft/tuners/vera/model.py and layer.py.
"""

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
    is_text = isinstance(inputs, str)
    is_input = re.fullmatch(inputs, path) if isinstance(inputs, str) else path.endswith((*inputs,))
    width = into if is_input else out
    return {"ia3_l": (1, width, *(1 for _ in kernel)) if is_input or kernel else (width, 1)}


def projections(base: Module, options: Options) -> Shapes:
    """Return the shapes of VeRA's shared matrices, which fit the largest target, by names in files."""
    targets = [module for path, module in base.walk() if path and is_target(options, path)]
    widths = [_widths(one) for one in targets if one.kind in LINEAR and not one.differs]
    into, out = (max(sizes, default=0) for sizes in zip(*widths)) if widths else (0, 0)
    return {"base_model.vera_A": (options.r, into), "base_model.vera_B": (out, options.r)}
