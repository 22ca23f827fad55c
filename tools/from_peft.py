"""Writes formulas/adapters.json: peft's tables, and what peft sees of a module that its spec leaves out.

`python -m tools.from_peft` reads the installed peft, and builds every class on the meta device, which takes
minutes. Specs list modules with tensors only. peft matches names of all modules, so the others are recorded
by the class that contains them.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import json
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from archspec.adapters.modules import CONTAINERS, LISTS, OTHER, SUPPORTED, listed_kind
from archspec.models.model import load
from archspec.reference import Refused
from archspec.reference.classes import model_class, versions
from archspec.reference.construction import build_class
from archspec.specs.library import shipped_library
from archspec.tree.tensors import modules
from archspec.verifying.costs.cases import make_runnable
from archspec.verifying.costs.fitting import default_config
from archspec.verifying.generate.sampling import Sampler
from tools.peft_prompts import prompt_classes

PATH = Path(shipped_library().folder) / "adapters.json"
_INDEX = re.compile(r"(^|\.)\d+(?=\.|$)")
_DRAWS, _BUILDS = 9, 2  # random configs to try, and models to build of each class
_BUILT_IN = ("Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding")  # of torch.nn, whose subclasses may differ


def tables() -> dict[str, Any]:
    """Return the options of peft's LoraConfig with their defaults, and its tables of names."""
    import peft
    from peft.tuners import tuners_utils
    from peft.utils import constants

    conversion: Any = importlib.import_module("peft.utils.transformers_weight_conversion")

    moe = {
        model_type: base
        for model_type, base in conversion._MODEL_TO_CONVERSION_PATTERN.items()
        if base in conversion._MOE_TARGET_MODULE_MAPPING
        and conversion.get_checkpoint_conversion_mapping(model_type) is not None
    }
    return {
        "peft": peft.__version__,
        "transformers": versions()["transformers"],
        "configs": {kind: [cls.__name__, _defaults(cls)] for kind, cls in config_classes().items()},
        "task_types": [one.value for one in peft.TaskType],
        "targets": {
            kind: _targets(getattr(constants, f"TRANSFORMERS_MODELS_TO_{kind}_TARGET_MODULES_MAPPING"))
            for kind in ("LORA", "IA3", "VERA")
        },
        "feedforward": _targets(constants.TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING),
        "embeddings": constants.EMBEDDING_LAYER_NAMES,
        "heads": constants.SEQ_CLS_HEAD_NAMES,
        "experts": {
            base: {"names": names, "fused": conversion._MOE_FUSED_TARGETS[base]}
            for base, names in conversion._MOE_TARGET_MODULE_MAPPING.items()
        },
        "experts_of": moe,
        "mamba": _sets_of(tuners_utils._check_lora_target_modules_mamba),
    }


def config_classes() -> dict[str, Any]:
    """Return the config classes of the adapters that are supported by peft's types."""
    import peft

    classes = (
        peft.LoraConfig,
        peft.IA3Config,
        peft.VeraConfig,
        peft.PromptTuningConfig,
        peft.PrefixTuningConfig,
    )
    made: list[Any] = [cls() for cls in classes]
    return {one.peft_type.value: type(one) for one in made}


def _defaults(cls: Any) -> dict[str, Any]:
    """Return the options of a config class with their defaults."""
    made: Any = cls()
    names = (one.name for one in dataclasses.fields(cls))
    values = {name: getattr(made, name) if name != "runtime_config" else None for name in names}
    return {name: getattr(one, "value", one) for name, one in values.items()}  # of an enumeration


