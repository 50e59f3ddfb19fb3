"""Rules of elicitation by links [2025-11-25.. client/elicitation §URL Mode Elicitation Requests]."""

from typing import Any, Iterator, List, Mapping, Tuple, Union
from urllib.parse import urlsplit

from ....urls import BadUrl, read_url
from ....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, NOTIFICATION, Exchange, Message
from ...rounds import questions
from ...rules import ASKED, HEAD, KEPT, Broken, CannotTell, Verdict, observe, rule
from ...values import has_scheme, items, masked, members, short
from ..server.lists import credential_of
from .elicitation import ELICIT, declared_modes, mode_of

REQUIRED = -32042
_COMPLETE = "notifications/elicitation/complete"
_NO_CONSENT = 0.3
"""Seconds within which no person has read a question and consented."""


class Ids:
    """The ids of questions in the whole trace, with the messages that had them."""

    def __init__(self) -> None:
        self.asked: "Forgetful[str, List[Message]]" = Forgetful(Bounds().entries)


class Links:
    """The URLs that users of a connection were asked to visit."""

    def __init__(self) -> None:
        self.asked: "Forgetful[str, Message]" = Forgetful(Bounds().entries)


def required(message: Message) -> List[Any]:
    """Return the elicitations in the data of an error."""
    return items(members(message.error.get("data")).get("elicitations"))


@rule("elicit.url-valid", on=ASKED, party=SERVER, scene="""
    on stdio 2025-11-25
  + S #7 elicitation/create {"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}
  - S #7 elicitation/create {"mode": "url", "message": "m", "url": "login", "elicitationId": "e"}
    C #7 {"action": "decline"}
""")
def valid(message: Message) -> Verdict:
    """The URL of a question is a whole one."""
    seen = list(_visited(message))
    return [Broken("the URL is %s" % short(url), where) for where, url in seen if not _is_url(url)] or (
        KEPT if seen else None)


def _visited(message: Message) -> Iterator[Tuple[str, str]]:
    """Yield the URLs that users are asked to visit, each after its place in the message."""
    for question in questions(message, ELICIT):
        url = question.params.get("url")
        if mode_of(question) == "url" and isinstance(url, str) and not masked(url):
            yield question.where + ".url", url


def _is_url(text: str) -> bool:
    """Return whether a text has a scheme, and a host where the scheme wants one."""
    if not has_scheme(text) or text != text.strip() or any(sign < " " for sign in text):
        return False
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) or parts.scheme.lower() not in ("http", "https")
    except ValueError:
        return False


_ITEM = '{"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}'


@rule("elicit.url-https", on=ASKED, party=SERVER, reading="a host of this machine is a development environment",
      scene="""
    on stdio 2025-11-25
  + S #7 elicitation/create {"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}
  - S #7 elicitation/create {"mode": "url", "message": "m", "url": "http://example.com/a", "elicitationId": "e"}
    C #7 {"action": "decline"}
""")
def secure(message: Message) -> Verdict:
    """The URL of a question is one of https, unless it leads to this machine."""
    found: List[Union[str, Broken]] = []
    seen = False
    for where, url in _visited(message):
        try:
            parsed = read_url(url)
        except BadUrl:
            continue
        seen = True
        if parsed.scheme != "https" and not parsed.loopback:
            found.append(Broken("the URL is one of http, to %s" % short(parsed.host), where))
    return found or (KEPT if seen else None)


_NOTICE = """
    on stdio 2025-11-25
    C #1 tools/call {"name": "t", "arguments": {}}
    S #7 elicitation/create {"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}
    C #7 {"action": "accept"}
  + S notifications/elicitation/complete {"elicitationId": "e"}
  - S notifications/elicitation/complete {"elicitationId": "f"}
    S #1 {"content": []}
"""


