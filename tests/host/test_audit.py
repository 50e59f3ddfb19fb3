"""The audit log: one line for each event, whatever servers put into it [.. server/tools §Security Considerations]."""
import io
import json
import os
import stat
import threading

import pytest

from mcp_ref.host import Audit
from tests.support.patience import WAIT

HOSTILE = [
    'a\n{"event": "forged"}', "a\r\nb", "a\u2028b\u2029c\x85d", "\x00\x1b[2J", '"}\n', "\ud800", "\U0001f600",
    "x" * 100_000, ["a\nb"] * 1000, {"k\n%d" % n: n for n in range(1000)}, {"deep": [[[["a\nb"]]]]}, 1e300, 10 ** 4000,
    True,
]


def lines_of(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data == b"" or data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "audit.jsonl")


def test_an_event_is_one_line_that_says_when_what_and_who(path):
    audit = Audit(path, clock=lambda: 1750000000.9996)
    audit.record("connect", "files", outcome="ok", reason=None)
    audit.record("lost", "time", reason="gone")
    assert lines_of(path) == [
        {"time": "2025-06-15T15:06:40.999Z", "seq": 1, "event": "connect", "server": "files", "outcome": "ok"},
        {"time": "2025-06-15T15:06:40.999Z", "seq": 2, "event": "lost", "server": "time", "reason": "gone"},
    ]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("arguments", ["digest", "redacted", lambda arguments: arguments])
def test_no_value_can_forge_a_line_or_make_it_long(path, value, arguments):
    audit = Audit(path, max_line=2000, arguments=arguments)
    audit.record("tool_call", "files", tool=value, arguments={"value": value}, outcome="ok")
    audit.record("next", "files")
    with open(path, "rb") as file:
        data = file.read()
    assert all(32 <= byte < 127 or byte == 10 for byte in data) and data.count(b"\n") == 2
    first, second = lines_of(path)
    assert (first["event"], first["outcome"], second["event"], second["seq"]) == ("tool_call", "ok", "next", 2)
    assert all(len(line) <= 2000 for line in data.split(b"\n"))
    assert audit.dropped == 0


class Odd:
    def __str__(self):
        raise RuntimeError("no")


def circle():
    made = {}
    made["self"] = made
    return made


def wide():
    made = []
    made += [made] * 1000
    return made


def deep():
    made = []
    for _ in range(100_000):
        made = [made]
    return made


@pytest.mark.parametrize("value", [
    Odd(), object(), float("nan"), float("inf"), circle(), wide(), deep(), {1: 2}, {Odd(): 1}, b"bytes", {"a"},
], ids=range(11))
def test_what_json_cannot_hold_costs_its_details_and_not_the_event(path, value):
    audit = Audit(path, arguments=lambda arguments: arguments)
    audit.record("tool_call", "files", arguments=value)
    audit.record("resource", "files", uri=value)
    written = lines_of(path)
    assert [line["event"] for line in written] == ["tool_call", "resource"][:2 - audit.dropped]
    assert audit.dropped == 0 or isinstance(value, dict), "only names that cannot be made texts cost an event"


@pytest.mark.race
def test_lines_of_many_threads_stay_whole_and_in_order(path):
    audit = Audit(path)
    start = threading.Barrier(8)

    def write(number):
        start.wait(WAIT)
        for n in range(50):
            audit.record("tool_call", "s%d" % number, tool="x" * (n * 7 % 600), n=n)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    written = lines_of(path)
    assert [line["seq"] for line in written] == list(range(1, 401))
    for number in range(8):
        assert [line["n"] for line in written if line["server"] == "s%d" % number] == list(range(50))


def test_a_file_is_appended_to_and_is_its_owners_alone(path):
    Audit(path).record("one", "a")
    Audit(path).record("two", "a")
    assert [line["event"] for line in lines_of(path)] == ["one", "two"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_file_that_was_moved_away_is_begun_again(path):
    audit = Audit(path)
    audit.record("one", "a")
    os.rename(path, path + ".1")
    audit.record("two", "a")
    assert [line["event"] for line in lines_of(path)] == ["two"]


def test_a_line_that_was_cut_off_does_not_spoil_the_next(path, monkeypatch):
    audit = Audit(path)
    write = os.write

    def full(number, data):
        monkeypatch.setattr(os, "write", nothing)
        return write(number, data[:10])

    def nothing(number, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    audit.record("one", "a")
    monkeypatch.setattr(os, "write", write)
    audit.record("two", "a")
    with open(path, "rb") as file:
        torn, whole = file.read().splitlines()
    assert len(torn) == 10 and json.loads(whole)["event"] == "two" and audit.dropped == 1


def test_a_path_that_cannot_be_written_is_told_at_once(tmp_path):
    with pytest.raises(OSError):
        Audit(str(tmp_path / "nowhere" / "audit"))


class Broken:
    def write(self, data):
        raise OSError("gone")


@pytest.mark.parametrize("target", [Broken(), lambda event: 1 / 0, lambda: None])
def test_a_target_that_fails_never_raises_into_the_call(target):
    audit = Audit(target)
    audit.record("tool_call", "files")
    audit.record("tool_call", "files")
    assert audit.dropped == 2


def test_text_and_byte_files_and_functions_get_the_same():
    text, data, events = io.StringIO(), io.BytesIO(), []
    for target in (text, data, events.append):
        Audit(target, clock=lambda: 0).record("lost", "a", reason="é")
    assert json.loads(text.getvalue()) == json.loads(data.getvalue()) == events[0]
    assert text.getvalue().encode("ascii") == data.getvalue()


@pytest.mark.parametrize("target", [None, 5, b"path"])
def test_a_target_that_is_none_of_these_is_refused(target):
    with pytest.raises(TypeError):
        Audit(target)


@pytest.mark.parametrize("how, shown", [
    ("digest", "sha256:36a8ab2389f0c5f1bd1c93a7b3d6a40a72f1f0e3"),
    ("redacted", {"password": "***", "path": "a"}),
    (lambda arguments: sorted(arguments), ["password", "path"]),
])
def test_arguments_are_shown_as_set(how, shown):
    events = []
    Audit(events.append, arguments=how).record("tool_call", "a", arguments={"path": "a", "password": "hunter2"})
    found = events[0]["arguments"]
    if how == "digest":
        again = []
        Audit(again.append).record("tool_call", "a", arguments={"password": "hunter2", "path": "a"})
        assert found == again[0]["arguments"] and found.startswith("sha256:") and len(found) == 71
    else:
        assert found == shown
    assert "hunter2" not in json.dumps(events)


def test_secrets_in_other_details_are_masked():
    events = []
    Audit(events.append).record("lost", "a", reason="stderr: Authorization: Bearer abcdefghijklmnop1234567890")
    assert "abcdefghijklmnop" not in json.dumps(events)


def test_another_way_to_show_arguments_is_refused():
    with pytest.raises(ValueError, match="digest, redacted"):
        Audit(io.StringIO(), arguments="plain")


@pytest.mark.parametrize("at", [0, 200, 250, 256, 300, 700])
@pytest.mark.parametrize("name", ["reason", "uri", "target"])
def test_a_secret_that_lies_where_a_long_text_is_cut_is_masked_whole(at, name):
    events, secret = [], "eyJ%s.%s.%s" % ("a" * 300, "b" * 300, "c" * 300)
    text = "x" * (at - 1) + " Bearer %s " % secret + "y" * (700 - at)
    Audit(events.append).record("lost", "a", **{name: text})
    assert not {"aaa", "bbb", "ccc"} & {events[0][name][n:n + 3] for n in range(len(events[0][name]))}
