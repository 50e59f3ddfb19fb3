"""The documents that say where tokens come from, as dataclasses.

`ProtectedResource`: what an MCP server publishes about itself [RFC 9728 §2]. `AuthorizationServer`: what an issuer
publishes, as OAuth metadata [RFC 8414 §2] or as OpenID configuration; both have the same members.

Only members that something here uses are read; all others stay in ``raw``. A member that is null counts as absent.
Everything is checked while it is read, and `DiscoveryFailed` names the member: ``authorization_servers[0]: expected
string, got integer``.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from ...errors import DiscoveryFailed
from ...jsonrpc import json_type
from ..urls import checked, server_metadata_urls, split

RESOURCE = "protected resource metadata"
SERVER = "authorization server metadata"


class _Members:
    """The members of one document."""

    def __init__(self, value: Any, what: str) -> None:
        self.what = what
        if not isinstance(value, dict):
            raise DiscoveryFailed("the %s: expected object, got %s" % (what, json_type(value)))
        self.raw: Dict[str, Any] = value

    def wrong(self, path: str, why: str) -> DiscoveryFailed:
        return DiscoveryFailed("the %s: %s: %s" % (self.what, path, why))

    def get(self, name: str, kind: type, expected: str) -> Any:
        found = self.raw.get(name)
        if found is not None and not isinstance(found, kind):
            raise self.wrong(name, "expected %s, got %s" % (expected, json_type(found)))
        return found

    def text(self, name: str) -> str:
        found: Optional[str] = self.get(name, str, "string")
        if not found:
            raise self.wrong(name, "is missing")
        return found

    def flag(self, name: str) -> bool:
        return bool(self.get(name, bool, "boolean"))

    def texts(self, name: str) -> Optional[List[str]]:
        found = self.get(name, list, "array")
        for number, item in enumerate(found or ()):
            if not isinstance(item, str):
                raise self.wrong("%s[%d]" % (name, number), "expected string, got %s" % json_type(item))
        return None if found is None else list(found)

    def url(self, name: str, here: bool) -> Optional[str]:
        found: Optional[str] = self.get(name, str, "string")
        return None if found is None else checked(found, name, here)


@dataclass
class ProtectedResource:
    """What an MCP server publishes about the tokens that it takes [RFC 9728 §2]."""

    resource: str
    """Its identifier, exactly as published: what goes into every ``resource`` parameter."""
    authorization_servers: List[str]
    """Issuers, exactly as published; at least one
    [2025-06-18..2025-11-25 basic/authorization §Authorization Server Location]
    [2026-07-28 basic/authorization/authorization-server-discovery §Authorization Server Location] MUST."""
    scopes_supported: Optional[List[str]] = None
    bearer_methods_supported: Optional[List[str]] = None
    dpop_bound_access_tokens_required: bool = False
    raw: Dict[str, Any] = field(default_factory=dict)
    """The whole document."""

    @classmethod
    def of(cls, value: Any, here: bool = True) -> "ProtectedResource":
        """Read a document; ``here``: may it name issuers on this machine? Raises `DiscoveryFailed`."""
        members = _Members(value, RESOURCE)
        resource = members.text("resource")
        split(resource, "resource")
        issuers = members.texts("authorization_servers")
        if not issuers:
            raise members.wrong("authorization_servers", "names no authorization server")
        for number, issuer in enumerate(issuers):
            checked(issuer, "authorization_servers[%d]" % number, here)
        return cls(
            resource=resource,
            authorization_servers=issuers,
            scopes_supported=members.texts("scopes_supported"),
            bearer_methods_supported=members.texts("bearer_methods_supported"),
            dpop_bound_access_tokens_required=members.flag("dpop_bound_access_tokens_required"),
            raw=members.raw,
        )


@dataclass
class AuthorizationServer:
    """What an issuer publishes about itself [RFC 8414 §2]; None: it does not say.

    ``authorization_endpoint`` may be absent, where no grant needs it.
    """

    issuer: str
    """Its identifier, exactly as published."""
    token_endpoint: str
    authorization_endpoint: Optional[str] = None
    registration_endpoint: Optional[str] = None
    introspection_endpoint: Optional[str] = None
    jwks_uri: Optional[str] = None
    scopes_supported: Optional[List[str]] = None
    code_challenge_methods_supported: Optional[List[str]] = None
    token_endpoint_auth_methods_supported: Optional[List[str]] = None
    token_endpoint_auth_signing_alg_values_supported: Optional[List[str]] = None
    grant_types_supported: Optional[List[str]] = None
    dpop_signing_alg_values_supported: Optional[List[str]] = None
    client_id_metadata_document_supported: bool = False
    iss_parameter_supported: bool = False
    """The member ``authorization_response_iss_parameter_supported`` [RFC 9207 §3]."""
    raw: Dict[str, Any] = field(default_factory=dict)
    """The whole document; empty where there is none."""

    @classmethod
    def of(cls, value: Any, here: bool = True) -> "AuthorizationServer":
        """Read a document; ``here``: may its endpoints be on this machine? Raises `DiscoveryFailed`.

        Whether it is the document of the issuer that was asked for is the business of `discover`.
        """
        members = _Members(value, SERVER)
        issuer = members.text("issuer")
        server_metadata_urls(checked(issuer, "issuer", here))
        return cls(
            issuer=issuer,
            token_endpoint=checked(members.text("token_endpoint"), "token_endpoint", here),
            authorization_endpoint=members.url("authorization_endpoint", here),
            registration_endpoint=members.url("registration_endpoint", here),
            introspection_endpoint=members.url("introspection_endpoint", here),
            jwks_uri=members.url("jwks_uri", here),
            scopes_supported=members.texts("scopes_supported"),
            code_challenge_methods_supported=members.texts("code_challenge_methods_supported"),
            token_endpoint_auth_methods_supported=members.texts("token_endpoint_auth_methods_supported"),
            token_endpoint_auth_signing_alg_values_supported=members.texts(
                "token_endpoint_auth_signing_alg_values_supported"),
            grant_types_supported=members.texts("grant_types_supported"),
            dpop_signing_alg_values_supported=members.texts("dpop_signing_alg_values_supported"),
            client_id_metadata_document_supported=members.flag("client_id_metadata_document_supported"),
            iss_parameter_supported=members.flag("authorization_response_iss_parameter_supported"),
            raw=members.raw,
        )

    @classmethod
    def by_default(cls, origin: str) -> "AuthorizationServer":
        """The authorization server at the origin of an MCP server that publishes nothing
        [2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST."""
        return cls(
            issuer=origin,
            authorization_endpoint=origin + "/authorize",
            token_endpoint=origin + "/token",
            registration_endpoint=origin + "/register",
        )
