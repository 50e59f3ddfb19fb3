"""`explain` of the words of the three official extensions: tasks, skills, apps."""
import json
import re

import pytest

from mcp_ref.cli.learn import facts, pages, words
from mcp_ref.cli.learn.explain import describe
from mcp_ref.cli.output import UsageError
from mcp_ref.requirements import EXTENSIONS, requirements
from mcp_ref.methods import EXTENSION_METHODS
from mcp_ref.model import members
from mcp_ref.revisions import NAMES

from tests.support import official_schema
from tests.support.outside import SPEC

from .running import here, one_line_of

TYPES = [name for names in words.TYPES.values() for name in names]
MEMBERS = sorted({m.wire for name in TYPES if facts.is_message(facts.type_named(name))
                  for m in members(facts.type_named(name))})
IDS = [row.id for row in requirements().values() if row.page.startswith(EXTENSIONS)][::5]
HEADINGS = sorted({"%s §%s" % (page, heading) for page in words.HEADINGS for heading in pages.headings_of(page)})
VIEW = [
    "ui/initialize", "ui/message", "ui/open-link", "ui/request-display-mode", "ui/resource-teardown",
    "ui/update-model-context", "ui/notifications/initialized", "ui/notifications/host-context-changed",
    "ui/notifications/sandbox-proxy-ready", "ui/notifications/sandbox-resource-ready", "ui/notifications/size-changed",
    "ui/notifications/tool-cancelled", "ui/notifications/tool-input", "ui/notifications/tool-input-partial",
    "ui/notifications/tool-result",
]
WORDS = [
    "tasks", "task", "tasks-ext", "ext-tasks", "tasks extension", "io.modelcontextprotocol/tasks", "2026-07-28 tasks",
    "tasks 2026-07-28", "2025-11-25 tasks", "task status", "working", "completed", "failed", "cancelled", "taskIds",
    "inputRequests", "inputResponses", "taskId", "TASKS/UPDATE", "polling", "resultType task", "GetTaskResult",
    "CreateTaskResult", "UpdateTaskRequest", "TaskStatusNotification", "TasksExtensionCapability",
    "skills", "skill", "skills extension", "agent skills", "io.modelcontextprotocol/skills", "2026-07-28 skills",
    "skill://", "skill://review/SKILL.md", "SKILL.md", "frontmatter", "directoryRead", "digest", "sha256", "dynamic",
    "inode/directory", "license", "Skill", "skills.list-implemented",
    "apps", "app", "ui", "mcp apps", "MCP-UI", "ext-apps", "io.modelcontextprotocol/ui", "ui://", "ui://clock/app.html",
    "SEP-1865", "text/html;profile=mcp-app", "mimeTypes", "resourceUri", "_meta.ui", "ui/resourceUri", "visibility",
    "csp", "connectDomains", "frameDomains", "baseUriDomains", "permissions", "domain", "prefersBorder", "view",
    "displayMode", "hostContext", "containerDimensions", "theme", "sandbox", "sandbox proxy", "iframe", "McpUiToolMeta",
    "McpUiHostContext", "McpUiResourceCsp", "McpUiInitializeRequest", "2026-07-28 apps",
    "extensions/tasks/tasks §Task Execution Errors", "§Reservations", "Routing Headers",
]


def shown(capsys, word):
    code, out, err = here(capsys, "explain", "--", word)
    assert (code, err) == (0, ""), err
    return out


@pytest.mark.parametrize("word", [*WORDS, *VIEW, *MEMBERS, *TYPES])
def test_every_word_that_a_learner_tries_is_answered(word, capsys):
    out = shown(capsys, word)
    assert len(out.splitlines()) > 1 and "None" not in out


@pytest.mark.parametrize("name", [row.name for row in EXTENSION_METHODS])
def test_a_method_has_a_paragraph_an_example_and_its_address(name, capsys):
    out = shown(capsys, name)
    found = describe(name)
    assert len(found["text"]) > 40 and found["text"].split(".")[0][:60] in " ".join(out.split())
    assert re.search("  read it at  https://github.com/modelcontextprotocol/ext-(tasks|skills)\n", out)
    assert found["example"]["revision"] == NAMES[-1] and found["example"]["message"]["method"] == name
    assert found["rows"][-1]["capability"].startswith("io.modelcontextprotocol/") and found["types"]
    assert not official_schema.violations(found["example"]["message"], NAMES[-1])


