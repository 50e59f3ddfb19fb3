"""Functions to schemas, arguments and results: `mcp_ref.server.hints.signature` and the modules below it."""
import asyncio
import collections
import datetime
import decimal
import enum
import functools
import gc
import importlib.util
import ipaddress
import pathlib
import subprocess
import sys
import types
import typing
import uuid
import weakref
from dataclasses import dataclass, field
from typing import (
    Any, Callable, Deque, Dict, FrozenSet, Generic, Iterable, Iterator, List, Literal, Mapping, NamedTuple, NewType,
    Optional, Sequence, Set, Tuple, Type, TypedDict, TypeVar, Union,
)

import pytest

from mcp_ref import Server
from mcp_ref.errors import ToolError
from mcp_ref.jsonschema import check_schema, compile
from mcp_ref.jsontext import dumps
from mcp_ref.messages.content import TextContent
from mcp_ref.messages.tools import CallToolResult
from mcp_ref.peer.context import Context
from mcp_ref.server.hints import docstrings, values
from mcp_ref.server.hints.signature import BindError, Signature, SignatureError, Unresolved, to_json
from tests.support.patience import WAIT

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEW_UNIONS = sys.version_info >= (3, 10)
BUILTIN_GENERICS = sys.version_info >= (3, 9)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shape(enum.Enum):
    ROUND = (0, 0)
    SQUARE = (1, 1)


class Nobody(enum.Enum):
    pass


@dataclass
class Point:
    """A place on the map.

    Attributes:
        x: from the left
    """

    x: int
    y: float = 0.5
    tags: List[str] = field(default_factory=list, metadata={"description": "words"})
    note: Optional[str] = None
    length: int = field(default=7, init=False)


@dataclass
class Route:
    start: Point
    stops: "List[Point]"
    colour: Colour = Colour.RED


@dataclass
class Tree:
    name: str
    children: "List[Tree]"


@dataclass
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("%d is odd" % self.number)


@dataclass
class Circle:
    kind: Literal["circle"]
    size: int


@dataclass
class Box:
    kind: Literal["box"]
    size: int


class Pair(NamedTuple):
    left: int
    right: datetime.date
    word: str = "and"


class Plan(TypedDict):
    title: str
    due: datetime.date


class Loose(TypedDict, total=False):
    title: str
    due: Optional[datetime.date]


class UserId(str):
    pass


T = TypeVar("T")
Bound = TypeVar("Bound", bound=int)
Either = TypeVar("Either", int, str)
Meters = NewType("Meters", float)
Bare = collections.namedtuple("Bare", "a b")


class Holder(Generic[T]):
    pass


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    BOTH = 3


class Bits(enum.IntFlag):
    A = 1
    B = 2


@dataclass
class Page(Generic[T]):
    items: List[T]
    next: Optional[T] = None


@dataclass
class Numbers(Page[int]):
    total: int = 0


@dataclass
class Chain(Generic[T]):
    value: T
    rest: "Optional[Chain[T]]" = None


@dataclass
class Growing(Generic[T]):
    inner: "Optional[Growing[List[T]]]" = None


class Folder(TypedDict):
    name: str
    made: datetime.date
    folders: "List[Folder]"


@dataclass
class Expression:
    left: "Union[Expression, int]"
    right: "Union[int, Expression, None]" = None


class Model:
    """What pydantic's models look like from here: a schema, and conversions, of their own."""

    def __init__(self, number: int, child: "Optional[Model]" = None) -> None:
        self.number, self.child = number, child

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and (self.number, self.child) == (other.number, other.child)

    @classmethod
    def model_json_schema(cls, mode: str = "validation") -> Dict[str, Any]:
        child = {"anyOf": [{"$ref": "#/$defs/Model"}, {"type": "null"}]}
        node = {"type": "object", "properties": {"number": {"type": "integer"}, "child": child}, "title": mode}
        return {"$defs": {"Model": dict(node, required=["number"])}, "$ref": "#/$defs/Model"}

    @classmethod
    def model_validate(cls, value: Dict[str, Any]) -> "Model":
        if value["number"] % 2:
            raise ValueError("%d is odd" % value["number"])
        child = value.get("child")
        return cls(value["number"], None if child is None else cls.model_validate(child))

    def model_dump(self, mode: str = "python", by_alias: bool = False) -> Dict[str, Any]:
        assert mode == "json" and by_alias
        child = None if self.child is None else self.child.model_dump(mode, by_alias)
        return {"number": self.number, "child": child}


class Plainer(Model):
    """The same without options."""

    @classmethod
    def model_json_schema(cls) -> Dict[str, Any]:  # type: ignore[override]
        return {"type": "object", "properties": {"number": {"type": "integer"}}}

    def model_dump(self) -> Dict[str, Any]:  # type: ignore[override]
        return {"number": self.number}


POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "integer", "description": "from the left"},
        "y": {"type": "number", "default": 0.5},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "words", "default": []},
        "note": {"type": "string"},
    },
    "required": ["x"],
    "additionalProperties": False,
    "description": "A place on the map.",
}
DATE = {"type": "string", "format": "date"}
SHAPES = {
    kind: {"type": "object", "additionalProperties": False, "required": ["kind", "size"],
           "properties": {"kind": {"type": "string", "enum": [kind]}, "size": {"type": "integer"}}}
    for kind in ("circle", "box")
}


def taking(annotation: Any) -> Callable[..., Any]:
    """A function of one parameter of this type, which it returns."""
    def function(x):  # type: ignore[no-untyped-def]
        return x
    function.__annotations__ = {"x": annotation}
    return function


def returning(annotation: Any) -> Callable[..., Any]:
    """A function whose result is of this type."""
    def function():  # type: ignore[no-untyped-def]
        pass
    function.__annotations__ = {"return": annotation}
    return function


