"""Roots: the places where a client lets its servers work [.. client/roots §Listing Roots].

::

    roots = Roots(["/disk/user/project", Root("file:///srv/data", "Data")])
    client = Client(roots=roots)
    ...
    roots.add("/disk/user/other")      # every server that is connected is told

One `Roots` may serve any number of clients. The program decides which places to expose, and asks the user, before
it gives them here [.. client/roots §Implementation Guidelines] SHOULD; URIs are checked
[.. client/roots §Security Considerations] MUST, see `mcp_ref.protocol.uris`.

With ``watch`` the folders themselves are looked at every so many seconds: one that vanished or may not be read any more
is left out, which is announced, and so is its return [.. client/roots §Security Considerations] MUST.
"""

import os
import re
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Set, Union

from ..codec import encode
from ..messages.lifecycle import RootsCapability
from ..messages.roots import ListRootsRequestParams, ListRootsResult, Root
from ..methods import ROOTS_CHANGED
from ..options import strict_options
from ..peer.context import Context, Route, params_reader
from ..protocol import lifecycle, uris as rules
from ..revisions import Revision
from ..threads import start_thread

if TYPE_CHECKING:
    from .client import Client

Place = Union[str, "os.PathLike[str]", Root]
"""A path, which is made absolute; a ``file://`` URI; or a `Root`, which has a name, too."""

_URI = re.compile(r"file:|[a-z][a-z0-9+.-]+://", re.IGNORECASE)
"""The beginning of a URI, also of one that may not be a root; anything else is a path."""
_LISTED = "roots listed"
"""The key in `Connection.state` of the number of the list that this server was told."""
_PLACES = "a path, a file: URI, a Root or a list of these"


