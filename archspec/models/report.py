"""What a model has to say, as people and programs read it: text, HTML for notebooks, plain data."""

from __future__ import annotations

from collections.abc import Iterator

from archspec.reports import Block, plain
from archspec.typing_light import Any


class Report:
    """Tables and sentences; printed, they are what the verb of the command line prints."""

    def blocks(self) -> Iterator[Block]:
        """Its tables and sentences, in their order."""
        raise NotImplementedError

    def as_json(self) -> Any:
        """Plain data, as the verb prints it with `--json`."""
        raise NotImplementedError

    def text(self) -> str:
        """What the verb prints where nobody looks on."""
        return plain(self.blocks())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from archspec.render.html import blocks_html

        return blocks_html(self.blocks())
