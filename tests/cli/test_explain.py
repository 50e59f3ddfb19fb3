"""`explain`: what the tables say, in words and as JSON."""
import json

import pytest

from mcp_ref import messages, methods
from mcp_ref.cli.learn import facts
from mcp_ref.cli.learn.explain import _TEXTS, describe
from mcp_ref.codec import Model
from mcp_ref.errors import CODES
from mcp_ref.model import members
from mcp_ref.protocol.lifecycle import PHASES, TABLE
from mcp_ref.revisions import FEATURES, NAMES, REVISIONS, VALUES, revision

from .running import here, one_line_of

MESSAGES = sorted(name for name in messages.__all__ if isinstance(getattr(messages, name), type)
                  and issubclass(getattr(messages, name), Model))
EVERYTHING = sorted({*facts.method_names(), *messages.__all__, *map(str, CODES), *VALUES, "lifecycle", "deprecated",
                     *(row.name for row in FEATURES)})


def covers(window, name):
    return NAMES.index(window[0]) <= NAMES.index(name) <= NAMES.index(window[1])


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything_has_an_explanation_in_words_and_for_programs(name):
    found = describe(name)
    json.dumps(found)
    lines = _TEXTS[found["kind"]](found)
    assert lines and all(line == line.rstrip() and "\n" not in line for line in lines)
    assert name in lines[0]


def test_the_list_names_everything(capsys):
    code, out, err = here(capsys, "explain", "--list")
    assert (code, err) == (0, "")
    assert sorted(line.strip() for line in out.splitlines() if line.startswith("  ")) == EVERYTHING
    listed = json.loads(here(capsys, "explain", "--list", "--json")[1])
    assert sorted(name for names in listed.values() for name in names) == EVERYTHING
    in_one = json.loads(here(capsys, "explain", "--list", "--json", "--revision", "2024-11-05")[1])
    assert "elicitation/create" not in in_one["methods"] and "ElicitResult" not in in_one["types"]
    assert "-32042" not in in_one["codes"] and "tasks" not in in_one["features"] and "ping" in in_one["methods"]


@pytest.mark.parametrize("name", facts.method_names())
def test_a_method_is_what_its_rows_say_in_each_revision(name):
    rows = describe(name)["rows"]
    for there in REVISIONS:
        row = methods.lookup(name, there)
        found = [each for each in rows if covers(each["window"], there.name)]
        assert len(found) == (row is not None)
        if row is None:
            continue
        assert (found[0]["kind"], found[0]["sender"], found[0]["page"]) == (row.kind, row.sender, row.page)
        assert found[0]["params"] == row.params.split(":")[1]
        assert found[0]["result"] == (row.result and row.result.split(":")[1])
        assert (row.capability or "None") in str(found[0]["capability"])


@pytest.mark.parametrize("name", MESSAGES)
def test_a_type_has_its_members_in_each_revision(name):
    cls = getattr(messages, name)
    found = describe(name)
    assert [each["name"] for each in found["members"]] == [m.wire for m in members(cls)]
    for there in REVISIONS:
        if not there.has(cls.since, cls.until):
            assert not covers(found["window"], there.name)
            continue
        for each, m in zip(found["members"], members(cls)):
            spans = [span for span in each["spans"] if covers(span["window"], there.name)]
            assert len(spans) == m.exists(there)
            assert all(span["required"] == m.required_in(there) for span in spans)


@pytest.mark.parametrize("hint, text", [
    ("CallToolResult.structuredContent", [("2025-06-18", "object"), ("2026-07-28", "any")]),
    ("CallToolResult.content", [("2024-11-05", "array of ContentBlock")]),
    ("TextContent.type", [("2024-11-05", '"text"')]),
    ("Annotations.audience", [("2024-11-05", 'array of ("user" or "assistant")')]),
    ("CompleteRequestParams.ref", [("2024-11-05", "PromptReference or ResourceTemplateReference")]),
    ("Tool.inputSchema", [("2024-11-05", "object (ToolInputSchema)")]),
    ("CancelledNotificationParams.requestId", [(since, "string or integer") for since in NAMES[0::3] + NAMES[4:]]),
    ("ResourceTemplate.uriTemplate", [("2024-11-05", "string")]),
    ("ListRootsResult.roots", [("2024-11-05", "array of Root")]),
])
def test_types_are_in_the_words_of_json(hint, text):
    name, _, member = hint.partition(".")
    found, = [each for each in describe(name)["members"] if each["name"] == member]
    assert [(span["window"][0], span["type"]) for span in found["spans"]] == text


def test_a_union_has_its_alternatives_in_each_revision():
    spans = describe("ContentBlock")["spans"]
    assert [span["window"] for span in spans] == [["2024-11-05"] * 2, ["2025-03-26"] * 2, ["2025-06-18", "2026-07-28"]]
    assert "AudioContent" in spans[1]["type"] and "AudioContent" not in spans[0]["type"]
    assert "ResourceLink" in spans[2]["type"] and "ResourceLink" not in spans[1]["type"]


