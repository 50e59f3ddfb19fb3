"""The bytes of a server: what it answers over a socket and over HTTP in each revision, and how it refuses over HTTP.

The requests are written by hand; `wire.plain` replaces what differs from run to run.
"""
import contextlib
import http.client
import itertools
import json
import queue
import socket
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from mcp_ref import REVISIONS, Limits, Server
from mcp_ref.auth import AccessToken, ResourceServer
from mcp_ref.errors import AuthError
from tests.frozen.commands import server
from tests.frozen.wire import plain
from tests.support.patience import WAIT
from tests.transports.http_cases import LIMITS, REFUSED
from tests.transports.http_raw import Raw, replies, serving

META = "io.modelcontextprotocol/"
STATELESS = str(REVISIONS[-1])
BOTH = "application/json, text/event-stream"
ASKED: Tuple[Tuple[str, Dict[str, Any]], ...] = (
    ("ping", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}),
    ("tools/call", {"name": "add", "arguments": {"a": "one"}}),
    ("tools/call", {"name": "no-such-tool"}),
    ("resources/list", {}),
    ("resources/templates/list", {"cursor": "no-such-cursor"}),
    ("resources/read", {"uri": "greeting://you"}),
    ("resources/read", {"uri": "no-such://resource"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "review", "arguments": {"code": "x = 1"}}),
    ("prompts/get", {"name": "review"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "review"},
                             "argument": {"name": "code", "value": ""}}),
    ("logging/setLevel", {"level": "error"}),
    ("tasks/list", {}),
    ("no/such/method", {}),
)
"""What is asked in each revision, whether it has that or not."""
ODD = (
    '{"jsonrpc": "2.0", "id": 90, "method"', '{"jsonrpc": "1.0", "id": 91, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": null, "method": "ping"}', '{"jsonrpc": "2.0", "id": 93, "method": 1}',
    '{"jsonrpc": "2.0", "id": 94, "method": "ping", "params": []}', '{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
    "[]", '[{"jsonrpc": "2.0", "id": 96, "method": "ping"}]', '"hello"', '{"jsonrpc": "2.0", "id": 97, "x": NaN}',
)
"""Lines that are not as they should be."""


def opening(revision: str) -> str:
    return request(0, "initialize", {"protocolVersion": revision, "capabilities": {},
                                     "clientInfo": {"name": "raw", "version": "1"}})


def request(id: int, method: str, params: Dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def asked(revision: str) -> Iterator[Tuple[str, Dict[str, str]]]:
    """Each request of a session with the header fields that go with it."""
    stateless = revision == STATELESS
    meta = {"_meta": {META + "protocolVersion": revision, META + "clientCapabilities": {},
                      META + "clientInfo": {"name": "raw", "version": "1"}}} if stateless else {}
    for id, (method, params) in enumerate((("server/discover", {}),) * stateless + ASKED, 1):
        fields = {"MCP-Protocol-Version": revision}
        if stateless:
            fields["Mcp-Method"] = method
            name = params.get("name") or params.get("uri")
            fields.update({"Mcp-Name": name} if name else {})
        yield request(id, method, {**params, **meta}), fields


def stream() -> str:
    """Each line that is sent over a socket, and the line that answers it, byte by byte."""
    said: List[str] = []
    for revision in map(str, REVISIONS):
        said += ["", "== " + revision]
        with server().listen("tcp://127.0.0.1:0") as listener:
            host, _, port = listener.address[len("tcp://"):].partition(":")
            with socket.create_connection((host, int(port)), WAIT) as connection, connection.makefile("rb") as answers:
                def ask(line: str) -> None:
                    connection.sendall(line.encode() + b"\n")
                    said.extend(["> " + line, "< " + plain(answers.readline().decode().rstrip("\n"))])

                ping = next(asked(revision))[0].replace('"id": 1', '"id": "end"')
                if revision != STATELESS:
                    ask(opening(revision))
                    connection.sendall(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
                for line, _ in asked(revision):
                    ask(line)
                for line in ODD:  # some are not answered, so each is followed by one that is
                    said.append("> " + line)
                    connection.sendall(("%s\n%s\n" % (line, ping)).encode())
                    found = iter(lambda: answers.readline().decode().rstrip("\n"), "")
                    said += ["< " + plain(answer) for answer in itertools.takewhile(
                        lambda text: '"end"' not in text, found)]
    return "\n".join(said[1:]) + "\n"


def posted(address: str, line: str, fields: Dict[str, Optional[str]], method: str = "POST", path: str = "/mcp",
           more: Tuple[Tuple[str, str], ...] = ()) -> Tuple[int, List[Tuple[str, str]], str]:
    """The status, the header fields and the body of a request; a field that is None is left out."""
    connection = http.client.HTTPConnection(address.split("/")[2], timeout=WAIT)
    try:
        connection.putrequest(method, path, skip_host="Host" in fields, skip_accept_encoding=True)
        for name, value in [*fields.items(), *more]:
            if value is not None:
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(line.encode())))
        connection.endheaders(line.encode())
        answer = connection.getresponse()
        stream = "event-stream" in (answer.getheader("Content-Type") or "") and method == "GET"
        return answer.status, answer.getheaders(), "" if stream else answer.read().decode()
    finally:
        connection.close()


