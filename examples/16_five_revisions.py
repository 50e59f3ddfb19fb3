"""One tool, five revisions: it asks the user, then the model, then for the roots, and is written once.

In a session the server asks while the tool waits. Without one the tool ends at each question, the client is asked by
the result, and the tool runs again when it comes back with the answer [2026-07-28 basic/patterns/mrtr §Basic Workflow].
The two oldest revisions have no questions to the user; the tool does without.

A session begins with a handshake [2025-11-25 basic/lifecycle §Initialization]; in 2026-07-28 each request says for
itself which revision it is of and what its client can do [2026-07-28 basic/index §Statelessness]. The ladders show the
same conversation five times, side by side.
"""
import pathlib
import sys
from typing import Any, Dict, List, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import REVISIONS, Context, Server, connect  # noqa: E402
from mcp_ref.client.sampling import Sampling  # noqa: E402
from mcp_ref.devtools.ladder import Rung, beside, rungs  # noqa: E402
from mcp_ref.errors import CapabilityMissing  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")


@server.tool
def deploy(service: str, ctx: Context) -> str:
    """Put a service into a region that the user picks, under a name that the model finds."""
    try:
        region = ctx.elicit("Which region?", {"region": str}).content["region"]
    except CapabilityMissing:  # the two oldest revisions have no elicitation
        region = "eu-west"
    name = ctx.sample("A name for %s in %s, please." % (service, region), 20).text
    folders = [root.uri for root in ctx.list_roots()]
    return "%s runs in %s as %s, from %s" % (service, region, name, folders[0])


def pick(params: Any, context: Any) -> Dict[str, str]:
    """The user, in front of the form."""
    return {"region": "eu-west"}


def invent(params: Any, context: Any) -> str:
    """The model."""
    return "blue-whale"


def conversation(revision: str) -> Tuple[str, List[Rung]]:
    """Deploy by one revision: what the tool said, and the ladder."""
    near, far = pair()
    server.connect(far)
    with Session(revision, quiet=True) as session:
        with connect(near, trace=session, era=revision, elicitation=pick, sampling=Sampling(invent, model="m"),
                     roots=["file:///srv/shop"]) as client:
            said = client.call_tool("deploy", {"service": "shop"}).text
    return said, rungs(session.events)


def main() -> None:
    """Deploy by each of them."""
    made = {str(revision): conversation(str(revision)) for revision in REVISIONS}
    print(beside({revision: ladder for revision, (_, ladder) in made.items()}), end="")
    said = {text for text, _ in made.values()}
    if said != {"shop runs in eu-west as blue-whale, from file:///srv/shop"}:
        raise SystemExit("wrong deployments: %s" % said)


if __name__ == "__main__":
    main()
