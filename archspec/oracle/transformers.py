"""What transformers builds: a class instantiated on torch's meta device, as a list of tensors."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

from archspec.tree.tensors import Tensor


class Row(NamedTuple):
    """One tensor as it is compared: every parameter and persistent buffer has one.

    ``embedding`` is what it is to the embedding split: `output`, `table`, or nothing.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    trainable: bool
    tied_to: str | None
    embedding: str


_NO_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory")
_NO_META = ("meta tensor", "meta device", "on meta", "Meta device")

# What torch's layers fill their tensors with, and when such a call may raise: never as those layers call it.
_COULD_REFUSE: dict[str, Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]] = {
    "kaiming_uniform_": lambda tensor, args, options: tensor.ndim < 2 or bool(args) or {*options} != {"a"},
    "uniform_": lambda tensor, args, options: (
        bool(options) or not all(type(bound) is float for bound in args)
    ),
    **dict.fromkeys(("normal_", "ones_", "zeros_"), lambda tensor, args, options: bool(args or options)),
}


class Refused(Exception):
    """transformers does not build this class from this config.

    ``owners`` are the classes whose constructors were under way, the innermost first.
    """

    def __init__(self, message: str, owners: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.owners = owners


class Unavailable(Exception):
    """No verdict can be had here: a package, a file or memory is missing. This is no refusal."""


@cache
def versions() -> dict[str, str]:
    """The versions of torch and transformers that the comparison is with."""
    _quiet()
    import torch
    import transformers

    return {"transformers": transformers.__version__, "torch": torch.__version__}


@cache
def _quiet() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    import transformers

    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    torch.set_num_threads(1)


@cache
def config_class(model_type: str) -> Any:
    """transformers' config class of a model type. Errors: :class:`Unavailable` where there is none."""
    _quiet()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    try:
        return CONFIG_MAPPING[model_type]
    except (KeyError, ImportError, AttributeError, ValueError) as error:
        raise Unavailable(f"transformers has no config class for {model_type}: {error}") from None


@cache
def model_class(architecture: str, model_type: str) -> Any:
    """A class by name, as transformers' auto classes find it. Errors: :class:`Unavailable`."""
    import importlib.util

    _quiet()
    import transformers
    from transformers.models.auto.auto_factory import getattribute_from_module
    from transformers.models.auto.configuration_auto import model_type_to_module_name

    try:
        if hasattr(transformers, architecture):
            return getattr(transformers, architecture)
        name = model_type_to_module_name(model_type)
        module = importlib.import_module(f"transformers.models.{name}")
        modelling = f"{module.__name__}.modeling_{name}"
        if not hasattr(module, architecture) and importlib.util.find_spec(
            modelling
        ):  # a part that is not exported
            module = importlib.import_module(modelling)
        return getattribute_from_module(module, architecture)
    except Exception as error:  # whatever the import of a module raises, the class is not to be had
        raise Unavailable(_told(error)) from None


def mapped() -> dict[tuple[str, str], tuple[str, ...]]:
    """(model type, class) -> the auto classes that list it, of the transformers that is installed."""
    _quiet()
    from transformers.models.auto import modeling_auto

    autos: dict[int, str] = {}  # by the identity of the table that an auto class has
    for name, value in sorted(vars(modeling_auto).items()):
        if name.startswith("Auto") and getattr(value, "_model_mapping", None) is not None:
            autos[id(value._model_mapping._model_mapping)] = name
    found: dict[tuple[str, str], list[str]] = {}
    for name, table in sorted(vars(modeling_auto).items()):
        if name.startswith("MODEL_") and name.endswith("MAPPING_NAMES"):
            for model_type, classes in table.items():
                for architecture in [classes] if isinstance(classes, str) else classes:
                    found.setdefault((model_type, architecture), []).append(autos.get(id(table), name))
    return {key: tuple(sorted(names)) for key, names in sorted(found.items())}


def config_of(model_type: str, raw: dict[str, Any]) -> Any:
    """transformers' config object of a raw config. Errors: :class:`Refused`, :class:`Unavailable`."""
    cls = config_class(model_type)
    settings = {key: value for key, value in copy.deepcopy(raw).items() if key != "model_type"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cls(**settings)
        except Exception as error:  # whatever the config class raises is its refusal
            raise _verdict(error) from error


@cache
def readonly_names(cls: Any) -> frozenset[str]:
    """The names that a config class of transformers computes as properties, and refuses to be given."""
    from transformers import PreTrainedConfig

    own = set(dir(cls)) - set(dir(PreTrainedConfig)) if issubclass(cls, PreTrainedConfig) else set[str]()
    computed = {
        name for name in own if isinstance(found := getattr(cls, name), property) and found.fset is None
    }
    computed |= {alias for alias, name in getattr(cls, "attribute_map", {}).items() if name in computed}
    return frozenset(name for name in computed if _refuses(cls, name))


def _refuses(cls: Any, name: str) -> bool:
    try:
        cls(**{name: 1})
    except AttributeError:
        return True
    except Exception:  # another value of it might do
        return False
    return False


def transformers_rows(architecture: str, raw: dict[str, Any], model_type: str) -> list[Row]:
    """A row for every parameter and persistent buffer.

    Errors: :class:`Refused` with what the config class or the constructor raised;
    :class:`Unavailable` where that says nothing about the config.
    """
    cls = model_class(architecture, model_type)
    return module_rows(built(cls, config_of(model_type, raw)))


def built(cls: Any, config: Any) -> Any:
    """An instance on meta, under the contexts in which transformers itself loads a checkpoint."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        try:
            for context in _contexts():
                stack.enter_context(context())
            return cls(config)
        except Exception as error:  # whatever the constructor raises is its refusal
            raise _verdict(error) from error


@cache
def _contexts() -> tuple[Callable[[], Any], ...]:
    """What is entered for each model; looked up once, as transformers' own imports by name are slow."""
    import torch
    from transformers.initialization import meta_device_safe_creation_ops
    from transformers.monkey_patching import apply_patches

    return (
        apply_patches,
        partial(torch.device, "meta"),
        meta_device_safe_creation_ops,
        _no_initial_values,
        _no_tables,
    )


@contextmanager
def _no_initial_values() -> Iterator[None]:
    """Leaves out what torch's own layers fill their tensors with: on meta there is nothing to fill, and it took half the time.

    A call that could refuse its arguments is made as ever.
    """
    from torch.nn import Linear, init

    def unless_refusing(
        function: Callable[..., Any], could_refuse: Callable[..., bool]
    ) -> Callable[..., Any]:
        def fill(tensor: Any, *args: Any, **options: Any) -> Any:
            return function(tensor, *args, **options) if could_refuse(tensor, args, options) else tensor

        return fill

    kept = {name: getattr(init, name) for name in _COULD_REFUSE}
    reset = Linear.reset_parameters
    try:
        Linear.reset_parameters = lambda self: None  # most of the layers, and refuses nothing
        for name, could_refuse in _COULD_REFUSE.items():
            setattr(init, name, unless_refusing(kept[name], could_refuse))
        yield
    finally:
        Linear.reset_parameters = reset
        for name, function in kept.items():
            setattr(init, name, function)


@contextmanager
def _no_tables() -> Iterator[None]:
    """Leaves out what VideoMAE computes number by number in Python, for each patch and each of its sizes: a second for a picture.

    A corner of the table is made as ever, and refuses what the whole would.
    """
    module: Any = sys.modules.get("transformers.models.videomae.modeling_videomae")
    if module is None:
        yield
        return
    whole = module.get_sinusoid_encoding_table
    module.get_sinusoid_encoding_table = lambda rows, columns: whole(min(rows, 2), min(columns, 2)).new_empty(
        1, rows, columns
    )
    try:
        yield
    finally:
        module.get_sinusoid_encoding_table = whole


def _verdict(error: Exception) -> Refused | Unavailable:
    """Whether an exception is about the config, or about this machine."""
    import torch

    text = _told(error)
    if isinstance(error, ImportError | MemoryError | OSError | torch.OutOfMemoryError):
        return Unavailable(text)
    if isinstance(error, RuntimeError) and any(mark in text for mark in (*_NO_MEMORY, *_NO_META)):
        return Unavailable(text)
    owners: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == "__init__" and isinstance(frame.f_locals.get("self"), torch.nn.Module):
            # the class that the constructor is written in, and the one that is made: a subclass may have none of its own
            for name in (
                type(frame.f_locals["self"]).__name__,
                frame.f_code.co_qualname.rpartition(".__init__")[0],
            ):
                if name not in owners[:2]:
                    owners.insert(0, name)
        trace = trace.tb_next
    return Refused(text, tuple(owners))


def _told(error: Exception) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:400]}"


