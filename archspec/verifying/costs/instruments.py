"""The table of instruments: how each cost is measured on the reference model and predicted from the spec."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product
from typing import Any, NamedTuple

from archspec.costs.records import Call
from archspec.costs.totals import by_module
from archspec.costs.working_set import working_set
from archspec.errors import ArchspecError
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.costs import measure
from archspec.reference.masks import let_through
from archspec.reference.media.running import NO_CACHE
from archspec.reference.memory import measured_peak, reserved_tensors
from archspec.reference.training import measured_training
from archspec.reference.verdicts import Refused, Unavailable
from archspec.verifying.blame import Config
from archspec.verifying.costs.cases import (
    Case,
    forward_calls,
    media_step_calls,
    text_calls,
    training_calls,
    with_encoder,
)
from archspec.verifying.costs.media import item_sizes, keeps_text, media_calls, other_size

_EXPERT = re.compile(r"expert_\d+")
_NO_MEMORY = "can't allocate memory"  # in errors of this machine, not of the class
_SHORT_ENCODER = 9  # tokens
_MASKED_CALLS = (Call(2, 5), Call(1, 16), Call(1, 17), Call(1, 67), Call(1, 3, 15))
_MASKED_MEDIA = 6  # forward passes with media
_STATIC_CALLS = (Call(2, 5), Call(1, 17))
ALLOCATING_CALLS = (Call(2, 5), Call(1, 15), Call(1, 67), Call(1, 600), Call(2, 1, 9), Call(1, 1, 600))
Row = tuple[str, str, Any, Any]  # quantity, module, expected, found


class CostDifference(NamedTuple):
    """A quantity of a module that differs from the reference model at one point of one config."""

    config: Config
    at: Any  # a forward pass, a training step, or ranks
    quantity: str
    name: str
    expected: Any
    found: Any


class Comparison(NamedTuple):
    """The points that were compared, the first differences, and why other points could not be measured."""

    compared: int = 0
    differences: tuple[CostDifference, ...] = ()
    unavailable: str = ""
    configs: tuple[Config, ...] = ()
    measured: frozenset[str] = frozenset()  # modalities of the points

    @property
    def verdict(self) -> str:
        """exact, wrong, or unavailable."""
        return "wrong" if self.differences else "exact" if self.compared else "unavailable"


class Instrument(NamedTuple):
    """The comparison of one quantity.

    ``points`` lists the forward passes or steps of the nth case, ``rows`` the modules that differ at a point.
    ``strict``: a case counts only if every point can be measured, and the first case must.
    """

    points: Callable[[Case, int], Iterable[Any]]
    rows: Callable[[Case, Any], Iterable[Row]]
    strict: bool = False


def compare(instrument: Instrument, cases: Iterable[Case], enough: int | None = None) -> Comparison:
    """Compare at every point of every case, up to the first point that differs or ``enough`` cases."""
    compared, unavailable, configs, measured = 0, "", list[Config](), frozenset[str]()
    for number, case in enumerate(cases):
        found = _compare_case(instrument, case, number)
        compared += found.compared
        measured |= found.measured
        unavailable = unavailable or found.unavailable
        configs += [case.config] if found.compared else []
        if found.differences:
            return Comparison(compared, found.differences, unavailable, tuple(configs), measured)
        if (instrument.strict and not compared) or len(configs) == enough:
            break
    return Comparison(compared, (), unavailable, tuple(configs), measured)


def _compare_case(instrument: Instrument, case: Case, number: int) -> Comparison:
    compared, unavailable, takes_past = 0, "", True
    taken: set[tuple[str, Any]] = set()
    try:
        for point in instrument.points(case, number):
            if getattr(point, "past", 0) and not takes_past:
                continue
            try:
                rows = tuple(CostDifference(case.config, point, *row) for row in instrument.rows(case, point))
            except (Unavailable, ArchspecError) as error:
                if instrument.strict and isinstance(error, Unavailable):
                    raise
                fails = isinstance(error, Unavailable) and _NO_MEMORY not in str(error)
                if fails and (size := other_size(point, taken)):
                    row = "costs", f"items of {size}, which the class does not take", str(error), "some"
                    return Comparison(compared, (CostDifference(case.config, point, *row),))
                unavailable = unavailable or str(error)
                takes_past = NO_CACHE not in str(error)
                continue
            if rows:
                return Comparison(compared, rows)
            compared += 1
            taken |= item_sizes(point)
    except (Refused, Unavailable) as error:
        return Comparison(unavailable=str(error))
    return Comparison(compared, (), unavailable, measured=frozenset(modality for modality, _ in taken))


def unequal_modules(expected: dict[str, int], found: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """Yield the modules whose FLOPs differ; experts are summed, as values decide which of them run."""
    theirs, ours = _align(*(_sum_experts(side) for side in (expected, found)))
    for path in dict.fromkeys((*theirs, *ours)):
        if theirs[path] != ours[path]:
            yield path, theirs[path], ours[path]


def _sum_experts(own: dict[str, int]) -> Counter[str]:
    total = Counter[str]()
    for path, flops in own.items():
        total[_EXPERT.sub("expert_0", path)] += flops
    return total


def _align(expected: dict[str, int], found: dict[str, int]) -> tuple[Counter[str], Counter[str]]:
    """Return FLOPs by module such that none are expected to be less than 0.

    They are if another module calls the children of one. Those of both sides are then added to the FLOPs of
    the module around it.
    """
    theirs, ours = Counter(expected), Counter(found)
    paths = {path for one in expected for path in _ancestry(one)}
    for path in sorted(paths, key=lambda path: path.count("."), reverse=True):
        if theirs[path] < 0:
            for side in (theirs, ours):
                side[path.rpartition(".")[0]] += side.pop(path, 0)
    return theirs, ours


def _ancestry(path: str) -> Iterator[str]:
    """Yield a module's path and those of the modules around it, without the model itself."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _unequal_counts(quantity: str, expected: Counter[Any], found: Counter[Any]) -> Iterator[Row]:
    if expected != found:
        yield quantity, "", dict(expected - found), dict(found - expected)


