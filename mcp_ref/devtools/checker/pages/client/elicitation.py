"""Rules of elicitation [2025-06-18.. client/elicitation]: what servers ask, and what clients answer.

Servers ask by forms, and by links [2025-11-25.. client/elicitation §URL Mode Elicitation Requests].
"""

import re
from typing import Any, Iterator, List, Mapping, Tuple, Union
from urllib.parse import urlsplit

from .....jsonschema import Validator
from .....methods import UPDATE_TASK
from .....urls import BadUrl, read_url
from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, NOTIFICATION, RESULT, Message, ObservedExchange
from ...rounds import InputQuestion, answers, input_questions, round_of
from ...rules import (
    ANSWERED, ASKED, HEAD, KEPT, OUTCOME, PROCESS, UNDECIDED, Broken, CannotTell, Happening, Verdict, observe, rule,
)
from ...values import has_mask, has_scheme, items, masked, members, short, validators, violations
from ..basic.lifecycle import UNDECLARED, declared_by_client
from ..server.lists import credential_of
from ..server.tools import succeeded

UNDECIDED.update({
    "elicit.id-opaque": "how a client takes an id leaves no message",
    "elicit.rate-limit": "a limit shows only when it is reached, and the page names none",
    "elicit.url-consent": "the consent of a user leaves no message of its own",
    "elicit.complete-unknown-ignored": "a client that closes, or asks again, after a notification may have had another "
                                       "reason",
})

ELICIT = "elicitation/create"
INVALID_PARAMS, METHOD_NOT_FOUND = -32602, -32601
_KEPT_SCHEMAS = 256


def mode_of(question: InputQuestion) -> str:
    """Return the mode of a question; without one it is that of forms."""
    mode = question.params.get("mode", "form")
    return mode if isinstance(mode, str) else ""


def declared_modes(message: Message) -> "Union[None, frozenset[str]]":
    """Return the modes that the client has declared; None if that is not known."""
    known = message.capabilities(CLIENT)
    if known is None:
        return None
    found = known.get("elicitation")
    if not isinstance(found, dict):
        return frozenset()
    return frozenset(name for name in ("form", "url") if isinstance(found.get(name), dict)) or frozenset(("form",))


_FORM = '{"message": "m", "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}}}'
_ASK = """
    on stdio 2025-11-25
    C #1 tools/call {"name": "t", "arguments": {}}
  + S #7 elicitation/create %s
  - S #7 elicitation/create %s
    C #7 {"action": "decline"}
    S #1 {"content": []}
"""


@rule("elicit.capability-init", on=RESULT, method=ELICIT, party=CLIENT, follows=UNDECLARED, scene="""
  + on stdio 2025-06-18 client={"elicitation": {}}
  - on stdio 2025-06-18 client={}
    S #7 elicitation/create """ + _FORM + """
    C #7 {"action": "decline"}
""")
def declared_at_first(message: Message) -> Verdict:
    """A client that answers a question has declared the capability elicitation."""
    return declared_by_client(message, "elicitation")


def undeclared_answers(message: Message, method: str, capability: str) -> Verdict:
    """Judge whether a request with answers to questions of a method declares the capability."""
    if not any(True for _ in answers(message, method)):
        return None
    known = message.has_capability(CLIENT, capability)
    if known is None:
        return CannotTell("the capabilities in the request")
    return KEPT if known else Broken("an answer to %s, and %s is not declared" % (method, capability),
                                     "params._meta.io.modelcontextprotocol/clientCapabilities")


def attempt(question: str, answer: str, capability: str) -> str:
    """Return the scene of a question whose answer comes with a capability, and without."""
    return """
    on stdio 2026-07-28 client={"%(c)s": {}}
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 {"resultType": "input_required", "inputRequests": {"a": %(q)s}}
  + C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(a)s}}
  - C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(a)s}, \
        "_meta": {"io.modelcontextprotocol/clientCapabilities": {}}}
    S #2 {"content": []}
""" % {"c": capability, "q": question, "a": answer}


@rule("elicit.capability-per-request", on=ANSWERED, party=CLIENT, scene=attempt(
    '{"method": "elicitation/create", "params": %s}' % _FORM, '{"action": "decline"}', "elicitation"))
