"""The calls of the page: each takes and returns plain data, through archspec's public interface."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

import archspec
from archspec.errors import command_line
from problems import CONFIG, bug, input_of, problem, worded

EXACT = 2**53  # JavaScript represents whole numbers exactly up to this one
LONG = re.compile(r"(?<![\d.])\d{16}")  # larger numbers have at least 16 digits


@lru_cache(maxsize=8)
def model(source: str) -> archspec.Model:
    """Load the model of a source in JSON: `{name or text, architecture, set}`."""
    asked = json.loads(source)
    config = asked.get("name")
    if config is None:
        config = put(asked["text"])
    return archspec.load(config, asked.get("architecture"), asked.get("set") or None)


def put(text: str) -> str:
    """Write a text to a file and return its path."""
    # archspec reports invalid characters
    with open(CONFIG, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
    return CONFIG


def versions() -> Any:
    return {"archspec": archspec.__version__, "transformers": archspec.TRANSFORMERS_VERSION}


def count(source: str, dtype: str | None = None) -> Any:
    """Return the counts, and all modules instead of the ones that the report would show."""
    found = model(source)
    return {"counts": plain(found.counts(dtype or None, depth=0)), "tree": found.tree.as_json()}


def plain(report: Any) -> dict[str, Any]:
    """Return a report as plain data, with its notes worded for the page."""
    data: dict[str, Any] = report.as_json()
    return data | {"notes": [worded(note) for note in data["notes"]]}


def tensors(source: str) -> Any:
    return [one._asdict() | {"active": float(one.active)} for one in model(source).tensors()]


def fields(source: str) -> Any:
    return model(source).fields.as_json()


def completed(source: str) -> str:
    """Return the config.json of a model, with the overrides."""
    return json.dumps(archspec.complete(model(source)), indent=2)


def entering(source: str) -> Any:
    """Return the fields that a count reads."""
    return model(source).formula.relevant_fields


def formula(source: str, asked: dict[str, Any]) -> Any:
    """Return a formula like `archspec formula` with the same options."""
    whole = model(source).quantity(asked["quantity"]).assume(*asked["assume"])
    left = whole.leading_terms(*asked["growing"]) if asked["leading"] else None
    shown = left or whole
    grouped = asked["by"] != "repetition"
    parts = shown.split(asked["by"], asked["depth"] if asked["by"] == "module" else 1)
    text = whole.as_json()
    listed = [
        {"label": one.label, "latex": one.latex(), "value": one.value, "share": one.share} for one in parts
    ]
    return {
        **{name: text[name] for name in ("architecture", "value", "symbols", "definitions")},
        **{name: text[name] for name in ("assumptions", "unused")},
        "latex": shown.latex(),
        "parts": listed if grouped else [],
        "leading": left and {**left.as_json(), "dropped_latex": left.dropped.latex()},
        "copies": {
            "LaTeX": parts.latex() if grouped else shown.latex(env="equation*"),
            "LaTeX document": (parts if grouped else shown).latex(standalone=True),
            "Python": program(whole, parts),
            "Markdown": "\n".join(f"{one.label and f'{one.label}: '}${one.latex()}$  " for one in parts),
        },
    }


def program(whole: archspec.Formula, parts: archspec.Parts) -> str:
    """Return a Python program: the values of the fields, the parts, and their sum."""
    texts = [one.python() for one in parts]
    words = set(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))
    known = {named(field): value for field, value in whole.config_values.items()} | whole.inputs
    values = {name: value for name, value in known.items() if name in words}
    names = [named(one.label or whole.quantity) for one in parts]
    names = [f"{one}_part" if one in values else one for one in names]
    lines = [f"{name} = {value!r}" for name, value in values.items()]
    lines += ["", *(f"{name} = (\n{text}\n)" for name, text in zip(names, texts, strict=True))]
    if names != [whole.quantity]:
        lines.append(f"{whole.quantity} = {' + '.join(names)}")
    return "\n".join(lines)


def named(label: str) -> str:
    """Return a field or a part's label as a Python identifier."""
    return re.sub(r"\W+", "_", label).strip("_")


