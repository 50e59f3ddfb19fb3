"""The declaration of messages: plain dataclasses whose fields know the revisions.

A field is declared once, for all revisions, and says in which of them it exists::

    @dataclass(eq=False, repr=False)
    class Tool(Model):
        name: str                                             # in every revision, required
        title: Optional[str] = member(default=None, since=R2025_06_18)

How a declaration reads:

* A field without a default is required wherever it exists; one with a default is optional, unless
  ``required`` lists windows. None as default means *absent*; absent is never null on the wire.
  Where null is itself a value (`Any`, or a required ``Optional[...]``) the default is `ABSENT`, or
  there is none; `nullable` hides that from users, who read None where there is nothing.
* ``dataclasses.field(init=False, default="text")`` is a constant: always sent, always checked.
* A class has a window too (`Model.since`, `Model.until`). A union keeps all its alternatives when
  receiving. Sending one that the revision lacks is a matter for ``messages/downgrade.py``.
* An annotation may be a string: it is evaluated when the member is first used, with the names of
  its module and, failing that, of the whole messages package. So a page that mentions another one
  does not load it.
* Closed sets are `typing.Literal`; an `enum.Enum` costs more at start-up than all messages do.

``eq=False, repr=False`` because `Model` has both; it makes defining a class several times quicker.
"""

import dataclasses
import sys
from types import MappingProxyType
from typing import (
    Any, Callable, ClassVar, Dict, FrozenSet, Mapping, NamedTuple, Optional, Tuple, Type, TypeVar, Union, cast,
)

from .revisions import Revision

Message = TypeVar("Message", bound="Model")
Window = Tuple[Optional[str], Optional[str]]
"""First and last revision, both inclusive; None leaves that side open."""
Forgive = Callable[[str, str], Any]
"""Called with a kind and a text for each careless thing that is read as it was meant, such as `Counters.forgive`."""
Rule = Callable[[Any, Revision], Any]
"""The function that replaces a value which a revision cannot carry: by a value, by `ABSENT`, or by raising."""

WIRE_NAMES: Dict[str, str] = {
    "meta": "_meta",
    "dialect": "$schema",
    # Members of `_meta` objects, whose names carry a prefix
    "RequestMetaObject.protocol_version": "io.modelcontextprotocol/protocolVersion",
    "RequestMetaObject.client_info": "io.modelcontextprotocol/clientInfo",
    "RequestMetaObject.client_capabilities": "io.modelcontextprotocol/clientCapabilities",
    "RequestMetaObject.log_level": "io.modelcontextprotocol/logLevel",
    "ResultMetaObject.server_info": "io.modelcontextprotocol/serverInfo",
    "NotificationMetaObject.subscription_id": "io.modelcontextprotocol/subscriptionId",
    "SubscriptionsListenResultMetaObject.server_info": "io.modelcontextprotocol/serverInfo",
    "SubscriptionsListenResultMetaObject.subscription_id": "io.modelcontextprotocol/subscriptionId",
}
"""Every exception from the rule of `wire_name`: by attribute, or by class and attribute."""


