"""The faults that change what goes out: members of the results of a method, or the whole message."""
from typing import Any, Callable, Dict, Set, Tuple

GONE = object()
"""In the tables: the member is taken away."""

NESTED = {"type": "object", "properties": {"inner": {"type": "object", "properties": {}}}}

RESULTS: Dict[str, Tuple[str, str, Any]] = {
    "init-no-info": ("initialize", "serverInfo", GONE),
    "init-no-capabilities": ("initialize", "capabilities", GONE),
    "init-no-version": ("initialize", "protocolVersion", GONE),
    "completion-numbers": ("completion/complete", "completion.values", [1, 2]),
    "contents-no-uri": ("resources/read", "contents.0.uri", GONE),
    "blob-raw": ("resources/read", "contents.0.blob?", "not base64!"),
    "resource-no-name": ("resources/list", "resources.0.name", GONE),
    "resource-uri-blank": ("resources/list", "resources.3.uri?", "no uri at all"),
    "resource-size-text": ("resources/list", "resources.0.size", "twelve"),
    "priority-seven": ("resources/list", "resources.0.annotations", {"priority": 7}),
    "audience-robot": ("resources/list", "resources.0.annotations", {"audience": ["robot"]}),
    "template-no-uri": ("resources/templates/list", "resourceTemplates.0.uriTemplate", GONE),
    "prompt-role": ("prompts/get", "messages.0.role", "system"),
    "prompt-image-raw": ("prompts/get", "messages.0.content.data?", "not base64!"),
    "prompt-image-type": ("prompts/get", "messages.0.content.mimeType?", "picture"),
    "prompt-resource-uri": ("prompts/get", "messages.0.content.resource.uri?", GONE),
    "prompt-resource-data": ("prompts/get", "messages.0.content.resource.text?", GONE),
    "prompt-resource-type": ("prompts/get", "messages.0.content.resource.mimeType?", GONE),
    "prompt-arguments-map": ("prompts/list", "prompts.0.arguments", {"who": "Whom to greet"}),
    "tool-schema-null": ("tools/list", "tools.2.inputSchema", None),
    "tool-schema-string": ("tools/list", "tools.2.inputSchema", {"type": "string"}),
    "tool-schema-wrong": ("tools/list", "tools.2.inputSchema.properties", {"a": {"type": "strng"}}),
    "tool-name-space": ("tools/list", "tools.3.name", "a picture, or two"),
    "tool-name-long": ("tools/list", "tools.3.name", "n" * 200),
    "tool-name-twice": ("tools/list", "tools.3.name", "echo"),
    "tool-hint-text": ("tools/list", "tools.2.annotations.readOnlyHint", "yes"),
    "icon-no-src": ("tools/list", "tools.0.icons.0.src?", GONE),
    "content-missing": ("tools/call", "content", GONE),
    "content-type": ("tools/call", "content.0.type", "words"),
    "content-image-raw": ("tools/call", "content.0.data?", "not base64!"),
    "is-error-text": ("tools/call", "isError", "no"),
    "no-result-type": ("", "resultType", GONE),
    "no-server-info": ("", "_meta", GONE),
    "discover-no-versions": ("server/discover", "supportedVersions", GONE),
    "cache-negative": ("tools/list", "ttlMs", -1),
}
"""The members of results that a fault changes: the method (any if empty), a path (`?` at its end: if it is there)."""

PARAMS: Dict[str, Tuple[str, str, Any]] = {
    "progress-no-value": ("notifications/progress", "progress", GONE),
    "level-name": ("notifications/message", "level", "warn"),
    "log-no-data": ("notifications/message", "data", GONE),
    "elicit-no-message": ("elicitation/create", "message", GONE),
    "elicit-no-schema": ("elicitation/create", "requestedSchema", GONE),
    "elicit-nested": ("elicitation/create", "requestedSchema", NESTED),
    "sampling-no-limit": ("sampling/createMessage", "maxTokens", GONE),
}
"""The members of params that a fault changes, as in `RESULTS`."""


def change(value: Any, path: str, new: Any) -> None:
    """Set or take away the member at a path; nothing happens where there is no such place."""
    *steps, last = path.rstrip("?").split(".")
    for step in steps:
        if isinstance(value, list) and len(value) > int(step):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return
    if not isinstance(value, dict) or last not in value and (path.endswith("?") or new is GONE):
        return
    if new is GONE:
        del value[last]
    else:
        value[last] = new


