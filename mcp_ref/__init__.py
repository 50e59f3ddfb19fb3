"""mcp_ref: the Model Context Protocol in the standard library, for all five revisions.

This docstring is the reading guide. The package is laid out so that it can be read in one
direction, beside the specification; a module imports only from those above it.

1.  `revisions`, `options`, `limits`, `deadline`, `errors`: what differs between revisions, and the words for failure;
    `diagnostics`: log records, counts, and secrets masked
2.  `uritemplate`, `jsonschema`: the two languages that messages contain
3.  `jsontext`, `jsonrpc`: bytes to frames and back
4.  `codec`, `messages`, `methods`: frames to dataclasses, one module for each page, one table of methods; beside it
    `deprecations`: what is going to leave the protocol
5.  `protocol`: rules without input or output: lifecycle, negotiation, capabilities, what may be sent, HTTP
6.  `wiretrace`, `transports`: the wire made visible; pipes and sockets. `http11`: HTTP and nothing of MCP;
    `streamable`: MCP over HTTP
7.  `peer`: the conversation: request table, dispatcher, workers, context, extensions
8.  `server`, `client`: the roles, thin; `auth`: authorization over HTTP, for both
9.  `host`: several clients, consent, names, isolation, audit
10. `cli`: the command line

Start with::

    from mcp_ref import Server

    server = Server("demo", version="1.0")

    @server.tool
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b

    server.run()

For who changes the package. `tests/meta/test_layers.py` says which folder may import which; `mcp_ref.threads` lists all
threads. To add something, touch these:

==============  ================================================================================================
what            where
==============  ================================================================================================
a method        a row of `methods.METHODS`, its dataclasses in the page of `messages`, its module in `server` (what
                answers) or `client` (what asks), tests in ``tests/spec`` with the ids of the rows they check
a member        `model.member(since=..., until=...)` in its dataclass; a row of `messages.downgrade` if older
                revisions get something else; `python3 -m mcp_ref crosscheck` compares with the official schemas
a difference    a row of `revisions.FEATURES` or `revisions.VALUES`; code asks ``revision.name``, never for a date
of revisions
a limit         a field of `limits.Limits`, and its row in the table of the docstring
a transport     a subclass of `transports.base.Transport`; a maker of it in ``tests/transports/makers.py`` has the
                tests of the contract run on it
a command       `cli.HOMES`, and ``COMMANDS`` of the module that has it
an error code   `errors.CODES`; what revisions say of it, `server.results.failures`
a thread        `threads.start_thread`, and a row of the table there
==============  ================================================================================================

What may not be broken is held by the tests in ``tests/meta``: layers, citations, requirements and their tests, the
floor of Python 3.8, names and docstrings, options of public calls, README, secrets, threads. ``make check`` runs them.
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

__version__ = "0.6.0"

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


def __getattr__(name):
    # type: (str) -> Any
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value


def __dir__():
    # type: () -> List[str]
    return sorted(list(globals()) + __all__)
