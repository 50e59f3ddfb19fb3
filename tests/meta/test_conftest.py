"""The suite's own guards, run on a small suite of their own: each guard must see what it is there for."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import types
from typing import List, Set, Tuple

import pytest

from tests.support import judged, official_schema, patience as patience_module
from tests.support.outside import NEEDS, SPECIFICATION
from tests.support.patience import WAIT, patience

TESTS = pathlib.Path(__file__).resolve().parents[1]

LEAKY = '''
import os, socket, subprocess, sys, threading
import pytest

held = []
gate = threading.Event()

def start(name, daemon):
    thread = threading.Thread(target=gate.wait, args=(20,), name=name, daemon=daemon)
    thread.start()

def test_clean(): pass
def test_thread(): start("plain", False)
def test_own_daemon_thread(): start("mcp-ref:reader:x", True)
def test_foreign_daemon_thread_is_fine(): start("other", True)
def test_file(tmp_path): held.append(os.open(str(tmp_path), os.O_RDONLY))
def test_socket(): held.append(socket.socket())
def test_child(): held.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
def test_unreaped_child():
    held.append(subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.DEVNULL))
@pytest.mark.leaves("says so")
def test_excused(): held.append(os.open(os.devnull, os.O_RDONLY))
def test_short_thread_is_awaited():
    threading.Timer(0.03, int).start()
@pytest.fixture(scope="module")
def shared():
    number = os.open(os.devnull, os.O_RDONLY)
    yield number
    os.close(number)
def test_wider_fixture_is_fine(shared): pass
def test_end():
    gate.set()
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(5)
    for thing in held:
        if isinstance(thing, subprocess.Popen):
            thing.kill()
            thing.communicate()
'''
EXPECTED_LEAKS = {
    "test_thread": "thread 'plain'", "test_own_daemon_thread": "thread 'mcp-ref:reader:x'", "test_file": "fd ",
    "test_socket": "socket:", "test_child": "child ", "test_unreaped_child": "not waited for",
}


def _pytest(
    folder: pathlib.Path, text: str, *options: str, exit_limit: float = 1000.0, wall_factor: float = 1000.0,
    judged: bool = False, **variables: str
) -> Tuple[int, str]:
    """Run pytest on one test module beside a copy of our conftest (with other limits), with our settings.

    ``text`` is the module; "" if the folder has its own. ``judged``: with the judges of `tests.support`, too.
    ``variables`` are added to the environment.
    """
    (folder / "tests").mkdir(exist_ok=True)
    conftest = (TESTS / "conftest.py").read_text(encoding="utf-8")
    limits = {"LEAK_GRACE_SECONDS": patience(0.25), "EXIT_LIMIT_SECONDS": exit_limit, "WALL_FACTOR": wall_factor,
              "LOOK_SECONDS": 0.05}
    shortened, found = re.subn(
        r"\n(%s) = .*" % "|".join(limits),
        lambda match: "\n%s = %r" % (match.group(1), limits[match.group(1)]), conftest)
    assert found == len(limits)
    (folder / "tests" / "conftest.py").write_text(shortened, encoding="utf-8")
    shutil.copy(str(TESTS.parent / "setup.cfg"), str(folder))
    if text:
        (folder / "tests" / "test_it.py").write_text(text, encoding="utf-8")
    if judged:
        (folder / "tests" / "support").symlink_to(TESTS / "support", target_is_directory=True)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = dict(os.environ, **variables)
    if judged:
        environment["PYTHONPATH"] = str(TESTS.parent)
    done = subprocess.run(command, cwd=str(folder), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=WAIT)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def test_interrupts_work_where_a_shell_had_them_ignored(tmp_path: pathlib.Path) -> None:
    text = "import signal\ndef test_it(): assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background; children inherit it
    try:
        code, output = _pytest(tmp_path, text)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 0, output


def test_each_kind_of_leak_is_reported_at_its_test(tmp_path: pathlib.Path) -> None:
    code, output = _pytest(tmp_path, LEAKY, "-W", "ignore")
    reported = dict(re.findall(r"_ ERROR at teardown of (\w+) _+\nleft behind:\n\s+(.*)", output))
    assert code == 1
    assert set(reported) == set(EXPECTED_LEAKS), output
    for name, words in EXPECTED_LEAKS.items():
        assert words in reported[name]


ILLEGAL = '''
import pytest
from mcp_ref import Context, Server, connect
from mcp_ref.wiretrace import Trace
from tests.support.scripted import ScriptedPeer
from tests.support.sides import eventually

illegal = pytest.mark.sends_illegal
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}

def web():
    return Server("a").listen("http://127.0.0.1:0/mcp")

def progress(**options):
    with connect(Server("a"), era="2025-06-18", **options) as client:
        client.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        client.ping()

def test_lawful():
    with connect(Server("a")) as client:
        client.ping()
def test_faulty(): progress()
def test_faulty_in_a_trace_of_its_own(): progress(trace=Trace([].append))
def test_faulty_over_http():
    with web() as listener, connect(listener.address, era="2025-06-18") as client:
        client.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})
def tells_of_nothing(ctx: Context) -> str:
    ctx.connection.notify(PROGRESS["method"], PROGRESS["params"], within=ctx.incoming)
    return "told"
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:0", "http://127.0.0.1:0/mcp"])
def test_faulty_server(address):
    server = Server("a")
    server.tool(tells_of_nothing)
    with server.listen(address) as listener, connect(listener.address, era="2025-06-18") as client:
        client.call_tool("tells_of_nothing")
def test_faulty_as_the_schema_says():
    with connect(Server("a"), era="2025-06-18") as client:
        client.connection.notify("notifications/progress", {"progress": 1})
@illegal("progress.token-active", why="to see that it is named")
def test_named(): progress()
@illegal(rules=lambda odd: ["progress.token-active"] * odd)
@pytest.mark.parametrize("odd", [0, 1])
def test_named_case(odd):
    if odd:
        progress()
@illegal("progress.token-active")
def test_named_in_vain(): pass
@illegal("progress.rises")
def test_named_wrongly(): pass
@illegal("progress.token-active", "progress.increases")
def test_half_named(): progress()
@illegal("progress.token-active")
def test_failed_before_it_could(): raise ValueError
def test_a_peer_may_lie():
    with ScriptedPeer.of_server(Server("a")) as peer:
        peer.handshake("2025-06-18")
        peer.send(PROGRESS, PROGRESS)
        peer.call(1, "ping")
@pytest.fixture(scope="module")
def wide():
    with web() as listener, connect(listener.address, era="2025-06-18") as client:
        yield client
@pytest.mark.leaves("connections of a fixture")
def test_first_with_a_wide_fixture(wide): wide.ping()
@pytest.mark.leaves("connections of a fixture")
def test_second_with_it_is_faulty(wide, caplog):
    wide.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})
    eventually(lambda: caplog.records)  # the server has it: a ping may overtake it over HTTP
@pytest.mark.leaves("connections of a fixture")
def test_third_with_it(wide): wide.ping()
'''
TOLD = {
    "test_faulty": "our side broke progress.token-active:",
    "test_faulty_in_a_trace_of_its_own": "our side broke progress.token-active:",
    "test_faulty_over_http": "our side broke progress.token-active:",
    "test_faulty_server[tcp://127.0.0.1:0]": "our side broke progress.token-active:",
    "test_faulty_server[http://127.0.0.1:0/mcp]": "our side broke progress.token-active:",
    # Without a copy of the official schemas, the checker's own tables see it.
    "test_faulty_as_the_schema_says":
        "our side broke %s:" % ("schema.json" if official_schema.PRESENT else "schema.params"),
    "test_named_in_vain": "sends_illegal names progress.token-active, which was not broken",
    "test_named_wrongly": "sends_illegal names what is no rule of the checker: progress.rises",
    "test_half_named": "sends_illegal names progress.increases, which was not broken",
    "test_second_with_it_is_faulty": "our side broke progress.token-active:",
}


def test_each_rule_that_our_side_breaks_is_named_at_its_test(tmp_path: pathlib.Path) -> None:
    code, output = _pytest(tmp_path, ILLEGAL, "-W", "ignore", judged=True)
    told = dict(re.findall(r"_ ERROR at teardown of (\S+) _+\n(.*)", output))
    assert code == 1
    assert told == TOLD, output


@pytest.mark.parametrize("variable, name", [(need.variable, name) for name, need in NEEDS.items()])
def test_a_test_that_reads_a_folder_from_outside_runs_only_with_it(
    variable: str, name: str, tmp_path: pathlib.Path
) -> None:
    text = "import pytest\n@pytest.mark.needs(%r)\ndef test_it(): print('it ' 'ran')\n" % name
    folders = [tmp_path / "unset", tmp_path / "set", tmp_path / "mistaken"]
    for folder in folders:
        folder.mkdir()
    code, output = _pytest(folders[0], text, "-s", judged=True, **{variable: ""})
    assert code == 0 and "1 skipped" in output and variable + " is not set: " in output and "it ran" not in output
    code, output = _pytest(folders[1], text, "-s", judged=True, **{variable: str(tmp_path)})
    assert code == 0 and "1 passed" in output and "it ran" in output
    code, output = _pytest(folders[2], text, judged=True, **{variable: str(tmp_path / "nowhere")})
    assert code == 4 and "%s=%s: there is no such folder" % (variable, tmp_path / "nowhere") in output


@pytest.mark.parametrize("present", [True, False])
def test_a_break_of_the_schema_is_demanded_only_where_the_schema_is_compared(
    present: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(official_schema, "PRESENT", present)
    monkeypatch.setattr(judged, "applied", True)
    missed = ["sends_illegal names schema.json, which was not broken"]
    assert judged.problems({}, {judged.SCHEMA}) == (missed if present else [])
    assert judged.problems({}, {"progress.token-active"}) != []


STUCK = """
import itertools, subprocess, sys, threading
import pytest

