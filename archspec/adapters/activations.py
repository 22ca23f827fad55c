"""The bytes that autograd saves for the backward pass of a step that trains an adapter.

A frozen layer does not save its input, unless something else saves it, as flash attention saves its output.
formulas/gradients.json lists these layers by class; tools/from_hooks.py reads them from saved_tensors_hooks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from archspec.adapters.modules import ADAPTERS, BASE, LINEAR, Module
from archspec.adapters.options import Options
from archspec.adapters.recorded import changed_flags, record
from archspec.costs.totals import by_module, checkpointed_layers
from archspec.costs.training.activations import StepActivations, largest_layer
from archspec.errors import ArchspecError
from archspec.tree.tensors import fold_layers

_WITHOUT_EFFECT = re.compile(r"bias|tie_|cache|dtype|implementation|problem|token|pad|init|output_")  # fields
_ADDED = 4  # bytes of an element of what adapters compute: peft keeps their weights in float32


class AdaptedActivations:
    """Activations of a step in which the output of the embeddings has a gradient.

    That is what gradient checkpointing and peft's `prepare_model_for_kbit_training` ask for. ``trained`` are
    the activations of full training. ``bytes`` are those at the end of the forward pass, with the loss,
    ``recomputed_bytes`` those of the largest layer while checkpointing recomputes it.

    Errors: :class:`ArchspecError` for classes and adapters that were not validated.
    """

    def __init__(self, trained: StepActivations, top: Module, options: Options) -> None:
        self.trained, self.options = trained, options
        step, name = trained.step, trained.architecture
        if step.dtype != "bfloat16":
            raise self._refuse(f"weights are in {step.dtype}, not in bfloat16")
        if name not in record()["kept"]:
            raise self._refuse("not validated for this class")
        if changed := changed_flags(trained.scope, _WITHOUT_EFFECT):
            raise self._refuse(f"not validated for {changed}")
        self.kept = frozenset(record()["kept"][name])
        self.frozen = StepActivations(trained.scope, name, step._replace(adapted=True))
        self.flops = by_module(trained.tree, "flops")
        self.added, self.whole = dict[str, int](), set[str]()
        for _, module in top.walk():
            self._read(module)
        self.recomputed_bytes, inside = 0, tuple[str, ...]()
        if step.checkpointing:
            inside = tuple(f"{path}." for path, _ in checkpointed_layers(trained.tree))
            self.recomputed_bytes = largest_layer(inside, self._by_module(False))
        found = self._by_module(step.checkpointing)
        self.bytes = trained.loss_bytes + sum(n for path, n in found if not path.startswith(inside))

    def _refuse(self, reason: str) -> ArchspecError:
        name = self.trained.architecture
        message = f"activations with this adapter are not supported for {name}: {reason}"
        return ArchspecError(message, help="leave out the lengths for the other parts")

    def _read(self, module: Module) -> None:
        if module.role in ADAPTERS:
            base = module.children[BASE]
            if base.kind not in LINEAR or base.path in self.added or self.options.use_dora:
                raise self._refuse(f"{module.base.path} is not a linear layer with one adapter without DoRA")
            self.added[base.path] = self._added_bytes(base.path, module)
        if any(one.trainable and one.origin and name != "bias" for name, one in module.weights.items()):
            self.whole.add(module.path)

    def _added_bytes(self, path: str, wrapper: Module) -> int:
        """Return what an adapter saves: its input in float32, the output of its first matrix, and a mask."""
        rank, width, out = wrapper.sizes
        mask = width if self.options.lora_dropout > 0 else 0
        return self.flops.get(path, 0) // (2 * width * out) * (_ADDED * (width + rank) + mask)

    def _by_module(self, checkpointing: bool) -> Iterator[tuple[str, int]]:
        """Yield the bytes of modules; those of adapters also in layers that are recomputed."""
        frozen, full = (one.saved_by_module(checkpointing) for one in (self.frozen, self.trained))
        for path in {**frozen, **full}:
            is_saved = path in self.whole or fold_layers(path) in self.kept
            yield path, (full if is_saved else frozen).get(path, 0)
        yield from self.added.items()
