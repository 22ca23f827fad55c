"""The memory of a rank that does not depend on a forward pass: weights, gradients and optimizer states.

formulas/optimizers.json has the dtype in which each optimizer accumulates gradients, its copy of 16-bit
weights, its states, and the source. Step counters are on the CPU and are not included.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import prod

from archspec.costs.training.parallel import Part, Ranks
from archspec.errors import ArchspecError, did_you_mean, option
from archspec.formats.dtypes import dtype_bytes
from archspec.specs.files import read_json
from archspec.tree.tensors import Tensor
from archspec.typing_light import NamedTuple

STAGES = ("optimizer", "gradients", "weights")  # ZeRO's stages 1, 2 and 3 shard one more each
KEPT = " kept in float32"  # ends the names of rows of parameters that stay in float32
_WEIGHTS = "weights"  # as a dtype: that of the weight itself
_LAYER = re.compile(r"(.*\.(?:layers|blocks)\.\d+|.*?\.\d+)\.")  # a module in a layer
_BY_TENSOR = ("blocks", "rows and columns", "scalar")  # states without one element for each parameter
_BLOCK, _SMALL, _TABLE = 256, 4096, 256 * 4  # of bitsandbytes: elements a scale, elements in float32, levels
_FLOAT = 4


class Row(NamedTuple):
    """One row of a rank's training memory, sharded across ``sharded_across`` data-parallel ranks."""

    name: str
    dtype: str
    elements: int | None
    sharded_across: int
    bytes: int


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
        """True if each state has an element for each parameter, so that it can be sharded."""
        return not any(state in _BY_TENSOR for state in self.states.values())


def optimizers() -> dict[str, Optimizer]:
    """Return every optimizer by its name."""
    return {name: Optimizer(name, **entry) for name, entry in read_json("optimizers.json").items()}


def optimizer_named(name: str) -> Optimizer:
    """Return an optimizer by its name. Errors: :class:`ArchspecError` for an unknown one.

    >>> optimizer_named("adamw").states
    {'momentum': 'float32', 'variance': 'float32'}
    """
    known = optimizers()
    if name not in known:
        help_ = did_you_mean(name, known) or f"choose from: {', '.join(known)}"
        raise ArchspecError(f"unknown optimizer {name!r}", help=help_)
    return known[name]


def check_zero(zero: int, data: int, experts: int) -> None:
    """Raise :class:`ArchspecError` for an unknown stage of ZeRO, or numbers of ranks without effect."""
    if type(zero) is not int or not 0 <= zero <= len(STAGES):
        raise ArchspecError(
            f"{option('zero')} must be 0, 1, 2 or 3, not {zero!r}", help="choose 0, 1, 2 or 3"
        )
    if zero and data == 1:
        message = f"{option('zero')} has no effect without {option('data_parallel')}"
        help_ = f"add {option('data_parallel', 8)}, or leave out {option('zero')}"
        raise ArchspecError(message, help=help_)
    if data > 1 and not zero and experts == 1:
        name = option("data_parallel")
        message = f"{name} has no effect on the memory of a rank without {option('zero')}"
        help_ = f"add {option('zero', 1)} (or 2 or 3), or leave out {name}"
        raise ArchspecError(message, help=help_)


