"""The bytes that autograd saves for the backward pass of a training step, in all and by module."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from archspec.arguments import checked
from archspec.configs.scope import Scope
from archspec.costs.builder import Costed, build_costs
from archspec.costs.forward import COUNT_HELP, sums, validation_gap
from archspec.costs.lengths import check_lengths, check_runs
from archspec.costs.parallel import Shares
from archspec.costs.records import (
    ELEMENT_BYTES,
    KERNELS,
    Saved,
    Step,
    checkpointed,
    inside,
    own_terms,
    training_axes,
)
from archspec.errors import ArchspecError
from archspec.language.expression import Expression
from archspec.specs.files import read_json
from archspec.tree.inside import Frame
from archspec.tree.node import Node
from archspec.tree.tensors import joined, output_embeddings
from archspec.typing_light import Any

LOSSES = "losses.json"  # which `tools/from_transformers.py` writes
WHOLE, TENSOR, PIPELINE = "whole", "tensor", "pipeline"  # the ranks on which a loss was measured


class StepActivations:
    """The activations of a training step by its spec, whether or not they were validated.

    They are the bytes that torch's saved_tensors_hooks see on a GPU at the end of the forward pass, each
    storage once, without parameters, buffers and inputs, at the dropout of the config.
    """

    def __init__(self, scope: Scope, architecture: str, step: Step) -> None:
        self.scope, self.architecture, self.step = scope, architecture, step
        built = build_costs(scope, architecture, training_axes(step))
        self.tree = built.root
        self.loss_bytes = int(loss_saved(built, self.tree, step.loss).nbytes) if step.loss else 0

    @cached_property
    def bytes(self) -> int:
        """Bytes at the end of the forward pass, with those of the loss, of all sequences of the batch."""
        return sum(self.by_module.values()) + self.loss_bytes

    @cached_property
    def by_module(self) -> dict[str, int]:
        """Each module's own bytes, without those of modules inside, by its name in `named_modules()`."""
        return sums(self.of_modules(self.step.checkpointing).items())

    @cached_property
    def recomputed_bytes(self) -> int:
        """Bytes of the largest layer while checkpointing recomputes it; they may include its input."""
        layers = checkpointed(self.tree) if self.step.checkpointing else ()
        return max((sum(self._saved(node, False, path).values()) for path, node in layers), default=0)

    def of_modules(self, checkpointing: bool) -> dict[str, int]:
        """Return each module's own bytes, also zeros; with checkpointing a layer saves its inputs only."""
        return self._saved(self.tree, checkpointing)

    def _saved(self, tree: Node, checkpointing: bool, prefix: str = "") -> dict[str, int]:
        found: dict[str, int] = {}
        for path, name, nbytes in _saves(tree, checkpointing, prefix):
            if nbytes is None:
                module = f"{path or self.architecture} ({name})"
                raise ArchspecError(f"the activations of {module} are not supported", help=COUNT_HELP)
            found[path] = found.get(path, 0) + int(nbytes)
        return found


class RankActivations:
    """The activations of the first rank of a pipeline stage, from those of the whole model."""

    def __init__(self, whole: StepActivations, shares: Shares) -> None:
        self.whole, self.shares = whole, shares
        self.nothing = StepActivations(whole.scope, whole.architecture, whole.step._replace(batch=0))

    @property
    def bytes(self) -> int:
        """Bytes at the end of the forward pass, without those of the loss."""
        return sum(self.by_module.values())

    @cached_property
    def by_module(self) -> dict[str, int]:
        """Each module's own bytes, of the modules on the stage."""
        return self._of_modules(self.whole.step.checkpointing)

    @cached_property
    def recomputed_bytes(self) -> int:
        """Bytes of the largest layer of the stage while checkpointing recomputes it."""
        if not self.whole.step.checkpointing:
            return 0
        layers = dict.fromkeys((f"{path}." for path, _ in checkpointed(self.whole.tree)), 0)
        for path, nbytes in self._of_modules(False).items():
            for layer in layers:
                layers[layer] += nbytes if f"{path}.".startswith(layer) else 0
        return max(layers.values(), default=0)

    def _of_modules(self, checkpointing: bool) -> dict[str, int]:
        fixed = self.nothing.of_modules(checkpointing)
        return {
            path: self.shares.kept(path, nbytes, fixed[path])
            for path, nbytes in self.whole.of_modules(checkpointing).items()
            if nbytes and self.shares.here(path)
        }


