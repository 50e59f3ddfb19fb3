"""What the benchmark prints and writes: one line per figure, what was missed, and the machine that it ran on."""
import statistics
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from figures import Figure, Target

LEGEND = """\
floor, measured: medians over the rounds; ratio: median of measured / floor of the same round; spread: least and most of
what the target is about (of the ratio where there is none). A question mark: the target lies within the spread.
foreign: how much of one core other processes took meanwhile. peers: what others reach."""
HEADINGS = ("figure", "what", "floor is", "floor", "measured", "unit", "ratio", "spread", "target", "verdict",
            "foreign", "peers")
RIGHT = {"floor", "measured", "ratio", "spread", "foreign"}
BUSY = 0.2


@dataclass
class Outcome:
    """The samples of one figure, in its unit, or why there are none."""

    figure: Figure
    floor: List[float] = field(default_factory=list)
    measured: List[float] = field(default_factory=list)
    problem: str = ""
    wrong: bool = False
    foreign: Optional[float] = None

    @property
    def ratios(self) -> List[float]:
        """Measured / floor, round by round."""
        return [measured / floor for measured, floor in zip(self.measured, self.floor)]

    @property
    def judged(self) -> List[float]:
        """The numbers that the target is about."""
        target = self.figure.target
        return self.measured if target and target.of == "value" else self.ratios

    @property
    def met(self) -> Optional[bool]:
        """Is the target reached? None where there is no target or no number."""
        if not self.measured or self.figure.target is None:
            return None
        return self.figure.target.met_by(statistics.median(self.judged))

    @property
    def verdict(self) -> str:
        """One word."""
        if self.problem:
            return "WRONG" if self.wrong else "not here"
        if self.met is None:
            return ""
        sure = len({self.figure.target.met_by(number) for number in self.judged}) == 1 if self.figure.target else True
        return ("met" if self.met else "MISSED") + ("" if sure else "?")

    def as_json(self) -> Dict[str, Any]:
        """Everything, for `--json`."""
        figure, target = self.figure, self.figure.target
        return {"name": figure.name, "title": figure.title, "floor_is": figure.floor, "unit": figure.unit,
                "floor": self.floor, "measured": self.measured,
                "median_ratio": statistics.median(self.ratios) if self.measured else None,
                "target": dict(target._asdict()) if target else None, "met": self.met, "verdict": self.verdict,
                "problem": self.problem, "foreign": self.foreign, "peers": figure.peers}


def number(value: float) -> str:
    """Three digits that matter, and no more than three."""
    return "%.0f" % value if abs(value) >= 100 else "%.1f" % value if abs(value) >= 10 else "%.2f" % value


def shown(target: Optional[Target], unit: str) -> str:
    """A target as a reader wants it: `<= 4x`, `<= 70 ms`."""
    if target is None:
        return ""
    return "%s %g%s" % (">=" if target.at_least else "<=", target.limit, "x" if target.of == "ratio" else " " + unit)


def row(outcome: Outcome) -> List[str]:
    """The cells of one line."""
    figure = outcome.figure
    numbers = ["", "", figure.unit, "", ""]
    if outcome.measured:
        numbers = [number(statistics.median(outcome.floor)), number(statistics.median(outcome.measured)), figure.unit,
                   number(statistics.median(outcome.ratios)) + "x",
                   "%s - %s" % (number(min(outcome.judged)), number(max(outcome.judged)))]
    return [figure.name, figure.title, figure.floor, *numbers, shown(figure.target, figure.unit), outcome.verdict,
            "" if outcome.foreign is None else "%.0f%%" % (100 * outcome.foreign), figure.peers]


def table(outcomes: Sequence[Outcome]) -> str:
    """Aligned lines."""
    rows = [list(HEADINGS)] + [row(outcome) for outcome in outcomes]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.rjust(width) if heading in RIGHT else cell.ljust(width)
                               for cell, width, heading in zip(cells, widths, HEADINGS)).rstrip() for cells in rows)


def ending(outcomes: Sequence[Outcome]) -> str:
    """What was missed, and what could not be measured."""
    missed = ["  %s: %s, target %s" % (outcome.figure.name,
                                       number(statistics.median(outcome.judged)) + _unit(outcome),
                                       shown(outcome.figure.target, outcome.figure.unit))
              for outcome in outcomes if outcome.met is False]
    judged = sum(outcome.met is not None for outcome in outcomes)
    lines = ["missed targets: %d of %d" % (len(missed), judged), *missed]
    problems: Dict[Tuple[str, str], List[str]] = {}
    for outcome in outcomes:
        if outcome.problem:
            problems.setdefault((outcome.verdict, outcome.problem), []).append(outcome.figure.name)
    lines += ["%s: %s: %s" % (verdict, ", ".join(names), text) for (verdict, text), names in problems.items()]
    busy = [outcome.figure.name for outcome in outcomes if (outcome.foreign or 0) > BUSY]
    if busy:
        lines.append("the machine was busy with something else, repeat when it is quiet: %s" % ", ".join(busy))
    return "\n".join(lines)


def _unit(outcome: Outcome) -> str:
    target = outcome.figure.target
    return " " + outcome.figure.unit if target and target.of == "value" else "x"
