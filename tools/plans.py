"""`python -m tools.plans` writes formulas/plans.json: transformers' plans, and which classes go by them."""

from __future__ import annotations

import os
import sys

from archspec.costs import parallel
from archspec.specs.library import shipped
from archspec.verifying.costs.ranks import plans_of, text, verify_ranks, verify_steps
from archspec.verifying.costs.record import in_scope


def main() -> int:
    """The plans first, as parameters are compared by them."""
    path = os.path.join(shipped().folder, parallel.PLANS)
    classes = [(model_type, name) for model_type, names in in_scope().items() for name in names]
    plans = plans_of(classes)
    found: dict[tuple[str, str], list[str]] = {}
    _write(path, text({}, plans))
    for model_type, name in classes:
        spec = shipped().load(model_type)
        outcome = verify_ranks(spec, name)
        steps = verify_steps(spec, name) if outcome.kinds else []
        found[model_type, name] = [*outcome.kinds, *steps]
        print(model_type, name, len(outcome.compared), *found[model_type, name], flush=True)
        for difference in outcome.differences[:2]:
            print("   ", str(difference)[:400], flush=True)
    _write(path, text(found, plans))
    return 0


def _write(path: str, content: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


if __name__ == "__main__":
    sys.exit(main())