def schema_of(annotation: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = Signature(taking(annotation)).input_schema["properties"]["x"]
    return found


# --- annotation -> schema, and JSON value -> Python value -------------------------------------------------------------

DURATION = {"type": "string", "format": "duration"}
PAGE: Dict[str, Any] = {"type": "object", "required": ["items"], "additionalProperties": False, "properties": {
    "items": {"type": "array", "items": {"type": "integer"}}, "next": {"type": "integer"}}}

Row = Tuple[Any, Dict[str, Any], Any, Any]
TABLE: List[Row] = [
    (str, {"type": "string"}, "a", "a"),
    (int, {"type": "integer"}, 3, 3),
    (int, {"type": "integer"}, 3.0, 3),
    (float, {"type": "number"}, 3, 3.0),
    (float, {"type": "number"}, 2.5, 2.5),
    (bool, {"type": "boolean"}, True, True),
    (Any, {}, [1, {"a": None}], [1, {"a": None}]),
    (object, {}, 1, 1),
    (list, {"type": "array", "items": {}}, [1, "a"], [1, "a"]),
    (List, {"type": "array", "items": {}}, [1, "a"], [1, "a"]),
    (List[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (List[int], {"type": "array", "items": {"type": "integer"}}, [1, 2.0], [1, 2]),
    (List[List[float]], {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, [[1]], [[1.0]]),
    (List[Optional[int]], {"type": "array", "items": {"type": ["integer", "null"]}}, [1.0, None], [1, None]),
    (List[Optional[Colour]], {"type": "array", "items": {"type": ["string", "null"], "enum": ["red", "blue", None]}},
     ["red", None], [Colour.RED, None]),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (Iterable[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
    (set, {"type": "array", "items": {}, "uniqueItems": True}, [1, 2], {1, 2}),
    (Set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 2.0], {1, 2}),
    (FrozenSet[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ["a"], frozenset(["a"])),
    (tuple, {"type": "array", "items": {}}, [1, "a"], (1, "a")),
    (Tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1, 2], (1, 2)),
    (Tuple[int, int], {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}, [1, 2], (1, 2)),
    (Tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2,
                       "maxItems": 2}, [1.0, "a"], (1, "a")),
    (dict, {"type": "object"}, {"a": 1}, {"a": 1}),
    (Dict, {"type": "object"}, {"a": 1}, {"a": 1}),
    (Dict[str, Any], {"type": "object"}, {"a": 1}, {"a": 1}),
    (Mapping[str, float], {"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1}, {"a": 1.0}),
    (Dict[Colour, int], {"type": "object", "propertyNames": {"enum": ["red", "blue"]},
                         "additionalProperties": {"type": "integer"}}, {"red": 1}, {Colour.RED: 1}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    (Literal[1, "b"], {"type": ["integer", "string"], "enum": [1, "b"]}, 1, 1),
    (Literal["a", Literal["b"]], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    (Literal[Colour.RED], {"type": "string", "enum": ["red"]}, "red", Colour.RED),
    (Colour, {"type": "string", "enum": ["red", "blue"]}, "blue", Colour.BLUE),
    (Level, {"type": "integer", "enum": [1, 2]}, 2, Level.HIGH),
    (Shape, {"type": "string", "enum": ["ROUND", "SQUARE"]}, "ROUND", Shape.ROUND),
    (Union[int, str], {"type": ["integer", "string"]}, 2.0, 2),
    (Union[int, str], {"type": ["integer", "string"]}, "2", "2"),
    (Union[int, float], {"type": "number"}, 2, 2),
    (Union[bool, List[int]], {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}}]},
     [1.0], [1]),
    (Union[Circle, Box], {"anyOf": [SHAPES["circle"], SHAPES["box"]]}, {"kind": "box", "size": 1}, Box("box", 1)),
    (Union[datetime.date, str], {"anyOf": [DATE, {"type": "string"}]}, "soon", "soon"),
    (Union[datetime.date, str], {"anyOf": [DATE, {"type": "string"}]}, "2024-02-29", datetime.date(2024, 2, 29)),
    (Union[int, Any], {}, [], []),
    (bytes, {"type": "string", "contentEncoding": "base64"}, "aGk=", b"hi"),
    (datetime.date, DATE, "2024-02-29", datetime.date(2024, 2, 29)),
    (datetime.time, {"type": "string", "format": "time"}, "10:20:30.5", datetime.time(10, 20, 30, 500000)),
    (datetime.datetime, {"type": "string", "format": "date-time"}, "2024-02-29T10:20:30Z",
     datetime.datetime(2024, 2, 29, 10, 20, 30, tzinfo=datetime.timezone.utc)),
    (datetime.datetime, {"type": "string", "format": "date-time"}, "2024-02-29t10:20:30.123456789+01:00",
     datetime.datetime(2024, 2, 29, 10, 20, 30, 123456, datetime.timezone(datetime.timedelta(hours=1)))),
    (uuid.UUID, {"type": "string", "format": "uuid"}, "12345678-1234-5678-1234-567812345678",
     uuid.UUID("12345678123456781234567812345678")),
    (pathlib.Path, {"type": "string"}, "a/b", pathlib.Path("a/b")),
    (ipaddress.IPv4Address, {"type": "string", "format": "ipv4"}, "10.0.0.1", ipaddress.IPv4Address("10.0.0.1")),
    (ipaddress.IPv6Address, {"type": "string", "format": "ipv6"}, "::1", ipaddress.IPv6Address("::1")),
    (datetime.timedelta, DURATION, "P1DT12H", datetime.timedelta(days=1, hours=12)),
    (datetime.timedelta, DURATION, "PT1.5S", datetime.timedelta(seconds=1.5)),
    (datetime.timedelta, DURATION, "-P2W", datetime.timedelta(weeks=-2)),
    (datetime.timedelta, DURATION, "PT0S", datetime.timedelta(0)),
    (decimal.Decimal, {"type": ["string", "number"]}, "1.10", decimal.Decimal("1.10")),
    (decimal.Decimal, {"type": ["string", "number"]}, 0.1, decimal.Decimal("0.1")),
    (decimal.Decimal, {"type": ["string", "number"]}, 12345678901234567890, decimal.Decimal("12345678901234567890")),
    (Access, {"type": "array", "items": {"type": "string", "enum": ["READ", "WRITE"]}, "uniqueItems": True},
     ["READ", "WRITE"], Access.BOTH),
    (Bits, {"type": "array", "items": {"type": "string", "enum": ["A", "B"]}, "uniqueItems": True}, [], Bits(0)),
    (Literal[1, True, "x"], {"type": ["integer", "boolean", "string"], "enum": [1, True, "x"]}, True, True),
    (Literal[True], {"type": "boolean", "enum": [True]}, True, True),
    (Literal[Level.LOW, True], {"type": ["integer", "boolean"], "enum": [1, True]}, 1, Level.LOW),
    (Deque[int], {"type": "array", "items": {"type": "integer"}}, [1.0], collections.deque([1])),
    (Page[datetime.date], {"type": "object", "required": ["items"], "additionalProperties": False, "properties": {
        "items": {"type": "array", "items": DATE}, "next": DATE}},
     {"items": ["2024-02-29"]}, Page([datetime.date(2024, 2, 29)])),
    (Page, {"type": "object", "required": ["items"], "additionalProperties": False, "properties": {
        "items": {"type": "array", "items": {}}, "next": {}}}, {"items": [1, "a"]}, Page([1, "a"])),
    (Page[Page[int]], {"type": "object", "required": ["items"], "additionalProperties": False, "properties": {
        "items": {"type": "array", "items": PAGE}, "next": PAGE}},
     {"items": [{"items": [1.0]}]}, Page([Page([1])])),
    (Numbers, dict(PAGE, properties=dict(PAGE["properties"], total={"type": "integer", "default": 0})),
     {"items": [1.0], "total": 1}, Numbers([1], None, 1)),
    (Plainer, {"type": "object", "properties": {"number": {"type": "integer"}}}, {"number": 2}, Plainer(2)),
    (UserId, {"type": "string"}, "u", UserId("u")),
    (collections.OrderedDict, {"type": "object"}, {"a": 1}, collections.OrderedDict(a=1)),
    (Meters, {"type": "number"}, 1, 1.0),
    (T, {}, "a", "a"),
    (Bound, {"type": "integer"}, 1, 1),
    (Either, {"type": ["integer", "string"]}, "a", "a"),
    (Point, POINT, {"x": 1.0, "note": "n"}, Point(1, 0.5, [], "n")),
    (Route, {"type": "object", "required": ["start", "stops"], "additionalProperties": False, "properties": {
        "start": POINT, "stops": {"type": "array", "items": POINT},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"}}},
     {"start": {"x": 1}, "stops": [{"x": 2, "y": 1}], "colour": "blue"}, Route(Point(1), [Point(2, 1.0)], Colour.BLUE)),
    (Pair, {"type": "object", "required": ["left", "right"], "additionalProperties": False, "properties": {
        "left": {"type": "integer"}, "right": DATE, "word": {"type": "string", "default": "and"}}},
     {"left": 1, "right": "2024-02-29"}, Pair(1, datetime.date(2024, 2, 29))),
    (Bare, {"type": "object", "required": ["a", "b"], "additionalProperties": False, "properties": {"a": {}, "b": {}}},
     {"a": 1, "b": []}, Bare(1, [])),
    (Plan, {"type": "object", "required": ["title", "due"], "additionalProperties": False, "properties": {
        "title": {"type": "string"}, "due": DATE}},
     {"title": "t", "due": "2024-02-29"}, {"title": "t", "due": datetime.date(2024, 2, 29)}),
    (Loose, {"type": "object", "additionalProperties": False, "properties": {
        "title": {"type": "string"}, "due": DATE}}, {"due": "2024-02-29"}, {"due": datetime.date(2024, 2, 29)}),
    ("List[Point]", {"type": "array", "items": POINT}, [{"x": 1}], [Point(1)]),
    (List["Point"], {"type": "array", "items": POINT}, [{"x": 1}], [Point(1)]),
    ("int", {"type": "integer"}, 1, 1),
]


def evaluated(text: str) -> Any:
    """An annotation that older interpreters cannot even evaluate."""
    return eval(text, {**vars(typing), **globals()})


def newer() -> Iterator[Row]:
    """Rows of what this interpreter has and 3.8 has not."""
    if BUILTIN_GENERICS:
        yield evaluated("list[int]"), {"type": "array", "items": {"type": "integer"}}, [1.0], [1]
        yield evaluated("dict[str, int]"), {"type": "object", "additionalProperties": {"type": "integer"}}, {}, {}
        yield evaluated("tuple[int, ...]"), {"type": "array", "items": {"type": "integer"}}, [1], (1,)
        yield evaluated("Annotated[int, 'how many']"), {"type": "integer", "description": "how many"}, 1, 1
        yield (evaluated("List[Annotated[str, 'a word']]"),
               {"type": "array", "items": {"type": "string", "description": "a word"}}, ["a"], ["a"])
        yield "list[Point]", {"type": "array", "items": POINT}, [{"x": 1}], [Point(1)]
    if NEW_UNIONS:
        yield evaluated("int | str"), {"type": ["integer", "string"]}, 2.0, 2
        yield evaluated("list[int | None]"), {"type": "array", "items": {"type": ["integer", "null"]}}, [None], [None]
    if sys.version_info >= (3, 11):
        some = evaluated("TypedDict('some', {'a': Required[int], 'b': NotRequired[str]})")
        yield (some, {"type": "object", "required": ["a"], "additionalProperties": False,
                      "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}, {"a": 1}, {"a": 1})
        late = evaluated("TypedDict('late', {'a': 'int', 'b': 'NotRequired[str]'})")
        late.__annotations__.update(a="int", b="typing.NotRequired[str]")  # as postponed annotations are
        yield (late, {"type": "object", "required": ["a"], "additionalProperties": False,
                      "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}, {"a": 1}, {"a": 1})
    if sys.version_info >= (3, 12):
        found: Dict[str, Any] = {}
        exec("type Number = int | float\ntype Words = list[str]", found)
        yield found["Number"], {"type": "number"}, 1, 1
        yield found["Words"], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]


ROWS = TABLE + list(newer())


@pytest.mark.parametrize("annotation, schema, given, made", ROWS, ids=[str(row[0])[:50] for row in ROWS])
def test_annotation_has_its_schema_and_arguments_become_its_values(
        annotation: Any, schema: Dict[str, Any], given: Any, made: Any) -> None:
    signature = Signature(taking(annotation))
    assert signature.input_schema["properties"]["x"] == schema
    assert signature.required == ["x"]
    check_schema(signature.input_schema)
    assert compile(signature.input_schema).validate({"x": given}) == []
    bound = signature.bind({"x": given})
    assert bound == {"x": made} and type(bound["x"]) is type(made)


def sorted_types(schema: Any) -> Any:
    """A schema with its lists of types in order: `typing` caches unions, so their order depends on what ran before."""
    if isinstance(schema, list):
        return [sorted_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: sorted_types(value) for name, value in schema.items()}
    return dict(made, type=sorted(made["type"])) if isinstance(made.get("type"), list) else made


@pytest.mark.parametrize("annotation, schema, given, made", ROWS, ids=[str(row[0])[:50] for row in ROWS])
def test_optional_is_the_same_schema_but_not_required(
        annotation: Any, schema: Dict[str, Any], given: Any, made: Any) -> None:
    annotation = "Optional[%s]" % annotation if isinstance(annotation, str) else Optional[annotation]
    signature = Signature(taking(annotation))
    assert sorted_types(signature.input_schema["properties"]["x"]) == sorted_types(schema)
    assert signature.required == [] and "required" not in signature.input_schema
    assert signature.bind({}) == {"x": None}
    assert signature.bind({"x": given}) == {"x": made}


def as_structured(signature: Signature, plain: Any) -> Any:
    """Returns the structured content for a returned value, given as JSON."""
    return {"result": plain} if signature.returned()[1] else plain


@pytest.mark.parametrize("annotation, schema, given, made", ROWS, ids=[str(row[0])[:50] for row in ROWS])
def test_results_go_back_to_json_and_fit_the_output_schema(
        annotation: Any, schema: Dict[str, Any], given: Any, made: Any) -> None:
    signature = Signature(returning(annotation), structured=True)
    written = as_structured(signature, to_json(made))
    check_schema(signature.output_schema)
    assert compile(signature.output_schema).validate(written) == []
    dumps(written)


@pytest.mark.parametrize("annotation, schema, given, made", ROWS, ids=[str(row[0])[:50] for row in ROWS])
def test_schemas_have_neither_references_nor_anyof_with_null(
        annotation: Any, schema: Dict[str, Any], given: Any, made: Any) -> None:
    for wrapped in (annotation, Optional[annotation], List[annotation]):
        signature = Signature(taking(wrapped))
        text = dumps(signature.input_schema)
        assert '"$ref"' not in text and '{"type":"null"}' not in text
        assert signature.input_schema["type"] == "object"


UNKNOWN: Any = typing.ForwardRef("No" + "pe")
HOSTILE: List[Tuple[Any, str]] = [
    (Growing[int], "Growing is 20 classes deep, each inside the one before"),
    ("Nope", "parameter 'x': annotation 'Nope' cannot be resolved (name 'Nope' is not defined)"),
    (List[UNKNOWN], "annotation 'Nope' cannot be resolved"),
    ("typing.Nope", "annotation 'typing.Nope' cannot be resolved"),
    ("1 +", "annotation '1 +' is wrong"),
    ("1 / 0", "annotation '1 / 0' is wrong (division by zero)"),
    (Callable[[int], int], "typing.Callable[[int], int] has no JSON form"),
    (Type[int], "typing.Type[int] has no JSON form"),
    (Iterator[int], "typing.Iterator[int] has no JSON form"),
    (Holder, "Holder has no JSON form"),
    (type, "type has no JSON form"),
    (complex, "complex has no JSON form"),
    ([int], "[<class 'int'>] has no JSON form"),
    (5, "5 has no JSON form"),
    (..., "Ellipsis has no JSON form"),
    (sys, "has no JSON form"),
    (Dict[int, str], "the keys of a JSON object are strings, not int"),
    (Literal[b"x"], "Literal value b'x' has no JSON form"),
    (Nobody, "Nobody has no members"),
    (TextContent, "TextContent is a part of protocol messages"),
    (List[Dict[str, complex]], "complex has no JSON form"),
]


@pytest.mark.parametrize("annotation, words", HOSTILE, ids=[str(row[0])[:40] for row in HOSTILE])
def test_annotation_without_json_form_is_refused_with_the_name_of_the_parameter(annotation: Any, words: str) -> None:
    with pytest.raises(SignatureError) as caught:
        Signature(taking(annotation)).input_schema
    assert words in str(caught.value) and str(caught.value).startswith("function: parameter 'x': ")
    assert isinstance(caught.value, TypeError)


@pytest.mark.skipif(NEW_UNIONS, reason="this interpreter has X | Y")
def test_old_interpreters_are_told_what_to_write() -> None:
    with pytest.raises(SignatureError, match="before Python 3.10 write Optional"):
        Signature(taking("int | None"))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="this interpreter has no type statement")
def test_alias_of_itself_has_a_definition() -> None:
    found: Dict[str, Any] = {}
    exec("type Json = list[Json] | int", found)
    signature = Signature(taking(found["Json"]))
    inside = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Json"}}, {"type": "integer"}]}
    assert signature.input_schema["properties"]["x"] == inside == signature.input_schema["$defs"]["Json"]
    assert signature.bind({"x": [[1.0], 2]}) == {"x": [[1], 2]}


@pytest.mark.skipif(not BUILTIN_GENERICS, reason="this interpreter has no Annotated")
def test_annotated_may_add_keywords_of_json_schema() -> None:
    assert schema_of(evaluated("Annotated[int, {'minimum': 0}, 'how many']")) == {
        "type": "integer", "minimum": 0, "description": "how many"}
    assert schema_of(evaluated("List[Annotated[int, {'minimum': 0}]]"))["items"] == {"type": "integer", "minimum": 0}


TREE = {"type": "object", "required": ["name", "children"], "additionalProperties": False, "properties": {
    "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}


def deep(levels: int) -> Dict[str, Any]:
    return {"name": str(levels), "children": [deep(levels - 1)] if levels else []}


def test_a_class_that_contains_itself_is_defined_once_and_written_out_where_it_stands() -> None:
    """[JSON Schema 2020-12 core §8.2.4]"""
    signature = Signature(taking(Tree))
    schema = signature.input_schema
    assert schema["properties"] == {"x": TREE} and schema["$defs"] == {"Tree": TREE}
    check_schema(schema)
    assert compile(schema).validate({"x": deep(5)}) == []
    wrong = deep(3)
    wrong["children"][0]["children"][0]["name"] = 5
    assert [error.path for error in compile(schema).validate({"x": wrong})] == [
        ("x", "children", 0, "children", 0, "name")]
    made = signature.bind({"x": deep(2)})["x"]
    assert made == Tree("2", [Tree("1", [Tree("0", [])])])


def test_a_result_that_contains_itself() -> None:
    signature = Signature(returning(Tree))
    schema = signature.output_schema
    assert schema is not None and schema["type"] == "object" and set(schema["$defs"]) == {"Tree"}
    made = as_structured(signature, to_json(Tree("a", [Tree("b", [])])))
    assert made == {"name": "a", "children": [{"name": "b", "children": []}]} and not compile(schema).validate(made)
    assert compile(schema).validate({"name": "a", "children": [{"name": "b"}]}) != []


@pytest.mark.parametrize("annotation, given, made", [
    (Folder, {"name": "a", "made": "2024-02-29", "folders": [{"name": "b", "made": "2024-03-01", "folders": []}]},
     {"name": "a", "made": datetime.date(2024, 2, 29),
      "folders": [{"name": "b", "made": datetime.date(2024, 3, 1), "folders": []}]}),
    (Chain[datetime.date], {"value": "2024-02-29", "rest": {"value": "2024-03-01"}},
     Chain(datetime.date(2024, 2, 29), Chain(datetime.date(2024, 3, 1)))),
    (Expression, {"left": {"left": 1, "right": {"left": 2.0}}, "right": 3},
     Expression(Expression(1, Expression(2)), 3)),
    (Optional[Tree], deep(1), Tree("1", [Tree("0", [])])),
    (Dict[str, Tree], {"a": deep(0)}, {"a": Tree("0", [])}),
    (Tuple[Tree, Chain[int], Chain[str]], [deep(0), {"value": 1, "rest": {"value": 2}}, {"value": "a"}],
     (Tree("0", []), Chain(1, Chain(2)), Chain("a"))),
], ids=str)
def test_what_contains_itself_is_read_to_its_depth(annotation: Any, given: Any, made: Any) -> None:
    signature = Signature(taking(annotation))
    check_schema(signature.input_schema)
    assert compile(signature.input_schema).validate({"x": given}) == []
    assert signature.bind({"x": given}) == {"x": made}
    written = as_structured(Signature(returning(annotation), structured=True), to_json(made))
    schema = Signature(returning(annotation), structured=True).output_schema
    check_schema(schema)
    assert compile(schema).validate(written) == []


def test_two_classes_of_one_name_have_two_definitions() -> None:
    signature = Signature(taking(Tuple[Chain[int], Chain[str]]))
    defs = signature.input_schema["$defs"]
    types = {name: defs[name]["properties"]["value"]["type"] for name in defs}
    assert types == {"Chain": "integer", "Chain2": "string"}


def test_a_class_with_a_schema_of_its_own_reads_and_writes_itself() -> None:
    signature = Signature(taking(List[Model]))
    schema = signature.input_schema
    check_schema(schema)
    item = schema["properties"]["x"]["items"]
    assert item["type"] == "object" and item["title"] == "validation" and schema["$defs"] == {"Model": item}
    assert compile(schema).validate({"x": [{"number": 2, "child": {"number": "x"}}]}) != []
    assert signature.bind({"x": [{"number": 2, "child": {"number": 4}}]}) == {"x": [Model(2, Model(4))]}
    with pytest.raises(BindError, match=r"^x\[0\]: 3 is odd$"):
        signature.bind({"x": [{"number": 3}]})
    output = Signature(returning(Model))
    assert output.output_schema is not None and output.output_schema["title"] == "serialization"
    assert as_structured(output, to_json(Model(1, Model(2)))) == {"number": 1, "child": {"number": 2, "child": None}}


def test_definitions_of_one_name_that_differ_are_kept_apart() -> None:
    class Other(Model):
        @classmethod
        def model_json_schema(cls, mode: str = "validation") -> Dict[str, Any]:
            return {"type": "object", "properties": {"a": {"$ref": "#/$defs/Model"}},
                    "$defs": {"Model": {"type": "null"}}}

    def both(one: Model, two: Other, three: Model) -> None: ...
    schema = Signature(both).input_schema
    assert set(schema["$defs"]) == {"Model", "Model2"} and schema["$defs"]["Model2"] == {"type": "null"}
    assert schema["properties"]["two"]["properties"]["a"] == {"$ref": "#/$defs/Model2"}
    assert schema["properties"]["three"] == schema["properties"]["one"] == schema["$defs"]["Model"]


@pytest.mark.parametrize("text", ["", "P", "PT", "P1Y", "P1M", "1D", "P1DT", "PT1", "P1D2H", "P1.5D", "PT1H ", "-",
                                  "P-1D"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(BindError, match="no duration of weeks, days, hours"):
        Signature(taking(datetime.timedelta)).bind({"x": text})


@pytest.mark.parametrize("value, text", [
    (datetime.timedelta(0), "PT0S"), (datetime.timedelta(1), "P1D"), (datetime.timedelta(1, 3661), "P1DT1H1M1S"),
    (datetime.timedelta(microseconds=1500), "PT0.0015S"), (datetime.timedelta(seconds=-90), "-PT1M30S"),
    (datetime.timedelta.max, "P999999999DT23H59M59.999999S"),
])
def test_a_duration_is_written_and_read_back(value: datetime.timedelta, text: str) -> None:
    assert to_json(value) == text
    if value != datetime.timedelta.max:
        assert Signature(taking(datetime.timedelta)).bind({"x": text}) == {"x": value}


@pytest.mark.parametrize("given, words", [("one", "'one' is no decimal number"), ("NaN", "a finite number"),
                                          ("-Infinity", "a finite number")])
def test_what_is_no_decimal_is_refused(given: str, words: str) -> None:
    with pytest.raises(BindError, match=words):
        Signature(taking(decimal.Decimal)).bind({"x": given})


def test_flags_are_written_as_the_names_of_what_is_set() -> None:
    assert to_json(Access.BOTH) == ["READ", "WRITE"] and to_json(Bits(0)) == []
    with pytest.raises(ValueError, match="bits that no member of Bits names"):
        to_json(Bits(9))


def test_same_class_twice_is_not_recursion() -> None:
    schema = schema_of(Tuple[Point, Point])
    assert schema["items"] == POINT


def test_name_that_is_defined_later_is_resolved_on_first_use() -> None:
    space: Dict[str, Any] = {}
    exec("def tool(x: 'Later'): pass", space)
    signature = Signature(space["tool"])
    with pytest.raises(Unresolved):
        signature.required
    space["Later"] = int
    assert signature.required == ["x"] and signature.bind({"x": 1.0}) == {"x": 1}


UNQUOTED = '''
import functools
from dataclasses import dataclass
from typing import List, Optional
def plain(x: Later, y: Optional[Later] = None, z: List[Later] = []) -> Later: return x
@functools.wraps(plain)
def wrapped(*given, **named): return plain(*given, **named)
partial = functools.partial(plain, y=None)
class Object:
    def __call__(self, x: Later) -> Later: return x
instance = Object()
@dataclass
class Holder:
    later: Later
    more: Later | None = None
def holding(x: Holder) -> Holder: return x
'''


@pytest.mark.skipif(sys.version_info < (3, 14), reason="before 3.14 a name has to mean something where it is written")
@pytest.mark.parametrize("name", ["plain", "wrapped", "partial", "instance", "holding"])
def test_name_without_quotes_may_be_defined_later(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("unquoted")
    monkeypatch.setitem(sys.modules, "unquoted", module)
    space = module.__dict__
    exec(UNQUOTED, space)
    signature = Signature(space[name], name)
    with pytest.raises(Unresolved, match="'Later'"):
        signature.required
    space["Later"] = Point
    shown = signature.input_schema["properties"]["x"]
    assert (shown["properties"]["later"] if name == "holding" else shown) == POINT
    assert signature.required == ["x"]


def test_postponed_annotations_find_module_and_closure(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "postponed.py"
    path.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\nfrom typing import *\n"
        "@dataclass\nclass Thing:\n    size: int\n    more: Optional[List[Part]] = None\n"
        "@dataclass\nclass Part:\n    name: str\n"
        "class Keys(TypedDict, total=False):\n    thing: Thing\n"
        "def tool(thing: Thing, keys: Keys, ctx: Context, n: int = 1) -> Part: ...\n"
        "def make():\n"
        "    class Local(NamedTuple):\n        a: int\n"
        "    def inner(x: Local): return Local\n    return inner\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("postponed_annotations", str(path))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        signature = Signature(module.tool)
        assert signature.context_parameter == "ctx"  # by name: nothing of that name can be found at run time
        assert list(signature.input_schema["properties"]) == ["thing", "keys", "n"]
        bound = signature.bind({"thing": {"size": 1, "more": [{"name": "p"}]}, "keys": {}})
        assert bound["thing"] == module.Thing(1, [module.Part("p")])
        assert signature.output_schema is not None and list(signature.output_schema["properties"]) == ["name"]
        assert Signature(module.make()).bind({"x": {"a": 1.0}})["x"].a == 1
    finally:
        del sys.modules[spec.name]


def test_field_of_a_base_class_in_another_module_is_resolved_there(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "base.py"
    path.write_text("from dataclasses import dataclass\n@dataclass\nclass Hidden:\n    a: 'int'\n"
                    "@dataclass\nclass Base:\n    hidden: 'Hidden'\n"
                    "from typing import TypedDict\nclass Keys(TypedDict):\n    hidden: 'Hidden'\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("base_of_signature_test", str(path))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        body = {"__annotations__": {"b": "Point"}, "__module__": __name__}
        derived = dataclass(type("Derived", (module.Base,), body))
        assert list(schema_of(derived)["properties"]) == ["hidden", "b"]
        if BUILTIN_GENERICS:  # before, a TypedDict did not know where its keys came from
            keys = types.new_class("MoreKeys", (module.Keys,))
            keys.__module__ = __name__
            assert schema_of(keys)["properties"]["hidden"]["properties"] == {"a": {"type": "integer"}}
    finally:
        del sys.modules[spec.name]


# --- parameters -------------------------------------------------------------------------------------------------------

def test_defaults_that_json_can_hold_are_shown() -> None:
    def tool(
        a: int = 1, b: Optional[str] = None, c: Colour = Colour.BLUE, d: Any = object(), e: float = float("nan"),
        f: Tuple[int, int] = (1, 2), g: Point = Point(1), h: bytes = b"hi", i: Any = (lambda: 1),
    ) -> None: ...

    properties = Signature(tool).input_schema["properties"]
    shown = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    point = {"x": 1, "y": 0.5, "tags": [], "note": None, "length": 7}
    assert shown == {"a": 1, "c": "blue", "f": [1, 2], "g": point, "h": "aGk="}
    assert Signature(tool).required == []


def test_no_parameters_is_a_closed_empty_object() -> None:
    """[2025-11-25.. server/tools §Tool with no parameters:]"""
    schema = Signature(lambda: None).input_schema
    assert schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_parameter_without_annotation_takes_anything() -> None:
    signature = Signature(lambda a, b=2: (a, b))
    assert signature.input_schema["properties"] == {"a": {}, "b": {"default": 2}} and signature.required == ["a"]


def test_keyword_only_and_positional_only_parameters_are_called_rightly() -> None:
    space: Dict[str, Any] = {}
    exec("def tool(a: int, b: int = 5, /, c: int = 6, *, d: int, e: int = 8): return a, b, c, d, e", space)
    signature = Signature(space["tool"])
    assert signature.parameters == ["a", "b", "c", "d", "e"] and signature.required == ["a", "d"]
    assert signature.call(**signature.bind({"a": 1, "d": 4})) == (1, 5, 6, 4, 8)
    assert signature.call(**signature.bind({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5})) == (1, 2, 3, 4, 5)
    with pytest.raises(TypeError, match="needs an argument a"):
        signature.call(d=1)


def test_call_is_the_function_itself_where_names_suffice() -> None:
    function = taking(int)
    assert Signature(function).call is function


@pytest.mark.parametrize("function, words", [
    (lambda *args: None, r"takes \*args, which has no schema"),
    (lambda **kwargs: None, r"takes \*\*kwargs, which has no schema"),
    (functools.partial(lambda *args: None), r"takes \*args"),
    (asyncio.sleep, "is asynchronous; handlers are plain functions"),
    (functools.partial(asyncio.sleep), "is asynchronous"),
    (max, "its parameters are unknown|takes \\*args"),  # PyPy knows them
])
def test_functions_that_named_arguments_cannot_call_are_refused(function: Any, words: str) -> None:
    with pytest.raises(SignatureError, match=words):
        Signature(function)


def test_explicit_schema_needs_nothing_of_the_parameters() -> None:
    def tool(first, *args, ctx, **kwargs):  # type: ignore[no-untyped-def]
        """What it does."""
    signature = Signature(tool, explicit=True)
    assert signature.context_parameter == "ctx" and signature.description == "What it does."
    assert Signature(taking(complex), explicit=True).parameters == ["x"]
    assert Signature(functools.partial(tool, 1), explicit=True).context_parameter == "ctx"


class Maker:
    """Makes things."""

    def __init__(self, size: int) -> None:
        self.size = size

    def grow(self, by: "Colour", ctx: Context) -> None:
        """Make it larger."""

    @classmethod
    def make(cls, size: int) -> None:
        """Make one."""

    @staticmethod
    def rest(size: int) -> None:
        """Do nothing."""

    def __call__(self, text: str) -> None:
        """Say it."""


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)
    return wrapper


@decorated
def wrapped(point: "Point", ctx: "Context", n: int = 1) -> "Point":
    """Wrapped up."""
    return point


@functools.lru_cache(maxsize=None)
def cached(n: "int") -> int:
    """Kept."""
    return n


@pytest.mark.parametrize("function, parameters, description", [
    (Maker(1).grow, ["by"], "Make it larger."),
    (Maker.make, ["size"], "Make one."),
    (Maker.rest, ["size"], "Do nothing."),
    (Maker(1), ["text"], "Say it."),
    (Maker, ["size"], "Makes things."),
    (wrapped, ["point", "n"], "Wrapped up."),
    (functools.partial(wrapped, n=2), ["point"], "Wrapped up."),  # a bound value, perhaps secret, is nobody's
    (cached, ["n"], "Kept."),
    (lambda a: a, ["a"], None),
], ids=str)
def test_any_callable_can_be_a_handler(function: Any, parameters: List[str], description: Optional[str]) -> None:
    signature = Signature(function)
    assert signature.parameters == parameters and list(signature.input_schema["properties"]) == parameters
    assert signature.description == description


# --- the context ------------------------------------------------------------------------------------------------------

class MyContext(Context):
    pass


CONTEXTS: List[Any] = [Context, MyContext, "Context", "MyContext", Optional[Context], Optional["Context"]]
CONTEXTS += ["Optional[Context]"]
CONTEXTS += [evaluated("Context | None")] if NEW_UNIONS else []
CONTEXTS += [evaluated("Annotated[Context, 'who asks']")] if BUILTIN_GENERICS else []


@pytest.mark.parametrize("annotation", CONTEXTS, ids=str)
def test_context_is_found_by_its_class_and_hidden(annotation: Any) -> None:
    def tool(a, anything, b=1):  # type: ignore[no-untyped-def]
        pass
    tool.__annotations__ = {"anything": annotation, "a": int}
    signature = Signature(tool)
    assert signature.context_parameter == "anything" and signature.parameters == ["a", "b"]
    assert "anything" not in dumps(signature.input_schema)
    assert compile(signature.input_schema).validate({"a": 1, "anything": 1})  # a client cannot give it


def test_context_is_found_by_the_name_ctx_only_without_annotation() -> None:
    assert Signature(lambda ctx, a: None).context_parameter == "ctx"
    signature = Signature(lambda context: None)
    assert signature.context_parameter is None

    def tool(ctx: int) -> None: ...
    assert Signature(tool).context_parameter is None and Signature(tool).parameters == ["ctx"]


def test_two_contexts_are_refused() -> None:
    def tool(ctx, other: Context) -> None: ...  # type: ignore[no-untyped-def]
    with pytest.raises(SignatureError, match="both ctx and other take the context"):
        Signature(tool)


def test_own_context_classes_can_be_named() -> None:
    class Session(Generic[T]):
        pass

    def tool(a: int, where: Session[int]) -> None: ...
    assert Signature(tool, context_types=(Session,)).context_parameter == "where"


# --- binding ----------------------------------------------------------------------------------------------------------

def test_plain_arguments_are_not_copied() -> None:
    def tool(a: str, b: int, c: float, d: bool, e: List[int]) -> None: ...
    arguments = {"a": "x", "b": 1, "c": 1.5, "d": True, "e": [1, 2]}
    bound = Signature(tool).bind(arguments)
    assert bound["e"] is arguments["e"] and Signature(taking(str)).bind(arguments) is arguments


def test_bind_leaves_the_arguments_alone() -> None:
    arguments = {"x": {"start": {"x": 1}, "stops": [{"x": 2.0}]}}
    before = dumps(arguments)
    Signature(taking(Route)).bind(arguments)
    assert dumps(arguments) == before


@pytest.mark.parametrize("annotation, given, text", [
    (datetime.date, "2024-02-30", "x: "),  # in the words of each interpreter
    (Plan, {"title": "t", "due": "soon"}, "x.due: "),
    (List[bytes], ["aGk=", "?"], "x[1]: "),
    (Dict[str, List[datetime.date]], {"a": ["2024-01-01", "x"]}, "x.a[1]: "),
    (Even, {"number": 3}, "x: 3 is odd"),
    (List[Even], [{"number": 2}, {"number": 3}], "x[1]: 3 is odd"),
    (Tuple[int, Even], [1, {"number": 3}], "x[1]: 3 is odd"),
    (Union[Even, int], {"number": 3}, "x: 3 is odd"),
    (uuid.UUID, "zz", "x: badly formed"),
    (float, 10 ** 400, "x: int too large"),
])
def test_value_that_cannot_be_made_is_refused_with_its_place(annotation: Any, given: Any, text: str) -> None:
    with pytest.raises(BindError) as caught:
        Signature(taking(annotation)).bind({"x": given})
    assert str(caught.value).startswith(text)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, ToolError)  # so the model reads the text


def test_null_of_an_optional_item_stays_null() -> None:
    assert Signature(taking(List[Optional[Point]])).bind({"x": [None, {"x": 1}]}) == {"x": [None, Point(1)]}


# --- leniency ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("annotation, given, mended", [
    (List[int], "[1, 2]", [1, 2]),
    (List[int], ["1", 2], [1, 2]),
    (dict, '{"a": [1]}', {"a": [1]}),
    (Point, '{"x": "4"}', {"x": 4}),
    (int, "5", 5), (int, "5.0", 5.0), (int, " 5 ", 5), (float, "5", 5), (float, "1e3", 1000.0),
    (bool, "true", True), (bool, "False", False),
    (Union[int, List[int]], "[1]", [1]),
    (Literal[1, 2], "2", 2),
    (Optional[List[int]], "[1]", [1]),
])
def test_strings_are_read_where_the_schema_wants_something_else(annotation: Any, given: Any, mended: Any) -> None:
    signature = Signature(taking(annotation))
    arguments = {"x": given}
    result, notes = signature.coerce(arguments)
    assert result == {"x": mended} and type(result["x"]) is type(mended)
    assert notes and all(note.startswith("arguments.x") for note in notes)
    assert arguments == {"x": given}
    assert compile(signature.input_schema).validate(result) == []


@pytest.mark.parametrize("annotation, given", [
    (str, "[1, 2]"), (Any, "[1]"), (Union[str, List[int]], "[1]"), (List[int], "1, 2"), (List[int], '{"a": 1}'),
    (int, "five"), (int, "5.5"), (int, "NaN"), (int, "null"), (bool, "yes"), (bool, "1"), (List[str], ["1"]),
    (dict, '{"a": 1, "a": 2}'), (int, "9" * 5000), (List[int], "[" * 5000), (int, "\ud800"), (Colour, "5"), (int, 5),
])
def test_strings_that_are_meant_or_cannot_be_read_stay(annotation: Any, given: Any) -> None:
    arguments = {"x": given}
    result, notes = Signature(taking(annotation)).coerce(arguments)
    assert result is arguments and notes == []


def test_null_is_left_out_where_it_stands_for_nothing() -> None:
    def tool(a: int, b: Optional[int] = None, c: Any = 1) -> None: ...
    signature = Signature(tool)
    mended: Any = {"a": None, "c": None}, []  # many clients write null: nothing is to be warned of
    assert signature.coerce({"a": None, "b": None, "c": None}) == mended


@pytest.mark.parametrize("schema", [
    True, False, {}, {"properties": 5}, {"properties": {"x": True}}, {"properties": {"x": {"type": 5}}},
    {"properties": {"x": {"type": ["integer", 5], "items": 3}}}, {"properties": {"x": {"anyOf": []}}},
    {"properties": {"x": {"enum": 5}}}, {"properties": {"x": {"$ref": "#/$defs/x"}}},
])
def test_odd_explicit_schemas_do_no_harm(schema: Any) -> None:
    values.coerce({"x": "[1]", "y": None}, schema)


def test_constants_and_alternatives_of_explicit_schemas_are_understood() -> None:
    schema = {"properties": {"a": {"const": 5}, "b": {"oneOf": [{"type": "array"}, {"type": "null"}]}}}
    assert values.coerce({"a": "5", "b": "[]"}, schema)[0] == {"a": 5, "b": []}


# --- results ----------------------------------------------------------------------------------------------------------

def result(schema: Any) -> Dict[str, Any]:
    return {"type": "object", "properties": {"result": schema}, "required": ["result"]}


@pytest.mark.parametrize("annotation, schema, value, structured", [
    (int, result({"type": "integer"}), 3, {"result": 3}),
    (Optional[int], result({"type": ["integer", "null"]}), None, {"result": None}),
    (List[bytes], result({"type": "array", "items": {"type": "string", "contentEncoding": "base64"}}), [b"hi"],
     {"result": ["aGk="]}),
    (Set[int], result({"type": "array", "items": {"type": "integer"}}), {8, 1}, {"result": [1, 8]}),
    (Optional[Dict[str, int]], result({"type": ["object", "null"], "additionalProperties": {"type": "integer"}}), None,
     {"result": None}),
    (dict, {"type": "object"}, {"a": (1, 2)}, {"a": [1, 2]}),
    (Dict[int, str], {"type": "object", "additionalProperties": {"type": "string"}}, {1: "a"}, {"1": "a"}),
    (Loose, {"type": "object", "properties": {"title": {"type": "string"},
                                              "due": {"type": ["string", "null"], "format": "date"}}},
     {"due": None}, {"due": None}),
    ("Pair", {"type": "object", "properties": {"left": {"type": "integer"}, "right": DATE, "word": {"type": "string"}},
              "required": ["left", "right", "word"]},
     Pair(1, datetime.date(2024, 1, 2)), {"left": 1, "right": "2024-01-02", "word": "and"}),
])
def test_return_annotation_gives_structured_content(annotation: Any, schema: Any, value: Any, structured: Any) -> None:
    signature = Signature(returning(annotation))
    assert signature.output_schema == schema
    assert as_structured(signature, to_json(value)) == structured
    assert compile(schema).validate(structured) == []
    assert Signature(returning(annotation), structured=False).output_schema is None


def test_all_fields_of_a_dataclass_are_in_the_output() -> None:
    signature = Signature(returning(Point))
    schema = signature.output_schema
    assert schema is not None and schema["required"] == ["x", "y", "tags", "note", "length"]
    assert "additionalProperties" not in schema and "default" not in dumps(schema)
    assert schema["properties"]["note"] == {"type": ["string", "null"]}
    assert as_structured(signature, to_json(Point(1))) == {"x": 1, "y": 0.5, "tags": [], "note": None, "length": 7}


@pytest.mark.parametrize("annotation", [
    str, None, Any, object, Optional[str], bytes, datetime.date, Colour, Literal["a"], Union[int, str], TextContent,
    List[TextContent], Union[Point, TextContent], "Nope",
])
def test_other_results_are_text_unless_asked_for(annotation: Any) -> None:
    assert Signature(returning(annotation)).output_schema is None


@pytest.mark.parametrize("annotation, words", [
    (Callable[[], int], "has no JSON form"), (Iterator[int], "has no JSON form"), (complex, "complex has no JSON form"),
    (Holder, "Holder has no JSON form"), (Dict[str, List[Holder[int]]], "Holder[int] has no JSON form"),
    ("1 +", "annotation '1 +' is wrong"), (bytes, "bytes have no type: return image"),
])
def test_a_result_that_cannot_be_sent_is_refused_at_registration(annotation: Any, words: str) -> None:
    for structured in (None, False, True):
        with pytest.raises(SignatureError) as caught:
            Server("x").tool(structured=structured)(returning(annotation))
        assert words in str(caught.value) and str(caught.value).startswith("function: return value: ")
    Server("x").tool(output_schema={"type": "object"})(returning(annotation))  # the author knows better


@pytest.mark.parametrize("annotation", [
    str, None, Any, Point, Tree, List[TextContent], Union[Point, TextContent], "Nope", CallToolResult, typing.NoReturn,
    Optional[bytes],
])
def test_other_results_are_registered(annotation: Any) -> None:
    Server("x").tool(returning(annotation))


@pytest.mark.parametrize("annotation", [list, List, List[Any], Tuple[Any, ...], Set[Any], Optional[List[Any]]])
def test_lists_of_anything_are_no_structured_content_because_they_may_hold_content_blocks(annotation: Any) -> None:
    assert Signature(returning(annotation)).output_schema is None
    asked = Signature(returning(annotation), structured=True).output_schema
    assert asked is not None and set(asked["properties"]) == {"result"}


@pytest.mark.parametrize("value", [{"a": TextContent("x")}, [[TextContent("x")]], (1, TextContent("x"))])
def test_a_message_inside_other_data_is_refused_because_its_form_depends_on_the_revision(value: Any) -> None:
    with pytest.raises(TypeError, match="a TextContent is a message"):
        to_json(value)


def test_structured_content_can_be_asked_for() -> None:
    signature = Signature(returning(str), structured=True)
    assert signature.output_schema == result({"type": "string"}) and as_structured(signature, "a") == {"result": "a"}
    assert Signature(lambda: 1, structured=True).output_schema == result({})
    with pytest.raises(SignatureError, match="return value"):
        Signature(returning(TextContent), structured=True).output_schema


@pytest.mark.parametrize("value, json", [
    (Colour.RED, "red"), (Level.HIGH, 2), (Shape.ROUND, "ROUND"),
    ((1, (2,)), [1, [2]]), ({3, 1}, [1, 3]), (frozenset(["a"]), ["a"]), (collections.deque([1]), [1]),
    (b"hi", "aGk="), (bytearray(b"hi"), "aGk="), (memoryview(b"hi"), "aGk="),
    (datetime.date(2024, 1, 2), "2024-01-02"), (datetime.time(1, 2), "01:02:00"),
    (datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc), "2024-01-02T00:00:00+00:00"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"), (pathlib.PurePosixPath("a/b"), "a/b"),
    (UserId("u"), "u"), (collections.OrderedDict(a=1), {"a": 1}),
    ({1: "a", False: "b", None: "c", 2.5: "d", Colour.RED: "e", datetime.date(2024, 1, 2): "f"},
     {"1": "a", "false": "b", "null": "c", "2.5": "d", "red": "e", "2024-01-02": "f"}),
    (Route(Point(1), [], Colour.BLUE), {"start": {"x": 1, "y": 0.5, "tags": [], "note": None, "length": 7}, "stops": [],
                                        "colour": "blue"}),
    (Pair(1, datetime.date(2024, 1, 2)), {"left": 1, "right": "2024-01-02", "word": "and"}),
    (Bare(1, b""), {"a": 1, "b": ""}),
    ([[Colour.RED], {"a": b"hi"}], [["red"], {"a": "aGk="}]),
    (None, None), (True, True), (1.5, 1.5),
], ids=str)
def test_values_become_json(value: Any, json: Any) -> None:
    assert to_json(value) == json
    dumps(to_json(value))


def test_what_json_cannot_hold_is_left_for_dumps_to_name() -> None:
    thing = object()
    assert to_json({"a": [thing]}) == {"a": [thing]}
    with pytest.raises(ValueError, match=r"\$\.a\[0\] is of type object"):
        dumps(to_json({"a": [thing]}))
    with pytest.raises(ValueError):
        dumps(to_json({(1, 2): 3}))


def test_value_that_contains_itself_is_refused() -> None:
    value: List[Any] = []
    value.append({"a": value})
    with pytest.raises(ValueError, match="contains itself"):
        to_json(value)


def test_classes_of_written_values_can_go_away() -> None:
    @dataclass
    class Passing:
        a: int

    class Word(enum.Enum):
        A = "a"

    assert to_json([Passing(1), Word.A]) == [{"a": 1}, "a"]
    gone = [weakref.ref(Passing), weakref.ref(Word)]
    del Passing, Word
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


# --- docstrings -------------------------------------------------------------------------------------------------------

GOOGLE = """Say the weather.

    It is never right.

    Example:
        forecast("Rome")

    Args:
        city (str): where exactly,
            with the country
        *days: how many
        mode (Optional[str]): how: slow or fast

        units:
            which ones

    Returns:
        text: the weather
    """
NUMPY = """
    Say the weather.

    It is never right.

    Parameters
    ----------
    city : str
        where exactly,
        with the country
    days, mode : {'a', 'b'}, optional
        how many

    Returns
    -------
    text : str
        the weather
    """
SPHINX = """Say the weather.

    It is never right.

    :param city: where exactly,
        with the country
    :type city: str
    :param int days: how many
    @param mode: how

    :returns: the weather
    """
TEXT = "Say the weather.\n\nIt is never right."


@pytest.mark.parametrize("doc, description, parameters", [
    (GOOGLE, TEXT + '\n\nExample:\n    forecast("Rome")',
     {"city": "where exactly, with the country", "days": "how many", "mode": "how: slow or fast",
      "units": "which ones"}),
    (NUMPY, TEXT, {"city": "where exactly, with the country", "days": "how many", "mode": "how many"}),
    (SPHINX, TEXT, {"city": "where exactly, with the country", "days": "how many", "mode": "how"}),
    (None, "", {}), ("", "", {}), ("   ", "", {}), ("One line.", "One line.", {}), ("\n\n  One.\n\n", "One.", {}),
    ("\n    Args:\n        a: b", "", {"a": "b"}),
    ("Text.\n\nReturns:\n    b\n\nArgs:\n    a: b", "Text.", {"a": "b"}),
    ("Text.\nThe args:\n  are many", "Text.\nThe args:\n  are many", {}),
    ("Arguments\nare good.", "Arguments\nare good.", {}),
    ("Text.\n\nArgs:", "Text.", {}),
    ("Text.\n\nArgs:\n\nMore.", "Text.", {}),
    ("Text.\n\n:param broken\nMore: a", "Text.\n\n:param broken\nMore: a", {}),
    ("Text.\n\nParameters\n---", "Text.", {}),
    ("Text.\r\n\r\nArgs:\r\n    a: b\r\n", "Text.", {"a": "b"}),
    ("Text.\n\n\tArgs:\n\t\ta: b", "Text.", {"a": "b"}),
])
def test_docstrings_of_every_style(doc: Optional[str], description: str, parameters: Dict[str, str]) -> None:
    assert docstrings.parse(doc) == (description, parameters)


def test_docstring_describes_tool_and_parameters_but_an_annotation_comes_first() -> None:
    def tool(city: str, days: int, mode: str = "", units: str = "") -> None: ...
    tool.__doc__ = GOOGLE
    if BUILTIN_GENERICS:
        tool.__annotations__["days"] = evaluated("Annotated[int, 'at most seven']")
    schema = Signature(tool).input_schema
    assert schema["properties"]["city"]["description"] == "where exactly, with the country"
    assert schema["properties"]["days"]["description"] == ("at most seven" if BUILTIN_GENERICS else "how many")
    assert "title" not in dumps(schema)


@pytest.mark.parametrize("doc", [
    "Go.\n\nArgs:\n    town: where\n", "Go.\n\nParameters\n----------\ntown : str\n    where\n",
    "Go.\n\n:param town: where\n", "Go.\n\n@param town: where\n",
])
def test_a_docstring_that_describes_what_is_no_parameter_is_refused(doc: str) -> None:
    def go(city: str, ctx: Context) -> str:
        return city
    go.__doc__ = doc
    server = Server("x")
    registering = [server.tool, server.prompt, server.resource("x://{city}")]
    for register in registering:
        with pytest.raises(SignatureError, match="describes a parameter 'town'; the parameters are city, ctx"):
            register(go)
    explicit = {"type": "object", "properties": {"town": {}}}
    server.tool(name="other", input_schema=explicit)(go)  # its names are the schema's
    go.__doc__ = doc.replace("town", "city") + "\n:param ctx: the call\n"
    for register in registering:
        register(go)


def test_docstring_of_a_parameter_replaces_that_of_its_class() -> None:
    def tool(at: Point) -> None:
        """Go.

        :param at: where to
        """
    assert Signature(tool).input_schema["properties"]["at"]["description"] == "where to"
    assert POINT["description"] == "A place on the map." == schema_of(Point)["description"]


def test_generated_docstrings_are_not_shown() -> None:
    assert "description" not in schema_of(Circle) and "description" not in schema_of(Pair)


# --- cost -------------------------------------------------------------------------------------------------------------

def test_registering_plain_functions_loads_no_inspect() -> None:
    """Nor docstring parser, validator or datetime."""
    code = (
        "import sys; from mcp_ref.server.hints.signature import Signature\n"
        "before = set(sys.modules)\n"
        "def tool(a: str, b: int = 1): 'Doc.'\n"
        "Signature(tool).bind({'a': 'x'})\n"
        "print(sorted(set(sys.modules) - before), [n for n in ('datetime', 'mcp_ref.jsonschema', "
        "'mcp_ref.server.hints.docstrings', 'base64') if n in sys.modules and n not in before])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=str(ROOT), stdout=subprocess.PIPE, timeout=WAIT)
    loaded = done.stdout.decode()
    for name in ("inspect", "docstrings", "jsonschema", "datetime"):
        assert name not in loaded


def test_a_bound_argument_is_neither_shown_nor_taken_from_a_client() -> None:
    def search(key: str, query: str, most: int = 3) -> str:
        return "%s %s %d" % (key, query, most)

    for bound in (functools.partial(search, "k3y"), functools.partial(search, key="k3y"),
                  functools.partial(functools.partial(search, key="k3y"), most=3)):
        signature = Signature(bound)
        assert "k3y" not in repr(signature.input_schema) and "key" not in signature.parameters
        assert signature.call(**signature.bind({"query": "x"})) == "k3y x 3"
