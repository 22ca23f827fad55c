"""From classes to a draft: constructors read until the parameters of every module are known, then written."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection
from typing import Any

from archspec.deriving.own import Keywords, fields, maker, options
from archspec.deriving.reading import terms
from archspec.deriving.reading.configs import Reader
from archspec.deriving.reading.modules import Template
from archspec.deriving.reading.resolution import ConfigModel
from archspec.deriving.reading.values import Config, Raised, Unsupported
from archspec.deriving.writing.emit import Emitter
from archspec.deriving.writing.fields import fields_of
from archspec.deriving.writing.parts import Module, home_of
from archspec.deriving.writing.sharing import share
from archspec.deriving.writing.texts import module_lines
from archspec.errors import ArchspecError, Place, Problem
from archspec.specs.records import camel_case

MAX_ROUNDS = 10
_EMPTY = "it has no tensors"
_WRONG = "drafted, and not what the class builds; once archspec verify is content, this line can go"
_BY_HAND = "write the spec by hand, as docs/how-to/your-own-model.md shows"


class Draft:
    """A model type's spec as text; ``failed`` names the classes that could not be read, with the reason."""

    def __init__(
        self,
        model_type: str,
        text: str,
        architectures: list[str],
        failed: dict[str, str],
        parts: dict[str, str],
    ) -> None:
        self.model_type, self.text, self.architectures, self.failed, self.parts = (
            model_type,
            text,
            architectures,
            failed,
            parts,
        )
        self.skipped: list[Problem] = []  # the statements that were not read
        self.asked: list[str] = []  # modules and fields that drafts of other model types name

    def refuse(self) -> None:
        """Says in the draft that it is not to be counted from, as it is not what the class builds."""
        lines = self.text.split("\n")
        lines.insert(lines.index(f"model_type: {self.model_type}") + 1, f"refuse: {_WRONG}")
        self.text = "\n".join(lines)

    def record_verdict(self, architecture: str, verdict: str, compared: int, params: int | None) -> None:
        """Record in the draft the verdict on a class, and its count for the default config."""
        mark = f"  {architecture}"
        lines = self.text.split("\n")
        start = lines.index("architectures:") if "architectures:" in lines else 0
        for index in range(start, len(lines)):
            if lines[index].startswith((mark + ":", mark + "(")):
                count = "" if params is None else f"; {params:,} parameters for the default one"
                lines.insert(index, f"  # verify: {verdict} for {compared} configs{count}")
                break
        self.text = "\n".join(lines)


def draft(model_type: str, config: Any, classes: list[type], home: str = "") -> list[Draft]:
    """Drafts a model type's classes, the base model first, and its sub-configs' that no spec describes.

    ``config`` is the default config object. Errors: :class:`ArchspecError` where no class can be read.
    """
    formal: dict[tuple[type, str], set[str]] = {}
    places: dict[str, Place | None] = {}
    for _ in range(MAX_ROUNDS):
        reader = Reader()
        reader.formal = formal
        read: dict[type, Template] = {}
        failed: dict[str, str] = {}
        for cls in classes:
            root = Config(type(config), (), config)
            reader.scope = root
            try:
                reader.model(type(config), config)
                given = keyword_arguments(reader, root)
                made = reader.construct(cls, [] if given else [root], given)
                read[cls] = made.template
            except Raised as error:
                failed[cls.__name__] = f"the constructor raises {error}"
                places[cls.__name__] = error.__dict__.get("place")
            except Unsupported as error:
                failed[cls.__name__] = f"not supported: {error}"
                places[cls.__name__] = error.__dict__.get("place")
            except RecursionError:
                failed[cls.__name__] = "not supported: an endless recursion"
            except Exception as error:  # the code that is read, or torch under it, raises whatever it likes
                failed[cls.__name__] = f"not supported: {type(error).__name__}: {error}"
        emitter = Emitter(reader, model_type, type(config))
        emitter.finish = share
        written: dict[str, Module] = {}
        for cls, template in read.items():
            try:
                module = emitter.module(template)
                if module is None:
                    failed[cls.__name__] = _EMPTY
                else:
                    written[cls.__name__] = module
            except (Unsupported, TypeError, RecursionError) as error:
                failed[cls.__name__] = f"not written: {error}"
        again = differing(emitter, formal) or reader.retry
        if not again:
            break
        reader.retry = False
    if not written:
        empty = set(failed.values()) <= {_EMPTY}
        problems = not_read(reader) if empty else []
        problems = problems or [
            Problem(f"{name}: {reason}", places.get(name), help=_help(reason))
            for name, reason in failed.items()
        ]
        raise ArchspecError(problems or Problem(f"{model_type}: nothing to derive", help=_help("")))
    drafts = assembled(model_type, reader, emitter, written, failed, type(config))
    drafts[0].skipped = not_read(reader)
    return drafts


