"""Targets for tokens that are shown to us: their three parts, who is said to have signed them, and the keys for that.

Whoever can send a request can send a token; the keys come from whatever answers at the issuer's address.
"""
import json
from functools import lru_cache
from random import Random
from typing import Any, Dict, List, NamedTuple, Tuple

from mcp_ref.auth.fetch import HttpAnswer
from mcp_ref.auth.jose import HmacSigner, Jwt, Signer, b64url, make_jwt, split_jwt, unb64url
from mcp_ref.auth.jws import KeySet
from mcp_ref.auth.server.verifiers import JwtVerifier
from mcp_ref.errors import DiscoveryFailed, Unauthorized
from tests.conformance.es256 import GX, GY, P, Es256Signer
from tests.support.rs256 import Rs256Signer

from .engine import Broken, Target
from .inventing import as_bytes, mutated, mutated_bytes, text
from .wire import one_line

ISSUER = "https://auth.example"
HERE = "https://mcp.example/mcp"
NOW = 1_700_000_000.0
LEEWAY = 30.0
SECRET = b"a secret of thirty-two bytes ..."
HEADER: Dict[str, Any] = {"alg": "HS256", "typ": "at+jwt"}
CLAIMS: Dict[str, Any] = {"iss": ISSUER, "sub": "ada", "aud": [HERE, "https://x.example"], "exp": NOW + 600,
                          "nbf": NOW - 5, "client_id": "program", "scope": "read write", "cnf": {"jkt": "x"}}


class Kind(NamedTuple):
    """A way to sign: who does, who checks it, and tokens that are good."""

    signer: Signer
    verify: JwtVerifier
    good: List[str]


@lru_cache(maxsize=None)
def kinds() -> Tuple[Kind, ...]:
    """The three ways, each with a few tokens; made once, for some take long to sign."""
    made = []
    ways: List[Tuple[Signer, Any]] = [(HmacSigner(SECRET), SECRET), (Es256Signer(77), None), (Rs256Signer(), None)]
    for signer, keys in ways:
        verify = JwtVerifier(ISSUER, keys=keys or {"keys": [each.public_jwk for each, _ in ways[1:]]}, audience=HERE,
                             algorithms=[signer.alg], leeway=LEEWAY, now=lambda: NOW)
        tokens = [make_jwt(signer, dict(CLAIMS, sub=sub), [("typ", kind)])
                  for sub, kind in (("ada", "at+jwt"), ("bob", "JWT"))]
        made.append(Kind(signer, verify, tokens))
    return tuple(made)


def refused(error: Exception, token: str) -> None:
    """Why a token is not good: a line that shows no part of it."""
    one_line(str(error), 200)
    if any(part in str(error) for part in token.split(".") if len(part) > 12):
        raise Broken("shown: %s" % error) from None


# -- Tokens --------------------------------------------------------------------------------------

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
PUT_IN = ("", ".", "..", "=", "==", "+", "/", "-", "_", "A", "\n", " ", "\x00", "\xe9", "\u0410", "\uff21", "e30",
          "eyJhbGciOiJub25lIn0", "null", "\ud800")
ALGS = ("none", "None", "HS256", "hs256", "RS256", "ES256", "PS256", "HS512", "", None, 1, ["ES256"])


def changed(random: Random, token: str) -> str:
    """The text of a token with some characters changed."""
    pick, at = random.randrange(8), random.randrange(len(token))
    if pick == 0:
        return token[:at] + token[at + random.randrange(1, 4):]
    if pick == 1:
        return token[:at] + random.choice(PUT_IN) + token[at:]
    if pick == 2:
        return random.choice((token.swapcase(), token + random.choice(PUT_IN), random.choice(PUT_IN) + token))
    if pick == 3:  # the last bits of a part
        ends = [index - 1 for index, sign in enumerate(token) if sign == "."] + [len(token) - 1]
        at = random.choice(ends)
    return token[:at] + random.choice(ALPHABET) + token[at + 1:]


def rearranged(random: Random, token: str) -> str:
    """The parts of this token and of others, in some order, and a header or claims of one's own."""
    parts = token.split(".")
    others = random.choice(random.choice(kinds()).good).split(".")
    for _ in range(random.randrange(1, 3)):
        at = random.randrange(len(parts))
        pick = random.randrange(5)
        if pick == 0:
            parts[at] = random.choice(others)
        elif pick == 1:
            parts[at] = random.choice(("", parts[0], parts[1]))
        elif pick == 2:
            random.shuffle(parts)
        else:
            parts[min(at, 1)] = b64url(body(random, HEADER if at == 0 else CLAIMS))
    return ".".join(parts)


