"""The audit log: who did what, as JSON lines [.. server/tools §Security Considerations] SHOULD.

One line for each event, which begins with ``time`` (UTC), ``seq`` (1, 2, 3 ...: a gap shows a lost line), ``event`` and
``server`` (the host's own name for it). The rest depends on the event:

====================  ===============================================================================================
event                 further members
====================  ===============================================================================================
``connect``           ``outcome``: "ok" or "failed"; ``target`` (without arguments and environment), ``trusted``
``disconnect``        ``reason``: why it ended, on our wish
``lost``              ``reason``: why it ended by itself
``tool_call``         ``tool``, ``decision``, ``outcome``, ``ms``, ``arguments``, ``definition`` (its digest)
``definition``        ``tool``: what was approved before has changed; ``definition``, ``before``: digests
``resource``          ``uri``, ``outcome``, ``ms``
``prompt``            ``prompt``, ``outcome``, ``ms``, ``arguments``
``sampling``          ``decision``, ``model``, ``messages`` (how many), ``context`` (whose), ``outcome``, ``ms``
``elicitation``       ``decision``, ``mode``, ``action``, ``outcome``, ``ms``
``roots``             ``decision``, ``roots`` (the URIs that the server was given), ``outcome``, ``ms``
``error``             ``what`` failed, ``reason``
====================  ===============================================================================================

``decision`` is "allowed", "changed" (allowed with other arguments, another prompt, fewer roots) or "denied", then with
``reason``; without it the policy was not asked. ``outcome`` is "ok", "tool_error" (``isError``) or the name of an
exception. ``count`` is there if equal events came so often that not every one is written: a server may ask above a
rate, or for its roots, without end. Prompts, results and the user's input are never written; arguments are as
`Audit` is told, and token-like values in reasons and URIs are masked.

Servers choose much of this text, such as tool names and error messages. It cannot forge a line: JSON escapes every
control character and everything beyond ASCII, and long texts are cut in the middle. Nothing here raises into a call: an
event that cannot be written is logged and counted (`Audit.dropped`). A file only grows: nothing here rotates it, but it
is opened anew for each line, so that a file which was moved away is begun again. Lines are not forced to the disk.
"""

import hashlib
import io
import itertools
import json
import os
import threading
import time
from typing import IO, Any, Callable, Dict, List, Optional, Union

from ..diagnostics.packagelog import Counters, log_raised
from ..diagnostics.redaction import redact, redact_text
from ..options import strict_options

AuditTarget = Union[str, "os.PathLike[str]", IO[Any], Callable[[Dict[str, Any]], Any]]
"""A path to append to, an open file of text or bytes, or a function that gets each event as a dict."""

_MAY_HOLD_SECRETS = frozenset(["reason", "uri", "roots", "target"])
"""Details that are texts of others: a server's last words, a URI with a token in it."""
_LONGEST_TEXT = 512
_MAX_VALUES = 200
_SHORTEST_LINE = 512


