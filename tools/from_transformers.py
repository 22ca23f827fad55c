"""Writes what is read from the installed transformers: model types, parallelism plans and losses.

`python -m tools.release --transformers` writes the three files in formulas/, which takes minutes.
`python -m tools.from_transformers types`, `plans` or `losses` writes one of them.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from archspec.costs.activations import LOSSES, PIPELINE, TENSOR, WHOLE
from archspec.costs.parallel import PLANS
from archspec.language.values import has_kind, parse_kinds
from archspec.reference import Refused, Unavailable, build, config_class, config_of, model_class, versions
from archspec.reference.classes import exported_classes
from archspec.specs.exported import ACTIVATIONS, FILE
from archspec.specs.library import shipped_library
from archspec.verifying.costs import losses, ranks
from archspec.verifying.costs.record import in_scope
from archspec.verifying.generate.sampling import Sampler

FOLDER = Path(shipped_library().folder)
_UNKNOWN = "no_such_activation"
_PROBES = ("text", [1.5])  # a wrong value for a field of numbers, and one for a text


def write_types() -> None:
    """Write the model types and classes, one model type per line."""
    lines = {
        name: {**line, "activations": [*activations(name, [*line["classes"]])]} for name, line in types()
    }
    head = f'"transformers": "{versions()["transformers"]}", "every": {json.dumps(every())}'
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(line)}" for name, line in lines.items())
    _write(FILE, f'{{{head}, "types": {{\n{rows}\n}}}}\n')


def types_are_stale() -> bool:
    """Return True if the file has other classes or fields than the installed transformers."""
    recorded = json.loads((FOLDER / FILE).read_text(encoding="utf-8"))
    for line in recorded["types"].values():
        del line["activations"]
    return bool(recorded["types"] != json.loads(json.dumps(dict(types()))) or recorded["every"] != every())


def types() -> list[tuple[str, dict[str, Any]]]:
    """Return each model type with its classes, and the fields of its config class."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    found: dict[str, dict[str, Any]] = {name: {} for name in CONFIG_MAPPING_NAMES}
    for (model_type, name), listing in exported_classes().items():
        line: dict[str, Any] = {"auto": listing.autos}
        if listing.reads != model_type:
            line["reads"] = listing.reads
        found.setdefault(model_type, {})[name] = line
    return [(name, {"classes": found[name], "fields": _fields(name)}) for name in sorted(found)]


def every() -> dict[str, str]:
    """Return the fields of every config; transformers does not enforce their types."""
    from transformers import PreTrainedConfig

    return dict.fromkeys((field.name for field in dataclasses.fields(PreTrainedConfig)), "any")


def _fields(model_type: str) -> dict[str, str]:
    """Return the fields of a config class that not every config has, and its aliases, with their types."""
    try:
        cls = config_class(model_type)
    except Unavailable:
        return {}
    declared = {field.name: _type_of(field.type) for field in dataclasses.fields(cls)}
    kinds = {alias: declared.get(name, "any") for alias, name in getattr(cls, "attribute_map", {}).items()}
    kinds |= declared
    return {name: _enforced(model_type, name, kinds[name]) for name in sorted(kinds.keys() - every().keys())}


def _type_of(annotation: Any) -> str:
    """Return the declared type of a field as spec files write types; `any` if they cannot."""
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return text if parse_kinds(text) else "any"


def _enforced(model_type: str, name: str, kind: str) -> str:
    """Return the type of a field if transformers refuses other values, else `any`."""
    other = next((value for value in _PROBES if not has_kind(value, parse_kinds(kind))), None)
    with suppress(Unavailable):
        try:
            _ = other is None or config_of(model_type, {name: other})
        except Refused:
            return kind
    return "any"


def activations(model_type: str, classes: list[str]) -> Iterator[str]:
    """Yield the fields in which a class refuses an activation that transformers does not know."""
    is_supported = model_type in shipped_library().model_types()
    supported = shipped_library().load(model_type).architectures if is_supported else ()
    for name in (*supported, *classes)[:1]:
        with suppress(Refused, Unavailable, AttributeError):
            small, cls = _small_config(model_type) if is_supported else {}, model_class(name, model_type)
            config = config_of(model_type, small)
            build(cls, config)
            for field in dataclasses.fields(config):
                value = vars(config).get(field.name)
                known = isinstance(value, str) and value.removeprefix("gated-") in ACTIVATIONS  # T5's prefix
                if known and _looks_up(cls, model_type, small, field.name):
                    yield field.name


def _small_config(model_type: str) -> dict[str, Any]:
    """Return the default config, with few layers if transformers accepts them."""
    small = Sampler(shipped_library().load(model_type), 0).draw_config(0)
    with suppress(Refused):
        config_of(model_type, small)
        return small
    return {}


def _looks_up(cls: Any, model_type: str, raw: dict[str, Any], field: str) -> bool:
    """Return True if a class looks up the activation that a field names."""
    with suppress(Unavailable):
        try:
            build(cls, config_of(model_type, {**raw, field: _UNKNOWN}))
        except Refused as error:
            return "KeyError" in str(error) and _UNKNOWN in str(error)
    return False


def write_plans() -> None:
    """Write the parallelism plans, and the classes that are exact under them."""
    classes = [(model_type, name) for model_type, names in in_scope().items() for name in names]
    plans = ranks.plans_of(classes)
    found: dict[tuple[str, str], list[str]] = {}
    _write(PLANS, ranks.text({}, plans))  # first, because parameters are compared by them
    for model_type, name in classes:
        spec = shipped_library().load(model_type)
        outcome = ranks.verify_ranks(spec, name)
        steps = ranks.verify_steps(spec, name) if outcome.kinds else []
        found[model_type, name] = [*outcome.kinds, *steps]
        print(model_type, name, len(outcome.compared), *found[model_type, name], flush=True)
        for difference in outcome.differences[:2]:
            print("   ", str(difference)[:400], flush=True)
    _write(PLANS, ranks.text(found, plans))


def write_losses() -> None:
    """Write the loss of each class whose activations are exact."""
    found: dict[str, dict[tuple[str, str], str]] = {one: {} for one in (WHOLE, TENSOR, PIPELINE)}
    for model_type, name, kernels in losses.classes():
        spec = shipped_library().load(model_type)
        loss = losses.verify_loss(spec, name, kernels) if kernels else None
        if loss is not None:
            for kind in (WHOLE, *losses.verify_ranks_loss(spec, name, kernels, loss)):
                found[kind][model_type, name] = loss
        print(model_type, name, loss, flush=True)
    _write(LOSSES, losses.text(found))


def _write(name: str, text: str) -> None:
    (FOLDER / name).write_text(text, encoding="utf-8")


WRITERS = {"types": write_types, "plans": write_plans, "losses": write_losses}

if __name__ == "__main__":
    for one in sys.argv[1:]:
        WRITERS[one]()
