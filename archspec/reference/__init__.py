"""The reference models of transformers on the meta device. torch is imported when it is needed."""

from __future__ import annotations

from archspec.reference.classes import auto_classes, config_class, config_of, model_class, versions
from archspec.reference.construction import Row, build, module_rows, spec_rows, transformers_rows
from archspec.reference.verdicts import Refused, Unavailable

__all__ = [
    "Refused", "Row", "Unavailable", "auto_classes", "build", "config_class", "config_of", "model_class",
    "module_rows", "spec_rows", "transformers_rows", "versions",
]  # fmt: skip
