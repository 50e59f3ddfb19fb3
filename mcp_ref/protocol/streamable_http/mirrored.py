"""The parts of the body that header fields repeat, so that proxies can route requests without reading bodies.

=========================  ============================================================  ======================
header field               repeats                                                       in
=========================  ============================================================  ======================
``MCP-Protocol-Version``   the version in ``_meta``; compared by the endpoint            every request
``Mcp-Method``             ``method``                                                    every request
``Mcp-Name``               the member of ``params`` that `mcp_ref.methods.NAMED` gives   methods with such a row
``Mcp-Param-{name}``       an argument whose schema says ``"x-mcp-header": "{name}"``    `tools/call`
=========================  ============================================================  ======================

[2026-07-28 basic/transports/streamable-http §Request Metadata]; the names of fields have no case
[2026-07-28 basic/transports/streamable-http §Case Sensitivity] MUST. The body stays the truth: a client makes the
fields from it (`mcp_ref.streamable.client.posts`), and a server compares them with it (`fault`) and refuses a
difference.

>>> annotations({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
[Mirrored(name='Region', path=('region',), type='string')]
>>> param_headers(_, {"region": "us-west1", "query": "..."})
[('Mcp-Param-Region', 'us-west1')]
>>> encode_value("Hello, \\u4e16\\u754c"), decode_value("=?base64?SGVsbG8=?=")
('=?base64?SGVsbG8sIOS4lueVjA==?=', 'Hello')
"""

import re
from base64 import b64decode, b64encode
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ...jsonrpc import json_type, shown
from ...methods import NAMED
from ...urls import is_token

HEADER = "x-mcp-header"
"""The keyword in the schema of a property that has it mirrored."""
VERSION = "MCP-Protocol-Version"
METHOD = "Mcp-Method"
NAME = "Mcp-Name"
PARAM = "Mcp-Param-"

TYPES = ("string", "integer", "boolean")
"""The types of a mirrored property; a ``number`` cannot be mirrored."""
SAFE = 2**53 - 1
"""The greatest integer that JavaScript holds exactly; the least is its negative."""

_METHOD, _NAME = METHOD.lower(), NAME.lower()  # as servers keep them
_PLAIN = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?\Z")
_VISIBLE = re.compile(r"[\x20-\x7e\t]*\Z")
_OPEN, _CLOSE = "=?base64?", "?="
_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,2}))?\Z")
_LONGEST_NUMBER = 64


class Mirrored(NamedTuple):
    """A property that is mirrored."""

    name: str
    """The name in its schema; the header field is ``Mcp-Param-{name}``, in any case."""
    path: Tuple[str, ...]
    """The names that lead to it from the arguments: ("region",), or ("place", "region") in an object of its own."""
    type: str
    """The type, one of TYPES."""

    @property
    def where(self) -> str:
        """Return the place for error texts: ``arguments.place.region``."""
        return "arguments." + shown(".".join(self.path))


# -- What a schema asks for --------------------------------------------------------------------

# Where a schema has schemas inside: as the value, in an array, by name. The rest of a schema is data.
_ONE = ("items", "additionalItems", "contains", "additionalProperties", "propertyNames", "unevaluatedItems",
        "unevaluatedProperties", "contentSchema", "not", "if", "then", "else")
_SEVERAL = ("items", "prefixItems", "allOf", "anyOf", "oneOf")
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")

_Place = Tuple[Any, Optional[Tuple[str, ...]], str]
"""A subschema; the names that lead to it if it is reached by ``properties`` alone; and where it stands."""


