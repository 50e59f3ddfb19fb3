"""What `doctor` says of servers that are broken in one way each, and of healthy ones."""
import json
import os
import re
import socket
import sys
import time
from typing import Any, Dict, List, Tuple

import pytest

import mcp_ref
from mcp_ref import connect
from mcp_ref.cli.doctor import addresses, evidence, programs
from mcp_ref.cli.doctor.evidence import Patient
from mcp_ref.errors import HttpStatus, PeerError, PeerProtocolError
from tests.interop.odd_clients import target_of
from tests.interop.odd_servers import ROWS as ROWS_OF_ODD
from tests.support.patience import WAIT, patience

from .running import here, one_line_of, run

from .broken import (
    ECHO, PRELUDE, PYTHON, SHORT, TLS, Broken, Peer, Place, Words, always, at, command, free_port, handshaking, of_ours,
    program, reply, web,
)

OURS = os.path.dirname(os.path.dirname(os.path.abspath(mcp_ref.__file__)))
EXPIRED, TRUSTED = "expired.pem", "localhost.pem"
HTTP_SSE = web(lambda method, target, fields, asked: reply("405 Method Not Allowed") if method == "POST" else
               reply("200 OK", "event: endpoint\ndata: /messages\n\n", "text/event-stream"))


def talk_lsp(place: Place) -> Words:
    """A server that frames messages as language servers do."""
    return program("""
def answer(asked):
    body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result_of(asked)})
    sys.stdout.write("Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
    sys.stdout.flush()
for line in sys.stdin:
    if line.startswith("{"):
        answer(json.loads(line))
""")(place)


def late(place: Place) -> Words:
    """A server that answers after more than the time that it gets, and less than twice that time."""
    return program("""
import time
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        time.sleep(%r)
        send({"id": asked["id"], "result": result_of(asked)})
""" % (1.1 * place.seconds))(place)


def wrong_folder(place: Place) -> Words:
    place.file("server.py", PRELUDE + "serve()")
    return ["--cwd", os.sep, *command(*PYTHON, "server.py")]


def misspelt(kind: str) -> Any:
    """The command of a script whose name is misspelt; with an absolute path."""
    def make(place: Place) -> Words:
        folder = os.path.dirname(place.file("server.py", ""))
        return ["--cwd", folder, *command(*PYTHON, os.path.join(folder if kind else "", "sevrer.py"))]
    return make


