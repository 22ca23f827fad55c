"""The order of shapes: counted out over a small grid, the same by looking at all points and by solving."""

from __future__ import annotations

from itertools import product
from math import gcd, log, log2
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.errors import SpecError
from archspec.render import notation
from archspec.solving.proportions import parts, roles
from archspec.solving.searching import over_arrays
from archspec.solving.solve import solve

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
}
FIELDS = {
    "hidden_size": range(32, 129, 8),
    "num_hidden_layers": range(1, 13),
    "intermediate_size": range(32, 513, 16),
}


def size(width: int, depth: int, inner: int) -> int:
    return 2 * 320 * width + depth * (4 * width**2 + 3 * width * inner + 2 * width) + width


def strain(width: int, depth: int, inner: int) -> float:
    """How far a shape is from the config's, with what numbers cost that are not round."""
    ratios = ((width / depth, 16), (width, 64), (inner / width, 2.5))  # 4 heads, whatever the width
    costs = ((depth, 4, 0.02), (width, 1024, 0.02), (inner, 256, 0.01))
    return sum(abs(log(ratio / own)) for ratio, own in ratios) + sum(
        cost * log2(full / gcd(number, full)) for number, full, cost in costs
    )


@pytest.mark.parametrize("solved", [False, True])
@pytest.mark.parametrize("params", [150_000, 600_000])
def test_the_shapes_within_the_tolerance_in_their_order(
    params: int, solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if solved:
        monkeypatch.setattr(over_arrays, "MAX_POINTS", 0)
    known = []
    for width, depth, inner in product(*FIELDS.values()):
        whole = width // 4 % 2 == 0  # of rotary positions heads have an even size
        if whole and abs(size(width, depth, inner) - params) <= 0.02 * params:
            known.append(strain(width, depth, inner))
    found = solve(CONFIG, list(FIELDS), params=params, set=FIELDS, tolerance=2, top=12)
    assert len(known) > 12
    assert [strain(*one.values.values()) for one in found] == pytest.approx(sorted(known)[:12])


def test_a_round_number_may_be_some_steps_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_arrays, "MAX_POINTS", 0)
    fields: dict[str, Any] = {"hidden_size": 88, "intermediate_size": range(32, 513)}
    target = size(88, 4, 220)
    near = [
        inner for inner in fields["intermediate_size"] if abs(size(88, 4, inner) - target) <= 0.1 * target
    ]
    best = min(near, key=lambda inner: strain(88, 4, inner))
    (found,) = solve(CONFIG, "intermediate_size", params=target, set=fields, tolerance=10, top=1)
    assert found.values == {"intermediate_size": best} and abs(best - 220) > 2


def test_the_fields_of_a_shape_are_known_by_their_symbols() -> None:
    def found(architecture: str) -> Any:
        return roles(archspec.load(architecture).scope)

    t5, distilbert = found("T5ForConditionalGeneration"), found("DistilBertModel")
    assert t5[2:] == ("d_model", ("num_layers",), ("num_heads",), (), ("d_ff",))
    assert distilbert[2:] == ("dim", ("n_layers",), ("n_heads",), (), ("hidden_dim",))
    assert found("MixtralForCausalLM").shared == [("num_attention_heads", "num_key_value_heads")]
    assert found("WhisperModel").depths == ("encoder_layers", "decoder_layers")
    assert found("ResNetModel") is None
    assert [one.prefix for one in parts(archspec.load("CLIPModel").scope)] == [
        "text_config.",
        "vision_config.",
    ]


def test_fields_have_roles() -> None:
    found = notation.roles()
    assert {*found.values()} == {*notation.ROLES}
    assert (
        found.items()
        >= {
            "hidden_size": "width",
            "decoder_layers": "decoder depth",
            "dim_feedforward": "feed-forward width",
            "moe_intermediate_size": "feed-forward width",
            "num_global_key_value_heads": "key-value heads",
            "expert_layer_period": "layer period",
            "max_position_embeddings": "context",
            "sliding_window": "constant",
        }.items()
    )
    assert "hidden_dim" not in notation.standard() and "hidden_dim" not in notation.places()


def test_an_unknown_role_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notation.yaml"
    path.write_text("V: {latex: V, role: words, fields: [vocab_size]}\n")
    with pytest.raises(SpecError, match="unknown role 'words'") as refusal:
        notation.read(str(path))
    assert "choose width, embedding width" in str(refusal.value)
