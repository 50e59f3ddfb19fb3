"""What the parts of URLs mean, for all that speaks over a network.

>>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("127.example.com")
(True, True, True, False)
"""

import re

_FOUR = re.compile(r"127(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}\Z")


def is_loopback(host: str) -> bool:
    """Return True if ``host`` (lower case, an IPv6 address without brackets) is this machine and nothing else.

    That is ``localhost``, ``::1``, and the addresses of 127.0.0.0/8 in four decimal numbers. Other spellings, which
    some resolvers know, are False: nothing is allowed for them that is allowed for this machine only. Whether a host
    might be this machine after all is asked by `mcp_ref.protocol.links.perhaps_here`.
    """
    return host in ("localhost", "::1") or _FOUR.match(host) is not None
