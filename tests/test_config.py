"""What users have is read as transformers reads it: dicts, files, folders, objects, overrides."""

from __future__ import annotations

import enum
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.configs.choice import choose
from archspec.configs.notes import notes
from archspec.configs.overrides import check_overrides, parse_override
from archspec.configs.reader import read_config
from archspec.specs.library import load

LLAMA = {
    "model_type": "llama",
    "vocab_size": 50,
    "hidden_size": 8,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
}


def message(source: Any, overrides: dict[str, Any] | None = None, architecture: str | None = None) -> str:
    with pytest.raises(archspec.ArchspecError) as caught:
        archspec.load(source, architecture, overrides)
    return str(caught.value)


def test_a_file_a_folder_and_a_path_object_are_the_same_config(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA).encode())  # some editors put a mark first
    found = [read_config(source).raw for source in (path, str(path), tmp_path, str(tmp_path), LLAMA)]
    assert found == [LLAMA] * 5
    assert found[-1] is not LLAMA


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nowhere.json", "nowhere.json: there is no such file"),
        ("./llama", "./llama: there is no such file"),
        ("", "'' is not a path"),
        ("a\0b", r"'a\x00b' is not a path"),
        (3, "int is not a config"),
        (None, "NoneType is not a config"),
        (b"config.json", "bytes is not a config"),
        (dict, "dict is not a config"),
        (["llama"], "list is not a config"),
    ],
)
def test_what_is_no_config(
    source: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(archspec.ArchspecError) as caught:
        read_config(source)
    assert str(caught.value).splitlines() == [
        expected,
        "help: give a config.json, a folder that holds one, a hub id org/name, a dict, or a transformers config",
    ]


def test_folders_without_a_config_say_what_they_hold(tmp_path: Path) -> None:
    assert message(tmp_path).startswith(f"{tmp_path}: the folder has no config.json")
    (tmp_path / "adapter_config.json").write_text("{}")
    assert message(tmp_path).endswith("help: it describes an adapter: give the base model's config")


def test_a_name_that_is_nearly_there(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert message(tmp_path / "confg.json").endswith("help: did you mean config.json?")


def test_files_that_are_no_text_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b'{"model_type":\n "ll\xffama"}')
    assert message(path).splitlines()[0] == f"{path}:2:5: not UTF-8 text: invalid start byte"
    path.write_bytes(b" " * 10_000_001)
    assert message(path).splitlines()[0] == f"{path}: the file is larger than 10,000,000 bytes"
    path.write_text('{"model_type": "llama",\n "vocab_size": ' + "9" * 5000 + "}")
    assert message(path).splitlines()[0] == f"{path}:2:16: a number of more than 4,300 digits"
    for depth in (100, 100_000):
        path.write_text('{"a": ' + "[" * depth + "]" * depth + "}")
        assert message(path).splitlines()[0] == f"{path}:1:70: nested deeper than 64 levels"


def test_dicts_that_no_json_holds() -> None:
    endless: dict[str, Any] = {}
    endless["text_config"] = endless
    assert "nested deeper than 64 levels" in message(endless)
    assert "more than 4,300 digits" in message({**LLAMA, "vocab_size": 10**5000})


def test_numbers_texts_and_enumerations_of_other_libraries_become_plain() -> None:
    class Size(enum.IntEnum):
        SMALL = 8

    class Kind(enum.StrEnum):
        LLAMA = "llama"

    class Array:
        def tolist(self) -> list[int]:
            return [1, 2]

    class Dtype:
        def __str__(self) -> str:
            return "torch.bfloat16"

    given = {
        "model_type": Kind.LLAMA,
        "hidden_size": Size.SMALL,
        "sizes": Array(),
        "dtype": Dtype(),
        3: (1, {2}),
    }
    raw = read_config({**given, "limit": {"__float__": "Infinity"}}).raw
    expected = {
        "model_type": "llama",
        "hidden_size": 8,
        "sizes": [1, 2],
        "dtype": "torch.bfloat16",
        "3": [1, [2]],
    }
    assert raw == {**expected, "limit": float("inf")}
    assert type(raw["model_type"]) is str and type(raw["hidden_size"]) is int


def test_config_objects_need_nothing_but_to_dict() -> None:
    class Part:
        model_type = "llama"

        def to_dict(self) -> dict[str, Any]:
            return {"hidden_size": 8}

    class Whole:
        model_type = "llava"

        def to_dict(self) -> dict[str, Any]:
            return {"text_config": Part(), "model_type": ""}

    expected = {"text_config": {"hidden_size": 8, "model_type": "llama"}, "model_type": "llava"}
    assert read_config(Whole()).raw == expected
    assert read_config({"model_type": "llava", "text_config": Part()}).raw == expected


def test_transformers_objects_count_as_their_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    for config in (
        transformers.GPT2Config(n_embd=48, num_labels=7, dtype="bfloat16"),
        transformers.CLIPConfig(),
    ):
        config.save_pretrained(tmp_path)
        model = archspec.load(config)
        assert model.params == archspec.load(tmp_path).params == archspec.load(config.to_dict()).params


def test_the_hub_is_asked_for_an_id_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hub = types.ModuleType("huggingface_hub")
    asked: list[str] = []
    local: list[bool] = []
    monkeypatch.setenv("HF_ENDPOINT", "https://no-such-host.invalid")

    def download(name: str, file: str, *, local_files_only: bool, **_: Any) -> str:
        asked.append(f"{name}/{file}")
        local.append(local_files_only)
        if name != "org/tiny":
            raise OSError("we are offline\nmore of it")
        path = tmp_path / "blob"
        path.write_text(json.dumps({**LLAMA, "hidden_size": "8"}))
        return str(path)

    hub.hf_hub_download = download  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    assert (
        message("org/tiny").splitlines()[0]
        == "org/tiny/config.json:1:43: hidden_size: the text '8' is not int"
    )
    expected = "org/large: there is no such file or folder, and the hub does not give org/large: "
    expected += "the cache has no such config, and its host has no address from here"
    assert message("org/large").splitlines()[0] == expected
    for path in ("./org/tiny", "org/tiny/config.json", "org/config.json", "/org/tiny"):
        message(path)
    assert asked == ["org/tiny/config.json", "org/large/config.json"]
    assert local == [True, True], "a host without an address is not asked again and again"
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "huggingface-hub is not installed" in message("org/tiny")


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
        ("a", "override:1:1: 'a' is not an override"),
        ("=3", "override:1:1: '' is not a field"),
        ("a b=3", "override:1:1: 'a b' is not a field"),
        ("a=True", "override:1:3: a: True is not a JSON value"),
        ("a= None", "override:1:4: a: None is not a JSON value"),
        ("a=", "override:1:3: a: no value is given"),
        ("a=[1, 2", "override:1:8: a: not JSON: Expecting ',' delimiter"),
        ("a=NaN", "override:1:3: a: NaN is not a number that a config can have"),
        ("a=" + "9" * 5000, "override:1:3: a: a number of more than 4,300 digits"),
        ("a=" + "[" * 99999, "override:1:3: a: nested too deep"),
    ],
)
def test_overrides_that_are_none(text: str, expected: str) -> None:
    with pytest.raises(archspec.ArchspecError) as caught:
        parse_override(text)
    assert str(caught.value).splitlines()[0] == expected


