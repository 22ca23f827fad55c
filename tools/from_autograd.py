"""Writes formulas/gradients.json: which products of a layer have gradients if only some modules are trained.

`python -m tools.from_autograd [FILTER]` runs classes on the meta device and reads the graph of autograd. A
product has a gradient for each of its operands that depends on a trained parameter. Layers are recorded once
for each class and set of modules; so the record holds for configs with other sizes and patterns of layers.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import product as choices
from pathlib import Path
from typing import Any, NamedTuple

from archspec.adapters.recorded import products_in
from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.media.items import given_modalities
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.costs import inputs, instance, restore_attention
from archspec.reference.media.hybrid import hybrid
from archspec.reference.media.running import has_media, media_inputs
from archspec.reference.meta import follow_modules, on_meta, operations
from archspec.specs.library import shipped_library
from archspec.tree.builder import tree_of
from archspec.tree.node import Node
from archspec.tree.tensors import fold_layers, modules
from archspec.verifying.costs.cases import make_runnable
from archspec.verifying.costs.fitting import default_config
from archspec.verifying.costs.media import media_calls, shallow
from archspec.verifying.generate.sampling import Sampler

PATH = Path(shipped_library().folder) / "gradients.json"
_PRODUCTS = re.compile(r"(Mm|Addmm|Bmm|Baddbmm|Addbmm|Convolution)Backward\d")
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_DEPTH, _DRAWS = 4, 8
_CHOICES = 10**6  # of costs for the products of a module
_LEFT_OUT = ("Inkling", "EncoderDecoder", "Musicgen", "Funnel")  # whose layers are not alone, or vary in runs
_LISTED = re.compile(r"^(.*?)\.(\d+)(?=\.|$)")  # the list of layers, and the index of one


class Product(NamedTuple):
    """A product: the module that computes it, its FLOPs, and the parameters that each operand depends on.

    ``turn`` is the number of times that its layer ran before, ``weights`` that of operands that are weights.
    """

    path: str
    turn: int
    flops: int
    operands: tuple[frozenset[str], ...]
    weights: int = 0


def products_of(model: Any, call: Call) -> list[Product]:
    """Return the products of a forward pass that have gradients, in a topological order."""
    import torch

    model.train()
    for module in model.modules():
        if hasattr(module, "layerdrop") or hasattr(module, "correction_coefs"):
            module.training = False  # as where FLOPs of a step are measured
    names, homes = (
        _names(model),
        defaultdict[str, set[str]](set),
    )  # the modules of parameters, also of tied ones
    for name, one in model.named_parameters(remove_duplicate=False):
        homes[names[id(one)]].add(name.rpartition(".")[0])
    running, ran = list[str](), Counter[str]()
    origins: dict[int, tuple[str, int, int]] = {}

    def run(function: Any, args: Any, kwargs: Any) -> Any:
        from torch.utils.flop_counter import flop_registry

        output = function(*args, **kwargs)
        if torch._C._current_autograd_node() is None and function._overloadpacket in flop_registry:
            flops = flop_registry[function._overloadpacket](*args, **kwargs, out_val=output)
            number = torch._C._autograd._get_sequence_nr() - 1
            path = running[-1] if running else ""
            layer = _LISTED.match(path)
            origins[number] = path, ran[layer[0]] if layer else 0, flops
        return output

    taken = media_inputs(model, call) if has_media(call) else None
    with on_meta() if taken is None else hybrid(), torch.enable_grad():
        if taken is None:
            restore_attention(model, call)
            taken = inputs(model, call)
        with follow_modules(model, running, lambda path, _: ran.update((path,))), operations(run):
            output = model(**taken)
        first = next(name for name in output if name != "aux_loss")
        end = output[first].float().sum().grad_fn
    below: dict[Any, frozenset[str]] = {}
    found = []
    for node in _sorted(end):
        if node.name() == _ACCUMULATE:
            below[node] = frozenset((names[id(node.variable)],))
            continue
        operands = [below[one] for one, _ in node.next_functions if one is not None]
        below[node] = frozenset().union(*operands)
        if _PRODUCTS.match(node.name()):
            bias = node.name().startswith(("Addmm", "Convolution", "Baddbmm"))  # whose other operand is added
            kept = _without_bias(node, below) if bias else operands
            path, turn, flops = origins[node._sequence_nr()]
            others = tuple(one for one in kept if not _is_weight(one, path, homes))
            found.append(Product(path, turn, flops, others, len(kept) - len(others)))
    return found


def _is_weight(operand: frozenset[str], path: str, homes: dict[str, set[str]]) -> bool:
    """Return True for an operand that is a parameter of the product's module, or of one inside."""
    of_one = homes[next(iter(operand))] if len(operand) == 1 else ()
    return any(f"{one}.".startswith(f"{path}.") or not path for one in of_one)


