"""Rules that tools, prompts and resources have in common: their lists, and the capability without which there is none.

[.. server/tools], [.. server/prompts], [.. server/resources]. The pages of the three areas have the others.
"""

from typing import Dict, List, Optional, Union

from .....methods import LIST_CHANGED
from .....wiretrace import SERVER
from ...listed import FEATURES, NOTICES, PagedList
from ...observed import ERROR, NOTIFICATION, RESULT, Message, ObservedConnection
from ...rules import FINISH, KEPT, Broken, CannotTell, Verdict, observe, rule
from ..basic.lifecycle import UNDECLARED, Served
from ..basic.subscriptions import SubscriptionStates
from ..basic.versioning import Era

SETTLED = 2.0
"""Seconds within which the notification of a change may come after a list that shows it."""
METHOD_NOT_FOUND = -32601
_LISTS = tuple(FEATURES)
_FILTERS = {"tools/list": "toolsListChanged", "prompts/list": "promptsListChanged",
            "resources/list": "resourcesListChanged"}


_MEMBERS = ("tools", "prompts", "resources", "resourceTemplates")


STALE = CannotTell("the capabilities of the server now: they may have changed since it has told them")


def stale(message: Message) -> bool:
    """Return True if what a server without handshake has declared may have changed since."""
    return message.revision is not None and message.revision.stateless and (
        message.time > message.connection.state(Era).fresh_until)


_UNDECLARED_YET = CannotTell("the capabilities of the server")


def declared(message: Message, feature: str, what: str) -> Verdict:
    """Judge a success that needs a capability of the server.

    Reading: a list with nothing in it, as libraries give by default, does not show that the feature is supported.
    """
    if message.result.get("resultType", "complete") != "complete":
        return None
    known = message.has_capability(SERVER, feature)
    if known is None:
        return _UNDECLARED_YET
    if known:
        return KEPT
    if stale(message):
        return STALE
    if any(member in message.result and not message.result[member] for member in _MEMBERS):
        return None
    message.session.state(Served).features[feature] = None
    return Broken("%s succeeds, and %s was not declared" % (what, feature), "capabilities." + feature)


_UNDECLARED = """
    on stdio 2026-07-28
    C #1 %(method)s %(params)s
    C #2 server/discover
  + S #2 {"ttlMs": 60000, "capabilities": {"%(feature)s": {}}}
  - S #2 {"ttlMs": 60000, "capabilities": {}}
    S #1 %(result)s
"""


def undeclared(feature: str, method: str, params: str, result: str) -> str:
    """Return the scene of a server that answers a method whose capability it has not declared."""
    return _UNDECLARED % {"feature": feature, "method": method, "params": params, "result": result}


@rule("tools.capability", on=RESULT, method=("tools/list", "tools/call"), follows=UNDECLARED,
      scene=undeclared("tools", "tools/list", "", '{"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}'))
def tools_capability(message: Message) -> Verdict:
    """A server that lists or calls tools has declared the capability tools."""
    return declared(message, "tools", message.method)


@rule("resources.capability", on=RESULT, method=(
    "resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe"),
    follows=UNDECLARED, scene=undeclared(
        "resources", "resources/list", "", '{"resources": [{"uri": "a:b", "name": "b"}]}'))
def resources_capability(message: Message) -> Verdict:
    """A server that lists, reads or watches resources has declared the capability resources."""
    return declared(message, "resources", message.method)


@rule("prompts.capability-init", on=RESULT, method=("prompts/list", "prompts/get"), follows=UNDECLARED, scene="""
  + on stdio 2025-06-18 server={"prompts": {}}
  - on stdio 2025-06-18 server={}
    C #1 prompts/list
    S #1 {"prompts": [{"name": "p"}]}
""")
def prompts_capability_init(message: Message) -> Verdict:
    """A server that lists or gets prompts has declared the capability prompts when the session began."""
    return declared(message, "prompts", message.method)


@rule("prompts.capability-discover", on=RESULT, method=("prompts/list", "prompts/get"), follows=UNDECLARED,
      scene=undeclared("prompts", "prompts/list", "", '{"prompts": [{"name": "p"}]}'))
