"""The parts of the faulty server that all of it needs: sessions, requests on their way, refusals, input of the client.

Each fault is either asked for where the code would do right (`on`), or is an edit of what goes out (`edits.py`).
"""
import base64
import hashlib
import hmac
import json
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Set

import edits

V1, V2, V3, V4, V5 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
VERSIONS = [V4, V3, V2, V1]
META = "io.modelcontextprotocol/"
INFO = {"name": "faulty", "version": "1.0"}
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
KEY = os.urandom(16)
FAULTS: Set[str] = set()


def on(fault: str) -> bool:
    """Return whether a fault is switched on."""
    return fault in FAULTS


class Refusal(Exception):
    """A JSON-RPC error as the answer."""

    def __init__(self, code: int, message: str, data: Any = None, status: int = 200) -> None:
        super().__init__(message)
        self.error: Dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data
        self.status = status


class InputRequired(Exception):
    """A result that asks the client for input."""

    def __init__(self, result: Dict[str, Any]) -> None:
        super().__init__()
        self.result = result


class Silence(Exception):
    """No answer at all."""


class Session:
    """What lasts between the messages of one legacy client, or of one process."""

    def __init__(self, transport: str) -> None:
        self.transport, self.versions = transport, VERSIONS if transport == "stdio" else VERSIONS[:3]
        self.revision: Optional[str] = None
        self.capabilities: Dict[str, Any] = {}
        self.level = "info"
        self.subscribed: Set[str] = set()
        self.asked: Dict[Any, Any] = {}
        self.count = 0
        self.running: Dict[Any, "Call"] = {}
        self.listeners: Dict[Any, "Call"] = {}
        self.tasks: Dict[Any, Dict[str, Any]] = {}
        self.cursors: Set[str] = set()
        self.called = False
        self.shuffled = 0
        self.aside: Callable[[Dict[str, Any]], None] = lambda message: None
        self.lock = threading.Lock()

    def ask(self, call: "Call", method: str, params: Dict[str, Any]) -> Any:
        """Send a request to the client, wait for its answer and return the result; Refusal if it refuses."""
        with self.lock:
            self.count += 1
            number: Any = self.count
        number = None if on("request-id-null") else 1 if on("request-id-reused") else number
        number = number + 0.5 if on("request-id-fraction") else number
        arrived, answer = threading.Event(), {}
        self.asked[number] = (arrived, answer)
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        if params or method != "roots/list":
            message["params"] = params
        call.send(message)
        until = time.time() + 60
        while not arrived.wait(0.2):
            if call.cancelled.is_set() or time.time() > until:
                raise Silence()
        if "error" in answer:
            raise Refusal(-32603, "The client refused: %s" % answer["error"].get("message"))
        return answer.get("result")

    def answered(self, message: Dict[str, Any]) -> None:
        """Take a client's answer."""
        waiting = self.asked.pop(message.get("id"), None)
        if waiting:
            waiting[1].update(message)
            waiting[0].set()


class Call:
    """One request: its message, session and revision, where messages on its way go, and whether it is cancelled."""

    def __init__(self, session: Session, message: Dict[str, Any], emit: Callable[[Dict[str, Any]], None],
                 modern: bool = False) -> None:
        self.session, self.message, self.emit = session, message, emit
        self.params: Dict[str, Any] = message.get("params") or {}
        meta = self.params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        self.modern = modern or META + "protocolVersion" in meta or (
            session.revision is None and message["method"] not in ("initialize", "ping"))
        self.revision: str = V5 if self.modern else session.revision or V4
        self.capabilities = meta.get(META + "clientCapabilities") or {} if self.modern else session.capabilities
        self.token = meta.get("progressToken")
        self.level: Optional[str] = meta.get(META + "logLevel") if self.modern else session.level
        self.cancelled, self.closing, self.status = threading.Event(), False, 200

    def send(self, message: Dict[str, Any]) -> None:
        """Send a message that belongs to this request."""
        self.emit(edits.message(FAULTS, message))

    def note(self, method: str, params: Dict[str, Any]) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def log(self, level: str, data: Any) -> None:
        """Send a log message if the client wants it."""
        wanted = self.level or ("info" if on("log-unasked") else None)
        if wanted is not None and (wanted not in LEVELS or LEVELS.index(level) >= LEVELS.index(wanted)):
            self.note("notifications/message", {"level": level, "logger": "faulty", "data": data})

    def progress(self, value: int, total: int) -> None:
        """Send progress if the client asked for it."""
        token = "nobody" if on("progress-foreign") and self.token is None else self.token
        if token is not None:
            if on("progress-foreign"):
                token = "nobody"
            self.note("notifications/progress", {"progressToken": token, "progress": value, "total": total})


def sign(parts: List[Any]) -> str:
    """Return a state that shows whether it was changed."""
    body = base64.urlsafe_b64encode(json.dumps(parts + [time.time() + 300]).encode()).decode()
    return body + "." + hmac.new(KEY, body.encode(), hashlib.sha256).hexdigest()


def check_state(call: Call, parts: List[Any]) -> None:
    """Refuse a state that is not this server's, is of another request, or is old."""
    state = call.params.get("requestState")
    if state is None or on("state-forged"):
        return
    body, _, mark = str(state).partition(".")
    if not hmac.compare_digest(hmac.new(KEY, body.encode(), hashlib.sha256).hexdigest(), mark):
        raise Refusal(-32602, "The request state is not of this server")
    *said, until = json.loads(base64.urlsafe_b64decode(body))
    if said != json.loads(json.dumps(parts)) or until < time.time():
        raise Refusal(-32602, "The request state is of another request")


DECLARED = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def need(call: Call, requests: Dict[str, Any]) -> Dict[str, Any]:
    """Ask the client for input and return its answers by key."""
    method = next(iter(requests.values()))["method"]
    capability = DECLARED[method]
    undeclared = on({"elicitation": "asks-undeclared", "roots": "roots-undeclared"}.get(capability, ""))
    if capability not in call.capabilities and not undeclared and not on("round-undeclared"):
        if call.modern:
            data = None if on("capability-no-data") else {"requiredCapabilities": {capability: {}}}
            raise Refusal(-32603 if on("capability-code") else -32021, "The client lacks %s" % capability, data,
                          200 if on("http-capability-200") else 400)
        raise Refusal(0, "")
    requests = {key: edits.request(FAULTS, request) for key, request in requests.items()}
    if not call.modern or on("asks-itself"):
        return {key: call.session.ask(call, request["method"], request.get("params", {}))
                for key, request in requests.items()}
    parts = [call.message["method"], call.params.get("name"), call.params.get("arguments")]
    check_state(call, parts)
    given = call.params.get("inputResponses")
    given = given if isinstance(given, dict) else {}
    missing = {key: request for key, request in requests.items() if not isinstance(given.get(key), dict)}
    if missing:
        if given and on("round-missing-error"):
            raise Refusal(-32602, "An input is missing")
        result: Dict[str, Any] = {"resultType": "input_required", "inputRequests": missing, "requestState": sign(parts)}
        if on("round-empty"):
            result = {"resultType": "input_required"}
        if on("round-foreign"):
            result["inputRequests"] = {"alive": {"method": "ping", "params": {}}}
        raise InputRequired(result)
    return given
