"""The lines of a spec that a tensor, a difference or a refusal leads to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from altering import altered

from archspec.configs.scope import Scope
from archspec.errors import Place
from archspec.reference import spec_rows
from archspec.specs.library import shipped_library
from archspec.tree.builder import Builder
from archspec.tree.node import Node
from archspec.tree.tensors import tensors
from archspec.verifying.blame import blamed_places, class_places, refusing_places
from archspec.verifying.comparison import count
from archspec.verifying.trail import trail_of
from tools.alterations import alterations

pytestmark = pytest.mark.reference
LINEAR = ("Linear", "BertSelfAttention", "BertAttention", "BertLayer")


def built(model_type: str, architecture: str) -> Node:
    return Builder(Scope(shipped_library().load(model_type), {"model_type": model_type})).build(architecture)


def starts(places: list[Place], start: str) -> bool:
    return any(place.source.line(place.line).strip().startswith(start) for place in places)


@pytest.mark.parametrize(
    ("model_type", "architecture", "name", "start"),
    [
        ("bert", "BertModel", "encoder.layer.3.attention.self.query.weight", "query:"),
        ("bert", "BertModel", "encoder.layer.99", "layer: BertLayer() for"),
        ("bert", "BertModel", "encoder.layer.0.crossattention.self.query.weight", "crossattention:"),
        ("bert", "BertModel", "embeddings.no_such.weight", "TextEmbeddings(size, dropout=0.0):"),
        ("bert", "BertLMHeadModel", "cls.predictions.bias", "bias: Parameter"),
        ("t5", "T5Model", "encoder.block.0.layer.1.DenseReluDense.wi.weight", "wi: Linear"),
        ("llama", "LlamaForCausalLM", "model.layers.0.mlp.up_proj.bias", "up_proj:"),
        ("nllb-moe", "NllbMoeModel", "encoder.layers.3.ffn.experts.expert_5.fc1.weight", "fc1:"),
    ],
)
def test_a_tensor_leads_to_its_line(model_type: str, architecture: str, name: str, start: str) -> None:
    assert starts(trail_of(built(model_type, architecture), name)[-1:], start)


def test_an_item_of_a_list_leads_to_the_class_that_may_lack_another() -> None:
    """A missing item of a Sequential moves those after it: no line of an item is wrong."""
    tree = built("regnet", "RegNetModel")
    name = next(row[0] for row in spec_rows(tensors(tree)) if ".attention.2.weight" in row[0])
    lines = [place.line for place in trail_of(tree, name)]
    assert (
        shipped_library().load("regnet").modules["RegNetSELayer"].place.line in lines
        and lines[-1] != lines[-2]
    )


@pytest.mark.parametrize(
    ("owners", "start"),
    [
        (LINEAR, "BertAttention(is"),  # the outer class
        (LINEAR, "attention: BertAttention"),  # and the way to it
        (("BertCrossAttention", "BertEncoder"), "BertEncoder:"),  # a class that is not built
        (("BertSparseAttention", "BertAttention"), "BertSelfAttention:"),  # or the one with another name
    ],
)
def test_a_class_that_refuses_leads_to_its_lines(owners: tuple[str, ...], start: str) -> None:
    assert starts(class_places(shipped_library().load("bert"), built("bert", "BertModel"), owners), start)


def test_a_refused_argument_leads_to_the_module_around_it() -> None:
    """TrOCR's decoder adds one to the padding's position for its embeddings: null fails there."""
    spec = shipped_library().load("trocr")
    raw = {"model_type": "trocr", "use_learned_position_embeddings": False}
    tree = count(spec, "TrOCRForCausalLM", raw).tree
    owners = ("TrOCRDecoder", "TrOCRForCausalLM")
    lines = [place.line for place in blamed_places(spec, tree, "accepted", "", owners)]
    assert spec.modules["TrOCRSinusoidalPositionalEmbedding"].place.line in lines
    assert lines[0] == spec.modules["TrOCRDecoder"].place.line


PATCHES = "patch_size if is_list(patch_size) else [patch_size, patch_size]"
CHANNELS = "v: v_channels if v_channels is not None else qk"


@pytest.mark.parametrize(
    ("model_type", "architecture", "old", "new", "raw", "start"),
    [  # a local name that is passed as an argument; a fixed value that another is computed from
        ("perceiver", "PerceiverModel", CHANNELS, "v: v_channels", {"v_channels": None}, "v: v_channels"),
        ("videomae", "VideoMAEModel", PATCHES, "patch_size", {}, "patch: "),
    ],
)
def test_a_refusal_leads_to_what_was_read(
    model_type: str, architecture: str, old: str, new: str, raw: dict[str, Any], start: str
) -> None:
    wrong = altered(model_type, old, new)
    config = {"model_type": model_type, **raw}
    counted = count(wrong, architecture, config)
    assert counted.error is not None
    assert starts(refusing_places(wrong, architecture, config, counted.tree, counted.error), start)


def test_a_refusal_without_a_line_leads_to_where_a_condition_would_be() -> None:
    """DeepSeek-V4's lists of layers are too long: without its condition a rule for all specs refuses."""
    spec, raw = shipped_library().load("deepseek_v4"), {"model_type": "deepseek_v4"}
    counted = count(spec._replace(require=spec.require[1:]), "DeepseekV4Model", raw)
    assert counted.error is not None
    places = refusing_places(spec, "DeepseekV4Model", raw, counted.tree, counted.error)
    assert [place.line for place in places] == [spec.fields["mlp_layer_types"].place.line, 1]


def test_an_expression_over_several_lines_is_named_by_its_first() -> None:
    change = next(one for one in alterations("moshi") if one.what.startswith("fixed.audio_codes"))
    spec, raw = change.load("moshi"), {"model_type": "moshi"}
    ours = count(spec, "MoshiModel", raw)
    assert ours.error is not None
    lines = {place.line for place in refusing_places(spec, "MoshiModel", raw, None, ours.error)}
    assert change.lines & lines


def test_local_names_of_a_module_that_is_given_by_a_call_are_named(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(
        "model_type: toy\nconfig: {d: 4, heads: 2}\nmodules:\n  Attention(size):\n    where:\n"
        "      width: heads * size\n    k_proj: Linear(d, width)\n  SlidingAttention: Attention(3)\n"
        "architectures:\n  ToyModel:\n    attn: SlidingAttention()\n"
    )
    spec = shipped_library().load_file(str(path))
    tree = count(spec, "ToyModel", {"model_type": "toy"}).tree
    places = blamed_places(spec, tree, "shape", "attn.k_proj.weight", "attn.k_proj.weight")
    assert spec.modules["Attention"].where["width"].place.line in [place.line for place in places]
