"""The phases of a handshake connection, drawn from the table of `protocol.lifecycle`."""

from typing import Any, Dict, List, Optional, Tuple

from ...protocol.lifecycle import ANY, CLIENT, PHASES, SERVER, TABLE
from ...revisions import HANDSHAKE_REVISIONS
from .facts import window

_MARKS = {CLIENT: "C>", SERVER: "S>"}


def lifecycle_object() -> Dict[str, Any]:
    """The table for programs: ``phases`` in their order, and its ``rows``."""
    rows = [{"sender": sender, "phase": phase, "message": message, "next": following}
            for (sender, phase, message), following in TABLE.items()]
    return {"phases": list(PHASES), "rows": rows}


def drawing() -> List[str]:
    """Lines of text: the way from phase to phase, then what each side may send in each."""
    lines = ["lifecycle of a connection, %s; C> client, S> server" % window(
        HANDSHAKE_REVISIONS[0], HANDSHAKE_REVISIONS[-1]), ""]
    for number, phase in enumerate(PHASES):
        lines += ["  " + line for line in _box(phase)]
        following = PHASES[number + 1] if number + 1 < len(PHASES) else None
        if following:
            lines += ["       |  %s" % text for text in _steps(phase, following)] + ["       v"]
    lines += ["", "  %-14s %-34s %s" % ("phase", "the client may send", "the server may send")]
    for phase in PHASES:
        lines += _permissions(phase)
    return [line.rstrip() for line in lines]


def _box(phase: str) -> Tuple[str, str, str]:
    edge = "+-%s-+" % ("-" * len(phase))
    return edge, "| %s |" % phase, edge


def _steps(phase: str, following: str) -> List[str]:
    """The messages that lead on, and those that lead elsewhere."""
    found = []
    for (sender, before, message), after in TABLE.items():
        if before == phase and after is not None and after != phase:
            where = "" if after == following else "  (back to %s)" % after
            found.append("%s %s%s" % (_MARKS[sender], message, where))
    return found


def _permissions(phase: str) -> List[str]:
    columns = [_allowed(sender, phase) for sender in (CLIENT, SERVER)]
    lines = []
    for number in range(max(map(len, columns))):
        cells = [column[number] if number < len(column) else "" for column in columns]
        lines.append("  %-14s %-34s %s" % ("" if number else phase, *cells))
    return lines


def _allowed(sender: str, phase: str) -> List[str]:
    """What one side may send in a phase, a line for each row of the table."""
    rows: List[Tuple[str, Optional[str]]] = [
        (message, following) for (who, where, message), following in TABLE.items() if (who, where) == (sender, phase)]
    return ["anything else" if message == ANY else message if following else "never " + message
            for message, following in sorted(rows, key=lambda row: row[0] == ANY)] or ["only answers"]
