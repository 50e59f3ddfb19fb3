"""What changes while a client is connected: lists, and resources it has subscribed to.
"""
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402
from mcp_ref.wiretrace import to_text  # noqa: E402

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
    with connect(near, trace=to_text(sys.stdout)) as client:
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
