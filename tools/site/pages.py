"""The pages that people wrote, as the site has them: where each stands, in which order."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tools.site.architectures import ROOT

# Every page of docs/ is in one of these, and README.md as the index; a test says which is forgotten.
SECTIONS = {
    "Start": ["index.md", "tutorial.md", "contents.md"],
    "How-to guides": [
        "how-to/size-before-training.md",
        "how-to/find-a-config.md",
        "how-to/latex-for-a-paper.md",
        "how-to/sweep.md",
        "how-to/deployment-memory.md",
        "how-to/training-memory.md",
        "how-to/inspect-a-model.md",
        "how-to/compare-models.md",
        "how-to/ci-gate.md",
        "how-to/use-from-python.md",
        "how-to/your-own-model.md",
        "how-to/add-an-architecture.md",
        "how-to/shell-completion.md",
        "how-to/host-the-page.md",
    ],
    "Reference": [
        "reference/command-line.md",
        "reference/python.md",
        "reference/quantities.md",
        "spec-grammar.md",
        "coverage.md",
        "reference/limitations.md",
    ],
    "Explanation": [
        "explanation/what-is-counted.md",
        "explanation/speed-and-exactness.md",
        "papers.md",
        "gallery.md",
        "design.md",
        "decisions/README.md",
    ],
    "Project": ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
}
ARCHITECTURES = "architectures/index.md"
BROWSER = ROOT / "web" / "dist"  # the page in the browser, where it was built
_BACK = '<link rel="help" href="../index.html">'  # by which the page in the browser finds the site around it
_TOP = ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"]
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def navigation(browser: Path = BROWSER) -> list[dict[str, object]]:
    """The site's navigation; a model type's page is reached by the index of architectures."""
    entries: list[dict[str, object]] = []
    for title, pages in SECTIONS.items():
        entries.append({title: pages[0] if len(pages) == 1 else pages})
        if title == "Reference":
            entries.append({"Architectures": ARCHITECTURES})
    if browser.is_dir():
        entries.insert(1, {"In the browser": "app/index.html"})
    return entries


def stage(folder: Path, browser: Path = BROWSER) -> None:
    """Copy docs/ pages of the root and the page in the browser into one folder, as the site has them."""
    shutil.copytree(
        ROOT / "docs", folder, ignore=shutil.ignore_patterns("__pycache__", "*.py[co]", "make_*.py")
    )
    if browser.is_dir():
        shutil.copytree(browser, folder / "app")
        page = folder / "app" / "index.html"
        page.write_text(
            page.read_text(encoding="utf-8").replace("</head>", f"{_BACK}</head>"), encoding="utf-8"
        )
    for name in _TOP:
        shutil.copy(ROOT / name, folder / name)
    shutil.copy(ROOT / "README.md", folder / "index.md")
    for path in folder.rglob("*.md"):
        path.write_text(for_site(path.read_text(encoding="utf-8")), encoding="utf-8")
    _list_examples(folder / "examples")


def for_site(text: str) -> str:
    """A page with its links as they are where docs/ and the root are one folder, and its lists set apart.

    GitHub begins a list without an empty line before it, Python-Markdown does not.

    >>> for_site("See [python](docs/python.md):\\n- one\\n  and more\\n- two")
    'See [python](python.md):\\n\\n- one\\n  and more\\n- two'
    """
    lines: list[str] = []
    fenced = in_list = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        is_item = not fenced and bool(_ITEM.match(line))
        if is_item and not in_list and lines and lines[-1]:
            lines.append("")
        in_list = is_item or (in_list and line.startswith("  "))
        lines.append(line if fenced else _linked(line))
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")


def _linked(line: str) -> str:
    line = re.sub(r"\]\(docs/", "](", line)
    line = re.sub(r"\]\((?:\.\./)README\.md", "](index.md", line)
    return re.sub(r"examples\)", "examples/index.md)", line)


def _list_examples(folder: Path) -> None:
    """A page that lists the files of a folder, which a host of static files does not."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = ["# Examples", "", *[f"- [{name}]({name})" for name in files], ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")
