"""Scenes about Streamable HTTP in all revisions, and about its sessions [..2025-11-25 basic/transports],
[2026-07-28 basic/transports/streamable-http]."""

from typing import Dict, List, Optional

from ...methods import PING
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import SceneStage
from ..talk import Talk
from ..wire import Reaction
from .frames import ordinary

FOREIGN = ("http://evil.example", "null", "https://attacker.example:8443", "file://")
_NO_SESSION = "examiner-no-such-session"


def post(talk: Talk, stage: SceneStage, fields: Optional[Dict[str, Optional[str]]] = None) -> Reaction:
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
