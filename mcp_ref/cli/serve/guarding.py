"""The options of `run` about access over HTTP: one secret or tokens of OAuth; names of the server, web pages and the
proxies that are accepted; TLS.

Secrets are named by the variable of the environment that holds them, so that no list of processes shows them.
"""

import argparse
import os
from typing import TYPE_CHECKING, Any, Dict, Optional

from ..output import UsageError

if TYPE_CHECKING:
    import ssl

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


def declare(parser: argparse.ArgumentParser, both_sides: bool = False) -> None:
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


def told(options: Any, both_sides: bool = False) -> Dict[str, Any]:
    """Return the options that were given, by name; a worker gets them as JSON. ``both_sides`` as for `declare`.

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
