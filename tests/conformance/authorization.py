"""How the client fixture of the conformance suite authorizes: for each scenario a grant, and how it ends.

Nobody sits there: the "browser" asks for the page of the authorization server and does not follow where it sends it,
which is what the grant wants to know. The suite does not tell a client without a person whose its credentials are, and
makes up an authorization server for each scenario: hence `UNSAFE_ANY_ISSUER`.
"""
import http.client
import ssl
from typing import Any, Callable, Dict, Optional, Tuple, Type
from urllib.parse import urlsplit

from mcp_ref import auth
from mcp_ref.errors import DiscoveryFailed, InsufficientScope, IssuerMismatch, McpError
from mcp_ref.ext.auth.machine import UNSAFE_ANY_ISSUER
from mcp_ref.streamable.client.auth_provider import Authorizing

from .es256 import Es256Signer

METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""The client ID that the suite takes where it wants a URL for one; nobody fetches it."""
SECONDS = 60.0

Context = Dict[str, Any]
"""What the suite tells about a scenario."""


def browser(url: str) -> str:
    """Ask for a page; where it sends the browser."""
    parts = urlsplit(url)
    made: http.client.HTTPConnection = http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
    if parts.scheme == "https":
        made = http.client.HTTPSConnection(parts.netloc, timeout=SECONDS, context=ssl.create_default_context())
    try:
        made.request("GET", "%s?%s" % (parts.path, parts.query))
        answer = made.getresponse()
        return answer.getheader("Location") or ""
    finally:
        made.close()


def person(context: Context) -> Authorizing:
    """The authorization code flow; with what the suite has registered beforehand, if anything."""
    known = context.get("client_id")
    return auth.OAuth(
        known, context.get("client_secret"), client_metadata_url=None if known else METADATA_URL,
        client_name="conformance", authorize=browser)


def stranger(context: Context) -> Authorizing:
    """The same, unknown everywhere, so that it registers, and what it registers is looked at."""
    return auth.OAuth(client_name="conformance", authorize=browser)


def bound(context: Context) -> Authorizing:
    """The same with tokens that are bound to a key."""
    return auth.OAuth(client_name="conformance", authorize=browser, dpop=Es256Signer.generate())


def secret(context: Context) -> Authorizing:
    """Client credentials with a secret."""
    return auth.ClientCredentials(context["client_id"], context["client_secret"], issuer=UNSAFE_ANY_ISSUER)


def assertion(context: Context) -> Authorizing:
    """Client credentials with a key."""
    return auth.ClientCredentials(context["client_id"], signer=Es256Signer.of_pem(context["private_key_pem"]),
                                  issuer=UNSAFE_ANY_ISSUER)


def enterprise(context: Context) -> Authorizing:
    """Tokens by way of an identity provider, which knows the user already."""
    return auth.EnterpriseManaged(
        context["client_id"], context["client_secret"], idp_client_id=context["idp_client_id"],
        idp_issuer=context["idp_issuer"], idp_token_endpoint=context["idp_token_endpoint"],
        id_token=context["idp_id_token"], issuer=UNSAFE_ANY_ISSUER)


def workload(context: Context) -> Authorizing:
    """A JWT of the platform that the client runs on."""
    return auth.WorkloadIdentity(context["valid_jwt"], issuer=UNSAFE_ANY_ISSUER)


GRANTS: Dict[str, Callable[[Context], Authorizing]] = {
    "auth/offline-access-scope": stranger,
    "auth/client-credentials-basic": secret,
    "auth/client-credentials-jwt": assertion,
    "auth/enterprise-managed-authorization": enterprise,
    "auth/wif-jwt-bearer": workload,
    "auth/dpop": bound,
    "auth/dpop-nonce": bound,
}
"""Scenarios whose grant is another one than `person`."""

REFUSALS: Dict[str, Tuple[Type[McpError], ...]] = {
    "auth/scope-retry-limit": (InsufficientScope,),
    "auth/resource-mismatch": (DiscoveryFailed,),
    "auth/iss-supported-missing": (IssuerMismatch,),
    "auth/iss-wrong-issuer": (IssuerMismatch,),
    "auth/iss-unexpected": (IssuerMismatch,),
    "auth/iss-normalized": (IssuerMismatch,),
    "auth/metadata-issuer-mismatch": (IssuerMismatch,),
}
"""Scenarios in which a client must stop, and what the library raises then."""


def grant_for(scenario: str, context: Context) -> Optional[Authorizing]:
    """What authorizes in this scenario; None where nothing is to be authorized."""
    return GRANTS.get(scenario, person)(context) if scenario.startswith("auth/") else None
