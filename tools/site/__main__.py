"""`python -m tools.site` writes the documentation to site/, and fails for a link to a missing page.

The order of the pages is in zensical.toml next to this file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import archspec
from tools.site.architectures import ROOT, checkpoints, page

SITE = ROOT / "site"
BROWSER = ROOT / "web" / "dist"  # the page in the browser, if it was built
SETTINGS = Path(__file__).with_name("zensical.toml")
TOP = ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"]
_BACK = '<link rel="help" href="../index.html">'  # the page in the browser finds the site by it
_APP = re.compile(r'.*"app/index.html".*\n')


def stage(folder: Path, browser: Path = BROWSER) -> None:
    """Copy docs/, pages of the root and the page in the browser into one directory, with the settings."""
    docs = folder / "docs"
    left_out = shutil.ignore_patterns("__pycache__", "*.py[co]", "make_*.py")
    shutil.copytree(ROOT / "docs", docs, ignore=left_out)
    settings = SETTINGS.read_text(encoding="utf-8")
    if browser.is_dir():
        shutil.copytree(browser, docs / "app")
        app = docs / "app" / "index.html"
        text = app.read_text(encoding="utf-8").replace("</head>", f"{_BACK}</head>")
        app.write_text(text, encoding="utf-8")
    else:
        settings = _APP.sub("", settings)
    (folder / SETTINGS.name).write_text(settings, encoding="utf-8")
    for name in TOP:
        shutil.copy(ROOT / name, docs / name)
    shutil.copy(ROOT / "README.md", docs / "index.md")
    shutil.copy(SETTINGS.with_name("site.css"), docs)
    for path in docs.rglob("*.md"):
        path.write_text(for_site(path.read_text(encoding="utf-8")), encoding="utf-8")
    files = sorted(path for path in (docs / "examples").rglob("*") if path.is_file())
    names = [path.relative_to(docs / "examples").as_posix() for path in files]
    lines = ["# Examples", "", *[f"- [{name}]({name})" for name in names], ""]
    (docs / "examples" / "index.md").write_text("\n".join(lines), encoding="utf-8")


def for_site(text: str) -> str:
    """Return a page with links for one directory of docs/ and the root, and an empty line before lists.

    GitHub begins a list without an empty line before it, Python-Markdown does not.

    >>> for_site("See [python](docs/python.md):\\n- one\\n  and more\\n- two")
    'See [python](python.md):\\n\\n- one\\n  and more\\n- two'
    """
    lines: list[str] = []
    fenced = in_list = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        is_item = not fenced and bool(re.match(r"(?:[-*]|\d+\.) ", line))
        if is_item and not in_list and lines and lines[-1]:
            lines.append("")
        in_list = is_item or (in_list and line.startswith("  "))
        if not fenced:
            line = line.replace("](docs/", "](").replace("](../README.md", "](index.md")
            line = line.replace("examples)", "examples/index.md)")
        lines.append(line)
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")


def write_architectures(folder: Path) -> None:
    """Write a page for each model type, and the one that lists them."""
    folder.mkdir()
    supported, found = dict(sorted(archspec.catalog().model_types.items())), checkpoints()
    written = partial(page, browser=BROWSER.is_dir())
    with ProcessPoolExecutor() as pool:
        texts = pool.map(written, supported, supported.values(), [found.get(name, []) for name in supported])
        for name, text in zip(supported, texts, strict=True):
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
    head = f"# Architectures\n\n{len(supported)} model types.\n\n| model type | classes |\n| --- | --- |"
    classes = {name: " ".join(f"`{one}`" for one in classes) for name, classes in supported.items()}
    lines = [f"| [{name}]({name}.md) | {text} |" for name, text in classes.items()]
    (folder / "index.md").write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def main() -> int:
    if shutil.which("zensical") is None:
        sys.exit('zensical is not installed: pip install -e ".[docs]"')
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage(folder)
        write_architectures(folder / "docs" / "architectures")
        if subprocess.run(["zensical", "build", "--strict"], cwd=folder, check=False).returncode:
            return 1
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.move(folder / "site", SITE)
    print(f"{SITE}: {sum(1 for _ in SITE.rglob('*.html'))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
