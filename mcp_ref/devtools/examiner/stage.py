"""The stage of a scene: a server that can be talked to, what it offers, found by listing, and arguments for its tools.

Nothing is destroyed: a tool is called only if its annotations say that it only reads, or if its name was allowed. The
hints of a server are believed, because it is the server's own author who has it examined.

Arguments are made from the schemas of tools: some that fit, and some that do not. Nothing is sent as valid that
`mcp_ref.jsonschema` does not find valid. Where nothing fits that can be made here (a pattern, a condition) there are no
arguments.
"""

from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Tuple

from ...jsonschema import SchemaError, validate
from ...methods import LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, LIST_TOOLS
from ...revisions import Revision
from .scenes import WEB, NotExamined
from .talk import Endings, ExaminerConversation, NotSpoken, Wire

_DEPTH = 8
"""The levels of a schema for which values are made; deeper ones are left out."""
_MOST_CHARACTERS = 200_000
"""The characters of all values that are made for one schema."""
_MOST_TRIED = 100
"""The arguments that are tried until some do not fit."""
_PLAIN: Dict[str, Any] = {"string": "example", "integer": 1, "number": 1.5, "boolean": True, "null": None}
_WRONG: Dict[str, Any] = {"string": 7, "integer": "seven", "number": "seven", "boolean": "yes", "null": 7,
                          "array": "seven", "object": "seven"}
_FORMATS = {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "email": "a@example.com",
            "uri": "https://example.com/", "uuid": "12345678-1234-4234-8234-123456789012", "ipv4": "127.0.0.1"}


def valid(schema: Any) -> Optional[Dict[str, Any]]:
    """Return arguments that a schema allows, as few as possible; None if none could be made."""
    try:
        made = _ValueMaker(schema).made(schema, 0)
    except _TooLong:
        return None
    return made if isinstance(made, dict) and _fits(made, schema) else None


def invalid(schema: Any) -> Optional[Dict[str, Any]]:
    """Return arguments that a schema refuses: one of a wrong type, or one missing; None if everything is allowed."""
    good = valid(schema)
    if good is None:
        return None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    kinds = [(name, inner.get("type")) for name, inner in (properties if isinstance(properties, dict) else {}).items()
             if isinstance(inner, dict)]
    bad = chain(({**good, name: _WRONG[kind]} for name, kind in kinds if isinstance(kind, str) and kind in _WRONG),
                ({other: value for other, value in good.items() if other != name} for name in good))
    return next((each for each in islice(bad, _MOST_TRIED) if not _fits(each, schema)), None)


def _fits(value: Any, schema: Any) -> bool:
    try:
        return not validate(value, schema)
    except SchemaError:
        return False


class _TooLong(Exception):
    """The values for a schema would have more than _MOST_CHARACTERS characters."""


