"""Scenes over Streamable HTTP: answers, sessions, streams, header fields, refusals, challenges, redirects.

[2025-03-26..2025-11-25 basic/transports §Streamable HTTP], [2026-07-28 basic/transports/streamable-http],
[2025-06-18..2025-11-25 basic/authorization], [2026-07-28 basic/authorization/index].

The refusals are those that only HTTP knows; the redirects lead to another origin.
"""

from typing import Any, Dict, List, Optional, Sequence, Tuple

from .....http11.message import Exchange, HttpRequest
from .....http11.server.server import HttpServer
from .....methods import CALL_TOOL, DISCOVER, INITIALIZE, INITIALIZED, LIST_TOOLS, LOG_MESSAGE
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every
from ...wire import as_bytes
from ..script import ADD, CUT, ClientRequest, ScriptedTool, text
from ..stage import ClientRun, ClientStage, web_scene
from .opening import BASE, base, first_of

RESUMED, ICON = "test_reconnection", "/examiner-icon.png"
_RETRY = 500
"""Milliseconds after which a stream is asked for again."""
_NO_TYPE: Tuple[Tuple[str, Any], ...] = (
    ("empty", ""), ("blank", "a b"), ("colon", "a:b"), ("beyond_ascii", "\u00e9"), ("line_end", "a\r\nb"))


@web_scene("streams", "http.client-supports-json-and-sse")
def streams(stage: ClientStage) -> Said:
    """Each request is answered by a stream of one event, where it was JSON before."""
    script = stage.script()
    script.style = "sse"
    return stage.goes_on(stage.run(script), "with answers as streams")


@web_scene("odd-streams", "http.client-supports-json-and-sse")
def odd_streams(stage: ClientStage) -> Said:
    """A stream has a byte order mark, comments, lines that end in CR and in CRLF, unknown fields, data in pieces."""
    script = stage.script()
    method = first_of(stage, LIST_TOOLS, CALL_TOOL)
    plain = script.answers[method]

    def answer(asked: ClientRequest) -> Any:
        message = as_bytes(asked.answer(plain(asked)))
        place = message.index(b",") + 1
        asked.raw(b"\xef\xbb\xbf: a comment\r\n\r\nodd: field\nretry: 5000\nid: 1\n: another\n\n")
        asked.raw(b"event: examiner\ndata: {\"not\": \"for you\"}\n\n")
        asked.raw(b"event: message\rdata:" + message[:place] + b"\rdata: " + message[place:] + b"\r\r")
        return CUT

    script.answers[method] = answer
    return stage.goes_on(stage.run(script), "after an odd stream")


@web_scene("no-get-stream", *BASE, only=lambda revision: revision.handshake)
def no_get_stream(stage: ClientStage) -> Said:
    """A GET is answered with 405: the client does without that stream."""
    script = stage.script()
    script.stream = False
    return base(stage, stage.goes_on(stage.run(script), "after 405 for a GET"))


@web_scene("session-gone", "http.session-reinitialize", needs=CALL_TOOL)
def session_gone(stage: ClientStage) -> Said:
    """The server forgets the session: after the first 404 the client opens a new one."""
    script = stage.script()
    refused: List[int] = []
    plain = script.answers[LIST_TOOLS]

    def answer(asked: ClientRequest) -> Any:
        if not refused:
            stage.endpoint.expire()
            refused.append(len(script.heard))
        return plain(asked)

    script.answers[LIST_TOOLS] = answer
    stage.run(script)
    later = script.heard[refused[0]:] if refused else []
    if not any(each.is_request for each in later):
        return CannotTell("nothing was asked in the session that is gone")
    opened = [each for each in later if each.method == INITIALIZE]
    if not opened:
        return Broken("404 for the session: no initialize followed")
    return KEPT if opened[0].field("mcp-session-id") is None else Broken("initialize came with the id of the session")


