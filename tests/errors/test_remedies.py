"""Options that help lines propose count the config from its sizes, or are refused."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.configs.overrides import parse_override, split_settings
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import command_line
from archspec.specs.library import shipped_library

HERE = Path(__file__).parent
LLAVA, QWEN, FALCON = json.loads((HERE / "configs.json").read_text(encoding="utf-8"))
WILD = json.loads((HERE.parent / "configs" / "wild.json").read_text(encoding="utf-8"))
CONFIGS = [
    json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((HERE.parents[1] / "configs").glob("*.json"))
]
Case = tuple[dict[str, Any], str | None, dict[str, Any]]
OPTION = r"--(architecture|set) (\S+?)(?=[;,]? |[;,?]?$)"
SYNONYMS = {
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "num_key_value_heads": "n_head_kv",
    "d_model": "hidden_dim",
    "vocab_size": "n_vocab",
}
SIZES = ("hidden_size", "n_embd", "d_model", "num_hidden_layers", "n_layer", "num_layers")
NAMED: list[Case] = [
    (LLAVA, None, {}),
    (LLAVA, "LlavaForConditionalGeneration", {}),
    (LLAVA, None, {"model_type": "llava"}),
    (QWEN, "Qwen3_5MoeForConditionalGeneration", {}),
    (QWEN, None, {"model_type": "qwen3_5_moe"}),
    (FALCON, None, {}),
    ({"model_type": "whisper"}, "WhisperEncoder", {}),
    *((one["config"], None, {}) for one in WILD),
]


def broken(random: random.Random) -> Case:
    """Return a config whose class, model type or field names are wrong in one of many ways."""
    raw = json.loads(json.dumps(random.choice(CONFIGS)))
    index, own = shipped_library().index(), shipped_library().load(raw["model_type"])
    way = random.randrange(9)
    if way == 0:
        raw["architectures"] = [random.choice(sorted(index))]
    elif way == 1:
        name = random.choice(own.architectures)
        raw["architectures"] = [
            random.choice((name.upper(), "My" + name, name + "X", name[:-1], "TF" + name))
        ]
    elif way == 2:
        return raw, random.choice([*own.modules, *own.architectures, *random.sample(sorted(index), 3)]), {}
    elif way == 3:
        at = random.randrange(len(raw["model_type"]))
        raw["model_type"] = raw["model_type"][:at] + raw["model_type"][at + 1 :]
    elif way == 4:
        raw["model_type"] = random.choice(shipped_library().model_types())
    elif way == 5:
        raw = {SYNONYMS.get(name, name): value for name, value in raw.items()}
    elif way == 6:
        del raw["model_type"]
        raw["architectures"] = [random.choice(("LLaMAForCausalLM", "Bert", "GPT2Model2", "T5"))]
    elif way == 7:
        name = random.choice([*own.fields])
        return raw, None, {random.choice((name + "s", name[:-1], "text_config." + name, "no_such")): 2}
    else:
        return raw, None, {random.choice(["model_type", "architectures"]): random.choice(sorted(index))}
    return raw, None, {}


def values(scope: Scope) -> Iterator[Any]:
    """Yield the values of all fields that are read, also those of sub-configs."""
    for value in map(scope.get, scope.spec.fields):
        if isinstance(value, SubConfig):
            yield from values(value.scope)
        elif isinstance(value, int):
            yield value


def remedies(error: archspec.ArchspecError) -> list[tuple[str, str]]:
    return [option for problem in error.problems for option in re.findall(OPTION, problem.help)]


def check(case: Case) -> int:
    """Run each proposed option of a case; return how many count the config."""
    raw, architecture, fields = case
    try:
        with command_line():
            archspec.load(raw, architecture, fields)
        return 0
    except archspec.ArchspecError as error:
        found = [one for one in remedies(error) if one[1] not in ("CLASS", "model_type=TYPE")]
        help_ = "\n".join(problem.help for problem in error.problems)
    counted = 0
    for option, value in found:
        more = dict(parse_override(text) for text in split_settings(value)) if option == "set" else {}
        with suppress(archspec.ArchspecError):
            model = archspec.load(raw, architecture if more else value, {**fields, **more})
            sizes = {raw[name] for name in SIZES if isinstance(raw.get(name), int)}
            assert sizes <= set(values(model.scope)), f"{option} {value} counts defaults: {help_}"
            counted += 1
    return counted


@pytest.mark.parametrize("case", NAMED, ids=str)
def test_remedies_of_known_configs(case: Case) -> None:
    check(case)


def test_remedies_of_broken_configs() -> None:
    source = random.Random(33)
    assert sum(check(broken(source)) for _ in range(250)) > 60


def test_remedies_keep_the_given_sizes() -> None:
    with pytest.raises(archspec.ArchspecError) as caught, command_line():
        archspec.load(FALCON)
    text = "num_attention_heads=128,num_kv_heads=8,num_hidden_layers=60"
    assert remedies(caught.value) == [("set", text)]
    fields = {"num_attention_heads": 128, "num_kv_heads": 8, "num_hidden_layers": 60}
    assert archspec.load(FALCON, set=fields).params == 41_303_293_952  # Falcon-40B
    assert "falcon ignores n_head, n_head_kv and n_layer" in str(caught.value)
    with pytest.raises(archspec.ArchspecError, match=r"text_config\.hidden_size = 4096"):
        archspec.load(LLAVA, "LlavaForConditionalGeneration")
    assert archspec.load(LLAVA, "LlamaForCausalLM").params == 13_015_864_320
