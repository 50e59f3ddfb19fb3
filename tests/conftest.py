"""What every test gets without asking: hard limits, and a check that it leaves nothing behind.

Limits: a test and its child processes may use 30 seconds of processor time (marker `time_limit(seconds)` for another
number), which a busy machine does not shorten, and WALL_FACTOR times as many seconds by the clock, which only a test
that hangs can reach. At either limit the stacks of all threads are written to the real stderr, child processes are
killed and the process exits; `tests/tools/steady.py` then continues with the next test in a new process. Where C code
holds the interpreter, `faulthandler` does so a little later. The interpreter's exit has a limit, too,
EXIT_LIMIT_SECONDS.

Leaks: after each test that passed, no thread that can keep the process alive (or that belongs to the library), no open
file descriptor and no child process may be there that was not there before. What ends by itself has LEAK_GRACE_SECONDS.

Rules: what our side does on each connection and each HTTP endpoint of this process is judged by the checker
(`tests.support.judged`) and by the official schema (`tests.support.schema_tap`). A test that breaks a rule on purpose
names it, ``@pytest.mark.sends_illegal("progress.token-active", why="...")``, "schema.json" for what the schema
refuses; or ``rules=`` a function of the arguments of the case. A rule that is named has to be broken. What rides along:

- clients over whatever transport, HTTP with its exchanges, documents and tokens included (as long as they are opened
  as a `Client`); servers on pipes, sockets and in memory; every `Endpoint` and `SseEndpoint`, under whatever engine.
- A child process, by what it writes to the client of the test. A trace that the test makes itself is read.

What does not: the peers that tests write by hand, findings that follow from a fault of theirs, recommendations
(SHOULD); parts that a test uses alone (a channel, a fetcher, a splitter); bodies of more than 4 MiB that an endpoint
gets; what other processes serve over HTTP; the fuzzer, whose peers send anything at any time ("*"); and whatever goes
on after the test. Of a connection that a wider fixture has made the end is not judged.

A test marked ``needs(NAME)`` reads a folder that is not part of the project; without it the test is skipped
(`tests.support.outside`).

`--freeze` writes the files of what must not change (`tests/frozen`).
`--repeat N` runs each selected test marked `race` N times; `--part K/N` the K-th of N parts of all test files;
`--only-ids FILE` the tests that a JSON file lists; `--after ID` the tests that follow this one. `--judge schema` leaves
out the checker's rules, `--judge none` the schema, too. `--journal FILE` records failures, skips and progress for
`tests/tools/steady.py`.
"""
import contextlib
import faulthandler
import gc
import json
import os
import pathlib
import signal
import sys
import threading
import time
import zlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import pytest

TIME_LIMIT_SECONDS = 30.0
WALL_FACTOR = 20.0
LOOK_SECONDS = 1.0
EXIT_LIMIT_SECONDS = 120.0
LEAK_GRACE_SECONDS = 20.0
FD_FOLDER = "/proc/self/fd"
_PROC = os.path.isdir("/proc/self")

FAILED = pytest.StashKey[bool]()
REAL_STDERR = pytest.StashKey[int]()


# --- collecting garbage -----------------------------------------------------------------------------------------------

freeze: Callable[[], None] = getattr(gc, "freeze", lambda: None)  # PyPy has none


def pytest_collection() -> None:
    # What is collected stays: while it grows, looking for garbage in it takes more time than all of the rest.
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    # Nor is it looked through again and again, for what the tests leave, in each full collection.
    freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: Optional[pytest.Item]) -> None:
    """Have each module find the garbage of its own tests; what is left, reports above all, stays to the end, too."""
    if nextitem is None or nextitem.path != item.path:
        if "tests.meta.facts" in sys.modules and (nextitem is None or nextitem.path.parent != item.path.parent):
            sys.modules["tests.meta.facts"].forget_trees()  # the largest thing of all
        gc.collect()
        freeze()


# --- the journal ------------------------------------------------------------------------------------------------------

