"""The class of transformers that a spec is compared with."""

from __future__ import annotations

from collections.abc import Mapping

from archspec.reference import Refused, Row, transformers_rows
from archspec.specs.records import Spec
from archspec.verifying.blame import Config, Difference
from archspec.verifying.defaults import setting_differences
from archspec.verifying.undeclared import Other, code_texts, layer_lists, other_values


class ReferenceClass:
    """Answers for a class of transformers; another class with these methods can take its place."""

    takes_nulls = True  # whether the config class checks types, so that nulls are worth a try

    def __init__(self, spec: Spec, architecture: str) -> None:
        self.spec, self.architecture = spec, architecture

    def rows(self, raw: Config) -> list[Row]:
        """Return the tensors of the model. Errors: :class:`Refused`, :class:`Unavailable`."""
        return transformers_rows(self.architecture, raw, self.spec.model_type)

    def may_differ(self, refusal: Refused, rows: list[Row]) -> bool:
        """Return True if a spec may count what the class refuses."""
        return False

    def code_texts(self) -> Mapping[str, list[str]]:
        """Return field -> the texts that the code compares it with."""
        return code_texts(self.spec)

    def other_values(self) -> list[Other]:
        """Return other values for the fields that the spec does not mention."""
        return list(other_values(self.spec))

    def layer_lists(self) -> list[str]:
        """Return the lists of layers' kinds that the config class reads."""
        return layer_lists(self.spec)

    def setting_differences(self) -> list[Difference]:
        """Return differences in defaults and names, which the first class of a spec reports."""
        return setting_differences(self.spec) if self.architecture == self.spec.architectures[0] else []
