"""Dataclasses that are cheap to define.

``@dataclass`` writes and compiles ``__repr__`` and ``__eq__`` for each class, which is most of what
defining it costs at start-up. `Record` has both once, for all: declare ``@dataclass(eq=False,
repr=False)`` and derive from it. (Messages derive from `model.Model`, which also knows revisions.)
"""

from typing import Any, Tuple


class Record:
    """The base of plain dataclasses; equal if of one class and with equal fields. Not hashable, because fields may
    change."""

    def _fields(self) -> Tuple[Any, ...]:
        names = getattr(self, "__dataclass_fields__")
        return tuple((name, getattr(self, name)) for name in names)

    def __repr__(self) -> str:
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % field for field in self._fields()))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._fields() == other._fields()

    __hash__ = None  # type: ignore[assignment]
