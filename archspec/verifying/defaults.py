"""A spec's defaults and names held to those of transformers' config class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, Place
from archspec.reference import Refused, Unavailable, config_class, config_of, readonly_names
from archspec.specs.records import Spec
from archspec.verifying.generate.field_kinds import part_types
from archspec.verifying.places import read_places

_ABSENT = object()


class SettingDifference(NamedTuple):
    """A field whose default, or a name whose meaning, is another one in transformers.

    ``places``: its line, then those that the default is computed from. Of a sub-config's field: the line of
    the sub-config, which may set the field, then that of the field in its own spec.
    """

    kind: str
    name: str
    expected: str
    found: str
    places: tuple[Place, ...]


def settings_differences(spec: Spec) -> list[SettingDifference]:
    """Every field of a spec at the default config, every name of its attribute_map.

    Errors: :class:`archspec.reference.Unavailable`, :class:`archspec.reference.Refused`.
    """
    config = config_of(spec.model_type, {"model_type": spec.model_type})
    scope = Scope(spec, {"model_type": spec.model_type})
    return [*_defaults(scope, config, ""), *_absent(scope), *_zeros(scope), *_names(spec), *_readonly(spec)]


def config_differences(spec: Spec, raw: dict[str, Any]) -> list[SettingDifference]:
    """The fields that transformers' config object of a raw config has with other values than the spec.

    Errors: :class:`archspec.reference.Unavailable`, :class:`archspec.reference.Refused`.
    """
    raw = {"model_type": spec.model_type, **raw}
    return list(_defaults(Scope(spec, raw), config_of(spec.model_type, raw), ""))


def read_by_transformers(spec: Spec, raw: dict[str, Any]) -> str:
    """The values that transformers' config object of a raw config has for a spec's fields, as text.

    Errors: :class:`archspec.reference.Unavailable`, :class:`archspec.reference.Refused`.
    """
    config = config_of(spec.model_type, raw)
    values = {name: _read(config, name) for name in (*spec.fields, *spec.fixed)}
    parts = {name: part.to_dict() for name, part in values.items() if hasattr(part, "to_dict")}
    return repr({**values, **parts})


def _defaults(scope: Scope, config: Any, path: str) -> Iterator[SettingDifference]:
    spec = scope.spec
    for name in [*spec.fields, *spec.fixed]:
        theirs = _read(config, name)
        field = spec.fields.get(name)
        places = _places(scope, name)
        try:
            ours = scope.get(name)
        except ArchspecError as error:
            if theirs is not _ABSENT and field is not None and not field.required:
                told = tuple(problem.place for problem in error.problems if problem.place)
                yield SettingDifference("default", path + name, _shown(theirs), str(error), (*told, *places))
            continue
        computed = name in spec.fixed or bool(field and field.computed)
        if field is not None and field.of_layers is not None:
            ours, theirs = _of_layers(field.of_layers, ours, theirs, scope)
        if isinstance(ours, SubConfig) and (theirs is None or theirs is _ABSENT):
            found = f"a config of {ours.model_type}"
            yield SettingDifference("default", path + name, "null", found, places)
        elif isinstance(ours, SubConfig):
            yield from _sub_config(ours, theirs, path + name, places)
        elif theirs is not _ABSENT and not _same(ours, theirs, computed):
            yield SettingDifference("default", path + name, _shown(theirs), _shown(ours), places)


def _of_layers(names: tuple[str, ...], ours: Any, theirs: Any, scope: Scope) -> tuple[Any, Any]:
    """What each layer has of some fields, of its own or of all layers; the fields that the spec has."""
    known = [name for name in names if scope.has(name)]
    everywhere = {name: scope.get(name) for name in known}
    mine = [[ours.get(i, everywhere).get(n, everywhere[n]) for n in known] for i in range(len(theirs))]
    return mine, [[getattr(layer, name) for name in known] for layer in theirs]


def _absent(scope: Scope) -> Iterator[SettingDifference]:
    """The same for sub-configs that are null by default, where no architecture of their own is verified."""
    library = scope.spec.library
    null = (field for name, field in scope.spec.fields.items() if scope.values.get(name, ...) is None)
    for name, model_type in [(field.name, one) for field in null for one in part_types(library, field)]:
        part, raw = library.load(model_type), {"model_type": model_type}
        if not part.architectures:
            yield from _defaults(Scope(part, raw), config_of(model_type, raw), f"{name}.")


def _zeros(scope: Scope) -> Iterator[SettingDifference]:
    """Computed numbers that are 0 in the spec where transformers computes them for a 0 too."""
    for name, field in scope.spec.fields.items():
        if not field.computed or name in scope.spec.fixed or type(scope.values.get(name)) is not int:
            continue
        raw = {"model_type": scope.spec.model_type, name: 0}
        try:
            theirs = _read(config_of(scope.spec.model_type, raw), name)
            ours = Scope(scope.spec, raw).get(name)
        except (ArchspecError, Refused, Unavailable):
            continue
        if type(theirs) is int and theirs != 0 and ours != theirs:
            places = _places(scope, name)
            yield SettingDifference("default", f"{name} for 0", _shown(theirs), _shown(ours), places)


def _read(config: Any, name: str) -> Any:
    try:
        return getattr(config, name, _ABSENT)
    except RuntimeError:  # layers of a kind have another value; this is the others'
        return vars(config).get(name, _ABSENT)


def _places(scope: Scope, name: str) -> tuple[Place, ...]:
    decided = scope.spec.fixed.get(name)
    value = decided if decided is not None else scope.spec.fields[name].default
    own = decided.place if decided is not None else scope.spec.fields[name].place
    return (own, *(read_places(value, None, scope)[::-1] if value is not None else ()))


def _sub_config(
    ours: SubConfig, theirs: Any, path: str, places: tuple[Place, ...]
) -> Iterator[SettingDifference]:
    expected = theirs.model_type  # a part of a config may have none
    if expected and ours.model_type != expected:
        yield SettingDifference("default", f"{path}.model_type", str(expected), ours.model_type, places)
        return
    try:  # it may be refused; its defaults are told all the same
        scope = ours.opened(ours.library.load(ours.model_type))
    except ArchspecError:  # not described yet
        return
    for difference in _defaults(scope, theirs, path + "."):
        yield difference._replace(places=(*places, *difference.places))


def _same(ours: Any, theirs: Any, computed: bool) -> bool:
    if theirs is None and computed:
        return True  # computed where the model is built, not in the config class
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(_same(a, b, False) for a, b in zip(ours, theirs, strict=True))
    if isinstance(ours, bool) != isinstance(theirs, bool):
        return False
    return bool(ours == theirs)


def _names(spec: Spec) -> Iterator[SettingDifference]:
    """Names that transformers' config class knows a field by, and the spec does not, or otherwise."""
    config = config_class(spec.model_type)
    theirs: dict[str, str] = getattr(config, "attribute_map", {})
    order = list(getattr(config, "__dataclass_fields__", ()))
    for alias, name in theirs.items():
        if alias in order and name in order[order.index(alias) :]:
            continue  # the field is set after its other name, whose value is lost
        field = spec.fields.get(spec.attribute_map.get(name, name))
        if field is not None and field.name != alias and spec.attribute_map.get(alias, alias) != field.name:
            yield SettingDifference("alias", alias, f"a name of {name}", "no such name", (field.place,))


def _readonly(spec: Spec) -> Iterator[SettingDifference]:
    """Names that only the spec or only transformers' config class refuses to be given, as computed."""
    theirs = readonly_names(config_class(spec.model_type))
    for name in sorted(theirs ^ spec.readonly.keys()):
        place = spec.readonly.get(name) or Place(spec.source, 1, 1)
        expected, found = ("readonly", "no such name") if name in theirs else ("no such name", "readonly")
        yield SettingDifference("readonly", name, expected, found, (place,))


def _shown(value: Any) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) < 120 else text[:117] + "..."
