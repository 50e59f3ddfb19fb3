"""Redaction: each rule masks its example, what is no secret stays, and hostile text takes no longer than other text."""
import json
import time
from typing import Any

import pytest

from mcp_ref.diagnostics.masking import Masker
from mcp_ref.diagnostics.redaction import MASK, RULES, SecretPattern, redact, redact_text, star

by_name = pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
guessing = pytest.mark.parametrize("guess", [False, True])
SURE_NAMES = [
    "token", "access_token", "refreshToken", "id-token", "client_secret", "SECRET", "password", "db_passwd", "apiKey",
    "x-api-key", "api_key", "Authorization", "proxy-authorization", "Cookie", "Set-Cookie", "code_verifier",
    "credentials", "privateKey", "client_assertion", "aws_secret_access_key", "SECRET_KEY", "signingKey", "pwd", "jwt",
]


@guessing
@pytest.mark.parametrize("name", SURE_NAMES)
def test_members_with_secret_names_are_masked(name: str, guess: bool) -> None:
    value = {"params": [{name: "hunter2", "other": "seen"}, {name: ["hunter2", 5]}, {name: 1234}]}
    assert redact(value, guess) == {"params": [{name: MASK, "other": "seen"}, {name: [MASK, MASK]}, {name: MASK}]}


@guessing
@pytest.mark.parametrize("value", [
    {"progressToken": "abc"}, {"_meta": {"progressToken": 5}}, {"maxTokens": 5}, {"nextCursor": "abc"},
    {"nextPageToken": "abc"}, {"code": -32602}, {"code": "print(1)"},
    {"tokens": [5, 7], "usage": {"inputTokens": 5}},
    {"tokens": {"input": 5}}, {"pageTokens": ["abc"]}, {"name": "token", "title": "the token"},
    {"properties": {"token": {"description": "the token"}, "tokens": {"$ref": "#/a", "title": "b"}}},
    {"key": "colour", "value": "blue"}, {"name": "maxTokens", "value": 5, "of": {"value": "blue"}},
    {"inputSchema": {"properties": {"token": {"type": "string", "description": "the token"}}, "required": ["token"]}},
    {"token": None}, {"password": True}, {"secret": ""}, {"token": {}}, {"cwd": "here"}, {5: "a number as name"},
    {"text": "a token is a word; basic facts; state=open; key: value; 1 + 1 = 2; the secret, kept; eyJ"},
    {"uri": "file:///token?x=1"}, {"text": "monkey=1"},
])
def test_what_is_no_secret_stays(value: Any, guess: bool) -> None:
    assert redact(value, guess) == value


KINDS = [
    {"token": {"value": "hunter2-7", "kind": {"list": ["hunter2-7", 77123]}}},
    {"secret": {"type": "bearer", "x": "hunter2-7"}},
    {"credentials": {"db": {"type": "string", "value": "hunter2-7"}}}, {"password": [{"at": "hunter2-7"}]},
    {"tokens": ["hunter2-7"]}, {"passwords": {"me": "hunter2-7"}}, {"apiKeys": "hunter2-7"},
    {"COOKIES": [["hunter2-7"]]},
    {"name": "Authorization", "value": "hunter2-7"}, {"key": "db_password", "value": 77123},
    {"headers": [{"name": "x-api-key", "value": "hunter2-7"}, {"name": "tokens", "value": {"x": ["hunter2-7"]}}]},
    {"text": "https://b.s3.example/k?X-Amz-Expires=60&X-Amz-Signature=hunter2-7"},
    {"text": json.dumps({"url": "https://s.blob.example/c?sv=2026&sig=hunter2-7&se=x"})},
    {"text": r'{"url":"https://g.example/b?X-Goog-Date=1\u0026X-Goog-Signature=hunter2-7"}'},
    {"text": "https://c.example/k?Expires=1&Signature=hunter2-7&Key-Pair-Id=AP"},
]
"""One of each kind of place where a secret is known by what is around it."""


