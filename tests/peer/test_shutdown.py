"""How a connection ends: who is freed, what is still delivered, and that nothing is left behind."""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

from mcp_ref.client import RequestFuture
from mcp_ref.errors import ConnectionLost, LocalProtocolError, RequestCancelled
from mcp_ref.limits import Limits
from mcp_ref.peer.role import Role
from mcp_ref.server import Connection, Inline, MainThreadQueue
from mcp_ref.transports.base import Transport
from mcp_ref.transports.lines.stdio import StdioServer
from mcp_ref.transports.memory import pair
from tests.support.faults import Wrapper
from tests.support.patience import WAIT
from tests.support.scripted import ScriptedPeer
from tests.support.sides import (
    HANDSHAKE, ROLES, AskedClient, Both, Gate, Side, eventually, in_thread, said, working_server,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK = Limits(drain=0.02, shutdown_grace=0.05)
in_both_roles = pytest.mark.parametrize("role", ROLES)


def library_threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mcp-ref:")]


# --- close ------------------------------------------------------------------------------------------------------------

@in_both_roles
def test_closing_again_does_nothing(role):
    with Side(role) as side:
        for _ in range(3):
            side.connection.close()
        assert side.connection.wait_closed(WAIT) and side.connection.closed
        side.connection.close()
        assert side.peer.ended()


def test_a_client_may_be_closed_before_it_is_open_and_opened_after_that():
    client = AskedClient({})
    client.close()
    client.close()
    with pytest.raises(LocalProtocolError, match="not connected"):
        client.ping()
    near, far = pair()
    serving = working_server({"w": lambda ctx: "w"}).connect(far)
    with client.open(near):
        assert client.call_tool("work", {"do": "w"}).content[0].text == "w"
    client.close()
    assert serving.wait_closed(WAIT)
    with pytest.raises(ConnectionLost, match="closed by this side"):
        client.ping()


def test_a_connection_may_be_closed_before_it_has_started():
    near, far = pair()
    connection = working_server({}).connection(near)
    connection.close()
    connection.start()
    assert connection.wait_closed(WAIT)
    assert far.read() is None


@pytest.mark.race
@in_both_roles
def test_many_threads_may_close_at_once(role):
    with Side(role) as side:
        start = threading.Barrier(8)

        def close():
            start.wait(WAIT)
            (side.client or side.connection).close()

        closers = [in_thread(close) for _ in range(8)]
        for closer in closers:
            closer.get()
        assert side.connection.wait_closed(WAIT)


@pytest.mark.race
@in_both_roles
def test_closing_frees_callers_and_futures_with_the_reason(role):
    with Side(role) as side:
        callers = [in_thread(side.connection.request, "ping") for _ in range(5)]
        futures = [RequestFuture(side.connection, dict).send("ping", None) for _ in range(5)]
        for _ in range(10):
            side.peer.receive()
        side.connection.close()
        for caller in callers:
            with pytest.raises(ConnectionLost, match="closed by this side"):
                caller.get()
        for future in futures:
            with pytest.raises(ConnectionLost, match="closed by this side"):
                future.result(WAIT)
        with pytest.raises(ConnectionLost):
            side.connection.request("ping")
        side.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})  # goes nowhere


@pytest.mark.race
@pytest.mark.parametrize("era, first", [("legacy", "initialize"), ("modern", "server/discover"),
                                        ("auto", "server/discover")])
def test_closing_during_the_opening_frees_the_one_who_opens(era, first):
    near, far = pair()
    peer, client = ScriptedPeer(far), AskedClient({}, era=era)
    opening = in_thread(client.open, near)
    assert peer.receive()["method"] == first
    client.close()
    with pytest.raises(ConnectionLost, match=first + " .*closed by this side"):
        opening.get()
    assert peer.ended()
    peer.close()


@pytest.mark.race
@pytest.mark.parametrize("executor", [None, Inline, MainThreadQueue])
@in_both_roles
def test_a_handler_may_close_its_own_connection_and_does_not_wait_for_itself(role, executor):
    closed = threading.Event()
    queue = executor() if executor else None

    def closes(ctx):
        owner = side.client or ctx.connection
        owner.close()
        ctx.connection.wait_closed(WAIT)
        closed.set()

    with Side(role, handlers={"closes": closes}, executor=queue, limits=Limits(shutdown_grace=2 * WAIT)) as side:
        side.ask(1, "closes")
        if executor is MainThreadQueue:
            assert queue.wait(WAIT) and queue.pump() == 1
        assert closed.wait(WAIT), "it waited for itself"
        assert side.connection.wait_closed(WAIT) and side.peer.ended()
    if executor is MainThreadQueue:
        queue.close()


