"""Who may ask an HTTP endpoint, and what: the interface of a guard, and the two that need no tokens of OAuth.

An endpoint asks its guard three times: `Guard.answers` for requests to addresses beside its own, `Guard.admit` for each
other request once its header fields are in order and before its body is looked at, and `Guard.allows` when it is known
what is asked for. A guard refuses by `Denied`. The guard of OAuth is `mcp_ref.auth.server.resource_server`.

A stream on which a client only listens (of a GET, of `subscriptions/listen`) ends when its guard calls `Guard.expired`
what was shown last: by the session, or by the request that opened it. The client comes back with something better.
Reading: no page asks for that, but otherwise who has lost his token would hear of everything as long as he likes. The
stream of HTTP+SSE does not end, for it is the session; there, too, each message that a client sends is checked.

=================  =====================================================================================
status             means
=================  =====================================================================================
400                credentials that cannot be read [RFC 6750 §3.1]
401                no credentials, or none that are known
403                known, but not allowed to do this
503                the credentials cannot be checked now
=================  =====================================================================================
"""

from typing import Any, Callable, Optional, Sequence, Union

from ...errors import AuthError
from ...http11.message import Exchange, Headers, HttpRequest
from ...jsonrpc import Frame
from ...protocol.streamable_http.header_values import bearer

Authenticate = Callable[[Headers], Any]
"""Gets the header fields; returns who it is, or None: nobody we know. May raise `AuthError`, which says why."""


class Denied(Exception):
    """A request is refused: ``status`` as in the module, ``challenges`` for WWW-Authenticate, ``why`` for the body."""

    def __init__(self, status: int, why: str = "", challenges: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.challenges = tuple(challenges)


class Guard:
    """Lets everybody in, as nobody; subclasses say who it is. Thread-safe."""

    hosts: Sequence[str] = ()
    """Names under which clients reach us because the guard says so; see `headervalues.Hosts`."""
    tells_apart = True
    """Whether different clients are different principals; False: limits for each client go by address and session."""

    single: Sequence[str] = ()
    """Fields that it goes by and that a request may have once; not those of which `admit` tells itself."""

    def answers(self, exchange: Exchange) -> bool:
        """Whether the request was to an address of the guard's own; it has its reply then. Whoever asks may know."""
        return False

    def admit(self, request: HttpRequest) -> Any:
        """Who sends the request, by its header fields; nothing of the body counts. Raises `Denied`."""
        return None

    def allows(self, principal: Any, frame: Optional[Frame]) -> Optional[Denied]:
        """Why whom `admit` has let in may not have this message answered; None: he may.

        ``frame`` None: there is no message, or none that can be read.
        """
        return None

    def expired(self, principal: Any) -> bool:
        """Whether what this principal has shown `admit` is good no longer, so that the streams end which it listens on.

        Asked about once a second; it must not wait for anything.
        """
        return False


class CallableGuard(Guard):
    """Lets in whom a function knows."""

    single = ("Authorization",)

    def __init__(self, authenticate: Authenticate) -> None:
        self._authenticate = authenticate

    def admit(self, request: HttpRequest) -> Any:
        """See `Guard.admit`."""
        try:
            principal = self._authenticate(request.headers)
        except AuthError as error:
            raise Denied(401, ": %s" % error, ("Bearer",)) from None
        if principal is None:
            raise Denied(401, "", ("Bearer",))
        return principal


class OneToken(Guard):
    """Lets in whoever shows one secret. Raises ValueError for one that no field could carry."""

    single = ("Authorization",)
    tells_apart = False

    def __init__(self, token: str) -> None:
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("a token is visible ASCII without blanks")
        self._token = token.encode("ascii")

    def admit(self, request: HttpRequest) -> Any:
        """See `Guard.admit`."""
        from hmac import compare_digest

        shown = bearer(request.headers.get("authorization"))
        if shown is None or not compare_digest(shown.encode("utf-8", "replace"), self._token):
            raise Denied(401, "", ("Bearer",))
        return "token"


def guard_of(authenticate: Union[Authenticate, Guard, None]) -> Optional[Guard]:
    """The guard that an option means."""
    return authenticate if authenticate is None or isinstance(authenticate, Guard) else CallableGuard(authenticate)
