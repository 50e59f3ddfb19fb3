"""Roots: the client says where a server may work, and tells when that changes.

A root is a URI with the scheme `file`, and perhaps a name [2025-11-25 client/roots §Root]. The server asks for the list
when it needs it; a client that has declared `listChanged` tells it of changes [2025-11-25 client/roots §Root List
Changes].

Roots are a hint, and no fence: a server that keeps to them checks each path, also one with `..` in it [2025-11-25
client/roots §Security Considerations]. `Roots.contains` does that.
"""
import pathlib
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Context, Server, connect  # noqa: E402
from mcp_ref.client.roots import Roots  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

changed = threading.Event()
server = Server("demo", version="1.0", on_roots_changed=lambda connection: changed.set())


@server.tool
def where(ctx: Context) -> str:
    """Say where we may work."""
    return " ".join(root.uri for root in ctx.list_roots())


def main() -> None:
    """Two folders, one after the other."""
    near, far = pair()
    server.connect(far)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        roots = Roots([one])
        # In a session; without one a server asks for the roots of each request, and is not told of changes.
        with Session() as session, connect(near, trace=session, roots=roots, era="legacy") as client:
            before = client.call_tool("where").text
            roots.set([two])
            if not changed.wait(20):
                raise SystemExit("the server was not told")
            after = client.call_tool("where").text
            inside = roots.contains(str(pathlib.Path(two) / "notes.txt"))
            outside = roots.contains(str(pathlib.Path(two) / ".." / "notes.txt"))
    if before == after or not inside or outside:
        raise SystemExit("wrong roots: %s %s %s %s" % (before, after, inside, outside))


if __name__ == "__main__":
    main()
