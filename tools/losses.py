"""`python -m tools.losses` writes formulas/losses.json: the loss of each class whose activations are exact.

Names of model types check these alone, and write nothing.
"""

from __future__ import annotations

import os
import sys

from archspec.costs.activations import LOSSES, PIPELINE, TENSOR, WHOLE, loss_of
from archspec.specs.library import shipped
from archspec.verifying.costs import losses


def main(names: list[str]) -> int:
    """Exit code 1 if a class that is checked has another loss than the file records."""
    found: dict[str, dict[tuple[str, str], str]] = {one: {} for one in (WHOLE, TENSOR, PIPELINE)}
    wrong = 0
    for model_type, name, kernels in losses.classes():
        if (names and model_type not in names) or not kernels:
            continue
        spec = shipped().load(model_type)
        loss = losses.verify_loss(spec, name, kernels)
        if loss is not None:
            found[WHOLE][model_type, name] = loss
            for ranks in losses.verify_ranks_loss(spec, name, kernels, loss):
                found[ranks][model_type, name] = loss
        wrong += bool(names) and loss != loss_of(model_type, name)
        kinds = [ranks for ranks, names in found.items() if (model_type, name) in names]
        print(model_type, name, loss, *kinds, flush=True)
    if not names:
        with open(os.path.join(shipped().folder, LOSSES), "w", encoding="utf-8") as file:
            file.write(losses.text(found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