@web_scene("cut", "http.resume-get", "http.resume-client-poll", provokes="http.resume-respect-retry")
def cut(stage: ClientStage) -> Said:
    """A stream ends before the answer, behind an event with an id: the rest is asked for, behind that event.

    Reading: a client that has ended, or was silent for as long as it was watched, does not come back.
    """
    script = stage.script()
    waiting: Dict[str, Any] = {}

    def play(asked: ClientRequest) -> Any:
        waiting["id"] = asked.id
        if stage.revision.stream_polling:
            asked.raw(b"id: cut-1\nretry: %d\ndata: \n\n" % _RETRY)
        else:
            note = {"jsonrpc": "2.0", "method": LOG_MESSAGE, "params": {"level": "info", "data": "cut"}}
            asked.raw(b"id: cut-1\nretry: %d\ndata: " % _RETRY + as_bytes(note) + b"\n\n")
        return CUT

    def door(request: Any, message: Any) -> Any:
        if request.method != "GET" or request.headers.get("last-event-id") is None or "id" not in waiting:
            return None
        answer = as_bytes({"jsonrpc": "2.0", "id": waiting["id"], "result": text("at last")})
        return 200, (("Content-Type", "text/event-stream"),), b"id: cut-2\ndata: " + answer + b"\n\n"

    script.tools, script.door = {RESUMED: ScriptedTool({**ADD, "name": RESUMED}, play)}, door
    stage.run(script, "sse-retry")
    asked = [each.field("last-event-id") for each in script.heard if each.http == "GET"]
    if not waiting:
        raise NotExamined("the client does not call the tool %s" % RESUMED)
    asked = [each for each in asked if each is not None]
    if not asked:
        never = "the client has not asked for the rest"
        return {"http.resume-get": CannotTell(never), "http.resume-client-poll": Broken(never)}
    right: Verdict = KEPT if asked[0] == "cut-1" else Broken(
        "the last event was cut-1, and Last-Event-ID is %r" % asked[0])
    return {"http.resume-get": right, "http.resume-client-poll": KEPT}


# 2026-07-28

@web_scene("field-case", "http.header-case-insensitive")
def field_case(stage: ClientStage) -> Said:
    """Header fields of the answers are written in another case."""
    script = stage.script()
    script.spelling = str.upper
    return stage.goes_on(stage.run(script), "with header fields in capitals")


def _annotated(name: str, kind: Any, annotation: Any) -> Dict[str, Any]:
    return {"name": name, "description": "Does nothing", "inputSchema": {"type": "object", "properties": {
        "place": {"type": kind, "x-mcp-header": annotation}}, "required": ["place"]}}


@web_scene("param-fields", "http.param-client-support",
           provokes="http.param-mirror http.param-extract http.param-encode http.param-base64 http.param-append")
def param_fields(stage: ClientStage) -> Said:
    """A tool has arguments that are to be repeated in header fields."""
    script = stage.script()
    script.tools = {name: ScriptedTool(_annotated(name, kind, "Place"), lambda asked: text("done"))
                    for name, kind in (("text", "string"), ("flag", "boolean"))}
    calls = [{"name": "text", "arguments": {"place": value}} for value in ("here", "\u00e9 caf\u00e9", " padded ", "")]
    stage.run(script, "http-custom-headers", {"toolCalls": [*calls, {"name": "flag", "arguments": {"place": True}}]})
    found: List[Verdict] = []
    for each in script.sent(CALL_TOOL):
        given: Optional[Any] = each.params.get("arguments")
        if isinstance(given, dict) and given.get("place") is not None:
            found.append(KEPT if each.field("mcp-param-place") is not None else Broken(
                "a call of %s without Mcp-Param-Place" % each.params.get("name")))
    if not found:
        raise NotExamined("the client calls no tool with such an argument")
    return every(found)


