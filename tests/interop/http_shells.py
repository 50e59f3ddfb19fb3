"""WSGI servers of other makers that carry our endpoint; `make interop` runs them.

 - `gunicorn`, `waitress`, `uwsgi`: serve `wsgi_module`; the official Python client 1.x walks through every feature over
   Streamable HTTP, then bare requests look at what clients do not show
 - `flask`, `django`: the same, with the endpoint as a view of theirs (`mounted`)
 - `fastapi`: the same, with the WSGI application mounted in one of ASGI, under uvicorn
 - `gunicorn-workers`: two processes and no sessions; both answer

The servers are pinned, and installed below `build/peers`.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent / "tools")]

from environments import environment, recent_python  # noqa: E402
from official_walk import expect, report  # noqa: E402
from peers import PEERS, PYTHON_FLOOR, PYTHON_PINS  # noqa: E402

PINS = ("gunicorn==23.0.0", "waitress==3.0.2", "flask==3.1.3", "django==5.2.19", "fastapi==0.165.0", "a2wsgi==1.10.10",
        "uvicorn==0.54.0", "h11==0.16.0")
SECONDS = 120
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
UWSGI_PINS = ("uwsgi==2.0.31",)
"""It is compiled, which takes half a minute and a C compiler."""
GUNICORN = ["-m", "gunicorn", "--bind", "127.0.0.1:0", "--threads", "32"]
APPLICATION = "wsgi_module:application"
COMMANDS: Dict[str, List[str]] = {
    "gunicorn": [*GUNICORN, APPLICATION],
    "workers": ["-m", "gunicorn", "--bind", "127.0.0.1:0", "--workers", "2", "--threads", "2", APPLICATION],
    "waitress": ["-m", "waitress", "--listen", "127.0.0.1:0", "--threads", "32", APPLICATION],
    "uwsgi": ["--http-socket", "127.0.0.1:0", "--master", "--enable-threads", "--threads", "32", "--die-on-term",
              "--add-header", "Connection: close", "--need-app", "--module", APPLICATION],
    "flask": [*GUNICORN, "mounted:flask_app()"],
    "django": [*GUNICORN, "mounted:django_app()"],
    "fastapi": ["-m", "uvicorn", "--host", "127.0.0.1", "--port", "0", "--factory", "mounted:fastapi_app"],
}
"""What follows the interpreter, or uWSGI itself."""
CHUNKED = {"uwsgi": 411, "django": 400, "fastapi": 411}
"""Who does not take a body without Content-Length, and what the client is told; all others do."""


@contextlib.contextmanager
def serving(name: str, sessions: str) -> Iterator[Tuple[str, int]]:
    """A WSGI server on loopback; its host and port, as its log says."""
    pins, folder = (UWSGI_PINS, PEERS / "uwsgi") if name == "uwsgi" else (PINS, PEERS / "wsgi")
    program = environment(folder, pins, recent_python(PYTHON_FLOOR))
    if name == "uwsgi":
        program = str(pathlib.Path(program).with_name("uwsgi"))
    settings = dict(os.environ, MCP_SESSIONS=sessions, PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1")
    process = subprocess.Popen([program, *COMMANDS[name]], cwd=str(HERE), env=settings,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout
    assert output is not None
    try:
        for line in output:
            found = re.search(rb"(?:http://|TCP address )(127\.0\.0\.1):([0-9]+)", line)
            if found:
                break
        else:
            raise RuntimeError("%s did not start" % name)
        rest: List[bytes] = []
        threading.Thread(target=lambda: rest.extend(output), daemon=True).start()
        yield found[1].decode(), int(found[2])
    finally:
        process.terminate()
        process.wait(SECONDS)
        sys.stdout.write(b"".join(rest).decode("utf-8", "replace"))
        output.close()


def ask(address: Tuple[str, int], method: str, body: Any = None, headers: Optional[Dict[str, Optional[str]]] = None,
        pieces: bool = False) -> Tuple[int, Dict[str, str], bytes]:
    """One request on a connection of its own; ``pieces``: in chunks, without a Content-Length."""
    fields = {name: value for name, value in {**JSON, **(headers or {})}.items() if value is not None}
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode("ascii")
    connection = http.client.HTTPConnection(*address, timeout=SECONDS)
    try:
        sent = iter([data[:5], data[5:]]) if pieces else data
        connection.request(method, "/mcp", sent, fields, encode_chunked=pieces)
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def call(id: int, name: str, arguments: Optional[Dict[str, Any]] = None, token: Any = None) -> Dict[str, Any]:
    """A call of a tool."""
    params: Dict[str, Any] = {"name": name, "arguments": arguments or {}}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def official(url: str) -> None:
    """Let the official client walk through the server at this URL."""
    python = environment(PEERS / "official_v1", PYTHON_PINS["official_v1"], recent_python(PYTHON_FLOOR))
    code = subprocess.run([python, str(HERE / "official_client_v1.py"), url], cwd=str(ROOT), stdin=subprocess.DEVNULL,
                          timeout=5 * SECONDS).returncode
    expect(code == 0, "the official client ended with", code)


def walk(name: str) -> None:
    """A WSGI server with sessions in memory."""
    started = time.monotonic()
    with serving(name, "memory") as address:
        official("http://%s:%d/mcp" % address)
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bare", "version": "0"}}
        first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}
        status, headers, _ = ask(address, "POST", first)
        session = {"Mcp-Session-Id": headers["mcp-session-id"]}
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        expect(ask(address, "POST", note, session)[::2] == (202, b""), "a notification")
        for id, pieces in ((1, False), (2, True)):
            if pieces and name in CHUNKED:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # told before all of it was sent
                    refused = ask(address, "POST", call(id, "echo", {"text": "x"}), session, pieces)
                    expect(refused[0] == CHUNKED[name], "chunks", refused)
                continue
            status, headers, body = ask(address, "POST", call(id, "echo", {"text": "x" * 100_000}), session, pieces)
            expect((status, headers["content-type"]) == (200, "application/json"), "a call", status, headers)
            expect(json.loads(body)["result"]["content"][0]["text"] == "x" * 100_000, "its answer", body[:200])
        refused = [ask(address, "POST", call(3, "echo"), {**session, "Origin": "https://evil.example"}),
                   ask(address, "HEAD", None, session), ask(address, "PUT", b"x", session),
                   ask(address, "POST", b"{", session), ask(address, "DELETE", None, session),
                   ask(address, "GET", None, {**session, "Accept": "text/event-stream"})]
        expect([status for status, _, _ in refused] == [403, 405, 405, 400, 204, 404], "refusals", refused)
    report(name, started)


def workers() -> None:
    """Two processes; each request stands alone."""
    started = time.monotonic()
    with serving("workers", "none") as address:
        seen, number = set(), 0
        while len(seen) < 2 and time.monotonic() < started + SECONDS:  # the second one may take a while to start
            number += 1
            status, headers, body = ask(address, "POST", call(number, "process", token=number))
            expect((status, headers["content-type"]) == (200, "text/event-stream"), "a call", status, headers, body)
            events = [json.loads(line[6:]) for line in body.decode("ascii").split("\n") if line.startswith("data: ")]
            expect([event.get("id") for event in events] == [None, number], "progress and answer", events)
            seen.add(events[1]["result"]["content"][0]["text"])
        expect(len(seen) == 2, "both processes answer", seen)
        expect(ask(address, "GET", None, {"Accept": "text/event-stream"})[0] == 405, "GET")
    report("workers", started, processes=len(seen))


SHELLS: Dict[str, Callable[[], None]] = {
    "gunicorn-workers": workers,
    **{name: partial(walk, name) for name in ("gunicorn", "waitress", "uwsgi", "flask", "django", "fastapi")},
}
"""Every pairing by name."""
