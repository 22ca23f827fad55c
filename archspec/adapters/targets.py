"""The modules and parameters that an adapter targets: peft's rules, in peft/tuners/tuners_utils.py."""

from __future__ import annotations

import re
from collections.abc import Iterable

from archspec.adapters.modules import LINEAR, Module, facts
from archspec.adapters.options import ALL_LINEAR, Options
from archspec.errors import ArchspecError
from archspec.tree.node import Node
from archspec.tree.tensors import join_path, output_embeddings

_SEQUENCES = "SEQ_CLS"


def has_name(key: str, names: Iterable[str]) -> bool:
    """Return True if a dotted name is one of some names, or ends in one.

    >>> has_name("model.layers.0.mlp.up_proj", ["up_proj"]), has_name("a.b_proj", ["proj"])
    (True, False)
    """
    return any(key == name or key.endswith(f".{name}") for name in names)


def is_excluded(options: Options, key: str) -> bool:
    """Return True for a module that `exclude_modules` or `modules_to_save` name."""
    excluded = options.exclude_modules
    if isinstance(excluded, str) and excluded and re.fullmatch(excluded, key):
        return True
    if excluded and not isinstance(excluded, str) and has_name(key, excluded):
        return True
    return any(re.match(rf"(^|.*\.){one}($|\..*)", key) for one in options.modules_to_save)


def is_target(options: Options, key: str) -> bool:
    """Return True for a module that `target_modules` selects: peft's `check_target_module_exists`."""
    targets = options.target_modules
    if targets is None or is_excluded(options, key):
        return False
    if isinstance(targets, str):
        return re.fullmatch(targets, key) is not None
    if key in targets:
        return True
    return has_name(key, targets) and _is_chosen_layer(options, key)


def _is_chosen_layer(options: Options, key: str) -> bool:
    """Return True for a module in one of `layers_to_transform`; its first index is that of the layer."""
    chosen = options.layers_to_transform
    if chosen is None or chosen == ():
        return True
    patterns = [rf"(?:^|.*?\.){one}\.(?P<idx>\d+)\." for one in options.layers_pattern or ()]
    matches = (re.match(one, key) for one in patterns or [r".*?\.[^.]*\.(?P<idx>\d+)\."])
    found = next((match for match in matches if match), None)
    return found is not None and int(found["idx"]) in (chosen if isinstance(chosen, tuple) else (chosen,))


def resolve(options: Options, base: Module, root: Node, model_type: str) -> Options:
    """Return options that have targets, by default peft's, and target fused experts by parameter.

    Errors: :class:`ArchspecError` if peft has no defaults for the model type, and needs them.
    """
    kind = options.peft_type
    if kind == "LORA":
        options = _fuse_experts(options, base, root, model_type)
    if kind == "IA3" and options.feedforward_modules is None:
        if (inputs := facts()["feedforward"].get(model_type)) is None:
            raise ArchspecError(
                f"peft has no default feedforward_modules for {model_type}", help="pass a list"
            )
        options = options._replace(feedforward_modules=frozenset(inputs))
    if options.target_modules is not None:
        return options
    targets = facts()["targets"][kind].get(model_type)
    if targets is None and not options.target_parameters:
        message = f"peft has no default targets for {model_type}"
        raise ArchspecError(message, help="pass target_modules, for example all-linear")
    return options._replace(target_modules=frozenset(targets) if isinstance(targets, list) else targets)


def expand(options: Options, base: Module, root: Node) -> Options:
    """Return options that name the linear layers in place of `all-linear`."""
    if not _is_all_linear(options):
        return options
    return options._replace(target_modules=_linear_layers(options, base, root))


def _is_all_linear(options: Options) -> bool:
    return isinstance(options.target_modules, str) and options.target_modules.lower() == ALL_LINEAR


def _linear_layers(options: Options, base: Module, root: Node) -> frozenset[str]:
    """Return the names of all linear layers except the head of a language model or classifier."""
    head = next(iter(output_embeddings(root)), "")
    if not head and options.task_type == _SEQUENCES:
        head = next((name for name in facts()["heads"] if name in base.children), "")
    is_listed = base.find(head.rpartition(".")[0]).kind == "ModuleList"  # a list of heads is not a layer
    head = "" if is_listed else head
    return frozenset(path for path, one in base.walk() if one.kind in LINEAR and path != head)


def _fuse_experts(options: Options, base: Module, root: Node, model_type: str) -> Options:
    """Return options that target fused experts by parameter: peft's `_convert_peft_config_moe`.

    Errors: :class:`ArchspecError` for a part of what is fused.
    """
    if (kind := facts()["experts_of"].get(model_type)) is None:
        return options
    names, fused = facts()["experts"][kind]["names"], facts()["experts"][kind]["fused"]
    targets = options.target_modules
    if isinstance(targets, str):
        targets = _leaf_names(options, base, root, names)
        if not targets:
            return options
    parameters, kept = {*(options.target_parameters or ())}, set()
    found: dict[str, set[str]] = {new: set() for new in fused}
    for target in targets or ():
        old = next((one for one in names if has_name(target, [one])), None)
        if old is None:
            kept.add(target)
            continue
        parameters.add(names[old])
        found.setdefault(names[old], set()).add(old)
    ranks = dict(options.rank_pattern)
    for new, parts in fused.items():
        if missing := sorted({*parts} - found[new]) if found[new] else []:
            message = f"{' and '.join(sorted(found[new]))} cannot be adapted without {' and '.join(missing)}"
            raise ArchspecError(f"{message}: they are fused into {new}", help="target all of them")
        if found[new] and len(parts) > 1:
            ranks[rf".*\.{re.escape(new)}"] = options.r * len(parts)
    return options._replace(
        target_modules=frozenset(kept), target_parameters=frozenset(parameters), rank_pattern=ranks
    )


def _leaf_names(options: Options, base: Module, root: Node, names: dict[str, str]) -> frozenset[str]:
    """Return the last parts of the names that a pattern matches; experts also have their former names."""
    if _is_all_linear(options):
        return frozenset(one.rpartition(".")[2] for one in _linear_layers(options, base, root)) | {*names}
    weights = [name for name, _ in base.named_weights()]
    keys = [*(path for path, _ in base.walk()), *weights]
    matched = {key.rpartition(".")[2] for key in keys if is_target(options, key)}
    for old, new in names.items():
        holders = {name.rpartition(".")[0] for name in weights if name.rpartition(".")[2] == new}
        if any(is_target(options, join_path(holder, old)) for holder in holders):
            matched.add(old)
    return frozenset(matched)
