"""`python -m tools.runs [MODEL_TYPE ...]` compares the `runnable:` conditions of specs with forward passes.

transformers builds many configs whose forward pass fails, such as 17 query heads over 8 key-value heads. For
each model type this changes a few sizes of a small config and runs it on torch's meta device. It prints the
configs that fail without a warning of archspec, with the error that a condition has to prevent, and those
that run in spite of a warning.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import archspec
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.costs import instance, output_of
from archspec.reference.meta import on_meta
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.library import shipped_library
from archspec.tree.runnable import run_problems
from tools.site.architectures import FIELDS, main_head

_LENGTHS = (7, 67)
_SIZES = re.compile("head|dim|hidden_size|embd|d_model|expert|top_?k|group|kernel|patch|window|expand")


def failure(model: Any) -> str:
    """Return why a forward pass fails; an empty text for one that runs."""
    try:
        if "input_ids" in inspect.signature(model.forward).parameters:
            for length in _LENGTHS:
                encoder = length + 2 if has_encoder_and_decoder(model) else 0
                call = Call(2, length, encoder_tokens=encoder, new_encoder_tokens=encoder)
                output_of(model, call, nullcontext())
        else:
            with on_meta():
                model(**_inputs(model))
    except Exception as error:  # whatever a forward pass raises
        return f"{error}"[:200] or type(error).__name__
    return ""


def _inputs(model: Any) -> dict[str, Any]:
    """Return inputs for models of images and of audio."""
    import torch

    name, config = model.main_input_name, model.config
    size = getattr(config, "image_size", 224)
    sizes = size if isinstance(size, list | tuple) else (size, size)
    shapes = {"pixel_values": (getattr(config, "num_channels", 3), *sizes), "input_values": (16_000,)}
    if name not in shapes:
        raise ValueError(f"no inputs are known for {name}")
    return {name: torch.zeros(1, *shapes[name], dtype=torch.bfloat16)}


def disagreements(model_type: str, samples: int, seed: int) -> Iterator[str]:
    """Yield the configs of a model type whose forward pass contradicts the conditions of its spec."""
    spec, draw = shipped_library().load(model_type), random.Random(f"{seed} {model_type}")
    architecture = main_head(spec.architectures) or spec.architectures[0]
    small = {"num_hidden_layers": 4} if "num_hidden_layers" in {*spec.fields, *spec.attribute_map} else {}
    base = archspec.load(model_type, architecture, {**small, **FIELDS.get(model_type, {})})
    fields = (one for one in base.fields if _SIZES.search(one.field))
    sizes = {one.field: one.value for one in fields if type(one.value) is int and one.value > 0}
    for turn in range(samples):
        names = draw.sample(sorted(sizes), min(len(sizes), draw.randint(1, 3) if turn else 0))
        changed = {name: draw.choice((sizes[name] + 1, sizes[name] * 2, sizes[name] // 2)) for name in names}
        try:
            model = base.with_fields(changed)
            warned = any(run_problems(model.scope, architecture, model.root))
            reason = failure(instance(architecture, dict(model.scope.raw), model_type))
        except (ArchspecError, Refused, Unavailable):
            continue
        if bool(reason) != warned:
            yield f"{json.dumps(changed)}: {reason or 'runs in spite of a warning'}"


def main(arguments: list[str] | None = None) -> int:
    about = "Compare `runnable:` with forward passes."
    parser = argparse.ArgumentParser("python -m tools.runs", description=about)
    parser.add_argument("names", nargs="*", metavar="MODEL_TYPE", help="the model types (all)")
    parser.add_argument("--samples", type=int, default=40, metavar="N", help="configs of each (40)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the configs (0)")
    args = parser.parse_args(arguments)
    found = 0
    for name in args.names or [name for name, classes in shipped_library().catalog().items() if classes]:
        try:
            for line in disagreements(name, args.samples, args.seed):
                found += 1
                print(f"{name}: {line}", flush=True)
        except ArchspecError as error:
            print(f"{name}: not run: {error}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
