"""archspec: parameter counts of model architectures, exact and in closed form, from configs.

The names below are the public interface; docs/ says how the parts fit together. Each is imported when it is
first asked for: a count must not pay for SymPy or NumPy.
"""

from __future__ import annotations

from archspec.typing_light import TYPE_CHECKING

if TYPE_CHECKING:
    from archspec.compare.diff import Diff as Diff
    from archspec.compare.diff import diff as diff
    from archspec.costs.forward import CacheTensor as CacheTensor
    from archspec.costs.forward import Forward as Forward
    from archspec.costs.training import Training as Training
    from archspec.costs.weights import Weights as Weights
    from archspec.errors import ArchspecError as ArchspecError
    from archspec.models.formula import Formula as Formula
    from archspec.models.model import Model as Model
    from archspec.models.model import architectures as architectures
    from archspec.models.model import formula as formula
    from archspec.models.model import load as load
    from archspec.solving.solve import Solution as Solution
    from archspec.solving.solve import solve as solve
    from archspec.specs.library import TRANSFORMERS_VERSION as TRANSFORMERS_VERSION
    from archspec.sweeping.sweep import Sweep as Sweep
    from archspec.sweeping.sweep import sweep as sweep
    from archspec.tree.tensors import Tensor as Tensor

__version__ = "0.1.0"
_HOMES = {
    "archspec.compare.diff": ("Diff", "diff"),
    "archspec.costs.forward": ("CacheTensor", "Forward"),
    "archspec.costs.training": ("Training",),
    "archspec.costs.weights": ("Weights",),
    "archspec.errors": ("ArchspecError",),
    "archspec.models.formula": ("Formula",),
    "archspec.models.model": ("Model", "architectures", "formula", "load"),
    "archspec.solving.solve": ("Solution", "solve"),
    "archspec.specs.library": ("TRANSFORMERS_VERSION",),
    "archspec.sweeping.sweep": ("Sweep", "sweep"),
    "archspec.tree.tensors": ("Tensor",),
}
__all__ = [name for names in _HOMES.values() for name in names]


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            globals()[name] = found = getattr(import_module(home), name)
            return found
    raise AttributeError(f"module 'archspec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
