"""The units of systemd and the location of nginx in `examples/deploy.md` are right, and the program serves."""
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import signal
import subprocess
import sys
import types
from typing import Any, Dict

import pytest

from tests.meta.facts import ROOT
from tests.meta.test_readme import ALL
from tests.support.patience import WAIT

NGINX = ROOT / "tests" / "interop" / "nginx.conf"
HAND_OVER = "import os, runpy, sys\nos.dup2(int(sys.argv[1]), 3)\nrunpy.run_path(sys.argv[2])"
"""Runs a program as systemd does: with a socket that listens already, as descriptor 3."""

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "0"}}}
FIELDS = {"Host": "mcp.example.com", "Content-Type": "application/json",
          "Accept": "application/json, text/event-stream"}


def shown(language: str, *having: str) -> str:
    """The only block of the pages in this language that has all these words."""
    (code,) = [block.code for _, block in ALL
               if block.language == language and all(word in block.code for word in having)]
    return code


def units() -> Dict[str, str]:
    """The files of systemd, by name."""
    parts = re.split(r"^# /etc/systemd/system/(\S+)\n", shown("ini"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def test_nginx_of_the_pairings_has_the_location_that_the_page_shows() -> None:
    wanted = [line.strip().replace("/run/mcp/", "${folder}/") for line in shown("nginx").splitlines()]
    there = [line.strip() for line in NGINX.read_text(encoding="utf-8").splitlines()]
    begin = there.index(wanted[0])
    assert there[begin:begin + len(wanted)] == wanted


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="NOT CHECKED: there is no systemd-analyze here")
def test_systemd_takes_the_units(tmp_path: pathlib.Path) -> None:
    names = sorted(units())
    assert names == ["mcp.service", "mcp.socket"]
    for name, text in units().items():  # any program that is there will do
        (tmp_path / name).write_text(text.replace("/usr/bin/python3", "/bin/sh"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", *[str(tmp_path / name) for name in names]], timeout=WAIT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if str(tmp_path) in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.skipif(os.name != "posix", reason="descriptors are handed over on POSIX only")
def test_the_program_serves_on_the_socket_that_systemd_has_opened(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(shown("python", "fds=[3]"), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as opened:
        opened.set_inheritable(True)
        command = [sys.executable, "-c", HAND_OVER, str(opened.fileno()), str(program)]
        with subprocess.Popen(command, env=dict(os.environ, PYTHONPATH=str(ROOT)), pass_fds=[opened.fileno()],
                              stdin=subprocess.DEVNULL) as serving:
            try:
                client = http.client.HTTPConnection(*opened.getsockname(), timeout=WAIT)
                # Connecting works at once, for the socket listens; the answer comes when the program is there.
                client.request("POST", "/mcp", json.dumps(INITIALIZE), FIELDS)
                reply = client.getresponse()
                assert (reply.status, json.loads(reply.read())["result"]["serverInfo"]["name"]) == (200, "demo")
                client.close()
            finally:
                serving.terminate()
            assert serving.wait(WAIT) == 0


class Flask:
    """As much of Flask as the page uses: a view is called with the request of the module."""

    def __init__(self, name: str) -> None:
        self.views: Dict[str, Any] = {}

    def route(self, path: str, methods: Any, provide_automatic_options: bool) -> Any:
        assert not provide_automatic_options and set(methods) == {"GET", "POST", "DELETE", "OPTIONS"}
        return lambda view: self.views.setdefault(path, view)


def test_the_view_of_flask_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    flask: Any = types.ModuleType("flask")
    flask.Flask = Flask
    flask.Response = lambda chunks, status, headers: (status, dict(headers), b"".join(chunks))
    body = json.dumps(INITIALIZE).encode("ascii")
    flask.request = types.SimpleNamespace(method="POST", path="/mcp", headers=dict(FIELDS, Host="127.0.0.1"),
                                          get_data=lambda: body, remote_addr="10.1.2.3")
    monkeypatch.setitem(sys.modules, "flask", flask)
    made: Dict[str, Any] = {}
    exec(shown("python", "import Flask"), made)
    try:
        status, _, data = made["app"].views["/mcp"]()
        assert (status, json.loads(data)["result"]["serverInfo"]["name"]) == (200, "demo")
    finally:
        made["server"].handler.close(0)


@pytest.mark.skipif(os.name != "posix", reason="the lines are for a POSIX shell")
def test_the_lines_for_a_shell_do_what_the_page_says(tmp_path: pathlib.Path) -> None:
    """The keys are for the owner alone, and as many workers serve as the line says; it ends by SIGTERM with 0."""
    keys = shown("sh", "MCP_REF_STATE_KEYS").splitlines()[0].replace("/etc/mcp", str(tmp_path))
    subprocess.run(["sh", "-c", keys], check=True, timeout=WAIT, stdin=subprocess.DEVNULL)
    found = tmp_path / "keys"
    assert re.fullmatch(r"MCP_REF_STATE_KEYS=[\w-]{43}\n", found.read_text())
    assert found.stat().st_mode & 0o777 == 0o600
    (tmp_path / "server.py").write_text('from mcp_ref import Server\nserver = Server("demo")\n', encoding="utf-8")
    words = [sys.executable if word == "python3" else word
             for word in shown("sh", "--grace").replace(":8000", ":0").split()]
    with subprocess.Popen(words, cwd=str(tmp_path), env=dict(os.environ, PYTHONPATH=str(ROOT)),
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        try:
            assert serving.stderr is not None and b"with 4 workers" in serving.stderr.readline()
        finally:
            serving.send_signal(signal.SIGTERM)
            said = serving.communicate(timeout=WAIT)[1]
        assert (serving.returncode, said) == (0, b"")
