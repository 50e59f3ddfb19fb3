"""Scopes by URI: every spelling of a resource, and every way to it, needs what the resource needs."""
from typing import Any, Dict, List

import pytest

from mcp_ref.auth.server.access import ScopePolicy
from mcp_ref.protocol.uris import folded, normal
from tests.support.http_exchange import request
from tests.support.http_modern import STATELESS, enveloped, made
from tests.support.protected import Door
from tests.support.requirements_table import HANDSHAKE

SECRET = "file:///docs/secret.txt"

EQUIVALENT = [
    SECRET, "file:///docs/%73ecret.txt", "file:///docs/secret%2Etxt", "file:///docs/secret%2etxt",
    "file:///%64ocs/secret.txt", "file:///docs/%73%65%63%72%65%74%2E%74%78%74", "FILE:///docs/secret.txt",
    "File:///docs/secret.txt", "file://localhost/docs/secret.txt", "file://LOCALHOST/docs/secret.txt",
    "file:/docs/secret.txt", "file:///docs/./secret.txt", "file:///docs/x/../secret.txt", "file:///../docs/secret.txt",
    "file:///docs/%2E/secret.txt", "file:///docs/x/%2e%2E/secret.txt", "file:///x/../docs/secret.txt",
]
"""[RFC 3986 §6.2.2] [RFC 8089 §2]"""
DOUBTFUL = [
    "file:///docs%2Fsecret.txt", "file:///docs%2fsecret.txt", "file:////docs/secret.txt", "file:///docs//secret.txt",
    "file:///docs/secret.txt/", "file:///docs/secret.txt?", "file:///docs/secret.txt?x=1", "file:///docs/secret.txt#",
    "file:///docs/secret.txt#top", "file:///DOCS/SECRET.TXT", "file:///docs/Secret.txt", "file:///docs\\secret.txt",
    "file:///docs%5Csecret.txt", "file:///docs/x%2F..%2Fsecret.txt", "file:///docs/secret.txt/.",
    "file:///docs/secret.txt/x/..",
]
"""What a handler of a template, or a file system, may take for the same."""
OTHERS = ["file:///docs/secret.txt2", "file:///docs/secret", "file:///docs/public.txt", "file:///docs/", "file:///docs",
          "file:///secret.txt", "file://host/docs/secret.txt", "http:///docs/secret.txt", "file:///docs/secret.txt/m",
          "file:///docs/%2573ecret.txt", "file:///docs/../secret.txt", "", ":", "%", "secret.txt", "\udcff", "file:"]


def of(table: Dict[str, Any], method: str, uri: Any) -> List[str]:
    """What one request for a URI needs."""
    params: Dict[str, Any] = {"uri": uri}
    if method == "subscriptions/listen":
        params = {"notifications": {"resourceSubscriptions": [uri]}}
    elif method == "completion/complete":
        params = {"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": "a", "value": ""}}
    return ScopePolicy((), table).scopes_for([(method, params)])


@pytest.mark.parametrize("method", ["resources/read", "completion/complete", "resources/subscribe",
                                    "subscriptions/listen"])
@pytest.mark.parametrize("uri", EQUIVALENT + DOUBTFUL)
def test_every_spelling_needs_what_the_resource_needs(uri: str, method: str) -> None:
    """[2026-07-28 basic/authorization/index §Token Handling] MUST"""
    assert of({"resources/read:" + SECRET: "admin"}, method, uri) == ["admin"]
    assert of({"resources/read:" + uri: "admin"}, method, SECRET) == ([] if "?x" in uri else ["admin"])


@pytest.mark.parametrize("method", ["resources/subscribe", "subscriptions/listen"])
@pytest.mark.parametrize("uri", EQUIVALENT + DOUBTFUL)
def test_every_spelling_of_a_subscription_needs_what_the_subscription_needs(uri: str, method: str) -> None:
    table = {"resources/subscribe:" + SECRET: "watch"}
    assert of(table, method, uri) == ["watch"]
    assert of(table, "resources/read", uri) == []


@pytest.mark.parametrize("uri", OTHERS)
def test_other_resources_do_not_need_it(uri: str) -> None:
    assert of({"resources/read:" + SECRET: "admin"}, "resources/read", uri) == []


@pytest.mark.parametrize("uri", [None, 7, [SECRET], {"uri": SECRET}])
def test_what_is_no_text_names_no_resource(uri: Any) -> None:
    assert of({"resources/read:" + SECRET: "admin", "resources/read": "read"}, "resources/read", uri) == ["read"]


def test_keys_that_mean_the_same_add_up() -> None:
    table = {"resources/read:" + SECRET: "a", "resources/read:FILE:///docs/%73ecret.txt": "b", "resources/read": "c"}
    assert of(table, "resources/read", "file:///docs/secret%2Etxt") == ["c", "a", "b"]


