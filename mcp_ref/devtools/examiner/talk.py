"""A legal conversation with a server, in one revision on one wire; scenes leave the law where they want to.

`ExaminerConversation.open` opens it as the revision wants it [..2025-11-25 basic/lifecycle §Initialization], or finds
out whether the server speaks it, where there is no handshake [2026-07-28 server/discover]. No capability of a client is
declared, unless a scene asks for it: so a server has nothing to ask for.

Most of the time of an examination over pipes is that of the server's starts. So after the first conversation there is
always one process more, which nobody has talked to yet (`WiresAhead`); and nobody waits for the end of one, either
(`Endings`). Sockets and HTTP have nothing to prepare.
"""

import threading
from base64 import b64encode
from collections import deque
from itertools import count
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple, Union

from ...errors import McpError
from ...methods import DISCOVER, INITIALIZE, INITIALIZED, NAMED, PING, TASKS, of_extension
from ...revisions import Revision
from ...threads import start_thread
from ...version import __version__
from ..checker.httpfacts import is_plain
from ..checker.observed import META_REVISION
from .wire import Fields, ListeningWire, Pipe, Reaction, Sse, Web, answer_to, as_bytes, is_response

_IO = "io.modelcontextprotocol/"
VERSION = META_REVISION
INFO, CAPABILITIES, LOG_LEVEL = _IO + "clientInfo", _IO + "clientCapabilities", _IO + "logLevel"
"""The keys in ``_meta`` of a request [2026-07-28 basic/index §_meta]."""
EXAMINER = {"name": "mcp_ref examiner", "version": __version__}
MOST_PAGES = 100
"""The pages of a list that are asked for."""
Wire = Union[Pipe, Sse, Web]
_NAMED = {**NAMED, **{row.name: row.named for row in of_extension(TASKS) if row.named is not None}}
"""Method -> the member of the params that `Mcp-Name` repeats."""
_SILENCE, _LATE = 1.0, 0.1
"""Seconds for which an answer is waited for that need not come; and once a later request was answered."""


class NotSpoken(Exception):
    """The server does not speak a revision, or no conversation could be opened; the text says why.

    ``answer``: what came of the opening.
    """

    def __init__(self, text: str, answer: Reaction = Reaction()) -> None:
        super().__init__(text)
        self.answer = answer


