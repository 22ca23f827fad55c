"""Records tests/adapters/kinds.json: tensors of adapters other than LoRA, as peft adds and saves them.

`python -m tools.peft_tensors` builds the models of tests/adapters/kinds.py with small configs on the meta
device. A record is a digest of the names, shapes, requires_grad and saved names of all parameters, or null if
peft rejects the adapter.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

_TESTS = Path(__file__).parent.parent / "tests"
PATH = _TESTS / "adapters" / "kinds.json"


def digest(parameters: Iterable[tuple[str, tuple[int, ...], bool]], saved: dict[str, tuple[int, ...]]) -> str:
    """Return a digest of parameters by name, shape and requires_grad, and of the saved shapes by name."""
    lines = sorted(f"{name} {(*shape,)} {trained}" for name, shape, trained in parameters)
    lines += ["", *sorted(f"{name} {(*shape,)}" for name, shape in saved.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def record(name: str, raw: dict[str, Any], model_type: str, options: dict[str, Any]) -> list[Any] | None:
    """Return peft's numbers of trained and of all parameters, and the digest."""
    import torch
    from peft import get_peft_model, get_peft_model_state_dict

    from archspec.reference.construction import build_class
    from tools.from_peft import config_classes

    given = {key: value for key, value in options.items() if key != "peft_type"}
    with torch.device("meta"):
        built = build_class(name, {"model_type": model_type, **raw}, model_type)
        try:
            model = get_peft_model(built, config_classes()[options["peft_type"]](**given))
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError):
            return None
        with patch.object(torch.Tensor, "cpu", lambda tensor: tensor):  # meta tensors cannot be copied
            saved = get_peft_model_state_dict(model, save_embedding_layers=False)
    rows = [(key, tuple(one.shape), one.requires_grad) for key, one in model.named_parameters()]
    shapes = {key: tuple(one.shape) for key, one in saved.items()}
    return [*model.get_nb_trainable_parameters(), digest(rows, shapes)]


def main() -> None:
    """Write the file, one record a line."""
    sys.path.insert(0, str(_TESTS))
    kinds = importlib.import_module("adapters.kinds")
    import archspec

    warnings.simplefilter("ignore")
    rows = []
    for name, options in kinds.CASES:
        model_type = archspec.load(name).model_type
        rows.append(record(name, kinds.config(name), model_type, options))
    PATH.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
