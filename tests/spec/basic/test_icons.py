"""Icons: which of those that a server names a client may show."""
import base64
import time
from typing import Any, List, Optional, Tuple

import pytest

from mcp_ref.client.icons import fault, image_type, usable_icons
from mcp_ref.codec import decode
from mcp_ref.limits import Limits
from mcp_ref.messages.base import Icon, Implementation
from mcp_ref.messages.prompts import Prompt
from mcp_ref.messages.resources import Resource, ResourceTemplate
from mcp_ref.messages.tools import Tool
from mcp_ref.revisions import revision as revision_named
from tests.support.conversation import conversation
from tests.support.requirements_table import every_revision_of

ORIGIN = "https://mcp.example.com"
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"
WEBP, GIF, SVG = b"RIFF\x10\x00\x00\x00WEBPVP8 ", b"GIF89a", b"<svg xmlns='http://www.w3.org/2000/svg'/>"


def data(kind: str, content: bytes) -> str:
    """A data: URI."""
    return "data:%s;base64,%s" % (kind, base64.b64encode(content).decode("ascii"))


def icons(*sources: str) -> List[Icon]:
    return [Icon(src) for src in sources]


def tool_with(sources: List[str], revision: str) -> Any:
    """A tool with these icons, as it came from a server."""
    came = {"name": "x", "inputSchema": {"type": "object"}, "icons": [{"src": src} for src in sources]}
    return decode(Tool, came, revision_named(revision), "tool")


UNSAFE = [
    "javascript:alert(1)", "JavaScript:alert(1)", "java\tscript:alert(1)", " javascript:alert(1)",
    "javascript://mcp.example.com/%0aalert(1)", "vbscript:x", "file:///etc/passwd", "FILE:///C:/x.png",
    "file://mcp.example.com/x.png", "ftp://mcp.example.com/x.png", "ftps://mcp.example.com/x.png",
    "ws://mcp.example.com/x", "wss://mcp.example.com/x", "http://mcp.example.com/x.png", "HTTP://mcp.example.com/x.png",
    "blob:https://mcp.example.com/1", "filesystem:https://mcp.example.com/1", "view-source:https://mcp.example.com/",
    "about:blank", "chrome://settings", "ms-settings:x", "vscode://x", "app:icon", "jar:https://mcp.example.com!/x.png",
    "intent://mcp.example.com/#Intent;end", "mailto:a@mcp.example.com", "tel:1", "resource://x", "urn:x", "cid:x",
    "unix:///run/x", "tcp://mcp.example.com:443", "git+https://mcp.example.com/x.png", "httpss://mcp.example.com/x",
    "gopher://mcp.example.com/x",
]
NO_URI = [
    "", " ", "icon.png", "/icon.png", "//mcp.example.com/x.png", "https", "https:", "https://", "https:///x.png",
    "https:/mcp.example.com/x.png", "https:mcp.example.com/x.png", " https://mcp.example.com/x.png",
    "https://mcp.example.com/x.png ", "\nhttps://mcp.example.com/x.png", "https://mcp.example.com/x y.png",
    "ht\ttps://mcp.example.com/x.png", "https://mcp.exa\nmple.com/x.png", "https:\\\\mcp.example.com\\x.png",
    "https://mcp.example.com\\@evil.example/x.png", "https://mcp.example.com:x/x.png",
    "https://mcp.example.com:99999/x.png", "https://mcp.example.com/%zz", "https://mcp%2eexample.com/x.png",
    "https://[mcp.example.com/x.png", "\ufeffhttps://mcp.example.com/x.png", "https://mcp.example.com/\u202egnp.x",
    "https://" + "a" * 9000, "data", "\x00https://mcp.example.com/x.png", "https;//mcp.example.com",
]
ELSEWHERE = [
    "https://evil.example/x.png", "https://example.com/x.png", "https://sub.mcp.example.com/x.png",
    "https://mcp.example.com.evil.example/x.png", "https://mcp.example.org/x.png", "https://xmcp.example.com/x.png",
    "https://mcp.example.com:8443/x.png", "https://mcp.example.com:80/x.png", "https://mcp.example.com:0/x.png",
    "https://mcp-example.com/x.png", "https://evil.example/?https://mcp.example.com/x.png",
    "https://evil.example/#@mcp.example.com/x.png", "https://evil.example#mcp.example.com/x.png",
    "https://127.0.0.1/x.png", "https://[::1]/x.png", "https://localhost/x.png", "https://2130706433/x.png",
    "https://169.254.169.254/latest/meta-data", "https://xn--mcp-xample-c7a.com/x.png",
    "https://mcp.examp1e.com/x.png",
    "https://m\u0441p.example.com/x.png", "https://mcp\u3002example\u3002com/x.png",
    "https://\u24dccp.example.com/x.png",
    "https://mcp.ex\u00ad\u200bample.com/x.png", "https://mcp.example.com./x.png",
]
CREDENTIALS = [
    "https://mcp.example.com@evil.example/x.png", "https://user:pw@mcp.example.com/x.png",
    "https://user@mcp.example.com/x.png", "https://@mcp.example.com/x.png", "https://:@mcp.example.com/x.png",
    "https://a@b@mcp.example.com/x.png",
]
SAME = [
    "https://mcp.example.com/x.png", "https://mcp.example.com", "https://mcp.example.com/?size=48",
    "HTTPS://MCP.Example.COM/x",
    "https://mcp.example.com:443/x.webp", "https://mcp.example.com:/x.jpg", "https://mcp.example.com/a/../b%20c.png#x",
]
WHOLE = [
    data("image/png", PNG), data("image/jpeg", JPEG), data("image/jpg", JPEG), data("image/webp", WEBP),
    data("IMAGE/PNG", PNG), "DATA" + data("image/png", PNG)[4:],
]
NOT_WHOLE = [
    data("text/html", b"<script>alert(1)</script>"), data("text/html", PNG), data("image/svg+xml", SVG),
    data("image/gif", GIF), data("application/octet-stream", PNG), data("image/png", SVG), data("image/png", GIF),
    data("image/png", JPEG), data("image/jpeg", PNG), data("image/png", b""), data("image/x-icon", PNG),
    data("image/png", b"<html>"), data("image/webp", b"RIFF\x10\x00\x00\x00WAVE"), data("image/webp", b"XXXX1234WEBP"),
    data("image/*", PNG), data("image/png\n", PNG), data("image/png,text/html", PNG), data("", PNG), data("png", PNG),
    data("image/png;charset=utf-8", PNG), "data:image/png," + "%89PNG", "data:image/png;base64,", "data:,x", "data:",
    "data:image/png;base64," + "iVBORw0KGgo", "data:image/png;base64,iVBORw0K Ggo=",
    "data:image/png;base64,iVBORw0KGgo=\n",
    "data:image/png;base64,iVBORw0KGgo=#x", "data:image/png;base64;base64,iVBORw0KGgo=", "data:image/png;BASE65,AAAA",
    "data:text/html;image/png;base64,iVBORw0KGgo=", "data://image/png;base64,iVBORw0KGgo=",
    " " + data("image/png", PNG),
    "data:image/png;base64,iVBORw0K%0AGgo=", "data:image/p\u0144g;base64,iVBORw0KGgo=",
]


