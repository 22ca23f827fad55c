"""Under the reading of configs: what code does to a sub-config, while it is a dict yet, or to the stages of a
backbone."""

from __future__ import annotations

import ast
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.methods import Methods
from archspec.deriving.reading.values import Bound, Config, Sym, Unsupported

DICT_METHODS = frozenset(["get", "pop", "setdefault", "items", "keys"])


class Parts(Methods):
    """Follows what becomes of the configs within a config."""

    def __init__(self) -> None:
        super().__init__()
        self.dicts_read = True  # whether what `__post_init__` does to a sub-config's dict is followed
        self.dicts_asked = False
        self.dicts_open = False  # until PreTrainedConfig makes configs of them

    def undecided(self, config: Config) -> bool:
        """Whether a sub-config is still what the config gives: a dict, or nothing."""
        return (
            self.dicts_open and len(config.path) == 1 and self.scope is not None and config is not self.scope
        )

    def is_instance(self, value: Any, kinds: Any) -> Any:
        if not isinstance(value, Config) or kinds is not dict or not self.undecided(value):
            return super().is_instance(value, kinds)
        self.dicts_asked = True
        return self.is_none(dict_given(value), False)

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        if isinstance(owner, Config) and self.undecided(owner):
            raise Unsupported("an item of the dict of a sub-config")
        super().set_item(owner, index, value)

    def dict_attribute(self, config: Config, name: str) -> Bound:
        if name != "get":
            raise Unsupported(f"{name} of the dict of a sub-config")
        return Bound(config, "$get")

    def stages_set(self, config: Config, keywords: dict[str, Any]) -> None:
        """The model itself says which stages of a backbone it takes, by their names or their positions."""
        names = self.attribute(config, "stage_names")
        by, given = next((pair for pair in keywords.items() if pair[1] is not None), ("", None))
        if not by:
            return
        features: Any = given
        indices: Any = given
        item = terms.name(self.fresh("stage"))
        loop = ast.comprehension(item, self.node(given), [], 0)
        if by == "out_features":
            index = ast.Call(ast.Attribute(self.node(names), "index", ast.Load()), [item], [])
            seen = self.seen(lambda stages, chosen: [stages.index(one) for one in chosen], names, given)
            indices = Sym(ast.ListComp(index, [loop]), seen, ("list",))
            here = terms.compare(item, ast.In, self.node(given))
            ordered = ast.ListComp(item, [ast.comprehension(item, self.node(names), [here], 0)])
            self.enforce(
                terms.compare(self.node(given), ast.Eq, ordered), "stages that the backbone does not have"
            )
        else:
            seen = self.seen(lambda stages, chosen: [stages[one] for one in chosen], names, given)
            features = Sym(ast.ListComp(terms.subscript(self.node(names), item), [loop]), seen, ("list",))
        self.write(config.store, "out_features", features)
        self.write(config.store, "out_indices", indices)


def dict_given(config: Config) -> Sym:
    """The dict that a config gives for a sub-config, or None."""
    return Sym(terms.call("given", ast.Constant(config.path[-1])), None)
