"""Messages as dataclasses, and how one message looks in each revision.

A message is written once. The codec leaves out what a revision does not have: `title` came with 2025-06-18, `icons`
with 2025-11-25 [2025-11-25 server/tools §Data Types > Tool]. It keeps what it does not know, because a peer may be
newer, and says where something does not fit.

Then the tool is listed by a server in each revision, and the checker holds what was sent against the schema of that
revision.
"""
import pathlib
import sys
from typing import Any, Dict, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import REVISIONS, Server, connect  # noqa: E402
from mcp_ref.codec import DecodeError, decode, encode  # noqa: E402
from mcp_ref.messages.base import Icon  # noqa: E402
from mcp_ref.messages.tools import Tool, ToolAnnotations  # noqa: E402

ICON = Icon("data:image/png;base64,AA==")


def listed(revision: str) -> Dict[str, Any]:
    """Return the first tool of a server's list as it went over the wire in a revision."""
    server = Server("demo", version="1.0")
    server.tool(lambda: "0", name="add", title="Add", description="Add two numbers.", icons=[ICON])
    with Session(revision, quiet=revision != "2025-11-25") as session:
        with connect(server, era=revision, trace=session) as client:
            client.list_tools()
    found: List[Dict[str, Any]] = [
        event.message["result"]["tools"][0] for event in session.events
        if isinstance(event.message, dict) and "tools" in event.message.get("result", {})]
    return found[0]


def main() -> None:
    """Write one tool for every revision, and read some."""
    tool = Tool(name="add", title="Add", description="Add two numbers.", input_schema={"type": "object"},
                annotations=ToolAnnotations(read_only_hint=True), icons=[ICON])
    members = {}
    for revision in REVISIONS:
        members[str(revision)] = sorted(encode(tool, revision))
        print(revision, ", ".join(members[str(revision)]))
    if "title" in members["2025-03-26"] or "icons" not in members["2025-11-25"]:
        raise SystemExit("the windows of the members are wrong")

    newest = REVISIONS[-1]
    strange = {"name": "x", "inputSchema": {"type": "object"}, "x-new": 1}
    if encode(decode(Tool, strange, newest), newest) != strange:
        raise SystemExit("what is not known was lost")
    try:
        decode(Tool, {"name": 7, "inputSchema": {"type": "object"}}, newest, "params.tool")
    except DecodeError as error:
        print(error)
    else:
        raise SystemExit("7 is no name")

    for revision in REVISIONS:
        sent = listed(str(revision))
        if ("title" in sent, "icons" in sent) != ("title" in members[str(revision)], "icons" in members[str(revision)]):
            raise SystemExit("the server of %s has sent %s" % (revision, sent))


if __name__ == "__main__":
    main()
