"""The defaults and names of a spec, compared with those of transformers' config class."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, Place
from archspec.reference import Refused, Unavailable, config_class, config_of
from archspec.reference.classes import readonly_names
from archspec.specs.records import Spec
from archspec.verifying.blame import Config, Difference
from archspec.verifying.generate.choices import part_types
from archspec.verifying.trail import read_places

_ABSENT = object()


def setting_differences(spec: Spec) -> list[Difference]:
    """Return the fields with another default, and the names that only one side knows.

    Errors: :class:`archspec.reference.Unavailable`, :class:`archspec.reference.Refused`.
    """
    raw = {"model_type": spec.model_type}
    scope = Scope(spec, raw)
    found = list(_defaults(scope, config_of(spec.model_type, raw), ""))  # evaluates the defaults
    found += [*_null_parts(scope), *_zero_differences(scope)]
    return [*found, *_alias_differences(spec), *_readonly_differences(spec)]


def config_differences(spec: Spec, raw: Config) -> list[Difference]:
    """Return the fields of a raw config that transformers' config object reads differently from the spec.

    Errors: those of :func:`setting_differences`.
    """
    raw = {"model_type": spec.model_type, **raw}
    return list(_defaults(Scope(spec, raw), config_of(spec.model_type, raw), ""))


def read_by_transformers(spec: Spec, raw: Config) -> str:
    """Return the values that transformers' config object of a raw config has for a spec's fields, as text.

    Errors: those of :func:`setting_differences`.
    """
    config = config_of(spec.model_type, raw)
    values = {name: _read(config, name) for name in (*spec.fields, *spec.fixed)}
    parts = {name: part.to_dict() for name, part in values.items() if hasattr(part, "to_dict")}
    return repr({**values, **parts})


def _difference(kind: str, name: str, expected: str, found: str, places: list[Place]) -> Difference:
    return Difference("", {}, kind, name, expected, found, tuple(map(str, places)))


def _defaults(scope: Scope, config: Any, path: str) -> Iterator[Difference]:
    spec = scope.spec
    for name in [*spec.fields, *spec.fixed]:
        theirs, own = _read(config, name), path + name
        field = spec.fields.get(name)
        places = _places(scope, name)
        try:
            ours = scope.get(name)
        except ArchspecError as error:
            if theirs is not _ABSENT and field is not None and field.default is not None:
                places = [*(problem.place for problem in error.problems if problem.place), *places]
                yield _difference("default", own, _value_text(theirs), str(error), places)
            continue
        computed = name in spec.fixed or bool(field and field.computed)
        if field is not None and field.of_layers is not None:
            ours, theirs = _by_layer(field.of_layers, ours, theirs, scope)
        if isinstance(ours, SubConfig) and (theirs is None or theirs is _ABSENT):
            yield _difference("default", own, "null", f"a config of {ours.model_type}", places)
        elif isinstance(ours, SubConfig):
            yield from _sub_config(ours, theirs, own, places)
        elif theirs is not _ABSENT and not _is_equal(ours, theirs, computed):
            yield _difference("default", own, _value_text(theirs), _value_text(ours), places)


def _by_layer(names: tuple[str, ...], ours: Any, theirs: Any, scope: Scope) -> tuple[Any, Any]:
    """Return the values of some fields for each layer, on both sides, without fields unknown to the spec."""
    known = [name for name in names if scope.has(name)]
    common = {name: scope.get(name) for name in known}
    mine = [[ours.get(i, common).get(name, common[name]) for name in known] for i in range(len(theirs))]
    return mine, [[getattr(layer, name) for name in known] for layer in theirs]


def _null_parts(scope: Scope) -> Iterator[Difference]:
    """Yield the defaults of sub-configs that are null by default, unless one of their classes is verified."""
    library = scope.spec.library
    null = (field for name, field in scope.spec.fields.items() if scope.values.get(name, ...) is None)
    for name, model_type in [(field.name, one) for field in null for one in part_types(library, field)]:
        part, raw = library.load(model_type), {"model_type": model_type}
        if not part.architectures:
            yield from _defaults(Scope(part, raw), config_of(model_type, raw), f"{name}.")


def _zero_differences(scope: Scope) -> Iterator[Difference]:
    """Yield computed numbers that are 0 in the spec, but that transformers also computes for a 0."""
    spec = scope.spec
    for name, field in spec.fields.items():
        if not field.computed or name in spec.fixed or type(scope.values.get(name)) is not int:
            continue
        raw = {"model_type": spec.model_type, name: 0}
        try:
            theirs = _read(config_of(spec.model_type, raw), name)
            ours = Scope(spec, raw).get(name)
        except (ArchspecError, Refused, Unavailable):
            continue
        if type(theirs) is int and theirs not in (0, ours):
            sides = str(theirs), _value_text(ours)
            yield _difference("default", f"{name} for 0", *sides, _places(scope, name))


def _read(config: Any, name: str) -> Any:
    try:
        return getattr(config, name, _ABSENT)
    except RuntimeError:  # some layers have another value; this is the common one
        return vars(config).get(name, _ABSENT)


def _places(scope: Scope, name: str) -> list[Place]:
    """Return the line of a field, then those that its default is computed from."""
    fixed = scope.spec.fixed.get(name)
    holder = fixed or scope.spec.fields[name]
    value = fixed or scope.spec.fields[name].default
    return [holder.place, *(read_places(value, None, scope)[::-1] if value is not None else ())]


def _sub_config(ours: SubConfig, theirs: Any, path: str, places: list[Place]) -> Iterator[Difference]:
    """Yield the differences of a sub-config, with the line of the sub-config first: it may set the field."""
    expected = theirs.model_type  # may be missing
    if expected and ours.model_type != expected:
        yield _difference("default", f"{path}.model_type", str(expected), ours.model_type, places)
        return
    try:  # it may be rejected; its defaults are compared all the same
        scope = ours.open(ours.library.load(ours.model_type))
    except ArchspecError:  # not supported
        return
    for one in _defaults(scope, theirs, path + "."):
        yield one._replace(places=(*map(str, places), *one.places))


def _is_equal(ours: Any, theirs: Any, computed: bool) -> bool:
    if theirs is None and computed:
        return True  # computed by the model, not by the config class
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(_is_equal, ours, theirs, repeat(False)))
    return isinstance(ours, bool) == isinstance(theirs, bool) and bool(ours == theirs)


def _alias_differences(spec: Spec) -> Iterator[Difference]:
    """Yield names under which transformers' config class knows a field, but not the spec."""
    config = config_class(spec.model_type)
    theirs: dict[str, str] = getattr(config, "attribute_map", {})
    order = list(getattr(config, "__dataclass_fields__", ()))
    for alias, name in theirs.items():
        if alias in order and name in order[order.index(alias) :]:
            continue  # the field is set after its other name, whose value is lost
        field = spec.fields.get(spec.attribute_map.get(name, name))
        if field is not None and field.name != alias and spec.attribute_map.get(alias, alias) != field.name:
            yield _difference("alias", alias, f"a name of {name}", "no such name", [field.place])


def _readonly_differences(spec: Spec) -> Iterator[Difference]:
    """Yield names that only one side rejects because it computes them."""
    theirs = readonly_names(config_class(spec.model_type))
    for name in sorted(theirs ^ spec.readonly.keys()):
        place = spec.readonly.get(name) or Place(spec.source, 1, 1)
        expected, found = ("readonly", "no such name") if name in theirs else ("no such name", "readonly")
        yield _difference("readonly", name, expected, found, [place])


def _value_text(value: Any) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) < 120 else text[:117] + "..."
