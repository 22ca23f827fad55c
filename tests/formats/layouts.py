"""Narrow models, and the bytes of their matrices in each layout, by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Layout = Callable[[int, int], int]
SMALL: dict[str, Any] = {"dtype": "bfloat16", "vocab_size": 512, "hidden_size": 256, "intermediate_size": 384}
SMALL |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64}
LLAMA = {**SMALL, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
MIXTRAL = {**SMALL, "model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 4}
MATRICES = {  # outputs and inputs of the matrices of a layer, and how many there are
    "attention": [(256, 256, 2), (128, 256, 2)],
    "mlp": [(384, 256, 2), (256, 384, 1)],
    "gpt2": [(768, 256, 1), (256, 256, 1), (1024, 256, 1), (256, 1024, 1)],
}
MATRICES["dense"] = MATRICES["attention"] + MATRICES["mlp"]
MATRICES["experts"] = MATRICES["attention"] + [(rows, columns, 4 * n) for rows, columns, n in MATRICES["mlp"]]
ROUTER, NORMS, TABLE = 4 * 256, 5 * 256, 512 * 256  # elements, of both layers in the case of norms
EXPERTS = 2 * 4 * 3 * 256 * 384


def total(kind: str, one: Layout, rest: int, element: int = 2) -> int:
    """Return the bytes of two layers whose matrices take ``one(rows, columns)``, and ``rest`` elements."""
    return 2 * sum(count * one(rows, columns) for rows, columns, count in MATRICES[kind]) + element * rest


def gptq(rows: int, columns: int) -> int:
    packed, groups, index = columns // 8 * rows * 4, columns // 128, columns * 4
    return packed + groups * (rows // 8) * 4 + groups * rows * 2 + index  # zeros, scales


def state(rows: int, columns: int) -> int:
    """Return the size of the text quant_state in files of bitsandbytes."""
    stated = {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [rows, columns]}
    return len(json.dumps(stated))


STORED: dict[str, Layout] = {  # bytes of a matrix of rows and columns
    "gptq": gptq,
    "awq": lambda rows, columns: gptq(rows, columns) - 4 * columns,
    "fp8": lambda rows, columns: rows * columns + 4 * -(-rows // 128) * -(-columns // 128),
    "nvfp4": lambda rows, columns: rows * columns // 2 + rows * columns // 16 + 4 + 4,
    "nf4": lambda rows, columns: (
        rows * columns // 2 + rows * columns // 64 * 4 + 16 * 4 + state(rows, columns)
    ),
    "int8": lambda rows, columns: rows * columns + 4 * rows + 1,  # weight_format
    "mlx": lambda rows, columns: rows * columns // 2 + rows * columns // 64 * 4,
}
STORED["fp4"] = STORED["nf4"]
