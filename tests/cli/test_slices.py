"""Slices of the package by themselves: each public name is imported and used where nothing else of the package is."""

import json
import os
import re
import shutil
import textwrap
import zlib

import pytest

from mcp_ref import __version__, server
from mcp_ref.cli.copying import parts

from .running import ECHO, ROOT, fresh, here

TALK = '''
import io, json, logging, os, tempfile, threading
import my.mcp.server as own
from my.mcp import Context, Limits, McpError, REVISIONS, Server, ToolError

used = set()

def need(name):
    used.add(name)
    return getattr(own, name)

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {
    "elicitation": {"form": {}, "url": {}}, "extensions": {"com.example/search": {},
    "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}}

def call(id, method, **params):
    return {"id": id, "method": method, "params": dict(params, _meta=META)}

def tool(id, name, **arguments):
    return call(id, "tools/call", name=name, arguments=arguments)

def talk(server, *messages):
    "What the server answers over a pair of pipes, by id."
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
    server.limits.drain = server.limits.shutdown_grace = 60.0  # the input ends long before the calls, on a busy machine
    server.run()
    os.dup2(saved, 1)
    reader.join()
    answers = [json.loads(line) for line in out.decode().splitlines()]
    return {each["id"]: each for each in answers if "id" in each}
'''

SERVER = TALK + '''
server = Server("x", cache=need("Cache")(ttl=5, scope="public"), executor=need("Inline")(),
                icons=[need("Icon")("https://example.com/i.png", sizes=["48x48"])], limits=Limits())

@server.tool(annotations=need("ToolAnnotations")(read_only_hint=True))
def add(a: int, b: int, ctx: need("Context")) -> int:
    ctx.progress(1, 2)
    logging.getLogger("mine").warning("adding")
    assert need("current")() is ctx
    return a + b

class Kept(logging.Handler):
    def emit(self, record):
        lines.append((record.name, getattr(record, "mcp_request", ""), record.getMessage()))

lines = []
for logger in ("mine", "my.mcp.access"):
    handler = Kept()
    handler.addFilter(need("RequestNames")())
    logging.getLogger(logger).addHandler(handler)
    logging.getLogger(logger).setLevel("INFO")
server.around(need("access_log"))
with open("x.png", "wb") as file:
    file.write(b"x")

@server.tool
def media() -> list:
    return [need("image")(b"x", "image/png"), need("audio")(b"x", "audio/wav"), need("blob")("x://b", b"x"),
            need("image_file")("x.png")]

@server.tool
def fails(how: str) -> str:
    raise {"tool": ToolError("no"), "rpc": need("RpcError")(-31999, "no")}[how]

@server.resource("x://{name}", annotations=need("Annotations")(audience=["user"]))
def read(name: str) -> str:
    raise need("ResourceNotFound")("x://" + name)

@server.prompt
def review(code: str) -> str:
    return code

@server.completion("review", "code")
def suggest(value: str) -> list:
    return ["x"]

found = talk(
    server, tool(1, "add", a=1, b=2), tool(2, "media"), tool(3, "fails", how="tool"), tool(4, "fails", how="rpc"),
    call(5, "resources/read", uri="x://a"), call(6, "prompts/get", name="review", arguments={"code": "x"}),
    call(7, "tools/list"), call(8, "completion/complete", ref={"type": "ref/prompt", "name": "review"},
                                argument={"name": "code", "value": ""}), call(9, "server/discover"),
    dict(call(10, "tools/call", name="add", arguments={"a": 1, "b": 2}, inputResponses={}, requestState="forged")),
)
assert found[1]["result"]["structuredContent"] == {"result": 3}, found[1]
assert [each["type"] for each in found[2]["result"]["content"]] == ["image", "audio", "resource", "image"], found[2]
assert ("mine", "tools/call#1", "adding") in lines, lines
assert any(each[2].startswith("tools/call add id=1: answered in ") for each in lines), lines
assert found[3]["result"]["isError"] and found[4]["error"]["code"] == -31999, (found[3], found[4])
assert found[5]["error"]["code"] == -32602 and found[6]["result"]["messages"], (found[5], found[6])
assert found[7]["result"]["ttlMs"] == 5000 and found[7]["result"]["tools"][0]["annotations"] == {"readOnlyHint": True}
assert found[8]["result"]["completion"]["values"] == ["x"] and "tools" in found[9]["result"]["capabilities"], found[9]
assert found[10]["error"]["code"] == -32602, found[10]
found = talk(server, {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"}}}, {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}, "task": {"ttl": 1}}},
    {"id": 3, "method": "tasks/get", "params": {"taskId": "x"}})
assert found[2]["result"]["structuredContent"] == {"result": 3} and found[3]["error"]["code"] == -32601, found
row = need("Method")("a/b", "request", "client", "base:RequestParams", "base:Result", None, None, "basic/index")
assert need("Route")(lambda context, params: {}, inline=True).inline and row.name == "a/b"
assert issubclass(need("NoThreads"), McpError) and callable(need("Connection").notify)
'''

