"""The common configuration file: what is taken, what is refused, and that nothing is started for a wrong one."""
import json
import pathlib
import sys

import pytest

from mcp_ref import Host, Limits
from mcp_ref.deadline import clock
from mcp_ref.errors import ConnectFailed
from mcp_ref.host import read_config
from mcp_ref.host.member import with_timeout

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WHOLE = ("mcpServers", "mcpServers[0].name", "mcpServers[1].name")
"""What is said of a file that is no configuration; all else is said of one entry."""


def of(**entry):
    return {"mcpServers": {"a": entry}}


@pytest.mark.parametrize("entry, read", [
    ({"command": "x"}, (["x"], None, None, None)),
    ({"command": "x", "args": ["-y", "two words"]}, (["x", "-y", "two words"], None, None, None)),
    ({"command": "x", "args": [], "env": {"A": "1"}, "cwd": "/tmp"}, (["x"], {"A": "1"}, "/tmp", None)),
    ({"command": "x", "type": "stdio", "disabled": False}, (["x"], None, None, None)),
    ({"command": "x", "connectTimeout": 2.5}, (["x"], None, None, 2.5)),
])
def test_an_entry_says_how_to_start_a_server(entry, read):
    assert tuple(read_config(of(**entry))["a"])[:4] == read


@pytest.mark.parametrize("config, words", [
    ({}, "mcpServers"), ({"mcpServers": []}, "mcpServers"), ([], "mcpServers"),
    ({"mcpServers": {"a": "x"}}, "mcpServers.a"),
    ({"mcpServers": {"a": None}}, "mcpServers.a: expected an object"),
    (of(), "a.command"), (of(command=""), "a.command"), (of(command=[]), "a.command"),
    (of(command={"args": []}), "a.command"),
    (of(command="x", args="y"), "a.args"), (of(command="x", args=[1]), "a.args"),
    (of(command="x", env={"A": 1}), "a.env"), (of(command="x", env=["A=1"]), "a.env"),
    (of(command="x", cwd=1), "a.cwd"),
    (of(command="x", connectTimeout=0), "a.connectTimeout"), (of(command="x", connectTimeout=True), "a.connectTimeout"),
    (of(command="x", connectTimeout="5"), "a.connectTimeout"),
    (of(type="ws", url="wss://example.com/mcp"), "no transport"), (of(url="rm -rf x"), "a.url: expected an address"),
    (of(type="http", command="x"), "a.url"), (of(type="stdio", url="https://example.com/mcp"), "a.command"),
    (of(url=1), "a.url"), (of(url="https://example.com", headers=["A: 1"]), "a.headers"),
    (of(url="https://example.com", headers={"A": "secret\n"}), "a.headers: the value of the header field A cannot be"),
    (of(url="https://example.com", headers={"Host": "x"}), "a.headers: 'Host' is no header field that you can set"),
    (of(command="x", sandboxEnabled=True), "sandbox"), (of(command="x", type=1), "a.type"),
    (of(command="x", disabled="yes"), "a.disabled"), (of(command="x", enabled=1), "a.enabled"),
    ({"mcpServers": [{"command": "x"}]}, "mcpServers[0].name"), ({"mcpServers": [1]}, "mcpServers[0].name"),
    ({"mcpServers": [{"name": "a", "command": "x"}, {"name": "a", "command": "x"}]}, "mcpServers[1].name"),
    ({"mcp": {"enabled": True}}, "mcpServers"),
])
def test_what_is_wrong_is_told_by_place_and_a_wrong_entry_loses_itself_only(config, words, tmp_path):
    with pytest.raises(ValueError) as caught:
        read_config(config)
    assert words in str(caught.value)
    path = tmp_path / "servers.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    if words in WHOLE:
        with pytest.raises(ValueError):
            Host.from_config(path)
    else:
        with Host.from_config(path) as host:
            assert not host.clients and words in str(host.failed["a"])