def prompts_capability_discover(message: Message) -> Verdict:
    """A server that lists or gets prompts has declared the capability prompts in its answer to `server/discover`."""
    return declared(message, "prompts", message.method)


def _responds(message: Message) -> Verdict:
    feature = FEATURES[message.method]
    known = message.has_capability(SERVER, feature)
    if known is None:
        return CannotTell("the capabilities of the server")
    if not known:
        return None
    if message.kind == RESULT:
        return KEPT
    code = message.error.get("code")
    if code != METHOD_NOT_FOUND:
        return None
    if stale(message):
        return STALE
    return Broken("%s was declared, and %s is answered by error %s" % (feature, message.method, code), "error.code")


_RESPONDS = """
    on stdio 2026-07-28 server={"%(name)s": {}}
    C #1 server/discover
    S #1 {"ttlMs": 60000}
    C #2 %(name)s/list
  + S #2 {"%(name)s": []}
  - S #2 !-32601 "Method not found"
"""


@rule("tools.list-responds", on=(RESULT, ERROR), method="tools/list", scene=_RESPONDS % {"name": "tools"})
def tools_respond(message: Message) -> Verdict:
    """A server that has declared tools has the method that lists them."""
    return _responds(message)


@rule("resources.list-responds", on=(RESULT, ERROR), method="resources/list", scene=_RESPONDS % {"name": "resources"})
def resources_respond(message: Message) -> Verdict:
    """A server that has declared resources has the method that lists them."""
    return _responds(message)


@rule("prompts.list-responds", on=(RESULT, ERROR), method="prompts/list", scene=_RESPONDS % {"name": "prompts"})
def prompts_respond(message: Message) -> Verdict:
    """A server that has declared prompts has the method that lists them."""
    return _responds(message)


# Notifications of changes


class Changes:
    """The changes that two lists show and no notification has announced: by method, the result that shows it."""

    def __init__(self) -> None:
        self.silent: Dict[str, Message] = {}
        self.announced: Dict[str, int] = {}


def credential_of(message: Message) -> str:
    """Return the mask of the credential with which a message came; "" if it had none."""
    exchange = message.exchange
    return (exchange.header("authorization") or "") if exchange is not None else ""


def _could_tell(message: Message, before: PagedList) -> bool:
    """Return whether the server had a way to announce a change between a list and the one before."""
    method, revision, connection = message.method, message.revision, message.connection
    if revision is None or not message.has_capability(SERVER, FEATURES[method] + ".listChanged"):
        return False
    if revision.stateless:
        known = message.session.state(SubscriptionStates)
        return any(each.asked_for(_FILTERS[method]) and each.acknowledged is not None
                   and each.acknowledged.index < before.first.index for each in known.active())
    if not connection.http:
        return True
    return connection.transport == "http+sse" or any(
        each.method == "GET" and each.stream and each.session is message.session
        and each.answered is not None and each.answered < before.last.time for each in connection.open_exchanges())


@observe(on=RESULT, method=_LISTS)
def compare(message: Message) -> None:
    """Note a change that no notification has announced so far."""
    listing: Optional[PagedList] = message.notes.get("listing")
    before: Optional[PagedList] = message.notes.get("before")
    if listing is None or before is None or not (listing.complete and listing.whole and before.whole):
        return
    known = message.session.state(Changes)
    if credential_of(listing.first) != credential_of(before.first):
        return  # a server may show each caller what it may use
    if set(listing.names) == set(before.names) or message.method in known.silent:
        return
    if known.announced.get(message.method, 0) < before.first.index and _could_tell(message, before):
        known.silent[message.method] = message


@observe(on=NOTIFICATION, method=tuple(NOTICES))
def announce(message: Message) -> None:
    """Note the notification of a change."""
    known = message.session.state(Changes)
    for method in NOTICES[message.method]:
        known.announced[method] = message.index
        known.silent.pop(method, None)


