"""Prompts of a server: what is declared and listed, what getting one answers, and what an author may register."""
import base64

import pytest

from mcp_ref import Context, Server, ToolError
from mcp_ref.errors import RpcError
from mcp_ref.messages.base import Icon
from mcp_ref.messages.content import (
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from mcp_ref.messages.prompts import GetPromptResult, PromptArgument, PromptMessage
from mcp_ref.protocol.content import is_base64, is_mime_type
from mcp_ref.protocol.uris import fault
from mcp_ref.revisions import revision as revision_named
from mcp_ref.server.results import PLAIN_BLOB, PLAIN_TEXT, audio, blob, image
from tests.support.requirements_table import HANDSHAKE
from tests.support.serving import ask, assert_masked, over, served

BYTES = bytes(range(256))
DATA = base64.b64encode(BYTES).decode("ascii")


def get(peer, name, arguments=None):
    return ask(peer, "prompts/get", {"name": name} if arguments is None else {"name": name, "arguments": arguments})


def listed(peer):
    return {prompt["name"]: prompt for prompt in ask(peer, "prompts/list")["result"]["prompts"]}


def giving(*values, **options):
    """A server whose prompt `p0` returns the first of these values, and so on."""
    server = Server("prompts", mask_errors=True, **options)
    for number, value in enumerate(values):
        server.prompt(lambda value=value: value, name="p%d" % number, arguments=[])
    return server


def contents(peer, name):
    """The content blocks of a prompt, or the error."""
    answer = get(peer, name)
    return answer["error"] if "error" in answer else [m["content"] for m in answer["result"]["messages"]]


# --- capability and list ----------------------------------------------------------------------------------------------

@pytest.mark.spec("prompts.capability-init")
@over("prompts.capability-init")
def test_a_server_with_prompts_declares_them(revision):
    """[..2025-11-25 server/prompts §Capabilities] MUST"""
    with served(giving("hello"), revision) as peer:
        assert peer.capabilities["prompts"] == {"listChanged": True}
        assert list(listed(peer)) == ["p0"]


@pytest.mark.spec("prompts.respect-capabilities")
@over("prompts.respect-capabilities")
def test_what_was_not_declared_is_neither_served_nor_announced(revision):
    """[.. server/prompts §Implementation Considerations] SHOULD"""
    server = Server("no prompts")
    server.tool(lambda: "x", name="x")
    with served(server, revision) as peer:
        assert "prompts" not in peer.capabilities
        for method in ("prompts/list", "prompts/get"):
            assert ask(peer, method, {"name": "x"})["error"]["code"] == -32601
        server.prompt(lambda: "late", name="late")
        assert peer.barrier("nothing is announced") == []


@pytest.mark.spec("prompts.list-changed")
@over("prompts.list-changed")
def test_clients_hear_of_new_and_removed_prompts_and_then_see_them(revision):
    """[..2025-11-25 server/prompts §List Changed Notification] SHOULD"""
    server = giving("hello")
    with served(server, revision) as peer:
        server.prompt(lambda: "new", name="new")
        assert peer.receive() == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}
        assert list(listed(peer)) == ["p0", "new"]
        server.remove_prompt("p0")
        assert peer.receive() == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}
        assert list(listed(peer)) == ["new"] and get(peer, "p0")["error"]["code"] == -32602


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_prompts_are_shown_with_what_the_revision_has(revision):
    """[.. server/prompts §Prompt]"""
    server = Server("prompts")
    icon = Icon("https://example.com/a.png", "image/png", ["48x48"])

    @server.prompt(title="Review", icons=[icon], meta={"com.example/kind": 1}, arguments=[
        PromptArgument("code", "The code", "what to review", True), PromptArgument("lines", description="how many")])
    def review(code: str, lines: int = 1, ctx: Context = None):
        """Review some code."""
        return code * lines

    rules = revision_named(revision)
    with served(server, revision) as peer:
        shown = listed(peer)["review"]
        assert shown["description"] == "Review some code."
        assert shown.get("title") == ("Review" if rules.titles else None)
        assert shown["arguments"][0].get("title") == ("The code" if rules.titles else None)
        assert shown.get("_meta") == ({"com.example/kind": 1} if rules.titles else None)
        assert shown.get("icons") == (
            [{"src": icon.src, "mimeType": "image/png", "sizes": ["48x48"]}] if rules.icons else None)
        assert [(a["name"], a.get("description"), a.get("required")) for a in shown["arguments"]] == [
            ("code", "what to review", True), ("lines", "how many", None)]
        assert contents(peer, "review")["code"] == -32602
        result = get(peer, "review", {"code": "x", "lines": "3"})["result"]
        assert result["description"] == "Review some code." and result["messages"][0]["content"]["text"] == "xxx"


