"""Bytes and frames: what JSON-RPC puts on the wire, and what it refuses.

`parse` makes a frame of one line and `encode` a line of a frame. Nothing here knows what the messages mean.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from mcp_ref.jsonrpc import Malformed, Notification, Request, encode, parse  # noqa: E402


def main() -> None:
    """Read and write some frames."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"abc"}}'
    request = parse(line, False)
    print("read   ", request)
    if request != Request(1, "tools/list", {"cursor": "abc"}):
        raise SystemExit("that is another request")

    written = encode(Notification("notifications/initialized", None))
    print("written", written.decode("ascii").strip())

    for broken in (b"{", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":7}',
                   b'[{"jsonrpc":"2.0","method":"ping"}]'):
        try:
            parse(broken, False)
        except Malformed as error:
            print("refused", broken.decode("ascii"), "->", error.code, error.message)
        else:
            raise SystemExit("%r was taken" % broken)


if __name__ == "__main__":
    main()
