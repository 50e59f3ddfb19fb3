"""A server of ours and a scripted client of it, for tests that ask one thing after the other.

    with served(server, "2025-06-18") as peer:
        assert ask(peer, "tools/list")["result"]["tools"] == []
"""
import contextlib
import itertools
import re
from typing import Any, Dict, Iterator, Optional

import pytest

from .requirements_table import every_revision_of
from .scripted import ScriptedPeer

_NUMBERS = itertools.count(1)


def over(id: str) -> Any:
    """Run a test on each revision that states this row."""
    return pytest.mark.parametrize("revision", every_revision_of(id))


@contextlib.contextmanager
def served(server: Any, revision: Any) -> Iterator[Any]:
    """A scripted client of this server, after the handshake; it has the server's ``capabilities``."""
    with ScriptedPeer.of_server(server) as peer:
        client: Any = peer
        client.capabilities = peer.handshake(str(revision))["capabilities"]
        peer.barrier()
        yield client


def assert_masked(error: Any) -> None:
    """An internal error that says whose it is and for which request, and nothing of its reason."""
    assert set(error) == {"code", "message"} and error["code"] == -32603, error
    found = re.fullmatch(r"Internal error in .+ \(request ('[^']*'|\d+)\); the server's log has the details",
                         error["message"])
    assert found and "secret" not in error["message"], error


def ask(peer: Any, method: str, params: Optional[Dict[str, Any]] = None) -> Any:
    """Send a request under an id of its own; the whole response."""
    return peer.call("ask %d" % next(_NUMBERS), method, params)
