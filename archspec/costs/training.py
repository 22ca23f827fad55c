"""What one training step costs a rank: FLOPs; bytes of weights, gradients, optimizer and activations."""

from __future__ import annotations

from functools import cached_property

from archspec.arguments import TEXT, checked
from archspec.configs.scope import Scope
from archspec.costs.activations import PIPELINE, TENSOR, Activations, RankActivations, checkpointed, loss_gap
from archspec.costs.forward import Forward, held_to_transformers, total
from archspec.costs.lengths import check_lengths, check_memory, check_positive, check_runs
from archspec.costs.optimizers import STAGES, check_zero, optimizer_named
from archspec.costs.parallel import Ranks, Shares, held_step, stages
from archspec.costs.records import EXCLUDED, Call, Row
from archspec.costs.states import KEPT, States
from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_name
from archspec.formats.float32 import kept_in_float32
from archspec.tree.builder import Builder
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor

DTYPES = ("float32", "bfloat16", "float16")  # of weights that are trained
ATTENTION = ("flash", "eager")


class TrainingStep:
    """One step of training on one rank, made by :meth:`archspec.Model.training`.

    A rank computes ``batch`` sequences of ``tokens`` positions (and ``encoder_tokens`` of an encoder) of an
    ``architecture`` at the config of ``scope``, with an ``optimizer``, the code of ``attention``, and layers
    computed again where ``checkpointing`` is set. Weights are all parameters, in ``dtype``;
    those with requires_grad have a gradient and the optimizer's states. Gradients are of their dtype, as
    torch makes them; `adamw_megatron` adds them up in float32. Where 16-bit weights have a copy in float32,
    it counts with the optimizer. ZeRO's stages share out the optimizer's part (1), gradients (2) and weights
    (3) over ``data_parallel`` ranks: of n elements a rank has n / ranks, rounded up. Stage 3 gathers whole
    weights; the largest layer, or module outside of layers, is counted. ``excluded`` lists what is not
    counted, so ``total_bytes`` is a lower bound. Gradients are counted next to all activations, as they are
    when a step accumulates gradients.

    ``tensor_parallel`` and ``expert_parallel`` cut parameters as transformers' plans do, and
    ``pipeline_parallel`` shares out layers as it does; figures are of :attr:`stage`. There ``batch`` is a
    micro-batch, of which a stage keeps one for each stage from it to the last.
    Ranks of experts are among those of data and tensors: ZeRO finds each expert on as many fewer. ``ranks``
    are how many there are of each kind, ``zero`` is ZeRO's stage.

    Errors: :class:`ArchspecError` where transformers does not share out the class so.
    """

    @checked(dtype=TEXT)
    def __init__(
        self,
        scope: Scope,
        architecture: str,
        tensors: list[Tensor],
        batch: int,
        tokens: int,
        encoder_tokens: int | None = None,
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
        self.batch, self.tokens, self.encoder_tokens = batch, tokens, encoder_tokens
        self.dtype, self.optimizer = dtype_name(dtype), optimizer_named(optimizer)
        self.attention, self.checkpointing = attention, checkpointing
        self.data_parallel, self.zero = data_parallel, zero
        if self.dtype not in DTYPES:
            raise ArchspecError(f"weights in {dtype} are not trained", help=f"known: {', '.join(DTYPES)}")
        if attention not in ATTENTION:
            raise ArchspecError(f"{attention} is no attention", help=f"known: {', '.join(ATTENTION)}")
        check_positive(batch=batch, tokens=tokens, encoder_tokens=encoder_tokens or 1)
        self.ranks = Ranks(tensor_parallel, pipeline_parallel, expert_parallel, data_parallel)
        check_positive(**{f"{kind}_parallel": count for kind, count in self.ranks.counts.items()})
        if sequence_parallel:
            raise ArchspecError("sequence_parallel is not supported", help="use tensor_parallel")
        self._check_shares()
        self._check_lengths()
        self._tensors = tensors
        self._stages = stages(scope, architecture, tensors, self.ranks)

    def _check_shares(self) -> None:
        check_zero(self.zero, self.data_parallel, self.ranks.expert)
        if (self.zero or self.ranks.cut) and not self.optimizer.by_element:
            message = f"the states of {self.optimizer.name} are not of an element each, and not shared out"
            raise ArchspecError(message, help="choose another optimizer, or leave out zero")

    def _check_lengths(self) -> None:
        check_runs(self.scope, self.architecture)
        check_lengths(
            self.scope, self.architecture, Call(self.batch, self.tokens, 0, self.encoder_tokens or 0)
        )
        if self.scope.spec.library.costs(self.scope.spec.model_type).gap(self.architecture) is None:
            check_memory(self.scope, self.architecture, self.encoder_tokens)

    @property
    def _whole(self) -> bool:
        return not self.ranks.cut and self.ranks.pipeline == 1

    @cached_property
    def stage(self) -> int:
        """Of the stages of layers the one that needs most bytes, which all figures are of; 0 is the first.

        Where activations are not described, it is the one with most of the others.
        """
        held = self._states
        rows = ([*held.rows(parts).values(), *held.gathered(parts)] for parts in self._stages)
        states = [sum(row.bytes for row in one) for one in rows]
        if len(states) == 1:
            return 0
        try:
            kept = [sum(found) for found in self._kept]
        except ArchspecError:
            kept = [0 for _ in states]
        totals = [sum(both) for both in zip(states, kept, strict=True)]
        return totals.index(max(totals))

    @cached_property
    def _tree(self) -> Node:
        return Builder(self.scope).build(self.architecture)

    def _shares(self, stage: int) -> Shares:
        return Shares(self._tree, self._tensors, self.ranks._replace(stage=stage))

    @cached_property
    def flops(self) -> int:
        """FLOPs of the call and of its gradients, of this rank's sequences, without what is computed again.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").training(batch=1, tokens=4096).flops
        188763812659200
        """
        held_to_transformers(self.scope, self.architecture)
        call = Forward(self.scope, self.architecture, self.batch, self.tokens, 0, self.encoder_tokens)
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
        return self._bytes("weights")

    @property
    def gradients_bytes(self) -> int:
        """Bytes of the gradients on a rank."""
        return self._bytes("gradients")

    @property
    def optimizer_bytes(self) -> int:
        """Bytes of the optimizer's states and of its copy of the weights on a rank."""
        return sum(row.bytes for row in self.states) - self.weights_bytes - self.gradients_bytes

    def _bytes(self, name: str) -> int:
        return sum(self._rows[one].bytes for one in (name, f"{name}{KEPT}") if one in self._rows)

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
            self.encoder_tokens,
            dtype=self.dtype,
            attention=self.attention,
            checkpointing=self.checkpointing,
        )

    @property
    def activation_bytes(self) -> int:
        """Bytes that are kept for the backward on a rank, those of the loss included."""
        return self._kept[self.stage][0]

    @property
    def loss_bytes(self) -> int:
        """Bytes that the loss keeps on a rank: the log-softmax of the logits above all. 0 if not known."""
        return self._loss_bytes(self.stage)

    def _loss_bytes(self, stage: int) -> int:
        last = stage == self.ranks.pipeline - 1
        return self.activations.loss_bytes if last and self._loss is None else 0

    @property
    def _loss(self) -> str | None:
        """Why the loss is not counted; None if it is."""
        kinds = ((TENSOR, self.ranks.tensor), (PIPELINE, self.ranks.pipeline))
        ranks = [name for name, count in kinds if count > 1]
        return loss_gap(self.scope.spec.model_type, self.architecture, ranks)

    @property
    def excluded(self) -> list[str]:
        """The parts that are not counted: :attr:`total_bytes` is a lower bound of what a rank needs."""
        found = [f"the loss ({self._loss})"] if self._loss else []
        if self.scope.raw.get("output_router_logits"):
            found.append("the auxiliary loss of the routers")
        if self.zero == len(STAGES):
            found.append("layers that are gathered ahead")
        if self.data_parallel > 1 or not self._whole:
            found.append("buffers of communication")
        return [*found, *EXCLUDED]

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
            kept = rank.bytes * (self.ranks.pipeline - stage) + self._loss_bytes(stage)
            found.append((kept, rank.recomputed_bytes))
        return found

    @property
    def total_bytes(self) -> int:
        """The sum of :attr:`table`, a lower bound: :attr:`excluded` lists what is not in it."""
        return sum(row.bytes for row in self.table)

    @property
    def states(self) -> list[Row]:
        """Weights, gradients and what the optimizer keeps."""
        return list(self._rows.values())

    @property
    def table(self) -> list[Row]:
        """Where the memory of a rank goes: :attr:`states`, weights that are gathered, activations."""
        rows = [*self.states, *self.gathered, Row("activations", self.dtype, None, 1, self.activation_bytes)]
        again = self._kept[self.stage][1]
        return [*rows, *([Row("computed again", self.dtype, None, 1, again)] if again else [])]

    @property
    def gathered(self) -> list[Row]:
        """The largest layer, or module outside of layers, that ZeRO's stage 3 gathers; empty without it."""
        return self._states.gathered(self._stages[self.stage])

    @cached_property
    def _rows(self) -> dict[str, Row]:
        return self._states.rows(self._stages[self.stage])

    @cached_property
    def _states(self) -> States:
        kept = kept_in_float32(self._tree, self._tensors, self.dtype)
        return States(self.optimizer, self.dtype, kept, self.ranks, self.zero)
