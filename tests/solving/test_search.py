"""The search finds the best configs: compared with counts of every config of small grids."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import gcd, log, log2
from typing import Any

import pytest

import archspec
from archspec.errors import ArchspecError
from archspec.solving.regions import _Code
from archspec.solving.solve import solve
from archspec.symbolic.expressions import Operation
from archspec.symbolic.polynomials import Space

SIZES = {"hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 4, "num_attention_heads": 4}
LLAMA = {**SIZES, "vocab_size": 320, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
MIXTRAL = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "vocab_size": 100}
MIXTRAL |= {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2}
Values, Fields = dict[str, int], dict[str, Sequence[int]]


def every(
    config: dict[str, Any], fields: Fields, follow: Callable[[Values], Values] = lambda _: {}
) -> list[tuple[Values, archspec.Model]]:
    """All configs of a small grid that can be built, counted one by one."""
    found = []
    for point in itertools.product(*fields.values()):
        values = dict(zip(fields, point, strict=True))
        if (model := _model(json.dumps(config), json.dumps(values | follow(values)))) is not None:
            found.append((values, model))
    return found


@cache
def _model(config: str, values: str) -> archspec.Model | None:
    try:
        model = archspec.load(json.loads(config), set=json.loads(values))
        model.tensors()
    except ArchspecError:
        return None
    return model


SHAPES = {"hidden_size": range(32, 129, 8), "num_hidden_layers": range(1, 13)}
SHAPES |= {"intermediate_size": range(32, 513, 16)}
FEW = {"hidden_size": range(8, 129, 16), "num_hidden_layers": range(1, 6)}


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({**FEW, "intermediate_size": range(16, 401, 32)}, 250_000),
        ({"num_hidden_layers": range(1, 65)}, 250_000),
        ({"vocab_size": range(1, 2000, 3)}, 200_000),
        ({"hidden_size": range(4, 400, 4)}, 250_000),
        ({"hidden_size": range(8, 129, 8), "num_hidden_layers": range(1, 20)}, 1),
        ({"hidden_size": range(8, 129, 16), "intermediate_size": range(1, 3000, 70)}, 10**9),
        ({"num_hidden_layers": range(1, 9), "intermediate_size": range(400, 0, -7)}, 250_000),
        ({"num_hidden_layers": [7, 1, 12, 3], "hidden_size": [64, 128, 32]}, 250_000),
    ],
)
def test_no_other_config_is_nearer(fields: dict[str, Sequence[int]], target: int) -> None:
    known = sorted(Fraction(abs(model.params - target), target) for _, model in every(LLAMA, fields))
    found = solve(LLAMA, [*fields], params=target, set=fields, tolerance=0, top=20)
    assert [one.miss for one in found] == known[:20]
    for one in found:
        assert one.params == archspec.load(LLAMA, set=one.values).params == archspec.load(one.config).params


def test_the_larger_of_two_misses_counts() -> None:
    fields = {"num_local_experts": range(2, 20, 2), "intermediate_size": range(4, 300, 12)}
    fields |= {"num_hidden_layers": range(1, 4)}
    targets = {"params": 500_000, "active_params": 100_000}

    def miss(model: archspec.Model) -> Fraction:
        return max(Fraction(abs(model.count(name) - target), target) for name, target in targets.items())

    known = sorted(miss(model) for _, model in every(MIXTRAL, fields))
    found = solve(MIXTRAL, [*fields], params="500k", active_params="100k", set=fields, tolerance=0, top=15)
    assert [one.miss for one in found] == known[:15]


def test_limits_ratios_ties_and_conditions_hold() -> None:
    fields = {"hidden_size": range(8, 129, 8), "num_hidden_layers": range(1, 11)}
    fields |= {"vocab_size": range(50, 3000, 200)}

    def kept(values: Values, model: archspec.Model) -> bool:
        ratio = Fraction(values["hidden_size"], values["num_hidden_layers"])
        within = 10 <= ratio <= Fraction(25, 2) and values["hidden_size"] != 80
        return within and model.params_bytes("bf16") <= 700_000

    grid = every(LLAMA, fields, lambda values: {"intermediate_size": 8 * values["hidden_size"] // 3})
    sizes = [2 * model.params for values, model in grid if kept(values, model)]
    known = sorted(Fraction(700_000 - size, 700_000) for size in sizes)
    options: dict[str, Any] = {"ratio": {"hidden_size/num_hidden_layers": "10..12.5"}, "top": 25}
    options |= {"tie": {"intermediate_size": "8 * hidden_size // 3"}, "where": "hidden_size != 80"}
    found = solve(LLAMA, [*fields], bytes=700_000, dtype="bf16", set=fields, tolerance=0, **options)
    assert [one.miss for one in found] == known[:25]
    for one in found:
        assert kept(one.values, archspec.load(one.config)) and one.bytes == 2 * one.params
        assert one.config["intermediate_size"] == 8 * one.values["hidden_size"] // 3
        assert one.config["dtype"] == "bfloat16"


@pytest.mark.parametrize("room", [10**9, 250_000])
def test_bytes_are_a_limit_next_to_a_target(room: int) -> None:
    fields = {"hidden_size": range(8, 129, 8), "num_hidden_layers": range(1, 11)}
    sizes = [model.params for _, model in every(LLAMA, fields) if 2 * model.params <= room]
    known = sorted(abs(size - 150_000) for size in sizes)
    options: dict[str, Any] = {"params": 150_000, "bytes": room, "dtype": "bf16", "set": fields}
    found = solve(LLAMA, "hidden_size, num_hidden_layers", tolerance=0, top=5, **options)
    assert [abs(one.params - 150_000) for one in found] == known[:5]
    assert all(one.miss == Fraction(abs(one.params - 150_000), 150_000) for one in found)


def size(width: int, depth: int, inner: int) -> int:
    return 2 * 320 * width + depth * (4 * width**2 + 3 * width * inner + 2 * width) + width


def strain(width: int, depth: int, inner: int) -> float:
    """How far a shape is from the config's, plus the costs of numbers that are not round."""
    ratios = ((width / depth, 16), (width, 64), (inner / width, 2.5))  # 4 heads, whatever the width
    costs = ((depth, 4, 0.02), (width, 1024, 0.02), (inner, 256, 0.01))
    rough = sum(cost * log2(full / gcd(number, full)) for number, full, cost in costs)
    return rough + sum(abs(log(ratio / own)) for ratio, own in ratios)


