"""The server role: say what there is (tools, resources, prompts), and serve it.

`server` is the `Server` itself; each other module is one page of the specification, all with the
same sections in the same order: registration, list, act.

What handlers need beside `Server` and `Context` can be had from here, too: content (`image`, `audio`, `blob`),
what may be raised (`RpcError`, `ResourceNotFound`, `UrlElicitationRequired`), what describes
(`Annotations`, `Icon`, `ToolAnnotations`), what clients may keep (`Cache`), what lies beyond the protocol
(`Extension`), who runs handlers (`Inline`, `MainThreadQueue`), and where processes share sessions (`SqliteStore`,
`Store`). It is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from .context import Context
from .server import Server

if TYPE_CHECKING:
    from ..errors import ResourceNotFound, RpcError
    from ..messages.base import Annotations, Icon
    from ..messages.tools import ToolAnnotations
    from ..peer.extension import Extension
    from ..peer.mainthread import MainThreadQueue
    from ..peer.workers import Inline
    from ..transports.sqlite_store import SqliteStore
    from ..transports.store import Store
    from .caching import Cache
    from .content import audio, blob, image
    from .links import UrlElicitationRequired

_LATE = {
    "Cache": ".caching", "image": ".content", "audio": ".content", "blob": ".content",
    "RpcError": "..errors", "ResourceNotFound": "..errors", "UrlElicitationRequired": ".links",
    "Annotations": "..messages.base", "Icon": "..messages.base", "ToolAnnotations": "..messages.tools",
    "Extension": "..peer.extension",
    "Inline": "..peer.workers", "MainThreadQueue": "..peer.mainthread",
    "SqliteStore": "..transports.sqlite_store", "Store": "..transports.store",
}
"""Name -> module."""

__all__ = [
    "Annotations", "Cache", "Context", "Extension", "Icon", "Inline", "MainThreadQueue", "ResourceNotFound", "RpcError",
    "Server", "SqliteStore", "Store", "ToolAnnotations", "UrlElicitationRequired", "audio", "blob", "image",
]


def __getattr__(name: str) -> Any:
    home = _LATE.get(name)
    if home is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
