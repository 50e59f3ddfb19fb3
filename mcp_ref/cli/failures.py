"""Exit codes, and how an exception becomes one: EXITS is the table."""

from typing import Any, Dict, NamedTuple, Tuple, Type

from ..errors import (
    AuthError, ConnectFailed, ConnectionLost, HttpStatus, McpError, PeerError, ProtocolError, RequestTimeout,
)

DONE, FAILED, USAGE, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130


class UsageError(Exception):
    """The command line asks for what makes no sense; the text says what to write instead."""


class Exit(NamedTuple):
    """A row of EXITS."""

    error: Type[BaseException]
    code: int
    kind: str
    """The word that ``--json`` tells a program."""
    hint: str = ""
    """What may help, where the error itself does not say it."""


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
"""What ends a command with one line; anything else is a defect and shows its traceback."""


def row_of(error: BaseException) -> Exit:
    """The row of EXITS for one of the EXPECTED."""
    return next(row for row in EXITS if isinstance(error, row.error))


def text_of(error: BaseException) -> str:
    """What to tell of it, in words."""
    row = row_of(error)
    hint = _WANTS_TOKEN if isinstance(error, HttpStatus) and error.status == 401 else row.hint
    return "; ".join(filter(None, (str(error) or row.kind, hint)))


def as_object(error: BaseException) -> Dict[str, Any]:
    """What ``--json`` prints in place of a result: the object ``{"error": {...}}``.

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
