"""Authorization made with the official Python SDK 2.x, each part on its own; runs inside an environment that has it.

    official_authorization.py issuer PORT     an authorization server; its tokens are JWTs, and it can be asked for them
    official_authorization.py server PORT     a protected MCP server, which is its own authorization server
    official_authorization.py client URL      the SDK's client: is let in, calls tools, prints what they said

Whoever comes to the authorization page is `ada` and has allowed everything. `LIFETIME` in the environment: seconds that
a token is good for.
"""
import json
import os
import secrets
import sys
import time
from base64 import b64decode
from typing import Any, Dict, List, Optional
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import (
    AccessToken, AuthorizationCode, AuthorizationParams, OAuthAuthorizationServerProvider, RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

SCOPES = ["read", "write"]
LIFETIME = int(os.environ.get("LIFETIME", "3600"))
KEYS: Dict[str, Any] = {
    "RS256": rsa.generate_private_key(65537, 2048), "ES256": ec.generate_private_key(ec.SECP256R1()),
}
RESOURCE_SECRET = "what-the-resource-shows"


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Keeps everything in memory; nobody has to be asked."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.clients: Dict[str, OAuthClientInformationFull] = {}
        self.codes: Dict[str, AuthorizationCode] = {}
        self.tokens: Dict[str, AccessToken] = {}
        self.refreshers: Dict[str, RefreshToken] = {}
        self.granted: List[str] = []

    async def get_client(self, client_id: str) -> Optional[OAuthClientInformationFull]:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        if client_info.client_name == "official":
            client_info.scope = " ".join(SCOPES)  # it does not register again for what it did not think of
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24), scopes=params.scopes or SCOPES[:1], expires_at=time.time() + 60,
            client_id=str(client.client_id), code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly, resource=params.resource,
            subject="ada")
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> Optional[AuthorizationCode]:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        self.granted.append("authorization_code")
        return self.issue(str(client.client_id), authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> Optional[RefreshToken]:
        return self.refreshers.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: List[str]
    ) -> OAuthToken:
        del self.refreshers[refresh_token.token]
        self.granted.append("refresh_token")
        return self.issue(str(client.client_id), scopes or refresh_token.scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> Optional[AccessToken]:
        return self.tokens.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.tokens.pop(token.token, None)
        self.refreshers.pop(token.token, None)

    def issue(self, client: str, scopes: List[str], resource: Optional[str]) -> OAuthToken:
        """A token for this resource, signed with one key and then with the other."""
        now = int(time.time())
        alg = list(KEYS)[len(self.granted) % 2]
        claims = {"iss": self.issuer, "sub": "ada", "aud": resource, "client_id": client, "scope": " ".join(scopes),
                  "iat": now, "exp": now + LIFETIME, "jti": secrets.token_hex(8)}
        token = jwt.encode(claims, KEYS[alg], alg, headers={"kid": alg, "typ": "at+jwt"})
        again = secrets.token_urlsafe(24)
        self.tokens[token] = AccessToken(token=token, client_id=client, scopes=scopes, expires_at=now + LIFETIME,
                                         resource=resource, subject="ada")
        self.refreshers[again] = RefreshToken(token=again, client_id=client, scopes=scopes, resource=resource,
                                              subject="ada")
        return OAuthToken(access_token=token, expires_in=LIFETIME, scope=" ".join(scopes), refresh_token=again)


def options() -> ClientRegistrationOptions:
    """Anybody may register."""
    return ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)


def issuer(port: int) -> None:
    """The authorization server, its keys, and what a resource may ask it."""
    url = "http://localhost:%d/" % port  # the SDK adds the slash, and it belongs to the issuer's name from then on
    provider = Provider(url)

    def keys(request: Request) -> Response:
        made = {"RS256": jwt.algorithms.RSAAlgorithm, "ES256": jwt.algorithms.ECAlgorithm}
        listed = [dict(made[alg].to_jwk(key.public_key(), as_dict=True), kid=alg, use="sig", alg=alg)
                  for alg, key in KEYS.items()]
        return JSONResponse({"keys": listed})

    async def introspect(request: Request) -> Response:
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        if scheme != "Basic" or b64decode(shown).decode() != "resource:%s" % RESOURCE_SECRET:
            return JSONResponse({"error": "invalid_client"}, 401)
        form = await request.form()
        token = provider.tokens.get(str(form.get("token")))
        if token is None:
            return JSONResponse({"active": False})
        return JSONResponse({"active": True, "scope": " ".join(token.scopes), "client_id": token.client_id,
                             "sub": token.subject, "exp": token.expires_at, "aud": token.resource, "iss": url})

    async def granted(request: Request) -> Response:
        return JSONResponse(provider.granted)

    routes = create_auth_routes(provider, AnyHttpUrl(url), client_registration_options=options())
    routes += [Route("/jwks", keys), Route("/introspect", introspect, methods=["POST"]), Route("/granted", granted)]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning")


def server(port: int) -> None:
    """A protected server with tools."""
    url = "http://localhost:%d" % port
    provider = Provider(url)
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(url), resource_server_url=AnyHttpUrl(url + "/mcp"), required_scopes=["read"],
        client_registration_options=options(), validate_token_resource=True)
    made = MCPServer("official-protected", version="2", auth_server_provider=provider, auth=settings)

    @made.tool()
    def echo(text: str) -> str:
        """Give back the text."""
        return text

    @made.tool()
    def granted() -> List[str]:
        """By which grants tokens were given."""
        return provider.granted

    made.run(transport="streamable-http", host="127.0.0.1", port=port)


class Storage:
    """What the client keeps."""

    tokens: Optional[OAuthToken] = None
    client: Optional[OAuthClientInformationFull] = None

    async def get_tokens(self) -> Optional[OAuthToken]:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Optional[OAuthClientInformationFull]:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def client(url: str) -> None:
    """Be let in, in both eras, and be asked for more scopes on the way."""
    came: Dict[str, str] = {}

    async def browse(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(address)
        query = parse_qs(urlsplit(response.headers["location"]).query)
        came.update((name, values[0]) for name, values in query.items())

    async def redirected() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=came["code"], state=came.get("state"), iss=came.get("iss"))

    metadata = OAuthClientMetadata(client_name="official", redirect_uris=[AnyUrl("http://localhost:3999/callback")])
    said: Dict[str, Any] = {}
    for mode in ("auto", "legacy"):
        came.clear()
        provider = OAuthClientProvider(url, metadata, Storage(), browse, redirected)
        async with create_mcp_http_client(auth=provider) as http:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as session:
                listed = await session.list_tools()
                results = [await session.call_tool(name, {}) for name in ("whoami", "change")]
                said[mode] = {"revision": session.protocol_version, "tools": [tool.name for tool in listed.tools],
                              "said": [result.content[0].text for result in results]}
    print(json.dumps(said))


if __name__ == "__main__":
    if sys.argv[1] == "client":
        import anyio

        anyio.run(client, sys.argv[2])
    else:
        {"issuer": issuer, "server": server}[sys.argv[1]](int(sys.argv[2]))
