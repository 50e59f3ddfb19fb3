"""Legal traffic of a revision, and random mutations of it: the same seed and number give the same bytes.

Nothing in it changes a server: tools are named only if they may be called, and everything else that is named there is
not.
"""

from random import Random
from typing import Any, Dict, Iterator, List, Tuple

from ...jsontext import dumps
from ...methods import BOTH, CLIENT, REQUEST, methods
from ..pages.frames import ordinary
from ..stage import SceneStage
from ..talk import Talk
from .texts import Frame

_NOBODY = "examiner-no-such-name"
_NOWHERE = "examiner://nowhere/at-all"
_PARAMS: Dict[str, Dict[str, Any]] = {
    "tools/call": {"name": _NOBODY, "arguments": {"a": 1}}, "prompts/get": {"name": _NOBODY, "arguments": {"a": "b"}},
    "resources/read": {"uri": _NOWHERE}, "resources/subscribe": {"uri": _NOWHERE},
    "resources/unsubscribe": {"uri": _NOWHERE}, "logging/setLevel": {"level": "emergency"},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": _NOBODY}, "argument": {"name": "a", "value": "b"}},
}
_LEFT_OUT = frozenset(("initialize", "subscriptions/listen"))
"""The methods that would open a session again, or are answered by a stream that does not end."""
_TOKENS: Tuple[bytes, ...] = (
    b"null", b"true", b"{}", b"[]", b'""', b"-1", b"1e999", b"\\ud800", b"\\u0000", b"\xff", b"\x00", b"\r", b'"id":',
    b"{", b"}",
    b"[", b"]", b",", b":", b'"', b"\\", b"9" * 30, b'"jsonrpc":"2.0",', b'"method":"ping",', b"\xef\xbb\xbf",
    b"\xed\xa0\x80")
_MOST_CHANGES = 4


def requests(stage: SceneStage, talk: Talk) -> List[Dict[str, Any]]:
    """Return a legal request for each method of the revision, and one for each tool that may be called."""
    names = [row.name for row in methods(stage.revision) if row.kind == REQUEST and row.sender in (CLIENT, BOTH)
             and row.carrier == "wire" and row.name not in _LEFT_OUT]
    found = [talk.message(name, _PARAMS.get(name), id="h-" + name) for name in dict.fromkeys(names)]
    try:
        tools = stage.callable()
    except Exception:  # NotExamined: there is none
        tools = []
    return found + [talk.message("tools/call", {"name": tool["name"], "arguments": arguments}, id="h-tool-%d" % number)
                    for number, (tool, arguments) in enumerate(tools)]


def make_ordinary(stage: SceneStage, talk: Talk, id: Any) -> Dict[str, Any]:
    """Return the request that every server answers, with an id."""
    return talk.message(ordinary(stage), id=id)


def mutations(likes: List[Dict[str, Any]], seed: int, most: int) -> Iterator[Frame]:
    """Change requests at random, in up to four places each."""
    for number in range(1, most + 1):
        random = Random("%d:%d" % (seed, number))
        like = random.choice(likes)
        data = bytearray(dumps(like).encode("ascii"))
        for _ in range(random.randint(1, _MOST_CHANGES)):
            _change(data, random)
        yield Frame(bytes(data).replace(b"\n", b" "), like)


def _change(data: bytearray, random: Random) -> None:
    """Change one place: a bit, a byte, a piece that is left out, doubled or moved, a token."""
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.randint(1, 12))
    kind = random.randrange(6)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        data[at:at] = bytes([random.randrange(256)])
    elif kind == 2:
        del data[at:end]
    elif kind == 3:
        data[at:at] = data[at:end] * random.randint(1, 50)
    elif kind == 4:
        piece = data[at:end]
        del data[at:end]
        to = random.randrange(len(data) + 1)
        data[to:to] = piece
    else:
        data[at:end] = random.choice(_TOKENS)
