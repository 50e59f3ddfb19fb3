"""`Requester`: what `visible` and handlers learn of the HTTP request, on every way of serving over HTTP."""
import io
import json
from typing import Any, Dict, List

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.errors import PeerError
from mcp_ref.ext.stores.sqlite import SqliteStore
from mcp_ref.http11.message import Headers, HttpRequest
from mcp_ref.limits import Limits
from mcp_ref.server import Requester
from mcp_ref.server.registry.visibility import _KEPT, requester_in
from tests.support.http_exchange import Web, exchange
from tests.support.http_modern import ModernWeb
from tests.support.requirements_table import HANDSHAKE, STATELESS

REVISIONS = (*HANDSHAKE, STATELESS)
TOKENS = {"Bearer root-root": "root", "Bearer bob-bob": "bob"}


def in_group(name: str) -> Any:
    return lambda principal, requester: name in requester.query.get("group", [])


def grouped(**options: Any) -> Any:
    """A server with a tool for everybody, one for each of two groups, and one by a header field."""
    server = Server("grouped", **options)

    @server.tool
    def who(ctx: Context) -> Dict[str, Any]:
        found = ctx.requester
        return {"principal": found.principal, "query": found.query, "session": found.session_id is not None,
                "agent": found.headers.get("x-agent"), "shown": repr(found)}

    for name in ("ops", "dev"):
        server.tool(lambda: "", name=name, visible=in_group(name))
    server.tool(lambda: "", name="agent", visible=lambda principal, requester: requester.headers.get("x-agent") == "7")
    return server


def by_token(headers: Any) -> Any:
    return TOKENS.get(headers.get("authorization"))


GROUPS = {"": ["who"], "?group=ops": ["who", "ops"], "?group=dev&group=ops": ["who", "ops", "dev"],
          "?group=%6fps&x": ["who", "ops"], "?group": ["who"], "?Group=ops": ["who"], "?group=ops;dev": ["who"],
          "?group=ops%00": ["who"], "?%FF&group=dev": ["who", "dev"]}


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_query_of_the_url_picks_the_tools_over_real_http(revision: str) -> None:
    with grouped().listen("http://127.0.0.1:0/mcp", authenticate=by_token) as listener:
        for query, who in (("", "bob"), ("?group=dev&group=ops", "root")):
            with connect(listener.address + query, era=revision, token="%s-%s" % (who, who)) as client:
                assert [tool.name for tool in client.tools()] == GROUPS[query]
                said = json.loads(client.call_tool("who").text)
                assert (said["principal"], said["session"]) == (who, revision != STATELESS)
                assert said["query"] == ({"group": ["dev", "ops"]} if query else {})
                if not query:
                    with pytest.raises(PeerError, match="Unknown tool: ops"):
                        client.call_tool("ops")


