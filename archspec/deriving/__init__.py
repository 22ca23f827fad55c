"""Specs drafted from constructors: the classes' own source, read with configs that carry expressions."""

from __future__ import annotations

from archspec.deriving.check import compiled, overlay, params, unread, verified
from archspec.deriving.classes import find
from archspec.deriving.own_spec import verify_own
from archspec.deriving.session import Draft, draft, known_types, mapped_classes

__all__ = [
    "Draft",
    "compiled",
    "draft",
    "find",
    "known_types",
    "mapped_classes",
    "overlay",
    "params",
    "unread",
    "verified",
    "verify_own",
]