CALLS: dict[str, Callable[..., Any]] = {
    "versions": versions,
    "count": count,
    "tensors": tensors,
    "fields": fields,
    "completed": completed,
    "entering": entering,
    "formula": formula,
}


ITEMS = ("images", "videos", "audios")
FLAGS = ("processed", "last")


def inputs(found: archspec.Model) -> dict[str, str]:
    """Return the inputs of a call that a class takes, each with the size of an item if none is given."""
    items = {name: size for name, size in found.inputs.items() if name in ITEMS}
    names = ["batch"]
    if "text" in found.inputs:
        names += ["tokens", "past", "text_tokens" if items else "encoder_tokens", "last"]
    sizes = {name: written(size) if size else "" for name, size in items.items()}
    return dict.fromkeys(names, "") | sizes | ({"processed": ""} if items else {})


def written(size: tuple[int, ...]) -> str:
    """Return the size of a tensor as users type it: `224x224`, `16@224x224` or `3000f`."""
    if len(size) == 1:
        return f"{size[0]}f"
    *frames, height, width = size
    return "".join(f"{number}@" for number in frames) + f"{width}x{height}"


def costs(source: str, asked: dict[str, Any]) -> Any:
    """Return the costs of a call and of a training step, and the inputs that the class takes.

    Each part is a report or its errors. Inputs that the class does not take are ignored.
    """
    found, call = model(source), asked["call"]
    own, stored = lengths(call, found), {"dtype": call["dtype"], "weights": call["weights"]}
    budget, taken = asked["accelerator_bytes"], inputs(found)
    kept = {name: value for name, value in own.items() if name not in ("past", "text_tokens")}

    def flops() -> Any:
        report = found.flops(**own)
        more = {"flops_per_token": None} if report.call.has_items else {}
        return with_tables(report) | more | {"received": received(report)}

    def cache() -> Any:
        held = kept | ({"tokens": found.forward(**own).call.context} if "tokens" in taken else {})
        return with_tables(found.cache(**held, **stored, budget=budget))

    def training() -> Any:
        step = {name: value for name, value in own.items() if name != "past"}
        return plain(found.training(**step, **asked["training"]))

    last = call["last"] and "last" in taken
    return {
        "inputs": taken,
        "flops": part(flops, taken),
        "memory": part(lambda: plain(found.memory(**own, **stored, last=last))),
        "cache": part(cache),
        "training": part(training),
    }


def received(report: archspec.Flops) -> list[tuple[str, str]]:
    """Return what a class receives instead of images, videos and audio; nothing for a call without them."""
    has_items = any(getattr(report, name) for name in ITEMS)
    return list(dict.fromkeys(report.input_rows())) if has_items else []


def lengths(call: dict[str, Any], *models: archspec.Model) -> dict[str, Any]:
    """Return the lengths and the items of a call that all models take."""
    taken = set.intersection(*({*inputs(one)} for one in models))
    given = {name: value for name, value in call.items() if name in taken and name not in FLAGS}
    has_items = any(given.get(name) for name in ITEMS)
    return given | ({"processed": call["processed"]} if has_items else {})


def tokens_of(call: dict[str, Any], *models: archspec.Model) -> int:
    """Return the tokens of a call; by default, as many as all models allow."""
    if call["tokens"] is not None:
        return int(call["tokens"])
    return min(one.forward(**lengths(call, *models)).call.tokens for one in models)


def part(asked: Callable[[], Any], inputs: Collection[str] = ()) -> Any:
    """Return a part of an answer, or its errors, with the inputs that they are about."""
    try:
        return {"result": asked()}
    except archspec.ArchspecError as error:
        return {"problems": [problem(one) | input_of(one, inputs) for one in error.problems]}


def with_tables(report: Any) -> dict[str, Any]:
    """Return a report as plain data, with the command line's tables instead of modules or tensors."""
    data = {name: value for name, value in plain(report).items() if name not in ("modules", "tensors")}
    return data | {"tables": [one._asdict() for one in report.blocks() if not isinstance(one, str)]}


CALLS |= {"costs": costs}


