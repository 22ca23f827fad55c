"""A spec of one's own, held to the class that its header names: `code: package/module.py`.

After the file may stand what `archspec derive` was told of the class, as it writes there itself: `--config
MODULE:CLASS`, and `--kwargs NAME=VALUE,...` of arguments that the spec has no field for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from archspec.configs.overrides import parse_settings
from archspec.configs.scope import Scope, SubConfig
from archspec.deriving.own import config_class, find_own, keywords, named
from archspec.deriving.own_check import verify_class
from archspec.deriving.target import Target
from archspec.errors import ArchspecError, Place, SpecError
from archspec.specs.exported import exported_types
from archspec.specs.records import Spec
from archspec.verifying.verifier import Outcome, verify_spec

_CODE = (
    r"code: (?P<path>[\w./\-]+)\.py(?:,? --config (?P<config>[\w.]+:\w+))?(?:,? --kwargs (?P<kwargs>\S+))?"
)
_HELP = "name the file of the class, as it is imported: # code: package/module.py"


def verify_own(spec: Spec, architecture: str, samples: int, seed: int) -> Outcome:
    """Holds a class of a spec to the code that its header names, one of transformers or of one's own.

    The outcome says why nothing could be compared where that code is not there.
    """
    try:
        if not _code(spec)["path"].startswith("transformers/"):
            return verify_class(spec, target_of(spec, architecture), architecture, samples, seed)
        if spec.model_type in exported_types():
            return verify_spec(spec, architecture, samples, seed)
        missing = f"transformers has no model type {spec.model_type}: name the file of a class of your own"
    except ArchspecError as error:
        missing = str(error)
    return Outcome(architecture, spec.model_type, 0, 0, (), unavailable=missing)


def target_of(spec: Spec, architecture: str) -> Target:
    """The class that a spec describes, with its default config: where it takes none, the spec's defaults."""
    code = _code(spec)
    name, config = f"{code['path'].replace('/', '.')}:{architecture}", code["config"] or ""
    cls = named(name)
    if config or config_class(cls) is not None:
        return find_own(name, config)
    said = parse_settings([code["kwargs"]] if code["kwargs"] else [])
    return find_own(name, "", {**said, **_defaults(spec, keywords(cls))})


def _code(spec: Spec) -> Mapping[str, Any]:
    found = re.search(_CODE, spec.header)
    if found is None:
        raise SpecError("the header does not name the code", Place(spec.source, 1, 1), help=_HELP)
    return found.groupdict()


def _defaults(spec: Spec, names: Mapping[str, Any]) -> dict[str, Any]:
    scope = Scope(spec, {})
    values = {name: scope.get(name) for name in spec.fields if name in names}
    return {name: value for name, value in values.items() if not isinstance(value, SubConfig)}