@pytest.mark.spec("icons.reject-unsafe-schemes", "icons.uri-scheme")
@pytest.mark.parametrize("revision", every_revision_of("icons.reject-unsafe-schemes", "icons.uri-scheme"))
@pytest.mark.parametrize("src", UNSAFE + NO_URI, ids=ascii)
@pytest.mark.parametrize("trusted", [(), ("mcp.example.com", "evil.example")])
def test_icons_at_other_than_https_and_data_uris_are_refused(
    src: str, trusted: Tuple[str, ...], revision: str
) -> None:
    """[2025-11-25.. basic/index §`icons`] MUST"""
    tool = tool_with([src], revision)
    for origin in (None, ORIGIN, "http://mcp.example.com", src or None):
        assert usable_icons(tool, origin, trusted=trusted, svg=True) == []
    assert "https" in fault(tool.icons[0], ORIGIN)


@pytest.mark.spec("icons.same-origin")
@pytest.mark.parametrize("revision", every_revision_of("icons.same-origin"))
@pytest.mark.parametrize("src", ELSEWHERE + CREDENTIALS, ids=ascii)
def test_icons_of_another_origin_are_refused(src: str, revision: str) -> None:
    """[2025-11-25.. basic/index §`icons`] MUST"""
    prompt = decode(Prompt, {"name": "x", "icons": [{"src": src}]}, revision_named(revision), "prompt")
    for origin in (None, ORIGIN, ORIGIN + ":443/mcp?x#y", "tcp://mcp.example.com:443", "http://mcp.example.com:443"):
        assert usable_icons(prompt, origin) == []
    assert fault(prompt.icons[0], ORIGIN)


