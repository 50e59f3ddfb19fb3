"""Scenes about Streamable HTTP in all revisions [..2025-11-25 basic/transports], and about HTTP+SSE.

They have the sessions of Streamable HTTP, too, and the header fields of requests that stand alone
[2026-07-28 basic/transports/streamable-http]. HTTP+SSE is a transport of [2024-11-05 basic/transports §HTTP with SSE].
"""

from typing import Dict, List, Optional, Tuple

from ....errors import HEADER_MISMATCH
from ....methods import DISCOVER, GET_PROMPT, PING, READ_RESOURCE
from ....revisions import REVISIONS
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import SceneStage
from ..talk import ExaminerConversation, in_base64
from ..wire import Reaction, Sse, is_response
from .frames import ordinary

FOREIGN = ("http://evil.example", "null", "https://attacker.example:8443", "file://")
_NO_SESSION = "examiner-no-such-session"


def post(talk: ExaminerConversation, stage: SceneStage, fields: Optional[Dict[str, Optional[str]]] = None) -> Reaction:
    """Send an ordinary request with other header fields, and return the answer."""
    return talk.say(talk.message(ordinary(stage), id=talk.next_id), fields=fields)


def must(answer: Reaction, *statuses: int) -> Verdict:
    """Return the verdict on a request that has to be refused with one of these statuses."""
    if answer.status is None:
        return CannotTell(str(answer))
    return KEPT if answer.status in statuses else Broken("%s, in the place of status %s" % (
        answer, " or ".join(map(str, statuses))))


@scene("foreign-origin", "http.origin-validate", "http.origin-403", wires="web")
def foreign_origin(stage: SceneStage) -> Said:
    """A request with the origin of another site is refused with 403."""
    answers = [post(stage.talk, stage, {"Origin": origin}) for origin in FOREIGN]
    reached = [each for each in answers if each.status is not None and each.status < 400]
    return {"http.origin-validate": Broken("Origin %s: %s" % (FOREIGN[0], reached[0])) if reached else KEPT,
            "http.origin-403": every([must(each, 403) for each in answers])}


@scene("foreign-host", "http.origin-validate", wires="web")
def foreign_host(stage: SceneStage) -> Said:
    """A request to a server of this machine under the name of another one does not reach it, as the page's warning of
    DNS rebinding wants it.

    Reading: the page names the Origin header only; a server that is open to all hosts has broken nothing.
    """
    wire = stage.talk.web
    if not wire.where.loopback:
        raise NotExamined("the server is on another machine, and may have any name")
    if (post(stage.talk, stage, {"Origin": FOREIGN[0]}).status or 400) < 400:
        return None  # the cause is found by the scene foreign-origin
    answer = stage.talk.say(stage.talk.message(ordinary(stage), id=stage.talk.next_id),
                            fields={"Host": "evil.example", "Origin": "http://evil.example"})
    reached = answer.status is not None and answer.status < 400
    return Broken("Host and Origin evil.example: %s" % answer) if reached else KEPT


@scene("content-types", provokes="http.post-response-content-type", wires="web")
def content_types(stage: SceneStage) -> Said:
    """An ordinary request is answered as JSON or as a stream of events."""
    post(stage.talk, stage)
    return None


@scene("get-stream", "http.endpoint-post-get", "http.get-sse-or-405", wires="web")
def get_stream(stage: SceneStage) -> Said:
    """GET is answered with a stream of events, or with 405."""
    talk = stage.talk
    fields = [(name, value) for name, value in talk.header_fields(None, {"Accept": "text/event-stream"})
              if name != "Content-Type"]
    answer = talk.web.send("GET", fields, None, stage.patience, head=True)
    kind = (answer.field("Content-Type") or "").partition(";")[0].strip().lower()
    right = answer.status == 405 or (answer.status == 200 and kind == "text/event-stream")
    said = KEPT if right else Broken("GET: %s, Content-Type %r" % (answer, kind))
    return {"http.endpoint-post-get": said, "http.get-sse-or-405": said}


