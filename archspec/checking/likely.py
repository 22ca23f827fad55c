"""The classes whose tensors have the names of a checkpoint without a config."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

from archspec.checking.conversions import load
from archspec.checking.packing import unpack
from archspec.checkpoints.records import StoredTensor
from archspec.errors import ArchspecError
from archspec.models.model import load as load_model
from archspec.specs.files import read_json
from archspec.specs.library import Library
from archspec.tree.tensors import fold_layers

_TYPES, _SHOWN = 12, 5  # model types that are compared by name, and classes that are reported
_LEAST = 0.5
FILE = (
    "names.json"  # model type -> the codes of the names of its base model, written by tools/from_loading.py
)
_CODE, _PARTS = 4, 3  # characters of a code, and parts of a name that it stands for


class Likely(NamedTuple):
    """A class, and the share of names that it has in common with the checkpoint, layer numbers aside."""

    architecture: str
    model_type: str
    common: int
    names: int
    same_shapes: int  # of the tensors in common: those with the shape of the default config


def likely_classes(tensors: Iterable[StoredTensor], library: Library) -> list[Likely]:
    """Return the classes of default configs that have the most names in common, the best ones first."""
    stored, _ = unpack(tensors)
    first = {fold_layers(name): name for name in sorted(stored, reverse=True, key=len)}
    sample = {name: stored[name] for name in first.values()}
    found = []
    for model_type in _near_types(first):
        for architecture in library.load(model_type).architectures:
            try:
                model = load_model({"model_type": model_type}, architecture)
                shapes = {one.name: one.shape for one in model.tensors()}
            except ArchspecError:
                continue
            loaded = load(sample, shapes, model.root)
            tied = {fold_layers(one.name) for one in model.tensors() if one.tied_to}
            wanted = {*map(fold_layers, shapes)} - tied
            common = {*map(fold_layers, loaded.shapes)}
            names = len(wanted | common) + len(loaded.unexpected)
            if len(common) >= _LEAST * names:
                same = sum(shape == shapes[name] for name, shape in loaded.shapes.items())
                found.append(Likely(architecture, model_type, len(common), names, same))
    best = sorted(found, key=lambda one: (one.common / one.names, one.same_shapes), reverse=True)
    return best[:_SHOWN]


def _near_types(names: Iterable[str]) -> list[str]:
    """Return the model types whose default models have the most names in common."""
    wanted = {name_code(name) for name in names}
    scores = {}
    for model_type, text in read_json(FILE).items():
        codes = {text[start : start + _CODE] for start in range(0, len(text), _CODE)}
        scores[model_type] = len(codes & wanted) / len(codes | wanted)
    return sorted(scores, key=lambda name: (-scores[name], len(name), name))[:_TYPES]


def name_code(name: str) -> str:
    """Return four characters for the last parts of a name, without the modules that heads and wrappers add.

    >>> name_code("model.layers.*.mlp.up_proj.weight") == name_code("layers.*.mlp.up_proj.weight")
    True
    """
    end = ".".join(name.split(".")[-_PARTS:])
    return b64encode(crc32(end.encode()).to_bytes(4, "big")[:3]).decode()
