"""Resources: what is listed and read, which URIs are let in, and what is answered where nothing is to be had."""
import base64
import logging
import threading
import time

import pytest

from mcp_ref import Context, Server
from mcp_ref.errors import ResourceNotFound, RpcError
from mcp_ref.limits import Limits
from mcp_ref.messages.base import Annotations, Icon
from mcp_ref.messages.content import BlobResourceContents, TextResourceContents
from mcp_ref.messages.resources import ReadResourceResult
from mcp_ref.methods import lookup
from mcp_ref.revisions import revision as revision_named
from tests.protocol.test_uris import RIGHT, WRONG
from tests.support.requirements_table import HANDSHAKE, every_revision_of
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.serving import assert_masked

SENDABLE = {uri: words for uri, words in WRONG.items() if "\ud800" not in uri}  # a message with that is no JSON
every_revision = pytest.mark.parametrize("revision", HANDSHAKE)
BYTES = bytes(range(256))


def talk(server, revision):
    """A client of this server, operating."""
    peer = ScriptedPeer.of_server(server)
    peer.declared = peer.handshake(revision)["capabilities"]
    peer.barrier("ready")
    return peer


def read(peer, uri, id="read"):
    return peer.call(id, "resources/read", {"uri": uri})


def contents(peer, uri, id="read"):
    return read(peer, uri, id)["result"]["contents"]


def refused(function, uri, **options):
    """What is said against this registration."""
    with pytest.raises(ValueError) as caught:
        Server("x").resource(uri, **options)(function)
    return str(caught.value)


# -- Capability and list -----------------------------------------------------------------------------------------------

@pytest.mark.spec("resources.capability")
@pytest.mark.parametrize("revision", every_revision_of("resources.capability"))
@pytest.mark.parametrize("register", [
    lambda server, folder: server.resource("x://a")(lambda: ""),
    lambda server, folder: server.resource("x://{a}")(lambda a: ""),
    lambda server, folder: server.resources.add_fixed("", "x://a"),
    lambda server, folder: server.directory(folder),
    lambda server, folder: server.directory(folder, listed=False),
], ids=["resource", "template", "fixed", "directory", "directory as a template"])
def test_a_server_with_resources_of_any_kind_declares_them(register, revision, tmp_path):
    """[.. server/resources §Capabilities] MUST"""
    server = Server("x")
    register(server, tmp_path)
    with talk(server, revision) as peer:
        assert peer.declared["resources"] == {"subscribe": True, "listChanged": True}
        for number, method in enumerate(["resources/list", "resources/templates/list"]):
            assert "result" in peer.call(number, method)


@pytest.mark.spec("resources.capability")
@pytest.mark.parametrize("revision", every_revision_of("resources.capability"))
def test_a_server_without_any_declares_and_answers_nothing(revision):
    """[.. server/resources §Capabilities] MUST"""
    server = Server("x")
    server.tool(lambda: "", name="t")
    methods = ["list", "templates/list", "read", "subscribe", "unsubscribe"]
    with talk(server, revision) as peer:
        assert "resources" not in peer.declared
        for number, method in enumerate(methods):
            assert peer.call(number, "resources/" + method, {"uri": "x://a"})["error"]["code"] == -32601


@pytest.mark.spec("resources.list-changed")
@pytest.mark.parametrize("revision", every_revision_of("resources.list-changed"))
def test_clients_are_told_when_any_of_the_lists_has_changed(revision, tmp_path):
    """[.. server/resources §List Changed Notification] SHOULD"""
    server = Server("x")
    server.resource("x://old")(lambda: "")
    server.directory(tmp_path, uri="file:///old/")
    changes = [
        lambda: server.resource("x://new")(lambda: ""),
        lambda: server.resource("x://{new}")(lambda new: ""),
        lambda: server.resources.add_fixed(b"", "x://fixed"),
        lambda: server.directory(tmp_path, uri="file:///new/"),
        lambda: server.directory(tmp_path, uri="file:///many/", listed=False),
        lambda: server.remove_resource("x://old"),
        lambda: server.remove_resource("x://{new}"),
        lambda: server.remove_resource("file:///old/"),
        lambda: server.remove_resource("file:///many/{+path}"),
    ]
    with talk(server, revision) as peer:
        peer.listen(resourcesListChanged=True)
        for number, change in enumerate(changes):
            change()
            assert [message["method"] for message in peer.barrier(number)] == ["notifications/resources/list_changed"]


