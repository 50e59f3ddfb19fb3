"""basic/authorization §Scope Selection Strategy and §Scope Challenge Handling, the client's side of both.

Pages: basic/authorization (2025-11-25), basic/authorization/index (2026-07-28).
"""
from typing import Any, List, Optional, Set

import pytest

from mcp_ref.errors import AuthError, InsufficientScope
from tests.support.auth_server import OUT
from tests.support.authorized import BOUNDED, Authorized, used
from tests.support.serving import over

STATELESS = "2026-07-28"


def scopes_of(query: Any) -> Optional[Set[str]]:
    """The scopes of a request; None: it has no such parameter."""
    if "scope" not in query:
        return None
    scopes: List[str] = query["scope"].split(" ")
    assert len(set(scopes)) == len(scopes) and "" not in scopes
    return set(scopes)


# --- what is asked for first ------------------------------------------------------------------------------------------

RELATIONS = [["a", "b"], ["a"], ["a", "b", "c"], ["b", "c"], ["c"], [], OUT]


@pytest.mark.spec("auth.scope-from-challenge", "auth.scope-no-assumption", "auth.scope-authoritative",
                  "auth.least-privilege")
@over("auth.scope-from-challenge")
@pytest.mark.parametrize("supported", RELATIONS)
def test_the_scopes_of_the_challenge_whatever_else_there_is(revision: str, supported: Any) -> None:
    with Authorized(revision) as scene:
        scene.protected.scopes = ["a", "b"]
        scene.protected.document["scopes_supported"] = supported
        with used(scene):
            pass
        assert scopes_of(scene.asked()) == {"a", "b"} and scene.authorizations() == 1


@pytest.mark.spec("auth.scope-from-metadata", "auth.scope-absent-fallback")
@over("auth.scope-from-metadata")
@pytest.mark.parametrize("supported", [["a"], ["a", "b"], ["offline", "a:b/c"]])
def test_without_them_all_that_the_resource_names(revision: str, supported: List[str]) -> None:
    with Authorized(revision) as scene:
        scene.protected.document["scopes_supported"] = supported
        scene.issuing.metadata["scopes_supported"] = ["x", "y", *supported]
        with used(scene):
            pass
        assert scopes_of(scene.asked()) == set(supported)


@pytest.mark.spec("auth.scope-from-metadata", "auth.scope-absent-fallback")
@over("auth.scope-from-metadata")
@pytest.mark.parametrize("supported", [OUT, []])
def test_without_either_none(revision: str, supported: Any) -> None:
    with Authorized(revision) as scene:
        scene.protected.document["scopes_supported"] = supported
        scene.issuing.metadata["scopes_supported"] = ["x", "y"]
        with used(scene):
            pass
        assert scopes_of(scene.asked()) is None


# --- more, when more is needed ----------------------------------------------------------------------------------------

