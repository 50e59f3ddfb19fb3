"""Print what `doctor` says of each broken server of its tests, as a table in Markdown.

``python3 -m tests.cli.doctor_table`` prints it, where pytest can be imported; it takes half a minute. Each server of
`tests.cli.test_doctor` is made anew in a folder of its own and examined by the command. What differs from run to run
(folders, ports, times) is replaced by words. The exit code is 1 if a cause is not the one that the test names for it.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import sys
import tempfile
from typing import Iterator, List, Tuple

from mcp_ref.cli import main as command_line

from .broken import PYTHON, Broken, Place
from .test_doctor import ADDRESSES, PROGRAMS

ROOT = str(pathlib.Path(__file__).resolve().parents[2])
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file")


@contextlib.contextmanager
def environment() -> Iterator[None]:
    """Take the settings of proxies out of the environment for the while, and put everything back."""
    before = dict(os.environ)
    for name in PROXIES:
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def examined(row: Broken) -> Tuple[str, str, str]:
    """The cause that `doctor` names for a broken server, its sentence, and its advice."""
    out = io.StringIO()
    with environment(), tempfile.TemporaryDirectory() as folder:
        place = Place(pathlib.Path(folder), os.environ.__setitem__)
        with place.closing, contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            command_line(["doctor", "--json", "--timeout", "%g" % row.seconds, *row.make(place)])
    cause = json.loads(out.getvalue()).get("cause") or {"id": "(healthy)", "sentence": "", "advice": ""}
    return (cause["id"], *(steady(cause[member], folder) for member in ("sentence", "advice")))


def steady(text: str, folder: str) -> str:
    """A text without what differs from run to run, fit for a cell of a table."""
    for path, word in ((folder, "FOLDER"), (ROOT, "ROOT"), (PYTHON[0], "python3")):
        text = text.replace(path, word)
    text = re.sub(r"(127\.0\.0\.[12]|localhost):(?!99999|1080|8000)\d{4,5}\b", r"\1:PORT", text)
    text = re.sub(r"\bs-\d{9,}", "s-ID", re.sub(r"\b\d+\.\d+ s\b", "N s", text))
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    """Print the table."""
    wrong: List[str] = []
    for title, rows in (("Programs", PROGRAMS), ("Addresses", ADDRESSES)):
        print("## %s\n\n| server | cause | what it says | what to do |\n|---|---|---|---|" % title)
        for row in rows:
            cause, sentence, advice = examined(row)
            wrong += [row.name] if cause != row.cause else []
            print("| %s | `%s`%s | %s | %s |" % (
                row.name, cause, "" if cause == row.cause else " (**not `%s`**)" % row.cause, sentence, advice),
                flush=True)
        print()
    print("%d servers, %d named as the test wants" % (
        len(PROGRAMS + ADDRESSES), len(PROGRAMS + ADDRESSES) - len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