class Audit:
    """Writes events to ``target``. Thread-safe.

    ``max_line``: characters of a line (at least 512); a longer one loses its details. ``arguments``: how arguments
    are shown: ``"digest"`` (SHA-256: proves what was sent to someone who has it; short ones can be guessed),
    ``"redacted"`` (token-like values masked) or a function of the arguments that returns a JSON value. ``clock``:
    seconds since 1970. A path is tried at once (OSError); a new file is readable by its owner alone. A function is
    called without any lock, by several threads at a time.
    """

    @strict_options
    def __init__(
        self,
        target: AuditTarget,
        *,
        max_line: int = 8192,
        arguments: Union[str, Callable[[Dict[str, Any]], Any]] = "digest",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if isinstance(arguments, str) and arguments not in _SHOWN:
            raise ValueError("arguments must be a function or one of %s, not %r" % (", ".join(_SHOWN), arguments))
        self.dropped = 0
        """The number of events that could not be written."""
        self._max_line = max(_SHORTEST_LINE, max_line)
        self._arguments = _SHOWN[arguments] if isinstance(arguments, str) else arguments
        self._clock = clock
        self._counters = Counters()
        self._lock = threading.RLock()  # re-entrant: a signal handler, or a file of the caller's own, may come here
        self._seq = 0
        self._function: Optional[Callable[[Dict[str, Any]], Any]] = None
        self._write: Optional[Callable[[bytes], None]] = None
        if isinstance(target, (str, os.PathLike)):
            self._write = _File(os.fspath(target)).write
        elif hasattr(target, "write"):
            self._write = _writer(target)
        elif callable(target):
            self._function = target
        else:
            raise TypeError("an audit goes to a path, a file or a function, not to %r" % (target,))

    def record(self, event: str, server: str, **details: Any) -> None:
        """Write one event; details that are None are left out, ``arguments`` are shown as set. Never raises."""
        try:
            self._record(event, server, details)
        except Exception as error:
            with self._lock:
                self.dropped += 1
            self._counters.add("audit")
            log_raised("writing an event of the audit", error, event)

    def _record(self, event: str, server: str, details: Dict[str, Any]) -> None:
        arguments = details.pop("arguments", None)
        rest = {name: _plain(value, mask=name in _MAY_HOLD_SECRETS)
                for name, value in details.items() if value is not None}
        if arguments is not None:
            rest["arguments"] = self._show(arguments)
        with self._lock:
            self._seq += 1
            head = {"time": _iso(self._clock()), "seq": self._seq, "event": event, "server": server}
            if self._write is not None:
                self._write(self._line(head, rest))
        if self._function is not None:
            self._function(dict(head, **rest))

    def _show(self, arguments: Dict[str, Any]) -> Any:
        try:
            return _plain(self._arguments(arguments))
        except Exception as error:  # odd arguments must not keep the call out of the log
            return "(not shown: %s)" % type(error).__name__

    def _line(self, head: Dict[str, Any], rest: Dict[str, Any]) -> bytes:
        """Return the event as a line; if it is too long, with its short details alone."""
        for details in (rest, dict(_essentials(rest), cut=True), {"cut": True}):
            line = json.dumps(dict(head, **details))
            if len(line) < self._max_line:
                break
        return line.encode("ascii") + b"\n"


class _File:
    """A path that is only appended to; each line is one system call between opening and closing."""

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._torn = False
        self.write(b"")

    def write(self, line: bytes) -> None:
        """Append a line. Raises OSError; a line of which only a part could be written is ended by the next one."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        number = os.open(self._path, flags, 0o600)
        try:
            data = b"\n" + line if self._torn else line
            while data:
                data = data[os.write(number, data):]
                self._torn = bool(data)
        finally:
            os.close(number)


def _writer(file: Any) -> Callable[[bytes], None]:
    """Return a function that writes a line to an open file, of text or of bytes."""
    text = isinstance(file, io.TextIOBase) or not isinstance(file, io.IOBase)

    def write(line: bytes) -> None:
        file.write(line.decode("ascii") if text else line)
        if hasattr(file, "flush"):
            file.flush()

    return write


def _iso(seconds: float) -> str:
    whole = int(seconds // 1)
    return "%s.%03dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)), int((seconds - whole) * 1000))


def _plain(value: Any, budget: Optional[List[int]] = None, mask: bool = False) -> Any:
    """Return the part of a value that JSON can hold, and not too much of it: long texts cut in the middle, the first
    `_MAX_VALUES`.

    ``mask``: secrets in texts are masked, before the cut, because half a secret does not look like one.
    """
    budget = [_MAX_VALUES] if budget is None else budget
    budget[0] -= 1
    if isinstance(value, str):
        value = redact_text(value) if mask else value
        half = _LONGEST_TEXT // 2
        cut = "%s...(%d characters)...%s" % (value[:half], len(value), value[-half:])
        return cut if len(value) > _LONGEST_TEXT else value
    if isinstance(value, (dict, list, tuple)):
        if isinstance(value, dict):
            parts = itertools.takewhile(lambda _: budget[0] > 0, list(value.items()))
            made: Any = {_plain(str(name), budget, mask): _plain(item, budget, mask) for name, item in parts}
        else:
            made = [_plain(item, budget, mask) for item in itertools.takewhile(lambda _: budget[0] > 0, value)]
        return made if len(made) == len(value) else {"cut": made, "of": len(value)}
    if value is None or isinstance(value, bool) or isinstance(value, int) and value.bit_length() <= 64:
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    return "(%s)" % type(value).__name__


def _essentials(details: Dict[str, Any]) -> Dict[str, Any]:
    """Return the short details: numbers, and the beginning of texts."""
    plain = {name: value for name, value in details.items() if isinstance(value, (str, int, float))}
    return {name: value[:64] if isinstance(value, str) else value for name, value in plain.items()}


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value in a canonical form, in hexadecimal; equal values have equal digests."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


_SHOWN: Dict[str, Callable[[Dict[str, Any]], Any]] = {
    "digest": lambda arguments: "sha256:" + digest(arguments),
    "redacted": lambda arguments: redact(arguments, guess=True),
}
"""The ways to show arguments, by the names that `Audit` takes."""
