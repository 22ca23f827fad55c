"""A spec as records with their places in the file.

The grammar is in docs/spec-grammar.md; the keys of a file are :data:`KEYS`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from archspec.errors import Place, Source
from archspec.language.expression import Expression, callee, names
from archspec.language.values import KINDS, LAYERS
from archspec.tables import items
from archspec.tables.axes import AXES as CALL_AXES
from archspec.typing_light import Any, NamedTuple, Protocol


class Key(NamedTuple):
    """A key of a spec file: the form of its value, one of archspec/linting/schema.py, and its meaning."""

    form: str
    meaning: str


KEYS = {
    "model_type": Key("model_type", "the config's model_type; the file has the same name"),
    "prefix": Key("name", "the prefix of the class names, if not the model type in CamelCase"),
    "base_model_prefix": Key("text", "the attribute of heads with the base model; default: the parent's"),
    "extends": Key("text", "a spec whose fields, modules and architectures this one inherits, renamed"),
    "uses": Key("texts", "specs whose modules and fields are available under their own names"),
    "attribute_map": Key("aliases", "other names of fields, `alias: field`"),
    "config": Key("fields", "every field that a count depends on, with transformers' type and default"),
    "fixed": Key("fields", "fields that transformers sets itself; a value in the config is ignored"),
    "readonly": Key("texts", "names that transformers computes; a config that sets one is rejected"),
    "flat": Key("text", "the sub-config that fields at the top level of a config belong to"),
    "require": Key("expressions", "conditions that transformers enforces"),
    "modules": Key("modules", "module classes: attribute name -> constructor expression"),
    "architectures": Key("modules", "the classes that a config can name, the base model first"),
    "inputs": Key("modality", "images, videos or audios, if that is all that the classes take"),
    "drop": Key("texts", "names that only the parent has; `require` for its conditions"),
    "refuse": Key("text", "the reason why this model type cannot be counted from a config alone"),
    "notes": Key("texts_by_name", "condition -> note for the user"),
    "runnable": Key("runnable", "conditions under which the forward pass runs, or `Class: condition`"),
    "max_length": Key("max_length", "the maximum `tokens`, with past ones, and `encoder_tokens`"),
    "equal_lengths": Key("texts", "classes whose decoder reads the encoder's tokens: both lengths are equal"),
    "keep_in_float32": Key("float32", "patterns of parameters: `float16`, `16-bit` or `always`"),
    "former_fields": Key("former", "fields of old configs -> the field that replaces it, if any"),
    "valid_config": Key("data", "a config to verify with, if the default config is rejected"),
}
OWN_KEYS = ("runnable", "max_length", "equal_lengths", "keep_in_float32", "former_fields", "valid_config")
UNCOUNTED = ("notes", *OWN_KEYS)  # keys that no count depends on
MAX_LENGTH = ("tokens", "encoder_tokens")
FLOAT32 = ("float16", "16-bit", "always")  # the dtypes of a model whose parameters stay in float32
CONFIGS = ("Config", "AutoConfig")  # what a default calls that is a sub-config
OPTIONS = ("optional", "legacy", "merge", "formerly")  # of these calls; other keywords are fields
MODULE_KEYS = {
    "extends": Key("text", "a call of the module, or layer, whose attributes come first"),
    "where": Key("local", "local names, computed when they are first read"),
    "require": Key("expressions", "conditions that the constructor enforces"),
    "tied": Key("texts_by_name", "target: source, if the config's tie_word_embeddings is true"),
    "alias": Key("texts_by_name", "target: source, always: one object under two names"),
    "output_embeddings": Key("text", "path of get_output_embeddings() if it is not lm_head, or None"),
    "runs": Key("runs", "attribute: the number of tokens that it runs on, or the axes inside it"),
    "ops": Key("expressions", "contractions: products other than those of the layers"),
    "cache": Key("cache", "name: shape of a tensor in the cache"),
    "saves": Key("by_name", "attribute, or tensor: bytes that autograd saves for it"),
    "inputs": Key("inputs", "modality: the attributes that run on its items; or one modality for all"),
    "sizes": Key("text", "the only size of an image, a video or an audio that the module takes"),
    "branches": Key("texts", "attributes that run on the module's input, and pass no size on"),
    "after": Key("by_axis", "axis: its value after the module"),
    "placeholders": Key("by_modality", "modality: the tokens of the text that an item takes the place of"),
}
RESERVED = tuple(MODULE_KEYS)  # what is not an attribute of a module
MODALITIES = items.MODALITIES
GRID = ("frames", "height", "width", "length")  # the axes of the positions inside an item
# other sizes that a module takes: interpolated ones if it is the whole model, multiples of a height and width
OTHER_SIZES = ("any", "less", "interpolated", "multiples")
MAPS = "maps"  # the sizes of the feature maps that a backbone returns
AFTER = ("batch", "tokens", *GRID, MAPS)  # what `after:` may set
MEDIA_TOKENS = tuple(f"{modality[:-1]}_tokens" for modality in MODALITIES)  # of all items, per sequence
_LENGTHS = (*CALL_AXES, "context", *GRID, MAPS)
AXES = (*_LENGTHS, *MEDIA_TOKENS, *MODALITIES)  # names of lengths in `runs:`, `ops:` and `cache:`
RUNS = (
    *AXES,
    "times",
    "trained",
    "backward",
    "fresh",
    "hooked",
    "kept",
    "pooled",
    "routed",
    "unread",
)  # what `runs:` may set inside an attribute
TRAINING = (
    "element_bytes",
    "flash",
    "checkpointing",
    "first",
    "frozen",
    "gradient",
    "pooled",
    "unread",
)  # what `saves:` may ask of a training step
TYPES = tuple(KINDS)
AUTO = ("AutoModel", "AutoBackbone")  # how the names of classes begin that a model type chooses


class Field(NamedTuple):
    """A config field."""

    name: str
    types: tuple[str, ...]  # none if the default shows them
    default: Expression | None
    computed: bool
    place: Place
    falsy: bool = False  # the default also replaces a given 0, as with Python's `or`

    @property
    def only_costs(self) -> bool:
        """True if only costs read it. Counts do not depend on it, and all of its values are accepted."""
        return self.types == ("any",)

    @property
    def of_layers(self) -> tuple[str, ...] | None:
        """The fields that single layers may override: those of `layers[head_dim, …]`."""
        listed = (kind[len(LAYERS) + 1 : -1] for kind in self.types if kind.startswith(LAYERS))
        return next((tuple(name.strip() for name in names.split(",")) for names in listed), None)

    @property
    def sub_config(self) -> ast.Call | None:
        """The `Config(…)` or `AutoConfig(…)` that is the default of a sub-config."""
        tree = self.default.tree if self.default else None
        return tree if isinstance(tree, ast.Call) and callee(tree) in CONFIGS else None


def model_types(call: ast.Call) -> list[str]:
    """Return those that a sub-config may have: `Config(bert)`, `AutoConfig("bert" if tiny else "gpt2")`."""
    results = [tree for argument in call.args[:1] for tree in branches(argument)[0]]
    named = (getattr(tree, "id", getattr(tree, "value", None)) for tree in results)
    return [name for name in named if isinstance(name, str)]


def branches(tree: ast.expr) -> tuple[list[ast.expr], list[ast.expr]]:
    """Return the results that `a if c else b` chooses between, and the conditions."""
    if not isinstance(tree, ast.IfExp):
        return [tree], []
    (results, tests), (others, more) = branches(tree.body), branches(tree.orelse)
    return [*results, *others], [tree.test, *tests, *more]


class Tie(NamedTuple):
    """``target`` is the same tensor, or subtree, as ``source``, for each turn of the loops."""

    target: str
    source: str
    turns: Expression | None
    place: Place
    always: bool


Body = Expression | dict[str, Any] | list[Any]
Runs = Expression | dict[str, Expression]  # tokens, or axes of the forward pass for the whole submodule
_NOTHING: Mapping[str, Any] = {}


class Module(NamedTuple):
    """A module class: its parameters, its attributes in order, and the keys in :data:`MODULE_KEYS`."""

    name: str
    parameters: dict[str, Expression | None]
    body: Body
    place: Place
    home: str
    where: dict[str, Expression] = {}  # noqa: RUF012  # never changed
    require: tuple[Expression, ...] = ()
    ties: tuple[Tie, ...] = ()
    layer: Expression | None = None  # the torch layer that is its base class; its tensors come first
    output_embeddings: Expression | None = None
    runs: Mapping[str, Runs] = _NOTHING
    ops: tuple[Expression, ...] = ()
    cache: Mapping[str, Expression] | None = _NOTHING  # None if no module inside has one
    saves: Mapping[str, Expression] = _NOTHING
    returned: bool = False  # the class returns a cache that it does not take
    inputs: Mapping[str, tuple[str, ...]] | str | None = None  # attributes by modality, or one for all
    sizes: Expression | None = None
    other_sizes: str = ""  # one of OTHER_SIZES
    branches: tuple[str, ...] = ()
    after: Mapping[str, Expression] = _NOTHING
    placeholders: Mapping[str, Expression] = _NOTHING
    extends: Expression | None = None  # a call that is not merged in yet


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
    """Yield the expressions of a module that only its costs need."""
    for runs in module.runs.values():
        yield from runs_of(runs)
    yield from (*module.ops, *(module.cache or {}).values(), *module.saves.values())
    yield from (*module.after.values(), *module.placeholders.values())
    yield from (module.sizes,) if module.sizes is not None else ()


def output_paths(module: Module) -> tuple[list[str], list[Expression]]:
    """Return the paths that a module's `output_embeddings:` chooses between, and the conditions."""
    output = module.output_embeddings
    if output is None:
        return [], []
    results, tests = branches(output.tree)
    paths = [ast.unparse(tree) for tree in results if not isinstance(tree, ast.Constant)]
    return paths, [output._replace(tree=test) for test in tests]


