"""What an HTTP client's requests have to do with authorization: asked before each, and about each refusal."""
import contextlib
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from mcp_ref import connect, deadline
from mcp_ref.client import Client, opening as era
from mcp_ref.errors import (
    AuthError, ConnectFailed, HttpStatus, InsufficientScope, McpError, RequestCancelled, RequestTimeout, Unauthorized,
)
from mcp_ref.host import Host, host as hosts
from mcp_ref.http11.client.connect import Abandoned, CancelScope
from mcp_ref.http11.client.connection_pool import ConnectionPool
from mcp_ref.http11.message import Headers
from mcp_ref.limits import DEFAULT, Limits
from mcp_ref.peer import sender
from mcp_ref.peer.request_table import RequestTable
from mcp_ref.revisions import HANDSHAKE_REVISIONS, LATEST
from mcp_ref.streamable.client import http_sse
from mcp_ref.streamable.client.auth_provider import AuthRefusal, Authorizer, Authorizing
from mcp_ref.streamable.client.http_sse import HttpSse
from mcp_ref.wiretrace import Trace
from tests.support.auth_server import browser
from tests.support.authorized import Authorized
from tests.support.patience import WAIT
from tests.support.scripted import PATIENCE
from tests.support.scripted_http import Request, ScriptedHttp
from tests.support.scripted_sse import Older
from tests.support.sides import Gate, eventually, in_thread

CHALLENGE = 'Bearer resource_metadata="https://mcp.example.com/rm", scope="a b"'
WIRES = [revision.name for revision in HANDSHAKE_REVISIONS[1:]] + [LATEST.name]


