"""Second looks, taken only where the first one leaves it open: none is needed for a server that works.

Each returns what it found, in plain values, and raises nothing: where it finds nothing, that is all it says.
"""

import socket
from dataclasses import replace
from typing import Any, Dict, Optional

from ...deadline import clock
from ...errors import AuthError, ConnectFailed, HttpStatus
from ...jsontext import dumps
from ...wiretrace import CLIENT, MESSAGE
from .evidence import Patient, Doubt

_MOST_BYTES = 200
_PATIENCE = 3.0
"""The seconds that another path has to answer."""
_END = 1.5
"""The seconds that a silent server has to end when its input does."""
_PATHS = ("/mcp", "/sse", "/mcp/", "/")
"""The paths at which servers usually are."""


def again_without_probe(patient: Patient) -> Optional[float]:
    """Start a silent server again and send `initialize` first. Returns the seconds to its answer; None without one."""
    began = clock()
    try:
        with patient.connect(era="legacy", limits=patient.waiting(patient.again_seconds)):
            return clock() - began
    except Doubt as error:
        patient.error = error
        return None


def answers_at_the_end(patient: Patient) -> bool:
    """Start a silent server again, send `initialize`, and close its input. Returns True if it answers then."""
    from ...transports.lines.process import spawn

    opening = next((event.message for event in reversed(patient.events) if event.kind == MESSAGE
                    and event.direction == CLIENT and event.message.get("method") == "initialize"), None)
    if opening is None:
        return False
    try:
        child = spawn(patient.words, patient.env, patient.arguments.get("cwd"), "ring", patient.limits)
    except ConnectFailed:
        return False
    try:
        child.stdin.write(dumps(opening).encode("ascii") + b"\n")
        child.stdin.close()
        return child.wait(min(_END, patient.limits.initialize_timeout)) and b'"result"' in child.stdout.read()
    except OSError:
        return False
    finally:
        child.end(0.0, patient.limits.terminate_grace)
        child.release()


def elsewhere(patient: Patient) -> str:
    """Return the URL of an MCP server at one of the usual paths of the same origin; "" for none."""
    limits = patient.waiting(min(_PATIENCE, patient.limits.initialize_timeout))
    for path in _PATHS:
        if path == patient.where.path:
            continue
        url = patient.where._replace(path=path, query="").url
        try:
            with patient.connect(url, limits=limits):
                return url
        except HttpStatus as error:
            if error.status == 401:
                return url
        except Doubt:
            pass
    return ""


def first_words(patient: Patient, say: bytes = b"") -> str:
    """Return the first line that the port says, after it was sent these bytes; "" for nothing."""
    if patient.through:
        return ""
    try:
        with socket.create_connection(_host_and_port(patient), patient.limits.connect_timeout) as sock:
            sock.sendall(say)
            data = sock.recv(_MOST_BYTES)
    except OSError:
        return ""
    return patient.quote(data.decode("latin-1").splitlines()[0]) if data.strip() else ""


def speaks_tls(patient: Patient) -> bool:
    """Return True if the port takes a TLS handshake, whatever its certificate."""
    import ssl

    return bool(_host_and_port(patient)[0]) and _handshake(patient, ssl.CERT_NONE) is not None


def names_in_certificate(patient: Patient) -> str:
    """Return the names that the server's certificate is for, if it is to be trusted."""
    import ssl

    shown = _handshake(patient, ssl.CERT_REQUIRED) or {}
    return patient.quote(", ".join(str(value) for _, value in shown.get("subjectAltName", ()))) or "other names"


def _handshake(patient: Patient, verify: Any) -> Optional[Dict[str, Any]]:
    """Return the certificate after a TLS handshake by any name, {} if it is not verified; None if that failed."""
    if patient.through:
        return None
    import ssl

    try:
        context = ssl.create_default_context(cafile=patient.arguments.get("cafile"))
        context.check_hostname = False
        context.verify_mode = verify
        host, port = _host_and_port(patient)
        with socket.create_connection((host, port), patient.limits.connect_timeout) as sock:
            with context.wrap_socket(sock, server_hostname=host) as secure:
                return dict(secure.getpeercert() or {})
    except (OSError, ValueError):
        return None


def _host_and_port(patient: Patient) -> Any:
    place: Any = patient.where if hasattr(patient, "where") else patient.address
    return place.host, place.port


def login(patient: Patient, error: HttpStatus) -> Dict[str, str]:
    """Return ``issuer``, the authorization server that the server names, or ``problem``, why there is none."""
    from ...auth.challenge import find, parse
    from ...auth.discover import discover
    from ...auth.fetch import Fetcher, Reach

    challenges = parse(error.challenges)
    limits = replace(patient.limits, auth_timeout=patient.limits.initialize_timeout)
    fetcher = Fetcher(limits, cafile=patient.arguments.get("cafile"), reach=Reach(patient.where.url))
    try:
        found = discover(fetcher, patient.where.url, challenges)
    except AuthError as failed:
        return {"metadata": find(challenges, "resource_metadata") or "", "problem": patient.said_by(failed)}
    return {} if found.legacy else {"issuer": found.server.issuer}