def declared_each_time(message: Message) -> Verdict:
    """A request with the answer to a question declares the capability elicitation."""
    return undeclared_answers(message, ELICIT, "elicitation")


@rule("elicit.one-mode", on=(RESULT, ERROR), method=ELICIT, party=CLIENT, scene="""
    on stdio 2025-11-25 client={"elicitation": {}}
    S #7 elicitation/create """ + _FORM + """
  + C #7 {"action": "decline"}
  - C #7 !-32601 "Method not found"
""")
def one_mode(message: Message) -> Verdict:
    """A client that has declared elicitation knows the method."""
    known = declared_modes(message)
    if message.sender != CLIENT or not known or message.request is None or message.session.initialized is None:
        return None
    if message.kind == RESULT:
        return KEPT
    code = message.error.get("code")
    return Broken("elicitation was declared, and error %s" % code, "error.code") if code == METHOD_NOT_FOUND else None


@rule("elicit.supported-modes-only", on=ASKED, party=SERVER, scene="""
  + on stdio 2025-11-25 client={"elicitation": {"url": {}}}
  - on stdio 2025-11-25 client={"elicitation": {}}
    S #7 elicitation/create {"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}
  + C #7 {"action": "decline"}
  - C #7 !-32602 "Mode url was not declared"
""")
def supported(message: Message) -> Verdict:
    """A server asks in a mode that the client has declared; elicitation without a mode is that of forms."""
    found: List[Union[str, Broken]] = []
    seen = False
    for question in input_questions(message, ELICIT):
        seen, known = True, declared_modes(message)
        if known is None:
            return CannotTell("the capabilities of the client")
        if known and mode_of(question) in ("form", "url") and mode_of(question) not in known:
            found.append(Broken("mode %s was not declared" % mode_of(question),
                                "capabilities.elicitation." + mode_of(question)))
    return found or (KEPT if seen else None)


@rule("elicit.undeclared-mode-error", on=(RESULT, ERROR), method=ELICIT, party=CLIENT,
      provoked="elicit.supported-modes-only", scene="""
    on stdio 2025-11-25 client={"elicitation": {}}
    S #7 elicitation/create {"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}
  + C #7 !-32602 "Mode url was not declared"
  - C #7 {"action": "decline"}
""")
def refuses_mode(message: Message) -> Verdict:
    """A client answers a question in a mode that it has not declared with the code of invalid params."""
    request, known = message.request, declared_modes(message)
    if request is None or message.sender != CLIENT or not known or request.params.get("mode") not in ("form", "url"):
        return None
    if request.params["mode"] in known:
        return None
    code = message.error.get("code")
    if code == INVALID_PARAMS:
        return KEPT
    said = "error %s" % code if message.kind == ERROR else "action %s" % short(message.result.get("action"))
    return Broken("%s, and mode %s was not declared" % (said, request.params["mode"]), "error.code")


Faults = List[Union[str, Broken]]


@rule("elicit.param-mode", on=ASKED, party=SERVER, scene=_ASK % (
    _FORM.replace("{", '{"mode": "form", ', 1), _FORM.replace("{", '{"mode": "link", ', 1)))
def has_mode(message: Message) -> Verdict:
    """The mode of a question is that of forms or of links, and is there for a link."""
    found: Faults = []
    seen = False
    for question in input_questions(message, ELICIT):
        seen, mode = True, question.params.get("mode", "form")
        if mode not in ("form", "url") and not masked(mode):
            found.append(Broken("the mode is %s" % short(mode), question.where + ".mode"))
        elif "mode" not in question.params and "url" in question.params and "requestedSchema" not in question.params:
            found.append(Broken("a url, and no mode", question.where + ".mode"))
    return found or (KEPT if seen else None)


@rule("elicit.param-message", on=ASKED, party=SERVER, scene=_ASK % (
    _FORM, _FORM.replace('"message": "m", ', "")))
def has_message(message: Message) -> Verdict:
    """A question says in words what it is about."""
    return _needs(message, "message", str, ("form", "url"))


@rule("elicit.form-params", on=ASKED, party=SERVER, follows="elicit.param-mode",
      scene=_ASK % (_FORM, '{"message": "m"}'))
def has_schema(message: Message) -> Verdict:
    """A form has a schema."""
    return _needs(message, "requestedSchema", dict, ("form",))


