"""Stand-ins for packages that a model's module imports, and its constructor does not call.

timm imports torchvision for transforms and data sets of training; from PyPI torchvision does not load with a
CPU build of torch. natten has the kernels of Dinat's attention. torchaudio resamples the input of Higgs
Audio's tokenizer. A stand-in has an empty class for every name.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import MutableSequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_NAMES = ("natten", "torchaudio", "torchvision")
_VERSION = "0.0"  # older than any that transformers asks for


def stand_in() -> None:
    """Let transformers' modules be imported without these packages; an installed one is not replaced."""
    missing = [name for name in _NAMES if not importlib.util.find_spec(name)]
    if "torchvision" in missing and not importlib.util.find_spec("timm"):
        missing.remove("torchvision")  # transformers would use it
    if missing:
        sys.meta_path.append(_Finder(missing))


class _Anything(type):
    """A class with every attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class _Module(ModuleType):
    """A module with every class; timm compares the type of one of them with torch's."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 (a package without files)
    __version__ = _VERSION

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _frozen_batch_norm() if name == "FrozenBatchNorm2d" else _Anything(name, (), {})
        setattr(self, name, found)
        return found


def _frozen_batch_norm() -> type:
    """Return torchvision.ops.misc.FrozenBatchNorm2d: four buffers, without a count of batches."""
    import torch

    def construct(self: Any, num_features: int, eps: float = 1e-5) -> None:
        torch.nn.Module.__init__(self)
        for name, fill in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((num_features,), fill))

    return type("FrozenBatchNorm2d", (torch.nn.Module,), {"__init__": construct})


class _Finder(MetaPathFinder, Loader):
    def __init__(self, names: list[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        own = fullname.partition(".")[0] in self.names
        return ModuleSpec(fullname, self, is_package=True) if own else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stand-in has no code to execute."""
