"""Careless messages are mended by their declarations: every member of every message, in every revision."""
from typing import Any, Dict, List, Literal, Tuple, Type

import pytest

from mcp_ref import Server, messages
from mcp_ref.codec import DecodeError, MemberDeclaration, Model, alternatives, decode, encode, marks, members
from mcp_ref.errors import McpError
from mcp_ref.messages.tools import ListToolsResult, Tool
from mcp_ref.model import ABSENT
from mcp_ref.revisions import REVISIONS, Revision
from tests.support.patience import patience
from tests.support.scene import SILENT, Scene
from tests.support.scripted import ScriptedPeer

ALL = sorted((cls for cls in (getattr(messages, name) for names in messages.PAGES.values() for name in names)
              if isinstance(cls, type) and issubclass(cls, Model)), key=lambda cls: cls.__name__)


def smallest(cls: Type[Model], revision: Revision) -> Dict[str, Any]:
    """The object with nothing but what has to be there."""
    made: Dict[str, Any] = {}
    for m in members(cls):
        if m.required_in(revision):
            shape = m.shape_in(revision)
            made[m.wire] = m.default if m.constant else value_of(shape or m.type_in(revision), revision)
    return made


def value_of(hint: Any, revision: Revision) -> Any:
    """A value of a type, as JSON."""
    options = [option for option in alternatives(hint) if option is not type(None)]
    classes = tuple(option for option in options if isinstance(option, type) and issubclass(option, Model))
    if len(classes) > 1:
        row = marks(classes)[0]
        made = smallest(row.cls, revision)
        if "." not in row.member:
            made.setdefault(row.member, "x" if row.value is ABSENT else row.value)
        return made
    if classes:
        return smallest(classes[0], revision)
    first = options[0]
    origin = getattr(first, "__origin__", None)
    if origin is Literal:
        return first.__args__[0]
    if origin in (list, dict):
        return origin()
    return {str: "x", bool: True, int: 1, float: 1.0}.get(first, "x")


class Told(List[Tuple[str, str]]):
    """What has been forgiven."""

    def __call__(self, kind: str, text: str) -> None:
        self.append((kind, text))


def refused(cls: Any, value: Any, revision: Revision) -> bool:
    try:
        decode(cls, value, revision)
    except DecodeError:
        return True
    return False


