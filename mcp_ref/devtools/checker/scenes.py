"""Scenes: short conversations in text, from which traces are made that keep a rule or break it.

::

    on stdio 2025-06-18 server={"tools": {}}
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
    S notifications/progress {"progressToken": "p", "progress": 1}
  + S notifications/progress {"progressToken": "p", "progress": 2}
  - S notifications/progress {"progressToken": "p", "progress": 1}
    S #1 {"content": []}

A line that begins with ``+`` is in the trace that keeps the rule only, with ``-`` in the one that breaks it. An empty
line, or one that begins with ``;``, says nothing.

=========================================  ========================================================================
line                                       what it makes
=========================================  ========================================================================
``on TRANSPORT REVISION [words]``          header, `open`, and the handshake if the revision has one. TRANSPORT: stdio,
                                           tcp, memory, http (streamable-http), sse (http+sse). Words: ``client={...}``
                                           and ``server={...}`` capabilities (all of them if left out), ``bare`` (no
                                           handshake), ``nosession`` (HTTP without session ids), ``late`` (the recording
                                           began in the middle), ``without=sse,end`` (what was not recorded)
``C #1 METHOD {params}``                   a request of the client; ``S`` is the server. The id is JSON: ``#"a"``
``C METHOD {params}``                      a notification
``S #1 {result}``                          a result
``S #1 !-32601 "text" {data}``             an error; ``#null`` has id null, ``!`` without ``#`` has none
``S> {...}``, ``S> [...]``                 a message as it stands: nothing is added
``S| hello``                               bytes that are no message, as they stand; ``\\xE9`` is a byte
``@ 2.5``                                  2.5 seconds go by (lines are a millisecond apart)
``repeat 9 LINE``                          the line so many times, all at once; ``<n>`` is the number of the time
``* FROM KIND {members}``                  any other event: ``* server process {"did": "exit", "code": 1}``. FROM is
                                           client, server or -; ``note``, ``text``, ``exchange``, ``connection`` and
                                           ``message`` are among the members
=========================================  ========================================================================

What is left out is filled in, where the revision needs it: ``jsonrpc``; in 2026-07-28 the three members of ``_meta`` of
a request, ``resultType`` of a result, the caching hints of the results that have them, and the members of the result
of `server/discover`, with the capabilities of ``server=``.

Over HTTP a message may be preceded by the number of its exchange and what is odd about it, in brackets:

=========================================  ========================================================================
line                                       what it makes
=========================================  ========================================================================
``C [3] #1 tools/list {}``                 the request's head (POST, all header fields), the message
``C [3 Accept=text/html Mcp-Name=] ...``   the same with another value of a header field, or without it. A value with
                                           blanks is JSON: ``Accept="a, b"``
``C [3] GET /mcp {"Name": "value"}``       the head of a request without message, with these fields; to /mcp with
                                           those of session and revision, too, unless they are null. A target with
                                           scheme and host is that of another server
``C [3] body {members}``                   a body that is no message: ``{"form": [["a", "b"]]}``, ``{"json": {}}``
``S [3] 200 {"Content-Type": "..."}``      the head of the response, with these fields only
``S [3] stream``                           the same: 200 with text/event-stream
``S [3] #1 {}``                            the response. Without a head before: 200, application/json. After it the
                                           exchange ends, unless ``open`` stands in the brackets: ``S [3 open] #1 {}``
``S [3 id=7 retry=500 event=x] ...``       a message in an SSE event with these
``S [3] event {"id": "0", "data": ""}``    an SSE event without message
``S [3] body {members}``                   a body that is no message
``S [3] document {...}``                   200, application/json, this JSON value as body, the end
``S [3] end``, ``C [3] end``               the exchange ends, by the server or by the client; ``end cut``: bytes missing
=========================================  ========================================================================

Without brackets a message of the client gets an exchange of its own, from 101 on; notifications and responses are
answered by 202 at once. A response of the server goes to the exchange of its request, any other message of it to the
last stream that is open. Over HTTP+SSE messages of the server go to the GET stream, which ``on`` opens.
"""

import re
from typing import Any, Dict, List, Optional, Tuple

