"""Classes of transformers on torch's meta device, and their tensors as rows to compare with a spec's.

Slow parts of constructors are skipped: they change neither names, shapes nor refusals. Without this verify
takes a third longer: torch's layers fill their tensors although meta tensors are without values, and some
tables are computed number by number in Python.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import cache, partial
from typing import Any, NamedTuple

from archspec.reference.classes import config_of, model_class
from archspec.reference.verdicts import verdict
from archspec.tree.tensors import Tensor


class Row(NamedTuple):
    """One tensor as it is compared: every parameter and persistent buffer has one.

    ``embedding`` is its part in the embedding split: `output`, `table`, or empty.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    trainable: bool
    tied_to: str | None
    embedding: str


def spec_rows(tensors: list[Tensor]) -> list[Row]:
    """Return the rows of a spec's tensors."""
    return [Row(t.name, t.shape, t.kind, t.trainable, t.tied_to, t.embedding) for t in tensors]


def module_rows(model: Any) -> list[Row]:
    """Return the rows of a torch module; ties are found by the identity of the Parameter."""
    buffers = list(model.named_buffers(remove_duplicate=False))
    saved = set(model.state_dict(keep_vars=True)) if buffers else set()
    split, first, rows = _embedding_split(model), dict[int, str](), list[Row]()
    for name, tensor in model.named_parameters(remove_duplicate=False):
        tied_to, part = first.setdefault(id(tensor), name), split.get(id(tensor), "")
        rows.append(Row(name, tuple(tensor.shape), "parameter", tensor.requires_grad, tied_to, part))
    for name, tensor in [(name, buffer) for name, buffer in buffers if name in saved]:
        tied_to = first.setdefault(id(tensor), name)
        rows.append(Row(name, tuple(tensor.shape), "buffer", False, tied_to, ""))
    return [row._replace(tied_to=None) if row.tied_to == row.name else row for row in rows]


def _embedding_split(model: Any) -> dict[int, str]:
    """Return the embedding split by identity: `output` for get_output_embeddings(), else `table`."""
    from torch import nn

    found = {id(module.weight): "table" for module in model.modules() if isinstance(module, nn.Embedding)}
    own = getattr(model, "lm_head", None)  # a plain module lacks the method
    output = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else own
    layers = output if isinstance(output, nn.ModuleList) else [output]
    weights = (getattr(layer, "weight", None) for layer in layers)
    return found | {id(weight): "output" for weight in weights if isinstance(weight, nn.Parameter)}


def transformers_rows(architecture: str, raw: dict[str, Any], model_type: str) -> list[Row]:
    """Return a row for every parameter and persistent buffer.

    Errors: :class:`archspec.reference.Refused` if the config class or the constructor refuses the config,
    else :class:`archspec.reference.Unavailable`.
    """
    return module_rows(build_class(architecture, raw, model_type))


def build_class(architecture: str, raw: dict[str, Any], model_type: str) -> Any:
    """Return a model of a class on meta. Errors: those of :func:`transformers_rows`."""
    return build(model_class(architecture, model_type), config_of(model_type, raw))


def build(cls: Any, config: Any) -> Any:
    """Return an instance on meta, built as transformers loads a checkpoint. Errors: Refused, Unavailable."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(redirect_stdout(io.StringIO()))  # PE prints which docstrings it lacks
        warnings.simplefilter("ignore")
        try:
            for context in _contexts():
                stack.enter_context(context())
            return cls(config)
        except Exception as error:  # a constructor may raise anything
            raise verdict(error) from error


@cache
def _contexts() -> tuple[Callable[[], Any], ...]:
    """Return the contexts of a construction; transformers' imports by name are slow."""
    import torch
    from transformers.initialization import meta_device_safe_creation_ops
    from transformers.monkey_patching import apply_patches

    return apply_patches, partial(torch.device, "meta"), meta_device_safe_creation_ops, shorten_functions


_Function = Callable[..., Any]


def _skip_if(cannot_refuse: _Function) -> Callable[[_Function], _Function]:
    """Skip the filling of a tensor if the call cannot refuse its arguments."""

    def shorten(whole: _Function) -> _Function:
        def fill(tensor: Any, *args: Any, **options: Any) -> Any:
            skips = cannot_refuse(tensor, *args, **options)
            return tensor if skips else whole(tensor, *args, **options)

        return fill

    return shorten


def _compute_corner(whole: _Function) -> _Function:
    """Compute only a corner of a table: it refuses what the whole table would, which takes a second."""
    return lambda rows, columns: whole(min(rows, 2), min(columns, 2)).new_empty(1, rows, columns)


def _are_floats(_: Any, *args: Any, **options: Any) -> bool:
    return not options and all(type(one) is float for one in args)


def _are_moments(_: Any, *args: Any, **options: Any) -> bool:
    """Return True for a mean, a standard deviation, which timm divides by, and bounds."""
    return _are_floats(_, *args, **options) and args[1] > 0


# The functions are skipped with the arguments that torch's own layers use, which they never refuse.
_usual = _skip_if(lambda tensor, *args, **options: tensor.ndim > 1 and not args and {*options} == {"a"})
_plain = _skip_if(lambda tensor, *args, **options: not args and not options)
_SHORTCUTS: tuple[tuple[str, str, Callable[[_Function], _Function]], ...] = (  # module, function, short one
    ("torch.nn", "Linear.reset_parameters", lambda whole: lambda self: None),
    ("torch.nn.init", "kaiming_uniform_", _usual),
    ("torch.nn.init", "uniform_", _skip_if(_are_floats)),
    ("torch.nn.init", "normal_", _plain),
    ("torch.nn.init", "ones_", _plain),
    ("torch.nn.init", "zeros_", _plain),
    ("timm.layers.weight_init", "_trunc_normal_", _skip_if(_are_moments)),
    ("transformers.models.videomae.modeling_videomae", "get_sinusoid_encoding_table", _compute_corner),
)


@contextmanager
def shorten_functions() -> Iterator[None]:
    """Replace the slow functions of the modules that are imported by short ones."""
    with ExitStack() as stack:
        for module, path, short in _SHORTCUTS:
            if (owner := sys.modules.get(module)) is None:
                continue
            inner, _, name = path.rpartition(".")
            target: Any = getattr(owner, inner) if inner else owner
            whole = getattr(target, name)
            stack.callback(setattr, target, name, whole)
            setattr(target, name, short(whole))
        yield