PROGRAMS = (
    Broken("command-not-found", lambda place: command("no-such-command", "-x"), "command-not-found",
           ["no-such-command: not found.", "PATH"]),
    Broken("script-as-program", lambda place: ["--cwd", os.path.dirname(place.file("server.py", "")), "server.py"],
           "command-not-found", ["it is a file, not a program", 'Write "python3 server.py".']),
    Broken("path-not-found", lambda place: command("./no/such/server"), "command-not-found", ["./no/such/server"]),
    Broken("not-executable", lambda place: command(place.file("server.sh", "#!/bin/sh\n")), "not-executable",
           ["server.sh", "chmod +x"]),
    Broken("no-interpreter", lambda place: command(place.file("server.sh", "#!/no/such/python\n", 0o755)),
           "bad-interpreter", ["/no/such/python"]),
    Broken("not-a-program", lambda place: command(place.file("server", b"\x7fELFnothing", 0o755)), "not-a-program",
           ["server"]),
    Broken("address-without-scheme", lambda place: ["localhost:8000/mcp"], "not-an-address",
           ["http://localhost:8000/mcp"]),
    Broken("open-quote", lambda place: ["python3 'server.py"], "bad-command-line", ["quot"]),
    Broken("script-missing", lambda place: command(*PYTHON, "no_such_server.py"), "script-missing",
           ["no_such_server.py"]),
    Broken("wrong-folder", wrong_folder, "script-missing", ["server.py", "absolute"]),
    Broken("script-misspelt", misspelt(""), "script-missing", ["Did you mean server.py? Give the absolute path"]),
    Broken("absolute-misspelt", misspelt("absolute"), "script-missing", ["Did you mean server.py? Look for a mistake"]),
    Broken("ours-missing", lambda place: command(*PYTHON, "-I", "-c", "import mcp_ref"), "import-error",
           ["Put the folder mcp_ref beside the script (python3 -m mcp_ref vendor FOLDER)", "PYTHONPATH=" + OURS]),
    Broken("no-folder", lambda place: ["--cwd", str(place.folder / "none"), *command(*PYTHON, "server.py")],
           "no-folder", ["none"]),
    Broken("import-error", program("import no_such_module"), "import-error",
           ["no_such_module", "Install it for the very interpreter"]),
    Broken("syntax-error", program("\nserve(\n"), "syntax-error", ["SyntaxError", "server.py"]),
    Broken("exits-0", program(""), "exits-at-once", ["code 0"]),
    Broken("exits-1", program("sys.exit('cannot read config.toml')"), "exits-with-error",
           ["code 1", "cannot read config.toml", "try --inherit-env."]),
    Broken("killed", program("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), "killed", ["SIGKILL"]),
    Broken("variable-missing", program("import os; os.environ['WEATHER_KEY']"), "variable-missing", ["WEATHER_KEY"]),
    Broken("usage", program("import argparse; p = argparse.ArgumentParser(); p.add_argument('folder'); p.parse_args()"),
           "bad-arguments", ["folder"]),
    Broken("one-word", lambda place: command("%s -S server.py" % sys.executable), "command-with-arguments",
           ["a word of its own"]),
    Broken("npm-404", program("sys.exit(\"npm error code E404\\nnpm error 404 Not Found - '@acme/no-such@*' is not in "
                              "this registry.\")"), "package-not-found", ["E404"]),
    Broken("no-network", program("sys.exit('error: getaddrinfo EAI_AGAIN registry.example')"), "no-network",
           ["EAI_AGAIN", "HTTPS_PROXY"]),
    Broken("port-taken", program("sys.exit('Error: listen EADDRINUSE: address already in use :::3000')"),
           "address-in-use", ["3000"]),
    Broken("no-permission", program("open('/proc/1/mem') if __import__('os').getuid() else sys.exit("
                                    "\"PermissionError: [Errno 13] Permission denied: '/data'\")"), "no-permission",
           ["Permission denied"]),
    Broken("variable-said", program("sys.exit('Error: BRAVE_API_KEY environment variable is required')"),
           "variable-missing", ["BRAVE_API_KEY", "--env"]),
    Broken("node-script", program("sys.exit(\"Error: Cannot find module '/srv/none.js'\\n  code: 'MODULE_NOT_FOUND',\\n"
                                  "  requireStack: []\")"), "script-missing", ["/srv/none.js"]),
    Broken("node-module", program("sys.exit(\"Error: Cannot find module 'express'\\nRequire stack:\\n"
                                  "- /srv/index.js\")"),
           "import-error", ["express"]),
    Broken("serves-http", program("print('INFO: Uvicorn running on http://127.0.0.1:8000', file=sys.stderr, "
                                  "flush=True)\n"
                                  "sys.stdin.read()"), "serves-http", ["http://127.0.0.1:8000", "URL"], SHORT),
    Broken("list-silent", program("serve(answer=lambda asked: asked['method'] == 'initialize' and send({'id': "
                                  "asked['id'], 'result': result_of(asked)}))"), "list-silent", ["tools/list"], SHORT),
    Broken("only-text", program("print('Server running on port 8000', flush=True); sys.stdin.read()"),
           "stdout-not-protocol", ["Server running on port 8000"], SHORT),
    Broken("text-then-end", program("sys.stdin.readline(); print('Welcome')"), "stdout-not-protocol", ["Welcome"]),
    Broken("lsp", talk_lsp, "lsp-framing", ["Content-Length"], SHORT),
    Broken("help-text",
           program("sys.stdin.readline(); print('Unknown script: x\\nAvailable: stdio, sse'); sys.exit(1)"),
           "exits-with-error", ["code 1", "Available: stdio, sse"]),
    Broken("http-instead", program("print('Starting Streamable HTTP server...', flush=True); sys.stdin.read()"),
           "serves-http", ["Streamable HTTP"], SHORT),
    Broken("echo", program("for line in sys.stdin: print(line, end='', flush=True)"), "echoes", ["cat"],
           SHORT),
    Broken("wrong-id", program("serve(answer=lambda asked: send({'id': 99, 'result': result_of(asked)}))"), "wrong-id",
           ["99"], SHORT),
    Broken("id-as-text", program("serve(answer=lambda asked: send({'id': 'x%s' % asked['id'], 'result': {}}))"),
           "wrong-id", [], SHORT),
    Broken("invalid-json", program("serve(answer=lambda asked: print(\"{'jsonrpc': '2.0', 'id': 1}\", flush=True))"),
           "invalid-json", ["{'jsonrpc'"], SHORT),
    Broken("pretty-json", program("serve(answer=lambda asked: print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], "
                                  "'result': result_of(asked)}, indent=2), flush=True))"),
           "message-on-lines", ["one line"], SHORT),
    Broken("utf-16", program("""
out = open(1, "w", encoding="utf-16", newline="\\n", closefd=False)
def answer(asked):
    out.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result_of(asked)}) + "\\n")
    out.flush()
serve(answer=answer)
"""), "wrong-encoding", ["UTF-16"], SHORT),
    Broken("silent", program("sys.stdin.read()"), "never-answers", [], SHORT),
    Broken("buffered", program("""
def answer(asked):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result_of(asked)}) + "\\n")
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        answer(asked)
"""), "keeps-answers", [], SHORT),
    Broken("late", late, "answers-late", ["was given SECONDS s"], SHORT),
    Broken("hangs-at-probe", program("""
first = json.loads(sys.stdin.readline())
if first["method"] != "initialize":
    sys.stdin.read()
send({"id": first["id"], "result": result_of(first)})
serve()
"""), "probe-hangs", ["server/discover", "--era legacy"], SHORT),
    Broken("closes-stdout", program("import os; os.close(1); sys.stdin.read()"), "stdout-closed", []),
    Broken("old-server-modern-client", program("serve()", "--era", "modern"), "no-common-revision", ["--era"]),
    Broken("new-server-old-client", lambda place: ["--era", "legacy", *command(*PYTHON[:1], place.file("server.py", """
import sys
sys.path.insert(0, %r)
from mcp_ref import Server
Server("new", revisions=["2026-07-28"]).run()
""" % str(TLS.parents[2])))], "no-common-revision", ["2026-07-28"]),
    Broken("unknown-revision", program("serve(answer=lambda asked: send({'id': asked['id'], 'result': "
                                       "dict(result_of(asked), protocolVersion='1999-01-01')}))"),
           "no-common-revision", ["1999-01-01"]),
    Broken("invalid-params", program("serve(answer=lambda asked: send({'id': asked['id'], 'error': "
                                     "{'code': -32602, 'message': 'clientInfo is odd'}}))"),
           "initialize-refused", ["-32602", "clientInfo is odd"]),
    Broken("internal-error", program("serve(answer=lambda asked: send({'id': asked['id'], 'error': "
                                     "{'code': -32603, 'message': 'no database'}}))"),
           "initialize-refused", ["-32603", "no database"]),
    Broken("bad-result", program("serve(answer=lambda asked: send({'id': asked['id'], 'result': {'hello': 1}}))"),
           "bad-result", ["initialize"]),
    Broken("dies-after-handshake", program("serve(answer=lambda asked: send({'id': asked['id'], 'result': "
                                           "result_of(asked)}) if asked['method'] == 'initialize' else sys.exit(3))"),
           "dies-later", ["code 3", "tools/list"]),
    Broken("list-refused", program("serve(answer=lambda asked: send({'id': asked['id'], 'result': result_of(asked)}) "
                                   "if asked['method'] == 'initialize' else send({'id': asked['id'], 'error': "
                                   "{'code': -32603, 'message': 'no tools today'}}))"),
           "list-fails", ["tools/list", "no tools today"]),
)


def proxy_dead(place: Place) -> Words:
    for name in ("HTTPS_PROXY", "https_proxy"):
        place.setenv(name, "http://user:pa55word@127.0.0.1:%d" % free_port())
    return ["https://mcp.example.com/mcp"]


def proxy_refuses(place: Place) -> Words:
    proxy = place.listen(always("407 Proxy Authentication Required"))
    for name in ("HTTPS_PROXY", "https_proxy"):
        place.setenv(name, "http://127.0.0.1:%d" % proxy.port)
    return ["https://mcp.example.com/mcp"]


def proxy_odd(place: Place) -> Words:
    for name in ("HTTPS_PROXY", "https_proxy"):
        place.setenv(name, "socks5://127.0.0.1:1080")
    return ["https://mcp.example.com/mcp"]


def unix_not_a_socket(place: Place) -> Words:
    return ["unix://" + place.file("socket", "")]


def unix_stale(place: Place) -> Words:
    path = str(place.folder / "socket")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
    return ["unix://" + path]


def ssh(peer: Peer) -> None:
    peer.send(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
    peer.gone()


def redis(peer: Peer) -> None:
    while peer.line():
        peer.send(b"-ERR unknown command\r\n")


def mute(peer: Peer) -> None:
    peer.gone()


def cutting(peer: Peer) -> None:
    if peer.request() is not None:
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 500\r\n\r\ndata: {\"jsonr")


def forgetful(method: str, target: str, fields: Dict[str, str], asked: Any) -> bytes:
    if "mcp-session-id" in fields:
        return reply("404 Not Found", {"jsonrpc": "2.0", "id": None,
                                       "error": {"code": -32001, "message": "Session not found"}})
    return handshaking(asked, "Mcp-Session-Id: s-%d" % time.monotonic_ns())


def login_at(method: str, target: str, fields: Dict[str, str], asked: Any) -> bytes:
    origin = "http://" + fields["host"]
    if target.startswith("/.well-known/oauth-protected-resource"):
        return reply("200 OK", {"resource": origin + "/mcp", "authorization_servers": [origin]})
    if target.startswith("/.well-known/"):
        return reply("200 OK", {"issuer": origin, "authorization_endpoint": origin + "/authorize", "token_endpoint":
                                origin + "/token", "response_types_supported": ["code"],
                                "code_challenge_methods_supported": ["S256"]})
    return oauth(method, target, fields, asked)


METADATA = 'Bearer resource_metadata="http://{host}/.well-known/oauth-protected-resource/mcp"'


def oauth(method: str, target: str, fields: Dict[str, str], asked: Any) -> bytes:
    return reply("401 Unauthorized", "", "text/plain", "WWW-Authenticate: " + METADATA.format(host=fields["host"]))


def tcp(behaviour: Any, **options: Any) -> Any:
    return at(behaviour, url="tcp://{host}:{port}", **options)


HTTPS = "https://localhost:{port}/mcp"
ADDRESSES = (
    Broken("http-refused", lambda place: ["http://127.0.0.1:%d/mcp" % free_port()], "refused", ["127.0.0.1"]),
    Broken("dns", lambda place: ["http://no-such-host.invalid/mcp"], "name-unknown", ["no-such-host.invalid"]),
    Broken("bad-url", lambda place: ["http://127.0.0.1:99999/mcp"], "bad-address", ["99999"]),
    Broken("wrong-path", of_ours("http://127.0.0.1:{port}/wrong"), "wrong-path", ["404", "/wrong"]),
    Broken("path-for-posts", at(web(lambda method, target, fields, asked: b"" if target == "/message" else handshaking(
        asked)), url="http://{host}:{port}/message"), "wrong-path", ["/message", "/mcp answers as an MCP server"],
           SHORT),
    Broken("405", at(always("405 Method Not Allowed", "", "text/plain", "Allow: GET")), "wrong-path", ["405"]),
    Broken("401-bare", at(always("401 Unauthorized")), "needs-token", ["--token-env"]),
    Broken("401-oauth", at(web(login_at)), "needs-login", ["--oauth", "log in at http://127.0.0.1"]),
    Broken("401-metadata", at(web(oauth)), "needs-login", ["--oauth", "oauth-protected-resource", "fault"]),
    Broken("401-oauth-fails", at(web(oauth), more=["--oauth", "--token-file", "-"]), "login-fails", ["metadata"]),
    Broken("401-wrong-token", lambda place: (place.setenv("KEY", "s3cret-value-1"), at(
        always("401 Unauthorized", "bad token s3cret-value-1"), more=["--token-env", "KEY"])(place))[1],
        "token-refused", ["401", "token"]),
    Broken("403-host", of_ours("{address}", allowed_hosts=["mcp.example.com"]), "host-refused", ["allowed_hosts"]),
    Broken("403-origin", of_ours("{address}", "--header", "Origin=https://evil.example"), "origin-refused",
           ["allowed_origins", "https://evil.example"]),
    Broken("403-other", at(always("403 Forbidden", "not for you")), "forbidden", ["not for you"]),
    Broken("403-scope", at(always("403 Forbidden", "", "text/plain", 'WWW-Authenticate: Bearer '
                                  'error="insufficient_scope", scope="files:write"')), "scope-missing", ["--scope"]),
    Broken("429", at(always("429 Too Many Requests", "slow down")), "too-many", ["slow down"]),
    Broken("421", at(always("421 Misdirected Request", "Invalid Host header")), "host-refused",
           ["421", "allowed_hosts"]),
    Broken("406", at(always("406 Not Acceptable", "no")), "not-mcp", ["406"]),
    Broken("415", at(always("415 Unsupported Media Type", "no")), "not-mcp", ["415"]),
    Broken("500", at(always("500 Internal Server Error", "it broke")), "server-error", ["500", "it broke"]),
    Broken("503", at(always("503 Service Unavailable", "", "text/plain", "Retry-After: 7")), "server-error", ["503"]),
    Broken("html", at(always("200 OK", "<!doctype html><title>Welcome to nginx</title>", "text/html")), "web-page",
           ["text/html"]),
    Broken("json-of-others", at(always("200 OK", {"status": "fine"})), "not-mcp", ["fine"]),
    Broken("redirect", at(always("302 Found", "", "text/plain", "Location: https://login.example/sso")), "redirect",
           ["https://login.example"]),
    Broken("redirect-slash", at(always("301 Moved Permanently", "", "text/plain", "Location: /mcp/")), "redirect",
           ["/mcp/"]),
    Broken("sse-cut", at(HTTP_SSE), "http-sse-broken", []),
    Broken("tls-to-plain", of_ours("https://127.0.0.1:{port}/mcp"), "plain-not-tls", ["http://127.0.0.1"]),
    Broken("plain-to-tls", at(mute, TRUSTED), "tls-not-plain", ["https://127.0.0.1"]),
    Broken("tls-to-ssh", at(ssh, url=HTTPS), "not-tls", ["SSH-2.0-OpenSSH"]),
    Broken("self-signed", at(mute, TRUSTED, HTTPS), "certificate-unknown", ["--cafile", "SSL_CERT_FILE"]),
    Broken("expired", at(mute, EXPIRED, HTTPS, more=["--cafile", str(TLS / EXPIRED)]), "certificate-expired",
           ["expired"]),
    Broken("wrong-name", at(mute, TRUSTED, "https://127.0.0.2:{port}/mcp", "127.0.0.2",
                            ["--cafile", str(TLS / TRUSTED)]), "certificate-name", ["127.0.0.2", "localhost"]),
    Broken("proxy-dead", proxy_dead, "proxy-unreachable", ["HTTPS_PROXY", "NO_PROXY"]),
    Broken("proxy-refuses", proxy_refuses, "proxy-refuses", ["407"]),
    Broken("proxy-odd", proxy_odd, "proxy-odd", ["HTTPS_PROXY"]),
    Broken("ssh", at(ssh), "something-else", ["SSH-2.0-OpenSSH"]),
    Broken("redis", at(redis), "something-else", ["-ERR unknown command"]),
    Broken("http-mute", at(mute), "never-answers", [], SHORT),
    Broken("http-cut", at(web(lambda *request: None)), "cut", []),
    Broken("stream-cut", at(cutting), "stream-cut", []),
    Broken("session-lost", at(web(forgetful)), "session-lost", ["404"]),
    Broken("brotli", at(always("200 OK", b"\x0b\x02\x80hello\x03", "application/json", "Content-Encoding: br")),
           "compressed", ["br"]),
    Broken("http-old-client", of_ours("{address}", "--era", "legacy", revisions=["2026-07-28"]), "no-common-revision",
           ["2026-07-28"]),
    Broken("tcp-refused", lambda place: ["tcp://127.0.0.1:%d" % free_port()], "refused", ["127.0.0.1"]),
    Broken("tcp-dns", lambda place: ["tcp://no-such-host.invalid:9"], "name-unknown", ["no-such-host.invalid"]),
    Broken("tcp-ssh", tcp(ssh), "something-else", ["SSH-2.0-OpenSSH"], SHORT),
    Broken("tcp-mute", tcp(mute), "never-answers", [], SHORT),
    Broken("tcp-http", of_ours("tcp://127.0.0.1:{port}"), "http-not-lines", ["http://127.0.0.1"]),
    Broken("tcp-cut", tcp(lambda peer: None), "cut", []),
    Broken("tcp-tls", tcp(mute, tls=TRUSTED), "tls-not-plain", []),
    Broken("unix-missing", lambda place: ["unix://%s/none" % place.folder], "socket-missing", ["none"]),
    Broken("unix-relative", lambda place: ["unix://mcp.sock"], "bad-address", ["absolute"]),
    Broken("unix-file", unix_not_a_socket, "not-a-socket", []),
    Broken("unix-stale", unix_stale, "refused", ["socket"]),
)
ROWS = PROGRAMS + ADDRESSES


@pytest.fixture
def place(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Where a server is made; no proxy but that of the test, and an interpreter that starts quickly."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    made = Place(tmp_path, monkeypatch.setenv)
    with made.closing:
        yield made


def examined(capsys: Any, *words: str) -> Tuple[int, Any, str]:
    """The exit code, the JSON and standard error."""
    code, out, err = here(capsys, "doctor", "--json", *words)
    return code, json.loads(out), err


ILLEGAL = pytest.mark.sends_illegal("*", why="the server's answer is wrong on purpose")


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name, marks=[ILLEGAL] if row.cause == "bad-result" else [])
                                 for row in ROWS])
def test_the_cause_is_named(row: Broken, place: Place, capsys: Any) -> None:
    place.seconds = row.seconds if row.cause == "never-answers" else patience(row.seconds)
    code, found, err = examined(capsys, "--timeout", "%g" % place.seconds, *row.make(place))
    said = "%s / %s" % (found.get("cause", {}).get("sentence"), found.get("cause", {}).get("advice"))
    assert (code, found["healthy"], found["cause"]["id"]) == (1, False, row.cause), said
    words = [word.replace("SECONDS", "%g" % place.seconds) for word in row.words]
    assert [word for word in words if word not in said] == [], said
    assert "Traceback" not in err and "  " not in said and ".." not in said.replace("...", ""), said


ODD = {
    "bad-result": "capabilities.null capabilities-bool.tools server-info.missing server-info.text batch.answers "
                  "sse-batch.json session-id.odd type.html",
    "no-common-revision": "version.old version.short", "web-page": "body.page", "redirect": "redirect-odd.nowhere",
    "never-answers": "hangs.initialize", "http-sse-broken": "old-sse-odd.host"}


@pytest.mark.sends_illegal("*", why="the odd servers are children of the test")
@pytest.mark.parametrize("name, cause", [(name, cause) for cause, names in ODD.items() for name in names.split()])
def test_an_odd_answer_is_not_taken_for_another_fault(name: str, cause: str, place: Place, capsys: Any) -> None:
    with target_of(ROWS_OF_ODD[name]) as target:
        words = [target] if isinstance(target, str) else ["--", *target]
        code, found, _ = examined(capsys, "--timeout", "%g" % (patience(1.0) if name in SILENT else WAIT), *words)
    assert (code, found["cause"]["id"]) == (1, cause), found["cause"]
    assert "redirects to  (" not in found["cause"]["sentence"]


SILENT = ("hangs.initialize", "batch.answers")
"""Odd servers whose answers are waited for until the time is over."""


def test_each_cause_of_the_tables_has_a_broken_server() -> None:
    tables = {row.id for row in (*evidence.FIRST, *evidence.LAST, *programs.TABLE, *addresses.TABLE)}
    assert tables - {row.cause for row in ROWS} == {"unreachable", "unknown"}
    assert {row.cause for row in ROWS} <= tables and len(ROWS) == len({row.name for row in ROWS})


# --- Healthy servers --------------------------------------------------------------------------------------------------

def test_a_healthy_program_is_described(capsys: Any) -> None:
    code, out, err = here(capsys, "doctor", "--", *ECHO)
    lines = out.splitlines()
    assert (code, err) == (0, "") and lines[-1] == "healthy: echo 1.0"
    assert [line.partition(":")[0] for line in lines if line[0] != " "][:4] == [
        "command", "program", "handshake", "lists"]
    assert any("echo 1.0 speaks 2026-07-28 over stdio" in line for line in lines)
    assert any("tools: 4, resources: 1" in line for line in lines) and any(line.startswith("start: ") for line in lines)


def test_a_healthy_address_is_described(place: Place, capsys: Any) -> None:
    code, found, err = examined(capsys, *of_ours("{address}")(place))
    assert (code, found["healthy"], found["warnings"], err) == (0, True, [], "")
    assert [step["step"] for step in found["steps"]] == ["address", "proxy", "name", "connection", "handshake", "lists"]
    assert all(step["ok"] and step["milliseconds"] >= 0 for step in found["steps"])
    server = found["server"]
    assert (server["name"], server["era"], server["transport"]) == ("ours 0", "modern", "streamable-http")


def test_http_sse_is_found_out_and_called_old(place: Place, capsys: Any) -> None:
    from mcp_ref import Server

    listener = place.closing.enter_context(Server("old").listen("http://127.0.0.1:0/mcp"))
    code, found, _ = examined(capsys, listener.address.replace("/mcp", "/sse"))
    assert (code, found["server"]["transport"]) == (0, "http+sse")
    assert [warned["id"] for warned in found["warnings"]] == ["old-transport"]


def test_the_endpoint_at_another_path_is_found(place: Place, capsys: Any) -> None:
    code, found, _ = examined(capsys, *of_ours("http://127.0.0.1:{port}/")(place))
    assert (code, found["cause"]["id"]) == (1, "wrong-path")
    assert re.search(r"http://127.0.0.1:\d+/mcp answers as an MCP server", found["cause"]["advice"])


def test_a_socket_of_somebody_else_is_told_from_one_without_server(
        place: Place, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = unix_stale(place)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may connect to any
    code, found, _ = examined(capsys, *words)
    assert (code, found["cause"]["id"]) == (1, "no-permission") and "socket" in found["cause"]["sentence"]


TOOLS = """
TOOLS[:] = [
    {"name": "a.b", "description": "x", "inputSchema": {"type": "object"}},
    {"name": "twice", "inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}]}},
    {"name": "twice", "description": "x", "inputSchema": {"type": "object", "properties": {"list": {"type": "array"}}}},
    {"name": "ref", "description": "x", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}},
                                                        "$defs": {"A": {"type": "string"}}}},
]
"""
WARNED = (
    ("print('[INFO] ready', flush=True); serve()", ["stdout-noise"],
     ["1 line on stdout is no message, and some", "[INFO] ready", "print to stderr"]),
    ("serve(before=lambda asked: print('got', asked.get('method'), flush=True))", ["stdout-noise"],
     ["got server/discover"]),
    ("serve(before=lambda asked: asked['method'] == 'server/discover' and sys.exit(1))", ["ends-at-probe"],
     ["--era legacy"]),
    ("for line in sys.stdin:\n    asked = json.loads(line)\n    if asked['method'] in ('initialize', 'tools/list'):\n"
     "        send({'id': asked['id'], 'result': result_of(asked)})", ["ignores-probe"], ["--era legacy"]),
    (TOOLS + "serve()", ["tool-names", "tool-names", "tool-descriptions", "tool-schemas"],
     ["a.b", "twice", "anyOf at the top", "an array without items", "ref: a $ref"]),
    ("TOOLS[:] = [dict(TOOLS[0], name='t%d' % n) for n in range(129)]\nserve()", ["many-tools"], ["129"]),
)


@pytest.mark.parametrize("text, ids, words", WARNED,
                         ids=["%s-%d" % (ids[0], number) for number, (_, ids, _) in enumerate(WARNED)])
def test_what_may_make_trouble_elsewhere_is_told(text: str, ids: List[str], words: List[str], place: Place,
                                                 capsys: Any) -> None:
    seconds = patience(2 * SHORT) if ids == ["ignores-probe"] else WAIT
    code, found, _ = examined(capsys, "--timeout", "%g" % seconds, *program(text)(place))
    assert (code, found["healthy"]) == (0, True), found
    assert [warned["id"] for warned in found["warnings"]] == ids
    assert [word for word in words if word not in json.dumps(found["warnings"])] == []


def test_what_it_says_on_stderr_is_shown(place: Place, capsys: Any) -> None:
    text = "for n in range(5): print('line', n, file=sys.stderr, flush=True)\nserve()"
    code, out, _ = here(capsys, "doctor", *program(text)(place))
    assert code == 0 and "stderr, the last of 5 lines:\n  line 2\n  line 3\n  line 4\n" in out
    code, out, _ = here(capsys, "doctor", *program(text.replace("5", "1"))(place))
    assert code == 0 and "stderr, 1 line:\n  line 0\n" in out


@pytest.mark.parametrize("era", [None, "legacy", "modern"])
@pytest.mark.parametrize("words", [
    of_ours("http://127.0.0.1:{port}/"), of_ours("http://127.0.0.1:{port}/nope"),
    at(always("404 Not Found")), at(always("405 Method Not Allowed", "", "text/plain", "Allow: GET")),
    at(always("410 Gone")),
], ids=["ours at /", "ours at /nope", "404", "405", "410"])
def test_connect_explains_a_wrong_path_as_doctor_does(words: Any, era: Any, place: Place) -> None:
    url, = words(place)
    with pytest.raises((HttpStatus, PeerError, PeerProtocolError), match="[;:] ask for the path .*; /mcp is usual"):
        connect(url, era=era)


# --- The command ------------------------------------------------------------------------------------------------------

def test_a_second_look_is_told_as_a_step(place: Place, capsys: Any) -> None:
    code, out, _ = here(capsys, "doctor", "--timeout", "0.2", *program("sys.stdin.read()")(place))
    assert code == 1 and "\nagain: start it again, and send initialize; up to 0.4 s\n  failed: " in out


def test_without_a_time_a_silent_server_is_not_waited_for_as_long_as_hosts_do(capsys: Any) -> None:
    code, out, _ = here(capsys, "doctor", "--help")
    assert "(default: 8;" in " ".join(out.split())


def test_a_cause_is_the_end_of_the_text(place: Place, capsys: Any) -> None:
    code, out, err = here(capsys, "doctor", *program("sys.exit('no config')")(place))
    *before, line, cause, do = out.splitlines()
    assert (code, err, line) == (1, "", "  no config") and "stderr, the last lines:" in before
    assert cause == "cause: The server ends with code 1: no config [exits-with-error]" and do.startswith("do: ")


def test_what_a_server_says_at_both_starts_is_shown_once(place: Place, capsys: Any) -> None:
    text = "for line in ('one', 'two', 'one'): print(line, file=sys.stderr)\nsys.exit(1)"
    code, out, _ = here(capsys, "doctor", *program(text)(place))
    assert code == 1 and "stderr, the last lines:\n  one\n  two\n  one\ncause: " in out


@pytest.mark.parametrize("said, shown", [
    ("ab ab", "ab"), ("aa aa", "aa"), ("ab ac", "abac"), ("a aa", "aaa"), ("aa", "aa"),
])
def test_what_another_start_says_differently_is_kept(said: str, shown: str) -> None:
    from mcp_ref.limits import DEFAULT
    from mcp_ref.wiretrace import Trace

    patient = Patient("x", {}, None, DEFAULT, Trace)
    for life in said.split():
        patient.trace.tell("process", "client", {"did": "start", "command": ["x"]})
        for line in life:
            patient.trace.tell("stderr", "server", note=line)
    assert "".join(patient.stderr) == shown


def test_advice_does_not_repeat_what_was_done(place: Place, capsys: Any) -> None:
    _, found, _ = examined(capsys, "--inherit-env", *program("sys.exit(1)")(place))
    assert found["cause"]["id"] == "exits-with-error" and "--inherit-env" not in found["cause"]["advice"]


def test_the_path_is_told_once_and_not_whole(capsys: Any) -> None:
    folders = ["/no/such/folder/%02d" % number for number in range(9)]
    code, out, _ = here(capsys, "doctor", "--env", "PATH=" + os.pathsep.join(folders), *command("no-such-command"))
    assert code == 1 and out.count(folders[0]) == 1
    assert " in PATH=%s and 4 more\n" % os.pathsep.join(folders[:5]) in out


SECRET = "hunter2hunter2"
TELLING = (
    lambda place: program("import os; sys.exit('bad key ' + os.environ['API_KEY'])", "--env",
                          "API_KEY=" + SECRET)(place),
    lambda place: command(*PYTHON, place.file("server.py", "import sys; sys.exit(' '.join(sys.argv))"), "--api-key",
                          SECRET),
    lambda place: ["--env", "API_KEY=" + SECRET, *program("sys.exit(' '.join(sys.argv))")(place), SECRET],
    lambda place: at(always("500 Oops", "token=" + SECRET), url="http://{host}:{port}/mcp?api_key=" + SECRET)(place),
    lambda place: at(always("500 Oops", "you sent " + SECRET), more=["--header", "X-Api-Key=" + SECRET])(place),
    lambda place: (place.setenv("KEY", SECRET), at(always("403 No", "you sent " + SECRET), more=["--token-env", "KEY"])(
        place))[1],
    lambda place: (place.setenv("https_proxy", "http://u:%s@127.0.0.1:%d" % (SECRET, free_port())),
                   ["https://mcp.example.com/mcp"])[1],
)


@pytest.mark.parametrize("make", TELLING, ids=["env", "argument", "word", "query", "header", "token", "proxy"])
@pytest.mark.parametrize("more", [[], ["--json"], ["--trace=full"]], ids=["text", "json", "trace"])
def test_no_secret_is_printed(make: Any, more: List[str], place: Place, capsys: Any) -> None:
    words = make(place)
    code, out, err = here(capsys, "doctor", *more, *words)
    assert code == 1 and SECRET not in out + err and ("cause" in out)


@pytest.mark.parametrize("words, said", [
    (["--timeout", "0", "x"], "--timeout must be more than 0"),
    (["--timeout", "nan", "x"], "--timeout must be more than 0"),
    ([], "SERVER"),
    (["--header", "A=b", "python3 x.py"], "--header is for servers at http://"),
    (["--cafile", "/no/such.pem", "https://localhost/mcp"], "there is no file /no/such.pem"),
    (["--log-level", "debug", "x"], "unrecognized arguments"),
])
def test_what_cannot_be_examined_is_wrong_usage(words: List[str], said: str, capsys: Any) -> None:
    code, out, err = here(capsys, "doctor", *words)
    assert (code, out) == (2, "") and said in one_line_of(err)


def test_its_help_says_what_it_does_and_its_exit_codes(capsys: Any) -> None:
    code, out, _ = here(capsys, "doctor", "--help")
    words = ("SERVER", "--timeout", "Exit codes:", '"cause": {"id"', "no tool is")
    assert code == 0 and [word for word in words if word not in out] == []


def test_the_trace_goes_to_a_file(place: Place, capsys: Any) -> None:
    file = place.folder / "trace.jsonl"
    code, _, _ = here(capsys, "doctor", "--trace=%s" % file, *program("serve()")(place))
    kinds = [json.loads(line).get("kind", "message") for line in file.read_text("utf-8").splitlines()[1:]]
    assert code == 0 and kinds[:2] == ["process", "open"] and "message" in kinds


def test_it_runs_as_a_program(place: Place) -> None:
    done = run("doctor", *program("serve()")(place))
    assert (done.returncode, done.err) == (0, "") and done.out.endswith("healthy: small 1\n")


def test_an_entry_of_a_hosts_file_is_examined_as_the_host_starts_it(place: Place, capsys: Any) -> None:
    entry = {"command": sys.executable, "args": ["examples/echo_server.py"]}
    file = place.folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"echo": entry, "gone": {"command": "no-such-program"}}}))
    assert examined(capsys, "%s:echo" % file)[0] == 0
    code, report, _ = examined(capsys, "%s:echo" % file, "--cwd", str(place.folder))
    assert code == 1 and report["cause"]["id"] == "script-missing"
    code, report, _ = examined(capsys, "%s:gone" % file)
    assert code == 1 and report["cause"]["id"] == "command-not-found"


def test_a_line_on_stderr_counts_also_if_it_is_told_before_the_start() -> None:
    from mcp_ref.limits import DEFAULT
    from mcp_ref.wiretrace import Trace

    patient = Patient("x", {}, None, DEFAULT, Trace)
    patient.trace.tell("stderr", "server", note="KeyError: 'KEY'")
    patient.trace.tell("process", "client", {"did": "start", "command": ["x"]})
    patient.trace.tell("process", "server", {"did": "exit", "code": 1})
    assert (patient.stderr, patient.exit_code) == (["KeyError: 'KEY'"], 1)
