"""Rebuild what is known of the specification where no copy of it is at hand: facts, and none of its sentences.

`tests/data/spec_index.json` has the headings of each page in each revision, so that citations can be checked. A heading
is written with those above it, `Lifecycle Phases > Shutdown > stdio`; the page `schema.json` has the names of its
definitions. The pages of the extensions are there as ``extensions/...``.

`mcp_ref/requirements.tsv` has a row for each row of the specification's requirement list: id, level,
role (whom it binds), revisions (a window as citations have it, or several with commas between), page and heading, both
of the newest revision that states it; then the rows of the extensions, whose list is in the folder `spec-ext` beside
that of the specification. `python3 -m mcp_ref explain` looks ids, pages and headings up in it. The column `earlier` has
the places in older revisions, where page or heading is another there: citations with ";" between, with ``?`` as the
page where the place is not known. The place in an older revision is where the words are: the section that has the
sentence as it is, or else the one that has most of its words and pairs of words, where the page and the heading count,
too. What that finds only weakly counts if page and heading have kept their names; `JUDGED` has the rest, read by a
person.
"""
import csv
import json
import os
import pathlib
import re
import sys
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
INDEX = ROOT / "tests" / "data" / "spec_index.json"
TABLE = ROOT / "mcp_ref" / "requirements.tsv"
COLUMNS = ("id", "level", "role", "revisions", "page", "heading", "earlier")
SCHEMA = "schema.json"
KNOWN = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
REVISION = re.compile(r"\d{4}-\d{2}-\d{2}$")
HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
FENCE = re.compile(r"\s*(```+|~~~+)")

_SAME = 0.15  # what the same page counts, and the same heading: as much as one word in seven
_LIKELY = 0.7  # the part of what the newest place has of the words
_APART = 0.05  # the distance from the second best place

JUDGED: Dict[Tuple[str, str], Tuple[str, str]] = {
    ("jsonrpc.error-code-message", "2025-03-26"): ("basic/index", "Messages > Responses"),
    ("jsonrpc.error-code-message", "2025-06-18"): ("basic/index", "Messages > Responses"),
    ("stdio.stderr-logging", "2024-11-05"): ("basic/transports", "stdio"),
    ("stdio.stderr-logging", "2025-03-26"): ("basic/transports", "stdio"),
    ("stdio.stderr-logging", "2025-06-18"): ("basic/transports", "stdio"),
    ("http.stream-close-after-response", "2025-03-26"):
        ("basic/transports", "Streamable HTTP > Sending Messages to the Server"),
    ("http.stream-close-after-response", "2025-06-18"):
        ("basic/transports", "Streamable HTTP > Sending Messages to the Server"),
    ("auth.security-best-practices", "2025-03-26"):
        ("basic/authorization", "Authorization Flow > Implementation Requirements"),
    ("auth.security-best-practices", "2025-06-18"): ("basic/authorization", "Security Considerations"),
    ("auth.security-best-practices", "2025-11-25"): ("basic/authorization", "Security Considerations"),
    ("auth.secure-token-storage", "2025-03-26"):
        ("basic/authorization", "Authorization Flow > Security Considerations"),
    ("auth.pkce", "2025-03-26"): ("basic/authorization", "Authorization Flow > Implementation Requirements"),
    ("auth.as-trust-policies", "2025-11-25"): (
        "basic/authorization", "Security Considerations > Client ID Metadata Document Security > Trust Policies"),
}
"""Requirement and revision -> its place there, where the words alone do not tell."""


def headings(text: str) -> Iterator[str]:
    """Each heading of a page in Markdown, with those above it."""
    above: List[str] = []
    levels: List[int] = []
    for line in outside_fences(text):
        found = HEADING.match(line)
        if found:
            level = len(found.group(1))
            while levels and levels[-1] >= level:
                levels.pop()
                above.pop()
            levels.append(level)
            above.append(plain(found.group(2)))
            yield " > ".join(above)


def outside_fences(text: str) -> Iterator[str]:
    """The lines of a page that are not code."""
    fence = ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and line.strip() == fence:
            fence = ""
        elif not fence:
            yield line


def plain(heading: str) -> str:
    """A heading without its markup: links, code, emphasis."""
    return re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)).strip()


def definitions(schema: pathlib.Path) -> List[str]:
    """Names of a schema's definitions."""
    document = json.loads(schema.read_text(encoding="utf-8"))
    return sorted(document.get("$defs") or document["definitions"])


def index_of(revision: pathlib.Path) -> Dict[str, List[str]]:
    """Page -> headings, for one revision's folder."""
    pages = {path.relative_to(revision).with_suffix("").as_posix(): list(headings(path.read_text(encoding="utf-8")))
             for path in sorted(revision.rglob("*.mdx"))}
    return dict(pages, **{"schema.json": definitions(revision / "schema.json")})


