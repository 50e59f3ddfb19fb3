"""Targets on the wire: splitting bytes into lines, JSON as this package takes it, JSON-RPC frames."""
import json
from random import Random
from typing import Any, List, Tuple

from mcp_ref import jsonrpc, jsontext
from mcp_ref.errors import Rejected
from mcp_ref.limits import Limits
from mcp_ref.transports.lines.stdio import LineSplitter, frame

from .engine import Broken, Target
from .inventing import as_bytes, mutated, mutated_bytes, text, value

SMALL = Limits(max_depth=16, max_nodes=200, max_number_digits=40, max_batch=4, max_id_length=40)
ERROR_TEXT = 600
"""Characters that the text of an error may have, whatever arrived."""


# -- Lines --------------------------------------------------------------------------------------

Lines = Tuple[bytes, List[int], int]


def make_lines(random: Random) -> Lines:
    """A stream, where it is cut, and the limit."""
    data = b"".join(mutated_bytes(random, random.choice((b"", b"a", b"{}", b"x" * 30)), random.randrange(3))
                    + random.choice((b"\n", b"\r\n", b"\n\n", b"\r", b"")) for _ in range(random.randrange(8)))
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.randrange(6)))
    return data, cuts, random.randrange(1, 40)


def check_lines(case: Lines) -> None:
    """However it is cut, a stream gives the lines that `split` gives, without blank ones, and refuses the long ones."""
    data, cuts, limit = case
    splitter = LineSplitter(max(limit, 1))
    found: List[Any] = []
    for start, end in zip([0, *cuts], [*cuts, len(data)]):
        found += splitter.feed(data[start:end])
    *ended, rest = data.split(b"\n")
    ended = [line[:-1] if line.endswith(b"\r") else line for line in ended]
    wanted = [
        None if len(line) > max(limit, 1) else line for line in ended if len(line) > max(limit, 1) or line.strip()]
    if [None if isinstance(item, Rejected) else item for item in found] != wanted:
        raise Broken("lines: %r instead of %r" % (found, wanted))
    if splitter.unfinished != len(rest) or splitter.rejected != wanted.count(None):
        raise Broken("counts: %d unfinished, %d rejected" % (splitter.unfinished, splitter.rejected))
    messages = [line for line in ended if len(line) > max(limit, 1) or line.strip()]
    if b"".join(frame(messages)) != b"".join(line + b"\n" for line in messages):
        raise Broken("frame: other bytes than the lines")


# -- JSON ---------------------------------------------------------------------------------------


def make_json(random: Random) -> bytes:
    """JSON, most of it a little broken."""
    data = as_bytes(value(random, 4))
    return mutated_bytes(random, data, random.randrange(4))


def check_json(data: bytes) -> None:
    """What is accepted is what `json` reads, and it can be written and read again; what is not, says why in a line."""
    try:
        found = jsontext.loads(data, SMALL)
    except jsontext.JsonError as error:
        one_line(str(error))
        return
    if found != json.loads(data.decode("utf-8")):
        raise Broken("value: not what json reads")
    written = jsontext.dumps(found)
    one_line(written, None)
    if jsontext.loads(written.encode("ascii")) != found:
        raise Broken("again: not what was written")


def one_line(found: str, length: Any = ERROR_TEXT) -> None:
    """Raise Broken for what is not one printable line of that length; letters of any language are fine."""
    if not found.isprintable():
        raise Broken("text: not one printable line: %r" % found[:300])
    if length is not None and len(found) > length:
        raise Broken("text: %d characters" % len(found))


# -- JSON-RPC -----------------------------------------------------------------------------------


def frame_object(random: Random) -> Any:
    """A frame that is in order."""
    head = {"jsonrpc": "2.0"}
    identity: Any = random.choice((1, 0, -5, "a", "", text(random), 2 ** 60))
    method: Any = random.choice(("ping", "tools/call", "initialize", "notifications/cancelled", text(random)))
    params = {"_meta": {"progressToken": 1}, "name": value(random, 1)}
    kinds = (
        {"id": identity, "method": method, "params": params}, {"id": identity, "method": method},
        {"method": method, "params": params}, {"id": identity, "result": {"a": value(random, 2)}},
        {"id": identity, "error": {"code": -32000, "message": text(random), "data": value(random, 2)}},
        {"id": None, "error": {"code": 1, "message": ""}}, {"error": {"code": 1, "message": "x"}},
    )
    return dict(head, **random.choice(kinds))


def make_frame(random: Random) -> Tuple[bytes, bool]:
    """The bytes of a frame or a batch, most of them with a fault, and whether batches are read."""
    tree = frame_object(random)
    if random.random() < 0.3:
        tree = [mutated(random, frame_object(random), random.randrange(2)) for _ in range(random.randrange(6))]
    data = as_bytes(mutated(random, tree, random.randrange(3)))
    if random.random() < 0.3:
        data = mutated_bytes(random, data, random.randrange(3))
    return data, random.random() < 0.5


def check_frame(case: Tuple[bytes, bool]) -> None:
    """Only `Malformed`, with a code and a line of text; a frame is written and read again as it was."""
    data, batching = case
    try:
        found = jsonrpc.parse(data, batching, SMALL)
    except jsonrpc.Malformed as error:
        check_malformed(error)
        return
    if isinstance(found, jsonrpc.Batch):
        for item in found.items:
            if isinstance(item, jsonrpc.Malformed):
                check_malformed(item)
        found = jsonrpc.Batch([item for item in found.items if not isinstance(item, jsonrpc.Malformed)])
        if not found.items:
            return
    again = jsonrpc.parse(jsonrpc.encode(found), batching)
    if _comparable(again) != _comparable(found):
        raise Broken("again: %r instead of %r" % (again, found))


def check_malformed(error: jsonrpc.Malformed) -> None:
    """What a refusal says."""
    one_line(error.message)
    if error.code not in (-32700, -32600, -32602):
        raise Broken("code: %d" % error.code)
    if error.id is not None and type(error.id) not in (int, str):
        raise Broken("id: %r" % (error.id,))


def _comparable(found: Any) -> Any:
    items = found.items if isinstance(found, jsonrpc.Batch) else [found]
    return [jsonrpc.to_object(item) for item in items]


TARGETS = (
    Target("lines", make_lines, check_lines),
    Target("json", make_json, check_json),
    Target("frames", make_frame, check_frame),
)