def _announced(connection: ObservedConnection, method: str, stateless: Optional[bool]) -> Verdict:
    found: List[Union[str, Broken]] = []
    seen = soon = False
    for session in connection.every_session():
        if stateless is not None and (session.revision is None or session.revision.stateless is not stateless):
            continue
        known = session.state(Changes)
        seen = seen or known.announced.get(method, 0) > 0
        message = known.silent.get(method)
        if message is None:
            continue
        if connection.last_time - message.time < SETTLED:
            soon = True
        else:
            found.append(Broken("the list has changed since the last one, and no %s came"
                                % LIST_CHANGED[FEATURES[method]], at=message))
    if found:
        return found
    if soon:
        return CannotTell("what came after the list")
    return KEPT if seen else None


_CHANGED = """
    on stdio 2025-06-18
    C #1 %(name)s/list
    S #1 {"%(name)s": []}
    @ 5
  + S notifications/%(name)s/list_changed
    C #2 %(name)s/list
    S #2 {"%(name)s": [%(item)s]}
    @ 5
    C #3 ping
    S #3 {}
"""
_CHANGED_SUBSCRIBED = """
    on stdio 2026-07-28 server={"%(name)s": {"listChanged": true}}
    C #1 server/discover
    S #1 {}
    C #2 subscriptions/listen {"notifications": {"%(name)sListChanged": true}}
    S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, \
        "notifications": {"%(name)sListChanged": true}}
    C #3 %(name)s/list
    S #3 {"%(name)s": []}
    @ 5
  + S notifications/%(name)s/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}}
    C #4 %(name)s/list
    S #4 {"%(name)s": [%(item)s]}
    @ 5
    C #5 %(name)s/list
    S #5 {"%(name)s": [%(item)s]}
"""
_TOOL = {"name": "tools", "item": '{"name": "t", "inputSchema": {"type": "object"}}'}
_PROMPT = {"name": "prompts", "item": '{"name": "p"}'}
_RESOURCE = {"name": "resources", "item": '{"name": "r", "uri": "file:///r"}'}


@rule("tools.list-changed", on=FINISH, scene=_CHANGED % _TOOL)
def tools_changed(connection: ObservedConnection) -> Verdict:
    """A server that has declared listChanged for tools says so when two lists of them differ."""
    return _announced(connection, "tools/list", False)


@rule("prompts.list-changed", on=FINISH, scene=_CHANGED % _PROMPT)
def prompts_changed(connection: ObservedConnection) -> Verdict:
    """A server that has declared listChanged for prompts says so when two lists of them differ."""
    return _announced(connection, "prompts/list", False)


@rule("resources.list-changed", on=FINISH, scene=_CHANGED % _RESOURCE)
def resources_changed(connection: ObservedConnection) -> Verdict:
    """A server that has declared listChanged for resources says so when two lists of them differ."""
    return _announced(connection, "resources/list", None)


@rule("tools.list-changed-subscribed", on=FINISH, scene=_CHANGED_SUBSCRIBED % _TOOL)
def tools_changed_subscribed(connection: ObservedConnection) -> Verdict:
    """A subscription to changes of the tools hears of them when two lists differ."""
    return _announced(connection, "tools/list", True)


@rule("prompts.list-changed-subscribed", on=FINISH, scene=_CHANGED_SUBSCRIBED % _PROMPT)
def prompts_changed_subscribed(connection: ObservedConnection) -> Verdict:
    """A subscription to changes of the prompts hears of them when two lists differ."""
    return _announced(connection, "prompts/list", True)


# One list for every connection


class Turns:
    """The newest complete lists of one server for one credential: the names, and how often two connections alternated.
    """

    def __init__(self) -> None:
        self.last: Dict[str, "Alternation"] = {}


class Alternation:
    """The two connections on which a list was asked for last, with what they got, and how often it alternated."""

    __slots__ = ("name", "names", "other", "other_names", "times")

    def __init__(self, name: str, names: "frozenset[str]") -> None:
        self.name = name
        self.names = names
        self.other = ""
        self.other_names: "frozenset[str]" = frozenset()
        self.times = 0


ALTERNATIONS = 3
"""Times that a list has to change with the connection and back: a list that really changes does not keep step."""