def _two_clients() -> str:
    """Return the scene of two clients, of which one is told that the user of the other has finished."""
    lines = ["on http 2025-11-25 late nosession"]
    for number, (name, credential) in enumerate((("a", "***aaaaaaaa"), ("b", "***bbbbbbbb")), 1):
        place = '"connection": "%s", "exchange": %d' % (name, number)
        lines += [
            '* - open {"connection": "%s", "transport": "streamable-http"}' % name,
            '* client request {%s, "method": "POST", "target": "/mcp", "fields": [["Host", "127.0.0.1:8000"], '
            '["Content-Type", "application/json"], ["Accept", "application/json, text/event-stream"], '
            '["MCP-Protocol-Version", "2025-11-25"], ["Authorization", "%s"], ["Mcp-Session-Id", "%s"]]}' % (
                place, credential, credential),
            '* client message {%s, "message": {"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": '
            '{"name": "t"}}}' % (place, number),
            '* server response {%s, "status": 200, "fields": [["Content-Type", "text/event-stream"]]}' % place,
            '* server event {%s, "id": "%s0", "data": ""}' % (place, name)]
    told = '* server message {"connection": "%s", "exchange": %d, "sse": {}, "message": {"jsonrpc": "2.0", %s}}'
    done = '"method": "notifications/elicitation/complete", "params": {"elicitationId": "e"}'
    lines += [told % ("a", 1, '"id": 7, "method": "elicitation/create", "params": ' + _ITEM),
              "+ " + told % ("a", 1, done), "- " + told % ("b", 2, done)]
    return "\n".join(lines)


@rule("elicit.complete-target", on=NOTIFICATION, method=_COMPLETE, party=SERVER, needs="http", scene=_two_clients(),
      reading="two connections with different credentials are of two clients")
def right_client(message: Message) -> Verdict:
    """The notification that a user has finished goes to the client that was asked."""
    id = message.params.get("elicitationId")
    asked = message.connection.trace.state(Ids).asked.get(id) if isinstance(id, str) else None
    if asked is None:
        return None
    if any(each.connection is message.connection for each in asked):
        return KEPT
    credentials = {credential_of(each) for each in asked}
    if credential_of(message) in credentials or not all((*credentials, credential_of(message))):
        return CannotTell("whether two connections are of one client")
    return Broken("the id is of a question to another client", "params.elicitationId")


@rule("elicit.complete-id", on=NOTIFICATION, method=_COMPLETE, party=SERVER, scene=_NOTICE,
      follows="session:elicit.url-elicitation-id")
def right_id(message: Message) -> Verdict:
    """The notification that a user has finished has the id of a question."""
    id, known = message.params.get("elicitationId"), message.connection.trace.state(Ids).asked
    if not isinstance(id, str):
        return Broken("the id is missing" if id is None else "the id is no string", "params.elicitationId")
    if id in known:
        return KEPT
    if not message.session.from_start or known.forgot or masked(id):
        return CannotTell("the questions before")
    return Broken("no question had the id %s" % short(id), "params.elicitationId")


_ERROR = """
    on stdio 2025-11-25
    C #1 tools/call {"name": "t", "arguments": {}}
  + S #1 !-32042 "A link has to be visited" {"elicitations": [%s]}
  - S #1 !%s "A link has to be visited" %s
"""


@rule("elicit.url-required-error-code", on=ERROR, party=SERVER, scene=_ERROR % (
    _ITEM, "-32000", '{"elicitations": [%s]}' % _ITEM))
def right_code(message: Message) -> Verdict:
    """An error that lists questions has the code for that."""
    if message.sender != SERVER or not required(message):
        return None
    code = message.error.get("code")
    return KEPT if code == REQUIRED else Broken("error %s lists elicitations" % code, "error.code")


def _is_required(message: Message) -> bool:
    return message.sender == SERVER and message.error.get("code") == REQUIRED