PART_USES = {
    "asking": """
@server.tool
def asks(ctx: Context) -> str:
    answer = ctx.elicit("Which?", {"seat": str})
    assert isinstance(answer, need("Answer"))
    return "got " + answer["seat"]
@server.tool
def link() -> str:
    raise need("UrlElicitationRequired")([("Go there", "https://example.com/x")])
found = talk(server, tool(1, "asks"), tool(2, "link"),
             call(3, "tools/call", name="asks", arguments={}, inputResponses={}))
assert [each["result"]["resultType"] for each in found.values()] == ["input_required"] * 3, found
need("Answer")
""",
    "tasks": """
Server("tasked", tasks=need("Tasks")(ttl=60)).tool(lambda: 1, name="one", task="optional")
""",
    "apps": """
server.app("ui://x/y", "<!doctype html><title>x</title>")
@server.tool(ui="ui://x/y")
def shown(ctx: Context) -> str:
    return "an app" if ctx.has_apps else "none"
assert talk(server, tool(1, "shown"))[1]["result"]["content"][0]["text"] == "an app"
""",
    "skills": """
with tempfile.TemporaryDirectory() as folder:
    try:
        server.skills(folder)
        raise AssertionError("an empty folder")
    except need("BadSkill") as error:
        assert "SKILL.md" in str(error)
""",
    "files": """
with tempfile.TemporaryDirectory() as folder:
    server.directory(folder)
    assert talk(server, call(1, "resources/list"))[1]["result"]["resources"] == []
""",
    "extensions": """
class Search(need("Extension")):
    identifier = "com.example/search"
    methods = (own.Method("search/run", "request", "client", "base:RequestParams", "base:Result", None, None,
                          "basic/index"),)
    def route(self, role, method, revision):
        return own.Route(lambda context, params: {})
server = Server("x", extensions=[Search()])
server.method("acme/x")(lambda: {"y": 1})
found = talk(server, call(1, "search/run"), call(2, "acme/x"))
assert "result" in found[1] and found[2]["result"]["y"] == 1, found
""",
    "stores": """
with tempfile.TemporaryDirectory() as folder:
    for store in (need("MemoryTasks")(), need("SqliteStore")(os.path.join(folder, "jobs.db"))):
        assert isinstance(store, need("TaskStore")) and store.read("nothing") is None
        store.close()
assert isinstance(store, need("Store")) and Server("x", consume_state=True).states
""",
    "traces": """
text, lines = io.StringIO(), io.StringIO()
for trace in (need("Trace")(), need("to_text")(text), need("to_file")(lines)):
    talk(Server("x", trace=trace), call(1, "server/discover"))
    trace.close()
assert "server/discover" in text.getvalue() and "server/discover" in lines.getvalue()
""",
    "visibility": """
@server.tool(visible=lambda principal, requester: isinstance(requester, need("Requester")) and principal is None)
def seen(ctx: Context) -> str:
    return str(ctx.requester.query)
@server.tool(visible=lambda principal: False)
def unseen() -> str:
    return "never"
found = talk(server, call(1, "tools/list"), tool(2, "seen"))
assert [each["name"] for each in found[1]["result"]["tools"]] == ["seen"] and "result" in found[2], found
""",
    "log-handler": """
logging.getLogger("mine").addHandler(server.log_handler())
""",
    "lifespan": """
from contextlib import contextmanager
@contextmanager
def opened(server):
    yield "open"
server = Server("x", lifespan=opened)
@server.tool
def state(ctx: Context) -> str:
    return ctx.lifespan
assert talk(server, tool(1, "state"))[1]["result"]["content"][0]["text"] == "open"
""",
    "main-thread": """
assert need("MainThreadQueue")().needs_pump
""",
    "sockets": """
server.listen("tcp://127.0.0.1:0").close()
""",
    "http": """
assert server.handle("GET", "/mcp", {}).status in (400, 405, 406)
server.http_route("GET", "/x", lambda request: None)
server.handler.close(0)
""",
}
"""Part -> a program that uses it, with each public name that it adds."""

WITHOUT = """
asking: ctx.elicit("x", {"a": str})
asking: ctx.elicit_url("x", "https://example.com")
asking: ctx.sample("x", max_tokens=1)
asking: ctx.sample_with_tools("x", max_tokens=1, tools=[])
asking: ctx.list_roots()
asking: server.elicitation_complete("x")
tasks: Server("x", tasks=True)
tasks: server.tool(lambda: 1, name="one", task="optional")
apps: ctx.has_apps
apps: server.app("ui://x", "<html>")
skills: server.skills(".")
files: server.directory(".")
extensions: server.method("acme/x")(lambda: {})
extensions: Server("x", extensions=[object()])
stores: Server("x", consume_state=True).states
traces: Server("x", trace="x.jsonl").connect(Transport())
visibility: server.tool(lambda: 1, name="three", visible=lambda principal: True)
visibility: ctx.requester
log-handler: server.log_handler()
lifespan: Server("x", lifespan=lambda server: None)
main-thread: own.MainThreadQueue()
sockets: server.listen("tcp://127.0.0.1:0")
sockets: server.listen("unix:///x")
http: server.listen("http://127.0.0.1:0")
http: server.run_http()
http: server.wsgi()
http: server.handle("GET", "/mcp", {})
http: server.http_route("GET", "/x", print)
http: server.tool(lambda: 1, name="two", input_schema=HEADED)
"""
"""Part: what asks for it."""

