"""Bytes and frames: what JSON-RPC puts on the wire, and what it refuses.

A message is a request, which has a method and an id, a notification, which has a method and no id, or a response, which
has the id of a request and a result or an error [2025-11-25 basic/index §Messages]. The id is a string or a number,
never null. `parse` makes a frame of one line and `encode` a line of a frame; neither knows what the messages mean.

Then the same broken lines are sent to a server, in memory. It answers what it can with an error, and the checker, which
has only watched, says for each line which rule its sender has broken.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server  # noqa: E402
from mcp_ref.jsonrpc import Malformed, Notification, Request, encode, parse  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

BROKEN = {
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}': "jsonrpc.request-id-not-null",
    b'{"jsonrpc":"2.0","id":1,"method":7}': "jsonrpc.follow-spec",
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}': "jsonrpc.request-id-type",
}


def main() -> None:
    """Read and write some frames, and send what is no frame to a server."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"abc"}}'
    request = parse(line, False)
    print("read   ", request)
    if request != Request(1, "tools/list", {"cursor": "abc"}):
        raise SystemExit("that is another request")

    written = encode(Notification("notifications/initialized", None))
    print("written", written.decode("ascii").strip())

    for broken in (b"{", *BROKEN):
        try:
            parse(broken, False)
        except Malformed as error:
            print("refused", broken.decode("ascii"), "->", error.code, error.message)
        else:
            raise SystemExit("%r was taken" % broken)

    near, far = pair()
    connection = Server("demo", version="1.0").connect(far)
    with Session("session", *BROKEN.values()) as session:
        session.tell("open", members={"transport": "memory"})
        for broken in BROKEN:
            session.message("client", broken)
            near.write([broken])
            for answer in near.read() or ():
                if isinstance(answer, bytes):
                    session.message("server", answer)
        near.close()
    connection.wait_closed(20)


if __name__ == "__main__":
    main()
