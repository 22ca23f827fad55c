"""`archspec lint` finds problems in branches that no config takes, and none in the shipped specs."""

from __future__ import annotations

import json
import keyword
import random
import re
from pathlib import Path

import pytest

from archspec.cli.main import main
from archspec.linting.checks import lint, shipped_files
from archspec.specs.library import shipped_library

ROOT = Path(__file__).parents[2]
BROKEN = Path(__file__).parent / "broken.yaml"
OWN = [path for path in shipped_library().files().values() if "shared" not in path]

WORDS = {*keyword.kwlist, "range", "enumerate", "zip", "len"}

FOUND = [
    (1, 1, "the file has no header comment"),
    (4, 3, "the field unread is not used"),
    (9, 13, "given('scaled') needs a type: scaled is not in config"),
    (12, 28, "heads is neither a config field nor a local name"),
    (14, 28, "too is neither a config field nor a local name"),
    (15, 62, "wide is neither a config field nor a local name"),
    (16, 10, "Linear: missing a required argument: 'out_features'"),
    (17, 11, "BrokenLayre is not defined"),
    (18, 12, "BrokenLayer: missing a required argument: 'i'"),
    (19, 12, "BrokenLayer: got an unexpected keyword argument 'depth'"),
    (20, 12, "BertModel: got an unexpected keyword argument 'add_poolin_layer'"),
    (21, 19, "hidden_sise is not a field of bert"),
    (21, 44, "num_layers is not a sub-config, so it does not have size"),
    (22, 21, "kk is neither a config field nor a local name"),
    (22, 40, "n is neither a config field nor a local name"),
    (22, 50, "m is neither a config field nor a local name"),
    (23, 18, "token is neither a config field nor a local name"),
    (23, 18, "BrokenLayer has no attribute dens"),
    (25, 9, "causal_atention is not defined"),
    (26, 9, "causal_attention: missing a required argument: 'head_dim'"),
    (35, 7, "this tie is never used: tie_word_embeddings is not a config field"),
    (35, 7, "BrokenForCausalLM has no attribute modle.layers.{0}.dense.weight"),
    (37, 7, "BrokenForCausalLM has no attribute lm_haed.weight"),
]


def test_finds_everything_in_a_broken_spec() -> None:
    assert [(p.place.line, p.place.column, p.message) for p in lint(str(BROKEN)) if p.place] == FOUND


def test_exit_code_and_positions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(BROKEN)]) == 2
    out = capsys.readouterr().out
    assert f"broken.yaml:15:62: {FOUND[5][2]} (in BrokenLayer.dense)\n" in out
    assert out.endswith(f"1 file, {len(FOUND)} problems\n")
    assert main(["lint", "--json", str(BROKEN)]) == 2
    listed = json.loads(capsys.readouterr().out)["problems"]
    assert [(p["line"], p["column"], p["message"]) for p in listed] == FOUND


@pytest.mark.parametrize("path", shipped_files(), ids=lambda path: Path(path).stem)
def test_shipped_specs_are_clean(path: str) -> None:
    assert [str(problem) for problem in lint(path)] == []


