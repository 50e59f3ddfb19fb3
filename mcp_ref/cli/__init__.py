"""The command line: run a server, use a server, see the wire, look things up.

    python3 -m mcp_ref run FILE                        serve the server in a Python file; --http HOST:PORT --workers N
    python3 -m mcp_ref bridge SERVER                   serve it over another transport or revision; --http HOST:PORT
    python3 -m mcp_ref info SERVER                     who it is, and what it can do
    python3 -m mcp_ref tools SERVER                    list tools; also: resources, prompts; --long for schemas
    python3 -m mcp_ref tools SERVER NAME               describe one in full, with its parameters
    python3 -m mcp_ref call SERVER NAME a=1 b=2        call a tool; --save DIR writes images and audio to files
    python3 -m mcp_ref read SERVER URI                 read a resource
    python3 -m mcp_ref prompt SERVER NAME code=x       get a prompt
    python3 -m mcp_ref complete SERVER REF NAME VALUE  ask for suggestions
    python3 -m mcp_ref tasks wait SERVER ID            wait for a task of call --task; also: list, get, cancel, result
    python3 -m mcp_ref ping SERVER                     see how quickly it answers
    python3 -m mcp_ref config SERVER --for HOST        the entry for a host's configuration file; --write puts it there
    python3 -m mcp_ref doctor SERVER                   why a connection fails, and what to do; or what is odd about it
    python3 -m mcp_ref trace -- CMD...                 record a session of others; --http LISTEN URL: over HTTP
    python3 -m mcp_ref demo                            all of it, drawn as a ladder; --wire: the messages
    python3 -m mcp_ref explain tools/call              a method, type, code, feature, revision, page, or any word
    python3 -m mcp_ref explain --missing               what this package does not do; --readings: what it decided
    python3 -m mcp_ref diff 2025-06-18 2025-11-25      what differs between two revisions
    python3 -m mcp_ref check FILE | -- CMD             judge a session, recorded or live, clause by clause
    python3 -m mcp_ref examine SERVER                  put a server through all revisions, and say what it breaks
    python3 -m mcp_ref inspect SERVER                  a page in the browser: see the wire, call, answer; --config FILE
    python3 -m mcp_ref ladder FILE                     draw a recorded session, with what breaks a rule at its message
    python3 -m mcp_ref replay FILE --as-server         answer a client from a recording; --as-client: ask a server again
    python3 -m mcp_ref trace-diff A B                  what differs between two recordings, by meaning
    python3 -m mcp_ref selfcheck                       what works on this system, as a report to send
    python3 -m mcp_ref crosscheck FOLDER               compare the dataclasses with the official schemas
    python3 -m mcp_ref bundle FILE -o one.py           make one file of a source file and what it needs of this package
    python3 -m mcp_ref vendor FOLDER                   copy this package into a program; --update merges a newer version
    python3 -m mcp_ref pack SERVER.py -o X.mcpb        make a bundle of a server, which hosts install with one click

SERVER is a command in quotes, a URL, ``tcp://host:port`` or ``unix:///path``, or an entry of a host's file, as in
``tools mcp.json:git``. Or the command comes last, after ``--``: ``python3 -m mcp_ref call add a=1 b=2 -- python3
server.py``. COMMAND ``--help`` tells the options of each.

Results go to standard output, everything else (the wire with ``--trace``, progress, log messages, questions of
the server, errors) to standard error. With ``--json`` standard output is one JSON document, and if the command
fails that is ``{"error": {"kind", "message", "exit"}}``, with ``code`` and ``data`` of an error that the server sent.

Exit codes:
    0    done, also when the reader of our output closed it (``| head``)
    1    the server or a tool said no, or did not answer in time; vendor --check or --diff, or doctor, found something
    2    wrong usage; the line on standard error says what to write
    3    no connection: the server could not be started or reached, or it went away
    130  interrupted
"""

import argparse
import sys
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from ..diagnostics.packagelog import own_process
from .output import (
    DONE, EXPECTED, OutputClosed, UsageError, as_object, drop_output, fail, row_of, say, say_json, text_of,
)