@every_revision
def test_resources_are_listed_with_all_that_the_revision_has_for_them(revision):
    """[.. server/resources §Resource]"""
    rules, server = revision_named(revision), Server("x")
    annotations = Annotations(["user", "assistant"], 0.5, "2025-01-12T15:00:58Z")
    icons = [Icon("https://example.com/a.png", "image/png", ["48x48"])]
    shown = dict(title="A", description="The a.", mime_type="text/x-a", annotations=annotations, icons=icons,
                 meta={"example.com/k": 1})
    server.resource("x://a", name="a", size=5, **shown)(lambda: "12345")
    server.resource("x://{b}", name="b", **shown)(lambda b: b)
    with talk(server, revision) as peer:
        resource, = peer.call(1, "resources/list")["result"]["resources"]
        template, = peer.call(2, "resources/templates/list")["result"]["resourceTemplates"]
    wanted = {"description": "The a.", "mimeType": "text/x-a",
              "annotations": {"audience": ["user", "assistant"], "priority": 0.5}}
    if rules.titles:
        wanted.update(title="A", _meta={"example.com/k": 1})
        wanted["annotations"]["lastModified"] = "2025-01-12T15:00:58Z"
    if rules.icons:
        wanted["icons"] = [{"src": "https://example.com/a.png", "mimeType": "image/png", "sizes": ["48x48"]}]
    assert resource == dict(wanted, uri="x://a", name="a", size=5)
    assert template == dict(wanted, uriTemplate="x://{b}", name="b")


@every_revision
def test_names_descriptions_and_sizes_come_from_what_is_there(revision):
    """[.. server/resources §Resource]"""
    server = Server("x")

    @server.resource("x://documented")
    def documented():
        """What it is."""

    server.resource("x://lambda")(lambda: "")
    server.resources.add_fixed("h\u00e9", "x://text", name="text")
    server.resources.add_fixed(BYTES, "x://bytes")
    server.resources.add_fixed({"a": 1}, "x://json")
    server.resources.add_fixed("five!", "x://sized", size=99)
    with talk(server, revision) as peer:
        listed = peer.call(1, "resources/list")["result"]["resources"]
        assert [(each["name"], each.get("description"), each.get("size")) for each in listed] == [
            ("documented", "What it is.", None), ("x://lambda", None, None), ("text", None, 3),
            ("x://bytes", None, 256), ("x://json", None, None), ("x://sized", None, 99)]
        assert contents(peer, "x://text") == [{"uri": "x://text", "text": "h\u00e9", "mimeType": "text/plain"}]
        assert base64.b64decode(contents(peer, "x://bytes", 2)[0]["blob"]) == BYTES
        assert contents(peer, "x://json", 3)[0]["text"] == '{"a":1}'


# -- URIs --------------------------------------------------------------------------------------------------------------

ABOUT_A_URI = [
    (method, revision) for method in ("resources/read", "resources/subscribe", "resources/unsubscribe")
    for revision in every_revision_of("resources.validate-uris") if lookup(method, revision_named(revision)) is not None
]


@pytest.mark.spec("resources.validate-uris")
@pytest.mark.parametrize("method, revision", ABOUT_A_URI)
def test_what_is_no_uri_is_refused_before_anything_of_the_authors_runs(method, revision):
    """[.. server/resources §Security Considerations] MUST"""
    server, reached = Server("x"), []
    server.resource("x://a")(lambda: "")

    @server.resource("x:{+anything}")
    def everything(anything):
        reached.append(anything)
        return ""

    with talk(server, revision) as peer:
        for number, (uri, words) in enumerate(SENDABLE.items()):
            error = peer.call(number, method, {"uri": uri})["error"]
            assert error["code"] == -32602 and words.replace("'", "") in error["message"].replace("'", ""), uri
            assert error["message"].startswith("Invalid params: params.uri is not a URI: ")
        assert reached == []
        assert "result" in peer.call("right", method, {"uri": "x:right"})


