"""Requests that a server answers by questions first [2026-07-28 basic/patterns/mrtr §Basic Workflow].

A server without a way back to the client puts what it wants to know into its result, and the client sends the request
again, with the answers. The callbacks of the handshake era answer, and the caller of the client notices nothing::

    client.call_tool("deploy", {"service": "web"})        # asks the user in between, if the server wants to know

Questions of one round are put one after the other, in the server's order, so that no user sees two at once. They run
in the calling thread, for futures on the executor, and where there is a `MainThreadQueue` always there. Each round is a
request of its own: a new id, the same params, `_meta`, progress callback and timeout. The time that a user takes does
not count. There are at most ``max_input_rounds``; all rounds together wait for the server no longer than
``request_ceiling`` and one more timeout. The server's ``requestState`` goes back as it came, or not at all.

Only what was declared is answered. A question that cannot be answered (the callback raised, the user does not let the
model be asked, a rate was exceeded) ends the request with `InputUnavailable`: there is no way to tell the server
[2026-07-28 client/sampling §Error Handling], and it waits for nothing. The text of the error has type and text of what
the callback raised, which is also logged with its traceback.

A program that goes on in another process answers by itself::

    first = client.call_tool("deploy", {"service": "web"}, rounds="manual")     # an InputRequiredResult, or the result
    client.call_tool("deploy", {"service": "web"}, rounds="manual",
                     input_responses={"region": {"action": "accept", "content": {"region": "eu"}}},
                     request_state=first.request_state)

`mcp_ref.client.request_flow` has the order of rounds and retries. This module has what one round consists of.
"""

import itertools
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional

from ..codec import DecodeError, Model, decode, encode
from ..diagnostics.packagelog import shown_error
from ..errors import INVALID_PARAMS, InputUnavailable, LocalProtocolError, PeerProtocolError, RequestCancelled, RpcError
from ..jsonrpc import Request, shown
from ..messages.base import COMPLETE
from ..messages.mrtr import InputRequiredResult
from ..methods import EMBEDDED, INPUT_REQUIRED, lookup
from ..peer.context import Context, Route, report
from ..peer.dispatcher import Connection
from ..peer.executors import Job
from ..peer.inflight import Incoming
from ..protocol.lifecycle import has
from ..protocol.results import DEPENDING
from ..revisions import Revision

if TYPE_CHECKING:
    from ..model import Forgive
    from .client import Client

REQUIRED = "input_required"
PAGE = "2026-07-28 basic/patterns/mrtr"
_NUMBERS = itertools.count(1)
_SLICE = 0.5


def required_input(
    method: str, result: Dict[str, Any], revision: Revision, forgive: "Optional[Forgive]" = None
) -> Optional[InputRequiredResult]:
    """Return what a result asks for; None if it asks nothing: it is complete. ``forgive``: as for `decode`.

    Raises `PeerProtocolError` for a result of a kind that is unknown [2026-07-28 basic/index §ResultType] MUST, for
    questions about a request that cannot have any [2026-07-28 basic/patterns/mrtr §Supported Requests] MUST NOT, and
    for one that asks nothing and hands over nothing.
    """
    kind = result.get("resultType", COMPLETE)
    if kind == COMPLETE or kind is None:  # null is refused or forgiven where the rest is read
        return None
    if kind != REQUIRED:
        text = "the answer to %s: result.resultType: %.80r is unknown" % (method, kind)
        raise PeerProtocolError(text, "2026-07-28 basic/index §ResultType")
    row = lookup(method, revision)
    if row is None or row.other != INPUT_REQUIRED:
        raise PeerProtocolError("the answer to %s asks for input" % method, PAGE + " §Supported Requests")
    try:
        required: InputRequiredResult = decode(InputRequiredResult, result, revision, "result", forgive)
    except DecodeError as error:
        raise PeerProtocolError("the answer to %s: %s" % (method, error), PAGE + " §InputRequiredResult") from None
    if required.input_requests is None and required.request_state is None:
        text = "the answer to %s: neither inputRequests nor requestState" % method
        raise PeerProtocolError(text, PAGE + " §Server Requirements (Basic Workflow)")
    return required


def resumed(
    revision: Revision, method: str, params: Optional[Dict[str, Any]], responses: Optional[Mapping[str, Any]],
    state: Optional[str],
) -> Dict[str, Any]:
    """Return the params with the answers that the caller has, and with the state of an earlier round.

    ``responses``: messages, or JSON objects as on the wire, by the key of the question. Raises `LocalProtocolError` for
    a request that takes none.
    """
    params = dict(params or {})
    row = lookup(method, revision)
    if row is None or row.other != INPUT_REQUIRED:
        text = "%s takes no input_responses and no request_state in revision %s"
        raise LocalProtocolError(text % (method, revision), PAGE + " §Supported Requests")
    if responses is not None:
        params["inputResponses"] = on_wire(responses, revision)
    if state is not None:
        params["requestState"] = state
    return params


def on_wire(responses: Mapping[str, Any], revision: Revision) -> Dict[str, Any]:
    """Return answers of a caller, messages or JSON objects, as JSON objects."""
    return {key: encode(item, revision) if isinstance(item, Model) else item for key, item in responses.items()}


