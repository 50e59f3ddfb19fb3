"""The heads of replies and the refusals that an HTTP server writes, and the parts of `http.server` that it uses.

The engine reads usual requests and writes usual replies itself: ``send_response``, ``send_header`` and ``end_headers``
take 6 microseconds for a head, and `reply_head` takes 0.7. For everything else there is `BaseHTTPRequestHandler`, here
without its sockets: its ``send_error`` words every refusal, its tables give reason phrases and dates, and its
``parse_request`` reads request lines of unusual form and knows how to refuse them.

Nothing that decides where a request ends is left to it. It takes a line of two words as HTTP/0.9, any run of spaces as
one, and, by way of `email`, most of what requests are smuggled with. So it gets a request line without fields, and
what it makes of it is compared with what came.
"""

import io
import re
import time
from http.server import BaseHTTPRequestHandler
from typing import Any, Dict, NoReturn, Optional, Tuple
from urllib.parse import urlsplit

from mcp_ref.urls import is_token
from mcp_ref.http11.message import Pairs, check_fields

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
_WITHOUT_BODY = (204, 304)


class _Today:
    """The Date field, made once a second."""

    second = -1
    line = ""


_shape = RequestShape()
_status_lines: Dict[int, str] = {}


def _status_line(status: int) -> str:
    if not 200 <= status <= 999:
        raise ValueError("%r is no status of a final reply" % (status,))
    phrase = _shape.responses[status][0] if status in _shape.responses else ""
    line = _status_lines[status] = "HTTP/1.1 %d %s\r\n" % (status, phrase)
    return line


def reply_head(status: int, headers: Pairs, framing: str, close: bool) -> bytes:
    """Return the head of a reply. ``framing``: the line, with its end, that says how the body ends.

    Raises `ValueError` for a status or a header that cannot be sent.
    """
    now = int(time.time())
    if now != _Today.second:
        _Today.line = "Date: %s\r\n" % _shape.date_time_string(now)
        _Today.second = now
    lines = (_status_lines.get(status) or _status_line(status)) + _Today.line + framing
    if close:
        lines += "Connection: close\r\n"
    check_fields(headers)
    for name, value in headers:
        lines += name + ": " + value + "\r\n"
    return (lines + "\r\n").encode("latin-1")


def has_body(method: str, status: int) -> bool:
    """Return True if a reply has a body [RFC 9112 §6.3]."""
    return method != "HEAD" and status not in _WITHOUT_BODY


def whole_reply(method: str, status: int, headers: Pairs, body: bytes, close: bool) -> Tuple[bytes, bytes]:
    """Return head and body of a reply. Raises as `reply_head` does."""
    if status in _WITHOUT_BODY:
        return reply_head(status, headers, "", close), b""
    head = reply_head(status, headers, "Content-Length: %d\r\n" % len(body), close)
    return head, b"" if method == "HEAD" else body
