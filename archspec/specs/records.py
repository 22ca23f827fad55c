"""A spec as records with their places in the file.

The grammar is in docs/spec-grammar.md; the keys of a file are :data:`KEYS`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from archspec.errors import Place, Source
from archspec.language.expression import Expression, names
from archspec.language.trees import callee
from archspec.language.values import KINDS, LAYERS
from archspec.typing_light import Any, NamedTuple, Protocol

KEYS = {
    "model_type": "the config's model_type; the file has the same name",
    "prefix": "what the class names begin with, if not the model type in CamelCase",
    "base_model_prefix": "the attribute of a head class that holds the base model, "
    "if not the parent's, or the model type",
    "extends": "a spec whose fields, modules and architectures are taken over under the own prefix",
    "uses": "specs whose modules and config fields are used under their own names",
    "attribute_map": "other names under which a config may give a field",
    "config": "every field that a count depends on, with transformers' type and default",
    "fixed": "fields that transformers sets itself: a config's own value is not read",
    "readonly": "names that transformers computes itself: it refuses a config that gives one",
    "flat": "the sub-config that fields at the top of a config belong to",
    "require": "what transformers itself demands of a config",
    "modules": "module classes: attribute name -> constructor expression",
    "architectures": "the classes that load() accepts, the base model first",
    "drop": "modules and architectures of the parent that do not exist here",
    "refuse": "why this model type cannot be counted from a config alone",
    "notes": "condition -> the note for the user when it holds",
    "runnable": "conditions that a config meets if its forward pass runs; `Class: condition` for one class",
    "max_length": "the most `tokens` (past ones included) and `encoder_tokens` that a call may have",
    "equal_lengths": "classes whose decoder reads the encoder's tokens again, so both have one length",
    "keep_in_float32": "patterns of parameters that stay in float32: `float16`, `16-bit` or `always`",
    "former_fields": "fields of old configs that no count depends on -> the field that replaces it, if any",
    "valid_config": "a config to verify with, if the default config is refused",
}
OWN_KEYS = ("runnable", "max_length", "equal_lengths", "keep_in_float32", "former_fields", "valid_config")
UNCOUNTED = ("notes", *OWN_KEYS)  # keys that no count depends on
MAX_LENGTH = ("tokens", "encoder_tokens")
FLOAT32 = ("float16", "16-bit", "always")  # the dtypes of a model whose parameters stay in float32
CONFIGS = ("Config", "AutoConfig")  # what a default calls that is a sub-config
OPTIONS = ("optional", "legacy", "merge", "formerly")  # of these calls; other keywords are fields
COST_KEYS = ("runs", "ops", "cache", "saves")
RESERVED = ("extends", "where", "require", "tied", "alias", "output_embeddings", *COST_KEYS)  # of a module
AXES = ("batch", "tokens", "past", "context", "encoder_tokens", "new_encoder_tokens")  # of a call, by name
RUNS = (*AXES, "times", "trained", "backward", "routed")  # what `runs:` may set inside an attribute
TRAINING = ("element_bytes", "flash", "checkpointing")  # what `saves:` may ask of a training step
TYPES = tuple(KINDS)
AUTO = ("AutoModel", "AutoBackbone")  # how the names of classes begin that a model type chooses


class Field(NamedTuple):
    """A config field: its allowed types (none if the default shows them), and its default.

    ``falsy``: the default also replaces a given 0, as with Python's `or`.
    """

    name: str
    types: tuple[str, ...]
    default: Expression | None
    computed: bool
    place: Place
    falsy: bool = False

    @property
    def only_costs(self) -> bool:
        """True if only costs read it. Counts do not depend on it, and all of its values are accepted."""
        return self.types == ("any",)

    @property
    def of_layers(self) -> tuple[str, ...] | None:
        """The fields that single layers may override: those of `layers[head_dim, …]`."""
        for kind in self.types:
            if kind.startswith(LAYERS):
                return tuple(name.strip() for name in kind[len(LAYERS) + 1 : -1].split(","))
        return None

    @property
    def required(self) -> bool:
        """True if a config has to give it."""
        return self.default is None

    @property
    def sub_config(self) -> ast.Call | None:
        """The `Config(…)` or `AutoConfig(…)` that is the default of a sub-config."""
        tree = self.default.tree if self.default else None
        return tree if isinstance(tree, ast.Call) and callee(tree) in CONFIGS else None


def model_types(call: ast.Call) -> list[str]:
    """Return those that a sub-config may have: `Config(bert)`, `AutoConfig("bert" if tiny else "gpt2")`."""
    found, pending = [], call.args[:1]
    while pending:
        tree = pending.pop()
        if isinstance(tree, ast.IfExp):
            pending += [tree.orelse, tree.body]
        elif isinstance(tree, ast.Name):
            found.append(tree.id)
        elif isinstance(tree, ast.Constant):
            found.append(str(tree.value))
    return found


class Tie(NamedTuple):
    """``target`` is the same tensor, or subtree, as ``source``, for each turn of the loops."""

    target: str
    source: str
    turns: Expression | None
    place: Place
    always: bool


Body = Expression | dict[str, Any] | list[Any]
Runs = Expression | dict[str, Expression]  # positions, or axes of the call for all inside
_NOTHING: Mapping[str, Any] = {}


class Module(NamedTuple):
    """A module class: its parameters, its attributes in order, local names, conditions and ties.

    ``layer`` is the torch layer that is its base class; the layer's tensors come first.
    ``output_embeddings`` is the path that `get_output_embeddings()` returns, if not `lm_head`. ``runs`` has
    the numbers of tokens of attributes, ``ops`` the products other than those of the layers, ``cache`` the
    shapes of its part of the KV cache: None if no module inside has one. ``returned``: the class returns a
    cache that it does not take. ``saves`` are the bytes that autograd keeps for an attribute, in place of its
    layer's, or for another tensor of the module.
    """

    name: str
    parameters: dict[str, Expression | None]
    body: Body
    where: dict[str, Expression]
    require: tuple[Expression, ...]
    ties: tuple[Tie, ...]
    place: Place
    home: str
    layer: Expression | None = None
    output_embeddings: Expression | None = None
    runs: Mapping[str, Runs] = _NOTHING
    ops: tuple[Expression, ...] = ()
    cache: Mapping[str, Expression] | None = _NOTHING
    saves: Mapping[str, Expression] = _NOTHING
    returned: bool = False


def leaves(part: Body) -> Iterator[Expression]:
    """Yield the expressions of a module's body, in order."""
    if isinstance(part, Expression):
        yield part
    else:
        for item in part.values() if isinstance(part, dict) else part:
            yield from leaves(item)


