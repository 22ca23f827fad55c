"""Costs of a forward pass of a transformers class, which torch counts on meta: FLOPs by module, KV cache.

FLOPs are those of transformers' eager code by torch's FlopCounterMode, 2 per multiply-add.
:mod:`archspec.reference.meta` supplies the values that meta tensors lack.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from operator import attrgetter
from types import MethodType
from typing import Any, NamedTuple

from archspec.costs.records import Call
from archspec.reference.classes import config_of, model_class
from archspec.reference.construction import build
from archspec.reference.contents import (
    by_module,
    cache_of,
    cache_tensors,
    configs_in,
    default_dtype,
    has_encoder_and_decoder,
    parameters_of,
)
from archspec.reference.media.running import NO_CACHE, has_media, media_output
from archspec.reference.meta import on_meta
from archspec.reference.verdicts import Unavailable, measuring_errors

_ASKED = ("inkling_text",)  # their configs do not ask for a cache, as generate() does
_ASKED_IN_CALL = ("dia", "higgs_audio_v2")  # they ignore their configs' use_cache
_CODES = {  # audio tokens of several codebooks at each position
    "csm": "num_codebooks",
    "dia": "decoder_config.num_channels",
    "kyutai_speech_to_text": "num_codebooks",
    "musicgen": "decoder.num_codebooks",
    **dict.fromkeys(("musicgen_decoder", "musicgen_melody_decoder"), "num_codebooks"),
}
_CODES_AFTER_TEXT = ("kyutai_speech_to_text",)
_CODES_IN_ROWS = ("musicgen", "musicgen_decoder", "musicgen_melody_decoder")
_LOOPING = ("Step3p7Experts",)  # their loop depends on values, and they have no other implementation
_WHOLE = ("cpmant",)  # their inputs repeat the cached positions
_GIVEN = ("granite4_vision", "granite4_vision_text")  # their decoders need a cache from generate()
_FLOAT32 = ("bros", "fnet", "hiera")  # they need float32: einsum with positions, Fourier transforms, a mask


class Measured(NamedTuple):
    """FLOPs of each module without its children's, by its dotted name; the cache's tensors.

    ``dtypes`` are those of the cache of a model in bfloat16.
    """

    flops: dict[str, int]
    cache: dict[str, tuple[int, ...]]
    dtypes: dict[str, str]


def prepared_config(model_type: str, raw: dict[str, Any], attention: str, use_cache: bool) -> Any:
    """Return the config of a model that is called, with another attention function.

    Errors: :class:`archspec.reference.Refused`, :class:`archspec.reference.Unavailable`.
    """
    config = config_of(model_type, raw)
    for one in configs_in(config):
        one._attn_implementation, one.return_dict = attention, True
        if hasattr(one, "use_cache") or not use_cache or one.model_type in _ASKED:
            one.use_cache = use_cache
        if getattr(one, "pad_token_id", 0) is None:
            one.pad_token_id = 0  # sequence classification looks for the last token that is not padding
    return config


def instance(architecture: str, raw: dict[str, Any], model_type: str, trains: bool = False) -> Any:
    """Return a model in bfloat16 on meta with eager attention, and experts that FlopCounterMode counts.

    If it ``trains`` it is in float32, without a cache, and its parameters require their gradients.

    Errors: :class:`archspec.reference.Refused`, :class:`archspec.reference.Unavailable`.
    """
    config = prepared_config(model_type, raw, "eager", not trains)
    for one in configs_in(config):
        if hasattr(one, "_experts_implementation"):
            one._experts_implementation = "batched_mm"
        if getattr(one, "languages", None):  # xmod uses the adapters of one language only
            one.languages = [one.default_language or one.languages[0]]
            one.default_language = one.languages[0]
    with default_dtype("float32" if trains or config.model_type in _FLOAT32 else "bfloat16"):
        model = build(model_class(architecture, model_type), config).to("meta").eval()
        _cast(model)
    if config.model_type in _GIVEN and not trains:
        _give_cache(model)
    _batch_experts(model)
    return model if trains else model.requires_grad_(False)


def _give_cache(model: Any) -> None:
    """Give a decoder a cache if it has none."""
    from transformers import DynamicCache

    def give(module: Any, args: Any, kwargs: Any) -> Any:
        kept = kwargs.get("cache")
        return args, {**kwargs, "cache": DynamicCache(config=module.config) if kept is None else kept}

    decoder = getattr(getattr(model, "model", model), "language_model", model)
    decoder.register_forward_pre_hook(give, with_kwargs=True)


def _batch_experts(model: Any) -> None:
    """Multiply the chosen experts' matrices also where transformers loops over those that are chosen."""
    from transformers.integrations.moe import batched_mm_experts_forward

    for module in model.modules():
        if type(module).__name__ in _LOOPING:
            module.has_gate = True
            module.has_bias = module.has_post_expert_norm = module.is_transposed = False
            module._is_expert_parallel = False
            module.forward = MethodType(batched_mm_experts_forward, module)


