"""The JSON Schemas of spec files' verbs: verify, derive and lint."""

from __future__ import annotations

from archspec.schemas.build import (
    Schema,
    array,
    choice,
    integer,
    mapping,
    nullable,
    number,
    record,
    text,
    texts,
)

_DIFFERENCES = (
    "missing, extra, shape, kind, frozen, tie or embedding of a tensor; refused or accepted of a config; "
    "unmentioned, default, alias or readonly of a field; few, spec, crash"
)


def _outcome() -> dict[str, Schema]:
    difference = {
        "architecture": text("the class"),
        "config": {"type": "object", "description": "the config at which they differ"},
        "kind": text(_DIFFERENCES),
        "name": text("the tensor or the field, or empty"),
        "expected": text("the value in the code"),
        "found": text("the value in the spec"),
        "places": texts("the likely lines of the spec, the most likely first"),
    }
    return {
        "architecture": text("the class"),
        "model_type": text("its model type"),
        "verdict": choice("the result", "exact", "wrong", "unavailable"),
        "compared": integer("configs that were compared, tensor by tensor"),
        "refused_by_both": integer("configs that both the spec and the code refuse"),
        "refusals": mapping("refusals by reason", {"type": "integer", "minimum": 1}),
        "unavailable": text("why nothing could be compared, or empty"),
        "differences": array("differences between spec and code", record("a difference", difference)),
    }


def verify() -> Schema:
    """Return the schema of `archspec verify --json`."""
    outcome = {**_outcome(), "seconds": number("seconds of one core", minimum=0)}
    versions = {"transformers": text("the installed version"), "torch": text("the installed version")}
    totals = {
        name: integer(f"architectures with this result: {name}") for name in ("exact", "wrong", "unavailable")
    }
    return record(
        "How specs compare with transformers, or with custom classes; `archspec.verify(names).as_json()`.",
        {
            "versions": record("the reference", versions),
            "listed": texts("classes that another release adds or removes; with --changed only"),
            "samples": integer("random configs per class"),
            "seed": integer("the seed of the random configs", None),
            "seconds": number("seconds of the whole run", minimum=0),
            "totals": record("architectures by result", totals),
            "architectures": array("the result of each architecture", record("a result", outcome)),
        },
    )


def derive() -> Schema:
    """Return the schema of `archspec derive --json`."""
    results = array(
        "the result of each class of the draft; empty with --no-verify", record("a result", _outcome())
    )
    return record(
        "Specs drafted from constructors, and their results; `archspec.derive(name).as_json()`.",
        {
            "drafts": mapping(
                "spec text by model type, the requested one first", {"type": "string"}, minProperties=1
            ),
            "unread": mapping("reasons by class that could not be read", {"type": "string"}),
            "refusal": nullable(text("why the draft is invalid, null if it is valid")),
            "architectures": results,
        },
    )


def lint() -> Schema:
    """Return the schema of `archspec lint --json`."""
    problem = {
        "file": nullable(text("the file, null for none")),
        "line": nullable(integer("the line, from 1", 1)),
        "column": nullable(integer("the column, from 1", 1)),
        "path": text("the module and the attribute, empty for the whole spec"),
        "message": text("the problem"),
        "help": text("the remedy, or empty"),
    }
    return record(
        "The problems of spec files; `archspec.lint(files).as_json()`.",
        {
            "files": integer("files that were checked"),
            "problems": array("the problems, by file and line", record("a problem", problem)),
        },
    )
