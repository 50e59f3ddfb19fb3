"""The client ID metadata document."""
import re
from typing import Any, Dict

import pytest

from mcp_ref.auth import client_metadata
from mcp_ref.auth.client.registration import check_client_id_url, check_client_metadata

URL = "https://app.example.com/oauth/client-metadata.json"
GOOD: Dict[str, Any] = {"client_id": URL, "client_name": "Mine", "redirect_uris": ["http://localhost/callback"]}


def test_a_document_with_little_said() -> None:
    assert client_metadata(URL, "Mine", ["http://localhost/callback", "https://app.example.com/cb"]) == {
        "client_id": URL, "client_name": "Mine",
        "redirect_uris": ["http://localhost/callback", "https://app.example.com/cb"],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


def test_a_document_with_more() -> None:
    more = {"client_uri": "https://app.example.com", "logo_uri": "https://app.example.com/l.png", "contacts": ["a@b.c"],
            "grant_types": ["authorization_code"], "token_endpoint_auth_method": "private_key_jwt",
            "jwks_uri": "https://app.example.com/jwks", "scope": "a b", "software_id": "x"}
    document = client_metadata(URL, "Mine", ["http://127.0.0.1:3000/callback", "http://[::1]/cb"], **more)
    assert {name: document[name] for name in more} == more
    check_client_metadata(URL, dict(GOOD, token_endpoint_auth_method="private_key_jwt", jwks={"keys": []}))


@pytest.mark.parametrize("url", [URL, "https://example.com/client.json", "https://example.com:8443/a/",
                                 "https://h/a?v=1", "https://h/...", "https://h/.well-known/client", "https://h/a..b"])
def test_urls_that_a_client_can_be_known_by(url: str) -> None:
    assert check_client_id_url(url) == url
    check_client_metadata(url, dict(GOOD, client_id=url))


@pytest.mark.parametrize("url, words", [
    ("http://app.example.com/c.json", "is not https"), ("http://localhost/c.json", "is not https"),
    ("https://app.example.com", "has no path"), ("https://app.example.com/", "has no path"),
    ("https://app.example.com?x", "has no path"), ("https://app.example.com/a/../c", "with . or .. in it"),
    ("https://app.example.com/./c", "with . or .. in it"), ("https://app.example.com/..", "with . or .. in it"),
    ("https://app.example.com/%2e%2E/c", "with . or .. in it"), ("https://u@app.example.com/c", "has a user"),
    ("https://app.example.com/%2e./c", "with . or .. in it"),
    ("https://app.example.com/c#f", "has a fragment"), ("app.example.com/c", "is no https URL"), ("", "is no URL"),
    ("urn:example:client", "is no https URL"),
])
def test_urls_that_none_can_be_known_by(url: str, words: str) -> None:
    with pytest.raises(ValueError, match="^the client ID URL .*" + re.escape(words)):
        check_client_id_url(url)
    with pytest.raises(ValueError, match="client ID URL"):
        client_metadata(url, "Mine", ["http://localhost/callback"])


@pytest.mark.parametrize("change, words", [
    ({"client_id": URL + "/"}, "client_id is not exactly the URL"),
    ({"client_id": URL.upper()}, "client_id is not exactly"),
    ({"client_id": None}, "without client_id"), ({"client_name": ""}, "without client_name"),
    ({"client_name": None}, "without client_name"), ({"redirect_uris": None}, "without redirect_uris"),
    ({"redirect_uris": []}, "without redirect_uris"), ({"client_name": 3}, "client_name: expected string, got integer"),
    ({"redirect_uris": "http://localhost/"}, "redirect_uris: expected an array of strings"),
    ({"redirect_uris": [3]}, "redirect_uris: expected an array of strings"),
    ({"redirect_uris": ["http://localhost/", "http://app.example.com/"]}, r"redirect_uris\[1\].* is not https"),
    ({"redirect_uris": ["myapp://callback"]}, r"redirect_uris\[0\] is no https URL"),
    ({"redirect_uris": ["https://app.example.com/#f"]}, r"redirect_uris\[0\] has a fragment"),
    ({"client_secret": "s3cret"}, "cannot have a client_secret"),
    ({"client_secret": None}, "cannot have a client_secret"),
    ({"client_secret_expires_at": 0}, "cannot have a client_secret_expires_at"),
    ({"token_endpoint_auth_method": "client_secret_basic"}, "cannot be used with client_secret_basic"),
    ({"token_endpoint_auth_method": "client_secret_post"}, "cannot be used with client_secret_post"),
    ({"token_endpoint_auth_method": "client_secret_jwt"}, "cannot be used with client_secret_jwt"),
    ({"token_endpoint_auth_method": "private_key_jwt"}, "private_key_jwt needs jwks or jwks_uri"),
    ({"token_endpoint_auth_method": 1}, "token_endpoint_auth_method: expected string"),
    ({"logo_uri": "http://app.example.com/l.png"}, "logo_uri.* is not https"),
    ({"client_uri": 3}, "client_uri: expected"),
    ({"grant_types": "authorization_code"}, "grant_types: expected an array of strings"),
])
def test_documents_that_are_refused(change: Dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        check_client_metadata(URL, dict(GOOD, **change))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_a_document_is_an_object(value: Any) -> None:
    with pytest.raises(ValueError, match="expected object"):
        check_client_metadata(URL, value)
