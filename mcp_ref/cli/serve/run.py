"""The command `run`, which serves the `Server` in a Python file: over stdio, a socket, or HTTP."""

import argparse
from typing import TYPE_CHECKING, Any, Dict, Optional

from ..output import DONE, Command, Commands, UsageError, is_text, note, trace_option, trace_to
from .loading import (
    HTTP_ADVICE, add_options, given_options, listen_http, listener_options, load, log_options, logs_told, open_to_all,
    set_up_logs,
)

if TYPE_CHECKING:
    from ...server import Server
    from ...transports.base import Transport
    from ...wiretrace import Trace
    from .logs import Access


def _run(options: Any) -> int:
    _check(options)
    guard = listener_options(given_options(options))
    access = set_up_logs(logs_told(options))
    if options.workers:
        from .workers import supervise

        return supervise(options)
    trace = trace_to(options.trace)
    server = load(options.file, options.name)
    if options.http:
        serve_http(server, options.http, options.sessions, trace, guard, options.grace, access)
    elif options.listen:
        serve_socket(server, options.listen, trace, options.grace)
    else:
        serve_stdio(server, trace)
    return DONE


def serve_stdio(server: "Server", trace: "Optional[Trace]") -> None:
    """Serve one client over standard input and output."""
    if trace is None:
        server.run()
        return
    from ...server.serving.process import serve
    from ...transports.lines.stdio import StdioServer

    serve(server, _tapped(StdioServer(server.limits), trace))


def _tapped(transport: "Transport", trace: "Trace") -> "Transport":
    from ...transports.tap import tap

    return tap(transport, trace, "server")


def serve_socket(server: "Server", address: str, trace: "Optional[Trace]", grace: Optional[float]) -> None:
    """Serve on a socket until a signal comes; print the address, with the chosen port, to standard error.

    ``grace``: the seconds that running requests have after SIGTERM, by default ``serve_grace`` of the server's limits.
    """
    from ...server.serving.process import Termination
    from ...server.serving.socket_listener import ServerListener

    def accept(transport: "Transport") -> Any:
        return server.connect(transport if trace is None else _tapped(transport, trace))

    try:
        listener = ServerListener(server, address, serve=accept)
    except ValueError as error:
        raise UsageError(str(error)) from None
    listener.warns = False
    listener.open()
    try:
        with Termination(lambda: listener.close(server.limits.serve_grace if grace is None else grace)) as termination:
            note("listening on %s; Ctrl-C ends it" % listener.address)
            if listener.reaches_others:
                note(open_to_all(listener.address))
            while not termination.acted.wait(0.5):
                pass  # a Ctrl-C that comes just before a wait begins is seen only when it ends
    finally:
        listener.close()


def _check(options: Any) -> None:
    """Set ``options.sessions`` to its default. Raises `UsageError` for options that do not go together."""
    if options.stateless:
        if options.sessions not in (None, "none"):
            raise UsageError("--stateless is --sessions none, and not %s" % options.sessions)
        options.sessions = "none"
    if not options.http and (options.sessions or options.workers):
        raise UsageError("--sessions, --stateless and --workers are for --http HOST:PORT")
    check_grace(options)
    if options.workers is not None and options.workers < 1:
        raise UsageError("--workers takes a number from 1 on")
    if options.workers and options.trace and not is_text(options.trace):
        raise UsageError("--trace=FILE is for one process: leave out --workers, or show the wire by --trace")
    if options.workers and options.sessions == "memory":
        raise UsageError("--sessions memory is for one process: a client's next request may come to another worker;"
                         " leave it out (sessions are shared then), or --sessions none")
    options.sessions = options.sessions or ("store" if options.workers else "memory")
    kind, colon, path = options.sessions.partition(":")
    if kind not in ("memory", "none", "store") or (colon and (kind != "store" or not path)):
        raise UsageError("--sessions takes memory, none or store:PATH, not %s" % options.sessions)
    if options.sessions == "store" and not options.workers:
        raise UsageError("--sessions store:PATH names the file; without one it is for --workers")


def serve_http(
    server: "Server", address: str, sessions: str, trace: "Optional[Trace]", guard: Dict[str, Any],
    grace: Optional[float], access: "Optional[Access]",
) -> None:
    """Serve over HTTP until a signal comes; print the URL, with the chosen port, to standard error.

    ``grace`` as for `serve_socket`, ``access`` as for `listen_http`.
    """
    from ...server.serving.process import Termination

    listener = listen_http(server, address, sessions, trace, access, **guard)
    ending = Termination(lambda: listener.close(server.limits.serve_grace if grace is None else grace))
    with ending as termination, listener:
        note("serving on %s; Ctrl-C ends it" % listener.address)
        if listener.is_open_to_all:
            note(open_to_all(listener.address) + HTTP_ADVICE)
        while not termination.acted.wait(0.5):
            pass  # a Ctrl-C that comes just before a wait begins is seen only when it ends


def grace_option(parser: Any) -> None:
    """Declare ``--grace``. ``parser``: a parser, or a group of its options."""
    parser.add_argument("--grace", metavar="SECONDS", type=float, help="with --http or --listen: how long running "
                        "calls may go on after SIGTERM (default: serve_grace of the server's limits, 30)")


def check_grace(options: Any) -> None:
    """Raise `UsageError` for a ``--grace`` that is no time, and over stdio, where ``shutdown_grace`` holds."""
    if options.grace is None:
        return
    if not (options.http or options.listen):
        raise UsageError("--grace is for --http HOST:PORT and --listen ADDRESS")
    if not 0 <= options.grace < float("inf"):
        raise UsageError("--grace takes a number of seconds, from 0 on")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python file that makes a mcp_ref Server")
    parser.add_argument("--name", default="server", help="its variable (default: server, or the only one there is)")
    parser.add_argument("--listen", metavar="ADDRESS",
                        help="serve on tcp://host:port or unix:///path instead of standard input and output")
    parser.add_argument("--http", metavar="HOST:PORT", help="serve over HTTP there, at /mcp")
    parser.add_argument("--stateless", action="store_true", help="over HTTP: the same as --sessions none")
    parser.add_argument("--sessions", metavar="WHERE", help="over HTTP: memory (the default), none, or store:PATH, a "
                        "file in which processes of this machine share them; with --workers by default a temporary one")
    parser.add_argument("--workers", metavar="N", type=int,
                        help="over HTTP: serve with N processes; one that dies is replaced")
    grace_option(parser)
    log_options(parser)
    trace_option(parser)
    add_options(parser)


COMMANDS: Commands = {"run": Command(_run, _options)}
