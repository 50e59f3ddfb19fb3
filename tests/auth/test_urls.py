"""Which URLs may be asked, and where documents are."""
from typing import List

import pytest

from mcp_ref.auth.fetch import (
    canonical, checked, covers, origin, resource_metadata_urls, server_metadata_urls, shown, split,
)
from mcp_ref.errors import DiscoveryFailed

LOOPBACK = ["http://localhost/", "http://LOCALHOST:1/x", "http://127.0.0.1:8000", "http://127.255.0.9/",
            "http://[::1]/a", "https://localhost", "https://[::1]:8443/", "http://127.0.0.1/?a=b"]
ELSEWHERE = ["https://example.com", "https://EXAMPLE.com:8443/a/b?c=d", "https://10.0.0.1/", "https://[2001:db8::1]/",
             "https://xn--bcher-kva.example/", "https://a_b.example/", "https://example.com./"]
PLAIN = ["http://example.com/", "http://127.evil.example/", "http://127.0.0.1.evil.example/", "http://localhost.evil/",
         "http://128.0.0.1/", "http://127.0.0.256/", "http://127.1/", "http://2130706433/", "http://0x7f000001/",
         "http://0.0.0.0/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://localhost./", "http://127.0.0.01/",
         "http://169.254.169.254/latest/"]
NONE = ["", "example.com", "/path", "//example.com/", "file:///etc/passwd", "ftp://example.com/", "javascript:alert(1)",
        "https:example.com", "https:/example.com", "https://", "https:///path", "https://?x",
        "https://user@example.com/",
        "https://user:pw@example.com/", "https://@example.com/", "https://example.com/#", "https://example.com/#a",
        "https://example.com:0/", "https://example.com:65536/", "https://example.com:x/", "https://example.com:/",
        "https://example.com:-1/", "https://exa mple.com/", "https://example.com/a b", "https://example.com/\n",
        "https://example.com\r\nX: y", "https://example.com\\@evil.example/", "https://b\u00fccher.example/",
        "https://[::1/", "https://[::1]evil.example/", "https://[abc]x/", "https://[v1.x]/", "https://ex%61mple.com/",
        "https://-example.com/", "https://.example.com/", " https://example.com", "https://example.com/" + "a" * 9000,
        "https://exam\x00ple.com", "https://e\uff0ecom/"]


@pytest.mark.parametrize("url", LOOPBACK + ELSEWHERE)
def test_https_and_loopback_may_be_asked(url: str) -> None:
    assert checked(url, "thing") == url
    assert split(url, "URL").loopback is (url in LOOPBACK)


@pytest.mark.parametrize("url", PLAIN)
def test_http_elsewhere_may_not(url: str) -> None:
    with pytest.raises(DiscoveryFailed, match=r"^the thing \(http://[^/]+\) is not https$"):
        checked(url, "thing")
    assert checked("https" + url[4:], "thing") and not split(url, "URL").loopback


@pytest.mark.parametrize("url", NONE)
def test_what_is_no_such_url_may_not(url: str) -> None:
    with pytest.raises(DiscoveryFailed, match="^the thing (is no|has a|names no)") as caught:
        checked(url, "thing")
    assert "pw" not in str(caught.value) and not covers(url, "https://example.com/")


@pytest.mark.parametrize("value", [None, 3, [], {}, b"https://example.com"])
def test_what_is_no_text_is_no_url(value: object) -> None:
    with pytest.raises(DiscoveryFailed, match="the thing is no URL"):
        checked(value, "thing")  # type: ignore[arg-type]


def test_a_server_elsewhere_leads_to_nothing_on_this_machine() -> None:
    for url in LOOPBACK:
        with pytest.raises(DiscoveryFailed, match="the thing is on this machine"):
            checked(url, "thing", here=False)
    assert [checked(url, "thing", here=False) for url in ELSEWHERE] == ELSEWHERE


@pytest.mark.parametrize("url", ["http://example.com/path?token=s3cret", "https://u:s3cret@h/", "s3cret",
                                 "https://h/?s3cret#s3cret", "https://h\x00/?s3cret"])
def test_errors_show_no_query(url: str) -> None:
    with pytest.raises(DiscoveryFailed) as caught:
        checked(url, "thing")
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in shown("https://h/a?s3cret#s3cret") and shown("https://h/\x1b[1m").isprintable()
    assert shown("https://me:s3cret@h/a") == "https://h/a" and shown("https://h/a@b") == "https://h/a@b"


@pytest.mark.parametrize("url, expected", [
    ("https://Example.COM:443/a?b", "https://example.com"), ("http://localhost:80", "http://localhost"),
    ("https://example.com:80/", "https://example.com:80"), ("http://[::1]:8000/x", "http://[::1]:8000"),
    ("http://127.0.0.1:443/", "http://127.0.0.1:443"), ("HTTPS://example.com", "https://example.com"),
])
def test_the_origin(url: str, expected: str) -> None:
    assert origin(url) == expected


