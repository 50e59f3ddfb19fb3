"""Members of a server that only some clients see: the option ``visible`` of tools, resources, templates, prompts.

::

    def is_admin(principal):                          # what `Context.principal` is: None where nobody shows who it is
        return principal == "root"

    @server.tool(visible=is_admin)
    def shut_down() -> str: ...

    def in_group(name):                               # one server, several sets of tools: https://host/mcp?group=ops
        return lambda principal, requester: name in requester.query.get("group", [])

    @server.tool(visible=in_group("ops"))
    def restart() -> str: ...

    def unlocked(principal, requester):               # by session, over HTTP and up to 2025-11-25
        return requester.session_id in opened         # a set: a handler adds ctx.requester.session_id, and then calls
                                                      # server.lists_changed("tools", visible=unlocked)

The function gets the principal, and, if it has a second required parameter, the `Requester`: the query and the header
fields of the HTTP request, and the id of the session. It returns True to those who may see the member. **A query is the
client's own choice: it tidies a list and protects nothing.** Protect by the principal.

For anybody else it is as if the member had not been registered:

==============================  ===================================================================================
what                            happens to a hidden member
==============================  ===================================================================================
lists and their cursors         it is in no page, and no cursor tells of it
calls, reads, gets,             refused as those of an unknown name: same code, same text. What else stands for a
completions, subscriptions      URI, such as a template, answers
tasks                           none begins; one that had begun before the tool was hidden is not found. It runs on
header fields of its arguments  not compared (HTTP, 2026-07-28), as for an unknown tool
announcements                   registering and removing it is told to those who see it, and so are changes of a
                                resource, whatever container they have subscribed to
caches of clients               lists with such members, and what such a resource is read, are ``private``
                                [2026-07-28 server/utilities/caching §Security Considerations]
==============================  ===================================================================================

In 2026-07-28 lists may differ by the credentials of a request, and must not differ by the connection
[2026-07-28 server/tools §Capabilities] MAY, MUST NOT. So there is no session id there, and a function must not go by
what a client did before. Reading: the query is part of a request as credentials are. The capabilities of a server are
the same for everybody.

The function is called for each list and each request that is about a member, also about an unknown one, so that both
take the same time, and for each client when a change is announced. It has to be quick, may be called from any thread,
and must not ask the client. **One that raises hides the member**, and is logged under ``mcp_ref.usercode``; so is one
that is asynchronous, which is refused at registration where that can be seen. What it returned for a list does not
bind it later: each request asks again. A page whose last member has been hidden, or removed, meanwhile has no next one:
its cursor is refused, and the client begins anew.

When it returns something else than before, for a role was taken away, nobody knows but the author, who says so::

    server.lists_changed("tools")                                             # to all clients
    server.lists_changed("tools", visible=lambda principal: principal == "ada")    # to those

The principal is None on stdio, in memory and on sockets, and over HTTP without ``auth`` and ``authenticate``; with
``token`` it is "token" for all. For an announcement in a session the requester is that of its latest request about such
a member in this process; in a task it has no header fields. `mcp_ref.server.Context.requester` gives handlers the same.
A guard comes first: what ``needs`` of a `mcp_ref.auth.ResourceServer` asks for a tool, it asks for a hidden one, too.
"""

from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Sequence, Tuple
from urllib.parse import parse_qs

from ...diagnostics.packagelog import log_raised
from ...http11.message import Headers, HttpRequest
from ...peer.context import Context
from ...peer.dispatcher import Connection
from ..hints.signature import SignatureError, function_parts

_LATEST = "requester"
"""The key in `Connection.state` of the latest requester in a session over HTTP."""
_KEPT = 8192
"""Characters of the header fields and the query that a session keeps for announcements; more are not kept."""


