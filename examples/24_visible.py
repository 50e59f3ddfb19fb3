"""One server, and not everybody sees all of it: by who asks, and by the URL that they ask at.

Two people use the server with tokens of their own. For ada, who is an administrator, there is a tool that bob cannot
list, call or complete: to him it is a tool that is not there. The address /mcp?group=reports has more tools than /mcp.

A list may depend on who asks. It does not depend on the connection, and when it changes those are told who have asked
for such news [2026-07-28 server/tools §List Changed Notification]. What is hidden by a choice of the client is out of
the way, not protected.
"""
import pathlib
import sys
from typing import Any, List, Set

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.client import Client  # noqa: E402
from mcp_ref.errors import PeerError  # noqa: E402
from mcp_ref.server import Requester  # noqa: E402

TOKENS = {"token-of-ada": "ada", "token-of-bob": "bob"}
administrators: Set[Any] = {"ada"}
server = Server("offices", version="1.0")


def is_administrator(principal: Any) -> bool:
    """Decide by the principal: what ``authenticate`` returned, or a `mcp_ref.auth.Principal`; None on stdio."""
    return principal in administrators


def asks_for_reports(principal: Any, requester: Requester) -> bool:
    """Decide by the query: the client's own choice, which keeps a list short and protects nothing."""
    return "reports" in requester.query.get("group", [])


@server.tool
def rooms() -> List[str]:
    """List the meeting rooms."""
    return ["Fjord", "Delta"]


@server.tool(visible=is_administrator)
def close_office() -> str:
    """Close the office for today."""
    return "closed"


@server.tool(visible=asks_for_reports)
def report() -> str:
    """Write a report."""
    return "all is well"


def names(client: Client) -> List[str]:
    """Return the names of the tools that this client sees."""
    return [tool.name for tool in client.tools()]


def main() -> None:
    """Let two people look at the same server."""
    def authenticate(headers: Any) -> Any:
        return TOKENS.get((headers.get("authorization") or "").partition(" ")[2])

    with server.listen("http://127.0.0.1:0/mcp", authenticate=authenticate) as listener, Session() as session:
        with connect(listener.address, token="token-of-ada", trace=session) as ada, \
                connect(listener.address, token="token-of-bob", trace=session) as bob, \
                connect(listener.address + "?group=reports", token="token-of-bob", trace=session) as reports:
            print("ada sees", names(ada))
            print("bob sees", names(bob))
            print("bob sees", names(reports), "at ?group=reports")
            assert (names(ada), names(bob)) == (["rooms", "close_office"], ["rooms"])
            assert names(reports) == ["rooms", "report"]
            for name in ("close_office", "no_such_tool"):
                try:
                    bob.call_tool(name)
                except PeerError as error:
                    print("bob is told:", error)  # the same of both
            print("ada closes the office:", ada.call_tool("close_office").text)

            administrators.add("bob")  # who sees what has changed, and those whom it concerns are told
            server.lists_changed("tools", visible=lambda principal: principal == "bob")
            print("bob sees", names(bob), "now")
            assert bob.call_tool("close_office").text == "closed"


if __name__ == "__main__":
    main()
