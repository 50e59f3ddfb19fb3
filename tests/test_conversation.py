"""A session as lanes, steps and groups, and both drawings of it: hostile texts, long stretches, remarks in place."""
import re
import time

import pytest

from mcp_ref.devtools.checker.scenes import trace
from mcp_ref.devtools.ladder import mermaid, text
from mcp_ref.devtools.ladder.conversation import Gap, Remark, Scribe
from mcp_ref.devtools.ladder.text import between, elided
from mcp_ref.wiretrace import Event

CALLS = "".join('C #%d tools/call {"name": "a"}\nS #%d {"content": []}\n' % (id, id) for id in range(1, 108))
HOSTILE = ("a;b\n%%{init: {}}%%\nC->>S: x", "#35; \"q\" `t` <b>&amp;$$x$$", "\x1b[2Jend\nend\rA\u2028B", "x" * 5000,
           "end", "Note over C1: \\", "wrap: x", "\u202e\u00e9")


def of(*events, remarks=()):
    scribe = Scribe()
    for event in events:
        scribe.take(event)
    return scribe.conversation(remarks)


def drawn(scene, *remarks, width=80):
    return text.lines(elided(of(*trace(scene, "+"), remarks=remarks)), width)


def test_a_session_over_stdio_is_drawn_with_phases_and_remarks():
    assert drawn("""
        on stdio 2025-06-18
        C #1 tools/call {"name": "slow"}
        S #1 {"content": []}
        * client process {"did": "stdin-closed"}
        * server process {"did": "exit", "code": 0}
    """, Remark("violation", "some.rule", "server", "it is odd", 5), Remark("warning", "x", "", "y", 99),
        width=60) == [
        "                  client                              server",
        "         0.000    -- connected by stdio",
        "== handshake ==",
        "    1    0.001    initialize #0 --------------------------->",
        "    2    0.002    <------------------------------- result #0",
        "    3    0.003    notifications/initialized --------------->",
        "== operation ==",
        "    4    0.004    tools/call #1 --------------------------->",
        "    5    0.005    <------------------------------- result #1",
        "      !! violation by the server: some.rule",
        "         it is odd",
        "== end ==",
        "         0.006    -- process: its stdin was closed",
        "         0.007    -- process exited with code 0",
        "      !! warning by the unknown party: x (message 99)",
        "         y"]


STREAMED = """
    on http 2026-07-28
    C [1] #1 tools/call {"name": "a"}
    S [1] stream
    S [1] notifications/message {"level": "info", "data": 1}
    S [1] #1 {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}, "requestState": "s"}
    C [2] #2 tools/call {"name": "a", "inputResponses": {"q": {"roots": []}}, "requestState": "s"}
    S [2] #2 {"content": []}
"""


def groups(conversation, kind):
    return [(group.label, [conversation.steps[place].label for place in group.steps])
            for group in conversation.groups if group.kind == kind]


def test_a_stream_is_a_group_from_its_request_to_its_end():
    assert groups(of(*trace(STREAMED, "+")), "stream") == [("stream [1]", [
        "tools/call #1  [1] POST /mcp", "[1] 200 text/event-stream, open", "notifications/message  [1]",
        "input_required roots #1  [1]", "[1] closed after 2 events"])]


@pytest.mark.parametrize("state", [True, False])
def test_rounds_are_a_group_from_the_first_request_to_the_last_answer(state):
    scene = STREAMED if state else STREAMED.replace(', "requestState": "s"', "")
    assert groups(of(*trace(scene, "+")), "rounds") == [("rounds of tools/call #1  [1] POST /mcp", [
        "tools/call #1  [1] POST /mcp", "input_required roots #1  [1]", "tools/call + answers #2  [2] POST /mcp",
        "result #2  [2] 200 application/json"])]


def test_brackets_stand_beside_what_belongs_together():
    lines = text.lines(of(*trace(STREAMED, "+")))
    assert [line[15:17] for line in lines if "[1]" in line or "[2]" in line] == [
        "++", "||", "||", "||", "+|", " |", " +"]


TASK = '"taskId": "786512e2", "createdAt": "2026-11-22T10:30:00Z", "lastUpdatedAt": "2026-11-22T10:30:00Z", "ttlMs": 9'
POLL = 'C #%d tasks/get {"taskId": "786512e2"}\nS #%d {"status": "%s", ' + TASK + "%s}\n"
CREATED = """
    on stdio 2026-07-28
    C #1 tools/call {"name": "a"}
    S #1 {"resultType": "task", "status": "working", """ + TASK + "}\n"


