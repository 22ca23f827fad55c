"""On a terminal lines keep to its width, numbers stay whole, and colors are optional."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout

import pytest

from archspec.cli.main import main
from archspec.terminal import print_sentence, table

NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
COMMANDS = [
    "count BertModel",
    "tensors BertModel",
    "tree BertModel",
    "diff BertModel BertForMaskedLM --tokens 16",
    "flops LlamaForCausalLM",
    "memory LlamaForCausalLM",
    "sensitivity BertModel",
    "solve LlamaForCausalLM --params 7e9 --free hidden_size,num_hidden_layers --top 3",
    "sweep LlamaForCausalLM --set num_hidden_layers=2:6 --columns params,embedding_params,bytes",
    "formula DeepseekV3ForCausalLM",
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that gives the output on a terminal of a width."""

    def shown(width: int, run: Callable[[], object]) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        with redirect_stdout(Terminal()) as terminal:
            run()
        return terminal.getvalue()

    return shown


def bare(text: str) -> str:
    return re.sub(r"\x1b\[\d*m", "", text)


@pytest.mark.parametrize("width", [70, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_numbers_stay_whole(
    command: str, width: int, on_terminal: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = bare(on_terminal(width, lambda: main(command.split())))
    assert main(command.split()) in (0, 1)
    missing = set(NUMBER.findall(capsys.readouterr().out)) - set(NUMBER.findall(shown))
    assert len(NUMBER.findall(shown)) > 10 and not missing
    assert max(map(len, shown.splitlines())) <= width


def test_names_go_on_at_their_joints(on_terminal: Callable[..., str]) -> None:
    rows = [("encoder.layer.0.attention.self.query.weight", "109,482,240")]
    shown = bare(on_terminal(36, lambda: table("tensor|>elements", rows)))
    names = ["encoder.layer.0.         109,482,240", "attention.self.query.", "weight"]
    assert shown.splitlines()[2:] == names


def test_a_sentence_breaks_between_words(on_terminal: Callable[..., str]) -> None:
    shown = on_terminal(30, lambda: print_sentence("note: counted separately, the total is 163,037,184"))
    assert shown == "note: counted separately, the\ntotal is 163,037,184\n"


def test_a_table_without_rows(on_terminal: Callable[..., str]) -> None:
    shown = bare(on_terminal(80, lambda: table("tensor|>elements", [])))
    assert shown.splitlines() == ["tensor  elements", "────────────────"]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_plain_where_asked(
    name: str, value: str, on_terminal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b[" in on_terminal(80, lambda: main(["count", "BertModel"]))
    monkeypatch.setenv(name, value)
    plain = on_terminal(80, lambda: main(["count", "BertModel"]))
    assert "109,482,240" in plain and "\x1b" not in plain


def test_a_pipe_has_no_colours_whatever_is_forced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["count", "BertModel"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_what_is_wrong_keeps_to_the_width(on_terminal: Callable[..., str]) -> None:
    def run() -> None:
        with redirect_stderr(sys.stdout):
            assert main(["sweep", "LlamaModel", "--set", "num_hidden_layers=4096:1024"]) == 2

    shown = on_terminal(40, run)
    assert max(map(len, shown.splitlines())) <= 40
    assert "its last value 1024 is below its first value 4096" in " ".join(shown.split()) and "^\n" in shown
