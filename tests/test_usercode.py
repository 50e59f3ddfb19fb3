"""Exceptions of code that is not ours: logged each time, by a rate for each place, and in bounded memory."""
import logging
import subprocess
import sys
import threading
import traceback
from typing import Any, Callable, Dict, Iterator, List

import pytest

from mcp_ref import Server, connect, deadline
from mcp_ref.diagnostics import one_line, packagelog
from mcp_ref.diagnostics.packagelog import PLACES, RECORDS_PER_MINUTE, log_raised, name_of, shown_error
from mcp_ref.errors import PeerError
from tests.meta.facts import ROOT
from tests.support.patience import WAIT
from tests.support.sides import eventually, in_thread


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> List[float]:
    """The time, which tests set."""
    now = [1000.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    return now


@pytest.fixture
def said() -> Iterator[List[logging.LogRecord]]:
    """The records, in order."""
    records: List[logging.LogRecord] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    handler = Heard()
    logging.getLogger("mcp_ref").addHandler(handler)
    yield records
    logging.getLogger("mcp_ref").removeHandler(handler)


def raised(function: Callable[[], Any], who: str = "tool 'x'", about: str = "") -> None:
    """Log what a function raises."""
    try:
        function()
    except Exception as error:
        log_raised(who, error, about)
    else:
        raise AssertionError("nothing was raised")


def here() -> None:
    raise ValueError("here")


def there() -> None:
    raise ValueError("there")


def test_a_record_has_who_what_and_the_traceback(said: List[logging.LogRecord]) -> None:
    raised(here, "tool 'x'", "tools/call, request 7")
    record, = said
    assert record.getMessage() == "tool 'x' raised ValueError: here (tools/call, request 7)"
    assert (record.name, record.levelno) == ("mcp_ref.usercode", logging.ERROR)
    assert record.exc_info is not None and "in here\n" in logging.Formatter().formatException(record.exc_info)


def in_deep() -> None:
    here()


SERVED: Dict[str, Callable[[Any], Any]] = {
    "tool": lambda client: client.call_tool("tool"),
    "resource": lambda client: client.read_resource("test://resource"),
    "template": lambda client: client.read_resource("other://template"),
    "prompt": lambda client: client.get_prompt("prompt"),
    "completion": lambda client: client.complete("completed", "word", ""),
}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("kind", SERVED)
def test_the_traceback_of_a_handler_starts_at_its_own_frame(
    kind: str, revision: str, said: List[logging.LogRecord]
) -> None:
    server = Server("failing")
    server.tool(name="tool")(lambda: in_deep())
    server.resource("test://resource", name="resource")(lambda: in_deep())
    server.resource("other://{name}", name="template")(lambda name: in_deep())
    server.prompt(name="prompt")(lambda: in_deep())
    server.prompt(name="completed")(lambda word: word)
    server.completion("completed", "word")(lambda value: in_deep())
    with connect(server, era=revision) as client:
        try:
            SERVED[kind](client)
        except PeerError as error:
            frames = traceback.extract_tb(error.__traceback__)
            assert len(frames) <= 7, "a program's own call is not far above the error"
    record, = said
    assert record.exc_info is not None
    assert [frame.name for frame in traceback.extract_tb(record.exc_info[2])] == ["<lambda>", "in_deep", "here"]


def test_what_no_frame_of_an_author_has_raised_has_all_of_its_traceback(said: List[logging.LogRecord]) -> None:
    server = Server("odd")
    server.tool(name="tool")(lambda: object())
    with connect(server) as client:
        client.call_tool("tool")
    record, = said
    assert record.exc_info is not None and traceback.extract_tb(record.exc_info[2])


def test_a_place_has_its_rate_and_fills_evenly(said: List[logging.LogRecord], clock: List[float]) -> None:
    for _ in range(1000):
        raised(here)
    assert len(said) == RECORDS_PER_MINUTE
    clock[0] += 60.0 / RECORDS_PER_MINUTE
    raised(here)
    raised(here)
    assert len(said) == RECORDS_PER_MINUTE + 1
    assert said[-1].getMessage().endswith("%d more times before, not logged one by one" % (1000 - RECORDS_PER_MINUTE))
    clock[0] += 3600.0
    for _ in range(1000):
        raised(here)
    assert len(said) == 2 * RECORDS_PER_MINUTE + 1, "and never for ever"


@pytest.mark.parametrize("who, function", [
    ("tool 'y'", here), ("tool 'x'", there), ("tool 'x'", lambda: 1 / 0),
])
def test_another_place_is_not_silenced(who: str, function: Any, said: List[logging.LogRecord]) -> None:
    for _ in range(3 * RECORDS_PER_MINUTE):
        raised(here)
    before = len(said)
    raised(function, who)
    assert len(said) == before + 1 and who in said[-1].getMessage()


def test_what_was_left_out_is_told_when_a_minute_is_over(
        said: List[logging.LogRecord], clock: List[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packagelog, "MINUTE", 0.02)
    for _ in range(RECORDS_PER_MINUTE + 5):
        raised(here)
    eventually(lambda: len(said) > RECORDS_PER_MINUTE)
    told = said[RECORDS_PER_MINUTE].getMessage()
    assert told.startswith("tool 'x' raised builtins.ValueError at ") and "test_usercode.py:" in told
    assert told.endswith(": 5 more times, not logged one by one")
    eventually(lambda: "mcp-ref:left-out" not in [thread.name for thread in threading.enumerate()])
    raised(here)
    eventually(lambda: len(said) > RECORDS_PER_MINUTE + 1)
    assert said[-1].getMessage().endswith(": 1 more times, not logged one by one"), "by another thread"


def test_what_was_left_out_is_told_at_the_end_of_the_process() -> None:
    code = """
import logging, sys
logging.basicConfig(format="%(message)s")
from mcp_ref.diagnostics.packagelog import log_raised, RECORDS_PER_MINUTE
for _ in range(RECORDS_PER_MINUTE + 3):
    try:
        1 / 0
    except ZeroDivisionError as error:
        log_raised("tool 'x'", error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=WAIT)
    assert done.returncode == 0 and done.stdout == b""
    assert done.stderr.count(b"Traceback") == RECORDS_PER_MINUTE
    assert done.stderr.decode().splitlines()[-1].endswith(": 3 more times, not logged one by one")


def test_the_memory_of_places_is_bounded_and_so_is_the_log(
        said: List[logging.LogRecord], clock: List[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packagelog, "MOST_PLACES", 100)
    for number in range(300):
        raised(here, "tool %d" % number)
    assert len(PLACES) <= 101
    assert 100 <= len(said) <= 100 + RECORDS_PER_MINUTE + 1
    clock[0] += 60.0
    before = len(said)
    raised(here, "a new tool")
    assert len(PLACES) <= 3 and len(said) > before, "those that were quiet for a minute are forgotten"


def test_a_clock_that_goes_back_silences_nothing_for_long(said: List[logging.LogRecord], clock: List[float]) -> None:
    raised(here)
    clock[0] = 1.0
    for _ in range(100):
        raised(here)
    clock[0] += 60.0
    raised(here)
    assert "more times before" in said[-1].getMessage()


@pytest.mark.race
def test_threads_share_the_rate_of_a_place(said: List[logging.LogRecord], clock: List[float]) -> None:
    threads = [in_thread(lambda: [raised(here) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.get()
    assert len(said) == RECORDS_PER_MINUTE
    PLACES.settle()
    assert said[-1].getMessage().endswith(": %d more times, not logged one by one" % (200 - RECORDS_PER_MINUTE))


def test_a_filter_or_a_handler_that_raises_does_no_harm() -> None:
    class Sour(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise ValueError("no")

    handler = Sour()
    logging.getLogger("mcp_ref").addHandler(handler)
    try:
        raised(here)
    finally:
        logging.getLogger("mcp_ref").removeHandler(handler)


@pytest.mark.parametrize("error, text", [
    (ValueError("x"), "ValueError: x"), (ValueError(), "ValueError"), (ValueError("a\n  b"), "ValueError: a b"),
    (OSError("caf\udce9"), "OSError: caf\\udce9"), (ValueError("y" * 1000), "ValueError: " + "y" * 500 + "..."),
])
def test_an_exception_on_one_line(error: Exception, text: str) -> None:
    assert shown_error(error) == text
    assert one_line("a\tb\n") == "a b"


def test_names_of_functions() -> None:
    import functools

    class Called:
        def __call__(self) -> None:
            pass

    assert name_of(here) == name_of(functools.partial(here)) == "here"
    assert name_of(Called().__call__).endswith("Called.__call__") and name_of(Called()).endswith("Called")
    assert name_of(len) == "len"


def test_a_forked_process_counts_anew() -> None:
    code = """
import logging, os, sys
logging.basicConfig(format="%(message)s")
from mcp_ref.diagnostics.packagelog import PLACES, log_raised, RECORDS_PER_MINUTE
def fail():
    for _ in range(RECORDS_PER_MINUTE + 1):
        try:
            1 / 0
        except ZeroDivisionError as error:
            log_raised("tool 'x'", error)
fail()
PLACES._lock.acquire()          # as another thread of the parent may hold it
if os.fork() == 0:
    fail()
    os._exit(0)
PLACES._lock.release()
os._exit(os.waitpid(-1, 0)[1])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=str(ROOT), stderr=subprocess.PIPE, timeout=WAIT)
    assert done.returncode == 0 and done.stderr.count(b"Traceback") == 2 * RECORDS_PER_MINUTE


@pytest.mark.parametrize("long", [
    lambda: ValueError("z" * 10_000_000), lambda: ValueError("z\n" * 1_000_000), lambda: caused("z" * 1_000_000),
    lambda: caused(*["z" * 2000] * 300)])
def test_a_peer_that_chooses_a_long_text_fills_no_disk(
    long: Callable[[], BaseException], said: List[logging.LogRecord]
) -> None:
    """Found by attack: the traceback had all of the text, 64 MB in each record."""
    log_raised("tool 'x'", long())
    record, = said
    text = logging.Formatter().format(record)
    assert len(text) < 20_000 and "ValueError: z" in text and ("more characters)" in text or "left out" in text)


def caused(*texts: str) -> BaseException:
    """An exception with all these causes."""
    error = None
    for text in texts:
        error, before = ValueError(text), error
        error.__cause__ = before
    return RuntimeError("short") if error is None else error


def test_a_chain_of_causes_that_goes_round_ends(said: List[logging.LogRecord]) -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__context__, other.__context__ = other, one
    log_raised("tool 'x'", one)
    assert said[0].exc_info and said[0].exc_info[1] is one


@pytest.mark.parametrize("text, seen", [
    ("a\x1b[2Jb", "a\\x1b[2Jb"), ("a\x9b31mb", "a\\x9b31mb"), ("a\u202eb", "a\\u202eb"), ("a\x00\x08b", "a\\x00\\x08b"),
    ("a\r\nb\u2028c\x85d", "a b c d"), ("\xe4 \u65e5\u672c \U0001f600", "\xe4 \u65e5\u672c \U0001f600")])
def test_what_a_terminal_obeys_is_escaped(text: str, seen: str) -> None:
    assert one_line(text) == seen


def shown(record: logging.LogRecord) -> str:
    """What a handler writes of a record."""
    return logging.Formatter("%(levelname)s %(name)s: %(message)s").format(record)


def failing(text: str) -> Any:
    """A handler that quotes what a peer sent."""
    def fail() -> None:
        raise ValueError("no such city: " + text)

    return fail


def test_a_peer_cannot_paint_on_a_terminal_or_forge_a_record(said: List[logging.LogRecord]) -> None:
    raised(failing("\x1b]0;title\x07\x1b[2J\u202e\nERROR mcp_ref.auth: forged\rERROR: too\u2028ERROR: and this"))
    text = shown(said[0])
    assert not set("\x1b\x07\r\u2028\u202e").intersection(text) and "\\x1b]0;title" in text
    assert not [line for line in text.splitlines()[1:] if line.startswith("ERROR")]
    assert text.startswith("ERROR mcp_ref.usercode: tool 'x' raised ValueError: no such city: ") and "in fail\n" in text
    assert said[0].exc_info is not None and isinstance(said[0].exc_info[1], ValueError)


def test_a_long_text_of_a_peer_does_not_fill_the_log(said: List[logging.LogRecord]) -> None:
    def chained() -> None:
        try:
            failing("y" * 3_000_000)()
        except ValueError as error:
            raise KeyError("z" * 3_000_000) from error

    raised(chained)
    text = shown(said[0])
    assert len(text) < 10_000 and "more characters)" in text and "in fail\n" in text and "in chained\n" in text


def test_notes_and_groups_of_exceptions_are_cut_too(said: List[logging.LogRecord]) -> None:
    class Noted(Exception):
        __notes__ = ["heard:\x1b[2J\nERROR forged", "y" * 1_000_000]
        exceptions = (OSError("in a group"),)

    def fail() -> None:
        raise Noted("z" * 1_000_000)

    raised(fail)
    text = shown(said[0])
    assert len(text) < 20_000 and "\x1b" not in text and "\nERROR forged" not in text


def test_endless_chains_of_exceptions_are_cut(said: List[logging.LogRecord]) -> None:
    def fail() -> None:
        error: BaseException = ValueError("the first")
        for number in range(300):
            outer = ValueError("%d %s" % (number, "y" * 1000))
            outer.__cause__ = error
            error = outer
        raise error

    raised(fail)
    text = shown(said[0])
    assert len(text) < 80_000 and "characters were left out" in text and "the first" in text


def test_an_ordinary_traceback_is_left_to_the_formatter() -> None:
    class Own(logging.Formatter):
        def formatException(self, info: Any) -> str:
            return "as the program wants it"

    written: List[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Handler()
    handler.setFormatter(Own())
    logging.getLogger("mcp_ref").addHandler(handler)
    try:
        raised(here)
    finally:
        logging.getLogger("mcp_ref").removeHandler(handler)
    assert written == ["tool 'x' raised ValueError: here\nas the program wants it"]
