"""JSON values to messages: the half of the codec that reads.

Every type that a member may have has a reader, made by `reader`; a message class has a table of
them, one row for each member, filled when a member is first met. Programs use `mcp_ref.codec`.
"""

from typing import Any, Callable, Dict, List, Literal, NamedTuple, Optional, Tuple, Type, Union

from .model import ABSENT, NULL, Mark, MemberDeclaration, Model, marks, members
from .revisions import Revision

Convert = Callable[[Any], Any]


class DecodeError(ValueError):
    """A JSON value that does not fit: `location` says where, `expected` what, `got` what was there."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(expected, got)
        self.expected = expected
        self.got = got
        self.location: Tuple[Union[str, int], ...] = ()

    def within(self, step: Union[str, int]) -> "DecodeError":
        """Put a step (a member name or an index) in front of the path; return this error."""
        self.location = (step,) + self.location
        return self

    @property
    def path(self) -> str:
        """The place in the form ``params.content[0].text``; names with other signs are ``["a/b"]``, long ones are
        cut."""
        return "".join(map(_step, self.location)).lstrip(".")

    def __str__(self) -> str:
        return "%s: expected %s, got %s" % (self.path, self.expected, self.got)


def _step(step: Union[str, int]) -> str:
    if isinstance(step, int):
        return "[%d]" % step
    plain = len(step) <= 40 and step.replace("$", "_").isidentifier()
    return "." + step if plain else "[%s]" % _quoted(step)


# -- Values ------------------------------------------------------------------------------------


class Reader(NamedTuple):
    """The reader of JSON values of a type: values of exactly the type ``fast`` are kept, others go to ``convert``."""

    fast: Optional[type]
    convert: Convert
    kinds: Tuple[type, ...]
    """The Python types of the JSON values that it takes."""
    expected: str


_KINDS: Dict[type, str] = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer",
                           float: "number", type(None): "null", type(ABSENT): "nothing"}


def kind(value: Any) -> str:
    """Return the JSON name of a value's kind; ``nothing`` for `ABSENT`."""
    return _KINDS.get(type(value)) or type(value).__name__


def _quoted(value: Any) -> str:
    """Return a string of the peer for a line of text: cut, and with control characters escaped."""
    if type(value) is not str:
        return kind(value)
    return '"%s"' % repr(value if len(value) <= 40 else value[:37] + "...")[1:-1]


def _one_of(words: Any) -> str:
    return "one of " + ", ".join(map(str, words)) if len(words) > 1 else _quoted(next(iter(words)))


def _keep(value: Any) -> Any:
    return value


def _null_read(value: Any) -> Any:
    return NULL if value is None else value


def _refuse(expected: str) -> Convert:
    def refuse(value: Any) -> Any:
        raise DecodeError(expected, kind(value))

    return refuse


def _whole(value: Any) -> int:
    if type(value) is float and value.is_integer():
        return int(value)
    raise DecodeError("integer", kind(value))


def _real(value: Any) -> Union[int, float]:
    if type(value) is int:
        return value
    raise DecodeError("number", kind(value))


_SCALARS: Dict[Any, Reader] = {
    Any: Reader(None, _keep, tuple(_KINDS), "anything"),
    str: Reader(str, _refuse("string"), (str,), "string"),
    bool: Reader(bool, _refuse("boolean"), (bool,), "boolean"),
    int: Reader(int, _whole, (int, float), "integer"),
    float: Reader(float, _real, (float, int), "number"),
    type(None): Reader(type(None), _refuse("null"), (type(None),), "null"),
}


