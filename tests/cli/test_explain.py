"""`explain`: what the tables say, in words and as JSON."""
import csv
import json
import random
import re

import pytest

from mcp_ref import jsonrpc, messages, methods
from mcp_ref.cli.copying import parts
from mcp_ref.cli.learn import facts, pages, words as added, words
from mcp_ref.cli.learn.entries import example
from mcp_ref.cli.learn.explain import TEXTS as _TEXTS, describe
from mcp_ref.codec import Model
from mcp_ref.requirements import REPOSITORIES, SITE
from mcp_ref.errors import CODES
from mcp_ref.model import members
from mcp_ref.protocol.lifecycle import PHASES, TABLE
from mcp_ref.revisions import FEATURES, NAMES, REVISIONS, VALUES, revision

from tests.support import official_schema
from tests.support.outside import SPEC
from tests.tools import spec_index

from .running import ROOT, fresh, here, one_line_of

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
        row = facts.method_in(name, there)
        found = [each for each in rows if covers(each["window"], there.name)]
        assert len(found) == (row is not None)
        if row is None:
            continue
        assert (found[0]["kind"], found[0]["sender"], found[0]["page"]) == (row.kind, row.sender, row.page)
        assert found[0]["params"] == row.params.split(":")[1]
        assert found[0]["result"] == (row.result and row.result.split(":")[1])
        assert (row.capability or row.extension or "None") in str(found[0]["capability"])


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
    (["Toll"], "did you mean Tool"), (["tool/call"], "did you mean tools/call"),
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
    ("tasks/get", "io.modelcontextprotocol/tasks, declared by the client"),
    ("tasks/result", "tasks, declared by the receiver"),
    ("skills/get", "io.modelcontextprotocol/skills, declared by the server"),
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


# Revisions, pages, requirements

