"""The command ``doctor``: why a connection to a server fails, and what is odd about one that works.

Steps are printed as they are taken: what was tried, and what was seen. Then there is one cause in a sentence, and in
another what to do. Nothing is changed, and no tool is called. Secrets are masked, also in what the server says.

With ``--json`` standard output is one object: ``{"healthy": true or false, "steps": [{"step", "tried", "seen", "ok",
"milliseconds"}, ...], "cause": {"id", "sentence", "advice"}, "stderr": [...], "server": {...}, "warnings": [{"id",
"text"}, ...]}``; ``cause`` where there is one, ``server`` where it works.

Exit codes: 0 the server works, 1 a cause was found, 2 the server could not be examined (wrong usage).
"""

import argparse
import re
from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from ...deadline import clock
from ...errors import McpError
from ...limits import DEFAULT, Limits
from ...urls import is_loopback
from ...wiretrace import FINDING, MESSAGE, PROCESS, SERVER
from ..output import DONE, FAILED, Command, Commands, UsageError, counted, noise_said, one_line, say, say_json, trace_to
from ..use.connecting import take_entry, target_arguments, target_options
from ..use.servers import LISTS as LISTED, found_items
from . import addresses, programs
from .evidence import COMMAND, HTTP, LISTS, SOCKET, Cause, Patient, again_without_probe, decide
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


_SECONDS = 8.0
_STDERR_LINES = 8
"""The last lines of a server's stderr that are shown."""


def _options(parser: argparse.ArgumentParser) -> None:
    target_options(parser)
    parser.add_argument("--timeout", type=float, metavar="SECONDS", default=_SECONDS,
                        help="the time that the server has for the handshake, and for each list (default: %g; a "
                             "silent one is known after 15)" % _SECONDS)
    parser.epilog = __doc__


def limits_of(seconds: float) -> Limits:
    """Return the limits for a server that has so many seconds for the handshake. Raises `UsageError`."""
    if not seconds > 0:
        raise UsageError("--timeout must be more than 0 seconds")
    return replace(
        DEFAULT, initialize_timeout=seconds, request_timeout=seconds,
        probe_timeout=min(DEFAULT.probe_timeout, seconds / 4), connect_timeout=min(DEFAULT.connect_timeout, seconds),
        shutdown_grace=min(DEFAULT.shutdown_grace, seconds), terminate_grace=min(DEFAULT.terminate_grace, seconds))


class DiagnosticStep(NamedTuple):
    """A step of the examination."""

    name: str
    kinds: Tuple[str, ...]
    """The kinds of servers that it is for."""
    tried: Callable[[Patient], str]
    look: Callable[[Patient], str]
    """Returns what was seen, or raises an error that ends the examination."""


def _split(patient: Patient) -> str:
    from ...transports.lines.process import arguments, child_environment

    patient.words = arguments(patient.target)
    patient.env = child_environment(patient.arguments["env"], patient.arguments["inherit_env"])
    return "program and arguments: %s" % " | ".join(patient.trace.masker.command(patient.words))


def _tried_program(patient: Patient) -> str:
    from ...transports.lines.process import shortened

    word = patient.words[0]
    return "look for %s in %s" % (patient.quote(word), "its folder" if "/" in word else "PATH=%s" % shortened(
        patient.env.get("PATH", "")))


def _find(patient: Patient) -> str:
    from ...transports.lines.process import find_program

    folder = patient.arguments["cwd"]
    found = find_program(patient.words[0], patient.env, folder)
    if folder is not None:
        import os

        os.scandir(folder).close()
    patient.words = [found, *patient.words[1:]]
    return found


def _read_address(patient: Patient) -> str:
    if patient.kind == HTTP:
        from ...http11.client.connect import server_url

        patient.where = server_url(patient.target)
        return "host %s, port %d, path %s" % patient.where[1:4]
    from ...transports.lines.sockets import parse_address

    patient.address = parse_address(patient.target)
    return str(patient.address)


