"""Every dialect of a host's configuration file: what is read from it, what is said of the rest, what variables mean."""
import json
import logging
import os
import pathlib
import sys
import time

import pytest

from mcp_ref import Host, Server, connect
from mcp_ref.host import Policy, allow, read_config
from mcp_ref.host.configuration import MAX_FILE, parse, without_comments, without_last_commas
from mcp_ref.server.serving.http_listener import HttpListener

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = str(ROOT / "examples" / "echo_server.py")
NEEDS_TOML = pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is there from Python 3.11 on")

HOSTS = {
    "claude desktop": ("claude_desktop_config.json", '''
{"globalShortcut": "", "mcpServers": {"a": {"command": "/bin/x", "args": ["-y", "two words"], "env": {"K": "v"}}}}
''', dict(command=["/bin/x", "-y", "two words"], env={"K": "v"})),
    "claude code": (".mcp.json", '''
{"mcpServers": {
  "a": {"type": "stdio", "command": "${DIALECT_BIN:-/bin}/x", "args": ["${DIALECT_KEY}"],
        "env": {"K": "${DIALECT_KEY}"}},
  "b": {"type": "http", "url": "https://${DIALECT_HOST:-h.example}/mcp", "headers": {"X-Key": "k ${DIALECT_KEY}"}},
  "c": {"type": "sse", "url": "https://h.example/sse"}}}
''', dict(command=["/bin/x", "s3cret"], env={"K": "s3cret"}), dict(url="https://h.example/mcp", headers={
        "X-Key": "k s3cret"}), dict(url="https://h.example/sse")),
    "vscode": (".vscode/mcp.json", '''
// what our editor starts
{
  "inputs": [{"id": "key", "type": "promptString", "description": "The /* key */", "password": true},],
  "servers": {
    "a": {"type": "stdio", "command": "x", "args": ["${workspaceFolder}/s.py", "${input:key}", "//", ",]"],
          "cwd": "${userHome}", "envFile": "${workspaceFolder}/.env", "env": {"K": "${env:DIALECT_KEY}"},}, /* last
    one, */
    "b": {"type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ${input:key}"}},
  },
}
''', dict(command=["x", "{folder}/s.py", "typed", "//", ",]"], cwd=os.path.expanduser("~"),
          env={"A": "1", "Q": "a # b", "K": "s3cret"}),
        dict(url="https://h.example/mcp", headers={"Authorization": "Bearer typed"})),
    "cursor": (".cursor/mcp.json", '''
{"mcpServers": {"a": {"command": "x", "envFile": ".env", "env": {"A": "2"}},
                "b": {"url": "https://h.example/mcp", "headers": {"K": "${env:DIALECT_KEY}"}}}}
''', dict(command=["x"], env={"A": "2", "Q": "a # b"}), dict(url="https://h.example/mcp", headers={"K": "s3cret"})),
    "cline": ("cline_mcp_settings.json", '''
{"mcpServers": {"a": {"command": "x", "disabled": false, "autoApprove": []},
                "off": {"command": "y", "disabled": true, "args": ["${DIALECT_UNSET}"]},
                "b": {"type": "streamableHttp", "url": "https://h.example/mcp"}}}
''', dict(command=["x"]), dict(url="https://h.example/mcp")),
    "windsurf": ("mcp_config.json", '''
{"mcpServers": {"a": {"command": "x", "env": {"K": "${file:key.txt}"}},
                "b": {"serverUrl": "https://h.example/mcp", "headers": {"K": "${file:key.txt}"}}}}
''', dict(command=["x"], env={"K": "in a file"}), dict(url="https://h.example/mcp", headers={"K": "in a file"})),
    "gemini": (".gemini/settings.json", '''
{"theme": "x", "mcpServers": {"a": {"command": "$DIALECT_KEY", "args": ["${DIALECT_KEY}", "5$", "$1"], "trust": false},
    "b": {"httpUrl": "https://h.example/mcp", "headers": {"K": "$DIALECT_KEY"}}, "c": {"url": "https://h.example/sse"}}}
''', dict(command=["s3cret", "s3cret", "5$", "$1"]), dict(url="https://h.example/mcp", headers={"K": "s3cret"}),
        dict(url="https://h.example/sse")),
    "opencode": ("opencode.jsonc", '''
{"$schema": "x", "mcp": {
  "a": {"type": "local", "command": ["x", "-y"], "environment": {"K": "{env:DIALECT_KEY}", "T": "{plain}"},
        "enabled": true},
  "off": {"type": "local", "command": ["x"], "enabled": false},
  "b": {"type": "remote", "url": "https://h.example/mcp", "headers": {"K": "{env:DIALECT_KEY}"}} // the last
}}
''', dict(command=["x", "-y"], env={"K": "s3cret", "T": "{plain}"}),
        dict(url="https://h.example/mcp", headers={"K": "s3cret"})),
    "copilot": ("mcp-config.json", '''
{"mcpServers": {"a": {"type": "local", "command": "x", "args": [], "env": {}, "tools": ["*"]},
                "b": {"type": "http", "url": "https://h.example/mcp", "headers": {}, "tools": ["*"]}}}
''', dict(command=["x"], env={}), dict(url="https://h.example/mcp")),
    "zed": ("settings.json", '''
// Zed settings
{"vim_mode": true, "context_servers": {
    "a": {"source": "custom", "command": "x", "args": ["-y"], "env": {}},
    "b": {"command": {"path": "x", "args": ["-y"], "env": {"K": "v"}}, "settings": {}},
    "c": {"url": "https://h.example/mcp", "headers": {"K": "v"}},
}}
''', dict(command=["x", "-y"], env={}), dict(command=["x", "-y"], env={"K": "v"}),
        dict(url="https://h.example/mcp", headers={"K": "v"})),
    "continue": (".continue/mcpServers/mcp.yaml", '''
# what our assistant starts
name: Servers
version: 0.0.1
schema: v1
mcpServers:
  - name: a
    command: x   # a program
    args:
    - "-y"
    - two words
    - ${{ secrets.DIALECT_KEY }}
    env: {K: "${DIALECT_KEY}", 'L': 'it''s'}
    cwd: .
  - name: b
    type: streamable-http
    url: https://h.example/mcp#x
    requestOptions:
      headers:
        Authorization: Bearer ${{ secrets.DIALECT_KEY }}
prompts:
  - name: p
    prompt: |
      Say: "no"

        # and this
''', dict(command=["x", "-y", "two words", "s3cret"], env={"K": "s3cret", "L": "it's"}, cwd="."),
                 dict(url="https://h.example/mcp#x", headers={"Authorization": "Bearer s3cret"})),
    "an array": ("x.json", '{"mcpServers": [{"name": "a", "command": "x", "args": ["y"], "env": {"K": "v"}}]}',
                 dict(command=["x", "y"], env={"K": "v"})),
    "with a BOM": ("x.json", '\ufeff{"mcpServers": {"a": {"command": "x", "connectTimeout": 2.5}}} // there',
                   dict(command=["x"], timeout=2.5)),
}
CODEX = '''
model = "x"
[mcp_servers.a]
command = "x"
args = ["-y"]
env = { K = "v" }
env_vars = ["DIALECT_KEY"]
cwd = "/tmp"
startup_timeout_sec = 4
[mcp_servers.b]
url = "https://h.example/mcp"
bearer_token_env_var = "DIALECT_KEY"
http_headers = { A = "1" }
env_http_headers = { B = "DIALECT_KEY" }
[mcp_servers.off]
command = "x"
enabled = false
'''
CODEX_ENTRIES = (
    dict(command=["x", "-y"], env={"K": "v", "DIALECT_KEY": "s3cret"}, cwd="/tmp", timeout=4),
    dict(url="https://h.example/mcp", headers={"A": "1", "B": "s3cret", "Authorization": "Bearer s3cret"}))
