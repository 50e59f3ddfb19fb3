"""Remembered consent to tools, which ends when a server changes what it says of a tool.

A server may describe a harmless tool until the user has approved it, and another one afterwards. So consent is for
one *definition*: `HostTool.definition` is the digest of name, title, description, schemas, annotations and whatever
else the server says of the tool (only `_meta` is left out). After `notifications/tools/list_changed`, or a restart, a
tool whose digest differs is asked about again.

    Policy(tool_call=AskOnce(ask_the_user))
    Policy(tool_call=AllowListed(["files__read", "files__list"], otherwise=ask_the_user))

A function that is given to `Policy` as it is, ``Policy(tool_call=ask_the_user)``, asks always.
"""

import json
import threading
from typing import Callable, Dict, Iterable, MutableSet, Optional, Set

from ..options import spelt
from .policy import Allow, Answer, Deny, ToolCall, ask


def approval_key(call: ToolCall) -> str:
    """What an approval is for, as one line of text: server, tool and definition."""
    return json.dumps([call.server, call.tool.name, call.tool.definition])


class AskOnce:
    """A policy's function for tools that asks once for each definition of a tool, and remembers a plain yes.

    ``ask`` answers as a policy does; what it allows with other arguments holds for that call alone, and a no is asked
    again next time. ``approved``: where approvals are kept, a set of `approval_key` lines or anything with its ``add``,
    ``discard`` and ``in`` (default: in memory). Thread-safe; two calls at the same time may both be asked about.
    """

    @spelt
    def __init__(self, ask: Callable[[ToolCall], Answer], approved: Optional[MutableSet[str]] = None) -> None:
        self.approved: MutableSet[str] = set() if approved is None else approved
        self._ask = ask
        self._lock = threading.Lock()

    def __call__(self, call: ToolCall) -> Answer:
        """See `Policy`."""
        key = approval_key(call)
        with self._lock:
            if key in self.approved:
                return Allow()
        decision = ask(self._ask, call)
        if isinstance(decision, Allow) and decision.instead is None:
            with self._lock:
                self.approved.add(key)
        return decision

    def forget(self, call: ToolCall) -> None:
        """Ask again about this definition of this tool."""
        with self._lock:
            self.approved.discard(approval_key(call))


class AllowListed:
    """A policy's function for tools that allows those with these qualified names, without asking.

    A listed tool is allowed with the definition it has when it is first called; another definition is for
    ``otherwise`` to decide, like every tool that is not listed (default: deny). What ``otherwise`` allows is not
    remembered: wrap it in `AskOnce` for that. Thread-safe.
    """

    @spelt
    def __init__(self, names: Iterable[str], otherwise: Optional[Callable[[ToolCall], Answer]] = None) -> None:
        self.names: Set[str] = set(names)
        self._otherwise = otherwise
        self._definitions: Dict[str, str] = {}
        self._lock = threading.Lock()

    def __call__(self, call: ToolCall) -> Answer:
        """See `Policy`."""
        if call.name in self.names:
            with self._lock:
                if self._definitions.setdefault(call.name, call.tool.definition) == call.tool.definition:
                    return Allow()
        if self._otherwise is not None:
            return ask(self._otherwise, call)
        listed = "its definition has changed" if call.name in self.names else "it is not on the list"
        return Deny(listed)
