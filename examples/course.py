"""Check the exercises of a chapter; and what all chapters share: a conversation that is checked and drawn.

    python3 examples/course.py 03        # read examples/exercises/03_tools.txt, and say what the checker finds
    python3 examples/03_tools.py         # the chapter: its conversation, message by message, and the ladder
    python3 examples/03_tools.py FOLDER  # the same, and a recording of each conversation in that folder

Each exercise is a conversation that you change until the checker finds what is asked for: a rule, or nothing. You write
into the file of the chapter; the lines are explained in `mcp_ref.devtools.checker.scenes`. A solution of each stands in
`examples/exercises/solutions`.
"""
import pathlib
import sys
from typing import Any, Iterator, List, NamedTuple, Sequence, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from mcp_ref.cli.judge.drawing import judged  # noqa: E402
from mcp_ref.devtools.checker import check  # noqa: E402
from mcp_ref.devtools.checker.scenes import SceneError, trace  # noqa: E402
from mcp_ref.devtools.ladder.text import lines  # noqa: E402
from mcp_ref.wiretrace import Event, JsonLinesSink, Trace  # noqa: E402
from mcp_ref.wiretrace.text import TextSink  # noqa: E402

EXERCISES = pathlib.Path(__file__).resolve().parent / "exercises"


class Session(Trace):
    """A trace that prints its messages; at the end of a ``with`` block it is drawn, and the checker judges it.

    ``broken``: the rules that the conversation breaks on purpose. The program ends with an error if the checker finds
    others, or does not find these. ``quiet``: nothing is printed.
    """

    def __init__(self, name: str = "session", *broken: str, quiet: bool = False) -> None:
        self.name, self.broken, self.quiet = name, sorted(broken), quiet
        self.events: List[Event] = []
        sinks: List[Any] = [self.events.append]
        if not quiet:
            sinks.append(TextSink(sys.stdout))
        self._file = None
        if sys.argv[1:] and pathlib.Path(sys.argv[0]).resolve().parent == EXERCISES.parent:  # a chapter runs
            self._file = JsonLinesSink(str(pathlib.Path(sys.argv[1]) / (name + ".jsonl")))
            sinks.append(self._file)
        super().__init__(*sinks)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._file is not None:
            self._file.close()
        if exception[0] is not None:
            return
        drawn, findings = judged(self.events)
        if not self.quiet:
            print("\n".join(lines(drawn)))
        found = sorted({each.rule.id for each in findings if each.cause is None})
        if found != self.broken:
            raise SystemExit("%s: the checker finds %s, not %s" % (self.name, found, self.broken))


class Exercise(NamedTuple):
    """A conversation to change; ``goal``: the rule that the checker shall find then, or "nothing"."""

    title: str
    task: str
    goal: str
    scene: str

    def outcome(self) -> str:
        """Return what the checker finds in it: the rule of each root cause, "nothing", or why it cannot be read."""
        try:
            findings = check(trace(self.scene, "+"))
        except SceneError as error:
            return str(error)
        return ", ".join(sorted({each.rule.id for each in findings if each.cause is None})) or "nothing"


def exercises(path: pathlib.Path) -> List[Exercise]:
    """Read a file of exercises, or one of solutions: below each title the task, the goal, and the conversation."""
    found = []
    for part in ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")[1:]:
        title, *rest = part.splitlines()
        said = [line[1:].strip() for line in rest if line.startswith(";")]
        goals = [line[5:].strip() for line in said if line.startswith("Goal:")]
        scene = "\n".join(line for line in rest if line.strip() and not line.startswith(";"))
        found.append(Exercise(title.strip(), " ".join(line for line in said if not line.startswith("Goal:")),
                              goals[0] if goals else "", scene))
    return found


def files(begin: str) -> Iterator[pathlib.Path]:
    """Yield the files of exercises whose names begin so."""
    return (path for path in sorted(EXERCISES.glob("*.txt")) if path.name.startswith(begin))


def main(arguments: Sequence[str]) -> int:
    """Say of each exercise of some chapters if it is solved, and what the checker finds now."""
    rows: List[Tuple[str, Exercise]] = [
        (path.stem, exercise) for begin in arguments or ("",) for path in files(begin) for exercise in exercises(path)]
    if not rows:
        print("There is no chapter %s: name one by its first digits, such as 03." % " ".join(arguments))
        return 2
    solved = 0
    for chapter, exercise in rows:
        outcome = exercise.outcome()
        solved += outcome == exercise.goal
        print("%s  %s: %s" % (chapter, exercise.title, "solved" if outcome == exercise.goal else
                              "the checker finds %s; the goal is %s" % (outcome, exercise.goal)))
    print("%d of %d are solved." % (solved, len(rows)))
    return 0 if solved == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
