"""typing_light.NamedTuple behaves like typing.NamedTuple."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from archspec.typing_light import NamedTuple


class Light(NamedTuple):
    """A record."""

    name: str
    size: int
    kind: str = "parameter"
    ties: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        return self.name + self.kind


class Typed(typing.NamedTuple):
    name: str
    size: int
    kind: str = "parameter"
    ties: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (("a", 1), {}),
        (("a", 1, "buffer", ("b",)), {}),
        (("a",), {"size": 2}),
        ((), {"ties": ("x",), "size": 2, "name": "b"}),
    ],
)
def test_a_record_is_a_named_tuple(values: tuple[typing.Any, ...], named: dict[str, typing.Any]) -> None:
    one, other = Light(*values, **named), Typed(*values, **named)
    assert tuple(one) == tuple(other) and one == other and hash(one) == hash(other)
    assert repr(one) == repr(other).replace("Typed", "Light")
    assert one._asdict() == other._asdict()
    assert tuple(one._replace(size=7)) == tuple(other._replace(size=7))
    assert (one.name, one.size, one.kind, one.ties) == tuple(one)
    assert one.whole == one.name + one.kind
    for copied in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert copied == one and type(copied) is Light
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize(
    ("values", "named"),
    [(("a",), {}), (("a", 1, "b", (), 5), {}), (("a", 1), {"name": "b"}), (("a", 1), {"sizes": 2})],
)
def test_other_fields_are_refused(values: tuple[typing.Any, ...], named: dict[str, typing.Any]) -> None:
    for record in (Light, Typed):
        with pytest.raises(TypeError):
            record(*values, **named)


def test_only_its_fields_are_replaced() -> None:
    with pytest.raises(TypeError):
        Light("a", 1)._replace(sizes=2)  # type: ignore[call-arg]
