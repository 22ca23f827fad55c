"""The config fields and word embeddings that peft reads for prompt and prefix tuning, by class.

tools/from_peft.py writes them to formulas/adapters.json. Fields are those whose values are peft's for all
configs that are tried; a class for which peft fails is left out.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from archspec.configs.scope import Scope
from archspec.reference import Refused
from archspec.reference.construction import build_class, config_of
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.costs.cases import make_runnable
from archspec.verifying.costs.fitting import default_config
from archspec.verifying.generate.sampling import Sampler

_SHARES = (0.0, 0.5, 1.0, 1.0, 1.0, 0.7, 0.3, 1.0, 1.0, 1.0)  # of the fields that a config draws
_LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "encoder_layers", "decoder_layers", "n_layers")
_WIDTHS = ("hidden_size", "n_embd", "d_model", "dim")
_HEADS = ("num_attention_heads", "n_head", "num_heads", "encoder_attention_heads", "n_heads")
_FIELDS = {"layers": _LAYERS, "width": _WIDTHS, "heads": _HEADS, "kv_heads": ("num_key_value_heads",)}
_LEAST, _BUILDS = 3, 2  # configs, and models, of a class


def prompt_classes() -> dict[str, list[str]]:
    """Return the classes by the fields of layers, width, heads, head width and KV heads, and the table."""
    found: dict[str, list[str]] = defaultdict(list)
    for model_type in shipped_library().model_types():
        spec = shipped_library().load(model_type)
        for name in spec.architectures:
            with suppress(Exception):  # peft raises anything for what it does not support
                found[" ".join(_row(spec, name))].append(name)
        print(model_type, flush=True)
    return {row: sorted(classes) for row, classes in sorted(found.items())}


def _configs(spec: Spec, name: str) -> Iterator[tuple[Scope, Any, dict[str, Any]]]:
    """Yield configs as the spec and as transformers reads them."""
    draws = map(Sampler(spec, 0).draw_config, _SHARES)
    for raw in [default_config(spec), *draws]:
        with suppress(Exception):  # a config may be rejected by either side
            raw = make_runnable({"model_type": spec.model_type, **raw}, name)
            scope, config = Scope(spec, raw), config_of(spec.model_type, raw)
            scope.validate()
            yield scope, config, raw


def _row(spec: Spec, name: str) -> list[str]:
    """Return the fields of a class. Errors: any, if peft or this tool cannot read its configs."""
    known = [(scope, _sizes(config), raw) for scope, config, raw in _configs(spec, name)]
    assert len(known) >= _LEAST
    row = {key: _field(known, key, names) for key, names in _FIELDS.items() if key != "kv_heads"}
    kinds = {sizes["head"] for _, sizes, _ in known}
    assert len(kinds) == 1, kinds
    kind = kinds.pop()
    row["head_width"] = _field(known, "head_width", ("head_dim",)) if kind == "given" else "-"
    row["kv_heads"] = {"none": "-", "differ": "differ"}.get(kind) or _field(known, "kv_heads", _FIELDS["kv_heads"])
    tables = [*islice(_tables(name, spec.model_type, [raw for _, _, raw in known]), _BUILDS)]
    assert len(tables) == _BUILDS and len({*tables}) == 1, tables
    return [*(row[key] for key in ("layers", "width", "heads", "head_width", "kv_heads")), tables[0]]


def _sizes(config: Any) -> dict[str, Any]:
    """Return the sizes that peft reads from a config, and from where it has the width of a head."""
    from peft import PrefixTuningConfig, PromptTuningConfig
    from peft.utils.other import _prepare_prompt_learning_config as prepare

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
    """Return the first field with peft's values."""
    for path in (f"{part}{name}" for part in ("", "text_config.") for name in names):
        with suppress(Exception):  # not a field
            if all(_value(scope, path) == sizes[key] for scope, sizes, _ in known):
                return path
    raise LookupError(key)


def _value(scope: Any, path: str) -> int:
    *parts, name = path.split(".")
    for part in parts:
        scope = scope.get(part).scope
    value = scope.get(name)
    assert type(value) is int
    return value


def _tables(name: str, model_type: str, raws: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the parameter of the word embeddings that peft finds, for the configs that build a model."""
    import torch
    from peft import PromptTuningConfig, get_peft_model

    warnings.simplefilter("ignore")
    for raw in raws:
        with torch.device("meta"):
            try:
                built = build_class(name, raw, model_type)
            except Refused:
                continue
            options = PromptTuningConfig(num_virtual_tokens=3, task_type="FEATURE_EXTRACTION")
            options.prompt_tuning_init = "SAMPLE_VOCAB"
            model = get_peft_model(built, options)
        table = model.word_embeddings.weight
        assert model.prompt_encoder["default"].embedding.weight.shape[1] == table.shape[1]
        yield next(key for key, one in built.named_parameters() if one is table)
