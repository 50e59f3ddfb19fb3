"""Tools: a function becomes a tool, its signature the schema, its result content.

A tool has a name, a description for the model, and a JSON Schema of its arguments [2025-11-25 server/tools §Data Types
> Tool]. Here the signature of the function is the schema, its docstring the description, and what it returns is both
text and structured content [2025-11-25 server/tools §Structured Content].

There are two ways to fail. What the model can mend, a division by zero or a wrong argument, is a result with `isError`;
what it cannot, a tool that is not there, is an error of the protocol [2025-11-25 server/tools §Error Handling]. The
client and the server run in one process, joined by a pair of queues; the wire between them is printed.
"""
import pathlib
import sys
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, ToolError, connect  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")


@dataclass
class Point:
    """A place on a map."""

    x: float
    y: float


@server.tool
def middle(a: Point, b: Point) -> Point:
    """The point half way between two others.

    Args:
        a: one end
        b: the other end
    """
    return Point((a.x + b.x) / 2, (a.y + b.y) / 2)


@server.tool
def divide(a: float, b: float) -> float:
    """Divide one number by another."""
    if b == 0:
        raise ToolError("b must not be zero")  # the model reads this, and tries again
    return a / b


def main() -> None:
    """Call them, well and badly."""
    near, far = pair()
    server.connect(far)
    with Session() as session, connect(near, trace=session) as client:
        half = client.call_tool("middle", {"a": {"x": 0, "y": 0}, "b": {"x": 4, "y": 2}})
        failed = client.call_tool("divide", {"a": 1, "b": 0})
        refused = client.call_tool("divide", {"a": "one", "b": 2})
    if half.structured_content != {"x": 2.0, "y": 1.0}:
        raise SystemExit("that is not the middle: %s" % half)
    if not failed.is_error or failed.text != "b must not be zero" or not refused.is_error:
        raise SystemExit("that should have failed: %s, %s" % (failed, refused))


if __name__ == "__main__":
    main()
