"""Tools on the main thread of an application, for one whose interface must not be touched from elsewhere.

The application calls `pump` from its timer; the tools run there, and nowhere else. The messages are read by another
thread, so that pings are answered while a tool runs [2025-11-25 basic/utilities/ping §Behavior Requirements], and
cancellations are heard.

An application that does not pump gets an error for its callers instead of a silence: a job that has waited too long is
refused. The servers in examples/hosts run so inside Blender, GDB and LibreOffice.
"""
import pathlib
import sys
import threading
from concurrent.futures import wait

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.peer.main_thread import MainThreadQueue  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

tasks = MainThreadQueue()
server = Server("demo", version="1.0", executor=tasks)


@server.tool
def thread() -> str:
    """Tell where this runs."""
    return threading.current_thread().name


def main() -> None:
    """Be the application."""
    near, far = pair()
    server.connect(far)
    with Session() as session, connect(near, trace=session) as client:
        future = client.submit_tool("thread")
        while not wait([future], timeout=0.01).done:  # the application's loop, with its timer
            tasks.pump(max_ms=10)
        name = future.result(20).text
    print("ran on", name)
    if name != threading.main_thread().name:
        raise SystemExit("that is another thread")


if __name__ == "__main__":
    main()
