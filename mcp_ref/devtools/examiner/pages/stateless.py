"""Scenes about requests that stand alone [2026-07-28 basic/index §_meta], [2026-07-28 basic/versioning],
[2026-07-28 server/discover], [2026-07-28 basic/patterns/subscriptions].
"""

from typing import Any, Dict, List

from ....errors import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION
from ....methods import CALL_TOOL, DISCOVER, LISTEN, PING, SET_LOG_LEVEL
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, refused, scene
from ..stage import LISTS, MANY, SceneStage
from ..talk import CAPABILITIES, INFO, LOG_LEVEL, VERSION
from ..wire import as_bytes
from .frames import survived


@scene("discover", "discover.server-must", provokes="cache.hints-discover tools.capability "
       "resources.capability prompts.capability-discover meta.server-info jsonrpc.result-type-required")
def discover(stage: SceneStage) -> Said:
    """The first request of a connection is `server/discover`, and it is answered."""
    with stage.fresh(opened=False) as talk:
        answer = talk.request(DISCOVER)
        return KEPT if answer.result is not None else Broken("server/discover: %s" % answer)


@scene("first-request", "stateless.no-prior-requests")
def first_request(stage: SceneStage) -> Said:
    """Every list is answered as the first request of a connection."""
    found: List[Verdict] = []
    for method, _, capability in LISTS:
        if capability in stage.talk.capabilities:
            with stage.fresh(opened=False) as talk:
                answer = talk.request(method)
                found.append(KEPT if answer.result is not None else Broken(
                    "%s as the first request: %s" % (method, answer)))
    if not found:
        raise NotExamined("the server has no lists")
    return every(found)


@scene("unknown-version", "version.unsupported-error",
       provokes="http.header-version-unsupported-400 errors.reserved-range-meaning")
def unknown_version(stage: SceneStage) -> Said:
    """A version that nobody knows is refused with -32022 and the versions that the server speaks."""
    found: List[Verdict] = []
    for version in ("1999-01-01", "2099-01-01"):
        talk = stage.talk
        message = talk.message(DISCOVER, id=talk.next_id, meta={VERSION: version})
        answer = talk.say(message, fields={"MCP-Protocol-Version": version})
        verdict = refused(answer, UNSUPPORTED_PROTOCOL_VERSION)
        data = (answer.error or {}).get("data")
        spoken = data.get("supported") if isinstance(data, dict) else None
        if verdict is KEPT and not (isinstance(spoken, list) and stage.revision.name in spoken):
            verdict = Broken("version %s: error.data.supported is %r" % (version, spoken))
        found.append(verdict)
    return every(found)


@scene("missing-meta", "meta.missing-required-rejected", provokes="meta.missing-required-http-400")
def missing_meta(stage: SceneStage) -> Said:
    """A request without a member of `_meta` that it needs is refused with -32602, and on HTTP with 400."""
    found: List[Verdict] = []
    talk = stage.talk
    for name in (VERSION, CAPABILITIES):
        answer = talk.say(talk.message(DISCOVER, id=talk.next_id, meta={name: None}))
        if name == VERSION and answer.error is not None and answer.code != INVALID_PARAMS:
            # Reading: without a version nothing says that the request is of this revision, so another refusal is one.
            found.append(CannotTell("without %s: %s" % (name, answer)))
            continue
        found.append(refused(answer, INVALID_PARAMS))
    found.append(survived(talk, "a request without _meta"))
    return every(found)


@scene("odd-meta", "meta.missing-required-rejected", "meta.reserved-no-assumptions",
       only=lambda revision: revision.stateless)
def odd_meta(stage: SceneStage) -> Said:
    """Members of `_meta` of a wrong type are refused; keys that nobody knows are not."""
    found: List[Verdict] = []
    talk = stage.talk
    for name, value in ((CAPABILITIES, []), (CAPABILITIES, "all"), (INFO, 7)):
        answer = talk.say(talk.message(DISCOVER, id=talk.next_id, meta={name: value}))
        if answer.result is not None:
            found.append(CannotTell("%s as %r gets a result" % (name, value)))
        else:
            found.append(refused(answer))
    answer = talk.say(talk.message(DISCOVER, id=talk.next_id, meta={
        "io.modelcontextprotocol/examiner-unknown": {"x": 1}, "example.com/odd": None, "example.com/unknown": [1]}))
    return {"meta.missing-required-rejected": every(found),
            "meta.reserved-no-assumptions": KEPT if answer.result is not None else Broken(
                "an unknown key in _meta: %s" % answer)}


