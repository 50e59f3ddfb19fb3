"""Scenes about calls that are under way, ask for input first, or repeat parameters in header fields.

Several at once, log messages, progress, cancellation, clients that go
[2026-07-28 basic/transports/streamable-http §Receiving Messages], [..2025-11-25 basic/utilities/cancellation],
[2026-07-28 basic/patterns/cancellation]; requests that ask for input, and their state
[2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)]; the header fields of parameters
[2026-07-28 basic/transports/streamable-http §Custom Headers from Tool Parameters].
"""

import threading
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ....errors import HEADER_MISMATCH
from ....methods import CALL_TOOL, CANCELLED, CREATE_MESSAGE, ELICIT, GET_PROMPT, LIST_ROOTS, LOG_MESSAGE, PROGRESS
from ....threads import start_thread
from ...checker.httpfacts import annotations_of
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import MANY, SceneStage, valid
from ..talk import CAPABILITIES, LOG_LEVEL, ExaminerConversation, encoded, in_base64
from ..wire import Reaction, as_bytes, is_response
from .frames import survived

_SOON = 0.05
"""Seconds after which a call is given up: most are at work then, or are done."""
_CROSSING, _AFTER = 0.2, 0.5
"""Seconds in which an answer that crosses a cancellation may still come; and after which it would have come."""
_ODD = "a\nb\r\nc\t\"\\\u0000\u001f\u007f\u0085\u2028\u2029\u00e9\u4e2d\U0001f600\ufeff"
Tool = Tuple[Dict[str, Any], Dict[str, Any]]


def _message(talk: ExaminerConversation, tool: Tool, meta: Dict[str, Any]) -> Dict[str, Any]:
    return talk.message(CALL_TOOL, {"name": tool[0]["name"], "arguments": tool[1]}, talk.next_id, meta)


def _notifications(messages: Any, method: str) -> List[Dict[str, Any]]:
    """Return the params of the notifications of a method."""
    return [each.get("params") or {} for each in messages if isinstance(each, dict) and each.get("method") == method]


@scene("log-not-asked-for", "logging.opt-in", needs="tools", only=lambda revision: revision.stateless)
def log_not_asked_for(stage: SceneStage) -> Said:
    """A call that names no level of logs gets no log messages."""
    tools = stage.callable()
    with stage.fresh() as talk:
        came: List[Any] = []
        for tool in tools:
            came += talk.say(_message(talk, tool, {})).others
        if not talk.wire.is_web:
            came = talk.pipe.messages
        logs = _notifications(came, LOG_MESSAGE)
    return Broken("a log message of level %r, and none was asked for" % logs[0].get("level")) if logs else KEPT


def _at_once(talk: ExaminerConversation, messages: List[Dict[str, Any]]) -> List[Reaction]:
    """Send requests over HTTP, each by a thread of its own, and return the answers in order."""
    answers: List[Optional[Reaction]] = [None] * len(messages)
    ready = threading.Event()

    def send(place: int) -> None:
        ready.wait(talk.patience)
        answers[place] = talk.say(messages[place])

    threads = [start_thread("mcp-ref:examiner:call", send, place) for place in range(len(messages))]
    ready.set()
    for thread in threads:
        thread.join()
    return [each if each is not None else Reaction(why="no answer") for each in answers]


@scene("calls-at-once", "http.stream-related-notifications", "transport.deliver", wires="web", needs="tools",
       provokes="progress.increases progress.token-active progress.stops logging.capability "
       "http.stream-related-messages http.no-broadcast")
