"""From what the user names to a connected client: a command, an address, or a transport."""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ..limits import DEFAULT, Limits
from ..transports.base import Transport
from .client import Client

Target = Union[str, Sequence[str], Transport]
HTTP_OPTIONS = frozenset(("headers", "token", "auth", "ssl_context", "cafile"))
"""The options of `connect` that are about HTTP."""


def connect(
    target: Target,
    *,
    env: Optional[Mapping[str, str]] = None,
    inherit_env: Optional[bool] = None,
    cwd: Optional[str] = None,
    stderr: Any = None,
    headers: Optional[Mapping[str, str]] = None,
    token: Optional[str] = None,
    auth: Optional[Any] = None,
    ssl_context: Optional[Any] = None,
    cafile: Optional[str] = None,
    trace: Optional[Any] = None,
    limits: Limits = DEFAULT,
    **options: Any,
) -> Client:
    """Connect to a server, shake hands, and return the client; use it in a ``with`` statement.

    ``target`` is a command (a str, split as a shell does, or a list), whose process is started as a child and
    ended by `Client.close`; or ``http://host:port/path`` or ``https://...``, and which HTTP transport the server speaks
    is found out; or ``tcp://host:port``, ``unix:///path``; or a `Transport` of your own.
    ``env`` adds to the child's environment. Of ours a child gets a short list (``PATH``, ``HOME``, ``LANG`` and the
    like, see `mcp_ref.transports.commands.child_environment`); with ``inherit_env=True`` all but ``MCP_REF_*``, with
    False nothing. ``cwd`` is its folder. What it writes on stderr is shown on ours, each line after ``server| ``;
    ``stderr``: False for nothing of that, or a function that gets each line, or a stream; see
    `mcp_ref.transports.stderr`.
    ``headers`` go with each HTTP request, ``token`` as ``Authorization: Bearer``; or ``auth`` gets tokens and sends
    them, such as an `mcp_ref.auth.OAuth`. ``ssl_context`` (an `ssl.SSLContext`) or ``cafile`` (certificates to trust)
    is for ``https``. See `mcp_ref.transports.http_dial` for proxies.
    ``trace``: a `mcp_ref.wiretrace.Trace` that sees every message. Other options as `Client`.
    Raises `ConnectFailed` if there is nobody, `HttpStatus` if a server refuses us, `AuthError` if it lets in
    nobody without authorization and there is none to be had, `PeerProtocolError` if we have no revision in common, and
    ValueError for an option about HTTP where the target is none.
    """
    client = Client(limits=limits, **options)
    return client.open(transport_to(
        target, env=env, inherit_env=inherit_env, cwd=cwd, stderr=stderr, headers=headers, token=token, auth=auth,
        ssl_context=ssl_context, cafile=cafile, trace=trace, limits=limits,
    ))


def transport_to(
    target: Target,
    *,
    env: Optional[Mapping[str, str]] = None,
    inherit_env: Optional[bool] = None,
    cwd: Optional[str] = None,
    stderr: Any = None,
    headers: Optional[Mapping[str, str]] = None,
    token: Optional[str] = None,
    auth: Optional[Any] = None,
    ssl_context: Optional[Any] = None,
    cafile: Optional[str] = None,
    trace: Optional[Any] = None,
    limits: Limits = DEFAULT,
    name: str = "server",
) -> Transport:
    """Return the transport to a target, not opened yet, for `Client.open`; arguments and exceptions as for `connect`.

    ``name``: what stands before each line of a child's stderr that is shown.
    """
    about_http: Dict[str, Any] = dict(headers=headers, token=token, auth=auth, ssl_context=ssl_context, cafile=cafile)
    if scheme_of(target) in ("http", "https"):
        from ..transports.http_auto import HttpAuto

        transport: Transport = HttpAuto(str(target), limits=limits, **about_http)
    else:
        _check_unused(about_http)
        transport = _transport(target, env, inherit_env, cwd, stderr, name, limits)
    if trace is not None:
        from ..transports.tap import tap

        transport = tap(transport, trace, "client")
    return transport


def _check_unused(about_http: Mapping[str, Any]) -> None:
    """Nothing that somebody relies on is ignored. Over stdio credentials come from the environment
    [2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
    [2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD."""
    given = ", ".join(sorted(name for name, value in about_http.items() if value))
    if given:
        raise ValueError("%s: only for a server at http:// or https://; give one that is started here what it needs in "
                         "its environment, by env={...}" % given)


def scheme_of(target: Target) -> str:
    """The scheme of an address, in lower case; "" for commands and transports."""
    if isinstance(target, str) and "://" in target.split(" ")[0]:
        return target.partition("://")[0].lower()
    return ""


def _transport(
    target: Target, env: Optional[Mapping[str, str]], inherit_env: Optional[bool], cwd: Optional[str], stderr: Any,
    name: str, limits: Limits
) -> Transport:
    if isinstance(target, Transport):
        return target
    if scheme_of(target) in ("tcp", "unix"):
        from ..transports.sockets import connect_socket

        return connect_socket(str(target), limits)
    from ..transports.child import StdioChild
    from ..transports.stderr import receiver

    command: Union[str, List[str]] = target if isinstance(target, str) else list(target)
    return StdioChild(command, env=env, inherit_env=inherit_env, cwd=cwd, stderr=receiver(stderr, name), limits=limits)
