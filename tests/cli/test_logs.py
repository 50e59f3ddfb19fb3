"""`--access-log`, `--log-level` and `--log-format`: what is written, where, and that no secret is in it."""
import http.client
import json
import os
import re
from urllib.parse import urlsplit

import pytest

from mcp_ref import connect
from tests.support.patience import WAIT
from tests.support.sides import eventually

from .running import here
from .test_workers import Run

APP = """
import logging
from mcp_ref import Context, Server
server = Server("app")
logging.getLogger("mine").debug("a detail")
logging.getLogger("mine").info("listening with token=%s", "s3cret-s3cret-s3cret")
logging.getLogger("mine").warning("two\\nlines")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

@server.http_route("GET", "/quit")
def leave(request):
    raise SystemExit
"""
TEXT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?P<peer>\S+) (?P<method>\S+) (?P<path>\S+) (?P<status>\d+)"
                  r" (?P<bytes>\d+) (?P<seconds>[\d.]+) (?P<mcp_method>\S+)\n?").fullmatch
MEMBERS = {"time", "peer", "method", "path", "status", "bytes", "seconds", "mcp_method"}


def entries(text):
    """Return the entries of an access log, of either form; other lines are left out."""
    for line in text:
        found = json.loads(line) if line.startswith("{") else (TEXT(line) or re.match("", "")).groupdict()
        if "peer" in found:
            assert found.keys() in (MEMBERS, MEMBERS - {"time"})
            yield found


def ask(url, method, target, body=b""):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=WAIT)
    connection.request(method, target, body)
    reply = connection.getresponse()
    data = reply.read()
    connection.close()
    return reply.status, len(data)


@pytest.mark.skipif(os.name != "posix", reason="sockets are handed down to workers here only")
@pytest.mark.parametrize("options", [["--access-log", "-"], ["--access-log", "access.log", "--workers", "2"],
                                     ["--access-log", "-", "--log-format", "json"],
                                     ["--access-log", "access.log", "--log-format", "json"]], ids=" ".join)
def test_each_request_has_a_line(options, tmp_path):
    file = tmp_path / "access.log"
    options = [str(file) if word == file.name else word for word in options]
    with Run(tmp_path, *options, app=APP).serving() as run:
        with connect(run.url, era="modern") as client:
            assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
        asked = [(method, target, *ask(run.url, method, target, body)) for method, target, body in (
            ("GET", "/nowhere?access_token=s3cret-s3cret", b""), ("HEAD", "/nowhere", b""), ("GET", "/quit", b""),
            ("POST", "/mcp?token=s3cret-s3cret", b'{"jsonrpc": "2.0", "id": 1, "method": "a\\nb"}'),
            ("POST", "/mcp", b"\xff"), ("PUT", "/mcp", b""))]

        def logged():
            return list(entries(file.read_text().splitlines() if file.exists() else run.lines))

        eventually(lambda: "PUT" in [each["method"] for each in logged()])  # the last one
        found = logged()
    assert ("POST", "/mcp", "200", "tools/call") in [
        (each["method"], each["path"], str(each["status"]), each["mcp_method"]) for each in found]
    for method, target, status, size in asked:
        same = [each for each in found if (each["method"], each["path"], int(each["status"]))
                == (method, target.partition("?")[0], status)]
        assert same and (status == 500 or any(int(each["bytes"]) == size for each in same)), (method, target, found)
    assert all(each["peer"] == "127.0.0.1" and float(each["seconds"]) < WAIT for each in found)
    assert "a\\nb" in [each["mcp_method"] for each in found]
    assert "s3cret" not in "".join(run.lines) + (file.read_text() if file.exists() else "")


@pytest.mark.skipif(os.name != "posix", reason="processes are ended by a signal here only")
@pytest.mark.parametrize("options, shown", [
    ([], {"two"}), (["--log-level", "info"], {"listening", "two"}), (["--log-level", "error"], set()),
    (["--log-level", "debug", "--workers", "1"], {"a detail", "listening", "two"}),
    (["--log-format", "json"], {"two"}), (["--log-format", "json", "--log-level", "info"], {"listening", "two"}),
], ids=" ".join)
def test_the_level_and_the_form_are_those_that_were_asked_for(options, shown, tmp_path):
    with Run(tmp_path, *options, app=APP).serving() as run:
        pass
    text = "".join(run.lines)
    assert {words for words in ("a detail", "listening", "two") if words in text} == shown
    assert "s3cret" not in text
    if "json" in options:
        assert all(isinstance(json.loads(line), dict) for line in run.lines), run.lines
    elif options and "two" in shown:
        assert "WARNING mine: two\n" in text and "serving on " in text


@pytest.mark.parametrize("command", ["run", "bridge"])
@pytest.mark.parametrize("options, words", [
    (["--access-log", "-"], "--access-log is for --http"),
    (["--http", "127.0.0.1:0", "--access-log", "/nowhere/at/all"], "--access-log /nowhere/at/all: cannot be written"),
    (["--log-level", "loud"], "invalid choice"), (["--log-format", "xml"], "invalid choice"),
])
def test_options_that_cannot_be(command, options, words, tmp_path, capsys):
    file = tmp_path / "app.py"
    file.write_text(APP)
    code, out, err = here(capsys, command, *options, str(file))
    assert (code, out) == (2, "") and words in err
