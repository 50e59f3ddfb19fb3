"""Frames: what is one, what is malformed, and with which code it is refused."""
import json

import pytest

from mcp_ref.jsonrpc import (
    Batch, Encoded, ErrorResponse, Malformed, Notification, Request, ResultResponse, encode, parse,
)
from mcp_ref.limits import Limits


def message(**members):
    return json.dumps(dict({"jsonrpc": "2.0"}, **members)).encode("ascii")


FRAMES = [
    (message(id=1, method="ping"), Request(1, "ping")),
    (message(id="1", method="ping"), Request("1", "ping")),
    (message(id="", method=""), Request("", "")),
    (message(id=-(2**70), method="x", params={}), Request(-(2**70), "x", {})),
    (message(id=0, method="x", params={"a": None}, more=1), Request(0, "x", {"a": None})),
    (message(method="notifications/initialized"), Notification("notifications/initialized")),
    (message(method="n", params={"_meta": {}}), Notification("n", {"_meta": {}})),
    (message(id=3, result={}), ResultResponse(3, {})),
    (message(id=3, result={"a": 1}, error=None), ResultResponse(3, {"a": 1})),
    (message(id=3, error={"code": -1, "message": "no"}), ErrorResponse(3, -1, "no")),
    (message(id="3", error={"code": -1, "message": "", "data": [1]}), ErrorResponse("3", -1, "", [1])),
    (message(id=None, error={"code": -32700, "message": "Parse error"}), ErrorResponse(None, -32700, "Parse error")),
    (message(error={"code": -32700, "message": "Parse error"}), ErrorResponse(None, -32700, "Parse error")),
]


@pytest.mark.parametrize("data, frame", FRAMES, ids=range(len(FRAMES)))
def test_parses_each_kind(data, frame):
    found = parse(data)
    assert found == frame and type(found) is type(frame)
    assert type(getattr(found, "id", None)) is type(getattr(frame, "id", None))


REFUSED = [
    # bytes, code, id that could be read, is it silent (a response or notification, never answered)
    (b"{", -32700, None, False),
    (b"\xff", -32700, None, False),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700, None, False),
    (b"1", -32600, None, False),
    (b'"x"', -32600, None, False),
    (b"null", -32600, None, False),
    (b"[]", -32600, None, False),
    (message(id=1, method="x").replace(b"2.0", b"1.0"), -32600, 1, False),
    (b'{"id":1,"method":"x"}', -32600, 1, False),
    (b'{"jsonrpc":2.0,"id":1,"method":"x"}', -32600, 1, False),
    (message(id=None, method="x"), -32600, None, False),
    (message(id=True, method="x"), -32600, None, False),
    (message(id=1.5, method="x"), -32600, None, False),
    (b'{"jsonrpc":"2.0","id":1.0,"method":"x"}', -32600, None, False),
    (message(id=[1], method="x"), -32600, None, False),
    (message(id={}, method="x"), -32600, None, False),
    (message(id="x" * 2000, method="x"), -32600, None, False),
    (message(id=1, method=5), -32600, 1, False),
    (message(id=1, method=None), -32600, 1, False),
    (message(id=1, method="x", params=[]), -32602, 1, False),
    (message(id=1, method="x", params="{}"), -32600, 1, False),
    (message(id=1, method="x", params=None), -32600, 1, False),
    (message(method="x", params=[1]), -32602, None, True),
    (message(method="x", params=None), -32600, None, True),
    (message(method=5, params=[1]), -32600, None, False),
    (message(id=1), -32600, 1, False),
    (message(), -32600, None, False),
    (b"{}", -32600, None, False),
    (message(id=1, result={}, error={"code": 1, "message": ""}), -32600, 1, True),
    (message(id=1, result=[]), -32600, 1, True),
    (message(id=1, result=None), -32600, 1, True),
    (message(id=1.5, result={}), -32600, None, True),
    (message(id=None, result={}), -32600, None, True),
    (message(result={}), -32600, None, True),
    (message(id=1, error="no"), -32600, 1, True),
    (message(id=1, error={"code": "1", "message": ""}), -32600, 1, True),
    (message(id=1, error={"code": 1.5, "message": ""}), -32600, 1, True),
    (message(id=1, error={"code": True, "message": ""}), -32600, 1, True),
    (message(id=1, error={"code": 1}), -32600, 1, True),
    (message(id=True, error={"code": 1, "message": ""}), -32600, None, True),
    (message(id=1, result={}).replace(b"2.0", b"3.0"), -32600, 1, True),
]


@pytest.mark.parametrize("data, code, id, silent", REFUSED, ids=range(len(REFUSED)))
def test_refuses_what_is_malformed(data, code, id, silent):
    with pytest.raises(Malformed) as caught:
        parse(data)
    error = caught.value
    assert (error.code, error.id, type(error.id), error.silent) == (code, id, type(id), silent)
    assert error.message.count("\n") == 0 and len(error.message) < 200


def test_a_batch_is_one_only_where_the_revision_has_them():
    items = [message(id=1, method="ping"), message(method="n"), b"1", message(id=None, method="x")]
    data = b"[" + b",".join(items) + b"]"
    batch = parse(data, batching=True)
    assert isinstance(batch, Batch)
    assert batch.items[:2] == [Request(1, "ping"), Notification("n")]
    assert [item.code for item in batch.items[2:]] == [-32600, -32600]
    with pytest.raises(Malformed) as caught:
        parse(data)
    assert caught.value.code == -32600


@pytest.mark.parametrize("data", [b"[]", b"[" + b"1," * 5 + b"1]"])
def test_empty_and_oversized_batches_are_refused_whole(data):
    with pytest.raises(Malformed) as caught:
        parse(data, batching=True, limits=Limits(max_batch=5))
    assert caught.value.code == -32600


@pytest.mark.parametrize("data, frame", FRAMES, ids=range(len(FRAMES)))
def test_what_is_encoded_parses_back(data, frame):
    text = encode(frame)
    assert parse(text) == frame and b"\n" not in text and text.isascii()


def test_absent_members_are_not_null():
    assert json.loads(encode(Request(1, "ping"))) == {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert json.loads(encode(ErrorResponse(None, -1, "m"))) == {"jsonrpc": "2.0", "error": {"code": -1, "message": "m"}}
    null = json.loads(encode(ErrorResponse(None, -1, "m", null_id=True)))
    assert null == {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "m"}}


def test_a_result_that_is_text_already_goes_out_as_it_is():
    result = ResultResponse("a\"b", Encoded('{"tools":[]}'))
    assert json.loads(encode(result)) == {"jsonrpc": "2.0", "id": 'a"b', "result": {"tools": []}}
    assert json.loads(encode(Batch([result]))) == [{"jsonrpc": "2.0", "id": 'a"b', "result": {"tools": []}}]


@pytest.mark.parametrize("value, good", [
    (1, True), (0, True), (-5, True), ("", True), ("x", True), (True, False), (None, False), (1.0, False), ([], False),
])
def test_ids_are_strings_or_integers(value, good):
    data = json.dumps({"jsonrpc": "2.0", "id": value, "method": "ping"}).encode()
    if good:
        assert parse(data) == Request(value, "ping") and type(parse(data).id) is type(value)
    else:
        with pytest.raises(Malformed):
            parse(data)
