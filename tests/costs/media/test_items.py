"""Costs of modules that run on the images, videos and audios of a call."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.media.items import default_sizes, takes
from archspec.costs.media.sizes import UNKNOWN
from archspec.costs.records import Call, inner_axes
from archspec.errors import ArchspecError
from archspec.specs.library import shipped_library
from archspec.symbolic.closed_form import ClosedForm

_TWO = {"num_hidden_layers": 2}
_TEXT = {"model_type": "llama", "vocab_size": 99, "hidden_size": 8, "intermediate_size": 9, **_TWO}
_TEXT |= {"num_attention_heads": 2, "num_key_value_heads": 1}
_TOWER = {"model_type": "clip_vision_model", "hidden_size": 8, "intermediate_size": 9, **_TWO}
_TOWER |= {"num_attention_heads": 2, "image_size": 56, "patch_size": 14}
_LLAVA = {"vision_config": _TOWER, "text_config": _TEXT}


def forward(model_type: str, architecture: str, raw: dict[str, Any] | None = None, **given: Any) -> Forward:
    """Return the costs of a class, whether or not they are validated."""
    scope = Scope(shipped_library().load(model_type), {"model_type": model_type, **(raw or {})})
    return Forward(scope, architecture, **given)


def llava(**given: Any) -> Forward:
    return forward("llava", "LlavaForConditionalGeneration", _LLAVA, **given)


def test_a_vision_transformer_has_a_known_cost() -> None:
    assert forward("vit", "ViTModel", _TWO, batch=2).flops == 12_096_417_792


def test_images_of_unlike_sizes_are_added_up() -> None:
    sizes = ((224, 224), (320, 160), (320, 160))
    parts = [forward("vit", "ViTModel", _TWO, images=(size,)).flops for size in sizes]
    assert forward("vit", "ViTModel", _TWO, images=sizes).flops == sum(parts)


def test_the_batch_of_a_vision_model_is_its_images() -> None:
    one = forward("vit", "ViTModel", _TWO, images=((96, 96),))
    four = forward("vit", "ViTModel", _TWO, images=((96, 96),), batch=4)
    assert four.flops == 4 * one.flops == forward("vit", "ViTModel", _TWO, images=((96, 96),) * 4).flops
    with pytest.raises(ArchspecError, match="batch=3 does not fit 2 images"):
        forward("vit", "ViTModel", _TWO, images=((96, 96), (64, 96)), batch=3)


def test_text_tokens_exclude_those_of_images() -> None:
    call = llava(text_tokens=5, images=((56, 56),) * 3, batch=2)
    assert call.tokens_by_item == {"images": [16, 16, 16]} and call.item_tokens == 48
    assert call.call.tokens == 5 + 2 * 16  # the first sequence has two of the three images
    with pytest.raises(ArchspecError, match="alone are 32 tokens"):
        llava(tokens=31, images=((56, 56),) * 3, batch=2)


def test_an_idle_tower_costs_nothing() -> None:
    text = forward("llama", "LlamaForCausalLM", _TEXT, tokens=7)
    assert llava(tokens=7).flops == text.flops
    after = llava(tokens=1, past=20, images=((56, 56),))
    assert after.flops == forward("llama", "LlamaForCausalLM", _TEXT, tokens=1, past=20).flops
    assert after.cache_elements() == 2 * 2 * 21 * 4


def test_a_decoder_attends_to_the_whole_audio() -> None:
    small = {"encoder_layers": 1, "decoder_layers": 1}
    call = forward("whisper", "WhisperModel", small, tokens=3, batch=2)
    cross = [kept for kept in call.cache if kept.kind == "cross"]
    assert [kept.shape for kept in cross] == [(2, 6, 1500, 64)] * 2
    with pytest.raises(ArchspecError, match="the length of the encoder follows from the audios"):
        forward("whisper", "WhisperModel", small, tokens=3, encoder_tokens=9)


_EIGHT = {"audios": (3000,) * 8}
_ONE_EACH = [
    ("whisper", "WhisperModel", _EIGHT),
    ("speech_to_text", "Speech2TextModel", _EIGHT),
    ("speecht5", "SpeechT5ForSpeechToText", {"audios": (16000,) * 8}),
    ("moonshine", "MoonshineModel", {"audios": (16000,) * 8}),
    ("parakeet_rnnt", "ParakeetForRNNT", {"audios": (160,) * 8}),
    ("vision-encoder-decoder", "VisionEncoderDecoderModel", {"images": ((224, 224),) * 8}),
    ("pix2struct", "Pix2StructForConditionalGeneration", {"images": ((64, 64),) * 8}),
    ("blip", "BlipForConditionalGeneration", {"images": ((384, 384),) * 8}),
]


@pytest.mark.parametrize(("model_type", "architecture", "items"), _ONE_EACH)
def test_a_sequence_that_attends_to_an_item_has_one(
    model_type: str, architecture: str, items: dict[str, Any]
) -> None:
    """Several clips of one sequence fail in transformers."""
    message = r"takes one \w+ for each sequence: 8 do not fit batch=1\nhelp: pass batch=8"
    with pytest.raises(ArchspecError, match=message):
        forward(model_type, architecture, tokens=4, **items)
    whole = forward(model_type, architecture, tokens=4, batch=8, **items)
    [(modality, given)] = items.items()
    each = forward(model_type, architecture, tokens=4, batch=8, **{modality: given[:1]})
    assert whole.flops_by_module == each.flops_by_module


def test_sequences_have_equally_many_items_to_attend_to() -> None:
    image = (448, 448)
    with pytest.raises(ArchspecError, match="3 images for 2 sequences: MllamaModel takes as many for each"):
        forward("mllama", "MllamaModel", tokens=4, batch=2, images=(image,) * 3)
    with pytest.raises(ArchspecError, match="Speech2TextModel takes audios of one size"):
        forward("speech_to_text", "Speech2TextModel", tokens=4, batch=2, audios=(1000, 501))


def test_a_class_that_needs_images_asks_for_them() -> None:
    message = r"does not run without images\nhelp: pass images=\['224x224'\]"
    for model_type, architecture in (("blip-2", "Blip2Model"), ("kosmos-2", "Kosmos2Model")):
        scope = Scope(shipped_library().load(model_type), {"model_type": model_type})
        assert default_sizes(scope, architecture) == {"images": (224, 224)}
        with pytest.raises(ArchspecError, match=message):
            forward(model_type, architecture, tokens=99)


def test_an_instruction_has_a_length_of_its_own() -> None:
    image = {"images": ((224, 224),), "tokens": 50}
    with pytest.raises(
        ArchspecError, match=r"also reads an instruction with its images\nhelp: pass its length, enc"
    ):
        forward("instructblip", "InstructBlipModel", **image)
    short, longer = (
        forward("instructblip", "InstructBlipModel", encoder_tokens=one, **image).flops_by_module
        for one in (4, 9)
    )
    path = "qformer.encoder.layer.0."
    names = {"intermediate.dense", "attention.attention.query", "crossattention.attention.query"}
    found = {name: longer[path + name] / short[path + name] for name in names}
    assert found == {
        "intermediate.dense": 9 / 4,
        "attention.attention.query": (32 + 9) / (32 + 4),
        "crossattention.attention.query": 1,
    }


def test_both_modalities_are_added_up() -> None:
    """ERNIE's experts of images run on the tokens of images and of videos, and on those around them."""
    raw = {"text_config": {"num_hidden_layers": 2}, "vision_config": {"depth": 1}}
    items = {"images": ((56, 84),), "videos": ((4, 56, 56),)}
    call = forward("ernie4_5_vl_moe", "Ernie4_5_VLMoeModel", raw, tokens=99, **items)
    assert call.tokens_by_item == {"images": [6], "videos": [8]}
    gates = [
        call.flops_by_module[f"language_model.layers.1.mlp.{one}_moe.gate"] for one in ("text", "vision")
    ]
    assert [one // (2 * 2560 * 64) for one in gates] == [99 - 18, 18]


def test_an_audio_of_whole_frames() -> None:
    raw = {"num_key_value_heads": 8}
    assert forward("moonshine_streaming", "MoonshineStreamingModel", raw, tokens=4, audios=(1600,)).flops
    with pytest.raises(ArchspecError, match="length of audios must be multiples of 80, not 1,601"):
        forward("moonshine_streaming", "MoonshineStreamingModel", raw, tokens=4, audios=(1601,))


def test_patches_without_pixels_are_refused() -> None:
    raw = {"vision_config": {"patch_embed_hidden_size": 2}}
    with pytest.raises(ArchspecError, match="the forward pass fails: images have patches of 0×0"):
        forward("pix2struct", "Pix2StructForConditionalGeneration", raw, tokens=4, images=((64, 64),))


def test_pooling_to_more_tokens_than_patches_is_refused() -> None:
    """Gemma 3's default config makes 256 tokens of 14 x 14 patches, which fails in transformers."""
    assert forward("gemma3", "Gemma3ForConditionalGeneration", tokens=9).flops
    with pytest.raises(ArchspecError, match="the forward pass fails: AvgPool2d has a kernel of size 0 × 0"):
        forward("gemma3", "Gemma3ForConditionalGeneration", tokens=300, images=((224, 224),))


def test_placeholders_of_an_encoder_decoder_are_tokens_of_its_encoder() -> None:
    image = {"images": ((64, 64),)}  # 2 x 2 positions and their mean
    call = forward("florence2", "Florence2Model", tokens=3, encoder_tokens=9, **image)
    assert call.tokens_by_item == {"images": [5]}
    assert forward("florence2", "Florence2Model", text_tokens=3, encoder_tokens=9, **image).call.tokens == 3
    with pytest.raises(ArchspecError, match="encoder_tokens=4: images, videos and audios alone are 5"):
        forward("florence2", "Florence2Model", tokens=3, encoder_tokens=4, **image)


def test_a_head_runs_on_the_items_of_its_model() -> None:
    head = {"vocab_size": 99, **_TWO, "vision_config": {**_TWO, "image_size": 32}}  # 5 tokens
    heads = [
        forward("git", "GitForCausalLM", head, tokens=3, past=past, images=((32, 32),)) for past in (0, 7)
    ]
    found = [one.flops_by_module["output"] for one in heads]
    assert found == [2 * 8 * 768 * 99, 2 * 3 * 768 * 99]


def test_frames_have_the_size_of_an_image() -> None:
    raw = {"vision_config": _TOWER, "text_config": _TEXT}
    call = forward("video_llava", "VideoLlavaModel", raw, tokens=99, videos=((3, 56, 56),))
    assert call.tokens_by_item["videos"] == [3 * 17]
    with pytest.raises(ArchspecError, match="takes videos of 56×56, not 64×56"):
        forward("video_llava", "VideoLlavaModel", raw, tokens=99, videos=((3, 56, 64),))


def test_what_a_class_takes() -> None:
    def found(model_type: str, name: str) -> Any:
        return takes(Scope(shipped_library().load(model_type), {"model_type": model_type}), name)

    assert found("vit", "ViTModel") == {"images": (224, 224)}
    assert found("resnet", "ResNetModel") == {"images": None}
    assert found("llava", "LlavaModel") == {"images": (336, 336)}
    assert found("whisper", "WhisperModel") == {"audios": (3000,)}
    assert found("llama", "LlamaModel") == {}


def test_the_inputs_of_a_model() -> None:
    names = ("LlamaModel", "ResNetModel", "LlavaModel", "WhisperModel", "Wav2Vec2Model")
    llama, resnet, llava_model, whisper, wav2vec2 = (archspec.load(name).inputs for name in names)
    assert llama == {"text": None} and resnet == {"images": None} and wav2vec2 == {"audios": None}
    assert llava_model == {"text": None, "images": None}  # it runs without images
    assert whisper == {"text": None, "audios": (3000,)}


def test_tokens_exclude_text_tokens() -> None:
    model = archspec.load("LlavaModel")
    with pytest.raises(ArchspecError, match="text_tokens cannot be combined with tokens"):
        model.forward(tokens=5, text_tokens=5)


def test_what_a_model_receives() -> None:
    found = archspec.load("ViTModel").flops(images=["2@640x480"])
    assert found.input_rows() == [
        ("batch size", "2"),
        ("images received", "2 of 224×224"),
        ("image 640×480", "resized to 224×224"),
        ("processor", "defaults of ViTImageProcessor"),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": ((60, 56),)}, "takes images of 56×56, not 56×60"),
        ({"images": ((56,),)}, "is not a size"),
        ({"images": ((0, 56),)}, "is not a size"),
        ({"videos": ((2, 56, 56),)}, "does not take videos"),
        ({"audios": (9,)}, "does not take audios"),
    ],
)
def test_other_items_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        llava(tokens=99, **given)


