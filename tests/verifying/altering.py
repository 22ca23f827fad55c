"""Specs altered for tests."""

from __future__ import annotations

from pathlib import Path

from archspec.errors import Source
from archspec.specs.library import shipped_library
from archspec.specs.parser import parse_spec
from archspec.specs.records import Spec
from archspec.verifying.blame import Difference


def altered(spec: Spec | str, old: str, new: str) -> Spec:
    """The spec, or that of a model type, with a text replaced in its file or in a shared part."""
    spec = shipped_library().load(spec) if isinstance(spec, str) else spec
    shared = {
        file.stem: file.read_text() for file in (Path(shipped_library().folder) / "shared").glob("*.yaml")
    }
    is_here = old in spec.source.text
    assert is_here or [old in text for text in shared.values()].count(True) == 1, f"{old!r} is not there"

    def loaded(name: str, _: object) -> Spec:
        if name not in shared:
            return shipped_library().load(name)
        text = shared[name] if is_here else shared[name].replace(old, new)
        return parse_spec(Source(f"shared/{name}.yaml", text), loaded, spec.library)

    return parse_spec(Source(spec.source.name, spec.source.text.replace(old, new)), loaded, spec.library)


def line(spec: Spec, start: str) -> str:
    """`file:line` of the first line with a beginning, in a spec or in a part that it uses."""
    for source in dict.fromkeys((spec.source, *(module.place.source for module in spec.modules.values()))):
        for number, text in enumerate(source.text.splitlines(), 1):
            if text.strip().startswith(start):
                return f"{source.name}:{number}"
    raise AssertionError(f"no line starts with {start!r}")


def shown(difference: Difference) -> str:
    where = next(iter(difference.places), "?")
    sides = f"transformers {difference.expected}, the spec {difference.found}"
    return f"{where}: {difference.kind} {difference.name}: {sides} at {difference.config}"
