"""Rules that reproduce recorded conversions of llama.cpp, for tools/from_llama.py.

A class whose conversions no rule reproduces is left out, with the reason on the terminal.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import archspec
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.gguf import names
from archspec.gguf.types import VERSION, without_ones
from archspec.specs.library import shipped_library

PATH = Path(shipped_library().folder) / "gguf.json"
_ABOUT = "What llama.cpp's converter does with the tensors of each class; written by tools/from_llama.py"
_PARTS = ("", "text_config.", "thinker_config.text_config.")
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
_SPECIAL = {
    "llama",
    "falcon",
    "qwen2",
    "olmo",
    "jais2",
    "bailingmoe3",
    "glm5-next",
}  # named by the rules of types
_FULL = (  # the head size of layers with full attention
    "({0}per_layer_config[{0}layer_types.index('full_attention')]['head_dim'] "
    "if 'full_attention' in {0}layer_types else {0}global_head_dim) // 2"
)
_GENERATED = {
    "rope_freqs.weight": [
        (condition, size.format(part))
        for condition in ("rope_type == 'llama3'", "rope_type == 'proportional'", "True")
        for part in _PARTS
        for size in (
            "({0}head_dim + 1) // 2",
            "({0}hidden_size // {0}num_attention_heads + 1) // 2",
            "{0}global_head_dim // 2",
            _FULL,
        )
    ],
    "rope_factors_long.weight": [("factors", "factors")],
    "rope_factors_short.weight": [("factors", "factors")],
}
_WORKS_ON = re.compile(r"linear|ssm|mamba|dt_rank|time_step|head|group")  # fields of products in a shape
_VALUES = "(linear_num_value_heads // linear_num_key_heads) * linear_num_key_heads * linear_value_head_dim"
_PREFERRED = {"attn_k_b": "nope", "attn_v_b": "v_head", "ssm_norm": "group"}  # if several fields fit a size
_BYTES = {"STRING": 8, "BOOL": 1, "FLOAT32": 4, "UINT32": 4, "INT32": 4, "UINT64": 8}
_FREE = {"general.name", "general.size_label", "general.basename", "general.finetune", "general.version"}


class Unfit(Exception):
    """No rule reproduces the conversions of a class."""


class Run(NamedTuple):
    """One conversion, with the config as archspec reads it."""

    record: dict[str, Any]
    scope: Scope
    fields: dict[str, int]
    values: dict[str, Any]  # what expressions may use in addition to fields


class Made(NamedTuple):
    """A tensor of a converted file."""

    name: str
    shape: list[int]
    type: str
    sources: list[str]
    sizes: list[list[int]]
    run: Run


def template(name: str, only_first: bool = False) -> str:
    """Return a name without its indices."""
    parts = name.split(".")
    places = [place for place, part in enumerate(parts) if part.isdecimal()][: 1 if only_first else None]
    return ".".join("{}" if place in places else part for place, part in enumerate(parts))


def write_rules(*paths: str) -> None:
    """Write formulas/gguf.json from files of recorded conversions."""
    by_class = defaultdict[str, list[dict[str, Any]]](list)
    for line in (line for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines()):
        record = json.loads(line)
        if all(all(shape) for shape, *_ in record["tensors"].values()):
            by_class[record["cls"]].append(record)
    rows: dict[str, dict[str, Any]] = {}
    for architecture, records in sorted(by_class.items()):
        try:
            rows[architecture] = fit_class([run_of(record) for record in records])
        except Unfit as error:
            print(architecture, error)
    _write(rows)
    names._table.cache_clear()
    for architecture in [*rows]:
        verdicts = [is_reproduced(one) for one in by_class[architecture]]
        if False in verdicts or True not in verdicts:
            wrong = (
                one["raw"]
                for one, verdict in zip(by_class[architecture], verdicts, strict=True)
                if verdict is False
            )
            print(architecture, "is not reproduced", next(wrong, "every config is refused"))
            del rows[architecture]
    _write(rows)
    print(len(rows), "classes")


def _write(rows: dict[str, dict[str, Any]]) -> None:
    rules = list[Any]()
    classes = {}
    for name, row in rows.items():
        if row["map"] not in rules:
            rules.append(row["map"])
        classes[name] = {key: one for key, one in row.items() if key != "map"} | {
            "rules": rules.index(row["map"])
        }
    lines = [",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in classes.items())]
    lines.append(",\n".join(map(json.dumps, rules)))
    head = f'{{"about": "{_ABOUT}",\n"version": "{VERSION}",\n'
    PATH.write_text(f'{head}"classes": {{\n{lines[0]}\n}},\n"rules": [\n{lines[1]}\n]}}\n', encoding="utf-8")


def run_of(record: dict[str, Any]) -> Run:
    """Return a conversion, checked against archspec's tensors. Errors: :class:`Unfit`."""
    model = archspec.load({**record["raw"], "architectures": [record["cls"]]})
    own = {one.name: [*one.shape] for one in model.tensors() if one.tied_to is None}
    if own != record["hf"]:
        raise Unfit(f"other tensors: {[name for name in own if own[name] != record['hf'].get(name)][:3]}")
    values = names.UNSTATED | names.stated_values(record["saved"])
    attention = re.compile(r"blk\.0\.attn_(q|k|qkv)\.weight")
    values["has_attention"] = any(map(attention.match, record["tensors"]))
    return Run(record, model.scope, dict(_fields(model.scope)), values)


