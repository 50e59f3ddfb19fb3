"""Scenes about the header fields of requests that stand alone [2026-07-28 basic/transports/streamable-http]."""

from typing import Dict, List, Optional, Tuple

from ...errors import HEADER_MISMATCH
from ...methods import DISCOVER, GET_PROMPT, READ_RESOURCE
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import SceneStage
from ..talk import in_base64
from ..wire import Reaction
from .web import must

_WRONG: Tuple[Tuple[str, Dict[str, Optional[str]]], ...] = (
    ("http.header-version-mismatch-rejected", {"MCP-Protocol-Version": "2025-11-25"}),
    ("http.header-mismatch-rejected", {"Mcp-Method": "tools/list"}),
    ("http.header-mismatch-rejected", {"Mcp-Method": None}),
)


def _mismatch(answer: Reaction) -> Verdict:
    said = must(answer, 400)
    if said is KEPT and answer.code != HEADER_MISMATCH:
        return Broken("%s, in the place of error %d" % (answer, HEADER_MISMATCH))
    return said


@scene("header-mismatch", "http.header-version-mismatch-rejected", "http.header-mismatch-rejected",
       "http.header-mismatch-error", wires="web")
def header_mismatch(stage: SceneStage) -> Said:
    """A header field that says something else than the body, or is missing, is refused with 400 and -32020."""
    found: Dict[str, List[Verdict]] = {"http.header-mismatch-error": []}
    for id, fields in _WRONG:
        answer = stage.talk.say(stage.talk.message(DISCOVER, id=stage.talk.next_id), fields=fields)
        found.setdefault(id, []).append(must(answer, 400))
        if id == "http.header-mismatch-rejected":
            found["http.header-mismatch-error"].append(_mismatch(answer))
    return {id: every(verdicts) for id, verdicts in found.items()}


@scene("name-header", "http.header-mismatch-rejected", "http.param-server-decodes", wires="web")
def name_header(stage: SceneStage) -> Said:
    """`Mcp-Name` is compared with the body after decoding: another name is refused, an encoded one is not."""
    listed = [(READ_RESOURCE, "uri", each.get("uri")) for each in stage.offered.get("resources", ())]
    listed += [(GET_PROMPT, "name", each.get("name")) for each in stage.offered.get("prompts", ())
               if not any(part.get("required") for part in each.get("arguments") or () if isinstance(part, dict))]
    named = [each for each in listed if isinstance(each[2], str)]
    if not named:
        raise NotExamined("there is no resource to read, and no prompt without arguments")
    method, member, name = named[0]
    talk, params = stage.talk, {member: name}
    wrong = [talk.say(talk.message(method, params, id=talk.next_id), fields={"Mcp-Name": value})
             for value in ("examiner-another-name", None)]
    text = in_base64(str(name))
    right = talk.say(talk.message(method, params, id=talk.next_id), fields={"Mcp-Name": text})
    decoded = KEPT if right.result is not None else Broken("Mcp-Name %s: %s" % (text, right))
    return {"http.header-mismatch-rejected": every([must(each, 400) for each in wrong]),
            "http.param-server-decodes": decoded}


@scene("header-case", "http.header-case-insensitive", wires="web")
def header_case(stage: SceneStage) -> Said:
    """The names of header fields may be written in any case."""
    talk = stage.talk
    answer = talk.say(talk.message(DISCOVER, id=talk.next_id), fields={
        "mcp-protocol-VERSION": stage.revision.name, "MCP-METHOD": DISCOVER, "content-TYPE": "application/json",
        "aCCEPT": "application/json, text/event-stream"})
    return KEPT if answer.result is not None else Broken("header fields in another case: %s" % answer)


@scene("no-version", "http.header-version-absent-reject", wires="web")
def no_version(stage: SceneStage) -> Said:
    """A request without `MCP-Protocol-Version` is refused with 400, where older clients are not served.

    Reading: where they are, a body that says its version is refused as well, since the header field has to repeat it.
    """
    talk = stage.talk
    answer = talk.say(talk.message(DISCOVER, id=talk.next_id), fields={"MCP-Protocol-Version": None})
    return must(answer, 400) if answer.result is None else CannotTell(
        "a request without the header field was answered: the server may serve older clients")


@scene("old-fields", "http.session-ignored-modern", "http.resume-ignored-modern", wires="web")
def old_fields(stage: SceneStage) -> Said:
    """`Mcp-Session-Id` and `Last-Event-ID` of older clients are ignored."""
    found: Dict[str, Verdict] = {}
    talk = stage.talk
    for id, name in (("http.session-ignored-modern", "Mcp-Session-Id"),
                     ("http.resume-ignored-modern", "Last-Event-ID")):
        answer = talk.say(talk.message(DISCOVER, id=talk.next_id), fields={name: "examiner-1"})
        found[id] = KEPT if answer.result is not None else Broken("%s: %s" % (name, answer))
    return found
