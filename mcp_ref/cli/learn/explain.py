"""The command `explain`: what a word of the protocol means, in every revision that has it.

A word is looked up in this order; the first that knows it answers:

===============  ==================================================  =========================================
it is            such as                                             the answer
===============  ==================================================  =========================================
a name           ``tools/call``, ``Tool``, ``-32002``, ``batching``  its row, an example, its page's address
one of two       ``lifecycle``, ``deprecated``                       a drawing; what is going to leave
a revision       ``2025-06-18``                                      what it has, what came and what went
a requirement    ``progress.token-active``                           its row, tests, how `check` decides it
any other word   ``session``, ``_meta``, ``401``, ``skill://``       a paragraph, what to explain next
a page           ``basic/lifecycle``, ``lifecycle``                  its requirements, what cites it
a heading        ``basic/lifecycle §Timeouts``, ``§Timeouts``        the same
a fault          ``ping.respond:ping-first``                         what a report of `examine` calls so
a scene          ``unknown-method``, ``scene:ping``                  what `examine` sends, and what it decides
a member         ``pollIntervalMs``                                  the types that have it, an example
two of these     ``2026-07-28 tasks``                                the word, as this revision has it
part of a name   ``timeout``, ``progress token``                     the names that have these words
===============  ==================================================  =========================================

Sentences of the specification are not in this package: the address of the page leads to them.

``--json`` gives an object whose ``kind`` is one of those below. A window is ``[first, last]``, two revisions; an
``example`` is null, or ``{"revision", "message", "text"}``, where a text takes the place of the message that is null:

=========== ============================================================================================
kind        its other members
=========== ============================================================================================
method      ``name``, ``text``, ``url``, ``example``; ``rows``: of ``window``, ``kind``, ``sender``, ``carrier``,
            ``capability``, ``params``, ``result``, ``otherResult``, ``page``, ``deprecated`` (null, or a row as
            below); ``types``: of each type named there, as below
type        ``name``, ``text``, ``page``, ``window``; of a message ``members``: of ``name``, ``note`` and
            ``spans``: of ``window``, ``type``, ``required``; of anything else ``spans`` of ``window``, ``type``
code        ``code``, ``name``, ``page``, ``url``, ``window``; ``values``: of ``name`` and ``windows``
feature     ``name``, ``text``, ``example``, ``url``, ``page``; ``window``, or ``values``: of ``window``, ``value``
lifecycle   ``phases``, and ``rows`` of ``sender``, ``phase``, ``message``, ``next`` (null: refused)
deprecated  ``rows``: of ``feature``, ``since``, ``removal``, ``migration``, ``page``
revision    ``name``, ``era``, ``features``, ``values``, ``methods``, ``types``, ``codes``, ``requirements`` (a number),
            ``url``; ``checked`` as below; ``changes``: what `diff` prints of it and the revision before, null for the
            oldest
requirement ``id``, ``level``, ``role`` (client, server, both, host, author, authserver), ``revisions``, ``page``,
            ``heading``, ``earlier`` (the places in older revisions, with ";" between), ``url`` ("" of an extension);
            ``citations``: of ``place`` (file and line), ``citation``; ``cites``: heading, or page
            where no line cites the heading; in a checkout ``tests``: of file and line; ``undecided``: the reason why
            the checker cannot decide it, or null; ``rule``: null, or the checker's: ``id``, ``also`` (requirements that
            say the same), ``text``, ``party``, ``verdict``, ``moments``, ``methods``, ``needs`` (what has to be
            recorded), ``reading``, ``disagreement``, ``advice``; ``kept`` and ``broken``, traces as lines of a drawing
topic       ``name``, ``also``, ``text``, ``see``, ``page``, ``heading``, ``url``, ``requirements`` (a number),
            ``example``
page        ``page``, ``heading``, ``url``; ``requirements``: of ``id``, ``level``, ``role``, ``revisions``,
            ``page``, ``heading``, ``earlier``; ``citations`` as above; ``checked``: null, or the numbers of
            requirements that the checker has a rule for (``decided``), that only permit (``permits``), that it has
            nothing for (``open``), and ``undecided``: of ``id``, ``reason``
scene       ``name``, ``text``, ``revisions``, ``wires`` (pipe, web), ``needs`` (a capability, or null); ``decides`` and
            ``provokes`` (what the checker decides then): of ``id``, ``level``, ``citation``, ``url``
matches     ``name``; ``matches``: of ``kind`` and ``name``
readings    ``rows``: of ``place``, ``text``, ``citations``
missing     ``rows``: of ``what``, ``why``, ``since`` (null: no revision asks for it), ``pages``
=========== ============================================================================================

Where another word answers than the one that was asked for (a synonym, the only name that has these words), ``asked`` is
that one.

``--html OUT`` writes a page for each method, type, code, feature, requirement and rule of the checker below a folder,
with an index; see `webpages`.
"""

