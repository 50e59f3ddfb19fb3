"""Target for the door of a protected server: whatever the header fields say, and whatever the verifier says of a token.
"""
import re
from functools import lru_cache
from random import Random
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import unquote_plus

from mcp_ref.auth.discover import parse
from mcp_ref.auth.jose import thumbprint
from mcp_ref.auth.server.access import AccessToken, Principal
from mcp_ref.auth.server.resource_server import ResourceServer
from mcp_ref.errors import AuthError, McpError, Unauthorized
from mcp_ref.ext.auth.dpop import Prover
from mcp_ref.http11.message import Headers, HttpRequest
from mcp_ref.jsonrpc import Notification, Request
from mcp_ref.limits import DEFAULT
from mcp_ref.streamable.server.authenticate import AccessDenied
from tests.conformance.es256 import Es256Signer

from . import tokens
from .engine import Broken, Target
from .inventing import mutated, text, value
from .wire import one_line

RESOURCE = "https://mcp.example/mcp"
ISSUER = "https://auth.example"
NOW = 1_700_000_000.0
TOKEN = "t0ken-of-ada+/="
NEEDS = {"tools/call": ["call"], "tools/call:delete": ["delete"]}
SPOKEN = (False, False, False, False, True, "required")
"""What a server says of DPoP; checking proofs takes long, so most do without."""
ERRORS = {400: ("invalid_request",), 401: (None, "invalid_token", "invalid_dpop_proof"), 403: ("insufficient_scope",)}


@lru_cache(maxsize=None)
def proof() -> Tuple[str, str]:
    """A proof for the right request, and the name of its key."""
    key = Es256Signer(4711)
    return Prover(key, lambda: NOW).proof("POST", RESOURCE, TOKEN), thumbprint(key.public_jwk)


# -- Cases ---------------------------------------------------------------------------------------

Case = Tuple[int, List[Tuple[str, str]], str, Tuple[str, Any], Any]
"""What is said of DPoP, header fields, query, what the verifier does, and a message."""

CREDENTIALS = ("", "Bearer", "bearer ", "BEARER  ", "Basic ", "DPoP ", "Bearer\t", "Bearer\xa0", TOKEN, " ", ",",
               "\x00", "\xe9", "\r\n", "Bearer \n" + TOKEN,
               '"', "x" * (DEFAULT.max_token_bytes + 1), "Bearer x, Bearer ", "token=", "=")
QUERIES = ("", "", "", "", "access_token=" + TOKEN, "a=1&access%5Ftoken=x", "access_token", "a=%", "&;=",
           "Access_Token=x", "a=access_token")
AUDIENCES = (RESOURCE, "HTTPS://MCP.Example:443/mcp", RESOURCE + "/", "https://mcp.example", RESOURCE + "/x",
             "https://mcp.example.evil/mcp", "https://user@mcp.example/mcp", "", "\u212a", "mcp", RESOURCE + "?a")


def make_admission(random: Random) -> Case:
    """A request to a protected server, and what its verifier would say of any token."""
    which = random.randrange(len(SPOKEN))
    scheme = random.choice(("Bearer ", "bearer ", "DPoP ")) if SPOKEN[which] else "Bearer "
    fields = [("Authorization", scheme + TOKEN)]
    if random.random() < 0.4:
        fields = [("authorization", "".join(random.choice(CREDENTIALS) for _ in range(random.randrange(4))))
                  for _ in range(random.choice((0, 1, 1, 1, 2)))]
    if SPOKEN[which] and random.random() < 0.8:
        shown = proof()[0]
        shown = random.choice((shown, shown, tokens.changed(random, shown), tokens.rearranged(random, shown)))
        fields += [("DPoP", shown)] * random.choice((1, 1, 1, 1, 2))
    params = {"name": random.choice(("delete", "read", 1, None)), "arguments": value(random, 1)}
    message: Any = (random.choice(("tools/call", "ping", text(random))), random.choice((params, None, [])))
    query = random.choice(QUERIES) if random.random() < 0.5 else ""
    return which, fields, query, said(random, bool(SPOKEN[which])), message


def said(random: Random, bound: bool) -> Tuple[str, Any]:
    """What a verifier does, mostly that it takes the token."""
    pick = random.random()
    if pick < 0.2:
        return random.choice((("none", None), ("unauthorized", text(random) + TOKEN + text(random)),
                              ("error", "no keys for " + TOKEN), ("raise", TOKEN), ("other", None)))
    members: Dict[str, Any] = {
        "subject": random.choice(("ada", None, text(random))), "client_id": random.choice(("app", None)),
        "issuer": random.choice((ISSUER, ISSUER, None, ISSUER + "/")),
        "expires_at": random.choice((NOW + 1, NOW + 1, None, NOW, 0.0)),
        "scopes": random.sample(("all", "call", "delete"), random.randrange(4)),
        "audience": [random.choice(AUDIENCES) for _ in range(random.randrange(3))] if random.random() < 0.4 else [
            "x", RESOURCE], "claims": {"cnf": {"jkt": proof()[1]}} if random.random() < (0.7 if bound else 0.1) else {}}
    return "access", mutated(random, members) if random.random() < 0.2 else members


# -- Checks --------------------------------------------------------------------------------------


def typed(members: Any) -> bool:
    """Whether these are members of an `AccessToken`, of the right types."""
    if not isinstance(members, dict) or not set(members) <= set(AccessToken.__dataclass_fields__):
        return False
    texts = all(members.get(key) is None or isinstance(members[key], str) for key in ("subject", "client_id", "issuer"))
    lists = all(isinstance(members.get(key, []), list) and all(isinstance(item, str) for item in members.get(key, []))
                for key in ("audience", "scopes"))
    until = members.get("expires_at")
    return texts and lists and isinstance(members.get("claims", {}), dict) and (
        until is None or isinstance(until, (int, float)) and not isinstance(until, bool))


