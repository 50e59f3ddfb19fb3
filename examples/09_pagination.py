"""Long lists come in pages; a cursor says where the next one begins, and only the server knows how to read it.

A page may have a `nextCursor`, and the client sends it back as it is to get the next page [2025-11-25
server/utilities/pagination §Response Format]. The list is over where no cursor is; how long a page is, the server
decides [2025-11-25 server/utilities/pagination §Pagination Model].

A client that counts, or keeps a cursor for another session, breaks when the server changes how it makes them. A cursor
that a server does not know is answered by the code of invalid params [2025-11-25 server/utilities/pagination §Error
Handling].
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0", page_size=10)
for number in range(25):
    server.tool(lambda: "here", name="tool_%02d" % number, description="One of many.")


def main() -> None:
    """Page by page, then all at once."""
    near, far = pair()
    server.connect(far)
    with Session() as session, connect(near, trace=session) as client:
        page = client.list_tools()
        sizes = [len(page.tools)]
        while page.next_cursor is not None:  # the end is where no cursor is; "" would be one
            page = client.list_tools(page.next_cursor)
            sizes.append(len(page.tools))
        names = [tool.name for tool in client.tools()]  # the same, done for you
    if sizes != [10, 10, 5] or names != ["tool_%02d" % number for number in range(25)]:
        raise SystemExit("wrong pages: %s %s" % (sizes, names))


if __name__ == "__main__":
    main()
