"""Rules of roots [.. client/roots] and of sampling [.. client/sampling]."""

import re
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Tuple, Union
from urllib.parse import unquote

from .....jsonschema import Validator
from .....methods import LIST_ROOTS, ROOTS_CHANGED
from .....wiretrace import CLIENT, SERVER
from ...bounds import Forgetful
from ...observed import ERROR, META_CAPABILITIES, NOTIFICATION, REQUEST, RESULT, Message, ObservedConnection
from ...rounds import InputQuestion, answers, input_questions
from ...rules import ANSWERED, ASKED, FINISH, KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import items, masked, members, short, shown, validators, violations
from ..basic.lifecycle import UNDECLARED, declared_by_client, sessions_of
from .elicitation import INVALID_PARAMS, attempt, undeclared_answers

UNDECIDED.update({
    "roots.handle-changes": "what a server does with a change of the roots is inside it",
    "roots.internal-error": "the cause of an error is inside the client; its text would only be guessed at",
})

_MOST = 1000
_SLOW = 5.0
"""Seconds within which a notification may follow a change that was seen before."""
_METHOD_NOT_FOUND = -32601


class KnownRoots:
    """The roots of a client, as it has told them last, and what has changed without a word."""

    def __init__(self) -> None:
        self.last: Optional[FrozenSet[Tuple[str, str]]] = None
        self.quiet: Optional[Message] = None
        """The answer that differs from the one before, if no notification has come since."""
        self.noted = False
        """True if a notification has come since the last answer."""


def _answers(message: Message) -> Iterator[Dict[str, Any]]:
    """Yield the results of `roots/list` in a message: its own, or those among the answers that a request brings."""
    if message.kind == RESULT and message.method == LIST_ROOTS:
        yield dict(message.result)
    given = message.params.get("inputResponses") if message.kind == REQUEST else None
    for each in list(given.values())[:_MOST] if isinstance(given, dict) else ():
        if isinstance(each, dict) and isinstance(each.get("roots"), list):
            yield each


def _uris(message: Message) -> Iterator[str]:
    for answer in _answers(message):
        roots = answer.get("roots")
        for root in roots[:_MOST] if isinstance(roots, list) else ():
            uri = root.get("uri") if isinstance(root, dict) else None
            if isinstance(uri, str):
                yield uri


@rule("roots.capability-init", on=(RESULT, NOTIFICATION), method=(LIST_ROOTS, ROOTS_CHANGED), party=CLIENT,
      follows=UNDECLARED, scene="""
  + on stdio 2025-06-18 client={"roots": {}}
  - on stdio 2025-06-18 client={"sampling": {}}
    S #1 roots/list
    C #1 {"roots": []}
""")
def capability_init(message: Message) -> Verdict:
    """A client that has roots, or tells of their change, has declared so when the session began."""
    return declared_by_client(message, "roots")


@rule("roots.capability-per-request", on=REQUEST, when="brings", party=CLIENT, scene="""
    on stdio 2026-07-28 client={"roots": {}}
    C #1 tools/call {"name": "a", "arguments": {}}
    S #1 {"resultType": "input_required", "requestState": "s", "inputRequests": {"r": {"method": "roots/list"}}}
  + C #2 tools/call {"name": "a", "arguments": {}, "requestState": "s", "inputResponses": {"r": {"roots": \
[{"uri": "file:///a"}]}}}
  - C #2 tools/call {"name": "a", "arguments": {}, "requestState": "s", "inputResponses": {"r": {"roots": \
[{"uri": "file:///a"}]}}, "_meta": {"io.modelcontextprotocol/clientCapabilities": {}}}
    S #2 {"content": []}
""")
def capability_per_request(message: Message) -> Verdict:
    """A client that gives its roots declares them on the request that brings them, as on each."""
    declared = message.meta.get(META_CAPABILITIES)
    if message.sender != CLIENT or not isinstance(declared, dict) or next(_answers(message), None) is None:
        return None
    return KEPT if message.has_capability(CLIENT, "roots") else Broken(
        "roots were given and not declared", "params._meta")


