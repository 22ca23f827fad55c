"""The room that a call needs beside weights and cache: the working set, or what is the least of it."""

from __future__ import annotations

from collections.abc import Iterator

from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder
from archspec.costs.forward import Forward
from archspec.costs.records import Call, axes_of
from archspec.costs.working_set import HALF, working_set
from archspec.formats.dtypes import dtype_bytes
from archspec.language.expression import Locals
from archspec.tree.node import Node
from archspec.tree.tensors import joined, output_embeddings
from archspec.typing_light import Any, NamedTuple

_OUTPUTS = {"Linear": 0, "Conv1D": 1}  # the dimension of the weight that is the output's


class Output(NamedTuple):
    """The output of one Linear of the model, by the module's name."""

    module: str
    elements: int


class OutputBuilder(CostBuilder):
    """A builder that notes how many elements each Linear gives in a call."""

    def __init__(self, scope: Scope, call: Call) -> None:
        super().__init__(scope, axes_of(call))
        self.given: dict[int, int] = {}  # by the id of the layer's node
        self.built: list[Node] = []  # so that no other node takes an id

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: Any) -> Node:
        built = super().leaf(name, arguments, keywords, node)
        if self.axes is not None and name in _OUTPUTS:
            outputs = built.tensors[0].shape[_OUTPUTS[name]]
            self.given[id(built)] = self.axes["batch"] * self.axes["tokens"] * outputs
            self.built.append(built)
        return built


class Room(NamedTuple):
    """Bytes beside weights and cache, and what needs them: the least where they are not ``exact``."""

    needed_by: str
    bytes: int
    exact: bool


def room(
    forward: Forward, dtype: str, allocation: str = "exact", last: bool = False, quantized: bool = False
) -> Room:
    """The working set of a call where it is held to what torch allocates, else the largest output of a layer.

    ``last``: with logits of the last position only, as `generate()` asks for. What ``quantized`` weights
    need, or a call on a cache that is reserved before, is not described.

    >>> import archspec
    >>> room(archspec.load("BertModel").forward(tokens=128), "bfloat16")
    Room(needed_by='encoder.layer.0.intermediate.dense', bytes=786432, exact=False)
    """
    described = allocation == "exact" and dtype_bytes(dtype) == HALF and not quantized
    found = working_set(forward, last) if described and "working_set" in forward.held else None
    if found is not None:
        return Room(found.part, found.bytes, True)
    output = largest_output(forward.scope, forward.architecture, forward.call, last)
    return Room(output.module, output.elements * dtype_bytes(dtype), False)


def largest_output(scope: Scope, architecture: str, call: Call, last: bool = False) -> Output:
    """The largest output of a Linear in a call, the first where there are several; experts are left out.

    ``last``: the logits of one position each sequence.

    >>> import archspec
    >>> model = archspec.load("LlamaForCausalLM")
    >>> largest_output(model.scope, model.architecture, Call(1, 2048))
    Output(module='lm_head', elements=65536000)
    """
    builder = OutputBuilder(scope, call)
    tree = builder.build(architecture)
    given = {path: builder.given[id(node)] for path, node in _layers(tree) if id(node) in builder.given}
    for path in {*output_embeddings(tree)} & {*given} if last else ():
        given[path] //= call.tokens
    found = (Output(path, elements) for path, elements in given.items())
    return max(found, key=lambda output: output.elements, default=Output("", 0))


def _layers(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """The layers that work on every token, with their paths."""
    if node.routed is not None:
        return
    if node.leaf:
        yield prefix, node
    for name, child in node.children.items():
        yield from _layers(child, joined(prefix, name))
