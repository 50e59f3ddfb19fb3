"""The owner of a session, for limits that hold for each client: an authenticated subject, or else a remote address.

The address is that of the connection. Behind a proxy it is the proxy's, and all clients would share one part of the
sessions; so an operator names the proxies that he trusts. What such a proxy says in ``X-Forwarded-For`` is believed:
of the addresses there the last one that is no trusted proxy itself, since what stands before it came from the client.
"""

import socket
from typing import Any, Callable, Hashable, Optional, Sequence

from ..message import HttpRequest

UNIX = "unix"
"""The name of a proxy without an address, because it comes by a Unix socket."""
_MAPPED = bytes(10) + b"\xff\xff"


class Owners:
    """Finds the owner of a session. ``tells_apart``: whether principals are those of different clients.

    ``proxies``: addresses or networks (``10.0.0.0/8``), or UNIX. Raises ValueError for anything else.
    """

    def __init__(self, proxies: Sequence[str] = (), tells_apart: bool = True) -> None:
        if isinstance(proxies, str):
            raise ValueError("trusted_proxies is a list of addresses, such as [%r]" % proxies)
        self._tells_apart = tells_apart
        self._trusted: Optional[Callable[[str], bool]] = _trust(proxies) if proxies else None

    def of(self, request: HttpRequest, principal: Any) -> Hashable:
        """Return the owner of a session that this request begins, or None if it is not known."""
        if principal is not None and self._tells_apart:
            return "subject", subject(principal)
        network = network_of(self._address(request))
        return network and ("address", network)

    def _address(self, request: HttpRequest) -> str:
        address = request.peer
        if self._trusted is not None and self._trusted(address or UNIX):
            told = ",".join(request.headers.get_all("x-forwarded-for")).split(",")
            for address in map(_bare, reversed(told)):
                if not self._trusted(address):
                    break
        return address if network_of(address) else request.peer


def subject(principal: Any) -> Hashable:
    """Return a principal as a key of tables; of a text with attributes (`auth.Principal`) only the text."""
    if isinstance(principal, str):
        return str(principal)
    return principal if isinstance(principal, Hashable) else repr(principal)


def network_of(address: str) -> Optional[bytes]:
    """Return the part of an address that one client has: all of IPv4, 64 bits of IPv6; None for other texts."""
    try:
        if ":" not in address:
            return socket.inet_pton(socket.AF_INET, address)
        packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return None
    return packed[12:] if packed.startswith(_MAPPED) else packed[:8]


def _bare(address: str) -> str:
    """Return an address without brackets and port, which some proxies add."""
    address = address.strip()
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def _trust(proxies: Sequence[str]) -> Callable[[str], bool]:
    from ipaddress import ip_address, ip_network

    networks = [ip_network(proxy) for proxy in proxies if proxy != UNIX]
    unix = UNIX in proxies

    def trusted(address: str) -> bool:
        if address == UNIX:
            return unix
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in networks)

    return trusted
