"""Questions of a server: asked where a person sits at a terminal, declined where nobody does."""
import os
import subprocess
import sys
import threading

import pytest

from mcp_ref.cli.serve.loading import load
from mcp_ref.cli.use import asking

from tests.support.patience import WAIT
from tests.support.sides import in_thread

from .running import ROOT, here

pty = pytest.importorskip("pty", reason="no pseudo terminals here")

SERVER = '''
from mcp_ref import Context, Server

server = Server("asks")

@server.tool
def form(ctx: Context) -> str:
    answer = ctx.elicit("Where to?\\n\\x1b[31mmcp_ref: fake", {
        "type": "object", "required": ["region", "count"], "properties": {
        "region": {"type": "string", "oneOf": [
            {"const": "eu", "title": "Europe"}, {"const": "us", "title": "America"}]},
        "count": {"type": "integer", "minimum": 1, "title": "How many"},
        "mail": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}},
        "fast": {"type": "boolean", "default": True}, "ratio": {"type": "number"}}})
    return "%s %s" % (answer.action, sorted(answer.content.items()))

@server.tool
def link(ctx: Context) -> str:
    return ctx.elicit_url("log in", "https://xn--pple-43d.com/login?x=1").action

@server.tool
def sample(ctx: Context) -> str:
    return ctx.sample("What is 2+2?", max_tokens=9, system_prompt="Be short").content.text
'''


@pytest.fixture
def address(tmp_path):
    file = tmp_path / "asks.py"
    file.write_text(SERVER)
    listener = load(str(file), "server").listen("tcp://127.0.0.1:0")
    yield listener.address
    listener.close()


def typed(address, answers, *options, browser="false"):
    """Run a call at a terminal; for each question the answer that is typed once it was asked."""
    master, slave = pty.openpty()
    env = dict(os.environ, BROWSER=browser, PYTHONIOENCODING="utf-8")
    process = subprocess.Popen([sys.executable, "-m", "mcp_ref", "call", address, *options], cwd=str(ROOT), stdin=slave,
                               stdout=subprocess.PIPE, stderr=slave, env=env)
    os.close(slave)
    screen = b""
    try:
        for question, answer in answers:
            while question not in screen:
                screen += os.read(master, 4096)
            before, _, screen = screen.partition(question)
            typed.seen += before + question
            os.write(master, answer)
        out = process.communicate(timeout=WAIT)[0]
        typed.seen += screen + _rest(master)
    finally:
        process.kill()
        process.communicate(timeout=WAIT)
        os.close(master)
    return process.returncode, out.decode("utf-8")


def _rest(master):
    found = b""
    try:
        while True:
            part = os.read(master, 4096)
            if not part:
                return found
            found += part
    except OSError:
        return found  # the other end is gone


@pytest.fixture(autouse=True)
def _fresh():
    typed.seen = b""


FORM = [(b"region (string, required): ", b"Europe\n"), (b"How many (integer, required): ", b"0\n"),
        (b"How many (integer, required): ", b"x\n"), (b"How many (integer, required): ", b"\n"),
        (b"How many (integer, required): ", b"2\n"), (b"mail (email, optional): ", b"nobody\n"),
        (b"mail (email, optional): ", b"me@example.org\n"),
        (b"tags (some of these, commas between, optional): ", b"a, c\n"),
        (b"fast (boolean, optional) [True]: ", b"no\n"), (b"ratio (number, optional): ", b"\n")]


def test_a_form_is_filled_in_field_by_field_and_looked_over(address):
    """[2025-06-18.. client/elicitation §User Interaction Model]"""
    code, out = typed(address, FORM + [(b"[e]dit: ", b"what?\n"), (b"[e]dit: ", b"y\n")], "form")
    assert code == 0, typed.seen
    assert out == "accept [('count', 2), ('fast', False), ('mail', 'me@example.org'), ('region', 'eu'), " \
                  "('tags', ['a', 'c'])]\n"
    assert b"\x1b" not in typed.seen and b"\n    \\x1b[31mmcp_ref: fake" in typed.seen  # cannot pass for a line of ours
    assert b"    eu  Europe" in typed.seen and b"How many is required" not in typed.seen.partition(b"x\r\n")[0]


@pytest.mark.parametrize("answers, action", [
    ([(b"region (string, required): ", b"!d\n")], "decline"), ([(b"region (string, required): ", b"\x04")], "cancel"),
    (FORM[:1] + FORM[4:5] + [(b"): ", b"\n"), (b"): ", b"\n"), (b"]: ", b"\n"), (b"): ", b"\n"), (b"[e]dit: ", b"n\n")],
     "decline"),
    (FORM[:1] + FORM[4:5] + [(b"): ", b"\n"), (b"): ", b"\n"), (b"]: ", b"\n"), (b"): ", b"\n"), (b"[e]dit: ", b"e\n"),
                             (b"region (string, required): ", b"!c\n")], "cancel"),
])
def test_a_form_can_be_declined_and_cancelled(answers, action, address):
    assert typed(address, answers, "form") == (0, "%s []\n" % action), typed.seen


@pytest.mark.parametrize("answer, action, opened", [(b"y\n", "accept", True), (b"n\n", "decline", False),
                                                    (b"c\n", "cancel", False)])
