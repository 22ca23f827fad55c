"""A problem with a field points at the line that gave it."""

from __future__ import annotations

import pytest

from archspec.configs.origin import Origin

TEXT = '{\n "size": 8,\n "text_config": {\n  "width": 3\n }\n}'
FILE = Origin(
    "config.json", TEXT, overrides={"size": "size=9", "text_config.x": "text_config.x=1"}, opened=["part"]
)


@pytest.mark.parametrize(
    ("origin", "field", "shown"),
    [
        (FILE, "text_config", "config.json:3:2: text_config: is odd"),
        (FILE, "text_config.width", "config.json:4:3: text_config.width: is odd"),
        (FILE.child("text_config"), "width", "config.json:4:3: text_config.width: is odd"),
        (FILE, "text_config.depth", "config.json:3:2: text_config.depth: is odd"),  # the part that is there
        (FILE, "depth", "config.json:1:1: depth: is odd"),
        (FILE, "size", "override:1:1: size: is odd"),
        (FILE.child("text_config"), "x", "override:1:1: text_config.x: is odd"),
        (Origin(), "size", "config: size: is odd"),
        (Origin("q.json", TEXT, "text_config."), "", "q.json:3:2: text_config: is odd"),
        (Origin("q.json", TEXT), "", "q.json:1:1: is odd"),
        (Origin("mine").child("a").child("b"), "c", "mine: a.b.c: is odd"),
    ],
)
def test_where_a_problem_is(origin: Origin, field: str, shown: str) -> None:
    problem = origin.problem(field, "is odd", "make it even")
    assert str(problem).splitlines()[0] == shown
    assert problem.help == "make it even"


def test_what_was_set_from_outside_and_what_only_that_brought() -> None:
    assert FILE.is_overridden("size") and not FILE.is_overridden("x")
    assert FILE.child("text_config").is_overridden("x")
    assert FILE.is_opened("part") and not FILE.is_opened("text_config")
