"""Requests that a server answers by questions first [2026-07-28 basic/patterns/mrtr §Basic Workflow].

A server without a way back to the client puts what it wants to know into its result, and the client sends the request
once more, with the answers. The same callbacks answer as in the handshake era, and who called notices nothing::

    client.call_tool("deploy", {"service": "web"})        # asks the user in between, if the server wants to know

Questions of one round are put one after the other, in the server's order, so that no user sees two at once. They run
in the thread that called, for futures on the executor, and where there is a `MainThreadQueue` always there. Each round
is a request of its own: a new id, the same params, `_meta`, progress callback and timeout, which the time that a user
takes is no part of. ``max_input_rounds`` is the most; all rounds together wait for the server no longer than
``request_ceiling`` and one more timeout. The server's ``requestState`` goes back as it came, or not at all.

Only what was declared is answered. A question that cannot be answered (nobody at home: the callback raised, the user
would not have the model asked, a rate was exceeded) ends the request with `InputUnavailable`: there is no way to tell
the server [2026-07-28 client/sampling §Error Handling], and it waits for nothing. Its text has type and text of what
the callback raised, which is also logged with its traceback.

By hand, for programs that go on in another process::

    first = client.call_tool("deploy", {"service": "web"}, rounds="manual")     # an InputRequiredResult, or the result
    client.call_tool("deploy", {"service": "web"}, rounds="manual",
                     input_responses={"region": {"action": "accept", "content": {"region": "eu"}}},
                     request_state=first.request_state)
"""

import itertools
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional

from .. import deadline
from ..codec import DecodeError, Model, decode, encode
from ..diagnostics.usercode import shown_error
from ..errors import (
    INVALID_PARAMS, InputUnavailable, LocalProtocolError, PeerProtocolError, RequestCancelled, RequestTimeout, RpcError,
)
from ..jsonrpc import Request, shown
from ..messages.base import COMPLETE
from ..messages.mrtr import InputRequiredResult
from ..methods import EMBEDDED, INPUT_REQUIRED, lookup
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..peer.executors import Job
from ..peer.inflight import Incoming
from ..peer.raised import report
from ..protocol.caching import DEPENDING
from ..protocol.capabilities import has
from ..revisions import Revision

if TYPE_CHECKING:
    from ..peer.extension import Extension
    from .client import Client
    from .requests import Options, Reader

MANUAL = "manual"
REQUIRED = "input_required"
PAGE = "2026-07-28 basic/patterns/mrtr"
_NUMBERS = itertools.count(1)
_SLICE = 0.5


# -- Results -----------------------------------------------------------------------------------


def asked(method: str, result: Dict[str, Any], revision: Revision) -> Optional[InputRequiredResult]:
    """What a result asks for; None: nothing, it is complete.

    Raises `PeerProtocolError` for a result of a kind that is unknown [2026-07-28 basic/index §ResultType] MUST, for
    questions about a request that cannot have any [2026-07-28 basic/patterns/mrtr §Supported Requests] MUST NOT, and
    for one that asks nothing and hands over nothing.
    """
    kind = result.get("resultType", COMPLETE)
    if kind == COMPLETE:
        return None
    if kind != REQUIRED:
        text = "the answer to %s: result.resultType: %.80r is unknown" % (method, kind)
        raise PeerProtocolError(text, "2026-07-28 basic/index §ResultType")
    row = lookup(method, revision)
    if row is None or row.other != INPUT_REQUIRED:
        raise PeerProtocolError("the answer to %s asks for input" % method, PAGE + " §Supported Requests")
    try:
        found: InputRequiredResult = decode(InputRequiredResult, result, revision, "result")
    except DecodeError as error:
        raise PeerProtocolError("the answer to %s: %s" % (method, error), PAGE + " §InputRequiredResult") from None
    if found.input_requests is None and found.request_state is None:
        text = "the answer to %s: neither inputRequests nor requestState" % method
        raise PeerProtocolError(text, PAGE + " §Server Requirements (Basic Workflow)")
    return found