def calls_at_once(stage: SceneStage) -> Said:
    """Each of several calls at once gets its own answer, and by its stream only what it is about.

    Reading: which call a log message is about it does not say; progress says it by its token.
    """
    tools = stage.callable()
    with stage.fresh() as talk:
        tokens = ["examiner-at-once-%d" % number for number in range(4)]
        meta = {LOG_LEVEL: "debug"} if stage.revision.stateless and "logging" in talk.capabilities else {}
        messages = [_message(talk, tools[number % len(tools)], {**meta, "progressToken": token})
                    for number, token in enumerate(tokens)]
        answers = _at_once(talk, messages)
    strayed = [(own, seen) for own, answer in zip(tokens, answers)
               for seen in (each.get("progressToken")
                            for each in _notifications(answer.others, PROGRESS)) if seen != own]
    wrong = [answer for message, answer in zip(messages, answers)
             if answer.message is not None and answer.message.get("id") != message["id"]]
    none = any(answer.message is None for answer in answers)
    related: Verdict = KEPT if any(answer.others for answer in answers) else CannotTell("no notification came")
    return {"http.stream-related-notifications": Broken("by the stream of %s came progress of %s" % strayed[0])
            if strayed else related,
            "transport.deliver": Broken("a request got the answer to another one: %s" % wrong[0]) if wrong else
            CannotTell("one of %d calls at once got no answer" % len(tokens)) if none else KEPT}


@scene("odd-text", "transport.deliver", "lifecycle.base-required", "version.base-required", needs="tools",
       provokes="stdio.no-embedded-newlines transport.utf8 stdio.server-stdout-only-mcp")
def odd_text(stage: SceneStage) -> Said:
    """Texts with line ends, quotes, control characters and characters beyond ASCII are taken, or refused, as any
    others."""
    found: List[Verdict] = []
    talk = stage.talk
    for tool, arguments in stage.callable():
        odd = {name: _ODD if isinstance(value, str) else value for name, value in arguments.items()}
        answer = talk.request(CALL_TOOL, {"name": tool["name"], "arguments": odd}, {"example.com/text": _ODD})
        found.append(KEPT if answer.message is not None else CannotTell("tool %s: %s" % (tool["name"], answer)))
        found.append(survived(talk, "a call of %s with an odd text" % tool["name"]))
    return every(found)


@scene("cancelled-call", "cancel.race", needs="tools", wires="pipe sse",
       provokes="cancel.no-further-messages cancel.no-response cancel.in-flight progress.stops")
def cancelled_call(stage: SceneStage) -> Said:
    """A call that is cancelled at once, and one a moment later, do no harm, whether they were done or not."""
    found: List[Verdict] = []
    with stage.fresh() as talk:
        for tool in stage.callable():
            for wait in (0.0, _SOON):
                message = _message(talk, tool, {"progressToken": "examiner-cancel-%d" % len(found)})
                since = len(talk.pipe.messages)
                talk.say(message, seconds=0)
                if wait:
                    talk.answer(message["id"], wait, since)
                talk.notify(CANCELLED, {"requestId": message["id"], "reason": "examined"})
                found.append(survived(talk, "a call of %s that was cancelled" % tool[0]["name"]))
    return every(found)


@scene("cancel-calls", "cancel.no-response", wires="pipe", needs="tools", provokes="cancel.no-further-messages")
def cancel_calls(stage: SceneStage) -> Said:
    """Calls that are cancelled at once are not answered after the server has seen the cancellation.

    It has seen it once a request is answered that was sent afterwards; an answer that was on its way then comes soon.
    """
    cancelled: Dict[Any, str] = {}
    with stage.fresh() as talk:
        for tool in stage.callable(most=MANY):
            message = _message(talk, tool, {})
            cancelled[message["id"]] = str(tool[0]["name"])
            talk.say(message, seconds=0)
            talk.notify(CANCELLED, {"requestId": message["id"]})
        if talk.alive() or talk.pipe.wait(lambda each: False, _CROSSING, len(talk.pipe.messages)) or talk.alive():
            return None
        late = talk.pipe.wait(lambda each: is_response(each) and each.get("id") in cancelled, _AFTER,
                              len(talk.pipe.messages))
        return KEPT if late is None else Broken("tool %s was answered after it was cancelled" % cancelled[late["id"]])


