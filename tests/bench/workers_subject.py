"""Several processes on one port, for the figure `workers-4`: `run FILE --workers N` with this file.

    python3 tests/bench/workers_subject.py N

Its tool `echo` takes half a millisecond of processor time. The first line of output is the URL; end of file on standard
input ends it.
"""
import subprocess
import sys
import time

from mcp_ref import Server

SECONDS = 0.0005
server = Server("bench", version="1")


@server.tool
def echo(text: str) -> str:
    """Give the text back, after some work."""
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        pass
    return text


def main() -> None:
    """Serve until the end of standard input."""
    command = [sys.executable, "-m", "mcp_ref", "run", __file__, "--http", "127.0.0.1:0", "--workers", sys.argv[1]]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        print(process.stderr.readline().decode().split()[2], flush=True)
        sys.stdin.read()
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    main()
