"""Hostile input: our server bears it, each weakness of a fragile one is named, and a seed repeats it."""
import http.server
import json
import sys
import threading
from shlex import quote
from typing import Any, Dict, FrozenSet, Iterator, List, Tuple

import pytest

from mcp_ref import Server
from mcp_ref.cli import main
from mcp_ref.devtools.examiner import wire_to
from mcp_ref.devtools.examiner.hostile import ATTACKS, heads, trial as trials
from mcp_ref.devtools.examiner.hostile.texts import A_REQUEST, NO_JSON, NO_REQUEST, mutations, nature
from mcp_ref.devtools.examiner.hostile.told import HostileReport, columns
from mcp_ref.devtools.examiner.hostile.trial import ERROR, KEEPS, RESULT, SILENT, STATUS, STOPS, AttackResult, Trial
from mcp_ref.devtools.examiner.talk import WiresAhead
from mcp_ref.devtools.examiner.wire import Web
from mcp_ref.revisions import revision
from mcp_ref.wiretrace import Trace
from tests.support.patience import WAIT, patience

SEED = 7
FRAGILE = r'''
import json, os, sys

def refuse(name):
    raise ValueError(name)

held, files, fault = [], [], sys.argv[1]
for line in sys.stdin.buffer:
    try:
        asked = json.loads(line.decode("utf-8"), parse_constant=refuse)
        known = isinstance(asked, dict) and asked.get("jsonrpc") == "2.0" and isinstance(asked.get("method"), str) and (
            isinstance(asked.get("id", 1), (int, str, float)) and isinstance(asked.get("params", {}), dict))
    except (ValueError, RecursionError):
        if fault == "stops" and b"\xff" in line:
            sys.exit(3)
        if fault == "keeps" and line.startswith(b"{"):
            files += [os.open(os.devnull, os.O_RDONLY) for _ in range(9)]
            held.append(b"x" * (8 << 20))
        if fault == "error":
            print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": "parse", "message": "no"}}), flush=True)
        if fault == "result":
            print(json.dumps({"jsonrpc": "2.0", "id": None, "result": {}}), flush=True)
        continue
    if not known or "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        answer["result"] = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {},
                            "serverInfo": {"name": "fragile", "version": "1"}}
    elif asked["method"] == "ping" and not (fault == "silent" and len(line) > 900000):
        answer["result"] = {}
    elif asked["method"] == "ping":
        continue
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
'''


def trial(make: Any, only: Dict[str, FrozenSet[int]], name: str = "2025-11-25", seconds: float = WAIT) -> Trial:
    wires = WiresAhead(lambda: make(Trace()))
    made = Trial(wires.take, revision(name), frozenset(), seconds, SEED, only, WAIT)
    try:
        made.run()
    finally:
        wires.close()
    return made


def result_of(made: Trial) -> AttackResult:
    return made.results[0]


def every(*names: str) -> Dict[str, FrozenSet[int]]:
    return {name: frozenset() for name in names}


@pytest.fixture
def server() -> Iterator[str]:
    made = Server("robust", "1")
    made.tool(lambda: "x", name="read", read_only=True)
    with made.listen("http://127.0.0.1:0") as listener:
        yield str(listener.address)


@pytest.fixture
def fragile(tmp_path: Any) -> Any:
    path = tmp_path / "a fragile server.py"
    path.write_text(FRAGILE)
    return lambda fault: [sys.executable, str(path), fault]


# --- A server that bears it ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["2025-11-25", "2026-07-28"])
def test_our_server_bears_everything_over_http(server: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "SECONDS", patience(0.3))  # the rest of a request that does not come
    quick = every("hostile-lines", "hostile-heads", "hostile-chunks")
    made = trial(wire_to(server), quick, name)
    assert [(each.name, each.weaknesses) for each in made.results] == [
        (each, []) for each in ATTACKS if each in quick]
    assert all(each.sent == each.all > 10 and each.back is None for each in made.results) and not made.gone


def test_a_sound_server_bears_it_on_a_pipe_and_gives_everything_back(
        fragile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_SETTLE", WAIT)
    made = trial(wire_to(fragile("none")), every("hostile-syntax", "hostile-mutations"))
    assert [each.weaknesses for each in made.results] == [[], []]
    if sys.platform == "linux":
        assert all(each.back for each in made.results)


# --- Fragile ones --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fault, attack, kind", [
    ("stops", "hostile-syntax", STOPS), ("error", "hostile-cut", ERROR), ("result", "hostile-cut", RESULT)])
def test_each_weakness_on_a_pipe_is_named(fragile: Any, fault: str, attack: str, kind: str) -> None:
    result = result_of(trial(wire_to(fragile(fault)), every(attack)))
    assert {each.kind for each in result.weaknesses} == {kind}
    assert columns(result)[:2] == (("no", "yes") if kind == STOPS else ("yes", "no"))