@scene("disconnect", "cancel.http-disconnect-cancels", "cancel.race", needs="tools", wires="web",
       provokes="cancel.no-further-messages")
def disconnect(stage: SceneStage) -> Said:
    """A client that goes before its call is answered does no harm; whether its work is ended cannot be seen."""
    found: List[Verdict] = []
    with stage.fresh() as talk:
        for tool in stage.callable():
            message = _message(talk, tool, {"progressToken": "examiner-gone-%d" % len(found)})
            talk.web.send("POST", talk.header_fields(message, {}), as_bytes(message), _SOON, lambda each: True)
            found.append(survived(talk, "a call of %s whose client has gone" % tool[0]["name"]))
    if not found:
        raise NotExamined("no tool may be called")
    said = every(found)
    unseen = CannotTell("whether the work of a call is ended leaves no message")
    return {"cancel.race": said, "cancel.http-disconnect-cancels": unseen if said is KEPT else said}


_ABLE: Dict[str, Any] = {CAPABILITIES: {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}}
ANSWERS: Dict[str, Dict[str, Any]] = {
    ELICIT: {"action": "decline"}, LIST_ROOTS: {"roots": []},
    CREATE_MESSAGE: {"role": "assistant", "content": {"type": "text", "text": "example"}, "model": "example"}}
"""The method of a question -> our answer."""
_JUNK: Tuple[Any, ...] = ("examiner-no-such-state", "", "\u00e9\U0001f600", "x" * 20000, 7, {"a": 1})


class Round(NamedTuple):
    """A request that was answered by a wish for input."""

    method: str
    params: Dict[str, Any]
    answers: Dict[str, Any]
    """The answers to its questions."""
    state: Any
    """The `requestState`; None if there is none."""

    def retry(self, talk: ExaminerConversation, state: Any, most: Optional[int] = None) -> Reaction:
        """Send the request again with the answers and with a state; None: without one. ``most``: the number of
        answers, the first ones; None: all."""
        answers = dict(list(self.answers.items())[:most])
        more: Dict[str, Any] = {"inputResponses": answers} if answers else {}
        more.update({} if state is None else {"requestState": state})
        return talk.request(self.method, {**self.params, **more}, _ABLE)


def _rounds(stage: SceneStage) -> List[Round]:
    """Return the requests that ask for input. Raises `NotExamined` if there are none."""
    asked: List[Tuple[str, Dict[str, Any]]] = []
    if stage.offered.get("tools"):
        asked += [(CALL_TOOL, {"name": tool["name"], "arguments": arguments})
                  for tool, arguments in stage.callable(most=MANY)]
    asked += [(GET_PROMPT, {"name": each.get("name")}) for each in stage.offered.get("prompts", ())[:5]
              if not any(part.get("required") for part in each.get("arguments") or () if isinstance(part, dict))]
    found = []
    for method, params in asked:
        result = stage.talk.request(method, params, _ABLE).result or {}
        questions = result.get("inputRequests")
        if result.get("resultType") == "input_required":
            found.append(Round(method, params, {
                key: ANSWERS.get(str((each or {}).get("method")), {}) for key, each in questions.items()
                if each is None or isinstance(each, dict)} if isinstance(questions, dict) else {},
                result.get("requestState")))
    if not found:
        raise NotExamined("nothing that may be asked for asks for input")
    return found


def _done(answer: Reaction) -> bool:
    """Return True for a result that is no other wish for input."""
    return answer.result is not None and answer.result.get("resultType") != "input_required"


