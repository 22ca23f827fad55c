"""The methods of :class:`archspec.Model` that report costs, as functions of the model."""

from __future__ import annotations

from collections.abc import Sequence

from archspec.arguments import check_arguments, check_arguments_of
from archspec.errors import ArchspecError, FormulaError, option
from archspec.formats.dtypes import ASSUMED, dtype_bytes, dtype_name
from archspec.formats.stated import cache_note, check_convertible, key_problem, quantization_of
from archspec.specs.records import MODALITIES
from archspec.tables.items import ITEMS, lengths_in
from archspec.tables.quantities import COSTS
from archspec.tree.tensors import output_embeddings
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.forward import Forward
    from archspec.costs.records import Call, Step
    from archspec.costs.weights import Weights
    from archspec.models.calls import Cache, Flops
    from archspec.models.memory import Memory, Training


def inputs(self: Any) -> dict[str, tuple[int, ...] | None]:
    """The inputs of a forward pass: `text`, and `images`, `videos` or `audios` with their default size.

    >>> import archspec
    >>> archspec.load("ViTModel").inputs, archspec.load("Qwen2VLModel").inputs
    ({'images': (224, 224)}, {'text': None, 'images': None, 'videos': None})
    """
    from archspec.costs.lengths import inputs_of

    return inputs_of(self.scope, self.architecture)


@check_arguments
def params_bytes(self: Any, dtype: str | None = None) -> int:
    """Return bytes of the unique parameters in a dtype (default: the config's dtype or quantization)."""
    if dtype is None and self.is_quantized:
        return int(self.weights().bytes)
    return int(self.params * dtype_bytes(dtype or self.dtype))


@check_arguments
def weights(
    self: Any, stored: str | None = None, dtype: str | None = None, group_size: int | None = None
) -> Weights:
    """Return the unique parameters as stored, quantized if the config is.

    ``stored`` overrides this: a weight format (see docs/reference/quantities.md) or a dtype. Unquantized
    weights are in ``dtype`` (default: the config's). ``group_size`` inputs share a scale.

    >>> import archspec
    >>> archspec.load("LlamaForCausalLM").weights("nf4").table[0]
    Stored(format='nf4', elements=6476005376, bytes=3642785600)
    """
    from archspec.costs.weights import Weights
    from archspec.formats.methods import scheme_of
    from archspec.formats.scheme import find_format
    from archspec.gguf.file import File
    from archspec.gguf.types import Recipe

    chosen = None if stored is None else find_format(stored)
    if group_size is not None and (chosen is None or isinstance(chosen, str | Recipe)):
        message = f"{option('group_size')} has no effect on {stored or 'the weights of the config'}"
        raise ArchspecError(message, help=f"add {option('weights', 'gptq')}, or leave it out")
    if isinstance(chosen, str):
        return Weights(self.root, self.tensors(), chosen)
    rest = dtype_name(dtype or self.dtype)
    if dtype_bytes(rest) == 1:
        help_ = f"pass {option('weights', 'int8' if 'int' in rest else 'fp8')} and {option('dtype', 'bf16')}"
        raise ArchspecError(f"{rest} weights need scales: a dtype is not enough", help=help_)
    if isinstance(chosen, Recipe):
        check_convertible(self.quantized_config, chosen.file)
        base = rest if dtype or rest != ASSUMED else ""  # llama.cpp converts float32 to float16 by default
        file = File(self.scope, self.architecture, self.tensors(), chosen, base)
        return Weights(self.root, self.tensors(), rest, file=file)
    scheme = chosen.with_group_size(group_size) if chosen else scheme_of(self.quantized_config)
    return Weights(self.root, self.tensors(), rest, scheme)


