"""Handlers that wait, or sleep, keep nobody from answers, cancellations, DELETE and OPTIONS; questions have bounds."""
import http.client
import json
import threading
from typing import Any, Callable, Dict, List, Optional

import pytest

from mcp_ref.errors import ConnectionLost
from mcp_ref.http11.message import Exchange
from mcp_ref.limits import Limits
from mcp_ref.server import Context
from mcp_ref.streamable.server.authenticate import OneToken
from mcp_ref.streamable.server.endpoint import Endpoint
from tests.support.clocks import by_hand
from tests.support.http_exchange import BOTH, ScriptedExchange, Web, opening, request
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, eventually, said, work_params, working_server
from tests.transports.http_raw import Clock, Raw, get, post, serving, still_serves, until

FORM = {"action": "accept", "content": {"word": "yes"}}
OWN = 6
"""More threads than any listener has for itself."""
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ASKS: Dict[str, Callable[[Context], Any]] = {
    "ask": lambda ctx: ctx.elicit("Which word?", {"word": str})["word"], "quick": lambda ctx: "done"}


class Reply:
    """The reply to one request, as it comes."""

    def __init__(self, line: http.client.HTTPConnection) -> None:
        self.response = line.getresponse()
        self.status = self.response.status

    def next(self) -> Any:
        """The next message of a stream."""
        while True:
            line = self.response.readline()
            assert line, "the stream ended"
            if line.startswith(b"data: {"):
                return json.loads(line[6:])


class Site:
    """A server on loopback, and clients of it; a context manager."""

    def __init__(self, handlers: Dict[str, Any], limits: Limits, **options: Any) -> None:
        self.server = working_server(handlers, limits=limits)
        self.listener = self.server.listen("http://127.0.0.1:0/mcp", **options)
        self.lines: List[http.client.HTTPConnection] = []

    def begin(self, method: str, body: Any = None, session: Optional[str] = None) -> http.client.HTTPConnection:
        """Send a request on a connection of its own."""
        line = http.client.HTTPConnection("127.0.0.1", self.listener.http.port, timeout=PATIENCE)
        self.lines.append(line)
        headers = {"Accept": BOTH, "Content-Type": "application/json"}
        if session is not None:
            headers.update({"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"})
        line.request(method, "/mcp", None if body is None else json.dumps(body), headers)
        return line

    def ask(self, method: str, body: Any = None, session: Optional[str] = None) -> Reply:
        """The reply to a request."""
        return Reply(self.begin(method, body, session))

    def open(self) -> str:
        """The id of a session."""
        opened = self.ask("POST", opening("2025-11-25", capabilities={"elicitation": {}}))
        assert opened.status == 200
        session = opened.response.headers["Mcp-Session-Id"]
        assert self.ask("POST", INITIALIZED, session).status == 202
        return session

    def call(self, session: str, do: str, id: int = 1) -> http.client.HTTPConnection:
        """Call a handler."""
        return self.begin("POST", request(id, "tools/call", work_params(do)), session)

    def serves(self) -> None:
        """Everything goes on for somebody else, but for his handlers."""
        assert self.ask("OPTIONS").status == 204
        session = self.open()
        assert json.loads(self.ask("POST", request(5, "ping"), session).response.read())["result"] == {}
        assert self.ask("DELETE", None, session).status == 204

    def __enter__(self) -> "Site":
        self.listener.open()
        return self

    def __exit__(self, *exception: Any) -> None:
        for line in self.lines:
            line.close()
        self.listener.close(0)


# -- Handlers that wait for their clients ------------------------------------------------------


def test_questions_do_not_hold_the_threads_that_take_their_answers() -> None:
    before = threading.active_count()
    with Site(ASKS, Limits(max_workers=2)) as site:
        sessions = [site.open() for _ in range(12)]
        calls = [Reply(site.call(session, "ask")) for session in sessions]
        questions = [call.next() for call in calls]
        assert [question["method"] for question in questions] == 12 * ["elicitation/create"]
        site.serves()
        assert said(json.loads(Reply(site.call(sessions[0], "quick", 2)).response.read())) == "done"
        for session, question in zip(sessions, questions):
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": FORM}
            assert site.ask("POST", answer, session).status == 202
        assert [said(call.next()) for call in calls] == 12 * ["yes"]
        eventually(lambda: threading.active_count() <= before + 2 + OWN)