# --- content ----------------------------------------------------------------------------------------------------------

def messages(*blocks):
    """The three ways in which a function gives blocks."""
    return [list(blocks), [PromptMessage("assistant", block) for block in blocks],
            GetPromptResult([PromptMessage("user", block) for block in blocks])]


BAD_DATA = ["not base64", "AAA", "AA=A", "A===", "AAAA\n", "AA==AAAA", "\u00e9AAA", "AA-_",
            "data:image/png;base64,AAAA", None, BYTES]
BAD_MIME = ["png", "", "image/", "/png", "image png", "image/p ng", "image/png; charset", "image/png\n", "image/\u00e9",
            "image/png, image/jpeg", None, 5]


@pytest.mark.spec("prompts.image-base64")
@over("prompts.image-base64")
def test_images_are_base64_with_a_mime_type(revision):
    """[.. server/prompts §Image Content] MUST"""
    given = [image(BYTES, "image/png"), image(b"", "image/svg+xml"), ImageContent(DATA, "image/jpeg; q=1")]
    with served(giving(*messages(*given)), revision) as peer:
        for name in listed(peer):
            blocks = contents(peer, name)
            assert [block["type"] for block in blocks] == ["image"] * 3
            assert [base64.b64decode(block["data"], validate=True) for block in blocks] == [BYTES, b"", BYTES]
            assert [block["mimeType"] for block in blocks] == ["image/png", "image/svg+xml", "image/jpeg; q=1"]


@pytest.mark.spec("prompts.image-base64")
@over("prompts.image-base64")
def test_an_image_that_is_not_base64_or_has_no_mime_type_is_never_sent(revision, caplog):
    """[.. server/prompts §Image Content] MUST"""
    assert_never_sent(ImageContent, revision, caplog)


@pytest.mark.spec("prompts.audio-base64")
@over("prompts.audio-base64")
def test_audio_is_base64_with_a_mime_type(revision, caplog):
    """[2025-03-26.. server/prompts §Audio Content] MUST"""
    with served(giving(*messages(audio(BYTES, "audio/wav"))), revision) as peer:
        for name in listed(peer):
            block, = contents(peer, name)
            assert base64.b64decode(block["data"], validate=True) == BYTES
            assert block["type"] == "audio" and block["mimeType"] == "audio/wav"
    assert_never_sent(AudioContent, revision, caplog)


def assert_never_sent(cls, revision, caplog):
    """Blocks of this class with wrong data or a wrong MIME type are internal errors; the log says where."""
    wrong = [cls(data, "image/png") for data in BAD_DATA] + [cls(DATA, mime) for mime in BAD_MIME]
    server = giving(*[way for block in wrong for way in messages("fine", block)[:1] + messages(block)[1:]])
    with served(server, revision) as peer:
        for name in listed(peer):
            assert_masked(contents(peer, name))
    assert "messages[1].content.data: expected base64" in caplog.text
    assert not is_mime_type("png") and not is_base64("AAA")


EMBEDDED = [
    blob("file:///a.bin", BYTES, "application/x-a"), blob("file:///b.bin", BYTES),
    EmbeddedResource(TextResourceContents("file:///c.txt", "c")),
    EmbeddedResource(TextResourceContents("note://d", "d", "text/markdown")),
    EmbeddedResource(BlobResourceContents("note://e?x=1#f", DATA)),
]


@pytest.mark.spec("prompts.embedded-uri", "prompts.embedded-mime", "prompts.embedded-content")
@over("prompts.embedded-uri")
def test_embedded_resources_have_a_uri_a_mime_type_and_text_or_blob(revision):
    """[.. server/prompts §Embedded Resources] MUST"""
    with served(giving(*messages(*EMBEDDED)), revision) as peer:
        for name in listed(peer):
            found = [block["resource"] for block in contents(peer, name)]
            assert [one["uri"] for one in found] == [block.resource.uri for block in EMBEDDED]
            assert all(fault(one["uri"], 1000) is None for one in found)
            assert [one["mimeType"] for one in found] == [
                "application/x-a", PLAIN_BLOB, PLAIN_TEXT, "text/markdown", PLAIN_BLOB]
            assert [("text" in one, "blob" in one) for one in found] == [
                (False, True), (False, True), (True, False), (True, False), (False, True)]
            assert base64.b64decode(found[4]["blob"], validate=True) == BYTES and found[2]["text"] == "c"
    assert EMBEDDED[2].resource.mime_type is None, "what the author made stays as it was"


