"""What autograd keeps for the backward of a training step: bytes in all and by module."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Iterator
from functools import cache, cached_property

from archspec.arguments import checked
from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder, Costed
from archspec.costs.forward import parts_gap
from archspec.costs.lengths import check_lengths, check_runs
from archspec.costs.parallel import Shares
from archspec.costs.records import ELEMENT_BYTES, KERNELS, Saved, Step, training_axes
from archspec.errors import ArchspecError
from archspec.language.expression import Expression
from archspec.specs.files import folder
from archspec.tree.inside import Frame
from archspec.tree.node import Node
from archspec.tree.tensors import output_embeddings
from archspec.typing_light import Any

LOSSES = "losses.json"
WHOLE, TENSOR, PIPELINE = "whole", "tensor", "pipeline"  # the ranks that a loss was measured on
CHECKPOINT = "checkpoint"  # in `saves:`, what a layer keeps of its inputs where it is run again
_HELP = "archspec count reports its parameters"


class StepActivations:
    """What a spec says that autograd keeps in a training step, whether it was held to torch or not."""

    def __init__(self, scope: Scope, architecture: str, step: Step) -> None:
        self.scope, self.architecture, self.step = scope, architecture, step
        builder = CostBuilder(scope, training_axes(step))
        self.tree = builder.build(architecture)
        self.loss_bytes = int(loss_saved(builder, self.tree, step.loss).nbytes) if step.loss else 0

    @cached_property
    def bytes(self) -> int:
        """Bytes that are kept at the end of the forward and the loss, of all sequences of the batch."""
        return sum(self.by_module.values()) + self.loss_bytes

    @cached_property
    def by_module(self) -> dict[str, int]:
        """Each module's own bytes, without its children's and the loss's, by its `named_modules()` name."""
        return {path: nbytes for path, nbytes in self.of_modules(self.step.checkpointing).items() if nbytes}

    def of_modules(self, checkpointing: bool) -> dict[str, int]:
        """Each module's own bytes, where layers are run again, or as they run."""
        found: dict[str, int] = {}
        for path, saved in saves(self.tree, checkpointing):
            found[path] = found.get(path, 0) + self._described(path, saved)
        return found

    @cached_property
    def recomputed_bytes(self) -> int:
        """What the largest layer keeps when checkpointing runs it again; its input may be among it."""
        layers = checkpointed(self.tree) if self.step.checkpointing else ()
        return max((self._layer_bytes(*layer) for layer in layers), default=0)

    def _layer_bytes(self, path: str, layer: Node) -> int:
        return sum(self._described(*one) for one in saves(layer, prefix=path))

    def _described(self, path: str, saved: Saved) -> int:
        if saved.nbytes is None:
            where = f"{path or self.architecture} ({saved.name})"
            raise ArchspecError(f"what {where} keeps for the backward is not described", help=_HELP)
        return int(saved.nbytes)


class RankActivations:
    """What the first rank of a stage keeps, of what a whole model does."""

    def __init__(self, whole: StepActivations, shares: Shares) -> None:
        self.whole, self.shares = whole, shares
        self.nothing = StepActivations(whole.scope, whole.architecture, whole.step._replace(batch=0))

    @property
    def bytes(self) -> int:
        """Bytes that are kept at the end of the forward, without the loss."""
        return sum(self.by_module.values())

    @cached_property
    def by_module(self) -> dict[str, int]:
        """As of the whole model, of modules that are on the stage."""
        return self._of_modules(self.whole.step.checkpointing)

    @cached_property
    def recomputed_bytes(self) -> int:
        """What the largest layer of the stage keeps when checkpointing runs it again."""
        if not self.whole.step.checkpointing:
            return 0
        layers = dict.fromkeys((f"{path}." for path, _ in checkpointed(self.whole.tree)), 0)
        for path, nbytes in self._of_modules(False).items():
            for layer in layers:
                layers[layer] += nbytes if f"{path}.".startswith(layer) else 0
        return max(layers.values(), default=0)

    def _of_modules(self, checkpointing: bool) -> dict[str, int]:
        fixed = self.nothing.of_modules(checkpointing)
        whole = self.whole.of_modules(checkpointing)
        kept = self.shares.kept
        return {
            path: kept(path, nbytes, fixed[path])
            for path, nbytes in whole.items()
            if nbytes and self.shares.here(path)
        }


