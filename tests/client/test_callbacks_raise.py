"""What a client's callbacks raise: its author's log has it, with the callback's name, in both eras."""
import logging
import threading
from typing import Any, List

import pytest

from mcp_ref import Context, Server
from mcp_ref.client import Client
from mcp_ref.client import Sampling
from mcp_ref.client.elicitation import Elicitation
from mcp_ref.errors import InputUnavailable, RpcError
from mcp_ref.transports.memory import pair
from tests.support.patience import WAIT
from tests.support.scripted import era_of
from tests.support.sides import eventually

ERAS = ["2025-11-25", "2026-07-28"]
both_eras = pytest.mark.parametrize("revision", ERAS)


def fail(*arguments: Any) -> Any:
    raise LookupError("s3cret words")


def connected(server: Server, revision: str, **options: Any) -> Client:
    ours, theirs = pair()
    server.connect(ours)
    return Client(revisions=[revision], era=era_of(revision), **options).open(theirs)


def record_of(caplog: Any, who: str) -> logging.LogRecord:
    """The one record of this callback."""
    found: List[logging.LogRecord] = []

    def there() -> bool:
        found[:] = [record for record in caplog.records if record.getMessage().startswith(who)]
        return bool(found)

    eventually(there)
    record, = found
    assert record.levelno == logging.ERROR and record.exc_info is not None, record
    shown = logging.Formatter().formatException(record.exc_info).splitlines()
    assert shown[1].endswith("in fail"), "the traceback starts at the author's frame"
    return record


ASKING = {
    "sampling": lambda ctx: ctx.sample("Hello", 20, key="q").text,
    "elicitation": lambda ctx: ctx.elicit("Who?", {"name": str}, key="q")["name"],
}


class BadRoots:
    """What takes the place of `Roots`, and fails."""

    notifications: Any = {}

    def capability(self) -> Any:
        from mcp_ref.messages.lifecycle import RootsCapability

        return RootsCapability()

    def route(self, client: Any, revision: Any) -> Any:
        from mcp_ref.peer.context import Route

        return Route(fail)


@both_eras
@pytest.mark.parametrize("kind", ["sampling", "elicitation", "roots"])
def test_a_callback_that_answers_the_server(kind, revision, caplog):
    asking = dict(ASKING, roots=lambda ctx: str(ctx.list_roots(key="q")))[kind]

    def go(ctx: Context) -> str:
        return str(asking(ctx))

    server = Server("asking")
    server.tool(go)
    with connected(server, revision, **{kind: BadRoots() if kind == "roots" else fail}) as client:
        if revision == ERAS[1]:
            with pytest.raises(InputUnavailable, match="LookupError: s3cret words") as caught:
                client.call_tool("go")
            assert isinstance(caught.value.__cause__, LookupError) and caught.value.key
        else:
            said = client.call_tool("go").text
            assert "Internal error (-32603)" in said and "s3cret" not in said, "a server is not told"
        record = record_of(caplog, "%s callback raised LookupError: s3cret words" % kind)
    method = {"sampling": "sampling/createMessage", "elicitation": "elicitation/create", "roots": "roots/list"}[kind]
    assert "(%s, request " % method in record.getMessage()


@both_eras
def test_what_a_callback_means_for_the_server_is_no_mistake(revision, caplog):
    def refuse(params: Any, context: Any) -> Any:
        raise RpcError(-1, "not today")

    def go(ctx: Context) -> str:
        return str(ctx.sample("Hello", 20).text)

    server = Server("asking")
    server.tool(go)
    with connected(server, revision, sampling=refuse) as client:
        if revision == ERAS[1]:
            with pytest.raises(InputUnavailable, match="not today"):
                client.call_tool("go")
        else:
            assert "not today" in client.call_tool("go").text
    assert not [record for record in caplog.records if "callback" in record.getMessage()]


def announcing() -> Server:
    server = Server("announcing")
    server.resource("config://app")(lambda: "x")

    @server.tool
    def announce(ctx: Context) -> str:
        """Say something."""
        ctx.log("warning", "hello")
        ctx.progress(1, 2)
        server.resource_updated("config://app")
        return "said"

    return server


