"""The table of what goes wrong with servers that run already: the way to them, HTTP, and sockets."""

import os
import re
import socket
import stat
from typing import Any, Callable, Optional, Tuple

from ...errors import AnswerLost, AuthError, ConnectionLost, HttpStatus, PeerProtocolError, RequestTimeout
from ...streamable.client.posts import WRONG_PATH, WRONG_PATHS
from .evidence import (
    HTTP, LISTS, Finding, Patient, SeenExchange, Symptom, elsewhere, fails_at, first_words, login, names_in_certificate,
    speaks_tls,
)

ADDRESS, PROXY, NAME, CONNECTION, HANDSHAKE = "address", "proxy", "name", "connection", "handshake"
"""Steps."""
_EXPIRED, _NOT_YET, _OTHER_NAME, _OTHER_ADDRESS = 10, 9, 62, 64
"""Codes of OpenSSL for why a certificate is refused."""
_A_WEB_PAGE = re.compile(r"\s*text/html|\s*application/xhtml", re.IGNORECASE).match


# The way

def _failed(patient: Patient, *kinds: Any) -> Optional[OSError]:
    """Return the system's error, of one of these kinds, by which the connection failed; None for another reason."""
    error = None if patient.error is None else patient.error if isinstance(patient.error, OSError) else (
        patient.error.__cause__)
    return error if patient.step in (NAME, CONNECTION) and isinstance(error, kinds) else None


def _proxy_unreachable(patient: Patient) -> Finding:
    error = _failed(patient, OSError) if patient.through else None
    if error is None or "the proxy answered" in str(error) or _tls_error(patient):
        return None
    return {"proxy": patient.through, "said": patient.quote(error.strerror or str(error))}


def _proxy_refuses(patient: Patient) -> Finding:
    error = _failed(patient, OSError) if patient.through else None
    said = "" if error is None else str(error)
    return {"proxy": patient.through, "said": patient.quote(said)} if "the proxy answered" in said else None


def _name_unknown(patient: Patient) -> Finding:
    error = _failed(patient, socket.gaierror)
    if error is None and not (patient.step in (NAME, CONNECTION) and "no host can have" in str(patient.error)):
        return None
    return {"host": _host(patient), "said": patient.quote(str(error and error.strerror or patient.error))}


def _host(patient: Patient) -> str:
    return patient.where.host if patient.kind == HTTP else patient.address.host


def _place(patient: Patient) -> str:
    return patient.where.origin if patient.kind == HTTP else str(patient.address)


def _of_unix(test: Callable[[str], bool]) -> Callable[[Patient], Finding]:
    """Return the function that finds this fault of the path of a Unix socket to which no connection was made."""
    def seen(patient: Patient) -> Finding:
        path = patient.address.path if patient.step == CONNECTION and patient.kind != HTTP else ""
        try:
            return {"path": path} if path and test(path) else None
        except OSError:  # a folder on the way is closed to us
            return None
    return seen


def _refused(patient: Patient) -> Finding:
    if not _failed(patient, ConnectionRefusedError):
        return None
    if patient.kind != HTTP and patient.address.path:
        return {"place": _place(patient), "hint": "The socket is there, but its server has ended: start it."}
    hint = "Start the server, or correct the port."
    if _host(patient) in ("localhost", "127.0.0.1", "::1"):
        hint += (" In a container, 127.0.0.1 is the container itself: use the name of the host, and let the server "
                 "listen on 0.0.0.0.")
    return {"place": _place(patient), "hint": hint}


def _unreachable(patient: Patient) -> Finding:
    error = _failed(patient, OSError)
    if error is None or _tls_error(patient):
        return None
    return {"place": _place(patient), "said": patient.quote(error.strerror or str(error))}


# TLS

def _tls_error(patient: Patient) -> Optional[BaseException]:
    """Return the error of the TLS handshake; a connection that is cut meanwhile is one, too."""
    if patient.kind != HTTP or patient.where.scheme != "https" or patient.step != CONNECTION or patient.error is None:
        return None
    import ssl

    cause = patient.error.__cause__
    return cause if isinstance(cause, (ssl.SSLError, ConnectionResetError)) else None


