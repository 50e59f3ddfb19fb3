"""Questions to the user as links, of our server and to our client: URL mode, its completion, and error -32042."""
import queue
import socket
import threading

import pytest

from mcp_ref.client import Client
from mcp_ref.client.elicitation import Elicitation, UrlRequest, required
from mcp_ref.errors import PeerError, PeerProtocolError, RpcError
from mcp_ref.limits import Limits
from mcp_ref.messages.elicitation import ElicitRequestURLParams, ElicitResult
from mcp_ref.server import Server
from mcp_ref.server.elicitation import UrlElicitationRequired
from mcp_ref.transports.memory import pair
from tests.support.asking import CREATE, Asked, Asking, form_params, url_params
from tests.support.requirements_table import HANDSHAKE, STATELESS, every_revision_of
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, delivered, eventually, in_thread, said

LINKS = "2025-11-25"
LINK = "https://example.com/connect?id=7"


def yes(*ignored):
    return True


def ask_url(ctx):
    return ctx.elicit_url("Connect", LINK, "e1").action


def need_url(ctx):
    raise UrlElicitationRequired([("Connect", LINK, "e1")])


def need_these(elicitations):
    raise UrlElicitationRequired(elicitations)


# --- Our server asks --------------------------------------------------------------------------------------------------

@pytest.mark.spec("elicit.url-params", "elicit.url-elicitation-id")
@pytest.mark.parametrize("revision", every_revision_of("elicit.url-params", "elicit.url-elicitation-id"))
def test_a_link_of_ours_has_mode_message_url_and_an_id_of_its_own(revision):
    """[2025-11-25 client/elicitation §URL Mode Elicitation Requests] MUST"""
    with Asking(revision, lambda ctx: ctx.elicit_url("Connect", LINK).action) as asking:
        ids = []
        for action in ("accept", "accept", "decline"):
            params = asking.question()["params"]
            ids.append(params.pop("elicitationId", None))
            assert params == {"mode": "url", "message": "Connect", "url": LINK}
            assert said(asking.answer({"action": action})) == action
        if revision == STATELESS:
            assert ids == [None] * 3, "there is nothing that could name it later"
        else:
            assert len(set(ids)) == 3 and all(len(id) >= 20 for id in ids), "ids that can be guessed"


BAD_LINKS = ["", "x", "example.com", "javascript:alert(1)", "file:///etc/passwd", "https://", "https://a b.example/",
             "https://user:pass@example.com/", "https://bank.com@evil.example/", "https://example.com/\n",
             "https://b\u00fccher.example/", "https://example.com/\u00e9", "https://example.com/" + "x" * 9000,
             "https://example.com:99999/", None, 3]


@pytest.mark.spec("elicit.url-valid")
@pytest.mark.parametrize("revision", every_revision_of("elicit.url-valid"))
@pytest.mark.parametrize("url", BAD_LINKS)
def test_what_is_no_valid_url_is_not_sent(url, revision):
    """[2025-11-25 client/elicitation §URL Mode Elicitation Requests] MUST"""
    with Asking(revision, lambda ctx: ctx.elicit_url("Connect", url)) as asking:
        answer = asking.outcome()
        assert answer["result"]["isError"] and "LinkError: " in said(answer)


@pytest.mark.spec("elicit.url-valid")
@pytest.mark.parametrize("revision", every_revision_of("elicit.url-valid"))
@pytest.mark.parametrize("url", [LINK, "https://example.com", "https://[2001:db8::1]:8443/a?b=c#d",
                                 "http://localhost:1/",
                                 "https://xn--bcher-kva.example/%20"])
def test_valid_urls_are_sent_as_they_are(url, revision):
    with Asking(revision, lambda ctx: ctx.elicit_url("Connect", url)) as asking:
        assert asking.question()["params"]["url"] == url
        asking.answer({"action": "cancel"})


