"""The largest output of one layer: what a call needs at least beside its weights and its cache."""

from __future__ import annotations

from collections.abc import Iterator

from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder
from archspec.costs.records import Call, axes_of
from archspec.language.expression import Locals
from archspec.tree.node import Node
from archspec.tree.tensors import joined
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


def largest_output(scope: Scope, architecture: str, call: Call) -> Output:
    """The largest output of a Linear in a call, the first where there are several; experts are left out.

    >>> import archspec
    >>> model = archspec.load("LlamaForCausalLM")
    >>> largest_output(model.scope, model.architecture, Call(1, 2048))
    Output(module='lm_head', elements=65536000)
    """
    builder = OutputBuilder(scope, call)
    tree = builder.build(architecture)
    found = (
        Output(path, builder.given[id(node)]) for path, node in _layers(tree) if id(node) in builder.given
    )
    return max(found, key=lambda output: output.elements, default=Output("", 0))


def _layers(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """The layers that work on every token, with their paths."""
    if node.routed is not None:
        return
    if node.leaf:
        yield prefix, node
    for name, child in node.children.items():
        yield from _layers(child, joined(prefix, name))
