"""Conditions on the kinds of layers that a model type runs with, for `runnable:` of its spec.

transformers accepts every name of a kind for every model type, and fails in the forward pass: for want of a
layer with attention, of a window, or of code for the kind. Each kind is tried in all layers, then mixed with
one that runs alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from archspec.configs.scope import Scope
from archspec.specs.records import Spec

LISTS = ("layer_types", "layers_block_type", "block_types")
_KINDS = (
    *("full_attention", "sliding_attention", "chunked_attention", "window_attention", "indexed_attention"),
    *("compressed_sparse_attention", "heavily_compressed_attention", "minimax_m3_sparse"),
    *("reference_sliding_attention", "linear_attention", "conv", "moe", "mlp", "hybrid", "hybrid_sliding"),
    "recurrent",
    *("mamba", "attention", "deepseek_sparse_attention", "qwen_sparse_attention"),  # former names
)
_WINDOWS = {"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}
Works = Callable[[Mapping[str, Any]], bool | None]  # None for a config that archspec refuses


def kind_rules(spec: Spec, base: Mapping[str, Any], works: Works) -> list[str]:
    """Return the conditions on a model type's list of kinds of layers, if it has one."""
    name = next((one for one in LISTS if one in spec.fields), None)
    scope = Scope(spec, dict(base))
    if name is None or not isinstance(scope.get(name), list):
        return []
    count = len(scope.get(name))
    whole = {kind: works({**base, name: [kind] * count}) for kind in _KINDS}
    alone = [kind for kind, runs in whole.items() if runs]
    windows: dict[str, str] = {}
    for kind, window in _WINDOWS.items():
        if whole[kind] is not None and window in spec.fields:
            windows |= _window_needed(spec, kind, window, {**base, name: [kind] * count}, works)
    alone += [kind for kind in windows if kind not in alone]
    mixed, failing = [], []
    for kind in _KINDS:
        if kind in alone:
            continue
        found = {whole[kind], *map(works, _mixes(base, name, kind, alone, count))}
        if True in found or kind in scope.get(name):
            mixed.append(kind)
        elif False in found:
            failing.append(kind)
    rules = _rules(name, alone, mixed, bool(failing))
    return [*rules, *(f'{needed} or "{kind}" not in {name}' for kind, needed in windows.items())]


def _window_needed(
    spec: Spec, kind: str, window: str, raw: Mapping[str, Any], works: Works
) -> dict[str, str]:
    """The kind with the condition on its window; nothing if it runs without one, or never."""
    flag = "use_sliding_window"
    given: dict[str, dict[str, Any]] = {f"{window} is not None": {window: 4}}
    if flag in spec.fields:
        given[f"{flag} and {window} is not None"] = {window: 4, flag: True}
    for needed, fields in given.items():
        if works({**raw, **fields}) and not works({**raw, **fields, window: None}):
            return {kind: needed}
    return {}


def _mixes(
    base: Mapping[str, Any], name: str, kind: str, alone: list[str], count: int
) -> Iterator[dict[str, Any]]:
    """A kind in all layers but the last, or but the first, so that a layer of each position is tried."""
    for other in alone:
        yield {**base, name: [*[kind] * (count - 1), other]}
        yield {**base, name: [other, *[kind] * (count - 1)]}


def _rules(name: str, alone: list[str], mixed: list[str], others_fail: bool) -> Iterator[str]:
    if others_fail:
        yield f"all(kind in {json.dumps([*alone, *mixed])} for kind in {name})"
    if len(mixed) < len(alone) and mixed:
        yield f"any(kind not in {json.dumps(mixed)} for kind in {name})"
    elif mixed and alone:
        yield f"any(kind in {json.dumps(alone)} for kind in {name})"