def whole_index(folder: pathlib.Path) -> Dict[str, Dict[str, List[str]]]:
    """Revision -> page -> headings, with the pages of the extensions in the revisions that their requirements name."""
    index = {path.name: index_of(path) for path in sorted(folder.glob("*")) if REVISION.match(path.name)}
    beside = folder.parent / "spec-ext"
    with open(str(beside / "requirements.tsv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            path = row["page#anchor"].partition("#")[0]
            page = extension_page(path)
            for revision in row["revisions"].split(","):
                if page not in index[revision] and (beside / path).suffix in (".md", ".mdx"):
                    index[revision][page] = list(headings((beside / path).read_text(encoding="utf-8")))
    return index


def extension_page(path: str) -> str:
    """The name of a page of an extension, given its path in the folder of extensions."""
    return "extensions/" + re.sub(r"\.mdx?$", "", path)


def slug(heading: str) -> str:
    """The anchor of a heading, as the published pages have it."""
    words = "".join(sign if sign.isalnum() or sign in " -_" else "" for sign in heading.lower()).split()
    return "-".join(words)


def anchors(headings: List[str]) -> Dict[str, str]:
    """Anchor -> heading, for one page. A heading that comes again has a number behind its anchor."""
    found: Dict[str, str] = {}
    for heading in headings:
        anchor, number = slug(heading.split(" > ")[-1]), 1
        while (anchor if number == 1 else "%s-%d" % (anchor, number)) in found:
            number += 1
        found[anchor if number == 1 else "%s-%d" % (anchor, number)] = heading
    return found


def shortest(heading: str, headings: List[str]) -> str:
    """A heading with as many of those above it as tell it from the others of its page."""
    steps = heading.split(" > ")
    for start in range(len(steps) - 1, -1, -1):
        short = " > ".join(steps[start:])
        if sum((" > " + each).endswith(" > " + short) for each in headings) == 1:
            return short
    return heading


def window(stated: List[str], known: List[str]) -> str:
    """Revisions in the form of citations: ``..``, ``2025-06-18..``, or several of these with commas between."""
    runs: List[List[str]] = []
    for name in stated:
        if runs and known.index(runs[-1][-1]) + 1 == known.index(name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ",".join(_run(run[0], run[-1], known) for run in runs)


def _run(first: str, last: str, known: List[str]) -> str:
    start, end = first if first != known[0] else "", last if last != known[-1] else ""
    return first if first == last else "%s..%s" % (start, end)


class Section(NamedTuple):
    """What stands below one heading, up to the next one."""

    page: str
    heading: str
    words: str
    """In lower case, with a blank between and around them."""
    parts: Set[Tuple[str, ...]]
    """The words, and the pairs of neighbours."""


def sections_of(page: str, text: str) -> Iterator[Section]:
    """Yield the sections of a page in Markdown; the one above the first heading has the heading ""."""
    above: List[str] = []
    levels: List[int] = []
    words: List[str] = []
    for line in [*outside_fences(text), "# "]:
        found = HEADING.match(line)
        if not found:
            words += words_of(line)
            continue
        yield Section(page, " > ".join(above), " %s " % " ".join(words), parts_of(words))
        words = []
        while levels and levels[-1] >= len(found.group(1)):
            levels.pop()
            above.pop()
        levels.append(len(found.group(1)))
        above.append(plain(found.group(2)))


def words_of(text: str) -> List[str]:
    """The words of a text, without markup, in lower case."""
    text = re.sub(r"<[^>]*>", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    return re.findall(r"[a-z0-9/\-]+", re.sub(r"[`*_]", "", text).lower())


def parts_of(words: List[str]) -> Set[Tuple[str, ...]]:
    """The words, and the pairs of neighbours."""
    return {*zip(words, words[1:]), *((word,) for word in words)}


def place_in(
    text: str, page: str, heading: str, there: List[Section], newest: List[Section],
) -> Optional[Tuple[str, str]]:
    """Return page and heading of a statement in a revision; None if they cannot be told.

    ``page`` and ``heading``: its place in the newest revision, whose sections are ``newest``.
    """
    words = words_of(text)
    sentence, parts = " %s " % " ".join(words), parts_of(words)
    having = [each for each in there if sentence in each.words]
    exact = having if len(having) == 1 else [each for each in having if same_page(each.page, page)]
    if len(exact) == 1:
        return exact[0].page, exact[0].heading
    full = max((len(parts & each.parts) for each in newest if (each.page, each.heading) == (page, heading)), default=0)
    ranked = sorted(((len(parts & each.parts) / len(parts) + _SAME * same_page(each.page, page)
                      + _SAME * same_heading(each.heading, heading), number) for number, each in enumerate(there)),
                    reverse=True)
    best = there[ranked[0][1]]
    kept = same_page(best.page, page) and same_heading(best.heading, heading)
    sure = len(parts & best.parts) >= _LIKELY * full and ranked[1][0] <= ranked[0][0] - _APART
    return (best.page, best.heading) if sure or kept else None


def same_heading(one: str, other: str) -> bool:
    """True if the last parts of two headings are the same."""
    return one.rpartition(" > ")[2].lower() == other.rpartition(" > ")[2].lower()


def same_page(one: str, other: str) -> bool:
    """True if two pages are one that was moved or divided."""
    return (one == other or one.startswith(other + "/") or other.startswith(one + "/")
            or one.rpartition("/")[2] == other.rpartition("/")[2] != "index")


def requirement_rows(folder: pathlib.Path) -> List[List[str]]:
    """The rows of the table. Raises KeyError for an anchor that its page does not have."""
    known = sorted(path.name for path in folder.glob("*") if REVISION.match(path.name))
    index = {name: index_of(folder / name) for name in known}
    sections = {name: [section for path in sorted((folder / name).rglob("*.mdx")) for section in sections_of(
                    path.relative_to(folder / name).with_suffix("").as_posix(), path.read_text(encoding="utf-8"))]
                for name in known}
    found = []
    with open(str(folder / "requirements.tsv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            stated = row["revisions"].split(",")
            path, _, anchor = row["page#anchor"].partition("#")
            page = path[: -len(".mdx")] if path.endswith(".mdx") else path
            heading, earlier = anchor, {}
            if page != SCHEMA:
                whole = anchors(index[stated[-1]][page])[anchor] if anchor else ""
                heading = shortest(whole, index[stated[-1]][page]) if anchor else ""
                for name in stated[:-1]:
                    there = JUDGED.get((row["id"], name)) or place_in(
                        row["text"], page, whole, sections[name], sections[stated[-1]])
                    earlier[name] = there and (there[0], shortest(there[1], index[name][there[0]]))
            found.append([row["id"], row["level"], row["role"], window(stated, known), page, heading,
                          written(earlier, (page, heading), known)])
    return found


def written(earlier: Dict[str, Optional[Tuple[str, str]]], newest: Tuple[str, str], known: List[str]) -> str:
    """Older places in the form of the table; those that are the newest one are left out."""
    found = []
    for place in dict.fromkeys(place for place in earlier.values() if place != newest):
        where = "?" if place is None else place[0] + (" §" + place[1] if place[1] else "")
        stated = [name for name in known if earlier.get(name, newest) == place]
        found += ["%s %s" % (each, where) for each in window(stated, known).split(",")]
    return ";".join(found)


def extension_rows(folder: pathlib.Path) -> List[List[str]]:
    """The rows of the extensions: their pages begin with ``extensions/``."""
    found = []
    with open(str(folder / "requirements.tsv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            path, _, anchor = row["page#anchor"].partition("#")
            page = folder / path
            heading = anchor
            if anchor and page.suffix in (".md", ".mdx"):
                there = list(headings(page.read_text(encoding="utf-8")))
                heading = shortest(anchors(there)[anchor], there)
            found.append([row["id"], row["level"], row["role"], window(row["revisions"].split(","), KNOWN),
                          extension_page(path), heading, ""])
    return found


def requirement_table(folder: pathlib.Path) -> str:
    """The whole table as it is written."""
    return "".join("\t".join(row) + "\n" for row in [
        list(COLUMNS), *requirement_rows(folder), *extension_rows(folder.parent / "spec-ext")])


def main() -> int:
    """Write both, from the folder that holds the requirement list and a folder for each revision."""
    name = os.environ.get("MCP_REF_SPEC", "")
    folder = pathlib.Path(name)
    if not name or not any(REVISION.match(path.name) for path in folder.glob("*")):
        where = "%s has no folder for any revision" % folder if name else "MCP_REF_SPEC is not set"
        print("make spec: %s: make spec MCP_REF_SPEC=FOLDER, with a copy of the specification" % where, file=sys.stderr)
        return 2
    index = whole_index(folder)
    INDEX.parent.mkdir(parents=True, exist_ok=True)
    INDEX.write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("%s: %d revisions, %d pages" % (INDEX.relative_to(ROOT), len(index), sum(map(len, index.values()))))
    TABLE.write_bytes(requirement_table(folder).encode("utf-8"))
    print("%s: %d requirements" % (TABLE.relative_to(ROOT), len(TABLE.read_bytes().splitlines()) - 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
