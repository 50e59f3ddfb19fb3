"""mcp_ref: the Model Context Protocol in the standard library, for all five revisions.

This docstring is the reading guide. The package is laid out so that it can be read in one
direction, beside the specification; a module imports only from those above it.

1.  `revisions`, `limits`, `errors`: the differences between revisions, the limits, the exceptions; beside them
    `version`, `deadline`, `options`, `urls`, `sqlitefile`, `requirements`, and `diagnostics`: logs, counts
2.  `uritemplate`, `jsonschema`: the two languages that messages contain
3.  `jsontext`, `jsonrpc`: bytes to frames and back
4.  `model`, `readers`, `codec`, `forgiving`, `messages`, `methods`: frames to dataclasses, one module for each page,
    one table of methods; `deprecations`: the features that are going to leave the protocol
5.  `protocol`: rules without input or output: lifecycle, negotiation, capabilities, content, HTTP
6.  `wiretrace`, `ladder`: traces of the wire; `threads`: all threads; `transports`: pipes and sockets;
    `stores`: what processes share; `http11`: HTTP and nothing of MCP; `streamable`: MCP over HTTP; `recorder`: a shim
    and a proxy that record others
7.  `peer`: the conversation: request table, dispatcher, workers, context, extensions
8.  `server`, `client`: the roles; `auth`: authorization over HTTP, for both; `checker`: the judge of recorded and live
    sessions, which uses none of these
9.  `host`: several clients, consent, names, isolation, audit; `bridge`: a server over another transport and in other
    revisions; `testing`: tests of servers; `examiner`: examinations of servers, which use none of the roles;
    `inspector`: sessions as a page; `crosscheck`: `messages` against the official schemas
10. `playback`: recordings played again, and compared; `cli`: the command line

Start with::

    from mcp_ref import Server

    server = Server("demo", version="1.0")

    @server.tool
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b

    server.run()

For programs that use another library today, ``examples/porting`` has pages with both side by side.

``.github/CONTRIBUTING.md`` is the page for those who change the package: the way of a call, what to touch to add
something, and the few words that are our own.
"""

import sys

# This file alone keeps to what Python 2.7 can parse, or nobody there would be told.
if sys.version_info < (3, 8):
    raise ImportError("mcp_ref needs Python 3.8 or later, and this is Python %d.%d.%d (%s)" % (
        sys.version_info[:3] + (sys.executable,)))

from typing import TYPE_CHECKING, Any, List  # noqa: E402, F401

if TYPE_CHECKING:
    from .client import Client, connect
    from .errors import McpError, ToolError
    from .host import Host
    from .limits import Limits
    from .revisions import REVISIONS
    from .server import Context
    from .server import Server

    __version__ = ""  # the number stands in `version`, from which all modules take it

__all__ = ["Client", "Context", "Host", "Limits", "McpError", "REVISIONS", "Server", "ToolError", "connect"]

_HOMES = {
    "Client": ".client",
    "Context": ".server",
    "Host": ".host",
    "Limits": ".limits",
    "McpError": ".errors",
    "REVISIONS": ".revisions",
    "Server": ".server",
    "ToolError": ".errors",
    "connect": ".client",
}
"""Public name -> module. Resolved on first use (PEP 562), so that importing the package loads next to nothing."""
_PAGES = ("auth", "bridge", "client", "host", "messages", "server", "threads")
"""Modules whose help the documentation names: ``help(mcp_ref.auth)`` needs no other import than that of the package."""


def __getattr__(name):
    # type: (str) -> Any
    home = ".version" if name == "__version__" else _HOMES.get(name)
    if home is None and name not in _PAGES:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    home = home or "." + name
    try:
        module = import_module(home, __name__)
    except ImportError as error:
        if getattr(error, "name", None) != __name__ + home:
            raise
        raise ImportError(_left_out(name, home[1:]))
    if name in _PAGES:
        return module  # importing it has made it an attribute
    value = globals()[name] = getattr(module, name)
    return value


def _left_out(name, part):
    # type: (str, str) -> str
    """Return the words for a public name that a copy of some parts (``vendor --only``, ``bundle``) does not have."""
    import json
    from pkgutil import get_data

    try:
        manifest = json.loads((get_data(__name__, "vendored.json") or b"").decode("utf-8"))
        only = manifest["only"]
        if manifest.get("bundle"):
            return "%s.%s is not in this bundle; bundle the program again with --with %s" % (__name__, name, part)
    except (OSError, ValueError, KeyError):
        only = []
    return "%s.%s is not in this copy%s; copy again with --only %s" % (
        __name__, name, " (vendor --only %s)" % ",".join(only) if only else "", ",".join(only + [part]))


def __dir__():
    # type: () -> List[str]
    from importlib.util import find_spec

    # A copy of some parts lists what it has: `help` and `inspect` look at all of it.
    there = [name for name in __all__ if find_spec(_HOMES[name], __name__) is not None]
    return sorted(set(globals()).union(there, ["__version__"]))
