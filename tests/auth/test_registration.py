"""How a client becomes one: the order of the ways, what is said and kept, and to whom nothing is shown."""
from typing import Any, Dict, List, Optional, Tuple

import pytest

from mcp_ref.auth import OAuth
from mcp_ref.auth.client.registration import application_type, choose, known
from mcp_ref.auth.client.token_endpoint import ClientInfo
from mcp_ref.errors import RegistrationRefused
from tests.support.scripted_grant import ISSUER, NOW, ListContext, answer, server

REDIRECT = "http://localhost:7/callback"
DOCUMENT = "https://app.example/client.json"
MADE = {"client_id": "made-1", "token_endpoint_auth_method": "none", "redirect_uris": [REDIRECT]}
NONE: Dict[str, Any] = {"registration_endpoint": None}
CIMD = {"client_id_metadata_document_supported": True}


def asked(issuer: str) -> Tuple[str, Optional[str]]:
    assert issuer == ISSUER
    return "asked-1", "asked-secret"


@pytest.mark.parametrize(("grant", "members", "client_id"), [
    (OAuth("mine"), {}, "mine"),
    (OAuth("mine", client_metadata_url=DOCUMENT, ask_client=asked), CIMD, "mine"),
    (OAuth(client_metadata_url=DOCUMENT, ask_client=asked), CIMD, DOCUMENT),
    (OAuth(client_metadata_url=DOCUMENT, ask_client=asked), {}, "made-1"),
    (OAuth(client_metadata_url=DOCUMENT, ask_client=asked), NONE, "asked-1"),
    (OAuth(client_metadata_url=DOCUMENT), {**CIMD, **NONE}, DOCUMENT),
    (OAuth(ask_client=asked), {}, "made-1"),
    (OAuth(), {}, "made-1"),
    (OAuth(ask_client=asked), NONE, "asked-1"),
])
def test_the_first_way_that_is_open_is_taken(grant: OAuth, members: Dict[str, Any], client_id: str) -> None:
    context = ListContext(answer(MADE, 201))
    info = choose(grant, server(**members), REDIRECT, None, context)
    assert (info.client_id, info.issuer) == (client_id, ISSUER)
    assert len(context.fetched.sent) == (client_id == "made-1")
    assert context.persons == ([True, False] if client_id == "asked-1" else [])


@pytest.mark.parametrize(("grant", "members", "named"), [
    (OAuth(), NONE, "client_id="), (OAuth(ask_client=lambda issuer: None), NONE, "client_id="),
    (OAuth(), {**NONE, **CIMD}, "client_metadata_url="),
])
def test_without_any_way_the_error_says_what_to_pass(grant: OAuth, members: Dict[str, Any], named: str) -> None:
    with pytest.raises(RegistrationRefused, match=named):
        choose(grant, server(**members), REDIRECT, None, ListContext())


# --- dynamic registration

def registered(grant: OAuth = OAuth(), redirect: str = REDIRECT, scopes: Any = None, **members: Any) -> Any:
    context = ListContext(answer({**MADE, "redirect_uris": [redirect]}, 201))
    choose(grant, server(**members), redirect, scopes, context)
    return context.fetched.sent[0].json