def test_a_missing_size_is_asked_for() -> None:
    with pytest.raises(ArchspecError, match="the size of the images is missing"):
        forward("resnet", "ResNetModel")


def test_a_formula_holds_at_other_sizes() -> None:
    scope = Scope(shipped_library().load("resnet"), {"model_type": "resnet"})
    form = ClosedForm.derive(scope, "ResNetModel", "flops", Call(1, 1, images=((64, 96),)))
    for size in ((33, 47), (64, 97), (101, 32)):
        there = {**form.symbols, "height": size[0], "width": size[1], "batch": 3}
        exact = forward("resnet", "ResNetModel", images=(size,), batch=3).flops
        assert form.value_at(there) == exact
    assert "ceiling" in str(form.expr) and "floor(floor" not in str(form.expr)


def test_the_tokens_of_an_image_have_a_formula() -> None:
    scope = Scope(shipped_library().load("llava"), {"model_type": "llava", **_LLAVA})
    form = ClosedForm.derive(scope, "LlavaModel", "item_tokens", Call(1, 99, images=((56, 56),) * 2))
    assert {symbol.name for symbol in form.expr.free_symbols} >= {"images", "height", "width"}
    assert form.evaluate() == 32


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("Qwen2VLForConditionalGeneration", {"images": [(224, 448), (56, 56)], "videos": [(4, 56, 84)]}),
        ("LlavaNextForConditionalGeneration", {"images": [(768, 1024), (336, 336)]}),
        ("PaliGemmaForConditionalGeneration", {"images": [(224, 224)] * 2}),
        ("Qwen2AudioForConditionalGeneration", {"audios": ["30s"]}),
    ],
)
def test_text_tokens_and_all_tokens_give_the_same_costs(name: str, items: dict[str, Any]) -> None:
    """The second build takes over parts of the first one, whose sequences are shorter."""
    by_text = archspec.load(name).forward(batch=1, text_tokens=9, **items)
    by_all = archspec.load(name).forward(batch=1, tokens=by_text.call.tokens, **items)
    assert by_text.flops_by_module == by_all.flops_by_module
    assert by_text.cache == by_all.cache
    assert by_text.tokens_by_item == by_all.tokens_by_item
    assert (by_text.built.encodes, by_text.built.attends) == (by_all.built.encodes, by_all.built.attends)


