"""`archspec solve` and `archspec.solve`: results, notes, errors, and configs that transformers builds."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError, SweepError
from archspec.solving.solutions import complete
from archspec.solving.solve import solve
from archspec.specs.library import shipped_library
from archspec.verifying.generate.sampling import Sampler

SIZES = {"hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 4, "num_attention_heads": 4}
LLAMA = {**SIZES, "vocab_size": 320, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
RATIO, NEAREST = "hidden_size/num_hidden_layers", "without this limit the nearest is"
WIDTH = "--params 7e9 --free hidden_size"


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        ({}, []),
        ({"bytes": 100_000}, ["relax bytes <= 100,000: without it, hidden_size = "]),
        ({"where": "hidden_size < 5"}, ["relax hidden_size < 5: without it, hidden_size = "]),
        ({"params": 1}, ["allow smaller values with set; the smallest in this search: hidden_size = 4"]),
        ({"active_params": "100k"}, ["every parameter is active"]),
        ({"multiple": {"hidden_size": 64}}, ["to get closer, choose smaller steps"]),
    ],
)
def test_notes_explain_a_large_miss(options: dict[str, Any], notes: list[str]) -> None:
    asked: dict[str, Any] = {"params": "250k", "multiple": {"hidden_size": 4}, "dtype": "fp32"} | options
    found = solve(LLAMA, ["hidden_size", "num_hidden_layers"], top=1, tolerance=0, **asked)
    assert len(found.notes) == len(notes), found.notes
    assert all(note.startswith(start) for note, start in zip(found.notes, notes, strict=True)), found.notes
    assert bool(found.notes) == (found[0].miss > Fraction(1, 20))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": {RATIO: "9000..9100"}}, f"{RATIO} in 9000..9100; {NEAREST}"),
        ({"where": "hidden_size < 0"}, f"hidden_size < 0; {NEAREST}"),
        ({"where": "hidden_size % 8 == 1"}, f"hidden_size % 8 == 1; {NEAREST}"),
        ({"params": "..10"}, f"{NEAREST} hidden_size = 4, num_hidden_layers = 1 with params = 4,556"),
        ({"params": "..10"}, f"params <= 10; {NEAREST}"),
        ({"params": "9e15.."}, f"params >= 9,000,000,000,000,000; {NEAREST}"),
        ({"within": 1, "where": "hidden_size < 5"}, "relax hidden_size < 5: without it, hidden_size"),
        ({"params": "..30_000", "where": "num_hidden_layers > 20"}, f"num_hidden_layers > 20; {NEAREST}"),
        ({"where": ["hidden_size > 100", "hidden_size < 90"]}, f"hidden_size > 100; {NEAREST}"),
        ({"where": ["hidden_size < 0", "num_hidden_layers < 0"]}, "the constraints contradict each other"),
        ({"set": {"hidden_size": [65, 66]}, "multiple": {}}, "no config in the search is valid"),
        ({"params": "1e12", "within": 1}, "no config is within 1% of the budget; the nearest deviates"),
        (
            {"params": "1e12", "within": 1},
            "allow larger values with set; the largest in this search: hidden_size = 1,024",
        ),
    ],
)
def test_errors_name_the_obstacle(options: dict[str, Any], message: str) -> None:
    asked = {"params": "250k", "multiple": {"hidden_size": 4}} | options
    with pytest.raises(SweepError) as refusal:
        solve(LLAMA, ["hidden_size", "num_hidden_layers"], **asked)
    assert message in str(refusal.value) and "bug" not in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--free hidden_size", "no budget is given"),
        ("--params 7e9 --tolerance -1", "--tolerance must be a percentage from 0 to 1,000,000,000, not -1"),
        ("--params 7Gb", "--params: 7Gb is not a number of parameters"),
        ("--params 7GB", "--params: 7GB is not a number of parameters"),
        ("--params 7e9 --free hidden_act", "--free: hidden_act is not a number\nhelp: leave out hidden_act"),
        ("--params 7e9 --free foo", "--free: llama has no field foo"),
        ("--params 7,00,000", "7,00,000 is not a number of parameters"),
        ("--params 7e9 --free hiden_size", "did you mean hidden_size?"),
        (f"{WIDTH} --multiple vocab_size=8", "vocab_size is not in --free"),
        (f"{WIDTH} --multiple hidden_size=0", "is not a positive 64-bit integer"),
        (f"{WIDTH} --ratio hidden_size=3..4", "is not a ratio"),
        (f"{WIDTH} --ratio hidden_size/vocab_size=x", "x is not a number"),
        (f"{WIDTH} --ratio hidden_size/vocab_size", "= is missing"),
        (f"{WIDTH} --ratio hidden_size/nosuch=1..2", "nosuch is not a config field"),
        ("--params 7e9 --free pad_token_id", "so its range is unknown"),
        (f"{WIDTH},hidden_size", "--free: hidden_size is listed twice"),
        ("--params 7e9 --free dtype", "dtype is not a size"),
        ("--params 7e9 --free tie_word_embeddings", "--set tie_word_embeddings=true,false"),
        (
            f"{WIDTH} --within -1",
            "--within must be a percentage from 0 to 1,000,000,000, not -1",
        ),
        (f"{WIDTH} --within nan", "within: nan is not a number"),
        (f"{WIDTH} --where ", "is empty"),
        (f"{WIDTH} --top 0", "--top must be from 1 to 1,000, not 0"),
        (
            f"{WIDTH} --set hidden_size=1:5 --multiple hidden_size=8",
            "no value that is a multiple of 8",
        ),
        (
            f"{WIDTH},num_attention_heads --set hidden_size=1:900000",
            "the search has too many configs, 459,900,000",
        ),
        ("--bytes 1GiB --dtype int3 --free hidden_size", "unknown dtype 'int3'"),
        (f"{WIDTH} --out /proc/nowhere", "/proc/nowhere"),
    ],
)
def test_wrong_options_are_refused(options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "LlamaForCausalLM", *options.split(" ")]) == 2
    printed = capsys.readouterr().err
    assert message in printed and "Traceback" not in printed and "bug" not in printed


def test_the_command_prints_and_writes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = "--params 7e9 --free hidden_size,num_hidden_layers --multiple hidden_size=128 --top 2 --ratio "
    options += "hidden_size/num_hidden_layers=100..140 --tie intermediate_size=8*hidden_size//3"
    line = ["solve", "LlamaForCausalLM", *options.split()]
    assert main([*line, "--out", str(tmp_path)]) == 0
    printed = [row.split() for row in capsys.readouterr().out.splitlines()]
    path = str(tmp_path / "1" / "config.json")
    assert printed[0] == ["rank", "hidden_size", "num_hidden_layers", "params", "error", "config"]
    assert printed[1] == ["1", "3,840", "38", "6,970,049,280", "0.428%", path]
    for rank in (1, 2):
        written = archspec.load(str(tmp_path / str(rank) / "config.json"))
        assert written.params == int(printed[rank][3].replace(",", ""))
    assert main([*line, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["solutions"]
    assert listed[0]["config"] == json.loads(Path(path).read_text())
    assert listed[0]["params"] == 6970049280


def test_solutions_are_a_list_with_a_table() -> None:
    found = solve("BertForMaskedLM", params="110M", top=2)
    assert len(found) == len([*found]) == 2 and str(found).startswith("rank  hidden_size")
    assert str(found[0]).startswith("hidden_size = 768, num_hidden_layers = 12")
    assert "<th" in found._repr_html_() and "'config'" not in repr(found)
    assert found.as_json()["solutions"][0]["params"] == found[0].params


def test_a_dtype_is_written_as_torch_spells_it() -> None:
    found = solve("BertModel", "num_hidden_layers", bytes="200MiB", dtype="fp8", top=1)
    assert found[0].config["dtype"] == "float8_e4m3fn"


BUILT = [
    "LlamaForCausalLM --free hidden_size,num_hidden_layers,intermediate_size --params 7e9 "
    "--multiple hidden_size=128",
    "BertForMaskedLM --free hidden_size,num_hidden_layers --params 100M --multiple hidden_size=12",
    "GPT2LMHeadModel --free n_embd,n_layer --bytes 1GiB --dtype bf16 --multiple n_embd=64 "
    "--tie n_head=n_embd//64",
    "T5ForConditionalGeneration --free d_model,num_layers --params 200M --multiple d_model=64 "
    "--tie num_decoder_layers=num_layers",
    "MixtralForCausalLM --free num_local_experts,num_hidden_layers --params 30e9 --active-params 9e9",
    "Gemma2ForCausalLM --free hidden_size,num_hidden_layers --params 2B --multiple hidden_size=256",
    "DeepseekV3ForCausalLM --free num_hidden_layers,n_routed_experts --params 100e9 "
    "--multiple n_routed_experts=32",
    "JambaForCausalLM --free hidden_size --params 20e9 --multiple hidden_size=256",
    "CLIPModel --free text_config.hidden_size,vision_config.num_hidden_layers --params 150M "
    "--multiple text_config.hidden_size=64",
    "ViTForImageClassification --free hidden_size,num_labels --params 86M --multiple hidden_size=12 "
    "--set num_labels=2:1000",
    "WhisperForConditionalGeneration --free d_model --params 70M --multiple d_model=12",
    "Wav2Vec2Model --free num_hidden_layers,intermediate_size --params 95M",
    "LlamaForCausalLM --params 1b --set num_key_value_heads=4",
    "DeepseekV3ForCausalLM --params 100b",
    *("T5ForConditionalGeneration --params 200M", "BartForConditionalGeneration --params 400M"),
    *("Mamba2ForCausalLM --params 2.7b", "JambaForCausalLM --params 20b"),
    "Glm4vForConditionalGeneration --params 20b",
]


@pytest.mark.reference
@pytest.mark.parametrize("line", BUILT)
def test_transformers_builds_what_is_written(line: str, folder: Path, cli: Command) -> None:
    import torch
    import transformers

    for found in cli(f"solve {line} --top 2 --out found --json").json["solutions"]:
        config = transformers.AutoConfig.from_pretrained(folder / os.path.dirname(found["path"]))
        with torch.device("meta"):
            model = getattr(transformers, found["config"]["architectures"][0])(config)
        assert sum(parameter.numel() for parameter in model.parameters()) == found["params"]
        assert found["config"]["model_type"] and found["config"]["transformers_version"]


@pytest.mark.parametrize("model_type", shipped_library().model_types())
def test_every_config_is_written_in_full(model_type: str) -> None:
    spec = shipped_library().load(model_type)
    sampler = Sampler(spec, seed=3)
    for raw in [{"model_type": model_type}, sampler.sample()] if not spec.refuse else []:
        for architecture in spec.architectures[:2]:
            try:
                model = archspec.load(raw, architecture)
                params = model.params
            except ArchspecError:
                continue
            written = json.loads(json.dumps(complete(model, "bfloat16")))
            read = archspec.load(written)
            counted = (read.params, read.active_params, read.architecture)
            assert counted == (params, model.active_params, architecture)
            set_by_transformers = {*spec.fixed, *spec.readonly}
            own = {name for name, field in spec.fields.items() if not field.computed} - set_by_transformers
            # EdgeTAM's default timm model has no num_classes, which transformers demands of a written one
            own = set() if model_type in ("edgetam", "edgetam_vision_model") else own
            assert len(raw) > 1 or own <= {*written, *(name for name in own if model.scope.get(name) is None)}
            assert read.params_bytes() == 2 * params
            assert written.keys() >= {"architectures", "model_type", "transformers_version"}


@pytest.mark.reference
@pytest.mark.slow
@pytest.mark.parametrize(
    "model_type",
    [name for name in shipped_library().model_types() if not shipped_library().load(name).refuse],
)
def test_transformers_builds_what_is_written_of_every_model_type(model_type: str, tmp_path: Path) -> None:
    import torch
    import transformers

    from archspec.reference.classes import config_class

    spec, tried = shipped_library().load(model_type), 0
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


def test_a_config_file_keeps_its_other_fields() -> None:
    own = {"rope_theta": 500000.0, "torch_dtype": "bfloat16", "bos_token_id": 1, "_name_or_path": "x"}
    own |= {"hidden_act": "silu", "num_attention_heads": 4}
    (solution,) = solve({**LLAMA, **own}, ["num_hidden_layers"], params=300_000, top=1)
    assert solution.config.items() >= (own | solution.values).items()
    assert solution.bytes == 2 * solution.params
