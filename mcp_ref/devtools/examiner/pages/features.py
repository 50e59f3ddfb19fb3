"""Scenes about what a server offers: tools, resources, prompts, completion, logging, lists in pages."""

import re
from typing import Any, Dict, Iterable, List, Tuple

from ....errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from ....jsontext import dumps
from ....methods import (
    CALL_TOOL, COMPLETE, GET_PROMPT, LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, LIST_TOOLS, READ_RESOURCE,
    SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE,
)
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, refused, scene
from ..stage import LISTS, MANY, SceneStage, invalid
from ..wire import UNDECLARED, Reaction
from .frames import survived

NOBODY = "examiner-no-such-name"
_NOWHERE = "examiner://nowhere/at-all"
_CAPABILITY = {method: capability for method, _, capability in LISTS}


# Lists

@scene("lists", "tools.list-responds", "resources.list-responds", "prompts.list-responds",
       "pagination.stable-cursors", "tools.deterministic-order",
       provokes="tools.input-schema-object cache.hints-tools-list cache.hints-prompts-list cache.hints-resources-list "
       "cache.hints-resource-templates-list cache.scope-same-on-pages")
def lists(stage: SceneStage) -> Said:
    """Every list that was declared is answered, to its last page, and is the same the second time."""
    found: Dict[str, Verdict] = {}
    for method, member, capability in LISTS:
        if capability not in stage.talk.capabilities:
            continue
        first = [(answer, items) for answer, items in stage.talk.pages(method, member)]
        failed = next((answer for answer, _ in first if answer.result is None), None)
        if method != LIST_RESOURCE_TEMPLATES:
            found["%s.list-responds" % capability] = Broken("%s: %s" % (method, failed)) if failed else KEPT
        if failed is None:
            again = [items for _, items in stage.talk.pages(method, member)]
            same = [dumps(items) for _, items in first] == [dumps(items) for items in again]
            reordered = method == LIST_TOOLS and _sorted(items for _, items in first) == _sorted(again)
            known = "tools.deterministic-order" if method == LIST_TOOLS else "pagination.stable-cursors"
            if len(first) > 1 or method == LIST_TOOLS:
                found[known] = KEPT if same else Broken("%s has another order the second time" % method) if (
                    reordered) else CannotTell("%s was another list the second time" % method)
    return found


def _sorted(pages: Iterable[List[Any]]) -> List[str]:
    """Return the items of all pages, in an order of our own."""
    return sorted(dumps(item) for items in pages for item in items)


@scene("other-connection", "tools.list-not-per-connection", "resources.list-not-per-connection",
       "prompts.list-not-per-connection", "stateless.no-connection-affinity")
def other_connection(stage: SceneStage) -> Said:
    """A list is the same on another connection."""
    found: Dict[str, Verdict] = {}
    with stage.fresh() as talk:
        for method, member, capability in LISTS:
            if capability in talk.capabilities and method != LIST_RESOURCE_TEMPLATES:
                here = [items for _, items in stage.talk.pages(method, member)]
                there = [items for _, items in talk.pages(method, member)]
                # The order of tools has a requirement of its own, which asks for less.
                same = dumps(here) == dumps(there) or method == LIST_TOOLS and _sorted(here) == _sorted(there)
                found["%s.list-not-per-connection" % capability] = KEPT if same else Broken(
                    "%s is another list on another connection" % method)
    return found


@scene("bad-cursor", "pagination.invalid-cursor-graceful", "pagination.invalid-cursor-32602")
def bad_cursor(stage: SceneStage) -> Said:
    """A cursor that was never given is refused with -32602, and the conversation goes on."""
    graceful, codes = [], []  # type: List[Verdict], List[Verdict]
    talk = stage.talk
    for method in (LIST_TOOLS, LIST_RESOURCES, LIST_PROMPTS):
        if _CAPABILITY[method] in talk.capabilities:
            codes.append(refused(talk.request(method, {"cursor": "examiner-no-cursor"}), INVALID_PARAMS))
            graceful.append(survived(talk, "an invalid cursor"))
    if not codes:
        raise NotExamined("the server has no lists")
    return {"pagination.invalid-cursor-graceful": every(graceful), "pagination.invalid-cursor-32602": every(codes)}