@pytest.mark.race
@pytest.mark.parametrize("executor", [None, Inline])
def test_callbacks_may_close_the_client(executor):
    closed = threading.Semaphore(0)

    def close(*ignored):
        side.client.close()
        closed.release()

    for trigger in ("notification", "done", "progress"):
        options = {"limits": Limits(shutdown_grace=2 * WAIT), "executor": executor() if executor else None}
        with Side("client", on_notification=close, **options) as side:
            future = side.client.submit_tool("x", progress=close if trigger == "progress" else None)
            asked = side.peer.receive()
            if trigger == "notification":
                side.peer.notify("notifications/message", {"level": "info", "data": 1})
            elif trigger == "done":
                future.add_done_callback(close)
                side.peer.respond(asked["id"], {"content": []})
            else:
                token = asked["params"]["_meta"]["progressToken"]
                side.peer.notify("notifications/progress", {"progressToken": token, "progress": 1})
            assert closed.acquire(timeout=WAIT), trigger
            assert side.connection.wait_closed(WAIT)


@in_both_roles
def test_leaving_with_an_exception_closes_and_does_not_hide_it(role):
    class Mine(Exception):
        pass

    near, far = pair()
    serving = working_server({}).connect(far)
    with pytest.raises(Mine), AskedClient({}).open(near):
        raise Mine
    assert serving.wait_closed(WAIT)


# --- The peer leaves --------------------------------------------------------------------------------------------------

@pytest.mark.race
@in_both_roles
def test_the_end_of_the_stream_frees_everybody(role):
    freed = {}

    def asks(ctx):
        try:
            asking.open()
            ctx.call("ping")
        except ConnectionLost as error:
            freed["asks"] = str(error)

    def waits(ctx):
        waiting.open()
        if ctx.cancelled.wait(WAIT):
            freed["waits"] = ctx.incoming.reason

    with Gate() as asking, Gate() as waiting, Side(role, handlers={"asks": asks, "waits": waits}, limits=QUICK) as side:
        side.ask(1, "asks")
        side.ask(2, "waits")
        caller = in_thread(side.connection.request, "ping")
        future = RequestFuture(side.connection, dict).send("ping", None)
        asking.hold()
        waiting.hold()
        for _ in range(3):
            assert side.peer.receive()["method"] == "ping"
        side.peer.transport.close()
        assert side.connection.wait_closed(WAIT)
        for get in (caller.get, lambda: future.result(WAIT)):
            with pytest.raises(ConnectionLost, match="the peer closed the connection"):
                get()
        assert "the peer closed the connection" in freed["asks"] and freed["waits"] == "the connection ended"
        assert len(side.connection.inflight) == len(side.connection.table) == 0


class Pipes(Transport):
    """A client's end of two pipes, each of which it can close by itself, as a client does on stdio."""

    name = "pipes"

    def __init__(self, reading, writing):
        self._reading, self._writing, self._rest = reading, writing, b""
        self.deaf = threading.Event()
        self.hears_again = threading.Event()

    def read(self):
        if self.deaf.is_set():
            assert self.hears_again.wait(WAIT)
        lines = []
        while not lines:
            data = os.read(self._reading, 65536)
            if not data:
                os.close(self._reading)
                return None
            *lines, self._rest = (self._rest + data).split(b"\n")
        return lines

    def write(self, messages):
        os.write(self._writing, b"".join(message + b"\n" for message in messages))

    def close_writing(self):
        if self._writing is not None:
            os.close(self._writing)
        self._writing = None

    close = close_writing


class HalfOpen:
    """A server of ours on pipes, with a scripted client that can end its input and still listen."""

    def __init__(self, handlers, limits, revision="2025-11-25"):
        (there_out, there_in), (back_out, back_in) = os.pipe(), os.pipe()
        server = working_server(handlers, limits=limits)
        self.connection = server.connect(StdioServer(limits, descriptors=(there_out, back_in)))
        self.peer = ScriptedPeer(Pipes(back_out, there_in))
        self.peer.handshake(revision)
        self.peer.barrier("ready")

    def call(self, id, do):
        self.peer.request(id, "tools/call", {"name": "work", "arguments": {"do": do}})

    def end_of_input(self):
        self.peer.transport.close_writing()
        eventually(lambda: self.connection._reason)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.peer.close()
        assert self.connection.wait_closed(WAIT)