def written(answer: Tuple[int, List[Tuple[str, str]], str]) -> str:
    """A reply in one line: the date left out, and Content-Length, which the body shows."""
    status, fields, body = answer
    shown = ["%s: %s" % field for field in fields if field[0].lower() not in ("date", "content-length")]
    body = body.replace(http.client.responses[status], "PHRASE")  # Python 3.13 has other ones
    return plain("%d {%s} %s" % (status, "; ".join(shown), body.replace("\r", "\\r").replace("\n", "\\n")))


def web() -> str:
    """Each POST, and the reply to it with status, header fields and body."""
    said: List[str] = []
    for revision in map(str, REVISIONS):
        said += ["", "== " + revision]
        with server().listen("http://127.0.0.1:0/mcp") as listener:
            usual: Dict[str, Optional[str]] = {"Content-Type": "application/json", "Accept": BOTH}

            def ask(line: str, fields: Dict[str, str]) -> List[Tuple[str, str]]:
                answer = posted(listener.address, line, {**usual, **fields})
                said.extend(["> " + line, "< " + written(answer)])
                return answer[1]

            if revision != STATELESS:
                usual.update((name, value) for name, value in ask(opening(revision), {})
                             if name.lower() == "mcp-session-id")
                ask('{"jsonrpc": "2.0", "method": "notifications/initialized"}', {"MCP-Protocol-Version": revision})
            for line, fields in asked(revision):
                ask(line, fields)
            for line in ODD:
                ask(line, {"MCP-Protocol-Version": revision})
    return "\n".join(said[1:]) + "\n"


# How requests are refused

PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
SITE = ("repeated", "host", "origin", "path")
WHO = ("credentials", "unchecked", "principal", "nobody", "scope", "session", "no session", "version")
LOOKED_AT = {"GET": (*SITE, "accept", *WHO), "DELETE": (*SITE, *WHO)}
"""The faults that mean something to a method; of a POST all do."""


def token(scope: str) -> AccessToken:
    return AccessToken(subject="ada", client_id="app", issuer="https://auth.example.com", scopes=[scope],
                       audience=["https://mcp.example.com/mcp"], expires_at=time.time() + 3600)


def guarded() -> Server:
    """A server with all that refuses."""
    known = {"good": token("use"), "narrow": token("look")}

    def verify(value: str) -> Optional[AccessToken]:
        if value == "unchecked":
            raise AuthError("the keys cannot be fetched")
        return known.get(value)

    auth = ResourceServer("https://mcp.example.com/mcp", ["https://auth.example.com"], verify, scopes=["use"])
    return Server("guarded", auth=auth, strict=True, limits=Limits(max_message_bytes=4096))


def faults() -> Dict[str, Dict[str, Any]]:
    """What is wrong with a request, first what is refused first: header fields, ``path``, ``line``, ``more``."""
    batch = '[%s, {"jsonrpc": "2.0", "id": 1, "result": {}}]' % PING
    return {
        "repeated": {"more": (("Mcp-Session-Id", "another"),)},
        "host": {"Host": "evil.example"},
        "origin": {"Origin": "https://evil.example"},
        "path": {"path": "/other"},
        "media type": {"Content-Type": "text/plain"},
        "accept": {"Accept": "text/html"},
        "credentials": {"Authorization": "Bearer"},
        "unchecked": {"Authorization": "Bearer unchecked"},
        "principal": {"Authorization": "Bearer unknown"},
        "nobody": {"Authorization": None},
        "scope": {"Authorization": "Bearer narrow"},
        "session": {"Mcp-Session-Id": "no-such-session"},
        "body": {"line": "{"},
        "no session": {"Mcp-Session-Id": None},
        "version": {"MCP-Protocol-Version": "1999-01-01"},
        "batch": {"line": batch},
    }