def _find_proxy(patient: Patient) -> str:
    from ...http11.client.connect import find_proxy

    proxy = find_proxy(patient.where)
    if proxy is None:
        return "none: directly"
    patient.through = "%s:%d" % proxy[:2]
    return "by the proxy %s" % patient.through


def _resolve(patient: Patient) -> str:
    import socket

    if patient.through:
        return "left to the proxy"
    place: Any = patient.where if patient.kind == HTTP else patient.address
    if not place.host:
        return "none needed"
    try:
        found = socket.getaddrinfo(place.host, place.port, 0, socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError("no host can have this name") from None
    return ", ".join(dict.fromkeys(str(each[4][0]) for each in found))


def _dial(patient: Patient) -> str:
    """Connect as the client will, and leave at once."""
    if patient.kind == SOCKET:
        from ...transports.lines.sockets import connect_socket

        line = connect_socket(patient.target, patient.limits, patient.limits.connect_timeout)
        line.open()
        line.close()
        return "somebody listens"
    from ...http11.client.connect import CancelScope, Connector

    connector = Connector(patient.where, patient.limits.connect_timeout, cafile=patient.arguments.get("cafile"))
    scope = CancelScope()
    with connector.dial(scope) as sock:
        scope.detach()
        secure: Any = sock
        return "somebody listens, and TLS is agreed: %s" % secure.version() if hasattr(sock, "version") else (
            "somebody listens")


def _shake_hands(patient: Patient) -> str:
    began = clock()
    patient.client = patient.connect()
    return "%s speaks %s over %s, %.0f ms" % (
        about(patient)["name"], patient.client.revision, patient.transport, 1000 * (clock() - began))


def _list(patient: Patient) -> str:
    found = counts(patient)
    return ", ".join("%s: %d" % each for each in found.items()) or "it declares none"


def _tried_handshake(patient: Patient) -> str:
    first = "start it, and send " if patient.kind == COMMAND else "send "
    by_era = {"legacy": "initialize", "modern": "server/discover"}
    what = by_era.get(patient.era or "", "server/discover, or initialize")
    return "%s%s; up to %g s" % (first, what, patient.limits.initialize_timeout)


STAGES: Tuple[DiagnosticStep, ...] = (
    DiagnosticStep(programs.WORDS, (COMMAND,), lambda patient: "take the command apart", _split),
    DiagnosticStep(programs.PROGRAM, (COMMAND,), _tried_program, _find),
    DiagnosticStep(addresses.ADDRESS, (HTTP, SOCKET), lambda patient: "read %s" % (
        patient.trace.masker.url(patient.target)), _read_address),
    DiagnosticStep(addresses.PROXY, (HTTP,), lambda patient: "look at HTTPS_PROXY, HTTP_PROXY, NO_PROXY", _find_proxy),
    DiagnosticStep(addresses.NAME, (HTTP, SOCKET), lambda patient: "look the host up", _resolve),
    DiagnosticStep(addresses.CONNECTION, (HTTP, SOCKET), lambda patient: "connect", _dial),
    DiagnosticStep(programs.HANDSHAKE, (COMMAND, HTTP, SOCKET), _tried_handshake, _shake_hands),
    DiagnosticStep(LISTS, (COMMAND, HTTP, SOCKET), lambda patient: "list tools, resources and prompts", _list),
)
"""The steps in their order."""


def _doctor(options: Any) -> int:
    report = examined(options, limits_of(options.timeout), (lambda text: None) if options.json else say)
    if options.json:
        say_json(report)
    return DONE if report["healthy"] else FAILED


def examined(options: Any, limits: Limits, tell: Callable[[str], None]) -> Dict[str, Any]:
    """Examine the server of `target_options`; tell of the steps, and return the report of ``--json``."""
    def trace(take: Any) -> Any:
        return trace_to(options.trace, take)

    limits = take_entry(options, limits)
    patient = Patient(options.server, target_arguments(options), options.revision or options.era, limits, trace)
    _learn(patient)
    report: Dict[str, Any] = {"healthy": True, "steps": []}
    try:
        healthy = all(_take(patient, stage, report["steps"], tell) for stage in STAGES if patient.kind in stage.kinds)
        if healthy:
            report.update(server=about(patient), warnings=[warned._asdict() for warned in warnings_of(patient)])
            patient.client.close()
            report["server"].update(last_words(patient))
            _tell_health(report, tell)
        else:
            if patient.kind == COMMAND and programs.is_silent(patient):
                _look_again(patient, report["steps"], tell)
            cause = decide(patient, programs.TABLE if patient.kind == COMMAND else addresses.TABLE)
            report.update(healthy=False, cause=cause._asdict(), stderr=patient.stderr[-_STDERR_LINES:])
            _tell_cause(cause, patient.stderr, tell)
    finally:
        if hasattr(patient, "client"):
            patient.client.close()
        patient.trace.close()
    return report


def _learn(patient: Patient) -> None:
    """Have the trace mask what the user gave as secrets, before anything is printed."""
    from ...diagnostics.redaction import is_secret

    given = {**(patient.arguments["env"] or {}), **(patient.arguments.get("headers") or {}),
             "token": patient.arguments.get("token")}
    for name, value in given.items():
        if value and is_secret(name):
            patient.trace.masker.learn(value)


def _take(patient: Patient, stage: DiagnosticStep, steps: List[Dict[str, Any]], tell: Callable[[str], None]) -> bool:
    """Take a step and tell of it. Returns False if it failed."""
    patient.step = stage.name
    tried = stage.tried(patient)
    tell("%s: %s" % (stage.name, tried))
    began = clock()
    try:
        seen = patient.quote(stage.look(patient))
    except (McpError, OSError) as error:
        patient.error = error
        seen = patient.said_by(error)
    ok = patient.error is None
    tell("  %s: %s" % ("ok" if ok else "failed", seen))
    steps.append({"step": stage.name, "tried": tried, "seen": seen, "ok": ok,
                  "milliseconds": round(1000 * (clock() - began), 1)})
    return ok


def _look_again(patient: Patient, steps: List[Dict[str, Any]], tell: Callable[[str], None]) -> None:
    """Start a silent server again, without the request that only newer ones know; tell of it as of a step."""
    tried = "start it again, and send initialize; up to %g s" % patient.again_seconds
    tell("again: %s" % tried)
    began = clock()
    patient.late = again_without_probe(patient)
    seen = "it answered" if patient.late is not None else patient.said_by(patient.error or OSError())
    tell("  %s: %s" % ("failed" if patient.late is None else "ok", seen))
    steps.append({"step": "again", "tried": tried, "seen": seen, "ok": patient.late is not None,
                  "milliseconds": round(1000 * (clock() - began), 1)})


def _tell_health(report: Dict[str, Any], tell: Callable[[str], None]) -> None:
    server = report["server"]
    if "start_milliseconds" in server:
        tell("start: %.0f ms until the first answer" % server["start_milliseconds"])
    if server["stderr"]:
        number = server["stderr_lines"]
        tell("stderr, %s%s:" % ("the last of " * (number > len(server["stderr"])), counted(number, "line")))
        for line in server["stderr"]:
            tell("  " + line)
    for warned in report["warnings"]:
        tell("warning: %s [%s]" % (warned["text"], warned["id"]))
    number = len(report["warnings"])
    tell("healthy: %s%s" % (server["name"], "; warnings: %d" % number if number else ""))


def _tell_cause(cause: Cause, stderr: List[str], tell: Callable[[str], None]) -> None:
    if stderr:
        tell("stderr, the last lines:")
        for line in stderr[-_STDERR_LINES:]:
            tell("  " + line)
    tell("cause: %s [%s]" % (cause.sentence.strip(), cause.id))
    if cause.advice:
        tell("do: %s" % cause.advice)


COMMANDS: Commands = {"doctor": Command(_doctor, _options, uses_server=True)}