@pytest.mark.race
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_at_the_end_of_the_input_quick_answers_are_delivered_and_stuck_handlers_cancelled(revision, monkeypatch):
    events = []

    def stuck(ctx):
        begun.open()
        events.append("stuck")
        if ctx.cancelled.wait(WAIT):
            events.append("cancelled")
        return "nobody wants it"

    def soon(ctx):
        gate.hold()
        return "soon"

    handlers = {"stuck": stuck, "soon": soon, "now": lambda ctx: "now"}
    with Gate() as begun, Gate() as gate, HalfOpen(handlers, Limits(), revision) as half:
        def a_while(seconds):
            """Stands for ``drain`` seconds."""
            eventually(lambda: len(half.connection.inflight) <= 1)
            return not len(half.connection.inflight)

        monkeypatch.setattr(half.connection.inflight, "wait_empty", a_while)
        half.call(1, "stuck")
        begun.hold()
        half.call(2, "soon")
        half.call(3, "now")
        gate.entered()
        half.end_of_input()
        gate.open()
        assert {said(half.peer.receive()) for _ in range(2)} == {"soon", "now"}
        assert half.connection.wait_closed(WAIT)
        eventually(lambda: events == ["stuck", "cancelled"])
        with pytest.raises(ConnectionLost):
            half.peer.receive()


@pytest.mark.race
def test_handlers_that_end_one_by_one_after_the_end_of_the_input_all_get_their_time(monkeypatch):
    gates = [Gate() for _ in range(5)]
    handlers = {str(n): gate.hold for n, gate in enumerate(gates)}
    with HalfOpen(handlers, Limits(drain=WAIT, shutdown_grace=WAIT)) as half:
        inflight, opened = half.connection.inflight, iter(gates)

        def one_ends(timeout):
            """Stands for a wait of ``drain`` seconds in which one more handler ends."""
            before = len(inflight)
            for gate in opened:
                gate.open()
                eventually(lambda: len(inflight) < before)
                break
            return not len(inflight)

        for n in range(5):
            half.call(n, str(n))
            gates[n].entered()
        monkeypatch.setattr(inflight, "wait_empty", one_ends)
        half.end_of_input()
        assert [half.peer.receive()["id"] for _ in range(5)] == [0, 1, 2, 3, 4]
        assert half.connection.wait_closed(WAIT)


@pytest.mark.race
def test_the_last_answer_is_delivered_though_another_thread_is_writing_as_the_end_comes(monkeypatch):
    with Gate() as gate, HalfOpen({"w": lambda ctx: "w"}, Limits(drain=WAIT, shutdown_grace=WAIT)) as half:
        write = half.connection.transport.write

        def slowly(messages):
            gate.hold()
            write(messages)

        monkeypatch.setattr(half.connection.transport, "write", slowly)
        half.call(1, "w")
        gate.entered()  # the first answer is being written ...
        half.call(2, "w")
        eventually(lambda: not len(half.connection.inflight))  # ... and the second one waits behind it
        half.end_of_input()
        assert not half.connection.wait_closed(0.03), "it waits for the writing"
        gate.open()
        assert [half.peer.receive()["id"] for _ in range(2)] == [1, 2]
        assert half.connection.wait_closed(WAIT)


@pytest.mark.race
def test_a_client_that_ends_its_input_and_does_not_listen_either_does_not_keep_the_server():
    with HalfOpen({"big": lambda ctx: "x" * 3_000_000}, QUICK) as half:
        half.peer.transport.deaf.set()
        half.peer.request("last heard", "ping")
        half.peer.receive()
        half.call(1, "big")
        half.call(2, "big")
        eventually(lambda: not len(half.connection.inflight) and half.connection.outbox._writing.locked())
        half.end_of_input()
        assert half.connection.wait_closed(5)
        half.peer.transport.hears_again.set()


@pytest.mark.race
def test_a_handler_that_never_ends_delays_the_end_only_by_the_grace():
    with Gate() as gate, Side("server", handlers={"stuck": gate.hold}, limits=QUICK) as side:
        side.ask(1, "stuck")
        gate.entered()
        start = time.monotonic()
        side.peer.transport.close()
        assert side.connection.wait_closed(WAIT)
        assert time.monotonic() - start < 5 and len(side.connection.inflight) == 1
        gate.open()
        eventually(lambda: not len(side.connection.inflight))


@in_both_roles
def test_the_role_hears_of_the_end_once_with_its_reason(role):
    heard = []

    class Listening(Role):
        party = "server"

        def on_closed(self, connection, reason):
            heard.append(reason)

    near, far = pair()
    connection = Connection(near, Listening(), QUICK).start()
    if role == "server":
        far.close()
        expected = "the peer closed the connection"
    else:
        connection.close()
        expected = "the connection was closed by this side"
    assert connection.wait_closed(WAIT)
    eventually(lambda: heard == [expected])


