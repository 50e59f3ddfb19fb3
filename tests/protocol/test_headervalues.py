"""Media types, hosts, origins, session ids and tokens, as peers write them, and as nobody should."""
import pytest

from mcp_ref.diagnostics.packagelog import PLACES
from mcp_ref.protocol.streamable_http.header_values import (
    LOOPBACK, Hosts, accepts, authority, bearer, is_session_id, media_type, origin,
)

JSON, SSE = "application/json", "text/event-stream"


@pytest.mark.parametrize("value, wanted", [
    ("application/json", JSON), ("Application/JSON", JSON), ("application/json; charset=utf-8", JSON),
    (" application/json ;x=y", JSON), ("text/event-stream;charset=UTF-8", SSE),
    ("application/vnd.x+json", "application/vnd.x+json"),
    (None, ""), ("", ""), ("json", ""), ("application/", ""), ("/json", ""), ("application/json/x", ""), ("a b/c", ""),
    ("application/json,text/plain", ""), ("*/*", "*/*"),
])
def test_media_types(value, wanted):
    assert media_type(value) == wanted


@pytest.mark.parametrize("value, json, sse", [
    (None, True, True), ("application/json, text/event-stream", True, True), ("application/json", True, False),
    ("text/event-stream", False, True), ("*/*", True, True), ("application/*", True, False), ("text/*", False, True),
    ("", False, False), ("text/html", False, False), ("application/json;q=0", False, False),
    ("application/json;q=0, */*", False, True), ("*/*;q=0, text/event-stream", False, True),
    ("APPLICATION/JSON , TEXT/EVENT-STREAM", True, True), ("application/json;q=0.001", True, False),
    ("application/json; charset=utf-8 ; Q=1.000", True, False), ("application/json;q=2", False, False),
    ("application/json;q=abc, text/event-stream", False, True), ("application/json;q=0;q=1", True, False),
    (",,application/json,", True, False), ("application/*;q=0, application/json", True, False),
    ("application/json;q=0.0000", False, False), ("a" * 100000, False, False), ("," * 100000, False, False),
])
def test_what_a_client_accepts(value, json, sse):
    assert (accepts(value, JSON), accepts(value, SSE)) == (json, sse)


@pytest.mark.parametrize("value, wanted", [
    ("localhost", ("localhost", "")), ("LocalHost:8000", ("localhost", "8000")), ("127.0.0.1:80", ("127.0.0.1", "80")),
    ("[::1]", ("[::1]", "")), ("[::1]:8000", ("[::1]", "8000")), ("example.com.", ("example.com", "")),
    (" example.com\t", ("example.com", "")), ("xn--bcher-kva.example", ("xn--bcher-kva.example", "")),
    ("", None), (":80", None), ("a:", None), ("a:b", None), ("a:999999", None), ("a b", None), ("a/b", None),
    ("user@localhost", None), ("localhost:80:80", None), ("::1", None), ("[::1", None), ("[::1]x", None), ("[]", None),
    ("localhost\x00", None), ("b\u00fccher.example", None), ("localhost,evil.example", None), ("a" * 300, None),
    ("localhost\\@evil.example", None), ("localhost#", None), ("local%68ost", None),
])
def test_hosts_and_ports(value, wanted):
    assert authority(value) == wanted


@pytest.mark.parametrize("value, wanted", [
    ("http://localhost:8000", ("http", ("localhost", "8000"))), ("HTTPS://Example.com", ("https", ("example.com", ""))),
    ("https://example.com:443", ("https", ("example.com", ""))),
    ("http://example.com:443", ("http", ("example.com", "443"))),
    ("http://[::1]:3000", ("http", ("[::1]", "3000"))), ("vscode-webview://abc", ("vscode-webview", ("abc", ""))),
    ("null", None), ("", None), ("localhost", None), ("http://", None), ("http://a/", None), ("http://a b", None),
    ("http://a@b", None), ("://a", None), ("http://a, http://b", None), ("file://", None),
])
def test_origins(value, wanted):
    assert origin(value) == wanted