def _targets(known: dict[str, Any]) -> dict[str, Any]:
    """Return targets by model type, also of types whose config class has another type."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    types = (one for one in shipped_library().model_types() if one in CONFIG_MAPPING)
    own = {one: CONFIG_MAPPING[one].model_type for one in types}
    return known | {one: known[other] for one, other in own.items() if one != other and other in known}


def _sets_of(function: Any) -> dict[str, list[str]]:
    """Return the sets that a function assigns to names."""
    nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))
    assigned = (node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Set))
    return {ast.unparse(node.targets[0]): sorted(ast.literal_eval(node.value)) for node in assigned}


def kind_of(module: Any) -> str:
    """Return the kind of a torch module that peft supports; a subclass that differs has the kind `other`."""
    from torch import nn
    from transformers.pytorch_utils import Conv1D

    kinds = {**{name: getattr(nn, name) for name in (*SUPPORTED, *CONTAINERS) if name != "Conv1D"}}
    kinds |= {"Conv1D": Conv1D, "ParameterList": nn.ParameterList, "ParameterDict": nn.ParameterDict}
    kind = next((name for name, cls in kinds.items() if isinstance(module, cls)), "")
    if kind in _BUILT_IN and _differs(module, kind):
        return OTHER
    return kind


def _differs(module: Any, kind: str) -> bool:
    """Return True for a subclass whose sizes are not those of its weight, or that peft cannot build again."""
    from torch import nn

    if kind.startswith("Conv") or hasattr(module, "parametrizations"):
        return type(module).__init__ is not getattr(nn, kind).__init__
    sizes = (
        (module.num_embeddings, module.embedding_dim)
        if kind == "Embedding"
        else (module.out_features, module.in_features)
    )
    return tuple(module.weight.shape) != sizes


def unlisted_modules(root: Any, built: Any) -> Iterator[tuple[str, str, str]]:
    """Yield class, path inside it and kind of each module that the spec lacks, or that is another kind."""
    listed = dict(modules(root, layers=True))
    owners = {path: node for path, node in listed.items() if not (node.leaf or node.cls in CONTAINERS)}
    for path, module in built.named_modules(remove_duplicate=False):
        kind = kind_of(module)
        if path in listed:
            known = listed_kind(listed[path])
            has_groups = kind in _BUILT_IN and getattr(module, "groups", 1) != listed[path].groups
            if kind == known and not has_groups:
                continue
            if not {kind, known} & {*SUPPORTED, *LISTS, OTHER}:
                continue
            kind = OTHER if {kind, known} & {*SUPPORTED} else kind or "Sequential"
        if any(path.startswith(f"{one}.") for one in _inner(listed, path)):
            continue
        owner = path.rpartition(".")[0]
        while owner and owner not in owners:
            owner = owner.rpartition(".")[0]
        inside = path[len(owner) + 1 :] if owner else path
        yield listed[owner].cls, _INDEX.sub(r"\1*", inside), kind


def _inner(listed: dict[str, Any], path: str) -> Iterator[str]:
    """Yield the enclosing layer of a module inside a torch layer, which :mod:`archspec.adapters` lists."""
    parts = path.split(".")
    for end in range(1, len(parts)):
        outer = listed.get(".".join(parts[:end]))
        if outer is not None and outer.leaf and any("." in one.name for one in outer.tensors):
            yield ".".join(parts[:end])


def facts() -> dict[str, Any]:
    """Return the facts about classes of modules and models."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    transposed: dict[bool, set[str]] = {True: set(), False: set()}
    generative, unseen, untied = [], [], []
    for model_type in shipped_library().model_types():
        for name in shipped_library().load(model_type).architectures:
            with suppress(Exception):  # a class may need a package that is not installed
                if hasattr(model_class(name, model_type), "prepare_inputs_for_generation"):
                    generative.append(name)
            pairs = list(builds(model_type, name))
            if not pairs:
                unseen.append(name)
            for root, built in pairs:
                if not _finds_ties(built):
                    untied.append(name)
                for cls, inside, kind in unlisted_modules(root, built):
                    found[inside, kind].add(cls)
                listed = dict(modules(root, layers=True))
                for path, module in built.named_modules():
                    if path in listed and any(one.ndim == 3 for one in module.parameters(recurse=False)):
                        transposed[bool(getattr(module, "is_transposed", False))].add(listed[path].cls)
        print(model_type, flush=True)
    assert not transposed[True] & transposed[False], transposed[True] & transposed[False]
    rows = {f"{inside} {kind}".strip(): sorted(classes) for (inside, kind), classes in sorted(found.items())}
    return {
        "transposed": sorted(transposed[True]),
        "generative": sorted({*generative}),
        "unseen": sorted({*unseen}),
        "untied": sorted({*untied}),
        "unlisted": rows,
    }


def _finds_ties(built: Any) -> bool:
    """Return False if peft fails in the search for modules that are tied to the input embeddings."""
    from peft.utils.other import _get_module_names_tied_with_embedding

    with suppress(Exception):
        _get_module_names_tied_with_embedding(built)
        return True
    return False


def builds(model_type: str, name: str) -> Iterator[tuple[Any, Any]]:
    """Yield the spec's tree and the built model for the default config, and for another one."""
    spec = shipped_library().load(model_type)
    draws = map(Sampler(spec, 0).draw_config, range(_DRAWS))
    found = 0
    for raw in [default_config(spec), *draws]:
        with suppress(Exception):  # a config may be rejected by either side
            raw = make_runnable({"model_type": model_type, **raw}, name)
            root, built = load(raw, name).root, build_class(name, raw, model_type)
            found += 1
            yield root, built
        if found == _BUILDS:
            return


def main() -> None:
    """Write the file, one fact per line."""
    lines = {**tables(), **facts()}
    lines["prompts"] = prompt_classes(lines["targets"]["LORA"])
    rows = lines.pop("unlisted")
    text = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in lines.items())
    listed = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rows.items())
    PATH.write_text(f'{{{text},\n"unlisted": {{\n{listed}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    with suppress(Refused):
        main()
