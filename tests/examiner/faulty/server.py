"""A server with faults that can be switched on, to find out what the examiner finds.

Without a fault it is right in all five revisions. Usage::

    python3 server.py [--fault NAME]... [--http]

With `--http` it listens on a free port of 127.0.0.1 and prints its URL; without, it speaks on the standard streams.
Nothing of the package is used here, so that no misreading is shared.
"""
import json
import os
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from behaviour import respond
from calls import FAULTS, V2, Call, Session, on
from waiting import WAIT

Emit = Callable[[Dict[str, Any]], None]


def encoded(message: Any) -> bytes:
    """Return a message as bytes."""
    text = json.dumps(message, ensure_ascii=False, indent=2 if on("pretty") else None)
    if on("latin-1"):
        return text.replace("here", "h\u00e9re").replace("Repeats", "R\u00e9p\u00e9ts").encode("latin-1", "replace")
    return text.encode("utf-8")


def refusal(session: Optional[Session], code: int, text: str, number: Any = None) -> Dict[str, Any]:
    """Return an error for what could not be taken as a request."""
    answer: Dict[str, Any] = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
    if number is None and (session is None or session.revision is None or session.revision > "2025-06-18"):
        del answer["id"]
    return answer


def wrong(message: Any) -> Optional[str]:
    """Return what makes a message no message of JSON-RPC, None if nothing does."""
    if not isinstance(message, dict):
        return "A message is an object"
    if message.get("jsonrpc") != "2.0" and not on("no-jsonrpc-accepted"):
        return "jsonrpc must be 2.0"
    if "method" not in message:
        return None if "result" in message or "error" in message else "A message has a method, a result or an error"
    if not isinstance(message["method"], str) or not isinstance(message.get("params", {}), dict):
        return "method is text, params an object"
    number = message.get("id", 0)
    if isinstance(number, bool) or not isinstance(number, (int, str)):
        return "An id is text or an integer"
    return None


def kept_id(message: Any) -> Any:
    """Return the id of a message if it can be used in an answer."""
    number = message.get("id") if isinstance(message, dict) else None
    return number if isinstance(number, (int, str)) and not isinstance(number, bool) else None


def noted(session: Session, message: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """Take a notification; the answer is a fault."""
    method, params = message["method"], message.get("params") or {}
    if method == "notifications/cancelled":
        number = params.get("requestId")
        if number is None and on("cancel-malformed-dies"):
            os._exit(1)
        running = session.running.get(number) if isinstance(number, (int, str)) else None
        if running and running.message["method"] != "initialize":
            running.cancelled.set()
        elif on("cancel-unknown-error"):
            return refusal(session, -32602, "No such request", number)
    elif method not in ("notifications/initialized", "notifications/progress", "notifications/roots/list_changed") and (
            on("answers-notifications")):
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Unknown notification"}}
    return None


def late(call: Call) -> List[Dict[str, Any]]:
    """Return the messages that a fault sends after the answer."""
    sent: List[Dict[str, Any]] = []
    if on("progress-late") and call.token is not None:
        sent.append({"jsonrpc": "2.0", "method": "notifications/progress",
                     "params": {"progressToken": call.token, "progress": 99}})
    if on("cancels-own") and call.message["method"] == "tools/call":
        sent.append({"jsonrpc": "2.0", "method": "notifications/cancelled",
                     "params": {"requestId": call.message["id"], "reason": "done"}})
    if on("early-request") and call.message["method"] == "initialize" and "roots" in call.capabilities:
        sent.append({"jsonrpc": "2.0", "id": "early", "method": "roots/list"})
    return sent


class Streams:
    """The server on the standard streams."""

    def __init__(self) -> None:
        self.session, self.lock = Session("stdio"), threading.Lock()
        self.session.aside = self.write
        self.threads: List[threading.Thread] = []

    def write(self, message: Any) -> None:
        """Write one message."""
        with self.lock:
            sys.stdout.buffer.write(encoded(message) + b"\n")
            sys.stdout.buffer.flush()

    def run(self) -> None:
        """Serve until the input ends."""
        if on("banner"):
            print("Faulty server ready", flush=True)
        for line in sys.stdin.buffer:
            if line.strip():
                self.take(line)
        while on("stays"):
            time.sleep(60)
        for listener in list(self.session.listeners.values()):
            listener.closing = True
        for call in list(self.session.running.values()):
            call.cancelled.set()
        for thread in self.threads:
            thread.join(WAIT)

    def take(self, line: bytes) -> None:
        """Take one line."""
        try:
            message = json.loads(line.decode("utf-8"))
        except ValueError:
            if on("parse-error-dies"):
                os._exit(1)
            if not on("parse-error-silent"):
                code = -32600 if on("parse-error-code") else -32700
                self.write(refusal(self.session, code, "This is no JSON"))
            return
        if isinstance(message, list):
            self.batch(message)
        elif wrong(message):
            self.write(refusal(self.session, -32600, str(wrong(message)), kept_id(message)))
        elif "method" in message and "id" in message:
            self.request(message)
        elif "method" in message:
            answer = noted(self.session, message)
            if answer:
                self.write(answer)
        else:
            self.session.answered(message)

    def request(self, message: Dict[str, Any]) -> None:
        """Answer a request, in a thread if that may take time."""
        call = Call(self.session, message, self.write)
        self.session.running[message["id"]] = call
        if on("print") and message["method"] == "tools/call":
            with self.lock:
                print("calling", message.get("params", {}).get("name"), flush=True)
        if message["method"] in ("tools/call", "tasks/result", "subscriptions/listen"):
            thread = threading.Thread(target=self.answer, args=(call,), daemon=True)
            self.threads.append(thread)
            thread.start()
        else:
            self.answer(call)

    def answer(self, call: Call) -> None:
        """Write the answer of a request, if there is one."""
        answer = respond(call)
        self.session.running.pop(call.message["id"], None)
        if answer is not None:
            self.write(answer)
            if on("answers-twice") and call.message["method"] == "tools/list":
                self.write(answer)
            for message in late(call):
                self.write(message)

    def batch(self, messages: List[Any]) -> None:
        """Answer a batch, if the revision has them."""
        if self.session.revision != V2 or not messages or on("batch-refused"):
            self.write(refusal(self.session, -32600, "An array is no message"))
            return
        answers = answers_of(self.session, messages, self.write)
        if answers or on("batch-empty-answer"):
            self.write(answers)


def answers_of(session: Session, messages: List[Any], emit: Emit) -> List[Dict[str, Any]]:
    """Return the answers to the messages of a batch."""
    answers: List[Dict[str, Any]] = []
    for message in messages:
        answer: Optional[Dict[str, Any]] = None
        if wrong(message) or message.get("method") == "initialize":
            answer = refusal(session, -32600, wrong(message) or "initialize stands alone", kept_id(message))
        elif "method" not in message:
            session.answered(message)
        elif "id" in message:
            answer = respond(Call(session, message, emit))
        else:
            answer = noted(session, message)
        if answer is not None:
            answers.append(answer)
    return answers[:1] if on("batch-first") else answers


def main(arguments: List[str]) -> None:
    """Run the server."""
    FAULTS.update(arguments[at + 1] for at, argument in enumerate(arguments) if argument == "--fault")
    if "--http" in arguments:
        import web
        web.serve()
    else:
        Streams().run()
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