CASES = [pytest.param(*case[:2], case[2:], id=name) for name, case in HOSTS.items()]
CASES.append(pytest.param(".codex/config.toml", CODEX, CODEX_ENTRIES, id="codex", marks=NEEDS_TOML))


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("DIALECT_KEY", "s3cret")
    for name in ("DIALECT_UNSET", "DIALECT_BIN", "DIALECT_HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name, text, entries", CASES)
def test_each_dialect_is_read(name, text, entries, tmp_path, caplog):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    (tmp_path / ".env").write_text("# a comment\nexport A=1\n\nQ='a # b'\n")
    (tmp_path / "key.txt").write_text("in a file\n")
    found = read_config(path, ask_input=lambda id, description, secret: "typed")
    assert list(found) == list("abc")[:len(entries)]
    for entry, wanted in zip(found.values(), entries):
        words = [word.replace("{folder}", str(tmp_path)) for word in wanted.get("command", [])]
        expected = dict(dict(command=[], env=None, cwd=None, timeout=None, url="", headers=None), **wanted)
        assert {member: getattr(entry, member) for member in expected} == dict(expected, command=words)
        assert not entry.notes and entry.env_file is None
    assert not caplog.records


def test_an_older_python_says_what_to_do_about_toml(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 8, 18, "final", 0))
    with pytest.raises(ValueError) as caught:
        parse("config.toml", CODEX.encode())
    assert str(caught.value).startswith("config.toml: TOML is read from Python 3.11 on, and this is 3.8: use a newer")


