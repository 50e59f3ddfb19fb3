"""Frames that are malformed or odd, each in the place of a legal request, and legal traffic with random mutations.

Frames are made by rule and by hand. A frame is no JSON, or JSON and no request, or a request that is only odd; `nature`
finds out which, line by line. What is no request must not get a result.

The traffic is that of one revision, and of its mutations the same seed and number give the same bytes. Nothing in it
changes a server: tools are named only if they may be called, and everything else that is named there is not.
"""

from random import Random
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from ....jsontext import JsonError, dumps, loads
from ....methods import BOTH, CLIENT, REQUEST, methods
from ..pages.frames import ordinary
from ..stage import SceneStage
from ..talk import ExaminerConversation

NO_JSON, NO_REQUEST, A_REQUEST = "no JSON", "no request", "a request"
_BOM = b"\xef\xbb\xbf"
_LONG = 1_000_000
"""Bytes of a long string, key, number."""
_HOLE = "hole"


class Frame(NamedTuple):
    """A frame, and the legal request in whose place it is sent."""

    data: bytes
    like: Dict[str, Any]
    """The request: over HTTP its header fields are sent."""


Make = Callable[[Any], Dict[str, Any]]
"""A function that returns a legal request with an id."""

_VALUES: Tuple[bytes, ...] = (
    # not JSON [RFC 8259]
    b"NaN", b"Infinity", b"-Infinity", b"nan", b"+1", b"01", b"-01", b"1.", b".5", b"-.5", b"1e", b"1e+", b"0x10",
    b"--1",
    b"1_000", b"1,5", b"\xef\xbc\x91", b"True", b"None", b"undefined", b"nul", b"truee", b"tru", b"'x'", b"`x`", b"x",
    b"[1,]", b"[,1]", b"[1 2]", b"[1;2]", b"[", b"]", b"[1}", b"[[]", b"{", b"}", b"{]", b'{"a"}', b'{"a":}', b'{:1}',
    b'{"a" 1}', b'{"a"::1}', b'{"a":1,}', b'{,"a":1}', b"{a:1}", b"{'a':1}", b"{1:1}", b"{null:1}", b'{"a":1 "b":2}',
    b'{"a":1}}', b'"', b'"x', b'x"', b'"a" "b"', b"/* x */ 1", b"1 // x\n", b"# x\n1", b"(1)", b"1 1", b"", b"@", b"*",
    b"<a/>", b"\x0c1", b"\xa01", b"\xe2\x80\x8b1", b"\xe2\x80\xa81",
    # strings that are not JSON
    rb'"\x41"', rb'"\a"', rb'"\'"', rb'"\0"', rb'"\u"', rb'"\u12"', rb'"\u12G4"', rb'"\U0001F600"', rb'"\u 123"',
    rb'"\"', rb'"\\\"', b'"\t"', b'"\x00"', b'"\x1f"', b'"\r"', b'"\x0b"',
    # bytes that are not UTF-8
    b'"\xff"', b'"\xfe\xff"', b'"\x80"', b'"\xc0\x80"', b'"\xc1\xbf"', b'"\xe0\x80\x80"', b'"\xed\xa0\x80"',
    b'"\xed\xa0\xbd\xed\xb8\x80"', b'"\xf0\x80\x80\x80"', b'"\xf4\x90\x80\x80"', b'"\xf8\x88\x80\x80\x80"',
    b'"\xe2\x82"',
    b'"\xf0\x9f\x98"', b'"\xc3("', b'"\xe9"', b"\xff", b"\x00",
    # JSON, and odd
    rb'"\ud800"', rb'"\udc00"', rb'"\udc00\ud800"', rb'"\ud800x"', rb'"\ud83d\ude00"', rb'"\u0000"', rb'"\uffff"',
    rb'"\u2028\u2029"', b'"\xef\xbf\xbf"', b'"\x7f"', b'"\xe2\x80\xae"', rb'"\/"', b'{"":0}', rb'{"\u0000":0}',
    rb'{"\ud800":0}', b'{"a":1,"a":2}', rb'{"a":1,"\u0061":2}', b'{"__proto__":{"x":1}}',
    b'{"constructor":{"prototype":1}}',
    b'{"__class__":"x"}', b'{"$ref":"#"}', b"[[[[[]]]]]", b"-0", b"-0.0", b"0e99999", b"1E400", b"-1e400", b"1e-400",
    b"1.7976931348623159e308", b"9007199254740993", b"18446744073709551616", b"-9223372036854775809",
    b"3.141592653589793238462643383279", b"123e65", b"1" + b"0" * 400, b"0." + b"0" * 400 + b"1",
)
_WHOLE: Tuple[bytes, ...] = (
    b"", b" ", b"\t", b"\x00", b"\x00" * 100, b"\x1a", b"\x04", b"\x1b[2J", _BOM, b"\xff\xfe", b"null", b"true",
    b"false", b"0",
    b"-1", b"1.5", b'""', b'"ping"', b"[]", b"{}", b"[[]]", b"[{}]", b"[null]", b"[1,2]", b"[,]", b"{{}}", b"ping",
    b"quit",
    b"GET / HTTP/1.1", b"Content-Length: 2", b"<?xml version='1.0'?>", b"data: {}", b'{"jsonrpc":"2.0"}', b'{"id":1}',
    b'{"method":"ping"}', b'{"jsonrpc":"2.0","id":"h"}', b'{"jsonrpc":"2.0","method":null}',
    b'{"jsonrpc":"2.0","id":"h","result":{},"error":{"code":1,"message":"x"}}', b'{"jsonrpc":"2.0","id":"h","error":7}',
    b'{"jsonrpc":"2.0","id":"h","result":7}', b'{"jsonrpc":"2.0","id":null,"result":{}}',
    b'{"jsonrpc":"2.0","id":"h","error":{}}', b'{"jsonrpc":"2.0","id":"h","method":"ping","result":{}}',
)


