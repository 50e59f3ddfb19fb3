"""The faulty server over Streamable HTTP: with sessions up to 2025-11-25, without since 2026-07-28."""
import base64
import binascii
import json
import re
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

import edits
import server
from behaviour import check_envelope, respond
from calls import FAULTS, META, V2, V4, V5, VERSIONS, Call, Refusal, Session, on

STREAMED = ("count", "wait", "announce")
ASKING = ("ask", "sample", "roots")


class Stream:
    """The events of one SSE stream, which connections follow; `name` begins their ids."""

    def __init__(self, name: str) -> None:
        self.name, self.done = name, False
        self.events: List[Any] = []
        self.changed = threading.Condition()

    def put(self, message: Any) -> None:
        """Add an event."""
        with self.changed:
            self.events.append(message)
            self.changed.notify_all()

    def finish(self) -> None:
        """Say that no event will follow."""
        with self.changed:
            self.done = True
            self.changed.notify_all()

    def follow(self, write: Callable[[bytes], Any], start: int, cut: bool = False) -> None:
        """Write the events from `start` on until the stream ends; OSError when nobody listens."""
        while True:
            with self.changed:
                if start >= len(self.events) and not self.done:
                    self.changed.wait(0.3)
                new, done = self.events[start:], self.done
            for message in new:
                write(self.event(start, message))
                start += 1
                if cut:
                    return
            if not new:
                if done and not on("http-stream-open"):
                    return
                write(b": alive\n\n")
                time.sleep(0.3 if done else 0)

    def event(self, number: int, message: Any) -> bytes:
        """Return one event as it is written; no message is an empty one."""
        name = "" if not self.name else "id: %s%d\n" % ("" if on("http-event-ids") else self.name + "-", number)
        return name.encode() + b"data: " + (b"" if message is None else server.encoded(message)) + b"\n\n"


class WebSession(Session):
    """A session of Streamable HTTP with its streams."""

    def __init__(self) -> None:
        super().__init__("http")
        self.streams: Dict[str, Stream] = {}
        self.open: List[Stream] = []
        self.aside = self.send_aside

    def stream(self) -> Stream:
        """Return a new stream."""
        with self.lock:
            stream = Stream("s%d" % len(self.streams))
            self.streams[stream.name] = stream
            return stream

    def send_aside(self, message: Dict[str, Any]) -> None:
        """Send a message that belongs to no request."""
        for stream in list(self.open) if on("http-broadcast") else self.open[-1:]:
            stream.put(message)


SESSIONS: Dict[str, WebSession] = {}
DEAD: Dict[str, WebSession] = {}
MODERN = Session("http")


def decoded(value: str) -> Optional[str]:
    """Return what a header field of a name or parameter says, None if it says nothing."""
    if re.search(r"[^\t\x20-\x7e]", value):
        return None
    if value.startswith("=?base64?") and value.endswith("?=") and not on("http-name-encoded"):
        try:
            return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return None
    return value


def check_headers(call: Call, headers: Any) -> None:
    """Refuse a request of 2026-07-28 whose header fields are not those of its body."""
    code, status = -32600 if on("http-mismatch-code") else -32020, 200 if on("http-mismatch-200") else 400

    def fail(text: str) -> None:
        raise Refusal(code, "Header mismatch: " + text, status=status)
    meta = call.params.get("_meta")
    version = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
    if not isinstance(version, str):
        return
    if headers.get("MCP-Protocol-Version") != version and not on("http-version-unlike"):
        fail("MCP-Protocol-Version")
    method = headers.get("Mcp-Method")
    if on("http-case"):
        method = dict(headers.items()).get("Mcp-Method")
    if method != call.message["method"] and not on("http-method-any"):
        fail("Mcp-Method")
    wanted = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(call.message["method"])
    if wanted and not on("http-name-any"):
        if "Mcp-Name" not in headers or decoded(headers["Mcp-Name"]) != call.params.get(wanted):
            fail("Mcp-Name")
    if call.message["method"] == "tools/call" and call.params.get("name") == "region":
        check_parameters(call, headers, fail)


def check_parameters(call: Call, headers: Any, fail: Callable[[str], None]) -> None:
    """Refuse header fields of parameters that are not what the arguments say."""
    arguments = call.params.get("arguments")
    for name, header in (("region", "Mcp-Param-Region"), ("times", "Mcp-Param-Times")):
        value = arguments.get(name) if isinstance(arguments, dict) else None
        given = headers.get(header)
        if value is None:
            absent = isinstance(arguments, dict) and name not in arguments
            if given is None and (on("http-param-absent") if absent else on("http-param-null")):
                fail(header)
            continue
        if given is None:
            if not on("http-param-none"):
                fail(header)
            continue
        said = decoded(given)
        if not on("http-param-any") and (said is None or not alike(said, value)):
            fail(header)


