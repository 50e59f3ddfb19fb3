"""What must not change unseen: names, options, bytes and verdicts, as files that are compared.

Each file below `tests/data/frozen` is made by a function here, and compared with what it makes now. Where the behaviour
is meant to change, ``make freeze`` writes the files anew, and their diff shows what has changed; it belongs to the
commit. The files are the same on each Python.
"""
import difflib
import logging
import pathlib
from typing import Callable, Dict, Iterator, List

import pytest

from tests.frozen import commands, names, raw, verdicts, wire
from tests.meta.facts import ROOT

FOLDER = ROOT / "tests" / "data" / "frozen"
SHOWN = 60
FILES: Dict[str, Callable[[], str]] = {
    "names.txt": names.public,
    "messages.txt": names.vocabulary,
    "exceptions.txt": names.exceptions,
    "limits.txt": names.limits,
    "loggers.txt": names.loggers,
    "options.txt": commands.help_texts,
    "socket.txt": raw.stream,
    "web.txt": raw.web,
    "refusals.txt": raw.refusals,
    "http.txt": raw.engine,
    "rules.txt": verdicts.rules,
    "verdicts.txt": verdicts.checker,
    "scenes.txt": verdicts.examiner,
    "examination.txt": verdicts.examination,
}
EXAMPLES = (*wire.IN_EACH_REVISION, *wire.ONCE)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Some examples break things on purpose, and what they log stays here; one of them logs itself."""
    handler = logging.NullHandler()
    logging.getLogger("mcp_ref").addHandler(handler)
    yield
    logging.getLogger("mcp_ref").removeHandler(handler)


def compare(name: str, text: str, request: pytest.FixtureRequest) -> None:
    path = FOLDER / name
    if request.config.getoption("freeze"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    there = path.read_bytes().decode("utf-8") if path.exists() else ""
    found: List[str] = list(difflib.unified_diff(there.splitlines(), text.splitlines(), "frozen", "now", "", "", 0, ""))
    if found or there != text:
        more = ["... and %d lines more" % (len(found) - SHOWN)] if len(found) > SHOWN else []
        pytest.fail("\n".join(["%s has changed; if that is meant: make freeze" % name, *found[:SHOWN], *more]),
                    pytrace=False)


@pytest.mark.sends_illegal("*", why="some requests are broken on purpose, to see how they are refused")
@pytest.mark.parametrize("name", FILES)
def test_it_is_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    compare(name, FILES[name](), request)


@pytest.mark.sends_illegal("*", why="some chapters break a rule on purpose")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_says_the_same(name: str, request: pytest.FixtureRequest) -> None:
    compare("wire/%s.txt" % name, wire.example(name), request)


def test_exit_codes_are_as_they_were(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> None:
    compare("exits.txt", commands.exit_codes(tmp_path), request)


@pytest.mark.sends_illegal("*", why="a scene asks for what there is not, and hostile input is no message")
def test_reports_are_as_they_were(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> None:
    compare("reports.txt", commands.reports(tmp_path), request)


def test_each_file_is_compared_and_each_example_is_frozen() -> None:
    there = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*")}
    assert there == {*FILES, "exits.txt", "reports.txt", *("wire/%s.txt" % name for name in EXAMPLES)}
    chapters = {path.stem for path in (ROOT / "examples").glob("[0-9]*.py")}
    assert chapters - set(EXAMPLES) == {"25_why_does_it_hang"}, "which is about time"
