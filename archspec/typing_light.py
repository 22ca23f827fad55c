"""The parts of Python's `typing` that a cold `archspec count` needs, without its import.

For type checkers these are typing's own names. The import of typing, and the code that its NamedTuple has
compiled for each record, would be 4 of 28 ms.
"""

from __future__ import annotations

__all__ = ["TYPE_CHECKING", "Any", "NamedTuple", "NoReturn", "Protocol"]
TYPE_CHECKING = False  # type checkers take it for true

if TYPE_CHECKING:
    from typing import Any, NamedTuple, NoReturn, Protocol
else:
    from operator import itemgetter

    Any = NoReturn = Protocol = object  # for annotations, which nothing reads

    class _Record(type):
        """Takes the fields of a record, in their order, out of its class body."""

        def __new__(cls, name, bases, body):
            fields = tuple(body.get("__annotations__", ()))
            defaults = tuple(body.pop(field) for field in fields if field in body)  # of the last fields
            getters = {field: property(itemgetter(place)) for place, field in enumerate(fields)}
            own = {"_fields": fields, "_defaults": defaults, "__slots__": ()}
            return super().__new__(cls, name, bases, body | getters | own)

    class NamedTuple(tuple, metaclass=_Record):
        """The base of records, like that of typing."""

        def __new__(cls, *values, **named):
            if named:
                given = dict(zip(reversed(cls._fields), reversed(cls._defaults), strict=False)) | named
                missing = cls._fields[len(values) :]
                values += tuple(given[field] for field in missing if field in given)
                named = named.keys() - missing
            elif len(values) < len(cls._fields):
                values += cls._defaults[len(values) - len(cls._fields) :]
            if named or len(values) != len(cls._fields):
                raise TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}")
            return tuple.__new__(cls, values)

        def __getnewargs__(self):
            return tuple(self)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changes):
            found = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise TypeError(f"{type(self).__name__} has no {', '.join(changes)}")
            return found

        def __repr__(self):
            shown = ", ".join(f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({shown})"