class ExaminerConversation:
    """A conversation; ``patience``: the seconds for which an answer is waited for.

    ``declared``: the capabilities of the client.
    """

    def __init__(self, wire: Wire, revision: Revision, patience: float,
                 declared: Optional[Dict[str, Any]] = None) -> None:
        self.wire = wire
        self.revision = revision
        self.patience = patience
        self.declared = declared or {}
        self.results: Dict[str, Any] = {}
        """Method of the server's requests -> the result that it gets; the others get an error."""
        if isinstance(wire, Web):
            wire.oblige = self._oblige
        else:
            wire.results = self.results
        self.opened: Dict[str, Any] = {}
        """The result of `initialize` or `server/discover`."""
        self.session = ""
        """The session id of Streamable HTTP; "" if there is none."""
        self.failed = ""
        """The reason why a request was not answered; "" if all were, or an ordinary one was since."""
        self._ids = count(1)
        self._open = False

    @property
    def capabilities(self) -> Dict[str, Any]:
        """The capabilities that the server has declared."""
        found = self.opened.get("capabilities")
        return found if isinstance(found, dict) else {}

    @property
    def pipe(self) -> ListeningWire:
        """The wire, in scenes that are played on pipes and on HTTP+SSE. Raises TypeError for another one."""
        if not isinstance(self.wire, ListeningWire):
            raise TypeError("on this wire nothing comes by itself")
        return self.wire

    @property
    def web(self) -> Web:
        """The wire, in scenes that are played over HTTP. Raises TypeError for another one."""
        if not isinstance(self.wire, Web):
            raise TypeError("this wire is not HTTP")
        return self.wire

    def _oblige(self, request: Dict[str, Any]) -> None:
        self.say(answer_to(request, self.results))

    @property
    def next_id(self) -> int:
        """An id that was not used before."""
        return next(self._ids)

    def open(self, seconds: Optional[float] = None) -> None:
        """Open the conversation. ``seconds``: to wait for the answer to `initialize`. Raises `NotSpoken`."""
        if self.revision.stateless:
            answer = self.request(DISCOVER)
            if answer.result is None:
                raise NotSpoken("server/discover: %s" % answer, answer)
            spoken = answer.result.get("supportedVersions")
            if isinstance(spoken, list) and self.revision.name not in spoken:
                raise NotSpoken("server/discover names %s" % ", ".join(map(str, spoken)))
        else:
            answer = self.initialize(self.revision.name, seconds)
            if answer.result is None:
                raise NotSpoken("initialize: %s" % answer, answer)
            offered = answer.result.get("protocolVersion")
            if offered != self.revision.name:
                raise NotSpoken("initialize: the server offers %s" % offered,
                                Reaction() if isinstance(offered, str) else answer)
            self.session = answer.field("Mcp-Session-Id") or ""
        self.opened, self._open = answer.result, True
        if not self.revision.stateless:
            self.notify(INITIALIZED)

    def begin(self, session: str) -> None:
        """Take it that the conversation was opened otherwise, with this session id or with none."""
        self.session, self._open = session, True

    def initialize(self, version: str, seconds: Optional[float] = None) -> Reaction:
        """Send `initialize` with a version, and nothing behind it."""
        return self.say(self.opening(version), seconds=seconds)

    def opening(self, version: str = "") -> Dict[str, Any]:
        """Return the first request of a conversation; ``version``: in the place of that of the revision."""
        if self.revision.stateless:
            return self.message(DISCOVER, id=self.next_id)
        return {"jsonrpc": "2.0", "id": self.next_id, "method": INITIALIZE, "params": {
            "protocolVersion": version or self.revision.name, "capabilities": self.declared, "clientInfo": EXAMINER}}

    def message(self, method: str, params: Optional[Dict[str, Any]] = None, id: Any = None,
                meta: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """Return a legal message: with an id a request, without one a notification.

        ``meta``: members of ``_meta`` besides those that the revision needs; None takes one away.
        """
        made: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if id is not None:
            made["id"] = id
        params = dict(params or {})
        needed = {VERSION: self.revision.name, INFO: EXAMINER, CAPABILITIES: self.declared} if (
            self.revision.stateless and id is not None) else {}
        full = {name: value for name, value in {**needed, **params.get("_meta", {}), **(meta or {})}.items()
                if value is not None}
        if full:
            params["_meta"] = full
        if params:
            made["params"] = params
        return made

    def request(self, method: str, params: Optional[Dict[str, Any]] = None, meta: Optional[Dict[str, Any]] = None,
                seconds: Optional[float] = None) -> Reaction:
        """Send a legal request, and return what came of it."""
        return self.say(self.message(method, params, self.next_id, meta), seconds=seconds)

    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> Reaction:
        """Send a legal notification. On a pipe nothing can come of it; over HTTP a status."""
        return self.say(self.message(method, params), seconds=0)

    def say(self, value: Any, fields: Optional[Dict[str, Optional[str]]] = None, seconds: Optional[float] = None,
            id: Any = None) -> Reaction:
        """Send anything, a JSON value or bytes, and wait for the response to it.

        ``fields``: header fields in the place of the legal ones, None takes one away. ``seconds``: to wait; 0: do not
        wait on a pipe. ``id``: that of the response, if the value does not say it.
        """
        seconds = self.patience if seconds is None else seconds
        if isinstance(self.wire, Web):
            return self.wire.send("POST", self.header_fields(value, fields or {}), as_bytes(value),
                                  seconds or self.patience, host=(fields or {}).get("Host") or "")
        if id is None and isinstance(value, dict):
            id = value.get("id")
        since = len(self.wire.messages)
        fields_of_http = () if self.wire.kind == "pipe" else self.header_fields(value, fields or {})
        refusal = self.wire.send(value, fields_of_http)
        if refusal is not None or not seconds:
            return refusal or Reaction()
        return self.answer(id, seconds, since)

    def provoke(self, value: Any, fields: Optional[Dict[str, Optional[str]]] = None) -> Reaction:
        """Send what need not be answered, a JSON value or bytes, and return the response to it, if there is one.

        On a pipe an ordinary request goes behind it, and the answer to that ends the wait, a moment later: servers may
        answer in another order.
        """
        longest = min(_SILENCE, self.patience)
        if isinstance(self.wire, Web):
            return self.say(value, fields, longest)
        since = len(self.wire.messages)
        self.say(value, seconds=0)
        behind, id = self.ordinary(), value.get("id") if isinstance(value, dict) else None
        self.say(behind, seconds=0)
        self.wire.wait(lambda message: is_answer(message, id) or is_answer(message, behind["id"]), longest, since)
        return self.answer(id, min(_LATE, longest), since)

    def ordinary(self) -> Dict[str, Any]:
        """Return a request that every server answers."""
        return self.message(DISCOVER if self.revision.stateless else PING, id=self.next_id)

    def answer(self, id: Any, seconds: Optional[float] = None, since: int = 0) -> Reaction:
        """Wait for the response with an id on a pipe; with None: for one without an id that can be told."""
        wire = self.pipe
        seconds = self.patience if seconds is None else seconds
        found = wire.wait(lambda message: is_answer(message, id), seconds, since)
        if found is not None:
            return Reaction(found)
        why = "the connection ended: %s" % wire.ended if wire.ended else "no answer in %g s" % seconds
        if seconds >= self.patience:
            self.failed = why
        return Reaction(why=why)

    def header_fields(self, value: Any, given: Dict[str, Optional[str]]) -> Fields:
        """Return the header fields of the `POST` of a message; those given go before the legal ones."""
        made: Dict[str, Optional[str]] = {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.revision.stateless:
            method = value.get("method") if isinstance(value, dict) else None
            params = value.get("params") if isinstance(value, dict) else None
            made["MCP-Protocol-Version"] = self.revision.name
            if isinstance(method, str):
                made["Mcp-Method"] = method
                name = params.get(_NAMED.get(method, "")) if isinstance(params, dict) else None
                if isinstance(name, str):
                    made["Mcp-Name"] = encoded(name)
        elif self._open:
            made["Mcp-Session-Id"] = self.session or None
            made["MCP-Protocol-Version"] = self.revision.name if self.revision.version_header else None
        lower = {name.lower() for name in given}
        kept = [(name, text) for name, text in made.items() if name.lower() not in lower]
        return [(name, text) for name, text in [*kept, *given.items()] if text is not None and name != "Host"]

    def alive(self) -> str:
        """Return "" if the server answers an ordinary request, or what came of it."""
        answer = self.say(self.ordinary())
        self.failed = "" if answer.result is not None else str(answer)
        return self.failed

    def quiet(self, since: int) -> Optional[Any]:
        """Return a response that came on a pipe although there was nothing to answer; None if none came.

        An ordinary request that is answered ends the wait: what comes later the checker sees.
        """
        if isinstance(self.wire, Web):
            return None
        behind = self.ordinary()
        self.say(behind)
        return self.wire.wait(lambda each: is_response(each) and not is_answer(each, behind["id"]), 0, since)

    def pages(self, method: str, member: str) -> Iterator[Tuple[Reaction, List[Any]]]:
        """Ask for the pages of a list until there is none, an answer that is no result, or too many."""
        cursor: Dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            answer = self.request(method, cursor)
            items = (answer.result or {}).get(member)
            yield answer, items if isinstance(items, list) else []
            if (answer.result or {}).get("nextCursor") is None:
                return
            cursor = {"cursor": (answer.result or {})["nextCursor"]}

    def close(self) -> None:
        """End the conversation: over HTTP with `DELETE`, where there is a session."""
        if isinstance(self.wire, Web) and self.session:
            self.wire.send("DELETE", [(name, text) for name, text in self.header_fields(None, {})
                                      if name not in ("Content-Type", "Accept")], None, self.patience)
        self.wire.close()


def is_answer(message: Any, id: Any) -> bool:
    """Return True for a response with an id; with None: for one without an id that can be told."""
    return is_response(message) and type(message.get("id")) is type(id) and message.get("id") == id


def encoded(text: str) -> str:
    """Return a value as a header field has it [2026-07-28 basic/transports/streamable-http §Value Encoding]."""
    return text if is_plain(text) else in_base64(text)


def in_base64(text: str) -> str:
    """Return a value in the encoded form, which also one that could stand as it is may have."""
    return "=?base64?%s?=" % b64encode(text.encode("utf-8")).decode("ascii")


_CLOSING = 4
"""Conversations of a server that may be ending while others go on."""


class WiresAhead:
    """Open wires to one server; ``make``: makes one that is not open yet. One thread takes them."""

    def __init__(self, make: Callable[[], Wire]) -> None:
        self._make = make
        self._starting: Optional[threading.Thread] = None
        self._ahead: Optional[Pipe] = None

    def take(self) -> Wire:
        """Return a wire that nobody has used, and have the next one started. Raises `TransportError`."""
        wire = self._spare() or self._opened()
        if isinstance(wire, Pipe) and wire.pid is not None:
            self._starting = start_thread("mcp-ref:examiner", self._start)
        return wire

    def _opened(self) -> Wire:
        wire = self._make()
        if not isinstance(wire, Web):
            wire.open()
        return wire

    def _start(self) -> None:
        try:
            self._ahead = self._opened()  # type: ignore[assignment]
        except McpError:
            pass  # whoever needs one tries again, and hears why it fails

    def _spare(self) -> Optional[Pipe]:
        """Return the wire that was prepared, if there is one, and it has not ended by itself."""
        if self._starting is not None:
            self._starting.join()
        wire, self._ahead, self._starting = self._ahead, None, None
        if wire is not None and wire.ended:
            wire.close()
            return None
        return wire

    def close(self) -> None:
        """End the one that nobody has used."""
        wire = self._spare()
        if wire is not None:
            wire.close()


class Endings:
    """Conversations that are ending; at most a few at a time."""

    def __init__(self) -> None:
        self._threads: Deque[threading.Thread] = deque()

    def end(self, talk: ExaminerConversation) -> None:
        """End a conversation; on a pipe without waiting for its end."""
        if not isinstance(talk.wire, Pipe):  # quick, and scenes send to streams that have ended
            talk.close()
            return
        if len(self._threads) >= _CLOSING:
            self._threads.popleft().join()
        self._threads.append(start_thread("mcp-ref:examiner", talk.close))

    def wait(self) -> None:
        """Wait until all have ended."""
        while self._threads:
            self._threads.popleft().join()
