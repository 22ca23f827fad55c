"""Writes `kept` of formulas/gradients.json: what a step that trains an adapter saves, if it was validated.

`python -m tools.from_hooks [FILTER]` runs classes with adapters on the meta device, with flash attention,
and records which frozen layers have an input that something else saves. It adds a class only if the bytes of
all its runs are those that archspec predicts.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from archspec.adapters import recorded
from archspec.adapters.activations import AdaptedActivations
from archspec.adapters.modules import LINEAR, facts
from archspec.costs.records import Step
from archspec.costs.training.activations import loss_of, validated_activations
from archspec.errors import ArchspecError
from archspec.models.model import load
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.costs import inputs
from archspec.reference.saved import labels, recomputed_bytes, saved_storages, storage_key, training_model
from archspec.specs.library import shipped_library
from archspec.tree.tensors import fold_layers, modules
from archspec.verifying.costs.cases import make_runnable
from archspec.verifying.costs.fitting import default_config
from archspec.verifying.generate.sampling import Sampler
from tools.from_autograd import write_record

_CONFIGS, _DRAWS, _COMPARED = 2, 30, 5
_ENCODER_TOKENS = 33
_STEPS = (Step(2, 64), Step(3, 17), Step(1, 40))


class Run(NamedTuple):
    """A step of a model with an adapter: its bytes, those of a recomputed layer, and the inputs kept."""

    model: Any
    options: dict[str, Any]
    step: Step
    nbytes: int
    recomputed: int
    kept: dict[str, bool]
    encodes: bool


def measure(name: str, raw: dict[str, Any], options: dict[str, Any], step: Step) -> tuple[Any, ...]:
    """Return the last four fields of a :class:`Run`."""
    import torch
    from peft import LoraConfig, get_peft_model

    model = training_model(name, raw, raw["model_type"], step)
    with torch.device("meta"):
        model = get_peft_model(model, LoraConfig(**options)).base_model.model
    model.enable_input_require_grads()
    if encodes := has_encoder_and_decoder(model):
        step = step._replace(encoder_tokens=_ENCODER_TOKENS)
    given = dict[str, Any]()

    def keep(path: str) -> Any:
        return lambda _, args: given.update({path: args[0].detach()})

    for path, module in model.named_modules():
        if type(module).__name__ in LINEAR and ".lora_" not in path:
            module.register_forward_pre_hook(keep(path.removesuffix(".base_layer")))
    taken = inputs(model, step.call)
    saved = saved_storages(model, step, taken | (labels(model, step.call) if step.loss else {}))
    keys = {storage_key(one.tensor) for one in saved}
    kept = {path: storage_key(tensor) in keys for path, tensor in given.items()}
    again = recomputed_bytes(model, step) if step.checkpointing else 0
    return sum(one.nbytes for one in saved), again, kept, encodes


def raws(model_type: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the default config with few layers, then random ones."""
    spec = shipped_library().load(model_type)
    depth = {"num_hidden_layers": 2} if "num_hidden_layers" in spec.fields else {}
    yield make_runnable({**default_config(spec), **depth}, name)
    for place in range(_DRAWS):
        yield make_runnable({"model_type": model_type, **Sampler(spec, 0).draw_config(place)}, name)


def options_of(model: Any, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield options of an adapter of all linear layers, without experts, and of one of some."""
    linear = [path for path, one in modules(model.root, layers=True) if one.layer in LINEAR]
    names = sorted({path.rpartition(".")[2] for path in linear})
    inner = sorted({path.rpartition(".")[2] for path in linear if re.search(r"\.\d+\.", path)})
    yield {"target_modules": inner if model.model_type in facts()["experts_of"] else "all-linear", "r": 8}
    yield {"target_modules": rng.sample(names, min(2, len(names))), "r": 4, "lora_dropout": 0.1}


def runs(model_type: str, name: str) -> Iterator[Run]:
    """Yield the runs of a class: a few configs, adapters and kinds of steps."""
    rng, loss, ran = random.Random(name), loss_of(model_type, name) or "", 0
    for raw in raws(model_type, name):
        found, step = list[Run](), _STEPS[ran % len(_STEPS)]._replace(loss=loss)
        with suppress(Exception):  # a config may be rejected by either side
            model = load(raw, name)
            for place, options in enumerate(options_of(model, rng)):
                for checkpointing in (False, True)[: 2 - place]:
                    one = step._replace(checkpointing=checkpointing)
                    found.append(Run(model, options, one, *measure(name, raw, options, one)))
        yield from found
        ran += bool(found)
        if ran == _CONFIGS:
            return


def validate(model_type: str, name: str) -> None:
    """Record the layers whose input is kept. Errors: ValueError if a figure differs."""
    kept, compared = dict[str, bool](), 0
    measured = [*runs(model_type, name)]
    for run in measured:
        if not run.step.checkpointing:
            for path, is_kept in run.kept.items():
                if kept.setdefault(fold_layers(path), is_kept) != is_kept:
                    raise ValueError(f"{path} is kept at some configs")
    names = sorted(path for path, is_kept in kept.items() if is_kept)
    recorded.record()["kept"][name] = names  # which the predictions read
    for run in measured:
        with suppress(ArchspecError):
            found = _predict(run, name)
            compared += 1
            if found != (run.nbytes, run.recomputed):
                raise ValueError(
                    f"{found} instead of {run.nbytes, run.recomputed} with {run.options, run.step}"
                )
    if compared < _COMPARED:
        raise ValueError(f"{compared} runs of {len(measured)} were compared")


def _predict(run: Run, name: str) -> tuple[int, int]:
    step, adapter = run.step, run.model.lora(**run.options)
    lengths: dict[str, Any] = {
        "batch": step.batch,
        "tokens": step.tokens,
        "checkpointing": step.checkpointing,
    }
    lengths |= {"encoder_tokens": _ENCODER_TOKENS} if run.encodes else {}
    trained = validated_activations(run.model.scope, name, **lengths)
    found = AdaptedActivations(trained, adapter.tree, adapter.options)
    return found.bytes, found.recomputed_bytes


def main(pattern: str) -> None:
    """Add the classes whose name has a pattern to the file."""
    library, found = shipped_library(), recorded.record()
    found.setdefault("kept", {})
    for model_type in library.model_types():
        for name in library.load(model_type).architectures:
            gap = library.costs(model_type).activations_gap(name, "flash")
            if gap or name in found["kept"] or not re.search(pattern, name):
                continue
            try:
                validate(model_type, name)
            except Exception as error:  # a class may not run, or save other bytes
                found["kept"].pop(name, None)
                print("--", name, repr(error)[:250], flush=True)
                continue
            print(name, found["kept"][name], flush=True)
            write_record(found)


if __name__ == "__main__":
    main("".join(sys.argv[1:]) or ".")
