"""What is to be drafted."""

from __future__ import annotations

from typing import Any


class Target:
    """What is to be derived: the model type's name, its default config, its classes."""

    def __init__(self, model_type: str, config: Any, classes: list[type], own: bool) -> None:
        self.model_type, self.config, self.classes, self.own = model_type, config, classes, own