def refusals() -> str:
    """The replies to requests that break a rule and all that are looked at later, then that rule alone."""
    said: List[str] = []
    with guarded().listen("http://127.0.0.1:0/mcp", legacy=False) as listener:
        good: Dict[str, Any] = {"Content-Type": "application/json", "Accept": BOTH, "Authorization": "Bearer good",
                                "MCP-Protocol-Version": "2025-06-18"}
        first = posted(listener.address, opening("2025-06-18"), good)
        good["Mcp-Session-Id"] = dict((name.lower(), value) for name, value in first[1])["mcp-session-id"]
        for method in ("POST", "GET", "PUT", "OPTIONS", "DELETE"):
            wrong = {name: row for name, row in faults().items() if name in LOOKED_AT.get(method, SITE)
                     or method == "POST"}
            for number, name in enumerate(wrong):
                for title, rows in (("and all below", list(wrong.values())[number:]), ("alone", [wrong[name]])):
                    now = dict(good)
                    for row in reversed(rows):
                        now.update(row)
                    said.append("%s %s %s: %s" % (method, name, title, _sent(listener.address, method, now)))
        said.append("POST repeated Host: " + _sent(
            listener.address, "POST", {**good, "more": (("Host", "a.example"),)}))
        said.append("POST length: " + _sent(listener.address, "POST", {**good, "line": '["%s"]' % ("x" * 4096)}))
        said.append("POST of nothing wrong: " + _sent(listener.address, "POST", good))
        said.append("DELETE of nothing wrong: " + _sent(listener.address, "DELETE", good))
        said.append("POST to a session that is deleted: " + _sent(listener.address, "POST", good))
        said += ["%s: %s" % (title, _sent(listener.address, "POST", {**good, **row})) for title, row in stateless()]
    return "\n".join([*said, *older(), *full(), *busy()]) + "\n"


def stateless() -> Iterator[Tuple[str, Dict[str, Any]]]:
    """What is wrong with a request of the stateless era."""
    line, right = next(asked(STATELESS))
    base: Dict[str, Any] = {**right, "Mcp-Session-Id": None, "line": line}
    yield "stateless, right", base
    yield "stateless, era: header of another revision", {**base, "MCP-Protocol-Version": "2025-11-25"}
    yield "stateless, era: unknown revision", {**base, "MCP-Protocol-Version": "1999-01-01",
                                               "line": line.replace(STATELESS, "1999-01-01")}
    yield "stateless, era: no header", {**base, "MCP-Protocol-Version": None}
    yield "stateless, fields: another method", {**base, "Mcp-Method": "ping"}
    yield "stateless, fields: no method", {**base, "Mcp-Method": None}
    yield "stateless, accept: no stream", {**base, "Accept": "application/json"}
    yield "stateless, unknown method", {
        **base, "Mcp-Method": "no/such", "line": line.replace("server/discover", "no/such")}


def older() -> Iterator[str]:
    """How the two addresses of HTTP+SSE refuse."""
    good: Dict[str, Any] = {"Content-Type": "application/json", "Accept": "text/event-stream",
                            "Authorization": "Bearer good"}
    wrong, site = faults(), ("repeated", "host", "origin")
    wrong["repeated"] = {"more": (("Last-Event-ID", "a"), ("Last-Event-ID", "b"))}
    with guarded().listen("http://127.0.0.1:0/mcp") as listener:
        for method, path, names in (
                ("GET", "/sse", (*site, "accept", "credentials", "unchecked", "principal", "nobody", "scope",
                                 "version")),
                ("POST", "/sse", ("right",)), ("GET", "/messages", ("right",)), ("DELETE", "/messages", ("right",)),
                ("POST", "/messages", ("nobody", "right")), ("POST", "/messages?sessionId=", ("right",)),
                ("POST", "/messages?sessionId=unknown", (*site, "media type", "principal", "nobody", "right")),
                ("OPTIONS", "/sse", ("origin", "right")), ("OPTIONS", "/messages", ("right",))):
            for name in names:
                yield "HTTP+SSE, %s %s %s: %s" % (method, path, name, _sent(
                    listener.address, method, {**good, **wrong.get(name, {}), "path": path}))


