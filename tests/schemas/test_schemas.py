"""The JSON of every verb is valid by its schema, and wrong documents are not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

import archspec
from archspec.cli.command_line import command_options
from archspec.tables.verbs import VERBS

BROKEN = str(Path(__file__).parents[1] / "linting" / "broken.yaml")
LLAMA = "LlamaForCausalLM --set num_hidden_layers=2"
LINES = {  # verb -> command lines
    "count": ["GPT2LMHeadModel", "GptOssForCausalLM --dtype bf16 --depth 2", "BertModel --set dtype=odd"],
    "tree": ["BertForMaskedLM", "WhisperModel --depth 1"],
    "tensors": ["GPT2LMHeadModel --set n_layer=1", "ResNetModel"],
    "formula": [
        *("GPT2Model", "GptOssForCausalLM --by component --leading"),
        *("BertModel --piecewise --set use_cache=true", "LlamaForCausalLM --quantity flops --by module"),
        "JambaModel --collect hidden_size --dtype bf16",
    ],
    "flops": [f"{LLAMA} --tokens 8", "t5 --tokens 4 --encoder-tokens 9", "Mamba2Model --tokens 4"],
    "cache": [
        *(f"{LLAMA} --budget 1GiB", "Mamba2Model --budget 80GiB"),
        "GptOssForCausalLM --weights mxfp4 --budget 80GiB",
    ],
    "memory": [
        *("BertModel", f"{LLAMA} --weights nf4 --last", "t5 --encoder-tokens 4 --tokens 2"),
        *("BertModel --train", f"{LLAMA} --train --checkpointing --data-parallel 2 --zero 3"),
        "ZambaForCausalLM --train --optimizer adafactor",
    ],
    "lora": [
        *("BertModel", "GPT2LMHeadModel --target all-linear --dora --tokens 8"),
        *(f"{LLAMA} --train", f"{LLAMA} --budget 1GiB --tokens 8 --dtype bf16 --checkpointing"),
    ],
    "sensitivity": ["GPT2Model", "GptOssForCausalLM --quantity active_params --dtype bf16"],
    "diff": [
        *("BertModel BertForMaskedLM", "LlamaForCausalLM MistralForCausalLM --tokens 8"),
        "BertModel BertModel",
    ],
    "table": ["GPT2Model bert", "LlamaModel T5Model --columns model,params,cache_bytes,tie_word_embeddings"],
    "sweep": [
        "GPT2Model --set n_layer=1,2",
        "SwinModel --set depths=[2,2],[2,4] --columns a=params/3",
    ],
    "solve": [
        "GPT2LMHeadModel --params 1e9 --free n_layer --top 2",
        "GPT2LMHeadModel --memory 1GiB --free n_layer --top 1 --dtype bf16",
        "GPT2LMHeadModel --compute 1e19 --free n_layer --top 1",
    ],
    "check": ["docs/examples/checkpoint", "docs/examples/checkpoint --config docs/examples/other.json"],
    "list": ["kosmos", "bert"],
    "lint": [BROKEN, "formulas/gpt2.yaml"],
}
KEYS = json.loads(Path(__file__).with_name("keys.json").read_text(encoding="utf-8"))  # of version 3
REFERENCE = [
    ("verify", "BertModel --samples 1"),
    *(("derive", line) for line in ("BertModel --samples 1", "T5Model --no-verify")),
]
Documents = Callable[[str, str], list[Any]]
CASES = [(verb, line) for verb, lines in LINES.items() for line in lines]


@pytest.fixture
def documents(cli: Any) -> Documents:
    """The JSON documents that a command line prints; numbers that stand for "no limit" fail."""

    def printed(verb: str, line: str) -> list[Any]:
        text = cli([verb, *line.split(), "--json"], code=None).out
        lines = text.splitlines() if verb == "sweep" else [text]
        return [json.loads(one, parse_constant=_exact, parse_int=_exact) for one in lines]

    return printed


def _exact(text: str) -> int:
    value = int(text)
    assert value < 2**31 - 1 or (value + 1).bit_count() > 1, f"{text} is a sentinel"
    return value


def validator(verb: str) -> Draft202012Validator:
    return Draft202012Validator(archspec.schema(verb))


@pytest.mark.parametrize(("verb", "line"), CASES)
def test_printed_documents_are_valid(verb: str, line: str, documents: Documents) -> None:
    for document in documents(verb, line):
        validator(verb).validate(document)


@pytest.mark.parametrize("verb", LINES)
def test_a_wrong_document_is_not_valid(verb: str, documents: Documents) -> None:
    (right, *_) = documents(verb, LINES[verb][0])
    wrong = [{**right, "odd": {}}]
    mappings = ("values", "flags", "dtypes")  # whose keys are names of any kind
    wrong += [{**right, key: {"odd": 1}} for key in right if key not in mappings]
    if verb != "sweep":  # whose keys are those of the command line
        keys = [key for key in right if (verb, key) != ("tree", "children")]
        wrong += [{other: right[other] for other in right if other != key} for key in keys]
    for document in wrong:
        with pytest.raises(ValidationError):
            validator(verb).validate(document)


@pytest.mark.reference
@pytest.mark.parametrize(("verb", "line"), REFERENCE)
def test_results_of_specs_are_valid(verb: str, line: str, documents: Documents) -> None:
    (document,) = documents(verb, line)
    validator(verb).validate(document)
    for key in document:
        assert not validator(verb).is_valid({**document, key: True})
        assert not validator(verb).is_valid({other: document[other] for other in document if other != key})


@pytest.mark.reference
def test_a_difference_is_valid(checkout: Path, documents: Documents) -> None:
    (document,) = documents("verify", "BertModel --samples 0 --jobs 1")
    assert document["architectures"][0]["differences"]
    validator("verify").validate(document)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema of an object within a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        schema = [*schema.values()]
    if isinstance(schema, list):
        for one in schema:
            yield from objects(one)


@pytest.mark.parametrize("verb", [*LINES, "verify", "derive"])
def test_a_schema_describes_each_key_and_allows_no_other(verb: str, cli: Any) -> None:
    schema = archspec.schema(verb)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].startswith(f"urn:archspec:{verb}:") and schema["title"] and schema["description"]
    for one in objects(schema):
        assert [name for name, key in one.get("properties", {}).items() if not key.get("description")] == []
        assert "properties" not in one or one["additionalProperties"] is False
    assert cli(f"{verb} --json-schema").json == schema


@pytest.mark.parametrize("verb", [*LINES, "verify", "derive"])
def test_keys_stay(verb: str) -> None:
    """A key that goes or changes its meaning needs another version of the schema."""
    known = {name for one in objects(archspec.schema(verb)) for name in one.get("properties", {})}
    assert sorted(known) == KEYS[verb] and archspec.schema(verb)["$id"].endswith(":3")


def test_every_verb_that_prints_json_has_a_schema(cli: Any) -> None:
    for verb in VERBS:
        options = {option.flag for option in command_options(verb)}
        assert ("--json" in options) == ("--json-schema" in options) == (verb in {*LINES, "verify", "derive"})


def test_reports_in_python_are_valid() -> None:
    model = archspec.load("GPT2LMHeadModel")
    validator("count").validate(model.counts().as_json())
    validator("tree").validate(model.tree.as_json(depth=1))
    validator("memory").validate(model.training().as_json())
    validator("formula").validate(model.formula.as_json(symbol={"n_embd": "h"}))
    wrong = copy.deepcopy(model.counts().as_json())
    wrong["modules"][0]["params"] = "many"
    assert not validator("count").is_valid(wrong)
