"""Elicitation: questions of a server to the user [2025-06-18.. client/elicitation §Protocol Messages].

::

    def ask(params, context):            # params.message, params.requested_schema
        return {"region": "eu"}

    Client(..., elicitation=ask)                                          # forms only
    Client(..., elicitation=Elicitation(form=ask, url=consent, open_url=webbrowser.open))

A callback returns the action of the user [2025-06-18.. client/elicitation §Response Actions]:

=========================  ============  ===============================================================
returned                   answered      with
=========================  ============  ===============================================================
a dict (forms)             accept        what was entered, and the defaults of what was left out
True, ``"accept"``         accept        forms: the defaults alone; links: nothing, it means consent
False, ``"decline"``       decline
None, ``"cancel"``         cancel
an `ElicitResult`          its action    its content, as a dict would be
anything else, exceptions  error -32603  (logged here); content that does not fit the form is one, too
=========================  ============  ===============================================================

A server that asks for a mode which was not declared, for a form outside the subset or with a link that no user should
be sent to gets -32602, and -32603 when it asks more often than ``max_elicitations_per_second``.

The duties of your callbacks: show which server asks (by a name of your own), what and why; let the user look over
and change what is sent, decline and cancel; show the whole URL with its host, and every one of the warnings
[2025-11-25.. client/elicitation §User Interaction Model] MUST.

**Links.** A link that the user is to follow comes in a question of its own, or in the error -32042 with which a server
refuses a request until the user has been there::

    try:
        client.call_tool("list_files")
    except PeerError as error:
        for request in required(error, client):      # or: elicitation.follow(error, client)
            ...

Every link is judged by `mcp_ref.protocol.elicitation` before the user is asked. Nothing here fetches a link, and none
is opened before the callback has agreed [2025-11-25.. client/elicitation §Safe URL Handling] MUST NOT.

Callbacks run on worker threads, several at once if a server asks several things; one that waits for the user should
look at ``context.cancelled``.
"""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from ..codec import DecodeError, decode, encoder
from ..diagnostics.packagelog import log_raised, name_of
from ..errors import (
    INTERNAL_ERROR, INVALID_PARAMS, URL_ELICITATION_REQUIRED, LocalProtocolError, PeerError, PeerProtocolError,
    RpcError,
)
from ..jsonrpc import shown
from ..messages.elicitation import (
    ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, URLElicitationRequiredErrorData,
)
from ..messages.lifecycle import ElicitationCapability
from ..methods import ELICITATION_COMPLETE
from ..options import strict_options
from ..peer.context import Context, Route, about, params_reader
from ..peer.dispatcher import Connection
from ..protocol.elicitation import CheckedForm, FormError, LinkError, read_form, read_link
from ..revisions import Revision
from ..transports.base import Transport
from ..urls import perhaps_here

if TYPE_CHECKING:
    from .client import Client

LIMIT = "max_elicitations_per_second"
_ACTIONS: Dict[Any, Any] = {
    True: "accept", "accept": "accept",
    False: "decline", "decline": "decline",
    None: "cancel", "cancel": "cancel",
}
# -- Links -------------------------------------------------------------------------------------

HERE = "it leads to a program on this machine, where the server that sends it is not"


def is_elsewhere(transport: Transport) -> bool:
    """True if the server may be on another machine: one at a URL or a TCP address that is not of this one."""
    scheme, _, rest = (transport.origin or transport.address or "").partition("://")
    if scheme not in ("http", "https", "tcp"):
        return False
    host = rest.partition("/")[0]
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return not perhaps_here(host.lower())


@strict_options
class UrlRequest:
    """A link that a server wants the user to follow, as a callback gets it.

    ``message`` says why, ``url`` is the whole link, ``host`` where it leads, in ASCII; ``unicode_host`` is how the host
    looks, ``punycode`` whether the two differ; ``warnings`` are for the user's eyes. ``elicitation_id`` means nothing
    but itself [2025-11-25 schema.json §ElicitRequestURLParams] MUST. ``completed`` is set when the server
    says that the user is done there, which not every server does.

    Made of the params that arrived, with a URL of at most ``max_length`` characters. ``elsewhere``: True if the server
    is on another machine; then a link to this one is warned of, for it leads to a program that is not the server's.
    Raises `LinkError` for a URL that no user should be sent to.
    """

    __slots__ = ("message", "url", "host", "unicode_host", "punycode", "warnings", "elicitation_id", "completed")

    def __init__(self, params: ElicitRequestURLParams, max_length: int, elsewhere: bool = False) -> None:
        link = read_link(params.url, max_length)
        self.message = params.message
        self.url = params.url
        self.host = link.host
        self.unicode_host = link.unicode_host
        self.punycode = link.punycode
        self.warnings: Tuple[str, ...] = link.warnings
        if elsewhere and perhaps_here(link.host):
            self.warnings = (HERE, *self.warnings)
        self.elicitation_id = params.elicitation_id
        self.completed = threading.Event()

    def __repr__(self) -> str:
        return "UrlRequest(%r, %r)" % (self.message, self.url)


