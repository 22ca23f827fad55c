"""What archspec refuses or fails at, in the page's words, with the place in what was pasted, typed or set."""

from __future__ import annotations

import re
import traceback
from typing import Any

import archspec

CONFIG = "config.json"  # where a pasted text is put, so that problems point into it
OVERRIDE = "override"  # where archspec says that a field was set
TYPED = ("--assume", "budget")  # and what was typed into a field of the page
CONTEXT = 40  # characters of a line on both sides of a place, which a phone has room for
LONGEST_SAID = 500  # characters of a bug's message, and of its call
IN_THE_PAGE = (  # patterns of messages that name the command line, and the page's words, in this order
    (
        r"pass --architecture CLASS or --set model_type=TYPE; archspec list prints both",
        'write "model_type": "llama" in the config, or another type of the list of models',
    ),
    (r"name a class to count it as with --architecture CLASS", "choose the class to count it as"),
    (r"(, or|;) a directory with its spec with --specs FOLDER", ""),
    (r"pass --architecture (\w+)", r"choose the class \1"),
    (r"pass one of its classes", "choose one of its classes"),
    (r"(?<=[:,] )--architecture (?=\w)", ""),
    (r"--architecture", "class"),
    (r"pass (?=--set)", "write "),
    (r"--set model_type=(\w+)", r'"model_type": "\1" in the config'),
    (r"--set dtype=(\w+)", r'"dtype": "\1" in the config'),
    (r"--set ([\w.]+)=null", r'"\1": null in the config'),
    (r"archspec list shows", "the list of models shows"),
    (r"archspec sensitivity \w+ shows what counts read", "the knobs show what counts read"),
    (r"archspec memory --weights counts", "the costs count"),
    (r", or give the fields other ranges", ""),
    (r"with --set", "with the knobs"),
    (r"\bbf16\b", "bfloat16"),
    (r"--set |--(?=\w)", ""),
)


def problem(one: archspec.Problem) -> dict[str, Any]:
    place = one.place
    found: dict[str, Any] = {"message": worded(one.message), "help": worded(one.help), "path": one.path}
    if place is not None and place.source.name == CONFIG:
        line = place.source.line(place.line)
        found |= {"line": place.line, "column": place.column}
        found |= {"excerpt": excerpt(line, place.column - 1, place.width)} if line else {}
    if place is not None and place.source.name in TYPED:
        found["excerpt"] = excerpt(place.source.text, place.column - 1, place.width)
    if place is not None and place.source.name == OVERRIDE:
        found["field"] = place.source.text.partition("=")[0]
    return found


def worded(text: str) -> str:
    """A message or a help line, in the page's words."""
    for option, own in IN_THE_PAGE:
        text = re.sub(option, own, text)
    return text


def excerpt(line: str, start: int, width: int) -> list[str]:
    """A line in three: what is before a place, what it covers, what is behind; long ones are cut."""
    end = start + min(width, CONTEXT)
    parts = line[max(0, start - CONTEXT) : start], line[start:end], line[end : end + CONTEXT]
    return ["".join(letter if letter.isprintable() else " " for letter in part) for part in parts]


def bug(error: Exception, call: str, arguments: str) -> dict[str, Any]:
    """What archspec fails at though it should not: short, with what a report of it needs."""
    said = f"{type(error).__name__}: {error}"[:LONGEST_SAID]
    at = traceback.extract_tb(error.__traceback__)[-1]
    asked = f"{call} {arguments}"[:LONGEST_SAID]
    return {
        "message": f"archspec fails: {said}",
        "help": "that is a bug of archspec, to be reported with this:",
        "path": "",
        "report": f"{asked}\n{said}\n{at.filename}:{at.lineno}, archspec {archspec.__version__}",
    }