class _Word:
    """The type of ABSENT and NULL."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return self._name


ABSENT: Any = _Word("ABSENT")
"""The value of a member that is not there, where None would be the JSON value null. Compare by identity."""


NULL: Any = _Word("NULL")
"""The JSON value null, for a member of a message where None means that it is not there."""


class Model:
    """Base of every message. Two are equal when they are of one class and carry the same members."""

    since: ClassVar[Optional[str]] = None
    """First revision that has this definition; None: from the beginning."""
    until: ClassVar[Optional[str]] = None
    """Last revision that has it; None: to this day."""
    extra: Mapping[str, Any] = MappingProxyType({})
    """Members that arrived and are not defined, by wire name; they are sent again."""

    def __repr__(self) -> str:
        names = [m.attr for m in members(type(self)) if not m.constant] + ["extra"]
        parts = ["%s=%r" % (n, getattr(self, n)) for n in names if n in vars(self) and _is_set(self, n)]
        return "%s(%s)" % (type(self).__name__, ", ".join(parts))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self.extra == vars(other).get("extra", {})) and all(
            held(self, m.attr) == held(other, m.attr) for m in members(type(self))
        )

    __hash__ = None  # type: ignore[assignment]


def _is_set(made: Model, name: str) -> bool:
    return name == "extra" or vars(made)[name] is not getattr(type(made), name, ABSENT)


def held(made: Model, name: str) -> Any:
    """Return the value of a member as it is sent: where null is a value, None is null and `ABSENT` is nothing."""
    fields = vars(made)
    return fields[name] if name in fields else getattr(type(made), name, ABSENT)


class _Nullable:
    """A member that is held as `held` says, and read and written as `nullable` says."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, made: Optional[Model], cls: type) -> Any:
        if made is None:
            return ABSENT
        value = vars(made).get(self._name)
        return None if value is ABSENT else value

    def __set__(self, made: Model, value: Any) -> None:
        vars(made)[self._name] = ABSENT if value is None else None if value is NULL else value


def nullable(name: str) -> Callable[[Type[Message]], Type[Message]]:
    """Decorate a message with a member whose values may be null, default `ABSENT`.

    Users read None where it is not there, and where it is null. To send null they write `NULL`; None is nothing.
    """
    def decorate(cls: Type[Message]) -> Type[Message]:
        setattr(cls, name, _Nullable(name))
        return cls

    return decorate


# -- Declaring ---------------------------------------------------------------------------------


def member(*, default: Any = dataclasses.MISSING, since: Optional[str] = None, until: Optional[str] = None,
           required: Tuple[Window, ...] = (), was: Tuple[Tuple[str, Any], ...] = (), shape: Any = None,
           assume: bool = False, downgrade: bool = False, const: Any = dataclasses.MISSING) -> Any:
    """Declare a field: a `dataclasses.field` that knows the revisions.

    since, until: the window in which the member exists.
    required: windows in which it is required in spite of its default.
    was: pairs ``(last revision, type)``, oldest first: what the type was up to then.
    shape: a type the plain JSON value is checked against, without being turned into it.
    assume: a peer may leave it out though it is required; then the default holds.
    downgrade: ``messages/downgrade.py`` says what happens in revisions that cannot carry it.
    const: the only value; not a parameter of the constructor.
    """
    facts = {"since": since, "until": until, "required": required, "was": was, "shape": shape, "assume": assume,
             "downgrade": downgrade}
    if const is not dataclasses.MISSING:
        return dataclasses.field(init=False, default=const, metadata=facts)
    return dataclasses.field(default=default, metadata=facts)


def wire_name(attr: str) -> str:
    """Return the member name of an attribute: ``mime_type`` is ``mimeType``; exceptions are in WIRE_NAMES."""
    head, *tail = attr.split("_")
    return WIRE_NAMES.get(attr) or head + "".join(part.capitalize() for part in tail)


def attribute_name(wire: str) -> str:
    """Return the attribute of a member name, the reverse of `wire_name`."""
    for attr, exception in WIRE_NAMES.items():
        if exception == wire:
            return attr.rpartition(".")[2]
    return "".join("_" + sign.lower() if sign.isupper() else sign for sign in wire)


