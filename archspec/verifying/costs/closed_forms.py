"""Closed forms of costs held to the fold, at the calls that the fold is held to torch at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.lengths import usual_lengths
from archspec.costs.records import Call
from archspec.errors import ArchspecError, ConfigError, FormulaError
from archspec.specs.records import Spec
from archspec.symbolic.closed_form import ClosedForm, exact
from archspec.verifying.comparison import Config
from archspec.verifying.costs.comparison import calls

QUANTITIES = ("flops", "masked_flops", "cache_elements", "training_flops")


class NoClosedForm(NamedTuple):
    """A quantity of a call of which there is no closed form, and why."""

    quantity: str
    call: Call
    why: str


def without_closed_form(spec: Spec, architecture: str, raw: Config) -> Iterator[NoClosedForm]:
    """The quantities whose closed form does not give the number of the fold; calls that are refused are none.

    A closed form is built at each call anew: it is of the branches that are taken there.
    """
    try:
        scope = Scope(spec, raw)
        compared = list(calls(spec, raw, encodes="encoder_tokens" in usual_lengths(scope, architecture)))
    except ArchspecError:
        return
    for call in compared:
        for quantity in _given(scope, architecture, call):
            try:
                ClosedForm.of(scope, architecture, quantity, call)
            except ConfigError:
                return  # a field that has to be given is not
            except FormulaError as error:
                yield NoClosedForm(quantity, call, str(error))


def _given(scope: Scope, architecture: str, call: Call) -> Iterator[str]:
    """The quantities that the fold gives at a call; a refused one has no closed form to meet."""
    for quantity in QUANTITIES:
        try:
            exact(scope, architecture, quantity, call)
        except ArchspecError:
            continue
        yield quantity
