"""The masks of a trace: equal for equal secrets, different in each trace, and everywhere that a secret can be."""
import re
import threading
import time
from base64 import b64decode, b64encode
from typing import Any, Callable, List

import pytest

from mcp_ref.diagnostics.masking import MOST_LEARNT, Masker
from tests.support.patience import WAIT

SECRET = "hunter2-hunter2"
MASK = re.compile(r"\*\*\*[0-9a-f]{8}!?")

PARTS = "--b\r\n%s\r\n\r\n%s\r\n--b--\r\n"
PLACES: List[Callable[[Masker, str], Any]] = [
    lambda masker, secret: masker.field("Authorization", "Bearer " + secret),
    lambda masker, secret: masker.field("proxy-authorization", "Custom " + secret),
    lambda masker, secret: masker.field("AUTHORIZATION", secret),
    lambda masker, secret: masker.field("Cookie", "sid=" + secret),
    lambda masker, secret: masker.field("Set-Cookie", "sid=%s; Path=/" % secret),
    lambda masker, secret: masker.field("X-Api-Key", secret),
    lambda masker, secret: masker.field("X-Anything-Else", secret),
    lambda masker, secret: masker.field("DPoP", secret),
    lambda masker, secret: masker.field("Mcp-Session-Id", secret),
    lambda masker, secret: masker.field("WWW-Authenticate", 'Digest nonce="%s"' % secret),
    lambda masker, secret: masker.field("Mcp-Param-Token", secret),
    lambda masker, secret: masker.url("/cb?code=%s&state=x" % secret),
    lambda masker, secret: masker.url("/mcp?sessionId=" + secret),
    lambda masker, secret: masker.url("/mcp?anything=" + secret),
    lambda masker, secret: masker.url("https://h.example/#access_token=" + secret),
    lambda masker, secret: masker.url("https://user:%s@h.example/" % secret),
    lambda masker, secret: masker.form([("code_verifier", secret)]),
    lambda masker, secret: masker.form([("client_secret", secret)]),
    lambda masker, secret: masker.form([("assertion", secret)]),
    lambda masker, secret: masker.form([("whatever", secret)]),
    lambda masker, secret: masker.form([("code_challenge", secret), ("code_challenge_method", "plain")]),
    lambda masker, secret: masker.form([("state", secret)]),
    lambda masker, secret: masker.form([("redirect_uri", "https://h.example/cb?key=" + secret)]),
    lambda masker, secret: masker.document({"refresh_token": secret, "expires_in": 5}),
    lambda masker, secret: masker.message({"params": {"password": secret}})[0],
    lambda masker, secret: masker.message([{"result": {"requestState": secret}}])[0],
    lambda masker, secret: masker.message({"params": {"uri": "https://h.example/?code=" + secret}})[0],
    lambda masker, secret: masker.raw('{"token": "%s", "token": "other"}' % secret),
    lambda masker, secret: masker.raw('{"token": ["%s"], "token": "other"}' % secret),
    lambda masker, secret: masker.text("sent Bearer " + secret),
    lambda masker, secret: masker.text("GET /?PHPSESSID=" + secret),
    lambda masker, secret: masker.text("GET /?SESSION_ID=" + secret),
    lambda masker, secret: masker.text("GET /;jsessionid=" + secret),
    lambda masker, secret: masker.json({"uri": "https://h.example/?PHPSESSID=" + secret}),
    lambda masker, secret: masker.url("/?PHPSESSID=" + secret),
    lambda masker, secret: masker.document({"device_code": secret}),
    lambda masker, secret: masker.document({"userCode": secret}),
    lambda masker, secret: masker.message({"params": {"device_code": secret}})[0],
    lambda masker, secret: masker.raw('{"device_code": "%s"}' % secret),
    lambda masker, secret: masker.raw("device_code=" + secret),
    lambda masker, secret: masker.raw('[{"token": "%s"}, "%s", "cut \\' % (secret, secret)),
    lambda masker, secret: masker.raw(PARTS % ("Content-Disposition: form-data; name=whatever", secret)),
    lambda masker, secret: masker.raw(PARTS % (
        'Content-Type: text/plain\r\nContent-Disposition: form-data; name="file"; filename="a.txt"', secret)),
    lambda masker, secret: masker.raw((PARTS % ('Content-Disposition: form-data; name="a"', secret))[:-9]),
    lambda masker, secret: b64decode(masker.base64(b64encode(
        b"\xff\r\n" + (PARTS % ('Content-Disposition: form-data; name="a"', secret)).encode()).decode())),
    lambda masker, secret: masker.field("Link", "</next?key=%s>; rel=next" % secret),
    lambda masker, secret: masker.field("Link", '<https://h.example/a#token=%s>; rel="next", </b>' % secret),
    lambda masker, secret: masker.data("/messages?session_id=" + secret),
    lambda masker, secret: masker.command(["server", "--api-key", secret]),
    lambda masker, secret: masker.command(["server", "--token=" + secret]),
]


