"""The option ``--trace`` of the commands that speak the protocol: text on standard error, or JSON Lines in a file."""

import argparse
import sys
from typing import TYPE_CHECKING, List, Optional

from .output import note

if TYPE_CHECKING:
    from ..wiretrace import Sink, Trace

OPTION = "--trace"
TEXT, FULL = "", "full"
"""The values that are no file."""


def trace_option(parser: argparse.ArgumentParser) -> None:
    """Declare the option. `only_with_equals` has to be applied to the words before."""
    parser.add_argument(OPTION, nargs="?", metavar="full|FILE",
                        help="show the wire on standard error, secrets masked; --trace=full shortens nothing, "
                             "--trace=FILE writes it for programs, as JSON Lines (full and FILE only with =)")


def only_with_equals(words: List[str]) -> List[str]:
    """Return the words of a command line in which the option takes no value from the word after it."""
    end = words.index("--") if "--" in words[1:] else len(words)  # the first word may be one for argparse
    return [OPTION + "=" if word == OPTION else word for word in words[:end]] + words[end:]


def is_text(value: Optional[str]) -> bool:
    """Return True if the trace is shown on standard error."""
    return value in (TEXT, FULL)


def trace_to(value: Optional[str], *sinks: "Sink") -> "Optional[Trace]":
    """Return the trace that the option asks for, with other sinks before its own; None for no sink at all."""
    asked: "List[Sink]" = list(sinks)
    if is_text(value) and sys.stderr is not None:
        from ..wiretrace.text import AUTO, TextSink

        asked.append(TextSink(sys.stderr, None if value == FULL else AUTO))
    elif value is not None and not is_text(value):
        from ..wiretrace import recording

        sink, problem = recording(value)
        if problem:
            note("mcp_ref: --trace: %s" % problem)
        if sink is not None:
            asked.append(sink)
    if not asked:
        return None
    from ..wiretrace import Trace

    return Trace(*asked)
