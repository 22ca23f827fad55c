"""Text is in plain English: no phrase of a list of phrases that readers stumble over."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUFFIXES = {".py", ".md", ".yaml", ".yml", ".ts", ".tsx", ".html", ".toml"}
# drafts of specs are rewritten as a whole later; coverage.md quotes messages of transformers
EXCLUDED = (
    *("archspec/deriving", "tests/deriving", "docs/examples", "docs/coverage.md"),
    *("web/node_modules", "web/dist"),
)
PHRASES = {
    "is no X": r"(?<![Tt]here )\b(?:is|are) no(?:ne\b| (?!longer\b))",
    "where it": r"\b[Ww]here (?:there|it|they|nothing)\b",
    "docstring with What or Whether": r'"""(?:What|Whether) ',
    "told": r"\b(?:told|tells)\b",
    "stands": r"\bstands?\b(?![- ]ins?\b)(?! for\b)(?!alone)",
    "of its own": r"\bof (?:its|one's|your|their|our) own\b",
    "beside": r"(?<!--)\bbesides?\b",  # an option of the previews had this name
    "held to": r"\bheld to\b",
    "alike": r"\balike\b",
    "is said": r"\b(?:is|are|be|was) said\b",
    "anew": r"\banew\b",
    "shared out": r"\bshared out\b",
    "comes to": r"\bcomes? to\b",
    "but for": r"\bbut for\b",
    "archaic": r"\b(?:thereof|therein|lest|as ever|in its turn|in their turn|such as it is)\b",
    "oracle": r"\boracle\b",
}


# of functions: a participle, an adjective or a preposition alone does not name what it does or returns
BARE_NAME = re.compile(
    r"_*(?:[a-z]*[^e_]ed|shown|known|chosen|given|drawn|written|hidden|frozen|at|by|of|in|on|to|from|with|without|within|inside"
    r"|outside|below|above|before|after|over|under|near|plain|whole|own|alone|bare|same|alike|fresh|stale|flat|real"
    r"|exact|local|general|safe|short|only|first|last|most|few|nearest|here|there|now|then|others|nothing|any|unique)"
)


def _files() -> list[Path]:
    folders = ("archspec", "tests", "tools", "benchmarks", "docs", "formulas", "web", ".github")
    found = [path for name in folders for path in (ROOT / name).rglob("*") if path.suffix in SUFFIXES]
    names = {path.relative_to(ROOT).as_posix(): path for path in [*found, *ROOT.glob("*.md")]}
    kept = (path for name, path in sorted(names.items()) if not name.startswith(EXCLUDED))
    return [path for path in kept if path != Path(__file__)]


def hits(text: str, phrase: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if re.search(PHRASES[phrase], line)]


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_text_has_the_phrase(phrase: str) -> None:
    found = {path: hits(path.read_text(encoding="utf-8"), phrase) for path in _files()}
    wrong = [f"{path.relative_to(ROOT)}: {line}" for path, lines in found.items() for line in lines]
    assert wrong == []


def test_the_patterns_find_their_phrases() -> None:
    text = """
        \"\"\"What a call keeps.\"\"\"
        this is no config, where it stands beside a model of its own
        it is said that both come to the same, held to nothing but for one, alike and anew
        the oracle tells lest it be shared out
    """
    assert all(hits(text, phrase) for phrase in PHRASES)
    assert not any(hits("there is no spec; the field has no effect", phrase) for phrase in PHRASES)


def bare_names(text: str) -> list[str]:
    """Return the functions and methods of a module whose names are one word that is not a verb or a noun."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return [one.name for one in functions if BARE_NAME.fullmatch(one.name)]


def test_functions_are_named_by_verbs_and_nouns() -> None:
    own = [path for path in _files() if path.suffix == ".py" and path.is_relative_to(ROOT / "archspec")]
    assert {path.name: found for path in own if (found := bare_names(path.read_text(encoding="utf-8")))} == {}


def test_bare_names_are_found() -> None:
    text = "def counted(): ...\nclass A:\n  def _at(self): ...\n  def need(self): ...\ndef count(): ...\n"
    assert bare_names(text) == ["counted", "_at"]
