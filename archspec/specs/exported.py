"""The model types, classes and fields of transformers, supported or not: `transformers.json`.

`python -m tools.exported` writes it. With it, a message can distinguish an unsupported class, or a field
without effect, from an unknown one. Former fields of many model types are in `former_fields.json`.
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

    Llama4ForCausalLM, of llama4, reads the config's text_config, which is a llama4_text.
    """

    autos: tuple[str, ...]
    reads: str


class ModelType(NamedTuple):
    """A model type of transformers: its classes by name, and the fields of its config class.

    ``fields`` have types as specs write them, without the fields of every config. ``activations`` are the
    fields that name an activation function.
    """

    classes: dict[str, Class]
    fields: dict[str, str]
    activations: tuple[str, ...]


@cache
def exported() -> dict[str, ModelType]:
    """Return every model type of transformers; nothing if the file is missing.

    >>> exported()["llama4"].classes["Llama4ForCausalLM"].reads, exported()["llama"].activations
    ('llama4_text', ('hidden_act',))
    """
    found = {}
    for name, line in _read(FILE)["types"].items():
        classes = {
            one: Class(tuple(of["auto"]), of.get("reads", name)) for one, of in line["classes"].items()
        }
        found[name] = ModelType(classes, line["fields"], tuple(line.get("activations", ())))
    return found


def config_fields(model_type: str) -> dict[str, str]:
    """Return the fields of a model type's config with their types; `any` for an unknown type.

    >>> config_fields("llama")["rms_norm_eps"], config_fields("llama")["return_dict"]
    ('float', 'any')
    """
    found = exported().get(model_type)
    return {**_read(FILE).get("every", {}), **(found.fields if found else {})}


def former_fields(model_type: str) -> dict[str, str]:
    """Return the fields of a model type's old configs, with the fields that replace them, or ''.

    >>> former_fields("gpt2")["n_ctx"], "rope_theta" in former_fields("llama")
    ('n_positions', True)
    """
    now, found = config_fields(model_type), dict[str, str]()
    for group in _read(FORMER).get("groups", ()):
        if group.get("with") in (None, *now):
            found |= group["fields"]
    if shipped().has(model_type):
        found |= shipped().load(model_type).former_fields
    return {name: instead for name, instead in found.items() if name not in now}


@cache
def _read(name: str) -> Any:
    """Return the content of a file of the package; one without model types if it is missing."""
    path = os.path.join(folder(), name)
    if not os.path.isfile(path):
        return {"types": {}}
    with open(path, encoding="utf-8") as file:
        return json.load(file)