@pytest.mark.spec("elicit.url-https")
@pytest.mark.parametrize("revision", every_revision_of("elicit.url-https"))
@pytest.mark.parametrize("url, warned", [
    ("http://example.com/", 1), ("http://192.0.2.1/", 1), ("https://example.com/", 0), ("http://localhost:8000/", 0),
    ("http://127.0.0.1/", 0), ("http://[::1]:9/", 0),
])
@pytest.mark.parametrize("wrap", [
    lambda ctx, url: ctx.elicit_url("Connect", url), lambda ctx, url: need_these([("Connect", url)]),
], ids=["asked", "required"])
def test_an_unencrypted_link_to_another_machine_is_noted(wrap, url, warned, revision):
    """[2025-11-25 client/elicitation §Safe URL Handling] SHOULD"""
    with Asking(revision, lambda ctx: wrap(ctx, url)) as asking:
        asking.call()
        asked = asking.peer.receive()
        if asked.get("method") == CREATE:
            asking.peer.respond(asked["id"], {"action": "cancel"})
            asking.peer.receive()
        assert bool(asking.connection.counters["unencrypted link"]) == warned


# --- Our server: links that are done with ----------------------------------------------------------------------------

@pytest.mark.spec("elicit.complete-notification", "elicit.complete-target", "elicit.complete-id")
@pytest.mark.parametrize("revision", every_revision_of("elicit.complete-notification"))
@pytest.mark.parametrize("asks", [ask_url, need_url], ids=["asked", "required"])
def test_only_the_client_that_was_asked_hears_that_its_link_is_done_with(asks, revision):
    """[2025-11-25 client/elicitation §Completion Notifications for URL Mode Elicitation] MUST"""
    with Asking(revision, asks) as asking, Asking(revision, server=asking.server) as other, \
            Asking("2025-06-18", server=asking.server, capability={}) as older:
        if asks is ask_url:
            asking.question()
            asking.answer({"action": "accept"})
        else:
            assert asking.outcome()["error"]["code"] == -32042
        asking.server.elicitation_complete("e1")
        assert asking.completions() == ["e1"]
        assert other.completions() == older.completions() == []
        with pytest.raises(ValueError, match="nobody waits for the elicitation 'e1'"):
            asking.server.elicitation_complete("e1")
        assert asking.completions() == ["e1"]


@pytest.mark.spec("elicit.complete-target", "elicit.complete-id")
def test_each_client_hears_of_its_own_links_only():
    server = Server("two")

    @server.tool
    def work(do: str, ctx):
        return ctx.elicit_url("Connect", LINK, do).action

    def ask(asking, name):
        asking.peer.request(name, "tools/call", {"name": "work", "arguments": {"do": name}})
        asking.peer.respond(asking.peer.receive(lambda m: m.get("method") == CREATE)["id"], {"action": "accept"})
        asking.peer.answer_to(name)

    with Asking(LINKS, server=server) as one, Asking(LINKS, server=server) as two:
        ask(one, "a")
        ask(two, "b")
        ask(one, "c")
        for name in "cba":
            server.elicitation_complete(name)
        assert one.completions() == ["c", "a"] and two.completions() == ["b"]


def test_a_link_may_be_done_with_before_the_user_has_agreed():
    with Asking(LINKS, ask_url) as asking:
        asking.question()
        asking.server.elicitation_complete("e1")
        assert asking.completions() == ["e1"]
        assert said(asking.answer({"action": "accept"})) == "accept"


@pytest.mark.parametrize("ending", [
    lambda asking: asking.answer({"action": "decline"}), lambda asking: asking.answer({"action": "cancel"}),
    lambda asking: asking.refuse(-32602), lambda asking: asking.answer({"action": "no"}),
    lambda asking: asking.close(),
], ids=["declined", "cancelled", "refused", "broken", "gone"])
def test_an_id_is_forgotten_when_there_is_nothing_more_to_tell(ending):
    with Asking(LINKS, ask_url) as asking:
        asking.question()
        ending(asking)
        with pytest.raises(ValueError, match="nobody waits"):
            asking.server.elicitation_complete("e1")


@pytest.mark.parametrize("id", ["", "e2", None, 1, "E1", "e1 "])
def test_an_id_that_nobody_was_asked_under_completes_nothing(id):
    with Asking(LINKS, ask_url) as asking:
        asking.question()
        with pytest.raises(ValueError, match="nobody waits"):
            asking.server.elicitation_complete(id)
        asking.answer({"action": "accept"})
        assert asking.completions() == []


