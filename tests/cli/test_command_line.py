"""A plain command line is read as argparse reads it, and everything else is left to argparse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archspec.cli import command_line
from archspec.cli.command_line import Values, command_options
from archspec.tables.verbs import VERBS

WORDS = st.sampled_from(
    [
        *(
            "config.json",
            "two words",
            "",
            "-1",
            "-",
            "--",
            "-h",
            "--json",
            "--set",
            "a=1",
            "--set=a=2",
            "--dtype",
        ),
        *("bf16", "--architecture", "--depth", "3", "--quantity", "params", "--by", "module", "--table"),
        "--leading",
    ]
)


def parsed(verb: str, line: list[str]) -> dict[str, object] | None:
    """Return what argparse reads; None for a line that it refuses."""
    options = command_options(verb)
    try:
        found = vars(command_line.parser_of(verb).parse_args(line, Values()))
    except SystemExit:
        return None
    given = {*found} - command_line._positionals(options)
    return {**command_line._defaults(options), **found, "given": given}


def plain(verb: str, line: list[str]) -> dict[str, object] | None:
    found = command_line._read_plain(command_options(verb), line)
    return None if found is None else vars(found)


@given(st.sampled_from(sorted(VERBS)), st.lists(WORDS, max_size=6))
def test_what_is_read_is_what_argparse_reads(verb: str, line: list[str]) -> None:
    found = plain(verb, line)
    assert found is None or found == parsed(verb, line)


@pytest.mark.parametrize(
    "line",
    [
        ["a"],
        ["a", "--json"],
        ["--set", "b=1", "a", "--set", "c=2"],
        ["--dtype", "bf16", "--architecture", "A", "a"],
    ],
)
def test_plain_lines_are_read(line: list[str]) -> None:
    assert plain("count", line) is not None
    assert plain("count", line) == parsed("count", line)


@pytest.mark.parametrize(
    "line",
    [[], ["a", "b"], ["--help"], ["a", "--set"], ["a", "--set=b=1"], ["a", "--dtype", "-x"], ["a", "--no"]],
)
def test_other_lines_are_left_to_argparse(line: list[str]) -> None:
    assert plain("count", line) is None
