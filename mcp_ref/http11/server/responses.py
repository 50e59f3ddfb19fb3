"""The refusals that an HTTP server writes, and the parts of `http.server` that it uses.

`RequestShape` is `BaseHTTPRequestHandler` without its sockets: its ``send_error`` words every refusal, and its
``parse_request`` reads request lines of unusual form and knows how to refuse them. `connection.Connection` adds the
socket, and writes heads of replies by ``send_response_only``, ``send_header`` and ``end_headers``.

Nothing that decides where a request ends is left to it. It takes a line of two words as HTTP/0.9, any run of spaces as
one, and, by way of `email`, most of what requests are smuggled with. So it gets a request line without fields, and
what it makes of it is compared with what came.
"""

import io
import re
from http.server import BaseHTTPRequestHandler
from typing import Any, NoReturn, Optional, Tuple
from urllib.parse import urlsplit

from ...urls import is_token

RETRY_AFTER = {503: "5"}
"""The seconds for Retry-After, by status [RFC 9110 §10.2.3]."""

_VERSION = re.compile(r"HTTP/1\.[0-9]").fullmatch
_TARGET = re.compile(r"[!-~]+").fullmatch


class Refused(Exception):
    """A request that is answered with ``status`` and ``reason``, and is the last one of its connection."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class RequestShape(BaseHTTPRequestHandler):
    """The handler of `http.server`, without a socket: for one request line, or one refusal."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/0.9"
    error_content_type = "text/plain;charset=utf-8"
    error_message_format = "%(code)d %(message)s: %(explain)s\n"

    def __init__(self, line: str = "", command: str = "") -> None:
        """Set up the parts without handling a request, unlike the original."""
        self.raw_requestline = line.encode("latin-1")
        self.rfile = io.BytesIO(b"\r\n")
        self.wfile = io.BytesIO()
        self.request_version = "HTTP/1.1"
        self.requestline = line
        self.command = command

    def send_response(self, code: int, message: Optional[str] = None) -> None:
        """Write the head, and Retry-After where another try is worth it, as the endpoints do."""
        super().send_response(code, message)
        if code in RETRY_AFTER:
            self.send_header("Retry-After", RETRY_AFTER[code])

    def version_string(self) -> str:
        """Return a name without a version that an attacker could look up."""
        return "mcp_ref"

    def log_message(self, *arguments: Any) -> None:
        """Do nothing: the engine logs refusals itself."""


class _RequestLine(RequestShape):
    """A reader of one request line: an error is raised, not sent."""

    def send_error(self, code: int, message: Optional[str] = None, explain: Optional[str] = None) -> NoReturn:
        """Raise `Refused` with this status."""
        raise Refused(int(code), "a request line that cannot be read" if code == 400 else message or "")


def unusual_request_line(line: str) -> Tuple[str, str, str, Optional[str]]:
    """Return method, target, minor version and, of a target with a host in it, the host. Raises `Refused`.

    Unusual lines are: ``OPTIONS *``, ``CONNECT host:port``, a whole URL as the target, other versions, and mistakes.
    """
    shape = _RequestLine(line)
    readable = shape.parse_request()
    version = shape.request_version
    method, target = (shape.command or "", line.split(" ")[1]) if readable and " " in line else ("", "")
    if "%s %s %s" % (method, target, version) != line or not is_token(method) or not _TARGET(target):
        raise Refused(400, "a request line that is not: method, target and version with one space between them")
    if not _VERSION(version):
        raise Refused(400, "a version other than HTTP/1.0 and HTTP/1.1")
    authority = None
    if not (target.startswith("/") or (target == "*" and method == "OPTIONS") or method == "CONNECT"):
        authority, target = _split_url(target)
    return method, target, version[-1], authority


def _split_url(target: str) -> Tuple[str, str]:
    """Return host and target of a request target that is a URL. Its host counts, not the Host field [RFC 9112 §3.2.2].
    """
    try:
        parts = urlsplit(target)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Refused(400, "a target that is neither a path nor a URL of this server")
    return parts.netloc, (parts.path or "/") + ("?" + parts.query if parts.query else "")


def refusal(status: int, reason: str = "", method: str = "") -> bytes:
    """Return a reply that refuses a request in plain text and ends the connection.

    Without ``reason`` it has the usual words of the status.
    """
    shape = RequestShape(command=method)
    shape.send_error(status, None, reason.encode("ascii", "backslashreplace").decode() or None)
    return shape.wfile.getvalue()  # type: ignore[attr-defined, no-any-return]


# --- Heads of replies -------------------------------------------------------------------------------------------------

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
WITHOUT_BODY = (204, 304)


def has_body(method: str, status: int) -> bool:
    """Return True if a reply has a body [RFC 9112 §6.3]."""
    return method != "HEAD" and status not in WITHOUT_BODY
