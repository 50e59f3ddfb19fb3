"""What the server goes through with tasks: each is begun, and then polled, answered, cancelled, or left alone."""
import collections
import json
import random
import time
from typing import Any, Dict

from http_peer import fields
from http_wire import Line
from peer import ENVELOPE, request, result_of, tool_request
from soaked import Failed, Soaked, cut

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
DECLARED: Dict[str, Any] = {"_meta": {**ENVELOPE["_meta"], CAPABILITIES: {
    "elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}}}
ENDS = ("polled", "answered", "cancelled", "abandoned", "abandoned at work", "never known")
PATIENCE = 30.0


def tasked(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Begin tasks, end each in one of ENDS, and wait until those that nobody wants have expired."""
    done: "collections.Counter[str]" = collections.Counter()
    begin, line, most = time.monotonic(), soaked.target.line(), 0
    for number in range(1, count + 1):
        end = chance.choice(ENDS)
        if end == "abandoned at work" and number % 10:
            end = "abandoned"  # each of these keeps a thread until it expires
        done[end] += 1
        if end == "never known":
            data = _call(soaked, number, "asks")
            line.sock.sendall(data[:chance.randrange(len(data))] if chance.random() < 0.5 else data)
            cut(line.sock, chance)
            line = soaked.target.line()
            continue
        what = {"polled": "quick", "abandoned at work": "waits"}.get(end, "asks")
        task = _asked(line, number, _call(soaked, number, what))
        if task.get("resultType") != "task":
            raise Failed("no task: %r" % task)
        _end(soaked, line, number, end, task["taskId"])
        if not number % 100:
            most = max(most, soaked.report()["threads"])
    rate = count / (time.monotonic() - begin)
    _expired(soaked, line)
    line.sock.close()
    return "%.0f per second, %d threads at most; %s" % (
        rate, most, ", ".join("%d %s" % (done[end], end) for end in ENDS))


def _call(soaked: Soaked, number: int, what: str) -> bytes:
    return soaked.post(tool_request(number, "job", {"what": what}, **DECLARED), None, fields("tools/call", "job"))


def _asked(line: Line, number: int, data: bytes) -> Dict[str, Any]:
    answer = line.ask(data)
    if answer.status != 200:
        raise Failed("request %d was answered %d: %r" % (number, answer.status, answer.body[:300]))
    return result_of(answer.message)[1]


def _about(soaked: Soaked, line: Line, number: int, method: str, id: str, **more: Any) -> Dict[str, Any]:
    message = request(number, method, {"taskId": id, **more, **DECLARED})
    return _asked(line, number, soaked.post(message, None, fields(method, id)))


def _end(soaked: Soaked, line: Line, number: int, end: str, id: str) -> None:
    if end == "cancelled":
        _about(soaked, line, number, "tasks/cancel", id)
        _until(soaked, line, number, id, "cancelled")
    elif end == "answered":
        asked = _until(soaked, line, number, id, "input_required")["inputRequests"]
        word = {key: {"action": "accept", "content": {"word": "w%d" % number}} for key in asked}
        _about(soaked, line, number, "tasks/update", id, inputResponses=word)
    if end in ("answered", "polled"):
        text = _until(soaked, line, number, id, "completed")["result"]["content"][0]["text"]
        if text != ("done" if end == "polled" else "w%d" % number):
            raise Failed("task %d came to %r" % (number, text))


def _until(soaked: Soaked, line: Line, number: int, id: str, status: str) -> Dict[str, Any]:
    end = time.monotonic() + PATIENCE
    while True:
        task = _about(soaked, line, number, "tasks/get", id)
        if task["status"] == status:
            return task
        if time.monotonic() > end:
            raise Failed("task %d is %s and not %s" % (number, task["status"], status))


def _expired(soaked: Soaked, line: Line) -> None:
    """Wait until no task is left."""
    end = time.monotonic() + PATIENCE
    while soaked.report()["tasks"]:
        if time.monotonic() > end:
            raise Failed("%d tasks have not expired" % soaked.report()["tasks"])
        time.sleep(0.3)
        message = request(0, "tasks/get", {"taskId": "unknown", **DECLARED})
        answer = line.ask(soaked.post(message, None, fields("tasks/get", "unknown")))
        if json.loads(answer.body)["error"]["code"] != -32602:
            raise Failed("an unknown task was answered %r" % answer.body[:300])
