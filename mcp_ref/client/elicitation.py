"""Questions of a server to the user [2025-06-18.. client/elicitation §Protocol Messages].

    def ask(params, context):            # params.message, params.requested_schema
        return {"region": "eu"}

    Client(..., elicitation=ask)                                          # forms only
    Client(..., elicitation=Elicitation(form=ask, url=consent, open_url=webbrowser.open))

What a callback returns is what the user did [2025-06-18.. client/elicitation §Response Actions]:

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

Duties of who writes the callbacks: show which server asks (by a name of your own), what and why; let the user look over
and change what is sent, decline and cancel; show the whole URL with its host, and every one of the warnings
[2025-11-25.. client/elicitation §User Interaction Model] MUST. Nothing here fetches a link, and none is opened before
the callback said so [2025-11-25.. client/elicitation §Safe URL Handling] MUST NOT.

Callbacks run on worker threads, several at once if a server asks several things; one that waits for somebody should
look at ``context.cancelled``.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ..codec import encoder
from ..diagnostics.usercode import log_raised, name_of
from ..errors import INTERNAL_ERROR, INVALID_PARAMS, LocalProtocolError, PeerError, RpcError
from ..jsonrpc import shown
from ..messages.elicitation import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult
from ..messages.lifecycle import ElicitationCapability
from ..options import spelt
from ..peer.context import Context, Route, params_reader
from ..peer.dispatcher import Connection
from ..peer.raised import about
from ..protocol.elicitation import CheckedForm, FormError, read_form
from ..protocol.links import LinkError
from ..revisions import Revision
from .elicitation_url import UrlRequest, is_elsewhere, links_of, required

if TYPE_CHECKING:
    from .client import Client

LIMIT = "max_elicitations_per_second"
COMPLETE = "notifications/elicitation/complete"
_ACTIONS: Dict[Any, Any] = {
    True: "accept", "accept": "accept",
    False: "decline", "decline": "decline",
    None: "cancel", "cancel": "cancel",
}


FormCallback = Callable[[ElicitRequestFormParams, Context], Any]
UrlCallback = Callable[[UrlRequest, Optional[Context]], Any]
Approve = Callable[[Any, Context], bool]


class Elicitation:
    """What a client does with questions to its user; one may serve several clients.

    ``form(params, context)`` and ``url(request, context)`` ask the user, see the module; what is given is declared, and
    at least one must be [2025-11-25.. client/elicitation §Capabilities] MUST. ``open_url(url)`` opens a browser in
    which neither this program nor a model can look on; when it raises or returns False the answer is ``cancel``.
    ``on_complete(request)`` is called once when the server says that a link is done with. ``approve(request, context)``
    comes before the user is asked at all: all but True declines
    [2025-06-18..2025-11-25 client/elicitation §Security Considerations] SHOULD.
    """

    @spelt
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
        self.notifications = {COMPLETE: self._completed}

    def capability(self) -> ElicitationCapability:
        """What is declared: the modes there are callbacks for."""
        return ElicitationCapability(
            form=None if self._form is None else {}, url=None if self._url is None else {}
        )

    def route(self, client: "Client", revision: Revision) -> Route:
        """Answers `elicitation/create`."""
        read_form_params = params_reader(ElicitRequestFormParams, revision)
        read_url_params = params_reader(ElicitRequestURLParams, revision)
        write = encoder(ElicitResult, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            _take(context.connection)
            mode = params.get("mode", "form") if revision.elicitation_modes else "form"
            if mode == "form" and self._form is not None:
                result = self._ask_form(self._form, read_form_params(params), params, context, revision)
            elif mode == "url" and self._url is not None:
                result = self._ask_url(self._url, read_url_params(params), context)
            else:  # [2025-11-25 client/elicitation §Error Handling] MUST
                raise RpcError(INVALID_PARAMS, "Invalid params: mode %s was not declared" % shown(str(mode)))
            return write(result)

        return Route(answer)

    def _approved(self, request: Any, context: Context) -> bool:
        return self._approve is None or self._approve(request, context) is True

    # Forms

    def _ask_form(
        self, callback: FormCallback, asked: ElicitRequestFormParams, params: Dict[str, Any], context: Context,
        revision: Revision,
    ) -> ElicitResult:
        try:
            form = read_form(params["requestedSchema"], revision, path="params.requestedSchema")
        except FormError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error) from None
        if not self._approved(asked, context):
            return ElicitResult("decline")
        given = _result(callback(asked, context))
        if given.action != "accept":
            return ElicitResult(given.action, meta=given.meta)
        content = {**form.defaults(revision), **(given.content or {})}
        _check(form, content, revision)
        return ElicitResult(given.action, content, given.meta)

    # Links

    def _ask_url(self, callback: UrlCallback, asked: ElicitRequestURLParams, context: Context) -> ElicitResult:
        """[2025-11-25.. client/elicitation §Safe URL Handling] MUST NOT: nothing is opened without consent."""
        connection = context.connection
        try:
            request = UrlRequest(asked, connection.limits.max_uri_length, is_elsewhere(connection.transport))
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
        """What the user did; where they agreed, the link has been opened."""
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
        """[2025-11-25 client/elicitation §Completion Notifications for URL Mode Elicitation] MUST: ids that are unknown
        or completed already are ignored."""
        request = links_of(connection).finish(params["elicitationId"])
        if request is None:
            connection.counters.add("completion of nothing")
        elif self._on_complete is not None:
            self._on_complete(request)

    def follow(self, error: PeerError, client: "Client") -> bool:
        """Ask for consent to each link that an error -32042 requires, and open it; whether the user agreed to all.

        The callback's context is None. Wait for ``completed`` of the requests (`required` gives them), or let the user
        say when to try again, before the refused request is repeated. Raises what `required` raises.
        """
        if self._url is None:
            raise LocalProtocolError("to follow links, give Elicitation a url=... that asks the user for consent")
        connection = client.connection
        waiting = [request for request in required(error, client) if not request.completed.is_set()]
        return all(self._consent(self._url, request, None, connection).action == "accept" for request in waiting)


# -- Parts -------------------------------------------------------------------------------------


def _take(connection: Connection) -> None:
    """[2025-06-18..2025-11-25 client/elicitation §Security Considerations] SHOULD: limit the rate."""
    if not connection.rate(LIMIT).take():
        raise RpcError(INTERNAL_ERROR, "Too many questions: %s (%g)" % (LIMIT, getattr(connection.limits, LIMIT)))


def _result(given: Any) -> ElicitResult:
    """What a callback said. Only the very words count, so that nothing else is taken for consent."""
    if isinstance(given, ElicitResult):
        return given
    if isinstance(given, dict):
        return ElicitResult("accept", given)
    if given is None or isinstance(given, (bool, str)) and given in _ACTIONS:
        return ElicitResult(_ACTIONS[given])
    raise TypeError("an elicitation callback returned %s; see mcp_ref.client.elicitation" % type(given).__name__)


def _check(form: CheckedForm, content: Dict[str, Any], revision: Revision) -> None:
    """[2025-11-25.. client/elicitation §Form Mode Security] SHOULD"""
    wrong = ["%s: no field of the form" % shown(name) for name in form.unasked(content)] + form.problems(content)
    if wrong:
        raise LocalProtocolError(
            "the elicitation callback returned what does not fit the form: %s" % "; ".join(wrong),
            "%s client/elicitation §Response Actions" % revision,
        )
