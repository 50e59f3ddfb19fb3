"""A forked copy of a process that has connections: they are not the copy's, and it must not disturb them.

Each test runs in a process of its own, for the copy inherits whatever the tests have open.
"""
import os
import pathlib
import subprocess
import sys

import pytest

from tests.support.patience import WAIT

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = r'''
import os, sys, time
sys.path.insert(0, %r)
from mcp_ref import Host, Server, connect
from mcp_ref.errors import ConnectionLost

what, where, era = sys.argv[1:4]
server = Server("x")

@server.tool
def echo(text: str) -> str:
    return text

def use(client):
    return client.call_tool("echo", {"text": "hello"}).content[0].text

def in_copy(act):
    """What a forked copy says, and the seconds it took."""
    reading, writing = os.pipe()
    copy = os.fork()
    if copy == 0:
        started = time.monotonic()
        try:
            said = act()
        except BaseException as error:
            said = "%%s: %%s" %% (type(error).__name__, error)
        os.write(writing, ("%%s in %%d" %% (said, time.monotonic() - started)).encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 1000).decode()
    os.close(reading)
    os.waitpid(copy, 0)
    return said

with server.listen(where) as listener:
    if what == "host":
        host = Host()
        client = host.connect("a", listener.address, era=era)
        leave = host.close
    else:
        client = connect(listener.address, era=era)
        leave = client.close
    use(client)
    if what == "calls":
        said = in_copy(lambda: use(client))
        assert "belongs to the process" in said and said.startswith("ConnectionLost") or said.startswith("hello"), said
        assert era == "modern" or said.startswith("ConnectionLost"), said
    elif what == "listener":
        said = in_copy(listener.close)
        assert said == "None in 0", said
    else:
        said = in_copy(leave)
        assert said == "None in 0", said
    session = [client.connection]
    for _ in range(3):
        assert use(client) == "hello"
    assert session == [client.connection]  # and not a new one, in place of one that was lost
    leave()
print("undisturbed")
''' % str(ROOT)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("where", ["tcp://127.0.0.1:0", "http://127.0.0.1:0/mcp"])
@pytest.mark.parametrize("what", ["leaves", "calls", "host", "listener"])
def test_a_forked_copy_disturbs_no_conversation_and_leaves_it_at_once(what: str, where: str, era: str) -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, what, where, era], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=WAIT)
    assert done.stdout == b"undisturbed\n" and done.returncode == 0, done.stdout.decode()


COMING_BACK = r'''
import os, sys
sys.path.insert(0, %r)
from mcp_ref import Server, connect
from mcp_ref.server import Tasks

what, where, era = sys.argv[1:4]
server = Server("x", tasks=Tasks(poll=0.01))

def fork() -> str:
    """Come back in the copy, too."""
    copy = os.fork()
    if copy == 0 and what == "raises":
        raise ValueError("in the copy")
    if copy == 0 and what == "exits":
        sys.exit(3)
    return "a copy answers" if copy == 0 else str(copy)

server.tool(fork, task="optional" if what == "task" else "forbidden")

@server.tool
def wait(copy: int) -> int:
    return os.waitpid(copy, 0)[1]

def use(client):
    for _ in range(3):
        made = client.start_tool("fork").result() if what == "task" else client.call_tool("fork")
        assert client.call_tool("wait", {"copy": int(made.text)}).text == "0"

if where == "here":
    server.run()
elif where == "stdio":
    with connect([sys.executable, "-W", "ignore", "-c", open(0).read(), what, "here", era], era=era) as client:
        use(client)
else:
    with server.listen(where) as listener, connect(listener.address, era=era) as client:
        use(client)
print("answered by one")
''' % str(ROOT)


@pytest.mark.parametrize("where, era", [
    ("stdio", "modern"), ("tcp://127.0.0.1:0", "legacy"), ("http://127.0.0.1:0/mcp", "modern"),
    ("http://127.0.0.1:0/mcp", "legacy")])
@pytest.mark.parametrize("what", ["returns", "raises", "exits", "task"])
def test_a_copy_that_was_forked_in_a_handler_and_comes_back_answers_nothing_and_ends(
    what: str, where: str, era: str
) -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", COMING_BACK, what, where, era],
                          input=COMING_BACK.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT)
    assert done.stdout == b"answered by one\n" and done.returncode == 0, done.stdout.decode()