@contextlib.contextmanager
def holding(**limits: Any) -> Iterator[Tuple[str, Callable[[Dict[str, Any]], None], Callable[[], None]]]:
    """Yield the address of a server, a function that has a request run until the end, and one that begins to close."""
    server, gate = Server("full", auth=guarded().auth, limits=Limits(**limits)), threading.Event()
    begun: "queue.Queue[None]" = queue.Queue()

    @server.tool
    def hold() -> str:
        begun.put(None)
        assert gate.wait(WAIT)
        return "held"

    with contextlib.ExitStack() as stack, server.listen("http://127.0.0.1:0/mcp") as listener:
        def run(function: Callable[..., Any], *arguments: Any) -> None:
            thread = threading.Thread(target=function, args=arguments)
            thread.start()
            stack.callback(thread.join)
            stack.callback(gate.set)

        def held(now: Dict[str, Any]) -> None:
            run(_sent, listener.address, "POST", now)
            begun.get(timeout=WAIT)

        yield listener.address, held, lambda: run(listener.close, WAIT)
        gate.set()


def full() -> Iterator[str]:
    """How requests are refused that come at a bad moment."""
    good: Dict[str, Any] = {"Content-Type": "application/json", "Accept": BOTH, "Authorization": "Bearer good"}
    first = {**good, "line": opening("2025-06-18")}
    right = {**good, "Mcp-Session-Id": None, **next(asked(STATELESS))[1], "line": next(asked(STATELESS))[0]}
    for title, limits in (("full", {"max_sessions": 1, "max_session_share": 1.0}), ("full share", {"max_sessions": 2})):
        with holding(**limits) as (address, hold, close):
            answer = posted(address, opening("2025-06-18"), good)
            session = {**good, "MCP-Protocol-Version": "2025-06-18", "Mcp-Session-Id": dict(
                (name.lower(), value) for name, value in answer[1])["mcp-session-id"]}
            hold({**session, "line": request(1, "tools/call", {"name": "hold", "arguments": {}})})
            yield "%s: %s" % (title, _sent(address, "POST", first))
            if title == "full":
                yield "id in use: " + _sent(address, "POST", session)
                close()
                while posted(address, request(2, "ping", {}), session)[0] == 200:
                    pass
                for name, method, now in (("ping", "POST", session), ("initialize", "POST", first),
                                          ("stream", "GET", session), ("stateless", "POST", right),
                                          ("of nobody", "POST", {**session, "Authorization": None})):
                    yield "closing, %s: %s" % (name, _sent(address, method, now))


def busy() -> Iterator[str]:
    """How a client is refused that has too many requests without a session."""
    line, right = next(asked(STATELESS))
    now: Dict[str, Any] = {"Content-Type": "application/json", "Accept": BOTH, "Authorization": "Bearer good", **right,
                           "line": line}
    call = json.loads(line)
    call.update(method="tools/call", params={**call["params"], "name": "hold", "arguments": {}})
    with holding(max_inflight=1) as (address, hold, _):
        hold({**now, "Mcp-Method": "tools/call", "Mcp-Name": "hold", "line": json.dumps(call)})
        yield "busy: " + _sent(address, "POST", now)


def engine() -> str:
    """How the HTTP server refuses what is no request: each of the cases of `tests.transports.http_cases`."""
    said: List[str] = []
    with serving(limits=LIMITS) as running:
        for case in REFUSED:
            with Raw(running.address) as connection:
                connection.send(case.data)
                answer = replies(connection.rest())[-1]
            said.append("%s: %s" % (case.name, written((
                answer.status, sorted(answer.headers.items()), answer.body.decode("ascii")))))
    return "\n".join(said) + "\n"


def _sent(address: str, method: str, now: Dict[str, Any]) -> str:
    fields = {name: value for name, value in now.items() if name not in ("line", "path", "more")}
    return written(posted(address, now.get("line", PING) if method == "POST" else "", fields, method,
                          now.get("path", "/mcp"), now.get("more", ())))
