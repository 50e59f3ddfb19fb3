"""The pages of the specification: their addresses, headings and requirements, and who cites them in this package.

The requirements are those of `mcp_ref.requirements`. No sentence of a page is there: the address of the page leads to
it.

Citations and readings are read from the sources of the package, in the folder or the archive that it was loaded from,
each time a command asks. A citation stands in brackets in a docstring or a comment: revisions, page, § and heading. A
reading is the text behind that word and a colon, up to the end of its paragraph: a decision where the specification
leaves a choice.

What the checker decides of a requirement or a page is asked of the checker, which is loaded with the first such call.
"""

import ast
import io
import os
import re
import tokenize
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...requirements import EXTENSIONS, Requirement, covers, requirements as every_requirement, url
from ...revisions import LATEST, Revision, revision
from ...wiretrace.text import shorten
from ..copying.parts import files, package_name
from . import words

if TYPE_CHECKING:
    from ...devtools.examiner.scenes import Scene

# Citations and readings in the sources

_DATE = r"20\d\d-\d\d-\d\d"
_WINDOW = r"(?:{0}\.\.{0}|{0}\.\.|\.\.{0}|\.\.|{0})".format(_DATE)
_CITATION = re.compile(r"\[(%s)\s+(?:#:?\s*)?([^\s§\[\]]+)(?:\s+(?:#:?\s*)?§([^\[\]]+))?\]" % _WINDOW)
_OTHER = re.compile(r"\[(?:RFC|JSON)[^\[\]]*\]")
"""A citation of another standard."""
_BREAK = re.compile(r"(?<!\s)\s*\n\s*(?:#:?\s*)?")
_MARKER = re.compile(r"\bReadings?(?:, too)?: ")


_QUOTED = re.compile(r'"(?=([\w-]+\.[\w.-]+)")')


class Citation(NamedTuple):
    """A citation of the specification; ``heading`` is "" where a page is cited as a whole."""

    window: str
    page: str
    heading: str
    file: str
    """The file below the package's folder, with the package's name in front."""
    line: int

    @property
    def place(self) -> str:
        """The place as editors and tracebacks write it: ``mcp_ref/jsonrpc.py:12``."""
        return "%s:%d" % (self.file, self.line)

    def __str__(self) -> str:
        return "[%s %s%s]" % (self.window, self.page, " §" + self.heading if self.heading else "")


class Passage(NamedTuple):
    """A docstring or a run of comments: its lines, without quotes, signs of comments and indentation."""

    file: str
    line: int
    """The number of its first line."""
    lines: List[str]


class Reading(NamedTuple):
    """A decision where the specification leaves a choice."""

    file: str
    line: int
    text: str
    citations: List[str]
    """The citations inside the reading, or else the last one before it in the same file."""

    @property
    def place(self) -> str:
        """The place, as in `Citation`."""
        return "%s:%d" % (self.file, self.line)


@lru_cache(maxsize=None)
def _texts() -> Tuple[Tuple[str, str], ...]:
    """The sources of the package: name and text of each file."""
    name = package_name().rpartition(".")[2]
    return tuple(("%s/%s" % (name, path), data.decode("utf-8")) for path, data in files().items()
                 if path.endswith(".py"))


@lru_cache(maxsize=None)
def citations() -> Tuple[Citation, ...]:
    """Return every citation of the specification in the package, in the order of the files."""
    return tuple(each for file, text in _texts() for each in _citations(file, text))


def _citations(file: str, text: str) -> Iterator[Citation]:
    for found in _CITATION.finditer(text):
        window, page, heading = found.groups("")
        yield Citation(window, page, _BREAK.sub(" ", heading).strip(), file, text.count("\n", 0, found.start()) + 1)


@lru_cache(maxsize=None)
def readings() -> Tuple[Reading, ...]:
    """Return every reading in the package, in the order of the files."""
    found = [each for file, text in _texts() if _MARKER.search(text.replace("\n", " "))
             for passage in _passages(file, text) for each in _readings(passage, text)]
    return tuple(sorted(found, key=lambda each: (each.file, each.line)))


