"""The command `config`, an entry of a file as SERVER, and files that keep every byte but one entry."""
import json
import os
import pathlib
import re
import shlex
import stat
import sys
import tempfile

import pytest

from mcp_ref import Host
from mcp_ref.cli.hosts import config, merging
from mcp_ref.cli.hosts.config import HOSTS
from mcp_ref.cli.hosts.merging import CannotKeep, EntryPlace, merged
from mcp_ref.deadline import clock
from mcp_ref.host import Policy, allow, read_config
from tests.cli.running import ECHO, SERVER, here, one_line_of

NO_TOML = sys.version_info < (3, 11)
NEEDS_TOML = pytest.mark.skipif(NO_TOML, reason="tomllib is there from Python 3.11 on")
ENTRY = {"command": "/x", "args": ["-y"]}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's folder with nothing in it, and a project in it, in which we are."""
    for name in ("HOME", "USERPROFILE", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return tmp_path


# An entry of a file in place of a command


def test_an_entry_of_a_file_stands_for_a_server(home, capsys):
    entry = {"command": ECHO[0], "args": ECHO[1:], "autoApprove": ["add"], "env": {"A": "${HOME}"}}
    (home / "one.json").write_text(json.dumps({"mcpServers": {"echo": entry}}))
    (home / "two servers.jsonc").write_text('// two\n' + json.dumps({"servers": {"echo": entry, "web": {
        "url": "http://127.0.0.1:1/mcp", "headers": {"K": "${CLI_TEST_UNSET}"}}, "off": dict(entry, disabled=True)}}))
    for server in (str(home / "one.json"), str(home / "one.json") + ":echo", "~/one.json:echo",
                   str(home / "two servers.jsonc") + ":echo", str(home / "two servers.jsonc") + ":off"):
        code, out, err = here(capsys, "call", server, "add", "a=1", "b=2")
        assert (code, out) == (0, "3\n"), (server, err)
        assert "echo: autoApprove was not acted on" in err or "off: autoApprove" in err
    assert "servers.off: it is disabled, and used as you have named it" in err


@pytest.mark.parametrize("name, words", [
    ("", "has 2 servers; write "), (":", "has 2 servers; write "),
    (":ecko", "has no server 'ecko', did you mean echo? Otherwise write "),
    (":echo\x1b", "with one of these: echo, web"), (":web", "servers.web.headers.K: ${CLI_TEST_UNSET} is not set"),
])
def test_an_entry_that_cannot_be_used_is_told_in_a_line(name, words, home, capsys):
    path = home / "mcp.json"
    path.write_text(json.dumps({"servers": {"echo": ENTRY, "web": {
        "url": "http://127.0.0.1:1/mcp", "headers": {"K": "${CLI_TEST_UNSET}"}}}}))
    code, out, err = here(capsys, "tools", str(path) + name)
    assert code == 2 and not out and words in one_line_of(err) and str(path) in err


@pytest.mark.parametrize("text, words", [
    (None, "cannot be read: No such file"), ("{", "not JSON"), ("[]", "needs an object 'mcpServers'"),
    ('{"servers": {"a": {"comand": "x"}}}', "comand is not known (did you mean command?)"),
    ('{"servers": {"a": {"name": "x", "ulr": "y"}}}', "ulr is not known (did you mean url?)"),
    ('{"servers": {"a": {"command": 1}}}', "servers.a.command: expected"), ('{"servers": {"a": 1}}', "expected an obj"),
    ('{"servers": {"a": {"command": "x", "args": ["${input:k}"]}}}', "${input:k} asks a person, and there is no term"),
])
def test_a_file_that_is_wrong_is_told_in_a_line(text, words, home, capsys):
    path = home / "mcp.json"
    if text is not None:
        path.write_text(text)
    code, out, err = here(capsys, "tools", str(path))
    assert code == 2 and not out and words in one_line_of(err) and str(path) in err or "input" in words


def test_options_go_before_what_an_entry_says(home, capsys):
    code = "import os, sys; sys.exit('%s %s %s' % (os.getcwd(), os.environ['A'], os.environ['B']))"
    path = home / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": {
        "command": sys.executable, "args": ["-c", code], "env": {"A": "file", "B": "file"}, "cwd": "/nowhere"}}}))
    _, _, err = here(capsys, "tools", str(path), "--env", "A=option", "--cwd", str(home))
    assert "%s option file" % os.path.realpath(str(home)) in err