def module_expressions(module: Module) -> Iterator[Expression]:
    """Yield the expressions of a module, except its ties and the defaults of its parameters."""
    yield from (*module.where.values(), *module.require)
    yield from (module.layer,) if module.layer is not None else ()
    yield from (*leaves(module.body), *output_paths(module)[1], *cost_expressions(module))


class Contraction(NamedTuple):
    """An entry of contractions.yaml, for `ops:`: a product that does not belong to a layer."""

    name: str
    parameters: dict[str, Expression | None]
    where: dict[str, Expression]
    flops: Expression | None = None  # over the axes of a forward pass; without them, it is for `saves:` alone
    masked_flops: Expression | None = None  # None if masks do not reduce them
    backward_flops: Expression | None = None
    kind: Expression | None = None  # of the cache
    saves: Expression | None = None  # bytes that autograd saves; None if unknown
    cache: Mapping[str, Expression] = _NOTHING
    require: tuple[Expression, ...] = ()  # conditions of its use


class SpecLibrary(Protocol):
    """The interface of :class:`archspec.specs.library.Library`."""

    folders: tuple[str, ...]

    def __hash__(self) -> int: ...
    def load(self, model_type: str) -> Spec: ...
    def model_types(self) -> list[str]: ...
    def contractions(self) -> dict[str, Any]: ...
    def costs(self, model_type: str) -> Any: ...  # archspec.specs.index.CostRecord
    def files_of(self, model_type: str) -> list[str]: ...


class Spec(NamedTuple):
    """A spec, with parents and shared parts merged in."""

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
    inputs: str = ""  # the modality of classes that take nothing else
    notes: tuple[tuple[Expression, str], ...] = ()
    header: str = ""
    extends: str = ""
    uses: tuple[str, ...] = ()
    runnable: tuple[tuple[str, Expression], ...] = ()  # the class of each condition, '' for all classes
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
