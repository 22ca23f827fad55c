"""The caches of hybrid and windowed models, and of task heads of encoder-decoders, equal those of a forward.

Heads return a cache that they do not take. Every other model type with costs whose config has windows, chunks
or kinds of layers, or whose cache is more than full keys and values, is called below, at and beyond its
window, and then for a step on that cache.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.costs import instance, measure
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.library import shipped_library
from archspec.verifying.costs.cases import make_runnable

RECORD = json.loads((Path(shipped_library().folder) / "costs.json").read_text())["types"]
WINDOW = 16
LENGTHS = re.compile("window|chunk")
KINDS = ("layer_types", "layers_block_type", "hybrid_override_pattern", "no_rope_layers")
LEGACY = {
    "mimo_v2_flash": {"sliding_window_size": WINDOW - 1},
    "dots3_note_text": {"sliding_window_size": WINDOW},
}
DEPTHS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "decoder_layers")
NAMES = {"latents": "keys", "rope_keys": "values"}
# The first call of these shows no cache, or their defaults are refused.
UNMEASURED = {"cohere_compass_text", "deepseek_v2", "lfm2_moe", "bamba", "granitemoehybrid", "dots1"}
MODEL_TYPES = """
    afmoe axk1 axk2 bailing_hybrid bamba beam cohere2 cohere2_moe cohere_compass_text cpmant cwm
    deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 doge dots1 dots3_note dots3_note_text exaone4
    exaone_moe falcon_h1 falcon_mamba flint gemma2 gemma3 gemma3_text gemma3n_text gemma4 gemma4_text
    gemma4_unified gemma4_unified_text glm4_moe_lite glm_moe_dsa gpt_neo gpt_oss granite_speech
    granite_speech_plus granite_swa granitemoe_swa granitemoehybrid hy_v4 inkling2_text inkling_text
    jamba kimi_linear kolibri1 laguna led lfm2 lfm2_moe lfm3 llama4 llama4_text longformer mamba mamba2
    mellum mimo_v2_flash minicpm3 minimax minimax_m3_vl_text ministral ministral3 mistral mistral4
    mixtral modernbert modernbert-decoder moshi nemo_speechlm nemotron_h neomme olmo3 olmo_hybrid
    openai_privacy_filter phi3 phi4_multimodal phimoe qwen2 qwen2_moe qwen3 qwen3_5 qwen3_5_moe
    qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next recurrent_gemma reformer rwkv smollm3 starcoder2
    ultrabert vaultgemma vibevoice_asr xlnet xlstm yoso youtu zamba2 zaya
""".split()  # noqa: SIM905
HEADS = ("ForSequenceClassification", "ForQuestionAnswering", "ForTokenClassification", "ForMultipleChoice")
NARROW = {"num_layers": 1, "num_decoder_layers": 1, "encoder_layers": 1, "decoder_layers": 1}
CALLS = (Call(1, 9), Call(1, 15), Call(2, 16), Call(1, 17), Call(1, 40))
STEPS = (Call(1, 1, 9), Call(1, 1, 15), Call(2, 1, 16), Call(1, 3, 40))


def architecture_of(model_type: str) -> str:
    exact = RECORD[model_type]["exact"]
    return next((name for name in exact if name.endswith("ForCausalLM")), exact[0])


def _keeps_more(model_type: str) -> bool:
    """Return True for a cache with something other than full keys and values."""
    try:
        call = Forward(Scope(shipped_library().load(model_type), {}), architecture_of(model_type), 1, 9)
    except ArchspecError:
        return False
    return any(tensor.kind not in ("full", "cross") for tensor in call.cache)


def configs(model_type: str, shallow: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Configs of few layers: the default window, and a short one under each name that gives it."""
    spec = shipped_library().load(model_type)
    given = {"model_type": model_type, **shallow}
    names = [name for name in (*spec.fields, *spec.attribute_map) if LENGTHS.search(name)]
    scope = Scope(spec, {})
    short = [name for name in names if scope.has(name) and type(scope.get(name)) in (int, type(None))]
    yield from (given, *({**given, name: WINDOW} for name in short))
    if model_type in LEGACY:
        yield {**given, **LEGACY[model_type]}


@pytest.mark.reference
@pytest.mark.slow
@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_the_cache_is_that_of_a_real_forward(model_type: str) -> None:
    spec = shipped_library().load(model_type)
    depth = next((name for name in DEPTHS if name in spec.fields), None)
    for layers in (4, 6, 12, None) if depth else (None,):  # as few as have each kind of layer
        shallow = {depth: layers} if depth and layers else {}
        if sum(compared(model_type, raw) for raw in configs(model_type, shallow)):
            return
    assert model_type in UNMEASURED