def _fields(scope: Scope, prefix: str = "") -> Iterator[tuple[str, int]]:
    for name in scope.spec.fields:
        try:
            value = scope.get(name)
            if isinstance(value, SubConfig) and name in _NESTED:
                yield from _fields(value.scope, f"{prefix}{name}.")
        except ArchspecError:
            continue
        if type(value) is int:
            yield prefix + name, value


def fit_class(runs: list[Run]) -> dict[str, Any]:
    """Return the row of a class, with its rules as `map`. Errors: :class:`Unfit`."""
    made, generated = list[Made](), set[str]()
    uses = defaultdict[str, set[tuple[str, ...]]](set)
    for run in runs:
        targets = defaultdict[str, list[str]](list)
        for name, (shape, kind, tags) in run.record["tensors"].items():
            sources = [tag for tag in tags if tag in run.record["hf"]]
            if name in _GENERATED or (not sources and "{}" not in template(name)):
                generated.add(name)
                continue
            if not sources or "?" in tags:
                raise Unfit(f"{name} has unknown values")
            sizes = [run.record["hf"][source] for source in sources]
            made.append(Made(name, shape, kind, sources, sizes, run))
            for source in sources:
                targets[source].append(template(name))
        for name in run.record["hf"]:
            uses[template(name)].add(tuple(sorted(targets[name])))
    short = {name for name, targets in uses.items() if len(targets) > 1 and name.count("{}") > 1}
    if wrong := [name for name, targets in uses.items() if len(targets) > 1 and name not in short]:
        raise Unfit(f"{wrong[0]} becomes {uses[wrong[0]]}")

    def key(name: str) -> str:
        return template(name, template(name) in short)

    rules: dict[str, list[list[str]]] = {key(name): [] for run in runs for name in run.record["hf"]}
    groups = defaultdict[tuple[str, tuple[str, ...]], list[Made]](list)
    for one in made:
        groups[template(one.name), tuple(sorted({key(source) for source in one.sources}))].append(one)
    for (target, made_of), ones in groups.items():
        for source in made_of:
            rules[source].append([target, *_fit_tensor(ones)])
    return {**_fit_metadata(runs), **_fit_generated(generated, runs), "map": rules}