@rule("roots.list-changed", on=(RESULT, FINISH), method=(LIST_ROOTS, ""), party=CLIENT,
      reading="a change is told within %d seconds after a list has shown it" % _SLOW, scene="""
    on stdio 2025-06-18
    S #1 roots/list
    C #1 {"roots": [{"uri": "file:///a"}]}
  + C notifications/roots/list_changed
    S #2 roots/list
    C #2 {"roots": [{"uri": "file:///b"}]}
    @ 10
    S #3 ping
    C #3 {}
""")
def list_changed(subject: Any) -> Verdict:
    """A client that has declared it tells of a change of its roots."""
    if isinstance(subject, ObservedConnection):
        for session in sessions_of(subject):
            quiet = session.state(KnownRoots).quiet
            if quiet is not None and subject.last_time - quiet.time > _SLOW:
                return _change_announced(quiet)
        return None
    roots = subject.session.state(KnownRoots)
    if subject.sender != CLIENT or subject.method != LIST_ROOTS:
        return None
    if roots.quiet is not None and subject.time - roots.quiet.time > _SLOW:
        return _change_announced(roots.quiet)
    return KEPT if roots.noted else None


def _change_announced(quiet: Message) -> Verdict:
    if not quiet.has_capability(CLIENT, "roots.listChanged"):
        return None
    if not quiet.connection.recorded:
        return CannotTell("what was lost in a gap")
    return Broken("the list differs from the one before, and nothing was told", "result.roots", at=quiet)


@rule("roots.file-uri", on=(RESULT, REQUEST), when="client brings", party=CLIENT, scene="""
    on stdio 2025-06-18
    S #1 roots/list
  + C #1 {"roots": [{"uri": "file:///project"}]}
  - C #1 {"roots": [{"uri": "https://example.com/repo"}]}
""")
def file_uri(message: Message) -> Verdict:
    """The URI of a root begins with ``file://``."""
    if message.sender != CLIENT:
        return None
    verdict: Verdict = None
    for uri in _uris(message):
        if not uri.lower().startswith("file://"):
            return Broken("the URI %s" % shown(uri), "roots.uri")
        verdict = KEPT
    return verdict


@rule("roots.validate-uris", on=(RESULT, REQUEST), when="client brings", party=CLIENT, scene="""
    on stdio 2025-06-18
    S #1 roots/list
  + C #1 {"roots": [{"uri": "file:///project"}]}
  - C #1 {"roots": [{"uri": "file:///project/%2e%2e/../etc"}]}
""")
def validate_uris(message: Message) -> Verdict:
    """The URI of a root does not climb out of its folder."""
    if message.sender != CLIENT:
        return None
    verdict: Verdict = None
    for uri in _uris(message):
        if ".." in unquote(uri).replace("\\", "/").split("/"):
            return Broken("the URI %s" % shown(uri), "roots.uri")
        verdict = KEPT
    return verdict


@rule("roots.unsupported-error", on=ERROR, method=LIST_ROOTS, party=CLIENT,
      provoked="lifecycle.negotiated-capabilities", scene="""
    on stdio 2025-06-18 client={"sampling": {}}
    S #1 roots/list
    C #1 !-32601 "Roots not supported"
    S #2 roots/list
  + C #2 !-32601 "Roots not supported"
  - C #2 !-32603 "Roots not supported"
""")
def unsupported_error(message: Message) -> Verdict:
    """A client without roots refuses `roots/list` with -32601."""
    if message.sender != CLIENT or message.request is None:
        return None
    declared = message.has_capability(CLIENT, "roots")
    if declared is None:
        return CannotTell("the capabilities of the client")
    if declared:
        return None
    return KEPT if message.error.get("code") == _METHOD_NOT_FOUND else Broken(
        "the code %s" % shown(message.error.get("code")), "error.code")


def _frozen(message: Message) -> Optional[FrozenSet[Tuple[str, str]]]:
    """Return the roots of an answer; None if it has none that could be compared."""
    roots = message.result.get("roots")
    if not isinstance(roots, list) or len(roots) > _MOST:
        return None
    return frozenset((shown(root.get("uri"), 4096), shown(root.get("name"), 4096)) for root in roots
                     if isinstance(root, dict))


@observe(on=RESULT, method=LIST_ROOTS)
def remember_roots(message: Message) -> None:
    """Note the roots."""
    roots = message.session.state(KnownRoots)
    if message.sender != CLIENT:
        return
    now = _frozen(message)
    if roots.quiet is not None and message.time - roots.quiet.time > _SLOW:
        roots.quiet = None
    if now is not None and roots.last is not None and now != roots.last and not roots.noted:
        roots.quiet = roots.quiet or message
    roots.last, roots.noted = now, False


@observe(on=NOTIFICATION, method=ROOTS_CHANGED)
def remember_change(message: Message) -> None:
    """Note that a change was told."""
    roots = message.session.state(KnownRoots)
    roots.noted, roots.quiet = True, None