def test_a_person_at_a_terminal_answers_inputs(home, capsys, monkeypatch):
    """A secret is not shown while it is typed; no answer is an error that names the member."""
    import getpass

    from mcp_ref.cli.use import asking, connecting

    asked = []
    monkeypatch.setattr(connecting, "is_interactive", lambda: True)
    monkeypatch.setattr(connecting, "ask", lambda question: asked.append(question) or "typed")
    monkeypatch.setattr(getpass, "getpass", lambda question, stream: asked.append(question) or "hidden")
    code = "import os, sys; sys.exit('%s %s' % (os.environ['A'], os.environ['B']))"
    path = home / "mcp.json"
    path.write_text(json.dumps({
        "inputs": [{"id": "one", "description": "The first"}, {"id": "two", "password": True}],
        "servers": {"a": {"command": sys.executable, "args": ["-c", code], "env": {
            "A": "${input:one}", "B": "${input:two}"}}}}))
    _, _, err = here(capsys, "tools", str(path))
    assert "typed hidden" in err and asked == ["The first: ", "two: "]

    def leave(question):
        raise asking.Gone("the input ended")

    monkeypatch.setattr(connecting, "ask", leave)
    code, _, err = here(capsys, "tools", str(path))
    assert code == 2 and "servers.a.env.A: ${input:one} is not set, or empty: there was no answer" in one_line_of(err)


def test_an_entry_says_how_long_to_wait_for_its_server(home, capsys):
    path = home / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": {
        "command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"], "connectTimeout": 0.4}}}))
    start = clock()
    code, _, err = here(capsys, "tools", str(path))
    assert code == 1 and "neither server/discover nor initialize in time" in err
    assert clock() - start < 15.0, "by default it would be 35 s"


def test_a_command_that_names_a_file_is_a_command(home, capsys):
    (home / "data.json").write_text("{}")
    code, _, err = here(capsys, "tools", "%s -c 1 %s" % (shlex.quote(ECHO[0]), home / "data.json"))
    assert code == 3 and "server exited" in err


# What `config` prints


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_each_host_gets_an_entry_that_from_config_reads_back(name, home, capsys):
    """Printed and written; and the echo server is connected by it."""
    code, text, err = here(capsys, "config", SERVER, "--for", name, "--env", "K=v w")
    assert code == 0 and HOSTS[name].title in err and "--write" in err
    assert here(capsys, "config", SERVER, "--for", name, "--env", "K=v w", "--write")[0] == 0
    code, out, _ = here(capsys, "config", SERVER, "--for", name, "--json", "--env", "K=v w")
    told = json.loads(out)
    assert told["text"] == text and pathlib.Path(told["file"]).read_text() == text
    assert told["file"].startswith(str(home))
    if told["file"].endswith(".toml") and NO_TOML:
        return
    entry = read_config(told["file"])["echo_server"]
    assert entry.command == ECHO and entry.env == {"K": "v w"} and not entry.notes
    with Host.from_config(told["file"], policy=Policy(tool_call=allow)) as host:
        assert host.call_tool("echo_server__add", {"a": 1, "b": 2}).text == "3"


@pytest.mark.parametrize("name", sorted(set(HOSTS) - {"claude-desktop"}))
def test_each_host_gets_a_url_that_from_config_reads_back(name, home, capsys):
    url = "https://h.example/notes/mcp"
    _, out, _ = here(capsys, "config", url, "--for", name, "--header", "A=b c", "--write", "--json")
    path = json.loads(out)["file"]
    if not (path.endswith(".toml") and NO_TOML):
        entry = read_config(path)["notes"]
        assert (entry.url, entry.headers, entry.command, entry.notes) == (url, {"A": "b c"}, [], ())


