"""The examiner and authorization: our protected server keeps everything, and each scene notices a lie."""
import socket
from dataclasses import replace
from typing import Any, Callable, Iterator, List, Optional, Tuple

import pytest

from mcp_ref.auth import AccessToken, ResourceServer
from mcp_ref.devtools.examiner import examine
from mcp_ref.devtools.examiner.examination import Chapter, Examination
from mcp_ref.devtools.examiner.scenes import load
from mcp_ref.devtools.examiner.wire import Reaction, Web
from mcp_ref.revisions import REVISIONS, revision
from tests.examiner.test_servers import HANDSHAKE, LAST, LyingWeb, Request, expect_kept, make_server, named
from tests.support.patience import WAIT

TOKEN = "a-token-that-was-issued"
ISSUER = "https://issuer.example"
ROWS = {name: row for name, row in load().items() if row.play.__module__.endswith(".authorization")}
LATER = ("metadata", "guarded-methods")
"""Scenes that 2025-03-26 does not have."""


@pytest.fixture
def address() -> Iterator[str]:
    place = socket.create_server(("127.0.0.1", 0))
    url = "http://127.0.0.1:%d/mcp" % place.getsockname()[1]
    known = {TOKEN: AccessToken(subject="ada", issuer=ISSUER, audience=[url], scopes=["read"])}
    server = make_server()
    server.auth = ResourceServer(url, [ISSUER], known.get, scopes=["read"])
    with server.listen(url, fds=[place.detach()]):
        yield url


@pytest.mark.parametrize("name", ["2025-03-26", LAST])
def test_our_protected_server_keeps_everything(address: str, name: str) -> None:
    chapter = examine(address, [revision(name)], patience=WAIT, headers={"Authorization": "Bearer " + TOKEN})[0]
    expect_kept(chapter)
    assert {each for each, why in chapter.scenes.items() if each in ROWS and why} == set()


@pytest.mark.parametrize("name", [each.name for each in REVISIONS[1:]])
def test_without_a_token_only_authorization_is_examined(address: str, name: str) -> None:
    chapter = examine(address, [revision(name)], patience=WAIT)[0]
    assert not chapter.refused and chapter.faults == []
    played = {each for each, why in chapter.scenes.items() if not why}
    assert played == set(ROWS) - set(() if revision(name).version_header else LATER)
    assert "--token-env" in chapter.scenes["unknown-method"]


def test_a_server_for_everybody_is_not_examined() -> None:
    with make_server().listen("http://127.0.0.1:0") as listener:
        chapter = examine(listener.address, [revision(LAST)], patience=WAIT)[0]
        assert {chapter.scenes[name] for name in ROWS} == {"the server lets clients in without a token"}


def test_no_token_is_sent_in_a_url_or_to_others(address: str) -> None:
    targets: List[Tuple[str, Any]] = []

    def seen(asked: Request, answer: Reaction) -> Reaction:
        targets.append((asked.method, asked.fields.get("authorization")))
        return answer

    chapter = _examined(address, seen, "metadata", HANDSHAKE)
    assert not chapter.faults and TOKEN not in str(targets)


Edit = Callable[[Request, Reaction], Reaction]


def _examined(address: str, edit: Edit, scene: str, name: str, token: Optional[str] = TOKEN) -> Chapter:
    def make(trace: Any) -> Web:
        wire = LyingWeb(address, trace, edit)
        wire.fields = (("Authorization", "Bearer " + str(token)),) if token else ()
        return wire

    return Examination(make, [revision(name)], only=[scene], patience=WAIT).run()[0]


def answers(status: int, when: Callable[[Request], Any], fields: Any = None) -> Edit:
    """A request without our token gets another status, and with 200 a result."""
    def edit(asked: Request, answer: Reaction) -> Reaction:
        if answer.status != 401 or not when(asked):
            return answer
        message = {"jsonrpc": "2.0", "id": 1, "result": {}} if status == 200 else None
        return replace(answer, status=status, message=message, fields=answer.fields if fields is None else fields)
    return edit


