"""What stands between requests and a grant: one authorization for all, renewal, step-up, another server."""
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Iterator, List, Optional, Tuple

import pytest

from mcp_ref.auth import FileStore, MemoryStore, OAuth
from mcp_ref.auth.client.oauth_session import OAuthSession
from mcp_ref.auth.jose import Signer, split_jwt
from mcp_ref.errors import AuthError, DiscoveryFailed, InsufficientScope, TokenRefused, Unauthorized
from mcp_ref.http11.client.connect import Abandoned
from mcp_ref.http11.message import Headers
from mcp_ref.streamable.client.auth_provider import CancelScope, AuthRefusal
from tests.support.auth_server import OUT, REFRESH, ProtectedServer, Refusal as Refused, browser
from tests.support.authorized import BOUNDED, Authorized
from tests.support.patience import WAIT
from tests.support.scripted_web import Asked, Reply, reply_html, reply_json

REVISION = "2026-07-28"


class Requests:
    """Requests to a protected server as a transport makes them, but for HTTP."""

    def __init__(self, scene: Authorized, grant: Any = None, **options: Any) -> None:
        self.scene = scene
        self.grant = grant or scene.oauth(**options)
        self.url = scene.protected.url
        self.session = self.grant.authorizer(self.url, limits=BOUNDED)
        self.needs: List[str] = []
        self.challenge = "Bearer"
        self.refusals = 0

    def send(self, cancel_scope: Optional[CancelScope] = None, before: Callable[[], Any] = lambda: None) -> str:
        """One request until it is let in; the token that did it. ``before``: called after each refusal."""
        cancel_scope = cancel_scope or CancelScope()
        for tries in range(BOUNDED.max_authorizations + 1):
            fields = self.session.fields("POST", self.url, cancel_scope)
            token = dict(fields).get("Authorization", "").partition(" ")[2]
            refused = self._refused(token)
            if refused is None:
                return token
            self.refusals += 1
            before()
            refusal = AuthRefusal(refused[0], (refused[1],), Headers(), "POST", self.url, fields, REVISION, tries)
            if not self.session.refused(refusal, cancel_scope):
                raise Unauthorized("the refusal stands")
        raise Unauthorized("refused for ever")

    def _refused(self, token: str) -> Optional[Tuple[int, str]]:
        claims = next((one.tokens[token] for one in self.scene.protected.issuing if token in one.tokens), None)
        if claims is None:
            return 401, self.challenge
        if not set(self.needs) <= set(claims["scope"].split()):
            return 403, 'Bearer error="insufficient_scope", scope="%s"' % " ".join(self.needs)
        return None


@pytest.fixture
def scene() -> Iterator[Authorized]:
    with Authorized(REVISION) as made:
        yield made


def at_once(count: int, call: Callable[[Callable[[], Any]], Any]) -> "List[Future[Any]]":
    """Calls on as many threads; each gets a barrier to wait at."""
    barrier = threading.Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        return [pool.submit(call, lambda: barrier.wait(WAIT)) for _ in range(count)]


# --- one flight

@pytest.mark.race
def test_many_requests_that_are_refused_at_once_make_one_authorization(scene: Authorized) -> None:
    requests = Requests(scene)
    tokens = {each.result() for each in at_once(8, lambda wait: requests.send(before=wait))}
    assert len(tokens) == 1 and scene.authorizations() == 1 and scene.issuing.grants() == ["authorization_code"]
    assert len(scene.issuing.seen("/register")) == 1 and requests.refusals == 8


@pytest.mark.race
def test_many_requests_that_are_refused_at_once_make_one_renewal(scene: Authorized) -> None:
    requests = Requests(scene)
    requests.send()
    scene.issuing.revoke()
    tokens = {each.result() for each in at_once(8, lambda wait: requests.send(before=wait))}
    assert len(tokens) == 1 and scene.issuing.grants() == ["authorization_code", REFRESH]