def changed(faults: Set[str], table: Dict[str, Tuple[str, str, Any]], method: str, value: Any) -> Any:
    """Make all changes of a table to what belongs to a method."""
    for fault in faults & set(table):
        of, path, new = table[fault]
        if of in ("", method):
            change(value, path, new)
    return value


def request(faults: Set[str], asked: Dict[str, Any]) -> Dict[str, Any]:
    """Return a request of the server to the client, changed."""
    changed(faults, PARAMS, asked["method"], asked.get("params"))
    return asked


def message(faults: Set[str], sent: Dict[str, Any]) -> Dict[str, Any]:
    """Return a request or notification as it goes out."""
    changed(faults, PARAMS, sent["method"], sent.get("params"))
    if "notification-id" in faults and "id" not in sent:
        sent["id"] = None
    if "no-jsonrpc" in faults:
        del sent["jsonrpc"]
    return sent


def response(faults: Set[str], call: Any, sent: Dict[str, Any]) -> Dict[str, Any]:
    """Return an answer as it goes out."""
    method, result = call.message["method"], sent.get("result")
    if result is not None:
        changed(faults, RESULTS, method, result)
        for fault in faults & set(WHOLE):
            of, edit = WHOLE[fault]
            if of in ("", method):
                edit(sent, call)
    if "error" in sent:
        wrong_error(faults, sent)
    if "id-as-text" in faults and isinstance(sent["id"], int):
        sent["id"] = str(sent["id"])
    if "no-jsonrpc" in faults:
        del sent["jsonrpc"]
    return sent


def wrong_error(faults: Set[str], sent: Dict[str, Any]) -> None:
    """Change an error as it goes out."""
    error = sent["error"]
    for fault, member, new in (
            ("error-code-text", "code", str(error.get("code"))), ("error-code-fraction", "code", error["code"] + 0.5),
            ("error-no-message", "message", GONE), ("error-no-code", "code", GONE),
            ("error-essay", "message", "\n".join(["This went wrong, and here is the whole of it."] * 40))):
        if fault in faults:
            change(error, member, new)
    if "error-id-other" in faults and isinstance(sent.get("id"), int):
        sent["id"] += 1000
    if "jsonrpc-1.0" in faults:
        sent["jsonrpc"] = "1.0"


def both(sent: Dict[str, Any], call: Any) -> None:
    """Add an error."""
    sent["error"] = {"code": -32603, "message": "no"}


def without_data(sent: Dict[str, Any], call: Any) -> None:
    """Take text and blob from contents."""
    for contents in sent["result"].get("contents", ()):
        contents.pop("text", None)
        contents.pop("blob", None)


def cursor(new: Any) -> Callable[[Dict[str, Any], Any], None]:
    """Return what writes another cursor."""
    def edit(sent: Dict[str, Any], call: Any) -> None:
        if (new is None) != ("nextCursor" in sent["result"]):
            sent["result"]["nextCursor"] = new
    return edit


def hints(sent: Dict[str, Any], call: Any) -> None:
    """Take the hints for caching away."""
    for name in ("ttlMs", "cacheScope"):
        sent["result"].pop(name, None)


def mixed(sent: Dict[str, Any], call: Any) -> None:
    """Write another scope on the later pages."""
    if call.params.get("cursor"):
        sent["result"]["cacheScope"] = "private"


def emptied(sent: Dict[str, Any], call: Any) -> None:
    """Put an array in the place of the result."""
    sent["result"] = [sent["result"]]


def nothing(sent: Dict[str, Any], call: Any) -> None:
    """Take the result away."""
    del sent["result"]


WHOLE: Dict[str, Tuple[str, Callable[[Dict[str, Any], Any], None]]] = {
    "both-members": ("tools/list", both), "neither-member": ("prompts/get", nothing),
    "result-list": ("resources/templates/list", emptied), "contents-no-data": ("resources/read", without_data),
    "cursor-number": ("tools/list", cursor(4)), "cursor-null": ("tools/list", cursor(None)),
    "cache-no-tools": ("tools/list", hints), "cache-no-read": ("resources/read", hints),
    "cache-no-discover": ("server/discover", hints), "cache-mixed": ("tools/list", mixed),
}
"""The changes of whole answers that have a result, by method."""
