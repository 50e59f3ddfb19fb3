"""Links that the client shows to the user [2025-11-25.. client/elicitation §URL Mode Elicitation Requests].

The values that a user enters on the page behind a link do not pass through the client: so a server asks for keys,
payments, or the authorization of third parties. There are two ways, and both end with `complete`, which notifies the
client that the user is done there:

    answer = ctx.elicit_url("Connect your account", "https://example.com/connect?id=7")     # ask, and go on
    raise UrlElicitationRequired([("Connect your account", "https://example.com/connect")])  # refuse until it is done

Duties of the page behind the link: it verifies that the person who opens it is the user who was asked
[2025-11-25.. client/elicitation §Phishing] MUST; the link alone logs nobody in, and it holds
nothing secret or personal [2025-11-25.. client/elicitation §Safe URL Handling] MUST NOT.

Revisions before 2025-11-25 have no links: there both ways fail as for a client that did not declare them. In 2026-07-28
links have no ids, and nothing notifies the client that the user is done; instead of the error, which that revision does
not have, the client is asked to show the links and to come back (`ask_instead`).
"""

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple, Union

from ..codec import DecodeError, decode, encode
from ..errors import INTERNAL_ERROR, URL_ELICITATION_REQUIRED, LocalProtocolError, RpcError, ToolError
from ..limits import DEFAULT
from ..messages.elicitation import (
    ElicitationCompleteNotificationParams, ElicitRequestURLParams, ElicitResult, URLElicitationRequiredErrorData,
)
from ..methods import ELICIT, ELICITATION_COMPLETE
from ..options import spelt
from ..peer.dispatcher import Connection
from ..protocol.elicitation import modes
from ..protocol.safe_urls import LinkError, read_link
from ..revisions import LATEST_HANDSHAKE
from .elicitation import Answer, check_message, need

if TYPE_CHECKING:
    from .context import Context


Elicitation = Union[ElicitRequestURLParams, Tuple[str, str], Tuple[str, str, str]]
"""A pair of message and URL, a triple of message, URL and id, or the params message."""


# -- Asking ------------------------------------------------------------------------------------


def elicit_url(
    ctx: "Context", message: str, url: str, elicitation_id: Optional[str] = None, timeout: Optional[float] = None,
    key: Optional[str] = None,
) -> "Answer[None]":
    """Ask the user to follow a link, wait for their consent, and return it as an answer without values.

    ``url`` is an absolute https URL (http is logged, unless it is of this machine). ``elicitation_id`` is made here if
    it is not given, and known to `complete` until that is called, the user declines or the connection ends; 2026-07-28
    has no ids and does not use it. ``key`` names the question, see `Context`. Raises `LinkError`, and as
    `mcp_ref.server.elicitation.elicit`.
    """
    connection = ctx.connection
    need(ctx.session, "url")
    if not ctx.session.rules.elicitation_ids:
        check_link(message, url, connection)
        consent: ElicitResult = ctx.ask(ELICIT, ElicitRequestURLParams(message=message, url=url), timeout, key)
        return Answer(consent.action, {}, None, message)
    params = _request(message, url, elicitation_id, connection)
    asked = _pending_links(connection)
    asked.add(params.elicitation_id, _others(connection))
    accepted = False
    try:
        result: ElicitResult = ctx.ask(ELICIT, params, timeout, key)
        accepted = result.action == "accept"
    finally:
        if not accepted:
            asked.take(params.elicitation_id)
    return Answer(result.action, {}, None, message)


def _request(
    message: str, url: str, elicitation_id: Optional[str], connection: Optional[Connection] = None
) -> ElicitRequestURLParams:
    """Return the params of a question with a valid URL, a message and an id
    [2025-11-25.. client/elicitation §URL Mode Elicitation Requests] MUST."""
    check_link(message, url, connection)
    if elicitation_id is None:
        from secrets import token_urlsafe

        elicitation_id = token_urlsafe(18)
    if not isinstance(elicitation_id, str) or not elicitation_id:
        raise ValueError("an elicitation id is a text that is not empty, not %.80r" % (elicitation_id,))
    return ElicitRequestURLParams(message=message, url=url, elicitation_id=elicitation_id)


