"""What the faulty server answers in all five revisions, however messages travel: `respond` answers a request."""
import base64
import copy
from typing import Any, Callable, Dict, List, Optional

import edits
import offers
import work
from calls import FAULTS, INFO, LEVELS, META, V2, V4, V5, Call, InputRequired, Refusal, Silence, on, sign


def respond(call: Call) -> Optional[Dict[str, Any]]:
    """Return the answer to a request, None for none."""
    message: Dict[str, Any] = {"jsonrpc": "2.0", "id": call.message["id"]}
    try:
        if call.modern:
            check_envelope(call)
        message["result"] = finish(call, result_of(call))
    except InputRequired as required:
        message["result"] = finish(call, required.result)
    except Refusal as refusal:
        message["error"], call.status = dict(refusal.error), refusal.status
    except Silence:
        return None
    if call.cancelled.is_set() and not on("cancel-answered"):
        return None
    return edits.response(FAULTS, call, message)


def result_of(call: Call) -> Dict[str, Any]:
    """Return the result of a request by its method."""
    method = call.message["method"]
    handler = METHODS.get(method)
    known = handler and (method in SHARED or method in (MODERN_ONLY if call.modern else LEGACY_ONLY))
    if method.startswith("tasks/") and call.revision != V4 or method == "server/discover" and on("no-discover"):
        known = False
    if method == "tasks/list" and call.session.transport != "stdio":
        known = False
    for feature in ("tools", "prompts", "resources"):
        if method == feature + "/list" and on(feature + "-unserved"):
            known = False
    if not known or handler is None:
        if on("unknown-method-result"):
            return {}
        if on("unknown-method-silent"):
            raise Silence()
        raise Refusal(-32600 if on("unknown-method-code") else -32601, "Method not found: %s" % method,
                      status=200 if on("http-unknown-200") else 404)
    return handler(call)


CACHED = ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
          "resources/read")


def finish(call: Call, result: Any) -> Any:
    """Return a result with the members that its revision wants."""
    if not call.modern:
        return result
    result.setdefault("resultType", "complete")
    if call.message["method"] in CACHED and result["resultType"] == "complete":
        result.update(ttlMs=60000, cacheScope="public")
    result.setdefault("_meta", {})[META + "serverInfo"] = INFO
    return result


def check_envelope(call: Call) -> None:
    """Refuse a request of 2026-07-28 whose _meta is not right."""
    meta = call.params.get("_meta") or {}
    code = -32600 if on("meta-code") else -32602
    status = 200 if on("http-meta-200") else 400
    version, capabilities = meta.get(META + "protocolVersion"), meta.get(META + "clientCapabilities")
    if not isinstance(version, str):
        raise Refusal(code, "The protocol version is missing in _meta", status=status)
    if version != V5 and not on("version-accepted"):
        data = None if on("version-no-list") else {"supported": [V5] + call.session.versions, "requested": version}
        raise Refusal(-32602 if on("version-code") else -32022, "Unsupported protocol version", data,
                      200 if on("http-version-200") else 400)
    if not isinstance(capabilities, dict) and not on("meta-accepted"):
        raise Refusal(code, "The client's capabilities are missing in _meta", status=status)
    if on("capabilities-kept"):
        call.session.capabilities.update(call.capabilities)
        call.capabilities = call.session.capabilities
    level = meta.get(META + "logLevel")
    if level is not None and level not in LEVELS and not on("log-level-meta"):
        raise Refusal(-32602, "Invalid log level")


