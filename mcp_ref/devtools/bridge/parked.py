"""Requests of a server with a handshake as rounds of a stateless client.

[2026-07-28 basic/patterns/mrtr §Basic Workflow]. Such a server asks the client while it works on a request, and waits.
A stateless client is asked by the result of its request, and sends the request again with the answer. So the request to
the server stays open between the rounds; it is *parked*. What travels through the client is the number of the parked
call, in a state that `mcp_ref.server.mrtr` signs and binds to the client, the method and the params.

Reading: over stdio nothing says to which request of the client a question of the server belongs. It is asked in the
newest call that waits at that moment; if none does, in the next call that can carry questions. All calls of a session
are of one client, so the question reaches the same person. A question that no call has carried in ``request_timeout``
seconds is answered by an error.

A call whose client does not come back within the time for which its state is good (``state_ttl``) is cancelled. The
calls are in the memory of one process: with several of them, one client has to reach the same one each time.
"""

import itertools
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Mapping, Optional

from ...client.options import REQUEST_DEFAULTS, Options
from ...codec import DecodeError, Model, decode, encode
from ...deadline import Deadline, clock
from ...errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, McpError, RequestCancelled, RpcError
from ...limits import Limits
from ...methods import EMBEDDED, lookup, params_class
from ...peer.context import Context, Route
from ...protocol.extensions import naming_task
from ...revisions import Revision
from ...server.mrtr import TTL, InputRequired, wrap
from ...threads import Wait
from . import translation
from .translation import Json

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .link import UpstreamConnection

_SLICE = 0.5
"""Seconds that a thread waits in one go; it is woken before, where there is something to do."""
_NUMBERS = itertools.count(1)


class ServerRequest:
    """A request of the server, and the answer of the client. ``params`` is its message in the client's revision;
    ``task``: the id of the task that it belongs to, if it does."""

    def __init__(self, method: str, params: Model, task: Optional[str] = None) -> None:
        self.method = method
        self.params = params
        self.task = task
        self.key = "question-%d" % next(_NUMBERS)
        self.answer: Optional[Model] = None
        self.error: Optional[McpError] = None

    @property
    def settled(self) -> bool:
        """True once there is an answer, or an error in its place."""
        return self.answer is not None or self.error is not None


class ParkedCall:
    """One request to the server, which outlives the rounds of the client's request."""

    def __init__(self, link: "UpstreamConnection", method: str) -> None:
        self.link = link
        self.method = method
        self.future: "Optional[Future[Json]]" = None
        self.context: Optional[Context] = None
        """The context of the round that waits; None between rounds."""
        self.question: Optional[ServerRequest] = None
        self.left_at = clock()

    def report(self, value: float, total: Optional[float], message: Optional[str]) -> None:
        """Pass progress on to the round that waits, if there is one."""
        from .link import forward_progress

        context = self.context
        if context is not None:
            forward_progress(context, value, total, message)