def test_the_usual_number_of_tokens_holds_all_items() -> None:
    model = archspec.load("LlavaNextForConditionalGeneration")
    assert model.forward(images=[(768, 1024)]).call.tokens == 2340 + 1
    assert model.forward(images=[(336, 336)]).call.tokens == 2048
    formula = model.quantity("item_tokens", images=[(768, 1024)])
    assert formula.evaluate() == model.forward(images=[(768, 1024)]).item_tokens == 2340


def test_a_line_on_a_file_has_the_tokens_of_all_its_tensors() -> None:
    call = archspec.load("Idefics3ForConditionalGeneration").forward(images=["2@1024x768"], text_tokens=1)
    assert call.files[0].startswith("image 1024×768: resized to 1456×1092") and len(call.files) == 2
    assert call.files[0].endswith("390 tokens") and call.item_tokens == 2 * 390
    only = archspec.load("LlavaModel").forward(images=[(768, 1024)], text_tokens=1).files[0]
    assert only == "image 1024×768: resized to 336×336, the only size that LlavaModel takes, 576 tokens"


def test_the_text_model_limits_the_tokens_of_the_whole() -> None:
    model = archspec.load("CLIPModel")
    assert model.forward(images=[(224, 224)]).call.tokens == 77
    with pytest.raises(ArchspecError, match=r"text_config.max_position_embeddings = 77"):
        model.forward(tokens=78, images=[(224, 224)])