class _ValueMaker:
    """Makes values for one schema, which may not fit.

    A schema that refers to itself stands for more values than anybody can send, so their characters are counted.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = _MOST_CHARACTERS

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise _TooLong()

    def made(self, schema: Any, depth: int) -> Any:
        """Return a value for a schema inside of the whole one. Raises `_TooLong`."""
        before = self._left
        value = self._value(schema, depth)
        self._spend(2 if before != self._left else 2 + len(str(value)))
        return value

    def _value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > _DEPTH:
            return "example"
        for name in ("const", "default"):
            if name in schema:
                return schema[name]
        for name in ("enum", "examples"):
            if isinstance(schema.get(name), list) and schema[name]:
                return schema[name][0]
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            found = self._root
            for part in reference[2:].split("/"):
                found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
            return self.made(found, depth + 1)
        for name in ("anyOf", "oneOf"):
            if isinstance(schema.get(name), list) and schema[name]:
                return self.made(schema[name][0], depth + 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        kind = kind[0] if isinstance(kind, list) and kind else kind
        if kind == "object":
            properties, needed = schema.get("properties"), schema.get("required")
            value = {}
            for name in needed if isinstance(needed, list) else ():
                if isinstance(name, str):
                    self._spend(len(name))
                    value[name] = self.made(properties.get(name) if isinstance(properties, dict) else None, depth + 1)
            return value
        if kind == "array":
            least = schema.get("minItems")
            number = least if isinstance(least, int) and 0 < least < 100 else 0
            before = self._left
            item = [self.made(schema.get("items"), depth + 1)] if number else []
            self._spend((before - self._left) * (number - 1) if number else 0)
            return item * number
        if kind in ("integer", "number"):
            return _number(schema, kind)
        if kind == "string":
            return _text(schema)
        return _PLAIN.get(kind) if isinstance(kind, str) else None


def _number(schema: Dict[str, Any], kind: str) -> Any:
    for name, step in (("minimum", 0), ("exclusiveMinimum", 1), ("maximum", 0), ("exclusiveMaximum", -1)):
        if isinstance(schema.get(name), (int, float)) and not isinstance(schema[name], bool):
            return schema[name] + step
    return schema["multipleOf"] if isinstance(schema.get("multipleOf"), (int, float)) else _PLAIN[kind]


def _text(schema: Dict[str, Any]) -> str:
    text = _FORMATS.get(str(schema.get("format")), "example")
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least < 10_000:
        text = text.ljust(least, "x")
    return text[:most] if isinstance(most, int) and most >= 0 else text


ALL = "*"
"""The name by which all tools are allowed."""
LISTS: Tuple[Tuple[str, str, str], ...] = (
    (LIST_TOOLS, "tools", "tools"), (LIST_RESOURCES, "resources", "resources"),
    (LIST_RESOURCE_TEMPLATES, "resourceTemplates", "resources"), (LIST_PROMPTS, "prompts", "prompts"))
"""Method, member of the result, and capability of each list."""
_MOST = 5
"""The tools, resources and prompts that are used by a scene that goes through them."""
_START = 30.0
"""Seconds in which a server has to answer the first time: a program may take long to start."""
MANY = 20
"""The tools that are called by a scene that looks for one that does something."""
MakeWire = Callable[[], Wire]


class SceneStage:
    """A server in one revision; ``make``: returns an open wire to it. One thread."""

    def __init__(self, make: MakeWire, revision: Revision, patience: float, allowed: FrozenSet[str]) -> None:
        self.revision = revision
        self.patience = patience
        self._make = make
        self._endings = Endings()
        self._allowed = allowed
        self._talk: Optional[ExaminerConversation] = None
        self._aside: Optional[ExaminerConversation] = None
        self._started = False
        self.offered: Dict[str, List[Dict[str, Any]]] = {}
        """Member of the result -> what was listed."""
        self.shut = ""
        """The refusal of a server that lets in nobody without a token, and we have none; "" otherwise."""

    @property
    def talk(self) -> ExaminerConversation:
        """A conversation that was opened, which scenes share; a new one, if the last one has ended."""
        if self._talk is not None and self._talk.wire.ended:
            self._endings.end(self._talk)
            self._talk = None
        if self._talk is None:
            self._talk = self._opened()
        return self._talk

    @property
    def ended(self) -> str:
        """The reason why the server has ended the shared conversation; "" if it has not."""
        return "" if self._talk is None else self._talk.wire.ended

    @property
    def wire(self) -> str:
        """The kind of wire: pipe, web or sse."""
        return WEB if self.shut else self.talk.wire.kind

    @contextmanager
    def fresh(self, opened: bool = True, declared: Optional[Dict[str, Any]] = None) -> Iterator[ExaminerConversation]:
        """Make a conversation that no other scene sees; without ``opened`` nothing was sent on it.

        ``declared``: the capabilities of the client.
        """
        talk = self._opened(declared) if opened else self._begun(declared)
        try:
            yield talk
        finally:
            self._endings.end(talk)

    @property
    def aside(self) -> ExaminerConversation:
        """A conversation that was opened, for scenes that may break it: a new one, if the last one has ended, or has
        not answered. It spares the start of a process, where none is needed that nobody has talked to.
        """
        if self._aside is not None and (self._aside.wire.ended or self._aside.failed):
            self._endings.end(self._aside)
            self._aside = None
        if self._aside is None:
            self._aside = self._opened()
        return self._aside

    def _begun(self, declared: Optional[Dict[str, Any]] = None) -> ExaminerConversation:
        return ExaminerConversation(self._make(), self.revision, self.patience, declared)

    def _opened(self, declared: Optional[Dict[str, Any]] = None) -> ExaminerConversation:
        talk = self._begun(declared)
        try:
            talk.open(self.patience if self._started else max(self.patience, _START))
            self._started = True
        except NotSpoken:
            self._endings.end(talk)
            raise
        return talk

    def leave(self) -> None:
        """End the shared conversations, and wait for the end of all."""
        for talk in (self._talk, self._aside):
            if talk is not None:
                self._endings.end(talk)
        self._talk = self._aside = None
        self._endings.wait()

    def look(self) -> None:
        """List what the server offers, and call what may be called once, for the checker to see."""
        for method, member, capability in LISTS:
            found: List[Dict[str, Any]] = []
            if capability in self.talk.capabilities:
                for _, items in self.talk.pages(method, member):
                    found += [item for item in items if isinstance(item, dict)]
            self.offered[member] = found

    def some(self, member: str) -> List[Dict[str, Any]]:
        """Return a few of what is offered. Raises `NotExamined` if there is nothing."""
        if not self.offered.get(member):
            raise NotExamined("the server lists no %s" % member)
        return self.offered[member][:_MOST]

    def callable(self, wanted: Callable[[Dict[str, Any]], bool] = lambda tool: True, mirrored: bool = False,
                 most: int = _MOST) -> List[Tuple[Dict[str, Any], Dict[str, Any]]]:
        """Return tools that may be called, with arguments. Raises `NotExamined` if there are none.

        ``wanted``: leaves out others. ``mirrored``: those alone that have parameters with header fields, which a scene
        has to send; the others have none. ``most``: the number of tools, the first ones.
        """
        found, held = [], 0
        for tool in self.offered.get("tools", ()):
            schema, hints = tool.get("inputSchema"), tool.get("annotations")
            reads = isinstance(hints, dict) and hints.get("readOnlyHint") is True
            made = valid(schema)
            if not (reads or tool.get("name") in self._allowed or ALL in self._allowed):
                held += 1
            elif made is not None and isinstance(tool.get("name"), str) and wanted(tool) and (
                    "x-mcp-header" in str(schema)) == mirrored:
                found.append((tool, made))
        if not found:
            raise NotExamined("no tool may be called: %s" % (
                "%d have no readOnlyHint; --allow NAME or --all-tools allows them" % held if held else
                "for none of them arguments could be made" if self.offered.get("tools") else "there is none"))
        return found[:most]
