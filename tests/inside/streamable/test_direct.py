"""The moments of a request that its own thread sends: an interrupt in each, and the end of the connection."""
import contextlib
import threading
from typing import Any, Iterator, List

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.errors import ConnectionLost
from mcp_ref.http11.client.connect import CancelScope
from mcp_ref.http11.client.connection_pool import ConnectionPool
from mcp_ref.limits import Limits
from mcp_ref.peer.executors import Executor
from mcp_ref.streamable.client import posts
from mcp_ref.streamable.client.base import HttpChannel
from mcp_ref.streamable.client.posts import Inbox
from mcp_ref.streamable.client.streamable import StreamableHttp
from mcp_ref.transports.base import Outgoing
from tests.support.patience import WAIT
from tests.support.scripted import PATIENCE
from tests.support.scripted_http import ScriptedHttp, said
from tests.support.sides import Gate, eventually, in_thread


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as made:
        yield made


def channel_of(client: Client) -> HttpChannel:
    """What is inside of what finds out which transport it is, and of what watches it."""
    found: Any = client.connection.transport
    while not isinstance(found, HttpChannel):
        found = found.inner
    return found


def at_rest(channel: HttpChannel) -> bool:
    """Whether no request and no place is taken; the stream of the GET is urgent and takes none."""
    return not channel._posts and not channel._waiting and not channel._threads._busy


def call(client: Client, name: str = "it", **options: Any) -> str:
    return str(client.call_tool(name, **options).content[0].text)


def opened(server: ScriptedHttp, **options: Any) -> Client:
    """A client with an idle connection: that of its first call, for which one had to be made."""
    client = connect(server.url, check_results=False, **options).__enter__()
    server.wait_for("GET")
    assert call(client, "first") == "tools/call"
    return client


@contextlib.contextmanager
def interrupted(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a Ctrl-C come where this is called; whatever is done here ends with it."""
    def interrupt(*ignored: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, name, interrupt)
        yield


def test_an_answer_does_not_overtake_what_nobody_has_read(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: List[bytes] = []
    put = Inbox.put
    monkeypatch.setattr(Inbox, "put", lambda self, *items: (taken.extend(items), put(self, *items))[1])
    with opened(server) as client:
        eventually(lambda: channel_of(client)._inbox.quiet)
        taken.clear()
        assert call(client) == "tools/call" and taken == []
        monkeypatch.setattr(Inbox, "quiet", False)
        assert call(client) == "tools/call" and len(taken) == 2  # and what fails it should it be none


def test_an_interrupt_while_it_waits_loses_nothing_but_the_call(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        with interrupted(posts, "wait_ready", monkeypatch):
            client.call_tool("it")
        server.wait_for("notifications/cancelled")
        eventually(lambda: at_rest(channel_of(client)))
        del server.on["tools/call"]
        gate.open()
        assert call(client) == "tools/call"


def test_an_interrupt_before_it_is_carried_costs_no_place(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(server, limits=Limits(max_http_requests=1)) as client:
        with interrupted(Executor, "wait_hook", monkeypatch):
            call(client)
        assert client.connection.table.empty
        assert call(client, timeout=WAIT) == "tools/call"
        eventually(lambda: at_rest(channel_of(client)))


@pytest.mark.race
def test_a_call_of_the_same_thread_in_between_loses_nothing(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a handler of a signal makes it, or a finalizer."""
    hook = Executor.wait_hook
    inner: List[str] = []

    def entered(self: Executor) -> Any:
        monkeypatch.setattr(Executor, "wait_hook", hook)
        inner.append(call(client, "inner", timeout=WAIT))
        return hook(self)

    with opened(server) as client:
        monkeypatch.setattr(Executor, "wait_hook", entered)
        assert call(client, "outer", timeout=WAIT) == "tools/call" and inner == ["tools/call"]
        eventually(lambda: at_rest(channel_of(client)))


@pytest.mark.race
def test_an_interrupt_just_after_it_was_sent_does_not_send_it_again(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = ConnectionPool.begin
    begun: List[Any] = []

    def interrupted(self: ConnectionPool, *arguments: Any) -> Any:
        begun.append(begin(self, *arguments))
        raise KeyboardInterrupt

    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        connection = client.connection
        withdraw, ran = connection._withdraw, threading.Event()
        run = HttpChannel._run_post

        def ran_post(self: HttpChannel, *arguments: Any) -> None:
            run(self, *arguments)
            ran.set()

        def withdrawn(*arguments: Any) -> bool:
            ran.wait(PATIENCE)  # the pool is quicker than this thread
            return withdraw(*arguments)

        monkeypatch.setattr(connection, "_withdraw", withdrawn)
        monkeypatch.setattr(HttpChannel, "_run_post", ran_post)
        with monkeypatch.context() as patch:
            patch.setattr(ConnectionPool, "begin", interrupted)
            with pytest.raises(KeyboardInterrupt):
                call(client, "once")
        gate.open()
        names = [request.message["params"]["name"] for request in server.seen("tools/call")]
        begun[0].link.sock.close()
        assert names.count("once") <= 1, names


@pytest.mark.race
def test_what_is_said_to_be_unsent_is_not_sent(server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, letting = Gate(), Gate()
    cancel, ids = CancelScope.cancel, []
    send_and_wait = StreamableHttp.send_and_wait

    def sent(self: StreamableHttp, message: Outgoing, *arguments: Any) -> bool:
        ids.append(message.id)
        taken.hold()
        return send_and_wait(self, message, *arguments)

    def let(self: CancelScope) -> None:
        letting.hold()
        cancel(self)

    with opened(server) as client, taken, letting:
        channel = channel_of(client)
        before = len(server.seen("tools/call"))
        monkeypatch.setattr(StreamableHttp, "send_and_wait", sent)
        waiting = in_thread(call, client)
        taken.entered()
        monkeypatch.setattr(CancelScope, "cancel", let)
        ending = in_thread(channel._end, "over")
        letting.entered()
        assert ids and channel.unsent(ids[0])
        taken.open()
        with pytest.raises(Exception):
            waiting.get()
        letting.open()
        ending.get()
        assert len(server.seen("tools/call")) == before


@pytest.mark.race
def test_what_was_sent_when_the_connection_ended_is_not_said_to_be_unsent(server: ScriptedHttp) -> None:
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        channel = channel_of(client)
        waiting = in_thread(call, client)
        gate.entered()
        id, = channel._posts
        channel._end("over")
        assert not channel.unsent(id) and channel.unsent(id + 1)
        with pytest.raises(ConnectionLost):
            waiting.get()


@pytest.mark.race
@pytest.mark.parametrize("quiet", [True, False], ids=["carried", "read"])
def test_what_was_answered_as_the_connection_ended_is_not_said_to_be_unsent(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    ids: List[Any] = []
    put = Inbox.put

    def slow(self: Inbox, *items: Any) -> Any:
        if ids:
            gate.hold()
        return put(self, *items)

    with opened(server) as client, Gate() as gate:
        channel = channel_of(client)
        monkeypatch.setattr(Inbox, "quiet", False)
        if not quiet:
            server.on["tools/call"] = lambda request: request.answer(said("x" * 70_000))
        monkeypatch.setattr(Inbox, "put", slow)
        run_post = channel._run_post
        monkeypatch.setattr(channel, "_run_post", lambda post, *rest: (ids.append(post.id), run_post(post, *rest))[1])
        waiting = in_thread(call, client)
        gate.entered()
        channel._end("over")
        assert not channel.unsent(ids[0])
        gate.open()
        with pytest.raises(Exception) as caught:
            waiting.get()
        assert not getattr(caught.value, "unsent", False)
