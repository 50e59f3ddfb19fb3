"""The endpoint as a WSGI application, for gunicorn, uWSGI, mod_wsgi, waitress and the like [PEP 3333].

::

    application = server.wsgi()          # gunicorn --threads 16 module:application

WSGI gives each request a thread and keeps it until the reply is over. This has consequences:

- A reply is JSON wherever nothing has to come before the result. A stream holds a thread of the WSGI server while it is
  open: give the server threads (gunicorn ``--threads``, uWSGI ``--threads``, mod_wsgi ``threads=``). GET streams stay
  open for ever; an endpoint made with ``streams=False`` answers 405 to them.
- A handler that asks the client something waits for another POST: there must be a thread left to take it, or another
  process with a `Store`. Where there is neither, handlers cannot ask the client anything. (In 2026-07-28 a handler that
  asks does not wait, so this does not concern it.)
- Several *processes* share no memory. With ``sessions="memory"`` a session lives in the one that began it, and the
  others answer 404; so either one process with threads, or a balancer that sends a session always the same way, or
  ``sessions=SqliteStore(path)``, or ``sessions="none"``: then any process may answer, and handlers cannot ask the
  client of a handshake revision. The first request that shows such a mistake is logged as a warning.
- A client that has gone away is noticed when something is sent to it, at the latest a keep-alive comment. Where
  there is no session this cancels its request, once the engine closes the iterable: for a stream that happens while it
  is open; for JSON it is too late.
- `subscriptions/listen` keeps a stream open, too; an endpoint made with ``streams=False`` answers 404 to it.
- Of fields that came several times a WSGI server makes one, with commas. Where no comma belongs (session, version,
  origin, media type and the like) such a request is refused, as elsewhere. `Mcp-Name` and `Mcp-Param-*` may have commas
  of their own, so ``a`` and ``b`` pass for ``a, b`` here if that is what the body says: where a proxy goes by these
  fields, have it refuse two of them.
- Handlers run on threads beside those of the server (see `call`): uWSGI needs ``--enable-threads`` in any case.
  mod_wsgi hides the field Authorization unless told ``WSGIPassAuthorization On``.

The address: at the root of its server, or below a prefix (SCRIPT_NAME), the endpoint's path is that of PATH_INFO;
mounted at its very place, so that no PATH_INFO is left, it is the whole.
"""

from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple
from urllib.parse import quote

from ...http11.message import Headers, HttpRequest
from ...http11.server.responses import Refused, RequestShape
from ...protocol.streamable_http.mirrored import METHOD
from ...protocol.streamable_http.refusals import SINGLE
from .call import Caller, Chunks

Environ = Dict[str, Any]
_AT_ONCE = 1024 * 1024
"""The bytes that are read at once: a length that a client only claims must not cost memory."""
_UNQUOTED = "/:@!$&'()*+,;=~"
_LONGEST_LENGTH = 15
_HOP_BY_HOP = frozenset(("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
                         "trailers", "transfer-encoding", "upgrade"))
_SINGLE = frozenset(name.lower() for name in (*SINGLE, METHOD))
ONE_THREAD = ("one thread serves this application, which cannot wait for an answer and take it: give the WSGI server"
              " threads, or processes and sessions=SqliteStore(path)")
_PLAIN = ("Content-Type", "text/plain; charset=utf-8")


class Application:
    """The WSGI application of an endpoint, an `Endpoint` or the like; see `Caller` and the module. `close` ends the
    endpoint and its sessions."""

    def __init__(self, endpoint: Any) -> None:
        self._caller = Caller(endpoint)
        self._advised = False

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        if not self._advised:
            self._advised = True
            advise(environ, self._caller.endpoint)
        try:
            exchange = self._caller.begin(request_of(environ, self._caller.limits.max_message_bytes))
        except Refused as refused:
            body = ("%s\n" % refused).encode("ascii", "backslashreplace")
            start_response(_status(refused.status), [_PLAIN, ("Content-Length", str(len(body)))])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
        headers = [(name, value) for name, value in exchange.headers if name.lower() not in _HOP_BY_HOP]
        bodiless = exchange.status in (204, 304)
        if not bodiless and not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(_PLAIN)  # wsgiref.validate wants one even where there is no body, as with 202
        if exchange.length is not None and not bodiless:
            headers.append(("Content-Length", str(exchange.length)))
        start_response(_status(exchange.status), headers)
        return Chunks(exchange, self._caller.tick)

    def close(self, grace: float = 0.0) -> None:
        """End the endpoint, as `Caller.close`."""
        self._caller.close(grace)


