"""Proofs of possession, as a protected server checks them [RFC 9449 §4.3]."""
import threading

import pytest

from mcp_ref.auth import ResourceServer
from mcp_ref.auth.discover import parse
from mcp_ref.auth.jose import HmacSigner, make_jwt, split_jwt, thumbprint
from mcp_ref.errors import AuthError
from mcp_ref.ext.auth.dpop import SECONDS, Proof, ProofChecker, Prover
from mcp_ref.http11.message import Headers, HttpRequest
from mcp_ref.limits import Limits
from tests.conformance.es256 import Es256Signer
from tests.support.patience import WAIT
from tests.support.protected import DOCUMENT, NOW, RESOURCE, Door, access
from tests.support.requirements_table import HANDSHAKE, STATELESS

KEY, OTHER = Es256Signer(4711), Es256Signer(4712)
BOUND = {"cnf": {"jkt": thumbprint(KEY.public_jwk)}}
TOKEN = "t0ken"


def asked(*values, method="POST", path="/mcp"):
    return HttpRequest(method, path, Headers([("DPoP", value) for value in values]))


def made(signer=KEY, header=(), **claims):
    """A proof, with these claims and members of its header in place of the right ones; None: left out."""
    right = split_jwt(Prover(KEY, lambda: NOW).proof("POST", RESOURCE, TOKEN))
    said = {name: value for name, value in {**right.claims, **claims}.items() if value is not None}
    head = {"typ": "dpop+jwt", "jwk": signer.public_jwk, **dict(header)}
    return make_jwt(signer, said, [(name, value) for name, value in head.items() if value is not None])


def check(*values, now=NOW, resource=RESOURCE, **request):
    return ProofChecker(resource, lambda: now).check(asked(*values, **request), TOKEN).thumbprint


def test_a_good_proof_tells_the_key():
    assert check(made()) == thumbprint(KEY.public_jwk)