def waits_elsewhere():
    threading.Event().wait()

@pytest.mark.time_limit(0.3)
def test_stuck():
    threading.Thread(target=waits_elsewhere, daemon=True).start()
    %s
"""
CHILD = 'subprocess.run([sys.executable, "-c", "while True: pass"])'


@pytest.mark.parametrize("wall_factor, statement, words", [
    (1000, "while True: pass", "test_it.py::test_stuck: more than 0.3 s of processor time"),
    (1000, CHILD, "test_it.py::test_stuck: more than 0.3 s of processor time"),
    (1000, "subprocess.run([sys.executable, '-c', %r])" % ("import subprocess, sys; " + CHILD), "of processor time"),
    (10, "threading.Event().wait()", "test_it.py::test_stuck: more than 3 s by the clock"),
    (1, "sum(itertools.count())", "Timeout (0:00:00.45"),  # C code, which lets no other thread run
])
def test_a_test_at_its_limit_ends_the_process_and_shows_every_stack(
    tmp_path: pathlib.Path, wall_factor: float, statement: str, words: str
) -> None:
    code, output = _pytest(tmp_path, STUCK % statement, wall_factor=wall_factor)
    assert code == 1
    assert words in output and "in test_stuck" in output and "in waits_elsewhere" in output


def test_a_test_that_waits_on_a_busy_machine_is_not_at_its_limit(tmp_path: pathlib.Path) -> None:
    code, output = _pytest(tmp_path, """
