"""Random classes and configs, of which two ways to one number must give the same one, or refuse.

`python -m tools.fuzz --agree 200 --seed 7` tries 200 of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import archspec
from archspec.errors import ArchspecError
from archspec.models.fields import MAX_STEP
from archspec.tables.quantities import COSTS
from tools.fuzz.code_at import cases, run_python
from tools.fuzz.running import TooSlow, limited

CODED = ("params", "params", "active_params", "buffers", *COSTS)
Found = tuple[int, list[str]]  # the count of compared numbers, and the errors found


def counted(architecture: str, fields: dict[str, Any]) -> int | None:
    """Return the parameters of a class with some fields set; None if it is refused."""
    try:
        return archspec.load(architecture, set=fields).params
    except ArchspecError:
        return None


def steps(architecture: str, chance: random.Random) -> Found:
    """A step of `sensitivity` is the difference of two counts, and no smaller one is valid."""
    try:
        model = archspec.load(architecture)
        rows = [row for row in model.sensitivity().fields if "[" not in row.field]
    except ArchspecError:
        return 0, []  # the class has no default config, or no closed form
    wrong = []
    for row in rows:
        refused = range(1, MAX_STEP + 1 if row.by is None else row.by)
        sooner = [by for by in list(refused)[:3] if counted(architecture, {row.field: row.value + by})]
        there = None if row.by is None else counted(architecture, {row.field: row.value + row.by})
        stepped = None if there is None else there - model.params
        if sooner or stepped != row.step:
            wrong.append(f"{row}: counting gives {stepped}, and takes steps of {sooner}")
    return len(rows), wrong


def assumptions(architecture: str, chance: random.Random, tries: int = 6) -> Found:
    """A formula under an assumption gives the count of the config with that field set."""
    try:
        formula = archspec.formula(architecture)
    except ArchspecError:
        return 0, []
    values = {**formula.config_values, **{name: formula.scope.get(name) for name in formula.absent}}
    values = {name: value for name, value in values.items() if name not in formula.definitions}
    sizes = {name: value for name, value in values.items() if type(value) is int and "[" not in name}
    compared, wrong = 0, []
    for _ in range(tries if sizes else 0):
        field, text, value = _assumed(chance, sizes)
        if value > 4 * max(values[field], 8):
            continue  # many layers or experts take long to count
        try:
            assumed = formula.assume({field: text})
        except ArchspecError:
            continue
        expected = counted(architecture, {field: value})
        found = {assumed.evaluate(), assumed.substituted(assumed.symbols)}
        wrong += [] if found == {expected} else [f"--assume {field}={text} gives {found}, not {expected}"]
        compared += 1
        moved = {chance.choice(sorted(values)): chance.choice((1, 2, 3, 4, 8, 16, 64))}
        if field not in moved and not any("[" in name for name in moved):
            wrong += _moved(architecture, assumed, {field: text}, moved)
    return compared, wrong


def _assumed(chance: random.Random, sizes: dict[str, int]) -> tuple[str, str, Any]:
    """Return a field, an expression of other fields and constants, and its value at the config."""
    field, one, other = (chance.choice(sorted(sizes)) for _ in range(3))
    texts = (
        *(one, f"2*{one}", f"{one}//2", f"{one}*{other}//64", f"max({one}, {other})", f"{one} + {other}"),
        *("64", "2", f"2*{field}", f"{field}", f"min(4*{one}, 1024)"),
    )
    text = chance.choice(texts)
    names = {name.replace(".", "__"): value for name, value in sizes.items()}
    return field, text, eval(text.replace(".", "__"), {"max": max, "min": min}, names)


def _moved(
    architecture: str, assumed: archspec.Formula, assumption: dict[str, str], moved: dict[str, int]
) -> list[str]:
    """The same assumption gives one count if another field is changed before or after it."""
    try:
        after = assumed.evaluate(moved)
        there = archspec.formula(architecture, set=moved)
    except ArchspecError:
        return []  # a field may be valid only with the assumption
    before = there.assume(assumption)
    found = {after, before.evaluate(), before.substituted(before.symbols)}
    return [] if len(found) == 1 else [f"--assume {assumption} at {moved} gives {found}"]


def code(architecture: str, chance: random.Random, tries: int = 24) -> Found:
    """Python code of a formula gives the count of any config, or refuses; of counts and of costs."""
    name = chance.choice(CODED)
    try:
        model = archspec.load(architecture)
        formula = model.quantity(name, **({"tokens": 4} if name in COSTS else {}))
    except ArchspecError:
        return 0, []
    program = compile(formula.python(), "formula", "eval")
    compared, wrong = 0, []
    for changed, row, count in cases(formula, model, chance, tries):
        found = run_python(program, row)
        if found != count and not (changed and found is None):
            wrong.append(f"the code of {name} gives {found} at {changed}, not {count}")
        compared += found is not None
    return compared, wrong


def sweep(architecture: str, chance: random.Random) -> Found:
    """Each row of a sweep is what `count`, `flops` and `cache` give at its point."""
    try:
        model = archspec.load(architecture)
    except ArchspecError:
        return 0, []
    fields = [one for one in model.fields if type(one.value) is int and 1 < one.value < 10**5]
    chosen = chance.sample(fields, min(2, len(fields)))
    grid: dict[str, list[Any]] = {
        one.field: chance.sample([one.value, one.value * 2, max(one.value // 2, 1)], 2) for one in chosen
    }
    columns = {"params": "params", "billions": "params/1e9"}
    columns |= {name: name for name in chance.sample(["flops", "cache_elements"], chance.choice((0, 1, 2)))}
    try:
        rows = [*archspec.sweep(architecture, grid, columns=columns).rows()] if grid else []
    except ArchspecError:
        return 0, []
    wrong = []
    for row in rows:
        there = archspec.load(architecture, set={name: row[name] for name in grid})
        expected = {"params": there.params, "billions": there.params / 1e9}
        if len(columns) > len(expected):
            call = there.forward()
            expected |= {"flops": call.flops, "cache_elements": call.cache_elements()}
        if any(row[name] != expected[name] for name in row if name in expected):
            wrong.append(f"the sweep gives {row}, not {expected}")
    return len(rows), wrong


def proposals(architecture: str, chance: random.Random) -> Found:
    """Configs that `solve` proposes have the size it reports, and `count` does not warn about them."""
    try:
        found = archspec.solve(architecture, params=int(10 ** chance.uniform(7, 11)), top=3)
    except ArchspecError:
        return 0, []
    wrong = []
    for one in found:
        model = archspec.load(one.config, architecture)
        notes = [note for note in model.notes if "cannot run" in note]
        if notes or model.params != one.params:
            wrong.append(f"solve proposes {one.config}: {model.params} parameters, {notes}")
    return len(found), wrong


CHECKS: dict[str, Callable[[str, random.Random], Found]] = {
    "steps": steps,
    "assumptions": assumptions,
    "code": code,
    "sweep": sweep,
    "proposals": proposals,
}


def disagreements(seed: int, number: int) -> tuple[str, Found]:
    """Run one check of a random class; return its name with the class, and the result."""
    chance = random.Random(f"{seed}/{number}")
    name, architecture = chance.choice(sorted(CHECKS)), chance.choice(archspec.architectures())
    try:
        with limited():
            return f"{name} {architecture}", CHECKS[name](architecture, chance)
    except TooSlow:
        return f"{name} {architecture}", (0, [])
    except ArchspecError as error:
        return f"{name} {architecture}", (0, [f"one way gives a number, the other refuses: {error}"])
