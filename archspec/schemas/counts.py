"""The JSON Schemas of counts: quantities, modules, tensors, comparisons, sweeps and searches."""

from __future__ import annotations

from archspec.schemas.build import (
    Schema,
    array,
    choice,
    flag,
    integer,
    mapping,
    model,
    nullable,
    number,
    quantities,
    record,
    sizes,
    text,
    texts,
)
from archspec.schemas.costs import EXCESS
from archspec.tables.quantities import BUDGETS, QUANTITIES

_MODULE = {"$ref": "#/$defs/module"}
_VERSION = text("the version of transformers that the specs describe")
_VALUE = ["integer", "number", "string", "boolean", "null", "array"]


def _tied() -> Schema:
    group = {
        "tensors": texts("their names", 1),
        "tied_to": text("the tensor that the first one is tied to"),
        "params": integer("parameters that counting them again would add"),
    }
    return array(
        "tied tensors, the largest first", record("tensors that differ in layer indices only", group)
    )


def count() -> Schema:
    """Return the schema of `archspec count --json`."""
    module = {
        "name": text("the path from the enclosing module; `0-11` for layers of a list"),
        "copies": integer("identical layers", 1),
        "params": integer("parameters of all copies; a tied tensor counts in its first module"),
        "share": number("the share of the model's parameters, from 0 to 1", minimum=0, maximum=1),
        "children": array("its submodules that are shown", _MODULE),
    }
    found = record(
        "The exact counts of one architecture at one config; `archspec.Model.counts().as_json()`.",
        {
            **model(),
            **quantities(*QUANTITIES),
            "dtype": text("the dtype of unquantized parameters: the one asked for, else the config's"),
            "format": text("the weight formats of bytes"),
            "bytes": nullable(
                integer("bytes of the parameters; null if the dtype or quantization is unsupported")
            ),
            "modules": array("the modules that are shown, in order", _MODULE),
            "tied": _tied(),
            "notes": texts("notes on this count"),
            "transformers_version": _VERSION,
        },
    )
    return {**found, "$defs": {"module": record("a module, or identical layers of a list", module)}}


def tree() -> Schema:
    """Return the schema of `archspec tree --json`."""
    module = {
        "module": text(
            "the path in the model, empty for the model itself; of folded layers, that of the first"
        ),
        "name": text("the attribute; `0-11` for folded layers"),
        "label": text("the class, with its sizes if it has tensors"),
        "copies": integer("identical layers that are folded into this one", 1),
        "params": integer("parameters of all copies; a tied tensor counts in its first module"),
        "buffers": integer("elements of the persistent buffers of all copies"),
        "marks": texts("ties and frozen parameters"),
        "children": array("its submodules; absent below --depth", _MODULE),
    }
    about = "a module, or identical layers of a list; the outermost is the model"
    return {
        "description": "The module tree, identical layers folded; `archspec.Model.tree.as_json()`.",
        **_MODULE,
        "$defs": {"module": record(about, module, optional=("children",))},
    }


def tensors() -> Schema:
    """Return the schema of `archspec tensors --json`."""
    tensor = {
        "name": text("the name in named_parameters(), or in named_buffers()"),
        "shape": sizes("the shape"),
        "numel": integer("elements"),
        "kind": choice("the kind of tensor in torch", "parameter", "buffer"),
        "trainable": flag("requires_grad"),
        "tied_to": nullable(text("the tensor that it is tied to, null for none")),
    }
    listed = array(
        "the tensors, as named_parameters() and then named_buffers() list them", record("a tensor", tensor)
    )
    about = "Every parameter in torch's order, then every persistent buffer; `archspec.Model.tensors()`."
    return record(about, {**model(), "tensors": listed})