UNDECIDED.update({
    "sampling.preserve-meta": "the history of a question is put together by the server, which has no such duty",
    "sampling.validate-content": "validation inside a party leaves no message",
    "sampling.rate-limit": "a limit shows only when it is reached, and the page names none",
    "sampling.iteration-limits": "any number of rounds may lie below the limit of a party",
})

CREATE = "sampling/createMessage"
_KEPT_SCHEMAS = 256
Faults = List[Union[str, Broken]]

_HELLO = '{"messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}], "maxTokens": 9}'
_SAID = '{"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}'
_TOOLS = _HELLO[:-1] + ', "tools": [{"name": "t", "inputSchema": {"type": "object"}}]}'


def _ask(head: str, question: str, kept: str, broken: str) -> str:
    return """
    on stdio 2025-11-25 %s
    S #7 sampling/createMessage %s
  + C #7 %s
  - C #7 %s
""" % (head, question, kept, broken)


@rule("sampling.capability-init", on=RESULT, method=CREATE, party=CLIENT, follows=UNDECLARED, scene="""
  + on stdio 2025-06-18 client={"sampling": {}}
  - on stdio 2025-06-18 client={}
    S #7 sampling/createMessage """ + _HELLO + """
    C #7 """ + _SAID + """
""")
def declared_at_first(message: Message) -> Verdict:
    """A client that samples has declared the capability sampling."""
    return declared_by_client(message, "sampling")


@rule("sampling.capability-per-request", on=ANSWERED, party=CLIENT, scene=attempt(
    '{"method": "sampling/createMessage", "params": %s}' % _HELLO, _SAID, "sampling"))
def declared_each_time(message: Message) -> Verdict:
    """A request with a sample declares the capability sampling."""
    return undeclared_answers(message, CREATE, "sampling")


def _wants_tools(question: InputQuestion) -> str:
    return next((name for name in ("tools", "toolChoice") if question.params.get(name) is not None), "")


@rule("sampling.tools-only-if-declared", on=ASKED, party=SERVER, scene="""
  + on stdio 2025-11-25 client={"sampling": {"tools": {}}}
  - on stdio 2025-11-25 client={"sampling": {}}
    S #7 sampling/createMessage """ + _TOOLS + """
  + C #7 """ + _SAID + """
  - C #7 !-32602 "Tools were not declared"
""")
def tools_declared(message: Message) -> Verdict:
    """A server offers tools for a sample only to a client that has declared them."""
    found: Faults = []
    seen = False
    for question in input_questions(message, CREATE):
        name, known = _wants_tools(question), message.has_capability(CLIENT, "sampling.tools")
        if not name:
            continue
        seen = True
        if known is None:
            return CannotTell("the capabilities of the client")
        if not known:
            found.append(Broken("%s, and sampling.tools was not declared" % name, "%s.%s" % (question.where, name)))
    return found or (KEPT if seen else None)


@rule("sampling.tools-undeclared-error", "sampling.tools-capability", on=ANSWERED,
      party=CLIENT, provoked="sampling.tools-only-if-declared", scene=_ask(
          'client={"sampling": {}}', _TOOLS, '!-32602 "Tools were not declared"', _SAID))
def refuses_tools(message: Message) -> Verdict:
    """A client that has not declared tools for samples refuses them."""
    if message.kind == ERROR:
        asked = message.request
        wanted = asked is not None and asked.method == CREATE and _wants_tools(InputQuestion(CREATE, asked.params, "",
                                                                                             True))
        return KEPT if wanted and message.has_capability(CLIENT, "sampling.tools") is False else None
    for answer in answers(message, CREATE):
        asker = answer.asked if answer.asked.kind == REQUEST else answer.asked.request or answer.asked
        if _wants_tools(answer.question) and asker.has_capability(CLIENT, "sampling.tools") is False:
            return Broken("a sample with tools, and sampling.tools was not declared", answer.where)
    return None


@rule("sampling.include-context", on=ASKED, party=SERVER, scene="""
  + on stdio 2025-11-25 client={"sampling": {"context": {}}}
  - on stdio 2025-11-25 client={"sampling": {}}
    S #7 sampling/createMessage """ + _HELLO[:-1] + """, "includeContext": "allServers"}
    C #7 """ + _SAID + """
""")
def context_declared(message: Message) -> Verdict:
    """A server asks for context only of a client that has declared it."""
    for question in input_questions(message, CREATE):
        wanted = question.params.get("includeContext")
        if wanted not in ("thisServer", "allServers"):
            continue
        known = message.has_capability(CLIENT, "sampling.context")
        if known is None:
            return CannotTell("the capabilities of the client")
        return KEPT if known else Broken("%s, and sampling.context was not declared" % wanted,
                                         question.where + ".includeContext")
    return None