@pytest.mark.race
def test_many_requests_near_the_end_of_a_token_make_one_renewal(scene: Authorized) -> None:
    requests = Requests(scene)
    old = requests.send()
    scene.clock.advance(3580)

    def begin(wait: Callable[[], Any]) -> str:
        wait()
        return requests.send()

    tokens = {each.result() for each in at_once(8, begin)}
    assert len(tokens) == 1 and old not in tokens and requests.refusals == 1
    assert scene.issuing.grants() == ["authorization_code", REFRESH]


def test_a_refusal_of_an_older_token_needs_nothing_but_the_newer_one(scene: Authorized) -> None:
    requests = Requests(scene)
    token, asked = requests.send(), len(scene.issuing.seen())
    for fields in ((), (("Authorization", "Bearer older"),)):
        refusal = AuthRefusal(401, ("Bearer",), Headers(), "POST", requests.url, fields, REVISION, 0)
        assert requests.session.refused(refusal, CancelScope())
    assert len(scene.issuing.seen()) == asked
    assert requests.send() == token and scene.authorizations() == 1


def test_the_clients_of_one_grant_share_their_tokens(scene: Authorized) -> None:
    grant = scene.oauth()
    assert Requests(scene, grant).session is Requests(scene, grant).session
    assert grant.authorizer(scene.protected.url + "2") is not Requests(scene, grant).session
    assert Requests(scene, grant).send() == Requests(scene, grant).send() and scene.authorizations() == 1


class Slow:
    """A person who takes their time."""

    def __init__(self) -> None:
        self.asked, self.answers = threading.Event(), threading.Event()
        self.urls: List[str] = []

    def __call__(self, url: str) -> str:
        self.urls.append(url)
        self.asked.set()
        assert self.answers.wait(WAIT)
        return browser(url)


def test_a_request_that_is_given_up_does_not_end_the_authorization_of_others(scene: Authorized) -> None:
    slow, cancel_scope = Slow(), CancelScope()
    requests = Requests(scene, authorize=slow)
    both = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        gives_up = pool.submit(requests.send, cancel_scope, lambda: both.wait(WAIT))
        stays = pool.submit(requests.send, None, lambda: both.wait(WAIT))
        assert slow.asked.wait(WAIT)
        cancel_scope.cancel()
        with pytest.raises(Abandoned):
            gives_up.result(WAIT)
        slow.answers.set()
        assert stays.result(WAIT) in scene.issuing.tokens and len(slow.urls) == 1


def test_while_a_person_is_asked_the_request_stands_still(scene: Authorized) -> None:
    slow, cancel_scope = Slow(), CancelScope()
    still: List[bool] = []
    stands = threading.Event()
    cancel_scope.on_pause = lambda begins: (still.append(begins), stands.set())[0]
    requests = Requests(scene, authorize=slow)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(requests.send, cancel_scope)
        assert stands.wait(WAIT) and slow.asked.wait(WAIT) and still == [True]
        slow.answers.set()
        sent.result(WAIT)
    assert still == [True, False]


def test_a_listener_ends_when_nobody_waits_any_more(scene: Authorized) -> None:
    shown, cancel_scope = threading.Event(), CancelScope()
    requests = Requests(scene, authorize=None, open_browser=lambda url: shown.set())
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(requests.send, cancel_scope)
        assert shown.wait(WAIT)
        cancel_scope.cancel()
        with pytest.raises(Abandoned):
            sent.result(WAIT)
    for thread in threading.enumerate():
        if thread.name == "mcp-ref:authorize":
            thread.join(WAIT)
            assert not thread.is_alive()


def test_what_a_person_refuses_is_refused_to_all_and_may_be_asked_again(scene: Authorized) -> None:
    scene.issuing.error = Refused("access_denied", "not today")
    requests = Requests(scene)
    for each in at_once(4, lambda wait: requests.send(before=wait)):
        with pytest.raises(TokenRefused, match="not today"):
            each.result()
    assert scene.authorizations() == 1
    assert requests.session._flight is None, "nothing keeps the error alive"  # type: ignore[attr-defined]
    scene.issuing.error = None
    assert requests.send() in scene.issuing.tokens and scene.authorizations() == 2