def annotations(schema: Any) -> List[Mirrored]:
    """Return the properties that an input schema has mirrored, in the order of the schema.

    Raises ValueError, which says what is wrong and where, if one of them is not allowed: a server refuses to register
    such a tool, and a client leaves it out of its list
    [2026-07-28 basic/transports/streamable-http §Schema Extension] MUST.
    """
    found: List[Mirrored] = []
    taken: Dict[str, str] = {}
    for inner, path, where in _places(schema):
        if HEADER not in inner:
            continue
        name = inner[HEADER]
        for check in _CHECKS:
            wrong = check(name, inner, path)
            if wrong:
                raise ValueError("%s at %s %s" % (HEADER, where or "the root", wrong))
        if name.lower() in taken:
            raise ValueError("%s %r at %s is also that of %s: names differ in more than case"
                             % (HEADER, name, where, taken[name.lower()]))
        taken[name.lower()] = where
        found.append(Mirrored(name, path or (), _type_of(inner) or ""))
    return found


def _places(schema: Any) -> Iterator[Tuple[Dict[str, Any], Optional[Tuple[str, ...]], str]]:
    """Yield every subschema that is an object, outer before inner. No recursion, for a peer wrote the schema."""
    waiting: List[_Place] = [(schema, (), "")]
    while waiting:
        inner, path, where = waiting.pop()
        if isinstance(inner, dict):
            yield inner, path, where
            waiting.extend(reversed(list(_children(inner, path, where))))


def _children(schema: Dict[str, Any], path: Optional[Tuple[str, ...]], where: str) -> Iterator[_Place]:
    for keyword, value in schema.items():
        place = "%s.%s" % (where, shown(keyword)) if where else keyword
        if keyword in _BY_NAME and isinstance(value, dict):
            static = keyword == "properties" and path is not None
            for name, inner in value.items():
                yield inner, (path or ()) + (name,) if static else None, "%s.%s" % (place, shown(name))
        elif keyword in _SEVERAL and isinstance(value, list):
            for number, inner in enumerate(value):
                yield inner, None, "%s[%d]" % (place, number)
        elif keyword in _ONE:
            yield value, None, place


def _type_of(schema: Dict[str, Any]) -> Optional[str]:
    """Return the one type of a property; null beside it does not count, for null is mirrored by a missing field."""
    types = schema.get("type")
    if isinstance(types, list):
        rest = [one for one in types if one != "null"]
        types = rest[0] if len(rest) == 1 else None
    return types if isinstance(types, str) else None


def _unsafe(schema: Dict[str, Any]) -> List[Any]:
    """Return the values in the schema of an integer that JavaScript cannot hold exactly."""
    listed = schema.get("enum")
    named = [schema.get("const"), schema.get("default"), *(listed if isinstance(listed, list) else ())]
    return [value for value in named if isinstance(value, (int, float)) and not -SAFE <= value <= SAFE]


_Check = Callable[[Any, Dict[str, Any], Optional[Tuple[str, ...]]], str]
_CHECKS: Tuple[_Check, ...] = (
    lambda name, schema, path: "" if isinstance(name, str) else "is a string, not %s" % json_type(name),
    lambda name, schema, path: "" if name else "is empty: it is the end of the name of a header field",
    # A token has no control characters, no blanks and nothing beyond ASCII.
    lambda name, schema, path: "" if is_token(name) else
    "is %s: a header field's name has only letters, digits and !#$%%&'*+-.^_`|~" % ascii(name[:80]),
    lambda name, schema, path: "" if path else
    "is not reached by \"properties\" alone: only a property can be mirrored, and none inside arrays, references,"
    " definitions, compositions or conditions",
    lambda name, schema, path: "" if _type_of(schema) in TYPES else
    "stands on type %.80r: only %s can be mirrored" % (schema.get("type"), ", ".join(TYPES)),
    lambda name, schema, path: "" if _type_of(schema) != "integer" or not _unsafe(schema) else
    "stands on the integer %.40r: mirrored integers are within -(2^53-1) and 2^53-1" % _unsafe(schema)[0],
)
"""The checks of an annotation, first to last. Each gets its name, the schema of the property and its path, and returns
what is wrong, or "".

[2026-07-28 server/tools §x-mcp-header] MUST. Reading: the type is said by ``type`` itself, and is one, but for null,
which the pages have an answer for. The range of integers is a matter of values: those that the schema names are looked
at here, those of calls by `fault`.
"""


