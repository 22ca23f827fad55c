"""`python -m tools.plans` writes formulas/plans.json: transformers' plans, and which classes go by them."""

from __future__ import annotations

import os
import sys

from archspec.costs import parallel
from archspec.specs.library import shipped
from archspec.verify.costs.parallel import plans_of, text, verify_ranks
from archspec.verify.costs.record import in_scope


def main() -> int:
    """The plans first, as parameters are compared by them."""
    path = os.path.join(shipped().folder, parallel.PLANS)
    classes = [(model_type, name) for model_type, names in in_scope().items() for name in names]
    plans, found = plans_of(classes), {}
    _write(path, text({}, plans))
    for model_type, name in classes:
        found[model_type, name] = outcome = verify_ranks(shipped().load(model_type), name)
        print(model_type, name, len(outcome.compared), *outcome.kinds, flush=True)
        for difference in outcome.differences[:2]:
            print("   ", str(difference)[:400], flush=True)
    _write(path, text(found, plans))
    return 0


def _write(path: str, content: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


if __name__ == "__main__":
    sys.exit(main())