def test_a_tool_can_say_itself_that_a_link_is_done_with():
    def handler(ctx):
        ctx.elicit_url("Connect", LINK, "e1")
        ctx.elicitation_complete("e1")
        return "done"

    with Asking(LINKS, handler) as asking:
        asking.question()
        assert said(asking.answer({"action": "accept"})) == "done" and asking.completions() == ["e1"]


def test_an_id_that_belongs_to_another_client_is_refused():
    with Asking(LINKS, ask_url) as asking, Asking(LINKS, server=asking.server) as other:
        asking.question()
        assert "belongs to another client" in said(other.outcome())
        asking.answer({"action": "accept"})
        assert "belongs to another client" in said(other.outcome())
        asking.server.elicitation_complete("e1")
        other.question()
        other.answer({"action": "accept"})


@pytest.mark.parametrize("id", ["", 3, b"x", []])
def test_an_id_of_the_authors_is_a_text(id):
    with Asking(LINKS, lambda ctx: ctx.elicit_url("Connect", LINK, id)) as asking:
        assert "an elicitation id is a text" in said(asking.outcome())


def test_pending_links_are_bounded_and_the_oldest_goes_first():
    ids = iter("abc")
    limits = Limits(max_pending_elicitations=2)
    with Asking(LINKS, lambda ctx: ctx.elicit_url("Connect", LINK, next(ids)).action, limits=limits) as asking:
        for _ in range(3):
            asking.question()
            asking.answer({"action": "accept"})
        with pytest.raises(ValueError, match="nobody waits"):
            asking.server.elicitation_complete("a")
        asking.server.elicitation_complete("b")
        asking.server.elicitation_complete("c")
        assert asking.completions() == ["b", "c"]


# --- Our server: error -32042 ----------------------------------------------------------------------------------------

def requiring(raise_it):
    """A server whose tool, resource and prompt all raise this."""
    server = Server("requiring")

    @server.tool
    def work(do: str):
        raise_it()

    @server.resource("test://r")
    def resource():
        raise_it()

    @server.prompt
    def prompt():
        raise_it()

    return server


REQUESTS = [("tools/call", {"name": "work", "arguments": {"do": "x"}}), ("resources/read", {"uri": "test://r"}),
            ("prompts/get", {"name": "prompt"})]
in_requests = pytest.mark.parametrize("method, params", REQUESTS)


@in_requests
@pytest.mark.spec(
    "elicit.url-required-error", "elicit.url-required-error-code", "elicit.url-required-error-list",
    "elicit.url-required-error-mode")
@pytest.mark.parametrize("revision", every_revision_of("elicit.url-required-error"))
def test_a_request_that_needs_links_first_is_refused_with_them(method, params, revision):
    """[2025-11-25 client/elicitation §URL Elicitation Required Error] MUST"""
    made = ElicitRequestURLParams(message="Three", url=LINK, elicitation_id="mine")
    server = requiring(lambda: need_these([("One", LINK), ("Two", LINK, "my own"), made]))
    with Asking(revision, server=server) as asking:
        error = asking.peer.call(1, method, params)["error"]
        assert error["code"] == -32042 and error["message"]
        listed = error["data"]["elicitations"]
        assert [one["message"] for one in listed] == ["One", "Two", "Three"]
        assert all(one["mode"] == "url" and one["url"] == LINK for one in listed)
        assert len(listed[0]["elicitationId"]) >= 20
        assert [one["elicitationId"] for one in listed[1:]] == ["my own", "mine"]
        for one in listed:
            server.elicitation_complete(one["elicitationId"])
        assert asking.completions() == [one["elicitationId"] for one in listed]


@in_requests
@pytest.mark.spec("elicit.url-required-error-only", "elicit.supported-modes-only")
@pytest.mark.parametrize("revision, capability", [(name, {"url": {}, "form": {}}) for name in HANDSHAKE[:3]] + [
    (LINKS, None), (LINKS, {}), (LINKS, {"form": {}})])
