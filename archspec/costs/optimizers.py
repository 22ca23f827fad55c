"""What an optimizer keeps for each parameter that it trains, from formulas/optimizers.json.

Of every optimizer the file says in which dtype gradients are added up, whether there is a copy of 16-bit
weights, which states there are, and where that can be read. Counters of steps, which are kept on the CPU, are
left out.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import prod

from archspec.errors import ArchspecError, did_you_mean
from archspec.formats.dtypes import dtype_bytes
from archspec.specs.files import folder
from archspec.tree.tensors import Tensor
from archspec.typing_light import NamedTuple

OPTIMIZERS = "optimizers.json"
STAGES = ("optimizer", "gradients", "weights")  # what ZeRO's stages 1, 2 and 3 share out, one more each
_LAYER = re.compile(r"(.*\.(?:layers|blocks)\.\d+|.*?\.\d+)\.")  # names of what is inside a layer
_BY_TENSOR = ("blocks", "rows and columns", "scalar")  # states that are not of a dtype, an element each
_BLOCK, _SMALL, _TABLE = 256, 4096, 256 * 4  # of bitsandbytes: elements a scale, elements in float32, levels
_FLOAT = 4


class Optimizer(NamedTuple):
    """One entry of the file; ``copy`` and ``gradients`` are dtypes, or `weights` for that of the weights."""

    name: str
    about: str
    gradients: str
    copy: str | None
    states: dict[str, str]
    source: str

    @property
    def by_element(self) -> bool:
        """Whether each state has an element for each of the parameter's: any part can be kept apart."""
        return not any(state in _BY_TENSOR for state in self.states.values())

    def copied(self, dtype: str) -> str | None:
        """The dtype of the copy of weights in a dtype; None where these are as wide, or there is none."""
        wider = self.copy is not None and dtype_bytes(self.copy) > dtype_bytes(dtype)
        return self.copy if wider else None

    def state_bytes(self, state: str, tensors: list[Tensor]) -> int:
        """Bytes of one state that is not of an element each, of all tensors that are trained."""
        kind = self.states[state]
        if kind == "blocks":
            return _blocks([tensor.numel for tensor in tensors])
        return sum(map(_factored, tensors)) if kind == "rows and columns" else _FLOAT * len(tensors)


def _blocks(numels: list[int]) -> int:
    """A byte an element and a float32 for each 256, with one table of levels; small tensors in float32."""
    large = [numel for numel in numels if numel >= _SMALL]
    small = sum(numel for numel in numels if numel < _SMALL)
    scales = sum(-(-numel // _BLOCK) for numel in large)
    return sum(large) + _FLOAT * (scales + small) + (_TABLE if large else 0)


def _factored(tensor: Tensor) -> int:
    """A float32 for each row and each column of a matrix, for each element of a vector."""
    if len(tensor.shape) < 2:
        return _FLOAT * tensor.numel
    *outer, rows, columns = tensor.shape
    return _FLOAT * prod(outer) * (rows + columns)


@cache
def optimizers() -> dict[str, Optimizer]:
    """Every optimizer by its name."""
    with open(os.path.join(folder(), OPTIMIZERS), encoding="utf-8") as file:
        return {name: Optimizer(name, **entry) for name, entry in json.load(file).items()}


def optimizer_named(name: str) -> Optimizer:
    """An optimizer by its name. Errors: :class:`ArchspecError` for one that the file does not have.

    >>> optimizer_named("adamw").states
    {'momentum': 'float32', 'variance': 'float32'}
    """
    known = optimizers()
    if not isinstance(name, str):
        raise ArchspecError(f"{name!r} is no optimizer's name", help=f"known: {', '.join(known)}")
    if name not in known:
        help_ = did_you_mean(str(name), known) or f"known: {', '.join(known)}"
        raise ArchspecError(f"{name} is no optimizer that is described", help=help_)
    return known[name]


def check_zero(zero: int, data: int, experts: int) -> None:
    """Errors: :class:`ArchspecError` for a stage of ZeRO that does not exist, or numbers without effect.

    ``data`` and ``experts`` are numbers of ranks.
    """
    if type(zero) is not int or not 0 <= zero <= len(STAGES):
        raise ArchspecError(f"zero is {zero!r}", help="ZeRO's stages are 0, 1, 2 and 3")
    if zero and data == 1:
        raise ArchspecError("zero has no effect with data_parallel=1", help="give data_parallel, or no zero")
    if data > 1 and not zero and experts == 1:
        message = "data_parallel has no effect on the memory of a rank without zero"
        raise ArchspecError(message, help="give zero (1, 2 or 3), or leave out data_parallel")


def largest_unit(sizes: Iterable[tuple[str, int]]) -> int:
    """Elements, or bytes, of the largest layer, or module outside of layers, from those of parameters.

    It is the least that ZeRO's stage 3 gathers at once.

    >>> largest_unit([("wte.weight", 9), ("h.0.fc.weight", 4), ("h.0.fc.bias", 2), ("h.1.fc.weight", 4)])
    9
    """
    units = Counter[str]()
    for name, elements in sizes:
        layer = _LAYER.match(name)
        units[layer[1] if layer else name.rpartition(".")[0]] += elements
    return max(units.values(), default=0)
