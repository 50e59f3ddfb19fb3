"""The output of the command line: text for people, JSON for programs, one line for an error, and an exit code.

Standard output carries results, standard error everything else. Both may be of any encoding (cp1252, the
ASCII of the C locale): a character that an encoding lacks is written as an escape, in JSON as JSON's own.
Control and format characters are escaped in all of it, also in what is sent to a pipe, because that may end at a
terminal. Only a result for programs (``raw``) keeps them, unless it is written to a terminal.

A reader that has seen enough (``| head``) closes our output. That raises `OutputClosed`, which ends the
command without an error.

The table EXITS maps exceptions to exit codes.
"""

import re
import sys
from contextlib import contextmanager
from typing import IO, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, Type

from ..codec import encode
from ..diagnostics import INDENT
from ..errors import (
    AuthError, ConnectFailed, ConnectionLost, HttpStatus, McpError, PeerError, ProtocolError, RequestTimeout,
)


_OTHER = re.compile(r"[^\t\n -~]")
"""A character that is perhaps not printable."""


class OutputClosed(Exception):
    """The reader of our standard output has closed it."""


def say(text: str, raw: bool = False) -> None:
    """Write one or more lines to standard output. Raises `OutputClosed`.

    ``raw``: the text is a result for programs, which is escaped only for a terminal.
    """
    if sys.stdout is None:
        return  # a program without a console
    try:
        sys.stdout.write(_encodable(text if raw and not sys.stdout.isatty() else _shown(text), sys.stdout) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputClosed() from None


def say_json(value: Any) -> None:
    """Write a JSON document to standard output, indented. Raises `OutputClosed`."""
    say(as_json(value))


def as_json(value: Any) -> str:
    """Return a JSON document, indented, with escapes for what is not printable or not in standard output's encoding.
    """
    import json

    text = json.dumps(value, ensure_ascii=not _is_unicode(sys.stdout), indent=2)
    return _OTHER.sub(lambda sign: sign.group() if sign.group().isprintable() else json.dumps(sign.group())[1:-1], text)


def show(options: Any, client: Any, result: Any, blocks: List[Any]) -> None:
    """Print a result: all of it with ``--json``, else the text of its blocks, type and size of binary ones, others as
    JSON. With ``--save`` binary content is written to files.
    """
    if options.json:
        say_json(encode(result, client.revision))
    for block in blocks:
        binary = _binary(block)
        if binary is not None:
            content, line = binary
            if options.save is not None and content is not None:
                line += ": " + _saved(options.save, block, content)
            (note if options.json else say)(line)
        elif not options.json:
            text = getattr(block, "text", None)
            if text is None:
                say_json(encode(block, client.revision))
            else:
                say(text, raw=True)


def _binary(block: Any) -> Optional[Tuple[Optional[bytes], str]]:
    """Return the binary content of a block, and its type and size in a line; None for a block without any.

    The content is None if it is not base64.
    """
    from base64 import b64decode

    holder = getattr(block, "resource", block)
    encoded = getattr(holder, "blob", getattr(holder, "data", None))
    if encoded is None:
        return None
    kind = one_line(holder.mime_type or "unknown type")
    try:
        content = b64decode(encoded)
    except ValueError:
        return None, kind + ", not base64"
    return content, "%s, %s" % (kind, counted(len(content), "byte"))


_ENDINGS = re.compile(r"(?:(?:image|audio|video)/(?:x-)?|application/(?=pdf$))([a-z0-9]{1,8})(?:\+xml)?", re.IGNORECASE)
"""The media types of files that keep their ending; any other is named ``.bin``, so that no file can be executed."""


def _saved(folder: str, block: Any, content: bytes) -> str:
    """Write a new file, named by the kind of block and a number, and return its path. Raises `UsageError`."""
    import os

    ending = _ENDINGS.fullmatch(getattr(block, "resource", block).mime_type or "")
    name = "%s-%%d.%s" % (getattr(block, "type", "resource"), ending.group(1).lower() if ending else "bin")
    number = 0
    try:
        os.makedirs(folder, exist_ok=True)
        while True:
            number += 1
            path = os.path.join(folder, name % number)
            try:
                with open(path, "xb") as file:  # follows no link, either
                    file.write(content)
                return path
            except FileExistsError:
                pass
    except OSError as error:
        raise UsageError("--save %s: cannot write there: %s" % (folder, error.strerror or error)) from None


def write_file(path: str, text: str) -> None:
    """Write a result to a file, in place of what is there. Raises `UsageError` for one that cannot be written."""
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UsageError("cannot write %s: %s" % (path, error.strerror or error)) from None


def open_file(path: str) -> IO[bytes]:
    """Open a regular file for reading. Raises OSError, also for anything else that a path may lead to: reading a pipe
    waits for its writer, and a device may have no end."""
    import errno
    import os
    import stat

    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return file


@contextmanager
def replacing(target: str, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Open a file beside a target, which takes the target's place at the end: no reader sees half of it.

    ``mode``: its permissions. If the body raises, the target stays as it was. Makes the folder if it is not there.
    """
    import os
    import tempfile

    folder = os.path.dirname(os.path.abspath(target))
    os.makedirs(folder, exist_ok=True)
    number, made = tempfile.mkstemp(prefix=".replacing-", dir=folder)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
        os.chmod(made, mode)
        os.replace(made, target)
    except BaseException:
        os.unlink(made)
        raise


note_form: Callable[[str], str] = str
"""The form in which `note` writes a line; another one while all lines are to be JSON."""


def note(text: str) -> None:
    """Write a line to standard error: progress, a log message, a question. A closed stream is ignored."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_encodable(note_form(_shown(text)), sys.stderr) + "\n")
        sys.stderr.flush()
    except OSError:
        pass  # closed by its reader, who wants no notes


def write_prompt(text: str) -> None:
    """Write a question to standard error without a line end: the answer is typed on the same line."""
    if sys.stderr is not None:
        sys.stderr.write(_encodable(_shown(text), sys.stderr))
        sys.stderr.flush()


def fail(text: str) -> None:
    """Write an error to standard error: one line, and below it the lines of a server's stderr that it quotes."""
    note("mcp_ref: " + INDENT.join(one_line(line) for line in text.split(INDENT)))


def drop_output() -> None:
    """Discard what Python still buffers for standard output, after `OutputClosed`: its flush at exit would fail."""
    import os

    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        pass


def one_line(text: str) -> str:
    """Return a text of a peer as one printable line; letters of all languages stay, control characters are escaped."""
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in " ".join(text.split()))


def counted(number: int, noun: str) -> str:
    """Return a number and what it counts: ``1 tool``, ``2 tools``."""
    return "%d %s%s" % (number, noun, "" if number == 1 else "s")


def noise_said(number: int, first: str) -> str:
    """Return what may come of lines of a server's stdout that are no messages, of which there is one or more."""
    return "%s on stdout %s, and some hosts end the connection at that; the first: %s" % (
        counted(number, "line"), "is no message" if number == 1 else "are no messages", first)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


def _shown(text: str) -> str:
    """Return the text with its control and format characters escaped; lines and tabs stay."""
    return _OTHER.sub(lambda sign: sign.group() if sign.group().isprintable() else _escaped(sign.group()), text)


def _encodable(text: str, stream: IO[str]) -> str:
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _is_unicode(stream: Optional[IO[str]]) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "").replace("_", "") == "utf8"