class Activations(StepActivations):
    """Bytes that are kept at the end of a forward in training, a storage once.

    They are what torch's saved_tensors_hooks see on a GPU: without parameters, buffers and inputs, at the
    dropout of the config. The loss is included if it was validated for the class (``loss_bytes``).
    ``attention`` is transformers' `eager` code, or a `flash` kernel.

    Errors: :class:`ArchspecError` for a class that was not held to torch so, and for one that a ``flash``
    kernel or checkpointing does not go with.
    """

    @checked()
    def __init__(
        self,
        scope: Scope,
        architecture: str,
        batch: int,
        tokens: int,
        encoder_tokens: int | None = None,
        dtype: str = "bfloat16",
        attention: str = "flash",
        checkpointing: bool = False,
    ) -> None:
        spec = scope.spec
        for value, known in ((dtype, ELEMENT_BYTES), (attention, KERNELS)):
            if value not in tuple(known):
                help_ = f"known: {', '.join(known)}"
                raise ArchspecError(f"activations are not described for {value}", help=help_)
        for name, length, least in (
            ("batch", batch, 1),
            ("tokens", tokens, 2),
            ("encoder_tokens", encoder_tokens or 2, 2),
        ):
            if type(length) is not int or length < least:
                raise ArchspecError(f"{name} is {length!r}", help=f"give an integer of at least {least}")
        step = Step(batch, tokens, encoder_tokens or 0, dtype, attention, checkpointing)
        gap = spec.library.costs(spec.model_type).activations_gap(architecture, step.kind)
        gap = gap or parts_gap(scope)
        if gap is not None:
            message = (
                f"the activations of {architecture} ({spec.model_type}) with {step.kind} are not given: {gap}"
            )
            raise ArchspecError(message, help=_HELP)
        check_runs(scope, architecture)
        check_lengths(scope, architecture, step)
        loss = loss_of(spec.model_type, architecture)
        super().__init__(scope, architecture, step._replace(loss=loss or ""))


def loss_of(model_type: str, architecture: str, ranks: str = WHOLE) -> str | None:
    """The name of a class's loss in formulas/contractions.yaml; None if no loss was validated for it.

    >>> loss_of("llama", "LlamaForCausalLM"), loss_of("llama", "LlamaModel")
    ('causal_lm_loss', None)
    """
    for name, types in _losses().get(ranks, {}).items():
        if architecture in types.get(model_type, ()):
            return str(name)
    return None


def loss_gap(model_type: str, architecture: str, ranks: Iterable[str] = ()) -> str | None:
    """Why the loss of a class is not counted, also on some kinds of ranks; None if it is."""
    if loss_of(model_type, architecture) is None:
        return f"not validated for {architecture}"
    missing = [kind for kind in ranks if loss_of(model_type, architecture, kind) is None]
    return f"not validated with {missing[0]} parallelism" if missing else None


@cache
def _losses() -> Any:
    """The records of formulas/losses.json, which `python -m tools.losses` writes."""
    with open(os.path.join(folder(), LOSSES), encoding="utf-8") as file:
        return json.load(file)["losses"]


def loss_saved(builder: Costed, tree: Node, name: str) -> Saved:
    """Bytes that a loss keeps, over the numbers of the builder that built the tree."""
    found = builder.scope.spec.library.contractions()[name]
    assert found.saves is not None  # the losses are entries that only keep bytes
    given: dict[str, Any] = {}
    if found.parameters.get("classes", found.saves) is None:  # it has no default: those of the logits
        given["classes"] = _logits(tree)
    builder.expression = Expression(found.saves.tree, name, found.saves.place, name)
    node = ast.Call(ast.Name(name, ast.Load()), [ast.Name(one, ast.Load()) for one in given], [])
    frame = Frame(builder.scope, given, {})
    frame.axes = builder.axes
    builder.frames.append(frame)
    try:
        return Saved("loss", builder.visit(node, dict(given)))
    finally:
        builder.frames.pop()


def _logits(tree: Node) -> Any:
    """How many logits each position has: the rows of the output embeddings."""
    paths = output_embeddings(tree)
    if len(paths) != 1:
        raise ArchspecError(f"the logits of {tree.cls} are not described", help=_HELP)
    node = tree
    for part in paths[0].split("."):
        node = node.children[part]
    return node.tensors[0].shape[0]


def saves(node: Node, checkpointing: bool = False, prefix: str = "") -> Iterator[tuple[str, Saved]]:
    """What every module keeps, with its path; with checkpointing a layer only what it is given."""
    yield from ((prefix, saved) for saved in own_saves(node, checkpointing))
    if checkpointing and is_layer(node):
        return
    for name, child in node.children.items():
        yield from saves(child, checkpointing, f"{prefix}.{name}" if prefix else name)


def own_saves(node: Node, checkpointing: bool) -> list[Saved]:
    """What a module itself keeps; a layer that is run again its inputs only."""
    again = checkpointing and is_layer(node)
    return [saved for saved in node.saves if (saved.name == CHECKPOINT) == again]


def is_layer(node: Node) -> bool:
    """Whether checkpointing runs a module again."""
    return any(saved.name == CHECKPOINT for saved in node.saves)


def checkpointed(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """The layers that are run again, with their paths."""
    if is_layer(node):
        yield prefix, node
        return
    for name, child in node.children.items():
        yield from checkpointed(child, f"{prefix}.{name}" if prefix else name)