def altered(state: str) -> List[str]:
    """Return a state with one character changed, at three places."""
    places = {len(state) // 4, len(state) // 2, len(state) * 3 // 4}
    return [state[:place] + ("A" if state[place] != "A" else "B") + state[place + 1:] for place in sorted(places)]


@scene("input-round", provokes="mrtr.declared-capabilities-only jsonrpc.result-type-required mrtr.at-least-one "
       "mrtr.request-types mrtr.no-server-requests stdio.no-server-requests http.stream-no-server-requests "
       "mrtr.required elicit.param-message elicit.form-params", needs="tools",
       only=lambda revision: revision.stateless)
def input_round(stage: SceneStage) -> Said:
    """Requests that are answered by a wish for input are sent again with answers, for the checker to see."""
    for each in _rounds(stage):
        each.retry(stage.talk, each.state)
    return None


@scene("part-of-a-round", "mrtr.re-request-missing", needs="tools", only=lambda revision: revision.stateless)
def part_of_a_round(stage: SceneStage) -> Said:
    """A request that asks for several things and gets one of them is no error: it asks again for the others."""
    found: List[Verdict] = []
    for each in _rounds(stage):
        if len(each.answers) > 1:
            part = each.retry(stage.talk, each.state, 1)
            said = "%s with one of %d answers: %s" % (each.method, len(each.answers), part)
            found.append(KEPT if part.result is not None else Broken(said) if part.error is not None else
                         CannotTell(said))
    if not found:
        raise NotExamined("nothing that may be asked for asks for two things at once")
    return every(found)


@scene("altered-state", "mrtr.state-rejected", needs="tools", only=lambda revision: revision.stateless)
def altered_state(stage: SceneStage) -> Said:
    """A state that was altered is refused, or asked about again.

    Reading: a state that a server gives with its questions matters to it, as the checker has it, too. One of three
    places may hold a bit that means nothing.
    """
    found: List[Verdict] = []
    for each in _rounds(stage):
        if isinstance(each.state, str) and each.state:
            answers = [each.retry(stage.talk, state) for state in altered(each.state)]
            found.append(Broken("%s with an altered requestState: %s" % (each.method, answers[0]))
                         if all(_done(answer) for answer in answers) else KEPT)
    if not found:
        raise NotExamined("what asks for input has no requestState")
    return every(found)


@scene("junk-state", "mrtr.state-untrusted", needs="tools", only=lambda revision: revision.stateless)
def junk_state(stage: SceneStage) -> Said:
    """A state that the server has never given does no harm: it is refused or ignored, and the conversation goes on."""
    found: List[Verdict] = []
    talk = stage.talk
    for each in _rounds(stage)[:2]:
        for junk in _JUNK:
            answer = each.retry(talk, junk)
            if answer.message is None:
                found.append(Broken("requestState %.40r: %s" % (junk, answer)) if talk.wire.ended else
                             CannotTell("requestState %.40r: %s" % (junk, answer)))
            found.append(survived(talk, "a requestState that is none"))
    return every(found)


_OTHER = "examiner-another-value"
Fields = Dict[str, Optional[str]]


class Parameter(NamedTuple):
    """A call of a tool with a parameter that a header field repeats."""

    params: Dict[str, Any]
    fields: Fields
    """The fields of all its parameters."""
    field: str
    text: str
    """Name and value of the field that is altered."""


def _texts(arguments: Dict[str, Any], schema: Any) -> Fields:
    """Return the header fields that repeat arguments."""
    found: Fields = {}
    for path, field in annotations_of(schema).headers:
        value: Any = arguments
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            found[field] = {True: "true", False: "false"}[value] if isinstance(value, bool) else encoded(str(value))
    return found


def _parameters(stage: SceneStage) -> List[Parameter]:
    """Return calls whose parameter is a string. Raises `NotExamined` if there are none."""
    found = []
    for tool, _ in stage.callable(mirrored=True):
        schema = tool["inputSchema"]
        for path, field in annotations_of(schema).headers:
            if len(path) == 1 and schema["properties"][path[0]].get("type") == "string":
                needed = schema.get("required")
                made = valid({**schema, "required": [*(needed if isinstance(needed, list) else ()), path[0]]})
                if made is not None:
                    found.append(Parameter({"name": tool["name"], "arguments": made}, _texts(made, schema), field,
                                           str(made[path[0]])))
    if not found:
        raise NotExamined("no tool that may be called has a parameter with a header field")
    return found[:3]


def _call(stage: SceneStage, params: Dict[str, Any], fields: Fields) -> Reaction:
    talk = stage.talk
    return talk.say(talk.message(CALL_TOOL, params, talk.next_id), fields=fields)


def _mismatch(answer: Reaction, what: str) -> Verdict:
    """Return the verdict on a call that has to be refused with 400 and -32020."""
    if answer.status is None:
        return CannotTell("%s: %s" % (what, answer))
    right = answer.status == 400 and answer.code == HEADER_MISMATCH
    return KEPT if right else Broken("%s: %s, in the place of status 400 and error %d" % (
        what, answer, HEADER_MISMATCH))


@scene("parameter-fields", "http.param-mismatch-rejected", "http.param-validate-body", "http.param-missing-rejected",
       "http.param-invalid-chars", "http.param-server-decodes", needs="tools", wires="web")
def parameter_fields(stage: SceneStage) -> Said:
    """The field of a parameter is compared with the argument after decoding: another value, none, and characters that
    are not allowed are refused.

    Reading: a value with characters that are not allowed may be refused with any status from 400 to 499, by the HTTP
    server, too.
    """
    found: Dict[str, List[Verdict]] = {}
    for each in _parameters(stage):
        plain = _call(stage, each.params, each.fields)
        if plain.result is None:
            raise NotExamined("tool %s with its header fields: %s" % (each.params["name"], plain))
        sent = {text: _call(stage, each.params, {**each.fields, each.field: text}) for text in (
            _OTHER, in_base64(_OTHER), in_base64(each.text), each.text + "\u00e9")}
        absent = _call(stage, each.params, {**each.fields, each.field: None})
        other, coded, right, odd = sent.values()
        raw = "%s with characters that are not allowed: %s" % (each.field, odd)
        for id, said in (
            ("http.param-mismatch-rejected", _mismatch(other, "%s of another value" % each.field)),
            ("http.param-validate-body", _mismatch(coded, "%s of another value, encoded" % each.field)),
            ("http.param-missing-rejected", KEPT if absent.result is None and absent.status is not None else Broken(
                "without %s: %s" % (each.field, absent))),
            ("http.param-invalid-chars", CannotTell(raw) if odd.status is None else KEPT
             if 400 <= odd.status < 500 else Broken(raw)),
            ("http.param-server-decodes", KEPT if right.result is not None else Broken(
                "%s with the right value, encoded: %s" % (each.field, right))),
        ):
            found.setdefault(id, []).append(said)
    return {id: every(verdicts) for id, verdicts in found.items()}


@scene("parameter-absent", "http.param-absent-not-expected", "http.param-null-not-expected", needs="tools",
       wires="web")
def parameter_absent(stage: SceneStage) -> Said:
    """A parameter that is not given needs no field, nor one that is null.

    Reading: what the tool makes of such arguments is its own affair; only a refusal of the header fields counts.
    """
    found: Dict[str, List[Verdict]] = {"http.param-absent-not-expected": [], "http.param-null-not-expected": []}
    for tool, arguments in stage.callable(mirrored=True):
        fields = _texts(arguments, tool["inputSchema"])
        for path, field in annotations_of(tool["inputSchema"]).headers:
            if len(path) == 1 and path[0] not in arguments:
                for id, more in (("http.param-absent-not-expected", {}),
                                 ("http.param-null-not-expected", {path[0]: None})):
                    answer = _call(stage, {"name": tool["name"], "arguments": {**arguments, **more}}, fields)
                    found[id].append(Broken("without %s: %s" % (field, answer)) if answer.code == HEADER_MISMATCH else
                                     KEPT if answer.message is not None else CannotTell(str(answer)))
    if not found["http.param-absent-not-expected"]:
        raise NotExamined("no tool that may be called has a parameter with a header field that it can do without")
    return {id: every(verdicts) for id, verdicts in found.items()}
