"""A session over each transport, recorded by each side and read back: what the header promises is there.

The format is described in `mcp_ref.wiretrace`; here are its members as they come from real conversations.
"""
import io
import pathlib
import socket
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Set

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.limits import Limits
from mcp_ref.transports.memory import pair
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import MEMBERS, RECORDED, Event, JsonLinesSink, Trace, from_object, read, to_object
from tests.support.patience import WAIT
from tests.support.scripted import ScriptedPeer
from tests.transports.makers import until

ECHO = [sys.executable, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "echo_server.py")]
TOKEN = "token-of-the-session"


def served(**options: Any) -> Server:
    server = Server("recorded", **options)

    @server.tool
    def add(a: int, b: int, ctx: Context) -> int:
        ctx.progress(1, 2)
        return a + b

    return server


class Recording:
    """A trace in memory, as it would be in a file."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self.trace = Trace(JsonLinesSink(self._text))

    @property
    def text(self) -> str:
        return self._text.getvalue()

    @property
    def events(self) -> List[Event]:
        return list(read(self.text.splitlines()))

    def kinds(self) -> List[str]:
        return [event.kind for event in self.events]

    def of(self, kind: str) -> List[Event]:
        return [event for event in self.events if event.kind == kind]


class Session(NamedTuple):
    """A way to talk. ``address``: for `Server.listen`, "" for a child, "memory"."""

    name: str
    address: str
    transport: str
    era: str
    kinds: Set[str]
    """The kinds that the trace of the client has, at least."""


HTTP = {"trace", "open", "request", "message", "response", "end", "close"}
SESSIONS = (
    Session("stdio", "", "stdio", "legacy", {"trace", "process", "open", "message", "close"}),
    Session("stdio-modern", "", "stdio", "modern", {"trace", "process", "open", "message", "close"}),
    Session("memory", "memory", "memory", "legacy", {"trace", "open", "message", "close"}),
    Session("tcp", "tcp://127.0.0.1:0", "tcp", "legacy", {"trace", "open", "message", "close"}),
    Session("unix", "unix", "unix", "modern", {"trace", "open", "message", "close"}),
    Session("streamable", "http://127.0.0.1:0/mcp", "streamable-http", "legacy", {*HTTP, "event"}),
    Session("stateless", "http://127.0.0.1:0/mcp", "streamable-http", "modern", HTTP),
    Session("sse", "http://127.0.0.1:0/sse", "http+sse", "legacy", {*HTTP, "event"}),
)


def talk(session: Session, folder: pathlib.Path, ours: Any = None, theirs: Any = None) -> None:
    """Call a tool in such a session. ``ours``: the trace of the client; ``theirs``: that of the server."""

    def call(target: Any, **options: Any) -> None:
        with connect(target, era=session.era, trace=ours, **options) as client:
            client.call_tool("add", {"a": 1, "b": 2}, progress=lambda *told: None)

    if not session.address:
        call(ECHO)
        return
    server = served(trace=theirs)
    if session.address == "memory":
        call(server)
        return
    address = "unix://%s" % (folder / "s") if session.address == "unix" else session.address
    http = {"token": TOKEN} if address.startswith("http") else {}
    with server.listen(address.replace("/sse", "/mcp"), **http) as listener:
        call(listener.address.replace("/mcp", "/sse") if session.name == "sse" else listener.address, **http)


BY_SIDE = [(session, side) for session in SESSIONS for side in ("client", "server")
           if session.address or side == "client"]


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="one of the transports is a Unix socket")
@pytest.mark.parametrize("session, side", BY_SIDE, ids=["%s-%s" % (session.name, side) for session, side in BY_SIDE])
def test_a_session_is_recorded_by_either_side_and_read_back(
    session: Session, side: str, tmp_path: pathlib.Path,
) -> None:
    recording = Recording()
    talk(session, tmp_path, **{"ours" if side == "client" else "theirs": recording.trace})
    until(lambda: "close" in recording.kinds())
    until(lambda: recording.kinds().count("request") == recording.kinds().count("end"))
    events = recording.events
    assert session.kinds - {"process"} <= set(recording.kinds())
    assert ("process" in recording.kinds()) == ("process" in session.kinds)
    assert session.transport in [event.more["transport"] for event in recording.of("open")]
    header = events[0].more
    assert header["trace"] == 1 and set(header["recorded"]) <= set(RECORDED)
    assert ("process" in header["recorded"]) == ("process" in session.kinds)
    assert [to_object(event) for event in events] == [to_object(from_object(to_object(event))) for event in events]
    assert all(set(event.more) <= set(MEMBERS[event.kind]) for event in events[1:])
    told = [(event.direction, event.message.get("method")) for event in recording.of("message")]
    assert told.count(("client", "tools/call")) == 1 and told.count(("server", "notifications/progress")) <= 1
    answers = [event for event in recording.of("message") if "structuredContent" in event.message.get("result", {})]
    assert len(answers) == 1 and answers[0].direction == "server"
    assert all(bool(event.exchange) == (session.transport in ("streamable-http", "http+sse"))
               for event in recording.of("message"))
    assert TOKEN not in recording.text


def test_the_life_of_a_process_is_recorded() -> None:
    recording = Recording()
    talk(SESSIONS[0], pathlib.Path(), recording.trace)
    start, *rest = [{"from": event.direction, **event.more} for event in recording.of("process")]
    assert (start["from"], start["did"], start["command"][-1]) == ("client", "start", ECHO[-1])
    assert rest == [{"from": "client", "did": "stdin-closed"}, {"from": "server", "did": "exit", "code": 0}]
    assert recording.kinds()[1:3] == ["process", "open"] and recording.kinds()[-1] == "close"
    assert recording.events[-1].direction == "client"


def test_a_process_that_does_not_leave_is_recorded_with_its_signals() -> None:
    recording = Recording()
    code = ("import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "sys.stderr.write('up\\n'); sys.stderr.flush(); time.sleep(60)")
    limits = Limits(initialize_timeout=WAIT, shutdown_grace=0.1, terminate_grace=0.1)
    seen = connect_only([sys.executable, "-c", code], recording.trace, limits)
    until(lambda: "stderr" in recording.kinds())
    seen.close()
    assert [(event.more["did"], event.more.get("signal") or event.more.get("code"))
            for event in recording.of("process")[1:]] == [
        ("stdin-closed", None), ("signal", "TERM"), ("signal", "KILL"), ("exit", -9)]
    assert [event.text for event in recording.of("stderr")] == ["up"]


def connect_only(command: List[str], trace: Trace, limits: Limits) -> Any:
    """A transport to a child, open, on which nothing is said."""
    from mcp_ref.transports.lines.child import StdioChild

    seen = tap(StdioChild(command, limits=limits), trace, "client")
    seen.open()
    return seen


def test_noise_and_a_process_that_dies_are_recorded() -> None:
    recording = Recording()
    code = "import sys; print('Listening on port 80'); sys.stdout.flush(); sys.exit(3)"
    seen = connect_only([sys.executable, "-c", code], recording.trace, Limits())
    assert seen.read() is None
    seen.close()
    [noise] = recording.of("message")
    assert (noise.message, noise.text, noise.direction) == (None, "Listening on port 80", "server")
    assert [event.more.get("code") for event in recording.of("process") if event.more["did"] == "exit"] == [3]
    [end] = recording.of("close")
    assert end.direction == "server" and "exited with code 3" in end.text


@pytest.mark.parametrize("side", ["client", "server"])
def test_the_party_that_ends_a_connection_is_named(side: str) -> None:
    recording = Recording()
    near, far = pair()
    seen = tap(near, recording.trace, "client")
    seen.open()
    if side == "server":
        far.close()
        assert seen.read() is None
    seen.close()
    seen.close()
    assert [event.direction for event in recording.of("close")] == [side]


def test_many_threads_end_a_connection_once() -> None:
    recording = Recording()
    near, far = pair()
    seen = tap(near, recording.trace, "client")
    seen.open()
    threads = [threading.Thread(target=end) for end in [far.close, seen.read, *[seen.close] * 6]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert len(recording.of("close")) == 1


def test_connections_of_one_trace_have_names() -> None:
    recording = Recording()
    server = served()
    with connect(server, trace=recording.trace) as one, connect(server, trace=recording.trace) as two:
        for client in (one, two, one):
            client.ping()
    assert [event.connection for event in recording.of("open")] == ["", "2"]
    assert {event.connection for event in recording.of("close")} == {"", "2"}
    assert {event.connection for event in recording.of("message")} == {"", "2"}


# --- Odd bytes --------------------------------------------------------------------------------------------------------

@pytest.fixture
def wire() -> Iterator[Callable[[bytes], Dict[str, Any]]]:
    """A function that sends bytes from a server through a tap, and gives the recorded line."""
    recording = Recording()
    near, far = pair()
    seen = tap(near, recording.trace, "client")
    seen.open()

    def send(data: bytes) -> Dict[str, Any]:
        far.write([data])
        while not seen.read():
            pass
        return {name: value for name, value in to_object(recording.events[-1]).items() if name not in ("time", "from")}

    yield send
    seen.close()
    far.close()


@pytest.mark.parametrize("data, recorded", [
    (b'{"a":1}', {"message": {"a": 1}}),
    (b' {"a": 1} ', {"message": {"a": 1}}),
    (b"[]", {"message": []}),
    (b'\xef\xbb\xbf{"a":1}', {"message": {"a": 1}, "raw": '\ufeff{"a":1}'}),
    (b'{"a":\r1}', {"message": {"a": 1}, "raw": '{"a":\r1}'}),
    (b'{"a":1,"a":2}', {"raw": '{"a":1,"a":2}'}),
    (b'{"a":NaN}', {"raw": '{"a":NaN}'}),
    (b'{"a":"\xff"}', {"base64": "eyJhIjoi/yJ9"}),
    (b"5", {"raw": "5"}), (b"", {"raw": ""}), (b"hello", {"raw": "hello"}),
])
def test_bytes_that_are_not_canonical_are_recorded_as_they_were(
    wire: Callable[[bytes], Dict[str, Any]], data: bytes, recorded: Dict[str, Any],
) -> None:
    assert wire(data) == recorded
    read_back = from_object({"time": 0, "from": "server", **recorded}).data()
    assert read_back == (data if "message" not in recorded or "raw" in recorded else data.strip().replace(b" ", b""))


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize("data", [
    b'{"params":{"token":"%s"}}', b'\xef\xbb\xbf{"token":"%s"}', b'{"token":"%s","token":"%s2"}', b'{"token":\r"%s"}',
    b'{"token":"%s","a":"\xff"}', b'\xff Bearer %s', b'{"password":["%s"],"a":1,"a":2}', b'Authorization: Bearer %s',
    b'{"url":"/messages?sessionId=%s"}', b'{"requestState":"%s"}', b'[{"result":{"apiKey":"%s"}}]',
    b'{"message":"{\\"password\\": \\"%s\\"}"}', b'{"token":"%s"', b'token=%s',
])
def test_odd_bytes_are_masked_too(wire: Callable[[bytes], Dict[str, Any]], data: bytes) -> None:
    from base64 import b64decode

    line = wire(data.replace(b"%s", SECRET.encode()))
    assert SECRET not in repr(line) and SECRET.encode() not in b64decode(line.get("base64", ""))
    assert "***" in repr(line) or b"***" in b64decode(line["base64"])


# --- What was not sent ------------------------------------------------------------------------------------------------

def test_what_a_server_does_not_deliver_is_not_told_as_sent() -> None:
    """Over HTTP a message is in the trace when it is on the wire, and not when somebody wants it to be."""
    recording = Recording()
    server = served()
    with server.listen("http://127.0.0.1:0/mcp", trace=recording.trace) as listener:
        with connect(listener.address, era="legacy") as client:
            client.ping()
            server.broadcast("notifications/tools/list_changed")
            until(lambda: any(event.message.get("method", "").endswith("list_changed")
                              for event in recording.of("message")))
    told = [event for event in recording.of("message") if event.message.get("method", "").endswith("list_changed")]
    assert [event.more["sse"]["id"] for event in told] and len(told) == 1


def test_a_session_of_a_bare_peer_is_recorded_by_the_server() -> None:
    recording = Recording()
    ours, theirs = pair()
    served(trace=recording.trace).connect(theirs)
    peer = ScriptedPeer(ours)
    peer.handshake("2025-06-18")
    peer.send(b"{broken")
    until(lambda: any(event.text == "{broken" for event in recording.of("message")))
    until(lambda: recording.of("finding"))
    peer.receive(lambda message: "error" in message)  # or the server, which writes it, is the first to find the end
    peer.close()
    until(lambda: recording.of("close"))
    assert recording.of("close")[0].direction == "client"
