"""The page rewords messages that name the command line; every pattern must still match a message."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from archspec.configs.choice import naming_help
from archspec.errors import command_line, option

ROOT = Path(__file__).parents[2]


def test_every_pattern_of_the_page_matches_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "web" / "engine"))
    from problems import IN_THE_PAGE

    sys.modules.pop("problems", None)
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "archspec").rglob("*.py"))
    messages = re.sub(r"\{option\('(\w+)'\)\}", r"--\1", sources)
    messages = re.sub(r"\{option\('(\w+)', '(\w+)'\)\}", r"--\1 \2", messages)
    messages = re.sub(r"\{option\(.(\w+)., \{([\w.]+): None\}\)\}", r"--\1 \2=null", messages)
    messages = re.sub(r"option\(.(\w+)., \{.(\w+).: .(\w+).\}\)", r"--\1 \2=\3", messages)
    messages = re.sub(r"\{option\('(\w+)'[^{}]*\)\}", r"--\1 x", messages)
    with command_line():
        messages += naming_help() + f"\nhelp: write {option('images', ['9x9'])}"
    messages = re.sub(r"\{[^{}]*\}", "x", messages)  # the values of f-strings
    assert not [pattern for pattern, _ in IN_THE_PAGE if not re.search(pattern, messages)]
