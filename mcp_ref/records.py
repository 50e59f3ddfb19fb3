"""Dataclasses that are cheap to define.

``@dataclass`` writes and compiles ``__init__``, ``__repr__`` and ``__eq__`` for each class, which is most of what
defining it costs at start-up. `Record` has the last two once, for all. The `dataclass` of this module is the one of
the standard library, but writes ``__init__`` when the first instance is made, or when somebody looks at it. So declare
``@dataclass(eq=False, repr=False)`` with it, and derive from `Record`. (Messages derive from `model.Model`, which also
knows revisions.)
"""

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(eq: bool, repr: bool) -> Callable[[type], type]:
        """Return the decorator of the standard library, which writes ``__init__`` later; see the module."""
        def decorate(cls: type) -> type:
            cls = dataclasses.dataclass(init=False, eq=eq, repr=repr)(cls)
            cls.__init__ = LateInit(cls)
            return cls

        return decorate


class LateInit:
    """The ``__init__`` of a dataclass until it is needed: the first that looks it up gets the real one, which stays.

    ``wrapper``: a decorator for the real one, if there is any.
    """

    __slots__ = ("_owner", "wrapper")

    def __init__(self, owner: type) -> None:
        self._owner = owner
        self.wrapper: Optional[Callable[[Any], Any]] = None

    def __get__(self, instance: object, cls: Optional[type] = None) -> Any:
        # Two threads may both write it: they write the same, and each goes on with what it has.
        init = _init_of(self._owner)
        if self.wrapper is not None:
            init = self.wrapper(init)
        self._owner.__init__ = init  # type: ignore[misc]
        return init if instance is None else init.__get__(instance, cls)


def _init_of(cls: Any) -> Any:
    """Return the ``__init__`` that the standard library writes for the fields of a dataclass."""
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__annotations__": {}}
    for field in dataclasses.fields(cls):
        names["__annotations__"][field.name] = field.type
        if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING:
            names[field.name] = dataclasses.field(
                default=field.default, default_factory=field.default_factory, init=field.init)
    if hasattr(cls, "__post_init__"):
        names["__post_init__"] = cls.__post_init__
    twin: Any = dataclasses.dataclass(eq=False, repr=False)(type(cls.__name__, (), names))
    return twin.__init__


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
