"""Options of `run` that say who may ask the server over HTTP: whoever shows one secret, or a token of OAuth.

Secrets are named by the variable of the environment that holds them, so that no list of processes shows them.
"""

import argparse
import os
from typing import Any, Dict

from .failures import UsageError

_NAMES = ("token_env", "resource", "authorization_server", "jwks", "introspect", "client_id", "client_secret_env",
          "audience", "scope")


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add = parser.add_argument_group("who may ask, over HTTP").add_argument
    add("--token-env", metavar="NAME", help="clients show the secret that this variable of the environment holds")
    add("--resource", metavar="URL", help="clients show tokens of OAuth that were made for this URL: the one under"
        " which they know the server, such as https://mcp.example.com/mcp")
    add("--authorization-server", metavar="URL", help="who makes these tokens; its metadata say the rest")
    add("--jwks", metavar="URL", help="the keys that tokens are signed with, if its metadata do not say where they are")
    add("--introspect", metavar="URL", help="ask there about every token, instead of checking its signature")
    add("--client-id", metavar="ID", help="what the server is called where it asks about tokens")
    add("--client-secret-env", metavar="NAME", help="the variable that holds its secret there")
    add("--audience", metavar="NAME", action="append", help="another name that tokens may have for this server")
    add("--scope", metavar="SCOPE", action="append", help="what every request needs; may be repeated")


def told(options: Any) -> Dict[str, Any]:
    """Those that were given, by name; for a worker, as JSON. Raises `UsageError` where they do not go together."""
    given = {name: getattr(options, name) for name in _NAMES if getattr(options, name, None) is not None}
    if given and not options.http:
        raise UsageError("%s is for --http HOST:PORT; over stdio nobody shows a token" % _shown(min(given)))
    oauth = sorted(set(given) - {"token_env"})
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
    """What a listener is passed for these; {} for none. Raises `UsageError` for what cannot be."""
    if "token_env" in given:
        return {"token": _secret(given["token_env"])}
    if not given:
        return {}
    from ..auth.resource_server import ResourceServer
    from ..auth.verifiers import Introspection, JwtVerifier
    from ..errors import AuthError

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
