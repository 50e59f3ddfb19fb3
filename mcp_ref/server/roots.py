"""The roots of a client: the places where it lets a server work [.. client/roots §Listing Roots].

::

    @server.tool
    def read(path: str, ctx: Context) -> str:
        if not contains(ctx.list_roots(), path):
            raise ToolError("%s is outside of what you opened" % path)

The client does not enforce its roots: the server has to validate all paths against them
[.. client/roots §Security Considerations] SHOULD.

The list of a client that announces changes is cached until it does so; other clients are asked each time
[.. client/roots §Implementation Guidelines] SHOULD.
"""

import os
import threading
from typing import TYPE_CHECKING, Iterable, List, Optional, Union

from ..errors import LocalProtocolError, PeerProtocolError
from ..messages.roots import ListRootsRequestParams, Root
from ..methods import LIST_ROOTS
from ..peer.dispatcher import Connection
from ..protocol import uris as rules
from ..protocol.lifecycle import has

if TYPE_CHECKING:
    from .context import Context

_KEPT = "roots"
"""The key of `Connection.state` for the cached list, which `Server.on_notification_read` drops."""


class _CachedRoots:
    """The cached roots of one client. ``changes`` counts its announcements. The lock guards both together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._roots: Optional[List[Root]] = None
        self.changes = 0

    def get(self) -> Optional[List[Root]]:
        """Return a copy of the list; None if the client has to be asked."""
        with self._lock:
            return None if self._roots is None else list(self._roots)

    def keep(self, roots: List[Root], changes: int) -> None:
        """Cache the list that was requested after ``changes`` announcements, unless there was another one meanwhile."""
        with self._lock:
            if changes == self.changes:
                self._roots = list(roots)

    def drop(self) -> None:
        """Forget the list, as the client has announced a change [..2025-11-25 client/roots §Root List Changes]."""
        with self._lock:
            self._roots = None
            self.changes += 1


def _kept(connection: Connection) -> _CachedRoots:
    found: _CachedRoots = connection.state.setdefault(_KEPT, _CachedRoots())
    return found


def list_roots(ctx: "Context", key: Optional[str] = None) -> List[Root]:
    """Return the client's roots; [] if it has none at the moment. ``key`` names the question, see `Context`.

    Raises `CapabilityMissing` if the client did not declare roots [.. client/roots §Implementation Guidelines] SHOULD,
    and as `Context.ask`. A root must be a ``file://`` URI of this machine [.. client/roots §Root] MUST: another one is
    left out and counted, and raises `PeerProtocolError` if the server is strict.
    """
    if not ctx.session.rules.peer_requests:  # a stateless request may leave nothing for another one
        return _ask(ctx, key)
    connection = ctx.connection
    announced = has(ctx.session.peer_capabilities, "roots.listChanged")
    kept = _kept(connection)
    roots = kept.get() if announced else None
    if roots is None:
        changes = kept.changes
        roots = _ask(ctx, key)
        if announced:
            kept.keep(roots, changes)
    return roots


def _ask(ctx: "Context", key: Optional[str]) -> List[Root]:
    asked: List[Root] = ctx.ask(LIST_ROOTS, ListRootsRequestParams(), key=key, read=lambda got: _safe(ctx, got.roots))
    return asked


def _safe(ctx: "Context", roots: List[Root]) -> List[Root]:
    """Return the roots whose URI names one place of this machine; count the others."""
    kept = []
    for root in roots:
        try:
            rules.root_path(root.uri)
        except LocalProtocolError as error:
            if not ctx.session.lenient:
                raise PeerProtocolError("the answer to roots/list: %s" % error) from None
            ctx.connection.counters.note("unsafe root", str(error))
        else:
            kept.append(root)
    return kept


def contains(roots: Iterable[Root], target: "Union[str, os.PathLike[str]]", follow_links: bool = True) -> bool:
    """Return True if a path or ``file://`` URI lies in one of these roots.

    ``follow_links``: symbolic links are resolved, as far as this machine knows the path. A relative path
    lies in no root. The file system may change after this call.
    """
    path, links = os.fspath(target), os.path if follow_links else None
    return any(rules.contains(root.uri, path, links) for root in roots)
