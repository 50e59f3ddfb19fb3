"""Elicitation: a tool asks the user something while it runs, by a form or by a link.

A form has flat fields, so that every client can draw it [2025-11-25 client/elicitation §Requested Schema]. The user
accepts, declines or cancels, and these are three things [2025-11-25 client/elicitation §Response Actions]. Secrets are
never asked for by a form: for these there are links, which lead to a page of the server that the client does not see
[2025-11-25 client/elicitation §URL Mode Elicitation Requests].

In 2026-07-28, as here, the question is a result of the call, and the client calls again with the answer [2026-07-28
basic/patterns/mrtr §Basic Workflow]. The tool is written once: its function runs again, and answers that are there
return at once.
"""
import pathlib
import sys
from dataclasses import dataclass
from typing import Any, Literal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Context, Server, connect  # noqa: E402
from mcp_ref.client.elicitation import Elicitation  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")


@dataclass
class Order:
    """The form: its fields are those of this class."""

    pizza: Literal["margherita", "funghi"]
    pieces: int = 1


@server.tool
def order(ctx: Context) -> str:
    """Ask what the user wants, then where to pay."""
    answer = ctx.elicit("What would you like?", Order)
    if not answer:
        return "no order: the user chose to %s" % answer.action  # decline and cancel are two things
    paid = ctx.elicit_url("Please pay there.", "https://example.com/pay")
    return "%d %s, payment: %s" % (answer.value.pieces, answer.value.pizza, paid.action)


def fill_in(params: Any, context: Any) -> Any:
    """The user in front of the form: leaves the number as it is."""
    return {"pizza": "funghi"}


def follow(request: Any, context: Any) -> bool:
    """The user in front of a link: sees where it leads before anything is opened."""
    print("agreed to visit", request.host)
    return True


def main() -> None:
    """Order one."""
    near, far = pair()
    server.connect(far)
    user = Elicitation(form=fill_in, url=follow)
    with Session() as session, connect(near, trace=session, elicitation=user) as client:
        said = client.call_tool("order").text
    if said != "1 funghi, payment: accept":
        raise SystemExit("wrong order: %s" % said)


if __name__ == "__main__":
    main()
