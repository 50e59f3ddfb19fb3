"""How authorization gets into the requests of an HTTP client, without the transport knowing what it is.

What a user passes as ``auth=`` is an `Authorizing`: it makes an `Authorizer` for each server. The transport asks that
for the header fields of each HTTP request (POST, GET, DELETE), for a token goes with every one of them, also within
one session [2025-03-26..2025-11-25 basic/authorization §Token Requirements] MUST
[2026-07-28 basic/authorization/index §Token Requirements] MUST; and it asks when a request was refused with 401 or 403,
whether to send it again. Both calls may wait: for an authorization server, for another thread that is at it already,
for a person. They come from the thread that carries the request, so nothing else waits with it. Of what was not refused
it is told, too.

The `Grip` that comes along ends when nobody wants the request any more. `Grip.pause` waits with an eye to that, and
within `Grip.standstill`, which is for a person's time, the request does not age.
"""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Iterator, NamedTuple, Optional, Tuple, Union

from ...errors import AuthError, McpError, Unauthorized
from ...http11.client.connect import Grip
from ...http11.client.connection_pool import Fields
from ...http11.message import Headers
from ...limits import DEFAULT, Limits
from .headers import check

if TYPE_CHECKING:
    import ssl

__all__ = ["Authorizer", "Authorizing", "Fields", "Gate", "Grip", "Refusal"]


class Refusal(NamedTuple):
    """A request that a server has refused with 401 or 403."""

    status: int
    challenges: Tuple[str, ...]
    """The values of WWW-Authenticate, as they came."""
    headers: Headers
    """All header fields of the reply."""
    method: str
    """That of HTTP: ``POST``, ``GET``, ``DELETE``."""
    url: str
    """Where the request went: that of the server, or where that has redirected it to. May have a query: not for logs.
    """
    fields: Fields
    """What `Authorizer.fields` gave for this request; () if it carried no token. Not for logs."""
    revision: Optional[str]
    """The MCP revision of the request, as far as it is known: agreed, named in it, or offered by it."""
    tries: int
    """How often `refused` was asked about this request before; the transport asks ``max_authorizations`` times."""

    def __repr__(self) -> str:
        return "Refusal(%d, %s %s, tries=%d)" % (self.status, self.method, self.url.partition("?")[0], self.tries)


class Authorizer:
    """Authorization at one server. Thread-safe: many requests go out at a time."""

    def fields(self, method: str, url: str, grip: Grip) -> Fields:
        """The header fields that let this one HTTP request in; () where there is no token yet.

        May wait, for a token that has to be renewed first. Raises `AuthError`, and `LetGo` if ``grip`` has ended.
        """
        raise NotImplementedError

    def refused(self, refusal: Refusal, grip: Grip) -> bool:
        """See to it that the request is let in. True: send it again, with new `fields`; False: the refusal stands.

        Raises `AuthError` where authorization fails, which is then the outcome of the request, and `LetGo` if ``grip``
        has ended.
        """
        raise NotImplementedError

    def answered(self, url: str, headers: Headers) -> None:
        """A request to ``url`` was not refused, and these are the header fields of its reply. Must not wait."""


class Authorizing:
    """Base of what is passed as ``auth=`` of a client; one object may serve several servers."""

    def authorizer(
        self, url: str, *, ssl_context: "Optional[ssl.SSLContext]" = None, cafile: Optional[str] = None,
        limits: Limits = DEFAULT,
    ) -> Authorizer:
        """What authorizes requests to the MCP server at ``url``. Connects to nothing yet.

        ``ssl_context``, ``cafile``: how certificates are checked, as for the server itself. Raises ValueError for
        settings that do not fit.
        """
        raise NotImplementedError


class Gate:
    """What the requests of one client pass on their way out: its `Authorizer`, and how often that is asked.

    ``auth``: None for a client that authorizes nothing, or has its token from its caller.
    """

    STATUSES = (401, 403)
    """Those of a refusal [2025-03-26..2025-11-25 basic/authorization §Error Handling]
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

    def fields(self, method: str, url: str, grip: Grip) -> Fields:
        """See `Authorizer.fields`."""
        if self.authorizer is None:
            return ()
        with _in_order():
            given = self.authorizer.fields(method, url, grip)
            for name, value in given:
                check(name, value)
        return given

    def opens(self, refusal: Refusal, grip: Grip) -> bool:
        """Whether to send a refused request again; see `Authorizer.refused`. `Unauthorized`: it was often enough."""
        if self.authorizer is None:
            return False
        if refusal.tries >= self._most:
            raise Unauthorized("%s is refused (%d) even after %d authorizations, which is max_authorizations"
                               % (refusal.url.partition("?")[0], refusal.status, refusal.tries))
        with _in_order():
            return self.authorizer.refused(refusal, grip)

    def answered(self, url: str, headers: Headers) -> None:
        """See `Authorizer.answered`."""
        if self.authorizer is not None:
            with _in_order():
                self.authorizer.answered(url, headers)


@contextmanager
def _in_order() -> Iterator[None]:
    """Mistakes of an authorizer, or of what it uses, are an `AuthError`, which does not tell what may be secret."""
    try:
        yield
    except McpError:
        raise
    except Exception as error:
        raise AuthError("authorization failed by an error of the program: %s" % type(error).__name__) from error
