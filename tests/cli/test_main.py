"""The command: exit codes, outputs that are closed or full, and text that does not steer a terminal."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import archspec
from archspec.cli.main import command, main

ROOT = str(Path(archspec.__file__).parents[1])


def run(line: str, redirected: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a shell; its outputs are buffered, as they are for users."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    shell = ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m archspec {line} {redirected}"]
    env |= {"PYTHONPATH": ROOT, **environment}
    return subprocess.run(shell, capture_output=True, text=True, timeout=600, check=False, env=env)


@pytest.mark.parametrize(
    "line",
    [
        *("count", "count nowhere/config.json", "count BertModel --set hidden_size"),
        *(f"count BertModel --set {field}" for field in ("hidden_size=-1", "hidden_size=a", "hiden_size=4")),
        *("count BertModel --architecture GPT2Model", "count BertModel --no-such-option"),
        *("count BertModel extra", "count BertModel --arch BertForMaskedLM"),  # options are written in full
        *("counts BertModel", "--counts", "tree no-such-model", "tensors no_such_model"),
        *("formula BertModel --format word", ""),
    ],
)
def test_bad_input_is_2_with_a_message(line: str, cli: Command) -> None:
    assert cli(line, code=2).err.strip() or not line


def test_version(cli: Command) -> None:
    assert archspec.TRANSFORMERS_VERSION in cli("--version").out


def test_a_bug_is_neither_a_difference_nor_bad_input(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("archspec.cli.main.run", broken)
    assert main(["list"]) == 70
    assert capsys.readouterr().err.startswith("a bug of archspec: ZeroDivisionError: by zero\n")


def test_interrupted(cli: Command, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("archspec.cli.main.run", interrupted)
    cli("list", code=130)
    ended: list[int] = []  # also while a verb is imported
    monkeypatch.setattr("sys.argv", ["archspec", "list"])
    monkeypatch.setattr("archspec.cli.main.main", interrupted)
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr("gc.freeze", lambda: None)
    command()
    assert ended == [130] and capsys.readouterr().err == "interrupted\n"


def test_as_a_program() -> None:
    done = run("count BertModel")
    assert (done.returncode, done.stderr) == (0, "")
    assert "109,482,240" in done.stdout and "\x1b" not in done.stdout
    assert run("diff BertModel BertForMaskedLM").returncode == 1
    failed = run("count nope")
    assert (failed.returncode, failed.stdout) == (2, "") and "Traceback" not in failed.stderr
    done = run("tensors BertModel", "| head -1")
    assert done.stdout.startswith("embeddings.word_embeddings.weight") and done.stderr == ""
    assert done.returncode in (0, 141)
    done = run("formula BertModel", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")


PRINTING = [
    *("count BertModel", "count BertModel --json", "count --help", "--version", "list", "lint --schema"),
    *("formula BertModel", "diff BertModel BertForMaskedLM"),
    "sweep LlamaForCausalLM --set num_hidden_layers=2:40 --json",
]
REFUSED = ["count nope", "count", "counts"]
SWEEP = "sweep LlamaForCausalLM --set num_hidden_layers=2:400 --set hidden_size=128:12800:128"


@pytest.mark.parametrize("line", PRINTING)
def test_a_full_disk(line: str) -> None:
    done = run(line, ">/dev/full")
    assert (done.returncode, done.stderr) == (2, "the output: No space left on device\n")


@pytest.mark.parametrize("line", [*PRINTING[:3], *REFUSED])
def test_closed_outputs(line: str) -> None:
    """The text of a closed output does not appear in the other one."""
    plain = run(line)
    without_out, without_err = run(line, ">&-"), run(line, "2>&-")
    assert (without_out.returncode, without_out.stderr) == (plain.returncode, plain.stderr)
    assert (without_err.returncode, without_err.stdout) == (plain.returncode, plain.stdout)
    assert run(line, ">&- 2>&- <&-").returncode == plain.returncode


@pytest.mark.parametrize("option", ["--out a.csv", "--out a.parquet", "--out a.jsonl", "--plot a.svg"])
def test_a_file_that_grows_too_large(option: str, folder: Path, cli: Command) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        error, help_ = cli(f"{SWEEP} {option}", code=2).err.splitlines()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error.startswith(option.split()[1]) and "File too large" in error
    assert help_ == "help: choose another path"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("line", ["count loop", "count folder", "lint loop", f"{SWEEP} --out loop/a.csv"])
def test_a_symbolic_link_to_itself(line: str, folder: Path, cli: Command) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "folder").mkdir()
    (folder / "folder" / "config.json").symlink_to("../loop")
    assert "Too many levels of symbolic links" in cli(line, code=2).err.splitlines()[0]


def test_a_link_to_nothing(folder: Path, cli: Command) -> None:
    (folder / "bert").symlink_to("gone")
    assert cli("count bert", code=2).err.startswith("bert: No such file or directory\n")


EVIL = "\x1b[31m\x9bA\r\nhelp: rm -rf \u202e|x"
STEERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
GPT2 = {"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 1, "vocab_size": 5, "n_positions": 4}
CONFIGS: dict[str, dict[str, Any]] = {
    "class": {"architectures": [EVIL]},
    "model type": {"model_type": EVIL},
    "field": {EVIL: 3, f"n{EVIL}_size": 7, "n_layers\n_size": 7},
    "value": {"activation_function": EVIL},
    "wrong value": {"n_layer": EVIL},
    "labels": {"architectures": ["GPT2ForSequenceClassification"], "id2label": {EVIL: EVIL, "1": EVIL}},
    "version": {"transformers_version": f"9.9{EVIL}"},
    "dtype": {"dtype": EVIL},
    "quantization": {"quantization_config": {"quant_method": EVIL}},
}
OF_A_CONFIG = (
    *(
        f"{verb} {{}}"
        for verb in ("count", "tree", "tensors", "formula", "lora", "sensitivity", "flops", "cache")
    ),
    *("memory {}", "memory {} --train", "diff {} gpt2", "diff {} gpt2 --format markdown", "table {} gpt2"),
    *("count {} --json", "table {} gpt2 --format latex", "table {} gpt2 --format markdown"),
    *("formula {} --format markdown", "formula {} --table latex", "sweep {} --set n_layer=1,2"),
    "solve {} --params 1e3..1e9 --set n_layer=1,2",
)
WITH_EVIL = (
    *(["count", EVIL], [EVIL], ["list", EVIL], ["lint", EVIL], ["count", "a\nb\x1b[1m"]),
    *(["count", "gpt2", *more] for more in ([EVIL], ["--set", f"{EVIL}=1"], ["--set", f"n_layer={EVIL}"])),
    *(["count", "gpt2", option, EVIL] for option in ("--architecture", "--specs", "--dtype")),
    *(["count", "gpt2", f"--{EVIL}"], ["flops", "gpt2", "--tokens", EVIL]),
    ["cache", "gpt2", "--budget", EVIL],
    *(["memory", "gpt2", "--weights", EVIL], ["formula", "gpt2", "--assume", f"n_inner={EVIL}"]),
    ["sweep", "gpt2", "--set", f"n_layer={EVIL}"],
    ["sweep", "gpt2", "--set", "n_layer=1", "--where", EVIL],
)
LONG = "x" * 10**6
TOO_LONG = (
    *(["count", LONG], ["count", "gpt2", "--architecture", LONG], ["flops", "gpt2", "--tokens", LONG]),
    *(["count", "gpt2", "--set", f"n_layer={value}"] for value in (LONG, "[" + "1," * 10**5 + "1]")),
    *(["sweep", "gpt2", "--set", "n_layer=1", "--where", "x" * 3000], ["memory", "gpt2", "--weights", LONG]),
    *(["list", LONG], [LONG]),
)


@pytest.mark.parametrize("kind", CONFIGS)
def test_nothing_of_a_config_steers_a_terminal(kind: str, folder: Path, cli: Command) -> None:
    (folder / "config.json").write_text(json.dumps(GPT2 | CONFIGS[kind]), encoding="utf-8")
    for line in OF_A_CONFIG:
        code, out, err = cli(line.format("config.json"), code=None)
        assert code in (0, 1, 2), (line, err)
        assert not STEERS.search(out + err) and "\nhelp: rm" not in out + err, line


def test_nothing_of_a_command_line_steers_a_terminal(folder: Path, cli: Command) -> None:
    (folder / "a\nb\x1b[1m").mkdir()
    (folder / "a\nb\x1b[1m" / "config.json").write_text("{")
    for line in WITH_EVIL:
        code, out, err = cli(line, code=None)
        assert code in (0, 2) and not STEERS.search(out + err), line


@pytest.mark.parametrize("line", TOO_LONG, ids=lambda line: " ".join(line)[:50])
def test_errors_stay_short(line: list[str], cli: Command) -> None:
    assert len(cli(line, code=2).err) < 6_000


def test_errors_of_many_fields_stay_short() -> None:
    many = {**GPT2, **{f"f{number}_act": "no" * 999 for number in range(9_999)}, "per_layer_config": {"a": 1}}
    with pytest.raises(archspec.ArchspecError) as caught:
        archspec.load(many | {"n_layer": "a" * 10**6})
    assert len(str(caught.value)) < 150_000


def test_addresses_of_objects_are_left_out() -> None:
    with pytest.raises(archspec.ArchspecError) as caught:
        archspec.load("gpt2", set={"n_layer": object(), "n_head": len, "x": lambda: 1})
    assert " at 0x" not in str(caught.value)
    with pytest.raises(archspec.ArchspecError) as caught:
        [*archspec.sweep("gpt2", ["n_layer=1,2", "num_hidden_layers=3"]).rows()]
    assert "Poly" not in str(caught.value) and "is 3, but n_layer, the same field, is" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("formula gpt2 --format text", "params of GPT2Model = "),
        ("count gpt2", "124,439,808"),
        ("count gpt2 --json", '"params": 124439808'),
        ("tree gpt2", "12 x GPT2Block"),
        ("table gpt2 bert", "bert"),
        ("flops gpt2", "FLOPs"),
        ("formula gpt2 --format unicode", "GPT2Model"),
        ("diff gpt2 bert", "BertModel"),
        ("sweep gpt2 --set n_layer=1,2 --out é.csv", ""),
        ("count é", "\\udcc3\\udca9: there is no such file"),
    ],
)
def test_an_ascii_locale_gets_ascii(line: str, expected: str, folder: Path) -> None:
    done = run(line, LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    text = done.stdout + done.stderr
    assert text.isascii() and expected in text
    assert "Traceback" not in text and "bug of archspec" not in text
    if line.endswith(".csv"):
        assert (folder / "é.csv").read_text(encoding="utf-8").startswith('"n_layer","params"')