def of(**entry):
    return {"mcpServers": {"a": entry}}


# What is not done is said


@pytest.mark.parametrize("member, value, words", [
    ("autoApprove", ["read"], "approvals are for the policy"), ("alwaysAllow", ["x"], "approvals"),
    ("trust", True, "approvals"), ("tools", ["one"], "which tools may be called"),
    ("disabled_tools", ["one"], "which tools may be called"), ("timeout", 30000, "connectTimeout, in seconds"),
    ("evn", {}, "evn (did you mean env?) is not known"), ("xyzzy", 1, "xyzzy is not known"),
    ("oauth", {"scopes": []}, "Host.connect(name, url, auth=OAuth())"), ("dev", {"watch": "x"}, "only the host"),
    ("url", "https://h.example", "url was not read: the server is reached by its command"),
    ("transport", "stdio", "transport was not read: another member says the same"),
    ("environment", {"B": "1"}, "environment was not read"),
])
def test_what_a_host_promises_and_we_do_not_do_is_noted_and_logged(member, value, words, caplog):
    entry = dict({"type": "stdio", "command": "x", "env": {"A": "1"}}, **{member: value})
    note, = read_config(of(**entry))["a"].notes
    assert words in note
    record, = caplog.records
    assert record.levelno == logging.WARNING and record.getMessage() == "mcpServers.a: " + note


def test_what_asks_for_nothing_is_not_noted(caplog):
    entry = {"command": "x", "autoApprove": [], "trust": False, "tools": ["*"], "sandboxEnabled": False,
             "description": "for people", "timeout": None}
    assert read_config(of(**entry))["a"].notes == () and not caplog.records


def test_notes_are_in_the_host():
    code = "from mcp_ref import Server; Server('quiet').run()"
    entry = {"command": sys.executable, "args": ["-c", code], "cwd": str(ROOT), "autoApprove": ["x"]}
    with Host.from_config(of(**entry)) as host:
        assert list(host.clients) == ["a"] and "approvals are for the policy" in host.notes["a"][0]


# Variables


@pytest.mark.parametrize("member, value", [
    ("command", "${V}"), ("args", ["ok", "${V}"]), ("env", {"T": "{env:V}"}), ("cwd", "${env:V}"),
])
@pytest.mark.parametrize("setting", [None, ""])
def test_a_variable_that_is_not_set_names_file_entry_and_member(member, value, setting, monkeypatch, tmp_path):
    """One that is empty, too: a token of nothing fails where nobody looks."""
    monkeypatch.delenv("V", raising=False)
    if setting is not None:
        monkeypatch.setenv("V", setting)
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(of(**dict({"command": "x"}, **{member: value}))))
    with pytest.raises(ValueError) as caught:
        read_config(path)
    place = {"args": "args[1]", "env": "env.T"}.get(member, member)
    assert str(caught.value).startswith("%s: mcpServers.a.%s: " % (path, place))
    assert "is not set, or empty: set V in the environment" in str(caught.value)


@pytest.mark.parametrize("text, read", [
    ("${V:-d}", "d"), ("${V:-}", ""), ("${env:V:-a:b}", "a:b"), ("{env:V:-d}", "d"), ("$V", "$V"), ("$$", "$$"),
    ("a${S}b${S}", "a${T}b${T}"), ("{S}", "{S}"), ("${/}", os.sep), ("${workspaceFolderBasename}", "{base}"),
])
def test_a_variable_is_replaced_once(text, read, monkeypatch):
    """Two that name each other do no harm."""
    monkeypatch.delenv("V", raising=False)
    monkeypatch.setenv("S", "${T}")
    monkeypatch.setenv("T", "${S}")
    entry = read_config(of(command="x", args=[text]))["a"]
    assert entry.command[1] == read.replace("{base}", os.path.basename(os.getcwd()))


