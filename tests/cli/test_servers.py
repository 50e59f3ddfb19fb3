"""The commands that use a server, against one of ours on a socket and against children."""
import base64
import json
import os
import shlex
import subprocess
import sys

import pytest

from mcp_ref import Context, Server, ToolError
from mcp_ref.codec import decode
from mcp_ref.messages import CallToolResult, CompleteResult, GetPromptResult, ReadResourceResult, Tool
from mcp_ref.messages.content import ImageContent
from mcp_ref.revisions import HANDSHAKE_REVISIONS, NAMES, revision

from tests.support.children import heed_interrupts, interrupt
from tests.support.patience import WAIT

from .running import ECHO, ROOT, SERVER, SILENT, here, one_line_of, run

HANDSHAKE = [str(each) for each in HANDSHAKE_REVISIONS]


def make_server():
    server = Server("here", version="3", instructions="Be kind.\n\x1b[31mBe quick.")

    @server.tool
    def show(value: object = None) -> str:
        """Show
        what came."""
        return json.dumps(value)

    @server.tool
    def entitle(title: str, count: int = 1) -> str:
        return title * count

    @server.tool
    def fail(text: str) -> str:
        raise ToolError(text)

    @server.tool
    def picture() -> ImageContent:
        return ImageContent("AAAA", "image/png")

    @server.tool
    def steps(ctx: Context) -> str:
        ctx.progress(1, 2, "half\x1b[31m")
        ctx.log("warning", {"disk": "full"}, "disks")
        return "done"

    @server.resource("memo://one")
    def memo() -> str:
        return "one\ntwo"

    @server.resource("memo://{name}/text")
    def named(name: str) -> str:
        return "\U0001f600 " + name

    @server.prompt
    def review(code: str, language: str = "python") -> str:
        return "%s in %s" % (code, language)

    @server.completion("review", "language")
    def languages(value: str, arguments: dict) -> list:
        return [name + arguments.get("code", "") for name in ("perl", "python") if name.startswith(value)]

    return server


@pytest.fixture
def address():
    listener = make_server().listen("tcp://127.0.0.1:0")
    yield listener.address
    listener.close()


@pytest.mark.parametrize("arguments, lines", [
    (["tools"], ["tools: 5", "  show(value?: any)", "      Show", "  fail(text: string)"]),
    (["tools", "--long"], ["      Show", "      what came.", "      input schema: {", '        "type": "object"']),
    (["resources", "--long"], ["  memo://one", "      memo"]),
    (["info"], ["server: here 3", "revision: 2026-07-28", "tools: 5", "resources: 1", "templates: 1", "prompts: 1",
                "instructions:", "  Be kind.", "  \\x1b[31mBe quick."]),
    (["resources"], ["resources: 1", "  memo://one  - memo", "templates: 1", "  memo://{name}/text  - named"]),
    (["prompts"], ["prompts: 1", "  review(code, language?)"]),
    (["call", "show", "value=1"], ["1"]),
    (["call", "show", 'value="1"'], ['"1"']),
    (["call", "show", "value=x=y z"], ['"x=y z"']),
    (["call", "show", '{"value": [null]}'], ["[null]"]),
    (["call", "entitle", "title=1", "count=3"], ["111"]),
    (["call", "picture"], ["image/png, 3 bytes"]),
    (["tools", "show"], ["      Show", "      what came.", "      parameters:", "        value?: any"]),
    (["tools", "show", "--long"], ["        value?: any", "      input schema: {"]),
    (["resources", "memo://one"], ["  memo://one", "      memo"]),
    (["resources", "memo://{name}/text"], ["  memo://{name}/text"]),
    (["prompts", "review"], ["  review(code, language?)", "      arguments:", "        language?"]),
    (["call", "entitle", "--help"], ["        title: string", "        count: integer = 1",
                                     "Options: python3 -m mcp_ref call --help"]),
    (["prompt", "-h", "review"], ["        language?", "Options: python3 -m mcp_ref prompt --help"]),
    (["read", "memo://one"], ["one", "two"]),
    (["prompt", "review", "code=1"], ["# user", "1 in python"]),
    (["complete", "review", "language", "p"], ["perl", "python"]),
    (["complete", "ref/prompt:review", "language", "py", "--context", "code=x=1"], ["pythonx=1"]),
])
def test_commands_print_what_the_server_has(arguments, lines, address, capsys):
    code, out, err = here(capsys, arguments[0], address, *arguments[1:])
    assert code == 0, err
    for line in lines:
        assert line in [shown.rstrip(",") for shown in out.splitlines()]


