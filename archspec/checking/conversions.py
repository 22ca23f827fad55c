"""The names and shapes that a checkpoint's tensors have once transformers has loaded them.

formulas/conversions.json, written by `python -m tools.from_loading`, has the transforms of each model type.
Source: transformers/core_model_loading.py (`convert_and_load_state_dict_in_model`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from os.path import commonprefix
from typing import Any, NamedTuple

from archspec.checking.packing import Packed
from archspec.checkpoints.records import Shape
from archspec.specs.files import read_json
from archspec.tree.node import Node
from archspec.tree.tensors import modules

FILE = "conversions.json"
_EXPERTS_MLX = r"\.switch_mlp\.gate_proj\.weight", r"\.switch_mlp\.up_proj\.weight"
_HEADS_MLX = r"\.self_attn\.embed_q\.weight", r"\.self_attn\.unembed_out\.weight"
_MLX: tuple[tuple[tuple[str, ...], str, list[Any]], ...] = (  # of mlx-lm: sources, target, operation
    ((r"\.block_sparse_moe\.switch_mlp\.",), ".mlp.switch_mlp.", []),
    (_EXPERTS_MLX, ".experts.gate_up_proj", ["Concatenate", 1]),
    ((r"\.switch_mlp\.down_proj\.weight",), ".experts.down_proj", ["Interleave"]),
    (_HEADS_MLX, ".self_attn.kv_b_proj.weight", ["Heads"]),
)
_INDEX = re.compile(r"\.\d")  # in the pattern of a transform: it depends on a layer number
_PLACE = 90_000_000  # and the following numbers stand for layer numbers
Parts = list[list[Shape]]  # the shapes of the tensors of each source
Shapes = dict[int, list[Shape | None]]  # of the tensors that each source pattern found


class Transform(NamedTuple):
    """Names that match the pattern get the first target in its place; group `g1` is the second source."""

    pattern: re.Pattern[str]
    targets: list[str]
    operations: list[list[Any]]
    prefixes: tuple[str, ...]  # it applies below one of these
    is_group: bool  # each source has its target, once a name matched the first source
    offset: int  # added to the number that the pattern captures

    def rename(self, name: str, active: set[int]) -> tuple[str, int | None]:
        """Return the new name and the number of the source that matched; None if none did."""
        if not name.startswith(self.prefixes):
            return name, None
        prefix = next(one for one in self.prefixes if name.startswith(one))
        inner = name[len(prefix) :]
        if (found := self.pattern.search(inner)) is None:
            return name, None
        group = next(key for key, value in found.groupdict().items() if value is not None)
        source = int(group[1:])
        if self.is_group and source and id(self) not in active:
            return name, None
        if self.is_group:
            active.add(id(self))
        target = self.targets[source if self.is_group else 0]
        if r"\1" in target:
            captured = found.group(self.pattern.groupindex[group] + 1)
            target = target.replace(r"\1", str(int(captured) + self.offset) if self.offset else captured)
        return prefix + inner.replace(found[0], target, 1), source


Renamed = tuple[str, Transform | None, int]  # the new name, the converter and the number of its source


class Loaded(NamedTuple):
    """The tensors that a model takes from a checkpoint: their shapes, None if unknown, and stored names."""

    shapes: dict[str, Shape | None]
    sources: dict[str, list[str]]
    unexpected: dict[str, str]  # stored name -> the name that transformers would look for
    unknown: set[str]  # operations that are not supported


@cache
def _table() -> dict[str, Any]:
    found: dict[str, Any] = read_json(FILE)
    found["prefix_of"] = {name: prefix for prefix, names in found["prefixes"].items() for name in names}
    return found


def base_prefix(tree: Node) -> str:
    """Return the name under which heads store the base model; empty if there is none."""
    return str(_table()["prefix_of"].get(tree.cls, ""))


def ignored_patterns(tree: Node) -> tuple[list[str], list[str]]:
    """Return the patterns of missing and of unexpected names that transformers ignores."""
    lists = [_table()["ignored"].get(cls, ([], [])) for _, cls, _ in _model_classes(tree)]
    return sorted({x for one, _ in lists for x in one}), sorted({x for _, one in lists for x in one})


def transforms_of(tree: Node) -> list[Transform]:
    """Return the transforms of a model and of the models in it: `get_model_conversion_mapping`."""
    table, base = _table(), base_prefix(tree)
    seen: dict[str, list[str]] = {}
    found: list[Transform] = []
    for path, cls, model_type in _model_classes(tree):
        if _is_claimed(seen, cls, path):
            continue
        is_class = cls in table["transforms"]
        if not is_class and _is_claimed(seen, model_type, path):
            continue
        lines = table["transforms"].get(cls if is_class else model_type)
        if lines is None:
            continue
        lines = table["transforms"][lines] if isinstance(lines, str) else lines
        scope = path.removeprefix(base).removeprefix(".")
        inner = f"{scope}." if scope else ""
        outer = f"{base}." if base else ""
        prefixes = ("",) if not path else (outer + inner, inner)
        found += [_transform(line, prefixes) for line in lines]
        for name in (cls,) if is_class else (cls, model_type):
            seen.setdefault(name, []).append(path)
    found += [_transform(line, ("",)) for line in table["transforms"]["legacy"]]
    for sources, target, operation in _MLX:
        pattern = "|".join(f"(?P<g{index}>{one})" for index, one in enumerate(sources))
        line = {"pattern": pattern, "targets": [target], "operations": [operation] if operation else []}
        found.append(_transform(line, ("",)))
    return found


def _model_classes(tree: Node) -> Iterator[tuple[str, str, str]]:
    """Yield the path, the class and the model type of a model and of the models in it."""
    prefixes, classes = _table()["prefix_of"], dict[str, str]()
    family = commonprefix([*tree.scope.spec.architectures]) if tree.scope else ""  # noqa: RUF071 - of classes
    for path, node in modules(tree):
        outer, _, name = path.rpartition(".")
        copied = family + node.cls  # such as MaskFormerDetrDecoder, of which the spec is DetrDecoder
        classes[path] = copied if copied in prefixes else node.cls
        is_base = bool(name) and prefixes.get(classes[outer]) == name
        if node.scope is not None and node.cls not in prefixes and is_base:  # a spec's variant of the class
            classes[path] = next(iter(node.scope.spec.architectures), "")
        if node.scope is not None and classes[path] in prefixes:
            yield path, classes[path], node.scope.spec.model_type


def _is_claimed(seen: dict[str, list[str]], name: str, path: str) -> bool:
    return any(one == "" or path.startswith(one + ".") for one in seen.get(name, ()))


def _transform(line: dict[str, Any], prefixes: tuple[str, ...]) -> Transform:
    pattern, operations = re.compile(line["pattern"]), line.get("operations", [])
    is_group, offset = line.get("group", False), line.get("offset", 0)
    return Transform(pattern, line["targets"], operations, prefixes, is_group, offset)


def load(stored: Mapping[str, Packed], expected: Mapping[str, Shape], tree: Node) -> Loaded:
    """Return what the model of a tree takes from stored tensors, as transformers loads them."""
    transforms, base = transforms_of(tree), base_prefix(tree)
    odd = (one for one in transforms if one.is_group or one.offset or _INDEX.search(one.pattern.pattern))
    is_regular = next(odd, None) is None  # layer numbers do not matter
    renamed: dict[str, Renamed] = {}
    collected: dict[str, tuple[Transform | None, Shapes]] = {}
    loaded, active = Loaded({}, {}, {}, set()), set[int]()
    for name in sorted(stored):
        key, numbers = _without_numbers(name) if is_regular else (name, [])
        if key not in renamed:
            renamed[key] = _rename(key, transforms, active)
        target, converter, source = renamed[key]
        for index, number in enumerate(numbers):
            target = target.replace(str(_PLACE + index), number)
        target = _fit_prefix(target, base, expected)
        if target not in expected and name in expected:
            target, converter, source = _fit_prefix(name, base, expected), None, 0
        if target not in expected:
            loaded.unexpected[name] = target
            continue
        _, shapes = collected.setdefault(target, (converter, {}))
        shapes.setdefault(source, []).append(stored[name].shape)
        loaded.sources.setdefault(target, []).append(name)
    for target, (converter, shapes) in collected.items():
        for name, shape in _convert(converter, target, shapes, expected, loaded.unknown).items():
            loaded.shapes[name] = shape
            loaded.sources.setdefault(name, loaded.sources[target])
    return loaded


def _without_numbers(name: str) -> tuple[str, list[str]]:
    """Return a name with other numbers in place of its layer numbers, and these.

    >>> _without_numbers("layers.3.mlp.experts.12.w1.weight")
    ('layers.90000000.mlp.experts.90000001.w1.weight', ['3', '12'])
    """
    parts, numbers = name.split("."), list[str]()
    for index, part in enumerate(parts):
        if part.isdecimal():
            parts[index] = str(_PLACE + len(numbers))
            numbers.append(part)
    return ".".join(parts), numbers


def _rename(name: str, transforms: list[Transform], active: set[int]) -> Renamed:
    """Return a name after all renames and the first converter that matches, and which of its sources did."""
    for one in transforms:
        if not one.operations:
            name, _ = one.rename(name, active)
    for one in transforms:
        if one.operations:
            name, source = one.rename(name, active)
            if source is not None:
                return name, one, source
    return name, None, 0


def _fit_prefix(name: str, base: str, expected: Mapping[str, Shape]) -> str:
    """Return a name with the base model's prefix added or removed, if that is an expected one."""
    if base and name.startswith(base) and name[len(base) + 1 :] in expected:
        return name[len(base) + 1 :]
    return f"{base}.{name}" if f"{base}.{name}" in expected else name


