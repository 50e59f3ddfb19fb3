"""OAuth with a person: the authorization code grant in a browser, which ``auth=OAuth()`` uses.

::

    with connect("https://mcp.example.com/mcp", auth=OAuth(client_name="My program")) as client:
        client.call_tool("report", {})       # the first request opens the browser; the person has five minutes

    OAuth(store=FileStore(path))                                  # not again tomorrow
    OAuth("my-id", "my-secret", issuer="https://auth.example.com")    # registered before
    OAuth("my-id", "my-secret", issuer="https://auth.example.com", method="client_secret_post")    # for this method
    OAuth(client_metadata_url="https://example.com/client.json")  # known by a document, see `registration`
    OAuth(authorize=show_in_my_window)                            # a program with a browser of its own

The authorization server is discovered, see `mcp_ref.auth.discover`; `oauth_session` keeps the token and
decides when this grant is used.

The redirect listener is a small HTTP server on this machine that takes one request, that of the browser coming back.
It listens on 127.0.0.1 and on ::1, at the same port, since ``localhost`` may be either; no other machine reaches it.
The request that counts is a GET of exactly the path of the redirect URI, with exactly the ``state`` of the
authorization. Everything else gets 404, and the waiting goes on, so that only a request that knows the state ends it
[2025-06-18..2025-11-25 basic/authorization §Open Redirection] SHOULD
[2026-07-28 basic/authorization/security-considerations §Open Redirection] SHOULD. The browser gets its page when it is
known how the authorization ended. The page says just that: it shows nothing of what the request or the server said, and
the browser keeps nothing of it and passes nothing on.
"""

import re
import selectors
import socket
import sys
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

from ...deadline import Deadline
from ...errors import AuthError, DiscoveryFailed, TokenRefused, Unauthorized
from ...options import closest, with_defaults
from ..fetch import configured
from . import registration
from .grant import GRANT, Grant, takes_grant_options
from .registration import check_client_id_url
from .single_flight import Authorization, call_in_thread
from .token_endpoint import ClientInfo, CodeFlow, Token, check_pkce, parameters, same, union

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..discover import Discovered
    from ..jose import Signer
    from .grant import GrantOptions

REDIRECT_URI = "http://localhost/callback"
"""The place to which the browser comes back; a random port is put in."""
_FORGET = ("invalid_client", "unauthorized_client", "invalid_scope")
"""Errors after which the next authorization begins with a new registration."""
MAX_HEAD = 16 * 1024
"""Bytes of a request; browsers send some 2 KB and the query."""
MAX_OPEN = 16
"""Connections at a time; browsers open some in advance. The oldest is closed first."""
_SLICE = 0.1
"""Seconds between two checks that a request still waits for the authorization."""
_TRIES = 20
"""Random ports to try until one is free on both addresses."""

_LINE = re.compile(rb"GET (/[!-~]*) HTTP/1\.[01]\r?\n")
_PAGE = ("<!DOCTYPE html><html lang=en><meta charset=utf-8><title>%s</title>"
         "<body style='font-family: sans-serif; margin: 4em'><h1>%s</h1><p>%s</html>\n")
_DONE = ("Access allowed", "The program has what it needs. You can close this window.")
_FAILED = ("Access not allowed", "The program got no access, and says why. You can close this window.")
_HEAD = ("HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n"
         "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
         "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n")


