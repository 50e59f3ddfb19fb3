"""Apps that a server has: what hosts with and without them are sent, and what is refused before anything is served."""
import subprocess
import sys

import pytest

from mcp_ref import Client, Server, connect
from mcp_ref.errors import ToolError
from mcp_ref.limits import Limits
from mcp_ref.messages.tools import CallToolResult
from mcp_ref.server import Cache, Context, Extension, image
from tests.meta.facts import ROOT
from tests.support.patience import WAIT
from tests.support.scripted import ScriptedPeer
from tests.support.serving import ask, over

STATELESS = "2026-07-28"
APPS = "io.modelcontextprotocol/ui"
MEDIA_TYPE = "text/html;profile=mcp-app"
SHOWS = {"extensions": {APPS: {"mimeTypes": [MEDIA_TYPE]}}}
URI = "ui://weather/panel"
HTML = "<!-- a page -->\n<!DOCTYPE html><title>Weather</title>"
CSP = {"connectDomains": ["https://api.example.com", "wss://[::1]:8080"],
       "resourceDomains": ["https://*.example.com:8443"], "frameDomains": [],
       "baseUriDomains": ["http://localhost:3000"]}
UI = {"csp": CSP, "permissions": {"camera": {}, "clipboardWrite": {}}, "domain": "a9.example.com",
      "prefersBorder": False}
every_revision = over("apps.uri-scheme")


def serving(**options):
    """A server with a page and three tools: one for all, one for the page alone, one without a page."""
    server = Server("weather", **options)
    server.app(URI, HTML, name="panel", csp=CSP, permissions=["camera", "clipboardWrite"], domain="a9.example.com",
               prefers_border=False)

    @server.tool(ui=URI, meta={"com.example/kind": 1})
    def weather(ctx: Context) -> str:
        return "a page" if ctx.has_apps else "text"

    @server.tool(ui=URI, visibility=["app"])
    def refresh() -> None:
        """Tell the page what is new."""

    @server.tool
    def plain() -> str:
        return "plain"

    return server


def tools_of(peer):
    return {tool["name"]: tool.get("_meta") for tool in ask(peer, "tools/list")["result"]["tools"]}


@pytest.mark.spec("apps.uri-scheme", "apps.listed-mime-type", "apps.content-mime-type", "apps.content-text-or-blob",
                  "apps.tool-resource-exists", "apps.server-checks-client-capability")
@every_revision
def test_a_host_with_apps_gets_the_page_its_terms_and_the_tools_that_name_it(revision):
    with ScriptedPeer.of_server(serving()) as peer:
        assert peer.handshake(revision, SHOWS)["capabilities"]["extensions"] == {APPS: {}}
        assert tools_of(peer) == {
            "weather": {"com.example/kind": 1, "ui": {"resourceUri": URI}, "ui/resourceUri": URI},
            "refresh": {"ui": {"resourceUri": URI, "visibility": ["app"]}, "ui/resourceUri": URI},
            "plain": None}
        listed = ask(peer, "resources/list")["result"]["resources"]
        assert listed == [{"uri": URI, "name": "panel", "mimeType": MEDIA_TYPE, "size": len(HTML), "_meta": {"ui": UI}}]
        contents = ask(peer, "resources/read", {"uri": URI})["result"]["contents"]
        assert contents == [{"uri": URI, "mimeType": MEDIA_TYPE, "text": HTML, "_meta": {"ui": UI}}]
        assert ask(peer, "tools/call", {"name": "weather"})["result"]["content"][0]["text"] == "a page"
        assert ask(peer, "tools/call", {"name": "refresh"})["result"]["content"] == []


@pytest.mark.spec("apps.server-checks-client-capability", "apps.text-only-fallback")
@pytest.mark.parametrize("capabilities", [
    {}, {"extensions": {APPS: {}}}, {"extensions": {APPS: {"mimeTypes": ["text/html"]}}},
    {"extensions": {APPS: {"mimeTypes": MEDIA_TYPE}}}, {"extensions": {"com.example/ui": {"mimeTypes": [MEDIA_TYPE]}}},
])
@every_revision
def test_other_clients_get_the_tools_as_if_there_were_no_pages(revision, capabilities):
    with ScriptedPeer.of_server(serving()) as peer:
        peer.handshake(revision, capabilities)
        assert tools_of(peer) == {"weather": {"com.example/kind": 1}, "plain": None}
        result = ask(peer, "tools/call", {"name": "weather"})["result"]
        assert [block["text"] for block in result["content"]] == ["text"]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_a_client_of_a_revision_whose_tools_have_no_meta_is_as_one_without_apps(revision):
    with ScriptedPeer.of_server(serving()) as peer:
        assert peer.handshake(revision, SHOWS)["capabilities"]["extensions"] == {APPS: {}}
        assert tools_of(peer) == {"weather": None, "plain": None}
        assert ask(peer, "tools/call", {"name": "weather"})["result"]["content"][0]["text"] == "text"