def test_a_client_that_cannot_show_links_gets_an_ordinary_failure(method, params, revision, capability):
    """[2025-11-25 client/elicitation §URL Elicitation Required Error] MUST NOT"""
    server = requiring(lambda: need_these([("Connect the account", LINK, "e1")]))
    with Asking(revision, server=server, capability=capability) as asking:
        answer = asking.peer.call(1, method, params)
        text = said(answer) if method == "tools/call" else answer["error"]["message"]
        assert "Connect the account" in text and "cannot show" in text and LINK not in text
        if method == "tools/call":
            assert answer["result"]["isError"]
        else:
            assert answer["error"]["code"] == -32603
        with pytest.raises(ValueError, match="nobody waits"):
            server.elicitation_complete("e1")


BROKEN_DATA = [
    None, {}, [], "x", {"elicitations": []}, {"elicitations": {}}, {"elicitations": [{}]},
    {"elicitations": [form_params({})]}, {"elicitations": [dict(form_params({}), mode="form")]},
    {"elicitations": [url_params(id=3)]}, {"elicitations": [url_params(id="")]},
    {"elicitations": [{"mode": "url", "message": "x", "url": LINK}]},
    {"elicitations": [url_params("javascript:alert(1)")]}, {"elicitations": [url_params("")]},
    {"elicitations": [url_params(message="")]},
    {"elicitations": [url_params(), form_params({})]},
]


@in_requests
@pytest.mark.spec("elicit.url-required-error-only", "elicit.url-required-error-list", "elicit.url-required-error-mode")
@pytest.mark.parametrize("revision", every_revision_of("elicit.url-required-error-only"))
@pytest.mark.parametrize("data", BROKEN_DATA)
def test_an_error_32042_made_by_hand_is_not_sent_without_its_links(data, method, params, revision):
    """[2025-11-25 client/elicitation §URL Elicitation Required Error] MUST NOT"""
    def raise_it():
        raise RpcError(-32042, "more is needed", data)

    with Asking(revision, server=requiring(raise_it)) as asking:
        answer = asking.peer.call(1, method, params)
        assert answer.get("error", {}).get("code") != -32042
        if method == "tools/call":
            assert answer["result"]["isError"] and "raise UrlElicitationRequired" in said(answer)
        else:
            assert answer["error"]["code"] == -32603 and "raise UrlElicitationRequired" in answer["error"]["message"]


@pytest.mark.spec("elicit.url-required-error-code")
def test_an_error_32042_made_by_hand_with_its_links_is_sent():
    def raise_it():
        raise RpcError(-32042, "more is needed", {"elicitations": [url_params(id="by hand")]})

    with Asking(LINKS, server=requiring(raise_it)) as asking:
        error = asking.peer.call(1, *REQUESTS[0])["error"]
        assert error["code"] == -32042 and error["data"]["elicitations"] == [url_params(id="by hand")]
        asking.server.elicitation_complete("by hand")
        assert asking.completions() == ["by hand"]


@pytest.mark.parametrize("elicitations, words", [
    ([], "at least one"), ([("", LINK)], "message"), ([("Connect", "x")], "scheme"),
    ([("Connect", "javascript:x")], "begins with https"), ([("Connect", LINK, "")], "id is a text"),
    ([("Connect", LINK), ("Connect", "https://a@b/")], "user information"),
])
def test_an_error_without_links_cannot_be_made(elicitations, words):
    with pytest.raises(ValueError, match=words):
        UrlElicitationRequired(elicitations)


def test_the_id_of_a_required_link_may_be_repeated_to_the_same_client_and_to_no_other():
    with Asking(LINKS, need_url) as asking, Asking(LINKS, server=asking.server) as other:
        assert asking.outcome()["error"]["code"] == asking.outcome()["error"]["code"] == -32042
        assert "belongs to another client" in said(other.outcome())


# --- Our client: links -----------------------------------------------------------------------------------------------

