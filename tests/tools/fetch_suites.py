"""Official test suites that our tests run when they are at hand: fetched into `build/suites` or into the cache, pinned.

Each comes inside the source archive of a package that ships it. Only the suite's own folder is unpacked; nothing is
installed. Prints `export NAME=FOLDER` lines; `make test` and `make matrix` find what was fetched by themselves.
"""
import os
import pathlib
import posixpath
import shlex
import sys
import tarfile
import tempfile
from typing import Dict, NamedTuple

from environments import BUILD, SetupError, ask, finished, once, recent_python

SUITES = BUILD / "suites"
OLDEST_PYTHON = (3, 10)  # what the packages ask for, although none of their code runs


class Suite(NamedTuple):
    """Where a suite comes from: package, version and hash of its source archive, and the folder in it."""

    package: str
    version: str
    sha256: str
    folder: str


TABLE: Dict[str, Suite] = {
    # holds `tests/draft2020-12/*.json`, `tests/draft7/*.json`, `remotes/`
    "MCP_REF_JSON_SCHEMA_SUITE": Suite(
        "jsonschema", "4.26.0", "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326", "json"),
    # holds `spec-examples.json`, `spec-examples-by-section.json`, `extended-tests.json`, `negative-tests.json`
    "MCP_REF_URITEMPLATE_SUITE": Suite(
        "uritemplate", "4.2.0", "480c2ed180878955863323eea31b0ede668795de182617fef9c6ca09e6ec9d0e", "tests/fixtures"),
}


def fetch(suite: Suite) -> pathlib.Path:
    """The folder of a suite, fetched where it is missing."""
    return once(SUITES / suite.package, list(suite), lambda folder: _download(suite, folder))


def _download(suite: Suite, folder: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        pins = pathlib.Path(name, "pins.txt")
        pins.write_text("%s==%s --hash=sha256:%s\n" % suite[:3], encoding="utf-8")
        python = recent_python(OLDEST_PYTHON)
        ask([python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary",
             suite.package, "--dest", name, "--requirement", str(pins)], "the suite cannot be fetched")
        archive, = pathlib.Path(name).glob("*.tar.gz")
        if not _unpack(archive, "%s-%s/%s/" % (suite.package, suite.version, suite.folder), folder):
            raise SetupError("%s has no folder %s" % (archive.name, suite.folder))


def _unpack(archive: pathlib.Path, prefix: str, folder: pathlib.Path) -> int:
    """Write the files below one folder of an archive; returns how many."""
    count = 0
    with tarfile.open(str(archive)) as members:
        for member in members:
            inside = posixpath.normpath(member.name)
            stream = members.extractfile(member) if member.isfile() and inside.startswith(prefix) else None
            if stream is not None:
                target = folder / inside[len(prefix):]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(stream.read())
                count += 1
    return count


def cached() -> Dict[str, str]:
    """Environment variables of a test run: those that are set, and the suites that are here already.

    Bytecode is kept below build/, also where the machine says not to write any: a test that starts a Python would
    else compile the package each time, which was a fifth of the run.
    """
    here = {name: finished(SUITES / suite.package, list(suite)) for name, suite in TABLE.items()}
    found = {name: str(folder) for name, folder in here.items() if folder}
    variables = {**found, "PYTHONPYCACHEPREFIX": str(BUILD / "pycache"), **os.environ}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def main() -> int:
    """Fetch all and print the variables."""
    try:
        for name, suite in TABLE.items():
            print("export %s=%s" % (name, shlex.quote(str(fetch(suite)))))
    except SetupError as error:
        print("suites: %s" % error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
