"""What an author does wrong is told to the author, at the line that is wrong, and not to a client later on."""
import threading
import typing

import pytest

from mcp_ref import Server, ToolError
from mcp_ref.messages.base import Icon
from mcp_ref.server.hints.signature import Unresolved
from mcp_ref.transports.memory import pair
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import HANDSHAKE, in_thread


def plain(x: int) -> int:
    return x


class Shop:
    def price(self, item: str) -> str:
        return item


REGISTRARS = {
    "tool": lambda server, function, **options: server.tool(function, **options),
    "prompt": lambda server, function, **options: server.prompt(function, **options),
    "resource": lambda server, function, **options: server.resource("a://{x}", **options)(function),
}


def called(server, name, arguments=None, revision="2025-11-25"):
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(revision)
        return peer.call(1, "tools/call", {"name": name, "arguments": arguments or {}})["result"]


# At registration

@pytest.mark.parametrize("what", ["tool", "prompt"])
@pytest.mark.parametrize("wrong", ["a_name", 5, ["x"]])
def test_a_name_in_the_place_of_the_function_is_told(what, wrong):
    with pytest.raises(TypeError, match=r"@server\.%s is for a function, not .*name=" % what):
        getattr(Server("s"), what)(wrong)


@pytest.mark.parametrize("wrong", [plain, None, 5])
def test_a_resource_without_its_uri_is_told_and_not_lost(wrong):
    with pytest.raises(TypeError, match=r'write @server\.resource\("config://app"\)'):
        Server("s").resource(wrong)


@pytest.mark.parametrize("what", REGISTRARS)
@pytest.mark.parametrize("option", ["name", "title", "description"])
def test_words_that_are_no_text_are_told(what, option):
    with pytest.raises(TypeError, match=r"%s.*: %s is a str, got 5" % (what, option)):
        REGISTRARS[what](Server("s"), plain, **{option: 5})


@pytest.mark.parametrize("what", REGISTRARS)
def test_a_method_without_its_object_is_told(what):
    with pytest.raises(TypeError, match=r"Shop\.price is a method without its object"):
        REGISTRARS[what](Server("s"), Shop.price)


def test_a_method_with_its_object_has_no_self():
    server = Server("s")
    server.tool(Shop().price)
    assert server.tools.listing.get("price").input_schema["properties"] == {"item": {"type": "string"}}


@pytest.mark.parametrize("options, words", [
    ({"name": 5}, "name is a str, got 5"),
    ({"version": 1.0}, "version is a str, got 1.0"),
    ({"title": 5}, "title is a str"),
    ({"description": 5}, "description is a str"),
    ({"instructions": 5}, "instructions is a str"),
    ({"website_url": "example.com"}, "website_url: expected a URI"),
    ({"icons": [1]}, r"icons\[0\]: expected Icon"),
    ({"icons": [Icon("notes.png")]}, r"icons\[0\]\.src"),
    ({"experimental": {"x": True}}, "experimental is a dict of dicts"),
    ({"experimental": ["x"]}, "experimental is a dict of dicts"),
    ({"page_size": 0}, "page_size must be at least 1"),
    ({"revisions": "2025-11-25"}, r"revisions is a list of names, such as \['2025-11-25'\]"),
])
def test_what_introduces_a_server_is_checked(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Server(**{"name": "s", **options})


# Before it serves

@pytest.mark.parametrize("what", ["tool", "prompt"])
def test_an_annotation_that_means_nothing_is_told_before_a_client_asks(what):
    """Left until then, it would have made the whole list an internal error."""
    server = Server("s")

    def later(x: "Missing") -> str:  # noqa: F821
        return x

    REGISTRARS[what](server, later)
    for serve in (lambda: server.connect(pair()[0]), lambda: server.listen("tcp://127.0.0.1:0"),
                  lambda: server.listen("http://127.0.0.1:0/mcp"), lambda: server.run_http(port=0)):
        with pytest.raises(Unresolved, match="later: parameter 'x': annotation 'Missing' cannot be resolved"):
            serve()
    later.__globals__["Missing"] = int
    try:
        with ScriptedPeer.of_server(server) as peer:
            peer.handshake("2025-11-25")
            assert "result" in peer.call(1, what + "s/list")
    finally:
        del later.__globals__["Missing"]


def test_parameters_of_an_explicit_schema_may_be_annotated_as_one_likes():
    server = Server("s")

    def free(x: "Missing") -> str:  # noqa: F821
        return x

    server.tool(free, input_schema={"type": "object"})
    assert called(server, "free", {"x": "y"})["content"][0]["text"] == "y"


# When a tool fails in odd ways

class Mute(ToolError):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Numb(ToolError):
    def __str__(self):
        return 5


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("error, text", [(Mute("x"), "Mute"), (Numb("x"), "Numb"), (StopIteration(), "StopIteration")])
def test_an_error_that_cannot_tell_its_text_is_answered_with_its_type(error, text, revision):
    server = Server("s")

    @server.tool
    def fail():
        raise error

    result = called(server, "fail", revision=revision)
    assert result["isError"] is True and [block["text"] for block in result["content"]] == [text]


# What careless clients send

EXPLICIT = {"type": "object", "properties": {"of": {"type": "array"}, "n": {"type": "integer"}}}


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_arguments_of_an_explicit_schema_are_mended_too(revision):
    server = Server("s")

    @server.tool(input_schema=EXPLICIT)
    def take(**arguments: typing.Any) -> str:
        return repr(arguments)

    assert called(server, "take", {"of": '["a"]', "n": "5"}, revision)["content"][0]["text"] == "{'of': ['a'], 'n': 5}"


def test_a_strict_server_mends_no_arguments_of_an_explicit_schema():
    server = Server("s", strict=True)
    server.tool(lambda **arguments: "", name="take", input_schema=EXPLICIT)
    assert called(server, "take", {"of": '["a"]'})["isError"] is True


# Threads

@pytest.mark.race
@pytest.mark.parametrize("feature, made", [
    ("tools", "mcp_ref.server.tools.Tools"),
    ("resources", "mcp_ref.server.resources.Resources"),
    ("prompts", "mcp_ref.server.prompts.Prompts"),
    ("completions", "mcp_ref.server.completion.Completions"),
    ("subscriptions", "mcp_ref.server.subscriptions.Subscriptions"),
])
def test_threads_that_come_first_share_what_is_made_then(feature, made, monkeypatch):
    """Two connections that subscribe first would otherwise be entered in two tables, of which one is lost."""
    import importlib

    module, _, name = made.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    both, begin = threading.Barrier(2), cls.__init__

    def slow(self, *arguments):
        begin(self, *arguments)
        both.wait(PATIENCE)

    monkeypatch.setattr(cls, "__init__", slow)
    server = Server("s")
    first, second = (in_thread(getattr, server, feature) for _ in range(2))
    assert first.get() is second.get() is getattr(server, feature)
