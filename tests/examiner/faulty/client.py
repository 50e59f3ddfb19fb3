"""A client with faults that can be switched on, to find out what the examiner finds.

It opens a connection, goes through all that the server offers, answers what the server asks, and leaves. Usage::

    python3 client.py [--fault NAME]... [--revision REVISION] URL
    python3 client.py [--fault NAME]... [--revision REVISION] COMMAND...

Nothing of the package is used here, so that no misreading is shared.
"""
import re
import sys
import threading
import time
from typing import Any, Dict, List, Optional

from link import FAULTS, META, Pipe, Web, on
from waiting import WAIT, patience

V1, V2, V3, V4, V5 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
INFO = {"name": "faulty-client", "version": "1.0"}
SECONDS = 1.0
"""The time that an answer may take on an idle machine."""


class Client:
    """One connection of a revision."""

    def __init__(self, target: List[str], revision: str) -> None:
        self.revision, self.count, self.lock = revision, 0, threading.Lock()
        self.waiting: Dict[Any, Any] = {}
        self.modern = revision == V5
        self.declared: Dict[str, Any] = {}
        self.last, self.opened, self.gone = 0, False, False
        capabilities: Dict[str, Any] = {"roots": {}, "sampling": {}}
        if revision >= V3:
            capabilities["elicitation"] = {}
        self.capabilities = capabilities
        web = target[-1].startswith(("http://", "https://"))
        self.link: Any = Web(target[-1], self.take) if web else Pipe(target, self.take)

    def take(self, message: Any) -> None:
        """Take a message of the server; None: it is gone, and nothing is waited for any more."""
        if message is None:
            self.gone = True
            for arrived, _ in list(self.waiting.values()):
                arrived.set()
        if not isinstance(message, dict):
            return
        if "method" not in message:
            number = message.get("id")
            waiting = self.waiting.pop(number if not isinstance(number, (dict, list)) else None, None)
            if waiting:
                waiting[1].update(message)
                waiting[0].set()
        elif "id" in message and not self.modern:
            threading.Thread(target=self.serve, args=(message,), daemon=True).start()

    def serve(self, message: Dict[str, Any]) -> None:
        """Answer a request of the server."""
        method, params = message["method"], message.get("params") or {}
        if method == "ping" and on("ping-unanswered"):
            return
        answer: Dict[str, Any] = {"jsonrpc": "2.0", "id": "other" if on("answer-id") else message["id"]}
        refused = self.refused(method, params)
        if refused:
            answer["error"] = {"code": str(refused) if on("answer-code") else refused, "message": "Refused"}
        else:
            answer["result"] = {} if method == "ping" else self.input(method, params)
        if on("answer-both"):
            answer.setdefault("error", {"code": -32603, "message": "no"})
            answer.setdefault("result", {})
        self.link.send(answer)

    def refused(self, method: str, params: Dict[str, Any]) -> Optional[int]:
        """Return the code of the error for a request that is not served, None for one that is."""
        known = {"ping": "", "roots/list": "roots", "sampling/createMessage": "sampling",
                 "elicitation/create": "elicitation"}
        if method not in known or known[method] and known[method] not in self.capabilities:
            return None if on("answer-result") else -32601
        if ("tools" in params or "toolChoice" in params) and not on("sampling-tools"):
            return -32602
        return -32602 if params.get("mode") == "url" and not on("elicit-url") else None

    def input(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """Return the answer to a request of the server."""
        if method == "roots/list":
            return {"roots": [{"uri": "http://home/" if on("roots-web") else "file:///home", "name": "home"}]}
        if method == "sampling/createMessage":
            said = {"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "none"}
            if on("sampling-no-model"):
                del said["model"]
            return said
        if method != "elicitation/create":
            return {}
        if params.get("mode") == "url":
            return {"action": "accept"}
        content = {name: sample_of(schema) for name, schema in params["requestedSchema"]["properties"].items()}
        return {"action": "ok" if on("elicit-action") else "accept", "content": content}

    def meta(self) -> Dict[str, Any]:
        """Return the _meta of a request of 2026-07-28."""
        if not self.modern:
            return {}
        meta: Dict[str, Any] = {META + "protocolVersion": V5, META + "clientInfo": INFO,
                                META + "clientCapabilities": self.capabilities}
        for fault, name in (("meta-no-version", "protocolVersion"), ("meta-no-capabilities", "clientCapabilities"),
                            ("meta-no-info", "clientInfo")):
            if on(fault) and (fault != "meta-no-info" or self.count > 3):
                del meta[META + name]
        return meta

    def send(self, method: str, params: Optional[Dict[str, Any]] = None, tool: Any = None, token: bool = False,
             number: Any = None) -> Any:
        """Send a request; return what its answer is put in."""
        with self.lock:
            self.count += 1
            count = self.count
        if number is None:
            number = 1 if on("id-reused") else count
        if method == "tools/list":
            number = None if on("id-null") else 2.5 if on("id-fraction") else number
        message: Dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
        params, meta = dict(params or {}), self.meta()
        if token:
            meta["progressToken"] = ["a"] if on("token-list") else "same" if on("token-same") else "token-%d" % count
        if meta:
            params["_meta"] = meta
        if params:
            message["params"] = params
        if on("no-jsonrpc") and count > 1:
            del message["jsonrpc"]
        arrived, answer = threading.Event(), {}
        self.waiting[number] = (arrived, answer)
        self.last = number
        self.link.send([message] if on("batch-initialize") and method == "initialize" else message, tool)
        return arrived, answer, number

    def wait(self, sent: Any) -> Dict[str, Any]:
        """Wait for an answer; a request that takes too long is cancelled. For the first one the server has to start."""
        arrived, answer, number = sent
        if not arrived.wait(0 if self.gone else patience(SECONDS) if self.opened else WAIT):
            self.link.cancel(number)
        self.opened = True
        found: Dict[str, Any] = answer
        return found

    def request(self, method: str, params: Optional[Dict[str, Any]] = None, tool: Any = None,
                token: bool = False) -> Dict[str, Any]:
        """Send a request, wait for its answer and return the result ({} if none); rounds are gone through."""
        sent = self.send(method, params, tool, token)
        answer = self.wait(sent)
        if self.modern and V5 in ((answer.get("error") or {}).get("data") or {}).get("supported", ()):
            answer = self.wait(self.send(method, params, tool, token))
        result = answer.get("result") or {}
        for _ in range(4):
            if result.get("resultType") != "input_required":
                break
            if any(self.refused(asked["method"], asked.get("params") or {})
                   for asked in (result.get("inputRequests") or {}).values()):
                return {}
            more = dict(params or {})
            if result.get("requestState") is not None:
                more["requestState"] = result["requestState"] + ("x" if on("state-changed") else "")
            elif on("state-invented"):
                more["requestState"] = "invented"
            if result.get("inputRequests") and not on("round-unanswered"):
                more["inputResponses"] = {
                    key: self.input(asked["method"], asked.get("params") or {})
                    for key, asked in result["inputRequests"].items()}
            number = sent[2] if on("round-same-id") else None
            sent = self.send(method, more, tool, token, number)
            result = self.wait(sent).get("result") or {}
        return dict(result) if result.get("resultType", "complete") in ("complete", "task") else {}

    def note(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification."""
        message: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = params
        if on("initialized-id") and method == "notifications/initialized":
            message["id"] = 9999
        self.link.send(message)

    def open(self) -> bool:
        """Open the connection; return whether it can be used."""
        if self.modern:
            self.declared = self.request("server/discover").get("capabilities") or {}
            return True
        params: Dict[str, Any] = {"protocolVersion": self.revision, "capabilities": self.capabilities,
                                  "clientInfo": INFO}
        for fault, name in (("init-no-version", "protocolVersion"), ("init-no-capabilities", "capabilities"),
                            ("init-no-info", "clientInfo")):
            if on(fault):
                del params[name]
        sent = self.send("initialize", params)
        if on("cancels-initialize"):
            self.link.cancel(sent[2])
        if on("early-list"):
            self.send("tools/list")
        result = self.wait(sent).get("result") or {}
        agreed = result.get("protocolVersion")
        if agreed not in (V1, V2, V3, V4) and not on("version-any"):
            return False
        self.revision, self.declared = str(agreed), result.get("capabilities") or {}
        if isinstance(self.link, Web) and self.revision >= V3:
            self.link.version = self.revision
        if not on("no-initialized"):
            self.note("notifications/initialized")
        self.link.ready()
        return True

    def listed(self, method: str, key: str) -> List[Any]:
        """Return all items of a list."""
        items: List[Any] = []
        params: Dict[str, Any] = {}
        for _ in range(50):
            result = self.request(method, params)
            items += result.get(key) or []
            cursor = result.get("nextCursor")
            if cursor is None:
                break
            params = {"cursor": cursor + "=" if on("cursor-changed") else cursor}
        return items

    def tour(self) -> None:
        """Use all that the server offers."""
        if on("cancels-unissued"):
            self.note("notifications/cancelled", {"requestId": 4711})
        if on("roots-changed"):
            self.note("notifications/roots/list_changed")
        if on("answers-itself"):
            self.link.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        if "tools" in self.declared:
            self.tools()
        if "resources" in self.declared:
            for resource in self.listed("resources/list", "resources")[:2]:
                self.request("resources/read", {"uri": resource["uri"]})
            self.listed("resources/templates/list", "resourceTemplates")
        if "prompts" in self.declared or on("uses-undeclared"):
            for prompt in self.listed("prompts/list", "prompts")[:3]:
                self.request("prompts/get", {"name": prompt["name"], "arguments": {
                    argument["name"]: "x" for argument in prompt.get("arguments", ())}})
        if "logging" in self.declared and not self.modern:
            self.request("logging/setLevel", {"level": "warn" if on("level-name") else "warning"})
        if on("cancels-answered"):
            time.sleep(6)
            self.note("notifications/cancelled", {"requestId": self.last})
        if not self.modern:
            self.request("ping")

    def tools(self) -> None:
        """List and call the tools."""
        found = self.listed("tools/list", "tools")
        if on("token-same") and found:
            for sent in [self.send("tools/call", call_of(found[0]), found[0], True) for _ in range(2)]:
                self.wait(sent)
        tasks = self.declared.get("tasks", {}).get("requests", {}).get("tools", {})
        for tool in found:
            if self.modern and isinstance(self.link, Web) and not can_be_called(tool):
                continue
            params = call_of(tool)
            support = tool.get("execution", {}).get("taskSupport", "forbidden")
            if on("arguments-list"):
                params["arguments"] = ["a"]
            augmented = support != "forbidden" and not on("task-required") or (
                on("task-forbidden") and support == "forbidden") if "call" in tasks else on("task-undeclared")
            if augmented:
                self.task(dict(params, task={"ttl": 60000}), tool)
            elif support != "required" or on("task-required"):
                self.request("tools/call", params, tool, True)

    def task(self, params: Dict[str, Any], tool: Dict[str, Any]) -> None:
        """Call a tool as a task and fetch its result."""
        task = self.request("tools/call", params, tool).get("task") or {}
        for _ in range(20):
            if task.get("status") not in ("working",):
                break
            time.sleep(min(task.get("pollInterval") or 100, 2000) / 1000)
            task = self.request("tasks/get", {"taskId": task["taskId"]})
        if "taskId" in task:
            self.request("tasks/result", {"taskId": task["taskId"]})


def can_be_called(tool: Dict[str, Any]) -> bool:
    """Return whether the annotations of a tool's arguments can be header fields."""
    parts = (tool.get("inputSchema") or {}).get("properties", {}).values()
    named = [part for part in parts if isinstance(part, dict) and "x-mcp-header" in part]
    token = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
    return all(isinstance(part["x-mcp-header"], str) and token.match(part["x-mcp-header"])
               and part.get("type") in ("string", "integer", "boolean") for part in named)


def call_of(tool: Dict[str, Any]) -> Dict[str, Any]:
    """Return the params of a call."""
    schema = tool.get("inputSchema") or {}
    wanted = {name: part for name, part in schema.get("properties", {}).items()
              if name in schema.get("required", ()) or "x-mcp-header" in part}
    return {"name": tool["name"], "arguments": {name: sample_of(part) for name, part in wanted.items()}}


def sample_of(schema: Dict[str, Any]) -> Any:
    """Return a value that fits a schema of the simple kind."""
    for name in ("default", "const"):
        if name in schema:
            return schema[name]
    if schema.get("enum") or schema.get("oneOf"):
        return schema["enum"][0] if schema.get("enum") else schema["oneOf"][0].get("const")
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    if kind == "boolean":
        return True
    if kind == "array":
        return []
    if kind == "object":
        return {name: sample_of(schema.get("properties", {}).get(name, {})) for name in schema.get("required", ())}
    return " padded "


def main(arguments: List[str]) -> None:
    """Run the client."""
    revision = V4
    while arguments and arguments[0].startswith("--"):
        if arguments[0] == "--fault":
            FAULTS.add(arguments[1])
        else:
            revision = arguments[1]
        del arguments[:2]
    client = Client(arguments, revision)
    try:
        if client.open():
            client.tour()
    finally:
        client.link.close()


if __name__ == "__main__":
    main(sys.argv[1:])
