"""A row of a sweep over lengths and items equals the forward pass of these lengths, in any order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.costs.media.items import modality_of
from archspec.errors import ArchspecError, SweepError
from archspec.specs.library import shipped_library
from archspec.sweeping import lengths
from archspec.sweeping.subject import Subject

LLAMA, LLAVA = "LlamaForCausalLM", "LlavaForConditionalGeneration"
QWEN = "Qwen2VLForConditionalGeneration"
RECORD = json.loads((Path(shipped_library().folder) / "costs.json").read_text())["types"]
VALID = {"gpt_neo": {"attention_types": [[["global"], 1]]}}  # its default is refused
KNOWN = [name for name in shipped_library().model_types() if RECORD.get(name, {}).get("exact")]
TEXTS = ["canine", "gpt_oss", "led", "llama", "mamba2", "t5", "xlnet", *KNOWN[3::24]]
COLUMNS = ["flops", "cache_elements", "cache_bytes", "item_tokens"]
Values = Mapping[str, Any]
SIZES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {  # axes, options, ties
    "ViTModel files": ({"height": [224, 320], "images": [1, 3]}, {}, {"width": "height"}),
    "ViTModel tensors": ({"height": [224, 240, 320]}, {"processed": True}, {"width": "height + 16"}),
    "ViTModel batch": ({"batch": [4, 1]}, {}, {}),
    "CLIPModel": ({"images": [3, 0, 1], "tokens": [7, 9]}, {"images": ["640x480"]}, {}),
    f"{QWEN} number": ({"images": [2, 0, 5], "text_tokens": [10, 30]}, {"images": ["300x200"]}, {}),
    f"{QWEN} size": ({"width": [100, 500], "past": [3000, 0]}, {"images": ["4@9x400"], "tokens": 900}, {}),
    f"{QWEN} texts": ({"images": ["90x80", "3@500x300"]}, {"text_tokens": 5, "batch": 1}, {}),
    f"{QWEN} frames": ({"frames": [4, 9], "height": [90, 200]}, {"text_tokens": 5}, {"width": "height"}),
    f"{QWEN} both": ({"frames": [4, 8], "images": [1, 2]}, {"images": ["99x99"], "videos": ["2@60x60"]}, {}),
    "WhisperForConditionalGeneration": ({"length": [10, 30], "tokens": [3]}, {"audios": ["1s"]}, {}),
    "Wav2Vec2Model seconds": ({"length": [1.5, 3]}, {"audios": ["1s"]}, {}),
    "Wav2Vec2Model samples": ({"length": [16000, 48000], "audios": [2, 1]}, {}, {}),
    "Wav2Vec2Model tensors": ({"length": [16000, 48001]}, {"processed": True}, {}),
}


def forward_at(model: archspec.Model, point: Values, names: list[str]) -> dict[str, Any] | None:
    """The columns of a forward pass with some lengths; None if it is refused."""
    try:
        call = model.forward(**point)
        found = {"cache_bytes": call.cache_bytes(model.dtype), "cache_elements": call.cache_elements()}
        if not call.cache and "cache_bytes" in names:
            return None
        found |= {name: getattr(call, name) for name in names if name not in found}
    except ArchspecError:
        return None
    return {name: found[name] for name in names}


def lengths_of(config: Values, architecture: str) -> dict[str, list[int]]:
    """The lengths that a class takes, with some values; none if it does not run on a text alone."""
    axes = {"tokens": [1, 2, 7, 100, 513, 700], "batch": [1, 3], "past": [0, 1, 600]}
    for more in ({}, {"encoder_tokens": [1, 9, 200]}):
        try:
            archspec.load(config, architecture).forward(tokens=1, **dict.fromkeys(more, 1))
            return {**axes, **more}
        except ArchspecError:
            continue
    return {}


def text_classes() -> dict[str, tuple[dict[str, Any], dict[str, list[int]]]]:
    """Classes that take a text, with a config and lengths."""
    found = {}
    for model_type in TEXTS:
        config = {"model_type": model_type, **VALID.get(model_type, {})}
        scope = Scope(shipped_library().load(model_type), config)
        names = [name for name in RECORD[model_type]["exact"] if modality_of(scope, name) is None]
        architecture = Random(model_type).choice(names or RECORD[model_type]["exact"])
        if names and (axes := lengths_of(config, architecture)):
            found[architecture] = config, axes
    return found


CLASSES = text_classes()


@pytest.mark.parametrize("architecture", CLASSES)
def test_lengths_of_a_text_cost_what_their_forward_pass_costs(architecture: str) -> None:
    config, axes = CLASSES[architecture]
    random, line = Random(architecture), RECORD[config["model_type"]]
    model = archspec.load(config, architecture)
    names = COLUMNS + ["masked_flops"] * (architecture in line["masked"])
    if not model.forward(**dict.fromkeys(axes.keys() - {"past"}, 1)).cache:
        axes = {name: values for name, values in axes.items() if name != "past"}
        names = [name for name in names if not name.startswith("cache")]
    if architecture in line["training"] and random.random() < 0.5:
        axes = {name: values for name, values in axes.items() if name != "past"}
        names = [*names, "training_flops"]
    axes = {name: random.sample(axes[name], len(axes[name])) for name in random.sample([*axes], len(axes))}
    grid = archspec.sweep(config, axes, architecture=architecture, columns=names)
    found = {tuple(row[name] for name in axes): [row[name] for name in names] for row in grid}
    assert found and len(grid.engine.regions) < 30
    for values in random.sample([*product(*axes.values())], 12):
        expected = forward_at(model, dict(zip(axes, values, strict=True)), names)
        assert found.get(values) == (None if expected is None else [*expected.values()]), values


def item_texts(point: Values, options: Values) -> dict[str, list[str]]:
    """The items of a point as the options take them."""
    found: dict[str, list[str]] = {}
    for modality in ("images", "videos", "audios"):
        (text, *_) = [*options.get(modality, ()), ""]
        number = point.get(modality, 1)
        if isinstance(number, str):
            found[modality] = [number]
            continue
        count, _, size = text.rpartition("@")
        width, _, height = size.partition("x")
        if modality == "audios":
            length = point.get("length")
            unit = "s" if text.endswith("s") else "f" * bool(options.get("processed"))
            found[modality] = [text if length is None else f"{length}{unit}"] * number
            continue
        if (modality == "videos") == ("frames" in point or "videos" in options):
            height, width = point.get("height", height), point.get("width", width)
        count = point.get("frames", count) if modality == "videos" else count
        found[modality] = [f"{count}@" * bool(count) + f"{width}x{height}"] * number
    return {name: texts for name, texts in found.items() if texts and any(map(str.isdigit, texts[0]))}


@pytest.mark.parametrize("case", SIZES)
def test_items_of_a_sweep_cost_what_their_forward_pass_costs(case: str) -> None:
    (axes, options, ties), architecture = SIZES[case], case.split()[0]
    names = ["flops", "item_tokens", "tokens"] if "tokens" not in axes else ["flops", "item_tokens"]
    grid, model = (
        archspec.sweep(architecture, axes, tie=ties, columns=names, **options),
        archspec.load(architecture),
    )
    rows = list(grid)
    assert len(rows) == grid.points or "past" in axes
    for row in rows:
        point = {name: row[name] for name in (*axes, *ties)}
        given = {
            **options,
            **{
                name: value
                for name, value in point.items()
                if name in ("batch", "past", "tokens", "text_tokens")
            },
        }
        given = {name: value for name, value in given.items() if name not in ("images", "videos", "audios")}
        call = model.forward(**given, **item_texts(point, options))
        assert [row["flops"], row["item_tokens"]] == [call.flops, call.item_tokens], point
        assert row["tokens"] == call.call.tokens


def test_lengths_and_fields_vary_together() -> None:
    fields = {"text_config.num_hidden_layers": "2:40", "images": "1:3"}
    options: dict[str, Any] = {"images": ["500x400"], "text_tokens": 10}
    grid = archspec.sweep(LLAVA, fields, columns=["params", "flops", "cache_bytes"], **options)
    rows = list(grid)
    assert len(rows) == 39 * 3 and len(grid.engine.regions) == 3
    for row in (rows[0], rows[50], rows[-1]):
        model = archspec.load(
            LLAVA, set={"text_config.num_hidden_layers": row["text_config.num_hidden_layers"]}
        )
        call = model.forward(text_tokens=10, images=["500x400"] * row["images"])
        assert [row["params"], row["flops"]] == [model.params, call.flops]


def test_ties_between_lengths_and_fields() -> None:
    tie = {"batch": "2 * num_hidden_layers", "max_position_embeddings": "tokens"}
    columns = {"a": "flops / tokens", "b": "batch"}
    rows = list(archspec.sweep("BertModel", "num_hidden_layers=1,2,tokens=600", columns=columns, tie=tie))
    assert [row["b"] for row in rows] == [2, 4] and rows[1]["max_position_embeddings"] == 600
    model = archspec.load("BertModel", set={"num_hidden_layers": 2, "max_position_embeddings": 600})
    assert rows[1]["a"] == model.forward(batch=4, tokens=600).flops / 600


def test_lengths_that_have_to_be_equal_are_tied() -> None:
    tie, name = {"encoder_tokens": "tokens"}, "BartForSequenceClassification"
    for row in archspec.sweep(name, "tokens=9,90", columns="flops", tie=tie):
        assert (
            row["flops"]
            == archspec.load(name).forward(tokens=row["tokens"], encoder_tokens=row["tokens"]).flops
        )


def test_a_large_grid_of_lengths_has_few_closed_forms() -> None:
    grid = archspec.sweep("GptOssForCausalLM", ["tokens=1:100000", "past=0:999"], columns="flops", batch=2)
    row = grid.subject.forward((99_999, 999))
    assert grid.points == 10**8 and row.call[:3] == (2, 100_000, 999)
    (last,) = archspec.sweep("GptOssForCausalLM", "tokens=100000,past=999", columns="flops", batch=2)
    assert last["flops"] == row.flops
    assert len(grid.head(5).rows) == 5 and len(grid.engine.regions) < 30


def test_a_database_evaluates_lengths() -> None:
    import duckdb

    grid = archspec.sweep(LLAMA, ["tokens=1:4", "batch=1:2"], columns="flops")
    rows = [tuple(row.values()) for row in grid]
    assert sorted(duckdb.sql(grid.sql()).fetchall()) == sorted(rows)
    grid = archspec.sweep("ViTModel", "images=1:4", images=["300x300"], columns="flops")
    assert duckdb.sql(grid.sql()).fetchall() == [tuple(row.values()) for row in grid]


def test_the_first_rows_of_many_items_evaluate_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    region = Subject.region
    monkeypatch.setattr(Subject, "region", lambda self, point: (seen.append(point), region(self, point))[1])
    grid = archspec.sweep("ViTModel", "height=1:300,width=1:300", columns="flops")
    assert len(grid.head(5).rows) == 5 and len(seen) < 300


@pytest.mark.parametrize(
    ("name", "swept", "options", "message"),
    [
        (LLAMA, "tokens=1:4", {}, "tokens has no effect: no column depends on it"),
        (LLAMA, "tokens=1:4", {"tokens": 3}, "tokens is in set or tie, and in tokens"),
        (LLAMA, "tokens=0", {}, "tokens must be an integer of at least 1, not 0"),
        (LLAMA, "tokens=4.5", {}, "tokens must be an integer of at least 1, not 4.5"),
        (LLAMA, "images=1:4", {"images": ["9x9"], "processed": True}, f"{LLAMA} does not take images"),
        (LLAMA, "hight=1:4", {}, "llama has no field hight"),
        ("BertModel", "tokens=600,700", {}, "supports at most 512 tokens, not 600"),
        ("ViTModel", "images=0", {"images": ["9x9"]}, "images must be an integer of at least 1, or a size"),
        (QWEN, "images=1:4", {}, "images need a size"),
        (QWEN, "height=90", {}, "images need a size"),
        (QWEN, "images=2:4", {"images": ["9x9", "8x8"]}, "the number of images is swept, and images gives 2"),
        (QWEN, "images=9x9", {"images": ["9x9"]}, "images: set and images both have sizes"),
        (QWEN, "images=99999", {"images": ["99x99"]}, "images: more than 4,096 items"),
        (QWEN, "images=-1", {"images": ["99x99"]}, "images must be an integer of at least 0"),
        (QWEN, "height=0", {"images": ["99x99"]}, "height must be an integer of at least 1, not 0"),
        (
            QWEN,
            "height=9",
            {"images": ["9x9"], "videos": ["2@9x9"]},
            "height is ambiguous: it can be of images or of videos",
        ),
        (QWEN, "height=1:400,width=1:400", {}, "the grid has 160,000 combinations of lengths"),
        (QWEN, "tokens=1", {"images": ["99x99"]}, "images, videos and audios alone are 16 tokens"),
    ],
)
def test_impossible_lengths_are_refused(name: str, swept: str, options: Any, message: str) -> None:
    columns = "params" if "no effect" in message else "flops"
    with pytest.raises(ArchspecError, match=message):
        list(archspec.sweep(name, swept, columns=columns, **options))


def test_a_search_for_configs_has_no_lengths() -> None:
    with pytest.raises(ArchspecError, match="llama has no field tokens"):
        archspec.solve(LLAMA, ["tokens=1:4"], params=1e9)


def test_a_field_with_the_name_of_a_length_is_the_field(tmp_path: Path) -> None:
    spec = "model_type: tst\nconfig:\n  height: 3\narchitectures:\n  TstModel:\n    a: Linear(height, 2)\n"
    (tmp_path / "tst.yaml").write_text(spec)
    rows = list(archspec.sweep("TstModel", "height=1,5", specs=str(tmp_path)))
    assert rows == [{"height": 1, "params": 4}, {"height": 5, "params": 12}]


def test_pictures_of_lengths_have_titles_with_units(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"tie": {"width": "height"}, "columns": ["flops"], "text_tokens": 9}
    grid = archspec.sweep(QWEN, "height=56:560:56,images=1:4", **sizes)
    grid.plot(str(tmp_path / "a.svg"))
    text = (tmp_path / "a.svg").read_text()
    assert all(
        word in text for word in ("image height (pixels)", "against image height<", "number of images")
    )
    assert "9 text tokens" in text and "width = height" in text
    titles = lengths.Lengths({"audios": ["30s"]}, ["length", "past", "batch", "frames"], None)
    found = [titles.title(name) for name in ("length", "past", "batch", "frames", "hidden_size")]
    assert found == ["audio length (seconds)", "past tokens", "batch size", "frames per video", "hidden_size"]
    for options, unit in (({}, "samples"), ({"processed": True}, "frames"), ({"audios": [80]}, "frames")):
        assert lengths.Lengths(options, ["length"], "audios").title("length") == f"audio length ({unit})"


def test_notes_show_the_lengths_of_all_points_and_the_files_of_one(cli: Any) -> None:
    line = f"sweep {QWEN} --set images=1:3 --image 1024x768 --text 100 --columns flops,item_tokens"
    done = cli(line)
    assert "with batch size 1, 100 text tokens, images 1024x768\n" in done.err
    assert "at images = 3: image 1024×768: resized to 1036×756, 999 tokens; processor: " in done.err
    assert done.out.splitlines()[1].split()[-1] == "999"
    assert cli(f"{line} --json").out.count("item_tokens") == 3
    done = cli(f"sweep {LLAMA} --set tokens=1:3 --set batch=1,2 --columns flops")
    assert "note: costs are for" not in done.err


def test_a_table_has_the_tokens_of_items() -> None:
    table = archspec.table([QWEN, "BertModel"], columns=["item_tokens"], images=["1024x768"], text_tokens=9)
    assert [row["item_tokens"] for row in table.as_json()["rows"]] == [999, None]


def test_too_many_combinations_name_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "MAX_POINTS", 5)
    assert archspec.sweep(LLAMA, "tokens=1:9,batch=1:9", columns="flops").points == 81
    with pytest.raises(SweepError, match="with images, videos or audio at most 5 are evaluated"):
        archspec.sweep("ViTModel", "batch=1:9", columns="flops")
