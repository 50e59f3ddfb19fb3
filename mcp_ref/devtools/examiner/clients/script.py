"""The scripted server: legal answers by table, and the places where a scene puts others.

It is no server of `mcp_ref`, and knows nothing of one: what it says is written here. A scene makes a `ServerScript`,
changes some of it, has the client started, and looks at `ServerScript.heard` afterwards::

    script = stage.script()
    script.tools = {"ask": Tool(ADD, lambda asked: asked.ask("ping") and text("done"))}
    run = stage.run(script)

An answer is made by a function of the `ClientRequest` request, which may send and ask before. What it returns:

===============  ===================================================================================================
a dict           the result; members that the revision needs are added
`ErrorAnswer`    an error
`Whole`          this message or these bytes, as they stand
``NOTHING``      no answer: the request stays open, until the client or the scene ends it
``CUT``          no answer: the stream of HTTP ends without one
===============  ===================================================================================================
"""

import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ....deadline import clock
from ....errors import INVALID_PARAMS, METHOD_NOT_FOUND
from ....http11.message import HttpRequest
from ....methods import (
    ACKNOWLEDGED, CALL_TOOL, COMPLETE, DISCOVER, GET_PROMPT, INITIALIZE, LISTEN, LIST_PROMPTS, LIST_RESOURCES,
    LIST_RESOURCE_TEMPLATES, LIST_TOOLS, PING, READ_RESOURCE, SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE,
)
from ....revisions import Revision
from ....version import __version__
from ...checker.observed import META_CAPABILITIES, META_REVISION
from ..wire import as_bytes

NOTHING, CUT = object(), object()
SERVER_INFO = {"name": "mcp_ref examiner", "version": __version__}
UNSUPPORTED_VERSION = -32022
_CACHED = (LIST_TOOLS, LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, READ_RESOURCE, DISCOVER)
_ASK_SECONDS = 5.0


class ErrorAnswer(NamedTuple):
    """An error as an answer. ``status``: that of HTTP, where it is not the usual one."""

    code: int
    text: str = "refused by the scene"
    data: Any = None
    status: int = 0


class Whole(NamedTuple):
    """A message, or bytes, in the place of an answer."""

    value: Any
    status: int = 200


class ScriptedTool(NamedTuple):
    """A tool: its definition, and the function that answers a call."""

    definition: Dict[str, Any]
    play: Callable[["ClientRequest"], Any]


class ClientMessage(NamedTuple):
    """Something that the client has sent: a message, an HTTP request, or both."""

    message: Any
    """The JSON value; None for a request without one."""
    request: Optional[HttpRequest]
    at: float

    @property
    def method(self) -> str:
        """The method of the message; "" for responses and for what is no message."""
        found = self.message.get("method") if isinstance(self.message, dict) else None
        return found if isinstance(found, str) else ""

    @property
    def params(self) -> Dict[str, Any]:
        """The parameters, if they are an object."""
        found = self.message.get("params") if isinstance(self.message, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def meta(self) -> Dict[str, Any]:
        """The ``_meta`` of the parameters, if it is an object."""
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}

    @property
    def http(self) -> str:
        """The method of the HTTP request; "" where there is none."""
        return self.request.method if self.request is not None else ""

    def field(self, name: str) -> Optional[str]:
        """Return the value of a header field of the HTTP request."""
        return self.request.headers.get(name) if self.request is not None else None

    @property
    def is_request(self) -> bool:
        """True for a request, which wants an answer."""
        return bool(self.method) and "id" in self.message

    @property
    def is_response(self) -> bool:
        """True for a response."""
        return isinstance(self.message, dict) and not self.method and "id" in self.message


