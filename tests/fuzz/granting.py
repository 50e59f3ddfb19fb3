"""Targets for what an authorization server and a browser hand to us: redirects, answers with tokens, registrations.

The server knows what we have sent it, secrets and all, and may say any of it again: none of it may get into an error.
"""
from base64 import b64encode
from random import Random
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import parse_qsl, quote_plus, urlencode

from mcp_ref.auth import OAuth, fetch
from mcp_ref.auth.client.registration import register
from mcp_ref.auth.client.single_flight import Authorization
from mcp_ref.auth.client.store import MemoryStore
from mcp_ref.auth.client.token_endpoint import ClientInfo, CodeFlow, Token, TokenEndpoint, challenge_of
from mcp_ref.auth.discover import AuthorizationServer, Discovered
from mcp_ref.auth.fetch import HttpAnswer
from mcp_ref.errors import AuthError, DiscoveryFailed, IssuerMismatch, RegistrationRefused, TokenRefused
from mcp_ref.limits import DEFAULT

from . import authorization
from .engine import Broken, Target
from .inventing import as_bytes, mutated, mutated_bytes, text, value
from .wire import one_line

ISSUER = "https://auth.example"
SERVER = "https://mcp.example/mcp"
REDIRECT = "http://localhost:7/callback"
NOW = 1_700_000_000.0
LINE = 2000
Pairs = Sequence[Tuple[str, str]]
CODE, VERIFIER, STATE = "c0de/+=c0de", "ver1f1er-of-PKCE", "5tate-of-ours"
ID, SECRET, GIVEN = "client", "s3cret of+ours/=", "g1ven-t0ken"
BASIC = b64encode(("%s:%s" % (quote_plus(ID), quote_plus(SECRET))).encode()).decode()
OURS = (CODE, VERIFIER, STATE, SECRET, GIVEN, BASIC)


def forms(secret: str) -> List[str]:
    """How a server might say a secret again."""
    return [secret, quote_plus(secret), secret.replace(" ", "\n")]


SAYINGS = [form for secret in OURS for form in forms(secret)]


def silent(error: AuthError, secrets: Sequence[str]) -> None:
    """No text of an error has a secret in it, in any form that gives it away."""
    known = [form for secret in secrets for form in forms(secret)]
    for said in (str(error), getattr(error, "error", ""), getattr(error, "description", "")):
        one_line(said, LINE)
        if any(form in said for form in known):
            raise Broken("secret: %r" % said) from None


def server(iss: bool = False, **members: Any) -> AuthorizationServer:
    """The authorization server."""
    return AuthorizationServer(ISSUER, ISSUER + "/token", ISSUER + "/authorize", ISSUER + "/register",
                               iss_parameter_supported=iss, **members)


# -- Redirects -----------------------------------------------------------------------------------

MARKS = ("&", "=", "?", "#", "%", "%00", "%ed%a0%80", "%26", ";", "/", "\\", " ", "\n", "\xe9", "\ud800", "state=",
         "&state=x", "&code=y", "&iss=", "&error=access_denied", "+", "[]")


def make_redirects(random: Random) -> Tuple[str, bool, str]:
    """The URL that a browser came back to, whether the server announces `iss`, and where it wants the browser."""
    said = {"state": STATE, "code": CODE, "iss": ISSUER, "error": "access_denied", "error_description": "no " + STATE}
    for key, good in said.items():
        if random.random() < 0.1:
            said[key] = random.choice((text(random), good + "x", good.upper(), good[:-1], good + "/", "",
                                       random.choice(SAYINGS)))
    pairs = [pair for pair in said.items() if random.random() < (0.9 if pair[0] in ("state", "code") else 0.4)]
    if random.random() < 0.2:
        random.shuffle(pairs)
    if pairs and random.random() < 0.1:
        pairs.append(random.choice(pairs))
    found = REDIRECT + "?" + urlencode(pairs, errors="surrogatepass")
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        at = random.randrange(len(found) + 1)
        found = found[:at] + random.choice(MARKS) + found[at + random.randrange(2):]
    query = random.choice(("", "", "?state=x&scope=%73", "?a=1&request=x&resource=", "?response_mode=x&a;state=1"))
    return found, random.random() < 0.5, authorization.url(random) + query


CLIENT_INFO = ClientInfo(ID, SECRET, "client_secret_basic", ISSUER)
REQUEST = {"response_type": "code", "client_id": ID, "redirect_uri": REDIRECT, "code_challenge_method": "S256",
           "code_challenge": challenge_of(VERIFIER), "state": STATE, "resource": SERVER, "scope": "a"}


