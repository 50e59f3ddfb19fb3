"""What a client of a transport that mirrors arguments of tools needs to know of them, and the tools it leaves out.

[2026-07-28 basic/transports/streamable-http §Schema Extension]: which arguments are repeated in header fields stands in
the input schemas; see `mcp_ref.protocol.streamable_http.mirrored`.
"""

from typing import Any, Dict, List, Optional, Sequence

from ..jsonrpc import shown
from ..peer.dispatcher import Connection
from ..protocol.streamable_http.mirrored import Mirrored, annotations
from ..transports.exchanges import Annotations


def annotations_of(connection: Connection) -> Annotations:
    """The function that says which arguments of a tool are mirrored, as far as this server's tools are known."""
    made: Dict[str, Any] = {"of": None, "known": {}}

    def find(name: str) -> Optional[Sequence[Mirrored]]:
        tools = connection.state["lists"]["tools"].named()
        if tools is None:
            return None
        if made["of"] is not tools:
            made["of"], made["known"] = tools, {}
        known: Dict[str, Optional[Sequence[Mirrored]]] = made["known"]
        if name not in known:
            tool = tools.get(name)
            known[name] = None if tool is None else annotations(tool.input_schema)
        return known[name]

    return find


def without_invalid(tools: List[Any], connection: Connection) -> List[Any]:
    """The tools of a list but those with annotations that break the rules, which are logged.

    [2026-07-28 basic/transports/streamable-http §Schema Extension] MUST
    """
    kept = []
    for tool in tools:
        try:
            annotations(tool.get("inputSchema") if isinstance(tool, dict) else None)
        except ValueError as error:
            connection.counters.note("refused tool", "%s: %s" % (shown(str(tool.get("name"))), error))
        else:
            kept.append(tool)
    return kept
