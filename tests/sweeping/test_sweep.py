"""Sweeps: every row is the exact count of its config, whatever the grid and its size."""

from __future__ import annotations

import operator
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import archspec
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ConfigError, SweepError
from archspec.specs.library import shipped_library
from archspec.sweeping.axes import Axis, axes_of, axis
from archspec.sweeping.engine import Engine
from archspec.sweeping.evaluator import Evaluator, Grid, boxes
from archspec.sweeping.subject import Subject
from archspec.symbolic.path_conditions import Path as SweepPath
from archspec.symbolic.polynomials import Space
from archspec.tables.quantities import QUANTITIES
from archspec.verifying.generate.sampling import Sampler

ROOT = Path(__file__).parents[2]
LLAMA = "LlamaForCausalLM"
COUNTS = {name: name for name in QUANTITIES}
GRIDS = {  # a class with its fields, and the most closed forms that they need
    f"{LLAMA} hidden_size=256:4096:128,num_hidden_layers=0:48,num_attention_heads=8,12,16,32": 6,
    "BertForMaskedLM hidden_size=12:96:12,num_hidden_layers=1:24,vocab_size=0:900:100,type_vocab_size=1:3": 4,
    "GPT2LMHeadModel n_embd=12:768:12,n_layer=0:24,tie_word_embeddings=true,false": 6,
    "MixtralForCausalLM num_local_experts=1:16,num_experts_per_tok=1:20,hidden_size=64:2048:64": 4,
    "T5ForConditionalGeneration num_layers=1:8,d_model=64:1024:64,feed_forward_proj=relu,gated-gelu": 4,
    "AlbertModel hidden_size=12:768:12,num_hidden_groups=1:4,embedding_size=16:128:16": 4,
    "ViTModel image_size=32:512:16,patch_size=8:32,hidden_size=64:1024:64": 4,
    "Wav2Vec2Model num_hidden_layers=1:16,hidden_size=0:2048:48,intermediate_size=1:3000:500": 3,
    "JambaForCausalLM num_hidden_layers=4:12,num_experts=1:8,hidden_size=64,96,expert_layer_period=1:3": 12,
    "DeepseekV3ForCausalLM num_hidden_layers=1:8,first_k_dense_replace=0:9,n_routed_experts=16:64:16": 16,
    "Gemma2ForCausalLM num_hidden_layers=1:8,hidden_size=64:512:64,head_dim=16:64:16": 2,
    "WhisperModel d_model=12:384:12,encoder_layers=1:4,decoder_layers=1:4": 2,
}


def rows_of(*args: Any, **options: Any) -> list[dict[str, Any]]:
    return list(archspec.sweep(*args, **options))


def params_of(config: Any, settings: dict[str, Any]) -> int:
    return archspec.load(config, set=settings).params


def check_points(subject: Subject, each: int, seed: int) -> Engine:
    """Compare random points of every box with the count of one config."""
    engine, draw = Engine(subject), random.Random(seed)
    for batch in engine.batches():
        valid = np.broadcast_to(batch.valid, batch.box.shape)
        for _ in range(each):
            index = tuple(draw.randrange(size) for size in batch.box.shape)
            point = batch.box.point(*index)
            found = [int(column[index]) for column in batch.columns] if valid[index] else None
            try:
                model = subject.model(point)
                expected = [getattr(model, name) for name in subject.columns]
            except archspec.ArchspecError:
                expected = None
            assert found == expected, subject.values(point)
    return engine


@pytest.mark.parametrize("model", GRIDS)
def test_every_point_is_the_exact_count(model: str) -> None:
    architecture, fields = model.split()
    engine = check_points(Subject(architecture, axes_of(fields), columns=COUNTS), 60, 1)
    assert len(engine.regions) <= GRIDS[model]


