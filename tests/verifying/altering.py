"""Specs altered for tests."""

from __future__ import annotations

from pathlib import Path

from archspec.errors import Source
from archspec.specs.library import shipped
from archspec.specs.parser import parse_spec
from archspec.specs.records import Spec
from archspec.verifying.blame import Difference


def altered(spec: Spec, old: str, new: str, times: int = 1) -> Spec:
    """The spec of a text with one thing changed."""

    shared = {file.stem: file for file in (Path(shipped().folder) / "shared").glob("*.yaml")}
    holds = [name for name, file in shared.items() if file.read_text().count(old) == times]
    here = spec.source.text.count(old) == times
    assert here or len(holds) == 1, f"{old!r} is not in {spec.source.name}, or one shared part, {times} times"

    def loaded(name: str, _: object) -> Spec:
        if name not in shared:
            return shipped().load(name)
        text = shared[name].read_text()
        return parse_spec(
            Source(f"shared/{name}.yaml", text.replace(old, new) if not here and name in holds else text),
            loaded,
            spec.library,
        )

    text = spec.source.text.replace(old, new) if here else spec.source.text
    return parse_spec(Source(spec.source.name, text), loaded, spec.library)


def line(spec: Spec, start: str) -> str:
    """`file:line` of the first line that starts so, in a spec or in a part that it uses."""
    sources = dict.fromkeys((spec.source, *(module.place.source for module in spec.modules.values())))
    lines = (
        (source.name, n, text) for source in sources for n, text in enumerate(source.text.splitlines(), 1)
    )
    return next(f"{name}:{number}" for name, number, text in lines if text.strip().startswith(start))


def shown(difference: Difference) -> str:
    where = difference.places[0] if difference.places else "?"
    what = f"transformers {difference.expected}, the spec {difference.found}"
    return f"{where}: {difference.kind} {difference.name}: {what} at {difference.config}"


def altered_file(folder: Path, model_type: str, old: str, new: str) -> Spec:
    """A spec with one text replaced, loaded from a file in a folder."""
    text = Path(shipped().files()[model_type]).read_text(encoding="utf-8")
    assert old in text
    path = folder / f"{model_type}.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return shipped().load_file(str(path))
