"""`--set`: JSON or text for fields that a config can have; it wins over the config."""

from __future__ import annotations

from typing import Any

import pytest
from refused import LLAMA, message

import archspec
from archspec.configs.origin import Origin, RawConfig
from archspec.configs.overrides import apply_overrides, as_typed, parse_override


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=2", ("a", 2)),
        ("a.b.c = -1.5", ("a.b.c", -1.5)),
        ("a=1e3", ("a", 1000.0)),
        ("a=true", ("a", True)),
        ("a=null", ("a", None)),
        ("a=gated-gelu", ("a", "gated-gelu")),
        ('a="2"', ("a", "2")),
        ("a=[1, 2]", ("a", [1, 2])),
        ('a={"0": {"b": 1}}', ("a", {"0": {"b": 1}})),
        ("a=b=c", ("a", "b=c")),
        ("per_layer_config.3.head_dim=8", ("per_layer_config.3.head_dim", 8)),
    ],
)
def test_overrides_are_json_or_text(text: str, expected: tuple[str, Any]) -> None:
    assert parse_override(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "a: the value is missing"),
        ("=3", "=3: '' is not a field name"),
        ("a=3 b=4", "a=3 b=4: two overrides are separated by a space"),
        ("a b=3", "a b=3: 'a b' is not a field name"),
        ("a=True", "a=True: True is not a JSON value"),
        ("a= None", "a= None: None is not a JSON value"),
        ("a=", "a=: the value is missing"),
        ("a=[1, 2", "a=[1, 2: invalid JSON: Expecting ',' delimiter at character 8"),
        ("a=NaN", "a=NaN: NaN is not a number in JSON"),
        ("a=" + "9" * 5000, f"a={'9' * 48}…{'9' * 50}: the number has more than 4,300 digits"),
        ("a=" + "[" * 99999, f"a={'[' * 48}…{'[' * 50}: the value is nested too deep"),
    ],
)
def test_invalid_overrides(text: str, expected: str) -> None:
    with pytest.raises(archspec.ArchspecError) as caught:
        parse_override(text)
    assert str(caught.value).splitlines()[0] == expected


def test_overrides_win_over_the_config_and_its_other_names() -> None:
    gpt2 = {"model_type": "gpt2", "n_embd": 48, "n_head": 4, "n_layer": 1}
    plain = archspec.load({**gpt2, "n_embd": 24}).params
    for given in ({**gpt2}, {"model_type": "gpt2", "hidden_size": 48, "n_head": 4, "n_layer": 1}):
        for name in ("n_embd", "hidden_size"):
            assert archspec.load(given, set={name: 24}).params == plain
    assert "the same field" in message(gpt2, {"n_embd": 24, "hidden_size": 12})


def test_num_labels_wins_over_the_names_of_labels() -> None:
    labels = {"id2label": {str(i): "x" for i in range(5)}, "label2id": {}}
    head = "LlamaForTokenClassification"
    five, three = (archspec.load({**LLAMA, "num_labels": count}, head).params for count in (5, 3))
    assert archspec.load({**LLAMA, **labels}, head).params == five
    assert archspec.load({**LLAMA, **labels}, head, {"num_labels": 3}).params == three
    assert archspec.load({**LLAMA, "num_labels": 3}, head, {"id2label": labels["id2label"]}).params == five


def test_overrides_inside_sub_configs() -> None:
    vision = {"model_type": "clip_vision_model", "hidden_size": 24}
    llava = {"model_type": "llava", "text_config": LLAMA, "vision_config": vision}
    deeper = archspec.load({**llava, "text_config": {**LLAMA, "num_hidden_layers": 5}}).params
    assert archspec.load(llava, set={"text_config.num_hidden_layers": 5}).params == deeper
    assert "set its fields one by one" in message(llava, {"text_config": {"num_hidden_layers": 5}})
    bare = {"model_type": "llava"}  # other fields keep llava's defaults
    opened = archspec.load(bare, set={"text_config.vocab_size": 10, "vision_config.hidden_size": 1024})
    assert opened.params < archspec.load(bare).params


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"hiden_size": 4}, "hiden_size=4: llama has no field hiden_size"),
        ({"hiden_size": 4}, "did you mean hidden_size?"),
        ({"hidden_size.x": 4}, "hidden_size.x=4: hidden_size is 8, not a sub-config"),
        ({"hidden_size.x": 4}, "set hidden_size itself"),
        ({"text_config.x": 4}, "text_config.x=4: llama has no field text_config"),
        ({"hidden_size": "wide"}, "hidden_size=wide: hidden_size must be an integer, not the string 'wide'"),
        ({"hidden_size": "1:9"}, "use archspec sweep for a range"),
        ({"num_hidden_layers": -2}, "=-2: num_hidden_layers must not be negative, but is -2"),
        ({"layers": 2}, "did you mean num_hidden_layers"),
        ({"n_layer": 2}, "did you mean num_hidden_layers?"),
        ({"a b": 4}, "'a b' is not a field name"),
    ],
)
def test_overrides_without_a_field(overrides: dict[str, Any], expected: str) -> None:
    assert expected in message(LLAMA, overrides)


def test_overrides_that_transformers_refuses() -> None:
    assert "attention_bias is computed by transformers for mistral" in message(
        {"model_type": "mistral"}, {"attention_bias": True}
    )
    assert "text_config must be a mapping of fields, not a list" in message(
        "LlavaModel", {"text_config.hidden_size": 64, "text_config": [2]}
    )


def test_overrides_of_a_flat_composite_config() -> None:
    """Old Qwen2-VL configs have the text part's fields at the top; overrides find them either way."""
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 8}
    sizes["vocab_size"], vision = 20, {"depth": 1, "hidden_size": 16}
    flat = {"model_type": "qwen2_vl", **sizes, "num_hidden_layers": 3, "vision_config": vision}
    expected = archspec.load({**flat, "num_hidden_layers": 2}).params
    assert archspec.load(flat).params > expected
    for name in ("num_hidden_layers", "text_config.num_hidden_layers"):
        assert archspec.load(flat, set={name: 2}).params == expected
    nested = {**flat, "text_config": {**sizes, "num_hidden_layers": 3}}
    assert archspec.load(nested, set={"text_config.num_hidden_layers": 2}).params == expected
    assert "write text_config.num_hidden_layers" in message(nested, {"num_hidden_layers": 2})


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("a.b", 2, "a.b=2"),
        ("a", "gated-gelu", "a=gated-gelu"),
        ("a", True, "a=true"),
        ("a", None, "a=null"),
        ("a", {"b": [1.5]}, 'a={"b": [1.5]}'),
        ("a", "x" * 500, "a=" + "x" * 200),
    ],
    ids=lambda part: str(part)[:20],
)
def test_an_override_as_it_would_be_typed(path: str, value: Any, text: str) -> None:
    assert as_typed(path, value) == text


def test_sub_configs_that_an_override_opens() -> None:
    raw = {"a": {"b": 1}, "c": None}
    found = apply_overrides(RawConfig(raw, Origin()), {"a.x": 2, "c.d.e": 3, "f.g": 4, "h": 5})
    assert raw == {"a": {"b": 1, "x": 2}, "c": {"d": {"e": 3}}, "f": {"g": 4}, "h": 5}
    assert found.origin.opened == {"c", "c.d", "f"}
