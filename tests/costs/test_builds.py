"""How many module trees each verb builds; the lengths that fit a budget are those of exact counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.models.calls import CacheSizes
from archspec.tree.builder import Builder

LIMITS: dict[str, tuple[int, Callable[[archspec.Model], Any]]] = {
    "count": (1, lambda model: model.counts().as_json()),
    "flops": (1, lambda model: model.flops().as_json()),
    "cache": (1, lambda model: model.cache().as_json()),
    "cache --budget": (2, lambda model: model.cache(budget="80GiB").as_json()),
    "memory": (2, lambda model: model.memory().as_json()),
    "memory --train": (2, lambda model: model.training().as_json()),
    "formula": (8, lambda model: model.quantity("params").as_json()),  # 6 try values of sliding_window
    "formula of FLOPs": (2, lambda model: model.quantity("flops").as_json()),
}


@pytest.mark.parametrize("verb", LIMITS)
@pytest.mark.parametrize("name", ["LlamaForCausalLM", "MistralForCausalLM"])
def test_each_verb_builds_few_trees(verb: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    builds, build = [], Builder.build

    def counting(self: Builder, architecture: str) -> Any:
        builds.append(type(self).__name__)
        return build(self, architecture)

    monkeypatch.setattr(Builder, "build", counting)
    limit, run = LIMITS[verb]
    run(archspec.load(name))
    assert len(builds) <= limit, builds


@pytest.mark.parametrize(
    "name",
    [
        "MistralForCausalLM",  # a window
        "GptOssForCausalLM",  # every second layer has a window
        "DeepseekV3ForCausalLM",  # latents
        "JambaForCausalLM",  # states, and attention
        "Gemma3ForCausalLM",
        "Llama4ForCausalLM",  # chunks
        "MambaForCausalLM",
        "T5ForConditionalGeneration",
        "BloomForCausalLM",
    ],
)
def test_a_budget_fits_as_much_as_exact_counts_say(name: str) -> None:
    model = archspec.load(name)
    encoder = {"encoder_tokens": 33} if name.startswith("T5") else {}
    weights = model.weights().loaded_bytes
    for extra in (10**7, 3 * 10**9):
        found = model.cache(2, 70, budget=weights + extra, **encoder)
        for allocation, held in found.holds.items():

            def size(batch: int, tokens: int, allocation: str = allocation) -> int:
                return model.forward(batch, tokens, **encoder).cache_bytes(model.dtype, allocation)

            if held.tokens is not None and held.tokens != found._most:
                assert held.tokens == 0 or size(2, held.tokens) <= extra
                assert size(2, held.tokens + 1) > extra
            assert held.batch == 0 or size(held.batch, 70) <= extra < size(held.batch + 1, 70)


def test_sizes_hold_at_other_lengths() -> None:
    model = archspec.load("GptOssForCausalLM")
    sizes = CacheSizes(model.forward(1, 7), "bfloat16")
    for batch, tokens in ((1, 1), (3, 127), (3, 128), (3, 129), (2, 5000)):
        call = model.forward(batch, tokens)
        for allocation in ("exact", "static", "pages"):
            assert sizes.bytes(batch, tokens, allocation) == call.cache_bytes("bfloat16", allocation)
