"""Deeply nested texts end in an error, even on a stack as small as that of the page's engine."""

from __future__ import annotations

import subprocess
import sys

import pytest

import archspec
from archspec.configs.json_text import parse_json
from archspec.errors import Source
from archspec.language.expression import MAX_LEVELS, python

_DEEP = {
    "config": "load('[' * 3000)",
    "config of objects": "load('{\"a\":' * 3000)",
    "config closed": "load('{\"model_type\": \"bert\", \"x\": ' + '[' * 3000 + ']' * 3000 + '}')",
    "override": "archspec.load('bert', set=parse_settings(['a=' + '[' * 3000]))",
    "where": "sweep('(' * 1900 + '1' + ')' * 1900)",
    "where, minus": "sweep('-' * 3900 + '1')",
    "where, not": "sweep('not ' * 900 + '1')",
    "where, power": "sweep('1' + '**1' * 1300)",
    "where, ternary": "sweep('1 if params else ' * 230 + '1')",
    "assume": "archspec.load('gpt2').formula.assume('n_inner=' + '(' * 1900 + '1' + ')' * 1900)",
    "spec, flow": "spec('model_type: a\\nconfig: ' + '[' * 3000)",
    "spec, blocks": "spec('model_type: a\\n' + ''.join(' ' * i + 'k:\\n' for i in range(900)))",
    "spec, expression": "spec('model_type: a\\nrequire: \"' + '(' * 1900 + '1' + ')' * 1900 + '\"\\n')",
}
_SCRIPT = """
import sys, tempfile, threading
from pathlib import Path
import archspec
from archspec.configs.overrides import parse_settings
from archspec.specs.library import shipped_library

def load(text):
    path = Path(tempfile.mkdtemp()) / "config.json"
    path.write_text(text)
    archspec.load(str(path))

def sweep(where):
    archspec.sweep("gpt2", {"n_layer": [1]}, where=where).sql()

def spec(text):
    path = Path(tempfile.mkdtemp()) / "a.yaml"
    path.write_text(text)
    shipped_library().load_file(str(path))

def run():
    try:
        %s
    except archspec.ArchspecError as error:
        print(error)

archspec.load("gpt2").formula  # imports need more of the stack than the parsers
threading.stack_size(128 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("case", _DEEP)
def test_deep_texts_are_refused_on_a_small_stack(case: str) -> None:
    command = [sys.executable, "-c", _SCRIPT % _DEEP[case]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert "nest" in done.stdout or "longer than" in done.stdout, done.stdout + done.stderr[-500:]


def test_texts_of_usual_depth_are_read() -> None:
    for text in ("(" * 150 + "1" + ")" * 150, "1" + " + 1" * 200, "[" + "1.5, " * 900 + "]"):
        assert python(text)


@pytest.mark.parametrize("text", ["(" * 400 + "1" + ")" * 400, "-" * 400 + "1", "'-' + " * 400 + "'a'"])
def test_deeper_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"deeper than {MAX_LEVELS} levels"):
        python(text)


def test_the_error_of_a_deep_config_points_at_the_level() -> None:
    with pytest.raises(archspec.ArchspecError, match="config:1:65: nested deeper than 64 levels"):
        parse_json(Source("config", "[" * 3000))
