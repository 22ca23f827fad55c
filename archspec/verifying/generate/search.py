"""Configs for every branch and condition of a spec: recorded runs of valid configs, changed test by test.

The solver gives numbers; flags, nulls, texts and lists are finite choices. The spec itself shows whether a
config takes the path that it was made for, without a reference model.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from math import inf
from typing import Any, NamedTuple

from archspec.language.expression import Expression, names
from archspec.specs.records import Spec, leaves
from archspec.specs.references import reachable_modules
from archspec.symbolic.expressions import Condition, Poly
from archspec.symbolic.polynomials import Space
from archspec.symbolic.runs.record import Config, FieldPath, Fork, Met, Read, Run
from archspec.symbolic.runs.recorder import TIES, run
from archspec.symbolic.runs.solver import WIDE, Solver, is_deep
from archspec.verifying.generate.choices import choices, set_values
from archspec.verifying.generate.sampling import Sampler

_STARTS = 3  # runs in which a test is changed
_TRIES = 8  # changes tried in each of them
_STEPS = 4  # changes tried for the next refusal
_RUNS = 24  # configs run for each start
_LAST = 4  # comparisons of a test that are changed
_WORK = 500_000  # notes of all runs of one architecture
_DECODER = "llama"  # a model type in place of another
_EACH = 3  # configs that break a condition, each in another way
Fields = frozenset[FieldPath]
Numbers = dict[FieldPath, float]


class Goal(NamedTuple):
    """An outcome of a test, in a run that nothing refuses except, maybe, the ignored condition."""

    test: Fork
    outcome: bool
    ignored: Expression | None = None


class Change(NamedTuple):
    """A changed config, with the path conditions and the chosen fields that later changes must keep."""

    raw: Config
    wanted: tuple[Condition, ...] = ()
    chosen: Fields = frozenset()
    past: Met | None = None  # the test that it changes


class Search:
    """Finds configs for one architecture of a spec, and for parts of its configs without architectures."""

    def __init__(self, spec: Spec, architecture: str, sampler: Sampler) -> None:
        self.spec, self.architecture, self.sampler = spec, architecture, sampler
        self.runs: list[Run] = []
        self.space = Space(limit=inf)
        self.left = _WORK
        first = next(iter(spec.architectures), architecture)
        # Modules that the first architecture may have are searched with it.
        self.with_first = {*reachable_modules(spec, [spec.module(first)] if first != architecture else [])}

    def configs(self, valid: Iterable[Config]) -> Iterator[Config]:
        """Yield configs that take a path that no valid one took, then some that violate each condition."""
        accepted = (found for raw in valid if (found := self._run(raw)).refusal is None)
        self.runs = sorted(accepted, key=lambda found: len(found.notes))
        for found in chain(self._sides(), self._branches()):
            self.runs.append(found)
            yield found.raw
        yield from self._violations()

    def _run(self, raw: Config, ignored: Expression | None = None) -> Run:
        found = run(self.spec, self.architecture, raw, ignored, self.space)
        self.left -= len(found.notes)
        return found

    def _sides(self) -> Iterator[Run]:
        """Yield valid runs with each flag, null and text, one layer and an odd size, and without each field.

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
                    change = Change(set_values(start, {path: value}), (), frozenset([path]))
                    yield from islice(self._mend([change], None), 1)

    def _own_names(self) -> set[str] | None:
        """Return the names that modules of this architecture alone read; None for the first architecture."""
        if not self.with_first:
            return None
        modules = reachable_modules(self.spec, [self.spec.module(self.architecture)])
        bodies = (module.body for name, module in modules.items() if name not in self.with_first)
        return {name for body in bodies for one in leaves(body) for name in names(one.tree)}

    def _branches(self) -> Iterator[Run]:
        """Yield valid runs with the other outcome of each test, including tests of other branches."""
        tried: set[Goal] = set()
        while goals := [goal for goal in self._open_goals() if goal not in tried]:
            for goal in goals:
                tried.add(goal)
                if not any(goal[:2] in found.met for found in self.runs):
                    yield from islice(self._reach(goal), 1)

    def _open_goals(self) -> list[Goal]:
        """Return the outcomes of tests that did not occur in any run, without those of conditions."""
        met = {key: one for found in reversed(self.runs) for key, one in found.met.items()}
        demanded = {part for found in self.runs for tree in found.demanded for part in ast.walk(tree)}
        every = (Goal(test, not outcome) for (test, outcome), one in met.items() if self._is_own(one))
        return [goal for goal in every if goal[:2] not in met and goal.test.node not in demanded]

    def _violations(self) -> Iterator[Config]:
        """Yield configs that violate one condition only."""
        met = {one.test: (one, found) for found in self.runs for one in found.met.values() if one.outcome}
        for test, (one, found) in met.items():
            if self._is_own(one) and (condition := found.demanded.get(test.node)) is not None:
                yield from (broken.raw for broken in self._reach(Goal(test, False, condition)))

    def _is_own(self, met: Met) -> bool:
        """Return True if no other architecture, of this spec or of a part's, searches a test."""
        mine = not self.with_first or (bool(met.module) and met.module not in self.with_first)
        return mine and (met.spec is self.spec or not met.spec.architectures)

    def _reach(self, goal: Goal) -> Iterator[Run]:
        """Yield runs that reach a goal, each by another change of one run that had the other outcome."""
        other = (goal.test, not goal.outcome)
        starts = [found for found in self.runs if other in found.met]
        if goal.ignored:  # few other conditions are in the way
            starts.sort(key=lambda found: len(found.demanded))
        for start in [*starts[: _STARTS - 1], *starts[_STARTS - 1 :][-1:]]:
            changes = islice(self._changes(start, start.met[other], Change(start.raw)), _TRIES)
            if found := [*islice(self._mend(changes, goal), _EACH if goal.ignored else 1)]:
                yield from found
                return

    def _mend(self, changes: Iterable[Change], goal: Goal | None) -> Iterator[Run]:
        """Yield the valid runs of changed configs, or those that reach a goal.

        What refuses a config, or else decides the test, is changed, too.
        """
        pending, seen = deque(changes), set[str]()
        ignored, other = (goal.ignored, (goal.test, not goal.outcome)) if goal else (None, None)
        for _ in range(_RUNS):
            if not pending or self.left < 0:
                return
            change = pending.popleft()
            found = self._run(change.raw, ignored)
            if found.refusal is None and (goal is None or goal[:2] in found.met):
                yield found
            elif between := found.refusal or (found.met.get(other) if other else None):
                changes = self._changes(found, between, change)
                onward = [*islice((one for one in changes if _is_new(repr(one.raw), seen)), _STEPS)]
                is_other = change.past is None or _outcomes(between) != _outcomes(change.past)
                pending = deque([*onward, *pending] if is_other else [*pending, *onward])

    def _changes(self, found: Run, met: Met, kept: Change) -> Iterator[Change]:
        """Yield configs that may change the outcome of a test of a run, which came from the change ``kept``.

        Numbers that were compared come first, the last of them before the others; then other choices.
        """
        solver = Solver(found)
        for one in [one for one in met.notes if isinstance(one, Condition)][: -_LAST - 1 : -1]:
            for wanted in _with_bound(found, one.negate()):
                if values := self._solve(solver, wanted, met, kept):
                    yield Change(set_values(found, values), (wanted, *kept.wanted), kept.chosen, met)
        reads = [one for one in met.notes if isinstance(one, Read) and one.path not in kept.chosen]
        declared = {path: known for path, known in found.fields.items() if known.field is not None}
        nulls = {one.path for one in reads if one.path in declared and declared[one.path].value is None}
        if len(nulls) > 1:  # all at once
            given = {path: next(self._choices(found, path, []), None) for path in sorted(nulls)}
            yield Change(set_values(found, given), kept.wanted, kept.chosen | nulls, met)
        paths = dict.fromkeys(one.path for one in reversed(reads))
        for path in sorted(paths, key=lambda path: path not in nulls):
            named = [one.text for one in reads if one.path == path and one.text]
            for value in self._choices(found, path, named):
                yield Change(set_values(found, {path: value}), kept.wanted, kept.chosen | {path}, met)

    def _choices(self, found: Run, path: FieldPath, named: list[str]) -> Iterator[Any]:
        """Yield the choices of a field; for one whose default failed, its value in another run."""
        known = found.fields.get(path)
        if known is not None:
            others = [_DECODER] if path[-1] == "model_type" else self.sampler.texts(path)
            yield from choices(self.spec.library, known, list(dict.fromkeys((*named, *others))))
        else:
            there = (other.fields[path].value for other in self.runs if path in other.fields)
            yield from (value for value in islice(there, 1) if value is not None)

    def _solve(self, solver: Solver, wanted: Condition, met: Met, kept: Change) -> Numbers | None:
        """Return numbers for a path condition: of its fields, else also of fields that depend on them.

        The rest of the path stays as it is if possible, else what came before the test.
        """
        path = [one for one in solver.run.conditions() if one not in met.notes]
        before = [one for one in solver.run.conditions(met.before) if one not in met.notes]
        few = frozenset(one for one in wanted.axes if kept.chosen.isdisjoint((one, one[:-1])))
        many = _connected_fields(few, [one.axes for one in (*before, *kept.wanted)])
        ways: Any = ((few, path), (many, before), (few, []))
        found = (solver.solve(wanted, kept.wanted, held, free) for free, held in ways)
        return next(filter(None, found), None)


def _is_new(text: str, seen: set[str]) -> bool:
    is_new = text not in seen
    seen.add(text)
    return is_new


def _outcomes(met: Met) -> list[Any]:
    return [met.test, *(one[::3] if isinstance(one, Condition) else one for one in met.notes)]


def _with_bound(run: Run, condition: Condition) -> Iterator[Condition]:
    """Yield a condition with a bound as equality at the bound; then the condition itself."""
    left, right, space = condition.left, condition.right, run.space
    if condition.op == "<" and isinstance(left, Poly):
        yield Condition("==", space.add(left, space.constant(int(condition.holds))), None, True)
    elif condition.op == "<" and not condition.holds:
        yield Condition("==", left, right, True)
    yield condition


def _connected_fields(fields: Fields, together: list[Fields]) -> Fields:
    """Return some fields, and all that path conditions connect with them."""
    while (found := fields.union(*(some for some in together if some & fields))) != fields:
        fields = found
    return fields
