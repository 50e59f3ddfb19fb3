"""Rebuild `tests/data/spec_index.json`: which headings each page of the specification has, in each revision.

Facts only, so that citations can be checked where no copy of the specification is at hand. A heading is written with
those above it, `Lifecycle Phases > Shutdown > stdio`; the page `schema.json` has the names of its definitions.
"""
import json
import pathlib
import re
import sys
from typing import Dict, Iterator, List

ROOT = pathlib.Path(__file__).resolve().parents[2]
INDEX = ROOT / "tests" / "data" / "spec_index.json"
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


def main(arguments: List[str]) -> int:
    """Write the index, from the folder that holds a folder per revision."""
    folder = pathlib.Path(arguments[0])
    revisions = sorted(path for path in folder.glob("*") if REVISION.match(path.name))
    if not revisions:
        print("make spec: no revisions of the specification in %s (SPEC=... names another folder)" % folder)
        return 1
    index = {revision.name: index_of(revision) for revision in revisions}
    INDEX.parent.mkdir(parents=True, exist_ok=True)
    INDEX.write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("%s: %d revisions, %d pages" % (INDEX.relative_to(ROOT), len(index), sum(map(len, index.values()))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