class OAuth(Grant):
    """Gets tokens from a person's authorization server, with the person's consent in a browser.

    ``client_id``, ``client_secret``: from a registration made before; pass ``issuer`` as well, the authorization server
    that they are for: they are shown to no other. ``client_metadata_url``: the https URL of our metadata document. With
    neither, we register ourselves if the server lets us, as ``client_name`` (and ``client_uri``), or ask
    ``ask_client(issuer)``, which returns an id and a secret (or None), or None.

    ``redirect_uri``: the place to which the browser comes back. On ``localhost`` (or ``127.0.0.1``) this package
    listens there, at a random port if it names none. ``open_browser(url)`` shows a page; None: `webbrowser`.
    ``authorize(url)`` does all of that instead, for programs with a browser of their own: it returns the URL that the
    browser came back to, and nothing listens. Both run on a thread of their own, for ``authorization_patience`` seconds
    at most.

    ``method``: how the client authenticates at the token endpoint: ``client_secret_basic``, ``client_secret_post`` or
    ``none``. None: the first that the server's metadata lists. A client is registered for one method [RFC 7591 §2], so
    pass the one that yours is registered for. A dynamic registration asks for it, and keeps to what the server answers.

    The other options are those of `Grant`. Raises ValueError for options that do not go together.
    """

    interactive = True
    refreshing = True

    @takes_grant_options
    def __init__(
        self, client_id: Optional[str] = None, client_secret: Optional[str] = None, *, issuer: Optional[str] = None,
        client_metadata_url: Optional[str] = None, client_name: str = "mcp_ref", client_uri: Optional[str] = None,
        redirect_uri: Optional[str] = None, open_browser: Optional[Callable[[str], object]] = None,
        authorize: Optional[Callable[[str], str]] = None, ask_client: Optional[registration.AskClient] = None,
        method: Optional[str] = None, **options: "Unpack[GrantOptions]"
    ) -> None:
        super().__init__(**with_defaults(OAuth.__init__, GRANT, options, self))
        if client_secret is not None and client_id is None:
            raise ValueError("a client_secret needs its client_id")
        if issuer is not None and client_id is None:
            raise ValueError("issuer= says whose client_id= it is: pass both")
        if method is not None:
            _check_method(method, client_id, client_secret, client_metadata_url, self.signer)
        if authorize is not None and open_browser is not None:
            raise ValueError("authorize= takes the place of open_browser=: pass one of them")
        if client_metadata_url is not None:
            check_client_id_url(client_metadata_url)
        self.redirect_uri = REDIRECT_URI if redirect_uri is None else _redirect_uri(redirect_uri)
        if authorize is None:
            place_of(self.redirect_uri)
        self._authorize = authorize
        self._open_browser = _open_browser if open_browser is None else open_browser
        # How `registration` makes us known to an authorization server.
        self.credentials = None if client_id is None else ClientInfo(client_id, client_secret)
        self.issuer, self.method = issuer, method
        self.client_metadata_url, self.client_name, self.client_uri = client_metadata_url, client_name, client_uri
        self.ask_client = ask_client

    @property
    def account(self) -> str:
        """The client id, if the user has passed one; see `Grant.account`."""
        return "" if self.credentials is None else self.credentials.client_id

    def client(self, discovered: "Discovered", context: Authorization) -> Optional[ClientInfo]:
        """Return the client by its registration, without a new one; see `Grant.client`."""
        return registration.known(self, discovered.server, context)

    def refused(self, error: str, discovered: "Discovered", context: Authorization) -> None:
        """Forget a dynamic registration that the server does not take any more; see `Grant.refused`."""
        if error in _FORGET and self.credentials is None:
            context.store.delete("client", discovered.server.issuer)

    def obtain(self, discovered: "Discovered", scopes: Optional[List[str]], context: Authorization) -> Token:
        """Ask the person for consent, and get a token for it; see `Grant.obtain`."""
        check_pkce(discovered, context.revision, self.tolerate)
        if not discovered.server.authorization_endpoint:
            raise DiscoveryFailed("%s has no authorization_endpoint" % discovered.server.issuer)
        try:
            if self._authorize is not None:
                flow = self._flow(self.redirect_uri, discovered, scopes, context)
                return self._exchanged(flow, context.ask_user(self._authorize, flow.url), discovered, context)
            return self._with_listener(discovered, scopes, context)
        except TokenRefused as error:
            self.refused(error.error, discovered, context)
            raise
        except Unauthorized:
            self.refused("invalid_client", discovered, context)  # the person may have seen just that error
            raise

    def _with_listener(self, discovered: "Discovered", scopes: Optional[List[str]], context: Authorization) -> Token:
        host, port, path = place_of(self.redirect_uri)
        with RedirectListener(host, port, path, wanted=self._port_before(discovered, context)) as redirect:
            flow = self._flow(redirect.uri, discovered, scopes, context)
            context.waiting_for_user(True)
            try:
                # A browser in a terminal returns after the redirect.
                showing = call_in_thread(self._open_browser, flow.url)

                def pause(seconds: float) -> None:
                    if showing.done():
                        showing.result()  # raises what the browser's opening has raised
                    context.pause(seconds)

                came = redirect.wait(flow.state, context.limits.authorization_patience, pause)
            finally:
                context.waiting_for_user(False)
            token = self._exchanged(flow, came, discovered, context)
            redirect.show_outcome(True)
            return token

    def _port_before(self, discovered: "Discovered", context: Authorization) -> int:
        """Return the port that we are registered with, or 0: a registration holds for one redirect URI."""
        info = self.client(discovered, context)
        for uri in (info.redirect_uris or ()) if info is not None and info.registered else ():
            try:
                return place_of(uri)[1]
            except ValueError:
                pass  # a redirect URI of the application's own
        return 0

    def _flow(
        self, redirect_uri: str, discovered: "Discovered", scopes: Optional[List[str]], context: Authorization,
    ) -> CodeFlow:
        ever = None if scopes is None else union(scopes, discovered.resource_scopes)
        client = registration.choose(self, discovered.server, redirect_uri, ever, context)
        flow = CodeFlow(discovered, client, redirect_uri, scopes)
        context.fetcher.tell_visit(flow.url, "client")
        return flow

    def _exchanged(self, flow: CodeFlow, redirect: str, discovered: "Discovered", context: Authorization) -> Token:
        context.fetcher.tell_visit(redirect)
        return flow.exchange(flow.code(redirect), context.endpoint(discovered, flow.client, self.signer))


