"""The closed table of `ops:`: what modules multiply beside their layers, read from contractions.yaml."""

from __future__ import annotations

from typing import NamedTuple

from archspec.errors import Source, SpecError
from archspec.language.expression import Expression
from archspec.language.yaml_nodes import Mapping
from archspec.language.yaml_reader import parse as parse_yaml
from archspec.specs.module_parser import ModuleParser


class Contraction(NamedTuple):
    """One kind of product: its parameters, local names, and its FLOPs over the axes of a call.

    ``masked_flops`` is None where no mask leaves anything out; ``kind`` says what of the past `cache` holds;
    ``require`` says where the product is described; ``saves`` are the bytes that autograd keeps, None where
    that is not described. What has no FLOPs may be named in `saves:` only.
    """

    name: str
    parameters: dict[str, Expression | None]
    where: dict[str, Expression]
    flops: Expression | None
    masked_flops: Expression | None
    backward_flops: Expression | None
    kind: Expression | None
    cache: dict[str, Expression]
    require: tuple[Expression, ...] = ()
    saves: Expression | None = None


def contractions(source: Source) -> dict[str, Contraction]:
    """The table in a file. Errors: :class:`SpecError`, with all its problems."""
    parser = ModuleParser(source)
    root = parse_yaml(source)
    assert isinstance(root, Mapping)
    found = {}
    for key, node in root.items.items():
        name, parameters = parser.signature(key, root.keys[key], "contractions")
        assert isinstance(node, Mapping)
        where = parser.named(parser.mapping(node, "where"), f"{name}.where")
        cache = parser.shapes(parser.mapping(node, "cache"), f"{name}.cache")
        require = tuple(parser.expressions(node, "require", f"{name}."))
        parts = ("where", "cache", "require")
        inner = {key: value for key, value in node.items.items() if key not in parts}
        own = parser.named(Mapping(inner, node.keys, node.place), name)
        found[name] = Contraction(
            name,
            parameters,
            where,
            own.get("flops"),
            own.get("masked_flops"),
            own.get("backward_flops"),
            own.get("kind"),
            cache,
            require,
            own.get("saves"),
        )
    if parser.problems:
        raise SpecError(parser.problems)
    return found
