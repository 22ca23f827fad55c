"""Configs as users have them, with some of their values broken."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

from archspec.specs.library import shipped_library

Random = random.Random
CONFIGS = Path(__file__).parents[2] / "configs"
VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 7, 64, 10**6, 2**31, 2**63, 10**40, 0.5, -0.0, 1e300, True, False, None, "", "llama"),
    *("\x1b[31mred", "a\nhelp: b", "\x9b2J", "a\u202e|b", "y" * 10**6, {"a\x1b[1m\n": "b"}),
    *("é", "𝔘", "\0", "\ud800", "a" * 3000, "1", [], [0], [None], [[1], [2]], ["a", 1], {}, {"0": 1}),
    *({"model_type": "bert"}, {"model_type": "none"}, {"a": {"b": {"c": []}}}),
)
_GROUP = {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}
_GROUPS = {"format": "float-quantized", "config_groups": {"0": _GROUP}}
_HQQ = {"weight_quant_params": {"nbits": 4, "group_size": 64, "axis": 1}, "offload_meta": False}
_TORCHAO = {"_type": "Int4WeightOnlyConfig", "_version": 2, "_data": {"group_size": 32}}
QUANTIZATIONS: tuple[tuple[str, dict[str, Any]], ...] = (  # a key of a config, and its value
    ("quantization_config", {"quant_method": "bitsandbytes", "load_in_8bit": True}),
    ("quantization_config", {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}),
    ("quantization_config", {"quant_method": "gptq", "bits": 4, "group_size": 32}),
    ("quantization_config", {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm"}),
    ("quantization_config", {"quant_method": "fp8", "weight_block_size": [128, 128]}),
    ("quantization_config", {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}),
    ("quantization_config", {"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["head"]}),
    ("quantization_config", {"quant_method": "compressed-tensors", **_GROUPS}),
    ("quantization_config", {"quant_method": "hqq", "quant_config": _HQQ, "skip_modules": ["lm_head"]}),
    ("quantization_config", {"quant_method": "torchao", "quant_type": {"default": _TORCHAO}}),
    ("quantization", {"bits": 4, "group_size": 64}),
)
NOT_JSON = (
    *("", "null", "[]", "1", "{", "{}", "{'a': 1}", '{"a": NaN}', '{"a": Infinity}', '{"a": 1, "a": 2}'),
    *('{"model_type": 1}', '{"model_type": "bert", }', "[" * 500, "[" * 30_000, '{"a": ' * 500, "\ufeff{}"),
    *("\x00", '"\\ud800"'),
)


def text(random: Random, sound: bool) -> tuple[str, str]:
    """Return the text of a config.json, and the model type that it was made of."""
    if not sound and random.random() < 0.1:
        return random.choice(NOT_JSON), ""
    if random.random() < 0.5:
        raw = json.loads(random.choice(sorted(CONFIGS.glob("*.json"))).read_text(encoding="utf-8"))
    else:
        spec = shipped_library().load(random.choice(shipped_library().model_types()))
        raw = {"model_type": spec.model_type}
        if spec.architectures and random.random() < 0.7:
            raw["architectures"] = [random.choice(sorted(spec.architectures))]
    model_type = str(raw["model_type"])
    _shrink(raw)
    if random.random() < 0.2:
        key, value = random.choice(QUANTIZATIONS)
        raw[key] = deepcopy(value)
    for _ in range(0 if sound else random.choice((0, 1, 1, 2, 5))):
        mutate(raw, random)
    return json.dumps(raw), model_type


def _shrink(raw: dict[str, Any]) -> None:
    """Leave two layers at the most, and lists as long, so that a config is tried quickly."""
    depths = {value for name, value in raw.items() if type(value) is int and "layer" in name}
    for name, value in raw.items():
        if isinstance(value, dict):
            _shrink(value)
        elif type(value) is int and "layer" in name:
            raw[name] = min(value, 2)
        elif isinstance(value, list) and len(value) in depths:
            raw[name] = value[:2]


def mutate(raw: dict[str, Any], random: Random) -> None:
    """Change, remove or add a value, in a config or in a sub-config."""
    inner = [value for value in raw.values() if isinstance(value, dict) and value]
    if inner and random.random() < 0.4:
        mutate(random.choice(inner), random)
        return
    others = ["hidden_size", "architectures", "num_hidden_layers", "dtype", "extra", "é", "n\x1b[1m\n_size"]
    name = random.choice([*raw, *others])
    if random.random() < 0.15:
        raw.pop(name, None)
    elif isinstance(raw.get(name), int) and random.random() < 0.3:
        raw[name] = random.choice((str(raw[name]), float(raw[name]), -raw[name], [raw[name]]))
    else:
        raw[name] = deepcopy(random.choice(VALUES))