def not_read(reader: Reader) -> list[Problem]:
    """The statements that were not read, each at its line."""
    return [problem._replace(help=_BY_HAND) for problem in reader.skipped.values()]


def _help(reason: str) -> str:
    """What helps where a class is not read, by the reason."""
    if reason.startswith("the constructor raises"):
        return "change the defaults of the config to values that the constructor accepts"
    if reason.startswith("not supported"):
        return _BY_HAND
    return "derive a class that has tensors at its default config"


def keyword_arguments(reader: Reader, root: Config) -> dict[str, Any]:
    """The fields of a config that is the keyword arguments of a constructor; none of another one."""
    names = fields(root.real) if issubclass(root.cls, Keywords) else ()
    return {name: reader.attribute(root, name) for name in names}


def differing(emitter: Emitter, formal: dict[tuple[type, str], set[str]]) -> bool:
    """Finds arguments that make two variants of a class differ; they become parameters."""
    found = False
    for (_, cls), modules in emitter.variants.items():
        templates = [module.template for module in modules if module.template is not None]
        for one in templates[1:]:
            first = templates[0]
            for name in first.closed.keys() | one.closed.keys():
                a, b = first.closed.get(name), one.closed.get(name)
                if (
                    a != b
                    and a is not None
                    and b is not None
                    and scalar(a)
                    and scalar(b)
                    and (cls, name) not in formal
                ):
                    formal[cls, name] = set()
                    found = True
    return found


def scalar(text: str) -> bool:
    """Whether what an argument was recorded as is an expression."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return not text.startswith(("config ", "choice ", "<", "seen")) and not isinstance(
        node, ast.List | ast.Tuple | ast.Dict
    )


def assembled(
    model_type: str,
    reader: Reader,
    emitter: Emitter,
    written: dict[str, Module],
    failed: dict[str, str],
    cls: type,
) -> list[Draft]:
    parts = part_architectures(reader, emitter, model_type)
    homes: dict[str, list[Module]] = {}
    for (home, _), module in emitter.modules.items():
        homes.setdefault(home, []).append(module)
    drafts = []
    fields = [home_of(part) for module in emitter.modules.values() for part in parts_read(emitter, module)]
    for home in dict.fromkeys([model_type, *homes, *fields]):
        modules = homes.get(home, [])
        model = reader.models.get(cls) if home == model_type else model_of(reader, home)
        if model is None:
            continue
        drafts.append(
            one_draft(
                home,
                model,
                modules,
                written if home == model_type else parts.get(home, {}),
                failed if home == model_type else {},
                emitter,
            )
        )
    return drafts


def part_architectures(reader: Reader, emitter: Emitter, model_type: str) -> dict[str, dict[str, Module]]:
    """For each sub-config's model type, the classes that it stands for: the base model, and what is called by
    AutoModel…."""
    from archspec.reference import Unavailable, config_class, model_class

    found: dict[str, dict[str, Module]] = {}
    for home in dict.fromkeys(home for home, _ in list(emitter.modules) if home != model_type):
        names = mapped_classes(home) if home in known_types() else []
        wanted = names[:1] + [name for name in names[1:] if (home, name) in emitter.modules]
        for name in wanted:
            try:
                cls, config = model_class(name, home), config_class(home)()
                root = Config(type(config), (), config)
                reader.scope = root
                made = reader.construct(cls, [root], {})
                module = emitter.module(made.template)
            except (Unsupported, Raised, Unavailable, RecursionError, TypeError):
                continue
            if module is not None:  # as it is called, where that is another variant
                found.setdefault(home, {})[name] = emitter.modules.get((home, name), module)
    return found


def model_of(reader: Reader, home: str) -> ConfigModel | None:
    """What is known of a model type's config class; one that only holds others is read here, for the first
    time."""
    known = next((model for cls, model in reader.models.items() if home_of(cls) == home), None)
    cls = next((cls for cls in reader.classes.values() if home_of(cls) == home), None)
    return known if known is not None or cls is None else reader.model(cls, None)


def one_draft(
    home: str,
    model: ConfigModel,
    modules: list[Module],
    written: dict[str, Module],
    failed: dict[str, str],
    emitter: Emitter,
) -> Draft:
    used: set[str] = set(needed(emitter, home))
    for module in emitter.modules.values():
        prefix = ".".join(module.path) + "." if module.path else ""
        if module in modules:
            used |= {name.removeprefix(prefix) for name in module.used if not name.startswith("$")}
            if module.tied:
                used.add("tie_word_embeddings")
    if "tie_word_embeddings" in used and "tie_word_embeddings" not in {
        *model.types,
        *model.extras,
        *model.fixed,
    }:
        model.extras["tie_word_embeddings"] = False  # read from any config that has it
    section = fields_of(model, used)
    names = {module.name for name, module in written.items() if module.name == name}
    inner = [module for module in modules if module.name not in names and emitter.norm(module) is None]
    known = {*model.types, *model.extras, *model.fixed}
    first = next(iter(written), home)
    lines = [f"# {home}: drafted by `archspec derive` from the constructors; describe the model here."]
    lines.append(f"# code: {code_of(model, written, section.config)}")
    lines.append(f"model_type: {home}")
    prefix = first.removesuffix("Model") if written else ""
    if written and prefix != camel_case(home) and not first.startswith(camel_case(home)):
        lines.append(f"prefix: {prefix}")
    lines += section.lines()
    architectures: list[str] = []
    if inner:
        lines.append("modules:")
        for module in inner:
            lines += module_lines(module, known)
    if written:
        lines.append("architectures:")
        done: set[str] = set()
        for name, module in written.items():
            architectures.append(name)
            if module.name != name:
                lines.append(f"  {name}: {module.name}()")
            elif name not in done:
                lines += module_lines(module, known)
                if lines[-1].startswith("    "):
                    lines += output_lines(module.cls, model.cls)
            done.add(name)
    for name, reason in failed.items():
        lines.append(f"# not supported: {name}: {' '.join(reason.split())[:200]}")
    made = Draft(home, "\n".join(lines) + "\n", architectures, failed, section.parts)
    made.asked = [module.name for module in modules if (home, module.name) in emitter.asked]
    made.asked += sorted(needed(emitter, home))
    return made


def output_lines(cls: type, config_class: type) -> list[str]:
    """What a class's get_output_embeddings() returns by default, where a spec has to say it."""
    from archspec.reference import Refused, Unavailable, build

    try:
        model = build(maker(cls, config_class), config_class())
    except (Refused, Unavailable, TypeError):  # its own check says so
        return []
    if not hasattr(model, "get_output_embeddings"):
        return []
    path = {id(module): name for name, module in model.named_modules()}.get(
        id(model.get_output_embeddings()), "None"
    )
    usual = "lm_head" if hasattr(model, "lm_head") else "None"
    return [] if path == usual else [f"    output_embeddings: {path}"]


