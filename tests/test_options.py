"""Misspelt options: the error names the call that the user wrote, and the word that was meant."""
import inspect

import pytest

from mcp_ref import Client, Host, Limits, Server, connect
from mcp_ref.auth import ClientCredentials, EnterpriseManaged, OAuth, ResourceServer, WorkloadIdentity
from mcp_ref.devtools.bridge import Bridge
from mcp_ref.messages.mrtr import InputRequiredResult
from mcp_ref.server import Context, Icon
from mcp_ref.transports.memory import pair

URL = "https://mcp.example.com/mcp"


def never(*args):
    raise AssertionError("this is not to be called")


@pytest.fixture
def client():
    server = Server("demo")
    server.tool(lambda a: a, name="echo")
    server.resource("config://app")(lambda: "x")
    server.prompt(lambda: "x", name="review")
    ours, theirs = pair()
    server.connect(theirs)
    with Client().open(ours) as made:
        yield made


CALLS = [
    ("call_tool", ("echo",), "timout", "timeout"),
    ("call_tool", ("echo", {"a": 1}), "on_progress", "progress"),
    ("submit_tool", ("echo",), "extend_on_progres", "extend_on_progress"),
    ("list_tools", (), "curser", "cursor"),
    ("tools", (), "refesh", "refresh"),
    ("tool", ("echo",), "refesh", "refresh"),
    ("read_resource", ("config://app",), "input_response", "input_responses"),
    ("submit_resource", ("config://app",), "timeout_", "timeout"),
    ("get_prompt", ("review",), "argument", "arguments"),
    ("submit_prompt", ("review",), "round", "rounds"),
    ("complete", ("review", "code", "x"), "refreshed", "refresh"),
    ("submit_completion", ("review", "code", "x"), "timout", "timeout"),
    ("ping", (), "timout", "timeout"),
    ("subscribe_resource", ("config://app",), "calback", "callback"),
    ("set_log_level", ("info",), "timout", "timeout"),
    ("request", ("ping",), "progress", "on_progress"),
    ("discover", (), "refesh", "refresh"),
    ("listen", ("tools",), "uri", "uris"),
]


@pytest.mark.parametrize("name, arguments, wrong, right", CALLS, ids=[row[0] for row in CALLS])
def test_a_call_of_a_client(client, name, arguments, wrong, right):
    """At once: also a call that gives an iterator or a future."""
    sent = client.connection.table.add
    client.connection.table.add = never
    try:
        with pytest.raises(TypeError) as caught:
            getattr(client, name)(*arguments, **{wrong: 3})
    finally:
        client.connection.table.add = sent
    assert str(caught.value).startswith("%s() has no option %r; did you mean %r? (options: " % (name, wrong, right))
    assert "call_options" not in str(caught.value) and "self" not in str(caught.value)