class Roots:
    """A list of roots that may change, and the servers that are told so. Thread-safe.

    ``list_changed``: True if changes are announced, which is declared to the servers. ``watch``: seconds between two
    looks at the folders; None: they are not looked at. Raises `LocalProtocolError` for a URI that may not be a root,
    and ValueError for a path that has no URI.
    """

    notifications: Dict[str, Callable[..., None]] = {}

    @strict_options
    def __init__(
        self, roots: Union[Place, Iterable[Place]] = (), *, list_changed: bool = True, watch: Optional[float] = None
    ) -> None:
        self._changing = threading.Lock()
        """A lock that is held while the list is made anew, which may wait for a disk; taken before `_lock`, which
        guards what follows and is held for moments only."""
        self._lock = threading.Lock()
        self._roots: List[Root] = []
        self._gone: Set[str] = set()
        self._number = 0
        self._announces = list_changed
        self._watch = watch
        self._clients: List["Client"] = []
        self._stop: Optional[threading.Event] = None
        self.set(roots)

    # The list

    def set(self, roots: Union[Place, Iterable[Place]]) -> None:
        """Replace the roots; raises what the constructor raises, and then nothing has changed."""
        if isinstance(roots, (str, os.PathLike, Root)):
            roots = [roots]
        if not isinstance(roots, Iterable):
            raise TypeError("roots: give %s, not %s; Roots.set replaces them later" % (
                _PLACES, "a function" if callable(roots) else type(roots).__name__))
        made = _distinct(_root_of(place) for place in roots)
        self._change(lambda now: made)

    def add(self, root: Place) -> None:
        """Add a root; it takes the place of one with the same URI."""
        made = _root_of(root)
        self._change(lambda now: _distinct(now + [made]))

    def remove(self, root: Place) -> None:
        """Remove a root. Raises KeyError if there is none with this URI."""
        uri = _root_of(root).uri

        def without(now: List[Root]) -> List[Root]:
            if all(known.uri != uri for known in now):
                raise KeyError(uri)
            return [known for known in now if known.uri != uri]

        self._change(without)

    def listed(self) -> List[Root]:
        """Return the roots that servers are told: all but those that could not be read at the last look."""
        with self._lock:
            return self._visible()

    def contains(self, path: "Union[str, os.PathLike[str]]") -> bool:
        """True if a path or ``file://`` URI lies in one of the listed roots, once symbolic links are followed.

        A relative path lies in none. The answer is about the file system as it is now; it may change afterwards.
        """
        target = os.fspath(path)
        return any(rules.contains(root.uri, target, os.path) for root in self.listed())

    def check(self) -> bool:
        """Look at the folders now, as ``watch`` does again and again. True if the list for servers has changed."""
        return self._change(lambda now: now, look=True)

    def _change(self, change: Callable[[List[Root]], List[Root]], look: bool = False) -> bool:
        """Replace the list by what ``change`` makes of it, and tell the servers if it is another one for them."""
        with self._changing:
            roots = change(list(self._roots))
            if look or self._watch is not None:
                gone = {root.uri for root in roots if not _readable(root.uri)}
            else:
                gone = self._gone & {root.uri for root in self._roots} & {root.uri for root in roots}
            with self._lock:
                before = self._visible()
                self._roots, self._gone = roots, gone
                changed = self._visible() != before
                self._number += changed
        if changed:
            self._announce()
        return changed

    def _visible(self) -> List[Root]:
        return [root for root in self._roots if root.uri not in self._gone]

    # Answering (see `Client`)

    def capability(self) -> RootsCapability:
        """Return the capability that is declared [.. client/roots §Capabilities] MUST."""
        return RootsCapability(list_changed=True if self._announces else None)

    def route(self, client: "Client", revision: Revision) -> Route:
        """Return how `roots/list` is answered; by -32603 if the list cannot be told
        [..2025-11-25 client/roots §Error Handling] SHOULD."""
        read = params_reader(ListRootsRequestParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            read(params, context)
            with self._lock:
                roots, context.connection.state[_LISTED] = self._visible(), self._number
            return encode(ListRootsResult(roots), revision)

        return Route(answer)

    # Announcing

    def attach(self, client: "Client") -> None:
        """Tell the server of this client of changes from now on, at once if it knows an old list.

        Its connection is operating.
        """
        with self._lock:
            self._clients.append(client)
            known = client.connection.state.get(_LISTED, self._number)
            old = bool(known != self._number)
            if self._watch is not None and self._stop is None:
                self._stop = threading.Event()
                start_thread("mcp-ref:roots", self._look, self._watch, self._stop)
        if old:
            self._tell(client)

    def detach(self, client: "Client") -> None:
        """Tell the server of this client nothing more: its connection has ended. The last one ends the watching."""
        with self._lock:
            if client in self._clients:
                self._clients.remove(client)
            if not self._clients and self._stop is not None:
                self._stop.set()
                self._stop = None

    def close(self) -> None:
        """Announce nothing more, and end the watching."""
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            self.detach(client)

    def _look(self, seconds: float, stop: threading.Event) -> None:
        while not stop.wait(seconds):
            self.check()

    def _announce(self) -> None:
        """Tell all servers that the list has changed [..2025-11-25 client/roots §Root List Changes] MUST."""
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            self._tell(client)

    def _tell(self, client: "Client") -> None:
        connection = client.connection
        session = connection.session
        if self._announces and session.phase == lifecycle.OPERATING and session.lookup(ROOTS_CHANGED) is not None:
            connection.notify(ROOTS_CHANGED)


def _root_of(place: Place) -> Root:
    """Return the root of a path, a URI or a root, checked [.. client/roots §Security Considerations] MUST."""
    if isinstance(place, Root):
        root = place
    else:
        if not isinstance(place, (str, os.PathLike)):
            raise TypeError("roots: give %s, not a list with %s" % (_PLACES, type(place).__name__))
        path = os.fspath(place)
        root = Root(path if _URI.match(path) else _uri_of(path))
    rules.check_root_uri(root.uri)
    return root


def _uri_of(path: str) -> str:
    try:
        return rules.root_uri(path)  # also of a path of another kind of machine
    except ValueError:
        return rules.root_uri(os.path.abspath(path))


def _distinct(roots: Iterable[Root]) -> List[Root]:
    """Return one root for each URI: the last one."""
    return list({root.uri: root for root in roots}.values())


def _readable(uri: str) -> bool:
    try:
        return os.access(rules.root_path(uri), os.R_OK)
    except (OSError, ValueError):
        return False
