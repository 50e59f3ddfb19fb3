"""Dataclasses that are cheap to define.

``@dataclass`` writes and compiles ``__init__``, ``__repr__`` and ``__eq__`` for each class, which is most of what
defining it costs at start-up. `Record` has the last two once, for all. The `dataclass` of this module is the one of
the standard library, but writes ``__init__`` when the first instance is made, or when somebody looks at it. So declare
``@dataclass(eq=False, repr=False)`` with it, and derive from `Record`. (Messages derive from `model.Model`, which also
knows revisions.)
"""

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

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


class _Factory:
    """The default of a parameter whose value a factory makes, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Factory()


def _init_of(cls: Any) -> Any:
    """Return the ``__init__`` that the standard library would have written for the fields of a dataclass.

    Not by the standard library: it runs a text, and CPython marks a Ctrl-C that comes within. It then ends the process
    by the signal, whatever the program makes of the exception. Compiled code leaves no mark.
    """
    taken, lines = ["self"], []
    names: Dict[str, Any] = {"_made": _MADE}
    for field in dataclasses.fields(cls):
        default, factory = "_default_" + field.name, "_factory_" + field.name
        names[default], names[factory] = field.default, field.default_factory
        value = field.name
        if field.default_factory is not dataclasses.MISSING:
            default = "_made"
            value = "%s() if %s is _made else %s" % (factory, value, value) if field.init else factory + "()"
        if field.init:
            required = field.default is dataclasses.MISSING and default != "_made"
            taken.append(field.name if required else "%s=%s" % (field.name, default))
        elif default != "_made":
            continue  # the attribute of the class is the value
        lines.append("    self.%s = %s" % (field.name, value))
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    text = "def __init__(%s):\n%s" % (", ".join(taken), "\n".join(lines) or "    pass")
    exec(compile(text, "<__init__ of %s>" % cls.__qualname__, "exec"), names)
    init: Any = names["__init__"]
    init.__module__, init.__qualname__ = cls.__module__, cls.__qualname__ + ".__init__"
    init.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init}
    init.__annotations__["return"] = None
    return init


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
