"""The command line as tests run it: in a process of its own, or in this one where that is enough."""
import os
import pathlib
import shlex
import subprocess
import sys

from tests.support.patience import WAIT

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = [sys.executable, str(ROOT / "examples" / "echo_server.py")]
SERVER = " ".join(map(shlex.quote, ECHO))

SILENT = """
import sys, json
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {
            "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "silent", "version": "1"}}}), flush=True)
    elif asked.get("method") == "server/discover":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {
            "code": -32601, "message": "Method not found"}}), flush=True)
    elif asked.get("method"):
        print("asked: " + asked["method"], file=sys.stderr, flush=True)
"""
"""A server that shakes hands, refuses the way without at once, and then answers nothing."""


def run(*arguments, env=None, **options):
    """Run the command line as a user does; with `code`, `out` and `err`."""
    options.setdefault("stdin", subprocess.DEVNULL)
    if "input" in options:
        del options["stdin"]
    done = subprocess.run([sys.executable, "-m", "mcp_ref", *arguments], cwd=str(ROOT), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=WAIT, env=dict(os.environ, **(env or {})), **options)
    done.out, done.err = (stream.decode("utf-8", "backslashreplace") for stream in (done.stdout, done.stderr))
    return done


def here(capsys, *arguments):
    """Run it in this process: exit code, standard output, standard error."""
    from mcp_ref.cli import main

    try:
        code = main(list(arguments))
    except SystemExit as exit:  # argparse, after --help
        code = exit.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def one_line_of(err):
    """The text of an error that is one line, as all of them are."""
    assert err.startswith("mcp_ref: ") and err.count("\n") == 1 and "Traceback" not in err, err
    return err[len("mcp_ref: "):-1]


def fresh(folder, code, *flags, keep=False):
    """Run code in a fresh interpreter without site-packages, that finds only what is in a folder.

    keep: leave bytecode there, for a folder that is used again.
    """
    done = subprocess.run([sys.executable, "-I", "-S", *([] if keep else ["-B"]), *flags, "-c",
                           "import sys; sys.path.insert(0, %r)\n%s" % (str(folder), code)],
                          cwd=str(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return done.stdout
