"""The page of the course, as far as it can be told without a browser: what it has, and that it needs nothing else."""
import base64
import hashlib
import json
import pathlib
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from tests.support.patience import WAIT

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHAPTERS = ("00_from_nothing", "03_tools", "16_five_revisions")
VOID = {"meta", "br", "input", "img"}


class Reader(HTMLParser):
    """The elements of the page: their attributes, their texts, and that each is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])
        if tag not in VOID:
            self.open.append(self.found[-1])

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, tag

    def handle_data(self, data):
        for each in self.open:
            each[2] += data

    def all(self, tag, **given):
        return [(attributes, text) for name, attributes, text in self.found
                if name == tag and given.items() <= attributes.items()]


@pytest.fixture(scope="module")
def page():
    target = ROOT / "build" / "course.html"
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "tools" / "course_page.py"), *CHAPTERS],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")
    return Reader(target.read_text(encoding="utf-8"))


def test_every_element_is_closed_and_every_anchor_leads_somewhere(page):
    assert page.open == []
    ids = [attributes["id"] for _, attributes, _ in page.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    anchors = [attributes["href"] for attributes, _ in page.all("a")]
    assert anchors and all(each.startswith("#") and each[1:] in ids for each in anchors)
    for attributes, _ in page.all("button"):
        assert attributes.get("aria-controls", ids[0]) in ids and attributes.get("data-session", ids[0]) in ids


def test_the_page_asks_for_nothing_from_elsewhere_and_runs_its_own_scripts_only(page):
    for tag, attributes, _ in page.found:
        assert not {"src", "srcset", "style", "action"} & set(attributes), (tag, attributes)
        assert tag not in ("link", "iframe", "object", "base") and not any(name.startswith("on") for name in attributes)
    policy = next(attributes["content"] for attributes, _ in page.all("meta") if "http-equiv" in attributes)
    for tag in ("script", "style"):
        (own,) = [text for attributes, text in page.all(tag) if "type" not in attributes]
        digest = base64.b64encode(hashlib.sha256(own.encode("utf-8")).digest()).decode("ascii")
        assert "'sha256-%s'" % digest in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_each_chapter_has_its_program_its_transcript_its_sessions_and_two_exercises(page):
    assert [attributes["id"] for attributes, _ in page.all("section")] == list(CHAPTERS)
    for attributes, text in page.all("section"):
        assert text.count("Goal: the checker finds") == 2 == text.count("Solution of exercise"), attributes
        assert "if __name__" in text
    transcripts = [text for _, text in page.all("pre", **{"class": "transcript"})]
    assert len(transcripts) == len(CHAPTERS)
    assert all("client" in text or "2026-07-28" in text for text in transcripts)
    assert str(ROOT) not in "".join(transcripts)
    records = [json.loads(text) for attributes, text in page.all("script", type="application/json")
               if attributes["id"].startswith("s-")]
    assert len(records) == 7 + 1 + 5 and all(record["steps"] for record in records)


def test_a_chapter_that_fails_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "tools"))
    import course_page

    broken = tmp_path / "99_broken.py"
    broken.write_text('"""A title.\n"""\nraise SystemExit("it is broken")\n', encoding="utf-8")
    with pytest.raises(course_page.CourseError, match="99_broken.py has failed:\nit is broken"):
        course_page.run(broken)
