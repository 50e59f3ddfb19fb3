"""What takes time on the faulty server: the tools, the tasks of 2025-11-25, and the streams of subscriptions."""
import threading
import uuid
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List

import offers
from calls import META, V4, Call, Refusal, Silence, need, on


def text(words: str) -> Dict[str, Any]:
    """Return a tool's result of one text."""
    return {"content": [{"type": "text", "text": words}]}


def add(call: Call, arguments: Dict[str, Any]) -> Dict[str, Any]:
    """Add two integers."""
    total = int(arguments["a"]) + int(arguments["b"])
    result = text('{"sum": %d}' % total)
    if call.revision >= offers.V3:
        result["structuredContent"] = {"sum": str(total) if on("structured-unfit") else total}
        if on("structured-missing"):
            del result["structuredContent"]
        if on("structured-no-text"):
            result["content"] = []
    return result


def count(call: Call, arguments: Dict[str, Any]) -> Dict[str, Any]:
    """Count, with progress and log messages."""
    steps = arguments.get("steps", 3)
    for number in range(1, int(steps) + 1):
        call.progress(1 if on("progress-stuck") else number, int(steps))
        call.log("info", {"step": number})
    return text("counted to %d" % steps)


def wait(call: Call, arguments: Dict[str, Any]) -> Dict[str, Any]:
    """Wait, unless the call is cancelled."""
    heeded, seconds = (threading.Event(), 0.5) if on("cancel-answered") else (call.cancelled, 0.2)
    heeded.wait(arguments.get("seconds", seconds))
    return text("waited")


CHANGES = {"toolsListChanged": "tools", "promptsListChanged": "prompts", "resourcesListChanged": "resources"}


