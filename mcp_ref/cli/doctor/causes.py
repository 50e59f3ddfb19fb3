"""The decision: which row of the tables fits what was seen, and what to do.

A `Symptom` is a row: an id for programs, the function that recognises it, a sentence, and advice. The functions return
None where they do not fit, else the words for sentence and advice. The first row that fits decides, so the tables go
from what is certain to what is likely.
"""

from typing import Callable, NamedTuple, Sequence, Tuple

from ...errors import (
    UNSUPPORTED_PROTOCOL_VERSION, ConnectionLost, PeerError, PeerProtocolError, RequestTimeout, TransportError,
)
from ...methods import INITIALIZE
from .evidence import Finding, Patient


class Cause(NamedTuple):
    """The one cause that was found."""

    id: str
    sentence: str
    advice: str


class Symptom(NamedTuple):
    """A row of the tables; sentence and advice are formats for the words that ``seen`` returns."""

    id: str
    seen: Callable[[Patient], Finding]
    sentence: str
    advice: str


def decide(patient: Patient, table: Sequence[Symptom]) -> Cause:
    """Return the cause of ``patient.error``."""
    for row in (*FIRST, *table, *LAST):
        words = row.seen(patient)
        if words is not None:
            return Cause(row.id, row.sentence.format(**words), row.advice.format(**words))
    raise LookupError("the last row fits everything")


def fails_at(step: str) -> Callable[[Patient], Finding]:
    """Return a function that recognises any error of a step, in its own words."""
    return lambda patient: {"said": patient.said_by(patient.error)} if patient.step == step and patient.error else None


# What servers of all kinds have in common: the conversation itself

LISTS = "lists"
"""The step after the handshake."""


def _no_common_revision(patient: Patient) -> Finding:
    error = patient.error
    if isinstance(error, PeerError) and error.code == UNSUPPORTED_PROTOCOL_VERSION:
        return {"said": patient.said_by(error)}
    if isinstance(error, PeerProtocolError) and ("Negotiation" in error.citation or "Matrix" in error.citation or (
            "speaks revision" in str(error))) and "protocolVersion: expected" not in str(error):
        return {"said": patient.said_by(error)}
    return None


def _initialize_refused(patient: Patient) -> Finding:
    error = patient.error
    if isinstance(error, PeerError) and patient.step != LISTS:
        return {"method": error.method, "code": error.code, "said": patient.quote(error.message)}
    return None


def _bad_result(patient: Patient) -> Finding:
    is_it = isinstance(patient.error, PeerProtocolError) and patient.step != LISTS
    return {"said": patient.said_by(patient.error), "method": _asked_last(patient)} if is_it and patient.error else None


def _session_lost(patient: Patient) -> Finding:
    forgot = any(seen.status == 404 and "mcp-session-id" in seen.sent for seen in patient.exchanges)
    if not forgot or not isinstance(patient.error, ConnectionLost):
        return None
    return {"said": patient.said_by(patient.error)}


def _dies_later(patient: Patient) -> Finding:
    if patient.step == LISTS and isinstance(patient.error, ConnectionLost):
        return {"method": _asked_last(patient), "said": patient.said_by(patient.error)}
    return None


def _list_silent(patient: Patient) -> Finding:
    is_it = patient.step == LISTS and isinstance(patient.error, RequestTimeout)
    return {"method": _asked_last(patient)} if is_it else None


def _list_fails(patient: Patient) -> Finding:
    if patient.step == LISTS and patient.error is not None:
        return {"method": _asked_last(patient), "said": patient.said_by(patient.error)}
    return None


def _cut(patient: Patient) -> Finding:
    is_it = isinstance(patient.error, ConnectionLost) or "no answer came" in str(patient.error)
    return {"said": patient.said_by(patient.error)} if is_it and patient.error else None


def _never_answers(patient: Patient) -> Finding:
    seconds = patient.limits.initialize_timeout
    return {"seconds": seconds} if isinstance(patient.error, RequestTimeout) else None


def _unknown(patient: Patient) -> Finding:
    return {"said": patient.said_by(patient.error or TransportError("no error"))}


def _asked_last(patient: Patient) -> str:
    methods = [str(asked["method"]) for asked in patient.asked]
    lists = [method for method in methods if method.endswith("/list")] if patient.step == LISTS else methods
    return lists[-1] if lists else INITIALIZE


_RECORD = "--trace=FILE records everything for its author; secrets are masked there."
FIRST: Tuple[Symptom, ...] = (
    Symptom("session-lost", _session_lost,
            "The server forgets the session that it has just given: {said}.",
            "Several workers or machines without a common store do that: let one process serve, share sessions, or "
            "serve without (sessions=\"none\")."),
    Symptom("dies-later", _dies_later,
            "The server shook hands, and then ended when it was asked {method}: {said}.",
            "The fault is in how the server makes this list: look at what it wrote on stderr. " + _RECORD),
    Symptom("list-silent", _list_silent,
            "The server shook hands, and then did not answer {method}.",
            "Most often it waits for something else, such as a network: look at its own log. --timeout waits longer."),
    Symptom("list-fails", _list_fails,
            "The server shook hands, but {method} fails: {said}.",
            "The fault is in how the server makes this list. " + _RECORD),
    Symptom("no-common-revision", _no_common_revision,
            "Client and server have no revision of the protocol in common: {said}.",
            "Leave --revision and --era out, if they were given; else update the server, or the host that uses it."),
)
"""The rows that come before those of each kind of servers: what went well until then rules all of those out."""

LAST: Tuple[Symptom, ...] = (
    Symptom("initialize-refused", _initialize_refused,
            "The server refuses {method} with error {code}: {said}",
            "It runs and understands us, so what it misses is on its side: look at its log and its settings, "
            "credentials above all. Another revision may do: --era legacy, --revision 2025-06-18."),
    Symptom("bad-result", _bad_result,
            "The server's answer to {method} breaks the protocol: {said}.",
            "Tell the server's author; `explain` and `check` name the rule. " + _RECORD),
    Symptom("cut", _cut,
            "Something accepts the connection and ends it without an answer: {said}.",
            "Look whether it is the right port, and at the log of the server, or of a proxy in front of it."),
    Symptom("never-answers", _never_answers,
            "The server takes what it is sent and answered nothing in {seconds:g} s.",
            "Look whether it is an MCP server at all, and what it waits for: a download, a login, a lock, a prompt. "
            "--timeout SECONDS waits longer."),
    Symptom("unknown", _unknown,
            "{said}.",
            _RECORD),
)
"""The rows that come after those of each kind; the last one fits everything."""