@check_arguments_of("forward")
def forward(  # noqa: PLR0913, PLR0917 - the options of the verb
    self: Any,
    batch: int = 1,
    tokens: int | None = None,
    past: int = 0,
    encoder_tokens: int | None = None,
    new_encoder_tokens: int | None = None,
    text_tokens: int | None = None,
    images: Sequence[Any] = (),
    videos: Sequence[Any] = (),
    audios: Sequence[Any] = (),
    processed: bool = False,
) -> Forward:
    """Return the costs of a forward pass over ``tokens`` per sequence, after ``past`` tokens in the KV cache.

    ``tokens`` is 2048 by default, or the model's maximum if smaller. ``new_encoder_tokens`` are the encoder
    tokens to process (default: all, or none if ``past`` > 0).

    ``images`` are the (height, width) of all images of the call, ``videos`` their (frames, height, width).
    They go through the model's processor, unless they are ``processed``. ``audios`` are seconds ("30s"), or
    feature frames or samples as the model receives them. ``tokens`` include the tokens of all of these;
    ``text_tokens`` do not.

    >>> import archspec
    >>> step = archspec.load("LlamaForCausalLM").forward(tokens=1, past=2047)
    >>> step.flops, step.cache_bytes("bfloat16")
    (14287896576, 1073741824)
    """
    from archspec.costs.lengths import forward_of

    return forward_of(self.scope, self.architecture, **lengths_in(locals()))


def call_of(model: Any, quantity: str, lengths: dict[str, Any]) -> Call | Step | None:
    """Return the forward pass of the closed form of a cost; None for a count, which takes no lengths."""
    from archspec.costs.lengths import usual_lengths

    if quantity not in COSTS:
        for name in lengths:
            message = f"{option(name)} has no effect on {quantity}"
            raise FormulaError(message, help=f"leave out {option(name)}")
        return None
    usual = usual_lengths(model.scope, model.architecture)
    if "text_tokens" in lengths or any(map(lengths.get, MODALITIES)):
        usual.pop("tokens", None)
    lengths = usual | lengths
    if quantity == "activation_bytes":
        from archspec.costs.builder import cost_facts
        from archspec.costs.forward import check_encoder
        from archspec.costs.training.activations import validated_activations

        scope, architecture = model.scope, model.architecture
        step = validated_activations(scope, architecture, **lengths).step
        check_encoder(cost_facts(scope, architecture, step.call), architecture, step.encoder_tokens)
        return step
    found: Forward = model.forward(**lengths)
    if quantity == "cache_elements":
        found.check_cache()
    if quantity == "training_flops":
        found.check_trained()
    if quantity == "masked_flops":
        found.check_held("masked")
    if quantity == "item_tokens" and not found.item_tokens:
        message = f"there are no images, videos or audio whose tokens {model.architecture} takes"
        raise FormulaError(message, help=f"pass {option('images', ['1024x768'])}, for example")
    return found.call


@check_arguments_of("flops")
def flops(  # noqa: PLR0917 - the options of the verb
    self: Any,
    batch: int = 1,
    tokens: int | None = None,
    past: int = 0,
    encoder_tokens: int | None = None,
    text_tokens: int | None = None,
    images: Sequence[Any] = (),
    videos: Sequence[Any] = (),
    audios: Sequence[Any] = (),
    processed: bool = False,
) -> Flops:
    """Return the FLOPs of a forward pass, like `archspec flops`; for lengths see :meth:`forward`."""
    lengths = lengths_in(locals())
    from archspec.models.calls import Flops

    return Flops(self.forward(**lengths), self.params)


@check_arguments_of("cache")
def cache(  # noqa: PLR0913, PLR0917 - the options of the verb
    self: Any,
    batch: int = 1,
    tokens: int | None = None,
    encoder_tokens: int | None = None,
    dtype: str | None = None,
    weights: str | None = None,
    budget: str | int | None = None,
    text_tokens: int | None = None,
    images: Sequence[Any] = (),
    videos: Sequence[Any] = (),
    audios: Sequence[Any] = (),
    processed: bool = False,
    group_size: int | None = None,
) -> Cache:
    """Return the KV cache of ``tokens`` tokens in ``dtype`` (default: the config's), like `archspec cache`.

    With a ``budget`` in bytes (`80GiB`, or a number), the result also has the number of tokens and the batch
    size that fit after the weights in the format ``weights`` (see :meth:`archspec.Model.weights`).
    """
    lengths: dict[str, Any] = lengths_in(locals())
    from archspec.models.calls import Cache
    from archspec.sizes import bytes_of

    notes, cached = _dtype_notes(self, dtype), dtype_name(dtype or self.dtype)
    if budget is None:
        for name, value in (("weights", weights), ("group_size", group_size)):
            if value is not None:
                message = f"{option(name)} has no effect without {option('budget')}"
                help_ = f"add {option('budget', '80GiB')}, or leave out {option(name)}"
                raise ArchspecError(message, help=help_)
        return Cache(self.forward(**lengths), cached, notes)
    room, call = bytes_of(budget), self.forward(**lengths)
    small = dtype_bytes(cached) == 1  # a cache may be in fp8, weights need scales
    stored = self.weights(weights, None if small else dtype, group_size)
    return Cache(call, cached, [*notes, *stored.notes], room, stored.loaded_bytes)