class ParkedCalls:
    """The parked calls of one session, and the questions of its servers. Thread-safe.

    The condition guards all of it; it is notified when a question, an answer, a result or a cancellation comes.
    """

    def __init__(self, limits: Limits, ttl: Optional[float] = None) -> None:
        self._limits = limits
        self._ttl = TTL if ttl is None else ttl
        self._changed = threading.Condition()
        self._calls: Dict[str, ParkedCall] = {}
        self._unasked: Deque[ServerRequest] = deque()
        """The questions that no call carries yet."""
        self._of_tasks: Dict[str, ServerRequest] = {}
        """The open questions of tasks, by key."""
        self._closed = ""

    def __len__(self) -> int:
        return len(self._calls)

    # The client's side

    def call(self, link: "UpstreamConnection", context: Any, method: str, params: Json) -> Json:
        """Answer one round of a request. Raises `RpcError`, `RequestCancelled`, and what ends a round."""
        def run(context: Any, params: Json) -> Json:
            key = context.once("parked call", lambda: self._begin(link, context, method, params))
            return self._round(key, context)

        route = wrap(Route(run), method, context.session.rules)
        return route.call(context, params)  # type: ignore[no-any-return]

    def _begin(self, link: "UpstreamConnection", context: Context, method: str, params: Json) -> str:
        """Send the request to the server; return the name of the call."""
        from secrets import token_hex

        sent = translation.params_of(method, params, context.session.rules, link.revision)
        meta = link.meta(context, params)
        key, parked = token_hex(16), ParkedCall(link, method)
        self.expire()
        with self._changed:
            if len(self._calls) >= self._limits.max_questions:
                text = "Busy: max_questions (%d) calls wait for answers of this client"
                raise RpcError(INTERNAL_ERROR, text % self._limits.max_questions)
            self._calls[key] = parked
        progress = parked.report if link.progress(context, params) is not None else None
        options: Options = {**REQUEST_DEFAULTS, "timeout": None, "progress": progress, "meta": meta or None}
        try:
            future = parked.future = link.client._requests.submit(method, sent, options, read=lambda result: result)
        except BaseException as error:
            self._drop(key)
            if isinstance(error, McpError):
                raise link.failure(context, method, error) from error
            raise
        future.add_done_callback(lambda _: self._wake())
        return key

    def _round(self, key: str, context: Any) -> Json:
        with self._changed:
            parked = self._calls.get(key)
        if parked is None or parked.future is None:
            raise RpcError(INTERNAL_ERROR, "The request that this round belongs to is not open any more: it has waited "
                                           "too long, or the server behind has ended; begin again")
        try:
            while True:
                question = self._next(parked, context)
                if question is None:
                    break
                answer = context.ask(question.method, question.params, key=question.key)
                with self._changed:
                    question.answer, parked.question = answer, None
                    self._changed.notify_all()
        except InputRequired:
            parked.context, parked.left_at = None, clock()
            raise
        except BaseException:
            self._drop(key)
            raise
        parked.link.let_be_heard()
        self._drop(key)
        try:
            result = parked.future.result(0)
        except McpError as error:
            raise parked.link.failure(context, parked.method, error) from error
        return translation.result_of(parked.method, result, parked.link.revision, context.session.rules)

    def _next(self, parked: ParkedCall, context: Context) -> Optional[ServerRequest]:
        """Wait for a question to ask in this round; None once the server has answered. Raises `RequestCancelled`."""
        context.incoming.watch(self._wake)
        try:
            with Wait(self._limits.max_waiting), self._changed:
                parked.context = context
                while True:
                    context.incoming.check()
                    if self._closed:
                        raise RpcError(INTERNAL_ERROR, self._closed)
                    done = parked.future is not None and parked.future.done()
                    if parked.question is None and self._unasked and not done:
                        parked.question = self._unasked.popleft()
                    if parked.question is not None or done:
                        return parked.question
                    self._changed.wait(_SLICE)
        finally:
            context.incoming.unwatch(self._wake)

    def _drop(self, key: str) -> None:
        """Forget a call, which is cancelled if it has no answer; its question is left to another call."""
        with self._changed:
            parked = self._calls.pop(key, None)
            if parked is None:
                return
            if parked.question is not None and not parked.question.settled:
                self._unasked.appendleft(parked.question)
            self._changed.notify_all()
        if parked.future is not None:
            parked.future.cancel()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # The server's side

    def ask(self, asking: Context, method: str, params: Json, front: Revision, task: Optional[str] = None) -> Json:
        """Ask the client a question of the server by the next round; return the result as the server reads it.

        One of a ``task`` waits there until the client asks how the task is: `mcp_ref.devtools.bridge.tasks`.
        """
        row = lookup(method, front)
        if row is None or row.carrier != EMBEDDED:
            text = "%s cannot be asked of a client of revision %s through this bridge"
            raise RpcError(METHOD_NOT_FOUND, text % (method, front))
        sent = translation.params_of(method, params, asking.session.rules, front)
        try:
            question = ServerRequest(method, decode(params_class(row), sent, front), task)
        except DecodeError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error) from None
        asking.incoming.watch(self._wake)
        try:
            with self._changed:
                self._put(question)
                self._wait(question, asking)
        finally:
            asking.incoming.unwatch(self._wake)
        if question.error is not None:
            raise question.error
        made: Json = encode(question.answer, asking.session.rules)
        return made if task is None else naming_task(made, task)

    def _put(self, question: ServerRequest) -> None:
        """Have the newest call ask it that waits and asks nothing; else the next one. That of a task is kept for it."""
        if question.task is not None:
            if len(self._of_tasks) >= self._limits.max_questions:
                raise RpcError(INTERNAL_ERROR, "Busy: max_questions (%d) questions of tasks wait for answers"
                               % self._limits.max_questions)
            self._of_tasks[question.key] = question
            return
        for parked in reversed(list(self._calls.values())):
            if parked.context is not None and parked.question is None:
                parked.question = question
                break
        else:
            self._unasked.append(question)
        self._changed.notify_all()

    def _wait(self, question: ServerRequest, asking: Context) -> None:
        uncarried = Deadline(self._limits.request_timeout)
        while not question.settled:
            if asking.incoming.cancelled:
                self._forget(question)
                raise RequestCancelled(asking.incoming.reason or "cancelled by the server")
            if self._closed:
                raise RpcError(INTERNAL_ERROR, self._closed)
            if question in self._unasked and uncarried.expired():
                self._forget(question)
                raise RpcError(INTERNAL_ERROR, "The client can be asked only while it has a request open that may ask, "
                                               "and it has sent none in request_timeout (%g) seconds"
                               % self._limits.request_timeout)
            self._changed.wait(_SLICE)

    def questions_of(self, task: str) -> List[ServerRequest]:
        """Return the open questions of a task, oldest first."""
        with self._changed:
            return [each for each in self._of_tasks.values() if each.task == task]

    def answer(self, task: str, answers: Mapping[str, Model]) -> None:
        """Answer questions of a task; keys of others, and of answered ones, are ignored."""
        with self._changed:
            for key, answer in answers.items():
                question = self._of_tasks.get(key)
                if question is not None and question.task == task:
                    question.answer = answer
                    del self._of_tasks[key]
            self._changed.notify_all()

    def withdraw(self, task: str) -> None:
        """Answer the questions of a task by an error: it was cancelled."""
        with self._changed:
            for question in [each for each in self._of_tasks.values() if each.task == task]:
                question.error = RpcError(INTERNAL_ERROR, "The task was cancelled")
                del self._of_tasks[question.key]
            self._changed.notify_all()

    def _forget(self, question: ServerRequest) -> None:
        self._of_tasks.pop(question.key, None)
        if question in self._unasked:
            self._unasked.remove(question)
        for parked in self._calls.values():
            if parked.question is question:
                parked.question = None

    # The end

    def expire(self) -> None:
        """Cancel the calls whose clients have not come back in time."""
        now = clock()
        with self._changed:
            late = [key for key, parked in self._calls.items()
                    if parked.context is None and parked.future is not None and now - parked.left_at > self._ttl]
        for key in late:
            self._drop(key)

    def close(self, reason: str) -> None:
        """End all calls and questions: the session has ended."""
        with self._changed:
            self._closed = reason
            calls: List[ParkedCall] = list(self._calls.values())
            self._calls.clear()
            self._changed.notify_all()
        for parked in calls:
            if parked.future is not None:
                parked.future.cancel()
