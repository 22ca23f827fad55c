"""From a refusal back to the lines that say it, or should."""

from __future__ import annotations

from typing import Any

import pytest
from altering import altered

from archspec.configs.scope import Scope
from archspec.specs.library import shipped
from archspec.tree.builder import Builder
from archspec.verifying.blame import class_places, refusing_places
from archspec.verifying.comparison import counted

pytestmark = pytest.mark.reference


@pytest.mark.parametrize(
    ("owners", "start"),
    [
        (
            ("Linear", "BertSelfAttention", "BertAttention", "BertLayer"),
            "BertAttention(is",
        ),  # the outer class
        (
            ("Linear", "BertSelfAttention", "BertAttention", "BertLayer"),
            "attention: BertAttention",
        ),  # and the way to it
        (
            ("BertCrossAttention", "BertEncoder"),
            "BertEncoder:",
        ),  # of a class that is not built, the calls that would build it
        (("BertSparseAttention", "BertAttention"), "BertSelfAttention:"),  # or the one that stands for it
    ],
)
def test_a_class_that_refuses_leads_to_its_lines(owners: tuple[str, ...], start: str) -> None:
    spec = shipped().load("bert")
    found = class_places(spec, Builder(Scope(spec, {"model_type": "bert"})).build("BertModel"), owners)
    assert any(place.source.line(place.line).strip().startswith(start) for place in found)


@pytest.mark.parametrize(
    ("model_type", "architecture", "old", "new", "raw", "start"),
    [
        (  # a local name that is handed on as an argument
            "perceiver",
            "PerceiverModel",
            "v: v_channels if v_channels is not None else qk",
            "v: v_channels",
            {"v_channels": None},
            "v: v_channels",
        ),
        (  # a fixed value that another is computed from, before anything is built
            "videomae",
            "VideoMAEModel",
            "patch_size if is_list(patch_size) else [patch_size, patch_size]",
            "patch_size",
            {},
            "patch: ",
        ),
    ],
)
def test_a_refusal_leads_to_what_was_read(
    model_type: str, architecture: str, old: str, new: str, raw: dict[str, Any], start: str
) -> None:
    wrong = altered(shipped().load(model_type), old, new)
    config = {"model_type": model_type, **raw}
    count = counted(wrong, architecture, config)
    assert count.error is not None
    found = refusing_places(wrong, architecture, config, count.tree, count.error)
    assert any(place.source.line(place.line).strip().startswith(start) for place in found)


def test_what_no_line_refuses_leads_to_where_a_condition_would_be() -> None:
    """DeepSeek-V4's lists of layers are too long: without its condition a rule for all specs refuses."""
    spec = shipped().load("deepseek_v4")
    raw = {"model_type": "deepseek_v4"}
    count = counted(spec._replace(require=spec.require[1:]), "DeepseekV4Model", raw)
    assert count.error is not None
    assert [
        place.line for place in refusing_places(spec, "DeepseekV4Model", raw, count.tree, count.error)
    ] == [
        spec.fields["mlp_layer_types"].place.line,
        1,
    ]