def verdict(outcome: Tuple[str, Any]) -> Any:
    """The verifier's answer."""
    kind, more = outcome
    if kind == "access":
        return AccessToken(**more)
    if kind == "none":
        return None
    raise {"unauthorized": Unauthorized, "error": AuthError, "raise": KeyError, "other": ValueError}[kind](more)


def check_admission(case: Case) -> None:
    """Only `AccessDenied`, with challenges that can be read, or a principal that everything speaks for."""
    which, fields, query, outcome, (method, params) = case
    kind, more = outcome
    if kind == "access" and (not isinstance(more, dict) or not set(more) <= set(AccessToken.__dataclass_fields__)):
        return  # which no constructor takes
    asked: List[str] = []
    wrong: List[str] = []

    def verify(token: str) -> Optional[AccessToken]:
        asked.append(token)
        if not re.fullmatch("[!-~]+", token) or len(token) > DEFAULT.max_token_bytes:
            wrong.append(token[:100])
        found: Optional[AccessToken] = verdict(outcome) if token == TOKEN else None
        return found

    server = ResourceServer(RESOURCE, [ISSUER], verify, scopes=["all"], needs=NEEDS, dpop=SPOKEN[which],
                            now=lambda: NOW)
    try:
        found = server.admit(HttpRequest("POST", "/mcp", Headers(fields), b"", query))
    except AccessDenied as error:
        check_denied(error, which)
        if wrong:
            raise Broken("asked: %r" % wrong) from None
        if kind == "error" and asked == [TOKEN] and (error.status, error.challenges) != (503, ()):
            raise Broken("denied: %d when nobody knows" % error.status) from None
        if allowed(which, fields, query, outcome):
            raise Broken("denied: %s" % error.why) from None
        return
    except McpError as error:  # of the author's
        one_line(str(error), 2000)
        if TOKEN in str(error) or kind not in ("raise", "other") and typed(more):
            raise Broken("author: %s" % error) from None
        return
    if not allowed(which, fields, query, outcome) or asked != [TOKEN]:
        raise Broken("admitted: %r" % (found,))
    if not isinstance(found, Principal) or TOKEN in found + repr(found.access):
        raise Broken("principal: %r" % (found,))
    for cls in (lambda: Request(1, method, params), lambda: Notification(method, params)):
        needed = {"all"} | ({"call"} if method == "tools/call" else set())
        needed |= {"delete"} if method == "tools/call" and (params or {"name": 1})["name"] == "delete" else set()
        refusal = server.allows(found, cls())
        if (refusal is None) != (needed <= set(found.scopes)):
            raise Broken("allows: %r with %r" % (needed, found.scopes))
        if refusal is not None:
            check_denied(refusal, which)
            if {scope for each in parse(refusal.challenges) for scope in each.scopes or ()} != needed:
                raise Broken("scopes: %r" % (refusal.challenges,))


def check_denied(error: AccessDenied, which: int) -> None:
    """A refusal is one of the table, with a challenge for each scheme, and shows no token."""
    one_line(error.why, 2000)
    read = parse(error.challenges)
    for line in error.challenges:
        one_line(line, 2000)
        if not line.isascii():
            raise Broken("challenge: %r" % line)
    if TOKEN in error.why or any(TOKEN in line for line in error.challenges):
        raise Broken("shown: %r" % (error.challenges,))
    if error.status == 503:
        return
    schemes = {False: ["bearer"], True: ["bearer", "dpop"], "required": ["dpop"]}[SPOKEN[which]]
    if [each.scheme for each in read] != schemes or len(read) != len(error.challenges):
        raise Broken("challenge: %r" % (error.challenges,))
    for each in read:
        place = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
        if each.get("error") not in ERRORS[error.status] or each.get("resource_metadata") != place:
            raise Broken("challenge: %r" % (error.challenges,))


def allowed(which: int, fields: List[Tuple[str, str]], query: str, outcome: Tuple[str, Any]) -> bool:
    """Whether the request is to be let in, by rules that are written here anew."""
    kind, members = outcome
    shown = [field for key, field in fields if key.lower() == "authorization"]
    match = re.match(r"[ \t]*(\S+) [ \t]*(\S+)[ \t]*\Z", shown[0]) if len(shown) == 1 else None
    named = [unquote_plus(pair.partition("=")[0]) for pair in query.split("&")]
    if kind != "access" or match is None or match.group(2) != TOKEN or "access_token" in named or not typed(members):
        return False
    audience = [each.lower().replace(":443", "") for each in members.get("audience", [])]
    until = members.get("expires_at")
    if members.get("issuer") not in (None, ISSUER) or RESOURCE not in audience or not (until is None or until > NOW):
        return False
    confirmation = members.get("claims", {}).get("cnf")
    if confirmation is not None and not (isinstance(confirmation, dict) and set(confirmation) <= {"jkt"}):
        return False  # bound to what nothing here checks
    bound = None if confirmation is None else confirmation.get("jkt")
    if SPOKEN[which] != "required" and match.group(1).lower() == "bearer":
        return bound is None
    proofs = [field for key, field in fields if key.lower() == "dpop"]
    return bool(SPOKEN[which] and match.group(1).lower() == "dpop" and proofs == [proof()[0]] and bound == proof()[1])


TARGETS = (Target("admission", make_admission, check_admission),)
