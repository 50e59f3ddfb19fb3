"""Scenes about lists, the questions of a server, and what else a client does with its features.

[.. server/utilities/pagination], [2025-06-18.. client/elicitation], [.. client/sampling], [.. client/roots].

Questions that are requests of the server belong to the revisions with a handshake.
"""

from functools import partial
from typing import Any, Dict, List

from .....errors import INVALID_PARAMS
from .....methods import CALL_TOOL, CREATE_MESSAGE, ELICIT, ELICITATION_COMPLETE, LIST_ROOTS, LIST_TOOLS
from .....urls import scheme_of
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every
from ..script import ADD, ClientRequest, ScriptedTool, ServerScript, text
from ..stage import ClientRun, ClientStage, client_scene
from .opening import bears, before, first_of

CURSORS = ("a", "\u00e9 \U0001f600 \"quoted\\\" =?base64?YQ==?=", "9" * 3000, "{\"page\": 4}")
_SIZES = (3, 1, 0, 2, 1)
_ODD_META = {"io.modelcontextprotocol/examiner": [1, None], "modelcontextprotocol.io/examiner": {"a": {}}}


def tool(name: str) -> ScriptedTool:
    """Return a tool without arguments that answers with a text."""
    definition = {"name": name, "description": "Does nothing", "inputSchema": {"type": "object"}}
    return ScriptedTool(definition, lambda asked: text("done"))


def _in_pages(script: ServerScript, cursors: List[str]) -> None:
    """Have the tools listed in pages of odd sizes; the cursors stand between them."""
    def answer(asked: ClientRequest) -> Any:
        cursor = asked.params.get("cursor")
        place = 0 if "cursor" not in asked.params else cursors.index(cursor) + 1 if cursor in cursors else 0
        page = [tool("page_%d_%d" % (place, number)).definition for number in range(_SIZES[place])]
        if place == 0:
            page.append(ADD)
        return {"tools": page, **({"nextCursor": cursors[place]} if place < len(cursors) else {})}

    script.answers[LIST_TOOLS] = answer
    script.answers[CALL_TOOL] = lambda asked: text("done")


def _followed(run: ClientRun, cursors: List[str]) -> Verdict:
    asked = [each.params.get("cursor") for each in run.script.sent(LIST_TOOLS)]
    if not any("cursor" in each.params for each in run.script.sent(LIST_TOOLS)):
        return CannotTell("the client has not asked for a second page")
    missing = [place for place, cursor in enumerate(cursors) if cursor not in asked]
    return KEPT if not missing else Broken("of %d pages the client has asked for %d" % (
        len(cursors) + 1, len(cursors) + 1 - len(missing)))


def _altered(run: ClientRun, cursors: List[str]) -> Verdict:
    """Return the verdict on a client that asks for a page by a cursor that it was not given; None if it does not."""
    for each in run.script.sent(LIST_TOOLS):
        cursor = each.params.get("cursor")
        if "cursor" in each.params and cursor not in cursors:
            return Broken("no page had the cursor %.40r" % (cursor,))
    return None


@client_scene("pages", "pagination.no-fixed-size", "pagination.cursor-no-assumptions", "pagination.both-flows",
              provokes="pagination.cursor-unmodified pagination.end", needs=LIST_TOOLS)
def pages(stage: ClientStage) -> Said:
    """A list comes in pages of several sizes, one of them empty, with odd cursors: each comes back as it was."""
    script = stage.script()
    _in_pages(script, list(CURSORS))
    run = stage.run(script)
    altered, verdict = _altered(run, list(CURSORS)), _followed(run, list(CURSORS))
    if altered:
        return {"pagination.cursor-no-assumptions": altered}
    return {"pagination.no-fixed-size": verdict, "pagination.cursor-no-assumptions": verdict,
            "pagination.both-flows": KEPT if verdict is KEPT else None}


