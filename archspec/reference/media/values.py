"""Tensors with values: random numbers, ones, integers."""

from __future__ import annotations

from typing import Any


def random(model: Any, *shape: int) -> Any:
    """Return random numbers of the model's dtype: images of zeros are padding to some classes."""
    import torch

    dtypes = (parameter.dtype for parameter in model.parameters() if parameter.is_floating_point())
    return torch.rand(*shape, dtype=next(dtypes, torch.float32))


def ones(*shape: int) -> Any:
    """Return ones, as of a mask that masks nothing."""
    import torch

    return torch.ones(*shape, dtype=torch.long)


def integers(values: Any) -> Any:
    """Return a tensor of integers."""
    import torch

    return torch.tensor(values, dtype=torch.long)