def reader(hint: Any, revision: Revision) -> Reader:
    """Return the reader of a type. Raises TypeError for a type that no message may use."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin: Any = getattr(hint, "__origin__", None)
    parts: Tuple[Any, ...] = getattr(hint, "__args__", ())
    if origin is Literal:
        return Reader(None, _literal_reader(parts), (str,), _one_of(parts))
    if origin is Union:
        return _union_reader(parts, revision)
    if origin in _CONTAINERS and parts[-1] is Any:
        return Reader(origin, _refuse(_KINDS[origin]), (origin,), _KINDS[origin])
    if origin in _CONTAINERS:
        return Reader(None, _CONTAINERS[origin](reader(parts[-1], revision)), (origin,), _KINDS[origin])
    if isinstance(hint, type) and issubclass(hint, Model):
        return Reader(None, object_reader(hint, revision), (dict,), "object")
    raise TypeError("a message cannot have a member of type %r" % (hint,))


def _literal_reader(words: Tuple[Any, ...]) -> Convert:
    allowed = frozenset(words)

    def read(value: Any) -> Any:
        if type(value) is str and value in allowed:
            return value
        raise DecodeError(_one_of(words), _quoted(value))

    return read


def _list_reader(element: Reader) -> Convert:
    fast, convert = element.fast, element.convert

    def read(value: Any) -> List[Any]:
        if type(value) is not list:
            raise DecodeError("array", kind(value))
        read_so_far: List[Any] = []
        try:
            for item in value:
                read_so_far.append(item if type(item) is fast else convert(item))
        except DecodeError as problem:
            raise problem.within(len(read_so_far))
        return read_so_far

    return read


def _map_reader(element: Reader) -> Convert:
    fast, convert = element.fast, element.convert

    def read(value: Any) -> Dict[str, Any]:
        if type(value) is not dict:
            raise DecodeError("object", kind(value))
        key = ""
        try:
            read_so_far = {}
            for key, item in value.items():
                read_so_far[key] = item if type(item) is fast else convert(item)
            return read_so_far
        except DecodeError as problem:
            raise problem.within(key)

    return read


_CONTAINERS: Dict[Any, Callable[[Reader], Convert]] = {list: _list_reader, dict: _map_reader}


def _union_reader(hints: Tuple[Any, ...], revision: Revision) -> Reader:
    """Return the reader of a union: the kind of the value decides; among objects, their marks do."""
    classes = tuple(h for h in hints if isinstance(h, type) and issubclass(h, Model))
    options = [reader(h, revision) for h in hints if h not in classes]
    if classes:
        choose = _chooser(classes, revision) if len(classes) > 1 else object_reader(classes[0], revision)
        options.append(Reader(None, choose, (dict,), "object"))
    by_kind: Dict[type, Convert] = {}
    for option in options:
        for each in option.kinds:
            by_kind.setdefault(each, option.convert)
    by_kind.update((option.fast, _keep) for option in options if option.fast is not None)
    expected = " or ".join(option.expected for option in options)

    def read(value: Any) -> Any:
        convert = by_kind.get(type(value))
        if convert is None:
            raise DecodeError(expected, kind(value))
        return convert(value)

    return Reader(None, read, tuple(by_kind), expected)


# -- Alternatives ------------------------------------------------------------------------------


def _chooser(classes: Tuple[Type[Model], ...], revision: Revision) -> Convert:
    """Return the reader that reads an object as one of several classes."""
    rows = marks(classes)
    names = {row.member for row in rows}
    if len(names) == 1 and not any(row.value is ABSENT for row in rows):
        return _by_constant(names.pop(), {row.value: row.cls for row in rows}, revision)

    def choose(value: Dict[str, Any]) -> Any:
        cls = marked(rows, value)
        if cls is None:
            raise DecodeError("one of " + ", ".join(_mark_text(row) for row in rows), "none of them")
        return object_reader(cls, revision)(value)

    return choose


def _by_constant(name: str, classes: Dict[Any, Type[Model]], revision: Revision) -> Convert:
    """Return the reader for the common case: one member whose value names the class."""
    readers: Dict[Any, Convert] = {}

    def choose(value: Dict[str, Any]) -> Any:
        word = value.get(name, ABSENT)
        read = readers.get(word) if type(word) is str else None
        if read is None:
            if type(word) is not str or word not in classes:
                raise DecodeError(_one_of(classes), _quoted(word)).within(name)
            read = readers[word] = object_reader(classes[word], revision)
        return read(value)

    return choose


def marked(rows: Tuple[Mark, ...], value: Any) -> Optional[Type[Model]]:
    """Return the class whose mark an object has, by the first row that holds; None if none does."""
    for cls, name, wanted in rows:
        found = _look_up(value, name)
        if found is not ABSENT and (wanted is ABSENT or wanted == found):
            return cls
    return None


def _look_up(value: Any, dotted: str) -> Any:
    for step in dotted.split("."):
        if type(value) is not dict or step not in value:
            return ABSENT
        value = value[step]
    return value


def _mark_text(row: Mark) -> str:
    return row.member if row.value is ABSENT else "%s=%s" % (row.member, row.value)


# -- Members -----------------------------------------------------------------------------------


def member_reader(m: MemberDeclaration, revision: Revision) -> Reader:
    """Return the reader of a member in a revision."""
    if m.constant:
        return Reader(None, _literal_reader((m.default,)), (str,), _quoted(m.default))
    plain = reader(m.type_in(revision), revision)
    if m.spells_null(revision):
        return plain._replace(convert=_null_read)
    shape = m.shape_in(revision) if m.exists(revision) else None
    return plain if shape is None else _shaped(plain, reader(shape, revision).convert)


class Checked(Dict[str, Any]):
    """An object whose shape has been checked already: a member that has a shape takes it as it is."""


def _shaped(plain: Reader, check: Convert) -> Reader:
    fast, convert = plain.fast, plain.convert

    def read(value: Any) -> Any:
        if type(value) is Checked:
            return value
        kept = value if type(value) is fast else convert(value)
        check(value)
        return kept

    return plain._replace(fast=None, convert=read)


# -- Objects -----------------------------------------------------------------------------------

_Row = Tuple[str, Optional[type], Convert]
_READERS: Dict[Tuple[Any, int], Convert] = {}


def object_reader(cls: Type[Model], revision: Revision) -> Convert:
    """Return the compiled reader of a class; it is made once, its rows when the members are first met."""
    key = (cls, revision.rank)
    if key not in _READERS:
        _READERS[key] = _compile(cls, revision)
    return _READERS[key]


def _compile(cls: Type[Model], revision: Revision) -> Convert:
    """Return a reader that loops over the members that arrived; others have the defaults of the class."""
    rows: Dict[str, _Row] = {}
    for m in members(cls):
        rows[m.wire] = (m.attr, None, _first_use(rows, m, revision))
    needed = tuple((m.attr, m) for m in members(cls) if m.required_in(revision) and not m.assume)
    foreign = frozenset(m.wire for m in members(cls) if not m.exists(revision))
    row_of, new = rows.get, cls.__new__

    def read_object(value: Any) -> Model:
        if type(value) is not dict:
            raise DecodeError("object", kind(value))
        made = new(cls)
        fields = made.__dict__
        extra: Dict[str, Any] = {}
        fields["extra"] = extra
        for wire, item in value.items():
            row = row_of(wire)
            if row is None:
                extra[wire] = item
                continue
            attr, fast, convert = row
            if type(item) is fast:
                fields[attr] = item
                continue
            try:
                fields[attr] = convert(item)
            except DecodeError as problem:
                if wire not in foreign:
                    raise problem.within(wire)
                extra[wire] = item
        for attr, m in needed:
            if attr not in fields:
                raise DecodeError(member_reader(m, revision).expected, "nothing").within(m.wire)
        return made

    return read_object


def _first_use(rows: Dict[str, _Row], m: MemberDeclaration, revision: Revision) -> Convert:
    """Return a reader that compiles the member's reader when a value arrives, and puts that one into the table."""

    def read(value: Any) -> Any:
        fast, convert, _, _ = member_reader(m, revision)
        rows[m.wire] = (m.attr, fast, convert)
        return value if type(value) is fast else convert(value)

    return read