def test_files_that_a_class_does_not_take_are_refused_as_such() -> None:
    with pytest.raises(ArchspecError, match="Qwen2VLModel does not take audios\nhelp: leave out audios"):
        archspec.load("Qwen2VLModel").forward(audios=["30s"])
    with pytest.raises(ArchspecError, match=r"pass audios=\['3000f'\], or leave out audios"):
        archspec.load("WhisperModel").forward(tokens=4, audios=["2000f"])


def test_a_head_multiplies_the_feature_maps_of_its_backbone() -> None:
    swin = {"model_type": "swin", "embed_dim": 32, "depths": [1] * 4, "num_heads": [1] * 4}
    found = forward(
        "maskformer",
        "MaskFormerForInstanceSegmentation",
        {"backbone_config": {**swin, "image_size": 64}, "decoder_config": {"decoder_layers": 1}},
        images=((64, 96),),
    )
    assert found.flops_by_module[""] == 2 * 100 * 256 * 16 * 24


def test_an_unknown_size_is_the_context_of_what_runs_on_it() -> None:
    axes = {"past": 0, "tokens": UNKNOWN, "context": UNKNOWN, "times": 1, "trained": 1}
    assert inner_axes(axes, {"batch": 1})["context"] is UNKNOWN


@pytest.mark.parametrize(
    ("model_type", "architecture", "items"),
    [
        ("pixtral", "PixtralVisionModel", {"images": ((15, 160),)}),  # thinner than a patch
        ("pixtral", "PixtralVisionModel", {"images": ((15, 160), (160, 160)), "batch": 2}),
        ("wav2vec2", "Wav2Vec2ForXVector", {"audios": (4000,)}),  # shorter than what the last layers see
        ("vjepa2", "VJEPA2Model", {"videos": ((1, 256, 256),)}),  # fewer frames than a patch
    ],
)
def test_items_that_leave_no_positions_are_refused(model_type: str, architecture: str, items: Any) -> None:
    with pytest.raises(ArchspecError, match=r"^the ((images|videos) are too small|audio is too short): "):
        forward(model_type, architecture, **items)


