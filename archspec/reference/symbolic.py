"""FLOPs of a forward pass over symbolic lengths, as torch counts them."""

from __future__ import annotations

from typing import Any

from archspec.costs.records import Call
from archspec.reference.costs import inputs
from archspec.reference.meta import on_meta
from archspec.reference.verdicts import measuring_errors


def symbolic_flops(model: Any, call: Call) -> Any:
    """Return FLOPs as torch counts them: a SymPy expression in `batch`, `tokens` and `encoder_tokens`.

    All lengths must differ. The expression is valid if torch takes the same branches as at these
    lengths. Errors: :class:`archspec.reference.Unavailable` for a model that does not run on symbols.
    """
    import sympy
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    from torch.utils.flop_counter import FlopCounterMode

    fake = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    names: dict[Any, Any] = {}
    counter = FlopCounterMode(display=False)
    with measuring_errors():
        taken = {
            name: _symbolic_input(fake, tensor, names, call) for name, tensor in inputs(model, call).items()
        }
        with on_meta(), fake, torch.no_grad(), counter:
            model(**taken)
    flops = counter.get_total_flops()
    found = flops.node.expr if isinstance(flops, torch.SymInt) else sympy.Integer(flops)
    return sympy.expand(found.xreplace(names))


def _symbolic_input(fake: Any, tensor: Any, names: dict[Any, Any], call: Call) -> Any:
    """Return an input whose first two sizes are symbols, and add these to `names`."""
    import sympy
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

    dynamic = [DimDynamic.DYNAMIC] * 2 + [DimDynamic.STATIC] * (tensor.ndim - 2)
    found = fake.from_tensor(
        tensor,
        source=ConstantSource(f"input{len(names)}"),
        symbolic_context=StatelessSymbolicContext(dynamic_sizes=dynamic),
    )
    for size, length in zip(found.shape[:2], tensor.shape[:2], strict=True):
        name = next(name for name, value in call._asdict().items() if value == length)
        names[size.node.expr] = sympy.Symbol(name)
    return found
