"""The reference models of transformers on the meta device. torch is imported when it is needed."""

from __future__ import annotations

from archspec.reference.classes import (
    Listing,
    config_class,
    config_of,
    exported,
    mapped,
    model_class,
    readonly_names,
    versions,
)
from archspec.reference.construction import Row, built, module_rows, spec_rows, transformers_rows
from archspec.reference.verdicts import Refused, Unavailable

__all__ = [
    "Listing",
    "Refused",
    "Row",
    "Unavailable",
    "built",
    "config_class",
    "config_of",
    "exported",
    "mapped",
    "model_class",
    "module_rows",
    "readonly_names",
    "spec_rows",
    "transformers_rows",
    "versions",
]
