"""The command `examine`: put a server, or a client, through every revision it speaks, and say which clauses it keeps.

The exit code is 0 without faults at or above ``--level``, 1 with some, 2 for wrong usage, 3 if the server could not be
started or reached, or speaks no revision.
"""

import argparse
import json
import sys
from functools import partial
from secrets import randbelow
from textwrap import wrap
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence

from ...requirements import requirements
from ...devtools.checker.rules import load as load_rules
from ...devtools.examiner import wire_to
from ...devtools.examiner.clients.stage import WAYS, ClientExamination
from ...devtools.examiner.clients.starts import ByHand, CommandStart
from ...devtools.examiner.examination import BROKEN, PATIENCE, WARNED, Examination
from ...devtools.examiner.hostile import ATTACKS, FRAGILE, SECONDS as HOSTILE_SECONDS
from ...devtools.examiner.report import FORM, FORMS, WIDTH, ExaminationReport
from ...devtools.examiner.scenes import load
from ...devtools.examiner.stage import ALL
from ...devtools.examiner.talk import NotSpoken, Wire
from ...limits import DEFAULT
from ...options import closest
from ...revisions import REVISIONS, Revision, revision
from ...wiretrace import CLIENT, SERVER, Event, Trace
from ..output import (
    DONE, FAILED, UNREACHABLE, Command, Commands, UsageError, note, one_line, say, say_json, trace_to, write_file,
)
from ..use.connecting import take_entry, target_arguments, target_options

_HELP = """\
examples:
  examine "python3 server.py"                      every revision that the server speaks
  examine https://example.com/mcp --token-env KEY  a server of the web, with a token
  examine mcp.json:git --revision 2025-11-25       an entry of a host's file, one revision
  examine "python3 server.py" --allow add          a tool may be called although it does not say that it only reads
  examine "python3 server.py" --only unknown-tool  one scene again; with an id, the faults against one requirement
  examine "python3 server.py" --json --out known.json
  examine "python3 server.py" --baseline known.json   only faults that are new
  examine "python3 server.py" --hostile            malformed, random and too much input, too: about a minute more

Tools are called only if their annotations have readOnlyHint, or if they are allowed.

a client (SERVER is then the command that starts it, once for each scene):
  examine --client "python3 client.py"             the URL of a scripted server is appended as the last word
  examine --client "node client.js {server}" --over stdio      the command of that server, as one word
  examine --client "npx inspector --cli {words} --method tools/list" --over stdio    the same, word by word
  examine --client - --by-hand --port 8765         says what to put into a host's file, and waits for the host
The environment tells a client the rest: MCP_EXAMINER_SCENE, MCP_EXAMINER_REVISION, MCP_EXAMINER_SERVER; and what the
official suite has: MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION, MCP_CONFORMANCE_CONTEXT. A client for
that suite can be examined as it is.

Hostile input is sent only with --hostile. What it finds is called fragile, and is no violation.

Exit codes: 0: no fault at or above --level. 1: there is one. 2: wrong usage. 3: the server could not be reached, or
speaks no revision."""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _HELP
    target_options(parser)
    client = parser.add_argument_group("for clients").add_argument
    client("--client", action="store_true", help="examine a client: SERVER is the command that starts it")
    client("--over", choices=WAYS, help="how the client reaches the scripted server: http (the default; HTTP+SSE in "
                                        "2024-11-05) or stdio")
    client("--by-hand", action="store_true", help="somebody starts the client for each scene, and is told what to do")
    client("--port", type=int, default=0, metavar="PORT", help="where the client is waited for (default: any free one)")
    parser.add_argument("--allow", action="append", default=[], metavar="TOOL",
                        help="this tool may be called, whatever it does; may be repeated")
    parser.add_argument("--all-tools", action="store_true", help="all tools may be called, whatever they do")
    parser.add_argument("--only", action="append", default=[], metavar="ID",
                        help="play only this scene; or, with the id of a requirement or of a fault, tell only of "
                             "faults against that; may be repeated")
    parser.add_argument("--hostile", action="store_true",
                        help="send hostile input, too; --only hostile-NAME, or hostile-NAME:NUMBER, sends only that")
    parser.add_argument("--seed", type=int, metavar="N",
                        help="the seed of the random changes in hostile input; the report says the one that was used")
    parser.add_argument("--hostile-seconds", type=float, default=HOSTILE_SECONDS, metavar="SECONDS",
                        help="the time for hostile input (default: %g)" % HOSTILE_SECONDS)
    parser.add_argument("--timeout", type=float, default=PATIENCE, metavar="SECONDS",
                        help="the time to wait for one answer (default: %g)" % PATIENCE)
    parser.add_argument("--format", choices=sorted(FORMS), default="text", help="the form of the report (text)")
    parser.add_argument("--whole", action="store_true",
                        help="list what was not examined, or cannot be told, with the reasons")
    parser.add_argument("--level", choices=(BROKEN, WARNED, FRAGILE), default=BROKEN,
                        help="the least that makes the exit code 1: broken (a MUST, the default), warned, or fragile "
                             "(hostile input)")
    parser.add_argument("--baseline", metavar="FILE", help="an earlier report as JSON: what it has is known")
    parser.add_argument("--out", metavar="FILE", help="write the report to a file")
    parser.add_argument("--list", action="store_true", help="print the scenes, with revisions and requirements "
                        "(SERVER may be -); with --client those for clients")


