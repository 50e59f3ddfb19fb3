"""mcp_ref: the Model Context Protocol in the standard library, for all five revisions.

This docstring is the reading guide. A module imports only from floors above its own, so the package can be read in
one direction, beside the specification.

The core, what a server, a client or a host needs:

1.  `revisions`, `version`, `deadline`, `urls`, `sqlitefile`, `yaml`: the differences between revisions, and small
    things that everything needs
2.  `diagnostics`, `options`, `requirements`: logs, counts and masks; options of calls; the table of requirements
3.  `limits`, `deprecations`: every limit with its default and reason; the features that are going to leave the
    protocol, and what is not done
4.  `errors`: the exceptions, and the table of error codes
5.  `jsontext`, `uritemplate`, `jsonschema`, `model`, `threads`: bytes to JSON; the two languages that messages contain;
    the declaration of messages as dataclasses; all threads
6.  `jsonrpc`, `readers`: frames; the reading half of the codec
7.  `codec`, `forgiving`: frames to messages and back, for a given revision; what careless peers send, mended
8.  `messages`: the messages, by page of the specification
9.  `methods`: one table of all methods
10. `protocol`, `wiretrace`: rules without input or output; the trace of everything sent and received
11. `transports`, `stores`: pipes, sockets, memory; the contract of what processes share
12. `http11`: HTTP/1.1, which knows nothing of MCP
13. `streamable`: MCP over HTTP
14. `peer`: the conversation of both roles: request table, dispatcher, workers, context
15. `server`, `client`, `auth`: the roles, which do not know each other; authorization for both
16. `host`, `testing`: several clients with consent, names and audit; tests of servers

The wings, which the core never loads by itself:

17. `ext`: what only some sessions negotiate or some operators need: tasks, skills, apps, sessions shared by processes,
    grants without a person, DPoP. A server or client looks one up when its author uses it
18. `devtools`: for those who judge or look: `devtools.checker` judges recorded and live sessions, `devtools.examiner`
    examines servers and clients, `devtools.recorder`, `devtools.ladder` and `devtools.inspector` record and show
    sessions, `devtools.playback` plays them again, `devtools.bridge` puts a server behind another transport,
    `devtools.crosscheck` compares `messages` with the official schemas
19. `cli`: the command line

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
    from .server import Context, Server

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
_PAGES = ("auth", "client", "devtools", "ext", "host", "messages", "server", "threads")
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