def resumed(
    revision: Revision, method: str, params: Optional[Dict[str, Any]], rounds: Optional[str],
    responses: Optional[Mapping[str, Any]], state: Optional[str],
) -> Dict[str, Any]:
    """Params with answers that the caller has, and with the state of an earlier round.

    Answers are messages or what they are on the wire. Raises `LocalProtocolError` where none can be sent.
    """
    if rounds not in (None, MANUAL):
        raise LocalProtocolError("rounds is %r, or is left out, not %.80r" % (MANUAL, rounds))
    made = dict(params or {})
    if responses is None and state is None:
        return made
    row = lookup(method, revision)
    if row is None or row.other != INPUT_REQUIRED:
        text = "%s takes no input_responses and no request_state in revision %s"
        raise LocalProtocolError(text % (method, revision), PAGE + " §Supported Requests")
    if responses is not None:
        made["inputResponses"] = {
            key: encode(item, revision) if isinstance(item, Model) else item for key, item in responses.items()
        }
    if state is not None:
        made["requestState"] = state
    return made


def finish(
    client: "Client", method: str, params: Optional[Dict[str, Any]], result: Dict[str, Any], read: "Reader",
    options: "Options",
) -> Any:
    """Go on, in this thread, until a result is complete, and read that; or give back what is asked, if by hand."""
    exchange = Exchange(client, method, params)
    while True:
        connection = client.connection
        result = extended(client, method, exchange.params, result)
        required = asked(method, result, connection.session.rules)
        if required is None:
            return read(result)
        if options.rounds == MANUAL:
            return required
        exchange.answer(connection, result)
        start = deadline.clock()
        result = client.request(
            method, exchange.params, options.timeout, options.progress, options.extend_on_progress)
        exchange.waited(deadline.clock() - start)


def adding(client: "Client", result: Dict[str, Any]) -> "Optional[Extension]":
    """The extension of both sides that adds the type of this result [2026-07-28 basic/index §ResultType] MUST."""
    kind = result.get("resultType", COMPLETE)
    if kind in (COMPLETE, REQUIRED) or client.extensions is None or not isinstance(kind, str):
        return None
    session = client.connection.session
    return client.extensions.of_result(kind, session.peer_capabilities, session.rules)


def extended(client: "Client", method: str, params: Optional[Dict[str, Any]], result: Dict[str, Any]) -> Dict[str, Any]:
    """What an extension makes of a result of a type that it adds; any other result as it is."""
    for _ in range(client.limits.max_input_rounds):
        extension = adding(client, result)
        if extension is None:
            break
        result = extension.finish(client, method, params, result)
    return result


# -- The loop ----------------------------------------------------------------------------------


