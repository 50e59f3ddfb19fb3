"""The guard of an HTTP endpoint, which knows its clients and what they may do; and two guards that need no OAuth.

An endpoint asks its guard three times: `Guard.answers` for requests to addresses beside its own, `Guard.admit` for each
other request once its header fields are in order and before its body is read, and `Guard.allows` once the message is
known. A guard refuses by `AccessDenied`. The guard of OAuth is `mcp_ref.auth.server.resource_server`.

A stream on which a client only listens (of a GET, of `subscriptions/listen`) ends when `Guard.expired` says that the
credentials are no longer valid which the session has shown last, or the request that opened the stream. The client
comes back with new ones. Reading: no page asks for that, but otherwise a client whose token was revoked would go on to
receive everything. The stream of HTTP+SSE does not end, for it is the session; each message that a client sends there
is checked, too.

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
"""A function from the header fields to the principal; None for an unknown client. It may raise `AuthError` with the
reason."""


class AccessDenied(Exception):
    """A request is refused: ``status`` as in the module, ``challenges`` for WWW-Authenticate, ``why`` for the body."""

    def __init__(self, status: int, why: str = "", challenges: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.challenges = tuple(challenges)


class Guard:
    """The base of the guards: it lets in everybody, without a principal. Thread-safe."""

    hosts: Sequence[str] = ()
    """The host names under which clients reach us, as the guard knows them; see `header_values.Hosts`."""
    tells_apart = True
    """True if different clients are different principals; else limits for each client go by address and session."""

    single: Sequence[str] = ()
    """The header fields that decide, and that a request may have once; but for those that `admit` checks itself."""

    def answers(self, exchange: Exchange) -> bool:
        """Answer a request to an address of the guard's own, for anybody. Returns False for other addresses."""
        return False

    def admit(self, request: HttpRequest) -> Any:
        """Return the principal that sends the request, by its header fields alone. Raises `AccessDenied`."""
        return None

    def allows(self, principal: Any, frame: Optional[Frame]) -> Optional[AccessDenied]:
        """Return why a principal that was let in may not have this message answered; None if it may.

        ``frame`` None: there is no message, or none that can be read.
        """
        return None

    def expired(self, principal: Any) -> bool:
        """Return True if the credentials of this principal are no longer valid, so that its listening streams end.

        It is called about once a second and must not wait for anything.
        """
        return False


class CallableGuard(Guard):
    """The guard that asks a function for the principal."""

    single = ("Authorization",)

    def __init__(self, authenticate: Authenticate) -> None:
        self._authenticate = authenticate

    def admit(self, request: HttpRequest) -> Any:
        try:
            principal = self._authenticate(request.headers)
        except AuthError as error:
            raise AccessDenied(401, ": %s" % error, ("Bearer",)) from None
        if principal is None:
            raise AccessDenied(401, "", ("Bearer",))
        return principal


class OneToken(Guard):
    """The guard that lets in every client with one secret. Raises ValueError for a secret that no field can carry."""

    single = ("Authorization",)
    tells_apart = False

    def __init__(self, token: str) -> None:
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("a token is visible ASCII without blanks")
        self._token = token.encode("ascii")

    def admit(self, request: HttpRequest) -> Any:
        from hmac import compare_digest

        shown = bearer(request.headers.get("authorization"))
        if shown is None or not compare_digest(shown.encode("utf-8", "replace"), self._token):
            raise AccessDenied(401, "", ("Bearer",))
        return "token"


def guard_of(authenticate: Union[Authenticate, Guard, None]) -> Optional[Guard]:
    """Return the guard for the option ``authenticate``."""
    return authenticate if authenticate is None or isinstance(authenticate, Guard) else CallableGuard(authenticate)
