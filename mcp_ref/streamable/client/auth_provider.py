"""The contract between an HTTP client's transport and its authorization, of which the transport knows nothing else.

The value that a user passes as ``auth=`` is an `Authorizing`: it makes an `Authorizer` for each server. The transport
asks that for the header fields of each HTTP request (POST, GET, DELETE), for a token goes with every one of them, also
within one session [2025-03-26..2025-11-25 basic/authorization §Token Requirements] MUST
[2026-07-28 basic/authorization/index §Token Requirements] MUST; and when a request was refused with 401 or 403,
it asks if the request is to be sent again. Both calls may wait: for an authorization server, for another thread that
authorizes already, for a person. They come from the thread that sends the request, so nothing else waits with it. The
authorizer is told of replies that are no refusal, too.

The `CancelScope` that comes along is the scope of a cancellation: it ends when nobody wants the request any more.
`CancelScope.pause` waits until then at most, and within `CancelScope.pause_clock`, which is for a person's time, the
clock of the request is paused.
"""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Iterator, NamedTuple, Optional, Tuple, Union

from ...errors import AuthError, McpError, Unauthorized
from ...http11.client.connect import CancelScope
from ...http11.client.connection_pool import Fields
from ...http11.message import Headers
from ...limits import DEFAULT, Limits
from .posts import check

if TYPE_CHECKING:
    import ssl

    from ..http_trace import HttpTrace

__all__ = ["Authorizer", "Authorizing", "Fields", "AuthBoundary", "CancelScope", "AuthRefusal"]


class AuthRefusal(NamedTuple):
    """A request that a server has refused with 401 or 403."""

    status: int
    challenges: Tuple[str, ...]
    """The values of WWW-Authenticate, as they came."""
    headers: Headers
    """The header fields of the reply, all of them."""
    method: str
    """The method of HTTP: ``POST``, ``GET``, ``DELETE``."""
    url: str
    """The URL that the request went to: the server's, or the target of a redirect. May have a query: not for logs.
    """
    fields: Fields
    """The fields that `Authorizer.fields` returned for this request; () if it carried no token. Not for logs."""
    revision: Optional[str]
    """The MCP revision of the request, as far as it is known: agreed, named in it, or offered by it."""
    tries: int
    """The number of times that `refused` was asked about this request before, up to ``max_authorizations``."""

    def __repr__(self) -> str:
        return "AuthRefusal(%d, %s %s, tries=%d)" % (self.status, self.method, self.url.partition("?")[0], self.tries)


class Authorizer:
    """The authorization at one server. Thread-safe: many requests go out at a time."""

    def fields(self, method: str, url: str, cancel_scope: CancelScope) -> Fields:
        """Return the header fields that authorize this one HTTP request; () if there is no token yet.

        May wait, for a token that has to be renewed first. Raises `AuthError`, and `Abandoned` if ``cancel_scope`` has
        ended.
        """
        raise NotImplementedError

    def refused(self, refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        """Authorize a request that was refused. Returns True if it is to be sent again, with new `fields`; False if the
        refusal stands.

        Raises `AuthError` if authorization fails, which is then the outcome of the request, and `Abandoned` if
        ``cancel_scope`` has ended.
        """
        raise NotImplementedError

    def answered(self, url: str, headers: Headers) -> None:
        """Note that a request to ``url`` was not refused; ``headers``: those of its reply. Must not wait."""

    def show_http(self, trace: "HttpTrace") -> None:
        """Tell a trace of the requests to authorization servers."""


class Authorizing:
    """Base of what is passed as ``auth=`` of a client; one object may serve several servers."""

    def authorizer(
        self, url: str, *, ssl_context: "Optional[ssl.SSLContext]" = None, cafile: Optional[str] = None,
        limits: Limits = DEFAULT,
    ) -> Authorizer:
        """Return what authorizes requests to the MCP server at ``url``. Connects to nothing yet.

        ``ssl_context``, ``cafile``: how certificates are checked, as for the server itself. Raises ValueError for
        settings that do not fit.
        """
        raise NotImplementedError


class AuthBoundary:
    """The `Authorizer` of one client, and a bound on how often it is asked.

    ``auth``: None for a client that authorizes nothing, or has its token from its caller.
    """

    STATUSES = (401, 403)
    """The statuses of a refusal [2025-03-26..2025-11-25 basic/authorization §Error Handling]
    [2026-07-28 basic/authorization/index §Error Handling]."""

    def __init__(
        self, auth: Union[Authorizing, Authorizer, None], url: str, ssl_context: "Optional[ssl.SSLContext]",
        cafile: Optional[str], limits: Limits,
    ) -> None:
        if isinstance(auth, Authorizing):
            auth = auth.authorizer(url, ssl_context=ssl_context, cafile=cafile, limits=limits)
        elif auth is not None and not isinstance(auth, Authorizer):
            raise TypeError("auth is an OAuth() or another Authorizing, not %s" % type(auth).__name__)
        self.authorizer = auth
        self._most = limits.max_authorizations

    def fields(self, method: str, url: str, cancel_scope: CancelScope) -> Fields:
        """Return the header fields of `Authorizer.fields`, checked."""
        if self.authorizer is None:
            return ()
        with _in_order():
            given = self.authorizer.fields(method, url, cancel_scope)
            for name, value in given:
                check(name, value)
        return given

    def opens(self, refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        """Return True if a refused request is to be sent again, see `Authorizer.refused`.

        Raises `Unauthorized` after ``max_authorizations`` times.
        """
        if self.authorizer is None:
            return False
        if refusal.tries >= self._most:
            raise Unauthorized("%s is refused (%d) even after %d authorizations, which is max_authorizations"
                               % (refusal.url.partition("?")[0], refusal.status, refusal.tries))
        with _in_order():
            return self.authorizer.refused(refusal, cancel_scope)

    def answered(self, url: str, headers: Headers) -> None:
        """Tell the authorizer of a reply that is no refusal."""
        if self.authorizer is not None:
            with _in_order():
                self.authorizer.answered(url, headers)


@contextmanager
def _in_order() -> Iterator[None]:
    """Turn exceptions of an authorizer's code into an `AuthError`, which does not repeat what may be secret."""
    try:
        yield
    except McpError:
        raise
    except Exception as error:
        raise AuthError("authorization failed by an error of the program: %s" % type(error).__name__) from error
