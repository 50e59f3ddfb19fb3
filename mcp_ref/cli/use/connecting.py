"""The connection of a command to its server: the options that name the server, and the connected client."""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Optional

from ...limits import DEFAULT, Limits
from ...messages.logs import LEVELS
from ...options import __version__
from ...protocol.negotiation import ERAS
from ...revisions import REVISIONS
from ..failures import UsageError
from ..output import note, one_line
from .asking import Asking
from .authorizing import auth_options, authorization
from .values import pairs_of

if TYPE_CHECKING:
    from ...client import Client
    from ...wiretrace import Trace


def server_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every command that uses a server."""
    parser.add_argument("server", metavar="SERVER",
                        help='a command in quotes, such as "python3 server.py", or http://, https://, tcp://, '
                             "unix://; or the command comes last, after --")
    parser.add_argument("--json", action="store_true", help="print JSON; errors too, as {\"error\": {...}}")
    parser.add_argument("--trace", action="store_true", help="show the wire on standard error")
    parser.add_argument("--quiet", action="store_true", help="do not show what the server writes on its standard error")
    parser.add_argument("--timeout", type=float, metavar="SECONDS",
                        help="the time to wait for one answer; progress starts it again (default: %g, and %g on "
                             "a terminal, where the server may ask you something)" % (
                                 DEFAULT.request_timeout, DEFAULT.request_ceiling))
    spoken = parser.add_mutually_exclusive_group()
    spoken.add_argument("--revision", choices=[str(r) for r in REVISIONS], help="speak only this revision")
    spoken.add_argument("--era", choices=list(ERAS),
                        help="speak revisions with a handshake (legacy), without (modern), or find out (auto, default)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="add to the environment of the server that is started; may be repeated")
    parser.add_argument("--inherit-env", action="store_true",
                        help="pass that server the whole environment but MCP_REF_*, not only PATH, HOME and the like")
    parser.add_argument("--cwd", metavar="FOLDER", help="the folder in which the server is started")
    parser.add_argument("--roots", action="append", default=[], metavar="PATH",
                        help="offer this folder to the server as a root (a path or file://); may be repeated")
    parser.add_argument("--log-level", choices=LEVELS, metavar="LEVEL",
                        help="ask the server for log messages of this level and above: " + ", ".join(LEVELS))
    http = parser.add_argument_group("for servers at http:// and https://").add_argument
    http("--header", action="append", default=[], metavar="NAME=VALUE",
         help="send this header field with every request; may be repeated. Other users of this machine can read it: "
              "pass a token by --token-env")
    http("--cafile", metavar="FILE", help="trust the certificates in this PEM file, and no others")
    auth_options(parser)


def connected(options: Any) -> "Client":
    """Return the connected client; use it in a ``with`` statement. Raises what `mcp_ref.client.connect` raises.

    ``options.asking`` is set to the `Asking` that answers the server's questions.
    """
    from ...client import connect
    from ...client.connecting import is_command

    options.asking = Asking(options.server if isinstance(options.server, str) else " ".join(options.server))
    client = connect(
        options.server,
        env=pairs_of(options.env, "--env"),
        inherit_env=True if options.inherit_env else None,
        cwd=options.cwd,
        stderr=False if is_command(options.server) and (options.quiet or options.trace) else None,  # a trace shows it
        trace=_trace(options),
        limits=_limits(options),
        era=options.revision or options.era,
        version=__version__,
        roots=options.roots or None,
        sampling=options.asking.sampling(),
        elicitation=options.asking.elicitation(),
        on_log=_log,
        **_http(options),
        **authorization(options),
    )
    if options.log_level:
        try:
            client.set_log_level(options.log_level)
        except BaseException:
            client.close()
            raise
    return client


def _http(options: Any) -> Dict[str, Any]:
    """Return the arguments of `mcp_ref.client.connect` about HTTP. Raises `UsageError`."""
    from ...client.connecting import scheme_of

    given = {"headers": pairs_of(options.header, "--header"), "cafile": options.cafile}
    if any(given.values()) and scheme_of(options.server) not in ("http", "https"):
        raise UsageError("%s is for servers at http:// and https://" % ("--header" if options.header else "--cafile"))
    if options.cafile and not os.path.isfile(options.cafile):
        raise UsageError("--cafile: there is no file %s" % options.cafile)
    return {name: value for name, value in given.items() if value}


def _trace(options: Any) -> "Optional[Trace]":
    if not options.trace or sys.stderr is None:
        return None
    from ...wiretrace import to_text

    return to_text(sys.stderr)


def _limits(options: Any) -> Limits:
    """Return the limits with the time for answers. A person at the terminal may think as long as the ceiling."""
    timeout = options.timeout
    if timeout is None:
        timeout = DEFAULT.request_ceiling if options.asking.interactive else DEFAULT.request_timeout
    if not timeout > 0:
        raise UsageError("--timeout must be more than 0 seconds")
    return Limits(request_timeout=timeout, initialize_timeout=min(timeout, DEFAULT.initialize_timeout))


def _log(level: str, data: Any, logger: Optional[str]) -> None:
    from json import dumps

    text = data if isinstance(data, str) else dumps(data, ensure_ascii=False)
    note(one_line("[%s] %s%s" % (level, logger + ": " if logger else "", text)))
