"""If an optional package is missing, the error names the package to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SWEEP, VERIFY = '"archspec-formulas[sweep]"', '"archspec-formulas[verify]"'
GRID = "archspec.sweep('GPT2Model', {'n_layer': [1, 2]})"
LINE = "main(['sweep', 'GPT2Model', '--set', 'n_layer=1,2'"
VERIFYING = [["verify", "BertModel"], ["verify", "--costs", "BertModel"], ["derive", "BertModel"]]
IN_PYTHON = ["archspec.verify('BertModel')", "archspec.derive('BertModel', samples=1)"]
ASKED = {  # missing packages -> the extra to install, and the calls that need it
    "numpy": (SWEEP, [GRID, f"{LINE}])"]),
    "pyarrow": (SWEEP, [f"list({GRID}.rows())", f"{GRID}.to_arrow()", f"{GRID}.write('x.csv')", f"{LINE}])"]),
    "matplotlib": (SWEEP, [f"{GRID}.plot()", f"{LINE}, '--plot', 'x.png'])"]),
    "pandas": ("pandas", [f"{GRID}.to_pandas()"]),
    "polars": ("polars", [f"{GRID}.to_polars()"]),
    "torch transformers": (VERIFY, [*(f"main({line})" for line in VERIFYING), *IN_PYTHON]),
    "z3": (VERIFY, ["main(['verify', 'BertModel'])", *IN_PYTHON]),
    "huggingface_hub": ("huggingface-hub, or pass a path", ["archspec.load('some/model')"]),
}
INSTALLED_AS = {"z3": "z3-solver", "huggingface_hub": "huggingface-hub"}
CODE = """
import contextlib, importlib.abc, io, json, sys

class Without(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
import archspec
from archspec.cli.main import main

said = []
for text in json.loads(sys.argv[2]):
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            assert eval(text) == 2, text
        except archspec.ArchspecError as error:
            said.append(str(error))
        else:
            said.append(errors.getvalue().rstrip())
print(json.dumps(said))
"""


@pytest.mark.parametrize("packages", ASKED)
def test_what_to_install_is_said(packages: str) -> None:
    wanted, texts = ASKED[packages]
    command = [sys.executable, "-c", CODE, packages, json.dumps(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for said in json.loads(done.stdout):
        message, help_ = said.split("\n")
        package = INSTALLED_AS.get(packages, packages.split()[0])
        assert message.endswith(f"{package} is not installed") and help_ == f"help: run pip install {wanted}"


def test_it_is_an_import_error_too() -> None:
    from archspec.errors import ArchspecError, MissingPackageError

    assert issubclass(MissingPackageError, ArchspecError) and issubclass(MissingPackageError, ImportError)