def _examine(options: Any) -> int:
    if options.list:
        return _list(options)
    attacks = _attacks(options)
    options.only = [name.partition(":")[0] for name in options.only]  # the id of a fault begins with its requirement
    _check_only(options.only, CLIENT if options.client else SERVER)
    if not options.timeout > 0:
        raise UsageError("--timeout must be more than 0 seconds")
    if options.era is not None:
        raise UsageError("--era is for clients: examine finds out what the server speaks, --revision names one")
    baseline = _baseline(options.baseline)
    if not options.client:
        _check_for_server(options)
        take_entry(options, DEFAULT)
    name = one_line(options.server if isinstance(options.server, str) else " ".join(options.server))
    examination = _of_client(options) if options.client else Examination(
        _wire(options), _revisions(options), [ALL] if options.all_tools else options.allow, options.only,
        options.timeout, _progress(), partial(_trace, options))
    hostile = None
    try:
        chapters = examination.run() if options.only or not attacks else []
        if options.hostile and isinstance(examination, Examination):
            hostile = examination.attack(options.seed, attacks, options.hostile_seconds)
    except NotSpoken as error:
        raise UsageError("--hostile: %s" % error) from None
    finally:
        examination.trace.close()
        _progress()("")
    report = ExaminationReport(chapters, name, baseline, hostile)
    _write(options, report)
    if not report.examined:
        return UNREACHABLE
    return FAILED if report.failed(options.level) else DONE


def _revisions(options: Any) -> Sequence[Revision]:
    return [revision(options.revision)] if options.revision else REVISIONS


def _trace(options: Any, sink: Callable[[Event], None]) -> Trace:
    return trace_to(options.trace, sink) or Trace(sink)


def _check_for_server(options: Any) -> None:
    """Raise `UsageError` for options that are about clients."""
    for name in ("over", "by_hand", "port"):
        if getattr(options, name):
            raise UsageError("--%s is for the examination of a client: examine --client COMMAND" % name.replace(
                "_", "-"))


def _of_client(options: Any) -> ClientExamination:
    """Return the examination of a client. Raises `UsageError`."""
    if options.allow or options.all_tools or options.header or options.token_env or options.oauth:
        raise UsageError("tools are allowed, and header fields sent, to servers: examine --client has no use for that")
    if options.hostile:
        raise UsageError("--hostile is for servers: a client is sent only what a scene of examine --client has")
    arguments = target_arguments(options)
    start: Any = ByHand(note) if options.by_hand else CommandStart(options.server, arguments["env"], arguments["cwd"])
    return ClientExamination(start, _revisions(options), options.over or WAYS[0], options.only, options.timeout,
                             _progress(), partial(_trace, options), options.port)