def test_a_client_that_asks_for_questions_and_leaves_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with Site(ASKS, Limits(max_workers=2, max_questions=8)) as site:
        session = site.open()
        for id in range(20):
            site.call(session, "ask", id).close()
        site.serves()
        connection: Any = site.server.connections[0]
        eventually(lambda: connection.counters["questions above the limit"] == 12)
        assert len(connection.table) == 8
        assert site.ask("DELETE", None, session).status == 204
        assert connection.wait_closed(PATIENCE) and len(connection.table) == 0


# -- Handlers that merely sleep ----------------------------------------------------------------


def test_handlers_that_sleep_keep_up_nobody() -> None:
    with Gate() as gate, Site({"sleep": gate.hold, "quick": lambda ctx: "done"}, Limits(max_workers=2)) as site:
        sessions = [site.open() for _ in range(2 * OWN)]
        calls = [site.call(session, "sleep") for session in sessions]
        gate.entered(2 * OWN)
        assert said(json.loads(Reply(site.call(sessions[0], "quick", 2)).response.read())) == "done"
        assert site.ask("DELETE", None, sessions[1]).status == 204
        site.serves()
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert site.ask("POST", cancelled, sessions[0]).status == 202
        gate.open()
        assert b"result" not in Reply(calls[0]).response.read()
        site.serves()


@pytest.mark.race
def test_handlers_that_wait_for_the_next_one_all_get_it() -> None:
    count = 12
    came = [threading.Event() for _ in range(count + 1)]

    def chain(ctx: Context) -> str:
        number = int(ctx.request_id)
        came[number].set()
        return str(came[number + 1].wait(PATIENCE))

    with Site({"chain": chain}, Limits(max_workers=count)) as site:
        session = site.open()
        lines = [site.call(session, "chain", number) for number in range(count)]
        came[count].set()
        assert [said(json.loads(Reply(line).response.read())) for line in lines] == count * ["True"]


def test_a_body_counts_until_its_handler_is_done_even_if_its_client_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()

    def handler(exchange: Exchange) -> None:
        if exchange.request.method == "POST":
            gate.hold()
        exchange.reply(200)

    with gate, serving(handler, limits=Limits(max_workers=1)) as server:
        clients = [Raw(server.address) for _ in range(5)]
        for client in clients:
            client.send(post(b"x" * 1000))
        gate.entered()
        until(lambda: server.body_bytes == 5000)
        for client in clients:
            client.reset()
        until(lambda: server.connections == 0)
        Clock(monkeypatch).pass_by(1)
        for _ in range(3):  # the server looks after its connections meanwhile
            still_serves(server)
        assert server.body_bytes == 5000
        gate.open()
        until(lambda: server.body_bytes == 0)
        still_serves(server)


# -- Bounds of questions -----------------------------------------------------------------------


def asking(limits: Limits = Limits(max_questions=2), **options: Any) -> Web:
    return Web(working_server(ASKS, limits=limits), capabilities={"elicitation": {}}, limits=limits, **options)


def another(web: Web, **fields: str) -> Web:
    """Another session at the same endpoint."""
    made = Web.__new__(Web)
    made.__dict__.update(web.__dict__, headers=dict(fields), session=None)
    made.open("2025-11-25", {"elicitation": {}})
    return made


def asked(web: Web, id: int) -> Any:
    """The question of a call."""
    question = web.begin(id, "tools/call", work_params("ask")).next()
    assert question["method"] == "elicitation/create"
    return question


def freed(web: Web, id: int) -> int:
    """A place for a question becomes free: a call can ask; its id, this or a later one."""
    for number in range(id, id + 1000):
        call = web.begin(number, "tools/call", work_params("ask"))
        eventually(lambda: call.finished or call.events and call.messages())
        if not call.finished:
            assert call.next()["method"] == "elicitation/create"
            return number
    raise AssertionError("no place became free")


def refused(web: Web, id: int, name: str = "max_questions (2)") -> None:
    """A call fails, since it cannot ask; the model is told why."""
    answer = web.begin(id, "tools/call", work_params("ask")).answer()
    assert answer["result"]["isError"] and name in said(answer) and "elicitation/create" in said(answer)


def test_one_question_too_many_of_a_session_is_refused_by_name() -> None:
    with asking() as web:
        question = asked(web, 1)
        asked(web, 2)
        refused(web, 3)
        assert web.connection.counters["questions above the limit"] == 1
        asked(another(web), 3)  # somebody else
        assert web.respond(question["id"], FORM).status == 202
        freed(web, 4)


