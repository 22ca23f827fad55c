"""What a model costs: bytes of its weights, a call and what it leaves behind, a training step."""

from __future__ import annotations

from functools import cached_property

from archspec.arguments import MAYBE_WHOLE, checked, takes
from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_bytes, dtype_name
from archspec.formats.stated import assumed_note, cache_note, key_problem, quantization_of
from archspec.tables.axes import lengths_in
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, output_embeddings
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.forward import Forward
    from archspec.costs.weights import Weights
    from archspec.models.calls import Cache, Flops
    from archspec.models.memory import Memory, Training


class Costs:
    """The methods of :class:`archspec.Model` that tell costs; what it is made of is declared here only."""

    config: RawConfig
    whole: RawConfig
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

    @checked()
    def params_bytes(self, dtype: str | None = None) -> int:
        """Bytes of the unique parameters in one dtype; without one as the config says, quantized or not.

        A config without a dtype counts in float32: see :attr:`dtype_note`.

        Errors: :class:`ArchspecError` for an unknown dtype or an unsupported quantization.
        """
        if dtype is None and self.is_quantized:
            return self.weights().bytes
        return self.params * dtype_bytes(dtype or self.dtype)

    @property
    def dtype_note(self) -> str | None:
        """A note that bytes depend on an assumed dtype; None for a config that states one."""
        return assumed_note(self.config, self.whole)

    @property
    def _quantized(self) -> RawConfig:
        """The config that states the quantization: the model's, or that of the whole it is a part of."""
        return self.config if quantization_of(self.config) is not None else self.whole

    @property
    def is_quantized(self) -> bool:
        """True if the config states a quantization of the weights."""
        return quantization_of(self._quantized) is not None

    @checked()
    def weights(self, stored: str | None = None, dtype: str | None = None) -> Weights:
        """The unique parameters as they are stored: quantized if the config's quantization_config says so.

        ``stored`` replaces that: a name of :data:`archspec.formats.table.FORMATS` or a dtype for
        all weights. Unquantized weights are in ``dtype``, else in the config's
        dtype: all of them, as checkpoints are written. In memory transformers keeps a few parameters of some
        classes in float32, mostly the weights of routers: :attr:`archspec.costs.weights.Weights.loaded`.

        Errors: :class:`ArchspecError` for an unknown format and an unsupported quantization.

        >>> import archspec
        >>> llama = archspec.load("LlamaForCausalLM")
        >>> llama.weights("bf16").bytes, llama.weights("nf4").table[0]
        (13476831232, Stored(format='nf4', elements=6476005376, bytes=3642767360))
        """
        from archspec.costs.weights import Weights
        from archspec.formats.methods import scheme_of
        from archspec.formats.table import find_format

        chosen = None if stored is None else find_format(stored)
        if isinstance(chosen, str):
            return Weights(self.root, self._tensors, chosen)
        rest = dtype_name(dtype or self.dtype)
        if dtype_bytes(rest) == 1:
            message = f"weights in {rest} need scales: {rest} is not a format of whole models"
            name = "int8" if "int" in rest else "fp8"
            option = "--set dtype=bfloat16" if dtype is None else "a 16-bit --dtype"
            raise ArchspecError(message, help=f"use --weights {name}, and {option}")
        scheme = scheme_of(self._quantized) if chosen is None else chosen.scheme
        return Weights(self.root, self._tensors, rest, scheme)

    @takes("forward")
    def forward(
        self,
        batch: int = 1,
        tokens: int | None = None,
        past: int = 0,
        encoder_tokens: int | None = None,
        new_encoder_tokens: int | None = None,
    ) -> Forward:
        """What one call costs: of ``tokens`` positions a sequence, on a cache of ``past``.

        There are 2048 tokens, or as many as it has positions for where a table of them ends before that.
        ``encoder_tokens`` is the encoder's sequence length, ``new_encoder_tokens`` how many of these the call
        computes: all without a past, none with one.

        Errors: :class:`ArchspecError` for a class whose costs are not given, and for more positions than
        transformers looks up.

        >>> import archspec
        >>> step = archspec.load("LlamaForCausalLM").forward(tokens=1, past=2047)
        >>> step.flops, step.cache_bytes("bfloat16")
        (14287896576, 1073741824)
        """
        from archspec.costs.lengths import called, check_memory

        call = called(self.scope, self.architecture, **lengths_in(locals()))
        check_memory(self.scope, self.architecture, encoder_tokens)
        return call

    @takes("flops")
    def flops(
        self, batch: int = 1, tokens: int | None = None, past: int = 0, encoder_tokens: int | None = None
    ) -> Flops:
        """The FLOPs of a call by module, as `archspec flops` shows them; lengths are :meth:`forward`'s.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").flops(tokens=1, past=2047).flops
        14287896576
        """
        lengths = lengths_in(locals())
        from archspec.models.calls import Flops

        return Flops(self.forward(**lengths), self.params)

    @takes("cache")
    def cache(
        self,
        batch: int = 1,
        tokens: int | None = None,
        encoder_tokens: int | None = None,
        dtype: str | None = None,
        weights: str | None = None,
        budget: str | int | None = None,
    ) -> Cache:
        """The cache of ``tokens`` positions, as `archspec cache` shows it, in ``dtype`` (the config's own).

        ``encoder_tokens`` is the encoder's sequence length. A ``budget`` in bytes (`80GiB`, or a number) adds
        how many tokens and how large a batch fit after weights stored as ``weights`` (see :meth:`weights`).

        Errors: :class:`ArchspecError` as of :meth:`forward`, and for ``weights`` without a budget.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").cache(tokens=1, dtype="bf16").cache_bytes["exact"]
        524288
        """
        lengths: dict[str, Any] = lengths_in(locals())
        from archspec.models.calls import Cache
        from archspec.sizes import bytes_of

        held_in = dtype or self.dtype
        notes = self._cache_notes(dtype)
        if budget is None and weights is not None:
            message = "weights stored in some way are no part of a cache, but take from a budget"
            raise ArchspecError(message, help="give a budget, such as 80GiB, or leave weights out")
        room = None if budget is None else bytes_of(budget)
        call = self.forward(**lengths)
        if budget is None:
            return Cache(call, held_in, notes=notes)
        small = dtype_bytes(held_in) == 1  # a cache may be in fp8, weights need scales
        stored = self.weights(weights, None if small else dtype)
        return Cache(call, held_in, room, stored.loaded_bytes, [*notes, *stored.notes])

    def _cache_notes(self, dtype: str | None) -> list[str]:
        """Notes on the dtype of a cache: an assumed one, another one that the quantization asks for."""
        asked = None if dtype is not None else cache_note(self._quantized, self.dtype)
        return [note for note in (self.dtype_note if dtype is None else None, asked) if note is not None]

    @takes("memory")
    def memory(
        self,
        batch: int = 1,
        tokens: int | None = None,
        past: int = 0,
        encoder_tokens: int | None = None,
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
        lengths = lengths_in(locals())
        from archspec.models.memory import Memory

        if last and not output_embeddings(self.root):
            message = f"last has no effect: {self.architecture} gives no logits"
            raise ArchspecError(message, help="leave out last")
        stored, rest = self.weights(weights, dtype), dtype_name(dtype or self.dtype)
        notes = [*self._cache_notes(dtype), *stored.notes]  # asked for first: options are checked at once
        return Memory(self.forward(**lengths), stored, rest, last, notes)

    @takes("training", encoder_tokens=MAYBE_WHOLE)
    def training(
        self,
        batch: int = 1,
        tokens: int | None = None,
        encoder_tokens: int | None = None,
        dtype: str = "bfloat16",
        optimizer: str = "adamw",
        attention: str = "flash",
        checkpointing: bool = False,
        data_parallel: int = 1,
        zero: int = 0,
        tensor_parallel: int = 1,
        pipeline_parallel: int = 1,
        expert_parallel: int = 1,
    ) -> Training:
        """What one training step costs a rank that computes ``batch`` sequences of ``tokens`` positions.

        It is what `archspec memory --train` prints.

        Errors: :class:`ArchspecError` for an option without effect, such as ``zero`` on one rank.

        >>> import archspec
        >>> step = archspec.load("LlamaForCausalLM").training(batch=8, tokens=4096, data_parallel=8, zero=1)
        >>> step.weights_bytes, step.gradients_bytes, step.optimizer_bytes
        (13476831232, 13476831232, 10107623424)
        """
        from archspec.costs.lengths import usual_tokens
        from archspec.models.memory import Training

        if (found := quantization_of(self._quantized)) is not None:
            message = "a quantized base is trained through adapters (LoRA), which are not supported"
            help_ = f"count the training of the unquantized base with --set {found.path}=null"
            raise key_problem(self._quantized, found.path, message, help_)
        known = usual_tokens(self.scope) if tokens is None else tokens
        step = Training(
            *(self.scope, self.architecture, self._tensors, batch, known, encoder_tokens),
            dtype=dtype,
            optimizer=optimizer,
            attention=attention,
            checkpointing=checkpointing,
            data_parallel=data_parallel,
            zero=zero,
            tensor_parallel=tensor_parallel,
            pipeline_parallel=pipeline_parallel,
            expert_parallel=expert_parallel,
        )
        step.check_used(batch=None if batch == 1 else batch, tokens=tokens, encoder_tokens=encoder_tokens)
        return step
