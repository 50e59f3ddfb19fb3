"""The server in a Python file, the listener that it gets, and the options about access and log.

`run`, `bridge` and `workers` share them. The options about access over HTTP are one secret, or tokens of OAuth; the
names of the server, and the web pages and proxies that are accepted; TLS. Secrets are named by the variable of the
environment that holds them, so that no list of processes shows them.
"""

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ..output import UsageError

if TYPE_CHECKING:
    import ssl

    from ...server import Server
    from ...server.serving.http_listener import HttpListener
    from ...wiretrace import Trace
    from .logs import Access

_NAMES = ("token_env", "resource", "authorization_server", "jwks", "introspect", "client_id", "client_secret_env",
          "audience", "scope")
_PLAIN = {"allowed_host": "allowed_hosts", "allowed_origin": "allowed_origins", "trusted_proxy": "trusted_proxies",
          "health": "health", "metrics": "metrics"}
"""The options that a listener takes as they are -> their names there."""
_TLS = ("tls_cert", "tls_key")
_OF_BOTH_SIDES = ("token_env", "client_id", "client_secret_env", "scope")
"""The options that a command has for a server that it uses, too, where these are about the clients that it serves."""
FRONT = "front_"
"""The prefix of those of both sides, where a command has both."""


def add_options(parser: argparse.ArgumentParser, both_sides: bool = False) -> None:
    """Declare the options. ``both_sides``: for a command that also uses a server, whose options have the plain names.
    """
    group = parser.add_argument_group("access over HTTP")

    def add(option: str, metavar: str, help: str, action: str = "store") -> None:
        front = both_sides and option[2:].replace("-", "_") in _OF_BOTH_SIDES
        group.add_argument(_shown(FRONT) + option[2:] if front else option, metavar=metavar, help=help, action=action)

    add("--token-env", metavar="NAME", help="clients must show the secret in this environment variable as a"
        " bearer token")
    add("--resource", metavar="URL", help="clients must show OAuth tokens that were issued for this URL, the"
        " public one of the server, such as https://mcp.example.com/mcp")
    add("--authorization-server", metavar="URL", help="the issuer of these tokens; its metadata are fetched")
    add("--jwks", metavar="URL", help="the address of the keys that tokens are signed with (default: as the issuer's"
        " metadata say)")
    add("--introspect", metavar="URL", help="ask this address about every token, instead of checking its signature")
    add("--client-id", metavar="ID", help="the server's client id at --introspect")
    add("--client-secret-env", metavar="NAME", help="the environment variable with its secret at --introspect")
    add("--audience", metavar="NAME", action="append", help="another name that tokens may have for this server")
    add("--scope", metavar="SCOPE", action="append", help="a scope that every request needs; may be repeated")
    add("--allowed-host", metavar="NAME", action="append", help="a name under which clients reach the server, such as"
        " mcp.example.com (default: those of this machine); may be repeated")
    add("--allowed-origin", metavar="URL", action="append", help="a page that may ask from a browser, such as"
        " https://app.example.com (default: pages of this machine); may be repeated")
    add("--trusted-proxy", metavar="ADDRESS", action="append", help="an address or network of a proxy, or unix, that is"
        " believed who the client is (X-Forwarded-For); may be repeated")
    add("--health", metavar="PATH", help="answer 200 at this path while the server serves, such as /healthz: to"
        " programs of this machine, and to those who may use the server")
    add("--metrics", metavar="PATH", help="likewise, with counts of requests as text for Prometheus, those of all"
        " workers added up")
    add("--tls-cert", metavar="FILE", help="serve https with the certificate (and its chain) in this PEM file")
    add("--tls-key", metavar="FILE", help="its private key, if that is in a file of its own")