@client_scene("empty-cursor", "pagination.empty-cursor", needs=LIST_TOOLS)
def empty_cursor(stage: ClientStage) -> Said:
    """A page whose next cursor is an empty string is not the last one."""
    plain, script = stage.script(), stage.script()
    _in_pages(script, [""])
    run = stage.run(script)
    if any(each.params.get("cursor") == "" for each in run.script.sent(LIST_TOOLS)):
        return KEPT
    _in_pages(plain, ["a"])
    second = stage.run(plain)
    if _altered(second, ["a"]):
        return CannotTell("the client has altered another cursor")
    if isinstance(_followed(second, ["a"]), CannotTell):
        return CannotTell("the client has not asked for a second page")
    return Broken("the client follows the cursor \"a\", and not the cursor \"\"")


@client_scene("odd-meta", "meta.reserved-no-assumptions", needs=LIST_TOOLS)
def odd_meta(stage: ClientStage) -> Said:
    """Results and tools have reserved names in `_meta` that mean nothing yet: the client goes on."""
    script = stage.script()
    script.answers[LIST_TOOLS] = lambda asked: {"tools": [{**ADD, "_meta": _ODD_META}], "_meta": _ODD_META}
    return stage.goes_on(stage.run(script), "after reserved names in _meta")


def asked_of(stage: ClientStage, method: str, params: Dict[str, Any]) -> Any:
    """Ask the client something in the middle of a call; return its response, or None."""
    answers: List[Any] = []
    script = stage.script()
    before(script, first_of(stage, CALL_TOOL, LIST_TOOLS), lambda asked: answers.append(
        asked.ask(method, params, stage.patience)) if not answers else None)
    stage.run(script)
    return answers[0] if answers else None


SAMPLE: Dict[str, Any] = {"messages": [{"role": "user", "content": {"type": "text", "text": "Say yes."}}],
                          "maxTokens": 10}
FORM: Dict[str, Any] = {"message": "Your name?", "requestedSchema": {
    "type": "object", "properties": {"name": {"type": "string", "minLength": 1}}, "required": ["name"]}}


@client_scene("undeclared-question", "lifecycle.negotiated-capabilities", "lifecycle.negotiated-capabilities-should",
              "roots.unsupported-error", only=lambda revision: revision.peer_requests)
def undeclared_question(stage: ClientStage) -> Said:
    """A request for a capability that the client has not declared is refused."""
    declared, found = stage.usual().script.declared, {}  # type: Any, Dict[str, Any]
    for name, method, params in (("roots", LIST_ROOTS, {}), ("sampling", CREATE_MESSAGE, SAMPLE),
                                 ("elicitation", ELICIT, FORM)):
        if name in declared or (name == "elicitation" and not stage.revision.elicitation):
            continue
        answer = asked_of(stage, method, params)
        verdict: Verdict = CannotTell("%s was not answered" % method) if answer is None else KEPT if (
            "error" in answer) else Broken("%s, which is not declared, was answered with a result" % method)
        if name == "roots":
            found["roots.unsupported-error"] = verdict
        for id in ("lifecycle.negotiated-capabilities", "lifecycle.negotiated-capabilities-should"):
            if not isinstance(found.get(id), Broken):
                found[id] = verdict
    return found


asking_scene = partial(client_scene, only=lambda revision: revision.peer_requests)
ODD_ID = "\u00e9 \"odd\" {\"id\": 1} \U0001f600"
LINK_PATH = "/examiner-link"
WITH_TOOLS: Dict[str, Any] = {**SAMPLE, "toolChoice": {"mode": "auto"}, "tools": [
    {"name": "look", "description": "Looks", "inputSchema": {"type": "object"}}]}


def _answered(what: str, answer: Any) -> Verdict:
    """Return the verdict on the answer to a question that the client has declared that it can be asked."""
    if answer is None:
        return CannotTell("%s was not answered in time" % what)
    code = (answer.get("error") or {}).get("code")
    return Broken("%s: %s" % (what, answer["error"])) if code in (INVALID_PARAMS, -32601, -32603) else KEPT


@asking_scene("form", "elicit.one-mode", "elicit.mode-default-form",
              provokes="elicit.client-validates elicit.both-validate elicit.capability-init")
def form(stage: ClientStage) -> Said:
    """A form without a mode is shown to the user, whose answer fits the schema."""
    declared = stage.declares("elicitation")
    if isinstance(declared, dict) and declared and "form" not in declared:
        raise NotExamined("the client does not declare elicitation.form")
    return _answered("elicitation/create without a mode", asked_of(stage, ELICIT, FORM))


