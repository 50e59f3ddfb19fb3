"""The extension for skills: what is at fault beyond the scenes of the rules, what looks odd and is legal, and what
cannot be told.
"""
import json

import pytest

from mcp_ref.devtools.checker.pages.extensions.skill_methods import (
    DISCOVERED, FORM, LISTED, SERVES, SKILL, START, TEXT, content, entry, file,
)
from tests.checker.helpers import judged, roots, unsure

FILE = SKILL + "/SKILL.md"
A, B = SKILL + "/forms/a.md", SKILL + "/forms/b.md"
BOTH = [file(FILE, TEXT), file(A, FORM)]


def listed(*entries, number=1, **more):
    """A list of skills and its answer."""
    return "C #%d skills/list {}\nS #%d %s\n" % (
        number, number, json.dumps({"skills": [json.loads(each) for each in entries], "ttlMs": 60000, **more}))


def read(number, uri, text):
    """A read of a file and its answer."""
    return 'C #%d resources/read {"uri": "%s"}\nS #%d %s\n' % (number, uri, number, content(uri, text))


def refused(number, uri, code=-32602, said="Resource not found"):
    """A read of a file and its refusal."""
    return 'C #%d resources/read {"uri": "%s"}\nS #%d !%d "%s"\n' % (number, uri, number, code, said)


def got(number, made):
    """The entry of a skill and how it was asked for."""
    return 'C #%d skills/get {"uri": "%s"}\nS #%d {"skill": %s}\n' % (number, FILE, number, made)


def directory(number, uri, *children):
    """A directory and its files."""
    return 'C #%d resources/directory/read {"uri": "%s"}\nS #%d %s\n' % (number, uri, number, json.dumps(
        {"resources": [{"uri": each, "name": each.rpartition("/")[2]} for each in children]}))


@pytest.mark.parametrize("text, id", [
    (listed(entry(resources=None)), "skills.entry-resources-required"),
    (listed(entry(resources={})), "skills.entry-resources-required"),
    (listed(entry(resources=[*BOTH, file(A, FORM)])), "skills.entry-resources-complete"),
    (listed(entry(resources=[file(FILE, TEXT), file(SKILL + "/../a.md", FORM)])),
     "skills.entry-resources-within-skill"),
    (listed(entry(resources=[file(FILE, TEXT, size=-1)])), "skills.entry-resources-size"),
    (listed(entry(resources=[file(FILE, TEXT)] + [file("%s/%d" % (SKILL, n), "") for n in range(512)])),
     "skills.limits-kept-by-server"),
    (listed(entry(resources=[file(FILE, TEXT, size=7), file(A, FORM)])) + read(2, FILE, TEXT),
     "skills.entry-resources-size"),
    (listed(entry(frontmatter={"name": "refunds"})), "schema.result"),
    (listed(entry()).replace('"size": 18', '"size": "18"'), "skills.entry-resources-size"),
    (got(1, entry(uri=SKILL + "/readme.md", resources="dynamic")), "skills.skill-md-at-root"),
    (got(1, "null"), "skills.get-unknown-skill-error"),
    (listed(entry()) + got(2, entry(frontmatter={"name": "x", "description": "d"})),
     "skills.entry-uri-ends-with-name"),
    (listed(entry()) + read(2, FILE, "---\nname: refunds\n---\n"), "skills.skill-md-frontmatter"),
    (directory(1, SKILL + "/forms", A, B) + listed(entry(), number=2) + read(3, B, FORM),
     "skills.entry-resources-complete"),
    (listed(entry()) + refused(2, B, -32603, "no such file"), "skills.read-unknown-file-error"),
    ('C #1 skills/get {"uri": "skill://x/SKILL.md"}\nS #1 !-32002 "Unknown skill"', "errors.no-32002"),
    (listed(entry()) + read(2, FILE, TEXT) + directory(3, SKILL + "/forms", A, B) + refused(4, B),
     "skills.directory-child-not-read"),
    (listed(entry()) + 'C #2 resources/directory/read {"uri": "%s"}\nS #2 !-32603 "not a directory"' % A,
     "skills.directory-read-error"),
    ('C #1 resources/list {}\nS #1 {"resources": [{"uri": "skill://a/SKILL.md", "name": "a", "description": "d"}]}',
     "skills.skill-md-mime-type"),
])
def test_what_is_at_fault(text, id):
    assert roots(START + "\n" + text) == [id]


