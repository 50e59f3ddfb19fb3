"""Changes while a client is connected: lists, and resources it has subscribed to.

In 2026-07-28 a client opens a subscription, says which news it wants, and gets these, each with the id of the
subscription [2026-07-28 basic/patterns/subscriptions §Opening a Stream]. The first message about it is an
acknowledgement [2026-07-28 basic/patterns/subscriptions §Acknowledgment].

In earlier revisions the news of lists came by themselves, and each resource was subscribed to by a request [2025-11-25
server/resources §Subscriptions]. A notification says that something has changed, not what it is now: the client asks
again.
"""
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")
weather = {"Bern": "rain"}


@server.resource("weather://bern")
def bern() -> str:
    """The weather in Bern."""
    return weather["Bern"]


@server.tool
def clear_up() -> str:
    """Let the sun shine."""
    weather["Bern"] = "sun"
    server.resource_updated("weather://bern")  # tells those who have subscribed
    server.tool(lambda: "rain again", name="make_rain", description="Let it rain.")  # tells everybody
    return "done"


def main() -> None:
    """Subscribe, change, look again."""
    updated = threading.Event()
    near, far = pair()
    server.connect(far)
    with Session() as session, connect(near, trace=session) as client:
        before = [tool.name for tool in client.tools()]
        client.subscribe_resource("weather://bern", lambda uri: updated.set())
        client.call_tool("clear_up")
        if not updated.wait(20) or client.read_resource("weather://bern").text != "sun":
            raise SystemExit("the change was not announced")
        after = [tool.name for tool in client.tools()]  # kept lists were dropped when the change was announced
    if before != ["clear_up"] or after != ["clear_up", "make_rain"]:
        raise SystemExit("wrong lists: %s %s" % (before, after))


if __name__ == "__main__":
    main()