@pytest.mark.parametrize("text", [
    "${command:pick}", "${config:x}", "${{ secrets.X }}", "${A:-${B}}", "${}", "${env:}", "a ${", "${input:}",
    "${file:/nothing/there}",
])
def test_what_cannot_be_replaced_is_refused_and_not_passed_on(text):
    with pytest.raises(ValueError, match=r"mcpServers\.a\.args\[0\]: "):
        read_config(of(command="x", args=[text]))


def test_a_person_is_asked_once_for_each_input_with_what_the_file_says_of_it():
    asked = []

    def ask(id, description, secret):
        asked.append((id, description, secret))
        return {"key": "typed"}.get(id)

    config = dict(of(command="x", args=["${input:key}", "${input:key}"]), inputs=[
        {"id": "key", "description": "The key", "password": True}, {"id": "other"}, 1])
    assert read_config(config, ask_input=ask)["a"].command == ["x", "typed", "typed"]
    assert asked == [("key", "The key", True)]
    config["mcpServers"]["a"]["args"] = ["${input:other}"]
    with pytest.raises(ValueError, match="no answer for other"):
        read_config(config, ask_input=ask)
    with pytest.raises(ValueError, match=r"a\.args\[0\]: \$\{input:other\} is for a person to answer: pass ask_input"):
        read_config(config)
    assert list(Host.from_config(config, ask_input=ask).failed) == ["a"]


def test_a_file_of_variables_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(of(command="x", envFile=".env")))
    with pytest.raises(ValueError, match=r"mcpServers\.a\.envFile: \.env cannot be read"):
        read_config(path)
    (tmp_path / ".env").write_text("A=1\nnonsense\n")
    with pytest.raises(ValueError, match=r"line 2 of \.env is not NAME=VALUE"):
        read_config(path)


def test_no_value_of_a_variable_is_told(caplog):
    entry = dict(url="https://h.example/mcp?k=${DIALECT_KEY}", headers={"K": "${DIALECT_KEY}"}, evn={})
    found = read_config(of(**entry))["a"]
    assert found.headers == {"K": "s3cret"} and "s3cret" not in repr(found) and "s3cret" not in caplog.text
    with pytest.raises(ValueError) as caught:
        read_config(of(url="${DIALECT_KEY}"))
    assert "s3cret" not in str(caught.value)


# Servers at a URL


def make_server():
    server = Server("far")

    @server.tool
    def double(value: int) -> int:
        return 2 * value

    return server


@pytest.mark.parametrize("older, entry", [
    (False, {"type": "http", "url": "{url}"}), (False, {"httpUrl": "{url}"}), (False, {"serverUrl": "{url}"}),
    (True, {"type": "sse", "url": "{url}"}), (True, {"url": "{url}"}),
])
def test_a_server_at_a_url_is_connected_with_its_headers(older, entry, tmp_path):
    """Whichever of the two HTTP transports is spoken there."""
    with HttpListener(make_server(), "http://127.0.0.1:0/mcp", token="s3cret") as listener:
        url = listener.address.replace("/mcp", "/sse") if older else listener.address
        entry = {member: value.replace("{url}", url) for member, value in entry.items()}
        entry["headers"] = {"Authorization": "Bearer ${DIALECT_KEY}"}
        with Host.from_config(of(**entry), policy=Policy(tool_call=allow)) as host:
            assert not host.failed
            assert host.call_tool("a__double", {"value": 4}).structured_content == {"result": 8}


def test_the_echo_server_of_a_file_is_used(tmp_path):
    path = tmp_path / "mcp.jsonc"
    path.write_text("/* ours */ " + json.dumps({"servers": {"echo": {
        "type": "stdio", "command": sys.executable, "args": ["${workspaceFolder}/echo_server.py"]}}}))
    (tmp_path / "echo_server.py").symlink_to(ECHO)
    with Host.from_config(path, policy=Policy(tool_call=allow)) as host:
        assert host.call_tool("echo__add", {"a": 1, "b": 2}).structured_content == {"result": 3}


# Hostile files


