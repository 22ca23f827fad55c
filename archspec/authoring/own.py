"""Validation of users' specs against the classes that their headers name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from archspec.specs.library import Library
from archspec.specs.records import Spec
from archspec.specs.search_path import is_own
from archspec.verifying.campaign import Result


class Own(NamedTuple):
    """A class of a user's spec."""

    spec: Spec
    architecture: str


def split(names: Iterable[str], library: Library) -> tuple[list[Own], list[str]]:
    """Return the classes of users' specs with some names, and the other names."""
    own: list[Own] = []
    rest: list[str] = []
    for name in names:
        model_type = name if library.has(name) else next(iter(library.types_of(name)), "")
        if not model_type or not is_own(library, model_type):
            rest.append(name)
            continue
        spec = library.load(model_type)
        own += [Own(spec, one) for one in spec.architectures if name in (model_type, one)]
    return own, rest


def every(library: Library, folders: Iterable[str]) -> list[Own]:
    """Return the classes of all specs in some directories."""
    types = [name.removesuffix(".yaml") for one in folders for name in sorted(os.listdir(one))]
    return split(filter(library.has, dict.fromkeys(types)), library)[0]


def results(
    own: Iterable[Own], samples: int, seed: int, done: Callable[[list[Result]], None]
) -> list[Result]:
    """Return the result of each class."""
    from archspec.deriving import verify_own

    found: list[Result] = []
    for one in own:
        start = time.process_time()
        outcome = verify_own(one.spec, one.architecture, samples, seed)
        found.append(Result(outcome, time.process_time() - start))
        done(found[-1:])
    return found