def given_options(options: Any, both_sides: bool = False) -> Dict[str, Any]:
    """Return the options that were given, by name; a worker gets them as JSON. ``both_sides`` as for `add_options`.

    Raises `UsageError` where they do not go together.
    """
    names = (*_NAMES, *_PLAIN, *_TLS)
    where = {name: FRONT + name if both_sides and name in _OF_BOTH_SIDES else name for name in names}
    given = {name: getattr(options, place) for name, place in where.items()
             if getattr(options, place, None) is not None}
    if given and not options.http:
        raise UsageError("%s is for --http HOST:PORT" % _shown(min(given)))
    if "tls_key" in given and "tls_cert" not in given:
        raise UsageError("--tls-key belongs to a certificate: give --tls-cert FILE, too")
    oauth = sorted(set(given).intersection(_NAMES) - {"token_env"})
    if "token_env" in given and oauth:
        raise UsageError("--token-env is another way than %s: use one of them" % _shown(oauth[0]))
    if oauth and not {"resource", "authorization_server"} <= set(given):
        raise UsageError("for tokens of OAuth pass --resource URL and --authorization-server URL")
    if "introspect" in given and "jwks" in given:
        raise UsageError("--introspect and --jwks are two ways to check tokens: use one of them")
    if ("client_id" in given or "client_secret_env" in given) and not {
            "client_id", "client_secret_env", "introspect"} <= set(given):
        raise UsageError("--client-id and --client-secret-env go together, and with --introspect URL")
    return given


def listener_options(given: Dict[str, Any]) -> Dict[str, Any]:
    """Return the arguments of a listener for these options; {} for none. Raises `UsageError` for a wrong value."""
    found = {option: given[name] for name, option in _PLAIN.items() if name in given}
    for name in ("health", "metrics"):
        if not found.get(name, "/").startswith("/"):
            raise UsageError("--%s takes a path, such as /%s, not %s" % (name, name, found[name]))
    if "trusted_proxy" in given:
        from ...http11.server.owners import Owners

        try:
            Owners(given["trusted_proxy"])
        except ValueError as error:
            raise UsageError("--trusted-proxy: %s" % error) from None
    if "tls_cert" in given:
        found["ssl_context"] = _tls(given["tls_cert"], given.get("tls_key"))
    found.update(_who(given))
    return found


def _tls(certificate: str, key: Optional[str]) -> "ssl.SSLContext":
    import ssl

    def no_password() -> str:
        raise UsageError("--tls-key: the key wants a password: pass one without")

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, no_password)
    except OSError as error:  # SSLError, too
        files = "--tls-cert %s" % certificate + (" --tls-key %s" % key if key else "")
        raise UsageError("%s cannot be used: %s" % (files, error)) from None
    return context


def _who(given: Dict[str, Any]) -> Dict[str, Any]:
    if "token_env" in given:
        return {"token": _secret(given["token_env"])}
    if "resource" not in given:
        return {}
    from ...auth.server.resource_server import ResourceServer
    from ...auth.server.verifiers import Introspection, JwtVerifier
    from ...errors import AuthError

    issuer = given["authorization_server"]
    try:
        verify: Any
        if "introspect" in given:
            secret = _secret(given["client_secret_env"]) if "client_secret_env" in given else None
            verify = Introspection(given["introspect"], given.get("client_id"), secret, issuer=issuer)
        else:
            verify = JwtVerifier(issuer, keys=given.get("jwks"))
        return {"auth": ResourceServer(given["resource"], [issuer], verify, scopes=given.get("scope"),
                                       audience=given.get("audience", ()))}
    except (ValueError, AuthError) as error:
        raise UsageError(str(error)) from None


