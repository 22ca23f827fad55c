"""`python -m tools.site` writes the documentation to site/, and fails where a link leads nowhere.

`--within MODEL_TYPE …` writes the pages of these architectures only, for a quick look.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import archspec
from tools.site.architectures import ROOT, checkpoints, page
from tools.site.pages import BROWSER, navigation, stage

SITE = ROOT / "site"
_EXTENSIONS = ["tables", "pymdownx.superfences", "pymdownx.highlight"]


def write_architectures(folder: Path, only: Iterable[str] = ()) -> None:
    """A page for each model type, and the one that lists them; both cores at work."""
    folder.mkdir()
    described = archspec.catalogue().model_types
    names = sorted(set(only) or described)
    found = checkpoints()
    written = partial(page, browser=BROWSER.is_dir())
    with ProcessPoolExecutor() as pool:
        pages = pool.map(
            written, names, [described[name] for name in names], [found.get(name, []) for name in names]
        )
        for name, text in zip(names, pages, strict=True):
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
    rows = [f"| [{name}]({name}.md) | {' '.join(f'`{one}`' for one in described[name])} |" for name in names]
    head = [
        "# Architectures",
        "",
        f"{len(names)} model types.",
        "",
        "| model type | classes |",
        "| --- | --- |",
    ]
    (folder / "index.md").write_text("\n".join([*head, *rows, ""]), encoding="utf-8")


def settings() -> str:
    """The generator's settings; nothing is fetched, so there are no fonts but those of the reader."""
    project = {
        "site_name": "archspec",
        "site_description": "Exact parameter counts of transformer architectures, and their closed forms",
        "use_directory_urls": False,
        "extra_css": ["site.css"],
        "nav": navigation(),
        "markdown_extensions": {"toc": {"permalink": True}, **{name: {} for name in _EXTENSIONS}},
    }
    theme = {"font": False, "palette": [*map(_palette, ("default", "slate"), ("light", "dark"))]}
    lines = [f"{key} = {_toml(value)}" for key, value in project.items()]
    lines += ["[project.theme]", *[f"{key} = {_toml(value)}" for key, value in theme.items()]]
    return "\n".join(["[project]", *lines, ""])


def _palette(scheme: str, preferred: str) -> dict[str, object]:
    """A colour scheme, taken where the reader's system prefers it, with the button for the other."""
    icon, other = ("lucide/sun", "dark") if preferred == "light" else ("lucide/moon", "light")
    toggle = {"icon": icon, "name": f"Switch to {other} mode"}
    return {"media": f"(prefers-color-scheme: {preferred})", "scheme": scheme, "toggle": toggle}


def _toml(value: object) -> str:
    """A value in TOML: that of JSON, but for tables.

    >>> _toml([{"Guide": "index.md"}, True])
    '[{"Guide" = "index.md"}, true]'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("--within", nargs="+", default=[], metavar="MODEL_TYPE")
    within = parser.parse_args(arguments).within
    if unknown := set(within) - archspec.catalogue().model_types.keys():
        parser.error(f"no model type: {', '.join(sorted(unknown))}")
    if shutil.which("zensical") is None:
        parser.error('zensical is not installed: pip install -e ".[docs]"')
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage(folder / "docs")
        write_architectures(folder / "docs" / "architectures", within)
        shutil.copy(Path(__file__).with_name("site.css"), folder / "docs")
        (folder / "zensical.toml").write_text(settings(), encoding="utf-8")
        code = subprocess.run(["zensical", "build", "--strict"], cwd=folder, check=False).returncode
        if code:
            return 1
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.move(folder / "site", SITE)
    print(f"{SITE}: {sum(1 for _ in SITE.rglob('*.html'))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