import time
import pytest

@pytest.mark.time_limit(0.3)
def test_waits():
    time.sleep(1)
""")
    assert code == 0 and "1 passed" in output


def test_a_stuck_fixture_ends_the_process_after_a_failed_test_too(tmp_path: pathlib.Path) -> None:
    code, output = _pytest(tmp_path, '''
import threading
import pytest

@pytest.fixture
def stuck():
    yield
    threading.Event().wait()

@pytest.mark.time_limit(0.3)
def test_fails(stuck):
    raise ValueError
''', wall_factor=10)
    assert code == 1 and "in stuck" in output and "by the clock" in output


def test_c_code_that_is_stuck_after_another_test_failed_ends_the_process(tmp_path: pathlib.Path) -> None:
    """Each failure stops the alarm of `faulthandler`, and the next test may start in the same moment."""
    code, output = _pytest(tmp_path, '''
import itertools
import pytest

pytestmark = pytest.mark.time_limit(0.5)

@pytest.fixture
def broken():
    yield
    raise ValueError

def test_first(broken): pass
def test_stuck(): sum(itertools.count())
''', wall_factor=1)
    assert code == 1 and "in test_stuck" in output and "Timeout" in output


def test_an_interpreter_that_does_not_end_is_ended(tmp_path: pathlib.Path) -> None:
    code, output = _pytest(tmp_path, '''
import threading

def test_fails():
    threading.Thread(target=threading.Event().wait, args=(20,), name="plain").start()
    raise ValueError
''', exit_limit=0.25)
    assert code == 1 and "1 failed" in output and "Timeout (0:00:00.25" in output


@pytest.mark.parametrize("options, passed", [("", 3), ("--repeat 5", 11), ("-m race --repeat 5", 10)])
def test_races_are_repeated_and_other_tests_are_not(tmp_path: pathlib.Path, options: str, passed: int) -> None:
    code, output = _pytest(tmp_path, '''
import pytest

def test_plain(): pass

@pytest.mark.race
@pytest.mark.parametrize("x", [1, 2])
def test_race(x): pass
''', *options.split())
    assert code == 0 and "%d passed" % passed in output, output


@pytest.mark.parametrize("parts", [1, 3])
def test_all_parts_together_run_each_file_once(tmp_path: pathlib.Path, parts: int) -> None:
    ran: List[str] = []
    for part in range(1, parts + 1):
        folder = tmp_path / str(part)
        (folder / "tests" / "below").mkdir(parents=True)
        for number in range(12):
            path = folder / "tests" / ("below" if number % 2 else "") / ("test_%d.py" % number)
            path.write_text("print('read %d')\ndef test_it(): print('ran %d')\n" % (number, number))
        code, output = _pytest(folder, "", "-s", "--part", "%d/%d" % (part, parts))
        mine = re.findall(r"ran (\d+)", output)
        assert code == 0 and mine and sorted(re.findall(r"read (\d+)", output)) == sorted(mine), "no other is imported"
        ran += mine
    assert sorted(ran, key=int) == [str(number) for number in range(12)]


@pytest.mark.needs(SPECIFICATION)
@pytest.mark.parametrize("by, broken", [
    ("all", {"schema.json", "schema.params", "progress.token-active"}), ("schema", {"schema.json"}), ("none", set())])
def test_connections_are_judged_by_what_the_run_says(tmp_path: pathlib.Path, by: str, broken: Set[str]) -> None:
    code, output = _pytest(tmp_path, ILLEGAL, "-W", "ignore", "--judge", by, judged=True)
    assert code == 1 and set(re.findall(r"our side broke ([a-z.-]+):\n", output)) == broken, output
    assert ("names progress.token-active, which was not broken" in output) == (by == "all")


@pytest.mark.parametrize("part", ["0/2", "3/2", "2"])
def test_a_part_that_is_none_is_refused(tmp_path: pathlib.Path, part: str) -> None:
    code, output = _pytest(tmp_path, "def test_it(): pass", "--part", part)
    assert code == 4 and "--part" in output


@pytest.mark.parametrize("text, words", [
    ("import pytest\n@pytest.mark.raze\ndef test_it(): pass", "'raze' not found in `markers`"),
    ("import threading\ndef test_it():\n    t = threading.Thread(target=lambda: 1 / 0)\n    t.start()\n    t.join()",
     "ZeroDivisionError"),
    ("import warnings\ndef test_it(): warnings.warn('old')", "UserWarning: old"),
])
def test_typos_and_warnings_and_failing_threads_fail(tmp_path: pathlib.Path, text: str, words: str) -> None:
    code, output = _pytest(tmp_path, text)
    assert code != 0 and words in output


def test_patience_grows_with_the_time_that_a_piece_of_work_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, processor, slow = 0.0, 0.0, 4.0

    def processor_time() -> float:  # each look at it takes a millisecond of work
        nonlocal clock, processor
        clock, processor = clock + 0.001 * slow, processor + 0.001
        return processor

    fake = types.SimpleNamespace(monotonic=lambda: clock, thread_time=processor_time)
    monkeypatch.setattr(patience_module, "time", fake)
    monkeypatch.setattr(patience_module, "_last", (-10.0, 1.0))
    assert patience(3) == pytest.approx(12, rel=0.1)
    slow = 0.5  # clocks differ
    assert patience(3) == pytest.approx(12, rel=0.1), "measured a moment ago"
    clock += 10
    assert patience(3) == 3
