"""`--specs` on every verb that takes a model, and what the verbs say of specs of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.cli.main import main

TINY = """# tiny: a small model of one's own
# code: mymodels.py
model_type: tiny
config:
  width: 8
  depth: 2
  inner: = Config(tiny_inner)
architectures:
  Tiny:
    layers: Linear(width, width) for i in range(depth)
    head: Linear(width, inner.width)
"""
INNER = """# tiny_inner: its part
# code: mymodels.py
model_type: tiny_inner
config:
  width: 3
architectures:
  TinyInner:
    head: Linear(width, width)
"""


@pytest.fixture
def specs(tmp_path: Path) -> str:
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "tiny_inner.yaml").write_text(INNER)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("count tiny", "171"),
        ("count Tiny --set inner.width=1 --set depth=1", "81"),
        ("tree Tiny", "Tiny"),
        ("tensors Tiny", "head.weight"),
        ("formula Tiny", "= 171 at the values below"),
        ("sensitivity Tiny", "= 171"),
        ("diff Tiny TinyInner", "12"),
        ("table Tiny --columns model,params,inner.width", "171"),
        ("sweep Tiny --set depth=1:2", "171"),
        ("solve Tiny --params 1000 --free depth", "depth"),
        ("list tiny", "note: tiny is described in"),
    ],
)
def test_every_verb_finds_them(
    command: str, shown: str, specs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*command.split(), "--specs", specs])
    assert code == int(command.startswith("diff")) and shown in capsys.readouterr().out
    assert main(command.split()) == (2 if "list" not in command else 0)


def test_costs_are_refused_with_a_reason(specs: str, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("flops", "cache", "memory"):
        assert main([verb, "Tiny", "--specs", specs]) == 2
        assert "the costs of Tiny (tiny) are not supported" in capsys.readouterr().err


def test_lint_finds_what_stands_beside_a_file(specs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", specs]) == main(["lint", "--specs", specs]) == 0
    assert capsys.readouterr().out == "2 files, no problems\n" * 2
    Path(specs, "tiny_inner.yaml").unlink()
    assert main(["lint", f"{specs}/tiny.yaml"]) == 2
    assert "tiny_inner" in capsys.readouterr().out