def padded(random: Random, token: str) -> str:
    """A token whose signature has bytes more or less, some of which say nothing in a number."""
    signed, _, signature = token.rpartition(".")
    data, at = unb64url(signature), random.choice((0, 0, 32, 64, 256))
    data = random.choice((data[:at] + b"\0" + data[at:], data[:-1], data[1:], data + data, data[32:] + data[:32], b""))
    return "%s.%s" % (signed, b64url(data))


def body(random: Random, good: Dict[str, Any]) -> bytes:
    """Header or claims with faults, some of them no JSON any more."""
    found = mutated(random, dict(good, alg=random.choice(ALGS)) if "alg" in good else good, random.randrange(3))
    return as_bytes(found) if random.random() < 0.9 else mutated_bytes(random, as_bytes(found))


def resigned(random: Random) -> str:
    """A token of anything, signed with the secret that is trusted, or with what everybody knows in place of one."""
    secret = SECRET
    if random.random() < 0.2:
        jwk = random.choice(kinds()[1:]).signer.public_jwk
        secret = random.choice((json.dumps(jwk).encode(), unb64url(jwk["n"] if "n" in jwk else jwk["x"])))
    header: Dict[str, Any] = dict(HEADER, alg=random.choice(("HS256", "HS256", "HS256", "ES256", "RS256", "none")))
    if random.random() < 0.2:
        header[random.choice(("kid", "crit", "jwk", "jku", "b64", "typ"))] = random.choice((
            "x", ["exp"], None, False, text(random), "application/AT+jwt", kinds()[1].signer.public_jwk))
    claims: Any = CLAIMS
    if random.random() < 0.7:
        claims = dict(CLAIMS, **{random.choice(("exp", "nbf")): random.choice((
            NOW, NOW - LEEWAY, NOW + LEEWAY, NOW + LEEWAY + 1, 0, 1e13, 10 ** 400, -1, True, str(NOW), None))})
        claims = mutated(random, claims, random.randrange(3))
    signed = "%s.%s" % (b64url(as_bytes(header)), b64url(as_bytes(claims)))
    return "%s.%s" % (signed, b64url(HmacSigner(secret).sign(signed.encode("ascii"))))


def make_jwts(random: Random) -> Tuple[int, str]:
    """Which way of signing is trusted, and a token; the way that takes long comes less often."""
    which = random.choice((0, 0, 0, 0, 1, 2, 2, 2))
    token = random.choice(kinds()[which].good)
    pick = random.random()
    if pick < 0.4:
        return which, resigned(random)
    if pick < 0.42:
        return which, random.choice(random.choice(kinds()).good)
    if pick < 0.5:
        return which, padded(random, token)
    token = rearranged(random, token) if pick < 0.6 else token
    for _ in range(random.choice((0, 1, 1, 1, 2))):
        token = changed(random, token) if token else token
    return which, token


def check_jwts(case: Tuple[int, str]) -> None:
    """Only the two errors, as a line; what is accepted was signed so, by the one way, for us and for now."""
    which, token = case
    kind = kinds()[which]
    try:
        jwt = split_jwt(token)
    except ValueError as error:
        refused(error, token)
    else:
        rebuilt = "%s.%s" % (jwt.signed.decode("ascii"), b64url(jwt.signature))
        if rebuilt != token or token[10:] in repr(jwt):
            raise Broken("parts: of another token: %r" % rebuilt)
    answers = []
    for ask in (kind.verify.verify, kind.verify, kind.verify):
        try:
            answers.append(ask(token))
        except Unauthorized as error:
            refused(error, token)
            answers.append(None)
    if not answers[0] == answers[1] == answers[2]:
        raise Broken("remembered: %r" % (answers,))
    if answers[0] is None:
        if token in kind.good:
            raise Broken("refused: a good token")
    elif which:
        if token not in kind.good:
            raise Broken("accepted: what was not signed")
    else:
        check_accepted(token)


def check_accepted(token: str) -> None:
    """A token under our secret that was accepted: it is what it has to be, by rules that are written here anew."""
    signed, _, signature = token.rpartition(".")
    header, claims = (json.loads(unb64url(part)) for part in signed.split("."))
    if signature != b64url(HmacSigner(SECRET).sign(signed.encode("ascii"))):
        raise Broken("accepted: what was not signed")
    if header["alg"] != "HS256" or "crit" in header or header.get("typ", "JWT").lower().rpartition("/")[2] not in (
            "at+jwt", "jwt"):
        raise Broken("accepted: with the header %r" % header)
    audience = claims["aud"]
    if claims["iss"] != ISSUER or HERE not in ([audience] if isinstance(audience, str) else audience):
        raise Broken("accepted: for somebody else: %r" % claims)
    since = claims.get("nbf")
    if type(claims["exp"]) not in (int, float) or claims["exp"] <= NOW - LEEWAY or (
            since is not None and not since <= NOW + LEEWAY):
        raise Broken("accepted: not in its time: %r" % claims)


