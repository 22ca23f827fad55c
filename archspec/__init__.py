"""archspec: parameter counts of model architectures, exact and in closed form, from configs.

The names below are the public interface; docs/ says how the parts fit together.
"""

from __future__ import annotations

from archspec.errors import ArchspecError
from archspec.model import Model, architectures, formula, load
from archspec.tensors import Tensor

__all__ = ["ArchspecError", "Formula", "Model", "Tensor", "architectures", "formula", "load"]
__version__ = "0.1.0"
TRANSFORMERS_VERSION = "5.23.0"


def __getattr__(name: str) -> object:
    """`Formula` needs SymPy, which a count must not pay for."""
    if name == "Formula":
        from archspec.closed_form import Formula

        return Formula
    raise AttributeError(f"module 'archspec' has no attribute {name!r}")
