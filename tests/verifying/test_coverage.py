"""docs/coverage.json and docs/coverage.md are stale if a pair, a spec or the page changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.cli.main import main
from archspec.reference import versions
from archspec.verifying import coverage

pytestmark = pytest.mark.reference
KEY = ("bert", "BertModel")


def test_coverage_is_fresh_until_a_pair_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = str(tmp_path / "coverage.json"), str(tmp_path / "coverage.md")
    wanted, now = coverage.digests(), coverage.exported_classes()
    monkeypatch.setattr(coverage, "paths", lambda: files)
    monkeypatch.setattr(coverage, "digests", lambda: wanted)
    pairs = {key: coverage.Pair(*key, line.autos, "unsupported") for key, line in now.items()}
    pairs |= {key: pairs[key]._replace(status="exact", digest=digest) for key, digest in wanted.items()}
    head = {**versions(), "samples": 20, "seed": 0}
    bert = pairs.pop(KEY)
    for new, problem in (
        (bert, None),
        (None, "bert/BertModel is not in docs"),
        (bert._replace(digest="0"), "bert/BertModel was recorded with another spec"),
        (bert._replace(digest=""), "bert/BertModel was recorded with another spec"),
        (bert._replace(architecture="NoModel"), "bert/NoModel is not in transformers any more"),
    ):
        coverage.write(head, [*pairs.values(), *([new] if new else [])])
        found = coverage.stale_lines()
        assert any(problem in one for one in found) if problem else found == []
    coverage.write(head, [*pairs.values(), bert])
    (tmp_path / "coverage.md").write_text("# Coverage\n")
    assert "docs/coverage.md does not match" in coverage.stale_lines()[0]


def test_the_command_draws_as_many_samples_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr(coverage, "update", lambda samples, *_, **__: drawn.append(samples))
    recorded = coverage.read_record()[0]["samples"]
    for options in ([], ["--samples", str(recorded + 1)]):
        assert main(["verify", "--coverage", *options]) == 0
    assert drawn == [recorded, recorded + 1]
