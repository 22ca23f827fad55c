"""Expressions that give the metadata of recorded conversions of llama.cpp, for tools/llama_rules.py."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import archspec
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.gguf import names

PARTS = ("", "text_config.", "thinker_config.text_config.")
_NESTED = ("text_config", "thinker_config", "ffn_config", "attn_config")
_NAMES = {  # keys of the metadata, and config fields that may contain their values
    "layers": ("block_count", "num_hidden_layers n_layer n_layers num_layers len(layers_block_type)"),
    "heads": ("attention.head_count", "num_attention_heads n_head n_heads num_heads"),
    "key_value_heads": (
        "attention.head_count_kv",
        "num_key_value_heads attn_config.kv_n_heads num_attention_heads n_head n_heads num_heads",
    ),
    "experts": (
        "expert_count",
        "num_local_experts num_experts n_routed_experts moe_num_experts ffn_config.moe_num_experts",
    ),
}
SCORING = ("scoring_func", "score_function", "score_func", "moe_router_activation")
_ROPE_KEYS = (
    *("attention_factor", "attn_factor", "extrapolation_factor", "beta_fast", "beta_slow"),
    *("mscale_all_dim", "mrope_section"),
)
_LABELS = {"id2label", "num_labels"}  # add only labels, of a classifier
KEYS = (  # of configs, which conditions may name
    *(*SCORING, "moe_router_activation_func", "expert_selection_fn", *_ROPE_KEYS),
    *("head_dim", "n_group", "topk_group", *sorted(_LABELS)),
)
_FEWEST = 3  # conversions of a class that tell what its metadata depend on
_UNREAD = {  # of the vocabulary, without an entry, or other names of keys
    *("tokenizer_class", "torch_dtype", "quantization_config", "architectures", "rope_scaling", "type"),
}
_SPECIAL = {"llama", "falcon", "qwen2", "olmo", "jais2", "bailingmoe3", "glm5-next"}  # in the rules of types
_BYTES = {"STRING": 8, "BOOL": 1, "FLOAT32": 4, "UINT32": 4, "INT32": 4, "UINT64": 8}
_FREE = {"general.name", "general.size_label", "general.basename", "general.finetune", "general.version"}


class Unfit(Exception):
    """No rule reproduces the conversions of a class."""


class Run(NamedTuple):
    """One conversion, with the config as archspec reads it."""

    record: dict[str, Any]
    scope: Scope
    fields: dict[str, Any]
    values: dict[str, Any]  # what expressions may use in addition to fields

    @property
    def sizes(self) -> dict[str, int]:
        """The fields that are integers."""
        return {name: value for name, value in self.fields.items() if type(value) is int}

    def value(self, text: str, more: dict[str, int] | None = None) -> Any:
        """Return the value of an expression; None if it has none."""
        try:
            return names.evaluate(self.scope, text, self.values | (more or {}))
        except (ArchspecError, ZeroDivisionError):
            return None

    def entry(self, key: str, default: int) -> int:
        """Return an entry of the metadata, that of the first layer if it depends on the layer."""
        entries = self.record["kv"]
        value = entries.get(f"{entries['general.architecture'][1]}.{key}", ["", default])[1]
        return int(value[0] if isinstance(value, list) else value)


def run_of(record: dict[str, Any]) -> Run:
    """Return a conversion, checked against archspec's tensors. Errors: :class:`Unfit`."""
    model = archspec.load({**record["raw"], "architectures": [record["cls"]]})
    own = {one.name: [*one.shape] for one in model.tensors() if one.tied_to is None}
    if own != record["hf"]:
        raise Unfit(f"other tensors: {[name for name in own if own[name] != record['hf'].get(name)][:3]}")
    stated = names.stated_values(record["raw"])
    values = names.UNSTATED | names.stated_values(record["saved"])
    values |= {"saved_keys": values["keys"], "keys": stated["keys"], "rope_keys": []}
    if "rope_type" not in stated:
        values["rope_keys"] = [key for key in values["saved_keys"] if key in _ROPE_KEYS]
        values["keys"] = stated["keys"] + values["rope_keys"]
    attention = re.compile(r"blk\.0\.attn_(q|k|qkv)\.weight")
    values["has_attention"] = any(map(attention.match, record["tensors"]))
    return Run(record, model.scope, dict(_fields(model.scope)), values)


