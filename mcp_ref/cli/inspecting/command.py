"""The command `inspect`: a page in the browser that shows sessions while they go on, and takes part in them.

The page is served to programs of this machine alone, at a port that the system chooses, and to those who have the
token in the URL. The arguments of a browser can be read by every user of the machine. So it gets the name of a file
that only this user can read, and that leads it to the URL.

Ctrl-C, SIGTERM and SIGHUP end it and the servers that it has started, and nothing is kept.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import tempfile
import threading
from functools import partial
from html import escape
from typing import Any, Dict, List, Tuple

from ...devtools.inspector.live import Access, Feed
from ...limits import DEFAULT
from ..output import DONE, Command, Commands, UsageError, note, one_line, say
from ..use.connecting import entries_of, target_options

_HELP = """\
ways to use it:
  inspect                       open the page, and connect there
  inspect SERVER [SERVER...]    connect to these at once: commands in quotes, URLs, tcp://, unix://, mcp.json:NAME
  inspect -- CMD...             connect to the server that this command starts
  inspect --config FILE         offer the entries of a host's file
  inspect FILE.jsonl            show a recorded session

The URL has a token: who has it can use the page, and start programs. It is shown on standard output, and the browser
opens it; --no-open leaves that out."""


def _configure(parser: argparse.ArgumentParser) -> None:
    target_options(parser)
    server = next(action for action in parser._actions if action.dest == "server")
    server.nargs = "*"
    server.default = []
    parser.add_argument("--config", metavar="FILE", help="a host's file, such as mcp.json, whose entries are offered")
    parser.add_argument("--no-open", action="store_true", help="print the URL, and open no browser")
    parser.add_argument("--port", type=int, default=0, metavar="N",
                        help="the port to listen on (default: any free one)")
    parser.epilog = _HELP


def _inspect(options: Any) -> int:
    recorded = _recording(options)
    from ...http11.server.server import HttpServer
    from ...streamable.server.own_routes import OwnRoutes, own_route
    from ..learn.entries import glossary
    from .desk import PageActions

    feed = Feed("Inspector", glossary)
    trace = _trace(options, feed)
    desk = PageActions(feed, trace, options)
    access = Access(feed, {} if recorded is not None else desk.acts, document=recorded)
    own = OwnRoutes([own_route(method, path, function, "here") for method, path, function in access.routes()],
                    DEFAULT, (), _SHARED)
    http = HttpServer(partial(_handle, own), "127.0.0.1", options.port, name="inspect")
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as ends:
        for number in (getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)):
            ends.callback(signal.signal, number, signal.signal(number, signal.default_int_handler) or signal.SIG_DFL)
        for end in (trace.close, http.close, desk.close, feed.close):
            ends.callback(end)
        http.open()
        url = access.url(http.url)
        say(url)
        if not options.no_open:
            _open(url, ends)
        _begin(options, feed, desk)
        while True:  # short waits: a signal that comes just before a wait begins is handled only when the wait ends
            threading.Event().wait(0.5)
    return DONE


_SHARED: Dict[str, Any] = {
    "authenticate": None, "allowed_hosts": ("localhost", "127.0.0.1", "[::1]"), "strict": False, "held": None,
    "allowed_origins": ("localhost", "127.0.0.1", "[::1]"), "trusted_proxies": ()}


def _handle(own: Any, exchange: Any) -> None:
    endpoint = own.at(exchange.request.path)
    if endpoint is None:
        exchange.reply(404, (("Content-Type", "text/plain"),), b"there is nothing here\n")
    else:
        endpoint.handle(exchange)


def _trace(options: Any, feed: Feed) -> Any:
    from ...wiretrace import Trace
    from ..output import trace_to

    trace = trace_to(options.trace, feed.take) or Trace(feed.take)
    trace.records("process", "stderr", "documents")
    return trace


def _recording(options: Any) -> Any:
    """Return the document of the recording that is to be shown; None if servers are to be used."""
    servers = options.server
    if options.live or len(servers) != 1 or not servers[0].endswith((".jsonl", ".har")):
        return None
    from ..judge.ladder import document_of

    return document_of(servers[0])[0]


def _begin(options: Any, feed: Feed, desk: Any) -> None:
    """Connect to the servers that were named, each on a thread; offer the entries of a file."""
    from ...threads import start_thread

    for name, server in _entries(options):
        feed.put("entry", name, {"server": server})
    from shlex import quote

    servers = [" ".join(map(quote, options.server))] if options.live else options.server
    for server in servers:
        era = options.revision or options.era
        start_thread("mcp-ref:inspect", desk.connect, {"server": server, "era": era, "oauth": options.oauth})


def _entries(options: Any) -> List[Tuple[str, str]]:
    if options.config is None:
        return []
    if not os.path.isfile(options.config):
        raise UsageError("--config: there is no file %s" % options.config)
    from ...host.configuration import Configuration

    try:
        names = list(Configuration.load(options.config).servers)
    except (OSError, ValueError) as error:
        raise UsageError("--config: %s" % one_line(str(error))) from None
    return list((entries_of(options.config) or {name: "%s:%s" % (options.config, name) for name in names}).items())


def _open(url: str, ends: contextlib.ExitStack) -> None:
    """Have a browser open the URL by way of a file, which is removed in the end."""
    import webbrowser

    folder = tempfile.mkdtemp(prefix="mcp_ref.")
    ends.callback(shutil.rmtree, folder, ignore_errors=True)
    file = pathlib.Path(folder, "inspect.html")
    file.touch(0o600)
    file.write_text('<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s">'
                    % escape(url), encoding="utf-8")
    if not webbrowser.open(file.as_uri()):
        note("no browser could be started: open the URL yourself")


COMMANDS: Commands = {"inspect": Command(_inspect, _configure, uses_server=True)}
