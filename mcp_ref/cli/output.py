"""What the command line writes: text for people, JSON for programs, one line for an error.

Standard output carries results, standard error everything else. Both may be of any encoding (cp1252, the
ASCII of the C locale): what an encoding lacks is written as an escape, in JSON as JSON's own. What a peer
sent reaches a terminal without its control characters, so that it cannot paint over other text.

A reader that has seen enough (``| head``) closes our output; that is `OutputClosed`, which ends the
command quietly.
"""

import sys
from typing import IO, Any, Optional

from ..diagnostics.plaintext import INDENT


class OutputClosed(Exception):
    """Nobody reads our standard output any more."""


def say(text: str) -> None:
    """One or more lines on standard output. Raises `OutputClosed`."""
    if sys.stdout is None:
        return  # a program without a console
    try:
        sys.stdout.write(_encodable(_shown(text, sys.stdout), sys.stdout) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputClosed() from None


def say_json(value: Any) -> None:
    """A JSON document on standard output, indented. Raises `OutputClosed`."""
    say(as_json(value))


def as_json(value: Any) -> str:
    """The lines of a JSON document, in the signs that standard output has."""
    import json

    return json.dumps(value, ensure_ascii=not _is_unicode(sys.stdout), indent=2)


def note(text: str) -> None:
    """A line on standard error: progress, a log message, a question. Nothing is raised where that is closed."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_encodable(_shown(text, sys.stderr), sys.stderr) + "\n")
        sys.stderr.flush()
    except OSError:
        pass  # whoever closed it does not want to hear it


def write_prompt(text: str) -> None:
    """A question on standard error, where the answer stands on the same line."""
    if sys.stderr is not None:
        sys.stderr.write(_encodable(_shown(text, sys.stderr), sys.stderr))
        sys.stderr.flush()


def fail(text: str) -> None:
    """An error, on standard error: one line, and below it those that it quotes of a server's stderr."""
    note("mcp_ref: " + INDENT.join(one_line(line) for line in text.split(INDENT)))


def drop_output() -> None:
    """After `OutputClosed`: what Python still holds for standard output goes nowhere, so that its exit is quiet."""
    import os

    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        pass


def one_line(text: str) -> str:
    """A text of a peer as one printable line; letters of all languages stay, control characters are escaped."""
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in " ".join(text.split()))


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


def _shown(text: str, stream: IO[str]) -> str:
    """On a terminal without control characters, but with its lines and tabs."""
    if text.isprintable() or not stream.isatty():
        return text
    return "".join(sign if sign.isprintable() or sign in "\n\t" else _escaped(sign) for sign in text)


def _encodable(text: str, stream: IO[str]) -> str:
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _is_unicode(stream: Optional[IO[str]]) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "").replace("_", "") == "utf8"