@checked
def called_activations(
    scope: Scope,
    architecture: str,
    batch: int,
    tokens: int,
    encoder_tokens: int | None = None,
    dtype: str = "bfloat16",
    attention: str = "flash",
    checkpointing: bool = False,
) -> StepActivations:
    """Return the validated activations of a training step that transformers can run.

    ``attention`` is transformers' `eager` code, or a `flash` kernel. The loss is included if it was validated
    for the class (``loss_bytes``).

    Errors: :class:`ArchspecError` for a class whose activations were not validated, and for a step that is
    too long.
    """
    for value, known in ((dtype, tuple(ELEMENT_BYTES)), (attention, KERNELS)):
        if value not in known:
            help_ = f"choose {' or '.join(known)}"
            raise ArchspecError(f"activations are not supported with {value}", help=help_)
    lengths = (("batch", batch, 1), ("tokens", tokens, 2), ("encoder_tokens", encoder_tokens or 2, 2))
    for name, length, least in lengths:
        if type(length) is not int or length < least:
            raise ArchspecError(f"{name} is {length!r}", help=f"give an integer of at least {least}")
    loss = loss_of(scope.spec.model_type, architecture) or ""
    options: dict[str, Any] = {"dtype": dtype, "attention": attention, "checkpointing": checkpointing}
    step = Step(batch, tokens, encoder_tokens=encoder_tokens or 0, loss=loss, **options)
    spec = scope.spec
    gap = validation_gap(scope, spec.library.costs(spec.model_type).activations_gap(architecture, step.kind))
    if gap is not None:
        what = f"the activations of {architecture} ({spec.model_type}) with {step.kind}"
        raise ArchspecError(f"{what} are not supported: {gap}", help=COUNT_HELP)
    check_runs(scope, architecture)
    found = StepActivations(scope, architecture, step)
    check_lengths(scope, architecture, step)
    return found


def loss_of(model_type: str, architecture: str, ranks: str = WHOLE) -> str | None:
    """Return the name of a class's loss in formulas/contractions.yaml, or None if no loss was validated.

    >>> loss_of("llama", "LlamaForCausalLM"), loss_of("llama", "LlamaModel")
    ('causal_lm_loss', None)
    """
    for name, types in read_json(LOSSES)["losses"].get(ranks, {}).items():
        if architecture in types.get(model_type, ()):
            return str(name)
    return None


def loss_gap(model_type: str, architecture: str, ranks: Iterable[str] = ()) -> str | None:
    """Return why the loss of a class is not counted, also on some kinds of ranks; None if it is."""
    if loss_of(model_type, architecture) is None:
        return f"not validated for {architecture}"
    missing = [kind for kind in ranks if loss_of(model_type, architecture, kind) is None]
    return f"not validated with {missing[0]} parallelism" if missing else None


def loss_saved(builder: Costed, tree: Node, name: str) -> Saved:
    """Return the bytes that a loss saves, over the numbers of the builder that built the tree."""
    found = builder.scope.spec.library.contractions()[name]
    assert found.saves is not None  # losses are entries that have bytes only
    given: dict[str, Any] = {}
    if found.parameters.get("classes", found.saves) is None:  # a parameter without a default
        given["classes"] = _vocabulary(tree)
    builder.expression = Expression(found.saves.tree, name, found.saves.place, name)
    node = ast.Call(ast.Name(name, ast.Load()), [ast.Name(one, ast.Load()) for one in given], [])
    frame = Frame(builder.scope, given, {})
    frame.axes = builder.axes
    builder.frames.append(frame)
    try:
        return Saved("loss", builder.visit(node, dict(given)))
    finally:
        builder.frames.pop()


def _vocabulary(tree: Node) -> Any:
    """Return the number of logits of each token: the rows of the output embeddings."""
    paths = output_embeddings(tree)
    if len(paths) != 1:
        raise ArchspecError(f"the logits of {tree.cls} are not supported", help=COUNT_HELP)
    node = tree
    for part in paths[0].split("."):
        node = node.children[part]
    return node.tensors[0].shape[0]


def _saves(node: Node, checkpointing: bool, prefix: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the path of every module, and each name and number of bytes that it saves."""
    for name, (nbytes,) in own_terms("activation_bytes", node, checkpointing):
        yield prefix, name, nbytes
    for name, child in inside(node, "activation_bytes", checkpointing).items():
        yield from _saves(child, checkpointing, joined(prefix, name))
