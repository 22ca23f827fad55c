"""One edit of a table in a copy of the tree, and `tools.release`, show a new entry everywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUANTITY = """    "norm_params": Quantity(
        "norms", "parameters of normalization layers", lambda tensor: "Norm" in tensor.layer
    ),
    "buffers": Quantity("""
AXIS = """    "frobs": Axis("number of frobs", 0),
    "encoder_tokens": Axis("""
OPTION = '''    Option("verbose", "bool", "print more detail", ("flops", "cache"), default=False),
    Option("last", "bool"'''

WEIGHT_FORMAT = """    "w6": {
      "aliases": ["6bit"],
      "quantizes": "linear layers",
      "storage": "6 bits per element, a float32 scale per 64 elements",
      "leaves": "embeddings, tied weights, the last module, output embeddings, fused experts",
      "source": "a test",
      "layout": {"bits": 6, "block": [1, 64], "scale_bytes": 4, "flat": true},
      "scheme": {"classes": ["Linear", "Conv1D"]}
    },
    "nf4": {"""


class Copy:
    """A copy of the tree, with one edit of one file."""

    def __init__(self, root: Path, file: str, before: str, after: str) -> None:
        self.root = root
        for name in ("archspec", "formulas", "tools"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        (root / "web" / "src").mkdir(parents=True)
        (root / "docs").mkdir()
        path = root / file
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, after), encoding="utf-8")
        self.python(
            "from tools.page_tables import PATH, page_tables\n"
            "from tools.signatures import stale_declarations\n"
            "[path.write_text(text) for path, text in stale_declarations().items()];"
            "PATH.write_text(page_tables())"
        )

    def python(self, code: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.root), "COLUMNS": "200"}
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def command(self, *arguments: str) -> str:
        return self.python(f"from archspec.cli.main import main; main({[*arguments]!r})")

    def signature(self, function: str) -> str:
        return self.python(f"import archspec, inspect; print(inspect.signature(archspec.{function}))")

    def page(self) -> str:
        return (self.root / "web" / "src" / "generated.ts").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def quantity(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    root = tmp_path_factory.mktemp("quantity")
    return Copy(root, "archspec/tables/quantities.py", '    "buffers": Quantity(', QUANTITY)


@pytest.fixture(scope="module")
def axis(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(
        tmp_path_factory.mktemp("axis"), "archspec/tables/axes.py", '    "encoder_tokens": Axis(', AXIS
    )


@pytest.fixture(scope="module")
def option(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    root = tmp_path_factory.mktemp("option")
    return Copy(root, "archspec/tables/options.py", '    Option("last", "bool"', OPTION)


@pytest.fixture(scope="module")
def weight_format(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    root = tmp_path_factory.mktemp("weight_format")
    return Copy(root, "formulas/weight_formats.json", '    "nf4": {', WEIGHT_FORMAT)


def test_a_quantity_is_counted_everywhere(quantity: Copy) -> None:
    counts = json.loads(quantity.command("count", "GPT2Model", "--json"))
    assert counts["norm_params"] == 25 * 2 * 768  # 25 layer norms, a weight and a bias of 768 each
    assert "38,400" in quantity.command("count", "GPT2Model")
    assert "norm_params" in json.loads(quantity.command("count", "--json-schema"))["properties"]
    assert quantity.python("import archspec; print(archspec.load('GPT2Model').norm_params)") == "38400\n"
    assert "norm_params: int" in (quantity.root / "archspec/models/model.py").read_text(encoding="utf-8")
    assert "= 4·L·d + 2·d" in quantity.command("formula", "GPT2Model", "--quantity", "norm_params")
    latex = quantity.command("formula", "GPT2Model", "--quantity", "norm_params", "--env", "equation")
    assert r"N_{\mathrm{norms}} =" in latex
    assert "38,400" in quantity.command("table", "GPT2Model", "gpt2", "--columns", "norm_params")
    swept = quantity.command(
        "sweep", "GPT2Model", "--set", "n_layer=11,12", "--columns", "norm_params", "--json"
    )
    assert [json.loads(line)["norm_params"] for line in swept.splitlines()] == [35_328, 38_400]
    for verb in ("formula", "sweep", "table"):
        assert "norm_params" in quantity.command(verb, "--help")
    assert '"norm_params"' in quantity.page() and "norm_params: Whole" in quantity.page()


def test_an_axis_is_an_option_everywhere(axis: Copy) -> None:
    for verb in ("flops", "cache", "memory", "formula", "sweep", "sensitivity", "table"):
        assert "--frobs N" in axis.command(verb, "--help"), verb
    assert "frobs" in json.loads(axis.command("flops", "--json-schema"))["properties"]
    for function in (
        "Model.flops",
        "Model.cache",
        "Model.memory",
        "Model.training",
        "Model.forward",
        "sweep",
        "table",
    ):
        assert "frobs: " in axis.signature(function), function
    model = "import archspec; model = archspec.load('gpt2');"
    assert axis.python(f"{model} print(model.forward(tokens=4, frobs=2).call.frobs)") == "2\n"
    assert "'frobs': 3" in axis.python(f"{model} print(model.quantity('flops', frobs=3).call._asdict())")
    assert '"frobs"' in axis.page() and "frobs: number" in axis.page()


def test_an_option_is_there_for_its_verbs_alone(option: Copy) -> None:
    for verb in ("flops", "cache"):
        assert "--verbose" in option.command(verb, "--help")
        assert "verbose: 'bool' = False" in option.signature(f"Model.{verb}")
    assert "--verbose" not in option.command("memory", "--help")


def test_a_weight_format_is_accepted_everywhere(weight_format: Copy) -> None:
    matrices = 12 * 12 * 768 * 768  # 12 blocks with 12·d^2 each
    stored = json.loads(weight_format.command("memory", "GPT2Model", "--weights", "6bit", "--json"))[
        "weights"
    ]
    assert {"format": "w6", "elements": matrices, "bytes": matrices * 6 // 8 + matrices // 64 * 4} in stored
    for verb in ("memory", "cache"):
        assert ", w6, " in " ".join(weight_format.command(verb, "--help").split()), verb
    error = weight_format.python(
        "import archspec\n"
        "try: archspec.load('gpt2').weights('int3')\n"
        "except archspec.ArchspecError as error: print(error)"
    )
    assert ", w6, " in error
    page = (ROOT / "web" / "src" / "costs" / "asked.ts").read_text(encoding="utf-8")
    assert 'from "../../../formulas/weight_formats.json"' in page  # the page reads the table itself