def fields_of(scope: Scope, prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name in scope.spec.fields:
        value = scope.get(name)
        if isinstance(value, SubConfig):
            try:
                found += fields_of(value.scope, f"{prefix}{name}.")
            except archspec.ArchspecError:  # an unsupported part
                continue
        elif isinstance(value, bool | int | float):
            found.append((prefix + name, value))
    return found


def random_axis(name: str, value: Any, draw: random.Random) -> Axis:
    if isinstance(value, bool | float):
        return axis(name, [True, False] if isinstance(value, bool) else [value, 1.0, 2.7])
    if value > 40:
        step = draw.choice((1, 4, 8, 12, 16))
        low = max(0, value // step * step - step * draw.randrange(6))
        return axis(name, range(low, low + step * draw.randrange(2, 12), step))
    low = max(0, value - draw.randrange(4))
    return axis(name, range(low, max(low, value) + draw.randrange(1, 5)))


@pytest.mark.parametrize("model_type", shipped_library().model_types()[::2])
def test_random_grids_of_every_other_model_type(model_type: str) -> None:
    spec = shipped_library().load(model_type)
    if spec.refuse or not spec.architectures:
        return
    draw, sampler = random.Random(model_type), Sampler(spec, seed=5)
    for turn in range(20):
        raw = sampler.sample() if turn or draw.random() < 0.5 else {"model_type": model_type}
        architecture = draw.choice(spec.architectures)
        try:
            listed = fields_of(archspec.load(raw, architecture).scope)
            few = draw.sample(listed, min(len(listed), draw.choice((1, 2, 3))))
            axes = [random_axis(name, value, draw) for name, value in few]
            subject = Subject(raw, axes, architecture, columns=COUNTS)
        except archspec.ArchspecError:  # e.g. a field that a flat config has in a part
            continue
        check_points(subject, 8, seed=turn)
        return


def test_integers_beyond_64_bits_are_exact() -> None:
    columns = {"p": "params", "q": "params * params // 2**65", "r": "params % 2**66"}
    columns["m"] = "max(params * hidden_size**3, 2**66)"
    fields = {"hidden_size": [64, 2**14], "intermediate_size": [64, 300_000]}
    for row in rows_of(LLAMA, fields, columns=columns):
        assert row["q"] == row["p"] ** 2 // 2**65 and row["r"] == row["p"] % 2**66
        assert row["m"] == max(row["p"] * row["hidden_size"] ** 3, 2**66)


def test_wide_quotients_do_not_divide_by_zero_outside_their_region() -> None:
    fields = {"num_hidden_layers": range(1, 9), "hidden_size": range(64, 64 * 400, 64)}
    divisor = "(hidden_size - 64 * num_hidden_layers)"
    columns = {"p": "params", "x": f"params * 2**40 // {divisor}"}
    grid = archspec.sweep(LLAMA, fields, columns=columns, where=f"{divisor} != 0")
    rows = list(grid)
    assert len(rows) == grid.points - 8
    for row in rows[::97]:
        assert row["x"] == row["p"] * 2**40 // (row["hidden_size"] - 64 * row["num_hidden_layers"])


def test_counts_beyond_64_bits_are_exact_or_an_error() -> None:
    fields = {"hidden_size": [2**20, 2**29], "num_hidden_layers": [10, 100]}
    columns = ["params", "params * 1000"]
    grid = archspec.sweep(LLAMA, fields, tie={"intermediate_size": "hidden_size"}, columns=columns)
    rows = list(grid)
    assert [str(kind) for kind in grid.schema.types[-2:]] == ["decimal128(38, 0)", "decimal128(38, 0)"]
    d, layers = 2**29, 100
    settings = {"hidden_size": d, "num_hidden_layers": layers, "intermediate_size": d}
    exact = 2 * 32000 * d + layers * (4 * d * d + 3 * d * d + 2 * d) + d
    assert 2**63 < exact == rows[-1]["params"] == params_of(LLAMA, settings)
    assert [int(row["params * 1000"]) for row in rows] == [1000 * int(row["params"]) for row in rows]
    with pytest.raises(SweepError, match="more than 38 digits"):
        rows_of(LLAMA, fields, columns=["params ** 2"])


def test_computed_defaults_follow_and_set_ones_do_not() -> None:
    fields = {"hidden_size": [2048, 4096], "num_attention_heads": [16, 32]}
    columns = "head_dim,num_key_value_heads"
    free = [tuple(row.values())[2:] for row in rows_of(LLAMA, fields, columns=columns)]
    assert free == [(128, 16), (64, 32), (256, 16), (128, 32)]
    config = {"model_type": "llama", "architectures": [LLAMA], "head_dim": 64, "num_key_value_heads": 8}
    assert {tuple(row.values())[2:] for row in rows_of(config, fields, columns=columns)} == {(64, 8)}


def test_refused_points_have_no_row() -> None:
    grid = archspec.sweep(LLAMA, {"hidden_size": "32:320:32", "num_attention_heads": [3, 4]})
    rows = list(grid)
    assert all(row["hidden_size"] % row["num_attention_heads"] == 0 for row in rows)
    ((reason, number),) = grid.refusals.items()
    assert len(rows) + number == grid.points == 20 and "hidden_size % num_attention_heads" in reason
    with pytest.raises(SweepError, match="have no row"):
        grid.array("params")
    assert grid.refusals == {reason: number}  # each pass counts from zero


@pytest.mark.parametrize(
    ("config", "fields", "message"),
    [
        (LLAMA, {"hidden_size": [33, 35]}, "hidden_size % num_attention_heads == 0"),
        ("gpt2", {"n_head": [5, 7], "n_layer": "1:3"}, "at n_head = 5, n_layer = 1: transformers requires"),
    ],
)
def test_a_grid_without_any_count_gives_the_first_reason(config: str, fields: Any, message: str) -> None:
    with pytest.raises(SweepError, match=message):
        rows_of(config, fields)


def test_the_order_of_ties_changes_nothing() -> None:
    ties = {"intermediate_size": "4 * head_dim", "hidden_size": "64 * num_hidden_layers"}
    reverse = dict(reversed(ties.items()))
    rows = [list(archspec.sweep(LLAMA, "num_hidden_layers=2,4", tie=tie)) for tie in (ties, reverse)]
    assert rows[0] == rows[1] and rows[0][0]["intermediate_size"] == 4 * (128 // 32)
    circular = {"hidden_size": "intermediate_size", "n": "1", "intermediate_size": "hidden_size"}
    with pytest.raises(SweepError, match="hidden_size and intermediate_size depend on each other"):
        archspec.sweep(LLAMA, "num_hidden_layers=2,4", tie=circular)


def test_ties_columns_and_conditions() -> None:
    tie = {"intermediate_size": "64 * ((8 * hidden_size // 3 + 63) // 64)"}
    tie["num_attention_heads"] = "hidden_size // 128"
    columns = {"n": "params", "ratio": "intermediate_size / hidden_size", "big": "params > 1e9"}
    columns["head_dim"] = "head_dim"
    fields = ["hidden_size=512:4096:512", "num_hidden_layers=4:8"]
    where = "hidden_size % 1024 == 0 or params < 4e8"
    grid = archspec.sweep(LLAMA, fields, tie=tie, columns=columns, where=where)
    rows = list(grid)
    assert grid.filtered_points == 40 - len(rows) > 0
    assert [*rows[0]][:4] == ["hidden_size", "num_hidden_layers", *tie]
    for row in rows:
        d = row["hidden_size"]
        width = 64 * ((8 * d // 3 + 63) // 64)
        settings = {"hidden_size": d, "num_hidden_layers": row["num_hidden_layers"]}
        params = params_of(LLAMA, {**settings, "intermediate_size": width, "num_attention_heads": d // 128})
        assert row["n"] == params and row["big"] == (params > 1e9) and row["head_dim"] == 128
        assert row["intermediate_size"] == width and row["ratio"] == width / d
        assert d % 1024 == 0 or params < 4e8


def test_a_zero_can_be_a_computed_default() -> None:
    config = {"model_type": "wav2vec2", "architectures": ["Wav2Vec2Model"], "add_adapter": True}
    for row in rows_of(config, {"output_hidden_size": [0, 256, 768]}):
        assert row["params"] == params_of(config, {"output_hidden_size": row["output_hidden_size"] or 768})


def test_bytes_follow_the_dtype() -> None:
    (row,) = rows_of("GPT2LMHeadModel", {"n_layer": 12}, columns=["params", "bytes"], dtype="bf16")
    assert row["bytes"] == 2 * row["params"] == 248879616
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "torch_dtype": "float16"}
    assert rows_of(config, {"n_layer": 12}, columns=["bytes"])[0]["bytes"] == 248879616


def test_rows_come_in_the_order_of_the_grid() -> None:
    rows = rows_of("GPT2LMHeadModel", ["n_layer=1:3", "tie_word_embeddings=true,false", "n_embd=12:36:12"])
    points = [tuple(row.values())[:3] for row in rows]
    assert points == [(n, t, d) for n in (1, 2, 3) for t in (True, False) for d in (12, 24, 36)]


@pytest.mark.parametrize(
    ("fields", "ties", "number"),
    [
        (
            "text_config.hidden_size=64,128,vision_config.num_hidden_layers=1,2",
            ["text_config.num_attention_heads=text_config.hidden_size // 16"],
            4,
        ),
        (  # 8 heads, the default, divide few of these widths
            "text_config.hidden_size=100:400:50",
            [
                "text_config.num_attention_heads=text_config.hidden_size // 50",
                "vision_config.hidden_size=text_config.hidden_size * 2",
                "vision_config.num_attention_heads=text_config.num_attention_heads * 2",
            ],
            7,
        ),
    ],
)
def test_fields_of_sub_configs_are_swept_and_tied(fields: str, ties: list[str], number: int) -> None:
    rows = rows_of("CLIPModel", fields, tie=dict(one.split("=") for one in ties))
    assert len(rows) == number
    for row in rows:
        settings = {name: value for name, value in row.items() if name != "params"}
        assert row["params"] == params_of("CLIPModel", settings)


def test_arrays_have_a_dimension_for_each_field() -> None:
    fields = {"hidden_size": "64:640:64", "num_hidden_layers": "1:5", "intermediate_size": "100:1000:7"}
    d, layers, f = np.ogrid[64:641:64, 1:6, 100:1001:7]
    found = archspec.sweep(LLAMA, fields).array()
    assert found.shape == (10, 5, 129) and found.dtype == np.int64
    assert (found == 2 * 32000 * d + layers * (4 * d * d + 3 * d * f + 2 * d) + d).all()
    with pytest.raises(SweepError, match="configs of the grid have no row"):
        archspec.sweep(LLAMA, {"hidden_size": [32, 33]}).array()
    with pytest.raises(SweepError, match="active_params is not a column of this sweep"):
        archspec.sweep(LLAMA, "hidden_size=64").array("active_params")


@pytest.mark.parametrize("seed", range(30))
def test_random_polynomials_over_rows_and_columns(seed: int) -> None:
    axes = axes_of(random.Random(seed).sample(["a=-3:9", "b=1:40", "c=0:9", "d=5:80:5"], 4))
    space, grid = Space([axis.bounds for axis in axes]), Grid(axes)
    evaluator, (divisor, other) = Evaluator(space), (n for n, axis in enumerate(axes) if axis.name in "bd")
    operators = [operator.add, operator.sub, operator.mul, operator.mul]
    operators += [lambda one, two: one // found[divisor], lambda one, two: one % found[other]]
    for box in boxes(grid, 20_000):
        for turn in range(5):
            draw, path = random.Random(f"{seed}{turn}"), SweepPath(space)
            row, column = (draw.randrange(size) for size in box.shape)
            draw.seed(seed)  # the same expression at every point
            codes = [axis.code(place) for axis, place in zip(axes, box.point(row, column), strict=True)]
            found = [path.number(space.axis(number), code) for number, code in enumerate(codes)] + [3, -7]
            for _ in range(10):
                found.append(draw.choice(operators)(draw.choice(found), draw.choice(found)))
            total = found[-1] * found[-2] + found[-3] - found[-4] * found[0] + found[1] * found[2] * found[3]
            total = total * draw.choice((1, 2**50))  # of Python's integers, too
            values = evaluator.value(getattr(total, "expr", total), box)
            assert np.broadcast_to(values, box.shape)[row, column] == getattr(total, "value", total)


def test_boxes_of_any_size_give_the_same_rows() -> None:
    fields = axes_of(["hidden_size=12:240:12", "num_hidden_layers=1:7", "vocab_size=10:1510:3"])
    found = []
    for size in (7, 1000, 1 << 20):
        batches = list(Engine(Subject("BertModel", fields)).batches(size))
        found.append(np.concatenate([batch.columns[0].reshape(-1) for batch in batches]))
        assert (len(batches) == 1) == (size == 1 << 20)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


@pytest.mark.parametrize(("limit", "architecture"), [("MAX_MODULES", "LlamaModel"), ("MAX_TENSORS", LLAMA)])
def test_models_that_are_too_large_to_list_are_refused_at_the_same_points(
    limit: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in range(150, 162):
        for module in ("archspec.tree.tensors", "archspec.symbolic.counts"):
            monkeypatch.setattr(f"{module}.{limit}", value)
        engine = check_points(Subject(architecture, axes_of("num_hidden_layers=8:24")), 60, 1)
        assert 0 < sum(engine.refused.values()) < 17


def test_a_count_that_is_given_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SweepError, match="more than 300,000 steps") as refusal:
        rows_of("MiniMaxModel", {"num_hidden_layers": [3, 9000]})
    assert "bug" not in str(refusal.value)
    given_up = ConfigError("the config is too large to evaluate (over 300,000 steps)")
    monkeypatch.setattr(Subject, "_run", lambda self, point: (SweepPath(self.space), given_up))
    (row,) = rows_of("MiniMaxModel", {"num_hidden_layers": [80]})
    assert row["params"] == params_of("MiniMaxModel", {"num_hidden_layers": 80})


def test_layers_that_are_tied_to_each_other_are_counted_each() -> None:
    """Zamba's attention blocks are shared by layers that a trace would fold."""
    for row in rows_of("ZambaModel", {"num_hidden_layers": [76, 80]}):
        assert row["params"] == params_of("ZambaModel", {"num_hidden_layers": row["num_hidden_layers"]})


def test_the_command_prints_and_writes(cli: Any, tmp_path: Path) -> None:
    line = f"sweep {LLAMA} --set hidden_size=2048:4096:1024 --set num_hidden_layers=16,32"
    line += " --tie intermediate_size=4*hidden_size"
    done = cli(f"{line} --rows 2")
    assert done.out.splitlines() == [
        "hidden_size  num_hidden_layers  intermediate_size         params",
        "      2,048                 16              8,192  1,204,881,408",
        "      2,048                 32              8,192  2,278,688,768",
    ]
    assert "4 more rows" in done.err
    config, path = ROOT / "configs" / "openai-community--gpt2.json", tmp_path / "rows.csv"
    cli(f"sweep GPT2Model {config} --set n_layer=12 --out {path}")
    assert path.read_text() == '"n_layer","params"\n12,124439808\n'
    assert "124,439,808" in cli(f"sweep {config} --architecture GPT2Model --set n_layer=12").out
