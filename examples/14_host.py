"""A host: several servers under names of its own, the user's consent, and a record of what happened.

A host is the application, such as an editor or a chat. It has one client for each server, decides what a server may see
and do, and keeps servers apart from each other [2025-11-25 architecture/index §Host]. Two servers may have tools of the
same name, so the host puts the name of the server in front.

Before a tool is called the user is asked, and sees the arguments [2025-11-25 server/tools §User Interaction Model]. The
record has who called what, when and with what outcome; arguments stand in it as digests.
"""
import io
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Host  # noqa: E402
from mcp_ref.host import Denied, Policy, ToolCall  # noqa: E402

ECHO = [sys.executable, str(pathlib.Path(__file__).with_name("echo_server.py"))]


def ask(call: ToolCall) -> bool:
    """The user sees server, tool and arguments before the server does."""
    print("may I call %s with %s?" % (call.name, call.arguments))
    return "delete" not in str(call.arguments)


def main() -> None:
    """Two servers that offer the same tools."""
    record = io.StringIO()
    with Session() as session, Host("example", policy=Policy(tool_call=ask), audit=record) as host:
        for name in ("left", "right"):
            host.connect(name, ECHO, trace=session)
        names = [tool.qualified for tool in host.tools()]
        said = host.call_tool("left__echo", {"text": "hello"}).text
        added = host.call_tool("right__add", {"a": 1, "b": 2}).structured_content
        try:
            host.call_tool("right__echo", {"text": "delete everything"})
        except Denied as error:
            print(error)
        else:
            raise SystemExit("nobody asked the user")
    for line in record.getvalue().splitlines():
        print(line)
    events = [json.loads(line)["event"] for line in record.getvalue().splitlines()]
    if len(names) != len(set(names)) or said != "hello" or added != {"result": 3} or events.count("tool_call") != 3:
        raise SystemExit("wrong: %s %s %s %s" % (names, said, added, events))


if __name__ == "__main__":
    main()
