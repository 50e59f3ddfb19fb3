"""Slices of the package by themselves: each public name is imported and used where nothing else of the package is."""

import textwrap

import pytest

from mcp_ref import __version__
from mcp_ref.cli.copying import parts

from .running import ECHO, ROOT, fresh, here

SERVER = '''
import io, json, logging, os, threading
import my.mcp.server as own
from my.mcp import Context, Limits, McpError, REVISIONS, Server, ToolError
from my.mcp.server import (
    Annotations, Answer, BadSkill, Cache, Connection, Extension, Icon, Inline, MainThreadQueue, MemoryTasks, Method,
    NoThreads, RequestNames, ResourceNotFound, Route, RpcError, SqliteStore, Store, Tasks, TaskStore, ToolAnnotations,
    Trace, UrlElicitationRequired, access_log, audio, blob, current, image, image_file, to_file, to_text)

used = {}

def use(*names):
    """Decorate a function: it uses these names."""
    def run(function):
        function()
        used.update(dict.fromkeys(names))
    return run

class Search(Extension):
    identifier = "com.example/search"
    methods = (Method("search/run", "request", "client", "base:RequestParams", "base:Result", None, None,
                      "basic/index"),)
    def route(self, role, method, revision):
        return Route(lambda context, params: {})

connections = []
server = Server("x", extensions=[Search()], cache=Cache(ttl=5, scope="public"), executor=Inline(),
                icons=[Icon("https://example.com/i.png", sizes=["48x48"])], limits=Limits())

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int, ctx: Context) -> int:
    ctx.progress(1, 2)
    logging.getLogger("mine").warning("adding")
    assert current() is ctx
    return a + b

class Kept(logging.Handler):
    def emit(self, record):
        lines.append((record.name, getattr(record, "mcp_request", ""), record.getMessage()))

lines = []
for logger in ("mine", "my.mcp.access"):
    handler = Kept()
    handler.addFilter(RequestNames())
    logging.getLogger(logger).addHandler(handler)
    logging.getLogger(logger).setLevel("INFO")
server.around(access_log)
with open("x.png", "wb") as file:
    file.write(b"x")

@server.tool
def media() -> list:
    return [image(b"x", "image/png"), audio(b"x", "audio/wav"), blob("x://b", b"x"), image_file("x.png")]

@server.tool
def fails(how: str) -> str:
    raise {"tool": ToolError("no"), "rpc": RpcError(-31999, "no"),
           "link": UrlElicitationRequired([("Go there", "https://example.com/x")])}[how]

@server.tool
def asks(ctx: Context) -> str:
    answer = ctx.elicit("Which?", {"seat": str})
    assert isinstance(answer, Answer)
    return "got " + answer["seat"]

@server.resource("x://{name}", annotations=Annotations(audience=["user"]))
def read(name: str) -> str:
    raise ResourceNotFound("x://" + name)

@server.prompt
def review(code: str) -> str:
    return code

@server.completion("review", "code")
def suggest(value: str) -> list:
    return ["x"]

def talk(messages, trace=None):
    """What the server answers over a pair of pipes, by id."""
    ours, theirs = os.pipe(), os.pipe()
    out = b""
    def collect():
        nonlocal out
        while True:
            part = os.read(theirs[0], 65536)
            if not part:
                return
            out += part
    reader = threading.Thread(target=collect)
    reader.start()
    os.write(ours[1], b"".join(json.dumps(dict(each, jsonrpc="2.0")).encode() + b"\\n" for each in messages))
    os.close(ours[1])
    os.dup2(ours[0], 0)
    saved = os.dup(1)
    os.dup2(theirs[1], 1)
    os.close(theirs[1])
    server.run()
    os.dup2(saved, 1)
    reader.join()
    answers = [json.loads(line) for line in out.decode().splitlines()]
    return {each["id"]: each for each in answers if "id" in each}

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {
    "elicitation": {"form": {}, "url": {}}, "extensions": {"com.example/search": {}}}}
def call(id, method, **params):
    return {"id": id, "method": method, "params": dict(params, _meta=META)}

found = talk([
    call(1, "tools/call", name="add", arguments={"a": 1, "b": 2}), call(2, "tools/call", name="media", arguments={}),
    call(3, "tools/call", name="fails", arguments={"how": "tool"}),
    call(4, "tools/call", name="fails", arguments={"how": "rpc"}),
    call(5, "tools/call", name="fails", arguments={"how": "link"}),
    call(6, "tools/call", name="asks", arguments={}), call(7, "resources/read", uri="x://a"),
    call(8, "prompts/get", name="review", arguments={"code": "x"}), call(9, "tools/list"),
    call(10, "completion/complete", ref={"type": "ref/prompt", "name": "review"},
         argument={"name": "code", "value": ""}),
    call(11, "server/discover"), call(12, "search/run"),
])
assert found[1]["result"]["structuredContent"] == {"result": 3}, found[1]
assert [each["type"] for each in found[2]["result"]["content"]] == ["image", "audio", "resource", "image"], found[2]
assert ("mine", "tools/call#1", "adding") in lines, lines
assert any(each[2].startswith("tools/call add id=1: answered in ") for each in lines), lines
assert found[3]["result"]["isError"] and found[4]["error"]["code"] == -31999, (found[3], found[4])
assert found[5]["result"]["resultType"] == found[6]["result"]["resultType"] == "input_required", (found[5], found[6])
assert found[7]["error"]["code"] == -32602 and found[8]["result"]["messages"], (found[7], found[8])
assert found[9]["result"]["ttlMs"] == 5000 and found[9]["result"]["tools"][0]["annotations"] == {"readOnlyHint": True}
assert found[10]["result"]["completion"]["values"] == ["x"] and "com.example/search" in str(found[11])
assert "result" in found[12], found[12]
used.update(dict.fromkeys("Annotations Answer Cache Context Extension Icon Inline Method ResourceNotFound Route "
                          "RequestNames RpcError Server ToolAnnotations UrlElicitationRequired access_log audio blob "
                          "current image image_file".split()))

@use("Trace", "to_text", "to_file")
def _():
    text, lines = io.StringIO(), io.StringIO()
    for trace in (Trace(), to_text(text), to_file(lines)):
        trace.close()

@use("MainThreadQueue", "NoThreads", "Connection")
def _():
    queue = MainThreadQueue()
    assert queue.needs_pump and issubclass(NoThreads, McpError) and callable(Connection.notify)

@use("Tasks", "TaskStore", "MemoryTasks", "Store", "SqliteStore")
def _():
    import os, tempfile
    with tempfile.TemporaryDirectory() as folder:
        for store in (MemoryTasks(), SqliteStore(os.path.join(folder, "jobs.db"))):
            assert isinstance(store, TaskStore)
            Server("tasked", tasks=Tasks(store)).tool(lambda: 1, name="one", task="optional")
            assert store.read("nothing") is None
            store.close()

@use("BadSkill")
def _():
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        try:
            Server("skilled").skills(folder)
            raise AssertionError("an empty folder")
        except BadSkill as error:
            assert "SKILL.md" in str(error)

assert set(used) == set(own.__all__), set(used) ^ set(own.__all__)
print("all", len(used), "names;", len([name for name in sys.modules if name.startswith("my.mcp")]), "modules")
'''