class _Journal:
    """Appends a JSON line for each failure or skip, for the start and for the end of the run.

    A second file has the running test and its number. Both are on disk at each moment, because a limit ends the process
    without warning.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._lines = open(str(path), "a", encoding="ascii", buffering=1)
        self._running = open(str(path.with_suffix(".running")), "w", encoding="ascii")
        self._number = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.write(collected=len(session.items))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._number += 1
        self._running.seek(0)
        self._running.write(json.dumps([self._number, nodeid]) + "\n")
        self._running.truncate()
        self._running.flush()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.write(test=report.nodeid, message="%s: %s" % (report.when, _message(report)),
                       text=report.longreprtext)
        elif report.skipped and not hasattr(report, "wasxfail"):
            self.write(skipped=report.nodeid, reason=_reason(report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.write(uncollected=report.nodeid)
        elif report.skipped:
            self.write(skipped=report.nodeid, reason=_reason(report))

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if "tests.support.judged" in sys.modules:
            self.write(judged=sys.modules["tests.support.judged"].COUNTS)
        self.write(end=int(exitstatus))

    def pytest_unconfigure(self) -> None:
        self._lines.close()
        self._running.close()

    def write(self, **entry: Any) -> None:
        self._lines.write(json.dumps(entry) + "\n")


def _message(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash is not None else report.longreprtext


def _reason(report: Any) -> str:
    text = report.longrepr[2]  # after file and line
    return text[len("Skipped: "):] if text.startswith("Skipped: ") else text


# --- the limits -------------------------------------------------------------------------------------------------------

def pytest_configure(config: pytest.Config) -> None:
    wrong = _outside().mistaken() if _has_support() else []
    if wrong:
        raise pytest.UsageError("; ".join(wrong))
    # Capturing is suspended here, so fd 2 is still the terminal's or the log's.
    config.stash[REAL_STDERR] = os.dup(2)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell leaves it so for what it runs in the background; children inherit it, and tests interrupt theirs.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("journal"):
        config.pluginmanager.register(_Journal(pathlib.Path(config.getoption("journal"))), "journal")
    if _Clock.works:
        threading.Thread(target=_Clock.watch, name="limit", daemon=True).start()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    _Clock.item = None  # what pytest does now, such as removing old folders, belongs to no test


def pytest_unconfigure(config: pytest.Config) -> None:
    """The interpreter has to end, too: it waits for threads, and a failed test may have left some."""
    if REAL_STDERR in config.stash and _Clock.works:
        faulthandler.dump_traceback_later(EXIT_LIMIT_SECONDS, exit=True, file=config.stash[REAL_STDERR])


class _Clock:
    """The limits of the running test."""

    works = sys.platform != "emscripten"
    """False in a web page, where there are no threads: whoever runs the tests there has to end one that hangs."""
    item: Any = None
    """The test that runs."""
    seconds = TIME_LIMIT_SECONDS
    started = used = 0.0
    """When it started, and the processor time that the process and its ended children had used by then."""
    _set = (0.0, 0.0)
    """The limit of `faulthandler`'s alarm, and when it was set."""

    @classmethod
    def start(cls, item: pytest.Item) -> None:
        marker = item.get_closest_marker("time_limit")
        cls.item, cls.seconds = None, marker.args[0] if marker else TIME_LIMIT_SECONDS
        cls.started, cls.used = time.monotonic(), sum(os.times()[:4])
        cls.item = item
        wall = 1.5 * cls.seconds * WALL_FACTOR  # `watch` comes first, unless it cannot run
        if cls.works and (wall != cls._set[0] or cls.started - cls._set[1] > wall / 100):  # setting it costs a thread
            faulthandler.dump_traceback_later(wall, exit=True, file=item.config.stash[REAL_STDERR])
            cls._set = wall, cls.started

    @classmethod
    def stop(cls) -> None:
        faulthandler.cancel_dump_traceback_later()
        cls._set = 0.0, 0.0

    @classmethod
    def watch(cls) -> None:
        """End the process when a test has reached a limit. Runs in a thread."""
        cores = os.cpu_count() or 1
        while True:
            time.sleep(LOOK_SECONDS)  # polls, as nothing signals that processor time has passed
            item, started, seconds = cls.item, cls.started, cls.seconds
            passed = time.monotonic() - started
            if item is None or passed * cores < seconds:
                continue  # not even with all cores to itself
            children = _descendants()
            used = sum(os.times()[:4]) - cls.used + sum(map(_processor_time, children))
            why = "more than %g s of processor time" % seconds if used > seconds else "more than %g s by the clock" % (
                seconds * WALL_FACTOR) if passed > seconds * WALL_FACTOR else ""
            if why and cls.item is item and cls.started == started:
                _end(item, why, children)


