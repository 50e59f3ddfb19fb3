"""The files of `examples/deploy` are right: systemd takes the units, a linter the container file, and they agree."""
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "deploy")]

from redis_process import SECONDS, Redis, free_port, missing  # noqa: E402

SHOWN = ROOT / "examples" / "deploy"
GUNICORN = shutil.which("gunicorn", path=str(pathlib.Path(sys.executable).parent))
HADOLINT = shutil.which("hadolint", path=str(pathlib.Path(sys.executable).parent))
ACTIVATE = shutil.which("systemd-socket-activate")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="NOT CHECKED: there is no systemd-analyze here")
def test_systemd_takes_the_units(tmp_path: pathlib.Path) -> None:
    for name in ("mcp.socket", "mcp.service"):
        text = (SHOWN / name).read_text(encoding="utf-8")
        text = text.replace("/srv/mcp/venv/bin/gunicorn", "/bin/sh")  # any program that is there will do
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(tmp_path / "mcp.socket"), str(tmp_path / "mcp.service")],
                          timeout=SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if str(tmp_path) in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.skipif(HADOLINT is None, reason="NOT CHECKED: there is no hadolint here; `make deploy` gets it")
def test_a_linter_takes_the_container_file() -> None:
    done = subprocess.run([str(HADOLINT), str(SHOWN / "Containerfile")], timeout=SECONDS, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")


def test_what_the_container_file_copies_and_starts_is_there() -> None:
    lines = (SHOWN / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1] if word != "mcp_ref"]
    assert copied == ["app.py", "redis_store.py", "redis_store.lua"]
    assert all((SHOWN / name).is_file() for name in copied)
    (command,) = [json.loads(line[4:]) for line in lines if line.startswith("CMD ")]
    (unit,) = [line.split("bin/")[1].split() for line in (SHOWN / "mcp.service").read_text("utf-8").splitlines()
               if line.startswith("ExecStart=")]
    assert [word for word in command if word not in ("--bind", "0.0.0.0:8000")] == unit


def test_the_page_about_a_million_sessions_says_what_its_program_computes() -> None:
    done = subprocess.run([sys.executable, str(SHOWN / "capacity.py")], timeout=SECONDS, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=True)
    lines = done.stdout.decode().splitlines()
    text = (SHOWN / "capacity.py").read_text(encoding="utf-8")
    assert len(lines) == 8 and all("    %s\n" % line in text for line in lines)


@pytest.mark.time_limit(60)
@pytest.mark.skipif(bool(missing()) or not (GUNICORN and ACTIVATE),
                    reason="NOT CHECKED: no Redis, gunicorn or systemd-socket-activate here; see `make deploy`")
def test_gunicorn_takes_the_socket_of_systemd_and_serves_what_clients_need(tmp_path: pathlib.Path) -> None:
    port = free_port()
    with Redis(tmp_path / "a folder") as redis:
        settings = dict(os.environ, MCP_URL="https://mcp.example.com/mcp", MCP_ISSUER="https://auth.example.com",
                        REDIS_URL=redis.url, MCP_REF_STATE_KEYS="0123456789abcdef" * 2, PYTHONPATH=str(ROOT))
        words = [str(ACTIVATE), "-l", "127.0.0.1:%d" % port]
        for name in ("PYTHONPATH", "MCP_URL", "MCP_ISSUER", "REDIS_URL", "MCP_REF_STATE_KEYS"):
            words += ["-E", name]
        started = subprocess.Popen([*words, str(GUNICORN), "--workers", "1", "--threads", "4", "app:application"],
                                   cwd=str(SHOWN), env=settings, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + SECONDS
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), SECONDS).close()
                    break
                except OSError:
                    assert time.monotonic() < end and started.poll() is None
                    time.sleep(0.02)
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
            client.request("GET", "/.well-known/oauth-protected-resource/mcp", headers={"Host": "mcp.example.com"})
            reply = client.getresponse()
            found = json.loads(reply.read())
            assert (reply.status, found["authorization_servers"]) == (200, ["https://auth.example.com"])
            client.request("POST", "/mcp", b"{}", {"Host": "mcp.example.com", "Content-Type": "application/json"})
            reply = client.getresponse()
            reply.read()
            assert reply.status == 401 and "resource_metadata=" in str(reply.getheader("WWW-Authenticate"))
            client.close()
        finally:
            started.terminate()
            started.wait(SECONDS)
