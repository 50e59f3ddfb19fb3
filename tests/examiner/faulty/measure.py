"""Switch on one fault of the server and of the client after another, examine, and print what was found::

    python3 tests/examiner/faulty/measure.py [--all] [--jobs N] [--write] [--server | --client] [FAULT...]

A fault of the client is named ``client:FAULT``. A line for each fault and place: the fault, the revision and the
transport, the requirement that it breaks, the requirements that were named, the number of root causes, and the
verdict. Each fault is shown in one place, the newest revision and the first transport that it has; with `--all` in all
of them. The last line has the sums. With `--write` the rows go to `found.tsv` as well, from which
`test_sensitivity.py` knows the scene that finds a fault.

=========  ==========================================================================================================
verdict    meaning
=========  ==========================================================================================================
found      named by the right requirement, as the one root cause or beside it
noisy      named by the right requirement, and there are other root causes
misnamed   found, and named by another requirement
missed     not found
=========  ==========================================================================================================
"""
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator, List, NamedTuple, Tuple

ROOT = Path(__file__).parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from mcp_ref.devtools.checker.rules import load as load_rules  # noqa: E402
from mcp_ref.devtools.examiner import wire_to  # noqa: E402
from mcp_ref.devtools.examiner.clients.stage import ClientExamination  # noqa: E402
from mcp_ref.devtools.examiner.clients.starts import CommandStart  # noqa: E402
from mcp_ref.devtools.examiner.examination import Chapter, Examination  # noqa: E402
from mcp_ref.devtools.examiner.report import ExaminationReport  # noqa: E402
from mcp_ref.revisions import revision  # noqa: E402
from tests.examiner.faulty.faults import CLIENT, REVISIONS, SERVER, Fault  # noqa: E402

PROGRAM = Path(__file__).with_name("server.py")
CLIENT_PROGRAM = Path(__file__).with_name("client.py")
TABLE = Path(__file__).with_name("found.tsv")
FOUND, NOISY, MISNAMED, MISSED = "found", "noisy", "misnamed", "missed"
PATIENCE = 4.0


def key(fault: Fault) -> str:
    """Return the name by which a fault is asked for, and stands in the table: some are of both programs."""
    return ("client:" if fault in CLIENT else "") + fault.name


class Measured(NamedTuple):
    """What an examination made of one fault in one place."""

    fault: Fault
    revision: str
    transport: str
    named: List[str]
    causes: int
    verdict: str
    scenes: List[str]

    @property
    def key(self) -> str:
        """The name of the fault in the table."""
        return key(self.fault)

    def line(self) -> str:
        """Return one line of the table."""
        place = "%s %s" % (self.revision, self.transport)
        return "%-9s %-24s %-17s %-40s %d %s" % (
            self.verdict, self.key, place, self.fault.requirements.split()[0], self.causes,
            " ".join(self.named))


def examined(name: str, revision_name: str, transport: str, only: Tuple[str, ...] = (),
             patience: float = PATIENCE) -> Chapter:
    """Examine the server with a fault (none if empty) in one place."""
    command = [sys.executable, str(PROGRAM)] + (["--fault", name] if name else [])
    if transport == "stdio":
        return run(command, revision_name, only, patience)
    with subprocess.Popen(command + ["--http"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout
        try:
            return run(server.stdout.readline().decode().strip(), revision_name, only, patience)
        finally:
            server.kill()


def examined_client(name: str, revision_name: str, transport: str, only: Tuple[str, ...] = (),
                    patience: float = PATIENCE) -> Chapter:
    """Examine the client with a fault (none if empty) in one place."""
    command = [sys.executable, str(CLIENT_PROGRAM), *(["--fault", name] if name else []), "--revision", revision_name,
               "{words}"]
    return ClientExamination(
        CommandStart(command), [revision(revision_name)], transport, only, patience).run()[0]


def run(server: Any, revision_name: str, only: Tuple[str, ...], patience: float) -> Chapter:
    """Examine a server, and return the chapter of a revision."""
    return Examination(wire_to(server), [revision(revision_name)], ["*"], only, patience).run()[0]


def judged(fault: Fault, place: Tuple[str, str], chapter: Chapter) -> Measured:
    """Return what was found of a fault."""
    rules = load_rules()
    groups = ExaminationReport([chapter]).groups
    wanted = set(fault.requirements.split())
    named = sorted({group.id for group in groups})
    right = [group.id for group in groups if wanted.intersection(
        (group.id, *group.also, *(rules[group.id].also if group.id in rules else ())))]
    verdict = (FOUND if len(named) == 1 else NOISY) if right else MISNAMED if named or chapter.refused else MISSED
    if chapter.refused and not named:
        named = ["(%s)" % chapter.refused]
    return Measured(fault, place[0], place[1], named, len(groups), verdict,
                    sorted({group.scene for group in groups if group.id in right}))


def places(fault: Fault, every: bool) -> Iterator[Tuple[str, str]]:
    """Return the places of a fault: the newest and first, or all."""
    for digit in fault.revisions if every else fault.revisions[-1:]:
        for transport in fault.transports if every else fault.transports[:1]:
            if transport == "stdio" or digit != "1":
                yield REVISIONS[digit], transport


def write(found: List[Measured]) -> None:
    """Write the table; rows of faults that were not measured stay."""
    kept = {line.split("\t")[0]: line for line in TABLE.read_text("utf-8").splitlines()} if TABLE.exists() else {}
    for each in found:
        kept[each.key] = "\t".join((each.key, each.revision, each.transport, each.verdict, " ".join(
            each.named), " ".join(each.scenes)))
    TABLE.write_text("".join(kept[key(fault)] + "\n" for fault in SERVER + CLIENT if key(fault) in kept), "utf-8")


def main(arguments: List[str]) -> int:
    """Measure, and print the table."""
    every, jobs = "--all" in arguments, 2
    if "--jobs" in arguments:
        at = arguments.index("--jobs")
        jobs = int(arguments[at + 1])
        del arguments[at:at + 2]
    names = [each for each in arguments if not each.startswith("--")]
    faults = CLIENT if "--client" in arguments else SERVER if "--server" in arguments else SERVER + CLIENT
    work = [(fault, place) for fault in faults if not names or key(fault) in names for place in places(fault, every)]
    with ThreadPoolExecutor(jobs) as pool:
        made = [(fault, place, pool.submit(examined_client if fault in CLIENT else examined, fault.name, *place))
                for fault, place in work]
        found = []
        for fault, place, chapter in made:
            found.append(judged(fault, place, chapter.result()))
            print(found[-1].line(), flush=True)
    if "--write" in arguments:
        write(found)
    counts = {verdict: sum(each.verdict == verdict for each in found) for verdict in (FOUND, NOISY, MISNAMED, MISSED)}
    print("%d of %d: %s" % (counts[FOUND], len(found), ", ".join("%d %s" % (n, name) for name, n in counts.items())))
    return 0 if counts[FOUND] >= 0.95 * len(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
