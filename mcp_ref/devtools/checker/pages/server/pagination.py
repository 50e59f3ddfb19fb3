"""Rules of pagination [.. server/utilities/pagination]."""

from itertools import islice
from typing import Dict, NamedTuple, Tuple, Union

from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...listed import LISTS, cursor_of, lists
from ...observed import ERROR, NOTIFICATION, ODD, REQUEST, RESULT, Message, ObservedConnection
from ...rules import FINISH, KEPT, MESSAGE, PROCESS, UNDECIDED, Broken, CannotTell, Happening, Verdict, observe, rule
from ...values import masked, short

UNDECIDED.update({
    "pagination.no-fixed-size": "what a client assumes shows only if it leaves out pages, which it may do anyhow",
    "pagination.both-flows": "a client that stops after a page may have what it wanted",
})

_METHODS = tuple(LISTS)
TASKS = "tasks/list"
"""The list that either party may have; its rules are with those of tasks."""
_STABLE = 60.0
"""Seconds for which a cursor that has led to a page counts as usable: nothing says how long it has to be."""
_AT_ONCE = 1.0
"""Seconds within which a client that asks for the last page again goes on, rather than asks anew."""
_SETTLED = 5.0
"""Seconds after which a client that has followed each cursor of a list would have followed the last one."""

_MEMBERS = 10
"""Members of a message that are looked at: one of JSON-RPC has no more than five."""
ISSUED, UNISSUED, UNKNOWN = "issued", "unissued", "unknown"


class Final(NamedTuple):
    """A page without a next one."""

    cursor: str
    time: float


class Cursors:
    """The cursors that servers have given in the whole trace, by method."""

    def __init__(self) -> None:
        self.issued: "Forgetful[Tuple[str, str], int]" = Forgetful(Bounds().entries)
        self.listed: Dict[str, None] = {}
        """The methods that were asked for a first page."""
        self.stray: "Forgetful[str, None]" = Forgetful(Bounds().entries)
        """The cursors in responses that are none, or to which no request for a list is known."""
        self.lost = False
        """True once a message of a server was no message: a cursor may have been in it."""


class Pages:
    """The pages of a session that were given to cursors."""

    def __init__(self) -> None:
        self.used: "Forgetful[Tuple[str, str], float]" = Forgetful(Bounds().entries)
        """When a cursor led to a page last."""
        self.final: Dict[str, Final] = {}
        self.issued: "Forgetful[Tuple[str, str], None]" = Forgetful(Bounds().entries)
        """The cursors that were given in this session."""


@observe(on=(NOTIFICATION, RESULT, ERROR, ODD))
def note_stray(message: Message) -> None:
    """Note a cursor that came in a message which is no result of a list: a client may have known it for one."""
    kind = message.kind
    lists = message.method in LISTS
    if lists and kind == RESULT and isinstance(message.data["result"], dict):
        return
    if message.sender == SERVER and (kind == ODD or (lists and "result" in message.data)):
        message.connection.trace.state(Cursors).lost = True
    for value in islice(message.data.values(), _MEMBERS):
        if isinstance(value, dict) and "nextCursor" in value and isinstance(value["nextCursor"], str):
            message.connection.trace.state(Cursors).stray[value["nextCursor"]] = None


@observe(on=MESSAGE, method=(*_METHODS, TASKS))
def note_cursor(message: Message) -> None:
    """Note in a request whether its cursor was issued, and in a result the cursor that it issues."""
    known = message.connection.trace.state(Cursors)
    if message.kind == RESULT:
        cursor = message.result.get("nextCursor")
        if isinstance(cursor, str):
            known.issued[message.method, cursor] = message.index
            message.session.state(Pages).issued[message.method, cursor] = None
        known.lost = known.lost or not isinstance(cursor, (str, type(None)))
        return
    cursor = cursor_of(message)
    if message.kind != REQUEST or (message.sender != CLIENT and message.method != TASKS):
        return
    if cursor is None:
        known.listed[message.method] = None
    elif (message.method, cursor) in known.issued:
        message.notes["cursor"] = ISSUED
    elif masked(cursor) or known.issued.forgot or cursor in known.stray or known.lost or (
            message.connection.noise[SERVER]) or not message.session.from_start or (
            message.session.stateless is not False and message.method not in known.listed):
        message.notes["cursor"] = UNKNOWN
    else:
        message.notes["cursor"] = UNISSUED