@pytest.mark.parametrize("arguments, message", [
    (["call", "show", "value=1"], CallToolResult),
    (["read", "memo://you/text"], ReadResourceResult),
    (["prompt", "review", "code=x"], GetPromptResult),
    (["complete", "review", "language", "p"], CompleteResult),
])
@pytest.mark.parametrize("spoken", HANDSHAKE)
def test_json_is_the_result_of_the_agreed_revision(arguments, message, spoken, address, capsys):
    code, out, err = here(capsys, arguments[0], address, *arguments[1:], "--json", "--revision", spoken)
    assert code == 0, err
    found = decode(message, json.loads(out), revision(spoken), "result")
    assert "memo" not in arguments[1] or found.contents[0].text == "\U0001f600 you"


@pytest.mark.parametrize("command, members", [
    ("tools", ["tools"]), ("resources", ["resources", "resourceTemplates"]), ("prompts", ["prompts"]),
])
def test_lists_as_json_have_the_members_of_the_results(command, members, address, capsys):
    code, out, _ = here(capsys, command, address, "--json")
    assert code == 0 and list(json.loads(out)) == members
    if command == "tools":
        assert "show" in [decode(Tool, tool, HANDSHAKE_REVISIONS[-1]).name for tool in json.loads(out)["tools"]]


def test_info_as_json_says_who_the_server_is_and_counts_what_it_declares(address, capsys):
    code, out, err = here(capsys, "info", address, "--json", "--revision", "2025-06-18")
    found = json.loads(out)
    assert (code, err) == (0, "") and found["server"] == {"name": "here", "version": "3"}
    assert found["revision"] == "2025-06-18" and "tools" in found["capabilities"]
    assert found["counts"] == {"tools": 5, "resources": 1, "resourceTemplates": 1, "prompts": 1}


def test_info_of_a_server_that_declares_little_counts_nothing_else(capsys):
    listener = Server("bare").listen("tcp://127.0.0.1:0")
    try:
        code, out, err = here(capsys, "info", listener.address, "--era", "legacy")
        assert (code, err) == (0, "") and out.startswith("server: bare 0\nrevision: 2025-11-25\ncapabilities: ")
        assert "tools" not in out and "instructions" not in out
    finally:
        listener.close()


def test_ping_says_how_long_it_took_and_who_answered(address, capsys):
    code, out, _ = here(capsys, "ping", address, "--count", "2", "--json")
    found = json.loads(out)
    assert code == 0 and len(found["milliseconds"]) == 2 and found["server"] == {"name": "here", "version": "3"}
    assert here(capsys, "ping", address, "--count", "1")[1].endswith(" ms\n")
    assert here(capsys, "ping", address, "--count", "0")[0] == 2


def test_progress_and_log_messages_go_to_stderr_in_lines_without_control_characters(address, capsys):
    code, out, err = here(capsys, "call", address, "steps", "--log-level", "debug")
    assert (code, out) == (0, "done\n")
    assert "... 1/2 half\\x1b[31m" in err.splitlines() and '[warning] disks: {"disk": "full"}' in err.splitlines()


