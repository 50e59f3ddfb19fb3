"""The pages about porting, with the libraries that they are about: their programs, the comparison, and every name.

 - each program of theirs runs, in the environment of their library
 - both servers of a page go through the same walk, in the newest revision of theirs and in one with sessions; each
   difference is in the page's table, and each row of it is about a difference
 - the tables have every public name of the library, as `porting_names` finds them, and no others

What the pages have of ours, `make test` runs (`tests/meta/test_readme.py`, `tests/examples/test_porting.py`).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any, Callable, Dict, List

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 600
SESSION = "2025-11-25"
"""The newest revision with sessions, which all of them speak; the servers are compared in it and in their newest."""
PORT = "8000"
"""A port that their programs name; another one that is free is put there."""


class PageIsWrong(Exception):
    """A page says what is not so; the text says what."""


def free_port() -> str:
    """A port of this machine on which nobody listens."""
    import socket
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def run_theirs(library: str, python: str) -> None:
    """Run each program of theirs."""
    from steps import Steps
    from tests.support import porting
    steps = Steps(library)
    for pair in porting.pairs(library):
        with tempfile.TemporaryDirectory() as folder:
            code = pair.theirs.code.replace(PORT, free_port())
            (pathlib.Path(folder) / "program.py").write_text(code, encoding="utf-8")
            done = subprocess.run([python, "program.py"], cwd=folder, stdin=subprocess.DEVNULL, timeout=SECONDS,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        if done.returncode:
            raise PageIsWrong("line %d: %s" % (pair.theirs.line, done.stdout.decode("utf-8", "replace")))
        steps.done("their program in line %d" % pair.theirs.line)


def compare(library: str, python: str) -> None:
    """Walk through both servers of a page."""
    from steps import Steps
    from tests.support import porting
    steps = Steps(library)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        path = porting.write(porting.pairs(library)[0].theirs, folder, "theirs.py")
        found = {}
        for wanted in (None, SESSION):
            revision, theirs = porting.walk([python, path], wanted)
            steps.done("their server", protocol=revision, values=len(theirs))
            _, ours = porting.walk(porting.ours(library, folder), revision)
            steps.done("our server", protocol=revision, values=len(ours))
            found.update(porting.compare(theirs, ours))
            if revision == SESSION:
                break
    wrong = porting.unexplained(found, porting.differences(library))
    if wrong:
        raise PageIsWrong("\n".join(wrong))
    steps.done("compare", differences=len(found))


def name_all(library: str, python: str) -> None:
    """Compare the names of the tables with those that the library has."""
    from steps import Steps
    from tests.support import porting
    steps = Steps(library)
    tables = {"%s %s" % (table.kind, table.path): table.names() for table in porting.tables(library)}
    absent = [wanted for wanted in porting.COMPLETE[library] if wanted not in tables]
    if absent:
        raise PageIsWrong("the page has no table with every " + ", no table with every ".join(absent))
    done = subprocess.run([python, str(HERE / "porting_names.py"), *tables], stdin=subprocess.DEVNULL, timeout=SECONDS,
                          stdout=subprocess.PIPE, check=True)
    there: Dict[str, List[str]] = json.loads(done.stdout.decode("utf-8"))
    wrong = ["%s: %s" % (table, ", ".join(lines)) for table, names in tables.items()
             for lines in [[name + " is missing" for name in there[table] if name not in names]
                           + [name + " is no name there" for name in sorted(names - set(there[table]))]] if lines]
    if wrong:
        raise PageIsWrong("\n".join(wrong))
    steps.done("names", tables=len(tables), names=sum(map(len, there.values())))


def port(library: str, python: Callable[[Dict[str, List[str]]], str], commands: Dict[str, List[str]]) -> None:
    """Check all that a page says of a library."""
    there = python(commands)
    name_all(library, there)
    compare(library, there)
    run_theirs(library, there)


def _fastmcp(commands: Dict[str, List[str]]) -> str:
    import peers
    return peers.fastmcp()


def _zeromcp(commands: Dict[str, List[str]]) -> str:
    import peers
    return peers.zeromcp()


WALKS: Dict[str, Callable[[Dict[str, List[str]]], Any]] = {
    "porting-fastmcp": partial(port, "fastmcp", _fastmcp),
    "porting-mcp-1": partial(port, "mcp_1", lambda commands: commands["official_v1"][0]),
    "porting-mcp-2": partial(port, "mcp_2", lambda commands: commands["official_v2"][0]),
    "porting-zeromcp": partial(port, "zeromcp", _zeromcp),
}

if __name__ == "__main__":  # beside `make interop`: porting.py LIBRARY PYTHON
    sys.path[:0] = [str(HERE.parents[1]), str(HERE)]
    port(sys.argv[1], lambda commands: sys.argv[2], {})
