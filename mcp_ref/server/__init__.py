"""The server role: say what there is (tools, resources, prompts), and serve it.

`server` is the `Server` itself and `context` what handlers get. The modules named after pages of the specification
(`tools`, `resources`, `prompts`, `completion`, `logs`, `sampling`, `roots`, `elicitation`, `subscriptions` ...) have
the same sections in the same order: registration, list, act. `registry/` keeps what was registered, `hints/` makes
schemas of type hints, `results/` messages of what handlers return or raise, `mrtr/` lets them ask the client, `files/`
serves folders, `serving/` waits for clients.

What handlers need beside `Server` and `Context` can be had from here, too: content (`image`, `audio`,
`blob`), the user's `Answer`, what may be raised (`RpcError`, `ResourceNotFound`, `UrlElicitationRequired`), what
describes (`Annotations`, `Icon`, `ToolAnnotations`), what clients may keep (`Cache`), what lies beyond the protocol
(`Extension`, with `Method` and `Route`), the `Connection` that callbacks get, the wire (`Trace`, `to_text`, `to_file`),
who runs handlers (`Inline`, `MainThreadQueue`), and where processes share sessions (`SqliteStore`, `Store`), and
what is raised where Python has no threads (`NoThreads`). It is loaded when it is first asked
for. Messages are in `mcp_ref.messages`.
"""

from typing import TYPE_CHECKING, Any

from .context import Context
from .server import Server

if TYPE_CHECKING:
    from ..errors import NoThreads, ResourceNotFound, RpcError
    from ..messages.base import Annotations, Icon
    from ..messages.tools import ToolAnnotations
    from ..methods import Method
    from ..peer.context import Route
    from ..peer.dispatcher import Connection
    from ..peer.main_thread import MainThreadQueue
    from ..peer.executors import Inline
    from ..peer.extension import Extension
    from ..streamable.shared.sqlite import SqliteStore
    from ..streamable.shared.store import Store
    from ..wiretrace import Trace, to_file, to_text
    from .elicitation import Answer
    from .elicitation_url import UrlElicitationRequired
    from .registry.caching import Cache
    from .results.content import audio, blob, image

_LATE = {
    "Cache": ".registry.caching", "image": ".results.content", "audio": ".results.content", "blob": ".results.content",
    "NoThreads": "..errors", "RpcError": "..errors", "ResourceNotFound": "..errors",
    "UrlElicitationRequired": ".elicitation_url",
    "Annotations": "..messages.base", "Icon": "..messages.base", "ToolAnnotations": "..messages.tools",
    "Answer": ".elicitation", "Method": "..methods", "Route": "..peer.context",
    "Connection": "..peer.dispatcher", "Extension": "..peer.extension",
    "Trace": "..wiretrace", "to_file": "..wiretrace", "to_text": "..wiretrace",
    "Inline": "..peer.executors", "MainThreadQueue": "..peer.main_thread",
    "SqliteStore": "..streamable.shared.sqlite", "Store": "..streamable.shared.store",
}
"""Name -> module."""

__all__ = [
    "Annotations", "Answer", "Cache", "Connection", "Context", "Extension", "Icon", "Inline", "MainThreadQueue",
    "Method", "NoThreads", "ResourceNotFound", "Route", "RpcError", "Server", "SqliteStore", "Store",
    "ToolAnnotations", "Trace", "UrlElicitationRequired", "audio", "blob", "image", "to_file", "to_text",
]


def __getattr__(name: str) -> Any:
    home = _LATE.get(name)
    if home is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
