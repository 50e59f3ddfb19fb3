"""Replies in gzip and deflate, which some servers send unasked: read as what they were, within the same bounds."""
import gzip
import json
import threading
import zlib
from typing import Iterator, List, Tuple

import pytest

from mcp_ref import Limits, connect
from mcp_ref.errors import AnswerLost, TransportError
from tests.support.patience import WAIT
from tests.support.scripted_http import Request, ScriptedHttp, chunk, head, said

CODINGS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "GZIP": gzip.compress}


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as made:
        yield made


def reply(coding: str, body: bytes, kind: str = "application/json", chunks: int = 0) -> bytes:
    fields: List[Tuple[str, str]] = [("Content-Type", kind), ("Content-Encoding", coding)]
    if not chunks:
        return head(200, [*fields, ("Content-Length", str(len(body)))]) + body
    pieces = [chunk(body[at:at + chunks]) for at in range(0, len(body), chunks)]
    return head(200, [*fields, ("Transfer-Encoding", "chunked")]) + b"".join(pieces) + chunk(b"")


@pytest.mark.parametrize("chunks", [0, 1, 7])
@pytest.mark.parametrize("coding", CODINGS)
def test_a_compressed_answer_is_read(server: ScriptedHttp, coding: str, chunks: int) -> None:
    def answer(request: Request) -> None:
        request.send(reply(coding, CODINGS[coding](request.result(said("hello" * 1000))), chunks=chunks))

    server.on["tools/call"] = answer
    with connect(server.url, check_results=False) as client:
        for _ in range(8):
            assert client.call_tool("t").text == "hello" * 1000
    assert len({request.connection for request in server.seen("tools/call")}) <= 3, "connections are used again"


def test_a_body_of_several_members_is_read(server: ScriptedHttp) -> None:
    """[RFC 1952 §2.2]"""
    def answer(request: Request) -> None:
        body = request.result(said("hello"))
        request.send(reply("gzip", gzip.compress(body[:9]) + gzip.compress(body[9:]) + gzip.compress(b"")))

    server.on["tools/call"] = answer
    with connect(server.url, check_results=False) as client:
        assert client.call_tool("t").text == "hello"


@pytest.mark.parametrize("coding", CODINGS)
def test_a_compressed_stream_is_read_as_it_comes(server: ScriptedHttp, coding: str) -> None:
    def answer(request: Request) -> None:
        packer = zlib.compressobj(wbits=zlib.MAX_WBITS | (0 if coding == "deflate" else 16))
        request.send(head(200, [("Content-Type", "text/event-stream"), ("Content-Encoding", coding),
                                ("Transfer-Encoding", "chunked")]))
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": request.message["params"]["_meta"]["progressToken"], "progress": 1}}
        first = b"data: %s\n\n" % json.dumps(progress).encode()
        request.send(chunk(packer.compress(first) + packer.flush(zlib.Z_SYNC_FLUSH)))
        assert heard.wait(WAIT)
        request.send(chunk(packer.compress(b"data: %s\n\n" % request.result(said("done"))) + packer.flush()))
        request.send(chunk(b""))

    heard = threading.Event()
    server.on["tools/call"] = answer
    with connect(server.url, check_results=False) as client:
        assert client.call_tool("t", progress=lambda *told: heard.set()).text == "done"


@pytest.mark.parametrize("data, words", [
    (b"\x1f\x8b\x08\0\0\0junk", "the connection ended too early"),
    (gzip.compress(b"{}")[:-4], "the connection ended too early"),
    (gzip.compress(b"{}") + b"more", "not what Content-Encoding says"),
    (b"plain", "not what Content-Encoding says"),
])
def test_what_is_no_compressed_body_is_a_clear_error(server: ScriptedHttp, data: bytes, words: str) -> None:
    server.on["tools/call"] = lambda request: request.send(reply("gzip", data))
    with connect(server.url, check_results=False) as client:
        with pytest.raises(AnswerLost, match=words):
            client.call_tool("t")
        server.on["tools/call"] = lambda request: request.answer(said("alive"))
        assert client.call_tool("t").text == "alive"


@pytest.mark.parametrize("chunks", [0, 4096])
def test_the_plain_size_is_bounded(server: ScriptedHttp, chunks: int) -> None:
    bomb = zlib.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000
    server.on["tools/call"] = lambda request: request.send(reply("deflate", bomb, chunks=chunks))
    with connect(server.url, check_results=False, limits=Limits(max_message_bytes=100_000)) as client:
        with pytest.raises(TransportError, match=r"exceeds max_message_bytes \(100000\)"):
            client.call_tool("t")
        server.on["tools/call"] = lambda request: request.answer(said("alive"))
        assert client.call_tool("t").text == "alive"


def test_no_body_is_no_body_whatever_its_coding(server: ScriptedHttp) -> None:
    def accepted(request: Request) -> None:
        request.send(head(202, [("Content-Encoding", "gzip"), ("Content-Length", "0")]))

    server.on["notifications/initialized"] = accepted
    server.on["tools/call"] = lambda request: request.answer(said("alive"))
    with connect(server.url, check_results=False, era="legacy") as client:
        assert client.call_tool("t").text == "alive"
