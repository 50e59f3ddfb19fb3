"""Which addresses an MCP server can have us ask, by the authorization servers that it names.

A server out in the world must not make us ask the programs around us: what a client sends there, and how it fails,
tells somebody about a network that he cannot see (server-side request forgery). The text of a URL does not say where it
leads, for any name can have any address, and another one a moment later. So a name is resolved once, each address is
judged, and the connection goes to one that was found good, with TLS for the name [RFC 9728 §7.7].

==============  =======================================================================================================
the MCP server  may lead to
==============  =======================================================================================================
is public       public addresses
is private      those, and private networks: RFC 1918, RFC 4193, RFC 6598, and whatever else nobody routes
is link-local   those, and link-local addresses, among which clouds keep the credentials of their machines
is this one     all
==============  =======================================================================================================

Where a server itself is, its connection tells: of a name that it proves by TLS, not of what was resolved beforehand.
What our user names is asked wherever it is: the MCP server itself, an ``issuer=``, and what that one's metadata names.
``private_networks=True`` treats every server as a private one: for a company whose public MCP servers have internal
authorization servers.

Reading: a proxy resolves names itself, so only addresses that are written out are judged before it is asked.
"""

import ipaddress
from typing import Callable, Iterable, Optional, Set

from ...errors import DiscoveryFailed
from ..urls import origin, shown, split

PUBLIC, PRIVATE, LINK_LOCAL, HERE = range(4)
"""Kinds of addresses; a server of one kind may lead to those before it."""
_WORDS = {PRIVATE: "is in a private network", LINK_LOCAL: "is link-local", HERE: "is this machine's"}
_ROUTED = ipaddress.ip_network("2000::/3")
_WITH_FOUR = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "::/96", "::ffff:0:0/96")))
"""IPv6 addresses whose last 32 bits are an IPv4 address, which is where packets go."""


def kind_of(address: str) -> int:
    """The kind of an address. One that cannot be read is the worst.

    >>> kind_of("8.8.8.8") == PUBLIC, kind_of("10.1.2.3") == PRIVATE, kind_of("::ffff:127.0.0.1") == HERE
    (True, True, True)
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return HERE
    if isinstance(found, ipaddress.IPv6Address):
        if found.is_loopback or found.is_unspecified:
            return HERE
        inner = _inner(found)
        if inner is None:
            if found.is_link_local:
                return LINK_LOCAL
            return PUBLIC if found in _ROUTED and found.is_global else PRIVATE
        found = inner
    if found.is_loopback or found.packed[0] == 0:
        return HERE
    if found.is_link_local:
        return LINK_LOCAL
    return PUBLIC if found.is_global and not found.is_multicast else PRIVATE


def _inner(address: ipaddress.IPv6Address) -> Optional[ipaddress.IPv4Address]:
    """The IPv4 address in an IPv6 address, if it has one."""
    if any(address in network for network in _WITH_FOUR):
        return ipaddress.IPv4Address(address.packed[-4:])
    return address.sixtofour


class Reach:
    """Judges the addresses to which one MCP server leads. Thread-safe.

    ``home``: its URL. ``own``: URLs that our user has named. ``private_networks``: see the module.
    """

    def __init__(self, home: str, own: Iterable[str] = (), private_networks: bool = False) -> None:
        self.home = home
        self._own: Set[str] = {origin(home)}
        self.trust(own)
        self._may = HERE if split(home, "URL of the server").loopback else PRIVATE if private_networks else PUBLIC

    def trust(self, urls: Iterable[Optional[str]]) -> None:
        """Ask what is at these origins wherever it is."""
        self._own.update(origin(url) for url in urls if url is not None)

    def trusts(self, url: str) -> bool:
        """Whether this is asked wherever it is."""
        return origin(url) in self._own

    def refusal(self, url: str, address: str, of_home: Callable[[], Optional[str]]) -> Optional[DiscoveryFailed]:
        """Why this address must not be asked for ``url``; None: it may be.

        ``of_home``: the address of the MCP server, by a connection to it; None: there is none, or it does not tell.
        """
        kind = kind_of(address)
        if kind <= self._may or self.trusts(url):
            return None
        found = of_home()
        if found is not None:
            self._may = max(self._may, kind_of(found))
        if kind <= self._may:
            return None
        return DiscoveryFailed(
            "%s was not asked: its address %s %s, and the MCP server that leads there is not%s" % (
                shown(origin(url)), address, _WORDS[kind],
                "; private_networks=True allows that" if kind == PRIVATE else ""))