def test_the_server_may_be_the_words_after_two_dashes():
    for words in (["add", "a=1", "--json", "b=2", "--", *ECHO], [SERVER, "add", "a=1", "b=2", "--json"]):
        done = run("call", *words)
        assert done.returncode == 0 and json.loads(done.out)["structuredContent"] == {"result": 3}, done.err


@pytest.mark.parametrize("options, opening, answer", [
    ([], "C> server/discover #1", "S> result #2 server/discover"),
    (["--era", "auto"], "C> server/discover #1", "S> result #2 server/discover"),
    (["--era", "modern"], "C> server/discover #1", "S> result #2 server/discover"),
    (["--era", "legacy"], "C> initialize #1", "S> result #2 ping"),
    (["--revision", "2026-07-28"], "C> server/discover #1", "S> result #2 server/discover"),
    (["--revision", "2024-11-05"], "C> initialize #1", "S> result #2 ping"),
])
def test_trace_shows_the_wire_on_stderr(options, opening, answer):
    done = run("ping", SERVER, "--count", "1", "--trace", *options)
    assert done.returncode == 0 and done.out.endswith(" ms\n")
    assert opening in done.err and answer in done.err


@pytest.mark.parametrize("revision", NAMES)
def test_one_revision_may_be_chosen(revision, address, capsys):
    assert json.loads(here(capsys, "ping", address, "--json", "--revision", revision)[1])["revision"] == revision
    assert here(capsys, "ping", address, "--revision", revision, "--era", "auto")[0] == 2


def test_the_child_gets_environment_and_folder(tmp_path, capsys):
    code = "import os; from mcp_ref import Server; s = Server('x'); " \
           "s.tool(lambda: os.environ['COLOUR'] + ' in ' + os.path.basename(os.getcwd()), name='where'); s.run()"
    words = ["call", "where", "--env", "COLOUR=a=b", "--env", "PYTHONPATH=%s" % ROOT, "--cwd", str(tmp_path)]
    assert here(capsys, *words, "--", sys.executable, "-c", code) == (0, "a=b in %s\n" % tmp_path.name, "")


def test_roots_are_told_to_the_server(tmp_path, capsys):
    server = Server("asks")

    @server.tool
    def roots(ctx: Context) -> str:
        return " ".join(root.uri for root in ctx.list_roots())

    listener = server.listen("tcp://127.0.0.1:0")
    try:
        code, out, _ = here(capsys, "call", listener.address, "roots", "--roots", str(tmp_path), "--roots", "file:///b")
        assert code == 0 and out == "%s file:///b\n" % tmp_path.as_uri()
        assert here(capsys, "call", listener.address, "roots")[0] == 1
    finally:
        listener.close()


@pytest.mark.parametrize("command", ["call", "prompt"])
@pytest.mark.parametrize("words", [["--help"], ["-h"], ["tcp://127.0.0.1:1", "--help"]])
def test_help_without_a_name_lists_the_options(command, words, capsys):
    code, out, err = here(capsys, command, *words)
    assert code == 0 and "--timeout SECONDS" in out and not err


ANSWERING = """
import json, sys
answers = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    answer = dict(answers, initialize={
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}},
        "serverInfo": {"name": "answering", "version": "1"}}).get(asked["method"])
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **({"result": answer} if answer else {
            "error": {"code": -32601, "message": "Method not found"}})}), flush=True)
"""
"""A server of another author, which answers methods by these results."""


def answering(answers):
    """The words behind -- for a server that answers so."""
    return ["--", sys.executable, "-c", ANSWERING, json.dumps(answers)]


@pytest.mark.parametrize("name, said", [("serch", "the server lists no tool 'serch'; did you mean search?\n"),
                                        ("search", "")])
def test_a_tool_that_fails_because_it_is_unknown_gets_the_near_name(name, said, capsys):
    server = answering({"tools/list": {"tools": [{"name": "search", "inputSchema": {"type": "object"}}]},
                        "tools/call": {"content": [{"type": "text", "text": "no such tool"}], "isError": True}})
    assert here(capsys, "call", name, *server) == (1, "no such tool\n", said)