HOMES: Dict[str, Tuple[str, str]] = {
    "run": (".serve.run", "serve the server in a Python file, over stdio or a socket"),
    "bridge": (".serve.bridge", "serve a server over another transport, and in other revisions, than it has"),
    "info": (".use.servers", "tell who a server is and what it can do"),
    "tools": (".use.servers", "list a server's tools, each with its signature"),
    "call": (".use.servers", "call a tool; the exit code is 1 if it failed"),
    "resources": (".use.servers", "list a server's resources and resource templates"),
    "read": (".use.servers", "read a resource"),
    "prompts": (".use.servers", "list a server's prompts"),
    "prompt": (".use.servers", "get a prompt"),
    "complete": (".use.servers", "ask a server for suggestions while an argument is typed"),
    "tasks": (".use.servers", "list, get, wait for, cancel a task of a server, or show its result"),
    "ping": (".use.servers", "see how quickly a server answers"),
    "config": (".hosts.config", "print the entry of a server for a host's configuration file, or write it there"),
    "doctor": (".doctor.examination", "say why the connection to a server fails, or what is odd about one that works"),
    "trace": (".judge.tracing", "record what a client and a server say to each other, whoever made them"),
    "demo": (".demo", "start a small server, use it, and show what is said as a ladder, or the wire"),
    "explain": (".learn.explain", "tell what a word of the protocol means: a method, a type, a page, a revision"),
    "diff": (".learn.facts", "tell what differs between two revisions"),
    "check": (".judge.check", "judge a session, recorded or live: which clause was broken, by whom, where"),
    "examine": (".judge.examine", "put a server through every revision it speaks, and say which clauses it keeps"),
    "inspect": (".inspecting.command", "use servers from a page in the browser, and see the wire while they are used"),
    "ladder": (".judge.ladder", "draw a recorded session, with what breaks a rule at its message"),
    "replay": (".judge.replay", "play a recording again: answer a client, or ask a server the same and compare"),
    "trace-diff": (".judge.replay", "tell what differs between two recordings, by meaning"),
    "selfcheck": (".selfcheck", "check what works on this system, and print a report to send"),
    "crosscheck": (".demo", "compare the dataclasses with the official schemas"),
    "bundle": (".copying.bundle", "make one file of a program of one source file and what it needs of this package"),
    "vendor": (".copying.vendor", "copy this package, or a part of it, into another program, and check the copy"),
    "pack": (".packing.pack", "make a bundle of a server that hosts install with one click, or check one"),
}
"""Command -> the module whose COMMANDS has it (loaded when the command is used), and a summary for ``--help``."""


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command and return its exit code. The module's docstring lists the codes."""
    if arguments is None:  # we are the program
        own_process()
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = False
    try:
        if not words or words[0] not in HOMES:
            return _overview(words)
        name, rest = words[0], words[1:]
        from .output import parse

        command = _module(name).COMMANDS[name]
        options = parse(name, HOMES[name][1], command, rest)
        as_json = options.json
        code: int = options.run(options)
        return code
    except OutputClosed:
        drop_output()
        return DONE
    except EXPECTED as error:
        return _failed(error, as_json)


def _module(name: str) -> Any:
    from importlib import import_module

    return import_module(HOMES[name][0], __name__)


def _failed(error: BaseException, as_json: bool) -> int:
    fail(text_of(error))
    if as_json:
        try:
            say_json(as_object(error))
        except OutputClosed:
            drop_output()
    return row_of(error).code


def _overview(words: List[str]) -> int:
    """Run a command line that begins with no command: print help or the version, or raise `UsageError`."""
    from ..version import __version__

    parser = _Overview(add_help=False, allow_abbrev=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--version", action="store_true")
    options = parser.parse_args(words)
    if options.version:
        say("mcp_ref " + __version__)
        return DONE
    if options.help:
        say(_help())
        return DONE
    raise UsageError("which command? One of %s; --help tells more" % ", ".join(HOMES))


def _help() -> str:
    from .output import program

    summaries = "\n".join("    %-12s%s" % (name, summary) for name, (_, summary) in HOMES.items())
    text = "usage: python3 -m mcp_ref COMMAND ... | --help | --version\n\n%s\nCommands:\n%s" % (__doc__, summaries)
    return text.replace("python3 -m mcp_ref", program())


class _Overview(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with the command that was probably meant."""
        from difflib import get_close_matches

        unknown = message.rpartition(": ")[2].split(" ")[0]
        close = get_close_matches(unknown, HOMES, 1)
        raise UsageError("there is no command %r; %s" % (
            unknown, "did you mean %s?" % close[0] if close else "--help lists them"))
