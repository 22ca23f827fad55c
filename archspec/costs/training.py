"""What one training step costs a rank: FLOPs; bytes of weights, gradients, optimizer and activations."""

from __future__ import annotations

from functools import cached_property

from archspec.configs.scope import Scope
from archspec.costs.activations import Activations, RankActivations, checkpointed
from archspec.costs.forward import Forward, held_to_transformers, total
from archspec.costs.lengths import check_lengths
from archspec.costs.optimizers import optimizer_named
from archspec.costs.parallel import Part, Ranks, Shares, held_step, stages
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.tree.builder import Builder
from archspec.tree.counts import dtype_bytes, dtype_name
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any, NamedTuple

DTYPES = ("float32", "bfloat16", "float16")  # of weights that are trained
STAGES = ("optimizer", "gradients", "weights")  # what ZeRO's stages 1, 2 and 3 share out, one more each
ATTENTION = ("flash", "eager")


class Row(NamedTuple):
    """One row of where the memory of a rank goes; ``shared_by`` is how many ranks of data share it out."""

    name: str
    dtype: str
    elements: int | None
    shared_by: int
    bytes: int


class TrainingStep:
    """One step of training on one rank, made by :meth:`archspec.Model.training`.

    A rank computes ``batch`` sequences of ``tokens`` positions (and ``memory`` of an encoder) of an
    ``architecture`` at the config of ``scope``, with an ``optimizer``, the code of ``attention``, and layers
    computed again where ``checkpointing`` is set. Weights are all parameters, in ``dtype``;
    those with requires_grad have a gradient and the optimizer's states. Gradients are of their dtype, as
    torch makes them; `adamw_megatron` adds them up in float32. Where 16-bit weights have a copy in float32,
    it counts with the optimizer. ZeRO's stages share out the optimizer's part (1), gradients (2) and weights
    (3) over ``data_parallel`` ranks: of n elements a rank has n / ranks, rounded up. Left out are buffers,
    the whole weights that stage 3 gathers for a layer at a time, and what libraries set aside for themselves.

    ``tensor_parallel`` and ``expert_parallel`` cut parameters as transformers' plans do, and
    ``pipeline_parallel`` shares out layers as it does; figures are of :attr:`stage`. There ``batch`` is a
    micro-batch, of which a stage keeps one for each stage from it to the last.
    Ranks of experts are among those of data and tensors: ZeRO finds each expert on as many fewer. ``ranks``
    are how many there are of each kind, ``zero`` is ZeRO's stage.

    Errors: :class:`ArchspecError` where transformers does not share out the class so.
    """

    def __init__(
        self,
        scope: Scope,
        architecture: str,
        tensors: list[Tensor],
        batch: int,
        tokens: int,
        memory: int | None = None,
        *,
        dtype: str = "bfloat16",
        optimizer: str = "adamw",
        attention: str = "flash",
        checkpointing: bool = False,
        data_parallel: int = 1,
        zero: int = 0,
        tensor_parallel: int = 1,
        pipeline_parallel: int = 1,
        sequence_parallel: bool = False,
        expert_parallel: int = 1,
    ) -> None:
        self.scope, self.architecture = scope, architecture
        self.batch, self.tokens, self.memory = batch, tokens, memory
        self.dtype, self.optimizer = dtype_name(dtype), optimizer_named(optimizer)
        self.attention, self.checkpointing = attention, checkpointing
        self.data_parallel, self.zero = data_parallel, zero
        if self.dtype not in DTYPES:
            raise ArchspecError(f"weights in {dtype} are not trained", help=f"known: {', '.join(DTYPES)}")
        if attention not in ATTENTION:
            raise ArchspecError(f"{attention} is no attention", help=f"known: {', '.join(ATTENTION)}")
        _positive(batch=batch, tokens=tokens, data_parallel=data_parallel)
        _positive(memory=1 if memory in (None, 0) else memory)
        _positive(tensor_parallel=tensor_parallel, pipeline_parallel=pipeline_parallel)
        _positive(expert_parallel=expert_parallel)
        self.ranks = Ranks(tensor_parallel, pipeline_parallel, expert_parallel, data_parallel)
        if sequence_parallel:
            message = "sequence_parallel: what a rank keeps of its positions is not described"
            raise ArchspecError(message, help="transformers has none; tensor_parallel is described")
        self._check_shares()
        check_lengths(scope, architecture, Call(batch, tokens, 0, memory or 0))
        self._tensors = tensors
        self._stages = stages(scope, architecture, tensors, self.ranks)

    def _check_shares(self) -> None:
        if type(self.zero) is not int or not 0 <= self.zero <= len(STAGES):
            raise ArchspecError(f"zero is {self.zero!r}", help="ZeRO's stages are 0, 1, 2 and 3")
        if (self.zero or self.ranks.cut) and not self.optimizer.by_element:
            message = f"the states of {self.optimizer.name} are not of an element each, and not shared out"
            raise ArchspecError(message, help="another optimizer, or data_parallel without zero")

    @property
    def _whole(self) -> bool:
        return not self.ranks.cut and self.ranks.pipeline == 1

    @cached_property
    def stage(self) -> int:
        """Of the stages of layers the one that needs most bytes, which all figures are of; 0 is the first.

        Where activations are not described, it is the one with most of the others.
        """
        states = [sum(row.bytes for row in self._rows_of(parts).values()) for parts in self._stages]
        if len(states) == 1:
            return 0
        try:
            kept = [sum(found) for found in self._kept]
        except ArchspecError:
            kept = [0 for _ in states]
        totals = [sum(both) for both in zip(states, kept, strict=True)]
        return totals.index(max(totals))

    def _shares(self, stage: int) -> Shares:
        tree = Builder(self.scope).build(self.architecture)
        return Shares(tree, self._tensors, self.ranks._replace(stage=stage))

    @cached_property
    def flops(self) -> int:
        """FLOPs of the call and of its gradients, of this rank's sequences, without what is computed again.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").training(batch=1, tokens=4096).flops
        188763812659200
        """
        held_to_transformers(self.scope, self.architecture)
        call = Forward(self.scope, self.architecture, self.batch, self.tokens, 0, self.memory)
        if self._whole:
            return call.training_flops
        call.check_trained()
        held_step(self.scope.spec.model_type, self.architecture, self.ranks, "FLOPs")
        shares = self._shares(self.stage)
        return sum(
            shares.flops(path, flops)
            for path, flops in call.step_flops_by_module.items()
            if shares.here(path)
        )

    @cached_property
    def recomputed_flops(self) -> int:
        """With checkpointing, FLOPs of the layers that are run again, whole; 0 without.

        torch may stop short of the last Linear of a layer, where nothing that it gives is kept.
        """
        if not self.checkpointing:
            return 0
        if not self._whole:
            raise ArchspecError("what a rank of a part of the model computes again is not described")
        layers = list(checkpointed(self.activations.tree))
        if not layers:
            raise ArchspecError(f"which layers of {self.architecture} are run again is not described")
        return sum(int(total(layer).flops) for _, layer in layers)

    @property
    def weights_bytes(self) -> int:
        """Bytes of the weights on a rank."""
        return self._rows["weights"].bytes

    @property
    def gradients_bytes(self) -> int:
        """Bytes of the gradients on a rank."""
        return self._rows["gradients"].bytes

    @property
    def optimizer_bytes(self) -> int:
        """Bytes of the optimizer's states and of its copy of the weights on a rank."""
        others = (row for name, row in self._rows.items() if name not in ("weights", "gradients"))
        return sum(row.bytes for row in others)

    @cached_property
    def activations(self) -> Activations:
        """What the whole model keeps for the backward: see :class:`archspec.costs.activations.Activations`.

        Errors: :class:`ArchspecError` for a class whose activations are not described.
        """
        return Activations(
            self.scope,
            self.architecture,
            self.batch,
            self.tokens,
            self.memory,
            dtype=self.dtype,
            attention=self.attention,
            checkpointing=self.checkpointing,
        )

    @property
    def activation_bytes(self) -> int:
        """Bytes that are kept for the backward on a rank."""
        return self._kept[self.stage][0]

    @cached_property
    def _kept(self) -> list[tuple[int, int]]:
        """By stage what is kept, a batch for each stage from it to the last, and what is kept again."""
        whole = self.activations
        if self._whole:
            return [(int(whole.bytes), int(whole.recomputed_bytes))]
        for kind in {self.attention, whole.step.kind}:  # layers that are run again keep what they do without
            held_step(self.scope.spec.model_type, self.architecture, self.ranks, kind)
        found = []
        for stage in range(self.ranks.pipeline):
            rank = RankActivations(whole, self._shares(stage))
            found.append((rank.bytes * (self.ranks.pipeline - stage), rank.recomputed_bytes))
        return found

    @property
    def total_bytes(self) -> int:
        """The sum of :attr:`table`; with checkpointing what a layer keeps as it is run again is in it."""
        return sum(row.bytes for row in self.table)

    @property
    def states(self) -> list[Row]:
        """Weights, gradients and what the optimizer keeps."""
        return list(self._rows.values())

    @property
    def table(self) -> list[Row]:
        """Where the memory of a rank goes: :attr:`states`, then activations."""
        rows = [*self.states, Row("activations", self.dtype, None, 1, self.activation_bytes)]
        again = self._kept[self.stage][1]
        return [*rows, *([Row("computed again", self.dtype, None, 1, again)] if again else [])]

    @cached_property
    def _rows(self) -> dict[str, Row]:
        return self._rows_of(self._stages[self.stage])

    def _rows_of(self, parts: list[Part]) -> dict[str, Row]:
        trained = [part for part in parts if part.tensor.trainable]
        gradients = self._dtype(self.optimizer.gradients)
        found = [
            self._row("weights", self.dtype, parts, "weights"),
            self._row("gradients", gradients, trained, "gradients"),
        ]
        if (copy := self.optimizer.copied(self.dtype)) is not None:
            found.append(self._row("copy of the weights", copy, trained, "optimizer"))
        for state, kind in self.optimizer.states.items():
            if self.optimizer.by_element:
                found.append(self._row(state, self._dtype(kind), trained, "optimizer"))
            else:
                size = self.optimizer.state_bytes(state, [part.tensor for part in trained])
                found.append(Row(state, kind, None, 1, size))
        return {row.name: row for row in found}

    def _dtype(self, name: str) -> str:
        return self.dtype if name == "weights" else name

    def _row(self, name: str, dtype: str, parts: list[Part], kind: str) -> Row:
        """A part of as many elements; experts have fewer ranks that hold the same, to share them out."""
        share = self.data_parallel if STAGES.index(kind) < self.zero else 1
        alike = share * self.ranks.tensor // self.ranks.expert if share > 1 else 1
        experts = sum(part.numel for part in parts if part.expert)
        others = sum(part.numel for part in parts if not part.expert)
        own = -(-others // share) + -(-experts // alike)
        return Row(name, dtype, own, share, own * dtype_bytes(dtype))


def _positive(**given: Any) -> None:
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise ArchspecError(f"{name} is {value!r}", help="give an integer of at least 1")
