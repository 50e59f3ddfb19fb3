"""Rules of elicitation [2025-06-18.. client/elicitation]: what servers ask, and what clients answer. Those of links are
in `elicitation_links`.
"""

import re
from typing import Any, List, Mapping, Tuple, Union

from ....jsonschema import Validator
from ....methods import UPDATE_TASK
from ....wiretrace import CLIENT, SERVER
from ...bounds import Forgetful
from ...observed import ERROR, RESULT, Message
from ...rounds import Question, answers, questions, round_of
from ...rules import ANSWERED, ASKED, KEPT, OUTCOME, PROCESS, UNDECIDED, Broken, CannotTell, Happening, Verdict, rule
from ...values import has_mask, masked, short, validators, violations
from ..basic.lifecycle import UNDECLARED, declared_by_client
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


def mode_of(question: Question) -> str:
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
    for question in questions(message, ELICIT):
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
    for question in questions(message, ELICIT):
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
    for question in questions(message, ELICIT):
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


def faults_of_content(message: Message, question: Question, result: Mapping[str, Any]) -> str:
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