def announce(call: Call, _: Dict[str, Any]) -> Dict[str, Any]:
    """Say that all lists changed, and each resource that somebody subscribed to."""
    if call.modern:
        for listener in list(call.session.listeners.values()):
            notify(listener)
        return text("announced")
    for kind in CHANGES.values():
        call.session.aside({"jsonrpc": "2.0", "method": "notifications/%s/list_changed" % kind})
    for uri in sorted(call.session.subscribed):
        call.session.aside({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
    return text("announced")


def notify(listener: Call) -> None:
    """Send a listener what it asked for."""
    meta = {} if on("listen-no-id") else {"_meta": {META + "subscriptionId": listener.message["id"]}}
    for member, kind in CHANGES.items():
        if listener.params["notifications"].get(member) or on("listen-all"):
            listener.note("notifications/%s/list_changed" % kind, dict(meta))
    for uri in listener.params["notifications"].get("resourceSubscriptions") or ():
        listener.note("notifications/resources/updated", dict(meta, uri=uri))


def listen(call: Call) -> Dict[str, Any]:
    """Keep a subscription until it is cancelled; its result says that the server ended it."""
    wanted = call.params.get("notifications")
    if not isinstance(wanted, dict):
        raise Refusal(-32602, "notifications is missing")
    agreed = {name: wanted[name] for name in list(CHANGES) + ["resourceSubscriptions"] if wanted.get(name)}
    meta = {META + "subscriptionId": call.message["id"]}
    if on("listen-late-ack"):
        notify(call)
    if not on("listen-no-ack"):
        call.note("notifications/subscriptions/acknowledged", {"_meta": dict(meta), "notifications": agreed})
    call.session.listeners[id(call)] = call
    call.cancelled.wait()
    del call.session.listeners[id(call)]
    if not call.closing:
        raise Silence()
    call.note("notifications/cancelled", {"requestId": call.message["id"], "_meta": dict(meta)})
    call.cancelled.clear()
    return {"_meta": meta}


def ask(call: Call, _: Dict[str, Any]) -> Dict[str, Any]:
    """Elicit a name and a colour."""
    if call.revision < offers.V3:
        return dict(text("nobody can be asked in this revision"), isError=True)

    def form(name: str) -> Dict[str, Any]:
        return {"method": "elicitation/create", "params": {
            "message": "Your %s?" % name, "requestedSchema": offers.shape([name], **{name: {"type": "string"}})}}
    given = need(call, {name: form(name) for name in ("name", "colour")})
    return text(", ".join(sorted("%s: %s" % (name, answer.get("action")) for name, answer in given.items())))


def sample(call: Call, _: Dict[str, Any]) -> Dict[str, Any]:
    """Ask the client's model."""
    message = {"role": "user", "content": {"type": "text", "text": "Hello"}}
    params: Dict[str, Any] = {"messages": [message], "maxTokens": 20}
    if on("sampling-tools"):
        params["tools"] = [{"name": "echo", "inputSchema": {"type": "object"}}]
    given = need(call, {"word": {"method": "sampling/createMessage", "params": params}})
    return text("the model %s" % given["word"].get("model"))


def roots(call: Call, _: Dict[str, Any]) -> Dict[str, Any]:
    """Ask for the client's roots."""
    given = need(call, {"roots": {"method": "roots/list", "params": {}}})
    return text("%d roots" % len(given["roots"].get("roots", ())))


TOOLS: Dict[str, Callable[[Call, Dict[str, Any]], Dict[str, Any]]] = {
    "echo": lambda call, arguments: text(str(arguments["text"])),
    "add": add, "count": count, "wait": wait, "announce": announce, "ask": ask, "sample": sample, "roots": roots,
    "picture": lambda call, arguments: {
        "content": [{"type": "image", "data": offers.PICTURE, "mimeType": "image/png"}]},
    "embed": lambda call, arguments: {"content": [{"type": "resource", "resource": offers.contents("test://text")}]},
    "link": lambda call, arguments: {"content": [{"type": "resource_link", "uri": "test://text", "name": "text"}]},
    "fail": lambda call, arguments: dict(text("it fails always"), isError=True),
    "region": lambda call, arguments: text("%s, %s" % (arguments["region"], arguments.get("times"))),
    "job": wait, "errand": wait,
}


def call_tool(call: Call) -> Dict[str, Any]:
    """Call a tool, as a task if that is asked for."""
    name, arguments = call.params.get("name"), call.params.get("arguments")
    arguments = {} if arguments is None else arguments
    found = [tool for tool in offers.tools(call.revision) if tool["name"] == name]
    if not found and on("tool-unknown-result"):
        return text("done")
    if not found or not isinstance(arguments, dict):
        raise Refusal(-32050 if on("code-undefined") else -32005 if on("code-legacy") else -32602, "Unknown tool")
    fault = offers.fault_of(found[0]["inputSchema"], arguments)
    if fault and not on("arguments-unchecked"):
        if call.revision < V4 or on("tool-fails-as-error"):
            raise Refusal(-32603 if on("tool-fails-as-error") else -32602, "Invalid arguments: " + fault)
        return dict(text("Invalid arguments: " + fault), isError=True)
    support = found[0].get("execution", {}).get("taskSupport", "forbidden")
    augmented = call.revision == V4 and isinstance(call.params.get("task"), dict)
    if augmented and support == "forbidden" or support == "required" and not augmented and not on("task-required"):
        raise Refusal(-32601, "This tool is called %s task" % ("without a" if augmented else "as a"))
    call.session.called = True
    if augmented and not on("task-ignored"):
        return create_task(call, str(name), arguments)
    try:
        result = TOOLS[str(name)](call, arguments)
    except (KeyError, TypeError, ValueError) as error:
        result = dict(text("done" if on("arguments-unchecked") else str(error)), isError=not on("arguments-unchecked"))
        if name == "add" and on("arguments-unchecked"):
            result.update(text('{"sum": 0}'), structuredContent={"sum": 0})
    except Refusal as refusal:
        if refusal.error["code"]:
            raise
        result = dict(text("the client cannot do that"), isError=True)
    return result


# Tasks of 2025-11-25

def now() -> str:
    """Return the time as ISO 8601 has it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def create_task(call: Call, name: str, arguments: Dict[str, Any]) -> Dict[str, Any]:
    """Start a task."""
    with call.session.lock:
        taken = len(call.session.tasks)
    ttl = call.params["task"].get("ttl", 60000)
    task = {"taskId": taken if on("task-id-number") else uuid.uuid4().hex, "status": "working", "createdAt": now(),
            "lastUpdatedAt": now(), "ttl": ttl, "pollInterval": 100}
    entry = {"task": task, "call": call, "done": threading.Event(), "result": None}
    call.session.tasks[task["taskId"]] = entry

    def run() -> None:
        call.cancelled.wait(min(arguments.get("seconds", 0.3), 60))
        with call.session.lock:
            if task["status"] == "working":
                task.update(status="completed", lastUpdatedAt=now())
            entry["result"] = TOOLS[name](call, {"seconds": 0})
        entry["done"].set()
    shown = dict(task, status="completed") if on("task-completed-first") else dict(task)
    threading.Thread(target=run, daemon=True).start()
    if on("task-no-created"):
        del shown["createdAt"]
    return {"task": shown}


def task_of(call: Call) -> Dict[str, Any]:
    """Return the task that a request names."""
    entry = call.session.tasks.get(call.params.get("taskId"))
    if entry is None:
        raise Refusal(-32603 if on("task-unknown") else -32602, "Unknown task")
    found: Dict[str, Any] = entry
    return found


def shown(task: Dict[str, Any]) -> Dict[str, Any]:
    """Return a task as answers show it."""
    task = dict(task)
    if on("task-no-created"):
        del task["createdAt"]
    return task


def task_get(call: Call) -> Dict[str, Any]:
    """Say how a task stands."""
    found = shown(task_of(call)["task"])
    if on("task-no-ttl"):
        del found["ttl"]
    return found


def task_result(call: Call) -> Dict[str, Any]:
    """Wait for a task and give its result."""
    entry = task_of(call)
    while not on("task-result-early") and not entry["done"].wait(0.1):
        if call.cancelled.is_set():
            raise Silence()
    if entry["task"]["status"] == "cancelled":
        raise Refusal(-32603, "The task was cancelled")
    result = dict(entry["result"] or text("not yet"))
    if not on("task-result-no-meta"):
        result["_meta"] = {META + "related-task": {"taskId": entry["task"]["taskId"]}}
    return result


def task_list(call: Call) -> Dict[str, Any]:
    """List the tasks, all on one page."""
    if call.params.get("cursor") is not None:
        raise Refusal(-32602, "Invalid cursor")
    listed: List[Dict[str, Any]] = [shown(entry["task"]) for entry in call.session.tasks.values()]
    return {"tasks": listed}


def task_cancel(call: Call) -> Dict[str, Any]:
    """Cancel a task."""
    entry = task_of(call)
    with call.session.lock:
        if entry["task"]["status"] != "working":
            if not on("task-cancel-twice"):
                raise Refusal(-32602, "The task has ended: %s" % entry["task"]["status"])
        else:
            entry["task"].update(status="cancelled", lastUpdatedAt=now())
    entry["call"].cancelled.set()
    return dict(shown(entry["task"]), status="working") if on("task-cancel-works") else shown(entry["task"])
