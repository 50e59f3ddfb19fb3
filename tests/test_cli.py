"""The command line, as a user runs it."""
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = "%s %s" % (sys.executable, ROOT / "examples" / "echo_server.py")


def run(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "mcp_ref", *arguments], cwd=str(ROOT), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=25, **options)


@pytest.mark.parametrize("arguments, lines", [
    (["tools", SERVER], ["tools: 4", "  echo  - Give back the text."]),
    (["resources", SERVER], ["resources: 1", "  config://app  - The settings of this server.", "templates: 1"]),
    (["prompts", SERVER], ["prompts: 1", "  review  - Ask for a review of some code."]),
    (["call", SERVER, "add", "a=1", "b=2"], ["3"]),
    (["call", SERVER, "echo", '{"text": "1"}'], ["1"]),
    (["call", SERVER, "echo", "text=x=y z", "--revision", "2024-11-05"], ["x=y z"]),
    (["read", SERVER, "greeting://you"], ["Hello, you!"]),
    (["prompt", SERVER, "review", "code=x"], ["Please review this python code:", "x"]),
])
def test_commands_print_what_the_server_has(arguments, lines):
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    for line in lines:
        assert line in done.stdout.splitlines()


def test_json_output_is_json():
    tools = json.loads(run("tools", SERVER, "--json").stdout)
    assert [tool["name"] for tool in tools] == ["echo", "add", "count", "slow"]
    result = json.loads(run("call", SERVER, "add", "a=1", "b=2", "--json").stdout)
    assert result["structuredContent"] == {"result": 3}


def test_trace_shows_the_wire_on_stderr():
    done = run("ping", SERVER, "--count", "1", "--trace")
    assert done.returncode == 0 and done.stdout.endswith(" ms\n")
    assert "C> initialize #1" in done.stderr and "S> result #2 ping" in done.stderr


@pytest.mark.parametrize("arguments, code, words", [
    ([], 2, ""),
    (["call", SERVER, "add", "a=x"], 1, ""),
    (["call", SERVER, "nope"], 1, "Unknown tool: nope"),
    (["call", SERVER, "add", "a"], 1, "name=value"),
    (["read", SERVER, "nope://x"], 1, "Resource not found"),
    (["tools", "no-such-command"], 3, "no-such-command"),
    (["tools", "%s -c pass" % sys.executable], 3, "exited with code 0"),
    (["tools", SERVER, "--revision", "1999"], 2, "invalid choice"),
    (["run", "/nowhere.py"], 1, "/nowhere.py"),
])
def test_exit_codes_and_errors_tell_what_went_wrong(arguments, code, words):
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr


def test_run_serves_the_server_of_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from mcp_ref import Server\nmine = Server('mine')\nmine.tool(lambda: 'here', name='where')\n")
    done = run("call", "%s -m mcp_ref run %s" % (sys.executable, file), "where")
    assert done.stdout == "here\n", done.stderr
    file.write_text("x = 1\n")
    assert "has 0 servers" in run("run", str(file)).stderr


def test_demo_runs_the_main_job_with_the_wire_visible():
    done = run("demo")
    assert done.returncode == 0, done.stderr
    assert "S> result #1 initialize" in done.stdout and "progress: [1, 2, 3]" in done.stdout


@pytest.mark.parametrize("command", ["", "tools", "call", "run", "demo", "crosscheck"])
def test_help_helps(command):
    done = run(*([command] if command else []), "--help")
    assert done.returncode == 0 and "usage:" in done.stdout


def test_crosscheck_needs_a_folder_with_schemas(tmp_path):
    done = run("crosscheck", str(tmp_path))
    assert done.returncode != 0
