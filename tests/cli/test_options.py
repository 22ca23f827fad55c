"""Options: how they are read, their help and examples, and that each has an effect or is refused by name."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Command, Done
from hypothesis import given
from hypothesis import strategies as st
from written import write_checkpoint

from archspec.cli import command_line
from archspec.cli.command_line import Values, command_options
from archspec.errors import ArchspecError
from archspec.tables.verbs import VERBS

ROOT = Path(__file__).parents[2]
TITLES = ("positional arguments", "options", "model", "output")
OPTIONS = "config.json - -- -1 -h --json --set a=1 --set=a=2 --dtype bf16 --architecture --depth 3"
NAMES = "--quantity params --by module --table --leading"
WORDS = st.sampled_from(["two words", "", *OPTIONS.split(), *NAMES.split()])


def parsed(verb: str, line: list[str]) -> dict[str, object] | None:
    """Return what argparse reads; None for a line that it refuses."""
    options = command_options(verb)
    try:
        found = vars(command_line.parser_of(verb).parse_args(line, Values()))
    except (SystemExit, ArchspecError):
        return None
    given = {*found} - {option.name for option in options if option.positional}
    return {**command_line._defaults(options), **found, "given": given}


def plain(verb: str, line: list[str]) -> dict[str, object] | None:
    """Return what is read without argparse; None for a line that is left to it."""
    found = command_line._read_plain(command_options(verb), line)
    return None if found is None else vars(found)


@given(st.sampled_from(sorted(VERBS)), st.lists(WORDS, max_size=6))
def test_plain_lines_are_read_as_argparse_reads_them(verb: str, line: list[str]) -> None:
    found = plain(verb, line)
    assert found is None or found == parsed(verb, line)


@pytest.mark.parametrize(
    ("line", "is_plain"),
    [
        *((line, True) for line in ("a", "a --json", "--set b=1 a --set c=2")),
        ("--dtype bf16 --architecture A a", True),
        *((line, False) for line in ("", "a b", "--help", "a --set", "a --set=b=1")),
        *((line, False) for line in ("a --dtype -x", "a --no")),
    ],
)
def test_which_lines_are_plain(line: str, is_plain: bool) -> None:
    found = plain("count", line.split())
    assert (found is not None) == is_plain and (not is_plain or found == parsed("count", line.split()))


def example(line: str) -> Any:
    needs_reference = line.split()[0] in ("verify", "derive")
    return pytest.param(line, marks=[pytest.mark.reference] if needs_reference else [])


EXAMPLES = [line for verb in VERBS.values() for line in verb.examples if "my_package" not in line]


@pytest.mark.parametrize("line", [*map(example, EXAMPLES)])
def test_every_example_works(line: str, folder: Path, cli: Command) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertModel"]}))
    (folder / "specs").mkdir()
    shutil.copy(ROOT / "formulas" / "bert.yaml", folder / "specs")
    write_checkpoint(folder / "checkpoint", {"model_type": "bert", "architectures": ["BertModel"]})
    shutil.copy(folder / "checkpoint" / "model.safetensors", folder)
    done = cli(shlex.split(line), code=None)
    assert done.code in (0, 1) and done.out


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = cli(verb, "--help").out
    assert cli("help", verb).out == shown and shown.startswith(f"usage: archspec {verb} ")
    assert f"  {verb} " in cli("--help").out
    before, _, examples = shown.partition("\nexamples:\n")
    assert max(map(len, before.splitlines())) <= 80
    assert examples.split("\n  ")[-1].strip() == f"archspec {VERBS[verb].examples[-1]}"
    titles = re.findall(r"^(positional arguments|options|model|output):$", before, re.MULTILINE)
    assert titles == [title for title in TITLES if title in titles]
    terms = "\n".join(VERBS[verb].terms)
    assert "output" in titles and all(f"\n{term}: " in before for term in terms.splitlines())
    assert "-h, --help " in before


SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
CONFIGS = {
    "llama": {"num_key_value_heads": 2, "vocab_size": 300, "architectures": ["LlamaForCausalLM"]},
    "bert": {"vocab_size": 300, "architectures": ["BertModel"]},
    "vit": {"architectures": ["ViTModel"]},
}
TRIED = """
    --architecture LlamaModel BertForMaskedLM ViTForImageClassification
    --set tie_word_embeddings=true hidden_size=128 num_hidden_layers=0 num_hidden_layers=1,2
    --dtype float32 bf16 --depth 1 2 0 4 --quantity flops embedding_params
    --assume intermediate_size=4*hidden_size --format latex markdown github --by module layer
    --collect hidden_size --leading vocab_size num_hidden_layers
    --env equation --width 16 --symbol hidden_size=q
    --batch 3 --past 5 --tokens 7 1e6 --encoder-tokens 9 11 --new-encoder-tokens 9
    --memory 9 1MB --weights gptq bf16 Q8_0 nf4 --group-size 32
    --budget 80GiB --optimizer sgd_momentum --attention eager --zero 1
    --data-parallel 2 --tensor-parallel 2 --pipeline-parallel 2 --expert-parallel 2
    --config llama.json --set-a vocab_size=7 --set-b hidden_size=128 --columns params,bytes flops
    --tie intermediate_size=2*hidden_size --where hidden_size<100 --out out.csv out --plot out.svg
    --kind pareto lines --log xy --overlay bert.json --sql spark --table markdown other --rows 1
    --params 60k --active-params 60k --non-embedding-params 60k --bytes 100000 --flops 1e12
    --compute 1e15 --law kaplan --sequence 77 --free hidden_size --tolerance 0 30 --within 0.4 0.01 --top 1
    --multiple hidden_size=96 intermediate_size=56 --ratio hidden_size/num_hidden_layers=60..61
    --image 32x32 --video 4@32x32 --audio 3000f --text 5 --freeze tower
    --adapter adapter.json --rank 4 --target k_proj all-linear --exclude v_proj value 0.self_attn.q_proj
    --save norm pooler --target-parameters up_proj.weight,dense.weight --layers 1
    --rank-pattern q_proj=2 query=2 --dora --lora-bias
    --schema --json --processed --last --train --checkpointing --standalone --piecewise --wide
