"""Run the official conformance suite against our two fixtures, and read its results more strictly than it does itself.

The suite is installed into `build/conformance/suite` or into the cache of `environments`, and runs on the Node of
`peers`. As its own dependencies are ranges, `tests/conformance/package-lock.json` pins every package, by its digest.
Results go to `build/conformance/out`, a folder for each leg, with one for each scenario below it.

The suite forgives warnings, and in some of its modes a client that fails or hangs; and a check that could not be made
shows only as SKIPPED or INFO, or not at all. So a leg passes here if

 - every scenario that `tests/conformance/expected.json` lists has run, and no other;
 - no check is a FAILURE or a WARNING, and each scenario has just the checks listed: `id`, or `INFO id`, `SKIPPED id`;
 - what was skipped has a reason in `SKIPPED`, which names the tests of our own that look at it instead;
 - each scenario that the suite has for clients runs in some leg, and all it has for servers run in `server all`;
 - the suite's own exit code is 0. Clients run one scenario at a time, where it tells their exit code and time-outs;
 - our server has outlived everything and had nothing to complain of.

In `.ci/run` a leg that failed is tried again: see `steady`.

Options: `--only LEG` (repeatable), `--record` (write expected.json anew from a run without failures, and look at the
difference before you commit it).
"""
import argparse
import hashlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import peers
import steady
from environments import BUILD, ROOT, SetupError, once, say

sys.path.insert(0, str(ROOT))

from tests.support.patience import WAIT  # noqa: E402

HOME = BUILD / "conformance"
FIXTURES = ROOT / "tests" / "conformance"
EXPECTED = FIXTURES / "expected.json"
PINS = ("package.json", "package-lock.json")
LEG_SECONDS = 900

# Leg -> options of our server, and what the suite chooses of its scenarios. Once with streams only: else JSON, which
# suits most requests, leaves a check about streams unmade.
SERVER_LEGS: Dict[str, Tuple[Tuple[str, ...], Tuple[str, ...]]] = {
    "server 2025-11-25": ((), ("--requirements", "2025-11-25")),
    "server 2025-11-25 streams": (("--streams",), ("--requirements", "2025-11-25")),
    "server 2025-06-18": ((), ("--suite", "all", "--spec-version", "2025-06-18")),
    "server 2025-03-26": ((), ("--suite", "all", "--spec-version", "2025-03-26")),
    "server 2026-07-28": ((), ("--requirements", "2026-07-28")),
    "server 2026-07-28 streams": (("--streams",), ("--requirements", "2026-07-28")),
    "server all": ((), ("--suite", "all")),  # skills are in no list of requirements
}
METHODS = tuple("auth/token-endpoint-auth-" + name for name in ("basic", "post", "none"))
AUTHORIZATION = METHODS + tuple("auth/" + name for name in (
    "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "pre-registration",
    "scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up",
    "scope-retry-limit"))
STRICTER = tuple("auth/" + name for name in (
    "resource-mismatch", "offline-access-scope", "offline-access-not-supported", "authorization-server-migration",
    "iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected",
    "iss-normalized", "metadata-issuer-mismatch"))
# Never scored, and on no revision's list: the suite has to be forced.
MACHINES = tuple("auth/" + name for name in (
    "client-credentials-jwt", "client-credentials-basic", "enterprise-managed-authorization", "wif-jwt-bearer", "dpop",
    "dpop-nonce"))

SKILLS = tuple("sep-2640-client-" + name for name in (
    "no-prefetch", "verify-digest", "verify-size", "verify-frontmatter"))

# Leg -> how the suite is asked what it has for a client, and what runs; LEFT_OUT says why the others do not. The second
# word of a leg is the wire. The last leg is asked for everything, and has what is on no revision's list.
CLIENT_LEGS: Dict[str, Tuple[Tuple[str, ...], Tuple[str, ...]]] = {
    "client 2025-11-25": (("--requirements", "2025-11-25"), (
        "initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry",
        "json-schema-2020-12-preservation", *AUTHORIZATION, *MACHINES)),
    "client 2025-06-18": (("--spec-version", "2025-06-18"), ("initialize", "tools_call", *METHODS)),
    "client 2025-03-26": (("--spec-version", "2025-03-26"), (
        "auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback")),
    "client 2026-07-28": (("--requirements", "2026-07-28"), (
        "tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers",
        "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation", *AUTHORIZATION, *STRICTER, *MACHINES)),
    "client 2026-07-28 all": (("--client",), SKILLS),
}
# Beginning of a scenario's name -> why it does not run, or does not count.
LEFT_OUT: Dict[str, str] = {}
HANDSHAKE = "2026-07-28 has no handshake: tests/conformance/test_fixtures.py::test_no_handshake_in_2026"
# What the suite says of a check that it skips -> why nothing is missed by that, with a test of our own.
SKIPPED: Dict[str, str] = {
    "Status notifications conformance, pending subscriptions/listen rewrite.":
        "the suite cannot look at it yet: tests/server/tasks/test_extension.py::test_listening_to_tasks",
    "Client sends correct Mcp-Method header on initialize request": HANDSHAKE,
    "Client sends correct Mcp-Method header on notifications/initialized request": HANDSHAKE,
}

