"""Every message names its place, and a bad spec or config raises only ArchspecErrors.

tests/errors/*.txt have the cases: `=== name`, the text, `--->`, and the message, with `^4` in place of the
line and four carets. An indented text is the content of ToyModel. ARCHSPEC_UPDATE=1 updates them; then read
the difference.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.specs import library
from archspec.specs.library import shipped_library
from archspec.specs.search_path import installed_library
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

HERE = Path(__file__).parent
ARROW = "\n--->\n"
MODEL = "model_type: toy\nmodules:\n  ToyModel:\n{}\narchitectures:\n  ToyModel:\n"
CARETS = r"\n {4}.*\n {4} *(\^+)(?=\n|$)"
SECONDS = 15  # of the processor


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """Turn an endless test into an error."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS} seconds")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The specs of tests/errors/specs instead of the real ones, so that messages do not change with them."""
    monkeypatch.setattr(library, "folder", lambda: str(HERE / "specs"))
    monkeypatch.chdir(HERE)
    shipped_library.cache_clear()
    installed_library.cache_clear()
    yield tmp_path
    shipped_library.cache_clear()
    installed_library.cache_clear()


def read_cases(name: str) -> dict[str, tuple[str, str]]:
    """Return the text and the message of each case of a file, by title."""
    found = {}
    for block in (HERE / name).read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, rest = block.partition("\n")
        text, _, message = rest.partition(ARROW)
        found[title] = text, message.strip("\n")
    return found


CASES = {name: read_cases(name) for name in ("config.txt", "spec.txt")}


def compare(name: str, title: str, message: str) -> None:
    """Compare a message with the one in the file, or write it to the file."""
    text, expected = CASES[name][title]
    message = re.sub(CARETS, lambda found: f" ^{len(found[1])}", message)
    if not os.environ.get("ARCHSPEC_UPDATE"):
        assert message == expected
        return
    CASES[name][title] = text, message
    blocks = (f"=== {t}\n{text}{ARROW}{m}\n" for t, (text, m) in CASES[name].items())
    (HERE / name).write_text("".join(blocks), encoding="utf-8")


def config_error(folder: Path, text: str) -> str:
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(archspec.ArchspecError) as caught:
        _ = archspec.load(path).params
    return str(caught.value).replace(f"{folder}/", "")


def spec_error(folder: Path, text: str) -> str:
    path = folder / "toy.yaml"
    path.write_text(MODEL.format(text) if text.startswith("    ") else text, encoding="utf-8")
    with pytest.raises(archspec.ArchspecError) as caught:
        spec = shipped_library().load_file(str(path))
        scope = Scope(spec, {})
        scope.validate()
        tensors(Builder(scope).build(spec.architectures[0]))
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("title", CASES["config.txt"])
def test_config(title: str, toys: Path) -> None:
    compare("config.txt", title, config_error(toys, CASES["config.txt"][title][0]))


@pytest.mark.parametrize("title", CASES["spec.txt"])
def test_spec(title: str, toys: Path) -> None:
    compare("spec.txt", title, spec_error(toys, CASES["spec.txt"][title][0]))


def test_nothing_is_executed(toys: Path) -> None:
    """A spec's text is never handed to Python, and a config's never to anything but the JSON reader."""
    sign = toys / "sign"
    for expression in (
        f"__import__('pathlib').Path({str(sign)!r}).touch()",
        f"open({str(sign)!r}, 'w')",
        f"[c for c in ().__class__.__base__.__subclasses__()][0]({str(sign)!r})",
        f"!!python/object/apply:os.mkdir [{str(sign)!r}]",
    ):
        for part in (f"modules:\n  ToyModel:\n    a: {expression}", f"config:\n  a: = {expression}"):
            spec_error(toys, f"model_type: toy\n{part}\narchitectures:\n  ToyModel:\n")
        assert not sign.exists()
