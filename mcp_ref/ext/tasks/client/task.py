"""A call of a tool that goes on as a task: what its caller holds, and how it is waited for.

`ToolTask` is what `Client.start_tool` and `Client.task` return. It asks the server how the task is, no more often than
the server wants to be asked, puts the questions of the server to the callbacks of the client, and fetches the result.
What differs between the extension of 2026-07-28 and 2025-11-25 is in its two subclasses in
`mcp_ref.ext.tasks.client.generations`.

A look that is lost on the way is made again, a few times: it only asks. Nothing here runs on a thread of its own; the
task is looked at while a caller waits in `ToolTask.wait` or `ToolTask.result`, or in a call of the client.
"""

import threading
import weakref
from typing import TYPE_CHECKING, Any, Dict, Mapping, MutableMapping, Optional, Type, TypeVar

from .... import deadline
from ....codec import DecodeError, decode
from ....deadline import Deadline
from ....diagnostics.packagelog import get_logger
from ....errors import (
    AnswerLost, ConnectFailed, ConnectionLost, HttpStatus, LocalProtocolError, McpError, PeerError, PeerProtocolError,
    RequestCancelled, RequestTimeout,
)
from ....jsonrpc import shown
from ....methods import CALL_TOOL, CANCEL_TASK, GET_TASK
from ....options import REQUEST_TIMEOUT, strict_options
from ....peer.extension import Waiting
from ....protocol.extensions import COMPLETED, FINAL, WORKING
from ....threads import Wait

if TYPE_CHECKING:
    from ....client.client import Client
    from ....client.subscriptions import Subscription
    from ....messages.tools import CallToolResult
    from ....peer.dispatcher import Connection
    from ....peer.request_table import ProgressCallback

Self = TypeVar("Self", bound="ToolTask")

_SLICE = 0.5
"""The seconds that a caller waits in one go, so that a Ctrl-C is seen on Windows, too."""
_LOST = (ConnectFailed, ConnectionLost, AnswerLost, RequestTimeout)
_PASSING = frozenset((429, 502, 503, 504))
"""Statuses of HTTP that may pass by themselves."""
_TRIES = 4
"""The looks in a row that may be lost."""