def optional_members(revision: Revision) -> List[Tuple[Type[Model], MemberDeclaration]]:
    return [(cls, m) for cls in ALL if revision.has(cls.since, cls.until) for m in members(cls)
            if m.exists(revision) and not m.constant and (m.assume or not m.required_in(revision))]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_null_is_absent_where_it_is_no_value(revision: Revision) -> None:
    tried = kept = 0
    for cls, m in optional_members(revision):
        plain, told = smallest(cls, revision), Told()
        plain.pop(m.wire, None)  # some are required, but assumed
        careless = dict(plain, **{m.wire: None})
        if refused(cls, dict(careless), revision):
            assert decode(cls, careless, revision, "params", told) == decode(cls, plain, revision), (cls, m.wire)
            place = "params.%s" % m.wire if "/" not in m.wire else 'params["%s"]' % m.wire
            text = place + ": null stands for what could be left out; read as absent"
            assert told == [("null", text)], (cls, m.wire)
            assert m.wire not in careless, "it is mended in place: others read the object, too"
            tried += 1
        else:  # null is a value there, and it arrives as one
            found = decode(cls, careless, revision, "params", told)
            assert not told and encode(found, revision)[m.wire] is None, (cls, m.wire)
            kept += 1
    assert tried > 60 and kept < 10, (tried, kept)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_an_empty_array_is_an_object_where_only_that_can_be_meant(revision: Revision) -> None:
    tried = 0
    for cls, m in optional_members(revision):
        hints = [getattr(option, "__origin__", option) for option in alternatives(m.type_in(revision))]
        objects = dict in hints or any(isinstance(hint, type) and issubclass(hint, Model) for hint in hints)
        plain, told = smallest(cls, revision), Told()
        wanted = dict(plain, **{m.wire: {}})
        if not objects or list in hints or refused(cls, dict(wanted), revision):
            continue
        careless = dict(plain, **{m.wire: []})
        assert refused(cls, dict(careless), revision), (cls, m.wire)
        assert decode(cls, careless, revision, "params", told) == decode(cls, wanted, revision), (cls, m.wire)
        assert [kind for kind, _ in told] == ["empty array"] and careless[m.wire] == {}, (cls, m.wire)
        tried += 1
    assert tried >= 15, tried


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_an_item_that_cannot_be_read_is_left_out_and_the_others_live(revision: Revision) -> None:
    tried = 0
    for cls in ALL:
        for m in members(cls) if revision.has(cls.since, cls.until) else ():
            lists = [option.__args__[0] for option in alternatives(m.type_in(revision))
                     if m.exists(revision) and getattr(option, "__origin__", None) is list]
            if not lists or lists[0] is Any:
                continue
            good, told = value_of(lists[0], revision), Told()
            careless = dict(smallest(cls, revision), **{m.wire: [good, [[]], good, None]})
            assert refused(cls, careless, revision), (cls, m.wire)
            found = decode(cls, careless, revision, "result", told)
            assert found == decode(cls, dict(careless, **{m.wire: [good, good]}), revision), (cls, m.wire)
            places = [text.partition(": expected ")[0].rpartition(" ")[2] for _, text in told]
            assert places == ["result.%s[%d]" % (m.wire, at) for at in (1, 3)], told
            assert refused(cls, dict(careless, **{m.wire: [[[]]]}), revision)
            with pytest.raises(DecodeError):
                decode(cls, dict(careless, **{m.wire: [[[]]]}), revision, "result", told)
            tried += 1
    assert tried >= 15, tried


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_what_has_to_be_there_is_not_made_up(revision: Revision) -> None:
    tried = 0
    for cls in ALL:
        for m in members(cls) if revision.has(cls.since, cls.until) else ():
            careless, told = dict(smallest(cls, revision), **{m.wire: None}), Told()
            if m.required_in(revision) and not m.assume and refused(cls, careless, revision):
                with pytest.raises(DecodeError, match="got null"):
                    decode(cls, careless, revision, "params", told)
                assert not told, (cls, m.wire)
                tried += 1
    assert tried >= 40, tried


@pytest.mark.parametrize("revision", REVISIONS[:-1], ids=str)  # the last revision lets a schema be any schema
def test_one_odd_tool_hides_no_other(revision: Revision) -> None:
    told = Told()
    careless = {"tools": [
        {"name": "php", "description": None, "inputSchema": {"type": "object", "properties": [], "required": None}},
        {"name": "rust", "inputSchema": {"type": "object", "properties": {"any": True, "none": False}}},
        {"name": 5, "inputSchema": {"type": "object"}}, {"name": "bare"},
    ], "nextCursor": None}
    found = decode(ListToolsResult, careless, revision, "result", told)
    assert found.tools == [
        Tool("php", {"type": "object", "properties": {}}),
        Tool("rust", {"type": "object", "properties": {"any": {}, "none": {"not": {}}}})]
    assert sorted(told) == [
        ("boolean schema", "result.tools[1].inputSchema.properties.any: read as {}"),
        ("boolean schema", "result.tools[1].inputSchema.properties.none: read as {'not': {}}"),
        ("empty array", "result.tools[0].inputSchema.properties: [] stands for an object; read as {}"),
        ("item", "left out, for it cannot be read: result.tools[2].name: expected string, got integer"),
        ("item", "left out, for it cannot be read: result.tools[3].inputSchema: expected object, got nothing"),
        ("null", "result.nextCursor: null stands for what could be left out; read as absent"),
        ("null", "result.tools[0].description: null stands for what could be left out; read as absent"),
        ("null",
         "result.tools[0].inputSchema.required: null stands for what could be left out; read as absent"),
    ]


# -- On the wire -------------------------------------------------------------------------------