def test_the_files_of_each_system_are_told(home, capsys):
    _, out, err = here(capsys, "config", SERVER, "--for", "claude-desktop")
    for line in ("  macOS    ~/Library/Application Support/Claude/claude_desktop_config.json",
                 "  Linux    ~/.config/Claude/claude_desktop_config.json",
                 "  Windows  %APPDATA%\\Claude\\claude_desktop_config.json"):
        assert line in err.splitlines()
    assert "claude_desktop" not in out
    for system, start in (("darwin", "~/Library"), ("linux", "~/.config"), ("win32", "%APPDATA%\\")):
        assert HOSTS["vscode"].user[system].startswith(start)


def test_paths_become_absolute_and_a_module_of_the_folder_is_found(home, capsys):
    (home / "project" / "server.py").write_text("")
    (home / "project" / "bare").write_text("")
    words = [ECHO[0], "server.py", "bare", "--x=server.py", "../project", "-c", "server.py", "none.py"]
    _, out, _ = here(capsys, "config", "--for", "cursor", "--", *words)
    entry = json.loads(out)["mcpServers"]["server"]
    project = str(home / "project")
    assert entry == {"command": ECHO[0], "args": [
        project + "/server.py", "bare", "--x=server.py", project, "-c", "server.py", "none.py"]}
    _, out, _ = here(capsys, "config", "--for", "cursor", "--", ECHO[0], "-m", "server")
    assert json.loads(out)["mcpServers"]["server"]["env"] == {"PYTHONPATH": project}
    _, out, _ = here(capsys, "config", "--for", "cursor", "--", ECHO[0], "-m", "json.tool")
    assert "env" not in json.loads(out)["mcpServers"]["json"]


@pytest.mark.parametrize("words, missing", [
    ([ECHO[0], "nosuch.py"], "nosuch.py"), ([ECHO[0], "-u", "/no/such.py", "x.py"], "/no/such.py"),
    (["node", "dist/index.js"], "dist/index.js"), (["uv", "run", "nosuch.py"], "nosuch.py"),
    ([ECHO[0], "server.py", "out.py"], None), ([ECHO[0], "-m", "x", "out.py"], None),
    ([ECHO[0], "-c", "1", "a.py"], None),
    (["npx", "-y", "chart.js"], None), (["docker", "run", "image", "python", "in.py"], None),
    (["uv", "--directory", "/x", "run", "s.py"], None), ([ECHO[0], "${workspaceFolder}/s.py"], None),
])
def test_a_script_that_is_not_there_is_told_and_not_written(words, missing, home, capsys, monkeypatch):
    (home / "project" / "server.py").write_text("")
    monkeypatch.setattr(config.shutil, "which", lambda name: name)
    code, out, err = here(capsys, "config", "--for", "vscode", "--", *words)
    assert code == 0 and json.loads(out)
    assert ("warning: there is no file %s in " % missing in err) == bool(missing), err
    code, out, err = here(capsys, "config", "--for", "vscode", "--write", "--project", "--", *words)
    assert code == (2 if missing else 0) and (home / "project" / ".vscode").exists() == (missing is None)
    assert not missing or "nothing was written: there is no file %s in %s" % (missing, home) in one_line_of(err)


def test_what_was_written_is_tried_as_a_host_starts_it(home, capsys):
    """In another folder; the hint can be run as it stands."""
    code, out, err = here(capsys, "config", SERVER, "--for", "cursor", "--write")
    hint = re.search(r"mcp_ref (doctor \S+:echo_server --cwd /)$", err, re.MULTILINE)
    assert code == 0 and hint, err
    code, out, err = here(capsys, *shlex.split(hint.group(1)))
    assert code == 0, out + err
    words = ["config", "--for", "vscode", "--write", "--cwd", str(home)]
    assert "--cwd /" not in here(capsys, *words, SERVER)[2], "it names its folder itself"
    assert "--cwd" not in here(capsys, "config", "--for", "windsurf", "--write", "http://127.0.0.1:1/mcp")[2]


