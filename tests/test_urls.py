"""One reader of URLs, one answer to what is this machine, and one token, for all who ask."""
import pytest

from mcp_ref.auth.discover import parse
from mcp_ref.auth.fetch import split
from mcp_ref.errors import ConnectFailed, DiscoveryFailed
from mcp_ref.http11.client.connect import server_url
from mcp_ref.http11.message import check_fields
from mcp_ref.protocol.elicitation import LinkError, read_link
from mcp_ref.protocol.streamable_http.header_values import media_type
from mcp_ref.streamable.client.posts import check
from mcp_ref.urls import BadUrl, Url, is_loopback, is_token, read_url
from tests.transports.http_raw import Raw, get, serving

HERE = ["localhost", "127.0.0.1", "127.255.255.254", "127.0.0.0", "::1"]
ELSEWHERE = ["127.example.com", "127.0.0.1.example.com", "127.1", "127.0.0.256", "127.0.0.01", "128.0.0.1", "0.0.0.0",
             "localhost.example.com", "localhost.", "", "::", "::2", "[::1]", "2130706433", "0x7f.0.0.1", "127.0.0.1 ",
             "127.0.0.1\n", "example.com"]


@pytest.mark.parametrize("host", HERE)
def test_this_machine(host: str) -> None:
    written = "[%s]" % host if ":" in host else host
    assert is_loopback(host)
    assert split("http://%s/" % written, "URL").loopback
    assert read_link("http://%s/" % written, 2000).loopback


@pytest.mark.parametrize("host", ELSEWHERE)
def test_elsewhere(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("text, url, origin, target", [
    ("http://Example.COM/mcp", Url("http", "example.com", 80, "/mcp", ""), "http://example.com", "/mcp"),
    ("HTTPS://example.com:443", Url("https", "example.com", 443, "", ""), "https://example.com", "/"),
    ("http://example.com:443/a?b=c", Url("http", "example.com", 443, "/a", "b=c"), "http://example.com:443", "/a?b=c"),
    ("https://example.com?b", Url("https", "example.com", 443, "", "b"), "https://example.com", "/?b"),
    ("http://[::1]:80/", Url("http", "::1", 80, "/", ""), "http://[::1]", "/"),
    ("http://[FE80::1]:81/", Url("http", "fe80::1", 81, "/", ""), "http://[fe80::1]:81", "/"),
    ("http://127.0.0.1:8000//a//", Url("http", "127.0.0.1", 8000, "//a//", ""), "http://127.0.0.1:8000", "//a//"),
])
def test_a_url_has_the_same_parts_for_all_who_read_it(text: str, url: Url, origin: str, target: str) -> None:
    assert (read_url(text), url.origin, url.target, url.url) == (url, origin, target, origin + target)
    assert split(text, "URL") == url
    assert (server_url(text).origin, server_url(text).target) == (origin, target)
    link = read_link(text, 2000)
    assert (link.scheme, link.host, link.loopback) == (url.scheme, url.host, url.loopback)


@pytest.mark.parametrize("text, fault", [
    ("http://", "host"), ("http:///mcp", "host"), ("http://:80/", "host"), ("https:example.com", "host"),
    ("http://user@example.com/", "user"), ("http://user:secret@example.com/", "user"), ("http://@example.com/", "user"),
    ("ftp://user:secret@example.com/", "user"), ("ftp://example.com/", "scheme"), ("file:///etc/passwd", "scheme"),
    ("", "scheme"), ("example.com", "scheme"), ("//example.com/", "scheme"), ("javascript:alert(1)", "scheme"),
    ("http://example.com:0/", "port"), ("http://example.com:65536/", "syntax"), ("http://example.com:x/", "syntax"),
    ("http://[::1/", "syntax"),
])
def test_what_is_no_url_is_none_for_all_who_read_it(text: str, fault: str) -> None:
    with pytest.raises(BadUrl) as bad:
        read_url(text)
    assert bad.value.fault == fault and "secret" not in str(bad.value)
    for read, error in ((server_url, ConnectFailed), (lambda text: split(text, "URL"), DiscoveryFailed),
                        (lambda text: read_link(text, 2000), LinkError)):
        with pytest.raises(error) as caught:
            read(text)
        assert "secret" not in str(caught.value)


def test_a_url_in_a_log_shows_no_query() -> None:
    assert repr(read_url("https://example.com/a?key=s3cret")) == "Url(https://example.com/a)"


@pytest.mark.parametrize("sign", [chr(code) for code in range(256)])
def test_a_token_is_the_same_for_all_who_read_one(sign: str) -> None:
    name, token = "x%sy" % sign, sign in "!#$%&'*+-.^_`|~" or (sign.isascii() and sign.isalnum())
    assert bool(is_token(name)) is token
    assert bool(media_type("text/" + name)) is token or sign == ";"  # which begins a parameter
    assert (name.lower() in parse(["Bearer %s=c" % name])[0].params) is token

    def names_a_field() -> bool:
        with serving() as server, Raw(server.address) as raw:
            raw.send(get("/", "%s: b" % name, "Connection: close"))
            return raw.rest().startswith(b"HTTP/1.1 200 ")

    def may_be_set() -> bool:
        try:
            check(name, "value")
        except ValueError:
            return False
        return True

    assert may_be_set() is token
    assert names_a_field() is token or sign == ":"  # which ends the name before it


@pytest.mark.parametrize("sign, harmless", [("\r", False), ("\n", False), ("\0", False), ("\t", True), ("\xe4", True)])
def test_nobody_writes_a_field_into_another(sign: str, harmless: bool) -> None:
    for field in (("a" + sign, "b"), ("a", "b%sc: d" % sign)):
        if harmless:
            check_fields((("first", "1"), field))
            continue
        with pytest.raises(ValueError, match="^a header with a line end in it: a"):
            check_fields((("first", "1"), field))
