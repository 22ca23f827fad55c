"""A module tree: what a constructor builds, before its tensors are named."""

from __future__ import annotations

from archspec.configs.scope import Scope
from archspec.errors import Place
from archspec.specs.records import Module, Spec, Tie
from archspec.specs.torch_layers import Leaf, Size
from archspec.typing_light import Any, NamedTuple


class OutputEmbeddings(NamedTuple):
    """The path of the result of `get_output_embeddings()`, '' for None, and its line in the spec."""

    path: str
    place: Place


class Routed(NamedTuple):
    """Of ``experts`` equal parts of each tensor, ``chosen`` work on a token."""

    chosen: Size
    experts: Size


class Node:
    """A module: its class, its children by attribute name, its tensors, and its ties."""

    def __init__(
        self, cls: str, tensors: list[Leaf] | None = None, children: dict[str, Node] | None = None
    ) -> None:
        self.cls = cls
        self.layer = cls if children is None else ""  # torch's name for it, which differs for a subclass
        self.tensors = tensors or []
        self.groups: Any = 1  # of a convolution
        self.children = children if children is not None else {}
        self.leaf = children is None
        self.ties: list[tuple[str, str, Tie]] = []
        self.frozen = False
        self.routed: Routed | None = None
        self.module: Module | None = None
        self.output_embeddings: OutputEmbeddings | None = None
        self.scope: Scope | None = None
        self.guards: frozenset[Any] = frozenset()
        self.turn: Any = None
        self.costs: list[Any] = []  # see archspec.costs.records
        self.times: Any = 1  # that it runs in a forward pass on the same tokens
        self.computed: Routed | None = None  # if the code computes other experts than the router chooses
        self.cache: list[Any] | None = []  # None: no tensor inside is part of the KV cache
        self.saves: list[Any] = []
        self.passed_on: Any = None  # the axes after it, on the items of a call
        self.placed: list[Any] = []  # the tokens that items of a call take the place of

    def copy(self) -> Node:
        other = Node.__new__(Node)
        other.__dict__ = self.__dict__.copy()
        return other


_LANGUAGE_MODELS = {
    "ForCausalLM": ("ForCausalLM", "LMHeadModel", "WithLMHeadModel", "ModelWithLMHead", "Decoder"),
    "ForSeq2SeqLM": ("ForConditionalGeneration", "MTModel", "ForTextToText"),
}


def auto_class(spec: Spec, auto: str) -> str | None:
    """Return the architecture of an auto class by its name: AutoModel's is the first."""
    if auto == "AutoModel":
        return spec.architectures[0] if spec.architectures else None
    suffix = auto.removeprefix("AutoModel").removeprefix("Auto")
    if suffix in _LANGUAGE_MODELS:  # those of other parts of the model may have the same end
        named = (spec.prefix + end for end in _LANGUAGE_MODELS[suffix])
        return next((name for name in named if name in spec.architectures), None)
    end = "EncoderModel" if suffix == "ForTextEncoding" else suffix
    return next((name for name in spec.architectures if name.endswith(end)), None)


def listed_class(spec: Spec, auto: str) -> str | None:
    """Return the class that transformers' auto class lists for a model type, if a supported one is clear.

    For a model type that transformers does not have, or that a custom spec replaces, the class goes by its
    name as in :func:`auto_class`.
    """
    from archspec.specs.exported import exported_types
    from archspec.specs.search_path import is_own

    named, known = auto_class(spec, auto), exported_types().get(spec.model_type)
    if known is None or is_own(spec.library, spec.model_type):
        return named
    classes = known.classes.items()
    listed = [name for name, one in classes if auto in one.autos and one.reads == spec.model_type]
    found = [name for name in listed if name in spec.architectures]
    return named if named in found else found[0] if len(found) == 1 else None
