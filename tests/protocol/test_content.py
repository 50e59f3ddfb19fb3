"""What must hold of content and descriptions: every rule, kept and broken, with the path that the error names."""
import pytest

from mcp_ref.messages.base import Annotations, Icon
from mcp_ref.messages.content import (
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from mcp_ref.protocol.content import check_block, check_contents, check_item, is_base64, is_mime_type, is_time

TEXT = TextResourceContents("file:///a", "text")


@pytest.mark.parametrize("text, fine", [
    ("image/png", True), ("IMAGE/PNG", True), ("image/svg+xml", True), ("text/plain;charset=utf-8", True),
    ("text/plain ; charset=\"a b; \\\"c\"", True), ("application/vnd.a.b-c+json; x=1; y=2", True), ("a/b", True),
    ("", False), ("image", False), ("image/", False), ("/png", False), ("image/png/x", False), ("image png", False),
    ("image/png;", False), ("image/png; charset", False), ("image/png; charset=", False), (" image/png", False),
    ("image/png\n", False), ("image/p\u00f1g", False), ("image/png; a=\"b", False), ("a/b, c/d", False),
    ("a/b" + "; x=1" * 10000 + ";", False), ("a/" + "b" * 100000 + " ", False),
])
def test_mime_types(text, fine):
    """[RFC 2045 §5.1]"""
    assert is_mime_type(text) == fine


@pytest.mark.parametrize("text, fine", [
    ("", True), ("AAAA", True), ("AA==", True), ("AAA=", True), ("+/+/", True), ("A" * 400000, True),
    ("A", False), ("AA", False), ("AAA", False), ("A===", False), ("====", False), ("AA=A", False), ("AA==AA==", False),
    ("AA-_", False), ("AAA\n", False), (" AAA", False), ("AAA\u00e9", False), ("AAA\ud800", False),
    ("A" * 400001, False),
])
def test_base64(text, fine):
    """[RFC 4648 §4]"""
    assert is_base64(text) == fine


@pytest.mark.parametrize("text, fine", [
    ("2025-01-12T15:00:58Z", True), ("2025-01-12", True), ("2025-01-12T15:00", True), ("2025-01-12T15:00:58", True),
    ("2025-01-12T15:00:58.123456789Z", True), ("2025-01-12T15:00:58,5+01:00", True), ("2025-01-12T15:00-0330", True),
    ("2024-02-29", True), ("2025-01-12T15:00+01", True), ("2025-12-31T23:59:60Z", True),
    ("2025-02-29", False), ("2025-13-01", False), ("2025-00-10", False), ("2025-01-12T24:01:00Z", False),
    ("2025-01-12T15:60Z", False), ("2025-01-12T15", False), ("2025-01-12 15:00:58Z", False), ("20250112", False),
    ("yesterday", False), ("", False), ("1736694058", False), ("Sun, 12 Jan 2025 15:00:58 GMT", False),
    ("2025-01-12T15:00:58Z\n", False), ("2025-01-12T15:00:58+25:00", False), ("\u0662025-01-12", False),
])
def test_times(text, fine):
    """[2025-06-18.. server/resources §Annotations]"""
    assert is_time(text) == fine


@pytest.mark.parametrize("annotations", [
    Annotations(), Annotations([], 0), Annotations(["user"], 1), Annotations(["user", "assistant"], 0.5, "2025-01-12"),
    Annotations(("assistant",), 1.0),
])
def test_annotations_in_order(annotations):
    """[2025-06-18.. server/resources §Annotations]"""
    check_item("it", annotations)


@pytest.mark.parametrize("annotations, error, text", [
    (Annotations(["users"]), ValueError, "it.annotations.audience[0]: expected \"user\" or \"assistant\", got 'users'"),
    (Annotations(["user", "User"]), ValueError, "it.annotations.audience[1]"),
    (Annotations(["user", None]), ValueError, "it.annotations.audience[1]"),
    (Annotations([["user"]]), ValueError, "it.annotations.audience[0]"),
    (Annotations("user"), TypeError, "it.annotations.audience: expected a list, got str"),
    (Annotations(priority=2), ValueError, "it.annotations.priority: expected a number from 0 to 1, got 2"),
    (Annotations(priority=-0.1), ValueError, "it.annotations.priority"),
    (Annotations(priority=1.0000001), ValueError, "it.annotations.priority"),
    (Annotations(priority=float("nan")), ValueError, "it.annotations.priority"),
    (Annotations(priority=True), ValueError, "it.annotations.priority"),
    (Annotations(priority="0.5"), ValueError, "it.annotations.priority"),
    (Annotations(last_modified="now"), ValueError, "it.annotations.lastModified: expected an ISO 8601 time"),
    (Annotations(last_modified=1736694058), TypeError, "it.annotations.lastModified"),
    ({"priority": 1}, TypeError, "it.annotations: expected Annotations, got dict"),
])
def test_annotations_out_of_order(annotations, error, text):
    """[2025-06-18.. server/resources §Annotations]"""
    with pytest.raises(error) as caught:
        check_item("it", annotations)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("icon", [
    Icon("https://example.com/i.png"), Icon("http://example.com/i", "image/png", ["48x48", "any"], "dark"),
    Icon("data:image/png;base64,AAAA", sizes=[]), Icon("HTTPS://example.com", theme="light"),
])
def test_icons_in_order(icon):
    """[2025-11-25.. basic/index §`icons`]"""
    check_item("it", icons=[icon])


@pytest.mark.parametrize("icons, error, text", [
    ([Icon(src)], ValueError, "it.icons[0].src: expected an http, https or base64 data URI")
    for src in ("", "icon.png", "/icon.png", "file:///icon.png", "javascript:alert(1)", "ftp://x/y", "ws://x/y",
                "https:", "https:///x", "data:image/svg+xml,<svg/>", "data:image/png,base64,AAAA", " https://x/y")
] + [
    ([Icon("https://x/y"), Icon(5)], TypeError, "it.icons[1].src"),
    ([Icon("https://x/y", "png")], ValueError, "it.icons[0].mimeType"),
    ([Icon("https://x/y", sizes=["48"])], ValueError, "it.icons[0].sizes[0]: expected \"48x48\" or \"any\""),
    ([Icon("https://x/y", sizes=["any", "0x5"])], ValueError, "it.icons[0].sizes[1]"),
    ([Icon("https://x/y", theme="blue")], ValueError, "it.icons[0].theme"),
    (["https://x/y"], TypeError, "it.icons[0]: expected Icon, got str"),
    (Icon("https://x/y"), TypeError, "it.icons: expected a list, got Icon"),
])
def test_icons_out_of_order(icons, error, text):
    """[2025-11-25.. basic/index §`icons`]"""
    with pytest.raises(error) as caught:
        check_item("it", icons=icons)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("meta, error", [
    ({"com.example/kind": [1, {"a": None}], "plain": "x", "": 1}, None),
    ({"io.modelcontextprotocol/x": 1}, ValueError), ({"a b": 1}, ValueError), ({"/": 1, "9a/x": 1}, ValueError),
    ({"x": float("nan")}, ValueError), ({"x": object()}, ValueError), ({"x": "\ud800"}, ValueError),
    ([], TypeError), ("x", TypeError),
])
def test_meta(meta, error):
    """[2025-06-18.. basic/index §`_meta`]"""
    for check in (lambda: check_item("it", meta=meta), lambda: check_block("it", TextContent("x", meta=meta)),
                  lambda: check_contents("it", TextResourceContents("a:b", "c", meta=meta))):
        if error is None:
            check()
            continue
        with pytest.raises(error) as caught:
            check()
        assert str(caught.value).startswith("it._meta: ")


@pytest.mark.parametrize("block", [
    TextContent(""), TextContent("x", Annotations(priority=1)), ImageContent("AAAA", "image/png"),
    AudioContent("", "audio/wav"), ResourceLink("file:///a", "a", "A", "d", "text/plain", 0, [Icon("https://x/y")]),
    EmbeddedResource(TEXT), EmbeddedResource(BlobResourceContents("a:b", "AAAA", "a/b")),
])
def test_blocks_in_order(block):
    """[.. server/tools §Tool Result]"""
    check_block("content[0]", block)


@pytest.mark.parametrize("block, error, text", [
    (TextContent(None), TypeError, ".text: expected str, got NoneType"),
    (ImageContent(b"AAAA", "image/png"), TypeError, ".data: expected base64, got bytes"),
    (ImageContent("AAA", "image/png"), ValueError, ".data: expected base64, got 'AAA'"),
    (AudioContent("AAAA", "wav"), ValueError, ".mimeType: expected a MIME type such as image/png, got 'wav'"),
    (ResourceLink("a", "a"), ValueError, ".uri: expected a URI such as file:///notes.txt, got 'a': it does not begin"),
    (ResourceLink("a:b", None), TypeError, ".name: expected str"),
    (ResourceLink("a:b", "a", size=-1), ValueError, ".size: expected a number of bytes, got -1"),
    (ResourceLink("a:b", "a", size=1.5), ValueError, ".size"),
    (ResourceLink("a:b", "a", mime_type=""), ValueError, ".mimeType"),
    (ResourceLink("a:b", "a", icons=[Icon("x:y")]), ValueError, ".icons[0].src"),
    (ResourceLink("a:b", "a", annotations=Annotations(priority=7)), ValueError, ".annotations.priority"),
    (EmbeddedResource("a:b"), TypeError, ".resource: expected BlobResourceContents, got str"),
    (EmbeddedResource(TextResourceContents("a:b c", "")), ValueError, ".resource.uri"),
    (EmbeddedResource(BlobResourceContents("a:b", "x")), ValueError, ".resource.blob"),
    (EmbeddedResource(TEXT, Annotations(["x"])), ValueError, ".annotations.audience[0]"),
    ("text", TypeError, ": expected a content block, got str"), (None, TypeError, ": expected a content block"),
    (TEXT, TypeError, ": expected a content block, got TextResourceContents"),
    (ImageContent("\u00e9" * 5000, "a/b"), ValueError, ".data: expected base64"),
])
def test_blocks_out_of_order(block, error, text):
    """[.. server/tools §Tool Result]"""
    with pytest.raises(error) as caught:
        check_block("content[3]", block)
    said = str(caught.value)
    assert said.startswith("content[3]" + text) and len(said) < 250 and said.isprintable()