@pytest.mark.spec("auth.step-up", "auth.step-up-user", "auth.scope-authoritative", "auth.scope-keep-previous")
@over("auth.step-up")
def test_a_request_that_needs_more_leads_to_another_authorization(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.protected.scopes, scene.protected.needs = ["read"], {"tools/call:write": ["write", "more"]}
        with used(scene) as client:
            scene.protected.challenge["scope"] = "write more"  # what this operation needs, not what there was before
            assert client.call_tool("write", {"text": "hi"}).text == "kept hi"
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
            assert client.call_tool("write", {"text": "hi"}).text == "kept hi"
        assert scopes_of(scene.asked(0)) == {"read"}
        assert scopes_of(scene.asked(1)) == {"read", "write", "more"}
        assert scene.authorizations() == 2


@pytest.mark.spec("auth.scope-keep-previous")
def test_what_was_asked_for_is_kept_even_where_less_was_granted_in_several_steps() -> None:
    with Authorized(STATELESS) as scene:
        scene.protected.needs = {"tools/call:write": ["w"], "tools/call:echo": ["e"]}
        scene.protected.document["scopes_supported"] = ["a", "b"]
        scene.issuing.granted = lambda scope: " ".join(one for one in scope.split() if one != "b")
        with scene.connect() as client:
            scene.protected.challenge["scope"] = "w"
            client.call_tool("write", {"text": "hi"})
            scene.protected.challenge["scope"] = "e"
            client.call_tool("echo", {"text": "hi"})
        assert [scopes_of(scene.asked(number)) for number in range(3)] == [
            {"a", "b"}, {"a", "b", "w"}, {"a", "b", "w", "e"}]


@pytest.mark.spec("auth.scope-keep-previous")
def test_after_a_401_for_other_scopes_the_previous_ones_are_kept_too() -> None:
    with Authorized(STATELESS) as scene:
        scene.protected.scopes = ["a"]
        with scene.connect() as client:
            scene.protected.scopes = ["b"]
            scene.issuing.revoke_all()
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert scopes_of(scene.asked()) == {"a", "b"}


def test_a_403_without_scopes_or_of_another_kind_is_no_reason_to_ask_a_person() -> None:
    for error in ("access_denied", OUT):
        with Authorized(STATELESS) as scene, scene.connect() as client:
            scene.protected.needs = {"tools/call": ["w"]}
            scene.protected.challenge["error"], scene.protected.challenge["scope"] = error, OUT
            with pytest.raises(Exception) as caught:
                client.call_tool("echo", {"text": "hi"})
            assert "403" in str(caught.value) or isinstance(caught.value, AuthError)
            assert scene.authorizations() == 1


# --- not for ever -----------------------------------------------------------------------------------------------------

@pytest.mark.spec("auth.step-up-retry-limits")
@over("auth.step-up-retry-limits")
def test_a_request_that_is_never_allowed_ends_with_an_error(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.protected.needs = {"tools/call:write": ["write"]}
        scene.issuing.granted = lambda scope: scope.replace("write", "").strip()
        with scene.connect() as client:
            with pytest.raises(InsufficientScope) as caught:
                client.call_tool("write", {"text": "hi"})
            assert caught.value.scopes == ["write"]
            assert 2 <= scene.authorizations() <= BOUNDED.max_authorizations
            asked = scene.authorizations()
            with pytest.raises(InsufficientScope):
                client.call_tool("write", {"text": "hi"})
            assert scene.authorizations() == asked, "the same operation again does not ask the person again"
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert len(scene.protected.calls("tools/call")) <= 2 * BOUNDED.max_authorizations + 2


@pytest.mark.spec("auth.step-up-retry-limits")
@over("auth.step-up-retry-limits")
def test_a_server_that_wants_something_else_each_time_is_given_up(revision: str) -> None:
    with Authorized(revision) as scene:
        with scene.connect() as client:
            before = scene.authorizations()
            scene.protected.needs = {"tools/call": ["never"]}
            scene.issuing.granted = lambda scope: " ".join(one for one in scope.split() if one != "never")
            usual = scene.protected.usual

            def more_and_more(asked: Any) -> Any:
                scene.protected.challenge["scope"] = "never n%d" % len(scene.protected.checked)
                return usual(asked)

            scene.protected.answers["/mcp"] = more_and_more
            with pytest.raises(AuthError):
                client.call_tool("echo", {"text": "hi"})
        assert scene.authorizations() - before <= BOUNDED.max_authorizations


@pytest.mark.spec("auth.step-up-retry-limits")
@over("auth.step-up-retry-limits")
def test_a_server_that_refuses_every_token_is_given_up(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.issuing.mint = lambda claims: "same"
        scene.protected.document["resource"], asked = scene.protected.url, scene.protected
        scene.protected.issuing = []
        assert isinstance(scene.refused(), AuthError)
        assert 1 <= scene.authorizations() <= BOUNDED.max_authorizations
        assert len(asked.checked) <= BOUNDED.max_authorizations + 1


# --- clients on their own behalf --------------------------------------------------------------------------------------

@pytest.mark.spec("auth.step-up-own-behalf")
@over("auth.step-up-own-behalf")
def test_a_client_on_its_own_behalf_asks_for_more_too(revision: str) -> None:
    from mcp_ref.auth import ClientCredentials

    with Authorized(revision) as scene:
        scene.issuing.add_client("me", "my secret")
        scene.protected.scopes, scene.protected.needs = ["read"], {"tools/call:write": ["write"]}
        auth = ClientCredentials("me", "my secret", issuer=scene.issuing.issuer, now=scene.clock)
        with scene.connect(auth) as client:
            assert client.call_tool("write", {"text": "hi"}).text == "kept hi"
        assert [scopes_of(one.form) for one in scene.issuing.seen("/token")] == [{"read"}, {"read", "write"}]
        assert scene.authorizations() == 0