class ClientRequest:
    """A request of the client, and the way back to it. ``send``: takes bytes of one message; False if it is gone."""

    def __init__(self, script: "ServerScript", heard: ClientMessage, send: Callable[[bytes], bool],
                 raw: Optional[Callable[[bytes], bool]] = None) -> None:
        self.script, self.heard = script, heard
        self.id = heard.message.get("id")
        self.params, self.meta, self.method = heard.params, heard.meta, heard.method
        self._send, self.raw = send, raw or send

    def say(self, value: Any) -> bool:
        """Send a message, a JSON value or bytes, before the answer; return False if the client is gone."""
        return self._send(as_bytes(value))

    def note(self, method: str, params: Optional[Dict[str, Any]] = None) -> bool:
        """Send a notification before the answer."""
        return self.say({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    def ask(self, method: str, params: Optional[Dict[str, Any]] = None, seconds: float = _ASK_SECONDS,
            id: Any = None) -> Optional[Dict[str, Any]]:
        """Send a request to the client, and wait for the response; return it, or None if there is none in time."""
        id = self.script.next_id() if id is None else id
        since = len(self.script.heard)
        asked = {"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params is not None else {})}
        if not self.say(asked):
            return None
        found = self.script.wait(lambda each: each.is_response and each.message["id"] == id, seconds, since)
        return None if found is None else found.message

    def answer(self, value: Any) -> Any:
        """Return the message for what an answering function has returned, or None for none."""
        if isinstance(value, Whole):
            return value.value
        made: Dict[str, Any] = {"jsonrpc": "2.0", "id": self.id}
        if isinstance(value, ErrorAnswer):
            made["error"] = {"code": value.code, "message": value.text}
            if value.data is not None:
                made["error"]["data"] = value.data
            return made
        if not isinstance(value, dict):
            return None
        return {**made, "result": self.script.whole(self.method, value)}


Answer = Callable[[ClientRequest], Any]
Reply = Tuple[int, Sequence[Tuple[str, str]], bytes]
Door = Callable[[HttpRequest, Any], Optional[Reply]]


class ServerScript:
    """The part that the server plays in one start of the client; see the module. Thread-safe where endpoints use it."""

    def __init__(self, revision: Revision, tools: Optional[Dict[str, ScriptedTool]] = None) -> None:
        self.revision = revision
        self.tools = dict(STOCK if tools is None else tools)
        self.capabilities = _capabilities(revision)
        self.version = revision.name
        """The version that `initialize` is answered with."""
        self.answers: Dict[str, Answer] = dict(_ANSWERS)
        """Method -> what answers it; `ServerScript.answer` takes what is not in it."""
        self.door: Door = lambda request, message: None
        """Answers an HTTP request, with status, fields and body, before the table does; None: go on."""
        self.page: Callable[[HttpRequest], Optional[Reply]] = lambda request: None
        """Answers what is asked for beside the endpoint; None: 404."""
        self.style = "json"
        """The form in which HTTP answers a request: json or sse."""
        self.stream = True
        """True if a GET opens a stream, in revisions that have one; False: 405."""
        self.spelling: Callable[[str], str] = str
        """Writes the names of header fields in another way."""
        self.probe: Any = ErrorAnswer(METHOD_NOT_FOUND, "Method not found", None, 400)
        """The answer to `server/discover` in revisions that do not have it."""
        self.opening: Callable[["ServerScript"], Any] = lambda script: None
        """Called on a thread of its own when the client has sent `notifications/initialized`."""
        self.stub: Dict[str, Any] = {}
        """The settings of the process at the other end of stdio; see `stub`."""
        self.told: List[Dict[str, Any]] = []
        """The other events: the input of that process has ended, a signal has come, a reply was not waited for."""
        self.heard: List[ClientMessage] = []
        """Everything that the client has sent, in order."""
        self.hits: List[str] = []
        """Targets of HTTP requests beside the endpoint."""
        self.url = ""
        """The URL of the endpoint; "" on a pipe."""
        self.base = ""
        """The URL of documents: what is asked below it, beside the endpoint, stands in ``hits``."""
        self.streams: List[Callable[[bytes], bool]] = []
        """Ways to the client that belong to no request: a pipe, streams of GET."""
        self.over = False
        self.stopped = False
        """True once the examiner ends the client: what happens to its processes from then on is not its own doing."""
        self._changed = threading.Condition()
        self._ids = 1000
        self._last = clock()

    def next_id(self) -> int:
        """Return an id for a request of the server."""
        with self._changed:
            self._ids += 1
            return self._ids

    def begin(self) -> None:
        """Note that the client has connected: its silence is counted from here."""
        self._last = clock()

    def take(self, heard: ClientMessage) -> None:
        """Note what the client has sent."""
        with self._changed:
            self.heard.append(heard)
            self._last = clock()
            self._changed.notify_all()

    def tell(self, event: Dict[str, Any]) -> None:
        """Note what else has happened."""
        with self._changed:
            self.told.append(event)
            self._last = clock()
            self._changed.notify_all()

    def end(self) -> None:
        """Wake everybody who waits: it is over."""
        with self._changed:
            self.over = True
            self._changed.notify_all()

    @property
    def silence(self) -> float:
        """The seconds since something came, or since the client connected."""
        return clock() - self._last

    def wait(self, wanted: Callable[[ClientMessage], Any], seconds: float, since: int = 0) -> Optional[ClientMessage]:
        """Wait for something that the client sends; return it, or None if nothing comes in time."""
        until = clock() + seconds
        with self._changed:
            while True:
                for each in self.heard[since:]:
                    if wanted(each):
                        return each
                since, left = len(self.heard), until - clock()
                if self.over or left <= 0:
                    return None
                self._changed.wait(left)

    def pause(self, seconds: float) -> None:
        """Wait, for a scene that is late on purpose; not longer than the run."""
        self.wait(lambda each: False, seconds)

    def say(self, value: Any) -> bool:
        """Send a message that belongs to no request; return False if there is no way to the client."""
        return any([send(as_bytes(value)) for send in list(self.streams)[-1:]])

    def answer(self, asked: ClientRequest) -> Any:
        """Return what answers a request."""
        if self.revision.stateless:
            meant = asked.meta.get(META_REVISION)
            if isinstance(meant, str) and meant != self.revision.name:
                return ErrorAnswer(UNSUPPORTED_VERSION, "Unsupported protocol version", {
                    "supported": [self.revision.name], "requested": meant}, 400)
            if META_REVISION not in asked.meta:
                return ErrorAnswer(INVALID_PARAMS, "no protocol version in _meta; supported: %s" % self.revision.name,
                                   None, 400)
        elif asked.method == DISCOVER:
            return self.probe
        if asked.method not in self.answers:
            return ErrorAnswer(METHOD_NOT_FOUND, "Method not found", None, 404 if self.revision.stateless else 200)
        return self.answers[asked.method](asked)

    def whole(self, method: str, result: Dict[str, Any]) -> Dict[str, Any]:
        """Return a result with the members that the revision needs."""
        if not self.revision.stateless:
            return result
        made: Dict[str, Any] = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": SERVER_INFO}}
        if method in _CACHED and result.get("resultType") in (None, "complete"):  # None: the scene has taken it out
            made.update(ttlMs=0, cacheScope="private")
        return {name: value for name, value in {**made, **result}.items() if value is not None}

    @property
    def declared(self) -> Dict[str, Any]:
        """The capabilities that the client has declared last."""
        arrived = [ClientMessage(message, each.request, each.at) for each in self.heard for message in (
            each.message if isinstance(each.message, list) else [each.message])]
        for each in reversed(arrived):
            found = each.params.get("capabilities") if each.method == INITIALIZE else each.meta.get(META_CAPABILITIES)
            if isinstance(found, dict):
                return found
        return {}

    def sent(self, *methods: str) -> List[ClientMessage]:
        """Return the messages of the client with one of these methods."""
        return [each for each in self.heard if each.method in methods]


def text(words: str) -> Dict[str, Any]:
    """Return the result of a tool that is a text."""
    return {"content": [{"type": "text", "text": words}]}


def _capabilities(revision: Revision) -> Dict[str, Any]:
    made: Dict[str, Any] = {"tools": {"listChanged": True}, "prompts": {"listChanged": True},
                            "resources": {"listChanged": True, "subscribe": True}, "logging": {}}
    if revision.completions_capability:
        made["completions"] = {}
    return made


def _initialize(asked: ClientRequest) -> Any:
    return {"protocolVersion": asked.script.version, "capabilities": asked.script.capabilities,
            "serverInfo": SERVER_INFO}


def _discover(asked: ClientRequest) -> Any:
    return {"supportedVersions": [asked.script.version], "capabilities": asked.script.capabilities}


def _list_tools(asked: ClientRequest) -> Any:
    return {"tools": [tool.definition for tool in asked.script.tools.values()]}


def _call_tool(asked: ClientRequest) -> Any:
    tool = asked.script.tools.get(str(asked.params.get("name")))
    return ErrorAnswer(INVALID_PARAMS, "Unknown tool") if tool is None else tool.play(asked)


def _add(asked: ClientRequest) -> Any:
    given = asked.params.get("arguments")
    numbers = [each for each in (given if isinstance(given, dict) else {}).values() if isinstance(each, (int, float))]
    return text("%g" % sum(numbers))


def _read(asked: ClientRequest) -> Any:
    return {"contents": [{"uri": asked.params.get("uri"), "mimeType": "text/plain", "text": "x = 1"}]}


def _listen(asked: ClientRequest) -> Any:
    wanted = asked.params.get("notifications")
    asked.note(ACKNOWLEDGED, {"_meta": {"io.modelcontextprotocol/subscriptionId": asked.id},
                              "notifications": wanted if isinstance(wanted, dict) else {}})
    return NOTHING


_RESOURCE = {"uri": "examiner://a.txt", "name": "a.txt", "mimeType": "text/plain"}
_PROMPT = {"name": "review", "description": "Review something", "arguments": [{"name": "code", "required": True}]}
_ANSWERS: Dict[str, Answer] = {
    INITIALIZE: _initialize, DISCOVER: _discover, PING: lambda asked: {}, LIST_TOOLS: _list_tools,
    CALL_TOOL: _call_tool, READ_RESOURCE: _read, SET_LOG_LEVEL: lambda asked: {}, SUBSCRIBE: lambda asked: {},
    UNSUBSCRIBE: lambda asked: {}, COMPLETE: lambda asked: {"completion": {"values": ["one", "only"]}},
    LISTEN: lambda asked: _listen(asked) if asked.script.revision.stateless else ErrorAnswer(METHOD_NOT_FOUND),
    LIST_RESOURCES: lambda asked: {"resources": [_RESOURCE]},
    LIST_RESOURCE_TEMPLATES: lambda asked: {"resourceTemplates": [
        {"uriTemplate": "examiner://{name}", "name": "file", "description": "A file"}]},
    LIST_PROMPTS: lambda asked: {"prompts": [_PROMPT]},
    GET_PROMPT: lambda asked: {"messages": [{"role": "user", "content": {"type": "text", "text": "Review this"}}]},
}
ADD: Dict[str, Any] = {
    "name": "add_numbers", "description": "Add two numbers",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                    "required": ["a", "b"]}}
STOCK: Dict[str, ScriptedTool] = {"add_numbers": ScriptedTool(ADD, _add)}
"""The tools that are offered if a scene offers no others: the one of the official suite's scenario ``tools_call``."""
