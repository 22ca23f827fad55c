"""Budgets turned into configs: the nearest ones, exact, and such that transformers builds them."""

from __future__ import annotations

import itertools
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError, SweepError
from archspec.solving.goals import Goal, goal, ratio_condition, size_of
from archspec.solving.searching import over_arrays
from archspec.solving.solutions import complete
from archspec.solving.solve import Solution, solve
from archspec.specs.library import shipped
from archspec.verifying.generate.sampling import Sampler

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
}


def every(
    config: Any, fields: dict[str, range], ties: dict[str, Any]
) -> list[tuple[dict[str, int], archspec.Model]]:
    """All configs of a small grid that can be built, counted one by one."""
    key = json.dumps([config, {name: list(values) for name, values in fields.items()}, list(ties)])
    if key not in _EVERY:
        _EVERY[key] = _every(config, fields, ties)
    return _EVERY[key]


_EVERY: dict[str, list[tuple[dict[str, int], archspec.Model]]] = {}


def _every(
    config: Any, fields: dict[str, range], ties: dict[str, Any]
) -> list[tuple[dict[str, int], archspec.Model]]:
    found = []
    for values in itertools.product(*fields.values()):
        chosen = dict(zip(fields, values, strict=True))
        overrides = chosen | {name: follow(chosen) for name, follow in ties.items()}
        try:
            model = archspec.load(config, set=overrides)
            model.tensors()
        except ArchspecError:
            continue
        found.append((chosen, model))
    return found


def misses(model: archspec.Model, targets: dict[str, int]) -> Fraction:
    return max(Fraction(abs(getattr(model, name) - target), target) for name, target in targets.items())


