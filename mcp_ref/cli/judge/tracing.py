"""The command `trace`: a shim around a server's pipes, a proxy before a server of the web, a converter."""

import argparse
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, List, Sequence, Tuple

from ..output import DONE, Command, Commands, UsageError, note

if TYPE_CHECKING:
    from ...devtools.recorder.telling import EventWriter
    from ...wiretrace import Sink

SWITCH_SECONDS = 1e-4
"""The time that recording may keep the interpreter from the threads that carry bytes; 5 ms by default."""
STDERR_SECONDS = 2.0
"""The seconds that recording may take in the end where it goes to standard error: a client that has not read it by
then, while the server's output is over, reads none."""


def _trace(options: Any) -> int:
    ways = [bool(options.server), bool(options.http), bool(options.convert)]
    if sum(ways) != 1:
        raise UsageError("trace takes one of: -- CMD..., the command of a server; --http LISTEN URL; --convert IN OUT")
    if options.direction and not options.convert:
        raise UsageError("--from client|server is for --convert")
    if (options.keep_host or options.allowed_host) and not options.http:
        raise UsageError("--keep-host and --allowed-host are for --http LISTEN URL")
    if len(options.server) > 1 and not options.live:
        raise UsageError("the command of the server comes after --: trace -- %s" % " ".join(options.server))
    if options.convert:
        return _convert(options)
    if options.http:
        ends_of(options.http)  # before a file is made
    if options.server:
        from ...devtools.recorder.shim import located
        from ...transports.lines.process import arguments

        # Looked for first, so that no file is made for a server that there is not.
        located(arguments(options.server if options.live else options.server[0])[0])
    with _sink(options.out) as sink:
        if options.http:
            through_proxy(options.http, options.keep_host, sink, options.allowed_host or ())
            return DONE
        code = through_shim(options.server if options.live else options.server[0], sink, options.out == "-")
    from ...devtools.recorder.shim import end_as

    return end_as(code)


def through_shim(command: Any, sink: "Sink", shown: bool = False) -> int:
    """Run a server with a shim around its pipes, and return its exit code as `subprocess` has it.

    ``shown``: the sink writes on standard error.
    """
    from ...devtools.recorder.shim import RECORDED, Shim
    from ...devtools.recorder.telling import EventWriter
    from ...transports.lines.process import arguments

    sys.setswitchinterval(SWITCH_SECONDS)
    words: List[str] = arguments(command)
    teller = EventWriter(sink, "trace", RECORDED)
    shim = Shim(words, teller, seconds=STDERR_SECONDS if shown else None)
    code = shim.run()
    _tell_failure(teller, shim.recorded, shown)
    return code


def through_proxy(http: List[str], keep_host: bool, sink: "Sink", allowed_hosts: Sequence[str] = ()) -> None:
    """Run a proxy until a signal ends it. ``http``: where it listens, and the URL of the server."""
    from ...devtools.recorder.proxy import RECORDED, Proxy
    from ...devtools.recorder.telling import EventWriter
    from ...server.serving.process import Termination

    host, port = ends_of(http)
    sys.setswitchinterval(SWITCH_SECONDS)
    teller = EventWriter(sink, "trace --http", RECORDED)
    try:
        proxy = Proxy(teller, host, port, http[1], keep_host, allowed_hosts=allowed_hosts)
    except ValueError as error:
        raise UsageError("--allowed-host: %s" % error) from None
    try:
        proxy.open()
        with Termination(proxy.close):
            note("mcp_ref: give clients %s in place of %s; Ctrl-C ends it" % (proxy.url, proxy.upstream.origin))
            if not proxy.local:
                note("mcp_ref: warning: %s can be reached from other machines, and whoever reaches it reaches %s"
                     % (proxy.url, proxy.upstream.origin))
            proxy.serve()
    finally:
        proxy.close()
        _tell_failure(teller, proxy.recorded)


def ends_of(http: List[str]) -> Tuple[str, int]:
    """Return host and port of LISTEN, the first of two. Raises `UsageError` if it is none, or the second is no URL."""
    from ...devtools.recorder.proxy import listen_address
    from ...errors import ConnectFailed
    from ...http11.client.connect import server_url

    try:
        found = listen_address(http[0])
        server_url(http[1])
    except ValueError as error:
        raise UsageError(str(error)) from None
    except ConnectFailed as error:
        raise UsageError("--http LISTEN URL: %s" % error) from None
    return found


