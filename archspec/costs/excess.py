"""A note if eager code spends more FLOPs than 2 × active parameters × tokens plus attention."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction

from archspec.costs.forward import Forward
from archspec.costs.records import PRODUCTS
from archspec.costs.totals import own_terms, routed_share, walk
from archspec.tree.builder import tree_of
from archspec.tree.tensors import tensors
from archspec.typing_light import Any, NamedTuple

LIMIT = Fraction(6, 5)  # of the expected FLOPs; a note is printed beyond it
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")


class Excess(NamedTuple):
    """FLOPs of a forward pass as a multiple of the expected FLOPs, and a note if they exceed the limit."""

    ratio: Fraction
    note: str | None


def excess_of(call: Forward) -> Excess:
    """Compare the FLOPs of a forward pass with 2 × active parameters × tokens plus attention.

    Active parameters are those without tables that are only looked up; attention is all that is multiplied
    without a weight. For an encoder next to a decoder its own tokens count.
    """
    if call.has_items:  # an image's tokens are not those of the text
        return Excess(Fraction(1), None)
    lengths, attention = call.call, 0
    # By module, those of all layers together.
    computed, active, matrices = (defaultdict[str, Any](int) for _ in range(3))
    for path, node, routed in walk(call.tree, "flops"):
        for name, (flops,) in own_terms("flops", node):
            if name in PRODUCTS:
                computed[_INDEX.sub("*", path)] += routed_share(flops, routed)
            else:
                attention += routed_share(flops, routed)
    for tensor in tensors(tree_of(call.scope, call.architecture)):
        if tensor.kind == "parameter" and tensor.tied_to is None and tensor.embedding != "table":
            path = _INDEX.sub("*", tensor.name.rpartition(".")[0])
            active[path] += tensor.active
            matrices[path] += tensor.active if len(tensor.shape) > 1 else 0
    expected = {}
    for name in {*active, *computed}:
        of_encoder = 2 * lengths.batch * lengths.new_encoder_tokens * matrices[name]
        tokens = lengths.new_encoder_tokens if of_encoder and computed[name] == of_encoder else lengths.tokens
        expected[name] = 2 * lengths.batch * tokens * active[name]
    total = attention + sum(expected.values())
    ratio = Fraction(call.flops, total) if total else Fraction(1)
    if ratio <= LIMIT:
        return Excess(ratio, None)
    worst = max(computed, key=lambda name: computed[name] - expected[name])
    reason = "uses weights of other modules"
    if once := 2 * lengths.batch * lengths.tokens * matrices[worst]:
        reason = f"uses its active weights {computed[worst] / once:,.6g} times per token"
    note = f"transformers' eager code uses {float(ratio):.3g} times as many FLOPs as expected"
    expected_flops = "2 × active parameters × tokens, plus attention"
    return Excess(ratio, f"{note} ({expected_flops}), mostly because {worst} {reason}")


def notes_of(call: Forward) -> list[str]:
    """Return the note on a forward pass, as a list that is empty without one."""
    note = excess_of(call).note
    return [] if note is None else [note]
