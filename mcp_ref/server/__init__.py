"""The server role: tools, resources and prompts that authors register, and the answers to clients.

The reading order:

1. `server` has the `Server`: options, ways to serve, and the table ROUTES from a method to its route. `context` has
   the `Context` that handlers get. `families` has the options that several calls share.
2. `registry/` keeps what was registered: `registration` (the decorators), `checks`, `listing`, `caching`,
   `around` (hooks around every request), `visibility` (members that only some clients see), and for folders of files
   `directory` and `safefiles`.
   `hints/` makes schemas of type hints: `signature`, `members`, `typeforms`, `values`, `docstrings`.
3. `handshake` introduces the server to a client, and writes down a session for another process.
4. The features, each module a page of the specification: `tools`, `resources`, `prompts`, `completion`,
   `subscriptions`, `logs`. They have the same sections in the same order: registration, list, act.
5. `results` makes messages of what handlers return, and decides what the client and the log are told of an exception,
   and which error code each revision gets.
6. The questions to a client, each module a page of the specification: `elicitation`, `sampling`, `roots`. In 2026-07-28
   `mrtr` asks them, and runs a handler again with the answers so far.
7. `announcements` sends notifications to all clients, `loghandler` sends records of `logging`.
8. `serving/` waits for clients: `process` on stdio, until a signal ends the process; `http_listener` over HTTP,
   `socket_listener` on a socket. `lifespan` holds open what an author's server needs meanwhile.

Tasks, skills and apps are in `mcp_ref.ext`.

Authors can import the other names that handlers need from here, too. Each is loaded when it is first used:

=============================================================  ====================================================
names                                                          use
=============================================================  ====================================================
`image`, `image_file`, `audio`, `blob`                         content to return
`Answer`                                                       the user's answer to `Context.elicit`
`RpcError`, `ResourceNotFound`, `UrlElicitationRequired`       errors to raise
`Annotations`, `Icon`, `ToolAnnotations`                       descriptions of what is registered
`Cache`                                                        hints for how long clients may keep an answer
`Extension`, `Method`, `Route`                                 methods beyond the protocol
`Connection`                                                   the argument of callbacks
`Trace`, `to_text`, `to_file`                                  a trace of the messages
`Inline`, `MainThreadQueue`                                    threads that run handlers
`SqliteStore`, `Store`                                         sessions and tasks that several processes share
`current`                                                      the `Context`, where a function has no parameter
`Requester`                                                    the second argument of the option ``visible``
`access_log`, `RequestNames`                                   a line of log for each request; its id in records
`Tasks`, `TaskStore`, `MemoryTasks`                            calls of tools whose results are fetched later
`NoThreads`                                                    raised where Python has no threads
=============================================================  ====================================================

Messages are in `mcp_ref.messages`. For authors who come from another library, or from a loop over standard input, the
pages in ``examples/porting`` have both programs side by side, and each name of theirs with ours beside it.
"""

from typing import TYPE_CHECKING, Any

from .context import Context
from .server import Server

if TYPE_CHECKING:
    from ..errors import NoThreads, ResourceNotFound, RpcError
    from ..ext.skills.server import BadSkill
    from ..ext.stores.sqlite import SqliteStore
    from ..ext.tasks.server.engine import Tasks
    from ..messages.base import Annotations, Icon
    from ..messages.tools import ToolAnnotations
    from ..methods import Method
    from ..peer.context import Route
    from ..peer.dispatcher import Connection
    from ..peer.executors import Inline
    from ..peer.extension import Extension
    from ..peer.main_thread import MainThreadQueue
    from ..stores import MemoryTasks, Store, TaskStore
    from ..wiretrace import Trace, to_file, to_text
    from .context import current
    from .elicitation import Answer, UrlElicitationRequired
    from .registry.around import RequestNames, access_log
    from .registry.caching import Cache
    from .registry.visibility import Requester
    from .results import audio, blob, image, image_file

_LATE = {
    "Cache": ".registry.caching", "image": ".results", "image_file": ".results",
    "audio": ".results", "blob": ".results",
    "BadSkill": "..ext.skills.server", "NoThreads": "..errors", "RpcError": "..errors", "ResourceNotFound": "..errors",
    "UrlElicitationRequired": ".elicitation",
    "Annotations": "..messages.base", "Icon": "..messages.base", "ToolAnnotations": "..messages.tools",
    "Answer": ".elicitation", "Method": "..methods", "Route": "..peer.context",
    "Connection": "..peer.dispatcher", "Extension": "..peer.extension",
    "Trace": "..wiretrace", "to_file": "..wiretrace", "to_text": "..wiretrace",
    "Inline": "..peer.executors", "MainThreadQueue": "..peer.main_thread",
    "Requester": ".registry.visibility",
    "RequestNames": ".registry.around", "access_log": ".registry.around", "current": ".context",
    "Tasks": "..ext.tasks.server.engine", "TaskStore": "..stores", "MemoryTasks": "..stores",
    "SqliteStore": "..ext.stores.sqlite", "Store": "..stores",
}
"""Public name -> the module that it is loaded from."""

__all__ = [
    "Annotations", "Answer", "BadSkill", "Cache", "Connection", "Context", "Extension", "Icon", "Inline",
    "MainThreadQueue", "MemoryTasks", "Method", "NoThreads", "RequestNames", "Requester", "ResourceNotFound", "Route",
    "RpcError", "Server", "SqliteStore", "Store", "TaskStore", "Tasks", "ToolAnnotations", "Trace",
    "UrlElicitationRequired", "access_log", "audio", "blob", "current", "image", "image_file", "to_file", "to_text",
]


def __getattr__(name: str) -> Any:
    home = _LATE.get(name)
    if home is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
