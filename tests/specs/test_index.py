"""The index of names is what parsing every spec gives."""

from __future__ import annotations

from archspec.specs.library import shipped


def test_the_catalogue_is_what_parsing_gives() -> None:
    found = shipped().catalogue()
    assert list(found) == shipped().model_types()
    assert {name: list(shipped().load(name).architectures) for name in found} == {
        name: list(names) for name, names in found.items()
    }
    assert sum(map(len, found.values())) > 100