# Tools

@scene("call-tools", provokes="tools.output-schema-conform tools.structured-text-fallback "
       "lifecycle.negotiated-capabilities lifecycle.negotiated-capabilities-should roots.check-capability "
       "logging.opt-in", needs="tools")
def call_tools(stage: SceneStage) -> Said:
    """Tools that only read are called with arguments that fit, for the checker to see their results, and that a client
    that has declared nothing is asked for nothing."""
    for tool, arguments in stage.callable(most=MANY):
        stage.talk.request(CALL_TOOL, {"name": tool["name"], "arguments": arguments})
    return None


_CONFESSES = re.compile(r"\W*(error|unknown|invalid|missing|failed|no such)\b", re.IGNORECASE)
_BAD_CALL = ("tools.validate-inputs", "tools.errors-in-result")


def _bad_call(answers: List[Tuple[str, Reaction]]) -> Dict[str, Verdict]:
    """Return the verdict on calls that must not succeed.

    Reading: a result that says in words that the call was wrong, and not by isError [.. server/tools §Error Handling],
    comes of inputs that were validated; then it is the flag that is missing, for which the schema has a SHOULD.
    """
    found: List[Verdict] = []
    words: List[Verdict] = []
    for what, answer in answers:
        wrong = answer.result is not None and answer.result.get("isError") is not True
        texts = [each.get("text") for each in (answer.result or {}).get("content") or () if isinstance(each, dict)]
        if wrong and texts and _CONFESSES.match(str(texts[0])):
            words.append(Broken("%s: %s" % (what, answer)))
        else:
            found.append(Broken("%s: %s" % (what, answer)) if wrong else
                         KEPT if answer.message is not None else CannotTell("%s: %s" % (what, answer)))
    return {"tools.validate-inputs": every(found) if found else KEPT, "tools.errors-in-result": every(words)}


@scene("unknown-tool", *_BAD_CALL, needs="tools")
def unknown_tool(stage: SceneStage) -> Said:
    """A tool that there is not is no success."""
    answer = stage.talk.request(CALL_TOOL, {"name": NOBODY, "arguments": {}})
    return _bad_call([("tool " + NOBODY, answer)])


@scene("tool-arguments", *_BAD_CALL, needs="tools")
def tool_arguments(stage: SceneStage) -> Said:
    """Arguments that the input schema refuses are no success, and no internal error of the server."""
    answers: List[Tuple[str, Reaction]] = []
    for tool, _ in stage.callable():
        bad = invalid(tool.get("inputSchema"))
        if bad is not None:
            answer = stage.talk.request(CALL_TOOL, {"name": tool["name"], "arguments": bad})
            answers.append(("tool %s with %s" % (tool["name"], dumps(bad)), answer))
    if not answers:
        raise NotExamined("no tool that may be called refuses any arguments")
    internal: List[Verdict] = [Broken("%s: %s" % each) for each in answers if each[1].code == INTERNAL_ERROR]
    said = _bad_call(answers)
    return {**said, "tools.errors-in-result": every([*internal, said["tools.errors-in-result"]])}


@scene("tool-without-name", *_BAD_CALL, needs="tools")
def tool_without_name(stage: SceneStage) -> Said:
    """A call without a name, with a name that is no string, or with arguments that are no object is refused."""
    tools = [tool.get("name") for tool in stage.offered.get("tools", ())][:1]
    cases: List[Dict[str, Any]] = [{"arguments": {}}, {"name": 7, "arguments": {}}]
    cases += [{"name": name, "arguments": [1]} for name in tools]
    return _bad_call([("tools/call with " + dumps(params), stage.talk.request(CALL_TOOL, params)) for params in cases])


# Resources

@scene("read-resources", provokes="resources.binary-encoded cache.hints-resources-read", needs="resources")
def read_resources(stage: SceneStage) -> Said:
    """Resources of the list are read, for the checker to see them."""
    for resource in stage.some("resources"):
        stage.talk.request(READ_RESOURCE, {"uri": resource.get("uri")})
    return None


@scene("unknown-resource", "resources.not-found-32002", "resources.not-found-32602", "resources.not-found-not-empty",
       needs="resources")