def _open_browser(url: str) -> None:
    """Open the page. Raises `AuthError` if that is not possible: only the program knows how to show the person its URL
    then."""
    import webbrowser

    if not webbrowser.open(url):
        raise AuthError("no browser can be opened here: pass open_browser=, which shows the URL it is given")


def _check_method(
    method: str, client_id: Optional[str], secret: Optional[str], metadata_url: Optional[str],
    signer: "Optional[Signer]",
) -> None:
    """Raise ValueError for a method of authentication that is unknown, or does not go with the other options."""
    if method not in registration.METHODS:
        close = closest(method, registration.METHODS)
        raise ValueError("method=%r is no way to authenticate here%s (%s; signer= has its own)" % (
            method, "; did you mean %r?" % close if close else "", ", ".join(registration.METHODS)))
    if signer is not None:
        raise ValueError("signer= takes the place of method=: pass one of them")
    if method == "none":
        if secret is not None:
            raise ValueError("method='none' shows no client_secret: leave one of them out")
    elif client_id is not None and secret is None:
        raise ValueError("method=%r needs the client_secret" % method)
    elif metadata_url is not None:
        raise ValueError("method=%r needs a secret, which a client with a client_metadata_url does not have" % method)


def _redirect_uri(uri: str) -> str:
    """Return the URI if a browser may be sent there: https, or this machine
    [2025-03-26 basic/authorization §Authorization Flow > Security Considerations]
    [2025-06-18..2025-11-25 basic/authorization §Communication Security]
    [2026-07-28 basic/authorization/security-considerations §Communication Security] MUST. Raises ValueError.
    """
    configured(uri, "redirect_uri")
    return uri if urlsplit(uri).path else uri + "/"