def test_an_entry_of_one_host_becomes_one_of_another(home, capsys):
    path = home / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": {
        "command": "npx", "args": ["-y"], "env": {"K": "${K}"}, "autoApprove": ["x"]}}}))
    code, out, err = here(capsys, "config", str(path), "--for", "opencode")
    assert json.loads(out) == {"mcp": {"a": {"type": "local", "command": ["npx", "-y"], "environment": {"K": "${K}"}}}}
    assert "not copied: autoApprove" in err and "the host may not know their form: ${K}" in err


@pytest.mark.parametrize("words, told", [
    (["--for", "cursr"], "there is no host cursr here, did you mean cursor? --for takes one of: "),
    ([], "the host is missing; --for takes one of: claude-desktop, claude-code, vscode"),
    (["--for", "claude-desktop", "--project"], "Claude Desktop has no file for a project"),
    (["--for", "cursor", "--cwd", "/tmp"], "Cursor takes no folder for a server"),
    (["--for", "cursor", "--header", "A=b"], "--header is for a server at a URL"),
    (["--for", "cursor", "--name", "a b"], "'a b' cannot name a server"),
    (["--for", "codex", "--file", "x.json"], "the file of Codex CLI ends in .toml"),
    (["--for", "cursor", "--wirte"], "did you mean --write? See python3 "),
])
def test_wrong_usage_is_told_in_a_line(words, told, home, capsys):
    code, out, err = here(capsys, "config", SERVER, *words)
    assert code == 2 and not out and told in one_line_of(err)


@pytest.mark.parametrize("server, told", [
    ("server.py", 'server.py is a file, not a program: write "python3 server.py"'),
    ("no-such-program-anywhere x", "there is no program no-such-program-anywhere"),
    ("https://h.example/mcp", "Claude Desktop takes no URL in its file"),
    ("tcp://127.0.0.1:1", "hosts start a command, or reach a URL"),
])
def test_what_no_host_can_use_is_told_in_a_line(server, told, home, capsys, monkeypatch):
    (home / "server.py").write_text("")
    monkeypatch.chdir(home)
    code, out, err = here(capsys, "config", server, "--for", "claude-desktop")
    assert code == 2 and told in one_line_of(err)


def test_help_lists_the_hosts(capsys):
    _, out, _ = here(capsys, "config", "--help")
    assert all("\n    %-16s%s" % (name, host.title) in out for name, host in HOSTS.items())


# Files keep every byte


JSON_FILES = {
    "nothing": ("", '{\n  "mcpServers": {\n    "new": {\n'),
    "an empty object": ("{}\n", '{\n  "mcpServers": {\n'),
    "one line": ('{"a": 1, "mcpServers": {"b": {"command": "x"}}}', '"b": {"command": "x"},\n  "new": {\n'),
    "four spaces": ('{\n    "mcpServers": {\n        "b": {}\n    },\n    "z": [1,2 ]\n}\n',
                    '        "b": {},\n        "new": {\n            "command": "/x",\n'),
    "tabs, CRLF and a BOM": ('\ufeff{\r\n\t"mcpServers": {\r\n\t\t"b": {}\r\n\t}\r\n}',
                             '\t\t"b": {},\r\n\t\t"new": {\r\n\t\t\t"command": "/x",\r\n'),
    "comments": ('// top\n{ /* "mcpServers": {} */\n  "mcpServers": {\n    // {first}\n    "b": {} // last, }\n'
                 '    /* end */\n  } // }\n}\n// bye', '"b": {}, // last, }\n    /* end */\n    "new": {\n'),
    "trailing commas": ('{\n  "mcpServers": {\n    "b": {},\n  },\n}\n', '    "b": {},\n    "new": {\n'),
    "no servers": ('{\n  "theme": "x" // , mine\n}\n', '"theme": "x", // , mine\n  "mcpServers": {\n    "new": {\n'),
    "no servers in it": ('{"mcpServers": { }}', '{"mcpServers": { \n'.replace(" \n", "\n")),
    "odd names": ('{"mcp\\u0053ervers": {"\\"}": {}, "é": {}}}', '"é": {},\n  "new": {'),
}


