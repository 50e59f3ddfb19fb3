"""The command `bridge`, which serves a server over another transport, and in other revisions, than it has."""

import argparse
import re
from copy import copy
from typing import TYPE_CHECKING, Any, Dict

from ...limits import DEFAULT
from ..output import DONE, Command, Commands, UsageError, trace_to
from ..use.connecting import entries_of, take_entry, target_arguments, target_options
from .loading import add_options, given_options, listener_options, log_options, logs_told, set_up_logs
from .run import check_grace, grace_option, serve_http, serve_socket, serve_stdio

if TYPE_CHECKING:
    from ...devtools.bridge import Bridge

_EXAMPLES = """
examples:
  a program that speaks stdio, for clients over HTTP:
      python3 -m mcp_ref bridge --http 127.0.0.1:8000 -- npx -y @modelcontextprotocol/server-everything
  a server at a URL, for a host that starts programs:
      python3 -m mcp_ref bridge https://mcp.example.com/mcp --token-env EXAMPLE_TOKEN
  a server of HTTP+SSE, for clients of Streamable HTTP, who show a secret:
      python3 -m mcp_ref bridge --http 0.0.0.0:8000 --front-token-env SECRET http://127.0.0.1:9000/sse
  all servers of a host's file behind one, their names kept apart:
      python3 -m mcp_ref bridge --http 127.0.0.1:8000 mcp.json

Clients of any revision reach a server of any other. Each session has a server of its own, which ends with it. Clients
over HTTP are served at /mcp, and those of HTTP+SSE at /sse. The standard error of a child is shown, each line after the
number of its session. help(mcp_ref.devtools.bridge) says what is translated, and who shares a server.

The exit code is 3 if the server of the only session, over stdio, could not be started or has ended.
"""


def _bridge(options: Any) -> int:
    if options.http and options.listen:
        raise UsageError("--http and --listen are two ways to serve: use one of them")
    check_grace(options)
    guard = listener_options(given_options(options, both_sides=True))
    access = set_up_logs(logs_told(options))
    entries = entries_of(options.server)
    try:
        bridge = _several(options, entries) if entries else _one(options)
    except ValueError as error:
        raise UsageError(str(error)) from None
    trace = trace_to(options.trace)
    with bridge:
        if options.http:
            serve_http(bridge, options.http, "memory", trace, guard, options.grace, access)
        elif options.listen:
            serve_socket(bridge, options.listen, trace, options.grace)
        else:
            serve_stdio(bridge, trace)
            if bridge.failure is not None:
                raise bridge.failure
    return DONE


def _one(options: Any) -> "Bridge":
    from ...devtools.bridge import Bridge

    limits = take_entry(options, DEFAULT)
    arguments = _arguments(options)
    return Bridge(options.server, auth_behind=arguments.pop("auth", None), limits=limits, **arguments)


def _several(options: Any, entries: Dict[str, str]) -> "Bridge":
    """Mount each entry of a host's file under its name, without what no prefix can have."""
    from ...devtools.bridge import Bridge

    bridge = Bridge()
    for name, server in entries.items():
        each = copy(options)
        each.server = server
        take_entry(each, DEFAULT)
        bridge.mount(re.sub("[^a-z0-9]", "", name.lower()), each.server, **_arguments(each))
    return bridge


def _arguments(options: Any) -> Dict[str, Any]:
    from ...client.connecting import is_command

    if is_command(options.server):
        _find_program(options)
    return dict(target_arguments(options), era=options.revision or options.era)


def _find_program(options: Any) -> None:
    """Look for the program of the server now, for its first client comes later. Raises `ConnectFailed`."""
    from ...transports.lines.process import arguments, child_environment, find_program
    from ..use.values import pairs_of

    environment = child_environment(pairs_of(options.env, "--env"), True if options.inherit_env else None)
    find_program(arguments(options.server)[0], environment, options.cwd)


def _options(parser: argparse.ArgumentParser) -> None:
    target_options(parser)
    serving = parser.add_argument_group("serving")
    add = serving.add_argument
    add("--http", metavar="HOST:PORT", help="serve clients over HTTP there, at /mcp (default: one client, over standard"
        " input and output)")
    add("--listen", metavar="ADDRESS", help="serve clients on tcp://host:port or unix:///path")
    grace_option(serving)
    log_options(serving)
    add_options(parser, both_sides=True)
    parser.epilog = _EXAMPLES


COMMANDS: Commands = {"bridge": Command(_bridge, _options, uses_server=True)}
