"""archspec: parameter counts of model architectures, exact and in closed form, from configs.

The names below are the public interface; docs/ says how the parts fit together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from archspec.errors import ArchspecError
from archspec.model import Model, architectures, formula, load
from archspec.tensors import Tensor

if TYPE_CHECKING:
    from archspec.budgets import Solution, solve
    from archspec.closed_form import Formula
    from archspec.sweeps import Sweep, sweep

__all__ = [
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
TRANSFORMERS_VERSION = "5.23.0"

_LAZY = {
    "Formula": "archspec.closed_form",
    "Solution": "archspec.budgets",
    "Sweep": "archspec.sweeps",
    "solve": "archspec.budgets",
    "sweep": "archspec.sweeps",
}


def __getattr__(name: str) -> object:
    """What needs SymPy or NumPy, which a count must not pay for."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'archspec' has no attribute {name!r}")