def capabilities_of(call: Call) -> Dict[str, Any]:
    """Return what the server declares."""
    declared: Dict[str, Any] = {
        "tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True}, "logging": {}}
    if call.revision >= V2:
        declared["completions"] = {}
    if call.revision == V4:
        declared["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
        if call.session.transport == "stdio":
            declared["tasks"]["list"] = {}
    for name in list(declared):
        if on(name + "-undeclared"):
            del declared[name]
    return declared


def initialize(call: Call) -> Dict[str, Any]:
    """Agree on a revision."""
    asked, versions = call.params.get("protocolVersion"), call.session.versions
    if not isinstance(asked, str):
        raise Refusal(-32602, "protocolVersion is missing")
    if asked not in versions and on("init-unknown-error"):
        raise Refusal(-32602, "Unsupported protocol version", {"supported": versions, "requested": asked})
    agreed = asked if asked in versions else versions[-1] if on("init-oldest") else versions[0]
    call.session.revision = call.revision = agreed
    call.session.capabilities = call.capabilities = call.params.get("capabilities") or {}
    result = {"protocolVersion": asked if on("init-echoes") else agreed, "capabilities": capabilities_of(call),
              "serverInfo": INFO}
    return result


def discover(call: Call) -> Dict[str, Any]:
    """Say what is supported."""
    return {"supportedVersions": [V5] + call.session.versions, "capabilities": capabilities_of(call)}


def ping(call: Call) -> Dict[str, Any]:
    """Answer a ping."""
    if on("ping-silent"):
        raise Silence()
    if on("ping-unknown"):
        raise Refusal(-32601, "Method not found: ping")
    return {"pong": True} if on("ping-talkative") else {}


def page(call: Call, key: str, items: List[Any]) -> Dict[str, Any]:
    """Return four items of a list and the cursor of the next ones."""
    start, cursor = 0, call.params.get("cursor")
    if cursor is not None:
        try:
            kind, _, number = base64.b64decode(cursor.encode("ascii"), validate=True).decode("ascii").partition(":")
            if kind != key or not 0 < int(number) < len(items) or on("cursor-once") and cursor in call.session.cursors:
                raise ValueError(cursor)
            start = int(number)
            call.session.cursors.add(cursor)
        except (AttributeError, ValueError):
            if not on("cursor-accepted"):
                raise Refusal(-32603 if on("cursor-internal") else -32602, "Invalid cursor") from None
    result: Dict[str, Any] = {key: copy.deepcopy(items[start:start + 4])}
    if start + 4 < len(items):
        result["nextCursor"] = base64.b64encode(("%s:%d" % (key, start + 4)).encode()).decode()
    return result


def list_tools(call: Call) -> Dict[str, Any]:
    """List the tools."""
    items = offers.tools(call.revision)
    if on("tools-shuffled"):
        call.session.shuffled += call.params.get("cursor") is None
        items = items[call.session.shuffled % len(items):] + items[:call.session.shuffled % len(items)]
    if on("tools-by-connection") and call.session.called:
        del items[0]
    return page(call, "tools", items)


def list_prompts(call: Call) -> Dict[str, Any]:
    """List the prompts."""
    if on("round-on-list"):
        raise InputRequired({"resultType": "input_required", "requestState": sign(["prompts/list"])})
    return page(call, "prompts", offers.prompts(call.revision))


def read(call: Call) -> Dict[str, Any]:
    """Read a resource."""
    uri = call.params.get("uri")
    if not isinstance(uri, str):
        raise Refusal(-32602, "uri is missing")
    found = offers.contents(uri)
    if found is None:
        if on("missing-empty"):
            return {"contents": []}
        code = -32602 if call.modern and not on("missing-legacy-code") else -32002
        raise Refusal(-32603 if on("missing-internal") else code, "Resource not found", {"uri": uri})
    return {"contents": [found]}


def subscribe(call: Call) -> Dict[str, Any]:
    """Subscribe to a resource or leave it."""
    uri = call.params.get("uri")
    if not isinstance(uri, str):
        raise Refusal(-32602, "uri is missing")
    if call.message["method"].endswith("unsubscribe"):
        call.session.subscribed.discard(uri)
    else:
        if offers.contents(uri) is None:
            raise Refusal(-32002, "Resource not found", {"uri": uri})
        call.session.subscribed.add(uri)
    return {}


def get_prompt(call: Call) -> Dict[str, Any]:
    """Give a prompt's messages."""
    arguments = call.params.get("arguments") or {}
    found = [prompt for prompt in offers.prompts(call.revision) if prompt["name"] == call.params.get("name")]
    if not found:
        raise Refusal(-32603 if on("prompt-unknown") else -32602, "Unknown prompt")
    for argument in found[0].get("arguments", ()):
        if argument.get("required") and argument["name"] not in arguments and not on("prompt-arguments"):
            raise Refusal(-32602, "Missing argument: %s" % argument["name"])
    if not all(isinstance(value, str) for value in arguments.values()):
        raise Refusal(-32602, "Arguments are text")
    return {"messages": offers.messages(found[0]["name"], arguments)}


def complete(call: Call) -> Dict[str, Any]:
    """Complete an argument."""
    ref, argument = call.params.get("ref") or {}, call.params.get("argument") or {}
    if not on("completion-no-argument") and not (
            isinstance(argument.get("name"), str) and isinstance(argument.get("value"), str)):
        raise Refusal(-32602, "The argument is missing")
    if ref.get("type") == "ref/prompt":
        known = ref.get("name") in [prompt["name"] for prompt in offers.prompts(call.revision)]
    else:
        known = ref.get("uri") in [template["uriTemplate"] for template in offers.TEMPLATES]
    if not known and not on("completion-unknown"):
        raise Refusal(-32602, "Unknown reference")
    if argument.get("name") == "id":
        return {"completion": {"values": ["1", "2", "3"], "total": 3, "hasMore": False}}
    if argument.get("name") != "colour" and not on("completion-101"):
        return {"completion": {"values": [], "total": 0, "hasMore": False}}
    begun = "" if on("completion-101") else argument.get("value", "")
    values = [colour for colour in offers.PALETTE if colour.startswith(begun)]
    shown = values[:101] if on("completion-101") else values[:100]
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


def set_level(call: Call) -> Dict[str, Any]:
    """Set the log level."""
    level = call.params.get("level")
    if level not in LEVELS and not on("level-accepted"):
        raise Refusal(-32602, "Invalid log level")
    call.session.level = str(level)
    return {}


SHARED = ("tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
          "prompts/get", "completion/complete")
LEGACY_ONLY = ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/get",
               "tasks/result", "tasks/list", "tasks/cancel")
MODERN_ONLY = ("server/discover", "subscriptions/listen")
METHODS: Dict[str, Callable[[Call], Any]] = {
    "initialize": initialize, "ping": ping, "server/discover": discover,
    "tools/list": list_tools, "tools/call": work.call_tool,
    "resources/list": lambda call: page(call, "resources", offers.resources(call.revision)),
    "resources/templates/list": lambda call: page(call, "resourceTemplates", list(offers.TEMPLATES)),
    "resources/read": read, "resources/subscribe": subscribe, "resources/unsubscribe": subscribe,
    "prompts/list": list_prompts, "prompts/get": get_prompt, "completion/complete": complete,
    "logging/setLevel": set_level, "subscriptions/listen": work.listen,
    "tasks/get": work.task_get, "tasks/result": work.task_result, "tasks/list": work.task_list,
    "tasks/cancel": work.task_cancel,
}
