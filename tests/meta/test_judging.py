"""The checker rides along in the tests: on each kind of connection it is told of connections and messages."""
import json
import sys
import urllib.error
import urllib.request
from typing import Callable, Dict, List

import pytest

from mcp_ref import Server, connect
from mcp_ref.diagnostics.masking import Masker
from mcp_ref.diagnostics.redaction import RULES, _NAMES
from tests.meta.facts import ROOT
from tests.support import judged
from tests.support.patience import WAIT


def over(address: str) -> None:
    """Talk over what listens there."""
    with Server("judged").listen(address) as listener, connect(listener.address, era="legacy") as client:
        client.ping()


def in_memory() -> None:
    with connect(Server("judged")) as client:
        client.discover()


def to_a_child() -> None:
    with connect([sys.executable, str(ROOT / "examples" / "tiny_server.py")]) as client:
        list(client.tools())


def without_a_client() -> None:
    """Reach an endpoint that no client of ours talks to."""
    with Server("judged").listen("http://127.0.0.1:0/mcp") as listener:
        asked = urllib.request.Request(listener.address, b'{"jsonrpc": "2.0", "method": "notifications/x"}', {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
        try:
            urllib.request.urlopen(asked, timeout=WAIT).close()
        except urllib.error.HTTPError as refused:
            refused.close()


KINDS: Dict[str, Callable[[], None]] = {
    "memory": in_memory, "child": to_a_child, "tcp": lambda: over("tcp://127.0.0.1:0"),
    "http": lambda: over("http://127.0.0.1:0/mcp"), "endpoint": without_a_client,
}
FEWEST = {"memory": (2, 4), "child": (1, 2), "tcp": (2, 8), "http": (2, 8), "endpoint": (1, 1)}
"""How many judges each has, one for each side that is ours, and how many messages they are told of together."""


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_said_is_judged(kind: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("judge") != "all":
        pytest.skip("connections are not judged in this run")
    judged.count("tests/meta")
    before = list(judged.COUNTS["tests/meta"])
    KINDS[kind]()
    judged.count("tests/meta")
    seen = tuple(now - then for now, then in zip(judged.COUNTS["tests/meta"], before))
    assert all(count >= least for count, least in zip(seen, FEWEST[kind])), (seen, FEWEST[kind])


SECRET = "q83vEjRW"
LEARNT = (SECRET, 'so "quoted"', "geheim\"\xe9nis", "with\\back")
SECRETS: Dict[str, object] = {
    **{"text " + rule.name: {"text": rule.example} for rule in RULES if not rule.guess},
    **{"name " + name.replace("_", joint): {"a": [{"MY" + name.replace("_", joint).upper(): "x"}]}
       for name in _NAMES for joint in ("", "_", "-")},
    **{"learnt %d" % number: {"text": "it is %s." % secret} for number, secret in enumerate(LEARNT)},
    **{"learnt %d as a name" % number: {secret: 1} for number, secret in enumerate(LEARNT)},
    "learnt in JSON in a text": {"text": json.dumps(LEARNT[1])},
    "session": ["/x?sessionid=abc"], "pair": {"name": "Authorization", "value": "x"}, "beside one that is no secret": {
        "progressToken": 1, "token": 2}, "plural": {"tokens": ["x"]},
    "form": '--x\r\nContent-Disposition: form-data; name="state"\r\n\r\nabc\r\n--x--',
    "kelvin": {"to\u212aen": "x"},
}
HARMLESS = ({"id": 1, "method": "tools/call", "params": {"_meta": {"progressToken": "t", "a/b": None}}},
            ["https://example.com/a?b=c", 1.5, True], "no JSON")


def maskers(known: bool) -> List[Masker]:
    """The one of the judges, and any other; they hide alike."""
    both = [judged.QuickMasker(), Masker()]
    for each in both:
        each._key = b"the same"
        for secret in LEARNT if known else ():
            each.learn(secret)
    return both


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_the_judges_get_to_see_no_secret(name: str) -> None:
    quick, other = maskers(name.startswith("learnt"))
    value = SECRETS[name]
    assert other.json(value) != value or other.raw(json.dumps(value)) != json.dumps(value) or name == "form"
    assert quick.json(value) == other.json(value)
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), str(value)):
        assert quick.raw(text) == other.raw(text)
    escaped = "".join("\\u%04x" % ord(letter) if letter.isalpha() else letter for letter in json.dumps(value))
    assert quick.raw(escaped) == other.raw(escaped)


def test_what_has_no_secret_is_given_to_the_judges_as_it_is() -> None:
    for known in (False, True):
        quick, other = maskers(known)
        assert all(quick.json(each) == other.json(each) == each for each in HARMLESS)
    quick, _ = maskers(False)
    assert all(quick.json(each) is each for each in HARMLESS)
