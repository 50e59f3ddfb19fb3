"""Processes started ahead: each is used once, none that has ended is, and none is left."""
import os
import sys
from typing import Any, List

import pytest

from mcp_ref.devtools.examiner import wire_to
from mcp_ref.devtools.examiner.examination import KEPT, Examination
from mcp_ref.devtools.examiner.talk import Endings, ExaminerConversation, WiresAhead
from mcp_ref.devtools.examiner.wire import Pipe
from mcp_ref.errors import ConnectFailed
from mcp_ref.revisions import revision
from mcp_ref.wiretrace import OPEN, Trace
from tests.cli.running import ROOT
from tests.support.patience import WAIT

WAITS = [sys.executable, "-c", "import sys; sys.stdin.read()"]
ECHO = [sys.executable, str(ROOT / "examples" / "echo_server.py")]


class Made:
    """Makes wires to a command, and keeps them."""

    def __init__(self, command: List[str]) -> None:
        self.command = command
        self.wires: List[Any] = []

    def __call__(self) -> Any:
        self.wires.append(wire_to(self.command)(Trace(lambda event: None)))
        return self.wires[-1]


def runs(pid: Any) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def test_one_process_is_started_ahead_and_ended_if_nobody_needs_it() -> None:
    made = Made(WAITS)
    ahead = WiresAhead(made)
    first, second = ahead.take(), ahead.take()
    assert [first, second] == made.wires[:2]
    first.close()
    second.close()
    ahead.close()
    assert len(made.wires) == 3 and len({wire.pid for wire in made.wires}) == 3
    assert not any(runs(wire.pid) for wire in made.wires)


def test_one_that_has_ended_meanwhile_is_not_used() -> None:
    made = Made([sys.executable, "-c", "pass"])
    ahead = WiresAhead(made)
    ahead.take().close()
    ahead._starting.join(WAIT)
    made.wires[1].wait(lambda message: False, WAIT)
    assert made.wires[1].ended
    assert ahead.take() is made.wires[2]
    ahead.close()
    for wire in made.wires:
        wire.close()


def test_a_command_that_cannot_be_started_is_told_when_a_wire_is_taken() -> None:
    made = Made(WAITS)
    ahead = WiresAhead(made)
    ahead.take()
    made.command = ["examiner-no-such-program"]
    ahead.take().close()  # the one that was started ahead
    for _ in range(2):
        with pytest.raises(ConnectFailed):
            ahead.take()
    made.wires[0].close()
    ahead.close()


def test_conversations_end_beside_others_and_are_waited_for() -> None:
    ended: List[int] = []

    class Slow(Pipe):
        def __init__(self) -> None:
            self.child = None  # type: ignore[assignment]

        def close(self) -> None:
            ended.append(1)

    endings = Endings()
    for _ in range(9):
        endings.end(ExaminerConversation(Slow(), revision("2025-11-25"), 1.0))
    endings.wait()
    assert len(ended) == 9


def test_a_process_that_was_started_in_one_revision_is_judged_in_the_next() -> None:
    opened: List[str] = []
    examination = Examination(wire_to(ECHO), [revision("2025-06-18"), revision("2025-11-25")], only=["same-version"],
                              patience=WAIT, trace=lambda sink: Trace(
                                  sink, lambda event: opened.append(event.connection) if event.kind == OPEN else None))
    chapters = examination.run()
    for chapter in chapters:
        states = {row.requirement.id: row.state for row in chapter.rows()}
        assert states["stdio.server-stdout-only-mcp"] == KEPT and not chapter.faults
    assert len(opened) == 5, "two of each revision, and one that nobody has used"
