"""Every citation of the specification names a page and a heading that each revision of its window has.

The form is `[<revisions> <page> §<Heading>]`: one revision, `A..B`, `..B`, `A..` or `..`; the page without its ending;
the heading may stand with those above it (`§Shutdown > stdio`), and must where the page has it twice. A page alone may
be cited too. `tests/data/spec_index.json` holds the headings (`make spec` rebuilds it).
"""
import json
from typing import Dict, Iterator, List

import pytest

from tests.meta.facts import ROOT, Citation, citations, expect_nothing, files, shown, text_of
from tests.support.outside import SPEC
from tests.tools import spec_index

INDEX: Dict[str, Dict[str, List[str]]] = json.loads((ROOT / "tests/data/spec_index.json").read_text(encoding="utf-8"))
REVISIONS = sorted(INDEX)
CITING = [path for path in files() if path.suffix in (".py", ".md")]


def window(text: str) -> List[str]:
    """The revisions of a window; [] where an end of it is no revision or it runs backwards."""
    first, dots, last = text.partition("..")
    ends = (first or REVISIONS[0], (last or REVISIONS[-1]) if dots else first)
    if not set(ends) <= set(REVISIONS):
        return []
    return REVISIONS[REVISIONS.index(ends[0]):REVISIONS.index(ends[1]) + 1]


def faults(citation: Citation) -> Iterator[str]:
    """What is wrong with a citation."""
    if not citation.page:
        yield "not of the form [<revisions> <page> §<Heading>]: [%s]" % citation.window
    elif not window(citation.window):
        yield "no such window of revisions: %s" % citation.window
    for revision in window(citation.window) if citation.page else []:
        headings = INDEX[revision].get(citation.page)
        if headings is None:
            yield "%s has no page %s" % (revision, citation.page)
        elif citation.heading:
            yield from heading_faults(citation.heading, headings, "%s %s" % (revision, citation.page))


def heading_faults(cited: str, headings: List[str], where: str) -> Iterator[str]:
    """What is wrong with a cited heading of one page."""
    wanted = " > " + spec_index.plain(cited)
    found = sorted({heading for heading in headings if (" > " + heading).endswith(wanted)})
    if not found:
        yield "%s has no heading %r" % (where, cited)
    elif len(found) > 1 and wanted[3:] not in found:
        yield "%s has %r more than once: say one of %s" % (where, cited, ", ".join(found))


def test_citations_name_a_page_and_heading_of_each_revision() -> None:
    expect_nothing(["%s:%d: %s" % (shown(path), citation.line, fault)
                    for path in CITING for citation in citations(text_of(path)) for fault in faults(citation)])


@pytest.mark.parametrize("text, words", [
    ("2025-11-25 basic/lifecycle §Version Negotiation", []),
    ("..2025-11-25 basic/lifecycle §Shutdown > stdio", []),
    ("2025-11-25 basic/lifecycle §Lifecycle Phases > Shutdown > stdio", []),
    ("2025-11-25 basic/index", []),
    ("2025-06-18.. server/tools §Structured\n    # Content", []),
    (".. server/tools §Error Handling", []),
    ("2026-07-28 schema.json §CallToolRequest", []),
    ("2025-03-26..2025-06-18 basic/lifecycle §Timeouts", []),
    ("2024-11-05..2025-06-18 basic/lifecycle §Timeouts", ["2024-11-05 basic/lifecycle has no heading 'Timeouts'"]),
    ("2025-11-25.. basic/lifecycle §Version Negotiation", ["2026-07-28 has no page basic/lifecycle"]),
    ("2025-11-25 basic/lifecycle §Version", ["no heading 'Version'"]),
    ("2025-03-26 basic/authorization §Overview", ["more than once"]),
    (".. basic/lifecycle", ["2026-07-28 has no page basic/lifecycle"]),
    ("2025-11-24 basic/lifecycle §Shutdown", ["no such window"]),
    ("2025-11-25..2025-03-26 basic/lifecycle §Shutdown", ["no such window"]),
    ("2025-11-25 basic/lifecycle Shutdown", ["not of the form"]),
    ("2025-11-25 §Shutdown", ["not of the form"]),
])
def test_the_checker_accepts_what_is_right_and_sees_what_is_wrong(text: str, words: List[str]) -> None:
    found = [fault for citation in citations("x = 1\n[%s] MUST" % text) for fault in faults(citation)]
    assert len(found) == len(words) and all(word in fault for word, fault in zip(words, found)), found
    assert [citation.line for citation in citations("x = 1\n[%s] MUST" % text)] == [2]


