"""The GitHub Action's steps and the pre-commit hook, run as their hosts run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from archspec.tables.verbs import VERBS
from tools.github import MARK, MAX_COMMENT, Config, report_text

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
BERT = {"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 2}
ROOTS = ("PYTHONPATH", "GITHUB_ACTION_PATH")
FILES = {"GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "output"}
FILES |= {"CALLS": "calls", "COMMENTS": "comments"}  # of the stand-in for gh
POST = "api --method POST repos/someone/models/issues/5/comments --field body=@report.md --silent"
PATCH = "api --method PATCH repos/someone/models/issues/comments/7 --field"
GH = """#!/bin/bash
printf '%s\\n' "${author:+as $author: }$*" >> "$CALLS"
[[ "$*" == *viewer* ]] && echo 'github-actions[bot]'
[[ "$*" == *--paginate* ]] && cat "$COMMENTS" || true
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit `base` and, in its folder, what a branch makes of it."""
    folder = tmp_path / "repository"
    (folder / "configs").mkdir(parents=True)
    (folder / "specs").mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name in ("same", "deeper", "gone", "broken"):
        (folder / "configs" / f"{name}.json").write_text(json.dumps(BERT))
    commit(folder, "base")
    git(folder, "tag", "base")
    (folder / "configs" / "deeper.json").write_text(json.dumps({**BERT, "num_hidden_layers": 3}))
    (folder / "configs" / "broken.json").write_text(json.dumps({**BERT, "hidden_size": 7}))
    (folder / "configs" / "new <b>.json").write_text(json.dumps(BERT))
    (folder / "configs" / "gone.json").unlink()
    commit(folder, "change")
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, message: str) -> None:
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", message)


@pytest.fixture
def step(tmp_path: Path, repository: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a step of the action as GitHub does, with its inputs; `python` and `gh` are at hand."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in {"python": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', "gh": GH}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    for name in FILES.values():
        (tmp_path / name).touch()

    def run(name: str, **context: str) -> subprocess.CompletedProcess[str]:
        env = {key: evaluated(text, context) for key, text in STEPS[name].get("env", {}).items()}
        env = {**os.environ, **env, "GITHUB_REPOSITORY": "someone/models", "RUNNER_TEMP": str(tmp_path)}
        env |= {"PATH": f"{programs}:{os.environ['PATH']}", **dict.fromkeys(ROOTS, str(ROOT))}
        env |= {variable: str(tmp_path / file) for variable, file in FILES.items()}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[name]["run"]]
        return subprocess.run(command, cwd=repository, env=env, capture_output=True, text=True, timeout=600)

    return run


def evaluated(text: str, context: dict[str, str]) -> str:
    """A `${{ … }}` with the value of its last name."""
    return re.sub(r"\$\{\{ .*?(\w+) \}\}", lambda match: context.get(match[1], ""), text)


def test_the_action_is_whole() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert {"name", "description", "inputs", "outputs", "runs"} <= ACTION.keys()
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == ACTION["inputs"].keys()
    assert all(one["description"] for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))
    for one in ACTION["runs"]["steps"]:
        assert "uses" in one or one["shell"] == "bash"
        assert "${{" not in one.get("run", ""), "what an input says is never part of a script"


def test_wrong_specs_are_annotated(step: Callable[..., Any], repository: Path) -> None:
    spec = (ROOT / "formulas" / "bert.yaml").read_text(encoding="utf-8")
    (repository / "specs" / "bert.yaml").write_text(spec.replace("Linear(hidden_size", "Linear(hiden_size"))
    done = step("Lint", specs="specs")
    assert done.returncode == 2
    assert "::error file=specs/bert.yaml,line=" in done.stdout and "%0Ahelp%3A did you mean" in done.stdout
    (repository / "specs" / "bert.yaml").write_text(spec)
    assert step("Lint", specs="specs\nspecs/bert.yaml").returncode == 0


def test_a_spec_line_is_never_a_workflow_command(step: Callable[..., Any], repository: Path) -> None:
    (repository / "specs" / "toy.yaml").write_text("model_type: toy\n'::warning file=a.py::hello': 1\n")
    done = step("Lint", specs="specs")
    assert done.returncode == 2
    before, token, quoted = re.split(r"::stop-commands::([0-9a-f]{32})\n", done.stdout)
    quoted, end, after = quoted.partition(f"\n::{token}::\n")
    assert end and "::warning file=a.py::hello" in quoted
    assert not re.search("^ *::warning", before + after, re.MULTILINE)


@pytest.mark.parametrize("place", ["specs/link.yaml", "specs/linked"])
def test_a_linked_spec_is_refused(place: str, step: Callable[..., Any], repository: Path) -> None:
    target = repository.parent / "secret"
    target.mkdir()
    (target / "bert.yaml").write_text("SECRET: hunter2")
    (repository / place).symlink_to(target / "bert.yaml" if place.endswith("yaml") else target)
    for given in ("specs", place):
        done = step("Lint", specs=given)
        assert done.returncode == 2 and f"{place} is a symbolic link" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr


def test_a_linked_config_is_not_read(step: Callable[..., Any], repository: Path, tmp_path: Path) -> None:
    """Neither a link, nor a file below a linked folder, nor a file that is a link only in the checkout."""
    (tmp_path / "secret.json").write_text('{"model_type": "bert", "SECRET": "hunter2"')
    (repository / "configs" / "new <b>.json").unlink()
    (repository / "configs" / "new <b>.json").symlink_to(tmp_path / "secret.json")
    (repository / "configs" / "linked").symlink_to(tmp_path)
    commit(repository, "links")
    (repository / "configs" / "deeper.json").unlink()
    (repository / "configs" / "deeper.json").symlink_to(tmp_path / "secret.json")
    done = step("Compare", configs="configs/**", base="base")
    text = (tmp_path / "archspec.md").read_text(encoding="utf-8")
    assert done.returncode == 0 and "hunter2" not in text + done.stdout + done.stderr
    assert text.count("this is a symbolic link, which is not followed") == 2
    assert "| configs/deeper.json | BertModel | 38,603,520 | 45,691,392 |" in text


def test_a_name_cannot_close_the_fence(step: Callable[..., Any], repository: Path, tmp_path: Path) -> None:
    name = "A\n````\n`````\n<img src=x> @someone [link](https://example.com)"
    (repository / "configs" / "same.json").write_text(
        json.dumps({"model_type": name, "architectures": [name]})
    )
    (repository / "configs" / "deeper.json").write_text(json.dumps({**BERT, "hidden_act": "[a](b) @someone"}))
    commit(repository, "hostile")
    step("Compare", configs="configs/*.json", base="base")
    text = (tmp_path / "archspec.md").read_text(encoding="utf-8")
    fences = re.findall(r"^(`{3,})(?:text)?$", text, re.MULTILINE)
    outside = re.sub(r"^(`{4,})text\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert fences and "<img" not in outside
    assert not re.search(r"@someone|(?<!\\)\[[^]]*\]\(", outside)


def test_the_change_of_configs_is_told(step: Callable[..., Any], tmp_path: Path) -> None:
    done = step("Compare", configs="configs/*.json **/config.json", base="base")
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "archspec.md").read_text(encoding="utf-8")
    assert text.startswith(MARK)
    rows = [line for line in text.splitlines() if line.startswith("| configs/")]
    assert rows == [
        "| configs/broken.json | BertModel | 38,603,520 | not counted |  |",
        "| configs/deeper.json | BertModel | 38,603,520 | 45,691,392 | +7,087,872 (+18.36%) |",
        "| configs/gone.json | BertModel | 38,603,520 |  |  |",
        "| configs/new&#32;&#60;b&#62;.json | BertModel |  | 38,603,520 |  |",
    ]
    assert "note: num\\_hidden\\_layers is 2 in A, 3 in B" in text
    assert "transformers requires `hidden_size % num_attention_heads == 0`" in text
    assert (tmp_path / "output").read_text() == f"changed=true\nreport={tmp_path}/archspec.md\n"
    assert (tmp_path / "summary").read_text(encoding="utf-8").startswith(MARK)


def test_a_commit_that_is_not_there(step: Callable[..., Any]) -> None:
    done = step("Compare", configs="configs/*.json", base="nowhere")
    assert done.returncode == 2
    assert done.stdout.startswith("::error::nowhere is not a commit in this checkout")


@pytest.mark.parametrize(
    ("comments", "changed", "called"),
    [("", "true", POST), ("7\n9\n", "false", PATCH), ("", "false", None)],
)
def test_one_comment_is_kept(
    comments: str, changed: str, called: str | None, step: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "comments").write_text(comments)
    done = step("Comment", number="5", changed=changed, report="report.md", token="secret")
    assert (done.returncode, done.stderr) == (0, "")
    viewer, first, *others = (tmp_path / "calls").read_text().splitlines()
    assert "viewer{login}" in viewer and first.startswith("as github-actions[bot]: api --paginate")
    assert "select(.user.login == env.author and" in first
    others = [call.removeprefix("as github-actions[bot]: ") for call in others]
    assert [call.startswith(called or "none") for call in others] == [True] * (called is not None)


def test_a_report_that_is_too_long() -> None:
    reasons = [Config(f"{number}.json", None, "x" * 20_000) for number in range(4)]
    text = report_text(reasons)
    assert text.count("<details>") == 2 and len(text) < MAX_COMMENT + 100
    assert text.endswith("run `archspec diff`.") and "| 3.json |" in text
    assert report_text([]) == f"{MARK}\nNo config differs."


def blocks(page: str) -> list[Any]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


def test_the_pages_name_what_there_is() -> None:
    workflow, *hooks = blocks("how-to/ci-gate.md")
    *_, used = workflow["jobs"]["archspec"]["steps"]
    assert used["with"].keys() <= ACTION["inputs"].keys()
    named = [hook for page in hooks for repo in page["repos"] for hook in repo["hooks"]]
    assert {hook["id"] for hook in named} == {HOOKS[0]["id"]}


def test_the_hook(tmp_path: Path) -> None:
    """Its entry, with the files that its pattern takes, as pre-commit gives them."""
    (hook,) = HOOKS
    assert {"id", "name", "entry", "language", "files"} <= hook.keys() and hook["types"] == ["yaml"]
    program, verb = shlex.split(hook["entry"])
    assert (program, hook["language"]) == ("archspec", "python") and verb in VERBS
    names = ["formulas/bert.yaml", "models/specs/shared/a.yaml"]
    assert all(re.search(hook["files"], name) for name in names)
    assert not re.search(hook["files"], "docs/formula.yaml")
    wrong = tmp_path / "bert.yaml"
    wrong.write_text((ROOT / names[0]).read_text().replace("hidden_size)", "hiden_size)"))
    for code, files in ((0, names[:1]), (2, [names[0], str(wrong)])):
        command = [sys.executable, "-m", "archspec", verb, *files]
        assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == code
