"""The checker rides along in the tests: on each kind of connection it is told of connections and messages."""
import sys
import urllib.error
import urllib.request
from typing import Callable, Dict

import pytest

from mcp_ref import Server, connect
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