def unknown_resource(stage: SceneStage) -> Said:
    """A resource that there is not is refused with the code of the revision, and never with empty contents."""
    # First the scheme of a resource that there is: of another one a server may say that it does not know the scheme.
    listed = [each["uri"] for each in stage.offered.get("resources", ())[:1] if isinstance(each.get("uri"), str)]
    for uri in (*(each + "-examiner-no-such-resource" for each in listed), _NOWHERE):
        answer = stage.talk.request(READ_RESOURCE, {"uri": uri})
        if not (answer.result or {}).get("contents"):
            break
    code = stage.revision.resource_not_found_code
    if answer.result is not None and not answer.result.get("contents"):
        return {"resources.not-found-not-empty": Broken("%s: empty contents" % uri)}
    return {"resources.not-found-32002": refused(answer, code), "resources.not-found-32602": refused(answer, code),
            "resources.not-found-not-empty": KEPT}


@scene("bad-uris", "resources.validate-uris", needs="resources")
def bad_uris(stage: SceneStage) -> Said:
    """A text that is no URI is not read."""
    found: List[Verdict] = []
    for uri in ("", "::", "no uri at all", 7, None):
        params = {} if uri is None else {"uri": uri}
        answer = stage.talk.request(READ_RESOURCE, params)
        empty = answer.result is not None and not answer.result.get("contents")
        found.append(CannotTell("resources/read %s: empty contents" % dumps(params)) if empty else
                     Broken("resources/read %s: %s" % (dumps(params), answer)) if answer.result is not None else
                     KEPT if answer.message is not None else CannotTell(str(answer)))
    return every(found)


@scene("path-traversal", "resources.path-traversal", needs="resources")
def path_traversal(stage: SceneStage) -> Said:
    """A path that leaves the folder of a listed file is not read."""
    files = [str(each.get("uri")) for each in stage.offered.get("resources", ())
             if str(each.get("uri")).startswith("file://")]
    if not files:
        raise NotExamined("no resource has a file:// URI")
    folder = files[0].rpartition("/")[0]
    found: List[Verdict] = []
    for path in ("/../../../../../../etc/passwd", "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
                 "/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd"):
        answer = stage.talk.request(READ_RESOURCE, {"uri": folder + path})
        found.append(Broken("%s%s was read" % (folder, path)) if answer.result is not None else
                     KEPT if answer.message is not None else CannotTell(str(answer)))
    return every(found)


@scene("subscribe", "lifecycle.base-required", needs="resources", only=lambda revision: revision.handshake)
def subscribe(stage: SceneStage) -> Said:
    """A resource can be subscribed to and unsubscribed from, where that is declared."""
    declared = stage.talk.capabilities.get("resources")
    if not isinstance(declared, dict) or declared.get("subscribe") is not True:
        raise NotExamined("the server does not declare resources.subscribe")
    uri = stage.some("resources")[0].get("uri")
    answers = [stage.talk.request(method, {"uri": uri}) for method in (SUBSCRIBE, UNSUBSCRIBE)]
    found: List[Verdict] = []
    for what, answer in zip(("subscribe", "unsubscribe"), answers):
        if UNDECLARED not in str(answer):  # else it has asked us something, which the checker sees
            said = "%s of %s: %s" % (what, uri, answer)
            found.append(KEPT if answer.result is not None else Broken(said) if answer.message else CannotTell(said))
    return every(found)


# Prompts

def _texts(prompt: Dict[str, Any]) -> Dict[str, str]:
    listed = prompt.get("arguments")
    return {str(each.get("name")): "example" for each in (listed if isinstance(listed, list) else ())
            if isinstance(each, dict) and each.get("required") is True}


@scene("get-prompts", provokes="prompts.image-base64 prompts.audio-base64 prompts.embedded-uri", needs="prompts")
def get_prompts(stage: SceneStage) -> Said:
    """Prompts of the list are got with what they need, for the checker to see them."""
    for prompt in stage.some("prompts"):
        stage.talk.request(GET_PROMPT, {"name": prompt.get("name"), "arguments": _texts(prompt)})
    return None


@scene("unknown-prompt", "prompts.invalid-name", needs="prompts")
def unknown_prompt(stage: SceneStage) -> Said:
    """A prompt that there is not is refused with -32602."""
    return refused(stage.talk.request(GET_PROMPT, {"name": NOBODY}), INVALID_PARAMS)


