"""An authorization server and a protected MCP server on loopback, which do as the test says and keep what they saw.

    with AuthorizationServer() as issuing, ProtectedServer(issuing) as protected:
        oauth = OAuth(authorize=browser)                         # a "browser" that allows everything at once
        with connect(protected.url, auth=oauth) as client: ...
        issuing.seen("/authorize")[0].query["scope"]             # what was asked, in order

Both behave well, and check what a real one checks, until the test says otherwise:

* ``issuing.metadata[...] = ...`` (`OUT`: leave it out), ``protected.document[...] = ...``: what the documents say
* ``issuing.answers["/token"] = lambda asked: reply_json({"error": "invalid_grant"}, 400)``: another answer;
  ``issuing.usual(asked)`` makes the usual one, to be changed; None stands for it; see `scripted_web`
* ``issuing.iss``, ``state``, ``expires_in``, ``refreshes``, ``granted``, ``nonce``, ``mint``, ...: see the class
* ``protected.issuers``, ``scopes``, ``needs``, ``challenge``, ``places``, ...: likewise

Nothing here is of the library, but for the MCP server behind the protected one.
"""
import base64
import hashlib
import http.client
import json
import secrets
import ssl
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple
from urllib.parse import unquote_plus, urlencode, urlsplit

from mcp_ref import Server

from .scripted_web import PATIENCE, Answer, Asked, Gate, Reply, ScriptedWeb, redirect, reply_json

OUT: Any = object()
"""In place of a member's value: leave the member out."""
CODE = "authorization_code"
REFRESH = "refresh_token"
CREDENTIALS = "client_credentials"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
RESOURCE_DOCUMENT = "/.well-known/oauth-protected-resource"
OAUTH_DOCUMENT = "/.well-known/oauth-authorization-server"
OPENID_DOCUMENT = "/.well-known/openid-configuration"


class Refusal(Exception):
    """An OAuth error, as an answer of the token endpoint or in the redirect."""

    def __init__(self, error: str, description: str = "", status: int = 400,
                 headers: Sequence[Tuple[str, str]] = ()) -> None:
        super().__init__(error)
        self.error, self.description, self.status, self.headers = error, description, status, headers

    def members(self) -> Dict[str, str]:
        """What is said."""
        return {"error": self.error, **({"error_description": self.description} if self.description else {})}


def kept(members: Mapping[str, Any]) -> Dict[str, Any]:
    """These members, without those that are `OUT`."""
    return {name: value for name, value in members.items() if value is not OUT}