def _convert(
    converter: Transform | None, target: str, shapes: Shapes, expected: Mapping[str, Shape], unknown: set[str]
) -> dict[str, Shape | None]:
    """Return the shapes that a converter makes of the tensors for one target, by name."""
    found = [shapes[source] for source in sorted(shapes)]
    if converter is None:
        return {target: found[0][0]}
    names = [target.replace(converter.targets[0], one, 1) for one in converter.targets]
    known = [[shape for shape in part if shape is not None] for part in found]
    if known != found:
        return dict.fromkeys(names)
    try:
        for operation, *dims in converter.operations:
            if operation in ("Chunk", "Split"):
                return dict(_split(known[0][0], dims[0], {name: expected.get(name) for name in names}))
            if operation not in _OPERATIONS:
                unknown.add(operation)
                return dict.fromkeys(names)
            known = _OPERATIONS[operation](known, expected[target], *dims)
    except (IndexError, ValueError):  # tensors that the operation cannot join
        known = [[(-1,)]]
    return {target: known[0][0]}


def _stack(parts: Parts, _: Shape, dim: int) -> Parts:
    if any(len({*part}) > 1 for part in parts):
        raise ValueError("tensors of different shapes")
    return [[(*part[0][:dim], len(part), *part[0][dim:])] for part in parts]