class States(NamedTuple):
    """Makes the rows of a training report; ``float32`` are the names of weights that stay in float32.

    ``zero`` is ZeRO's stage, which decides what is divided over the data-parallel ranks.
    """

    optimizer: Optimizer
    dtype: str
    float32: frozenset[str]
    ranks: Ranks
    zero: int

    def rows(self, parts: list[Part]) -> list[Row]:
        """Return rows of weights, gradients and states, of the parts of a rank."""
        optimizer, trained = self.optimizer, [part for part in parts if part.tensor.trainable]
        found = self._typed_rows("weights", _WEIGHTS, parts, "weights")
        found += self._typed_rows("gradients", optimizer.gradients, trained, "gradients")
        if optimizer.copy is not None and dtype_bytes(optimizer.copy) > dtype_bytes(self.dtype):
            narrow = [part for part in trained if part.tensor.name not in self.float32]
            found.append(self._row("master weights", optimizer.copy, narrow, "optimizer"))
        for state, kind in optimizer.states.items():
            if optimizer.by_element:
                found += self._typed_rows(state, kind, trained, "optimizer")
            else:
                size = _state_bytes(kind, [part.tensor for part in trained])
                found.append(Row(state, kind, None, 1, size))
        return found

    def gathered_rows(self, parts: list[Part]) -> list[Row]:
        """Return the largest layer, or module outside of layers, that ZeRO's stage 3 gathers."""
        if self.zero < len(STAGES) or self.ranks.data == 1:
            return []
        alone = self.ranks.data * self.ranks.tensor == self.ranks.expert  # each expert is on one rank
        sizes = {part.tensor.name: part.numel for part in parts if not (part.expert and alone)}
        wide, narrow = dtype_bytes("float32"), dtype_bytes(self.dtype)
        nbytes = {name: size * (wide if name in self.float32 else narrow) for name, size in sizes.items()}
        largest, most = _largest_unit(sizes.items()), _largest_unit(nbytes.items())
        return [Row("gathered weights", self.dtype, largest, 1, most)]

    def _typed_rows(self, name: str, dtype: str, parts: list[Part], kind: str) -> list[Row]:
        """Return one row, and a second one if the dtype is that of the weights and some stay in float32."""
        kept = [part for part in parts if part.tensor.name in self.float32]
        if dtype != _WEIGHTS or not kept:
            return [self._row(name, self.dtype if dtype == _WEIGHTS else dtype, parts, kind)]
        others = [part for part in parts if part.tensor.name not in self.float32]
        return [
            self._row(name, self.dtype, others, kind),
            self._row(f"{name}{KEPT}", "float32", kept, kind),
        ]

    def _row(self, name: str, dtype: str, parts: list[Part], kind: str) -> Row:
        """Return a row of a rank's share; each expert is sharded over fewer ranks."""
        share = self.ranks.data if STAGES.index(kind) < self.zero else 1
        copies = share * self.ranks.tensor // self.ranks.expert if share > 1 else 1
        experts = sum(part.numel for part in parts if part.expert)
        others = sum(part.numel for part in parts if not part.expert)
        own = -(-others // share) + -(-experts // copies)
        return Row(name, dtype, own, share, own * dtype_bytes(dtype))


def _state_bytes(kind: str, tensors: list[Tensor]) -> int:
    if kind == "blocks":  # a float32 for each 256 elements of 8 bits; small tensors are in float32
        large = [tensor.numel for tensor in tensors if tensor.numel >= _SMALL]
        small = sum(tensor.numel for tensor in tensors if tensor.numel < _SMALL)
        scales = sum(-(-numel // _BLOCK) for numel in large)
        return sum(large) + _FLOAT * (scales + small) + (_TABLE if large else 0)
    if kind == "scalar":
        return _FLOAT * len(tensors)
    matrices = [tensor.shape for tensor in tensors if len(tensor.shape) > 1]  # each row and column
    vectors = sum(tensor.numel for tensor in tensors if len(tensor.shape) < 2)
    return _FLOAT * (vectors + sum(prod(shape[:-2]) * (shape[-2] + shape[-1]) for shape in matrices))


def _largest_unit(sizes: Iterable[tuple[str, int]]) -> int:
    """Return the size of the largest layer, or module outside of layers, from sizes of parameters.

    ZeRO's stage 3 gathers at least this at once.

    >>> _largest_unit([("wte.weight", 9), ("h.0.fc.weight", 4), ("h.0.fc.bias", 2), ("h.1.fc.weight", 4)])
    9
    """
    units = Counter[str]()
    for name, elements in sizes:
        layer = _LAYER.match(name)
        units[layer[1] if layer else name.rpartition(".")[0]] += elements
    return max(units.values(), default=0)
