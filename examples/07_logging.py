"""Log messages: from a tool, from the whole server, and from Python's own `logging`, with secrets masked.

A server that logs to its client declares the capability, and the client says from which level on it wants to hear
[2025-11-25 server/utilities/logging §Setting Log Level]. The eight levels are those of syslog [2025-11-25
server/utilities/logging §Log Levels].

The data may be any JSON value, and no credentials: a password in a message is masked before it leaves the process
[2025-11-25 server/utilities/logging §Security]. In 2026-07-28 a server logs for the request on which it works, at the
level that this request names [2026-07-28 server/utilities/logging §Log Levels].
"""
import logging
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Context, Server, connect  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")


@server.tool
def work(ctx: Context) -> str:
    """Talk while working."""
    ctx.log("debug", "not heard by a client that wants warnings")
    ctx.log("warning", {"disk": "nearly full", "free_mb": 12}, "storage")
    logging.getLogger("app").error("login with password=hunter2 failed")
    return "done"


def main() -> None:
    """Listen to the server's log."""
    heard = []
    three = threading.Semaphore(0)

    def on_log(level: str, data: object, logger: object) -> None:
        heard.append((level, data, logger))
        three.release()

    handler = server.log_handler()
    logging.getLogger("app").addHandler(handler)
    near, far = pair()
    server.connect(far)
    # In a session; without one a server logs for the request it works on, and has nothing to say beside.
    with Session() as session, connect(near, trace=session, on_log=on_log, era="legacy") as client:
        client.set_log_level("warning")
        client.call_tool("work")
        server.log("alert", "the whole server has something to say")
        for _ in range(3):
            three.acquire(timeout=20)
    logging.getLogger("app").removeHandler(handler)
    handler.close()
    levels = sorted(level for level, data, logger in heard)
    if levels != ["alert", "error", "warning"] or "hunter2" in str(heard):
        raise SystemExit("wrong log: %s" % heard)


if __name__ == "__main__":
    main()