def embedded(uri="file:///a", text="a", mime_type="text/plain"):
    return EmbeddedResource(TextResourceContents(uri, text, mime_type))


WRONG_EMBEDDED = {
    "prompts.embedded-uri": [
        embedded(uri) for uri in ("", "a.txt", "/a/b", "no spaces://x", "file:///a b", "file:///\u00e9", "1a:b", ":a",
                                  "file:///a%2", "file:///a\n", "//host/path", None, 5)],
    "prompts.embedded-mime": [embedded(mime_type=mime) for mime in BAD_MIME if mime is not None],
    "prompts.embedded-content": [
        embedded(text=None), embedded(text=b"bytes"), EmbeddedResource(BlobResourceContents("file:///a", "not base64")),
        EmbeddedResource(BlobResourceContents("file:///a", None)), EmbeddedResource("file:///a"),
        EmbeddedResource({"uri": "file:///a"}), EmbeddedResource(ResourceLink("file:///a", "a"))],
}


@pytest.mark.spec("prompts.embedded-uri", "prompts.embedded-mime", "prompts.embedded-content")
@pytest.mark.parametrize("row", sorted(WRONG_EMBEDDED))
@over("prompts.embedded-uri")
def test_embedded_resources_that_lack_any_of_it_are_never_sent(revision, row):
    """[.. server/prompts §Embedded Resources] MUST"""
    with served(giving(*[way for block in WRONG_EMBEDDED[row] for way in messages(block)]), revision) as peer:
        for name in listed(peer):
            assert_masked(contents(peer, name))


@pytest.mark.parametrize("value, place", [
    (PromptMessage("system", TextContent("x")), "messages[0].role"),
    (PromptMessage("user", "text"), "messages[0].content"),
    (["fine", PromptMessage("user", [TextContent("x")])], "messages[1].content"), (b"bytes", "bytes have no type"),
    (GetPromptResult(["text"]), "PromptMessage"), (GetPromptResult([], meta={"a/b/c": 1}), "_meta"),
    (TextContent(5), "messages[0].content.text"), (GetPromptResult([PromptMessage("User", TextContent("x"))]), "role"),
])
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_messages_that_are_none_are_internal_errors_and_the_log_says_where(revision, value, place, caplog):
    """[.. server/prompts §PromptMessage]"""
    with served(giving(value), revision) as peer:
        assert_masked(contents(peer, "p0"))
    assert place in caplog.text


# --- errors -----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("prompts.invalid-name")
@over("prompts.invalid-name")
def test_names_that_no_prompt_has_are_invalid_params(revision):
    """[.. server/prompts §Error Handling] SHOULD"""
    server = giving("hello")
    with served(server, revision) as peer:
        for name in ("p1", "P0", "", "p0 ", "x" * 100000, "a\nb", "\u00e9", 0, None, ["p0"]):
            error = get(peer, name)["error"]
            assert error["code"] == -32602 and len(error["message"]) < 200 and error["message"].isprintable()
        assert ask(peer, "prompts/get")["error"]["code"] == -32602
        assert contents(peer, "p0")[0]["text"] == "hello"


def counting():
    """A server with two prompts, and what reached them."""
    reached = []
    server = Server("prompts")

    @server.prompt
    def review(code: str, lines: int = 1):
        reached.append((code, lines))
        return code

    @server.prompt(arguments=[PromptArgument("a", required=True), PromptArgument("b", required=True)])
    def explicit(a: str, b: str = "shown as required"):
        reached.append((a, b))
        return a

    return server, reached


@pytest.mark.spec("prompts.missing-arguments")
@over("prompts.missing-arguments")
def test_missing_arguments_are_invalid_params(revision):
    """[.. server/prompts §Error Handling] SHOULD"""
    server, reached = counting()
    with served(server, revision) as peer:
        for name, arguments, missing in (
            ("review", None, "code"), ("review", {}, "code"), ("review", {"lines": "1"}, "code"),
            ("explicit", {}, "a, b"), ("explicit", {"a": "x"}, "b"), ("explicit", {"b": "x"}, "a"),
        ):
            assert [a["name"] for a in listed(peer)[name]["arguments"] if a.get("required")], "it is listed so"
            error = get(peer, name, arguments)["error"]
            assert error == {"code": -32602, "message": "Prompt %s: missing argument %s" % (name, missing)}
        assert reached == []


