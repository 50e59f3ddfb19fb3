"""The members of `_meta` by which each request and each result of 2026-07-28 says what it is."""
import pytest

from mcp_ref import Server
from mcp_ref.protocol.envelope import CAPABILITIES, CLIENT_INFO, LOG_LEVEL, SERVER_INFO, VERSION
from mcp_ref.server import Context
from tests.support.http_exchange import request
from tests.support.http_modern import ModernWeb
from tests.support.scene import Scene
from tests.support.scripted import ScriptedPeer
from tests.support.serving import ask, served

STATELESS = "2026-07-28"
WHOLE = {VERSION: STATELESS, CAPABILITIES: {}}
METHODS = {
    "server/discover": {}, "tools/list": {}, "tools/call": {"name": "a", "arguments": {}}, "resources/list": {},
    "resources/templates/list": {}, "resources/read": {"uri": "test://a"}, "prompts/list": {},
    "prompts/get": {"name": "a"}, "subscriptions/listen": {"notifications": {}},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "x", "value": ""}},
}
MALFORMED = [
    None, {}, {VERSION: STATELESS}, {CAPABILITIES: {}}, {VERSION: 1, CAPABILITIES: {}},
    {VERSION: None, CAPABILITIES: {}}, {VERSION: STATELESS, CAPABILITIES: None}, {VERSION: STATELESS, CAPABILITIES: []},
    {VERSION: STATELESS, CAPABILITIES: "x"}, {VERSION: STATELESS, CAPABILITIES: {"roots": 1}},
    dict(WHOLE, **{CLIENT_INFO: "me"}), dict(WHOLE, **{LOG_LEVEL: "loud"}), dict(WHOLE, **{CLIENT_INFO: {"name": "x"}}),
    dict(WHOLE, **{LOG_LEVEL: 1}), [], "x", 1,
]


def full(**options):
    server = Server("full", "1.2", **options)
    server.tool(lambda: "x", name="a")
    server.prompt(lambda x="": "x", name="a")
    server.resource("test://a")(lambda: "x")
    server.completion("a", "x")(lambda value: [])

    @server.tool
    def asks(ctx: Context):
        return str(ctx.sample("?", 10))

    return server


def http(web, meta, method="tools/list", params=None):
    """One POST: status and body."""
    reply = web.post(request(1, method, dict(params or {}, _meta=meta)))
    return reply.status, reply.answer()


@pytest.mark.spec("meta.missing-required-rejected", "stateless.no-prior-requests")
@pytest.mark.parametrize("meta", MALFORMED)
def test_a_request_without_what_is_required_is_malformed_whatever_came_before(meta):
    """[2026-07-28 basic/index §`_meta`] MUST"""
    with served(full(revisions=[STATELESS]), STATELESS) as peer:
        peer.envelope = None
        for number, (method, params) in enumerate(METHODS.items()):
            whole = peer.call("whole %d" % number, method, dict(params, _meta=WHOLE)) \
                if method != "subscriptions/listen" else {"result": 1}
            assert "result" in whole
            params = params if meta is None else dict(params, _meta=meta)
            error = peer.call(number, method, params)["error"]
            assert error["code"] == -32602 and "_meta" in error["message"]


@pytest.mark.parametrize("name, value, words", [
    (CAPABILITIES, {"elicitation": 1}, "clientCapabilities].elicitation: expected object, got integer"),
    (CAPABILITIES, [], "clientCapabilities]: expected object, got array"),
    (CLIENT_INFO, {"name": "x"}, "clientInfo].version: expected string, got nothing"),
    (CLIENT_INFO, None, "clientInfo]: expected object, got null"),
])
def test_what_is_wrong_in_it_is_named(name, value, words):
    with served(full(), STATELESS) as peer:
        error = ask(peer, "tools/list", {"_meta": dict(WHOLE, **{name: value})})["error"]
        assert error == {"code": -32602, "message": "Invalid params: params._meta[io.modelcontextprotocol/" + words}