def test_padded_patches_run_through_the_tower() -> None:
    """SigLIP 2's processor pads each image to a fixed number of patches."""
    tower = {"num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 2, "intermediate_size": 36}

    def flops(height: int, width: int, patches: int = 0) -> int:
        padded = (("images", patches),) if patches else ()
        given = {"batch": 1, "tokens": 1, "images": ((height, width),), "padded": padded}
        return forward("siglip2_vision_model", "Siglip2VisionModel", tower, **given).flops

    assert flops(64, 96, 48) == flops(96, 128) > flops(64, 96) == flops(64, 96, 24)


@pytest.mark.parametrize(
    ("model_type", "architecture", "patches"),
    [
        ("siglip2", "Siglip2ForImageClassification", 256),
        ("lfm2_vl", "Lfm2VlForConditionalGeneration", 1024),
        ("gemma4", "Gemma4ForConditionalGeneration", 280 * 9),
        ("gemma4_unified", "Gemma4UnifiedForConditionalGeneration", 280),
    ],
)
def test_files_have_the_patches_of_their_processor(model_type: str, architecture: str, patches: int) -> None:
    from archspec.costs.media.items import requested_items

    scope = archspec.load({"model_type": model_type, "vision_config": {}}, architecture).scope
    found = requested_items(scope, architecture, {"images": ["1024x768"]})
    assert found.padded == (("images", patches),)
    assert requested_items(scope, architecture, {"images": ["96x96"]}, processed=True).padded == ()
