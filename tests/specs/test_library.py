"""A library finds the specs of sub-configs and parents, and reports all problems of a file at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.configs.scope import Scope
from archspec.errors import SpecError, UnknownArchitectureError
from archspec.specs.exported import exported_types
from archspec.specs.library import Library, shipped_library
from archspec.specs.records import Spec
from archspec.tree.builder import Builder
from archspec.tree.node import auto_class
from archspec.tree.tensors import tensors

TEXTS = {
    "whole": "config:\n  part: = Config(middle)\narchitectures:\n"
    "  WholeModel:\n    a: Linear(part.inner.width, 1)\n",
    "middle": "config:\n  inner: = Config(inner)\n",
    "inner": "config:\n  width: 3\n",
}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A model, its part, and the part of that, whose width is 3."""
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.yaml").write_text(f"model_type: {name}\n{text}")
    return Library(str(tmp_path))


def width(spec: Spec) -> int:
    return tensors(Builder(Scope(spec, {})).build("WholeModel"))[0].shape[1]


def test_sub_configs_are_found_where_the_spec_is(library: Library) -> None:
    assert width(library.load("whole")) == 3
    with pytest.raises(UnknownArchitectureError):
        shipped_library().load("whole")


def test_a_folder_before_the_library_has_parts_of_its_own(library: Library, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "inner.yaml").write_text("model_type: inner\nconfig:\n  width: 7\n")
    (tmp_path / "first" / "child.yaml").write_text("model_type: child\nextends: whole\n")
    both = Library(str(tmp_path / "first"), library.folder)
    assert (width(both.load("whole")), width(library.load("whole"))) == (7, 3)
    assert both.load("child").architectures == ("ChildModel",)
    assert both.model_types() == ["child", "inner", "middle", "whole"]


def test_a_users_file_finds_specs_in_its_directory(library: Library) -> None:
    Path(library.folder, "child.yaml").write_text("model_type: child\nextends: whole\n")
    assert shipped_library().load_file(f"{library.folder}/child.yaml").architectures == ("ChildModel",)


def test_a_circle_is_refused(library: Library) -> None:
    Path(library.folder, "inner.yaml").write_text("model_type: inner\nextends: middle\n")
    Path(library.folder, "middle.yaml").write_text("model_type: middle\nextends: inner\n")
    with pytest.raises(SpecError, match="in a circle"):
        library.load("inner")


def test_a_file_that_several_specs_need_is_parsed_once(library: Library, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.yaml").write_text(f"model_type: {name}\nextends: whole\n")
    first, second = map(library.load, ("first", "second"))
    assert first.fields["part"] is second.fields["part"]


NAMED_AFTER = {
    "deepseek_v3": "DeepseekV3ForCausalLM DeepseekV3Model",
    "edgetam": "EdgeTamModel",
    "gpt2": "GPT2ForSequenceClassification GPT2ForTokenClassification GPT2LMHeadModel GPT2Model",
    "gemma3": "Gemma3ForConditionalGeneration Gemma3Model",
    "glm4_moe": "Glm4MoeForCausalLM Glm4MoeModel",
    "glm46v": "Glm46VForConditionalGeneration Glm46VModel",
    "got_ocr2": "GotOcr2ForConditionalGeneration GotOcr2Model",
    "llama": "LlamaForCausalLM LlamaModel",
    "mlcd_vision_model": "MLCDVisionModel",
    "mllama": "MllamaForCausalLM",
    "sam2": "Sam2Model",
    "sam3_tracker": "Sam3TrackerModel",
    "timm_wrapper": "TimmWrapperModel",
    "tipsv2": "Tipsv2VisionBackbone",
}


def test_a_class_of_several_types_belongs_to_the_type_that_it_is_named_after() -> None:
    several = {name for name, types in shipped_library().index().items() if len(types) > 1}
    expected = {name: model_type for model_type, names in NAMED_AFTER.items() for name in names.split()}
    assert {name: shipped_library().model_type_of(name) for name in several} == expected


def test_the_longer_of_two_matching_model_types_is_used(tmp_path: Path) -> None:
    for name in ("sub2", "sub2_video"):
        text = "config: {d: 3}\narchitectures: {SUB2VideoModel: {a: 'Linear(d, 1)'}}\n"
        (tmp_path / f"{name}.yaml").write_text(f"model_type: {name}\n{text}")
    assert Library(str(tmp_path)).model_type_of("SUB2VideoModel") == "sub2_video"


AUTOS = ("AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoBackbone")


@pytest.mark.parametrize("auto", AUTOS)
def test_auto_classes_agree_with_transformers(auto: str) -> None:
    wrong = []
    for model_type in shipped_library().model_types():
        spec, theirs = shipped_library().load(model_type), exported_types().get(model_type)
        classes = theirs.classes if theirs else {}
        listed = [name for name, one in classes.items() if auto in one.autos and one.reads == model_type]
        given = auto_class(spec, auto)
        if listed and given is not None and given not in listed and not spec.refuse:
            wrong.append((model_type, given, listed))
    assert wrong == []


HEAD = "model_type: toy\nconfig: {n: 3}\narchitectures:\n  ToyModel:\n    a: Linear(n, n)\n"


def refused(folder: Path, text: str) -> list[str]:
    """The messages for a spec file, each with its line."""
    path = folder / "toy.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as error:
        shipped_library().load_file(str(path))
    return [
        f"{problem.place.line if problem.place else 0}: {problem.message}" for problem in error.value.problems
    ]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("notes: {'n ==': said}\n", ["6: not an expression: invalid syntax"]),
        (
            "attribute_map: {n: m}\ndrop: [gone, ToyModel]\nrequires: n > 0\n",
            [
                "8: requires is not a key of a spec",
                "6: n is a field, and another name of one",
                "7: gone is not defined in the parent spec",
                "7: ToyModel is dropped, but defined here",
            ],
        ),
    ],
)
def test_all_problems_of_a_file_are_reported_at_once(text: str, problems: list[str], tmp_path: Path) -> None:
    assert refused(tmp_path, HEAD + text) == problems


def test_drop_removes_inherited_names(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text("model_type: toy\nextends: llama\ndrop: [ToyForCausalLM, mlp_bias, require]\n")
    parent, spec = shipped_library().load("llama"), shipped_library().load_file(str(path))
    assert spec.prefix == "Toy" and spec.architectures[0] == "ToyModel"
    assert set(spec.architectures) == {
        f"Toy{name.removeprefix('Llama')}" for name in parent.architectures
    } - {"ToyForCausalLM"}
    assert "mlp_bias" in parent.fields and "mlp_bias" not in spec.fields
    assert parent.require and not spec.require