@scene("bad-notification", "http.notification-rejected", wires="web")
def bad_notification(stage: SceneStage) -> Said:
    """A notification that cannot be accepted is refused by an HTTP status, and never with 202 and nothing done.

    Reading: half a notification is none, so the page does not tell the status of that.
    """
    talk = stage.talk
    half = talk.say(b'{"jsonrpc": "2.0", "method": ')
    found: List[Verdict] = [KEPT if half.status is not None and half.status >= 400 else CannotTell(
        "half a notification: %s" % half)]
    if stage.revision.version_header:
        answer = talk.say(talk.message("notifications/examiner/unknown"), {"MCP-Protocol-Version": "1999-01-01"})
        if answer.status is not None:
            found.append(KEPT if answer.status >= 400 else Broken(
                "a notification of version 1999-01-01: %s" % answer))
    return every(found)


@scene("session-ids", "http.session-id-unique", provokes="http.session-id-ascii", wires="web",
       only=lambda revision: revision.handshake)
def session_ids(stage: SceneStage) -> Said:
    """Session ids are all different, and long enough that nobody guesses them."""
    ids: List[str] = []
    for _ in range(5):
        with stage.fresh() as talk:
            ids.append(talk.session)
    if not all(ids):
        raise NotExamined("the server gives no session id")
    short = min(map(len, ids))
    return KEPT if len(set(ids)) == len(ids) and short >= 16 else Broken(
        "%d of %d ids are different, the shortest has %d characters" % (len(set(ids)), len(ids), short))


@scene("no-session", "http.session-missing-400", wires="web", only=lambda revision: revision.handshake)
def no_session(stage: SceneStage) -> Said:
    """A request without the session id is refused with 400, where ids are required."""
    if not stage.talk.session:
        raise NotExamined("the server gives no session id")
    answer = post(stage.talk, stage, {"Mcp-Session-Id": None})
    if answer.status == 200:
        return CannotTell("a request without the session id was answered: the server does not require one")
    return must(answer, 400)


@scene("dead-session", "http.session-404", wires="web", only=lambda revision: revision.handshake)
def dead_session(stage: SceneStage) -> Said:
    """After DELETE the session id is refused with 404; where there is no DELETE, an id that was never given is.

    Reading: the page has 404 for ids that were terminated, so of one that never was nothing else is a fault.
    """
    with stage.fresh() as talk:
        if not talk.session:
            raise NotExamined("the server gives no session id")
        fields = [(name, value) for name, value in talk.header_fields(None, {}) if name != "Content-Type"]
        gone = talk.web.send("DELETE", fields, None, stage.patience)
        ended = gone.status is not None and gone.status < 300
        answer = post(talk, stage, {} if ended else {"Mcp-Session-Id": _NO_SESSION})
        talk.session = ""
        if ended or answer.status == 404:
            return must(answer, 404)
        return CannotTell("DELETE gets %s, and an id that was never given %s" % (gone, answer))


@scene("version-header", "http.header-version-invalid-400", wires="web")
def version_header(stage: SceneStage) -> Said:
    """A version in the header field that nobody knows is refused with 400."""
    return every([must(post(stage.talk, stage, {"MCP-Protocol-Version": version}), 400)
                  for version in ("1999-01-01", "tomorrow")])


@scene("no-version-header", "http.header-version-absent-assume", wires="web")
def no_version_header(stage: SceneStage) -> Said:
    """A request of a session without the version in a header field is taken for one of 2025-03-26, and answered."""
    talk = stage.talk
    answer = talk.say(talk.message(PING, id=talk.next_id), fields={"MCP-Protocol-Version": None})
    return KEPT if answer.result is not None else Broken("no MCP-Protocol-Version: %s" % answer)


_WRONG: Tuple[Tuple[str, Dict[str, Optional[str]]], ...] = (
    ("http.header-version-mismatch-rejected", {"MCP-Protocol-Version": "2025-11-25"}),
    ("http.header-mismatch-rejected", {"Mcp-Method": "tools/list"}),
    ("http.header-mismatch-rejected", {"Mcp-Method": None}),
)