def _attacks(options: Any) -> Dict[str, FrozenSet[int]]:
    """Take the attacks out of ``--only``; return them with the numbers of their inputs. Raises `UsageError`."""
    found: Dict[str, FrozenSet[int]] = {}
    for text in [name for name in options.only if name.partition(":")[0] in ATTACKS]:
        name, _, number = text.partition(":")
        if number and not (number.isascii() and number.isdigit() and len(number) < 10):
            raise UsageError("--only %s: the number of an input is wanted behind the colon" % text)
        found[name] = found.get(name, frozenset()).union([int(number)] if number else [])
        options.only.remove(text)
    if options.seed is None:
        options.seed = randbelow(10_000)
    options.hostile = options.hostile or bool(found)
    return found


def _wire(options: Any) -> Callable[[Trace], Wire]:
    """Return what makes a wire to the server that the options name. Raises `UsageError`."""
    arguments = target_arguments(options)
    if "auth" in arguments:
        raise UsageError("examine sends a token that is there already: --token-env NAME; the command info with --oauth "
                         "gets one")
    fields = list((arguments.get("headers") or {}).items())
    if arguments.get("token"):
        fields.append(("Authorization", "Bearer " + arguments["token"]))
    return wire_to(options.server, arguments["env"], arguments["inherit_env"], arguments["cwd"], fields,
                   arguments.get("cafile"))


def _progress() -> Callable[[str], Any]:
    """Return what shows how far the examination is: one line of a terminal, written again and again."""
    if sys.stderr is None or not sys.stderr.isatty():
        return lambda line: None
    return lambda line: print("\r%-78.78s%s" % (one_line(line), "" if line else "\r"), end="", file=sys.stderr,
                              flush=True)


def _check_only(names: List[str], party: str) -> None:
    """Raise `UsageError` for a name that is neither a scene nor a requirement."""
    known = {*load(party), *requirements(), *load_rules(), *(ATTACKS if party == SERVER else ())}
    unknown = [name for name in names if name not in known]
    if unknown:
        meant = closest(unknown[0], known)
        raise UsageError("--only %s: there is no such scene, and no such requirement%s; --list prints the scenes" % (
            unknown[0], "; did you mean %s?" % meant if meant else ""))


def _baseline(path: Optional[str]) -> Optional[List[str]]:
    """Return the keys of the faults of an earlier report. Raises `UsageError` for a file that is none."""
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        raise UsageError("--baseline %s cannot be read: %s" % (path, error)) from None
    faults = found.get("faults") if isinstance(found, dict) and found.get("examination") == FORM else None
    if not isinstance(faults, list) or not all(isinstance(each, dict) and isinstance(each.get("key"), str)
                                               for each in faults):
        raise UsageError("--baseline %s is no report of examine --json" % path)
    return [key for each in faults for key in each.get("keys") or [each["key"]]]


def _write(options: Any, report: ExaminationReport) -> None:
    form = "json" if options.json else options.format
    text = "\n".join(report.lines(options.whole)) + "\n" if form == "text" else FORMS[form](report)
    if not options.out:
        say(text.rstrip("\n"))
        return
    write_file(options.out, text)
    note("%s: %s" % (options.out, report.lines()[0]))


def _list(options: Any) -> int:
    rows = list(load(CLIENT if options.client else SERVER).values())
    if options.json:
        say_json([{"name": row.name, "decides": list(row.ids), "provokes": list(row.provokes),
                   "revisions": [REVISIONS[rank].name for rank in sorted(row.ranks)], "wires": list(row.wires),
                   "needs": row.needs or None, "text": row.text} for row in rows])
        return DONE
    for row in rows:
        names = [REVISIONS[rank].name for rank in sorted(row.ranks)]
        say("%s  (%s; %s%s)" % (row.name, names[0] if len(names) == 1 else "%s to %s" % (names[0], names[-1]),
                                "/".join(row.wires), "; needs " + row.needs if row.needs else ""))
        texts = [row.text] + ["decides " + ", ".join(row.ids)] * bool(row.ids)
        for text in texts + ["provokes " + ", ".join(row.provokes)] * bool(row.provokes):
            say("\n".join(wrap(text, WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)))
    return DONE


COMMANDS: Commands = {"examine": Command(_examine, _configure, uses_server=True)}
