"""The declaration of messages: plain dataclasses whose fields know the revisions.

A field is declared once, for all revisions, and says in which of them it exists::

    @message
    class Tool(Model):
        name: str                                             # in every revision, required
        title: Optional[str] = member(default=None, since=R2025_06_18)

How a declaration reads:

* A field without a default is required wherever it exists; one with a default is optional, unless
  ``required`` lists windows.
* None in a field with the default None means *absent*. Where such a field takes any JSON value, null is
  the value `NULL`. A required field is never absent, so None in it is null.
* ``dataclasses.field(init=False, default="text")`` is a constant: always sent, always checked.
* The last field of every message is ``extra``: the members that arrived and are not declared, by wire
  name. They are sent again, and stay with a message that is copied, compared, pickled or replaced.
* A class has a window too (`Model.since`, `Model.until`). A union keeps all its alternatives when
  receiving. Sending one that the revision lacks is a matter for ``messages/downgrade.py``.
* An annotation may be a string: it is evaluated when the member is first used, with the names of
  its module and, failing that, of the whole messages package. So a page that mentions another one
  does not load it.
* Closed sets are `typing.Literal`; an `enum.Enum` costs more at start-up than all messages do.

`Model` has ``__init__``, ``__repr__`` and ``__eq__`` for all messages. The standard library would generate them for
each class, which is most of what defining a dataclass costs at start-up.
"""

import dataclasses
import sys
from typing import (
    TYPE_CHECKING, Any, Callable, ClassVar, Dict, FrozenSet, NamedTuple, NoReturn, Optional, Tuple, Type, Union, cast,
)

from .options import refuse
from .revisions import Revision

__all__ = [
    "ABSENT", "Forgive", "Mark", "MemberDeclaration", "Model", "NULL", "Rule", "WIRE_NAMES", "Window", "alternatives",
    "attribute_name", "marks", "member", "members", "message", "resolve", "tell_apart", "wire_name",
]

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
"""No value: a rule of ``messages/downgrade.py`` returns it to leave a member out. Compare by identity."""
NULL: Any = _Word("NULL")
"""The JSON value null, for a member of a message where None means that it is not there."""


# -- What a message is -------------------------------------------------------------------------

if TYPE_CHECKING:
    from dataclasses import dataclass as message
else:

    def message(cls: type) -> type:
        """Make a subclass of `Model` a dataclass whose last field is ``extra``, which is passed by keyword only."""
        cls = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
        cls.__dataclass_fields__["extra"] = cls.__dataclass_fields__.pop("extra")
        taken = [field for field in dataclasses.fields(cls) if field.init][:-1]
        cls.__match_args__ = tuple(field.name for field in taken)
        cls._known = frozenset((*cls.__match_args__, "extra"))
        cls._required = frozenset(field.name for field in taken if field.default is dataclasses.MISSING)
        return cls


class _Signature:
    """The parameters of a message class, for `help` and `inspect.signature`."""

    def __get__(self, made: Optional["Model"], cls: Type["Model"]) -> Any:
        from inspect import Parameter, Signature

        taken = [Parameter(f.name, Parameter.POSITIONAL_OR_KEYWORD, annotation=f.type,
                           default=Parameter.empty if f.default is dataclasses.MISSING else f.default)
                 for f in dataclasses.fields(cls) if f.init and f.name != "extra"]
        extra = Parameter("extra", Parameter.KEYWORD_ONLY, default={}, annotation=Dict[str, Any])
        return Signature([*taken, extra], return_annotation=None)


@message
class Model:
    """Base of every message. Two are equal when they are of one class and carry the same members."""

    since: ClassVar[Optional[str]] = None
    """First revision that has this definition; None: from the beginning."""
    until: ClassVar[Optional[str]] = None
    """Last revision that has it; None: to this day."""
    if TYPE_CHECKING:
        extra: Dict[str, Any] = dataclasses.field(default_factory=dict, kw_only=True)
        """Members that arrived and are not defined, by wire name; they are sent again."""
    else:
        extra: Dict[str, Any] = dataclasses.field(default_factory=dict)
    __match_args__: ClassVar[Tuple[str, ...]]
    __signature__ = _Signature()
    _known: ClassVar[FrozenSet[str]]
    _required: ClassVar[FrozenSet[str]]

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self.__dict__
        fields.update(zip(self.__match_args__, values))
        fields.update(named)
        # Fewer fields than arguments: there were too many, or two for one field.
        if len(fields) < len(values) + len(named) or not (
                self._required.issubset(fields) and self._known.issuperset(named)):
            self._refuse(values, named)
        fields.setdefault("extra", {})

    def _refuse(self, values: Tuple[Any, ...], named: Dict[str, Any]) -> NoReturn:
        unknown = [name for name in named if name not in self._known]
        if unknown:
            refuse(type(self), unknown)
        try:
            self.__signature__.bind(*values, **named)
        except TypeError as error:
            raise TypeError("%s(): %s" % (type(self).__name__, error)) from None
        raise AssertionError("arguments that fit were refused")

    def __repr__(self) -> str:
        cls, fields = type(self), self.__dict__
        shown = [n for n in self.__match_args__ if n in fields and fields[n] is not getattr(cls, n, ABSENT)]
        if self.extra:
            shown.append("extra")
        return "%s(%s)" % (cls.__name__, ", ".join("%s=%r" % (name, fields[name]) for name in shown))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f.name, ABSENT) == getattr(other, f.name, ABSENT) for f in dataclasses.fields(self))

    __hash__ = None  # type: ignore[assignment]


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

    def spells_null(self, revision: Revision) -> bool:
        """Return True if null is a value of the member, and None is not, because it means absent."""
        return self.default is None and self.type_in(revision) is Any

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
        found = _MEMBERS[cls] = tuple(
            MemberDeclaration(cls, f) for f in dataclasses.fields(cls) if f.name != "extra")
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