def test_a_link_is_shown_whole_with_its_host_and_opened_only_after_a_yes(answer, action, opened, address, tmp_path):
    """[2025-11-25.. client/elicitation §Safe URL Handling]"""
    log = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\necho \"$1\" >> %s\n" % log)
    browser.chmod(0o755)
    code, out = typed(address, [(b"open it? [y]es, [n]o, [c]ancel: ", answer)], "link", browser=str(browser))
    assert (code, out) == (0, action + "\n"), typed.seen
    assert b"  https://xn--pple-43d.com/login?x=1\r\n" in typed.seen and b"WARNING: " in typed.seen
    assert b"leads to xn--pple-43d.com, shown as" in typed.seen
    assert log.exists() == opened
    assert not opened or log.read_text() == "https://xn--pple-43d.com/login?x=1\n"


@pytest.mark.parametrize("answers, code, out", [
    ([(b"answer it? [y]es, [n]o: ", b"y\n"), (b"> ", b"4\n"), (b"> ", b"or so\n"), (b"> ", b"\n")], 0, "4\nor so\n"),
    ([(b"answer it? [y]es, [n]o: ", b"n\n")], 1, None),
])
def test_the_person_is_the_model(answers, code, out, address):
    found = typed(address, answers, "sample")
    assert found[0] == code and (out is None or found[1] == out), typed.seen
    assert b"  system: Be short" in typed.seen and b"  user: What is 2+2?" in typed.seen


@pytest.mark.parametrize("tool, code, out", [
    ("form", 0, "decline []\n"), ("link", 0, "decline\n"), ("sample", 1, None),
])
def test_without_a_terminal_everything_is_declined_and_said(tool, code, out, address, capsys):
    found = here(capsys, "call", address, tool)
    assert found[0] == code and (out is None or found[1] == out)
    assert "declined, because there is no terminal" in found[2] and "\x1b" not in found[2]


def test_a_question_that_is_taken_back_is_not_waited_for(monkeypatch):
    reading, writing = os.pipe()
    gone = threading.Event()
    gone.set()
    try:
        with open(reading) as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            with pytest.raises(asking.Gone, match="took the question back"):
                asking.ask("? ", gone)
            os.write(writing, "\u00e9 x \r\n".encode("utf-8"))
            assert asking.ask("? ", None) == "\u00e9 x"
    finally:
        os.close(writing)


def test_a_question_that_is_taken_back_while_it_is_waited_for_ends_at_once(monkeypatch):
    reading, writing = os.pipe()
    gone, asked = threading.Event(), threading.Event()
    monkeypatch.setattr(asking, "write_prompt", lambda text: asked.set())
    try:
        with open(reading) as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            answer = in_thread(asking.ask, "? ", gone)
            assert asked.wait(WAIT)
            gone.set()  # nothing was typed, and nothing ever is
            with pytest.raises(asking.Gone, match="took the question back"):
                answer.get()
    finally:
        os.close(writing)


def test_where_nobody_can_wait_for_a_console_it_is_read_unless_the_question_is_gone(monkeypatch):
    """On Windows; a question without an event cannot go."""
    early, gone = threading.Event(), threading.Event()
    gone.set()
    with monkeypatch.context() as there:
        there.setattr(asking.os, "name", "nt")
        found = [asking._wait(0, event) for event in (None, early, gone)]
    assert found == [True, True, False]


def test_a_link_that_is_required_first_is_followed_and_the_call_made_again(monkeypatch):
    """[2025-11-25 client/elicitation §URL Elicitation Required Error]"""
    from mcp_ref.errors import URL_ELICITATION_REQUIRED, PeerError

    asker = asking.Asking("server")
    asker.interactive = True
    calls = []

    def call():
        calls.append(len(calls))
        if len(calls) == 1:
            raise PeerError(URL_ELICITATION_REQUIRED, "first", None, "tools/call", 1)
        return "done"

    class Follows:
        agreed = True

        def follow(self, error, client):
            return self.agreed

    monkeypatch.setattr(asker, "elicitation", Follows)
    monkeypatch.setattr(asking, "ask", lambda question: "")
    assert asker.attempt(None, call) == "done" and calls == [0, 1]
    calls.clear()
    Follows.agreed = False
    with pytest.raises(PeerError):
        asker.attempt(None, call)


def test_a_link_that_is_required_is_told_where_nobody_can_follow_it(tmp_path, capsys):
    """[2025-11-25 client/elicitation §URL Elicitation Required Error]"""
    file = tmp_path / "wants.py"
    file.write_text("""
from mcp_ref import Server
from mcp_ref.server.elicitation import UrlElicitationRequired

server = Server("wants")

@server.tool
def go() -> str:
    raise UrlElicitationRequired([("log in", "https://example.com/login?x=1")])
""")
    server = [sys.executable, "-m", "mcp_ref", "run", str(file)]
    code, out, err = here(capsys, "call", "go", "--era", "legacy", "--", *server)
    told, error = err.splitlines()
    assert (code, out) == (1, "")
    assert "https://example.com/login?x=1" in told and "declined" in told
    assert error.startswith("mcp_ref: tools/call failed: ") and error.endswith("(-32042)")
