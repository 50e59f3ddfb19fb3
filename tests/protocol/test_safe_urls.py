"""Links: which URLs a user may be sent to, where they lead, and what a person should be warned of."""
import pytest

from mcp_ref.errors import LocalProtocolError
from mcp_ref.protocol.elicitation import LinkError, read_link

MOST = 8192

GOOD = [
    ("https://example.com", "example.com", 443),
    ("https://example.com/", "example.com", 443),
    ("HTTPS://Example.COM/A", "example.com", 443),
    ("https://example.com:8443/a/b?x=1&y=%20#frag", "example.com", 8443),
    ("https://example.com./", "example.com.", 443),
    ("https://a_b.example.com/", "a_b.example.com", 443),
    ("http://localhost:3000/x", "localhost", 3000),
    ("http://app.localhost/", "app.localhost", 80),
    ("http://127.0.0.1/", "127.0.0.1", 80),
    ("http://[::1]:80/", "::1", 80),
    ("https://example.com/?next=https://user@evil.example/", "example.com", 443),
    ("https://example.com/@evil.example", "example.com", 443),
    ("https://example.com?@evil.example", "example.com", 443),
    ("https://example.com#@evil.example", "example.com", 443),
]

REFUSED = [
    ("", "empty"),
    ("example.com", "scheme"),
    ("/connect", "scheme"),
    ("//example.com/", "scheme"),
    ("https:", "no host"),
    ("https:example.com", "no host"),
    ("https:/example.com", "no host"),
    ("https://", "no host"),
    ("https:///example.com", "no host"),
    ("https://:443/", "no host"),
    ("javascript:alert(1)", "not with javascript"),
    ("JavaScript://example.com/%0aalert(1)", "not with javascript"),
    ("file:///etc/passwd", "not with file"),
    ("file://example.com/x", "not with file"),
    ("data:text/html,x", "not with data"),
    ("ftp://example.com/", "not with ftp"),
    ("ws://example.com/", "not with ws"),
    ("mailto:a@example.com", "not with mailto"),
    ("myapp://example.com/", "not with myapp"),
    ("view-source:https://example.com", "not with view-source"),
    ("blob:https://example.com/1", "not with blob"),
    ("https://bank.com@evil.example/", "user information"),
    ("https://bank.com:443@evil.example/", "user information"),
    ("https://bank.com%2F@evil.example/", "user information"),
    ("https://@evil.example/", "user information"),
    ("https://user:pass@example.com/", "user information"),
    ("https://a@b@example.com/", "user information"),
    ("https://bank.com\\@evil.example/", "percent-encoded"),
    ("https:\\\\example.com", "percent-encoded"),
    ("https://exa mple.com/", "percent-encoded"),
    ("https://example.com/a b", "percent-encoded"),
    (" https://example.com/", "percent-encoded"),
    ("https://example.com/ ", "percent-encoded"),
    ("https://example.com/\n", "control"),
    ("java\tscript:alert(1)", "control"),
    ("https://exam\nple.com/", "control"),
    ("https://example.com/\x00", "control"),
    ("https://example.com/\x7f", "control"),
    ("https://example.com/\u202egpj.exe", "control or invisible"),
    ("https://exam\u200bple.com/", "control or invisible"),
    ("https://example.com/\u00a0", "control or invisible"),
    ("https://example.com/\u2028", "control or invisible"),
    ("https://example.com/\ud800", "control or invisible"),
    ("https://example.com/<script>", "percent-encoded"),
    ('https://example.com/"x"', "percent-encoded"),
    ("https://example.com/%", "percent sign"),
    ("https://example.com/%zz", "percent sign"),
    ("https://ex%61mple.com/", "host of the link is no name"),
    ("https://example.com%2eevil.example/", "host of the link is no name"),
    ("https://exa$mple.com/", "host of the link is no name"),
    ("https://example..com/", "host of the link is no name"),
    ("https://.example.com/", "host of the link is no name"),
    ("https://-example.com/", "host of the link is no name"),
    ("https://%s.com/" % ("a" * 64), "host of the link is no name"),
    ("https://%s.com/" % ".".join(["abcdefgh"] * 30), "253"),
    ("https://\u0430%s.com/" % ("\u0430" * 300), "253"),
    ("https://xn--a\u0430.com/", "host of the link is no name"),
    ("https://xn--99999999999.com/", "host of the link"),
    ("https://xn--0xn--1.example/", "not Punycode"),
    ("https://example.com:port/", "port"),
    ("https://example.com:99999/", "no URL"),
    ("https://example.com:0/", "no URL: port 0"),
    ("https://example.com:-1/", "port"),
    ("https://[::1/", "brackets"),
    ("https://[::g]/", "brackets"),
    ("https://[::1]x/", "brackets"),
    ("https://[fe80::1%25eth0]/", "brackets"),
    ("https://a[b]/", "brackets"),
    ("https://example.com/[x]", "percent-encoded"),
    ("https://example.com/#a#b", "two fragments"),
    ("https://example.com/" + "x" * MOST, "max_uri_length"),
    (None, "a text"),
    (3, "a text"),
    (b"https://example.com/", "a text"),
    (["https://example.com/"], "a text"),
]