def test_a_list_that_depends_on_the_client_is_nobody_elses():
    server = serving(cache={"tools/list": Cache(60, "public")})
    for capabilities in ({}, SHOWS):
        with ScriptedPeer.of_server(server) as peer:
            peer.begin(STATELESS, capabilities)
            result = ask(peer, "tools/list")["result"]
            assert (result["ttlMs"], result["cacheScope"]) == (60000, "private")


def test_pages_of_the_list_are_kept_apart_by_client_and_by_what_is_registered():
    server = serving(page_size=2)
    with ScriptedPeer.of_server(server) as peer:
        both = ["weather", "refresh"]
        for capabilities, first in ((SHOWS, both), ({}, ["weather"]), (SHOWS, both)):
            peer.begin(STATELESS, capabilities)
            result = ask(peer, "tools/list")["result"]
            assert [tool["name"] for tool in result["tools"]] == first
            result = ask(peer, "tools/list", {"cursor": result["nextCursor"]})["result"]
            assert [tool["name"] for tool in result["tools"]] == ["plain"] and "nextCursor" not in result
        server.remove_tool("weather")
        peer.begin(STATELESS, {})
        assert list(tools_of(peer)) == ["plain"]


def answering(value, strict=False, **options):
    server = Server("weather", strict=strict)
    server.app(URI, HTML)

    @server.tool(ui=URI, output_schema={"type": "object"} if isinstance(value, dict) else None, **options)
    def weather():
        if isinstance(value, Exception):
            raise value
        return value

    return server


@pytest.mark.spec("apps.result-content-always", "apps.text-only-fallback")
@every_revision
def test_a_result_without_content_fails_and_says_what_to_return(revision):
    for value in (None, CallToolResult(content=[])):
        with ScriptedPeer.of_server(answering(value)) as peer:
            peer.handshake(revision, SHOWS)
            result = ask(peer, "tools/call", {"name": "weather"})["result"]
            assert result["isError"] and "return text, too" in result["content"][0]["text"]
    for value in ({"degrees": 3}, "mild", ToolError("no such place")):
        with ScriptedPeer.of_server(answering(value)) as peer:
            peer.handshake(revision, SHOWS)
            assert "return text" not in ask(peer, "tools/call", {"name": "weather"})["result"]["content"][0]["text"]


@pytest.mark.spec("apps.text-only-fallback")
@every_revision
@pytest.mark.parametrize("value", [image(b"\x89PNG", "image/png"), " \n"])
def test_a_result_without_text_is_counted_or_refused_by_a_strict_server(revision, value):
    for strict in (False, True):
        server = answering(value, strict)
        with ScriptedPeer.of_server(server) as peer:
            peer.handshake(revision, SHOWS)
            result = ask(peer, "tools/call", {"name": "weather"})["result"]
            assert bool(result.get("isError")) is strict
            assert (peer.connection.counters["result for a page alone"] == 1) is not strict


def test_the_result_for_a_page_alone_needs_no_text_nor_does_that_of_a_tool_without_a_page():
    for options in ({"visibility": ["app"]}, {"ui": None, "visibility": ["model"]}):
        server = Server("weather")
        server.app(URI, HTML)
        server.tool(lambda: None, name="weather", **{"ui": URI, **options})
        with connect(server) as client:
            assert not client.call_tool("weather", {}).is_error


# Before serving


@pytest.mark.spec("apps.tool-resource-exists")
@every_revision
def test_a_tool_whose_page_is_missing_or_of_another_type_keeps_the_server_from_serving(revision):
    server = Server("weather")
    server.tool(lambda: "x", name="weather", ui=URI)
    with pytest.raises(ValueError, match="tool weather: the page ui://weather/panel is no resource; register it by"):
        server.resolve()
    with pytest.raises(ValueError, match="no resource"):
        connect(server)
    server.resource(URI, mime_type="text/html")(lambda: HTML)
    with pytest.raises(ValueError, match="is of the media type text/html; register"):
        server.resolve()
    server.remove_resource(URI)
    server.app(URI, HTML)
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(revision, SHOWS)
        assert tools_of(peer)["weather"]["ui"]["resourceUri"] == URI
        assert ask(peer, "resources/read", {"uri": URI})["result"]["contents"][0]["text"] == HTML


def test_the_page_may_be_made_at_each_read_also_by_a_template():
    server = Server("weather")
    server.tool(lambda: "x", name="one", ui=URI)
    server.tool(lambda: "x", name="two", ui="ui://pages/two")
    server.resource(URI, mime_type=MEDIA_TYPE)(lambda: HTML)
    server.resource("ui://pages/{name}", mime_type=MEDIA_TYPE)(lambda name: HTML + name)
    with connect(server) as client:
        contents = client.read_resource("ui://pages/two").contents[0]
        assert (contents.text, contents.mime_type) == (HTML + "two", MEDIA_TYPE)