@pytest.mark.spec("icons.same-origin")
@pytest.mark.parametrize("src", SAME)
@pytest.mark.parametrize("origin, usable", [
    (ORIGIN, True), ("https://mcp.example.com/mcp", True), ("https://MCP.example.com:443", True),
    ("https://mcp.example.com:8443", False), ("http://mcp.example.com", False), ("http://mcp.example.com:443", False),
    ("https://example.com", False), (None, False), ("", False), ("tcp://mcp.example.com:443", False), ("stdio", False),
    ("https://user@mcp.example.com", False), ("https://", False), ("null", False),
])
def test_icons_of_the_servers_own_https_origin_are_usable(src: str, origin: Optional[str], usable: bool) -> None:
    """[2025-11-25.. basic/index §`icons`] MUST"""
    item = Resource("test://x", "x", icons=icons(src))
    assert usable_icons(item, origin) == (item.icons if usable else [])


@pytest.mark.parametrize("origin, src, usable", [
    ("https://mcp.example.com:8443/mcp", "https://mcp.example.com:8443/x.png", True),
    ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443/x.png", True),
    ("https://[2001:db8::1]", "https://[2001:db8::2]/x.png", False),
    ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example/x.png", True),
    ("https://b\u00fccher.example", "https://xn--bcher-kva.example/x.png", True),
    ("https://b\u00fccher.example", "https://b\u00fccher.example/x.png", False),
])
def test_origins_are_compared_by_host_and_port_in_ascii(origin: str, src: str, usable: bool) -> None:
    """A URI is ASCII, so one with other letters is none, however it would be mapped."""
    assert (fault(Icon(src), origin) == "") == usable


@pytest.mark.spec("icons.src-trusted-domain")
@pytest.mark.parametrize("revision", every_revision_of("icons.src-trusted-domain"))
@pytest.mark.parametrize("origin", [None, ORIGIN])
def test_icons_of_trusted_hosts_are_usable_and_of_no_host_beside_them(origin: Optional[str], revision: str) -> None:
    """[2025-11-25.. basic/index §`icons`] SHOULD"""
    sources = [
        "https://cdn.example.net/x.png", "https://CDN.example.net:443/x.png", "https://cdn.example.net:444/x.png",
        "https://x.cdn.example.net/x.png", "https://example.net/x.png", "http://cdn.example.net/x.png",
        "https://cdn.example.net@evil.example/x.png", "https://xn--r8jz45g.example/x.png",
    ]
    tool = tool_with(sources, revision)
    assert usable_icons(tool, origin) == []
    shown = usable_icons(tool, origin, trusted=["Cdn.Example.net", "xn--r8jz45g.example"])
    assert [icon.src for icon in shown] == sources[:2] + sources[-1:]


@pytest.mark.parametrize("host", [
    "", "https://cdn.example.net", "cdn.example.net/", "cdn.example.net:443", "*.example.net", "a b", "user@host", ".",
    "b\u00fccher.example", "[::1]", "cdn.example.net?x", "cdn.example.net#",
])
def test_a_trusted_host_is_a_plain_name(host: str) -> None:
    with pytest.raises(ValueError, match="trusted: .* is not a host name"):
        usable_icons(Tool("x", {}), ORIGIN, trusted=[host])


@pytest.mark.spec("icons.uri-scheme")
@pytest.mark.parametrize("src", WHOLE)
@pytest.mark.parametrize("origin", [None, ORIGIN, "http://localhost:8000"])
def test_images_that_come_whole_are_usable_from_any_server(src: str, origin: Optional[str]) -> None:
    """[2025-11-25.. basic/index §`icons`] MUST"""
    assert fault(Icon(src), origin) == ""


@pytest.mark.parametrize("src", NOT_WHOLE, ids=ascii)
def test_data_that_is_no_image_of_the_list_is_refused(src: str) -> None:
    """[2025-11-25.. basic/index §`icons`] MUST"""
    assert fault(Icon(src), ORIGIN)


@pytest.mark.parametrize("src, mime_type, usable", [
    (data("image/png", PNG), "image/png", True), (data("image/jpg", JPEG), "image/jpeg", True),
    (data("image/jpeg", JPEG), "IMAGE/JPG", True), (data("image/png", PNG), "image/jpeg", False),
    (data("image/png", PNG), "text/html", False), (data("image/png", PNG), "", False),
    (SAME[0], "image/png", True), (SAME[0], "image/webp", True), (SAME[0], "text/html", False),
    (SAME[0], "image/svg+xml", False), (SAME[0], "image/gif", False), (SAME[0], "image/png; x=1", False),
])
def test_a_stated_type_is_one_of_the_list_and_that_of_the_data(src: str, mime_type: str, usable: bool) -> None:
    """[2025-11-25.. basic/index §`icons`] MUST"""
    assert (fault(Icon(src, mime_type), ORIGIN) == "") == usable