class InputRounds:
    """Answers the questions about one request, round by round.

    ``params`` are those of the first round. Used by one thread at a time; `cancel` by any.
    """

    def __init__(self, owner: "Client", method: str, params: Optional[Dict[str, Any]]) -> None:
        self._owner = owner
        self._method = method
        self._params = {name: value for name, value in (params or {}).items() if name not in DEPENDING}
        self._rounds = 0
        self._lock = threading.Lock()
        """A lock that guards the next two."""
        self._cancelled: Optional[str] = None
        self._question: Optional[Incoming] = None

    def cancel(self, reason: str) -> None:
        """Ask nothing more; the callback that is being asked now is told."""
        with self._lock:
            self._cancelled = self._cancelled or reason
            question = self._question
        if question is not None:
            self._owner.questions.cancel(question.id, reason)

    def _check(self) -> None:
        if self._cancelled is not None:
            raise RequestCancelled(self._cancelled)

    def answer(self, connection: Connection, result: Dict[str, Any]) -> Dict[str, Any]:
        """Answer what a result asks, and return the params of the next round.

        [2026-07-28 basic/patterns/mrtr §Client Requirements (Basic Workflow)] MUST: all answers first, and the state as
        it came. Raises `InputUnavailable`, `PeerProtocolError`, `RequestCancelled`.
        """
        self._rounds += 1
        limit = self._owner.limits.max_input_rounds
        if self._rounds > limit:
            raise PeerProtocolError("%s asked for input in more than max_input_rounds (%d)" % (self._method, limit))
        requests = result.get("inputRequests")
        params = dict(self._params)
        if requests is not None:
            params["inputResponses"] = self.answers(connection, requests)
        if result.get("requestState") is not None:
            params["requestState"] = result["requestState"]
        self._check()
        return params

    def answers(self, connection: Connection, requests: Mapping[str, Any]) -> Dict[str, Any]:
        """Return the answers to these questions, as on the wire, by key. Raises as `answer`."""
        # All routes first: a question that this client did not declare fails the request before any user is asked.
        routes = {key: self._route(connection, request["method"]) for key, request in requests.items()}

        def ask() -> Dict[str, Any]:
            return {key: self._ask(connection, key, request, routes[key]) for key, request in requests.items()}

        executor = connection.executor
        if not executor.needs_pump or executor.in_worker():
            return ask()
        job = _QuestionJob(ask)
        if not executor.submit([job], connection.outbox):
            raise InputUnavailable("%s asks for input, and the executor is closed" % self._method)
        return job.wait(executor.wait_hook())

    def _route(self, connection: Connection, method: str) -> Route:
        """Return how a question is answered; kept in the state of the connection."""
        routes: Dict[str, Route] = connection.state.setdefault("questions", {})
        known = routes.get(method)
        if known is not None:
            return known
        session = connection.session
        row = lookup(method, session.rules)
        declared = row is not None and row.carrier == EMBEDDED and has(session.capabilities, row.capability or "")
        route = self._owner.route(connection, method, session.rules) if declared else None
        if route is None:
            # [2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST NOT
            text = "%s: the server asks for %s, which this client did not declare: give Client(...) what answers it"
            raise PeerProtocolError(text % (self._method, shown(method)), PAGE + " §Supported Requests")
        routes[method] = route
        return route

    def _ask(self, connection: Connection, key: str, request: Dict[str, Any], route: Route) -> Any:
        """Return the answer to one question."""
        questions, method = self._owner.questions, request["method"]
        question = questions.begin("input %d" % next(_NUMBERS))
        if question is None:
            raise InputUnavailable("%s is asked already" % method)
        with self._lock:
            self._question = question
        params = request.get("params") or {}
        context = Context(connection, question, Request(key, method, params))
        try:
            self._check()  # after `_question` is set: a `cancel` before that has found nothing to withdraw
            result = route.call(context, params)
            question.check()
            return result
        except RequestCancelled:
            raise
        except Exception as error:
            if not isinstance(error, RpcError):  # an RpcError is an answer: the user declined, the params do not fit
                handler = self._owner.handler_of(method, params, connection.session.rules)
                report(context, handler, error)
            raise self._unanswered(key, method, error) from error
        finally:
            with self._lock:
                self._question = None
            questions.finish(question)
            questions.release()

    def _unanswered(self, key: str, method: str, error: Exception) -> Exception:
        asked = "%s asks for %s (%s)" % (self._method, method, shown(key))
        if isinstance(error, RpcError) and error.code == INVALID_PARAMS:
            return PeerProtocolError("%s: %s" % (asked, error.message), PAGE + " §InputRequests")
        reason = str(error) if isinstance(error, RpcError) else shown_error(error)
        return InputUnavailable("%s, and there is no answer: %s" % (asked, reason), key, method)


class _QuestionJob(Job):
    """The questions of one round, as a job for the one thread of an executor that has only one."""

    __slots__ = ("_ask", "_over", "_answers", "_error")

    def __init__(self, ask: Callable[[], Dict[str, Any]]) -> None:
        self._ask = ask
        self._over = threading.Event()
        self._answers: Dict[str, Any] = {}
        self._error: Optional[BaseException] = None

    def run(self) -> None:
        try:
            self._answers = self._ask()
        except BaseException as error:
            self._error = error
        self._over.set()

    def abandon(self, error: Exception) -> None:
        self._error = InputUnavailable("nobody could be asked: %s" % error)
        self._over.set()

    def wait(self, work: Optional[Callable[[float], None]]) -> Dict[str, Any]:
        """Return the answers; ``work(seconds)`` is what the calling thread does meanwhile, None to sleep."""
        while not self._over.is_set():
            if work is None:
                self._over.wait(_SLICE)
            else:
                work(0.01)
        if self._error is not None:
            raise self._error
        return self._answers