@pytest.mark.slow
def test_no_model_type_is_left_out() -> None:
    found = []
    for model_type, line in RECORD.items():
        spec = shipped_library().load(model_type)
        named = any(LENGTHS.search(name) or name in KINDS for name in spec.fields)
        if line["exact"] and (named or _keeps_more(model_type)):
            found.append(model_type)
    assert found == MODEL_TYPES


def compared(model_type: str, raw: dict[str, Any]) -> int:
    """The number of calls of a config that were compared."""
    spec, architecture = shipped_library().load(model_type), architecture_of(model_type)
    raw, count = make_runnable(raw, architecture), 0
    try:
        Scope(spec, raw).validate()
        model = instance(architecture, raw, model_type)
    except (ArchspecError, Refused, Unavailable):
        return 0
    for call in (*CALLS, *STEPS):
        if has_encoder_and_decoder(model):
            call = call._replace(encoder_tokens=11, new_encoder_tokens=0 if call.past else 11)
        try:
            theirs, ours = measure(model, call), Forward(Scope(spec, raw), architecture, *call)
        except (Unavailable, ArchspecError):
            continue
        by_layer = any("layers." in path for path in theirs.cache)  # not in plain lists of states
        assert kept_by(ours, by_layer) == returned(theirs.cache, by_layer), (raw, call)
        count += 1
    return count


def kept_by(call: Forward, by_layer: bool = True) -> Counter[Any]:
    named = [(tensor.layer, NAMES.get(tensor.name, tensor.name), tensor.shape) for tensor in call.cache]
    return Counter(
        (layer if by_layer else None, name if name in ("keys", "values") else "", shape)
        for layer, name, shape in named
    )


def returned(tensors: dict[str, tuple[int, ...]], by_layer: bool = True) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for path, shape in tensors.items():
        layer = next((int(part) for part in path.split(".") if part.isdigit() and by_layer), None)
        name = path.rpartition(".")[2]
        found[layer, name if name in ("keys", "values") else "", shape] += 1
    return found


def heads() -> list[tuple[str, str]]:
    """The task heads, with costs, of every model type that has an encoder and a decoder."""
    return [
        (model_type, name)
        for model_type, line in RECORD.items()
        for name in line["exact"]
        if name.endswith(HEADS) and any(one.endswith("ForConditionalGeneration") for one in line["exact"])
    ]


@pytest.mark.reference
@pytest.mark.parametrize(("model_type", "architecture"), heads())
def test_a_head_keeps_the_tensors_that_its_forward_returns(model_type: str, architecture: str) -> None:
    spec = shipped_library().load(model_type)
    raw = {"model_type": model_type} | {name: count for name, count in NARROW.items() if name in spec.fields}
    model = instance(architecture, raw, model_type)
    call = Call(2, 7, 0, 7, 7) if has_encoder_and_decoder(model) else Call(2, 7)
    ours = Forward(Scope(spec, raw), architecture, *call)
    theirs = Counter(measure(model, call).cache.values())
    assert Counter(tensor.shape for tensor in ours.cache) == theirs


def test_question_answering_of_t5_returns_its_cache_and_takes_none() -> None:
    model = archspec.load("T5ForQuestionAnswering")
    kept = model.cache(tokens=5, encoder_tokens=9, dtype="bf16")
    assert kept.cache_bytes["exact"] == 2 * 6 * 2 * 8 * 64 * (5 + 9)
    with pytest.raises(ArchspecError, match="returns a KV cache, but its forward does not take one"):
        model.forward(tokens=1, past=4, encoder_tokens=9)


def test_mimo_reads_its_window_under_the_name_of_the_hub() -> None:
    config = {"model_type": "mimo_v2_flash", "num_hidden_layers": 4}
    config |= {"architectures": ["MiMoV2FlashForCausalLM"]}
    kept = archspec.load({**config, "sliding_window_size": 512, "sliding_window": 128}).forward(tokens=4096)
    assert {tensor.shape[2] for tensor in kept.cache if tensor.kind == "window"} == {512}
    also = archspec.load({**config, "sliding_window": 513, "attention_chunk_size": 128}).forward(tokens=4096)
    assert also.cache == kept.cache


def test_a_key_that_only_the_cache_reads_is_refused_where_it_stands() -> None:
    config = {"model_type": "llama", "num_hidden_layers": 2, "sliding_window": 16}
    with pytest.raises(ArchspecError, match="sliding_window is read by") as caught:
        archspec.load(config, "LlamaForCausalLM").forward(tokens=5)
    assert "head" not in str(caught.value)