def _passages(file: str, text: str) -> Iterator[Passage]:
    """The docstrings (those below attributes, too) and the comments of a file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines = node.value.value.split("\n")
            last = node.end_lineno if node.end_lineno is not None else node.lineno
            yield Passage(file, last - len(lines) + 1, [line.strip() for line in lines])
    run: List[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            behind = bool(token.line[:token.start[1]].strip())  # code on the same line: a passage of its own
            if run and (behind or token.start[0] != last + 1):
                yield Passage(file, last - len(run) + 1, run)
                run = []
            run.append(token.string.lstrip("#:").strip())
            last = token.start[0]
    if run:
        yield Passage(file, last - len(run) + 1, run)


def _readings(passage: Passage, source: str) -> Iterator[Reading]:
    text = "\n".join(passage.lines)
    marks = list(_MARKER.finditer(text.replace("\n", " ")))
    for number, mark in enumerate(marks):
        said = text[mark.end():marks[number + 1].start() if number + 1 < len(marks) else len(text)]
        said = said[:_paragraph_end(said)]
        line = passage.line + text.count("\n", 0, mark.start())
        cited = _cited(said) or _cited(text[:mark.start()])[-1:]
        if not cited:  # the last one of the file before it says which page is being read
            cited = [str(each) for each in _citations(passage.file, source) if each.line < line][-1:]
        yield Reading(passage.file, line, " ".join(said.split()), cited)


def _cited(text: str) -> List[str]:
    """The citations in a text, of other standards, too, in their order and each once."""
    found = sorted([*_CITATION.finditer(text), *_OTHER.finditer(text)], key=lambda each: each.start())
    return list(dict.fromkeys(" ".join(each.group(0).split()) for each in found))


def _paragraph_end(text: str) -> int:
    """The end of a paragraph: an empty line, the lower edge of a table, or the end. A list below belongs to it."""
    found = re.search(r"\n(?:\s*\n(?!- )|=[ =]*(?:\n|$))", text)
    return found.start() if found else len(text)


def tests_of(requirement: str) -> Optional[List[str]]:
    """The lines of tests that name a requirement, as ``file:line``; None outside of a checkout."""
    named = _named_in_tests()
    return None if named is None else named.get(requirement, [])


@lru_cache(maxsize=None)
def _named_in_tests() -> Optional[Dict[str, List[str]]]:
    """The names in quotes in the tests of a checkout, each with its lines; None outside of one."""
    checkout = os.path.dirname(os.path.realpath(str(import_module(package_name()).__path__[0])))
    tests = os.path.join(checkout, "tests")
    if not os.path.isfile(os.path.join(tests, "requirements.py")):
        return None
    found: Dict[str, List[str]] = {}
    for place, folders, names in os.walk(tests):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        for name in sorted(names):
            if name.endswith(".py"):
                path = os.path.join(place, name)
                shown = os.path.relpath(path, checkout).replace(os.sep, "/")
                with open(path, encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        for each in dict.fromkeys(_QUOTED.findall(line)) if "." in line else ():
                            found.setdefault(each, []).append("%s:%d" % (shown, number))
    return found


# Pages and requirements

def requirements() -> Dict[str, Requirement]:
    """Return the rows of the specification's own pages by id, in the order of its list."""
    return {id: row for id, row in every_requirement().items() if not row.page.startswith(EXTENSIONS)}


@lru_cache(maxsize=None)
def newest() -> Dict[str, Revision]:
    """Return the pages that the table or a citation names, each with the newest revision that is known to have it."""
    found: Dict[str, Revision] = {}
    named = [(row.page, row.stated[-1]) for row in every_requirement().values()]
    named += [(cited.page, _last(cited.window)) for cited in citations()]
    for page, there in named:
        if page not in found or found[page].rank < there.rank:
            found[page] = there
    return found


def _last(window: str) -> Revision:
    last = window.rpartition("..")[2]
    return revision(last) if last else LATEST


def headings_of(page: str) -> List[str]:
    """Return the headings of a page that the table or a citation names, in that order, each in its longest form."""
    found = [row.heading for row in every_requirement().values() if row.page == page]
    found += words.HEADINGS.get(page, ())
    found += [plain(cited.heading) for cited in citations() if cited.page == page]
    return [each for each in dict.fromkeys(found) if each
            and not any(other != each and _ends(other, each) for other in found)]


def _ends(heading: str, tail: str) -> bool:
    """True if a heading is the other one, perhaps with some of those above it."""
    return (" > " + heading).endswith(" > " + tail)


def plain(heading: str) -> str:
    """Return a heading without the marks of code and emphasis."""
    return heading.replace("`", "").replace("*", "")


def find(text: str) -> List[Tuple[str, str]]:
    """Return the places that a text names: ``page §heading``, a page, the last part of one, or a heading.

    Each is a page with a heading, "" for the whole page. Upper and lower case are alike. Empty for anything else.
    """
    page, mark, heading = (part.strip().lower() for part in text.partition("§"))
    pages = [each for each in newest() if page in (each.lower(), each.lower().rpartition("/")[2])] if page else []
    if not heading:
        return [(each, "") for each in pages] or ([] if mark else _headed(page, newest()))
    return _headed(heading, pages or ([] if page else newest()))


