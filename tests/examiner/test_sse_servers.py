"""The examiner against servers of HTTP+SSE: ours keeps everything, and each scene notices a server that lies."""
from dataclasses import replace
from typing import Any, Callable, Iterator, List, Tuple

import pytest

from mcp_ref import Server
from mcp_ref.devtools.examiner import wire_to
from mcp_ref.devtools.examiner.examination import Examination
from mcp_ref.devtools.examiner.scenes import load
from mcp_ref.devtools.examiner.wire import Reaction, Sse, serves_sse
from mcp_ref.revisions import REVISIONS, revision
from mcp_ref.wiretrace import Trace
from mcp_ref.wiretrace.sse import SseBlock
from tests.examiner.test_servers import QUICK, expect_kept, make_server, named
from tests.support.patience import WAIT, patience

FIRST = "2024-11-05"


@pytest.fixture(scope="module")
def server() -> Server:
    return make_server()


@pytest.fixture
def address(server: Server) -> Iterator[str]:
    with server.listen("http://127.0.0.1:0") as listener:
        yield listener.address.replace("/mcp", "/sse")


@pytest.mark.parametrize("name", [each.name for each in REVISIONS if each.handshake])
def test_our_server_keeps_everything_over_http_sse(address: str, name: str) -> None:
    chapter = Examination(wire_to(address), [revision(name)], patience=WAIT).run()[0]
    assert chapter.wire == "sse"
    expect_kept(chapter)
    ids = {row.requirement.id for row in chapter.rows()}
    assert ("http.origin-validate" in ids) == (name == FIRST) and "stdio.exit-on-eof" not in ids


def test_the_transport_is_found_out(address: str) -> None:
    assert serves_sse(address)
    assert not serves_sse(address.replace("/sse", "/mcp"))
    assert not serves_sse(address.replace("/sse", "/nowhere"))


class LyingSse(Sse):
    """HTTP+SSE to a server whose events, and whose answers to POSTs, are edited."""

    noise: Tuple[SseBlock, ...] = ()
    """Blocks that come before the first one."""
    strays = False
    """No message comes by the stream."""
    reaction: Callable[[Any, Any, Reaction], Reaction] = staticmethod(lambda wire, value, answer: answer)
    drops: Tuple[str, ...] = ()
    """Header fields that the server does not look at."""

    def _take(self, block: SseBlock) -> None:
        for each in self.noise if not self.first else ():
            super()._take(each)
        if not (self.strays and self.messages and block.is_message):
            super()._take(block)

    def post(self, value: Any, fields: Any = (), seconds: float = 10.0) -> Reaction:
        sent = [(name, text) for name, text in fields if name not in self.drops]
        return type(self).reaction(self, value, super().post(value, sent, seconds))


def dies(wire: Any, value: Any, answer: Reaction) -> Reaction:
    """A message to a stream that has ended ends this one."""
    if answer.status is not None and answer.status >= 400:
        wire.close()
    return answer


LIES: List[Tuple[str, str, Any]] = [
    ("endpoint-event", "sse.endpoint-event", {"noise": (SseBlock({"event": "ready"}, b"{}"),)}),
    ("posted-message", "sse.endpoint-post", {"reaction": staticmethod(
        lambda wire, value, answer: replace(answer, status=405) if value["method"] == "ping" else answer)}),
    ("posted-message", "sse.endpoint-sse", {"strays": True}),
    ("foreign-origin-sse", "http.origin-validate", {"drops": ("Origin",)}),
    ("dead-stream", "sse.endpoint-post", {"reaction": staticmethod(dies)}),
]


@pytest.mark.parametrize("scene, id, lie", LIES, ids=["%s-%s" % row[:2] for row in LIES])
def test_a_lie_over_http_sse_is_named(address: str, scene: str, id: str, lie: Any) -> None:
    lying = type("Lie", (LyingSse,), lie)
    seconds = patience(QUICK) if "strays" in lie else WAIT
    chapter = Examination(lambda trace: lying(address, trace), [revision(FIRST)], only=[scene], patience=seconds).run(
        )[0]
    assert id in named(chapter), (chapter.refused, chapter.scenes, chapter.faults)


def test_every_scene_of_http_sse_that_decides_has_a_lie() -> None:
    assert {name for name, row in load().items() if row.wires == ("sse",) and row.ids} == {row[0] for row in LIES}


def test_messages_are_posted_to_no_other_origin(address: str) -> None:
    lying = type("Lie", (LyingSse,), {"noise": (SseBlock({"event": "endpoint"}, b"http://evil.example/m"),)})
    wire = lying(address, Trace(lambda event: None))
    with pytest.raises(Exception, match="another origin, http://evil.example"):
        wire.open()
