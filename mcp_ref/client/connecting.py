"""The way from a target to a connected client: a command, an address, a server of this process, or a transport."""

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, MutableMapping, Optional, Sequence, Union

from ..limits import DEFAULT, Limits
from ..messages.base import Icon
from ..messages.lifecycle import ClientCapabilities, Settings
from ..options import spelt
from ..peer.executors import Executor
from ..peer.role import Role
from ..protocol import lifecycle
from ..revisions import Revision
from ..transports.base import Transport
from ..urls import scheme_of
from ..version import __version__
from .cache import SharedAnswers
from .client import Client, LogCallback, NotificationCallback
from .options import UpdateCallback

if TYPE_CHECKING:
    import os
    import ssl

    from ..peer.extension import Extension
    from ..streamable.client.auth_provider import Authorizer, Authorizing
    from ..transports.lines.stderr import LineTarget
    from ..wiretrace import Trace
    from .client_capabilities import GivenElicitation, GivenRoots, GivenSampling

Target = Union[str, Sequence[str], Transport, Role]
"""A target of `connect`; of roles, a `Server`."""


@spelt
def connect(
    target: Target,
    *,
    env: Optional[Mapping[str, str]] = None,
    inherit_env: Optional[bool] = None,
    cwd: "Union[str, os.PathLike[str], None]" = None,
    stderr: "LineTarget" = None,
    headers: Optional[Mapping[str, str]] = None,
    token: Optional[str] = None,
    auth: "Union[Authorizing, Authorizer, None]" = None,
    ssl_context: "Optional[ssl.SSLContext]" = None,
    cafile: Optional[str] = None,
    trace: "Union[Trace, str, os.PathLike[str], None]" = None,
    limits: Limits = DEFAULT,
    name: str = "mcp_ref", version: str = __version__,
    title: Optional[str] = None, description: Optional[str] = None, website_url: Optional[str] = None,
    icons: Optional[List[Icon]] = None, revisions: Optional[Sequence[Union[str, Revision]]] = None,
    era: Optional[str] = None, eras: Optional[MutableMapping[str, str]] = None,
    roots: "GivenRoots" = None, sampling: "GivenSampling" = None, elicitation: "GivenElicitation" = None,
    experimental: Optional[Dict[str, Settings]] = None, capabilities: Optional[ClientCapabilities] = None,
    on_log: Optional[LogCallback] = None, on_update: Optional[UpdateCallback] = None,
    on_notification: Optional[NotificationCallback] = None,
    executor: Optional[Executor] = None, strict: bool = False, check_results: bool = True,
    cache: Optional[SharedAnswers] = None, extensions: "Optional[Sequence[Extension]]" = None,
    tasks: Optional[bool] = None, keepalive: Optional[float] = None,
    restart: bool = False, tolerate: Sequence[str] = (),
) -> Client:
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
    if not is_command(target):
        _check_unused(dict(stderr=stderr is not None), _FOR_COMMANDS)
    client = Client(
        name, version, title=title, description=description, website_url=website_url, icons=icons, revisions=revisions,
        era=era, eras=eras, roots=roots, sampling=sampling, elicitation=elicitation, experimental=experimental,
        capabilities=capabilities, on_log=on_log, on_update=on_update, on_notification=on_notification, limits=limits,
        executor=executor, strict=strict, check_results=check_results, cache=cache, extensions=extensions,
        tasks=tasks, keepalive=keepalive, restart=restart, tolerate=tolerate,
    )
    return client.open(transport_to(
        target, env=env, inherit_env=inherit_env, cwd=cwd, stderr=stderr, headers=headers, token=token, auth=auth,
        ssl_context=ssl_context, cafile=cafile, trace=trace, limits=limits,
    ))


@spelt
def transport_to(
    target: Target,
    *,
    env: Optional[Mapping[str, str]] = None,
    inherit_env: Optional[bool] = None,
    cwd: "Union[str, os.PathLike[str], None]" = None,
    stderr: "LineTarget" = None,
    headers: Optional[Mapping[str, str]] = None,
    token: Optional[str] = None,
    auth: "Union[Authorizing, Authorizer, None]" = None,
    ssl_context: "Optional[ssl.SSLContext]" = None,
    cafile: Optional[str] = None,
    trace: "Union[Trace, str, os.PathLike[str], None]" = None,
    limits: Limits = DEFAULT,
) -> Transport:
    """Return the transport to a target, not opened yet, for `Client.open`; arguments and exceptions as for `connect`.
    """
    about_child = dict(env=env, inherit_env=inherit_env is not None, cwd=cwd)
    about_http: Dict[str, Any] = dict(headers=headers, token=token, auth=auth, ssl_context=ssl_context, cafile=cafile)
    if not is_command(target):
        _check_unused(about_child, _FOR_COMMANDS)
    if scheme_of(target) in ("http", "https"):
        from ..streamable.client.detect import HttpAuto

        transport: Transport = HttpAuto(str(target), limits=limits, **about_http)
    else:
        # Over stdio credentials come from the environment
        # [2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
        # [2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD
        _check_unused(about_http, "only for a server at http:// or https://; give one that is started here what it "
                                  "needs in its environment, by env={...}")
        transport = _transport(target, env, inherit_env, cwd, stderr, limits)
    if trace is not None:
        from ..diagnostics.redaction import is_secret
        from ..transports.tap import tap
        from ..wiretrace import trace_of

        seen = trace_of(trace)
        for name, value in (*(env or {}).items(), *(headers or {}).items(), ("token", token or "")):
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


def _transport(
    target: Target, env: Optional[Mapping[str, str]], inherit_env: Optional[bool],
    cwd: "Union[str, os.PathLike[str], None]", stderr: Any, limits: Limits,
) -> Transport:
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
    shown = receiver(stderr, "server")
    return StdioChild(command, env=env, inherit_env=inherit_env, cwd=cwd, stderr=shown, limits=limits)