def _mismatch(answer: Reaction) -> Verdict:
    said = must(answer, 400)
    if said is KEPT and answer.code != HEADER_MISMATCH:
        return Broken("%s, in the place of error %d" % (answer, HEADER_MISMATCH))
    return said


@scene("header-mismatch", "http.header-version-mismatch-rejected", "http.header-mismatch-rejected",
       "http.header-mismatch-error", wires="web")
def header_mismatch(stage: SceneStage) -> Said:
    """A header field that says something else than the body, or is missing, is refused with 400 and -32020."""
    found: Dict[str, List[Verdict]] = {"http.header-mismatch-error": []}
    for id, fields in _WRONG:
        answer = stage.talk.say(stage.talk.message(DISCOVER, id=stage.talk.next_id), fields=fields)
        found.setdefault(id, []).append(must(answer, 400))
        if id == "http.header-mismatch-rejected":
            found["http.header-mismatch-error"].append(_mismatch(answer))
    return {id: every(verdicts) for id, verdicts in found.items()}


@scene("name-header", "http.header-mismatch-rejected", "http.param-server-decodes", wires="web")
def name_header(stage: SceneStage) -> Said:
    """`Mcp-Name` is compared with the body after decoding: another name is refused, an encoded one is not."""
    listed = [(READ_RESOURCE, "uri", each.get("uri")) for each in stage.offered.get("resources", ())]
    listed += [(GET_PROMPT, "name", each.get("name")) for each in stage.offered.get("prompts", ())
               if not any(part.get("required") for part in each.get("arguments") or () if isinstance(part, dict))]
    named = [each for each in listed if isinstance(each[2], str)]
    if not named:
        raise NotExamined("there is no resource to read, and no prompt without arguments")
    method, member, name = named[0]
    talk, params = stage.talk, {member: name}
    wrong = [talk.say(talk.message(method, params, id=talk.next_id), fields={"Mcp-Name": value})
             for value in ("examiner-another-name", None)]
    text = in_base64(str(name))
    right = talk.say(talk.message(method, params, id=talk.next_id), fields={"Mcp-Name": text})
    decoded = KEPT if right.result is not None else Broken("Mcp-Name %s: %s" % (text, right))
    return {"http.header-mismatch-rejected": every([must(each, 400) for each in wrong]),
            "http.param-server-decodes": decoded}


@scene("header-case", "http.header-case-insensitive", wires="web")
def header_case(stage: SceneStage) -> Said:
    """The names of header fields may be written in any case."""
    talk = stage.talk
    answer = talk.say(talk.message(DISCOVER, id=talk.next_id), fields={
        "mcp-protocol-VERSION": stage.revision.name, "MCP-METHOD": DISCOVER, "content-TYPE": "application/json",
        "aCCEPT": "application/json, text/event-stream"})
    return KEPT if answer.result is not None else Broken("header fields in another case: %s" % answer)


@scene("no-version", "http.header-version-absent-reject", wires="web")
def no_version(stage: SceneStage) -> Said:
    """A request without `MCP-Protocol-Version` is refused with 400, where older clients are not served.

    Reading: where they are, a body that says its version is refused as well, since the header field has to repeat it.
    """
    talk = stage.talk
    answer = talk.say(talk.message(DISCOVER, id=talk.next_id), fields={"MCP-Protocol-Version": None})
    return must(answer, 400) if answer.result is None else CannotTell(
        "a request without the header field was answered: the server may serve older clients")


@scene("old-fields", "http.session-ignored-modern", "http.resume-ignored-modern", wires="web")
def old_fields(stage: SceneStage) -> Said:
    """`Mcp-Session-Id` and `Last-Event-ID` of older clients are ignored."""
    found: Dict[str, Verdict] = {}
    talk = stage.talk
    for id, name in (("http.session-ignored-modern", "Mcp-Session-Id"),
                     ("http.resume-ignored-modern", "Last-Event-ID")):
        answer = talk.say(talk.message(DISCOVER, id=talk.next_id), fields={name: "examiner-1"})
        found[id] = KEPT if answer.result is not None else Broken("%s: %s" % (name, answer))
    return found