@pytest.mark.parametrize("command", ["tools", "resources", "prompts"])
def test_a_server_without_a_list_has_an_empty_one(command, capsys):
    listener = Server("bare").listen("tcp://127.0.0.1:0")
    try:
        code, out, err = here(capsys, command, listener.address)
        assert code == 0 and "%s: 0\n" % command in out and "declares no %s" % command in err
    finally:
        listener.close()


# Binary content

PIXELS = base64.b64encode(b"x" * 70).decode("ascii")
BLOCKS = [
    ({"type": "image", "data": PIXELS, "mimeType": "image/png"}, "image/png, 70 bytes", "image-1.png"),
    ({"type": "image", "data": "AA==", "mimeType": "image/svg+xml"}, "image/svg+xml, 1 byte", "image-1.svg"),
    ({"type": "audio", "data": "AAAA", "mimeType": "audio/x-wav"}, "audio/x-wav, 3 bytes", "audio-1.wav"),
    ({"type": "image", "data": "AAAA", "mimeType": "image/../../png"}, "image/../../png, 3 bytes", "image-1.bin"),
    ({"type": "image", "data": "AAAA", "mimeType": "application/x-sh\x1b"}, "application/x-sh\\x1b, 3 bytes",
     "image-1.bin"),
    ({"type": "resource", "resource": {"uri": "file:///../../etc/x", "blob": "AAAA", "mimeType": "application/pdf"}},
     "application/pdf, 3 bytes", "resource-1.pdf"),
    ({"type": "resource", "resource": {"uri": "x://y", "blob": "AAAA"}}, "unknown type, 3 bytes", "resource-1.bin"),
]


@pytest.mark.sends_illegal("*", why="its media types and base64 are odd")
@pytest.mark.parametrize("command, title", [("call", "words"), ("prompt", "# user")])
@pytest.mark.parametrize("block, shown, name", BLOCKS, ids=[shown for _, shown, _ in BLOCKS])
def test_binary_content_is_shown_by_type_and_size_and_saved_to_a_new_file(
    block, shown, name, command, title, tmp_path, capsys
):
    server = answering({"tools/call": {"content": [{"type": "text", "text": "words"}, block]},
                        "prompts/get": {"messages": [{"role": "user", "content": block}]}})
    assert here(capsys, command, "get", *server) == (0, "%s\n%s\n" % (title, shown), "")
    folder = tmp_path / "new" / "folder"
    saving = [command, "get", "--save", str(folder)]
    assert here(capsys, *saving, *server) == (0, "%s\n%s: %s\n" % (title, shown, folder / name), "")
    (folder / name).write_bytes(b"mine")
    second, third = (folder / name.replace("-1.", "-%d." % number) for number in (2, 3))
    second.symlink_to(tmp_path / "elsewhere")
    code, out, err = here(capsys, *saving, "--json", *server)
    assert code == 0 and json.loads(out) and err == "%s: %s\n" % (shown, third)
    assert (folder / name).read_bytes() == b"mine" and not (tmp_path / "elsewhere").exists()
    assert sorted(folder.iterdir()) == sorted([folder / name, second, third]), "nothing anywhere else"


@pytest.mark.sends_illegal("*", why="its media types and base64 are odd")
def test_what_is_not_base64_is_told_and_not_saved(tmp_path, capsys):
    server = answering({"prompts/get": {"messages": [
        {"role": "user", "content": {"type": "image", "data": "A", "mimeType": "image/png"}}]}})
    code, out, err = here(capsys, "prompt", "get", "--save", str(tmp_path), *server)
    assert (code, out, list(tmp_path.iterdir())) == (0, "# user\nimage/png, not base64\n", [])