class UrlElicitations:
    """The links that one server asked for, pending and completed, by id; the last ``limit`` of them. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._lock = threading.Lock()
        self._requests: "OrderedDict[Optional[str], UrlRequest]" = OrderedDict()
        self._limit = limit

    def add(self, request: UrlRequest) -> None:
        """Add a link that the server asks for now."""
        with self._lock:
            self._requests.pop(request.elicitation_id, None)
            self._requests[request.elicitation_id] = request
            if len(self._requests) > self._limit:
                self._requests.popitem(last=False)

    def known(self, request: UrlRequest) -> UrlRequest:
        """Return the request of this id that is known already; else add this one."""
        with self._lock:
            found = self._requests.get(request.elicitation_id)
        if found is not None:
            return found
        self.add(request)
        return request

    def drop(self, request: UrlRequest) -> None:
        """Remove a link that the user did not agree to."""
        with self._lock:
            if self._requests.get(request.elicitation_id) is request:
                del self._requests[request.elicitation_id]

    def finish(self, id: str) -> Optional[UrlRequest]:
        """Mark the pending request of this id as completed and return it; None if there is none."""
        with self._lock:
            request = self._requests.get(id)
            if request is None or request.completed.is_set():
                return None
            request.completed.set()
            return request


def links_of(connection: Connection) -> UrlElicitations:
    """Return the links of one server; they are in the state of its connection, so that they end with it."""
    found: Optional[UrlElicitations] = connection.state.get("elicitations")
    return found or connection.state.setdefault("elicitations",
                                                UrlElicitations(connection.limits.max_pending_elicitations))


def required(error: PeerError, client: "Client") -> List[UrlRequest]:
    """Return the links that an error -32042 requires the user to follow; their completion is noticed from now on.

    [2025-11-25 client/elicitation §URL Elicitation Required Error]. Raises ValueError for another error, and
    `PeerProtocolError` for one whose links are missing or such that no user should be sent there.
    """
    if error.code != URL_ELICITATION_REQUIRED:
        raise ValueError("error %d requires no links, only %d does" % (error.code, URL_ELICITATION_REQUIRED))
    connection = client.connection
    try:
        data = decode(URLElicitationRequiredErrorData, error.data, connection.session.rules, "error.data")
        longest, elsewhere = connection.limits.max_uri_length, is_elsewhere(connection.transport)
        requests = [UrlRequest(one, longest, elsewhere) for one in data.elicitations]
        if not requests:
            raise LinkError("error.data.elicitations: there is none")
    except (DecodeError, LinkError) as problem:
        raise PeerProtocolError("the error %d of %s: %s" % (error.code, error.method, problem)) from None
    links = links_of(connection)
    return [links.known(request) for request in requests]


# -- Questions ---------------------------------------------------------------------------------

FormCallback = Callable[[ElicitRequestFormParams, Context], Any]
UrlCallback = Callable[[UrlRequest, Optional[Context]], Any]
Approve = Callable[[Any, Context], bool]


class Elicitation:
    """Answers the questions of servers to the user; one may serve several clients.

    ``form(params, context)`` and ``url(request, context)`` ask the user, see the module. A mode is declared if its
    callback is given, and at least one must be [2025-11-25.. client/elicitation §Capabilities] MUST. ``open_url(url)``
    opens a browser in which neither this program nor a model can look on; when it raises or returns False the answer is
    ``cancel``.
    ``on_complete(request)`` is called once when the server says that a link is done with. ``approve(request, context)``
    comes before the user is asked at all: all but True declines
    [2025-06-18..2025-11-25 client/elicitation §Security Considerations] SHOULD.
    """

    @strict_options
    def __init__(
        self,
        form: Optional[FormCallback] = None,
        url: Optional[UrlCallback] = None,
        *,
        open_url: Optional[Callable[[str], Any]] = None,
        on_complete: Optional[Callable[[UrlRequest], None]] = None,
        approve: Optional[Approve] = None,
    ) -> None:
        if form is None and url is None:
            raise ValueError("elicitation needs form=..., url=... or both: a function that asks the user")
        if url is None and (open_url is not None or on_complete is not None):
            raise ValueError("open_url and on_complete need url=..., a function that asks the user for consent")
        self._form = form
        self._url = url
        self._open_url = open_url
        self._on_complete = on_complete
        self._approve = approve
        self.notifications = {ELICITATION_COMPLETE: self._completed}

    def capability(self) -> ElicitationCapability:
        """Return the capability that is declared: the modes that there are callbacks for."""
        return ElicitationCapability(
            form=None if self._form is None else {}, url=None if self._url is None else {}
        )

    def route(self, client: "Client", revision: Revision) -> Route:
        """Return how `elicitation/create` is answered."""
        read_form_params = params_reader(ElicitRequestFormParams, revision)
        read_url_params = params_reader(ElicitRequestURLParams, revision)
        write = encoder(ElicitResult, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            _limit_rate(context.connection)
            mode = params.get("mode", "form") if revision.elicitation_modes else "form"
            if mode == "form" and self._form is not None:
                result = self._ask_form(self._form, read_form_params(params, context), params, context, revision)
            elif mode == "url" and self._url is not None:
                result = self._ask_url(self._url, read_url_params(params, context), context)
            else:  # [2025-11-25 client/elicitation §Error Handling] MUST
                raise RpcError(INVALID_PARAMS, "Invalid params: mode %s was not declared" % shown(str(mode)))
            return write(result)

        return Route(answer)

    def _approved(self, request: Any, context: Context) -> bool:
        return self._approve is None or self._approve(request, context) is True

    # Forms

    def _ask_form(
        self, callback: FormCallback, question: ElicitRequestFormParams, params: Dict[str, Any], context: Context,
        revision: Revision,
    ) -> ElicitResult:
        try:
            form = read_form(params["requestedSchema"], revision, path="params.requestedSchema")
        except FormError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error) from None
        if not self._approved(question, context):
            return ElicitResult("decline")
        given = _result(callback(question, context))
        if given.action != "accept":
            return ElicitResult(given.action, meta=given.meta)
        content = {**form.defaults(revision), **(given.content or {})}
        _check(form, content, revision)
        return ElicitResult(given.action, content, given.meta)

    # Links

    def _ask_url(self, callback: UrlCallback, question: ElicitRequestURLParams, context: Context) -> ElicitResult:
        """Ask for consent to a link, and open it only then
        [2025-11-25.. client/elicitation §Safe URL Handling] MUST NOT."""
        connection = context.connection
        try:
            request = UrlRequest(question, connection.limits.max_uri_length, is_elsewhere(connection.transport))
        except LinkError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: url: %s" % error) from None
        if not self._approved(request, context):
            return ElicitResult("decline")
        links = links_of(connection)
        links.add(request)  # before the user is asked: the server may be done before we are
        result = ElicitResult("cancel")
        try:
            result = self._consent(callback, request, context, connection)
        finally:
            if result.action != "accept":
                links.drop(request)
        return result

    def _consent(
        self, callback: UrlCallback, request: UrlRequest, context: Optional[Context], connection: Connection
    ) -> ElicitResult:
        """Ask the user, open the link if they agree, and return what they did."""
        answer = callback(request, context)
        if isinstance(answer, dict):
            raise TypeError("a link has no fields: return True where the user agrees to follow it")
        given = _result(answer)
        if given.action != "accept" or self._open_url is None:
            return ElicitResult(given.action, meta=given.meta)
        if context is not None:
            context.check()  # the server may have taken the question back while the user thought about it
        try:
            opened = self._open_url(request.url) is not False
        except Exception as error:
            connection.counters.add("unopened link")
            log_raised("open_url callback %s" % name_of(self._open_url), error, about(connection, "elicitation/create"))
            opened = False
        return ElicitResult("accept" if opened else "cancel", meta=given.meta)

    def _completed(self, connection: Connection, params: Dict[str, Any]) -> None:
        """Take that the user is done with a link; ids that are unknown or completed already are ignored
        [2025-11-25 client/elicitation §Completion Notifications for URL Mode Elicitation] MUST."""
        request = links_of(connection).finish(params["elicitationId"])
        if request is None:
            connection.counters.add("completion of nothing")
        elif self._on_complete is not None:
            self._on_complete(request)

    def follow(self, error: PeerError, client: "Client") -> bool:
        """Ask for consent to each link that an error -32042 requires, and open it. True if the user agreed to all.

        The callback's context is None. Wait for ``completed`` of the requests (`required` gives them), or let the user
        say when to try again, before the refused request is repeated. Raises what `required` raises.
        """
        if self._url is None:
            raise LocalProtocolError("to follow links, give Elicitation a url=... that asks the user for consent")
        connection = client.connection
        waiting = [request for request in required(error, client) if not request.completed.is_set()]
        return all(self._consent(self._url, request, None, connection).action == "accept" for request in waiting)


# -- Parts -------------------------------------------------------------------------------------


def _limit_rate(connection: Connection) -> None:
    """Limit the rate [2025-06-18..2025-11-25 client/elicitation §Security Considerations] SHOULD."""
    if not connection.rate(LIMIT).take():
        raise RpcError(INTERNAL_ERROR, "Too many questions: %s (%g)" % (LIMIT, getattr(connection.limits, LIMIT)))


def _result(given: Any) -> ElicitResult:
    """Return the result that a callback means. Only the very words count: nothing else is taken for consent."""
    if isinstance(given, ElicitResult):
        return given
    if isinstance(given, dict):
        return ElicitResult("accept", given)
    if given is None or isinstance(given, (bool, str)) and given in _ACTIONS:
        return ElicitResult(_ACTIONS[given])
    raise TypeError("an elicitation callback returned %s; see mcp_ref.client.elicitation" % type(given).__name__)


def _check(form: CheckedForm, content: Dict[str, Any], revision: Revision) -> None:
    """Hold the content against the form [2025-11-25.. client/elicitation §Form Mode Security] SHOULD."""
    wrong = ["%s: no field of the form" % shown(name) for name in form.unasked(content)] + form.problems(content)
    if wrong:
        raise LocalProtocolError(
            "the elicitation callback returned what does not fit the form: %s" % "; ".join(wrong),
            "%s client/elicitation §Response Actions" % revision,
        )