def _headed(heading: str, among: Iterable[str]) -> List[Tuple[str, str]]:
    return [(page, each) for page in among for each in headings_of(page) if _ends(each.lower(), plain(heading).lower())]


def cited_at(page: str, heading: str) -> List[Citation]:
    """Return the citations of a heading in the package, also where older revisions have it on another page.

    Those on the page itself come first, the rules of the checker last: who asks looks for what does it.
    """
    wanted = plain(heading).rpartition(" > ")[2]
    found = [each for each in citations() if same_page(each.page, page)
             and (not heading or plain(each.heading).rpartition(" > ")[2] == wanted)]
    return sorted(found, key=lambda each: ("/checker/" in each.file, each.page != page))


def same_page(one: str, other: str) -> bool:
    """True if two pages are one that was moved or divided: ``basic/transports`` and ``basic/transports/stdio``."""
    if one.startswith(EXTENSIONS) or other.startswith(EXTENSIONS):
        return one == other
    return (one == other or one.startswith(other + "/") or other.startswith(one + "/")
            or one.rpartition("/")[2] == other.rpartition("/")[2] != "index")


def as_object(row: Requirement) -> Dict[str, Any]:
    """Return a requirement as `explain` has it: the row, its citations in the package, in a checkout its tests."""
    cited = cited_at(row.page, row.heading)
    found: Dict[str, Any] = dict(row._asdict(), kind="requirement", url=row.url,
                                 cites="heading" if cited else "page",
                                 citations=_places(cited or cited_at(row.page, "")))
    tests = tests_of(row.id)
    return found if tests is None else dict(found, tests=tests)