def _certificate(*codes: int) -> Callable[[Patient], Finding]:
    """Return the function that knows a certificate that was refused for these reasons; none: for any."""
    def seen(patient: Patient) -> Finding:
        error = _tls_error(patient)
        code = getattr(error, "verify_code", None)
        if code is None or codes and code not in codes:
            return None
        said = patient.quote(getattr(error, "verify_message", "") or str(error)).rstrip(".")
        other = names_in_certificate(patient) if codes and _OTHER_NAME in codes else ""
        return {"host": patient.where.host, "said": said, "names": other}
    return seen


def _plain_not_tls(patient: Patient) -> Finding:
    if not _tls_error(patient):
        return None
    first = first_words(patient, b"GET / HTTP/1.0\r\n\r\n")
    if not first.startswith("HTTP/"):
        return None
    return {"place": patient.where.authority, "meant": patient.trace.masker.url("http" + patient.target[5:])}


def _not_tls(patient: Patient) -> Finding:
    error = _tls_error(patient)
    if error is None:
        return None
    first = first_words(patient, b"GET / HTTP/1.0\r\n\r\n")
    return {"place": _place(patient), "said": first or patient.quote(str(error))}


def _tls_not_plain(patient: Patient) -> Finding:
    if patient.kind == HTTP and patient.where.scheme == "https" or patient.step != HANDSHAKE:
        return None
    says_so = "HTTPS" in "".join(seen.body for seen in patient.exchanges) and _status(patient) == 400
    is_cut = isinstance(patient.error, (AnswerLost, ConnectionLost)) and not _last(patient).status
    if not says_so and not (is_cut and speaks_tls(patient)):
        return None
    host = "[%s]" % _host(patient) if ":" in _host(patient) else _host(patient)
    port = patient.where.port if patient.kind == HTTP else patient.address.port
    path = patient.where.target if patient.kind == HTTP else "/mcp"
    return {"place": _place(patient), "meant": patient.quote("https://%s:%d%s" % (host, port, path))}


# What listens there

def _something_else(patient: Patient) -> Finding:
    from http.client import BadStatusLine, RemoteDisconnected, UnknownProtocol

    cause = patient.error.__cause__ if patient.error is not None else None
    if isinstance(cause, (BadStatusLine, UnknownProtocol)) and not isinstance(cause, RemoteDisconnected):
        line = str(getattr(cause, "line", cause))
        return {"place": _place(patient), "line": patient.quote(line.strip("'").replace("\\r\\n", ""))}
    if patient.kind != HTTP and patient.noise and patient.step == HANDSHAKE:
        return {"place": _place(patient), "line": patient.quote(patient.noise[0])}
    return None


def _http_not_lines(patient: Patient) -> Finding:
    if patient.kind == HTTP or not patient.noise or not patient.noise[0].startswith("HTTP/1."):
        return None
    return {"place": _place(patient), "meant": "http" + str(patient.address)[3:] + "/mcp"}


# HTTP: statuses

def _status(patient: Patient) -> int:
    return int(getattr(patient.error, "status", None) or 0)


def _last(patient: Patient) -> SeenExchange:
    """Return the last exchange that had a response."""
    answered = [seen for seen in patient.exchanges if seen.status]
    return answered[-1] if answered else SeenExchange("", "", {}, 0, {}, "", False)


def _of_status(*statuses: int) -> Callable[[Patient], Finding]:
    """Return the function that knows that the server refused us with one of these statuses, such as 404 or 5 for 5xx.
    """
    def seen(patient: Patient) -> Finding:
        status = _status(patient)
        if status not in statuses and status // 100 not in statuses:
            return None
        last = next((each for each in patient.exchanges if each.status == status), _last(patient))
        body = patient.quote(last.body.strip().splitlines()[0]) if last.body.strip() else ""
        location = last.fields.get("location", "nowhere: it names no Location")
        return {"status": status, "path": patient.where.path, "place": _place(patient),
                "said": ": " + body if body else "", "location": patient.quote(location), "sent": last.sent}
    return seen


