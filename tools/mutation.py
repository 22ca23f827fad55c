"""`python -m tools.mutation bert` alters each line of a spec once, and prints those that verification misses.

Verification must find each alteration, and name its line. The answers of transformers are those to the
configs that `archspec verify` tries for the unaltered spec; altered specs are compared with them. The exit
code is 1 if an alteration was missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder
from archspec.costs.records import KERNELS, Call, Step, axes_of, training_axes
from archspec.errors import ArchspecError
from archspec.reference import Refused, Row, Unavailable, transformers_rows
from archspec.specs.files import folder
from archspec.specs.index import dependents
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.tree.builder import Builder, Node
from archspec.verifying import comparison
from archspec.verifying.blame import Config
from archspec.verifying.comparison import Comparer
from archspec.verifying.defaults import setting_differences
from archspec.verifying.generate.choices import misfit_configs
from archspec.verifying.generate.sampling import Sampler
from archspec.verifying.pool import Failure, available_cores, run_tasks
from archspec.verifying.undeclared import code_texts, layer_lists
from archspec.verifying.verifier import verify_spec
from tools.alterations import Alteration, alterations

NAMED, FOUND, HIDDEN, MISSED = "named", "found, but its line is not named", "of no tensor", "missed"
_MOST, _HOST_SAMPLES = 8, 10  # other models in which a file is altered, and their random configs
_STEPS = (Step(2, 3, 7, attention=kernel) for kernel in KERNELS)
_AXES = (axes_of(Call(2, 3, 5, 7, 7)), *map(training_axes, _STEPS))


class Result(NamedTuple):
    """An alteration and the verdict of verification."""

    what: str
    outcome: str  # HIDDEN if it changes the shape of a tied tensor, the name of a class, or costs
    place: str


class Answers(dict[tuple[str, str], "list[Row] | Exception"]):
    """The tensors that transformers builds, or why it builds none, by architecture and config."""

    def __call__(self, architecture: str, raw: Config, model_type: str) -> list[Row]:
        key = architecture, json.dumps(raw)
        if key not in self:
            try:
                self[key] = transformers_rows(architecture, raw, model_type)
            except (Refused, Unavailable) as error:
                self[key] = error
        if isinstance(answer := self[key], Exception):
            raise answer
        return answer


class Bench:
    """A spec with the answers of transformers, to compare altered specs with; the spec must be exact."""

    def __init__(self, spec: Spec, samples: int, seed: int) -> None:
        self.spec, self.answers = spec, Answers()
        with patch.object(comparison, "transformers_rows", self.answers):
            for architecture in spec.architectures:
                verify_spec(spec, architecture, samples, seed)
                self.draw(architecture, samples, seed)
            exact = [
                (architecture, config)
                for architecture, text in self.answers
                if not self.differences(spec, architecture, config := json.loads(text))
            ]
        # The first configs of each class, such as the default one, come before the others.
        by_class = [[one for one in exact if one[0] == name] for name in spec.architectures]
        self.configs = [one for turn in zip_longest(*by_class) for one in turn if one]
        self.settings = {(one.kind, one.name) for one in _settings(spec)}
        self.dump = cache(lambda number: _dump(spec, *self.configs[number]))

    def draw(self, architecture: str, samples: int, seed: int) -> None:
        """Ask for more random configs, and for values that do not fit: verify tries few that are refused."""
        sampler = Sampler(self.spec, seed, code_texts(self.spec))
        for _ in range(6 * samples):
            with suppress(Refused, Unavailable):
                self.answers(architecture, sampler.sample(), self.spec.model_type)
                sampler.add_valid()
        misfits = (misfit_configs(self.spec, one, layer_lists(self.spec)) for one in sampler.accepted[:1])
        for raw in chain.from_iterable(misfits):
            with suppress(Refused, Unavailable):
                self.answers(architecture, raw, self.spec.model_type)

    def differences(self, spec: Spec, architecture: str, config: Config) -> list[Any]:
        try:
            return Comparer(spec, architecture).compare(config)[0]
        except Unavailable:
            return []

    def result(self, alteration: Alteration) -> Result:
        """Return whether an alteration is found, and its line named."""
        names = {f"{alteration.file}:{line}" for line in alteration.lines}
        place = f"{alteration.file}:{max(alteration.lines)}"
        try:
            spec = alteration.load(self.spec.model_type)
        except ArchspecError as error:
            return Result(alteration.what, NAMED, f"{place}: {error}")  # lint finds it
        revealed: set[str] = set()
        with patch.object(comparison, "transformers_rows", self.answers):
            for architecture, config in (("", {}), *self.configs):
                if architecture in revealed or "" in revealed:  # the first config of each class counts
                    continue
                if architecture:
                    found = self.differences(spec, architecture, config)
                else:
                    found = [one for one in _settings(spec) if (one.kind, one.name) not in self.settings]
                if any(str(place).rpartition(":")[0] in names for one in found for place in one.places):
                    return Result(alteration.what, NAMED, place)
                revealed |= {architecture} if found else set()
        hidden = any(self.dump(i) != _dump(spec, *one) for i, one in enumerate(self.configs))
        return Result(alteration.what, FOUND if revealed else HIDDEN if hidden else MISSED, place)


def _settings(spec: Spec) -> list[Any]:
    try:
        return setting_differences(spec)
    except (Refused, Unavailable):
        return []


def _dump(spec: Spec, architecture: str, raw: Config) -> list[tuple[Any, ...]]:
    """Return all that a spec says of a config: modules, shapes, and costs of a call and of a step."""
    found: list[tuple[Any, ...]] = []
    for axes in (None, *_AXES):
        try:
            scope = Scope(spec, raw)
            scope.validate()
            builder = Builder(scope) if axes is None else CostBuilder(scope, axes)
            found += _lines(builder.build(architecture), "")
        except ArchspecError as error:
            found.append((type(error).__name__,))
    return found


def _lines(node: Node, prefix: str) -> Iterator[tuple[Any, ...]]:
    tensors = [(tensor.name, tensor.shape) for tensor in node.tensors]
    yield prefix, node.cls, node.routed, tensors, f"{node.costs} {node.cache} {node.saves} {node.computed}"
    for name, child in node.children.items():
        yield from _lines(child, f"{prefix}.{name}")


def mutate(name: str, samples: int = 20, seed: int = 0) -> list[Result]:
    """Return the best result of each alteration of a file, in its models or others that depend on it."""
    altered = alterations(name)
    best = [Result(one.what, MISSED, one.file) for one in altered]
    for host in _hosts(name):
        pending = [i for i, one in enumerate(best) if one.outcome in (FOUND, MISSED)]
        if not pending:
            break
        bench = Bench(host, samples if host.model_type == name else min(samples, _HOST_SAMPLES), seed)
        for i in pending:
            result = bench.result(altered[i])
            if best[i].outcome == MISSED or result.outcome == NAMED:
                best[i] = result
    return best


def _hosts(name: str) -> list[Spec]:
    """Return specs with architectures whose counts depend on a file: its own, direct and small ones first."""
    name, entries = name.rpartition("/")[2], shipped_library().entries()
    found = dependents({name}, entries) & {*shipped_library().model_types()}
    specs = [spec for spec in map(shipped_library().load, found) if spec.architectures and not spec.refuse]

    def rank(spec: Spec) -> tuple[bool, bool, int]:
        return spec.model_type != name, name not in entries[spec.model_type].needs, len(spec.source.text)

    return sorted(specs, key=rank)[:_MOST]


def files() -> list[str]:
    """Return the names of all spec files, shared parts included."""
    shared = sorted(path.stem for path in Path(folder(), "shared").glob("*.yaml"))
    return [*shipped_library().model_types(), *(f"shared/{name}" for name in shared)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tools.mutation", description="Alter each line of specs once.")
    parser.add_argument("names", nargs="*", metavar="MODEL_TYPE", help="a model type, or shared/NAME")
    parser.add_argument("--all", action="store_true", help="every spec and shared part")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the seed of the random configs (0)")
    parser.add_argument("--jobs", type=int, default=0, metavar="J", help="processes (one per core)")
    args = parser.parse_args(arguments)
    if bool(args.names) == args.all:
        parser.error("give names, or --all")
    if unknown := {*args.names} - {*files()}:
        parser.error(f"no spec file is called {', '.join(sorted(unknown))}")
    outcomes, failures, work = Counter[str](), 0, partial(mutate, seed=args.seed)
    jobs = args.jobs or available_cores()
    for name, results in run_tasks(work, args.names or files(), jobs, ("torch", "transformers")):
        if isinstance(results, Failure):
            failures += 1
            print(f"{name}: {results.message}")
            continue
        for one in results:
            outcomes[one.outcome] += 1
            if one.outcome != NAMED:
                print(f"{one.place}: {one.outcome}: {one.what}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))
    return 1 if outcomes[MISSED] or failures else 0


if __name__ == "__main__":
    sys.exit(main())