def documents(**members: Any) -> Edit:
    """The metadata has other members; None takes one away."""
    def edit(asked: Request, answer: Reaction) -> Reaction:
        if asked.method != "GET" or answer.message is None:
            return answer
        made = {**answer.message, **members}
        return replace(answer, message={name: value for name, value in made.items() if value is not None})
    return edit


def no_metadata(asked: Request, answer: Reaction) -> Reaction:
    if asked.method == "GET":
        return replace(answer, status=404, message=None)
    return replace(answer, fields=(("WWW-Authenticate", "Bearer"),)) if answer.status == 401 else answer


def shown(*beginnings: str) -> Callable[[Request], bool]:
    return lambda asked: asked.fields.get("authorization", "").startswith(beginnings)


def bare(asked: Request) -> bool:
    return "authorization" not in asked.fields


def unchallenged(asked: Request, answer: Reaction) -> Reaction:
    return replace(answer, fields=()) if answer.status == 401 and not bare(asked) else answer


UNSIGNED = shown("Bearer ey")
LIES = (
    ("no-token", "auth.unauthorized-401", "2025-03-26", answers(403, bare)),
    ("no-token", "auth.status-401", LAST, answers(403, bare)),
    ("metadata", "auth.prm-server", LAST, no_metadata),
    ("metadata", "auth.prm-server", HANDSHAKE, documents(resource=None)),
    ("metadata", "auth.prm-authorization-servers", HANDSHAKE, documents(authorization_servers=[])),
    ("metadata", "auth.prm-via-header", HANDSHAKE, no_metadata),
    ("metadata", "auth.prm-via-well-known", LAST, no_metadata),
    ("bad-tokens", "auth.invalid-token-401", "2025-03-26", answers(403, shown("Bearer examiner"))),
    ("bad-tokens", "auth.validate-tokens", LAST, answers(200, shown("Bearer examiner"))),
    ("bad-tokens", "auth.validation-failure-response", HANDSHAKE, unchallenged),
    ("bad-tokens", "auth.audience", LAST, answers(200, UNSIGNED)),
    ("bad-tokens", "auth.audience-rejected", LAST, answers(200, UNSIGNED)),
    ("bad-tokens", "auth.only-own-tokens", LAST, answers(200, UNSIGNED)),
    ("bad-tokens", "auth.no-other-tokens", LAST, answers(200, UNSIGNED)),
    ("guarded-methods", "auth.audience-before-processing", LAST, answers(
        200, lambda asked: (asked.message or {}).get("method") == "prompts/list")),
    ("malformed-authorization", "auth.status-400", LAST, answers(500, lambda asked: asked.fields.get(
        "authorization") in ("Bearer", "examiner"))),
)


@pytest.mark.parametrize("scene, id, name, edit", LIES, ids=["%s-%s-%s" % row[:3] for row in LIES])
def test_a_lie_about_authorization_is_named(address: str, scene: str, id: str, name: str, edit: Edit) -> None:
    chapter = _examined(address, edit, scene, name)
    assert id in named(chapter), (chapter.refused, chapter.scenes, chapter.faults)


def test_every_scene_of_authorization_that_decides_has_a_lie() -> None:
    assert {(name, id) for name, row in ROWS.items() for id in row.ids} == {row[:2] for row in LIES}


def test_a_server_that_asks_for_something_else_is_not_accused(address: str) -> None:
    """It may authorize by other means than those of the pages."""
    def basic(asked: Request, answer: Reaction) -> Reaction:
        if asked.method == "GET":
            return replace(answer, status=404, message=None)
        return replace(answer, fields=(("WWW-Authenticate", "Basic realm=\"x\""),)) if answer.status == 401 else answer

    for token in (TOKEN, None):
        for scene in ROWS:
            faults = _examined(address, basic, scene, LAST, token).faults
            assert {each.id for each in faults} <= {"auth.scope-in-challenge"}, scene