def _forward_rows(case: Case, call: Call) -> Iterator[Row]:
    ours, theirs = case.forward(call), measure(case.model(), call)  # a refusal says more than a failure
    yield from (("flops", *row) for row in unequal_modules(theirs.flops, ours.flops_by_module))
    kept = Counter((tensor.shape, tensor.dtype or "bfloat16") for tensor in ours.cache)
    given = Counter((shape, theirs.dtypes[path]) for path, shape in theirs.cache.items())
    yield from _unequal_counts("cache", given, kept)


def _training_rows(case: Case, call: Call) -> Iterator[Row]:
    ours = case.forward(call).step_flops_by_module  # a refusal says more than a failure
    theirs = measured_training(case.model(trains=True), call)
    yield from (("training flops", *row) for row in unequal_modules(theirs, ours))


def _masked_rows(case: Case, call: Call) -> Iterator[Row]:
    """Compare the FLOPs that masks let through, without experts: values decide which of them run."""
    ours = case.forward(call)
    computed, through = let_through(case.model(), call)
    masked = by_module(ours.tree, "masked_flops")
    for sides in ((computed, ours.flops_by_module), (through, masked)):
        rest = (
            Counter({path: one for path, one in side.items() if one and "expert_" not in path})
            for side in _align(*sides)
        )
        yield from _unequal_counts("masked flops", *rest)


def _static_rows(case: Case, call: Call) -> Iterator[Row]:
    ours = case.forward(call)
    if not ours.cache:
        raise Unavailable("the model keeps nothing between calls")
    found = Counter((kept.shape, kept.dtype or "bfloat16") for kept in ours.allocated_tensors("static"))
    yield from _unequal_counts("static cache", reserved_tensors(case.model(), call), found)


def _short_calls(chosen: tuple[Call, ...]) -> Callable[[Case, int], Iterator[Call]]:
    def points(case: Case, _: int) -> Iterator[Call]:
        encoding = has_encoder_and_decoder(case.model())
        yield from (with_encoder(call, _SHORT_ENCODER) if encoding else call for call in chosen)

    return points


def _masked_calls(case: Case, number: int) -> Iterator[Call]:
    """Yield short forward passes: with media if the class takes any, of text if it runs without."""
    if case.takes_media:
        yield from islice(media_calls(case.scope, case.architecture, case.model()), _MASKED_MEDIA)
    if not case.takes_media or keeps_text(case.model()):
        yield from _short_calls(_MASKED_CALLS)(case, number)


FORWARD = Instrument(forward_calls, _forward_rows)
TEXT = Instrument(text_calls, _forward_rows)
TRAINING = Instrument(
    lambda case, _: training_calls(case.scope, has_encoder_and_decoder(case.model(trains=True))),
    _training_rows,
)
MEDIA_TRAINING = Instrument(media_step_calls, _training_rows)
MASKED = Instrument(_masked_calls, _masked_rows)
STATIC = Instrument(_short_calls(_STATIC_CALLS), _static_rows)


def working_set_instrument(parts: set[str]) -> Instrument:
    """Compare peak temporary memory; ``parts`` collects the parts that were the largest at a point."""

    def points(case: Case, number: int) -> Iterable[tuple[Call, bool]]:
        return product(_short_calls(ALLOCATING_CALLS)(case, number), (False, True))

    def rows(case: Case, point: tuple[Call, bool]) -> Iterator[Row]:
        call, last = point
        ours = working_set(case.forward(call), last)
        if ours is None:
            raise Unavailable("peak temporary memory is not supported")
        theirs = measured_peak(case.model(), call, last).working_set
        parts.add(ours.needed_by)
        if theirs != ours.bytes:
            yield "working set", ours.needed_by, theirs, ours.bytes

    return Instrument(points, rows)