@pytest.mark.race
@in_both_roles
def test_a_peer_that_leaves_while_we_write_ends_the_connection(role):
    with Side(role, handlers={"big": lambda ctx: "x" * 3_000_000}, limits=QUICK) as side:
        for id in range(4):
            side.ask(id, "big")
        side.peer.transport.close()
        assert side.connection.wait_closed(WAIT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_transport_that_breaks_its_promises_costs_the_connection_and_nobody_hangs():
    class Broken(Wrapper):
        def read(self):
            if b"bomb" in (self.inner.read() or [b""])[-1]:
                raise RuntimeError("this may not happen")
            return []

    near, far = pair()
    connection = working_server({}).connect(Broken(near))
    connection.session.phase = "operating"
    waiting = in_thread(connection.request, "ping")
    assert far.read()
    far.write([b"bomb"])
    with pytest.raises(ConnectionLost):
        waiting.get()
    assert connection.wait_closed(WAIT)


@pytest.mark.race
def test_no_thread_is_left_after_many_connections():
    before = library_threads()
    for _ in range(30):
        with Both({"w": lambda ctx: "w"}) as both:
            assert both.submit("w").result(WAIT).content[0].text == "w"
            assert both.work("w") == "w"
    eventually(lambda: library_threads() == before)


@pytest.mark.race
def test_a_cancelled_wait_in_a_handler_is_not_confused_with_the_end():
    seen = []

    def asks(ctx):
        try:
            ctx.call("ping")
        except (RequestCancelled, ConnectionLost) as error:
            seen.append(type(error))
            raise

    with Side("server", handlers={"asks": asks}, limits=QUICK) as side:
        for id in range(2):
            side.ask(id, "asks")
            side.peer.receive(lambda m: m.get("method") == "ping")
            if id:
                side.peer.transport.close()
            else:
                side.cancel(id)
            eventually(lambda: len(seen) == id + 1)
        assert seen == [RequestCancelled, ConnectionLost]


# --- A real process ---------------------------------------------------------------------------------------------------

CHILD = '''
import ctypes, sys, threading, time
from mcp_ref import Context, Limits, Server
server = Server("stuck", limits=Limits(drain=0.05, shutdown_grace=0.1))

def begun():
    print("begun", file=sys.stderr, flush=True)

@server.tool
def event() -> str:
    begun()
    threading.Event().wait()

@server.tool
def stubborn() -> str:
    begun()
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

@server.tool
def in_c() -> str:
    begun()
    ctypes.CDLL(None).sleep(60)

@server.tool
def thread_of_its_own() -> str:
    threading.Thread(target=time.sleep, args=(60,), daemon=False).start()
    begun()
    threading.Event().wait()

@server.tool
def asks(ctx: Context) -> str:
    begun()
    ctx.call("ping")
    return "answered"

@server.tool
def quick() -> str:
    return "quick"

import atexit
atexit.register(lambda: print("at exit", file=sys.stderr, flush=True))
server.run()
'''
OPENING = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"x","version":"0"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)


def calling(id, tool):
    return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"}}\n' % (id, tool.encode())


def up_to_quick(stdout):
    """What a process says, to the answer of the tool that is quick."""
    lines = [stdout.readline()]
    while lines[-1] and b'"text":"quick"' not in lines[-1]:
        lines.append(stdout.readline())
    return b"".join(lines)


def test_a_server_process_ends_with_its_client_though_a_handler_is_stuck():
    children = {}
    for tool in ("event", "stubborn", "in_c", "thread_of_its_own", "asks"):
        child = children[tool] = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, cwd=str(ROOT),
                                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdin.write(OPENING + calling(1, tool) + calling(2, "quick"))
        child.stdin.flush()
    ended, answered = {}, {}
    for tool, child in children.items():
        assert child.stderr.readline() == b"begun\n"
        answered[tool] = up_to_quick(child.stdout)
        ended[tool] = in_thread(child.communicate, timeout=WAIT)  # closes its input
    for tool, child in children.items():
        output, errors = ended[tool].get()
        output = answered[tool] + output
        assert child.returncode == 0, tool
        answers = {json.loads(line)["id"]: line for line in output.splitlines()}
        assert b'"text":"quick"' in answers[2] and set(answers) == ({0, 1, 2} if tool == "asks" else {0, 2}), tool
        assert (b"at exit" in errors) == (tool == "asks"), "only a process that is stuck leaves in a hurry"


@pytest.mark.parametrize("requests", [0, 1, 300])
def test_a_server_process_that_is_told_everything_at_once_answers_everything_before_it_ends(requests):
    """printf '...' | server: the input is at its end before the first answer is out."""
    data = OPENING + b"".join(calling(id, "quick") for id in range(1, requests + 1))
    code = CHILD.replace("drain=0.05", "drain=%g" % WAIT)
    done = subprocess.run([sys.executable, "-c", code], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=str(ROOT), timeout=WAIT)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == requests + 1
    assert done.stderr == b"at exit\n"