def challenge_of(verifier: str) -> str:
    """What S256 makes of a PKCE verifier."""
    return _b64(hashlib.sha256(verifier.encode("ascii")).digest())


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def claims_of(jwt: str, part: int = 1) -> Dict[str, Any]:
    """The claims of a JWT (``part=0``: its header); its signature is not looked at. `Refusal` if it is none."""
    try:
        text = jwt.split(".")[part]
        return dict(json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
    except (ValueError, IndexError) as error:
        raise Refusal("invalid_grant", "that is no JWT") from error


class _Mounted:
    """What the two servers have in common: a place on a web server, of their own or with the other."""

    def __init__(self, web: Optional[ScriptedWeb], host: str, tls: Any, path: str) -> None:
        self._owned = web is None
        self.web = ScriptedWeb(host, tls) if web is None else web
        self.answers = _Short(self.web.answers, path)
        self.usual = self.web.usual
        self.gate: Callable[[], Gate] = self.web.gate
        self.lock = threading.Lock()

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return self.web.origin

    def seen(self, path: Optional[str] = None, method: Optional[str] = None) -> List[Asked]:
        """What was asked at a path (short, as for `answers`, or whole), or at all."""
        return self.web.seen(None if path is None else self.answers.whole(path), method)

    def wait_for(self, path: str, count: int = 1, method: Optional[str] = None) -> Asked:
        """Wait until so many requests have come there; the last of these."""
        return self.web.wait_for(self.answers.whole(path), count, method)

    def close(self) -> None:
        """End the web server, unless it is the other's."""
        if self._owned:
            self.web.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class _Short(Dict[str, Answer]):
    """Answers by short path: those of endpoints are below the path of the issuer, well-known ones are whole."""

    def __init__(self, answers: Dict[str, Answer], prefix: str) -> None:
        super().__init__()
        self._answers, self._prefix = answers, prefix

    def whole(self, path: str) -> str:
        """The path on the web server."""
        return self._prefix + path if path in _SHORT else path

    def __setitem__(self, path: str, answer: Answer) -> None:
        super().__setitem__(path, answer)
        self._answers[self.whole(path)] = answer

    def __delitem__(self, path: str) -> None:
        super().__delitem__(path)
        del self._answers[self.whole(path)]


_SHORT = ("/authorize", "/token", "/register", "/introspect", "/jwks")


class AuthorizationServer(_Mounted):
    """Issues tokens to whoever asks properly; see the module.

    ``path``: of the issuer, such as ``/tenant1``. ``places``: which well-known documents there are: "oauth", "openid"
    (in front of the path) and "appended" (behind it). ``web``: a place beside another server.
    """

    def __init__(self, path: str = "", places: Sequence[str] = ("oauth",), host: str = "127.0.0.1", *,
                 web: Optional[ScriptedWeb] = None, tls: Any = None) -> None:
        super().__init__(web, host, tls, path)
        base = self.origin + path
        self.issuer = base
        self.metadata: Dict[str, Any] = {
            "issuer": base, "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
            "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
            "registration_endpoint": base + "/register", "introspection_endpoint": base + "/introspect",
            "jwks_uri": base + "/jwks", "grant_types_supported": [CODE, REFRESH, CREDENTIALS, EXCHANGE, JWT_BEARER],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
            "authorization_response_iss_parameter_supported": True,
        }
        self.places = {"oauth": OAUTH_DOCUMENT + path, "openid": OPENID_DOCUMENT + path,
                       "appended": path + OPENID_DOCUMENT}
        self.iss: Any = base
        """`iss` in the redirect; `OUT`: none."""
        self.state: Any = None
        """`state` in the redirect; None: that of the request."""
        self.error: Optional[Refusal] = None
        """What every authorization request is refused with, by redirect."""
        self.expires_in: Any = 3600
        self.refreshes = True
        """Whether there are refresh tokens; they rotate."""
        self.granted: Callable[[str], Any] = lambda scope: scope
        """The scope that is granted of the one that was asked; `OUT`: the answer does not say it."""
        self.mint: Callable[[Dict[str, Any]], str] = lambda claims: "token-" + secrets.token_urlsafe(12)
        """Makes an access token of its claims."""
        self.nonce: Optional[str] = None
        """The DPoP nonce that the token endpoint wants in every proof."""
        self.keys: List[Dict[str, Any]] = []
        """JWKs at ``/jwks``."""
        self.clients: Dict[str, Dict[str, Any]] = {}
        """By client id: their metadata. Ids that are URLs are let in where the metadata says that they are."""
        self.tokens: Dict[str, Dict[str, Any]] = {}
        """Access tokens and what they are for: ``scope``, ``aud``, ``client_id``, ``sub``, ``iss``, ``cnf``."""
        self.refresh_tokens: Dict[str, Dict[str, Any]] = {}
        self.codes: Dict[str, Dict[str, Any]] = {}
        self.secrets: Set[str] = set()
        """Everything that was ever secret here: what must not turn up in a log, an exception or a `repr`."""
        for place in places:
            self.web.serve(self.places[place], lambda asked: reply_json(kept(self.metadata)))
        for name, answer in (("authorize", self._authorize), ("token", self._token), ("register", self._register),
                             ("introspect", self._introspect), ("jwks", self._jwks)):
            self.web.serve("%s/%s" % (path, name), answer)

    # What tests do

    def add_client(self, client_id: str, secret: Optional[str] = None, method: Optional[str] = None,
                   redirect_uris: Sequence[str] = ("http://localhost/callback", "http://127.0.0.1/callback")) -> None:
        """Register a client beforehand. Loopback redirects hold with any port [RFC 8252 §7.3]."""
        method = method or ("client_secret_basic" if secret else "none")
        self.clients[client_id] = {"client_secret": secret, "token_endpoint_auth_method": method,
                                   "redirect_uris": list(redirect_uris)}
        self.secrets.update([secret] if secret else [])

    def revoke(self) -> None:
        """No access token holds any more; refresh tokens do."""
        self.tokens.clear()

    def revoke_all(self) -> None:
        """Nothing holds any more."""
        self.tokens.clear()
        self.refresh_tokens.clear()

    def grants(self) -> List[str]:
        """The grant types of all token requests so far."""
        return [one.form.get("grant_type", "") for one in self.seen("/token")]

    # Endpoints

    def _authorize(self, asked: Asked) -> Reply:
        query = asked.query
        record = self._client(query.get("client_id", ""))
        target = query.get("redirect_uri", "")
        if record is None or not _registered(target, record["redirect_uris"]):
            return reply_json({"error": "invalid_request"}, 400)  # never redirected [RFC 6749 §4.1.2.1]
        state = query.get("state", OUT) if self.state is None else self.state
        self.secrets.update([state] if isinstance(state, str) else [])
        answer: Dict[str, Any]
        try:
            answer = {"code": self._code_for(query)}
        except Refusal as refusal:
            answer = dict(refusal.members())
        return redirect("%s?%s" % (target, urlencode(kept({**answer, "state": state, "iss": self.iss}))))

    def _code_for(self, query: Dict[str, str]) -> str:
        if self.error is not None:
            raise self.error
        if query.get("response_type") != "code" or query.get("code_challenge_method") != "S256":
            raise Refusal("invalid_request", "a code, by PKCE with S256")
        code = "code-" + secrets.token_urlsafe(12)
        self.codes[code] = query
        self.secrets.add(code)
        return code

    def _client(self, client_id: str) -> Optional[Dict[str, Any]]:
        if client_id.startswith("https://") and self.metadata.get("client_id_metadata_document_supported") is True:
            return self.clients.get(client_id, {"redirect_uris": None, "token_endpoint_auth_method": "none"})
        return self.clients.get(client_id)

    def _token(self, asked: Asked) -> Reply:
        form = asked.form
        self.secrets.update(form[name] for name in _SECRET_FIELDS if form.get(name))
        try:
            client_id = self._authenticated(asked)
            binding = self._proved(asked)
            claims = _GRANTS.get(form.get("grant_type", ""), _unknown)(self, form, client_id)
            return reply_json(self.issue(dict(claims, **binding)))
        except Refusal as refusal:
            return reply_json(refusal.members(), refusal.status, refusal.headers)

    def issue(self, claims: Dict[str, Any]) -> Dict[str, Any]:
        """A token response for these claims."""
        claims = dict(claims, iss=self.issuer)
        asked_scope = claims.get("scope", "")
        granted = self.granted(asked_scope)
        claims["scope"] = asked_scope if granted is OUT else granted
        refreshable = claims.pop("refreshable", False) and self.refreshes
        issued_type = claims.pop("issued_token_type", OUT)
        token = self.mint(claims)
        with self.lock:
            self.tokens[token] = claims
        self.secrets.add(token)
        answer = {"access_token": token, "token_type": "DPoP" if "cnf" in claims else "Bearer",
                  "expires_in": self.expires_in, "scope": OUT if granted is OUT or not granted else granted,
                  "issued_token_type": issued_type}
        if refreshable:
            answer["refresh_token"] = "refresh-" + secrets.token_urlsafe(12)
            with self.lock:
                self.refresh_tokens[answer["refresh_token"]] = dict(claims, asked=asked_scope)
            self.secrets.add(answer["refresh_token"])
        return kept(answer)

    def _authenticated(self, asked: Asked) -> Optional[str]:
        """The client that this request is from; None where it says none. Each must use the method it registered."""
        form, basic = asked.form, asked.headers.get("authorization", "")
        assertion = form.get("client_assertion")
        if basic:
            client_id, _, secret = base64.b64decode(basic.partition(" ")[2]).decode("utf-8").partition(":")
            client_id, secret, method = unquote_plus(client_id), unquote_plus(secret), "client_secret_basic"
        elif assertion is not None:
            client_id, secret, method = str(claims_of(assertion).get("sub")), "", "private_key_jwt"
        else:
            client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
            method = "client_secret_post" if secret else "none"
        record = self._client(client_id)
        if not client_id and form.get("grant_type") == JWT_BEARER:
            return None
        if record is None or method != record["token_endpoint_auth_method"]:
            raise Refusal("invalid_client", "method %s" % method, 401, [("WWW-Authenticate", "Basic")] if basic else [])
        if (record.get("client_secret") or "") != secret and method.startswith("client_secret"):
            raise Refusal("invalid_client", "wrong secret", 401)
        if assertion is not None:
            self._asserted(form, claims_of(assertion))
        return client_id

    def _asserted(self, form: Dict[str, str], claims: Dict[str, Any]) -> None:
        if form.get("client_assertion_type") != ASSERTION or claims.get("iss") != claims.get("sub"):
            raise Refusal("invalid_client", "an assertion of its own", 401)
        if claims.get("aud") not in (self.issuer, [self.issuer]) or not {"exp", "iat", "jti"} <= set(claims):
            raise Refusal("invalid_client", "an assertion for this issuer", 401)

    def _proved(self, asked: Asked) -> Dict[str, Any]:
        """What a DPoP proof binds the token to. The signature is not looked at."""
        proof = asked.headers.get("dpop")
        if proof is None:
            return {}
        claims = claims_of(proof)
        if claims.get("htm") != "POST" or claims.get("htu") != self.metadata["token_endpoint"]:
            raise Refusal("invalid_dpop_proof", "for another request")
        if self.nonce is not None and claims.get("nonce") != self.nonce:
            raise Refusal("use_dpop_nonce", "", 400, [("DPoP-Nonce", self.nonce)])
        key = claims_of(proof, 0)["jwk"]
        parts = {name: key[name] for name in ("crv", "e", "k", "kty", "n", "x", "y") if name in key}
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return {"cnf": {"jkt": _b64(hashlib.sha256(text.encode()).digest())}}

    def _by_code(self, form: Dict[str, str], client_id: Optional[str]) -> Dict[str, Any]:
        query = self.codes.pop(form.get("code", ""), None)
        if query is None or query["client_id"] != client_id or query["redirect_uri"] != form.get("redirect_uri"):
            raise Refusal("invalid_grant", "no such code")
        if challenge_of(form.get("code_verifier", "")) != query.get("code_challenge"):
            raise Refusal("invalid_grant", "PKCE")
        if "resource" in form and form["resource"] != query.get("resource"):
            raise Refusal("invalid_target")
        return {"client_id": client_id, "sub": "somebody", "scope": query.get("scope", ""),
                "aud": query.get("resource"), "refreshable": True}

    def _by_refresh(self, form: Dict[str, str], client_id: Optional[str]) -> Dict[str, Any]:
        with self.lock:
            claims = self.refresh_tokens.get(form.get("refresh_token", ""))
            if claims is None or claims["client_id"] != client_id:
                raise Refusal("invalid_grant", "no such refresh token")
            del self.refresh_tokens[form["refresh_token"]]
        scope = form.get("scope", claims["asked"])
        if not set(scope.split()) <= set(claims["asked"].split()):
            raise Refusal("invalid_scope", "more than was granted")
        return {"client_id": client_id, "sub": claims["sub"], "scope": scope, "aud": claims["aud"], "refreshable": True}

    def _by_credentials(self, form: Dict[str, str], client_id: Optional[str]) -> Dict[str, Any]:
        if self.clients[client_id or ""]["token_endpoint_auth_method"] == "none":
            raise Refusal("unauthorized_client")
        return {"client_id": client_id, "sub": client_id, "scope": form.get("scope", ""), "aud": form.get("resource")}

    def _by_exchange(self, form: Dict[str, str], client_id: Optional[str]) -> Dict[str, Any]:
        if not form.get("subject_token") or not form.get("subject_token_type"):
            raise Refusal("invalid_request", "no subject")
        return {"client_id": client_id, "sub": "somebody", "scope": form.get("scope", ""), "aud": form.get("audience"),
                "issued_token_type": form.get("requested_token_type", OUT)}

    def _by_assertion(self, form: Dict[str, str], client_id: Optional[str]) -> Dict[str, Any]:
        if not form.get("assertion"):
            raise Refusal("invalid_request", "no assertion")
        return {"client_id": client_id, "sub": "somebody", "scope": form.get("scope", ""), "aud": form.get("resource")}

    def _register(self, asked: Asked) -> Reply:
        wanted = asked.json
        redirects = wanted.get("redirect_uris")
        if not redirects or not all(isinstance(uri, str) for uri in redirects):
            return reply_json({"error": "invalid_redirect_uri"}, 400)
        client_id = "client-" + secrets.token_urlsafe(6)
        method = wanted.get("token_endpoint_auth_method", "client_secret_basic")
        record = dict(wanted, token_endpoint_auth_method=method, redirect_uris=redirects)
        if method != "none":
            record["client_secret"] = "secret-" + secrets.token_urlsafe(12)
            record["client_secret_expires_at"] = 0
            self.secrets.add(record["client_secret"])
        self.clients[client_id] = record
        return reply_json(dict(record, client_id=client_id), 201)

    def _introspect(self, asked: Asked) -> Reply:
        try:
            self._authenticated(asked)
        except Refusal as refusal:
            return reply_json(refusal.members(), refusal.status)
        claims = self.tokens.get(asked.form.get("token", ""))
        return reply_json({"active": False} if claims is None else dict(claims, active=True))

    def _jwks(self, asked: Asked) -> Reply:
        return reply_json({"keys": self.keys})


_SECRET_FIELDS = ("code_verifier", "client_secret", "client_assertion", "assertion", "subject_token")
_Granting = Callable[[AuthorizationServer, Dict[str, str], Optional[str]], Dict[str, Any]]
_GRANTS: Dict[str, _Granting] = {
    CODE: AuthorizationServer._by_code, REFRESH: AuthorizationServer._by_refresh,
    CREDENTIALS: AuthorizationServer._by_credentials, EXCHANGE: AuthorizationServer._by_exchange,
    JWT_BEARER: AuthorizationServer._by_assertion,
}


def _unknown(server: AuthorizationServer, form: Dict[str, str], client_id: Optional[str]) -> Dict[str, Any]:
    raise Refusal("unsupported_grant_type")


def _registered(uri: str, registered: Optional[Sequence[str]]) -> bool:
    """Exactly, but for the port of a loopback address. None: a client whose document nobody can fetch here."""
    parts = urlsplit(uri)
    if parts.scheme != "http" or parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        return bool(uri) and (registered is None or uri in registered)
    return registered is None or _portless(uri) in map(_portless, registered)


def _portless(uri: str) -> Tuple[str, Optional[str], str]:
    parts = urlsplit(uri)
    return parts.scheme, parts.hostname, parts.path


class ProtectedServer(_Mounted):
    """An MCP server of ours that lets in requests with a token of its issuers only; see the module.

    The check of tokens is scripted: it asks the authorization servers' tables. ``server``: what is served; by default
    one with a tool ``echo`` and a tool ``write``. ``document_at``: where its document is: "path", "root", another path,
    or None for nowhere, as a server of 2025-03-26.
    """

    def __init__(self, *issuing: AuthorizationServer, server: Optional[Server] = None, path: str = "/mcp",
                 host: str = "127.0.0.1", document_at: Optional[str] = "path", web: Optional[ScriptedWeb] = None,
                 tls: Any = None) -> None:
        super().__init__(web, host, tls, "")
        self.issuing: List[AuthorizationServer] = list(issuing)
        """Whose tokens are good; the first one's are at the moment, in `document` too: `migrate` changes that."""
        self.path = path
        self.url = self.origin + path
        self.server = demo_server() if server is None else server
        self.document: Dict[str, Any] = {"resource": self.url, "authorization_servers": [one.issuer for one in issuing]}
        places = {"path": RESOURCE_DOCUMENT + path, "root": RESOURCE_DOCUMENT, None: None}
        self.document_path = places.get(document_at, document_at)
        self.scopes: List[str] = []
        """Needed for everything."""
        self.needs: Dict[str, List[str]] = {}
        """Needed for a method, or for a tool: ``tools/call:write``."""
        self.challenge: Dict[str, Any] = {"scheme": "Bearer"}
        """Members of the challenge in place of the usual ones; `OUT`: none."""
        self.nonce: Optional[str] = None
        """The DPoP nonce that every request has to have."""
        self.checked: List[Tuple[Asked, int]] = []
        """All requests and the statuses that the check of tokens gave them; 200: passed on."""
        if self.document_path is not None:
            self.web.serve(self.document_path, lambda asked: reply_json(kept(self.document)))
        self.web.serve(path, self._mcp)

    def migrate(self, issuing: AuthorizationServer) -> None:
        """From now on tokens of another authorization server only."""
        self.issuing = [issuing]
        self.document["authorization_servers"] = [issuing.issuer]

    def calls(self, method: str) -> List[Asked]:
        """The requests with this JSON-RPC method, refused ones too."""
        return [one for one in self.seen(self.path, "POST") if one.json.get("method") == method]

    def bearers(self) -> List[Optional[str]]:
        """The values of Authorization of all requests to the endpoint, in order."""
        return [one.headers.get("authorization") for one in self.seen(self.path)]

    def close(self) -> None:
        """End it and its sessions."""
        self.server.handler.close(0.0)
        super().close()

    def _mcp(self, asked: Asked) -> Reply:
        refused = self._refused(asked)
        self.checked.append((asked, refused.status if refused else 200))
        if refused is not None:
            return refused
        fields = {name: value for name, value in asked.headers.items() if name != "authorization"}
        answer = self.server.handle(asked.method, "/mcp" + asked.target[len(asked.path):], fields, asked.body)
        return Reply(answer.status, [(name, value) for name, value in answer.headers
                                     if name.lower() not in ("content-length", "connection")], b"".join(answer.chunks))

    def _refused(self, asked: Asked) -> Optional[Reply]:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        claims = next((one.tokens[token] for one in self.issuing if token in one.tokens), None)
        if not token:
            return self._challenged(401, self.scopes)
        if claims is None or claims.get("aud") not in (None, self.document.get("resource")):
            return self._challenged(401, self.scopes, "invalid_token")
        if self.nonce is not None and claims_of(asked.headers.get("dpop", "")).get("nonce") != self.nonce:
            return self._challenged(401, [], "use_dpop_nonce", [("DPoP-Nonce", self.nonce)])
        if scheme.lower() != ("dpop" if "cnf" in claims else "bearer"):
            return self._challenged(401, self.scopes, "invalid_token")
        needed = self.scopes + self._needed(asked)
        if not set(needed) <= set(str(claims.get("scope", "")).split()):
            return self._challenged(403, needed, "insufficient_scope")
        return None

    def _needed(self, asked: Asked) -> List[str]:
        message = asked.json if asked.method == "POST" else {}
        method, name = message.get("method", ""), (message.get("params") or {}).get("name")
        return self.needs.get(method, []) + self.needs.get("%s:%s" % (method, name), [])

    def _challenged(self, status: int, scopes: Sequence[str], error: Any = OUT,
                    headers: Sequence[Tuple[str, str]] = ()) -> Reply:
        where = OUT if self.document_path is None else self.origin + self.document_path
        said = kept({"error": error, "resource_metadata": where, "scope": " ".join(scopes) or OUT, **self.challenge})
        scheme = "DPoP" if self.nonce is not None else said.pop("scheme", "Bearer")
        said.pop("scheme", None)
        value = scheme + " " + ", ".join('%s="%s"' % one for one in said.items())
        return reply_json({}, status, [("WWW-Authenticate", value.strip()), *headers])


def demo_server() -> Server:
    """A server with two tools."""
    server = Server("protected", "1")

    @server.tool()
    def echo(text: str) -> str:
        """Say it again."""
        return text

    @server.tool()
    def write(text: str) -> str:
        """Keep it."""
        return "kept " + text

    return server


def fetched(url: str, cafile: Optional[str] = None) -> Tuple[int, Dict[str, str], bytes]:
    """GET a loopback URL; status, header fields by lower-case names, body. Redirects are not followed."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    assert host in ("127.0.0.1", "localhost", "::1") and port, "only what is on loopback"
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            host, port, timeout=PATIENCE, context=ssl.create_default_context(cafile=cafile))
    try:
        connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""))
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def browser(url: str, cafile: Optional[str] = None) -> str:
    """A person who allows everything, and their browser: where the authorization server sends them."""
    status, headers, body = fetched(url, cafile)
    assert status in (302, 303, 307), "the authorization server shows a page: %d %r" % (status, body[:200])
    return headers["location"]


class Browser:
    """The same for a program that listens for the redirect: ``OAuth(open_browser=web_browser.open)``.

    Follows the redirect on a thread of its own. A context manager; ``urls``: what it was to open, ``pages``: what the
    program then showed, as `fetched`.
    """

    def __init__(self, before: Callable[[str], str] = lambda location: location) -> None:
        self.urls: List[str] = []
        self.pages: List[Tuple[int, Dict[str, str], bytes]] = []
        self._before = before
        self._threads: List[threading.Thread] = []
        self._faults: List[BaseException] = []

    def open(self, url: str) -> bool:
        """As `webbrowser.open`."""
        self.urls.append(url)
        thread = threading.Thread(target=self._visit, args=(url,), daemon=True)
        self._threads.append(thread)
        thread.start()
        return True

    def _visit(self, url: str) -> None:
        try:
            self.pages.append(fetched(self._before(browser(url))))
        except BaseException as error:
            self._faults.append(error)

    def close(self) -> None:
        """Wait for everything that was opened; raises what went wrong."""
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the browser hangs"
        if self._faults:
            raise self._faults[0]

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