from ...jsontext import JsonError, dumps, loads
from ...methods import EXTENSION_METHODS, METHODS
from ...revisions import LATEST, Revision, revision
from ...wiretrace import (
    BODY, CLIENT, END, FORMAT, HEADER, MESSAGE, OPEN, RECORDED, REQUEST, RESPONSE, SERVER, SSE_EVENT, Event,
)

_TRANSPORTS = {"stdio": "stdio", "tcp": "tcp", "memory": "memory", "http": "streamable-http", "sse": "http+sse"}
_PARTIES = {"C": CLIENT, "S": SERVER}
_STEP = 0.001
_CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
           "server/discover", "skills/list", "skills/get")
_NAMED = {row.name: row.named for row in (*METHODS, *EXTENSION_METHODS) if row.named is not None}
_ALL_CLIENT: Dict[str, Any] = {"roots": {"listChanged": True}, "sampling": {}}
_ALL_SERVER: Dict[str, Any] = {
    "tools": {"listChanged": True}, "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True}, "logging": {},
}
_LINE = re.compile(r"([CS])([|>]?) ?(?:\[(\d+)((?: [^\]\"]+(?=[\]\"])|\"[^\"]*\")*)\](>?) ?)?(.*)$", re.DOTALL)
_WORD = re.compile(r'(\S+?)=("[^"]*"|\{.*?\}(?= \w+=| \w+$|$)|\S*)|(\S+)')
SESSION = "***5e551011"
_HOST = "127.0.0.1:8000"


class SceneError(ValueError):
    """A line of a scene cannot be read; the text says which."""


def traces(scene: str) -> Tuple[List[Event], List[Event]]:
    """Return both traces of a scene: the one that keeps the rule, and the one that breaks it. Raises `SceneError`."""
    return trace(scene, "+"), trace(scene, "-")


def trace(scene: str, sign: str) -> List[Event]:
    """Return the events of a scene with the lines of one sign, ``+`` or ``-``. Raises `SceneError`."""
    made = _EventMaker()
    for number, line in enumerate(scene.splitlines(), 1):
        mark = line.lstrip()[:1]
        if mark in ("+", "-"):
            if mark != sign:
                continue
            line = line.lstrip()[1:]
        if line.strip() and not line.lstrip().startswith(";"):
            try:
                made.line(line.strip())
            except (JsonError, ValueError, KeyError, IndexError) as error:
                raise SceneError("line %d: %s: %s" % (number, line.strip(), error)) from error
    return made.events


def _json(text: str, empty: Any = None) -> Any:
    return loads(text.encode("utf-8")) if text.strip() else empty


