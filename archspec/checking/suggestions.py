"""Field values with which a model has as many elements as a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import isqrt

from archspec.errors import ArchspecError
from archspec.models.fields import FieldValue
from archspec.models.model import Model

_MULTIPLES = Fraction(2), Fraction(3), Fraction(1, 2), Fraction(1, 4)  # of a value, to learn its effect


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
    if type(field.value) is bool:
        yield not field.value
    if type(field.value) is not int or field.value < 1:
        return
    points = [(Fraction(1), _elements(model))]
    for multiple in _MULTIPLES:
        value = field.value * multiple
        changed = _with_field(model, field, int(value)) if value.denominator == 1 else None
        if changed is not None and len(points) < 3:
            points.append((multiple, _elements(changed)))
    yield from (int(field.value * multiple) for multiple, count in points[1:] if count == elements)
    if len({count for _, count in points}) > 1:
        values = (root * field.value for root in _roots(points, elements))
        yield from (int(value) for value in values if value.denominator == 1 and value > 0)


def _roots(points: list[tuple[Fraction, int]], target: int) -> Iterator[Fraction]:
    """Yield the rational places where the polynomial through two or three points has a value.

    >>> [str(root) for root in _roots([(Fraction(1), 10), (Fraction(2), 24), (Fraction(3), 42)], 64)]
    ['4', '-8']
    """
    (x, y), (x1, y1), *more = points
    slope = Fraction(y1 - y) / (x1 - x)
    square = (
        (Fraction(more[0][1] - y) / (more[0][0] - x) - slope) / (more[0][0] - x1) if more else Fraction(0)
    )
    linear = slope - square * (x + x1)
    constant = y - linear * x - square * x * x - target
    if not square:
        yield from [-constant / linear] if linear else []
        return
    inner = linear * linear - 4 * square * constant
    top, bottom = isqrt(max(0, inner.numerator)), isqrt(inner.denominator)
    if inner >= 0 and Fraction(top, bottom) ** 2 == inner:
        yield from ((sign * Fraction(top, bottom) - linear) / (2 * square) for sign in (1, -1))


def _with_field(model: Model, field: FieldValue, value: int) -> Model | None:
    try:
        changed = model.with_fields({field.field: value})
        return changed if changed.params else None
    except ArchspecError:
        return None


def _elements(model: Model) -> int:
    return model.params + model.buffers
