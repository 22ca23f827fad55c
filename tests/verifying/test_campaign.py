"""Which architectures are verified, and that one that fails does not end the others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from archspec.verifying import campaign

pytestmark = pytest.mark.reference


def test_changed_takes_what_differs_from_git_and_what_uses_it(checkout: Path) -> None:
    def git(*arguments: str) -> None:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, cwd=checkout, check=True, capture_output=True)

    (checkout / "llama.yaml").unlink()
    (checkout / "child.yaml").write_text("model_type: child\nextends: bert\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    assert campaign.changed_architectures() == {}
    (checkout / "bert.yaml").write_text((checkout / "bert.yaml").read_text() + "# changed\n")
    assert sorted(campaign.changed_architectures()) == ["bert", "child"]
    git("commit", "-am", "two")
    (checkout / "own.yaml").write_text("model_type: own\narchitectures:\n  OwnModel:\n    a: Linear(1, 1)\n")
    assert sorted(campaign.changed_architectures()) == ["own"]
    assert sorted(campaign.changed_architectures("HEAD~1")) == ["bert", "child", "own"]
