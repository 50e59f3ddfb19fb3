"""Messages as dataclasses, and how one message looks in each revision.

A message is written once. The codec leaves out what a revision does not have, keeps what it does not know, and says
where something does not fit.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from mcp_ref import REVISIONS  # noqa: E402
from mcp_ref.codec import DecodeError, decode, encode  # noqa: E402
from mcp_ref.messages.base import Icon  # noqa: E402
from mcp_ref.messages.tools import Tool, ToolAnnotations  # noqa: E402


def main() -> None:
    """Write one tool for every revision, and read some."""
    tool = Tool(
        name="add", title="Add", description="Add two numbers.", input_schema={"type": "object"},
        annotations=ToolAnnotations(read_only_hint=True), icons=[Icon("data:image/png;base64,AA==")],
    )
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


if __name__ == "__main__":
    main()