class _EventMaker:
    """Makes events of lines."""

    def __init__(self) -> None:
        self.events: List[Event] = []
        self.revision: Revision = LATEST
        self.transport = ""
        self.capabilities: Dict[str, Dict[str, Any]] = {}
        self.session: Optional[str] = None
        self.time = 0.0
        self.next = 101
        self.heads: Dict[int, Dict[str, Any]] = {}
        """The facts known of each exchange: ``request`` (its id), ``answered``, ``stream``, ``over``."""
        self.methods: Dict[str, str] = {}
        """The methods of requests by party and id."""
        self.get = 0
        """The exchange of the GET stream of HTTP+SSE."""

    def add(
        self, direction: str, kind: str, message: Any = None, text: str = "", exchange: int = 0,
        connection: str = "", **more: Any,
    ) -> None:
        self.events.append(Event(round(self.time, 6), direction, kind, message, text, connection, exchange, more))
        self.time += _STEP

    @property
    def http(self) -> bool:
        return self.transport in ("streamable-http", "http+sse")

    def line(self, line: str) -> None:
        if line.startswith("on "):
            self.begin(line[3:])
        elif line.startswith("@ "):
            self.time += float(line[2:])
        elif line.startswith("repeat "):
            _, times, repeated = line.split(" ", 2)
            start = self.time
            for time in range(1, int(times) + 1):
                self.line(repeated.replace("<n>", str(time)))
                self.time = start
        elif line.startswith("* "):
            who, kind, members = (line[2:].split(" ", 2) + [""])[:3]
            more = _json(members, {})
            text = more.pop("note", more.pop("text", ""))
            self.add("" if who == "-" else who, kind, more.pop("message", None), text, more.pop("exchange", 0),
                     more.pop("connection", ""), **more)
        else:
            found = _LINE.match(line)
            if found is None:
                raise ValueError("begins with C, S, on, @ or *")
            party, mark, number, options, verbatim, rest = found.groups()
            self.spoken(_PARTIES[party], mark or verbatim, int(number or 0), _words(options or ""), rest)

    # The beginning

    def begin(self, text: str) -> None:
        words = text.split(" ", 2)
        self.transport = _TRANSPORTS[words[0]]
        self.revision = revision(words[1])
        options = _words(words[2] if len(words) > 2 else "")
        lacking = options.get("without", "").split(",")
        late = "late" in options
        recorded = [name for name in RECORDED if name not in lacking and not (late and name == "start")]
        self.events.append(Event(0.0, "", HEADER, more={"trace": FORMAT, "recorder": "scene", "recorded": recorded}))
        client = dict(_ALL_CLIENT)
        if self.revision.elicitation:
            client["elicitation"] = {"form": {}, "url": {}} if self.revision.elicitation_modes else {}
        server = dict(_ALL_SERVER)
        if self.revision.completions_capability:
            server["completions"] = {}
        if self.revision.stateless:
            client.pop("roots")
            client["roots"] = {}
        self.capabilities = {CLIENT: _json(options.get("client", ""), client),
                             SERVER: _json(options.get("server", ""), server)}
        self.add("", OPEN, transport=self.transport)
        if self.transport == "http+sse":
            self.get = self.next
            self.next += 1
            self.add(CLIENT, REQUEST, exchange=self.get, method="GET", target="/sse",
                     fields=[["Host", "127.0.0.1:8000"], ["Accept", "text/event-stream"]])
            self.heads[self.get] = {"stream": True, "answered": True}
            self.add(SERVER, RESPONSE, exchange=self.get, status=200, fields=[["Content-Type", "text/event-stream"]])
            self.add(SERVER, SSE_EVENT, exchange=self.get, event="endpoint", data="/messages?sessionId=" + SESSION)
        if self.revision.handshake and "bare" not in options and not late:
            if self.transport == "streamable-http" and "nosession" not in options:
                self.session = SESSION
            self.handshake()
        elif late and self.transport == "streamable-http" and "nosession" not in options:
            self.session = SESSION

    def handshake(self) -> None:
        session, self.session = self.session, None
        self.message(CLIENT, 0, {}, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": self.revision.name, "capabilities": self.capabilities[CLIENT],
            "clientInfo": {"name": "client", "version": "1"}}})
        number = self.next - 1
        if self.transport == "streamable-http":
            fields = [["Content-Type", "application/json"]] + ([["Mcp-Session-Id", session]] if session else [])
            self.head(number, 200, fields)
        self.message(SERVER, number if self.transport == "streamable-http" else 0, {}, {
            "jsonrpc": "2.0", "id": 0, "result": {
                "protocolVersion": self.revision.name, "capabilities": self.capabilities[SERVER],
                "serverInfo": {"name": "server", "version": "1"}}})
        self.session = session
        self.message(CLIENT, 0, {}, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    # Lines of the parties

    def spoken(self, party: str, mark: str, number: int, options: Dict[str, str], rest: str) -> None:
        first, _, after = rest.partition(" ")
        if mark == "|":
            data = re.sub(rb"\\x([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found.group(1).decode()), rest.encode())
            self.add(party, MESSAGE, None, data.decode("utf-8", "surrogateescape"), number)
        elif mark == ">":
            self.verbatim(party, number, options, rest)
        elif rest in ("end", "end cut"):
            self.end(party, number, rest == "end")
        elif first == "body":
            self.body(party, number, _json(after, {}))
        elif first == "document" and party == SERVER:
            self.head(number, 200, [["Content-Type", "application/json"]])
            self.body(party, number, {"json": _json(after)})
            self.end(party, number, True)
        elif first == "event" and party == SERVER:
            more = _json(after, {})
            self.add(SERVER, SSE_EVENT, exchange=number, **more)
        elif first == "stream" and party == SERVER:
            self.head(number, 200, [["Content-Type", "text/event-stream"], ["X-Accel-Buffering", "no"]])
        elif first.isdigit() and party == SERVER:
            self.head(number, int(first), [list(pair) for pair in _json(after, {}).items()])
        elif first in ("GET", "POST", "DELETE", "PUT", "OPTIONS", "HEAD") and party == CLIENT:
            target, _, fields = after.partition(" ")
            known: Dict[str, Any] = {}
            if target == "/mcp" and self.transport == "streamable-http":
                if self.session is not None:
                    known["Mcp-Session-Id"] = self.session
                if self.revision.version_header:
                    known["MCP-Protocol-Version"] = self.revision.name
            self.request(number, first, target, {**known, **_json(fields, {})}, options)
        else:
            self.message(party, number, options, self.filled(party, rest))

    def verbatim(self, party: str, number: int, options: Dict[str, str], rest: str) -> None:
        try:
            value = _json(rest)
        except JsonError:
            value = None
        canonical = isinstance(value, (dict, list))
        self.message(party, number, options, value if canonical else None, "" if canonical else rest)

    def filled(self, party: str, rest: str) -> Dict[str, Any]:
        """Return the message of a line, with what the revision needs."""
        message: Dict[str, Any] = {"jsonrpc": "2.0"}
        if rest.startswith("#"):
            id, _, rest = rest[1:].partition(" ")
            message["id"] = _json(id)
        if rest.startswith("!"):
            code, _, rest = rest[1:].partition(" ")
            text = re.match(r'"(?:[^"\\]|\\.)*"', rest)
            message["error"] = {"code": int(code), "message": _json(text.group()) if text else "failed"}
            data = rest[text.end():] if text else rest
            if data.strip():
                message["error"]["data"] = _json(data)
            return message
        if rest.startswith("{"):
            result = _json(rest)
            method = self.methods.get(dumps(["C" if party == SERVER else "S", message.get("id")]), "")
            if self.revision.stateless:
                result.setdefault("resultType", "complete")
                if method in _CACHED and result["resultType"] == "complete":
                    result.setdefault("ttlMs", 0)
                    result.setdefault("cacheScope", "private")
                if method == "server/discover":
                    result.setdefault("supportedVersions", [self.revision.name])
                    result.setdefault("capabilities", self.capabilities[SERVER])
                    result.setdefault("serverInfo", {"name": "server", "version": "1"})
            message["result"] = result
            return message
        method, _, rest = rest.partition(" ")
        message["method"] = method
        params = _json(rest)
        if "id" in message:
            self.methods[dumps([party[0].upper(), message["id"]])] = method
            if self.revision.stateless and party == CLIENT and method != "initialize":
                params = dict(params or {})
                params["_meta"] = {
                    "io.modelcontextprotocol/protocolVersion": self.revision.name,
                    "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": self.capabilities[CLIENT], **params.get("_meta", {})}
        if params is not None:
            message["params"] = params
        return message

    # HTTP

    def request(self, number: int, method: str, target: str, fields: Dict[str, Any], options: Dict[str, str]) -> None:
        given = dict(fields)
        given.update({name: value for name, value in options.items() if name not in ("open",)})
        scheme, apart, rest = target.partition("://")
        host, slash, path = rest.partition("/") if apart else (_HOST, "/", target[1:])
        self.add(CLIENT, REQUEST, exchange=number, method=method, target=slash + path,
                 url="%s://%s" % (scheme if apart else "http", host), fields=[
                     ["Host", host], *([name, value] for name, value in given.items() if value not in (None, ""))])
        self.heads[number] = {}

    def head(self, number: int, status: int, fields: List[List[str]]) -> None:
        known = self.heads.setdefault(number, {})
        known["answered"] = True
        known["stream"] = any(value.startswith("text/event-stream") for name, value in fields
                              if name.lower() == "content-type")
        self.add(SERVER, RESPONSE, exchange=number, status=status, fields=fields)

    def end(self, party: str, number: int, complete: bool) -> None:
        if not self.heads.setdefault(number, {}).get("over"):
            self.heads[number]["over"] = True
            self.add(party, END, exchange=number, complete=complete)

    def body(self, party: str, number: int, members: Dict[str, Any]) -> None:
        text = {"text": members.pop("text")} if "text" in members else {}
        self.add(party, BODY, exchange=number, **members)
        self.events[-1] = self.events[-1]._replace(more={**members, **text})

    def post(self, number: int, message: Any, options: Dict[str, str]) -> None:
        """Add the head of the POST of a message."""
        fields: Dict[str, Any] = {"Content-Type": "application/json"}
        target = "/messages?sessionId=" + SESSION
        if self.transport == "streamable-http":
            target = "/mcp"
            fields["Accept"] = "application/json, text/event-stream"
            first = message if isinstance(message, dict) else {}
            opening = first.get("method") == "initialize"
            if self.session is not None and not opening:
                fields["Mcp-Session-Id"] = self.session
            if self.revision.version_header and not opening:
                fields["MCP-Protocol-Version"] = self.revision.name
            if self.revision.stateless and "method" in first:
                fields["Mcp-Method"] = first["method"]
                params = first.get("params")
                name = params.get(_NAMED.get(str(first["method"]), "")) if isinstance(params, dict) else None
                if isinstance(name, str):
                    fields["Mcp-Name"] = name
        for name, value in options.items():
            same = next((known for known in fields if known.lower() == name.lower()), name)
            fields[same] = value
        self.request(number, "POST", target, fields, {})

    def message(self, party: str, number: int, options: Dict[str, str], message: Any, raw: str = "") -> None:
        """Add a message, and over HTTP what it needs around it."""
        names = ("id", "retry", "event") if party == SERVER else ()
        sse: Dict[str, Any] = {name: options.pop(name) for name in names if name in options}
        if "retry" in sse:
            sse["retry"] = int(sse["retry"])
        more: Dict[str, Any] = {"sse": sse} if sse else {}
        keep = options.pop("open", None) is not None
        if not self.http:
            self.add(party, MESSAGE, message, raw)
            return
        id = dumps(message.get("id")) if isinstance(message, dict) and "id" in message else None
        if party == CLIENT:
            if not number:
                number, self.next = self.next, self.next + 1
            if number not in self.heads:
                self.post(number, message, options)
            self.add(CLIENT, MESSAGE, message, raw, number)
            asks = isinstance(message, dict) and "method" in message and "id" in message
            if asks:
                self.heads[number]["request"] = id
            if self.transport == "http+sse" or (number > 100 and not asks and isinstance(message, dict)):
                self.head(number, 202, [])
                self.end(SERVER, number, True)
            return
        number = number or self._place(id, message)
        known = self.heads.setdefault(number, {})
        if not known.get("answered"):
            self.head(number, 200, [["Content-Type", "application/json"]])
        if known.get("stream") and "sse" not in more:
            more["sse"] = {}
        self.add(SERVER, MESSAGE, message, raw, number, **more)
        answers = id is not None and known.get("request") == id and "method" not in message
        if answers and not keep and number != self.get:
            self.end(SERVER, number, True)

    def _place(self, id: Optional[str], message: Any) -> int:
        """Return the exchange for a message of the server without brackets."""
        if self.get:
            return self.get
        if isinstance(message, dict) and "method" not in message:
            for number in sorted(self.heads, reverse=True):
                if self.heads[number].get("request") == id and not self.heads[number].get("over"):
                    return number
        streams = [number for number, known in self.heads.items() if known.get("stream") and not known.get("over")]
        if not streams:
            raise ValueError("no exchange is open for it: write [n]")
        return streams[-1]


def _words(text: str) -> Dict[str, str]:
    """Return the words of a line: ``name=value``, or a name alone, whose value is "1"."""
    found = {}
    for name, value, alone in _WORD.findall(text.strip()):
        if alone:
            found[alone] = "1"
        else:
            found[name] = str(_json(value)) if value.startswith('"') else value
    return found