def _names(model: Any) -> dict[int, str]:
    """Return the names of parameters by identity; of tied ones that of an embedding."""
    from torch import nn

    found = {id(parameter): name for name, parameter in model.named_parameters()}
    tables = ((path, one) for path, one in model.named_modules() if isinstance(one, nn.Embedding))
    return found | {id(one.weight): f"{path}.weight" for path, one in [*tables][::-1]}


def _without_bias(node: Any, below: dict[Any, frozenset[str]]) -> list[frozenset[str]]:
    """Return the operands of a product without what is added to it."""
    given = [one for one, _ in node.next_functions]
    added = 2 if node.name().startswith("Convolution") else 0
    return [below[one] for place, one in enumerate(given) if one is not None and place != added]


def _sorted(end: Any) -> Iterator[Any]:
    """Yield the nodes of autograd's graph, each after those that it depends on."""
    seen, stack = set(), [(end, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(one, False) for one, _ in node.next_functions if one is not None and one not in seen]


def record(root: Node, products: list[Product], parameters: list[str]) -> dict[str, Any]:
    """Return the lists of layers of a class, the modules that they depend on, and its layers by class.

    Errors: ValueError for a layer that runs more than once.
    """
    classes = {path: node.cls for path, node in modules(root, layers=True)}
    costs = {
        path: [one.backward for one in found if one.backward] for path, found in products_in(root).items()
    }
    stacks = dict.fromkeys(match[1] for one in products if (match := _LISTED.match(one.path)))
    layers: dict[str, list[Any]] = {}
    for stack in stacks:
        listed = sorted(
            (one for one in classes if re.fullmatch(rf"{re.escape(stack)}\.\d+", one)), key=_index
        )
        others = tuple(f"{one}." for one in stacks if one != stack)
        for place, path in [*enumerate(listed)][::-1]:  # the first one, which follows no other, last
            previous = f"{listed[place - 1]}." if place else ""
            row = _layer(f"{path}.", previous, others, products, parameters, costs)
            rows = layers.setdefault(classes[path], [])
            same = next((one for one in rows if _operands_of(one) == _operands_of(row)), None)
            if row[1] and same is None:
                rows.append(row)
            elif not place and same is not None:
                _copy_last_bits(row, same)
    inside = tuple(f"{stack}." for stack in stacks)
    reads = {one: {_stack_of(name, stacks) for name in _read_by(one, products)} - {one} for one in stacks}
    if any(one in reads.get(other, ()) for one in stacks for other in reads[one]):
        raise ValueError("the lists of layers depend on each other")
    stacks = dict.fromkeys(sorted(stacks, key=lambda one: len(reads[one])))  # each after those that it reads
    within = [one for one in products if one.path.startswith(inside)]
    read = {name for one in within for operand in one.operands for name in operand}
    inputs_ = {name.rpartition(".")[0] for name in read if not name.startswith(inside)}
    hidden = {stack: _inputs_of(stack, products, inside) for stack in stacks}
    outside = _outside([*stacks], products, parameters, costs)
    crossed = [one for one in stacks if reads[one] - {""}]
    facts = {"stacks": [*stacks], "inputs": sorted(inputs_), "hidden": hidden, "outside": outside}
    return {**facts, "crossed": crossed, "layers": layers}


def _operands_of(layer: list[Any]) -> list[Any]:
    """Return the modules of a layer, and the number of operands of each product."""
    return [layer[0], [(path, weights, len(masks)) for path, weights, masks in layer[1]]]


def _inputs_of(stack: str, products: list[Product], inside: tuple[str, ...]) -> list[list[str]]:
    """Return the modules outside of layers that a list's first layer reads: for all operands, for some.

    Operands that also depend on other lists are left out.
    """
    paths = {match[0]: match for one in products if (match := _LISTED.match(one.path)) and match[1] == stack}
    first = min(paths, key=lambda path: int(paths[path][2]))
    found = list[set[str]]()
    for one in (one for one in products if f"{one.path}.".startswith(f"{first}.")):
        for operand in one.operands:
            others = {name for name in operand if not name.startswith(f"{first}.")}
            if not any(name.startswith(inside) for name in others):
                found.append({name.rpartition(".")[0] for name in others})
    every = set.intersection(*found) if found else set[str]()
    return [sorted(every), sorted(set[str]().union(*found) - every)]


def _read_by(stack: str, products: list[Product]) -> set[str]:
    """Return the parameters that the products of a list of layers depend on."""
    within = (one for one in products if one.path.startswith(f"{stack}."))
    return {name for one in within for operand in one.operands for name in operand}


def _stack_of(name: str, stacks: dict[str, None]) -> str:
    return next((one for one in stacks if name.startswith(f"{one}.")), "")


def _copy_last_bits(first: list[Any], later: list[Any]) -> None:
    """Copy the bits for other lists from the first layer: later ones also depend on these through it."""
    last = 1 << (len(first[0]) + 1)
    for row, other in zip(first[1], later[1], strict=True):
        other[2] = [mask & ~last | own & last for own, mask in zip(row[2], other[2], strict=True)]


def _index(path: str) -> int:
    return int(path.rpartition(".")[2])


def _layer(
    own: str,
    previous: str,
    others: tuple[str, ...],
    products: list[Product],
    parameters: list[str],
    costs: dict[str, list[int]],
) -> list[Any]:
    """Return the modules of a layer that have parameters, its products, and those with other FLOPs.

    A product is its module, its weights, and a mask for each other operand. A bit of a mask stands for a
    module; the last two for what the previous layer, or another list, returns.
    """
    inner = [one for one in products if one.path.startswith(own) or f"{one.path}." == own]
    sources = sorted({name.rpartition(".")[0][len(own) :] for name in parameters if name.startswith(own)})
    inner = _first_turn(own, inner, {name for name in parameters if name.startswith(own)})
    rows = _Rows()
    for product in inner:
        masks = list[int]()
        for operand in product.operands:
            within = {name.rpartition(".")[0][len(own) :] for name in operand if name.startswith(own)}
            outer = [name for name in operand if not name.startswith(own)]
            found = [one in within for one in sources]
            found.append(any(name.startswith(previous) for name in outer) if previous else bool(outer))
            found.append(bool(others) and any(name.startswith(others) for name in outer))
            masks.append(sum(one << place for place, one in enumerate(found)))
        rows.add(product, product.path[len(own) :], masks)
    return [sources, rows.rows, rows.uneven(costs)]


class _Rows:
    """The products of a layer."""

    def __init__(self) -> None:
        self.rows, self._products = list[Any](), defaultdict[str, list[Product]](list)

    def add(self, product: Product, path: str, masks: list[int]) -> None:
        self.rows.append([path, product.weights, masks])
        self._products[path].append(product)

    def uneven(self, costs: dict[str, list[int]]) -> dict[str, list[int]]:
        """Return the modules with products of other FLOPs, and the costs that these belong to."""
        found = self._products.items()
        uneven = {path: some for path, some in found if len({one.flops for one in some}) > 1}
        return {path: _places(some, costs.get(some[0].path, [])) for path, some in uneven.items()}


def _places(products: list[Product], costs: list[int]) -> list[int]:
    """Return the cost of a module that each of its products belongs to, empty if this is ambiguous."""
    kinds = [(one.flops, one.weights, len(one.operands)) for one in products]  # each belongs to one cost
    counts = Counter(kinds)
    if len(costs) < 2 or len(costs) ** len(counts) > _CHOICES:
        return []
    fits = defaultdict[int, list[list[int]]](list)
    for chosen in choices(range(len(costs)), repeat=len(counts)):
        places = dict(zip(counts, chosen, strict=True))
        rest = [*costs]
        for (flops, weights, others), place in places.items():
            rest[place] -= flops * (weights + others) * counts[flops, weights, others]
        if {*chosen} == {*range(len(costs))} and min(rest) >= 0:
            fits[sum(map(bool, rest))].append([places[kind] for kind in kinds])
    best = fits[0] or fits[1]  # one cost may have more, as where a triangular system is solved
    return best[0] if len(best) == 1 else []


def _outside(
    stacks: list[str], products: list[Product], parameters: list[str], costs: dict[str, list[int]]
) -> list[Any]:
    """Return the modules and products outside of layers; the last bits of masks are for lists of layers."""
    inside = tuple(f"{stack}." for stack in stacks)
    sources = sorted({name.rpartition(".")[0] for name in parameters if not name.startswith(inside)})
    rows = _Rows()
    for product in (one for one in products if not one.path.startswith(inside)):
        masks = list[int]()
        for operand in product.operands:
            own = {name.rpartition(".")[0] for name in operand if not name.startswith(inside)}
            found = [one in own for one in sources]
            found += [any(name.startswith(one) for name in operand) for one in inside]
            masks.append(sum(one << place for place, one in enumerate(found)))
        rows.add(product, product.path, masks)
    return [sources, rows.rows, rows.uneven(costs)]


def _first_turn(own: str, inner: list[Product], weights: set[str]) -> list[Product]:
    """Return the products of a layer in its first run; the next runs follow the first one.

    Errors: ValueError if the next runs do not depend on the layer as a next layer would.
    """
    number = max((one.turn for one in inner), default=0) + 1
    turns = [[one for one in inner if one.turn == turn] for turn in range(number)]
    for turn in turns[1:]:
        for one, first in zip(turn, turns[0], strict=True):
            for operand, before in zip(one.operands, first.operands, strict=True):
                follows = any(not name.startswith(own) for name in before)
                expected = before | weights if follows else before
                if one[::2] != first[::2] or (operand & weights) != (expected & weights):
                    raise ValueError(f"{own} runs more than once")
    return turns[0]


def measure(model_type: str, name: str) -> dict[str, Any]:
    """Return the record of a class. Errors: any, if it does not run."""
    spec = shipped_library().load(model_type)
    for raw in _raws(spec, name):
        with suppress(Exception):
            return _measure(spec, name, raw)
    return _measure(spec, name, make_runnable({**default_config(spec)}, name))


def _raws(spec: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the default config with few layers, as it is, and with sizes for the fields without a default."""
    raw = make_runnable({**default_config(spec)}, name)
    if _trains_with_media(spec.model_type, name):
        yield make_runnable(shallow(spec.model_type, raw), name)
    elif "num_hidden_layers" in spec.fields:
        few = {**raw, "num_hidden_layers": _DEPTH}
        with suppress(ArchspecError):
            if _kinds(Scope(spec, few), name) == _kinds(Scope(spec, raw), name):
                yield few
    yield raw
    scope = Scope(spec, raw)
    missing = {*spec.fields}
    for field in spec.fields:
        with suppress(ArchspecError):
            missing -= {field} if scope.get(field) is not None else set()
    for place in range(_DRAWS if missing else 0):
        drawn = Sampler(spec, 0).draw_config(place)
        sizes = {field: drawn[field] for field in missing if type(drawn.get(field)) is int}
        yield make_runnable({**raw, **sizes}, name)


def _kinds(scope: Scope, name: str) -> set[str]:
    """Return the names of modules without indices, also the classes of those in lists."""
    return {f"{fold_layers(path)} {node.cls}" for path, node in modules(tree_of(scope, name), layers=True)}


def _measure(spec: Any, name: str, raw: dict[str, Any]) -> dict[str, Any]:
    model, scope = instance(name, raw, spec.model_type, trains=True), Scope(spec, raw)
    parameters = [one for one, _ in model.named_parameters()]
    for call in _calls(scope, name, model):
        with suppress(ValueError):  # images and videos may run the same layers
            found = record(Forward(scope, name, *call).tree, products_of(model, call), parameters)
            return {**found, "items": given_modalities(call, scope, name)}
    return record(Forward(scope, name, *call).tree, products_of(model, call), parameters)


def _calls(scope: Scope, name: str, model: Any) -> list[Call]:
    """Return forward passes, those with most kinds of items first."""
    if _trains_with_media(scope.spec.model_type, name):
        calls = [one for one in media_calls(scope, name, model) if not one.past]
        return sorted(calls, key=lambda one: -len(given_modalities(one, scope, name)))
    is_same = name.endswith("ForSequenceClassification")  # which reads the end of the encoder's tokens
    encoder = (5 if is_same else 7) if has_encoder_and_decoder(model) else 0
    return [Call(2, 5, encoder_tokens=encoder, new_encoder_tokens=encoder)]


def _trains_with_media(model_type: str, name: str) -> bool:
    """Return True for a class whose step is validated only with images, videos or audio."""
    costs = shipped_library().costs(model_type)
    return name in costs.media_training and costs.gap(name, training=True) is not None


def _merge(known: list[Any], rows: list[Any]) -> None:
    """Add layers; the same one of another size may have more products with other FLOPs."""
    for row in rows:
        same = next((one for one in known if one[:2] == row[:2]), None)
        if same is None:
            known.append(row)
        else:
            same[2] = {path: _agreed(same[2].get(path), row[2].get(path)) for path in {**same[2], **row[2]}}


def _agreed(first: list[int] | None, second: list[int] | None) -> list[int]:
    """Return the known one of two lists of costs. Errors: ValueError if they differ."""
    if first and second and first != second:
        raise ValueError("the products of a module belong to other costs in another class")
    return first or second or []


def main(pattern: str) -> None:
    """Add the classes whose name has a pattern to the file, which is written after each model type."""
    library = shipped_library()
    found: dict[str, dict[str, Any]] = {"classes": {}, "layers": {}}
    if PATH.is_file():
        found = json.loads(PATH.read_text(encoding="utf-8"))
    for model_type in library.model_types():
        for name in library.load(model_type).architectures:
            gap = library.costs(model_type).gap(name, training=True)
            is_known = "outside" in found["classes"].get(name, ())
            if (
                is_known
                or (gap and not _trains_with_media(model_type, name))
                or name.startswith(_LEFT_OUT)
                or not re.search(pattern, name)
            ):
                continue
            try:
                measured = measure(model_type, name)
            except Exception as error:  # a class may not run, or run a layer more than once
                print("--", name, repr(error)[:150], flush=True)
                continue
            found["classes"][name] = {key: one for key, one in measured.items() if key != "layers"}
            for cls, rows in measured["layers"].items():
                _merge(found["layers"].setdefault(cls, []), rows)
            print(name, flush=True)
            write_record(found)


def write_record(found: dict[str, dict[str, Any]]) -> None:
    """Write the file, one class or layer per line."""
    parts = []
    for key, rows in found.items():
        lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(rows.items())]
        parts.append(f"{json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n}")
    PATH.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main("".join(sys.argv[1:]) or ".")