def test_a_binary_resource_is_saved_and_a_folder_that_is_none_is_told(tmp_path, capsys):
    server = Server("binary")
    server.resource("blob://one", mime_type="image/png")(lambda: b"x" * 70)
    with server.listen("tcp://127.0.0.1:0") as listener:
        words = ["read", listener.address, "blob://one"]
        assert here(capsys, *words) == (0, "image/png, 70 bytes\n", "")
        code, out, err = here(capsys, *words, "--save", str(tmp_path))
        assert (tmp_path / "resource-1.png").read_bytes() == b"x" * 70 and out.endswith("resource-1.png\n")
        code, out, err = here(capsys, *words, "--save", str(tmp_path / "resource-1.png"))
        assert (code, out) == (2, "") and "--save" in one_line_of(err) and "resource-1.png" in err


# Exit codes: 0 done, 1 no, 2 usage, 3 no connection, 130 interrupted


@pytest.mark.parametrize("arguments, code, words", [
    (["call", "fail", "text=no"], 1, ""),
    (["call", "nope"], 1, "Unknown tool"),
    (["call", "shwo"], 1, "Unknown tool: shwo (-32602); did you mean show?"),
    (["read", "memo://on"], 1, "did you mean memo://one?"),
    (["prompt", "revew"], 1, "did you mean review?"),
    (["complete", "revew", "language", "p"], 1, "did you mean review?"),
    (["tools", "shwo"], 2, "the server lists no tool 'shwo'; did you mean show?"),
    (["tools", "nothing-like\x1b"], 2, "the server lists no tool 'nothing-like\\x1b'; tools SERVER shows all"),
    (["prompts", "revew"], 2, "lists no prompt 'revew'; did you mean review?"),
    (["resources", "memo://{nam}/text"], 2, "did you mean memo://{name}/text?"),
    (["call", "shwo", "--help"], 2, "did you mean show?"),
    (["read", "memo://x"], 1, "Resource not found"),
    (["prompt", "review"], 1, "code"),
    (["complete", "review", "nope", "p"], 1, "nope"),
    (["call", "entitle", "title=1", "count=two"], 2, "count: the tool takes integer here, not two"),
    (["call", "show", "value"], 2, "write arguments as name=value words"),
    (["call", "show", "value=1", "value=2"], 2, "there twice"),
    (["call", "show", "[1]"], 2, "name=value"),
    (["call", "show", "@/nowhere.json"], 2, "/nowhere.json cannot be read"),
    (["call", "show", "value:={"], 2, "value:: not JSON"),
    (["call"], 2, "required: name; see"),
    (["tools", "--timeout", "0"], 2, "more than 0"),
    (["tools", "--timeout", "x"], 2, "--timeout"),
    (["tools", "--env", "X"], 2, "NAME=VALUE"),
    (["tools", "--revision", "1999"], 2, "invalid choice"),
    (["tools", "--nope"], 2, "--nope"),
])
def test_exit_codes_tell_who_said_no(arguments, code, words, address, capsys):
    found, out, err = here(capsys, arguments[0], address, *arguments[1:])
    assert found == code and words in err and (not words or words in one_line_of(err))
    assert (out == "no\n") == ("fail" in arguments)


@pytest.mark.parametrize("seconds, taken", [
    ("0.5", True), ("0.001", True), ("1", True), ("1.5", True), ("0", False), ("-0.5", False), ("nan", False),
    ("0.0", False),
])
@pytest.mark.parametrize("words", [
    ["tools", "{nobody}"], ["ping", "{nobody}"], ["doctor", "{nobody}"],
    ["examine", "{nobody}", "--revision", "2025-11-25", "--only", "ping"],
    ["replay", "{recording}", "--as-client", "{nobody}"],
], ids=lambda words: words[0])
def test_a_time_may_be_any_part_of_a_second(words, seconds, taken, tmp_path, capsys):
    (tmp_path / "recording").write_text('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n')
    given = [word.format(nobody="tcp://127.0.0.1:1", recording=tmp_path / "recording") for word in words]
    code, out, err = here(capsys, *given, "--timeout=" + seconds)
    assert ("--timeout must be more than 0 seconds" in err) is not taken
    assert (code in (1, 3)) if taken else code == 2, (out, err)


