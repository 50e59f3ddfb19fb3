"""Prompts as a client uses them."""
import pytest

from mcp_ref.errors import CapabilityMissing, PeerProtocolError
from tests.support.requirements_table import HANDSHAKE, STATELESS, every_revision_of
from tests.support.scene import Scene
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually

SAID = {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}], "description": "d"}


@pytest.mark.spec("prompts.respect-capabilities")
@pytest.mark.parametrize("call", [
    lambda c: c.list_prompts(), lambda c: list(c.prompts()), lambda c: c.get_prompt("p"),
    lambda c: c.submit_prompt("p"),
])
@pytest.mark.parametrize("revision", every_revision_of("prompts.respect-capabilities"))
def test_a_server_that_declared_no_prompts_is_not_asked_for_them(revision, call):
    """[.. server/prompts §Implementation Considerations] SHOULD"""
    with Scene(revision, {"prompts/list": {"prompts": []}}, {"tools": {}, "resources": {}}) as scene:
        with pytest.raises(CapabilityMissing, match="prompts"):
            call(scene.client)
        scene.client.ping()
        assert scene.asked == []


@pytest.mark.spec("prompts.respect-capabilities")
@pytest.mark.parametrize("revision", every_revision_of("prompts.respect-capabilities"))
def test_what_is_announced_is_relied_on_only_where_it_was_declared(revision):
    """[.. server/prompts §Implementation Considerations] SHOULD"""
    for declared, asked in (({"listChanged": True}, 1), ({}, 2), ({"listChanged": False}, 2)):
        with Scene(revision, {"prompts/list": {"prompts": [{"name": "p"}]}}, {"prompts": declared}) as scene:
            assert [[p.name for p in scene.client.prompts()] for _ in range(2)] == [["p"]] * 2
            assert len(scene.asked) == (2 if revision == STATELESS else asked), "there, who does not listen is not told"


@pytest.mark.parametrize("get", [
    lambda c, *a, **o: c.get_prompt(*a, **o), lambda c, *a, **o: c.submit_prompt(*a, **o).result(PATIENCE),
])
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_prompt_is_its_messages(revision, get):
    with Scene(revision, {"prompts/get": SAID}) as scene:
        assert get(scene.client, "p", {"a": "1"}, meta={"com.example/x": 1}).messages[0].content.text == "hello"
        assert scene.params("prompts/get") == [{"name": "p", "arguments": {"a": "1"}, "_meta": {"com.example/x": 1}}]
        scene.answers["prompts/get"] = {"messages": [{"role": "system", "content": {"type": "text", "text": ""}}]}
        with pytest.raises(PeerProtocolError, match="role"):
            get(scene.client, "p")


def test_a_change_of_the_prompts_is_heard():
    heard = []
    with Scene(on_notification=lambda *what: heard.append(what)) as scene:
        scene.tell("notifications/prompts/list_changed")
        eventually(lambda: heard)
        assert heard == [("notifications/prompts/list_changed", {})]