@pytest.mark.parametrize("word", sorted(words.EXAMPLES) + ["ui/initialize"])
def test_the_example_of_a_topic_is_one_that_the_official_schema_takes(word):
    found = describe(word)["example"]
    if word == "ui/initialize":
        assert set(json.loads(found["text"])["params"]) == {"protocolVersion", "appInfo", "appCapabilities"}
    else:
        kind = found["message"]["result"]["resultType"]
        method = words.EXAMPLES[word][0]
        assert kind == "task" or not official_schema.violations(found["message"], NAMES[-1], method)


@pytest.mark.parametrize("topic", [each for each in words.TOPICS if each.page.startswith(EXTENSIONS)],
                         ids=lambda topic: topic.word)
def test_a_topic_has_a_paragraph_an_example_and_its_address(topic, capsys):
    for word in (topic.word, *topic.also):
        out = shown(capsys, word)
        if describe(word)["kind"] == "topic":
            assert "  read it at  https://github.com/modelcontextprotocol/ext-" in out
            assert "  for example, in " in out and describe(word)["name"] == topic.word, word


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_has_what_is_said_of_it_an_example_and_an_address(name):
    found = describe(name)
    assert found.get("url") or found["kind"] == "matches"
    if found.get("text", "").startswith("A member, "):
        assert found["example"] and found["see"], name


def test_the_example_of_a_member_has_it_where_there_is_one():
    assert '"pollIntervalMs": 5000' in json.dumps(describe("pollintervalms")["example"])
    assert describe("pollintervalms")["name"] == "pollIntervalMs"


@pytest.mark.parametrize("id", IDS)
def test_every_requirement_of_an_extension_is_explained(id, capsys):
    found = describe(id)
    assert (found["kind"], found["id"]) == ("requirement", id)
    assert found["url"].startswith("https://github.com/modelcontextprotocol/ext-")


@pytest.mark.parametrize("where", HEADINGS)
def test_every_heading_of_an_extension_is_a_place(where):
    found = describe(where)
    assert (found["kind"], found["page"]) == ("page", where.partition(" ")[0])
    assert found["url"].startswith("https://github.com/modelcontextprotocol/ext-")
    rows = [row.id for row in requirements().values() if row.where == where]
    assert set(rows) <= {row["id"] for row in found["requirements"]}
    assert all(row["page"] == found["page"] for row in found["requirements"])


@pytest.mark.needs("specification")
def test_the_headings_are_those_of_the_pages():
    for page in words.HEADINGS:
        files = sorted((SPEC.parent / "spec-ext" / page.split("/")[1]).glob("*.md*"))
        text = re.sub(r"```.*?```", "", files[0].read_text(encoding="utf-8"), flags=re.DOTALL)
        for heading in re.findall(r"^##+ (.*)$", text, flags=re.MULTILINE):
            plain = pages.plain(heading).replace("\\", "").strip()
            assert any(each == plain or each.endswith(" > " + plain) for each in pages.headings_of(page)), (page, plain)


@pytest.mark.parametrize("word, hint", [
    ("tasks/updat", "tasks/update"), ("skill/list", "skills/list"), ("tasks-ext.get-workin", "tasks-ext.get-working"),
    ("resources/directory", "resources/directory/read"), ("pollIntervalM", "pollInterval"),
])
def test_a_near_miss_leads_to_the_name(word, hint, capsys):
    code, out, err = here(capsys, "explain", word)
    assert hint in (out if code == 0 else one_line_of(err))


def test_a_word_with_a_revision_is_what_the_revision_has():
    assert describe("2026-07-28 tasks")["name"] == "tasks extension"
    assert describe("tasks 2025-11-25")["kind"] == "feature" and describe("tasks")["kind"] == "feature"
    assert [row["window"] for row in describe("2025-11-25 tasks/get")["rows"]] == [["2025-11-25", "2025-11-25"]]
    assert describe("2025-06-18")["kind"] == "revision"
    with pytest.raises(UsageError, match="2024-11-05 has no tasks"):
        describe("2024-11-05 tasks")


def test_a_method_of_both_eras_has_a_row_for_each():
    assert [(row["window"][0], row["page"]) for row in describe("tasks/get")["rows"]] == [
        ("2025-11-25", "basic/utilities/tasks"), ("2026-07-28", "extensions/tasks/tasks")]