def _secret(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise UsageError("the variable %s, which should hold a secret, is not set" % name)
    return value


def _shown(name: str) -> str:
    return "--" + name.replace("_", "-")


class LoadError(ValueError):
    """The file raised an exception; the text says where and why, in one line."""


def host_and_port(address: str) -> Tuple[str, int]:
    """Return host and port of an argument of ``--http``. Raises `UsageError`."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and len(port) < 6):
        raise UsageError("--http takes HOST:PORT, such as 127.0.0.1:8000, not %s" % address)
    return host.strip("[]") or "127.0.0.1", int(port)


def listen_http(
    server: "Server", address: str, sessions: str, trace: "Optional[Trace]", access: "Optional[Access]" = None,
    **options: Any
) -> "HttpListener":
    """Return a listener for HTTP that is not open yet. ``sessions`` as on the command line, ``options`` as
    `HttpListener`, ``access``: what `set_up_logs` has returned.
    """
    from ...server.serving.http_listener import PATH, HttpListener

    host, port = host_and_port(address)
    kept: Any = sessions
    if sessions.startswith("store:"):
        from ...ext.stores.sqlite import SqliteStore

        kept = SqliteStore(sessions[len("store:"):])
    scheme = "https" if options.get("ssl_context") else "http"
    url = "%s://%s:%d%s" % (scheme, "[%s]" % host if ":" in host else host, port, PATH)
    listener = HttpListener(server, url, sessions=kept, trace=trace, **options)
    if access is not None:
        listener.http.handler = access(listener.http.handler)
    listener.warns = False  # the caller prints the warning on the terminal, once for all workers
    return listener


def open_to_all(address: str) -> str:
    """Return the warning about a server that other machines can reach and that asks for no credentials."""
    return "mcp_ref: warning: %s can be reached from other machines, and nobody has to show who they are" % address


HTTP_ADVICE = ": use --token-env NAME, or --resource URL with --authorization-server URL"


def log_options(parser: Any) -> None:
    """Declare the options of `logs`. ``parser``: a parser, or a group of its options."""
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), help="the least level of records "
                        "that are written to standard error (default: warning)")
    parser.add_argument("--log-format", choices=("text", "json"), help="the form of what is written to standard error "
                        "and to the access log: lines of text (default), or JSON objects, one a line")
    parser.add_argument("--access-log", metavar="FILE", help="with --http: append a line for each request to FILE; - is"
                        " standard error")


def logs_told(options: Any) -> Dict[str, Any]:
    """Return the options of `logs` that were given, by name; a worker gets them as JSON. Raises `UsageError` for an
    access log without HTTP."""
    if options.access_log and not options.http:
        raise UsageError("--access-log is for --http HOST:PORT")
    names = ("log_level", "log_format", "access_log")
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def set_up_logs(given: Dict[str, Any]) -> "Optional[Access]":
    """Set up logging as the options say; return the function that writes the access log, as `logs.set_up` does."""
    if not given:
        return None
    from .logs import set_up

    return set_up(given)


def load(path: str, name: str) -> "Server":
    """Return the server in a Python file: the variable ``name``, or the only server in the file.

    The file runs as if it were imported, with its folder first on the path; what it prints goes to standard error.
    Raises `UsageError` if there is no such file or server, and `LoadError` for what the file itself raises.
    """
    from ...server import Server

    made = _namespace(path)
    servers = {id(value): value for value in made.values() if isinstance(value, Server)}
    chosen = made.get(name)
    if not isinstance(chosen, Server) and len(servers) == 1:
        chosen = next(iter(servers.values()))
    if not isinstance(chosen, Server):
        raise UsageError("%s has %d servers; name the one to serve: --name VARIABLE" % (path, len(servers)))
    return chosen


def _namespace(path: str) -> Dict[str, Any]:
    import runpy

    if not os.path.isfile(path):
        raise UsageError("there is no file %s; the command is: run FILE" % path)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output will be the protocol's
            return runpy.run_path(path, run_name="mcp_ref_served")
    except Exception as error:
        raise LoadError("%s raised %s: %s; run it with python3 for the traceback" % (
            _place(path, error), type(error).__name__, error)) from None


def _place(path: str, error: Exception) -> str:
    """Return the file, with the line that raised where it is known."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == path:
            line = step.tb_lineno
        step = step.tb_next
    return path if line is None else "%s:%d" % (path, line)