def test_overrides_win_over_the_config_and_its_other_names() -> None:
    gpt2 = {"model_type": "gpt2", "n_embd": 48, "n_head": 4, "n_layer": 1}
    plain = archspec.load({**gpt2, "n_embd": 24}).params
    for given in ({**gpt2}, {"model_type": "gpt2", "hidden_size": 48, "n_head": 4, "n_layer": 1}):
        for name in ("n_embd", "hidden_size"):
            assert archspec.load(given, overrides={name: 24}).params == plain
    assert "the same field" in message(gpt2, {"n_embd": 24, "hidden_size": 12})


def test_num_labels_wins_over_the_names_of_labels() -> None:
    labels = {"id2label": {str(i): "x" for i in range(5)}, "label2id": {}}
    head = "LlamaForTokenClassification"
    five, three = (archspec.load({**LLAMA, "num_labels": count}, head).params for count in (5, 3))
    assert archspec.load({**LLAMA, **labels}, head).params == five
    assert archspec.load({**LLAMA, **labels}, head, {"num_labels": 3}).params == three
    assert archspec.load({**LLAMA, "num_labels": 3}, head, {"id2label": labels["id2label"]}).params == five


def test_overrides_inside_sub_configs() -> None:
    llava = {
        "model_type": "llava",
        "text_config": LLAMA,
        "vision_config": {"model_type": "clip_vision_model", "hidden_size": 24},
    }
    deeper = {**llava, "text_config": {**LLAMA, "num_hidden_layers": 5}}
    assert (
        archspec.load(llava, overrides={"text_config.num_hidden_layers": 5}).params
        == archspec.load(deeper).params
    )
    opened = archspec.load(
        {"model_type": "llava"}, overrides={"text_config.vocab_size": 10, "vision_config.hidden_size": 1024}
    )
    assert (
        opened.params < archspec.load({"model_type": "llava"}).params
    )  # what is not said keeps llava's own default
    assert "set its fields one by one" in message(llava, {"text_config": {"num_hidden_layers": 5}})


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            {"hiden_size": 4},
            [
                "override:1:1: hiden_size: no count of llama depends on hiden_size",
                "did you mean hidden_size?",
            ],
        ),
        (
            {"hidden_size.x": 4},
            ["hidden_size.x: hidden_size is 8, not a sub-config", "set hidden_size as a whole"],
        ),
        ({"text_config.x": 4}, ["text_config.x: no count of llama depends on text_config"]),
        (
            {"hidden_size": "wide"},
            ["override:1:1: hidden_size: the text 'wide' is not int", "    hidden_size=wide"],
        ),
        (
            {"num_hidden_layers": -2},
            ["override:1:1: num_hidden_layers: -2 is negative", "    num_hidden_layers=-2"],
        ),
        ({"a b": 4}, ["'a b' is not a field"]),
    ],
)
def test_overrides_that_mean_nothing(overrides: dict[str, Any], expected: list[str]) -> None:
    found = message(LLAMA, overrides)
    assert all(part in found for part in expected), found


