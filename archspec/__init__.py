"""archspec: parameter counts of model architectures, exact and in closed form, from configs.

The names below are the public interface; docs/ says how the parts fit together. Each is imported when it is
first asked for: a count must not pay for SymPy or NumPy. `__init__.pyi` declares them for type checkers.
"""

from __future__ import annotations

__version__ = "0.1.0"
_HOMES = {
    "archspec.authoring.derive": ("Derived", "derive"),
    "archspec.authoring.verify": ("Verification", "verify"),
    "archspec.checking.check": ("Check", "check"),
    "archspec.compare.diff": ("Diff", "diff"),
    "archspec.compare.table": ("ModelTable", "table"),
    "archspec.costs.forward": ("CacheTensor", "Forward"),
    "archspec.costs.weights": ("Weights",),
    "archspec.errors": (
        *("ArchspecError", "ConfigError", "FormulaError", "MissingPackageError", "Problem", "SpecError"),
        *("SweepError", "UnknownArchitectureError"),
    ),
    "archspec.linting.files": ("Lint", "lint"),
    "archspec.linting.schema": ("spec_schema",),
    "archspec.models.calls": ("Cache", "Flops"),
    "archspec.models.catalog": ("Catalog", "architectures", "catalog"),
    "archspec.models.counts": ("Counts",),
    "archspec.models.fields": ("FieldValue", "Fields", "Sensitivities"),
    "archspec.models.formula": ("Formula",),
    "archspec.models.memory": ("Memory", "Training"),
    "archspec.models.model": ("Model", "formula", "load"),
    "archspec.models.parts": ("Excerpt", "Leading", "Parts"),
    "archspec.models.tree": ("Tree",),
    "archspec.schemas": ("schema",),
    "archspec.solving.solutions": ("complete",),
    "archspec.solving.solve": ("Solution", "Solutions", "solve"),
    "archspec.specs.library": ("TRANSFORMERS_VERSION",),
    "archspec.sweeping.sweep": ("Sweep", "sweep"),
    "archspec.tree.tensors": ("Tensor",),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from archspec.extras import import_optional

            globals()[name] = found = getattr(import_optional(home), name)
            return found
    raise AttributeError(f"module 'archspec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__version__"]