def _token_refused(patient: Patient) -> Finding:
    found = _of_status(401)(patient)
    return found if found is not None and "authorization" in found["sent"] else None


def _needs_login(patient: Patient) -> Finding:
    found = _of_status(401)(patient)
    if found is None or not isinstance(patient.error, HttpStatus):
        return None
    known = login(patient, patient.error)
    if known.get("issuer"):
        return dict(found, where="log in at %s" % patient.quote(known["issuer"]), hint="")
    if known.get("metadata"):
        return dict(found, where="it says where to log in at %s" % patient.quote(known["metadata"]),
                    hint=" That document has a fault, which is the server's: %s." % known["problem"])
    return None


def _about(word: str) -> Callable[[Patient], Finding]:
    """Return the function that knows a 403 or 421 about this field, Host or Origin."""
    def seen(patient: Patient) -> Finding:
        found = _of_status(403, 421)(patient)
        if found is None or word not in found["said"] and not (word == "Host" and found["status"] == 421):
            return None
        return dict(found, value=patient.quote(found["sent"].get(word.lower(), "")))
    return seen


def _scope_missing(patient: Patient) -> Finding:
    challenge = _last(patient).fields.get("www-authenticate", "")
    return _of_status(403)(patient) if "insufficient_scope" in challenge else None


def _login_fails(patient: Patient) -> Finding:
    return {"said": patient.said_by(patient.error)} if isinstance(patient.error, AuthError) else None


def _wrong_path(patient: Patient) -> Finding:
    found = _of_status(*WRONG_PATHS)(patient)
    if found is None or patient.transport == "http+sse" or _begins_sse(patient):
        return None
    other = elsewhere(patient)
    hint = "%s answers as an MCP server: give that URL." % patient.quote(other) if other else (
        WRONG_PATH[:1].upper() + WRONG_PATH[1:] + ".")
    return dict(found, hint=hint)


def _begins_sse(patient: Patient) -> bool:
    return any(seen.method == "GET" and seen.status == 200 for seen in patient.exchanges)


def _sse_ended(patient: Patient) -> Finding:
    return {} if _begins_sse(patient) and patient.step == HANDSHAKE and (
        _status(patient) or isinstance(patient.error, (AnswerLost, ConnectionLost))) else None


# HTTP: answers

def _speaks(patient: Patient) -> bool:
    """Return True if a response held a message of JSON-RPC, in whatever form, or began a session."""
    return any('"jsonrpc"' in seen.body or "mcp-session-id" in seen.fields for seen in patient.exchanges)


def _web_page(patient: Patient) -> Finding:
    kind = _last(patient).fields.get("content-type", "")
    if not isinstance(patient.error, PeerProtocolError) or not _A_WEB_PAGE(kind) or _speaks(patient):
        return None
    return {"place": _place(patient), "path": patient.where.path, "kind": patient.quote(kind)}


def _compressed(patient: Patient) -> Finding:
    coding = _last(patient).fields.get("content-encoding", "identity")
    is_it = patient.step != LISTS and isinstance(patient.error, PeerProtocolError) and coding != "identity"
    return {"coding": patient.quote(coding)} if is_it else None


def _not_mcp(patient: Patient) -> Finding:
    last = _last(patient)
    if (patient.kind != HTTP or not isinstance(patient.error, PeerProtocolError) or patient.step != HANDSHAKE
            or _speaks(patient)):
        return None
    body = patient.quote(last.body.strip().splitlines()[0]) if last.body.strip() else "nothing"
    return {"place": _place(patient), "status": last.status, "body": body}


def _stream_cut(patient: Patient) -> Finding:
    is_it = isinstance(patient.error, AnswerLost) and "cut off" in str(patient.error)
    return {"said": patient.said_by(patient.error)} if is_it and patient.error else None


