"""The subject of the HTTP figures: the tools of `subject_server.py` over HTTP.

    python3 tests/bench/http_subject.py [--sse]

With `--sse` every answer is a stream, otherwise it comes as it suits. The first line of output is the URL; end of file
on standard input ends it.
"""
import sys

from subject_server import server


def main() -> None:
    """Serve until the end of standard input."""
    with server.listen("http://127.0.0.1:0/mcp", json_response=False if "--sse" in sys.argv[1:] else None) as listener:
        print(listener.address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