@pytest.mark.parametrize("server, words", [
    ("no-such-command", "no-such-command"),
    ("%s -c pass" % shlex.quote(sys.executable), "exited with code 0"),
    ("tcp://127.0.0.1:1", "127.0.0.1"),
    ("unix:///nowhere/at/all", "/nowhere/at/all"),
    ("http://127.0.0.1:1/mcp", "Connection refused"),
])
def test_no_connection_is_exit_code_3(server, words, capsys):
    code, out, err = here(capsys, "tools", server)
    assert (code, out) == (3, "") and words in one_line_of(err)
    code, out, err = here(capsys, "tools", server, "--json")
    error = json.loads(out)["error"]
    assert code == 3 and error["exit"] == 3 and error["kind"] == "connection" and words in error["message"]


@pytest.mark.parametrize("arguments, expected", [
    (["call", "nope"], {"kind": "peer", "exit": 1, "code": -32602}),
    (["call", "show", "x"], {"kind": "usage", "exit": 2}),
    (["read", "memo://x", "--era", "modern"], {"kind": "peer", "exit": 1, "code": -32602, "data": {"uri": "memo://x"}}),
    (["read", "memo://x", "--era", "legacy"], {"kind": "peer", "exit": 1, "code": -32002, "data": {"uri": "memo://x"}}),
])
def test_errors_as_json_are_one_object_on_stdout(arguments, expected, address, capsys):
    code, out, err = here(capsys, arguments[0], address, *arguments[1:], "--json")
    error = json.loads(out)["error"]
    assert code == expected["exit"] and error.pop("message") in one_line_of(err) and error == expected


def test_a_failed_tool_as_json_is_its_result(address, capsys):
    code, out, err = here(capsys, "call", address, "fail", "text=no", "--json")
    assert (code, err) == (1, "") and json.loads(out)["isError"] is True


def test_no_answer_in_time_is_exit_code_1(capsys):
    code, out, err = here(capsys, "tools", "--timeout", "0.3", "--json", "--quiet", "--", sys.executable, "-c", SILENT)
    assert code == 1 and json.loads(out)["error"]["kind"] == "timeout" and "--timeout" in one_line_of(err)