def diff() -> Schema:
    """Return the schema of `archspec diff --json`."""
    kinds = ("added", "removed", "resized", "repeated", "tied", "untied", "frozen", "unfrozen")
    change = {
        "kind": choice("the kind of difference", *kinds),
        "module": text("the path; `*` stands for layer indices"),
        "before": text("its tensors in A, empty for none"),
        "after": text("its tensors in B"),
        "params": integer("unique parameters that it adds", None),
        "buffers": integer("elements of persistent buffers that it adds", None),
        "formula": nullable(text("params in closed form, in Python's syntax, null for none")),
    }
    cost = {
        "quantity": choice("the cost", "flops", "cache_elements"),
        "before": integer("of A"),
        "after": integer("of B"),
    }
    side = {
        **model(),
        **quantities("params", "buffers"),
        "prefix": text("the module that is aligned with the other model, empty for the whole"),
        "tied": _tied(),
        "params_with_ties_counted_again": integer("parameters with every tied tensor counted again"),
    }
    values = {"a": {"description": "the value in A, any JSON"}, "b": {"description": "the value in B"}}
    difference = "in closed form, in Python's syntax; `A.field` and `B.field` are values that differ"
    return record(
        "The differences between two models; `archspec.diff(a, b).as_json()`.",
        {
            "a": record("the first model", side),
            "b": record("the second model", side),
            "changes": array(
                "modules that differ; they add up to the difference", record("a change", change)
            ),
            "difference": integer("unique parameters of B minus those of A", None),
            "formula": nullable(text(f"the difference {difference}")),
            "values": mapping("the value of each symbol of the formulas", {"type": "number"}),
            "fields": mapping("fields of both configs whose values differ", record("a field", values)),
            "costs": array("costs of the call of --tokens; empty without it", record("a cost", cost)),
            "notes": texts(EXCESS),
        },
    )


def table() -> Schema:
    """Return the schema of `archspec table --json`."""
    column = {
        "name": text("the key in rows, as --columns takes it"),
        "title": text("the heading"),
        "meaning": text("the meaning of the heading, empty if it is obvious"),
    }
    rows = array("one row per model: the value of each column, null for none", {"type": "object"}, 1)
    return record(
        "Several models side by side; `archspec.table(models).as_json()`.",
        {
            "columns": array("the columns in order", record("a column", column), 1),
            "rows": rows,
            "notes": texts("where values come from"),
            "transformers_version": _VERSION,
        },
    )


def sweep() -> Schema:
    """Return the schema of one line of `archspec sweep --json`."""
    about = (
        "One point of the grid; a sweep prints one document per line, as `archspec.Sweep.rows()` "
        "gives them. Keys are the swept fields, the tied fields and the columns."
    )
    value = {"type": _VALUE, "description": "the value of a field or a column at this point"}
    return mapping(about, value, minProperties=2)


def solve() -> Schema:
    """Return the schema of `archspec solve --json`."""
    law = {
        "law": text("its name, as --law takes it"),
        "source": text("the paper"),
        "counts": choice("the quantity of its parameters", "params", "non_embedding_params"),
        "compute": number("training FLOPs"),
        "params": integer("parameters that it predicts"),
        "tokens": integer("training tokens that it predicts"),
    }
    costs = {
        "training_flops": integer("training FLOPs on --tokens tokens"),
        "memory_bytes": integer("bytes of weights and KV cache of --memory"),
        **{name: integer("parameters that the law counts") for name in ("params", "non_embedding_params")},
        "tokens": integer("training tokens that the law predicts"),
    }
    budgets = [name for name in BUDGETS if name != "bytes"]
    solution = {
        "values": mapping("the fields that were chosen", {"type": _VALUE}),
        **quantities(*budgets),
        "bytes": integer("bytes of the parameters at --dtype, else at the config's dtype"),
        "miss": number("the largest relative distance from a target", minimum=0),
        "config": {"type": "object", "description": "the complete config.json"},
        "costs": record("costs with a budget", costs, optional=tuple(costs)),
        "path": nullable(text("the config.json that --out wrote, null without it")),
    }
    return record(
        "Configs that meet a budget; `archspec.solve(config).as_json()`.",
        {
            "law": nullable(
                {**record("the prediction of a scaling law, null without --compute", law), "type": "object"}
            ),
            "order": text("how solutions are ranked, or empty"),
            "solutions": array("the configs, the best first", record("a config", solution), 1),
            "notes": texts("constraints that keep solutions from the budget"),
        },
    )


def list_() -> Schema:
    """Return the schema of `archspec list --json`."""
    types = {
        "model_type": text("transformers' model type"),
        "architectures": texts(
            "its supported classes, the base model first; empty for a part of other models"
        ),
    }
    return record(
        "The supported models; `archspec.catalogue().as_json()`.",
        {
            "model_types": array("the matching model types, sorted", record("a model type", types), 1),
            "notes": texts("where custom specs are, and their problems"),
        },
    )