"""
VALUES = {  # some value of each option has an effect wherever the option has any
    option: values.split() or [""] for option, values in re.findall(r"(--[a-z-]+)((?: +[^- ]\S*)*)", TRIED)
}
BY_DESIGN = {  # changes nothing in a line of this test
    "--json-schema": "prints the schema of the verb, as --help prints its help",
    "--yes": "agrees to what would take too long, or too much of the disk",
    "--bias": "has an effect if a layer has a bias: see tests/adapters",
    "--task-type": "has an effect if the class has a head that peft knows by name: see tests/adapters",
    "--specs": "has an effect if a folder has another spec of the class",
    "--notation": "has an effect if the file has another symbol",
    "--csv-safe": "has an effect if a text starts with =, +, - or @: see test_columns.py",
    "--overwrite": "has an effect if the file exists: see test_inputs.py",
}
COLUMNS = ("bytes", "flops", "cache_bytes,params")  # LlamaModel has the cache of LlamaForCausalLM
MORE = {  # contexts in which other options have an effect
    "formula": (
        *("", "--format latex", "--format python", "--json", "--piecewise", "--by module"),
        *("--table markdown", "--collect hidden_size", "--leading hidden_size", "--quantity flops"),
    ),
    "cache": ("", "--budget 80GiB"),
    "table": ("", *(f"--columns {one}" for one in (*COLUMNS, "L"))),
    "sweep --set hidden_size=64,128": (
        *("", *(f"--columns {one}" for one in COLUMNS), "--json", "--out out.csv", "--sql"),
        "--set num_hidden_layers=1,2 --plot out.svg",
    ),
    "solve": ("--params 1m", "--bytes 2m", "--memory 4MB", "--compute 1e14"),
}
LINES: dict[str, list[str]] = {
    "count": ["llama.json", "vit.json"],
    "tree": ["llama.json"],
    "tensors": ["llama.json"],
    "lora": [
        *("llama.json", "bert.json", "llama.json --target q_proj --tokens 8"),
        *("llama.json --train", "llama.json --train --tokens 8 --dtype bf16"),
    ],
    "flops": ["llama.json", "bert.json --tokens 20", "vit.json --image 640x480"],
    "memory": ["llama.json", "bert.json --tokens 20", *(f"{one}.json --train" for one in CONFIGS)],
    "sensitivity": ["llama.json"],
    "diff": ["llama.json bert.json", "llama.json bert.json --tokens 20"],
    "check": ["checkpoint"],
    "list": ["bert"],
    "lint": ["llama.yaml"],
}  # verify and derive are in the last test: what they do takes transformers
for line, options in MORE.items():
    name, _, rest = line.partition(" ")
    LINES[name] = [f"llama.json {rest} {more}" for more in options]
CASES = [(verb, line) for verb, lines in LINES.items() for line in lines]


@pytest.fixture
def configs(folder: Path) -> Path:
    for name, own in CONFIGS.items():
        (folder / f"{name}.json").write_text(json.dumps({"model_type": name, **SIZES, **own}))
    shutil.copy(ROOT / "formulas" / "llama.yaml", folder)
    write_checkpoint(folder / "checkpoint", {"model_type": "llama", **SIZES, "vocab_size": 200})
    (folder / "adapter.json").write_text(json.dumps({"peft_type": "LORA", "r": 2}))
    return folder


def take_files(folder: Path) -> dict[str, bytes]:
    """Return what a command wrote, and delete it."""
    found = {}
    for path in folder.glob("out*"):
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        found[path.name] = b"".join(one.read_bytes() for one in files if one.is_file())
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return found


def result(done: Done, option: str) -> tuple[int, str]:
    """Return the exit code and the output without the line that repeats an option."""
    name = option.removeprefix("--").replace("-", " ")
    repeated = rf"(?m)^({name}|ranks) .*\n" if name != "architecture" else r"^$"
    return done.code, re.sub(repeated, "", done.out)


def flags(verb: str) -> list[str]:
    return [option.flag for option in command_options(verb) if not option.positional]


def test_all_verbs_and_options_are_tried() -> None:
    assert {*LINES, "verify", "derive"} == {*VERBS}
    assert {option for verb in LINES for option in flags(verb)} - {*VALUES, *BY_DESIGN} == set()


@pytest.mark.parametrize(("verb", "line"), CASES, ids=[f"{verb} {line}" for verb, line in CASES])
def test_an_option_has_an_effect_or_is_refused(verb: str, line: str, configs: Path, cli: Command) -> None:
    given = [verb, *line.split()]
    usual, usual_files = cli(given, code=None), take_files(configs)
    assert usual.code in (0, 1), usual.err
    idle = []
    for option in flags(verb):
        if option in BY_DESIGN or (option in given and option != "--set"):
            continue
        tries = ((cli([*given, option, *v.split()], code=None), take_files(configs)) for v in VALUES[option])
        ended = ((result(done, option), files) for done, files in tries if done.code != 2)
        effects = (one != (result(usual, option), usual_files) for one in ended)
        if not next(effects, True) and not any(effects):
            idle.append(option)
    assert idle == []


OF_TRAINING = (
    *("--tensor-parallel 8", "--pipeline-parallel 2", "--expert-parallel 2", "--data-parallel 2", "--zero 0"),
    *("--optimizer adamw", "--attention eager", "--attention flash", "--checkpointing"),
)
OF_INFERENCE = "--past 0", "--last", "--weights nf4"
REFUSED = {  # line -> the option that is named
    **{f"memory llama.json {option}": option.split()[0] for option in OF_TRAINING},
    **{f"memory llama.json --train {option}": option.split()[0] for option in OF_INFERENCE},
    "memory llama.json --train --zero 0": "--zero",
    "memory llama.json --train --data-parallel 4": "--data-parallel",
    "memory vit.json --train --tokens 64": "tokens",
    "memory bert.json --tokens 20 --last": "last",
    "flops bert.json --tokens 20 --encoder-tokens 9": "--encoder-tokens",
    "cache llama.json --weights nf4": "weights",
    "formula llama.json --depth 1": "--depth",
    "formula llama.json --by layer --depth 2": "--depth",
    "formula llama.json --collect hidden_size --by layer": "--by",
    "formula llama.json --json --format python": "--format",
    "formula llama.json --format python --symbol hidden_size=q": "--symbol",
    "formula llama.json --env equation --format python": "--env",
    "table llama.json --tokens 2048": "tokens",
    "table llama.json --columns flops --dtype bf16": "dtype",
    "sweep llama.json --set hidden_size=64,128 --tokens 5": "tokens",
    "sweep llama.json --set hidden_size=64,128 --kind auto": "--kind",
    "sweep llama.json --set hidden_size=64,128 --wide": "--wide",
    "sweep llama.json --set hidden_size=64,128 --json --rows 2": "--rows",
    "solve llama.json --params 100k --batch 1": "--batch",
    "solve llama.json --params 100k --sequence 64": "--sequence",
    "solve llama.json --params 100k --dtype bf16": "--dtype",
    "diff llama.json bert.json --batch 2": "batch",
    "diff llama.json bert.json --json --format markdown": "--format",
    "check checkpoint --json --format github": "--format",
    "lint llama.yaml --schema": "--schema",
    "derive GPT2Model --no-verify --seed 1": "--seed",
    "verify GPT2Model --formulas": "--formulas",
    "verify GPT2Model --output drafts": "--output",
    "verify GPT2Model --check": "--check",
    "verify --check": "--check",
    "verify GPT2Model --jobs 0": "--jobs",
    "verify GPT2Model --coverage": "--coverage",
    "verify --costs --check --samples 2": "--samples",
    "verify --coverage --changed": "--changed",
}


@pytest.mark.parametrize("line", REFUSED)
def test_an_option_without_effect_is_refused_by_name(line: str, configs: Path, cli: Command) -> None:
    done = cli(line, code=2)
    assert not done.out and "help: " in done.err
    assert REFUSED[line] in done.err.partition("help: ")[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-v", "unknown option '-v'\nhelp: choose from: --help, --print-completion, --version"),
        ("--hlep", "unknown option '--hlep'\nhelp: did you mean --help?"),
        ("--json count gpt2", "--json precedes the command\nhelp: write archspec count … --json"),
        ("count gpt2 bert", "unexpected argument 'bert'\nhelp: run archspec count --help"),
        ("count", "missing CONFIG|ARCH\nhelp: pass it, e.g. archspec count config.json"),
        ("count gpt2 --sett n_layer=3", "unknown option '--sett'\nhelp: did you mean --set?"),
        ("cache gpt2 --batch 1k", "--batch must be an integer, not '1k'\nhelp: write e.g. --batch 8"),
        ("solve gpt2 --within x", "--within must be a number, not 'x'\nhelp: write e.g. --within 2.5"),
        ("cache gpt2 --budget", "--budget needs a value\nhelp: write --budget BYTES"),
        ("diff gpt2 bert --format x", "--format: unknown value 'x'\nhelp: choose from: text, markdown"),
        (
            "memory gpt2 --past -1",
            "--past must be an integer of at least 0, not -1\nhelp: pass --past 0 or more",
        ),
    ],
)
def test_errors_of_the_command_line_have_a_help_line(line: str, message: str, cli: Command) -> None:
    assert cli(*line.split(), code=2).err == f"{message}\n"