CLIENT = '''
import io, re
import my.mcp.client as own
from my.mcp import connect, Limits
from my.mcp.client import *

used = set()
class Search(Extension):
    identifier = "com.example/search"
    methods = (Method("search/run", "request", "server", "base:RequestParams", "base:Result", None, None,
                      "basic/index"),)
    def route(self, role, method, revision):
        return Route(lambda context, params: None)

def form(params, context):
    assert isinstance(context, Context)
    return {}

text = io.StringIO()
roots = Roots(["."])
sampling = Sampling(lambda params, context: "hello", models=[ModelCard("small", cost=0.1)])
for era in ("modern", "2024-11-05"):
    with connect(ECHO, trace=to_text(text), roots=roots, sampling=sampling, elicitation=Elicitation(form), era=era,
                 cache=SharedAnswers(), extensions=[Search()], executor=Inline(), limits=Limits()) as client:
        assert isinstance(client, Client)
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
        future = client.submit_tool("add", {"a": 2, "b": 2})
        assert isinstance(future, RequestFuture) and future.result(10).text == "4"
        task = client.start_tool("add", {"a": 3, "b": 2})
        assert isinstance(task, ToolTask) and task.result(10).text == "5"
        assert [tool.name for tool in client.tools()][0] == "echo" and client.read_resource("greeting://you").text
        try:
            client.read_resource("nothing://here")
            raise AssertionError("read")
        except PeerError as error:
            assert error.code in (-32002, -32602)
        try:
            client.call_tool("slow", {"seconds": 60}, timeout=0.01)
            raise AssertionError("answered")
        except RequestTimeout:
            pass
    try:
        client.ping()
        raise AssertionError("closed")
    except ConnectionLost:
        pass
assert "tools/call" in text.getvalue()
for target in ("tcp://127.0.0.1:1", "http://127.0.0.1:1/mcp", [sys.executable, "-c", "pass"]):
    try:
        connect(target)
        raise AssertionError(target)
    except (ConnectFailed, ConnectionLost):
        pass
for trace in (Trace(), to_file(io.StringIO())):
    trace.close()
from my.mcp.messages import ElicitRequestURLParams
assert UrlRequest(ElicitRequestURLParams(message="m", url="https://example.com/x"), 100).host == "example.com"
assert MainThreadQueue().needs_pump and issubclass(NoThreads, RuntimeError)
assert LoadedSkill.__module__ == UnverifiedSkill.__module__ == "my.mcp.client.skills"
missing = set(own.__all__) - set(re.findall(r"\\w+", SOURCE))
assert not missing, missing
print("all", len(own.__all__), "names")
'''

