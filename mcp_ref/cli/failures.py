"""The exit codes of the command line, and the table EXITS that maps exceptions to them."""

from typing import Any, Dict, NamedTuple, Tuple, Type

from ..errors import (
    AuthError, ConnectFailed, ConnectionLost, HttpStatus, McpError, PeerError, ProtocolError, RequestTimeout,
)

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