WHILE_LOADING = """
import os, signal, sys

def strike(*given):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == %r:
            sys.meta_path.remove(Finder)
            moments[%r]()

moments = {
    "code": strike,
    "a finalizer": lambda: type("Late", (), {"__del__": strike})() and None,
    "the naming of a member": lambda: type("Named", (), {"it": type("Late", (), {"__set_name__": strike})()}),
}
sys.meta_path.insert(0, Finder)
"""
"""A Ctrl-C at the import of one module: in plain code, or where the interpreter makes something else of it."""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("module", ["mcp_ref.cli", "mcp_ref.codec", "mcp_ref.cli.use.servers", "mcp_ref.client.client"])
@pytest.mark.parametrize("moment", ["code", "a finalizer", "the naming of a member"])
def test_an_interrupt_while_modules_load_is_neither_lost_nor_a_traceback(module, moment, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WHILE_LOADING % (module, moment))
    silent = "%s -c 'import time; time.sleep(600)'" % shlex.quote(sys.executable)
    done = run("ping", silent, env={"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
               preexec_fn=heed_interrupts)
    assert (done.returncode, done.out) == (130, "") and done.err in ("", "mcp_ref: interrupted\n"), done.err


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one child there")
def test_interrupted_is_exit_code_130_and_one_line():
    words = ["tools", "--trace", "--", sys.executable, "-c", SILENT]
    process = subprocess.Popen([sys.executable, "-m", "mcp_ref", *words], cwd=str(ROOT), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=heed_interrupts)
    try:
        for line in iter(process.stderr.readline, b""):
            if b"C> tools/list" in line:
                break
        interrupt(process)
        assert process.wait(WAIT) == 130
        last = process.stderr.read().decode().splitlines()
        assert last.count("mcp_ref: interrupted") == 1 and not [line for line in last if "Traceback" in line]
    finally:
        process.kill()
        process.wait(WAIT)
        process.stderr.close()


UNLISTED = SILENT.replace('    elif asked.get("method"):', """    elif asked.get("method") == "tools/list":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "out of order"}}),
              flush=True)
    elif asked.get("method") == "tools/call":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": [
            {"type": "text", "text": json.dumps(asked["params"]["arguments"])}]}}), flush=True)
    elif asked.get("method"):""")


def test_a_tool_whose_schema_cannot_be_fetched_gets_json_where_text_may_be_that_and_the_user_is_told(capsys):
    code, out, err = here(capsys, "call", "x", "a=1", "b=x", "--quiet", "--", sys.executable, "-c", UNLISTED)
    assert (code, json.loads(out)) == (0, {"a": 1, "b": "x"})
    assert "the schema of x cannot be fetched: " in err and "out of order" in err
    code, out, err = here(capsys, "call", "x", "a:=1", "b==x", "--quiet", "--", sys.executable, "-c", UNLISTED)
    assert (code, json.loads(out), err) == (0, {"a": 1, "b": "x"}, ""), "nothing depends on the schema: nobody asks"


def test_what_a_server_said_last_stands_in_lines_below_the_error(capsys):
    code = "import sys; sys.stdin.readline(); sys.exit('first\\nmcp_ref: \\x1b[2Jsecond')"
    code, out, err = here(capsys, "tools", "--quiet", "--era", "legacy", "--", sys.executable, "-c", code)
    assert (code, out) == (3, "")
    assert err.endswith("server exited with code 1; last stderr lines:\n    first\n    mcp_ref: ?[2Jsecond\n")
    assert err.count("\n") == 3 and err.startswith("mcp_ref: initialize")


CARELESS = """
import json, sys
RESULTS = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": None},
                   "serverInfo": {"name": "careless", "version": "1"}},
    "tools/list": {"tools": [{"name": "t", "description": None, "inputSchema": {"type": "object", "properties": []}}]},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = RESULTS.get(message["method"])
        answer = {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
        print(json.dumps(dict(answer, jsonrpc="2.0", id=message["id"])), flush=True)
"""


@pytest.mark.sends_illegal("*", why="the server is not ours")
@pytest.mark.parametrize("more, said", [
    ("", ""), ("{},", "1 of the tools could not be read and was left out; doctor shows where\n"),
    ("{}, {'name': 5},", "2 of the tools could not be read and were left out; doctor shows where\n")])
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_list_that_lost_items_says_so_beside_it(more, said, words, capsys):
    server = [sys.executable, "-c", CARELESS.replace('"tools": [', '"tools": [' + more)]
    code, _, err = here(capsys, "tools", *words, "--", *server)
    assert code == 0 and (said in err if said else "left out" not in err)


@pytest.mark.sends_illegal("*", why="doctor traces a server that is not ours")
def test_info_tells_what_was_forgiven_and_doctor_where(capsys):
    server = [sys.executable, "-c", CARELESS]
    code, out, _ = here(capsys, "info", "--", *server)
    assert code == 0 and "\nforgiven: empty array 1, null 2 (doctor shows where)\n" in out
    code, out, _ = here(capsys, "info", "--json", "--", *server)
    assert code == 0 and json.loads(out)["forgiven"] == {"empty array": 1, "null": 2}
    code, out, _ = here(capsys, "doctor", "--", *server)
    assert code == 0 and "forgiven null: result.capabilities.prompts" in out
