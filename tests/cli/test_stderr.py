"""What a server writes on its standard error, as the command line shows it."""
import json
import sys

import pytest

from tests.cli.running import ROOT, run

SERVER = ("import os, sys; sys.path.insert(0, %r); os.write(2, b'warming \\x1b[2J up\\n'); from mcp_ref import Server; "
          "Server('noisy').run()" % str(ROOT))
COMMAND = ["--", sys.executable, "-c", SERVER]


@pytest.mark.parametrize("options, shown", [
    ([], "server| warming \\x1b[2J up\n"), (["--quiet"], ""), (["--json"], "server| warming \\x1b[2J up\n"),
])
def test_the_command_line_shows_what_the_server_writes_unless_it_is_to_be_quiet(options, shown):
    done = run("ping", "--count", "1", *options, *COMMAND)
    assert done.returncode == 0 and done.err == shown


def test_with_a_trace_the_lines_are_part_of_it_and_come_once():
    done = run("ping", "--count", "1", "--trace", *COMMAND)
    line, = [line for line in done.err.splitlines() if "stderr: " in line]
    assert line[8:] == "~~ S  stderr: warming \\x1b[2J up"


BROKEN = ["--", sys.executable, "-c", "import os, sys; os.write(2, b'one\\n  two\\n'); sys.exit(3)"]


@pytest.mark.parametrize("options, ending", [
    ([], "; what it wrote on stderr stands above"), (["--era", "legacy"], "; what it wrote on stderr stands above"),
    (["--quiet"], "; last stderr lines:\n    one\n    two"),
])
def test_a_server_that_does_not_start_says_once_why(options, ending):
    """It is started twice, for `server/discover` and for `initialize`, and the error quotes it."""
    done = run("info", *options, *BROKEN)
    lines = done.err.splitlines()
    assert done.returncode == 3 and done.err.rstrip().endswith("server exited with code 3" + ending)
    assert [line for line in lines if line.startswith("server|")] == [] if options == ["--quiet"] else [
        "server| one", "server|   two"]
    assert sum("two" in line for line in lines) == 1


def test_for_programs_the_error_says_all():
    done = run("info", "--json", *BROKEN)
    assert json.loads(done.out)["error"]["message"].endswith("last stderr lines:\n    one\n      two")