# -- Keys ----------------------------------------------------------------------------------------

OCT = {"kty": "oct", "k": b64url(SECRET), "kid": "h", "alg": "HS256"}


def make_keys(random: Random) -> Tuple[int, Any, Any, bool]:
    """Whose token is to be checked, the `kid` of its header, a set of keys, and whether it comes from the network."""
    which = random.choice((0, 0, 0, 0, 1, 2, 2, 2))
    jwks: List[Any] = [dict(kinds()[1].signer.public_jwk, kid="e", use="sig", alg="ES256"),
                       dict(kinds()[2].signer.public_jwk, kid="r", key_ops=["verify"]), dict(OCT)]
    for jwk in jwks:
        for key in ("n", "e", "x", "y", "k"):
            if key in jwk and random.random() < 0.1:
                jwk[key] = random.choice(("AA" + jwk[key], "AAAA" + jwk[key], changed(random, jwk[key]), "", "AQ",
                                          "A" * 43, "_" * 2000))
    random.shuffle(jwks)
    found: Any = {"keys": jwks}
    return (which, random.choice((None, None, "h", "e", "r", "x")),
            mutated(random, found, random.randrange(4)) if random.random() < 0.8 else jwks[0], random.random() < 0.5)


class Answering:
    """In place of a `Fetcher`: the same answer always."""

    def __init__(self, body_: bytes) -> None:
        self.body = body_

    def get(self, asked: str, headers: Any = ()) -> HttpAnswer:
        """The answer."""
        return HttpAnswer(200, {}, self.body, asked)


def check_keys(case: Tuple[int, Any, Any, bool]) -> None:
    """Only the two errors, as a line without a secret; a token is signed only if its key is in the set, as it was."""
    which, kid, found, fetched = case
    kind = kinds()[which]
    jwt = split_jwt(kind.good[0])
    jwt = Jwt(dict(jwt.header, kid=kid) if kid is not None else jwt.header, jwt.claims, jwt.signed, jwt.signature)
    try:
        fetcher: Any = Answering(as_bytes(found))
        if not fetched and not isinstance(found, dict):
            return  # which no annotation allows
        keys = KeySet(ISSUER + "/jwks", fetcher) if fetched else KeySet(found)
        signed = {alg for alg in ("HS256", "ES256", "RS256") if keys.signed(jwt, alg)}
    except (ValueError, DiscoveryFailed) as error:
        one_line(str(error), 300)
        if b64url(SECRET) in str(error):
            raise Broken("shown: %s" % error) from None
        return
    if not fetched:
        for jwk in _within(found):
            if jwk.get("kty") == "EC" and not _on_curve(jwk):
                raise Broken("keys: one that is none: %r" % jwk)
    if not signed <= {kind.signer.alg} or (signed and fetched and not which):
        raise Broken("signed: by %r" % signed)
    if signed and not any(_has(jwk, which) and (kid is None or jwk.get("kid") in (None, kid))
                          for jwk in _within(found)):
        raise Broken("signed: with another key")
    if not signed and which and not fetched and found == {"keys": [kind.signer.public_jwk]}:
        raise Broken("refused: with its key")


def _within(found: Any) -> List[Dict[str, Any]]:
    """The keys of a set, or the one key."""
    listed = found.get("keys") if "kty" not in found else [found]
    return [jwk for jwk in listed or () if isinstance(jwk, dict)]


def _on_curve(jwk: Dict[str, Any]) -> bool:
    """Whether a key is a point of P-256, as the signer of the tests says it."""
    octets = [unb64url(jwk[key]) for key in ("x", "y")]
    x, y = (int.from_bytes(number, "big") for number in octets)
    a = (GY * GY - GX ** 3) % P + 3 * GX  # which is the last number of the curve
    return [len(number) for number in octets] == [32, 32] and max(x, y) < P and (y * y - x ** 3 + 3 * x - a) % P == 0


def _has(jwk: Dict[str, Any], which: int) -> bool:
    """Whether a key is the one of this way, and for signatures of this kind."""
    own = OCT if which == 0 else kinds()[which].signer.public_jwk
    alg = kinds()[which].signer.alg
    same = all(str(jwk.get(key)).lstrip("A" if key in ("n", "e") else "") == own[key].lstrip(
        "A" if key in ("n", "e") else "") for key in ("kty", "crv", "k", "n", "e", "x", "y") if key in own)
    return same and jwk.get("alg") in (None, alg) and jwk.get("use", "sig") == "sig" and "verify" in jwk.get(
        "key_ops", ["verify"])


TARGETS = (
    Target("jwts", make_jwts, check_jwts),
    Target("keys", make_keys, check_keys),
)
