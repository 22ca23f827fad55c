"""Configs for every branch and condition of a spec: what valid configs came to, turned round test by test.

Numbers are the solver's; flags, nulls, texts and lists are finite choices. Whether a config takes the
path that it was made for is for the spec itself to say, which costs no instantiation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple

from archspec.language.expression import Expression
from archspec.specs.records import Spec
from archspec.specs.references import conditions, modules_of
from archspec.verify.generate.choices import allowed, choices, put
from archspec.verify.generate.drawing import WIDE, is_deep
from archspec.verify.generate.recording import TIES, Config, Fork, Met, Run, run
from archspec.verify.generate.sampling import Sampler
from archspec.verify.generate.solver import Solver
from archspec.verify.generate.traced import Condition, Path, Term

_STARTS = 3  # runs from which a test is tried to be turned
_TRIES = 8  # configs tried from each of them
_REPAIRS = 6  # refusals that are mended, one after the other
_STEPS = 4  # ways tried to mend each
_LAST = 4  # comparisons of a test that are turned
_EACH = 3  # configs that break a condition, each in another way


class Goal(NamedTuple):
    """An outcome that a test is to have, in a run that nothing refuses but, maybe, the condition itself."""

    test: Fork
    outcome: bool
    ignored: Expression | None = None


class Change(NamedTuple):
    """Another config, and what is to last of it: path conditions, and fields that were chosen."""

    raw: Config
    wanted: tuple[Condition, ...] = ()
    chosen: frozenset[Path] = frozenset()


class Search:
    """Finds configs for one architecture of a spec, and for parts of its configs without architectures."""

    def __init__(self, spec: Spec, architecture: str, sampler: Sampler) -> None:
        self.spec, self.architecture, self.sampler = spec, architecture, sampler
        self.runs: list[Run] = []

    def configs(self, valid: Iterable[Config]) -> Iterator[Config]:
        """Configs that take what no run of some valid ones took, then some that break each condition."""
        runs = (self.run(raw) for raw in valid)
        self.runs = sorted((found for found in runs if found.refusal is None), key=lambda found: found.work)
        yield from self.sides()
        yield from self.branches()
        yield from self.violations()

    def run(self, raw: Config, ignored: Expression | None = None) -> Run:
        return run(self.spec, self.architecture, raw, ignored)

    def sides(self) -> Iterator[Config]:
        """Valid configs with each flag, null and text, one layer and an odd size, and without each field."""
        paths = dict.fromkeys(path for found in self.runs for path in found.fields)
        for path in [one for one in paths if not self.with_the_first or one[-1] == TIES]:
            there = [found for found in self.runs if path in found.fields]
            known = there[0].fields[path]._replace(given=all(found.fields[path].given for found in there))
            if known.field is None or known.field.name == WIDE:
                continue
            values = [found.fields[path].value for found in there]
            deep, number = is_deep(known.field.name), type(values[0]) is int
            sides = [] if deep else [*choices(self.spec.library, known, self.sampler.texts(path))]
            wanted = [value for value in sides if value is ... or isinstance(value, bool | str | None)]
            for value in (*wanted, *([1] if deep else [7]) * number):  # one layer, an odd size
                if value not in values:
                    tries = (self.run(put(start, {path: value})) for start in there[:_STARTS])
                    for found in islice((found for found in tries if found.refusal is None), 1):
                        self.runs.append(found)
                        yield found.raw

    def branches(self) -> Iterator[Config]:
        """Valid configs that take each test the other way, also those that are only met behind others."""
        tried: set[Goal] = set()
        while goals := [goal for goal in self.open() if goal not in tried]:
            for goal in goals:
                tried.add(goal)
                if not any(found.has(goal.test, goal.outcome) for found in self.runs):
                    for found in islice(self.reached(goal), 1):
                        self.runs.append(found)
                        yield found.raw

    def open(self) -> list[Goal]:
        """The outcomes of tests that no run had, but for those of conditions."""
        met = {key: one for found in reversed(self.runs) for key, one in found.met.items()}
        demanded = {one.tree for found in self.runs for one in self.demands(found)}
        every = (Goal(test, not outcome) for (test, outcome), one in met.items() if self.looked_into(one))
        return [goal for goal in every if goal[:2] not in met and goal.test.node not in demanded]

    def violations(self) -> Iterator[Config]:
        """Configs that break a condition alone."""
        every = {id(one): one for found in self.runs for one in self.demands(found)}
        for condition in every.values():
            goal = Goal(Fork(condition.tree), False, condition)
            met = next(
                (found.met[goal.test, True] for found in self.runs if found.has(goal.test, True)), None
            )
            if met is not None and self.looked_into(met):
                yield from (found.raw for found in islice(self.reached(goal), _EACH))

    def starts(self, test: Fork, outcome: bool) -> list[Run]:
        return [found for found in self.runs if found.has(test, outcome)][:_STARTS]

    def demands(self, found: Run) -> Iterator[Expression]:
        """The conditions of the spec, and of the parts that a run came to."""
        for spec in {id(met.spec): met.spec for met in found.met.values() if self.own(met.spec)}.values():
            yield from conditions(spec)

    def own(self, spec: Spec) -> bool:
        """Whether a spec is looked into here: parts that have architectures are so by themselves."""
        return spec is self.spec or not spec.architectures

    def looked_into(self, met: Met) -> bool:
        """Whether a test is this architecture's to take both ways, and not the first one's."""
        mine = not self.with_the_first or (bool(met.module) and met.module not in self.with_the_first)
        return mine and self.own(met.spec)

    @cached_property
    def with_the_first(self) -> set[str]:
        """The modules that the first architecture may have too, where this is another one."""
        first = next(iter(self.spec.architectures), self.architecture)
        return modules_of(self.spec, first) if first != self.architecture else set()

    def reached(self, goal: Goal) -> Iterator[Run]:
        """Runs that reach a goal, all from one that had the other outcome, each by another way to turn it."""
        for start in self.starts(goal.test, not goal.outcome):
            met = start.met[goal.test, not goal.outcome]
            changes = islice(self.changes(start, met, Change({})), _TRIES)
            found = (self.mended(change, goal) for change in changes)
            first = next((one for one in found if one is not None), None)
            if first is not None:
                yield first
                yield from (one for one in found if one is not None)
                return

    def mended(self, change: Change, goal: Goal) -> Run | None:
        """The run of a changed config that reaches a goal, once what stands between is turned round too.

        That is what refuses it, or what else the test came out by.
        """
        found = self.run(change.raw, goal.ignored)
        for _ in range(_REPAIRS):
            if found.refusal is None and found.has(goal.test, goal.outcome):
                return found
            between = found.refusal or found.met.get((goal.test, not goal.outcome))
            onward = self.onward(found, between, change, goal) if between is not None else None
            if onward is None:
                return None
            found, change = onward
        return None

    def onward(self, found: Run, between: Met, change: Change, goal: Goal) -> tuple[Run, Change] | None:
        """A run past what stands between, or else one in which that came out in another way."""
        other = None
        for more in islice(self.changes(found, between, change), _STEPS):
            new = self.run(more.raw, goal.ignored)
            there = new.refusal if found.refusal is not None else new.met.get((goal.test, not goal.outcome))
            if there is None or there.test != between.test:
                return new, more
            if other is None and _ways(there) != _ways(between):
                other = new, more
        return other

    def changes(self, found: Run, met: Met, kept: Change) -> Iterator[Change]:
        """Other configs in which a test that a run met comes out otherwise, as far as can be told, each once.

        ``kept``: the change that led to the run, which is to last.
        """
        seen: list[Config] = []
        for change in chain(self.together(found, met, kept), self.turned(found, met, kept)):
            if change.raw not in seen and change.raw != found.raw:
                seen.append(change.raw)
                yield change

    def together(self, found: Run, met: Met, kept: Change) -> Iterator[Change]:
        """What is null behind a test, given all at once."""
        reads = [one.left for one in met.notes if one.operator == "read" and one.left not in kept.chosen]
        nulls = [path for path in reads if path in found.fields and found.fields[path].value is None]
        if len(nulls) > 1:
            given = {path: next(self.choices(found, path, []), None) for path in nulls}
            yield Change(put(found, given), kept.wanted, kept.chosen | {*nulls})

    def turned(self, found: Run, met: Met, kept: Change) -> Iterator[Change]:
        """Other numbers for what was compared, the last first, as it decided; then other choices."""
        solver = Solver(found)
        for one in [one for one in met.notes if one.operator != "read"][: -_LAST - 1 : -1]:
            for wanted in near(one.turned()):
                for values in self.solved(solver, wanted, met, kept):
                    yield Change(put(found, values), (wanted, *kept.wanted), kept.chosen)
        for path in dict.fromkeys(one.left for one in reversed(met.notes) if one.operator == "read"):
            named = [one.right for one in met.notes if one.left == path and one.right is not None]
            for value in self.choices(found, path, named) if path not in kept.chosen else ():
                yield Change(put(found, {path: value}), kept.wanted, kept.chosen | {path})

    def choices(self, found: Run, path: Path, named: list[str]) -> Iterator[Any]:
        """The choices of a field; of one whose default was not to be computed, what it is elsewhere."""
        known = found.fields.get(path)
        if known is not None:
            texts = list(dict.fromkeys((*named, *self.sampler.texts(path))))
            every = choices(self.spec.library, known, texts)
            yield from (value for value in every if allowed(known, value))
        else:
            there = (other.fields[path].value for other in self.runs if path in other.fields)
            yield from (value for value in islice(there, 1) if value is not None)

    def solved(
        self, solver: Solver, wanted: Condition, met: Met, kept: Change
    ) -> Iterator[dict[Path, float]]:
        """Numbers for a path condition: with the rest of the path as it was; then with what came before.

        They are of the condition's own fields alone if that can be, else of what these are held to, too.
        """
        own, trace = {*met.notes}, solver.run.trace
        path = [one for one in trace.path if one not in own]
        before = path[: met.before]
        few = wanted.fields
        many = connected(few, [trace.path[one] for one in before] + [one.fields for one in kept.wanted])
        for ways in ([(few, path), (many, path)], [(few, before), (many, before), (few, [])]):
            found = (solver.solve((wanted, *kept.wanted), held, free) for free, held in ways)
            yield from islice((values for values in found if values), 1)


def _ways(met: Met) -> list[tuple[str, frozenset[Path], bool]]:
    """How each part of a test came out."""
    return [(one.operator, one.fields, one.outcome) for one in met.notes]


def near(condition: Condition) -> Iterator[Condition]:
    """A condition as equality at its bound, for one that has a bound; then the condition itself."""
    steps = {("<", False): 0, ("<=", False): 1, (">", False): 0, (">=", False): -1}
    steps |= {("<", True): -1, ("<=", True): 0, (">", True): 1, (">=", True): 0}
    step, right = steps.get((condition.operator, condition.outcome)), condition.right
    if step is not None:
        value = right.value if isinstance(right, Term) else right
        yield Condition("==", condition.left, Term("+", (right, step), value + step) if step else right)
    yield condition


def connected(fields: frozenset[Path], together: list[frozenset[Path]]) -> frozenset[Path]:
    """Some fields and those that path conditions hold against them, and so on."""
    found, before = fields, frozenset[Path]()
    while found != before:
        before = found
        found = found.union(*(some for some in together if some & found))
    return found
