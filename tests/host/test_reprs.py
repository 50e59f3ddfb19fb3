"""What is printed of objects that hold secrets: their names, never their values."""
import pytest

from mcp_ref import Client, Host, Server
from mcp_ref.errors import ConnectFailed
from mcp_ref.host import HostTool, ToolCall
from mcp_ref.host.configuration import ServerEntry
from mcp_ref.host.member import Launch
from mcp_ref.http11.client.connect import server_url
from mcp_ref.http11.message import Headers, HttpRequest
from mcp_ref.http11.server.request_parser import RequestHead
from mcp_ref.messages.tools import Tool
from mcp_ref.streamable.server.wsgi import WsgiReply
from mcp_ref.transports.memory import pair

SECRET = "hunter2"
NAMED = {"API_KEY": SECRET}
HEADERS = Headers([("Authorization", "Bearer " + SECRET)])
DEFAULTS = Launch("x").options


@pytest.mark.parametrize("value, shown", [
    (Launch("https://h.example/mcp?key=" + SECRET, {**DEFAULTS, "token": SECRET, "headers": NAMED}),
     "https://h.example/mcp"),
    (Launch(["npx", "--key", SECRET], {**DEFAULTS, "env": NAMED, "title": SECRET}), "API_KEY"),
    (Launch("npx --key " + SECRET), "npx"),
    (ServerEntry(["npx", SECRET], NAMED, "/tmp"), "API_KEY"),
    (ServerEntry(["npx"], None, None), "npx"),
    (HttpRequest("POST", "/mcp", HEADERS, SECRET.encode(), "key=" + SECRET), "authorization"),
    (RequestHead("GET", "/messages?sessionId=" + SECRET, "HTTP/1.1", HEADERS, 0, False, False), "/messages"),
    (server_url("https://h.example/mcp?key=" + SECRET), "https://h.example/mcp"),
    (WsgiReply(200, [("Mcp-Session-Id", SECRET)], None), "Mcp-Session-Id"),
], ids=lambda value: type(value).__name__)
def test_no_secret_is_printed(value, shown):
    assert shown in repr(value) and SECRET not in repr(value)
    assert SECRET not in "%s" % (value,)


def test_the_audit_log_names_a_server_without_its_query():
    assert Launch("https://h.example/mcp?key=" + SECRET).shown() == "https://h.example/mcp"
    assert Launch("./tool? x").shown() == "./tool?"


# What users hold


@pytest.mark.parametrize("name, told", [("echo", "echo 1.0"), ("e\n<" + "x" * 100, "e\\n<" + "x" * 57)])
def test_a_client_a_server_and_a_host_say_what_they_are_and_how_they_are(name, told):
    client, host = Client(), Host()
    assert repr(client) == "<Client, not connected>"
    server = Server(name, "1.0", revisions=["2025-11-25"])
    assert repr(server) == "<Server %s 1.0, 0 connections>" % name[:60].replace("\n", "\\n")
    ours, theirs = pair()
    connection = server.connect(ours)
    with client.open(theirs):
        assert repr(client) == "<Client of %s, 2025-11-25, open>" % told
        client.ping()  # the server has seen `initialized` by now
        assert repr(server).endswith(" 1.0, 1 connection>")
    assert repr(client) == "<Client of %s, 2025-11-25, closed>" % told
    connection.close()
    assert repr(host) == "<Host without servers>"
    mine, yours = pair()
    connection = server.connect(mine)
    with host:
        host.connect("one", yours)
        host.failed["two"] = ConnectFailed("x?key=" + SECRET)
        assert repr(host) == "<Host of one; not connected: two>"
    connection.close()
    assert repr(host).endswith(", closed>")


def call_of(arguments, changed=False):
    tool = HostTool("files", "write", "files__write", Tool("write", {"type": "object"}), None, None, False, "digest")
    return ToolCall(tool, arguments, changed)


@pytest.mark.parametrize("call, text", [
    (call_of({}), "files__write()"),
    (call_of({"path": "a.txt", "n": 1, "more": [True, None]}),
     'files__write(path="a.txt", n=1, more=[true, null])'),
    (call_of({"b\u00e9": "\u65e5"}), 'files__write(b\u00e9="\u65e5")'),
    (call_of({"a b": "x\n\u202ey"}), 'files__write("a b"="x\\n\\u202ey")'),
    (call_of({"text": "x" * 5000}), 'files__write(text="%s ... (5002 characters))' % ("x" * 59)),
    (call_of({"text": {1, 2}}), 'files__write(text="set")'),
    (call_of({"a": 1}, True), "files__write(a=1); its server has changed what it says of this tool"),
])
def test_a_call_can_be_shown_in_a_dialog(call, text):
    assert str(call) == text


def test_no_secret_of_a_call_is_in_the_dialog_and_no_crowd_of_arguments():
    call = call_of({"password": SECRET, "header": "Authorization: Bearer " + SECRET, "inner": {"api_key": SECRET}})
    assert SECRET not in str(call) and str(call).startswith("files__write(password=")
    assert str(call_of({"a%d" % n: n for n in range(99)})).endswith("a11=11, ... (99 arguments))")
    assert call.arguments["password"] == SECRET