@pytest.mark.parametrize("value", KINDS, ids=repr)
def test_a_secret_is_known_by_its_place(value: Any) -> None:
    """In a value, and in the text of bytes that are no message."""
    masker = Masker()
    for shown in (redact(value), redact(value, guess=True), masker.json(value), masker.raw(json.dumps(value))):
        text = shown if isinstance(shown, str) else json.dumps(shown)
        assert "hunter2" not in text and "77123" not in text and MASK in text
    assert redact(value).keys() == value.keys()


@guessing
@pytest.mark.parametrize("text, masked", [
    ("Authorization: Bearer abc.def-ghi", "Authorization: ***"),
    ("use bearer abcdefgh now", "use bearer *** now"),
    ("Basic dXNlcjpwYXNz", "Basic ***"),
    ("GET /cb?code=abc123&state=xyz", "GET /cb?code=***&state=xyz"),
    ("https://a.example/#access_token=abc&x=1", "https://a.example/#access_token=***&x=1"),
    ("grant_type=authorization_code&code=abc&code_verifier=def&client_secret=ghi",
     "grant_type=authorization_code&code=***&code_verifier=***&client_secret=***"),
    ("DB_PASSWORD=hunter2 ./run", "DB_PASSWORD=*** ./run"),
    ("Set-Cookie: a=b; Path=/\r\nX-Other: c", "Set-Cookie: ***\r\nX-Other: c"),
    ("x-api-key: abc", "x-api-key: ***"),
    ("is eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl valid", "is *** valid"),
    ("key sk-abcdefghijklmnopqrst", "key ***"), ("ghp_abcdefghijklmnopqrst1234", "***"),
    ("id AKIAABCDEFGHIJKLMNOP.", "id ***."), ("glpat-abcdefghijklmnopqrst", "***"), ("xoxb-123456789012-abcdef", "***"),
    ('{"password": "hunter2", "a": "b"}', '{"password": "***", "a": "b"}'),
    ("{'api_key': 'abc'}", "{'api_key': '***'}"),
    (r'"{\"access_token\":\"abc\",\"b\":1}"', r'"{\"access_token\":\"***\",\"b\":1}"'),
    ("postgres://app:hunter2@db.example/x", "postgres://app:***@db.example/x"),
    ("https://me:p@ss@host/", "https://me:***@host/"), ("https://:hunter2@host/", "https://:***@host/"),
    ("a\n-----BEGIN EC PRIVATE KEY-----\nMHcC\nAQ==\n-----END EC PRIVATE KEY-----\nb", "a\n***\nb"),
    ("-----BEGIN PRIVATE KEY-----\nMHcC and the rest is cut", "***"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----", "***"),
])
def test_secrets_inside_text_are_masked(text: str, masked: str, guess: bool) -> None:
    assert redact_text(text, guess) == masked
    assert redact_text(masked, guess) == masked
    block = {"type": "text", "text": text}
    assert redact({"content": [block]}, guess) == {"content": [{"type": "text", "text": masked}]}


@pytest.mark.parametrize("begin", [
    "sk-", "sk_live_", "rk_live_", "github_pat_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "glpat-", "xoxb-", "xoxp-",
    "AKIA", "ASIA", "AIza",
])
def test_keys_of_well_known_services_are_masked(begin: str) -> None:
    key = begin + "ABCDEFGH12345678" * (2 if begin == "AIza" else 1)
    assert redact_text("the key %s, and more" % key) == "the key ***, and more"
    assert redact_text("the key %s" % begin) == "the key %s" % begin


@pytest.mark.parametrize("text, masked", [
    ("api_key: hunter2", "api_key: ***"), ("Password : 'hunter2' is wrong", "Password : '***' is wrong"),
    ("password = hunter2", "password = ***"), ("my-secret := x", "my-secret := ***"),
    ("got 0123456789abcdef0123456789ABCDEF.", "got ***."), ("0x" + "ab" * 20, "***"),
    ("sig=q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=;", "sig=***;"),
    ("k " + "aB3x_Y9zQ4rT8" * 4, "k ***"),
])
def test_guesses_are_masked_in_log_messages_only(text: str, masked: str) -> None:
    assert redact_text(text, True) == masked
    assert redact_text(masked, True) == masked
    assert redact_text(text) == text


@guessing
@pytest.mark.parametrize("text", [
    "/usr/lib/python3.11/site-packages/Package4/Long/Path2/Module7/thing.py", "g" * 100, "Z" * 100, "-" * 100,
    "test_the_Name_of_some_function_that_is_long_2", "ThisIsAnIdentifierWithoutAnyDigitsButLongEnough",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "1" * 20, "0123456789abcdef", "deadbeef" * 3,
    "https://host:8080/a@b", "http://[::1]:80/", "ssh://git@host.example/x", "mail me: a@b.example",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----",
    "no such tool", "skip-abcdefghijklmnopqrst", "task-sk-abcdefghijklmnopqrst", "ghp_short", "AKIA", "barcode=5",
    "the bearer of bad news", "a basic set", "tokens: 5", "cookies = many", "a secretary: Ann", "authorize: yes",
])
def test_text_that_only_resembles_a_secret_stays(text: str, guess: bool) -> None:
    assert redact_text(text, guess) == text


@by_name
def test_each_rule_masks_its_example_and_is_needed_for_it(rule: SecretPattern) -> None:
    assert MASK in redact_text(rule.example, rule.guess)
    assert MASK in rule.apply(rule.example, star)
    assert not rule.words or any(word in rule.example.lower() for word in rule.words)
    assert all(word == word.lower() for word in rule.words)
    if rule.guess:
        assert redact_text(rule.example) == rule.example


PIECES = [
    "eyJ", "eyJ.", "eyJa.eyJb", "bearer ", "Bearer  ", "token", '"token', "token=", "authorization:", "ghp_", "sk-",
    '"token\\\\', 'a"token" : ', "?code=", "-_" * 20 + "token", "://", "://a:", "://a:b", "://a:@", "AKIA", "password:",
    "password :", "token : ' ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-----BEGIN A PRIVATE KEY-----END ", "0x",
    "ab01", "ab01-", "aB3/", "aB3=", "é", "\n", "pwd:=", "private key", "cookie", "-----END PRIVATE KEY-----",
]


@pytest.mark.parametrize("piece", PIECES)
def test_masking_takes_time_in_proportion_to_the_text(piece: str) -> None:
    """Ten times the text may take ten times as long, with room for noise; quadratic would take a hundred times."""

    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        best = 9.9
        for _ in range(3):
            start = time.process_time()
            redact_text(text, True)
            best = min(best, time.process_time() - start)
        return best
    assert cost(40_000) < 40 * cost(4_000) + 0.01


@guessing
def test_a_request_state_is_masked_for_its_base64_holds_answers(guess: bool) -> None:
    """What was masked as the answer to a question is in the state that comes back with the next round."""
    from base64 import b64encode

    state = b64encode(b'{"a": {"q": ["digest", {"action": "accept", "content": {"pin": "hunter2"}}]}}').decode("ascii")
    value = {"id": 1, "result": {"resultType": "input_required", "requestState": state, "inputRequests": {}}}
    assert redact(value, guess)["result"] == {
        "resultType": "input_required", "requestState": MASK, "inputRequests": {}}
    assert state not in redact_text('refused: {"requestState": "%s"}' % state, guess)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.near], ids=lambda rule: rule.name)
def test_long_texts_are_masked_as_short_ones_are(rule: SecretPattern) -> None:
    """Near the words alone, which is quicker, the same is found as anywhere."""
    import random

    chosen = random.Random(7)
    pieces = ["token", "=", '"', "'", ":", " ", "a", "-", "_", "\\", "pass", "word", "jwt", "x" * 30, "\n",
              "api_key", "é"]
    for _ in range(500):
        text = "".join(chosen.choice(pieces) for _ in range(chosen.randint(5, 120)))
        expected = rule.pattern.sub(lambda found: rule.mask(found, star), text)
        assert rule._apply_near(text, text.lower(), star) == expected


def test_a_long_line_is_masked_without_holding_up_others() -> None:
    """The longest time for which a pattern keeps the interpreter is that for a few characters."""
    line = "the quick brown fox jumps over the lazy dog; " * 20_000
    start = time.process_time()
    redact_text(line)
    plain = time.process_time() - start
    start = time.process_time()
    assert redact_text(line + "token=abc").endswith("token=" + MASK)
    assert time.process_time() - start < 4 * plain + 0.05
