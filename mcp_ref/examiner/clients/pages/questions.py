"""Scenes about what a client is asked by the requests of a server, in the revisions with a handshake.

[2025-06-18..2025-11-25 client/elicitation], [..2025-11-25 client/sampling], [..2025-11-25 client/roots].
"""

from functools import partial
from typing import Any, Dict

from ....errors import INVALID_PARAMS
from ....methods import CALL_TOOL, CREATE_MESSAGE, ELICIT, ELICITATION_COMPLETE, LIST_ROOTS, LIST_TOOLS
from ....urls import scheme_of
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every
from ..script import Asked
from ..stage import ClientStage, client_scene
from .features import FORM, SAMPLE, asked_of
from .manners import bears, before, first_of

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

    def say(asked: Asked) -> None:
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
