"""Mending what careless peers send, by the declarations of the messages.

Serializers of C#, Java, Go and Rust write null for a member that is not there; PHP writes ``[]`` for an empty object;
schemas are often made of ``true``. No revision's schema allows that, but what is meant is clear. So a receiver that is
not strict mends a message that `mcp_ref.codec` refuses, and reads it again:

=======================================  =====================  ============================================
what came                                kind                   read as
=======================================  =====================  ============================================
null where no null is allowed            ``null``               nothing, if the member may be left out
``[]`` where only an object is allowed   ``empty array``        ``{}``
``true`` or ``false`` as the schema of   ``boolean schema``     ``{}`` or ``{"not": {}}``, which mean the same
a property                                                      [JSON Schema 2020-12 core §4.3.2]
``"true"``, ``0``, ``"3"``, ``3.0`` where   ``scalar``             that flag or number
only a flag or another number is allowed
an item of a list that fits nothing      ``item``               a list without it, unless no other is left
=======================================  =====================  ============================================

Reading: the rules for forms bind the sender; no page says what a receiver makes of a message that breaks them. A
null that is allowed stays what it is, and members that the peer's revision lacks are nobody's business here.
A message that is right costs nothing, for the codec reads it at the first attempt.
"""

from typing import Any, Dict, List, Tuple, Type, Union

from .jsontext import JsonError, loads
from .model import Forgive, Model, alternatives, marks, members
from .readers import DecodeError, marked, reader
from .revisions import Revision

Steps = Tuple[Union[str, int], ...]


def mend(cls: Any, value: Any, revision: Revision, path: str, forgive: Forgive) -> Any:
    """Return a JSON value that fits a message class, or a union of them, better; objects in it are changed in place.

    cls, value, revision, path: as for `mcp_ref.codec.decode`. What cannot be mended stays, and is refused there.
    """
    return _Mender(revision, forgive).value(cls, value, (path,))


class _Mender:
    """Goes through a value beside its type; each method returns the value, or what stands in its place."""

    def __init__(self, revision: Revision, forgive: Forgive) -> None:
        self._revision = revision
        self._forgive = forgive

    def _tell(self, kind: str, text: str, where: Steps) -> None:
        problem = DecodeError("", "")
        problem.location = where
        self._forgive(kind, "%s: %s" % (problem.path, text))

    def value(self, hint: Any, value: Any, where: Steps) -> Any:
        """Mend a value of a type."""
        options = alternatives(hint)
        containers = {getattr(option, "__origin__", None): option for option in options}
        classes: Tuple[Type[Model], ...] = tuple(o for o in options if isinstance(o, type) and issubclass(o, Model))
        if value == [] and list not in containers and (classes or dict in containers):
            self._tell("empty array", "[] stands for an object; read as {}", where)
            value = {}
        if type(value) is list and list in containers:
            return self._items(containers[list].__args__[0], value, where)
        if type(value) is dict and classes:
            self._members(classes, value, where)
        elif type(value) in _SCALARS and type(value) not in options:
            value = self._scalar(options, value, where)
        elif type(value) is dict and dict in containers:
            for name, item in value.items():
                value[name] = self.value(containers[dict].__args__[1], item, where + (name,))
        return value

    def _scalar(self, options: Tuple[Any, ...], value: Any, where: Steps) -> Any:
        read = value
        if type(value) is str and len(value) <= _LONGEST_SCALAR:
            try:
                read = loads(value.lower().encode("utf-8", "replace"))
            except JsonError:
                return value
        if bool in options and type(read) is int and read in (0, 1):
            read = bool(read)
        elif int in options and float not in options and type(read) is float and read.is_integer():
            read = int(read)
        if type(read) not in options and not (float in options and type(read) is int) or type(read) is type(value):
            return value
        self._tell("scalar", "%.40r stands for %r" % (value, read), where)
        return read

    def _items(self, hint: Any, items: List[Any], where: Steps) -> List[Any]:
        if hint is Any:
            return items
        one = reader(hint, self._revision)
        kept: List[Any] = []
        lost: List[str] = []
        for number, item in enumerate(items):
            item = self.value(hint, item, where + (number,))
            try:
                if type(item) is not one.fast:
                    one.convert(item)
            except DecodeError as problem:
                problem.location = where + (number,) + problem.location
                lost.append("left out, for it cannot be read: %s" % problem)
            else:
                kept.append(item)
        if not kept:
            return items  # an error that says why is of more use than an empty list
        for text in lost:
            self._forgive("item", text)
        return kept

    def _members(self, classes: Tuple[Type[Model], ...], value: Dict[str, Any], where: Steps) -> None:
        cls = marked(marks(classes), value) if len(classes) > 1 else classes[0]
        if cls is None:
            return
        for m in (m for m in members(cls) if m.wire in value and m.exists(self._revision)):
            here, hint, item = where + (m.wire,), m.type_in(self._revision), value[m.wire]
            if item is None and hint is not Any and type(None) not in alternatives(hint):
                if m.assume or not m.required_in(self._revision):
                    del value[m.wire]
                    self._tell("null", "null stands for what could be left out; read as absent", here)
                continue
            if m.wire == "properties" and m.owner.__name__ in _SCHEMAS and type(item) is dict:
                for name in [name for name, schema in item.items() if type(schema) is bool]:
                    item[name] = {} if item[name] else {"not": {}}
                    self._tell("boolean schema", "read as %s" % item[name], here + (name,))
            value[m.wire] = self.value(hint, item, here)
            shape = m.shape_in(self._revision)
            if shape is not None:
                value[m.wire] = self.value(shape, value[m.wire], here)


_SCALARS = (str, int, float)
_LONGEST_SCALAR = 24
_SCHEMAS = ("ToolInputSchema", "ToolOutputSchema")