def _cast(model: Any) -> None:
    """Convert parameters to the dtypes of from_pretrained(): the default one, some float32."""
    import torch

    strict = getattr(model, "_keep_in_fp32_modules_strict", None) or ()  # a plain module has none
    for name, parameter in model.named_parameters():
        if parameter.is_floating_point():
            whole = any(word in name for word in strict)
            parameter.data = parameter.data.to(torch.float32 if whole else torch.get_default_dtype())


def measure(model: Any, call: Call) -> Measured:
    """Return the costs of a forward pass, after one of `past` tokens if there are any.

    Errors: :class:`archspec.reference.Unavailable` if the model does not run on meta, or lacks a cache.
    """
    from torch.utils.flop_counter import FlopCounterMode

    if has_media(call):
        output, counter = media_output(model, call, partial(FlopCounterMode, display=False))
    else:
        counter = FlopCounterMode(display=False)
        output = output_of(model, call, counter)
    kept = cache_tensors(model, output)
    shapes = {path: tuple(tensor.shape) for path, tensor in kept.items()}
    dtypes = {path: str(tensor.dtype).removeprefix("torch.") for path, tensor in kept.items()}
    return Measured(by_module(counter, model), shapes, dtypes)


def output_of(
    model: Any, call: Call, watching: AbstractContextManager[Any], cache: dict[str, Any] | None = None
) -> Any:
    """Return the output of a forward pass, with a ``cache``, or after a first one of `past` tokens.

    ``watching`` is entered around the forward pass. Errors: as of :func:`measure`.
    """
    if has_encoder_and_decoder(model) and not model.config.is_encoder_decoder:
        # T5 keeps one cache for both.
        raise Unavailable("an encoder-decoder whose config has is_encoder_decoder=False")
    with measuring_errors(), on_meta():
        restore_attention(model, call)
        given = {**(cache or {}), **past_of(model, call)}
        taken = inputs(model, call, given)
        with watching:
            return model(**taken, **given)


def past_of(model: Any, call: Call, ids: Callable[..., Any] | None = None) -> dict[str, Any]:
    """Return the arguments that a forward pass of `past` tokens passes to the next one; none without a past.

    ``ids`` makes the inputs, by default :func:`inputs`.
    """
    from transformers.modeling_outputs import MoEModelOutput

    if not call.past:
        return {}
    output = model(**(ids or inputs)(model, without_past(call, call.past)))
    name, cache = cache_of(output)
    if cache is None or (has_encoder_and_decoder(model) and name not in parameters_of(model)):
        raise ValueError(NO_CACHE)  # some heads return a cache that they do not accept
    encoded = getattr(output, "encoder_last_hidden_state", None)
    return {name: cache} if encoded is None else {name: cache, "encoder_outputs": MoEModelOutput(encoded)}


def without_past(call: Call, tokens: int) -> Call:
    """Return a forward pass of some tokens without a past, which computes all encoder tokens."""
    return call._replace(tokens=tokens, past=0, new_encoder_tokens=call.encoder_tokens)