def _fields(scope: Scope, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in scope.spec.fields:
        try:
            value = scope.get(name)
            if isinstance(value, SubConfig) and name in _NESTED:
                yield from _fields(value.scope, f"{prefix}{name}.")
        except ArchspecError:
            continue
        yield prefix + name, value


def fit_metadata(runs: list[Run]) -> dict[str, Any]:
    """Return the metadata in the row of a class, without their bytes. Errors: :class:`Unfit`."""
    found: dict[str, Any] = {}
    archs = {run.record["kv"]["general.architecture"][1] for run in runs}
    if len(archs) > 1 and archs & _SPECIAL:
        raise Unfit(f"architectures {archs}")
    for key, (entry, fields) in _NAMES.items():
        first = "attention.head_count" if key == "key_value_heads" else ""
        wanted = [run.entry(entry, run.entry(first, 0)) for run in runs]
        plain = [part + name for part in PARTS for name in fields.split()]
        options = (*plain, *_more_options(key, plain), *{str(value) for value in wanted if value < 2})
        fits = (one for one in options if [run.value(one) for run in runs] == wanted)
        if (text := next(fits, None)) is None:
            raise Unfit(f"{key} is {wanted}")
        found[key] = text
    row: dict[str, Any] = {"arch": min(archs), "metadata": found, "usual": {}}
    row["predicts"] = max(run.values["nextn"] for run in runs)
    row |= {"predicts_always": True} if any(run.record.get("no_mtp") for run in runs) else {}
    for key, unstated in names.UNSTATED.items():
        usual = (run.values[key] for run in runs if key not in names.stated_values(run.record["raw"]))
        if (value := next(usual, unstated)) != unstated:
            row["usual"][key] = value
    return row


def _more_options(key: str, plain: list[str]) -> Iterator[str]:
    """Yield expressions that are more than a field."""
    for name in plain:
        if key == "experts":
            yield f"0 if {name} is None else {name}"
        if key == "layers":
            yield from (f"{name} + nextn", f"{name} + 1")
    for part in PARTS if key == "key_value_heads" else ():
        name = f"{part}num_key_value_heads"
        yield f"{part}num_attention_heads if {name} is None else {name}"
        yield from (f"{name} if has_attention else 0", f"{name} if layer_types[0] == 'full_attention' else 0")


def keys_of(converter: type) -> set[str]:
    """Return the keys of configs that a converter may read, from the source of its classes."""
    inner = [one for one in vars(converter).values() if isinstance(one, type)]
    bases = {
        one for cls in (converter, *inner) for one in cls.__mro__ if one.__module__.startswith("conversion")
    }
    parts: list[ast.AST] = []
    for node in (
        node for one in bases for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(one))))
    ):
        if isinstance(node, ast.Subscript):
            parts.append(node.slice)
        elif isinstance(node, ast.Compare):
            parts.append(node.left)
        elif isinstance(node, ast.Call):
            parts += node.args[:1]
        elif isinstance(node, ast.For | ast.comprehension):
            parts.append(node.iter)
    parts += [one for part in parts if isinstance(part, ast.List | ast.Tuple) for one in part.elts]
    texts = {one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    found = {text for text in texts if re.fullmatch(r"[a-z]\w+", text)} - _UNREAD
    return found | ({"num_labels"} if "id2label" in found else set())


def fit_bytes(architecture: str, runs: list[Run], common: set[str], own: set[str]) -> dict[str, Any]:
    """Return the bytes of the metadata in the row of a class; None if no rule reproduces them.

    ``common`` and ``own`` are the keys that the converters of all classes and of this class read.
    """
    if any(key.endswith(".output_labels") for run in runs for key in run.record["kv"]):
        runs = [run for run in runs if not _LABELS & {*run.values["keys"]}]
    if len({_without_variants(run.record["raw"]) for run in runs}) < _FEWEST:
        print(architecture, "has too few conversions for the bytes of metadata")
        return {"metadata_bytes": None}
    entries = [_entries(run) for run in runs]
    found = defaultdict[str, list[int]](lambda: [0, 0])
    for key in {key: 0 for one in entries for key in one}:
        condition = _condition(key[0], [key in one for one in entries], runs)
        sizes = [
            (run.entry("block_count", 0), *one[key])
            for run, one in zip(runs, entries, strict=True)
            if key in one
        ]
        is_by_layer = all(count == layers for layers, _, count, _ in sizes)
        each = {size if is_by_layer else 0 for _, _, _, size in sizes}
        rest = {constant + (0 if is_by_layer else count * size) for _, constant, count, size in sizes}
        if condition is None or len(rest) > 1 or len(each) > 1:
            print(architecture, f"has unknown bytes of {key[0]}")
            return {"metadata_bytes": None}
        found[condition] = [found[condition][0] + rest.pop(), found[condition][1] + each.pop()]
    nulls = [(common | own) & names.null_fields(run.scope) for run in runs]
    keys = [{*run.values["keys"]}.intersection(KEYS) - _LABELS for run in runs]
    saved = {key for run in runs for key in run.values["saved_keys"]} & (common | own)
    ropes = {run.values["rope_type"] for run in runs} - {""}
    row = {
        "metadata_bytes": [[condition, *sizes] for condition, sizes in found.items()],
        "keys": sorted(own - common),
        "recorded": sorted(saved | ropes),
        "nullable": sorted(set[str]().union(*nulls)),
        "nulls": sorted(nulls[0].intersection(*nulls)),
        "stated": sorted(keys[0].intersection(*keys)),
    }
    usual: list[str] = next((run.values["rope_keys"] for run in runs if run.values["rope_keys"]), [])
    return row | {"rope_keys": usual} if usual else row


def _without_variants(raw: dict[str, Any]) -> str:
    """Return a config as text, without the keys that tools/from_llama.py varies."""
    varied = {"rope_parameters", "head_dim", *SCORING}
    parts = [one for one in (raw, *raw.values()) if isinstance(one, dict)]
    return str([(key, one) for part in parts for key, one in part.items() if key not in {*varied, *_NESTED}])


def _entries(run: Run) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return the constant bytes, the number and the size of elements, by key and type, or key and text."""
    found = {}
    entries = dict.fromkeys(("general.file_type", "general.quantization_version"), ("UINT32", 0))
    for key, (kind, value) in (entries | run.record["kv"]).items():  # llama-quantize sets both
        if key in _FREE or key.startswith("tokenizer."):
            continue
        size = 8 + len(key) + 4
        if kind != "ARRAY":
            text = value if kind == "STRING" else ""
            found[key, text or kind] = (size + _BYTES[kind] + len(text), 0, 0)
        elif isinstance(value[0], str):  # labels, which a config does not determine
            found[key, kind] = (size + 12 + sum(8 + len(one) for one in value), 0, 0)
        else:
            found[key, kind] = (size + 12, len(value), 1 if isinstance(value[0], bool) else 4)
    return found


def _condition(key: str, present: list[bool], runs: list[Run]) -> str | None:
    """Return the first condition that holds for the runs whose metadata have a key; "" if all have it."""
    if all(present):
        return ""
    words = {word.rstrip("s") for word in re.split(r"[._]", key) if len(word) > 3}
    shared = {name: words & {word.rstrip("s") for word in re.split(r"[._]", name)} for name in runs[0].fields}
    related = sorted(filter(shared.get, shared), key=lambda name: -len(shared[name]))
    ropes = sorted({run.values["rope_type"] for run, has_it in zip(runs, present, strict=True) if has_it})
    options = ["'head_dim' in keys"] if key.endswith(("key_length", "value_length")) else []
    options += ["'rope_theta' in keys"] if key.endswith("freq_base") else []
    options += [f"rope_type == '{ropes[0]}'"] if len(ropes) == 1 else [f"rope_type in {ropes}"]
    options += [
        f"'{name}' in keys"
        for name in sorted({*KEYS} - _LABELS, key=lambda name: (name not in key, KEYS.index(name)))
    ]
    options.append(" or ".join(f"'{name}' in keys" for name in SCORING))
    options += [
        text for name in related for text in (f"{name} is not None", f"{name} not in [None, 0, False]")
    ]
    full = "{0}per_layer_config[{0}kinds.index('full_attention')]['num_key_value_heads']"
    heads = full + " {1} {0}num_key_value_heads"
    options += [heads.format(part, sign) for part in PARTS for sign in ("==", "!=")]
    options += ["nextn", "not has_attention", "has_attention"]
    return next((one for one in options if [bool(run.value(one)) for run in runs] == present), None)