def check_link(message: str, url: str, connection: Optional[Connection]) -> None:
    """Raise `LinkError` or `FormError` for a link or message that may not be sent; count a link without https."""
    check_message(message)
    limits = DEFAULT if connection is None else connection.limits
    link = read_link(url, limits.max_uri_length)
    if not url.isascii():
        raise LinkError("a link to be sent is ASCII: percent-encode its path, and write its host in Punycode")
    if link.scheme != "https" and not link.loopback and connection is not None:
        # [2025-11-25.. client/elicitation §Safe URL Handling] SHOULD
        connection.counters.note("unencrypted link", "a user was sent to %s without https" % link.host)


class _PendingLinks:
    """The ids of links that one client was asked to show and that are not completed. Thread-safe.

    ``limit``: the number of ids that are remembered. The lock guards the ids.
    """

    def __init__(self, limit: int) -> None:
        self._lock = threading.Lock()
        self._ids: "OrderedDict[str, None]" = OrderedDict()
        self._limit = limit

    def add(self, id: Any, others: "Sequence[_PendingLinks]") -> None:
        """Remember an id, and forget the oldest one above ``limit``. Raises ValueError for an id of another client."""
        if any(id in other for other in others):
            raise ValueError("the elicitation id %.80r belongs to another client; let one be made" % (id,))
        with self._lock:
            self._ids[id] = None
            self._ids.move_to_end(id)
            if len(self._ids) > self._limit:
                self._ids.popitem(last=False)

    def take(self, id: Any) -> bool:
        """Forget an id. Returns True if it was known."""
        with self._lock:
            return self._ids.pop(id, self) is None

    def __contains__(self, id: Any) -> bool:
        with self._lock:
            return id in self._ids


def _pending_links(connection: Connection) -> _PendingLinks:
    """Return the ids of a connection, which are part of its state and end with it."""
    found: Optional[_PendingLinks] = connection.state.get("elicitations")
    limit = connection.limits.max_pending_elicitations
    return found or connection.state.setdefault("elicitations", _PendingLinks(limit))


def _others(connection: Connection) -> List[_PendingLinks]:
    others = [other for other in connection.role.connections if other is not connection]  # type: ignore[attr-defined]
    return [other.state["elicitations"] for other in others if "elicitations" in other.state]


def complete(server: Any, elicitation_id: str) -> None:
    """Notify the client that was asked with this id that the user is done behind the link; call it once.

    Only that client is notified, with the id of the question
    [2025-11-25 client/elicitation §Completion Notifications for URL Mode Elicitation] MUST. Raises ValueError for an
    unknown id, and for one that is completed.
    """
    for connection in server.connections:
        if "elicitations" in connection.state and connection.state["elicitations"].take(elicitation_id):
            params = ElicitationCompleteNotificationParams(elicitation_id)
            connection.notify(ELICITATION_COMPLETE, encode(params, connection.session.rules))
            return
    raise ValueError(
        "nobody waits for the elicitation %.80r: no client was asked under this id, or it is completed, was declined, "
        "or the client is gone" % (elicitation_id,)
    )


# -- The error ---------------------------------------------------------------------------------