def _fit_tensor(ones: list[Made]) -> list[str]:
    """Return the shape and the type of a rule; nothing if both are usual."""
    if all(one.sizes == [one.shape] for one in ones):
        shape = ""
    elif all(one.shape == [size for size in one.sizes[0] if size > 1] for one in ones):
        shape = "squeezed"
    else:
        if len({len(one.shape) for one in ones}) > 1:
            raise Unfit(f"{ones[0].name} has different numbers of dimensions")
        shape = "; ".join(_fit_size(ones, index) for index in range(len(ones[0].shape)))
    if all(one.type == _usual_type(one) for one in ones):
        return [shape] * bool(shape)
    if len(kinds := {one.type for one in ones}) > 1:
        raise Unfit(f"{ones[0].name} has types {kinds}")
    return [shape, *kinds]


def _usual_type(one: Made) -> str:
    is_small = len(one.shape) < 2 or one.name.endswith("_norm.weight") or not one.name.endswith(".weight")
    return "F32" if is_small else "F16"


def _fit_size(ones: list[Made], index: int) -> str:
    """Return the first expression that is the size of a dimension in all conversions."""
    ranks = range(min(len(one.sizes[0]) for one in ones))
    fields = [name for name in ones[0].run.fields if all(name in one.run.fields for one in ones)]
    wanted = _PREFERRED.get(ones[0].name.split(".")[-2], "")
    fields.sort(key=lambda name: wanted not in name)
    few = [name for name in fields if _WORKS_ON.search(name)]
    products = [f"{one} * {other}" for one, other in combinations_with_replacement(few, 2)]
    found = (
        *[f"d{index}", f"d{index} // 2"] * (index in ranks),
        *(f"d{rank}{half}" for half in ("", " // 2") for rank in ranks),
        *("1", "n", "d0 - padding - 1"),
        *(f"d{one} * d{other}" for one in ranks for other in ranks if one < other),
        *(f"max(d{rank}, {name})" for rank in ranks for name in fields if "vocab_size" in name),
        *fields,
        *(f"d{rank} {sign} {name}" for sign in ("//", "-") for rank in ranks for name in fields),
        *(_VALUES, f"d0 - {_VALUES}"),
        *products,
        *(f"d0 - {product}" for product in products),
    )
    fits = (text for text in found if all(_size(text, one) == one.shape[index] for one in ones))
    if (text := next(fits, None)) is not None:
        return text
    raise Unfit(f"{ones[0].name} has shape {ones[0].shape}, made of {ones[0].sizes[:2]}")


def _size(text: str, one: Made) -> int | None:
    known = {f"d{rank}": size for rank, size in enumerate(one.sizes[0])} | {
        "n": len(one.sizes),
        **one.run.values,
    }
    return value_of(text, one.run, known) if text not in one.run.fields else one.run.fields[text]


def value_of(text: str, run: Run, known: dict[str, Any]) -> int | None:
    """Return the value of an expression; None if it has none, or is not exact."""
    try:
        if "//" in text and "(" not in text:
            left, right = (names._evaluate(run.scope, part, known) for part in text.split(" // "))
            if left % right:
                return None
        return names._evaluate(run.scope, text, known)
    except (ArchspecError, ZeroDivisionError):
        return None