@pytest.mark.parametrize("name", JSON_FILES)
def test_json_keeps_all_its_bytes_and_says_one_thing_more(name, tmp_path):
    text, words = JSON_FILES[name]
    path = tmp_path / "x.json"
    data = text.encode("utf-8")
    new = merged(EntryPlace(str(path), "mcpServers", "new"), data, ENTRY)
    assert words in new.decode("utf-8")
    left = iter(new)
    assert all(byte in left for byte in data), "what was there is there, in its order"
    path.write_bytes(new)
    old = merging.parse("x.json", data) if data else {}
    servers = dict(old.get("mcpServers", {}), new=ENTRY)
    assert merging.parse("x.json", new) == dict(old, mcpServers=servers)
    assert merged(EntryPlace(str(path), "mcpServers", "new"), new, ENTRY) is None
    changed = merged(EntryPlace(str(path), "mcpServers", "new"), new, {"command": "/y"}, replace=True)
    assert changed.startswith(new[:new.index(b'"new"')]) and merging.parse("x", changed)["mcpServers"]["new"] == {
        "command": "/y"}


@pytest.mark.parametrize("text, words", [
    (b"{", "not JSON"), (b"\xff", "not UTF-8"), (b"[]", "is not an object"), (b'{"mcpServers": []}', "not an object"),
    (b'{"mcpServers": {}, "mcpServers": {}}', "duplicate key"), (b'{"mcpServers": {"new": {}}}', "--replace takes its"),
    (b"[" * 10_000, "max_depth"), (b'{"a": 1} x', "not JSON"), (b"{/*", "does not end"), (b"null", "not an object"),
    (b" " * (merging.MAX_FILE + 1) + b"{}", "more than"),
], ids=range(11))
def test_what_cannot_be_kept_is_refused(text, words):
    with pytest.raises(CannotKeep) as caught:
        merged(EntryPlace("x.json", "mcpServers", "new"), text, ENTRY)
    assert words in str(caught.value) and "x.json" in str(caught.value)


def test_comments_inside_an_entry_are_not_lost():
    text = b'{"mcpServers": {"new": {"command": "x" /* mine */}}}'
    with pytest.raises(CannotKeep, match="comments in the entry new, which would be lost"):
        merged(EntryPlace("x.json", "mcpServers", "new"), text, ENTRY, replace=True)


@NEEDS_TOML
@pytest.mark.parametrize("text", [
    "", "# mine\nmodel = \"x\"",
    "[mcp_servers.b]\r\ncommand = \"x\"\r\n", "mcp_servers.b.command = \"x\"\n[z]\na=1\n\n",
])
def test_toml_keeps_all_its_bytes(text):
    place = EntryPlace("config.toml", "mcp_servers", "new")
    entry = {"command": "/x", "args": ["a\"b", "\x7f\\"], "env": {"K k": "é"}}
    new = merged(place, text.encode(), entry)
    assert new.startswith(text.encode())
    assert merging.parse("config.toml", new)["mcp_servers"]["new"] == entry and merged(place, new, entry) is None
    with pytest.raises(CannotKeep, match="a table of TOML is not replaced"):
        merged(place, new, ENTRY, replace=True)


@NEEDS_TOML
@pytest.mark.parametrize("text, words", [
    ("mcp_servers = {}\n", "written in a way to which an entry cannot be added"), ("x", "not TOML"),
    ("mcp_servers = 1\n", "is not an object"),
])
def test_toml_that_cannot_take_a_table_is_refused(text, words):
    with pytest.raises(CannotKeep, match=words):
        merged(EntryPlace("config.toml", "mcp_servers", "new"), text.encode(), ENTRY)


def test_an_older_python_does_not_touch_toml_that_it_cannot_read(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 0, "final", 0))
    with pytest.raises(CannotKeep, match="TOML is read from Python 3.11 on"):
        merged(EntryPlace("config.toml", "mcp_servers", "new"), b"model = 1\n", ENTRY)
    assert merged(EntryPlace("config.toml", "mcp_servers", "new"), b"", ENTRY).startswith(b"[mcp_servers.new]\n")