_TOOL = '{"name": "t", "inputSchema": {"type": "object"}}'
_FIRST = """
    on stdio 2025-06-18
    C #1 tools/list
    S #1 {"tools": [], "nextCursor": "YWI="}
"""


@rule("pagination.cursor-unmodified", "pagination.cursor-no-assumptions", on=REQUEST, method=_METHODS,
      scene=_FIRST + """
  + C #2 tools/list {"cursor": "YWI="}
  - C #2 tools/list {"cursor": "YWI"}
    S #2 !-32602 "Invalid cursor"
""")
def unmodified(message: Message) -> Verdict:
    """A client sends a cursor only as the server has given it for the same list."""
    state = message.notes.get("cursor")
    if state == UNKNOWN:
        return CannotTell("the cursors that were given before")
    if state == UNISSUED:
        return Broken("no result had the cursor %s" % short(message.params.get("cursor")), "params.cursor")
    return KEPT if state == ISSUED else None


@rule("pagination.cursor-not-persisted", on=REQUEST, method=_METHODS, party=CLIENT, scene="""
    on http 2025-06-18
    C [1] #1 tools/list
    S [1] #1 {"tools": [], "nextCursor": "a"}
    C [2] #2 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, \
        "clientInfo": {"name": "client", "version": "1"}}
    S [2] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***bbbbbbbb"}
    S [2] #2 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, \
        "serverInfo": {"name": "server", "version": "1"}}
    C [3 Mcp-Session-Id=***bbbbbbbb] notifications/initialized
    S [3] 202
    S [3] end
  + C [4] #4 tools/list {"cursor": "a"}
  - C [4 Mcp-Session-Id=***bbbbbbbb] #4 tools/list {"cursor": "a"}
    S [4] #4 {"tools": []}
""")
def not_persisted(message: Message) -> Verdict:
    """A client does not take a cursor into another session."""
    cursor = cursor_of(message)
    if cursor is None or message.notes.get("cursor") != ISSUED:
        return None
    here = message.session.state(Pages).issued
    if (message.method, cursor) in here:
        return KEPT
    if here.forgot or not message.session.from_start:
        return CannotTell("the cursors that were given before")
    if not message.session.id:
        return None
    return Broken("the cursor %s was given in another session" % short(cursor), "params.cursor")


@rule("pagination.invalid-cursor-32602", on=(RESULT, ERROR), method=_METHODS, party=SERVER,
      provoked="pagination.cursor-unmodified", scene=_FIRST + """
    C #2 tools/list {"cursor": "bogus"}
  + S #2 !-32602 "Invalid cursor"
  - S #2 {"tools": []}
""")
def refuses(message: Message) -> Verdict:
    """A cursor that the server has not given is answered with the code of invalid params."""
    request = message.request
    if request is None or request.notes.get("cursor") != UNISSUED or message.revision is None:
        return None
    if message.kind == ERROR:
        code = message.error.get("code")
        return KEPT if code == -32602 else Broken("error %s for a cursor that was not given" % code, "error.code")
    if message.revision.stateless:
        return CannotTell("the cursors of other connections")
    return Broken("a page for a cursor that was not given", "result")


