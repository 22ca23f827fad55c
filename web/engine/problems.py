"""Errors and bugs, worded for the page, with the place in the pasted, typed or overridden text."""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection
from typing import Any

import archspec

CONFIG = "config.json"  # the file of a pasted text
OVERRIDE = "override"  # archspec's source name for overrides
TYPED = ("--assume",)  # and for texts typed into the page's fields
CONTEXT = 40  # characters before and after a place, which fit a phone
MAX_LENGTH = 500  # characters of a bug's message, and of its call
NAMES = {"image": "images", "video": "videos", "audio": "audios", "text": "text_tokens"}  # of options
IN_THE_PAGE = (  # patterns that name the command line, and the page's wording, applied in this order
    (
        r"pass --architecture CLASS or --set model_type=TYPE; run archspec list to see both",
        'write "model_type": "llama" in the config, or another type of the list of models',
    ),
    (r"pass --architecture CLASS to count it as that class", "choose the class to count it as"),
    (r", or --specs DIR with a spec for it", ""),
    (r"pass --architecture (\w+)", r"choose the class \1"),
    (r"--architecture", "class"),
    (r"pass (?=--set)", "write "),
    (r"--set model_type=(\w+)", r'"model_type": "\1" in the config'),
    (r"--set dtype=(\w+)", r'"dtype": "\1" in the config'),
    (r"--set ([\w.]+)=null", r'"\1": null in the config'),
    (r"run archspec list to see the", "see the list of"),
    (r"run archspec sensitivity \w+ to see", "see the knobs for"),
    (r"archspec memory --weights reports", "the costs report"),
    (r"archspec memory reports it", "it is a part of the inference memory"),
    (r", or change ranges and steps of fields with --set and --multiple", ""),
    (r"with --set", "with the knobs"),
    (r"\bbf16\b", "bfloat16"),
    (r"write --(?:image|video|audio) ", "write "),
    (r"with --processed", 'and check "sizes are those of the tensors"'),
    (r"leave out --processed", 'uncheck "sizes are those of the tensors"'),
    (r"--text\b", "text tokens"),
    (r"--(image|video)\b", r"\1s"),
    (r"--([a-z]+)-([a-z]+)", r"\1 \2"),
    (r"--set |--(?=\w)", ""),
)


def input_of(one: archspec.Problem, inputs: Collection[str]) -> dict[str, str]:
    """Return the input of a call that an error is about: an option or a kind of items in its text."""
    options = re.findall(r"--([a-z]+(?:-[a-z]+)*)", f"{one.help} {one.message}")
    items = re.findall(r"\b(image|video|audio)s?\b", one.message)
    names = (NAMES.get(name, name.replace("-", "_")) for name in (*options, *items))
    found = next((name for name in names if name in inputs), None)
    return {"input": found} if found else {}


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
    """Return a message or a help line, worded for the page."""
    for option, own in IN_THE_PAGE:
        text = re.sub(option, own, text)
    return text


def excerpt(line: str, start: int, width: int) -> list[str]:
    """Split a line into the text before, at and after a place; truncate long parts."""
    end = start + min(width, CONTEXT)
    parts = line[max(0, start - CONTEXT) : start], line[start:end], line[end : end + CONTEXT]
    return ["".join(letter if letter.isprintable() else " " for letter in part) for part in parts]


def bug(error: Exception, call: str, arguments: str) -> dict[str, Any]:
    """Describe a bug in archspec, with the text for a report of it."""
    message = f"{type(error).__name__}: {error}"[:MAX_LENGTH]
    at = traceback.extract_tb(error.__traceback__)[-1]
    asked = f"{call} {arguments}"[:MAX_LENGTH]
    return {
        "message": f"archspec failed: {message}",
        "help": "this is a bug in archspec; please report it with this text:",
        "path": "",
        "report": f"{asked}\n{message}\n{at.filename}:{at.lineno}, archspec {archspec.__version__}",
    }
