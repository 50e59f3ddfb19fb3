"""`pack`: bundles that hosts install: what goes in, what is refused, what is written, and that it runs."""
import contextlib
import io
import json
import os
import pathlib
import shlex
import stat
import sys
import tracemalloc
import zipfile
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from mcp_ref import Server, connect
from mcp_ref.cli import main
from mcp_ref.cli.output import UsageError
from mcp_ref.cli.packing import archive, manifest, pack
from mcp_ref.jsonschema import compile
from tests.support.outside import SPEC

from .running import ROOT, here, one_line_of

FORMATS = SPEC.parent / "formats"
SCRIPT = str(ROOT / "examples" / "echo_server.py")
FLAGS = ["--author", "Ada <ada@example.com>", "--version", "1.0.0"]
TOOLS = ["echo", "add", "count", "slow"]
REVIEW = "Please review this ${arguments.language} code:\n\n${arguments.code}"
URL = "https://github.com/ada/echo-mcp/releases/download/v1.0.0/echo.mcpb"
SETTINGS = ["--env", "API_KEY=secret", "--env", "LIMIT=number:10", "--env", "MODE=fixed:fast"]
SECRET = "hunter2hunter2"


def packed(script: str, target: str, *more: str) -> Tuple[int, str, str]:
    """Run the command without a fixture; exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["pack", script, "-o", target, *more])
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def echo(tmp_path_factory: Any) -> pathlib.Path:
    """A bundle of the example, and beside it server.json."""
    folder: pathlib.Path = tmp_path_factory.mktemp("pack")
    code, out, err = packed(SCRIPT, str(folder / "echo.mcpb"), *FLAGS, *SETTINGS, "--try", "API_KEY=" + SECRET,
                            "--server-json", str(folder / "server.json"), "--registry-name", "io.github.ada/echo",
                            "--download-url", URL, "--json")
    assert (code, err) == (0, ""), err
    (folder / "said.json").write_text(out)
    return folder / "echo.mcpb"


def manifest_in(bundle: pathlib.Path) -> Any:
    return json.loads(archive.read_bundle(str(bundle))["manifest.json"].decode())


def official(name: str) -> Any:
    """The validator of a schema that lies beside the specification."""
    return compile(json.loads((FORMATS / name).read_text("utf-8")), assert_formats=True)


# --- What is written --------------------------------------------------------------------------------------------------

def test_the_manifest_says_what_the_server_says(echo: pathlib.Path) -> None:
    made = manifest_in(echo)
    assert (made["manifest_version"], made["name"], made["version"]) == ("0.3", "echo", "1.0.0")
    assert made["author"] == {"name": "Ada", "email": "ada@example.com"}
    assert made["description"].startswith("A small server that shows one of everything")
    assert [tool["name"] for tool in made["tools"]] == TOOLS
    assert made["tools"][0]["description"] == "Give back the text."
    assert made["prompts"] == [{"name": "review", "description": "Ask for a review of some code.",
                                "arguments": ["code", "language"], "text": REVIEW}]
    assert "tools_generated" not in made and "prompts_generated" not in made
    assert made["server"] == {"type": "python", "entry_point": "server/start.py", "mcp_config": {
        "command": "python3", "args": ["${__dirname}/server/start.py"],
        "env": {"API_KEY": "${user_config.api_key}", "LIMIT": "${user_config.limit}", "MODE": "fast"},
        "platform_overrides": {"win32": {"command": "python"}}}}
    assert made["user_config"]["api_key"] == {
        "type": "string", "title": "API KEY", "description": "The server gets it as API_KEY in its environment.",
        "required": True, "sensitive": True}
    assert (made["user_config"]["limit"]["default"], made["user_config"]["limit"]["required"]) == (10, False)
    assert list(made["user_config"]) == ["api_key", "limit"]


def test_what_is_tried_does_not_get_in(echo: pathlib.Path) -> None:
    content = archive.read_bundle(str(echo))
    assert not [name for name, data in content.items() if SECRET.encode() in data]
    assert SECRET not in (echo.parent / "server.json").read_text()


@pytest.mark.needs("specification")
def test_manifest_and_server_json_are_valid_by_the_official_schemas(echo: pathlib.Path) -> None:
    made = manifest_in(echo)
    assert official("mcpb/mcpb-manifest-v0.3.schema.json").validate(made) == []
    assert official("mcpb/mcpb-manifest-v0.4.schema.json").validate(dict(made, manifest_version="0.4")) == []
    described = json.loads((echo.parent / "server.json").read_text())
    assert official("registry/server.schema.json").validate(described) == []


def test_server_json_describes_the_bundle(echo: pathlib.Path) -> None:
    import hashlib

    said = json.loads((echo.parent / "said.json").read_text())
    described = json.loads((echo.parent / "server.json").read_text())
    digest = hashlib.sha256(echo.read_bytes()).hexdigest()
    assert (said["sha256"], described["name"], described["version"]) == (digest, "io.github.ada/echo", "1.0.0")
    assert described["packages"] == [{
        "registryType": "mcpb", "identifier": URL, "fileSha256": digest, "transport": {"type": "stdio"},
        "environmentVariables": [
            {"name": "API_KEY", "description": "The server gets it as API_KEY in its environment.", "isRequired": True,
             "format": "string", "isSecret": True},
            {"name": "LIMIT", "description": "The server gets it as LIMIT in its environment.", "isRequired": False,
             "format": "number", "default": "10"}]}]


def test_the_same_files_make_the_same_bytes(echo: pathlib.Path, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "echo_server.py"
    script.write_bytes(pathlib.Path(SCRIPT).read_bytes())
    os.utime(str(script), (1, 1))
    code, _, err = packed(str(script), str(tmp_path / "again.mcpb"), *FLAGS, *SETTINGS, "--try", "api_key=other")
    assert code == 0 and (tmp_path / "again.mcpb").read_bytes() == echo.read_bytes(), err
    with zipfile.ZipFile(str(echo)) as opened:
        entries = opened.infolist()
    assert entries[0].filename == "manifest.json"
    assert [each.filename for each in entries[1:]] == sorted(each.filename for each in entries[1:])
    assert {(each.date_time, each.external_attr >> 16, each.create_system) for each in entries} == {
        ((1980, 1, 1, 0, 0, 0), stat.S_IFREG | 0o644, 3)}


def test_it_runs_with_nothing_else_to_import(echo: pathlib.Path) -> None:
    content, made = archive.read_bundle(str(echo)), manifest_in(echo)
    assert "server/lib/mcp_ref/server/tools.py" in content and "server/lib/mcp_ref/client/client.py" not in content
    with pack.running(content, made, {"api_key": "x"}, [sys.executable, "-I", "-S", "-B"]) as client:
        assert client.call_tool("add", {"a": 2, "b": 3}).structured_content == {"result": 5}
        assert pack.differences(client, made) == []


def test_check_says_what_is_wrong(
        echo: pathlib.Path, tmp_path: pathlib.Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("API_KEY", raising=False)
    code, out, err = here(capsys, "pack", "--check", str(echo), "--try", "api_key=x")
    assert (code, err) == (0, "") and "is in order, starts" in out
    code, out, err = here(capsys, "pack", "--check", str(echo))
    assert code == 2 and "needs API_KEY to start: give it here by --try API_KEY=VALUE" in one_line_of(err)
    for spelling in ("api_key", "API_KEY"):
        assert here(capsys, "pack", "--check", str(echo), "--try", spelling + "=x")[0] == 0
    code, out, err = here(capsys, "pack", "--check", str(echo), "--try", "KEY=x")
    assert code == 2 and "--try KEY: no --env and no --arg has that name; there are API_KEY, LIMIT" in one_line_of(err)
    monkeypatch.setenv("API_KEY", "x")
    assert here(capsys, "pack", "--check", str(echo))[0] == 0, "from the environment of the command"
    content = archive.read_bundle(str(echo))
    content["manifest.json"] = content["manifest.json"].replace(b'"version": "1.0.0"', b'"version": 1')
    archive.write_bundle(str(tmp_path / "x.mcpb"), content)
    code, out, err = here(capsys, "pack", "--check", "--json", str(tmp_path / "x.mcpb"))
    assert code == 1 and json.loads(out)["faults"] == ["manifest.json: $.version: expected string, got integer"]


NOISY = '''"""Say hello first."""
import os
from mcp_ref import Server
os.write(1, b"Welcome!\\n")
server = Server("noisy", version="1.0.0")
server.tool(lambda: "x", name="one", description="One.")
server.run()
'''


def test_a_banner_on_stdout_is_warned_of_and_one_is_one(tmp_path: pathlib.Path, capsys: Any) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    said = "1 line on stdout is no message, and some hosts end the connection at that; the first: Welcome!; it has to"
    code, out, err = packed(str(tmp_path / "noisy.py"), str(tmp_path / "x.mcpb"), *FLAGS)
    assert code == 0 and "mcp_ref: warning: " + said in err and "noisy 1.0.0, 1 tool, 0 prompts, " in out
    code, out, err = here(capsys, "pack", "--check", str(tmp_path / "x.mcpb"))
    assert code == 0 and "is in order" in out and "\nwarning: " + said in out
    told = json.loads(here(capsys, "pack", "--check", "--json", str(tmp_path / "x.mcpb"))[1])
    assert len(told["warnings"]) == 1 and said in told["warnings"][0] and told["faults"] == []


def test_the_example_of_the_help_packs_the_server_of_the_readme(
        tmp_path: pathlib.Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (ROOT / "README.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").write_text(source)
    code, out, _ = here(capsys, "pack", "--help")
    usage = " ".join(out.partition("\n\n")[0].split())
    assert code == 0 and "pack SERVER.py -o NAME.mcpb --author NAME [options] " in usage and "pack --check" in usage
    for line in [line for line in out.splitlines() if line.startswith("    pack ")][:2]:
        code, out, err = here(capsys, *shlex.split(line))
        assert (code, err) == (0, ""), line
    assert "demo 1.0.0 is in order" in out


# --- What does not start ----------------------------------------------------------------------------------------------

NOT_STARTING = (
    ("import helper", "--include helper.py"),
    ("import no_such_package", "put the package no_such_package beside"),
    ("from mcp_ref import Server\nserver = Server('x')", "call server.run() at the end"),
    ("from mcp_ref import Server\ngetattr(Server('x'), 'ws' + 'gi')()", "give --only stdio-server,http"),
)


@pytest.mark.parametrize("source, said", NOT_STARTING, ids=["helper", "package", "no-run", "http"])
def test_a_server_that_does_not_start_is_told_with_what_to_do(source: str, said: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "s.py").write_text(source)
    (tmp_path / "helper.py").write_text("")
    code, out, err = packed(str(tmp_path / "s.py"), str(tmp_path / "x.mcpb"), *FLAGS, "--description", "x")
    assert (code, out) == (1, "") and "does not start from its bundle" in err and said in err
    assert not (tmp_path / "x.mcpb").exists()


# --- Tools and prompts ------------------------------------------------------------------------------------------------

def prompting() -> Server:
    """A server with prompts of both kinds."""
    server, calls = Server("p"), []  # type: ignore[var-annotated]

    @server.prompt
    def fixed() -> str:
        return "Hello."

    @server.prompt
    def two(a: str, b: str = "x") -> List[str]:
        return [a, b]

    @server.prompt
    def upper(a: str) -> str:
        return a.upper()

    @server.prompt
    def counting() -> str:
        calls.append(1)
        return "call %d" % len(calls)

    @server.prompt
    def picky(n: str) -> str:
        return "%d times ${arguments.n}" % int(n)

    return server


def test_a_prompt_is_static_if_its_text_is() -> None:
    with connect(prompting()) as client:
        assert pack.static_prompts(client) == ([{"name": "fixed", "text": "Hello."}], True)
    with connect(Server("none")) as client:
        assert pack.static_prompts(client) == ([], False)


def test_what_the_manifest_names_must_be_there() -> None:
    server = prompting()
    server.tool(lambda: "x", name="one", description="One.")
    with connect(server) as client:
        prompts = [{"name": name, "text": ""} for name in ("fixed", "two", "upper", "counting", "picky")]
        named: Dict[str, Any] = {"tools": [{"name": "one"}], "prompts": prompts}
        assert pack.differences(client, named) == []
        assert pack.differences(client, dict(named, tools=[{"name": "two"}])) == [
            "manifest.json: tools: the server has no two", "manifest.json: tools: one of the server is missing"]
        assert pack.differences(client, dict(named, tools=[], tools_generated=True)) == []


# --- The manifest's rules ---------------------------------------------------------------------------------------------

GOOD: Dict[str, Any] = {
    "manifest_version": "0.3", "name": "x", "version": "1.0.0", "description": "x", "author": {"name": "Ada"},
    "server": {"type": "python", "entry_point": "s.py", "mcp_config": {"command": "python3", "args": ["s.py"]}}}
CHANGES: Tuple[Dict[str, Any], ...] = (
    {}, {"name": 1}, {"author": "Ada"}, {"author": {}}, {"author": {"name": "A", "email": "no mail"}},
    {"author": {"name": "A", "age": 3}}, {"homepage": "no url"}, {"homepage": "https://example.com"}, {"extra": 1},
    {"icons": [{"src": "a.png", "size": "16"}]}, {"icons": [{"src": "https://x/a.png", "size": "16x16"}]},
    {"server": {}}, {"server": {"type": "ruby", "entry_point": "s.py", "mcp_config": {"command": "x"}}},
    {"server": {"type": "python", "entry_point": "s.py", "mcp_config": {"command": "x", "cwd": "/"}}},
    {"server": {"type": "python", "entry_point": "s.py", "mcp_config": {"command": "x", "env": {"A": 1}}}},
    {"server": dict(GOOD["server"], mcp_config={"command": "x", "platform_overrides": {"win32": {"args": ["x"]}}})},
    {"server": dict(GOOD["server"], mcp_config={"command": "x", "platform_overrides": {"win32": {"cwd": "x"}}})},
    {"tools": [{"name": "a"}]}, {"tools": [{"name": "a", "inputSchema": {}}]}, {"prompts": [{"name": "a"}]},
    {"prompts": [{"name": "a", "text": "b", "arguments": ["c"]}]}, {"tools_generated": "yes"}, {"keywords": "a"},
    {"compatibility": {"runtimes": {"ruby": "3"}}}, {"compatibility": {"platforms": ["win32"]}},
    {"compatibility": {"platforms": ["amiga"]}}, {"privacy_policies": ["x"]}, {"_meta": {"a.b": {"c": 1}}},
    {"_meta": {"a.b": 1}}, {"localization": {"resources": "x.json", "default_locale": "en"}},
    {"localization": {"resources": "${locale}.json", "default_locale": "en-US"}}, {"$schema": "x"},
    {"user_config": {"a": {"type": "string", "title": "A"}}}, {"repository": {"type": "git"}},
    {"user_config": {"a": {"type": "text", "title": "A", "description": "A"}}}, {"license": None},
    {"user_config": {"a": {"type": "number", "title": "A", "description": "A", "default": 1, "min": 0, "max": 2.5}}},
    {"user_config": {"a": {"type": "string", "title": "A", "description": "A", "default": [1]}}},
)


@pytest.mark.needs("specification")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: json.dumps(change)[:50])
def test_our_rules_are_those_of_the_official_schema(change: Dict[str, Any]) -> None:
    made = dict(GOOD, **change)
    ours = compile(manifest.SCHEMA, assert_formats=True).validate(made)
    theirs = official("mcpb/mcpb-manifest-v0.3.schema.json").validate(made)
    assert bool(ours) == bool(theirs), (ours, theirs)


def without(member: str) -> Dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != member}


@pytest.mark.parametrize("files, said", [
    ({}, "there is no manifest.json at its top"),
    ({"manifest.json": b"{"}, "manifest.json: "),
    ({"manifest.json": b"[]"}, "expected object"),
    ({"manifest.json": json.dumps(without("manifest_version")).encode(), "s.py": b""}, "manifest_version is missing"),
    ({"manifest.json": json.dumps(GOOD).encode()}, "server.entry_point: there is no file s.py"),
    ({"manifest.json": json.dumps(dict(GOOD, icon="../i.png")).encode(), "s.py": b""}, "icon: there is no file"),
    ({"manifest.json": json.dumps(dict(GOOD, icon="i.png")).encode(), "s.py": b"", "i.png": b"GIF"}, "is no PNG"),
    ({"manifest.json": json.dumps(dict(GOOD, screenshots=["a.png"])).encode(), "s.py": b""}, "screenshots: there is"),
    ({"manifest.json": json.dumps(GOOD).replace('["s.py"]', '["${user_config.k}"]').encode(), "s.py": b""},
     "${user_config.k} is used"),
])
def test_a_bundle_that_is_not_in_order(files: Dict[str, bytes], said: str) -> None:
    try:
        found = manifest.faults(files)[1]
    except archive.BadBundle as error:
        found = [str(error)]
    assert len(found) == 1 and said in found[0], found


def listed(**identity: str) -> manifest.ServerListed:
    return manifest.ServerListed(dict({"name": "x", "version": "1.0.0", "description": "x"}, **identity), [], [], False)


@pytest.mark.parametrize("server, given, file, said", [
    (listed(), {}, {}, ["--author"]), (listed(), {}, {"author": {"name": "A"}}, []),
    (listed(version="0"), {"author": {"name": "A"}}, {}, ["--version"]),
    (listed(version="1.0"), {"author": {"name": "A"}}, {}, ["--version"]),
    (listed(version="1.02.0"), {"author": {"name": "A"}}, {}, ["--version"]),
    (listed(description=""), {"author": {"name": "A"}}, {}, ["--description"]),
    (listed(name="", version=""), {}, {}, ["--name", "--version", "--author"]),
])
def test_what_is_missing_is_asked_for_by_its_flag(
        server: Any, given: Dict[str, Any], file: Dict[str, Any], said: List[str]) -> None:
    assert [each.split()[0] for each in manifest.missing(server, given, file)] == said


def test_a_title_for_a_setting_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="user_config.b"):
        manifest.manifest_of("0.3", GOOD["server"], listed(), manifest.declared([], [], {}), {},
                             {"author": {"name": "A"}, "user_config": {"b": {}}}, [])


def test_options_go_before_the_file_and_that_before_the_server() -> None:
    declared = manifest.declared(["KEY=string"], [], {})
    made = manifest.manifest_of(
        "0.4", GOOD["server"], listed(display_name="S"), declared, {"version": "3.0.0"},
        {"version": "2.0.0", "description": "file", "author": {"name": "A"}, "keywords": ["k"],
         "user_config": {"key": {"title": "The key"}}, "prompts_generated": True}, ["tools"])
    assert (made["version"], made["description"], made["display_name"]) == ("3.0.0", "file", "S")
    assert made["keywords"] == ["k"]
    assert (made["user_config"]["key"]["title"], made["user_config"]["key"]["type"]) == ("The key", "string")
    assert made["tools_generated"] is made["prompts_generated"] is True and "tools" not in made


@pytest.mark.parametrize("name, url, description, said", [
    (None, URL, "x", "--registry-name"), ("echo", URL, "x", "--registry-name"),
    ("ada/echo", URL, "x", "--registry-name"),
    ("io.github.ada/a/b", URL, "x", "--registry-name"), ("io.github.ada/e cho", URL, "x", "--registry-name"),
    ("io.github.ada/echo", None, "x", "--download-url"),
    ("io.github.ada/echo", "http://x.example/mcp", "x", "--download-url"),
    ("io.github.ada/echo", "https://x.example/echo.zip", "x", "mcp"), ("io.github.ada/echo", URL, "x" * 101, "101"),
])
def test_the_registry_gets_what_it_takes(name: Optional[str], url: Optional[str], description: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        manifest.server_json(dict(GOOD, description=description), manifest.declared([], [], {}), name, url, "0" * 64)


# --- Settings ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("env, args, said", [
    (["KEY"], [], "NAME=KIND"), (["=secret"], [], "NAME=KIND"), (["A-B=secret"], [], "NAME=KIND"),
    (["K=string", "K=string"], [], "each name once"), (["K=sekret"], [], "did you mean secret"),
    (["K=secret:abc"], [], "a secret has no default"), (["K=number:ten"], [], "ten is no number"),
    (["K=number:１"], [], "is no number"), (["K=boolean:yes"], [], "true or false"),
    (["K=boolean?"], [], "boolean:VALUE"),
    (["K=directory*"], [], "without a flag"), (["K=string:"], [], "string?"), (["K=string?:x"], [], ""),
    ([], ["folder=directory?"], "directory\\*"), ([], ["--folder=directory+"], "without a flag"),
    ([], ["--x=fixed:1"], "none of the kinds"), (["KEY=string"], ["--key=string"], "same name in the manifest, key"),
    ([], ["--=string"], "a letter or a digit"),
])
def test_settings_that_are_refused(env: List[str], args: List[str], said: str) -> None:
    if said:
        with pytest.raises(UsageError, match=said):
            manifest.declared(env, args, {})
    else:
        assert manifest.declared(env, args, {}).settings[0].default == "x"


CONFIG = {"server": {"mcp_config": {
    "command": "python3",
    "args": ["${__dirname}/s.py", "--one=${user_config.one}", "${user_config.many}", "${HOME}", "$x"],
    "env": {"FLAG": "${user_config.flag}", "SEP": "a${/}b", "OTHER": "${other}"},
    "platform_overrides": {"win32": {"command": "python", "args": []}}}},
    "user_config": {"one": {"required": True}, "many": {"default": [], "multiple": True}, "flag": {"default": False}}}


@pytest.mark.parametrize("values, platform, wanted", [
    ({"one": "1"}, "linux", ["python3", "/b/s.py", "--one=1", "~", "$x"]),
    ({"one": "1", "many": ["p", "q r"]}, "darwin", ["python3", "/b/s.py", "--one=1", "p", "q r", "~", "$x"]),
    ({"one": "${HOME}"}, "win32", ["python", "/b/s.py", "--one=${HOME}", "~", "$x"]),
])
def test_a_command_is_made_as_hosts_make_it(values: Dict[str, Any], platform: str, wanted: List[str]) -> None:
    command, env = manifest.expanded(CONFIG, "/b", values, platform)
    assert command == [os.path.expanduser(word) for word in wanted]
    assert env == {"FLAG": "false", "SEP": "a%sb" % os.sep, "OTHER": "${other}"}


# --- Files ------------------------------------------------------------------------------------------------------------

@pytest.fixture
def home(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A server's folder with what people have there."""
    for name in ("s.py", "helper.py", "data/a.json", "data/b/c.txt", "data/.env", "data/.git/config", "data/x.pyc",
                 "data/__pycache__/y.py", "keys/id_rsa", "pem/k.txt", ".env", "odd/a:b"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("-----BEGIN RSA PRIVATE KEY-----" if name == "pem/k.txt" else name)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "out").symlink_to("/etc/passwd")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    os.mkfifo(str(tmp_path / "pipe"))
    yield tmp_path