def _silent_path(patient: Patient) -> Finding:
    found = _silent(patient)
    other = elsewhere(patient) if found is not None and patient.kind == HTTP else ""
    return dict(found or {}, path=patient.where.path, other=patient.quote(other)) if other else None


def _silent(patient: Patient) -> Finding:
    if patient.step == LISTS or not isinstance(patient.error, RequestTimeout):
        return None
    return {"place": _place(patient), "seconds": "%g" % patient.limits.initialize_timeout}


TABLE: Tuple[Symptom, ...] = (
    Symptom("bad-address", fails_at(ADDRESS),
            "The address cannot be read: {said}.",
            "Write http://host:port/path, https://..., tcp://host:port or unix:///path."),
    Symptom("proxy-odd", fails_at(PROXY),
            "The proxy that HTTPS_PROXY or HTTP_PROXY asks for cannot be used: {said}.",
            "Set the variable to http://host:port, or take the server out by NO_PROXY."),
    Symptom("proxy-unreachable", _proxy_unreachable,
            "The proxy {proxy}, which HTTPS_PROXY or HTTP_PROXY names, is not reached: {said}.",
            "Correct or unset the variable, or take this server out of it by NO_PROXY=HOST."),
    Symptom("proxy-refuses", _proxy_refuses,
            "The proxy {proxy} does not connect us: {said}.",
            "407: put user and password into HTTPS_PROXY (http://user:password@host:port). Else ask who runs the "
            "proxy, or take the server out by NO_PROXY=HOST."),
    Symptom("name-unknown", _name_unknown,
            "There is no host {host}: {said}.",
            "Look for a mistake in the name; names inside of a company or of containers are known only there."),
    Symptom("socket-missing", _of_unix(lambda path: not os.path.exists(path)),
            "There is no socket {path}.",
            "Start the server, or correct the path."),
    Symptom("not-a-socket", _of_unix(lambda path: not stat.S_ISSOCK(os.stat(path).st_mode)),
            "{path} is there, but it is no socket.",
            "Correct the path."),
    Symptom("no-permission", _of_unix(lambda path: not os.access(path, os.W_OK)),
            "The socket {path} is not open to this user.",
            "Run as its owner, or have the server make it accessible (its group, its mode)."),
    Symptom("certificate-expired", _certificate(_EXPIRED, _NOT_YET),
            "The certificate of {host} is refused: {said}.",
            "Renew it at the server; or correct the clock of this machine."),
    Symptom("certificate-name", _certificate(_OTHER_NAME, _OTHER_ADDRESS),
            "The certificate is not for {host}, but for {names}.",
            "Use one of those names in the URL."),
    Symptom("certificate-unknown", _certificate(),
            "Nobody whom this machine trusts vouches for the certificate of {host}: {said}.",
            "If it is your own: --cafile FILE, or SSL_CERT_FILE=FILE, with the certificate of who signed it. Behind "
            "a company's proxy: with that of the proxy."),
    Symptom("plain-not-tls", _plain_not_tls,
            "{place} speaks HTTP without TLS.",
            "Write http:// in the URL: {meant}"),
    Symptom("not-tls", _not_tls,
            "What listens at {place} does not speak TLS: {said}.",
            "Look whether it is the right port."),
    Symptom("refused", _refused,
            "Nobody listens at {place}: the connection is refused.",
            "{hint}"),
    Symptom("unreachable", _unreachable,
            "{place} is not reached: {said}.",
            "Look at the network, and at firewalls between here and there."),

    Symptom("tls-not-plain", _tls_not_plain,
            "{place} speaks TLS only.",
            "Write https:// in the URL: {meant}"),
    Symptom("http-not-lines", _http_not_lines,
            "{place} speaks HTTP.",
            "Give its URL: {meant}, or whichever path it has."),
    Symptom("something-else", _something_else,
            "What listens at {place} is no MCP server: it says {line}",
            "Look whether it is the right port."),
    Symptom("http-sse-broken", _sse_ended,
            "The server begins HTTP+SSE, the transport of 2024-11-05, but its stream is of no use: it ends at "
            "once, or says that messages go to another origin.",
            "Look at the server's log, at the address that its endpoint event names, and whether a proxy in front of "
            "it cuts or buffers streams."),
    Symptom("token-refused", _token_refused,
            "The server does not take the token that it is shown (401{said}).",
            "Get a new one: it may have expired, or be for another server. --oauth logs in, if the server supports "
            "that."),
    Symptom("login-fails", _login_fails,
            "Logging in does not succeed: {said}.",
            "`help(mcp_ref.auth)` has what an authorization server must offer; --client-id names a client that is "
            "registered there."),
    Symptom("needs-login", _needs_login,
            "The server lets in only who is logged in (401{said}): {where}.",
            "Add --oauth, which opens the browser (Python: auth=OAuth()).{hint}"),
    Symptom("needs-token", _of_status(401),
            "The server wants a token (401{said}), and does not say where to get one.",
            "Get one from its maker, put it into an environment variable, and add --token-env NAME (Python: "
            "token=...)."),
    Symptom("origin-refused", _about("Origin"),
            "The server refuses the web page {value} (status {status}{said}).",
            "Allow it at the server: allowed_origins=[...] (run --allowed-origin)."),
    Symptom("host-refused", _about("Host"),
            "The server refuses to be called {value} (status {status}{said}).",
            "Allow the name at the server: allowed_hosts=[...] (run --allowed-host). Behind a proxy: the name that "
            "it passes on. Official Python SDK: TransportSecuritySettings(allowed_hosts=[...])."),
    Symptom("scope-missing", _scope_missing,
            "The token does not allow this (403{said}).",
            "Log in again with the scope that the server names: --oauth --scope SCOPE."),
    Symptom("forbidden", _of_status(403),
            "The server lets us in not at all (403{said}).",
            "Ask who runs it. A token: --token-env NAME or --oauth. A firewall or a bot filter in front of it says "
            "403, too."),
    Symptom("wrong-path", _wrong_path,
            "There is no MCP endpoint at {path} on {place} (status {status}{said}).",
            "{hint}"),
    Symptom("redirect", _of_status(3),
            "{place}{path} redirects to {location} (status {status}).",
            "Give that URL if you trust it; if it is a page for logging in, the server is behind a gateway that "
            "wants you to log in there."),
    Symptom("too-many", _of_status(429),
            "The server answers that there are too many requests (429{said}).",
            "Wait, and ask it less often."),
    Symptom("server-error", _of_status(5),
            "The server, or a proxy in front of it, fails (status {status}{said}).",
            "Look at its log. 502, 503, 504: the proxy does not reach the server."),
    Symptom("not-mcp", _of_status(400, 406, 411, 413, 415, 422),
            "What answers at {place}{path} refuses an MCP request (status {status}{said}).",
            "Look whether the URL is that of an MCP endpoint; another revision may do: --era legacy."),
    Symptom("web-page", _web_page,
            "{place}{path} answers with a web page ({kind}), not with MCP.",
            "Give the URL of the MCP endpoint, often with /mcp at its end; a page for logging in has the same "
            "effect."),
    Symptom("compressed", _compressed,
            "The server compresses its answers ({coding}), although that was not asked for.",
            "Switch compression off at the server, or at the proxy in front of it."),
    Symptom("stream-cut", _stream_cut,
            "The answer breaks off: {said}.",
            "Look at the server's log; a proxy in front of it may cut streams (nginx: proxy_buffering off, "
            "proxy_read_timeout)."),
    Symptom("not-mcp", _not_mcp,
            "What answers at {place} is no MCP server: status {status}, {body}",
            "Look whether the URL is that of an MCP endpoint, often with /mcp at its end."),
    Symptom("wrong-path", _silent_path,
            "{path} on {place} takes requests, but answers none: the endpoint is another one.",
            "{other} answers as an MCP server: give that URL."),
    Symptom("never-answers", _silent,
            "{place} accepts the connection, and answered nothing in {seconds} s.",
            "Look whether it is an MCP server, and whether that hangs: its log, a debugger. --timeout waits longer."),
)
