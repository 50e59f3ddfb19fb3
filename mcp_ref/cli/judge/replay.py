"""The commands `replay` and `trace-diff`: play a recording again as either party, and compare two by meaning."""

import argparse
import threading
from typing import Any, List

from ...devtools.playback.script import Recording, shown_request
from ..output import DONE, FAILED, Command, Commands, UsageError, note, say, say_json
from .check import judge_file

_SHOWN = 5
"""The places with masked secrets, and the requests that did not come, that are listed."""
_REPLAY = """\
ways to use it:
  replay FILE --as-server                  answer a client on standard input and output: write this where the server's
                                           command stands in the client's settings
  replay FILE --as-server --http LISTEN    the same on HOST:PORT, or PORT on 127.0.0.1: Streamable HTTP, and HTTP+SSE
                                           at /sse
  replay FILE --as-client SERVER           send a server what the recorded client has sent, and say where it answers
                                           otherwise; SERVER is a command in quotes, or a URL

FILE is what the command check reads: a trace, a HAR, or JSON-RPC messages one a line.

As server, a request is found by its method and its params; ids, progress tokens and session ids are the live client's.
What was not recorded gets an error that names the nearest request that was.
A message comes after the pause that was recorded before it, of at most 10 seconds; --speed 2 makes pauses half as long,
--speed max leaves them out.
As client, ids, times, cursors and tokens do not count; they are the live server's.

A trace has masks in place of secrets. As server they are sent as they are; as client a request with one is left out,
unless the live server has sent what belongs there.

Exit codes: as server 0 in the end. As client 0: the same answers; 1: others; 3: no connection. 2: wrong usage, or
nothing to replay."""
_DIFF = """\
It compares revisions, capabilities, names of the parties, tools, resources and prompts with their schemas, results and
errors of equal requests, and the order of messages. Ids, times, cursors and tokens do not count.

A and B are what the command check reads: a trace, a HAR, or JSON-RPC messages one a line.

Exit codes: 0: they mean the same. 1: they differ. 2: one of them cannot be read, or has no messages."""


def read_script(name: str, done: str) -> Recording:
    """Return a recording as a script. ``done``: what cannot be done, for the error. Raises `UsageError`."""
    script = Recording("standard input" if name == "-" else name)
    broke_off = judge_file(name, script.take, done)
    script.finish()
    if broke_off:
        note("mcp_ref: %s: %s" % (name, broke_off))
    if not script.talks:
        raise UsageError("%s has no messages: there is nothing to be %s" % (name, done))
    return script


def _replay(options: Any) -> int:
    if options.as_server == (options.as_client is not None):
        raise UsageError("replay as which party? --as-server, or --as-client SERVER")
    if options.as_client is not None and options.speed is not None:
        raise UsageError("--speed is for --as-server")
    script = read_script(options.file, "replayed")
    for text in script.gaps[:_SHOWN]:
        note("mcp_ref: not recorded, so not replayed: %s" % text)
    if script.masked:
        note("mcp_ref: %d masked secrets, which cannot be replayed: %s%s" % (
            len(script.masked), "; ".join(script.masked[:_SHOWN]), " ..." * (len(script.masked) > _SHOWN)))
    return _as_server(options, script) if options.as_server else _as_client(options, script)


def _as_server(options: Any, script: Recording) -> int:
    from ...devtools.playback.player import Book, play

    book = Book(script, 1.0 if options.speed is None else options.speed)
    try:
        if options.http is None:
            play(book, tell=lambda text: note("mcp_ref: " + text))
        else:
            _serve(book, options.http)
    except KeyboardInterrupt:
        pass  # the way to end it
    _tell(book)
    return DONE


def _serve(book: Any, listen: str) -> None:
    from ...devtools.playback.web import Site
    from ...devtools.recorder.proxy import listen_address
    from ...server.serving.process import Termination

    try:
        host, port = listen_address(listen)
    except ValueError as error:
        raise UsageError(str(error)) from None
    site, ended = Site(book, host, port), threading.Event()
    site.open()
    try:
        with Termination(ended.set):
            note("mcp_ref: replaying on %s , over HTTP+SSE on %s ; Ctrl-C ends it" % (site.url, site.sse_url))
            while not ended.wait(0.5):
                pass  # a Ctrl-C that comes just before a wait begins is seen only when it ends
    finally:
        site.close()


