"""`make bench`: start-up, calls, payloads, memory and the client, each as a ratio to a floor of the same run.

It is a benchmark and no test: a missed target is reported and the exit code stays 0. A wrong answer, a server that ends
or one that hangs makes it 1.

Floor and subject take turns, round by round, because the machine is never quiet; sequential figures pin each side to a
core of its own. Both sides run in an empty virtual environment of this interpreter, made once below `build/bench`.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

import curves
from figures import FIGURES, OF_THE_PACKAGE, Figure
from machine import Foreign, facts, on_core, two_cores
from measures import OUR_IMPORT, STDLIB_IMPORTS, Setup
from peer import NotHere, WrongAnswer
from report import LEGEND, Outcome, ending, table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROUNDS, QUICK_ROUNDS, QUICK_DIVISOR = 7, 2, 10


def clean_python() -> str:
    """The interpreter of a virtual environment with nothing in it; made where it is missing."""
    folder = ROOT / "build" / "bench" / ("%s-%s" % (sys.implementation.cache_tag, sys.version.split()[0]))
    if not folder.is_dir():
        fresh = "%s.%d" % (folder, os.getpid())  # renamed when it is whole, so that two runs may start together
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", fresh], check=True)
        try:
            os.rename(fresh, str(folder))
        except OSError:
            shutil.rmtree(fresh)
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def environment() -> Dict[str, str]:
    """Ours, without what changes the interpreter, and with the package on the path."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return dict(clean, PYTHONPATH=str(ROOT))


def setup(options: argparse.Namespace) -> Setup:
    """What is compared in this run."""
    python = clean_python()
    floor = [python, str(HERE / "floor_server.py")]
    given = floor if options.noise else shlex.split(options.server) if options.server else None
    return Setup(
        python=python,
        environment=environment(),
        floor_command=floor,
        subject_command=given or [python, str(ROOT / "examples" / "echo_server.py")],
        sleeper_command=given or [python, str(HERE / "subject_server.py")],
        client_runner=[python, str(HERE / "client_runner.py")],
        host_runner_command=[python, str(HERE / "host_runner.py")],
        http_floor_command=[python, str(HERE / "http_floor.py")],
        http_subject_command=[python, str(HERE / ("http_floor.py" if options.noise else "http_subject.py"))],
        shim_command=[] if options.noise else [python, "-m", "mcp_ref", "trace"],
        client="floor" if options.noise else "mcp_ref",
        import_code=STDLIB_IMPORTS if options.noise else OUR_IMPORT,
        divisor=QUICK_DIVISOR if options.quick else 1)


def chosen(options: argparse.Namespace) -> List[Figure]:
    """The figures that were asked for; with `--server` those about a server, unless others are named."""
    if options.only:
        return [figure for figure in FIGURES if figure.name.startswith(tuple(options.only))]
    return [figure for figure in FIGURES if not (options.server and figure.name.startswith(OF_THE_PACKAGE))]


def measure(figure: Figure, compared: Setup, rounds: int, cores: Optional[Tuple[int, int]]) -> Outcome:
    """Take the samples of one figure, the two sides in turns and each first in every other round."""
    outcome, foreign = Outcome(figure), Foreign()
    compared.cores = cores if figure.pinned else None
    try:
        with on_core(compared.cores[0] if compared.cores else None), figure.measure(compared) as pair:
            for turn in range(-1 if figure.warm_up else 0, rounds):
                first = turn % 2
                taken = {side: pair[side]() * figure.scale for side in (first, 1 - first)}
                if turn >= 0:
                    outcome.floor.append(taken[0])
                    outcome.measured.append(taken[1])
    except NotHere as error:
        return Outcome(figure, problem=str(error))
    except (WrongAnswer, ValueError, KeyError, TypeError) as error:  # the latter: an answer of another shape
        return Outcome(figure, problem="%s: %s" % (type(error).__name__, error), wrong=True)
    outcome.foreign = foreign.share()
    return outcome


@contextlib.contextmanager
def progress(figure: Figure, shown: bool) -> Iterator[None]:
    """Say on a terminal what is being measured."""
    if shown:
        print("\r%-60s" % figure.title, end="", file=sys.stderr, flush=True)
    yield
    if shown:
        print("\r%-60s\r" % "", end="", file=sys.stderr, flush=True)


def names(text: str) -> str:
    """An argument of `--only`."""
    if not any(name.startswith(text) for name in [figure.name for figure in FIGURES] + list(curves.CURVES)):
        raise argparse.ArgumentTypeError("no figure's name begins with %r; see --help" % text)
    return text


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    described = "\n".join("  %-18s %s" % (figure.name, figure.title) for figure in FIGURES)
    parser = argparse.ArgumentParser(
        prog="make bench ARGS=... (or tests/bench/run.py)", description=__doc__,
        epilog="figures:\n%s\n\n%s" % (described, LEGEND), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", type=names, action="append",
                        help="only the figures whose names begin so; may be repeated")
    parser.add_argument("--rounds", metavar="N", type=int, help="samples per side and figure (default %d)" % ROUNDS)
    parser.add_argument("--quick", action="store_true",
                        help="%d rounds, a tenth of the calls: does it work at all?" % QUICK_ROUNDS)
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write every sample there as well")
    parser.add_argument("--curves", metavar="DIR", nargs="?", type=pathlib.Path, const=ROOT / "build" / "curves",
                        help="measure instead how cost grows, and draw it there (default: build/curves); --only then "
                        "takes the beginnings of %s" % ", ".join(curves.CURVES))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--server", metavar="CMD", help="judge another stdio server, one with the tools echo(text), "
                       "add(a, b) and sleep(ms), the last of which answers `slept`; `--tools N` is added to the "
                       "command for the figures tools-*. Leaves out the figures about our package")
    which.add_argument("--noise", action="store_true", help="floor against floor: what the method cannot tell apart")
    options = parser.parse_args(arguments)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds: at least 1")
    return options


def main(arguments: Sequence[str]) -> int:
    """Measure and print; return the exit code."""
    options = parsed(arguments)
    if options.curves:
        setting = curves.Setting(clean_python(), environment())
        return curves.main(setting, options.curves, options.only or (), options.quick)
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    compared, cores = setup(options), two_cores()
    subject = options.server or ("the floor itself" if options.noise else "mcp_ref")
    print("%s\n%d rounds, %s, subject: %s\n"
          % (facts(), rounds, "sequential figures pinned" if cores else "NOT pinned", subject))
    outcomes = []
    for figure in chosen(options):
        with progress(figure, sys.stderr.isatty()):
            outcomes.append(measure(figure, compared, rounds, cores))
    print("%s\n\n%s\n\n%s" % (table(outcomes), LEGEND, ending(outcomes)))
    if options.json:
        written = {"machine": facts(), "rounds": rounds, "figures": [outcome.as_json() for outcome in outcomes]}
        options.json.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return int(any(outcome.wrong for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