@rule("pagination.invalid-cursor-graceful", on=(PROCESS, ERROR), method=("", *_METHODS), party=SERVER, needs="process",
      provoked="pagination.cursor-unmodified", scene=_FIRST + """
    C #2 tools/list {"cursor": "bogus"}
  + S #2 !-32602 "Invalid cursor"
  - * server process {"did": "exit", "code": 1}
""")
def survives(subject: Union[Happening, Message]) -> Verdict:
    """A server does not fail at a cursor that it has not given."""
    if isinstance(subject, Message):
        return KEPT if subject.request is not None and subject.request.notes.get("cursor") == UNISSUED else None
    if subject.event.more.get("did") != "exit" or subject.event.more.get("code") == 0:
        return None
    pending = subject.connection.pending[CLIENT].values()
    if not pending or pending[-1].notes.get("cursor") != UNISSUED:
        return None
    return Broken("exit with code %s, and no answer" % short(subject.event.more.get("code")), at=pending[-1])


@rule("pagination.stable-cursors", on=(RESULT, ERROR), method=_METHODS, party=SERVER, needs="times",
      reading="a cursor that has led to a page is usable for a minute, if no change is announced", scene=_FIRST + """
    C #2 tools/list {"cursor": "YWI="}
    S #2 {"tools": [], "nextCursor": "bmV4dA=="}
    C #3 tools/list {"cursor": "YWI="}
  + S #3 {"tools": [], "nextCursor": "bmV4dA=="}
  - S #3 !-32602 "Invalid cursor"
""")
def stable(message: Message) -> Verdict:
    """A cursor that has led to a page leads to it again."""
    cursor = cursor_of(message.request)
    used = message.session.state(Pages).used.get((message.method, cursor)) if cursor is not None else None
    if used is None or message.time - used > _STABLE or message.request is None:
        return None
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != -32602 or message.method in lists(message.session).changed:
        return None
    return Broken("the cursor %s is refused, which led to a page before" % short(cursor), "error.code")


@rule("pagination.end", on=REQUEST, method=_METHODS, needs="times",
      reading="the same cursor again, at once after the last page",
      scene=_FIRST + """
    C #2 tools/list {"cursor": "YWI="}
    S #2 {"tools": []}
  + C #3 tools/list
  - C #3 tools/list {"cursor": "YWI="}
    S #3 {"tools": []}
""")
def ends(message: Message) -> Verdict:
    """A client does not go on after a page without a next cursor."""
    final = message.session.state(Pages).final.pop(message.method, None)
    if final is None:
        return None
    if cursor_of(message) != final.cursor or message.time - final.time > _AT_ONCE:
        return KEPT
    if message.exchange is not None and message.session.id is None:
        return CannotTell("which client asks: several may share the connection")
    return Broken("the last page is asked for again at once", "params.cursor")


@rule("pagination.empty-cursor", on=FINISH, party=CLIENT,
      reading="a client that has followed the other cursors of a list means to read all of it", scene="""
    on stdio 2026-07-28
    C #1 tools/list
    S #1 {"tools": [], "nextCursor": "a"}
    C #2 tools/list {"cursor": "a"}
    S #2 {"tools": [], "nextCursor": ""}
  + C #3 tools/list {"cursor": ""}
  + S #3 {"tools": []}
    @ 10
    C #4 tools/call {"name": "t", "arguments": {}}
    S #4 {"content": []}
""")
def empty(connection: ObservedConnection) -> Verdict:
    """A client takes an empty cursor for a cursor."""
    followed = False
    for session in connection.every_session():
        used = session.state(Pages).used
        for listing in lists(session).open.values():
            if listing.cursor == "" and listing.pages > 1 and connection.last_time - listing.last.time > _SETTLED and (
                    (listing.method, "") not in used):
                return Broken("the list ends at an empty cursor", "result.nextCursor", at=listing.last)
        followed = followed or any((method, "") in used for method in LISTS)
    return KEPT if followed else None


@observe(on=RESULT, method=_METHODS)
def note_page(message: Message) -> None:
    """Note that a cursor led to a page."""
    cursor, known = cursor_of(message.request), message.session.state(Pages)
    if cursor is not None:
        known.used[message.method, cursor] = message.time
        if message.result.get("nextCursor") is None:
            known.final[message.method] = Final(cursor, message.time)