# Histories


def history(question: InputQuestion) -> Iterator[Tuple[str, Mapping[str, Any], List[Mapping[str, Any]]]]:
    """Yield the messages of a question: the place, the message, and its contents that are objects."""
    for place, each in enumerate(items(question.params.get("messages"))):
        content = members(each).get("content")
        blocks = content if isinstance(content, list) else [content]
        yield ("%s.messages[%d]" % (question.where, place), members(each),
               [block for block in blocks if isinstance(block, dict)])


def _has(blocks: List[Mapping[str, Any]], kind: str) -> bool:
    return any(block.get("type") == kind for block in blocks)


_USE = '{"role": "assistant", "content": [{"type": "tool_use", "id": "u", "name": "t", "input": {}}]}'
_RESULT = '{"role": "user", "content": [{"type": "tool_result", "toolUseId": "u", "content": []}]}'
_TOLD = '{"role": "user", "content": [{"type": "text", "text": "Go on"}]}'


def _history(*told: str) -> str:
    """Return the params of a question with these messages."""
    return '{"messages": [%s], "maxTokens": 9, "tools": [{"name": "t", "inputSchema": {"type": "object"}, ' \
           '"outputSchema": {"type": "object", "required": ["n"]}}]}' % ", ".join(told)


def _asks(kept: str, broken: str) -> str:
    return """
    on stdio 2025-11-25 client={"sampling": {"tools": {}}}
  + S #7 sampling/createMessage %s
  - S #7 sampling/createMessage %s
  + C #7 %s
  - C #7 !-32602 "Invalid params"
""" % (kept, broken, _SAID)


@rule("sampling.message-role-content", on=ASKED, party=SERVER, scene="""
    on stdio 2026-07-28
    C #1 tools/call {"name": "t", "arguments": {}}
  + S #1 {"resultType": "input_required", "inputRequests": {"a": {"method": "sampling/createMessage", "params": %s}}}
  - S #1 {"resultType": "input_required", "inputRequests": {"a": {"method": "sampling/createMessage", "params": %s}}}
""" % (_HELLO, _HELLO.replace('"user"', '"system"')))
def role_and_content(message: Message) -> Verdict:
    """A message for a sample is of the user or the assistant, and has a content."""
    found: Faults = []
    seen = False
    for question in input_questions(message, CREATE):
        for where, each, _ in history(question):
            seen = True
            if each.get("role") not in ("user", "assistant"):
                found.append(Broken("the role is %s" % short(each.get("role")), where + ".role"))
            elif "content" not in each:
                found.append(Broken("the content is missing", where + ".content"))
    return found or (KEPT if seen else None)


@rule("sampling.tool-results-only", on=ASKED, party=SERVER, scene=_asks(
    _history(_USE, _RESULT), _history(_USE, _RESULT.replace('[{"type"', '[{"type": "text", "text": "So:"}, {"type"'))))
def only_results(message: Message) -> Verdict:
    """A message of the user that has results of tools has nothing else."""
    found: Faults = []
    seen = False
    for question in input_questions(message, CREATE):
        for where, each, blocks in history(question):
            if each.get("role") != "user" or not _has(blocks, "tool_result"):
                continue
            seen = True
            other = next((block.get("type") for block in blocks if block.get("type") != "tool_result"), None)
            if other is not None:
                found.append(Broken("%s beside results of tools" % short(other), where + ".content"))
    return found or (KEPT if seen else None)


def _ids(blocks: List[Mapping[str, Any]], kind: str, name: str) -> List[str]:
    return [block[name] for block in blocks if block.get("type") == kind and isinstance(block.get(name), str)]


@rule("sampling.tool-balance", "sampling.tool-use-answered", on=ASKED, party=SERVER,
      follows=("sampling.tool-results-only", "sampling.tool-use-id-match"),
      scene=_asks(_history(_USE, _RESULT), _history(_USE, _TOLD)))