# YAML


YAML = EntryPlace("config.yaml", "mcpServers", "b")
ITEM = '- name: "b"\n  command: "/x"\n  args:\n    - "-y"\n'
INDENTED = "".join("  %s\n" % line for line in ITEM.splitlines())
HEAD = 'name: "b"\nversion: "0.0.1"\nschema: "v1"\nmcpServers:\n'
YAML_FILES = {
    "nested": ("name: x # c\nmcpServers:\n    # first\n    - name: a\n      command: w\n\n# rest\nrules: []\n",
               "      command: w\n", 4),
    "flat": ("mcpServers:\n- name: a\n  command: w\nmodels:\n- z\n", "  command: w\n", 0),
    "last": ("models: |\n  z\nmcpServers:\n  - name: a\n    args:\n      - w\n", "      - w\n", 2),
    "none": ("mcpServers:\nmodels: z\n", "mcpServers:\n", 2),
    "literal": ("mcpServers:\n  - name: a\n    env:\n      K: |\n        # v\n\nx: 1\n", "        # v\n", 2),
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("name", sorted(YAML_FILES))
def test_yaml_keeps_all_its_bytes_and_has_an_item_more(name, line_end):
    text, before, indent = YAML_FILES[name]
    text, before = text.replace("\n", line_end), before.replace("\n", line_end)
    item = "".join(" " * indent + line + line_end for line in ITEM.splitlines())
    for bom in (b"", b"\xef\xbb\xbf"):
        made = merged(YAML, bom + text.encode(), ENTRY)
        assert made.decode() == bom.decode() + text.replace(before, before + item)
        assert merged(YAML, made, ENTRY) is None, "it is there already"


@pytest.mark.parametrize("text, made", [
    ("", HEAD + INDENTED), ("# c", "# c\n" + HEAD + INDENTED), ("models: z", "models: z\nmcpServers:\n" + INDENTED)])
def test_yaml_without_servers_gets_a_list(text, made):
    assert merged(YAML, text.encode(), ENTRY).decode() == made


def test_what_yaml_would_take_for_something_else_is_quoted():
    entry = {"env": {"no": "yes", "A B": "x: y # z", "K": "\u2028\x7f\ufeff\U0001f600\"\\\n\t"},
             "args": ["1", "- x", ""]}
    assert merged(YAML, b"", entry) is not None  # what is made is read again
    assert b'"no": "yes"' in merged(YAML, b"", entry) and b"\\u2028\\u007f\\ufeff" in merged(YAML, b"", entry)


@pytest.mark.parametrize("text, words", [
    ("mcpServers: []\n", "a list in brackets"), ("mcpServers: [{name: a}]\n", "a list in brackets"),
    ("mcpServers: ~\n", "cannot be added"), ("mcpServers:\n  a:\n    command: x\n", "is not a list of entries"),
    ("mcpServers:\n  - command: x\n", "is not a list of entries"), ("- a\n", "is not a list of entries"),
    ("mcpServers:\n  - name: b\n    command: z\n", "another server 'b' already"),
    ("a: &x 1\n", "line 1: anchors (&)"),
    ("mcpServers:\n  - name: b # mine\n    command: no\n", 'write "no"'),
])
def test_yaml_that_cannot_take_an_item_is_refused(text, words):
    with pytest.raises(CannotKeep, match=re.escape(words)):
        merged(YAML, text.encode(), ENTRY)


def test_an_item_of_yaml_is_not_replaced():
    with pytest.raises(CannotKeep, match="is not replaced"):
        merged(YAML, b"mcpServers:\n  - name: b\n    command: z\n", ENTRY, replace=True)


def test_a_remote_server_of_continue_has_its_headers_below(home, capsys):
    words = ["config", "https://h.example/mcp", "--name", "b", "--for", "continue", "--header", "K=${V}", "--project"]
    assert here(capsys, *words, "--write")[0] == 0
    text = (home / "project" / ".continue" / "mcpServers" / "mcp.yaml").read_text()
    assert text.endswith('    url: "https://h.example/mcp"\n    requestOptions:\n      headers:\n        K: "${V}"\n')


# The file


def write(capsys, path, *more):
    return here(capsys, "config", SERVER, "--for", "cursor", "--write", "--file", str(path), *more)


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_the_mode_and_the_link_stay_and_there_is_a_backup(home, capsys):
    real, link = home / "real.json", home / "link.json"
    real.write_text('{"mcpServers": {} }')
    real.chmod(0o640)
    link.symlink_to("real.json")
    code, out, err = write(capsys, link)
    assert code == 0 and "echo_server was written into %s" % link in out
    assert link.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o640 and "echo_server" in real.read_text()
    backup = home / "real.json.backup"
    assert backup.read_text() == '{"mcpServers": {} }' and stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert str(backup) in err and "tools %s:echo_server" % link in err
    assert write(capsys, link)[1].startswith("echo_server is there already, the same")
    assert write(capsys, link, "--name", "second")[0] == 0
    assert sorted(path.name for path in home.iterdir()) == [
        "link.json", "project", "real.json", "real.json.backup", "real.json.backup-2"]


def test_a_new_file_is_for_the_user_alone(home, capsys):
    path = home / "a" / "b" / "mcp.json"
    assert write(capsys, path)[0] == 0
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["mcp.json"]


@pytest.mark.skipif(os.name == "nt", reason="hard links and folders of POSIX")
def test_a_file_that_cannot_be_replaced_stays(home, capsys):
    path = home / "mcp.json"
    path.write_text("{}")
    os.link(str(path), str(home / "other.json"))
    code, out, err = write(capsys, path)
    assert code == 2 and "nothing was written" in err and "hard links" in one_line_of(err) and path.read_text() == "{}"
    code, _, err = write(capsys, home)
    assert code == 2 and "nothing was written: %s: Is a directory" % home in err


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_that_is_changed_meanwhile_leads_to_no_other_file(home, capsys, monkeypatch):
    mine, theirs, link = home / "mine.json", home / "theirs.json", home / "mcp.json"
    for path in (mine, theirs):
        path.write_text('{"of": "%s"}' % path.name)
    link.symlink_to(mine)

    def lead_to(target):
        link.unlink()
        link.symlink_to(target)

    def swapped(*arguments):  # between the first look at the file and the second
        lead_to(theirs)
        return merged(*arguments)

    def back(*arguments, make=tempfile.mkstemp, **more):
        lead_to(mine)
        return make(*arguments, **more)

    monkeypatch.setattr(config, "merged", swapped)
    monkeypatch.setattr(tempfile, "mkstemp", back)
    assert write(capsys, link)[0] == 0
    assert theirs.read_text() == '{"of": "theirs.json"}' and "mcpServers" in json.loads(mine.read_text())
    assert sorted(each.name for each in home.glob("*.backup")) == ["mine.json.backup"]


def test_a_file_that_another_program_changes_meanwhile_stays(home, capsys, monkeypatch):
    path = home / "mcp.json"
    path.write_text("{}")

    def slow(*arguments):
        path.write_text('{"theirs": 1}')
        return merged(*arguments)

    monkeypatch.setattr(config, "merged", slow)
    code, _, err = write(capsys, path)
    assert code == 2 and "was changed by another program meanwhile" in one_line_of(err)
    assert path.read_text() == '{"theirs": 1}' and [each.name for each in home.glob("mcp*")] == ["mcp.json"]


@pytest.mark.parametrize("url, name", [
    ("http://127.0.0.1:8000/mcp", "127_0_0_1"), ("http://[::1]:8000/", "1"), ("http://localhost:1/mcp", "localhost"),
    ("https://mcp.linear.app/sse", "linear"), ("https://api.example.com/weather/mcp", "weather"),
])
def test_an_entry_for_a_url_is_named_by_its_path_or_its_whole_host(url, name, capsys):
    code, out, err = here(capsys, "config", url, "--for", "cursor", "--json")
    assert code == 0 and json.loads(out)["name"] == name, err
