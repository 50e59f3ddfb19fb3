"""The form of a command, and the parser that all commands share."""

import argparse
import os
import sys
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Tuple

from ..options import closest
from .output import UsageError, say
from .tracing import only_with_equals

Configure = Callable[[argparse.ArgumentParser], None]


class Command(NamedTuple):
    """One command: the function that runs it (options to exit code), and the one that declares its options."""

    run: Callable[[Any], int]
    configure: Configure
    uses_server: bool = False
    """True if its first argument is a server, which may also come last, after ``--``."""
    actions: Tuple[str, ...] = ()
    """The words of which one stands before the server; it becomes the option ``action``."""
    describe: Optional[Callable[[Any], int]] = None
    """Runs in the place of ``run`` where --help follows what the command needs, to describe what is named."""


Commands = Dict[str, Command]


def program() -> str:
    """Return the words that start this package: as a module, under the name of its copy, or as an archive."""
    archive = os.path.basename(sys.argv[0])
    return "python3 " + archive if archive.endswith(".pyz") else "python3 -m " + __name__.rpartition(".cli.")[0]


class Parser(argparse.ArgumentParser):
    """A parser of one command. A complaint is one line and an exception; argparse alone would print and exit."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with the complaint, the option that was probably meant, and the command for help."""
        known = self._option_string_actions
        for action in self._actions:  # argparse says how many values are missing, and not which
            name = action.option_strings[0] if action.option_strings else ""
            if isinstance(action.metavar, tuple) and message.startswith("argument %s: expected" % name):
                raise UsageError("%s takes %d values: %s %s; see %s --help" % (
                    name, len(action.metavar), name, " ".join(action.metavar), self.prog))
        unknown = message.partition("unrecognized arguments: ")[2].split(" ")
        words = [closest(word.partition("=")[0], known) for word in unknown if word.startswith("--")]
        meant = "; did you mean %s? See" % words[0] if words and words[0] else "; see"
        raise UsageError("%s%s %s --help" % (message, meant, self.prog))

    def _print_message(self, message: str, file: Any = None) -> None:
        say(message.rstrip("\n"))  # help is a result, too


def parse(name: str, summary: str, command: Command, words: List[str]) -> Any:
    """Return the options of a command; ``json``, ``live`` (true if a command came after ``--``) and ``run`` (the
    function that runs it) are always among them. Raises `UsageError`; SystemExit for --help."""
    action = None
    if command.actions and words[:1] not in (["--help"], ["-h"]):
        if not words or words[0] not in command.actions:
            raise UsageError("%s %s: what is to be done? Write one of these words first: %s" % (
                program(), name, ", ".join(command.actions)))
        action, words = words[0], words[1:]
        name = "%s %s" % (name, action)
    head, tail = words, []
    if command.uses_server and "--" in words:
        at = words.index("--")
        head, tail = ["--"] + words[:at], words[at + 1:]
        if not tail:
            raise UsageError("after -- follows the command that starts the server")
    parser = Parser(prog="%s %s" % (program(), name), allow_abbrev=False,
                    description=summary[:1].upper() + summary[1:] + ".",
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(json=False, action=action)
    command.configure(parser)
    if tail:
        head[0] = "server"  # a stand-in, so that what is positional keeps its place
    options = _parsed(parser, only_with_equals(head), command)
    options.live = bool(tail)
    if tail:
        if isinstance(options.server, list) and len(options.server) > 1:
            raise UsageError("%s takes either what stands before -- (%s) or the command behind it, not both" % (
                name, " ".join(options.server[1:])))
        options.server = tail
    return options


def _parsed(parser: Parser, words: List[str], command: Command) -> Any:
    """Return the options in these words. Raises SystemExit for --help, unless it is for something that is named."""
    others = [word for word in words if word not in ("--help", "-h")]
    if command.describe is not None and len(others) < len(words):
        try:
            options = parser.parse_intermixed_args(others)
        except UsageError:
            pass  # a word is missing, and help about the command names it
        else:
            options.run = command.describe
            return options
    options = parser.parse_intermixed_args(words)
    options.run = command.run
    return options
