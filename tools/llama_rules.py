"""Rules that reproduce recorded conversions of llama.cpp, for tools/from_llama.py.

A class whose conversions no rule reproduces is left out, with the reason on the terminal. A class without
new records keeps its rules, and so does one whose rules reproduce them.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import archspec
from archspec.errors import ArchspecError
from archspec.gguf import names
from archspec.gguf.types import VERSION, without_ones
from archspec.specs.library import shipped_library
from tools.llama_metadata import PARTS, SCORING, Run, Unfit, fit_bytes, fit_metadata, run_of

PATH = Path(shipped_library().folder) / "gguf.json"
_ABOUT = "What llama.cpp's converter does with the tensors of each class; written by tools/from_llama.py"
_FULL = "{0}per_layer_config[{0}kinds.index('full_attention')]['head_dim'] // 2"  # with full attention
_GENERATED = {
    "rope_freqs.weight": [
        (condition, size.format(part))
        for condition in ("rope_type == 'llama3'", "rope_type == 'proportional'", "True")
        for part in PARTS
        for size in (
            _FULL,
            "({0}head_dim + 1) // 2",
            "({0}hidden_size // {0}num_attention_heads + 1) // 2",
        )
    ],
    "rope_factors_long.weight": [("factors", "factors")],
    "rope_factors_short.weight": [("factors", "factors")],
}
_MROPE = {"without mrope_section": "'mrope_section' not in keys"}
_LITE = "num_hidden_layers in [26, 27] or num_hidden_layers == 48 and vocab_size == 128256"
_REJECTED = {  # by class or llama.cpp's name, as in llama.cpp/src/models and llama.cpp/conversion
    "qwen2vl": _MROPE,
    "qwen3vl": _MROPE,
    "qwen3vlmoe": _MROPE,
    "exaone-moe": {"without scoring_func": " and ".join(f"'{name}' not in keys" for name in SCORING)},
    "modern-bert": {"without layer_norm_eps": "'layer_norm_eps' not in keys"},
    "deepseek2": {"without q_lora_rank": f"q_lora_rank is None and not ({_LITE})"},
    "EuroBertModel": {"with this classifier_pooling": "pooling not in ['cls', 'mean']"},
}
_WORKS_ON = re.compile(r"linear|ssm|mamba|dt_rank|time_step|head|group")  # fields of products in a shape
_VALUES = "(linear_num_value_heads // linear_num_key_heads) * linear_num_key_heads * linear_value_head_dim"
_PREFERRED = {"attn_k_b": "nope", "attn_v_b": "v_head", "ssm_norm": "group"}  # if several fields fit a size


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
    return names.template(parts, places)


def write_rules(keys: Callable[[str], set[str]], *paths: str) -> None:
    """Write formulas/gguf.json from files of recorded conversions.

    ``keys`` returns the keys of configs that the converter of a class reads; with "", those of all classes.
    """
    by_class = defaultdict[str, list[dict[str, Any]]](list)
    for line in (line for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines()):
        record = json.loads(line)
        if is_loadable(record):
            by_class[record["cls"]].append(record)
    table = json.loads(PATH.read_text(encoding="utf-8"))
    rows = {name: row | {"rules": table["rules"][row["rules"]]} for name, row in table["classes"].items()}
    rows = {name: row | fit_unsupported(name, row) for name, row in rows.items()}
    kept, common = set[str](), keys("")
    _write(rows, common)
    for architecture, records in by_class.items():
        try:
            if architecture in rows and False not in (verdicts := [*map(_compare, records)]):
                kept.add(architecture)
                records = [one for one, is_own in zip(records, verdicts, strict=True) if is_own]
            runs = [run_of(record) for record in records]
            row = rows[architecture] if architecture in kept else fit_class(runs) | fit_metadata(runs)
            row = row | fit_unsupported(architecture, row)
            rows[architecture] = row | fit_bytes(architecture, runs, common, keys(architecture))
        except Unfit as error:
            print(architecture, error)
            rows.pop(architecture, None)
    _write(rows, common)
    for architecture in ({*by_class} & {*rows}) - kept:
        if not _is_reproduced(by_class[architecture]):
            print(architecture, "is not reproduced")
            del rows[architecture]
    _write(rows, common)
    print(len(rows), "classes")


def is_loadable(record: dict[str, Any]) -> bool:
    """Return True unless llama.cpp rejects the file: for empty tensors, or other heads than layers."""
    arch = record["kv"]["general.architecture"][1]
    kind, heads = record["kv"].get(f"{arch}.attention.head_count_kv", ["", 0])
    layers = record["kv"].get(f"{arch}.block_count", ["", 0])[1]
    has_shapes = all(all(shape) for shape, *_ in record["tensors"].values())
    return has_shapes and (kind != "ARRAY" or len(heads) == layers)


def _write(rows: dict[str, dict[str, Any]], keys: Iterable[str]) -> None:
    rules, classes = list[Any](), list[str]()
    for name, row in sorted(rows.items()):
        rules += [] if row["rules"] in rules else [row["rules"]]
        classes.append(f"{json.dumps(name)}: {json.dumps(row | {'rules': rules.index(row['rules'])})}")
    head = f'{{"about": "{_ABOUT}",\n"version": "{VERSION}",\n'
    head += f'"keys": {json.dumps(sorted(keys))},\n"classes": {{\n'
    body = ",\n".join(classes) + '\n},\n"rules": [\n' + ",\n".join(map(json.dumps, rules))
    PATH.write_text(f"{head}{body}\n]}}\n", encoding="utf-8")
    names._table.cache_clear()


def fit_unsupported(architecture: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return the conditions in the row of a class on which llama.cpp rejects a config."""
    found = dict(_REJECTED.get(architecture) or _REJECTED.get(row["arch"], {}))
    if row["rules"].get("classifier.weight") == [["cls.weight"]]:  # cls.output.weight with labels
        found["with labels"] = "'id2label' in keys or 'num_labels' in keys"
    return {"unsupported": found} if found else {}


