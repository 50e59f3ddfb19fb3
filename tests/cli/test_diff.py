"""`diff`: what differs between two revisions, from the rows."""
import itertools
import json

import pytest

from mcp_ref import messages, methods
from mcp_ref.cli.learn.facts import changes
from mcp_ref.codec import Model
from mcp_ref.errors import CODES
from mcp_ref.model import members
from mcp_ref.revisions import FEATURES, NAMES, REVISIONS, VALUES, revision

from .running import here, one_line_of

PAIRS = list(itertools.permutations(NAMES, 2))
OPPOSITE = {"added": "removed", "removed": "added", "changed": "changed"}


def by_name(found, change):
    return {each["name"] for each in found if each["change"] == change}


@pytest.mark.parametrize("before, after", PAIRS)
def test_rows_in_one_revision_alone_are_added_or_removed(before, after):
    old, new = revision(before), revision(after)
    found = changes(old, new)
    for there, other, change in ((new, old, "added"), (old, new, "removed")):
        assert by_name(found["features"], change) == {
            row.name for row in FEATURES if there.has(row.since, row.until) and not other.has(row.since, row.until)}
        assert by_name(found["methods"], change) == {
            row.name for row in methods.methods(there) if methods.lookup(row.name, other) is None}
        assert by_name(found["codes"], change) == {
            row.name for row in CODES.values()
            if there.has(row.since, row.until) and not other.has(row.since, row.until)}
        for name in messages.__all__:
            cls = getattr(messages, name)
            if isinstance(cls, type) and issubclass(cls, Model) and cls.__name__ == name:
                only = there.has(cls.since, cls.until) and not other.has(cls.since, cls.until)
                assert (name in by_name(found["types"], change)) == only
    assert by_name(found["features"], "changed") == {
        name for name, values in VALUES.items() if values[old.rank] != values[new.rank]}


@pytest.mark.parametrize("before, after", PAIRS)
def test_members_that_come_and_go(before, after):
    old, new = revision(before), revision(after)
    found = {each["name"]: each for each in changes(old, new)["types"] if each["change"] == "changed"}
    for name in messages.__all__:
        cls = getattr(messages, name)
        if not (isinstance(cls, type) and issubclass(cls, Model) and cls.__name__ == name):
            continue
        if not (old.has(cls.since, cls.until) and new.has(cls.since, cls.until)):
            continue
        added = {m.wire for m in members(cls) if m.exists(new) and not m.exists(old)}
        removed = {m.wire for m in members(cls) if m.exists(old) and not m.exists(new)}
        needed = {m.wire for m in members(cls) if m.exists(old) and m.exists(new)
                  and m.required_in(old) != m.required_in(new)}
        inside = found.get(name, {}).get("members", [])
        assert by_name(inside, "added") == added and by_name(inside, "removed") == removed
        assert needed <= by_name(inside, "changed")


@pytest.mark.parametrize("before, after", list(itertools.combinations(NAMES, 2)))
def test_the_other_way_round_is_the_opposite(before, after):
    there, back = changes(revision(before), revision(after)), changes(revision(after), revision(before))
    for part in ("features", "methods", "types", "codes"):
        assert {(each["name"], OPPOSITE[each["change"]]) for each in there[part]} == {
            (each["name"], each["change"]) for each in back[part]}


@pytest.mark.parametrize("name", NAMES)
def test_a_revision_and_itself_do_not_differ(name, capsys):
    found = changes(revision(name), revision(name))
    assert not any(found[part] for part in ("features", "methods", "types", "codes"))
    assert here(capsys, "diff", name, name) == (0, "%s -> %s\nno difference\n" % (name, name), "")


def test_what_2025_06_18_brought(capsys):
    """[2025-06-18 changelog §Major changes]"""
    code, out, err = here(capsys, "diff", "2025-03-26", "2025-06-18")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for line in ("2025-03-26 -> 2025-06-18", "  - batching  [basic/index]", "  + elicitation  [client/elicitation]",
                 "  + elicitation/create", "  + ResourceLink", "  ~ Tool", "  ~ ContentBlock", "      + ResourceLink",
                 "      + outputSchema  object (ToolOutputSchema), optional"):
        assert line in lines
    code, out, _ = here(capsys, "diff", "2025-11-25", "2026-07-28")
    for line in ("  ~ resource_not_found_code  -32002 -> -32602", "  - ping", "  ~ roots/list",
                 "      ~ carrier  wire -> embedded",
                 "  + -32020  header mismatch  [basic/transports/streamable-http]"):
        assert line in out.splitlines()


def test_json_is_what_changes_gives(capsys):
    for before, after in (NAMES[:2], NAMES[:1] * 2):
        out = here(capsys, "diff", before, after, "--json")[1]
        assert json.loads(out) == json.loads(json.dumps(changes(revision(before), revision(after))))
        assert list(json.loads(out)) == ["from", "to", "features", "methods", "types", "codes"]


@pytest.mark.parametrize("words", [["2025-06-18"], ["2025-06-18", "2025"], [], ["a", "b"], [*NAMES[:3]]])
def test_wrong_usage(words, capsys):
    code, out, err = here(capsys, "diff", *words)
    assert (code, out) == (2, "") and one_line_of(err)


def test_every_pair_can_be_told_in_words(capsys):
    for before, after in itertools.permutations(REVISIONS, 2):
        code, out, err = here(capsys, "diff", str(before), str(after))
        assert (code, err) == (0, "") and "None" not in out and len(out.splitlines()) > 10