@web_scene("impossible-fields", "http.param-reject-tool", "http.param-exclude-tool", needs=LIST_TOOLS)
def impossible_fields(stage: ClientStage) -> Said:
    """Tools with annotations that cannot be header fields are not called, and one beside them is."""
    script = stage.script()
    wrong = [_annotated(name, "string", value) for name, value in _NO_TYPE]
    wrong += [_annotated("object", "object", "Place"), _annotated("number", "number", "Place"),
              _annotated("no_text", "string", 7)]
    script.tools = {each["name"]: ScriptedTool(each, lambda asked: text("done")) for each in [
        *wrong, _annotated("valid_tool", "string", "Place")]}
    stage.run(script, "http-invalid-tool-headers")
    called = [str(each.params.get("name")) for each in script.sent(CALL_TOOL)]
    if not called:
        return CannotTell("the client has called no tool")
    bad = [name for name in called if name != "valid_tool"]
    return Broken("called in spite of their annotations: %s" % ", ".join(bad)) if bad else KEPT


@web_scene("icons", "icons.uri-scheme", needs=LIST_TOOLS)
def icons(stage: ClientStage) -> Said:
    """The icon of a tool is at a URI of http: it is not fetched."""
    script = stage.script()
    script.answers[LIST_TOOLS] = lambda asked: {"tools": [{**ADD, "icons": [{"src": script.base + ICON}]}]}
    stage.run(script)
    fetched = [hit for hit in script.hits if hit.endswith(ICON)]
    return Broken("the client has sent %s" % fetched[0]) if fetched else CannotTell("no icon was fetched")


@web_scene("foreign-schema", "schema.no-network-ref", "schema.ref-opt-in-default-off", needs=LIST_TOOLS)
def foreign_schema(stage: ClientStage) -> Said:
    """The schema of a tool refers to a document on the network: it is not fetched."""
    script = stage.script()

    def answer(asked: ClientRequest) -> Any:
        return {"tools": [ADD, {"name": "far", "description": "Does nothing", "inputSchema": {
            "type": "object", "properties": {"a": {"$ref": script.base + "/examiner-schema.json"}}}}]}

    script.answers[LIST_TOOLS] = answer
    script.answers[CALL_TOOL] = lambda asked: text("done")
    stage.run(script, "json-schema-ref-no-deref")
    fetched = [hit for hit in script.hits if "schema" in hit]
    return Broken("the client has sent %s" % fetched[0]) if fetched else KEPT if LIST_TOOLS in [
        each.method for each in script.heard] else CannotTell("no tools were listed")


Fields = Sequence[Tuple[str, str]]
REFUSALS: Tuple[Tuple[int, Fields], ...] = (
    (400, ()), (403, ()), (500, ()), (503, (("Retry-After", "1"),)))
REDIRECTS = (307, 308, 302)
MOST_REPEATS = 5
"""Reading: a request that is refused so often, as it was, is not responded to; the checker counts so, too."""


class Elsewhere:
    """Another origin, at a loopback port of its own: what comes there is noted, and answered with 404."""

    def __init__(self) -> None:
        self.requests: List[HttpRequest] = []
        self._server = HttpServer(self._handle)

    def __enter__(self) -> "Elsewhere":
        self._server.open()
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        """The URL of the origin."""
        return self._server.url

    def _handle(self, exchange: Exchange) -> None:
        self.requests.append(exchange.request)
        exchange.reply(404)


def _refuse(script: Any, methods: Sequence[str], status: int, fields: Fields) -> None:
    """Have every request with one of these methods answered with a status and no message; "": what has no message,
    too."""
    def door(request: HttpRequest, message: Any) -> Any:
        method = message.get("method", "") if isinstance(message, dict) else ""
        return (status, fields, b"") if method in methods else None

    script.door = door


def _repeats(run: ClientRun, method: str) -> int:
    return len([each for each in run.script.sent(method) if each.field("authorization") is None])


