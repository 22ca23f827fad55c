"""The bytes that autograd saves for the backward pass of a step that trains an adapter.

A frozen layer does not save its input, unless something else saves it, as flash attention saves its output.
formulas/gradients.json lists these layers by class; tools/from_hooks.py reads them from saved_tensors_hooks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from archspec.adapters.costs import LINEAR, products_of, record
from archspec.adapters.modules import Module
from archspec.adapters.options import Options
from archspec.costs.totals import checkpointed_layers
from archspec.costs.training.activations import StepActivations
from archspec.errors import ArchspecError
from archspec.tree.tensors import fold_layers

_ADDED = 4  # bytes of an element of what adapters compute: peft keeps their weights in float32
_HELP = "leave out the lengths for weights, gradients and optimizer states"


class AdaptedActivations:
    """Activations of a step in which the output of the embeddings has a gradient.

    That is what gradient checkpointing and peft's `prepare_model_for_kbit_training` ask for. ``trained`` are
    the activations of full training; weights are in bfloat16.

    Errors: :class:`ArchspecError` for classes and adapters that were not validated.
    """

    def __init__(self, trained: StepActivations, top: Module, options: Options) -> None:
        self.trained, self.options = trained, options
        step, name = trained.step, trained.architecture
        self.dtype = step.dtype
        if step.dtype != "bfloat16" or step.attention != "flash":
            raise self._refuse(f"with {step.attention} attention in {step.dtype}")
        if name not in record()["kept"]:
            raise self._refuse("not validated for this class")
        self.kept = frozenset(record()["kept"][name])
        self.frozen = StepActivations(trained.scope, name, step._replace(adapted=True))
        self.flops = {path: found.flops for path, found in products_of(trained.tree)}
        self.added, self.whole = dict[str, int](), set[str]()
        for _, module in top.walk():
            self._read(module)

    def _refuse(self, reason: str) -> ArchspecError:
        message = f"activations with this adapter are not supported for {self.trained.architecture}: {reason}"
        return ArchspecError(message, help=_HELP)

    def _read(self, module: Module) -> None:
        if module.role in ("lora", "parameter"):
            base = module.children["base_layer"]
            if base.kind not in LINEAR or base.path in self.added or self.options.use_dora:
                raise self._refuse(f"{base.path} is not a linear layer with one adapter without DoRA")
            self.added[base.path] = self._added_bytes(base.path, module)
        if any(one.trainable and one.origin and name != "bias" for name, one in module.weights.items()):
            self.whole.add(module.path)

    def _added_bytes(self, path: str, wrapper: Module) -> int:
        """Return what an adapter saves: its input in float32, the output of its first matrix, and a mask."""
        rank, width = wrapper.children["lora_A"].children["default"].weights["weight"].shape
        out, _ = wrapper.children["lora_B"].children["default"].weights["weight"].shape
        rows = self.flops.get(path, 0) // (2 * width * out)
        mask = width if self.options.lora_dropout > 0 else 0
        return rows * (_ADDED * (width + rank) + mask)

    @property
    def bytes(self) -> int:
        """Bytes at the end of the forward pass, with those of the loss."""
        layers = self._layers if self.trained.step.checkpointing else ()
        inside = tuple(f"{path}." for path in layers)
        found = self._by_module(self.trained.step.checkpointing)
        return sum(n for path, n in found if not path.startswith(inside)) + self.trained.loss_bytes

    @property
    def recomputed_bytes(self) -> int:
        """Bytes of the largest layer while checkpointing recomputes it."""
        sizes = Counter[str]()
        for path, nbytes in self._by_module(False) if self.trained.step.checkpointing else ():
            sizes.update({layer: nbytes for layer in self._layers if f"{path}.".startswith(f"{layer}.")})
        return max(sizes.values(), default=0)

    @property
    def _layers(self) -> list[str]:
        return [path for path, _ in checkpointed_layers(self.trained.tree)]

    def _by_module(self, checkpointing: bool) -> Iterator[tuple[str, int]]:
        """Yield the bytes of modules; in checkpointed layers also those that are not saved."""
        frozen, full = (one.saved_by_module(checkpointing) for one in (self.frozen, self.trained))
        for path in {**frozen, **full}:
            is_saved = path in self.whole or fold_layers(path) in self.kept
            yield path, (full if is_saved else frozen).get(path, 0)
        yield from self.added.items()