# -- Values ------------------------------------------------------------------------------------


def encode_value(value: Union[str, int, float]) -> str:
    """Encode a value for a header field: strings as they are, integers in decimal, booleans ``true`` and ``false``.

    A string that is not visible ASCII with blanks inside is sent in Base64, and so is one that looks like Base64
    [2026-07-28 basic/transports/streamable-http §Value Encoding] MUST. Raises ValueError for a value that cannot be
    sent: a number that is no integer or not within SAFE, half a surrogate pair, null, an array, an object.
    """
    if isinstance(value, str):
        return _encode_text(value)
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (int, float)) and -SAFE <= value <= SAFE and value == int(value):
        return str(int(value))
    if isinstance(value, (int, float)):
        raise ValueError("%.40r is no integer within -(2^53-1) and 2^53-1" % value)
    raise ValueError("a header field cannot hold %s" % json_type(value))


def _encode_text(text: str) -> str:
    if _PLAIN.match(text) and not (text.startswith(_OPEN) and text.endswith(_CLOSE)):
        return text
    try:
        return _OPEN + b64encode(text.encode("utf-8")).decode("ascii") + _CLOSE
    except UnicodeEncodeError:
        raise ValueError("it holds half a surrogate pair, which UTF-8 cannot hold") from None


def decode_value(text: str) -> str:
    """Decode the value of a header field, without blanks around it. Raises ValueError for forbidden characters.

    Reading: only canonical Base64 is taken, with its padding and without blanks; a value that has no room for both
    markers is no Base64.
    """
    text = text.strip(" \t")
    if not _VISIBLE.match(text):
        raise ValueError("has characters that a header field cannot hold")
    if not (text.startswith(_OPEN) and text.endswith(_CLOSE) and len(text) >= len(_OPEN) + len(_CLOSE)):
        return text
    inner = text[len(_OPEN):-len(_CLOSE)]
    try:
        data = b64decode(inner)  # it overlooks foreign characters; the comparison with its own encoding finds them
        if b64encode(data).decode("ascii") == inner:
            return data.decode("utf-8")
    except ValueError:  # also what binascii and the decoder of UTF-8 raise
        pass
    raise ValueError("is marked as Base64 and is not that of UTF-8 text")


def same(text: str, value: Any) -> bool:
    """Return True if a decoded header field equals a value of the body; integers are compared as numbers.

    Reading: a number is any that JSON can write, so ``42``, ``42.0`` and ``4.2e1`` are one and the same; ``042`` and
    ``+42`` are none.
    """
    if isinstance(value, str):
        return text == value
    if value is True or value is False:
        return text == ("true" if value else "false")
    return isinstance(value, (int, float)) and _integer(text) == value


def _integer(text: str) -> Optional[int]:
    """Parse a JSON number that is an integer. Returns None for any other text."""
    match = _NUMBER.match(text) if len(text) <= _LONGEST_NUMBER else None
    if match is None:
        return None
    fraction = (match.group(3) or "").rstrip("0")
    power = int(match.group(4) or 0) - len(fraction)
    whole, rest = divmod(int(match.group(2) + fraction) * 10 ** max(power, 0), 10 ** max(-power, 0))
    return None if rest else -whole if match.group(1) else whole


# -- Making header fields ----------------------------------------------------------------------


def name_of(method: str, params: Optional[Dict[str, Any]], named: Mapping[str, str] = NAMED) -> Optional[str]:
    """Return the value that `Mcp-Name` repeats; None if the method has no such field, or the member is no string.

    ``named``: method -> the member of its params, with those of extensions.
    """
    member = named.get(method)
    name = None if member is None or params is None else params.get(member)
    return name if isinstance(name, str) else None


