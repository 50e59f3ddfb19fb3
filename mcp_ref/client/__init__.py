"""The client role: connect to a server and use it.

>>> from mcp_ref import connect
>>> with connect("python3 examples/echo_server.py") as client:   # doctest: +SKIP
...     client.call_tool("add", {"a": 1, "b": 2}).structured_content

A reading order: `connecting` (what it connects to), `client` (its life, and what it hears), `era` and `handshake` (how
it begins, in each era), `calls` (what it asks, page by page), and below them `requests`, `rounds`, `futures`,
`structured`, `completion` and `cache/`; `client_capabilities`, and behind it `roots`, `sampling` with `models`, and
`elicitation` with `elicitation_url` (what a server may ask of it); `subscriptions` and `listening` (what it is told);
`recovery` (when a server dies), `mirroring` (header fields that repeat arguments), `icons`.

What programs need beside `Client` and `connect` can be had from here, too: what the server may ask (`Sampling`,
`Elicitation`, `Roots`, `ModelCard`, `UrlRequest`), what callbacks get (`Context`) and ``submit_*`` gives
(`RequestFuture`), the wire (`Trace`, `to_text`, `to_file`), who runs callbacks (`Inline`, `MainThreadQueue`), what lies
beyond the protocol (`Extension`, with `Method` and `Route`), and what may be caught. It is loaded when it is first
asked for. Messages are in `mcp_ref.messages`.
"""

from typing import TYPE_CHECKING, Any

from .cache.store import SharedAnswers
from .client import Client
from .connecting import connect

if TYPE_CHECKING:
    from ..errors import ConnectFailed, ConnectionLost, NoThreads, PeerError, RequestTimeout
    from ..methods import Method
    from ..peer.context import Context, Route
    from ..peer.main_thread import MainThreadQueue
    from ..peer.executors import Inline
    from ..peer.extension import Extension
    from ..peer.future import RequestFuture
    from ..wiretrace import Trace, to_file, to_text
    from .elicitation import Elicitation
    from .elicitation_url import UrlRequest
    from .models import ModelCard
    from .roots import Roots
    from .sampling import Sampling

_LATE = {
    "ConnectFailed": "..errors", "ConnectionLost": "..errors", "NoThreads": "..errors",
    "PeerError": "..errors", "RequestTimeout": "..errors", "Method": "..methods", "Context": "..peer.context",
    "Route": "..peer.context", "Extension": "..peer.extension", "RequestFuture": "..peer.future",
    "MainThreadQueue": "..peer.main_thread", "Inline": "..peer.executors", "Trace": "..wiretrace",
    "to_file": "..wiretrace", "to_text": "..wiretrace", "Elicitation": ".elicitation", "UrlRequest": ".elicitation_url",
    "ModelCard": ".models", "Roots": ".roots", "Sampling": ".sampling",
}
"""Name -> module."""

__all__ = [
    "Client", "ConnectFailed", "ConnectionLost", "Context", "Elicitation", "Extension", "Inline", "MainThreadQueue",
    "Method", "ModelCard", "NoThreads", "PeerError", "RequestFuture", "RequestTimeout", "Roots", "Route", "Sampling",
    "SharedAnswers", "Trace", "UrlRequest", "connect", "to_file", "to_text",
]


def __getattr__(name: str) -> Any:
    home = _LATE.get(name)
    if home is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
