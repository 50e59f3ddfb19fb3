"""Legal sessions, broken in systematic ways, and the rule that each way breaks: what shows that the checker finds it.

The sessions are in `tests/data/legal_sessions.txt`, the ways in the table `tests/data/mutations.txt`, which also tells
what a row is. A seed chooses where a session is broken, and with which value; another seed makes others::

    python3 tests/checker/mutation.py --seed 7            the rate, and what was not found
    python3 tests/checker/mutation.py --seed 7 --list     every broken session, what is expected and what is found
    python3 tests/checker/mutation.py --seed 7 --show "ping answered twice on stdio 2025-06-18"     its events
"""
import argparse
import copy
import functools
import json
import pathlib
import random
import re
import sys
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from mcp_ref.devtools.checker import Checker  # noqa: E402
from mcp_ref.devtools.checker.rules import RULES, load  # noqa: E402
from mcp_ref.devtools.checker.scenes import trace  # noqa: E402
from mcp_ref.revisions import NAMES, revision  # noqa: E402
from mcp_ref.wiretrace import CLIENT, END, MESSAGE, REQUEST, RESPONSE, SERVER, SSE_EVENT, Event, to_object  # noqa: E402

SESSIONS = ROOT / "tests" / "data" / "legal_sessions.txt"
TABLE = ROOT / "tests" / "data" / "mutations.txt"
INVISIBLE = "invisible:"
Events = List[Event]
Base = Tuple[str, str]
"""Transport and revision. The transport `TASKS` is stdio, with tasks: only the rows for tasks break its sessions."""
TASKS = "tasks"
_EXTENSION = '"extensions": {"io.modelcontextprotocol/tasks": {}}'
_CAPABLE = {
    "2025-11-25": 'server={"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}',
    "2026-07-28": 'client={"elicitation": {"form": {}}, %s} server={"tools": {}, %s}' % (_EXTENSION, _EXTENSION)}


# The legal sessions

_EXCHANGE = re.compile(r"^([CS]) \[\d+[^\]]*\](>?) ?")
_HTTP_ONLY = re.compile(r"^[CS] \[\d+[^\]]*\] (end|stream|\d{3} |event |GET |DELETE )")


def _between(name: str, span: str) -> bool:
    """Tell whether a revision is in a span such as ``2025-06-18..``, ``..2025-03-26`` or ``2026-07-28``."""
    first, dots, last = span.partition("..")
    return (first or NAMES[0]) <= name <= ((last or NAMES[-1]) if dots else first)


def _holds(conditions: str, base: Base) -> bool:
    """Tell whether all conditions hold, with commas between: spans of revisions, http, sse, pipe, oneway, tasks."""
    transport, name = base
    kinds = {"stdio": ("pipe", "oneway"), "sse": ("sse", "oneway"), "http": ("http",), TASKS: (TASKS,)}[transport]
    return all(_between(name, each) if each[:1].isdigit() or each.startswith("..") else each in kinds
               for each in conditions.split(",") if each)


