"""The server role: say what there is (tools, resources, prompts), and serve it.

`server` is the `Server` itself; each other module is one page of the specification, all with the
same sections in the same order: registration, list, act.
"""

from .context import Context
from .server import Server

__all__ = ["Context", "Server"]