@pytest.mark.parametrize("include, exclude, files, left_out", [
    ([], [], ["s.py"], []),
    (["helper.py", "data"], [], ["data/a.json", "data/b/c.txt", "helper.py", "s.py"],
     ["data/.env", "data/.git", "data/__pycache__", "data/x.pyc"]),
    (["data/*.json", "data/**/*.txt"], [], ["data/a.json", "data/b/c.txt", "s.py"], []),
    (["keys", "data/b"], ["id_*"], ["data/b/c.txt", "s.py"], ["keys/id_rsa"]),
    (["data"], ["data/b", "*.json"], ["s.py"],
     ["data/.env", "data/.git", "data/__pycache__", "data/a.json", "data/b", "data/x.pyc"]),
])
def test_the_files_that_are_named_go_in(
        include: List[str], exclude: List[str], files: List[str], left_out: List[str], home: pathlib.Path) -> None:
    found = archive.collected(str(home / "s.py"), include, exclude)
    assert (sorted(found.files), found.left_out) == (files, left_out)


@pytest.mark.parametrize("include, said", [
    ("no*", "no such file"), ("keys", "holds secrets"), (".env", "holds secrets"), ("pem", "private key"),
    ("links", "is a link"), ("link", "is a link"), ("odd", "not every system"),
    ("pipe", "pipe cannot be read: it is not a regular file"),
    ("/etc/no-such-file", "no such file"),
])
def test_what_must_not_go_in_is_refused(include: str, said: str, home: pathlib.Path) -> None:
    with pytest.raises(UsageError, match=said):
        archive.collected(str(home / "s.py"), [include], [])


