"""Features that are declared before their first item, and what is said of those that are not."""
import contextlib
import logging
import queue

import pytest

from mcp_ref.client import Client
from mcp_ref.errors import CapabilityMissing
from mcp_ref.methods import LIST_CHANGED
from mcp_ref.server import Server
from mcp_ref.transports.memory import pair
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually

MODERN = "2026-07-28"
each_revision = pytest.mark.parametrize("revision", [*HANDSHAKE, MODERN])
FIRST = {
    "tools": lambda server: server.tool(lambda: "", name="new"),
    "resources": lambda server: server.resource("test://new")(lambda: ""),
    "prompts": lambda server: server.prompt(lambda: "", name="new"),
}
LISTS = {
    "tools": lambda client: [tool.name for tool in client.tools()],
    "resources": lambda client: [resource.uri for resource in client.resources()],
    "prompts": lambda client: [prompt.name for prompt in client.prompts()],
}
KEYS = {"tools": "new", "resources": "test://new", "prompts": "new"}


@contextlib.contextmanager
def connected(server, revision, **options):
    """A client of this server, which operates."""
    near, far = pair()
    connection = server.connect(far)
    with Client(revisions=[revision], **options).open(near) as client:
        if revision != MODERN:
            eventually(lambda: server.connections)
        yield client
    assert connection.wait_closed(PATIENCE)


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.spec("tools.list-changed", "resources.list-changed", "prompts.list-changed")
@each_revision
@pytest.mark.parametrize("feature", sorted(FIRST))
def test_a_declared_feature_may_get_its_first_item_later_and_clients_hear_of_it(feature, revision, caplog):
    """[.. server/resources §Capabilities] MUST declare, and so for tools and prompts."""
    server = Server("early", features=[feature])
    heard = queue.Queue()
    with connected(server, revision, on_notification=lambda method, params: heard.put(method)) as client:
        assert sorted(name for name in client.server_capabilities if name != "logging") == [feature]
        assert LISTS[feature](client) == []
        with client.listen(feature):
            FIRST[feature](server)
            while heard.get(timeout=PATIENCE) != LIST_CHANGED[feature]:
                pass  # the acknowledgement of the stream
        assert LISTS[feature](client) == [KEYS[feature]]
    assert warnings(caplog) == []


@each_revision
@pytest.mark.parametrize("feature", sorted(FIRST))
def test_a_feature_that_clients_were_not_told_of_is_logged_once_with_the_option(feature, revision, caplog):
    server = Server("late")
    with connected(server, revision) as client:
        with pytest.raises(CapabilityMissing):
            LISTS[feature](client)
        FIRST[feature](server)
        said = warnings(caplog)
        assert len(said) == 1 and "features=[%r]" % feature in said[0] and feature in said[0]
        server.tool(lambda: "", name="another")
        server.resource("test://another")(lambda: "")
        server.prompt(lambda: "", name="another")
        assert sorted(said.split("features=")[1] for said in warnings(caplog)) == [
            "[%r])" % name for name in sorted(FIRST)]
    caplog.clear()
    with connected(server, revision):
        server.tool(lambda: "", name="after")  # this client was told of all three
        assert warnings(caplog) == []


def test_nothing_is_logged_while_nobody_is_there(caplog):
    server = Server("alone")
    for register in FIRST.values():
        register(server)
    with connected(server, "2025-11-25"):
        pass
    assert warnings(caplog) == []


@pytest.mark.parametrize("feature", sorted(FIRST))
def test_without_a_handshake_asking_again_what_the_server_has_makes_it_known(feature):
    """[2026-07-28 server/discover §When to Call] MAY."""
    server = Server("late")
    with connected(server, MODERN) as client:
        FIRST[feature](server)
        with pytest.raises(CapabilityMissing):
            LISTS[feature](client)
        assert getattr(client.discover(refresh=True).capabilities, feature) is not None
        assert LISTS[feature](client) == [KEYS[feature]]


@pytest.mark.spec("completion.capability")
@each_revision
def test_completions_may_be_declared_beforehand(revision, caplog):
    """[2025-03-26.. server/utilities/completion §Capabilities] MUST."""
    server = Server("early", features=["completions", "prompts"])
    with connected(server, revision) as client:
        assert ("completions" in client.server_capabilities) is (revision != "2024-11-05")
        server.prompt(lambda language: language, name="review")
        server.completion("review", "language")(lambda value: ["python"])
        assert client.complete("review", "language", "p").completion.values == ["python"]
    assert warnings(caplog) == []


@each_revision
def test_a_first_completion_that_clients_were_not_told_of_is_logged(revision, caplog):
    server = Server("late")
    server.prompt(lambda language: language, name="review")
    with connected(server, revision):
        server.completion("review", "language")(lambda value: ["python"])
        said = warnings(caplog)
    assert len(said) == (0 if revision == "2024-11-05" else 1)  # which has no capability for it
    assert all("features=['completions']" in one for one in said)


def test_logging_is_declared_without_a_handshake_where_the_author_says_so():
    """[2026-07-28 server/utilities/logging §Capabilities] MUST."""
    for features, there in (((), False), (["logging"], True)):
        with connected(Server("quiet", features=features), MODERN) as client:
            assert ("logging" in client.server_capabilities) is there


@pytest.mark.parametrize(("features", "error", "said"), [
    (["resource"], ValueError, "'resource' is no feature of a server; did you mean 'resources'"),
    (["tools", "xyz"], ValueError, "'xyz' is no feature of a server \\(features: tools, resources"),
    ([5], ValueError, "5 is no feature"), ("tools", TypeError, "features is a list of names, such as \\['tools'\\]"),
])
def test_an_unknown_feature_is_refused_with_the_right_word(features, error, said):
    with pytest.raises(error, match=said):
        Server("odd", features=features)
