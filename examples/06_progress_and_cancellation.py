"""A tool that takes its time: it reports progress, and stops when the client gives it up.

The requester puts a token into `_meta`, and the one who works sends notifications with that token, whose progress rises
[2025-11-25 basic/utilities/progress §Progress Flow]. They end with the response.

Whoever has sent a request may cancel it by a notification. No response comes any more, and one that was on its way is
passed over [2025-11-25 basic/utilities/cancellation §Behavior Requirements]. A tool asks its context if it is still
wanted, and a wait on `ctx.cancelled` ends at once.
"""
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Context, Server, connect  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")
started, stopped = threading.Event(), threading.Event()


@server.tool
def count(to: int, ctx: Context) -> str:
    """Count up to a number."""
    for step in range(1, to + 1):
        ctx.progress(step, to, "step %d" % step)
    return "counted to %d" % to


@server.tool
def wait(ctx: Context) -> str:
    """Wait until somebody gives up."""
    started.set()
    ctx.cancelled.wait(20)  # instead of sleeping
    stopped.set()
    ctx.check()  # raises, because nobody wants the answer any more
    return "nobody gave up"


def main() -> None:
    """Follow one call and cancel another."""
    seen = []
    near, far = pair()
    server.connect(far)
    with Session() as session, connect(near, trace=session) as client:
        client.call_tool("count", {"to": 3}, progress=lambda value, total, message: seen.append((value, message)))
        future = client.submit_tool("wait")  # a concurrent.futures.Future
        started.wait(20)
        future.cancel()  # cancels on the wire, too
        if not stopped.wait(20) or not future.cancelled():
            raise SystemExit("the tool was not stopped")
    if seen != [(1, "step 1"), (2, "step 2"), (3, "step 3")]:
        raise SystemExit("wrong progress: %s" % seen)


if __name__ == "__main__":
    main()