@pytest.mark.parametrize("data, words", [
    (b"[" * 100_000, "max_depth"), (b'{"mcpServers":' + b'{"a":' * 1000 + b"}" * 1001, "max_depth"),
    (b'{"a": 1, "a": 2}', "duplicate key"), (b'{/**/"a": 1, "a": 2,}', "duplicate key"), (b"[1, 2]", "mcpServers"),
    (b"{/*", "a comment that begins in line 1 does not end"), (b'{}\n/*/', "in line 2"), (b'{"a": "', "not JSON"),
    (b'{"a\\', "not JSON"), (b"\xff/,", "UTF-8"), (b"", "not JSON"), (b"{,}", "not JSON"), (b'{"a": [,]}', "not JSON"),
    (b'{"a": 1 / 2,}', "not JSON"), (b"null //", "mcpServers"), (b" " * (MAX_FILE + 1), "more than 16777216 bytes"),
    (b'{"mcpServers": {"a": {"command": "x\\u0000", "args": null}}}', "a.args"),
], ids=range(17))
def test_a_hostile_file_is_refused_by_name(data, words, tmp_path):
    path = tmp_path / "mcp.json"
    path.write_bytes(data)
    with pytest.raises(ValueError) as caught:
        read_config(path)
    assert str(path) in str(caught.value) and words in str(caught.value)


@NEEDS_TOML
@pytest.mark.parametrize("text, words", [
    ("a = " + "[" * 50_000, "config.toml: not TOML"), ("[a]\n[a]", "config.toml: not TOML"),
    ("mcp_servers = 1", "mcpServers"), ("[mcp_servers.a]\ncommand = 1979-05-27", "mcp_servers.a.command"),
])
def test_a_hostile_toml_file_is_refused_by_name(text, words, tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        read_config(path)
    assert str(path) in str(caught.value) and words in str(caught.value)


@pytest.mark.parametrize("data, words", [
    (b"mcpServers:\n  - name: a\n    command: x\n    args: [8080]", "mcpServers.a.args: expected an array of strings"),
    (b"mcpServers:\n  - name: a\n    command: no", "line 3: no is a string for some YAML readers"),
    (b"mcpServers:\n  - name: a\n    url: https://h\n    requestOptions:\n      headers: x", "a.headers: expected"),
    (b"mcpServers:\n  - command: x", "mcpServers[0].name"), (b"\xff", "not UTF-8"), (b"# nothing", "needs an object"),
])
def test_a_hostile_yaml_file_is_refused_by_name(data, words, tmp_path):
    path = tmp_path / "config.yml"
    path.write_bytes(data)
    with pytest.raises(ValueError) as caught:
        read_config(path)
    assert str(path) in str(caught.value) and words in str(caught.value)


def test_options_of_requests_other_than_headers_are_noted():
    options = {"headers": {"K": "v"}, "verifySsl": False}
    entry, = read_config({"mcpServers": [{"name": "a", "url": "https://h.example/mcp", "requestOptions": options}]}
                         ).values()
    assert entry.headers == {"K": "v"} and len(entry.notes) == 1 and "requestOptions was not acted on" in entry.notes[0]


@pytest.mark.parametrize("text", ['"' + '\\"' * 200_000, '"\\' * 200_000, "/*" * 200_000, "//" * 200_000,
                                  "," * 400_000, '"a' + "\\" * 199_999, "/* */" * 100_000, ",\n" * 200_000])
def test_comments_are_found_in_linear_time(text):
    start = time.perf_counter()
    try:
        without_last_commas(without_comments(text))
    except ValueError as error:
        assert "does not end" in str(error)
    assert time.perf_counter() - start < 5.0, "quadratic time would be minutes"


def test_what_stands_in_place_of_a_comment_keeps_the_lines():
    text = '{"a": "/* // */", // one,\r\n /* two\n */ "b": [1,\n],}'
    plain = without_comments(text)
    assert len(plain) == len(text) and plain.count("\n") == text.count("\n")
    assert json.loads(without_last_commas(plain)) == {"a": "/* // */", "b": [1]}
    with pytest.raises(ValueError, match="line 3"):
        parse("x", b'// one\n/* two */\n{"a" 1,}')


def test_a_url_is_never_run_as_a_command(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALECT_URL", "touch %s" % (tmp_path / "made"))
    with Host.from_config(of(url="${DIALECT_URL}")) as host:
        assert "a.url: expected an address" in str(host.failed["a"])
    assert not (tmp_path / "made").exists()


def test_connect_takes_what_an_entry_says():
    entry = read_config(of(command=sys.executable, args=[ECHO]))["a"]
    with connect(entry.command, env=entry.env, cwd=entry.cwd) as client:
        assert client.server_info.name == "echo"
