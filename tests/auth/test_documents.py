"""The documents of resources and of issuers, read and checked."""
from typing import Any, Dict

import pytest

from mcp_ref.auth.discover import AuthorizationServer, ProtectedResource
from mcp_ref.errors import DiscoveryFailed

RESOURCE: Dict[str, Any] = {"resource": "https://mcp.example.com/mcp",
                            "authorization_servers": ["https://as.example.com/"]}
SERVER: Dict[str, Any] = {"issuer": "https://as.example.com", "token_endpoint": "https://as.example.com/token"}
ENDPOINTS = ["authorization_endpoint", "token_endpoint", "registration_endpoint", "introspection_endpoint", "jwks_uri"]
LISTS = ["scopes_supported", "code_challenge_methods_supported", "token_endpoint_auth_methods_supported",
         "token_endpoint_auth_signing_alg_values_supported", "grant_types_supported",
         "dpop_signing_alg_values_supported"]
FLAGS = {"client_id_metadata_document_supported": "client_id_metadata_document_supported",
         "authorization_response_iss_parameter_supported": "iss_parameter_supported"}


def test_a_resource_says_what_it_says() -> None:
    """[RFC 9728 §2]"""
    value = dict(RESOURCE, scopes_supported=["a", "b"], bearer_methods_supported=["header"], resource_name="Mine",
                 dpop_bound_access_tokens_required=True)
    document = ProtectedResource.of(value)
    assert (document.resource, document.authorization_servers) == (RESOURCE["resource"], ["https://as.example.com/"])
    assert (document.scopes_supported, document.bearer_methods_supported) == (["a", "b"], ["header"])
    assert document.dpop_bound_access_tokens_required is True and document.raw == value
    least = ProtectedResource.of(dict(RESOURCE, scopes_supported=None))
    assert least.scopes_supported is None and least.dpop_bound_access_tokens_required is False


@pytest.mark.parametrize("members, words", [
    ({"resource": None}, "resource: is missing"), ({"resource": ""}, "resource: is missing"),
    ({"resource": 3}, "resource: expected string, got integer"),
    ({"resource": "mcp.example.com"}, "the resource is no"),
    ({"resource": "https://mcp.example.com/#a"}, "the resource has a fragment"),
    ({"authorization_servers": None}, "authorization_servers: names no authorization server"),
    ({"authorization_servers": []}, "authorization_servers: names no authorization server"),
    ({"authorization_servers": "https://as.example.com"}, "authorization_servers: expected array, got string"),
    ({"authorization_servers": ["https://h", None]}, r"authorization_servers\[1\]: expected string, got null"),
    ({"authorization_servers": ["http://as.example.com"]}, r"authorization_servers\[0\].* is not https"),
    ({"authorization_servers": ["file:///etc"]}, r"authorization_servers\[0\] is no https URL"),
    ({"scopes_supported": "a b"}, "scopes_supported: expected array, got string"),
    ({"scopes_supported": [["a"]]}, r"scopes_supported\[0\]: expected string, got array"),
    ({"bearer_methods_supported": {}}, "bearer_methods_supported: expected array, got object"),
    ({"dpop_bound_access_tokens_required": "true"}, "dpop_bound_access_tokens_required: expected boolean, got string"),
    ({"dpop_bound_access_tokens_required": 1}, "dpop_bound_access_tokens_required: expected boolean, got integer"),
])
def test_a_resource_that_says_it_wrongly_is_refused(members: Dict[str, Any], words: str) -> None:
    with pytest.raises(DiscoveryFailed, match=words):
        ProtectedResource.of(dict(RESOURCE, **members))


@pytest.mark.parametrize("value", [None, [], "x", 3, True])
def test_a_document_is_an_object(value: Any) -> None:
    for kind in (ProtectedResource, AuthorizationServer):
        with pytest.raises(DiscoveryFailed, match="metadata: expected object"):
            kind.of(value)  # type: ignore[attr-defined]


def test_an_issuer_says_what_it_says() -> None:
    """[RFC 8414 §2]"""
    urls = {name: "https://as.example.com/" + name for name in ENDPOINTS}
    lists = {name: ["x", name] for name in LISTS}
    value = dict(SERVER, **urls, **lists, **{name: True for name in FLAGS}, more={"a": 1})
    found = AuthorizationServer.of(value)
    assert {name: getattr(found, name) for name in ENDPOINTS} == urls
    assert {name: getattr(found, name) for name in LISTS} == lists
    assert all(getattr(found, name) is True for name in FLAGS.values()) and found.raw == value


def test_an_issuer_may_say_little() -> None:
    for more in ({}, dict.fromkeys(LISTS + list(FLAGS) + ENDPOINTS[:1] + ENDPOINTS[2:])):
        found = AuthorizationServer.of(dict(SERVER, **more))
        assert all(getattr(found, name) is None for name in LISTS + ENDPOINTS[:1] + ENDPOINTS[2:])
        assert not any(getattr(found, name) for name in FLAGS.values())


@pytest.mark.parametrize("name", ENDPOINTS)
@pytest.mark.parametrize("value, words", [
    (3, "expected string, got integer"), ("http://as.example.com/x", "is not https"),
    ("javascript:alert(1)", "is no https"),
    ("https://u:p@as.example.com/", "has a user"), ("/relative", "is no https"),
    ("https://as.example.com/#x", "fragment"),
])
def test_every_endpoint_is_checked(name: str, value: Any, words: str) -> None:
    with pytest.raises(DiscoveryFailed, match="%s.*%s" % (name, words)):
        AuthorizationServer.of(dict(SERVER, **{name: value}))


@pytest.mark.parametrize("name", ENDPOINTS)
def test_only_an_issuer_on_this_machine_has_endpoints_there(name: str) -> None:
    value = dict(SERVER, **{name: "http://127.0.0.1:8000/x"})
    assert getattr(AuthorizationServer.of(value), name) == "http://127.0.0.1:8000/x"
    with pytest.raises(DiscoveryFailed, match=name + " is on this machine"):
        AuthorizationServer.of(value, here=False)
    with pytest.raises(DiscoveryFailed, match=r"authorization_servers\[0\] is on this machine"):
        ProtectedResource.of(dict(RESOURCE, authorization_servers=["https://localhost/"]), here=False)


@pytest.mark.parametrize("members, words", [
    ({"issuer": None}, "issuer: is missing"), ({"issuer": 3}, "issuer: expected string"),
    ({"issuer": "https://as.example.com/?x"}, "has a query"), ({"issuer": "http://as.example.com"}, "is not https"),
    ({"token_endpoint": None}, "token_endpoint: is missing"), ({"token_endpoint": ""}, "token_endpoint: is missing"),
    *[({name: "x"}, name + ": expected array, got string") for name in LISTS],
    *[({name: [1]}, name + r"\[0\]: expected string, got integer") for name in LISTS],
    *[({name: "true"}, name + ": expected boolean, got string") for name in FLAGS],
])
def test_an_issuer_that_says_it_wrongly_is_refused(members: Dict[str, Any], words: str) -> None:
    with pytest.raises(DiscoveryFailed, match=words):
        AuthorizationServer.of(dict(SERVER, **members))


def test_where_nothing_is_published_the_endpoints_are_at_the_origin() -> None:
    """[2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST"""
    found = AuthorizationServer.by_default("https://api.example.com")
    assert found.issuer == "https://api.example.com"
    assert found.authorization_endpoint == "https://api.example.com/authorize"
    assert found.token_endpoint == "https://api.example.com/token"
    assert found.registration_endpoint == "https://api.example.com/register"
    assert found.code_challenge_methods_supported is None and found.raw == {}