def _end(item: pytest.Item, why: str, children: List[int]) -> None:
    """End the process because of a test; say why."""
    config = item.config
    journal = config.pluginmanager.get_plugin("journal")
    if journal is not None:
        journal.write(ended=item.nodeid, why=why)
    os.write(config.stash[REAL_STDERR], ("\n%s: %s\n" % (item.nodeid, why)).encode("utf-8", "backslashreplace"))
    faulthandler.dump_traceback(config.stash[REAL_STDERR], all_threads=True)
    for child in children:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
    os._exit(1)


def _descendants() -> List[int]:
    """Ids of this process's children, and of theirs."""
    parents = {int(pid): _parent(pid) for pid in os.listdir("/proc") if pid.isdigit()} if _PROC else {}
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def _processor_time(pid: int) -> float:
    """Seconds of processor time that a process and its ended children have used."""
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _Clock.start(item)
    for marker in item.iter_markers("needs"):
        reason = _outside().absent(*marker.args)
        if reason:
            pytest.skip(reason)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: Any) -> None:
    _Clock.stop()  # pytest has done so already, unknown to us, whatever failed: a test, its fixtures, what they left
    if isinstance(node, pytest.Item):
        _Clock.start(node)


# --- what a test leaves behind ----------------------------------------------------------------------------------------

def _threads() -> Set[threading.Thread]:
    return {thread for thread in threading.enumerate() if not thread.daemon or thread.name.startswith("mcp-ref:")}


def _descriptors() -> Set[int]:
    try:
        listed = os.listdir(FD_FOLDER)
    except OSError:
        return set()
    return {int(number) for number in listed if _is_open(int(number))}  # one of them was the listing's own


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
        return True
    except OSError:
        return False