def _fit_metadata(runs: list[Run]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    archs = {run.record["kv"]["general.architecture"][1] for run in runs}
    if len(archs) > 1 and archs & _SPECIAL:
        raise Unfit(f"architectures {archs}")
    for key, (entry, fields) in _NAMES.items():
        first = "attention.head_count" if key == "key_value_heads" else ""
        wanted = [_entry(run, entry, _entry(run, first, 0)) for run in runs]
        plain = [part + name for part in _PARTS for name in fields.split()]
        options = (*plain, *_metadata_options(key, plain), *{str(value) for value in wanted if value < 2})
        for text in options:
            if all(value_of(text, run, run.values) == value for run, value in zip(runs, wanted, strict=True)):
                found[key] = text
                break
        else:
            raise Unfit(f"{key} is {wanted}")
    row: dict[str, Any] = {
        "arch": min(archs),
        "metadata": found,
        "metadata_bytes": _fit_metadata_bytes(runs),
        "usual": {},
    }
    row["predicts"] = any(run.values["nextn"] for run in runs)
    row |= {"predicts_always": True} if any(run.record.get("no_mtp") for run in runs) else {}
    for key, unstated in names.UNSTATED.items():
        usual = (run.values[key] for run in runs if key not in names.stated_values(run.record["raw"]))
        if (value := next(usual, unstated)) != unstated:
            row["usual"][key] = value
    return row


def _metadata_options(key: str, plain: list[str]) -> Iterator[str]:
    """Yield expressions that are more than a field."""
    for name in plain:
        if key == "experts":
            yield f"0 if {name} is None else {name}"
        if key == "layers":
            yield from (f"{name} + nextn", f"{name} + 1")
    for part in _PARTS if key == "key_value_heads" else ():
        name = f"{part}num_key_value_heads"
        yield f"{part}num_attention_heads if {name} is None else {name}"
        yield from (f"{name} if has_attention else 0", f"{name} if layer_types[0] == 'full_attention' else 0")


def _entry(run: Run, key: str, default: int) -> int:
    """Return an entry of the metadata, that of the first layer if it depends on the layer."""
    entries = run.record["kv"]
    value = entries.get(f"{entries['general.architecture'][1]}.{key}", ["", default])[1]
    return int(value[0] if isinstance(value, list) else value)


def _fit_metadata_bytes(runs: list[Run]) -> dict[str, list[int]]:
    """Return the bytes of the metadata by type of rotary embeddings: a constant, and those of each layer."""
    found = defaultdict[str, set[tuple[int, int]]](set)
    for run in runs:
        layers, constant, each = _entry(run, "block_count", 0), 0, 0
        for key, (kind, value) in run.record["kv"].items():
            if key in _FREE:
                continue
            constant += 8 + len(key) + 4 + (12 if kind == "ARRAY" else _BYTES[kind])
            if kind == "ARRAY":
                size = 1 if isinstance(value[0], bool) else 4
                constant, each = (
                    (constant, each + size) if len(value) == layers else (constant + size * len(value), each)
                )
            constant += len(value) if kind == "STRING" else 0
        found[run.values["rope_type"]].add((constant, each))
    return {rope: [*sizes.pop()] for rope, sizes in found.items() if len(sizes) == 1}


def _fit_generated(generated: Iterable[str], runs: list[Run]) -> dict[str, Any]:
    row: dict[str, Any] = {"ropes": sorted({run.values["rope_type"] for run in runs} - {""})}
    for name in sorted(generated):
        found = (
            pair for pair in _GENERATED.get(name, ()) if all(_generates(name, pair, run) for run in runs)
        )
        if (pair := next(found, None)) is None:
            raise Unfit(f"{name} does not consist of parameters")
        row.setdefault("generated", []).append([name, *pair])
    return row


def _generates(name: str, pair: tuple[str, str], run: Run) -> bool:
    shape, kind, _ = run.record["tensors"].get(name, (None, "F32", []))
    if not value_of(pair[0], run, run.values):
        return shape is None
    return bool(shape == [value_of(pair[1], run, run.values)] and kind == "F32")


def is_reproduced(record: dict[str, Any]) -> bool | None:
    """Return True if the written rules give the tensors of a recorded conversion; None if they refuse it."""
    run = run_of(record)
    model = archspec.load({**record["raw"], "architectures": [record["cls"]]})
    try:
        found = names.convert_tensors(run.scope, record["cls"], model.tensors(), "F16").tensors
    except ArchspecError:
        return None
    own = [(one.name, without_ones(one.shape), one.type) for one in found]
    wanted = [(name, without_ones(shape), kind) for name, (shape, kind, _) in record["tensors"].items()]
    return sorted(own) == sorted(wanted)