def altered(path: str) -> tuple[str, str] | None:
    """A spec with one altered word in a constructor, and its line; None without constructors."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    found, inside = [], False
    for number, line in enumerate(lines):
        if line[:1] not in ("", " ", "#"):
            inside = line.startswith(("modules:", "architectures:"))
        start = line.find(": ") + 2
        if not inside or start < 2 or re.search(r"['\"#{]|^ *(tied|alias):|weight:|bias:", line):
            continue
        words = re.finditer(r"(?<![.\w])[A-Za-z_]\w+", line[start:])
        found += [(number, start + word.start(), word.group()) for word in words if word.group() not in WORDS]
    if not found:
        return None
    number, column, word = random.Random(Path(path).stem).choice(found)
    line = lines[number]
    lines[number] = f"{line[:column]}{word}_zq{line[column + len(word) :]}"
    return "\n".join(lines), f"{number + 1}: {lines[number].strip()}"


@pytest.mark.parametrize("path", OWN[::3], ids=lambda path: Path(path).stem)
def test_every_word_of_a_constructor_matters(path: str, tmp_path: Path) -> None:
    found = altered(path)
    if found is None:
        return  # a refused spec
    spec = tmp_path / Path(path).name
    spec.write_text(found[0], encoding="utf-8")
    assert lint(str(spec)), found[1]


TEXT = "config:\n  text: AutoConfig(llama, "
TIE = "Linear(1, 1)\n    tied: {a.weight: a.wieght}"
NEITHER, NOT = "is neither a type nor a string in quotes", "is not a field of llama"


@pytest.mark.parametrize(
    ("keys", "part", "found"),
    [
        ("attribute_map: {n: m}", "Linear(1, 1)", ["n is an alias of m, which is not a field"]),
        ("config: {size: int_ | None = 3}", "Linear(size, size)", [f"'int_ | None = 3' {NEITHER}"]),
        (
            f"{TEXT}n_positions=3, n_positionz=3)",
            "AutoModel(text)",
            [f"n_positions {NOT}", f"n_positionz {NOT}"],
        ),
        # merged defaults may be fields of any model type: GPT-2 has n_positions
        (f"{TEXT}merge=True, n_positions=3, n_positionz=3)", "AutoModel(text)", [f"n_positionz {NOT}"]),
        ("config: {tie_word_embeddings: true}", TIE, ["the tie has no effect: a.wieght does not exist"]),
        ("require: 5", "Linear(1, 1)", ["`5` does not depend on the config"]),
        ("prefix: 5", "Linear(1, 1)", ["'5' cannot begin a class name"]),
        ("uses: [heads, heads]", "Linear(1, 1)", ["heads is repeated"]),
        ("config: {for: 3}", "Linear(1, 1)", ["'for' is not a field name"]),
        ("", "Linear(1, -3)", ["a size of `Linear(1, -3)` is negative: -3"]),
        ("", "Linear(1, 1) for i in 3", ["`3` is the number 3, not a list"]),
        ("", "Linear(1, 1 // 0)", ["division by zero in `1 // 0`"]),
        # in a branch that no config takes
        ("", "Linear(1, 1) if 1 > 2 else Linear(1,, 2)", ["not an expression: invalid syntax"]),
    ],
)
def test_problems_of_fields_and_branches(keys: str, part: str, found: list[str], tmp_path: Path) -> None:
    spec = tmp_path / "toy.yaml"
    head = f"# A toy.\n# code: none\nmodel_type: toy\n{keys}\n"
    spec.write_text(f"{head}architectures:\n  Toy:\n    a: {part}\n")
    assert [problem.message for problem in lint(str(spec))] == found


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err.startswith("there is no file nowhere.yaml")


def test_contractions(tmp_path: Path) -> None:
    path = tmp_path / "contractions.yaml"
    path.write_text("product(rows, columns):\n  flops: 2 * rows * columns\n", encoding="utf-8")
    assert lint(str(path)) == []
    path.write_text("product(rows, columns):\n  flops: 2 * rows *\n", encoding="utf-8")
    assert [problem.place.line for problem in lint(str(path)) if problem.place] == [2]


def test_a_parameter_that_hides_a_local_name(tmp_path: Path) -> None:
    spec = tmp_path / "toy.yaml"
    head = "# A toy.\n# code: none\nmodel_type: toy\nconfig: {n: 3}\nmodules:\n  Part(wide=2):\n"
    body = "    where: {wide: n + 1}\n    a: Linear(n, wide)\narchitectures:\n  Toy:\n    part: Part()\n"
    spec.write_text(head + body)
    assert "the parameter wide of Part hides the local name" in [one.message for one in lint(str(spec))]