@pytest.mark.parametrize("solved", [False, True])
@pytest.mark.parametrize(
    ("fields", "target"),
    [
        (
            {
                "hidden_size": range(8, 129, 16),
                "num_hidden_layers": range(1, 6),
                "intermediate_size": range(16, 401, 32),
            },
            250_000,
        ),
        ({"num_hidden_layers": range(1, 65)}, 250_000),
        ({"vocab_size": range(1, 2000, 3)}, 200_000),
        ({"hidden_size": range(4, 400, 4)}, 250_000),
        ({"hidden_size": range(8, 129, 8), "num_hidden_layers": range(1, 20)}, 1),
        ({"hidden_size": range(8, 129, 16), "intermediate_size": range(1, 3000, 70)}, 10**9),
        ({"num_hidden_layers": range(1, 9), "intermediate_size": range(400, 0, -7)}, 250_000),
    ],
)
def test_nothing_comes_nearer(
    fields: dict[str, range], target: int, solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if solved:
        monkeypatch.setattr(over_arrays, "MAX_POINTS", 0)
    known = sorted(misses(model, {"params": target}) for _, model in every(LLAMA, fields, {}))
    try:
        found = solve(LLAMA, list(fields), params=target, set=fields, tolerance=0, top=20)
    except SweepError as error:
        assert solved and "no field to solve for" in str(error) and list(fields) == ["hidden_size"]
        return
    assert [one.miss for one in found] == known[:20]
    for one in found:
        assert one.params == archspec.load(LLAMA, set=one.values).params == archspec.load(one.config).params


@pytest.mark.parametrize("solved", [False, True])
def test_two_targets_weigh_the_larger_miss(solved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if solved:
        monkeypatch.setattr(over_arrays, "MAX_POINTS", 0)
    config = {
        "model_type": "mixtral",
        "architectures": ["MixtralForCausalLM"],
        "vocab_size": 100,
        "hidden_size": 64,
    }
    config |= {"num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2}
    fields = {
        "num_local_experts": range(2, 20, 2),
        "intermediate_size": range(4, 300, 12),
        "num_hidden_layers": range(1, 4),
    }
    targets = {"params": 500_000, "active_params": 100_000}
    known = sorted(misses(model, targets) for _, model in every(config, fields, {}))
    found = solve(config, list(fields), params="500k", active_params="100k", set=fields, tolerance=0, top=15)
    assert [one.miss for one in found] == known[:15]


@pytest.mark.parametrize("solved", [False, True])
def test_bounds_ratios_ties_and_conditions_hold(solved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if solved:
        monkeypatch.setattr(over_arrays, "MAX_POINTS", 0)
    fields = {
        "hidden_size": range(8, 129, 8),
        "num_hidden_layers": range(1, 11),
        "vocab_size": range(50, 3000, 200),
    }
    ties = {"intermediate_size": lambda chosen: 8 * chosen["hidden_size"] // 3}

    def kept(chosen: dict[str, int], model: archspec.Model) -> bool:
        ratio = Fraction(chosen["hidden_size"], chosen["num_hidden_layers"])
        return (
            10 <= ratio <= Fraction(25, 2)
            and chosen["hidden_size"] != 80
            and model.params_bytes("bf16") <= 700_000
        )

    all_of = every(LLAMA, fields, ties)
    known = [
        (Fraction(700_000 - 2 * model.params, 700_000), chosen)
        for chosen, model in all_of
        if kept(chosen, model)
    ]
    found = solve(
        LLAMA,
        list(fields),
        bytes=700_000,
        dtype="bf16",
        set=fields,
        ratio={"hidden_size/num_hidden_layers": "10..12.5"},
        tie={"intermediate_size": "8 * hidden_size // 3"},
        where="hidden_size != 80",
        tolerance=0,
        top=25,
    )
    assert [one.miss for one in found] == sorted(miss for miss, _ in known)[:25]
    for one in found:
        assert kept(one.values, archspec.load(one.config)) and one.bytes == 2 * one.params <= 700_000
        assert (
            one.config["intermediate_size"] == 8 * one.values["hidden_size"] // 3
            and one.config["dtype"] == "bfloat16"
        )


def test_bytes_are_a_bound_where_another_size_is_the_target() -> None:
    fields: dict[str, Any] = {"hidden_size": range(8, 129, 8), "num_hidden_layers": range(1, 11)}
    for target, room in ((150_000, 10**9), (150_000, 250_000)):
        known = [
            (abs(m.params - target), m.params) for _, m in every(LLAMA, fields, {}) if 2 * m.params <= room
        ]
        found = solve(
            LLAMA,
            "hidden_size, num_hidden_layers",
            params=target,
            bytes=room,
            dtype="bf16",
            set=fields,
            tolerance=0,
            top=5,
        )
        assert [abs(one.params - target) for one in found] == [miss for miss, _ in sorted(known)[:5]]
        assert all(
            one.bytes == 2 * one.params <= room and one.miss == Fraction(abs(one.params - target), target)
            for one in found
        )


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        ({}, []),
        ({"bytes": 100_000}, ["bytes <= 100,000 stands in the way: without it there is hidden_size = "]),
        (
            {"where": "hidden_size < 5"},
            ["hidden_size < 5 stands in the way: without it there is hidden_size = "],
        ),
        (
            {"params": 1},
            ["hidden_size = 4 is the smallest of its values", "num_hidden_layers = 1 is the smallest"],
        ),
        ({"active_params": "100k"}, ["every parameter works on each token"]),
        ({"multiple": {"hidden_size": 64}}, ["take smaller steps"]),
    ],
)
def test_what_is_far_off_says_what_keeps_it_there(options: dict[str, Any], notes: list[str]) -> None:
    asked: dict[str, Any] = {"params": "250k", "multiple": {"hidden_size": 4}, "dtype": "fp32"} | options
    found = solve(LLAMA, ["hidden_size", "num_hidden_layers"], top=1, tolerance=0, **asked)
    assert len(found.notes) == len(notes), found.notes
    assert all(said.startswith(note) for said, note in zip(found.notes, notes, strict=True)), found.notes
    assert bool(found.notes) == (found[0].miss > Fraction(1, 20))


def test_fields_that_are_no_numbers_are_chosen_too() -> None:
    fields = {"tie_word_embeddings": [True, False], "num_hidden_layers": range(1, 9)}
    (best, *_) = solve(
        LLAMA,
        list(fields),
        params=archspec.load(LLAMA, set={"tie_word_embeddings": True}).params,
        set=fields,
    )
    assert best.values == {"tie_word_embeddings": True, "num_hidden_layers": 4} and best.miss == 0
    assert best.config["tie_word_embeddings"] is True


def test_a_range_is_ranked_by_how_little_the_shape_differs() -> None:
    found = solve(
        LLAMA, ["hidden_size", "num_hidden_layers"], params="200_000..300_000", multiple={"hidden_size": 8}
    )
    assert all(200_000 <= one.params <= 300_000 and one.miss == 0 for one in found)
    assert found[0].values == {"hidden_size": 64, "num_hidden_layers": 4}
    solved = solve(
        LLAMA, ["hidden_size", "vocab_size"], params="200_000..300_000", multiple={"hidden_size": 8}
    )
    assert solved[0].values == {"hidden_size": 64, "vocab_size": 320}


def test_one_field_is_solved_over_its_whole_range() -> None:
    (best,) = solve(
        "LlamaForCausalLM", ["vocab_size"], params="70e9", set={"vocab_size": range(1, 10**8)}, top=1
    )
    exact = round((70 * 10**9 - (archspec.load("LlamaForCausalLM").params - 2 * 32000 * 4096)) / (2 * 4096))
    assert best.values == {"vocab_size": exact} and abs(best.params - 70 * 10**9) <= 4096


def test_a_default_range_is_around_the_configs_own_value() -> None:
    found = solve(LLAMA, ["num_hidden_layers"], params=10**9, top=1)
    assert found[0].values == {"num_hidden_layers": 4 * 16}
    found = solve(LLAMA, ["hidden_size"], params=1, multiple={"hidden_size": 8}, top=1)
    assert found[0].values == {"hidden_size": 8}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"ratio": {"hidden_size/num_hidden_layers": "9000..9100"}},
            "no config of the search has hidden_size/num_hidden_layers in 9000..9100",
        ),
        ({"where": "hidden_size < 0"}, "no config of the search has hidden_size < 0"),
        (
            {"params": "..10"},
            "no config of the search has params <= 10: the nearest has 4,556, "
            "at hidden_size = 4, num_hidden_layers = 1",
        ),
        ({"params": "9e15.."}, "no config of the search has params >= 9,000,000,000,000,000"),
        ({"where": "hidden_size % 8 == 1"}, "no config of the search has hidden_size % 8 == 1"),
        (
            {"within": 1, "where": "hidden_size < 5"},
            "hidden_size < 5 stands in the way: without it there is hidden_size",
        ),
        (
            {"params": "..30_000", "where": "num_hidden_layers > 20"},
            "num_hidden_layers > 20 stands in the way: without it there is hidden_size",
        ),
        ({"where": ["hidden_size > 100", "hidden_size < 90"]}, "hidden_size > 100 stands in the way"),
        ({"set": {"hidden_size": [65, 66]}, "multiple": {}}, "every config of the search is refused"),
        ({"params": "1e12", "within": 1}, "nothing comes within 1 % of the budget: the nearest is"),
        ({"params": "1e12", "within": 1}, "hidden_size = 1,024 is the largest of its values"),
    ],
)
def test_without_a_solution_the_constraint_is_named(options: dict[str, Any], message: str) -> None:
    asked = {"params": "250k", "multiple": {"hidden_size": 4}} | options
    with pytest.raises(SweepError) as refusal:
        solve(LLAMA, ["hidden_size", "num_hidden_layers"], **asked)
    assert message in str(refusal.value) and "bug" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7e9", 7 * 10**9),
        ("1.3B", 13 * 10**8),
        ("350M", 35 * 10**7),
        ("2_000", 2000),
        (5, 5),
        (1e3, 1000),
        ("1.5T", 15 * 10**11),
        ("7b", 7 * 10**9),
        ("350m", 35 * 10**7),
        ("7,000,000,000", 7 * 10**9),
    ],
)
def test_sizes_as_people_write_them(text: str | float, size: int) -> None:
    assert size_of(text) == size


