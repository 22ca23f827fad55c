"""archspec: parameter counts of model architectures, exact and in closed form, from configs.

The names below are the public interface; docs/ says how the parts fit together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from archspec.errors import ArchspecError
from archspec.models.model import Model, architectures, formula, load
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.tree.tensors import Tensor

if TYPE_CHECKING:
    from archspec.models.formula import Formula
    from archspec.solving.solve import Solution, solve
    from archspec.sweeping.sweep import Sweep, sweep

__all__ = [
    "TRANSFORMERS_VERSION",
    "ArchspecError",
    "Formula",
    "Model",
    "Solution",
    "Sweep",
    "Tensor",
    "architectures",
    "formula",
    "load",
    "solve",
    "sweep",
]
__version__ = "0.1.0"

_LAZY = {
    "Formula": "archspec.models.formula",
    "Solution": "archspec.solving.solve",
    "Sweep": "archspec.sweeping.sweep",
    "solve": "archspec.solving.solve",
    "sweep": "archspec.sweeping.sweep",
}


def __getattr__(name: str) -> object:
    """What needs SymPy or NumPy, which a count must not pay for."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'archspec' has no attribute {name!r}")