def _needs(message: Message, name: str, kind: type, modes: Tuple[str, ...]) -> Verdict:
    found: Faults = []
    seen = False
    for question in input_questions(message, ELICIT):
        if mode_of(question) not in modes:
            continue
        seen = True
        if not isinstance(question.params.get(name), kind):
            said = "has another type" if name in question.params else "is missing"
            found.append(Broken("%s %s" % (name, said), "%s.%s" % (question.where, name)))
    return found or (KEPT if seen else None)


@rule("elicit.url-params", on=ASKED, party=SERVER, scene=_ASK % (
    '{"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}',
    '{"mode": "url", "message": "m", "elicitationId": "e"}'))
def has_url(message: Message) -> Verdict:
    """A question in the mode of links has a URL."""
    return _needs(message, "url", str, ("url",))


@rule("elicit.url-elicitation-id", on=ASKED, party=SERVER, scene=_ASK % (
    '{"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}',
    '{"mode": "url", "message": "m", "url": "https://example.com/a"}'))
def has_id(message: Message) -> Verdict:
    """A question in the mode of links has an id."""
    return _needs(message, "elicitationId", str, ("url",))


_MODE = re.compile(r"\bmode\b", re.IGNORECASE)


@rule("elicit.mode-default-form", on=(RESULT, ERROR), method=ELICIT, party=CLIENT,
      reading="the cause is read off the text of the error", scene="""
    on stdio 2025-11-25 client={"elicitation": {}}
    S #7 elicitation/create """ + _FORM + """
  + C #7 {"action": "decline"}
  - C #7 !-32602 "mode is missing"
""")
def without_mode(message: Message) -> Verdict:
    """A client takes a question without a mode for a form."""
    request, known = message.request, declared_modes(message)
    if request is None or message.sender != CLIENT or "mode" in request.params or not known or "form" not in known:
        return None
    if message.kind == RESULT:
        return KEPT
    text = message.error.get("message")
    if message.error.get("code") != INVALID_PARAMS or not isinstance(text, str) or _MODE.search(text) is None:
        return None
    return Broken("error: %s" % short(text), "error")


# Contents


class Forms:
    """The validators of the schemas of forms, made when they are first needed."""

    def __init__(self) -> None:
        self.made: "Forgetful[int, Tuple[Any, Tuple[Validator, ...]]]" = Forgetful(_KEPT_SCHEMAS)


def faults_of_content(message: Message, question: InputQuestion, result: Mapping[str, Any]) -> str:
    """Return what the schema of a form finds wrong with an accepted content; "" if nothing, or if it cannot be told."""
    schema, content = question.params.get("requestedSchema"), result.get("content")
    if result.get("action") != "accept" or mode_of(question) != "form" or not isinstance(schema, dict) or (
            message.revision is None or "content" not in result):
        return ""
    forms = message.session.state(Forms).made
    found = forms.get(id(schema))
    if found is None or found[0] is not schema:
        found = forms[id(schema)] = (schema, validators(schema, message.revision))
    wrong = violations(found[1], content)
    return short(wrong[0].about("content"), 100) if wrong else ""


_SEVERAL = CannotTell("which question was answered: several clients may have got one")
_SCHEMA = _FORM.replace('"string"}}', '"integer"}}, "required": ["n"]')


@rule("elicit.client-validates", "elicit.both-validate", on=ANSWERED, party=CLIENT,
      follows=("schema.params", "schema.task-answers", "elicit.form-params"), scene="""
    on stdio 2025-11-25 client={"elicitation": {}}
    S #7 elicitation/create """ + _SCHEMA + """
  + C #7 {"action": "accept", "content": {"n": 1}}
  - C #7 {"action": "accept", "content": {"n": "x"}}
""")
def fits(message: Message) -> Verdict:
    """The content that a client sends for a form fits the schema of the form."""
    found: Faults = []
    seen = False
    for answer in answers(message, ELICIT):
        seen = seen or answer.result.get("action") == "accept"
        wrong = faults_of_content(message, answer.question, answer.result)
        if wrong and message.notes.get("several"):
            return _SEVERAL
        if wrong:
            found.append(Broken(wrong, answer.where + ".content"))
    return found or (KEPT if seen else None)


