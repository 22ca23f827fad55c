"""Specs of toy models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from archspec.configs.scope import Scope
from archspec.specs.library import shipped_library

Toy = Callable[[str], tuple[Scope, str]]


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """Return the scope and the first class of a spec whose classes are given; n is 3, h is 2."""

    def made(body: str) -> tuple[Scope, str]:
        path = tmp_path / "toy.yaml"
        lines = "".join(f"  {line}\n" for line in body.splitlines())
        path.write_text(f"model_type: toy\nconfig: {{n: 3, h: 2, layers: 2}}\narchitectures:\n{lines}")
        spec = shipped_library().load_file(str(path))
        return Scope(spec, {}), spec.architectures[0]

    return made
