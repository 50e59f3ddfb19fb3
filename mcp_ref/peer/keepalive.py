"""Keep-alive: a ping from time to time, so that a peer that hangs is noticed before it is needed.

It is off unless a client or server is given an interval: ``Server("demo", keepalive=30.0)``. A peer that ends
is noticed without pings, and each ping costs the other side something. The frequency is the user's choice
[..2025-11-25 basic/utilities/ping §Implementation Considerations] SHOULD.

A ping that has no answer after one more interval ends the connection, and a log record says why; waiting callers
get `ConnectionLost` with that reason [..2025-11-25 basic/utilities/ping §Error Handling] SHOULD. An error is an
answer, too: the peer is there.
"""

from typing import TYPE_CHECKING

from ..diagnostics.packagelog import get_logger
from ..errors import McpError, PeerError, RequestTimeout
from ..methods import PING
from ..threads import start_thread

if TYPE_CHECKING:
    from .dispatcher import Connection


def keep_alive(connection: "Connection", interval: float) -> None:
    """Ping the peer every ``interval`` seconds, on a thread of its own, until the connection ends."""
    start_thread("mcp-ref:keepalive:%s" % connection.transport.name, _ping, connection, interval)


def _ping(connection: "Connection", interval: float) -> None:
    while not connection.wait_closed(interval):
        try:
            connection.request(PING, timeout=interval)
        except PeerError:
            continue
        except RequestTimeout:
            reason = "the peer did not answer a ping within %g seconds" % interval
            get_logger(__name__).warning("%s: %s", connection.transport.name, reason)
            connection.counters.add("failed ping")
            connection.close(reason)
            return
        except McpError:
            return  # the connection has ended
