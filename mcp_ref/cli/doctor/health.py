"""The report on a server that works: who it is, what it has, and what may make trouble in other hosts."""

import re
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from ...urls import is_loopback
from ...wiretrace import FINDING, MESSAGE, PROCESS, SERVER
from ..output import noise_said, one_line
from ..use.servers import LISTS as LISTED, found_items
from .evidence import COMMAND, HTTP, Patient
from .programs import TO_STDERR

SLOW = 5.0
"""The seconds of a start that are worth a warning: hosts have little patience, some start servers when they start."""
MOST_TOOLS = 128
"""The tools that hosts take at most: some fewer."""
_LAST_LINES = 3
_SAFE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z").match
"""Matches the names of tools that the interfaces of models take; the specification allows dots and twice the length.
"""


class Warned(NamedTuple):
    """Something that works here, and may not elsewhere."""

    id: str
    text: str


def counts(patient: Patient) -> Dict[str, int]:
    """Return how many tools, resources, templates and prompts there are; without those that the server does not have.
    """
    found = {}
    for rows in LISTED.values():
        for listed in rows:
            items = found_items(patient.client, listed)
            if not isinstance(items, str):
                found[listed.title] = len(items)
    return found


def about(patient: Patient) -> Dict[str, Any]:
    """Return who the server is and how it was reached, for people and for ``--json``."""
    client = patient.client
    info = client.server_info
    name = patient.quote("%s %s" % (info.name, info.version)) if info is not None else "a server without a name"
    found: Dict[str, Any] = {
        "name": name, "revision": str(client.revision), "era": "modern" if client.revision.stateless else "legacy",
        "transport": patient.transport}
    if patient.kind == COMMAND:
        found["start_milliseconds"] = round(1000 * _start(patient), 1)
    return found


def last_words(patient: Patient) -> Dict[str, Any]:
    """Return what the server wrote on its standard error; all of that has been read once the client is closed."""
    return {"stderr_lines": len(patient.stderr), "stderr": [one_line(line) for line in patient.stderr[-_LAST_LINES:]]}


def _start(patient: Patient) -> float:
    """Return the seconds between the last start of the process and its first message."""
    life = patient.lives[-1]
    return next((event.time for event in life if event.kind == MESSAGE and event.direction == SERVER and (
        event.message is not None)), life[-1].time) - life[0].time


def warnings_of(patient: Patient) -> List[Warned]:
    """Return what may make trouble, by the table."""
    return [Warned(id, text) for id, look in WARNINGS for text in look(patient)]


def _noise(patient: Patient) -> Iterator[str]:
    if patient.noise:
        yield "%s. %s" % (noise_said(len(patient.noise), patient.quote(patient.noise[0])), TO_STDERR)


def _slow(patient: Patient) -> Iterator[str]:
    seconds = _start(patient) if patient.kind == COMMAND else 0
    if seconds > SLOW:
        yield "it took %.1f s to its first answer, and hosts have little patience" % seconds


def _dies_of_probe(patient: Patient) -> Iterator[str]:
    if len(patient.lives) > 1 and any(event.kind == PROCESS for event in patient.events):
        yield ("it ended when it was sent server/discover, and was started again for initialize: --era legacy "
               "(in Python: era=\"legacy\") saves that")


def _silent_to_probe(patient: Patient) -> Iterator[str]:
    first = next(iter(patient.asked), None)
    if first is not None and first["method"] == "server/discover" and len(patient.lives) == 1 and not any(
            answer.get("id") == first["id"] for answer in patient.answers) and not patient.exchanges:
        yield ("it does not answer server/discover, so that each connection waits %g s: --era legacy (in Python: "
               "era=\"legacy\") saves that" % patient.limits.probe_timeout)


def _odd(patient: Patient) -> Iterator[str]:
    found = [event.text for event in patient.events if event.kind == FINDING and event.direction == SERVER]
    if found and not patient.noise:
        yield "%s odd; the first: %s" % (
            "1 message is" if len(found) == 1 else "%d messages are" % len(found), patient.quote(found[0]))


def _old(patient: Patient) -> Iterator[str]:
    if patient.transport == "http+sse":
        yield "HTTP+SSE is the transport of 2024-11-05; newer hosts may not speak it"


def _unencrypted(patient: Patient) -> Iterator[str]:
    secret = patient.arguments.get("token") or patient.arguments.get("auth")
    if patient.kind == HTTP and patient.where.scheme == "http" and not is_loopback(patient.where.host) and secret:
        yield "the token is sent without TLS: everybody on the way can read it"


def _tools(patient: Patient) -> List[Any]:
    listed = LISTED["tools"][0]
    items = found_items(patient.client, listed)  # from the answers that were kept
    return [] if isinstance(items, str) else items


def _many(patient: Patient) -> Iterator[str]:
    number = len(_tools(patient))
    if number > MOST_TOOLS:
        yield "%d tools: some hosts take at most %d" % (number, MOST_TOOLS)


def _names(patient: Patient) -> Iterator[str]:
    tools = [tool.name for tool in _tools(patient)]
    odd = [patient.quote(name) for name in tools if not _SAFE_NAME(name)]
    twice = sorted({patient.quote(name) for name in tools if tools.count(name) > 1})
    if odd:
        yield "models' interfaces refuse names of tools but 1 to 64 of A-Z a-z 0-9 _ -: %s" % ", ".join(odd[:5])
    if twice:
        yield "tools of the same name: %s" % ", ".join(twice[:5])


def _undescribed(patient: Patient) -> Iterator[str]:
    found = [patient.quote(tool.name) for tool in _tools(patient) if not tool.description]
    if found:
        yield "models know from its description when to call a tool, and there is none of: %s" % ", ".join(found[:5])


def _schemas(patient: Patient) -> Iterator[str]:
    found = [(patient.quote(tool.name), why) for tool in _tools(patient) for why in _faults(tool.input_schema)]
    if found:
        yield "some clients refuse the input schema of %s" % "; ".join("%s: %s" % each for each in found[:5])


def _faults(schema: Any) -> List[str]:
    """Return what clients are known to refuse in an input schema."""
    if not isinstance(schema, dict):
        return []
    found = [] if schema.get("type") == "object" else ["its type is not object"]
    found += ["%s at the top" % word for word in ("anyOf", "oneOf", "allOf") if word in schema]
    inner = list(_inside(schema))
    found += ["a $ref"] * any("$ref" in each for each in inner)
    found += ["an array without items"] * any(
        each.get("type") == "array" and "items" not in each and "prefixItems" not in each for each in inner)
    return found


def _inside(schema: Any) -> Iterator[Dict[str, Any]]:
    """Yield the objects in a schema."""
    left = [schema]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)


WARNINGS: Tuple[Tuple[str, Callable[[Patient], Iterator[str]]], ...] = (
    ("stdout-noise", _noise),
    ("slow-start", _slow),
    ("ends-at-probe", _dies_of_probe),
    ("ignores-probe", _silent_to_probe),
    ("odd-messages", _odd),
    ("old-transport", _old),
    ("token-without-tls", _unencrypted),
    ("many-tools", _many),
    ("tool-names", _names),
    ("tool-descriptions", _undescribed),
    ("tool-schemas", _schemas),
)
"""The id of each warning, and the function that yields its texts, if there is reason for it."""
