"""The pages about porting, our side: they name what there is, our servers serve, and the loop's faults are real.

What needs the other libraries is in `tests/interop/porting.py`.
"""
import inspect
import json
import re
import subprocess
import sys
from typing import Any, Dict, List, Set

import pytest

from mcp_ref import Client, Host, Limits, Server, connect
from mcp_ref.auth import ResourceServer
from mcp_ref.server import Context
from tests.meta.facts import ROOT, expect_nothing
from tests.meta.test_readme import blocks
from tests.support import porting
from tests.support.patience import WAIT

OURS: Dict[str, Any] = {
    "server": Server, "ctx": Context, "client": Client, "host": Host, "Server": Server, "connect": connect,
    "Limits": Limits, "ResourceServer": ResourceServer, "Host": Host,
}
CALLED = re.compile(r"(?P<call>\b[A-Za-z]\w*(?:\.\w+)?)(?:\((?P<arguments>[^()]*)\))?")
LOOP = porting.FOLDER / "from_a_loop.md"


def absent(text: str) -> List[str]:
    """Return what a cell names of ours that is not there."""
    wrong = []
    for code in re.findall(r"`@?([^`]+)`", text):
        found = CALLED.match(code)
        names = found["call"].split(".") if found else [""]
        if found is None or names[0] not in OURS:
            continue
        thing = OURS[names[0]]
        for name in names[1:]:
            if not has(thing, name):
                wrong.append("%s: no %s" % (code, name))
                break
            thing = getattr(thing, name, None)
        else:
            options = re.findall(r"\b(\w+)=", found["arguments"] or "")
            wrong += ["%s: no option %s" % (code, name) for name in options if name not in takes(thing)]
    return wrong


def has(cls: Any, name: str) -> bool:
    """True for an attribute of a class, or one that its constructor sets."""
    makers = [inspect.unwrap(vars(base)["__init__"]) for base in cls.__mro__[:-1] if "__init__" in vars(base)]
    return hasattr(cls, name) or any(name in maker.__code__.co_names for maker in makers)


def takes(thing: Any) -> Set[str]:
    """The names of the options of a call."""
    return set(inspect.signature(thing).parameters)


@pytest.mark.parametrize("library", porting.LIBRARIES)
def test_what_the_tables_name_of_ours_is_there(library: str) -> None:
    expect_nothing(["%s: %s" % (row[0], wrong) for table in porting.tables(library) for row in table.rows
                    for wrong in [each for cell in row[1:] for each in absent(cell)]])


@pytest.mark.parametrize("cell, wrong", [
    ("`Server(auth=)`", []), ("`Server(nothing=)`", ["Server(nothing=): no option nothing"]),
    ("`server.tool(name=)`, `ctx.log(...)`", []), ("`ctx.nothing`", ["ctx.nothing: no nothing"]), ("none", []),
    ("`@server.nothing`", ["server.nothing: no nothing"]), ("`ctx.session`", []),
])
def test_a_name_that_is_not_ours_is_found(cell: str, wrong: List[str]) -> None:
    assert absent(cell) == wrong


@pytest.mark.parametrize("library", porting.LIBRARIES)
def test_the_tables_are_those_that_a_page_has_to_have_and_say_something_in_each_row(library: str) -> None:
    tables = porting.tables(library)
    assert {"%s %s" % (table.kind, table.path) for table in tables} == set(porting.COMPLETE[library])
    expect_nothing(["%s: %s" % (table.path, row) for table in tables for row in table.rows
                    if len(row) != 3 or not table.names() or not row[1] or (row[1] == "-" and not row[2])])
    assert all(len(row) == 4 for row in porting.differences(library))


SERVERS = {porting.pairs(library)[0].ours.code: library for library in porting.LIBRARIES}
"""Our server of a page -> one of the pages that have it."""


@pytest.mark.parametrize("library", SERVERS.values())
def test_our_server_of_each_page_does_what_the_page_is_about(library: str, tmp_path: Any) -> None:
    revision, found = porting.walk(porting.ours(library, tmp_path))
    assert revision == "2026-07-28"
    assert found["call add a=2 b=3 structuredContent result"] == 5
    assert found["call find title=Emma structuredContent title"] == "Emma"
    assert found["call lend title=Emma content 0 text"] == "Emma is lent already."
    assert found["read book://Emma contents 0 text"] == "The text of Emma."
    assert found["call nothing error code"] == -32602
    ordered = None if library == "zeromcp" else "2 of Ulysses"
    assert found.get("call order title=Ulysses content 0 text") == ordered


def test_differences_that_a_page_does_not_explain_are_found_and_rows_that_explain_nothing() -> None:
    found = porting.compare({"a b": 1, "c": 2, "same": 3}, {"a b": 2, "d": 4, "same": 3})
    assert found == {"a b": (1, 2), "c": (2, "-"), "d": ("-", 4)}
    assert porting.unexplained(found, [["`a *`, `c`"], ["`d`"]]) == []
    assert porting.unexplained(found, [["`a *`"], ["`e`"], ["`c`"]]) == [
        "d: theirs '-', ours 4", "e: no difference there"]


@pytest.fixture(scope="module")
def loop_page() -> List[Any]:
    return list(blocks(LOOP.read_text(encoding="utf-8")))


def said_of_the_server(program: str, messages: str) -> Set[str]:
    """The rules that the checker finds broken by a server."""
    command = [sys.executable, "-m", "mcp_ref", "check", "--format", "json", "--", sys.executable, "-c", program]
    done = subprocess.run(command, cwd=str(ROOT), input=messages.encode("utf-8"), timeout=WAIT,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = done.stderr.decode("utf-8")
    report, _ = json.JSONDecoder().raw_decode(text[text.index("{\n"):])
    assert report["judged"] > 20
    return {finding["rule"] for finding in report["findings"] if finding["party"] == "server"}


def test_the_checker_says_of_the_loop_what_the_page_says(loop_page: List[Any]) -> None:
    loop, _, messages = [block for block in loop_page if block.language in ("python", "jsonl")]
    rows = LOOP.read_text(encoding="utf-8").split("| rule | what the loop does |")[1].split("\n\n")[0]
    assert said_of_the_server(loop.code, messages.code) == set(re.findall(r"^\| `([\w.-]+)` \|", rows, re.MULTILINE))


def test_the_checker_says_nothing_of_our_server(loop_page: List[Any]) -> None:
    _, ours, messages = [block for block in loop_page if block.language in ("python", "jsonl")]
    assert said_of_the_server(ours.code, messages.code) == set()
