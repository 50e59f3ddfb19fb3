"""Long lists come in pages; a cursor says where the next one begins, and only the server knows how to read it.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402
from mcp_ref.wiretrace import to_text  # noqa: E402

server = Server("demo", version="1.0", page_size=10)
for number in range(25):
    server.tool(lambda: "here", name="tool_%02d" % number, description="One of many.")


def main() -> None:
    """Page by page, then all at once."""
    near, far = pair()
    server.connect(far)
    with connect(near, trace=to_text(sys.stdout)) as client:
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
