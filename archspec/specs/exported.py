"""The model types, classes and fields of transformers, and texts in configs that it knows.

`tools/from_transformers.py` writes `transformers.json`. With it, messages distinguish an unsupported class,
or a field without effect, from an unknown one. Former fields of many model types are in `former_fields.json`.
Layer types and activations: transformers/configuration_utils.py, transformers/activations.py.
"""

from __future__ import annotations

from functools import cache

from archspec.specs.files import read_json
from archspec.specs.library import shipped_library
from archspec.typing_light import Any, NamedTuple

FILE = "transformers.json"
_INDEXED = dict.fromkeys(("deepseek_sparse_attention", "qwen_sparse_attention"), "indexed_attention")
_RENAMED = {"mamba": "linear_attention", "attention": "full_attention", **_INDEXED}
_LAYER_TYPES = (
    "full_attention sliding_attention chunked_attention window_attention indexed_attention "
    "compressed_sparse_attention heavily_compressed_attention minimax_m3_sparse conv moe hybrid "
    "hybrid_sliding reference_sliding_attention linear_attention"
)
ALLOWED = {"layer_types": tuple(_LAYER_TYPES.split()), "mlp_layer_types": ("sparse", "dense")}
_ACTIVATIONS = (
    "gelu gelu_10 gelu_accurate gelu_fast gelu_new gelu_python gelu_python_tanh gelu_pytorch_tanh hardswish "
    "laplace leaky_relu linear mish prelu quick_gelu relu relu2 relu6 sigmoid silu sqrtsoftplus swish tanh "
    "xielu"
)
ACTIVATIONS = frozenset(_ACTIVATIONS.split())


class Class(NamedTuple):
    """A class of a model type."""

    autos: tuple[str, ...]  # the auto classes that list it
    reads: str  # the model type whose config it reads


class ModelType(NamedTuple):
    """A model type of transformers: its classes by name, and the fields of its config class."""

    classes: dict[str, Class]
    fields: dict[str, str]  # with types as specs write them, without the fields of every config
    activations: tuple[str, ...]  # the fields that name an activation function


@cache
def exported_types() -> dict[str, ModelType]:
    """Return every model type of transformers.

    >>> exported_types()["llama4"].classes["Llama4ForCausalLM"].reads, exported_types()["llama"].activations
    ('llama4_text', ('hidden_act',))
    """
    found = {}
    for name, line in read_json(FILE)["types"].items():
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
    found = exported_types().get(model_type)
    return {**read_json(FILE)["every"], **(found.fields if found else {})}


def former_fields(model_type: str) -> dict[str, str]:
    """Return the fields of a model type's old configs, with the fields that replace them, or ''.

    >>> former_fields("gpt2")["n_ctx"], "rope_theta" in former_fields("llama")
    ('n_positions', True)
    """
    now, found = config_fields(model_type), dict[str, str]()
    for group in read_json("former_fields.json")["groups"]:
        if group.get("with") in (None, *now):
            found |= group["fields"]
    if shipped_library().has(model_type):
        found |= shipped_library().load(model_type).former_fields
    return {name: instead for name, instead in found.items() if name not in now}


def current_layer_types(listed: Any) -> Any:
    """Return a list of layer types by their current names; any other value unchanged.

    >>> current_layer_types(["mamba", "attention", "conv"])
    ['linear_attention', 'full_attention', 'conv']
    """
    if not isinstance(listed, list | tuple):
        return listed
    return [_RENAMED.get(item, item) if isinstance(item, str) else item for item in listed]