@web_scene("refused-by-http", "lifecycle.initialized-notification", only=lambda revision: revision.handshake)
def refused_by_http(stage: ClientStage) -> Said:
    """`initialize` is refused with 400, 403, 500 and 503, without a message: the client does not say that it is
    initialized."""
    found: List[Verdict] = []
    for status, fields in REFUSALS:
        script = stage.script()
        _refuse(script, (INITIALIZE, DISCOVER, ""), status, fields)
        run = stage.run(script)
        found.append(Broken("initialize was refused with %d, and the client has sent %s" % (status, run.said()))
                     if INITIALIZED in run.methods else KEPT)
    return every(found)


@web_scene("statuses", *BASE)
def statuses(stage: ClientStage) -> Said:
    """A request is refused with 400, 403, 500 and 503, without a message: the client ends, and does not repeat it
    without end."""
    method, found = first_of(stage, LIST_TOOLS, CALL_TOOL), []  # type: str, List[Verdict]
    for status, fields in REFUSALS:
        script = stage.script()
        _refuse(script, (method,), status, fields)
        run = stage.run(script)
        # No page says how often a request may be repeated, or for how long, nor that a client ends.
        found.append(KEPT if run.ended else CannotTell(
            "%s was refused with %d: the client has sent it %d times, and did not end by itself" % (
                method, status, _repeats(run, method))))
    return base(stage, every(found))


def _leaked(requests: Sequence[HttpRequest], how: str, sent: Sequence[Any]) -> Dict[str, Verdict]:
    """Return the verdicts on what came to another origin. ``sent``: what came to the server."""
    found: Dict[str, Verdict] = {}
    for id, name in (("auth.only-issued-tokens", "authorization"),
                     ("http.session-id-secure-handling", "mcp-session-id")):
        if not any(each.field(name) is not None for each in sent):
            found[id] = CannotTell("the client has sent no %s to the server" % name)
        elif any(each.headers.get(name) is not None for each in requests):
            found[id] = Broken("%s: %s was sent to another origin" % (how, name))
        else:
            found[id] = KEPT
    return found


LEAKS = ("auth.only-issued-tokens", "http.session-id-secure-handling")


@web_scene("redirected", *LEAKS)
def redirected(stage: ClientStage) -> Said:
    """A request is redirected to another origin: neither a token nor the id of the session comes there."""
    method = first_of(stage, LIST_TOOLS, CALL_TOOL)
    found: Dict[str, List[Verdict]] = {id: [] for id in LEAKS}
    for status in REDIRECTS:
        with Elsewhere() as elsewhere:
            script = stage.script()
            _refuse(script, (method,), status, (("Location", elsewhere.url + "/mcp"),))
            run = stage.run(script)
            for id, verdict in _leaked(elsewhere.requests, "after %d" % status, run.heard).items():
                found[id].append(verdict)
    return {id: every(verdicts) for id, verdicts in found.items()}


@web_scene("challenged", "auth.parse-www-authenticate", *LEAKS)
def challenged(stage: ClientStage) -> Said:
    """A request is refused with 401, without a challenge, and with one that names another origin: the client does not
    repeat it as it was, and tells that origin neither a token nor the id of the session."""
    method = first_of(stage, LIST_TOOLS, CALL_TOOL)
    found: Dict[str, List[Verdict]] = {id: [] for id in ("auth.parse-www-authenticate", *LEAKS)}
    for named in (False, True):
        with Elsewhere() as elsewhere:
            script = stage.script()
            challenge = 'Bearer resource_metadata="%s/.well-known/oauth-protected-resource"' % elsewhere.url
            _refuse(script, (method,), 401, (("WWW-Authenticate", challenge),) if named else ())
            run = stage.run(script)
            times = _repeats(run, method)
            found["auth.parse-www-authenticate"].append(KEPT if times < MOST_REPEATS else Broken(
                "%s was refused with 401, and sent %d times without a token" % (method, times)))
            for id, verdict in _leaked(elsewhere.requests, "after 401", run.heard).items():
                found[id].append(verdict)
    return {id: every(verdicts) for id, verdicts in found.items()}