def _concatenate(parts: Parts, _: Shape, dim: int) -> Parts:
    every = [shape for part in parts for shape in part]
    if len({_resize(shape, dim, 0) for shape in every}) > 1:
        raise ValueError("tensors of different shapes")
    return [[_resize(every[0], dim, sum(shape[dim] for shape in every))]]


def _transpose(parts: Parts, expected: Shape, dim0: int, dim1: int, if_needed: bool) -> Parts:
    shape = [*parts[0][0]]
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    return parts if if_needed and parts[0][0] == expected else [[tuple(shape)]]


def _join_heads(parts: Parts, _: Shape) -> Parts:
    """Return the shape of keys `(heads, rank, size)` and values `(heads, size, rank)` as one matrix."""
    heads, rank, first = parts[0][0]
    return [[(heads * (first + parts[1][0][1]), rank)]]


def _remove_padding(parts: Parts, expected: Shape) -> Parts:
    return [[_resize(parts[0][0], 0, min(parts[0][0][0], expected[0]))]]


_OPERATIONS: dict[str, Callable[..., Parts]] = {
    "MergeModulelist": _stack,
    "Concatenate": _concatenate,
    "Transpose": _transpose,
    "Heads": _join_heads,
    **dict.fromkeys(("Interleave", "PermuteForRope"), lambda parts, *_: parts),
    "Inkling2UnpadVocab": _remove_padding,
}


def _resize(shape: Shape, dim: int, size: int) -> Shape:
    return (*shape[:dim], size, *shape[dim + 1 :])


def _split(shape: Shape, dim: int, expected: dict[str, Shape | None]) -> Iterator[tuple[str, Shape]]:
    """Yield the parts of a tensor: of the expected sizes if these add up, else equal ones."""
    sizes = {name: one[dim] if one else 0 for name, one in expected.items()}
    equal = shape[dim] // len(sizes)
    fits = sum(sizes.values()) == shape[dim]
    yield from ((name, _resize(shape, dim, size if fits else equal)) for name, size in sizes.items())