HARD = TEXT.replace("description: Refund a customer", 'description: "Refund a customer: all of it"\nn: 1\n'
                    'tags: [a, b]\nmore: |\n  a\n  b\nempty:\n# a comment')
LEGAL = {
    "a dynamic skill": START + "\n" + listed(entry(resources="dynamic")) + read(2, FILE, TEXT + "1")
    + read(3, FILE, TEXT + "2") + read(4, FILE, TEXT + "3") + directory(5, SKILL + "/forms", B) + read(6, B, FORM),
    "another scheme of the domain": START + "\n" + listed(entry(
        uri="github://o/r/skills/refunds/SKILL.md", resources=[file("github://o/r/skills/refunds/SKILL.md", TEXT)])),
    "a skill inside another": START + "\n" + listed(
        entry(resources=[*BOTH, file(SKILL + "/deep/SKILL.md", TEXT.replace("refunds", "deep"))]),
        entry(uri=SKILL + "/deep/SKILL.md", frontmatter={"name": "deep", "description": "Refund a customer"},
              resources=[file(SKILL + "/deep/SKILL.md", TEXT.replace("refunds", "deep"))]))
    + read(2, FILE, TEXT) + read(3, SKILL + "/deep/SKILL.md", TEXT.replace("refunds", "deep")),
    "a file of a browser": START + "\n" + listed(entry()) + refused(2, B),
    "a skill that has changed": START + "\n" + listed(entry()) + read(2, FILE, TEXT) + got(3, entry(
        resources=[*BOTH, file(B, FORM)])) + read(4, FILE, TEXT) + read(5, B, FORM),
    "a file that does not fit, and a fresh entry": START + "\n" + listed(entry()) + read(2, FILE, TEXT + "new")
    + got(3, entry(resources=[file(FILE, TEXT + "new"), file(A, FORM)])) + read(4, FILE, TEXT + "new")
    + read(5, A, FORM),
    "a file that does not fit, and no more": START + "\n" + listed(entry()) + read(2, FILE, TEXT + "new"),
    "an empty list": START + "\n" + listed() + got(2, entry()),
    "pages": START + "\n" + listed(entry(), nextCursor="b") + 'C #2 skills/list {"cursor": "b"}\nS #2 {"skills": []}',
    "resources of a server without the extension": 'on stdio 2026-07-28 server={"resources": {}}' + DISCOVERED
    + 'C #1 resources/list {}\nS #1 {"resources": [{"uri": "skill://a/SKILL.md", "name": "SKILL.md"}]}\n'
    + read(2, "skill://a/SKILL.md", "# no skill"),
    "methods of that name of a vendor": 'on stdio 2026-07-28 server={"resources": {}}' + DISCOVERED
    + 'C #1 skills/list {"all": true}\nS #1 {"skills": [{"name": "a"}]}',
    "metadata of a framework": START + "\n" + listed(entry()) + 'C #2 resources/list {}\nS #2 {"resources": [{"uri": '
    '"%s", "name": "refunds", "description": "Refund a customer", "mimeType": "text/markdown; charset=utf-8", "_meta": '
    '{"fastmcp": {"tags": []}, "com.example/version": 1}}]}' % FILE,
    "frontmatter that is hard to read": START + "\n" + listed(entry(
        frontmatter={"name": "refunds", "description": "Refund a customer: all of it", "n": 1, "tags": ["a", "b"],
                     "more": "a\nb", "empty": None}, resources=[file(FILE, HARD)])) + read(2, FILE, HARD),
    "no directory of it": START + LISTED + 'C #1 resources/directory/read {"uri": "%s/none"}\n'
    'S #1 !-32602 "Not found"' % SKILL,
    "bytes that were lost": START + LISTED + read(1, FILE, TEXT) + "* - gap {}\n" + read(2, B, FORM),
    "a method of a vendor with cursors of its own": 'on stdio 2025-11-25 server={"resources": {}}\n'
    'C #1 skills/list {"cursor": "10"}\nS #1 {"skills": []}',
    "one skill at once": START + LISTED + read(1, FILE, TEXT) + read(2, A, FORM),
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_silent(name):
    assert [(each.rule.id, each.evidence) for each in judged(LEGAL[name]).findings] == []


ASK = '\nC #1 skills/get {"uri": "%s"}\nS #1 ' % FILE
FOLDER = '\nC #1 resources/directory/read {"uri": "%s/forms"}\nS #1 ' % SKILL


@pytest.mark.parametrize("text, ids", [
    ('\nC #1 skills/list {}\nS #1 !-32603 "Internal error"', []),
    ('\nC #1 skills/list {}\nS #1 !-32601 "Method not found"', ["skills.list-implemented"]),
    (ASK + '!-32601 "Method not found"', ["skills.get-implemented"]),
    (FOLDER + '!-32601 "Method not found"', ["skills.directory-read-implemented"]),
    (ASK + '!-32602 "Unknown skill"', []), (ASK + '!-32603 "Internal error"', []),
    (ASK + '!-32603 "Unknown skill"', ["skills.get-unknown-skill-error"]),
    (ASK + '!-32000 "There is no such skill"', ["skills.get-unknown-skill-error"]),
    (ASK + '{}', ["skills.get-unknown-skill-error"]),
    (LISTED + ASK + '!-32602 "Unknown skill"', ["skills.get-answers-unlisted"]),
    (LISTED + "@ 59" + ASK + '!-32602 "Unknown skill"', ["skills.get-answers-unlisted"]),
    (LISTED + "@ 61" + ASK + '!-32602 "Unknown skill"', []),
    (LISTED + ASK.replace("refunds/", "other/") + '!-32602 "Unknown skill"', []),
    (LISTED + ASK + '!-32603 "Internal error"', []),
    (LISTED + FOLDER + '!-32602 "Not a directory"', ["skills.directory-read-every-directory"]),
    (LISTED + "@ 59" + FOLDER + '!-32602 "Not a directory"', ["skills.directory-read-every-directory"]),
    (LISTED + "@ 61" + FOLDER + '!-32602 "Not a directory"', []),
    (LISTED + FOLDER.replace("/forms", "/other") + '!-32602 "Not a directory"', []),
    (FOLDER + '!-32603 "Not a directory"', ["skills.directory-read-error"]),
    ('\nC #1 skills/get {"uri": "%s"}\nS #1 !-32602 "Unknown skill"' % SKILL, ["skills.get-names-skill-md"]),
    ('\nC #1 skills/list {}\nS #1 !-32603 ""', ["skills.informative-errors"]),
])
def test_what_the_methods_of_skills_are_answered(text, ids):
    """[2026-07-28 extensions/skills/skills §Getting a Skill > Response]"""
    assert [each for each in roots(START + "\n" + text) if each.startswith("skills.")] == ids


def over_http(text):
    """The same conversation over HTTP, where several clients may share a connection."""
    return text.replace("on stdio", "on http")


@pytest.mark.parametrize("text, id, words", [
    (over_http(START) + LISTED + read(1, FILE, TEXT) + refused(2, B), "skills.read-only-listed-files", "which client"),
    (over_http(START) + LISTED + read(1, FILE, TEXT + "1") + read(2, A, FORM), "skills.verify-digest-and-size",
     "which client"),
    ("on stdio 2026-07-28 server=%s\n" % SERVES + listed(entry(resources=None)), "skills.entry-resources-required",
     "whether the server has the extension"),
    ("on stdio 2026-07-28 server=%s\n" % SERVES + directory(1, SKILL), "skills.no-undeclared-directory-read",
     "capabilities of the server"),
    (START.replace("60000", "0") + '\nC #1 skills/list {}\nS #1 !-32601 "Method not found"', "skills.list-implemented",
     "may have changed"),
    (START + LISTED + read(1, FILE, TEXT.replace("customer", "client")), "skills.entry-frontmatter-identical",
     "the one that the entry describes"),
    (START + '\nC #1 resources/list {}\nS #1 {"resources": [{"uri": "%s", "name": "refunds", "mimeType": '
     '"text/markdown"}]}' % FILE, "skills.skill-md-resource-description", "the entry of the skill"),
])
def test_what_cannot_be_told(text, id, words):
    assert [each.rule.id for each in judged(text).findings if each.rule.id == id] == []
    assert any(words in each for each in unsure(text, id)), unsure(text, id)


NAMED = "name: refunds\ndescription: Refund a customer\n"
SAID = {"name": "refunds", "description": "Refund a customer"}


def entry_and_file(more, said):
    """A server whose file has these lines, too, and whose entry says this of them."""
    text = "---\n%s%s---\n" % (NAMED, more)
    made = entry(frontmatter=dict(SAID, **said), resources=[file(FILE, text)])
    return START + "\n" + listed(made) + read(2, FILE, text)


@pytest.mark.parametrize("more, said", [
    ("a: yes\n", {"a": True}), ("a: Off\n", {"a": False}), ("a: 2026-01-01\n", {"a": "2026-01-01T00:00:00Z"}),
    ("a: 017\n", {"a": 15}), ("a: 1:30\n", {"a": 90}), ("a: 1_000\n", {"a": 1000}), ("a: 1e3\n", {"a": "1e3"}),
    ("a: 2001-12-14 21:59:43 -5\n", {"a": "x"}), ("m: {a: [no]}\n", {"m": {"a": [False]}}),
    ("on: a\n", {"true": "a"}), ("a: |\n  b\n", {"a": "b"}), ("a:\n", {}),
])
def test_what_readers_of_yaml_see_in_two_ways_is_not_compared(more, said):
    assert judged(entry_and_file(more, said)).findings == []


@pytest.mark.parametrize("more, said", [
    ("a: b\n", {"a": "c"}), ("a: b\n", {}), ("", {"a": "b"}), ("m: {a: [b]}\n", {"m": {"a": ["c"]}}),
    ("a: true\n", {"a": "true"}), ("a: [b]\n", {"a": ["b", "c"]}), ("m:\n  a: b\n", {"m": "a: b"}),
])
def test_what_all_readers_of_yaml_see_differ_is_found(more, said):
    assert "skills.entry-frontmatter-identical" in {
        each.rule.id for each in judged(entry_and_file(more, said)).findings}


@pytest.mark.parametrize("more", ["a: &x b\n", "a: !!str b\n", "name: twice\n", "a: b: c\n"])
def test_what_is_not_read_cannot_be_told(more):
    text = entry_and_file(more, {"a": "other"})
    assert judged(text).findings == []
    for id in ("skills.skill-md-frontmatter", "skills.entry-frontmatter-identical"):
        assert any("reader of YAML" in each for each in unsure(text, id))


@pytest.mark.parametrize("text", ["", "# A", " ---\n---", "--- a\n---"])
def test_a_text_without_frontmatter_has_none(text):
    found = judged(START + "\n" + listed(entry(resources=[file(FILE, text)])) + read(2, FILE, text)).findings
    assert [each.rule.id for each in found if each.cause is None] == ["skills.skill-md-frontmatter"]