def _convert(options: Any) -> int:
    from ...devtools.recorder.imported import imported
    from ...wiretrace import JsonLinesSink, TraceCut, TraceError

    source, target = options.convert
    if options.out:
        raise UsageError("--convert IN OUT names the new file itself: leave out --out")
    try:
        events = imported(source, options.direction or "")
        first = next(events, None)
    except OSError as error:
        raise UsageError("cannot read %s: %s" % (source, error.strerror or error)) from None
    except TraceError as error:
        raise UsageError("%s: %s" % (source, error)) from None
    try:
        sink = JsonLinesSink(target)
    except OSError as error:
        raise UsageError("%s: %s" % (target, error.strerror or error)) from None
    try:
        if first is not None:
            sink(first)
        try:
            for event in events:
                sink(event)
        except TraceCut as error:
            note("mcp_ref: %s: %s; all before it is in %s" % (source, error, target))
        except TraceError as error:
            raise UsageError("%s: %s; what is before it is in %s" % (source, error, target)) from None
    finally:
        sink.close()
    return DONE


def _tell_failure(teller: "EventWriter", recorded: bool, shown: bool = False) -> None:
    from ...devtools.recorder.shim import takes_more
    from ...devtools.recorder.telling import stuck

    if stuck() and (shown or not takes_more(2)):
        return  # nobody reads our standard error: writing there would wait for ever, too
    if not recorded:
        note("mcp_ref: the trace is not whole: it could not be written in time")
    elif teller.failure is not None:
        note("mcp_ref: the trace is not whole, for it could not be written: %s" % teller.failure)


@contextmanager
def _sink(target: str) -> "Iterator[Sink]":
    """Give a sink that writes into a new file, or as text to standard error for ``-``; "": a file with a default name.

    Where there can be no file, the sink forgets everything.
    """
    from ...devtools.recorder.telling import stuck
    from ...wiretrace import recording
    from ...wiretrace.text import TextSink

    if target == "-":
        yield TextSink(sys.stderr)
        return
    name = target or time.strftime("mcp-trace-%Y%m%d-%H%M%S-") + "%d.jsonl" % os.getpid()
    sink, problem = recording(name)
    if problem or not target:
        note("mcp_ref: %s" % (problem or "the trace is in %s" % os.path.abspath(name)))
    if sink is None:
        yield lambda event: None
        return
    try:
        yield sink
    finally:
        try:
            if not stuck():  # whose lock would be waited for
                sink.close()
        except OSError:
            pass  # a full disk, which `_tell_failure` has told of: the exit code is the server's


_HELP = """\
ways to use it:
  trace [--out FILE] -- CMD...           write this where the server's command stands now, in the client's settings:
                                         it starts CMD, passes on all that goes over its pipes, and records it
  trace [--out FILE] --http LISTEN URL   listen on LISTEN (HOST:PORT, or PORT on 127.0.0.1) and pass all requests on to
                                         the server at URL; give the client LISTEN in place of the server's own address
  trace --convert IN OUT                 write what another tool has recorded, a HAR or JSON-RPC messages one a line, as
                                         a trace; --from says whose messages they are, if those of one party alone

The trace is JSON Lines; credentials in it are masked (what a tool does with personal data no mask can know). It is
written into a new file, mcp-trace-DATE-TIME-PID.jsonl, whose name stands on standard error, or as --out says. Where
that file is there already, its name gets a number; where it cannot be written, the temporary folder has it; where the
disk is full, the trace ends. Standard error says so, and the server runs on.

Exit codes: with CMD those of the server; if a signal ended it, this ends by the same signal. SIGTERM and Ctrl-C are
passed on. 2: wrong usage. 3: the server could not be started."""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _HELP
    parser.add_argument("server", metavar="CMD", nargs="*",
                        help="the command that starts the server: after --, or in quotes")
    parser.add_argument("--out", metavar="FILE", default="",
                        help="write the trace there, into a new file. -: as text for people, on standard error")
    parser.add_argument("--http", nargs=2, metavar=("LISTEN", "URL"), help="stand before a server of the web")
    parser.add_argument("--keep-host", action="store_true",
                        help="with --http: pass the header field Host on as the client wrote it, for a server that "
                        "makes its own URLs (metadata, redirects) from it; by default it names the server")
    parser.add_argument("--allowed-host", metavar="NAME", action="append",
                        help="with --http: a name by which clients reach it, beside this machine's addresses, such as "
                        "recorder.example.com")
    parser.add_argument("--convert", nargs=2, metavar=("IN", "OUT"), help="make a trace of another tool's recording")
    parser.add_argument("--from", dest="direction", choices=("client", "server"),
                        help="with --convert: the sender of all messages in the file")


COMMANDS: Commands = {"trace": Command(_trace, _options, uses_server=True)}
