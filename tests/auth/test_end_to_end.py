"""The whole way at once: over TLS, with the listener and a file of tokens, and with many requests at a time."""
import json
import pathlib
import ssl
import threading
from typing import Any, Iterator, List

import pytest

from mcp_ref import Server, connect
from mcp_ref.auth import FileStore, OAuth
from mcp_ref.errors import AuthError, McpError
from tests.conformance.es256 import Es256Signer
from tests.support.auth_server import CODE, REFRESH, AuthorizationServer, Browser, ProtectedServer, Refusal, browser
from tests.support.authorized import BOUNDED, PATIENCE, Authorized, used
from tests.support.scripted_web import Asked, ScriptedWeb
from tests.support.sides import eventually

PEM = str(pathlib.Path(__file__).parents[1] / "data" / "tls" / "localhost.pem")
AT_ONCE = 8


# --- over TLS ---------------------------------------------------------------------------------------------------------

@pytest.fixture
def secured() -> Iterator[ssl.SSLContext]:
    """What a server on `localhost` needs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    yield context


@pytest.mark.parametrize("way", ["cafile", "ssl_context"])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_everything_over_tls_by_the_certificates_that_were_given(
        secured: ssl.SSLContext, way: str, revision: str) -> None:
    trust: Any = {"cafile": PEM} if way == "cafile" else {"ssl_context": ssl.create_default_context(cafile=PEM)}
    with AuthorizationServer(host="localhost", tls=secured) as issuing:
        with ProtectedServer(issuing, host="localhost", tls=secured) as protected:
            oauth = OAuth(authorize=lambda url: browser(url, PEM))
            with connect(protected.url, auth=oauth, limits=BOUNDED, revisions=[revision], **trust) as client:
                assert client.call_tool("echo", {"text": "hi"}).text == "hi"
            assert issuing.grants() == [CODE] and protected.url.startswith("https://localhost")


def test_an_authorization_server_whose_certificate_nobody_vouches_for_is_not_asked(secured: ssl.SSLContext) -> None:
    with AuthorizationServer(host="localhost", tls=secured) as issuing, ProtectedServer(issuing) as protected:
        with pytest.raises(AuthError) as caught:
            connect(protected.url, auth=OAuth(authorize=browser), limits=BOUNDED)
        assert "certificate" in str(caught.value).lower() and issuing.seen() == []


# --- with the listener and a file -------------------------------------------------------------------------------------

@pytest.mark.parametrize("redirect_uri", [None, "http://127.0.0.1/back", "http://localhost/some/where"])
def test_a_program_asks_once_and_not_again_when_it_runs_again(redirect_uri: Any, tmp_path: Any) -> None:
    path = tmp_path / "state" / "tokens.json"
    with Authorized() as scene, Browser() as opened:
        for _ in range(2):
            with used(scene, authorize=None, open_browser=opened.open, store=FileStore(str(path)),
                      redirect_uri=redirect_uri):
                pass
        assert len(opened.urls) == scene.authorizations() == 1
        scene.issuing.revoke()
        with used(scene, authorize=None, open_browser=opened.open, store=FileStore(str(path)),
                  redirect_uri=redirect_uri):
            pass
        assert scene.issuing.grants() == [CODE, REFRESH] and len(scene.issuing.seen("/register")) == 1
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert json.loads(path.read_bytes())


def test_the_next_authorization_comes_back_to_the_registered_redirect() -> None:
    with Authorized() as scene, Browser() as opened:
        with used(scene, authorize=None, open_browser=opened.open) as client:
            scene.issuing.revoke_all()
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert len(scene.issuing.seen("/register")) == 1
        assert scene.asked(0)["redirect_uri"] == scene.asked(1)["redirect_uri"]
        assert scene.asked(0)["state"] != scene.asked(1)["state"]


# --- many at a time ---------------------------------------------------------------------------------------------------

def at_once(count: int, work: Any) -> List[Any]:
    """Do it on so many threads that begin together; results, or what was raised."""
    barrier, done = threading.Barrier(count), []  # type: threading.Barrier, List[Any]

    def run() -> None:
        barrier.wait(PATIENCE)
        try:
            done.append(work())
        except McpError as error:
            done.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    return done


@pytest.mark.race
@pytest.mark.parametrize("revoked", ["access", "all"])
def test_requests_that_are_refused_at_once_make_one_authorization(revoked: str, repetition: int) -> None:
    with Authorized() as scene, scene.connect() as client:
        gate = scene.protected.gate()
        refused: List[Asked] = []

        def together(asked: Asked) -> Any:
            answer = scene.protected.usual(asked)
            if answer.status == 401:  # all have been refused before the first of them hears of it
                with scene.protected.lock:
                    refused.append(asked)
                    if len(refused) == AT_ONCE:
                        gate.open()
                gate.passing()
            return answer

        scene.protected.answers["/mcp"] = together
        if revoked == "access":
            scene.issuing.revoke()
        else:
            scene.issuing.revoke_all()
        results = at_once(AT_ONCE, lambda: client.call_tool("echo", {"text": "hi"}).text)
        assert results == ["hi"] * AT_ONCE
        assert scene.issuing.grants() == [CODE, REFRESH] + [CODE] * (revoked == "all")
        assert scene.authorizations() == 1 + (revoked == "all")
        assert len(scene.protected.calls("tools/call")) == 2 * AT_ONCE


@pytest.mark.race
def test_a_token_that_has_ended_is_renewed_once_for_all(repetition: int) -> None:
    with Authorized() as scene:
        scene.issuing.expires_in = 100
        with scene.connect() as client:
            scene.clock.advance(101)
            assert at_once(AT_ONCE, lambda: client.call_tool("echo", {"text": "hi"}).text) == ["hi"] * AT_ONCE
        assert scene.issuing.grants() == [CODE, REFRESH]


@pytest.mark.race
def test_two_programs_with_one_file_do_not_show_the_same_refresh_token(tmp_path: Any, repetition: int) -> None:
    path, waiting = str(tmp_path / "tokens.json"), threading.Semaphore(0)

    class Watched(FileStore):
        """Tells when somebody wants it alone."""

        def exclusive(self, *arguments: Any) -> Any:
            waiting.release()
            return super().exclusive(*arguments)

    def slowly(asked: Asked) -> None:
        if asked.form["grant_type"] == REFRESH:  # the first is answered when the other one waits for it
            assert all(waiting.acquire(timeout=PATIENCE) for _ in range(2))
            waiting.release()
            waiting.release()

    with Authorized() as scene:
        with scene.connect(store=Watched(path)) as one, scene.connect(store=Watched(path)) as other:
            assert scene.authorizations() == 1
            scene.issuing.answers["/token"] = slowly
            scene.issuing.revoke()
            clients = iter([one, other])
            assert at_once(2, lambda: next(clients).call_tool("echo", {"text": "hi"}).text) == ["hi", "hi"]
        assert scene.issuing.grants() == [CODE, REFRESH]


@pytest.mark.race
def test_requests_that_need_different_scopes_at_once_all_get_them(repetition: int) -> None:
    server, names = Server("protected", "1"), ["tool%d" % number for number in range(AT_ONCE)]
    for name in names:
        server.tool(name=name)(lambda: "done")
    with Authorized(server=server) as scene, scene.connect() as client:
        scene.protected.needs = {"tools/call:" + name: ["for-" + name] for name in names}
        gate, refused = scene.protected.gate(), []  # type: Any, List[int]

        def together(asked: Asked) -> Any:
            answer = scene.protected.usual(asked)
            if answer.status == 403:
                with scene.protected.lock:
                    refused.append(403)
                    if len(refused) == AT_ONCE:
                        gate.open()
                gate.passing()
            return answer

        scene.protected.answers["/mcp"] = together
        each = iter(names)
        assert at_once(AT_ONCE, lambda: client.call_tool(next(each)).text) == ["done"] * AT_ONCE
        assert scene.authorizations() <= 1 + AT_ONCE
        assert set(scene.asked()["scope"].split()) == {"for-" + name for name in names}


def test_when_the_person_says_no_all_hear_it_and_are_not_asked_again() -> None:
    asked: List[str] = []
    with Authorized() as scene, scene.connect() as client:
        gate = scene.protected.gate()
        refused: List[Asked] = []

        def together(request: Asked) -> Any:
            with scene.protected.lock:
                refused.append(request)
                if len(refused) == AT_ONCE:
                    gate.open()
            gate.passing()
            return scene.protected.usual(request)

        scene.protected.answers["/mcp"] = together
        scene.issuing.revoke_all()
        scene.issuing.answers["/authorize"] = lambda request: asked.append(request.target)
        scene.issuing.error = Refusal("access_denied")
        results = at_once(AT_ONCE, lambda: client.call_tool("echo", {"text": "hi"}))
        assert all(isinstance(result, AuthError) for result in results), results
        assert len(asked) <= 2  # one that was late may ask once more


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_time_of_a_person_does_not_count(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.protected.needs = {"tools/call:write": ["write"]}
        clients: List[Any] = []

        def standing_still() -> bool:
            return any(pending.paused for pending in clients[0].connection.table._pending.values())

        def slowly(url: str) -> str:
            if clients:  # what stands still does not age, see tests/transports/test_http_authorizing.py
                eventually(standing_still)
            return browser(url)

        with scene.connect(authorize=slowly) as client:
            clients.append(client)
            assert client.call_tool("write", {"text": "hi"}).text == "kept hi"
            assert scene.authorizations() == 2 and not standing_still()


def test_nothing_else_waits_while_a_person_is_asked() -> None:
    with Authorized() as scene, ScriptedWeb() as web:
        gate = web.gate()
        scene.protected.needs = {"tools/call:write": ["write"]}
        first: List[bool] = []

        def slowly(url: str) -> str:
            if first:
                gate.passing()
            first.append(True)
            return browser(url)

        with scene.connect(authorize=slowly) as client:
            thread = threading.Thread(target=lambda: client.call_tool("write", {"text": "hi"}))
            thread.start()
            gate.wait_arrived()
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
            gate.open()
            thread.join(PATIENCE)
            assert not thread.is_alive() and scene.authorizations() == 2


# --- with a key -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_tokens_that_are_bound_to_a_key_and_nonces_at_both_servers(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.issuing.nonce, scene.protected.nonce = "of-the-issuer", "of-the-resource"
        with used(scene, dpop=Es256Signer.generate()) as client:
            scene.protected.nonce = "another"
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert scene.issuing.grants() == [CODE, CODE] and scene.authorizations() == 1
        assert {bearer.partition(" ")[0] for bearer in scene.protected.bearers() if bearer} == {"DPoP"}


@pytest.mark.race
def test_a_new_nonce_for_many_at_once_is_no_reason_for_another_token(repetition: int) -> None:
    with Authorized() as scene:
        scene.issuing.refreshes = False
        scene.protected.nonce = "first"
        with scene.connect(dpop=Es256Signer.generate()) as client:
            together, refused = scene.protected.gate(), []  # type: Any, List[int]

            def all_refused(asked: Asked) -> Any:
                answer = scene.protected.usual(asked)
                if answer.status == 401:
                    with scene.protected.lock:
                        refused.append(401)
                        if len(refused) == AT_ONCE:
                            together.open()
                    together.passing()
                return answer

            scene.protected.nonce = "second"
            scene.protected.answers["/mcp"] = all_refused
            assert at_once(AT_ONCE, lambda: client.call_tool("echo", {"text": "hi"}).text) == ["hi"] * AT_ONCE
        assert scene.authorizations() == 1 and scene.issuing.grants() == [CODE]


@pytest.mark.parametrize("place", ["issuer", "resource"])
def test_a_server_that_wants_another_nonce_each_time_is_given_up(place: str) -> None:
    with Authorized() as scene:
        nonces = iter("nonce-%d" % number for number in range(1000))
        server, path = (scene.issuing, "/token") if place == "issuer" else (scene.protected, "/mcp")

        def another(asked: Asked) -> Any:
            server.nonce = next(nonces)

        server.nonce = next(nonces)
        server.answers[path] = another
        error = scene.refused(dpop=Es256Signer.generate())
        assert isinstance(error, AuthError) and "nonce-" not in str(error)
        assert len(server.seen(path)) <= 2 + BOUNDED.max_authorizations
        assert scene.authorizations() <= BOUNDED.max_authorizations
