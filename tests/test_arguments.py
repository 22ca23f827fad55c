"""Public functions and methods accept the documented arguments, and raise ArchspecError for others."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import archspec
from archspec.arguments import accepted_values


@dataclasses.dataclass
class UserConfig:
    n_layer: int = 2
    block_size: int = 8


ODD: tuple[Any, ...] = (
    *(None, -1, 2.5, float("nan"), 10**30, True, "x", "\0", "\ud800", b"x", [1], ["x"], {"x": 1}, {1: 2}),
    *(object(), UserConfig, UserConfig(), sys, ["params > 1", "params < 2"]),
    *(numpy.array(3), numpy.array(["params"]), 1e300, 10**400, range(10**12), ["\udc80"]),
)
GRID = {"n_layer": [1, 2]}
FUNCTIONS: dict[str, dict[str, Any]] = {
    "load": {"config": "gpt2"},
    "formula": {"config": "gpt2"},
    "sweep": {"config": "gpt2", "set": GRID},
    "diff": {"a": "gpt2", "b": "gpt2"},
    "table": {"models": ["gpt2"]},
    "lint": {"files": "nowhere"},
    "catalog": {},
    "architectures": {},
    "schema": {"verb": "count"},
    "complete": {"model": "gpt2"},
    "derive": {"name": "no.such:Class"},
    "verify": {"names": "NoSuchModel", "samples": 0},
}
LEFT_OUT = {
    ("lint", "files"),
    *(("verify", name) for name in ("names", "all", "changed")),
}  # they run for long


def ended_well(function: Callable[..., Any], *given: Any, **named: Any) -> str:
    """The fault in how a call ended; '' for a result or a clear error."""
    try:
        function(*given, **named)
    except archspec.ArchspecError as error:
        text = str(error)
        return text if " at 0x" in text or len(text) > 5_000 or not text.strip() else ""
    except TypeError as error:
        inner = error.__traceback__ and error.__traceback__.tb_next
        frames = inspect.getinnerframes(inner) if inner else []
        missing = "missing" in str(error) or "unexpected" in str(error)  # Python's own words on the call
        return "" if not frames or (missing and len(frames) <= 1) else f"TypeError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_odd_arguments_of_functions_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, usual = getattr(archspec, name), FUNCTIONS[name]
    wrong = []
    for parameter, about in inspect.signature(function).parameters.items():
        if (name, parameter) in LEFT_OUT or about.kind is about.VAR_KEYWORD:
            continue
        for value in ODD:
            if said := ended_well(function, **{**usual, parameter: value}):
                wrong.append(f"{parameter}={value!r}: {said}")
    assert wrong == []


def objects() -> list[Any]:
    model = archspec.load("gpt2")
    formula, forward = model.formula, model.forward(tokens=4)
    reports = (model.counts(), model.tree, model.fields, model.sensitivity())
    parts = (formula.split(), formula.leading_terms())
    return [model, formula, forward, archspec.sweep("gpt2", GRID), archspec.catalog("gpt2"), *reports, *parts]


@pytest.mark.parametrize("instance", objects(), ids=lambda one: type(one).__name__)
def test_odd_arguments_of_methods_are_refused(
    instance: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for name, method in inspect.getmembers(type(instance), inspect.isfunction):
        if name.startswith("_"):
            continue
        for parameter, about in [*inspect.signature(method).parameters.items()][1:]:
            if about.kind is about.VAR_KEYWORD:
                continue
            for value in ODD:
                bound = getattr(instance, name)
                positional = about.kind in (about.VAR_POSITIONAL, about.POSITIONAL_ONLY)
                named = {} if positional else {parameter: value}
                if said := ended_well(bound, *([value] if positional else []), **named):
                    wrong.append(f"{name}({parameter}={value!r}): {said}")
    assert wrong == []


@pytest.mark.parametrize(
    ("annotation", "right", "wrong"),
    [
        ("str", ["", "x"], [None, 1, b"x", ["x"]]),
        ("bool", [True], [0, None, "no"]),
        ("int", [3, 0], [True, 2.0, "2", None, float("inf")]),
        ("int | None", [3, None], [2.5, "2"]),
        ("float | None", [3, 2.5, None], [True, float("nan"), "2"]),
        ("str | float | None", ["7b", 7e9], [True, [1]]),
        ("str | Sequence[str] | None", ["x", ["x"], None], [3, [3], {"x": 1}]),
        ("Sequence[str] | str", ["x", ["x"], numpy.array(["x"])], [3, None, numpy.array("x"), {"x": 1}]),
        ("Columns", ["x", ["x"], {"x": "y"}], [3, {"x": 1}]),
        ("Mapping[str, Any] | None", [{"x": 1}, None], [["x"], {1: 2}, "x"]),
        ("Mapping[str, Any] | Sequence[str]", [{"x": 1}, "x", ["x"]], [3, [3], {1: 2}]),
        ("str | Mapping[str, str | int]", ["x", {"x": 1}], [3, ["x"]]),
        ("Mapping[str, str]", [{"x": "y"}], [{"x": 1}]),
        ("Specs", ["x", ["x"], Path("x")], [3, [3], "\0", "\ud800"]),
        ("str | type", ["x", int], [3, None]),
    ],
)
def test_annotations_decide_what_is_accepted(annotation: str, right: list[Any], wrong: list[Any]) -> None:
    words, _, tests = accepted_values(annotation)
    assert words and all(any(test(value) for test in tests) for value in right)
    assert not any(test(value) for test in tests for value in wrong)


def test_several_conditions_of_a_sweep_hold_together() -> None:
    fields = {"n_layer": "1:12"}
    both = archspec.sweep("gpt2", fields, where=["params > 80e6", "params < 100e6"])
    one = archspec.sweep("gpt2", fields, where="params > 80e6 and params < 100e6")
    sizes = {6: 81_912_576, 7: 89_000_448, 8: 96_088_320}
    expected = [{"n_layer": layers, "params": params} for layers, params in sizes.items()]
    assert [*both.rows()] == [*one.rows()] == expected


def test_a_dataclass_with_the_fields_of_a_config_is_one() -> None:
    made = dataclasses.make_dataclass("Config", [("model_type", str), ("n_layer", int)])
    assert archspec.load(made("gpt2", 24)).params == 209_494_272
    with pytest.raises(archspec.ArchspecError, match="UserConfig is not a config"):
        archspec.load(UserConfig)
    with pytest.raises(archspec.ArchspecError, match="neither model_type nor architectures"):
        archspec.load(UserConfig())


def test_an_error_says_what_is_accepted() -> None:
    with pytest.raises(archspec.ArchspecError) as caught:
        archspec.sweep("gpt2", GRID, where=3)  # type: ignore[arg-type]
    assert str(caught.value) == "where: 3 is not a text or a list of texts\nhelp: write where=['a', 'b']"


@pytest.mark.parametrize(
    "call",
    [
        lambda: archspec.load("gpt2").with_fields({"n_layer": 2}, n_layer=3),
        lambda: archspec.load("gpt2").formula.evaluate({"n_layer": 2}, n_layer=2),
        lambda: archspec.load("gpt2").formula.with_fields({"n_layer": 2}, n_layer=3),
        lambda: archspec.load("gpt2").formula.substitute({"n_layer": 2}, n_layer=3),
        lambda: archspec.diff("gpt2", "gpt2", set={"n_layer": 2}, set_a={"n_layer": 3}),
        lambda: archspec.sweep("gpt2", ["n_layer=1,2", "n_layer=3"]),
        lambda: archspec.sweep("gpt2", "n_layer=1,2,n_layer=3"),
        lambda: archspec.solve("gpt2", set=["n_layer=1", "n_layer=2"], params="1b"),
    ],
)
def test_a_field_that_is_set_twice_is_an_error(call: Callable[[], Any]) -> None:
    with pytest.raises(archspec.ArchspecError, match="n_layer is set twice"):
        call()
