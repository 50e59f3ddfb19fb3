"""`explain --html`: the pages, as a browser reads them."""
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, List, Optional, Set, Tuple

import pytest

from mcp_ref.cli import main
from mcp_ref.cli.learn import entries, explain, webpages
from mcp_ref.requirements import requirements
from mcp_ref.devtools.checker import rules
from mcp_ref.revisions import NAMES, REVISIONS

_VOID = ("meta", "link")


class _Page(HTMLParser):
    """Elements that are closed in their order, the links, the ids and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: List[str] = []
        self.links: List[str] = []
        self.ids: Set[str] = set()
        self.elements: Set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self.elements.add(tag)
        if tag not in _VOID:
            self.open.append(tag)
        found = dict(attrs)
        if "id" in found:
            assert found["id"] not in self.ids
            self.ids.add(str(found["id"]))
        if tag in ("a", "link"):
            self.links.append(str(found["href"]))
        assert not any(name.startswith("on") or name == "src" for name in found)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def made() -> Dict[str, str]:
    return webpages.make_pages()


@pytest.fixture(scope="module")
def read(made: Dict[str, str]) -> Dict[str, _Page]:
    return {file: _Page(text) for file, text in made.items() if file.endswith(".html")}


def _target(file: str, link: str) -> str:
    path, _, mark = link.partition("#")
    whole = os.path.normpath(os.path.join(os.path.dirname(file), path)).replace(os.sep, "/") if path else file
    return whole + ("#" + mark if mark else "")


@pytest.mark.time_limit(120)
def test_every_link_resolves_and_no_page_needs_more_than_its_style(made, read) -> None:
    for file, page in read.items():
        assert not page.elements & {"script", "img", "iframe", "object", "style"}
        for link in page.links:
            if re.match("https?:", link):
                assert re.match("https://(modelcontextprotocol.io|github.com/modelcontextprotocol)/", link), link
            else:
                where, _, mark = _target(file, link).partition("#")
                assert where in made and (not mark or mark in read[where].ids), (file, link)


def test_there_is_a_page_for_each_name_and_the_index_lists_all_once(read) -> None:
    names = explain._names(REVISIONS)
    count = {kind: len(names[kind]) for kind in ("method", "code", "feature")}
    count.update(requirement=len(requirements()), rule=len(rules.load()))
    listed = [link for link in read["index.html"].links if link.endswith(".html")]
    assert sorted(listed) == sorted(set(read) - {"index.html"})
    for kind, number in count.items():
        assert sum(link.startswith(kind + "/") for link in listed) == number, kind
    assert {link[len("type/"):-len(".html")] for link in listed if link.startswith("type/")} >= set(names["type"])


def test_links_lead_back(read) -> None:
    leading = {(file, _target(file, link)) for file, page in read.items() if file != "index.html"
               for link in page.links if link.startswith("../") and link.endswith(".html")}
    alone = [pair for pair in leading if pair[1] != "index.html" and pair[::-1] not in leading]
    assert not alone
    for one, other in (("method/tools-call.html", "type/CallToolResult.html"),
                       ("code/32002.html", "feature/resource_not_found_code.html"),
                       ("requirement/progress.token-active.html", "rule/progress.token-active.html")):
        assert (one, other) in leading


def test_a_page_shows_every_revision(read) -> None:
    for file, page in read.items():
        if file != "index.html":
            assert all(name in page.text for name in NAMES), file
    text = read["method/initialize.html"].text
    assert "Example, revisions 2024-11-05" in text and "Example, revisions 2025-11-25" in text


def test_names_of_files_are_such_as_every_system_allows(made) -> None:
    parts = {part for file in made for part in file.split("/")}
    reserved = {"con", "prn", "aux", "nul", *("com%d" % n for n in range(10)), *("lpt%d" % n for n in range(10))}
    for part in parts:
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", part) and part.partition(".")[0].lower() not in reserved
    assert len({file.lower() for file in made}) == len(made)
    assert max(map(len, made)) < 100


def test_texts_are_escaped(monkeypatch) -> None:
    hostile = "<script>alert(1)</script> & \"tools/call\""
    entry: Dict[str, Any] = {"text": hostile, "url": "https://x/?a=\"><b>", "name": "ping", "page": None, "rows": []}
    monkeypatch.setattr(entries, "example", lambda name, there: entries.Example(there, None, text=hostile))
    places = [webpages.PageKey("method", "tools/call"), webpages.PageKey("method", "ping")]
    page = _Page("<div>%s</div>" % webpages._method(webpages._Writer(places).at(places[1]), entry))
    assert page.elements == {"div", "p", "b", "a", "h2", "pre", "table", "tr", "td", "th"}
    assert page.text.count(hostile) == 2 and "../method/tools-call.html" in page.links
    assert "https://x/?a=\"><b>" in page.links


def test_the_command_writes_a_folder_and_keeps_the_files_of_others(tmp_path: Path, monkeypatch, capsys) -> None:
    small = {webpages.PageKey("code", "-32601"): entries.code("-32601", REVISIONS)}
    monkeypatch.setattr(webpages, "_entries", lambda: small)
    out = tmp_path / "a folder" / "pages"
    for _ in range(2):  # it may be written again
        assert main(["explain", "--html", str(out)]) == 0
        assert "2 pages" in capsys.readouterr().out
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == ["32601.html", "explain.css", "index.html"]
    assert main(["explain", "--json", "--html", str(out)]) == 0
    assert json.loads(capsys.readouterr().out) == {"folder": str(out), "pages": 2}
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["explain", "--html", str(tmp_path)]) == 2
    assert main(["explain", "--html", str(tmp_path / "mine.txt")]) == 2
    assert main(["explain", "ping", "--html", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()