def begun(discovered: Discovered, client: Any, scopes: Optional[List[str]]) -> CodeFlow:
    """A flow whose secrets are known, so that they can be looked for."""
    flow = CodeFlow(discovered, client, REDIRECT, scopes)
    flow.verifier, flow.state = VERIFIER, STATE
    return flow


def check_request(endpoint: str) -> None:
    """At any endpoint that may be asked a browser is sent to that place, with each parameter of ours once."""
    try:
        authorization.accepted(fetch.checked(endpoint, "endpoint"))
    except DiscoveryFailed:
        return
    whose = AuthorizationServer(ISSUER, ISSUER + "/token", endpoint)
    flow = begun(Discovered(SERVER, None, whose, False), CLIENT_INFO, ["a"])
    place, _, query = flow.url.partition("?")
    pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] in REQUEST]
    if place != endpoint.partition("?")[0] or dict(pairs) != REQUEST or len(pairs) != len(REQUEST):
        raise Broken("request: %r" % flow.url)
    if VERIFIER in flow.url or SECRET in flow.url:
        raise Broken("secret: %r" % flow.url)


def check_redirects(case: Tuple[str, bool, str]) -> None:
    """Only errors of authorization; a code only with our state, the right issuer and no error, and to our place."""
    redirect, announced, endpoint = case
    check_request(endpoint)
    flow = begun(Discovered(SERVER, None, server(announced), False), CLIENT_INFO, None)
    try:
        code = flow.code(redirect)
    except (IssuerMismatch, TokenRefused) as error:
        came = parse_qsl(redirect.partition("#")[0].partition("?")[2], keep_blank_values=True)
        silent(error, [STATE, VERIFIER, SECRET, BASIC] + [CODE] * (("code", CODE) in came))
        return
    place, _, query = redirect.partition("#")[0].partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    said = dict(pairs)
    if place != REDIRECT or [each for key, each in pairs if key == "state"] != [STATE] or "error" in said:
        raise Broken("code: of another authorization")
    if said.get("iss", None if announced else ISSUER) != ISSUER or len(pairs) != len(said):
        raise Broken("code: of another issuer")
    if not code or code != said["code"]:
        raise Broken("code: %r" % code)
    urlencode([("code", code)])


# -- Answers of the token endpoint and of registration -------------------------------------------

TOKEN: Dict[str, Any] = {"access_token": GIVEN, "token_type": "Bearer", "expires_in": 3600, "scope": "a b",
                         "refresh_token": "r" + GIVEN, "issued_token_type": "x"}
REFUSAL: Dict[str, Any] = {"error": "invalid_grant", "error_description": "no", "error_uri": "https://x.example"}
CLIENT: Dict[str, Any] = {"client_id": ID, "client_secret": SECRET, "client_secret_expires_at": 0, "client_name": "x",
                          "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_basic"}
METHODS = ("none", "client_secret_basic", "client_secret_post")


class Reply(NamedTuple):
    """What comes back: status, content type, body."""

    status: int
    kind: str
    body: bytes


def reply(random: Random, good: Dict[str, Any], status: int, sayings: Sequence[str]) -> Reply:
    """An answer with faults; what it says may be what we have sent."""
    found = dict(good)
    for _ in range(random.randrange(3)):
        said = random.choice(sayings)
        found[random.choice(list(found))] = random.choice((said, "%s, %s!" % (text(random), said), "x" * 390 + said))
    if random.random() < 0.1:
        found[random.choice(("expires_in", "client_secret_expires_at"))] = random.choice(
            (10 ** 400, -10 ** 400, 1e308, -1, 0, True, "60", "\u0663", 0.5, NOW))
    changed = mutated(random, found, random.choice((0, 0, 1, 2)))
    body = as_bytes(changed) if random.random() < 0.9 else mutated_bytes(random, as_bytes(changed))
    return Reply(status if random.random() < 0.9 else random.choice((200, 302, 401, 500)),
                 random.choice(("application/json", "", "text/html")), body)


def make_answers(random: Random) -> Tuple[int, Reply, Optional[Reply]]:
    """How the client shows who it is, an answer of the token endpoint, and perhaps one of registration before it."""
    good, status = random.choice(((TOKEN, 200), (REFUSAL, 400)))
    first = reply(random, *random.choice(((CLIENT, 201), (CLIENT, 201), (REFUSAL, 400))), forms(SECRET) + [BASIC])
    return (random.randrange(len(METHODS)), reply(random, good, status, SAYINGS),
            first if random.random() < 0.5 else None)


