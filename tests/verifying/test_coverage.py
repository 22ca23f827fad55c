"""docs/coverage.json matches the specs and transformers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from archspec.reference import versions
from archspec.verifying import coverage

pytestmark = pytest.mark.reference


def recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[coverage.Pair], coverage.Pair | None]
) -> list[str]:
    """Return what is out of date after a change of docs/coverage.json."""

    monkeypatch.setattr(
        coverage, "paths", lambda: (str(tmp_path / "coverage.json"), str(tmp_path / "coverage.md"))
    )
    wanted = coverage.digests(coverage.exported_classes())
    pairs = [
        coverage.Pair(
            *key, line.autos, "exact" if key in wanted else "unsupported", digest=wanted.get(key, "")
        )
        for key, line in coverage.exported_classes().items()
    ]
    coverage.write(
        {**versions(), "samples": 20, "seed": 0}, [new for pair in pairs if (new := change(pair)) is not None]
    )
    return coverage.stale()


def test_coverage_is_fresh_until_a_pair_or_a_spec_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only(
        name: str, new: Callable[[coverage.Pair], coverage.Pair | None]
    ) -> Callable[[coverage.Pair], coverage.Pair | None]:
        return lambda pair: new(pair) if pair.architecture == name else pair

    assert recorded(tmp_path, monkeypatch, lambda pair: pair) == []
    assert (
        "bert/BertModel is not in docs"
        in recorded(tmp_path, monkeypatch, only("BertModel", lambda pair: None))[0]
    )
    assert (
        "another spec"
        in recorded(tmp_path, monkeypatch, only("BertModel", lambda pair: pair._replace(digest="0")))[0]
    )
    assert (
        "another spec"
        in recorded(tmp_path, monkeypatch, only("BertModel", lambda pair: pair._replace(digest="")))[0]
    )
    renamed = only("BertModel", lambda pair: pair._replace(architecture="NoModel"))
    assert any(
        "bert/NoModel is not a pair" in problem for problem in recorded(tmp_path, monkeypatch, renamed)
    )
    recorded(tmp_path, monkeypatch, lambda pair: pair)
    (tmp_path / "coverage.md").write_text("# Coverage\n")
    assert "docs/coverage.md does not match docs/coverage.json" in coverage.stale()[0]
