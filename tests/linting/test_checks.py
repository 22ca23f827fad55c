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
from archspec.specs.library import shipped

ROOT = Path(__file__).parents[2]
BROKEN = Path(__file__).parent / "broken.yaml"
SPECS = list(shipped().files().values())

WORDS = {*keyword.kwlist, "range", "enumerate", "zip", "len"}

FOUND = [
    (1, 1, "the header has 0 comment lines"),
    (4, 3, "nothing reads unread"),
    (9, 13, "given('scaled') has no type: config has no scaled"),
    (12, 28, "heads is neither a config field nor a local name"),
    (14, 28, "too is neither a config field nor a local name"),
    (15, 62, "wide is neither a config field nor a local name"),
    (16, 10, "Linear: missing a required argument: 'out_features'"),
    (17, 11, "BrokenLayre is not defined"),
    (18, 12, "BrokenLayer needs i"),
    (19, 27, "depth is neither a parameter of BrokenLayer nor a field"),
    (20, 35, "add_poolin_layer is neither a parameter of BertModel nor a field"),
    (21, 19, "bert has no field hidden_sise"),
    (21, 44, "num_layers is not a sub-config, so it does not have size"),
    (22, 21, "kk is neither a config field nor a local name"),
    (22, 40, "n is neither a config field nor a local name"),
    (22, 50, "m is neither a config field nor a local name"),
    (23, 18, "token is neither a config field nor a local name"),
    (23, 18, "dens is not in BrokenLayer"),
    (25, 9, "causal_atention is not defined"),
    (26, 9, "causal_attention needs head_dim"),
    (26, 47, "windw is not a parameter of causal_attention"),
    (35, 7, "this tie never holds: the config has no tie_word_embeddings"),
    (35, 7, "model.layers.{0}.dens.weight is not in BrokenForCausalLM"),
    (37, 7, "lm_head.wieght is not in BrokenForCausalLM"),
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


def altered(path: str, seed: int) -> tuple[str, str] | None:
    """A spec with one altered word in a constructor, and its line; None without constructors."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    found = []
    inside = False
    for number, line in enumerate(lines):
        if line[:1] not in ("", " ", "#"):
            inside = line.startswith(("modules:", "architectures:"))
        if (
            not inside
            or "'" in line
            or '"' in line
            or "#" in line
            or line.strip().startswith(("tied:", "alias:"))
            or "{" in line
        ):
            continue
        start = line.find(": ") + 2
        words = (
            re.finditer(r"(?<![.\w])[A-Za-z_]\w+", line[start:])
            if start > 1 and "weight:" not in line and "bias:" not in line
            else ()
        )
        found += [(number, start + word.start(), word.group()) for word in words if word.group() not in WORDS]
    if not found:
        return None
    number, column, word = random.Random(f"{Path(path).stem}{seed}").choice(found)
    line = lines[number]
    lines[number] = f"{line[:column]}{word}_zq{line[column + len(word) :]}"
    return "\n".join(lines), f"{number + 1}: {lines[number].strip()}"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "path", [path for path in SPECS if "shared" not in path], ids=lambda path: Path(path).stem
)
def test_every_word_of_a_constructor_matters(path: str, seed: int, tmp_path: Path) -> None:
    found = altered(path, seed)
    if found is None:
        return  # a refused spec
    spec = tmp_path / Path(path).name
    spec.write_text(found[0], encoding="utf-8")
    assert lint(str(spec)), found[1]


def test_a_misspelt_type_is_no_text(tmp_path: Path) -> None:
    spec = tmp_path / "toy.yaml"
    head = (
        "# A toy.\n# code: none\nmodel_type: toy\nattribute_map: {n: m}\nconfig:\n  size: int_ | None = 3\n"
    )
    spec.write_text(head + "architectures:\n  Toy:\n    a: Linear(size, size)\n")
    assert [problem.message for problem in lint(str(spec))] == [
        "n is an alias of m, which is not a field",
        "is 'int_ | None = 3' a type or a text?",
    ]


@pytest.mark.parametrize(
    ("options", "unknown"), [("", ["n_positions", "n_positionz"]), ("merge=True, ", ["n_positionz"])]
)
def test_defaults_that_go_to_any_model_type(options: str, unknown: list[str], tmp_path: Path) -> None:
    """Merged defaults may be fields of any model type: GPT-2 has n_positions, Llama lacks it."""
    spec = tmp_path / "toy.yaml"
    config = f"config:\n  text: AutoConfig(llama, {options}n_positions=3, n_positionz=3)\n"
    head = f"# A toy.\n# code: none\nmodel_type: toy\n{config}"
    spec.write_text(head + "architectures:\n  Toy:\n    a: AutoModel(text)\n")
    assert [problem.message for problem in lint(str(spec))] == [
        f"llama has no field {name}" for name in unknown
    ]


def test_a_syntax_error_in_a_branch_that_no_config_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "toy.yaml"
    spec.write_text(
        "# A toy.\n# code: none\nmodel_type: toy\nmodules:\n"
        "  Toy:\n    a: Linear(1, 1) if 1 > 2 else Linear(1,, 2)\n"
    )
    assert main(["lint", str(spec)]) == 2
    assert "toy.yaml:6:44: not an expression: invalid syntax (in Toy.a)" in capsys.readouterr().out


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err.startswith("nowhere.yaml: ")


def test_contractions_are_read_as_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "contractions.yaml"
    path.write_text("product(rows, columns):\n  flops: 2 * rows * columns\n", encoding="utf-8")
    assert lint(str(path)) == []
    path.write_text("product(rows, columns):\n  flops: 2 * rows *\n", encoding="utf-8")
    assert [problem.place.line for problem in lint(str(path)) if problem.place] == [2]