def nature(data: bytes, whole: bool = False) -> str:
    """Return what a frame is. On a pipe it may be several lines,
    of which the best counts; as a body it is ``whole``."""
    found = [_of_text(text) for text in ([data] if whole else data.split(b"\n")) if text.strip()]
    return max(found, key=(NO_JSON, NO_REQUEST, A_REQUEST).index, default=NO_JSON)


def _of_text(text: bytes) -> str:
    try:
        value = loads(text[3:] if text.startswith(_BOM) else text)
    except JsonError as error:
        # What only this package refuses (equal keys, lone surrogates, its limits) other servers may take.
        return NO_JSON if str(error).startswith(("not JSON", "not valid UTF-8")) else A_REQUEST
    return A_REQUEST if any(map(_is_request, value if isinstance(value, list) else [value])) else NO_REQUEST


def _is_request(value: Any) -> bool:
    """Return True for a request or a notification as JSON-RPC has them; a batch of one is for the revision to judge."""
    return isinstance(value, dict) and value.get("jsonrpc") == "2.0" and isinstance(value.get("method"), str) and (
        isinstance(value.get("params", {}), dict)) and ("id" not in value or (
            isinstance(value["id"], (str, int, float)) and not isinstance(value["id"], bool)))


def cut(make: Make) -> Iterator[Frame]:
    """Cut a request at each position."""
    like = make("h")
    data = dumps(like).encode("ascii")
    for end in range(1, len(data)):
        yield Frame(data[:end], like)
    for start in range(1, min(len(data), 40)):
        yield Frame(data[start:], like)


def syntax(make: Make) -> Iterator[Frame]:
    """Write texts that are no JSON, or odd, in the place of a value, of the id, and of the whole message."""
    for number, value in enumerate(_VALUES):
        yield _with(make, number, value)
    for number, value in enumerate(_VALUES):
        like = make("h%d" % number)
        yield Frame(dumps(like).encode("ascii").replace(b'"h%d"' % number, value, 1), like)
    for text in _WHOLE:
        yield Frame(text, make("h"))


def _with(make: Make, number: int, value: bytes) -> Frame:
    like = make("h%d" % number)
    holed = {**like, "params": {**like.get("params", {}), "_meta": {
        **like.get("params", {}).get("_meta", {}), "example.com/hostile": _HOLE}}}
    return Frame(dumps(holed).encode("ascii").replace(b'"%s"' % _HOLE.encode(), value), like)