@pytest.mark.parametrize("url, expected", [
    ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp"),
    ("https://mcp.example.com", "https://mcp.example.com"),
    ("https://mcp.example.com/", "https://mcp.example.com"),
    ("https://mcp.example.com:8443", "https://mcp.example.com:8443"),
    ("https://mcp.example.com:443/", "https://mcp.example.com"),
    ("https://mcp.example.com/server/mcp", "https://mcp.example.com/server/mcp"),
    ("HTTPS://MCP.Example.com/Server/MCP", "https://mcp.example.com/Server/MCP"),
    ("https://mcp.example.com/mcp/", "https://mcp.example.com/mcp/"),
    ("https://mcp.example.com/mcp?key=s3cret#top", "https://mcp.example.com/mcp"),
    ("https://mcp.example.com/#top", "https://mcp.example.com"),
    ("http://[::1]:8000/", "http://[::1]:8000"),
])
def test_the_canonical_url(url: str, expected: str) -> None:
    assert canonical(url) == expected
    assert canonical(expected) == expected and covers(expected, url)


@pytest.mark.parametrize("resource, url, expected", [
    ("https://h/mcp", "https://h/mcp", True), ("https://h", "https://h/mcp", True),
    ("https://h/", "https://h/mcp", True),
    ("https://h/mcp/", "https://h/mcp", True), ("https://h/mcp", "https://h/mcp/", True),
    ("https://h/a", "https://h/a/b/c", True), ("HTTPS://H:443/a", "https://h/a", True),
    ("https://h/mcp", "https://h/mcp?key=1", True), ("https://h/mcp?key=1", "https://h/mcp?key=1", True),
    ("https://h/mcp", "https://h/mcp#top", True),
    ("https://h/mcp?key=2", "https://h/mcp?key=1", False), ("https://h/mcp?key=1", "https://h/mcp", False),
    ("https://h/mcp", "https://h/mcpx", False), ("https://h/mc", "https://h/mcp", False),
    ("https://h/a/b", "https://h/a", False), ("https://h/MCP", "https://h/mcp", False),
    ("https://h/b", "https://h/a", False),
    ("https://evil/mcp", "https://h/mcp", False), ("https://h:8443/mcp", "https://h/mcp", False),
    ("http://h/mcp", "https://h/mcp", False), ("https://h.evil/mcp", "https://h/mcp", False),
    ("https://h/mcp#x", "https://h/mcp", False), ("https://u@h/mcp", "https://h/mcp", False),
    ("urn:h:mcp", "https://h/mcp", False), ("", "https://h/mcp", False),
])
def test_an_identifier_is_that_of_the_server_or_of_a_path_above(resource: str, url: str, expected: bool) -> None:
    assert covers(resource, url) is expected


@pytest.mark.parametrize("url, expected", [
    ("https://example.com/public/mcp", ["/.well-known/oauth-protected-resource/public/mcp",
                                        "/.well-known/oauth-protected-resource"]),
    ("https://example.com/mcp/", ["/.well-known/oauth-protected-resource/mcp/",
                                  "/.well-known/oauth-protected-resource"]),
    ("https://example.com", ["/.well-known/oauth-protected-resource"]),
    ("https://EXAMPLE.com:443/?key=1", ["/.well-known/oauth-protected-resource"]),
    ("https://example.com/mcp?key=1#x", ["/.well-known/oauth-protected-resource/mcp",
                                         "/.well-known/oauth-protected-resource"]),
])
def test_where_a_resource_describes_itself(url: str, expected: List[str]) -> None:
    assert resource_metadata_urls(url) == ["https://example.com" + path for path in expected]


@pytest.mark.parametrize("issuer, expected", [
    ("https://h", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
    ("https://h/", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
    ("https://h/tenant1", ["/.well-known/oauth-authorization-server/tenant1",
                           "/.well-known/openid-configuration/tenant1",
                           "/tenant1/.well-known/openid-configuration"]),
    ("https://h/a/b/", ["/.well-known/oauth-authorization-server/a/b", "/.well-known/openid-configuration/a/b",
                        "/a/b/.well-known/openid-configuration"]),
    ("https://h/%7Borigin%7D", ["/.well-known/oauth-authorization-server/%7Borigin%7D",
                                "/.well-known/openid-configuration/%7Borigin%7D",
                                "/%7Borigin%7D/.well-known/openid-configuration"]),
])
def test_where_an_issuer_describes_itself(issuer: str, expected: List[str]) -> None:
    assert server_metadata_urls(issuer) == ["https://h" + path for path in expected]


@pytest.mark.parametrize("issuer", ["https://h?x=1", "https://h/{origin}", "https://h/a?", "https://h/#a", "h"])
def test_an_issuer_has_neither_query_nor_fragment(issuer: str) -> None:
    """[RFC 8414 §2]"""
    with pytest.raises(DiscoveryFailed, match="the issuer"):
        server_metadata_urls(issuer)