@pytest.mark.spec("prompts.validate-arguments")
@over("prompts.validate-arguments")
def test_arguments_are_validated_before_the_prompt_runs(revision):
    """[.. server/prompts §Implementation Considerations] SHOULD"""
    server, reached = counting()
    with served(server, revision) as peer:
        for arguments, place in (
            ({"code": "x", "lines": "many"}, "lines"), ({"code": "x", "lines": "1.5"}, "lines"),
            ({"code": "x", "lines": ""}, "lines"), ({"code": "x", "more": "1"}, "more"), ({"code": "x", "": "1"}, ""),
            ({"code": 5}, "params.arguments.code"), ({"code": None}, "params.arguments.code"),
            ({"code": ["x"]}, "params.arguments.code"), ([1], "params.arguments"), ("x", "params.arguments"),
            ({"code": "x", "y" * 100000: "1"}, "yyy"), ({"code": "x", "a\nb": "1"}, "a\\nb"),
        ):
            error = get(peer, "review", arguments)["error"]
            assert error["code"] == -32602 and place in error["message"]
            assert len(error["message"]) < 300 and error["message"].isprintable()
        assert reached == []
        assert "result" in get(peer, "review", {"code": "x", "lines": "2"}) and reached == [("x", 2)]


@pytest.mark.spec("prompts.internal-error")
@pytest.mark.parametrize("error", [
    ValueError("secret"), KeyError("secret"), OSError("secret"), RecursionError("secret"),
    AssertionError("secret"), NotImplementedError(),
])
@over("prompts.internal-error")
def test_errors_of_a_prompt_are_internal_errors_that_tell_nothing(revision, error):
    """[.. server/prompts §Error Handling] SHOULD"""
    server = Server("prompts", mask_errors=True)

    @server.prompt
    def fail():
        raise error

    with served(server, revision) as peer:
        assert_masked(get(peer, "fail")["error"])
        assert peer.barrier("alive") == []


@over("prompts.internal-error")
def test_what_a_prompt_means_for_the_client_is_told_whatever_is_masked(revision, caplog):
    """[.. server/prompts §Error Handling] SHOULD"""
    server = Server("prompts", mask_errors=True)

    @server.prompt
    def fail():
        raise ToolError("there is no such template")

    with served(server, revision) as peer:
        assert get(peer, "fail")["error"] == {"code": -32603, "message": "there is no such template"}
    assert not caplog.records


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_prompt_may_choose_its_error(revision):
    server = Server("prompts")

    @server.prompt
    def refuse():
        raise RpcError(-32602, "no such city", {"city": "x"})

    with served(server, revision) as peer:
        assert get(peer, "refuse")["error"] == {"code": -32602, "message": "no such city", "data": {"city": "x"}}


# --- registration -----------------------------------------------------------------------------------------------------

def prompt(code: str, lines: int = 1):
    return code


@pytest.mark.parametrize("function, options, error, words", [
    (lambda: "x", {}, ValueError, "a prompt needs a name"),
    (prompt, {"name": "taken"}, ValueError, "'taken' already"),
    (prompt, {"arguments": [PromptArgument("cod", required=True)]}, ValueError, "see cod"),
    (prompt, {"arguments": [PromptArgument("lines")]}, ValueError, "see code"),
    (prompt, {"arguments": [PromptArgument("code")]}, ValueError, "required=True"),
    (prompt, {"arguments": [PromptArgument("code", required=True)] * 2}, ValueError, "each once"),
    (prompt, {"icons": [Icon("ftp://x/y")]}, ValueError, "prompt prompt.icons[0].src"),
    (prompt, {"icons": ["https://x/y"]}, TypeError, "prompt prompt.icons[0]"),
    (prompt, {"meta": {"io.modelcontextprotocol/x": 1}}, ValueError, "prompt prompt._meta"),
    (prompt, {"meta": {"x": object()}}, ValueError, "prompt prompt._meta"),
])
def test_registration_mistakes_are_told_at_once(function, options, error, words):
    server = Server("prompts")
    server.prompt(lambda: "x", name="taken")
    with pytest.raises(error) as caught:
        server.prompt(function, **options)
    assert words in str(caught.value) and len(server.prompts.listing) == 1
