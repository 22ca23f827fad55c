"""A build hook of hatchling: a wheel has the specs as one file, compiled from the YAML files."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SpecsBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled specs, and the tables next to them, to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the specs. An editable installation reads those of the checkout."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from archspec.specs.files import COMPILED
        from archspec.specs.library import shipped_library
        from tools.release import compiled_specs

        self.folder = tempfile.TemporaryDirectory()
        compiled = Path(self.folder.name, COMPILED)
        compiled.write_text(compiled_specs(shipped_library()), encoding="utf-8")
        tables = (path for path in Path(self.root, "formulas").glob("*.json") if path.name != COMPILED)
        for path in (*tables, compiled):
            build_data["force_include"][str(path)] = f"archspec/formulas/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary file."""
        if version != "editable":
            self.folder.cleanup()