def lines(make: Make) -> Iterator[Frame]:
    """Begin and end lines in every way, and write two messages on one, and one on several."""
    for number, change in enumerate(_ENDS):
        like = make("h%d" % number)
        yield Frame(change(dumps(like).encode("ascii")), like)


_ENDS: Tuple[Callable[[bytes], bytes], ...] = (
    lambda data: b"\r" + data, lambda data: data + b"\r", lambda data: data + b"\r\r",
    lambda data: b"\r\n" + data + b"\r\n", lambda data: b"\n\n\n" + data, lambda data: b" \t" + data + b" ",
    lambda data: data + data, lambda data: data + b" " + data, lambda data: data + b"," + data,
    lambda data: data.replace(b",", b",\n"), lambda data: data.replace(b":", b":\r"),
    lambda data: data.replace(b",", b",\r\n"), lambda data: data + b"\x00", lambda data: b"\x00" + data,
    lambda data: _BOM + data, lambda data: data + _BOM, lambda data: b"\x0b" + data, lambda data: data + b"\x0c",
    lambda data: data + b"\xc2\x85", lambda data: data + b"\xe2\x80\xa8", lambda data: b"\x1e" + data,
    lambda data: b")]}'," + data, lambda data: b"Content-Length: %d\r\n\r\n" % len(data) + data,
    lambda data: data.decode().encode("utf-16"), lambda data: data.decode().encode("utf-16-le"),
    lambda data: data.decode().encode("utf-32"))


def deep(make: Make) -> Iterator[Frame]:
    """Nest arrays and objects, closed and not."""
    number = 0
    for depth in (50, 500, 1_000, 5_000, 20_000, 100_000):
        for begin, middle, end in ((b"[", b"", b"]"), (b'{"a":', b"1", b"}"), (b'[{"a":', b"1", b"}]")):
            for closing in (end * depth, b""):
                yield _with(make, number, begin * depth + middle + closing)
                number += 1
        yield Frame(b"[" * depth, make("h"))


