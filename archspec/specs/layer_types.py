"""Texts in configs that transformers knows: types of layers, and activation functions.

Sources: transformers/configuration_utils.py, transformers/activations.py.
"""

from __future__ import annotations

from archspec.typing_light import Any

RENAMED = {
    "mamba": "linear_attention",
    "attention": "full_attention",
    "deepseek_sparse_attention": "indexed_attention",
    "qwen_sparse_attention": "indexed_attention",
}
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


def renamed(listed: Any) -> Any:
    """A list of layer types by the names of today; anything else as it is.

    >>> renamed(["mamba", "attention", "conv"])
    ['linear_attention', 'full_attention', 'conv']
    """
    if not isinstance(listed, list | tuple):
        return listed
    return [RENAMED.get(item, item) if isinstance(item, str) else item for item in listed]
