"""The results of a search: configs in full as transformers reads them, and a table of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from archspec.arguments import check_arguments
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, SweepError
from archspec.models.model import Model, load
from archspec.models.report import Report, fact
from archspec.reports import Block, Table
from archspec.solving.laws import LawFacts
from archspec.specs.library import TRANSFORMERS_VERSION, Library
from archspec.sweeping.files import whole_file
from archspec.tables.quantities import QUANTITIES
from archspec.terminal import number

_COSTS = {
    "training_flops": "training FLOPs on all training tokens",
    "memory_bytes": "bytes of weights and KV cache",
    "params": "parameters, if the law counts all of them",
    "non_embedding_params": "non-embedding parameters, if the law counts these",
    "tokens": "compute-optimal training tokens by the law",
}


class Solution(Report):
    """A config found by :func:`archspec.solve`."""

    values: dict[str, Any] = fact(
        "the searched fields and their values", kind="dict[str, int | float | str | bool | list | None]"
    )
    params: int = fact(QUANTITIES["params"].help)
    active_params: int = fact(QUANTITIES["active_params"].help)
    non_embedding_params: int = fact(QUANTITIES["non_embedding_params"].help)
    bytes: int = fact("bytes of the parameters in the requested dtype, else in the config's")
    miss: Fraction = fact(
        "the largest relative error over the targets", kind="float", json=lambda s: float(s.miss)
    )
    config: dict[str, Any] = fact("the complete config.json")
    costs: dict[str, int] = fact(
        "costs that have a budget",
        keys=_COSTS,
        json=lambda self: {"memory_bytes" if k == "memory" else k: cost for k, cost in self.costs.items()},
    )
    path: str | None = fact("the path of the written config.json; null if it was not written")

    @property
    def miss_text(self) -> str:
        """The error as a percentage."""
        return f"{float(100 * self.miss):.3g}%"

    def blocks(self) -> Iterator[Block]:
        """Yield one line: fields, size, error."""
        values = ", ".join(f"{name} = {_text(value)}" for name, value in self.values.items())
        yield f"{values} with {self.params:,} parameters, {self.miss_text} error"

    @check_arguments
    def save(self, folder: str, overwrite: bool = False) -> str:
        """Write config.json to a directory, which is created if missing; return the file's path.

        Errors: :class:`SweepError`, also if the file exists, unless ``overwrite``.
        """
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            message = f"{folder}: {error.strerror or error}"
            raise SweepError(message, help="choose another directory") from None
        path = os.path.join(folder, "config.json")
        with whole_file(path, overwrite) as partial, open(partial, "w", encoding="utf-8") as file:
            json.dump(self.config, file, indent=2, ensure_ascii=False)
            file.write("\n")
        self.path = path
        return path


class Solutions(Report, list[Solution]):
    """Configs that meet a budget, best first; made by :func:`archspec.solve`.

    ``columns`` are the sizes in the table.
    """

    law: LawFacts | None = fact("the prediction of a scaling law; null without a compute budget")
    ranking: str = fact("how solutions are ranked, or empty")
    solutions: list[Solution] = fact("the configs, the best first", list, least=1)
    notes: list[str] = fact("notes on the config and on the search")

    def __init__(
        self, found: list[Solution], ranking: str, law: LawFacts | None, columns: list[str], notes: list[str]
    ) -> None:
        list.__init__(self, found)
        self.ranking, self.law, self.columns, self.notes = ranking, law, columns, notes

    def blocks(self) -> Iterator[Block]:
        """Yield the tables and lines to print."""
        if (law := self.law) is not None:
            compute = f"{law.compute:g}".replace("e+", "e")
            facts = [("law", law.law), ("source", law.source), ("compute in FLOPs", compute)]
            facts += [(f"N, {law.counts}", number(law.params)), ("D, tokens", number(law.tokens))]
            yield Table("law|", facts, header=False)
            yield ""
        costs = [name for name in self[0].costs if name not in self.columns]
        heads = [f">{name}" for name in ("rank", *self[0].values, *self.columns, *costs, "error")]
        rows = []
        for rank, one in enumerate(self, 1):
            counts = [getattr(one, name) for name in self.columns] + [one.costs[name] for name in costs]
            texts = [_text(value) for value in (*one.values.values(), *counts)]
            rows.append([str(rank), *texts, one.miss_text, *filter(None, [one.path])])
        yield Table("|".join([*heads, "config"] if self[0].path else heads), rows)
        if self.ranking:
            yield self.ranking

    def __repr__(self) -> str:
        return f"<{len(self)} configs, the first: {self[0] if self else 'none'}>"


def _text(value: Any) -> str:
    return number(value) if type(value) is int else str(value)


@check_arguments
def complete(model: Model, dtype: str | None = None) -> dict[str, Any]:
    """Return the config.json of a model: fields that a count depends on, and all that the config sets.

    Defaults that transformers computes from other fields are left out. The result is checked by loading it.

    Errors: :class:`SweepError` if the written config has a different count (a bug).

    >>> import archspec
    >>> written = archspec.complete(archspec.load("GPT2LMHeadModel", set={"n_layer": 24}))
    >>> written["architectures"], written["n_layer"], written["n_embd"]
    (['GPT2LMHeadModel'], 24, 768)
    """
    library = model.spec.library
    assert isinstance(library, Library)
    # an explicit default may change others: then only what the config sets is written
    for fields in (_fields(model.scope), _given_options(model.scope)):
        config = {"architectures": [model.architecture], "model_type": model.model_type, **fields}
        if dtype:
            config.pop("torch_dtype", None)
            config["dtype"] = dtype
        config["transformers_version"] = TRANSFORMERS_VERSION
        try:
            if load(config, specs=library).params == model.params:
                return config
        except ArchspecError:
            continue
    raise SweepError(f"a bug of archspec: the written config does not have {model.params:,} parameters")


def _given_options(scope: Scope) -> dict[str, Any]:
    rest = {name: value for name, value in scope.raw.items() if name not in ("architectures", "model_type")}
    return {scope.given.get(name, name): value for name, value in rest.items()}


def _fields(scope: Scope) -> dict[str, Any]:
    """Return all fields that the spec declares, and the other fields that the config states."""
    found: dict[str, Any] = {}
    for name, field in scope.spec.fields.items():
        given, written = scope.raw.get(name), scope.given.get(name, name)
        if name in {*scope.spec.fixed, *scope.spec.readonly} or (given is None and field.computed):
            continue  # transformers computes it, even from a stated value
        value = scope.get(name)
        if isinstance(value, SubConfig):
            found[written] = {"model_type": value.model_type, **_fields(value.scope)}
        elif value is not None or name in scope.raw:
            found[written] = value
    return found | {name: value for name, value in _given_options(scope).items() if name not in found}
