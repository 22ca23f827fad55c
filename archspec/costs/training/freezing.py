"""Modules that a training step does not train, by the names of their attributes."""

from __future__ import annotations

from collections.abc import Collection

from archspec.errors import ArchspecError, did_you_mean, option
from archspec.tree.tensors import Tensor


def without_gradients(tensors: list[Tensor], names: Collection[str]) -> list[Tensor]:
    """Return tensors of which those inside the named modules are not trained.

    Errors: :class:`ArchspecError` for a name that no module has.

    >>> import archspec
    >>> tensors = archspec.load("LlavaForConditionalGeneration").tensors()
    >>> frozen = [one for one in without_gradients(tensors, ["vision_tower"]) if not one.trainable]
    >>> f"{sum(one.numel for one in frozen):,}"
    '303,507,456'
    """
    modules = {one.name: one.name.split(".")[:-1] for one in tensors}
    known = {part for parts in modules.values() for part in parts}
    for name in names:
        if name not in known:
            message = f"{option('freeze', name)}: the model does not have this module"
            raise ArchspecError(message, help=did_you_mean(name, known) or "pass the name of a module")
    return [
        one if {*names}.isdisjoint(modules[one.name]) else one._replace(trainable=False) for one in tensors
    ]