def fit_class(runs: list[Run]) -> dict[str, Any]:
    """Return the tensors in the row of a class. Errors: :class:`Unfit`."""
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
    return {**_fit_generated(generated, runs), "rules": rules}


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
    if all(one.type == names.usual_type(one.name, one.shape, "F16") for one in ones):
        return [shape] * bool(shape)
    if len(kinds := {one.type for one in ones}) > 1:
        raise Unfit(f"{ones[0].name} has types {kinds}")
    return [shape, *kinds]


def _fit_size(ones: list[Made], index: int) -> str:
    """Return the first expression that is the size of a dimension in all conversions."""
    ranks = range(min(len(one.sizes[0]) for one in ones))
    fields = [name for name in ones[0].run.sizes if all(name in one.run.sizes for one in ones)]
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


def _size(text: str, one: Made) -> Any:
    if text in one.run.sizes:
        return one.run.sizes[text]
    sizes = {f"d{rank}": size for rank, size in enumerate(one.sizes[0])} | {"n": len(one.sizes)}
    if "//" in text and "(" not in text:
        left, right = (one.run.value(part, sizes) for part in text.split(" // "))
        return left // right if left and right and left % right == 0 else None
    return one.run.value(text, sizes)


def _fit_generated(generated: Iterable[str], runs: list[Run]) -> dict[str, Any]:
    row: dict[str, Any] = {"ropes": sorted({run.values["rope_type"] for run in runs} - {""})}
    for name in sorted(generated):
        pairs = _GENERATED.get(name, ())
        if (
            pair := next((one for one in pairs if all(_generates(name, one, run) for run in runs)), None)
        ) is None:
            raise Unfit(f"{name} does not consist of parameters")
        row.setdefault("generated", []).append([name, *pair])
    return row


def _generates(name: str, pair: tuple[str, str], run: Run) -> bool:
    shape, kind, _ = run.record["tensors"].get(name, (None, "F32", []))
    if not run.value(pair[0]):
        return shape is None
    return bool(shape == [run.value(pair[1])] and kind == "F32")


def _is_reproduced(records: list[dict[str, Any]]) -> bool:
    """Return True if the written rules give the tensors of recorded conversions, except those they refuse."""
    verdicts = [_compare(record) for record in records]
    return True in verdicts and False not in verdicts


def _compare(record: dict[str, Any]) -> bool | None:
    model = archspec.load({**record["raw"], "architectures": [record["cls"]]})
    try:
        found = names.convert_tensors(model.scope, record["cls"], model.tensors(), "F16").tensors
    except ArchspecError:
        return None
    own = [(one.name, without_ones(one.shape), one.type) for one in found]
    wanted = [(name, without_ones(shape), kind) for name, (shape, kind, _) in record["tensors"].items()]
    return sorted(own) == sorted(wanted)