@pytest.mark.parametrize("names, ours", [
    (["microsoft/playwright-mcp"], ["microsoft-playwright-mcp"]),
    (["io.github.upstash/context7"], ["io-github-upstash-context7"]), (["GitHub Copilot"], ["GitHub-Copilot"]),
    (["\u65e5\u672c", "\u672c"], ["server", "server-2"]), (["_a_", "a", "A", "a "], ["a", "a-2", "A-3", "a-4"]),
    (["x" * 40, "x" * 33, "/"], ["x" * 32, "x" * 27 + "-2", "server"]), (["plain", "plain__1"], ["plain", "plain-1"]),
])
def test_names_of_galleries_become_names_of_a_host(names, ours):
    entries = read_config({"servers": {name: {"command": name} for name in names}})
    assert list(entries) == ours and [entry.command for entry in entries.values()] == [[name] for name in names]
    for name, entry in zip(names, entries.items()):
        assert entry[1].notes == (() if entry[0] == name else ("it is called %s here" % entry[0],))


def test_an_entry_that_is_not_supported_leaves_the_others_alone(tmp_path):
    """It is in `failed`, with the reason."""
    events = []
    code = "from mcp_ref import Server; Server('quiet').run()"
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {
        "far": {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer not-to-be-shown"}},
        "typed": {"type": "ws", "url": "wss://example.com/mcp"}, "two words": {"command": "no-such-program"},
        "unset": {"command": "x", "env": {"TOKEN": "${MCP_TEST_NOT_SET}"}},
        "good": {"command": sys.executable, "args": ["-c", code], "cwd": str(ROOT)}, "GOOD": {"command": "no-such"},
        "wrong": {"command": "x", "env": {"PORT": 8080}},
        "off": {"type": "http", "url": "https://example.com/off", "disabled": True},
    }}), encoding="utf-8")
    with Host.from_config(path, audit=events.append) as host:
        assert list(host.clients) == ["good"]
        assert sorted(host.failed) == ["GOOD-2", "far", "two-words", "typed", "unset", "wrong"]
        assert all(isinstance(error, ConnectFailed) for error in host.failed.values())
        assert "cannot connect to 127.0.0.1:1" in str(host.failed["far"])
        where = "%s: mcpServers." % path
        assert str(host.failed["typed"]).startswith(where + "typed.type: 'ws' is no transport")
        assert str(host.failed["unset"]).startswith(where + "unset.env.TOKEN: ${MCP_TEST_NOT_SET} is not set, or empty")
        assert str(host.failed["wrong"]).startswith(where + "wrong.env: expected an object whose values are strings")
        with pytest.raises(LookupError) as caught:
            host.tools("typed")
        assert "no connection to 'typed': %styped.type: 'ws'" % where in str(caught.value)
    failed = [event["server"] for event in events if event.get("outcome") == "failed"]
    assert sorted(failed) == sorted(host.failed) and "not-to-be-shown" not in str(events)


@pytest.mark.parametrize("text, words", [
    (b"{", "servers.json"), (b"\xff", "UTF-8"), (b'{"mcpServers": {}, "mcpServers": {}}', "mcpServers"),
])
def test_a_file_that_is_no_json_is_named(tmp_path, text, words):
    path = tmp_path / "servers.json"
    path.write_bytes(text)
    with pytest.raises(ValueError) as caught:
        read_config(str(path))
    assert words in str(caught.value)


def test_a_byte_order_mark_does_no_harm(tmp_path):
    path = tmp_path / "servers.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(of(command="x")).encode())
    assert list(read_config(path)) == ["a"]


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(OSError):
        Host.from_config(tmp_path / "nothing.json")


def test_a_disabled_entry_is_skipped_and_an_unknown_member_logged(caplog):
    assert read_config(of(command="x", disabled=True)) == {}
    read_config(of(command="x", evn={"A": "1"}))
    assert "mcpServers.a" in caplog.text and "evn (did you mean env?)" in caplog.text