@pytest.mark.parametrize("key, uri, needed", [
    ("x://a?p=1&q=2", "x://a?q=2&p=1", True), ("x://a?p=1&q=2", "x://a?p=1&q=2&r=", True),
    ("x://a?p=1", "x://a?%70=%31", True), ("x://a?p=1", "x://a?p=2", False), ("x://a?p=1", "x://a", False),
    ("x://a", "x://a?p=1", True), ("x://a;p=1;q=2/b", "x://a;q=2;p=1/b", False),
    ("x://a/b;p=1;q=2", "x://a/b;q=2;p=1", True),
    ("http://host/a", "HTTP://HOST:80/a", True), ("https://host/a", "https://host:443/a", True),
    ("https://host/a", "https://host:/a", True), ("https://host/a", "https://host:444/a", False),
    ("https://host", "https://host/", True), ("http://[::1]/a", "http://[::1]:80/a", True),
    ("x://h%6Fst/a", "x://HOST/a", True), ("urn:isbn:1", "URN:isbn:1", True), ("urn:isbn:1", "urn:isbn:2", False),
    ("x://a/%C3%A9", "x://a/e%CC%81", True), ("x://a/%C3%A9", "x://a/%C3%89", True), ("x://a/b+c", "x://a/b%2Bc", True),
    ("x://a/%FF", "x://a/%ff", True), ("x://a/%FF", "x://a/%FE", False), ("x://user@a/b", "x://a/b", False),
])
def test_uris_of_other_kinds(key: str, uri: str, needed: bool) -> None:
    assert of({"resources/read:" + key: "s"}, "resources/read", uri) == (["s"] if needed else [])


@pytest.mark.parametrize("method", ["resources/subscribe", "subscriptions/listen"])
@pytest.mark.parametrize("kind", ["resources/read:", "resources/subscribe:"])
@pytest.mark.parametrize("folder, covered", [
    ("file:///docs/", True), ("file:///", True), ("FILE:///%64ocs/", True), ("file://localhost/docs/", True),
    ("file:///docs//", True), ("file:///docs/.", True), ("file:///docs/x/..", True), ("file:///docs/./", True),
    ("file:///x/../", True), ("file:///docs%2F", True), ("file:///Docs/", True), ("file:///docs/?x", True),
    ("file:///docs", False), ("file:///doc/", False), ("file:///docs2/", False), ("file:///docs/secret/", False),
    ("file://host/docs/", False), ("http:///docs/", False), ("file:///docs/other/", False),
])
def test_a_folder_needs_what_anything_below_it_needs(method: str, kind: str, folder: str, covered: bool) -> None:
    """[2026-07-28 basic/authorization/index §Token Handling] MUST: its subscriber hears of all that lies below."""
    assert of({kind + SECRET: "admin"}, method, folder) == (["admin"] if covered else [])


def test_reading_a_folder_does_not_need_what_lies_below_it() -> None:
    assert of({"resources/read:" + SECRET: "admin"}, "resources/read", "file:///docs/") == []
    assert of({"resources/subscribe:" + SECRET: "admin"}, "resources/unsubscribe", SECRET) == []
    assert of({"resources/unsubscribe:" + SECRET: "admin"}, "resources/unsubscribe", EQUIVALENT[1]) == ["admin"]


@pytest.mark.parametrize("method, uri, needed", [
    ("resources/read", "repo://acme/tools", True), ("resources/read", "repo://acme/%74ools", True),
    ("resources/read", "REPO://acme/tools", True), ("resources/read", "repo://acme/x/../tools", True),
    ("resources/read", "repo://acme", False), ("resources/read", "repo://acme/a/b", False),
    ("resources/read", "depot://acme/tools", False), ("completion/complete", "repo://acme/{name}", True),
    ("completion/complete", "repo://acme/tools", True), ("completion/complete", "repo://{owner}/{name}", False),
    ("resources/subscribe", "repo://acme/tools", True), ("resources/subscribe", "repo://acme/", True),
    ("subscriptions/listen", "repo://acme/", True), ("subscriptions/listen", "repo://acme/x/", True),
    ("subscriptions/listen", "repo://other/", False), ("resources/subscribe", "repo://other/tools", False),
])
def test_a_template_holds_for_its_uris(method: str, uri: str, needed: bool) -> None:
    table = {"resources/read:repo://acme/{name}": "s"}
    assert of(table, method, uri) == (["s"] if needed else [])


