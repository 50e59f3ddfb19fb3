"""Authorization over HTTP: OAuth 2.1 for clients, and for servers that are to be let in with a token only.

A client passes what gets it tokens, a server what knows them::

    connect("https://mcp.example.com/mcp", auth=OAuth(client_name="My program"))

    Server("demo", auth=ResourceServer("https://mcp.example.com/mcp", ["https://auth.example.com"], verify))

Over stdio there is none of this: credentials come from the environment
[2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
[2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD NOT.

Reading order, beside the pages `basic/authorization` and the RFCs that they name:

1.  `challenge`, `urls`, `documents`, `client_document`, `scopes`: the words, without input or output
2.  `fetch`, `discovery`: who issues tokens for a server
3.  `jose`, `jws`, `jwks`: what is signed
4.  A client's way to a token: `tokens`, `token_endpoint`, `scopes`, `registration`, `code_flow`, `redirect`, `store`,
    `desk`, `grant`, `oauth`; `flight`, `keeper`, `authorizer`: one for all threads, kept and renewed
5.  `assertions`, `dpop`, `machine`: clients without a person, and tokens that only their owner can use
6.  The server's side: `access`, `claims`, `known`, `verifiers`, `needs`, `proofs`, `refusals`, `published`,
    `resource_server`
"""

from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from .access import AccessToken, Principal
    from .client_document import client_metadata
    from .jose import HmacSigner, Signer, b64url
    from .machine import ClientCredentials, EnterpriseManaged, WorkloadIdentity
    from .oauth import OAuth
    from .resource_server import ResourceServer
    from .store import FileStore, MemoryStore, TokenStore
    from .verifiers import Introspection, JwtVerifier

_HOMES = {
    "AccessToken": ".access",
    "ClientCredentials": ".machine",
    "EnterpriseManaged": ".machine",
    "FileStore": ".store",
    "HmacSigner": ".jose",
    "Introspection": ".verifiers",
    "JwtVerifier": ".verifiers",
    "MemoryStore": ".store",
    "OAuth": ".oauth",
    "Principal": ".access",
    "ResourceServer": ".resource_server",
    "Signer": ".jose",
    "TokenStore": ".store",
    "WorkloadIdentity": ".machine",
    "b64url": ".jose",
    "client_metadata": ".client_document",
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
