"""The keys of an authorization server (`mcp_ref/auth/jws.py`), which are fetched from a scripted one."""
import logging
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from mcp_ref.auth import jws
from mcp_ref.auth.fetch import Fetcher
from mcp_ref.auth.jose import Jwt, Signer, make_jwt, split_jwt
from mcp_ref.auth.jws import MAX_KEYS, KeySet, key_of, secret_key
from mcp_ref.errors import AuthError, DiscoveryFailed
from tests.conformance.es256 import Es256Signer
from tests.support.auth_server import AuthorizationServer
from tests.support.clocks import Clock, by_hand
from tests.support.patience import WAIT
from tests.support.rs256 import Rs256Signer
from tests.support.scripted_web import CUT, Reply, redirect, reply_html, reply_json


def named(signer: Signer, key_id: Optional[str]) -> Signer:
    """The same signer with a name for its key."""
    signer.key_id = key_id
    return signer


def published(signer: Signer, **more: Any) -> Dict[str, Any]:
    """The key as it stands in a set."""
    return {**signer.public_jwk, **({} if signer.key_id is None else {"kid": signer.key_id}), **more}


def token_of(signer: Signer, *header: Any) -> Jwt:
    """Some token of this signer."""
    return split_jwt(make_jwt(signer, {"sub": "ada"}, header))


OLD, NEW, OTHER = (named(Es256Signer(number), name) for number, name in ((11, "old"), (12, "new"), (13, "other")))
RSA = Rs256Signer("rsa")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return by_hand(monkeypatch)


@pytest.fixture
def issuing() -> Iterator[AuthorizationServer]:
    with AuthorizationServer() as server:
        server.keys = [published(OLD), published(RSA)]
        yield server


def key_set(issuing: AuthorizationServer, **more: Any) -> KeySet:
    """The keys of this server."""
    return KeySet(issuing.metadata["jwks_uri"], Fetcher(), **more)


def fetches(issuing: AuthorizationServer) -> int:
    """How often they were asked for."""
    return len(issuing.seen("/jwks"))


# --- keys at hand -----------------------------------------------------------------------------------------------------

def test_a_set_that_is_passed_asks_nobody() -> None:
    keys = KeySet({"keys": [published(OLD), published(RSA)]})
    assert keys.signed(token_of(OLD), "ES256") and keys.signed(token_of(RSA), "RS256")
    assert not keys.signed(token_of(NEW), "ES256") and not keys.signed(token_of(OLD), "RS256")


def test_one_key_alone_is_a_set() -> None:
    assert KeySet(published(OLD)).signed(token_of(OLD), "ES256")
    assert KeySet.of(key_of(published(OLD))).signed(token_of(OLD), "ES256")


