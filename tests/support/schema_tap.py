"""A tap on every connection of the tests: what our side sends must be legal in the agreed revision.

`listen` puts it under each `Sender` (so under each client and server connection made while a test runs); the fixture
in `tests/conftest.py` fails the test with what it found. A child process of a test is a server of ours, so what it
sends is judged as it arrives. What a scripted peer sends is not: it may lie.
"""
import json
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from mcp_ref.deadline import Deadline
from mcp_ref.peer.sender import Sender
from mcp_ref.protocol.envelope import VERSION
from mcp_ref.revisions import find
from mcp_ref.transports.base import Outgoing, Received, Transport
from mcp_ref.transports.lines.child import StdioChild
from mcp_ref.transports.tap import Tap

from . import judged, official_schema
from .faults import Wrapper

Asked = Dict[Tuple[type, Any], Tuple[str, Optional[str]]]
"""Id, with its type, -> method of a request, and the revision that it names if it stands alone."""


class SchemaTap(Wrapper):
    """A transport that judges what passes."""

    def __init__(self, inner: Transport, findings: List[str]) -> None:
        super().__init__(inner)
        self._findings = findings
        self._child = isinstance(inner.inner if isinstance(inner, (Tap, Wrapper)) else inner, StdioChild)
        self._lock = threading.Lock()
        self._asked_by_us: Asked = {}
        self._asked_by_peer: Asked = {}
        self._alone: Optional[str] = None
        """The revision of the last request that stood alone."""
        self.sender: Optional[Sender] = None

    def read(self) -> Optional[List[Received]]:
        items = self.inner.read()
        for item in items or []:
            for message in _messages(item):
                if self._child:
                    self._judge(message, "the child", self._asked_by_us)
                self._note(message, self._asked_by_peer)
        return items

    def write(self, messages: Sequence[bytes]) -> None:
        for data in messages:
            self._sent(data)
        self.inner.write(messages)

    def send(self, messages: Sequence[Outgoing]) -> None:
        for message in messages:
            self._sent(message.data)
        self.inner.send(messages)

    def send_and_wait(self, message: Outgoing, until: Deadline, take: Callable[[bytes], bool]) -> bool:
        sent: bool = self.inner.send_and_wait(message, until, take)
        if sent:
            self._sent(message.data)
        return sent

    def _sent(self, data: bytes) -> None:
        if b"\n" in data:
            self._findings.append("a line end inside a message: %.200r" % data)
        for message in _messages(data):
            self._note(message, self._asked_by_us)
            self._judge(message, self._party(), self._asked_by_peer)

    def post(self, message: Optional[bytes], about: Any = None, final: bool = False) -> None:
        for sent in [] if message is None else _messages(message):
            self._note(sent, self._asked_by_us)
            self._judge(sent, self._party(), self._asked_by_peer)
        self.inner.post(message, about, final)

    def arrived(self, message: bytes) -> None:
        for one in _messages(message):
            self._note(one, self._asked_by_peer)
        if hasattr(self.inner, "arrived"):
            self.inner.arrived(message)

    def _note(self, message: Dict[str, Any], asked: Asked) -> None:
        """Remember a request, for its answer: its method, and by which revision it goes where it says so itself."""
        if "method" in message and isinstance(message.get("id"), (int, str)):
            key, stated = (type(message["id"]), message["id"]), _stated(message)
            with self._lock:
                if stated:  # over HTTP the same id comes again and again
                    asked[key] = str(message["method"]), stated
                    self._alone = stated
                asked.setdefault(key, (str(message["method"]), stated))

    def _judge(self, message: Dict[str, Any], party: str, asked: Asked) -> None:
        method, revision = None, _stated(message)
        if "method" not in message and message.get("id") is not None:
            with self._lock:
                method, revision = asked.pop((type(message["id"]), message["id"]), (None, None))  # it may come again
        found = official_schema.violations(message, revision or self._revision(message), method)
        if found and "method" in message and "id" not in message and self._alone:
            found = official_schema.violations(message, self._alone)  # it belongs to a request that stands alone
        for finding in found:
            self._findings.append("%s sent %.300s: %s" % (party, json.dumps(message), finding))

    def _revision(self, message: Dict[str, Any]) -> str:
        if self.sender is None or message.get("method") == "initialize":
            return str(message.get("params", {}).get("protocolVersion", "2025-11-25"))
        return str(self.sender.session.rules)

    def _party(self) -> str:
        return self.sender.session.party if self.sender is not None else "somebody"


def _stated(message: Dict[str, Any]) -> Optional[str]:
    """The revision that a message names in its `_meta`, if there is such a one without handshake."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    name = meta.get(VERSION) if isinstance(meta, dict) else None
    revision = find(name) if isinstance(name, str) else None
    return revision.name if revision is not None and revision.stateless else None


def _messages(data: Any) -> Iterator[Dict[str, Any]]:
    if not _compared:
        return
    try:
        value = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


_findings: List[str] = []
_compared = True


def listen(rules: bool = True, schema: bool = True) -> List[str]:
    """Tap every connection made from now on; return the list that findings go to, until the next call.

    ``rules``: the checker's rules are applied to the connections, too. ``schema``: messages are compared with the
    official schema. Without both the taps pass everything on, because tests reach through them.
    """
    global _findings, _compared
    _compared, judged.applied = schema and official_schema.PRESENT, rules
    if Sender.__init__ is not _tapped:
        Sender.__init__ = _tapped  # type: ignore[method-assign]
        if rules:
            judged.ride()
    judged.begin()
    _findings = []
    return _findings


def _tapped(self: Sender, transport: Transport, party: str, *arguments: Any, **options: Any) -> None:
    tap = SchemaTap(judged.watch(transport, party), _findings)
    _ORIGINAL(self, tap, party, *arguments, **options)
    tap.sender = self


_ORIGINAL = Sender.__init__
