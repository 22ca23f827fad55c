"""A small Llama, and the message of a config that is refused."""

from __future__ import annotations

from typing import Any

import pytest

import archspec

SIZES = {"vocab_size": 50, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2}
LLAMA = {"model_type": "llama", **SIZES}


def message(source: Any, overrides: dict[str, Any] | None = None, architecture: str | None = None) -> str:
    with pytest.raises(archspec.ArchspecError) as caught:
        archspec.load(source, architecture, overrides)
    return str(caught.value)