@pytest.mark.parametrize("names, host, allowed", [
    (LOOPBACK, "localhost", True), (LOOPBACK, "localhost:1", True), (LOOPBACK, "127.0.0.1:65535", True),
    (LOOPBACK, "[::1]:80", True), (LOOPBACK, "LOCALHOST", True), (LOOPBACK, "localhost.", True),
    (LOOPBACK, "evil.example", False), (LOOPBACK, "localhost.evil.example", False), (LOOPBACK, "127.0.0.2", False),
    (LOOPBACK, "evil-localhost", False), (LOOPBACK, "", False), (LOOPBACK, "0.0.0.0", False),
    (["example.com:8000"], "example.com:8000", True), (["example.com:8000"], "example.com", False),
    (["example.com:8000"], "example.com:80", False), (["Example.COM"], "example.com:9", True),
    (["*"], "anything.example:1", True), (["*"], "not a host", True), ([], "localhost", False),
])
def test_allowed_hosts(names, host, allowed):
    assert Hosts(names).allow(host) is allowed


@pytest.mark.parametrize("names, value, allowed", [
    (LOOPBACK, "http://localhost:3000", True), (LOOPBACK, "https://127.0.0.1", True),
    (LOOPBACK, "http://[::1]:1", True), (LOOPBACK, "null", False), (LOOPBACK, "http://evil.example", False),
    (LOOPBACK, "http://localhost.evil.example", False),
    (["https://app.example"], "https://app.example", True), (["https://app.example"], "https://app.example:443", True),
    (["https://app.example"], "http://app.example", False),
    (["https://app.example"], "https://app.example:8443", False),
    (["https://app.example:8443"], "https://app.example:8443", True),
    (["https://app.example"], "https://x.app.example", False),
    (["app.example"], "http://app.example:1", True), (["*"], "null", True), (["*"], "http://evil.example", True),
])
def test_allowed_origins(names, value, allowed):
    assert Hosts(names).allow_origin(value) is allowed


@pytest.mark.parametrize("name", ["", "a b", "http://", "https://a/path", "a:b", "user@host", "http://*"])
def test_a_name_that_is_no_host_is_refused_when_it_is_configured(name):
    with pytest.raises(ValueError, match="is no host: write"):
        Hosts([name])


def test_a_text_in_place_of_a_list_is_refused_for_its_letters_would_be_names():
    with pytest.raises(TypeError, match="a list such as"):
        Hosts("https://app.example")


def test_names_of_a_function_are_those_of_now():
    names = {"a.example"}
    hosts = Hosts(lambda: names)
    assert hosts.changing and not Hosts(LOOPBACK).changing
    for name in ("b.example", "a.example", "*"):
        assert hosts.allow("a.example") and hosts.allow_origin("http://a.example")
        assert not hosts.allow("other.example") and not hosts.allow_origin("http://other.example:1")
        names.add(name)
    assert hosts.allow("other.example") and hosts.allow_origin("null")
    names.clear()
    assert not hosts.allow("a.example") and not hosts.allow_origin("http://a.example") and hosts.names == []


@pytest.mark.parametrize("function, logged", [
    (lambda: 1 // 0, "ZeroDivisionError"), (lambda: None, "TypeError"), (lambda: "a.example", "the text 'a.example'"),
    (lambda: [3], "3 is no host"), (lambda: ["a b"], "'a b' is no host"),
])
def test_a_function_that_fails_allows_nothing_and_is_logged(function, logged, caplog):
    PLACES.reset()
    hosts = Hosts(function)
    assert not hosts.allow("a.example") and not hosts.allow("a") and not hosts.allow_origin("http://a.example")
    assert logged in caplog.text


def test_a_malformed_name_of_a_function_is_left_out_and_the_others_hold(caplog):
    PLACES.reset()
    hosts = Hosts(lambda: ["https://a.example", "a b", "b.example"])
    assert [hosts.allow_origin(each) for each in ("https://a.example", "http://b.example", "http://c.example")] == [
        True, True, False]
    assert caplog.text.count("'a b' is no host: write") >= 1


@pytest.mark.parametrize("value, good", [
    ("a", True), ("1868a90c-7d4b", True), ("!~", True), ("x" * 5000, True),
    ("", False), ("a b", False), ("a\n", False), ("\x7f", False), ("\u00e9", False), ("a\x00", False),
])
def test_session_ids_are_visible_ascii(value, good):
    """[2025-03-26..2025-11-25 basic/transports §Session Management] MUST"""
    assert is_session_id(value) is good


@pytest.mark.parametrize("value, token", [
    ("Bearer abc", "abc"), ("bearer  abc", "abc"), ("BEARER a.b-c_~+/=", "a.b-c_~+/="), (" Bearer abc ", "abc"),
    (None, None), ("", None), ("Bearer", None), ("Bearer ", None), ("Basic abc", None), ("abc", None),
    ("Bearer a b", None),
    ("Bearerabc", None),
])
def test_bearer_tokens(value, token):
    assert bearer(value) == token