@pytest.mark.spec("meta.missing-required-http-400", "meta.missing-required-rejected")
@pytest.mark.parametrize("meta", [each for each in MALFORMED if isinstance(each, dict) and VERSION in each])
def test_over_http_its_status_is_400(meta):
    """[2026-07-28 basic/index §`_meta`] MUST"""
    with ModernWeb(full()) as web:
        status, body = http(web, meta)
        assert status == 400 and body["error"]["code"] in (-32602, -32020)
        assert body["error"]["code"] == -32602 or meta[VERSION] != STATELESS
        assert http(web, WHOLE)[0] == 200


@pytest.mark.spec("meta.server-info")
@pytest.mark.parametrize("identify", [True, False])
@pytest.mark.parametrize("method", [name for name in METHODS if name != "subscriptions/listen"])
def test_each_result_says_who_the_server_is_unless_it_is_told_not_to(method, identify):
    """[2026-07-28 basic/index §`_meta`] SHOULD"""
    with served(full(identify=identify), STATELESS) as peer:
        result = ask(peer, method, METHODS[method])["result"]
        info = result.get("_meta", {}).get(SERVER_INFO)
        assert (info is not None) == identify
        if identify:
            assert (info["name"], info["version"]) == ("full", "1.2")


@pytest.mark.spec("meta.undeclared-capabilities", "meta.capability-missing-error", "stateless.no-inferred-capabilities")
def test_no_capability_is_relied_on_but_those_of_the_request():
    """[2026-07-28 basic/index §`_meta`] MUST NOT, MUST"""
    call = {"name": "asks", "arguments": {}}
    with served(full(), STATELESS) as peer:
        peer.begin(STATELESS, {"sampling": {}})
        peer.request("with", "tools/call", call)
        assert peer.receive(lambda m: m.get("method") == "sampling/createMessage")
        peer.begin(STATELESS, {"elicitation": {}})
        error = ask(peer, "tools/call", call)["error"]
        assert error["code"] == -32021 and error["data"] == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.spec("meta.capability-missing-http-400")
def test_over_http_a_missing_capability_has_status_400():
    """[2026-07-28 basic/index §`_meta`] MUST"""
    with ModernWeb(full()) as web:
        status, body = http(web, WHOLE, "tools/call", {"name": "asks", "arguments": {}})
        assert status == 400 and body["error"]["code"] == -32021


@pytest.mark.spec("meta.info-no-behavior")
@pytest.mark.parametrize("info", [None, {"name": "a", "version": "1"}, {"name": "", "version": ""},
                                  {"name": "claude \u2028 admin", "version": "0", "title": "x", "more": [1]}])
def test_who_the_client_says_it_is_changes_nothing(info):
    """[2026-07-28 basic/index §`_meta`] SHOULD NOT"""
    with ScriptedPeer.of_server(full()) as peer:
        answers = []
        for given in (None, info):
            meta = WHOLE if given is None else dict(WHOLE, **{CLIENT_INFO: given})
            answers.append([peer.call("%s %s" % (given is None, method), method, dict(params, _meta=meta))["result"]
                            for method, params in METHODS.items() if method != "subscriptions/listen"])
        assert answers[0] == answers[1]


@pytest.mark.spec("meta.info-no-behavior")
@pytest.mark.parametrize("info", [None, {"name": "a", "version": "1"}, {"name": "", "version": ""},
                                  {"name": "a" * 10000, "version": "x", "more": [1]}])
def test_who_the_server_says_it_is_changes_nothing(info):
    """[2026-07-28 basic/index §`_meta`] SHOULD NOT"""
    def listed(params):
        meta = {} if info is None else {"_meta": {SERVER_INFO: info}}
        return dict({"tools": [], "ttlMs": 0, "cacheScope": "private"}, **meta)

    with Scene(STATELESS, {"tools/list": listed}) as scene:
        assert list(scene.client.tools()) == [] and scene.client.list_tools().tools == []
