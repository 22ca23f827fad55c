"""Reports, as people and programs read them: text, HTML for notebooks, plain data."""

from __future__ import annotations

from collections.abc import Iterator

from archspec.reports import Block, plain
from archspec.terminal import number
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.forward import Forward


class Report:
    """Tables and sentences, printed as by the verb of the command line."""

    def blocks(self) -> Iterator[Block]:
        """Yield tables and sentences."""
        raise NotImplementedError

    def as_json(self) -> Any:
        """Return plain data, as the verb prints it with `--json`."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the plain text that the verb prints into a pipe."""
        return plain(self.blocks())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from archspec.render.html import blocks_html

        return blocks_html(self.blocks())


def call_json(call: Forward) -> dict[str, Any]:
    """Return the class and the lengths of a call as plain data."""
    lengths = call.call._asdict()
    return {"architecture": call.architecture, "model_type": call.scope.spec.model_type, **lengths}


def call_facts(call: Forward) -> list[tuple[str, str]]:
    """Return the class and the lengths of a call as rows of a table."""
    lengths = {name: getattr(call.call, name) for name in ("batch", "tokens", "past", "encoder_tokens")}
    names = [("architecture", call.architecture), ("model type", call.scope.spec.model_type)]
    return [*names, *((name, number(length)) for name, length in lengths.items() if length)]
