"""Where specs are searched: named directories, those in ARCHSPEC_PATH, the shipped ones, entry points.

The first directory that has a model type is used. Entry points of `archspec.specs` in other packages come
last, and only for names that are not found before: listing installed packages takes longer than a count.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

from archspec.errors import ArchspecError, option
from archspec.specs.library import Library, shipped_library
from archspec.specs.records import SpecLibrary

VARIABLE = "ARCHSPEC_PATH"
DIRECTORY_HELP = "pass a directory with spec files (.yaml)"
GROUP = "archspec.specs"
Folder = str | os.PathLike[str]
Specs = Folder | Sequence[Folder] | Library


def library_of(specs: Specs = ()) -> Library:
    """Return the library of some directories, those in ARCHSPEC_PATH, and the shipped specs.

    Each library reads users' specs again, so that a changed file is used. A library is returned as it is.

    Errors: :class:`ArchspecError` for a path that is not a directory of specs.

    >>> library_of().load("llama").architectures[0]
    'LlamaModel'
    """
    if isinstance(specs, Library):
        return specs
    on_path = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
    given = [*((option("specs"), one) for one in folders_of(specs)), *((VARIABLE, one) for one in on_path)]
    own = [_check_directory(origin, one) for origin, one in given]
    return Library(*own, *shipped_library().folders, beyond=entry_points) if own else installed_library()


def folders_of(specs: Folder | Sequence[Folder]) -> list[str]:
    """Return one or several directories as a list."""
    named = [specs] if isinstance(specs, str | os.PathLike) else specs
    return [os.fspath(one) for one in named]


@cache
def installed_library() -> Library:
    """Return the library of the shipped specs and, behind them, those of other packages."""
    return Library(*shipped_library().folders, beyond=entry_points)


def is_own(library: SpecLibrary, model_type: str) -> bool:
    """Return True if a user's spec, or another package's, is used for a model type."""
    return library.files_of(model_type)[:1] != shipped_library().files_of(model_type)


def _check_directory(origin: str, given: str) -> str:
    """Return a directory's path. Errors: :class:`ArchspecError` unless it is a directory with a spec."""
    path, help_ = os.path.abspath(os.path.expanduser(given)), DIRECTORY_HELP
    if not given.strip() or not os.path.isdir(path):
        raise ArchspecError(f"{origin}: {given!r} is not a directory", help=help_)
    try:
        names = os.listdir(path)
    except OSError as error:
        raise ArchspecError(f"{origin} {given}: {error.strerror or error}", help=help_) from None
    if not any(name.endswith(".yaml") for name in names):
        raise ArchspecError(f"{origin} {given}: the directory has no .yaml files", help=help_)
    return path


def entry_points() -> list[str]:
    """Return the directories that installed packages have as entry points of `archspec.specs`, by name.

    The value of an entry point is a package, or a module of one, in whose directory the specs are. It is not
    imported. Errors: :class:`ArchspecError` for a missing one.
    """
    from importlib.metadata import entry_points as installed_entry_points

    found = sorted(installed_entry_points(group=GROUP), key=lambda one: one.name)
    return list(dict.fromkeys(_folder_of(one.name, one.value) for one in found))


def _folder_of(name: str, value: str) -> str:
    from importlib.util import find_spec

    first, *rest = value.partition(":")[0].strip().split(".")
    package = find_spec(first)
    places = list(package.submodule_search_locations or ()) if package else []
    for path in (os.path.join(place, *rest) for place in places):
        if os.path.isdir(path):
            return path
        if os.path.isfile(path + ".py"):
            return os.path.dirname(path)
    if package and package.origin and not places and not rest:  # a module in the directory of its specs
        return os.path.dirname(package.origin)
    message = f"the entry point {name} = {value} of {GROUP} is not an installed package"
    raise ArchspecError(message, help="reinstall or uninstall the package that declares it")
