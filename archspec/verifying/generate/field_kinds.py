"""What kind of values a field has, as far as its declaration and its name tell."""

from __future__ import annotations

from archspec.errors import UnknownArchitectureError
from archspec.specs.records import Field, SpecLibrary, model_types


def part_types(library: SpecLibrary, field: Field) -> list[str]:
    """The model types between which a sub-config's default chooses, or the only one, if counted."""
    try:
        types = model_types(field.sub_config) if field.sub_config else []
        return [model_type for model_type in types if not library.load(model_type).refuse]
    except UnknownArchitectureError:  # not described yet
        return []


def kinds_of(field: Field) -> set[str]:
    return {kind.partition("[")[0] for kind in field.types}