class Engine(Authorizer):
    """Does what the `Scripted` does that it belongs to."""

    def __init__(self, owner: "Scripted") -> None:
        self.owner = owner

    def fields(self, method: str, url: str, cancel_scope: CancelScope) -> Any:
        return self.owner.fields(method, url, cancel_scope)

    def refused(self, refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        return self.owner.refused(refusal, cancel_scope)

    def answered(self, url: str, headers: Headers) -> None:
        self.owner.answered(url, headers)


class Scripted(Authorizing):
    """Gives each request a token of its own, as DPoP does, and does with refusals what the test says."""

    def __init__(self, mend: Optional[Callable[[AuthRefusal, CancelScope], bool]] = None) -> None:
        self.mend = mend
        self.asked: List[Tuple[str, str]] = []
        self.refusals: List[AuthRefusal] = []
        self.made: List[Tuple[str, Dict[str, Any]]] = []
        self.mute = self.breaks = False
        self.answers: List[Tuple[str, Optional[str]]] = []
        self._lock = threading.Lock()

    def authorizer(self, url: str, **options: Any) -> Authorizer:
        self.made.append((url, options))
        return Engine(self)

    def fields(self, method: str, url: str, cancel_scope: CancelScope) -> Tuple[Tuple[str, str], ...]:
        with self._lock:
            self.asked.append((method, url))
            return () if self.mute else (("Authorization", "Bearer secret-%d" % len(self.asked)), ("X-Proof", method))

    def answered(self, url: str, headers: Headers) -> None:
        self.answers.append((url, headers.get("dpop-nonce")))
        if self.breaks:
            raise ValueError("secret")

    def refused(self, refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        self.refusals.append(refusal)
        return self.mend is not None and self.mend(refusal, cancel_scope)


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as made:
        yield made


def refusing(key: str, server: ScriptedHttp, times: int, status: int = 401) -> None:
    """Refuse the first requests of this key."""
    left = [times]

    def answer(request: Request) -> None:
        if request.message is not None and request.message.get("params", {}).get("name") == "late":
            return
        if left[0]:
            left[0] -= 1
            request.reply(status, b"not you", "text/plain", [("WWW-Authenticate", CHALLENGE), ("DPoP-Nonce", "n1")])
        else:
            usual(server, request)

    server.on[key] = answer


def usual(server: ScriptedHttp, request: Request) -> None:
    """What a server answers that speaks all revisions."""
    if request.key == "server/discover":
        request.answer({"supportedVersions": [LATEST.name], "capabilities": {"tools": {}}, "ttlMs": 0,
                        "cacheScope": "private", "resultType": "complete"})
    else:
        server.usual(request)


def opened(server: ScriptedHttp, auth: Any, **options: Any) -> Client:
    if options.get("era") == LATEST.name:
        server.on.setdefault("server/discover", lambda request: usual(server, request))
    return connect(server.url, auth=auth, era=options.pop("era", "2025-11-25"), check_results=False, **options)


# --- Before each request ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wire", WIRES)
def test_every_http_request_carries_fields_of_its_own(server: ScriptedHttp, wire: str) -> None:
    """POST of requests, of notifications and of answers, GET, DELETE: none without, none with those of another."""
    auth = Scripted()
    with opened(server, auth, era=wire) as client:
        client.call_tool("it")
        if wire != LATEST.name:
            server.wait_for("GET")
    seen = server.seen()
    tokens = [request.headers["authorization"] for request in seen]
    assert len(set(tokens)) == len(seen) >= 1 and all(token.startswith("Bearer secret-") for token in tokens)
    assert [request.headers["x-proof"] for request in seen] == [request.method for request in seen]
    assert {url for _, url in auth.asked} == {server.url}
    if wire != LATEST.name:
        assert {"initialize", "notifications/initialized", "GET", "DELETE"} <= {request.key for request in seen}


def test_requests_over_the_older_transport_carry_them_too(server: ScriptedHttp) -> None:
    older = Older(server)
    auth = Scripted()
    with connect(server.origin + "/sse", auth=auth, era="2025-03-26", check_results=False) as client:
        client.call_tool("it")
        client.ping()
    del older
    assert all("authorization" in request.headers for request in server.seen())
    assert ("GET", server.origin + "/sse") in auth.asked
    assert ("POST", server.origin + "/messages?session=7") in auth.asked
    assert len(auth.made) == 1, "both transports are one client at one server"


def test_without_a_token_there_are_no_fields(server: ScriptedHttp) -> None:
    auth = Scripted()
    auth.mute = True
    with opened(server, auth):
        pass
    assert not [request for request in server.seen() if "authorization" in request.headers]


@pytest.mark.parametrize("key", ["DELETE", "tools/call"])
def test_so_does_one_that_is_sent_again_because_the_connection_had_ended(
        server: ScriptedHttp, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields may be good for one use only, as proofs are."""
    ended = [True]

    def end(request: Request) -> None:
        if ended and ended.pop():
            request.cut()
        server.usual(request)

    auth = Scripted()
    client = opened(server, auth)
    client.ping()  # and its connection is kept
    if key == "DELETE":
        server.on[key] = end
    else:
        broken = [True]
        write = ConnectionPool._write

        def fail(pool: ConnectionPool, sock: Any, head: bytes, body: bytes) -> None:
            if b"tools/call" in body and broken and broken.pop():
                raise BrokenPipeError()
            write(pool, sock, head, body)

        monkeypatch.setattr(ConnectionPool, "_write", fail)
        monkeypatch.setattr(ConnectionPool, "_early", lambda pool, reply, error: _raise(error))
        client.call_tool("it")
    client.close()
    server.wait_for(key, 2 if key == "DELETE" else 1)
    tokens = [request.headers["authorization"] for request in server.seen()]
    assert len(tokens) == len(set(tokens)) == len(auth.asked) - (key != "DELETE")


def _raise(error: BaseException) -> None:
    raise error


def test_after_a_redirect_the_fields_are_those_for_the_new_url(server: ScriptedHttp) -> None:
    def redirect(request: Request) -> None:
        if request.target == "/mcp":
            request.reply(307, headers=[("Location", "/elsewhere")])
        else:
            server.usual(request)

    server.on["tools/call"] = redirect
    auth = Scripted()
    with opened(server, auth) as client:
        client.call_tool("it")
    first, second = server.seen("tools/call")
    assert first.headers["authorization"] != second.headers["authorization"]
    assert ("POST", server.origin + "/elsewhere") in auth.asked


def test_the_authorizer_is_made_once_with_what_tls_and_limits_are(server: ScriptedHttp) -> None:
    auth, limits = Scripted(), Limits(auth_timeout=7)
    with opened(server, auth, limits=limits, cafile=None):
        pass
    (url, options), = auth.made
    assert url == server.url and options == {"ssl_context": None, "cafile": None, "limits": limits}


def test_an_authorizer_gets_the_url_as_it_goes_over_the_wire() -> None:
    auth = Scripted()
    HttpSse("https://B\u00fccher.example:443/\u00fc b?x#y", auth=auth).close()
    assert [url for url, _ in auth.made] == ["https://xn--bcher-kva.example/%C3%BC%20b?x"]


@pytest.mark.parametrize("options", [{"token": "t"}, {"headers": {"AUTHORIZATION": "Basic x"}}])
def test_there_is_one_source_of_authorization(options: Any) -> None:
    with pytest.raises(ValueError, match="auth="):
        connect("http://127.0.0.1:9/mcp", auth=Scripted(), **options)


def test_auth_is_an_authorizing() -> None:
    with pytest.raises(TypeError, match="not str"):
        connect("http://127.0.0.1:9/mcp", auth="my token")


def test_what_getting_a_token_raises_is_the_outcome_of_the_request(server: ScriptedHttp) -> None:
    auth = Scripted()

    def fields(method: str, url: str, cancel_scope: CancelScope) -> Any:
        if "tools/call" in failing:
            raise AuthError("no token today")
        return ()

    failing: List[str] = []
    auth.fields = fields  # type: ignore[method-assign]
    with opened(server, auth) as client:
        failing.append("tools/call")
        with pytest.raises(AuthError, match="no token today"):
            client.call_tool("it")
        failing.clear()
        client.ping()
    assert not server.seen("tools/call")


@pytest.mark.parametrize("fault", [None, ("X", "a\r\nY: secret"), ("Mcp-Session-Id", "mine"), ("a b", "c")])
def test_a_mistake_of_an_authorizer_is_an_error_of_its_request(server: ScriptedHttp, fault: Any) -> None:
    """Of a store that somebody has written, say; and nothing is sent that should not be."""
    faults: List[Any] = []

    def fields(method: str, url: str, cancel_scope: CancelScope) -> Any:
        if faults == [None]:
            raise RuntimeError("secret")
        return tuple(faults)

    auth = Scripted()
    auth.fields = fields  # type: ignore[method-assign]
    with opened(server, auth) as client:
        faults.append(fault)
        with pytest.raises(AuthError, match="error of the program: (Runtime|Value)Error$"):
            client.call_tool("it")
        faults.clear()
        client.ping()
    assert not server.seen("tools/call")


@pytest.mark.parametrize("key", ["initialize", "notifications/initialized", "GET", "tools/call"])
def test_so_is_one_in_what_it_does_about_a_refusal(server: ScriptedHttp, key: str) -> None:
    """Also where nobody hears of it: nothing hangs."""
    refusing(key, server, 1)

    def fail(refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        raise RuntimeError("secret")

    expected = pytest.raises(AuthError, match="error of the program: RuntimeError$")
    with expected if key in ("initialize", "tools/call") else contextlib.nullcontext():
        with opened(server, Scripted(fail)) as client:
            client.call_tool("it")
    assert len(server.seen(key)) == 1


# --- After a refusal --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("key", ["initialize", "notifications/initialized", "GET", "tools/call"])
def test_a_refused_request_is_sent_again_when_it_is_mended(server: ScriptedHttp, key: str, status: int) -> None:
    refusing(key, server, 1, status)
    auth = Scripted(lambda refusal, cancel_scope: True)
    with opened(server, auth) as client:
        client.call_tool("it")
        first, second = server.wait_for(key, 1), server.wait_for(key, 2)
    assert first.headers["authorization"] != second.headers["authorization"]
    assert first.body == second.body
    refusal, = auth.refusals
    assert refusal.fields == (("Authorization", first.headers["authorization"]), ("X-Proof", first.method))
    assert refusal[:2] == (status, (CHALLENGE,)) and refusal.headers.get("dpop-nonce") == "n1"
    assert (refusal.method, refusal.url, refusal.tries) == (first.method, server.url, 0)


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_not_refused_is_told_of(server: ScriptedHttp, wire: str) -> None:
    auth = Scripted(lambda refusal, cancel_scope: True)
    with opened(server, auth, era=wire) as client:
        if wire != LATEST.name:
            server.wait_for("GET")
        eventually(lambda: len(auth.answers) == len(server.seen()))
        auth.answers.clear()
        refusing("tools/call", server, 1)
        client.call_tool("it")
        assert auth.answers == [(server.url, None)]
        server.on["tools/call"] = lambda request: request.answer({"content": []}, [("DPoP-Nonce", "n2")])
        client.call_tool("it")
        assert auth.answers[1:] == [(server.url, "n2")]
        auth.breaks = True
        with pytest.raises(AuthError) as caught:
            client.call_tool("it")
        assert "ValueError" in str(caught.value) and "secret" not in str(caught.value)
        auth.breaks = False
        client.call_tool("it")


@pytest.mark.parametrize("wire", WIRES)
def test_a_refusal_says_the_revision_offered_named_or_agreed(server: ScriptedHttp, wire: str) -> None:
    first = "server/discover" if wire == LATEST.name else "initialize"
    refusing(first, server, 1)
    refusing("tools/call", server, 1)
    auth = Scripted(lambda refusal, cancel_scope: True)
    with opened(server, auth, era=wire) as client:
        client.call_tool("it")
    assert [refusal.revision for refusal in auth.refusals] == [wire, wire]


def test_a_stream_of_the_older_transport_is_mended(server: ScriptedHttp) -> None:
    older = Older(server)
    refused: List[Request] = []

    def listen(request: Request) -> None:
        if not refused:
            refused.append(request)
            request.reply(401)
        else:
            older.listen(request)

    server.on["GET"] = listen
    auth = Scripted(lambda refusal, cancel_scope: True)
    with connect(server.origin + "/sse", auth=auth, era="2024-11-05", check_results=False) as client:
        client.call_tool("it")
    assert [refusal.method for refusal in auth.refusals] == ["GET"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_that_cannot_be_mended_stands(server: ScriptedHttp, status: int) -> None:
    refusing("tools/call", server, 9, status)
    auth = Scripted()
    with opened(server, auth) as client:
        with pytest.raises(HttpStatus, match="%d Because: not you" % status) as caught:
            client.call_tool("it")
        client.ping()
    assert caught.value.status == status and caught.value.challenges == [CHALLENGE]
    assert len(auth.refusals) == 1 and len(server.seen("tools/call")) == 1


@pytest.mark.parametrize("key", ["server/discover", "initialize", "tools/call"])
def test_what_authorizing_raises_is_the_outcome(server: ScriptedHttp, key: str) -> None:
    """Also where a client finds out what the server is: no other era and no other transport is tried then."""
    refusing(key, server, 9)

    def fail(refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        raise InsufficientScope("go away", ["c"])

    auth = Scripted(fail)
    with pytest.raises(InsufficientScope, match="go away"):
        with opened(server, auth, era="auto" if key == "server/discover" else "2025-11-25") as client:
            client.call_tool("it")
    assert len(server.seen(key)) == 1 and not (key == "server/discover" and server.seen("initialize"))
    assert not [request for request in server.seen("GET") if key != "tools/call"]


@pytest.mark.parametrize("most", [1, 3])
def test_a_request_that_is_refused_again_and_again_is_given_up(server: ScriptedHttp, most: int) -> None:
    refusing("tools/call", server, 99)
    auth = Scripted(lambda refusal, cancel_scope: True)
    with opened(server, auth, limits=Limits(max_authorizations=most)) as client:
        with pytest.raises(Unauthorized, match=r"max_authorizations") as caught:
            client.call_tool("it")
        client.ping()
    assert [refusal.tries for refusal in auth.refusals] == list(range(most))
    assert len(server.seen("tools/call")) == most + 1 and "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [400, 402, 405, 407, 500])
def test_other_refusals_are_nobodys_business(server: ScriptedHttp, status: int) -> None:
    refusing("tools/call", server, 1, status)
    auth = Scripted(lambda refusal, cancel_scope: True)
    with opened(server, auth) as client:
        with pytest.raises(McpError):
            client.call_tool("it")
    assert not auth.refusals


def test_the_farewell_asks_nobody(server: ScriptedHttp) -> None:
    """Who closes a client does not want a browser to open."""
    refusing("DELETE", server, 9)
    auth = Scripted(lambda refusal, cancel_scope: True)
    opened(server, auth).close()
    assert len(server.seen("DELETE")) == 1 and not auth.refusals


def test_a_cancellation_asks_nobody(server: ScriptedHttp) -> None:
    refusing("notifications/cancelled", server, 9)
    gate = Gate()
    server.on["tools/call"] = gate.hold
    auth = Scripted(lambda refusal, cancel_scope: True)
    with gate, opened(server, auth) as client:
        future = client.submit_tool("it")
        gate.entered()
        future.cancel()
        server.wait_for("notifications/cancelled")
        gate.open()
        client.ping()
    assert not auth.refusals


def test_the_connection_is_free_while_it_is_mended(server: ScriptedHttp) -> None:
    """Nobody knows how long that takes, and servers close idle connections."""
    refusing("tools/call", server, 1)
    gate = Gate()

    def mend(refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        gate.hold()
        return True

    with gate, opened(server, Scripted(mend)) as client:
        calling = in_thread(client.call_tool, "it")
        gate.entered()
        before = server.connections
        client.ping()
        assert server.connections == before
        gate.open()
        calling.get()


def test_other_requests_go_on_meanwhile(server: ScriptedHttp) -> None:
    refusing("tools/call", server, 1)
    gate = Gate()

    def mend(refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        gate.hold()
        return True

    with gate, opened(server, Scripted(mend)) as client:
        calling = in_thread(client.call_tool, "it")
        gate.entered()
        client.ping()
        assert not calling.over
        gate.open()
        calling.get()


# --- Who does not want it any more ------------------------------------------------------------------------------------

class Person(Scripted):
    """Waits for somebody who lets it in when the test says so."""

    def __init__(self) -> None:
        super().__init__(self._wait)
        self.waiting = threading.Semaphore(0)
        self.allowed = threading.Event()
        self.left: List[bool] = []

    def _wait(self, refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        with cancel_scope.pause_clock():
            self.waiting.release()
            try:
                while not self.allowed.is_set():
                    cancel_scope.pause(0.005)
            except Abandoned:
                self.left.append(cancel_scope.gone)
                raise
        return True

    def wait_for(self) -> None:
        """Until it waits."""
        assert self.waiting.acquire(timeout=PATIENCE)


def test_who_cancels_ends_the_waiting(server: ScriptedHttp) -> None:
    refusing("tools/call", server, 9)
    auth = Person()
    with opened(server, auth) as client:
        future = client.submit_tool("it")
        auth.wait_for()
        assert future.cancel()
        eventually(lambda: auth.left == [True])
        client.ping()


def test_who_closes_ends_the_waiting(server: ScriptedHttp) -> None:
    refusing("tools/call", server, 9)
    auth = Person()
    client = opened(server, auth)
    calling = in_thread(client.call_tool, "it")
    auth.wait_for()
    client.close()
    with pytest.raises(McpError):
        calling.get()
    eventually(lambda: auth.left == [True])


# --- The time of a person ---------------------------------------------------------------------------------------------

class Clock:
    """A clock that goes on only when told, and knows who looks at how much time is left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 5000.0
        self._looks: Dict[int, int] = {}
        monkeypatch.setattr(deadline, "clock", lambda: self.now)
        left = deadline.Deadline.left

        def looked(end: deadline.Deadline) -> Optional[float]:
            self._looks[threading.get_ident()] = self._looks.get(threading.get_ident(), 0) + 1
            return left(end)

        monkeypatch.setattr(deadline.Deadline, "left", looked)
        for module in (sender, era, http_sse):
            monkeypatch.setattr(module, "_SLICE", 0.005)

    def jump(self, threads: int = 1) -> None:
        """Let much time go by, and so many threads, who wait for something, see that."""
        self._looks.clear()
        eventually(lambda: len(self._looks) >= threads)
        self.now += LONG
        before = dict(self._looks)
        eventually(lambda: all(self._looks[thread] > before[thread] + 1 for thread in before))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


SHORT = 0.1
"""By the manual clock, but for the thread that gives futures up: it sleeps so long by the real one."""
LONG = 0.9 * DEFAULT.request_ceiling
"""More than all timeouts, and than a person may take."""


def as_a_call(client: Client) -> Any:
    return in_thread(client.call_tool, "it", timeout=SHORT).get


def as_a_future(client: Client) -> Any:
    future = client.submit_tool("it", timeout=SHORT)

    def outcome() -> Any:
        looked(client)
        return future.result(PATIENCE)

    return outcome


def begun(client: Client) -> None:
    """Wait until the time of all requests has begun, which is after they went out; or it stands still already."""
    def ends() -> List[deadline.Deadline]:
        return [pending.deadline for pending in list(client.connection.table._pending.values())]

    eventually(lambda: ends() and all(end.at is not None or end._stopped is not None for end in ends()))


def looked(client: Client) -> None:
    """Have the timer of the connection look at the (manual) clock, for it sleeps by the real one."""
    with pytest.raises((RequestTimeout, RequestCancelled)):
        client.submit_tool("late", timeout=-1).result(PATIENCE)


@pytest.mark.parametrize("begin", [as_a_call, as_a_future])
@pytest.mark.parametrize("wire", ["2025-11-25", LATEST.name])
def test_a_request_does_not_age_while_a_person_is_waited_for(
        server: ScriptedHttp, clock: Clock, begin: Callable[[Client], Any], wire: str) -> None:
    refusing("tools/call", server, 1)
    auth = Person()
    with opened(server, auth, era=wire) as client:
        outcome = begin(client)
        auth.wait_for()
        begun(client)
        if begin is as_a_call:
            clock.jump()
        clock.now += LONG
        looked(client)
        auth.allowed.set()
        assert outcome()


@pytest.mark.parametrize("begin", [as_a_call, as_a_future])
def test_then_it_has_as_long_as_it_had_left(
        server: ScriptedHttp, clock: Clock, begin: Callable[[Client], Any]) -> None:
    gate, first = Gate(), [True]

    def answer(request: Request) -> None:
        if request.message["params"]["name"] == "late":
            return
        if first.pop() if first else False:
            request.reply(401)
        else:
            gate.hold()
            server.usual(request)

    server.on["tools/call"] = answer
    auth = Person()
    with gate, opened(server, auth) as client:
        outcome = begin(client)
        auth.wait_for()
        begun(client)
        clock.now += LONG
        auth.allowed.set()
        gate.entered()
        clock.now += 0.9 * SHORT
        looked(client)
        client.ping()
        assert client.connection.table.expired() == []
        clock.now += 0.2 * SHORT
        with pytest.raises(RequestTimeout):
            outcome()
        gate.open()


def test_a_future_is_given_up_in_time_when_nothing_else_happens(server: ScriptedHttp) -> None:
    """Whoever watches the time of futures has slept meanwhile."""
    gate, first, looks = Gate(), [True], threading.Semaphore(0)

    def answer(request: Request) -> None:
        if first and first.pop():
            request.reply(401)
        else:
            gate.hold()
            server.usual(request)

    server.on["tools/call"] = answer
    auth = Person()
    with gate, opened(server, auth) as client:
        expired = client.connection.table.expired

        def look() -> Any:
            found = expired()
            looks.release()
            return found

        client.connection.table.expired = look  # type: ignore[method-assign]
        future = client.submit_tool("it", timeout=0.5)
        auth.wait_for()
        looks.acquire(timeout=0.2)  # its sleep is over then; or it has not begun, for the time stood still before
        auth.allowed.set()
        gate.entered()
        with pytest.raises(RequestTimeout):
            future.result(PATIENCE)
        gate.open()


def test_a_request_that_waits_already_when_it_gets_its_deadline_keeps_all_of_it(clock: Clock) -> None:
    """It goes out first, and its time begins afterwards."""
    table = RequestTable()
    pending = table.add("tools/call", deadline.Deadline(None))
    assert table.pause_clock(pending.id, True) is pending and table.pause_clock(99, True) is None
    table.start(pending, deadline.Deadline(5))
    clock.now += LONG
    assert not table.expired()
    table.pause_clock(pending.id, False)
    assert pending.deadline.left() == 5


def test_a_handshake_does_not_age_either(server: ScriptedHttp, clock: Clock) -> None:
    refusing("initialize", server, 1)
    auth = Person()
    connecting = in_thread(opened, server, auth)
    auth.wait_for()
    clock.jump()
    auth.allowed.set()
    connecting.get().close()


@pytest.mark.parametrize("trace", [None, Trace(lambda event: None)])
def test_nor_does_the_question_what_the_server_is(server: ScriptedHttp, clock: Clock, trace: Any) -> None:
    """It would be offered a handshake as well, and that would wait for the person, too."""
    refusing("server/discover", server, 1)
    auth = Person()
    connecting = in_thread(opened, server, auth, era="auto", trace=trace)
    auth.wait_for()
    clock.jump()
    auth.allowed.set()
    server.wait_for("server/discover", 2)
    connecting.get().close()
    assert not server.seen("initialize")


def test_nor_does_the_opening_of_the_older_transport(server: ScriptedHttp, clock: Clock) -> None:
    older, refused = Older(server), [True]
    server.on["GET"] = lambda request: request.reply(401) if refused and refused.pop() else older.listen(request)
    auth = Person()
    connecting = in_thread(connect, server.origin + "/sse", auth=auth, era="2025-03-26")
    auth.wait_for()
    clock.jump(2)
    auth.allowed.set()
    connecting.get().close()


def test_nor_does_it_where_that_transport_is_used_alone(server: ScriptedHttp, clock: Clock) -> None:
    older, refused = Older(server), [True]
    server.on["GET"] = lambda request: request.reply(401) if refused and refused.pop() else older.listen(request)
    auth = Person()
    transport = HttpSse(server.origin + "/sse", auth=auth)
    opening = in_thread(transport.open)
    auth.wait_for()
    clock.jump()
    auth.allowed.set()
    opening.get()
    transport.close()


def test_so_it_is_with_a_person_at_a_browser(clock: Clock) -> None:
    """All of it together: the grant says when a person is asked."""
    clients: List[Client] = []

    def visit(url: str) -> str:
        if clients:
            table = clients[0].connection.table
            eventually(lambda: any(pending is not None and pending.paused for pending in map(table.find, range(99))))
            begun(clients[0])
            clock.now += LONG
        return browser(url)

    with Authorized() as scene:
        scene.issuing.refreshes = False
        client = scene.connect(authorize=visit)
        clients.append(client)
        scene.issuing.revoke()
        assert client.call_tool("echo", {"text": "hi"}, timeout=WAIT).text == "hi"
        client.close()
        assert scene.authorizations() == 2


def test_the_time_of_machines_counts(server: ScriptedHttp, clock: Clock) -> None:
    refusing("tools/call", server, 1)
    gate = Gate()

    def mend(refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        gate.hold()
        return True

    with gate, opened(server, Scripted(mend)) as client:
        calling = in_thread(client.call_tool, "it", timeout=5)
        gate.entered()
        begun(client)
        clock.now += 6
        with pytest.raises(RequestTimeout):
            calling.get()
        gate.open()


# --- A deadline that stands still -------------------------------------------------------------------------------------

def test_a_deadline_that_stands_still_has_no_end_and_later_as_much_left(clock: Clock) -> None:
    end = deadline.Deadline(10, 20)
    clock.now += 4
    end.stop()
    end.stop()
    clock.now += 100
    assert end.left() is None and not end.expired()
    end.resume()
    end.resume()
    assert end.left() == 6
    end.extend(60)
    assert end.left() == 16, "the ceiling has moved as well, and holds"


@pytest.mark.parametrize("seconds, left", [(3.0, 3.0), (60.0, 16.0), (None, 16.0)])
def test_progress_that_comes_meanwhile_holds_afterwards(clock: Clock, seconds: Optional[float], left: float) -> None:
    end = deadline.Deadline(10, 20)
    clock.now += 4
    end.stop()
    end.extend(seconds)
    assert end.left() is None
    clock.now += 100
    end.resume()
    assert end.left() == left


@pytest.mark.parametrize("seconds", [None, 7.0])
def test_a_deadline_without_ceiling_stands_still_too(clock: Clock, seconds: Optional[float]) -> None:
    end = deadline.Deadline(seconds)
    end.stop()
    clock.now += 100
    end.resume()
    assert end.left() == seconds


# --- What others see --------------------------------------------------------------------------------------------------

def test_no_trace_and_no_log_shows_a_token(server: ScriptedHttp, caplog: pytest.LogCaptureFixture) -> None:
    refusing("tools/call", server, 2)
    refusing("GET", server, 9, 403)
    seen: List[Any] = []
    auth = Scripted(lambda refusal, cancel_scope: refusal.method == "POST")
    with caplog.at_level("DEBUG"), opened(server, auth, trace=Trace(seen.append)) as client:
        client.call_tool("it")
        server.wait_for("GET")
        eventually(lambda: client.connection.transport.counters())
    assert seen and "secret" not in repr([vars(record) for record in caplog.records]) + repr(seen)
    assert all("secret" not in repr(getattr(item, name, "")) for item in seen for name in dir(item) if name[0] != "_")


def test_what_a_refusal_looks_like_has_no_token_in_it_and_no_query() -> None:
    refusal = AuthRefusal(401, ('Bearer x="secret"',), Headers([("x", "secret")]), "POST",
                          "https://a.example/mcp?k=secret", (("Authorization", "Bearer secret"),), None, 2)
    assert repr(refusal) == "AuthRefusal(401, POST https://a.example/mcp, tries=2)"


def test_another_session_has_the_same_authorizer(server: ScriptedHttp) -> None:
    """One that takes the place of a session that has expired."""
    auth = Scripted()
    refusing("tools/call", server, 1, 404)
    with opened(server, auth) as client:
        client.call_tool("it")
    assert len(server.seen("initialize")) == 2 and len(auth.made) == 1


def test_the_hint_of_a_refusal_names_the_ways(server: ScriptedHttp) -> None:
    refusing("initialize", server, 1)
    with pytest.raises(HttpStatus, match="pass token=..., auth=... or headers={...}"):
        connect(server.url, era="2025-11-25")


def test_a_host_passes_it_on(server: ScriptedHttp) -> None:
    auth = Scripted()
    with Host("host", "0") as host:
        host.connect_all({"it": {"target": server.url, "auth": auth, "era": "2025-11-25"}})
        assert not host.failed
    assert all("authorization" in request.headers for request in server.seen())


def test_a_host_waits_for_a_person(server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(initialize_timeout=5)
    monkeypatch.setattr(hosts, "_KILLED", 0)
    monkeypatch.setattr(hosts, "_MARGIN", 0.01 - 5 - limits.shutdown_grace - limits.terminate_grace)
    refusing("initialize", server, 1)
    auth = Person()
    with ScriptedHttp() as other, Host("host", "0", limits=limits) as host:
        connecting = in_thread(host.connect_all, {
            name: {"target": url, "auth": auth, "era": "2025-11-25"}
            for name, url in (("it", server.url), ("other", other.url))})
        auth.wait_for()
        with pytest.raises(AssertionError, match="still waits"):
            connecting.get(0.1)
        auth.allowed.set()
        connecting.get()
        assert not host.failed


def test_a_server_that_is_not_there_asks_nobody() -> None:
    auth = Scripted()
    with pytest.raises(ConnectFailed):
        connect("http://127.0.0.1:9/mcp", auth=auth)
    assert not auth.asked