class Listed:
    """In place of a `Fetcher`: answers in turn."""

    def __init__(self, *replies: Reply) -> None:
        self.answers = [HttpAnswer(each.status, {"content-type": each.kind}, each.body, ISSUER + "/x")
                        for each in replies]

    def post_form(self, asked: str, fields: Pairs, headers: Pairs = ()) -> HttpAnswer:
        """The next answer, if what is asked can be sent."""
        for each in [urlencode(list(fields)), *(said for _, said in headers)]:
            if not (each.isascii() and each.isprintable()):
                raise Broken("sent: %r" % each)
        return self.answers.pop(0)

    def post_json(self, asked: str, sent: Any, headers: Any = ()) -> HttpAnswer:
        """The next answer."""
        return self.answers.pop(0)


def check_answers(case: Tuple[int, Reply, Optional[Reply]]) -> None:
    """Only errors of authorization, and none says a secret; a token that is taken can be used, kept and shown."""
    which, answer, registered = case
    client = ClientInfo(ID, SECRET, METHODS[which], ISSUER)
    fetcher: Any = Listed(*filter(None, (registered, answer)))
    try:
        if registered is not None:
            client = register(OAuth(client_name="x"), server(), REDIRECT, ["a"],
                              Authorization(lambda context: None, (), SERVER, fetcher, MemoryStore(), DEFAULT,
                                            lambda: NOW))
            check_client(client)
        flow = begun(Discovered(SERVER, None, server(), False), client, ["a"])
        token = flow.exchange(CODE, TokenEndpoint(fetcher, server(), client, now=lambda: NOW))
    except (TokenRefused, RegistrationRefused) as error:
        known = [CODE, VERIFIER] + [each for each in [client.client_secret] if each and len(each) > 8]
        known += [BASIC] * ((client.client_id, client.client_secret) == (ID, SECRET))
        silent(error, known if isinstance(error, TokenRefused) else ())
        return
    if token.access_token in repr(token).replace(repr(token.scopes), "") and len(token.access_token) > 12:
        raise Broken("repr: %r" % token)
    if not (token.access_token.isascii() and token.access_token.isprintable() and " " not in token.access_token):
        raise Broken("token: %r cannot be sent" % token.access_token)
    if token.token_type != "Bearer" or (token.issuer, token.resource) != (ISSUER, SERVER):
        raise Broken("token: %r" % token.to_json())
    if Token.of_json(token.to_json()) != token:
        raise Broken("again: %r" % token.to_json())
    if token.expires_at is not None and not NOW <= (token.renew_at or 0) <= token.expires_at:
        raise Broken("times: %r and %r" % (token.renew_at, token.expires_at))


def check_client(client: ClientInfo) -> None:
    """A registration that is taken can be kept, and does not show its secret."""
    if ClientInfo.of_json(client.to_json()) != client:
        raise Broken("again: %r" % client.to_json())
    if client.client_secret == SECRET and SECRET in repr(client):
        raise Broken("repr: %r" % client)
    if client.expires_at is not None and not 0 < client.expires_at < 1e15:
        raise Broken("expires: %r" % client.expires_at)
    if REDIRECT not in (client.redirect_uris or ()) or client.issuer != ISSUER:
        raise Broken("client: %r" % client.to_json())


# -- What a store gives back ---------------------------------------------------------------------


def make_records(random: Random) -> Any:
    """Something like a record of a token or a client."""
    good = Token(GIVEN, expires_at=NOW, scopes=["a"], issuer=ISSUER, resource=SERVER, client_id=ID).to_json()
    good = random.choice((good, ClientInfo(ID, SECRET, redirect_uris=[REDIRECT]).to_json()))
    found = mutated(random, good, random.randrange(4))
    return found if isinstance(found, dict) else {"access_token": value(random)}


def check_records(case: Dict[str, Any]) -> None:
    """A token, a client, or None; what is taken is kept as it is."""
    for cls in (Token, ClientInfo):
        found: Any = cls.of_json(case)
        if found is not None and cls.of_json(found.to_json()) != found:
            raise Broken("again: %r" % found.to_json())


TARGETS = (
    Target("redirects", make_redirects, check_redirects),
    Target("answers", make_answers, check_answers),
    Target("records", make_records, check_records),
)
