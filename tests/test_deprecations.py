"""The registry of deprecated features: as the specification has it, in the rows of methods, and in `explain`."""
import json
import re

import pytest

from mcp_ref import deprecations, methods
from mcp_ref.cli.learn.explain import describe
from mcp_ref.deprecations import DEPRECATED, deprecation
from mcp_ref.revisions import NAMES, REVISIONS, find, revision
from tests.cli.running import here
from tests.support.outside import SPEC

STATELESS = REVISIONS[-1]
TITLES = {
    "roots": "Roots", "sampling": "Sampling", "logging": "Logging",
    "client-registration": "Dynamic Client Registration", "include-context": "`includeContext:",
    "http-sse": "HTTP+SSE transport",
}


@pytest.mark.needs("specification")
def test_the_table_is_the_registry_of_the_specification():
    """[2026-07-28 deprecated §Deprecated]"""
    page = SPEC / "2026-07-28" / "deprecated.mdx"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.read_text("utf-8").splitlines()
            if line.startswith("| ") and "`20" in line]
    assert len(rows) == len(DEPRECATED) == len(TITLES)
    for (feature, row), (title, _, since, migration, removal) in zip(DEPRECATED.items(), rows):
        assert TITLES[feature] in title and since == "`%s`" % row.since
        date = re.search(r"20\d\d-\d\d-\d\d", removal)
        assert date is None or date.group() in row.removal
        words = {word for word in re.findall(r"[A-Za-z]{5,}", re.sub(r"\(.*?\)", "", migration.lower()))}
        assert len(words & set(re.findall(r"[a-z]{5,}", row.migration.lower()))) >= 1, (row, migration)


@pytest.mark.parametrize("row", DEPRECATED.values(), ids=lambda row: row.feature)
def test_a_row_makes_sense(row):
    assert find(row.since) is not None and row.removal and row.migration and row.page
    assert DEPRECATED[row.feature] is row and deprecation(row.feature) is row and deprecation(None) is None


@pytest.mark.parametrize("name, feature", [
    ("roots/list", "roots"), ("sampling/createMessage", "sampling"), ("notifications/message", "logging"),
    ("elicitation/create", None), ("tools/call", None), ("subscriptions/listen", None),
])
def test_methods_of_a_deprecated_feature_say_so_since_it_is_one(name, feature):
    rows = [methods.lookup(name, there) for there in REVISIONS[:-1]]
    assert [row.deprecated for row in rows if row] == [None] * len([row for row in rows if row])
    assert methods.lookup(name, STATELESS).deprecated == feature


def test_a_row_of_methods_names_a_feature_that_is_deprecated_in_its_whole_window():
    for row in methods.METHODS:
        if row.deprecated is not None:
            assert DEPRECATED[row.deprecated].since <= row.since
    capabilities = {"roots", "sampling", "logging"}
    for row in methods.methods(STATELESS):
        assert (row.deprecated is not None) == ((row.capability or "").partition(".")[0] in capabilities)


@pytest.mark.parametrize("name, feature", [
    ("roots/list", "roots"), ("sampling/createMessage", "sampling"), ("notifications/message", "logging"),
])
def test_explain_says_since_when_until_when_at_least_and_what_to_do(name, feature, capsys):
    row = DEPRECATED[feature]
    code, out, err = here(capsys, "explain", name)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in ("deprecated since 2026-07-28", "removal at the earliest " + row.removal, "instead " + row.migration):
        assert lines.count(line) == 1
    found = json.loads(here(capsys, "explain", name, "--json")[1])
    assert [each["deprecated"] for each in found["rows"]][-1] == dict(row._asdict())
    assert all(each["deprecated"] is None for each in found["rows"][:-1])
    assert "deprecated" not in here(capsys, "explain", name, "--revision", "2025-06-18")[1]
    assert "deprecated" not in here(capsys, "explain", "tools/list")[1]


def test_explain_prints_the_registry(capsys):
    code, out, _ = here(capsys, "explain", "deprecated")
    assert code == 0 and all(text in out for row in DEPRECATED.values() for text in row)
    assert [row["feature"] for row in describe("deprecated")["rows"]] == list(DEPRECATED)
    for name in NAMES:
        expected = [row.feature for row in DEPRECATED.values() if row.since <= name]
        code, out, err = here(capsys, "explain", "deprecated", "--revision", name, "--json")
        if expected:
            assert [row["feature"] for row in json.loads(out)["rows"]] == expected
        else:
            assert code == 2 and "2024-11-05 has no deprecated" in err
    assert revision("2025-03-26").has(DEPRECATED["http-sse"].since, None)


def test_the_docstring_tells_of_each_feature_when_it_is_used():
    table = deprecations.__doc__.partition("used only if")[2]
    assert [name for name in DEPRECATED if "\n%s " % name not in table] == ["client-registration"], \
        "which nothing here does yet"