REQUESTS: List[Tuple[str, Any, int]] = [  # method, careless params, the code of a strict server
    ("tools/list", None, -32600), ("tools/list", [], -32602), ("tools/list", {"cursor": None}, -32602),
    ("tools/list", {"_meta": None}, -32602),
    ("tools/call", {"name": "now", "arguments": None}, -32602),
    ("tools/call", {"name": "now", "arguments": []}, -32602),
    ("tools/call", {"name": "now", "_meta": {"progressToken": None}}, -32602),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("method, params, code", REQUESTS)
def test_a_server_answers_careless_clients_unless_it_is_strict(
    method: str, params: Any, code: int, strict: bool
) -> None:
    server = Server("s", strict=strict)
    server.tool(lambda: "noon", name="now")
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake("2025-06-18")
        peer.send({"jsonrpc": "2.0", "id": 5, "method": method, "params": params})
        answer = peer.answer_to(5)
        counts = server.connections[0].counters.snapshot()
    if strict:
        assert answer["error"]["code"] == code and not any(name.startswith("forgiven") for name in counts)
    else:
        assert "result" in answer and sum(n for name, n in counts.items() if name.startswith("forgiven")) == 1


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_a_client_reads_the_answers_of_careless_servers_unless_it_is_strict(revision: str, strict: bool) -> None:
    page = {"ttlMs": 0, "cacheScope": "private"}
    answers: Dict[str, Any] = {
        "tools/list": dict(page, tools=[{"name": "t", "description": None, "inputSchema": {"type": "object"}}]),
        "tools/call": {"content": [{"type": "text", "text": "ok", "annotations": None}], "isError": None}}
    with Scene(revision, answers, strict=strict) as scene:
        if strict:
            with pytest.raises(McpError, match="description: expected string, got null"):
                list(scene.client.tools())
        else:
            assert [tool.name for tool in scene.client.tools()] == ["t"]
            result = scene.client.call_tool("t")
            assert result.text == "ok" and result.is_error is None
            counts = scene.client.connection.counters.snapshot()
            assert counts["forgiven null"] == 3


def test_each_kind_is_logged_once_for_a_connection(caplog: pytest.LogCaptureFixture) -> None:
    tools = [{"name": "t%d" % number, "description": None, "inputSchema": []} for number in range(5)]
    tools += [{"name": "u", "inputSchema": {"type": "object"}}]
    with Scene("2025-06-18", {"tools/list": {"tools": tools}}) as scene:
        assert [tool.name for tool in scene.client.tools()] == ["u"]
        counts = scene.client.connection.counters.snapshot()
    texts = [record.getMessage() for record in caplog.records]
    forgiven = [text.partition(": ")[0] for text in texts if "forgiven" in text]
    assert sorted(forgiven) == ["forgiven empty array", "forgiven item", "forgiven null"]
    assert (counts["forgiven null"], counts["forgiven empty array"], counts["forgiven item"]) == (5, 5, 5)


CALL = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[],%s}}'
SCALARS = [  # the id of the answer, more of its result, what is forgiven, and a member as it is read
    (b'"ID"', b'"isError":false', "id", "is_error", False),
    (b"ID.0", b'"isError":false', "id", "is_error", False),
    (b"ID", b'"isError":"False"', "scalar", "is_error", False),
    (b"ID", b'"isError":0', "scalar", "is_error", False),
    (b"ID", b'"structuredContent":{"a":NaN,"b":"NaN \\" NaN","c":[-Infinity]}', "number", "structured_content",
     {"a": None, "b": 'NaN " NaN', "c": [None]}),
]


@pytest.mark.parametrize("id, more, kind, member, read", SCALARS)
@pytest.mark.parametrize("strict", [False, True])
def test_an_answer_is_read_as_it_was_meant_or_refused_by_a_strict_client(id, more, kind, member, read, strict):
    def answer(params: Any) -> Any:
        scene.peer.send((CALL % (id, more)).replace(b"ID", b"%d" % scene.requests[-1]["id"]))
        return SILENT

    with Scene("2025-11-25", {"tools/call": answer, "tools/list": {"tools": []}}, strict=strict) as scene:
        if strict:
            with pytest.raises(McpError):
                scene.client.call_tool("t", timeout=patience(0.1))
        else:
            assert getattr(scene.client.call_tool("t"), member) == read and scene.count("forgiven " + kind) == 1


@pytest.mark.parametrize("value", ["yes", "", "null", "1e999", "0x1", 2, 1.5, [], "9" * 400])
def test_what_is_no_flag_stays_what_it_is(value):
    with pytest.raises(DecodeError, match="isError"):
        decode(messages.CallToolResult, {"content": [], "isError": value}, REVISIONS[-1], "result", Told())
