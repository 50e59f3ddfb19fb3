"""The commands that need no server of yours: demo and crosscheck."""

import argparse
import os
import sys
from typing import Any, Callable

from ..diagnostics.packagelog import own_process
from ..revisions import REVISIONS
from .command import Command, Commands, program
from .output import DONE, FAILED, OutputClosed, UsageError, say_json

SCHEMA = "schema.json"


def _printing(main: Callable[..., int], *arguments: Any) -> int:
    """Run a function that prints by itself. A trace that ends because its output was closed is not logged."""
    own_process(False)
    try:
        code = main(*arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        raise OutputClosed() from None


def _demo(options: Any) -> int:
    from .demo import main

    return _printing(main, program(), options.wire)


def _demo_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Nothing is installed or changed: the server is a child process that ends with the demonstration."
    parser.add_argument("--wire", action="store_true", help="show the messages themselves in place of arrows")


def _crosscheck(options: Any) -> int:
    from ..crosscheck import compare, errata_lines, main

    absent = [str(each) for each in REVISIONS if not os.path.isfile(os.path.join(options.folder, str(each), SCHEMA))]
    if absent:
        raise UsageError("%s has no %s for %s: the folder is to hold REVISION/%s" % (
            options.folder, SCHEMA, ", ".join(absent), SCHEMA))
    if not options.json:
        return _printing(main, options.folder)
    found = compare(options.folder)
    say_json({"differences": found, "errata": errata_lines()})
    return FAILED if found else DONE


def _crosscheck_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="a folder with REVISION/%s of every revision" % SCHEMA)
    parser.add_argument("--json", action="store_true",
                        help="print {\"differences\": [...], \"errata\": {line: reason}}")


COMMANDS: Commands = {
    "demo": Command(_demo, _demo_options),
    "crosscheck": Command(_crosscheck, _crosscheck_options),
}
