"""The stream on which a server tells of one task while somebody waits for it.

It is a stream of its own, beside the one of `Client.listen`: nobody waits until it is agreed to, and none of the others
has to be opened again for it. See `mcp_ref.client.tasks.stateless` for what it is worth.
"""

from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple

from ...errors import INTERNAL_ERROR, HttpStatus, McpError
from ...jsonrpc import Error
from ...peer.dispatcher import Connection
from ...peer.request_table import Pending, Progress
from ...threads import Tally
from ...transports.base import EXCHANGES
from ..subscriptions import ChangeFilter, SubscriptionStream

if TYPE_CHECKING:
    from ..client import Client

HTTP_STREAMS = 4
"""The streams of this kind that one client has at a time over HTTP, where each holds a connection and a thread."""
_UNTOLD, _STREAMS = "tasks are not told of", "streams of tasks"
"""Members of the state of a connection."""


class TaskStream(SubscriptionStream):
    """A stream for one ``subject``: a member of the filter, and a text in it. ``untold`` is called if it ends itself.

    Nothing here raises; what goes wrong is counted, for the task is polled then.
    """

    def __init__(self, client: "Client", subject: Tuple[str, str], untold: Callable[[], None]) -> None:
        def ended(stream: SubscriptionStream) -> None:
            if self.agreed.more and not self._is_closed:
                untold()

        super().__init__(client.connection, ChangeFilter(more=frozenset((subject,))), ended)
        self._client = client
        self._places: Optional[Tally] = None
        self._is_closed = False

    @staticmethod
    def is_offered(connection: Connection) -> bool:
        """Return False if the server has shown that it has no such streams."""
        return not connection.state.get(_UNTOLD)

    @property
    def is_telling(self) -> bool:
        """True while the server tells of the task."""
        return self.outcome is None and bool(self.agreed.more)

    def open(self) -> None:
        """Send the request, if there is a place for its stream."""
        connection = self.connection
        if connection.transport.contract == EXCHANGES:
            places: Tally = connection.state.setdefault(_STREAMS, Tally(_STREAMS, HTTP_STREAMS))
            if not places.enter(_STREAMS):
                return
            self._places = places
        self._client.listening  # makes what sorts the messages of streams
        try:
            self.send()
        except McpError as error:
            self._lose(error)

    def close(self) -> None:
        """End the stream, and leave its place."""
        self._is_closed = True
        self.cancel("nobody waits for the task")
        places, self._places = self._places, None
        if places is not None:
            places.leave(_STREAMS)

    def acknowledge(self, agreed: ChangeFilter) -> None:
        """Take what the server will tell; a server that tells of no tasks is not asked again."""
        super().acknowledge(agreed)
        if not self.agreed.more:
            self.connection.state[_UNTOLD] = True
            self._is_closed = True
            self.cancel("the server does not tell of the task")

    def __call__(self, pending: Pending, item: Any) -> None:
        """Take what arrives for the request; runs on the reader."""
        if not isinstance(item, Progress) and not self._is_closed:
            self._lose(item)
        super().__call__(pending, item)

    def _lose(self, outcome: Any) -> None:
        """Count a stream that has ended; a server that has no streams is not asked again."""
        refused = isinstance(outcome, Error) and outcome.code != INTERNAL_ERROR or isinstance(outcome, HttpStatus)
        if refused and not self.agreed.more:
            self.connection.state[_UNTOLD] = True
        self.connection.counters.add("streams of tasks that ended")
