"""The names and shapes that a checkpoint's tensors have once transformers has loaded them.

formulas/conversions.json, written by `python -m tools.from_loading`, has the transforms of each model type.
Source: transformers/core_model_loading.py (`convert_and_load_state_dict_in_model`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from os.path import commonprefix
from typing import Any, NamedTuple

from archspec.checkpoints.records import Shape, StoredTensor
from archspec.specs.files import read_json
from archspec.tree.node import Node
from archspec.tree.tensors import modules

FILE = "conversions.json"
_INDEX = re.compile(r"\.\d")  # in the pattern of a transform: it depends on a layer number
_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")  # of a layer or an expert
_PLACE = 90_000_000  # and the following numbers stand for the numbers of a name
Parts = list[list[Shape]]  # the shapes of the tensors of each source
Shapes = dict[int, list[Shape | None]]  # of the tensors that each source pattern found


class Transform(NamedTuple):
    """Names that match the pattern get the first target in its place; group `g1` is the second source."""

    pattern: re.Pattern[str]
    prefixes: tuple[str, ...]  # it applies below one of these
    targets: list[str]
    operations: Sequence[list[Any]] = ()
    is_group: bool = False  # each source has its target, if a name matches the first source
    offset: int = 0  # added to the number that the pattern captures

    def applies(self, names: Iterable[str]) -> bool:
        """Return True unless the transform is for names that are not there."""
        found = map(self.pattern.search, names) if self.is_group else ()
        return not self.is_group or any(one and one["g0"] for one in found)

    def rename(self, name: str) -> tuple[str, int | None]:
        """Return the new name and the number of the source that matched; None if none did."""
        prefix = next((one for one in self.prefixes if name.startswith(one)), None)
        inner = name.removeprefix(prefix or "")
        if prefix is None or (found := self.pattern.search(inner)) is None:
            return name, None
        source = int(str(found.lastgroup)[1:])
        target = self.targets[source if self.is_group else 0]
        if r"\1" in target:
            captured = found[int(found.lastindex or 0) + 1]
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
    table, base = _table()["transforms"], base_prefix(tree)
    outer, seen = f"{base}." if base else "", list[tuple[str, str]]()
    lines: list[tuple[Any, tuple[str, ...]]] = []
    for path, cls, model_type in _model_classes(tree):
        names = [cls] if cls in table else [cls, model_type]
        claimed = (name in names and f"{path}.".startswith(above) for name, above in seen)
        if names[-1] not in table or any(claimed):
            continue
        seen += [(name, f"{path}." if path else "") for name in names]
        scope = path.removeprefix(base).removeprefix(".")
        inner = f"{scope}." if scope else ""
        own = table[names[-1]]
        prefixes = (outer + inner, inner) if path else ("",)
        lines += [(line, prefixes) for line in (table[own] if isinstance(own, str) else own)]
    lines += [(line, ("",)) for line in (*table["legacy"], *_table()["others"])]
    return [
        Transform(**{**line, "pattern": re.compile(line["pattern"]), "prefixes": prefixes})
        for line, prefixes in lines
    ]


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


def load(stored: Mapping[str, StoredTensor], expected: Mapping[str, Shape], tree: Node) -> Loaded:
    """Return what the model of a tree takes from stored tensors, as transformers loads them."""
    transforms, base = [one for one in transforms_of(tree) if one.applies(stored)], base_prefix(tree)
    odd = (one.is_group or one.offset or _INDEX.search(one.pattern.pattern) for one in transforms)
    is_regular = not any(odd)  # layer numbers do not matter
    renamed: dict[str, Renamed] = {}
    collected: dict[str, tuple[Transform | None, Shapes]] = {}
    loaded = Loaded({}, {}, {}, set())
    for name in sorted(stored):
        key, numbers = _without_numbers(name) if is_regular else (name, [])
        if key not in renamed:
            renamed[key] = _rename(key, transforms)
        target, converter, source = renamed[key]
        for place, number in enumerate(numbers, _PLACE):
            target = target.replace(str(place), number)
        target = _fit_prefix(target, base, expected)
        if target not in expected and name in expected:
            target, converter, source = name, None, 0
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
    places = map(str, count(_PLACE))
    return _NUMBER.sub(lambda _: next(places), name), _NUMBER.findall(name)


def _rename(name: str, transforms: list[Transform]) -> Renamed:
    """Return a name after all renames and the first converter that matches, and which of its sources did."""
    for one in transforms:
        name = name if one.operations else one.rename(name)[0]
    for one in transforms:
        target, source = one.rename(name) if one.operations else (name, None)
        if source is not None:
            return target, one, source
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
    parts = [[shape for shape in part if shape is not None] for part in found]
    unknown |= (operations := {name for name, *_ in converter.operations} - _OPERATIONS.keys())
    if parts != found or operations:
        return dict.fromkeys(names)
    try:
        for operation, *dims in converter.operations:
            parts = _OPERATIONS[operation](parts, [expected.get(name, ()) for name in names], *dims)
    except (IndexError, ValueError):  # tensors that the operation cannot join
        return dict.fromkeys(names, (-1,))
    return {name: part[0] for name, part in zip(names, parts, strict=False)}


def _stack(parts: Parts, _: list[Shape], dim: int) -> Parts:
    return [[(*_common_shape(part)[:dim], len(part), *_common_shape(part)[dim:])] for part in parts]


def _concatenate(parts: Parts, _: list[Shape], dim: int) -> Parts:
    every = [shape for part in parts for shape in part]
    others = _common_shape([_resize(shape, dim, 0) for shape in every])
    return [[_resize(others, dim, sum(shape[dim] for shape in every))]]


def _transpose(parts: Parts, expected: list[Shape], dim0: int, dim1: int, if_needed: bool) -> Parts:
    shape = [*parts[0][0]]
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    return parts if if_needed and parts[0][0] == expected[0] else [[tuple(shape)]]


def _split(parts: Parts, expected: list[Shape], dim: int) -> Parts:
    """Return the parts of a tensor: of the expected sizes if these add up, else equal ones."""
    shape, sizes = parts[0][0], [one[dim] if one else 0 for one in expected]
    if sum(sizes) != shape[dim]:
        sizes = [shape[dim] // len(sizes)] * len(sizes)
    return [[_resize(shape, dim, size)] for size in sizes]


def _join_heads(parts: Parts, _: list[Shape]) -> Parts:
    """Return the shape of keys `(heads, rank, size)` and values `(heads, size, rank)` as one matrix."""
    heads, rank, first = parts[0][0]
    return [[(heads * (first + parts[1][0][1]), rank)]]


def _remove_padding(parts: Parts, expected: list[Shape]) -> Parts:
    return [[_resize(parts[0][0], 0, min(parts[0][0][0], expected[0][0]))]]


_OPERATIONS: dict[str, Callable[..., Parts]] = {
    "MergeModulelist": _stack,
    "Concatenate": _concatenate,
    "Transpose": _transpose,
    "Heads": _join_heads,
    "Inkling2UnpadVocab": _remove_padding,
    **dict.fromkeys(("Chunk", "Split"), _split),
    **dict.fromkeys(("Interleave", "PermuteForRope"), lambda parts, *_: parts),
}


def _common_shape(shapes: list[Shape]) -> Shape:
    """Return the shape that all have. Errors: :class:`ValueError` if they differ."""
    (one,) = {*shapes}
    return one


def _resize(shape: Shape, dim: int, size: int) -> Shape:
    return (*shape[:dim], size, *shape[dim + 1 :])
