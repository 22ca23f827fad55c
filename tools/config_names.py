"""`python -m tools.config_names [MODEL_TYPE…]` checks the names that transformers' config classes read.

A config class reads more than its declared fields: keys of ``kwargs`` for old checkpoints, other names,
values that it computes and that a config may override. For each such name in the source of a config class, a
config that gives it is read by transformers and by the spec. A spec field with another value is a fault.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.language.expression import text_of
from archspec.reference import Refused, Unavailable, config_class
from archspec.reference.classes import UNTYPED
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.defaults import config_differences, read_by_transformers

_PART = "_config"
_VALUES: tuple[Any, ...] = (3, True, False, [0, 1], None)
_PART_VALUES: tuple[Any, ...] = ({"hidden_size": 48}, {"num_hidden_layers": 2}, None)
# Differences that reach no count: the model reads another value, or only a class without costs reads it.
HARMLESS = {
    **dict.fromkeys(("blip", "blip-2", "instructblip", "instructblipvideo"), "vision_config"),
    **dict.fromkeys(("diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified"), "text_config"),
    **dict.fromkeys(("mimi", "mimi_encoder", "mimi_decoder"), "_frame_rate frame_rate"),
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl"), "num_key_value_heads"),
    **dict.fromkeys(("sam3", "sam3_lite_text", "sam3_tracker_video", "sam3_video"), "image_size"),
    **dict.fromkeys(("t5gemma", "t5gemma2"), "attention_dropout"),
    "deepseek_v4": "compress_rate_csa compress_rate_hca", "flaubert": "pad_index", "fuyu": "pad_token_id",
    "depth_pro": "fov_model_config image_model_config patch_model_config", "moshi": "audio_encoder_config",
    "gemma4_unified_assistant": "text_config", "glm5_next": "text_config qk_head_dim", "pi0": "dit_config",
    "hunyuan_vl": "hidden_size text_config vision_config", "idefics2": "perceiver_config text_config",
    "inkling_mm_model": "audio_config text_config", "inkling_text": "dense_intermediate_size",
    "longcat_flash": "num_hidden_layers", "mimo_v2_flash": "sliding_window_size",
    "modernbert": "sliding_window", "molmo2": "adapter_config vit_config",
    "resnet": "_out_features _out_indices", "sam3_vision_model": "image_size",
    "ultrabert": "attention_windows", "unlimited_ocr": "sliding_window",
    "vibevoice": "audio_config diffusion_head_config text_config", "vibevoice_asr": "max_position_embeddings",
}  # fmt: skip


class Fault(NamedTuple):
    """A name that transformers reads otherwise than the spec: the value given, and the fields that differ."""

    name: str
    value: Any
    fields: tuple[str, ...]


@cache
def _texts(module: str) -> frozenset[str]:
    """The identifiers that a module's code has as texts, keywords, or attributes of ``self``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(importlib.import_module(module)))):
        if isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            found.add(node.attr)
        elif (text := text_of(node)).isidentifier():
            found.add(text)
    return frozenset(found)


def names(spec: Spec) -> list[str]:
    """Return the names that a config class may read in addition to the fields that the spec declares.

    Names in the spec's ``fixed`` are left out: `archspec verify` gives those other values in every run.
    """
    from transformers import PreTrainedConfig

    cls = config_class(spec.model_type)
    own = [base for base in cls.__mro__ if base not in PreTrainedConfig.__mro__]
    found = {*spec.attribute_map, *spec.attribute_map.values(), *getattr(cls, "attribute_map", {})}
    for base in own:
        found |= _texts(base.__module__)
        found |= {name for name, value in vars(base).items() if name[:2] != "__" and not callable(value)}
    found -= {name for name in found if callable(getattr(cls, name, None))}
    fields = {field.name for field in dataclasses.fields(cls)}
    declared = {name for name in spec.fields if name in fields and spec.fields[name].sub_config is None}
    common = {field.name for field in dataclasses.fields(PreTrainedConfig)} | set(dir(PreTrainedConfig))
    return sorted((found | fields) - declared - common - spec.fixed.keys())


def faults(model_type: str) -> Iterator[Fault]:
    """The names of a model type that the spec reads otherwise. Errors: :class:`Unavailable`."""
    spec, cls = shipped_library().load(model_type), config_class(model_type)
    if model_type in UNTYPED:
        return
    base, before = config_differences(spec, {}), read_by_transformers(spec, {})
    known = {*spec.fields, *spec.attribute_map, *spec.readonly}
    parts = set(getattr(cls, "sub_configs_defaults", {}))
    for name in names(spec):
        values = _PART_VALUES if name in parts or name.endswith(_PART) else _VALUES
        for value in values:
            raw = {name: value}
            with suppress(Refused, Unavailable, ArchspecError):
                if name not in known and not spec.flat and read_by_transformers(spec, raw) == before:
                    continue
                Scope(spec, {"model_type": model_type, **raw}).validate()
                found = (one.name for one in config_differences(spec, raw) if one not in base)
                differing = tuple(one for one in found if one.partition(".")[0] not in spec.fixed)
                if differing and name not in HARMLESS.get(model_type, "").split():
                    yield Fault(name, value, differing)
                    break


def main(arguments: list[str]) -> int:
    """Prints every fault of the given model types, of all if none is given."""
    found = 0
    for model_type in arguments or shipped_library().model_types():
        with suppress(Refused, Unavailable, ArchspecError):
            for fault in faults(model_type):
                found += 1
                print(f"{model_type}: {fault.name} = {fault.value!r} changes {', '.join(fault.fields)}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
