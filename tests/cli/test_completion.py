"""Completion in each shell, by the lines of docs/how-to/shell-completion.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from archspec.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "shell-completion.md").read_text(encoding="utf-8")
LINES = dict(re.findall(r"^\| (\w+) \| .* \| `(.*)` \|$", PAGE, re.MULTILINE))
ASKING = {  # what prints the candidates for the line $1, as the shell gets them
    "bash": """
        COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=9 COMPREPLY=()
        _python_argcomplete archspec; printf '%s\\n' "${COMPREPLY[@]}"
    """,
    "zsh": """
        BUFFER=$1 CURSOR=$#1 words=(${(z)1})
        _describe() { print -l -- ${(P)2} }; _python_argcomplete
    """,
    "fish": "complete -C $argv[1]",
}
BEFORE = {"zsh": "autoload -U compinit; compinit -u -D;", "bash": "", "fish": ""}
OFFERED = {
    "archspec so": ["solve"],
    "archspec count LlamaForC": ["LlamaForCausalLM"],
    "archspec count configs/openai-community--gpt2.": ["configs/openai-community--gpt2.json"],
    "archspec formula LlamaModel --format l": ["latex"],
    "archspec count LlamaModel --set hidden_si": ["hidden_size="],
    "archspec count gemma3 --set text_config.hidden_si": ["text_config.hidden_size="],
    "archspec solve LlamaModel --free hidden_size,vo": ["hidden_size,vocab_size"],
    "archspec memory LlamaModel --optimizer adaf": ["adafactor"],
    "archspec lint formulas/bert.": ["formulas/bert.yaml"],
    "archspec tree BertModel --de": ["--depth"],
    "archspec count NoSuchModel --set hidden": [],
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment that has the command."""
    command = tmp_path / "archspec"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m archspec "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def shell_output(shell: str, script: str, environment: dict[str, str]) -> str:
    line = [shell, "-c", script]
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, timeout=600, check=True)
    return done.stdout.decode()


@pytest.mark.parametrize(
    "shell",
    ["bash", pytest.param("zsh", marks=pytest.mark.zsh), pytest.param("fish", marks=pytest.mark.fish)],
)
def test_what_shells_offer(shell: str, environment: dict[str, str]) -> None:
    registered = f"{BEFORE[shell]} {LINES[shell]}".replace(r"\|", "|")
    asked = "\n".join(f"ask '{line}'; echo ---" for line in OFFERED)
    function = "function ask\n{}\nend" if shell == "fish" else "ask() {{\n{}\n}}"
    script = "\n".join([registered, function.format(ASKING[shell]), asked])
    blocks = shell_output(shell, script, environment).split("---\n")[:-1]
    found = [[re.split(r":|\t", text)[0].strip() for text in block.splitlines() if text] for block in blocks]
    assert dict(zip(OFFERED, found, strict=True)) == OFFERED


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-completion", "bush"]) == 2
    assert "unknown shell 'bush'\nhelp: choose bash, zsh, fish" in capsys.readouterr().err
    assert main(["--print-completion"]) == 2


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert main(["--print-completion", "bash"]) == 2
    assert 'pip install "archspec-formulas[completion]"' in capsys.readouterr().err


def test_specs_of_ones_own_are_offered(tmp_path: Path, environment: dict[str, str]) -> None:
    text = "# code: mine\nmodel_type: mine\nconfig: {width: 4}\nmodules:\n  Mine:\n    a: Linear(width, 2)\n"
    (tmp_path / "mine.yaml").write_text(f"{text}architectures: {{Mine: }}\n")
    line = "archspec count Mine --set wi"
    asked = f"{LINES['bash']}\nask() {{\n{ASKING['bash']}\n}}\nask '{line}'; ask 'archspec count Min'"
    offered = shell_output("bash", asked, {**environment, "ARCHSPEC_PATH": str(tmp_path)}).split()
    assert offered[0] == "width=" and "Mine" in offered