def test_overrides_of_what_transformers_sets_itself() -> None:
    with pytest.raises(archspec.ArchspecError, match="transformers sets attention_bias of mistral itself"):
        check_overrides(load("mistral"), {"attention_bias": True})


def test_the_architecture_is_the_argument_then_the_configs_then_the_base_model() -> None:
    assert choose(read_config(LLAMA)) == ("llama", "LlamaModel")
    for empty in (None, []):
        assert choose(read_config({**LLAMA, "architectures": empty})) == ("llama", "LlamaModel")
    named = read_config({**LLAMA, "architectures": ["LlamaForCausalLM"]})
    assert choose(named) == ("llama", "LlamaForCausalLM")
    assert choose(named, "LlamaForTokenClassification") == ("llama", "LlamaForTokenClassification")
    assert choose(read_config({"architectures": ["LlamaForCausalLM"]})) == ("llama", "LlamaForCausalLM")
    assert choose(read_config({}), "LlamaForCausalLM") == ("llama", "LlamaForCausalLM")
    assert choose(read_config({"model_type": "clip_text_model"})) == ("clip_text_model", "CLIPTextModel")
    assert "LlamaMLP is not an architecture of the model type llama" in message(
        LLAMA, architecture="LlamaMLP"
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"quantization_config": {"bits": 4}}, ["quantization_config is not read"]),
        ({"auto_map": {"AutoModel": "x.Y"}}, ["auto_map names code of the checkpoint's own"]),
        ({"architectures": ["LlamaModel", "LlamaForCausalLM"]}, ["architectures names 2 classes"]),
        ({"id2label": {"0": "a"}, "num_labels": 3}, ["id2label has 1 entries, but num_labels is 3"]),
        ({"transformers_version": "4.31.0"}, []),
        ({"transformers_version": "6.0.0.dev0"}, ["the config was written by transformers 6.0.0.dev0"]),
        ({"atention_bias": True}, ["atention_bias is not read; did you mean attention_bias?"]),
        ({"rope_theta": 5, "bos_token_id": 3}, []),
    ],
)
def test_notes(fields: dict[str, Any], expected: list[str]) -> None:
    found = notes(read_config({**LLAMA, **fields}), load("llama"))
    assert len(found) == len(expected) and all(map(str.startswith, found, expected)), found


def test_notes_on_fields_that_stand_too_high() -> None:
    llava = {"model_type": "llava", "hidden_size": 64, "text_config": LLAMA, "vocab_size": 50}
    found = notes(read_config(llava), load("llava"))
    assert [note.partition(" ")[0] for note in found] == ["hidden_size"], found


def test_overrides_of_a_flat_composite_config() -> None:
    """Old Qwen2-VL configs have the text part's fields at the top; either way of writing an override finds them."""
    sizes = {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "intermediate_size": 8,
        "vocab_size": 20,
    }
    flat = {
        "model_type": "qwen2_vl",
        **sizes,
        "num_hidden_layers": 3,
        "vision_config": {"depth": 1, "hidden_size": 16},
    }
    expected = archspec.load({**flat, "num_hidden_layers": 2}).params
    assert archspec.load(flat).params > expected
    for name in ("num_hidden_layers", "text_config.num_hidden_layers"):
        assert archspec.load(flat, overrides={name: 2}).params == expected
    nested = {**flat, "text_config": {**sizes, "num_hidden_layers": 3}}
    assert archspec.load(nested, overrides={"text_config.num_hidden_layers": 2}).params == expected
    assert "write text_config.num_hidden_layers" in message(nested, {"num_hidden_layers": 2})


@pytest.mark.parametrize(
    ("model_type", "field", "value"),
    [
        ("bert", "hidden_act", "prelu"),
        ("gpt2", "activation_function", "xielu"),
        ("t5", "feed_forward_proj", "prelu"),
        ("t5", "feed_forward_proj", "gated-prelu"),
    ],
)
def test_activations_with_parameters_are_refused_where_a_spec_has_none(
    model_type: str, field: str, value: str
) -> None:
    with pytest.raises(archspec.ArchspecError, match="activations with parameters"):
        archspec.load({"model_type": model_type, field: value})


def test_activations_with_parameters_are_counted_where_a_spec_has_them() -> None:
    params = {
        act: archspec.load({"model_type": "apertus", "hidden_act": act}).params
        for act in ("gelu", "prelu", "xielu")
    }
    assert params["prelu"] - params["gelu"] == 32
    assert params["xielu"] - params["gelu"] == 64
