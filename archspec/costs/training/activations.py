"""The bytes that autograd saves for the backward pass of a training step, in all and by module."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from archspec.arguments import check_arguments
from archspec.configs.scope import Scope
from archspec.costs.builder import Costed, build_costs
from archspec.costs.forward import COUNT_HELP, validation_gap
from archspec.costs.lengths import check_lengths, check_runs
from archspec.costs.media.items import given_modalities, modality_of, with_items
from archspec.costs.records import ELEMENT_BYTES, KERNELS, WITH_MEDIA, Saved, Step, training_axes
from archspec.costs.totals import checkpointed_layers, own_terms, walk
from archspec.costs.training.parallel import Shares
from archspec.errors import ArchspecError, option
from archspec.language.expression import Expression
from archspec.specs.files import read_json
from archspec.tree.inside import Frame
from archspec.tree.node import Node
from archspec.tree.tensors import output_embeddings
from archspec.typing_light import Any

LOSSES = "losses.json"  # which `tools/from_transformers.py` writes
WHOLE, TENSOR, PIPELINE = "whole", "tensor", "pipeline"  # the ranks on which a loss was measured


class StepActivations:
    """The activations of a training step by its spec, whether or not they were validated.

    They are the bytes that torch's saved_tensors_hooks see on a GPU at the end of the forward pass, each
    storage once, without parameters, buffers and inputs, at the dropout of the config. With the ``shares`` of
    a rank they are those of the modules on it.
    """

    def __init__(self, scope: Scope, architecture: str, step: Step, shares: Shares | None = None) -> None:
        self.scope, self.architecture, self.step, self.shares = scope, architecture, step, shares
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
        return self.saved_by_module(self.step.checkpointing)

    @cached_property
    def recomputed_bytes(self) -> int:
        """Bytes of the largest layer while checkpointing recomputes it; they may include its input."""
        if not self.step.checkpointing:
            return 0
        layers = (f"{path}." for path, _ in checkpointed_layers(self.tree))
        return largest_layer(layers, self.saved_by_module(False).items())

    def saved_by_module(self, checkpointing: bool) -> dict[str, int]:
        """Return :attr:`by_module`, also without checkpointing for a step with it."""
        found, shares = self._saved_bytes(self.tree, checkpointing), self.shares
        if shares is None:
            return found
        axes = training_axes(self.step._replace(batch=0))
        fixed = self._saved_bytes(build_costs(self.scope, self.architecture, axes).root, checkpointing)
        return {
            path: shares.saved_bytes(path, nbytes, fixed.get(path, 0))
            for path, nbytes in found.items()
            if shares.here(path)
        }

    def _saved_bytes(self, tree: Node, checkpointing: bool) -> dict[str, int]:
        found = Counter[str]()
        for path, node, _ in walk(tree, "activation_bytes", checkpointing):
            for name, (nbytes,) in own_terms("activation_bytes", node, checkpointing):
                if nbytes is None:
                    module = f"{path or self.architecture} ({name})"
                    raise ArchspecError(f"the activations of {module} are not supported", help=COUNT_HELP)
                found[path] += int(nbytes)
        return {path: nbytes for path, nbytes in found.items() if nbytes}


@check_arguments
def validated_activations(
    scope: Scope,
    architecture: str,
    batch: int,
    tokens: int = 1,
    encoder_tokens: int | None = None,
    dtype: str = "bfloat16",
    attention: str = "flash",
    checkpointing: bool = False,
    *,
    freeze: tuple[str, ...] = (),
    **items: Any,
) -> StepActivations:
    """Return the activations of a training step that transformers can run, with the loss if it was validated.

    ``attention`` is transformers' `eager` code, or a `flash` kernel. ``items`` are the sizes of tensors of
    images, videos and audios, ``freeze`` names of modules that are not trained.

    Errors: :class:`ArchspecError` for a class whose activations were not validated, and for a step that is
    too long.
    """
    for value, known in ((dtype, tuple(ELEMENT_BYTES)), (attention, KERNELS)):
        if value not in known:
            help_ = f"choose {' or '.join(known)}"
            raise ArchspecError(f"activations are not supported with {value}", help=help_)
    only = modality_of(scope, architecture)
    lengths = (
        ("batch", batch, 1),
        ("tokens", 2 if only else tokens, 2),
        ("encoder_tokens", encoder_tokens or 2, 2),
    )
    for name, length, least in lengths:
        if type(length) is not int or length < least:
            message = f"{option(name)} must be an integer of at least {least}, not {length!r}"
            raise ArchspecError(message, help=f"pass {option(name, least)} or more")
    spec, loss = scope.spec, loss_of(scope.spec.model_type, architecture) or ""
    step = Step(batch, tokens, encoder_tokens or 0, dtype, attention, checkpointing, loss, freeze=freeze)
    step = step.at_call(with_items(step.call._replace(**items), scope, architecture))
    kind = step.kind if any(step.call.media) or only is None else f"{step.kind}{WITH_MEDIA}"
    given = given_modalities(step.call, scope, architecture)
    gap = validation_gap(
        scope, spec.library.costs(spec.model_type).activations_gap(architecture, kind, given)
    )
    if gap is not None:
        what = f"activations are not supported for {architecture} ({spec.model_type})"
        kind = f"{attention} attention{' and checkpointing' if checkpointing else ''}"
        raise ArchspecError(f"{what} with {kind}: {gap}", help=COUNT_HELP)
    check_runs(scope, architecture)
    found = StepActivations(scope, architecture, step)
    check_lengths(scope, architecture, step)
    return found


def largest_layer(starts: Iterable[str], by_module: Iterable[tuple[str, int]]) -> int:
    """Return the bytes of the largest layer, given the bytes of modules and the starts of layers' names."""
    sizes = [(f"{path}.", nbytes) for path, nbytes in by_module]
    return max((sum(n for path, n in sizes if path.startswith(start)) for start in starts), default=0)


def loss_of(model_type: str, architecture: str, ranks: str = WHOLE) -> str | None:
    """Return the name of a class's loss in formulas/contractions.yaml, or None if no loss was validated.

    >>> loss_of("llama", "LlamaForCausalLM"), loss_of("llama", "LlamaModel")
    ('causal_lm_loss', None)
    """
    losses = read_json(LOSSES)["losses"].get(ranks, {})
    return next((name for name, types in losses.items() if architecture in types.get(model_type, ())), None)


def loss_gap(model_type: str, architecture: str, ranks: Iterable[str] = ()) -> str | None:
    """Return why the loss of a class is not counted, also on some kinds of ranks; None if it is."""
    if loss_of(model_type, architecture) is None:
        return f"not validated for {architecture}"
    missing = (kind for kind in ranks if loss_of(model_type, architecture, kind) is None)
    return next((f"not validated with {kind} parallelism" for kind in missing), None)


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
    paths, node = output_embeddings(tree), tree
    if len(paths) != 1:
        raise ArchspecError(f"the logits of {tree.cls} are not supported", help=COUNT_HELP)
    for part in paths[0].split("."):
        node = node.children[part]
    return node.tensors[0].shape[0]