def module_rows(model: Any) -> list[Row]:
    """The rows of any torch module; ties are found by the identity of the Parameter."""
    first: dict[int, str] = {}
    rows: list[Row] = []
    split = embedding_split(model)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        canonical = first.setdefault(id(parameter), name)
        tied_to = None if canonical == name else canonical
        part = split.get(id(parameter), "")
        rows.append(Row(name, tuple(parameter.shape), "parameter", parameter.requires_grad, tied_to, part))
    buffers = list(model.named_buffers(remove_duplicate=False))
    saved = set(model.state_dict(keep_vars=True)) if buffers else set()
    for name, buffer in buffers:
        if name in saved:
            canonical = first.setdefault(id(buffer), name)
            tied_to = None if canonical == name else canonical
            rows.append(Row(name, tuple(buffer.shape), "buffer", False, tied_to, ""))
    return rows


def embedding_split(model: Any) -> dict[int, str]:
    """What belongs to the embedding split, by identity: `output` for what get_output_embeddings() has, else `table`."""
    from torch import nn

    found = {id(module.weight): "table" for module in model.modules() if isinstance(module, nn.Embedding)}
    own = getattr(model, "lm_head", None)  # a plain module has no such method
    output = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else own
    layers = output if isinstance(output, nn.ModuleList) else [output]
    weights = (getattr(layer, "weight", None) for layer in layers)
    return found | {id(weight): "output" for weight in weights if isinstance(weight, nn.Parameter)}


def spec_rows(tensors: list[Tensor]) -> list[Row]:
    return [Row(t.name, t.shape, t.kind, t.trainable, t.tied_to, t.embedding) for t in tensors]
