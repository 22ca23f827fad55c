"""Reports in Python equal the output of the commands, as text and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import archspec
from archspec.errors import command_line

SPECS = str(Path(__file__).parents[1] / "linting" / "broken.yaml")
GPT2 = "GPT2LMHeadModel"
LENGTHS = {"batch": 2, "tokens": 64}
DEGREES = {"checkpointing": True, "data_parallel": 4, "zero": 2}
REPORTS: list[tuple[str, str, dict[str, Any]]] = [  # method, arguments of its command, and those in Python
    ("counts", "count --dtype bf16", {"dtype": "bf16"}),
    ("counts", "count --depth 2", {"depth": 2}),
    ("flops", "flops --tokens 8 --past 4", {"tokens": 8, "past": 4}),
    (
        "cache",
        "cache --batch 2 --tokens 64 --dtype bf16 --budget 1GiB",
        LENGTHS | {"dtype": "bf16", "budget": "1GiB"},
    ),
    (
        "memory",
        "memory --batch 2 --tokens 64 --weights int8 --last",
        LENGTHS | {"weights": "int8", "last": True},
    ),
    ("training", "memory --train --checkpointing --data-parallel 4 --zero 2", DEGREES),
    ("sensitivity", "sensitivity --assume n_inner=4*n_embd", {"assume": ["n_inner=4*n_embd"]}),
    ("sensitivity", "sensitivity --quantity active_params", {"quantity": "active_params"}),
]


def check(line: str, found: Any, cli: Command, code: int = 0) -> None:
    """A report is what its command prints, as text and as JSON."""
    assert cli(line, code=code).out == f"{found}\n"
    assert cli(line, "--json", code=code).json == found.as_json()
    assert found._repr_html_().startswith("<div>")


@pytest.mark.parametrize(("method", "line", "options"), REPORTS)
def test_python_gives_what_the_command_prints(
    method: str, line: str, options: dict[str, Any], cli: Command
) -> None:
    verb, _, words = line.partition(" ")
    with command_line():  # notes name options as on the command line
        check(f"{verb} {GPT2} {words}", getattr(archspec.load(GPT2), method)(**options), cli)


def test_reports_without_a_model(cli: Command) -> None:
    check("list kosmos", archspec.catalog("kosmos"), cli)
    found = archspec.lint([SPECS])
    check(f"lint {SPECS}", found, cli, code=2)
    assert found and len(found) == len(list(found)) > 5
    assert not archspec.lint("formulas/gpt2.yaml")
    with pytest.raises(archspec.ArchspecError, match=r"nowhere\.yaml"):
        archspec.lint("nowhere.yaml")
    with pytest.raises(archspec.ArchspecError, match="no supported model type or class contains 'nonsense'"):
        archspec.catalog("nonsense")


@pytest.mark.parametrize("name", ["BertForMaskedLM", "MixtralForCausalLM", "T5Model", "CLIPModel"])
@pytest.mark.parametrize("depth", [None, 0, 3])
def test_a_tree_is_that_of_the_command(name: str, depth: int | None, cli: Command) -> None:
    tree = archspec.load(name).tree
    options = "" if depth is None else f" --depth {depth}"
    assert cli(f"tree {name}{options}").out == tree.text(depth) + "\n"
    assert cli(f"tree {name}{options} --json").json == tree.as_json(depth)


def test_a_tree_has_an_escaped_row_for_each_module() -> None:
    tree = archspec.load("BertModel").tree
    assert str(tree) == repr(tree) == tree.text() and tree.text(1).count("\n") == 4
    html = tree._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") == tree.text().count("\n") + 1
    assert "12 × BertLayer" in html and tree.html(0).count("<tr>") == 2
    tree.root = tree.root._replace(label="<script>")
    assert "<script>" not in tree.html()
    for depth in (-1, 1.5, "2", True):
        with pytest.raises(archspec.ArchspecError, match="depth"):
            tree.text(depth)  # type: ignore[arg-type]


def test_a_step_without_activations_explains_why() -> None:
    model = archspec.load("ZambaForCausalLM")
    says = "tokens has no effect: activations are not supported for Zamba"
    with pytest.raises(archspec.ArchspecError, match=says):
        model.training(tokens=8)
    step = model.training()
    found = step.as_json()
    assert step.unsupported and found["total_bytes"] == sum(part.bytes for part in step.states)
    assert found["excluded"][0] == "activations" and found["tokens"] is found["batch"] is None
    assert "not included:\n  activations\n  the loss" in str(step) and "\ntokens" not in str(step)


WRONG_TYPES: list[tuple[str, dict[str, Any]]] = [
    *(("training", {"optimizer": wrong}) for wrong in (None, 1, ["adamw"])),
    *(("training", {name: [1]}) for name in ("tokens", "encoder_tokens", "dtype", "attention", "zero")),
    *(("flops", {name: "8"}) for name in ("batch", "tokens", "past", "encoder_tokens")),
    ("forward", {"new_encoder_tokens": ""}),
    ("memory", {"weights": ["nf4"]}),
    ("cache", {"budget": "1GiB", "weights": {"nf4": 1}}),
    ("memory", {"dtype": [1]}),
]


@pytest.mark.parametrize(("method", "options"), WRONG_TYPES)
def test_an_option_of_another_type_is_refused(method: str, options: dict[str, Any]) -> None:
    with pytest.raises(archspec.ArchspecError) as refused:
        getattr(archspec.load(GPT2), method)(**options).as_json()
    assert len(refused.value.problems) == 1 and "\n" not in refused.value.problems[0].message
