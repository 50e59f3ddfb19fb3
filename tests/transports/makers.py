"""Two connected ends of every kind of transport, and the waiting that the tests of this folder have in common."""
import contextlib
import importlib.util
import os
import pathlib
import queue
import socket
import sys
import tempfile
import threading
import time
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from mcp_ref.limits import Limits
from mcp_ref.transports.base import Received, Transport, why_ended
from mcp_ref.transports.lines.child import StdioChild
from mcp_ref.transports.lines.listener import SocketListener
from mcp_ref.transports.lines.sockets import connect_socket
from mcp_ref.transports.lines.stdio import StdioServer
from mcp_ref.transports.memory import pair
from tests.support.faults import ByteByByte
from tests.support.patience import WAIT

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHILDREN = pathlib.Path(__file__).resolve().parent / "children"
QUICK = {"shutdown_grace": 0.1, "terminate_grace": 0.1}

Ends = Tuple[Transport, Transport]


# --- Children ---------------------------------------------------------------------------------------------------------

def script(name: str, *arguments: str) -> List[str]:
    """The command line of a script of the folder `children`."""
    return [sys.executable, str(CHILDREN / name), *arguments]


def environment(**more: str) -> Dict[str, str]:
    """What such a script needs to find the package."""
    return dict(PYTHONPATH=str(ROOT), **more)


def child(name: str, *arguments: str, **options: Any) -> StdioChild:
    """A client's transport to such a script, not yet opened."""
    return StdioChild(script(name, *arguments), env=environment(**options.pop("env", {})), **options)


@contextlib.contextmanager
def opened(transport: Any) -> Iterator[Any]:
    """The transport, open, and closed at the end."""
    transport.open()
    try:
        yield transport
    finally:
        transport.close()


# --- Pairs ------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def _memory(limits: Limits) -> Iterator[Ends]:
    yield pair(limits)


@contextlib.contextmanager
def _byte_by_byte(limits: Limits) -> Iterator[Ends]:
    near, far = pair()
    yield ByteByByte(near, limits.max_message_bytes), ByteByByte(far, limits.max_message_bytes)


@contextlib.contextmanager
def _pipes(limits: Limits) -> Iterator[Ends]:
    (there_out, there_in), (back_out, back_in) = os.pipe(), os.pipe()
    yield (StdioServer(limits, descriptors=(back_out, there_in)), StdioServer(limits, descriptors=(there_out, back_in)))


@contextlib.contextmanager
def _sockets(address: str, limits: Limits) -> Iterator[Ends]:
    accepted: "queue.Queue[Transport]" = queue.Queue()
    listener = SocketListener(address, accepted.put, limits)
    listener.open()
    try:
        near = connect_socket(listener.address, limits)
        near.open()
        yield Opened(near), accepted.get(timeout=WAIT)
    finally:
        listener.close()


@contextlib.contextmanager
def _tcp(limits: Limits) -> Iterator[Ends]:
    with _sockets("tcp://127.0.0.1:0", limits) as ends:
        yield ends


@contextlib.contextmanager
def _unix(limits: Limits) -> Iterator[Ends]:
    with tempfile.TemporaryDirectory() as folder, _sockets("unix://%s/it" % folder, limits) as ends:
        yield ends


@contextlib.contextmanager
def _child(limits: Limits) -> Iterator[Ends]:
    """A real child process: what it hears it passes on to a socket, whose other end is here."""
    accepted: "queue.Queue[Transport]" = queue.Queue()
    with tempfile.TemporaryDirectory() as folder:
        listener = SocketListener("unix://%s/it" % folder, accepted.put, limits)
        listener.open()
        near = child("relay.py", listener.address, limits=limits)
        try:
            near.open()
            yield Opened(near), accepted.get(timeout=WAIT)
        finally:
            near.close()
            listener.close()


def custom_transport() -> Any:
    """The class of the example."""
    spec = importlib.util.spec_from_file_location("custom_transport", str(ROOT / "examples" / "10_custom_transport.py"))
    if spec is None or spec.loader is None:
        raise AssertionError("the example is missing")
    module: Any = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    sys.path.insert(0, str(ROOT / "examples"))  # where it finds what the chapters of the course share
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module.LengthPrefixed


@contextlib.contextmanager
def _custom(limits: Limits) -> Iterator[Ends]:
    made = custom_transport()
    near, far = socket.socketpair()
    yield made(near, limits), made(far, limits)


def Opened(transport: Transport) -> Transport:
    """A transport whose `open` has been called already; the contract calls it again."""
    transport.open = lambda: None  # type: ignore[method-assign]
    return transport


MAKERS: Dict[str, Callable[[Limits], ContextManager[Ends]]] = {
    "memory": _memory, "byte by byte": _byte_by_byte, "pipes": _pipes, "tcp": _tcp, "unix": _unix, "child": _child,
    "custom": _custom,
}
LINE_FRAMED = ("pipes", "tcp", "unix", "child")


# --- Waiting ----------------------------------------------------------------------------------------------------------

class Running(threading.Thread):
    """A function on a thread; `result` waits for it and hands over what it returned or raised."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        super().__init__(daemon=True)
        self._function = function
        self._arguments = arguments
        self._outcome: Any = None
        self._error: Optional[BaseException] = None
        self.start()

    def run(self) -> None:
        try:
            self._outcome = self._function(*self._arguments)
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        self.join(WAIT)
        if self.is_alive():
            raise AssertionError("still running")
        if self._error is not None:
            raise self._error
        return self._outcome


def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition that no event tells of; bounded."""
    end = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come true")
        time.sleep(0.001)


def collect(transport: Transport, count: Union[int, float] = float("inf")) -> List[Received]:
    """The next so many items (or all to the end). With a number, fails where the connection ends before."""
    items: List[Received] = []
    while len(items) < count:
        more = transport.read()
        if more is None:
            if count != float("inf"):
                raise AssertionError("ended after %d items: %s" % (len(items), why_ended(transport)))
            break
        items += more
    return items


def ready(transport: Transport, size: int) -> bool:
    """True if a write would not wait, as far as the transport can say that."""
    own = getattr(transport, "ready", None)
    return own is not None and bool(own(size))


def write_now(transport: Transport, messages: Sequence[bytes]) -> bool:
    """Write if that needs no waiting, as the outbox does it; False if nothing was sent."""
    own = getattr(transport, "write_now", None)
    if own is not None:
        return bool(own(messages))
    if not ready(transport, sum(map(len, messages)) + len(messages)):
        return False
    transport.write(messages)
    return True