def test_bytes_have_units_of_their_own() -> None:
    assert [size_of(text, "bytes") for text in ("16GiB", "16gb", "1 KiB", "7B", "2.5kB")] == [
        2**34,
        16 * 10**9,
        1024,
        7,
        2500,
    ]
    assert goal("bytes", "1GiB") == Goal("bytes", 2**30, None, 2**30) and goal("bytes", "1GiB..2GiB") == Goal(
        "bytes", None, 2**30, 2**31
    )


@pytest.mark.parametrize(
    "text", ["", "x", "-3", "0", "7q", "1.5", "1e99", "nan", "2..1", "..", "1..2..3", "7 e9", "1Gb", "1,2"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(SweepError, match=r"is no size|is no range"):
        goal("params", text)


def test_ratios_are_held_in_whole_numbers() -> None:
    assert ratio_condition("a/b", "1.1..4/3") == "b > 0 and 11 * (b) <= 10 * (a) and 3 * (a) <= 4 * (b)"
    assert ratio_condition("a/(b+c)", "2") == "b + c > 0 and 2 * (b + c) <= (a) and (a) <= 2 * (b + c)"
    assert ratio_condition("a/b", (2, 3)) == ratio_condition("a / b", "2..3")
    assert ratio_condition("a/b", "..3") == "b > 0 and (a) <= 3 * (b)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--free", "hidden_size"], "no budget is given"),
        (["--params", "7e9", "--tolerance", "-1"], "a tolerance of -1 % of the budget is out of range"),
        (["--params", "7Gb"], "7Gb is no size"),
        (["--params", "7,00,000"], "7,00,000 is no size"),
        (["--params", "7x", "--free", "hidden_size"], "7x is no size"),
        (["--params", "7e9", "--free", "hiden_size"], "did you mean hidden_size?"),
        (
            ["--params", "7e9", "--free", "hidden_size", "--multiple", "vocab_size=8"],
            "vocab_size is not free",
        ),
        (
            ["--params", "7e9", "--free", "hidden_size", "--multiple", "hidden_size=0"],
            "is not a positive whole number",
        ),
        (["--params", "7e9", "--free", "hidden_size", "--ratio", "hidden_size=3..4"], "is no ratio"),
        (
            ["--params", "7e9", "--free", "hidden_size", "--ratio", "hidden_size/vocab_size=x"],
            "x is no number",
        ),
        (["--params", "7e9", "--free", "hidden_size", "--ratio", "hidden_size/vocab_size"], "there is no ="),
        (["--params", "7e9", "--free", "pad_token_id"], "says nothing on how large it may be"),
        (["--params", "7e9", "--free", "hidden_size,hidden_size"], "hidden_size is free twice"),
        (["--params", "7e9", "--free", "dtype"], "dtype is no size that is chosen"),
        (["--params", "7e9", "--free", "tie_word_embeddings"], "--set tie_word_embeddings=true,false"),
        (
            ["--params", "7e9", "--free", "hidden_size", "--within", "-1"],
            "within -1 % of the budget is out of range",
        ),
        (
            ["--params", "7e9", "--free", "hidden_size", "--within", "nan"],
            "within: nan is not a number",
        ),
        (
            ["--params", "7e9", "--free", "hidden_size", "--ratio", "hidden_size/nosuch=1..2"],
            "nosuch is neither",
        ),
        (["--params", "7e9", "--free", "hidden_size", "--where", ""], "there is no expression"),
        (["--params", "7e9", "--free", "hidden_size", "--top", "0"], "0 solutions are not listed"),
        (
            [
                "--params",
                "7e9",
                "--free",
                "hidden_size",
                "--set",
                "hidden_size=1:5",
                "--multiple",
                "hidden_size=8",
            ],
            "no value that is a multiple of 8",
        ),
        (
            ["--params", "7e9", "--free", "hidden_size,num_attention_heads", "--set", "hidden_size=1:900000"],
            "no field to solve for",
        ),
        (["--bytes", "1GiB", "--dtype", "int3", "--free", "hidden_size"], "int3 is not a dtype"),
        (["--params", "7e9", "--free", "hidden_size", "--out", "/proc/nowhere"], "/proc/nowhere"),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "LlamaForCausalLM", *options]) == 2
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said and "bug" not in said