MISSES = TALK + '''
from my.mcp.transports.base import Transport

server, said = Server("x"), {}
HEADED = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}

def attempt(row, ctx=None):
    try:
        eval(row, dict(globals(), ctx=ctx))
    except ImportError as error:
        said[row] = str(error)

@server.tool
def ask(row: str, ctx: Context) -> str:
    attempt(row, ctx)
    return row

for row in ROWS:
    if row.startswith("ctx."):  # one after the other: a thread may see the module whose import fails in another one
        talk(server, tool(row, "ask", row=row))
    else:
        attempt(row)
print(json.dumps(said))
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
        assert isinstance(future, RequestFuture) and future.result().text == "4"
        task = client.start_tool("add", {"a": 3, "b": 2})
        assert isinstance(task, ToolTask) and task.result().text == "5"
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
assert LoadedSkill.__module__ == UnverifiedSkill.__module__ == "my.mcp.ext.skills.client"
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

NEEDED = re.compile(r'need\("(\w+)"\)')
PROGRAMS = {"stdio-server": SERVER, "client": CLIENT, "messages": MESSAGES}
PROGRAMS.update({"stdio-server," + part: TALK + 'server = Server("x")\n' + uses for part, uses in PART_USES.items()})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder for one slice after the other, and another one for the bytecode of what they have in common."""
    return tmp_path_factory.mktemp("slices")


@pytest.mark.time_limit(60)
@pytest.mark.parametrize("only", sorted(PROGRAMS))
def test_every_public_name_of_a_slice_works_without_the_rest(only, place, capsys):
    """In an interpreter that finds nothing but the copy; each program says itself which names it has used."""
    folder = place / "copy"
    shutil.rmtree(str(folder), ignore_errors=True)
    folder.mkdir()
    assert here(capsys, "vendor", str(folder), "--as", "my.mcp", "--only", only)[0] == 0
    for path in folder.rglob("*.py"):  # a time that stands for the content: bytecode is of this text, or made anew
        os.utime(str(path), (zlib.crc32(path.read_bytes()),) * 2)
    program = PROGRAMS[only]
    given = "SOURCE, ECHO = %r, %r\n" % (program, ECHO)
    if program.startswith(TALK):
        program += "print('all', *sorted(used))"
    out = fresh(folder, given + program, "-X", "pycache_prefix=%s" % (place / "bytecode"), keep=True)
    assert out.splitlines()[-1].startswith("all")
    names = {path.split("/")[0] for path in parts.subset(parts.files(), only.split(","))}
    assert "cli" not in names and "host" not in names and "auth" not in names
    assert ("server" in names) == ("server" in only) and ("client" in names) == (only == "client")


def test_the_programs_use_every_public_name_of_a_server():
    """Those that a part adds, with that part."""
    assert list(PART_USES) == list(parts.PARTS)
    assert set(NEEDED.findall("".join(PROGRAMS.values()))) == set(server.__all__) - {"Server"}


def test_what_a_part_adds_is_named_where_it_is_missing(tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path), "--as", "my.mcp", "--only", "stdio-server")[0] == 0
    part_of = {row: part for part, row in (line.split(": ", 1) for line in WITHOUT.strip().splitlines())}
    assert list(dict.fromkeys(part_of.values())) == list(parts.PARTS)
    part_of.update({"own." + name: part for part, uses in PART_USES.items() for name in NEEDED.findall(uses)})
    there = ["own." + name for name in server.__all__ if "own." + name not in part_of]
    out = fresh(tmp_path, "ROWS = %r\n" % [*part_of, *there] + MISSES)
    assert json.loads(out) == {
        row: "the part %s (%s) is not in this copy (vendor --only stdio-server); copy again with --only "
             "stdio-server,%s" % (part, parts.PARTS[part].gives, part) for row, part in part_of.items()}


def test_a_slice_is_smaller_than_what_it_is_cut_from():
    ours = parts.files()
    named = ("stdio-server", "server", "messages")
    sizes = {part: sum(map(len, parts.subset(ours, [part]).values())) for part in named}
    assert sizes["stdio-server"] < 0.82 * sizes["server"] and sizes["messages"] < 0.12 * sizes["server"]


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


@pytest.mark.parametrize("name", ["auth", "client", "host", "messages", "server", "threads"])
def test_the_pages_that_the_documentation_names_need_no_import_of_their_own(name):
    out = fresh(ROOT, "import mcp_ref\nprint(mcp_ref.%s.__name__)" % name)
    assert out == "mcp_ref.%s\n" % name


def test_the_smallest_copy_knows_its_version(tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path), "--only", "uritemplate")[0] == 0
    program = "import mcp_ref\nassert '__version__' in dir(mcp_ref)\nprint(mcp_ref.__version__)"
    assert fresh(tmp_path, program) == __version__ + "\n"
