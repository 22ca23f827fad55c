"""The model types and model classes that transformers itself has, described or not: `transformers.json`.

`python -m tools.exported` writes it from the transformers that the specs describe, so that a count needs no
transformers to tell a class that no spec describes from one that nobody knows.
"""

from __future__ import annotations

import json
import os
from functools import cache

from archspec.specs.library import folder
from archspec.typing_light import Any, NamedTuple

FILE = "transformers.json"


class Class(NamedTuple):
    """A class of one model type: the auto classes that list it, and the model type whose config it reads.

    That is another one where it is the class of a part of the model: Llama4ForCausalLM, for llama4, reads the
    config's text_config.
    """

    autos: tuple[str, ...]
    reads: str


class ModelType(NamedTuple):
    """A model type of transformers: its classes by name, and what its config class has.

    ``fields`` are those that not every config has; ``activations`` those of them that have to name an
    activation function that transformers knows.
    """

    classes: dict[str, Class]
    fields: tuple[str, ...]
    activations: tuple[str, ...]


def exported() -> dict[str, ModelType]:
    """Every model type of transformers; of some it has a config class alone. None where the file is missing.

    >>> exported()["llama4"].classes["Llama4ForCausalLM"].reads, exported()["llama"].activations
    ('llama4_text', ('hidden_act',))
    """
    return _read(os.path.join(folder(), FILE))


@cache
def _read(path: str) -> dict[str, ModelType]:
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        types = json.load(file)["types"]
    return {name: _model_type(name, line) for name, line in types.items()}


def _model_type(name: str, line: Any) -> ModelType:
    classes = {
        one: Class(tuple(said["auto"]), said.get("reads", name)) for one, said in line["classes"].items()
    }
    return ModelType(classes, tuple(line["fields"]), tuple(line.get("activations", ())))
