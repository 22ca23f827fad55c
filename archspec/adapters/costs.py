"""FLOPs of a model with an adapter, as torch's FlopCounterMode counts them: peft's products and gradients.

formulas/gradients.json has the dependencies between the products of a layer, which tools/from_autograd.py
reads from autograd's graph. A product has a gradient for each operand that depends on a trained parameter.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from archspec.adapters.modules import ADAPTERS, BASE, LINEAR, Module
from archspec.adapters.options import Options
from archspec.adapters.recorded import (
    Product,
    bits,
    changed_flags,
    layers_of,
    outer_bits,
    products_in,
    record,
)
from archspec.costs.forward import Forward
from archspec.costs.media.items import given_modalities
from archspec.errors import ArchspecError
from archspec.tree.node import Node
from archspec.tree.tensors import modules, tensors
from archspec.typing_light import Any

_SIZES = re.compile(r"act|bias|tie_|cache|dtype|implementation|problem|norm|drop|scal|token|pad|init|output_")
_HELP = "leave out the lengths for the parameters of the adapter"


class AdaptedCall:
    """A forward pass of a model with an adapter, and the gradients of its trained parameters.

    ``top`` is the model with the adapter. Errors: :class:`ArchspecError` for adapters and classes whose FLOPs
    are not known.
    """

    def __init__(self, call: Forward, top: Module, options: Options) -> None:
        self.call, self.top, self.use_dora = call, top, options.use_dora
        self.multiplies_again = options.use_dora and options.lora_dropout > 0  # the base weight, in training
        self.costs = products_in(call.tree)
        self.products = {
            path: Product(*map(sum, zip(*found, strict=True))) for path, found in self.costs.items()
        }
        self.times = {path: node.times for path, node in modules(call.tree, layers=True)}
        self.wrapped: dict[str, Module] = {}
        self.unused = set[str]()  # adapted layers whose weights other modules read: their adapters do not run
        self.owners = set[str]()  # modules with parameters in the base model
        self.trained, self.weights = set[str](), set[str]()  # those trained, also other than the bias
        self.tables = defaultdict[str, set[str]](set)  # the embeddings that share a weight
        self.frozen = {one.name for one in tensors(call.tree) if not one.trainable}  # before the adapter
        for _, module in top.walk():
            self._read(module)
        if shared := [one for one in self.tables.values() if len(one) > 1 and one & self.trained]:
            raise self._refuse(f"{' and '.join(sorted(shared[0]))} share a weight, and are trained apart")

    def _refuse(self, reason: str) -> ArchspecError:
        name = self.call.architecture
        return ArchspecError(f"FLOPs with this adapter are not supported for {name}: {reason}", help=_HELP)

    def _read(self, module: Module) -> None:
        if module.role in ADAPTERS:
            base = module.children[BASE]
            if base.kind not in LINEAR or module.role == "parameter" or base.path in self.wrapped:
                raise self._refuse(f"{module.base.path} is adapted, and not a linear layer that runs once")
            if base.path in self.products:
                self.wrapped[base.path] = module
                self.trained.add(base.path)
            elif base.path.rpartition(".")[0] in self.products:
                self.unused.add(base.path)
        for name, weight in module.weights.items():
            is_trained = weight.origin and weight.trainable
            if is_trained and weight.origin in self.frozen:
                raise self._refuse(f"{weight.origin} is trained, and frozen without the adapter")
            self.tables[weight.origin] |= {module.path} if module.kind == "Embedding" else set()
            self.owners |= {module.path} if weight.origin else set()
            self.trained |= {module.path} if is_trained else set()
            self.weights |= {module.path} if is_trained and name != "bias" else set()

    @property
    def forward_flops(self) -> int:
        """FLOPs of the forward pass: those of the model, and of the adapter of each layer."""
        if found := [path for path in self.unused if self._count_runs(path) != 0]:
            raise self._refuse(f"{found[0]} does not run as a layer")
        added = sum(sum(self._adapter(path)) for path in self.wrapped)
        return self.call.flops + added + (sum(map(self._dora, self.wrapped)) if self.use_dora else 0)

    def _adapter(self, path: str) -> tuple[int, int]:
        """Return the FLOPs of an adapter's two matrices."""
        rank, into, out = self.wrapped[path].sizes
        rows = self.products[path].flops // (into * out)  # 2 for each token
        return rows * into * rank, rows * rank * out

    def _dora(self, path: str) -> int:
        """Return the FLOPs of DoRA's product of both matrices, for each time that a layer runs."""
        rank, into, out = self.wrapped[path].sizes
        return 2 * into * rank * (into + out) * max(self._count_runs(path) or 0, int(self.times[path]))

    def _count_runs(self, path: str) -> int | None:
        """Return how often a module runs in a layer, or outside of them; None if this was not recorded."""
        layer = next((one for one in self.layers if path.startswith(f"{one}.")), None)
        known = self.layers[layer] if layer else self.facts.get("outside")
        return known and sum(row[0] == path.removeprefix(f"{layer}.") for row in known[1])

    @property
    def training_flops(self) -> int:
        """FLOPs of the forward pass and of the gradients that trained parameters need."""
        self.call.check_trained()
        again = sum(self.products[path].flops for path in self.wrapped if self.multiplies_again)
        return self.forward_flops + again + sum(self._gradients())

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The record of the class. Errors: :class:`ArchspecError` if its flags or items were not recorded."""
        what, scope, name = "the dependencies between its products", self.call.scope, self.call.architecture
        facts = record()["classes"].get(name)
        if facts is None:
            raise self._refuse(f"{what} were not recorded")
        given, items = given_modalities(self.call.call, scope, name), facts.get("items", ())
        if bool(given) != bool(items) or not {*given} <= {*items}:
            raise self._refuse(f"{what} were not recorded with {' and '.join(given) or 'text only'}")
        if changed := changed_flags(scope, _SIZES):
            raise self._refuse(f"{what} were not recorded for {changed}")
        return dict(facts)

    @cached_property
    def layers(self) -> dict[str, Any]:
        """The records of layers by their paths."""
        found = (one for stack in self.facts["stacks"] for one in layers_of(self.call.tree, stack))
        return {path: self._layer(path, node) for path, node in found}

    def _gradients(self) -> Iterator[int]:
        """Yield the FLOPs of the gradients in each layer, then outside of layers."""
        layers, facts = self.layers, self.facts
        reached, seen, trained = False, set[str](), list[bool]()
        for stack in facts["stacks"]:
            every, some = facts.get("hidden", {}).get(stack, ([], facts["inputs"]))
            between = self.trained.intersection(facts["inputs"]) - {*every}
            is_crossed = stack in facts.get("crossed", facts["stacks"][1:])
            if self.trained.intersection(some) or (is_crossed and between and not reached):
                raise self._refuse("modules are trained that a part of the first layer reads")
            given, cross, trains = bool(self.trained.intersection(every)), reached, False
            before = given
            for path in (one for one in layers if one.rpartition(".")[0] == stack):
                inside, layer = _paths_below(path, [*self.products, *self.trained]), layers[path]
                seen |= inside
                if given and 0 in outer_bits(layer):
                    raise self._refuse("modules are trained that layers read aside from their input")
                yield from self._layer_gradients(path, layer, inside, before, cross)
                is_trained, run = bool(inside & self.trained), inside & self.products.keys()
                trains |= is_trained and any(self.products[one].backward for one in run)  # else unread
                before = before or cross or is_trained
            trained.append(trains)
            reached = reached or before
        yield from self._outside_gradients(trained, seen, reached)

    def _outside_gradients(self, trained: list[bool], seen: set[str], reached: bool) -> Iterator[int]:
        """Yield the FLOPs of gradients outside of layers, of which lists are ``trained`` or ``reached``."""
        outside, first = self.products.keys() - seen, set(self.facts["inputs"])
        if "outside" in self.facts:
            sources, rows, uneven = self.facts["outside"]
            if unknown := self.trained - seen - {*sources, *(row[0] for row in rows)}:  # tied heads have rows
                raise self._refuse(f"the dependencies on {min(unknown)} were not recorded")
            mask = bits([one in self.trained for one in sources] + trained)
            for path in outside:
                found = [row[1:] for row in rows if row[0] == path]
                yield self._product_gradients(path, found, mask, uneven.get(path))
            return
        if self.trained & first and self.products.keys() & first:
            raise self._refuse("modules before the layers are trained")
        if not reached and len(outside - first) > 1 and self.trained:
            raise self._refuse("nothing in the layers is trained")
        for path in outside - first:  # heads, which read the last layer
            product, below = self.products[path], _paths_below(path, self.owners)
            is_head = below == {path} and product.backward == 2 * product.flops
            if product.backward and (reached or below & self.trained) and not is_head:
                raise self._refuse(f"the gradients of {path} are not known")
            yield self._product_gradients(path, [[1, [1]]] if product.backward else [], int(reached))

    def _layer(self, path: str, node: Node) -> Any:
        """Return the record of a layer with the same modules."""
        known = [one for one, found in self.products.items() if found.backward]
        wanted = [{one[len(path) + 1 :] for one in _paths_below(path, some)} for some in (self.owners, known)]
        layers = record()["layers"].get(node.cls, ())
        rows = [one for one in layers if [{*one[0]}, {row[0] for row in one[1]}] == wanted]
        if len(rows) > 1:  # in some classes it also depends on another list of layers
            is_crossed = path.rpartition(".")[0] in self.facts.get("crossed", ())
            rows = [
                one
                for one in rows
                if any(mask > 1 for mask in outer_bits(one)) == is_crossed and self._fits(one, path)
            ]
        if len(rows) != 1:
            raise self._refuse(f"the dependencies in {path} were not recorded")
        return rows[0]

    def _fits(self, layer: Any, path: str) -> bool:
        """Return True if the products of a layer have as many gradients as a record."""
        _, rows, uneven = layer
        for name in {row[0] for row in rows} - {*uneven}:
            flops, whole = self.products[f"{path}.{name}".rstrip(".")]
            found = [row for row in rows if row[0] == name]
            if whole * len(found) != flops * sum(n + len(masks) for _, n, masks in found):
                return False
        return True

    def _layer_gradients(
        self, path: str, layer: Any, inside: set[str], before: bool, cross: bool
    ) -> Iterator[int]:
        sources, rows, uneven = layer
        own = [f"{path}.{one}".rstrip(".") in self.trained for one in sources]
        later = before or bool(inside & self.trained)
        inside = inside & self.products.keys()
        loops = min((self.times[one] for one in inside), default=1)  # Albert's layers run several times
        for one in inside:
            found = [row[1:] for row in rows if row[0] == one[len(path) + 1 :]]
            for given, count in ((before, 1), (later, loops - 1)):
                mask = bits([*own, given, cross])
                places = uneven.get(one[len(path) + 1 :])
                yield self._product_gradients(one, found, mask, places) * count // loops

    def _product_gradients(
        self, path: str, found: list[Any], mask: int, places: list[int] | None = None
    ) -> int:
        """Return the FLOPs of the gradients of the products of a module, and of its adapter.

        ``places`` are the costs that products with other FLOPs belong to, empty if this is not known.
        """
        needed = [sum(bool(each & mask) for each in masks) for _, masks in found]
        trains = path in self.weights
        rows = zip(needed, found, strict=True)
        counts = [(n * trains + some, n + len(masks)) for some, (n, masks) in rows]  # n weights
        flops = self._part(path, counts, places)
        if not found or path not in self.wrapped:  # others run without gradients
            return flops
        if places is not None and len({*needed}) > 1:
            raise self._refuse(f"a part of the gradients of {path} is needed")
        return flops + self._adapter_gradients(path, sum(needed), len(needed))

    def _part(self, path: str, counts: list[tuple[int, int]], places: list[int] | None) -> int:
        """Return the FLOPs of the gradients that are needed, for each cost if these are known."""
        if not places:
            return self._share(path, self.products[path], counts, places is not None)
        costs = [one for one in self.costs[path] if one.backward]
        if {*places} != {*range(len(costs))}:
            raise self._refuse(f"the costs of {path} are not those that were recorded")
        parts: list[list[tuple[int, int]]] = [[] for _ in costs]
        for place, count in zip(places, counts, strict=True):
            parts[place].append(count)
        return sum(self._share(path, cost, part, True) for cost, part in zip(costs, parts, strict=True))

    def _share(self, path: str, product: Product, counts: list[tuple[int, int]], is_uneven: bool) -> int:
        """Return the FLOPs of the gradients that are needed: of n operands of each product, some."""
        flops, whole = product
        some, total = (sum(numbers) for numbers in zip(*counts, strict=True)) if counts else (1, 0)
        if not whole or some in (0, total):
            return whole if some else 0
        is_even = len({*counts}) == 1 or not is_uneven
        if not counts or not is_even or whole * len(counts) != flops * total:
            raise self._refuse(f"a part of the gradients of {path} is needed")
        return whole * some // total

    def _adapter_gradients(self, path: str, inputs: int, runs: int = 1) -> int:
        """Return the FLOPs of the gradients of both matrices, and of the inputs of some of the runs."""
        first, second = self._adapter(path)
        again = self.products[path].flops if self.multiplies_again else 0
        is_copied = self.wrapped[path].base.kind == "Conv1D"  # whose weight peft copies as a new parameter
        return (first + again) * inputs // runs + first + 2 * second + again * is_copied


def _paths_below(outer: str, paths: Iterable[str]) -> set[str]:
    return {path for path in paths if path == outer or path.startswith(f"{outer}.")}
