"""The memory of a rank that does not depend on a call: weights, gradients and optimizer states."""

from __future__ import annotations

from collections.abc import Iterator

from archspec.costs.optimizers import STAGES, Optimizer, largest_unit
from archspec.costs.parallel import Part, Ranks
from archspec.costs.records import Row
from archspec.formats.dtypes import dtype_bytes
from archspec.typing_light import NamedTuple

KEPT = " kept in float32"  # ends the names of rows of parameters that stay in float32
_WEIGHTS = "weights"  # in place of a dtype: that of the weight itself


class States(NamedTuple):
    """Makes the rows of a training report; ``float32`` are the names of weights that stay in float32.

    ``zero`` is ZeRO's stage, which decides what is divided over the data-parallel ranks.
    """

    optimizer: Optimizer
    dtype: str
    float32: frozenset[str]
    ranks: Ranks
    zero: int

    def rows(self, parts: list[Part]) -> dict[str, Row]:
        """Rows of weights, gradients and states by their names, of the parts that a rank has."""
        trained = [part for part in parts if part.tensor.trainable]
        found = [*self._typed_rows("weights", _WEIGHTS, parts, "weights")]
        found += self._typed_rows("gradients", self.optimizer.gradients, trained, "gradients")
        if (copy := self.optimizer.copied(self.dtype)) is not None:
            narrow = [part for part in trained if part.tensor.name not in self.float32]
            found.append(self._row("copy of the weights", copy, narrow, "optimizer"))
        for state, kind in self.optimizer.states.items():
            if self.optimizer.by_element:
                found += self._typed_rows(state, kind, trained, "optimizer")
            else:
                size = self.optimizer.state_bytes(state, [part.tensor for part in trained])
                found.append(Row(state, kind, None, 1, size))
        return {row.name: row for row in found}

    def gathered(self, parts: list[Part]) -> list[Row]:
        """The largest layer, or module outside of layers, that ZeRO's stage 3 gathers; empty without it."""
        if self.zero < len(STAGES) or self.ranks.data == 1:
            return []
        alone = self.ranks.data * self.ranks.tensor == self.ranks.expert  # each expert is on one rank
        whole = [one for one in parts if not (one.expert and alone)]
        most = largest_unit((one.tensor.name, one.numel) for one in whole)
        nbytes = largest_unit((one.tensor.name, one.numel * self._element_bytes(one)) for one in whole)
        return [Row("gathered weights", self.dtype, most, 1, nbytes)]

    def _element_bytes(self, part: Part) -> int:
        return dtype_bytes("float32" if part.tensor.name in self.float32 else self.dtype)

    def _typed_rows(self, name: str, dtype: str, parts: list[Part], kind: str) -> Iterator[Row]:
        """One row; a second one if the dtype is that of each weight and some weights stay in float32."""
        kept = [part for part in parts if part.tensor.name in self.float32]
        if dtype != _WEIGHTS or not kept:
            yield self._row(name, self.dtype if dtype == _WEIGHTS else dtype, parts, kind)
            return
        others = [part for part in parts if part.tensor.name not in self.float32]
        yield self._row(name, self.dtype, others, kind)
        yield self._row(f"{name}{KEPT}", "float32", kept, kind)

    def _row(self, name: str, dtype: str, parts: list[Part], kind: str) -> Row:
        """A part of as many elements; experts have fewer ranks that hold the same, to share them out."""
        share = self.ranks.data if STAGES.index(kind) < self.zero else 1
        alike = share * self.ranks.tensor // self.ranks.expert if share > 1 else 1
        experts = sum(part.numel for part in parts if part.expert)
        others = sum(part.numel for part in parts if not part.expert)
        own = -(-others // share) + -(-experts // alike)
        return Row(name, dtype, own, share, own * dtype_bytes(dtype))