def runs_of(runs: Runs) -> list[Expression]:
    """Return the expressions of one attribute's `runs:`."""
    return [*runs.values()] if isinstance(runs, dict) else [runs]


def cost_expressions(module: Module) -> Iterator[Expression]:
    """Yield the expressions of a module's `runs:`, `ops:`, `cache:` and `saves:`."""
    for runs in module.runs.values():
        yield from runs_of(runs)
    yield from module.ops
    yield from (module.cache or {}).values()
    yield from module.saves.values()


class Contraction(NamedTuple):
    """An entry of the table of `ops:`, contractions.yaml: a product that is not a layer's.

    Its FLOPs are over the axes of a call. ``masked_flops`` is None if masks do not reduce them; ``kind`` is
    the kind of the cache; ``require`` has the conditions of its use; ``saves`` are the bytes that autograd
    keeps, None if unknown. An entry without FLOPs may only be used in `saves:`.
    """

    name: str
    parameters: dict[str, Expression | None]
    where: dict[str, Expression]
    flops: Expression | None = None
    masked_flops: Expression | None = None
    backward_flops: Expression | None = None
    kind: Expression | None = None
    saves: Expression | None = None
    cache: Mapping[str, Expression] = _NOTHING
    require: tuple[Expression, ...] = ()


class SpecLibrary(Protocol):
    """The interface of :class:`archspec.specs.library.Library`."""

    folders: tuple[str, ...]

    def __hash__(self) -> int: ...

    def load(self, model_type: str) -> Spec: ...

    def model_types(self) -> list[str]: ...

    def with_spec(self, spec: Spec) -> SpecLibrary: ...

    def contractions(self) -> dict[str, Any]: ...

    def costs(self, model_type: str) -> Any: ...  # archspec.specs.index.CostRecord

    def hidden(self, model_type: str) -> list[str]: ...


class Spec(NamedTuple):
    """A spec, with parents and shared parts merged in.

    ``runnable`` has the class of each condition, '' for all classes.
    """

    model_type: str
    prefix: str
    base_model_prefix: str
    source: Source
    library: SpecLibrary
    attribute_map: dict[str, str]
    fields: dict[str, Field]
    fixed: dict[str, Expression]
    readonly: dict[str, Place]
    modules: dict[str, Module]
    renames: dict[str, str]
    flat: str = ""
    require: tuple[Expression, ...] = ()
    architectures: tuple[str, ...] = ()
    refuse: str = ""
    notes: tuple[tuple[Expression, str], ...] = ()
    header: str = ""
    extends: str = ""
    uses: tuple[str, ...] = ()
    runnable: tuple[tuple[str, Expression], ...] = ()
    max_length: Mapping[str, Expression] = _NOTHING
    equal_lengths: tuple[str, ...] = ()
    keep_in_float32: Mapping[str, tuple[str, ...]] = _NOTHING
    former_fields: Mapping[str, str] = _NOTHING
    valid_config: Mapping[str, Any] = _NOTHING

    def reads_layer_idx(self) -> bool:
        """Return True if the costs of a layer depend on its index."""
        asked = (e for m in self.modules.values() for e in (*m.where.values(), *cost_expressions(m)))
        return any("layer_idx" in names(expression.tree) for expression in asked)

    def module(self, name: str) -> Module | None:
        """Return a module by its name, here or in the parent spec."""
        return self.modules.get(self.renames.get(name, name)) or self.modules.get(name)


def camel_case(model_type: str) -> str:
    """Return a model type as it begins the names of classes.

    >>> camel_case("qwen3_moe")
    'Qwen3Moe'
    """
    return "".join(part[:1].upper() + part[1:] for part in model_type.replace("-", "_").split("_"))
