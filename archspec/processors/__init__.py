"""From files of users, such as images of a height and a width, to the tensors that a model receives."""

from __future__ import annotations

from archspec.processors.canvas import Trace
from archspec.processors.processor import Processor, classes, read

__all__ = ["Processor", "Trace", "classes", "read"]
