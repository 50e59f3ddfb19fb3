"""The way from a target to a connected client: a command, an address, a server of this process, or a transport."""

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Union

from ..limits import DEFAULT, Limits
from ..options import with_defaults
from ..peer.role import Role
from ..protocol import lifecycle
from ..transports.base import Transport
from ..urls import scheme_of
from .client import Client
from .options import CONNECT_DEFAULTS, REACH_DEFAULTS, takes_connect_options, takes_reach_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import ConnectOptions, ReachOptions

Target = Union[str, Sequence[str], Transport, Role]
"""A target of `connect`; of roles, a `Server`."""


@takes_connect_options
def connect(target: Target, **options: "Unpack[ConnectOptions]") -> Client:
    """Connect to a server, shake hands, and return the client; use it in a ``with`` statement.

    ``target`` is a command (a str, split as a shell does, or a list), whose process is started as a child and
    ended by `Client.close`; or ``http://host:port/path`` or ``https://...``, and which HTTP transport the server speaks
    is found out; or ``tcp://host:port``, ``unix:///path``; or a `Server` of this process, which is served in memory;
    or a `Transport` of your own.
    ``env`` adds to the child's environment. Of ours a child gets a short list (``PATH``, ``HOME``, ``LANG`` and the
    like, see `mcp_ref.transports.lines.process.child_environment`); with ``inherit_env=True`` all but ``MCP_REF_*``,
    with False nothing. ``cwd`` is its folder. What it writes on stderr is shown on ours, each line after ``server| ``;
    ``stderr``: False for nothing of that, or a function that gets each line, or a stream; see
    `mcp_ref.transports.lines.stderr`.
    ``headers`` go with each HTTP request, ``token`` as ``Authorization: Bearer``; or ``auth`` gets tokens and sends
    them, such as an `mcp_ref.auth.OAuth`. ``ssl_context`` (an `ssl.SSLContext`) or ``cafile`` (certificates to trust)
    is for ``https``. See `mcp_ref.http11.client.connect` for proxies.
    ``trace``: a `mcp_ref.wiretrace.Trace` that sees every message, HTTP, and the process; or the path of a file for it.
    Secrets are masked there, also those in ``env`` and ``headers``. All other options are those of `Client`.
    Raises `ConnectFailed` if no server is there, `HttpStatus` if a server refuses us, `AuthError` if it wants
    authorization and there is none to be had, `PeerProtocolError` if there is no revision in common, and
    ValueError for an option that is not for this kind of target: one about HTTP for a command, or a command's for HTTP.
    """
    given: Dict[str, Any] = dict(with_defaults(connect, CONNECT_DEFAULTS, options))
    if not is_command(target):
        _check_unused(dict(stderr=given["stderr"] is not None), _FOR_COMMANDS)
    reach = {name: given.pop(name) for name in REACH_DEFAULTS}
    return Client(**given).open(transport_to(target, limits=given["limits"], **reach))


@takes_reach_options
def transport_to(target: Target, *, limits: Limits = DEFAULT, **options: "Unpack[ReachOptions]") -> Transport:
    """Return the transport to a target, not opened yet, for `Client.open`; arguments and exceptions as for `connect`.
    """
    options = with_defaults(transport_to, REACH_DEFAULTS, options)
    env, headers, trace = options["env"], options["headers"], options["trace"]
    about_http: Dict[str, Any] = dict(
        headers=headers, token=options["token"], auth=options["auth"], ssl_context=options["ssl_context"],
        cafile=options["cafile"])
    if not is_command(target):
        given = dict(env=env, inherit_env=options["inherit_env"] is not None, cwd=options["cwd"])
        _check_unused(given, _FOR_COMMANDS)
    if scheme_of(target) in ("http", "https"):
        from ..streamable.client.detect import HttpAuto

        transport: Transport = HttpAuto(str(target), limits=limits, **about_http)
    else:
        # Over stdio credentials come from the environment
        # [2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
        # [2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD
        _check_unused(about_http, "only for a server at http:// or https://; give one that is started here what it "
                                  "needs in its environment, by env={...}")
        transport = _transport(target, options, limits)
    if trace is not None:
        from ..diagnostics.redaction import is_secret
        from ..transports.tap import tap
        from ..wiretrace import trace_of

        seen = trace_of(trace)
        for name, value in (*(env or {}).items(), *(headers or {}).items(), ("token", options["token"] or "")):
            if seen is not None and value and is_secret(name):
                seen.masker.learn(value)
        transport = tap(transport, seen, "client")
    return transport


_FOR_COMMANDS = "only for a command, which is started here; a server that runs already has its own"


def is_command(target: Target) -> bool:
    """True if the server is started here, as a child process."""
    return not isinstance(target, (Transport, Role)) and scheme_of(target) not in ("http", "https", "tcp", "unix")


def _check_unused(options: Mapping[str, Any], why: str) -> None:
    """Raise ValueError if one of these options is given: none that a caller relies on is ignored."""
    given = ", ".join(sorted(name for name, value in options.items() if value))
    if given:
        raise ValueError("%s: %s" % (given, why))


def _transport(target: Target, options: "ReachOptions", limits: Limits) -> Transport:
    if isinstance(target, Transport):
        return target
    if isinstance(target, Role):
        if target.party != lifecycle.SERVER:
            raise TypeError("a %s is no server to connect to" % type(target).__name__)
        from ..transports.memory import InProcess

        return InProcess(getattr(target, "connect"), limits)
    if scheme_of(target) in ("tcp", "unix"):
        from ..transports.lines.sockets import connect_socket

        return connect_socket(str(target), limits)
    from ..transports.lines.child import StdioChild
    from ..transports.lines.stderr import receiver

    command: Union[str, List[str]] = target if isinstance(target, str) else list(target)
    return StdioChild(command, env=options["env"], inherit_env=options["inherit_env"], cwd=options["cwd"],
                      stderr=receiver(options["stderr"], "server"), limits=limits)