def restore_attention(model: Any, call: Call) -> None:
    """Restore what a model changes in its first forward pass.

    BigBird switches to full attention for few tokens, and always with cross-attention. Reformer computes its
    number of buckets in its first long forward pass.
    """
    if hasattr(model.config, "num_buckets"):
        given = vars(model).setdefault("given_buckets", model.config.num_buckets)
        for holder in (model.config, *model.modules()):
            if hasattr(holder, "num_buckets"):
                holder.num_buckets = given
    if hasattr(model.config, "attention_type") and not getattr(model.config, "add_cross_attention", False):
        for module in model.modules():
            if hasattr(module, "set_attention_type"):
                module.set_attention_type(model.config.attention_type)
        model(**inputs(model, without_past(call, call.tokens)))


def inputs(model: Any, call: Call, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the inputs of a forward pass on the meta device; ``given`` replaces some of them.

    The sequences of multiple choice are the choices of one question.
    """
    import torch

    questions = [1] if type(model).__name__.endswith("ForMultipleChoice") else []

    def ids(*lengths: int) -> Any:
        return torch.zeros(*questions, call.batch, *lengths, dtype=torch.long, device="meta")

    def codes(length: int) -> Any:
        kind = model.config.model_type
        if kind not in _CODES:
            return ids(length)
        number = attrgetter(_CODES[kind])(model.config) + (kind in _CODES_AFTER_TEXT)
        return ids(length).repeat(number, 1) if kind in _CODES_IN_ROWS else ids(length, number)

    asks = model.config.model_type in _ASKED_IN_CALL and model.config.use_cache
    asked = {"use_cache": True} if asks else {}
    if not call.encoder_tokens:
        length = call.context if model.config.model_type in _WHOLE else call.tokens
        boxes = {"bbox": ids(length, 4)} if "bbox" in parameters_of(model) else {}
        return {"input_ids": codes(length), **boxes, **asked}
    first = None if given and "encoder_outputs" in given else ids(call.encoder_tokens)
    if "decoder_input_values" in parameters_of(model):  # SpeechT5's frames
        bins = next(model.parameters()).new_empty(call.batch, call.tokens, model.config.num_mel_bins)
        return {"input_ids": first, "decoder_input_values": bins}
    return {"input_ids": first, "decoder_input_ids": codes(call.tokens), **asked}


def symbolic_flops(model: Any, call: Call) -> Any:
    """Return FLOPs as torch counts them: a SymPy expression in `batch`, `tokens` and `encoder_tokens`.

    All lengths must differ. The expression is valid if torch takes the same branches as at these
    lengths. Errors: :class:`archspec.reference.Unavailable` for a model that does not run on symbols.
    """
    import sympy
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    from torch.utils.flop_counter import FlopCounterMode

    fake = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    names: dict[Any, Any] = {}
    counter = FlopCounterMode(display=False)
    with measuring_errors():
        taken = {
            name: _symbolic_input(fake, one, names, call) if isinstance(one, torch.Tensor) else one
            for name, one in inputs(model, call).items()
        }
        with on_meta(), fake, torch.no_grad(), counter:
            model(**taken)
    flops = counter.get_total_flops()
    found = flops.node.expr if isinstance(flops, torch.SymInt) else sympy.Integer(flops)
    return sympy.expand(found.xreplace(names))


def _symbolic_input(fake: Any, tensor: Any, names: dict[Any, Any], call: Call) -> Any:
    """Return an input whose first two sizes are symbols, and add these to `names`."""
    import sympy
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

    dynamic = [DimDynamic.DYNAMIC] * 2 + [DimDynamic.STATIC] * (tensor.ndim - 2)
    found = fake.from_tensor(
        tensor,
        source=ConstantSource(f"input{len(names)}"),
        symbolic_context=StatelessSymbolicContext(dynamic_sizes=dynamic),
    )
    for size, length in zip(found.shape[:2], tensor.shape[:2], strict=True):
        name = next((name for name, value in call._asdict().items() if value == length), None)
        if name is None:
            raise Unavailable("an input has sizes that are not those of the forward pass")
        names[size.node.expr] = sympy.Symbol(name)
    return found