def test_a_failure_of_a_step_up_is_not_that_of_other_requests(scene: Authorized) -> None:
    asked, joined = threading.Event(), threading.Event()

    def authorize(url: str) -> str:
        if "scope=a" not in url:
            return browser(url)
        asked.set()
        assert joined.wait(WAIT)
        raise TokenRefused("not a", "access_denied")

    first = Requests(scene, authorize=authorize)
    first.send()
    second = Requests(scene, first.grant)
    first.needs, second.needs = ["a"], ["b"]
    cancel_scope = CancelScope()
    cancel_scope.on_pause = lambda begins: joined.set()
    with ThreadPoolExecutor(2) as pool:
        fails = pool.submit(first.send)
        assert asked.wait(WAIT)
        works = pool.submit(second.send, cancel_scope)
        with pytest.raises(TokenRefused, match="not a"):
            fails.result(WAIT)
        assert works.result(WAIT) in scene.issuing.tokens


# --- renewal

def test_refresh_tokens_rotate(scene: Authorized) -> None:
    requests = Requests(scene)
    requests.send()
    for _ in range(3):
        scene.issuing.revoke()
        requests.send()
    shown = [asked.form["refresh_token"] for asked in scene.issuing.seen("/token") if "refresh_token" in asked.form]
    assert len(set(shown)) == len(shown) == 3 and scene.authorizations() == 1
    assert scene.posted()["resource"] == scene.protected.url and "scope" not in scene.posted()


def test_a_refresh_token_that_is_not_replaced_stays(scene: Authorized) -> None:
    def without(asked: Asked) -> Optional[Reply]:
        if asked.form["grant_type"] != REFRESH:
            return None
        scene.issuing.refresh_tokens[asked.form["refresh_token"]] = claims
        return reply_json({"access_token": token, "token_type": "Bearer"})

    requests = Requests(scene)
    token = requests.send()
    claims = dict(scene.issuing.tokens[token])
    scene.issuing.answers["/token"] = without
    for number in range(2):
        scene.issuing.revoke()
        token = "token-again-%d" % number
        scene.issuing.tokens[token] = claims
        assert requests.send() == token
    first, second = (asked.form["refresh_token"] for asked in scene.issuing.seen("/token")[1:])
    assert first == second


