"""The command line: the options of each command with their help, and exit codes.

`argparse` writes its help in another way in each version of Python and for each width, so the parser is looked at
instead, as it is about to print it.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Any, Dict, List, Sequence, Tuple

from mcp_ref import Server, __version__
from mcp_ref.cli import main
from mcp_ref.devtools.checker.scenes import trace
from mcp_ref.wiretrace import to_object
from tests.frozen import verdicts
from tests.meta.facts import ROOT
from tests.support.patience import WAIT

NOBODY = "http://127.0.0.1:9/mcp"
"""An address at which nobody listens."""
COMMANDS = re.compile(r"^    ([a-z-]+) +\S", re.MULTILINE)


FAULTY = r"""
import json, sys
for line in sys.stdin:
    try:
        asked = json.loads(line)
    except ValueError:
        asked = {"id": None, "method": "ping"}
    answer = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked["method"] == "initialize":
        answer["result"] = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {},
                            "serverInfo": {"name": "bad", "version": "1"}}
    elif asked["method"] == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32000, "message": "no"}
    if "id" in asked:
        print(json.dumps(answer), flush=True)
"""
REPORTS = (
    *("check FOLDER/broken FOLDER/disputed FOLDER/kept --format %s" % form for form in (
        "json", "junit", "sarif", "github")),
    *("examine SERVER --revision 2025-11-25 --only ping --only unknown-method --format %s" % form for form in (
        "json", "junit", "sarif", "badge")),
    *("examine SERVER --revision 2025-11-25 --only hostile-cut:3 --seed 1 --format %s" % form for form in (
        "junit", "sarif")),
)


RUN = ("import json, sys; from tests.frozen.commands import run; "
       "print(json.dumps([run(*each)[1] for each in json.loads(sys.argv[1])]))")


def run(*words: str) -> Tuple[int, str, str]:
    """The exit code of a command line that runs in this process, its standard output and error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(words))
        except SystemExit as exit:  # argparse, after --help
            code = int(exit.code or 0)
    return code, out.getvalue(), err.getvalue()


def commands() -> List[str]:
    """The names of all commands, as ``--help`` lists them."""
    return COMMANDS.findall(run("--help")[1].partition("\nCommands:\n")[2])


def help_texts() -> str:
    """The help of each command: what it is, and each option with its names, how many values it has, and its text."""
    said: List[str] = []
    seen: Dict[str, str] = {}
    for command in commands():
        parser = parser_of(command)
        said += ["", "== " + command]
        said += ["  " + line.rstrip() for text in (parser.description, parser.epilog)
                 for line in (text or "").split("\n") if line.strip()]
        for action in parser._actions:
            line = option(action)
            first = seen.setdefault(line, command)
            said.append("  " + (line if first == command else "%s: as in %s" % (line.split(":")[0], first)))
    return "\n".join(said[1:]) + "\n"


def option(action: argparse.Action) -> str:
    """One line: names, values, how many, which; then the text."""
    values: Any = action.metavar or action.dest.upper() if action.nargs != 0 else ""
    facts = [", ".join(action.option_strings) or action.dest,
             " ".join(values) if isinstance(values, tuple) else values,
             "x" + str(action.nargs) if action.nargs else "",
             "one of " + ", ".join(map(str, action.choices)) if action.choices else "",
             "required" if action.required and action.option_strings else ""]
    text = "hidden" if action.help == argparse.SUPPRESS else " ".join((action.help or "").split())
    return "%s: %s" % (" ".join(filter(None, facts)), text.replace(os.path.expanduser("~"), "~"))


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser of a command, which has been about to print its help."""
    caught: List[Any] = []
    original = argparse.ArgumentParser.print_help
    argparse.ArgumentParser.print_help = lambda parser, file=None: caught.append(parser)  # type: ignore
    try:
        run(command, "--help")
    finally:
        argparse.ArgumentParser.print_help = original  # type: ignore[method-assign]
    return caught[0]


KEPT = """
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
    S notifications/progress {"progressToken": "p", "progress": 1}
    S #1 {"content": []}
