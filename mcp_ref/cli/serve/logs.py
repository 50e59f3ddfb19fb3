"""The log of the commands that serve: ``--log-level``, ``--log-format`` and ``--access-log``.

As a library the package sets up no logging; here it is set up for the whole process, also for the loggers of the
served file. Without these options `mcp_ref.diagnostics.packagelog` shows warnings. Secrets are masked in records, as
far as `mcp_ref.diagnostics.redaction` recognizes them.

The access log has a line for each HTTP request, written when the response is complete or the client has gone; a stream
has its line at its end. A request that the HTTP server rejects before it is complete (a malformed head, a body that is
too long) has none, but a warning. A line has no header fields, no query and no body::

    2026-11-29 02:03:04,567 127.0.0.1 POST /mcp 200 143 0.004 tools/call

They are time, client address, method, path, status, bytes of the response body, seconds, and the method of the MCP
message, or ``-``. Status 499 means that the client went away before the response was complete. With
``--log-format json`` the same are members of an object: ``time``, ``peer``, ``method``, ``path``, ``status``,
``bytes``, ``seconds``, ``mcp_method``.
"""

import json
import logging
import time
from typing import Any, Callable, Dict, Iterable, Optional, Tuple

from ...deadline import clock
from ...diagnostics.loghandlers import FORMAT, RedactionFilter, Writer, plain
from ...http11.message import Exchange, HttpRequest
from ...jsonrpc import shown
from ...jsontext import JsonError, loads
from ...streamable.http_trace import TracedExchange
from .. import output

_ACCESS = __name__.rpartition(".cli.")[0] + ".access"
_FIELDS = ("peer", "method", "path", "status", "bytes", "seconds", "mcp_method")
_LINE = "%(peer)s %(method)s %(path)s %(status)d %(bytes)d %(seconds).3f %(mcp_method)s"
_CLIENT_GONE, _FAILED = 499, 500
_LONGEST_BODY = 64 * 1024
"""The bytes of a request body from which its method is read, unless a header field has it."""
Handler = Callable[[Exchange], Any]
Access = Callable[[Handler], Handler]
"""A function that makes a handler of HTTP requests write the access log."""


def set_up(given: Dict[str, Any]) -> Optional[Access]:
    """Set up `logging` for this process; return the function that writes the access log, None without ``--access-log``.
    Raises `UsageError` for a file that cannot be written."""
    as_json = given.get("log_format") == "json"
    if "log_level" in given or as_json:
        handler = logging.StreamHandler(Writer())
        handler.setFormatter(_Json() if as_json else _Text(FORMAT))
        handler.addFilter(RedactionFilter())
        logging.basicConfig(level=given.get("log_level", "warning").upper(), handlers=[handler])
    if as_json:
        output.note_form = _note
    if "access_log" not in given:
        return None
    path = given["access_log"]
    target: logging.Handler
    if path == "-":
        target = logging.StreamHandler(Writer())
    else:
        from logging.handlers import WatchedFileHandler

        try:
            target = WatchedFileHandler(path, encoding="utf-8")  # which heeds that logrotate has moved the file
        except OSError as error:
            raise output.UsageError("--access-log %s: cannot be written: %s" % (path, error.strerror)) from None
    target.setFormatter(_Json() if as_json else _Text("%(asctime)s " + _LINE))
    logger = logging.getLogger(_ACCESS)
    logger.handlers[:], logger.propagate = [target], False
    logger.setLevel(logging.INFO)
    return lambda handle: _logged(handle, logger)


def _logged(handle: Handler, logger: logging.Logger) -> Handler:
    def logs(exchange: Exchange) -> None:
        line = _AccessLine(exchange.request, logger)
        try:
            handle(TracedExchange(exchange, line))  # type: ignore[arg-type]  # it tells a line what it tells a trace
        except BaseException:
            line.status = line.status or _FAILED
            line.end("")
            raise

    return logs


class _AccessLine:
    """The line of one exchange; `TracedExchange` tells it of the response."""

    def __init__(self, request: HttpRequest, logger: logging.Logger) -> None:
        self._request, self._logger = request, logger
        self._begun = clock()
        self._method = _mcp_method(request)
        self._bytes = 0
        self._over = False
        self.status = 0

    def request(self, *request: Any) -> "_AccessLine":
        return self

    def response(self, status: int, fields: Iterable[Tuple[str, str]]) -> None:
        self.status = status

    def data(self, data: bytes) -> None:
        self._bytes += len(data)

    def end(self, party: str, complete: bool = True, note: str = "") -> None:
        """Write the line. A second call does nothing."""
        if self._over:
            return
        self._over = True
        request = self._request
        values = (request.peer or "-", shown(request.method), shown(request.path, 300),
                  self.status if complete else _CLIENT_GONE, 0 if request.method == "HEAD" else self._bytes,
                  round(clock() - self._begun, 6), self._method)
        self._logger.info("", extra=dict(zip(_FIELDS, values)))


def _mcp_method(request: HttpRequest) -> str:
    """Return the method of the MCP message in a request, for a log; "-" if there is none."""
    found: Any = request.headers.get("mcp-method")
    if found is None and request.method == "POST" and len(request.body) <= _LONGEST_BODY:
        try:
            message = loads(request.body)
        except JsonError:
            return "-"
        found = message.get("method") if isinstance(message, dict) else None
    return "".join(shown(found).split()) or "-" if isinstance(found, str) else "-"


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return plain(super().format(record))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        found: Dict[str, Any] = {"time": "%s.%03dZ" % (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)), record.msecs)}
        if record.name == _ACCESS:
            found.update((name, getattr(record, name)) for name in _FIELDS)
        else:
            found.update(level=record.levelname, logger=record.name, message=record.getMessage())
            if record.exc_text is None and record.exc_info is not None:
                record.exc_text = self.formatException(record.exc_info)
            if record.exc_text:
                found["exception"] = record.exc_text
        return json.dumps(found)


def _note(text: str) -> str:
    record = logging.makeLogRecord({"name": __name__.rpartition(".cli.")[0], "msg": text, "levelname": "INFO"})
    return _Json().format(record)