@pytest.mark.parametrize("sessions", ["memory", "none", "store"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_request_is_answered_by_its_own_query(revision: str, sessions: str, tmp_path: Any) -> None:
    kept: Any = SqliteStore(str(tmp_path / "s.db")) if sessions == "store" else sessions
    server = grouped()
    options: Dict[str, Any] = dict(sessions=kept)
    with (ModernWeb(server, **options) if revision == STATELESS else Web(server, None, **options)) as web:
        if revision != STATELESS:
            if sessions == "none":
                web.headers["MCP-Protocol-Version"] = revision
            else:
                web.open(revision)
        for number, (query, names) in enumerate(GROUPS.items()):
            if revision == STATELESS:
                message = web.message(number, "tools/list")
                from tests.support.http_modern import made

                asked = made(message)
            else:
                asked = web.made("POST", {"jsonrpc": "2.0", "id": number, "method": "tools/list"})
            asked.request = asked.request._replace(query=query[1:])
            result = web.handle(asked).answer()["result"]
            assert [tool["name"] for tool in result["tools"]] == names, query


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_session_has_tools_of_its_own(revision: str) -> None:
    server, opened = Server("locked"), set()

    def unlocked(principal: Any, requester: Requester) -> bool:
        return requester.session_id in opened

    @server.tool
    def unlock(ctx: Context) -> str:
        opened.add(ctx.requester.session_id)
        server.lists_changed("tools", visible=unlocked)
        return "unlocked"

    server.tool(lambda: "", name="inside", visible=unlocked)
    with Web(server, None) as one, Web(server, None) as two:
        two.endpoint = one.endpoint
        streams = []
        for web in (one, two):
            web.open(revision)
            streams.append(web.get())

        def names(web: Any) -> List[str]:
            return [tool["name"] for tool in web.ask(1, "tools/list").answer()["result"]["tools"]]

        assert names(one) == names(two) == ["unlock"]
        assert one.ask(2, "tools/call", {"name": "unlock"}).status == 200
        assert names(one) == ["unlock", "inside"] and names(two) == ["unlock"]
        told = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        assert [stream.messages() for stream in streams] == [[told], []]


def test_the_older_transport_goes_by_the_request_that_opened_its_stream() -> None:
    server = grouped()
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        address = listener.address.replace("/mcp", "/sse")
        for query in ("", "?group=ops"):
            with connect(address + query) as client:
                assert [tool.name for tool in client.tools()] == GROUPS[query]


def test_wsgi_and_frameworks_bring_the_query_too() -> None:
    server, body = grouped(), json.dumps({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    fields = {"Host": "localhost", "Content-Type": "application/json",
              "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    application = server.wsgi(sessions="none")
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/mcp", "QUERY_STRING": "group=ops",
               "SERVER_PROTOCOL": "HTTP/1.1", "CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": "application/json",
               "wsgi.input": io.BytesIO(body),
               "wsgi.url_scheme": "http", "SERVER_NAME": "localhost", "SERVER_PORT": "80", "REMOTE_ADDR": "127.0.0.1",
               **{"HTTP_" + name.upper().replace("-", "_"): value for name, value in fields.items()}}
    statuses: List[str] = []
    answer = b"".join(application(environ, lambda status, headers, *more: statuses.append(status)))
    assert statuses == ["200 OK"] and [each["name"] for each in _message(answer)["result"]["tools"]] == ["who", "ops"]
    application.close(0)
    from mcp_ref.server.serving.http_listener import endpoint_of
    from mcp_ref.streamable.server.wsgi import Caller

    caller = Caller(endpoint_of(server, sessions="none"))
    got = caller.call("POST", "/mcp?group=dev", fields, body)
    assert [each["name"] for each in _message(b"".join(got.chunks))["result"]["tools"]] == ["who", "dev"]
    caller.close()


def _message(data: bytes) -> Any:
    return json.loads(data if data.startswith(b"{") else data.split(b"data: ", 1)[1].split(b"\n")[0])


def test_there_is_nothing_of_http_elsewhere() -> None:
    for era in REVISIONS:
        with connect(grouped(), era=era) as client:
            assert [tool.name for tool in client.tools()] == ["who"]
            said = json.loads(client.call_tool("who").text)
            assert said == {"principal": None, "query": {}, "session": False, "agent": None,
                            "shown": "Requester(None, query='')"}


def test_an_announcement_goes_by_the_latest_request_about_such_a_member() -> None:
    server = grouped()
    told: List[str] = []
    with Web(server, "2025-11-25") as web:
        stream = web.get()

        def asked(query: str, **fields: str) -> None:
            made = web.made("POST", {"jsonrpc": "2.0", "id": len(told) + 10, "method": "tools/list"},
                            {name.replace("_", "-"): value for name, value in fields.items()})
            made.request = made.request._replace(query=query)
            assert web.handle(made).status == 200

        def heard() -> int:
            server.tool(lambda: "", name="new%d" % len(told), visible=in_group("ops"))
            told.append("")
            return sum(message["method"] == "notifications/tools/list_changed" for message in stream.messages())

        assert heard() == 0, "it has asked for no list yet"
        asked("group=ops")
        assert heard() == 1
        asked("group=dev")
        assert heard() == 1
        asked("group=ops", X_Agent="7")
        assert heard() == 2
        found = requester_in(web.connection)
        assert (found.query, found.headers.get("x-agent")) == ({"group": ["ops"]}, "7")
        asked("group=ops", X_Long="x" * _KEPT)
        assert heard() == 2, "what is too long to be kept is forgotten"
        assert requester_in(web.connection).headers.pairs() == []


def test_a_client_that_left_and_comes_back_for_its_answer_is_the_requester_that_it_was() -> None:
    server = grouped()
    with Web(server, "2025-11-25") as web:
        made = web.made("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        made.request = made.request._replace(query="group=ops")
        web.handle(made)
        connection = web.connection
        context: Any = type("Gone", (), {})()
        context.connection, context.detached, context.principal = connection, False, "me"
        context.incoming = type("Incoming", (), {"id": 99})
        from mcp_ref.server.registry.visibility import requester_of

        assert requester_of(context).query == {"group": ["ops"]} and requester_of(context).principal == "me"


def test_nothing_is_kept_of_requests_where_everybody_sees_everything() -> None:
    server = Server("plain")
    server.tool(lambda: "", name="t")
    with Web(server, "2025-11-25") as web:
        assert web.ask(1, "tools/list").status == 200 and web.ask(2, "tools/call", {"name": "t"}).status == 200
        assert "requester" not in web.connection.state


def test_a_requester_shows_no_header_fields_and_keeps_no_body() -> None:
    made = Requester("ada", "id", HttpRequest("POST", "/mcp", Headers([("Authorization", "Bearer secret")]), b"body",
                                              "a=1&a=2&b"))
    assert repr(made) == "Requester('ada', query='a=1&a=2&b')" and made.query == {"a": ["1", "2"], "b": [""]}
    assert made.headers.get("authorization") == "Bearer secret" and made.session_id == "id"
    assert not any(b"body" == value for value in (getattr(made, name) for name in made.__slots__))


def test_many_queries_cannot_fill_the_cache_of_pages() -> None:
    server = Server("many", limits=Limits())
    for number in range(70):
        server.tool(lambda: "", name="t%d" % number, visible=in_group(str(number)))
    with Web(server, "2025-11-25") as web:
        for number in range(70):
            made = exchange("POST", web.headers, {"jsonrpc": "2.0", "id": number, "method": "tools/list"})
            made.request = made.request._replace(query="group=%d" % number)
            assert [each["name"] for each in web.handle(made).answer()["result"]["tools"]] == ["t%d" % number]
    assert len(server.tools.listing._view.parts) == 64