def test_the_callback_sees_the_whole_url_the_host_and_what_to_be_warned_of():
    """[2025-11-25 client/elicitation §Safe URL Handling]"""
    seen = []
    with Asked(LINKS, Elicitation(url=lambda request, context: seen.append((request, context)))) as asked:
        for url in (LINK, "https://xn--pple-43d.com/x", "http://b\u00fccher.example/"):
            assert asked.ask(url_params(url))["result"] == {"action": "cancel"}
    assert [(request.url, request.host, request.unicode_host, request.punycode) for request, _ in seen] == [
        (LINK, "example.com", "example.com", False),
        ("https://xn--pple-43d.com/x", "xn--pple-43d.com", "\u0430pple.com", True),
        ("http://b\u00fccher.example/", "xn--bcher-kva.example", "b\u00fccher.example", True)]
    assert [len(request.warnings) for request, _ in seen] == [0, 2, 2]
    assert seen[0][0].message == "Please" and seen[0][0].elicitation_id == "e1" and not seen[0][0].completed.is_set()
    assert seen[0][1].connection is asked.client.connection


NOT_THERE = "it leads to a program on this machine, where the server that sends it is not"
PLACES_HERE = ["http://127.0.0.1:8080/x", "http://localhost/x", "https://localhost/x", "http://[::1]:8080/x",
               "http://127.1/x", "http://2130706433/x", "http://0x7f.1/x", "http://0.0.0.0/x", "http://localhost./x",
               "https://app.localhost/x", "http://[::ffff:127.0.0.1]/x"]


@pytest.mark.parametrize("origin, address, warned", [
    ("https://mcp.example.com", "https://mcp.example.com/mcp", True), ("https://10.0.0.1:8443", None, True),
    (None, "tcp://mcp.example.com:9000", True), (None, "tcp://[2001:db8::1]:9000", True),
    ("http://127.0.0.1:8000", "http://127.0.0.1:8000/mcp", False), ("http://[::1]:8000", None, False),
    ("http://localhost:8000", None, False), (None, "tcp://127.0.0.1:9000", False), (None, "tcp://[::1]:9000", False),
    (None, "unix:///run/mcp", False), (None, "python3 server.py", False), (None, None, False),
])
def test_a_server_elsewhere_does_not_send_anybody_to_this_machine_unwarned(origin, address, warned):
    """[2025-11-25 client/elicitation §Safe URL Handling]: a program here may do much by one request."""
    seen = []
    with Asked(LINKS, Elicitation(url=lambda request, context: seen.append(request))) as asked:
        transport = asked.client.connection.transport
        transport.origin, transport.address = origin, address
        for url in [*PLACES_HERE[:2], LINK]:
            assert asked.ask(url_params(url))["result"] == {"action": "cancel"}
    assert [NOT_THERE in request.warnings for request in seen] == [warned, warned, False]


@pytest.mark.parametrize("place", PLACES_HERE)
def test_every_spelling_of_this_machine_is_warned_of(place):
    params = ElicitRequestURLParams(message="Please", url=place, elicitation_id="e1")
    assert NOT_THERE in UrlRequest(params, 1000, True).warnings and NOT_THERE not in UrlRequest(params, 1000).warnings


@pytest.mark.parametrize("params", [url_params(url) for url in BAD_LINKS if url is None or not str(url).endswith((
    "cher.example/", "\u00e9"))] + [
    url_params(id=3), url_params(id=None), {"mode": "url", "message": "x", "url": LINK}, url_params(message=None),
    {"mode": "url", "url": LINK, "elicitationId": "x"}], ids=lambda params: ascii(params)[:60])
def test_a_link_that_no_user_should_be_sent_to_is_refused(params):
    called = []
    have = Elicitation(url=lambda *given: called.append(given), open_url=called.append)
    with Asked(LINKS, have) as asked:
        assert asked.ask(params)["error"]["code"] == -32602 and called == []


class Web:
    """A web server that notices who comes, and every look-up of a name."""

    def __init__(self, monkeypatch):
        self.came = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d/page" % self._listener.getsockname()[1]
        self._listener.setblocking(False)
        for name in ("getaddrinfo", "gethostbyname", "create_connection"):
            monkeypatch.setattr(socket, name, lambda *given, **more: self.came.append(given))

    def visits(self):
        try:
            while True:
                self.came.append(self._listener.accept()[0].close())
        except BlockingIOError:
            return self.came

    def close(self):
        self._listener.close()


