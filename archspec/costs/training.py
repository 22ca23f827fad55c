"""What one training step costs a rank: FLOPs; bytes of weights, gradients, optimizer and activations."""

from __future__ import annotations

from functools import cached_property

from archspec.configs.scope import Scope
from archspec.costs.activations import Activations, checkpointed
from archspec.costs.forward import Forward, held_to_transformers, total
from archspec.costs.optimizers import optimizer_named
from archspec.errors import ArchspecError
from archspec.tree.counts import dtype_bytes, dtype_name
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any, NamedTuple

DTYPES = ("float32", "bfloat16", "float16")  # of weights that are trained
STAGES = ("optimizer", "gradients", "weights")  # what ZeRO's stages 1, 2 and 3 share out, one more each
ATTENTION = ("flash", "eager")


class Part(NamedTuple):
    """One row of where the memory of a rank goes; ``share`` is of how many ranks each holds its part."""

    name: str
    dtype: str
    elements: int | None
    share: int
    bytes: int


class Training:
    """One step of training on one rank, made by :meth:`archspec.Model.training`.

    A rank computes ``batch`` sequences of ``tokens`` positions. Weights are all parameters, in ``dtype``;
    those with requires_grad have a gradient and the optimizer's states. Gradients are of their dtype, as
    torch makes them; `adamw_megatron` adds them up in float32. Where 16-bit weights have a copy in float32,
    it counts with the optimizer. ZeRO's stages share out the optimizer's part (1), gradients (2) and weights
    (3) over ``data_parallel`` ranks: of n elements a rank has n / ranks, rounded up. Left out are buffers,
    the whole weights that stage 3 gathers for a layer at a time, and what libraries set aside for themselves.
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
        _undescribed(tensor_parallel, pipeline_parallel, sequence_parallel, expert_parallel)
        self._check_zero()
        self._weights = [tensor for tensor in tensors if tensor.kind == "parameter" and not tensor.tied_to]
        self._trained = [tensor for tensor in self._weights if tensor.trainable]

    def _check_zero(self) -> None:
        if type(self.zero) is not int or not 0 <= self.zero <= len(STAGES):
            raise ArchspecError(f"zero is {self.zero!r}", help="ZeRO's stages are 0, 1, 2 and 3")
        if self.zero and not self.optimizer.by_element:
            message = f"the states of {self.optimizer.name} are not of an element each, and not shared out"
            raise ArchspecError(message, help="zero=0, or another optimizer")

    @cached_property
    def flops(self) -> int:
        """FLOPs of the call and of its gradients, of this rank's sequences, without what is computed again.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").training(batch=1, tokens=4096).flops
        188763812659200
        """
        held_to_transformers(self.scope, self.architecture)
        return Forward(self.scope, self.architecture, self.batch, self.tokens, 0, self.memory).training_flops

    @cached_property
    def recomputed_flops(self) -> int:
        """With checkpointing, FLOPs of the layers that are run again, whole; 0 without.

        torch may stop short of the last Linear of a layer, where nothing that it gives is kept.
        """
        if not self.checkpointing:
            return 0
        layers = list(checkpointed(self.activations.tree))
        if not layers:
            raise ArchspecError(f"which layers of {self.architecture} are run again is not described")
        return sum(int(total(layer).flops) for _, layer in layers)

    @property
    def weights_bytes(self) -> int:
        """Bytes of the weights on a rank."""
        return self._parts["weights"].bytes

    @property
    def gradients_bytes(self) -> int:
        """Bytes of the gradients on a rank."""
        return self._parts["gradients"].bytes

    @property
    def optimizer_bytes(self) -> int:
        """Bytes of the optimizer's states and of its copy of the weights on a rank."""
        others = (part for name, part in self._parts.items() if name not in ("weights", "gradients"))
        return sum(part.bytes for part in others)

    @cached_property
    def activations(self) -> Activations:
        """What is kept for the backward: see :class:`archspec.costs.activations.Activations`.

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
        return int(self.activations.bytes)

    @property
    def total_bytes(self) -> int:
        """The sum of :attr:`table`; with checkpointing what a layer keeps as it is run again is in it."""
        return sum(part.bytes for part in self.table)

    @property
    def states(self) -> list[Part]:
        """Weights, gradients and what the optimizer keeps."""
        return list(self._parts.values())

    @property
    def table(self) -> list[Part]:
        """Where the memory of a rank goes: :attr:`states`, then activations."""
        rows = [*self.states, Part("activations", self.dtype, None, 1, self.activation_bytes)]
        again = int(self.activations.recomputed_bytes) if self.checkpointing else 0
        return [*rows, *([Part("computed again", self.dtype, None, 1, again)] if again else [])]

    @cached_property
    def _parts(self) -> dict[str, Part]:
        elements = sum(tensor.numel for tensor in self._weights)
        trained = sum(tensor.numel for tensor in self._trained)
        gradients = self._dtype(self.optimizer.gradients)
        found = [
            self._part("weights", self.dtype, elements, "weights"),
            self._part("gradients", gradients, trained, "gradients"),
        ]
        if (copy := self.optimizer.copied(self.dtype)) is not None:
            found.append(self._part("copy of the weights", copy, trained, "optimizer"))
        for state, kind in self.optimizer.states.items():
            if self.optimizer.by_element:
                found.append(self._part(state, self._dtype(kind), trained, "optimizer"))
            else:
                size = self.optimizer.state_bytes(state, self._trained)
                found.append(Part(state, kind, None, 1, size))
        return {part.name: part for part in found}

    def _dtype(self, name: str) -> str:
        return self.dtype if name == "weights" else name

    def _part(self, name: str, dtype: str, elements: int, kind: str) -> Part:
        shared = STAGES.index(kind) < self.zero
        share = self.data_parallel if shared else 1
        own = -(-elements // share)
        return Part(name, dtype, own, share, own * dtype_bytes(dtype))


def _positive(**given: Any) -> None:
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise ArchspecError(f"{name} is {value!r}", help="give an integer of at least 1")


def _undescribed(tensor: int, pipeline: int, sequence: bool, expert: int) -> None:
    """Errors: :class:`ArchspecError` for ways to share out a model that are not described."""
    given = {"tensor_parallel": tensor, "pipeline_parallel": pipeline, "expert_parallel": expert}
    _positive(**given)
    given["sequence_parallel"] = 1 + bool(sequence)
    for name, ranks in given.items():
        if ranks != 1:
            message = f"{name}: what a rank holds of a model that is shared out so is not described"
            raise ArchspecError(message, help="data_parallel and zero are")