@pytest.mark.spec("resources.validate-uris")
@pytest.mark.parametrize("method, revision", ABOUT_A_URI)
@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": 5}, {"uri": ["x://a"]}, {"uri": {}}, {"URI": "x://a"}])
def test_params_without_a_uri_are_refused_with_its_path(params, method, revision):
    """[.. server/resources §Security Considerations] MUST"""
    server = Server("x")
    server.resource("x://a")(lambda: "")
    with talk(server, revision) as peer:
        error = peer.call(1, method, params)["error"]
        assert error["code"] == -32602 and "params.uri" in error["message"]


@pytest.mark.spec("resources.validate-uris")
@pytest.mark.parametrize("revision", every_revision_of("resources.validate-uris"))
def test_a_uri_that_is_too_long_is_refused_by_the_name_of_the_limit(revision):
    """[.. server/resources §Security Considerations] MUST"""
    server, reached = Server("x", limits=Limits(max_uri_length=50)), []
    server.resource("x://{a}")(lambda a: str(reached.append(a)))
    with talk(server, revision) as peer:
        assert "result" in read(peer, "x://" + "a" * 46)
        error = read(peer, "x://" + "a" * 47, 2)["error"]
        assert error["code"] == -32602 and "max_uri_length (50)" in error["message"] and len(reached) == 1


@pytest.mark.spec("resources.validate-uris")
@pytest.mark.parametrize("revision", every_revision_of("resources.validate-uris"))
def test_every_right_uri_reaches_whoever_serves_it(revision):
    """[.. server/resources §Security Considerations] MUST"""
    server = Server("x")
    for uri in RIGHT:
        server.resources.add_fixed(uri, uri)
    with talk(server, revision) as peer:
        assert [contents(peer, uri, uri)[0]["text"] for uri in RIGHT] == RIGHT


@pytest.mark.spec("resources.custom-scheme-rfc3986")
@pytest.mark.parametrize("uri", [uri for uri in WRONG if "{" not in uri] + [
    "{a}", "{+a}", "1{a}:b", "{a}://b", "x://h:p{a}/", "x://[{a}]/", "x://h/#a#{a}", "x/{a}", "x://h:{a}b/"], ids=ascii)
def test_a_uri_against_rfc_3986_is_refused_when_it_is_registered(uri):
    """[2025-06-18.. server/resources §Custom URI Schemes] MUST"""
    function = (lambda a: "") if "{" in uri else (lambda: "")
    assert "needs an absolute URI such as config://app" in refused(function, uri)


@pytest.mark.spec("resources.custom-scheme-rfc3986")
@pytest.mark.parametrize("revision", every_revision_of("resources.custom-scheme-rfc3986"))
def test_any_scheme_of_the_grammar_can_be_registered_and_read(revision):
    """[2025-06-18.. server/resources §Custom URI Schemes] MUST"""
    server = Server("x")
    uris = ["a:b", "A:b", "a1+-.:b", "a-very-long-scheme-of-ones-own://x"]
    for uri in uris:
        server.resources.add_fixed(uri, uri)
    server.resource("db{n}://{table}/{?limit,tags*}")(lambda n, table, limit="", tags=None: "%s %s" % (n, table))
    with talk(server, revision) as peer:
        assert [contents(peer, uri, uri)[0]["text"] for uri in uris] == uris
        assert contents(peer, "db7://users/?limit=3&tags=a&tags=b")[0]["text"] == "7 users"


# -- Reading -----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("resources.not-found-32002")
@pytest.mark.parametrize("revision", every_revision_of("resources.not-found-32002"))
def test_a_uri_that_nobody_has_is_answered_with_the_code_of_the_revision_and_the_uri(revision, tmp_path):
    """[..2025-11-25 server/resources §Error Handling] SHOULD"""
    server = Server("x")
    server.resource("x://a")(lambda: "")

    @server.resource("n://{n}")
    def up_to_three(n: int) -> str:
        if n > 3:
            raise ResourceNotFound("secret: only three of them")
        return str(n)

    server.directory(tmp_path, uri="file:///d/")
    nowhere = ["y://a", "x://b", "x://a/", "x://A", "X://a", "x://a?", "x://a#", "x:a", "n://x", "n://", "n://4",
               "n://1/2", "n://1.5", "file:///d/", "file:///d/none", "file:///", "urn:a"]
    with talk(server, revision) as peer:
        for id, uri in enumerate(nowhere):
            assert read(peer, uri, id) == {"jsonrpc": "2.0", "id": id, "error": {
                "code": -32002, "message": "Resource not found", "data": {"uri": uri}}}
        assert contents(peer, "n://3")[0]["text"] == "3"