import argparse
import os
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ...errors import CODES
from ...requirements import EXTENSIONS, requirements
from ...revisions import NAMES, REVISIONS, Revision, revision
from ..command import Command, Commands
from ..output import DONE, UsageError, say, say_json
from . import entries, facts, judged, pages, words
from .text import TEXTS

LIFECYCLE = "lifecycle"
DEPRECATED = "deprecated"
_MOST = 60
"""Names that are listed for a part of a name."""


class Kind(NamedTuple):
    """A row of KINDS."""

    knows: Callable[[str], bool]
    make: Callable[[str, Sequence[Revision]], Optional[entries.Entry]]


KINDS: Tuple[Kind, ...] = (
    Kind(lambda name: name == LIFECYCLE, entries.lifecycle),
    Kind(lambda name: name == DEPRECATED, entries.deprecated),
    Kind(lambda name: name.lstrip("-").isdecimal() and int(name) in CODES, entries.code),
    Kind(lambda name: name in facts.method_names(), entries.method),
    Kind(lambda name: facts.page_of(name) is not None, entries.type_),
    Kind(lambda name: name in entries.feature_names(), entries.feature),
    Kind(lambda name: name in NAMES, entries.revision_),
    Kind(lambda name: name in requirements(), entries.requirement),
    Kind(lambda name: words.find(name) is not None, entries.topic),
    Kind(lambda name: bool(pages.find(name)), entries.place),
    Kind(lambda name: judged.owned(name) is not None, entries.requirement),
    Kind(lambda name: judged.fault_of(name) != "", entries.fault),
    Kind(lambda name: judged.scene_of(name) is not None, entries.scene),
    Kind(lambda name: bool(facts.types_with(name)), entries.member),
)
"""The kinds of words, in the order in which a word is looked up."""


def _explain(options: Any) -> int:
    among = REVISIONS if options.revision is None else (revision(options.revision),)
    if options.html is not None:
        return _html(options)
    if options.list:
        return _list(options, among)
    if options.readings or options.missing:
        if options.name is not None:
            raise UsageError("--readings and --missing print a whole table: leave %s out" % options.name)
        found = entries.readings() if options.readings else entries.missing()
    elif options.name is None:
        raise UsageError("explain what? A method, type, error code, feature, revision, page, requirement or any other "
                         "word of the protocol; --list shows all names")
    else:
        found = describe(options.name, among)
    if options.json:
        say_json(found)
    else:
        asked = ["%s: found under %s" % (found["asked"], entries.name_of(found)), ""] if "asked" in found else []
        say("\n".join(asked + TEXTS[found["kind"]](found)))
    return DONE


def describe(name: str, among: Sequence[Revision] = REVISIONS) -> Dict[str, Any]:
    """Return what is known of a word, as the module's docstring describes; only of these revisions.

    Raises `UsageError` for a word that nothing has, with the nearest ones, or that these revisions do not have.
    """
    for kind in KINDS:
        if kind.knows(name):
            found = kind.make(name, among) or _of_extension(name, among)
            if found is None:
                raise UsageError("revision %s has no %s" % (among[0], name))
            return found
    dated = [part for part in name.split() if part in NAMES]
    if len(dated) == 1 and dated != name.split():
        rest = " ".join(part for part in name.split() if part != dated[0])
        return dict(describe(rest, (revision(dated[0]),)), asked=name)
    matches = _matching(name, among)
    if len(matches) == 1:
        return dict(describe(matches[0]["name"], among), asked=name)
    if matches:
        return {"kind": "matches", "name": name, "matches": matches}
    raise UsageError("nothing is called %r; %s" % (name, _nearest(name)))


def _of_extension(name: str, among: Sequence[Revision]) -> Optional[entries.Entry]:
    """Return the topic of an extension, for a word of an older revision that the newest one has as an extension."""
    found = words.find(name)
    fits = found is not None and found.page.startswith(EXTENSIONS) and REVISIONS[-1] in among
    return entries.topic(name, among) if fits else None