@pytest.mark.parametrize("place", range(len(PLACES)))
def test_a_secret_is_masked_by_the_same_mask_in_every_place(place: int) -> None:
    masker, other = Masker(), Masker()
    shown, elsewhere = repr(PLACES[place](masker, SECRET)), repr(PLACES[place](other, SECRET))
    assert SECRET not in shown and masker.mask(SECRET) in shown, shown
    assert other.mask(SECRET) in elsewhere and masker.mask(SECRET) not in elsewhere, "another trace, another mask"
    assert masker.mask(SECRET) not in repr(PLACES[place](masker, SECRET + "3")), "another secret, another mask"


@pytest.mark.parametrize("place", [0, 5, 8, 10, 11, 12, 16, 17, 23, 31])
def test_what_was_a_credential_once_is_masked_everywhere(place: int) -> None:
    masker = Masker()
    PLACES[place](masker, SECRET)
    told = {"result": {"text": "you are %s!" % SECRET, SECRET: [SECRET]}}
    assert SECRET not in repr(masker.message(told)) and masker.mask(SECRET) in repr(masker.message(told))
    assert SECRET not in masker.text("refused: %s" % SECRET)
    assert SECRET not in masker.field("Last-Event-ID", SECRET + "-1")


def test_configured_secrets_are_masked_however_they_are_written() -> None:
    masker = Masker(["p\xe4ss w\"rd"])
    for text in ("p\xe4ss w\"rd", 'p\\u00e4ss w\\"rd', "p%C3%A4ss%20w%22rd", "p%C3%A4ss+w%22rd"):
        assert MASK.fullmatch(masker.text(text)), text
    assert masker.text("k") == "k"
    masker.configure("k")
    assert MASK.fullmatch(masker.text("k")), "however short"
    with pytest.raises(ValueError, match="one character"):
        Masker([""])