def balanced(message: Message) -> Verdict:
    """The next message after uses of tools has the result of each."""
    found: Faults = []
    seen = False
    for question in input_questions(message, CREATE):
        open_ids: List[str] = []
        place = ""
        for where, each, blocks in history(question):
            if open_ids:
                given = set(_ids(blocks, "tool_result", "toolUseId")) if each.get("role") == "user" else set()
                missing = [id for id in open_ids if id not in given]
                if missing:
                    found.append(Broken("no result of %s in the next message" % short(missing[0]), place))
            open_ids = _ids(blocks, "tool_use", "id") if each.get("role") == "assistant" else []
            seen, place = seen or bool(open_ids), where + ".content"
        if open_ids:
            found.append(Broken("no message after the use of %s" % short(open_ids[0]), place))
    return found or (KEPT if seen else None)


@rule("sampling.tool-use-id-match", on=ASKED, party=SERVER, scene=_asks(
    _history(_USE, _RESULT), _history(_TOLD, _RESULT)))
def known_use(message: Message) -> Verdict:
    """A result of a tool belongs to a use before it."""
    found: Faults = []
    seen = False
    for question in input_questions(message, CREATE):
        used: "set[str]" = set()
        for where, _, blocks in history(question):
            for id in _ids(blocks, "tool_result", "toolUseId"):
                seen = True
                if id not in used and not masked(id):
                    found.append(Broken("no use before has the id %s" % short(id), where + ".content"))
            used.update(_ids(blocks, "tool_use", "id"))
    return found or (KEPT if seen else None)


class Schemas:
    """The validators of the output schemas of tools in questions."""

    def __init__(self) -> None:
        self.made: "Forgetful[int, Tuple[Any, Tuple[Validator, ...]]]" = Forgetful(_KEPT_SCHEMAS)


_SHOWN = _RESULT.replace('"content": []', '"content": [], "structuredContent": {"%s": 1}')


@rule("sampling.tool-result-conforms", on=ASKED, party=SERVER, scene=_asks(
    _history(_USE, _SHOWN % "n"), _history(_USE, _SHOWN % "m")))
def conforms(message: Message) -> Verdict:
    """The structured content of a result fits the output schema of the tool that was used."""
    found: Faults = []
    seen = False
    for question in input_questions(message, CREATE):
        schemas = {each.get("name"): each.get("outputSchema") for each in map(members, items(
            question.params.get("tools"))) if isinstance(each.get("name"), str)}
        used: "dict[str, Any]" = {}
        for where, _, blocks in history(question):
            for block in blocks:
                if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                    name = block.get("name")
                    used[block["id"]] = schemas.get(name) if isinstance(name, str) else None
                id = block.get("toolUseId")
                schema = used.get(id) if isinstance(id, str) else None
                if block.get("type") != "tool_result" or "structuredContent" not in block or block.get(
                        "isError") is True or not isinstance(schema, dict):
                    continue
                seen = True
                wrong = _wrong(message, schema, block["structuredContent"])
                if wrong:
                    found.append(Broken(wrong, where + ".content"))
    return found or (KEPT if seen else None)


def _wrong(message: Message, schema: Mapping[str, Any], value: Any) -> str:
    if message.revision is None:
        return ""
    made = message.session.state(Schemas).made
    found = made.get(id(schema))
    if found is None or found[0] is not schema:
        found = made[id(schema)] = (schema, validators(schema, message.revision))
    wrong = violations(found[1], value)
    return short(wrong[0].about("structuredContent"), 100) if wrong else ""


