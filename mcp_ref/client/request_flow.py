"""The flow of one request of a caller: rounds of input, retries, extensions.

In the stateless era one call may be several requests on the wire. The server may ask something first
(`mcp_ref.client.mrtr`), its process may end, or it may answer with an error that says what to do
(`mcp_ref.client.recovery`). In the handshake era a request is sent again only after the server has forgotten the
session. `RequestFlow` is the state machine of all that. It sends nothing and starts no thread; a driver does, by its
state:

==========  ====================================================  =================================================
state       what the driver does                                  what follows
==========  ====================================================  =================================================
SEND        calls `sent`, and sends ``params`` on ``connection``  `received` with the result, or `failed`
RETRY       calls `proceed` where a thread may wait: it may       SEND, perhaps on another connection
            start a process, or list the tools again
EXTEND      calls `proceed` where a thread may wait: an           DONE, or ANSWER
            extension may ask the server for more
ANSWER      calls `proceed` where callbacks of users run          SEND with the answers: a new round
DONE        hands over ``result``
==========  ====================================================  =================================================

There are two drivers: `Requests` in the thread that called, and `mcp_ref.client.futures.CallFuture` on the threads of
the connection. What a method raises is the outcome of the call.
"""

from typing import TYPE_CHECKING, Any, Dict, Optional

from .. import deadline
from ..errors import McpError, PeerError, RequestTimeout, TransportError
from ..messages.base import COMPLETE
from ..peer.dispatcher import Connection
from .recovery import final_error

if TYPE_CHECKING:
    from .mrtr import InputRounds
    from .owner import Owner

SEND, RETRY, EXTEND, ANSWER, DONE = "send", "retry", "extend", "answer", "done"
"""The states of a `RequestFlow`."""


class RequestFlow:
    """The state of one call. Used by one thread at a time; `cancel` by any.

    ``raw``: the first result is the outcome, whatever its type is. ``manual``: what the server asks is given to the
    caller, who answers it later by another call.
    """

    def __init__(
        self, owner: "Owner", connection: Connection, method: str, params: Optional[Dict[str, Any]], *,
        raw: bool = False, manual: bool = False,
    ) -> None:
        self.state = SEND
        self.connection = connection
        self.method = method
        self.params = params
        """The params of the round that is to be sent, or was sent last."""
        self.result: Any = None
        """The result object, as it came. In state DONE it may be an `InputRequiredResult` instead."""
        self.is_input_required = False
        """True if ``result`` is an `InputRequiredResult` for the caller."""
        self.is_plain = True
        """True while the answer depends on the first params only: it may be cached."""
        self._owner = owner
        self._raw = raw
        self._manual = manual
        self._first_params = params
        self._rounds: "Optional[InputRounds]" = None
        self._cancelled: Optional[str] = None
        self._error: Optional[McpError] = None
        self._retried = False
        self._sent_at: Optional[float] = None
        self._seconds = 0.0

    def sent(self) -> None:
        """Note that the round is about to be sent: the time until its result counts against ``request_ceiling``."""
        if not self._raw:
            self._sent_at = deadline.clock()

    def received(self, result: Dict[str, Any]) -> None:
        """Take the result of a round; quick, so the reader may call it.

        Raises `RequestTimeout` if all rounds together took too long, and `PeerProtocolError` for a result that this
        request cannot have.
        """
        self._count_time()
        self.result = result
        if self._raw or result.get("resultType", COMPLETE) == COMPLETE or not self.connection.session.rules.result_type:
            self.state = DONE
            return
        self.is_plain = False
        from .mrtr import extension_of

        if extension_of(self._owner, self.connection, result) is not None:
            self.state = EXTEND
        else:
            self._judge(result)

    def failed(self, error: McpError) -> None:
        """Take the error of a round. Raises what the caller gets, if the request is not sent again."""
        self._count_time()
        if self._retried or not isinstance(error, (PeerError, TransportError)):
            raise final_error(self._owner, self.connection, error, self.method, self.params)
        self._error = error
        self.state = RETRY

    def _count_time(self) -> None:
        """Add the time of an attempt. Raises `RequestTimeout` if all rounds together took too long.

        A request without rounds is bounded by the deadline of its connection, which pauses while a person is asked.
        """
        if self._sent_at is None:
            return
        self._seconds += deadline.clock() - self._sent_at
        self._sent_at = None
        ceiling = self._owner.limits.request_ceiling
        if self._rounds is not None and self._seconds > ceiling:
            raise RequestTimeout("%s: its rounds took longer than request_ceiling (%g s)" % (self.method, ceiling))

    def release(self) -> None:
        """Drop the params: the call has its outcome, and its future may be kept for long."""
        self.params = self._first_params = None

    def proceed(self) -> None:
        """Do what state RETRY, EXTEND or ANSWER calls for; takes as long as it takes.

        Raises the outcome of the call where there is nothing more to be done; `RequestCancelled` after `cancel`.
        """
        if self.state is EXTEND:
            from .mrtr import extended

            self._judge(extended(self._owner, self.connection, self.method, self.params, self.result))
            return
        error = self._error
        if error is not None:  # in state RETRY
            self._error, self._retried = None, True
            self.connection = self._owner._retry_connection(self.connection, error, self.method, self.params)
        elif self._rounds is not None:
            self.params = self._rounds.answer(self.connection, self.result)
            self._retried = False
            self.connection = self._owner.connection  # another one, if it was renewed while the user was asked
        self.state = SEND

    def cancel(self, reason: str) -> None:
        """Ask the user nothing more; a question that is open now is withdrawn."""
        self._cancelled = reason  # set before `_rounds` is read; `_judge` sets that before it reads this
        if self._rounds is not None:
            self._rounds.cancel(reason)

    def _judge(self, result: Dict[str, Any]) -> None:
        """Find out whether a result is the last one, or asks for input."""
        from .mrtr import InputRounds, required_input

        self.result = result
        required = required_input(self.method, result, self.connection.session.rules)
        if required is None:
            self.state = DONE
        elif self._manual:
            self.state, self.result, self.is_input_required = DONE, required, True
        else:
            self.state = ANSWER
            if self._rounds is None:
                self._rounds = InputRounds(self._owner, self.method, self._first_params)
                if self._cancelled is not None:
                    self._rounds.cancel(self._cancelled)