def changes(a: str, b: str, call: dict[str, Any]) -> Any:
    """Return the differences of two models in numbers, without SymPy, or the errors of a side."""
    sides = {"a": counted(a, call), "b": counted(b, call)}
    if any("problems" in one for one in sides.values()):
        return {**sides, "diff": None}
    found = archspec.diff(model(a), model(b))
    differences = {
        "changes": [one._asdict() for one in found.changes],
        "prefixes": found.prefixes,
        "fields": {name: {"a": one, "b": other} for name, (one, other) in found.fields.items()},
    }
    return {**sides, "diff": differences, "costs": part(lambda: cost_changes(a, b, call))}


def counted(source: str, call: dict[str, Any]) -> Any:
    return part(lambda: plain(model(source).counts(call["dtype"])))


def cost_changes(a: str, b: str, call: dict[str, Any]) -> Any:
    models = model(a), model(b)
    called = lengths(call, *models)
    if any("text" in one.inputs for one in models):
        called |= {} if called.get("text_tokens") else {"tokens": tokens_of(call, *models)}
    elif not any(called.get(name) for name in ITEMS):
        called |= default_items(*models)
    found = archspec.diff(*models, **called)
    return {
        "changes": [one._asdict() for one in found.costs],
        "notes": [worded(note) for note in found.notes],
    }


def default_items(a: archspec.Model, b: archspec.Model) -> dict[str, Any]:
    """Return one item of the size that both classes have by default. Both take items only."""
    for name, size in a.inputs.items():
        if size and b.inputs.get(name) == size:
            return {name: [written(size)], "processed": True}
    message = "costs are not compared: the default inputs of both classes differ"
    raise archspec.ArchspecError(message, help="add images, videos or audio of the same size in the costs")


def diff(a: str, b: str) -> Any:
    """Return the differences with closed forms, or why there are none."""
    found = archspec.diff(model(a), model(b))
    return found.as_json() | {"missing": found.forms.missing}


def point(source: str, quantity: str, values: dict[str, Any], call: dict[str, Any]) -> int:
    """Return a quantity at other values of fields."""
    found = model(source).with_fields(values)
    if quantity == "bytes":
        return found.params_bytes(call["dtype"])
    if quantity == "flops":
        return found.forward(**lengths(call, model(source))).flops
    if quantity == "cache_bytes":
        kept = found.forward(**lengths(call, model(source)))
        return kept.cache_bytes(call["dtype"] or found.dtype)
    return found.count(quantity)


CALLS |= {"changes": changes, "diff": diff, "point": point}


def solve(source: str, budget: dict[str, Any], dtype: str | None) -> Any:
    """Return configs near a budget in the model's proportions, best first."""
    asked = json.loads(source)
    config: Any = (
        archspec.complete(model(source)) if asked.get("set") else asked.get("name") or put(asked["text"])
    )
    found = archspec.solve(config, architecture=asked.get("architecture"), dtype=dtype, **budget)
    blocks = [*found.blocks()]
    return {
        "tables": [one._asdict() for one in blocks if not isinstance(one, str)],
        "said": [worded(one) for one in [*blocks, *found.notes] if isinstance(one, str) and one],
        "configs": [one.config for one in found],
    }


CALLS |= {"solve": solve}


def answer(call: str, arguments: str) -> str:
    """Return a call's answer in JSON: `{result}`, or `{problems}` for errors and bugs."""
    try:
        with command_line():  # problems.py words these names for the page
            return exact(json.dumps({"result": CALLS[call](*json.loads(arguments))}))
    except archspec.ArchspecError as error:
        return json.dumps({"problems": [problem(one) for one in error.problems]})
    except Exception as error:
        return json.dumps({"problems": [bug(error, call, arguments)]})


def exact(text: str) -> str:
    """Return JSON with strings for whole numbers that JavaScript would round."""
    return json.dumps(in_digits(json.loads(text))) if LONG.search(text) else text


def in_digits(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: in_digits(one) for name, one in value.items()}
    if isinstance(value, list):
        return [in_digits(one) for one in value]
    return str(value) if isinstance(value, int) and abs(value) > EXACT else value