@check_arguments_of("memory")
def memory(  # noqa: PLR0913, PLR0917 - the options of the verb
    self: Any,
    batch: int = 1,
    tokens: int | None = None,
    past: int = 0,
    encoder_tokens: int | None = None,
    dtype: str | None = None,
    weights: str | None = None,
    last: bool = False,
    text_tokens: int | None = None,
    images: Sequence[Any] = (),
    videos: Sequence[Any] = (),
    audios: Sequence[Any] = (),
    processed: bool = False,
    group_size: int | None = None,
) -> Memory:
    """Return inference memory (weights, KV cache, temporary memory), like `archspec memory`.

    For lengths see :meth:`forward`; for ``dtype`` and ``weights`` see :meth:`archspec.Model.weights`.
    With ``last`` only the logits of the last token are computed, as in `generate()`.
    """
    lengths = lengths_in(locals())
    from archspec.models.memory import Memory

    if last and not output_embeddings(self.root):
        message = f"{option('last')} has no effect: {self.architecture} does not output logits"
        raise ArchspecError(message, help=f"leave out {option('last')}")
    stored, rest = self.weights(weights, dtype, group_size), dtype_name(dtype or self.dtype)
    notes = [*_dtype_notes(self, dtype), *stored.notes]
    return Memory(self.forward(**lengths), stored, rest, last, notes)


def _dtype_notes(self: Any, dtype: str | None) -> list[str]:
    """Return notes on the dtype of a cache: an assumed one, another one that the quantization asks for."""
    if dtype is not None:
        return []
    found = self.dtype_note, cache_note(self.quantized_config, self.dtype)
    return [note for note in found if note is not None]


@check_arguments_of("training")
def training(  # noqa: PLR0913, PLR0917 - the options of the verb
    self: Any,
    batch: int = 1,
    tokens: int | None = None,
    encoder_tokens: int | None = None,
    dtype: str = "bfloat16",
    optimizer: str = "adamw",
    attention: str = "flash",
    checkpointing: bool = False,
    freeze: str | Sequence[str] = (),
    data_parallel: int = 1,
    zero: int = 0,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    expert_parallel: int = 1,
    text_tokens: int | None = None,
    images: Sequence[Any] = (),
    videos: Sequence[Any] = (),
    audios: Sequence[Any] = (),
    processed: bool = False,
) -> Training:
    """Return the memory and FLOPs of one training step on a rank, like `archspec memory --train`.

    A rank computes ``batch`` sequences of ``tokens`` tokens. ``freeze`` lists modules whose parameters are
    not trained, such as a vision tower; for ``images`` and the other media see :meth:`forward`.
    """
    lengths = lengths_in(locals())
    others = ("self", "lengths", "batch", "tokens", *ITEMS)
    options = {name: value for name, value in locals().items() if name not in (*others, "others")}
    from archspec.costs.lengths import usual_tokens
    from archspec.costs.media.items import modality_of
    from archspec.costs.records import MEDIA
    from archspec.models.memory import Training

    if (found := quantization_of(self.quantized_config)) is not None:
        message = "training a quantized model in full is not supported"
        help_ = f"use archspec lora for an adapter, or pass {option('set', {found.path: None})}"
        raise key_problem(self.quantized_config, found.path, message, help_)
    options["freeze"] = freeze.split(",") if isinstance(freeze, str) else freeze
    known, forward = usual_tokens(self.scope) if tokens is None else tokens, None
    if lengths.keys() & {*ITEMS} or (tokens is not None and modality_of(self.scope, self.architecture)):
        forward = self.forward(**lengths)
        batch, known = forward.call.batch, forward.call.tokens
        options["items"] = {name: getattr(forward.call, name) for name in MEDIA}
    step = Training(self.scope, self.architecture, self.tensors(), batch, known, **options)
    step.call = forward
    step.check_used(batch=None if batch == 1 else batch, tokens=tokens, encoder_tokens=encoder_tokens)
    return step