MESSAGES = '''
import my.mcp.messages as own
from my.mcp.codec import decode, decoder, encode, encoder
from my.mcp.model import Model
from my.mcp.revisions import REVISIONS

classes = 0
for name in own.__all__:
    hint = getattr(own, name)
    for there in REVISIONS:
        if isinstance(hint, type) and issubclass(hint, Model):
            if there.has(hint.since, hint.until):
                decoder(hint, there), encoder(hint, there)
                classes += 1
        else:
            decoder(hint, there)
tool = decode(own.Tool, {"name": "x", "inputSchema": {"type": "object"}}, REVISIONS[-1])
assert encode(tool, REVISIONS[0]) == {"name": "x", "inputSchema": {"type": "object"}}
print("all", len(own.__all__), "names;", classes, "readers and writers")
'''

PROGRAMS = {"stdio-server": SERVER, "client": CLIENT, "messages": MESSAGES}


@pytest.mark.time_limit(60)
@pytest.mark.parametrize("part", sorted(PROGRAMS))
def test_every_public_name_of_a_slice_works_without_the_rest(part, tmp_path, capsys):
    """In an interpreter that finds nothing but the copy; each program says itself which name it has not used."""
    assert here(capsys, "vendor", str(tmp_path), "--as", "my.mcp", "--only", part)[0] == 0
    program = PROGRAMS[part]
    given = "SOURCE, ECHO = %r, %r\n" % (program, ECHO)
    assert fresh(tmp_path, given + program).splitlines()[-1].startswith("all ")
    names = {path.split("/")[0] for path in parts.subset(parts.files(), [part])}
    assert "cli" not in names and "host" not in names and "auth" not in names
    assert ("server" in names) == (part == "stdio-server") and ("client" in names) == (part == "client")


def test_a_slice_is_smaller_than_what_it_is_cut_from():
    ours = parts.files()
    named = ("stdio-server", "server", "messages")
    sizes = {part: sum(map(len, parts.subset(ours, [part]).values())) for part in named}
    assert sizes["stdio-server"] < 0.82 * sizes["server"] and sizes["messages"] < 0.1 * sizes["server"]


def test_a_copy_of_a_part_shows_its_help_and_lists_what_it_has(tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path), "--only", "stdio-server")[0] == 0
    out = fresh(tmp_path, textwrap.dedent("""
        import pydoc
        import mcp_ref
        page = pydoc.render_doc(mcp_ref)
        assert "Model Context Protocol" in page and "run_http" in page
        assert "Server" in dir(mcp_ref) and "Client" not in dir(mcp_ref)
        try:
            mcp_ref.auth
        except ImportError as error:
            print(error)
    """))
    assert out == ("mcp_ref.auth is not in this copy (vendor --only stdio-server); copy again with"
                   " --only stdio-server,auth\n")


@pytest.mark.parametrize("name", ["auth", "client", "contributing", "host", "messages", "server", "threads"])
def test_the_pages_that_the_documentation_names_need_no_import_of_their_own(name):
    out = fresh(ROOT, "import mcp_ref\nprint(mcp_ref.%s.__name__)" % name)
    assert out == "mcp_ref.%s\n" % name


def test_the_smallest_copy_knows_its_version(tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path), "--only", "uritemplate")[0] == 0
    program = "import mcp_ref\nassert '__version__' in dir(mcp_ref)\nprint(mcp_ref.__version__)"
    assert fresh(tmp_path, program) == __version__ + "\n"