class Exchange:
    """One request and its rounds. ``params``: those of the next round.

    Used by one thread at a time; `cancel` by any.
    """

    def __init__(self, client: "Client", method: str, params: Optional[Dict[str, Any]]) -> None:
        self.params = params
        self._client = client
        self._method = method
        self._plain = {
            name: value for name, value in (params or {}).items() if name not in DEPENDING
        }
        self._rounds = 0
        self._seconds = 0.0
        self._lock = threading.Lock()
        self._reason: Optional[str] = None
        self._incoming: Optional[Incoming] = None

    def waited(self, seconds: float) -> None:
        """So long the server took for a round. Raises `RequestTimeout` when that is too long altogether."""
        self._seconds += seconds
        ceiling = self._client.limits.request_ceiling
        if self._seconds > ceiling:
            raise RequestTimeout("%s: its rounds took longer than request_ceiling (%g s)" % (self._method, ceiling))

    def cancel(self, reason: str) -> None:
        """Ask nothing more; whoever is being asked now is told."""
        with self._lock:
            self._reason = self._reason or reason
            incoming = self._incoming
        if incoming is not None:
            self._client.questions.cancel(incoming.id, reason)

    def check(self) -> None:
        """Raise `RequestCancelled` if this was cancelled."""
        if self._reason is not None:
            raise RequestCancelled(self._reason)

    def answer(self, connection: Connection, result: Dict[str, Any]) -> None:
        """Answer what a result asks, and have the params of the next round.

        [2026-07-28 basic/patterns/mrtr §Client Requirements (Basic Workflow)] MUST: all answers first, and the state as
        it came. Raises `InputUnavailable`, `PeerProtocolError`, `RequestCancelled`.
        """
        self._rounds += 1
        limit = self._client.limits.max_input_rounds
        if self._rounds > limit:
            raise PeerProtocolError("%s asked for input in more than max_input_rounds (%d)" % (self._method, limit))
        requests = result.get("inputRequests")
        params = dict(self._plain)
        if requests is not None:
            params["inputResponses"] = self._answers(connection, requests)
        if result.get("requestState") is not None:
            params["requestState"] = result["requestState"]
        self.check()
        self.params = params

    def _answers(self, connection: Connection, requests: Dict[str, Any]) -> Dict[str, Any]:
        routes = {key: self._route(connection, request["method"]) for key, request in requests.items()}

        def ask() -> Dict[str, Any]:
            return {key: self._ask(connection, key, request, routes[key]) for key, request in requests.items()}

        executor = connection.executor
        if not executor.pumped or executor.here():
            return ask()
        job = _Asking(ask)
        if not executor.submit([job], connection.outbox):
            raise InputUnavailable("%s asks for input, and the executor is closed" % self._method)
        return job.wait(executor.waiting())

    def _route(self, connection: Connection, method: str) -> Route:
        """How a question is answered; kept for this server."""
        routes: Dict[str, Route] = connection.state.setdefault("questions", {})
        found = routes.get(method)
        if found is None:
            session = connection.session
            row = lookup(method, session.rules)
            declared = row is not None and row.carrier == EMBEDDED and has(session.capabilities, row.capability or "")
            made = self._client.route(connection, method, session.rules) if declared else None
            if made is None:
                # [2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST NOT
                text = "%s: the server asks for %s, which this client did not declare: give Client(...) what answers it"
                raise PeerProtocolError(text % (self._method, shown(method)), PAGE + " §Supported Requests")
            found = routes[method] = made
        return found

    def _ask(self, connection: Connection, key: str, request: Dict[str, Any], route: Route) -> Any:
        """The answer to one question."""
        questions, method = self._client.questions, request["method"]
        incoming = questions.begin("input %d" % next(_NUMBERS))
        if incoming is None:
            raise InputUnavailable("%s is asked already" % method)
        with self._lock:
            self._incoming = incoming
        params = request.get("params") or {}
        context = Context(connection, incoming, Request(key, method, params))
        try:
            self.check()
            result = route.call(context, params)
            incoming.check()
            return result
        except RequestCancelled:
            raise
        except Exception as error:
            if not isinstance(error, RpcError):  # those are answers: the user said no, the params do not fit
                who = self._client.handler_of(method, params, connection.session.rules)
                report(context, who, error)
            raise self._unanswered(key, method, error) from error
        finally:
            with self._lock:
                self._incoming = None
            questions.finish(incoming)
            questions.release()

    def _unanswered(self, key: str, method: str, error: Exception) -> Exception:
        what = "%s asks for %s (%s)" % (self._method, method, shown(key))
        if isinstance(error, RpcError) and error.code == INVALID_PARAMS:
            return PeerProtocolError("%s: %s" % (what, error.message), PAGE + " §InputRequests")
        said = str(error) if isinstance(error, RpcError) else shown_error(error)
        return InputUnavailable("%s, and there is no answer: %s" % (what, said), key, method)


class _Asking(Job):
    """Questions for the thread that an executor has for them."""

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
        """The answers; ``work``: what this thread does meanwhile."""
        while not self._over.is_set():
            if work is None:
                self._over.wait(_SLICE)
            else:
                work(0.01)
        if self._error is not None:
            raise self._error
        return self._answers