@pytest.mark.spec("resources.not-found-32002")
@pytest.mark.parametrize("revision", every_revision_of("resources.not-found-32002"))
def test_what_was_removed_is_not_found_any_more(revision, tmp_path):
    """[..2025-11-25 server/resources §Error Handling] SHOULD"""
    (tmp_path / "f").write_text("f")
    server = Server("x")
    server.resource("x://a")(lambda: "")
    server.resource("y://{a}")(lambda a: "")
    server.directory(tmp_path, uri="file:///d/")
    uris = {"x://a": "x://a", "y://{a}": "y://b", "file:///d/": "file:///d/f"}
    with talk(server, revision) as peer:
        for registered, uri in uris.items():
            assert "result" in read(peer, uri, uri)
            server.remove_resource(registered)
            assert read(peer, uri, uri + "2")["error"]["code"] == -32002
            with pytest.raises(KeyError):
                server.remove_resource(registered)


@pytest.mark.spec("resources.internal-error")
@pytest.mark.parametrize("revision", every_revision_of("resources.internal-error"))
@pytest.mark.parametrize("value", [
    lambda: 1 / 0, lambda: {}["secret"], lambda: object(), lambda: float("nan"),
    lambda: BlobResourceContents("x://a", "?"), lambda: [TextResourceContents("no uri", "x")],
    lambda: ReadResourceResult([TextResourceContents("x://a", 5)]), lambda: ReadResourceResult(["secret"]),
    lambda: {"secret": object()},
], ids=range(9))
def test_a_failing_function_is_an_internal_error_without_its_text(value, revision, caplog):
    """[.. server/resources §Error Handling] SHOULD"""
    server = Server("x", mask_errors=True)
    server.resource("x://a")(value)
    server.resource("t://{a}")(lambda a: value())
    with talk(server, revision) as peer, caplog.at_level(logging.ERROR):
        for number, uri in enumerate(["x://a", "t://a"]):
            assert_masked(read(peer, uri, number)["error"])
        assert peer.connection.counters["handler errors"] == 2
    assert len([record for record in caplog.records if record.exc_info]) == 2


@every_revision
def test_an_error_that_the_function_chooses_goes_out_as_it_is(revision):
    """[.. server/resources §Error Handling]"""
    server = Server("x")

    @server.resource("x://{a}")
    def own(a):
        raise RpcError(-32010, "Not today", {"a": a})

    with talk(server, revision) as peer:
        assert read(peer, "x://b")["error"] == {"code": -32010, "message": "Not today", "data": {"a": "b"}}


@pytest.mark.spec("resources.binary-encoded")
@pytest.mark.parametrize("revision", every_revision_of("resources.binary-encoded"))
@pytest.mark.parametrize("data", [b"", b"\0", b"ab", b"abc", BYTES, b"\xfb\xff\xfe" * 1000], ids=len)
def test_binary_data_is_base64_with_padding_and_the_standard_alphabet(data, revision):
    """[.. server/resources §Security Considerations] MUST"""
    server = Server("x")
    server.resource("x://a", mime_type="image/png")(lambda: data)
    server.resource("x://{b}")(lambda b: bytearray(data))
    server.resource("y://a")(lambda: memoryview(data))
    with talk(server, revision) as peer:
        encoded = base64.b64encode(data).decode()
        assert contents(peer, "x://a") == [{"uri": "x://a", "blob": encoded, "mimeType": "image/png"}]
        assert contents(peer, "x://c", 2) == [
            {"uri": "x://c", "blob": encoded, "mimeType": "application/octet-stream"}]
        assert contents(peer, "y://a", 3)[0]["blob"] == encoded


