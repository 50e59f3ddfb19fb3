"""The client role: connect to a server and use it.

>>> from mcp_ref import connect
>>> with connect("python3 examples/echo_server.py") as client:   # doctest: +SKIP
...     client.call_tool("add", {"a": 1, "b": 2}).structured_content

Reading order: `client` (its life, and what it hears), `calls` (what it asks, page by page) and under
them `asking`, `remembering` with `caches` and `kept`, `completion`, `structured`, `futures`, `subscriptions`, `icons`;
`offers` and behind it `roots`, `sampling` with `models`, `elicitation` with `links` (what a server may ask of it);
`targets` (what it connects to).
"""

from .client import Client
from .kept import SharedAnswers
from .targets import connect

__all__ = ["Client", "SharedAnswers", "connect"]