def place_object(page: str, heading: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    """Return a page or a heading of it as `explain` has it; None if no revision among these is known to have it."""
    stated = [row for row in every_requirement().values() if any(each in among for each in row.stated)]
    rows = [row for row in stated if row.page == page and (not heading or _ends(heading, row.heading))]
    if not rows and not page.startswith(EXTENSIONS):
        # a page of older revisions: the table has the page on which the heading stands now
        rows = [row for row in stated if heading and row.heading == heading
                and row.stated[0].rank <= newest()[page].rank]
    cited = [each for each in citations() if each.page == page and (not heading or _ends(heading, plain(each.heading)))
             and any(covers(each.window, there) for there in among)]
    known = {there for row in rows for there in row.stated if there in among}
    known.update(there for each in cited for there in among if covers(each.window, there))
    known.update(there for there in among if there is LATEST and heading in words.HEADINGS.get(page, ()))
    if not known:
        return None
    last = max((there for there in known if there.rank <= newest()[page].rank), key=lambda there: there.rank,
               default=newest()[page])
    return {"kind": "page", "page": page, "heading": heading, "url": url(page, last, heading),
            "requirements": [row._asdict() for row in rows],
            "citations": _places(cited)}


def _places(cited: Iterable[Citation]) -> List[Dict[str, str]]:
    return [{"place": each.place, "citation": str(each)} for each in cited]


_WIDTH = 96
_MOMENTS = {
    "request": "a request", "notification": "a notification", "result": "a result", "error": "an error",
    "message": "any message", "asked": "a question of the server, however it travels",
    "answered": "an answer of the client to a question", "outcome": "the response to a request with such an answer",
    "tasked": "a message about a task",
    "odd": "an object that is no message of JSON-RPC", "noise": "bytes that are no JSON",
    "batch": "a batch, when its messages were seen", "head": "the head of an HTTP request",
    "response": "the head of an HTTP response", "end": "the end of an HTTP exchange", "event": "an SSE event",
    "process": "start, signal and exit of the server's process", "stderr": "a line of standard error",
    "finish": "the end of the connection, or of the trace",
}
"""Moment of a rule -> in words."""
_PARTIES = {"sender": "client or server, whoever does it", "client": "the client", "server": "the server"}
_LONGEST, _MOST = 160, 3
"""Characters and lines of a scene that the advice repeats."""
_DECIDED, _UNDECIDED, _PERMITS, _NONE = "decided", "undecided", "permits", "open"


def owned(id: str) -> Optional[Requirement]:
    """Return the row of a rule that is not in the specification's own list: a definition of the schema, or a row of an
    extension. None if there is no such rule.
    """
    if "." not in id:
        return None
    from ...devtools.checker import rules

    found = rules.load().get(id)
    return None if found is None else found.requirement


def scene_of(word: str) -> "Optional[Scene]":
    """Return the scene of the examiner that a word names: ``unknown-method``, ``scene:unknown-method``, or the id of a
    fault that a scene has found, ``lifecycle.base-required:unknown-method``. None if it names none.
    """
    from ...devtools.examiner.scenes import load

    return load().get(word.rpartition(":")[2])


def fault_of(word: str) -> str:
    """Return the requirement of a fault whose id a report has printed, ``progress.increases:1f2e3d4c``; "" for others.
    """
    id, _, rest = word.partition(":")
    return id if rest and (id in every_requirement() or owned(id) is not None) else ""


def rule_of(id: str) -> Dict[str, Any]:
    """Return the members ``rule`` and ``undecided`` of a requirement, as the docstring of `explain` describes them."""
    from ...devtools.checker import rules

    every = rules.load()
    found = every.get(id) or next((each for each in every.values() if id in each.also), None)
    return {"rule": None if found is None else _object(found), "undecided": rules.UNDECIDED.get(id)}


def _object(rule: Any) -> Dict[str, Any]:
    from ...devtools.checker.findings import DISAGREE, VIOLATION, WARNING
    from ...devtools.checker.scenes import traces
    from ...devtools.ladder import text
    from ...devtools.ladder.text import elided
    from ..judge.drawing import judged

    verdict = DISAGREE if rule.disagree else VIOLATION if "MUST" in rule.requirement.level else WARNING
    party = _PARTIES["sender" if rule.requirement.role == "both" else rule.party]
    (kept, _), (broken, findings) = (judged(events) for events in traces(rule.scene))
    found = next((each for each in findings if each.rule.id == rule.id), None)
    return {"id": rule.id, "also": list(rule.also), "text": rule.text, "party": party, "verdict": verdict,
            "moments": [_MOMENTS[each] for each in rule.on], "methods": [each for each in rule.methods or () if each],
            "needs": sorted(rule.needs), "reading": rule.reading or None, "disagreement": rule.disagree or None,
            "advice": _advice(rule, verdict, found),
            "kept": text.lines(elided(kept), _WIDTH), "broken": text.lines(elided(broken), _WIDTH)}


def _advice(rule: Any, verdict: str, found: Any) -> str:
    """Return what to look for, of which party, and what the trace that keeps the rule has in its place."""
    said = []
    if found is not None:
        what = "%s of " % found.where if found.where else ""
        what += found.method or ("HTTP requests" if found.exchange and not found.number else "its messages")
        said.append("Look where the %s makes or takes %s: %s shows the fault (%s)." % (
            found.party or "party", what, "message %d of the broken trace" % found.number if found.number
            else "the broken trace", found.evidence))
    right, wrong = (_lines(rule.scene, sign) for sign in "+-")
    if right and wrong:
        said.append("What is right, in place of %s, is %s." % (wrong, right))
    elif right or wrong:
        said.append("What is missing there is %s." % right if right else "What is too much there is %s." % wrong)
    said += ["(C is the client, S the server.)"] * bool(right or wrong)
    if verdict == "disagreement":
        said.append("As the texts disagree, it is no fault to do otherwise: an issue of the specification.")
    said.append("Then record the session again, and check it." + " Where there is a reason to stay with it, "
                "check --accept FILE takes the id in the report, with the reason." * (verdict != "violation"))
    return " ".join(said)


def _lines(scene: str, sign: str) -> str:
    """Return the first lines of a scene that only one of its traces has."""
    lines = [" ".join(line.strip()[1:].split()) for line in scene.splitlines() if line.strip()[:1] == sign]
    return ", then ".join(shorten(line, _LONGEST) for line in lines[:_MOST]) + ", and so on" * (len(lines) > _MOST)


def coverage(rows: Iterable[Requirement]) -> Dict[str, Any]:
    """Return how many of some requirements the checker decides, and those that nobody who only observes can decide."""
    from ...devtools.checker import rules

    decided = {id for rule in rules.load().values() for id in (rule.id, *rule.also)}
    found: Dict[str, List[str]] = {_DECIDED: [], _UNDECIDED: [], _PERMITS: [], _NONE: []}
    for row in rows:
        kind = (_DECIDED if row.id in decided else _UNDECIDED if row.id in rules.UNDECIDED
                else _NONE if row.binding else _PERMITS)
        found[kind].append(row.id)
    return {_DECIDED: len(found[_DECIDED]), _PERMITS: len(found[_PERMITS]), _NONE: len(found[_NONE]),
            _UNDECIDED: [{"id": id, "reason": rules.UNDECIDED[id]} for id in found[_UNDECIDED]]}
