"""Altered configs, specs, overrides and values are counted, or refused with a message that can be printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

import archspec
from archspec.configs.overrides import parse_settings
from archspec.configs.scope import Scope
from archspec.specs.library import shipped_library
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

ROOT = Path(__file__).parents[2]
CONFIGS = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "configs").glob("*.json"))]
TOY = (ROOT / "tests" / "errors" / "specs" / "toy.yaml").read_text(encoding="utf-8")
VALUES = (
    *(0, 1, -1, 7, 10**6, 2**63, 10**30, 0.5, -0.0, 1e300, float("inf"), float("nan"), True, False, None),
    *("", "full", "llama", "__class__", "\0", "é", "\ud800", "a" * 5000, [], [1, 2, 3], [[1], [2]], [None]),
    *(["a", 1], {}, {"0": 1}, {"model_type": "bert"}, {"model_type": "timm_backbone"}),
)
WORDS = """( ) [ ] { } , : = + - * ** // % < == . if else for in not lambda None True null 0 1 -1 2**4000
1e999 'a' "b" i n range(n) range(10**9) sum( Linear(1,2) Parameter() ToyModel() AutoModel(x)
.routed(1,2) .__class__ __import__('os') given('x') **{} := ~ @ # hidden_size kinds
&a *a !t | > ? ---""".split()  # noqa: SIM905


def mutate(text: str, random: Random) -> str:
    """A text with some of its pieces removed, repeated, replaced or swapped."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        start = random.randrange(len(text) + 1)
        end, other = min(len(text), start + random.choice((0, 1, 2, 5, 20))), random.randrange(len(text) + 1)
        odd = chr(random.choice((0, 9, 10, 34, 39, 92, 123, 233, 0x2028, 0xFEFF, 0x1F600)))
        again = text[start:end] * random.choice((2, 3, 70))
        pieces = ("", random.choice(WORDS), again, odd, text[other:][:20])
        text = text[:start] + random.choice(pieces) + text[end:]
    return text


def config_text(random: Random, folder: Path) -> None:
    (folder / "config.json").write_text(mutate(random.choice(CONFIGS), random), encoding="utf-8")
    _ = archspec.load(folder).params


def spec_text(random: Random, folder: Path) -> None:
    (folder / "toy.yaml").write_text(mutate(TOY, random), encoding="utf-8")
    spec = shipped_library().load_file(str(folder / "toy.yaml"))
    for raw in ({"num_classes": 2, "num_labels": 3}, {"num_classes": 2, "kinds": ["full", "x"]}):
        scope = Scope(spec, raw)
        scope.validate()
        for architecture in spec.architectures:
            tensors(Builder(scope).build(architecture))


def settings(random: Random, folder: Path) -> None:
    text = mutate('text_config.num_hidden_layers=[1, 2.5, {"a": null}],vision_config.x=a', random)
    _ = archspec.load("LlavaModel", set=parse_settings([text])).params


def values(random: Random, folder: Path) -> None:
    raw: dict[str, Any] = json.loads(random.choice(CONFIGS))
    spec = shipped_library().load(raw["model_type"])
    names = [*spec.fields, *spec.fixed, *spec.attribute_map, "num_labels", "id2label", "architectures"]
    raw |= {name: 2 for name in raw if "layers" in name}
    raw |= {name: random.choice(VALUES) for name in random.choices(names, k=3)}
    path = random.choice((random.choice(names), f"{random.choice(names)}.{random.choice(names)}"))
    _ = archspec.load(raw, set={path: random.choice(VALUES)} if random.random() < 0.3 else {}).params


@pytest.mark.parametrize("case", [config_text, spec_text, settings, values])
def test_only_archspec_errors_occur(case: Callable[[Random, Path], None], tmp_path: Path) -> None:
    for seed in range(500):
        with suppress(archspec.ArchspecError):
            try:
                case(Random(seed), tmp_path)
            except archspec.ArchspecError as error:
                assert error.problems and str(error).encode("utf-8").strip(), seed
                for place in (problem.place for problem in error.problems if problem.place):
                    assert place.column >= 1, seed
                    assert 1 <= place.line <= len(place.source.text.splitlines() or [""]) + 1, seed
                raise