@pytest.mark.parametrize("icon", [
    Icon(data("image/svg+xml", SVG)), Icon(data("image/svg+xml", b"\n<?xml version='1.0'?><svg/>")),
    Icon("https://mcp.example.com/x.svg"), Icon("https://mcp.example.com/x.SVG?x=1#y"),
    Icon("https://mcp.example.com/x.svgz"), Icon(SAME[0], "image/svg+xml"),
])
def test_svg_has_to_be_asked_for(icon: Icon) -> None:
    """[2025-11-25.. basic/index §`icons`]"""
    assert fault(icon, ORIGIN) and fault(icon, ORIGIN, svg=True) == ""
    assert fault(Icon(data("image/svg+xml", b"<html>")), svg=True) == "its bytes are no image/svg+xml"


def test_data_beyond_the_limit_is_refused_which_names_it() -> None:
    """[2025-11-25.. basic/index §`icons`]"""
    limits = Limits(max_icon_bytes=1000)
    assert fault(Icon(data("image/png", PNG + b"x" * 900)), limits=limits) == ""
    assert fault(Icon(data("image/png", PNG + b"x" * 1100)), limits=limits) == (
        "its data: URI exceeds max_icon_bytes (1000)")


@pytest.mark.parametrize("src", [
    "data:" + "a" * 60_000, "data:image/png;base64," + "A" * 60_000 + "!", "https://" + "a." * 4000,
    "https://" + "@" * 8000, "data:image/png;base64," + "=" * 60_000, "https://mcp.example.com/" + "%41" * 2000,
])
def test_long_sources_cost_no_time(src: str) -> None:
    start = time.process_time()
    for _ in range(20):
        fault(Icon(src), ORIGIN)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("item", [
    Tool("x", {}, icons=icons(SAME[0])), Prompt("x", icons=icons(SAME[0])),
    Resource("t://x", "x", icons=icons(SAME[0])), ResourceTemplate("t://{x}", "x", icons=icons(SAME[0])),
    Implementation("x", "1", icons=icons(SAME[0])),
])
def test_each_kind_of_item_may_have_icons(item: Any) -> None:
    """[2025-11-25.. basic/index §`icons`]"""
    assert [icon.src for icon in usable_icons(item, ORIGIN)] == SAME[:1]
    item.icons = None
    assert usable_icons(item, ORIGIN) == []


@pytest.mark.parametrize("origin, usable", [(None, False), (ORIGIN, True), ("https://evil.example", False)])
def test_a_client_knows_the_origin_of_its_server(origin: Optional[str], usable: bool) -> None:
    """[2025-11-25.. basic/index §`icons`] MUST"""
    tool = Tool("x", {}, icons=icons(SAME[0], ELSEWHERE[1]))
    with conversation("client", limits=Limits(max_icon_bytes=5)) as talk:
        talk.connection.transport.origin = origin
        assert [icon.src for icon in talk.role.usable_icons(tool)] == (SAME[:1] if usable else [])
        assert len(talk.role.usable_icons(tool, trusted=["example.com"])) == usable + 1
        assert talk.role.usable_icons(Tool("x", {}, icons=icons(WHOLE[0]))) == []


def test_the_order_of_the_server_is_kept() -> None:
    sources = [SAME[1], UNSAFE[0], WHOLE[0], ELSEWHERE[0], SAME[0]]
    shown = usable_icons(Tool("x", {}, icons=icons(*sources)), ORIGIN)
    assert [icon.src for icon in shown] == [SAME[1], WHOLE[0], SAME[0]]


@pytest.mark.parametrize("content, kind", [
    (PNG, "image/png"), (JPEG, "image/jpeg"), (WEBP, "image/webp"), (SVG, "image/svg+xml"), (GIF, ""), (b"", ""),
    (PNG[:-1], ""), (b"<html><svg>", ""), (b"WEBP", ""), (b" " + PNG, ""),
])
def test_the_first_bytes_tell_the_type(content: bytes, kind: str) -> None:
    """[2025-11-25.. basic/index §`icons`] MUST"""
    assert image_type(content) == kind