def test_a_server_of_the_file_gets_what_its_entry_names_and_not_our_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("MCP_REF_STATE_KEYS", "a-key-that-signs")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-for-a-server")
    found = tmp_path / "found.json"
    code = "import json, os; json.dump(dict(os.environ), open(%r, 'w'))" % str(found)
    entry = {"command": sys.executable, "args": ["-c", code], "env": {"API_KEY": "for-this-server"}}
    with Host.from_config(of(**entry)) as host:
        assert "a" in host.failed  # it is no server, and has left
    environment = json.loads(found.read_text())
    assert environment["API_KEY"] == "for-this-server" and environment["PATH"]
    assert not {"MCP_REF_STATE_KEYS", "AWS_SECRET_ACCESS_KEY"} & set(environment)


def test_a_silent_server_keeps_the_others_waiting_no_longer_than_its_entry_says():
    """It is told apart from one that is not there: `LookupError` has the reason."""
    silent = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"], "connectTimeout": 0.4}
    code = "from mcp_ref import Server; Server('quick').run()"
    config = {"mcpServers": {
        "one": silent, "two": silent, "quick": {"command": sys.executable, "args": ["-c", code], "cwd": str(ROOT)}}}
    start = clock()
    with Host.from_config(config) as host:
        took = clock() - start
        assert list(host.clients) == ["quick"] and sorted(host.failed) == ["one", "two"]
        with pytest.raises(LookupError) as caught:
            host.tools("one")
        assert "no connection to 'one': the server answered neither server/discover nor initialize in time" in str(
            caught.value)
    assert 0.4 <= took < 10.0, "by default it would be 35 s"


def test_the_time_to_connect_is_for_probe_and_handshake_together():
    limits = Limits()
    short, long = (with_timeout(limits, seconds) for seconds in (2.0, 60.0))
    assert (short.probe_timeout, short.initialize_timeout, short.connect_timeout) == (0.5, 1.5, 2.0)
    assert (long.probe_timeout, long.initialize_timeout) == (limits.probe_timeout, 60.0 - limits.probe_timeout)
    assert long.connect_timeout == limits.connect_timeout and short.request_timeout == limits.request_timeout
    assert with_timeout(limits, None) is limits


def test_a_time_to_connect_of_nothing_is_refused():
    with Host() as host, pytest.raises(ValueError, match="timeout: expected seconds, more than 0, not 0"):
        host.connect("a", ["x"], timeout=0)


A, B, C = {"command": "a"}, {"command": "b"}, {"url": "http://127.0.0.1:1/mcp"}


@pytest.mark.parametrize("config, named", [
    ({"mcp": {"servers": {"a": A, "b": B}}}, ["a", "b"]),
    ({"mcp": {"mcpServers": {"a": A}}}, ["a"]),
    ({"mcp": {"servers": A, "b": B}}, ["servers", "b"]),
    ({"mcpServers": {"a": A}, "servers": {"b": B, "a": dict(A)}}, ["a", "b"]),
    ({"mcpServers": {}, "servers": {"b": B}}, ["b"]),
    ({"mcpServers": {"a": A}, "projects": {"/srv/me/app": {"mcpServers": {"b": B}, "history": []}, "/x": None}},
     ["a", "b"]),
    ({"projects": {"/srv/one": {"mcpServers": {"a": A}}, "/srv/two": {"mcpServers": {"a": C, "b": B}}}},
     ["a", "two-a", "b"]),
], ids=str)
def test_every_map_of_servers_is_read(config, named):
    assert list(read_config(config)) == named


def test_a_name_that_two_maps_give_to_different_servers_is_told():
    with pytest.raises(ValueError, match="mcpServers and servers both have an entry a: rename one"):
        read_config({"mcpServers": {"a": A}, "servers": {"a": B}})


def test_an_error_names_the_map_of_its_entry():
    config = {"mcpServers": {"a": A}, "projects": {"/srv/app": {"mcpServers": {"b": {"args": []}}}}}
    with pytest.raises(ValueError, match=r"projects\[/srv/app\]\.mcpServers\.b"):
        read_config(config)
