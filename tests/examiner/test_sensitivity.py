"""The sensitivity of the examiner: faults that the faulty server and client are given are found, and rightly named.

Here a sample is shown, each fault with the scene alone that has found it, as the table of the full measurement says::

    python3 tests/examiner/faulty/measure.py --write
"""
from pathlib import Path

import pytest

from mcp_ref.devtools.examiner.pages import calls
from mcp_ref.devtools.examiner.scenes import load
from tests.examiner.faulty.faults import CLIENT, SERVER
from tests.examiner.faulty.measure import FOUND, MISSED, TABLE, examined, examined_client, judged, key, places
from tests.support.patience import WAIT, patience

ROWS = [line.split("\t") for line in Path(TABLE).read_text("utf-8").splitlines()]
BY_NAME = {row[0]: row for row in ROWS}
MOST = 12
"""The faults of the sample: they are a second each on a slow machine."""
UNANSWERED = {"error-id-other": 0.5, "http-stream-open": 0.5, "client:answer-id": 1.5}
"""Fault by which something does not come -> the seconds to wait for it on an idle machine."""
LIES = {
    "before-initialized": "early-request", "calls-of-an-able-client": "tools-by-connection",
    "cancel-calls": "cancel-answered", "batch-of-notifications": "batch-empty-answer",
    "subscribed": "listen-all", "stream-ends": "http-stream-open", "listening": "http-broadcast",
    "unknown-notification": "answers-notifications",
}
"""Scene that has no other server that lies -> a fault that it finds."""
SAMPLE = [fault for fault in SERVER if BY_NAME.get(fault.name, [MISSED] * 6)[3] == FOUND and BY_NAME[fault.name][5]]
SAMPLE = SAMPLE[::max(1, len(SAMPLE) // MOST)]
OF_CLIENTS = [fault for fault in CLIENT if BY_NAME.get(key(fault), [MISSED] * 6)[3] == FOUND and BY_NAME[key(fault)][5]]
OF_CLIENTS = OF_CLIENTS[::max(1, len(OF_CLIENTS) // (MOST // 3))]


def seconds_for(name: str) -> float:
    """Return the patience of the examiner with a fault."""
    return patience(UNANSWERED[name]) if name in UNANSWERED else WAIT


def test_the_table_has_all_faults_and_nearly_all_are_found():
    assert [row[0] for row in ROWS] == [key(fault) for fault in SERVER + CLIENT]
    assert len(SERVER) + len(CLIENT) >= 150
    for faults in (SERVER, CLIENT):
        found = [key(fault) for fault in faults if BY_NAME[key(fault)][3] == FOUND]
        assert len(found) >= 0.95 * len(faults), sorted(set(map(key, faults)) - set(found))


@pytest.mark.parametrize("fault", SAMPLE, ids=lambda fault: fault.name)
def test_a_fault_is_found_by_its_scene(fault):
    _, revision, transport, _, _, scenes = BY_NAME[fault.name]
    chapter = examined(fault.name, revision, transport, tuple(scenes.split()) or ("content-types",),
                       seconds_for(fault.name))
    measured = judged(fault, (revision, transport), chapter)
    assert measured.verdict == FOUND, (measured, chapter.faults)


@pytest.mark.parametrize("fault", OF_CLIENTS, ids=lambda fault: fault.name)
def test_a_fault_of_a_client_is_found_by_its_scene(fault):
    _, revision, transport, _, _, scenes = BY_NAME[key(fault)]
    chapter = examined_client(fault.name, revision, transport, tuple(scenes.split()), seconds_for(key(fault)))
    measured = judged(fault, (revision, transport), chapter)
    assert measured.verdict == FOUND, (measured, chapter.faults)


@pytest.mark.parametrize("scene", sorted(LIES))
def test_a_scene_finds_a_fault_and_nothing_without_it(scene, monkeypatch):
    fault = next(each for each in SERVER if each.name == LIES[scene])
    place = next(places(fault, False))
    assert not examined("", *place, (scene,), WAIT).faults
    monkeypatch.setattr(calls, "_CROSSING", 0.0)
    monkeypatch.setattr(calls, "_AFTER", WAIT)  # the answer that must not come will
    assert judged(fault, place, examined(fault.name, *place, (scene,), seconds_for(fault.name))).verdict == FOUND


def test_every_scene_of_these_pages_has_a_lie():
    pages = {name for name, row in load().items() if row.play.__module__.rpartition(".")[2] == "streams"}
    assert pages <= set(LIES)


def test_without_a_fault_nothing_is_found_by_these_scenes():
    scenes = tuple(sorted({scene for row in ROWS for scene in row[5].split() if (
        scene in load() and not row[0].startswith("client:")) and row[1:3] == ["2026-07-28", "stdio"]}))
    chapter = examined("", "2026-07-28", "stdio", scenes, WAIT)
    assert not chapter.refused and not chapter.faults
    assert judged(SERVER[0], ("2026-07-28", "stdio"), chapter).verdict == MISSED