def advise(environ: Environ, endpoint: Any) -> None:
    """Log a warning if the threads and processes of this WSGI server do not fit the place of the sessions."""
    if getattr(endpoint, "sessions", None) is None:
        return
    from ...diagnostics.packagelog import get_logger

    shared = bool(endpoint.sessions.shared)
    if environ.get("wsgi.multiprocess") and not shared:
        get_logger(__name__).warning(
            "several processes serve this application, and a session lives in one of them: run one process with"
            " threads, or use sessions='none' or a SqliteStore, or a balancer that sends a session always to the same")
    if not environ.get("wsgi.multithread") and not (environ.get("wsgi.multiprocess") and shared):
        endpoint.unasked = ONE_THREAD
        if not environ.get("wsgi.multiprocess"):
            get_logger(__name__).warning("handlers cannot ask clients of handshake revisions: %s", ONE_THREAD)


def request_of(environ: Environ, most: int) -> HttpRequest:
    """Return the request that this environment describes. Raises `Refused`.

    ``most``: the limit in bytes of the body, of which hardly more is read.
    """
    method = environ["REQUEST_METHOD"]
    root, path = environ.get("SCRIPT_NAME", ""), environ.get("PATH_INFO", "")
    if path in ("", "/") and root:
        root, path = "", root
    return HttpRequest(
        method=method,
        path=_quoted(path),
        headers=_Headers(_fields(environ)),
        body=_body(environ, most) if method == "POST" else b"",
        query=environ.get("QUERY_STRING", ""),
        version=environ.get("SERVER_PROTOCOL", "HTTP/1.1"),
        peer=environ.get("REMOTE_ADDR", ""),
        secure=environ.get("wsgi.url_scheme") == "https",
        root=_quoted(root),
    )


class _Headers(Headers):
    """The header fields of an environment, whose variables have no hyphens in their names: ``_`` is ``-`` here."""

    __slots__ = ()

    def get(self, name: str) -> Optional[str]:
        return super().get(name.replace("_", "-"))


def _quoted(path: str) -> str:
    """Return a path as it stands in a URL; servers hand it over decoded, one character for each byte."""
    return quote(path.encode("latin-1"), _UNQUOTED)


def _fields(environ: Environ) -> List[Tuple[str, str]]:
    fields = [(name[5:].replace("_", "-"), value) for name, value in environ.items()
              if name.startswith("HTTP_") and name not in ("HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH")]
    if environ.get("CONTENT_TYPE"):
        fields.append(("content-type", environ["CONTENT_TYPE"]))
    return [pair for field in fields for pair in _apart(*field)]


def _apart(name: str, value: str) -> List[Tuple[str, str]]:
    """Return the fields that the server has joined to this one, where no comma can be part of the value."""
    if "," not in value or name.lower() not in _SINGLE:
        return [(name, value)]
    return [(name, part.strip()) for part in value.split(",")]


def _body(environ: Environ, most: int) -> bytes:
    """Read the body. Without Content-Length that works only where the server ends it (``wsgi.input_terminated``)."""
    length = environ.get("CONTENT_LENGTH") or ""
    if length:
        if not (length.isdigit() and length.isascii()):
            raise Refused(400, "a Content-Length that is no number")
        if len(length) > _LONGEST_LENGTH or int(length) > most:
            raise Refused(413, "body of %.20s bytes exceeds max_message_bytes (%d)" % (length, most))
        wanted = int(length)
    elif environ.get("wsgi.input_terminated"):
        wanted = most + 1  # which the endpoint refuses
    elif environ.get("HTTP_TRANSFER_ENCODING"):
        raise Refused(411, "a body without Content-Length, which this server does not take apart")
    else:
        return b""
    body = _read(environ["wsgi.input"], wanted)
    if length and len(body) < wanted:
        raise Refused(400, "a body shorter than its Content-Length")
    return body


def _read(stream: Any, wanted: int) -> bytes:
    pieces: List[bytes] = []
    while wanted > 0:
        try:
            piece = stream.read(min(wanted, _AT_ONCE))
        except OSError as error:  # what servers raise for a client that has gone, or for chunks that are none
            raise Refused(400, "a body that cannot be read") from error
        if not piece:
            break
        pieces.append(piece)
        wanted -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _status(status: int) -> str:
    known = RequestShape.responses.get(status)
    return "%d %s" % (status, known[0] if known else "Unknown")
