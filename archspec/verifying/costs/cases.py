"""Cases to compare costs at: configs that both sides build, and the forward passes of each.

They are a prefill, a decode step, or several tokens on a past, with lengths below, at and above the windows
and chunks of the config.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.records import Call, Step
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.costs import instance
from archspec.reference.saved import training_model
from archspec.specs.records import Spec
from archspec.verifying.blame import Config
from archspec.verifying.costs.fitting import default_config
from archspec.verifying.costs.media import keeps_text, media_calls, shallow, takes_media
from archspec.verifying.verifier import TRIES, Verifier

ENCODER_TOKENS = 33
_CALLS = (Call(1, 1), Call(2, 5), Call(1, 67), Call(1, 600), Call(2, 1, 9), Call(1, 3, 67), Call(1, 1, 600))
_CALLS_OF_MANY_LAYERS = (Call(2, 67), Call(1, 5), Call(2, 3, 9))
_TRAINING_CALLS = (Call(2, 67), Call(3, 17), Call(1, 130))
_DEPTH, _SHALLOW = "num_hidden_layers", 6  # patterns of layers repeat after at most 6
_BOUNDS = ("window", "chunk", "block")  # in the names of fields at which FLOPs or caches change
_LONGEST, _LONGEST_STEP = 5000, 300  # tokens
_FEW = 3  # forward passes with media of most configs
_DRAWN = 6  # configs drawn for each one that is to run
_MROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [8, 12, 12]}
_GLM: Config = {"rope_parameters": {**_MROPE, "partial_rotary_factor": 0.5}}
_HUNYUAN: Config = {"head_dim": 64, "rope_parameters": _MROPE}
_EXPERTS: Config = {"mlp_layer_types": ["dense", "sparse"], "num_hidden_layers": 2, "num_experts_per_tok": 6}
_OCR: Config = {
    "sam_config": {"downsample_channels": [512, 896]},
    "encoder_config": {"hidden_size": 896, "num_attention_heads": 14, "num_key_value_heads": 2},
}
_MINICPMS = ("minicpm_ocr", "minicpmv4_6", "minicpmv4_7")
_MINICPM: Config = {"insert_layer_id": 0, "image_token_id": 101, "video_token_id": 102, "merger_times": 1}
_MUSE: Config = {
    "vision_config": {"hidden_size": 1536, "num_attention_heads": 16, "merge_size": 2},
    "out_hidden_size": 6144,
    "projector_hidden_size": 4096,
}
_NEEDED: dict[str, Config] = {  # without them the model is built, but its forward pass fails or takes long
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "clip_qkv": 8}},
    "bamba": {"attn_layer_indices": [1]},
    "lfm2_moe": {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"]},
    "granitemoehybrid": {
        "num_hidden_layers": 3,
        "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    },
    "aya_vision": {"vision_config": {"num_attention_heads": 16}},
    **dict.fromkeys(("glm4v_text", "glm_image_text"), _GLM),
    **dict.fromkeys(("glm4v", "glm46v", "glmga", "glm_image"), Config(text_config=_GLM)),
    "glm4v_moe_text": {**_GLM, "head_dim": 128},
    "glm4v_moe": {"text_config": {**_GLM, "head_dim": 128}},
    "deepseek_ocr2_text": _EXPERTS,
    "deepseek_ocr2": {"text_config": _EXPERTS, "vision_config": _OCR},
    "deepseek_ocr2_vision": _OCR,
    "granite4_vision": {
        "vision_config": {"model_type": "clip_vision_model", "image_size": 336, "patch_size": 14},
        "downsample_rate": "4/8",
        "deepstack_layer_map": [[1, 0], [2, 1]],
    },
    "kimi_k25": {
        "vision_config": {"hidden_size": 1152, "num_attention_heads": 16},
        "projection_hidden_size": 1152,
    },
    "molmo2": {
        "vision_config": {
            "hidden_size": 1152,
            "image_size": [378, 378],
            "patch_size": 14,
            "num_position_embeddings": 729,
        },
        "adapter_config": {"hidden_size": 1152, "text_hidden_size": 4096, "vision_feature_layer": [1, 0]},
        "text_config": {"hidden_size": 4096},
    },
    "muse_glimmer": _MUSE,
    "muse_spark": _MUSE,
    "phi4_multimodal": {"vision_config": {"image_size": 448, "crop_size": 448, "patch_size": 14}},
    "hunyuan_vl_text": _HUNYUAN,
    "hunyuan_vl": {"text_config": _HUNYUAN},
    "qwen3_omni_moe_text": {"num_attention_heads": 32},
    "qwen3_omni_moe_thinker": {"text_config": {"num_attention_heads": 32}},
    **dict.fromkeys(_MINICPMS, _MINICPM),
    **{f"{name}_vision": {"insert_layer_id": 0} for name in _MINICPMS},
    "udop": {"d_model": 128, "d_ff": 256},
    "zamba": {"num_hidden_layers": 7},
    "step3p5": {"sliding_window": 16},
    "step3p7": {"text_config": {"sliding_window": 16}},
}


class Case:
    """One architecture for one config, with the reference models that were built for it."""

    def __init__(self, spec: Spec, architecture: str, config: Config) -> None:
        self.spec, self.architecture, self.config = spec, architecture, config
        self._models: dict[Any, Any] = {}

    @property
    def scope(self) -> Scope:
        return Scope(self.spec, self.config)

    @property
    def takes_media(self) -> bool:
        """True if the class takes images, videos or audio."""
        return takes_media(self.architecture, self.spec.model_type)

    def forward(self, call: Call) -> Forward:
        """Return the costs by the spec. Errors: :class:`ArchspecError`."""
        return Forward(self.scope, self.architecture, *call)

    def model(self, trains: bool = False) -> Any:
        """Return the reference model. Errors: :class:`Refused`, :class:`Unavailable`."""
        if trains not in self._models:
            self._models[trains] = instance(self.architecture, self.config, self.spec.model_type, trains)
        return self._models[trains]

    def training_model(self, step: Step) -> Any:
        """Return the reference model in training mode. Errors: :class:`Refused`, :class:`Unavailable`."""
        key = step.dtype, step.attention, step.checkpointing, step.freeze
        if key not in self._models:
            self._models[key] = training_model(self.architecture, self.config, self.spec.model_type, step)
        return self._models[key]


def configs(spec: Spec, architecture: str, samples: int, seed: int) -> Iterator[Config]:
    """Yield the default config, the same with few layers, then random ones that both sides build.

    There are more than ``samples``, as some do not run. The last are default configs with one field of a
    random config each; most of these run.
    """
    default = default_config(spec)
    verifier = Verifier(spec, architecture, samples, seed)
    yield make_runnable(default, architecture)
    if takes_media(architecture, spec.model_type):
        yield make_runnable(shallow(spec.model_type, make_runnable(default, architecture)), architecture)
    else:
        yield make_runnable({**default, _DEPTH: _SHALLOW}, architecture)
    yield from _draw_configs(verifier, architecture)
    if not verifier.valid:
        verifier.sampler.accepted.append(default)  # which others then resemble
        yield from _draw_configs(verifier, architecture)
    for raw in verifier.valid:
        yield from (make_runnable({**default, name: value}, architecture) for name, value in raw.items())


def _draw_configs(verifier: Verifier, architecture: str) -> Iterator[Config]:
    """Yield random configs that both sides build, as long as there are not enough."""
    given = 0
    for _ in range(TRIES * verifier.samples):
        verifier.draw()
        yield from (make_runnable(raw, architecture) for raw in verifier.valid[given:])
        given = len(verifier.valid)
        if given >= _DRAWN * verifier.samples:
            break


def make_runnable(raw: Config, architecture: str) -> Config:
    """Add fields that only the forward pass needs; question answering has exactly two labels."""
    for name, value in _NEEDED.get(raw["model_type"], {}).items():
        raw = {**raw, name: {**raw.get(name, {}), **value} if isinstance(value, dict) else value}
    if architecture.endswith("ForQuestionAnswering"):
        return {name: raw[name] for name in raw if name not in ("num_labels", "id2label", "label2id")}
    return raw


def shallow_configs(spec: Spec, raws: Iterable[Config]) -> list[Config]:
    """Return the configs with few layers; all configs if none has."""
    found = list(raws)
    return [raw for raw in found if not _is_deep(Scope(spec, raw))] or found


def _is_deep(scope: Scope) -> bool:
    """Return True if a config has more layers than are needed to show each kind of layer."""
    depth = scope.get(_DEPTH) if scope.has(_DEPTH) else 0
    return type(depth) is int and depth > _SHALLOW


def calls(scope: Scope, encodes: bool) -> Iterator[Call]:
    """Return the forward passes to compare; only a few for a deep config."""
    values = [scope.get(name) for name in scope.spec.fields if any(word in name for word in _BOUNDS)]
    bounds = sorted({bound for bound in values if type(bound) is int and 1 < bound < _LONGEST})
    around = [Call(1, bound + more) for bound in bounds for more in (-1, 0, 1)]
    after = [Call(1, tokens, bound - 1 + more) for bound in bounds for more in (0, 1) for tokens in (1, 3)]
    chosen = _CALLS_OF_MANY_LAYERS if _is_deep(scope) else dict.fromkeys((*_CALLS, *around, *after))
    yield from _encoder_calls(chosen, encodes)


def forward_calls(case: Case, number: int) -> Iterator[Call]:
    """Return the forward passes to compare, with media if the class takes any.

    Those with media are all compared at the config with few layers, which is the second one.
    """
    if not takes_media(case.architecture, case.spec.model_type):
        yield from calls(case.scope, has_encoder_and_decoder(case.model()))
        return
    yield from islice(media_calls(case.scope, case.architecture, case.model()), None if number == 1 else _FEW)
    if keeps_text(case.model()):
        chosen = calls(case.scope, encodes=False)
        yield from chosen if number == 1 else islice(chosen, _FEW)


def text_calls(case: Case, _: int) -> Iterator[Call]:
    """Return the forward passes without media of a class that takes some and runs without, too."""
    if takes_media(case.architecture, case.spec.model_type) and keeps_text(case.model()):
        yield from calls(case.scope, encodes=False)


def training_calls(scope: Scope, encodes: bool) -> Iterator[Call]:
    """Return the forward passes without a past that are short enough for a training step, and more."""
    yield from (call for call in calls(scope, encodes) if not call.past and call.tokens <= _LONGEST_STEP)
    yield from _encoder_calls(_TRAINING_CALLS, encodes)


def media_step_calls(case: Case, number: int) -> Iterator[Call]:
    """Yield forward passes with media and without a past, a few at most configs."""
    given = media_calls(case.scope, case.architecture, case.model())
    yield from islice((call for call in given if not call.past), None if number == 1 else _FEW)


def with_encoder(call: Call, encoder_tokens: int) -> Call:
    """Return a forward pass with an encoder, which runs only if there is no past."""
    return call._replace(encoder_tokens=encoder_tokens, new_encoder_tokens=0 if call.past else encoder_tokens)


def _encoder_calls(chosen: Iterable[Call], encodes: bool) -> Iterator[Call]:
    for call in chosen:
        yield with_encoder(call, ENCODER_TOKENS) if encodes else call
        if encodes and not call.past:  # classifiers take only equal lengths; also tests the encoder's bounds
            yield with_encoder(call, call.tokens)
