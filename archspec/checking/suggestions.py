"""Field values with which a model has as many elements as a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt

from archspec.errors import ArchspecError
from archspec.models.fields import FieldValue
from archspec.models.model import Model

_MULTIPLES = 2, 3, 0.5, 0.25  # of a value, to learn its effect
_NEAR = 0.01  # a root that is so near an integer is tried


def suggest(model: Model, elements: int, fits: Callable[[Model], bool]) -> Iterator[str]:
    """Yield each change of one field that makes the model fit, e.g. `num_key_value_heads = 32`.

    The count of elements is a polynomial in most fields, of degree 1 or 2: three values give its
    coefficients, and so the value for ``elements``. ``fits`` compares the model with that value.
    """
    for field in model.fields:
        for value in dict.fromkeys(_candidates(model, field, elements)):
            changed = _with_field(model, field, value)
            if changed is not None and _elements(changed) == elements and fits(changed):
                yield f"{field.field} = {str(value).lower()}"


def _candidates(model: Model, field: FieldValue, elements: int) -> Iterator[int]:
    """Yield values of a field with which the model may have that many elements."""
    if type(field.value) is bool:
        yield not field.value
    if type(field.value) is not int or field.value < 1:
        return
    points = [(field.value, _elements(model))]
    for value in (field.value * one for one in _MULTIPLES):
        if len(points) < 3 and value % 1 == 0 and (changed := _with_field(model, field, int(value))):
            points.append((int(value), _elements(changed)))
    yield from (value for value, count in points[1:] if count == elements)
    if len({count for _, count in points}) > 1:
        roots = _roots(points, elements)
        yield from (round(root) for root in roots if root > _NEAR and abs(root - round(root)) < _NEAR)


def _roots(points: list[tuple[int, int]], target: int) -> list[float]:
    """Return the places where the polynomial through two or three points has a value.

    >>> _roots([(1, 10), (2, 24), (3, 42)], 64)
    [4.0, -8.0]
    """
    (x, y), (x1, y1), *more = points
    slope = (y1 - y) / (x1 - x)
    square = sum(((y2 - y) / (x2 - x) - slope) / (x2 - x1) for x2, y2 in more)
    linear = slope - square * (x + x1)
    constant = y - linear * x - square * x * x - target
    if not square:
        return [-constant / linear]
    inner = linear * linear - 4 * square * constant
    return [(sign * sqrt(inner) - linear) / (2 * square) for sign in (1, -1)] if inner >= 0 else []


def _with_field(model: Model, field: FieldValue, value: int) -> Model | None:
    try:
        changed = model.with_fields({field.field: value})
        return changed if changed.params else None
    except ArchspecError:
        return None


def _elements(model: Model) -> int:
    return model.params + model.buffers