def test_what_is_no_citation_is_left_alone() -> None:
    text = 'REVISIONS["2025-11-25"] [RFC 6570 §2.4] ["2025-11-25", 1] [2025] [2025-11-25] a[2025-11-25:]'
    assert not list(citations(text))


@pytest.mark.needs("specification")
def test_index_is_what_the_specification_has() -> None:
    assert spec_index.whole_index(SPEC) == INDEX, "run `make spec`"


@pytest.mark.needs("specification")
def test_the_table_of_requirements_is_what_the_specification_has() -> None:
    fresh = spec_index.requirement_table(SPEC).encode("utf-8")
    assert fresh == spec_index.TABLE.read_bytes(), "run `make spec`"


def test_the_table_of_requirements_names_headings_of_the_index() -> None:
    lines = spec_index.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == list(spec_index.COLUMNS)
    for id, _, _, revisions, page, heading, earlier in (line.split("\t") for line in lines[1:]):
        last = window(revisions.split(",")[-1])[-1] if revisions != ".." else REVISIONS[-1]
        if heading and page != spec_index.SCHEMA and not page.startswith("extensions/"):
            expect_nothing(["%s: %s" % (id, fault) for fault in heading_faults(heading, INDEX[last][page], page)])
        for place in filter(None, earlier.split(";")):
            cited, = citations("[%s]" % place)
            expect_nothing(["%s: %s" % (id, fault) for fault in faults(cited) if cited.page != "?"])


def test_the_place_in_an_older_revision_is_where_the_words_are() -> None:
    def sections(page: str, text: str) -> List[spec_index.Section]:
        return list(spec_index.sections_of(page, text))

    said = "They MUST count all calls of a client."
    newest = sections("basic/patterns/x", "# Limits\nThey MUST count `all` calls of a client.\n# Other\nNo.")
    older = sections("basic/utilities/x", "## Notes\nThey MUST count calls of a client.\n## Limits\nBe kind.")
    assert spec_index.place_in(said, "basic/patterns/x", "Limits", older, newest) == ("basic/utilities/x", "Notes")
    assert spec_index.place_in("Birds fly south.", "basic/patterns/x", "Other", older, newest) is None
    moved = sections("basic/lifecycle", "# Timeouts\nThey MUST count all calls of a client.\n# Limits\nNo.")
    assert spec_index.place_in(said, "basic/patterns/x", "Limits", moved, newest) == ("basic/lifecycle", "Timeouts")
    places = {"2024-11-05": None, "2025-03-26": ("a", "B"), "2025-06-18": ("a", "B"), "2025-11-25": ("n", "H")}
    assert spec_index.written(places, ("n", "H"), REVISIONS) == "2024-11-05 ?;2025-03-26..2025-06-18 a §B"


@pytest.mark.parametrize("stated, text", [
    (REVISIONS, ".."), (REVISIONS[1:], "2025-03-26.."), (REVISIONS[:4], "..2025-11-25"), (REVISIONS[2:3], "2025-06-18"),
    (REVISIONS[:1] + REVISIONS[2:4], "2024-11-05,2025-06-18..2025-11-25"),
])
def test_revisions_of_a_requirement_are_windows(stated: List[str], text: str) -> None:
    assert spec_index.window(stated, REVISIONS) == text


def test_anchors_are_those_of_the_published_pages() -> None:
    found = spec_index.anchors(["Overview", "A > Security & Endpoint", "`_meta`", "B > Overview"])
    assert found == {"overview": "Overview", "security-endpoint": "A > Security & Endpoint", "_meta": "`_meta`",
                     "overview-2": "B > Overview"}
