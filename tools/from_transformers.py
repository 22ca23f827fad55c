"""Writes what is read from the installed transformers: model types, plans, losses and processors.

`python -m tools.release --transformers` writes the four files in formulas/, which takes minutes.
`python -m tools.from_transformers types`, `plans`, `losses` or `processors` writes one of them.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from archspec.costs.training.activations import LOSSES, PIPELINE, TENSOR, WHOLE
from archspec.costs.training.parallel import PLANS
from archspec.language.values import has_kind, parse_kinds
from archspec.processors.processor import TABLE
from archspec.reference import Refused, Unavailable, build, config_class, config_of, model_class, versions
from archspec.reference.classes import exported_classes
from archspec.specs.exported import ACTIVATIONS, FILE
from archspec.specs.library import shipped_library
from archspec.verifying.costs import losses, ranks
from archspec.verifying.costs.record import in_scope
from archspec.verifying.generate.sampling import Sampler

FOLDER = Path(shipped_library().folder)
_UNKNOWN = "no_such_activation"
_KINDS = {"images": "image_processing", "videos": "video_processing", "audios": "feature_extraction"}
_CALLS = {"images_kwargs": "images", "videos_kwargs": "videos", "audio_kwargs": "audios"}
_NO_SIZES = re.compile(  # parameters of processors that change no size
    r"resample|image_(mean|std)|(rescale|normalize)_|do_(rescale|normalize|convert_rgb|reduce|flip|gray)|do_map"
    r"|model_input|main_input|valid_kwargs|return_|mask_|codebook|input_size|ignore_index|ocr|tesseract|device"
    r"|data_format|format$|font|color|padding_value|mel|dither|emphasis|_frequency|f(min|max)$|floor|(mean|std)$"
    r"|norm_|compression_|clusters|skip_tensor|encoded_length|_token_id|delay_pattern|high_res_(resample|image)"
)
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


def write_processors() -> None:
    """Write the classes that prepare images, videos and audio, one class or model type per line."""
    parts = []
    for name, table in processors().items():
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items())
        parts.append(f"{json.dumps(name)}: {{\n{rows}\n}}")
    text = ",\n".join(parts)
    _write(TABLE, f'{{"transformers": "{versions()["transformers"]}",\n{text}}}\n')


def processors() -> dict[str, dict[str, Any]]:
    """Return the default parameters of each class, and the classes of each model type.

    They are read from source text, because most of the classes cannot be imported without torchvision.
    """
    import transformers

    models = Path(transformers.__file__).parent / "models"
    assigned: dict[str, Any] = {}
    for path in sorted(models.glob("auto/*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assigned |= _assignments(node for node in nodes if isinstance(node, ast.Assign))
    tables: dict[str, dict[str, Any]] = {}
    types: dict[str, dict[str, str]] = {}
    for kind, file in _KINDS.items():
        tables[kind] = {
            name.removesuffix("Pil"): {
                key: value for key, value in found.items() if not _NO_SIZES.search(key)
            }
            for name, found in _classes(models, f"*/{file}_*.py").items()
            if re.search(r"(Processor|Extractor)(Pil)?$", name)
        }
        mapping = file.upper().replace("PROCESSING", "PROCESSOR").replace("EXTRACTION", "EXTRACTOR")
        for name in (f"{mapping}_MAPPING_NAMES", f"MISSING_{mapping}_MAPPING_NAMES"):
            for model_type, value in dict(assigned.get(name, {})).items():
                cls = value if isinstance(value, str) else value.get("torchvision") or value["pil"]
                types.setdefault(model_type, {})[kind] = cls.removesuffix("Pil")
    read = _classes(models, "*/processing_*.py")
    calls = {
        name: {
            _CALLS[key]: {one: given for one, given in value.items() if not _NO_SIZES.search(one)}
            for key, value in found.items()
            if key in _CALLS
        }
        for name, found in read.items()
    }
    calls = {name: {key: one for key, one in found.items() if one} for name, found in calls.items()}
    for name, found in read.items():
        if found.get("max_audio_len"):
            calls[name].setdefault("audios", {})["max_audio_len"] = found["max_audio_len"]
    for model_type, name in dict(assigned["PROCESSOR_MAPPING_NAMES"]).items():
        if calls.get(name) and model_type in types:
            types[model_type]["processor"] = name
    tables["processors"] = {name: found for name, found in calls.items() if found}
    return {**tables, "types": dict(sorted(types.items()))}


def _classes(models: Path, pattern: str) -> dict[str, dict[str, Any]]:
    """Return the class attributes and defaults of `__init__` of each class that files define."""
    paths = sorted(models.glob(pattern), key=lambda path: ("_pil_" not in path.name, path))
    nodes = {
        node.name: node
        for path in paths
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    found: dict[str, dict[str, Any]] = {}

    def read(name: str) -> dict[str, Any]:
        if name not in found and name in nodes:
            inherited = [read(ast.unparse(base)) for base in nodes[name].bases]
            own = [_assignments(nodes[name].body)]
            for one in nodes[name].body:
                if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                    own += [_defaults(one)]
            found[name] = {key: value for part in (*inherited, *own) for key, value in part.items()}
        return found.get(name, {})

    return {name: read(name) for name in nodes}


def _defaults(function: ast.FunctionDef) -> dict[str, Any]:
    """Return the defaults of a constructor, and those that it sets in place of None."""
    named = function.args.args[len(function.args.args) - len(function.args.defaults) :]
    found = {one.arg: _value(node) for one, node in zip(named, function.args.defaults, strict=True)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp):
            name, other = ast.unparse(node.targets[0]), _value(node.value.orelse)
            if name in found and found[name] is None and other is not ...:
                found[name] = other
    return {key: value for key, value in found.items() if value is not ...}


def _assignments(nodes: Iterable[ast.AST]) -> dict[str, Any]:
    """Return the names that are assigned plain values."""
    found = {}
    for node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and target is not None:
            value = _value(node.value)
            if value is not ...:
                found[ast.unparse(target)] = value
    return found


def _value(node: ast.expr) -> Any:
    """Return a value that source text writes out with literals and arithmetic, else an ellipsis."""
    plain = {"__builtins__": {}, "int": int, "dict": dict, "OrderedDict": dict}
    with suppress(Exception):  # names of other modules
        value = eval(compile(ast.Expression(node), "", "eval"), plain)
        json.dumps(value)
        return value
    return ...


def _write(name: str, text: str) -> None:
    (FOLDER / name).write_text(text, encoding="utf-8")


WRITERS = {"types": write_types, "plans": write_plans, "losses": write_losses, "processors": write_processors}

if __name__ == "__main__":
    for one in sys.argv[1:]:
        WRITERS[one]()