def test_the_page_shows_members_notes_and_windows(capsys):
    code, out, err = here(capsys, "explain", "tools/call")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for line in ("tools/call  request", "  2025-11-25", "    sent by     client to server",
                 "    needs       tools, declared by the server", "    page        server/tools",
                 "    result      CallToolResult or CreateTaskResult", "    name            string, required",
                 "    task            TaskMetadata, optional, 2025-11-25"):
        assert line in lines
    assert any(line.strip() == "False if not given." for line in lines)
    lines = here(capsys, "explain", "Tool", "--revision", "2024-11-05")[1].splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["name", "inputSchema", "description"]


def test_codes_and_features(capsys):
    assert describe("-32002")["window"] == ["2024-11-05", "2025-11-25"]
    assert {each["name"] for each in describe("-32602")["values"]} == {"resource_not_found_code"}
    assert describe("batching")["window"] == ["2025-03-26"] * 2
    assert [each["value"] for each in describe("schema_dialect")["values"]] == ["draft-07", "2020-12"]
    code, out, _ = here(capsys, "explain", "-32002")
    assert code == 0 and out.startswith("-32002  resource not found\n")


def test_lifecycle_is_drawn_from_its_table(capsys):
    found = describe("lifecycle")
    assert found["phases"] == list(PHASES)
    assert {(row["sender"], row["phase"], row["message"]): row["next"] for row in found["rows"]} == TABLE
    out = here(capsys, "explain", "lifecycle")[1]
    places = [out.index("| %s |" % phase) for phase in PHASES]
    assert places == sorted(places)
    for (_, phase, message), following in TABLE.items():
        if following not in (None, phase):
            steps = out[out.index("| %s |" % phase):]
            assert message in (steps[:steps.index("   v\n")] if following == PHASES[PHASES.index(phase) + 1] else steps)
    assert out.count("never ") == sum(following is None for following in TABLE.values())


def test_an_added_row_is_explained_without_more(monkeypatch):
    """There is no second copy of a fact."""
    from mcp_ref.protocol import lifecycle

    monkeypatch.setitem(lifecycle.TABLE, ("server", "opening", "hello"), "answered")
    assert "S> hello  (back to answered)" in "\n".join(_TEXTS["lifecycle"](describe("lifecycle")))
    row = CODES[-32002]._replace(code=-5, name="five")
    monkeypatch.setitem(CODES, -5, row)
    assert describe("-5")["name"] == "five"


@pytest.mark.parametrize("words, hint", [
    (["Toll"], "did you mean Tool"), (["tool/call"], "did you mean tools/call"), (["TOOLS/CALL"], "tools/call"),
    (["qqqqqqq"], "--list"), (["-1234"], "-1234"), ([], "explain what"),
    (["ElicitResult", "--revision", "2024-11-05"], "2024-11-05 has no ElicitResult"),
    (["lifecycle", "--revision", "2026-07-28"], "has no lifecycle"), (["Tool", "--revision", "2024"], "invalid choice"),
    (["Tool", "Resource"], "Resource"),
])
def test_an_unknown_name_gets_the_nearest(words, hint, capsys):
    code, out, err = here(capsys, "explain", *words)
    assert (code, out) == (2, "") and hint in one_line_of(err)


@pytest.mark.parametrize("name, holder", [
    ("tools/call", "tools, declared by the server"), ("roots/list", "roots, declared by the client"),
    ("notifications/tools/list_changed", "tools.listChanged, declared by the server"),
    ("notifications/roots/list_changed", "roots.listChanged, declared by the client"), ("ping", None),
    ("notifications/elicitation/complete", "elicitation.url, declared by the client"),
    ("tasks/get", "tasks, declared by the receiver"),
])
def test_a_capability_is_told_with_who_declares_it(name, holder):
    assert describe(name)["rows"][-1]["capability"] == holder


def test_a_gap_parts_a_window_in_two():
    found = facts.spans(lambda there: None if there is REVISIONS[2] else "x")
    assert [(span.window, span.value) for span in found] == [("..2025-03-26", "x"), ("2025-11-25..", "x")]
    found = facts.spans(lambda there: there.rank >= 3)
    assert [(span.window, span.value) for span in found] == [("..2025-06-18", False), ("2025-11-25..", True)]


@pytest.mark.parametrize("name", NAMES)
def test_windows_are_written_as_citations_have_them(name):
    here_only = revision(name)
    assert facts.window(here_only, here_only) == name
    assert facts.window(REVISIONS[0], REVISIONS[-1]) == ".."
    assert facts.window(REVISIONS[0], REVISIONS[1]) == "..2025-03-26"
    assert facts.window(REVISIONS[1], REVISIONS[-1]) == "2025-03-26.."
