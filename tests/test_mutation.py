"""Every line of a spec broken once, in every way that a slip of the hand would: verification finds it and names the line."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from archspec.library import load
from archspec.mutation import mutate

TYPES = ["albert", "bart", "bert", "bloom", "clip", "deepseek_v3", "distilbert", "gemma2", "gemma3", "gpt2", "gpt_neox", "jamba"]
TYPES += ["llama", "llava", "mamba", "mistral", "mixtral", "opt", "qwen2", "qwen3_moe", "roberta", "swin", "t5", "vit"]
TYPES += ["wav2vec2", "whisper"]


@pytest.mark.parametrize("model_type", TYPES)
def test_every_alteration_is_found(model_type: str) -> None:
    results = mutate(load(model_type))
    assert len(results) > 5
    assert [result.alteration.what for result in results if not result.found and not result.hidden] == []
    assert [result.alteration.what for result in results if result.found and not result.named] == []
    assert sum(result.hidden for result in results) <= 4  # shapes of tied tensors, and names of classes


def test_an_alteration_that_nothing_shows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without configs other than the default most slips stay unseen."""
    from archspec import mutation

    spec = load("gpt2")
    everything = mutation.answers(spec, 1, 0)
    monkeypatch.setattr(mutation, "answers", lambda *_: [answer for answer in everything if list(answer.raw) == ["model_type"]])
    assert sum(not result.found for result in mutate(spec)) > 5


def test_an_architecture_that_the_default_config_does_not_make_is_altered_too() -> None:
    """Hiera's decoder has three sizes without defaults: a config that has them all is brought near to by mending."""
    from archspec.mutation import answers

    spec = load("hiera")
    name = "HieraForPreTraining"
    told = answers(spec._replace(architectures=(name,)), 2, 0)
    assert sum(answer.rows is not None for answer in told) >= 2
