"""A writer of events that happened a while ago: each has a time of its own, and is masked before a sink sees it."""

import hashlib
import os
import re
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import deadline
from ..diagnostics.redaction import MASK, is_secret, redact, redact_text
from ..jsontext import JsonError, loads
from ..wiretrace import FORMAT, HEADER, MESSAGE, Event, Sink

SESSION = "mcp-session-id"
NOTHING: Mapping[str, Any] = {}
_COOKIES = ("cookie", "set-cookie")
_FORM_SECRETS = ("code", "assertion", "subject_token", "actor_token", "device_code", "sessionid", "session_id")
_QUERY = re.compile(r"([?&])([^=&#]+)=([^&#]*)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]* +(?=\S)")
_VISIBLE = re.compile(r"[!-~]+").fullmatch


def canonical(data: bytes) -> Any:
    """Return the JSON object or array of these bytes, if they are a canonical message or could be but for line ends.

    None if they are not. See the format in `mcp_ref.wiretrace`.
    """
    try:
        value = loads(data)
    except JsonError:
        return None
    return value if isinstance(value, (dict, list)) else None


class Teller:
    """Gives events to a sink. Not thread-safe: one thread records.

    ``recorder``: its name for the header. ``recorded``: names of `wiretrace.RECORDED`. A sink that raises gets no
    further event; `failure` is the error.
    """

    def __init__(self, sink: Sink, recorder: str, recorded: Sequence[str], started: Optional[str] = None) -> None:
        from .. import __version__

        self.start = deadline.clock()
        self.failure: Optional[Exception] = None
        self._sink = sink
        self._salt = os.urandom(16)
        header: Dict[str, Any] = {"trace": FORMAT, "recorder": "mcp_ref %s %s" % (__version__, recorder)}
        header["started"] = started or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        header["recorded"] = list(recorded)
        self._give(Event(0.0, "", HEADER, more=header))

    def tell(self, kind: str, direction: str = "", at: Optional[float] = None, text: str = "", connection: str = "",
             exchange: int = 0, more: Mapping[str, Any] = NOTHING) -> None:
        """Tell of an event that is no message; ``at``: the time of `deadline.clock` at which it was.

        ``more``: its other members; those that are None are left out.
        """
        text = redact_text(text.encode("utf-8", "backslashreplace").decode("utf-8"))
        masked = {name: self._masked(name, value) for name, value in more.items() if value is not None}
        self._give(Event(self._seconds(at), direction, kind, None, text, connection, exchange, masked))

    def message(self, direction: str, data: bytes, at: Optional[float] = None, connection: str = "",
                exchange: int = 0, sse: Optional[Dict[str, Any]] = None) -> None:
        """Tell of the bytes of a message, whatever they are."""
        value, text = canonical(data), ""
        if value is not None:
            value = redact(value)
        if value is None or b"\n" in data or b"\r" in data:
            text = redact_text(data.decode("utf-8", "surrogateescape"))
        more = {} if sse is None else {"sse": sse}
        self._give(Event(self._seconds(at), direction, MESSAGE, value, text, connection, exchange, more))

    def mask(self, secret: str) -> str:
        """Return the mask of a secret, the same for equal secrets of this trace."""
        digest = hashlib.blake2b(secret.encode("utf-8", "surrogateescape"), digest_size=4, key=self._salt)
        return MASK + digest.hexdigest()

    def _masked(self, name: str, value: Any) -> Any:
        if name == "fields":
            return [[field, self._field(field.lower(), text)] for field, text in value]
        if name == "form":
            return [[field, self.mask(text) if _named_secret(field) else redact_text(text)] for field, text in value]
        if name == "target":
            return _QUERY.sub(self._query, value)
        if name == "command":
            return self._command(value)
        return redact(value)

    def _field(self, name: str, value: str) -> str:
        if name == SESSION:
            return self.mask(value) + ("" if _VISIBLE(value) else "!")
        if name in ("authorization", "proxy-authorization"):
            scheme = _SCHEME.match(value)
            begin = scheme.end() if scheme else 0
            return value[:begin] + self.mask(value[begin:])
        return self.mask(value) if name in _COOKIES or is_secret(name) else redact_text(value)

    def _query(self, found: "re.Match[str]") -> str:
        value = found.group(3)
        return "%s%s=%s" % (found.group(1), found.group(2), self.mask(value) if _named_secret(found.group(2))
                            else redact_text(value))

    def _command(self, words: Sequence[str]) -> List[str]:
        """Mask the words of a command: ``--token X`` as well as what looks like a secret."""
        return [self.mask(word) if before.startswith("-") and is_secret(before) and "=" not in before
                else redact_text(word) for before, word in zip(("",) + tuple(words), words)]

    def _seconds(self, at: Optional[float]) -> float:
        return round((deadline.clock() if at is None else at) - self.start, 6)

    def _give(self, event: Event) -> None:
        if self.failure is not None:
            return
        try:
            self._sink(event)
        except Exception as error:  # a full disk, a closed stream: what is carried goes on
            self.failure = error


def _named_secret(name: str) -> bool:
    return is_secret(name) or name.lower() in _FORM_SECRETS


def header_fields(fields: Sequence[Tuple[str, str]], name: str) -> str:
    """Return the value of a header field, all of one name joined by commas, or ""."""
    return ", ".join(value for field, value in fields if field.lower() == name)
