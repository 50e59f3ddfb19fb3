"""Official clients against a recording of themselves: `server-everything` recorded with `trace`, then `replay`.

Each client does a list of steps against the real server, behind our recorder; then the same against the recording,
which `replay --as-server` plays. It has to see the same errors at the same steps, and the two recordings mean the same.
At last `replay --as-client` asks the real server what the client asked.
"""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
from functools import partial
from typing import Callable, Dict, List

import foreign
import peers
from foreign_sessions import EVERYTHING, Session
from official_walk import expect
from tests.support.patience import WAIT

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STEPS = [step for step in EVERYTHING if step[0] != "wait"] + [
    ["call", "get-roots-list", {}], ["call", "trigger-elicitation-request", {}], ["level", "debug"]]
CLIENTS = {"replay-client-v1": "py1", "replay-client-v2": "py2", "replay-client-ts-v1": "ts1",
           "replay-client-ts": "ts2"}


def client(programs: foreign.Programs, session: Session, folder: pathlib.Path, target: List[str]) -> List[str]:
    """What a client sees at each of its steps."""
    done = subprocess.run([*foreign.client_command(programs, session), *target], cwd=str(folder),
                          env=foreign.client_environment(programs, session, str(folder)), timeout=foreign.SECONDS,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith('{"step"')]
    expect(done.returncode == 0 and len(lines) == len(session.steps),
           "the client went through all steps: %s" % lines[-1:])
    return lines


def walk(kind: str, commands: Dict[str, List[str]]) -> None:
    """Record, replay over both transports, compare, and ask the server again."""
    programs = foreign.Programs(commands, "", peers.first_typescript() if kind == "ts1" else {}, {})
    session = Session(kind, "everything", "stdio", STEPS, "legacy" if kind.endswith("2") else "")
    ours = [sys.executable, str(HERE / "foreign_shim.py")]
    replay = [sys.executable, "-m", "mcp_ref", "replay"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "again").mkdir()
        os.environ["PYTHONPATH"] = str(ROOT)
        saw = client(programs, session, folder, [*ours, name, *commands["everything"], "stdio"])
        trace, = folder.glob("trace-*.jsonl")
        player = [*replay, str(trace), "--as-server", "--speed", "max"]  # in a pause an answer overtakes what follows
        again = client(programs, session, folder, [*ours, str(folder / "again"), *player])
        expect(again == saw, "the same over stdio")
        expect(served(programs, session, folder, [*player, "--http", "0"]) == saw,
               "the same over HTTP")
        other, = (folder / "again").glob("trace-*.jsonl")
        compared = subprocess.run([sys.executable, "-m", "mcp_ref", "trace-diff", str(trace), str(other)],
                                  cwd=str(ROOT), stdout=subprocess.PIPE, timeout=WAIT)
        expect(compared.returncode == 0, "the recordings mean the same: %s" % compared.stdout.decode()[:500])
        everything = " ".join(map(shlex.quote, commands["everything"]))
        asked = subprocess.run([*replay, str(trace), "--as-client", everything, "--json"],
                               cwd=str(ROOT), stdout=subprocess.PIPE, timeout=WAIT)
        expect(asked.returncode == 0, "the server answers as recorded: %s" % json.loads(asked.stdout)["different"])


def served(programs: foreign.Programs, session: Session, folder: pathlib.Path, command: List[str]) -> List[str]:
    """What the client sees of a replay over HTTP."""
    process = subprocess.Popen(command, cwd=str(ROOT), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        words: List[str] = []
        while "replaying" not in words:
            line = process.stderr.readline().decode()
            expect(bool(line), "the replay has begun")
            words = line.split()
        return client(programs, session, folder, [next(word for word in words if "://" in word)])
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT)


WALKS: Dict[str, Callable[[Dict[str, List[str]]], None]] = {name: partial(walk, kind) for name, kind in CLIENTS.items()}