@pytest.mark.parametrize("name, value", [
    ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"), ("Host", "h.example:80"),
    ("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "add"), ("Allow", "GET, POST"),
    ("Mcp-Param-Region", "eu-west"), ("Mcp-Param-Text", "=?base64?w6k=?="), ("Last-Event-ID", "p7-2"),
    ("Location", "https://h.example/mcp?scope=x"), ("Retry-After", "5"), ("Origin", "http://localhost:80"),
    ("WWW-Authenticate", 'Bearer error="invalid_token", scope="a b", resource_metadata="https://h.example/x"'),
])
def test_what_a_rule_looks_at_is_shown(name: str, value: str) -> None:
    assert Masker().field(name, value) == value


def test_what_says_nothing_stays_in_forms_queries_and_commands() -> None:
    pairs = [("grant_type", "authorization_code"), ("client_id", "c1"), ("redirect_uri", "http://127.0.0.1:80/cb"),
             ("resource", "https://h.example/mcp"),
             ("scope", "a b")]
    assert Masker().form(pairs) == [list(pair) for pair in pairs]
    url = "/authorize?response_type=code&client_id=c%201&scope=a+b"
    assert Masker().url(url) == url
    assert Masker().command(["python3", "server.py", "--port", "80"]) == ["python3", "server.py", "--port", "80"]


@pytest.mark.parametrize("session, visible", [("abc-123", True), ("a c", False), ("caf\xe9", False), ("a\x01", False)])
def test_the_mask_of_a_session_id_says_if_it_was_visible_ascii(session: str, visible: bool) -> None:
    masker = Masker()
    shown = masker.field("Mcp-Session-Id", session)
    assert MASK.fullmatch(shown) and shown.endswith("!") != visible
    assert masker.url("/messages?sessionId=" + session.replace(" ", "%20")).endswith(shown)


def test_a_mask_stays_as_it_is_so_that_a_trace_may_be_masked_twice() -> None:
    first, second = Masker(), Masker()
    for place in PLACES:
        for mask in MASK.findall(repr(place(first, SECRET))):
            assert second.mask(mask) == mask
            assert second.field("Authorization", "Bearer " + mask) == "Bearer " + mask
            assert second.form([("code", mask)]) == [["code", mask]]


def test_numbers_that_are_secrets_are_masked_in_raw_text_too() -> None:
    shown = Masker().raw('{"pwd": 81549300, "pwd": 81549300.5, "other": 815493001}')
    assert '"other": 815493001}' in shown and shown.count("***") == 2 and "81549300," not in shown


def test_basic_credentials_are_known_by_their_password_too() -> None:
    masker = Masker()
    masker.field("Authorization", "Basic YzE6aHVudGVyMi1odW50ZXIy")
    assert masker.text(SECRET) == masker.mask(SECRET)


def test_only_so_many_secrets_are_remembered_and_the_configured_ones_always() -> None:
    masker = Masker([SECRET])
    for number in range(2000):
        masker.learn("secret-number-%d" % number)
    assert masker.text("secret-number-1999") != "secret-number-1999"
    assert len(masker._known) < 400 and SECRET not in masker.text(SECRET)


def test_many_threads_learn_at_the_same_time() -> None:
    masker = Masker()

    def learn(start: int) -> None:
        for number in range(start, start + 20):
            masker.field("Authorization", "Bearer the-token-%d" % number)

    threads = [threading.Thread(target=learn, args=(start,)) for start in (100, 200, 300, 400)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert all(masker.text("the-token-%d" % (start + 19)).startswith("***") for start in (100, 200, 300, 400))


@pytest.mark.parametrize("piece", [
    "?sessionId=", "&session_id=a", "?session", "?sessionId=a?", '{"token":"a",', '"token":', "\\u0000", "a=b&", "%41",
    "code=", 'a="', "***", "***1f2e3d4c", "; a=", "=?base64?",
])
def test_masking_takes_time_in_proportion_to_the_text(piece: str) -> None:
    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        best = 9.9
        for _ in range(3):
            masker = Masker(["configured-secret"])
            start = time.process_time()
            masker.text(text)
            masker.raw(text)
            masker.url(text)
            masker.field("WWW-Authenticate", text)
            masker.field("Cookie", text)
            best = min(best, time.process_time() - start)
        return best
    assert cost(20_000) < 40 * cost(2_000) + 0.02


@pytest.mark.parametrize("text", [
    '{"access_token":\n"ab\\/cdefSECRET99"}', '{"requestState":\n"\\u0061SECRETSTATE99"}',
    'level=info token="SECRET99SECRET" password=\'SECRET99SECRET\'',
])
def test_secrets_in_another_spelling_are_masked_in_raw_text(text: str) -> None:
    assert "SECRET" not in Masker().raw(text)


def test_names_of_parameters_are_masked_where_they_hold_secrets() -> None:
    assert "SECRET99" not in str(Masker().form([('{"client_secret":"SECRET99SECRET"}', "")]))


@pytest.mark.parametrize("shown, hidden", [
    (lambda masker: masker.url("/a;jsessionid=SECRET99SECRET/b;v=SECRET99SECRET?x="), "/a;jsessionid="),
    (lambda masker: masker.text("GET /a;jsessionid=SECRET99SECRET HTTP/1.1"), "GET /a;jsessionid="),
    (lambda masker: masker.field("Authorization", "Bearer\tSECRET99SECRET"), "Bearer "),
    (lambda masker: masker.field("Authorization", "SECRET99 SECRET99SECRET"), ""),
    (lambda masker: masker.field("Authorization", "SECRET99="), ""),
    (lambda masker: masker.field("WWW-Authenticate", "Negotiate oYGSECRET99=="), "Negotiate "),
    (lambda masker: masker.field("WWW-Authenticate", "NTLM SECRET99, Basic realm=x"), "NTLM "),
    (lambda masker: masker.field("WWW-Authenticate", "SECRET99"), ""),
    (lambda masker: masker.raw('<form><input type=hidden name="code" value="SECRET99SECRET">'), "<form><input "),
    (lambda masker: masker.raw("<INPUT value='SECRET99SECRET' NAME = state"), "<INPUT value='"),
    (lambda masker: masker.raw('<a href="/cb?x=1&amp;code=SECRET99&amp;state=SECRET99SECRET99">'), '<a href="/cb?x=1&'),
    (lambda masker: masker.stderr("exchanging code=aSECRET99SECRET99 now"), "exchanging code="),
])
def test_secrets_in_odd_places_are_masked(shown: Callable[[Masker], str], hidden: str) -> None:
    text = shown(Masker())
    assert "SECRET" not in text and text.startswith(hidden) and "***" in text


@pytest.mark.parametrize("text", [
    "exit code=1", "code=ECONNREFUSED_BY_THE_PEER", "state=waiting_for_the_client", "issues?state=open",
    "code=12345678901234567890", '<input name="q" value="shoes">', "<output>", "/path;v=", "Basic", "",
])
def test_what_is_no_code_stays(text: str) -> None:
    assert Masker().raw(text) == text


def test_a_private_key_is_masked_over_several_lines_of_stderr() -> None:
    masker = Masker()
    key = ["-----BEGIN RSA PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED", "", "MIIESECRET99", "AQ==SECRET=",
           "-----END RSA PRIVATE KEY-----"]
    lines = ["loading", *key, "loaded", key[0], "MIIESECRET99", "gave up: no end", "MIIE",
             "x " + key[0] + "AB" + key[5]]
    shown = [masker.stderr(line) for line in lines]
    assert not any("SECRET" in line or "Proc-Type" in line for line in shown)
    assert [shown[place] for place in (0, 7, 10, 11)] == ["loading", "loaded", "gave up: no end", "MIIE"]
    assert masker.stderr("MIIE", "other") == "MIIE"
    masker.stderr(key[0])
    assert masker.stderr("MIIE", "other") == "MIIE" and masker.stderr("MIIE") == "***", "each connection has its own"


def test_a_huge_credential_is_masked_and_not_remembered() -> None:
    masker = Masker()
    huge = "x" * 1_000_000
    assert masker.field("Authorization", "Bearer " + huge) == "Bearer " + masker.mask(huge)
    assert not masker._learnt


def test_that_secrets_were_forgotten_is_noted() -> None:
    masker = Masker()
    for number in range(MOST_LEARNT + 1):
        assert not masker.forgot
        masker.learn('the secret "%d"' % number)
    assert masker.forgot and len(masker._learnt) == MOST_LEARNT
    assert masker.known('the secret "1"') != 'the secret "1"' and masker.known('the secret "0"') == 'the secret "0"'


RANDOM = "AbC9dEf8GhI7jKl6MnO5pQr4"


@pytest.mark.parametrize("path, masked", [
    ("/mcp/%s/sse" % RANDOM, True), ("/" + RANDOM, True), ("https://h.example/a/%s;v" % RANDOM, True),
    ("/%s?resource=x" % RANDOM, True), ("/550e8400-e29b-41d4-a716-446655440000/sse", False),
    ("/.well-known/oauth-authorization-server/tenant", False), ("/aVeryLongNameOfAnEndpointOfMine", False),
    ("/2025-11-25/basic/authorization", False), ("/%s.html" % RANDOM, False),
])
def test_a_segment_of_a_path_that_looks_random_is_masked(path: str, masked: bool) -> None:
    """Who has such an address may need nothing else; the names in other paths are what a reader looks for."""
    masker = Masker()
    assert (masker.url(path) != path, RANDOM in masker.url(path)) == (masked, not masked and RANDOM in path)
    assert not masked or masker.url(path) == path.replace(RANDOM, masker.mask(RANDOM))
    assert not masked or RANDOM not in masker.text("connected to /" + RANDOM)


@pytest.mark.parametrize("name", ["User-Agent", "Via", "ETag", "Server"])
def test_fields_that_say_who_spoke_are_shown_but_for_what_looks_like_a_secret(name: str) -> None:
    masker = Masker()
    assert masker.field(name, "client/1.2 (x)") == "client/1.2 (x)"
    assert SECRET not in masker.field(name, "client/1.2 token=" + SECRET)
