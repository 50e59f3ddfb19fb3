"""Authorization over HTTP: OAuth 2.1 for clients, and for servers that are to be let in with a token only.

A client passes what gets it tokens, a server what knows them::

    connect("https://mcp.example.com/mcp", auth=OAuth(client_name="My program"))

    Server("demo", auth=ResourceServer("https://mcp.example.com/mcp", ["https://auth.example.com"], verify))

Over stdio there is none of this: credentials come from the environment
[2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
[2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD NOT.

The pages `basic/authorization` and the RFCs that they name are beside it:

==============  ================================================================================
where           what
==============  ================================================================================
`urls`          which URLs may be asked at all
`discovery/`    who issues tokens for a server
`tokens/`       tokens and signatures
`client/`       how a client gets a token, keeps it and renews it
`server/`       how a server lets in only whom it knows
==============  ================================================================================
"""

from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from .client.machine import ClientCredentials, EnterpriseManaged, WorkloadIdentity
    from .client.oauth import OAuth
    from .client.registration import client_metadata
    from .client.store import FileStore, MemoryStore, TokenStore
    from .server.access import AccessToken, Principal
    from .server.resource_server import ResourceServer
    from .server.verifiers import Introspection, JwtVerifier
    from .tokens.jose import HmacSigner, Signer, b64url

_HOMES = {
    "AccessToken": ".server.access",
    "ClientCredentials": ".client.machine",
    "EnterpriseManaged": ".client.machine",
    "FileStore": ".client.store",
    "HmacSigner": ".tokens.jose",
    "Introspection": ".server.verifiers",
    "JwtVerifier": ".server.verifiers",
    "MemoryStore": ".client.store",
    "OAuth": ".client.oauth",
    "Principal": ".server.access",
    "ResourceServer": ".server.resource_server",
    "Signer": ".tokens.jose",
    "TokenStore": ".client.store",
    "WorkloadIdentity": ".client.machine",
    "b64url": ".tokens.jose",
    "client_metadata": ".client.registration",
}
"""Public name -> module; resolved on first use, as in `mcp_ref`."""

__all__ = [
    "AccessToken", "ClientCredentials", "EnterpriseManaged", "FileStore", "HmacSigner", "Introspection", "JwtVerifier",
    "MemoryStore", "OAuth", "Principal", "ResourceServer", "Signer", "TokenStore", "WorkloadIdentity",
    "b64url", "client_metadata",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted([*globals(), *_HOMES])
