"""The model types and model classes that transformers itself has, described or not: `transformers.json`.

`python -m tools.exported` writes it from the transformers that the specs describe, so that a count needs no
transformers to tell a class that no spec describes from one that nobody knows.
"""

from __future__ import annotations

import json
import os
from functools import cache

from archspec.specs.library import folder
from archspec.typing_light import NamedTuple

FILE = "transformers.json"


class Class(NamedTuple):
    """A class of one model type: the auto classes that list it, and the model type whose config it reads.

    That is another one where it is the class of a part of the model: Llama4ForCausalLM, for llama4, reads the
    config's text_config.
    """

    autos: tuple[str, ...]
    reads: str


@cache
def exported() -> dict[str, dict[str, Class]]:
    """Model type -> its classes by name; none where transformers has a config class alone.

    >>> exported()["llama4"]["Llama4ForCausalLM"].reads
    'llama4_text'
    """
    with open(os.path.join(folder(), FILE), encoding="utf-8") as file:
        types = json.load(file)["types"]
    return {
        model_type: {
            name: Class(tuple(line["auto"]), line.get("reads", model_type)) for name, line in classes.items()
        }
        for model_type, classes in types.items()
    }