def test_a_page_that_is_removed_later_does_not_keep_clients_out():
    server = serving()
    with connect(server):
        server.remove_resource(URI)
    with connect(server) as client:
        assert client.call_tool("plain", {}).content[0].text == "plain"


def test_a_server_that_has_only_a_page_has_no_tools():
    server = Server("weather")
    server.app(URI, HTML)
    with ScriptedPeer.of_server(server) as peer:
        assert set(peer.handshake("2025-11-25", SHOWS)["capabilities"]) == {"logging", "resources", "extensions"}


@pytest.mark.spec("apps.uri-scheme")
@every_revision
def test_only_uris_of_the_scheme_ui_are_pages(revision):
    server = Server("weather")
    for uri in ("https://weather/panel", "ui:weather", "ui://", "UI://weather", "ui://{place}", "ui://a b", None):
        with pytest.raises(ValueError, match="URI"):
            server.app(uri, HTML)
        if uri is not None:
            with pytest.raises(ValueError, match="URI"):
                server.tool(lambda: "x", name="weather", ui=uri)
    with ScriptedPeer.of_server(server) as peer:
        assert "extensions" not in peer.handshake(revision, SHOWS)["capabilities"]


@pytest.mark.parametrize("html, error, words", [
    (b"<!doctype html>", TypeError, "html is a str"),
    ("page.html", ValueError, "begins with <!doctype html>; this begins with 'page.html'"),
    ("<html></html>", ValueError, "begins with <!doctype html>"),
    ("<!doctype html>" + "\"" * 600, ValueError, r"the page has 12\d\d bytes as JSON, which exceeds max_message_bytes"),
])
def test_what_is_no_page_is_refused(html, error, words):
    server = Server("weather", limits=Limits(max_message_bytes=1200))
    with pytest.raises(error, match=words):
        server.app(URI, html)
    assert not server.has_feature("apps")


@pytest.mark.parametrize("member", ["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"])
@pytest.mark.parametrize("origin", [
    "*", "https://*", "https://*.com", "https:", "https://*.*.com", "https://a.*.com", "'unsafe-eval'", "data:",
    "api.example.com", "https://a.example; script-src *", "https://a.example/path", "https://a.example\n", "", 7, None,
    "https://user@a.example", "file:///etc",
])
def test_what_is_no_origin_is_refused(member, origin):
    with pytest.raises(ValueError, match="which is no origin such as https://api.example.com"):
        Server("weather").app(URI, HTML, csp={member: [origin]})


@pytest.mark.parametrize("member", ["connectDomains", "frameDomains", "baseUriDomains"])
def test_names_below_one_are_for_resources_alone(member):
    Server("weather").app(URI, HTML, csp={"resourceDomains": ["https://*.example.com"]})
    with pytest.raises(ValueError, match="no origin"):
        Server("weather").app(URI, HTML, csp={member: ["https://*.example.com"]})


@pytest.mark.parametrize("options, words", [
    ({"csp": {"connectDomain": []}}, "did you mean 'connectDomains'"), ({"csp": "https://a.example"}, "csp is a dict"),
    ({"csp": {"frameDomains": "https://a.example"}}, "csp.frameDomains is a list"),
    ({"permissions": ["usb"]}, "'usb' is none of camera"), ({"permissions": "camera"}, "permissions is a list"),
    ({"domain": 7}, "domain is a str"), ({"prefers_border": "yes"}, "prefersBorder is a bool"),
])
def test_other_terms_of_a_page_are_checked(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Server("weather").app(URI, HTML, **options)


@pytest.mark.parametrize("options, words", [
    ({"visibility": ["human"]}, "'human' is none of model, app"), ({"visibility": []}, "of no use"),
    ({"visibility": "app"}, "visibility is a list"), ({"ui": URI, "meta": {"ui": {}}}, "not in both"),
    ({"ui": URI, "meta": {"ui/resourceUri": URI}}, "not in both"),
])
def test_what_a_tool_says_of_its_page_is_checked(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Server("weather").tool(lambda: "x", name="weather", **options)


def test_a_server_without_pages_does_not_load_them():
    script = ("import sys; from mcp_ref import Server, connect; server = Server('x'); "
              "server.tool(lambda: 'x', name='x', meta={'a': 1}); client = connect(server); client.call_tool('x', {}); "
              "client.close(); sys.exit(any(name.endswith('registry.apps') for name in sys.modules))")
    assert subprocess.run([sys.executable, "-c", script], cwd=str(ROOT), timeout=WAIT).returncode == 0


def test_a_client_of_ours_can_say_that_it_shows_apps():
    class Shown(Extension):
        identifier = APPS
        since = None

        def settings(self, role):
            return {"mimeTypes": [MEDIA_TYPE]}

    for revision in ("2025-11-25", STATELESS):
        with connect(serving(), extensions=[Shown()], revisions=[revision]) as client:
            assert isinstance(client, Client) and APPS in client.server_extensions
            assert client.call_tool("weather", {}).content[0].text == "a page"
            assert [tool.name for tool in client.tools()] == ["weather", "refresh", "plain"]