@pytest.mark.spec("elicit.url-no-prefetch")
@pytest.mark.parametrize("revision", every_revision_of("elicit.url-no-prefetch"))
@pytest.mark.parametrize("returned", [True, False, None])
def test_nothing_is_fetched_of_a_link_whatever_the_user_says(returned, revision, monkeypatch):
    """[2025-11-25 client/elicitation §Safe URL Handling] MUST NOT"""
    web = Web(monkeypatch)
    try:
        opened = []
        have = Elicitation(url=lambda request, context: returned, open_url=opened.append)
        with Asked(revision, have) as asked:
            asked.ask(url_params(web.url))
            asked.ask(url_params("https://nowhere.invalid/x", "e2"))
            if revision != STATELESS:
                asked.complete("e1")
                eventually(lambda: returned is True or asked.count("completion of nothing"))
        assert web.visits() == []
        assert opened == ([web.url, "https://nowhere.invalid/x"] if returned else [])
    finally:
        web.close()


@pytest.mark.spec("elicit.url-consent")
@pytest.mark.parametrize("revision", every_revision_of("elicit.url-consent"))
@pytest.mark.parametrize("returned, action", [
    (True, "accept"), ("accept", "accept"), (ElicitResult("accept"), "accept"),
    (ElicitResult("accept", {"a": 1}), "accept"),
    (False, "decline"), ("decline", "decline"), (ElicitResult("decline"), "decline"),
    (None, "cancel"), ("cancel", "cancel"), (ElicitResult("cancel"), "cancel"),
    ("yes", None), (1, None), ({}, None), ({"accept": True}, None), ([True], None), (object(), None),
])
def test_a_link_is_opened_after_explicit_consent_and_never_without(returned, action, revision):
    """[2025-11-25 client/elicitation §Safe URL Handling] MUST NOT"""
    happened = []

    def ask(request, context):
        happened.append("asked")
        return returned

    with Asked(revision, Elicitation(url=ask, open_url=happened.append)) as asked:
        answer = asked.ask(url_params())
        if action is None:
            assert answer["error"]["code"] == -32603
        else:
            assert answer["result"] == {"action": action}
    assert happened == (["asked", "https://example.com/connect"] if action == "accept" else ["asked"])


def test_without_open_url_consent_is_all_there_is():
    with Asked(LINKS, Elicitation(url=yes)) as asked:
        assert asked.ask(url_params())["result"] == {"action": "accept"}


def test_a_browser_that_does_not_open_means_cancel(caplog):
    """[2025-11-25 client/elicitation §Response Actions]"""
    def broken(url):
        raise OSError("no display")

    with Asked(LINKS, Elicitation(url=yes, open_url=broken)) as asked:
        assert asked.ask(url_params())["result"] == {"action": "cancel"} and asked.count("unopened link") == 1
    with Asked(LINKS, Elicitation(url=yes, open_url=lambda url: False)) as asked:
        assert asked.ask(url_params())["result"] == {"action": "cancel"}
        asked.complete("e1")
        eventually(lambda: asked.count("completion of nothing") == 1)
    with Asked(LINKS, Elicitation(url=yes, open_url=lambda url: None)) as asked:
        assert asked.ask(url_params())["result"] == {"action": "accept"}


def test_a_question_that_was_taken_back_opens_nothing():
    opened, cancelled = [], threading.Event()
    with Gate() as gate:
        def ask(request, context):
            gate.hold()
            assert context.cancelled.wait(PATIENCE)
            cancelled.set()
            return True

        with Asked(LINKS, Elicitation(url=ask, open_url=opened.append)) as asked:
            asked.peer.request(1, CREATE, url_params())
            gate.entered()
            asked.peer.notify("notifications/cancelled", {"requestId": 1})
            asked.peer.barrier()
            gate.open()
            assert cancelled.wait(PATIENCE)
            asked.peer.barrier("after")
    assert opened == []


class Finished:
    """An `on_complete` that can be waited for."""

    def __init__(self):
        self._queue = queue.Queue()

    def __call__(self, request):
        self._queue.put(request)

    def next(self):
        return self._queue.get(timeout=PATIENCE)

    @property
    def silent(self):
        return self._queue.empty()


