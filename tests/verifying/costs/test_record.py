"""formulas/costs.json: fresh, and read as what may be given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import archspec
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.costs import inputs, instance
from archspec.specs.index import Entry, whole_digests
from archspec.specs.library import Library
from archspec.verifying.costs import record
from archspec.verifying.costs.instruments import Comparison, CostDifference
from archspec.verifying.costs.verify import CostOutcome

EXACT = Comparison(8)
WRONG = Comparison(8, (CostDifference({}, Call(1, 1), "flops", "model.layers.0", 1, 2),))


@pytest.mark.reference
def test_the_record_is_fresh() -> None:
    """`archspec verify --costs --coverage` renews it."""
    assert record.stale_classes() == {}


@pytest.mark.reference
def test_a_record_of_another_spec_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {**record.read_record(), "bert": record.Line("0", (), {})}
    monkeypatch.setattr(record, "read_record", lambda: lines)
    assert "bert" in record.stale_classes()


@pytest.mark.reference
def test_a_pending_class_is_verified_next(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = record.read_record()
    lines["bert"] = lines["bert"]._replace(exact=(), gaps={"BertModel": record.PENDING})
    monkeypatch.setattr(record, "read_record", lambda: lines)
    assert "BertModel" in record.unverified_classes()["bert"]


def test_a_digest_is_of_the_contractions_that_a_spec_names(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("ops: attention(heads)")
    (tmp_path / "other.yaml").write_text("ops: matmul(1, 1, 1)")
    files = {name: str(tmp_path / f"{name}.yaml") for name in ("one", "other")}
    entries = {name: Entry() for name in files}
    before = whole_digests(entries, files, {"attention": "a", "matmul": "m"})
    after = whole_digests(entries, files, {"attention": "b", "matmul": "m"})
    assert (before["one"] != after["one"], before["other"] == after["other"]) == (True, True)


def test_a_gap_names_the_module() -> None:
    assert record.gap(CostOutcome("Toy", "toy", WRONG)) == "its FLOPs of model.layers.0 differ from torch's"
    unavailable = record.gap(CostOutcome("Toy", "toy", Comparison(unavailable="it has no forward")))
    assert unavailable == "its forward pass was not validated: it has no forward"


UNDESCRIBED = "toy.yaml:9:3: undescribed is supported only if `False` (in ToyModel.ops)\n  ops: x"


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        ("KeyError: 'full'", "its forward pass raises KeyError: 'full'"),
        ("RuntimeError: Meta tensors lack it", "its forward pass cannot run on torch's meta device"),
        ("TypeError: missing 1 required positional", "its forward pass needs other inputs than tokens"),
        ("ValueError: You have to specify pixel_values", "its forward pass needs other inputs than tokens"),
        (UNDESCRIBED, "not described: ToyModel's products (toy.yaml:9)"),
        (f"{UNDESCRIBED}  # by values\n  ^^^", "not described: by values (toy.yaml:9)"),
    ],
)
def test_a_gap_names_the_reason(raised: str, expected: str) -> None:
    assert record.gap(CostOutcome("Toy", "toy", Comparison(unavailable=raised))) == expected


def test_costs_of_a_class_outside_the_record_are_refused() -> None:
    model = archspec.load("BltForCausalLM")
    with pytest.raises(ArchspecError, match=r"costs are not supported for BltForCausalLM"):
        model.forward(batch=1, tokens=8)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(record, "shipped_library", lambda: Library(str(tmp_path)))
    return tmp_path / "costs.json"


@pytest.mark.reference  # the head of the file names torch's version
def test_lines_are_read_as_they_are_written(file: Path) -> None:
    toy = record.Line("a", ("A",), {"B": "why"}, {"flash": ["A"]}, ("A",))
    lines = {"old": record.Line("b", (), {}), "toy": toy}
    assert record.read_record() == {}
    record.write(2, 0, lines)
    assert record.read_record() == lines
    assert "activations" not in json.loads(file.read_text(encoding="utf-8"))["types"]["old"]


def test_a_line_lists_the_exact_classes_by_quantity() -> None:
    outcomes = [
        CostOutcome("A", "toy", EXACT, EXACT, further=("static",)),
        CostOutcome("B", "toy", EXACT, WRONG, further=("masked", "static")),
        CostOutcome("C", "toy", WRONG),
    ]
    found = record.line_of("a", outcomes)
    gaps = {"C": "its FLOPs of model.layers.0 differ from torch's"}
    assert found == record.Line(
        "a", ("A", "B"), gaps, training=("A",), masked=("B",), static=("A", "B"), working_set=()
    )


@pytest.mark.reference
def test_classes_that_take_token_ids_are_in_scope() -> None:
    scope = record.in_scope()
    assert {"T5EncoderModel", "T5ForConditionalGeneration"} <= {*scope["t5"]}
    assert "CLIPTextModelWithProjection" in scope["clip_text_model"]
    assert {"ViTModel", "LlavaModel", "WhisperForAudioClassification"} <= {
        *scope["vit"],
        *scope["llava"],
        *scope["whisper"],
    }
    assert "patchtst" not in scope  # time series


@pytest.mark.reference
def test_sequences_of_multiple_choice_are_the_choices_of_one_question() -> None:
    model = instance("BertForMultipleChoice", {"num_hidden_layers": 1}, "bert")
    assert inputs(model, Call(3, 5))["input_ids"].shape == (1, 3, 5)
