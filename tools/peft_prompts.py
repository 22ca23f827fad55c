"""The config fields and word embeddings that peft reads for prompt and prefix tuning, by class.

tools/from_peft.py writes them to formulas/adapters.json. Fields are those whose values are peft's for all
configs that are tried; a class for which peft fails is left out.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from archspec.adapters.prompts import read_field
from archspec.configs.scope import Scope
from archspec.reference import Refused
from archspec.reference.classes import config_of
from archspec.reference.construction import build_class
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.costs.cases import make_runnable
from archspec.verifying.costs.fitting import default_config
from archspec.verifying.generate.sampling import Sampler

_SHARES = (0.0, 0.5, 1.0, 1.0, 1.0, 0.7, 0.3, 1.0, 1.0, 1.0)  # of the fields that a config draws
_LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "encoder_layers", "decoder_layers", "n_layers")
_WIDTHS = ("hidden_size", "n_embd", "d_model", "dim")
_HEADS = ("num_attention_heads", "n_head", "num_heads", "encoder_attention_heads", "n_heads")
_FIELDS = {"layers": _LAYERS, "width": _WIDTHS, "heads": _HEADS}
_MORE_TYPES = (
    "mt5",
    "stablelm",
    "olmo2",
    "qwen3_moe",
    "gemma3",
    "llava",
    "distilbert",
    "albert",
    "olmo3",
    "smollm3",
)
_LEAST = 3  # configs of a class


def prompt_classes(model_types: Iterable[str]) -> dict[str, list[str]]:
    """Return the classes by the fields of layers, width, heads, head width and KV heads, and the table."""
    found: dict[str, list[str]] = defaultdict(list)
    for model_type in sorted({*model_types, *_MORE_TYPES} & {*shipped_library().model_types()}):
        spec = shipped_library().load(model_type)
        for name in spec.architectures:
            with suppress(Exception):  # peft raises anything for what it does not support
                found[" ".join(_row(spec, name))].append(name)
        print(model_type, flush=True)
    return {row: sorted(classes) for row, classes in sorted(found.items())}


@cache
def _configs(model_type: str) -> list[tuple[Scope, dict[str, Any], dict[str, Any]]]:
    """Return configs as the spec reads them, the sizes that peft reads, and the configs themselves."""
    found, spec = [], shipped_library().load(model_type)
    for raw in [default_config(spec), *map(Sampler(spec, 0).draw_config, _SHARES)]:
        with suppress(Exception):  # a config may be rejected by either side
            raw = {"model_type": spec.model_type, **raw}
            scope, config = Scope(spec, raw), config_of(spec.model_type, raw)
            scope.validate()
            found.append((scope, config, raw))
    return [(scope, _sizes(config), raw) for scope, config, raw in found]


def _row(spec: Spec, name: str) -> list[str]:
    """Return the fields of a class. Errors: any, if peft or this tool cannot read its configs."""
    known = _configs(spec.model_type)
    assert len(known) >= _LEAST
    row = [_field(known, key, names) for key, names in _FIELDS.items()]
    heads = {sizes["head"] for _, sizes, _ in known}
    if heads in ({"none"}, {"differ"}):
        row += ["-", "-" if heads == {"none"} else "differ"]
    else:
        is_computed = heads == {"computed"}
        row += ["-" if is_computed else _field(known, "head_width", ("head_dim",))]
        row += [_field(known, "kv_heads", ("num_key_value_heads",))]
    return [*row, next(_tables(name, spec.model_type, [raw for _, _, raw in known]))]


def _sizes(config: Any) -> dict[str, Any]:
    """Return the sizes that peft reads from a config, and the source of the width of a head."""
    from peft import PrefixTuningConfig, PromptTuningConfig
    from peft.utils import other

    prepare: Any = other._prepare_prompt_learning_config

    read, prefix = prepare(PromptTuningConfig(), config), prepare(PrefixTuningConfig(), config)
    values = config.to_dict()
    values = values.get("text_config", values)
    sizes = {"layers": read.num_layers, "width": read.token_dim, "heads": read.num_attention_heads}
    if "num_key_value_heads" not in values:
        assert prefix.token_dim == read.token_dim
        return {**sizes, "head": "none"}
    if values.get("global_head_dim") is not None or values.get("per_layer_config") is not None:
        return {**sizes, "head": "differ"}
    heads = prefix.num_attention_heads
    head = "given" if values.get("head_dim") is not None else "computed"
    assert prefix.token_dim % heads == 0
    return {**sizes, "head": head, "head_width": prefix.token_dim // heads, "kv_heads": heads}


def _field(known: list[Any], key: str, names: tuple[str, ...]) -> str:
    """Return the first field with peft's values; a head without a width has its share of the model's."""
    for path in (f"{part}{name}" for part in ("", "text_config.") for name in names):
        with suppress(Exception):  # not a field
            pairs = [(read_field(scope, path), sizes) for scope, sizes, _ in known]
            if key == "head_width":
                pairs = [(one or sizes["width"] // sizes["heads"], sizes) for one, sizes in pairs]
            pairs = [(one, sizes[key]) for one, sizes in pairs if one is not None]
            if len(pairs) >= _LEAST and all(one == size for one, size in pairs):
                return path
    raise LookupError(key)


def _tables(name: str, model_type: str, raws: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the parameter of the word embeddings that peft finds, for the configs that build a model."""
    import torch
    from peft import PromptTuningConfig, get_peft_model

    warnings.simplefilter("ignore")
    for raw in raws:
        raw = make_runnable(raw, name)
        with torch.device("meta"):
            try:
                built = build_class(name, raw, model_type)
            except Refused:
                continue
            options = PromptTuningConfig(num_virtual_tokens=3, task_type="FEATURE_EXTRACTION")
            options.prompt_tuning_init = "SAMPLE_VOCAB"
            model: Any = get_peft_model(built, options)
        table = model.word_embeddings.weight
        assert model.prompt_encoder["default"].embedding.weight.shape[1] == table.shape[1]
        yield next(key for key, one in built.named_parameters() if one is table)
