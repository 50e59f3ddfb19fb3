"""Every example runs alone, asserts what it shows, and ends with 0."""
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("[0-9]*.py")))
def test_example_runs_and_ends_well(name, tmp_path):
    done = subprocess.run([sys.executable, str(FOLDER / name)], cwd=str(tmp_path), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=25)
    assert done.returncode == 0, done.stderr


def test_the_echo_server_registers_as_many_tools_as_asked():
    from mcp_ref import connect

    with connect([sys.executable, str(FOLDER / "echo_server.py"), "--tools", "30"]) as client:
        assert len(list(client.tools())) == 34
        assert client.call_tool("echo_29", {"text": "x"}).content[0].text == "x"