@both_eras
@pytest.mark.parametrize("option", ["on_log", "on_update", "on_notification"])
def test_a_callback_that_hears(option, revision, caplog):
    with connected(announcing(), revision, **{option: fail}) as client:
        client.set_log_level("debug")
        with client.listen(uris=["config://app"]):
            if option == "on_notification":
                caplog.clear()
            client.call_tool("announce")
            eventually(lambda: any("%s callback fail raised LookupError" % option in record.getMessage()
                                   for record in caplog.records))
            assert client.call_tool("announce").text == "said"
        counted = client.connection.counters["handler errors"]
    assert counted >= 1
    said = [record for record in caplog.records if record.getMessage().startswith(option + " callback fail")]
    assert said[0].exc_info and "(notifications/" in said[0].getMessage()


@both_eras
def test_the_callback_of_one_who_listens(revision, caplog):
    with connected(announcing(), revision) as client:
        with client.listen(uris=["config://app"], callback=fail):
            client.call_tool("announce")
            record = record_of(caplog, "callback fail raised LookupError")
    assert "(notifications/resources/updated)" in record.getMessage()


@both_eras
def test_progress_and_done_callbacks_of_a_future(revision, caplog):
    ended = threading.Event()
    with connected(announcing(), revision) as client:
        future = client.submit_tool("announce", progress=fail)
        future.add_done_callback(lambda done: ended.set())
        assert ended.wait(WAIT)
        record = record_of(caplog, "progress callback fail raised LookupError")
    assert "(tools/call, request " in record.getMessage()


@both_eras
@pytest.mark.parametrize("error", [LookupError, StopIteration])
def test_progress_of_a_call_that_waits_is_raised_to_the_caller(error, revision, caplog):
    def fails(*step: object) -> None:
        raise error

    with connected(announcing(), revision) as client, pytest.raises(error):
        client.call_tool("announce", progress=fails)


@both_eras
def test_what_opens_a_link(revision, caplog):
    def go(ctx: Context) -> str:
        return str(ctx.elicit_url("Please", "https://example.com/x").action)

    server = Server("linking")
    server.tool(go)
    offer = Elicitation(url=lambda request, context: True, open_url=fail)
    with connected(server, revision, elicitation=offer) as client:
        assert client.call_tool("go").text == "cancel"
        record = record_of(caplog, "open_url callback fail raised LookupError")
    assert "(elicitation/create)" in record.getMessage()


def test_a_callback_is_logged_however_often_it_has_failed_before(caplog):
    """By a rate, and not ten times in the life of a connection."""
    with connected(announcing(), ERAS[0], on_log=fail) as client:
        client.set_log_level("debug")
        for _ in range(20):
            client.call_tool("announce")
        eventually(lambda: client.connection.counters["handler errors"] == 20)
    assert sum(record.getMessage().startswith("on_log callback") for record in caplog.records) == 20


@pytest.mark.parametrize("given, what", [
    (fail, "a function"), (5, "int"), ([5], "a list with int"), ([b"/srv"], "a list with bytes"),
    ([["/srv"]], "a list with list")], ids=repr)
def test_what_cannot_be_roots_is_refused_with_what_can(given: Any, what: str) -> None:
    with pytest.raises(TypeError, match="^roots: give a path, a file: URI, a Root or a list of these, not %s" % what):
        Client(roots=given)


@both_eras
@pytest.mark.parametrize("returned, what", [
    (None, "None"), (5, "int"), ({"text": "Yes."}, "dict"), (["Yes.", None], "a list with None")], ids=repr)
def test_the_log_says_what_a_sampling_callback_returned_and_what_it_may_return(
        returned: Any, what: str, revision: str, caplog: Any) -> None:
    server = Server("test")
    server.tool(lambda ctx: ASKING["sampling"](ctx), name="ask")
    with connected(server, revision, sampling=Sampling(lambda params, context: returned, model="m")) as client:
        if revision == ERAS[0]:
            assert client.call_tool("ask", {}).is_error
        else:
            with pytest.raises(InputUnavailable, match="the callback returned %s: return a str" % what):
                client.call_tool("ask", {})

        def told() -> bool:
            return any("the callback returned %s: return a str, a content block" % what in record.getMessage()
                       for record in caplog.records)

        eventually(told)
