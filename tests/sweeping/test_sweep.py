"""Sweeps: every row is the exact count of its config, whatever the grid, the format and the size."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import archspec
from archspec.cli.main import main
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ConfigError, SweepError
from archspec.specs.library import shipped
from archspec.sweeping import files
from archspec.sweeping.axes import Axis, axes_of, axis, parse_axis
from archspec.sweeping.engine import Engine
from archspec.sweeping.subject import Subject
from archspec.symbolic.path_conditions import Path as SweepPath
from archspec.tables.quantities import QUANTITIES
from archspec.verifying.generate.sampling import Sampler

ROOT = Path(__file__).parents[2]
COUNTS = list(QUANTITIES)
GRIDS: dict[str, tuple[list[str], int]] = {  # fields, and how many closed forms they may need
    "LlamaForCausalLM": (
        ["hidden_size=256:4096:128", "num_hidden_layers=0:48", "num_attention_heads=8,12,16,32"],
        6,
    ),
    "BertForMaskedLM": (
        ["hidden_size=12:768:12", "num_hidden_layers=1:24", "vocab_size=0:2000:100", "type_vocab_size=1:3"],
        4,
    ),
    "GPT2LMHeadModel": (["n_embd=12:768:12", "n_layer=0:24", "tie_word_embeddings=true,false"], 6),
    "MixtralForCausalLM": (
        ["num_local_experts=1:16", "num_experts_per_tok=1:20", "hidden_size=64:2048:64"],
        4,
    ),
    "T5ForConditionalGeneration": (
        ["num_layers=1:8", "d_model=64:1024:64", "feed_forward_proj=relu,gated-gelu"],
        4,
    ),
    "AlbertModel": (["hidden_size=12:768:12", "num_hidden_groups=1:4", "embedding_size=16:128:16"], 4),
    "ViTModel": (["image_size=32:512:16", "patch_size=8:32", "hidden_size=64:1024:64"], 4),
    "Wav2Vec2Model": (["num_hidden_layers=1:16", "hidden_size=0:2048:48", "intermediate_size=1:3000:500"], 3),
    "JambaForCausalLM": (
        ["num_hidden_layers=4:12", "num_experts=1:8", "hidden_size=64:512:64", "expert_layer_period=1:3"],
        12,
    ),
    "DeepseekV3ForCausalLM": (
        ["num_hidden_layers=1:8", "first_k_dense_replace=0:9", "n_routed_experts=16:64:16"],
        16,
    ),
    "Gemma2ForCausalLM": (["num_hidden_layers=1:8", "hidden_size=64:512:64", "head_dim=16:64:16"], 2),
    "WhisperModel": (["d_model=12:384:12", "encoder_layers=1:4", "decoder_layers=1:4"], 2),
}


def counts(subject: Subject, point: tuple[int, ...], names: list[str]) -> list[int] | None:
    """The exact counts of one point, None where it is refused."""
    try:
        model = subject.model(point)
        return [getattr(model, name) for name in names]
    except archspec.ArchspecError:
        return None


def compared(subject: Subject, each: int, seed: int) -> tuple[Engine, int]:
    """Holds random points of every box to the plain count."""
    engine, chosen, points = Engine(subject), random.Random(seed), 0
    for batch in engine.batches():
        valid = np.broadcast_to(batch.valid, batch.box.shape)
        for _ in range(each):
            index = tuple(chosen.randrange(size) for size in batch.box.shape)
            point = batch.box.point(*index)
            found = [int(column[index]) for column in batch.columns] if valid[index] else None
            assert found == counts(subject, point, list(subject.columns)), subject.values(point)
            points += 1
    return engine, points


@pytest.mark.parametrize("architecture", GRIDS)
def test_every_point_is_the_exact_count(architecture: str) -> None:
    fields, forms = GRIDS[architecture]
    subject = Subject(architecture, axes_of(fields), columns={name: name for name in COUNTS})
    engine, points = compared(subject, 60, seed=1)
    assert points >= 60 and len(engine.regions) <= forms


def fields_of(scope: Scope, prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name in scope.spec.fields:
        value = scope.get(name)
        if isinstance(value, SubConfig):
            try:
                found += fields_of(value.scope, f"{prefix}{name}.")
            except archspec.ArchspecError:  # a part that no spec describes
                continue
        elif isinstance(value, bool | int | float):
            found.append((prefix + name, value))
    return found


def random_axis(name: str, value: Any, chosen: random.Random) -> Axis:
    if isinstance(value, bool):
        return axis(name, [True, False])
    if isinstance(value, float):
        return axis(name, [value, 1.0, 2.7])
    if value > 40:
        step = chosen.choice((1, 4, 8, 12, 16))
        low = max(0, value // step * step - step * chosen.randrange(6))
        return axis(name, range(low, low + step * chosen.randrange(2, 12), step))
    low = max(0, value - chosen.randrange(4))
    return axis(name, range(low, max(low, value) + chosen.randrange(1, 5)))


@pytest.mark.parametrize("model_type", shipped().model_types())
def test_random_grids_of_every_model_type(model_type: str) -> None:
    spec = shipped().load(model_type)
    if spec.refuse or not spec.architectures:
        return
    chosen = random.Random(model_type)
    sampler = Sampler(spec, seed=5)
    tried = 0
    for turn in range(20):
        raw = sampler.sample() if turn else {"model_type": model_type}
        architecture = chosen.choice(spec.architectures)
        try:
            scope = archspec.load(raw, architecture).scope
        except archspec.ArchspecError:
            continue
        listed = fields_of(scope)
        axes = [
            random_axis(name, value, chosen)
            for name, value in chosen.sample(listed, min(len(listed), chosen.choice((1, 2, 3))))
        ]
        try:
            subject = Subject(raw, axes, architecture, columns={name: name for name in COUNTS})
        except ConfigError:  # e.g. a field that a flat config has in a part
            continue
        compared(subject, 8, seed=turn)
        tried += 1
        if tried == 2:
            return


@pytest.mark.parametrize(
    ("architecture", "fields"),
    [
        (
            "LlamaForCausalLM",
            {"hidden_size": 640, "num_hidden_layers": 7, "intermediate_size": 999, "vocab_size": 1234},
        ),
        ("GPT2LMHeadModel", {"n_embd": 48, "n_layer": 5, "vocab_size": 77}),
        ("BertModel", {"hidden_size": 36, "num_hidden_layers": 3, "intermediate_size": 17}),
    ],
)
def test_the_symbolic_formula_says_the_same(architecture: str, fields: dict[str, int]) -> None:
    formula = archspec.formula(architecture)
    known = archspec.load(architecture, set=fields)
    values = {name: known.scope.get(name) for name in formula.symbols}
    (row,) = archspec.sweep(architecture, fields).rows()
    assert formula.evaluate(**values) == row["params"] == known.params


def test_columns_of_numbers_beyond_64_bits() -> None:
    columns = {"q": "params * params // 2**65", "r": "params % 2**66"}
    columns["m"] = "max(params * hidden_size**3, 2**66)"
    fields = {"hidden_size": [64, 2**14], "intermediate_size": [64, 300_000]}
    for row in archspec.sweep("LlamaForCausalLM", fields, columns={"params": "params", **columns}).rows():
        assert row["q"] == row["params"] ** 2 // 2**65 and row["r"] == row["params"] % 2**66
        assert row["m"] == max(row["params"] * row["hidden_size"] ** 3, 2**66)


def test_computed_defaults_follow_and_set_ones_do_not() -> None:
    fields = {"hidden_size": [2048, 4096], "num_attention_heads": [16, 32]}
    free = list(
        archspec.sweep("LlamaForCausalLM", fields, columns=["head_dim", "num_key_value_heads"]).rows()
    )
    assert [(row["head_dim"], row["num_key_value_heads"]) for row in free] == [
        (128, 16),
        (64, 32),
        (256, 16),
        (128, 32),
    ]
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "head_dim": 64,
        "num_key_value_heads": 8,
    }
    held = list(archspec.sweep(config, fields, columns=["head_dim", "num_key_value_heads"]).rows())
    assert {(row["head_dim"], row["num_key_value_heads"]) for row in held} == {(64, 8)}


def test_refused_points_have_no_row_and_are_counted() -> None:
    grid = archspec.sweep("LlamaForCausalLM", {"hidden_size": "32:320:32", "num_attention_heads": [3, 4]})
    rows = list(grid.rows())
    assert all(row["hidden_size"] % row["num_attention_heads"] == 0 for row in rows)
    (reason,) = grid.refused
    assert (
        len(rows) + grid.refused[reason] == grid.points == 20
        and "hidden_size % num_attention_heads" in reason
    )


def test_a_grid_without_any_count_says_why() -> None:
    with pytest.raises(SweepError, match="hidden_size % num_attention_heads == 0"):
        list(archspec.sweep("LlamaForCausalLM", {"hidden_size": [33, 35]}).rows())


def test_a_grid_without_any_count_names_its_first_point() -> None:
    with pytest.raises(SweepError, match="at n_head = 5, n_layer = 1: n_head"):
        list(archspec.sweep("gpt2", {"n_head": [5, 7], "n_layer": "1:3"}).rows())


def test_ties_columns_and_filters() -> None:
    grid = archspec.sweep(
        "LlamaForCausalLM",
        ["hidden_size=512:4096:512", "num_hidden_layers=4:8"],
        tie={
            "intermediate_size": "64 * ((8 * hidden_size // 3 + 63) // 64)",
            "num_attention_heads": "hidden_size // 128",
        },
        columns={
            "n": "params",
            "ratio": "intermediate_size / hidden_size",
            "big": "params > 1e9",
            "head_dim": "head_dim",
        },
        where="hidden_size % 1024 == 0 or params < 4e8",
    )
    rows = list(grid.rows())
    assert grid.filtered == 40 - len(rows) > 0 and [*rows[0]][:4] == [
        "hidden_size",
        "num_hidden_layers",
        *grid.subject.ties,
    ]
    for row in rows:
        width = 64 * ((8 * row["hidden_size"] // 3 + 63) // 64)
        overrides = {"hidden_size": row["hidden_size"], "num_hidden_layers": row["num_hidden_layers"]}
        overrides |= {"intermediate_size": width, "num_attention_heads": row["hidden_size"] // 128}
        params = archspec.load("LlamaForCausalLM", set=overrides).params
        assert row["n"] == params and row["big"] == (params > 1e9) and row["head_dim"] == 128
        assert row["intermediate_size"] == width and row["ratio"] == width / row["hidden_size"]
        assert row["hidden_size"] % 1024 == 0 or params < 4e8


def test_a_zero_is_the_computed_default_where_it_is_for_transformers() -> None:
    config = {"model_type": "wav2vec2", "architectures": ["Wav2Vec2Model"], "add_adapter": True}
    for row in archspec.sweep(config, {"output_hidden_size": [0, 256, 768]}).rows():
        overrides = {"output_hidden_size": row["output_hidden_size"] or 768}
        assert row["params"] == archspec.load(config, set=overrides).params


def test_bytes_follow_the_dtype() -> None:
    (row,) = archspec.sweep(
        "GPT2LMHeadModel", {"n_layer": 12}, columns=["params", "bytes"], dtype="bf16"
    ).rows()
    assert row["bytes"] == 2 * row["params"] == 248879616
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "torch_dtype": "float16"}
    assert next(archspec.sweep(config, {"n_layer": 12}, columns=["bytes"]).rows())["bytes"] == 248879616


def test_rows_come_in_the_order_of_the_grid(tmp_path: Path) -> None:
    grid = archspec.sweep(
        "GPT2LMHeadModel", ["n_layer=1:3", "tie_word_embeddings=true,false", "n_embd=12:36:12"]
    )
    rows = [tuple(row.values())[:3] for row in grid.rows()]
    assert rows == [(n, t, d) for n in (1, 2, 3) for t in (True, False) for d in (12, 24, 36)]


def test_sub_configs_are_swept_by_path() -> None:
    fields = {"text_config.hidden_size": [64, 128], "vision_config.num_hidden_layers": [1, 2]}
    for row in archspec.sweep(
        "CLIPModel", fields, tie={"text_config.num_attention_heads": "text_config.hidden_size // 16"}
    ).rows():
        overrides = {name: value for name, value in row.items() if name != "params"}
        assert row["params"] == archspec.load("CLIPModel", set=overrides).params


def test_fields_of_parts_follow_each_other() -> None:
    ties = {
        # 8, before it follows, divides few of these
        "text_config.num_attention_heads": "text_config.hidden_size // 50",
        "vision_config.hidden_size": "text_config.hidden_size * 2",
        "vision_config.num_attention_heads": "text_config.num_attention_heads * 2",
    }
    rows = list(archspec.sweep("CLIPModel", {"text_config.hidden_size": "100:400:50"}, tie=ties).rows())
    assert len(rows) == 7
    for row in rows:
        overrides = {name: value for name, value in row.items() if name != "params"}
        assert row["vision_config.hidden_size"] == 2 * row["text_config.hidden_size"]
        assert row["params"] == archspec.load("CLIPModel", set=overrides).params


def test_arrays_have_a_dimension_for_each_field() -> None:
    fields = {"hidden_size": "64:640:64", "num_hidden_layers": "1:5", "intermediate_size": "100:1000:7"}
    d, layers, f = np.ogrid[64:641:64, 1:6, 100:1001:7]
    found = archspec.sweep("LlamaForCausalLM", fields).array()
    assert found.shape == (10, 5, 129) and found.dtype == np.int64
    assert (found == 2 * 32000 * d + layers * (4 * d * d + 3 * d * f + 2 * d) + d).all()
    with pytest.raises(SweepError, match="points of the grid have no row"):
        archspec.sweep("LlamaForCausalLM", {"hidden_size": [32, 33]}).array()


def test_boxes_of_any_size_give_the_same_rows() -> None:
    fields = axes_of(["hidden_size=12:240:12", "num_hidden_layers=1:7", "vocab_size=10:1510:3"])
    whole: Any = None
    for size in (7, 1000, 1 << 20):
        subject = Subject("BertModel", fields)
        batches = list(Engine(subject).batches(size))
        found = np.concatenate(
            [np.broadcast_to(batch.columns[0], batch.box.shape).reshape(-1) for batch in batches]
        )
        whole = found if size == 7 else whole
        assert (found == whole).all() and (len(batches) == 1) == (size == 1 << 20)


def test_counts_beyond_64_bits_are_exact_or_an_error() -> None:
    fields = {"hidden_size": [2**20, 2**29], "num_hidden_layers": [10, 100]}
    grid = archspec.sweep(
        "LlamaForCausalLM",
        fields,
        tie={"intermediate_size": "hidden_size"},
        columns=["params", "params * 1000"],
    )
    rows = list(grid.rows())
    assert [str(kind) for kind in grid.schema.types[-2:]] == ["decimal128(38, 0)", "decimal128(38, 0)"]
    d, layers = 2**29, 100
    exact = 2 * 32000 * d + layers * (4 * d * d + 3 * d * d + 2 * d) + d
    assert (
        exact > 2**63
        and rows[-1]["params"]
        == exact
        == archspec.load(
            "LlamaForCausalLM",
            set={"hidden_size": d, "num_hidden_layers": layers, "intermediate_size": d},
        ).params
    )
    assert [int(row["params * 1000"]) for row in rows] == [1000 * int(row["params"]) for row in rows]
    with pytest.raises(SweepError, match="more than 38 digits"):
        list(archspec.sweep("LlamaForCausalLM", fields, columns=["params ** 2"]).rows())


@pytest.mark.parametrize(
    ("limit", "architecture"), [("MAX_MODULES", "LlamaModel"), ("MAX_TENSORS", "LlamaForCausalLM")]
)
def test_models_that_are_too_large_to_list_are_refused_at_the_same_points(
    limit: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in range(150, 162):
        for module in ("archspec.tree.tensors", "archspec.symbolic.counts"):
            monkeypatch.setattr(f"{module}.{limit}", value)
        subject = Subject(architecture, axes_of(["num_hidden_layers=8:24"]))
        (batch,) = Engine(subject).batches()
        counted = [counts(subject, (place,), ["params"]) is not None for place in range(17)]
        assert np.broadcast_to(batch.valid, (1, 17))[0].tolist() == counted and {*counted} == {True, False}


def test_a_count_that_is_given_up_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = archspec.sweep("MiniMaxModel", {"num_hidden_layers": [3, 9000]})
    with pytest.raises(SweepError, match="more than 300,000 steps") as refusal:
        list(grid.rows())
    assert "bug" not in str(refusal.value)
    wanted = archspec.load("MiniMaxModel", set={"num_hidden_layers": 80}).params
    given_up = ConfigError("this takes more than 300,000 steps")
    monkeypatch.setattr(Subject, "_run", lambda self, point: (SweepPath(self.space), given_up))
    assert next(archspec.sweep("MiniMaxModel", {"num_hidden_layers": [80]}).rows())["params"] == wanted


def test_values_of_numpy_and_texts_are_taken() -> None:
    wanted = list(
        archspec.sweep("LlamaForCausalLM", {"hidden_size": [64, 128]}, columns=["params", "bytes"]).rows()
    )
    for fields in (
        {"hidden_size": np.array([64, 128])},
        {"hidden_size": [np.int64(64), np.int32(128)]},
        {"hidden_size": (64 * turn for turn in (1, 2))},
        {"hidden_size": "64:128:64"},
        ["hidden_size=64,128"],
        "hidden_size=64,128",
    ):
        assert list(archspec.sweep("LlamaForCausalLM", fields, columns="params,bytes").rows()) == wanted
    with pytest.raises(SweepError, match="missing or repeated"):
        archspec.sweep("LlamaForCausalLM", "hidden_size=64", columns=["params", "params"])
    with pytest.raises(SweepError, match="there is no expression"):
        archspec.sweep("LlamaForCausalLM", "hidden_size=64", where="")
    with pytest.raises(SweepError, match="active_params is not a column of this sweep"):
        archspec.sweep("LlamaForCausalLM", "hidden_size=64").array("active_params")


def read(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            return [{name: json.loads(value) for name, value in row.items()} for row in csv.DictReader(file)]
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    return list(pa.ipc.open_file(path).read_all().to_pylist())


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_files_hold_the_rows(tmp_path: Path, ending: str) -> None:
    fields = ["hidden_size=32:320:32", "num_attention_heads=3,4", "tie_word_embeddings=true,false"]
    grid = archspec.sweep("LlamaForCausalLM", fields, columns=["params", "hidden_size / 7"])
    path = tmp_path / f"rows.{ending}"
    assert grid.write(str(path)) == len(read(path)) == 26
    assert read(path) == list(grid.rows())
    assert os.listdir(tmp_path) == [path.name] and oct(path.stat().st_mode & 0o777) == oct(0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_an_interrupted_file_is_not_there(tmp_path: Path, ending: str) -> None:
    grid = archspec.sweep("LlamaForCausalLM", ["hidden_size=32:32000:32", "num_hidden_layers=1:400"])

    def interrupt(done: int, total: int) -> None:
        if done > 150_000:
            raise KeyboardInterrupt

    path = tmp_path / f"rows.{ending}"
    path.write_text("what was there before")
    with pytest.raises(KeyboardInterrupt):
        grid.write(str(path), interrupt, overwrite=True)
    assert os.listdir(tmp_path) == [path.name] and path.read_text() == "what was there before"


def written(process: subprocess.Popen[bytes], folder: Path) -> int:
    """The bytes that a process has written to files of a folder so far, whether these have names or not."""
    opened = Path(f"/proc/{process.pid}/fd")
    found = list(folder.iterdir())
    with contextlib.suppress(OSError):  # it may end meanwhile
        found += [file for file in opened.iterdir() if str(file.readlink()).startswith(f"{folder}/")]
    sizes = []
    for file in found:
        with contextlib.suppress(OSError):
            sizes.append(file.stat().st_size)
    return max(sizes, default=0)


def interrupted(folder: Path, ending: str, number: int, before: str | None = None) -> int:
    """Sends a signal to an endless sweep that is writing its file; gives its exit status."""
    path = folder / f"rows.{ending}"
    if before is not None:
        path.write_text(before)
    command = [
        sys.executable,
        "-m",
        "archspec",
        "sweep",
        "LlamaForCausalLM",
        "--set",
        "hidden_size=32:3200000:32",
    ]
    command += ["--set", "num_hidden_layers=1:900", "--set", "vocab_size=1:1000", "--yes", "--overwrite"]
    command += ["--out", str(path)]
    process = (
        subprocess.Popen(  # a parent may ignore SIGINT, as a shell's background jobs do, and hand that down
            command,
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    )
    try:
        until = time.monotonic() + 120
        while written(process, folder) <= 100_000:
            assert process.poll() is None, f"the sweep ended by itself, with status {process.returncode}"
            assert time.monotonic() < until, "the sweep wrote nothing"
            time.sleep(0.02)
        process.send_signal(number)
        return process.wait(120)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "arrow"])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_killed_sweep_leaves_nothing(tmp_path: Path, number: int, code: int, ending: str) -> None:
    assert interrupted(tmp_path, ending, number) == code
    left = os.listdir(tmp_path)
    if number == signal.SIGKILL:
        assert f"rows.{ending}" not in left and all(name.endswith(".partial") for name in left)
    else:
        assert left == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_sweep_leaves_what_was_there(tmp_path: Path, number: int) -> None:
    interrupted(tmp_path, "parquet", number, before="what was there before")
    assert (tmp_path / "rows.parquet").read_text() == "what was there before"


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for text in ("one", "two"):
        with files.whole_file(str(path), overwrite=True) as partial:
            Path(partial).write_text(text)
            assert not path.exists() or path.read_text() == "one"
        assert path.read_text() == text and oct(path.stat().st_mode & 0o777) == oct(0o666 & ~_umask())
    with pytest.raises(KeyboardInterrupt), files.whole_file(str(path), overwrite=True) as partial:
        Path(partial).write_text("three")
        raise KeyboardInterrupt
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(SweepError, match="Is a directory"),
        files.whole_file(str(tmp_path / "folder")) as partial,
    ):
        Path(partial).write_text("three")
    assert path.read_text() == "two" and sorted(os.listdir(tmp_path)) == ["a.txt", "folder"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "arrow"])
def test_a_sweep_tells_how_far_it_is(tmp_path: Path, ending: str) -> None:
    grid = archspec.sweep("LlamaForCausalLM", ["hidden_size=31:6400", "num_hidden_layers=1:200"])
    told: list[tuple[int, int]] = []
    rows = grid.write(str(tmp_path / f"rows.{ending}"), lambda done, total: told.append((done, total)))
    assert 0 < rows < grid.points and len(told) > 2
    assert told == sorted(told) and {total for _, total in told} == {grid.points}
    assert told[-1][0] == grid.points and told[0][0] < 0.4 * grid.points


@pytest.mark.parametrize(("patience", "long"), [(0.0, True), (1_000.0, False)])
def test_a_long_sweep_shows_how_far_it_is_on_a_terminal(
    patience: float, long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archspec.terminal.PATIENCE", patience)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    options = ["--set", "hidden_size=32:6400:32", "--set", "num_hidden_layers=1:2", "--overwrite", "--out"]
    for screen in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", screen)
        assert main(["sweep", "LlamaForCausalLM", *options, str(tmp_path / "rows.csv")]) == 0
        shown = "sweeping" in screen.getvalue() and "400/400" in screen.getvalue()
        assert shown == (long and isinstance(screen, Terminal)) and "204 rows" in screen.getvalue()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("d=2:6", (2, 3, 4, 5, 6)),
        ("d=2:9:3", (2, 5, 8)),
        ("d=64:1000:*2", (64, 128, 256, 512)),
        ("d=1,2,8:10", (1, 2, 8, 9, 10)),
        ("d=[1,2],[3]", ([1, 2], [3])),
        ("d=true,null,1.5", (True, None, 1.5)),
        ("d=0.5:1.5:0.25", (0.5, 0.75, 1.0, 1.25, 1.5)),
        ('d="a,b",c', ("a,b", "c")),
        ("part.d=3", (3,)),
    ],
)
def test_values_as_they_are_typed(text: str, values: tuple[Any, ...]) -> None:
    assert tuple(parse_axis(text).values) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hidden_size", "gives no values"),
        ("hidden_size=", "gives no values"),
        ("hidden_size=9:2", "9:2 is empty: 2 is below 9"),
        ("hidden_size=2:9:0", "the step 0 is not positive"),
        ("hidden_size=2:9:-1", "the step -1 is not positive"),
        ("hidden_size=0:9:*2", "a range of powers"),
        ("hidden_size=a:b", "'a:b' is not a range"),
        ("hidden_size=1:2:3:4", "is not a range"),
        ("hidden_size=[1,2", "not JSON"),
        ("2x=3", "is not a field"),
        ("hidden_size=1:9000000000000", "9,000,000,000,000 points"),
        ("hidden_size=64,100000000000000000000000", "beyond 64 bits"),
        ("hidden_size=64:100000000000000000000000:64000000000000000000", "beyond 64 bits"),
        ("hidden_size=-100000000000000000000000:64:64000000000000000000", "beyond 64 bits"),
        ("hidden_size=1:100000000000000000000000", "beyond 64 bits"),
        ("hidden_size=1,2:3000000", "more than 1,000,000 values"),
        ("hidden_size=1,2:100000000000000000000000", "more than 1,000,000 values"),
        ("hiden_size=64", "did you mean hidden_size?"),
        ("rms_norm_eps=1:2", "the number 1 is not float"),
        ("rms_norm_epsilon=1:2", "a config of llama has no field rms_norm_epsilon"),
        ("dtype=float32,bfloat16", "dtype is not swept"),
        ("model_type=a,b", "is not swept"),
    ],
)
def test_impossible_grids_are_refused(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "LlamaForCausalLM", "--set", text]) == 2
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said and "bug" not in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing is swept"),
        (["--set", "hidden_size=64", "--set", "hidden_size=128"], "hidden_size is set twice"),
        (["--set", "hidden_size=64", "--tie", "hidden_size=3"], "both set and tied"),
        (["--set", "hidden_size=64", "--tie", "intermediate_size"], "= is missing"),
        (["--set", "hidden_size=64", "--tie", "intermediate_size=4*hiden_size"], "hiden_size is neither"),
        (["--set", "hidden_size=64", "--tie", "intermediate_size=hidden_size/3"], "is not int"),
        (["--set", "hidden_size=64", "--columns", "parms"], "did you mean params?"),
        (["--set", "hidden_size=64", "--columns", "params,,bytes"], "a name is missing"),
        (["--set", "hidden_size=64", "--columns", "hidden_size"], "stands in the table already"),
        (["--set", "hidden_size=64", "--columns", "params +"], "not an expression"),
        (["--set", "hidden_size=64", "--where", "__import__('os')"], "not a name of the spec language"),
        (["--set", "hidden_size=64", "--where", "params // (hidden_size - 64) > 1"], "division by zero"),
        (["--set", "hidden_size=64", "--where", " "], "there is no expression"),
        (["--set", "hidden_size=64", "--tie", "intermediate_size= "], "there is no expression"),
        (["hidden_size=64,128"], "its values: --set hidden_size=64,128"),
        (["a.json", "--architecture", "LlamaModel", "--set", "hidden_size=64"], "two classes"),
        (["--set", "hidden_size=64", "--rows", "-1"], "--rows -1 is out of range"),
        (["--set", "hidden_size=64", "--rows", "1000000"], "print 0 to 100,000 rows"),
        (["--set", "hidden_size=64", "--log", "x"], "--log has no effect without --plot"),
        (["--set", "hidden_size=64:128:64", "--plot", "x.png", "--log", "z"], "x, y or xy"),
        (
            ["--set", "hidden_size=64:128:64", "--plot", "x.png", "--beside", "NoModel"],
            "unknown architecture",
        ),
        (["--set", "hidden_size=64", "--dtype", "int3"], "int3 is not a dtype"),
        (["--set", "hidden_size=64", "--out", "rows.txt"], "unknown format '.txt'"),
        (["--set", "hidden_size=64", "--out", "/nowhere/rows.csv"], "No such file or directory"),
        (["--set", "hidden_size=64", "--plot", "x.gif"], "unknown picture format '.gif'"),
        (["--set", "hidden_size=64", "--plot", "x.png"], "no field has more than one number"),
        (
            ["--set", "hidden_size=64:128:64", "--plot", "x.png", "--kind", "pie"],
            "argument --kind: invalid choice: 'pie'",
        ),
        (
            ["--set", "hidden_size=64:128:64", "--plot", "x.png", "--kind", "pareto"],
            "pareto needs two columns",
        ),
        (["--set", "hidden_size=64", "--sql", "oracle"], "argument --sql: invalid choice: 'oracle'"),
        (["--set", "hidden_size=64", "--table", "t"], "--table has no effect without --sql"),
    ],
)
def test_wrong_options_are_refused(
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "LlamaForCausalLM", *options]) == 2
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said and "bug" not in said
    assert os.listdir(tmp_path) == []


def test_the_command_prints_and_writes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = [
        "--set",
        "hidden_size=2048:4096:1024",
        "--set",
        "num_hidden_layers=16,32",
        "--tie",
        "intermediate_size=4*hidden_size",
    ]
    assert main(["sweep", "LlamaForCausalLM", *options, "--rows", "2"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "hidden_size  num_hidden_layers  intermediate_size         params",
        "      2,048                 16              8,192  1,204,881,408",
        "      2,048                 32              8,192  2,278,688,768",
    ]
    assert "4 more rows" in said.err
    assert main(["sweep", "LlamaForCausalLM", *options, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == list(
        archspec.sweep(
            "LlamaForCausalLM",
            {"hidden_size": [2048, 3072, 4096], "num_hidden_layers": [16, 32]},
            tie={"intermediate_size": "4*hidden_size"},
        ).rows()
    )
    config = ROOT / "configs" / "openai-community--gpt2.json"
    path = tmp_path / "rows.csv"
    assert main(["sweep", "GPT2Model", str(config), "--set", "n_layer=12", "--out", str(path)]) == 0
    assert path.read_text() == '"n_layer","params"\n12,124439808\n'
    assert main(["sweep", str(config), "--architecture", "GPT2Model", "--set", "n_layer=12"]) == 0
    assert "124,439,808" in capsys.readouterr().out


def test_layers_that_are_tied_to_each_other_are_counted_each() -> None:
    """Zamba's attention blocks are shared by layers that a trace would fold."""
    rows = list(archspec.sweep("ZambaModel", {"num_hidden_layers": [76, 80]}))
    assert [row["params"] for row in rows] == [
        archspec.load("ZambaModel", set={"num_hidden_layers": layers}).params for layers in (76, 80)
    ]