class Requester:
    """The sender of a request, as far as the transport knows them: the second argument of ``visible``.

    ``principal``: as `Context.principal`. ``session_id``: of the session over HTTP, None elsewhere. ``headers``: the
    fields of the HTTP request (`mcp_ref.http11.message.Headers`: ``get(name)``), none elsewhere. Of HTTP+SSE it is the
    request that opened the stream.
    """

    __slots__ = ("principal", "session_id", "headers", "_query")

    def __init__(self, principal: Any, session_id: Optional[str] = None, request: Optional[HttpRequest] = None) -> None:
        self.principal = principal
        self.session_id = session_id
        self.headers = Headers() if request is None else request.headers
        self._query = "" if request is None else request.query

    @property
    def query(self) -> Dict[str, List[str]]:
        """The parameters in the URL behind the ``?``, decoded: name -> values. {} where there are none."""
        return parse_qs(self._query, keep_blank_values=True)

    def __repr__(self) -> str:
        return "Requester(%r, query=%r)" % (self.principal, self._query)  # header fields may be secret

    def _small(self) -> bool:
        return len(self._query) + sum(len(name) + len(value) for name, value in self.headers.pairs()) <= _KEPT


def requester_of(context: Context) -> Requester:
    """Return the requester of a request that is being answered."""
    connection, principal = context.connection, context.principal
    replies = connection.replies
    if replies is None:
        return Requester(principal)
    session_id = replies.session_id
    if context.detached:
        return Requester(principal, session_id)
    request = replies.request_of(context.incoming.id)
    if session_id is None:
        return Requester(principal, None, request)
    if request is None:  # the client has left, and will fetch the answer by another request of its session
        made = Requester(principal, session_id)
        before: Optional[Requester] = connection.state.get(_LATEST)
        if before is not None:
            made.headers, made._query = before.headers, before._query
        return made
    made = Requester(principal, session_id, request)
    connection.state[_LATEST] = made if made._small() else Requester(principal, session_id)
    return made


def requester_in(connection: Connection) -> Requester:
    """Return the requester to whom a message that answers no request would be sent in a session."""
    found: Optional[Requester] = connection.state.get(_LATEST)
    return Requester(connection.session.principal, connection.transport.session_id) if found is None else found


class Visible:
    """The function ``visible`` of one member. ``where`` names the member in errors and in the log.

    Raises TypeError for what is no function of one or two required parameters, or is asynchronous.
    """

    __slots__ = ("function", "_where", "_count")

    def __init__(self, where: str, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError("%s: visible is a function such as lambda principal: principal == \"ada\", got %.80r" % (
                where, function))
        self.function = function
        self._where = where
        self._count = _parameters(where, function)

    def shows(self, requester: Requester) -> bool:
        """Return True if this requester may see the member. Never raises: a function that fails shows nothing."""
        try:
            found = self.function(*(requester.principal, requester)[:self._count])
            if hasattr(found, "__await__"):
                getattr(found, "close", bool)()
                raise TypeError("it returned %s, which would have to be awaited: return True or False"
                                % type(found).__name__)
            return bool(found)
        except Exception as error:
            log_raised("visible of %s" % self._where, error)
            return False


def _parameters(where: str, function: Callable[..., Any]) -> int:
    """Return how many arguments the function takes. Parameters with a default do not count: they are often values that
    a loop has bound, ``lambda principal, role=role: ...``."""
    try:
        members = function_parts(function, "visible of %s" % where, True).members
    except SignatureError as error:
        if "asynchronous" in str(error):
            raise TypeError("visible of %s is asynchronous: it has to be a plain function" % where) from None
        if "parameters are unknown" in str(error):
            return 1  # as those of some builtins: ADMINS.__contains__
        raise
    required = [member.name for member in members if member.needed]
    if len(required) not in (1, 2):
        raise TypeError("visible of %s takes the principal, or the principal and the requester; this function takes %s"
                        % (where, ", ".join(required) or "no required parameter"))
    return len(required)


def hidden_of(found: Iterable[Tuple[int, Visible]], requester: Requester) -> FrozenSet[int]:
    """Return the numbers of those that this requester does not see. A function that several members share is called
    once."""
    known: Dict[int, bool] = {}
    hidden = []
    for number, visible in found:
        key = id(visible.function)
        if key not in known:
            known[key] = visible.shows(requester)
        if not known[key]:
            hidden.append(number)
    return frozenset(hidden)


def shown_by(visibles: Optional[Sequence[Visible]], requester: Requester) -> bool:
    """Return True if any of these functions shows its member to this requester; None stands for everybody."""
    return visibles is None or any(visible.shows(requester) for visible in visibles)
