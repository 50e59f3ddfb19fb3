"""The frame of all commands: parsing their options, printing results, mapping errors to exit codes.

Standard output carries results, standard error everything else. Both may be of any encoding (cp1252, the
ASCII of the C locale): a character that an encoding lacks is written as an escape, in JSON as JSON's own.
Control and format characters are escaped in all of it, also in what is sent to a pipe, because that may end at a
terminal. Only a result for programs (``raw``) keeps them, unless it is written to a terminal.

A reader that has seen enough (``| head``) closes our output. That raises `OutputClosed`, which ends the
command without an error.

The table EXITS maps exceptions to exit codes.

`Command` describes one command, and `parse` reads its options. `trace_option` declares ``--trace`` for the commands
that speak the protocol: text on standard error, or JSON Lines in a file.
"""

import argparse
import os
import re
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, NoReturn, Optional, Tuple, Type

from ..codec import encode
from ..diagnostics import INDENT
from ..errors import (
    AuthError, ConnectFailed, ConnectionLost, HttpStatus, McpError, PeerError, ProtocolError, RequestTimeout,
)
from ..options import closest

if TYPE_CHECKING:
    from ..wiretrace import Sink, Trace

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


OPTION = "--trace"
TEXT, FULL = "", "full"
"""The values that are no file."""


def trace_option(parser: argparse.ArgumentParser) -> None:
    """Declare the option. `only_with_equals` has to be applied to the words before."""
    parser.add_argument(OPTION, nargs="?", metavar="full|FILE",
                        help="show the wire on standard error, secrets masked; --trace=full shortens nothing, "
                             "--trace=FILE writes it for programs, as JSON Lines (full and FILE only with =)")


def only_with_equals(words: List[str]) -> List[str]:
    """Return the words of a command line in which the option takes no value from the word after it."""
    end = words.index("--") if "--" in words[1:] else len(words)  # the first word may be one for argparse
    return [OPTION + "=" if word == OPTION else word for word in words[:end]] + words[end:]


def is_text(value: Optional[str]) -> bool:
    """Return True if the trace is shown on standard error."""
    return value in (TEXT, FULL)


def trace_to(value: Optional[str], *sinks: "Sink") -> "Optional[Trace]":
    """Return the trace that the option asks for, with other sinks before its own; None for no sink at all."""
    asked: "List[Sink]" = list(sinks)
    if is_text(value) and sys.stderr is not None:
        from ..wiretrace.text import AUTO, TextSink

        asked.append(TextSink(sys.stderr, None if value == FULL else AUTO))
    elif value is not None and not is_text(value):
        from ..wiretrace import recording

        sink, problem = recording(value)
        if problem:
            note("mcp_ref: --trace: %s" % problem)
        if sink is not None:
            asked.append(sink)
    if not asked:
        return None
    from ..wiretrace import Trace

    return Trace(*asked)


Configure = Callable[[argparse.ArgumentParser], None]


class Command(NamedTuple):
    """One command: the function that runs it (options to exit code), and the one that declares its options."""

    run: Callable[[Any], int]
    configure: Configure
    uses_server: bool = False
    """True if its first argument is a server, which may also come last, after ``--``."""
    actions: Tuple[str, ...] = ()
    """The words of which one stands before the server; it becomes the option ``action``."""
    describe: Optional[Callable[[Any], int]] = None
    """Runs in the place of ``run`` where --help follows what the command needs, to describe what is named."""


Commands = Dict[str, Command]


def program() -> str:
    """Return the words that start this package: as a module, under the name of its copy, or as an archive."""
    archive = os.path.basename(sys.argv[0])
    return "python3 " + archive if archive.endswith(".pyz") else "python3 -m " + __name__.rpartition(".cli.")[0]


class Parser(argparse.ArgumentParser):
    """A parser of one command. A complaint is one line and an exception; argparse alone would print and exit."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with the complaint, the option that was probably meant, and the command for help."""
        known = self._option_string_actions
        for action in self._actions:  # argparse says how many values are missing, and not which
            name = action.option_strings[0] if action.option_strings else ""
            if isinstance(action.metavar, tuple) and message.startswith("argument %s: expected" % name):
                raise UsageError("%s takes %d values: %s %s; see %s --help" % (
                    name, len(action.metavar), name, " ".join(action.metavar), self.prog))
        unknown = message.partition("unrecognized arguments: ")[2].split(" ")
        words = [closest(word.partition("=")[0], known) for word in unknown if word.startswith("--")]
        meant = "; did you mean %s? See" % words[0] if words and words[0] else "; see"
        raise UsageError("%s%s %s --help" % (message, meant, self.prog))

    def _print_message(self, message: str, file: Any = None) -> None:
        say(message.rstrip("\n"))  # help is a result, too


def parse(name: str, summary: str, command: Command, words: List[str]) -> Any:
    """Return the options of a command; ``json``, ``live`` (true if a command came after ``--``) and ``run`` (the
    function that runs it) are always among them. Raises `UsageError`; SystemExit for --help."""
    action = None
    if command.actions and words[:1] not in (["--help"], ["-h"]):
        if not words or words[0] not in command.actions:
            raise UsageError("%s %s: what is to be done? Write one of these words first: %s" % (
                program(), name, ", ".join(command.actions)))
        action, words = words[0], words[1:]
        name = "%s %s" % (name, action)
    head, tail = words, []
    if command.uses_server and "--" in words:
        at = words.index("--")
        head, tail = ["--"] + words[:at], words[at + 1:]
        if not tail:
            raise UsageError("after -- follows the command that starts the server")
    parser = Parser(prog="%s %s" % (program(), name), allow_abbrev=False,
                    description=summary[:1].upper() + summary[1:] + ".",
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(json=False, action=action)
    command.configure(parser)
    if tail:
        head[0] = "server"  # a stand-in, so that what is positional keeps its place
    options = _parsed(parser, only_with_equals(head), command)
    options.live = bool(tail)
    if tail:
        if isinstance(options.server, list) and len(options.server) > 1:
            raise UsageError("%s takes either what stands before -- (%s) or the command behind it, not both" % (
                name, " ".join(options.server[1:])))
        options.server = tail
    return options


def _parsed(parser: Parser, words: List[str], command: Command) -> Any:
    """Return the options in these words. Raises SystemExit for --help, unless it is for something that is named."""
    others = [word for word in words if word not in ("--help", "-h")]
    if command.describe is not None and len(others) < len(words):
        try:
            options = parser.parse_intermixed_args(others)
        except UsageError:
            pass  # a word is missing, and help about the command names it
        else:
            options.run = command.describe
            return options
    options = parser.parse_intermixed_args(words)
    options.run = command.run
    return options
