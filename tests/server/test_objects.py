"""`Server.add`: the methods of an object as tools; and the hints of a tool as options."""
from typing import Any, Dict, List

import pytest

from mcp_ref import Context, connect
from mcp_ref.messages.tools import ToolAnnotations
from mcp_ref.server import Server


class Shelf:
    """A class as a program has it, which knows nothing of MCP."""

    limit = 3

    def __init__(self, *books: str) -> None:
        self._books = list(books)
        self.owner = print

    def titles(self) -> List[str]:
        """All titles."""
        return self._books

    def put(self, title: str, ctx: Context) -> int:
        """Put a book on the shelf."""
        self._books.append(title)
        return len(self._books)

    @staticmethod
    def rules() -> str:
        return "silence"

    @property
    def size(self) -> int:
        raise AssertionError("nobody asks for properties")

    def _hidden(self) -> None:
        """Not for clients."""


class Reserved(Shelf):
    def reserve(self, title: str) -> bool:
        return title in self._books

    def titles(self) -> List[str]:
        return sorted(self._books)


def test_public_methods_become_tools_in_their_order() -> None:
    server = Server("library")
    assert server.add(Shelf("Emma")) == ["titles", "put", "rules"]
    with connect(server) as client:
        assert [(tool.name, tool.description) for tool in client.tools()] == [
            ("titles", "All titles."), ("put", "Put a book on the shelf."), ("rules", None)]
        assert client.call_tool("put", {"title": "Ulysses"}).structured_content == {"result": 2}
        assert client.call_tool("titles").structured_content == {"result": ["Emma", "Ulysses"]}
        assert client.call_tool("rules").text == "silence"


def test_two_objects_of_a_class_are_told_apart_by_a_prefix() -> None:
    server = Server("library")
    assert server.add(Reserved("b", "a"), prefix="here_") == ["here_titles", "here_put", "here_rules", "here_reserve"]
    server.add(Shelf("c"), prefix="there_")
    with connect(server) as client:
        assert client.call_tool("here_titles").structured_content == {"result": ["a", "b"]}
        assert client.call_tool("there_titles").structured_content == {"result": ["c"]}
    with pytest.raises(ValueError, match="there is a tool 'here_titles' already.*prefix"):
        server.add(Shelf(), prefix="here_")


def test_nothing_is_registered_if_one_method_cannot_be() -> None:
    class Mixed:
        def good(self) -> int:
            return 1

        def bad(self, *words: str) -> int:
            return 1

    server = Server("mixed")
    with pytest.raises(TypeError, match="takes \\*args"):
        server.add(Mixed())
    assert len(server.tools.listing) == 0


@pytest.mark.parametrize("source, words", [(Shelf, "Shelf is a class: make the object first"), (3, "no public methods"),
                                           (object(), "no public methods")])
def test_what_has_no_methods_is_refused(source: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Server("x").add(source)


HINTS = {"read_only": "readOnlyHint", "destructive": "destructiveHint", "idempotent": "idempotentHint",
         "open_world": "openWorldHint"}


@pytest.mark.parametrize("option", HINTS)
@pytest.mark.parametrize("value", [True, False])
def test_a_hint_is_an_option_of_a_tool(option: str, value: bool) -> None:
    server = Server("hinted")
    given: Dict[str, Any] = {option: value}

    @server.tool(**given)
    def plain() -> str:
        return ""

    @server.tool(annotations=ToolAnnotations(title="Titled"), **given)
    def titled() -> str:
        return ""

    with connect(server, era="2025-11-25") as client:
        listed = client.connection.request("tools/list")["tools"]
    assert [tool["annotations"] for tool in listed] == [
        {HINTS[option]: value}, {"title": "Titled", HINTS[option]: value}]


def test_a_hint_is_a_bool_and_said_once() -> None:
    server = Server("wrong")
    wrong: Any = "yes"
    with pytest.raises(TypeError, match="read_only of a tool is True or False, got 'yes'"):
        server.tool(read_only=wrong)
    with pytest.raises(ValueError, match="idempotent of a tool is said twice"):
        server.tool(idempotent=True, annotations=ToolAnnotations(idempotent_hint=True))