BAD = {
    "two": lambda: [made(), made()], "none": lambda: [], "nothing": lambda: [""], "no JWT": lambda: ["a.b"],
    "typ": lambda: [made(header=[("typ", "JWT")])], "no typ": lambda: [made(header=[("typ", None)])],
    "crit": lambda: [made(header=[("crit", ["x"])])], "no jwk": lambda: [made(header=[("jwk", None)])],
    "jwk text": lambda: [made(header=[("jwk", "x")])], "jwk empty": lambda: [made(header=[("jwk", {})])],
    "another jwk": lambda: [made(header=[("jwk", OTHER.public_jwk)])],
    "private jwk": lambda: [made(header=[("jwk", dict(KEY.public_jwk, d="AQ"))])],
    "off the curve": lambda: [made(header=[("jwk", dict(KEY.public_jwk, y=KEY.public_jwk["x"]))])],
    "shared secret": lambda: [made(HmacSigner(b"x" * 32), header=[("jwk", {"kty": "oct", "k": "eA"})])],
    "cut": lambda: [made()[:-4]], "changed": lambda: [made()[:-6] + "AAAAAA"],
    "htm": lambda: [made(htm="GET")], "no htm": lambda: [made(htm=None)], "htm case": lambda: [made(htm="post")],
    "htu": lambda: [made(htu="https://evil.example/mcp")], "no htu": lambda: [made(htu=None)],
    "htu path": lambda: [made(htu=RESOURCE + "/x")], "htu number": lambda: [made(htu=1)],
    "ath": lambda: [made(ath="x")], "no ath": lambda: [made(ath=None)],
    "iat old": lambda: [made(iat=NOW - SECONDS - 1)], "iat new": lambda: [made(iat=NOW + SECONDS + 1)],
    "iat huge": lambda: [made(iat=10 ** 400)], "iat huge and old": lambda: [made(iat=-10 ** 400)],
    "no iat": lambda: [made(iat=None)],
    "iat text": lambda: [made(iat="%d" % NOW)],
    "iat true": lambda: [made(iat=True)],
    "no jti": lambda: [made(jti=None)], "jti number": lambda: [made(jti=1)], "jti empty": lambda: [made(jti="")],
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_proof(name):
    with pytest.raises(ValueError) as raised:
        check(*BAD[name]())
    assert TOKEN not in str(raised.value) and KEY.public_jwk["x"] not in str(raised.value)


@pytest.mark.parametrize("htu, resource, path", [
    (RESOURCE, RESOURCE, "/mcp"), (RESOURCE + "?a=b#c", RESOURCE, "/mcp"),
    ("HTTPS://MCP.example.com:443/mcp", RESOURCE, "/mcp"),
    (RESOURCE, RESOURCE, "/behind/a/proxy"), (RESOURCE, "https://mcp.example.com", "/mcp"),
    ("https://mcp.example.com/", "https://mcp.example.com", "/"), ("https://mcp.example.com/sse", RESOURCE, "/sse")])
def test_addresses(htu, resource, path):
    assert check(made(htu=htu), resource=resource, path=path)


def use(proofs, *values):
    """Whether these proofs are taken."""
    return [proofs.use(proofs.check(asked(value), TOKEN)) for value in values]


def test_a_proof_is_good_once():
    clock = [NOW]
    proofs, first = ProofChecker(RESOURCE, lambda: clock[0]), made()
    assert use(proofs, first, first) == [True, False]
    other = make_jwt(OTHER, dict(split_jwt(first).claims), [("typ", "dpop+jwt"), ("jwk", OTHER.public_jwk)])
    assert use(proofs, other, made(iat=NOW)) == [True, True]  # of another key
    clock[0] += SECONDS
    assert len(proofs._used) == 3 and use(proofs, first) == [False]
    clock[0] += 1
    with pytest.raises(ValueError, match="just now"):
        proofs.check(asked(first), TOKEN)
    assert use(proofs, made(iat=clock[0])) == [True] and len(proofs._used) == 1


def stamped(number, until, key="key"):
    """A proof that was found good; what it says does not matter here."""
    return Proof(key, b"%d %s" % (number, key.encode()), until)


def test_nothing_is_forgotten_before_its_time_and_a_full_memory_refuses():
    """[RFC 9449 §11.1] Whoever has a key of his own floods the memory, to use a proof that he has seen again."""
    clock = [NOW]
    proofs = ProofChecker(RESOURCE, lambda: clock[0], Limits(max_proofs=10, max_proofs_per_key=4))
    assert proofs.use(stamped(0, NOW + 60, "victim"))
    for number in range(4):
        assert proofs.use(stamped(number, NOW + 50))
    for number in range(4, 1000):
        with pytest.raises(AuthError, match=r"max_proofs_per_key \(4\)"):
            proofs.use(stamped(number, NOW + 50))
    assert not proofs.use(stamped(0, NOW + 60, "victim")) and not proofs.use(stamped(3, NOW + 50))
    for number in range(5):
        assert proofs.use(stamped(number, NOW + 50, "key %d" % number))
    for number in range(5, 1000):
        with pytest.raises(AuthError, match=r"max_proofs \(10\)"):
            proofs.use(stamped(number, NOW + 50, "key %d" % number))
    assert not proofs.use(stamped(0, NOW + 60, "victim")) and len(proofs._used) == 10
    clock[0] = NOW + 51  # "victim" is still good, and the oldest
    assert proofs.use(stamped(2000, NOW + 100)) and len(proofs._used) == 2
    assert not proofs.use(stamped(0, NOW + 60, "victim"))
    clock[0] = NOW + 61
    assert not proofs.use(stamped(0, NOW + 60, "victim"))  # while it was checked, its time went by
    clock[0] = NOW + 101
    assert proofs.use(stamped(0, NOW + 160, "victim")) and len(proofs._used) == 1
    assert proofs._by_key == {"victim": 1}


def test_a_full_memory_is_not_searched_for_each_request():
    """Looking through all of it costs time: once a second."""
    clock, walks = [NOW], []
    proofs = ProofChecker(RESOURCE, lambda: clock[0], Limits(max_proofs=3, max_proofs_per_key=3))
    forget = proofs._forget
    proofs._forget = lambda now, everywhere=False: walks.append(everywhere) or forget(now, everywhere)
    for number in range(10):
        try:
            proofs.use(stamped(number, NOW + 60))
        except AuthError:
            pass
    assert walks.count(True) == 1
    clock[0] += 1
    with pytest.raises(AuthError):
        proofs.use(stamped(10, NOW + 60))
    assert walks.count(True) == 2


def test_proofs_of_many_threads_are_each_good_once():
    proofs, together, taken = ProofChecker(RESOURCE, lambda: NOW), threading.Barrier(8), []

    def work():
        together.wait(WAIT)
        taken.extend(number for number in range(200) if proofs.use(stamped(number, NOW + 60)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert sorted(taken) == list(range(200)) and proofs._by_key == {"key": 200}


EVERY = HANDSHAKE[1:] + (STATELESS,)


def knock(door, scheme, token, prover=None):
    fields = {"Authorization": "%s %s" % (scheme, token)}
    if prover is not None:
        fields["DPoP"] = prover.proof("POST", RESOURCE, token)
    return door.knock(None, fields)


def told(reply):
    return {found.scheme: found.params for found in parse(reply.headers.get_all("WWW-Authenticate"))}


@pytest.mark.parametrize("revision", EVERY)
@pytest.mark.parametrize("dpop", [True, "required"])
def test_a_token_that_is_bound_to_a_key_takes_a_proof(revision, dpop):
    prover, thief = Prover(KEY, lambda: NOW), Prover(OTHER, lambda: NOW)
    with Door(revision, dpop=dpop, scopes="read") as door:
        door.tokens["bound"] = access(claims=BOUND)
        assert knock(door, "DPoP", "bound", prover).status == 200
        rows = [("DPoP", "bound", None, "invalid_dpop_proof"), ("DPoP", "bound", thief, "invalid_token"),
                ("DPoP", "good", prover, "invalid_token"), ("DPoP", "unknown", prover, "invalid_token")]
        rows += [("Bearer", "bound", prover, "invalid_token" if dpop is True else None)]
        for scheme, token, who, error in rows:
            refused = knock(door, scheme, token, who)
            assert refused.status == 401
            challenges = told(refused)
            assert list(challenges) == (["dpop"] if dpop == "required" else ["bearer", "dpop"])
            assert challenges["dpop"].get("error") == error and challenges["dpop"]["algs"] == "ES256 RS256"
            assert challenges["dpop"]["resource_metadata"] and challenges["dpop"]["scope"] == "read"
        assert knock(door, "Bearer", "good").status == (401 if dpop == "required" else 200)
        document = door.get(DOCUMENT).message
        assert document["dpop_signing_alg_values_supported"] == ["ES256", "RS256"]
        assert document.get("dpop_bound_access_tokens_required") is (True if dpop == "required" else None)


@pytest.mark.parametrize("revision", EVERY)
def test_nobody_can_have_the_proofs_of_others_forgotten(revision):
    """What is proved with another key than that of the token is not remembered; what is too much is told as that."""
    prover, thief = Prover(KEY, lambda: NOW), Prover(OTHER, lambda: NOW)
    with Door(revision, dpop=True, limits=Limits(max_proofs_per_key=2)) as door:
        door.tokens["bound"] = access(claims=BOUND)
        stolen = prover.proof("POST", RESOURCE, "bound")
        fields = {"Authorization": "DPoP bound", "DPoP": stolen}
        assert door.knock(None, fields).status == 200
        for _ in range(5):
            assert knock(door, "DPoP", "bound", thief).status == 401
        refused = door.knock(None, fields)
        assert refused.status == 401 and "used before" in told(refused)["dpop"]["error_description"]
        assert knock(door, "DPoP", "bound", prover).status == 200
        assert knock(door, "DPoP", "bound", prover).status == 503
        assert door.knock(None, fields).status == 401


def test_without_dpop_no_bound_token_is_taken():
    with Door(STATELESS) as door:
        door.tokens["bound"] = access(claims=BOUND)
        assert knock(door, "Bearer", "bound").status == knock(door, "DPoP", "bound").status == 401
    with pytest.raises(ValueError, match="dpop is False, True or"):
        ResourceServer(RESOURCE, ["https://a.example"], {}.get, dpop="yes")