GOOD, BAD = ("SUCCESS", "INFO", "SKIPPED"), ("FAILURE", "WARNING")
Checks = Dict[str, List[Dict[str, Any]]]
"""Scenario -> its checks, as the suite wrote them."""
Listed = Dict[str, List[str]]
"""Scenario -> the checks it must have."""


class Suite(NamedTuple):
    """The installed suite."""

    node: str
    program: str

    def call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run it in the checkout's root; SetupError where it does not end in time."""
        try:
            return subprocess.run([self.node, self.program, *arguments], cwd=str(ROOT), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LEG_SECONDS,
                                  encoding="utf-8", errors="replace")
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SetupError("the suite: %s" % error) from error

    def client_scenarios(self, choice: Sequence[str]) -> List[str]:
        """The scenarios for clients that the suite has by this choice, such as a revision, scored or not."""
        found, ours = [], False
        for line in self.call("list", *choice).stdout.splitlines():
            if not line.startswith(" "):
                ours = line.startswith("Client scenarios")
            item = re.match(r" +- (\S+)(.*)", line)
            if item and (ours or item.group(2) == " [client]"):
                found.append(item.group(1))
        return found


def install() -> Suite:
    """Install what is pinned, unless it is there."""
    def make(folder: pathlib.Path) -> None:
        for name in PINS:
            shutil.copy(str(FIXTURES / name), str(folder))
        peers.npm_install(folder, "ci")

    content = ["%s %s" % (name, hashlib.sha256((FIXTURES / name).read_bytes()).hexdigest()) for name in PINS]
    folder = once(HOME / "suite", content, make)
    return Suite(peers.node(), str(folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"))


# --- reading results --------------------------------------------------------------------------------------------------

def read(folder: pathlib.Path) -> Checks:
    """The checks of every scenario below an output folder, whose names end in a time."""
    found: Checks = {}
    for path in sorted(folder.rglob("checks.json")):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[-\d]+Z$", "", path.parent.relative_to(folder).as_posix())
        found.setdefault(name, []).extend(json.loads(path.read_text(encoding="utf-8")))
    return found


def listed(checks: Checks) -> Listed:
    """Checks as expected.json has them: each once, however often it was made, and none that is bad."""
    return {name: sorted({one["id"] if one["status"] == "SUCCESS" else "%s %s" % (one["status"], one["id"])
                          for one in made if one["status"] in GOOD}) for name, made in sorted(checks.items())}


def judge(checks: Checks, expected: Listed) -> Iterator[str]:
    """What is wrong with the results of a leg, a line each."""
    for name in sorted(set(expected) - set(checks)):
        yield "%s: has not run" % name
    now = listed(checks)
    for name, made in checks.items():
        bad = [one for one in made if one["status"] not in GOOD]
        yield from ("%s: %s: %s %s" % (name, one["id"], one["status"], said(one)) for one in bad)
        if name not in expected:
            yield "%s: is not in expected.json" % name
            continue
        told = {one["id"] for one in bad}
        yield from ("%s: %s: SKIPPED, and no reason is known: %s" % (name, one["id"], one.get("description"))
                    for one in skipped(made) if one.get("description") not in SKIPPED)
        lacking = [line for line in expected[name] if line not in now[name] and line.split()[-1] not in told]
        yield from ("%s: lacks the check: %s" % (name, line) for line in lacking)
        yield from ("%s: a check not in expected.json: %s" % (name, line)
                    for line in now[name] if line not in expected[name])


def skipped(made: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The checks among these that were not made."""
    return [one for one in made if one["status"] == "SKIPPED"]


def said(check: Dict[str, Any]) -> str:
    """Why a check failed, shortened."""
    return "%s %s" % (check.get("errorMessage", ""), json.dumps(check.get("details", {}))[:1500])


# --- the legs ---------------------------------------------------------------------------------------------------------

class OurServer:
    """The server fixture, as a process on a free port of the loopback; `problems` are known when it has ended."""

    def __init__(self, options: Sequence[str]) -> None:
        self._options = options
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.problems: List[str] = []
        self.log = HOME / "server.log"

    def __enter__(self) -> "OurServer":
        command = [sys.executable, str(FIXTURES / "server.py"), "--http", "127.0.0.1:%d" % self.port, *self._options]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=str(ROOT))
        try:
            self._wait_until_it_listens()
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        return self

    def _wait_until_it_listens(self) -> None:
        end = time.monotonic() + WAIT
        while self._process.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SetupError("our server does not listen:\n%s" % self._words())

    def __exit__(self, *exception: object) -> None:
        code = self._process.poll()
        if code is not None:
            self.problems.append("our server has ended by itself, with %d" % code)
        self._process.terminate()
        try:
            self._process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.problems.append("our server has not ended %d s after SIGTERM" % WAIT)
            self._process.kill()
            self._process.wait()
        if "Traceback" in self._words():
            self.problems.append("our server complained:\n%s" % self._words())

    def _words(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-5000:]


def server_leg(suite: Suite, leg: str) -> Tuple[Checks, List[str]]:
    """Run the scenarios of a leg against our server: the checks, and what is wrong beside them."""
    options, choice = SERVER_LEGS[leg]
    folder, problems, server = emptied(leg), [], OurServer(options)
    with server:
        done = suite.call("server", "--url", "http://localhost:%d/mcp" % server.port, *choice, "-o", str(folder))
    if done.returncode:
        problems.append("the suite ended with %d:\n%s" % (done.returncode, done.stdout[-300:]))
    found = {name[len("server-"):]: made for name, made in read(folder).items()}
    rest = without_left_out(leg, list(found))
    return {name: found[name] for name in rest}, problems + server.problems


def client_leg(suite: Suite, leg: str) -> Tuple[Checks, List[str]]:
    """The same for our client, which the suite starts for each scenario, one after the other; says what is left out."""
    choice, scenarios = CLIENT_LEGS[leg]
    command = "%s tests/conformance/client.py" % sys.executable
    if command.count(" ") > 1:
        raise SetupError("the suite splits commands at spaces, and this interpreter's path has one: %s" % command)
    folder, problems = emptied(leg), list(left_out(leg, suite.client_scenarios(choice)))
    for name in scenarios:
        done = suite.call("client", "--command", command, "--scenario", name, "--spec-version", leg.split()[1],
                          "--timeout", "%d" % (1000 * WAIT), "--force", "-o", str(folder))
        if done.returncode:
            problems.append("%s: the suite ended with %d:\n%s" % (name, done.returncode, done.stdout[-1500:]))
    return read(folder), problems


def left_out(leg: str, available: List[str]) -> Iterator[str]:
    """Say aloud what does not run, with the reason; what has none is wrong, and so is what the suite does not have."""
    chosen = CLIENT_LEGS[leg][1]
    yield from ("%s: the suite has no such scenario" % name for name in chosen if name not in available)
    if "--client" in CLIENT_LEGS[leg][0]:  # everything: what other legs choose runs there
        chosen = tuple(name for _, names in CLIENT_LEGS.values() for name in names)
    rest = without_left_out(leg, [name for name in available if name not in chosen])
    yield from ("%s: neither chosen nor left out for a reason" % name for name in rest)


def without_left_out(leg: str, names: List[str]) -> List[str]:
    """The scenarios that are not left out; says aloud which are."""
    for beginning, reason in LEFT_OUT.items():
        out = [name for name in names if name.startswith(beginning)]
        if out:
            say("%s: left out, as %s: %s" % (leg, reason, ", ".join(out)))
        names = [name for name in names if name not in out]
    return names


def emptied(leg: str) -> pathlib.Path:
    """The folder for the results of a leg, with nothing in it."""
    folder = HOME / "out" / leg.replace(" ", "-")
    shutil.rmtree(str(folder), ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


# --- all of it --------------------------------------------------------------------------------------------------------

def go(suite: Suite, leg: str, expected: Dict[str, Listed], record: bool = False) -> List[str]:
    """Go through one leg and print how it went; what was wrong. ``record``: enter its checks as the expected ones."""
    checks, problems = (server_leg if leg in SERVER_LEGS else client_leg)(suite, leg)
    if record:
        expected[leg] = listed(checks)
    problems = [*judge(checks, expected.get(leg, {})), *problems]
    for problem in problems:
        print("  %s" % problem)
    for one in (one for made in checks.values() for one in skipped(made) if one.get("description") in SKIPPED):
        say("%s: skipped: %s: %s" % (leg, one["id"], SKIPPED[one["description"]]))
    statuses = [one["status"] for made in checks.values() for one in made]
    counts = ", ".join("%d %s" % (statuses.count(status), status) for status in (*GOOD, *BAD) if status in statuses)
    print("%s: %s: %d scenarios, checks: %s" % (leg, "FAILED" if problems else "passed", len(checks), counts or "none"),
          flush=True)
    return problems


def main() -> int:
    """Run the chosen legs and judge them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="LEG", choices=[*SERVER_LEGS, *CLIENT_LEGS])
    parser.add_argument("--record", action="store_true", help="write the checks of this run to expected.json")
    options = parser.parse_args()
    expected: Dict[str, Listed] = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.is_file() else {}
    failures: List[steady.Failure] = []
    try:
        suite = install()
        for leg in options.only or [*SERVER_LEGS, *CLIENT_LEGS]:
            problems = go(suite, leg, expected, options.record)
            if problems:
                failures.append(steady.Failure(leg, "make conformance", "\n".join(problems)))
        passed = not failures or steady.unsteady(
            failures, lambda failure: "\n".join(go(suite, failure.name, expected)))
    except SetupError as error:
        print("conformance: %s" % error, file=sys.stderr)
        return 2
    if options.record and passed:
        EXPECTED.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    print("conformance: %s" % ("all legs passed" if passed else "FAILED"))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