def known_types() -> Any:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    return CONFIG_MAPPING_NAMES


def config_names(model: ConfigModel) -> set[str]:
    """The fields that a config's own expressions read."""
    nodes = [*model.computed.values(), *model.fixed.values(), *model.require]
    return {name for node in nodes for name in terms.names(node)}


def parts_read(emitter: Emitter, module: Module) -> list[type]:
    """The classes of the sub-configs that a module reads fields of."""
    paths = [tuple(name.split(".")[:-1]) for name in module.used if "." in name and not name.startswith("$")]
    found = [emitter.reader.classes.get(path) for path in paths]
    return [cls for cls in found if cls is not None]


def needed(emitter: Emitter, home: str) -> set[str]:
    """Fields of a model type that others read as fields of their sub-config."""
    found = set()
    for model in emitter.reader.models.values():
        for name in config_names(model):
            *path, field = name.split(".")
            cls = emitter.reader.classes.get(tuple(path)) if path else None
            if cls is not None and home_of(cls) == home:
                found.add(field)
    for module in emitter.modules.values():
        scope = module.template.scope if module.template else None
        for name in module.used:
            *path, field = name.split(".")
            if name.startswith("$") or not path:
                continue
            cls = emitter.reader.class_at(scope, tuple(path))
            if cls is not None and home_of(cls) == home:
                found.add(field)
    return found


def code_of(model: ConfigModel, written: dict[str, Module], described: Collection[str]) -> str:
    """Where the code of a draft stands; of a class of the user's own also how it is called."""
    cls = next((module.cls for module in written.values()), model.cls)
    if cls.__module__.startswith("transformers."):
        return source_path(model.cls)
    return source_path(cls) + options(cls, model.real, described)


def source_path(cls: type) -> str:
    module = cls.__module__
    folder = module.rpartition(".")[0].replace(".", "/")
    stem = module.rpartition(".")[2].replace("configuration_", "modeling_")
    return f"{folder}/{stem}.py" if folder else f"{stem}.py"


def mapped_classes(model_type: str) -> list[str]:
    """The classes that transformers' auto classes map a model type to, the base model first."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers.models.auto import modeling_auto

    names: dict[str, None] = {}
    tables = sorted(
        (
            name
            for name in vars(modeling_auto)
            if name.startswith("MODEL_") and name.endswith("_MAPPING_NAMES")
        ),
        key=lambda n: n != "MODEL_MAPPING_NAMES",
    )
    for table in tables:
        found = getattr(modeling_auto, table).get(model_type)
        for name in found if isinstance(found, tuple | list) else [found] if found else []:
            names.setdefault(name)
    return list(names)
