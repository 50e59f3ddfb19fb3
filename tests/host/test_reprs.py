"""What is printed of objects that hold secrets: their names, never their values."""
import pytest

from mcp_ref.host.config import ServerEntry
from mcp_ref.host.member import Launch
from mcp_ref.transports.http_call import Answer
from mcp_ref.transports.http_dial import place
from mcp_ref.transports.http_exchange import Headers, HttpRequest
from mcp_ref.transports.http_head import Head

SECRET = "hunter2"
NAMED = {"API_KEY": SECRET}
HEADERS = Headers([("Authorization", "Bearer " + SECRET)])


@pytest.mark.parametrize("value, shown", [
    (Launch("https://h.example/mcp?key=" + SECRET, http={"token": SECRET, "headers": NAMED}), "https://h.example/mcp"),
    (Launch(["npx", "--key", SECRET], env=NAMED, options={"x": SECRET}), "API_KEY"),
    (Launch("npx --key " + SECRET), "npx"),
    (ServerEntry(["npx", SECRET], NAMED, "/tmp"), "API_KEY"),
    (ServerEntry(["npx"], None, None), "npx"),
    (HttpRequest("POST", "/mcp", HEADERS, SECRET.encode(), "key=" + SECRET), "authorization"),
    (Head("GET", "/messages?sessionId=" + SECRET, "HTTP/1.1", HEADERS, 0, False, False), "/messages"),
    (place("https://h.example/mcp?key=" + SECRET), "https://h.example/mcp"),
    (Answer(200, [("Mcp-Session-Id", SECRET)], None), "Mcp-Session-Id"),
], ids=lambda value: type(value).__name__)
def test_no_secret_is_printed(value, shown):
    assert shown in repr(value) and SECRET not in repr(value)
    assert SECRET not in "%s" % (value,)


def test_the_audit_log_names_a_server_without_its_query():
    assert Launch("https://h.example/mcp?key=" + SECRET).shown() == "https://h.example/mcp"
    assert Launch("./tool? x").shown() == "./tool?"
