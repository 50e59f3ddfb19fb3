"""Traces for the figures about `check`: `make WIRE REVISION CALLS FILE` writes one, `read FILE` reads its lines.

A recorded session is one handshake, where the revision has one, and calls of a tool; over HTTP each call is a POST,
with three events beside its two messages. `read` prints the CPU seconds that `json.loads` takes for the lines.
"""
import json
import sys
import time

CALL = """
C #7 tools/call {"name": "add", "arguments": {"a": 1, "b": 2}}
S #7 {"content": [{"type": "text", "text": "3"}]}
"""


def make(wire: str, revision: str, calls: int, path: str) -> int:
    """Write the trace, and return the number of its messages."""
    from mcp_ref.devtools.checker.scenes import trace
    from mcp_ref.wiretrace import to_object

    begin = "on %s %s\n" % (wire, revision)
    opening = [to_object(event) for event in trace(begin, "+")]
    call = [to_object(event) for event in trace(begin + CALL, "+")][len(opening):]
    now, messages = 1.0, sum("message" in event for event in opening)
    with open(path, "w", encoding="utf-8") as file:
        for event in opening:
            file.write(json.dumps(event) + "\n")
        for number in range(calls):
            for event in call:
                now += 0.0005
                told = dict(event, time=round(now, 6))
                if "message" in told:
                    told["message"] = dict(told["message"], id=number + 10)
                    messages += 1
                if "exchange" in told:
                    told["exchange"] = number + 1000
                file.write(json.dumps(told) + "\n")
    return messages


def read(path: str) -> float:
    """Return the CPU seconds of `json.loads` for each line."""
    begin = time.process_time()
    with open(path, "rb") as file:
        for line in file:
            json.loads(line)
    return time.process_time() - begin


if __name__ == "__main__":
    if sys.argv[1] == "make":
        print(make(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]))
    else:
        print(read(sys.argv[2]))