def test_an_authenticated_subject_has_one_bound_for_all_its_sessions() -> None:
    with asking(authenticate=lambda headers: headers.get("who"), headers={"who": "anna"}) as web:
        asked(web, 1)
        second = another(web, who="anna")
        asked(second, 1)
        refused(web, 2)
        refused(second, 2)
        asked(another(web, who="bert"), 1)


def test_one_address_does_not_use_up_all_that_may_wait() -> None:
    with asking(Limits(max_waiting=4, max_questions=2)) as web:
        def session(peer: str) -> Web:
            made = Web.__new__(Web)
            made.__dict__.update(web.__dict__, headers={}, session=None)
            made.made = lambda *arguments, **options: at(peer, Web.made(made, *arguments, **options))  # type: ignore
            made.open("2025-11-25", {"elicitation": {}})
            return made

        one, other, third = session("192.0.2.1"), session("192.0.2.1"), session("192.0.2.2")
        question = asked(one, 1)
        asked(other, 1)
        refused(one, 2, "max_session_share of max_waiting (2)")
        refused(other, 2, "max_session_share of max_waiting (2)")
        asked(third, 1)
        assert one.respond(question["id"], FORM).status == 202
        freed(other, 3)


def at(peer: str, made: ScriptedExchange) -> ScriptedExchange:
    made.request = made.request._replace(peer=peer)
    return made


def test_one_token_for_all_makes_nobody_a_subject() -> None:
    token = {"Authorization": "Bearer secret"}
    with asking(authenticate=OneToken("secret"), headers=token) as web:
        asked(web, 1)
        asked(web, 2)
        refused(web, 3)
        asked(another(web, **token), 1)


def test_a_prompt_that_cannot_ask_is_an_error_that_names_the_limit() -> None:
    limits = Limits(max_questions=0)
    server = working_server(ASKS, limits=limits)

    @server.prompt
    def letter(ctx: Context) -> str:
        """Write to somebody."""
        return str(ctx.elicit("To whom?", {"name": str}))

    with Web(server, capabilities={"elicitation": {}}, limits=limits) as web:
        error = web.ask(1, "prompts/get", {"name": "letter"}).answer()["error"]
        assert error["code"] == -32603 and "Busy" in error["message"] and "max_questions (0)" in error["message"]


def test_a_question_that_is_cancelled_frees_its_place() -> None:
    with asking(Limits(max_questions=1, request_ceiling=3600.0)) as web:
        asked(web, 0)
        id = 0
        for _ in range(3):
            assert web.tell("notifications/cancelled", {"requestId": id}).status == 202
            id = freed(web, id + 1)


def test_a_session_that_ends_frees_the_places_of_its_questions() -> None:
    options: Any = {"authenticate": lambda headers: headers.get("who"), "headers": {"who": "anna"}}
    with asking(Limits(max_questions=1), **options) as web:
        second = another(web, who="anna")
        asked(web, 1)
        refused(second, 1, "max_questions (1)")
        web.delete()
        freed(second, 2)


# -- Questions whose client has gone -----------------------------------------------------------


