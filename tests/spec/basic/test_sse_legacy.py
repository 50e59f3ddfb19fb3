"""HTTP+SSE, the server's side [2024-11-05 basic/transports §HTTP with SSE]; no sockets.

The transport and the revision do not depend on each other, so the rules are tried in sessions of every revision.
"""
import re
from urllib.parse import urljoin, urlsplit

import pytest

from tests.support.http_exchange import opening, request
from tests.support.legacy_web import LegacyWeb
from tests.support.requirements_table import HANDSHAKE
from tests.support.sides import said, work_params, working_server

SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 1}
SAMPLED = {"role": "assistant", "model": "none", "content": {"type": "text", "text": "sampled"}}
every_revision = pytest.mark.parametrize("revision", HANDSHAKE)


def web(revision, handlers=None, **options):
    return LegacyWeb(working_server(handlers or {"quick": lambda ctx: "done"}), revision, **options)


@pytest.mark.spec("sse.endpoint-sse")
@every_revision
def test_one_address_is_a_stream_of_all_that_the_server_says(revision):
    """[2024-11-05 basic/transports §HTTP with SSE] MUST"""

    def talks(ctx):
        ctx.log("info", "on the way")
        return said(ctx.call("sampling/createMessage", SAMPLE))

    with web(revision, {"talks": talks}) as client:
        assert client.stream.status == 200
        assert client.stream.headers.get("content-type") == "text/event-stream"
        client.later(request(1, "tools/call", work_params("talks")))
        assert client.next()["method"] == "notifications/message"
        asked = client.next()
        assert asked["method"] == "sampling/createMessage"
        assert client.post({"jsonrpc": "2.0", "id": asked["id"], "result": SAMPLED}).status == 202
        answer = client.next()
        assert (answer["id"], said(answer)) == (1, "sampled")
        assert not client.stream.finished
        assert [event.event for event in client.stream.events] == ["endpoint"] + ["message"] * 4


@pytest.mark.spec("sse.endpoint-post")
@every_revision
def test_the_other_address_takes_messages_by_post(revision):
    """[2024-11-05 basic/transports §HTTP with SSE] MUST"""
    with web(revision) as client:
        for body in (request(1, "ping"), {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
                     {"jsonrpc": "2.0", "id": "never asked", "result": {}}):
            taken = client.post(body)
            assert (taken.status, taken.raw, taken.calls) == (202, b"", ["reply"])
        assert client.next() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert said(client.ask(2, "tools/call", work_params("quick"))) == "done"


@pytest.mark.spec("sse.endpoint-event")
@pytest.mark.parametrize("root", ["", "/tools/mcp%20server"])
@every_revision
def test_the_stream_begins_with_the_address_for_messages(revision, root):
    """[2024-11-05 basic/transports §HTTP with SSE] MUST"""
    with web(None, root=root) as client:
        streams = [client.open(), client.open()]
        addresses = [client.address_of(stream) for stream in streams]
        for stream, address in zip(streams, addresses):
            assert [event.event for event in stream.events] == ["endpoint"] and stream.calls == ["start", "send"]
            # On the same origin: a relative reference that names no host.
            url = urljoin("https://example.com:8443%s/sse" % root, address)
            assert urlsplit(url)[:3] == ("https", "example.com:8443", root + "/messages")
            assert re.fullmatch(r"sessionId=[A-Za-z0-9_-]{32,}", urlsplit(url).query)
            assert client.post(opening(revision), address=address).status == 202
            assert client.next(stream)["result"]["protocolVersion"] == revision
        assert addresses[0] != addresses[1]


FOREIGN = ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example"]


@pytest.mark.spec("http.origin-validate")
@pytest.mark.parametrize("field, value", [("Origin", origin) for origin in FOREIGN] + [("Host", "evil.example")])
def test_pages_of_other_sites_are_refused(field, value):
    """[..2025-11-25 basic/transports §Security Warning] MUST"""
    with web("2024-11-05") as client:
        refused = [client.open({field: value}), client.post(request(1, "ping"), {field: value})]
        assert [answer.status for answer in refused] == [403, 403]
        assert all("allowed_" in answer.message["error"]["message"] for answer in refused)
        assert len(client.endpoint.sessions) == 1
        assert client.ask(2, "ping")["id"] == 2  # the first one was not taken


@pytest.mark.spec("batch.receive")
@every_revision
def test_batches_are_those_of_the_revision(revision):
    """[2025-03-26 basic/index §Batching] MUST"""
    note = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    with web(revision) as client:
        batch = [request(1, "ping"), note, request(2, "ping"), {"jsonrpc": "2.0", "id": "none", "result": {}}]
        taken = client.post(batch)
        if revision == "2025-03-26":
            assert taken.status == 202
            assert sorted(item["id"] for item in client.next()) == [1, 2]
        else:
            assert taken.status == 400 and taken.code == -32600
        client.lives()


@pytest.mark.spec("http.header-version-invalid-400")
@every_revision
def test_the_version_header_is_checked_here_too(revision):
    """[2025-06-18..2025-11-25 basic/transports §Protocol Version Header] MUST"""
    header = "MCP-Protocol-Version"
    with web(revision) as client:
        assert client.post(request(1, "ping"), {header: revision}).status == 202
        assert client.next()["id"] == 1
        for version in ("1999-01-01", "", "2025-06-18x"):
            assert client.post(request(2, "ping"), {header: version}).status == 400
            assert client.open({header: version}).status == 400
        assert len(client.endpoint.sessions) == 1
        client.lives()