def _used(result: Mapping[str, Any]) -> bool:
    """Return whether a sample uses a tool."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else [content]
    return any(members(block).get("type") == "tool_use" for block in blocks)


def _choice(question: InputQuestion) -> Any:
    return members(question.params.get("toolChoice")).get("mode")


_USED = '{"role": "assistant", "content": {"type": "tool_use", "id": "u", "name": "t", "input": {}}, "model": "m", ' \
        '"stopReason": "toolUse"}'
_ENDED = _SAID[:-1] + ', "stopReason": "endTurn"}'


def _chosen(mode: str) -> str:
    return _TOOLS[:-1] + ', "toolChoice": {"mode": "%s"}}' % mode


@rule("sampling.tool-choice-none", on=ANSWERED, party=CLIENT, scene=_ask(
    'client={"sampling": {"tools": {}}}', _chosen("none"), _SAID, _USED))
def uses_none(message: Message) -> Verdict:
    """A sample uses no tool where the server has chosen none."""
    for answer in answers(message, CREATE):
        if _choice(answer.question) == "none":
            return Broken("a tool is used", answer.where + ".content") if _used(answer.result) else KEPT
    return None


@rule("sampling.tool-choice-required", on=ANSWERED, party=CLIENT, scene=_ask(
    'client={"sampling": {"tools": {}}}', _chosen("required"), _USED, _ENDED),
    reading="a sample that ends its turn has completed; one that is cut, or whose history has results, may use none")
def uses_one(message: Message) -> Verdict:
    """A sample uses a tool where the server requires one."""
    for answer in answers(message, CREATE):
        if _choice(answer.question) != "required":
            continue
        if _used(answer.result):
            return KEPT
        if answer.result.get("stopReason") == "endTurn" and not any(
                _has(blocks, "tool_result") for _, _, blocks in history(answer.question)):
            return Broken("no tool is used", answer.where + ".content")
    return None


# Errors


def _faulty(message: Message) -> Optional[Message]:
    """Return the question of the server that an answer of the client is to."""
    return message.request if message.sender == CLIENT else None


@rule("sampling.errors", on=(RESULT, ERROR), method=CREATE, party=CLIENT, provoked="schema.params", scene=_ask(
    "", '{"maxTokens": 9}', '!-32602 "messages are missing"', _SAID).replace("2025-11-25", "2025-06-18"))
def refuses_malformed(message: Message) -> Verdict:
    """A client answers a question without messages by an error."""
    asked = _faulty(message)
    if asked is None or isinstance(asked.params.get("messages"), list):
        return None
    return KEPT if message.kind == ERROR else Broken("a sample, and the question has no messages", "result")


_SAYS_NO = r"(?:rejected|denied|declined|refused)"
_REJECTED = re.compile(r"\buser (?:has )?%s\b|\b%s by (?:the )?user\b" % (_SAYS_NO, _SAYS_NO), re.IGNORECASE)


@rule("sampling.rejected-error", on=ERROR, method=CREATE, party=CLIENT,
      reading="the cause is read off the text of the error", scene=_ask(
          "", _HELLO, '!-1 "User rejected sampling request"', '!-32603 "User rejected sampling request"'))
def rejected(message: Message) -> Verdict:
    """The error that a user has refused a sample has the code -1."""
    text, code = message.error.get("message"), message.error.get("code")
    if message.sender != CLIENT or not isinstance(text, str) or _REJECTED.search(text) is None:
        return None
    return KEPT if code == -1 else Broken("error %s says: %s" % (code, short(text)), "error.code")


def _right_error(message: Message, faulty: bool, why: str) -> Verdict:
    if not faulty:
        return None
    code = message.error.get("code")
    if code in (INVALID_PARAMS, -1):  # -1: the user was asked first
        return KEPT if code == INVALID_PARAMS else None
    return Broken("%s, though %s" % ("a sample" if message.kind == RESULT else "error %s" % code, why), "error.code")


def _wrongly(question: str) -> str:
    return _ask('client={"sampling": {"tools": {}}}', question, '!-32602 "Invalid params"', _SAID)


@rule("sampling.tool-result-missing-error", on=(RESULT, ERROR), method=CREATE, party=CLIENT,
      provoked="sampling.tool-balance", scene=_wrongly(_history(_USE, _TOLD)))
def refuses_missing(message: Message) -> Verdict:
    """A client answers a history without the result of a tool with the code of invalid params."""
    asked, faulty = _faulty(message), False
    open_ids: List[str] = []
    for _, each, blocks in history(InputQuestion(CREATE, asked.params, "", True)) if asked is not None else ():
        faulty = faulty or (bool(open_ids) and not _has(blocks, "tool_result"))
        open_ids = _ids(blocks, "tool_use", "id") if each.get("role") == "assistant" else []
    return _right_error(message, faulty or bool(open_ids), "the result of a tool is missing")


@rule("sampling.tool-result-mixed-error", on=(RESULT, ERROR), method=CREATE, party=CLIENT,
      provoked="sampling.tool-results-only", scene=_wrongly(_history(
          _USE, _RESULT.replace('[{"type"', '[{"type": "text", "text": "So:"}, {"type"'))))
def refuses_mixed(message: Message) -> Verdict:
    """A client answers a history that mixes results with other contents with the code of invalid params."""
    asked = _faulty(message)
    faulty = asked is not None and any(
        each.get("role") == "user" and _has(blocks, "tool_result") and any(
            block.get("type") != "tool_result" for block in blocks)
        for _, each, blocks in history(InputQuestion(CREATE, asked.params, "", True)))
    return _right_error(message, faulty, "results of tools are mixed with other contents")
