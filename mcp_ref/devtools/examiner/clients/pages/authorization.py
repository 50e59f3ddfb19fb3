"""Scenes about a client that is let in with a token: how it finds the authorization server, and what it shows where.

[2025-03-26..2025-11-25 basic/authorization], [2026-07-28 basic/authorization/index],
[2026-07-28 basic/authorization/authorization-server-discovery].

The authorization server of these scenes (`Issuer`) tells where it is, registers everybody, and asks nobody. Its
metadata stands at one of the places of `FORMS`, and at no other; a scene changes the metadata, or the answer to the
browser. The browser of the user is played by the client, as in the official suite, whose scenarios these are: it asks
for the authorization URL, and follows the redirect. A client that begins no authorization is not examined.
"""

import base64
import hashlib
from typing import Any, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import parse_qsl, urlencode

from .....http11.message import Exchange, HttpRequest
from .....http11.server.server import HttpServer
from .....jsontext import dumps
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every
from ...wire import parsed
from ..script import Reply
from ..stage import ClientStage, web_scene

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


SCENARIO = "auth/metadata-default"


def _play(stage: ClientStage, issuer: Issuer, named: bool = True, root: bool = False, own: bool = False) -> Any:
    """Start the client against a server that wants a token; return the script.

    ``named``: the refusal says where the metadata of the resource is. ``root``: that is at the root of the origin, in
    the place of below it. ``own``: there is none, and the endpoints of the issuer are at the origin of the server.
    """
    script = stage.script()
    path = RESOURCE_PATH + ("" if root else "/mcp")

    def door(request: Any, message: Any) -> Any:
        if request.headers.get("authorization") == "Bearer " + TOKEN:
            return None
        challenge = 'Bearer scope="%s"' % SCOPE
        if named and not own:
            challenge += ', resource_metadata="%s%s"' % (script.base, path)
        return 401, (("WWW-Authenticate", challenge),), b""

    def page(request: Any) -> Any:
        if own:
            return issuer.reply(request)
        return json_reply({"resource": script.url, "authorization_servers": [issuer.url]}
                          ) if request.path == path else None

    script.door, script.page = door, page
    stage.run(script, SCENARIO)
    return script


def _needed(stage: ClientStage) -> None:
    """Raise `NotExamined` if the client gets no token where nothing is odd."""
    if stage.authorizes is None:
        with Issuer() as issuer:
            _play(stage, issuer)
            stage.authorizes = bool(issuer.at("/authorize"))
    if not stage.authorizes:
        raise NotExamined("the client asks no authorization server for a token")


@web_scene("authorized", "auth.pkce-s256", "auth.resource-in-both-requests", "auth.scope-authoritative",
           "auth.no-token-in-query", "auth.every-request", only=lambda revision: revision.rank > 1)
def authorized(stage: ClientStage) -> Said:
    """A server wants a token with a scope: the client asks for that scope, names the resource in both requests, proves
    with S256 that it has asked, and shows the token in a header field, and nowhere else."""
    _needed(stage)
    with Issuer() as issuer:
        script = _play(stage, issuer)
    asked, got = issuer.at("/authorize")[:1], issuer.at("/token")[:1]
    if not asked or not got:
        return CannotTell("the client has not asked for a token")
    first, then = asked[0].query, got[0].form
    method, scopes = first.get("code_challenge_method"), first.get("scope", "").split()
    same = script.url == first.get("resource") == then.get("resource")
    queries = [each.request.query for each in script.heard if each.request]
    after = [each for each in script.heard if each.is_request][-1:]
    return {
        "auth.pkce-s256": Broken("code_challenge_method is %s" % method) if method != "S256" else KEPT if is_verified(
            asked[0], got[0]) else Broken("code_verifier is not that of code_challenge"),
        "auth.resource-in-both-requests": KEPT if same else Broken("resource is %s, and %s; the server is %s" % (
            first.get("resource"), then.get("resource"), script.url)),
        "auth.scope-authoritative": KEPT if SCOPE in scopes else Broken("the scope %s was wanted, and %s asked for" % (
            SCOPE, " ".join(scopes) or "none")),
        "auth.no-token-in-query": Broken("the token is in a URL") if any(TOKEN in each for each in queries) else KEPT,
        "auth.every-request": KEPT if after and after[0].field("authorization") == "Bearer " + TOKEN else CannotTell(
            "nothing was asked with the token")}


DISCOVERY = ("auth.as-metadata-both", "auth.as-discovery-multiple")


@web_scene("discovery", *DISCOVERY, *("auth.as-discovery-" + name for name in FORMS))
def discovery(stage: ClientStage) -> Said:
    """The metadata of the authorization server stands at one of five places, and nowhere else: it is found."""
    _needed(stage)
    found: Dict[str, Verdict] = {}
    for name, (_, path) in FORMS.items():
        with Issuer(name) as issuer:
            _play(stage, issuer)
        well = bool(issuer.at(path))
        found["auth.as-discovery-" + name] = KEPT if well else Broken("the metadata at %s was not asked for" % path)
    worst = every(list(found.values()))
    return {**found, **dict.fromkeys(DISCOVERY, worst)}