@pytest.mark.parametrize("params", [150_000, 600_000])
def test_configs_within_the_tolerance_are_ranked_by_shape(params: int) -> None:
    known = [
        strain(*shape)
        for shape in itertools.product(*SHAPES.values())
        if shape[0] // 4 % 2 == 0 and abs(size(*shape) - params) <= 0.02 * params  # heads have an even width
    ]
    found = solve(LLAMA, [*SHAPES], params=params, set=SHAPES, tolerance=2, top=12)
    assert len(known) > 12
    assert [strain(*one.values.values()) for one in found] == pytest.approx(sorted(known)[:12])


def test_a_round_number_may_be_several_steps_away() -> None:
    fields: dict[str, Any] = {"hidden_size": 88, "intermediate_size": range(32, 513)}
    target = size(88, 4, 220)
    near = [one for one in fields["intermediate_size"] if abs(size(88, 4, one) - target) <= 0.1 * target]
    best = min(near, key=lambda inner: strain(88, 4, inner))
    (found,) = solve(LLAMA, "intermediate_size", params=target, set=fields, tolerance=10, top=1)
    assert found.values == {"intermediate_size": best} and abs(best - 220) > 2


def test_a_range_is_ranked_by_shape() -> None:
    for free in (["hidden_size", "num_hidden_layers"], ["hidden_size", "vocab_size"]):
        found = solve(LLAMA, free, params="200_000..300_000", multiple={"hidden_size": 8})
        assert all(200_000 <= one.params <= 300_000 and one.miss == 0 for one in found)
        assert found[0].values == {name: LLAMA[name] for name in free}


def test_fields_that_are_not_numbers_can_be_chosen() -> None:
    fields = {"tie_word_embeddings": [True, False], "num_hidden_layers": range(1, 9)}
    target = archspec.load(LLAMA, set={"tie_word_embeddings": True}).params
    best, *_ = solve(LLAMA, [*fields], params=target, set=fields)
    assert best.values == {"tie_word_embeddings": True, "num_hidden_layers": 4} and best.miss == 0
    assert best.config["tie_word_embeddings"] is True


def test_one_field_may_have_any_number_of_values() -> None:
    options: dict[str, Any] = {"params": "70e9", "set": {"vocab_size": range(1, 10**8)}}
    (best,) = solve("LlamaForCausalLM", ["vocab_size"], top=1, **options)
    others = archspec.load("LlamaForCausalLM").params - 2 * 32000 * 4096
    assert best.values == {"vocab_size": round((70 * 10**9 - others) / (2 * 4096))}


def test_the_default_range_is_a_factor_of_16() -> None:
    found = solve(LLAMA, ["num_hidden_layers"], params=10**9, top=1)
    assert found[0].values == {"num_hidden_layers": 4 * 16}
    found = solve(LLAMA, ["hidden_size"], params=1, multiple={"hidden_size": 8}, top=1)
    assert found[0].values == {"hidden_size": 8}


def test_numpy_is_not_needed() -> None:
    code = "import sys; sys.modules['numpy'] = None; import archspec; "
    code += "print(archspec.solve('GPT2LMHeadModel', params='350m')[0].values)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{solve('GPT2LMHeadModel', params='350m')[0].values}\n"


@pytest.mark.parametrize(
    "value",
    [Operation(0, "__import__", (), 0, 0, frozenset()), Operation(0, "+", ("1", "x"), 0, 0, frozenset())],
)
def test_compiled_code_has_only_numbers_and_operations(value: Operation) -> None:
    with pytest.raises(AssertionError):
        _Code(Space()).function(value)