# Exit codes

DONE, FAILED, USAGE, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130


class UsageError(Exception):
    """The words of a command line are wrong or do not go together; the text says what to write instead."""


class Exit(NamedTuple):
    """A row of EXITS."""

    error: Type[BaseException]
    code: int
    kind: str
    """The word for programs, printed with ``--json``."""
    hint: str = ""
    """The advice to add where the error itself gives none."""


EXITS: Tuple[Exit, ...] = (
    Exit(UsageError, USAGE, "usage"),
    Exit(ConnectFailed, UNREACHABLE, "connection"),
    Exit(ConnectionLost, UNREACHABLE, "connection"),
    Exit(PeerError, FAILED, "peer"),
    Exit(RequestTimeout, FAILED, "timeout", "--timeout SECONDS waits longer, --trace shows what was said"),
    Exit(ProtocolError, FAILED, "protocol"),
    Exit(AuthError, FAILED, "authorization"),
    Exit(McpError, FAILED, "failed"),
    Exit(OSError, FAILED, "system"),
    Exit(ValueError, FAILED, "failed"),
    Exit(KeyboardInterrupt, INTERRUPTED, "interrupted"),
)
"""The first row whose class fits decides."""

_WANTS_TOKEN = "--oauth gets a token, --token-env NAME sends one"

EXPECTED = tuple(row.error for row in EXITS)
"""The exceptions that end a command with one line; any other is a defect and shows its traceback."""


def row_of(error: BaseException) -> Exit:
    """Return the row of EXITS for one of the EXPECTED exceptions."""
    return next(row for row in EXITS if isinstance(error, row.error))


def text_of(error: BaseException) -> str:
    """Return the text of an error and, where it helps, what to do."""
    row = row_of(error)
    hint = _WANTS_TOKEN if isinstance(error, HttpStatus) and error.status == 401 else row.hint
    return "; ".join(filter(None, (str(error) or row.kind, hint)))


def as_object(error: BaseException) -> Dict[str, Any]:
    """Return the object ``{"error": {...}}``, which ``--json`` prints in place of a result.

    Members: ``kind`` (see EXITS), ``message``, ``exit`` (the exit code), and of an error that the peer sent ``code``
    and, where it has any, ``data``.
    """
    row = row_of(error)
    found: Dict[str, Any] = {"kind": row.kind, "message": text_of(error), "exit": row.code}
    if isinstance(error, PeerError):
        found["code"] = error.code
        if error.data is not None:
            found["data"] = error.data
    return {"error": found}