@scene("log-level-meta", "logging.invalid-level-meta", needs="logging")
def log_level_meta(stage: SceneStage) -> Said:
    """A level that there is not is refused with -32602."""
    talk = stage.talk
    return refused(talk.say(talk.message(DISCOVER, id=talk.next_id, meta={LOG_LEVEL: "loud"})), INVALID_PARAMS)


@scene("removed-methods", "version.base-required", provokes="http.method-not-found-404")
def removed_methods(stage: SceneStage) -> Said:
    """Methods that this revision has not are refused."""
    found: List[Verdict] = []
    for method, params in ((PING, {}), (SET_LOG_LEVEL, {"level": "debug"}), ("roots/list", {})):
        answer = stage.talk.request(method, params)
        found.append(refused(answer) if answer.result is None else Broken("%s: %s" % (method, answer)))
    return every(found)


@scene("listen", "version.base-required", "subscribe.ack-first",
       provokes="subscribe.nothing-before-ack subscribe.id-in-notifications "
       "subscribe.only-requested", only=lambda revision: revision.stateless)
def listen(stage: SceneStage) -> Said:
    """Listening to each kind of change is acknowledged."""
    declared = stage.talk.capabilities
    kinds: Dict[str, bool] = {"%sListChanged" % name: True for name in ("tools", "prompts", "resources")
                              if isinstance(declared.get(name), dict) and declared[name].get("listChanged") is True}
    if not kinds:
        raise NotExamined("the server declares no listChanged")
    with stage.fresh() as talk:
        id = talk.next_id
        message = talk.message(LISTEN, {"notifications": kinds}, id=id)
        if talk.wire.is_web:
            first = talk.web.send("POST", talk.header_fields(message, {}), as_bytes(message), stage.patience,
                                  lambda each: isinstance(each, dict)).message
        else:
            since = len(talk.pipe.messages)
            talk.say(message, seconds=0)
            first = talk.pipe.wait(lambda each: isinstance(each, dict), stage.patience, since)
        if first is None:
            return {"subscribe.ack-first": Broken("subscriptions/listen was not acknowledged")}
        return {"version.base-required": Broken("subscriptions/listen: %s" % (first,)) if "error" in first else KEPT}


@scene("undeclared-capability", "meta.undeclared-capabilities", "stateless.no-inferred-capabilities",
       "meta.capability-missing-error", provokes="meta.capability-missing-http-400 mrtr.declared-capabilities-only",
       needs="tools")
def undeclared_capability(stage: SceneStage) -> Said:
    """A tool is not answered with a question whose capability another request has declared, and this one has not; the
    error in its place is -32021."""
    tools = stage.callable(most=MANY)
    full: Dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
    talk = stage.talk
    talk.request(DISCOVER, meta={CAPABILITIES: full})
    for tool, arguments in tools:
        params = {"name": tool["name"], "arguments": arguments}
        answer = talk.request(CALL_TOOL, params)
        asked = (answer.result or {}).get("inputRequests")
        if asked:
            said = Broken("tool %s asks for %s" % (tool["name"], ", ".join(map(str, asked))))
            return {"meta.undeclared-capabilities": said, "stateless.no-inferred-capabilities": said}
        if answer.error is not None and answer.code != MISSING_CLIENT_CAPABILITY:
            same = talk.request(CALL_TOOL, params, {CAPABILITIES: full})
            if (same.result or {}).get("inputRequests"):
                return {"meta.capability-missing-error": Broken("tool %s, which asks a client that can be asked: %s" % (
                    tool["name"], answer))}
    return {"meta.undeclared-capabilities": KEPT, "stateless.no-inferred-capabilities": KEPT}