class MemberDeclaration:
    """The declaration of one field of a message; see `member` for the words."""

    __slots__ = ("owner", "attr", "wire", "hint", "default", "constant", "since", "until", "required", "was", "shape",
                 "assume", "downgrade")
    since: Optional[str]
    until: Optional[str]
    required: Tuple[Window, ...]
    was: Tuple[Tuple[str, Any], ...]
    shape: Any
    assume: bool
    downgrade: bool

    def __init__(self, owner: Type[Model], field: "dataclasses.Field[Any]") -> None:
        self.owner = owner
        self.attr = field.name
        self.wire = WIRE_NAMES.get("%s.%s" % (owner.__name__, field.name)) or wire_name(field.name)
        self.hint: Any = field.type
        self.default: Any = ABSENT if field.default is dataclasses.MISSING else field.default
        self.constant = not field.init
        facts = field.metadata or _NO_FACTS
        for name, value in facts.items():
            setattr(self, name, value)
        if (field.default is dataclasses.MISSING or self.constant) and not self.required:
            self.required = ((None, None),)

    def exists(self, revision: Revision) -> bool:
        """Return True if the revision has this member."""
        return revision.has(self.since, self.until)

    def required_in(self, revision: Revision) -> bool:
        """Return True if the member must be there in this revision."""
        return self.exists(revision) and any(revision.has(*window) for window in self.required)

    def type_in(self, revision: Revision) -> Any:
        """Return its type in this revision, resolved; None is not part of it if None means absent."""
        hint = self.hint
        for last, older in reversed(self.was):
            if revision.has(None, last):
                hint = older
        hint = resolve(hint, self.owner)
        return _without_none(hint) if self.default is None else hint

    def shape_in(self, revision: Revision) -> Any:
        """Return the type of its shape, resolved; None if there is none, or none in this revision."""
        shape = resolve(self.shape, self.owner)
        if isinstance(shape, type) and issubclass(shape, Model) and not revision.has(shape.since, shape.until):
            return None
        return shape


_NO_FACTS: Dict[str, Any] = {"since": None, "until": None, "required": (), "was": (), "shape": None, "assume": False,
                             "downgrade": False}
_MEMBERS: Dict[Type[Model], Tuple[MemberDeclaration, ...]] = {}


def members(cls: Type[Model]) -> Tuple[MemberDeclaration, ...]:
    """Return the members of a message in the order of declaration, which is their order on the wire."""
    found = _MEMBERS.get(cls)
    if found is None:
        found = _MEMBERS[cls] = tuple(MemberDeclaration(cls, f) for f in dataclasses.fields(cast(Any, cls)))
    return found


class _Names(Dict[str, Any]):
    """The names an annotation may use: those of a module, then those of its package."""

    def __init__(self, module: str) -> None:
        super().__init__(vars(sys.modules[module]))
        self.package = sys.modules.get(module.rpartition(".")[0])

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(self.package, name)
        except AttributeError:
            raise KeyError(name) from None


def resolve(hint: Any, owner: Type[Model]) -> Any:
    """Return the type of an annotation; a string is evaluated where its class was defined."""
    if isinstance(hint, str):
        return eval(hint, {}, _Names(owner.__module__))  # our own source text, as typing.get_type_hints does
    return hint


def alternatives(hint: Any) -> Tuple[Any, ...]:
    """Return the alternatives of a union, or the type itself as the only one."""
    return cast(Tuple[Any, ...], hint.__args__) if getattr(hint, "__origin__", None) is Union else (hint,)


def _without_none(hint: Any) -> Any:
    kept = tuple(h for h in alternatives(hint) if h is not type(None))
    return Union[kept] if kept else hint


# -- Telling the alternatives of a union apart -------------------------------------------------


class Mark(NamedTuple):
    """A row of a union: an object is of this class if it has this member (with this value)."""

    cls: Type[Model]
    member: str
    """A wire name; ``items.anyOf`` looks inside."""
    value: Any = ABSENT


_MARKS: Dict[FrozenSet[Any], Tuple[Mark, ...]] = {}


def tell_apart(*rows: Mark) -> None:
    """Declare how the classes in these rows are told apart: the first row that holds decides.

    Unions whose classes each have a constant of their own in a common member need no rows.
    """
    _MARKS[frozenset(row.cls for row in rows)] = rows


def marks(classes: Tuple[Type[Model], ...]) -> Tuple[Mark, ...]:
    """Return the rows by which these classes are told apart; derived from their constants if none were declared."""
    for known, rows in _MARKS.items():
        if known.issuperset(classes):
            return tuple(row for row in rows if row.cls in classes)
    rows = tuple(Mark(cls, m.wire, m.default) for cls in classes for m in members(cls) if m.constant)
    if len({row.cls for row in rows}) < len(classes):
        raise TypeError("nothing tells these classes apart: %s" % ", ".join(c.__name__ for c in classes))
    return rows