@pytest.mark.spec("resources.binary-encoded")
@pytest.mark.parametrize("revision", every_revision_of("resources.binary-encoded"))
@pytest.mark.parametrize("blob", [
    "a", "ab=", "ab=c", "a b=", "ab==\n", "_-==", "\u00e9abc", "====", "ab===", b"abcd", None], ids=ascii)
def test_binary_data_that_an_author_encoded_wrongly_is_not_sent(blob, revision):
    """[.. server/resources §Security Considerations] MUST"""
    server = Server("x")
    server.resource("x://a")(lambda: BlobResourceContents("x://a", blob))
    server.resource("x://b")(lambda: ReadResourceResult([BlobResourceContents("x://b", blob)]))
    server.resource("x://c")(lambda: BlobResourceContents("x://c", "abcd"))
    with talk(server, revision) as peer:
        for number, uri in enumerate(["x://a", "x://b"]):
            assert read(peer, uri, number)["error"]["code"] == -32603
        assert contents(peer, "x://c") == [{"uri": "x://c", "blob": "abcd"}]


@every_revision
def test_a_function_may_give_several_contents_with_uris_of_their_own(revision):
    """[.. server/resources §Reading Resources]"""
    server = Server("x")
    parts = [TextResourceContents("x://a/1", "one", "text/plain"), BlobResourceContents("x://a/2", "AAEC")]
    server.resource("x://a")(lambda: parts)
    server.resource("x://b")(lambda: ReadResourceResult(parts))
    server.resource("x://c")(lambda: ReadResourceResult([]))
    wanted = [{"uri": "x://a/1", "text": "one", "mimeType": "text/plain"}, {"uri": "x://a/2", "blob": "AAEC"}]
    with talk(server, revision) as peer:
        assert [contents(peer, uri, uri) for uri in ["x://a", "x://b", "x://c"]] == [wanted, wanted, []]


@every_revision
def test_a_resource_comes_before_a_template_and_templates_in_their_order(revision):
    """[.. server/resources §Resource Templates]"""
    server = Server("x")
    server.resource("x://{a}")(lambda a: "first")
    server.resource("x://{b}/{c}")(lambda b, c: "second")
    server.resource("x://{+d}")(lambda d: "third")
    server.resource("x://here")(lambda: "fixed")
    with talk(server, revision) as peer:
        found = {uri: contents(peer, uri, uri)[0]["text"] for uri in ["x://here", "x://a", "x://a/b", "x://a/b/c"]}
    assert found == {"x://here": "fixed", "x://a": "first", "x://a/b": "second", "x://a/b/c": "third"}


@every_revision
def test_variables_arrive_decoded_and_typed_beside_the_context(revision):
    """[.. server/resources §Resource Templates]"""
    server, seen = Server("x"), []

    @server.resource("x://{name}/{n}{?tags*,flag}")
    def get(name: str, n: int, ctx: Context, tags: list = (), flag: bool = False) -> str:
        seen.append((name, n, list(tags), flag, ctx.request_id))
        return ""

    with talk(server, revision) as peer:
        read(peer, "x://a%20%2F%C3%A9/12?tags=a&tags=b%26c&flag=true", "ID")
        read(peer, "x://..%01/0", "ID2")
    assert seen == [("a /\u00e9", 12, ["a", "b&c"], True, "ID"), ("..\x01", 0, [], False, "ID2")]


@every_revision
def test_hostile_uris_cost_little_however_many_variables_there_are(revision):
    """[.. server/resources §Security Considerations]"""
    server = Server("x", limits=Limits(max_uri_length=100_000))
    names = ["v%d" % number for number in range(200)]
    server.resource("x://" + "-".join("{%s}" % name for name in names))(eval("lambda %s: str(v0)" % ", ".join(names)))
    server.resource("y://{+a}/{+b}/{+c}/{+d}{?q*}")(lambda a, b, c, d, q=None: "y")
    with talk(server, revision) as peer:
        start = time.monotonic()
        for number, uri in enumerate(["x://" + "a-" * 40_000, "x://" + "-" * 90_000, "y://" + "/" * 90_000,
                                      "y://" + "a/" * 40_000 + "?" + "b&" * 4_000, "x://" + "%2D" * 30_000]):
            assert peer.call(number, "resources/read", {"uri": uri})["id"] == number
        assert time.monotonic() - start < 5