"""
BROKEN = KEPT.replace('"progress": 1}', '"progress": 1}\n    '
                      'S notifications/progress {"progressToken": "p", "progress": 1}')
LINES: Sequence[str] = (
    "", "--version", "--help", "no-such-command",
    "info ECHO", "tools ECHO", "resources ECHO", "prompts ECHO", "ping ECHO",
    "call ECHO add a=1 b=2", "call ECHO add a=one b=2", "call ECHO no-such-tool", "read ECHO greeting://you",
    "read ECHO no-such://resource", "prompt ECHO no-such-prompt", "complete ECHO prompt:no-such-prompt name v",
    "tasks list ECHO", "tasks wait ECHO no-such-task", "tasks", "doctor ECHO", "info no-such-program-here",
    "info tcp://127.0.0.1:9", "run no-such-file.py", "bridge", "config python3 --for no-such-host",
    "config python3 --for cursor", "explain tools/call", "explain no-such-word-at-all", "explain --missing",
    "diff 2025-06-18 2025-11-25", "diff 2025-06-18 1999-01-01", "check KEPT", "check BROKEN", "check no-such-file",
    "check KEPT --json", "ladder KEPT", "ladder no-such-file", "trace-diff KEPT KEPT", "trace-diff KEPT BROKEN",
    "replay KEPT", "replay no-such-file --as-server", "trace", "examine no-such-program-here",
    "inspect --config no-such-file",
    "crosscheck no-such-folder", "bundle no-such-file.py -o OUT", "bundle KEPT -o OUT", "vendor OUT --check",
    "pack no-such-file.py -o OUT", "pack",
)
"""Command lines; ECHO is the address of a server, KEPT and BROKEN are recordings, OUT is a path with nothing there."""


def server() -> Server:
    """A server with something of each kind."""
    made = Server("frozen", version="1")

    @made.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @made.resource("greeting://{name}")
    def greeting(name: str) -> str:
        return "Hello, %s!" % name

    @made.prompt
    def review(code: str) -> str:
        return "Please review:\n\n" + code

    return made


def reports(folder: pathlib.Path) -> str:
    """The reports of `check` and `examine` in each form for programs: of recordings that break a rule, and of a server
    that answers most requests with the wrong error, and what is no JSON with a result."""
    scenes = {"kept": trace(KEPT, "+"), "broken": trace(BROKEN, "+"),
              "disputed": trace(verdicts.disputed(), "-")}
    for name, events in scenes.items():
        (folder / name).write_text("".join(json.dumps(to_object(event)) + "\n" for event in events), "utf-8")
    (folder / "faulty.py").write_text(FAULTY, "utf-8")
    (folder / "python").symlink_to(sys.executable)  # whose own path may have signs that reports escape
    program = "%s %s" % (folder / "python", folder / "faulty.py")
    paths = [(program, "SERVER"), (json.dumps(str(folder))[1:-1], "FOLDER"), (__version__, "VERSION")]
    words = [[program if word == "SERVER" else word.replace("FOLDER", str(folder)) for word in line.split()]
             for line in REPORTS]
    # In a process of its own: the cases stand in the order in which the pages of rules were imported.
    texts = json.loads(subprocess.run([sys.executable, "-c", RUN, json.dumps(words)], cwd=str(ROOT), check=True,
                                      stdout=subprocess.PIPE, timeout=WAIT).stdout.decode("utf-8"))
    said = []
    for line, text in zip(REPORTS, texts):
        for old, new in paths:
            text = text.replace(old, new)
        said.append("== %s\n%s" % (line, text))
    return "".join(said)


def exit_codes(folder: pathlib.Path) -> str:
    """The exit code of each of these command lines; then of each command with an option that it does not have, and of
    each that uses a server with one that cannot be reached."""
    for name, scene in (("kept", KEPT), ("broken", BROKEN)):
        (folder / name).write_text("".join(json.dumps(to_object(event)) + "\n" for event in trace(scene, "+")), "utf-8")
    paths = {"KEPT": str(folder / "kept"), "BROKEN": str(folder / "broken"), "OUT": str(folder / "out")}
    with server().listen("tcp://127.0.0.1:0") as listener:
        paths["ECHO"] = listener.address
        said = ["%s  %s" % (run(*[paths.get(word, word) for word in shlex.split(line)])[0], line) for line in LINES]
    unknown = ["%s --no-such-option" % command for command in commands() if command != "tasks"]
    lost = ["%s %s" % (command, NOBODY) for command in commands() if "SERVER" in [
        action.metavar for action in parser_of(command)._actions]
            and command not in ("config", "bridge", "inspect", "replay")]
    missing = {"call": " x", "read": " x", "prompt": " x", "complete": " prompt:x y z"}
    for line in [*unknown, *lost]:
        line = line.replace("tasks ", "tasks list ") + ("" if "--" in line else missing.get(line.split()[0], ""))
        said.append("%s  %s" % (run(*line.split())[0], line))
    return "\n".join(said) + "\n"