def test_a_task_is_a_group_from_the_call_to_its_end_and_its_status_is_told():
    scene = CREATED + POLL % (2, 2, "working", ', "statusMessage": "40 %"') + """
        C #3 ping {}
        S #3 {}
    """ + POLL % (4, 4, "input_required", ', "inputRequests": {"a": {"method": "roots/list"}}') + """
        C #5 tasks/update {"taskId": "786512e2", "inputResponses": {"a": {"roots": []}}}
        S #5 {}
        S notifications/tasks {"status": "completed", %s}
    """ % TASK
    made = of(*trace(scene, "+"))
    assert groups(made, "task") == [("task 786512e2 of tools/call #1", [
        "tools/call #1", "task: working #1", "tasks/get #2", "result: working, 40 % #2", "tasks/get #4",
        "result: input_required roots #4", "tasks/update + answers #5", "result #5", "notifications/tasks: completed"])]
    assert [step.label for step in made.steps if step.turns] == [
        "task: working #1", "result: input_required roots #4", "notifications/tasks: completed"]
    assert [line[16] for line in text.lines(made)[3:]] == [*"+|||||||||+"]
    assert any("Note over C1,S1: task 786512e2 of tools/call #35;1" in line for line in mermaid.lines(made))


def test_what_a_task_of_the_older_kind_asks_is_in_its_group():
    related = '"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "t"}}'
    scene = """
        on stdio 2025-11-25
        C #1 tools/call {"name": "a", "task": {}}
        S #1 {"task": {"taskId": "t", "status": "working"}}
        C #2 tasks/result {"taskId": "t"}
        S #7 roots/list {%s}
        C #7 {"roots": []}
        S #2 {"content": [], %s}
        C #3 tasks/get {"taskId": "other"}
        S #3 !-32602 "Task not found"
    """ % (related, related)
    assert groups(of(*trace(scene, "+")), "task") == [
        ("task t of tools/call #1", ["tools/call #1", "result: working #1", "tasks/result #2", "roots/list #7",
                                     "result #7", "result #2"]),
        ("task other", ["tasks/get #3", "error -32602 #3"])]


@pytest.mark.parametrize("many", [4, 5, 40])
def test_many_looks_at_a_task_are_left_out_and_its_changes_are_not(many):
    polls = "".join(POLL % (each, each, "working", "") for each in range(2, 2 + many))
    end = POLL % (90, 90, "completed", ', "result": {}')
    lines = drawn(CREATED + polls + end)
    looks = ["tasks/get #%d " % each in " ".join(lines) for each in (*range(2, 2 + many), 90)]
    assert looks == [True, *[False] * (many - 1), True]
    assert "                | ... %d polls, working ..." % (many - 1) in lines
    assert lines[-1].endswith(" result: completed #90") and len(lines) == 10
    assert any("%d polls, working" % (many - 1) in line for line in mermaid.lines(elided(of(*trace(
        CREATED + polls + end, "+")))))


def test_what_stands_beside_many_looks_at_a_task_is_shown():
    polls = "".join(POLL % (each, each, "working", "") for each in range(200, 240))
    lines = drawn(CREATED + 'C #2 ping {}\nS #2 {}\n' + polls + CALLS.replace("#", "#3"))
    assert any("ping #2" in line for line in lines)
    assert any("38 polls, working" in line for line in lines)
    assert any("x tools/call answered" in line for line in lines)


def test_looks_at_a_task_over_streams_of_http_are_left_out():
    polls = "".join("""
        C [%d] #%d tasks/get {"taskId": "786512e2"}
        S [%d] stream
        S [%d] #%d {"status": "working", %s}
    """ % (each, each, each, each, each, TASK) for each in range(2, 30))
    lines = drawn(CREATED.replace("stdio", "http") + polls)
    assert any("27 polls, working" in line for line in lines) and len(lines) < 14


def test_several_connections_have_lanes_of_their_own():
    ping = {"id": 1, "method": "ping"}
    made = of(Event(0.0, "client", "message", ping), Event(0.1, "client", "message", ping, connection="2"))
    assert [(lane.connection, lane.party) for lane in made.lanes] == [
        ("", "client"), ("", "server"), ("2", "client"), ("2", "server")]
    assert any(" 1: ping #1  (no response) -" in line for line in text.lines(made))
    assert any(" 2: ping #1  (no response) -" in line for line in text.lines(made))
    assert "    C2->>S2: 2. ping #35;1  (no response)" in mermaid.lines(made)


def test_the_middle_of_a_long_stretch_is_left_out_and_told():
    lines = drawn("on stdio 2025-06-18\n" + CALLS)
    assert sum("tools/call #" in line for line in lines) < 5
    told, = [line for line in lines if "..." in line]
    assert "messages: 10" in told and "x tools/call answered" in told