# -- Registration ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options, words", [
    ({"annotations": Annotations(priority=1.01)}, "priority"),
    ({"annotations": Annotations(priority=-0.1)}, "priority"),
    ({"annotations": Annotations(priority=True)}, "priority"),
    ({"annotations": Annotations(priority=float("nan"))}, "priority"),
    ({"annotations": Annotations(audience=["user", "model"])}, "audience[1]"),
    ({"annotations": Annotations(audience=[])}, None),
    ({"annotations": Annotations(priority=0)}, None),
    ({"annotations": Annotations(priority=1)}, None),
    ({"annotations": Annotations(last_modified="yesterday")}, "lastModified"),
    ({"annotations": Annotations(last_modified="2025-02-30")}, "lastModified"),
    ({"annotations": Annotations(last_modified="2025-01-12T15:00:58Z")}, None),
    ({"icons": [Icon("javascript:alert(1)")]}, "icons[0].src"),
    ({"mime_type": "text"}, "mimeType"),
    ({"mime_type": "text/plain; charset=utf-8"}, None),
    ({"meta": {"io.modelcontextprotocol/x": 1}}, "_meta"),
    ({"size": -1}, "size"),
    ({"size": 1.5}, "size"),
    ({"size": True}, "size"),
    ({"size": 0}, None),
])
def test_what_is_said_of_a_resource_is_checked_when_it_is_registered(options, words):
    """[2025-06-18.. server/resources §Annotations]"""
    if words is None:
        Server("x").resource("x://a", **options)(lambda: "")
        return
    assert words in refused(lambda: "", "x://a", **options)
    if "size" not in options:
        assert words in refused(lambda a: "", "x://{a}", **options)


@pytest.mark.parametrize("register, words", [
    (lambda s: [s.resource("x://a")(lambda: "") for _ in range(2)], "already"),
    (lambda s: [s.resource("x://{a}")(lambda a: "") for _ in range(2)], "already"),
    (lambda s: s.resource("x://{a}")(lambda b: ""), "takes b"),
    (lambda s: s.resource("x://a")(lambda b: ""), "takes b"),
    (lambda s: s.resource("x://{a}")(lambda: ""), "takes nothing"),
    (lambda s: s.resource("x://{a")(lambda a: ""), "not closed"),
    (lambda s: s.resource("x://a}")(lambda: ""), "'}'"),
    (lambda s: s.resource("x://{a}{b}")(lambda a, b: ""), "nothing tells"),
    (lambda s: s.resources.add_fixed("", "x://{a}"), "not a template"),
])
def test_mistakes_show_when_a_resource_is_registered(register, words):
    with pytest.raises(ValueError) as caught:
        register(Server("x"))
    assert words in str(caught.value)


@pytest.mark.race
def test_resources_can_come_and_go_while_they_are_listed_and_read():
    server, stop = Server("x", page_size=3), threading.Event()
    for number in range(9):
        server.resources.add_fixed(str(number), "x://%d" % number)

    def change():
        number = 0
        while not stop.is_set():
            number += 1
            server.resources.add_fixed("new", "y://%d" % number)
            server.resource("t%d://{a}" % number)(lambda a: a)
            server.remove_resource("y://%d" % number)
            server.remove_resource("t%d://{a}" % number)

    thread = threading.Thread(target=change, daemon=True)
    with talk(server, "2025-11-25") as peer:
        thread.start()
        try:
            for round in range(5):
                uris, cursor = [], None
                while cursor is not None or not uris:
                    id = "%d %d" % (round, len(uris))
                    page = peer.call(id, "resources/list", {} if cursor is None else {"cursor": cursor})["result"]
                    uris += [each["uri"] for each in page["resources"]]
                    cursor = page.get("nextCursor")
                assert [uri for uri in uris if uri.startswith("x:")] == ["x://%d" % number for number in range(9)]
                assert contents(peer, "x://4", "r%d" % round)[0]["text"] == "4"
        finally:
            stop.set()
            thread.join(PATIENCE)
    assert not thread.is_alive()