def test_an_input_that_stops_a_server_is_made_smaller_and_the_server_is_started_again(fragile: Any) -> None:
    result = result_of(trial(wire_to(fragile("stops")), every("hostile-syntax")))
    first, *others = result.weaknesses
    assert result.deaths == len(result.weaknesses) == 3 and result.sent < result.all
    assert len(first.sent) < 12 and "\\xff" in first.sent and "exit" in first.evidence
    again = result_of(trial(wire_to(fragile("stops")), {"hostile-syntax": frozenset([first.number])}))
    assert again.sent == 1 and [each.number for each in again.weaknesses] == [first.number]


def test_a_large_request_without_an_answer_is_named(fragile: Any) -> None:
    made = trial(wire_to(fragile("silent")), {"hostile-flood": frozenset([1])}, seconds=patience(0.5))
    assert [each.kind for each in result_of(made).weaknesses] == [SILENT]


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read in /proc")
def test_memory_and_descriptors_that_are_kept_are_named(fragile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_SETTLE", 0.1)
    result = result_of(trial(wire_to(fragile("keeps")), {"hostile-cut": frozenset(range(20, 40))}))
    assert [each.kind for each in result.weaknesses] == [KEEPS] and result.back is False
    assert "memory" in result.weaknesses[0].evidence


class Blaming(http.server.BaseHTTPRequestHandler):
    """Answers what is no JSON with a status of its own failure."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body, status, answer = self.rfile.read(int(self.headers["Content-Length"])), 200, {}  # type: Any, int, Any
        try:
            asked = json.loads(body.decode("utf-8"))
        except ValueError:
            status = 500
        else:
            answer = {"jsonrpc": "2.0", "id": asked.get("id"), "result": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: Any) -> None:
        pass


def test_a_status_that_blames_the_server_is_named() -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blaming) as listener:
        listener.daemon_threads = True
        threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
        url = "http://127.0.0.1:%d/mcp" % listener.server_address[1]
        made = trial(lambda trace: Web(url, trace), {"hostile-cut": frozenset(range(1, 9))})
        listener.shutdown()
    assert {each.kind for each in result_of(made).weaknesses} == {STATUS}
    group, = HostileReport(SEED, [made]).groups
    assert group.again(SEED) == "--revision 2025-11-25 --seed 7 --only hostile-cut:1"


# --- What is sent --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("data, whole, expected", [
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', False, A_REQUEST),
    (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', False, A_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', False, A_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,\n"method":"ping"}', False, NO_JSON),
    (b'{"jsonrpc":"2.0","id":1,\n"method":"ping"}', True, A_REQUEST),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', False, NO_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', False, NO_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', False, NO_JSON),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}', False, NO_JSON),
    (b"7", False, NO_REQUEST), (b"", False, NO_JSON), (b"x\n7", False, NO_REQUEST),
])
def test_what_a_frame_is(data: bytes, whole: bool, expected: str) -> None:
    assert nature(data, whole) == expected


def test_the_same_seed_and_number_make_the_same_bytes() -> None:
    likes: List[Dict[str, Any]] = [{"jsonrpc": "2.0", "id": "h", "method": name} for name in ("ping", "tools/list")]
    made: List[Tuple[bytes, ...]] = [tuple(each.data for each in mutations(likes, seed, 50)) for seed in (7, 7, 8)]
    assert made[0] == made[1] != made[2] and len(set(made[0])) > 45


# --- The command ---------------------------------------------------------------------------------------------------

def test_the_report_says_how_to_repeat_it_and_keeps_it_apart(fragile: Any, capsys: Any) -> None:
    words = ["examine", " ".join(map(quote, fragile("result"))), "--revision", "2025-11-25", "--only", "hostile-cut:3",
             "--seed", "5"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert ": 0 broken, 0 warned, 1 fragile\n" in said
    assert "hostile input, seed 5" in said and "FRAGILE: hostile-cut: a result for what is no request" in said
    assert "again: examine SERVER --revision 2025-11-25 --seed 5 --only hostile-cut:3" in said
    assert max(map(len, said.splitlines())) <= 100
    assert main([*words, "--level", "fragile", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["faults"] == [] and found["hostile"]["weaknesses"][0]["citation"] == (
        "2025-11-25 basic/index §Messages")
    for form in ("junit", "sarif"):
        assert main([*words, "--format", form]) == 0
        assert "hostile-cut" in capsys.readouterr().out


def test_the_number_of_an_input_is_a_number(fragile: Any, capsys: Any) -> None:
    assert main(["examine", "x", "--only", "hostile-cut:x"]) == 2
    assert "the number of an input is wanted" in capsys.readouterr().err
