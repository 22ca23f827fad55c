"""Configs for every branch and condition of a spec: what valid configs came to, turned round test by test.

Numbers are the solver's; flags, nulls, texts and lists are finite choices. Whether a config takes the
path that it was made for is for the spec itself to say, which costs no instantiation.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from archspec.language.expression import Expression, names
from archspec.specs.records import Spec, leaves
from archspec.specs.references import reachable
from archspec.symbolic.decisions import Condition
from archspec.symbolic.polynomials import Poly
from archspec.symbolic.runs.record import Config, FieldPath, Fork, Met, Read, Run, unlimited
from archspec.symbolic.runs.recorder import TIES, run
from archspec.symbolic.runs.solver import WIDE, Solver, is_deep
from archspec.verifying.generate.choices import choices, put
from archspec.verifying.generate.sampling import Sampler

_STARTS = 3  # runs from which a test is tried to be turned
_TRIES = 8  # ways tried to turn it in each of them
_STEPS = 4  # ways tried to mend what then stands between
_RUNS = 24  # configs run for each start
_LAST = 4  # comparisons of a test that are turned
_WORK = 500_000  # what may be asked in all, in the runs of one architecture
_DECODER = "llama"  # a model type in place of another
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
    chosen: frozenset[FieldPath] = frozenset()
    past: Met | None = None  # what it was made to turn


class Search:
    """Finds configs for one architecture of a spec, and for parts of its configs without architectures."""

    def __init__(self, spec: Spec, architecture: str, sampler: Sampler) -> None:
        self.spec, self.architecture, self.sampler = spec, architecture, sampler
        self.runs: list[Run] = []
        self.fields = unlimited()
        self.left = _WORK
        first = next(iter(spec.architectures), architecture)
        # what the first architecture may have too is looked into there
        self.with_the_first = set(reachable(spec, [spec.module(first)])) if first != architecture else set()

    def configs(self, valid: Iterable[Config]) -> Iterator[Config]:
        """Configs that take what no run of some valid ones took, then some that break each condition."""
        runs = (self.run(raw) for raw in valid)
        accepted = (found for found in runs if found.refusal is None)
        self.runs = sorted(accepted, key=lambda found: len(found.trail.notes))
        for found in chain(self.sides(), self.branches()):
            self.runs.append(found)
            yield found.raw
        yield from self.violations()

    def run(self, raw: Config, ignored: Expression | None = None) -> Run:
        found = run(self.spec, self.architecture, raw, ignored, self.fields)
        self.left -= len(found.trail.notes)
        return found

    def sides(self) -> Iterator[Run]:
        """Valid runs with each flag, null and text, one layer and an odd size, and without each field.

        Architectures after the first try only the sizes that their own modules read.
        """
        paths = dict.fromkeys(path for found in self.runs for path in found.fields)
        own = self._own_names()
        for path in [one for one in paths if own is None or one[-1] == TIES or one[-1] in own]:
            there = [found for found in self.runs if path in found.fields]
            known = there[0].fields[path]._replace(given=all(found.fields[path].given for found in there))
            if known.field is None or known.field.name == WIDE:
                continue
            values = [found.fields[path].value for found in there]
            is_size = type(values[0]) is int
            is_width = is_size and not is_deep(known.field.name)
            sides: list[Any] = [7] if is_width else []  # an odd size
            if own is None or path[-1] == TIES:
                others = choices(self.spec.library, known, self.sampler.texts(path))
                sides = [value for value in others if type(value) not in (int, dict)] + sides
                sides += [1, 0, 3] if is_size and not is_width else []  # enough layers for a pattern
            ends = there if len(there) == 1 or not is_size else [there[0], there[-1]]
            for value in [side for side in sides if side not in values]:
                for start in ends[: 2 if is_size else 1]:
                    change = Change(put(start, {path: value}), (), frozenset([path]))
                    yield from islice(self.mended([change], None), 1)

    def _own_names(self) -> set[str] | None:
        """The names that modules of this architecture alone read; None for the first architecture."""
        if not self.with_the_first:
            return None
        modules = reachable(self.spec, [self.spec.module(self.architecture)])
        bodies = (module.body for name, module in modules.items() if name not in self.with_the_first)
        return {name for body in bodies for one in leaves(body) for name in names(one.tree)}

    def branches(self) -> Iterator[Run]:
        """Valid runs that take each test the other way, also those that are only met behind others."""
        tried: set[Goal] = set()
        while goals := [goal for goal in self.open() if goal not in tried]:
            for goal in goals:
                tried.add(goal)
                if not any(goal[:2] in found.met for found in self.runs):
                    yield from islice(self.reached(goal), 1)

    def open(self) -> list[Goal]:
        """The outcomes of tests that no run had, but for those of conditions."""
        met = {key: one for found in reversed(self.runs) for key, one in found.met.items()}
        demanded = {part for found in self.runs for tree in found.demanded for part in ast.walk(tree)}
        every = (Goal(test, not outcome) for (test, outcome), one in met.items() if self.looked_into(one))
        return [goal for goal in every if goal[:2] not in met and goal.test.node not in demanded]

    def violations(self) -> Iterator[Config]:
        """Configs that break a condition alone."""
        met = {one.test: (one, found) for found in self.runs for one in found.met.values() if one.outcome}
        for test, (one, found) in met.items():
            condition = found.demanded.get(test.node)
            if condition is not None and self.looked_into(one):
                yield from (broken.raw for broken in self.reached(Goal(test, False, condition)))

    def looked_into(self, met: Met) -> bool:
        """Whether a test is this architecture's to take both ways; parts with classes are by themselves."""
        mine = not self.with_the_first or (bool(met.module) and met.module not in self.with_the_first)
        return mine and (met.spec is self.spec or not met.spec.architectures)

    def reached(self, goal: Goal) -> Iterator[Run]:
        """Runs that reach a goal, all from one that had the other outcome, each by another way to turn it."""
        other = (goal.test, not goal.outcome)
        starts = [found for found in self.runs if other in found.met]
        if goal.ignored:  # few other conditions are in the way
            starts.sort(key=lambda found: len(found.demanded))
        for start in [*starts[: _STARTS - 1], *starts[_STARTS - 1 :][-1:]]:
            changes = islice(self.changes(start, start.met[other], Change(start.raw)), _TRIES)
            if found := [*islice(self.mended(changes, goal), _EACH if goal.ignored else 1)]:
                yield from found
                return

    def mended(self, changes: Iterable[Change], goal: Goal | None) -> Iterator[Run]:
        """The runs of changed configs that reach a goal, or else that nothing refuses.

        What refuses a config, or what else decided the test, is turned round too.
        """
        pending, seen = deque(changes), set[str]()
        ignored, other = (goal.ignored, (goal.test, not goal.outcome)) if goal else (None, None)
        for _ in range(_RUNS):
            if not pending or self.left < 0:
                return
            change = pending.popleft()
            found = self.run(change.raw, ignored)
            if found.refusal is None and (goal is None or goal[:2] in found.met):
                yield found
            elif between := found.refusal or (found.met.get(other) if other else None):
                onward = [*islice(self.unseen(found, between, change, seen), _STEPS)]
                if change.past is None or _ways(between) != _ways(change.past):
                    pending.extendleft(reversed(onward))
                else:
                    pending.extend(onward)

    def unseen(self, found: Run, met: Met, kept: Change, seen: set[str]) -> Iterator[Change]:
        """The changes to configs that were not come to before."""
        for change in self.changes(found, met, kept):
            if (known := repr(change.raw)) not in seen:
                seen.add(known)
                yield change

    def changes(self, found: Run, met: Met, kept: Change) -> Iterator[Change]:
        """Other configs in which a test that a run met comes out otherwise, as far as can be told.

        Other numbers for what was compared, the last first, as it decided; then other choices. ``kept``: the
        change that led to the run, which is to last.
        """
        solver = Solver(found)
        for one in [one for one in met.notes if isinstance(one, Condition)][: -_LAST - 1 : -1]:
            for wanted in near(found, one.flipped()):
                for values in self.solved(solver, wanted, met, kept):
                    wanteds = (wanted, *kept.wanted)
                    yield Change(put(found, values), wanteds, kept.chosen, met)
        reads = [one for one in met.notes if isinstance(one, Read) and one.path not in kept.chosen]
        declared = {path: known for path, known in found.fields.items() if known.field is not None}
        nulls = {one.path for one in reads if one.path in declared and declared[one.path].value is None}
        if len(nulls) > 1:  # all at once
            given = {path: next(self.choices(found, path, []), None) for path in sorted(nulls)}
            yield Change(put(found, given), kept.wanted, kept.chosen | nulls, met)
        paths = dict.fromkeys(one.path for one in reversed(reads))
        for path in sorted(paths, key=lambda path: path not in nulls):
            named = [one.text for one in reads if one.path == path and one.text]
            for value in self.choices(found, path, named):
                chosen = kept.chosen | {path}
                yield Change(put(found, {path: value}), kept.wanted, chosen, met)

    def choices(self, found: Run, path: FieldPath, named: list[str]) -> Iterator[Any]:
        """The choices of a field; of one whose default was not to be computed, what it is elsewhere."""
        known = found.fields.get(path)
        if known is not None:
            others = [_DECODER] if path[-1] == "model_type" else self.sampler.texts(path)
            texts = list(dict.fromkeys((*named, *others)))
            yield from choices(self.spec.library, known, texts)
        else:
            there = (other.fields[path].value for other in self.runs if path in other.fields)
            yield from (value for value in islice(there, 1) if value is not None)

    def solved(
        self, solver: Solver, wanted: Condition, met: Met, kept: Change
    ) -> Iterator[dict[FieldPath, float]]:
        """Numbers for a path condition: with the rest of the path as it was; then with what came before.

        They are of the condition's own fields alone if that can be, else of what these are held to, too.
        """
        path = [one for one in solver.run.path() if one not in met.notes]
        before = [one for one in solver.run.path(met.before) if one not in met.notes]
        few = frozenset(one for one in wanted.axes if kept.chosen.isdisjoint((one, one[:-1])))
        many = connected(few, [one.axes for one in (*before, *kept.wanted)])
        ways: Any = ((few, path), (many, before), (few, []))
        found = (solver.solve(wanted, kept.wanted, held, free) for free, held in ways)
        yield from islice((values for values in found if values), 1)


def _ways(met: Met) -> list[Any]:
    """How a test came out, part by part."""
    parts = (one[::3] if isinstance(one, Condition) else one for one in met.notes)
    return [met.test, *parts]


def near(run: Run, condition: Condition) -> Iterator[Condition]:
    """A condition with a bound as equality at the bound; then the condition itself."""
    left, right, space = condition.left, condition.right, run.trail.space
    if condition.op == "<" and isinstance(left, Poly):
        yield Condition("==", space.add(left, space.constant(int(condition.holds))), None, True)
    elif condition.op == "<" and not condition.holds:
        yield Condition("==", left, right, True)
    yield condition


def connected(fields: frozenset[FieldPath], together: list[frozenset[FieldPath]]) -> frozenset[FieldPath]:
    """Some fields and those that path conditions hold against them, and so on."""
    found, before = fields, frozenset[FieldPath]()
    while found != before:
        before = found
        found = found.union(*(some for some in together if some & found))
    return found
