"""The model types, classes and fields that transformers itself has, described or not: `transformers.json`.

`python -m tools.exported` writes it from the transformers that the specs describe, so that a count needs no
transformers to tell a class that no spec describes, or a field that no count depends on, from one that nobody
knows. Former fields of many model types are in `former_fields.json`; those of one are in its spec.
"""

from __future__ import annotations

import json
import os
from functools import cache

from archspec.specs.files import folder
from archspec.specs.library import shipped
from archspec.typing_light import Any, NamedTuple

FILE = "transformers.json"
FORMER = "former_fields.json"


class Class(NamedTuple):
    """A class of one model type: the auto classes that list it, and the model type whose config it reads.

    That is another one where it is the class of a part of the model: Llama4ForCausalLM, for llama4, reads the
    config's text_config.
    """

    autos: tuple[str, ...]
    reads: str


class ModelType(NamedTuple):
    """A model type of transformers: its classes by name, and what its config class has.

    ``fields`` are those that not every config has, with the values that each takes, as specs write types;
    ``activations`` those of them that have to name an activation function that transformers knows.
    """

    classes: dict[str, Class]
    fields: dict[str, str]
    activations: tuple[str, ...]


@cache
def exported() -> dict[str, ModelType]:
    """Every model type of transformers; of some it has a config class alone. none where the file is missing.

    >>> exported()["llama4"].classes["Llama4ForCausalLM"].reads, exported()["llama"].activations
    ('llama4_text', ('hidden_act',))
    """
    types = _read(FILE)["types"]
    return {name: _model_type(name, line) for name, line in types.items()}


def config_fields(model_type: str) -> dict[str, str]:
    """The fields of a model type's config, with the values that each takes; `any` where no type says it.

    >>> config_fields("llama")["rms_norm_eps"], config_fields("llama")["return_dict"]
    ('float', 'any')
    """
    found = exported().get(model_type)
    return {**_read(FILE).get("every", {}), **(found.fields if found else {})}


def former_fields(model_type: str) -> dict[str, str]:
    """Fields that configs of a model type carry from before, with the field that says the same now, or ''.

    >>> former_fields("gpt2")["n_ctx"], "rope_theta" in former_fields("llama")
    ('n_positions', True)
    """
    now, found = config_fields(model_type), dict[str, str]()
    for group in _read(FORMER).get("groups", ()):
        if group.get("beside") in (None, *now):
            found |= group["fields"]
    if shipped().has(model_type):
        found |= shipped().load(model_type).former_fields
    return {name: instead for name, instead in found.items() if name not in now}


@cache
def _read(name: str) -> Any:
    """A file of the package's folder as it is written; without model types where it is missing."""
    path = os.path.join(folder(), name)
    if not os.path.isfile(path):
        return {"types": {}}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _model_type(name: str, line: Any) -> ModelType:
    classes = {
        one: Class(tuple(said["auto"]), said.get("reads", name)) for one, said in line["classes"].items()
    }
    return ModelType(classes, line["fields"], tuple(line.get("activations", ())))
