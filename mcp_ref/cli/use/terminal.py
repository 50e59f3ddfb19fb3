"""Questions to a person at the terminal: the question on standard error, the answer from standard input.

Answers are read with ``os.read``, in slices: the thread that waits for a person must not keep the process
from ending, and must notice that the server has cancelled its question.
"""

import os
import sys
import threading
from typing import Optional

from ..output import write_prompt

SLICE = 0.2
"""Seconds between two checks whether the question was cancelled."""


class Gone(Exception):
    """No answer: the person ended the input, or the server cancelled the question."""


def is_interactive() -> bool:
    """True if standard input and standard error are both a terminal."""
    streams = (sys.stdin, sys.stderr)
    try:
        return all(stream is not None and stream.isatty() for stream in streams)
    except ValueError:
        return False  # closed


def ask(question: str, gone: "Optional[threading.Event]" = None) -> str:
    """Ask for one line and return it without its end. Raises `Gone`, also as soon as the event ``gone`` is set."""
    write_prompt(question)
    number = sys.stdin.fileno()
    data = b""
    while not data.endswith(b"\n"):
        if not _wait(number, gone):
            write_prompt("\n")
            raise Gone("the server took the question back")
        part = os.read(number, 4096)
        if not part:
            raise Gone("the input ended")
        data += part
    return data.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n").strip()


def _wait(number: int, gone: "Optional[threading.Event]") -> bool:
    """Wait until a line was typed; return False as soon as the question is cancelled."""
    if os.name == "nt":
        return gone is None or not gone.is_set()  # there is no waiting for a console; reading blocks
    import select

    while not select.select([number], [], [], SLICE)[0]:
        if gone is not None and gone.is_set():
            return False
    return True
