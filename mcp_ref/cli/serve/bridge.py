"""The command `bridge`, which serves a server over another transport, and in other revisions, than it has."""

import argparse
from typing import Any

from ...limits import DEFAULT
from ..command import Command, Commands
from ..output import DONE, UsageError
from ..tracing import trace_to
from ..use.connecting import take_entry, target_arguments, target_options
from .guarding import declare, listener_options, told
from .run import serve_http, serve_socket, serve_stdio

_EXAMPLES = """
examples:
  a program that speaks stdio, for clients over HTTP:
      python3 -m mcp_ref bridge --http 127.0.0.1:8000 -- npx -y @modelcontextprotocol/server-everything
  a server at a URL, for a host that starts programs:
      python3 -m mcp_ref bridge https://mcp.example.com/mcp --token-env EXAMPLE_TOKEN
  a server of HTTP+SSE, for clients of Streamable HTTP, who show a secret:
      python3 -m mcp_ref bridge --http 0.0.0.0:8000 --front-token-env SECRET http://127.0.0.1:9000/sse

Clients of any revision reach a server of any other. Each session has a server of its own, which ends with it. Clients
over HTTP are served at /mcp, and those of HTTP+SSE at /sse. The standard error of a child is shown, each line after the
number of its session. help(mcp_ref.bridge) says what is translated, and who shares a server.

The exit code is 3 if the server of the only session, over stdio, could not be started or has ended.
"""


def _bridge(options: Any) -> int:
    from ...bridge import Bridge
    from ...client.connecting import is_command

    if options.http and options.listen:
        raise UsageError("--http and --listen are two ways to serve: use one of them")
    guard = listener_options(told(options, both_sides=True))
    limits = take_entry(options, DEFAULT)
    arguments = target_arguments(options)
    arguments["auth_behind"] = arguments.pop("auth", None)
    if is_command(options.server):
        _find_program(options)
    try:
        bridge = Bridge(options.server, era=options.revision or options.era, limits=limits, **arguments)
    except ValueError as error:
        raise UsageError(str(error)) from None
    trace = trace_to(options.trace)
    with bridge:
        if options.http:
            serve_http(bridge, options.http, "memory", trace, guard)
        elif options.listen:
            serve_socket(bridge, options.listen, trace)
        else:
            serve_stdio(bridge, trace)
            if bridge.failure is not None:
                raise bridge.failure
    return DONE


def _find_program(options: Any) -> None:
    """Look for the program of the server now, for its first client comes later. Raises `ConnectFailed`."""
    from ...transports.lines.process import arguments, child_environment, find_program
    from ..use.values import pairs_of

    environment = child_environment(pairs_of(options.env, "--env"), True if options.inherit_env else None)
    find_program(arguments(options.server)[0], environment, options.cwd)


def _options(parser: argparse.ArgumentParser) -> None:
    target_options(parser)
    add = parser.add_argument_group("serving").add_argument
    add("--http", metavar="HOST:PORT", help="serve clients over HTTP there, at /mcp (default: one client, over standard"
        " input and output)")
    add("--listen", metavar="ADDRESS", help="serve clients on tcp://host:port or unix:///path")
    declare(parser, both_sides=True)
    parser.epilog = _EXAMPLES


COMMANDS: Commands = {"bridge": Command(_bridge, _options, uses_server=True)}