@functools.lru_cache(maxsize=None)
def bases() -> Dict[Base, Events]:
    """Return the legal sessions; nobody changes them."""
    found = {}
    for block in re.split(r"^=== ", SESSIONS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("\n")
        transports, span = head.split()[1:]
        for transport in transports.split(","):
            for name in NAMES:
                first = name == NAMES[0]
                if _between(name, span) and (transport in ("stdio", TASKS) or (transport == "sse") == first):
                    found[transport, name] = trace(_scene(body, (transport, name)), "+")
    return found


def _scene(body: str, base: Base) -> str:
    lines = ["on %s %s %s" % ("stdio", base[1], _CAPABLE[base[1]]) if base[0] == TASKS else "on %s %s" % base]
    for line in body.splitlines():
        if line.startswith("% "):
            _, conditions, line = line.split(" ", 2)
            if not _holds(conditions, base):
                continue
        if base[0] != "http":
            if _HTTP_ONLY.match(line):
                continue
            line = _EXCHANGE.sub(r"\1\2 ", line)
        lines.append(line)
    return "\n".join(lines)


# Where a session is broken

_KINDS = {"?": "request", "!": "notification", "=": "result", "x": "error"}


class Spot(NamedTuple):
    """A message of a session that is to be broken."""

    events: Events
    at: int
    choice: random.Random

    @property
    def event(self) -> Event:
        """The event of the message."""
        return self.events[self.at]

    @property
    def message(self) -> Dict[str, Any]:
        """The message."""
        found = self.event.message
        assert isinstance(found, dict)
        return found


def methods_of(events: Events) -> List[Tuple[str, str, str]]:
    """Return party, kind and method of each event; of a response, the method of its request."""
    asked: Dict[Tuple[str, str], str] = {}
    found = []
    for event in events:
        kind = method = ""
        message = event.message
        if event.kind == MESSAGE and isinstance(message, dict):
            kind = "x" if "error" in message else "=" if "result" in message else "?" if "id" in message else "!"
            id = json.dumps(message.get("id"))
            if kind == "?":
                asked[event.direction, id] = message["method"]
            other = SERVER if event.direction == CLIENT else CLIENT
            method = message["method"] if kind in "?!" else asked.get((other, id), "")
        found.append((event.direction, kind, method))
    return found


def spots(events: Events, where: str) -> List[int]:
    """Return the places that fit, such as ``S = tools/list has result.nextCursor @1``."""
    where, _, nth = where.partition(" @")
    where, _, path = where.partition(" has ")
    party, kind, method = where.split()
    party = {"C": CLIENT, "S": SERVER}[party]
    places = [place for place, (who, what, named) in enumerate(methods_of(events))
              if who == party and what and what in kind and (method == "*" or named in method.split(","))
              and (not path or _reach(events[place].message, path) is not None)]
    return places if not nth else places[int(nth):][:1]


_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")


def _steps(path: str) -> List[Any]:
    """Return the names and indices of a path; a name with dots or slashes stands in ``<...>``."""
    found: List[Any] = []
    for part in re.split(r"(<[^>]*>)", path):
        found += [part[1:-1]] if part.startswith("<") else [
            int(each[1:-1]) if each.startswith("[") else each for each in _STEP.findall(part)]
    return found


def _reach(value: Any, path: str) -> Any:
    for step in _steps(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


# How it is broken. Each takes a spot and the rest of the change, and returns the events

def _with_message(spot: Spot, message: Any, text: str = "") -> Events:
    return [*spot.events[:spot.at], spot.event._replace(message=message, text=text), *spot.events[spot.at + 1:]]


def _edit(spot: Spot, path: str, change: Callable[[Any, Any], None]) -> Events:
    message = copy.deepcopy(spot.message)
    *way, last = _steps(path)
    holder: Any = message
    for step in way:
        if isinstance(holder, dict):
            holder = holder.setdefault(step, {})
        else:
            holder = holder[step]
    change(holder, last)
    return _with_message(spot, message)


def _value(spot: Spot, text: str) -> Any:
    """Return one of the JSON values, of which there may be several with " or " between them."""
    return json.loads(spot.choice.choice(text.split(" or ")))


def _set(spot: Spot, rest: str) -> Events:
    path, _, text = rest.partition(" ")
    value = _value(spot, text)
    return _edit(spot, path, lambda holder, name: holder.__setitem__(name, value))


def _delete(spot: Spot, rest: str) -> Events:
    return _edit(spot, rest, lambda holder, name: holder.pop(name))


def _rename(spot: Spot, rest: str) -> Events:
    path, new = rest.split(" ")

    def change(holder: Any, name: Any) -> None:
        holder[new] = holder.pop(name)

    return _edit(spot, path, change)


def _replace(spot: Spot, rest: str) -> Events:
    """Another result or error in the place of what was answered; the id remains."""
    kept = {name: spot.message[name] for name in ("jsonrpc", "id")}
    return _with_message(spot, {**kept, **_value(spot, rest)})


def _unit(events: Events, at: int) -> List[int]:
    """Return what belongs to a message: over HTTP also heads and ends that are there for it alone."""
    event = events[at]
    assert isinstance(event.message, dict)
    mine = [place for place, each in enumerate(events) if event.exchange and each.exchange == event.exchange]
    messages = [place for place in mine if events[place].kind == MESSAGE]
    if event.direction == CLIENT:
        if len(messages) == 1:
            return mine  # a notification or a response, with its 202
        return [at, *(place for place in mine if events[place].kind == REQUEST)] if event.exchange else [at]
    if event.message is not None and "method" not in event.message:
        own = [place for place in mine if place > at and events[place].kind == END]
        first = [place for place in mine if events[place].kind == RESPONSE and place == at - 1]
        return [*first, at, *own] if own else [at]
    return [at]


def _drop(spot: Spot, rest: str) -> Events:
    """A request is dropped with its response."""
    gone = set(_unit(spot.events, spot.at))
    if "method" in spot.message and "id" in spot.message:
        gone.add(next(place for place, each in enumerate(spot.events) if place > spot.at and isinstance(
            each.message, dict) and each.direction != spot.event.direction and "method" not in each.message
            and each.message.get("id") == spot.message["id"]))
    return [each for place, each in enumerate(spot.events) if place not in gone]


def _timed(events: Events, times: List[float]) -> Events:
    return [each._replace(time=time) for each, time in zip(events, times)]


def _move(spot: Spot, rest: str) -> Events:
    """``before WHERE`` or ``after WHERE``: times stay as they were."""
    side, where = rest.split(" ", 1)
    target = spot.events[spot.choice.choice(spots(spot.events, where))]
    moved = sorted(_unit(spot.events, spot.at))
    rest_of = [each for place, each in enumerate(spot.events) if place not in moved]
    at = next(place for place, each in enumerate(rest_of) if each is target) + (side == "after")
    return _timed([*rest_of[:at], *(spot.events[place] for place in moved), *rest_of[at:]],
                  [each.time for each in spot.events])


def _fresh(events: Events) -> int:
    return max(each.exchange for each in events) + 1000


def _posted(spot: Spot, message: Any, place: int) -> Events:
    """Return the events of a message of the client: over HTTP in an exchange of its own."""
    time = spot.events[place].time
    if not spot.event.exchange:
        return [spot.event._replace(time=time, direction=CLIENT, message=message, text="", more={})]
    heads = [each for each in spot.events if each.kind == REQUEST and each.more["method"] == "POST"]
    head = heads[-1]._replace(time=time, exchange=_fresh(spot.events))
    if isinstance(message, dict) and any(name == "Mcp-Method" for name, _ in head.more["fields"]):
        head = _fielded(head, "Mcp-Method", message.get("method"))
        head = _fielded(head, "Mcp-Name", message.get("params", {}).get("name"))
    made = [head, head._replace(direction=CLIENT, kind=MESSAGE, message=message, more={})]
    if not (isinstance(message, dict) and "method" in message and "id" in message):
        made += [made[0]._replace(direction=SERVER, kind=RESPONSE, more={"status": 202, "fields": []}),
                 made[0]._replace(direction=SERVER, kind=END, more={"complete": True})]
    return made


def _insert(spot: Spot, rest: str) -> Events:
    """``before|after C|S VALUE``: another message beside this one; ``$id`` is its id, ``$asked`` that of another."""
    side, party, text = rest.split(" ", 2)
    message = _value(spot, text.replace('"$id"', json.dumps(spot.message.get("id"))))
    at = spot.at + (side == "after")
    if party == "C":
        made = _posted(spot, message, spot.at)
        heads = [place for place, each in enumerate(spot.events)
                 if each.exchange and each.exchange == spot.event.exchange and each.kind == REQUEST]
        if side == "before" and spot.event.direction == CLIENT and heads:
            at = heads[0]
    else:
        more = {"sse": {}} if "sse" in spot.event.more or spot.event.exchange else {}
        made = [spot.event._replace(direction=SERVER, message=message, text="", more=more)]
    return [*spot.events[:at], *made, *spot.events[at:]]


def _bytes(spot: Spot, rest: str) -> Events:
    """``before|after C|S TEXT``: bytes that are no message; ``\\xE9`` is a byte, ``\\n`` begins another line."""
    side, party, text = rest.split(" ", 2)
    at = spot.at + (side == "after")
    made = []
    for line in text.split("\\n"):
        data = re.sub(rb"\\x([0-9A-F]{2})", lambda found: bytes.fromhex(found.group(1).decode()), line.encode())
        made.append(spot.event._replace(direction={"C": CLIENT, "S": SERVER}[party], message=None,
                                        text=data.decode("utf-8", "surrogateescape")))
    return [*spot.events[:at], *made, *spot.events[at:]]


def _pretty(spot: Spot, rest: str) -> Events:
    """The message on several lines."""
    lines = json.dumps(spot.message, indent=1).split("\n")
    made = [spot.event._replace(message=None, text=line) for line in lines]
    return [*spot.events[:spot.at], *made, *spot.events[spot.at + 1:]]


def _twice(spot: Spot, rest: str) -> Events:
    if spot.event.direction == CLIENT:
        made = _posted(spot, spot.message, spot.at)
        after = max(_unit(spot.events, spot.at)) if spot.event.exchange else spot.at
        return [*spot.events[:after + 1], *made, *spot.events[after + 1:]]
    return [*spot.events[:spot.at + 1], spot.event, *spot.events[spot.at + 1:]]


def _reuse(spot: Spot, rest: str) -> Events:
    """``VALUE``: another id of a request, also in its response and its cancellation."""
    value = _value(spot, rest)
    id, party = spot.message["id"], spot.event.direction
    over = False
    found = list(spot.events)
    for place in range(spot.at, len(found)):
        event, message = found[place], copy.deepcopy(found[place].message)
        if event.kind != MESSAGE or not isinstance(message, dict) or over:
            continue
        if message.get("id") == id and ("method" in message) == (event.direction == party):
            over = "method" not in message
            message["id"] = value
        elif message.get("method") == "notifications/cancelled" and message["params"].get("requestId") == id:
            message["params"]["requestId"] = value
        found[place] = event._replace(message=message)
    return found


def _method(spot: Spot, rest: str) -> Events:
    """``NAME``: another method, and over HTTP its header field."""
    spot = spot._replace(events=_with_message(spot, {**spot.message, "method": rest}))
    if spot.event.direction == SERVER:
        return spot.events
    return _on_head(spot, REQUEST, lambda head: _fielded(head, "Mcp-Method", rest) if any(
        name == "Mcp-Method" for name, _ in head.more["fields"]) else head)


# HTTP

def _on_head(spot: Spot, kind: str, change: Callable[[Event], Event]) -> Events:
    number = spot.event.exchange
    return [change(each) if number and each.exchange == number and each.kind == kind else each
            for each in spot.events]


def _fielded(head: Event, name: str, value: Optional[str]) -> Event:
    fields = [pair for pair in head.more["fields"] if pair[0].lower() != name.lower()]
    return head._replace(more={**head.more, "fields": fields + ([[name, value]] if value is not None else [])})


def _field_of(kind: str) -> Callable[[Spot, str], Events]:
    def change(spot: Spot, rest: str) -> Events:
        name, _, value = rest.partition(" ")
        chosen = spot.choice.choice(value.split(" or "))
        return _on_head(spot, kind, lambda head: _fielded(head, name, None if chosen == "-" else chosen))

    return change


def _status(spot: Spot, rest: str) -> Events:
    status = int(spot.choice.choice(rest.split(" or ")))
    return _on_head(spot, RESPONSE, lambda head: head._replace(more={**head.more, "status": status}))


def _http_method(spot: Spot, rest: str) -> Events:
    return _on_head(spot, REQUEST, lambda head: head._replace(more={**head.more, "method": rest}))


def _refused(spot: Spot, rest: str) -> Events:
    """``STATUS {error}``: the other party answers this request with an error, as it has to."""
    status, text = rest.split(" ", 1)
    id, seen, found = spot.message["id"], False, []
    error = {"jsonrpc": "2.0", "id": id if isinstance(id, (str, int)) else None, "error": json.loads(text)}
    number = spot.event.exchange
    for place, each in enumerate(spot.events):
        message = each.message if isinstance(each.message, dict) else {}
        mine = spot.event.direction == CLIENT
        answers = (place > spot.at and (each.direction == SERVER) == mine and "method" not in message and not seen
                   and each.kind == MESSAGE and message.get("id") == id)
        if number and mine and each.exchange == number and each.kind == RESPONSE and (
                each.more["status"] != 202):
            each = each._replace(more={"status": int(status), "fields": [["Content-Type", "application/json"]]})
        elif number and mine and place > spot.at and each.exchange == number and each.direction == SERVER and (
                each.kind in (MESSAGE, SSE_EVENT)) and not answers:
            continue
        if answers:
            seen = True
            each = each._replace(message=error, more={} if mine and each.exchange == number else each.more)
        found.append(each)
    return found


def _stream(spot: Spot, rest: str) -> Events:
    """``WHERE``: the message comes in the exchange of another one."""
    others = [each for each in spots(spot.events, rest) if spot.events[each].exchange != spot.event.exchange]
    number = spot.events[spot.choice.choice(others)].exchange
    return [*spot.events[:spot.at], spot.event._replace(exchange=number, more={"sse": {}}),
            *spot.events[spot.at + 1:]]


def _on_get(spot: Spot, rest: str) -> Events:
    """``[again]``: the message comes on the stream of the first GET, perhaps as well."""
    number = next(each.exchange for each in spot.events if each.kind == REQUEST and each.more["method"] == "GET")
    moved = spot.event._replace(exchange=number, more={"sse": {}})
    return [*spot.events[:spot.at], *([spot.event] if rest == "again" else []), moved, *spot.events[spot.at + 1:]]


def _late(spot: Spot, rest: str) -> Events:
    """``SECONDS``: it and all that follows comes so much later."""
    first = min(_unit(spot.events, spot.at))
    return [each if place < first else each._replace(time=each.time + float(rest))
            for place, each in enumerate(spot.events)]


def _events(spot: Spot, rest: str) -> Events:
    """``drop KIND [MEMBER=VALUE]``: the events of a kind in the exchange, or anywhere on a pipe, are not there."""
    kind, _, wanted = rest.partition(" ")
    name, _, value = wanted.partition("=")
    return [each for each in spot.events if not (
        each.kind == kind and (not each.exchange or each.exchange == spot.event.exchange or kind == SSE_EVENT)
        and (not name or str(each.more.get(name)) == value))]


def _sse(spot: Spot, rest: str) -> Events:
    """``{members}``: the message comes in an event with these members."""
    return [*spot.events[:spot.at], spot.event._replace(more={"sse": json.loads(rest)}), *spot.events[spot.at + 1:]]


def _head_of(spot: Spot, rest: str) -> Events:
    """``METHOD NUMBER header|answer NAME VALUE``, ``... status N``, ``... drop``: of an exchange without message."""
    method, nth, what, *words = rest.split(" ")
    carry = {each.exchange for each in spot.events if each.kind == MESSAGE and each.direction == CLIENT}
    number = [each.exchange for each in spot.events if each.kind == REQUEST and each.exchange not in carry
              and each.more["method"] == method][int(nth)]
    if what == "drop":
        return [each for each in spot.events if each.exchange != number]
    if what == "late":
        return [each._replace(time=each.time + float(words[0])) if each.exchange == number else each
                for each in spot.events]
    place = next(place for place, each in enumerate(spot.events) if each.exchange == number)
    here = spot._replace(at=place)
    return {"header": _field_of(REQUEST), "answer": _field_of(RESPONSE), "status": _status}[what](
        here, " ".join(words))


def _also(spot: Spot, rest: str) -> Events:
    """``WHERE :: CHANGE``: another change at another place."""
    where, change = rest.split(" :: ", 1)
    name, _, rest = change.partition(" ")
    return CHANGES[name](spot._replace(at=spot.choice.choice(spots(spot.events, where))), rest)


CHANGES: Dict[str, Callable[[Spot, str], Events]] = {
    "set": _set, "del": _delete, "rename": _rename, "replace": _replace, "drop": _drop, "move": _move,
    "insert": _insert, "bytes": _bytes, "pretty": _pretty, "twice": _twice, "reuse": _reuse, "method": _method,
    "header": _field_of(REQUEST), "answer-header": _field_of(RESPONSE), "status": _status,
    "http-method": _http_method, "refused": _refused, "stream": _stream, "on-get": _on_get, "late": _late,
    "without": _events, "sse": _sse, "exchange": _head_of, "also": _also,
}


# The table

class Way(NamedTuple):
    """A row of the table."""

    name: str
    where: str
    change: str
    rules: FrozenSet[str]
    """The ids of the rules, one of which is the right one to name; empty if nobody can see it."""
    reason: str
    """Why nobody can see it."""
    when: str
    """The conditions under which the way applies, with commas between them."""
    part: str
    """The part of the table."""


class Mutant(NamedTuple):
    """A session that was broken."""

    way: Way
    base: Base
    events: Events

    @property
    def name(self) -> str:
        """The name of the way, and on what."""
        return "%s on %s %s" % (self.way.name, *self.base)


def ways() -> List[Way]:
    """Return the rows of the table."""
    found, title = [], ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("; # "):
            title = line[4:]
        elif not line.startswith(";"):
            name, where, change, rules, when = ([part.strip() for part in line.split(" | ")] + [""])[:5]
            hidden = rules.startswith(INVISIBLE)
            found.append(Way(name, where, change, frozenset(() if hidden else rules.split()),
                             rules[len(INVISIBLE):].strip() if hidden else "", when, title))
    return found


def mutants(seed: int, most: int = 99, part: str = "") -> Iterator[Mutant]:
    """Make the broken sessions of a seed: each way on each base that it applies to, or on so many that are chosen.

    ``part``: only those of a part of the table.
    """
    load()
    sessions = bases()
    for way in ways():
        if part in ("", way.part):
            fit = [base for base in sessions if _places(way, base)]
            for base in random.Random("%d %s" % (seed, way.name)).sample(fit, min(most, len(fit))):
                choice = random.Random("%d %s %s %s" % (seed, way.name, *base))
                place = choice.choice(_places(way, base))
                yield Mutant(way, base, broken(way, sessions[base], choice, place))


@functools.lru_cache(maxsize=None)
def _places(way: Way, base: Base) -> List[int]:
    """Return where a way can break a session: nowhere if its rules do not bind in the revision."""
    rank = revision(base[1]).rank
    if (TASKS in way.when.split(",")) != (base[0] == TASKS):
        return []
    if not _holds(way.when, base) or (way.rules and not any(rank in RULES[id].ranks for id in way.rules)):
        return []
    events = bases()[base]
    places, (name, *words) = spots(events, way.where), way.change.split(" ")
    return [each for each in places if name not in ("del", "rename") or (
        _reach(events[each].message, words[0]) is not None)]


def broken(way: Way, events: Events, choice: random.Random, place: int) -> Events:
    """Return the events of a session after all changes of a row, which " & " stands between."""
    for change in way.change.split(" & "):
        name, _, rest = change.partition(" ")
        message = events[place].message
        events = CHANGES[name](Spot(events, place, choice), rest)
        if events[place:place + 1] and events[place].message is not message:
            place = next((at for at, each in enumerate(events) if each.message is message), place)
    return events


def roots(events: Events) -> List[str]:
    """Return the ids of the rules that are the roots of what is found, each once."""
    return sorted({each.rule.id for each in Checker().check(events) if each.cause is None})


def is_right(mutant: Mutant, found: List[str]) -> bool:
    """Tell whether the right rule was named, and no other; nothing where nobody can see the fault."""
    return (len(found) == 1 and found[0] in mutant.way.rules) if mutant.way.rules else not found


def main(arguments: List[str]) -> int:
    """Print the rate, and more if it is asked for."""
    parser = argparse.ArgumentParser(description="Breaks legal sessions, and tells whether the checker finds it.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="every broken session, with what is expected and found")
    parser.add_argument("--show", metavar="NAME", help="the events of one, with what is found")
    parser.add_argument("--only", metavar="TEXT", default="", help="those with this text in their names")
    options = parser.parse_args(arguments)
    visible = right = hidden = 0
    for mutant in mutants(options.seed):
        if options.only not in mutant.name or options.show not in (None, mutant.name):
            continue
        found = Checker().check(mutant.events)
        causes = sorted({each.rule.id for each in found if each.cause is None})
        good = is_right(mutant, causes)
        if mutant.way.rules:
            visible, right = visible + 1, right + good
        else:
            hidden += 1
        if options.show:
            for event in mutant.events:
                print(json.dumps(to_object(event)))
            for each in found:
                print("%s%s: %s (message %d, exchange %d, %s)" % (
                    "  follows from %s: " % each.cause.rule.id if each.cause else "", each.rule.id, each.evidence,
                    each.number, each.exchange, each.party))
        elif options.list or not good:
            print("%s %s: expected %s; found %s" % (
                "ok  " if good else "FAIL", mutant.name, " or ".join(sorted(mutant.way.rules)) or "nothing",
                ", ".join(causes) or "nothing"))
    print("seed %d: %d of %d visible faults named rightly (%.1f %%); %d invisible" % (
        options.seed, right, visible, 100.0 * right / max(1, visible), hidden))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