@strict_options
class ToolTask:
    """A call of a tool that a server works on while its caller does something else.

    ``id`` names it for the server, and for `Client.task` of any process: keep it where a restart does not lose it. It
    is None where the server has answered at once, and the task is over. ``tool`` is the tool's name, if that is known.
    ``immediate_response``: a text for the model until the result is there, if the server has given one (2025-11-25).
    """

    def __init__(
        self, client: "Client", id: Optional[str], tool: Optional[str], manual: bool = False,
        progress: "Optional[ProgressCallback]" = None,
    ) -> None:
        self.id = id
        self.tool = tool
        self.status = WORKING
        """``working``, ``input_required``, ``completed``, ``failed`` or ``cancelled``, as the server said last."""
        self.message: Optional[str] = None
        """The server's words on the status, for people."""
        self.created_at = self.last_updated_at = ""
        """The times that the server says, in ISO 8601."""
        self.ttl: Optional[float] = None
        """The seconds from its creation for which the server keeps it; None: without limit."""
        self.poll_interval: Optional[float] = None
        """The seconds between two looks that the server wishes; None: it does not say."""
        self.questions: Mapping[str, Any] = {}
        """The requests of the server that are to be answered, as on the wire, by key (2026-07-28)."""
        self.state: Mapping[str, Any] = {}
        """All that the server said last, as on the wire; {} where it has answered at once."""
        self.immediate_response: Optional[str] = None
        self._client = client
        self._manual = manual
        self._progress = progress
        self._outcome: Optional[Dict[str, Any]] = None
        self._failure: Optional[McpError] = None
        self._version = client._cached.result_check().tools.version if client.check_results else None
        self._lock = threading.Lock()
        """A lock that guards what `told` changes: it comes on a thread of the connection."""
        self._wake = threading.Event()
        """Set when something has changed."""
        self._known_at = self._due = 0.0
        """The times of the last state and of the next look."""
        self._lost = 0
        self._steps = 0
        self._reported: Any = None
        if id is not None:
            _known(client)[id] = self

    @classmethod
    def finished(cls: Type[Self], client: "Client", result: Dict[str, Any], tool: Optional[str]) -> Self:
        """Return the task that a call would have been whose answer has come at once."""
        made = cls(client, None, tool)
        made.status, made._outcome = COMPLETED, result
        return made

    def __repr__(self) -> str:
        return "<task %s%s, %s>" % (
            "without an id" if self.id is None else shown(self.id, 60), " of %s" % self.tool if self.tool else "",
            self.status)

    # What the caller may do

    @property
    def done(self) -> bool:
        """True if the task is over: its status is ``completed``, ``failed`` or ``cancelled``."""
        return self.status in FINAL

    @strict_options
    def refresh(self) -> "ToolTask":
        """Ask the server how the task is, now, and return this object. Raises as a call of the client."""
        if not self.done:
            self._take(self._client.request(GET_TASK, {"taskId": self.id}))
        return self

    @strict_options
    def wait(self, timeout: Optional[float] = None) -> bool:
        """Wait until the task is over; False if it is not after ``timeout`` seconds (None: as long as it takes).

        The server's questions are put to the callbacks of the client meanwhile, each once; the time that they take does
        not count. With ``rounds="manual"`` it returns True as soon as the server asks something: see ``questions``.
        Raises `InputUnavailable` if a question cannot be answered, `PeerError` if the server does not know the task
        (any more), `ConnectionLost`.
        """
        return self._follow(Deadline(timeout), Waiting(timeout, self._progress))

    @strict_options
    def result(self, timeout: Optional[float] = None) -> "CallToolResult":
        """Wait as `wait`, and return the result, checked as by `Client.call_tool`; that of a tool that failed has a
        true ``is_error``.

        Raises `RequestTimeout` after ``timeout`` seconds, and the task goes on; `PeerError` for a call that ended in an
        error, `RequestCancelled` for a task that was cancelled; with ``rounds="manual"`` `LocalProtocolError` while a
        question is open.
        """
        if not self.wait(timeout):
            raise RequestTimeout("task %s is %s still" % (shown(self.id or ""), self.status))
        if not self._is_over():
            asked = ("%s (%s: %.200s)" % (shown(key), each.get("method"), (each.get("params") or {}).get("message", ""))
                     for key, each in self.questions.items())
            raise LocalProtocolError("task %s has no result before these questions are answered, by answer({key: ...})"
                                     ": %s" % (shown(self.id or ""), ", ".join(asked)))
        return self.checked(self._settled())

    def checked(self, result: Dict[str, Any]) -> "CallToolResult":
        """Return the message of a result object, checked by what the tool has promised."""
        client = self._client
        message: "CallToolResult" = client._requests.reader(CALL_TOOL, client.connection)(result)
        if self._version is not None and self.tool is not None:
            client._cached.result_check()(self.tool, message, self._version)
        return message

    @strict_options
    def listen(self) -> "Subscription":
        """Have the server tell what becomes of the task, until the subscription is closed; a context manager.

        As long as it does (``subscription.agreed.more``), `wait` looks rarely, and hears of each change at once. A long
        wait listens by itself; this is for a program that does other things, or waits for many moments. Raises as
        `Client.listen`; in 2025-11-25 `LocalProtocolError`: servers tell unasked, or not at all.
        """
        raise LocalProtocolError("in revision %s servers tell of tasks unasked" % self._client.revision)

    @strict_options
    def cancel(self) -> None:
        """Ask the server to cancel the task. It may end otherwise all the same: `wait` tells.

        Nothing is sent for a task that is known to be over. Raises `PeerError` if the server does not know the task,
        and in 2025-11-25 if it is over; `CapabilityMissing` if the server cancels none.
        """
        if not self.done:
            self._log("cancelled by its caller")
            self._cancelled(self._client.request(CANCEL_TASK, {"taskId": self.id}))

    @strict_options
    def answer(self, responses: Mapping[str, Any]) -> None:
        """Answer questions by their keys in ``questions``: messages, or JSON objects as on the wire.

        Raises ValueError for an answer that is none, `PeerError` if the server refuses it, and then the question is
        open still; `LocalProtocolError` for a key that is not open, and in 2025-11-25, where questions are requests and
        the callbacks of the client answer them.
        """
        raise LocalProtocolError("in revision %s the callbacks of the client answer" % self._client.revision)

    # What a call of the client does

    def settled(self, waiting: Waiting) -> Dict[str, Any]:
        """Wait for the task as a call does, and return the result object. Raises what the call raises.

        A call that is given up cancels its task: its timeout, its cancellation, a question that nobody can answer.
        """
        limits = self._client.limits
        timeout = limits.request_timeout if waiting.timeout is REQUEST_TIMEOUT else waiting.timeout
        try:
            if self._follow(Deadline(timeout, limits.request_ceiling), waiting):
                return self._settled()
            raise RequestTimeout("task %s of %s is %s still, and the time of the call is over: it was cancelled" % (
                shown(self.id or ""), CALL_TOOL, self.status))
        except (PeerError, ConnectionLost):
            raise
        except BaseException as error:
            self._withdraw(str(error) or type(error).__name__)
            raise

    def _settled(self) -> Dict[str, Any]:
        """Return the result object of a task that is over. Raises the error that it ended with."""
        if self._outcome is not None:
            return self._outcome
        if self._failure is not None:
            raise self._failure
        why = ": " + self.message if self.message else ""
        raise RequestCancelled("task %s was cancelled%s" % (shown(self.id or ""), why))

    def _withdraw(self, reason: str) -> None:
        """Tell the server that nobody waits for the task; without waiting for its answer."""
        if self.done or self.id is None:
            return
        self._log("given up: %s" % reason)
        try:
            connection = self._client.connection
            pending = connection.open_request(
                CANCEL_TASK, {"taskId": self.id}, settle=lambda pending, item: None)
            connection.time_out_later(pending)
        except McpError as error:  # no connection any more, or a server that cancels none
            self._log("could not be cancelled: %s" % error)

    # Looking

    def _follow(self, until: Deadline, waiting: Waiting) -> bool:
        """Look until the task is over, or asks something that is not answered here; False if the time is over."""
        if not self._client.connection.executor.may_wait():
            raise LocalProtocolError("a task would be waited for on the thread that reads; use another executor")
        waiting.watch(self._stop)
        while True:
            if waiting.cancelled is not None:
                raise RequestCancelled(waiting.cancelled)
            self._report(until, waiting)
            if self._is_over() or self._manual and self.questions:
                return True
            if until.expired():
                return False
            self._advance(until)
            if self._is_over():
                continue  # the result has come
            left = self._due - deadline.clock()
            if left > 0:
                self._pause(left, until)
            elif not self._is_over():
                self._look(until)

    def _stop(self, reason: str) -> None:
        """Wake the caller, whose call was cancelled."""
        self._wake.set()

    def _is_over(self) -> bool:
        return self.done

    def _advance(self, until: Deadline) -> None:
        """Do what the state of the task calls for, between two looks."""

    def _report(self, until: Deadline, waiting: Waiting) -> None:
        """Tell the caller's callback, and start its timeout again, if the task has changed."""
        with self._lock:
            now = (self.status, self.message, self.last_updated_at)
            before, self._reported = self._reported, now
        if now == before:
            return
        if before is not None:
            self._extend(until, waiting)
        if waiting.progress is not None and now[1] and (before is None or now[1] != before[1]):
            self._steps += 1
            waiting.progress(self._steps, None, now[1])

    def _extend(self, until: Deadline, waiting: Waiting) -> None:
        if waiting.extend_on_progress:
            timeout = waiting.timeout
            until.extend(self._client.limits.request_timeout if timeout is REQUEST_TIMEOUT else timeout)

    def _pause(self, seconds: float, until: Deadline) -> None:
        """Wait so long, or until something happens."""
        left, connection = until.left(), self._client.connection
        most = min(seconds, _SLICE if left is None else left, _SLICE)
        work = connection.executor.wait_hook()
        if work is not None:
            work(min(most, 0.01))
            return
        with Wait(connection.limits.max_waiting):
            self._wake.wait(most)
        self._wake.clear()  # the state is looked at after this

    def _look(self, until: Deadline) -> None:
        """Ask how the task is. Raises what the request raises, unless that may pass."""
        client, limits, left = self._client, self._client.limits, until.left()
        try:
            told = client.request(
                GET_TASK, {"taskId": self.id}, limits.request_timeout if left is None else
                min(left, limits.request_timeout))
        except (*_LOST, HttpStatus) as error:
            self._missed(error)
            return
        self._lost = 0
        self._take(told)

    def _missed(self, error: McpError) -> None:
        """Count a look that was lost; raises the error if another one would be in vain."""
        client = self._client
        lasting = isinstance(error, HttpStatus) and error.status not in _PASSING
        ended = client.connection.table.ended and not client.revision.stateless
        self._lost += 1
        if lasting or ended or not client.wanted or self._lost >= _TRIES:
            raise error
        client.connection.counters.note("lost look", "task %s: %s" % (shown(self.id or ""), error))
        self._due = deadline.clock() + max(
            self._interval(), deadline.backoff(client.limits.restart_delay, self._lost))

    def _interval(self) -> float:
        """Return the seconds until the next look: what the server wished last, but not less than the floor.

        [2025-11-25 basic/utilities/tasks §Getting Tasks] SHOULD [2026-07-28 extensions/tasks/tasks §Task Polling]
        SHOULD
        """
        limits = self._client.limits
        return max(limits.min_poll_interval,
                   limits.poll_interval if self.poll_interval is None else self.poll_interval)

    # What the server says

    def told(self, params: Dict[str, Any]) -> None:
        """Take a notification with the state of this task."""
        self._take(params)
        self._wake.set()

    def _take(self, told: Dict[str, Any]) -> None:
        """Take the state of the task, as on the wire. Raises `PeerProtocolError` if it has not the form of one."""
        raise NotImplementedError

    def _cancelled(self, answer: Dict[str, Any]) -> None:
        """Take the answer to `tasks/cancel`."""

    def _read(self, cls: Any, told: Any, what: str) -> Any:
        try:
            return decode(cls, told, self._client.revision, what, self._client.connection.forgive)
        except DecodeError as error:
            raise PeerProtocolError("the state of a task: %s" % error) from None

    def _note(self, told: Dict[str, Any], state: Any, ttl: Optional[int], interval: Optional[int]) -> bool:
        """Note what all states have; ``told``: the same as it came. False for one that comes after the last. Call it
        under the lock."""
        if state.task_id != self.id:
            raise PeerProtocolError("asked for task %s, and got %s" % (shown(self.id or ""), shown(state.task_id)))
        if self.done:
            return False  # [2025-11-25 basic/utilities/tasks §Task Status Lifecycle]: it is not left any more
        if state.status != self.status or not self.created_at:
            self._log(state.status)
        self.state = told
        self.message, self.created_at, self.last_updated_at = (
            state.status_message, state.created_at, state.last_updated_at)
        self.ttl = None if ttl is None else ttl / 1000.0
        self.poll_interval = None if interval is None else interval / 1000.0
        self.status = state.status
        self._known_at = deadline.clock()
        self._due = self._known_at + self._interval()
        return True

    def _log(self, what: str) -> None:
        """Log what becomes of the task [2025-11-25 basic/utilities/tasks §Audit and Logging] SHOULD."""
        get_logger(__name__).info("task %s of tool %s: %s", shown(self.id or ""), shown(self.tool or "unknown"), what)


def _known(client: "Client") -> "MutableMapping[str, ToolTask]":
    """Return the tasks of a client that somebody holds, by id."""
    if client._tasks is None:
        client._tasks = weakref.WeakValueDictionary()
    return client._tasks


def deliver_state(connection: "Connection", params: Dict[str, Any]) -> None:
    """Hand a state that was announced to the task, if somebody holds that; else it is counted."""
    id, client = params.get("taskId"), connection.role
    tasks = getattr(client, "_tasks", None) or {}
    task = tasks.get(id) if isinstance(id, str) else None
    if task is None:  # it is over, and nobody holds it any more
        connection.counters.add("state of no task")
        return
    task.told(params)