@web_scene("bare-challenge", "auth.prm-well-known-order", "auth.prm-both-mechanisms")
def bare_challenge(stage: ClientStage) -> Said:
    """A refusal does not say where the metadata is, which stands at the root: below it is asked first, then there."""
    _needed(stage)
    with Issuer() as issuer:
        script = _play(stage, issuer, named=False, root=True)
    asked = [hit.partition(" ")[2] for hit in script.hits if RESOURCE_PATH in hit]
    wanted = [RESOURCE_PATH + "/mcp", RESOURCE_PATH]
    verdict: Verdict = KEPT if list(dict.fromkeys(asked)) == wanted else Broken(
        "the metadata was asked for at %s" % (", ".join(asked) or "no well-known place"))
    return dict.fromkeys(("auth.prm-well-known-order", "auth.prm-both-mechanisms"), verdict)


def _refuses(stage: ClientStage, what: str, changes: Dict[str, Any], form: str = "root-oauth") -> Verdict:
    """Return the verdict on a client that may not use metadata with some changes."""
    with Issuer(form, changes) as issuer:
        for name, value in list(issuer.changes.items()):
            if isinstance(value, str):
                issuer.changes[name] = value.replace("{issuer}", issuer.url)
        _play(stage, issuer)
    return Broken("%s, and the client has gone on to %s" % (what, "/authorize")) if issuer.at("/authorize") else KEPT


ISSUERS = ("auth.as-issuer-match", "auth.as-issuer-mismatch-rejected")


@web_scene("other-issuer", *ISSUERS)
def other_issuer(stage: ClientStage) -> Said:
    """The metadata names another issuer, or the same with a slash: it is not used."""
    _needed(stage)
    return dict.fromkeys(ISSUERS, every([
        _refuses(stage, "the metadata is of another issuer", {"issuer": "https://other.example"}),
        _refuses(stage, "the issuer of the metadata differs by a slash", {"issuer": "{issuer}/"})]))


@web_scene("no-pkce", "auth.pkce-verify-support", "auth.pkce-absent-refuse", "auth.pkce-oidc-verify",
           "auth.pkce-oidc-absent-refuse")
def no_pkce(stage: ClientStage) -> Said:
    """The metadata does not say that PKCE is supported: the client does not go on."""
    _needed(stage)
    gone: Dict[str, Any] = {"code_challenge_methods_supported": None}
    what = "the metadata has no code_challenge_methods_supported"
    plain, oidc = _refuses(stage, what, gone), _refuses(stage, what, gone, "root-oidc")
    return {"auth.pkce-verify-support": plain, "auth.pkce-absent-refuse": plain,
            "auth.pkce-oidc-verify": oidc, "auth.pkce-oidc-absent-refuse": oidc}


_ISS: Tuple[Tuple[str, bool, Optional[str], bool], ...] = (
    ("auth.iss-compare-advertised", True, "https://other.example", False),
    ("auth.iss-missing-rejected", True, None, False),
    ("auth.iss-compare-unadvertised", False, "https://other.example", False),
    ("auth.iss-absent-proceed", False, None, True),
    ("auth.iss-no-normalization", True, "{issuer}/", False))
"""Requirement, whether the metadata says that iss comes, the one that comes, and whether the client goes on."""


@web_scene("iss", *(row[0] for row in _ISS))
def iss(stage: ClientStage) -> Said:
    """The browser comes back with another issuer, with the same and a slash, and with none: the client asks for a token
    only where none was promised, and none came."""
    _needed(stage)
    found: Dict[str, Verdict] = {}
    for id, promised, value, well in _ISS:
        with Issuer(changes={"authorization_response_iss_parameter_supported": promised}) as issuer:
            issuer.iss = None if value is None else value.replace("{issuer}", issuer.url)
            _play(stage, issuer)
        if not issuer.at("/authorize"):
            found[id] = CannotTell("the client has not begun")
        elif bool(issuer.at("/token")) == well:
            found[id] = KEPT
        else:
            found[id] = Broken("%s came, %s was promised, and the client has %s" % (
                "no iss" if value is None else "iss=" + issuer.iss if issuer.iss else "", "one" if promised else "none",
                "not gone on" if well else "asked for a token"))
    return found


@web_scene("no-metadata", "auth.metadata-before-fallback", "auth.fallback-authorize", "auth.fallback-token",
           "auth.fallback-register")
def no_metadata(stage: ClientStage) -> Said:
    """There is no metadata: the client registers, authorizes and gets its token at the origin of the server."""
    with Issuer("", iss=None) as issuer:
        script = _play(stage, issuer, own=True)
    places: List[str] = [each.path for each in issuer.knocks]
    if not places:
        raise NotExamined("the client asks no authorization server for a token")
    if "/authorize" not in places:
        return CannotTell("%s was asked for, and not /authorize" % ", ".join(dict.fromkeys(script.hits)))
    before = places[:places.index("/authorize")]
    looked = any("oauth-authorization-server" in each for each in before)
    return {
        "auth.metadata-before-fallback": KEPT if looked else Broken("no metadata was asked for before /authorize"),
        "auth.fallback-authorize": KEPT,
        "auth.fallback-token": KEPT if "/token" in places else CannotTell("no token was asked for"),
        "auth.fallback-register": KEPT if "/register" in before else CannotTell("the client did not register")}