def long(make: Make) -> Iterator[Frame]:
    """Write strings, keys, numbers, lists and ids that are very long."""
    number = 0
    for text in (b'"%s"' % (b"x" * _LONG), b'"%s"' % (rb"\u0041" * (_LONG // 6)), b'{"%s":1}' % (b"k" * _LONG),
                 b"1" * 5_000, b"-" + b"1" * 100_000, b"1." + b"1" * 100_000, b"1e" + b"9" * 1_000,
                 b"[%s1]" % (b"1," * (_LONG // 10)), b"{%s}" % b",".join(b'"%d":1' % key for key in range(_LONG // 20)),
                 b'"%s"' % ("\U0001f600" * (_LONG // 8)).encode(), b"[" + b" " * _LONG + b"]"):
        yield _with(make, number, text)
        number += 1
    like = make("h")
    for name in ("id", "method", "jsonrpc"):
        yield Frame(dumps({**like, name: "x" * (_LONG // 4)}).encode("ascii"), like)
    yield Frame(b"x" * _LONG, like)


def doubled(make: Make) -> Iterator[Frame]:
    """Write members twice: the same, and another value, before and behind."""
    for number, (name, other, place) in enumerate(
            (name, other, place) for name, others in _DOUBLED for other in others for place in range(3)):
        like = make("h%d" % number)
        parts = [b"%s:%s" % (dumps(each).encode(), dumps(value).encode()) for each, value in like.items()]
        more = b"%s:%s" % (dumps(name).encode(), other)
        every = ([more, *parts], [*parts, more], [*parts, more, more])[place]
        yield Frame(b"{%s}" % b",".join(every), like)


_DOUBLED: Tuple[Tuple[str, Tuple[bytes, ...]], ...] = (
    ("jsonrpc", (b'"1.0"', b"null")), ("id", (b'"i"', b"7", b"null", b"{}")), ("params", (b"[]", b"7", b"{}")),
    ("method", (b'"examiner/no-such-method"', b"7", b'"notifications/cancelled"')))
_WRONG: Tuple[Any, ...] = (None, True, 7, -1.5, "x", [], ["x"], {}, {"x": {}})


def wrong_types(requests: List[Dict[str, Any]]) -> Iterator[Frame]:
    """Give each member of each request, at every level, values of other types, and leave it out."""
    for like in requests:
        for path in _paths(like):
            for wrong in _WRONG:
                if type(wrong) is not type(_at(like, path)):
                    yield Frame(dumps(_put(like, path, wrong)).encode("ascii"), like)
            yield Frame(dumps(_put(like, path, _HOLE, without=True)).encode("ascii"), like)


def _paths(value: Any, above: Tuple[str, ...] = ()) -> Iterator[Tuple[str, ...]]:
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield (*above, name)
        yield from _paths(inner, (*above, name))


def _at(value: Any, path: Tuple[str, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


def _put(value: Dict[str, Any], path: Tuple[str, ...], new: Any, without: bool = False) -> Dict[str, Any]:
    """Return a copy with another value at a path, or without the member."""
    name = path[0]
    if len(path) > 1:
        return {**value, name: _put(value[name], path[1:], new, without)}
    return {each: inner for each, inner in value.items() if each != name} if without else {**value, name: new}


_NOBODY = "examiner-no-such-name"
_NOWHERE = "examiner://nowhere/at-all"
_PARAMS: Dict[str, Dict[str, Any]] = {
    "tools/call": {"name": _NOBODY, "arguments": {"a": 1}}, "prompts/get": {"name": _NOBODY, "arguments": {"a": "b"}},
    "resources/read": {"uri": _NOWHERE}, "resources/subscribe": {"uri": _NOWHERE},
    "resources/unsubscribe": {"uri": _NOWHERE}, "logging/setLevel": {"level": "emergency"},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": _NOBODY}, "argument": {"name": "a", "value": "b"}},
}
_LEFT_OUT = frozenset(("initialize", "subscriptions/listen"))
"""The methods that would open a session again, or are answered by a stream that does not end."""
_TOKENS: Tuple[bytes, ...] = (
    b"null", b"true", b"{}", b"[]", b'""', b"-1", b"1e999", b"\\ud800", b"\\u0000", b"\xff", b"\x00", b"\r", b'"id":',
    b"{", b"}",
    b"[", b"]", b",", b":", b'"', b"\\", b"9" * 30, b'"jsonrpc":"2.0",', b'"method":"ping",', b"\xef\xbb\xbf",
    b"\xed\xa0\x80")
_MOST_CHANGES = 4


def requests(stage: SceneStage, talk: ExaminerConversation) -> List[Dict[str, Any]]:
    """Return a legal request for each method of the revision, and one for each tool that may be called."""
    names = [row.name for row in methods(stage.revision) if row.kind == REQUEST and row.sender in (CLIENT, BOTH)
             and row.carrier == "wire" and row.name not in _LEFT_OUT]
    found = [talk.message(name, _PARAMS.get(name), id="h-" + name) for name in dict.fromkeys(names)]
    try:
        tools = stage.callable()
    except Exception:  # NotExamined: there is none
        tools = []
    return found + [talk.message("tools/call", {"name": tool["name"], "arguments": arguments}, id="h-tool-%d" % number)
                    for number, (tool, arguments) in enumerate(tools)]


def make_ordinary(stage: SceneStage, talk: ExaminerConversation, id: Any) -> Dict[str, Any]:
    """Return the request that every server answers, with an id."""
    return talk.message(ordinary(stage), id=id)


def mutations(likes: List[Dict[str, Any]], seed: int, most: int) -> Iterator[Frame]:
    """Change requests at random, in up to four places each."""
    for number in range(1, most + 1):
        random = Random("%d:%d" % (seed, number))
        like = random.choice(likes)
        data = bytearray(dumps(like).encode("ascii"))
        for _ in range(random.randint(1, _MOST_CHANGES)):
            _change(data, random)
        yield Frame(bytes(data).replace(b"\n", b" "), like)


def _change(data: bytearray, random: Random) -> None:
    """Change one place: a bit, a byte, a piece that is left out, doubled or moved, a token."""
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.randint(1, 12))
    kind = random.randrange(6)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        data[at:at] = bytes([random.randrange(256)])
    elif kind == 2:
        del data[at:end]
    elif kind == 3:
        data[at:at] = data[at:end] * random.randint(1, 50)
    elif kind == 4:
        piece = data[at:end]
        del data[at:end]
        to = random.randrange(len(data) + 1)
        data[to:to] = piece
    else:
        data[at:end] = random.choice(_TOKENS)
