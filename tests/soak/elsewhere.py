"""What the server goes through at its other endpoints: two share their sessions in a store, one wants tokens."""
import contextlib
import json
import random
import time
from typing import Counter, List, Optional, Tuple

from http_peer import fields
from http_wire import Line, Target
from peer import ENVELOPE, echo_request, request, result_of, tool_request
from soaked import Failed, Soaked, cut
from tokens import token_of


def shared(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Sessions in a store, used at two endpoints in turn; most are deleted, the others forgotten.

    Some subscribe here and end that there, and some send answers that nobody waits for, with 20 KB each.
    """
    places = [soaked.place("one"), soaked.place("two")]
    calls, streams, deleted, subscribed, begin = 0, 0, 0, 0, time.monotonic()
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(place.line()) for place in places]
        for _ in range(count):
            at = chance.randrange(2)
            session = soaked.opened(places[at], lines[at])
            stream = None
            if chance.random() < 0.2:
                stream = places[at].stream(session)
                streams += 1
            for number in range(1, chance.randrange(2, 6)):
                at = chance.randrange(2)
                text = "call %d" % number
                answer = lines[at].ask(places[at].request("POST", echo_request(number, text), session))
                found, result = result_of(answer.message)
                if answer.status != 200 or found != number or result["content"][0]["text"] != text:
                    raise Failed("%s in a shared session was answered %r" % (text, answer))
                calls += 1
            if chance.random() < 0.2:
                subscribed += _subscribe(places, lines, session, chance)
            if chance.random() < 0.2:
                _make_up_answers(places, lines, session, chance)
            if chance.random() < 0.75:
                deleted += 1
                _delete(places, lines, session, chance)
            if stream is not None:
                cut(stream, chance)
    return "%.0f sessions per second, %d calls at both, %d streams, %d subscriptions; %d deleted" % (
        count / (time.monotonic() - begin), calls, streams, subscribed, deleted)


def _subscribe(places: List[Target], lines: List[Line], session: str, chance: random.Random) -> int:
    """Subscribe to some resources, each at one of the endpoints, and end half of that, each at one; how many."""
    count = chance.randrange(1, 8)
    wanted = [("resources/subscribe", number) for number in range(count)]
    wanted += [("resources/unsubscribe", number) for number in range(0, count, 2)]
    for method, number in wanted:
        at = chance.randrange(2)
        answer = lines[at].ask(places[at].request(
            "POST", request(100 + number, method, {"uri": "item://%d" % number}), session))
        if answer.status != 200 or result_of(answer.message) != (100 + number, {}):
            raise Failed("%s in a shared session was answered %r" % (method, answer))
    return count


def _make_up_answers(places: List[Target], lines: List[Line], session: str, chance: random.Random) -> None:
    """Answer what was never asked, with ids of every kind; nothing of it may stay in the store."""
    for id in (1, 2 ** 32 + 1, chance.randrange(2 ** 40), "made up"):
        at = chance.randrange(2)
        made_up = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"text": "x" * 20_000}}).encode("ascii")
        status = lines[at].ask(places[at].request("POST", made_up, session)).status
        if status != 202:
            raise Failed("an answer that nobody waits for was answered %d" % status)


def _delete(places: List[Target], lines: List[Line], session: str, chance: random.Random) -> None:
    """Delete a session at one endpoint; then neither knows it."""
    at = chance.randrange(2)
    status = lines[at].ask(places[at].request("DELETE", session=session)).status
    if status not in (200, 204):
        raise Failed("DELETE was answered %d" % status)
    for place, line in zip(places, lines):
        status = line.ask(place.request("POST", request(9, "ping", {}), session)).status
        if status != 404:
            raise Failed("a session that was deleted at the other endpoint was answered %d" % status)


# --- tokens -----------------------------------------------------------------------------------------------------------

def guarded(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Requests of as many people with good, expired and unknown tokens, and with none; some of them open sessions."""
    place, begin = soaked.place("guarded"), time.monotonic()
    seen: Counter[str] = Counter()
    known: Tuple[str, str] = ("", "")
    line = place.line()
    for number in range(1, count + 1):
        if number % 20 == 0:
            line.sock.close()
            line = place.line()
        kind = chance.choice(("good", "good again", "expired", "unknown", "for others", "garbage", "none", "too little",
                              "session"))
        person = "person %d" % number
        if kind == "good again":
            kind, shown = ("good", known[0]) if known[0] else ("none", None)
        else:
            shown = token_of(kind, person)
        if kind == "session":
            _session(soaked, place, line, ["Authorization: Bearer %s" % shown], known[1])
        else:
            _ask(place, line, kind, number, shown)
        if kind == "good" and shown is not None:
            known = shown, person
        seen[kind] += 1
    line.sock.close()
    return "%.0f per second; %s" % (count / (time.monotonic() - begin),
                                    ", ".join("%d %s" % (seen[kind], kind) for kind in sorted(seen)))


def _ask(place: Target, line: Line, kind: str, number: int, token: Optional[str]) -> None:
    """One request that stands alone, and what it has to be answered."""
    shown = [] if token is None else ["Authorization: Bearer " + token]
    call, name = echo_request(number, "call %d" % number, **ENVELOPE), "echo"
    if kind == "too little":
        call, name = tool_request(number, "touch", {"count": 1}, **ENVELOPE), "touch"
    answer = line.ask(place.request("POST", call, None, fields("tools/call", name) + shown))
    wanted = {"good": 200, "too little": 403}.get(kind, 401)
    if answer.status != wanted or (wanted == 200 and result_of(answer.message)[0] != number):
        raise Failed("a token that is %s was answered %d: %r" % (kind, answer.status, answer.body[:300]))
    if wanted != 200 and not (answer.field("WWW-Authenticate") or "").startswith("Bearer"):
        raise Failed("a refusal without a challenge: %r" % answer.head)


def _session(soaked: Soaked, place: Target, line: Line, own: List[str], other: str) -> None:
    """A session that belongs to its person, and to nobody else."""
    session = soaked.opened(place, line, own)
    stranger = ["Authorization: Bearer %s" % token_of("good", other + "!")]
    ping = request(1, "ping", {})
    statuses = [line.ask(place.request("POST", ping, session, shown)).status for shown in (own, stranger, [])]
    statuses.append(line.ask(place.request("DELETE", session=session, fields=own)).status)
    if statuses[:3] != [200, 404, 401] or statuses[3] not in (200, 204):
        raise Failed("ping of the owner, of another, of nobody, and DELETE were answered %s" % statuses)