@pytest.mark.parametrize("template, folder, needed", [
    ("file:///docs/{+path}", "file:///docs/a/b/", True), ("file:///docs/{+path}", "file:///", True),
    ("file:///docs/a{+path}", "file:///docs/b/", True), ("file:///docs/{+path}", "file:///other/", False),
    ("{+any}", "x://a/", True), ("x://{host}/a", "x://b/", True), ("x{+rest}", "x://b/", True),
])
def test_a_folder_needs_what_templates_below_it_need(template: str, folder: str, needed: bool) -> None:
    assert of({"resources/subscribe:" + template: "s"}, "resources/subscribe", folder) == (["s"] if needed else [])


def test_a_template_that_is_malformed_is_told() -> None:
    for key in ("resources/read:x://{a", "resources/read:x://a}", "resources/subscribe:{}"):
        with pytest.raises(ValueError):
            ScopePolicy((), {key: "s"})


@pytest.mark.parametrize("uri, form", [
    (SECRET, SECRET), ("FILE:///docs/%73ecret%2etxt", SECRET), ("http://EX.com:80?q", "http://ex.com/?q"),
    ("https://ex.com:443/a/../b", "https://ex.com/b"), ("x://A%2fB/c%2fd", "x://a%2Fb/c%2Fd"),
    ("urn:A:b%2a", "urn:A:b%2A"),
    ("x:/../..", "x:/"), ("x:/a/..", "x:/"), ("x:/a/b/.", "x:/a/b/"), ("x:/a#%7e", "x:/a#~"), ("x://h", "x://h"),
    ("https://u:p@H:8443/", "https://u:p@h:8443/"), ("no uri", "no uri"), ("x:/a%zz", "x:/a%zz"),
    ("x:a/../b", "x:a/../b"),
])
def test_the_normal_form(uri: str, form: str) -> None:
    """[RFC 3986 §6.2.2]"""
    assert normal(uri) == form == normal(form) and folded(uri) == folded(form)


def test_a_long_uri_takes_little_time() -> None:
    for uri in ("x:" + "/.." * 40_000, "x://" + "%41" * 40_000, "x:/" + "a/" * 40_000 + "../" * 40_000, "%25" * 40_000,
                "x:?" + "&" * 100_000, "x:/" + "a;" * 50_000):
        assert of({"resources/read:" + SECRET: "s"}, "resources/subscribe", uri) == []


# -- Over HTTP ---------------------------------------------------------------------------------------------------------


def guarded(revision: str, tmp_path: Any, **options: Any) -> Door:
    """A folder with a secret file, which a reader may not read, and a template that opens files by name."""
    (tmp_path / "secret.txt").write_text("the secret itself")
    (tmp_path / "public.txt").write_text("for all")
    door = Door(revision, needs={"resources/read:" + SECRET: ["admin"], "resources/read:doc://x/secret.txt": ["admin"]})
    door.server.directory(tmp_path, uri="file:///docs/", **options)
    door.server.resource("doc://{folder}/{name}")(lambda folder, name: (tmp_path / name).read_text())
    return door


def _body(reply: Any) -> str:
    """The reply as text, once it is over: a handler may run on another thread."""
    return bytes(reply.done().raw).decode("utf-8")


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("revision", [*HANDSHAKE, STATELESS])
def test_no_spelling_shows_a_file_without_its_scope(revision: str, listed: bool, tmp_path: Any) -> None:
    with guarded(revision, tmp_path, listed=listed) as door:
        assert "for all" in _body(door.ask("resources/read", {"uri": "file:///docs/public.txt"}, "good"))
        by_name = ["doc://x/%73ecret.txt", "doc://x/secret%2Etxt", "DOC://x/secret.txt"]
        for uri in EQUIVALENT + DOUBTFUL + OTHERS + by_name:
            if uri.isascii():
                reply = door.ask("resources/read", {"uri": uri}, "good")
                assert "secret itself" not in _body(reply), uri
        for uri in (SECRET, "file:///docs/%73ecret.txt", "doc://x/%73ecret.txt"):
            refused = door.ask("resources/read", {"uri": uri}, "good")
            assert refused.status == 403 and door.challenge(refused)["scope"] == "admin"


def test_the_name_in_the_header_is_that_of_the_body() -> None:
    """[2026-07-28 basic/transports/streamable-http §Server Validation] MUST: what a proxy goes by."""
    with Door(STATELESS) as door:
        door.server.resource("file:///docs/secret.txt")(lambda: "the secret itself")
        body = request(1, "resources/read", enveloped({"uri": SECRET}))
        for other in EQUIVALENT[1:] + DOUBTFUL:
            reply = door.send(made(body, {**door.fields("good"), "Mcp-Name": other}))
            assert reply.status == 400 and "-32020" in _body(reply), other
        assert door.send(made(body, {**door.fields("good"), "Mcp-Name": SECRET})).status == 200
