"""Writes formulas/conversions.json and formulas/names.json, with which `archspec check` reads names.

conversions.json lists how transformers renames and converts tensors when it loads a checkpoint. names.json
has codes of the names of each model type, to find the class of a checkpoint without a config.
`python -m tools.from_loading` imports every model of transformers, which takes a minute. Sources:
transformers/conversion_mapping.py, core_model_loading.py, and the attributes of model classes.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import archspec
from archspec.checking.conversions import FILE
from archspec.checking.likely import FILE as NAMES
from archspec.checking.likely import name_code
from archspec.errors import ArchspecError
from archspec.reference import versions
from archspec.reference.standins import stand_in
from archspec.specs.library import shipped_library
from archspec.tree.tensors import fold_layers

_RENAMES = ("WeightRenaming", "PrefixChange", "GroupWeightRename", "Inkling2IndexOffsetWeightRename")
_ARGUMENTS = ("dim", "dim0", "dim1", "check_dims")  # of operations, which change shapes
_OTHERS: list[dict[str, Any]] = [  # of mlx-lm
    {"pattern": r"(?P<g0>\.block_sparse_moe\.switch_mlp\.)", "targets": [".mlp.switch_mlp."]},
    {
        "pattern": r"(?P<g0>\.switch_mlp\.gate_proj\.weight)|(?P<g1>\.switch_mlp\.up_proj\.weight)",
        "targets": [".experts.gate_up_proj"],
        "operations": [["Concatenate", 1]],
    },
    {
        "pattern": r"(?P<g0>\.switch_mlp\.down_proj\.weight)",
        "targets": [".experts.down_proj"],
        "operations": [["Interleave"]],
    },
    {
        "pattern": r"(?P<g0>\.self_attn\.embed_q\.weight)|(?P<g1>\.self_attn\.unembed_out\.weight)",
        "targets": [".self_attn.kv_b_proj.weight"],
        "operations": [["Heads"]],
    },
]


def write_conversions() -> None:
    """Write the transforms, one entry per line."""
    transforms, classes = conversions(), model_classes()
    prefixes: dict[str, list[str]] = {}
    ignored = {}
    for name, cls in classes.items():
        prefixes.setdefault(cls.base_model_prefix, []).append(name)
        lists = [
            sorted(getattr(cls, f"_keys_to_ignore_on_load_{one}") or ()) for one in ("missing", "unexpected")
        ]
        if any(lists):
            ignored[name] = lists
    parts = {"transforms": transforms, "prefixes": prefixes, "ignored": ignored}
    text = ",\n".join(f"{json.dumps(name)}: {{\n{_rows(table)}\n}}" for name, table in parts.items())
    head = f'"transformers": "{versions()["transformers"]}",\n"others": {json.dumps(_OTHERS)}'
    _write(FILE, f"{{{head},\n{text}}}\n")


def write_names() -> None:
    """Write the codes of the names of each base model, with its default config."""
    library, found = shipped_library(), {}
    for model_type in library.model_types():
        with suppress(ArchspecError):
            model = archspec.load(model_type)
            found[model_type] = "".join(sorted({name_code(fold_layers(one.name)) for one in model.tensors()}))
    _write(NAMES, f"{{\n{_rows(found)}\n}}\n")


def _write(name: str, text: str) -> None:
    (Path(shipped_library().folder) / name).write_text(text, encoding="utf-8")


def _rows(table: dict[str, Any]) -> str:
    return ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(table.items()))


def conversions() -> dict[str, Any]:
    """Return the transforms of each model type or class; the name of another one with the same list."""
    from transformers.conversion_mapping import _build_checkpoint_conversion_mapping

    found: dict[str, Any] = {}
    first: dict[str, str] = {}
    for name, transforms in _build_checkpoint_conversion_mapping().items():
        lines = [_transform(one) for one in transforms]
        other = first.setdefault(json.dumps(lines), name)
        found[name] = lines if other == name else other
    return found


def _transform(one: Any) -> dict[str, Any]:
    """Return the pattern with a group for each source (`g0`, ...), the targets and the operations."""
    kind = type(one).__name__
    found = {"pattern": one.compiled_sources.pattern, "targets": one.target_patterns}
    if kind in _RENAMES:
        found |= {"is_group": True} if kind == "GroupWeightRename" else {}
        return found | ({"offset": one.offset} if hasattr(one, "offset") else {})
    if kind != "WeightConverter":
        return found | {"operations": [[kind]]}
    return found | {"operations": [[*_operation(step)] for step in one.operations]}


def _operation(step: Any) -> Iterator[Any]:
    """Yield the name of an operation, and the dimensions that it works on."""
    yield type(step).__name__
    yield from (getattr(step, name) for name in _ARGUMENTS if hasattr(step, name))


def model_classes() -> dict[str, Any]:
    """Return every model class of transformers by its name."""
    import transformers

    stand_in()
    for path in sorted(Path(transformers.__file__).parent.glob("models/*/modeling_*.py")):
        importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
    return {cls.__name__: cls for cls in _subclasses(transformers.PreTrainedModel)}


def _subclasses(cls: type) -> Iterator[type]:
    one: type
    for one in cls.__subclasses__():
        yield one
        yield from _subclasses(one)


if __name__ == "__main__":
    write_conversions()
    write_names()