IDS = ["e1", "", " ", "E1 ", "\u20ac\u0000\n", "1", "01", "../../x", "__proto__", "x" * 5000, "{\"a\": 1}", "null"]


@pytest.mark.spec("elicit.id-opaque")
@pytest.mark.parametrize("revision", every_revision_of("elicit.id-opaque"))
def test_ids_are_compared_as_they_are_and_mean_nothing_else(revision):
    """[2025-11-25 schema.json] MUST"""
    finished = Finished()
    with Asked(revision, Elicitation(url=yes, on_complete=finished), Limits(max_elicitations_per_second=1000)) as asked:
        for id in IDS:
            assert asked.ask(url_params(id=id))["result"] == {"action": "accept"}
        for id in reversed(IDS):
            asked.complete(id)
            assert finished.next().elicitation_id == id
        assert asked.count("completion of nothing") == 0


@pytest.mark.spec("elicit.complete-unknown-ignored")
@pytest.mark.parametrize("revision", every_revision_of("elicit.complete-unknown-ignored"))
def test_completions_of_nothing_are_ignored_and_counted(revision):
    """[2025-11-25 client/elicitation §Completion Notifications for URL Mode Elicitation] MUST"""
    finished = Finished()
    have = Elicitation(url=lambda request, context: request.url.endswith("yes"), on_complete=finished)
    with Asked(revision, have) as asked:
        asked.complete("never heard of")
        asked.ask(url_params("https://example.com/yes", "done"))
        asked.complete("done")
        assert finished.next().elicitation_id == "done"
        asked.complete("done")
        asked.ask(url_params("https://example.com/no", "declined"))
        asked.complete("declined")
        for wrong in (None, 1, [], {}, True):
            asked.complete(wrong)
        asked.peer.notify("notifications/elicitation/complete", {})
        asked.peer.notify("notifications/elicitation/complete")
        asked.peer.barrier()
        delivered(asked.client.connection)
        assert asked.count("completion of nothing") == 3
        assert asked.count("malformed notification") == 7 and finished.silent
        assert asked.count("handler errors") == 0
        assert asked.ask(url_params("https://example.com/yes", "done"))["result"] == {"action": "accept"}


@pytest.mark.spec("elicit.complete-unknown-ignored")
@pytest.mark.parametrize("revision", every_revision_of("elicit.complete-unknown-ignored"))
def test_a_client_without_links_ignores_completions(revision):
    with Asked(revision, yes) as asked:
        asked.complete("e1")
        eventually(lambda: asked.count("completion of nothing") == 1)
    with Asked(revision, None) as asked:
        asked.complete("e1")
        assert asked.peer.barrier() == []
        delivered(asked.client.connection)
        assert asked.count("handler errors") == 0


@pytest.mark.spec("elicit.complete-wait")
@pytest.mark.parametrize("revision", every_revision_of("elicit.complete-wait"))
def test_a_link_may_be_completed_while_the_user_still_looks_at_it(revision):
    """[2025-11-25 client/elicitation §Completion Notifications for URL Mode Elicitation] MAY"""
    finished = Finished()
    with Gate() as gate:
        def ask(request, context):
            gate.hold()
            return True

        with Asked(revision, Elicitation(url=ask, on_complete=finished)) as asked:
            asked.peer.request(1, CREATE, url_params())
            gate.entered()
            asked.complete("e1")
            request = finished.next()
            assert request.completed.is_set()
            gate.open()
            assert asked.peer.answer_to(1)["result"] == {"action": "accept"} and finished.silent


def test_two_servers_with_the_same_ids_are_kept_apart():
    finished = Finished()
    have = Elicitation(url=yes, on_complete=finished)
    with Asked(LINKS, have) as one, Asked(LINKS, have) as two:
        one.ask(url_params("https://one.example/"))
        two.complete("e1")
        eventually(lambda: two.count("completion of nothing") == 1)
        assert finished.silent
        one.complete("e1")
        assert finished.next().host == "one.example"