def _per_connection(message: Message) -> Verdict:
    listing: Optional[PagedList] = message.notes.get("listing")
    exchange = message.exchange
    if listing is None or not listing.complete or not listing.whole or exchange is None:
        return None
    credential = credential_of(message)
    if credential in ("", "***"):
        return CannotTell("whose requests they are")
    key = "\n".join((message.method, exchange.url, exchange.path, exchange.query, credential))
    known, names, here = message.connection.trace.state(Turns), frozenset(listing.names), message.connection.name
    turn = known.last.get(key)
    if turn is None:
        if len(known.last) < message.connection.bounds.connections:
            known.last[key] = Alternation(here, names)
        return None
    if here == turn.name:
        turn.times = turn.times if names == turn.names else 0
        turn.names = names
        return None
    alternates = names != turn.names and here in (turn.other, "") and names == turn.other_names
    turn.times = turn.times + 1 if alternates or (not turn.other and names != turn.names) else 0
    turn.other, turn.other_names, turn.name, turn.names = turn.name, turn.names, here, names
    if turn.times >= ALTERNATIONS:
        turn.times = 0
        return "the list changed %d times with the connection, and back" % ALTERNATIONS
    return KEPT


def _two_connections(name: str, item: str) -> str:
    head = ('* client request {"connection": "%s", "exchange": %d, "method": "POST", "target": "/mcp", "url": '
            '"http://127.0.0.1:8000", "fields": [["Authorization", "***0a1b2c3d"], ["Host", "127.0.0.1:8000"], '
            '["Content-Type", "application/json"], ["Accept", "application/json, text/event-stream"], '
            '["MCP-Protocol-Version", "2026-07-28"], ["Mcp-Method", "%s/list"]]}')
    meta = ('{"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", '
            '"io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}, '
            '"io.modelcontextprotocol/clientCapabilities": {}}}')
    lines = ["on http 2026-07-28", '* - open {"connection": "b", "transport": "streamable-http"}']
    for number in range(1, 7):
        where = "b" if number % 2 else "a"
        asked = '{"jsonrpc": "2.0", "id": %d, "method": "%s/list", "params": %s}' % (number, name, meta)
        answer = ('{"jsonrpc": "2.0", "id": %d, "result": {"resultType": "complete", "ttlMs": 0, "cacheScope": '
                  '"private", "%s": [%%s]}}' % (number, name))
        told = '* server message {"connection": "%s", "exchange": %d, "message": %s}'
        lines.append(head % (where, number, name))
        lines.append('* client message {"connection": "%s", "exchange": %d, "message": %s}' % (where, number, asked))
        lines.append('* server response {"connection": "%s", "exchange": %d, "status": 200, "fields": '
                     '[["Content-Type", "application/json"]]}' % (where, number))
        if number % 2:
            lines.append("+ " + told % (where, number, answer % item))
            lines.append("- " + told % (where, number, answer % ""))
        else:
            lines.append(told % (where, number, answer % item))
        lines.append('* server end {"connection": "%s", "exchange": %d, "complete": true}' % (where, number))
    return "\n".join(lines)


_ALTERNATES = "two lists that differ may be a real change: only a list that keeps step with the connection counts"


@rule("tools.list-not-per-connection", on=RESULT, method="tools/list", reading=_ALTERNATES, needs="http",
      scene=_two_connections(**_TOOL))
def tools_same(message: Message) -> Verdict:
    """The tools that one caller is shown do not depend on the connection on which it asks."""
    return _per_connection(message)


@rule("prompts.list-not-per-connection", on=RESULT, method="prompts/list", reading=_ALTERNATES, needs="http",
      scene=_two_connections(**_PROMPT))
def prompts_same(message: Message) -> Verdict:
    """The prompts that one caller is shown do not depend on the connection on which it asks."""
    return _per_connection(message)


@rule("resources.list-not-per-connection", on=RESULT, method="resources/list", reading=_ALTERNATES, needs="http",
      scene=_two_connections(**_RESOURCE))
def resources_same(message: Message) -> Verdict:
    """The resources that one caller is shown do not depend on the connection on which it asks."""
    return _per_connection(message)
