"""The library of specs: one file for each model type, and shared parts in `shared/`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache

from archspec.errors import (
    ArchspecError,
    Place,
    Problem,
    SpecError,
    UnknownArchitectureError,
    did_you_mean,
    list_names,
    nearest_names,
)
from archspec.specs import files
from archspec.specs.files import folder
from archspec.specs.index import CostRecord, Entry, entry_of, recorded_costs
from archspec.specs.module_parser import contractions
from archspec.specs.parser import parse_spec
from archspec.specs.records import Contraction, Spec, camel_case

TRANSFORMERS_VERSION = "5.24.0"  # which the specs describe
COSTS = "costs.json"  # the classes whose costs are validated
LIST_HELP = "run archspec list to see the supported models"


class Library:
    """The specs of some directories, with shared parts in `shared/` of each; the first one wins.

    Every spec has its library, in which its sub-configs find their specs. Specs that it extends or uses are
    first searched in its directory. ``beyond`` returns directories that are searched last.
    """

    def __init__(self, *folders: str, beyond: Callable[[], Sequence[str]] | None = None) -> None:
        self.folders, self.beyond = folders, beyond
        self._specs: dict[str, Spec] = {}  # by model type
        self._parsed: dict[str, Spec] = {}  # by file: what several specs extend or use is parsed once
        self._index: dict[str, list[str]] = {}
        self._entries: dict[str, Entry] = {}  # those that the index was made of
        self._contractions: dict[str, Contraction] = {}
        self._costs: dict[str, dict[str, CostRecord]] = {}  # folder -> its records, by model type
        self.unread: list[Problem] = []  # problems of files that were searched for a class

    @property
    def folder(self) -> str:
        return self.folders[0]

    def model_types(self) -> list[str]:
        return sorted(files.spec_files(self.folders))

    def has(self, model_type: str) -> bool:
        found = bool(files.find_spec(model_type, self.folders))
        return found or (self.add_fallbacks() and self.has(model_type))

    def files_of(self, model_type: str) -> list[str]:
        """Return the files of a model type: the one that is used, then those that it hides."""
        found = (files.find_spec(model_type, [one]) for one in self.folders)
        return [files.shown_path(path) for path in found if path]

    def add_fallbacks(self) -> bool:
        """Add the directories that are searched last; return True if there are any."""
        beyond, self.beyond = self.beyond, None
        more = tuple(beyond()) if beyond else ()
        if more:
            self.folders, self._index = (*self.folders, *more), {}
        return bool(more)

    def files(self) -> dict[str, str]:
        """Return the path of each file, by model type or name of a shared part."""
        return files.spec_files(_with_shared(self.folders))

    def load(self, model_type: str) -> Spec:
        """Return a model type's spec. Errors: :class:`UnknownArchitectureError`, or :class:`SpecError`."""
        if model_type not in self._specs:
            if not self.has(model_type):
                help_ = did_you_mean(model_type, self.model_types()) or LIST_HELP
                raise UnknownArchitectureError(f"unknown model type {model_type!r}", help=help_)
            self._specs[model_type] = self._read(files.find_spec(model_type, self.folders), (), self._parsed)
        return self._specs[model_type]

    def load_file(self, path: str) -> Spec:
        """Return the spec in a user's file; specs that it names may be in the same directory."""
        return self._read(path, (), {})

    def contractions(self) -> dict[str, Contraction]:
        if not self._contractions:
            name = files.CONTRACTIONS.removesuffix(".yaml")
            self._contractions = contractions(*files.read(files.find_file(name, self.folders)))
        return self._contractions

    def costs(self, model_type: str) -> CostRecord:
        """Return the record of the costs of a model type's classes, from the directory of its spec."""
        directory = os.path.dirname(files.find_spec(model_type, self.folders))
        if directory not in self._costs:
            self._costs[directory] = recorded_costs(os.path.join(directory, COSTS))
        return self._costs[directory].get(model_type, CostRecord())

    def entries(self, from_scratch: bool = False) -> dict[str, Entry]:
        """Return the index entry of each file, from the compiled index if no YAML file has another text."""
        is_compiled = not from_scratch and files.compiled_specs().is_current()
        index = files.compiled_specs().index if is_compiled else {}
        parsed: dict[str, Spec] = {}  # of the files as they are now
        found, self.unread = dict[str, Entry](), []
        for name, path in self.files().items():
            if path in index:
                found[name] = Entry(*map(tuple, index[path][:2]))
                continue
            try:
                found[name] = entry_of(self._read(path, (), parsed))
            except ArchspecError as error:
                found[name] = Entry()
                self.unread += [problem for problem in error.problems if problem not in self.unread]
        return found

    def catalog(self) -> dict[str, tuple[str, ...]]:
        found = self.entries()
        return {model_type: found[model_type].architectures for model_type in self.model_types()}

    def index(self) -> dict[str, list[str]]:
        if not self._index:
            self._entries = self.entries()
            for model_type in self.model_types():
                for name in self._entries[model_type].architectures:
                    self._index.setdefault(name, []).append(model_type)
        return self._index

    def types_of(self, architecture: str) -> list[str]:
        found = self.index().get(architecture, [])
        return self.types_of(architecture) if not found and self.add_fallbacks() else found

    def resolve(self, name: str) -> tuple[str, str | None]:
        """Return a name's model type, and the class if it names one. Errors: as in `model_type_of`."""
        is_type = files.find_spec(name, self.folders) or (not self.types_of(name) and self.has(name))
        return (name, None) if is_type else (self.model_type_of(name), name)

    def model_type_of(self, architecture: str) -> str:
        """Return the model type of an architecture.

        Of several in the first directory, it is the one that the architecture is named after, else the one
        that all others need.

        Errors: :class:`UnknownArchitectureError` for an unknown architecture, or several equal candidates.
        """
        types = self.types_of(architecture)
        if not types:
            near = nearest_names(architecture, [*self.index(), *self.model_types()])
            help_ = f"did you mean {list_names(near)}?" if near else LIST_HELP
            if self.unread:
                files_ = sorted({one.place.source.name for one in self.unread if one.place})
                help_ = f"correct {list_names(files_, 'and')}: run archspec lint to see all problems"
            missing = Problem(f"there is no class or model type {architecture!r}", help=help_)
            raise UnknownArchitectureError([missing, *self.unread])
        by_folder = ([name for name in types if files.find_spec(name, [one])] for one in self.folders)
        candidates = next(filter(None, by_folder))
        found, lower = self._entries, architecture.lower()
        named = [name for name in candidates if lower.startswith(camel_case(name).lower())]
        needed = [name for name in candidates if all(name in (one, *found[one].needs) for one in candidates)]
        if not named and not needed:
            message = f"{architecture} belongs to several model types: {', '.join(candidates)}"
            raise UnknownArchitectureError(message, help="pass a config with model_type")
        return max(named, key=len) if named else needed[0]

    def _read(self, path: str, trail: tuple[str, ...], parsed: dict[str, Spec]) -> Spec:
        """Return the spec of a file, parsed once; ``trail`` are the files that extend or use it."""

        def load(name: str, place: Place) -> Spec:
            found = self._find(name, path)
            if not found:
                near = nearest_names(name, self.model_types())
                help_ = f"did you mean {list_names(near)}?" if near else LIST_HELP
                raise SpecError(f"there is no spec {name!r}", place, help=help_)
            if os.path.realpath(found) in inner:
                help_ = f"remove {name} from one of the specs"
                raise SpecError(f"{name} is extended or used in a circle", place, help=help_)
            return self._read(found, inner, parsed)

        if path not in parsed:
            source, document = files.read(path)
            inner = (*trail, os.path.realpath(path))
            parsed[path] = parse_spec(source, load, self, document)
        return parsed[path]

    def _find(self, name: str, path: str) -> str:
        """Return the path of a spec that another one names, or an empty text; its directory comes first."""
        home = os.path.dirname(path)
        home = os.path.dirname(home) if os.path.basename(home) == "shared" else home
        own = os.path.abspath(path)
        every = [*_with_shared([home]), *_with_shared(self.folders)]
        others = (one for one in every if os.path.abspath(os.path.join(one, f"{name}.yaml")) != own)
        found = files.find_file(name, others)
        return self._find(name, path) if not found and self.add_fallbacks() else found


def _with_shared(folders: Sequence[str]) -> list[str]:
    return [*folders, *(os.path.join(path, "shared") for path in folders)]


@cache
def shipped_library() -> Library:
    """Return the library of the shipped specs."""
    return Library(folder())