class UrlElicitationRequired(RpcError):
    """The error of a handler that cannot go on before the user has followed one or more links; the client tries again.

        raise UrlElicitationRequired([("Connect your account", "https://example.com/connect")])

    [2025-11-25 client/elicitation §URL Elicitation Required Error]. ``elicitations``: pairs of message and URL, triples
    with an id of your own, or `ElicitRequestURLParams`; ``ids`` are their ids, for `complete`. Raises `LinkError`,
    `FormError` or ValueError.

    Reading: a client that cannot show links (it did not declare ``elicitation.url``, or its revision has no such
    error) gets an ordinary failure instead: in a tool an ``isError`` result, elsewhere -32603, with the messages and
    without the links, which only the user may see. In 2026-07-28 the client is asked to show the
    links, and the handler runs again when the user has agreed; it should check that the user is done before it raises.
    """

    @spelt
    def __init__(
        self, elicitations: Sequence[Elicitation], message: str = "This request needs the user to follow a link"
    ) -> None:
        asked = [_as_params(one) for one in elicitations]
        if not asked:
            raise ValueError("there must be at least one elicitation, as (message, URL)")
        data = encode(URLElicitationRequiredErrorData(asked), LATEST_HANDSHAKE)
        super().__init__(URL_ELICITATION_REQUIRED, message, data)
        self.ids: List[str] = [str(one.elicitation_id) for one in asked]


def _as_params(one: Elicitation) -> ElicitRequestURLParams:
    if isinstance(one, ElicitRequestURLParams):
        return _request(one.message, one.url, one.elicitation_id)
    return _request(one[0], one[1], one[2] if len(one) > 2 else None)


def required(context: "Context", error: RpcError, in_tool: bool) -> Exception:
    """Return the error to send for an error -32042: the same one, with its ids remembered, or an ordinary failure.

    It holds for `UrlElicitationRequired` and for any `RpcError` with this code
    [2025-11-25 client/elicitation §URL Elicitation Required Error] MUST, MUST NOT.
    """
    connection, session = context.connection, context.session
    try:
        asked = _links_in(error, connection)
    except (DecodeError, ValueError) as problem:
        return _unreadable(problem)
    shows = "url" in modes(session.peer_capabilities.get("elicitation"), session.rules)
    if not shows or not session.rules.elicitation_ids:
        return _failure("The user would have to follow a link first, and this client cannot show one", asked, in_tool)
    try:
        for one in asked:
            _pending_links(connection).add(one.elicitation_id, _others(connection))
    except ValueError as problem:
        return problem
    return error


def ask_instead(context: "Context", error: RpcError, in_tool: bool) -> Exception:
    """Ask, by the result of a request, for the links of an error -32042 in a revision that does not have the error.

    Unwinds the handler (see `mcp_ref.server.mrtr`) until the user has answered. If the handler runs again after
    that and raises again, an ordinary failure is returned. Raises `CapabilityMissing`.
    """
    try:
        asked = _links_in(error, context.connection)
    except (DecodeError, ValueError) as problem:
        return _unreadable(problem)
    need(context.session, "url")
    answers = context.ask_all({
        "link-%d" % number: partial(elicit_url, context, one.message, one.url) for number, one in enumerate(asked, 1)
    })
    if all(answers.values()):
        return _failure("The user has agreed to follow a link, and is not done there yet", asked, in_tool)
    return _failure("The user would have to follow a link first, and did not want to", asked, in_tool)


def _links_in(error: RpcError, connection: Connection) -> List[ElicitRequestURLParams]:
    """Return the checked elicitations of an error -32042. Raises `DecodeError` or ValueError for an error without."""
    data = decode(URLElicitationRequiredErrorData, error.data, LATEST_HANDSHAKE, "data")
    if not data.elicitations:
        raise ValueError("data.elicitations: there is none")
    return [_request(one.message, one.url, one.elicitation_id, connection) for one in data.elicitations]


def _unreadable(problem: Exception) -> Exception:
    return LocalProtocolError("error %d: %s; raise UrlElicitationRequired" % (URL_ELICITATION_REQUIRED, problem))


def _failure(what: str, asked: Sequence[ElicitRequestURLParams], in_tool: bool) -> Exception:
    text = "%s: %s" % (what, "; ".join(one.message for one in asked))
    return ToolError(text) if in_tool else RpcError(INTERNAL_ERROR, text)