@rule("elicit.url-required-error-only", on=ERROR, party=SERVER, scene="""
  + on stdio 2025-11-25 client={"elicitation": {"url": {}}}
  - on stdio 2025-11-25 client={"elicitation": {}}
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 !-32042 "A link has to be visited" {"elicitations": [%s]}
""" % _ITEM)
def only_then(message: Message) -> Verdict:
    """The error that a link has to be visited goes to clients that can show links."""
    if not _is_required(message):
        return None
    known = declared_modes(message)
    if known is None:
        return CannotTell("the capabilities of the client")
    return KEPT if "url" in known else Broken("the client has not declared mode url", "error.code")


@rule("elicit.url-required-error-list", on=ERROR, party=SERVER, scene=_ERROR % (_ITEM, "-32042", ""))
def has_list(message: Message) -> Verdict:
    """The error that a link has to be visited lists the links."""
    if not _is_required(message):
        return None
    return KEPT if required(message) else Broken("no elicitations in the data", "error.data.elicitations")


@rule("elicit.url-required-error-mode", on=ERROR, party=SERVER, scene=_ERROR % (
    _ITEM, "-32042", '{"elicitations": [%s]}' % _ITEM.replace(', "elicitationId": "e"', "")))
def only_links(message: Message) -> Verdict:
    """The questions in an error are links, and have ids."""
    if not _is_required(message):
        return None
    found: List[Union[str, Broken]] = []
    for place, each in enumerate(required(message)):
        where, item = "error.data.elicitations[%d]." % place, members(each)
        if item.get("mode") != "url":
            found.append(Broken("the mode is %s" % short(item.get("mode")), where + "mode"))
        elif not isinstance(item.get("elicitationId"), str):
            found.append(Broken("elicitationId is missing", where + "elicitationId"))
    return found or (KEPT if required(message) else None)


@rule("elicit.url-no-prefetch", on=HEAD, when="unposted", party=CLIENT, needs="http documents",
      reading="a fetch within 0.3 seconds, before an answer, comes from no person who has consented", scene="""
    on http 2025-11-25
    C [1] #1 tools/call {"name": "t", "arguments": {}}
    S [1] stream
    S [1] event {"id": "0", "data": ""}
    S [1] #7 elicitation/create {"mode": "url", "message": "m", "url": "http://127.0.0.1:8000/connect", \
        "elicitationId": "e"}
  + @ 5
    C [2] GET /connect
    S [2] 200
    S [2] end
  - @ 5
    C #7 {"action": "accept"}
    S [1] #1 {"content": []}
""")
def not_fetched(exchange: Exchange) -> Verdict:
    """A client does not fetch a link before its user has consented."""
    if exchange.method not in ("GET", "HEAD") or not exchange.url:
        return None
    url = exchange.url + exchange.path + ("?" + exchange.query if exchange.query else "")
    asked = exchange.connection.state(Links).asked.get(url)
    if asked is None:
        return None
    if asked.answer is not None or exchange.opened - asked.time > _NO_CONSENT:
        return KEPT
    return Broken("%s was fetched %.0f ms after the question" % (
        short(exchange.path), 1000 * (exchange.opened - asked.time)), "request")


def _links(message: Message) -> Iterator[Tuple[Any, Any]]:
    """Yield the ids and URLs of the questions in a message or an error."""
    found: List[Mapping[str, Any]] = [question.params for question in questions(message, ELICIT)]
    if message.kind == ERROR and message.sender == SERVER:
        found += [members(each) for each in required(message)]
    for params in found:
        yield params.get("elicitationId"), params.get("url")


@observe(on=(ASKED, ERROR))
def note_links(message: Message) -> None:
    """Note the ids and the URLs of questions."""
    for id, url in _links(message):
        if isinstance(id, str):
            known = message.connection.trace.state(Ids).asked
            asked: List[Message] = known.get(id, [])
            known[id] = (asked + [message])[-_SAME:]
        if isinstance(url, str):
            message.connection.state(Links).asked[url] = message


_SAME = 8
"""Messages with the same id that are remembered."""