def _matching(text: str, among: Sequence[Revision]) -> List[Dict[str, str]]:
    """The names that have all words of a text, each with its kind. Letters, digits and slashes count, in lower case."""
    parts = _folded(text).split()
    if not parts or max(map(len, parts)) < 3:
        return []
    rows = [row for row in requirements().values() if any(each in among for each in row.stated)]
    sought = [(kind, name, name) for kind, names in _names(among).items() for name in names]
    sought += [("heading", where, where) for where in dict.fromkeys(row.where for row in rows if row.heading)]
    sought += [("requirement", row.id, "%s %s" % (row.id, row.where)) for row in rows]
    return [{"kind": kind, "name": name} for kind, name, searched in sought
            if all(part in _folded(searched) for part in parts)][:_MOST]


def _folded(text: str) -> str:
    return re.sub("[^a-z0-9/]+", " ", text.lower())


def _nearest(name: str) -> str:
    """Advice for a word that nothing has: the names that are nearly the same, or where all are listed."""
    from difflib import get_close_matches

    every = [each for names in _names(REVISIONS).values() for each in names]
    every += [word for topic in words.TOPICS for word in (topic.word, *topic.also)]
    every += requirements()
    by_lower = {each.lower(): each for each in reversed(every)}
    close = [by_lower[each] for each in get_close_matches(name.lower(), by_lower, 3, 0.6)]
    return "did you mean %s?" % " or ".join(close) if close else "explain --list shows all names"


def _names(among: Sequence[Revision]) -> Dict[str, List[str]]:
    """The names of the tables, by the kind of each."""
    tables = ((LIFECYCLE, entries.lifecycle), (DEPRECATED, entries.deprecated))
    return {
        "method": [name for name in facts.method_names() if any(facts.method_in(name, r) for r in among)],
        "type": [name for name in facts.type_names() if any(facts.exists(facts.type_named(name), r) for r in among)],
        "code": [str(code) for code in CODES if any(code in facts.codes_in(r) for r in among)],
        "feature": [name for name in entries.feature_names() if any(getattr(r, name) for r in among)],
        "other": [name for name, make in tables if make(name, among)],
    }


def _list(options: Any, among: Sequence[Revision]) -> int:
    """Print every name of the tables."""
    groups = {kind + "s": names for kind, names in _names(among).items()}
    if options.json:
        say_json(groups)
        return DONE
    for title, names in groups.items():
        if names:
            say("%s: %d" % (title, len(names)))
            say("\n".join("  " + name for name in names))
    return DONE


def _html(options: Any) -> int:
    """Write the pages for browsers."""
    from . import webpages  # late: it loads the rules of the checker

    if options.name is not None or options.revision is not None or options.readings or options.missing or options.list:
        raise UsageError("--html writes all pages with all revisions: give it a folder and nothing else")
    number = webpages.write_pages(options.html)
    if options.json:
        say_json({"folder": options.html, "pages": number})
    else:
        say("%d pages; open %s" % (number, os.path.join(options.html, "index.html")))
    return DONE


_EXAMPLES = """examples:
  explain tools/call                       a method: a paragraph, an example message, params and result by revision
  explain Tool --revision 2024-11-05       a type, as one revision has it
  explain 2025-06-18                       a revision: what it has, what came, what went
  explain "basic/lifecycle §Timeouts"      a heading: its requirements, and the lines of this package that cite it
  explain progress.token-active            a requirement: where it stands, who cites it, how the command check judges it
  explain scene:ping                       a scene of the command examine: what is sent, what is expected, what to do
  explain Mcp-Session-Id                   any other word: session, 401, PKCE, MRTR, SSE, cursor ...
  explain "progress token"                 the names that have these words
  explain --readings                       decisions of this package where the specification leaves a choice
  explain --missing                        what this package does not do, and why
  explain --html pages                     all of it as HTML files below the folder pages: open pages/index.html
"""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("name", nargs="?", metavar="WORD",
                        help="a method, type, error code, feature, revision, page, heading (in quotes), requirement, "
                             "scene, id of a fault, or any other word of the protocol; or: lifecycle, deprecated")
    parser.add_argument("--list", action="store_true", help="list the names of all methods, types, codes and features")
    parser.add_argument("--readings", action="store_true",
                        help="print the decisions of this package where the specification leaves a choice")
    parser.add_argument("--missing", action="store_true", help="print what this package does not do, and why")
    parser.add_argument("--html", metavar="OUT", help="write a page for browsers for each method, type, code, feature, "
                                                      "requirement and rule, with an index, to a folder")
    parser.add_argument("--revision", choices=list(NAMES), help="only this revision")
    parser.add_argument("--json", action="store_true", help="print JSON")


COMMANDS: Commands = {"explain": Command(_explain, _options)}