class Deserted:
    """A call whose handler asks; what becomes of its question."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **fields: Optional[str]) -> None:
        self.outcome: List[BaseException] = []
        self.clock = by_hand(monkeypatch)
        limits = Limits(question_grace=30.0, session_idle=1e6, request_timeout=1e6, request_ceiling=1e6)
        server = working_server({"ask": self._ask}, limits=limits)
        self.web = Web(server, capabilities={"elicitation": {}}, limits=limits)
        self.call = self.web.begin(1, "tools/call", work_params("ask"), headers=fields)

    def _ask(self, ctx: Context) -> str:
        try:
            return str(ctx.elicit("Which word?", {"word": str})["word"])
        except BaseException as error:
            self.outcome.append(error)
            raise

    def passes(self, seconds: float) -> None:
        """Time passes, and the endpoint looks at its sessions before and after."""
        self.web.endpoint.tick()
        self.clock.now += seconds
        self.web.endpoint.tick()

    def is_open(self) -> bool:
        """Whether the question is."""
        return len(self.web.connection.table) == 1 and not self.outcome

    def has_ended(self) -> None:
        """It was given up, and the handler was told why."""
        eventually(lambda: self.outcome)
        assert isinstance(self.outcome[0], ConnectionLost) and "question_grace (30)" in str(self.outcome[0])
        eventually(lambda: not len(self.web.connection.inflight))
        assert self.web.connection.counters["questions given up"] == 1
        self.web.lives()

    def __enter__(self) -> "Deserted":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.web.close()


def test_a_question_ends_when_its_client_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with Deserted(monkeypatch) as case:
        case.call.next()
        case.passes(1000)
        assert case.is_open(), "a person may take long"
        case.call.leave()
        case.passes(29)
        assert case.is_open()
        case.passes(2)
        case.has_ended()


def test_a_client_that_comes_back_finds_its_question_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with Deserted(monkeypatch) as case:
        question = case.call.next()
        case.call.leave()
        case.passes(29)
        again = case.web.get(last=case.call.events[0].id)
        case.passes(1000)
        assert case.is_open() and again.next() == question
        assert case.web.respond(question["id"], FORM).status == 202
        assert said(again.answer()) == "yes" and not case.outcome


def test_a_client_that_sends_something_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with Deserted(monkeypatch) as case:
        case.call.next()
        case.call.leave()
        for _ in range(3):
            case.passes(29)
            case.web.lives()
        assert case.is_open()
        case.passes(31)
        case.has_ended()


def test_any_stream_of_the_session_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with Deserted(monkeypatch) as case:
        case.call.next()
        stream = case.web.get()
        case.call.leave()
        case.passes(1000)
        assert case.is_open()
        stream.leave()
        case.passes(31)
        case.has_ended()


def test_the_connection_of_a_reply_that_has_not_begun_will_do_until_it_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    with Deserted(monkeypatch, Accept="application/json") as case:
        stream = case.web.get()
        stream.next()
        stream.leave()
        case.passes(1000)
        assert case.is_open() and not case.call.calls
        case.call.leave()
        case.passes(31)
        case.has_ended()


def test_the_end_of_the_session_ends_its_questions_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with Deserted(monkeypatch) as case:
        case.call.next()
        case.call.leave()
        case.web.delete()
        eventually(lambda: case.outcome)
        assert isinstance(case.outcome[0], ConnectionLost) and "the client ended the session" in str(case.outcome[0])


def test_the_engine_says_that_a_client_is_gone() -> None:
    handed: List[Exchange] = []
    with serving(handed.append) as server:
        with Raw(server.address) as raw:
            raw.send(get())
            until(lambda: handed)
            assert not handed[0].gone
            raw.reset()
        until(lambda: handed[0].gone)


def test_batches_of_many_sessions_have_no_more_threads_than_one_server() -> None:
    """Found by attack: 12 batches of 2025-03-26 had 1,500 threads, as many for each session as for the server."""
    with Gate() as gate, Site({"stuck": lambda ctx: gate.hold()}, Limits(max_workers=6, promote_after=0.001)) as site:
        before, lines = threading.active_count(), []
        for _ in range(5):
            opened = site.ask("POST", opening("2025-03-26"))
            session = opened.response.headers["Mcp-Session-Id"]
            assert site.ask("POST", INITIALIZED, session).status == 202
            batch = [request(number, "tools/call", work_params("stuck")) for number in range(1, 21)]
            lines.append(http.client.HTTPConnection("127.0.0.1", site.listener.http.port, timeout=PATIENCE))
            site.lines.append(lines[-1])
            lines[-1].request("POST", "/mcp", json.dumps(batch), {
                "Accept": "application/json", "Content-Type": "application/json", "Mcp-Session-Id": session})
            gate.entered()
        gate.entered(1)
        site.serves()
        eventually(lambda: threading.active_count() - before <= 6 + OWN)  # those that took them in are stuck, too
        gate.open()
        assert [len(json.loads(line.getresponse().read())) for line in lines] == 5 * [20]


def test_an_endpoint_of_wsgi_has_the_same_bounds() -> None:
    from mcp_ref.streamable.server.wsgi import Caller

    limits = Limits(max_questions=0)
    endpoint = Endpoint(working_server(ASKS, limits=limits).connect, limits=limits)
    caller = Caller(endpoint)
    headers = {"Host": "localhost", "Accept": BOTH, "Content-Type": "application/json"}

    def ask(message: Any) -> Any:
        answer = caller.call("POST", "/mcp", headers, json.dumps(message).encode(), timeout=PATIENCE)
        return answer, b"".join(answer.chunks)

    opened, _ = ask(opening("2025-11-25", capabilities={"elicitation": {}}))
    headers["Mcp-Session-Id"] = dict(opened.headers)["Mcp-Session-Id"]
    ask(INITIALIZED)
    assert b"max_questions (0)" in ask(request(1, "tools/call", work_params("ask")))[1]
    caller.close()