def test_a_registration_says_who_we_are_and_what_we_need() -> None:
    assert registered(OAuth(client_name="Demo", client_uri="https://demo.example"), scopes=["a", "b"]) == {
        "client_name": "Demo", "client_uri": "https://demo.example", "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "none", "application_type": "native", "scope": "a b"}
    assert "scope" not in registered() and "client_uri" not in registered()


@pytest.mark.parametrize(("redirect", "kind"), [
    ("http://localhost:7/callback", "native"), ("http://127.0.0.1:7/callback", "native"),
    ("http://[::1]:7/callback", "native"), ("https://app.example/callback", "web"),
    ("https://localhost/callback", "web"),
])
def test_programs_on_this_machine_are_native(redirect: str, kind: str) -> None:
    assert application_type(redirect) == kind and registered(redirect=redirect)["application_type"] == kind


@pytest.mark.parametrize(("taken", "method"), [
    (None, "none"), (["none", "client_secret_basic"], "none"), (["client_secret_post"], "client_secret_post"),
    (["client_secret_post", "client_secret_basic"], "client_secret_basic"), (["private_key_jwt"], "none"), ([], "none"),
])
def test_we_ask_for_a_method_that_the_server_takes(taken: Optional[List[str]], method: str) -> None:
    assert registered(token_endpoint_auth_methods_supported=taken)["token_endpoint_auth_method"] == method


@pytest.mark.parametrize(("made", "taken", "method"), [
    ({"token_endpoint_auth_method": "client_secret_post", "client_secret": "s"}, ["none"], "client_secret_post"),
    ({"client_secret": "s"}, ["none"], "none"),  # a secret that is not to be shown
    ({"client_secret": "s"}, None, "client_secret_basic"), ({"client_secret": "s"}, ["client_secret_post"],
                                                            "client_secret_post"),
    ({}, None, "none"), ({"client_secret": ""}, None, "none"), ({"token_endpoint_auth_method": 3}, None, "none"),
    ({"token_endpoint_auth_method": "my s3cret\x1b", "client_secret": "s3cret"}, None, "my ***"),
])
def test_the_answer_prescribes_the_method_or_the_metadata_does(made: Any, taken: Any, method: str) -> None:
    context = ListContext(answer({"client_id": "x", **made}, 201))
    info = choose(OAuth(), server(token_endpoint_auth_methods_supported=taken), REDIRECT, None, context)
    assert info.method == method and info.registered and info.redirect_uris == [REDIRECT]


@pytest.mark.parametrize(("value", "status", "says"), [
    ({"error": "invalid_redirect_uri", "error_description": "no loopback\x1b"}, 400,
     r"invalid_redirect_uri \(no loopback"),
    ({"error": "invalid_client_metadata"}, 400, "invalid_client_metadata"), (b"<html>", 500, "status 500"),
    (b"", 200, "status 200"), ({"client_id": 3}, 201, "status 201"), ({"client_id": ""}, 201, "status 201"),
    ({}, 302, "302"),
])
def test_a_refused_registration_says_why_and_what_to_pass(value: Any, status: int, says: str) -> None:
    context = ListContext(answer(value, status))
    with pytest.raises(RegistrationRefused, match=says) as raised:
        choose(OAuth(), server(), REDIRECT, None, context)
    assert REDIRECT in str(raised.value) and "native" in str(raised.value) and "redirect_uri=" in str(raised.value)
    assert context.store.get("client", ISSUER) is None and "\x1b" not in str(raised.value)


def test_a_registration_with_another_redirect_uri_is_of_no_use() -> None:
    context = ListContext(answer({**MADE, "redirect_uris": ["https://evil.example/"]}, 201))
    with pytest.raises(RegistrationRefused, match="other redirect URIs"):
        choose(OAuth(), server(), REDIRECT, None, context)


# --- what is kept

def test_a_registration_is_kept_for_its_issuer_and_its_redirect_uri() -> None:
    other = "http://localhost:8/callback"
    context = ListContext(answer(MADE, 201), answer({**MADE, "client_id": "made-2", "redirect_uris": [other]}, 201))
    first = choose(OAuth(), server(), REDIRECT, None, context)
    assert choose(OAuth(), server(), REDIRECT, None, context) == first == known(OAuth(), server(), context)
    assert choose(OAuth(), server(), other, None, context).client_id == "made-2"
    assert [len(context.fetched.sent), context.fetched.answers] == [2, []]


def test_a_registration_is_made_anew_for_scopes_that_it_does_not_have() -> None:
    context = ListContext(answer(MADE, 201), answer({**MADE, "client_id": "made-2"}, 201))
    first = choose(OAuth(), server(), REDIRECT, ["a", "b"], context)
    assert choose(OAuth(), server(), REDIRECT, ["b"], context) == first
    assert choose(OAuth(), server(), REDIRECT, None, context) == first
    assert choose(OAuth(), server(), REDIRECT, ["c"], context).client_id == "made-2"
    assert choose(OAuth(), server(), REDIRECT, ["c", "a"], context).client_id == "made-2"
    assert [sent.json["scope"] for sent in context.fetched.sent] == ["a b", "a b c"]


def test_another_issuer_does_not_get_it() -> None:
    context = ListContext(answer(MADE, 201), answer({**MADE, "client_id": "made-2"}, 201))
    choose(OAuth(), server(), REDIRECT, None, context)
    two = server()
    two.issuer = "https://two.example"
    assert known(OAuth(), two, context) is None
    assert choose(OAuth(), two, REDIRECT, None, context).client_id == "made-2"
    assert known(OAuth(), server(), context).client_id == "made-1"  # type: ignore[union-attr]


def test_a_record_under_the_wrong_issuer_is_not_used() -> None:
    context = ListContext()
    context.store.set("client", ISSUER, ClientInfo("x", issuer="https://other.example").to_json())
    assert known(OAuth(), server(), context) is None


@pytest.mark.parametrize(("ends", "again"), [
    (0, False), (NOW + 1, False), (NOW, True), (NOW - 1, True), ("x", False), (10 ** 400, False), (-10 ** 400, False)])
def test_a_secret_that_has_ended_makes_a_new_registration(ends: Any, again: bool) -> None:
    first = answer({**MADE, "client_secret": "s", "client_secret_expires_at": ends}, 201)
    context = ListContext(first, answer(MADE, 201))
    choose(OAuth(), server(), REDIRECT, None, context)
    choose(OAuth(), server(), REDIRECT, None, context)
    assert len(context.fetched.sent) == 1 + again


def test_who_was_asked_once_is_not_asked_again() -> None:
    context = ListContext()
    first = choose(OAuth(ask_client=asked), server(**NONE), REDIRECT, None, context)
    assert (first.client_secret, first.method, first.registered) == ("asked-secret", "client_secret_basic", False)
    assert choose(OAuth(), server(**NONE), "http://localhost:9/callback", None, context) == first


# --- credentials from before

def test_credentials_go_to_the_issuer_that_was_named_only() -> None:
    grant = OAuth("mine", "my-secret", issuer="https://named.example")
    with pytest.raises(RegistrationRefused, match="https://named.example.*issuer=") as raised:
        choose(grant, server(), REDIRECT, None, ListContext())
    assert "my-secret" not in str(raised.value)
    told = choose(OAuth("mine", "my-secret", issuer=ISSUER), server(), REDIRECT, None, ListContext())
    assert told.client_secret == "my-secret"


def test_credentials_without_a_named_issuer_belong_to_the_first() -> None:
    context, grant = ListContext(), OAuth("mine", "my-secret")
    assert known(grant, server(), context) is not None
    two = server()
    two.issuer = "https://two.example"
    with pytest.raises(RegistrationRefused, match="belongs to the authorization server %s" % ISSUER):
        known(grant, two, context)
    assert known(grant, server(), context) is not None
    assert known(OAuth("other"), two, context) is not None


def test_a_metadata_document_is_for_every_issuer() -> None:
    context, grant = ListContext(), OAuth(client_metadata_url=DOCUMENT)
    two = server(**CIMD)
    two.issuer = "https://two.example"
    infos = [known(grant, each, context) for each in (server(**CIMD), two)]
    assert [info and info.client_id for info in infos] == [DOCUMENT] * 2


def test_no_secret_is_in_a_repr() -> None:
    assert "my-secret" not in repr(OAuth("mine", "my-secret"))
