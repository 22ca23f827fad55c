"""Names and values of users never steer a terminal, break a table or fill a screen; any locale will do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import Problem, printable

EVIL = "\x1b[31m\x9bA\r\nhelp: rm -rf \u202e|x"
STEERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
GPT2 = {"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 1, "vocab_size": 5, "n_positions": 4}
CONFIGS: dict[str, dict[str, Any]] = {
    "class": {**GPT2, "architectures": [EVIL]},
    "model type": {"model_type": EVIL},
    "field": {**GPT2, EVIL: 3, f"n{EVIL}_size": 7, "n_layers\n_size": 7},
    "value": {**GPT2, "activation_function": EVIL},
    "wrong value": {**GPT2, "n_layer": EVIL},
    "labels": {
        **GPT2,
        "architectures": ["GPT2ForSequenceClassification"],
        "id2label": {EVIL: EVIL, "1": EVIL},
    },
    "version": {**GPT2, "transformers_version": f"9.9{EVIL}"},
    "dtype": {**GPT2, "dtype": EVIL},
    "quantization": {**GPT2, "quantization_config": {"quant_method": EVIL}},
}
LINES = (
    *(
        "count {}",
        "tree {}",
        "tensors {}",
        "formula {}",
        "sensitivity {}",
        "flops {}",
        "cache {}",
        "memory {}",
    ),
    *(
        "memory {} --train",
        "diff {} gpt2",
        "diff {} gpt2 --format markdown",
        "table {} gpt2",
        "count {} --json",
    ),
    *("table {} gpt2 --format latex", "table {} gpt2 --format markdown", "formula {} --format markdown"),
    *(
        "sweep {} --set n_layer=1,2",
        "solve {} --params 1e3..1e9 --set n_layer=1,2",
        "formula {} --table latex",
    ),
)


@pytest.mark.parametrize("kind", CONFIGS)
def test_nothing_of_a_config_steers_a_terminal(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(CONFIGS[kind]), encoding="utf-8")
    for line in LINES:
        code = main(line.format("config.json").split())
        out, err = capsys.readouterr()
        assert code in (0, 1, 2), (line, err)
        assert not STEERS.search(out + err), line
        assert "\nhelp: rm" not in out + err, line


def test_nothing_of_a_command_line_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a\nb\x1b[1m").mkdir()
    (tmp_path / "a\nb\x1b[1m" / "config.json").write_text("{")
    lines = (
        *(
            ["count", EVIL],
            ["count", "gpt2", "--architecture", EVIL],
            ["count", "gpt2", "--set", f"{EVIL}=1"],
        ),
        *(["count", "gpt2", "--set", f"n_layer={EVIL}"], ["count", "a\nb\x1b[1m"], ["count", "gpt2", EVIL]),
        *(["flops", "gpt2", "--tokens", EVIL], ["cache", "gpt2", "--budget", EVIL], [EVIL], ["list", EVIL]),
        *(
            ["sweep", "gpt2", "--set", f"n_layer={EVIL}"],
            ["sweep", "gpt2", "--set", "n_layer=1", "--where", EVIL],
        ),
        *(
            ["formula", "gpt2", "--assume", f"n_inner={EVIL}"],
            ["count", "gpt2", "--specs", EVIL],
            ["lint", EVIL],
        ),
        *(
            ["memory", "gpt2", "--weights", EVIL],
            ["count", "gpt2", "--dtype", EVIL],
            ["count", "gpt2", f"--{EVIL}"],
        ),
    )
    for line in lines:
        assert main(line) in (0, 2), line
        out, err = capsys.readouterr()
        assert not STEERS.search(out + err), line


@pytest.mark.parametrize(
    "line",
    [
        ["count", "x" * 10**6],
        ["count", "gpt2", "--architecture", "x" * 10**6],
        ["count", "gpt2", "--set", "n_layer=" + "x" * 10**6],
        ["count", "gpt2", "--set", "n_layer=[" + "1," * 10**5 + "1]"],
        ["flops", "gpt2", "--tokens", "x" * 10**6],
        ["sweep", "gpt2", "--set", "n_layer=1", "--where", "x" * 3000],
        ["memory", "gpt2", "--weights", "x" * 10**6],
        ["list", "x" * 10**6],
        ["x" * 10**6],
    ],
    ids=lambda line: " ".join(line)[:50],
)
def test_errors_stay_short(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 2
    assert len(capsys.readouterr().err) < 6_000


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


def test_a_problem_is_one_line_with_its_help() -> None:
    said = str(Problem("a\nb\x1b", help="c\nd"))
    assert said == "a\\nb\\x1b\nhelp: c\\nd"
    assert printable("é 中 ×") == "é 中 ×"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("formula gpt2", "params of GPT2Model = L*(4*d^2 + 2*d*d_ff + 9*d + d_ff) + d*(V + s) + 2*d"),
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
def test_an_ascii_locale_gets_ascii(line: str, expected: str, tmp_path: Path) -> None:
    plain = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    root = str(Path(archspec.__file__).parents[1])
    command = [sys.executable, "-m", "archspec", *line.split()]
    env = {**os.environ, **plain, "PYTHONPATH": root}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, check=False)
    text = (done.stdout + done.stderr).decode("ascii")
    assert "Traceback" not in text and "bug of archspec" not in text
    assert expected in text
    if line.endswith(".csv"):
        assert Path(tmp_path / "é.csv").read_text(encoding="utf-8").startswith('"n_layer","params"')


@pytest.mark.parametrize(
    "line",
    [
        "count gpt2 --set n_layer=1 --set n_layer=2",
        "count gpt2 --set n_layer=1,n_layer=1",
        'count gpt2 --set id2label={"0":"a","0":"b"}',
        "count gpt2 --set n_layer=１２",
        "count gpt2 --depth １",
        "flops gpt2 --tokens １２",
        "cache gpt2 --budget ８０GiB",
        "sweep gpt2 --set n_layer=１:８",
        "sweep gpt2 --set n_layer=1:8:２",
        "sweep gpt2 --set n_layer=1,2 --set n_layer=3",
        "sweep gpt2 --set n_layer=1,2 --rows １",
        "solve gpt2 --params １b",
        "solve gpt2 --params 1b --top １",
        "solve gpt2 --params 1b --multiple n_embd=１２８",
        "solve gpt2 --params 1b --within １",
        "solve gpt2 --params 1b --set n_layer=1 --set n_layer=2",
        "diff gpt2 gpt2 --set n_layer=1 --set-a n_layer=2",
        "formula gpt2 --assume n_inner=４*n_embd",
        "formula gpt2 --assume n_inner=1 --assume n_inner=2",
    ],
)
def test_other_digits_and_fields_set_twice_are_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2, capsys.readouterr().out
    assert "bug" not in capsys.readouterr().err
