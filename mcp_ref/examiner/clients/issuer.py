"""The authorization server of scenes for clients: it tells where it is, registers everybody, and asks nobody.

It is no server of `mcp_ref`, and knows nothing of one. Its metadata stands at one of the places of `FORMS`, and at no
other; a scene changes the metadata, or the answer to the browser.
"""

import base64
import hashlib
from typing import Any, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import parse_qsl, urlencode

from ...http11.message import Exchange, HttpRequest
from ...http11.server.server import HttpServer
from ...jsontext import dumps
from ..wire import parsed
from .script import Reply

TOKEN, CODE, CLIENT_ID, SCOPE = "examiner-token", "examiner-code", "examiner-client", "examiner:odd.scope"
RESOURCE_PATH = "/.well-known/oauth-protected-resource"
_OAUTH, _OIDC = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
TENANT = "/tenant"
FORMS: Dict[str, Tuple[str, str]] = {
    "path-oauth": (TENANT, _OAUTH + TENANT), "path-oidc-insert": (TENANT, _OIDC + TENANT),
    "path-oidc-append": (TENANT, TENANT + _OIDC), "root-oauth": ("", _OAUTH), "root-oidc": ("", _OIDC)}
"""Name of a form of the metadata -> the path of the issuer, and the path of its metadata."""


class Knock(NamedTuple):
    """A request to the authorization server."""

    method: str
    path: str
    query: Dict[str, str]
    form: Dict[str, str]


def json_reply(value: Any, status: int = 200) -> Reply:
    """Return the reply with a JSON value."""
    return status, (("Content-Type", "application/json"),), dumps(value).encode("utf-8")


class Issuer:
    """An authorization server, on a loopback port of its own. ``form``: where its metadata stands; "": nowhere."""

    def __init__(self, form: str = "root-oauth", changes: Optional[Dict[str, Any]] = None,
                 iss: Optional[str] = "") -> None:
        self.form, self.changes, self.iss = form, changes or {}, iss
        self.knocks: List[Knock] = []
        self._path, self._metadata_path = FORMS.get(form, ("", ""))
        self._server = HttpServer(self._handle)
        self.base = ""

    def __enter__(self) -> "Issuer":
        self._server.open()
        self.base = self._server.url
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        """The identifier of the issuer."""
        return self.base + self._path

    def metadata(self) -> Dict[str, Any]:
        """Return the metadata; a change to None leaves a member out."""
        made: Dict[str, Any] = {
            "issuer": self.url, "authorization_endpoint": self.base + "/authorize",
            "token_endpoint": self.base + "/token", "registration_endpoint": self.base + "/register",
            "response_types_supported": ["code"], "grant_types_supported": ["authorization_code"],
            "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
            "jwks_uri": self.base + "/keys", "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"]}
        made.update(self.changes)
        return {name: value for name, value in made.items() if value is not None}

    def at(self, path: str) -> List[Knock]:
        """Return the requests to a path."""
        return [each for each in self.knocks if each.path == path]

    def _handle(self, exchange: Exchange) -> None:
        exchange.reply(*self.reply(exchange.request))

    def reply(self, request: HttpRequest) -> Reply:
        """Note a request, and return what answers it."""
        body = request.body.decode("utf-8", "replace")
        knock = Knock(request.method, request.path, dict(parse_qsl(request.query)), dict(parse_qsl(body)))
        self.knocks.append(knock)
        if knock.path == self._metadata_path:
            return json_reply(self.metadata())
        if knock.path == "/authorize":
            return 302, (("Location", self._back(knock.query)),), b""
        if knock.path == "/register":
            asked = parsed(request.body)
            return json_reply({**(asked if isinstance(asked, dict) else {}), "client_id": CLIENT_ID,
                               "token_endpoint_auth_method": "none"}, 201)
        if knock.path == "/token":
            return json_reply({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600, "scope": SCOPE})
        return 404, (), b""

    def _back(self, query: Dict[str, str]) -> str:
        """Return the place to which the browser goes back."""
        back = {"code": CODE, **({"state": query["state"]} if "state" in query else {})}
        if self.iss is not None:
            back["iss"] = self.iss or self.url
        where = query.get("redirect_uri", "")
        return where + ("&" if "?" in where else "?") + urlencode(back)


def is_verified(authorize: Knock, token: Knock) -> bool:
    """Return True if the verifier of a token request is that of the challenge [RFC 7636 §4.6]."""
    digest = hashlib.sha256(token.form.get("code_verifier", "").encode("utf-8")).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=") == authorize.query.get("code_challenge")
