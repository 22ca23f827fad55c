"""Write public/engine/: Pyodide's runtime, archives of archspec with PyYAML and of SymPy, and catalogs.

The archives contain the compiled modules of the wheels, without tests and unused modules (bytecode.py).
The worker unpacks archspec's before the first count, and SymPy's before the first formula.
"""

from __future__ import annotations

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
DATA = ("pyodide.asm.wasm", "pyodide-lock.json")
UNUSED = (
    "archspec/cli/",
    "archspec/reference/",
    "archspec/verifying/",
    "archspec/deriving/",
    "sympy/physics/",
)
UNUSED_ENDS = ("RECORD", "_pytest.py", ".so", ".pyd")


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for name in MODULES:  # as .js, because some hosts such as nginx do not serve .mjs as JavaScript
        text = (PYODIDE / f"{name}.mjs").read_text(encoding="utf-8")
        (OUT / f"{name}.js").write_text(text.replace("pyodide.asm.mjs", "pyodide.asm.js"), encoding="utf-8")
    for name in DATA:
        shutil.copy(PYODIDE / name, OUT / name)
    with tempfile.TemporaryDirectory() as wheels, tempfile.TemporaryDirectory() as folder:
        pip("wheel", "--no-deps", "--wheel-dir", wheels, str(ROOT))
        requirements = str(WEB / "engine" / "requirements.txt")
        pip("download", "--no-deps", "--only-binary", ":all:", "--dest", wheels, "-r", requirements)
        packing = Path(folder)
        unpacked(Path(wheels), ("archspec_formulas", "pyyaml"), packing / "archspec")
        unpacked(Path(wheels), ("sympy", "mpmath"), packing / "sympy")
        shutil.unpack_archive(PYODIDE / "python_stdlib.zip", packing / "python_stdlib")
        subprocess.run(["node", str(WEB / "engine" / "bytecode.mjs"), folder], check=True)
        for name in ("archspec.tar.zst", "sympy.tar.zst", "catalog.json"):
            shutil.copy(packing / name, OUT / name)
        zipped(packing / "python_stdlib", OUT / "python_stdlib.zip")
    (OUT / "checkpoints.json").write_text(json.dumps(checkpoints()), encoding="utf-8")
    for path in sorted(OUT.iterdir()):
        print(f"{path.stat().st_size:>10,}  {path.name}")


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True)


def unpacked(wheels: Path, names: Iterable[str], folder: Path) -> None:
    """Unpack the Python files of wheels that the page may import."""
    for name in names:
        [path] = wheels.glob(f"{name}-*.whl")
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder, [one for one in archive.namelist() if used(one)])


def used(name: str) -> bool:
    return not (name.startswith(UNUSED) or "/tests/" in name or name.endswith(UNUSED_ENDS))


def zipped(folder: Path, path: Path) -> None:
    """Write an archive that depends on its files only."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for one in sorted(folder.rglob("*")):
            if one.is_file():
                undated = zipfile.ZipInfo(str(one.relative_to(folder)))
                archive.writestr(undated, one.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def checkpoints() -> dict[str, str]:
    """Return the shipped config.json files by hub id."""
    paths: Iterable[Path] = sorted((ROOT / "configs").glob("*.json"))
    return {path.stem.replace("--", "/", 1): path.read_text(encoding="utf-8") for path in paths}


if __name__ == "__main__":
    main()