def param_headers(mirrored: Sequence[Mirrored], arguments: Optional[Dict[str, Any]]) -> List[Tuple[str, str]]:
    """Return the fields for the arguments of a tool; null and missing arguments have none.

    ``mirrored``: the result of `annotations` for the input schema of the tool. Raises ValueError, which names the
    argument, for a value that cannot be sent.
    """
    headers = []
    for one in mirrored:
        value = _value(one, arguments)
        if value is not None:
            try:
                headers.append((PARAM + one.name, encode_value(value)))
            except ValueError as error:
                raise ValueError("%s is mirrored in a header field: %s" % (one.where, error)) from None
    return headers


def _value(mirrored: Mirrored, arguments: Any) -> Any:
    """Return the argument at exactly this path; None for null and a missing one."""
    for name in mirrored.path:
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(name)
    return arguments


# -- Comparing them with the body --------------------------------------------------------------


def fault(
    method: str, params: Optional[Dict[str, Any]], mirrored: Sequence[Mirrored], get: Callable[[str], Optional[str]],
    named: Mapping[str, str] = NAMED,
) -> Optional[str]:
    """Return why the header fields of a request do not fit its body; None if they do.

    ``get``: a function: name of a field, in any case -> its value or None. ``named``: as in `name_of`. A fault
    is answered with -32020 and 400 [2026-07-28 basic/transports/streamable-http §Server Validation] MUST.

    Reading: a mirrored field whose argument is null or missing is refused like any other difference, for a proxy may
    have gone by it. `Mcp-Name` on a method that has none says nothing about the body and is ignored, and so is an
    `Mcp-Param-*` that no property of the tool asks for.
    """
    # Step 1 [2026-07-28 basic/transports/streamable-http §Server Validation] MUST: Mcp-Method is there and matches.
    repeated = get(_METHOD)
    if repeated is None:
        return "%s is missing: it repeats the method" % METHOD
    if repeated != method and repeated.strip(" \t") != method:
        return "%s '%s' is not the method, '%s'" % (METHOD, shown(repeated), shown(method))
    # Step 2 [2026-07-28 basic/transports/streamable-http §Standard Request Headers]: Mcp-Name, for some methods.
    member = named.get(method)
    if member is not None:
        header, name = get(_NAME), params.get(member) if params else None
        wrong = "" if _is_plain_copy(header, name) else _differs(header, name, "params." + member)
        if wrong:
            return "%s %s" % (NAME, wrong)
    # Step 3 [2026-07-28 basic/transports/streamable-http §Server Behavior for Custom Headers] MUST: each annotated
    # argument has its Mcp-Param-*, whose decoded value is that of the body, and a missing argument has none.
    for one in mirrored:
        wrong = _param_differs(one, get(PARAM + one.name), None if params is None else params.get("arguments"))
        if wrong:
            return "%s%s %s" % (PARAM, one.name, wrong)
    return None


def _param_differs(mirrored: Mirrored, header: Optional[str], arguments: Any) -> str:
    value = _value(mirrored, arguments)
    if value is None:
        return "" if header is None else "'%s' is there, but %s is not" % (shown(header), mirrored.where)
    try:
        encode_value(value)
    except ValueError as error:
        return "cannot repeat %s: %s" % (mirrored.where, error)
    return _differs(header, value, mirrored.where)


def _is_plain_copy(header: Optional[str], value: Any) -> bool:
    """Return True if a field is its value in plain ASCII, as most are: then there is nothing to decode."""
    return header == value and header is not None and header.isascii() and header.isprintable() and header[:2] != "=?"


def _differs(header: Optional[str], value: Any, where: str) -> str:
    if header is None:
        return "is missing: it repeats %s" % where
    try:
        text = decode_value(header)
    except ValueError as error:
        return "'%s' %s" % (shown(header), error)
    if same(text, value):
        return ""
    ours = "'%s'" % shown(value) if isinstance(value, str) else json_type(value)
    return "'%s' is not %s, %s" % (shown(text), where, str(value) if isinstance(value, int) else ours)
