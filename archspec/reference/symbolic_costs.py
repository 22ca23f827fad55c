"""FLOPs of a call as torch itself counts them over symbolic lengths: a polynomial in these.

FlopCounterMode over fake tensors whose sizes are symbols: nothing of the spec's is in it. The expression
holds where torch takes the branches that it takes at the lengths of the call.
"""

from __future__ import annotations

from typing import Any

from archspec.costs.records import Call
from archspec.reference.costs import inputs
from archspec.reference.meta import on_meta
from archspec.reference.verdicts import Unavailable, told


def symbolic_flops(model: Any, call: Call) -> Any:
    """A SymPy expression in `batch`, `tokens` and `encoder_tokens`; the lengths of the call must differ.

    Errors: :class:`archspec.reference.Unavailable` where a model does not run over symbols.
    """
    import sympy
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    from torch.utils.flop_counter import FlopCounterMode

    fake = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    names: dict[Any, Any] = {}
    try:
        taken = {name: _symbolic(fake, tensor, names, call) for name, tensor in inputs(model, call).items()}
        with on_meta(), fake, torch.no_grad(), FlopCounterMode(display=False) as counter:
            model(**taken)
    except Exception as error:  # whatever a forward raises over symbols, it says nothing of the model's costs
        raise Unavailable(told(error)) from None
    flops = counter.get_total_flops()
    found = flops.node.expr if isinstance(flops, torch.SymInt) else sympy.Integer(flops)
    return sympy.expand(found.xreplace(names))


def _symbolic(fake: Any, tensor: Any, names: dict[Any, Any], call: Call) -> Any:
    """An input whose first two sizes are symbols; notes what they are called in `names`."""
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
