"""The costs of one training step on a rank: FLOPs, weights, gradients, optimizer states, activations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cached_property

from archspec.arguments import check_arguments
from archspec.configs.scope import Scope
from archspec.costs.builder import cost_facts
from archspec.costs.forward import Forward, check_encoder, check_supported
from archspec.costs.lengths import check_lengths, check_runs
from archspec.costs.media.items import modality_of
from archspec.costs.records import Step
from archspec.costs.totals import by_module, checkpointed_layers
from archspec.costs.training.activations import (
    PIPELINE,
    TENSOR,
    StepActivations,
    loss_gap,
    validated_activations,
)
from archspec.costs.training.freezing import without_gradients
from archspec.costs.training.optimizers import KEPT, STAGES, Row, States, check_zero, optimizer_named
from archspec.costs.training.options import check_counts, check_options, check_whole_model, states_are_whole
from archspec.costs.training.parallel import KINDS, Ranks, Shares, check_ranks, stages
from archspec.errors import ArchspecError, option
from archspec.formats.dtypes import dtype_name
from archspec.formats.scheme import kept_in_float32
from archspec.tree.builder import tree_of
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any

_EXCLUDED = (  # from the memory of a training step, always
    "inputs and buffers",
    "temporary tensors of the backward pass and the optimizer step",
    "memory that CUDA and its allocator reserve",
)


class TrainingStep:
    """One training step on one rank, made by :meth:`archspec.Model.training`.

    A rank computes ``batch`` sequences of ``tokens`` (and of ``encoder_tokens`` in an encoder) of an
    ``architecture`` for the config of ``scope``, with an ``optimizer`` and the code of ``attention``. With
    ``checkpointing`` the backward pass recomputes layers. Weights are all parameters, in ``dtype``. Those
    with requires_grad have a gradient, in their dtype as in torch (in float32 with `adamw_megatron`), and the
    optimizer's states, with which a float32 copy of 16-bit weights counts.

    ZeRO's stages shard the optimizer (1), gradients (2) and weights (3) over ``data_parallel`` ranks: of n
    elements a rank has n / ranks, rounded up. Stage 3 gathers whole weights; the largest layer, or module
    outside of layers, is counted. Gradients are counted next to all activations, as when a step accumulates
    gradients. ``excluded_parts`` lists what is not counted, so ``total_bytes`` is a lower bound.

    ``tensor_parallel`` and ``expert_parallel`` shard parameters by transformers' plans;
    ``pipeline_parallel`` puts layers on stages. The figures are those of :attr:`stage`. There ``batch`` is a
    micro-batch; a stage has one in flight for each stage from it to the last. Expert-parallel ranks are
    within the data × tensor ranks, so ZeRO shards each expert over fewer ranks. ``zero`` is ZeRO's stage.

    ``items`` are images, videos and audios, as in :class:`archspec.costs.records.Call`. Modules named in
    ``freeze``, which must run on items, have no gradients.

    Errors: :class:`ArchspecError` if transformers does not shard the class like this.
    """

    @check_arguments
    def __init__(  # noqa: PLR0913 - the options of the verb
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
        expert_parallel: int = 1,
        items: Mapping[str, Any] | None = None,
        freeze: Collection[str] = (),
    ) -> None:
        self.scope, self.architecture = scope, architecture
        self.batch, self.encoder_tokens = batch, encoder_tokens
        self.tokens = tokens if modality_of(scope, architecture) is None else None
        self._lengths: dict[str, Any] = {"batch": batch, "tokens": tokens, "encoder_tokens": encoder_tokens}
        self.items, self.freeze = {**(items or {})}, (*freeze,)
        self.dtype, self.optimizer = dtype_name(dtype), optimizer_named(optimizer)
        self.attention, self.checkpointing = attention, checkpointing
        self.data_parallel, self.zero = data_parallel, zero
        check_options(self.dtype, attention)
        self.ranks = Ranks(tensor_parallel, pipeline_parallel, expert_parallel, data_parallel)
        counts = {f"{kind}_parallel": getattr(self.ranks, kind) for kind in (*KINDS, "data")}
        check_counts({**self._lengths, "encoder_tokens": encoder_tokens or 1, **counts})
        check_zero(zero, data_parallel, expert_parallel)
        if (zero or self.ranks.cut) and not self.optimizer.by_element:
            raise states_are_whole(optimizer, zero)
        self._check_lengths()
        self._tensors = without_gradients(tensors, self.freeze)
        self._stages = stages(scope, architecture, self._tensors, self.ranks)

    def _check_lengths(self) -> None:
        _ = self._activations_or_error  # the tree of a training step serves the checks, too
        check_runs(self.scope, self.architecture)
        call = Step(self.batch, self.tokens or 1, encoder_tokens=self.encoder_tokens or 0).call
        check_lengths(self.scope, self.architecture, call)
        if given := [name for name, items in self.items.items() if items and name != "padded"]:
            check_whole_model(given, self.ranks)
            check_supported(self.scope, self.architecture, items=given)
        if self.tokens is not None and self.has_lengths:
            built = cost_facts(self.scope, self.architecture, call)
            check_encoder(built, self.architecture, self.encoder_tokens)

    @cached_property
    def has_lengths(self) -> bool:
        """True if numbers depend on the lengths: the costs of the class are known."""
        record = self.scope.spec.library.costs(self.scope.spec.model_type)
        only = modality_of(self.scope, self.architecture)
        if only is None:
            return record.gap(self.architecture) is None
        trains = record.gap(self.architecture, training=True, items=[only]) is None
        return trains or not isinstance(self._activations_or_error, ArchspecError)

    @cached_property
    def stage(self) -> int:
        """The pipeline stage that needs most bytes, from 0; without activations if they are not supported."""
        if len(self._stages) == 1:
            return 0
        totals = [
            sum(row.bytes for row in (*self._states.rows(parts), *self._states.gathered_rows(parts)))
            for parts in self._stages
        ]
        with suppress(ArchspecError):
            totals = [states + sum(kept) for states, kept in zip(totals, self._stage_bytes, strict=True)]
        return totals.index(max(totals))

    def _shares(self, stage: int) -> Shares:
        tree = tree_of(self.scope, self.architecture)
        return Shares(tree, self._tensors, self.ranks._replace(stage=stage))

    @cached_property
    def flops(self) -> int:
        """FLOPs of the forward and the backward pass of this rank's sequences, without recomputation.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").training(batch=1, tokens=4096).flops
        188763812659200
        """
        check_supported(self.scope, self.architecture)
        if self.freeze and self.checkpointing:
            message = "training FLOPs with frozen modules and checkpointing are not supported"
            raise ArchspecError(message, help=f"leave out {option('checkpointing')}")
        call = self.forward
        if self.ranks.hold_whole_model:
            return call.training_flops
        call.check_trained()
        check_ranks(self.scope.spec.model_type, self.architecture, self.ranks, "FLOPs")
        shares, modules = self._shares(self.stage), call.step_flops_by_module.items()
        return sum(shares.flops(path, flops) for path, flops in modules if shares.here(path))

    @cached_property
    def forward(self) -> Forward:
        """The costs of the step's forward pass."""
        return Forward(self.scope, self.architecture, **self._lengths, **self.items, freeze=self.freeze)

    @cached_property
    def recomputed_flops(self) -> int:
        """With checkpointing, FLOPs of the recomputed layers; otherwise 0.

        torch may stop before the last Linear of a layer, if its output is not needed.
        """
        if not self.checkpointing:
            return 0
        if not self.ranks.hold_whole_model:
            raise ArchspecError("recomputed FLOPs are not supported with model parallelism")
        layers = checkpointed_layers(self.activations.tree)
        if not layers:
            raise ArchspecError(f"recomputed layers of {self.architecture} are not supported")
        return sum(sum(by_module(layer, "flops").values()) for _, layer in layers)

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
        """Bytes of the optimizer's states, and of its copy of the weights, on a rank."""
        return sum(row.bytes for row in self.states) - self.weights_bytes - self.gradients_bytes

    def _bytes(self, name: str) -> int:
        return sum(row.bytes for row in self.states if row.name in (name, f"{name}{KEPT}"))

    @cached_property
    def _activations_or_error(self) -> StepActivations | ArchspecError:
        options = {"attention": self.attention, "checkpointing": self.checkpointing, "dtype": self.dtype}
        try:
            given = {**self._lengths, **self.items, **options, "freeze": self.freeze}
            return validated_activations(self.scope, self.architecture, **given)
        except ArchspecError as error:
            return error

    @property
    def activations(self) -> StepActivations:
        """The activations of the whole model.

        Errors: :class:`ArchspecError` for a class whose activations are not supported.
        """
        if isinstance(self._activations_or_error, ArchspecError):
            raise self._activations_or_error
        return self._activations_or_error

    @property
    def activation_bytes(self) -> int:
        """Bytes of the activations on a rank, with those of the loss."""
        return self._stage_bytes[self.stage][0]

    @property
    def loss_bytes(self) -> int:
        """Bytes that the loss saves on a rank, mostly the log-softmax of the logits; 0 if not supported."""
        return self.activations.loss_bytes if self._has_loss(self.stage) else 0

    def _has_loss(self, stage: int) -> bool:
        return stage == self.ranks.pipeline - 1 and self.loss_gap is None

    @property
    def loss_gap(self) -> str | None:
        """The reason why the loss is not counted; None if it is."""
        kinds = ((TENSOR, self.ranks.tensor), (PIPELINE, self.ranks.pipeline))
        ranks = [name for name, count in kinds if count > 1]
        return loss_gap(self.scope.spec.model_type, self.architecture, ranks)

    @property
    def excluded_parts(self) -> list[str]:
        """The parts that are not counted, so that :attr:`total_bytes` is a lower bound."""
        found = [f"the loss ({self.loss_gap})"] if self.loss_gap else []
        if self.scope.raw.get("output_router_logits"):
            found.append("the auxiliary loss of the router")
        if self.zero == len(STAGES):
            found.append("prefetched weights of other layers")
        if self.data_parallel > 1 or not self.ranks.hold_whole_model:
            found.append("communication buffers")
        return [*found, *_EXCLUDED]

    @cached_property
    def _stage_bytes(self) -> list[tuple[int, int]]:
        """By stage: bytes of the activations in flight, and bytes while a layer is recomputed."""
        whole, ranks = self.activations, self.ranks
        if ranks.hold_whole_model:
            return [(whole.bytes, whole.recomputed_bytes)]
        for kind in dict.fromkeys((self.attention, whole.step.kind)):  # layers are recomputed
            check_ranks(self.scope.spec.model_type, self.architecture, ranks, kind)
        found = []
        for stage in range(ranks.pipeline):
            step = whole.step if self._has_loss(stage) else whole.step._replace(loss="")
            rank = StepActivations(self.scope, self.architecture, step, self._shares(stage))
            found.append((rank.bytes * (ranks.pipeline - stage), rank.recomputed_bytes))
        return found

    @property
    def total_bytes(self) -> int:
        """The sum of :attr:`table`, a lower bound: see :attr:`excluded_parts`."""
        return sum(row.bytes for row in self.table)

    @cached_property
    def states(self) -> list[Row]:
        """Rows of weights, gradients, and the optimizer's copy and states."""
        return self._states.rows(self._stages[self.stage])

    @property
    def table(self) -> list[Row]:
        """All rows: :attr:`states`, :attr:`gathered_rows`, activations, and the recomputed layer."""
        rows = [
            *self.states,
            *self.gathered_rows,
            Row("activations", self.dtype, None, 1, self.activation_bytes),
        ]
        again = self._stage_bytes[self.stage][1]
        return [*rows, *([Row("recomputed", self.dtype, None, 1, again)] if again else [])]

    @property
    def gathered_rows(self) -> list[Row]:
        """A row of the largest layer, or module outside of layers, that ZeRO's stage 3 gathers."""
        return self._states.gathered_rows(self._stages[self.stage])

    @cached_property
    def _states(self) -> States:
        kept = kept_in_float32(tree_of(self.scope, self.architecture), self._tensors, self.dtype)
        return States(self.optimizer, self.dtype, kept, self.ranks, self.zero)