_TRIES = 10
"""Messages to a stream that has ended: the server may learn of the end a moment later."""


def stream_of(talk: ExaminerConversation) -> Sse:
    """Return the wire, in scenes that are played over HTTP+SSE. Raises TypeError for another one."""
    if not isinstance(talk.wire, Sse):
        raise TypeError("this wire is not HTTP+SSE")
    return talk.wire


@scene("endpoint-event", "sse.endpoint-sse", "sse.endpoint-event", wires="sse")
def endpoint_event(stage: SceneStage) -> Said:
    """A stream begins with the event `endpoint`, which comes once and has the address for messages."""
    found: List[Verdict] = []
    for _ in range(2):
        with stage.fresh() as talk:
            wire = stream_of(talk)
            count = sum(name == "endpoint" for name, _ in wire.events)
            found.append(KEPT if wire.first == "endpoint" and count == 1 else Broken(
                "the first event is %s, and %d are endpoint" % (wire.first, count)))
    return {"sse.endpoint-event": every(found), "sse.endpoint-sse": KEPT}


@scene("posted-message", "sse.endpoint-post", "sse.endpoint-sse", wires="sse")
def posted_message(stage: SceneStage) -> Said:
    """A POST is taken, and the answer comes by the stream of the same client."""
    with stage.fresh() as talk, stage.fresh() as other:
        id, here, there = 4711, stream_of(talk), stream_of(other)
        since, beside = len(here.messages), len(there.messages)
        taken = here.post(talk.message(PING, id=id), talk.header_fields(None, {}), stage.patience)
        answered = here.wait(lambda each: is_response(each) and each.get("id") == id, stage.patience, since)
        strayed = there.wait(lambda each: is_response(each) and each.get("id") == id, 0, beside)
        right = taken.status is not None and taken.status // 100 == 2
        return {"sse.endpoint-post": KEPT if right else Broken("a ping: %s" % taken),
                "sse.endpoint-sse": Broken("the answer came by the stream of another client") if strayed else
                KEPT if answered else Broken("a ping was not answered by the stream%s" % (
                    ", but by the POST" if taken.message is not None else ""))}


@scene("foreign-origin-sse", "http.origin-validate", wires="sse", only=lambda revision: revision is REVISIONS[0])
def foreign_origin_sse(stage: SceneStage) -> Said:
    """A message with the origin of another site is not taken.

    Reading: the page gives no status. A server on another machine may be meant for the pages of all sites. Later
    revisions say it of their own transport.
    """
    talk = stage.talk
    wire = stream_of(talk)
    if not wire.where.loopback:
        raise NotExamined("the server is on another machine, and may be meant for all sites")
    found: List[Verdict] = []
    for origin in FOREIGN[:3]:
        answer = wire.post(talk.message(PING, id=talk.next_id), talk.header_fields(None, {"Origin": origin}),
                           stage.patience)
        taken = answer.status is not None and answer.status // 100 == 2
        found.append(Broken("Origin %s: %s" % (origin, answer)) if taken else
                     KEPT if answer.status is not None else CannotTell(str(answer)))
    return every(found)


@scene("dead-stream", "sse.endpoint-post", wires="sse")
def dead_stream(stage: SceneStage) -> Said:
    """A message to the address of a stream that has ended does no harm to other streams."""
    with stage.fresh() as talk:
        wire = stream_of(talk)
        target = wire.target
    talk, why = stage.talk, ""
    wire = stream_of(talk)
    for _ in range(_TRIES):
        kept, wire.target = wire.target, target
        try:
            answer = wire.post(talk.message(PING, id=talk.next_id), talk.header_fields(None, {}), stage.patience)
        finally:
            wire.target = kept
        why = talk.alive()
        if why or answer.status is None or answer.status >= 400:
            break
    return KEPT if not why else Broken("after a message to a stream that has ended: %s" % why)