def test_budgets_are_those_of_the_registry() -> None:
    with pytest.raises(ArchspecError, match="no argument buffers\nhelp: known here: active_params, batch, "):
        solve("LlamaForCausalLM", "hidden_size", buffers="1e6")


def test_a_dtype_is_written_as_torch_spells_it() -> None:
    found = solve("BertModel", "num_hidden_layers", bytes="200MiB", dtype="fp8", top=1)
    assert found[0].config["dtype"] == "float8_e4m3fn"


def test_the_command_prints_and_writes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = [
        "--params",
        "7e9",
        "--free",
        "hidden_size,num_hidden_layers",
        "--multiple",
        "hidden_size=128",
        "--top",
        "2",
    ]
    options += [
        "--ratio",
        "hidden_size/num_hidden_layers=100..140",
        "--tie",
        "intermediate_size=8*hidden_size//3",
    ]
    assert main(["solve", "LlamaForCausalLM", *options, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["rank", "hidden_size", "num_hidden_layers", "params", "off", "config"]
    assert said[1].split() == [
        "1",
        "3,840",
        "38",
        "6,970,049,280",
        "0.428%",
        str(tmp_path / "1" / "config.json"),
    ]
    for rank in (1, 2):
        path = tmp_path / str(rank) / "config.json"
        assert archspec.load(str(path)).params == int(said[rank].split()[3].replace(",", ""))
    assert main(["solve", "LlamaForCausalLM", *options, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["solutions"]
    assert (
        listed[0]["config"] == json.loads((tmp_path / "1" / "config.json").read_text())
        and listed[0]["params"] == 6970049280
    )


BUILT: list[tuple[str, list[str], dict[str, Any]]] = [
    (
        "LlamaForCausalLM",
        ["hidden_size", "num_hidden_layers", "intermediate_size"],
        {"params": "7e9", "multiple": {"hidden_size": 128}},
    ),
    (
        "BertForMaskedLM",
        ["hidden_size", "num_hidden_layers"],
        {"params": "100M", "multiple": {"hidden_size": 12}},
    ),
    (
        "GPT2LMHeadModel",
        ["n_embd", "n_layer"],
        {"bytes": "1GiB", "dtype": "bf16", "multiple": {"n_embd": 64}, "tie": {"n_head": "n_embd // 64"}},
    ),
    (
        "T5ForConditionalGeneration",
        ["d_model", "num_layers"],
        {"params": "200M", "multiple": {"d_model": 64}, "tie": {"num_decoder_layers": "num_layers"}},
    ),
    (
        "MixtralForCausalLM",
        ["num_local_experts", "num_hidden_layers"],
        {"params": "30e9", "active_params": "9e9"},
    ),
    (
        "Gemma2ForCausalLM",
        ["hidden_size", "num_hidden_layers"],
        {"params": "2B", "multiple": {"hidden_size": 256}},
    ),
    (
        "DeepseekV3ForCausalLM",
        ["num_hidden_layers", "n_routed_experts"],
        {"params": "100e9", "multiple": {"n_routed_experts": 32}},
    ),
    ("JambaForCausalLM", ["hidden_size"], {"params": "20e9", "multiple": {"hidden_size": 256}}),
    (
        "CLIPModel",
        ["text_config.hidden_size", "vision_config.num_hidden_layers"],
        {"params": "150M", "multiple": {"text_config.hidden_size": 64}},
    ),
    (
        "ViTForImageClassification",
        ["hidden_size", "num_labels"],
        {"params": "86M", "multiple": {"hidden_size": 12}, "set": {"num_labels": "2:1000"}},
    ),
    ("WhisperForConditionalGeneration", ["d_model"], {"params": "70M", "multiple": {"d_model": 12}}),
    ("Wav2Vec2Model", ["num_hidden_layers", "intermediate_size"], {"params": "95M"}),
    ("LlamaForCausalLM", [], {"params": "1b", "set": {"num_key_value_heads": 4}}),
    ("DeepseekV3ForCausalLM", [], {"params": "100b"}),
    ("T5ForConditionalGeneration", [], {"params": "200M"}),
    ("BartForConditionalGeneration", [], {"params": "400M"}),
    ("Mamba2ForCausalLM", [], {"params": "2.7b"}),
    ("JambaForCausalLM", [], {"params": "20b"}),
    ("Glm4vForConditionalGeneration", [], {"params": "20b"}),
]


def built(solution: Solution, folder: Path) -> int:
    """The parameters of the class that transformers builds from a written config, read as transformers reads
    it.
    """
    import torch
    import transformers

    path = solution.save(str(folder))
    config = transformers.AutoConfig.from_pretrained(os.path.dirname(path))
    with torch.device("meta"):
        model = getattr(transformers, solution.config["architectures"][0])(config)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.reference
@pytest.mark.parametrize(("architecture", "free", "options"), BUILT)
def test_transformers_builds_what_is_written(
    architecture: str, free: list[str], options: dict[str, Any], tmp_path: Path
) -> None:
    for rank, solution in enumerate(solve(architecture, free, top=2, **options)):
        assert built(solution, tmp_path / str(rank)) == solution.params
        assert solution.config["model_type"] and solution.config["transformers_version"]


@pytest.mark.parametrize("model_type", shipped().model_types())
def test_every_config_is_written_whole(model_type: str) -> None:
    spec = shipped().load(model_type)
    sampler = Sampler(spec, seed=3)
    for raw in [{"model_type": model_type}, *(sampler.sample() for _ in range(4))] if not spec.refuse else []:
        for architecture in spec.architectures[:2]:
            try:
                model = archspec.load(raw, architecture)
                params = model.params
            except ArchspecError:
                continue
            written = json.loads(json.dumps(complete(model, "bfloat16")))
            read = archspec.load(written)
            assert (read.params, read.active_params, read.architecture) == (
                params,
                model.active_params,
                architecture,
            )
            set_by_transformers = {*spec.fixed, *spec.readonly}
            own = {name for name, field in spec.fields.items() if not field.computed} - set_by_transformers
            # EdgeTAM's default timm model has no num_classes, which transformers demands of a written one
            own = set() if model_type in ("edgetam", "edgetam_vision_model") else own
            assert len(raw) > 1 or own <= {*written, *(name for name in own if model.scope.get(name) is None)}
            assert read.params_bytes() == 2 * params and set(written) >= {
                "architectures",
                "model_type",
                "transformers_version",
            }


@pytest.mark.reference
@pytest.mark.slow
@pytest.mark.parametrize(
    "model_type", [name for name in shipped().model_types() if not shipped().load(name).refuse]
)
def test_transformers_builds_what_is_written_of_every_model_type(model_type: str, tmp_path: Path) -> None:
    import torch
    import transformers

    from archspec.reference.classes import config_class

    spec, tried = shipped().load(model_type), 0
    sampler = Sampler(spec, seed=7)
    known = [name for name in spec.architectures if hasattr(transformers, name)][-1:]
    for architecture, raw in [(name, sampler.sample()) for name in known for _ in range(6)]:
        try:
            model = archspec.load(raw, architecture)
            params = model.params
        except ArchspecError:
            continue
        written = complete(model)
        if model_type in ("timm_wrapper", "gemma3n_vision"):  # of timm's files only num_classes is read
            written["num_classes"] = model.scope.get("num_labels")
        (tmp_path / "config.json").write_text(json.dumps(written))
        config = config_class(model_type).from_pretrained(tmp_path)
        with torch.device("meta"):
            instance = getattr(transformers, architecture)(config)
        assert sum(parameter.numel() for parameter in instance.parameters()) == params
        tried += 1
        if tried == 2:
            return


def test_a_config_file_keeps_what_it_says(tmp_path: Path) -> None:
    own = {
        **LLAMA,
        "rope_theta": 500000.0,
        "torch_dtype": "bfloat16",
        "bos_token_id": 1,
        "hidden_act": "silu",
        "_name_or_path": "x",
    }
    (solution,) = solve(own, ["num_hidden_layers"], params=300_000, top=1)
    for name in ("rope_theta", "torch_dtype", "bos_token_id", "hidden_act", "num_attention_heads"):
        assert solution.config[name] == own[name]
    assert (
        solution.bytes == 2 * solution.params
        and solution.config["num_hidden_layers"] == solution.values["num_hidden_layers"]
    )