class RedirectListener:
    """Listens until it is closed. ``uri`` is its redirect URI. Used by one thread.

    ``host``: ``localhost``, ``127.0.0.1`` or ``[::1]``: the name in the URI, and if it is an address the only one to
    listen at. ``port``: 0 for a random one; ``wanted``: a random one, preferably this. Raises `AuthError` if no port
    can be bound.
    """

    def __init__(self, host: str = "localhost", port: int = 0, path: str = "/callback", wanted: int = 0) -> None:
        self.path = path
        self._listening: List[socket.socket] = []
        self._open: Dict[socket.socket, bytes] = {}
        self._held: Optional[socket.socket] = None
        self.port = self._bind(host, port, wanted)
        self.uri = "http://%s:%d%s" % (host, self.port, path)

    def __enter__(self) -> "RedirectListener":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def wait(self, state: str, seconds: float, pause: Callable[[float], None]) -> str:
        """Wait for the browser. Returns the URL that it came back to with this state.

        ``pause(0)`` is called now and then, and may raise. Raises `Unauthorized` after ``seconds``.
        """
        deadline = Deadline(seconds)
        with selectors.DefaultSelector() as selector:
            for listening in self._listening:
                selector.register(listening, selectors.EVENT_READ)
            while not deadline.expired():
                for key, _ in selector.select(min(_SLICE, deadline.left() or 0.0)):
                    sock: socket.socket = key.fileobj  # type: ignore[assignment]
                    if sock in self._listening:
                        self._accept(sock, selector)
                        continue
                    if sock not in self._open:
                        continue  # closed a moment ago, to make room for a newer connection
                    url = self._read(sock, state, selector)
                    if url is not None:
                        return url
                pause(0)
        raise Unauthorized("access was not allowed within authorization_patience (%g seconds)" % seconds)

    def show_outcome(self, allowed: bool) -> None:
        """Send the browser a page that says how the authorization ended."""
        held, self._held = self._held, None
        if held is not None:
            _reply(held, "200 OK", *(_DONE if allowed else _FAILED))

    def close(self) -> None:
        """Stop listening. A browser that still waits for its page gets the one of a failure."""
        self.show_outcome(False)
        for sock in [*self._listening, *self._open]:
            sock.close()
        self._listening.clear()
        self._open.clear()

    # Listening

    def _bind(self, host: str, port: int, wanted: int) -> int:
        tries = [port] if port else [wanted] * bool(wanted) + [0] * _TRIES
        for number in tries:
            try:
                return self._bind_both(host, number)
            except OSError as error:
                self.close()
                why = error.strerror
        raise AuthError("cannot listen for the browser at %s%s: %s" % (host, ":%d" % port if port else "", why))

    def _bind_both(self, host: str, port: int) -> int:
        """Listen at one port of all addresses that the host may be. Returns the port. Raises OSError."""
        if host != "[::1]":
            first = _listener(socket.AF_INET, "127.0.0.1", port)
            self._listening.append(first)
            port = int(first.getsockname()[1])
        if host != "127.0.0.1" and (host == "[::1]" or _has_ipv6()):
            # Another program that had this port on ::1 would get the codes of browsers that prefer IPv6.
            second = _listener(socket.AF_INET6, "::1", port)
            self._listening.append(second)
            port = int(second.getsockname()[1])
        return port

    def _accept(self, listening: socket.socket, selector: selectors.BaseSelector) -> None:
        try:
            sock, _ = listening.accept()
        except OSError:
            return  # the browser has closed the connection already
        sock.setblocking(False)
        if len(self._open) >= MAX_OPEN:
            self._drop(next(iter(self._open)), selector).close()
        self._open[sock] = b""
        selector.register(sock, selectors.EVENT_READ)

    def _drop(self, sock: socket.socket, selector: selectors.BaseSelector) -> socket.socket:
        selector.unregister(sock)
        del self._open[sock]
        return sock

    def _read(self, sock: socket.socket, state: str, selector: selectors.BaseSelector) -> Optional[str]:
        """Read what has come. Returns the URL if it is the request that counts, whose connection is then held open."""
        try:
            data = sock.recv(MAX_HEAD)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        head = self._open[sock] = self._open.get(sock, b"") + data
        if not data or len(head) > MAX_HEAD:
            self._drop(sock, selector).close()
            return None
        if b"\r\n\r\n" not in head and b"\n\n" not in head:
            return None
        self._drop(sock, selector)
        target = self._target(head, state)
        if target is None:
            _reply(sock, "404 Not Found", "Not here", "There is nothing at this address.")
            return None
        self._held = sock
        return self.uri[:-len(self.path)] + target

    def _target(self, head: bytes, state: str) -> Optional[str]:
        """Return path and query of the request that counts; None for any other."""
        line = _LINE.match(head)
        target = line.group(1).decode("ascii") if line else ""
        path, _, query = target.partition("?")
        said = parameters(query) if path == self.path else None
        return target if said is not None and same(said.get("state"), state) else None


def _listener(family: "socket.AddressFamily", address: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a fixed port again, right after its last use
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(MAX_OPEN)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def _has_ipv6() -> bool:
    """True if this machine has the address ::1 at all."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


def _reply(sock: socket.socket, status: str, title: str, text: str) -> None:
    body = (_PAGE % (title, title, text)).encode("utf-8")
    try:
        sock.settimeout(1.0)
        sock.sendall((_HEAD % (status, len(body))).encode("ascii") + body)
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the browser has gone
    finally:
        sock.close()


def place_of(redirect_uri: str) -> Tuple[str, int, str]:
    """Return host, port (0: any) and path of a redirect URI at which one can listen. Raises ValueError for any other.
    """
    found = re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])(?::([0-9]{1,5}))?(/[^?#\s]*)\Z", redirect_uri)
    port = int(found.group(2) or 0) if found else 0
    if found is None or port > 65535:
        raise ValueError("a redirect URI to listen at is http://localhost:PORT/path, or with 127.0.0.1 or [::1]; for "
                         "another one pass authorize=")
    return found.group(1), port, found.group(3)
