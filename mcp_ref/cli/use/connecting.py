"""The connection of a command to its server: the options that name the server, and the connected client.

At HTTP servers that want a token, tokens are kept from one command to the next, in a file that only the user can read,
so that the browser opens once for each server. No secret is an option itself: other users of the machine see command
lines, and shells remember them.
"""

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple

from ...errors import ConnectionLost, Unauthorized
from ...limits import DEFAULT, Limits
from ...messages.logs import LEVELS
from ...protocol.lifecycle import ERAS, UNDECLARED
from ...revisions import REVISIONS
from ...version import __version__
from ..output import UsageError, is_text, note, one_line, trace_option, trace_to
from .asking import Asking, Gone, ask, is_interactive
from .values import pairs_of

if TYPE_CHECKING:
    from ...client import Client
    from ...host.configuration import Configuration
    from ...streamable.client.auth_provider import Authorizing

_QUOTE = "; last stderr lines:"
"""The words behind which the error of a server that ended quotes its stderr."""
_MOST_LINES = 1000
"""Lines of a server that is being opened that are remembered."""


def server_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every command that uses a server."""
    parser.add_argument("--quiet", action="store_true", help="do not show what the server writes on its standard error")
    parser.add_argument("--timeout", type=float, metavar="SECONDS",
                        help="the time to wait for one answer; progress starts it again (default: %g, and %g on "
                             "a terminal, where the server may ask you something)" % (
                                 DEFAULT.request_timeout, DEFAULT.request_ceiling))
    parser.add_argument("--roots", action="append", default=[], metavar="PATH",
                        help="offer this folder to the server as a root (a path or file://); may be repeated")
    parser.add_argument("--log-level", choices=LEVELS, metavar="LEVEL",
                        help="ask the server for log messages of this level and above: " + ", ".join(LEVELS))
    target_options(parser)


def save_option(parser: argparse.ArgumentParser) -> None:
    """Declare the option for binary content."""
    parser.add_argument("--save", metavar="DIR", help="write images, audio and other binary content to new files there")


def target_options(parser: argparse.ArgumentParser) -> None:
    """Declare the server, and the options that say how it is started or reached."""
    parser.add_argument("server", metavar="SERVER",
                        help='a command in quotes, such as "python3 server.py", or http://, https://, tcp://, '
                             "unix://, or an entry of a host's file, such as mcp.json:git; or the command comes last, "
                             "after --")
    parser.add_argument("--json", action="store_true", help="print JSON; errors too, as {\"error\": {...}}")
    trace_option(parser)
    spoken = parser.add_mutually_exclusive_group()
    spoken.add_argument("--revision", choices=[str(r) for r in REVISIONS], help="speak only this revision")
    spoken.add_argument("--era", choices=list(ERAS),
                        help="speak revisions with a handshake (legacy), without (modern), or find out (auto, default)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="add to the environment of the server that is started; may be repeated")
    parser.add_argument("--inherit-env", action="store_true",
                        help="pass that server the whole environment but MCP_REF_*, not only PATH, HOME and the like")
    parser.add_argument("--cwd", metavar="FOLDER", help="the folder in which the server is started")
    http = parser.add_argument_group("for servers at http:// and https://").add_argument
    http("--header", action="append", default=[], metavar="NAME=VALUE",
         help="send this header field with every request; may be repeated. Other users of this machine can read it: "
              "pass a token by --token-env")
    http("--cafile", metavar="FILE", help="trust the certificates in this PEM file, and no others")
    auth_options(parser)


def connected(options: Any) -> "Client":
    """Return the connected client; use it in a ``with`` statement. Raises what `mcp_ref.client.connect` raises.

    ``options.asking`` is set to the `Asking` that answers the server's questions.
    """
    from ...client import connect
    from ...client.connecting import is_command

    options.asking = Asking(options.server if isinstance(options.server, str) else " ".join(options.server))
    limits = take_entry(options, _limits(options))
    quiet = options.quiet or is_text(options.trace)  # such a trace shows it
    undeclared = [fault for fault in options.tolerate if fault == UNDECLARED]
    options.tolerate = [fault for fault in options.tolerate if fault != UNDECLARED]
    shown = _ServerLines() if is_command(options.server) and not quiet else None
    try:
        client = connect(
            options.server,
            stderr=False if is_command(options.server) and quiet else shown,
            trace=trace_to(options.trace),
            limits=limits,
            era=options.revision or options.era,
            version=__version__,
            roots=options.roots or None,
            sampling=options.asking.sampling(),
            elicitation=options.asking.elicitation(),
            on_log=_log,
            tolerate=undeclared,
            **target_arguments(options),
        )
    except ConnectionLost as error:
        if shown is not None and not options.json:
            shown.shorten(error)
        raise
    client.advice = ""  # it is for programs
    if shown is not None:
        shown.opening = False
    if options.log_level:
        try:
            client.set_log_level(options.log_level)
        except BaseException:
            client.close()
            raise
    return client


def target_arguments(options: Any) -> Dict[str, Any]:
    """Return the arguments of `mcp_ref.client.connect` for `target_options`. Raises `UsageError`."""
    return dict(_http(options), **authorization(options), env=pairs_of(options.env, "--env"), cwd=options.cwd,
                inherit_env=True if options.inherit_env else None)


class _ServerLines:
    """Shows each line that a server writes on its stderr, and does not say the same twice while it is being opened.

    One that ends when it is asked `server/discover` is started again for `initialize`: if it cannot start, it says so
    both times, and the error quotes it once more.
    """

    def __init__(self) -> None:
        from ...transports.lines.stderr import PrefixWriter

        self.opening = True
        self._write = PrefixWriter("server| ")
        self._lines: Set[str] = set()

    def __call__(self, line: str) -> None:
        """Take a line; on the thread that drains the stderr."""
        if not self.opening or line not in self._lines:
            self._write(line)
        if self.opening and len(self._lines) < _MOST_LINES:
            self._lines.add(line)

    def shorten(self, error: Exception) -> None:
        """Leave out of the error what was shown already."""
        text, mark, quoted = str(error).partition(_QUOTE)
        shown = {line.strip() for line in self._lines}
        if mark and all(line.strip() in shown for line in quoted.strip().splitlines()):
            error.args = (text + "; what it wrote on stderr stands above", *error.args[1:])


# An entry of a host's file

_ENTRY = re.compile(r"(.*\.(?:jsonc?|toml|ya?ml))(?::(.*))?", re.IGNORECASE | re.DOTALL)


def entry_named(server: Any) -> "Optional[Tuple[Configuration, str]]":
    """Return the configuration and the name of the entry that SERVER stands for; None for a command or an address.

    A file may stand without a name if it has one entry. Raises `UsageError`.
    """
    found = _ENTRY.fullmatch(server) if isinstance(server, str) and "://" not in server else None
    if found is None:
        return None
    path, name = os.path.expanduser(found.group(1)), found.group(2)
    if not os.path.isfile(path) and len(server.split()) > 1:
        return None  # a command whose last word ends like a file
    from ...host.configuration import Configuration
    from ...options import closest

    try:
        file = Configuration.load(path)
    except OSError as error:
        raise UsageError("%s cannot be read: %s" % (path, error.strerror or error)) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not name and len(file.servers) == 1:
        return file, next(iter(file.servers))
    if name not in file.servers:
        meant = closest(name or "", file.servers)
        raise UsageError("%s %s write %s:NAME with one of these: %s" % (
            path, "has no server %r%s" % (name, ", did you mean %s? Otherwise" % meant if meant else ";") if name else
            "has %d servers;" % len(file.servers), path, one_line(", ".join(file.servers)) or "none"))
    return file, name


def entries_of(server: Any) -> Dict[str, str]:
    """Return the entries of a host's file of several servers that stands without a name, name -> SERVER; {} for
    anything else. Disabled ones are left out."""
    found = _ENTRY.fullmatch(server) if isinstance(server, str) and "://" not in server else None
    path = "" if found is None or found.group(2) else os.path.expanduser(found.group(1))
    if not os.path.isfile(path):
        return {}
    from ...host.configuration import Configuration, is_off

    try:
        file = Configuration.load(path)
        names = [name for name in file.servers if not is_off(file.where(name), file.servers[name])]
    except (OSError, ValueError):
        return {}  # `entry_named` says what is wrong
    return {name: "%s:%s" % (path, name) for name in names} if len(file.servers) > 1 else {}


def take_entry(options: Any, limits: Limits) -> Limits:
    """Put what the entry that SERVER stands for says in the place of the options that say the same; return the limits
    with its time to connect. Options that are given go before. Raises `UsageError`."""
    named = entry_named(options.server)
    if named is None:
        return limits
    from ...host.configuration import Variables, filled, is_off, shape
    from ...host.member import with_timeout

    file, name = named
    where = file.where(name)
    try:
        off = is_off(where, file.servers[name])
        entry = filled(where, shape(where, file.servers[name]), Variables(file, _answer))
    except ValueError as error:
        raise UsageError(str(error)) from None
    for text in [*entry.notes, *["it is disabled, and used as you have named it"] * off]:
        note(one_line("%s: %s" % (where, text)))
    options.server = entry.url or entry.command
    options.env = ["%s=%s" % pair for pair in (entry.env or {}).items()] + options.env
    given = {word.partition("=")[0].lower() for word in options.header}
    options.header = ["%s=%s" % pair for pair in (entry.headers or {}).items()
                      if pair[0].lower() not in given] + options.header
    options.cwd = options.cwd or entry.cwd
    return with_timeout(limits, entry.timeout)


def _answer(id: str, description: str, secret: bool) -> Optional[str]:
    """Ask the person at the terminal for an input of a configuration. Raises `UsageError` if there is none."""
    if not is_interactive():
        raise UsageError("${input:%s} asks a person, and there is no terminal: write ${NAME} of the environment, or "
                         "the value" % id)
    question = one_line(description or id) + ": "
    try:
        if not secret:
            return ask(question)
        from getpass import getpass

        return getpass(question, sys.stderr)
    except (Gone, EOFError):
        return None


def _http(options: Any) -> Dict[str, Any]:
    """Return the arguments of `mcp_ref.client.connect` about HTTP. Raises `UsageError`."""
    from ...urls import scheme_of

    given = {"headers": pairs_of(options.header, "--header"), "cafile": options.cafile}
    if any(given.values()) and scheme_of(options.server) not in ("http", "https"):
        raise UsageError("%s is for servers at http:// and https://" % ("--header" if options.header else "--cafile"))
    if options.cafile and not os.path.isfile(options.cafile):
        raise UsageError("--cafile: there is no file %s" % options.cafile)
    return {name: value for name, value in given.items() if value}


def _limits(options: Any) -> Limits:
    """Return the limits with the time for answers. A person at the terminal may think as long as the ceiling."""
    timeout = options.timeout
    if timeout is None:
        timeout = DEFAULT.request_ceiling if options.asking.interactive else DEFAULT.request_timeout
    if not timeout > 0:
        raise UsageError("--timeout must be more than 0 seconds")
    return Limits(request_timeout=timeout, initialize_timeout=min(timeout, DEFAULT.initialize_timeout))


def _log(level: str, data: Any, logger: Optional[str]) -> None:
    from json import dumps

    text = data if isinstance(data, str) else dumps(data, ensure_ascii=False)
    note(one_line("[%s] %s%s" % (level, logger + ": " if logger else "", text)))


# Authorization

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
    group.add_argument("--tolerate", action="append", default=[], metavar="FAULT",
                       help="accept this fault of a server, %s, or of an authorization server, issuer-slash or "
                            "unannounced-pkce" % UNDECLARED)
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
    from ...urls import scheme_of

    if scheme_of(options.server) not in ("http", "https"):
        raise UsageError("%s is for servers at http:// and https://: others get what they need by --env" % given[0])
    if options.token_env is not None:
        if given != ["--token-env"]:
            raise UsageError("--token-env sends a token that is there already: leave %s out" % given[1])
        return {"token": _secret(options.token_env, "--token-env")}
    try:
        return {"auth": _client_credentials(options) if options.client_credentials else _oauth(options)}
    except ValueError as error:
        raise UsageError(str(error)) from None


def _given(options: Any) -> List[str]:
    """Return the options about authorization that were given."""
    names = ("token_env", "oauth", "no_browser", "client_id", "client_secret_env", "client_credentials",
             "client_metadata", "issuer", "private_networks", "tolerate", "scope", "token_file")
    return ["--" + name.replace("_", "-") for name in names if getattr(options, name)]


def _common(options: Any) -> Dict[str, Any]:
    """Return the arguments that all grants have in common."""
    from ...auth.client.store import FileStore, MemoryStore

    store = MemoryStore() if options.token_file == NOWHERE else FileStore(options.token_file or token_file())
    secret = options.client_secret_env
    return {"client_id": options.client_id, "issuer": options.issuer, "scopes": options.scope or None, "store": store,
            "private_networks": options.private_networks, "tolerate": options.tolerate,
            "client_secret": None if secret is None else _secret(secret, "--client-secret-env")}


def _oauth(options: Any) -> "Authorizing":
    if not options.oauth:
        raise UsageError("%s goes with --oauth or --client-credentials" % _given(options)[0])
    from ...auth.client.oauth import OAuth

    how: Dict[str, Any] = {"authorize": _by_hand} if options.no_browser else {"open_browser": _open}
    return OAuth(client_metadata_url=options.client_metadata, **how, **_common(options))


def _client_credentials(options: Any) -> "Authorizing":
    for name in ("oauth", "no_browser", "client_metadata"):
        if getattr(options, name):
            raise UsageError("--client-credentials asks nobody: leave --%s out" % name.replace("_", "-"))
    if options.client_id is None or options.client_secret_env is None:
        raise UsageError("--client-credentials needs --client-id and --client-secret-env")
    if options.issuer is None:
        raise UsageError("--client-credentials needs --issuer, the authorization server that knows --client-id: "
                         "without it the secret would go to any that the server names")
    from ...ext.auth.machine import ClientCredentials

    return ClientCredentials(**_common(options))


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