@pytest.mark.parametrize("source, words", [
    ({}, "list of objects"), ({"keys": None}, "list of objects"), ({"keys": [1]}, "list of objects"),
    ({"keys": {"kty": "EC"}}, "list of objects"), ({"keys": [{"kty": "EC"}]}, "P-256"), ({"kty": "what"}, "kind"),
    ({"keys": [{}] * (MAX_KEYS + 1)}, "at most 100"),
])
def test_a_set_that_is_passed_must_be_whole(source: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        KeySet(source)


def test_the_name_in_the_token_chooses_the_key() -> None:
    keys = KeySet({"keys": [published(named(Es256Signer(11), "a")), published(named(Es256Signer(12), "b"))]})
    for number, name, good in ((11, "a", True), (12, "b", True), (11, "b", False), (12, "a", False), (11, "c", False),
                               (11, "", False), (11, None, True), (12, None, True), (13, None, False)):
        assert keys.signed(token_of(named(Es256Signer(number), name)), "ES256") is good, (number, name)


@pytest.mark.parametrize("name", [7, True, [], ["old"], {}, {"kid": "old"}])
def test_a_name_that_is_no_text_is_nobodys(name: Any) -> None:
    assert not KeySet(published(OLD)).signed(token_of(Es256Signer(11), ("kid", name)), "ES256")


def test_a_key_without_a_name_may_be_any() -> None:
    keys = KeySet({"keys": [Es256Signer(11).public_jwk, Es256Signer(12).public_jwk]})
    assert keys.signed(token_of(OLD), "ES256") and keys.signed(token_of(NEW), "ES256")
    assert not keys.signed(token_of(OTHER), "ES256")


def test_only_so_many_keys_are_tried() -> None:
    many = [Es256Signer(number).public_jwk for number in range(21, 30)]
    keys = KeySet({"keys": many})
    assert keys.signed(token_of(Es256Signer(28)), "ES256") and not keys.signed(token_of(Es256Signer(29)), "ES256")


def test_keys_in_the_token_itself_are_not_looked_at() -> None:
    jwk = OTHER.public_jwk
    header = [("jwk", jwk), ("jku", "https://evil.example/jwks"), ("x5u", "https://evil.example/"), ("x5c", ["AAAA"])]
    assert not KeySet(published(OLD)).signed(token_of(OTHER, *header), "ES256")
    assert not KeySet(published(OLD)).signed(token_of(Es256Signer(13), *header), "ES256")


# --- fetching ---------------------------------------------------------------------------------------------------------

def test_keys_are_fetched_with_the_first_token_and_kept(issuing: AuthorizationServer, clock: Clock) -> None:
    keys = key_set(issuing)
    assert fetches(issuing) == 0
    for _ in range(3):
        assert keys.signed(token_of(OLD), "ES256") and keys.signed(token_of(RSA), "RS256")
        clock.now += 100
    assert fetches(issuing) == 1


def test_a_new_key_is_found_by_its_name(issuing: AuthorizationServer, clock: Clock) -> None:
    keys = key_set(issuing)
    assert keys.signed(token_of(OLD), "ES256")
    issuing.keys.append(published(NEW))
    clock.now += 30.0
    assert keys.signed(token_of(NEW), "ES256") and keys.signed(token_of(OLD), "ES256")
    assert fetches(issuing) == 2


def test_made_up_names_do_not_make_it_ask_again_and_again(issuing: AuthorizationServer, clock: Clock) -> None:
    keys = key_set(issuing)
    assert keys.signed(token_of(OLD), "ES256")
    clock.now += 29.9
    for number in range(20):
        assert not keys.signed(token_of(named(Es256Signer(14), "made up %d" % number)), "ES256")
        assert not keys.signed(token_of(Es256Signer(14)), "ES256")
    assert fetches(issuing) == 1
    clock.now += 0.2
    for number in range(20):
        assert not keys.signed(token_of(named(Es256Signer(14), "made up %d" % number)), "ES256")
    assert fetches(issuing) == 2


def test_a_wrong_signature_under_a_known_name_asks_nobody(issuing: AuthorizationServer, clock: Clock) -> None:
    keys = key_set(issuing)
    assert keys.signed(token_of(OLD), "ES256")
    clock.now += 60.0
    assert not keys.signed(token_of(named(Es256Signer(12), "old")), "ES256") and fetches(issuing) == 1


def test_keys_without_names_rotate_too(issuing: AuthorizationServer, clock: Clock) -> None:
    issuing.keys = [Es256Signer(11).public_jwk]
    keys = key_set(issuing)
    assert keys.signed(token_of(Es256Signer(11)), "ES256")
    issuing.keys = [Es256Signer(12).public_jwk]
    clock.now += 30.0
    assert keys.signed(token_of(Es256Signer(12)), "ES256")
    assert not keys.signed(token_of(Es256Signer(11)), "ES256")


def test_a_key_that_is_withdrawn_goes(issuing: AuthorizationServer, clock: Clock) -> None:
    keys = key_set(issuing, lifetime=600.0)
    assert keys.signed(token_of(OLD), "ES256")
    issuing.keys = [published(NEW)]
    clock.now += 599.0
    assert keys.signed(token_of(OLD), "ES256")
    clock.now += 1.0
    assert not keys.signed(token_of(OLD), "ES256") and keys.signed(token_of(NEW), "ES256")
    assert fetches(issuing) == 2


FAILURES: List[Callable[[Any], Reply]] = [
    lambda asked: reply_json({}, 500), lambda asked: reply_html(404), lambda asked: reply_html(),
    lambda asked: reply_json([]), lambda asked: reply_json({}), lambda asked: reply_json({"keys": "none"}),
    lambda asked: reply_json({"keys": [{}] * 101}), lambda asked: CUT, lambda asked: redirect("file:///etc/passwd"),
    lambda asked: redirect("http://127.0.0.1:9/jwks"), lambda asked: Reply(200, (), b"x" * 2**20 + b"x"),
    lambda asked: reply_json({"keys": []}, 201),
]


@pytest.mark.parametrize("number", range(len(FAILURES)))
def test_a_fetch_that_fails(number: int, issuing: AuthorizationServer, clock: Clock,
                            caplog: pytest.LogCaptureFixture) -> None:
    """Without keys there is no answer; with keys, these serve for a while; and nobody is asked more often for it."""
    issuing.answers["/jwks"] = FAILURES[number]
    keys = key_set(issuing, lifetime=600.0)
    for _ in range(3):
        with pytest.raises(DiscoveryFailed, match="there are no keys to check tokens with: ."):
            keys.signed(token_of(OLD), "ES256")
    assert fetches(issuing) == 1 and "could not be fetched" in caplog.text
    del issuing.answers["/jwks"]
    clock.now += 30.0
    assert keys.signed(token_of(OLD), "ES256")
    issuing.answers["/jwks"] = FAILURES[number]
    clock.now += 1199.0
    assert keys.signed(token_of(OLD), "ES256") and keys.signed(token_of(RSA), "RS256")
    assert fetches(issuing) == 3
    clock.now += 1.0
    with pytest.raises(DiscoveryFailed):
        keys.signed(token_of(OLD), "ES256")


def test_keys_that_cannot_be_read_are_left_out(issuing: AuthorizationServer, caplog: pytest.LogCaptureFixture) -> None:
    issuing.keys = [{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}, {}, {"kty": "RSA", "n": "AQAB", "e": "AQAB"},
                    published(NEW, use="enc"), published(OLD), {**OTHER.public_jwk, "y": OLD.public_jwk["y"]}]
    with caplog.at_level(logging.WARNING, "mcp_ref"):
        assert key_set(issuing).signed(token_of(OLD), "ES256")
    assert [line.getMessage().partition(":")[0] for line in caplog.records] == [
        "key %d of the set is left out" % number for number in (0, 1, 2, 3, 5)]


def test_what_is_published_is_no_secret(issuing: AuthorizationServer) -> None:
    from mcp_ref.auth.jose import HmacSigner, b64url

    secret = b"s" * 32
    issuing.keys = [{"kty": "oct", "k": b64url(secret)}, published(OLD)]
    assert not key_set(issuing).signed(token_of(HmacSigner(secret)), "HS256")
    assert KeySet.of(secret_key(secret)).signed(token_of(HmacSigner(secret)), "HS256")


def test_the_place_of_the_keys_may_be_found_out_each_time(issuing: AuthorizationServer, clock: Clock) -> None:
    asked: List[str] = []

    def place() -> str:
        asked.append("asked")
        if len(asked) == 1:
            raise AuthError("not now")
        return str(issuing.metadata["jwks_uri"])

    keys = KeySet(place)
    with pytest.raises(DiscoveryFailed, match="not now"):
        keys.signed(token_of(OLD), "ES256")
    clock.now += 30.0
    assert keys.signed(token_of(OLD), "ES256") and len(asked) == 2


@pytest.mark.parametrize("url", ["http://example.com/jwks", "file:///etc/passwd", "https://u:p@example.com/", "jwks"])
def test_a_place_that_must_not_be_asked(url: str) -> None:
    with pytest.raises(ValueError, match="URL of the keys"):
        KeySet(url)
    with pytest.raises(DiscoveryFailed):
        KeySet(lambda: url).signed(token_of(OLD), "ES256")


@pytest.mark.race
def test_many_threads_make_one_fetch(issuing: AuthorizationServer) -> None:
    gate = issuing.gate()

    def slowly(asked: Any) -> Reply:
        gate.passing()
        return reply_json({"keys": issuing.keys})

    issuing.answers["/jwks"] = slowly
    keys, said = key_set(issuing), []
    threads = [threading.Thread(target=lambda: said.append(keys.signed(token_of(OLD), "ES256"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    gate.wait_arrived()
    gate.open()
    for thread in threads:
        thread.join(WAIT)
    assert said == [True] * 8 and fetches(issuing) == 1


@pytest.mark.race
def test_who_has_a_known_key_does_not_wait_for_a_fetch(issuing: AuthorizationServer, clock: Clock) -> None:
    keys = key_set(issuing)
    assert keys.signed(token_of(OLD), "ES256")
    gate, said = issuing.gate(), []

    def slowly(asked: Any) -> Reply:
        gate.passing()
        return reply_json({"keys": [published(OLD), published(NEW)]})

    issuing.answers["/jwks"] = slowly
    clock.now += 30.0
    thread = threading.Thread(target=lambda: said.append(keys.signed(token_of(NEW), "ES256")))
    thread.start()
    gate.wait_arrived()
    assert keys.signed(token_of(OLD), "ES256") and not said
    gate.open()
    thread.join(WAIT)
    assert said == [True]


@pytest.mark.race
def test_no_more_than_so_many_threads_wait(issuing: AuthorizationServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jws, "MAX_WAITING", 0)
    gate, said = issuing.gate(), []

    def slowly(asked: Any) -> Reply:
        gate.passing()
        return reply_json({"keys": issuing.keys})

    issuing.answers["/jwks"] = slowly
    keys = key_set(issuing)
    thread = threading.Thread(target=lambda: said.append(keys.signed(token_of(OLD), "ES256")))
    thread.start()
    gate.wait_arrived()
    with pytest.raises(DiscoveryFailed, match="being fetched"):
        keys.signed(token_of(OLD), "ES256")
    gate.open()
    thread.join(WAIT)
    assert said == [True] and keys.signed(token_of(OLD), "ES256")


def test_an_interrupted_fetch_does_not_lock_others_out(clock: Clock, issuing: AuthorizationServer) -> None:
    first = [True]

    def place() -> str:
        if first.pop() if first else False:
            raise KeyboardInterrupt
        return str(issuing.metadata["jwks_uri"])

    keys = KeySet(place)
    with pytest.raises(KeyboardInterrupt):
        keys.signed(token_of(OLD), "ES256")
    clock.now += 30.0
    assert keys.signed(token_of(OLD), "ES256")