def test_what_is_remarked_is_shown_however_long_the_stretch():
    lines = drawn("on stdio 2025-06-18\n" + CALLS, Remark("violation", "some.rule", "server", "odd", 100))
    at = next(place for place, line in enumerate(lines) if "some.rule" in line)
    assert lines[at - 1].startswith("  100 ") and sum("messages: " in line for line in lines) == 2


def test_a_part_is_shown_in_full():
    whole = of(*trace("on stdio 2025-06-18\n" + CALLS, "+"))
    part = between(whole, 50, 99)
    assert [step.number for step in part.steps if not isinstance(step, Gap)] == list(range(50, 100))
    assert [type(step) for step in (part.steps[0], part.steps[-1])] == [Gap, Gap]
    assert sum(step.steps for step in part.steps if isinstance(step, Gap)) + 50 == len(whole.steps)
    assert "== operation ==" in text.lines(part) and "== handshake ==" not in text.lines(part)


def test_a_remark_without_message_stands_at_its_exchange_or_its_time():
    made = of(*trace(STREAMED, "+"), remarks=[
        Remark("warning", "one", "server", "", 0, 2), Remark("warning", "two", "server", "", time=0.0)])
    found = {remark.title: step.label for step in made.steps for remark in step.remarks}
    assert found["one"].startswith("tools/call + answers #2") and found["two"] == "connected by streamable-http"
    assert of(remarks=[Remark("warning", "one", "server", "")]).astray


@pytest.mark.parametrize("peer", HOSTILE)
def test_text_of_a_peer_stays_in_its_label(peer):
    events = [
        Event(0.0, "", "open", more={"transport": peer}, connection=peer),
        Event(0.0, "client", "process", more={"did": "start", "command": [peer]}, connection=peer),
        Event(0.1, "server", "stderr", text=peer, connection=peer),
        Event(0.2, "client", "request", exchange=1, more={"method": peer, "target": peer, "fields": []}),
        Event(0.3, "client", "message", {"id": peer, "method": peer}, exchange=1),
        Event(0.4, "server", "response", exchange=1, more={"status": 200, "fields": [["Content-Type", peer], [1], 5]}),
        Event(0.5, "server", "event", exchange=1, more={"id": peer, "event": peer, "data": peer}),
        Event(0.6, "server", "message", {"id": peer, "result": {"resultType": peer, "inputRequests": {peer: 5}}}),
        Event(0.7, "server", "end", text=peer, exchange=1), Event(1e300, "server", "message", None, peer + "\udcff")]
    made = elided(of(*events, remarks=[Remark("violation", "some.rule", "server", peer, 1)]), 2)
    lines = text.lines(made)
    assert all(len(line) <= 80 and line.isascii() and line.isprintable() for line in lines)
    for line in mermaid.lines(made)[1:]:
        assert re.match(r"    (participant [CS]\d+ as |Note over C\d+,S\d+: |[CS]\d+--?>>[CS]\d+: |rect |end$)", line)
        label = re.sub("#[0-9]+;", "", line.partition(": ")[2])
        assert not set(label) & set("#;%\"'`<>&$\\{}:@~|*!?^") and label.isascii()


@pytest.mark.parametrize("message", [None, 5, [], [5, None], {}, {"id": {}}, {"id": 1, "result": 5}, {"method": 5}, {
    "id": 1, "method": "x", "params": {"inputResponses": 5, "requestState": []}}, {"method": {}, "id": [1]}, {
    "id": 1, "result": {"resultType": "input_required", "inputRequests": [1], "requestState": {}}}])
def test_any_message_is_drawn(message):
    made = of(*(Event(0.0, party, "message", message) for party in ("client", "server", "client")))
    assert text.lines(made) and mermaid.lines(made)


def test_blocks_never_cross_and_are_closed():
    lines = mermaid.lines(of(*trace(STREAMED, "+")))
    assert lines.count("    end") == sum(line.startswith("    rect ") for line in lines) == 2


def test_a_long_trace_takes_linear_time():
    def seconds(count):
        ping = [Event(each / 10, party, "message", {"id": each, "method": "m%d" % each})
                for each in range(count) for party in ("client", "server")]
        remarks = [Remark("warning", "x", "server", "y", 0, time=each / 20) for each in range(0, count, 50)]
        best = []
        for _ in range(3):
            begin = time.process_time()
            text.lines(elided(of(*ping, remarks=remarks)))
            best.append(time.process_time() - begin)
        return min(best)

    assert seconds(8000) < 12 * seconds(2000)


def test_a_batch_is_counted_as_the_checker_counts():
    scene = 'on stdio 2025-03-26\nC> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, 5]\nS| hello'
    steps = of(*trace(scene, "+")).steps
    assert [step.number for step in steps if step.number] == [1, 2, 3, 4, 5, 6]
