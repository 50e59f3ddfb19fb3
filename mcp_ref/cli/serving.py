"""The command `run`: serve the `Server` that a Python file makes."""

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Optional

from .command import Command, Commands
from .failures import DONE, UsageError
from .output import note

if TYPE_CHECKING:
    from ..server import Server
    from ..transports.base import Transport
    from ..wiretrace import Trace


class LoadError(ValueError):
    """The file does not run; the text says where and why, in one line."""


def _run(options: Any) -> int:
    trace: "Optional[Trace]" = None
    if options.trace and sys.stderr is not None:
        from ..wiretrace import to_text

        trace = to_text(sys.stderr)
    server = load(options.file, options.name)
    if options.http:
        _http(server, options.http, "none" if options.stateless else "memory", trace)
    elif options.listen:
        _listen(server, options.listen, trace)
    else:
        _stdio(server, trace)
    return DONE


def _stdio(server: "Server", trace: "Optional[Trace]") -> None:
    if trace is None:
        server.run()
        return
    from ..server.stdio import serve
    from ..transports.stdio import StdioServer

    serve(server, _tapped(StdioServer(server.limits), trace))


def _tapped(transport: "Transport", trace: "Trace") -> "Transport":
    from ..transports.tap import tap

    return tap(transport, trace, "server")


def _listen(server: "Server", address: str, trace: "Optional[Trace]") -> None:
    """Serve on a socket until interrupted; the address, with the port that was chosen, goes to standard error."""
    import threading

    from ..transports.listener import SocketListener

    def accept(transport: "Transport") -> Any:
        return server.connect(transport if trace is None else _tapped(transport, trace))

    listener = SocketListener(address, accept, server.limits)
    listener.open()
    try:
        note("listening on %s; Ctrl-C ends it" % listener.address)
        forever = threading.Event()
        while not forever.wait(0.5):
            pass  # a Ctrl-C that comes just before a wait begins is seen only when it ends
    finally:
        listener.close()


def _http(server: "Server", address: str, sessions: str, trace: "Optional[Trace]") -> None:
    """Serve over HTTP until interrupted; the URL, with the port that was chosen, goes to standard error."""
    import signal

    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise UsageError("--http takes HOST:PORT, such as 127.0.0.1:8000, not %s" % address)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # closes as cleanly as Ctrl-C does
    server.run_http(host.strip("[]") or "127.0.0.1", int(port), sessions=sessions, trace=trace,
                    ready=lambda url: note("serving on %s; Ctrl-C ends it" % url))


def load(path: str, name: str) -> "Server":
    """The server in a Python file: the variable ``name``, or the only server there is.

    The file runs as if it were imported, with its folder first on the path; what it prints goes to standard error.
    Raises `UsageError` if there is no such file or server, and `LoadError` for what the file itself raises.
    """
    from ..server import Server

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
    """The file and the line of it that raised."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == path:
            line = step.tb_lineno
        step = step.tb_next
    return path if line is None else "%s:%d" % (path, line)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python file that makes a mcp_ref Server")
    parser.add_argument("--name", default="server", help="its variable (default: server, or the only one there is)")
    parser.add_argument("--listen", metavar="ADDRESS",
                        help="serve on tcp://host:port or unix:///path instead of standard input and output")
    parser.add_argument("--http", metavar="HOST:PORT", help="serve over HTTP there, at /mcp")
    parser.add_argument("--stateless", action="store_true", help="over HTTP: no sessions, each request stands alone")
    parser.add_argument("--trace", action="store_true", help="show the wire on standard error")


COMMANDS: Commands = {"run": Command(_run, _options)}
