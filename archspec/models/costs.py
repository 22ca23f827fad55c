"""What a model costs: bytes of its weights, a call and what it leaves behind, a training step."""

from __future__ import annotations

from functools import cached_property

from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.tree.counts import dtype_bytes, dtype_name
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.forward import Forward
    from archspec.costs.weights import Weights
    from archspec.models.calls import Cache, Flops
    from archspec.models.memory import Memory, Training


class Costs:
    """The methods of :class:`archspec.Model` that tell costs; what it is made of is declared here only."""

    config: RawConfig
    scope: Scope
    architecture: str
    model_type: str
    params: int
    if TYPE_CHECKING:

        @property
        def dtype(self) -> str: ...
        @cached_property
        def root(self) -> Node: ...
        @cached_property
        def _tensors(self) -> list[Tensor]: ...

    def params_bytes(self, dtype: str | None = None) -> int:
        """Bytes of the unique parameters, all in one dtype (the config's own, else float32).

        What `from_pretrained` keeps in float32 beside 16-bit weights counts as the rest: see :meth:`weights`.

        Errors: :class:`ArchspecError` for a dtype that is not in the table.
        """
        return self.params * dtype_bytes(dtype or self.dtype)

    def weights(self, stored: str | None = None, dtype: str | None = None) -> Weights:
        """The unique parameters as they are stored: quantized where the config's quantization_config says so.

        ``stored`` is in place of that: `int8`, `int4`, `nf4`, `fp4`, `mxfp4`, or a dtype for all. What is not
        quantized is in ``dtype``, else the config's own: all of it, as checkpoints are written. Of some
        classes `from_pretrained` keeps a few parameters in float32, the weights of routers most often (their
        `_keep_in_fp32_modules_strict`; in float16 T5's `wo` by `_keep_in_fp32_modules`): these come to more.

        Errors: :class:`ArchspecError` for a method whose bytes are not described.

        >>> import archspec
        >>> llama = archspec.load("LlamaForCausalLM")
        >>> llama.weights("bf16").bytes, llama.weights("nf4").table[0]
        (13476831232, Stored(format='nf4', elements=6476005376, bytes=3642767360))
        """
        from archspec.costs.quantization import SCHEMES, named_scheme, scheme_of
        from archspec.costs.weights import Weights

        if stored is not None and (not isinstance(stored, str) or stored not in SCHEMES):
            return Weights(self.root, self._tensors, dtype_name(stored))
        rest = dtype_name(dtype or self.dtype)
        said = self.config.raw.get("quantization_config")
        if stored is not None:
            return Weights(self.root, self._tensors, rest, named_scheme(stored))
        return Weights(self.root, self._tensors, rest, scheme_of(said) if isinstance(said, dict) else None)

    def forward(
        self,
        batch: int = 1,
        tokens: int | None = None,
        past: int = 0,
        memory: int | None = None,
        encoded: int | None = None,
    ) -> Forward:
        """What one call costs: of ``tokens`` positions a sequence, on a cache of ``past``.

        There are 2048 tokens, or as many as it has positions for where a table of them ends before that.
        ``memory`` is the number of encoder positions that are attended to, ``encoded`` of those that are
        computed in this call: all without a past, none with one.

        Errors: :class:`ArchspecError` for a class whose costs are not given, and for more positions than
        transformers looks up.

        >>> import archspec
        >>> step = archspec.load("LlamaForCausalLM").forward(tokens=1, past=2047)
        >>> step.flops, step.cache_bytes("bfloat16")
        (14287896576, 1073741824)
        """
        from archspec.costs.forward import Forward, held_to_transformers
        from archspec.costs.lengths import check_lengths, usual_tokens

        held_to_transformers(self.scope, self.architecture)
        held = self.scope.spec.library.costs(self.model_type).held(self.architecture)
        if tokens is None:
            tokens = usual_tokens(self.scope, past)
        call = Forward(self.scope, self.architecture, batch, tokens, past, memory, encoded, held)
        check_lengths(self.scope, self.architecture, call.call)
        return call

    def flops(
        self, batch: int = 1, tokens: int | None = None, past: int = 0, memory: int | None = None
    ) -> Flops:
        """The FLOPs of a call by module, as `archspec flops` shows them; lengths are :meth:`forward`'s.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").flops(tokens=1, past=2047).flops
        14287896576
        """
        from archspec.models.calls import Flops

        return Flops(self.forward(batch, tokens, past, memory), self.params)

    def cache(
        self,
        batch: int = 1,
        tokens: int | None = None,
        memory: int | None = None,
        dtype: str | None = None,
        weights: str | None = None,
        budget: str | int | None = None,
    ) -> Cache:
        """The cache of ``tokens`` positions, as `archspec cache` shows it, in ``dtype`` (the config's own).

        ``memory`` are positions of the encoder. Of a ``budget`` in bytes (`80GiB`, or a number) it says how
        many tokens, and how large a batch, it holds beside weights that are stored as ``weights`` says (see
        :meth:`weights`).

        Errors: :class:`ArchspecError` as of :meth:`forward`, and for ``weights`` without a budget.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").cache(tokens=1, dtype="bf16").cache_bytes["exact"]
        524288
        """
        from archspec.models.calls import Cache
        from archspec.sizes import bytes_of

        def lengthened(batch: int, tokens: int | None) -> Forward:
            return self.forward(batch, tokens, memory=memory)

        call, held_in = lengthened(batch, tokens), dtype or self.dtype
        if budget is None:
            if weights is not None:
                message = "weights stored in some way are no part of a cache, but take from a budget"
                raise ArchspecError(message, help="give a budget, such as 80GiB, or leave weights out")
            return Cache(call, held_in, lengthened)
        room = bytes_of(budget)
        return Cache(call, held_in, lengthened, room, self.weights(weights, dtype).bytes)

    def memory(
        self,
        batch: int = 1,
        tokens: int | None = None,
        past: int = 0,
        memory: int | None = None,
        dtype: str | None = None,
        weights: str | None = None,
        last: bool = False,
    ) -> Memory:
        """What a call needs, as `archspec memory` shows it: weights, the cache after it, a working set.

        Lengths are :meth:`forward`'s, ``dtype`` and ``weights`` those of :meth:`weights`; with ``last`` the
        logits are of the last position only, as `generate()` asks for.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").memory(tokens=1, dtype="bf16").weights_bytes
        13476831232
        """
        from archspec.models.memory import Memory

        call, rest = self.forward(batch, tokens, past, memory), dtype_name(dtype or self.dtype)
        return Memory(call, self.weights(weights, dtype), rest, last)

    def training(
        self, batch: int = 1, tokens: int | None = None, memory: int | None = None, **options: Any
    ) -> Training:
        """What one training step costs a rank that computes ``batch`` sequences of ``tokens`` positions.

        It is what `archspec memory --train` shows. ``options`` are those of
        :class:`archspec.costs.training.TrainingStep`: dtype, optimizer, attention,
        checkpointing, data_parallel, zero, tensor_parallel, pipeline_parallel, expert_parallel.

        >>> import archspec
        >>> step = archspec.load("LlamaForCausalLM").training(batch=8, tokens=4096, data_parallel=8, zero=1)
        >>> step.weights_bytes, step.gradients_bytes, step.optimizer_bytes
        (13476831232, 13476831232, 10107623424)
        """
        from archspec.costs.lengths import usual_tokens
        from archspec.models.memory import Training

        if tokens is None:
            tokens = usual_tokens(self.scope)
        return Training(self.scope, self.architecture, self._tensors, batch, tokens, memory, **options)
