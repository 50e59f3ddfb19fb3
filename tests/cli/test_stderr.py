"""What a server writes on its standard error, as the command line shows it."""
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
    line, = [line for line in done.err.splitlines() if "warming" in line]
    assert line[8:] == "~~ S  stderr: warming \\x1b[2J up"
