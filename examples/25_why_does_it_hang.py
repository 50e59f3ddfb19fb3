"""Why does it hang? Seven reasons why nothing happens, and how each is known.

On a pipe: a line on standard output that is no message [2025-11-25 basic/transports §stdio]; an answer that stays in a
buffer; a standard error that nobody reads, until its pipe is full; an end of input that the server does not notice
[2025-11-25 basic/lifecycle §Shutdown > stdio]. Over HTTP: a `Host` that the server does not know, which it refuses
because a page of the web may have sent it [2026-07-28 basic/transports/streamable-http §Security & Endpoint]; a proxy
that keeps a stream back until it is whole, of which only the header against it is shown. And on both: a client of one
era that waits for a server of the other [2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based
Versions].

`python3 -m mcp_ref doctor SERVER` looks for such reasons. Here each is a few lines, so that it is known when it is met.
"""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Context, Server  # noqa: E402

TINY = pathlib.Path(__file__).with_name("tiny_server.py").read_text(encoding="utf-8")
PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
QUIET = 0.5
"""Seconds after which what should have come at once counts as not coming."""


def start(source: str) -> Any:
    """Start a program whose three streams are pipes."""
    pipe = subprocess.PIPE
    environment = dict(os.environ, PYTHONUNBUFFERED="")  # as most hosts start a server
    return subprocess.Popen([sys.executable, "-c", source], stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


def hangs(process: Any) -> bool:
    """Tell if a process goes on although it should have ended."""
    try:
        process.wait(QUIET)
        return False
    except subprocess.TimeoutExpired:
        return True


def on_a_pipe() -> None:
    """Show what goes wrong between a client and the process of its server."""
    with Session("pollution", "stdio.server-stdout-only-mcp") as session:
        session.tell("open", members={"transport": "stdio"})
        session.message("client", PING)
        said, _ = start("print('tiny is ready')\n" + TINY).communicate(PING + b"\n", 20)
        for line in said.splitlines():
            session.message("server", line)

    process, heard = start(TINY.replace(", flush=True", "")), threading.Event()

    def read() -> None:
        process.stdout.readline()
        heard.set()

    reader = threading.Thread(target=read)
    reader.start()
    process.stdin.write(PING + b"\n")
    process.stdin.flush()
    assert not heard.wait(QUIET), "the answer should stay in the buffer"
    process.communicate(timeout=20)  # closes the input: the server ends, and Python empties its buffers
    reader.join(20)
    assert heard.is_set()
    print("buffering: the answer came when the server ended; print(..., flush=True) sends it at once")

    process = start("import sys; sys.stderr.write('x' * 1000000)")
    assert hangs(process), "the pipe of standard error should be full"
    process.communicate(timeout=20)  # reads it
    print("standard error: the server waited until somebody read what it had written there")

    process = start("import threading; threading.Event().wait()")
    process.stdin.close()
    assert hangs(process), "nobody should have noticed"
    process.kill()
    process.stdin = None
    process.communicate(timeout=20)
    print("end of input: the server did not notice, and had to be killed")


def over_http() -> None:
    """Show what goes wrong between a client and the address of its server."""
    server = Server("demo", version="1.0")

    @server.tool
    def work(ctx: Context) -> str:
        """Report progress, so that the answer is a stream."""
        ctx.progress(1, 1)
        return "done"

    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 1,
            "io.modelcontextprotocol/clientCapabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "work", "_meta": meta}})
    fields = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
              "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "work"}
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        where = listener.address.split("/")[2]
        for host in ("somewhere.example", where):
            connection = http.client.HTTPConnection(where, timeout=20)
            connection.request("POST", "/mcp", body, dict(fields, Host=host))
            answer = connection.getresponse()
            print("Host %s: %d %s" % (host.split(":")[0], answer.status, answer.read()[:100].decode().strip()))
            assert (answer.status == 200) == (host == where)
            connection.close()
        assert answer.getheader("X-Accel-Buffering") == "no"
        print("proxies: X-Accel-Buffering: no tells nginx to pass each event on when it comes")


def between_eras() -> None:
    """Ask a server of sessions in the way of 2026-07-28; it answers that it does not know the method."""
    asked = b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}\n'
    said, _ = start(TINY).communicate(asked, 20)
    assert json.loads(said)["error"]["code"] == -32601
    print("eras: a server that says nothing here keeps a client of both eras waiting; this one says -32601")


def main() -> None:
    """Show all of them."""
    on_a_pipe()
    over_http()
    between_eras()


if __name__ == "__main__":
    main()