def _attempt(answer: str, kept: str, broken: str) -> str:
    return """
    on stdio 2026-07-28
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": %s}}}
    C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %s}}
  + %s
  - %s
""" % (_SCHEMA, answer, kept, broken)


@rule("elicit.server-validates", on=OUTCOME, party=SERVER,
      provoked="elicit.client-validates", scene=_attempt(
          '{"action": "accept", "content": {"n": "x"}}', 'S #2 !-32602 "Invalid content"', 'S #2 {"content": []}'))
def checks(message: Message) -> Verdict:
    """A server does not go on with what does not fit the schema of its form."""
    request = message.request
    wrong = [] if request is None else [
        answer for answer in answers(request, ELICIT) if faults_of_content(request, answer.question, answer.result)]
    if not wrong or request is None or has_mask(wrong[0].result):
        return None
    if request.notes.get("several"):
        return _SEVERAL
    if message.kind == ERROR or not succeeded(message):
        return KEPT
    if message.method == UPDATE_TASK:
        return None  # it only says that the answers have come
    return Broken("the request succeeds with a content that the form does not allow", wrong[0].where)


@rule("elicit.handle-decline", on=(OUTCOME, PROCESS), party=SERVER, needs="process",
      scene=_attempt('{"action": "decline"}', 'S #2 {"content": []}', '* server process {"did": "exit", "code": 1}'))
def takes_no(subject: Union[Message, Happening]) -> Verdict:
    """A server does not fail when a user declines."""
    if isinstance(subject, Message):
        return KEPT if subject.request is not None and _declined(subject.request) else None
    if subject.event.more.get("did") != "exit" or subject.event.more.get("code") == 0:
        return None
    pending = subject.connection.pending[CLIENT].values()
    if not pending or not _declined(pending[-1]):
        return None
    return Broken("exit with code %s, and no answer" % short(subject.event.more.get("code")), at=pending[-1])


def _declined(request: Message) -> bool:
    """Return whether a request has an answer that declines or cancels."""
    return round_of(request) is not None and any(
        answer.result.get("action") in ("decline", "cancel") for answer in answers(request, ELICIT))


REQUIRED = -32042
_COMPLETE = "notifications/elicitation/complete"
_NO_CONSENT = 0.3
"""Seconds within which no person has read a question and consented."""


class ElicitationIds:
    """The ids of questions in the whole trace, with the messages that had them."""

    def __init__(self) -> None:
        self.asked: "Forgetful[str, List[Message]]" = Forgetful(Bounds().entries)


class VisitedUrls:
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
    for question in input_questions(message, ELICIT):
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
    asked = message.connection.trace.state(ElicitationIds).asked.get(id) if isinstance(id, str) else None
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
    id, known = message.params.get("elicitationId"), message.connection.trace.state(ElicitationIds).asked
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
def not_fetched(exchange: ObservedExchange) -> Verdict:
    """A client does not fetch a link before its user has consented."""
    if exchange.method not in ("GET", "HEAD") or not exchange.url:
        return None
    url = exchange.url + exchange.path + ("?" + exchange.query if exchange.query else "")
    asked = exchange.connection.state(VisitedUrls).asked.get(url)
    if asked is None:
        return None
    if asked.answer is not None or exchange.opened - asked.time > _NO_CONSENT:
        return KEPT
    return Broken("%s was fetched %.0f ms after the question" % (
        short(exchange.path), 1000 * (exchange.opened - asked.time)), "request")


def _links(message: Message) -> Iterator[Tuple[Any, Any]]:
    """Yield the ids and URLs of the questions in a message or an error."""
    found: List[Mapping[str, Any]] = [question.params for question in input_questions(message, ELICIT)]
    if message.kind == ERROR and message.sender == SERVER:
        found += [members(each) for each in required(message)]
    for params in found:
        yield params.get("elicitationId"), params.get("url")


@observe(on=(ASKED, ERROR))
def note_links(message: Message) -> None:
    """Note the ids and the URLs of questions."""
    for id, url in _links(message):
        if isinstance(id, str):
            known = message.connection.trace.state(ElicitationIds).asked
            asked: List[Message] = known.get(id, [])
            known[id] = (asked + [message])[-_SAME:]
        if isinstance(url, str):
            message.connection.state(VisitedUrls).asked[url] = message


_SAME = 8
"""Messages with the same id that are remembered."""
