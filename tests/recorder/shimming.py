"""A recorded child process, and what tests ask of the recording."""
import os
import pathlib
import subprocess
import sys
from typing import Any, List, Optional, Sequence

from mcp_ref.wiretrace import Event, read

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = [sys.executable, str(ROOT / "examples" / "echo_server.py")]
SHIM = [sys.executable, "-m", "mcp_ref", "trace"]


def python(code: str) -> List[str]:
    """The command that runs this code."""
    return [sys.executable, "-u", "-c", code]


def shim(out: Any, command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    """A shim around a command, with pipes."""
    for name in ("stdin", "stdout", "stderr"):
        options.setdefault(name, subprocess.PIPE)
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    return subprocess.Popen([*SHIM, "--out", str(out), "--", *command], env=environment, bufsize=0, **options)


def events(path: Any) -> List[Event]:
    """The events of a recording, without its header."""
    header, *others = read(path)
    assert header.kind == "trace" and header.more["trace"] == 1
    return others


def said(found: Sequence[Event], direction: str) -> bytes:
    """The bytes of all messages of a party, with line ends."""
    return b"".join((event.text.encode("utf-8", "surrogateescape") if event.text else event.data()) + b"\n"
                    for event in found if event.kind == "message" and event.direction == direction)


def notes(found: Sequence[Event], kind: str) -> List[str]:
    """The texts of the events of a kind."""
    return [event.text for event in found if event.kind == kind]


def process(found: Sequence[Event], did: str) -> Optional[Event]:
    """The event of a process that did this, or None."""
    return next((event for event in found if event.kind == "process" and event.more["did"] == did), None)
