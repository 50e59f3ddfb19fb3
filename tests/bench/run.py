"""`make bench`: what start, calls, payloads, memory and clients cost, each as a ratio to a floor of the same run.

It is a benchmark and no test: a missed target is reported and the exit code stays 0. A wrong answer, a server that ends
or one that hangs makes it 1.

Processor time of the process measured decides; real time is printed next to it. Floor and subject take turns, and the
least of each counts, since other programs can only add to either. All processes share one core: to wake another core
may cost more than a call, which would hide what is measured. If other programs took more than half a core while a row
was measured, its verdict is "busy"; `--resume` measures again what has no verdict yet. All runs in an empty virtual
environment of this interpreter, made once below `build/bench`.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Sequence

import curves
from figures import FIGURES, OF_ANY_SERVER, SCALES, Figure
from machine import Foreign, facts, stay_on_one_core
from measures import ROOT, Bench, Sample
from peer import NotHere, WrongAnswer

QUICK_DIVISOR = 10
BUSY = 0.5
KEPT = ROOT / "build" / "bench" / "figures.json"
COLUMNS = "%-23s %-36s %-23s %8s %8s %-7s %8s %8s %8s %6s %6s  %-8s %8s %6s"
HEADINGS = ("figure", "what", "floor is", "floor", "subject", "unit", "floor", "subject", "today", "target", "aim",
            "verdict", "foreign", "took")
LEGEND = """\
floor, subject: the least processor time of the rounds (or memory, or threads); then the least real time. today: the
ratio of the first two, or the value, whichever the target is about. aim: where it is meant to get. foreign: how much of
a core other programs took meanwhile; above 50% there is no verdict. took: how long the row was measured."""


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


def measure(figure: Figure, bench: Bench, rounds: Optional[int], noise: bool) -> Dict[str, Any]:
    """Take the samples of one figure, the two sides in turns; what is known of it then, as it is written to the file.

    With `noise` the floor is measured against itself.
    """
    begin, foreign = time.monotonic(), Foreign()
    row: Dict[str, Any] = {"name": figure.name, "floor": [], "subject": [], "problem": ""}
    try:
        with figure.floor(bench) as floor, (figure.floor if noise else figure.subject)(bench) as subject:
            for _ in range(rounds or figure.rounds):
                row["floor"].append(floor())
                row["subject"].append(subject())
    except NotHere as error:
        row.update(problem=str(error), verdict="not here")
    except (WrongAnswer, ValueError, KeyError, TypeError) as error:  # the latter: an answer of another shape
        row.update(problem="%s: %s" % (type(error).__name__, error), verdict="WRONG")
    row.update(foreign=foreign.share(), took=time.monotonic() - begin)
    if not row["problem"]:
        used = [min(sample[0] for sample in row[side]) for side in ("floor", "subject")]
        row["today"] = used[1] / used[0] if figure.of == "ratio" else used[1] * SCALES[figure.unit]
        row["verdict"] = verdict(figure, row["today"], row["foreign"])
    return row


def verdict(figure: Figure, today: float, foreign: Optional[float]) -> str:
    """One word; none where there is no target."""
    if foreign is not None and foreign > BUSY:
        return "busy"
    return "" if figure.target is None else "met" if today <= figure.target else "MISSED"


def number(value: Optional[float]) -> str:
    """Three digits that matter, and no more than three."""
    return "" if value is None else "%.*f" % (0 if value >= 100 else 1 if value >= 10 else 2, value)


def shown(figure: Figure, row: Dict[str, Any]) -> str:
    """The line of a figure."""
    sides = [[Sample(*sample) for sample in row[side]] for side in ("floor", "subject")]
    used = [number(min(sample.used for sample in side) * SCALES[figure.unit]) if side else "" for side in sides]
    real = [number(min(sample.wall for sample in side) * SCALES[figure.unit])
            if side and side[0].wall is not None and figure.unit in ("us", "ms", "s") else "" for side in sides]
    sign = "x" if figure.of == "ratio" else ""
    today, target, aim = (number(value) + sign if value is not None else ""
                          for value in (row.get("today"), figure.target, figure.aim))
    foreign = "" if row["foreign"] is None else "%.0f%%" % (100 * row["foreign"])
    line = COLUMNS % (figure.name, figure.title, figure.floor_is, *used, figure.unit, *real, today, target, aim,
                      row["verdict"], foreign, "%.1f s" % row["took"])
    return line.rstrip() + ("\n    %s" % row["problem"] if row["problem"] else "")


def chosen(options: argparse.Namespace) -> List[Figure]:
    """The figures asked for: by name, or all whose names begin so."""
    exact = {figure.name for figure in FIGURES}.intersection(options.only)
    beginnings = tuple(text for text in options.only or [""] if text not in exact)
    return [figure for figure in FIGURES if (figure.name in exact or figure.name.startswith(beginnings))
            and (not options.server or figure.name in OF_ANY_SERVER)]


def names(text: str) -> str:
    """The beginning of a figure's name, or of a curve's."""
    if not any(name.startswith(text) for name in [figure.name for figure in FIGURES] + list(curves.CURVES)):
        raise argparse.ArgumentTypeError("no figure's name begins with %r; see --help" % text)
    return text


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    described = "\n".join("  %-23s %s" % (figure.name, figure.title) for figure in FIGURES)
    parser = argparse.ArgumentParser(
        prog='make bench ARGS="..." (or tests/bench/run.py)', description=__doc__,
        epilog="figures:\n%s\n\n%s" % (described, LEGEND), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", metavar="NAME", type=names, nargs="*",
                        help="only these figures, or those whose names begin so")
    parser.add_argument("--rounds", metavar="N", type=int, help="samples of each side (default: as the figure says)")
    parser.add_argument("--quick", action="store_true", help="a round, a tenth of the calls: does it work at all?")
    parser.add_argument("--resume", action="store_true", help="keep the verdicts that FILE has, and measure the others")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, default=KEPT,
                        help="write every sample there after each row (default: build/bench/figures.json)")
    parser.add_argument("--curves", metavar="DIR", nargs="?", type=pathlib.Path, const=ROOT / "build" / "curves",
                        help="measure instead how cost grows, and draw it there (default: build/curves); NAME then "
                        "is the beginning of %s" % ", ".join(curves.CURVES))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--server", metavar="CMD", type=shlex.split, default=[],
                       help="judge another stdio server, one with the tools echo(text) and sleep(ms), the latter of "
                       "which answers `slept`, by the figures %s" % ", ".join(OF_ANY_SERVER))
    which.add_argument("--noise", action="store_true", help="floor against floor: what the method cannot tell apart")
    options = parser.parse_args(arguments)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds: at least 1")
    return options


def kept(options: argparse.Namespace) -> Dict[str, Dict[str, Any]]:
    """The rows of an earlier run, by name."""
    if not options.resume or not options.json.is_file():
        return {}
    rows = json.loads(options.json.read_text(encoding="utf-8"))["figures"]
    return {row["name"]: row for row in rows}


def main(arguments: Sequence[str]) -> int:
    """Measure, and print and write each row as it ends; return the exit code."""
    options = parsed(arguments)
    if options.curves:
        setting = curves.Setting(clean_python(), environment())
        return curves.main(setting, options.curves, options.only, options.quick)
    bench = Bench(clean_python(), environment(), QUICK_DIVISOR if options.quick else 1, options.server)
    begin, rows, earlier = time.monotonic(), kept(options), set(kept(options))
    print("%s, %s\n\n%s\n" % (facts(), "all on one" if stay_on_one_core() else "NOT pinned", LEGEND))
    print(COLUMNS % ("", "", "", "processor", "time", "", "real", "time", "", "", "", "", "", ""))
    print(COLUMNS % HEADINGS, flush=True)
    figures = chosen(options)
    for figure in figures:
        if figure.name not in earlier or rows[figure.name]["verdict"] in ("busy", "WRONG"):
            rows[figure.name] = measure(figure, bench, options.rounds or (1 if options.quick else None), options.noise)
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps({"machine": facts(), "figures": list(rows.values())}, indent=1),
                                    encoding="utf-8")
        print(shown(figure, rows[figure.name]), flush=True)
    verdicts = [rows[figure.name]["verdict"] for figure in figures]
    print("\n%s; measured in %.0f seconds" % (", ".join(
        "%s: %d" % (word or "without target", verdicts.count(word)) for word in sorted(set(verdicts))),
        time.monotonic() - begin))
    for word in ("MISSED", "WRONG", "busy"):
        if word in verdicts:
            print("%s: %s" % (word, ", ".join(
                figure.name for figure in figures if rows[figure.name]["verdict"] == word)))
    if "busy" in verdicts:
        print("When the machine is quiet: make bench ARGS=--resume measures those again.")
    return int("WRONG" in verdicts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
