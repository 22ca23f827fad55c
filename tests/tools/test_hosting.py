"""The workflow and the Space that serve the page and the site name existing files."""

from __future__ import annotations

import json
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from tools.site.__main__ import SITE

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
PACKAGE = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
JOBS = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8"))["jobs"]
STEPS: list[dict[str, Any]] = [step for job in JOBS.values() for step in job["steps"]]


def settings(action: str) -> dict[str, Any]:
    """Return the inputs of the only step that uses an action."""
    [step] = [step for step in STEPS if step.get("uses", "").startswith(action)]
    return dict(step.get("with", {}))


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_the_workflow_runs_what_there_is() -> None:
    scripts = [script for step in STEPS if "working-directory" in step for script in step["run"].splitlines()]
    assert scripts == ["npm ci", "npm run build"]
    assert "build" in PACKAGE["scripts"] and (WEB / "package-lock.json").is_file()
    rest = "\n".join(step["run"] for step in STEPS if "run" in step and "working-directory" not in step)
    [module] = re.findall(r"python -m (tools\S+)", rest)
    assert find_spec(f"{module}.__main__")
    [extra] = re.findall(r"\[(\w+)\]", rest)
    assert extra in PROJECT["optional-dependencies"]
    [script] = re.findall(r"^(web/\S+)", rest, re.MULTILINE)
    assert os.access(ROOT / script, os.X_OK)


def test_the_workflow_uses_versions_that_the_project_takes() -> None:
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in STEPS if "uses" in step)
    node, python = PACKAGE["engines"]["node"], PROJECT["requires-python"]
    assert numbers(settings("actions/setup-node")["node-version"]) >= numbers(node.removeprefix(">="))
    assert numbers(settings("actions/setup-python")["python-version"]) >= numbers(python.removeprefix(">="))


def test_the_workflow_deploys_the_site_that_it_builds() -> None:
    assert ROOT / settings("actions/upload-pages-artifact")["path"] == SITE
    assert (ROOT / settings("actions/setup-node")["cache-dependency-path"]).is_file()
    assert JOBS["deploy"]["needs"] == "build"
    assert JOBS["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}


def test_the_space_is_a_static_one_that_shows_the_page() -> None:
    _, front, text = (WEB / "space/README.md").read_text(encoding="utf-8").split("---\n")
    card = yaml.safe_load(front)
    assert card.keys() >= {"title", "emoji", "colorFrom", "colorTo"} and text.strip()
    assert card["sdk"] == "static" and (WEB / card["app_file"]).is_file()
    assert card["license"] == PROJECT["license"].lower()
    assert len(card["short_description"]) <= 60  # the hub refuses a longer one


def test_the_space_is_pushed_from_what_the_build_writes() -> None:
    script = (WEB / "space/push").read_text(encoding="utf-8")
    assert re.findall(r'hf upload "\$space" (\S+)', script) == ["space/README.md", "dist"]