def alike(said: str, value: Any) -> bool:
    """Return whether a header field says a value."""
    if isinstance(value, int) and not isinstance(value, bool) and not on("http-param-text"):
        try:
            return float(said) == value
        except ValueError:
            return False
    return said == (json.dumps(value) if not isinstance(value, str) else value)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def reply(self, status: int, body: Any = None, fields: Tuple[Tuple[str, str], ...] = ()) -> None:
        """Send an answer that is no stream."""
        data = b"" if body is None else server.encoded(body)
        self.send_response(status)
        if body is not None:
            plain = on("http-type-text") and status == 200
            self.send_header("Content-Type", "text/plain" if plain else "application/json")
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin(self) -> None:
        """Begin a stream."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        if not on("http-buffered"):
            self.send_header("X-Accel-Buffering", "no")
        self.end_headers()

    def refused(self) -> bool:
        """Refuse a foreign Origin or a wrong path."""
        origin = self.headers.get("Origin")
        if origin is not None and not on("http-origin-any"):
            if urlsplit(origin).hostname not in ("127.0.0.1", "localhost", "::1"):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.reply(400 if on("http-origin-400") else 403)
                return True
        if urlsplit(self.path).path != "/mcp":
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.reply(404)
            return True
        return False

    def session(self) -> Optional[WebSession]:
        """Return the session that the request names; None, after an answer, if there is none."""
        name = self.headers.get("Mcp-Session-Id")
        if name is None and on("http-session-none") and SESSIONS:
            return list(SESSIONS.values())[-1]
        if name is None:
            self.reply(400, server.refusal(None, -32600, "Mcp-Session-Id is missing"))
            return None
        if name in DEAD and on("http-session-dead-200"):
            return DEAD[name]
        if name not in SESSIONS:
            self.reply(400 if on("http-session-dead-400") else 404, server.refusal(None, -32600, "No such session"))
            return None
        return SESSIONS[name]

    def version_refused(self) -> bool:
        """Refuse a version that is none of the revisions with sessions."""
        version = self.headers.get("MCP-Protocol-Version")
        if version is None or version in VERSIONS[:3] or on("http-version-any"):
            return False
        self.reply(400, server.refusal(None, -32600, "Unsupported protocol version"))
        return True

    def do_GET(self) -> None:  # noqa: N802 (the library's name)
        """Open or resume a stream."""
        if self.refused() or self.version_refused():
            return
        session = self.session()
        if session is None:
            return
        if on("http-get-404") or on("http-get-json"):
            self.reply(404 if on("http-get-404") else 200, {})
            return
        last = self.headers.get("Last-Event-ID")
        name, _, number = (last or "").rpartition("-")
        self.begin()
        try:
            if last is not None and number.isdigit() and (name in session.streams or on("http-event-ids")):
                stream = session.streams[name or "s0"]
                if on("http-resume-foreign"):
                    for other in list(session.streams.values()):
                        for at, message in enumerate(list(other.events)):
                            if other is not stream and message is not None:
                                self.wfile.write(other.event(at, message))
                stream.follow(self.wfile.write, int(number) + 1)
                return
            stream = session.stream()
            session.open.append(stream)
            if session.revision == V4:
                stream.put(None)
            stream.follow(self.wfile.write, 0)
        except OSError:
            pass
        finally:
            if last is None:
                session.open.remove(stream)

    def do_DELETE(self) -> None:  # noqa: N802 (the library's name)
        """End a session."""
        if self.refused() or self.version_refused():
            return
        session = self.session()
        if session is not None:
            name = self.headers["Mcp-Session-Id"]
            DEAD[name] = SESSIONS.pop(name, session)
            for stream in list(session.streams.values()):
                stream.finish()
            self.reply(200)

    def do_POST(self) -> None:  # noqa: N802 (the library's name)
        """Take a message."""
        if self.refused():
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            message = json.loads(body.decode("utf-8"))
        except ValueError:
            if on("http-malformed-202"):
                self.reply(202)
            else:
                code = -32600 if on("parse-error-code") else -32700
                self.reply(400, server.refusal(None, code, "This is no JSON"))
            return
        if isinstance(message, list):
            self.batch(message)
        elif server.wrong(message):
            self.reply(400, server.refusal(None, -32600, str(server.wrong(message)), server.kept_id(message)))
        elif self.modern(message):
            self.take_modern(message)
        elif not self.version_refused():
            self.take_legacy(message)

    def modern(self, message: Dict[str, Any]) -> bool:
        """Return whether a message is of 2026-07-28."""
        meta = message.get("params", {}).get("_meta")
        return isinstance(meta, dict) and META + "protocolVersion" in meta or (
            self.headers.get("MCP-Protocol-Version") == V5 or "Mcp-Method" in self.headers)

    def accepted(self) -> None:
        """Answer what is no request."""
        if on("http-notification-200"):
            self.reply(200)
        else:
            self.reply(202, {"accepted": True} if on("http-notification-body") else None)

    def batch(self, messages: List[Any]) -> None:
        """Answer a batch, if the revision has them."""
        session = SESSIONS.get(self.headers.get("Mcp-Session-Id") or "")
        if session is None or session.revision != V2 or not messages or on("batch-refused"):
            self.reply(400, server.refusal(None, -32600, "An array is no message"))
            return
        answers = server.answers_of(session, messages, session.aside)
        if answers:
            self.reply(200, answers)
        else:
            self.accepted()

    def take_modern(self, message: Dict[str, Any]) -> None:
        """Take a message of 2026-07-28."""
        if "id" not in message or "method" not in message:
            known = self.headers.get("MCP-Protocol-Version") in (None, V5) or on("http-malformed-202")
            if known:
                self.accepted()
            else:
                self.reply(400, server.refusal(None, -32600, "Unsupported protocol version"))
            return
        stream = Stream("")
        call = Call(MODERN, message, stream.put, modern=True)
        try:
            check_headers(call, self.headers)
            check_envelope(call)
        except Refusal as refused:
            answer = {"jsonrpc": "2.0", "id": message["id"], "error": refused.error}
            self.reply(refused.status, server_edit(call, answer))
            return
        name = call.params.get("name")
        if message["method"] == "subscriptions/listen" and isinstance(call.params.get("notifications"), dict) or (
                message["method"] == "tools/call" and (name in STREAMED or name in ASKING and on("asks-itself"))):
            self.stream(call, stream)
        else:
            answered = respond(call)
            if answered is None:
                self.begin()
            else:
                self.reply(call.status, answered)

    def stream(self, call: Call, stream: Stream) -> None:
        """Answer a request on a stream."""
        def run() -> None:
            answer = respond(call)
            call.session.running.pop(call.message["id"], None)
            if answer is not None and not on("http-early-close"):
                stream.put(answer)
                if on("http-get-answers") and isinstance(call.session, WebSession):
                    for other in call.session.open:
                        other.put(answer)
            stream.finish()
        threading.Thread(target=run, daemon=True).start()
        try:
            self.begin()
            stream.follow(self.wfile.write, 0, cut=on("http-cut-no-retry") and call.message["method"] == "tools/call")
        except OSError:
            if call.modern:
                call.cancelled.set()

    def take_legacy(self, message: Dict[str, Any]) -> None:
        """Take a message of a session, or begin one."""
        if message.get("method") == "initialize" and "id" in message:
            session = WebSession()
            answer = respond(Call(session, message, session.aside))
            if answer is None or "error" in answer:
                self.reply(400, answer)
                return
            name = "session " + uuid.uuid4().hex if on("http-session-blank") else uuid.uuid4().hex
            name = str(len(SESSIONS) + 1) if on("http-session-count") else name
            SESSIONS[name] = session
            self.reply(200, answer, (("Mcp-Session-Id", name),))
            return
        found = self.session()
        if found is None:
            return
        if "method" not in message or "id" not in message:
            if "method" in message:
                server.noted(found, message)
            else:
                found.answered(message)
            self.accepted()
            return
        self.answer_of(found, message)

    def answer_of(self, session: WebSession, message: Dict[str, Any]) -> None:
        """Answer a request of a session."""
        name = message.get("params", {}).get("name")
        streamed = message["method"] == "tasks/result" or (
            message["method"] == "tools/call" and name in STREAMED + ASKING)
        if not streamed:
            answer = respond(Call(session, message, session.aside))
            if answer is None:
                self.begin()
            else:
                self.reply(200, answer)
            return
        stream = session.stream()
        if session.revision == V4 and not on("http-no-prime"):
            stream.put(None)

        def emit(sent: Dict[str, Any]) -> None:
            stream.put(sent)
            if on("http-broadcast"):
                session.send_aside(sent)
        call = Call(session, message, emit)
        session.running[message["id"]] = call
        self.stream(call, stream)


def server_edit(call: Call, answer: Dict[str, Any]) -> Dict[str, Any]:
    """Return an error that was found before the request was handled, with the faults of errors."""
    return edits.response(FAULTS, call, answer)


def serve() -> None:
    """Listen, print the URL, and serve until the process ends."""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    print("http://127.0.0.1:%d/mcp" % listening.server_address[1], flush=True)
    listening.serve_forever()
