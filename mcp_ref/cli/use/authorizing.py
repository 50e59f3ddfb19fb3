"""Authorization of commands at HTTP servers that want a token: the options, and the arguments for `connect`.

Tokens are kept from one command to the next, in a file that only the user can read, so that the browser opens once for
each server. No secret is an option itself: other users of the machine see command lines, and shells remember them.
"""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, List

from ...errors import Unauthorized
from ..failures import UsageError
from ..output import note
from .terminal import Gone, ask, is_interactive

if TYPE_CHECKING:
    from ...streamable.client.auth_provider import Authorizing

FILE = "tokens.json"
NOWHERE = "-"


def auth_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options about authorization."""
    group = parser.add_argument_group("authorization, for servers at http:// and https://")
    group.add_argument("--token-env", metavar="NAME", help="send the token that is in this environment variable")
    group.add_argument("--oauth", action="store_true",
                       help="get a token if the server wants one: a browser opens and asks you")
    group.add_argument("--no-browser", action="store_true",
                       help="print the address to open, and ask for the address of the page on which you end up")
    group.add_argument("--client-id", metavar="ID",
                       help="the id of this client at the authorization server (default: it registers itself)")
    group.add_argument("--client-secret-env", metavar="NAME",
                       help="the environment variable with the secret that belongs to --client-id")
    group.add_argument("--client-credentials", action="store_true",
                       help="get a token for the client itself, by its id and secret, without a person; needs "
                            "--issuer")
    group.add_argument("--client-metadata", metavar="URL",
                       help="the address of a client ID metadata document, instead of an id")
    group.add_argument("--issuer", metavar="URL", help="the authorization server that knows --client-id")
    group.add_argument("--private-networks", action="store_true",
                       help="allow that the authorization server of a public server is in a private network")
    group.add_argument("--scope", action="append", default=[], metavar="SCOPE",
                       help="ask for this scope besides those that the server names; may be repeated")
    group.add_argument("--token-file", metavar="FILE",
                       help="where tokens are kept (default: %s; %s: nowhere)" % (
                           token_file().replace("%", "%%"), NOWHERE))


def token_file() -> str:
    """Return the file in which tokens are kept, in the system's folder for the settings of a user."""
    home = os.path.expanduser("~")
    folder = {
        "win32": os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"),
        "darwin": os.path.join(home, "Library", "Application Support"),
    }.get(sys.platform) or os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(folder, __name__.partition(".")[0], FILE)


def authorization(options: Any) -> Dict[str, Any]:
    """Return the arguments of `mcp_ref.client.connect` for these options; {} for none. Raises `UsageError`."""
    given = _given(options)
    if not given:
        return {}
    from ...client.connecting import scheme_of

    if scheme_of(options.server) not in ("http", "https"):
        raise UsageError("%s is for servers at http:// and https://: others get what they need by --env" % given[0])
    if options.token_env is not None:
        if given != ["--token-env"]:
            raise UsageError("--token-env sends a token that is there already: leave %s out" % given[1])
        return {"token": _secret(options.token_env, "--token-env")}
    return {"auth": _client_credentials(options) if options.client_credentials else _oauth(options)}


def _given(options: Any) -> List[str]:
    """Return the options about authorization that were given."""
    names = ("token_env", "oauth", "no_browser", "client_id", "client_secret_env", "client_credentials",
             "client_metadata", "issuer", "private_networks", "scope", "token_file")
    return ["--" + name.replace("_", "-") for name in names if getattr(options, name)]


def _common(options: Any) -> Dict[str, Any]:
    """Return the arguments that all grants have in common."""
    from ...auth.client.store import FileStore, MemoryStore

    store = MemoryStore() if options.token_file == NOWHERE else FileStore(options.token_file or token_file())
    secret = options.client_secret_env
    return {"client_id": options.client_id, "issuer": options.issuer, "scopes": options.scope or None, "store": store,
            "private_networks": options.private_networks,
            "client_secret": None if secret is None else _secret(secret, "--client-secret-env")}


def _oauth(options: Any) -> "Authorizing":
    if not options.oauth:
        raise UsageError("%s goes with --oauth or --client-credentials" % _given(options)[0])
    from ...auth.client.oauth import OAuth

    how: Dict[str, Any] = {"authorize": _by_hand} if options.no_browser else {"open_browser": _open}
    try:
        return OAuth(client_metadata_url=options.client_metadata, **how, **_common(options))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _client_credentials(options: Any) -> "Authorizing":
    for name in ("oauth", "no_browser", "client_metadata"):
        if getattr(options, name):
            raise UsageError("--client-credentials asks nobody: leave --%s out" % name.replace("_", "-"))
    if options.client_id is None or options.client_secret_env is None:
        raise UsageError("--client-credentials needs --client-id and --client-secret-env")
    if options.issuer is None:
        raise UsageError("--client-credentials needs --issuer, the authorization server that knows --client-id: "
                         "without it the secret would go to any that the server names")
    from ...auth.client.machine import ClientCredentials

    try:
        return ClientCredentials(**_common(options))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _secret(name: str, option: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise UsageError("%s %s: there is no such environment variable, or nothing in it" % (option, name))
    return value


def _open(url: str) -> None:
    import webbrowser

    note("waiting for you to allow access in the browser")
    if not webbrowser.open(url):
        note("no browser could be started; open this page in one on this machine, or use --no-browser:\n  " + url)


def _by_hand(url: str) -> str:
    if not is_interactive():
        raise Unauthorized("--no-browser asks at a terminal, and there is none")
    note("open this page in a browser, allow access, and copy the address of the page on which it ends, "
         "which may say that it cannot be shown:\n  " + url)
    try:
        return ask("that address: ")
    except Gone:
        raise Unauthorized("nobody allowed access") from None