def _tell(book: Any) -> None:
    """Say how much of the recording was played."""
    tally, turns = book.tally, [turn for turn in book.script.turns if turn.is_request]
    left = [turn for turn in turns if turn.message.index not in tally.played]
    note("mcp_ref: %d requests answered from the recording, %d not in it; %d of its %d requests did not come" % (
        tally.answered, len(tally.refused), len(left), len(turns)))
    for text in [*tally.refused[:_SHOWN], *tally.other[:_SHOWN]]:
        note("mcp_ref: " + text)
    for turn in left[:_SHOWN]:
        note("mcp_ref: did not come: %s" % shown_request(turn.message.method, turn.message.params))


def _as_client(options: Any, script: Recording) -> int:
    from ...devtools.examiner import wire_to
    from ...devtools.playback.driver import Drive
    from ..output import trace_to

    if not options.timeout > 0:
        raise UsageError("--timeout must be more than 0 seconds")
    drive = Drive(script, wire_to(options.as_client, fields=_token(options)), options.timeout)
    trace = trace_to(options.trace)
    try:
        drive.run(trace)
    finally:
        if trace is not None:
            trace.close()
    wrong = [each for each in drive.answers if each.differences or each.why]
    if options.json:
        say_json({"requests": len(drive.answers), "unexpected": drive.unexpected, "different": [
            {"request": each.request, "line": each.line or None, "why": each.why or None,
             "differences": [place._asdict() for place in each.differences]} for each in wrong]})
    else:
        say("\n".join(_lines(drive, wrong)))
    return FAILED if wrong or drive.unexpected else DONE


def _token(options: Any) -> List[Any]:
    import os

    if options.token_env is None:
        return []
    value = os.environ.get(options.token_env)
    if not value:
        raise UsageError("--token-env %s: there is no such variable in the environment" % options.token_env)
    return [("Authorization", "Bearer " + value)]


def _lines(drive: Any, wrong: List[Any]) -> List[str]:
    lines = []
    for each in wrong:
        lines.append(each.request + (" (line %d)" % each.line if each.line else "") + ":")
        lines += ["    " + each.why] * bool(each.why)
        lines += ["    %s: recorded %s, now %s" % (place.path or "all of it", place.left, place.right)
                  for place in each.differences]
    lines += ["the server asks what was not recorded: %s" % text for text in drive.unexpected]
    return lines + ["%d requests, %d answered otherwise" % (len(drive.answers), len(wrong))]


def _trace_diff(options: Any) -> int:
    from ...devtools.playback.driver import compare

    found = compare(read_script(options.left, "compared"), read_script(options.right, "compared"))
    if options.json:
        say_json([each._asdict() for each in found])
    else:
        for each in found:
            say(str(each))
        if not found:
            say("the same in meaning")
    return FAILED if found else DONE


def _speed(text: str) -> float:
    try:
        value = 0.0 if text == "max" else float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError("takes a number from 0 on, or max, not %s" % text)
    return value


def _replay_options(parser: argparse.ArgumentParser) -> None:
    from ..output import trace_option

    parser.epilog = _REPLAY
    parser.add_argument("file", metavar="FILE", help="a recording")
    parser.add_argument("--as-server", action="store_true", help="answer a live client")
    parser.add_argument("--http", metavar="LISTEN", help="with --as-server: over HTTP, in place of stdio")
    parser.add_argument("--speed", metavar="FACTOR", type=_speed, help="with --as-server: how many times as fast as it "
                        "was recorded; max or 0: without pauses (1)")
    parser.add_argument("--as-client", metavar="SERVER",
                        help="drive a live server: a command in quotes, a URL, tcp://host:port or unix:///path")
    parser.add_argument("--token-env", metavar="NAME", help="with --as-client, over HTTP: the variable of the "
                        "environment that has the token to send")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS",
                        help="with --as-client: the time to wait for one answer (20)")
    parser.add_argument("--json", action="store_true", help="with --as-client: write what differs as JSON")
    trace_option(parser)


def _diff_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _DIFF
    parser.add_argument("left", metavar="A", help="a recording")
    parser.add_argument("right", metavar="B", help="another one")
    parser.add_argument("--json", action="store_true", help="write what differs as JSON: an array of objects")


COMMANDS: Commands = {"replay": Command(_replay, _replay_options),
                      "trace-diff": Command(_trace_diff, _diff_options)}
