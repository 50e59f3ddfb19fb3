"""The wire: the messages of the numbered examples in all revisions that they have, and the bytes of a raw session.

What differs from run to run is replaced: ports, dates, and whatever looks drawn by lot.
"""
import contextlib
import functools
import importlib
import io
import json
import re
import sys
import tempfile
from typing import Any, Callable, Iterator, List, Pattern, Sequence, Tuple
from urllib.parse import quote

from mcp_ref import REVISIONS, __version__
from tests.meta.facts import ROOT

EXAMPLES = ROOT / "examples"
IN_EACH_REVISION = (
    "03_tools", "04_resources", "05_prompts", "06_progress_and_cancellation", "07_logging", "08_changes",
    "09_pagination", "10_custom_transport", "11_elicitation", "12_sampling", "13_roots", "15_main_thread",
)
"""The examples that are run in each revision; what they expect may hold in some of these only."""
ONCE = (
    "00_from_nothing", "01_frames", "02_messages", "14_host", "16_five_revisions", "17_protected_server", "18_oauth",
    "19_raw_http", "20_tasks", "21_skills", "22_app", "23_around", "24_visible",
)
"""Those that choose their revisions, or in which a stream of the older ones is open beside the rest.
(25_why_does_it_hang is about time.)"""
UNORDERED = ("14_host", "20_tasks", "24_visible")
"""Those in which several threads speak: the lines of a session are sorted."""
UNTOLD_KINDS = ("process", "close", "end", "stderr")
"""Events that come when the other side likes."""
UNTOLD = ("recorder", "pid", "trace", "recorded")
LONGEST = 1000
OF_THIS_RUN: Sequence[Tuple[Pattern[str], str]] = tuple((re.compile(pattern), name) for pattern, name in (
    (r"(127\.0\.0\.1|localhost)(:|%3A)\d+", r"\1\2PORT"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*(?:Z|\+00:00)", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", "DATE"),
    ("|".join(map(re.escape, (str(ROOT), quote(str(ROOT))))), "ROOT"),
    (re.escape(tempfile.gettempdir()) + r"/\w+", "FOLDER"),
    (re.escape(sys.executable), "PYTHON"),
    (r"BaseHTTP/[\d.]+ Python/[\d.]+", "SERVER"),
    (r"(client_id(?:=|\", \"|\": \"))[\w-]+", r"\1ID"),
    (r"(?<![\w-])(?=[\w-]*\d|(?:[\w-]*[a-z][A-Z]){3})(?=[\w-]*[A-Za-z])[\w-]{20,}={0,2}(?:\.[\w-]{16,})*", "***"),
    (r"\*\*\*[0-9a-f]{8}", "***"),
    (r"(\"version\": ?\")" + re.escape(__version__), r"\1VERSION"),
))
"""What differs from run to run -> what stands for it; long words that look drawn by lot are ``***``."""


def plain(text: str) -> str:
    """The same text for each run; a long one is cut."""
    for pattern, name in OF_THIS_RUN:
        text = pattern.sub(name, text)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def lines(events: Sequence[Any]) -> Iterator[str]:
    """A line for each event: who, what, on which exchange and connection, the message, and what else is told."""
    for event in events:
        if event.kind not in UNTOLD_KINDS:
            more = {name: value for name, value in event.more.items() if name not in UNTOLD}
            yield plain(" ".join(filter(None, [
                event.direction[:1].upper() or "-", "" if event.kind == "message" else event.kind,
                "[%d]" % event.exchange if event.exchange else "", event.connection,
                "" if event.message is None else json.dumps(event.message, ensure_ascii=False), event.text,
                json.dumps(more, ensure_ascii=False) if more else ""])))


def example(name: str) -> str:
    """The conversations of an example; in each revision, if it leaves the choice."""
    said: List[str] = []
    with _course() as sessions:
        for revision in map(str, REVISIONS) if name in IN_EACH_REVISION else ("",):
            module: Any = importlib.import_module(name)
            del sessions[:], sys.modules[name]
            if revision:
                module.connect = functools.partial(_connect, module.connect, revision)
            end = ""
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                try:
                    module.main()
                except (Exception, SystemExit) as error:  # what it expects does not hold in this revision
                    end = "ends by " + type(error).__name__
            for session in sessions:
                said += ["", " ".join(filter(None, ["==", revision, session.name, end]))]
                found = lines(session.events)
                said += sorted(found) if name in UNORDERED else found
    return "\n".join(said[1:]) + "\n"


def _connect(connect: Callable[..., Any], revision: str, *values: Any, **options: Any) -> Any:
    return connect(*values, **{"era": revision, **options})


@contextlib.contextmanager
def _course() -> Iterator[List[Any]]:
    """Let examples be imported; the sessions that they end, once they run."""
    sys.path.insert(0, str(EXAMPLES))
    course: Any = importlib.import_module("course")
    ended: List[Any] = []
    original, arguments = course.Session.__exit__, sys.argv
    course.Session.__exit__ = lambda session, *exception: ended.append(session)
    sys.argv = [""]
    try:
        yield ended
    finally:
        course.Session.__exit__, sys.argv = original, arguments
        sys.path.remove(str(EXAMPLES))