@asking_scene("undeclared-mode", "elicit.undeclared-mode-error")
def undeclared_mode(stage: ClientStage) -> Said:
    """A link is refused with -32602 by a client that has not declared that mode."""
    if "url" in (stage.declares("elicitation") or {}):
        raise NotExamined("the client declares every mode of elicitation")
    answer = asked_of(stage, ELICIT, {"mode": "url", "message": "Open this", "elicitationId": "a",
                                      "url": "https://example.com/"})
    if answer is None:
        return CannotTell("elicitation by a link was not answered")
    code = (answer.get("error") or {}).get("code")
    return KEPT if code == INVALID_PARAMS else Broken("elicitation by a link, which is not declared: %s" % (answer,))


@asking_scene("link", "elicit.one-mode", "elicit.url-no-prefetch", "elicit.id-opaque", wires="web")
def link(stage: ClientStage) -> Said:
    """A link with an odd id is accepted or not, and not fetched before that."""
    stage.declares("elicitation", "url")
    script, answers = stage.script(), []  # type: Any, Any

    def say(asked: ClientRequest) -> None:
        if not answers:
            answers.append(asked.ask(ELICIT, {"mode": "url", "message": "Open this", "elicitationId": ODD_ID,
                                              "url": script.base + LINK_PATH}, stage.patience))

    before(script, first_of(stage, CALL_TOOL, LIST_TOOLS), say)
    stage.run(script)
    answer = answers[0] if answers else None
    said = _answered("elicitation by a link", answer)
    fetched = any(hit.endswith(LINK_PATH) for hit in script.hits)
    accepted = ((answer or {}).get("result") or {}).get("action") == "accept"
    return {"elicit.one-mode": said, "elicit.id-opaque": said if said is KEPT else CannotTell("the link was refused"),
            "elicit.url-no-prefetch": KEPT if not fetched else CannotTell(
                "the link was fetched, and accepted") if accepted else Broken("the link was fetched, and not accepted")}


@asking_scene("unknown-completion", "elicit.complete-unknown-ignored")
def unknown_completion(stage: ClientStage) -> Said:
    """A link is said to be done that was never given: nothing follows."""
    stage.declares("elicitation")
    return bears(stage, "the completion of an unknown link", lambda asked: asked.note(
        ELICITATION_COMPLETE, {"elicitationId": "examiner-never-given"}))


@asking_scene("sample", "lifecycle.base-required", provokes="sampling.capability-init sampling.validate-content")
def sample(stage: ClientStage) -> Said:
    """A question to the model is answered, or refused by the user."""
    stage.declares("sampling")
    return _answered(CREATE_MESSAGE, asked_of(stage, CREATE_MESSAGE, SAMPLE))


@asking_scene("sample-with-tools", "sampling.tools-undeclared-error")
def sample_with_tools(stage: ClientStage) -> Said:
    """A question to the model with tools is refused by a client that has not declared those."""
    if "tools" in (stage.declares("sampling") or {}):
        raise NotExamined("the client declares sampling.tools")
    answer = asked_of(stage, CREATE_MESSAGE, WITH_TOOLS)
    if answer is None:
        return CannotTell("sampling with tools was not answered")
    return KEPT if "error" in answer else Broken("sampling with tools, which is not declared, was answered: %s" % (
        answer.get("result"),))


@asking_scene("roots", "roots.validate-uris", provokes="roots.file-uri roots.capability-init")
def roots(stage: ClientStage) -> Said:
    """The roots are told, each at a URI of a file."""
    stage.declares("roots")
    answer = asked_of(stage, LIST_ROOTS, {})
    found = ((answer or {}).get("result") or {}).get("roots")
    if not isinstance(found, list):
        return CannotTell("roots/list: %s" % (answer,))
    return every([KEPT if isinstance(each, dict) and isinstance(each.get("uri"), str) and scheme_of(
        each["uri"]) == "file" else Broken("a root %s" % (each,)) for each in found]) or KEPT