@scene("prompt-arguments", "prompts.missing-arguments", "prompts.validate-arguments", needs="prompts")
def prompt_arguments(stage: SceneStage) -> Said:
    """A prompt without an argument that it needs is refused with -32602."""
    answers = [stage.talk.request(GET_PROMPT, {"name": prompt.get("name"), "arguments": {}})
               for prompt in stage.some("prompts") if _texts(prompt)]
    if not answers:
        raise NotExamined("no prompt needs an argument")
    return {"prompts.missing-arguments": every([refused(answer, INVALID_PARAMS) for answer in answers]),
            "prompts.validate-arguments": every([refused(answer) for answer in answers])}


# Completion

def _references(stage: SceneStage) -> List[Tuple[Dict[str, Any], str]]:
    """Return references that can be completed, each with the name of an argument. Raises `NotExamined`."""
    found: List[Tuple[Dict[str, Any], str]] = []
    for prompt in stage.offered.get("prompts", ()):
        listed = prompt.get("arguments")
        found += [({"type": "ref/prompt", "name": prompt.get("name")}, str(each.get("name")))
                  for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict)]
    if not found:
        raise NotExamined("no prompt has an argument that could be completed")
    return found[:MANY]


@scene("complete", "completion.invalid-prompt", "completion.missing-arguments", "completion.validate-inputs",
       "completion.validate-should", needs="completions")
def complete(stage: SceneStage) -> Said:
    """Completion is answered; an unknown prompt, a missing argument and a reference of no kind are refused."""
    references = _references(stage)
    for reference, name in references:
        stage.talk.request(COMPLETE, {"ref": reference, "argument": {"name": name, "value": ""}})
    reference, argument = references[0][0], {"name": references[0][1], "value": ""}
    unknown = stage.talk.request(COMPLETE, {"ref": {"type": "ref/prompt", "name": NOBODY}, "argument": argument})
    missing = stage.talk.request(COMPLETE, {"ref": reference})
    odd = stage.talk.request(COMPLETE, {"ref": {"type": "ref/examiner"}, "argument": argument})
    worst = every([refused(missing), refused(odd)])
    return {"completion.invalid-prompt": refused(unknown, INVALID_PARAMS),
            "completion.missing-arguments": refused(missing, INVALID_PARAMS),
            "completion.validate-inputs": worst, "completion.validate-should": worst}


@scene("complete-undeclared", "completion.unsupported-error", "completion.capability")
def complete_undeclared(stage: SceneStage) -> Said:
    """Without the capability, completion is refused with -32601; who completes has to declare it.

    Reading: a completion without values, as libraries give by default, shows no support.
    """
    if "completions" in stage.talk.capabilities or "capabilities" not in stage.talk.opened:
        raise NotExamined("the server declares completions, or no capabilities at all")
    try:
        references = _references(stage)
    except NotExamined:
        references = [({"type": "ref/prompt", "name": NOBODY}, "x")]
    for reference, name in references:
        answer = stage.talk.request(COMPLETE, {"ref": reference, "argument": {"name": name, "value": ""}})
        completion = (answer.result or {}).get("completion")
        served = isinstance(completion, dict) and completion.get("values")
        if served or answer.result is None:
            break
    return {"completion.unsupported-error": refused(answer, METHOD_NOT_FOUND),
            "completion.capability": Broken("completion/complete without the capability: %s" % answer) if served else
            KEPT if answer.error is not None else None}


# Logging

@scene("log-levels", "logging.invalid-level", "logging.validate-fields", needs="logging",
       only=lambda revision: revision.handshake)
def log_levels(stage: SceneStage) -> Said:
    """Each level can be set; one that there is not is refused with -32602."""
    for level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"):
        answer = stage.talk.request(SET_LOG_LEVEL, {"level": level})
        if answer.result is None:
            return {"logging.validate-fields": Broken("level %s: %s" % (level, answer))}
    bad = [stage.talk.request(SET_LOG_LEVEL, params) for params in ({"level": "loud"}, {"level": 7}, {})]
    return {"logging.invalid-level": refused(bad[0], INVALID_PARAMS),
            "logging.validate-fields": every([refused(answer) for answer in bad])}
