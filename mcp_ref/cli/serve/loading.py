"""Loading the server from a Python file, opening a listener for it, and the options of its log: shared by `run`,
`bridge` and `workers`.
"""

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ..output import UsageError

if TYPE_CHECKING:
    from ...server import Server
    from ...server.serving.http_listener import HttpListener
    from ...wiretrace import Trace
    from .logs import Access


class LoadError(ValueError):
    """The file raised an exception; the text says where and why, in one line."""


def host_and_port(address: str) -> Tuple[str, int]:
    """Return host and port of an argument of ``--http``. Raises `UsageError`."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and len(port) < 6):
        raise UsageError("--http takes HOST:PORT, such as 127.0.0.1:8000, not %s" % address)
    return host.strip("[]") or "127.0.0.1", int(port)


def listen_http(
    server: "Server", address: str, sessions: str, trace: "Optional[Trace]", access: "Optional[Access]" = None,
    **options: Any
) -> "HttpListener":
    """Return a listener for HTTP that is not open yet. ``sessions`` as on the command line, ``options`` as
    `HttpListener`, ``access``: what `set_up_logs` has returned.
    """
    from ...server.serving.http_listener import PATH, HttpListener

    host, port = host_and_port(address)
    kept: Any = sessions
    if sessions.startswith("store:"):
        from ...stores.sqlite import SqliteStore

        kept = SqliteStore(sessions[len("store:"):])
    scheme = "https" if options.get("ssl_context") else "http"
    url = "%s://%s:%d%s" % (scheme, "[%s]" % host if ":" in host else host, port, PATH)
    listener = HttpListener(server, url, sessions=kept, trace=trace, **options)
    if access is not None:
        listener.http.handler = access(listener.http.handler)
    listener.warns = False  # the caller prints the warning on the terminal, once for all workers
    return listener


def open_to_all(address: str) -> str:
    """Return the warning about a server that other machines can reach and that asks for no credentials."""
    return "mcp_ref: warning: %s can be reached from other machines, and nobody has to show who they are" % address


HTTP_ADVICE = ": use --token-env NAME, or --resource URL with --authorization-server URL"


def log_options(parser: Any) -> None:
    """Declare the options of `logs`. ``parser``: a parser, or a group of its options."""
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), help="the least level of records "
                        "that are written to standard error (default: warning)")
    parser.add_argument("--log-format", choices=("text", "json"), help="the form of what is written to standard error "
                        "and to the access log: lines of text (default), or JSON objects, one a line")
    parser.add_argument("--access-log", metavar="FILE", help="with --http: append a line for each request to FILE; - is"
                        " standard error")


def logs_told(options: Any) -> Dict[str, Any]:
    """Return the options of `logs` that were given, by name; a worker gets them as JSON. Raises `UsageError` for an
    access log without HTTP."""
    if options.access_log and not options.http:
        raise UsageError("--access-log is for --http HOST:PORT")
    names = ("log_level", "log_format", "access_log")
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def set_up_logs(given: Dict[str, Any]) -> "Optional[Access]":
    """Set up logging as the options say; return the function that writes the access log, as `logs.set_up` does."""
    if not given:
        return None
    from .logs import set_up

    return set_up(given)


def load(path: str, name: str) -> "Server":
    """Return the server in a Python file: the variable ``name``, or the only server in the file.

    The file runs as if it were imported, with its folder first on the path; what it prints goes to standard error.
    Raises `UsageError` if there is no such file or server, and `LoadError` for what the file itself raises.
    """
    from ...server import Server

    made = _namespace(path)
    servers = {id(value): value for value in made.values() if isinstance(value, Server)}
    chosen = made.get(name)
    if not isinstance(chosen, Server) and len(servers) == 1:
        chosen = next(iter(servers.values()))
    if not isinstance(chosen, Server):
        raise UsageError("%s has %d servers; name the one to serve: --name VARIABLE" % (path, len(servers)))
    return chosen


def _namespace(path: str) -> Dict[str, Any]:
    import runpy

    if not os.path.isfile(path):
        raise UsageError("there is no file %s; the command is: run FILE" % path)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output will be the protocol's
            return runpy.run_path(path, run_name="mcp_ref_served")
    except Exception as error:
        raise LoadError("%s raised %s: %s; run it with python3 for the traceback" % (
            _place(path, error), type(error).__name__, error)) from None


def _place(path: str, error: Exception) -> str:
    """Return the file, with the line that raised where it is known."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == path:
            line = step.tb_lineno
        step = step.tb_next
    return path if line is None else "%s:%d" % (path, line)