@pytest.mark.parametrize("error", ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_target", "x"])
def test_a_refresh_token_that_is_refused_leads_to_a_new_authorization(scene: Authorized, error: str) -> None:
    requests = Requests(scene)
    requests.send()
    scene.issuing.revoke()
    scene.issuing.answers["/token"] = \
        lambda asked: reply_json({"error": error}, 400) if asked.form["grant_type"] == REFRESH else None
    assert requests.send() in scene.issuing.tokens
    assert scene.authorizations() == 2 and scene.issuing.grants().count(REFRESH) == 1
    assert len(scene.issuing.seen("/register")) == (2 if error in ("invalid_client", "unauthorized_client") else 1)


def test_a_refresh_token_that_was_refused_is_not_shown_again(scene: Authorized) -> None:
    requests = Requests(scene)
    requests.send()
    scene.issuing.revoke_all()
    scene.issuing.error = Refused("access_denied")
    for _ in range(2):
        with pytest.raises(TokenRefused, match="access_denied"):
            requests.send()
    assert scene.issuing.grants().count(REFRESH) == 1 and scene.authorizations() == 3


def test_a_refresh_token_of_another_registration_is_not_shown(scene: Authorized) -> None:
    store = MemoryStore()
    requests = Requests(scene, store=store)
    requests.send()
    scene.issuing.revoke()
    record = dict(store.get("client", scene.issuing.issuer) or {}, client_id="other")
    store.set("client", scene.issuing.issuer, record)
    scene.issuing.add_client("other")
    requests.send()
    assert scene.issuing.grants() == ["authorization_code"] * 2 and scene.posted()["client_id"] == "other"


def test_a_renewed_token_that_is_refused_is_not_renewed_again(scene: Authorized) -> None:
    requests = Requests(scene)
    requests.send()
    scene.issuing.revoke()
    real = scene.issuing.issue

    def issue(claims: Any) -> Any:
        made = real(claims)
        if scene.issuing.grants()[-1] == REFRESH:
            scene.issuing.revoke()
        return made

    scene.issuing.issue = issue  # type: ignore[method-assign]
    assert requests.send() in scene.issuing.tokens
    assert scene.issuing.grants() == ["authorization_code", REFRESH, "authorization_code"]


def test_a_challenge_that_wants_more_than_the_token_has_is_not_met_by_renewing_it(scene: Authorized) -> None:
    requests = Requests(scene)
    requests.challenge = 'Bearer scope="a"'
    requests.send()
    scene.issuing.revoke()
    requests.challenge = 'Bearer scope="a b"'
    requests.send()
    assert scene.issuing.grants() == ["authorization_code"] * 2 and scene.asked()["scope"] == "a b"


@pytest.mark.parametrize("broken", [
    lambda asked: reply_html(503), lambda asked: reply_json({"error": "temporarily_unavailable"}, 400),
    lambda asked: reply_json({"error": "server_error"}, 500), lambda asked: Reply(0),
])
def test_a_renewal_that_fails_for_now_asks_no_person(scene: Authorized, broken: Any) -> None:
    requests = Requests(scene)
    requests.send()
    scene.issuing.revoke()
    scene.issuing.answers["/token"] = broken
    with pytest.raises(AuthError):
        requests.send()
    del scene.issuing.answers["/token"]
    assert requests.send() in scene.issuing.tokens
    assert scene.authorizations() == 1 and scene.issuing.grants()[-1] == REFRESH


@pytest.mark.parametrize("broken", [
    lambda asked: reply_html(503), lambda asked: reply_json({"error": "invalid_grant"}, 400),
])
def test_an_early_renewal_that_fails_leaves_the_token_as_it_is(scene: Authorized, broken: Any) -> None:
    requests = Requests(scene)
    token = requests.send()
    scene.issuing.answers["/token"] = broken
    scene.clock.advance(3580)
    assert [requests.send() for _ in range(3)] == [token] * 3
    assert scene.issuing.grants().count(REFRESH) == 1


def test_without_a_refresh_token_the_token_serves_to_its_end(scene: Authorized) -> None:
    scene.issuing.refreshes = False
    requests = Requests(scene)
    token = requests.send()
    scene.clock.advance(3599)
    assert requests.send() == token
    scene.issuing.revoke()
    assert requests.send() != token and scene.authorizations() == 2


def test_while_a_person_is_asked_for_more_the_old_token_serves(scene: Authorized) -> None:
    slow = Slow()
    slow.answers.set()
    requests = Requests(scene, authorize=slow)
    token = requests.send()
    slow.asked.clear()
    slow.answers.clear()
    more = Requests(scene, requests.grant)
    more.needs = ["write"]
    with ThreadPoolExecutor(1) as pool:
        widening = pool.submit(more.send)
        assert slow.asked.wait(WAIT)
        scene.clock.advance(3580)
        assert requests.send() == token
        slow.answers.set()
        assert widening.result(WAIT) != token


def test_a_token_that_is_refused_as_soon_as_it_is_issued_is_no_loop(scene: Authorized) -> None:
    scene.issuing.mint = lambda claims: "never"
    requests = Requests(scene)
    real = scene.issuing.issue

    def issue(claims: Any) -> Any:
        made = real(claims)
        scene.issuing.tokens.clear()
        return made

    scene.issuing.issue = issue  # type: ignore[method-assign]
    with pytest.raises(Unauthorized, match="refuses a token"):
        requests.send()
    assert scene.authorizations() == 1


def test_a_token_that_is_made_good_again_is_used_again(scene: Authorized) -> None:
    scene.issuing.mint = lambda claims: "always-the-same"
    requests = Requests(scene)
    requests.send()
    scene.issuing.revoke()
    assert requests.send() == "always-the-same" and scene.issuing.grants() == ["authorization_code", REFRESH]


# --- step-up

def test_step_up_asks_for_the_union_and_a_refusal_after_it_is_final(scene: Authorized) -> None:
    requests = Requests(scene)
    requests.needs = []
    scene.protected.document["scopes_supported"] = ["read"]
    requests.send()
    requests.needs = ["write"]
    requests.send()
    assert [asked.query.get("scope") for asked in scene.issuing.seen("/authorize")] == ["read", "read write"]
    scene.issuing.granted = lambda scope: "read write"
    requests.needs = ["admin"]
    with pytest.raises(InsufficientScope, match="admin") as raised:
        requests.send()
    assert raised.value.scopes == ["admin"] and scene.asked()["scope"] == "read write admin"
    with pytest.raises(InsufficientScope):
        requests.send()
    assert scene.authorizations() == 3, "not asked for once more"
    scene.clock.advance(3580)
    requests.needs = ["read"]
    requests.send()
    requests.needs = ["admin"]
    with pytest.raises(InsufficientScope):
        requests.send()
    assert scene.authorizations() == 3, "nor after a renewal"


@pytest.mark.parametrize("refused", [(401, "Bearer"), (403, 'Bearer error="insufficient_scope", scope="write"')])
def test_who_comes_just_after_an_authorization_has_ended_uses_it(
    scene: Authorized, monkeypatch: pytest.MonkeyPatch, refused: Tuple[int, str],
) -> None:
    requests = Requests(scene)
    requests.send()
    fields = requests.session.fields("POST", requests.url, CancelScope())
    if refused[0] == 401:
        scene.issuing.revoke()
    else:
        requests.needs = ["write"]
    requests.send()
    asked = len(scene.issuing.seen("/token")), scene.authorizations()
    looks = iter([False])
    real = requests.session._has_usable_token  # type: ignore[attr-defined]
    monkeypatch.setattr(requests.session, "_has_usable_token",  # type: ignore[attr-defined]
                        lambda *attempt: next(looks, None) is not False and real(*attempt))
    refusal = AuthRefusal(refused[0], (refused[1],), Headers(), "POST", requests.url, fields, REVISION, 0)
    assert requests.session.refused(refusal, CancelScope())
    assert (len(scene.issuing.seen("/token")), scene.authorizations()) == asked


def test_what_was_asked_for_before_is_asked_for_again(scene: Authorized) -> None:
    requests = Requests(scene)
    requests.send()
    requests.needs = ["write"]
    requests.send()
    scene.issuing.revoke_all()
    requests.needs = []
    requests.send()
    assert scene.asked()["scope"] == "write"


@pytest.mark.parametrize(("status", "challenge"), [
    (403, "Bearer"), (403, 'Bearer error="invalid_token"'), (403, 'Basic error="insufficient_scope"'), (403, ""),
    (400, 'Bearer error="insufficient_scope"'), (404, ""),
])
def test_other_refusals_stand(scene: Authorized, status: int, challenge: str) -> None:
    requests = Requests(scene)
    requests.send()
    fields = requests.session.fields("POST", requests.url, CancelScope())
    refusal = AuthRefusal(status, (challenge,), Headers(), "POST", requests.url, fields, REVISION, 0)
    assert not requests.session.refused(refusal, CancelScope()) and scene.authorizations() == 1


# --- another authorization server

def test_after_a_change_of_the_authorization_server_all_begins_anew(scene: Authorized) -> None:
    second = scene.more()
    requests = Requests(scene)
    scene.issuing.granted = lambda scope: "old"
    first_token = requests.send()
    first_client, first_refresh = scene.posted()["client_id"], list(scene.issuing.refresh_tokens)
    scene.protected.migrate(second)
    token = requests.send()
    assert token in second.tokens and token != first_token
    assert len(second.seen("/register")) == 1 and "scope" not in second.seen("/authorize")[0].query
    said = "".join(asked.target + asked.body.decode() for asked in second.seen())
    assert first_client not in said and first_token not in said and not any(each in said for each in first_refresh)
    assert scene.issuing.grants() == ["authorization_code"], "and the first is not asked again"
    scene.protected.migrate(scene.issuing)
    requests.send()
    assert len(scene.issuing.seen("/register")) == 1, "the first registration still holds there"


def test_the_token_of_the_first_server_is_not_sent_once_it_is_known_not_to_be_right(scene: Authorized) -> None:
    second = scene.more()
    requests = Requests(scene)
    requests.send()
    scene.protected.migrate(second)
    second.error = Refused("access_denied")
    with pytest.raises(TokenRefused):
        requests.send()
    assert requests.session.fields("POST", requests.url, CancelScope()) == ()


# --- the store

@pytest.mark.parametrize("kind", ["memory", "file"])
def test_the_next_run_goes_on_with_what_is_in_the_store(scene: Authorized, kind: str, tmp_path: Any) -> None:
    store: Any = MemoryStore() if kind == "memory" else FileStore(tmp_path / "t")
    token = Requests(scene, store=store).send()
    assert Requests(scene, store=store).send() == token and scene.authorizations() == 1
    scene.clock.advance(4000)
    scene.issuing.revoke()
    later = Requests(scene, store=store)
    assert later.send() not in ("", token) and later.refusals == 1
    assert scene.authorizations() == 1 and scene.issuing.grants()[-1] == REFRESH
    assert len(scene.issuing.seen("/register")) == 1


@pytest.mark.race
def test_two_grants_of_one_store_do_not_show_the_same_refresh_token(scene: Authorized) -> None:
    store, both = MemoryStore(), threading.Barrier(2)
    one, two = (Requests(scene, store=store) for _ in range(2))
    assert one.send() == two.send()
    scene.issuing.revoke()
    with ThreadPoolExecutor(2) as pool:
        sent = [pool.submit(each.send, None, lambda: both.wait(WAIT)) for each in (one, two)]
        assert sent[0].result(WAIT) == sent[1].result(WAIT)
    assert scene.issuing.grants().count(REFRESH) == 1 and scene.authorizations() == 1


def test_a_token_that_another_program_has_renewed_is_taken(scene: Authorized, tmp_path: Any) -> None:
    one, two = (Requests(scene, store=FileStore(tmp_path / "t")) for _ in range(2))
    assert one.send() == two.send()
    scene.issuing.revoke()
    token = one.send()
    assert two.send() == token and two.refusals == 1
    assert scene.issuing.grants() == ["authorization_code", REFRESH]
    scene.clock.advance(3580)
    assert one.send() == two.send() != token
    assert scene.issuing.grants().count(REFRESH) == 2 and scene.authorizations() == 1


def test_a_token_that_another_program_has_got_is_taken(scene: Authorized, tmp_path: Any) -> None:
    scene.issuing.refreshes = False
    one, two = (Requests(scene, store=FileStore(tmp_path / "t")) for _ in range(2))
    assert one.send() == two.send()
    scene.issuing.revoke()
    assert one.send() == two.send() and scene.authorizations() == 2


def test_a_broken_store_is_reported_before_anybody_is_asked(scene: Authorized, tmp_path: Any) -> None:
    (tmp_path / "t").write_text("{")
    (tmp_path / "t").chmod(0o600)
    with pytest.raises(AuthError, match="cannot be understood"):
        Requests(scene, store=FileStore(tmp_path / "t")).send()
    assert scene.authorizations() == 0


def test_tokens_of_different_clients_are_kept_apart(scene: Authorized) -> None:
    store = MemoryStore()
    for name in ("one", "two"):
        scene.issuing.add_client(name)
        Requests(scene, grant=scene.oauth(client_id=name, issuer=scene.issuing.issuer, store=store)).send()
    assert [asked.form["client_id"] for asked in scene.issuing.seen("/token")] == ["one", "two"]


# --- where tokens go

def test_tokens_go_to_the_origin_of_the_server_only(scene: Authorized) -> None:
    requests = Requests(scene)
    token = requests.send()
    with ProtectedServer(scene.issuing) as other:
        for url in (other.url, "https://mcp.example/mcp", requests.url.replace("127.0.0.1", "localhost")):
            assert requests.session.fields("POST", url, CancelScope()) == ()
            refusal = AuthRefusal(401, ("Bearer",), Headers(), "POST", url, (), REVISION, 0)
            assert not requests.session.refused(refusal, CancelScope())
    fields = dict(requests.session.fields("GET", requests.url + "?x=y", CancelScope()))
    assert fields == {"Authorization": "Bearer " + token}


@pytest.mark.parametrize("url", ["http://mcp.example/mcp", "ftp://localhost/", "https://u:p@mcp.example/", "mcp", ""])
def test_no_token_goes_to_a_url_that_is_not_safe(url: str) -> None:
    with pytest.raises(DiscoveryFailed):
        OAuth().authorizer(url)
    assert isinstance(OAuth().authorizer("https://mcp.example/mcp"), OAuthSession)


# --- DPoP

class Key(Signer):
    """Signs nothing in earnest; the scripted server does not look."""

    alg = "ES256"
    public_jwk = {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}

    def sign(self, data: bytes) -> bytes:
        return b"0" * 64


def test_a_nonce_of_the_server_is_used_once_it_is_known(scene: Authorized) -> None:
    requests = Requests(scene, dpop=Key())
    token = requests.send()
    assert scene.issuing.tokens[token]["cnf"]
    fields = requests.session.fields("POST", requests.url, CancelScope())
    assert dict(fields)["Authorization"] == "DPoP " + token and "DPoP" in dict(fields)
    challenge = 'DPoP error="use_dpop_nonce"'
    nonce = Headers([("DPoP-Nonce", "n-1")])
    refusal = AuthRefusal(401, (challenge,), nonce, "POST", requests.url, fields, REVISION, 0)
    assert requests.session.refused(refusal, CancelScope()) and scene.issuing.grants() == ["authorization_code"]
    proofs = {dict(requests.session.fields("POST", requests.url, CancelScope()))["DPoP"] for _ in range(3)}
    assert len(proofs) == 3


def test_the_nonce_of_any_answer_is_used_from_then_on(scene: Authorized) -> None:
    """[RFC 9449 §8.2]"""
    requests = Requests(scene, dpop=Key())
    requests.send()

    def nonce() -> Any:
        return split_jwt(dict(requests.session.fields("POST", requests.url, CancelScope()))["DPoP"]).claims.get("nonce")

    assert nonce() is None
    for sent, expected in [(["n-1"], "n-1"), ([], "n-1"), (["n-2"], "n-2"), (["a b\x00"], "n-2"), (["x", "y"], "n-2")]:
        requests.session.answered(requests.url, Headers([("DPoP-Nonce", each) for each in sent]))
        assert nonce() == expected
    requests.session.answered("https://elsewhere.example/", Headers([("DPoP-Nonce", "n-3")]))
    assert nonce() == "n-2"


def test_tokens_from_before_are_used_only_if_they_are_bound_as_they_should_be(scene: Authorized) -> None:
    store = MemoryStore()
    for signer in (None, Key(), None, Key()):
        token = Requests(scene, store=store, dpop=signer).send()
        assert ("cnf" in scene.issuing.tokens[token]) is (signer is not None)
        assert Requests(scene, store=store, dpop=signer).send() == token


def test_a_server_that_wants_bound_tokens_is_told_of(scene: Authorized) -> None:
    scene.protected.document["dpop_bound_access_tokens_required"] = True
    with pytest.raises(Unauthorized, match="dpop="):
        Requests(scene).send()
    assert scene.authorizations() == 0
    Requests(scene, dpop=Key()).send()


def test_a_person_is_not_asked_where_the_proofs_would_be_refused(scene: Authorized) -> None:
    scene.issuing.metadata["dpop_signing_alg_values_supported"] = ["EdDSA"]
    with pytest.raises(Unauthorized, match="EdDSA"):
        Requests(scene, dpop=Key()).send()
    assert scene.authorizations() == 0
    scene.issuing.metadata["dpop_signing_alg_values_supported"] = OUT
    Requests(scene, dpop=Key()).send()
