"""Rebuild what is known of the specification where no copy of it is at hand: facts, and none of its sentences.

`tests/data/spec_index.json` has the headings of each page in each revision, so that citations can be checked. A heading
is written with those above it, `Lifecycle Phases > Shutdown > stdio`; the page `schema.json` has the names of its
definitions. The pages of the extensions are there as ``extensions/...``.

`mcp_ref/requirements.tsv` has a row for each row of the specification's requirement list: id, level,
role (whom it binds), revisions (a window as citations have it, or several with commas between), page and heading, both
of the newest revision that states it; then the rows of the extensions, whose list is in the folder `spec-ext` beside
that of the specification. `python3 -m mcp_ref explain` looks ids, pages and headings up in it.
"""
import csv
import json
import pathlib
import re
import sys
from typing import Dict, Iterator, List

ROOT = pathlib.Path(__file__).resolve().parents[2]
INDEX = ROOT / "tests" / "data" / "spec_index.json"
TABLE = ROOT / "mcp_ref" / "requirements.tsv"
COLUMNS = ("id", "level", "role", "revisions", "page", "heading")
SCHEMA = "schema.json"
KNOWN = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
REVISION = re.compile(r"\d{4}-\d{2}-\d{2}$")
HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
FENCE = re.compile(r"\s*(```+|~~~+)")


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


def requirement_rows(folder: pathlib.Path) -> List[List[str]]:
    """The rows of the table. Raises KeyError for an anchor that its page does not have."""
    known = sorted(path.name for path in folder.glob("*") if REVISION.match(path.name))
    index = {name: index_of(folder / name) for name in known}
    found = []
    with open(str(folder / "requirements.tsv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            stated = row["revisions"].split(",")
            path, _, anchor = row["page#anchor"].partition("#")
            page = path[: -len(".mdx")] if path.endswith(".mdx") else path
            heading = anchor
            if page != SCHEMA and anchor:
                headings = index[stated[-1]][page]
                heading = shortest(anchors(headings)[anchor], headings)
            found.append([row["id"], row["level"], row["role"], window(stated, known), page, heading])
    return found


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
                          extension_page(path), heading])
    return found


def requirement_table(folder: pathlib.Path) -> str:
    """The whole table as it is written."""
    return "".join("\t".join(row) + "\n" for row in [
        list(COLUMNS), *requirement_rows(folder), *extension_rows(folder.parent / "spec-ext")])


def main(arguments: List[str]) -> int:
    """Write both, from the folder that holds the requirement list and a folder per revision."""
    folder = pathlib.Path(arguments[0])
    revisions = sorted(path for path in folder.glob("*") if REVISION.match(path.name))
    if not revisions:
        print("make spec: no revisions of the specification in %s (SPEC=... names another folder)" % folder)
        return 1
    index = whole_index(folder)
    INDEX.parent.mkdir(parents=True, exist_ok=True)
    INDEX.write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("%s: %d revisions, %d pages" % (INDEX.relative_to(ROOT), len(index), sum(map(len, index.values()))))
    TABLE.write_bytes(requirement_table(folder).encode("utf-8"))
    print("%s: %d requirements" % (TABLE.relative_to(ROOT), len(TABLE.read_bytes().splitlines()) - 1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