def test_links_that_a_client_remembers_are_bounded():
    finished = Finished()
    with Asked(LINKS, Elicitation(url=yes, on_complete=finished), Limits(max_pending_elicitations=2)) as asked:
        for id in "abc":
            asked.ask(url_params(id=id))
        for id in "abc":
            asked.complete(id)
        assert [finished.next().elicitation_id for _ in range(2)] == ["b", "c"]
        eventually(lambda: asked.count("completion of nothing") == 1)


# --- Both of ours: error -32042 --------------------------------------------------------------------------------------

class Connected:
    """A server of ours with a tool that needs a link first, and a client of ours."""

    def __init__(self, elicitation, revision=LINKS):
        self.done = False
        self.server = Server("files")
        near, far = pair()

        @self.server.tool
        def files():
            if not self.done:
                raise UrlElicitationRequired([("Connect", LINK, "e1")])
            return "a.txt"

        self._side = self.server.connect(far)
        self.client = Client(elicitation=elicitation, revisions=[revision]).open(near)

    def refusal(self):
        with pytest.raises(PeerError) as caught:
            self.client.call_tool("files")
        return caught.value

    def finish(self):
        self.done = True
        self.server.elicitation_complete("e1")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.client.close()
        self._side.close()
        assert self._side.wait_closed(PATIENCE)


@pytest.mark.spec("elicit.complete-wait")
@pytest.mark.parametrize("revision", every_revision_of("elicit.complete-wait"))
def test_a_refused_call_succeeds_after_its_link_was_followed(revision):
    """[2025-11-25 client/elicitation §URL Elicitation Required Error]"""
    opened, finished = [], Finished()
    have = Elicitation(url=yes, open_url=opened.append, on_complete=finished)
    with Connected(have, revision) as both:
        error = both.refusal()
        assert error.code == -32042 and have.follow(error, both.client) and opened == [LINK]
        waiting = required(error, both.client)[0]
        assert (waiting.message, waiting.url, waiting.host) == ("Connect", LINK, "example.com")
        both.finish()
        assert waiting.completed.wait(PATIENCE) and finished.next() is waiting
        assert both.client.call_tool("files").content[0].text == "a.txt"
        assert required(error, both.client)[0].completed.is_set(), "it would be waited for again"
        assert have.follow(error, both.client) and opened == [LINK]


@pytest.mark.parametrize("returned", [False, None, "decline"])
def test_a_required_link_is_not_opened_without_consent(returned):
    opened = []
    have = Elicitation(url=lambda request, context: returned, open_url=opened.append)
    with Connected(have) as both:
        assert have.follow(both.refusal(), both.client) is False and opened == []


def test_an_error_of_another_kind_requires_no_links():
    with Connected(Elicitation(url=yes)) as both:
        with pytest.raises(ValueError, match="requires no links"):
            required(PeerError(-32602, "no", None, "tools/call", 1), both.client)


@pytest.mark.parametrize("data", [case for case in BROKEN_DATA if case not in (
    {"elicitations": [url_params(id="")]}, {"elicitations": [url_params(message="")]})])
def test_an_error_whose_links_are_missing_or_wrong_is_the_servers_fault(data):
    with Connected(Elicitation(url=yes)) as both:
        with pytest.raises(PeerProtocolError, match="the error -32042 of tools/call"):
            required(PeerError(-32042, "no", data, "tools/call", 1), both.client)


def test_links_of_an_error_are_followed_only_by_who_can_ask():
    with Connected(Elicitation(url=yes)) as both:
        with pytest.raises(Exception, match="give Elicitation a url="):
            Elicitation(yes).follow(both.refusal(), both.client)


@pytest.mark.race
def test_completions_from_many_threads_are_told_once():
    told = Finished()
    with Connected(Elicitation(url=yes, on_complete=told)) as both:
        required(both.refusal(), both.client)
        gate = threading.Barrier(8)

        def finish():
            gate.wait(PATIENCE)
            try:
                both.server.elicitation_complete("e1")
                return 1
            except ValueError:
                return 0

        assert sum(outcome.get() for outcome in [in_thread(finish) for _ in range(8)]) == 1
        assert told.next().elicitation_id == "e1" and told.silent
