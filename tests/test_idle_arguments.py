"""Arguments of Python functions that have no effect are refused; defaults count as not given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import archspec

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2}
BERT = {"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 2}
SWEPT = {"hidden_size": [64, 128]}
CALLS: dict[str, Callable[..., Any]] = {
    "flops": archspec.load(BERT).flops,
    "cache": archspec.load(LLAMA).cache,
    "memory": archspec.load(BERT).memory,
    "training": archspec.load(LLAMA).training,
    "vision": archspec.load("OmDetTurboForObjectDetection").training,
    "formula": lambda **given: archspec.formula(LLAMA, **given),
    "sensitivity": archspec.load(LLAMA).sensitivity,
    "by": archspec.formula(LLAMA).split,
    "table of a formula": archspec.formula(LLAMA).table,
    "sweep": lambda **given: archspec.sweep(LLAMA, SWEPT, **given),
    "table": lambda **given: archspec.table([LLAMA], **given),
    "solve": lambda **given: archspec.solve(LLAMA, params="1b", **given),
    "diff": lambda **given: archspec.diff(LLAMA, BERT, **given),
}
REFUSED: list[tuple[str, dict[str, Any], str]] = [  # the arguments, and the message
    ("flops", {"tokens": 8, "encoder_tokens": 9}, "encoder_tokens"),
    ("cache", {"tokens": 8, "weights": "nf4"}, "weights"),
    *((verb, {"tokens": 8, "group_size": 32}, "group_size") for verb in ("cache", "memory")),
    ("memory", {"tokens": 8, "last": True}, "last"),
    ("memory", {"tokens": 8, "past": 4}, "KV cache"),
    ("training", {"tokens": 8, "zero": 1}, "zero"),
    ("training", {"tokens": 8, "data_parallel": 2}, "data_parallel"),
    ("training", {"tokens": 8, "encoder_tokens": 9}, "encoder_tokens"),
    *(("vision", {name: 3}, name) for name in ("batch", "tokens")),
    ("vision", {"attention": "eager"}, "attention"),
    ("vision", {"checkpointing": True}, "checkpointing"),
    *(("formula", {name: 3}, name) for name in ("batch", "tokens", "past", "encoder_tokens")),
    ("sensitivity", {"tokens": 8}, "tokens"),
    *(("by", {"by": by, "depth": 2}, "depth") for by in ("repetition", "component", "layer", "polynomial")),
    ("table of a formula", {"width": 40}, "width"),
    *(("sweep", {name: 3}, name) for name in ("batch", "tokens", "past", "encoder_tokens")),
    ("sweep", {"dtype": "bf16"}, "dtype"),
    ("sweep", {"dtype": "bf16", "columns": "flops"}, "dtype"),
    ("sweep", {"encoder_tokens": 9, "columns": "flops"}, "encoder_tokens"),
    ("table", {"tokens": 2048}, "tokens"),
    ("table", {"dtype": "bf16", "columns": "flops"}, "dtype"),
    ("table", {"tokens": 8, "columns": "params,bytes"}, "tokens"),
    ("solve", {"batch": 2}, "batch"),
    ("solve", {"sequence": 64}, "sequence"),
    *(("diff", {name: 3}, name) for name in ("batch", "past", "encoder_tokens")),
]


@pytest.mark.parametrize(("called", "given", "idle"), REFUSED, ids=[f"{one[0]} {one[2]}" for one in REFUSED])
def test_an_argument_without_effect_is_refused_by_name(called: str, given: dict[str, Any], idle: str) -> None:
    with pytest.raises(archspec.ArchspecError) as refused:
        found = CALLS[called](**given)
        if called == "sweep":
            found.head()
    assert idle in refused.value.problems[0].message.replace("-", "_")
    assert refused.value.problems[0].help


@pytest.mark.parametrize("called", CALLS)
def test_defaults_are_accepted(called: str) -> None:
    function = CALLS[called]
    own = inspect.signature(function).parameters.values()
    defaults = {one.name: one.default for one in own if one.default is not one.empty}
    assert function(**defaults) is not None


def test_training_takes_its_defaults() -> None:
    model = archspec.load(LLAMA)
    ranks = {f"{kind}_parallel": 1 for kind in ("data", "tensor", "pipeline", "expert")}
    options = {"zero": 0, "attention": "flash", "checkpointing": False, "optimizer": "adamw", **ranks}
    assert model.training(1, 8, **options).as_json() == model.training(1, 8).as_json()


def test_arguments_with_an_effect_are_accepted() -> None:
    model = archspec.load(LLAMA)
    assert model.formula.split("module", 2)[0].label == "model.embed_tokens"
    assert archspec.table([LLAMA], "flops", tokens=8).rows != archspec.table([LLAMA], "flops").rows
    assert list(archspec.sweep(LLAMA, SWEPT, columns="bytes", dtype="float32").rows())
    assert model.training(1, 8, data_parallel=2, zero=1).total_bytes < model.training(1, 8).total_bytes