@pytest.mark.parametrize("call, says", [
    (lambda: connect("no-such-program", timout=3), "connect() has no option 'timout'"),
    (lambda: connect("no-such-program", haeders={}), "connect() has no option 'haeders'; did you mean 'headers'?"),
    (lambda: connect(None, limts=None), "connect() has no option 'limts'; did you mean 'limits'?"),
    (lambda: Client(elicitaton=None), "Client() has no option 'elicitaton'; did you mean 'elicitation'?"),
    (lambda: Server("x", mask_error=True), "Server() has no option 'mask_error'; did you mean 'mask_errors'?"),
    (lambda: Server("x").tool(nme="y"), "tool() has no option 'nme'; did you mean 'name'?"),
    (lambda: Server("x").tool(never, titel="y"), "tool() has no option 'titel'; did you mean 'title'?"),
    (lambda: Server("x").resource("a://b", mimeType="y"), "resource() has no option 'mimeType'; did you mean 'mime"),
    (lambda: Server("x").prompt(titel="y"), "prompt() has no option 'titel'; did you mean 'title'?"),
    (lambda: Server("x").directory(".", patern="*"), "directory() has no option 'patern'; did you mean 'pattern'?"),
    (lambda: Server("x").completion("a", argumnt="b"), "completion() has no option 'argumnt'; did you mean 'argu"),
    (lambda: Server("x").run_http(port=0, tokn="x"), "run_http() has no option 'tokn'; did you mean 'token'?"),
    (lambda: Server("x").run_http(port=0, origins=[]), "run_http() has no option 'origins'; did you mean 'allowed_"),
    (lambda: Server("x").listen("http://127.0.0.1:0", session="none"), "listen() has no option 'session'; did you "),
    (lambda: Server("x").listen("tcp://127.0.0.1:0", idle_aftr=1), "listen() has no option 'idle_aftr'; did you mean "),
    (lambda: Server("x").wsgi(stream=True), "wsgi() has no option 'stream'; did you mean 'streams'?"),
    (lambda: Server("x").handle("GET", "/", {}, boddy=b""), "handle() has no option 'boddy'; did you mean 'body'?"),
    (lambda: Server("x").log_handler(redacted=True), "log_handler() has no option 'redacted'; did you mean 'red"),
    (lambda: Host(polcy=None), "Host() has no option 'polcy'; did you mean 'policy'?"),
    (lambda: Host.from_config({"mcpServers": {}}, polcy=None), "from_config() has no option 'polcy'; did you mean '"),
    (lambda: Host().connect("a", "b", truste=True), "connect() has no option 'truste'; did you mean 'trusted'?"),
    (lambda: Host().call_tool("a__b", timout=3), "call_tool() has no option 'timout'; did you mean 'timeout'?"),
    (lambda: Host().read_resource("a", "b://c", refesh=True), "read_resource() has no option 'refesh'; did you mean "),
    (lambda: Host().get_prompt("a__b", timout=3), "get_prompt() has no option 'timout'; did you mean 'timeout'?"),
    (lambda: Limits(max_worker=3), "Limits() has no option 'max_worker'; did you mean 'max_workers'?"),
    (lambda: Icon("https://example.com/", mimetype="image/png"), "Icon() has no option 'mimetype'; did you mean 'mime"),
    (lambda: OAuth(client="me"), "OAuth() has no option 'client'; did you mean 'client_id'?"),
    (lambda: ClientCredentials("a", "b", isuer="c"), "ClientCredentials() has no option 'isuer'; did you mean 'iss"),
    (lambda: EnterpriseManaged("a", id_token="b", idp_client_id="c", stor=None), "EnterpriseManaged() has no option '"),
    (lambda: WorkloadIdentity("a", private_network=True), "WorkloadIdentity() has no option 'private_network'; did yo"),
    (lambda: Bridge(never, auth_behnd=None), "Bridge() has no option 'auth_behnd'; did you mean 'auth_behind'?"),
    (lambda: Bridge(never, haeders={}), "Bridge() has no option 'haeders'; did you mean 'headers'?"),
    (lambda: Bridge().mount("a", never, evn={}), "mount() has no option 'evn'; did you mean 'env'?"),
    (lambda: ResourceServer(URL, [], never, scope=["a"]), "ResourceServer() has no option 'scope'; did you mean 'scop"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_anything_else_that_users_call(call, says):
    with pytest.raises(TypeError) as caught:
        call()
    assert says in str(caught.value)
    assert "Endpoint" not in str(caught.value) and "__init__" not in str(caught.value)


def test_a_word_that_is_like_none_gets_the_list_of_options_or_where_to_find_it():
    with pytest.raises(TypeError) as caught:
        Server("x").handle("GET", "/", {}, zzz=1)
    assert str(caught.value) == "handle() has no option 'zzz' (options: body, headers, method, path, peer)"
    with pytest.raises(TypeError) as caught:
        Limits(zzz=1)
    assert str(caught.value) == "Limits() has no option 'zzz' (help(Limits) lists the options)"


def test_the_class_that_is_named_is_the_one_that_was_called():
    class Mine(Server):
        """A server of somebody's own."""

    with pytest.raises(TypeError, match=r"^Mine\(\) has no option 'nam'"):
        Mine("x", nam="y")


def test_an_override_does_not_hide_what_there_is():
    class Mine(Client):
        def call_tool(self, *args, **options):
            return super().call_tool(*args, **options)

    with pytest.raises(TypeError, match="did you mean 'timeout'"):
        Mine().call_tool("x", timout=3)


def test_signatures_show_what_a_default_stands_for():
    assert " = <request_timeout of the limits>, progress: " in str(inspect.signature(Client.call_tool))
    assert "strict: bool = <the host's>" in str(inspect.signature(Host.connect))
    assert inspect.signature(connect).parameters["trace"].default is None
    assert Client.list_tools.__name__ == "list_tools" and "one page" in (Client.list_tools.__doc__ or "one page")


def test_options_of_a_handler_s_context():
    server = Server("demo")

    @server.tool
    def ask(ctx: Context) -> str:
        said = []
        for call in (lambda: ctx.elicit("?", {}, timout=1), lambda: ctx.sample("?", 1, hint=["x"]),
                     lambda: ctx.sample_with_tools("?", 1, tools=[], temprature=1), lambda: ctx.progress(1, totl=2),
                     lambda: ctx.log("info", "x", loger="y"), lambda: ctx.elicit_url("?", "https://a/", ky="x")):
            try:
                call()
            except TypeError as error:
                said.append(str(error).partition(" (")[0])
        return "\n".join(said)

    ours, theirs = pair()
    server.connect(theirs)
    with Client().open(ours) as client:
        assert client.call_tool("ask").content[0].text.split("\n") == [
            "elicit() has no option 'timout'; did you mean 'timeout'?",
            "sample() has no option 'hint'; did you mean 'hints'?",
            "sample_with_tools() has no option 'temprature'; did you mean 'temperature'?",
            "progress() has no option 'totl'; did you mean 'total'?",
            "log() has no option 'loger'; did you mean 'logger'?",
            "elicit_url() has no option 'ky'; did you mean 'key'?",
        ]


@pytest.mark.parametrize("target", ["http://127.0.0.1:9/mcp", "tcp://127.0.0.1:9", "unix:///nowhere"])
@pytest.mark.parametrize("option", [{"env": {"A": "1"}}, {"cwd": "."}, {"inherit_env": False}])
def test_what_is_for_a_command_is_refused_for_a_server_that_runs_already(target, option):
    with pytest.raises(ValueError, match="%s: only for a command" % next(iter(option))):
        connect(target, **option)


def test_a_socket_takes_no_options_of_http_even_those_that_have_a_default():
    for option in ({"token": "x"}, {"legacy": False}, {"sessions": "none"}, {"fds": [3]}, {"json_response": False}):
        with pytest.raises(TypeError, match="takes no option %s" % next(iter(option))):
            Server("x").listen("tcp://127.0.0.1:0", **option)


def test_a_host_gives_each_server_its_own_options_and_else_those_it_was_given():
    with Host(title="Ours", check_results=False, era="legacy") as host:
        for name, options in (("a", {}), ("b", {"title": "Another", "era": None, "check_results": True})):
            server = Server(name)
            ours, theirs = pair()
            server.connect(theirs)
            host.connect(name, ours, **options)
        a, b = host.clients["a"], host.clients["b"]
        assert (a.info.title, a.check_results, a.revision.handshake) == ("Ours", False, True)
        assert (b.info.title, b.check_results, b.revision.handshake) == ("Another", True, False)


def test_a_host_of_ones_own_may_know_fewer_options_than_from_config_has():
    class Mine(Host):
        def __init__(self, name, title):
            super().__init__(name, title=title, strict=True)

    with Mine.from_config({"mcpServers": {}}, name="mine", title="Mine") as host:
        assert host._options["title"] == "Mine" and host._options["strict"]


def test_a_host_gives_the_questions_of_a_tool_to_a_caller_who_wants_them():
    """It broke on the result that is none."""
    server = Server("demo")

    @server.tool
    def greet(ctx: Context) -> str:
        return ctx.elicit("Name?", {"name": str})["name"]

    from mcp_ref.host import Policy, allow

    events = []
    with Host(policy=Policy(tool_call=allow), elicitation=never, audit=events.append) as host:
        ours, theirs = pair()
        server.connect(theirs)
        host.connect("demo", ours)
        found = host.call_tool("demo__greet", rounds="manual")
        assert isinstance(found, InputRequiredResult)
        (key,) = found.input_requests
        answer = {key: {"action": "accept", "content": {"name": "Ada"}}}
        done = host.call_tool("demo__greet", rounds="manual", input_responses=answer, request_state=found.request_state)
        assert done.content[0].text == "Ada"
    assert [event["outcome"] for event in events if event["event"] == "tool_call"] == ["input_required", "ok"]


def test_a_tool_is_looked_up_anew_when_that_is_asked_for():
    asked = []
    server = Server("demo")
    server.tool(lambda a: a, name="echo")
    ours, theirs = pair()
    server.connect(theirs)
    with Client(era="legacy").open(ours) as client:
        assert client.tool("echo").name == "echo"
        call = client._requests.call
        client._requests.call = lambda method, *rest: asked.append(method) or call(method, *rest)
        client.tool("echo")
        assert asked == []
        client.tool("echo", refresh=True)
        assert asked == ["tools/list"]


def test_help_of_run_http_has_a_row_for_each_option():
    """With its default, as far as that can be said in a word; so a new option is not forgotten there."""
    from inspect import getdoc, signature

    rows = [line for line in getdoc(Server.run_http).splitlines() if line.startswith("``")]
    told = [row.split("``")[1] for row in rows]
    assert sorted(told) == sorted(set(signature(Server.run_http).parameters) - {"self"})
    for name, default in (("port", "8000"), ("path", '"/mcp"'), ("sessions", '"memory"'), ("legacy", "True")):
        row = rows[told.index(name)]
        assert row.split("  ")[1:] and default in row and str(
            signature(Server.run_http).parameters[name].default) == default.strip('"')


def test_an_option_that_a_family_does_not_have_is_refused_by_the_call_itself():
    """No wrapper stands between the caller and the call, and the members of the family are in its signature."""
    with pytest.raises(TypeError) as caught:
        Client().call_tool("x", timout=3)
    assert [entry.name for entry in caught.traceback][1:] == ["call_tool", "with_defaults", "refuse"]
    kinds = {each.name: str(each.kind) for each in inspect.signature(Client().call_tool).parameters.values()}
    assert kinds["timeout"] == kinds["request_state"] == "KEYWORD_ONLY" and "options" not in kinds