def _children() -> Set[int]:
    """Ids of this process's children, ended but unreaped ones too. Costs one system call while there are none."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (ChildProcessError, AttributeError):
        return set()
    return {int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _parent(pid) == os.getpid()}


def _parent(pid: str) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _stat(pid: Any) -> List[bytes]:
    """What Linux says of a process, from its state on; [] if there is no such process."""
    try:
        with open("/proc/%s/stat" % pid, "rb") as stat:
            return stat.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _name_of_descriptor(number: int) -> str:
    try:
        return os.readlink("%s/%d" % (FD_FOLDER, number))
    except OSError:
        return "closed meanwhile"


def _name_of_child(pid: int) -> str:
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as command:
            return command.read().replace(b"\0", b" ").decode("utf-8", "replace")[:120] or "ended, not waited for"
    except OSError:
        return "gone meanwhile"


class _Snapshot:
    """What the process holds at one moment."""

    def __init__(self) -> None:
        self.threads = _threads()
        self.descriptors = _descriptors()
        self.children = _children()

    def new(self) -> List[str]:
        """Describe what has come since; [] where nothing has."""
        found = ["thread %r" % thread.name for thread in _threads() - self.threads]
        found += ["fd %d -> %s" % (fd, _name_of_descriptor(fd)) for fd in _descriptors() - self.descriptors]
        found += ["child %d: %s" % (pid, _name_of_child(pid)) for pid in _children() - self.children]
        return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Any:
    if call.excinfo is not None:
        item.stash[FAILED] = True
    return (yield)


def _left_behind(before: _Snapshot) -> str:
    """What has come since and does not end by itself, as a text; "" where that is nothing."""
    found = before.new()
    if not found:
        return ""
    end = time.monotonic() + LEAK_GRACE_SECONDS
    while found and time.monotonic() < end:
        threads = [thread for thread in _threads() - before.threads if thread.is_alive()]  # one may be about to start
        for thread in threads:
            thread.join(0.01)  # nearly always it is all: a thread of the library that is just about to end
        if not threads:
            time.sleep(0.0005)  # waits for a condition, bounded
        found = before.new()
    return "left behind:\n  " + "\n  ".join(sorted(found)) if found else ""


def _forget_raised() -> None:
    """Let no test find that an exception was logged too often by others, and end the thread that would say so."""
    if "mcp_ref.diagnostics.packagelog" in sys.modules:
        places = sys.modules["mcp_ref.diagnostics.packagelog"].PLACES
        places.settle()
        places.reset()


# --- what `tests.support` has -----------------------------------------------------------------------------------------

def _has_support() -> bool:
    """False for a copy of this file that `tests/meta/test_conftest.py` tries."""
    return os.path.isdir(os.path.join(os.path.dirname(__file__), "support"))


def _outside() -> Any:
    from tests.support import outside

    return outside


# --- whatever we send is legal ----------------------------------------------------------------------------------------

def _judges(config: pytest.Config) -> Optional[Callable[[], Dict[str, List[str]]]]:
    """Have what this process does from now on judged; the function that says at the end which rules were broken."""
    if not _has_support():
        return None
    from tests.support.judged import SCHEMA, broken
    from tests.support.schema_tap import listen

    by = config.getoption("judge")
    refused = listen(rules=by == "all", schema=by != "none")
    return None if by == "none" else lambda: {**({SCHEMA: refused} if refused else {}), **broken()}


def _named(item: Any) -> Set[str]:
    """The rules that a test says it breaks."""
    names: Set[str] = set()
    for marker in item.iter_markers("sends_illegal"):
        names.update(marker.args)
        if "rules" in marker.kwargs:
            names.update(marker.kwargs["rules"](**item.callspec.params))
    return names


@pytest.fixture(autouse=True)
def _judged() -> Iterator[None]:
    """Every test gets this. It is one, and asks for none, since each fixture costs more than what it does here."""
    _forget_raised()
    item, before, broken, problems = _Clock.item, _Snapshot(), _judges(_Clock.item.config), []
    yield
    _forget_raised()
    if broken is not None:
        found, named = broken(), _named(item)
        sys.modules["tests.support.judged"].count("/".join(item.nodeid.partition("::")[0].split("/")[:-1][:2]))
        if found or named:
            problems += sys.modules["tests.support.judged"].problems(found, named, FAILED not in item.stash)
    if FAILED not in item.stash and not item.get_closest_marker("leaves"):
        # Otherwise the report of a failure holds the test's frames, and with them what they opened.
        problems += filter(None, [_left_behind(before)])
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture(name="tracemalloc")
def _tracemalloc() -> Any:
    """The module, for tests of what memory something takes."""
    return pytest.importorskip("tracemalloc", reason="NOT RUN: PyPy has no tracemalloc", exc_type=ImportError)


# --- races again and again --------------------------------------------------------------------------------------------

def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--repeat", type=int, default=1, metavar="N", help="run each test marked `race` N times")
    parser.addoption("--part", type=_part, default=(1, 1), metavar="K/N", help="run the K-th of N parts of the files")
    parser.addoption("--only-ids", metavar="FILE", help="run the tests whose ids this JSON file lists")
    parser.addoption("--after", metavar="ID", help="run the tests that follow this one")
    parser.addoption("--judge", choices=("all", "schema", "none"), default="all",
                     help="judge our side of the connections by the checker's rules and the schema, or by less")
    parser.addoption("--freeze", action="store_true", help="write the files of tests/frozen anew")
    parser.addoption("--journal", metavar="FILE", help="write what fails, and which test runs, to this file")


def _part(text: str) -> Tuple[int, int]:
    number, _, parts = text.partition("/")
    if not 1 <= int(number) <= int(parts):
        raise ValueError(text)
    return int(number), int(parts)


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    """Run only the tests that `--only-ids` lists, or those after `--after`."""
    only, last = config.getoption("only_ids"), config.getoption("after")
    if only:
        wanted = set(json.loads(pathlib.Path(only).read_text(encoding="ascii")))
        items[:] = [item for item in items if item.nodeid in wanted]
    if last:
        del items[:[item.nodeid for item in items].index(last) + 1]


def pytest_ignore_collect(collection_path: pathlib.Path, config: pytest.Config) -> Optional[bool]:
    """Do not even import the files of other parts. All parts together run each test once."""
    number, parts = config.getoption("part")
    if parts == 1 or not collection_path.name.startswith("test_"):
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return True if zlib.crc32(name.encode()) % parts != number - 1 else None


@pytest.fixture
def repetition() -> int:
    """Number of this repetition; parametrised by `--repeat`."""
    return 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    times: int = metafunc.config.getoption("repeat")
    if times > 1 and metafunc.definition.get_closest_marker("race"):
        if "repetition" not in metafunc.fixturenames:
            metafunc.fixturenames.append("repetition")
        metafunc.parametrize("repetition", range(times))


def pytest_report_header() -> List[str]:
    facts: Dict[str, str] = {"CI": os.environ.get("CI", "not set"), "cores": str(os.cpu_count())}
    return [", ".join("%s: %s" % fact for fact in facts.items())]