INDEX = json.loads((ROOT / "tests" / "data" / "spec_index.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_a_revision_is_what_the_tables_say_of_it(name, capsys):
    found, there = describe(name), revision(name)
    assert found["methods"] == [row.name for row in methods.methods(there)]
    assert set(found["features"]) == {row.name for row in FEATURES if getattr(there, row.name)}
    assert found["values"] == {value: VALUES[value][there.rank] for value in VALUES}
    assert (found["changes"] is None) == (there is REVISIONS[0])
    lines = here(capsys, "explain", name)[1].splitlines()
    assert lines[0] == "%s  revision, %s era" % (name, there.era)
    assert "  read it at  https://modelcontextprotocol.io/specification/" + name in lines


def test_what_came_and_what_went_with_a_revision(capsys):
    out = here(capsys, "explain", "2025-06-18")[1]
    came, went = out[out.index("  came\n"):out.index("  went\n")], out[out.index("  went\n"):out.index("  changed\n")]
    assert "elicitation/create" in came and "ResourceLink" in came and "batching" in went and "batching" not in came
    assert describe("2025-06-18")["changes"] == json.loads(
        here(capsys, "diff", "2025-03-26", "2025-06-18", "--json")[1])


@pytest.mark.parametrize("words", ["basic/lifecycle §Timeouts", "BASIC/lifecycle §timeouts", "lifecycle §Timeouts"])
def test_a_heading_has_its_requirements_and_what_cites_it(words, capsys):
    found = describe(words)
    assert (found["page"], found["heading"]) == ("basic/lifecycle", "Timeouts")
    assert found["url"] == "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#timeouts"
    assert "timeout.maximum" in [row["id"] for row in found["requirements"]]
    assert any(each["place"].startswith("mcp_ref/") for each in found["citations"])
    out = here(capsys, "explain", words)[1]
    assert "timeout.maximum" in out and "[2025-03-26..2025-11-25 basic/lifecycle §Timeouts]" in out


def test_a_heading_alone_and_a_page_alone():
    several = describe("§Timeouts")
    assert several["kind"] == "matches"
    assert {each["name"] for each in several["matches"]} >= {"basic/lifecycle §Timeouts"}
    page = describe("basic/patterns/mrtr")
    assert page["kind"] == "page" and len({row["heading"] for row in page["requirements"]}) > 5
    with pytest.raises(Exception, match="2024-11-05 has no basic/patterns/mrtr"):
        describe("basic/patterns/mrtr", [REVISIONS[0]])


def test_a_requirement_has_its_row_its_citations_and_its_tests(capsys):
    found = describe("mrtr.protocol-errors")
    assert (found["level"], found["revisions"], found["page"]) == ("SHOULD", "2026-07-28", "basic/patterns/mrtr")
    assert found["role"] == "server"
    assert found["cites"] == "heading" and all("§Error Handling" in each["citation"] for each in found["citations"])
    assert any(place.startswith("tests/spec/basic/test_mrtr_server.py:") for place in found["tests"])
    for each in found["citations"]:
        file, _, line = each["place"].partition(":")
        text = (ROOT / file).read_text(encoding="utf-8").splitlines()
        assert "[" in text[int(line) - 1]
    lines = here(capsys, "explain", "mrtr.protocol-errors")[1].splitlines()
    assert lines[0].startswith("mrtr.protocol-errors  ") and any(line.startswith("  tests") for line in lines)
    assert lines[1] == "  binds       the server"


def test_a_list_that_is_cut_says_how_many_more_there_are(capsys):
    found = describe("jsonrpc.result-type-known-set")
    assert len(found["citations"]) > 8
    shown = here(capsys, "explain", found["id"])[1]
    assert "and %d more: --json has all" % (len(found["citations"]) - 8) in shown


@pytest.mark.parametrize("id, party", [
    ("progress.token-active", "client and server"), ("auth.as-redirect-inform", "the authorization server"),
    ("elicit.defaults-prefilled", "the host, the program around clients"),
    ("resources.permissions", "the author of the server or client"),
])
def test_a_requirement_says_whom_it_binds(id, party, capsys):
    assert "  binds       %s\n" % party in here(capsys, "explain", id)[1]


def test_outside_of_a_checkout_no_tests_are_told(tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path), "--as", "a.copy")[0] == 0
    out = fresh(tmp_path, "from a.copy.cli import main\nsys.exit(main(['explain', 'mrtr.protocol-errors', '--json']))")
    found = json.loads(out)
    assert "tests" not in found and found["citations"][0]["place"].startswith("copy/")


def test_every_address_is_of_a_page_that_the_revision_has():
    for name in EVERYTHING:
        address = describe(name).get("url")
        if address and not address.startswith(REPOSITORIES):
            there, _, path = address[len(SITE) + 1:].partition("/")
            path = path.partition("#")[0]
            names = {"schema": "schema.json", "": "index"}
            assert names.get(path, path) in INDEX[there] or path + "/index" in INDEX[there], (name, address)
    for row in pages.requirements().values():
        assert row.page in INDEX[row.stated[-1].name]


def test_the_table_has_no_sentences_and_every_requirement_once():
    headings = {spec.rpartition(" > ")[2] for index in INDEX.values() for found in index.values() for spec in found}
    for row in pages.requirements().values():
        assert row.level in ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY") and row.stated
        definition = row.heading.partition(".")[0]
        assert not row.heading or row.heading.rpartition(" > ")[2] in headings or (
            row.page == "schema.json" and definition in INDEX[row.stated[-1].name]["schema.json"]), row


def found_by(capsys, searched, id):
    """Search for a word; and for the first of the names that it gives, if it is not there yet. How many searches."""
    code, out, _ = here(capsys, "explain", searched, "--json")
    assert code == 0, searched
    if '"%s"' % id in out:
        return 1
    return 1 + min([found_by(capsys, each["name"], id) for each in json.loads(out).get("matches", ())], default=99)


@pytest.mark.needs("specification")
def test_ten_clauses_are_each_found_with_two_searches(capsys):
    """Drawn anew each time, with a printed seed. The first search is for page and heading, as a reader sees them."""
    with open(str(SPEC / "requirements.tsv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    seed = random.randrange(10 ** 6)
    print("seed", seed)
    for row in random.Random(seed).sample(rows, 10):
        page, _, anchor = row["page#anchor"].partition("#")
        newest, heading = row["revisions"].rpartition(",")[2], anchor
        if page.endswith(".mdx"):
            page = page[:-len(".mdx")]
            heading = spec_index.anchors(INDEX[newest][page])[anchor].rpartition(" > ")[2] if anchor else ""
        assert found_by(capsys, "%s §%s" % (page, heading), row["id"]) <= 2, (seed, row["id"])
        code, out, _ = here(capsys, "explain", row["id"])
        assert code == 0 and out.startswith("%s  %s\n" % (row["id"], row["level"])) and page in out, (seed, row["id"])


@pytest.mark.parametrize("searched, id", [
    ("authorization third party overview", "auth.third-party"),
    ("HTTP+SSE transport (2024-11-05)", "deprecation.http-sse"),
    ("progress behavior requirements", "progress.token-active"), ("token in progress", "progress.token-in-progress"),
    ("_meta prefix", "meta.prefix-labels"), ("§Security & Endpoint", "http.bind-localhost"),
])
def test_words_of_headings_and_ids_find_a_clause(searched, id, capsys):
    assert found_by(capsys, searched, id) <= 2


# Any other word


@pytest.mark.parametrize("word", [
    "sampling", "roots", "session", "_meta", "Mcp-Session-Id", "cancellation", "401", "404", "-32602", "elicitation",
    "subscription", "OAuth", "PKCE", "SSE", "Last-Event-ID", "stdio", "batch", "cursor", "progress", "logging", "ping",
    "tool annotations", "capabilities", "initialize", "server/discover", "MRTR", "requestState", "tasks", "Tools",
    "resource", "prompts", "structured content", "isError", "icons", "timeout", "session-id", "HTTP", "x-mcp-header",
    "bearer token", "well-known", "TOOLS/CALL", "lifecycle", "version", "extension", "completions", "input_required",
    "server", "client", "task", "annotations", "202", "notifications", "DPoP", "-32000", "-32019", "WebSocket",
])
def test_every_word_that_a_learner_tries_is_answered(word, capsys):
    code, out, err = here(capsys, "explain", word)
    assert (code, err) == (0, "") and len(out.splitlines()) > 2


@pytest.mark.parametrize("word, heading", [
    ("WebSocket", "WebSocket: found under custom transport"), ("-32019", "-32019: found under -32000"),
    ("progress-token", "progress-token: found under progress"), ("SSE", "sse  topic"), ("json rpc", "json-rpc  topic"),
    ("token in progress", "token in progress: found under progress.token-in-progress"),
    ("tools/call", "tools/call  request"),
])
def test_a_word_that_another_one_answers_is_named(word, heading, capsys):
    assert here(capsys, "explain", "--", word)[1].splitlines()[0] == heading
    assert describe(word).get("asked") == (word if ": found under" in heading else None)


def test_no_word_leads_to_two_topics_and_none_leads_nowhere():
    seen = {}
    for topic in words.TOPICS:
        for word in (topic.word, *topic.also):
            assert seen.setdefault(words.folded(word), topic) is topic, word
        assert topic.page in pages.newest() and (not topic.heading or topic.heading in pages.headings_of(topic.page))
        for name in topic.see:
            assert name in EVERYTHING or words.find(name) or facts.page_of(name), (topic.word, name)
    assert {*words.METHODS, *added.EXTENSION_METHODS} == set(facts.method_names())
    assert not set(words.METHODS) & set(added.EXTENSION_METHODS)
    assert set(words.FEATURES) == {row.name for row in FEATURES} | set(VALUES)
    assert set(words.VALUE_PAGES) == set(VALUES)


def test_part_of_a_name_finds_the_names(capsys):
    assert describe("listchangedcapab")["name"] == "ListChangedCapability"
    assert describe("ListToolsRes")["name"] == "ListToolsResult"
    out = here(capsys, "explain", "token in progress")[1]
    assert "progress.token-in-progress" in out
    assert "progress.token-in-progress" not in str(describe("mrtr errors"))


@pytest.mark.parametrize("there", REVISIONS, ids=str)
def test_every_method_and_feature_has_an_example_that_the_official_schema_takes(there):
    """In every revision that has it, and in no other."""
    for name in [*facts.method_names(), *words.FEATURES]:
        found = example(name, there)
        has = facts.method_in(name, there) if name in facts.method_names() else getattr(there, name)
        assert (found is None) == (not has), name
        if found is None:
            continue
        assert (found.message is None) == bool(found.text)
        sent = found.message if isinstance(found.message, list) else [found.message] if found.message else []
        for message in sent:
            assert not official_schema.violations(message, there.name, found.answers), (name, message)
            assert jsonrpc.parse(json.dumps(message).encode(), there.batching)
        assert name in words.FEATURES or has.carrier == methods.EMBEDDED or (
            sent[0]["method"] == name)


def test_a_method_tells_a_paragraph_an_example_and_its_address(capsys):
    out = here(capsys, "explain", "tools/call")[1]
    assert words.METHODS["tools/call"].split(".")[0] in " ".join(out.split())
    assert "  read it at  https://modelcontextprotocol.io/specification/2026-07-28/server/tools\n" in out
    shown = out[out.index("  for example, in 2026-07-28:\n") + 30:out.index("\n\n  ..2025-06-18")]
    assert json.loads(shown)["params"]["name"] == "add"
    assert json.loads(shown) == describe("tools/call")["example"]["message"]


# Readings, and what is missing


def test_every_reading_of_the_package_is_printed_with_its_place_and_citation(capsys):
    code, out, err = here(capsys, "explain", "--readings")
    assert (code, err) == (0, "")
    marked = sum(data.decode("utf-8").count("Reading: ") + data.decode("utf-8").count("Reading:\n")
                 for path, data in parts.files().items() if path.endswith(".py") and not path.startswith("cli/learn/"))
    rows = json.loads(here(capsys, "explain", "--readings", "--json")[1])["rows"]
    assert len(rows) >= marked > 70
    for row in rows:
        file, _, line = row["place"].partition(":")
        source = (ROOT / file).read_text(encoding="utf-8").splitlines()
        assert "Reading" in source[int(line) - 1] and row["place"] in out
        assert row["text"].split()[0] in " ".join(source[int(line) - 1:int(line) + 2]), row
    assert sum(not row["citations"] for row in rows) <= 3


@pytest.mark.parametrize("text, found", [
    ('"""A. Reading: b\nc.\n\nd"""', [(1, "b c.")]), ('"""A.\n\nReadings:\n\n- b\n- c\n"""', [(3, "- b - c")]),
    ("# Reading: b\n# c\nx = 1  # d", [(1, "b c")]), ('x = "Reading: b"', []),
    ('"""A. Reading: b. Reading, too: c"""', [(1, "b."), (1, "c")]),
    ('"""A.\n\n====\na Reading: b\n====\n\nc"""', [(4, "b")]),
])
def test_a_reading_ends_with_its_paragraph(text, found):
    assert [(each.line, each.text) for passage in pages._passages("x.py", text)
            for each in pages._readings(passage, text)] == found


def test_what_is_missing_is_a_table(capsys):
    from mcp_ref.deprecations import NOT_DONE

    code, out, err = here(capsys, "explain", "--missing")
    assert (code, err) == (0, "") and out.startswith("not done: %d\n" % len(NOT_DONE))
    rows = json.loads(here(capsys, "explain", "--missing", "--json")[1])["rows"]
    assert [row["what"] for row in rows] == [row.what for row in NOT_DONE] and len(rows) > 20
    for row in NOT_DONE:
        assert row.since is None or row.since in NAMES
        assert " ".join(row.what.split()) in " ".join(out.split()) and row.why
        for page in row.pages:
            assert any(page in INDEX[name] for name in NAMES[NAMES.index(row.since or NAMES[0]):]), page


@pytest.mark.time_limit(120)
def test_readings_and_what_is_missing_are_told_from_an_archive(tmp_path, capsys):
    file = tmp_path / "mcp.zip"
    assert here(capsys, "vendor", "--zip", str(file))[0] == 0
    out = fresh(tmp_path, "sys.path.insert(0, %r)\nfrom mcp_ref.cli import main\n"
                          "sys.exit(main(['explain', '--readings']) or main(['explain', '--missing'])\n"
                          "         or main(['explain', 'progress.token-active']))" % str(file))
    assert re.search(r"\nmcp_ref/\S+\.py:\d+\n", out) and "\nnot done: " in out and "progress.token-active  MUST" in out


def test_a_whole_table_takes_no_name(capsys):
    code, out, err = here(capsys, "explain", "--missing", "Tool")
    assert (code, out) == (2, "") and "leave Tool out" in one_line_of(err)
