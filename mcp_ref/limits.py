"""Every size, depth and count limit, in one place, each with its reason.

A limit that is reached always says its name: ``message of 70000000 bytes exceeds max_message_bytes
(67108864)``. Make another `Limits` to change some: ``Server("demo", limits=Limits(max_workers=8))``.
"""

from dataclasses import dataclass

from .records import Record


@dataclass(eq=False, repr=False)
class Limits(Record):
    """Limits of one client, server or host. Sizes are bytes, times are seconds. Not to be changed once in use."""

    # Messages
    max_message_bytes: int = 64 * 1024 * 1024 + 64 * 1024
    """One message on the wire, counted the same however its bytes are split. 64 MiB of payload and its frame."""
    max_depth: int = 128
    """Nested arrays and objects in one message. Real messages stay under 20; `json` itself gives up near 1,000."""
    max_nodes: int = 2_000_000
    """Values in one message, estimated by its commas and brackets before parsing: 15 MB of ``{},`` cost 390 MB."""
    max_number_digits: int = 4300
    """Digits of one integer. Parsing is quadratic; newer interpreters refuse more than this by themselves."""
    max_batch: int = 1000
    """Messages in one batch [2025-03-26 basic/index §Batching]."""
    max_pages: int = 10_000
    """Pages of one list that a client asks for; a server whose list never ends is an error."""
    max_id_length: int = 1024
    """Characters of a string request id; ids are kept in tables and logs."""

    # Work
    max_workers: int = 128
    """Threads that run handlers, for each connection; more work waits in the queue."""
    max_inflight: int = 1024
    """Requests of one peer that are running or queued; the next one is refused with an error."""
    max_pending: int = 65536
    """Our own requests that wait for an answer; the next one raises `Busy`."""
    max_outbox_bytes: int = 256 * 1024 * 1024
    """Bytes waiting to be written to a peer that does not read; a handler that sends more waits."""
    promote_after: float = 0.001
    """While work is queued and no handler has finished for this long, more workers wake up."""

    # Times
    request_timeout: float = 60.0
    """Idle time after which our request is given up and cancelled; None in a call: no idle limit."""
    request_ceiling: float = 3600.0
    """Longest life of a request, which progress cannot extend."""
    initialize_timeout: float = 30.0
    """The handshake, which cannot be cancelled."""
    drain: float = 0.5
    """How long handlers may go on by themselves after the peer has gone; each that ends gives the others as long
    again, up to ``shutdown_grace``. Then they are cancelled."""
    shutdown_grace: float = 2.0
    """How long running handlers may go on after the connection ended, and a child after its stdin closed."""
    terminate_grace: float = 2.0
    """How long a child may take to end after SIGTERM, before SIGKILL."""

    # Connections
    max_connections: int = 256
    """Open socket connections; the next one is closed with a log line."""
    max_progress_per_second: float = 100.0
    """Progress notifications of one request, in the long run; the last one always goes out."""
    max_progress_burst: int = 50
    """Progress notifications of one request that may come faster than that."""
    stderr_tail_bytes: int = 64 * 1024
    """How much of a child's stderr is kept for error messages."""


DEFAULT = Limits()
