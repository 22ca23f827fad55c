"""A note where eager code spends more FLOPs than 2 × active parameters × tokens plus attention.

The excess is located module by module, which gives the reason: a projection that runs on the whole cache,
experts that the router did not choose, weights that are used several times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from archspec.costs.forward import Forward, kept_tensors, own_flops
from archspec.costs.records import PRODUCTS
from archspec.tree.builder import tree_of
from archspec.tree.node import Node, Routed
from archspec.tree.tensors import tensors
from archspec.typing_light import Any, NamedTuple

LIMIT = Fraction(6, 5)  # of the expected FLOPs; a note is printed beyond it
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")
_MOST = Fraction(4, 5)  # of the excess, which the printed reasons explain


class Weights(NamedTuple):
    """The weights of modules of one name in all layers: active ones, and those that multiply."""

    active: Any
    matrices: Any


class Excess:
    """FLOPs of a call beyond 2 × active parameters × tokens plus attention.

    Active parameters are those without tables that are only looked up; attention is all that is multiplied
    without a weight. For an encoder next to a decoder its own positions count as tokens.
    """

    def __init__(self, call: Forward) -> None:
        self.call = call
        root = tree_of(call.scope, call.architecture)
        self.computed: Counter[str] = Counter()
        self.attention = 0
        for path, cost in own_flops(call.tree):
            if cost.name in PRODUCTS:
                self.computed[together(path)] += cost.flops
            else:
                self.attention += cost.flops
        self.weights = weights_of(root)
        self.routed = dict(routed_in(root))

    @property
    def expected(self) -> Any:
        """The expected FLOPs of the call."""
        return self.attention + sum(self._expected(name) for name in {*self.weights, *self.computed})

    @property
    def ratio(self) -> Fraction:
        """FLOPs of the call as a multiple of the expected FLOPs; 1 if these are 0."""
        return Fraction(self.call.flops) / self.expected if self.expected else Fraction(1)

    def _expected(self, name: str) -> Any:
        lengths = self.call.call
        weights = self.weights.get(name, Weights(0, 0))
        encodes = lengths.new_encoder_tokens and self._positions(name) == lengths.new_encoder_tokens
        return (
            2 * lengths.batch * (lengths.new_encoder_tokens if encodes else lengths.tokens) * weights.active
        )

    def _positions(self, name: str) -> Any:
        """Return the tokens on which a module runs, over all its uses; None without unique weights."""
        weights = self.weights.get(name, Weights(0, 0))
        return (
            Fraction(self.computed[name]) / (2 * self.call.call.batch * weights.matrices)
            if weights.matrices
            else None
        )

    @property
    def note(self) -> str | None:
        """The factor by which the FLOPs exceed the expected ones, and the reasons; None within the limit."""
        if self.ratio <= LIMIT:
            return None
        return (
            f"transformers' eager code computes {float(self.ratio):.3g} times 2 × active parameters × tokens "
            f"plus attention: {'; '.join(self.reasons())}"
        )

    def reasons(self) -> Iterator[str]:
        """The reasons that explain most of the excess, the largest first, each with a module."""
        beyond = {name: count - self._expected(name) for name, count in self.computed.items()}
        found: Counter[str] = Counter()
        where: dict[str, str] = {}
        for name, count in sorted(beyond.items(), key=lambda item: -item[1]):
            if count > 0:
                reason = self._reason(name)
                found[reason] += count
                where.setdefault(reason, name)
        left = sum(found.values()) * _MOST
        for reason, count in found.most_common():
            if left <= 0:
                return
            left -= count
            yield f"{where[reason]} {reason}"

    def _reason(self, name: str) -> str:
        lengths, positions = self.call.call, self._positions(name)
        routed = next((one for path, one in self.routed.items() if f"{name}.".startswith(f"{path}.")), None)
        if positions is None:
            return "runs on weights that other modules share"
        times = positions / lengths.tokens
        if routed is not None and times > 1:
            computed = float(times * routed.chosen)
            return f"computes {computed:g} experts for each token, whose router chooses {routed.chosen}"
        holder, kept = name.rpartition(".")[0], kept_tensors(self.call.tree)
        latent = any(one.kind == "latent" and together(path) == holder for path, one in kept)
        if lengths.past and (latent or positions == lengths.context):
            what = "expands the latent cache again" if latent else "runs again"
            if positions == lengths.context:
                return f"{what}, for all {lengths.context:,} positions"
            return f"{what}, for {float(positions):,.6g} positions in an average layer"  # some have windows
        if times.denominator == 1:
            return f"runs {int(times)} times with the same weights"
        return f"multiplies its weights {float(times):.4g} times for each token"


def notes_of(call: Forward) -> list[str]:
    """The note on a call, as a list that is empty without one."""
    note = Excess(call).note
    return [] if note is None else [note]


def weights_of(root: Node) -> dict[str, Weights]:
    """The unique parameters by module, those of all layers together."""
    found: dict[str, Weights] = {}
    for tensor in tensors(root):
        if tensor.kind == "parameter" and tensor.tied_to is None and tensor.embedding != "table":
            name = together(tensor.name.rpartition(".")[0])
            known = found.get(name, Weights(0, 0))
            matrix = tensor.active if len(tensor.shape) > 1 else 0
            found[name] = Weights(known.active + tensor.active, known.matrices + matrix)
    return found


def routed_in(node: Node, prefix: str = "") -> Iterator[tuple[str, Routed]]:
    """The modules whose experts are chosen for each token, by their paths."""
    if node.routed is not None:
        yield together(prefix), node.routed
    for name, child in node.children.items():
        yield from routed_in(child, f"{prefix}.{name}" if prefix else name)


def together(path: str) -> str:
    """The path of a module in any layer: `h.*.attn` for `h.3.attn`."""
    return _INDEX.sub("*", path)