def test_a_folder_from_elsewhere_comes_in_under_its_name(home: pathlib.Path, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("site") / "lib"
    (other / "deep").mkdir(parents=True)
    (other / "deep" / "x.py").write_text("")
    assert sorted(archive.collected(str(home / "s.py"), [str(other)], []).files) == ["lib/deep/x.py", "s.py"]


def test_names_that_differ_in_case_only_are_refused(home: pathlib.Path) -> None:
    (home / "data" / "A.JSON").write_text("")
    with pytest.raises(UsageError, match="upper and lower case"):
        archive.collected(str(home / "s.py"), ["data"], [])


@pytest.mark.parametrize("limit, value", [("MAX_FILES", 2), ("MAX_BYTES", 10)])
def test_a_bundle_has_limits(
        limit: str, value: int, home: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    bundle = tmp_path / "big.mcpb"
    archive.write_bundle(str(bundle), {"a": b"12345", "b": b"67890" * 1000, "c": b"x"})
    monkeypatch.setattr(archive, limit, value)
    with pytest.raises(UsageError, match="too m"):
        archive.collected(str(home / "s.py"), ["data"], [])
    with pytest.raises(archive.BadBundle, match="more than"):
        archive.read_bundle(str(bundle))


HOSTILE = ("../x", "/x", "a/../../x", "a\\..\\x", "C:/x", "a//b", "./a", "con", "AUX.txt", "a./b", "a /b", "a\x00b",
           "a\nb", "n" * 201)


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_that_leads_out_is_not_read(name: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "x.mcpb")
    with zipfile.ZipFile(path, "w") as made:
        entry = zipfile.ZipInfo("placeholder")
        entry.filename = name
        made.writestr(entry, b"x")
    content = {}
    if "\x00" not in name:  # zipfile cuts there
        with pytest.raises(archive.BadBundle):
            content = archive.read_bundle(path)
    with pytest.raises(archive.BadBundle):
        archive.unpack({name: b"x"}, str(tmp_path))
    assert content == {} and sorted(os.listdir(str(tmp_path))) == ["x.mcpb"]


def test_names_that_lead_out_are_told_as_such() -> None:
    for name in ("../x", "/x", "a/../../x", "a/.."):
        assert archive.fault_of_name(name) == "it leads out of the bundle's folder"


def test_an_archive_that_grows_is_not_held_in_memory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "bomb.mcpb")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("zeros", bytes(16 << 20))
    monkeypatch.setattr(archive, "MAX_BYTES", 1 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(archive.BadBundle, match="more than 1 MB"):
            archive.read_bundle(path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_links_and_doubles_in_an_archive_are_refused(tmp_path: pathlib.Path) -> None:
    link, double = str(tmp_path / "link.mcpb"), str(tmp_path / "double.mcpb")
    with zipfile.ZipFile(link, "w") as made:
        entry = zipfile.ZipInfo("a")
        entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        made.writestr(entry, b"/etc/passwd")
    with zipfile.ZipFile(double, "w") as made:
        made.writestr("a", b"1")
        made.writestr("A", b"2")
    for path, said in ((link, "it is a link"), (double, "it is there twice")):
        with pytest.raises(archive.BadBundle, match=said):
            archive.read_bundle(path)


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: b"no zip", lambda data: data[:-30],
                                    lambda data: data[:45] + b"\xff" * 20 + data[65:]])
def test_a_damaged_archive_is_told(damage: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.mcpb"
    archive.write_bundle(str(path), {"manifest.json": os.urandom(500)})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(archive.BadBundle, match="cannot be read as a zip"):
        archive.read_bundle(str(path))


def test_only_a_bundle_is_replaced(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.mcpb"
    path.write_text("mine")
    with pytest.raises(archive.BadBundle, match="is no bundle"):
        archive.write_bundle(str(path), {"manifest.json": b"{}"})
    assert path.read_text() == "mine" and os.listdir(str(tmp_path)) == ["x.mcpb"]
    path.unlink()
    for data in (b"{}", b"{ }"):
        archive.write_bundle(str(path), {"manifest.json": data})
        assert archive.read_bundle(str(path)) == {"manifest.json": data}


# --- The command ------------------------------------------------------------------------------------------------------

BARE = "bare.py"
"""A server that says nothing of itself, in the folder of the test."""


@pytest.mark.parametrize("words, said", [
    ([SCRIPT], "-o NAME.mcpb"), ([SCRIPT, "-o", "x.zip"], "ends in .mcpb"),
    (["no.py", "-o", "x.mcpb"], "no file no.py"),
    ([SCRIPT, "-o", "x.mcpb", "--author", "<a@b.c>"], "NAME <MAIL>"),
    ([SCRIPT, "-o", "x.mcpb", "--python", "amiga=py"], "win32=COMMAND"),
    ([SCRIPT, "-o", "x.mcpb", "--try", "K=1"], "no --env and no --arg"),
    ([SCRIPT, "-o", "x.mcpb", "--describe", "K=1"], "no --env and no --arg"),
    ([SCRIPT, "-o", "x.mcpb", "--only", "nothing"], "there is no nothing"),
    ([SCRIPT, "-o", "x.mcpb", "--icon", "none.png"], "--icon none.png"),
    ([SCRIPT, "-o", "x.mcpb", "--manifest", "none.json"], "--manifest none.json"),
    ([SCRIPT, "-o", "x.mcpb", "--env", "PACK_TEST_KEY=string"], "--try PACK_TEST_KEY=VALUE; and give --author"),
    (["--check", "nosuch.mcpb"], "there is no file nosuch.mcpb"),
    ([SCRIPT, "--arg", "Data-Dir=directory", "--arg=--x=string"],
     "Data-Dir, --x to start: give it here by --try Data-Dir="),
    ([BARE],
     "does not say: -o NAME.mcpb, --description TEXT, --author NAME, --version 1.0.0 (0 is no semantic version"),
])
def test_wrong_usage_is_told_in_one_line(
        words: List[str], said: str, capsys: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / BARE).write_text("from mcp_ref import Server\nServer('x').run()\n")
    code, out, err = here(capsys, "pack", *words)
    assert (code, out) == (2, "") and said in one_line_of(err)


@pytest.mark.parametrize("source, more, said", [
    ("match 1:\n    case 1: pass\n", [], "--requires-python"), ("def", ["--requires-python", ">=3.12"], ">=3.12"),
])
def test_a_file_for_a_newer_python_is_told(source: str, more: List[str], said: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "s.py").write_text(source)
    code, _, err = packed(str(tmp_path / "s.py"), str(tmp_path / "x.mcpb"), *more)
    assert code == 2 and said in err


@pytest.mark.parametrize("text, said", [
    ("[]", "expected an object"), ("{", "JSON"), ('{"server": {}}', "is made here")])
def test_a_manifest_file_gives_other_members_only(text: str, said: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(UsageError, match=said):
        manifest.from_file(str(tmp_path / "m.json"))


@pytest.mark.parametrize("source, wanted", [
    ("from mcp_ref import Server", ["stdio-server"]),
    ("from mcp_ref import Server, connect\nimport mcp_ref.limits", ["client", "limits", "stdio-server"]),
    ("import mcp_ref\nmcp_ref.Host()", ["host", "stdio-server"]),
    ("from mcp_ref.messages.tools import Tool", ["messages.tools", "stdio-server"]),
    ("from .mcp_ref import x\nimport mcp_refx.y", ["stdio-server"]),
])
def test_the_parts_that_are_imported_go_in(source: str, wanted: List[str]) -> None:
    from mcp_ref.cli.packing.pack import _parts_of

    assert _parts_of({"s.py": source.encode(), "x.txt": b"import mcp_ref.client"}) == wanted
