"""The draft of a user's own module, held to what the module builds: the last stage, as `verify` is for
transformers' classes."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import sys
import traceback
from typing import Any

from archspec.configs.scope import Scope, SubConfig
from archspec.deriving.own import configured, fields, maker
from archspec.deriving.reading.annotations import annotated
from archspec.deriving.target import Target
from archspec.errors import ArchspecError
from archspec.language.values import short_repr
from archspec.reference import Refused, Row, build, module_rows
from archspec.specs.records import Spec
from archspec.specs.references import collect
from archspec.verifying.blame import Config, Difference
from archspec.verifying.comparison import ReferenceClass
from archspec.verifying.undeclared import Other
from archspec.verifying.verifier import Outcome, Verifier


def _plain(value: Any) -> Any:
    """A value as JSON has it, a whole number as one."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _raised_in_torch(error: BaseException | None) -> bool:
    """Whether torch's own code raised an exception, and not the user's."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    return bool(frames) and f"{os.sep}torch{os.sep}" in frames[-1].filename


class OwnClass(ReferenceClass):
    """The class of a user; all fields of its config that the draft does not mention get other values."""

    takes_nulls = False

    def __init__(self, spec: Spec, target: Target, architecture: str) -> None:
        super().__init__(spec, architecture)
        self.config = target.config
        self.cls = next(cls for cls in target.classes if cls.__name__ == architecture)

    def rows(self, raw: Config) -> list[Row]:
        settings = {key: value for key, value in raw.items() if key != "model_type"}
        try:
            config = configured(type(self.config), settings)
        except Exception as error:  # whatever the user's config class raises is its refusal
            raise Refused(f"{type(error).__name__}: {error}") from error
        return module_rows(build(maker(self.cls, type(config)), config))

    def may_differ(self, refusal: Refused, rows: list[Row]) -> bool:
        """Return True if torch cannot fill tensors without elements."""
        return _raised_in_torch(refusal.__cause__) and any(0 in row.shape for row in rows)

    def setting_differences(self) -> list[Difference]:
        """Compares the spec's defaults with those of the config object; a draft has them from there."""
        scope, theirs = Scope(self.spec, {"model_type": self.spec.model_type}), fields(self.config)
        differences = []
        for name, field in self.spec.fields.items():
            try:
                ours = scope.get(name)
            except ArchspecError:  # the default config shows it
                continue
            if name not in theirs or isinstance(ours, SubConfig):
                continue
            expected, found = short_repr(_plain(theirs[name])), short_repr(_plain(ours))
            if expected != found:
                place = str(field.place)
                differences.append(Difference("", {}, "default", name, expected, found, (place,)))
        return differences

    def layer_lists(self) -> list[str]:
        return []

    def code_texts(self) -> dict[str, list[str]]:
        """Field -> the texts that the modules of the class and of its config compare it with."""
        found: dict[str, set[str]] = {}
        for module in {self.cls.__module__, type(self.config).__module__}:
            try:
                tree = ast.parse(inspect.getsource(sys.modules[module]))
            except (OSError, TypeError):  # no file: a class that was made at a prompt
                continue
            collect(tree, fields(self.config), found)
        return {name: sorted(texts) for name, texts in found.items() if texts}

    def other_values(self) -> list[Other]:
        texts = self.code_texts()
        known = {*self.spec.fields, *self.spec.fixed, "model_type"}
        config = {name: value for name, value in fields(self.config).items() if name not in known}
        return [
            Other((name,), other)
            for name, value in config.items()
            for other in self.others_of(name, value, texts)
        ]

    def others_of(self, name: str, value: Any, texts: dict[str, list[str]]) -> list[Any]:
        """Values of a field's kind, or of the kinds that it is annotated with, other than its own."""
        kinds = {type(value).__name__, *self.kinds(name)}
        found: list[Any] = []
        if "bool" in kinds:
            found += [True, False]
        if "int" in kinds:
            found += [1, 3, 16, *([value + 1, value * 2] if type(value) is int else [])]
        if "float" in kinds:
            found += [0.0, 0.5, *([value * 2] if isinstance(value, float) else [])]
        if "str" in kinds:
            found += [
                *texts.get(name, []),
                "x",
                *([f"{value}x", value[:-1], value.upper()] if isinstance(value, str) else []),
            ]
        if isinstance(value, list | tuple) and value:
            found += [list(value[:-1]), [*value, value[-1]]]
        if "None" in kinds:
            found.append(None)
        return [other for other in found if type(other) is not type(value) or other != value]

    def kinds(self, name: str) -> tuple[str, ...]:
        if not dataclasses.is_dataclass(self.config):
            return ()
        return next(
            (annotated(field.type) for field in dataclasses.fields(self.config) if field.name == name), ()
        )


def verify_class(spec: Spec, target: Target, architecture: str, samples: int, seed: int) -> Outcome:
    """Verifies a draft of a user's class."""
    return Verifier(spec, architecture, samples, seed, OwnClass(spec, target, architecture)).run()
