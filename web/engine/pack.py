"""Writes public/engine/: Pyodide's runtime, archspec with PyYAML and SymPy as archives, shipped checkpoints.

The archives hold what their wheels hold, less tests and what a page never imports; the worker unpacks
archspec's before the first count, SymPy's when a formula is asked for.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

WEB = Path(__file__).parent.parent
ROOT = WEB.parent
OUT = WEB / "public" / "engine"
PYODIDE = WEB / "node_modules" / "pyodide"
MODULES = ("pyodide", "pyodide.asm")
DATA = ("pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
UNUSED = ("archspec/cli/", "archspec/oracle/", "archspec/verifying/", "archspec/deriving/", "sympy/physics/")
UNUSED_ENDS = ("RECORD", "_pytest.py", ".so", ".pyd")

Files = dict[str, bytes]


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for name in MODULES:  # as .js, which every host knows as JavaScript; nginx for one does not know .mjs
        text = (PYODIDE / f"{name}.mjs").read_text(encoding="utf-8")
        (OUT / f"{name}.js").write_text(text.replace("pyodide.asm.mjs", "pyodide.asm.js"), encoding="utf-8")
    for name in DATA:
        shutil.copy(PYODIDE / name, OUT / name)
    with tempfile.TemporaryDirectory() as folder:
        fetched = Path(folder)
        pip("wheel", "--no-deps", "--wheel-dir", folder, str(ROOT))
        requirements = str(WEB / "engine" / "requirements.txt")
        pip("download", "--no-deps", "--only-binary", ":all:", "--dest", folder, "-r", requirements)
        archives = {
            "archspec.zip": {**wheel(fetched, "archspec_formulas"), **wheel(fetched, "pyyaml")},
            "sympy.zip": {**wheel(fetched, "sympy"), **wheel(fetched, "mpmath")},
        }
    for name, files in archives.items():
        written(OUT / name, files)
    (OUT / "checkpoints.json").write_text(json.dumps(checkpoints()), encoding="utf-8")
    for path in sorted(OUT.iterdir()):
        print(f"{path.stat().st_size:>10,}  {path.name}")


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True)


def wheel(folder: Path, name: str) -> Files:
    """The files of a wheel that a page may import; what is compiled is for another machine."""
    [path] = folder.glob(f"{name}-*.whl")
    with zipfile.ZipFile(path) as archive:
        return {one: archive.read(one) for one in archive.namelist() if used(one)}


def used(name: str) -> bool:
    return not (name.startswith(UNUSED) or "/tests/" in name or name.endswith(UNUSED_ENDS))


def written(path: Path, files: Files) -> None:
    """An archive that is the same whenever its files are."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    path.write_bytes(packed.getvalue())


def checkpoints() -> dict[str, str]:
    """The shipped config.json files by hub id."""
    paths: Iterable[Path] = sorted((ROOT / "configs").glob("*.json"))
    return {path.stem.replace("--", "/", 1): path.read_text(encoding="utf-8") for path in paths}


if __name__ == "__main__":
    main()
