"""Random command lines, of the options that each verb declares."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from archspec.cli.command_line import argparse_form, command_options
from archspec.specs.library import shipped
from archspec.tables.verbs import VERBS
from tools.fuzz import configs
from tools.fuzz.values import BROKEN, CLASSES, SIZED, Subject, value_of

Random = random.Random
SLOW = ("verify", "derive")  # they build models: tried less often, and never on everything
LEFT_OUT = {  # what would take minutes or hours, or write into the checkout
    ("verify", "--all"),
    ("verify", "--changed"),
    ("verify", "--coverage"),
    ("verify", "--samples"),
    ("verify", "--costs"),
}
FIXED = {"verify": ["--samples", "0", "--jobs", "1"], "derive": ["--no-verify"]}
BESIDE = ("--no-such-option", "--help", "--json", "--", *BROKEN)
SELDOM = ("--architecture", "--config", "config", "--specs")  # most of them have nothing to do with the model
OFTEN = {  # what makes more of the others work
    **dict.fromkeys((("solve", "--params"), ("solve", "--free"), ("sweep", "--set")), 0.9),
    **dict.fromkeys((("diff", "--tokens"), ("memory", "--train"), ("formula", "--format")), 0.4),
}
NAMES = {  # what derive imports has to be harmless
    "derive": (
        "BertModel",
        "bert",
        "NoSuchModel",
        "json:JSONDecoder",
        "no.such:Thing",
        ":",
        "a:",
        "os",
        "é:é",
    ),
    "lint": ("config.json", "notation.yaml", "folder", "spec.yaml", "nowhere.yaml"),
    "list": ("bert", "Llama", "[", "*", "é"),
    "verify": ("bert", "NoSuchModel", "gpt2", "é", ""),
}


def line(random: Random, folder: Path) -> list[str]:
    """A command line; what it reads and writes is in the folder, in which it is to be run."""
    if random.random() < 0.02:
        return random.choices((*BROKEN, "--help", "--version", "-h"), k=random.randrange(3))
    verb = random.choice(SLOW if random.random() < 0.02 else [verb for verb in VERBS if verb not in SLOW])
    options = [(option.flag, argparse_form(option)) for option in command_options(verb)]
    sound = random.random() < 0.5  # such a line has nothing broken, though its options may not go together
    subject = _subject(random, folder, sound)
    given = [verb, *FIXED.get(verb, [])]
    for name, about in options:
        if (verb, name) in LEFT_OUT:
            continue
        elif name.startswith("-"):
            chance = 0.04 if name in SELDOM else OFTEN.get((verb, name), 1.5 / len(options))
            given += _option(name, about, chance, random, subject)
        else:
            given += _positional(verb, name, about, random, subject)
    for _ in range(0 if sound else random.choice((0, 1, 1, 2))):
        _break(given, random)
    return given


def _break(given: list[str], random: Random) -> None:
    """Puts something broken into a line: mostly a value in the place of another."""
    values = [at for at, text in enumerate(given) if at and not text.startswith("-")]
    if values and random.random() < 0.75:
        broken = random.choice(BROKEN)
        given[random.choice(values)] = f"./{broken}" if given[0] == "lint" else broken  # without a file: all
    else:
        given.insert(random.randrange(1, len(given) + 1), random.choice(BESIDE))


def _option(name: str, about: dict[str, Any], chance: float, random: Random, subject: Subject) -> list[str]:
    """An option, not at all, once or more often."""
    if random.random() > chance:
        return []
    if about.get("action") == "store_true" or (about.get("nargs") == "?" and random.random() < 0.5):
        return [name]
    value = value_of(name, about["metavar"], random, subject)
    if about.get("choices") and random.random() < 0.9:
        value = random.choice(about["choices"])
    once = [f"{name}={value}"] if random.random() < 0.3 else [name, value]
    repeated = about.get("action") == "append"
    return [*once, *(_option(name, about, 0.3, random, subject) if repeated else [])]


def _positional(verb: str, name: str, about: dict[str, Any], random: Random, subject: Subject) -> list[str]:
    if name in SELDOM and random.random() < 0.9:
        return []
    if name in ("model", "a"):
        return [subject.model]
    return [random.choice(NAMES.get(verb, CLASSES))]


def _subject(random: Random, folder: Path, sound: bool) -> Subject:
    """A class or a type by its name, or a config that is written into the folder."""
    if random.random() < 0.4:
        model = random.choice(CLASSES)
        types = shipped().index().get(model, (model,))
        return Subject(model, _fields(types[0], sound), sound)
    name = random.choice(("config.json", "folder/config.json"))
    text, model_type = configs.text(random, sound)
    (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    model = random.choice((name, f"./{name}", "folder" if "/" in name else name))
    return Subject(model, _fields(model_type, sound), sound)


def _fields(model_type: str, sound: bool) -> tuple[str, ...]:
    """Fields of a model type: those that are set most often, and of a line that is not sound any others."""
    if model_type not in shipped().model_types():
        return SIZED
    spec = shipped().load(model_type)
    sized = tuple(name for name in SIZED if name in spec.fields or name in spec.attribute_map)
    if sound and sized:
        return sized
    return (*spec.fields, *sized, "hidden_size", "dtype", "no_such.field")


def prepare(folder: Path, random: Random) -> None:
    """Write the files that command lines may read."""
    (folder / "folder").mkdir()
    (folder / "notation.yaml").write_text("V: {latex: V, meaning: vocabulary, fields: [vocab_size]}\n")
    spec = Path(__file__).parents[2] / "formulas" / "bert.yaml"
    lines = spec.read_text(encoding="utf-8").splitlines(keepends=True)
    del lines[random.randrange(len(lines))]
    (folder / "spec.yaml").write_text("".join(lines), encoding="utf-8")
    (folder / "specs").mkdir()
    (folder / "specs" / "bert.yaml").write_text("".join(lines), encoding="utf-8")