@pytest.mark.parametrize("url, host, port", GOOD)
def test_a_link_leads_where_its_host_says(url, host, port):
    link = read_link(url, MOST)
    assert (link.url, link.host, link.port) == (url, host, port)
    assert link.unicode_host == link.host and not link.punycode and link.warnings == ()


@pytest.mark.parametrize("url, words", REFUSED)
def test_what_no_user_should_be_sent_to_is_refused(url, words):
    with pytest.raises(LinkError) as caught:
        read_link(url, MOST)
    assert words in str(caught.value), caught.value
    assert isinstance(caught.value, LocalProtocolError) and len(str(caught.value)) < 300


WARNED = [
    ("http://example.com/", "example.com", ["not encrypted"]),
    ("http://127.0.0.1.example.com/", "127.0.0.1.example.com", ["not encrypted"]),
    ("http://128.0.0.1/", "128.0.0.1", ["not encrypted", "address instead of a name"]),
    ("https://192.0.2.1/", "192.0.2.1", ["address instead of a name"]),
    ("https://[2001:db8::1]/", "2001:db8::1", ["address instead of a name"]),
    ("https://2130706433/", "2130706433", ["address instead of a name"]),
    ("https://0x7f000001/", "0x7f000001", ["address instead of a name"]),
    ("https://xn--pple-43d.com/", "xn--pple-43d.com", ["Punycode", "mixes CYRILLIC and LATIN"]),
    ("https://\u0430pple.com/", "xn--pple-43d.com", ["Punycode", "mixes CYRILLIC and LATIN"]),
    ("https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", ["Punycode"]),  # all Cyrillic, looks like a brand
    ("https://login.xn--bcher-kva.example/", "login.xn--bcher-kva.example", ["Punycode"]),
    ("https://B\u00fccher.example/", "xn--bcher-kva.example", ["Punycode"]),
    ("https://\u65e5\u672c\u3054.example/", "xn--38jv62nb2a.example", ["Punycode"]),
    ("https://xn--eckwd4c7cu47r2wf.example/", "xn--eckwd4c7cu47r2wf.example", ["Punycode"]),
    ("https://example.com/" + "x" * 2000, "example.com", ["very long (2020 characters)"]),
]


@pytest.mark.spec("elicit.url-suspicious-warning")
@pytest.mark.parametrize("url, host, words", WARNED)
def test_a_person_is_warned_of_what_looks_like_something_else(url, host, words):
    """[2025-11-25 client/elicitation §Safe URL Handling] SHOULD"""
    link = read_link(url, MOST)
    assert link.host == host
    assert len(link.warnings) == len(words), link.warnings
    assert all(word in warning for word, warning in zip(words, link.warnings)), link.warnings
    assert link.punycode == any("Punycode" in word for word in words)
    assert all(warning.isascii() for warning in link.warnings), "what warns must not deceive itself"


@pytest.mark.parametrize("url, expected", [
    ("http://localhost/", True), ("http://LOCALHOST:1/", True), ("http://127.255.0.3/", True), ("http://[::1]/", True),
    ("http://a.localhost/", True), ("http://localhost.example.com/", False), ("http://notlocalhost/", False),
    ("http://127.0.0.1.example/", False), ("http://127.0.0.256/", False), ("http://127.1/", False),
    ("http://0.0.0.0/", False), ("http://[::2]/", False),
])
def test_which_links_lead_to_this_machine(url, expected):
    assert read_link(url, MOST).loopback is expected


def test_full_width_and_other_dots_show_as_what_a_browser_makes_of_them():
    assert read_link("https://example\uff0ecom\u3002evil.example/", MOST).host == "example.com.evil.example"
